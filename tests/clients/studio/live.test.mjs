// Open pages while the chain moves: new blocks, a revert, a restart of the node, and large lists.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, TestNode, ZIL, until } from './harness.mjs';
import { seed } from './seed.mjs';

let node, browser, chain;

before(async () => {
  node = await TestNode.start();
  browser = await Browser.start();
  chain = await seed(node);
});

after(async () => {
  await browser?.stop();
  await node?.stop();
});

const pay = (amount = 1n) => node.send({ toAddr: `0x${'ab'.repeat(20)}`, amount: String(amount) });

test('a_transaction_appears_on_the_open_home_page', async (t) => {
  const view = await browser.open(node);
  await pay();
  const begun = performance.now();
  const hash = await pay(7n * ZIL);
  await view.page.locator(`main a[href="#/tx/${hash}"]`).first().waitFor();
  t.diagnostic(`${Math.round(performance.now() - begun)} ms from the request to the row`);
  await view.close();
});

test('the_home_page_needs_few_requests', async (t) => {
  const view = await browser.open(node);
  const requests = [];
  view.page.on('request', (request) => requests.push(request.method()));
  await view.page.reload();
  await view.ready();
  await view.shows(/Supply/);
  const calls = requests.filter((method) => method === 'POST').length;
  assert.ok(calls <= 6, `${calls} requests of JSON-RPC`);
  const paint = await view.page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  t.diagnostic(`first paint after ${Math.round(paint)} ms, ${calls} requests of JSON-RPC`);
  await view.close();
});

test('a_pending_transaction_becomes_confirmed_on_its_page', async () => {
  await node.call('silica_setBlockMode', 'manual');
  const hash = await pay();
  const view = await browser.open(node, `#/tx/${hash}`);
  await view.shows(/pending/i);
  await node.call('silica_mine', 1);
  await view.shows(/success|confirmed/i);
  await view.close();
  await node.call('silica_setBlockMode', 'instant');
});

test('a_revert_removes_the_rows_of_its_blocks', async () => {
  const savepoint = await node.call('silica_snapshot');
  const gone = await pay(3n);
  const pages = ['#/', '#/transactions', `#/address/${node.accounts[0]}`];
  const views = [];
  for (const route of pages) {
    const view = await browser.open(node, route);
    await view.page.locator(`main a[href="#/tx/${gone}"]`).first().waitFor();
    views.push(view);
  }
  await node.call('silica_revert', savepoint);
  // No block follows, so the pages need the notification of the revert.
  for (const view of views) {
    await view.page.locator(`main a[href="#/tx/${gone}"]`).first().waitFor({ state: 'detached' });
  }
  const kept = await pay(4n);
  for (const view of views) {
    await view.page.locator(`main a[href="#/tx/${kept}"]`).first().waitFor();
    assert.equal(await view.page.locator(`main a[href="#/tx/${gone}"]`).count(), 0);
    await view.close();
  }
});

test('the_page_reconnects_after_a_restart_of_the_node', async () => {
  const view = await browser.open(node);
  view.expect(/ERR_CONNECTION_REFUSED|WebSocket|Failed to load resource|net::ERR/);
  await view.page.locator('header').getByText(/^connected|connected/).first().waitFor();
  await node.kill();
  await view.page.locator('header').getByText('disconnected').waitFor();
  await node.run();
  await view.page.locator('header').getByText('disconnected').waitFor({ state: 'detached' });
  const hash = await pay(9n);
  await view.page.locator(`main a[href="#/tx/${hash}"]`).first().waitFor();
  await view.close();
});

test('a_long_list_shows_one_page', async () => {
  const recipient = `0x${'cd'.repeat(20)}`;
  const payTo = () => node.send({ toAddr: recipient, amount: '1' });
  await node.call('silica_setBlockMode', 'manual');
  for (let payment = 0; payment < 120; payment += 1) await payTo();
  await node.call('silica_mine', 1);
  await node.call('silica_setBlockMode', 'instant');
  const view = await browser.open(node, `#/address/${recipient}`);
  const list = view.page.getByRole('table', { name: 'Transactions of the address' });
  const hashes = () => list.locator('tbody td:first-child a').evaluateAll((links) => links.map((link) => link.textContent));
  const go = async (name, page) => {
    await view.page.getByRole('button', { name, exact: true }).click();
    await view.shows(`Page ${page}`);
    await view.ready();
  };
  const first = await hashes();
  await go('Next', 2);
  const second = await hashes();
  // The page begins at the top, with the first row in view.
  assert.ok((await list.boundingBox()).y >= 0);
  await go('Next', 3);
  const third = await hashes();
  assert.deepEqual([first.length, second.length, third.length], [50, 50, 20]);
  assert.equal(new Set([...first, ...second, ...third]).size, 120);
  assert.ok(await view.page.getByRole('button', { name: 'Next', exact: true }).isDisabled());
  await go('Previous', 2);
  assert.deepEqual(await hashes(), second);
  // A page of the list has 50 rows. The limit of elements keeps the page fast.
  const elements = await list.locator('tbody *').count();
  assert.ok(elements <= 50 * 22, `${elements} elements in 50 rows`);

  const savepoint = await node.call('silica_snapshot');
  const later = await payTo();
  const link = view.page.locator(`main a[href="#/tx/${later}"]`);
  assert.deepEqual(await hashes(), second);
  await go('First', 1);
  await link.first().waitFor();
  await go('Next', 2);
  // The cursor of this page can be a position in a removed block.
  await node.call('silica_revert', savepoint);
  await view.shows('Page 1');
  await view.ready();
  assert.deepEqual(await hashes(), first);
  await view.close();
});

