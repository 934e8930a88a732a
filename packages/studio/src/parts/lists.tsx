// Tables that several pages have.
import { formatNumber } from "../format/amount.ts";
import type { AccountRow, BlockRow, PoolTransaction, TransactionSummary } from "../rpc/types.ts";
import { type Column, Table } from "./data.tsx";
import { Address, Age, Amount, BlockLink, ChainText, Hash, Outcome, TransactionLink } from "./text.tsx";

type Role = "hash" | "kind" | "from" | "to" | "amount";

/** Columns that pending and executed transactions share. */
export const shared: Record<Role, Column<TransactionSummary | PoolTransaction>> = {
  hash: { title: "Hash", cell: (row) => <TransactionLink hash={row.hash} /> },
  kind: { title: "Kind", cell: (row) => ("tag" in row && row.tag ? <ChainText text={row.tag} limit={60} /> : row.kind) },
  from: { title: "From", cell: (row) => <Address hex={row.sender} /> },
  to: { title: "To", cell: (row) => <Address hex={("contract" in row && row.contract) || row.recipient} /> },
  amount: { title: "Amount", numeric: true, cell: (row) => <Amount qa={row.amount} /> },
};

const transactionColumns: Array<Column<TransactionSummary>> = [
  shared.hash,
  { title: "Block", cell: (row) => <BlockLink number={row.block} /> },
  { title: "Age", cell: (row) => <Age timestamp={row.timestamp} /> },
  shared.kind,
  shared.from,
  shared.to,
  shared.amount,
  { title: "Fee", numeric: true, cell: (row) => <Amount qa={row.fee} /> },
  { title: "Status", cell: (row) => <Outcome success={row.success} /> },
];

const shortTransactionColumns: Array<Column<TransactionSummary>> = [
  shared.hash,
  { title: "Age", cell: (row) => <Age timestamp={row.timestamp} /> },
  {
    title: "Kind",
    cell: (row) => (
      <>
        {shared.kind.cell(row)} {!row.success && <Outcome success={false} />}
      </>
    ),
  },
  shared.from,
  shared.to,
  shared.amount,
];

/** Transactions, with links to their pages. A short list fits next to another one. */
export const Transactions = ({ caption, rows, short = false }: { caption: string; rows: TransactionSummary[]; short?: boolean }) => (
  <Table caption={caption} columns={short ? shortTransactionColumns : transactionColumns} rows={rows} id={(row) => row.hash} />
);

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
  {
    title: "Transactions",
    numeric: true,
    cell: (row) => {
      if (row.transactions) return formatNumber(row.transactions);
      return row.count === "1" ? "empty" : `${formatNumber(row.count)} empty blocks`;
    },
  },
  { title: "Gas", numeric: true, cell: (row) => formatNumber(row.gasUsed) },
  { title: "Fees", numeric: true, cell: (row) => <Amount qa={row.fees} /> },
  { title: "DS block", numeric: true, cell: (row) => <BlockLink number={row.dsBlock} kind="ds" /> },
  { title: "Hash", cell: (row) => <Hash value={row.hash} /> },
];

/** Tx blocks. Consecutive empty blocks are one row. */
export const Blocks = ({ caption, rows, short = false }: { caption: string; rows: BlockRow[]; short?: boolean }) => (
  <Table
    caption={caption}
    columns={short ? blockColumns.filter(({ title }) => !["Gas", "Fees", "DS block", "Hash"].includes(title)) : blockColumns}
    rows={rows}
    id={(row) => row.to}
  />
);

const accountColumns: Array<Column<AccountRow>> = [
  { title: "Address", cell: (row) => <Address hex={row.address} /> },
  { title: "Kind", cell: (row) => (row.codeHash ? "contract or library" : "account") },
  { title: "Balance", numeric: true, cell: (row) => <Amount qa={row.balance} /> },
  { title: "Nonce", numeric: true, cell: (row) => formatNumber(row.nonce) },
];

/** Accounts with their balances. */
export const Accounts = ({ caption, rows }: { caption: string; rows: AccountRow[] }) => (
  <Table caption={caption} columns={accountColumns} rows={rows} id={(row) => row.address} />
);
