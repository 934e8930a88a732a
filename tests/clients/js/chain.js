// Helpers of the contract tests: the node, accounts, and contracts. They use zilliqa-js as an application does.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import sdk from '@zilliqa-js/zilliqa';

const { BN, Long, Zilliqa, bytes, toChecksumAddress } = sdk;

assert.ok(process.env.SILICA_URL && process.env.SILICA_KEY, 'set SILICA_URL and SILICA_KEY');

export const zilliqa = new Zilliqa(process.env.SILICA_URL);
export const { blockchain, wallet } = zilliqa;
export const version = bytes.pack(222, 1);
export const payer = wallet.addByPrivateKey(process.env.SILICA_KEY);
wallet.setDefault(payer);
export const gasPrice = new BN(await result(blockchain.getMinimumGasPrice()));

/** Returns the result of a call. An error response fails the test. */
export async function result(call) {
  const { error, result } = await call;
  assert.equal(error, undefined, JSON.stringify(error));
  return result;
}

/** Returns the source of an example contract (`example`) or of a test contract (`helper`). */
export const example = (path) => readFileSync(new URL(`../../../contracts/${path}`, import.meta.url), 'utf8');
export const helper = (name) => readFileSync(new URL(`../../data/contracts/${name}.scilla`, import.meta.url), 'utf8');

/** Returns an address in the form of Scilla values: lower case, with prefix. */
export const shown = (address) => address.toLowerCase();

export const param = (vname, type, value) => ({ vname, type, value });
export const adt = (constructor, argtypes = [], args = []) => ({ constructor, argtypes, arguments: args });
export const True = adt('True');
export const False = adt('False');

export async function balance(address) {
  const { balance, nonce } = await result(blockchain.getBalance(address.replace('0x', '')));
  return { balance: new BN(balance), nonce };
}

/** Creates an account, and pays it some money. */
export async function account(zils = 1000) {
  const address = wallet.create();
  wallet.setDefault(payer);
  const amount = new BN(zils).mul(new BN('1000000000000'));
  await pay(toChecksumAddress(address), amount);
  return address;
}

/** Returns the fee of a receipt. */
export const fee = ({ cumulative_gas }) => gasPrice.mul(new BN(cumulative_gas));

/** Sends a payment of the default account, and waits for its confirmation. */
export const pay = (toAddr, amount) =>
  blockchain.createTransaction(
    zilliqa.transactions.new({ version, toAddr, amount, gasPrice, gasLimit: Long.fromNumber(50) }),
    33,
    100,
  );

const options = ({ amount = 0, gasLimit = 50_000, nonce } = {}) => ({
  version,
  amount: new BN(amount),
  gasPrice,
  gasLimit: Long.fromNumber(gasLimit),
  nonce,
});

/** Deploys a contract of the payer, and returns the transaction and the contract. */
export async function tryDeploy(code, init = [], more) {
  wallet.setDefault(payer);
  const contract = zilliqa.contracts.new(code, [param('_scilla_version', 'Uint32', '0'), ...init]);
  const [tx, deployed] = await contract.deploy(options(more), 33, 100);
  return { tx, contract: deployed };
}

/** Deploys a contract. A failed deployment fails the test. */
export async function deploy(code, init, more) {
  const { tx, contract } = await tryDeploy(code, init, more);
  assert.ok(contract.isDeployed(), JSON.stringify(contract.error ?? tx.getReceipt()));
  return Object.assign(contract, { deployment: tx.id });
}

/** Deploys a library, and returns its address, and the init parameter with which contracts import it. */
export async function deployLibrary(name, code) {
  const { address } = await deploy(code, [param('_library', 'Bool', True)]);
  const pair = adt('Pair', ['String', 'ByStr20'], [name, shown(address)]);
  return { address, extlibs: param('_extlibs', 'List(Pair String ByStr20)', [pair]) };
}

/** Returns the receipt of a transaction without the additions of zilliqa-js. */
export const receiptOf = async (id) => (await result(zilliqa.provider.send('GetTransaction', id))).receipt;

/** Calls a contract, and returns the receipt, also if the call failed. */
export async function receipt(from, contract, tag, params = [], more = {}) {
  wallet.setDefault(from);
  const at = zilliqa.contracts.at(contract.address ?? contract);
  const tx = await at.call(tag, params, options(more), 33, 100, more.priority);
  assert.equal(at.error, undefined, JSON.stringify(at.error));
  const got = await receiptOf(tx.id);
  assert.deepEqual([got.success, Number(got.cumulative_gas)], [tx.isConfirmed(), tx.getReceipt().cumulative_gas]);
  return got;
}

/** Calls a contract, and returns the receipt. A failed call fails the test. */
export async function call(...request) {
  const got = await receipt(...request);
  assert.ok(got.success, JSON.stringify(got));
  return got;
}

/** Sends a call that the node must reject, and returns the error. */
export async function refusal(from, address, tag, params = [], more = {}) {
  wallet.setDefault(from);
  const at = zilliqa.contracts.at(address);
  const tx = await at.call(tag, params, options(more), 33, 100);
  assert.ok(tx.isRejected());
  return at.error;
}

/** Returns a field of a contract, or a part of a map field. */
export const subState = (contract, name, indices = []) =>
  result(blockchain.getSmartContractSubState(contract.address.replace('0x', ''), name, indices));

export const state = (contract) => result(blockchain.getSmartContractState(contract.address.replace('0x', '')));

/** Returns the number of the next block. */
export const nextBlock = async () => Number(await result(blockchain.getNumTxBlocks()));

/** Makes blocks until the next block has this number. */
export async function untilBlock(number) {
  wallet.setDefault(payer);
  while ((await nextBlock()) < number) await pay(payer, new BN(1));
}

export const token = (owner, name, supply) =>
  deploy(example('fungible_token/fungible_token.scilla'), [
    param('contract_owner', 'ByStr20', shown(owner)),
    param('name', 'String', name),
    param('symbol', 'String', name.toUpperCase()),
    param('decimals', 'Uint32', '2'),
    param('init_supply', 'Uint128', String(supply)),
    param('default_operators', 'List ByStr20', []),
  ]);
