// What the debugger shows at each step, computed from one trace. Steps have numbers from 0 in the order of their
// execution, across all runs.
import type { TracedCall, TracedStep, TracedValue } from "../rpc/types.ts";
import type { Trace } from "./trace.ts";

/** A call with a run. */
export interface RunNode {
  call: TracedCall;
  parent: RunNode | null;
  /** Number of the first step, and of the step after the last one. */
  first: number;
  end: number;
  /** Number of the step after the last step of all calls that this call causes. */
  endOfCalls: number;
  /** Number of calls around this call. */
  depth: number;
}

/** A running component. */
export interface Activation {
  component: string;
  run: RunNode;
  /** The activation of the calling component, and the step that calls; null for a transition. */
  caller: { activation: Activation; step: number } | null;
  /** Numbers of the steps of this activation. */
  steps: number[];
}

export interface Position {
  step: TracedStep;
  run: RunNode;
  activation: Activation;
}

export interface Model {
  steps: Position[];
  runs: RunNode[];
  /** Number of the step that failed; null if none did. */
  failure: number | null;
  /** Statements that write fields, in order. */
  writes: Write[];
  /** Numbers of the steps that send messages or make events. */
  sends: number[];
  /** The places (`line:column`) of the executed statements by contract. */
  reached: Map<string, Set<string>>;
  /** For each step, the next step that is not in a component that this step calls; the number of steps if there is none. */
  over: number[];
  /** For each step, the next step in a component that called this component, directly or not, or in another run. */
  out: number[];
}

/** A statement that writes a field. */
export interface Write {
  step: number;
  contract: string;
  field: string;
  /** The keys of an entry. A key whose value is unknown is null. */
  keys: Array<string | null>;
  /** The new value; undefined if the value is unknown, and null if the entry is deleted. */
  value: unknown;
  /** The contract, the field and the keys as one text. Entries with unknown keys differ. */
  entry: string;
  /** Number of different entries that were written up to this statement. */
  entries: number;
}

/** Steps after which the construction of a model lets the browser do other work. */
const stepsOfPart = 1_000;

/** Puts the steps of a trace in order. */
export function buildModel(trace: Trace): Model {
  const work = construct(trace);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Puts the steps of a trace in order, without a long task. */
export async function buildModelInParts(trace: Trace): Promise<Model> {
  const work = construct(trace);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await new Promise((resolve) => setTimeout(resolve));
  }
}

function* construct(trace: Trace): Generator<void, Model> {
  const model: Model = { steps: [], runs: [], failure: null, writes: [], sends: [], reached: new Map(), over: [], out: [] };
  const entries = new Set<string>();
  function* visit(call: TracedCall, parent: RunNode | null): Generator<void, void> {
    let node = parent;
    if (call.run) {
      const first = model.steps.length;
      node = { call, parent, first, end: first, endOfCalls: first, depth: parent ? parent.depth + 1 : 0 };
      model.runs.push(node);
      yield* addSteps(model, node, entries);
      node.end = model.steps.length;
      yield;
      addTargets(model, node);
    }
    for (const inner of call.calls) yield* visit(inner, node);
    if (node && call.run) node.endOfCalls = model.steps.length;
  }
  if (trace.call) yield* visit(trace.call, null);
  return model;
}

function* addSteps(model: Model, run: RunNode, entries: Set<string>): Generator<void, void> {
  const contract = run.call.recipient;
  const reached = model.reached.get(contract) ?? new Set();
  model.reached.set(contract, reached);
  const open: Activation[] = [];
  const seen: Array<Set<string>> = [];
  let before: TracedStep | undefined;
  for (const step of run.call.run!.steps) {
    const number = model.steps.length;
    if (number % stepsOfPart === 0) yield;
    open.length = Math.min(open.length, step.depth);
    seen.length = open.length;
    const place = placeOf(step);
    let activation = open[step.depth - 1];
    // A component executes each statement at most once. So a repeated statement belongs to the next element of `forall`.
    const isNew = !activation || activation.component !== step.component || seen[step.depth - 1]!.has(place) || (before?.depth ?? 0) < step.depth;
    if (isNew) {
      const outer = open[step.depth - 2];
      activation = { component: step.component, run, caller: outer ? { activation: outer, step: outer.steps.at(-1)! } : null, steps: [] };
      open[step.depth - 1] = activation;
      seen[step.depth - 1] = new Set();
    }
    seen[step.depth - 1]!.add(place);
    reached.add(place);
    activation!.steps.push(number);
    model.steps.push({ step, run, activation: activation! });
    if (step.failed) model.failure = number;
    else if (/^(?:send|event)\s/.test(step.text)) model.sends.push(number);
    const write = writeOf(step);
    if (write) {
      const unknown = write.keys.includes(null) ? [number] : [];
      const entry = JSON.stringify([contract, write.field, write.keys, ...unknown]);
      entries.add(entry);
      model.writes.push({ ...write, step: number, contract, entry, entries: entries.size });
    }
    before = step;
  }
}

