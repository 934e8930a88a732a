// Formats of the pages of blocks, transactions and addresses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./bundle.mjs";

const { formatAmount, formatDecimal, formatNumber, parseAmount } = await load("format/amount.ts");
const { parseAddress, toBech32 } = await load("format/address.ts");
const { toChecksum } = await load("format/checksum.ts");
const { formatAge, formatTime } = await load("format/time.ts");
const { parseNumber } = await load("format/block.ts");
const { messageTree, parseData } = await load("format/messages.ts");
const { receiptErrors, statusWords } = await load("format/status.ts");
const { parseLabels } = await load("labels.ts");

// Accounts of the isolated server, with their spellings.
const accounts = [
  ["7bb3B0E8A59f3f61d9Bff038f4AEb42cAE2ECce8", "zil10wemp699nulkrkdl7qu0ft459jhzan8g6r5lh7"],
  ["d90f2e538CE0Df89c8273CAd3b63ec44a3c4ed82", "zil1my8ju5uvur0cnjp88jknkclvgj3ufmvz5pxyml"],
  ["381f4008505e940AD7681EC3468a719060caF796", "zil18q05qzzst62q44mgrmp5dzn3jpsv4aukxredu2"],
  ["B028055EA3BC78D759d10663Da40D171dec992Aa", "zil1kq5q2h4rh3udwkw3qe3a5sx3w80vny42cjsysg"],
  ["FF6D421BF5aab7bDE5D6F15F180abc4d21dCc28D", "zil1lak5yxl442mmmewk7903sz4uf5saes5dd8wtkq"],
];

test("an address has three spellings", () => {
  for (const [checksum, bech32] of accounts) {
    const hex = checksum.toLowerCase();
    assert.equal(toChecksum(hex), `0x${checksum}`);
    assert.equal(toBech32(hex), bech32);
    for (const text of [hex, `0x${checksum}`, bech32, bech32.toUpperCase(), `  ${bech32} `]) assert.equal(parseAddress(text), hex);
  }
});

test("a changed digit of bech32 is not an address", () => {
  const [, bech32] = accounts[0];
  for (let place = 4; place < bech32.length; place += 1) {
    const changed = bech32.slice(0, place) + (bech32[place] === "q" ? "p" : "q") + bech32.slice(place + 1);
    assert.equal(parseAddress(changed), null);
  }
  for (const text of ["", "zil1", "0x12", `${accounts[0][0]}0`, "xil10wemp699nulkrkdl7qu0ft459jhzan8g6r5lh7"]) assert.equal(parseAddress(text), null);
});

test("amounts are exact at every size", () => {
  assert.equal(formatAmount("900000000000000000000001"), "900,000,000,000.000000000001 ZIL");
  assert.equal(formatAmount("2000000000", "Li"), "2,000 Li");
  assert.equal(formatAmount(-1n), "−0.000000000001 ZIL");
  assert.equal(formatAmount(0n), "0 ZIL");
  assert.equal(formatDecimal("340282366920938463463374607431768211455", 6), "340,282,366,920,938,463,463,374,607,431,768.211455");
  assert.equal(formatDecimal("10", 0), "10");
  assert.equal(formatDecimal("1", 80), `0.${"0".repeat(79)}1`);
  assert.equal(formatNumber("18446744073709551615"), "18,446,744,073,709,551,615");
  assert.equal(parseAmount("1.5", "ZIL"), 1_500_000_000_000n);
  assert.equal(parseAmount("1,000.000000000001", "ZIL"), 1_000_000_000_000_001n);
  for (const text of ["", "-1", "1e3", ".5", "0.0000000000001", "١"]) assert.throws(() => parseAmount(text, "ZIL"), /expected/);
});

test("numbers have separators between thousands", () => {
  const expected = new Intl.NumberFormat("en");
  for (const value of [0, 7, 999, 1_000, 12_345, 123_456, 1_234_567, -1, -999, -1_000, 10n ** 30n, -(10n ** 30n)]) {
    assert.equal(formatNumber(value), expected.format(value));
  }
});

