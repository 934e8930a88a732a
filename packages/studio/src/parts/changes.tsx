// The changes of accounts and variables by a transaction or a simulation.
import { formatAmount, formatNumber } from "../format/amount.ts";
import type { AccountChange, VariableChange } from "../rpc/types.ts";
import { type Column, Facts, Table } from "./data.tsx";
import { Address, ChainText, Hash } from "./text.tsx";
import { Value } from "./values.tsx";

const columns: Array<Column<VariableChange>> = [
  {
    title: "Variable",
    cell: (row) => (
      <>
        <ChainText text={row.variable} limit={60} />
        {row.indices.map((index, depth) => (
          <span key={depth}>
            [<ChainText text={index} limit={80} />]
          </span>
        ))}
      </>
    ),
  },
  { title: "Before", cell: (row) => <Value value={row.old} /> },
  { title: "After", cell: (row) => <Value value={row.new} /> },
];

/** Changed accounts with their old and new values. */
export function Changes({ changes }: { changes: AccountChange[] }) {
  if (!changes.length) return <p class="muted">No account changed.</p>;
  return (
    <>
      {changes.map(({ address, balance, nonce, codeHash, variables }) => (
        <div key={address} class="event">
          <h3>
            <Address hex={address} />
          </h3>
          <Facts
            rows={[
              !!balance && ["Balance", <Difference from={balance.old} to={balance.new} />],
              !!nonce && ["Nonce", `${nonce.old == null ? "none" : formatNumber(nonce.old)} → ${formatNumber(nonce.new)}`],
              !!codeHash && ["New code", <Hash value={codeHash} />],
            ]}
          />
          {!!variables?.length && (
            <Table caption="Variables" columns={columns} rows={variables} id={(row) => JSON.stringify([row.variable, row.indices])} />
          )}
        </div>
      ))}
    </>
  );
}

function Difference({ from, to }: { from: string | null | undefined; to: string }) {
  const change = BigInt(to) - BigInt(from ?? 0);
  return (
    <>
      {change >= 0n && "+"}
      {formatAmount(change)}
      <span class="muted">
        {" "}
        ({from == null ? "none" : formatAmount(from)} → {formatAmount(to)})
      </span>
    </>
  );
}
