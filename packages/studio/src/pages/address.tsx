// An address: its kind, balance and spellings, its history, transfers, tokens and contracts, and actions of a developer.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { parseAddress, toBech32 } from "../format/address.ts";
import { formatDecimal, formatNumber } from "../format/amount.ts";
import { toChecksum } from "../format/checksum.ts";
import { settings } from "../node.ts";
import { type Column, Facts, Failure, Loaded, Paged, Table } from "../parts/data.tsx";
import { Field } from "../parts/form.tsx";
import { LabelForm } from "../parts/label.tsx";
import { Page, Section, Tabs } from "../parts/page.tsx";
import { Fund, Pay } from "../parts/pay.tsx";
import { Address, Age, Amount, BlockLink, ChainText, Hash, Outcome, TransactionLink } from "../parts/text.tsx";
import { usePages, useResource } from "../resource.ts";
import { link, route, setQuery } from "../router.ts";
import { call } from "../rpc/client.ts";
import { absent, orNull } from "../rpc/errors.ts";
import type { AddressRole, AddressTransaction, ContractRow, HeldToken, SmartContract, Transfer } from "../rpc/types.ts";

export default function AddressPage() {
  const text = route.value.path[1] ?? "";
  const hex = parseAddress(text);
  if (hex) return <OneAddress hex={hex} />;
  return (
    <Page title="Address">
      <Failure error={new Error(`expected bech32 (zil1…) or 40 hexadecimal digits, got ${JSON.stringify(text)}; a wrong digit changes the checksum`)} />
    </Page>
  );
}

/** Returns the deployment of a contract or library, or null for another address. */
async function deployment(hex: string, signal: AbortSignal): Promise<ContractRow | null> {
  const before = BigInt(`0x${hex}`) - 1n;
  if (before < 0n) return null;
  // The list begins after its cursor, in the order of addresses.
  const cursor = before.toString(16).padStart(40, "0");
  const { contracts } = await call("silica_listContracts", [{ cursor, limit: 1 }], signal);
  return contracts[0]?.address === hex ? contracts[0] : null;
}

async function read(hex: string, signal: AbortSignal) {
  const [account, contract] = await Promise.all([
    orNull(call("GetBalance", [hex], signal), absent.account),
    deployment(hex, signal),
  ]);
  return { account, contract };
}

function OneAddress({ hex }: { hex: string }) {
  const found = useResource(hex, (signal) => read(hex, signal), { live: true });
  const developer = settings.value?.developerMethods ?? false;
  const tabs = [
    { id: "history", title: "History" },
    { id: "transfers", title: "Transfers" },
    { id: "tokens", title: "Tokens" },
    { id: "deployed", title: "Deployed contracts" },
    ...(developer ? [{ id: "send", title: "Fund and send" }] : []),
  ];
  const current = tabs.find(({ id }) => id === route.value.query.get("tab"))?.id ?? "history";
  const bech32 = toBech32(hex);
  return (
    <Page title={`Address ${bech32.slice(0, 9)}…${bech32.slice(-6)}`}>
      <Section title="Overview">
        <Loaded of={found}>
          {({ account, contract }) => (
            <Facts
              rows={[
                ["Kind", <Kind exists={account !== null} contract={contract} hex={hex} />],
                !!account && ["Balance", <Amount qa={account.balance} />],
                !!account && ["Nonce", formatNumber(account.nonce)],
                !!contract && ["Creator", <Address hex={contract.creator} />],
                !!contract && ["Deployed in", <BlockLink number={contract.block} />],
                !!contract && ["Deployment", <TransactionLink hash={contract.hash} />],
              ]}
            />
          )}
        </Loaded>
        <h3>Spellings</h3>
        <Facts
          rows={[
            ["Bech32", <Hash value={bech32} whole />],
            ["Hexadecimal", <Hash value={`0x${hex}`} whole />],
            ["With checksum", <Hash value={toChecksum(hex)} whole />],
          ]}
        />
        <LabelForm hex={hex} />
      </Section>
      <Tabs
        label="Lists of the address"
        current={current}
        tabs={tabs.map((tab) => ({ ...tab, href: link(["address", `0x${hex}`], tab.id === "history" ? {} : { tab: tab.id }) }))}
      />
      {current === "history" && <History hex={hex} />}
      {current === "transfers" && <Transfers hex={hex} />}
      {current === "tokens" && <Tokens hex={hex} />}
      {current === "deployed" && <Deployed hex={hex} />}
      {current === "send" && (
        <>
          <Fund hex={hex} done={found.reload} />
          <Pay hex={hex} done={found.reload} />
        </>
      )}
    </Page>
  );
}

function Kind({ exists, contract, hex }: { exists: boolean; contract: ContractRow | null; hex: string }) {
  if (contract?.library) return <>library</>;
  if (contract) {
    return (
      <>
        contract. <a href={link(["contract", `0x${hex}`])}>Source, state and calls</a>
      </>
    );
  }
  return exists ? <>account</> : <>does not exist yet. The first transfer to the address creates the account.</>;
}

const roles: AddressRole[] = ["sender", "recipient", "contract", "transition"];

const historyColumns: Array<Column<AddressTransaction>> = [
  { title: "Hash", cell: (row) => <TransactionLink hash={row.hash} /> },
  { title: "Block", cell: (row) => <BlockLink number={row.block} /> },
  { title: "Role", cell: (row) => row.roles.join(", ") },
  { title: "From", cell: (row) => <Address hex={row.sender} /> },
  { title: "To", cell: (row) => <Address hex={row.recipient} /> },
  { title: "Amount", numeric: true, cell: (row) => <Amount qa={row.amount} /> },
  { title: "Status", cell: (row) => <Outcome success={row.success} /> },
];