const entries = Number(process.env.STUDIO_ENTRIES ?? 20_000);

/** A contract with a map that its calls fill. */
const cells = `scilla_version 0
library Cells
contract Cells ()
field cells : Map Uint32 Uint32 = Emp Uint32 Uint32
procedure Put (cell : Uint32)
  cells[cell] := cell
end
transition PutAll (list : List Uint32)
  forall list Put
end
`;

test('the_latest_change_of_an_entry_is_found', async () => {
  const contract = await node.deploy(cells);
  const put = (...list) => node.invoke(contract, 'PutAll', [['list', 'List (Uint32)', list]]);
  const first = await put('1', '2');
  const second = await put('2', '3');
  // A write of the same value changes nothing.
  await put('3');
  const view = await browser.open(node, `#/contract/${contract}?tab=state`);
  await view.page.getByText('Entries', { exact: true }).click();
  const change = async (entry) => {
    await view.page.getByRole('listitem').getByRole('button', { name: new RegExp(`^${entry}`) }).click();
    const dialog = view.page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Find the latest change' }).click();
    await dialog.getByText('Changed in block').waitFor();
    const href = await dialog.locator('a[href^="#/tx/"]').getAttribute('href');
    await dialog.getByRole('button', { name: 'Close' }).click();
    return href;
  };
  assert.equal(await change(2), `#/tx/${first}`);
  assert.equal(await change(3), `#/tx/${second}`);
  await view.close();
});

test('a_large_map_scrolls_with_few_rows', async (t) => {
  const perCall = 400;
  const contract = await node.deploy(cells);
  await node.call('silica_setBlockMode', 'manual');
  const mineAll = () =>
    until(async () => {
      await node.call('silica_mine', 1);
      return (await node.call('GetPendingTxns')).Txns.length === 0;
    });
  for (let next = 0; next < entries; next += perCall) {
    const list = Array.from({ length: Math.min(perCall, entries - next) }, (_, place) => String(next + place));
    await node.invoke(contract, 'PutAll', [['list', 'List (Uint32)', list]]);
    if (next % (perCall * 20) === 0) await mineAll();
  }
  await mineAll();
  await node.call('silica_setBlockMode', 'instant');
  const view = await browser.open(node, `#/contract/${contract}?tab=state`);
  await view.page.evaluate(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: 'longtask',
    });
  });
  await view.page.getByText('Entries', { exact: true }).click();
  const list = view.page.getByRole('group', { name: 'Entries of cells' });
  let seen = 0;
  // The list reads the next page of entries when its end comes near.
  do {
    await list.evaluate((element) => (element.scrollTop = element.scrollHeight));
    await view.ready();
    seen = Math.max(seen, await view.page.locator('main *').count());
  } while (!(await view.text()).includes(`${entries.toLocaleString('en')} entries read, all of the map`));
  await list.evaluate((element) => (element.scrollTop = element.scrollHeight));
  // The page draws the rows of the new position after the scroll event. Until then, the last row is an earlier entry.
  const last = list.locator(`[role="listitem"][aria-posinset="${entries}"]`);
  await last.getByText(/\d/).first().waitFor();
  assert.equal(await list.getByRole('listitem').last().getAttribute('aria-posinset'), String(entries));
  const tasks = await view.page.evaluate(() => globalThis.longTasks);
  t.diagnostic(`${entries} entries: at most ${seen} elements, ${tasks.length} tasks over 50 ms, the longest ${Math.max(0, ...tasks)} ms`);
  assert.ok(seen > 50 && seen < 500, `${seen} elements`);
  await view.close();
});
