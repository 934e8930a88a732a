// A contract: its source, state, calls, events, history and init data.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { parseAddress } from "../format/address.ts";
import { Call } from "../contract/call.tsx";
import { InterfaceSummary } from "../contract/interface.tsx";
import { State } from "../contract/state.tsx";
import { type Column, Facts, Failure, Loaded, Paged, Table } from "../parts/data.tsx";
import { Field } from "../parts/form.tsx";
import { Page, Section, Tabs } from "../parts/page.tsx";
import { Source } from "../parts/source.tsx";
import { Address, Age, Amount, BlockLink, ChainText, Copy, Outcome, shorten, TransactionLink } from "../parts/text.tsx";
import { Params, Value } from "../parts/values.tsx";
import { usePages, useResource } from "../resource.ts";
import { link, route } from "../router.ts";
import { call } from "../rpc/client.ts";
import type { AddressTransaction, ContractInterface, EventRow } from "../rpc/types.ts";
import { dataTypes } from "../scilla/values.ts";

const tabs = ["code", "state", "call", "events", "history", "init"];

export default function ContractPage() {
  const text = route.value.path[1] ?? "";
  const address = parseAddress(text);
  if (address) return <OneContract key={address} address={address} />;
  return (
    <Page title="Contract">
      <Failure error={new Error(`expected an address as zil1… or 40 hexadecimal digits, got ${JSON.stringify(text.slice(0, 100))}`)} />
    </Page>
  );
}

function OneContract({ address }: { address: string }) {
  const found = useResource(address, (signal) => call("silica_getContractInterface", [address], signal));
  const code = useResource(`code ${address}`, (signal) => call("GetSmartContractCode", [address], signal));
  const asked = route.value.query.get("tab") ?? "code";
  const current = tabs.includes(asked) ? asked : "code";
  const name = found.value?.vname;
  const title = (id: string) => ({ id, title: id[0]!.toUpperCase() + id.slice(1), href: link(["contract", `0x${address}`], id === "code" ? {} : { tab: id }) });
  return (
    <Page title={name ? `${found.value!.library ? "Library" : "Contract"} ${shorten(name, 40, 8)}` : "Contract"}>
      <p>
        <Address hex={address} whole />
      </p>
      <Tabs
        label="Parts of the contract"
        current={current}
        tabs={[...tabs.map(title), { id: "proof", title: "Proof", href: link(["proof"], { address: `0x${address}` }) }]}
      />
      <Loaded of={found}>{(of) => <Tab address={address} interface={of} source={code.value?.code} sourceError={code.error} current={current} />}</Loaded>
    </Page>
  );
}

function Tab({ address, interface: of, source, sourceError, current }: {
  address: string;
  interface: ContractInterface;
  source: string | undefined;
  sourceError: Error | undefined;
  current: string;
}) {
  const known = useMemo(() => dataTypes(of.ADTs), [of]);
  switch (current) {
    case "state":
      return <State address={address} interface={of} known={known} />;
    case "call":
      return <Call address={address} interface={of} known={known} source={source} />;
    case "events":
      return <Events address={address} interface={of} />;
    case "history":
      return <History address={address} />;
    case "init":
      return <Init address={address} />;
    default:
      return (
        <>
          <InterfaceSummary interface={of} address={address} />
          {sourceError ? <Failure error={sourceError} /> : source !== undefined && <Code source={source} />}
        </>
      );
  }
}

function Code({ source }: { source: string }) {
  const line = Number(route.value.query.get("line")) || undefined;
  const marks = useMemo(() => (line ? new Map([[line, { symbol: "▸", title: "this line", className: "asked" }]]) : undefined), [line]);
  const place = useRef<HTMLDivElement>(null);
  // The summary above the source can be longer than the view.
  useEffect(() => {
    if (line) place.current?.scrollIntoView();
  }, [line]);
  return (
    <div ref={place}>
      <Section title="Source" action={<Copy text={source} label="Copy the source" />}>
        <Source source={source} label="Source of the contract" line={line} marks={marks} />
      </Section>
    </div>
  );
}

/** An event with its place in the chain. */
const Event = ({ row }: { row: EventRow }) => (
  <li class="event">
    <h3>
      <ChainText text={row.name} limit={100} />
    </h3>
    <p class="muted">
      block <BlockLink number={row.block} />, <Age timestamp={row.timestamp} />, transaction <TransactionLink hash={row.hash} />
    </p>
    <Facts
      rows={row.params.map(({ vname, type, value }) => [
        vname.length > 60 ? shorten(vname, 40, 8) : vname,
        <Value value={value} type={type} />,
      ])}
    />
  </li>
);

function Events({ address, interface: of }: { address: string; interface: ContractInterface }) {
  const name = useSignal("");
  const names = [...new Set(of.events.map(({ vname }) => vname))];
  const events = usePages(
    `${address} ${name.value}`,
    async (cursor, signal) => {
      const page = await call(
        "silica_getEvents",
        [{ contract: address, limit: 50, cursor: cursor ?? null, name: name.value || null }],
        signal,
      );
      return { rows: page.events, next: page.next ?? null };
    },
    { live: true },
  );
  return (
    <Section title="Events">
      {names.length > 1 && (
        <Field label="Name of the event">
          {(attributes) => (
            <select {...attributes} value={name.value} onChange={(event) => (name.value = event.currentTarget.value)}>
              <option value="">all</option>
              {names.map((one) => (
                <option key={one} value={one}>
                  {one.slice(0, 100)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <Paged of={events} empty="The contract emitted no events.">
        {(rows) => (
          <ul class="plain">
            {rows.map((row) => (
              <Event key={`${row.hash} ${row.index}`} row={row} />
            ))}
          </ul>
        )}
      </Paged>
    </Section>
  );
}

const historyColumns: Array<Column<AddressTransaction>> = [
  { title: "Hash", cell: (row) => <TransactionLink hash={row.hash} /> },
  { title: "Block", cell: (row) => <BlockLink number={row.block} /> },
  { title: "Role", cell: (row) => row.roles.join(", ") },
  { title: "From", cell: (row) => <Address hex={row.sender} /> },
  { title: "To", cell: (row) => <Address hex={row.recipient} /> },
  { title: "Amount", numeric: true, cell: (row) => <Amount qa={row.amount} /> },
  { title: "Status", cell: (row) => <Outcome success={row.success} /> },
];

function History({ address }: { address: string }) {
  const history = usePages(
    `history ${address}`,
    async (cursor, signal) => {
      const page = await call("silica_getTransactionsForAddress", [address, { limit: 50, cursor: cursor ?? null }], signal);
      return { rows: page.transactions, next: page.next ?? null };
    },
    { live: true },
  );
  return (
    <Section title="History">
      <Paged of={history} empty="No transactions on this page of the history.">
        {(rows) => <Table caption="Transactions of the contract" columns={historyColumns} rows={rows} id={(row) => row.hash} />}
      </Paged>
    </Section>
  );
}

function Init({ address }: { address: string }) {
  const init = useResource(`init ${address}`, (signal) => call("GetSmartContractInit", [address], signal));
  return (
    <Section title="Init data">
      <Loaded of={init}>{(params) => <Params caption="Init data" params={params} />}</Loaded>
    </Section>
  );
}
