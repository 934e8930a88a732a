// Uses contracts with an unmodified zilliqa-js: deploys each example, calls it with success and failure, and reads its
// data.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import sdk from '@zilliqa-js/zilliqa';

import {
  False,
  True,
  account,
  adt,
  balance,
  blockchain,
  call,
  deploy,
  deployLibrary,
  example,
  fee,
  helper,
  nextBlock,
  param,
  pay,
  payer,
  receipt,
  receiptOf,
  refusal,
  result,
  shown,
  state,
  subState,
  token,
  tryDeploy,
  untilBlock,
  wallet,
  zilliqa,
} from './chain.js';

const { BN, toBech32Address } = sdk;

const qa = (text) => new BN(text);
const eventNames = ({ event_logs = [] }) => event_logs.map(({ _eventname }) => _eventname);
const eventValues = (event) => event.params.map(({ value }) => value);
/** Returns the failure in a receipt. An exception lists completed procedures, and not the active ones. */
const failure = ({ success, errors, exceptions }) => ({ success, errors, messages: exceptions.map((e) => e.message) });
const thrown = (text, ...raised) => ({
  success: false,
  errors: { 0: [7] },
  messages: [`Exception thrown: (Message [${text}])`, ...raised.map((name) => `Raised from ${name}`)],
});
const errorCode = (code, ...raised) => thrown(`(_exception : (String "Error")) ; (code : (Int32 ${code}))`, ...raised);

test('a deployed contract has the sent code, init data and state', async () => {
  const code = example('hello_world/hello_world.scilla');
  const { nonce } = await balance(payer);
  const owner = param('owner', 'ByStr20', shown(payer));
  const contract = await deploy(code, [owner]);
  const address = shown(contract.address).slice(2);

  assert.equal(await result(blockchain.getContractAddressFromTransactionID(contract.deployment)), address);
  const sent = await blockchain.getTransaction(contract.deployment);
  assert.equal(sent.txParams.nonce, nonce + 1);
  assert.equal(shown(zilliqa.contracts.constructor.getAddressForContract(sent)), `0x${address}`);
  assert.equal(sent.txParams.code, code);
  assert.deepEqual(JSON.parse(sent.txParams.data), [param('_scilla_version', 'Uint32', '0'), owner]);
  const { cumulative_gas, epoch_num, ...rest } = await receiptOf(contract.deployment);
  assert.deepEqual(rest, { success: true });
  const owned = await result(blockchain.getSmartContracts(payer.replace('0x', '')));
  assert.deepEqual(owned.at(-1), { address });

  for (const spelling of [address, contract.address, toBech32Address(contract.address)]) {
    assert.deepEqual(await result(blockchain.getSmartContractCode(spelling)), { code });
    assert.deepEqual(await result(blockchain.getSmartContractInit(spelling)), [
      param('_scilla_version', 'Uint32', '0'),
      owner,
      param('_creation_block', 'BNum', epoch_num),
      param('_this_address', 'ByStr20', `0x${address}`),
    ]);
  }
  assert.deepEqual(await contract.getInit(), await result(blockchain.getSmartContractInit(address)));
  assert.deepEqual(await contract.getState(), { _balance: '0', greeting: 'Hello, world', visits: {} });
});

test('a call changes the state, emits an event and costs its gas', async () => {
  const contract = await deploy(example('hello_world/hello_world.scilla'), [param('owner', 'ByStr20', shown(payer))]);
  const visitor = await account();
  const before = await balance(visitor);
  const got = await call(visitor, contract, 'Greet');
  assert.deepEqual(got.event_logs, [
    {
      _eventname: 'Greeting',
      address: shown(contract.address),
      params: [param('to', 'ByStr20', shown(visitor)), param('text', 'String', 'Hello, world')],
    },
  ]);
  assert.equal(got.accepted, false);
  assert.equal(got.transitions, undefined);
  const after = await balance(visitor);
  assert.equal(after.nonce, before.nonce + 1);
  assert.equal(before.balance.sub(after.balance).toString(), fee(got).toString());

  const greeting = 'Greetings, "world"\n\\';
  await call(payer, contract, 'SetGreeting', [param('text', 'String', greeting)]);
  assert.deepEqual(await state(contract), { _balance: '0', greeting, visits: { [shown(visitor)]: '1' } });

  const refused = await receipt(visitor, contract, 'SetGreeting', [param('text', 'String', 'Mine')]);
  const exception = `(_exception : (String "NotTheOwner")) ; (caller : (ByStr20 ${shown(visitor)}))`;
  assert.deepEqual(failure(refused), thrown(exception, 'SetGreeting'));
  assert.ok(refused.exceptions.every(({ line }) => Number.isInteger(line) && line > 0));
  assert.equal(refused.event_logs, undefined);
  assert.equal((await balance(visitor)).nonce, after.nonce + 1);
  assert.deepEqual(await subState(contract, 'greeting'), { greeting });
});

