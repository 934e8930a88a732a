// The contracts with the fields of a token standard.
import { type Column, Paged, Table } from "../parts/data.tsx";
import { Page } from "../parts/page.tsx";
import { Address, ChainText } from "../parts/text.tsx";
import { usePages } from "../resource.ts";
import { link } from "../router.ts";
import { call } from "../rpc/client.ts";
import type { TokenDescription } from "../rpc/types.ts";

interface Row {
  address: string;
  token: TokenDescription;
}

const columns: Array<Column<Row>> = [
  {
    title: "Token",
    cell: (row) => (
      <a href={link(["token", `0x${row.address}`])}>
        <ChainText text={row.token.name || "without a name"} limit={60} />
      </a>
    ),
  },
  { title: "Symbol", cell: (row) => (row.token.symbol ? <ChainText text={row.token.symbol} limit={20} /> : <span class="muted">none</span>) },
  { title: "Standard", cell: (row) => row.token.standard },
  { title: "Decimals", numeric: true, cell: (row) => row.token.decimals ?? <span class="muted">none</span> },
  { title: "Contract", cell: (row) => <Address hex={row.address} /> },
];

/** Contracts in a request, and requests for a page of tokens. The node has no list of tokens. */
const limit = 200;
const requests = 4;

export default function Tokens() {
  const tokens = usePages(
    "tokens",
    async (cursor, signal) => {
      const rows: Row[] = [];
      let next = cursor ?? null;
      for (let request = 0; request < requests; request += 1) {
        const page = await call("silica_listContracts", [{ limit, cursor: next }], signal);
        for (const { address, token } of page.contracts) if (token) rows.push({ address, token });
        next = page.next ?? null;
        if (next === null || rows.length) break;
      }
      return { rows, next };
    },
    { live: true },
  );
  return (
    <Page
      title="Tokens"
      lead="Contracts with the fields of ZRC-1, ZRC-2 or ZRC-6. The node does not verify their behaviour."
    >
      <Paged of={tokens} empty="The chain has no tokens.">
        {(rows) => <Table caption="Tokens" columns={columns} rows={rows} id={(row) => row.address} />}
      </Paged>
    </Page>
  );
}
