// The home page: the state of the chain, the latest blocks and transactions, accounts, and block production.
import { useEffect } from "preact/hooks";
import { formatNumber } from "../format/amount.ts";
import { settings, readSettings } from "../node.ts";
import { type Column, Facts, Loaded, Table } from "../parts/data.tsx";
import { Action } from "../parts/form.tsx";
import { Transactions } from "../parts/lists.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Address, Age, Amount, BlockLink, Hash } from "../parts/text.tsx";
import { useResource } from "../resource.ts";
import { call } from "../rpc/client.ts";
import { generation } from "../rpc/socket.ts";
import type { AccountRow, BlockRow } from "../rpc/types.ts";

const rows = 20;

const blockColumns: Array<Column<BlockRow>> = [
  {
    title: "Block",
    cell: (row) =>
      row.from === row.to ? (
        <BlockLink number={row.to} />
      ) : (
        <>
          <BlockLink number={row.from} /> to <BlockLink number={row.to} />
        </>
      ),
  },
  { title: "Age", cell: (row) => <Age timestamp={row.timestamp} /> },
  { title: "Transactions", numeric: true, cell: (row) => (row.transactions ? formatNumber(row.transactions) : "empty") },
  { title: "Gas", numeric: true, cell: (row) => formatNumber(row.gasUsed) },
  { title: "Hash", cell: (row) => <Hash value={row.hash} /> },
];

const accountColumns: Array<Column<AccountRow>> = [
  { title: "Address", cell: (row) => <Address hex={row.address} /> },
  { title: "Balance", numeric: true, cell: (row) => <Amount qa={row.balance} /> },
  { title: "Nonce", numeric: true, cell: (row) => formatNumber(row.nonce) },
];

export default function Home() {
  const blocks = useResource("blocks", (signal) => call("silica_getBlockRange", [{ limit: rows }], signal), { live: true });
  const latest = useResource("transactions", (signal) => call("silica_getTransactionSummaries", [{ limit: rows }], signal), {
    live: true,
  });
  const accounts = useResource("accounts", (signal) => call("silica_listAccounts", [{ limit: 10 }], signal), { live: true });
  const price = useResource("price", (signal) => call("GetMinimumGasPrice", [], signal), { live: true });
  // Block mode and pause can change with a revert.
  const reverts = generation.value;
  useEffect(() => void readSettings(), [reverts]);
  const node = settings.value;
  return (
    <Page title="Home">
      <Section title="Chain" action={node?.developerMethods && <Production />}>
        <Facts
          rows={[
            node && ["Chain id", node.chainId],
            node && ["Block mode", node.paused ? `${node.blockMode}, paused` : node.blockMode],
            node && ["DS block", formatNumber(node.latestDsBlock)],
            price.value !== undefined && ["Minimum gas price", <Amount qa={price.value} unit="Li" />],
            node && ["Profile", node.profile],
          ]}
        />
      </Section>
      <Section title="Latest blocks">
        <Loaded of={blocks}>{(page) => <Table caption="Latest blocks" columns={blockColumns} rows={page.blocks} id={(row) => row.to} />}</Loaded>
      </Section>
      <Section title="Latest transactions">
        <Loaded of={latest}>
          {(page) =>
            page.transactions.length ? (
              <Transactions caption="Latest transactions" rows={page.transactions} />
            ) : (
              <p class="muted">No transactions yet. README shows the first payment.</p>
            )
          }
        </Loaded>
      </Section>
      <Section title="Accounts" action={<a href="#/accounts">All accounts</a>}>
        <Loaded of={accounts}>
          {(page) => <Table caption="Accounts" columns={accountColumns} rows={page.accounts} id={(row) => row.address} />}
        </Loaded>
      </Section>
    </Page>
  );
}

/** Buttons of block production. */
function Production() {
  return (
    <Action
      run={async () => {
        await call("silica_mine", []);
      }}
    >
      Mine a block
    </Action>
  );
}
