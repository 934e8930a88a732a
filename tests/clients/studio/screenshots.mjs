// Makes the pictures of docs/studio.md and README.md. The script takes the steps of a new user: deploy a token,
// transfer some tokens, see their arrival, make a call fail, find the line, and verify a proof offline.
// `node screenshots.mjs DIRECTORY`

import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { deploy, fillCall, param, sendCall } from './forms.mjs';
import { Browser, TestNode } from './harness.mjs';

const [, , out] = process.argv;
assert.ok(out, 'usage: node screenshots.mjs DIRECTORY');
const directory = resolve(out);
await mkdir(directory, { recursive: true });

const node = await TestNode.start();
const browser = await Browser.start();
try {
  const view = await browser.open(node);
  const { page } = view;
  // A picture shows the part of the page from the element on.
  const picture = async (name, element) => {
    if (element) await element.evaluate((it) => scrollTo(0, it.getBoundingClientRect().top + scrollY - 90));
    await view.rendered();
    await page.screenshot({ path: join(directory, `${name}.png`), animations: 'disabled' });
  };
  const heading = (name) => page.getByRole('heading', { name, exact: true }).first();
  const [owner, recipient] = node.accounts;
  const address = (name, value) => param(name, 'ByStr20', value);
  const amount = (value) => param('amount', 'Uint128', value);

  const init = [
    address('contract_owner', owner),
    param('name', 'String', 'Example Coin'),
    param('symbol', 'String', 'EXC'),
    param('decimals', 'Uint32', '12'),
    param('init_supply', 'Uint128', '1000000000000000'),
    param('default_operators', 'List (ByStr20)', []),
  ];
  const token = await deploy(view, 'contracts/fungible_token/fungible_token.scilla', init);
  await picture('deploy', heading('Init data'));

  const transfer = [token, 'Transfer', [address('to', recipient), amount('250000000000000')], { sender: owner }];
  await fillCall(view, ...transfer);
  await page.getByRole('button', { name: /^Send Transfer from .*, fee / }).waitFor();
  await picture('call', heading('Call'));
  await sendCall(view, ...transfer);
  await view.go(`#/address/${recipient}`);
  await picture('address');

  const failing = [token, 'Transfer', [address('to', owner), amount('999000000000000000')], { sender: recipient }];
  await fillCall(view, ...failing);
  await page.locator('.failure-reasons').getByRole('link', { name: /^line \d+$/ }).first().waitFor();
  await picture('failure', page.locator('.failure-reasons'));
  const { hash } = await sendCall(view, ...failing);
  await view.go(`#/tx/${hash}`);
  await page.getByRole('link', { name: 'Open the debugger' }).click();
  await page.locator('[aria-current="location"]').waitFor();
  await view.ready();
  await picture('debugger');

  await view.go('#/');
  await picture('home');

  await view.go(`#/proof?address=${token}&field=balances&keys=${encodeURIComponent(JSON.stringify([recipient]))}`);
  await view.shows(/^Proven: /);
  await picture('proof');
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /HTML/ }).click()]);
  const file = join(directory, 'proof.html');
  await saved.saveAs(file);
  await view.close();

  await node.kill();
  const offline = await browser.context.newPage();
  await offline.setViewportSize({ width: 1280, height: 800 });
  await offline.goto(pathToFileURL(file).href);
  await offline.getByText('The proof is valid').waitFor();
  await offline.screenshot({ path: join(directory, 'proof-offline.png') });
  await rm(file);
} finally {
  await browser.stop();
  await rm(node.directory, { recursive: true, force: true });
}
