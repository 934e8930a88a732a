import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./bundle.mjs";

globalThis.location ??= { href: "http://127.0.0.1:5555/studio/" };
const { check, nameOf, titles, givenSource, parsePasted, parsePin, decodeDsBlock, verify, proofPage } = await load(
  "proof/check.ts",
  "proof/source.ts",
  "proof/pin.ts",
  "../../proof/src/index.ts",
  "../../proof/src/page.ts",
);

// A chain of a running node with DS blocks 0 to the one of the Tx block. The node signs alone.
const recorded = JSON.parse(readFileSync(new URL("../../proof/test/data/recorded.json", import.meta.url), "utf8"));
const { address, txBlock, dsBlocks } = recorded;
const signer = recorded.dsCommittee.dscomm.map((key) => key.replace(/^0x/, "").toLowerCase());
const number = String(Number(recorded.txBlockVerbose.header.BlockNum));
const pinAt = (at, source = "reader") => ({ number: String(at), hash: decodeDsBlock(dsBlocks[at]).hash, source });
const last = dsBlocks.length - 1;
const claimOf = ({ field, keys }) => ({ address, field, keys: keys.map((key) => JSON.parse(key)) });
const source = (answer, change = {}) => ({
  txBlock: async () => txBlock,
  dsBlock: async (at) => dsBlocks[Number(at)],
  signers: async () => signer,
  proof: async () => answer,
  ...change,
});
const find = (field, ...keys) => recorded.proofs.find((proof) => proof.field === field && JSON.stringify(proof.keys.map((key) => JSON.parse(key))) === JSON.stringify(keys));
const total = find("total_supply");
const states = ({ steps }) => steps.map(({ id, state }) => `${id} ${state}`);

/** Changes one hexadecimal digit. */
const flip = (text, at) => text.slice(0, at) + (Number.parseInt(text[at], 16) ^ 1).toString(16) + text.slice(at + 1);

/** Asserts that a step fails, that the steps before it pass, and that no step after it runs. */
async function failsAt(id, text, pin, of, options) {
  const report = await check(pin, of, options);
  const place = report.steps.findIndex((step) => step.id === id);
  assert.equal(report.valid, false);
  assert.deepEqual(report.steps.map(({ state }) => state), report.steps.map((_, at) => (at < place ? "passed" : at === place ? "failed" : "skipped")));
  assert.match(report.steps[place].text, text);
  assert.equal(report.file, undefined);
}

test("each recorded proof is valid from each pinned DS block", async () => {
  for (const proof of recorded.proofs) {
    for (let at = 0; at <= last; at += 1) {
      const report = await check(pinAt(at), source(proof.answer), { number, claim: claimOf(proof) });
      assert.deepEqual(states(report), Object.keys(titles).map((id) => `${id} passed`), nameOf(claimOf(proof)));
      assert.equal(report.dsBlock.hash, pinAt(last).hash);
    }
  }
});

test("a report has the proven values of the state", async () => {
  const { holder, state } = recorded;
  const value = async (proof) => (await check(pinAt(last), source(proof.answer), { number, claim: claimOf(proof) })).value;
  assert.equal((await value(total)).json, state.total_supply);
  assert.equal((await value(find("balances", `0x${holder}`))).json, state.balances[`0x${holder}`]);
  assert.deepEqual((await value(find("operators"))).json, {});
  assert.equal(await value(find("balances", `0x${"00".repeat(20)}`)), null);
  assert.equal(await value(find("balances")), null);
  const { account } = await check(pinAt(last), source({ accountProof: total.answer.accountProof }), { number, claim: { address } });
  assert.equal(String(account.balance), recorded.balance.balance);
  assert.equal(Number(account.nonce), recorded.balance.nonce);
});

test("the files of a report are valid for the package, and for a page", async () => {
  const { file, shortFile } = await check(pinAt(1), source(total.answer), { number, claim: claimOf(total) });
  for (const [{ bundle, trust }, blocks] of [[file, last], [shortFile, 1]]) {
    assert.equal(bundle.dsBlocks.length, blocks);
    assert.equal(verify(bundle, trust).variable.value.json, recorded.state.total_supply);
    const page = proofPage(bundle, trust);
    assert.ok(page.length <= 80_000);
    const { kind, given } = parsePasted(page);
    assert.equal(kind, "bundle");
    assert.deepEqual(given.claim, claimOf(total));
    assert.ok((await check(pinAt(last), givenSource(given, source()), { claim: given.claim })).valid);
  }
  assert.equal(file.trust.hash, pinAt(1).hash);
  assert.equal(shortFile.trust.hash, pinAt(last).hash);
});

