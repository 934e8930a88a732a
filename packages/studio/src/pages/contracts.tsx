// All contracts and libraries, in the order of their addresses.
import { contractFacts, type ContractFacts } from "../contracts.ts";
import { type Column, Paged, Table } from "../parts/data.tsx";
import { Page } from "../parts/page.tsx";
import { Address, BlockLink, ChainText, TransactionLink } from "../parts/text.tsx";
import { usePages } from "../resource.ts";
import { link } from "../router.ts";
import { call } from "../rpc/client.ts";
import type { ContractRow } from "../rpc/types.ts";

type Row = ContractRow & { facts: ContractFacts | null };

const columns: Array<Column<Row>> = [
  {
    title: "Name",
    cell: (row) => (
      <a href={link(["contract", `0x${row.address}`])}>
        <ChainText text={row.facts?.name || "without a name"} limit={60} />
      </a>
    ),
  },
  { title: "Kind", cell: (row) => [row.library ? "library" : "contract", ...(row.facts?.standards ?? [])].join(", ") },
  { title: "Address", cell: (row) => <Address hex={row.address} /> },
  { title: "Creator", cell: (row) => <Address hex={row.creator} /> },
  { title: "Block", cell: (row) => <BlockLink number={row.block} /> },
  { title: "Deployment", cell: (row) => <TransactionLink hash={row.hash} /> },
];

/** Each row needs a request for its name. */
const limit = 25;

export default function Contracts() {
  const contracts = usePages(
    "contracts",
    async (cursor, signal) => {
      const page = await call("silica_listContracts", [{ limit, cursor: cursor ?? null }], signal);
      // A row without a name is better than no list.
      const facts = page.contracts.map(({ address }) => contractFacts(address).catch(() => null));
      const rows = await Promise.all(page.contracts.map(async (row, index): Promise<Row> => ({ ...row, facts: await facts[index]! })));
      return { rows, next: page.next ?? null };
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