test('a parameter can have any type, and responses have its value unchanged', async () => {
  const gold = await token(payer, 'Gold', 1000);
  const key = `0x${'03'.repeat(33)}`;
  const share = adt('Pair', ['ByStr20', 'Uint128'], [shown(payer), '7']);
  const contract = await deploy(helper('parameters'), [
    param('big', 'Int256', '-57896044618658097711785492504343953926634992332820282019728792003956564819968'),
    param('key', 'ByStr33', key),
    param('bytes', 'ByStr', '0x'),
    param('since', 'BNum', '100'),
    param('flag', 'Bool', True),
    param('maybe', 'Option (Uint32)', adt('Some', ['Uint32'], ['5'])),
    param('shares', 'List (Pair (ByStr20) (Uint128))', [share]),
    param('token', 'ByStr20', shown(gold.address)),
  ]);
  const fresh = await state(contract);
  assert.equal(fresh.int256, '-57896044618658097711785492504343953926634992332820282019728792003956564819968');
  assert.deepEqual([fresh.bystr, fresh.bystr33, fresh.block, fresh.bool], ['0x', key, '100', True]);
  assert.deepEqual([fresh.option, fresh.list], [adt('Some', ['Uint32'], ['5']), [share]]);

  const shape = (name) => `${shown(contract.address)}.${name}`;
  const point = (x, y) => adt('Pair', ['Int32', 'Int32'], [x, y]);
  const maybeBools = (list) => adt('Some', ['List (Bool)'], [list]);
  const bytes = `0x${'ab'.repeat(33)}`;
  const cases = {
    TakeSigned: [
      ['int32', 'Int32', '-2147483648'],
      ['int64', 'Int64', '9223372036854775807'],
      ['int128', 'Int128', '-170141183460469231731687303715884105728'],
      ['int256', 'Int256', '57896044618658097711785492504343953926634992332820282019728792003956564819967'],
    ],
    TakeUnsigned: [
      ['uint32', 'Uint32', '4294967295'],
      ['uint64', 'Uint64', '18446744073709551615'],
      ['uint128', 'Uint128', '340282366920938463463374607431768211455'],
      ['uint256', 'Uint256', '115792089237316195423570985008687907853269984665640564039457584007913129639935'],
    ],
    TakeText: [['text', 'String', 'tab\t "quoted" \\ end']],
    TakeBytes: [
      ['bystr', 'ByStr', '0x00ff'],
      ['bystr4', 'ByStr4', '0xdeadbeef'],
      ['bystr20', 'ByStr20', shown(payer)],
      ['bystr33', 'ByStr33', bytes],
    ],
    TakeBlock: [['block', 'BNum', '18446744073709551616']],
    TakeData: [
      ['bool', 'Bool', False],
      ['option', 'Option (Uint32)', adt('None', ['Uint32'])],
      ['pair', 'Pair (String) (Int32)', adt('Pair', ['String', 'Int32'], ['left', '-1'])],
      ['list', 'List (Pair (ByStr20) (Uint128))', [share, share]],
      [
        'nested',
        'List (Option (List (Bool)))',
        [maybeBools([True, False]), adt('None', ['List (Bool)']), maybeBools([])],
      ],
    ],
    TakeShape: [['shape', shape('Shape'), adt(shape('Polygon'), [], [[point('1', '-1'), point('0', '0')]])]],
  };
  for (const [tag, values] of Object.entries(cases)) {
    const names = ['a', 'b', 'c', 'd', 'f'];
    const got = await call(payer, contract, tag, values.map(([, type, value], i) => param(names[i], type, value)));
    assert.deepEqual(got.event_logs[0].params, values.map(([, type, value], i) => param(names[i], type, value)), tag);
    for (const [field, , value] of values) {
      assert.deepEqual(await subState(contract, field), { [field]: value }, field);
    }
  }
  // A list as nested constructors, the form in which SDKs of other languages send lists.
  const list = adt('Cons', [shape('Shape')], [adt(shape('Circle'), [], ['9']), adt('Nil', [shape('Shape')])]);
  const circle = list.arguments[0];
  await call(payer, contract, 'TakeShape', [param('a', shape('Shape'), circle)]);
  assert.deepEqual(await subState(contract, 'shape'), { shape: circle });
});

