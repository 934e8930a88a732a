// An unmodified zilliqa-js subscribes to blocks and to events with its subscription builder.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import sdk from '@zilliqa-js/zilliqa';

import { call, deploy, helper, nextBlock, payer, shown, untilBlock, zilliqa } from './chain.js';

const { MessageType, StatusType } = sdk;
const url = process.env.SILICA_URL.replace('http:', 'ws:');

/** Collects the notifications of a subscription in order. `next` waits for the next one. */
function listener(subscription, type) {
  const messages = [];
  const waiting = [];
  subscription.emitter.on(type, (message) => (waiting.shift() ?? ((m) => messages.push(m)))(message));
  return { next: () => (messages.length > 0 ? messages.shift() : new Promise((resolve) => waiting.push(resolve))) };
}

test('a subscription gets each new block', async () => {
  const subscription = zilliqa.subscriptionBuilder.buildNewBlockSubscriptions(url);
  const subscribed = listener(subscription, StatusType.SUBSCRIBE_NEW_BLOCK);
  const blocks = listener(subscription, MessageType.NEW_BLOCK);
  await subscription.start();
  assert.deepEqual(await subscribed.next(), { query: 'NewBlock' });
  const number = await nextBlock();
  await untilBlock(number + 1);
  const { value } = await blocks.next();
  assert.equal(value.TxBlock.header.BlockNum, String(number));
  assert.deepEqual(Object.keys(value), ['TxBlock', 'TxHashes']);
  const unsubscribed = listener(subscription, MessageType.UNSUBSCRIBE);
  await subscription.stop();
  assert.deepEqual(await unsubscribed.next(), { query: 'Unsubscribe', type: 'NewBlock' });
  subscription.websocket.close();
});

test('a subscription gets the events of a contract', async () => {
  const contract = await deploy(helper('relay'));
  const options = { addresses: [shown(contract.address)] };
  const subscription = zilliqa.subscriptionBuilder.buildEventLogSubscriptions(url, options);
  const events = listener(subscription, MessageType.EVENT_LOG);
  await subscription.start();
  await call(payer, contract, 'Take');
  const { value } = await events.next();
  assert.equal(value.length, 1);
  assert.equal(value[0].address, shown(contract.address).slice(2));
  const [{ _eventname, params }] = value[0].event_logs;
  assert.equal(_eventname, 'Taken');
  assert.equal(params.find(({ vname }) => vname === 'from').value, shown(payer));
  subscription.websocket.close();
});
