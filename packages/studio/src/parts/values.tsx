// Values of contracts, as the node returns them in JSON, and lists of named values.
import { useSignal } from "@preact/signals";
import { parseAddress } from "../format/address.ts";
import type { ContractParam } from "../rpc/types.ts";
import { type Column, Table } from "./data.tsx";
import { Address, ChainText, Copy } from "./text.tsx";

/** Longer texts of JSON have a button that shows them. */
const inlineLength = 200;

/** A value. An address has a link, and a large value is behind a button. */
export function Value({ value, type = "" }: { value: unknown; type?: string }) {
  const open = useSignal(false);
  if (value === undefined || value === null) return <span class="muted">none</span>;
  if (typeof value === "string") {
    const address = type.startsWith("ByStr20") ? parseAddress(value) : null;
    return address ? <Address hex={address} /> : <ChainText text={value} limit={inlineLength} />;
  }
  const text = JSON.stringify(value);
  if (text.length <= inlineLength) return <ChainText text={text} />;
  return (
    <>
      <button type="button" class="link" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        {open.value ? "Hide the value" : `Show the value (${text.length} characters)`}
      </button>{" "}
      <Copy text={text} label="Copy the value" />
      {open.value && (
        <pre>
          <ChainText text={JSON.stringify(value, null, 2)} limit={20_000} />
        </pre>
      )}
    </>
  );
}

const columns: Array<Column<{ index: number } & ContractParam>> = [
  { title: "Name", cell: (row) => <ChainText text={row.vname} limit={60} /> },
  { title: "Type", cell: (row) => <ChainText text={row.type} limit={120} /> },
  { title: "Value", cell: (row) => <Value value={row.value} type={row.type} /> },
];

/** Named values with their types: parameters of a call, a message, an event or a deployment. */
export function Params({ caption, params }: { caption: string; params: ContractParam[] }) {
  if (!params.length) return <p class="muted">No parameters.</p>;
  const rows = params.map((param, index) => ({ index, ...param }));
  return <Table caption={caption} columns={columns} rows={rows} id={(row) => String(row.index)} />;
}
