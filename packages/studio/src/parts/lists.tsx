// Tables that several pages have.
import type { TransactionSummary } from "../rpc/types.ts";
import { type Column, Table } from "./data.tsx";
import { Address, Age, Amount, BlockLink, ChainText, Outcome, TransactionLink } from "./text.tsx";

const columns: Array<Column<TransactionSummary>> = [
  { title: "Hash", cell: (row) => <TransactionLink hash={row.hash} /> },
  { title: "Block", cell: (row) => <BlockLink number={row.block} /> },
  { title: "Age", cell: (row) => <Age timestamp={row.timestamp} /> },
  { title: "Kind", cell: (row) => (row.tag ? <ChainText text={row.tag} limit={60} /> : row.kind) },
  { title: "From", cell: (row) => <Address hex={row.sender} /> },
  { title: "To", cell: (row) => <Address hex={row.contract ?? row.recipient} /> },
  { title: "Amount", numeric: true, cell: (row) => <Amount qa={row.amount} /> },
  { title: "Fee", numeric: true, cell: (row) => <Amount qa={row.fee} /> },
  { title: "Status", cell: (row) => <Outcome success={row.success} /> },
];

/** Transactions, with links to their pages. */
export const Transactions = ({ caption, rows }: { caption: string; rows: TransactionSummary[] }) => (
  <Table caption={caption} columns={columns} rows={rows} id={(row) => row.hash} />
);