/** Returns the place of a statement in its source. */
export const placeOf = ({ line, column }: { line: number; column: number }): string => `${line}:${column}`;

/** Sets the targets of the moves over and out, from the last step of a run to the first. */
function addTargets({ steps, over, out }: Model, { first, end }: RunNode): void {
  /** Later steps whose depths increase towards the end of the list. */
  const shallower: number[] = [];
  const depth = (number: number | undefined) => (number === undefined ? 0 : steps[number]!.step.depth);
  for (let at = end - 1; at >= first; at--) {
    while (depth(shallower.at(-1)) > depth(at)) shallower.pop();
    const next = shallower.at(-1);
    over[at] = next ?? end;
    out[at] = next === undefined ? end : depth(next) < depth(at) ? next : out[next]!;
    shallower.push(at);
  }
}

const assignment = /^([a-z_]\w*)((?:\s*\[\s*\w+\s*\])*)\s*:=\s*(\w+)/;
const deletion = /^delete\s+([a-z_]\w*)((?:\s*\[\s*\w+\s*\])+)/;

/** Returns what a statement writes; null if it writes no field. */
export function writeOf(step: TracedStep): Pick<Write, "field" | "keys" | "value"> | null {
  if (step.failed) return null;
  const match = assignment.exec(step.text) ?? deletion.exec(step.text);
  if (!match) return null;
  const [, field = "", indices = "", source] = match;
  // `_return` is not a field.
  if (field.startsWith("_")) return null;
  const valueOf = (name: string) => step.used.find((value) => value.name === name)?.value;
  const keys = [...indices.matchAll(/\w+/g)].map(([name]) => {
    const value = valueOf(name);
    return value === undefined || value === null ? null : typeof value === "string" ? value : JSON.stringify(value);
  });
  const value = source === undefined ? null : (valueOf(source) ?? undefined);
  return { field, keys, value };
}

/** Returns the latest writes of different entries up to a step, the latest first, and the number of all entries. */
export function writesAt({ writes }: Model, number: number, limit: number): { latest: Write[]; entries: number } {
  // The first write after the step.
  let [low, high] = [0, writes.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (writes[middle]!.step <= number) low = middle + 1;
    else high = middle;
  }
  const entries = writes[low - 1]?.entries ?? 0;
  const latest = new Map<string, Write>();
  for (let at = low - 1; at >= 0 && latest.size < Math.min(limit, entries); at--) {
    const write = writes[at]!;
    if (!latest.has(write.entry)) latest.set(write.entry, write);
  }
  return { latest: [...latest.values()], entries };
}

/** A variable at a step. */
export interface Variable extends TracedValue {
  /** Whether the step uses or binds the variable. */
  role: "used" | "bound" | null;
}

/** Returns the variables of the running component that are known after a step, the latest first. */
export function variablesAt(model: Model, number: number): Variable[] {
  const { activation } = model.steps[number]!;
  const found = new Map<string, Variable>();
  const set = (value: TracedValue, role: Variable["role"]) => {
    found.delete(value.name);
    found.set(value.name, { ...value, role });
  };
  if (!activation.caller) for (const value of parameters(activation.run.call)) set(value, null);
  for (const at of activation.steps) {
    if (at > number) break;
    const { step } = model.steps[at]!;
    for (const value of step.used) set(value, at === number ? "used" : null);
    if (step.bound) set(step.bound, at === number ? "bound" : null);
  }
  return [...found.values()].reverse();
}

/** Returns the parameters of the message, and what each transition knows. */
function parameters(call: TracedCall): TracedValue[] {
  const given = Array.isArray(call.params) ? (call.params as Array<{ vname?: unknown; value?: unknown }>) : [];
  return [
    { name: "_sender", value: `0x${call.sender}` },
    { name: "_amount", value: call.amount },
    ...given.flatMap(({ vname, value }) => (typeof vname === "string" ? [{ name: vname, value }] : [])),
  ];
}

export interface StackEntry {
  run: RunNode;
  component: string;
  line: number | null;
  /** The step of the entry. */
  step: number;
}

/** Returns the call stack at a step, the running component first. */
export function stackAt(model: Model, number: number): StackEntry[] {
  const entries: StackEntry[] = [];
  const add = (activation: Activation, step: number) => {
    let at: Activation["caller"] = { activation, step };
    while (at) {
      const { activation: running, step }: { activation: Activation; step: number } = at;
      entries.push({ run: running.run, component: running.component, line: model.steps[step]!.step.line, step });
      at = running.caller;
    }
  };
  const { activation, run } = model.steps[number]!;
  add(activation, number);
  for (let outer = run.parent; outer; outer = outer.parent) {
    // The run of the sender is complete. Its messages go out after it.
    const sent = model.sends.findLast((at) => at >= outer.first && at < outer.end && model.steps[at]!.step.text.startsWith("send"));
    const step = sent ?? Math.max(outer.end - 1, outer.first);
    entries.push({ run: outer, component: outer.call.tag, line: outer.end > outer.first ? model.steps[step]!.step.line : null, step });
  }
  return entries;
}