test("an age is rounded to one unit", () => {
  const now = 1_700_000_000_000;
  const age = (milliseconds) => formatAge(`${BigInt(now + milliseconds) * 1000n}`, now);
  const second = 1000;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  assert.equal(age(0), "now");
  assert.equal(age(-400), "now");
  assert.equal(age(-1 * second), "1 sec. ago");
  assert.equal(age(59 * second), "in 59 sec.");
  assert.equal(age(-59_600), "1 min. ago");
  assert.equal(age(-90 * second), "2 min. ago");
  assert.equal(age(-23 * hour), "23 hr. ago");
  assert.equal(age(-24 * hour), "1 day ago");
  assert.equal(age(-364 * day), "364 days ago");
  assert.equal(age(-365 * day), "1 yr. ago");
  assert.equal(age(3650 * day), "in 10 yr.");
});

test("a time has the zone of the browser", () => {
  const date = new Date(2026, 0, 31, 8, 5, 9);
  assert.equal(formatTime(`${date.getTime()}000`), "2026-01-31 08:05:09");
});

test("a block number has decimal digits and is no mark of an absent block", () => {
  assert.equal(parseNumber("0012"), "12");
  assert.equal(parseNumber("18446744073709551614"), "18446744073709551614");
  for (const text of [undefined, "", "-1", "1.0", "0x1", "18446744073709551615", "184467440737095516140"]) assert.equal(parseNumber(text), null);
});

test("the data of a call and of a deployment have parameters", () => {
  const param = { vname: "to", type: "ByStr20", value: "0x00" };
  assert.deepEqual(parseData(JSON.stringify({ _tag: "Transfer", params: [param] })), { tag: "Transfer", params: [param] });
  assert.deepEqual(parseData(JSON.stringify([param])), { tag: null, params: [param] });
  for (const text of [undefined, "", "{", "null", "1", "{}", '{"_tag":"A"}', '{"_tag":1,"params":[]}', '[{"vname":1}]', "[null]"]) {
    assert.equal(parseData(text), null);
  }
});

const message = (depth, tag) => ({ addr: "0x", depth, msg: { _amount: "0", _recipient: "0x", _tag: tag, params: [] } });
const outline = (nodes) => nodes.map(({ message, sent }) => message.msg._tag + (sent.length ? `(${outline(sent)})` : "")).join(" ");

test("messages form the tree of their calls", () => {
  const depths = [[0, "a"], [1, "b"], [2, "c"], [1, "d"], [0, "e"], [0, "f"], [1, "g"]];
  assert.equal(outline(messageTree(depths.map(([depth, tag]) => message(depth, tag)))), "a(b(c) d) e f(g)");
  assert.equal(outline(messageTree([])), "");
  // A receipt of another network can begin at any depth.
  assert.equal(outline(messageTree([message(3, "a"), message(4, "b")])), "a(b)");
});

test("statuses and errors have words", () => {
  assert.match(statusWords(4), /lower nonce/);
  assert.equal(statusWords(99), "status 99");
  const receipt = (errors) => ({ success: false, cumulative_gas: "1", epoch_num: "1", errors });
  assert.deepEqual(receiptErrors(receipt({ 0: [21, 1] })), ["less than 300 gas was left for a run"]);
  assert.deepEqual(receiptErrors(receipt({ 0: [0, 0] })), ["the checker rejects the contract"]);
  assert.deepEqual(receiptErrors(receipt({ 0: [7], 1: [2, 99] })).length, 3);
  assert.deepEqual(receiptErrors(receipt(null)), []);
});

test("imported names have addresses and short texts", () => {
  const [[checksum, bech32]] = accounts;
  const hex = checksum.toLowerCase();
  assert.deepEqual(parseLabels(JSON.stringify({ [bech32]: " Alice " })), { [hex]: "Alice" });
  for (const [text, error] of [
    ["", /not JSON/],
    ["[]", /JSON object/],
    ["null", /JSON object/],
    ['{"zil1x":"A"}', /expected an address/],
    [JSON.stringify({ [hex]: "" }), /from 1 to 60 characters/],
    [JSON.stringify({ [hex]: "A".repeat(61) }), /from 1 to 60 characters/],
    [JSON.stringify({ [hex]: 1 }), /from 1 to 60 characters/],
  ]) {
    assert.throws(() => parseLabels(text), error);
  }
});
