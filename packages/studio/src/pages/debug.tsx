// The debugger: the statements of a transaction, one at a time, forward and back, from one trace.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { formatNumber } from "../format/amount.ts";
import { Calls, Failed, Gas, Sent, Stack, Variables, Writes } from "../debug/panels.tsx";
import { buildModelInParts, findText, formatUnits, gasOfRun, type Model, move, type Move, nextCost, placeOf, type RunGas, unitsOfGas } from "../debug/model.ts";
import { keptSimulation } from "../debug/simulation.ts";
import { mostSteps, readTrace, type Trace, traceSimulation } from "../debug/trace.ts";
import { Loaded } from "../parts/data.tsx";
import { TextField } from "../parts/form.tsx";
import { announce } from "../parts/live.tsx";
import { Page } from "../parts/page.tsx";
import { type GutterValue, type LineMark, Source } from "../parts/source.tsx";
import { Address, ChainText, TransactionLink } from "../parts/text.tsx";
import { useResource } from "../resource.ts";
import { go, link, route, setQuery } from "../router.ts";
import { call } from "../rpc/client.ts";
import { type Statement, statements } from "../scilla/statements.ts";
import { shortcutsOn } from "../shortcuts.ts";

/** The sources of the contracts of a trace by address; null for a contract whose source cannot be read. */
type Sources = Map<string, { text: string; statements: Statement[] } | null>;

export default function Debug() {
  const id = route.value.path[1];
  if (!id) return <Choose />;
  return (
    <Page
      title="Debugger"
      lead={id === "simulation" ? "A simulated transaction: no block has it." : <TransactionLink hash={id} whole />}
    >
      <Read id={id} />
    </Page>
  );
}

function Choose() {
  const hash = useSignal("");
  return (
    <Page title="Debugger" lead="The debugger shows each statement that a transaction executed.">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (hash.value.trim()) go(["debug", hash.value.trim()]);
        }}
      >
        <TextField label="Hash of a transaction" value={hash.value} onValue={(text) => (hash.value = text)} />
        <button class="primary">Open</button>
      </form>
      {keptSimulation() && (
        <p>
          <a href={link(["debug", "simulation"])}>The transaction that was simulated last</a>
        </p>
      )}
    </Page>
  );
}

function Read({ id }: { id: string }) {
  const progress = useSignal("");
  const trace = useResource(`trace ${id}`, async (signal) => {
    const read = await readById(id, signal, (done, all) => (progress.value = `${formatNumber(done)} of ${formatNumber(all)} steps`));
    const model = await buildModelInParts(read);
    const sources = await readSources(model, signal);
    return { trace: read, model, sources };
  });
  return (
    <>
      {trace.loading && progress.value && (
        <p class="muted" aria-live="polite">
          {progress.value}
        </p>
      )}
      <Loaded of={trace}>{(read) => <Opened {...read} />}</Loaded>
    </>
  );
}

function readById(id: string, signal: AbortSignal, progress: (read: number, all: number) => void): Promise<Trace> {
  if (id !== "simulation") return readTrace(id, signal, progress);
  const kept = keptSimulation();
  if (!kept) throw new Error("this tab has no simulated transaction; simulate a call on the page of its contract");
  return traceSimulation(kept, signal);
}

async function readSources(model: Model, signal: AbortSignal): Promise<Sources> {
  const addresses = [...new Set(model.runs.map(({ call }) => call.recipient))];
  const sources = addresses.map(async (address) => {
    try {
      const { code } = await call("GetSmartContractCode", [address], signal);
      return [address, { text: code, statements: statements(code) }] as const;
    } catch {
      return [address, null] as const;
    }
  });
  return new Map(await Promise.all(sources));
}

function Opened({ trace, model, sources }: { trace: Trace; model: Model; sources: Sources }) {
  const read = model.steps.length;
  return (
    <>
      {!trace.call && <p>A payment or a deployment has no steps: no contract executed statements.</p>}
      {trace.executed !== null && trace.executed > read && (
        <p class="warn" role="note">
          ⚠ The trace ends early: it shows the first {formatNumber(read)} of {formatNumber(trace.executed)} steps. The page reads at most {formatNumber(mostSteps)}.
        </p>
      )}
      {trace.truncated && (
        <p class="warn" role="note">
          ⚠{" "}
          {trace.executed === null
            ? "The trace is incomplete: the node traces at most 10,000 steps and 4 MiB of a simulation, and leaves out large values."
            : "Some values are too large for a trace. The debugger shows them as “not in the trace”."}
        </p>
      )}
      <Failed trace={trace} model={model} />
      {trace.call && !read && <p>No statement was executed{trace.success ? "." : ": the transaction failed before the first statement."}</p>}
      {read > 0 ? <Stepper trace={trace} model={model} sources={sources} /> : trace.call && <Gas trace={trace} model={model} />}
    </>
  );
}