/** A message or an event that a statement made. */
export interface Sent {
  step: number;
  kind: "message" | "event";
  /** The entries; null if the trace does not have the value. */
  entries: Record<string, unknown> | null;
  /** The run that the message caused. */
  run: RunNode | null;
}

/** Returns the messages and events of the run up to a step. */
export function sentAt(model: Model, number: number): Sent[] {
  const { run } = model.steps[number]!;
  const caused = model.runs.filter((inner) => inner.parent === run);
  const sent: Sent[] = [];
  let messages = 0;
  for (const at of model.sends) {
    if (at < run.first || at > number) continue;
    const { step } = model.steps[at]!;
    const kind = step.text.startsWith("send") ? "message" : "event";
    const value = step.used[0]?.value;
    const values: unknown[] = kind === "message" && Array.isArray(value) ? value : [value];
    for (const value of values) {
      const entries = value && typeof value === "object" ? (value as Record<string, unknown>) : null;
      const delivered = kind === "message" && entries ? run.call.calls[messages] : undefined;
      if (kind === "message") messages += 1;
      sent.push({ step: at, kind, entries, run: caused.find((inner) => inner.call === delivered) ?? null });
    }
  }
  return sent;
}

/** Interpreter units of one gas. */
export const unitsOfGas = 8;

/** The gas of a run, in interpreter units. */
export interface RunGas {
  /** Units by line. */
  lines: Map<number, number>;
  /** The load of programs and of the message, before the first statement. */
  load: number;
  /** The units of all statements of the trace. */
  statements: number;
  /** Units that belong to no statement of the trace: the rounding to whole gas, or statements that are missing. */
  rest: number;
  /** The gas of the run times 8: the sum of the other values. */
  total: number;
}

/** Adds up the gas of a run. */
export function gasOfRun({ call: { run } }: RunNode): RunGas {
  const { steps, gasBefore, gasAfter } = run!;
  const lines = new Map<number, number>();
  let statements = 0;
  for (const { line, unitsBefore, unitsAfter } of steps) {
    const units = unitsBefore - unitsAfter;
    statements += units;
    lines.set(line, (lines.get(line) ?? 0) + units);
  }
  const before = Number(gasBefore) * unitsOfGas;
  const total = before - Number(gasAfter) * unitsOfGas;
  const load = steps.length ? before - steps[0]!.unitsBefore : total;
  return { lines, load, statements, rest: total - load - statements, total };
}

/** Returns units as gas, exactly. */
export function formatUnits(units: number): string {
  return (units / unitsOfGas).toLocaleString("en", { maximumFractionDigits: 3 });
}

export type Move = "back" | "forward" | "over" | "out" | "call" | "previousCall" | "failure" | "first" | "last";

/** Returns the step of a move; null if there is none. */
export function move(model: Model, from: number, kind: Move): number | null {
  const last = model.steps.length - 1;
  const position = model.steps[from];
  if (!position) return null;
  const { run, step } = position;
  const inRange = (number: number | null) => (number !== null && number >= 0 && number <= last && number !== from ? number : null);
  switch (kind) {
    case "back":
      return inRange(from - 1);
    case "forward":
      return inRange(from + 1);
    case "first":
      return inRange(0);
    case "last":
      return inRange(last);
    case "over":
      return inRange(model.over[from]!);
    case "out":
      // Out of a transition is out of its chained calls too.
      return inRange(step.depth === 1 ? Math.min(run.endOfCalls, last) : model.out[from]!);
    case "call":
      return inRange(model.runs.find((next) => next.first > from && next.end > next.first)?.first ?? null);
    case "previousCall":
      return inRange(model.runs.findLast((next) => next.first < from && next.end > next.first)?.first ?? null);
    case "failure":
      return inRange(model.failure);
  }
}

/** Returns the next step that uses more than this number of units; null if there is none. */
export function nextCost(model: Model, from: number, units: number): number | null {
  for (let at = from + 1; at < model.steps.length; at++) {
    const { unitsBefore, unitsAfter } = model.steps[at]!.step;
    if (unitsBefore - unitsAfter > units) return at;
  }
  return null;
}

/** Returns the next step in a direction whose statement, component or variables have the text, in any letter case. */
export function findText(model: Model, from: number, text: string, direction: 1 | -1): number | null {
  const wanted = text.toLowerCase();
  const has = (part: string) => part.toLowerCase().includes(wanted);
  for (let at = from + direction; at >= 0 && at < model.steps.length; at += direction) {
    const { step } = model.steps[at]!;
    const values = step.bound ? [...step.used, step.bound] : step.used;
    if (has(step.text) || has(step.component) || values.some(({ value }) => typeof value === "string" && has(value))) return at;
  }
  return null;
}
