// Unmodified ethers and viem read the events of a token as logs of Ethereum.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Contract, JsonRpcProvider, Interface, WebSocketProvider } from 'ethers';
import { createPublicClient, http, parseAbi, webSocket } from 'viem';

import { account, call, param, payer, shown, token } from './chain.js';

const url = process.env.SILICA_URL;
const socket = url.replace('http:', 'ws:');
// The checksum of a Zilliqa address is invalid for these libraries, so addresses are in lower case.
// An event of Scilla has one parameter in Solidity: the text of a JSON object.
const abi = ['event TransferSuccess(string json)', 'event Minted(string json)'];

const transfer = (from, contract, to, amount) =>
  call(from, contract, 'Transfer', [param('to', 'ByStr20', shown(to)), param('amount', 'Uint128', String(amount))]);

/** Returns the parameters of the event in a log, by their names. */
function values(text, contract, name) {
  const { address, _eventname, params } = JSON.parse(text);
  assert.deepEqual([address, _eventname], [shown(contract.address), name]);
  return Object.fromEntries(params.map(({ vname, value }) => [vname, value]));
}

/** Returns the parameters of a transfer. */
const moved = (to, amount) => ({ sender: shown(payer), recipient: shown(to), amount: String(amount) });

/** Deploys a token, and transfers it three times. */
async function transfers() {
  const to = await account();
  const contract = await token(payer, 'Coin', 1_000_000);
  const receipts = [];
  for (const amount of [5, 7, 11]) receipts.push(await transfer(payer, contract, to, amount));
  return { contract, to, blocks: receipts.map(({ epoch_num }) => Number(epoch_num)) };
}

test('ethers reads and decodes the transfers of a token', async () => {
  const { contract, to, blocks } = await transfers();
  const provider = new JsonRpcProvider(url);
  const coin = new Contract(shown(contract.address), abi, provider);
  const logs = await coin.queryFilter('TransferSuccess', 0, 'latest');
  assert.deepEqual(logs.map((log) => log.blockNumber), blocks);
  for (const [i, log] of logs.entries()) {
    assert.deepEqual(values(log.args.json, contract, 'TransferSuccess'), moved(to, [5, 7, 11][i]));
    const block = await provider.getBlock(log.blockNumber);
    assert.equal(log.blockHash, block.hash);
    assert.equal(log.transactionHash, block.transactions[log.transactionIndex]);
    assert.deepEqual([log.index, log.removed], [0, false]);
    const receipt = await provider.getTransactionReceipt(log.transactionHash);
    assert.deepEqual(receipt.logs.map(({ data, index }) => [data, index]), [[log.data, 0]]);
  }
  const one = await provider.getLogs({ address: shown(contract.address), blockHash: logs[1].blockHash });
  assert.deepEqual(one.map(({ data }) => data), [logs[1].data]);
  assert.deepEqual(await coin.queryFilter('TransferSuccess', blocks[1], blocks[1]), [logs[1]]);
  assert.equal((await coin.queryFilter('Minted', 0, 'latest')).length, 0);
  // A topic at a second position matches no event.
  const { topicHash } = new Interface(abi).getEvent('TransferSuccess');
  assert.deepEqual(await provider.getLogs({ fromBlock: 0, topics: [topicHash, topicHash] }), []);
  provider.destroy();
});

test('viem reads and decodes the transfers of a token', async () => {
  const { contract, to, blocks } = await transfers();
  const client = createPublicClient({ transport: http(url) });
  const [event] = parseAbi(abi);
  const read = { address: shown(contract.address), event, fromBlock: 0n, strict: true };
  const logs = await client.getLogs(read);
  assert.deepEqual(logs.map(({ blockNumber }) => Number(blockNumber)), blocks);
  assert.deepEqual(
    logs.map(({ args }) => values(args.json, contract, 'TransferSuccess')),
    [5, 7, 11].map((amount) => moved(to, amount)),
  );
  // A filter returns new events only.
  const filter = await client.createEventFilter({ address: shown(contract.address), event, strict: true });
  assert.deepEqual(await client.getFilterChanges({ filter }), []);
  await transfer(payer, contract, to, 13);
  const news = await client.getFilterChanges({ filter });
  assert.deepEqual(news.map(({ args }) => values(args.json, contract, 'TransferSuccess')), [moved(to, 13)]);
  assert.deepEqual(await client.getFilterChanges({ filter }), []);
  assert.equal(await client.uninstallFilter({ filter }), true);
});

test('ethers gets the transfers of a token over a subscription', async () => {
  const { contract, to } = await transfers();
  const provider = new WebSocketProvider(socket);
  const coin = new Contract(shown(contract.address), abi, provider);
  const got = [];
  const all = new Promise((resolve) => {
    coin.on('TransferSuccess', (json, { log }) => {
      got.push([values(json, contract, 'TransferSuccess'), log.removed]);
      if (got.length === 2) resolve();
    });
  });
  // The subscription exists when a later request on the same connection has its response.
  await provider.send('eth_blockNumber', []);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await transfer(payer, contract, to, 17);
  await transfer(payer, contract, to, 19);
  await all;
  assert.deepEqual(got, [17, 19].map((amount) => [moved(to, amount), false]));
  await coin.off('TransferSuccess');
  await provider.destroy();
});

test('viem gets the headers of new blocks over a subscription', async () => {
  const client = createPublicClient({ transport: webSocket(socket) });
  const before = await client.getBlockNumber();
  let unwatch;
  const header = new Promise((resolve, reject) => {
    unwatch = client.watchBlocks({ onBlock: resolve, onError: reject });
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  await account();
  const { number, hash } = await header;
  assert.equal(number, before + 1n);
  assert.equal(hash, (await client.getBlock({ blockNumber: number })).hash);
  unwatch();
  (await client.transport.getRpcClient()).close();
});
