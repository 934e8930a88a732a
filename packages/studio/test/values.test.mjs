import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./bundle.mjs";

const { parseType, printType, messageType, keyTypes, innermost } = await load("scilla/types.ts");
const { dataTypes, emptyForm, fromJson, toJson, toParam, range, withConstructor, constructorsOf, isMoney } = await load("scilla/values.ts");

const module = `0x${"ab".repeat(20)}`;
const known = dataTypes([
  {
    tname: `${module}.Colour`,
    tparams: [],
    tmap: [
      { cname: `${module}.Red`, argtypes: [] },
      { cname: `${module}.Mix`, argtypes: ["Uint32", "Bool"] },
      { cname: `${module}.Owned`, argtypes: ["Option (ByStr20 with end)", "List (ByStr20)"] },
    ],
  },
]);
const colour = `${module}.Colour`;
const object = (constructor, argtypes = [], values = []) => ({ constructor, argtypes, arguments: values });
const text = (value, unit) => ({ kind: "text", text: value, ...(unit ? { unit } : {}) });
const accepts = (type, form, expected) => assert.deepEqual(toJson(parseType(type), form, known), expected, type);
const rejects = (type, form, message) =>
  assert.throws(() => toJson(parseType(type), form, known), (error) => (assert.equal(error.message, message), true));

test("types print as the node prints them", () => {
  for (const written of [
    "Int32", "Uint256", "BNum", "String", "ByStr", "ByStr20", "ByStr33", "Nat", "'A", "Message", "()",
    "Map (ByStr20) (Uint128)",
    "Map (ByStr20) (Map (Uint32) (List (Pair (Bool) (String))))",
    "List (Pair ('A) ('B))",
    `Option (${colour})`,
    "ByStr20 with end",
    "ByStr20 with _codehash end",
    "ByStr20 with library end",
    "ByStr20 with contract field a : Map (ByStr20) (Uint128), field b : ByStr20 with contract field c : Bool end end",
    "List (ByStr20 with contract field f : Lib.T end)",
    "forall 'A. forall 'B. 'A -> 'B",
    "(Uint128 -> Uint128) -> Uint128",
  ]) {
    assert.equal(printType(parseType(written)), written);
  }
  assert.equal(printType(parseType("Map ByStr20 (List (Pair Bool String))")), "Map (ByStr20) (List (Pair (Bool) (String)))");
  assert.equal(printType(parseType("((Uint32))")), "Uint32");
});

test("a wrong type is an error with a reason, also at any depth", () => {
  for (const wrong of ["", "Map", "Map Uint32", "Uint32)", "(Uint32", "List (", "ByStr20 with contract", "a \u202e b", "Map A B C", "->"]) {
    assert.throws(() => parseType(wrong), /expected a type of Scilla, got /, wrong);
  }
  const deep = (levels) => `${"List (".repeat(levels)}Bool${")".repeat(levels)}`;
  assert.equal(printType(parseType(deep(60))), deep(60));
  assert.throws(() => parseType(deep(100_000)), /more than 200 nested types/);
  assert.throws(() => parseType(`forall 'A. ${"(".repeat(100_000)}`), /more than 200 nested types/);
});

test("parts of types", () => {
  const type = parseType("Map (ByStr20) (Map (Uint32) (Option (ByStr20 with end)))");
  assert.deepEqual(keyTypes(type).map(printType), ["ByStr20", "Uint32"]);
  assert.equal(printType(innermost(type)), "Option (ByStr20 with end)");
  assert.equal(printType(innermost(type, 1)), "Map (Uint32) (Option (ByStr20 with end))");
  assert.equal(printType(messageType(type)), "Map (ByStr20) (Map (Uint32) (Option (ByStr20)))");
  assert.ok(isMoney("min_Amount", parseType("Uint128")));
  assert.ok(!isMoney("amount", parseType("Uint256")) && !isMoney("total", parseType("Uint128")));
});

