// The page of a proof: its text, and its verification in headless Chromium without a network.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { decodeDsBlock } from "silica-proof";
import { proofPage } from "silica-proof/page";
import { bytes, rejects } from "./support.js";

const recorded = JSON.parse(readFileSync(new URL("data/recorded.json", import.meta.url), "utf8"));
const keys = [`"0x${recorded.holder}"`];
const { answer } = recorded.proofs.find((proof) => proof.field === "balances" && proof.keys[0] === keys[0]);
const bundle = {
  address: recorded.address,
  field: "balances",
  keys,
  proof: answer,
  txBlock: recorded.txBlock,
  dsBlocks: recorded.dsBlocks.slice(1),
};
const trust = { kind: "dsBlock", hash: decodeDsBlock(recorded.dsBlocks[1]).hash };

const HOSTILE =
  `</script><script>document.title="hostile"</script>` +
  `<img src=x onerror="document.title='hostile'">&amp;"'\u202e\u200b\ud83d`;

/** The parts of a page between two marks. */
function between(page, start, end) {
  const from = page.indexOf(start);
  assert.ok(from >= 0, start);
  return page.slice(from + start.length, page.indexOf(end, from + start.length));
}

test("a page is one document without links, and its policy permits only its own program", () => {
  const page = proofPage(bundle, trust);
  assert.ok(Buffer.byteLength(page) <= 80_000, `${Buffer.byteLength(page)} bytes`);
  const script = between(page, "<script>", "</script>");
  const style = between(page, "<style>", "</style>");
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = between(page, 'Content-Security-Policy" content="', '"');
  assert.ok(policy.startsWith("default-src 'none'; "), policy);
  assert.ok(policy.includes(`script-src ${hash(script)};`) && policy.includes(`style-src ${hash(style)};`), policy);
  assert.doesNotMatch(page, /https?:|\bsrc=|\bhref=|url\(|@import|innerHTML|\beval\(/);
  assert.deepEqual(JSON.parse(between(page, 'id="data">', "</script>")), { bundle, trust });
  assert.equal(page.match(/<script/g).length, 2);
});

test("texts in a page are not markup", () => {
  const page = proofPage({ ...bundle, field: HOSTILE, keys: [HOSTILE] }, { ...trust, hash: HOSTILE }, HOSTILE);
  assert.equal(page.match(/<script/g).length, 2);
  assert.equal(page.match(/<\/script/g).length, 2);
  assert.equal(page.match(/<img/g), null);
  assert.doesNotMatch(page.slice(0, page.indexOf("<style>")), /\u202e|\u200b/);
  assert.ok(page.includes("⟨U+202E⟩"));
  assert.equal(JSON.parse(between(page, 'id="data">', "</script>")).bundle.keys[0], HOSTILE);
  const own = proofPage(bundle, trust, "a$&b$1</title>");
  assert.ok(own.includes("<title>a$&#38;b$1&#60;/title&#62;</title>"));
});

test("bytes become digits, and a page above the limit is an error", () => {
  const page = proofPage({ ...bundle, txBlock: bytes(recorded.txBlock.data) }, trust);
  assert.equal(
    JSON.parse(between(page, 'id="data">', "</script>")).bundle.txBlock,
    recorded.txBlock.data.toLowerCase(),
  );
  rejects(
    () => proofPage({ ...bundle, dsBlocks: Array(60).fill(recorded.dsBlocks[1]) }, trust),
    "page",
    "at most 80000 bytes",
  );
  rejects(() => proofPage({ ...bundle, address: "zil1" }, trust), "address");
});

/** Returns the path of Chromium, or `undefined` if this machine has no Chromium. */
function chromium() {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("which", [name], { encoding: "utf8" }).trim();
    } catch {
      // The next name.
    }
  }
  return undefined;
}

const browser = chromium();

test(
  "a browser verifies pages from the disk, without a network",
  { skip: browser === undefined && "no Chromium on this machine" },
  () => {
    const directory = mkdtempSync(join(tmpdir(), "proof-page-"));
    const flags = [
      "headless",
      "no-sandbox",
      "disable-gpu",
      "disable-quic",
      "no-first-run",
      "disable-background-networking",
      "disable-component-update",
      "disable-sync",
      "virtual-time-budget=20000",
      "host-resolver-rules=MAP * ~NOTFOUND",
      "proxy-server=127.0.0.1:9",
      `user-data-dir=${join(directory, "profile")}`,
      "dump-dom",
    ];
    /** Opens a page, and returns its document after the program has run. */
    const open = (page) => {
      const file = join(directory, "proof.html");
      writeFileSync(file, page);
      return execFileSync(browser, [...flags.map((flag) => `--${flag}`), `file://${file}`], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
        timeout: 60_000,
      });
    };
    /** Returns the document up to the embedded data, as text. */
    const shown = (document) => document.slice(0, document.indexOf('id="data"'));
    try {
      const page = proofPage(bundle, trust);
      const valid = shown(open(page));
      assert.match(valid, /<html[^>]* data-result="valid"/);
      assert.ok(valid.includes("The proof is valid under the assumptions below."));
      assert.ok(valid.includes(`<dd>"${recorded.state.balances[`0x${recorded.holder}`]}"</dd>`), valid);
      for (const id of ["ds-chain", "co-signature", "variable", "ds-block-pinned", "timestamp"]) {
        assert.ok(valid.includes(`data-statement="${id}"`), id);
      }

      const node = answer.stateProof[0];
      const tampered = page.replace(node, node.slice(0, -1) + (node.endsWith("0") ? "1" : "0"));
      assert.notEqual(tampered, page);
      const invalid = shown(open(tampered));
      assert.match(invalid, /<html[^>]* data-result="invalid"/);
      assert.ok(invalid.includes("The proof is not valid. stateProof"), invalid);
      assert.ok(!invalid.includes("data-statement"));

      // The policy stops a changed program.
      const program = open(page.replace("<script>", "<script>document.documentElement.dataset.result='valid';"));
      assert.doesNotMatch(program, /<html[^>]* data-result=/);

      const hostile = open(
        proofPage({ ...bundle, field: HOSTILE.replaceAll(/[\u0000-\u001f]/g, ""), keys: [] }, trust, HOSTILE),
      );
      assert.match(hostile, /<html[^>]* data-result="invalid"/);
      assert.doesNotMatch(hostile, /<title>hostile|<img/);
    } finally {
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  },
);
