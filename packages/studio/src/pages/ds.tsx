// The list of DS blocks, and the page of one DS block.
import { formatNumber } from "../format/amount.ts";
import { noBlock, parseNumber } from "../format/block.ts";
import { Bits, RawBytes } from "../parts/blocks.tsx";
import { type Column, Facts, Failure, Loaded, Paged, Table } from "../parts/data.tsx";
import { Members } from "../parts/members.tsx";
import { Page, Section, Tabs } from "../parts/page.tsx";
import { Age, Amount, BlockLink, Copy, Hash, Json } from "../parts/text.tsx";
import { usePages, useResource } from "../resource.ts";
import { link, route } from "../router.ts";
import { call } from "../rpc/client.ts";
import type { BlockListingEntry, DsBlock } from "../rpc/types.ts";

export default function DsPage() {
  const text = route.value.path[1];
  if (text === undefined) return <List />;
  const number = parseNumber(text);
  if (number !== null) return <Block number={number} />;
  return (
    <Page title="DS block">
      <Failure error={new Error(`expected the number of a DS block, got ${JSON.stringify(text)}`)} />
    </Page>
  );
}

const columns: Array<Column<BlockListingEntry>> = [
  { title: "DS block", cell: (row) => <BlockLink number={row.BlockNum} kind="ds" /> },
  { title: "Hash", cell: (row) => <Hash value={row.Hash} /> },
];

function List() {
  const blocks = usePages(
    "ds",
    async (cursor, signal) => {
      const page = Number(cursor ?? 1);
      const { data, maxPages } = await call("DSBlockListing", [page], signal);
      return { rows: data, next: page < maxPages ? String(page + 1) : null };
    },
    { live: true },
  );
  return (
    <Page
      title="DS blocks"
      lead={
        <>
          A DS block starts a DS epoch, the latest first. See also <a href="#/blocks">Tx blocks</a> and the{" "}
          <a href="#/committee">DS committee</a>.
        </>
      }
    >
      <Paged of={blocks} empty="The chain has no DS blocks.">
        {/* The method counts pages from the latest block, so a new block shifts a row into the next page. */}
        {(rows) => (
          <Table
            caption="DS blocks"
            columns={columns}
            rows={[...new Map(rows.map((row) => [row.BlockNum, row])).values()]}
            id={(row) => String(row.BlockNum)}
          />
        )}
      </Paged>
    </Page>
  );
}

const tabs = [
  ["overview", "Overview"],
  ["json", "Raw JSON"],
  ["bytes", "Raw bytes"],
] as const;

function Block({ number }: { number: string }) {
  const block = useResource(
    number,
    async (signal) => {
      const found = await call("GetDsBlockVerbose", [number], signal);
      return found.header.BlockNum === noBlock ? null : found;
    },
    { live: (found) => !found },
  );
  const epoch = useResource("latest", (signal) => call("GetCurrentDSEpoch", [], signal), { live: true });
  const latest = epoch.value ?? number;
  const current = route.value.query.get("tab") ?? "overview";
  return (
    <Page title={`DS block ${formatNumber(number)}`}>
      <nav class="steps" aria-label="Neighbours">
        {BigInt(number) > 0n ? <a href={link(["ds", (BigInt(number) - 1n).toString()])}>← Previous</a> : <span class="muted">First block</span>}
        {BigInt(number) < BigInt(latest) ? (
          <a href={link(["ds", (BigInt(number) + 1n).toString()])}>Next →</a>
        ) : (
          <span class="muted">Latest block</span>
        )}
        <a href="#/ds">All DS blocks</a>
      </nav>
      <Loaded of={block}>
        {(found) =>
          found ? (
            <>
              <Tabs
                label="Parts of the block"
                current={current}
                tabs={tabs.map(([id, title]) => ({ id, title, href: link(["ds", number], id === "overview" ? {} : { tab: id }) }))}
              />
              {current === "json" ? (
                <Section title="Raw JSON" action={<Copy text={JSON.stringify(found, null, 2)} label="Copy the JSON" />}>
                  <Json value={found} />
                </Section>
              ) : current === "bytes" ? (
                <RawBytes method="GetRawDSBlock" number={number} />
              ) : (
                <Overview number={number} block={found} />
              )}
            </>
          ) : (
            <p>
              The chain has no DS block {formatNumber(number)}. The latest DS block is <BlockLink number={latest} kind="ds" />.
            </p>
          )
        }
      </Loaded>
    </Page>
  );
}

function Overview({ number, block }: { number: string; block: DsBlock }) {
  const { header } = block;
  const miners = useResource(number, (signal) => call("GetMinerInfo", [number], signal));
  // The block itself does not contain its hash, and the search returns it.
  const hash = useResource(number, async (signal) => {
    const { matches } = await call("silica_search", [number], signal);
    return matches.find(({ kind }) => kind === "dsBlock")?.label;
  });
  return (
    <>
      <Section title="Header">
        <Facts
          rows={[
            !!hash.value && ["Hash", <Hash value={hash.value} whole />],
            ["Time", <Age timestamp={header.Timestamp} whole />],
            !!header.EpochNum && ["First Tx block", <BlockLink number={header.EpochNum} />],
            ["Previous block", <Hash value={header.PrevHash} whole />],
            ["Leader", <Hash value={header.LeaderPubKey} />],
            ["Minimum gas price", <Amount qa={header.GasPrice} unit="Li" />],
            ["Difficulty", `${formatNumber(header.Difficulty)}, of the DS committee ${formatNumber(header.DifficultyDS)}`],
            !!header.ShardingHash && ["Sharding", <Hash value={header.ShardingHash} whole />],
            !!header.CommitteeHash && ["Committee", <Hash value={header.CommitteeHash} whole />],
            header.Version != null && ["Version", header.Version],
          ]}
        />
      </Section>
      <Section title="Co-signature">
        <Facts
          rows={[
            !!block.CS1 && ["First signature", <Hash value={block.CS1} />],
            ["First bit map", <Bits bits={block.B1} />],
            ["Second signature", <Hash value={block.signature} />],
            ["Second bit map", <Bits bits={block.B2} />],
          ]}
        />
      </Section>
      <Section title="Changes of members">
        <h3>New members</h3>
        {header.PoWWinners.length ? <Members caption="New members" keys={header.PoWWinners} /> : <p class="muted">None.</p>}
        <h3>Removed members</h3>
        {header.MembersEjected?.length ? <Members caption="Removed members" keys={header.MembersEjected} /> : <p class="muted">None.</p>}
      </Section>
      <Section title="Members of this DS epoch">
        <Loaded of={miners}>
          {({ dscommittee, shards }) => (
            <>
              <h3>DS committee</h3>
              <Members caption="DS committee" keys={dscommittee} />
              {shards.map(({ nodes, size }, index) => (
                <div key={index}>
                  <h3>
                    Shard {index}, {formatNumber(size)} {size === 1 ? "member" : "members"}
                  </h3>
                  {nodes.length ? <Members caption={`Shard ${index}`} keys={nodes} /> : <p class="muted">None.</p>}
                </div>
              ))}
            </>
          )}
        </Loaded>
      </Section>
    </>
  );
}
