import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./bundle.mjs";

// The client of the page finds its node by the location.
globalThis.location = { href: "http://node.test/studio/#/", hash: "" };
globalThis.addEventListener ??= () => {};
const { Entries, entriesOfPage } = await load("contract/entries.ts");
const { importedLibraries } = await load("contract/imports.ts");

/** A node whose field has entries with the keys "0", "1" and so on. */
function node(count, { failAfter = Infinity } = {}) {
  const requests = [];
  globalThis.fetch = async (_, { body, signal }) => {
    const { id, method, params } = JSON.parse(body);
    assert.equal(method, "silica_getSmartContractStatePage");
    const [, field, cursor, limit, block] = params;
    requests.push(cursor);
    signal?.throwIfAborted();
    const error = requests.length > failAfter ? { code: -20, message: "block: expected a later block" } : undefined;
    const start = cursor === null ? 0 : Number(cursor);
    const end = Math.min(start + limit, count);
    const entries = Array.from({ length: end - start }, (_, place) => ({ variable: field, indices: [String(start + place)], value: "v" }));
    const whole = count === 0 ? [{ variable: field, indices: [], value: {} }] : entries;
    const result = { block, entries: whole, next: end < count ? String(end) : null };
    return { status: 200, text: async () => JSON.stringify({ id, ...(error ? { error } : { result }) }) };
  };
  return requests;
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

test("a list of entries reads as many pages as the visible rows need", async () => {
  const requests = node(100_000);
  const entries = new Entries("a", "f", "7");
  entries.want(0, 20);
  await settle();
  assert.deepEqual(requests, [null]);
  assert.equal(entries.count, entriesOfPage);
  assert.equal(entries.at(19).indices[0], "19");
  assert.ok(entries.more);
  entries.want(480, 500);
  await settle();
  assert.deepEqual(requests, [null, "500"]);
});

test("a list keeps some pages, and reads the others again by their cursors", async () => {
  const requests = node(100_000);
  const entries = new Entries("a", "f", "7");
  for (let end = 20; entries.more; end = entries.count) {
    entries.want(end - 20, end);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  assert.equal(entries.count, 100_000);
  assert.equal(requests.length, 200);
  assert.equal(entries.at(0), undefined);
  assert.equal(entries.at(99_999).indices[0], "99999");
  entries.want(1_000, 1_020);
  await settle();
  assert.equal(entries.at(1_010).indices[0], "1010");
  assert.deepEqual(requests.slice(200), ["1000"]);
  const kept = Array.from({ length: 200 }, (_, page) => entries.at(page * entriesOfPage)).filter(Boolean);
  assert.ok(kept.length <= 20, String(kept.length));
});

test("an empty map has no entries", async () => {
  node(0);
  const entries = new Entries("a", "f", "7");
  entries.want(0, 1);
  await settle();
  assert.equal(entries.count, 0);
  assert.ok(!entries.more);
});

test("a failure ends the reads, and keeps what was read", async () => {
  const requests = node(100_000, { failAfter: 1 });
  const entries = new Entries("a", "f", "7");
  entries.want(0, 20);
  await settle();
  entries.want(400, 420);
  await settle();
  assert.match(entries.error.message, /expected a later block/);
  assert.equal(entries.count, 500);
  entries.want(480, 500);
  await settle();
  assert.equal(requests.length, 2);
});

test("imports of a source text", () => {
  const source = `(* import Comment *) scilla_version 0
    import ListUtils Escrow as E Token
    import Other
    library L
    contract C () field import_ : String = "import Text"`;
  assert.deepEqual(importedLibraries(source), ["Escrow", "Token", "Other"]);
  assert.deepEqual(importedLibraries("import"), []);
});
