// All contracts and libraries, in the order of their addresses.
import { type Column, Paged, Table } from "../parts/data.tsx";
import { Page } from "../parts/page.tsx";
import { Address, BlockLink, ChainText, TransactionLink } from "../parts/text.tsx";
import { usePages } from "../resource.ts";
import { link } from "../router.ts";
import { call } from "../rpc/client.ts";
import type { ContractRow } from "../rpc/types.ts";

const columns: Array<Column<ContractRow>> = [
  {
    title: "Name",
    cell: (row) => (
      <a href={link(["contract", `0x${row.address}`])}>
        <ChainText text={row.name || "without a name"} limit={60} />
      </a>
    ),
  },
  { title: "Kind", cell: (row) => [row.library ? "library" : "contract", row.token?.standard].filter(Boolean).join(", ") },
  { title: "Address", cell: (row) => <Address hex={row.address} /> },
  { title: "Creator", cell: (row) => <Address hex={row.creator} /> },
  { title: "Block", cell: (row) => <BlockLink number={row.block} /> },
  { title: "Deployment", cell: (row) => <TransactionLink hash={row.hash} /> },
];

const limit = 50;

export default function Contracts() {
  const contracts = usePages(
    "contracts",
    async (cursor, signal) => {
      const page = await call("silica_listContracts", [{ limit, cursor: cursor ?? null }], signal);
      return { rows: page.contracts, next: page.next ?? null };
    },
    { live: true },
  );
  return (
    <Page
      title="Contracts"
      lead={
        <>
          Contracts and libraries in the order of their addresses. See also <a href="#/tokens">tokens</a>, or{" "}
          <a href="#/deploy">deploy a contract</a>.
        </>
      }
    >
      <Paged of={contracts} empty="The chain has no contracts.">
        {(rows) => <Table caption="Contracts" columns={columns} rows={rows} id={(row) => row.address} />}
      </Paged>
    </Page>
  );
}
