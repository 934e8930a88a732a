// Verifies proofs of the node with a trie of another project, and compares them with its other responses.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  False,
  True,
  account,
  adt,
  balance,
  blockchain,
  call,
  deploy,
  example,
  helper,
  nextBlock,
  param,
  payer,
  result,
  shown,
  state,
  subState,
  token,
  untilBlock,
  zilliqa,
} from './chain.js';
import { proveAccount, proveEntry, rootOf, variableHash } from './prove.js';

const bare = (contract) => shown(contract.address).slice(2);

/** Requests the proof of an entry, and the state root of its block. */
async function proof(contract, name, indices = [], block) {
  const { header } = await result(block === undefined ? blockchain.getLatestTxBlock() : blockchain.getTxBlock(block));
  const [address, hash] = [bare(contract), variableHash(bare(contract), name, indices)];
  const answer = await result(blockchain.getStateProof(address, hash, block === undefined ? 'latest' : String(block)));
  return { ...answer, stateRoot: header.StateRootHash, address, variableHash: hash };
}

/** Returns the text of an entry, or null if the proof shows its absence. */
async function proved(...request) {
  const { value } = await proveEntry(await proof(...request));
  return value === null ? null : Buffer.from(value, 'hex').toString();
}

const key = (text) => JSON.stringify(text);

test('an account, a variable, an entry and their absence are proved', async () => {
  const [alice, bob] = [await account(), await account()];
  const gold = await token(alice, 'Gold', 1000);
  const [a, b] = [alice, bob].map(shown);
  await call(alice, gold, 'Transfer', [param('to', 'ByStr20', b), param('amount', 'Uint128', '400')]);
  await call(alice, gold, 'IncreaseAllowance', [param('spender', 'ByStr20', b), param('amount', 'Uint128', '7')]);

  assert.equal(JSON.parse(await proved(gold, 'total_supply')), (await subState(gold, 'total_supply')).total_supply);
  const { balances } = await subState(gold, 'balances');
  for (const holder of [a, b]) {
    assert.equal(JSON.parse(await proved(gold, 'balances', [key(holder)])), balances[holder]);
  }
  assert.equal(balances[b], '400');
  assert.equal(await proved(gold, 'allowances', [key(a), key(b)]), '"7"');

  assert.equal(await proved(gold, 'nothing'), null);
  assert.equal(await proved(gold, 'balances', [key(shown(payer))]), null);
  assert.equal(await proved(gold, 'allowances', [key(b), key(a)]), null);
  // Only an empty map has an entry of its own, with the value of an empty map.
  assert.equal(await proved(gold, 'balances'), null);
  assert.equal(await proved(gold, 'operators'), '\x12\x00');
  // Metadata entries have the map depth and the type of a field.
  assert.equal(await proved(gold, '_depth', ['allowances']), '2');
  assert.equal(await proved(gold, '_type', ['allowances']), 'Map (ByStr20) (Map (ByStr20) (Uint128))');
  assert.equal(await proved(gold, '_version'), '0');
});

test('the account of a contract is proved with its balance', async () => {
  const relay = await deploy(helper('relay'));
  await call(payer, relay, 'Take', [], { amount: '12345' });
  const { storageRoot, codeHash, ...money } = await proveAccount(await proof(relay, 'taken'));
  const { balance: stands, nonce } = await balance(relay.address);
  assert.deepEqual(money, { balance: stands.toString(), nonce });
  assert.equal(money.balance, '12345');
  assert.match(codeHash, /^[0-9a-f]{64}$/);
  assert.equal((await proveEntry(await proof(relay, 'taken'))).storageRoot, storageRoot);
});

test('a proof at an older block shows the state of that block', async () => {
  const relay = await deploy(helper('relay'));
  const deployed = (await nextBlock()) - 1;
  await call(payer, relay, 'Take');
  await call(payer, relay, 'Take');
  const called = (await nextBlock()) - 1;
  const taken = (block) => proved(relay, 'taken', [], block);
  assert.deepEqual([await taken(deployed), await taken(called - 1), await taken()], ['"0"', '"1"', '"2"']);
  await untilBlock(deployed + 51);
  assert.equal(await taken(deployed + 1), '"1"');
  const expired = await blockchain.getStateProof(bare(relay), variableHash(bare(relay), 'taken'), String(deployed));
  assert.equal(expired.error.message, `Proof from requested txBlock is expired, earliest: ${deployed + 1}`);
});

