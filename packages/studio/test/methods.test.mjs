import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./bundle.mjs";

const { inputOf, paramsOf } = await load("methods/schema.ts");
const { asCommand, asCurl, quoteShell } = await load("methods/copies.ts");
const { methods, components } = JSON.parse(readFileSync(new URL("../../../docs/openrpc.json", import.meta.url), "utf8"));
const schemas = components.schemas;
const method = (name) => methods.find((method) => method.name === name);
const kind = (name, index) => inputOf(method(name).params[index].schema, schemas).kind;

test("each parameter of the document has the input of its type", () => {
  assert.equal(kind("GetBalance", 0), "text");
  assert.equal(kind("silica_mine", 0), "number");
  assert.equal(kind("eth_getBlockByNumber", 1), "boolean");
  assert.equal(kind("silica_getEvents", 0), "object");
  assert.equal(kind("GetSmartContractSubState", 2), "json");
  assert.equal(kind("eth_getLogs", 0), "object");
  const { members } = inputOf(method("silica_getBlockRange").params[0].schema, schemas);
  const order = inputOf(members.find(({ name }) => name === "order").schema, schemas);
  assert.deepEqual(order.choices.map(({ value }) => value), ["newest", "oldest"]);
  const counts = {};
  for (const { params } of methods) for (const { schema } of params) counts[inputOf(schema, schemas).kind] = (counts[inputOf(schema, schemas).kind] ?? 0) + 1;
  // A value without a type, and arrays.
  assert.equal(counts.json, 3, JSON.stringify(counts));
});

test("texts become parameters", () => {
  const params = (name, texts) => paramsOf(method(name), texts, schemas);
  assert.deepEqual(params("silica_mine", {}), []);
  assert.deepEqual(params("silica_mine", { 0: " 3 " }), [3]);
  assert.deepEqual(params("silica_getSmartContractStatePage", { 0: "0xab", 3: "5" }), ["0xab", null, null, 5]);
  assert.deepEqual(params("silica_getBlockRange", { "0.limit": "7", "0.order": "1" }), [{ limit: 7, order: "oldest" }]);
  assert.deepEqual(params("silica_getBlockRange", {}), []);
  assert.deepEqual(params("silica_simulateTransaction", { "0.senderAddr": "zil1", "0.priority": "false" }), [{ priority: false, senderAddr: "zil1" }]);
  assert.deepEqual(params("GetSmartContractSubState", { 0: "a", 1: "", 2: '["k"]' }), ["a", "", ["k"]]);
});

test("a wrong text names its input", () => {
  const error = (name, texts) => {
    try {
      paramsOf(method(name), texts, schemas);
    } catch ({ path, message }) {
      return `${path} ${message}`;
    }
    return null;
  };
  assert.equal(error("silica_mine", { 0: "x" }), '0 expected a whole number from 0 to 10000000, got "x"');
  assert.equal(error("silica_mine", { 0: "10000001" }), '0 expected a whole number from 0 to 10000000, got "10000001"');
  assert.equal(error("silica_mine", { 0: "1.5" }), '0 expected a whole number from 0 to 10000000, got "1.5"');
  assert.match(error("GetSmartContractSubState", { 0: "a", 1: "b", 2: "[" }), /^2 expected JSON/);
  assert.match(error("silica_getBlockRange", { "0.limit": "0" }), /^0\.limit expected a whole number from 1/);
});

test("a circle of references ends", () => {
  const circle = { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } };
  assert.equal(inputOf({ $ref: "#/components/schemas/A" }, circle).kind, "json");
});

test("commands are quoted", () => {
  assert.equal(quoteShell("a b"), "'a b'");
  assert.equal(quoteShell("it's"), `'it'\\''s'`);
  assert.equal(quoteShell(""), "''");
  assert.equal(asCurl("http://h:1/", "m", ["'"]), `curl -s -H 'content-type: application/json' -d '{"id":1,"jsonrpc":"2.0","method":"m","params":["'\\''"]}' http://h:1/`);
  const command = (name, params) => asCommand("http://h:1/", method(name), params, schemas);
  assert.equal(command("GetSmartContractSubState", ["ab", "f", []]), "silica rpc --url http://h:1/ GetSmartContractSubState ab f '[]'");
  assert.equal(command("GetBalance", ['"x']), `silica rpc --url http://h:1/ GetBalance '"\\"x"'`);
  assert.equal(command("silica_setContractField", ["a", "f", ["k"], "5"]), `silica rpc --url http://h:1/ silica_setContractField a f '["k"]' '"5"'`);
});
