// A chain with everything that a page of Studio can show.

import { source, ZIL } from './harness.mjs';

const owner = (node) => ({ vname: 'owner', type: 'ByStr20', value: node.accounts[0] });

/** Texts that a page must show as text. */
export const hostile = {
  markup: '<img src=x onerror="document.title=\'pwned\'"></script><script>document.title="pwned"</script>',
  long: 'x'.repeat(20_000),
  html: '&lt;b&gt; {{constructor}} javascript:alert(1)',
};

/** Changes of direction, and a character without width. A source may contain them, and a string may not. */
export const direction = 'pay \u202e001 LIZ\u202c to zil\u200b1';

const hostileContract = `scilla_version 0
(* ${hostile.markup} ${direction} *)
library Hostile
let one_msg =
  fun (msg : Message) =>
    let nil = Nil {Message} in
    Cons {Message} msg nil
(* Documentation: ${hostile.markup} *)
contract Hostile (owner : ByStr20)
field texts : Map String String = Emp String String
(* ${hostile.markup} ${direction} *)
transition Put (key : String, value : String)
  texts[key] := value;
  e = { _eventname : "Put"; key : key; value : value };
  event e
end
transition Fail (reason : String)
  e = { _exception : "Refused"; reason : reason };
  throw e
end
transition Send (to : ByStr20, text : String)
  msg = { _tag : "Receive"; _recipient : to; _amount : Uint128 0; text : text };
  msgs = one_msg msg;
  send msgs
end
`;

/** Calls one contract from another. */
const relay = `scilla_version 0
library Relay
let one_msg =
  fun (msg : Message) =>
    let nil = Nil {Message} in
    Cons {Message} msg nil
let zero = Uint128 0
contract Relay (target : ByStr20)
field calls : Uint32 = Uint32 0
transition Pass (text : String)
  before <- calls;
  one = Uint32 1;
  after = builtin add before one;
  calls := after;
  msg = { _tag : "SetGreeting"; _recipient : target; _amount : zero; text : text };
  msgs = one_msg msg;
  send msgs
end
transition PassWrong ()
  msg = { _tag : "Missing"; _recipient : target; _amount : zero };
  msgs = one_msg msg;
  send msgs
end
`;

/** Makes the chain, and returns the addresses and hashes of its parts. */
export async function seed(node) {
  const [first, second] = node.accounts;
  const payment = await node.send({ toAddr: second, amount: String(5n * ZIL) });
  const hello = await node.deploy(await source('contracts/hello_world/hello_world.scilla'), [owner(node)]);
  const token = await node.deploy(await source('contracts/fungible_token/fungible_token.scilla'), [
    { vname: 'contract_owner', type: 'ByStr20', value: first },
    { vname: 'name', type: 'String', value: hostile.markup },
    { vname: 'symbol', type: 'String', value: hostile.html },
    { vname: 'decimals', type: 'Uint32', value: '12' },
    { vname: 'init_supply', type: 'Uint128', value: '1000000000000000' },
    { vname: 'default_operators', type: 'List ByStr20', value: [] },
  ]);
  await node.invoke(token, 'Transfer', [['to', 'ByStr20', second], ['amount', 'Uint128', '1000']]);
  const call = await node.invoke(hello, 'SetGreeting', [['text', 'String', 'Good morning']]);
  await node.invoke(hello, 'Greet');
  const failed = await node.invoke(hello, 'SetGreeting', [['text', 'String', 'Mine']], { senderAddr: second });
  const through = await node.deploy(relay, [{ vname: 'target', type: 'ByStr20', value: hello }]);
  const chained = await node.invoke(through, 'Pass', [['text', 'String', 'Through a contract']]);
  const chainedFailure = await node.invoke(through, 'PassWrong');
  const evil = await node.deploy(hostileContract, [owner(node)]);
  for (const [key, value] of Object.entries(hostile)) {
    await node.invoke(evil, 'Put', [['key', 'String', value.slice(0, 200)], ['value', 'String', value]]);
  }
  const thrown = await node.invoke(evil, 'Fail', [['reason', 'String', hostile.markup]]);
  const { header } = await node.call('GetLatestTxBlock');
  return { payment, hello, token, call, failed, relay: through, chained, chainedFailure, evil, thrown, latest: header.BlockNum };
}

/** The routes of all pages. */
export const routes = ({ payment, hello, token, call, failed, relay, chained, chainedFailure, evil, thrown, latest }, node) => [
  '#/',
  '#/blocks',
  `#/block/${latest}`,
  '#/block/0',
  '#/ds/0',
  '#/committee',
  '#/transactions',
  `#/tx/${payment}`,
  `#/tx/${call}`,
  `#/tx/${failed}`,
  `#/tx/${chained}`,
  `#/tx/${chainedFailure}`,
  `#/tx/${thrown}`,
  `#/tx/${'0'.repeat(64)}`,
  `#/debug/${call}`,
  `#/debug/${failed}`,
  `#/debug/${chained}`,
  `#/debug/${thrown}`,
  `#/address/${node.accounts[0]}`,
  `#/address/${hello}`,
  `#/address/0x${'12'.repeat(20)}`,
  `#/contract/${hello}`,
  `#/contract/${relay}?tab=state`,
  ...['code', 'state', 'call', 'events', 'history', 'init'].map((tab) => `#/contract/${evil}?tab=${tab}`),
  `#/contract/${token}?tab=call`,
  '#/contracts',
  '#/accounts',
  '#/tokens',
  `#/token/${token}`,
  '#/labels',
  '#/proof',
  `#/proof?address=${hello}&field=greeting`,
  `#/proof?address=${evil}`,
  '#/deploy',
  '#/node',
  '#/rpc',
  '#/tools',
  '#/search/hello',
  `#/search/${latest}`,
  '#/no-such-page',
];
