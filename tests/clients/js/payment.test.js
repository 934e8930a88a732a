// Uses payments with an unmodified zilliqa-js: creates an account, pays it, waits for confirmation, and reads all data.
// SILICA_URL is the URL of the node, and SILICA_KEY the private key of a funded account. Other programs must not use
// this account during the test. SILICA_MEMBERS is the number of members of the committee, 1 by default.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import sdk from '@zilliqa-js/zilliqa';

import { variableHash } from './prove.js';

const { BN, Long, Zilliqa, bytes, getAddressFromPrivateKey, toBech32Address, toChecksumAddress, units } = sdk;

const url = process.env.SILICA_URL;
const key = process.env.SILICA_KEY;
assert.ok(url && key, 'set SILICA_URL and SILICA_KEY');

const zilliqa = new Zilliqa(url);
const { blockchain, network, transactions, wallet } = zilliqa;
const version = bytes.pack(222, 1);
assert.equal(version, 14548993);

const payerAccount = wallet.addByPrivateKey(key);
const payer = payerAccount.replace('0x', '').toLowerCase();
assert.equal(payer, getAddressFromPrivateKey(key).replace('0x', '').toLowerCase());
wallet.setDefault(payerAccount);

const zil = (amount) => units.toQa(amount, units.Units.Zil);
const gasPrice = new BN(await result(blockchain.getMinimumGasPrice()));
const fee = gasPrice.muln(50);

/** Returns the result of a call. An error response fails the test. */
async function result(call) {
  const { error, result } = await call;
  assert.equal(error, undefined, JSON.stringify(error));
  return result;
}

async function balance(address) {
  const { balance, nonce } = await result(blockchain.getBalance(address));
  assert.equal(typeof balance, 'string');
  assert.equal(typeof nonce, 'number');
  return { balance: new BN(balance), nonce };
}

const payment = (to, amount, more = {}) =>
  transactions.new({ version, toAddr: to, amount, gasPrice, gasLimit: Long.fromNumber(50), ...more }, false);

/** Pays like an application: submits the payment, and polls GetTransaction until it returns the payment. */
async function pay(to, amount, more) {
  const confirmed = await blockchain.createTransaction(payment(to, amount, more), 33, 100);
  assert.ok(confirmed.isConfirmed(), 'the payment is confirmed');
  return confirmed;
}

test('the node has the chain id for which the client signs', async () => {
  assert.equal(await result(network.GetNetworkId()), '222');
});

test('an account without a payment is reported as not created', async () => {
  const stranger = wallet.create();
  const { error } = await blockchain.getBalance(stranger.replace('0x', ''));
  assert.deepEqual(error, { code: -5, data: null, message: 'Account is not created' });
});

test('a new account receives and sends payments', async () => {
  const created = wallet.create();
  const before = await balance(payer);
  const sent = await pay(toChecksumAddress(created), zil('25'));
  assert.deepEqual(
    { success: sent.getReceipt().success, gas: sent.getReceipt().cumulative_gas },
    { success: true, gas: 50 },
  );

  const after = await balance(payer);
  assert.equal(after.nonce, before.nonce + 1);
  assert.equal(before.balance.sub(after.balance).toString(), zil('25').add(fee).toString());
  // zilliqa-js removes the prefix of hexadecimal addresses, and converts bech32 addresses to hexadecimal.
  assert.equal((await balance(toBech32Address(created))).balance.toString(), zil('25').toString());

  wallet.setDefault(created);
  const back = await pay(toBech32Address(payer), zil('1'));
  wallet.setDefault(payerAccount);
  assert.equal(back.txParams.nonce, 1);
  const left = await balance(created);
  assert.equal(left.nonce, 1);
  assert.equal(left.balance.toString(), zil('24').sub(fee).toString());
});

test('a payment is found by its hash, in its block, and among recent transactions', async () => {
  const to = wallet.create();
  const sent = await pay(toChecksumAddress(to), zil('3'));
  const { id } = sent;
  assert.match(id, /^[0-9a-f]{64}$/);
  assert.equal(id, sent.hash);

  const read = await blockchain.getTransaction(id);
  assert.equal(read.txParams.amount.toString(), zil('3').toString());
  assert.equal(read.txParams.toAddr.replace('0x', '').toLowerCase(), to.replace('0x', '').toLowerCase());
  assert.equal(read.txParams.version, version);
  assert.equal(read.senderAddress.replace('0x', '').toLowerCase(), payer);
  const epoch = Number(read.getReceipt().epoch_num);

  const block = await result(blockchain.getTxBlock(epoch));
  assert.equal(block.header.BlockNum, String(epoch));
  assert.ok(block.header.NumTxns >= 1);
  const hashes = (await result(blockchain.getTransactionsForTxBlock(epoch))).flat();
  assert.ok(hashes.includes(id));
  const bodies = await result(blockchain.getTxnBodiesForTxBlock(epoch));
  assert.ok(bodies.some(({ ID }) => ID === id));
  assert.ok((await result(blockchain.getRecentTransactions())).TxnHashes.includes(id));

  // These two calls have no page number, which means the first page.
  assert.ok((await result(blockchain.getTransactionsForTxBlockEx(epoch))).Transactions.flat().includes(id));
  assert.ok((await result(blockchain.getTxnBodiesForTxBlockEx(epoch))).Transactions.some(({ ID }) => ID === id));

  const status = await blockchain.getTransactionStatus(id);
  assert.equal(status.statusMessage, 'Confirmed');
});