test('an index selects an entry, a part of a map, or nothing', async () => {
  const gold = await token(payer, 'Gold', 1000);
  const contract = await deploy(helper('parameters'), [
    param('big', 'Int256', '0'),
    param('key', 'ByStr33', `0x${'02'.repeat(33)}`),
    param('bytes', 'ByStr', '0x01'),
    param('since', 'BNum', '0'),
    param('flag', 'Bool', False),
    param('maybe', 'Option (Uint32)', adt('None', ['Uint32'])),
    param('shares', 'List (Pair (ByStr20) (Uint128))', []),
    param('token', 'ByStr20', shown(gold.address)),
  ]);
  assert.deepEqual(await subState(contract, 'shapes'), { shapes: {} });
  assert.equal(await subState(contract, 'shapes', ['1']), null);

  const shape = (name) => `${shown(contract.address)}.${name}`;
  const point = adt(shape('Point'));
  const circle = adt(shape('Circle'), [], ['3']);
  const odd = 'a "b" \\ ';
  const at = (a, b, c) => [param('a', 'BNum', a), param('b', 'Int32', b), param('c', 'String', c)];
  for (const [keys, value] of [
    [['1', '-1', odd], point],
    [['1', '-1', ''], circle],
    [['1', '0', 'x'], circle],
    [['20', '7', 'y'], point],
  ]) {
    await call(payer, contract, 'PutShape', [...at(...keys), param('d', shape('Shape'), value)]);
  }
  const shapes = { 1: { '-1': { [odd]: point, '': circle }, 0: { x: circle } }, 20: { 7: { y: point } } };
  for (const [indices, expected] of [
    [[], shapes],
    [['1'], { 1: shapes[1] }],
    [['1', '-1'], { 1: { '-1': shapes[1]['-1'] } }],
    [['1', '-1', odd], { 1: { '-1': { [odd]: point } } }],
    [['1', '-1', ''], { 1: { '-1': { '': circle } } }],
    [['20', '7', 'y'], { 20: shapes[20] }],
  ]) {
    assert.deepEqual(await subState(contract, 'shapes', indices), { shapes: expected }, indices.join());
    if (indices.length > 0) assert.deepEqual(await contract.getSubState('shapes', indices), { shapes: expected });
  }
  for (const indices of [['2'], ['1', '1'], ['1', '-1', 'z'], ['1', '-1', odd, 'x']]) {
    assert.equal(await subState(contract, 'shapes', indices), null, indices.join());
  }
  assert.equal(await subState(contract, 'no_field'), null);
  assert.equal(await subState(contract, 'text', ['x']), null);
  assert.deepEqual(await subState(contract, '_balance'), { _balance: '0' });
  // The function of zilliqa-js cannot request all fields, so this calls the method directly.
  const all = (indices) =>
    result(zilliqa.provider.send('GetSmartContractSubState', shown(contract.address), '', indices));
  assert.deepEqual(await all([]), await state(contract));
  const { _balance, ...fields } = await state(contract);
  assert.deepEqual(await all(['ignored']), fields);
  assert.deepEqual(fields.shapes, shapes);

  // The removal of the last entry leaves an empty map.
  await call(payer, contract, 'RemoveShape', at('20', '7', 'y'));
  assert.deepEqual(await subState(contract, 'shapes', ['20']), { shapes: { 20: { 7: {} } } });
});

