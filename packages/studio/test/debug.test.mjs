import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./bundle.mjs";

const model = await load("debug/model.ts");
const { formatValue } = await load("debug/value.ts");
const { joinCalls } = await load("debug/join.ts");
const { buildModel, buildModelInParts, findText, formatUnits, gasOfRun, move, nextCost, sentAt, stackAt, variablesAt, writeOf, writesAt } = model;
const example = (name) => JSON.parse(readFileSync(new URL(`../../../tests/data/rpc-examples/${name}.json`, import.meta.url), "utf8")).examples;

let units = 0;
/** A step of 8 units. */
const step = (component, depth, line, text, more = {}) => {
  units -= 8;
  return { component, depth, line, column: 3, text, unitsBefore: units + 8, unitsAfter: units, used: [], bound: null, failed: false, ...more };
};
const value = (name, value) => ({ name, value });
const trace = (call, more = {}) => ({ call, success: true, exceptions: [], gasUsed: "0", block: "1", executed: null, truncated: false, ...more });

/** A transition that calls a procedure for two elements, and sends a message to another contract. */
function chain() {
  units = 80_000;
  const outer = [
    step("Go", 1, 20, "xs = build n", { used: [value("n", "2")], bound: value("xs", ["1", "2"]) }),
    step("Go", 1, 21, "forall xs Put", { used: [value("xs", ["1", "2"])] }),
    step("Put", 2, 10, "old <- total", { bound: value("old", "0") }),
    step("Put", 2, 11, "m[x] := old", { used: [value("x", "1"), value("old", "0")] }),
    step("Put", 2, 10, "old <- total", { bound: value("old", "5") }),
    step("Put", 2, 11, "m[x] := old", { used: [value("x", "2"), value("old", "5")] }),
    step("Go", 1, 22, "send msgs", { used: [value("msgs", [{ _tag: "Ping", _recipient: "0xbb", _amount: "0" }])] }),
  ];
  units = 40_000;
  const inner = [step("Ping", 1, 5, "accept"), step("Ping", 1, 6, "throw e", { failed: true })];
  const run = (steps, completed) => ({
    steps,
    completed,
    accepted: false,
    gasBefore: String(steps[0].unitsBefore / 8 + 2),
    gasAfter: String(Math.floor(steps.at(-1).unitsAfter / 8)),
  });
  return trace({
    amount: "7", params: [{ vname: "n", type: "Uint32", value: "2" }], recipient: "aa", sender: "cc", tag: "Go", run: run(outer, true),
    calls: [{ amount: "0", params: [], recipient: "bb", sender: "aa", tag: "Ping", run: run(inner, false), calls: [] }],
  });
}

test("steps are in the order of execution", () => {
  const built = buildModel(chain());
  assert.deepEqual(built.steps.map(({ step }) => step.line), [20, 21, 10, 11, 10, 11, 22, 5, 6]);
  assert.deepEqual(built.runs.map(({ first, end, endOfCalls, depth }) => [first, end, endOfCalls, depth]), [[0, 7, 9, 0], [7, 9, 9, 1]]);
  assert.equal(built.failure, 8);
});

test("each element of forall has its own activation", () => {
  const built = buildModel(chain());
  assert.deepEqual(built.steps[2].activation.steps, [2, 3]);
  assert.deepEqual(built.steps[4].activation.steps, [4, 5]);
  assert.deepEqual(built.steps[0].activation.steps, [0, 1, 6]);
  assert.equal(built.steps[5].activation.caller.step, 1);
});

test("variables are those of the running component", () => {
  const built = buildModel(chain());
  const names = (number) => variablesAt(built, number).map(({ name, value, role }) => `${name}=${formatValue(value)}${role ? ` ${role}` : ""}`);
  assert.deepEqual(names(0), ["xs=[1, 2] bound", "n=2 used", "_amount=7", "_sender=0xcc"]);
  assert.deepEqual(names(3), ["old=0 used", "x=1 used"]);
  assert.deepEqual(names(4), ["old=5 bound"]);
});

test("the call stack goes through procedures and messages", () => {
  const built = buildModel(chain());
  const stack = (number) => stackAt(built, number).map(({ component, line, step }) => `${component}:${line}@${step}`);
  assert.deepEqual(stack(5), ["Put:11@5", "Go:21@1"]);
  assert.deepEqual(stack(8), ["Ping:6@8", "Go:22@6"]);
});

test("writes, messages and events", () => {
  const built = buildModel(chain());
  assert.deepEqual(built.writes.map(({ step, field, keys, value }) => [step, field, keys, value]), [[3, "m", ["1"], "0"], [5, "m", ["2"], "5"]]);
  assert.deepEqual(sentAt(built, 5), []);
  const [message] = sentAt(built, 6);
  assert.equal(message.entries._tag, "Ping");
  assert.equal(message.run, built.runs[1]);
  const latest = (number, limit) => {
    const { latest, entries } = writesAt(built, number, limit);
    return [latest.map(({ step }) => step), entries];
  };
  assert.deepEqual([latest(2, 5), latest(3, 5), latest(8, 5), latest(8, 1)], [[[], 0], [[3], 1], [[5, 3], 2], [[5], 2]]);
  const write = (text, used = [], more = {}) => writeOf({ text, used, failed: false, ...more });
  assert.deepEqual(write("delete m[a][b]", [value("a", "x"), value("b", null)]), { field: "m", keys: ["x", null], value: null });
  assert.deepEqual(write("f := v", [value("v", null)]), { field: "f", keys: [], value: undefined });
  assert.equal(write("_return := v", [value("v", "1")]), null);
  assert.equal(write("x = v"), null);
  assert.equal(write("x <- f"), null);
  assert.equal(write("f := v", [], { failed: true }), null);
});