test('a rejected payment has a reason', async () => {
  const to = toChecksumAddress(wallet.create());
  const { nonce } = await balance(payer);
  await assert.rejects(pay(to, zil('1'), { nonce }), { code: -8, message: `Nonce (${nonce}) lower than current (${nonce})` });
  const empty = wallet.create();
  await pay(toChecksumAddress(empty), zil('1'));
  wallet.setDefault(empty);
  // With an explicit nonce, because zilliqa-js checks the balance when it requests the nonce.
  await assert.rejects(pay(to, zil('1'), { nonce: 1 }), { code: -8, message: 'Insufficient funds in source account!' });
  wallet.setDefault(payerAccount);
});

test('blocks, listings and statistics agree', async () => {
  const latest = await result(blockchain.getLatestTxBlock());
  const number = Number(latest.header.BlockNum);
  assert.deepEqual(await result(blockchain.getTxBlock(number)), latest);
  const previous = await result(blockchain.getTxBlock(number - 1));
  assert.equal(latest.header.PrevBlockHash, previous.body.BlockHash);

  const listing = await result(blockchain.getTxBlockListing(1));
  assert.equal(listing.data[0].BlockNum, number);
  assert.equal(listing.data[0].Hash.toLowerCase(), latest.body.BlockHash);
  assert.equal(listing.maxPages, Math.floor(number / 10) + 1);

  const latestDs = await result(blockchain.getLatestDSBlock());
  const dsNumber = Number(latestDs.header.BlockNum);
  assert.deepEqual(await result(blockchain.getDSBlock(dsNumber)), latestDs);
  assert.equal((await result(blockchain.getDSBlockListing(1))).data[0].BlockNum, dsNumber);

  const info = await result(blockchain.getBlockChainInfo());
  assert.equal(info.NumTxBlocks, String(number + 1));
  assert.equal(info.NumTxBlocks, await result(blockchain.getNumTxBlocks()));
  assert.equal(info.CurrentMiniEpoch, await result(blockchain.getCurrentMiniEpoch()));
  assert.equal(info.CurrentDSEpoch, await result(blockchain.getCurrentDSEpoch()));
  assert.equal(info.CurrentDSEpoch, String(dsNumber));
  assert.equal(info.NumDSBlocks, await result(blockchain.getNumDSBlocks()));
  assert.equal(info.NumTransactions, await result(blockchain.getNumTransactions()));
  assert.equal(info.NumTxnsTxEpoch, await result(blockchain.getNumTxnsTxEpoch(number)));
  assert.equal(info.NumTxnsDSEpoch, await result(blockchain.getNumTxnsDSEpoch(dsNumber)));
  assert.equal(info.TransactionRate, await result(blockchain.getTransactionRate()));
  assert.equal(info.TxBlockRate, await result(blockchain.getTxBlockRate()));
  assert.equal(info.DSBlockRate, await result(blockchain.getDSBlockRate()));
  // The sharding structure has a method of its own, and is part of the statistics.
  assert.ok(info.ShardingStructure.NumPeers.every((peers) => Number.isInteger(peers)));

  assert.equal(await result(blockchain.getPrevDifficulty()), latestDs.header.Difficulty);
  assert.equal(await result(blockchain.getPrevDSDifficulty()), latestDs.header.DifficultyDS);
  const members = Number(process.env.SILICA_MEMBERS ?? 1);
  assert.equal((await result(blockchain.getMinerInfo(String(dsNumber)))).dscommittee.length, members);
  assert.match(await result(blockchain.getTotalCoinSupply()), /^\d+\.\d{12}$/);
});

test('an account without code has no init parameters and no state to prove', async () => {
  const init = await blockchain.getSmartContractInit(payer);
  assert.deepEqual(init.error, { code: -5, data: null, message: 'Address not contract address' });
  const proof = await blockchain.getStateProof(payer, variableHash(payer, 'counter'), 'latest');
  assert.deepEqual(proof.error, { code: -5, data: null, message: 'Address not contract address' });
  const { header } = await result(blockchain.getLatestTxBlock());
  const ahead = await blockchain.getStateProof(payer, variableHash(payer, 'counter'), String(Number(header.BlockNum) + 9));
  assert.deepEqual(ahead.error, { code: -1, data: null, message: 'Requested txBlock not mined yet' });
});