test('an address must match the type of its parameter', async () => {
  const [gold, relay] = [await token(payer, 'Gold', 1000), await deploy(helper('relay'))];
  const { address: library } = await deployLibrary('Escrow', example('escrow/Escrow.scillib'));
  const contract = await deploy(helper('parameters'), [
    param('big', 'Int256', '0'),
    param('key', 'ByStr33', `0x${'02'.repeat(33)}`),
    param('bytes', 'ByStr', '0x01'),
    param('since', 'BNum', '0'),
    param('flag', 'Bool', False),
    param('maybe', 'Option (Uint32)', adt('None', ['Uint32'])),
    param('shares', 'List (Pair (ByStr20) (Uint128))', []),
    param('token', 'ByStr20', shown(gold.address)),
  ]);
  const addresses = (a, b, c) => [a, b, c].map((address, i) => param('abc'[i], 'ByStr20', shown(address)));
  const got = await call(payer, contract, 'TakeAddresses', addresses(payer, relay.address, gold.address));
  const [a, b, c, held, supply] = eventValues(got.event_logs[0]);
  assert.deepEqual([a, b, c], [payer, relay.address, gold.address].map(shown));
  assert.deepEqual([held, supply], [adt('Some', ['Uint128'], ['1000']), '1000']);
  await call(payer, contract, 'TakeLibrary', [param('a', 'ByStr20', shown(library))]);

  const stranger = wallet.create();
  const type =
    'ByStr20 with contract field balances : Map (ByStr20) (Uint128), field total_supply : Uint128 end';
  for (const [tag, params, message] of [
    ['TakeAddresses', addresses(stranger, relay.address, gold.address), `Address not in use: ${shown(stranger)}`],
    ['TakeAddresses', addresses(payer, payer, gold.address), `No contract found at address: ${shown(payer)}`],
    [
      'TakeAddresses',
      addresses(payer, relay.address, relay.address),
      `Address does not satisfy type: address is ${shown(relay.address)}, expected type is ${type}`,
    ],
    [
      'TakeLibrary',
      [param('a', 'ByStr20', shown(relay.address))],
      `No library found at address: ${shown(relay.address)}`,
    ],
  ]) {
    const got = await receipt(payer, contract, tag, params);
    assert.deepEqual(failure(got), { success: false, errors: { 0: [7] }, messages: [message] });
  }
});

test('tokens are transferred, allowed and minted', async () => {
  const [alice, bob] = [await account(), await account()];
  const gold = await token(alice, 'Gold', 1000);
  const to = (name, address) => param(name, 'ByStr20', shown(address));
  const amount = (value) => param('amount', 'Uint128', String(value));

  const sent = await call(alice, gold, 'Transfer', [to('to', bob), amount(400)]);
  assert.deepEqual(eventNames(sent), ['TransferSuccess']);
  // Both messages go to accounts without a contract, so no contract accepts them.
  const message = (tag) => ({
    _amount: '0',
    _recipient: shown(tag === 'RecipientAcceptTransfer' ? bob : alice),
    _tag: tag,
    params: [to('sender', alice), to('recipient', bob), amount(400)],
  });
  assert.deepEqual(sent.transitions, [
    { addr: shown(gold.address), depth: 0, msg: message('RecipientAcceptTransfer') },
    { addr: shown(gold.address), depth: 0, msg: message('TransferSuccessCallBack') },
  ]);
  assert.deepEqual(await subState(gold, 'balances', [shown(bob)]), { balances: { [shown(bob)]: '400' } });

  await call(alice, gold, 'IncreaseAllowance', [to('spender', bob), amount(100)]);
  assert.deepEqual(await subState(gold, 'allowances', [shown(alice), shown(bob)]), {
    allowances: { [shown(alice)]: { [shown(bob)]: '100' } },
  });
  await call(bob, gold, 'TransferFrom', [to('from', alice), to('to', bob), amount(60)]);
  const beyond = await receipt(bob, gold, 'TransferFrom', [to('from', alice), to('to', bob), amount(60)]);
  assert.deepEqual(failure(beyond), errorCode(-3, 'TransferFrom'));
  await call(alice, gold, 'Mint', [to('recipient', bob), amount(5)]);
  await call(bob, gold, 'Burn', [amount(65)]);
  const poor = await receipt(bob, gold, 'Transfer', [to('to', alice), amount(401)]);
  assert.deepEqual(failure(poor), errorCode(-2, 'Transfer'));
  const { balances, allowances, total_supply } = await state(gold);
  assert.deepEqual(balances, { [shown(alice)]: '540', [shown(bob)]: '400' });
  assert.deepEqual([allowances, total_supply], [{ [shown(alice)]: { [shown(bob)]: '40' } }, '940']);
});