const startOf = (model: Model): number => {
  const asked = route.peek().query.get("step");
  const last = model.steps.length - 1;
  if (asked !== null && /^\d{1,9}$/.test(asked)) return Math.min(Number(asked), last);
  return model.failure ?? 0;
};

function Stepper({ trace, model, sources }: { trace: Trace; model: Model; sources: Sources }) {
  const last = model.steps.length - 1;
  const chosen = useSignal(startOf(model));
  const step = useComputed(() => Math.min(chosen.value, last)).value;
  const moved = useRef<ReturnType<typeof setTimeout>>(undefined);

  const select = (number: number | null) => {
    if (number === null) return;
    chosen.value = number;
    // Quick moves, for example of the slider, give one message and one change of the URL.
    clearTimeout(moved.current);
    moved.current = setTimeout(() => {
      announce(describe(model, number));
      setQuery("step", String(number));
    }, 250);
  };
  useEffect(() => () => clearTimeout(moved.current), []);
  // A link to another step of the same transaction.
  const asked = route.value.query.get("step");
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) chosen.value = startOf(model);
    first.current = false;
  }, [asked]);
  useKeys((kind) => select(move(model, chosen.peek(), kind)));

  const { step: current, run } = model.steps[step]!;
  const source = sources.get(run.call.recipient);
  const statement = source?.statements.find(({ span }) => span.start.line === current.line && span.start.column === current.column);
  const gas = useMemo(() => gasOfRun(run), [run]);
  const gutter = useMemo(() => gutterOf(gas), [gas]);
  const marks = useMemo(() => marksOf(model, run.call.recipient, source?.statements ?? []), [model, run.call.recipient, source]);
  const start = { line: current.line, column: current.column };
  const span = statement?.span ?? { start, end: { line: current.line, column: current.column + new TextEncoder().encode(current.text).length } };
  return (
    <div class="debugger">
      <div class="debug-source">
        <div class="section-head">
          <h2>{run.call.tag}</h2>
          <span>
            of <Address hex={run.call.recipient} />
          </span>
        </div>
        {source ? (
          <Source
            source={source.text}
            label={`Source of the contract, at line ${current.line}`}
            current={span}
            gutter={gutter}
            marks={marks}
          />
        ) : (
          <p class="muted">The source of this contract cannot be read.</p>
        )}
        <p class="hint">
          The gutter has the gas of each line in this run. A line with <b>–</b> was never reached, and a line with <b>✗</b> failed. <kbd>Shift</kbd> with an arrow scrolls the source.
        </p>
      </div>
      <div class="debug-panels">
        <Statement model={model} step={step} />
        <Variables model={model} step={step} />
        <Stack model={model} step={step} select={select} />
        <Writes model={model} step={step} success={trace.success} select={select} />
        <Sent model={model} step={step} select={select} />
        <Calls model={model} step={step} select={select} />
        <Gas trace={trace} model={model} run={run} />
      </div>
      <Controls model={model} step={step} select={select} />
    </div>
  );
}

function describe(model: Model, number: number): string {
  const { step } = model.steps[number]!;
  const gas = formatUnits(step.unitsBefore - step.unitsAfter);
  return `Step ${number} of ${model.steps.length - 1}: ${step.component}, line ${step.line}, ${step.text}, ${gas} gas${step.failed ? ", failed" : ""}`;
}

function Statement({ model, step }: { model: Model; step: number }) {
  const { step: at } = model.steps[step]!;
  return (
    <section class="debug-statement">
      <h2>
        Step {formatNumber(step)} <span class="muted">of 0 to {formatNumber(model.steps.length - 1)}</span>
      </h2>
      <p>
        {at.component}, line {at.line} · {formatUnits(at.unitsBefore - at.unitsAfter)} gas{at.failed && <span class="bad"> · ✗ failed</span>}
      </p>
      <code>
        <ChainText text={at.text} />
      </code>
    </section>
  );
}

/** The values of the gutter. The heat is the part of the most expensive line. */
function gutterOf({ lines }: RunGas): { title: string; values: Map<number, GutterValue> } {
  const most = Math.max(...lines.values());
  const values = [...lines].map(([line, units]): [number, GutterValue] => {
    const part = units / most;
    const heat = units === 0 ? 0 : part > 0.5 ? 4 : part > 0.2 ? 3 : part > 0.05 ? 2 : 1;
    return [line, { text: formatUnits(units), title: `${formatUnits(units)} gas`, heat }];
  });
  return { title: "gas", values: new Map(values) };
}

