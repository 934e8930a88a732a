// Pending transactions, and all transactions of the chain, the latest first.
import { Paged } from "../parts/data.tsx";
import { Transactions } from "../parts/lists.tsx";
import { Page, Section } from "../parts/page.tsx";
import { PendingTransactions } from "../parts/pool.tsx";
import { usePages } from "../resource.ts";
import { call } from "../rpc/client.ts";

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
      <PendingTransactions />
      <Section title="In blocks">
        <Paged of={transactions} empty="The chain has no transactions.">
          {(rows) => <Transactions caption="Transactions in blocks" rows={rows} />}
        </Paged>
      </Section>
    </Page>
  );
}