test('an order on the exchange leads to transfers in two other contracts', async () => {
  const [maker, taker] = [await account(), await account()];
  const [gold, iron] = [await token(maker, 'Gold', 100), await token(taker, 'Iron', 5000)];
  const exchange = await deploy(example('token_exchange/token_exchange.scilla'));
  const open = (give, giveAmount, want, wantAmount, last) => [
    param('give', 'ByStr20', shown(give.address ?? give)),
    param('give_amount', 'Uint128', String(giveAmount)),
    param('want', 'ByStr20', shown(want.address)),
    param('want_amount', 'Uint128', String(wantAmount)),
    param('last_block', 'BNum', String(last)),
  ];
  const allow = (from, of, amount) =>
    call(from, of, 'IncreaseAllowance', [
      param('spender', 'ByStr20', shown(exchange.address)),
      param('amount', 'Uint128', String(amount)),
    ]);
  const last = (await nextBlock()) + 1000;

  // The exchange reads from the token that the transfer is not possible.
  const early = await receipt(maker, exchange, 'OpenOrder', open(gold, 10, iron, 500, last));
  const checked = ['takeable', 'RequireInTime', 'RequirePositive', 'RequirePositive'];
  assert.deepEqual(failure(early), errorCode(-5, ...checked, 'OpenOrder'));
  const wrong = await receipt(maker, exchange, 'OpenOrder', open(maker, 10, iron, 500, last));
  assert.deepEqual(wrong.errors, { 0: [7] });
  await allow(maker, gold, 10);
  await allow(taker, iron, 500);
  const opened = await call(maker, exchange, 'OpenOrder', open(gold, 10, iron, 500, last));
  assert.deepEqual(eventValues(opened.event_logs[0]).slice(0, 4), ['1', shown(maker), shown(gold.address), '10']);
  const order = adt(
    `${shown(exchange.address)}.Order`,
    [],
    [shown(maker), shown(gold.address), '10', shown(iron.address), '500', String(last)],
  );
  assert.deepEqual(await subState(exchange, 'orders', ['1']), { orders: { 1: order } });

  const id = [param('id', 'Uint32', '1')];
  const filled = await call(taker, exchange, 'FillOrder', id, { priority: true });
  assert.deepEqual(eventNames(filled), ['OrderFilled', 'TransferFromSuccess', 'TransferFromSuccess']);
  // The messages of a called contract follow the message that called it.
  const tell = ({ addr, depth, accepted, msg }) => [addr, depth, accepted, msg._recipient, msg._tag];
  const [e, g, i, m, t] = [exchange.address, gold.address, iron.address, maker, taker].map(shown);
  assert.deepEqual(filled.event_logs.map(({ address }) => address), [e, g, i]);
  assert.deepEqual(filled.transitions.map(tell), [
    [e, 0, false, g, 'TransferFrom'],
    [g, 1, undefined, t, 'RecipientAcceptTransferFrom'],
    [g, 1, false, e, 'TransferFromSuccessCallBack'],
    [e, 0, false, i, 'TransferFrom'],
    [i, 1, undefined, m, 'RecipientAcceptTransferFrom'],
    [i, 1, false, e, 'TransferFromSuccessCallBack'],
  ]);
  assert.deepEqual((await subState(gold, 'balances')).balances, { [m]: '90', [t]: '10' });
  assert.deepEqual((await subState(iron, 'balances')).balances, { [m]: '500', [t]: '4500' });
  assert.deepEqual(await subState(exchange, 'orders'), { orders: {} });
  assert.deepEqual(failure(await receipt(taker, exchange, 'FillOrder', id)), errorCode(-6, 'FillOrder'));
});

test('a wallet pays when enough owners have signed', async () => {
  const [alice, bob, friend] = [await account(), await account(), wallet.create()];
  const vault = await deploy(example('multisig_wallet/multisig_wallet.scilla'), [
    param('initial_owners', 'List ByStr20', [shown(alice), shown(bob)]),
    param('initial_threshold', 'Uint32', '2'),
  ]);
  const own = (name) => `${shown(vault.address)}.${name}`;
  const funded = await call(alice, vault, 'AddFunds', [], { amount: '5000000000000' });
  assert.equal(funded.accepted, true);
  assert.equal((await balance(vault.address)).balance.toString(), '5000000000000');

  await call(alice, vault, 'ProposePayment', [
    param('to', 'ByStr20', shown(friend)),
    param('amount', 'Uint128', '2000000000000'),
    param('tag', 'String', ''),
  ]);
  const id = [param('id', 'Uint32', '1')];
  assert.deepEqual(await subState(vault, 'proposals'), {
    proposals: { 1: adt(own('Proposal'), [], [adt(own('Pay'), [], [shown(friend), '2000000000000', '']), '0']) },
  });
  const passed = ['RequireCurrent', 'RequireOwner'];
  assert.deepEqual(failure(await receipt(bob, vault, 'Execute', id)), errorCode(-6, ...passed, 'Execute'));
  assert.deepEqual(failure(await receipt(alice, vault, 'Sign', id)), errorCode(-4, ...passed, 'Sign'));
  await call(bob, vault, 'Sign', id);
  assert.deepEqual(await subState(vault, 'signatures', ['1']), {
    signatures: { 1: { [shown(alice)]: True, [shown(bob)]: True } },
  });
  const paid = await call(bob, vault, 'Execute', id);
  assert.deepEqual(paid.transitions, [
    {
      addr: shown(vault.address),
      depth: 0,
      msg: { _amount: '2000000000000', _recipient: shown(friend), _tag: '', params: [] },
    },
  ]);
  assert.equal((await balance(friend)).balance.toString(), '2000000000000');
  assert.equal((await state(vault))._balance, '3000000000000');
});

