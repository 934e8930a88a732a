import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./bundle.mjs";

const { storageKey, variableHash } = await load("format/storageKey.ts");
const { ethereumAddress, parsePublicKey, zilliqaAddress } = await load("format/publicKey.ts");
const { fromHex, toHex } = await load("format/bytes.ts");
const { formatLabels, parseMetrics, summaries } = await load("format/metrics.ts");
const vectors = (name) => JSON.parse(readFileSync(new URL(`../../../tests/data/vectors/${name}`, import.meta.url), "utf8")).cases;

test("variable hashes are those of the vectors", () => {
  const cases = vectors("stateproof.json").filter(({ vname, variable_hash: hash }) => vname && hash);
  assert.ok(cases.length > 0);
  for (const { address, vname, indices = [], variable_hash: hash } of cases) {
    assert.equal(variableHash(storageKey(address, vname, indices.map((key) => (key.startsWith(`"`) ? JSON.parse(key) : key)))), hash.toLowerCase(), vname);
  }
  assert.equal(storageKey("ab", "_type", ["f"]), "ab\u0016_type\u0016f\u0016");
  assert.equal(storageKey("ab", "m", ['a"\u0016']), 'ab\u0016m\u0016"a\\"\\u0016"\u0016');
});

test("addresses of public keys are those of the vectors", () => {
  const cases = vectors("addresses.json").filter(({ kind }) => kind === "pubkey_to_address");
  assert.ok(cases.length >= 4);
  for (const { public_key: key, address } of cases) {
    const parsed = parsePublicKey(key);
    assert.equal(zilliqaAddress(parsed), address);
    assert.deepEqual(parsePublicKey(`0x${parsed.uncompressed}`), parsed);
  }
  // The address of the secret key 1, which Ethereum clients publish.
  assert.equal(ethereumAddress(parsePublicKey("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")), "7e5f4552091a69125d5dfcb7b8c2659029395bdf");
});

test("other bytes are not a public key", () => {
  const point = parsePublicKey("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798");
  for (const text of ["", "02", "x".repeat(66), `05${point.compressed.slice(2)}`, point.compressed.slice(2), "ff".repeat(32)]) {
    assert.throws(() => parsePublicKey(text), /expected a public key/, text);
  }
  // 5 is the smallest x without a point.
  assert.throws(() => parsePublicKey(`02${"5".padStart(64, "0")}`), /not a point/);
  assert.throws(() => parsePublicKey(`02${"f".repeat(64)}`), /not a point/);
  const changed = point.uncompressed.replace(/.$/, (digit) => (parseInt(digit, 16) ^ 2).toString(16));
  assert.throws(() => parsePublicKey(changed), /not a point/);
});

test("hexadecimal digits", () => {
  assert.equal(toHex(fromHex("0x00fF")), "00ff");
  assert.equal(fromHex("abc"), null);
  assert.equal(fromHex("0xzz"), null);
  assert.equal(fromHex("").length, 0);
});

test("metrics are parsed", () => {
  const text = `# HELP calls Calls of methods.
# TYPE calls histogram
calls_sum{method="a"} 0.5
calls_count{method="a"} 2
calls_bucket{le="+Inf",method="a"} 2
# TYPE requests counter
requests_total{status="200",text="a\\"b\\\\"} 7
height 12
# EOF
`;
  const [calls, requests, height] = parseMetrics(text);
  assert.deepEqual(summaries(calls), [{ labels: "method a", count: 2, mean: 0.25 }]);
  assert.equal(calls.help, "Calls of methods.");
  assert.deepEqual(requests.samples, [{ name: "requests_total", labels: { status: "200", text: 'a"b\\' }, value: 7 }]);
  assert.equal(formatLabels(requests.samples[0].labels), 'status 200, text a"b\\');
  assert.equal(height.samples[0].value, 12);
  assert.equal(parseMetrics("<!doctype html>\n<p>x"), null);
});
