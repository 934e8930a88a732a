// The node: its settings and limits, and the control of blocks, time, accounts, savepoints and the pool.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { parseAddress } from "../format/address.ts";
import { formatAmount, formatNumber, parseAmount, type Unit } from "../format/amount.ts";
import { formatLabels, type Metric, parseMetrics, summaries } from "../format/metrics.ts";
import { formatTime } from "../format/time.ts";
import { readSettings, settings } from "../node.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Column, Facts, Loaded, Paged, Table } from "../parts/data.tsx";
import { Action, Field, TextField } from "../parts/form.tsx";
import { announce } from "../parts/live.tsx";
import { shared } from "../parts/lists.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Pending } from "../parts/pool.tsx";
import { Amount, BlockLink } from "../parts/text.tsx";
import { usePages, usePolling, useResource } from "../resource.ts";
import { call, endpoint } from "../rpc/client.ts";
import { generation, head } from "../rpc/socket.ts";
import type { NodeSettings, PoolTransaction, SnapshotRow } from "../rpc/types.ts";
import { load, save } from "../storage.ts";

export default function NodePage() {
  const [reverts, latest] = [generation.value, head.value?.hash];
  useEffect(() => void readSettings(), [reverts, latest]);
  const node = settings.value;
  if (!node) {
    return (
      <Page title="Node">
        <p class="muted" aria-busy="true">
          Loading…
        </p>
      </Page>
    );
  }
  return (
    <Page title="Node">
      <About node={node} />
      {node.developerMethods ? (
        <>
          <div class="node-control">
            <Blocks node={node} />
            <Time />
            <GasPrice />
            <Accounts />
            <Dump />
          </div>
          <Savepoints />
          <Pool />
        </>
      ) : (
        <p role="note">
          The methods for developers are off on this node (<code>--developer off</code>), or the node does not permit them for this page. So this page shows the node, but cannot change it.
        </p>
      )}
      <Limits node={node} />
      <Metrics />
    </Page>
  );
}

function About({ node }: { node: NodeSettings }) {
  const [indexed, all] = [Number(node.indexedBlocks), Number(node.latestBlock) + 1];
  return (
    <Section title="Settings">
      <Facts
        rows={[
          ["Version", node.version],
          ["Generation of the protocol", node.generation],
          ["Profile", node.profile],
          ["Chain id", node.chainId],
          ["Transaction version", formatNumber(node.transactionVersion)],
          ["Scilla rules", node.scillaRules],
          ["Shards", node.shards],
          ["Latest block", <BlockLink number={node.latestBlock} />],
          ["Latest DS block", formatNumber(node.latestDsBlock)],
          ["Blocks of a DS epoch", formatNumber(node.blocksPerDsEpoch)],
          ["Oldest block", <BlockLink number={node.firstBlock} />],
          ["State from block", <BlockLink number={node.oldestState} />],
          ["Block mode", node.paused ? `${node.blockMode}, paused` : node.blockMode],
          ["Methods for developers", node.developerMethods ? "on" : "off"],
          ["History index", node.index.replaceAll(",", ", ")],
          node.index !== "off" && [
            "Indexed blocks",
            <>
              <progress value={Math.min(indexed, all)} max={all} aria-label="Indexed blocks" /> {formatNumber(indexed)} of {formatNumber(all)}
            </>,
          ],
        ]}
      />
    </Section>
  );
}

/** A group of inputs with actions, and the result of the last action. */
function Control({ title, result, children }: { title: string; result: string; children: ComponentChildren }) {
  return (
    <Section title={title}>
      {children}
      {result && <p class="good">✓ {result}</p>}
    </Section>
  );
}

/** Returns the result of the last action, and a function that sets it and reads it to a screen reader. */
function useResult(): [string, (text: string) => void] {
  const result = useSignal("");
  const show = (text: string) => {
    result.value = text;
    announce(text);
    void readSettings();
  };
  return [result.value, show];
}

/** Returns an error if a text is not a whole number in a range. An empty text is no error. */
function wrongNumber(text: string, least: number, most: number): string | null {
  if (!text.trim()) return null;
  const isRight = /^\d{1,16}$/.test(text.trim()) && Number(text) >= least && Number(text) <= most;
  return isRight ? null : `expected a number from ${formatNumber(least)} to ${formatNumber(most)}, got ${JSON.stringify(text)}`;
}

