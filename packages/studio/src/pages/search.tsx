// The results of a search. A single result opens its page.
import { useEffect } from "preact/hooks";
import { parseAddress } from "../format/address.ts";
import { labels } from "../labels.ts";
import { type Column, Loaded, Table } from "../parts/data.tsx";
import { Page } from "../parts/page.tsx";
import { ChainText } from "../parts/text.tsx";
import { useResource } from "../resource.ts";
import { link, route } from "../router.ts";
import { call } from "../rpc/client.ts";
import type { MatchKind, SearchMatch } from "../rpc/types.ts";

const pages: Record<MatchKind, { name: string; page: string }> = {
  account: { name: "account", page: "address" },
  block: { name: "Tx block", page: "block" },
  contract: { name: "contract", page: "contract" },
  dsBlock: { name: "DS block", page: "ds" },
  transaction: { name: "transaction", page: "tx" },
};

const target = ({ kind, id }: SearchMatch) => link([pages[kind].page, parseAddress(id) ? `0x${id}` : id]);

const columns: Array<Column<SearchMatch>> = [
  { title: "Kind", cell: (row) => pages[row.kind].name },
  {
    title: "Result",
    cell: (row) => (
      <a class="hash whole" href={target(row)}>
        {row.id}
      </a>
    ),
  },
  { title: "Other name", cell: (row) => <ChainText text={row.label} limit={120} /> },
];

/** Returns the addresses whose names in this browser contain the text. */
const named = (text: string): SearchMatch[] =>
  Object.entries(labels.value)
    .filter(([, name]) => name.toLowerCase().includes(text.toLowerCase()))
    .map(([id, label]) => ({ id, kind: "account", label }));

export default function Search() {
  const text = (route.value.path[1] ?? "").trim();
  const found = useResource(text, async (signal) => {
    const address = parseAddress(text);
    const own = named(text);
    // A hexadecimal address can also be the beginning of a hash. An address without an account has a page too.
    const result = text ? await call("silica_search", [text], signal) : { complete: true, matches: [] };
    const rows = [...result.matches.filter(({ id }) => !own.some((match) => match.id === id)), ...own];
    if (address && !rows.some(({ id }) => id === address)) rows.push({ id: address, kind: "account", label: "not in the state" });
    return { complete: result.complete, rows };
  });
  const only = found.value?.rows.length === 1 && found.value.complete ? found.value.rows[0] : undefined;
  useEffect(() => {
    // The search is no step of the history: the back button returns to the page before it.
    if (only) location.replace(target(only));
  }, [only]);
  return (
    <Page title="Search" lead={text && <>Results for <ChainText text={text} limit={120} />.</>}>
      <Loaded of={found}>
        {({ complete, rows }) => (
          <>
            {rows.length ? (
              <Table caption="Results" columns={columns} rows={rows} id={(row) => `${row.kind} ${row.id}`} />
            ) : (
              <Nothing />
            )}
            {!complete && (
              <p class="hint">
                The list can be incomplete: there are more results, or older blocks or further contracts were not searched yet.{" "}
                <button type="button" class="link" onClick={found.reload}>
                  Continue
                </button>
              </p>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const Nothing = () => (
  <>
    <p>Nothing was found. The search knows:</p>
    <ul>
      <li>the number of a Tx block or DS block</li>
      <li>the hash of a transaction, of a Tx block or of a DS block; of a transaction, the first 6 digits are enough</li>
      <li>an address as bech32 (zil1…) or 40 hexadecimal digits</li>
      <li>the beginning of the name of a contract or library, or of the name or symbol of a token</li>
      <li>a name that you gave an address on its page</li>
    </ul>
  </>
);