/** Requests for a page of one role. The node filters by address only, and a page can have few matches. */
const filteredRequests = 10;
const filteredRows = 50;

function History({ hex }: { hex: string }) {
  const role = roles.find((name) => name === route.value.query.get("role"));
  const history = usePages(
    `${hex} ${role ?? ""}`,
    async (cursor, signal) => {
      const rows: AddressTransaction[] = [];
      let next = cursor ?? null;
      for (let request = 0; request < filteredRequests; request += 1) {
        const page = await call("silica_getTransactionsForAddress", [hex, { limit: 50, cursor: next }], signal);
        rows.push(...page.transactions.filter((row) => !role || row.roles.includes(role)));
        next = page.next ?? null;
        if (next === null || !role || rows.length >= filteredRows) break;
      }
      return { rows, next };
    },
    { live: true },
  );
  return (
    <Section title="History">
      <Field label="Role of the address">
        {(attributes) => (
          <select {...attributes} value={role ?? ""} onChange={(event) => setQuery("role", event.currentTarget.value)}>
            <option value="">all</option>
            {roles.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Paged of={history} empty={role ? `No transaction has the address as ${role}.` : "The address is in no transaction."}>
        {(rows) => <Table caption="Transactions of the address" columns={historyColumns} rows={rows} id={(row) => row.hash} />}
      </Paged>
    </Section>
  );
}

const party = (hex: string | null | undefined) => (hex ? <Address hex={hex} /> : <span class="muted">none</span>);

const transferColumns = (hex: string): Array<Column<Transfer>> => [
  { title: "Block", cell: (row) => <BlockLink number={row.block} /> },
  { title: "Age", cell: (row) => <Age timestamp={row.timestamp} /> },
  { title: "Kind", cell: (row) => row.kind },
  { title: "From", cell: (row) => party(row.from) },
  { title: "To", cell: (row) => party(row.to) },
  {
    title: "Change",
    numeric: true,
    cell: (row) => {
      if (row.amount == null) return row.balance == null ? "" : <>balance is <Amount qa={row.balance} /></>;
      if (row.from === row.to) return <>0 ZIL (to itself)</>;
      return (
        <span class={row.to === hex ? "good" : undefined}>
          {row.to === hex ? "+" : "−"}
          <Amount qa={row.amount} />
        </span>
      );
    },
  },
  { title: "Transaction", cell: (row) => (row.hash ? <TransactionLink hash={row.hash} /> : <span class="muted">none</span>) },
];

function Transfers({ hex }: { hex: string }) {
  const columns = useMemo(() => transferColumns(hex), [hex]);
  const transfers = usePages(
    hex,
    async (cursor, signal) => {
      const page = await call("silica_getTransfers", [{ addresses: [hex], limit: 50, cursor: cursor ?? null }], signal);
      return { rows: page.transfers, next: page.next ?? null };
    },
    { live: true },
  );
  return (
    <Section title="Transfers">
      <p class="muted">All changes of the balance: payments, fees, messages of contracts, rewards and edits.</p>
      <Paged of={transfers} empty="The balance of the address never changed.">
        {(rows) => (
          // A transaction can have several transfers of one kind, so the rows have numbers.
          <Table
            caption="Transfers of the address"
            columns={columns}
            rows={rows}
            id={(_, place) => String(place)}
          />
        )}
      </Paged>
    </Section>
  );
}

const tokenColumns: Array<Column<HeldToken>> = [
  {
    title: "Token",
    cell: (row) => (
      <a href={link(["token", `0x${row.contract}`])}>
        <ChainText text={row.name || "without a name"} limit={60} />
      </a>
    ),
  },
  { title: "Standard", cell: (row) => row.standard },
  {
    title: "Balance",
    numeric: true,
    cell: (row) => (
      <>
        {formatDecimal(row.balance, row.standard === "ZRC-2" && (row.decimals ?? 0) <= 80 ? (row.decimals ?? 0) : 0)}{" "}
        <ChainText text={row.symbol ?? ""} limit={20} />
      </>
    ),
  },
  { title: "Contract", cell: (row) => <Address hex={row.contract} /> },
];

function Tokens({ hex }: { hex: string }) {
  const tokens = usePages(
    hex,
    async (cursor, signal) => {
      const page = await call("silica_getTokens", [hex, { limit: 50, cursor: cursor ?? null }], signal);
      return { rows: page.tokens, next: page.next ?? null };
    },
    { live: true },
  );
  return (
    <Section title="Tokens">
      <Paged of={tokens} empty="The address has no tokens.">
        {(rows) => <Table caption="Tokens of the address" columns={tokenColumns} rows={rows} id={(row) => row.contract} />}
      </Paged>
    </Section>
  );
}

const deployedColumns: Array<Column<SmartContract>> = [
  { title: "Contract", cell: (row) => <Address hex={row.address} whole /> },
  { title: "Page", cell: (row) => <a href={link(["contract", `0x${row.address}`])}>Source, state and calls</a> },
];

function Deployed({ hex }: { hex: string }) {
  const shown = useSignal(100);
  const contracts = useResource(hex, (signal) => orNull(call("GetSmartContracts", [hex], signal), absent.account), { live: true });
  return (
    <Section title="Deployed contracts">
      <p class="muted">Contracts that the address deployed, without libraries, the first one first.</p>
      <Loaded of={contracts}>
        {(rows) =>
          rows?.length ? (
            <>
              <Table caption="Deployed contracts" columns={deployedColumns} rows={rows.slice(0, shown.value)} id={(row) => row.address} />
              {rows.length > shown.value && (
                <button type="button" onClick={() => (shown.value += 100)}>
                  Show more
                </button>
              )}
            </>
          ) : (
            <p class="muted">The address deployed no contract.</p>
          )
        }
      </Loaded>
    </Section>
  );
}