const mostBlocks = 10_000_000;
const modes = ["instant", "interval", "instant+interval", "manual", "manual-immediate"] as const;

function Blocks({ node }: { node: NodeSettings }) {
  const count = useSignal("1");
  const [current = "instant", currentMs = "1000"] = node.blockMode.split("=");
  const mode = useSignal(current);
  const interval = useSignal(currentMs);
  const pauseId = useSignal("");
  const [result, show] = useResult();
  const countError = wrongNumber(count.value, 1, mostBlocks);
  const intervalError = wrongNumber(interval.value, 1, 86_400_000);
  const hasInterval = mode.value.endsWith("interval");
  return (
    <Control title="Blocks" result={result}>
      <div class="control-row">
        <TextField label="Number of blocks" inputMode="numeric" value={count.value} error={countError} onValue={(text) => (count.value = text)} />
        <Action
          primary
          disabled={countError !== null || !count.value.trim()}
          run={async () => {
            const next = await call("silica_mine", [Number(count.value)]);
            show(`Blocks made: ${formatNumber(count.value.trim())}; the next block is ${formatNumber(next)}`);
          }}
        >
          Mine
        </Action>
      </div>
      <div class="control-row">
        <Field label="Block mode">
          {(attributes) => (
            <select {...attributes} value={mode.value} onChange={(event) => (mode.value = event.currentTarget.value)}>
              {modes.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
        {hasInterval && (
          <TextField label="Milliseconds" inputMode="numeric" value={interval.value} error={intervalError} onValue={(text) => (interval.value = text)} />
        )}
        <Action
          disabled={hasInterval && (intervalError !== null || !interval.value.trim())}
          run={async () => {
            const next = hasInterval ? `${mode.value}=${Number(interval.value)}` : mode.value;
            const before = await call("silica_setBlockMode", [next]);
            show(`Block mode ${next}; it was ${before}`);
          }}
        >
          Set
        </Action>
      </div>
      {(node.paused || node.blockMode.includes("interval")) && (
        <div class="control-row">
          <Field label="Id for a pause" hint="The value of --pause-id">
            {(attributes) => (
              <input {...attributes} type="password" autocomplete="off" value={pauseId.value} onInput={(event) => (pauseId.value = event.currentTarget.value)} />
            )}
          </Field>
          <Action
            disabled={!pauseId.value}
            run={async () => {
              show((await call("TogglePause", [pauseId.value])) ? "The node is paused" : "The node is not paused");
            }}
          >
            {node.paused ? "Resume" : "Pause"}
          </Action>
        </div>
      )}
    </Control>
  );
}

function Time() {
  const seconds = useSignal("60");
  const next = useSignal("");
  const [result, show] = useResult();
  const error = wrongNumber(seconds.value, 0, 4_294_967_295);
  const date = new Date(next.value);
  return (
    <Control title="Time" result={result}>
      <div class="control-row">
        <TextField label="Seconds" inputMode="numeric" value={seconds.value} error={error} onValue={(text) => (seconds.value = text)} />
        <Action
          disabled={error !== null || !seconds.value.trim()}
          run={async () => {
            const time = await call("silica_increaseTime", [Number(seconds.value)]);
            show(`The clock of the chain is at ${formatTime(time)}`);
          }}
        >
          Advance the clock
        </Action>
      </div>
      <div class="control-row">
        <TextField
          label="Time of the next block"
          hint="In the time zone of this browser"
          type="datetime-local"
          value={next.value}
          onValue={(text) => (next.value = text)}
        />
        <Action
          disabled={Number.isNaN(date.getTime())}
          run={async () => {
            const time = `${date.getTime()}000`;
            await call("silica_setNextBlockTimestamp", [time]);
            show(`The next block has the time ${formatTime(time)}`);
          }}
        >
          Set
        </Action>
      </div>
    </Control>
  );
}

const units: Unit[] = ["ZIL", "Li", "Qa"];

/** An amount with its unit. */
function AmountInput({ label, text, unit, onText, onUnit }: {
  label: string;
  text: string;
  unit: Unit;
  onText: (text: string) => void;
  onUnit: (unit: Unit) => void;
}) {
  return (
    <>
      <TextField label={label} inputMode="decimal" value={text} error={text.trim() ? amountOf(text, unit).error : null} onValue={onText} />
      <Field label="Unit">
        {(attributes) => (
          <select {...attributes} value={unit} onChange={(event) => onUnit(event.currentTarget.value as Unit)}>
            {units.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}

function amountOf(text: string, unit: Unit): { qa: string; error: null } | { qa: null; error: string } {
  try {
    return { qa: parseAmount(text, unit).toString(), error: null };
  } catch (error) {
    return { qa: null, error: (error as Error).message };
  }
}

function GasPrice() {
  const price = useResource("price", (signal) => call("GetMinimumGasPrice", [], signal), { live: true });
  const text = useSignal("");
  const unit = useSignal<Unit>("Li");
  const [result, show] = useResult();
  const { qa } = amountOf(text.value, unit.value);
  return (
    <Control title="Minimum gas price" result={result}>
      {price.value !== undefined && (
        <p>
          Now <Amount qa={price.value} unit="Li" />
        </p>
      )}
      <div class="control-row">
        <AmountInput label="Price of one gas" text={text.value} unit={unit.value} onText={(value) => (text.value = value)} onUnit={(value) => (unit.value = value)} />
        <Action
          disabled={qa === null}
          run={async () => {
            const set = await call("SetMinimumGasPrice", [qa!]);
            price.reload();
            show(`The minimum gas price is ${formatAmount(set, "Li")}`);
          }}
        >
          Set
        </Action>
      </div>
    </Control>
  );
}

function Accounts() {
  const address = useSignal("");
  const text = useSignal("");
  const unit = useSignal<Unit>("ZIL");
  const nonce = useSignal("");
  const [result, show] = useResult();
  const hex = parseAddress(address.value);
  const { qa } = amountOf(text.value, unit.value);
  const nonceError = wrongNumber(nonce.value, 0, 2 ** 53);
  return (
    <Control title="Accounts" result={result}>
      <TextField
        label="Address"
        placeholder="zil1… or 0x…"
        value={address.value}
        error={address.value.trim() && !hex ? "expected an address: zil1 and 38 characters, or 40 hexadecimal digits" : null}
        onValue={(value) => (address.value = value)}
      />
      <div class="control-row">
        <AmountInput label="Amount" text={text.value} unit={unit.value} onText={(value) => (text.value = value)} onUnit={(value) => (unit.value = value)} />
        <Action
          primary
          disabled={!hex || qa === null}
          run={async () => {
            const block = await call("silica_addBalance", [hex!, qa!]);
            show(`${formatAmount(qa!)} added in block ${formatNumber(block)}`);
          }}
        >
          Add money
        </Action>
        <Action
          disabled={!hex || qa === null}
          run={async () => {
            const block = await call("silica_setBalance", [hex!, qa!]);
            show(`The balance is ${formatAmount(qa!)} from block ${formatNumber(block)} on`);
          }}
        >
          Set the balance
        </Action>
      </div>
      <div class="control-row">
        <TextField label="Nonce" inputMode="numeric" value={nonce.value} error={nonceError} onValue={(value) => (nonce.value = value)} />
        <Action
          disabled={!hex || nonceError !== null || !nonce.value.trim()}
          run={async () => {
            const block = await call("silica_setNonce", [hex!, Number(nonce.value)]);
            show(`The nonce is ${formatNumber(nonce.value.trim())} from block ${formatNumber(block)} on`);
          }}
        >
          Set the nonce
        </Action>
      </div>
    </Control>
  );
}

function Dump() {
  const name = useSignal("");
  const [result, show] = useResult();
  const isRight = /^[\w-][\w.-]{0,63}$/.test(name.value);
  return (
    <Control title="Dump" result={result}>
      <div class="control-row">
        <TextField
          label="Name of the file"
          hint="The file has the whole chain and the secret key of the node. It is in the directory dumps of the data directory."
          value={name.value}
          error={name.value && !isRight ? "expected 1 to 64 letters, digits, dots, hyphens and underscores, and no dot at the beginning" : null}
          onValue={(text) => (name.value = text)}
        />
        <Action
          disabled={!isRight}
          run={async () => {
            const { file, block, bytes } = await call("silica_dump", [name.value]);
            show(`${file}: block ${formatNumber(block)}, ${formatNumber(bytes)} bytes`);
          }}
        >
          Dump
        </Action>
      </div>
    </Control>
  );
}

/** The names of savepoints in this browser, by the numbers of the savepoints. A name belongs to one block. */
type Names = Record<string, { name: string; block: string }>;

const namesKey = () => `savepoints ${settings.value?.chainId}`;

function readNames(): Names {
  try {
    const names: unknown = JSON.parse(load(namesKey()) ?? "{}");
    return typeof names === "object" && names !== null ? (names as Names) : {};
  } catch {
    return {};
  }
}

function Savepoints() {
  const name = useSignal("");
  const [result, show] = useResult();
  const list = usePages(
    "savepoints",
    async (cursor, signal) => {
      const page = await call("silica_listSnapshots", [{ limit: 100, ...(cursor ? { cursor } : {}) }], signal);
      return { rows: page.snapshots, next: page.next ?? null };
    },
    { live: true },
  );
  const names = readNames();
  // A new process starts with number 1 again, so the block must agree too.
  const nameOf = ({ id, block }: SnapshotRow) => (names[id]?.block === block ? names[id].name : "");
  const columns: Array<Column<SnapshotRow>> = [
    { title: "Number", numeric: true, cell: ({ id }) => formatNumber(id) },
    { title: "Name", cell: nameOf },
    { title: "Block", numeric: true, cell: ({ block }) => <BlockLink number={block} /> },
    { title: "Block mode", cell: ({ blockMode }) => blockMode },
    { title: "Transactions in the pool", numeric: true, cell: ({ transactions }) => formatNumber(transactions) },
    {
      title: "Action",
      cell: (row) => (
        <Confirm
          title={`Revert to savepoint ${row.id}${nameOf(row) && ` “${nameOf(row)}”`}?`}
          question={`The node removes all blocks after block ${formatNumber(row.block)} from its disk, and this savepoint and the later ones. Nothing can restore them.`}
          action="Revert"
          run={async () => {
            await call("silica_revert", [row.id]);
            show(`The chain is at block ${formatNumber(row.block)} again`);
          }}
        >
          Revert
        </Confirm>
      ),
    },
  ];
  return (
    <Section title="Savepoints">
      <div class="control-row">
        <TextField label="Name" hint="Only this browser keeps the name." value={name.value} onValue={(text) => (name.value = text)} />
        <Action
          run={async () => {
            const id = await call("silica_snapshot", []);
            const rows = (await call("silica_listSnapshots", [{ cursor: String(id - 1), limit: 1 }])).snapshots;
            const block = rows.find((row) => row.id === id)?.block;
            if (block !== undefined) save(namesKey(), JSON.stringify({ ...readNames(), [id]: { name: name.value.trim(), block } }));
            name.value = "";
            list.reload();
            show(`Savepoint ${id} created`);
          }}
        >
          Create a savepoint
        </Action>
      </div>
      {result && <p class="good">✓ {result}</p>}
      <Paged of={list} empty="No savepoints.">
        {(rows) => <Table caption="Savepoints" columns={columns} rows={rows} id={({ id }) => String(id)} />}
      </Paged>
    </Section>
  );
}

function Pool() {
  const [result, show] = useResult();
  const list = usePages(
    "pool",
    async (cursor, signal) => {
      const page = await call("silica_getPool", [{ limit: 100, ...(cursor ? { cursor } : {}) }], signal);
      return { rows: page.transactions, next: page.next ?? null };
    },
    { live: true },
  );
  usePolling(list.page === 1, list);
  const columns: Array<Column<PoolTransaction>> = [
    shared.hash,
    shared.kind,
    shared.from,
    shared.to,
    shared.amount,
    { title: "Nonce", numeric: true, cell: ({ nonce }) => formatNumber(nonce) },
    { title: "Gas price", numeric: true, cell: ({ gasPrice }) => <Amount qa={gasPrice} unit="Li" /> },
    { title: "Status", cell: ({ status }) => <Pending code={status} /> },
    {
      title: "Action",
      cell: ({ hash }) => (
        <Action
          run={async () => {
            const dropped = await call("silica_dropTransaction", [hash]);
            list.reload();
            show(dropped ? "The transaction is withdrawn" : "The pool does not have the transaction any more");
          }}
        >
          Drop
        </Action>
      ),
    },
  ];
  return (
    <Section
      title="Pool"
      action={
        <>
          <Confirm
            title="Drop all pending transactions?"
            question="The pool drops each transaction. Clients can send them again."
            action="Drop all"
            disabled={!list.value?.length}
            run={async () => {
              const count = await call("silica_dropAllTransactions", []);
              list.reload();
              show(`${formatNumber(count)} transactions withdrawn`);
            }}
          >
            Drop all
          </Confirm>
        </>
      }
    >
      {result && <p class="good">✓ {result}</p>}
      <Paged of={list} empty="No pending transactions.">
        {(rows) => <Table caption="Pending transactions in the order of their arrival" columns={columns} rows={rows} id={({ hash }) => hash} />}
      </Paged>
    </Section>
  );
}

function Limits({ node: { limits } }: { node: NodeSettings }) {
  return (
    <Section title="Limits">
      <Facts
        rows={[
          ["Calls in a batch", formatNumber(limits.batchCalls)],
          ["Answer to a batch", `${formatNumber(limits.batchResultBytes)} bytes`],
          ["Answer to a call", `${formatNumber(limits.resultBytes)} bytes`],
          ["Request", `${formatNumber(limits.requestBytes)} bytes`],
          ["Code of a contract", `${formatNumber(limits.codeBytes)} bytes`],
          ["Gas limit in a shard", formatNumber(limits.shardGas)],
          ["Gas limit in the DS committee", formatNumber(limits.dsGas)],
          ["Pending transactions of a sender", formatNumber(limits.pendingPerSender)],
          ["Units each second", limits.unitsPerSecond ? formatNumber(limits.unitsPerSecond) : "no rate limit"],
        ]}
      />
    </Section>
  );
}

/** Reads the metrics of the node. Null if the node does not serve them at its JSON-RPC address. */
async function readMetrics(signal: AbortSignal): Promise<Metric[] | null> {
  const response = await fetch(new URL("metrics", endpoint), { signal });
  const isText = /^(?:text\/plain|application\/openmetrics-text)\b/.test(response.headers.get("content-type") ?? "");
  return response.ok && isText ? parseMetrics(await response.text()) : null;
}

interface MetricRow {
  name: string;
  help: string;
  labels: string;
  value: string;
}

const metricColumns: Array<Column<MetricRow>> = [
  { title: "Metric", cell: ({ name, help }) => <span title={help}>{name}</span> },
  { title: "Labels", cell: ({ labels }) => labels },
  { title: "Value", numeric: true, cell: ({ value }) => value },
];

const decimal = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** The rows of a metric. A histogram has one row for each set of labels, because its buckets are many. */
function metricRows(metric: Metric): MetricRow[] {
  const { name, help } = metric;
  if (metric.type === "histogram") {
    return summaries(metric).map(({ labels, count, mean }) => ({ name, help, labels, value: `${formatNumber(count)} × ${decimal.format(mean * 1000)} ms` }));
  }
  return metric.samples.map((sample) => ({ name: sample.name, help, labels: formatLabels(sample.labels), value: decimal.format(sample.value) }));
}

function Metrics() {
  const metrics = useResource("metrics", readMetrics);
  return (
    <Section
      title="Metrics"
      action={
        <button type="button" onClick={metrics.reload}>
          Read again
        </button>
      }
    >
      <Loaded of={metrics}>
        {(read) =>
          read ? (
            <Table caption="Metrics of the node. A histogram has its number of observations and their mean" columns={metricColumns} rows={read.flatMap(metricRows)} id={({ name, labels }) => `${name} ${labels}`} />
          ) : (
            <p class="muted">The node does not serve its metrics at this address. An operator can read them at the address of --operator-listen.</p>
          )
        }
      </Loaded>
    </Section>
  );
}
