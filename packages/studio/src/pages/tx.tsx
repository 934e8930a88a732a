// A transaction: status, call, messages, events, errors, and changes of state.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { formatAmount, formatNumber } from "../format/amount.ts";
import { messageTree, parseData, type MessageTree } from "../format/messages.ts";
import { receiptErrors, statusWords } from "../format/status.ts";
import { Changes } from "../parts/changes.tsx";
import { type Column, Facts, Failure, Loaded, Table } from "../parts/data.tsx";
import { announce } from "../parts/live.tsx";
import { Page, Section, Tabs } from "../parts/page.tsx";
import { Pending } from "../parts/pool.tsx";
import { Address, Age, Amount, BlockLink, ChainText, Copy, Hash, Json } from "../parts/text.tsx";
import { Params } from "../parts/values.tsx";
import { usePolling, useResource } from "../resource.ts";
import { link, route } from "../router.ts";
import { call, RpcError } from "../rpc/client.ts";
import { absent, orNull } from "../rpc/errors.ts";
import type { EventLog, Exception, Receipt, TracedCall, Transaction, TransactionStatus, TransactionSummary } from "../rpc/types.ts";

interface Found {
  /** The transaction in its block. */
  executed: { transaction: Transaction; summary: TransactionSummary } | null;
  /** The transaction as it was submitted. The node forgets a dropped transaction after three DS epochs. */
  submitted: TransactionStatus | null;
}

async function read(hash: string, signal: AbortSignal): Promise<Found> {
  const transaction = await orNull(call("GetTransaction", [hash], signal), absent.transaction);
  if (!transaction) {
    const submitted = await orNull(call("GetTransactionStatus", [hash], signal), absent.transaction);
    return { executed: null, submitted };
  }
  const { matches } = await call("silica_search", [hash], signal);
  const place = matches.find(({ kind }) => kind === "transaction")?.label.split(":");
  if (!place) throw new Error("the transaction left its block during the request; try again");
  const [block, position] = place as [string, string];
  // A cursor is exclusive, so the place before the transaction gives the transaction first.
  const cursor = position === "0" ? null : `${block}:${Number(position) - 1}`;
  const page = await call("silica_getTransactionSummaries", [{ block, order: "oldest", limit: 1, cursor }], signal);
  const summary = page.transactions[0];
  if (summary?.hash !== hash) throw new Error("the transaction left its block during the request; try again");
  return { executed: { transaction, summary }, submitted: null };
}

export default function TransactionPage() {
  const text = route.value.path[1] ?? "";
  const hash = text.replace(/^0x/, "").toLowerCase();
  if (/^[0-9a-f]{64}$/.test(hash)) return <OneTransaction hash={hash} />;
  return (
    <Page title="Transaction">
      <Failure error={new Error(`expected the 64 hexadecimal digits of a hash, got ${JSON.stringify(text)}`)} />
    </Page>
  );
}

