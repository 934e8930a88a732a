// A person deploys, calls and debugs with the keys only.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, TestNode, source } from './harness.mjs';

let node, browser;

before(async () => {
  node = await TestNode.start();
  browser = await Browser.start();
});

after(async () => {
  await browser?.stop();
  await node?.stop();
});

/** Describes the element with the focus: its role or name of the element, and its text. */
const focused = (page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    const label = element.labels?.[0]?.innerText ?? '';
    return `${element.tagName.toLowerCase()} ${element.getAttribute('aria-label') ?? ''} ${label} ${element.innerText ?? ''}`.replace(/\s+/g, ' ').trim();
  });

/** Presses Tab until the element with the focus matches. The focus is always visible. */
async function tabTo(page, pattern, key = 'Tab') {
  const seen = [];
  while (seen.length < 300) {
    await page.keyboard.press(key);
    const now = await focused(page);
    if (pattern.test(now)) {
      const visible = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1;
      });
      assert.ok(visible, `the focus of ${now} is not visible`);
      return now;
    }
    seen.push(now.slice(0, 60));
  }
  return assert.fail(`no element matches ${pattern}: ${[...new Set(seen)].join('; ')}`);
}

test('the_first_tab_skips_to_the_content', async () => {
  const view = await browser.open(node);
  const { page } = view;
  await page.keyboard.press('Tab');
  assert.equal(await focused(page), 'a Skip to content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  // The next element is in the content, and not in the header.
  await page.keyboard.press('Tab');
  assert.ok(await page.evaluate(() => document.activeElement.closest('main')));
  await view.close();
});

test('single_keys_open_the_search_a_page_and_the_list_of_keys', async () => {
  const view = await browser.open(node);
  const { page } = view;
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
  // In an input, the keys are text.
  await page.keyboard.type('gb?');
  assert.equal(await page.locator('#search').inputValue(), 'gb?');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('0');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash === '#/search/0');
  await view.ready();
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1');
  await page.keyboard.press('g');
  await page.keyboard.press('b');
  await page.waitForFunction(() => location.hash === '#/blocks');
  await view.ready();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' });
  await view.close();
});

test('single_keys_can_be_switched_off', async () => {
  const view = await browser.open(node);
  const { page } = view;
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await tabTo(page, /Single keys are active/);
  await page.keyboard.press('Space');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('b');
  await view.rendered();
  assert.equal(await page.evaluate(() => location.hash), '#/');
  // The setting stays in the browser.
  await page.evaluate(() => localStorage.clear());
  await view.close();
});

test('a_contract_is_deployed_called_and_debugged_by_keys', async () => {
  const view = await browser.open(node);
  const { page } = view;
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await page.waitForFunction(() => location.hash === '#/deploy');
  await view.ready();
  await tabTo(page, /^textarea Source/);
  await page.keyboard.insertText(await source('contracts/hello_world/hello_world.scilla'));
  await page.getByText('The checker found no error').waitFor();
  await tabTo(page, /^input owner/);
  await page.keyboard.type(node.accounts[0]);
  const deployment = page.getByRole('button', { name: /^Send deployment of HelloWorld .*fee/ });
  await deployment.waitFor();
  await view.ready();
  await tabTo(page, /^button Send deployment of HelloWorld .*fee/);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Open the contract' }).waitFor();
  await tabTo(page, /^a Open the contract/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Contract HelloWorld' }).waitFor();
  await view.ready();

  await tabTo(page, /^a Call$/);
  await page.keyboard.press('Enter');
  await page.getByLabel('Transition').waitFor();
  await tabTo(page, /^select Transition/);
  // Letters and arrows choose an option without a list of the system.
  await page.keyboard.press('S');
  await page.locator('.param textarea').waitFor();
  assert.equal(await page.getByLabel('Transition').inputValue(), 'SetGreeting');
  await tabTo(page, /^textarea text String/);
  await page.keyboard.type('By keys');
  await tabTo(page, /^input Address of the sender/);
  await page.keyboard.press('Control+a');
  await page.keyboard.type(node.accounts[0]);
  await page.getByText(/^✓ success$/).first().waitFor();
  await view.ready();
  await tabTo(page, /^button Send SetGreeting .*fee/);
  await page.keyboard.press('Space');
  const link = page.locator('section').filter({ hasText: 'Sent' }).locator('a[href^="#/tx/"]');
  const hash = (await link.getAttribute('href')).split('/').pop();
  const { data } = await node.call('GetTransaction', hash);
  assert.deepEqual(JSON.parse(data).params, [{ vname: 'text', type: 'String', value: 'By keys' }]);

  await tabTo(page, /^a \w+…\w+$/);
  while (!(await page.evaluate((hash) => document.activeElement.hash === `#/tx/${hash}`, hash))) await tabTo(page, /^a \w+…\w+$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: /^Transaction / }).waitFor();
  await view.ready();
  await tabTo(page, /^a Debugger$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Debugger' }).waitFor();
  await view.ready();
  const step = page.getByRole('slider', { name: 'Step' });
  const last = Number(await step.getAttribute('max'));
  assert.ok(last >= 1);
  assert.equal(await step.inputValue(), '0');
  await page.keyboard.press('ArrowRight');
  await view.rendered();
  assert.equal(await step.inputValue(), '1');
  await page.keyboard.press('ArrowLeft');
  await view.rendered();
  assert.equal(await step.inputValue(), '0');
  await tabTo(page, /^input Step/);
  await page.keyboard.press('End');
  await view.rendered();
  assert.equal(await step.inputValue(), String(last));
  await tabTo(page, /^button Start/);
  await page.keyboard.press('Enter');
  await view.rendered();
  assert.equal(await step.inputValue(), '0');
  await view.close();
});