test("a changed digit of a proof fails in the step of its list", async () => {
  const claim = claimOf(find("balances", `0x${recorded.holder}`));
  const { answer } = find("balances", `0x${recorded.holder}`);
  for (const [list, id] of [["accountProof", "account"], ["stateProof", "variable"]]) {
    for (const [place, node] of answer[list].entries()) {
      for (const at of [0, 9, node.length >> 1, node.length - 1]) {
        const nodes = answer[list].with(place, flip(node, at));
        await failsAt(id, new RegExp(list), pinAt(last), source({ ...answer, [list]: nodes }), { number, claim });
      }
    }
  }
});

test("a changed digit of a block fails in the step of the block", async () => {
  const { data } = txBlock;
  const options = { number, claim: claimOf(total) };
  const withTx = (changed) => source(total.answer, { txBlock: async () => ({ data: changed }) });
  await failsAt("block", /^txBlock\.blockbase\.blockhash: expected/, pinAt(0), withTx(flip(data, 100)), options);
  const cs2 = data.toLowerCase().indexOf(recorded.txBlockVerbose.body.HeaderSign.replace(/^0x/, "").toLowerCase());
  assert.ok(cs2 > 0);
  await failsAt("signature", /^txBlock: CS2\/B2 signature: expected/, pinAt(0), withTx(flip(data, cs2 + 5)), options);
  const withDs = (at, place) => source(total.answer, { dsBlock: async (of) => (Number(of) === at ? { data: flip(dsBlocks[at].data, place) } : dsBlocks[Number(of)]) });
  await failsAt("committee", /^DS block 1\.blockbase\.blockhash: expected/, pinAt(0), withDs(1, 200), options);
  await failsAt("committee", /^DS block 1: CS2\/B2 signature: expected/, pinAt(0), withDs(1, dsBlocks[1].data.length - 40), options);
});

test("data of another block, number or chain fail", async () => {
  const options = { number, claim: claimOf(total) };
  const other = source(total.answer, { txBlock: async () => recorded.otherTxBlock });
  await failsAt("block", /^txBlock\.header\.blocknum: expected \d+, got \d+$/, pinAt(0), other, options);
  const missing = source(total.answer, { txBlock: async () => recorded.missingTxBlock });
  await failsAt("block", /got the placeholder of a missing block/, pinAt(0), missing, { claim: claimOf(total) });
  await failsAt("account", /^accountProof: expected/, pinAt(0), other, { claim: claimOf(total) });
  const wrongPin = { ...pinAt(0), hash: "ab".repeat(32) };
  await failsAt("committee", /^DS block 0: expected the pinned hash (ab){32}, got/, wrongPin, source(total.answer), options);
  await failsAt("committee", /^DS block 1: expected the pinned hash/, { ...pinAt(0), number: "1" }, source(total.answer), options);
  await failsAt("committee", /^DS block 2\.header\.blocknum: expected 2, got 1$/, pinAt(1), source(total.answer, { dsBlock: async () => dsBlocks[1] }), options);
  await failsAt("committee", /^DS block 1\.header\.committeehash: expected/, pinAt(1), source(total.answer, { signers: async () => [signer[0].replace(/^../, (sign) => (sign === "02" ? "03" : "02"))] }), options);
});

test("a pinned DS block after the Tx block leads back by hashes", async () => {
  // The next DS block: a copy of the last one with the next number and the hash of the last one.
  const block = decodeDsBlock(dsBlocks[last]);
  const header = Buffer.from(block.header).toString("hex");
  const nextHeader = header.replace(block.previousHash, block.hash).replace(`300${last}38`, `300${last + 1}38`);
  const nextHash = createHash("sha256").update(nextHeader, "hex").digest("hex");
  const [start, tail] = dsBlocks[last].data.toLowerCase().split(header);
  const next = { data: start + nextHeader + tail.replace(block.hash, nextHash) };
  const pin = { number: String(last + 1), hash: nextHash, source: "reader" };
  const chain = (blocks) => source(total.answer, { dsBlock: async (at) => blocks[Number(at)] });
  const options = { number, claim: claimOf(total) };
  const report = await check(pin, chain([...dsBlocks, next]), options);
  assert.ok(report.valid);
  assert.match(report.steps[1].text, new RegExp(`^The pinned DS block ${last + 1} leads back to DS block ${last} by the hashes of 1 previous block\\.`));
  assert.equal(verify(report.file.bundle, report.file.trust).variable.value.json, recorded.state.total_supply);
  const otherHeader = header.replace(block.previousHash, "ab".repeat(32));
  const other = { data: start + otherHeader + tail.replace(block.hash, createHash("sha256").update(otherHeader, "hex").digest("hex")) };
  await failsAt("committee", new RegExp(`^DS block ${last}: expected the hash ${block.hash}, which DS block ${last + 1} names, got`), pin, chain(dsBlocks.with(last, other).concat(next)), options);
  await failsAt("committee", /: expected the pinned hash/, { ...pin, hash: "ab".repeat(32) }, chain([...dsBlocks, next]), options);
  // A node whose chain ends before the pin returns no block of this number.
  await failsAt("committee", new RegExp(`^DS block ${last + 1}`), pin, chain([...dsBlocks, dsBlocks[0]]), options);
});

