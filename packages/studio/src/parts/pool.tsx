// The pending transactions of the node.
import { formatNumber } from "../format/amount.ts";
import { statusWords } from "../format/status.ts";
import { settings } from "../node.ts";
import { usePages, usePolling, useResource } from "../resource.ts";
import { call } from "../rpc/client.ts";
import type { PendingTransaction, PoolTransaction } from "../rpc/types.ts";
import { type Column, Loaded, Paged, Table } from "./data.tsx";
import { shared } from "./lists.tsx";
import { Section } from "./page.tsx";
import { TransactionLink } from "./text.tsx";

const empty = "No transactions are pending.";

/** The pending transactions. A node with methods for developers also lists their content. */
export const PendingTransactions = () => settings.value && (settings.value.developerMethods ? <Pool /> : <PublicPool />);

/** Why a transaction is pending. */
export const Pending = ({ code }: { code: number }) => (
  <span>
    <span class="warn">… pending</span>: {statusWords(code)}
  </span>
);

const columns: Array<Column<PoolTransaction>> = [
  shared.hash,
  shared.kind,
  shared.from,
  shared.to,
  shared.amount,
  { title: "Nonce", numeric: true, cell: (row) => formatNumber(row.nonce) },
  { title: "Status", cell: (row) => <Pending code={row.status} /> },
];

function Pool() {
  const pool = usePages(
    "pool",
    async (cursor, signal) => {
      const page = await call("silica_getPool", [{ limit: 50, cursor: cursor ?? null }], signal);
      return { rows: page.transactions, next: page.next ?? null };
    },
    { live: true },
  );
  usePolling(pool.page === 1, pool);
  return (
    <Section title="Pending">
      <Paged of={pool} empty={empty}>
        {(rows) => <Table caption="Pending transactions" columns={columns} rows={rows} id={(row) => row.hash} />}
      </Paged>
    </Section>
  );
}

const publicColumns: Array<Column<PendingTransaction>> = [
  { title: "Hash", cell: (row) => <TransactionLink hash={row.TxnHash} /> },
  { title: "Status", cell: (row) => <Pending code={row.code} /> },
];

function PublicPool() {
  const pool = useResource("pending", (signal) => call("GetPendingTxns", [], signal), { live: true });
  usePolling(true, pool);
  return (
    <Section title="Pending">
      <Loaded of={pool}>
        {({ Txns }) =>
          Txns.length ? (
            <Table caption="Pending transactions" columns={publicColumns} rows={Txns} id={(row) => row.TxnHash} />
          ) : (
            <p class="muted">{empty}</p>
          )
        }
      </Loaded>
    </Section>
  );
}
