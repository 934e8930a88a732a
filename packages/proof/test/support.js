// Data and tools of the tests.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";

import { keccak_256 } from "@noble/hashes/sha3.js";

import { ProofError } from "silica-proof";

/** Returns the cases of a file of vectors. */
export function vectors(name) {
  return JSON.parse(readFileSync(new URL(`../../../tests/data/vectors/${name}.json`, import.meta.url), "utf8")).cases;
}

export const hex = (bytes) => Buffer.from(bytes).toString("hex");
export const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
export const keccak = (data) => hex(keccak_256(data));

/** Checks that a function throws a ProofError whose text contains all words. */
export function rejects(call, ...words) {
  let error;
  try {
    const result = call();
    assert.fail(`expected an error with ${words.join(", ")}, got ${inspect(result)}`);
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error instanceof ProofError, error.stack);
  for (const word of words) assert.ok(error.message.includes(word), `${word} is missing in: ${error.message}`);
  return error;
}

/** The header of an RLP item with a payload of `length` bytes. */
function header(base, length) {
  if (length <= 55) return [base + length];
  const digits = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return [base + 55 + digits.length, ...digits];
}

export const rlpString = (data) =>
  data.length === 1 && data[0] < 0x80
    ? Uint8Array.from(data)
    : Uint8Array.from([...header(0x80, data.length), ...data]);
export const rlpList = (items) => {
  const payload = Buffer.concat(items);
  return Uint8Array.from([...header(0xc0, payload.length), ...payload]);
};

/** Returns the fields of a protobuf message with field numbers below 16: `[number, value]`, a bigint or bytes. */
export function message(fields) {
  const varint = (number) => {
    const out = [];
    for (let rest = BigInt(number); ;) {
      const low = Number(rest & 127n);
      rest >>= 7n;
      out.push(rest === 0n ? low : low | 128);
      if (rest === 0n) return out;
    }
  };
  const parts = fields.flatMap(([number, value]) =>
    typeof value === "bigint"
      ? [Uint8Array.of(number << 3, ...varint(value))]
      : [Uint8Array.of((number << 3) | 2, ...varint(value.length)), value],
  );
  return new Uint8Array(Buffer.concat(parts));
}

/** A state proof of the published and generated vectors, and what it proves. */
export function stateProofs(valid) {
  return vectors("stateproof").filter((entry) => entry.valid === valid);
}

/** The two lists of a case of `stateproof.json`, as a response of a node. */
export const answer = (entry) => ({ accountProof: entry.accountProof, stateProof: entry.stateProof });
