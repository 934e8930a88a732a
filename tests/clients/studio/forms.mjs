// Fills the forms of Studio as a person does, and sends transactions with them.

import assert from 'node:assert/strict';

import { source, ZIL } from './harness.mjs';

const truth = (name) => ({ constructor: name, argtypes: [], arguments: [] });
export const yes = truth('True');
export const no = truth('False');

/** A parameter of init data or of a message. The form of the value is its JSON. */
export const param = (vname, type, value) => ({ vname, type, value });

export const pair = (types, ...values) => ({ constructor: 'Pair', argtypes: types, arguments: values });

/** Fills the inputs of a value. The element is the field of one input, or the fieldset of several inputs. */
async function fill(at, value) {
  if (Array.isArray(value)) {
    for (const [place, row] of value.entries()) {
      await at.locator(':scope > button').click();
      const inputs = at.locator(':scope > .row').nth(place).locator('.row-inputs').first().locator(':scope > *');
      // A row of a map has a key and a value.
      const parts = row.key === undefined ? [row] : [row.key, row.val];
      for (const [part, content] of parts.entries()) await fill(inputs.nth(part), content);
    }
  } else if (typeof value === 'string') {
    await at.locator('input[type=text], textarea').fill(value);
  } else {
    const { constructor: name, arguments: values } = value;
    const checkbox = at.locator(':scope > label > input[type=checkbox]');
    const select = at.locator(':scope > select');
    if (await checkbox.count()) await checkbox.setChecked(['True', 'Some'].includes(name));
    else if (await select.count()) await select.selectOption(name);
    const inputs = at.locator(':scope > .field, :scope > fieldset');
    for (const [place, content] of values.entries()) await fill(inputs.nth(place), content);
  }
}

async function fillParams({ page }, params) {
  for (const [place, { value }] of params.entries()) {
    await fill(page.locator('.param').nth(place).locator(':scope > .field, :scope > fieldset'), value);
  }
}

/** Presses the button after the simulation. Returns the transaction, after the page has shown its result. */
async function send(view, what) {
  const { node, page } = view;
  const sent = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Sent' }) });
  const links = sent.locator('a[href^="#/tx/"]');
  // The result of an earlier transaction stays until the next one.
  const earlier = (await links.count()) ? await links.getAttribute('href') : '';
  await page.getByRole('button', { name: new RegExp(`^Send ${what} from .*, fee `) }).click();
  const link = await sent.locator(`a[href^="#/tx/"]:not([href="${earlier}"])`).getAttribute('href');
  const outcome = await sent.getByText(/^(✓ success|✗ failed)$/).textContent();
  const hash = link.split('/').pop();
  const transaction = await node.call('GetTransaction', hash);
  assert.equal(outcome === '✓ success', transaction.receipt.success);
  return { hash, sent, ...transaction };
}

/** Deploys a contract or library of a file by the page. Returns its address. */
export async function deploy(view, path, init = [], libraries = {}) {
  const { page } = view;
  const code = await source(path);
  await view.go('#/deploy');
  await page.getByLabel('Source', { exact: true }).fill(code);
  for (const [name, address] of Object.entries(libraries)) await page.getByLabel(`Address of library ${name}`).fill(address);
  await page.getByRole('heading', { name: 'Init data' }).waitFor();
  await fillParams(view, init);
  const { data, receipt, sent, ...transaction } = await send(view, 'deployment of \\w+');
  assert.ok(receipt.success, JSON.stringify(receipt));
  assert.equal(transaction.code, code);
  const given = JSON.parse(data).filter(({ vname }) => !vname.startsWith('_'));
  assert.deepEqual(given, init);
  const link = await sent.getByRole('link', { name: 'Open the contract' }).getAttribute('href');
  return link.split('/').pop();
}

/** Fills the form of a call. The amount is in ZIL. */
export async function fillCall(view, contract, transition, params = [], { sender = view.node.accounts[0], amount = '0' } = {}) {
  const { page } = view;
  await view.go(`#/contract/${contract}?tab=call&transition=${transition}`);
  await fillParams(view, [...params, { value: amount }]);
  await page.getByLabel('Address of the sender').fill(sender);
}

/** Presses the button of a filled call. The transaction has what was typed. */
export async function sendCall(view, contract, transition, params = [], { amount = '0' } = {}) {
  const transaction = await send(view, transition);
  assert.deepEqual(JSON.parse(transaction.data), { _tag: transition, params });
  assert.equal(`0x${transaction.toAddr}`, contract);
  assert.equal(BigInt(transaction.amount), BigInt(amount) * ZIL);
  return transaction;
}

/** Calls a transition by its form. */
export async function call(view, ...of) {
  await fillCall(view, ...of);
  return sendCall(view, ...of);
}
