// What a page of another origin, another host name, or a wallet can do to Studio.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';

import { param } from './forms.mjs';
import { Browser, TestNode, source, until } from './harness.mjs';

let node, browser, foreign, other;

before(async () => {
  node = await TestNode.start();
  // The name leads to this machine, as after an attack on the DNS.
  browser = await Browser.start({ hosts: 'MAP evil.example 127.0.0.1' });
  other = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<!doctype html><title>Another page</title><iframe src="${node.studio}"></iframe>`);
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  foreign = `http://evil.example:${other.address().port}/`;
});

after(async () => {
  await browser?.stop();
  await node?.stop();
  other?.close();
});

test('a_page_of_another_origin_cannot_embed_the_page', async () => {
  const page = await browser.context.newPage();
  const refused = page.waitForEvent('console', (message) => /frame-ancestors/.test(message.text()));
  await page.goto(foreign);
  await refused;
  const [frame] = page.mainFrame().childFrames();
  // The browser shows its own page of an error, some time after its message.
  await until(() => /^chrome-error:/.test(frame.url()));
  assert.equal(await frame.getByText('Silica').count(), 0);
  await page.close();
});

test('a_page_of_another_origin_cannot_call_a_developer_method', async () => {
  const before = await node.call('GetBalance', node.accounts[0]);
  const height = await node.call('GetNumTxBlocks');
  const page = await browser.context.newPage();
  await page.goto(foreign);
  const attempts = await page.evaluate(
    async ({ url, address }) => {
      const bodies = [
        { method: 'silica_setBalance', params: [address, '1'] },
        { method: 'silica_mine', params: [1] },
      ];
      const answers = [];
      for (const body of bodies) {
        for (const type of ['application/json', 'text/plain']) {
          const headers = { 'content-type': type };
          try {
            const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ id: 1, jsonrpc: '2.0', ...body }) });
            answers.push((await response.json()).error?.message ?? 'executed');
          } catch (error) {
            answers.push(`no answer: ${error.message}`);
          }
        }
      }
      return answers;
    },
    { url: node.url, address: node.accounts[0] },
  );
  assert.equal(attempts.length, 4);
  for (const attempt of attempts) assert.match(attempt, /Origin|no answer/);
  assert.deepEqual(await node.call('GetBalance', node.accounts[0]), before);
  assert.equal(await node.call('GetNumTxBlocks'), height);
  await page.close();
});

test('a_foreign_host_name_does_not_get_the_page', async () => {
  const page = await browser.context.newPage();
  const response = await page.goto(node.studio.replace('127.0.0.1', 'evil.example'));
  assert.equal(response.status(), 403);
  assert.equal(await page.locator('h1, header').count(), 0);
  await page.close();
});

test('the_page_converts_no_text_to_markup_or_scripts', async () => {
  const view = await browser.open(node);
  view.expect(/policy: |Refused to|TrustedHTML|TrustedScript|violates the following/);
  const refused = await view.page.evaluate(async () => {
    // The protocol of the browser permits `eval` in the first turn.
    await new Promise(requestAnimationFrame);
    const attempts = {
      markup: () => (document.createElement('div').innerHTML = '<img src=x onerror=alert(1)>'),
      script: () => (document.createElement('script').text = 'alert(1)'),
      address: () => (document.createElement('script').src = 'https://evil.example/x.js'),
      code: () => new Function('return 1')(),
      policy: () => globalThis.trustedTypes.createPolicy('other', {}),
    };
    return Object.fromEntries(
      Object.entries(attempts).map(([name, attempt]) => {
        try {
          return [name, `not refused: ${String(attempt())}`];
        } catch (error) {
          return [name, error.name];
        }
      }),
    );
  });
  for (const [name, error] of Object.entries(refused)) assert.match(error, /^(Type|Eval)Error$/, name);
  await view.close();
});

/** Puts a wallet with the interface of ZilPay into the page. Its network is the node, with another chain id if given. */
function walletOf({ url, address, chain }) {
  const ask = async (method, params) => {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify({ id: 1, jsonrpc: '2.0', method, params }) });
    return response.json();
  };
  globalThis.zilPay = {
    wallet: {
      isEnable: true,
      isConnect: true,
      net: 'private',
      defaultAccount: { base16: address, bech32: '' },
      connect: async () => true,
    },
    provider: {
      send: async (method, ...params) => (method === 'GetNetworkId' && chain ? { result: chain } : ask(method, params)),
    },
    transactions: { new: (transaction) => transaction },
    blockchain: {
      createTransaction: async ({ toAddr, amount, gasLimit, data }) => {
        globalThis.signed = { toAddr, amount, data };
        const { error, result } = await ask('silica_sendTransaction', [
          { senderAddr: address, toAddr, amount, gasLimit: String(gasLimit), data },
        ]);
        if (error) throw new Error(error.message);
        return { ID: result.TranID };
      },
    },
  };
}

/** Opens the form of a call with a wallet. */
async function openWithWallet({ chain = null } = {}) {
  const [address] = node.accounts;
  const contract = await node.deploy(await source('contracts/hello_world/hello_world.scilla'), [param('owner', 'ByStr20', address)]);
  // The stub sends its requests to the node that serves the page, because the page can send no other requests.
  const stub = [walletOf, { url: new URL('../', node.studio).href, address, chain }];
  const view = await browser.open(node, `#/contract/${contract}?tab=call&transition=SetGreeting`, { before: stub });
  await view.page.getByText('Sign with a wallet in the browser').click();
  return { contract, view };
}

test('a_wallet_of_another_chain_is_refused', async () => {
  const { view } = await openWithWallet({ chain: '1' });
  await view.page.getByRole('button', { name: 'Connect the wallet' }).click();
  await view.shows(/expected chain id \d+, got 1: the wallet is set to its network private/);
  await view.close();
});

test('a_wallet_of_the_chain_signs_and_sends', async () => {
  const { contract, view } = await openWithWallet();
  const { page } = view;
  await page.getByRole('button', { name: 'Connect the wallet' }).click();
  await view.shows('Wallet account');
  await page.locator('.param textarea').fill('By a wallet');
  await page.getByRole('button', { name: /^Send SetGreeting from .*, fee / }).click();
  const link = page.locator('section').filter({ hasText: 'Sent' }).locator('a[href^="#/tx/"]');
  const hash = (await link.getAttribute('href')).split('/').pop();
  const { data, toAddr } = await node.call('GetTransaction', hash);
  const signed = await page.evaluate(() => globalThis.signed);
  assert.deepEqual(JSON.parse(signed.data), { _tag: 'SetGreeting', params: [param('text', 'String', 'By a wallet')] });
  assert.equal(signed.data, data);
  assert.equal(`0x${toAddr}`, contract);
  await view.close();
});
