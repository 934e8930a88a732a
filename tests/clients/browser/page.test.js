// A page in a browser uses an unmodified zilliqa-js in its build for browsers. The page pays and calls a contract. Its
// origin differs from the origin of the node: a loopback address, or a foreign host name.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { chromium } from 'playwright-core';

const { SILICA_URL, SILICA_KEY, CHROMIUM } = process.env;
assert.ok(SILICA_URL && SILICA_KEY && CHROMIUM, 'set SILICA_URL, SILICA_KEY and CHROMIUM, the path of the browser');

/** A host name without a DNS entry. An option of the browser maps it to this machine. */
const FOREIGN = 'dapp.example';

const packages = new URL('node_modules/', import.meta.url);
const served = {
  '/': ['text/html', Buffer.from('<!DOCTYPE html><title>page</title>' +
    '<script src="/bn.js"></script><script src="/long.js"></script><script src="/zilliqa.js"></script>')],
  '/bn.js': ['text/javascript', await readFile(new URL('bn.js/lib/bn.js', packages))],
  '/long.js': ['text/javascript', await readFile(new URL('long/dist/long.js', packages))],
  '/zilliqa.js': ['text/javascript', await readFile(new URL('@zilliqa-js/zilliqa/dist/umd/bundle.js', packages))],
};
const greeter = await readFile(new URL('../../../contracts/hello_world/hello_world.scilla', import.meta.url), 'utf8');

let server, profile, browser;

before(async () => {
  server = createServer(({ url }, response) => {
    const [type, body] = served[url] ?? ['text/plain', ''];
    response.writeHead(url in served ? 200 : 404, { 'content-type': type }).end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  profile = await mkdtemp(join(tmpdir(), 'silica-browser-'));
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=MAP ${FOREIGN} 127.0.0.1`,
    ],
  });
});

after(async () => {
  await browser?.close();
  server?.close();
  if (profile) await rm(profile, { recursive: true, force: true });
});

/** Opens the page of a host, and returns it. */
async function open(host) {
  const page = await browser.newPage();
  const { port } = server.address();
  await page.goto(`http://${host}:${port}/`);
  assert.equal(await page.evaluate(() => location.origin), `http://${host}:${port}`);
  return page;
}

/** Runs in the page: creates the client and the account for the functions below. */
function begin({ url, key }) {
  const { Zilliqa } = globalThis['@zilliqa-js/zilliqa'];
  const { BN, dcodeIO, Long = dcodeIO?.Long } = globalThis;
  const zilliqa = new Zilliqa(url);
  const payer = zilliqa.wallet.addByPrivateKey(key);
  const gasPrice = new BN('2000000000');
  const version = (222 << 16) + 1;
  const options = (gas, amount = 0) => ({ version, amount: new BN(amount), gasPrice, gasLimit: Long.fromNumber(gas) });
  const balance = async (address) => (await zilliqa.blockchain.getBalance(address.replace('0x', ''))).result?.balance ?? '0';
  globalThis.silica = { BN, zilliqa, payer, options, balance };
}

/** Runs in the page: pays, and returns whether the payment is confirmed, and the received amount. */
async function payment(to) {
  const { zilliqa, options, balance } = globalThis.silica;
  const before = await balance(to);
  const tx = zilliqa.transactions.new({ ...options(50, '5000000000000'), toAddr: to });
  const confirmed = await zilliqa.blockchain.createTransaction(tx, 33, 100);
  return { confirmed: confirmed.isConfirmed(), arrived: BigInt(await balance(to)) - BigInt(before) };
}

/** Runs in the page: deploys and calls a contract, and returns the results and the state. */
async function contract(code) {
  const { zilliqa, payer, options } = globalThis.silica;
  const init = [
    { vname: '_scilla_version', type: 'Uint32', value: '0' },
    { vname: 'owner', type: 'ByStr20', value: payer.toLowerCase() },
  ];
  const [, deployed] = await zilliqa.contracts.new(code, init).deploy(options(50000), 33, 100);
  const params = [{ vname: 'text', type: 'String', value: 'from a page' }];
  const called = await deployed.call('SetGreeting', params, options(50000), 33, 100);
  const greeted = await deployed.call('Greet', [], options(50000), 33, 100);
  return {
    called: called.getReceipt().success,
    event: greeted.getReceipt().event_logs[0]._eventname,
    state: await deployed.getState(),
  };
}

/** Runs in the page: calls a method with `fetch`, and returns status and body of the response. */
async function ask({ url, method, params, type = 'application/json' }) {
  const body = JSON.stringify({ id: '1', jsonrpc: '2.0', method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body });
  return { status: response.status, body: await response.json() };
}

for (const [host, recipient] of [
  ['127.0.0.1', '0x1111111111111111111111111111111111111111'],
  [FOREIGN, '0x2222222222222222222222222222222222222222'],
]) {
  test(`a page of ${host} pays, and calls a contract`, async () => {
    const page = await open(host);
    await page.evaluate(begin, { url: SILICA_URL, key: SILICA_KEY });
    const paid = await page.evaluate(payment, recipient);
    assert.deepEqual(paid, { confirmed: true, arrived: 5000000000000n });
    const { called, event, state } = await page.evaluate(contract, greeter);
    assert.deepEqual([called, event, state.greeting], [true, 'Greeting', 'from a page']);
    assert.equal(Object.values(state.visits).length, 1);
    await page.close();
  });

  test(`a page of ${host} reads the reason of an error`, async () => {
    const page = await open(host);
    const { status, body } = await page.evaluate(ask, { url: SILICA_URL, method: 'getBalance', params: [recipient] });
    assert.deepEqual([status, body.error.code, body.error.data], [200, -32601, { didYouMean: 'GetBalance' }]);
    await page.close();
  });
}

for (const [host, recipient, allowed] of [
  ['127.0.0.1', '0x3333333333333333333333333333333333333333', true],
  [FOREIGN, '0x4444444444444444444444444444444444444444', false],
]) {
  test(`a developer method is ${allowed ? 'available' : 'rejected'} for a page of ${host}`, async () => {
    const page = await open(host);
    const edit = { url: SILICA_URL, method: 'silica_setBalance', params: [recipient, '7'] };
    // A page can send text/plain without a preflight. The same rules apply to it.
    for (const type of ['application/json', 'text/plain']) {
      const { body } = await page.evaluate(ask, { ...edit, type });
      assert.equal(body.error?.code, allowed ? undefined : -32600, JSON.stringify(body));
    }
    const { body } = await page.evaluate(ask, { url: SILICA_URL, method: 'GetBalance', params: [recipient] });
    assert.equal(body.result?.balance, allowed ? '7' : undefined, JSON.stringify(body));
    assert.equal(body.error?.message, allowed ? undefined : 'Account is not created');
    await page.close();
  });
}

test('the page of a node without Studio shows its URL, and loads nothing else', async () => {
  const page = await browser.newPage();
  const requests = [];
  const faults = [];
  page.on('request', (request) => requests.push(new URL(request.url()).pathname));
  page.on('console', (message) => faults.push(message.text()));
  const response = await page.goto(SILICA_URL);
  assert.equal(response.status(), 200);
  const text = await page.textContent('body');
  for (const words of [SILICA_URL, 'ws://', '222', '14548993', 'rpc.discover']) assert.ok(text.includes(words), words);
  assert.deepEqual(requests.filter((path) => path !== '/favicon.ico'), ['/']);
  assert.deepEqual(faults.filter((fault) => !fault.includes('404') && !fault.includes('405')), []);
  await page.close();
});