test("integers of each width have their range", () => {
  for (const bits of [32, 64, 128, 256]) {
    for (const signed of [true, false]) {
      const type = `${signed ? "Int" : "Uint"}${bits}`;
      const [least, greatest] = range({ signed, bits });
      assert.equal(greatest, 2n ** BigInt(signed ? bits - 1 : bits) - 1n);
      for (const value of [least, greatest, 0n, 1n]) accepts(type, text(` ${value} `), value.toString());
      for (const wrong of [least - 1n, greatest + 1n]) {
        rejects(type, text(`${wrong}`), `expected a whole number from ${least} to ${greatest}, got "${wrong}"`);
      }
    }
  }
  accepts("Uint32", text("+007"), "7");
  accepts("Int32", text("-0"), "0");
  const all = "expected a whole number from 0 to 4294967295, got";
  for (const wrong of ["1.0", "1e3", "0x10", "- 1", "1_000", "１", "NaN"]) rejects("Uint32", text(wrong), `${all} ${JSON.stringify(wrong)}`);
  rejects("Uint32", text(""), `${all} nothing`);
  rejects("Uint32", text("9".repeat(1_000_000)), `${all} "${"9".repeat(100)}…"`);
});

test("an amount has a unit", () => {
  accepts("Uint128", text("1.5", "ZIL"), "1500000000000");
  accepts("Uint128", text("0.000001", "Li"), "1");
  accepts("Uint128", text("340282366920938463463374607", "ZIL"), "340282366920938463463374607000000000000");
  rejects("Uint128", text("340282366920938463463374608", "ZIL"), `expected a whole number from 0 to ${2n ** 128n - 1n}, got "340282366920938463463374608"`);
  rejects("Uint128", text("0.0000001", "Li"), "expected at most 6 digits after the point in Li, got 7");
  rejects("Uint128", text("1.5", "Qa"), `expected a whole number from 0 to ${2n ** 128n - 1n}, got "1.5"`);
});

test("texts, bytes and addresses", () => {
  accepts("BNum", text("007"), "007");
  accepts("BNum", text("9".repeat(100)), "9".repeat(100));
  rejects("BNum", text("-1"), 'expected the digits of a block number, got "-1"');
  accepts("String", text(' a"\\\n\t'), ' a"\\\n\t');
  accepts("String", text("x".repeat(1_000_000)), "x".repeat(1_000_000));
  rejects("String", text("ab\u202ec"), "expected printable ASCII and line breaks, got U+202E at character 3");
  rejects("String", text("😀"), "expected printable ASCII and line breaks, got U+1F600 at character 1");
  accepts("ByStr", text("0x"), "0x");
  accepts("ByStr", text("0xABcd"), "0xabcd");
  accepts("ByStr1", text("fF"), "0xff");
  rejects("ByStr", text("0xabc"), "expected bytes as hexadecimal digits, got an odd number of digits: 3");
  rejects("ByStr33", text("0x00"), "expected 33 bytes as 66 hexadecimal digits, got 1 bytes");
  rejects("ByStr1", text("0xgg"), 'expected 1 bytes as 2 hexadecimal digits, got "0xgg"');
  const hex = "7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8";
  for (const type of ["ByStr20", "ByStr20 with end"]) {
    accepts(type, text("zil10wemp699nulkrkdl7qu0ft459jhzan8g6r5lh7"), `0x${hex}`);
    accepts(type, text(hex.toUpperCase()), `0x${hex}`);
    rejects(type, text("zil10wemp699nulkrkdl7qu0ft459jhzan8g6r5lh8"), 'expected an address as zil1… or 40 hexadecimal digits, got a text with a wrong checksum or length: "zil10wemp699nulkrkdl7qu0ft459jhzan8g6r5lh8"');
  }
});

test("data types become objects with the arguments of their type", () => {
  accepts("Bool", { kind: "bool", on: true }, object("True"));
  const some = { kind: "adt", name: "Some", arguments: [text("1")] };
  accepts("Option (Uint32)", some, object("Some", ["Uint32"], ["1"]));
  accepts("Option (Uint32)", emptyForm(parseType("Option (Uint32)"), known), object("None", ["Uint32"]));
  accepts(
    "Pair (Option (Uint32)) (String)",
    { kind: "adt", name: "Pair", arguments: [some, text("a")] },
    object("Pair", ["Option (Uint32)", "String"], [object("Some", ["Uint32"], ["1"]), "a"]),
  );
  accepts(colour, { kind: "adt", name: `${module}.Mix`, arguments: [text("7"), { kind: "bool", on: false }] }, object(`${module}.Mix`, [], ["7", object("False")]));
  rejects(colour, emptyForm(parseType(colour), known), "expected a choice of Colour, got nothing");
  rejects(colour, { kind: "adt", name: `${module}.Mix`, arguments: [text("x"), { kind: "bool", on: false }] }, '1: expected a whole number from 0 to 4294967295, got "x"');
});

