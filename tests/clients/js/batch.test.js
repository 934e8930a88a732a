// Payments in one batch. zilliqa-js sets a referrer that the `fetch` of Node.js rejects. So this file runs without this
// `fetch` (see package.json), and zilliqa-js uses its own HTTP library.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import sdk from '@zilliqa-js/zilliqa';

const { BN, Long, Zilliqa, bytes, toChecksumAddress } = sdk;

const zilliqa = new Zilliqa(process.env.SILICA_URL);
const { blockchain, transactions, wallet } = zilliqa;
const payer = wallet.addByPrivateKey(process.env.SILICA_KEY);
wallet.setDefault(payer);

test('payments in one batch are all executed', async () => {
  const to = [wallet.create(), wallet.create(), wallet.create()];
  const batch = to.map((address, i) =>
    transactions.new({
      version: bytes.pack(222, 1),
      toAddr: toChecksumAddress(address),
      amount: new BN(7 + i),
      gasPrice: new BN('2000000000'),
      gasLimit: Long.fromNumber(50),
    }),
  );
  const signed = await wallet.signBatch(batch);
  const sent = await blockchain.createBatchTransaction(signed, 33, 100);
  assert.equal(sent.length, 3);
  assert.ok(sent.every((tx) => tx.isConfirmed()));
  for (const [i, address] of to.entries()) {
    const { result } = await blockchain.getBalance(address.replace('0x', ''));
    assert.equal(result.balance, String(7 + i));
  }
});
