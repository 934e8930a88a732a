// Tests the deposit scanners of docs/exchanges.md. The file of each scanner must have exactly the deposits of a chain,
// also if the scanner is killed. SILICA_URL is the URL of a node with methods for developers.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const url = process.env.SILICA_URL;
assert.ok(url, 'set SILICA_URL');

const SCANNERS = {
  JavaScript: [process.execPath, 'deposits.mjs'],
  Python: ['python3', 'deposits.py'],
  Rust: ['target/debug/deposits'],
};
const ZIL = 10n ** 12n;
const directory = mkdtempSync(join(tmpdir(), 'deposits-'));
const running = new Set();
after(() => {
  for (const scanner of running) scanner.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

/** Sends calls in one batch, and returns their responses. */
async function batch(calls) {
  const body = JSON.stringify(calls.map(([method, ...params], id) => ({ id, jsonrpc: '2.0', method, params })));
  return (await fetch(url, { method: 'POST', body })).json();
}

async function call(...request) {
  const [{ error, result }] = await batch([request]);
  assert.equal(error, undefined, JSON.stringify(error));
  return result;
}

const latest = async () => Number((await call('GetLatestTxBlock')).header.BlockNum);
const address = () => randomBytes(20).toString('hex');
const shown = (account) => `0x${account}`;
const [alice, bob, carol] = [address(), address(), address()];
const strangers = [address(), address(), address()];
const senders = [address(), address(), address(), address()];
// The forms in which clients write an address.
const watched = [alice, shown(bob), `0x${carol.toUpperCase()}`];

/** The deposits that each scanner must find. */
const expected = {};

/** Sends a transaction, and returns its hash. */
async function send(senderAddr, toAddr, amount, more = {}) {
  return (await call('silica_sendTransaction', { senderAddr, toAddr, amount: String(amount), ...more })).TranID;
}

/** Calls a transition of a contract with parameters [name, type, value]. */
function invoke(contract, _tag, amount, params, gasLimit = 5000) {
  params = params.map(([vname, type, value]) => ({ vname, type, value }));
  return send(senders[0], contract, amount, { data: JSON.stringify({ _tag, params }), gasLimit: String(gasLimit) });
}

const pays = (contract, tag, to, amount) =>
  invoke(contract, 'Pay', amount, [['to', 'ByStr20', shown(to)], ['tag', 'String', tag]]);

/** Makes a block with the pending transactions, and adds its deposits: [hash, index, address, amount]. */
async function block(deposits = []) {
  await call('silica_mine', 1);
  const number = await latest();
  for (const [hash, index, address, amount] of deposits) {
    assert.equal((await call('GetTransaction', hash)).receipt.epoch_num, String(number));
    expected[`${hash}:${index}`] = { address, amount: String(amount), block: number };
  }
}

/** Deploys the contract of this test, and returns its address. */
async function deploy() {
  const code = readFileSync('payout.scilla', 'utf8');
  const data = JSON.stringify([{ vname: '_scilla_version', type: 'Uint32', value: '0' }]);
  const sent = { senderAddr: senders[0], toAddr: '0'.repeat(40), amount: '0', code, data };
  const { ContractAddress } = await call('silica_sendTransaction', sent);
  await block();
  return ContractAddress;
}

const file = (language) => join(directory, `${language}.json`);
const stored = (language) => (existsSync(file(language)) ? JSON.parse(readFileSync(file(language))) : { next: 0 });

/** Starts a scanner. */
function start(language, path = file(language), node = url) {
  const [program, ...args] = SCANNERS[language];
  const scanner = spawn(program, [...args, node, path, '0', ...watched], { stdio: ['ignore', 'ignore', 'pipe'] });
  running.add(scanner);
  scanner.errors = '';
  scanner.stderr.on('data', (text) => (scanner.errors += text));
  scanner.ended = new Promise((resolve) => scanner.on('close', resolve)).then((status) => {
    running.delete(scanner);
    return status;
  });
  return scanner;
}

/** Waits until a scanner has stored the block before `next`. */
async function reaches(language, scanner, next) {
  while (stored(language).next < next) {
    assert.equal(scanner.exitCode, null, `${language}: ${scanner.errors}`);
    await sleep(1);
  }
}

async function kill(scanner) {
  scanner.kill('SIGKILL');
  await scanner.ended;
  assert.equal(scanner.signalCode, 'SIGKILL', scanner.errors);
}

async function isComplete(language) {
  const { next, parent, deposits } = stored(language);
  assert.equal(next, (await latest()) + 1);
  assert.equal(parent, (await call('GetLatestTxBlock')).body.BlockHash);
  assert.deepEqual(deposits, expected, language);
}

test('a chain has payments, failures, messages of contracts, a large block and empty blocks', async () => {
  await call('silica_setBlockMode', 'manual');
  for (const sender of senders) await call('silica_setBalance', sender, String(10n ** 6n * ZIL));
  const [first, second] = [await deploy(), await deploy()];

  // Deposits among other payments.
  const [from, other] = senders;
  await send(from, strangers[0], ZIL);
  const one = await send(from, alice, 5n * ZIL);
  const two = await send(other, bob, 1n);
  await send(other, carol, 0n);
  const again = await send(other, bob, 1n);
  await send(other, from, ZIL);
  await block([[one, 0, alice, 5n * ZIL], [two, 0, bob, 1n], [again, 0, bob, 1n]]);
  await call('silica_mine', 20);

  // Messages of contracts: with each tag, several in a transaction, through a second contract, and to other accounts.
  const funds = await pays(first, 'AddFunds', alice, ZIL);
  const empty = await pays(first, '', bob, 2n * ZIL);
  const some = await pays(second, 'Anything', carol, 3n * ZIL);
  await pays(second, 'AddFunds', strangers[1], ZIL);
  const halves = [['first', 'ByStr20', shown(alice)], ['second', 'ByStr20', shown(alice)]];
  const split = await invoke(first, 'Split', 8n * ZIL, halves);
  const path = [['next', 'ByStr20', shown(second)], ['to', 'ByStr20', shown(bob)]];
  const through = await invoke(first, 'PayThrough', 7n, path);
  const payment = await send(other, alice, 9n);
  await block([
    [funds, 1, alice, ZIL],
    [empty, 1, bob, 2n * ZIL],
    [some, 1, carol, 3n * ZIL],
    [split, 1, alice, 4n * ZIL],
    [split, 2, alice, 4n * ZIL],
    // The first transition of the receipt is the message to the other contract.
    [through, 2, bob, 7n],
    [payment, 0, alice, 9n],
  ]);

  // Failures: an exception after the message, too little gas, and a payment that the node rejects.
  const thrown = await invoke(first, 'PayAndFail', ZIL, [['to', 'ByStr20', shown(alice)]]);
  const [tag, to] = [['tag', 'String', 'AddFunds'], ['to', 'ByStr20', shown(alice)]];
  const exhausted = await invoke(first, 'Pay', ZIL, [tag, to], 310);
  const unpaid = { senderAddr: other, toAddr: alice, amount: String(10n ** 30n) };
  const [{ error }] = await batch([['silica_sendTransaction', unpaid]]);
  assert.equal(error.code, -8);
  await block();
  for (const hash of [thrown, exhausted]) {
    const { receipt } = await call('GetTransaction', hash);
    assert.deepEqual([receipt.success, receipt.transitions], [false, undefined]);
  }

  // A block with two pages.
  const calls = [];
  for (let sent = 0; sent < 2600; sent++) {
    const toAddr = sent % 100 === 0 ? carol : strangers[sent % 3];
    calls.push(['silica_sendTransaction', { senderAddr: senders[1 + (sent % 3)], toAddr, amount: String(sent + 1) }]);
  }
  const deposits = [];
  while (calls.length > 0) {
    const part = calls.splice(0, 1000);
    (await batch(part)).forEach(({ result }, at) => {
      const [, { toAddr, amount }] = part[at];
      if (toAddr === carol) deposits.push([result.TranID, 0, carol, amount]);
    });
  }
  assert.equal(deposits.length, 26);
  await block(deposits);
  const { header } = await call('GetLatestTxBlock');
  assert.deepEqual([header.NumTxns, header.NumPages], [2600, 2]);
  await call('silica_mine', 100);
  assert.equal(Object.keys(expected).length, 36);
});

test('the deposits of each account are its balance', async () => {
  for (const account of [alice, bob, carol]) {
    const deposits = Object.values(expected).filter(({ address }) => address === account);
    const sum = deposits.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
    assert.equal((await call('GetBalance', account)).balance, String(sum));
  }
});

for (const language of Object.keys(SCANNERS)) {
  test(`${language}: a scanner that is killed again and again finds each deposit once`, async () => {
    const end = (await latest()) + 1;
    let kills = 0;
    for (let next = 5; next < end; next = stored(language).next + 25) {
      const scanner = start(language);
      await reaches(language, scanner, next);
      await kill(scanner);
      if (stored(language).next < end) kills += 1;
    }
    const last = start(language);
    await reaches(language, last, end);
    await kill(last);
    assert.ok(kills >= 3, `${kills} kills before the last block`);
    await isComplete(language);
  });
}

test('a scanner finds deposits from before its start and from after it', async () => {
  const missed = await send(senders[3], alice, 11n);
  await block([[missed, 0, alice, 11n]]);
  await call('silica_mine', 3);
  // Each scanner continues with the file of another scanner.
  const languages = Object.keys(SCANNERS);
  const files = languages.map((language) => readFileSync(file(language)));
  languages.forEach((language, at) => writeFileSync(file(language), files[(at + 1) % languages.length]));
  const scanners = languages.map((language) => [language, start(language)]);
  const end = (await latest()) + 1;
  for (const [language, scanner] of scanners) await reaches(language, scanner, end);
  await call('silica_setBlockMode', 'instant');
  for (const amount of [12n, 13n]) {
    const hash = await send(senders[3], bob, amount);
    expected[`${hash}:0`] = { address: bob, amount: String(amount), block: await latest() };
  }
  for (const [language, scanner] of scanners) {
    await reaches(language, scanner, end + 2);
    await kill(scanner);
    await isComplete(language);
  }
});

test('a scanner stops at a block of another chain', async () => {
  await Promise.all(
    Object.keys(SCANNERS).map(async (language) => {
      const path = join(directory, `${language}-other.json`);
      const state = JSON.stringify({ next: 1, parent: 'f'.repeat(64), deposits: {} });
      writeFileSync(path, state);
      const scanner = start(language, path);
      assert.ok((await scanner.ended) > 0, language);
      assert.match(scanner.errors, /block 1 does not follow block \W*f{64}/);
      assert.equal(readFileSync(path, 'utf8'), state);
    }),
  );
});

test('a scanner ignores failed transactions, and stops at a block that lacks transactions', async (t) => {
  // A failed transaction of another node can have an amount for a watched address, and transitions.
  const transition = { addr: shown(strangers[0]), depth: 0, msg: { _amount: '5', _recipient: shown(alice), _tag: '' } };
  const made = (ID, toAddr, amount, success, transitions) => ({ ID, toAddr, amount, receipt: { success, transitions } });
  const [contract] = strangers;
  const pages = [
    [made('a1', alice, '3', true), made('a2', bob, '4', false)],
    [made('a3', contract, '5', false, [transition]), made('a4', contract, '5', true, [transition])],
    [made('b1', carol, '6', true)],
  ];
  const block = (BlockNum, PrevBlockHash, BlockHash, NumTxns, NumPages) => ({
    header: { BlockNum, NumPages, NumTxns, PrevBlockHash },
    body: { BlockHash },
  });
  const blocks = [block('0', '00', '01', 4, 2), block('1', '01', '02', 2, 1)];
  const results = {
    GetLatestTxBlock: () => blocks[1],
    GetTxBlock: (number) => blocks[number],
    GetTxnBodiesForTxBlockEx: (number, page) => ({ Transactions: pages[2 * number + Number(page)] }),
  };
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const { id, method, params } = JSON.parse(Buffer.concat(chunks));
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ id, jsonrpc: '2.0', result: results[method](...params) }));
  }).listen(0, '127.0.0.1');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  for (const language of Object.keys(SCANNERS)) {
    const path = join(directory, `${language}-failed.json`);
    const scanner = start(language, path, `http://127.0.0.1:${server.address().port}`);
    assert.ok((await scanner.ended) > 0, language);
    assert.match(scanner.errors, /block 1 lacks transactions/);
    assert.deepEqual(JSON.parse(readFileSync(path)), {
      next: 1,
      parent: '01',
      deposits: {
        'a1:0': { address: alice, amount: '3', block: 0 },
        'a4:1': { address: alice, amount: '5', block: 0 },
      },
    });
  }
});