test('a changed proof is false', async () => {
  const relay = await deploy(helper('relay'));
  const good = await proof(relay, 'taken');
  assert.equal((await proveEntry(good)).value, Buffer.from('"0"').toString('hex'));
  await assert.rejects(proveEntry({ ...good, stateRoot: 'ab'.repeat(32) }));
  for (const member of ['accountProof', 'stateProof']) {
    for (const [i, node] of good[member].entries()) {
      const nodes = good[member].with(i, node.slice(0, -2) + (node.endsWith('00') ? '01' : '00'));
      await assert.rejects(proveEntry({ ...good, [member]: nodes }), `${member} ${i}`);
      await assert.rejects(proveEntry({ ...good, [member]: good[member].toSpliced(i, 1) }), `${member} without ${i}`);
    }
  }
});

/** Returns the stored text of a value: compact JSON, with the members of a data type in this order. */
function stored(value) {
  if (Array.isArray(value)) return `[${value.map(stored).join(',')}]`;
  if (typeof value === 'string') return JSON.stringify(value);
  const { constructor, argtypes, arguments: args } = value;
  return `{"constructor":${stored(constructor)},"argtypes":${stored(argtypes)},"arguments":${stored(args)}}`;
}

/** Returns all storage entries of a contract, from the state that the node returns and the types of its fields. */
async function entries(contract, types) {
  const address = bare(contract);
  const all = [];
  const put = (name, indices, value) => all.push([variableHash(address, name, indices), Buffer.from(value)]);
  put('_version', [], '0');
  put('_addr', [], Buffer.from(address, 'hex'));
  const { _balance, ...fields } = await state(contract);
  assert.deepEqual(Object.keys(fields).sort(), Object.keys(types).sort());
  for (const [name, type] of Object.entries(types)) {
    const depth = type.match(/Map /g)?.length ?? 0;
    put('_depth', [name], String(depth));
    put('_type', [name], type);
    const walk = (value, indices) => {
      if (indices.length === depth) return put(name, indices, stored(value));
      const inner = Object.entries(value);
      if (inner.length === 0) return put(name, indices, [0x12, 0x00]);
      for (const [index, each] of inner) walk(each, [...indices, key(index)]);
    };
    walk(fields[name], []);
  }
  return all;
}

/** Returns the proved storage root of a contract. */
const storageRoot = async (contract, field) => (await proveEntry(await proof(contract, field))).storageRoot;

const TOKEN = {
  total_supply: 'Uint128',
  balances: 'Map (ByStr20) (Uint128)',
  allowances: 'Map (ByStr20) (Map (ByStr20) (Uint128))',
  operators: 'Map (ByStr20) (Map (ByStr20) (OWN.Unit))',
  revoked_default_operators: 'Map (ByStr20) (Map (ByStr20) (OWN.Unit))',
};

const WALLET = {
  owners: 'Map (ByStr20) (Bool)',
  owner_count: 'Uint32',
  threshold: 'Uint32',
  era: 'Uint32',
  next_id: 'Uint32',
  proposals: 'Map (Uint32) (OWN.Proposal)',
  signatures: 'Map (Uint32) (Map (ByStr20) (Bool))',
  signature_counts: 'Map (Uint32) (Uint32)',
};

const PARAMETERS = {
  int32: 'Int32',
  int64: 'Int64',
  int128: 'Int128',
  int256: 'Int256',
  uint32: 'Uint32',
  uint64: 'Uint64',
  uint128: 'Uint128',
  uint256: 'Uint256',
  text: 'String',
  bystr: 'ByStr',
  bystr4: 'ByStr4',
  bystr20: 'ByStr20',
  bystr33: 'ByStr33',
  block: 'BNum',
  bool: 'Bool',
  option: 'Option (Uint32)',
  pair: 'Pair (String) (Int32)',
  list: 'List (Pair (ByStr20) (Uint128))',
  nested: 'List (Option (List (Bool)))',
  shape: 'OWN.Shape',
  shapes: 'Map (BNum) (Map (Int32) (Map (String) (OWN.Shape)))',
};

