// A person deploys each example contract, and calls each of its transitions, with the forms of the page.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { call, deploy, fillCall, no, pair, param, sendCall, yes } from './forms.mjs';
import { Browser, TestNode } from './harness.mjs';

let node, browser, view;
let first, second, third;
const addresses = {};

before(async () => {
  node = await TestNode.start();
  browser = await Browser.start();
  view = await browser.open(node);
  [first, second, third] = node.accounts;
});

after(async () => {
  await browser?.stop();
  await node?.stop();
});

const address = (name, value) => param(name, 'ByStr20', value);
const string = (name, value) => param(name, 'String', value);
const uint = (bits, name, value) => param(name, `Uint${bits}`, value);

/** Calls the transitions [name, params, options], and checks that the contract has no other ones. */
async function callAll(contract, calls) {
  const { transitions } = await node.call('silica_getContractInterface', contract);
  assert.deepEqual(new Set(calls.map(([name]) => name)), new Set(transitions.map(({ vname }) => vname)));
  for (const [name, params = [], options] of calls) await call(view, contract, name, params, options);
}

const file = (name) => `contracts/${name}/${name}.scilla`;

test('hello_world_is_deployed_and_called_by_forms', async () => {
  addresses.hello = await deploy(view, file('hello_world'), [address('owner', first)]);
  await callAll(addresses.hello, [['Greet'], ['SetGreeting', [string('text', 'Good "morning"\n<b>')]]]);
});

test('a_failing_call_shows_its_line_before_and_after_it_is_sent', async () => {
  const { page } = view;
  const of = [addresses.hello, 'SetGreeting', [string('text', 'Mine')], { sender: second }];
  await fillCall(view, ...of);
  const reasons = page.locator('.failure-reasons');
  await reasons.getByText('NotTheOwner').waitFor();
  // The innermost exception is the first.
  const line = (await reasons.getByRole('link', { name: /^line \d+$/ }).first().innerText()).replace('line ', '');
  assert.equal(await reasons.locator('pre').first().innerText(), 'throw e');
  await page.getByRole('button', { name: /^Send SetGreeting .* – it will fail$/ }).waitFor();
  const { hash, receipt } = await sendCall(view, ...of);
  assert.deepEqual([receipt.success, String(receipt.exceptions[0].line)], [false, line]);
  await view.go(`#/tx/${hash}`);
  await page.getByRole('link', { name: 'Open the debugger' }).click();
  await page.locator('.failure').getByText('NotTheOwner').waitFor();
  const current = page.locator('[aria-current="location"]');
  assert.equal(await current.locator('.line-number').innerText(), line);
  assert.match(await current.innerText(), /throw e/);
  await page.locator('.debug-statement').getByText('✗ failed').waitFor();
});

test('the_browser_proves_a_value_of_the_state', async () => {
  const { page } = view;
  await view.go(`#/contract/${addresses.hello}?tab=state`);
  await page.getByRole('button', { name: /^Good "morning"/ }).click();
  await page.getByRole('link', { name: 'Prove this value' }).click();
  await view.shows(/^Proven: .* has this value after Tx block \d+\.$/);
  assert.match(await view.text(), /Good "morning"\s<b>/);
});

const token = (symbol) => [
  address('contract_owner', first),
  string('name', `Token ${symbol}`),
  string('symbol', symbol),
  uint(32, 'decimals', '12'),
  uint(128, 'init_supply', '1000000000'),
  param('default_operators', 'List (ByStr20)', [third]),
];

test('fungible_token_is_deployed_and_called_by_forms', async () => {
  addresses.fungible = await deploy(view, file('fungible_token'), token('ONE'));
  await callAll(addresses.fungible, [
    ['IsOperatorFor', [address('token_owner', first), address('operator', third)]],
    ['Mint', [address('recipient', second), uint(128, 'amount', '500')]],
    ['Burn', [uint(128, 'amount', '10')]],
    ['RevokeOperator', [address('operator', third)]],
    ['AuthorizeOperator', [address('operator', third)]],
    ['IncreaseAllowance', [address('spender', second), uint(128, 'amount', '100')]],
    ['DecreaseAllowance', [address('spender', second), uint(128, 'amount', '50')]],
    ['Transfer', [address('to', second), uint(128, 'amount', '7')]],
    ['TransferFrom', [address('from', first), address('to', third), uint(128, 'amount', '5')], { sender: second }],
    ['OperatorSend', [address('from', first), address('to', second), uint(128, 'amount', '5')], { sender: third }],
  ]);
});

test('non_fungible_token_is_deployed_and_called_by_forms', async () => {
  addresses.unique = await deploy(view, file('non_fungible_token'), [
    address('initial_contract_owner', first),
    string('initial_base_uri', 'https://tokens.example/'),
    string('name', 'Pictures'),
    string('symbol', 'PIC'),
  ]);
  const id = (number) => uint(256, 'token_id', number);
  const withUri = (to, uri) => pair(['ByStr20', 'String'], to, uri);
  const withId = (to, number) => pair(['ByStr20', 'Uint256'], to, number);
  await callAll(addresses.unique, [
    ['Pause'],
    ['Unpause'],
    ['SetRoyaltyRecipient', [address('to', second)]],
    ['SetRoyaltyFeeBPS', [uint(128, 'fee_bps', '250')]],
    ['SetBaseURI', [string('uri', 'https://other.example/')]],
    ['Mint', [address('to', first), string('token_uri', '1.json')]],
    [
      'BatchMint',
      [param('to_token_uri_pair_list', 'List (Pair (ByStr20) (String))', [withUri(first, '2.json'), withUri(first, ''), withUri(first, '4')])],
    ],
    ['Burn', [id('2')]],
    ['BatchBurn', [param('token_id_list', 'List (Uint256)', ['3'])]],
    ['AddMinter', [address('minter', second)]],
    ['RemoveMinter', [address('minter', second)]],
    ['SetSpender', [address('spender', second), id('1')]],
    ['AddOperator', [address('operator', third)]],
    ['RemoveOperator', [address('operator', third)]],
    ['TransferFrom', [address('to', second), id('4')]],
    ['BatchTransferFrom', [param('to_token_id_pair_list', 'List (Pair (ByStr20) (Uint256))', [withId(second, '1')])]],
    ['SetContractOwnershipRecipient', [address('to', second)]],
    ['AcceptContractOwnership', [], { sender: second }],
  ]);
});