function OneTransaction({ hash }: { hash: string }) {
  const found = useResource(hash, (signal) => read(hash, signal), { live: (value) => !value?.executed });
  usePolling(found.value !== undefined && !found.value.executed, found);
  const waited = useRef(false);
  useEffect(() => {
    if (found.value?.submitted) waited.current = true;
    if (!found.value?.executed || !waited.current) return;
    waited.current = false;
    announce(found.value.executed.summary.success ? "The transaction is confirmed" : "The transaction is confirmed and failed");
  }, [found.value]);
  const current = route.value.query.get("tab") ?? "overview";
  return (
    <Page title={`Transaction ${hash.slice(0, 8)}…`}>
      <Loaded of={found}>
        {({ executed, submitted }) => {
          const json = executed?.transaction ?? submitted;
          if (!json) {
            return (
              <>
                <p>
                  <span class="warn">? unknown</span>: the node has no transaction with this hash. A client sent it to another node, a revert
                  removed it, or the node dropped it more than three DS epochs ago.
                </p>
                <Facts rows={[["Hash", <Hash value={hash} whole />]]} />
              </>
            );
          }
          return (
            <>
              <Tabs
                label="Parts of the transaction"
                current={current}
                tabs={[
                  { id: "overview", title: "Overview", href: link(["tx", hash]) },
                  { id: "raw", title: "Raw JSON", href: link(["tx", hash], { tab: "raw" }) },
                  ...(executed && executed.summary.kind !== "payment" ? [{ id: "debug", title: "Debugger", href: link(["debug", hash]) }] : []),
                ]}
              />
              {current === "raw" ? (
                <Section title="Raw JSON" action={<Copy text={JSON.stringify(json, null, 2)} label="Copy the JSON" />}>
                  <Json value={json} />
                </Section>
              ) : executed ? (
                <Executed {...executed} />
              ) : (
                submitted && <Submitted status={submitted} />
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function Submitted({ status }: { status: TransactionStatus }) {
  const dropped = status.status >= 10;
  return (
    <>
      <Section title="Overview">
        <Facts
          rows={[
            [
              "Status",
              dropped ? (
                <>
                  <span class="bad">✗ dropped</span>: {statusWords(status.status)} (status {status.status})
                </>
              ) : (
                <Pending code={status.status} />
              ),
            ],
            ["Hash", <Hash value={status.ID} whole />],
            ["From", <Address hex={status.senderAddr} whole />],
            ["To", <Address hex={status.toAddr} whole />],
            ["Amount", <Amount qa={status.amount} />],
            ["Highest fee", <Amount qa={(BigInt(status.gasLimit) * BigInt(status.gasPrice)).toString()} />],
            ["Gas limit", formatNumber(status.gasLimit)],
            ["Gas price", <Amount qa={status.gasPrice} unit="Li" />],
            ["Nonce", formatNumber(status.nonce)],
            ["Last change", <Age timestamp={status.lastModified} whole />],
          ]}
        />
        {!dropped && <p class="muted">The page changes when a block has the transaction.</p>}
      </Section>
      <Data kind={status.code ? "deployment" : "call"} text={status.data} />
    </>
  );
}

function Executed({ transaction, summary }: { transaction: Transaction; summary: TransactionSummary }) {
  const { receipt } = transaction;
  const { kind } = summary;
  return (
    <>
      <Section title="Overview">
        <Facts
          rows={[
            ["Status", <ExecutedStatus receipt={receipt} />],
            ["Hash", <Hash value={summary.hash} whole />],
            [
              "Block",
              <>
                <BlockLink number={summary.block} />, position {summary.position}
              </>,
            ],
            ["Time", <Age timestamp={summary.timestamp} whole />],
            ["Kind", kind],
            ["From", <Address hex={summary.sender} whole />],
            summary.contract
              ? ["Contract", <ContractAddress hex={summary.contract} />]
              : ["To", kind === "call" ? <ContractAddress hex={summary.recipient} /> : <Address hex={summary.recipient} whole />],
            [
              "Amount",
              <>
                <Amount qa={summary.amount} />
                {receipt.accepted === false && summary.amount !== "0" && " (the contract did not accept it)"}
              </>,
            ],
            ["Fee", <Amount qa={summary.fee} />],
            ["Gas used", `${formatNumber(receipt.cumulative_gas)} of ${formatNumber(transaction.gasLimit)}`],
            ["Gas price", <Amount qa={transaction.gasPrice} unit="Li" />],
            ["Nonce", formatNumber(transaction.nonce)],
            receipt.epoch_num !== summary.block && ["Logical block", formatNumber(receipt.epoch_num)],
          ]}
        />
      </Section>
      {!receipt.success && <Problems hash={summary.hash} kind={kind} receipt={receipt} />}
      {kind !== "payment" && <Data kind={kind} text={transaction.data} code={transaction.code} />}
      {!!receipt.transitions?.length && (
        <Section title="Messages">
          <Messages nodes={messageTree(receipt.transitions)} />
        </Section>
      )}
      {!!receipt.event_logs?.length && (
        <Section title="Events">
          {receipt.event_logs.map((event, index) => (
            <Event key={index} event={event} />
          ))}
        </Section>
      )}
      <StateChanges hash={summary.hash} />
    </>
  );
}

const ContractAddress = ({ hex }: { hex: string }) => (
  <>
    <Address hex={hex} whole /> <a href={link(["contract", `0x${hex}`])}>Contract page</a>
  </>
);

function ExecutedStatus({ receipt }: { receipt: Receipt }) {
  if (receipt.success) return <span class="good">✓ confirmed, success</span>;
  return (
    <>
      <span class="bad">✗ confirmed, failed</span>: {receiptErrors(receipt).join("; ") || "the receipt has no reason"}
    </>
  );
}

/** The call, message or init data of a transaction. */
function Data({ kind, text, code }: { kind: string; text: string | undefined; code?: string | undefined }) {
  if (!text && !code) return null;
  const data = parseData(text);
  return (
    <Section title={kind === "deployment" ? "Deployment" : "Call"}>
      {data?.tag && (
        <p>
          Transition <ChainText text={data.tag} />
        </p>
      )}
      {code && <p>Source of {formatNumber(new TextEncoder().encode(code).length)} bytes. The page of the contract shows it.</p>}
      {data ? <Params caption="Parameters" params={data.params} /> : text && <Json value={text} />}
    </Section>
  );
}

const exceptionColumns: Array<Column<{ index: number } & Exception>> = [
  { title: "Line", numeric: true, cell: (row) => row.line || "unknown" },
  { title: "Exception", cell: (row) => <ChainText text={row.message} /> },
];

function Problems({ hash, kind, receipt }: { hash: string; kind: string; receipt: Receipt }) {
  const rows = (receipt.exceptions ?? []).map((exception, index) => ({ index, ...exception }));
  return (
    <Section title="Failure" action={<a href={link(["debug", hash])}>Open the debugger</a>}>
      {rows.length ? (
        <Table caption="Exceptions, the innermost first" columns={exceptionColumns} rows={rows} id={(row) => String(row.index)} />
      ) : (
        <p>The interpreter reported no exception. The node stopped the transaction: {receiptErrors(receipt).join("; ")}.</p>
      )}
      {kind === "call" && <FailedStep hash={hash} />}
    </Section>
  );
}

function* runs(call: TracedCall): Generator<TracedCall> {
  yield call;
  for (const sent of call.calls) yield* runs(sent);
}

/** The statement where the execution stopped: the last step of the trace. */
function FailedStep({ hash }: { hash: string }) {
  const place = useResource(`step ${hash}`, async (signal) => {
    const { page } = await trace(hash, signal);
    if (!page?.steps) return null;
    const last = await call("silica_traceTransaction", [hash, { fromStep: page.steps - 1, limit: 1, values: false }], signal);
    const run = last.call && [...runs(last.call)].find(({ run }) => run?.steps.length);
    return run ? { contract: run.recipient, step: run.run!.steps[0]! } : null;
  });
  if (!place.value) return null;
  const { contract, step } = place.value;
  return (
    <>
      <p>
        The contract <Address hex={contract} /> stopped in line {step.line}, in <ChainText text={step.component} />:
      </p>
      <pre>
        <ChainText text={step.text} />
      </pre>
    </>
  );
}

function Messages({ nodes }: { nodes: MessageTree[] }) {
  return (
    <ul class="tree">
      {nodes.map(({ message: { addr, msg, accepted }, sent }, index) => (
        <li key={index}>
          <Address hex={addr} /> → <Address hex={msg._recipient} />{" "}
          <ChainText text={msg._tag || "(no tag)"} limit={120} />
          {msg._amount !== "0" && `, ${formatAmount(msg._amount)}`}
          {accepted === true && <span class="good"> ✓ accepted</span>}
          {accepted === false && <span class="muted"> not accepted</span>}
          <Details title={count(msg.params.length, "parameter")} empty={!msg.params.length}>
            <Params caption="Parameters of the message" params={msg.params} />
          </Details>
          {sent.length > 0 && <Messages nodes={sent} />}
        </li>
      ))}
    </ul>
  );
}

const count = (number: number, noun: string) => `${formatNumber(number)} ${noun}${number === 1 ? "" : "s"}`;

const Details = ({ title, empty, children }: { title: string; empty: boolean; children: ComponentChildren }) =>
  empty ? null : (
    <details>
      <summary>{title}</summary>
      {children}
    </details>
  );

function Event({ event }: { event: EventLog }) {
  return (
    <div class="event">
      <h3>
        <ChainText text={event._eventname} limit={120} />
      </h3>
      <p>
        of the contract <Address hex={event.address} />
      </p>
      <Params caption="Parameters of the event" params={event.params} />
    </div>
  );
}

/** Traces a transaction without its statements: only the calls, the changes and the number of steps. */
const trace = (hash: string, signal: AbortSignal) =>
  call("silica_traceTransaction", [hash, { limit: 1, values: false }], signal);

function StateChanges({ hash }: { hash: string }) {
  const changes = useResource(hash, async (signal) => {
    try {
      return (await trace(hash, signal)).changes;
    } catch (error) {
      // The receipt is still complete without the states before and after the transaction.
      if (error instanceof RpcError && error.code !== 0 && error.code !== 429) return error.message;
      throw error;
    }
  });
  return (
    <Section title="Changes of state">
      <Loaded of={changes}>
        {(value) =>
          typeof value === "string" ? (
            <p class="muted">
              The node does not have the state before this transaction any more, so the page shows the receipt only. Answer of the node: {value}.
            </p>
          ) : (
            <Changes changes={value} />
          )
        }
      </Loaded>
    </Section>
  );
}
