// Every page, in both themes and at two widths: no fault, no violation of accessibility, no part wider than the page.
// The chain has texts that try to run as markup.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { Browser, source, TestNode } from './harness.mjs';
import { direction, routes, seed } from './seed.mjs';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
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

/** Returns the violations that axe finds, one line for each. */
async function violations(page) {
  // The page permits only its own scripts. The protocol of the browser evaluates axe in the page without a script
  // element.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((one) => one.html.slice(0, 200)).join(' | ')}`);
  });
  return found;
}

for (const [theme, width] of [
  ['light', 1280],
  ['dark', 320],
]) {
  test(`every_page_is_accessible_and_fits_${theme}_${width}`, async (t) => {
    const view = await browser.open(node, '#/', { theme, width });
    for (const route of routes(chain, node)) {
      await t.test(route, async () => {
        await view.go(route);
        const { page } = view;
        assert.equal(await page.locator('h1').count(), 1);
        assert.match(await page.title(), /· Silica Studio$/);
        const [scroll, client] = await page.evaluate(() => {
          const { scrollWidth, clientWidth } = document.documentElement;
          return [scrollWidth, clientWidth];
        });
        assert.ok(scroll <= client, `the page has ${scroll} px, the window ${client} px`);
        assert.deepEqual(await violations(page), []);
      });
    }
    await view.close();
  });
}

test('the_other_theme_of_each_width_has_readable_colours', async () => {
  for (const [theme, width] of [
    ['dark', 1280],
    ['light', 320],
  ]) {
    const view = await browser.open(node, '#/', { theme, width });
    for (const route of routes(chain, node)) {
      await view.go(route);
      assert.deepEqual(await violations(view.page), [], `${route} ${theme} ${width}`);
    }
    await view.close();
  }
});

test('text_of_contracts_is_shown_as_text', async () => {
  const view = await browser.open(node);
  for (const route of [`#/contract/${chain.evil}?tab=state`, `#/contract/${chain.evil}?tab=events`, `#/tx/${chain.thrown}`]) {
    await view.go(route);
    if (route.endsWith('state')) await view.page.getByText('Entries', { exact: true }).click();
    await view.shows('onerror=');
    assert.equal(await view.page.locator('main img, main script').count(), 0);
    assert.ok(!(await view.page.title()).includes('pwned'));
  }
  for (const tab of ['code', 'call']) {
    await view.go(`#/contract/${chain.evil}?tab=${tab}`);
    // A mark replaces the change of direction.
    await view.shows('U+202E');
    assert.ok(!(await view.text()).includes(direction));
  }
  await view.close();
});

test('the_editor_colours_the_text_in_its_place', async () => {
  const view = await browser.open(node, '#/deploy', { theme: 'dark' });
  const token = await source('contracts/fungible_token/fungible_token.scilla');
  // The last line is longer than the window.
  const text = `${token}\n(* a string over lines, and a comment (* inside *) *) let x = "one\n\ttwo" ${'wide '.repeat(60)}`;
  const area = view.page.getByLabel('Source', { exact: true });
  await area.fill(text);
  for (const [top, left] of [[0, 0], [700, 0], [1e6, 300]]) {
    await area.evaluate((element, to) => element.scrollTo(...to), [left, top]);
    await view.rendered();
    const { colours, shown, offset, widths } = await area.evaluate((element) => {
      const pre = document.querySelector('.editor-colours');
      const lines = [...pre.children];
      const place = Math.round((lines[0].getBoundingClientRect().top - element.getBoundingClientRect().top - 4 + element.scrollTop) / 19);
      return {
        colours: pre.textContent,
        shown: [Math.floor(element.scrollTop / 19), Math.ceil((element.scrollTop + element.clientHeight) / 19)],
        offset: place,
        widths: [element.scrollLeft, element.getBoundingClientRect().left - pre.getBoundingClientRect().left],
      };
    });
    const lines = text.split('\n');
    const count = colours.split('\n').length - 1;
    assert.equal(colours, `${lines.slice(offset, offset + count).join('\n')}\n`);
    assert.ok(offset <= shown[0] && offset + count >= Math.min(shown[1], lines.length), `${offset} ${count} ${shown}`);
    assert.ok(Math.abs(widths[0] - widths[1]) < 1, `moved by ${widths[1]} px instead of ${widths[0]} px`);
  }
  // Coloured letters are as wide as the letters of the text area.
  const [behind, above] = await area.evaluate((element) => [document.querySelector('.editor-colours').scrollWidth, element.scrollWidth]);
  assert.ok(Math.abs(behind - above) <= 10, `${behind} px of colours behind ${above} px of text`);
  assert.ok((await view.page.locator('.editor-colours .token-string').count()) > 0);
  assert.deepEqual(await violations(view.page), []);
  await view.close();
});

test('the_audit_finds_a_button_without_a_name', async () => {
  const view = await browser.open(node);
  await view.page.evaluate(() => document.querySelector('main').append(document.createElement('button')));
  const found = await violations(view.page);
  assert.ok(found.some((text) => text.startsWith('button-name')), found.join());
  await view.close();
});