test('contracts_with_a_library_are_deployed_and_called_by_forms', async () => {
  const libraries = { Escrow: await deploy(view, 'contracts/escrow/Escrow.scillib') };
  const campaign = await deploy(
    view,
    file('crowdfunding'),
    [address('owner', second), param('last_block', 'BNum', '1000000'), uint(128, 'goal', '5')],
    libraries,
  );
  await callAll(campaign, [['Donate', [], { amount: '3' }], ['Claim', [], { sender: second }], ['TakeBack']]);
  const auction = await deploy(
    view,
    file('auction'),
    [
      address('seller', second),
      address('token', addresses.unique),
      uint(256, 'token_number', '1'),
      param('last_block', 'BNum', '1000000'),
      uint(128, 'least_bid', '1'),
    ],
    libraries,
  );
  await callAll(auction, [
    ['PlaceBid', [], { amount: '2' }],
    ['Withdraw'],
    ['Settle'],
    ['CallOff', [], { sender: second }],
    ['ZRC6_TransferFromCallback', [address('from', first), address('to', second), uint(256, 'token_id', '1')]],
  ]);
});

test('multisig_wallet_is_deployed_and_called_by_forms', async () => {
  const wallet = await deploy(view, file('multisig_wallet'), [
    param('initial_owners', 'List (ByStr20)', [first, second]),
    uint(32, 'initial_threshold', '2'),
  ]);
  await callAll(wallet, [
    ['AddFunds', [], { amount: '10' }],
    ['ProposePayment', [address('to', third), uint(128, 'amount', '1000'), string('tag', '')]],
    ['ProposeOwner', [address('owner', third)]],
    ['ProposeRemoval', [address('owner', second)]],
    ['ProposeThreshold', [uint(32, 'number', '1')]],
    ['Sign', [uint(32, 'id', '1')], { sender: second }],
    ['Revoke', [uint(32, 'id', '1')], { sender: second }],
    ['Execute', [uint(32, 'id', '1')]],
  ]);
});

test('token_exchange_is_deployed_and_called_by_forms', async () => {
  const other = await deploy(view, file('fungible_token'), token('TWO'));
  const exchange = await deploy(view, file('token_exchange'));
  await callAll(exchange, [
    [
      'OpenOrder',
      [
        address('give', addresses.fungible),
        uint(128, 'give_amount', '20'),
        address('want', other),
        uint(128, 'want_amount', '30'),
        param('last_block', 'BNum', '1000000'),
      ],
    ],
    ['CancelOrder', [uint(32, 'id', '1')]],
    ['FillOrder', [uint(32, 'id', '1')], { sender: second }],
    [
      'TransferFromSuccessCallBack',
      [address('initiator', first), address('sender', second), address('recipient', third), uint(128, 'amount', '1')],
    ],
  ]);
});

test('values_of_each_kind_of_type_are_typed_into_forms', async () => {
  const contract = await deploy(view, 'packages/studio/test/every-type.scilla');
  const some = (type, value) => ({ constructor: 'Some', argtypes: [type], arguments: [value] });
  const none = (type) => ({ constructor: 'None', argtypes: [type], arguments: [] });
  const one = (name, values) => ({ constructor: `${contract}.${name}`, argtypes: [], arguments: values });
  const colour = `${contract}.Colour`;
  const zero = { constructor: 'Zero', argtypes: [], arguments: [] };
  const values = [
    ['TakeInt256', 'Int256', String(-(2n ** 255n))],
    ['TakeUint256', 'Uint256', String(2n ** 256n - 1n)],
    ['TakeByStr', 'ByStr', '0x00ff'],
    ['TakeByStr33', 'ByStr33', `0x02${'ab'.repeat(32)}`],
    ['TakeAddress', 'ByStr20', first],
    ['TakeBool', 'Bool', yes],
    ['TakeOption', 'Option (Uint32)', some('Uint32', '7')],
    ['TakeOptionOfAddress', 'Option (ByStr20)', none('ByStr20')],
    ['TakeLists', 'List (List (String))', [['a', 'b'], [], ['']]],
    ['TakePair', 'Pair (Option (Int32)) (Pair (String) (Bool))', pair(['Option (Int32)', 'Pair (String) (Bool)'], some('Int32', '-1'), pair(['String', 'Bool'], 'text', no))],
    ['TakeNat', 'Nat', { constructor: 'Succ', argtypes: [], arguments: [zero] }],
    ['TakeColour', colour, one('Mix', ['3', yes])],
    ['TakeColours', `List (Option (${colour}))`, [some(colour, one('Red', [])), none(colour), some(colour, one('Owned', [some('ByStr20 with end', first), [second]]))]],
  ];
  for (const [transition, type, value] of values) {
    const { receipt } = await call(view, contract, transition, [param('value', type, value)]);
    assert.ok(receipt.success, `${transition}: ${JSON.stringify(receipt)}`);
  }
});

test('the_page_had_no_fault_meanwhile', () => view.close());
