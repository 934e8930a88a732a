// Scans Tx blocks for deposits: node deposits.mjs URL FILE FIRST-BLOCK ADDRESS...
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [url, file, first, ...addresses] = process.argv.slice(2);
const plain = (address) => address.toLowerCase().replace(/^0x/, '');
const watched = new Set(addresses.map(plain));
// The next block, the hash of the block before it, and all deposits.
const state = existsSync(file) ? JSON.parse(readFileSync(file)) : { next: Number(first), parent: null, deposits: {} };

async function call(method, ...params) {
  const body = JSON.stringify({ id: 1, jsonrpc: '2.0', method, params });
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(30_000) });
  const { error, result } = await response.json();
  if (error) throw new Error(`${method}: ${error.code} ${error.message}`);
  return result;
}

for (;;) {
  const latest = Number((await call('GetLatestTxBlock')).header.BlockNum);
  while (state.next <= latest) {
    const { header, body } = await call('GetTxBlock', String(state.next));
    if (Number(header.BlockNum) !== state.next || header.PrevBlockHash !== (state.parent ?? header.PrevBlockHash)) {
      throw new Error(`block ${state.next} does not follow block ${state.parent}`);
    }
    const transactions = [];
    for (let page = 0; page < header.NumPages; page++) {
      transactions.push(...(await call('GetTxnBodiesForTxBlockEx', header.BlockNum, String(page))).Transactions);
    }
    if (transactions.length !== header.NumTxns) throw new Error(`block ${state.next} lacks transactions`);
    for (const { ID, toAddr, amount, receipt } of transactions.filter(({ receipt }) => receipt.success)) {
      const messages = (receipt.transitions ?? []).map(({ msg }) => [msg._recipient, msg._amount]);
      [[toAddr, amount], ...messages].forEach(([recipient, amount], index) => {
        const deposit = { address: plain(recipient), amount, block: state.next };
        if (watched.has(deposit.address) && BigInt(amount) > 0n) state.deposits[`${ID}:${index}`] = deposit;
      });
    }
    Object.assign(state, { next: state.next + 1, parent: body.BlockHash });
    writeFileSync(`${file}.new`, JSON.stringify(state), { flush: true });
    renameSync(`${file}.new`, file);
  }
  await sleep(1000);
}
