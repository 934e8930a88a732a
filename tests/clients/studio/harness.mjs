// Starts nodes and a browser for the tests of the page. SILICA_BINARY is the program `silica`; CHROMIUM is the browser.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { chromium } from 'playwright-core';

const { SILICA_BINARY, CHROMIUM } = process.env;
assert.ok(SILICA_BINARY && CHROMIUM, 'set SILICA_BINARY, the program, and CHROMIUM, the path of the browser');

export const ZIL = 10n ** 12n;
const repository = new URL('../../../', import.meta.url);

/** Reads a file of the repository. */
export const source = (path) => readFile(new URL(path, repository), 'utf8');

/** A node of its own, with a data directory that survives a restart. */
export class TestNode {
  static async start(options = []) {
    const node = new TestNode();
    node.directory = await mkdtemp(join(tmpdir(), 'silica-studio-'));
    node.options = options;
    node.listen = '127.0.0.1:0';
    await node.run();
    return node;
  }

  async run() {
    const { directory, listen, options } = this;
    const data = ['--data-dir', join(directory, 'data'), '--listen', listen, '--websocket', 'off', '--banner', 'json'];
    this.process = spawn(SILICA_BINARY, [...data, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.log = '';
    this.process.stderr.on('data', (text) => (this.log += text));
    const lines = createInterface({ input: this.process.stdout });
    const [line] = await Promise.race([
      once(lines, 'line'),
      once(this.process, 'exit').then(() => assert.fail(`the node does not start: ${this.log}`)),
    ]);
    const banner = JSON.parse(line);
    this.url = banner.url;
    this.listen = new URL(this.url).host;
    this.accounts = banner.accounts.map(({ address }) => address.toLowerCase());
    this.studio = `${this.url}/studio/`;
  }

  /** Stops the process. A restart has the same port and data. */
  async kill() {
    const ended = once(this.process, 'exit');
    this.process.kill();
    await ended;
  }

  async stop() {
    await this.kill();
    await rm(this.directory, { recursive: true, force: true });
  }

  async call(method, ...params) {
    const response = await fetch(this.url, {
      method: 'POST',
      body: JSON.stringify({ id: 1, jsonrpc: '2.0', method, params }),
    });
    const { error, result } = await response.json();
    assert.equal(error, undefined, `${method}: ${JSON.stringify(error)}`);
    return result;
  }

  /** Sends a transaction of the first account, or of `senderAddr`. Returns its hash. */
  async send(transaction) {
    const { TranID } = await this.call('silica_sendTransaction', { senderAddr: this.accounts[0], ...transaction });
    return TranID;
  }

  /** Deploys a contract, and returns its address with 0x. */
  async deploy(code, init = []) {
    const all = [{ vname: '_scilla_version', type: 'Uint32', value: '0' }, ...init];
    const { ContractAddress, TranID } = await this.call('silica_sendTransaction', {
      senderAddr: this.accounts[0],
      code,
      data: JSON.stringify(all),
    });
    const { receipt } = await this.call('GetTransaction', TranID);
    assert.ok(receipt.success, JSON.stringify(receipt));
    return `0x${ContractAddress}`;
  }

  /** Calls a transition with parameters [name, type, value]. Returns the hash. */
  invoke(contract, _tag, params = [], more = {}) {
    const list = params.map(([vname, type, value]) => ({ vname, type, value }));
    return this.send({ toAddr: contract, data: JSON.stringify({ _tag, params: list }), ...more });
  }
}

/** The browser, with its profile. */
export class Browser {
  static async start({ hosts = '' } = {}) {
    const browser = new Browser();
    browser.profile = await mkdtemp(join(tmpdir(), 'silica-chromium-'));
    browser.context = await chromium.launchPersistentContext(browser.profile, {
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
        ...(hosts ? [`--host-resolver-rules=${hosts}`] : []),
      ],
    });
    return browser;
  }

  async stop() {
    await this.context.close();
    await rm(this.profile, { recursive: true, force: true });
  }

  /**
   * Opens a page of Studio, for example `#/blocks`. `faults` collects errors of the page, violations of the policy, and
   * requests to another origin; `close` asserts that there is none. `before` is a function, with its argument, that runs
   * in the page before its scripts.
   */
  async open(node, route = '#/', { width = 1280, theme = 'light', before } = {}) {
    const page = await this.context.newPage();
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: theme });
    const faults = [];
    const expected = [];
    page.on('pageerror', (error) => faults.push(`error: ${error.stack}`));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
    });
    const running = new Set();
    page.on('request', (request) => {
      running.add(request);
      const { origin, protocol } = new URL(request.url());
      if (origin !== new URL(node.studio).origin && protocol !== 'data:') faults.push(`request: ${request.url()}`);
    });
    for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => running.delete(request));
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    if (before) await page.addInitScript(...before);
    await page.goto(`${node.studio}${route}`);
    const view = new View(page, node, faults, expected, running);
    await view.ready();
    return view;
  }
}

/** An open page. */
class View {
  constructor(page, node, faults, expected, running) {
    Object.assign(this, { page, node, faults, expected, running });
  }

  /** Waits for the heading, and until no part loads and no request runs. */
  async ready() {
    do {
      await this.page.locator('main h1').waitFor();
      await this.page.waitForFunction(() => !document.querySelector('main [aria-busy="true"]'));
      await this.rendered();
    } while (this.running.size);
  }

  /** Waits until the page has rendered a change, and run its effects. */
  rendered() {
    return this.page.evaluate(async () => {
      for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
    });
  }

  async go(route) {
    await this.page.evaluate((hash) => {
      if (location.hash === hash) return;
      const changed = new Promise((resolve) => addEventListener('hashchange', resolve, { once: true }));
      location.hash = hash;
      return changed;
    }, route);
    await this.rendered();
    await this.ready();
  }

  text() {
    return this.page.locator('main').innerText();
  }

  /** Waits until the page has a text. */
  async shows(text, scope = 'main') {
    await this.page.locator(scope).getByText(text).first().waitFor();
  }

  /** Faults that match the pattern are the subject of a test, and not failures. */
  expect(pattern) {
    this.expected.push(pattern);
  }

  async close() {
    await this.page.close();
    const faults = this.faults.filter((fault) => !this.expected.some((pattern) => pattern.test(fault)));
    assert.deepEqual(faults, []);
  }
}

/** Waits until a condition of the node holds. */
export async function until(condition) {
  while (!(await condition())) await sleep(20);
}