test('an auction sells a token, with a library that another contract uses as well', async () => {
  const [seller, alice, bob] = [await account(), await account(), await account()];
  const { address: library, extlibs } = await deployLibrary('Escrow', example('escrow/Escrow.scillib'));
  const art = await deploy(example('non_fungible_token/non_fungible_token.scilla'), [
    param('initial_contract_owner', 'ByStr20', shown(seller)),
    param('initial_base_uri', 'String', 'https://example.org/'),
    param('name', 'String', 'Art'),
    param('symbol', 'String', 'ART'),
  ]);
  const pair = (to, uri) => adt('Pair', ['ByStr20', 'String'], [shown(to), uri]);
  const minted = await call(seller, art, 'BatchMint', [
    param('to_token_uri_pair_list', 'List (Pair (ByStr20) (String))', [pair(seller, ''), pair(alice, 'own')]),
  ]);
  // Within a run, the newest event is first.
  assert.deepEqual(eventNames(minted), ['BatchMint']);
  assert.deepEqual((await subState(art, 'token_owners')).token_owners, { 1: shown(seller), 2: shown(alice) });

  const lastBlock = (await nextBlock()) + 7;
  const auction = await deploy(example('auction/auction.scilla'), [
    extlibs,
    param('seller', 'ByStr20', shown(seller)),
    param('token', 'ByStr20', shown(art.address)),
    param('token_number', 'Uint256', '1'),
    param('last_block', 'BNum', String(lastBlock)),
    param('least_bid', 'Uint128', '1000000000000'),
  ]);
  const bid = (from, zils, make = call) => make(from, auction, 'PlaceBid', [], { amount: `${zils}000000000000` });
  const passed = ['deliverable', 'Require', 'Refuse', 'RequireRunning'];
  assert.deepEqual(failure(await bid(alice, 5, receipt)), errorCode(-8, ...passed, 'PlaceBid'));
  await call(seller, art, 'SetSpender', [
    param('spender', 'ByStr20', shown(auction.address)),
    param('token_id', 'Uint256', '1'),
  ]);
  await bid(alice, 5);
  await bid(bob, 6);
  assert.deepEqual((await subState(auction, 'refunds')).refunds, { [shown(alice)]: '5000000000000' });
  assert.deepEqual(failure(await receipt(alice, auction, 'Settle')), errorCode(-3, 'Settle'));
  await untilBlock(lastBlock + 1);
  assert.deepEqual(failure(await bid(alice, 9, receipt)), errorCode(-2, 'PlaceBid'));
  const before = await balance(seller);
  const settled = await call(alice, auction, 'Settle');
  assert.equal((await balance(seller)).balance.sub(before.balance).toString(), '6000000000000');
  assert.deepEqual(eventNames(settled), ['Sold', 'TransferFrom']);
  assert.deepEqual(await subState(art, 'token_owners', ['1']), { token_owners: { 1: shown(bob) } });
  await call(alice, auction, 'Withdraw');
  assert.deepEqual(await subState(auction, 'refunds'), { refunds: {} });
  const bidType = `${shown(auction.address)}.Bid`;
  assert.deepEqual(await subState(auction, 'highest'), {
    highest: adt('Some', [bidType], [adt(bidType, [], [shown(bob), '6000000000000'])]),
  });

  const over = (await nextBlock()) + 3;
  const campaign = await deploy(example('crowdfunding/crowdfunding.scilla'), [
    extlibs,
    param('owner', 'ByStr20', shown(seller)),
    param('last_block', 'BNum', String(over)),
    param('goal', 'Uint128', '8000000000000'),
  ]);
  const init = await result(blockchain.getSmartContractInit(campaign.address.replace('0x', '')));
  assert.deepEqual(init[1], extlibs);
  const donated = await call(alice, campaign, 'Donate', [], { amount: '3000000000000' });
  assert.equal(donated.accepted, true);
  const early = await receipt(alice, campaign, 'TakeBack');
  assert.deepEqual(failure(early), errorCode(-2, 'TakeBack'));
  await untilBlock(over + 1);
  const late = await receipt(bob, campaign, 'Donate', [], { amount: '1' });
  assert.deepEqual(failure(late), errorCode(-1, 'Donate'));
  assert.deepEqual(failure(await receipt(seller, campaign, 'Claim')), errorCode(-5, 'RequireOver', 'Claim'));
  const alone = await balance(alice);
  const back = await call(alice, campaign, 'TakeBack');
  const gain = (await balance(alice)).balance.sub(alone.balance).add(fee(back));
  assert.equal(gain.toString(), '3000000000000');

  // A library is not a contract: it has code, but no state, and accepts no calls or payments.
  assert.equal((await result(blockchain.getSmartContractCode(library))).code, example('escrow/Escrow.scillib'));
});