test("a message declares ByStr20 for each address type", () => {
  const type = parseType("Option (ByStr20 with end)");
  const form = { kind: "adt", name: "Some", arguments: [text("0".repeat(40))] };
  assert.deepEqual(toParam("to", type, form, known), { vname: "to", type: "Option (ByStr20)", value: object("Some", ["ByStr20"], [`0x${"0".repeat(40)}`]) });
  assert.throws(() => toParam("to", type, { ...form, arguments: [text("1")] }, known), /^FormError: to › 1: expected an address as zil1…, or 20 bytes as 40 hexadecimal digits, got an odd number of digits: 1/);
});

test("a list of 10,000 elements needs no recursion, as an array and as constructors", () => {
  const type = parseType("List (Uint32)");
  const numbers = Array.from({ length: 10_000 }, (_, place) => String(place));
  const form = fromJson(type, numbers, known);
  assert.equal(form.rows.length, 10_000);
  assert.deepEqual(toJson(type, form, known), numbers);
  const chain = numbers.reduceRight((tail, head) => object("Cons", ["Uint32"], [head, tail]), object("Nil", ["Uint32"]));
  assert.deepEqual(toJson(type, fromJson(type, chain, known), known), numbers);
  form.rows[9_999].form = text("x");
  assert.throws(() => toJson(type, form, known), /^FormError: 10000: expected a whole number/);
});

test("a map has entries with different keys", () => {
  const type = parseType("Map (Uint32) (Map (String) (Bool))");
  const json = [{ key: "1", val: [{ key: "a", val: object("True") }] }, { key: "2", val: [] }];
  const form = fromJson(type, json, known);
  assert.deepEqual(toJson(type, form, known), json);
  form.entries[1].key = text("01");
  assert.throws(() => toJson(type, form, known), /^FormError: key 2: expected different keys, got the key of entry 1/);
});

test("JSON that a form cannot show has an error with its place", () => {
  const wrong = (type, json, message) =>
    assert.throws(() => fromJson(parseType(type), json, known), (error) => (assert.equal(error.message, message), true));
  wrong("Uint32", 7, "expected a value of Uint32 as text, got a number");
  wrong("List (Uint32)", ["1", "-1"], '2: expected a whole number from 0 to 4294967295, got "-1"');
  wrong("Option (Uint32)", object("Some", ["Uint64"], ["1"]), 'expected argtypes ["Uint32"], got "[\\"Uint64\\"]"');
  wrong("Option (Uint32)", object("Some", ["Uint32"], []), "expected 1 arguments of Some, got 0");
  wrong("Bool", object("Maybe"), 'expected a constructor of Bool, got "Maybe"');
  wrong("Bool", {}, "expected an object with constructor, argtypes and arguments, got an object");
  wrong("Map (Uint32) (Bool)", [{ key: "1" }], "1: expected an object with key and val, got an object");
  const nat = (levels) => Array.from({ length: levels }).reduce((of) => object("Succ", [], [of]), object("Zero"));
  assert.deepEqual(toJson(parseType("Nat"), fromJson(parseType("Nat"), nat(30), known), known), nat(30));
  assert.throws(() => fromJson(parseType("Nat"), nat(5_000), known), /expected at most 100 levels/);
});

test("JSON is sent as it was typed", () => {
  const json = (typed) => ({ kind: "json", text: typed, form: text("") });
  accepts("Uint32", json('{"any": [1, null]}'), { any: [1, null] });
  rejects("Uint32", json(""), "expected JSON, got nothing");
  assert.throws(() => toJson(parseType("Uint32"), json("{"), known), /expected JSON: /);
});

test("an empty form of a data type that contains itself many times stays small", () => {
  const types = Array.from({ length: 60 }, (_, level) => ({
    tname: `T${level}`,
    tparams: [],
    tmap: [{ cname: `T${level}`, argtypes: level ? [`T${level - 1}`, `T${level - 1}`] : [] }],
  }));
  const all = dataTypes(types);
  assert.ok(JSON.stringify(emptyForm(parseType("T59"), all)).length < 2_000);
  const [only] = constructorsOf(parseType("T59"), all);
  assert.equal(withConstructor(only, all).arguments.length, 2);
});
