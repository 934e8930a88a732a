// A token: its parameters, its supply, and its holders.
import { contractFacts, tokenFacts } from "../contracts.ts";
import { parseAddress } from "../format/address.ts";
import { formatDecimal, formatNumber } from "../format/amount.ts";
import { type Column, Facts, Failure, Loaded, Paged, Table } from "../parts/data.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Address, ChainText } from "../parts/text.tsx";
import { usePages, useResource } from "../resource.ts";
import { link, route } from "../router.ts";
import { call } from "../rpc/client.ts";
import type { Holder } from "../rpc/types.ts";

export default function TokenPage() {
  const text = route.value.path[1] ?? "";
  const hex = parseAddress(text);
  if (hex) return <Token hex={hex} />;
  return (
    <Page title="Token">
      <Failure error={new Error(`expected bech32 (zil1…) or 40 hexadecimal digits, got ${JSON.stringify(text)}`)} />
    </Page>
  );
}

async function read(hex: string, signal: AbortSignal) {
  const [contract, token, state] = await Promise.all([
    contractFacts(hex),
    tokenFacts(hex, signal),
    call("GetSmartContractSubState", [hex, "total_supply", []], signal),
  ]);
  const supply = state?.["total_supply"];
  return { contract, token, supply: typeof supply === "string" && /^\d+$/.test(supply) ? supply : null };
}

function Token({ hex }: { hex: string }) {
  const token = useResource(hex, (signal) => read(hex, signal), { live: true });
  const places = token.value?.token.decimals ?? 0;
  return (
    <Page title="Token" lead={token.value?.token.name && <ChainText text={token.value.token.name} limit={200} />}>
      <Section title="Overview">
        <Loaded of={token}>
          {({ contract, token, supply }) => (
            <Facts
              rows={[
                ["Standard", contract.standards.join(", ") || "none that the node recognises"],
                ["Symbol", token.symbol === null ? <span class="muted">none</span> : <ChainText text={token.symbol} limit={40} />],
                token.decimals !== null && ["Decimals", formatNumber(token.decimals)],
                supply !== null && ["Supply", formatDecimal(supply, places)],
                ["Contract", <ContractLinks hex={hex} name={contract.name} />],
              ]}
            />
          )}
        </Loaded>
      </Section>
      <Holders hex={hex} places={places} />
    </Page>
  );
}

const ContractLinks = ({ hex, name }: { hex: string; name: string }) => (
  <>
    <Address hex={hex} />{" "}
    <a href={link(["contract", `0x${hex}`])}>
      Source and state of <ChainText text={name} limit={60} />
    </a>
  </>
);

const holderColumns = (places: number): Array<Column<Holder>> => [
  { title: "Holder", cell: (row) => <Address hex={row.holder} /> },
  {
    title: "Amount or token",
    numeric: true,
    cell: (row) => (row.amount == null ? <>token {formatNumber(row.tokenId ?? "0")}</> : formatDecimal(row.amount, places)),
  },
];

function Holders({ hex, places }: { hex: string; places: number }) {
  const holders = usePages(
    hex,
    async (cursor, signal) => {
      const page = await call("silica_getHolders", [hex, { limit: 100, cursor: cursor ?? null }], signal);
      return { rows: page.holders, next: page.next ?? null };
    },
    { live: true },
  );
  return (
    <Section title="Holders">
      <Paged of={holders} empty="The token has no holders.">
        {(rows) => (
          <Table caption="Holders" columns={holderColumns(places)} rows={rows} id={(row) => `${row.holder} ${row.tokenId ?? ""}`} />
        )}
      </Paged>
    </Section>
  );
}