test('one run sends messages to a contract and to an account', async () => {
  const [relay, other] = [await deploy(helper('relay')), await deploy(helper('relay'))];
  const [r, o] = [relay.address, other.address].map(shown);
  const stranger = wallet.create();
  await call(payer, relay, 'Take', [], { amount: '1000' });
  const got = await call(payer, relay, 'Share', [
    param('first', 'ByStr20', o),
    param('second', 'ByStr20', shown(stranger)),
    param('third', 'ByStr20', o),
    param('amount', 'Uint128', '30'),
  ]);
  const message = (_tag, _recipient, _amount) => ({ _amount, _recipient, _tag, params: [] });
  assert.deepEqual(got.transitions, [
    { accepted: true, addr: r, depth: 0, msg: message('Take', o, '30') },
    { addr: r, depth: 0, msg: message('', shown(stranger), '30') },
    { accepted: false, addr: r, depth: 0, msg: message('Decline', o, '30') },
    { accepted: true, addr: r, depth: 0, msg: message('Take', o, '0') },
  ]);
  assert.deepEqual(got.event_logs.map((event) => [event._eventname, ...eventValues(event)]), [
    ['Taken', r, '30'],
    ['Taken', r, '0'],
  ]);
  const money = async (address) => (await balance(address)).balance.toString();
  assert.deepEqual([await money(r), await money(o), await money(stranger)], ['940', '30', '30']);
  assert.deepEqual(await state(other), { _balance: '30', taken: '3' });
});

test('a failure at any depth undoes the whole call, and the receipt names its place', async () => {
  const [relay, other] = [await deploy(helper('relay')), await deploy(helper('relay'))];
  const { address: library } = await deployLibrary('Escrow', example('escrow/Escrow.scillib'));
  const [r, o] = [relay.address, other.address].map(shown);
  const forward = (to, tag, amount = '0') => [
    param('to', 'ByStr20', shown(to)),
    param('tag', 'String', tag),
    param('amount', 'Uint128', amount),
  ];
  const times = (n) => [param('times', 'Uint32', String(n))];
  const unmoved = async (request, errors, message) => {
    const before = await balance(payer);
    const got = await receipt(payer, relay, ...request);
    assert.deepEqual({ success: got.success, errors: got.errors }, { success: false, errors });
    assert.deepEqual(got.exceptions.map((e) => e.message).slice(0, message ? 1 : undefined), message ? [message] : []);
    assert.deepEqual([got.event_logs, got.transitions], [undefined, undefined]);
    assert.deepEqual([await state(relay), await state(other)], [
      { _balance: '0', taken: '0' },
      { _balance: '0', taken: '0' },
    ]);
    const after = await balance(payer);
    assert.equal(after.nonce, before.nonce + 1);
    assert.equal(before.balance.sub(after.balance).toString(), fee(got).toString());
    return got;
  };
  const failed = (by) => `Exception thrown: (Message [(_exception : (String "Failed")) ; (by : (ByStr20 ${by}))])`;

  await unmoved(['Fail'], { 0: [7] }, failed(r));
  const nested = await unmoved(['Forward', forward(o, 'Fail')], { 1: [7] }, failed(o));
  assert.equal(nested.accepted, false);
  const poor = 'The balance is too low to transfer all the funds in the messages: balance = 0, amount to transfer = 1';
  await unmoved(['Forward', forward(o, 'Take', '1')], { 0: [7] }, poor);
  await unmoved(['Forward', forward(wallet.create(), '', '1')], { 0: [7] }, poor);
  await unmoved(['Forward', forward(`0x${'0'.repeat(40)}`, 'Take')], { 0: [14] });
  await unmoved(['Forward', forward(o, 'Nothing')], { 1: [7] }, 'No contract transition for tag found: Nothing');
  await unmoved(['Forward', forward(o, 'Repeat')], { 1: [7] }, 'No message entry found matching parameter: times');
  await unmoved(['Repeat', times(21)], { 21: [15] });
  const enough = Number((await call(payer, await deploy(helper('relay')), 'Take')).cumulative_gas);
  for (const [gasLimit, message] of [
    [302, 'Insufficient gas to parse message'],
    [enough - 1, 'Ran out of gas after evaluating statement'],
  ]) {
    await unmoved(['Take', [], { gasLimit }], { 0: [7] }, message);
  }
  await unmoved(['Forward', forward(o, 'Decline'), { gasLimit: 500 }], { 1: [21] });

  // A message to a library has no effect, and does not fail the call.
  const ignored = await call(payer, await deploy(helper('relay')), 'Forward', forward(library, 'Take'));
  assert.deepEqual([ignored.transitions.length, ignored.transitions[0].accepted], [1, false]);

  await unmoved(['Nothing'], { 0: [7] }, 'No contract transition for tag found: Nothing');
  await unmoved(['Repeat'], { 0: [7] }, 'No message entry found matching parameter: times');
  await unmoved(['Take', times(1)], { 0: [7] }, 'No parameter found matching message entry: times');
  await unmoved(['Repeat', [...times(0), ...times(0)]], { 0: [7] }, 'Duplicate message entries found');
  const text = [param('times', 'String', '1')];
  await unmoved(['Repeat', text], { 0: [7] }, 'Type unassignable: Uint32 expected, but String provided');
  const large = [param('times', 'Uint32', '4294967296')];
  await unmoved(['Repeat', large], { 0: [7] }, 'Invalid value in JSON: 4294967296 of type Uint32');

  await call(payer, relay, 'Repeat', times(20));
  assert.equal((await state(relay)).taken, '21');
});

