import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { load } from "./bundle.mjs";

const { tokens, tokenLines, indexOfColumn } = await load("scilla/highlight.ts");
const kinds = (source) => tokens(source).filter(({ kind }) => kind !== "space").map(({ kind, text }) => `${kind} ${text}`);
const joined = (source) => tokens(source).map(({ text }) => text).join("");

test("each kind of token is recognized", () => {
  assert.deepEqual(kinds(`field a : Map ByStr20 'A = Emp (* x *) 0x0a1 -12 "s\\"t" _sender => ~`), [
    "keyword field", "name a", "sign :", "keyword Map", "type ByStr20", "type 'A", "sign =", "keyword Emp",
    "comment (* x *)", "number 0x0a", "number 1", "number -12", `string "s\\"t"`, "name _sender", "sign =>", "unknown ~",
  ]);
});

test("comments nest, and an open comment or string ends with the text", () => {
  assert.deepEqual(kinds(`(* a (* "b *) c *) d`), [`comment (* a (* "b *) c *)`, "name d"]);
  assert.deepEqual(kinds("x (* a (* b *)"), ["name x", "comment (* a (* b *)"]);
  assert.deepEqual(kinds(`"abc\\`), [`string "abc\\`]);
  assert.deepEqual(kinds("(*) *)"), ["comment (*) *)"]);
});

test("tokens join back to any text", () => {
  const alphabet = ["(*", "*)", '"', "\\", "\n", "\r\n", "a", "Z", "_", "0x", "7", "-", "'", "=>", "é", "😀", "\ud800", "\u202e", " "];
  let seed = 1;
  const next = () => (seed = (seed * 48271) % 2147483647);
  for (let round = 0; round < 2_000; round++) {
    const text = Array.from({ length: next() % 40 }, () => alphabet[next() % alphabet.length]).join("");
    assert.equal(joined(text), text);
  }
  const contracts = new URL("../../../contracts/", import.meta.url);
  const files = readdirSync(contracts, { recursive: true }).filter((name) => /\.scill/.test(name));
  assert.ok(files.length >= 8);
  for (const name of files) {
    const text = readFileSync(new URL(name, contracts), "utf8");
    assert.equal(joined(text), text);
    assert.ok(!tokens(text).some(({ kind }) => kind === "unknown"), name);
    assert.equal(tokenLines(text).length, text.split("\n").length);
  }
});

test("lines are the lines of the node", () => {
  const texts = (source) => tokenLines(source).map((line) => line.map(({ text }) => text).join(""));
  assert.deepEqual(texts("a\r\nb\rc\n(* d\ne *)\n"), ["a", "b", "c", "(* d", "e *)", ""]);
  assert.deepEqual(texts('x "a\nb" y\nz'), ['x "a\nb" y', "z"]);
  assert.deepEqual(texts(""), [""]);
});

test("columns count bytes", () => {
  assert.equal(indexOfColumn("ab", 1), 0);
  assert.equal(indexOfColumn("ab", 3), 2);
  assert.equal(indexOfColumn("é😀x", 3), 1);
  assert.equal(indexOfColumn("é😀x", 7), 3);
  assert.equal(indexOfColumn("ab", 99), 2);
});

test("the time is linear", () => {
  const time = (text) => {
    const start = performance.now();
    tokens(text);
    return performance.now() - start;
  };
  // A quadratic time is above 10 s.
  for (const part of ["(*", '"', "\\", "'", "-", "a ", '"\\', "(* x *) "]) {
    time(part.repeat(20_000));
    const ms = time(part.repeat(200_000 / part.length));
    assert.ok(ms < 3_000, `${JSON.stringify(part)}: ${ms} ms`);
  }
});
