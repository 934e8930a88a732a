// Pending transactions, and all transactions of the chain, the latest first.
import { settings } from "../node.ts";
import { type Column, Loaded, Paged, Table } from "../parts/data.tsx";
import { Pending, PendingTransactions, Transactions } from "../parts/lists.tsx";
import { Page, Section } from "../parts/page.tsx";
import { TransactionLink } from "../parts/text.tsx";
import { usePages, useResource } from "../resource.ts";
import { call } from "../rpc/client.ts";
import type { PendingTransaction } from "../rpc/types.ts";

export default function TransactionsPage() {
  const transactions = usePages(
    "transactions",
    async (cursor, signal) => {
      const page = await call("silica_getTransactionSummaries", [{ limit: 50, cursor: cursor ?? null }], signal);
      return { rows: page.transactions, next: page.next ?? null };
    },
    { live: true },
  );
  return (
    <Page title="Transactions" lead="Pending transactions first, then the transactions in blocks, the latest first.">
      {settings.value && (settings.value.developerMethods ? <Pool /> : <PublicPool />)}
      <Section title="In blocks">
        <Paged of={transactions} empty="The chain has no transactions.">
          {(rows) => <Transactions caption="Transactions in blocks" rows={rows} />}
        </Paged>
      </Section>
    </Page>
  );
}

function Pool() {
  const pool = usePages(
    "pool",
    async (cursor, signal) => {
      const page = await call("silica_getPool", [{ limit: 50, cursor: cursor ?? null }], signal);
      return { rows: page.transactions, next: page.next ?? null };
    },
    { live: true },
  );
  return (
    <Section title="Pending" action={<Again read={pool.reload} />}>
      <Paged of={pool} empty="No transactions are pending.">
        {(rows) => <PendingTransactions rows={rows} />}
      </Paged>
    </Section>
  );
}

const columns: Array<Column<PendingTransaction>> = [
  { title: "Hash", cell: (row) => <TransactionLink hash={row.TxnHash} /> },
  { title: "Status", cell: (row) => <Pending code={row.code} /> },
];

/** The pending transactions that a node without methods for developers lists: hashes and statuses. */
function PublicPool() {
  const pool = useResource("pending", (signal) => call("GetPendingTxns", [], signal), { live: true });
  return (
    <Section title="Pending" action={<Again read={pool.reload} />}>
      <Loaded of={pool}>
        {({ Txns }) =>
          Txns.length ? (
            <Table caption="Pending transactions" columns={columns} rows={Txns} id={(row) => row.TxnHash} />
          ) : (
            <p class="muted">No transactions are pending.</p>
          )
        }
      </Loaded>
    </Section>
  );
}

// The node sends no notification of a pending transaction.
const Again = ({ read }: { read: () => void }) => (
  <button type="button" class="link" onClick={read}>
    Read again
  </button>
);