/** Compares the proved storage root with the root of a trie of the whole state. */
async function check(contract, types) {
  const own = Object.entries(types).map(([name, type]) => [name, type.replaceAll('OWN', shown(contract.address))]);
  const all = await entries(contract, Object.fromEntries(own));
  assert.equal(await storageRoot(contract, own[0][0]), await rootOf(all));
}

test('a storage root is the root of a trie of the whole state', async () => {
  const [alice, bob] = [await account(), await account()];
  const [a, b] = [alice, bob].map(shown);
  const gold = await token(alice, 'Gold', 1000);
  await check(gold, TOKEN);
  const amount = (value) => param('amount', 'Uint128', String(value));
  await call(alice, gold, 'Transfer', [param('to', 'ByStr20', b), amount(1)]);
  await call(alice, gold, 'IncreaseAllowance', [param('spender', 'ByStr20', b), amount(2)]);
  await call(alice, gold, 'AuthorizeOperator', [param('operator', 'ByStr20', b)]);
  await check(gold, TOKEN);
  await call(alice, gold, 'RevokeOperator', [param('operator', 'ByStr20', b)]);
  await check(gold, TOKEN);

  const vault = await deploy(example('multisig_wallet/multisig_wallet.scilla'), [
    param('initial_owners', 'List ByStr20', [a, b]),
    param('initial_threshold', 'Uint32', '1'),
  ]);
  await call(alice, vault, 'ProposePayment', [param('to', 'ByStr20', b), amount(0), param('tag', 'String', 'x')]);
  await call(alice, vault, 'ProposeThreshold', [param('number', 'Uint32', '2')]);
  await check(vault, WALLET);
  await call(alice, vault, 'Execute', [param('id', 'Uint32', '1')]);
  await check(vault, WALLET);
});

test('values of every type are stored by the rules of the reference', async () => {
  const gold = await token(payer, 'Gold', 1);
  const share = adt('Pair', ['ByStr20', 'Uint128'], [shown(payer), '7']);
  const contract = await deploy(helper('parameters'), [
    param('big', 'Int256', '-1'),
    param('key', 'ByStr33', `0x${'02'.repeat(33)}`),
    param('bytes', 'ByStr', '0x'),
    param('since', 'BNum', '5'),
    param('flag', 'Bool', True),
    param('maybe', 'Option (Uint32)', adt('Some', ['Uint32'], ['5'])),
    param('shares', 'List (Pair (ByStr20) (Uint128))', [share]),
    param('token', 'ByStr20', shown(gold.address)),
  ]);
  await check(contract, PARAMETERS);
  const shape = (name) => `${shown(contract.address)}.${name}`;
  const at = (a, b, c) => [param('a', 'BNum', a), param('b', 'Int32', b), param('c', 'String', c)];
  const polygon = adt(shape('Polygon'), [], [[adt('Pair', ['Int32', 'Int32'], ['-1', '2'])]]);
  for (const [i, text] of ['', 'x', 'a "b" \\ \t c'].entries()) {
    await call(payer, contract, 'TakeText', [param('a', 'String', text)]);
    await call(payer, contract, 'PutShape', [...at('7', String(-i), text), param('d', shape('Shape'), polygon)]);
  }
  await call(payer, contract, 'TakeData', [
    param('a', 'Bool', False),
    param('b', 'Option (Uint32)', adt('None', ['Uint32'])),
    param('c', 'Pair (String) (Int32)', adt('Pair', ['String', 'Int32'], ['"', '-1'])),
    param('d', 'List (Pair (ByStr20) (Uint128))', []),
    param('f', 'List (Option (List (Bool)))', [adt('Some', ['List (Bool)'], [[True]]), adt('None', ['List (Bool)'])]),
  ]);
  await check(contract, PARAMETERS);
  await call(payer, contract, 'RemoveShape', at('7', '0', ''));
  await check(contract, PARAMETERS);
  for (const [i, text] of [[1, 'x'], [2, 'a "b" \\ \t c']]) {
    await call(payer, contract, 'RemoveShape', at('7', String(-i), text));
  }
  assert.deepEqual((await subState(contract, 'shapes')).shapes, { 7: { 0: {}, '-1': {}, '-2': {} } });
  await check(contract, PARAMETERS);
});