test("a claim about an account permits no other nodes", async () => {
  await failsAt("account", /^stateProof: expected no nodes in the proof of an account, got \d+ nodes$/, pinAt(0), source(total.answer), { number, claim: { address } });
  await failsAt("account", /^accountProof: expected/, pinAt(0), source({ accountProof: total.answer.accountProof }), { number, claim: { address: "11".repeat(20) } });
});

test("a report lists what it assumes", async () => {
  const { assumed } = await check(pinAt(0, "node"), source(), { number });
  assert.match(assumed[0], /^DS block 0 with the hash [0-9a-f]{64} is a block of the network\. This hash is as this node says/);
  assert.ok(assumed.some((text) => text.startsWith("The leader of DS block 0")));
  const fromReader = await check(pinAt(1, "reader"), source(), { number });
  assert.match(fromReader.assumed[0], /You pinned this hash\.$/);
  assert.ok(!fromReader.assumed.some((text) => text.startsWith("The leader of DS block 0")));
  assert.deepEqual(fromReader.steps.map(({ id }) => id), ["block", "committee", "signature"]);
});

test("an error of the source is not a failed step", async () => {
  const failing = source(total.answer, { proof: () => Promise.reject(new Error("the node does not answer")) });
  await assert.rejects(check(pinAt(0), failing, { number, claim: claimOf(total) }), /^Error: the node does not answer$/);
});

test("data of the reader come first, and the node has the rest", async () => {
  const asked = [];
  const node = source(undefined, { dsBlock: async (at) => (asked.push(String(at)), dsBlocks[Number(at)]), txBlock: () => Promise.reject(new Error("no request")) });
  const given = { claim: claimOf(total), proof: total.answer, txBlock, dsBlocks: dsBlocks.slice(1) };
  assert.ok((await check(pinAt(0), givenSource(given, node), { claim: given.claim })).valid);
  assert.deepEqual(asked, ["0"]);
  await failsAt("committee", /^dsBlocks\[0\]\.blockbase\.blockhash/, pinAt(0), givenSource({ ...given, dsBlocks: [{ data: flip(dsBlocks[1].data, 200) }] }, node), { claim: given.claim });
});

test("a text of the reader is an answer, a bundle or a file", () => {
  const bundle = { address: `0x${address}`, field: "balances", keys: ['"a"'], proof: total.answer, txBlock, dsBlocks };
  assert.deepEqual(parsePasted(JSON.stringify(total.answer)), { kind: "answer", proof: total.answer });
  const envelope = { id: "1", jsonrpc: "2.0", result: total.answer };
  assert.deepEqual(parsePasted(` ${JSON.stringify(envelope)}\n`), { kind: "answer", proof: envelope });
  assert.deepEqual(parsePasted(JSON.stringify(bundle)).given.claim, { address, field: "balances", keys: ["a"] });
  assert.deepEqual(parsePasted(JSON.stringify({ bundle })).given.dsBlocks, dsBlocks);
  const rejects = (value, message) => assert.throws(() => parsePasted(typeof value === "string" ? value : JSON.stringify(value)), { message });
  rejects("", "expected JSON or a downloaded file, got nothing");
  rejects("<html></html>", "expected a file of this page, got a document without the data of a proof");
  rejects("[]", "expected a JSON object");
  rejects({ ...bundle, address: "zil1" }, 'address: expected zil1… or 40 hexadecimal digits, got "zil1"');
  rejects({ ...bundle, address: undefined }, "address: expected zil1… or 40 hexadecimal digits, got null");
  rejects({ ...bundle, field: 1 }, "field: expected a text");
  rejects({ ...bundle, variable: "00" }, "variable: expected a field or the hash of a variable, got both");
  rejects({ ...bundle, keys: "a" }, "keys: expected an array of texts");
  rejects({ ...bundle, keys: ['"a"', "b"] }, 'keys[1]: expected the JSON of a text with its quotes, got "b"');
  rejects({ ...bundle, dsBlocks: {} }, "dsBlocks: expected an array");
  rejects({ ...bundle, committee: [1] }, "committee: expected an array of texts");
  assert.throws(() => parsePasted("{"), /^Error: expected JSON: /);
});

test("a pin has a number and a hash", () => {
  assert.deepEqual(parsePin(" 07 ", `0x${"AB".repeat(32)}`, "reader"), { number: "7", hash: "ab".repeat(32), source: "reader" });
  assert.throws(() => parsePin("-1", "ab".repeat(32), "reader"), { message: 'number: expected the number of a DS block, got "-1"' });
  assert.throws(() => parsePin("1", "ab", "reader"), { message: 'hash: expected 64 hexadecimal digits, got "ab"' });
});
