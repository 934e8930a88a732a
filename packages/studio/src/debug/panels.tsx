// The panels of the debugger beside the source.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { formatNumber } from "../format/amount.ts";
import { type Column, Facts, Table } from "../parts/data.tsx";
import { Address, ChainText } from "../parts/text.tsx";
import { formatUnits, gasOfRun, type Model, type RunNode, sentAt, type Sent as SentItem, stackAt, unitsOfGas, type Variable, variablesAt, type Write, writesAt } from "./model.ts";
import type { Trace } from "./trace.ts";
import { formatValue } from "./value.ts";

/** Characters of a value that a panel shows at first. */
const shownOfValue = 300;
/** Rows of a panel. */
const mostRows = 20;

export interface PanelProps {
  model: Model;
  step: number;
  select: (step: number | null) => void;
}

function Panel({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

const Value = ({ value }: { value: unknown }) =>
  value === undefined || value === null ? <span class="muted">not in the trace</span> : <ChainText text={formatValue(value)} limit={shownOfValue} />;

const StepButton = ({ step, select, children }: { step: number; select: PanelProps["select"]; children: ComponentChildren }) => (
  <button type="button" class="link" onClick={() => select(step)}>
    {children}
  </button>
);

/** Why a transaction failed. */
export function Failed({ trace, model }: { trace: Trace; model: Model }) {
  if (trace.success) return null;
  const at = model.failure === null ? null : model.steps[model.failure]!;
  return (
    <div class="failure">
      <span>
        <b class="bad">✗ The transaction failed</b>
        {at && ` in ${at.step.component}, line ${at.step.line}`}
        {trace.exceptions.length > 0 && ":"}
      </span>
      {trace.exceptions.length > 0 && (
        <ol>
          {trace.exceptions.map(({ line, message }, index) => (
            <li key={index}>
              {/* The node reports failures outside of a source with line 0. */}
              {line > 0 && `line ${line}: `}
              <ChainText text={message} limit={1_000} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

const variableColumns: Array<Column<Variable>> = [
  { title: "Variable", cell: ({ name }) => <code>{name}</code> },
  { title: "Value", cell: ({ value }) => <Value value={value} /> },
  { title: "Here", cell: ({ role }) => role ?? "" },
];

/** The variables of the running component. */
export function Variables({ model, step }: Omit<PanelProps, "select">) {
  const variables = useMemo(() => variablesAt(model, step), [model, step]);
  return (
    <Panel title={`Variables of ${model.steps[step]!.step.component}`}>
      {variables.length ? (
        <Table caption="Variables after this step" columns={variableColumns} rows={variables} id={({ name }) => name} />
      ) : (
        <p class="muted">No variable was used so far.</p>
      )}
    </Panel>
  );
}

/** The running components, the innermost first. */
export function Stack({ model, step, select }: PanelProps) {
  return (
    <Panel title="Call stack">
      <ol class="debug-stack">
        {stackAt(model, step).map((entry, index) => (
          <li key={index} aria-current={index === 0 ? "true" : undefined}>
            <Address hex={entry.run.call.recipient} /> ·{" "}
            <StepButton step={entry.step} select={select}>
              {entry.component}
              {entry.line !== null && `, line ${entry.line}`}
            </StepButton>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** The fields that were written up to a step, with their latest values. */
export function Writes({ model, step, success, select }: PanelProps & { success: boolean }) {
  const { latest: writes, entries } = useMemo(() => writesAt(model, step, mostRows), [model, step]);
  const columns: Array<Column<Write>> = [
    ...(model.reached.size > 1 ? [{ title: "Contract", cell: ({ contract }: Write) => <Address hex={contract} /> }] : []),
    {
      title: "Field",
      cell: ({ field, keys }) => (
        <code>
          {field}
          {keys.map((key, index) => (
            <span key={index}>
              [{key === null ? <span class="muted">not in the trace</span> : <ChainText text={key} limit={100} />}]
            </span>
          ))}
        </code>
      ),
    },
    { title: "Value", cell: ({ value }) => (value === null ? "deleted" : <Value value={value} />) },
    {
      title: "Written at",
      cell: (write) => (
        <StepButton step={write.step} select={select}>
          step {formatNumber(write.step)}
        </StepButton>
      ),
    },
  ];
  return (
    <Panel title="Fields written so far">
      {!success && writes.length > 0 && <p class="hint">The transaction failed, so the chain has none of these values.</p>}
      {writes.length ? (
        <Table caption="Fields written so far, the latest first" columns={columns} rows={writes} id={({ entry }) => entry} />
      ) : (
        <p class="muted">None.</p>
      )}
      {entries > writes.length && <p class="muted">{formatNumber(entries - writes.length)} earlier entries are not shown.</p>}
    </Panel>
  );
}

/** The messages and events of the run up to a step. */
export function Sent({ model, step, select }: PanelProps) {
  const sent = useMemo(() => sentAt(model, step), [model, step]);
  const columns: Array<Column<SentItem>> = [
    { title: "Kind", cell: ({ kind }) => kind },
    { title: "Name", cell: ({ entries }) => <Value value={entries?.["_tag"] ?? entries?.["_eventname"]} /> },
    {
      title: "Content",
      cell: ({ entries }) => <Value value={entries && Object.fromEntries(Object.entries(entries).filter(([name]) => name !== "_tag" && name !== "_eventname"))} />,
    },
    {
      title: "Step",
      cell: (item) => (
        <>
          <StepButton step={item.step} select={select}>
            step {formatNumber(item.step)}
          </StepButton>
          {item.run && item.run.end > item.run.first && (
            <StepButton step={item.run.first} select={select}>
              its run
            </StepButton>
          )}
        </>
      ),
    },
  ];
  return (
    <Panel title="Messages and events of this run">
      {sent.length ? (
        <Table caption="Messages and events of this run up to this step" columns={columns} rows={sent.slice(-mostRows)} id={(item) => `${item.step} ${sent.indexOf(item)}`} />
      ) : (
        <p class="muted">None so far.</p>
      )}
      {sent.length > mostRows && <p class="muted">{formatNumber(sent.length - mostRows)} earlier ones are not shown.</p>}
    </Panel>
  );
}

/** All runs of the transaction. */
export function Calls({ model, step, select }: PanelProps) {
  const current = model.steps[step]!.run;
  if (model.runs.length < 2) return null;
  return (
    <Panel title="Runs">
      <ol class="debug-stack">
        {model.runs.map((run, index) => (
          <li key={index} class={`level-${Math.min(run.depth, 5)}`} aria-current={run === current ? "true" : undefined}>
            <StepButton step={Math.min(run.first, model.steps.length - 1)} select={select}>
              {run.call.tag}
            </StepButton>{" "}
            of <Address hex={run.call.recipient} /> · {formatNumber(BigInt(run.call.run!.gasBefore) - BigInt(run.call.run!.gasAfter))} gas
            {!run.call.run!.completed && <span class="bad"> ✗ failed</span>}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Where the gas of a run and of the transaction went. */
export function Gas({ trace, model, run }: { trace: Trace; model: Model; run?: RunNode }) {
  const all = useMemo(() => model.runs.reduce((sum, run) => sum + gasOfRun(run).total, 0) / unitsOfGas, [model]);
  const gas = useMemo(() => run && gasOfRun(run), [run]);
  const other = Number(trace.gasUsed) - all;
  return (
    <Panel title="Gas">
      <Facts
        rows={[
          gas !== undefined && ["Lines of this run", formatUnits(gas.statements)],
          gas !== undefined && ["Load of program and message", formatUnits(gas.load)],
          gas !== undefined && gas.rest !== 0 && [gas.rest < unitsOfGas ? "Rounding to whole gas" : "Steps that are not shown", formatUnits(gas.rest)],
          gas !== undefined && ["This run", formatUnits(gas.total)],
          model.runs.length > 1 && ["All runs", formatNumber(all)],
          ["Charges outside of runs", formatNumber(other)],
          ["Transaction", formatNumber(trace.gasUsed)],
        ]}
      />
    </Panel>
  );
}
