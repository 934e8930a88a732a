// The members of a committee.
import { formatNumber } from "../format/amount.ts";
import { type Column, Table } from "./data.tsx";
import { Hash } from "./text.tsx";

interface Member {
  index: number;
  key: string;
}

/** Members by their public keys, with further columns if the page has them. */
export function Members({ caption, keys, more = [] }: {
  caption: string;
  keys: string[];
  more?: Array<{ title: string; value: (key: string) => number }>;
}) {
  const columns: Array<Column<Member>> = [
    { title: "Member", cell: (row) => row.index },
    { title: "Public key", cell: (row) => <Hash value={row.key} /> },
    ...more.map(({ title, value }) => ({ title, numeric: true, cell: (row: Member) => formatNumber(value(row.key)) })),
  ];
  return <Table caption={caption} columns={columns} rows={keys.map((key, index) => ({ index, key }))} id={(row) => String(row.index)} />;
}