/** The lines of statements that no run of the contract reached, and the line that failed. */
function marksOf(model: Model, contract: string, all: Statement[]): Map<number, LineMark> {
  const reached = model.reached.get(contract);
  const marks = new Map<number, LineMark>();
  const lines = ({ span }: Statement) => Array.from({ length: span.end.line - span.start.line + 1 }, (_, index) => span.start.line + index);
  const isReached = ({ span }: Statement) => reached?.has(placeOf(span.start));
  const mark: LineMark = { symbol: "–", title: "never reached", className: "unreached" };
  for (const statement of all) if (!isReached(statement)) for (const line of lines(statement)) marks.set(line, mark);
  for (const statement of all) if (isReached(statement)) for (const line of lines(statement)) marks.delete(line);
  const failed = model.failure === null ? null : model.steps[model.failure]!;
  if (failed?.run.call.recipient === contract) marks.set(failed.step.line, { symbol: "✗", title: "failed here", className: "bad" });
  return marks;
}

const buttons: Array<{ kind: Move; title: string; key?: string; name?: string }> = [
  { kind: "first", title: "Start" },
  { kind: "back", title: "Back", key: "←", name: "ArrowLeft" },
  { kind: "forward", title: "Forward", key: "→", name: "ArrowRight" },
  { kind: "over", title: "Over", key: "↑", name: "ArrowUp" },
  { kind: "out", title: "Out", key: "o", name: "o" },
  { kind: "call", title: "Next call", key: "n", name: "n" },
  { kind: "previousCall", title: "Previous call", key: "p", name: "p" },
  { kind: "failure", title: "Failure", key: "f", name: "f" },
  { kind: "last", title: "End" },
];
const keys = new Map(buttons.flatMap(({ kind, name }) => (name ? [[name, kind] as const] : [])));

/** Keys of the debugger. In inputs, keys keep their meaning. */
function useKeys(run: (kind: Move) => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog")) return;
      const scrolled = target.closest(".source");
      if (event.shiftKey) {
        const by = { ArrowLeft: [-40, 0], ArrowRight: [40, 0], ArrowUp: [0, -40], ArrowDown: [0, 40] }[event.key];
        if (!scrolled || !by) return;
        event.preventDefault();
        return scrolled.scrollBy(by[0]!, by[1]!);
      }
      const kind = keys.get(event.key);
      // A letter is a single-key shortcut, which can be switched off.
      if (!kind || (event.key.length === 1 && !shortcutsOn.value)) return;
      event.preventDefault();
      latest.current(kind);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function Controls({ model, step, select }: { model: Model; step: number; select: (step: number | null) => void }) {
  const { step: at } = model.steps[step]!;
  return (
    <div class="debug-controls" role="group" aria-label="Steps">
      <input
        type="range"
        aria-label="Step"
        min={0}
        max={model.steps.length - 1}
        value={step}
        aria-valuetext={`step ${step}: ${at.component}, line ${at.line}`}
        onInput={(event) => select(Number(event.currentTarget.value))}
      />
      <div class="debug-buttons">
        {buttons.map(({ kind, title, key, name }) => {
          const next = move(model, step, kind);
          // A disabled button would lose the focus at the last step.
          return (
            <button key={kind} type="button" aria-disabled={next === null} aria-keyshortcuts={name} onClick={() => select(next)}>
              {title} {key && <kbd aria-hidden="true">{key}</kbd>}
            </button>
          );
        })}
      </div>
      <Finders model={model} step={step} select={select} />
    </div>
  );
}

function Finders({ model, step, select }: { model: Model; step: number; select: (step: number | null) => void }) {
  const text = useSignal("");
  const textError = useSignal<string | null>(null);
  const gas = useSignal("");
  const gasError = useSignal<string | null>(null);
  const find = (direction: 1 | -1) => {
    if (!text.value) return;
    const found = findText(model, step, text.value, direction);
    textError.value = found === null ? `no ${direction === 1 ? "later" : "earlier"} step has this text` : null;
    select(found);
  };
  const findCost = () => {
    if (!/^\d{1,12}(\.\d{1,3})?$/.test(gas.value.trim())) return void (gasError.value = "expected a number, for example 10");
    const found = nextCost(model, step, Number(gas.value) * unitsOfGas);
    gasError.value = found === null ? "no later step uses more gas" : null;
    select(found);
  };
  return (
    <div class="debug-find">
      <form
        role="search"
        aria-label="Find a step by text"
        onSubmit={(event) => {
          event.preventDefault();
          find(1);
        }}
      >
        <TextField label="Text, name or value" value={text.value} onValue={(value) => (text.value = value)} error={textError.value} />
        <button type="button" onClick={() => find(-1)}>
          Previous
        </button>
        <button>Next</button>
      </form>
      <form
        aria-label="Find a step by gas"
        onSubmit={(event) => {
          event.preventDefault();
          findCost();
        }}
      >
        <TextField label="Step with more gas than" inputMode="decimal" value={gas.value} onValue={(value) => (gas.value = value)} error={gasError.value} />
        <button>Next</button>
      </form>
    </div>
  );
}
