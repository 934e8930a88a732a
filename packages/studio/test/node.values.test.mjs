// Compares the check of form values with the node's own reader. Needs a node with methods for developers:
// `SILICA_URL=http://127.0.0.1:5555 npm test`.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { before, test } from "node:test";
import { load } from "./bundle.mjs";

const { parseType, printType } = await load("scilla/types.ts");
const { dataTypes, fromJson, range, toJson, toParam, constructorsOf } = await load("scilla/values.ts");
const url = process.env.SILICA_URL;
const options = { skip: url ? false : "SILICA_URL is not set" };

let lastId = 0;
async function call(method, ...params) {
  const body = JSON.stringify({ id: ++lastId, jsonrpc: "2.0", method, params });
  const answer = await (await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })).json();
  if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
  return answer.result;
}

let sender, contract, known, transitions;
before(async () => {
  if (!url) return;
  const { accounts } = await call("silica_listAccounts", { limit: 100 });
  sender = accounts.find((account) => BigInt(account.balance) > 10n ** 16n && !account.codeHash && !/^0+$/.test(account.address)).address;
  const code = readFileSync(new URL("every-type.scilla", import.meta.url), "utf8");
  const data = JSON.stringify([{ vname: "_scilla_version", type: "Uint32", value: "0" }]);
  const sent = await call("silica_sendTransaction", { senderAddr: sender, toAddr: "0".repeat(40), code, data });
  contract = sent.ContractAddress;
  const found = await call("silica_getContractInterface", contract);
  known = dataTypes(found.ADTs);
  transitions = found.transitions.map(({ vname, params }) => ({ vname, name: params[0].vname, type: parseType(params[0].type) }));
});

/** Returns null if the node accepts a parameter, and otherwise the reason. */
async function refusal(tag, param) {
  const data = JSON.stringify({ _tag: tag, params: [param] });
  const { receipt } = await call("silica_simulateTransaction", { senderAddr: sender, toAddr: contract, data });
  return receipt.success ? null : JSON.stringify(receipt);
}

// A generator with a fixed seed, so that a failure repeats.
let seed = 20260101;
const next = (limit) => (seed = (seed * 48_271) % 2_147_483_647) % limit;
const pick = (values) => values[next(values.length)];
const digits = (count) => Array.from({ length: count }, () => pick("0123456789abcdefABCDEF")).join("");

/** Returns the text of a leaf: extreme, usual or wrong. */
function leaf(type) {
  switch (type.kind) {
    case "integer": {
      const [least, greatest] = range(type);
      return pick([least, greatest, least - 1n, greatest + 1n, 0n, "-0", "+1", "007", "", "1.5", "0x1", "1e3", " 5 ", greatest / 3n]).toString();
    }
    case "bnum":
      return pick(["0", "007", "9".repeat(80), "-1", "", "1a"]);
    case "string":
      return pick(["", "a", 'quotes " and \\', "line\nbreak\ttab\b\f\r", "é", "\u202e", "\u0000", "</script>", "x".repeat(2_000)]);
    case "address":
      return pick([sender, `0x${sender}`, `0x${sender.toUpperCase()}`, "zil10wemp699nulkrkdl7qu0ft459jhzan8g6r5lh7", "0x12", ""]);
    default: {
      const width = type.width ?? next(40);
      return pick([`0x${digits(2 * width)}`, digits(2 * width), `0x${digits(2 * width + 1)}`, `0x${digits(2 * width + 2)}`, "0x", "xyz"]);
    }
  }
}

function randomForm(type, level = 0) {
  const id = () => ++lastId;
  if (type.kind !== "adt") return { kind: "text", text: leaf(type) };
  if (type.name === "Bool") return { kind: "bool", on: next(2) === 0 };
  if (type.name === "List") {
    return { kind: "list", rows: Array.from({ length: next(4) }, () => ({ id: id(), form: randomForm(type.arguments[0], level + 1) })) };
  }
  const constructors = constructorsOf(type, known);
  const { name, arguments: types } = level > 5 ? constructors[0] : pick(constructors);
  return { kind: "adt", name, arguments: types.map((argument) => randomForm(argument, level + 1)) };
}

test("the node accepts each value that the form accepts", options, async () => {
  let accepted = 0;
  for (const { vname, name, type } of transitions) {
    // No account of the chain has the field of this type. The node refuses each address, and the page cannot know it.
    if (vname === "TakeContract") continue;
    for (let round = 0; round < 40; round += 1) {
      let param;
      try {
        param = toParam(name, type, randomForm(type), known);
      } catch (error) {
        assert.equal(error.name, "FormError");
        continue;
      }
      accepted += 1;
      assert.equal(await refusal(vname, param), null, `${vname} ${JSON.stringify(param)}`);
      const declared = parseType(param.type);
      assert.deepEqual(toJson(declared, fromJson(declared, param.value, known), known), param.value);
    }
  }
  assert.ok(accepted > 400, String(accepted));
});

test("the node refuses each leaf that the form refuses", options, async () => {
  let refused = 0;
  for (const { vname, name, type } of transitions) {
    if (type.kind === "adt" || type.kind === "address") continue;
    for (let round = 0; round < 25; round += 1) {
      const text = leaf(type);
      try {
        toParam(name, type, { kind: "text", text }, known);
        continue;
      } catch (error) {
        assert.equal(error.name, "FormError");
      }
      const declared = toParam(name, type, { kind: "json", text: JSON.stringify(text), form: null }, known);
      refused += 1;
      assert.notEqual(await refusal(vname, declared), null, `${vname} ${JSON.stringify(text)}`);
    }
  }
  assert.ok(refused > 100, String(refused));
});

test("the node accepts a list of 10,000 elements", options, async () => {
  const { vname, name, type } = transitions.find((one) => one.vname === "TakeLists");
  const rows = Array.from({ length: 100 }, (_, place) => Array.from({ length: 100 }, (_, inner) => `${place} ${inner}`));
  assert.equal(await refusal(vname, toParam(name, type, fromJson(type, rows, known), known)), null);
});

test("the types of the example contracts print as the node prints them", options, async () => {
  const contracts = new URL("../../../contracts/", import.meta.url);
  const files = readdirSync(contracts, { recursive: true }).filter((name) => name.endsWith(".scilla"));
  assert.ok(files.length >= 7);
  const source = (name) => readFileSync(new URL(name, contracts), "utf8");
  const data = JSON.stringify([
    { vname: "_scilla_version", type: "Uint32", value: "0" },
    { vname: "_library", type: "Bool", value: { constructor: "True", argtypes: [], arguments: [] } },
  ]);
  const library = await call("silica_sendTransaction", { senderAddr: sender, toAddr: "0".repeat(40), code: source("escrow/Escrow.scillib"), data });
  for (const name of files) {
    const { interface: found } = await call("silica_checkContract", source(name), { libraries: { Escrow: library.ContractAddress } });
    assert.ok(found, name);
    const texts = [...found.params, ...found.fields, ...[...found.transitions, ...found.procedures, ...found.events].flatMap(({ params }) => params)];
    for (const { type } of texts) assert.equal(printType(parseType(type)), type);
    assert.equal(dataTypes(found.ADTs).size >= found.ADTs.length, true);
  }
});