test('a failed deployment has a receipt, and creates no account', async () => {
  const owner = param('owner', 'ByStr20', shown(payer));
  const code = example('hello_world/hello_world.scilla');
  const bad = {
    'a program that does not parse': [code.replace('end', 'ende'), [owner], { 0: [0, 0] }],
    'a program of the wrong types': [code.replace('builtin add n one', 'builtin add n owner'), [owner], { 0: [0, 0] }],
    'a missing parameter': [code, [], { 0: [8, 1] }],
    'a surplus parameter': [code, [owner, param('more', 'Uint32', '1')], { 0: [8, 1] }],
    'a parameter of the wrong type': [code, [param('owner', 'Uint32', '1')], { 0: [8, 1] }],
    'a constraint that does not hold': [
      example('multisig_wallet/multisig_wallet.scilla'),
      [param('initial_owners', 'List ByStr20', []), param('initial_threshold', 'Uint32', '1')],
      { 0: [8, 1] },
    ],
  };
  for (const [name, [program, init, errors]] of Object.entries(bad)) {
    const { nonce } = await balance(payer);
    const { tx } = await tryDeploy(program, init);
    const got = await receiptOf(tx.id);
    assert.deepEqual({ success: got.success, errors: got.errors }, { success: false, errors }, name);
    assert.ok(got.exceptions.length > 0, name);
    assert.equal((await balance(payer)).nonce, nonce + 1, name);
    const address = await result(blockchain.getContractAddressFromTransactionID(tx.id));
    assert.equal((await blockchain.getSmartContractInit(address)).error.message, 'Address does not exist', name);
    assert.equal((await blockchain.getSmartContractState(address)).error.message, 'Address does not exist', name);
  }
});

test('an invalid call is rejected with a code and a reason', async () => {
  const relay = await deploy(helper('relay'));
  const { address: library } = await deployLibrary('Escrow', example('escrow/Escrow.scillib'));
  const user = await account();
  // With the rules of a new chain, a call of a library succeeds without effect.
  const ignored = await call(payer, library, 'Take');
  assert.deepEqual([ignored.accepted, ignored.event_logs ?? []], [false, []]);
  const { nonce } = await balance(payer);
  const refused = async (...request) => {
    const { code, message } = await refusal(payer, ...request);
    return [code, message];
  };
  assert.deepEqual(await refused(user, 'Take'), [-5, 'Non - contract address called']);
  assert.deepEqual(await refused(wallet.create(), 'Take'), [-5, 'To addr is null']);
  const [low] = await refused(relay.address, 'Take', [], { gasLimit: 9 });
  assert.equal(low, -8);
  const [rich, why] = await refused(relay.address, 'Take', [], { amount: '9'.repeat(30), nonce: nonce + 1 });
  assert.deepEqual([rich, why], [-8, 'Insufficient funds in source account!']);
  wallet.setDefault(payer);
  await assert.rejects(pay(relay.address, qa('1')), { code: -8 });
  assert.equal((await balance(payer)).nonce, nonce);
});