test("the model in parts is the same", async () => {
  const whole = chain();
  assert.deepEqual(await buildModelInParts(whole), buildModel(whole));
});

test("moves", () => {
  const built = buildModel(chain());
  const moves = (from, ...kinds) => kinds.map((kind) => move(built, from, kind));
  assert.deepEqual(moves(0, "back", "forward", "over", "out", "call", "previousCall", "failure", "first", "last"), [null, 1, 1, 8, 7, null, 8, null, 8]);
  assert.deepEqual(moves(1, "over", "out"), [6, 8]);
  assert.deepEqual(moves(3, "over", "out"), [4, 6]);
  assert.deepEqual(moves(8, "forward", "failure", "previousCall", "last", "out"), [null, null, 7, null, null]);
  assert.equal(nextCost(built, 0, 7), 1);
  assert.equal(nextCost(built, 0, 8), null);
  assert.equal(findText(built, 0, "PUT", 1), 1);
  assert.equal(findText(built, 8, "old", -1), 5);
  assert.equal(findText(built, 0, "missing", 1), null);
});

test("the gutter adds up to the gas of the run, and the runs to the receipt", () => {
  const results = [...example("silica_traceTransaction"), ...example("silica_traceCall")].map(({ response }) => response.result);
  let checked = 0;
  for (const result of results) {
    if (!result?.call?.run?.steps.length) continue;
    const built = buildModel(trace(result.call));
    const gas = built.runs.map((run) => {
      const { lines, load, rest, total, statements } = gasOfRun(run);
      const { gasBefore, gasAfter, steps } = run.call.run;
      assert.equal([...lines.values()].reduce((sum, units) => sum + units, 0), statements);
      assert.equal(statements, steps[0].unitsBefore - steps.at(-1).unitsAfter);
      assert.ok(rest >= 0 && rest < 8, `the rounding is less than one gas, got ${rest} units`);
      assert.equal(load + statements + rest, total);
      assert.equal(total, 8 * (gasBefore - gasAfter));
      return total / 8;
    });
    // Outside of runs, the transaction pays 300 gas for each call of a contract.
    const receipt = Number((result.receipt ?? result.simulation.receipt).cumulative_gas);
    assert.equal(gas.reduce((sum, gas) => sum + gas, 0) + 300 * built.runs.length, receipt);
    checked += 1;
  }
  assert.ok(checked >= 2);
  assert.equal(formatUnits(12), "1.5");
  assert.equal(formatUnits(8001), "1,000.125");
});

test("the pages of a trace join to the whole trace", () => {
  const leaf = (tag) => ({ tag, params: [tag], run: null, calls: [] });
  const node = (tag, steps, calls) => ({ tag, params: [tag], run: { steps }, calls });
  const whole = () => node("A", [1, 2, 3], [leaf("x"), leaf("y"), node("B", [4, 5], [node("C", [6], []), leaf("z")]), leaf("v"), node("D", [], []), leaf("w")]);
  // A page has all runs. A call has its parameters on the page where it begins, and a leaf is on one page only.
  const pageOf = (numbers, leaves, begins) => {
    const cut = (call) => ({
      ...call,
      params: call.run && !begins.includes(call.tag) ? null : call.params,
      run: call.run && { steps: call.run.steps.filter((number) => numbers.includes(number)) },
      calls: call.calls.filter((inner) => inner.run || leaves.includes(inner.tag)).map(cut),
    });
    return cut(whole());
  };
  const joined = pageOf([1, 2], [], ["A"]);
  joinCalls(joined, pageOf([3, 4], ["x", "y"], ["B"]));
  joinCalls(joined, pageOf([5, 6], ["z", "v", "w"], ["C", "D"]));
  assert.deepEqual(joined, whole());
});

test("values have a short form", () => {
  const adt = (constructor, ...args) => ({ constructor, argtypes: [], arguments: args });
  assert.equal(formatValue(adt("True")), "True");
  assert.equal(formatValue(adt("Some", adt("Pair", "1", "a b"))), 'Some (Pair 1 "a b")');
  assert.equal(formatValue([{ key: "0xab", val: "1" }]), "{0xab: 1}");
  assert.equal(formatValue([]), "[]");
  assert.equal(formatValue({ _tag: "T", n: adt("0xaa.Lib.Nil") }), '{_tag: "T", n: Nil}');
  assert.equal(formatValue({ constructor: "not an ADT" }), '{constructor: "not an ADT"}');
});
