// A Tx block: header, roots, micro blocks, co-signature, and transactions.
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { formatNumber } from "../format/amount.ts";
import { noBlock, parseNumber } from "../format/block.ts";
import { settings } from "../node.ts";
import { Bits, RawBytes } from "../parts/blocks.tsx";
import type { BlockCheckProps } from "../proof/block.tsx";
import { type Column, Facts, Failure, Loaded, Paged, Table } from "../parts/data.tsx";
import { Transactions } from "../parts/lists.tsx";
import { Action } from "../parts/form.tsx";
import { Page, Section, Tabs } from "../parts/page.tsx";
import { Age, Amount, BlockLink, Copy, Hash, Json } from "../parts/text.tsx";
import { useResource, usePages } from "../resource.ts";
import { link, route } from "../router.ts";
import { call } from "../rpc/client.ts";
import { head } from "../rpc/socket.ts";
import type { MicroBlockInfo, TxBlock } from "../rpc/types.ts";

const tabs = [
  ["overview", "Overview"],
  ["json", "Raw JSON"],
  ["bytes", "Raw bytes"],
] as const;

export default function BlockPage() {
  const number = parseNumber(route.value.path[1]);
  if (number === null) {
    return (
      <Page title="Block">
        <Failure error={new Error(`expected the number of a Tx block, got ${JSON.stringify(route.value.path[1] ?? "")}`)} />
      </Page>
    );
  }
  return <Block number={number} />;
}

function Block({ number }: { number: string }) {
  const block = useResource(
    number,
    async (signal) => {
      const found = await call("GetTxBlockVerbose", [number], signal);
      return found.header.BlockNum === noBlock ? null : found;
    },
    // A block that does not exist yet can be the next one.
    { live: (found) => !found },
  );
  const latest = head.value?.number ?? Number(settings.value?.latestBlock ?? 0);
  const current = route.value.query.get("tab") ?? "overview";
  const before = BigInt(number) > BigInt(settings.value?.firstBlock ?? 0);
  const after = BigInt(number) < BigInt(latest);
  return (
    <Page title={`Block ${formatNumber(number)}`}>
      <nav class="steps" aria-label="Neighbours">
        {before ? <a href={link(["block", (BigInt(number) - 1n).toString()])}>← Previous</a> : <span class="muted">First block</span>}
        {after ? <a href={link(["block", (BigInt(number) + 1n).toString()])}>Next →</a> : <span class="muted">Latest block</span>}
        <a href="#/blocks">All blocks</a>
      </nav>
      <Loaded of={block}>
        {(found) =>
          found ? (
            <>
              <Tabs
                label="Parts of the block"
                current={current}
                tabs={tabs.map(([id, title]) => ({ id, title, href: link(["block", number], id === "overview" ? {} : { tab: id }) }))}
              />
              {current === "json" ? (
                <Section title="Raw JSON" action={<Copy text={JSON.stringify(found, null, 2)} label="Copy the JSON" />}>
                  <Json value={found} />
                </Section>
              ) : current === "bytes" ? (
                <RawBytes method="GetRawTxBlock" number={number} />
              ) : (
                <Overview number={number} block={found} />
              )}
            </>
          ) : (
            <p>
              The chain has no block {formatNumber(number)}. The latest block is <BlockLink number={latest} />.
            </p>
          )
        }
      </Loaded>
    </Page>
  );
}

const microBlockColumns: Array<Column<MicroBlockInfo>> = [
  { title: "Shard", cell: (row) => row.MicroBlockShardId },
  { title: "Hash", cell: (row) => <Hash value={row.MicroBlockHash} /> },
  {
    title: "Root of transactions",
    cell: (row) => (/^0*$/.test(row.MicroBlockTxnRootHash) ? <span class="muted">no transactions</span> : <Hash value={row.MicroBlockTxnRootHash} />),
  },
];

function Overview({ number, block: { header, body } }: { number: string; block: TxBlock }) {
  return (
    <>
      <Section title="Header">
        <Facts
          rows={[
            ["Hash", <Hash value={body.BlockHash} whole />],
            ["Previous block", <Hash value={header.PrevBlockHash} whole />],
            ["Time", <Age timestamp={header.Timestamp} whole />],
            ["DS block", <BlockLink number={header.DSBlockNum} kind="ds" />],
            ["Transactions", formatNumber(header.NumTxns)],
            ["Gas used", `${formatNumber(header.GasUsed)} of ${formatNumber(header.GasLimit)}`],
            ["Fees", <Amount qa={header.TxnFees} />],
            ["Reward", <Amount qa={header.Rewards} />],
            ["Leader", <Hash value={header.MinerPubKey} />],
            ["Version", header.Version],
          ]}
        />
      </Section>
      <Section title="Transactions">
        {header.NumTxns ? <BlockTransactions number={number} /> : <p class="muted">The block has no transactions.</p>}
      </Section>
      <Section title="Roots">
        <Facts
          rows={[
            ["State", <Hash value={header.StateRootHash} whole />],
            ["State delta", <Hash value={header.StateDeltaHash} whole />],
            ["Micro blocks", <Hash value={header.MbInfoHash} whole />],
            !!header.CommitteeHash && ["Committee", <Hash value={header.CommitteeHash} whole />],
          ]}
        />
      </Section>
      <Section title="Micro blocks">
        {body.MicroBlockInfos.length ? (
          <Table
            caption="Micro blocks"
            columns={microBlockColumns}
            rows={body.MicroBlockInfos}
            id={(row) => `${row.MicroBlockShardId} ${row.MicroBlockHash}`}
          />
        ) : (
          <p class="muted">The block has no micro blocks.</p>
        )}
      </Section>
      <Section title="Co-signature" action={<a href="#/committee">DS committee</a>}>
        <Facts
          rows={[
            !!body.CS1 && ["First signature", <Hash value={body.CS1} />],
            ["First bit map", <Bits bits={body.B1} />],
            ["Second signature", <Hash value={body.HeaderSign} />],
            ["Second bit map", <Bits bits={body.B2} />],
          ]}
        />
      </Section>
      <Check number={number} hash={body.BlockHash} stateRoot={header.StateRootHash} />
    </>
  );
}

/** The check in the browser. The verifier is loaded on request. */
function Check(props: BlockCheckProps) {
  const loaded = useSignal<ComponentType<BlockCheckProps> | null>(null);
  const BlockCheck = loaded.value;
  return (
    <Section title="Check in the browser">
      {BlockCheck ? (
        <BlockCheck {...props} />
      ) : props.number === "0" ? (
        <p class="muted">Block 0 has no co-signature, so no check is possible.</p>
      ) : (
        <>
          <p class="muted">This browser computes the hash of the header, and verifies the co-signature against the committee from the pinned DS block.</p>
          <Action run={async () => void (loaded.value = (await import("../proof/block.tsx")).default)}>Check this block in the browser</Action>
        </>
      )}
    </Section>
  );
}

function BlockTransactions({ number }: { number: string }) {
  const transactions = usePages(number, async (cursor, signal) => {
    const options = { block: number, order: "oldest" as const, limit: 100, cursor: cursor ?? null };
    const page = await call("silica_getTransactionSummaries", [options], signal);
    return { rows: page.transactions, next: page.next ?? null };
  });
  return (
    <Paged of={transactions} empty="The block has no transactions.">
      {(rows) => <Transactions caption={`Transactions of block ${number}`} rows={rows} />}
    </Paged>
  );
}
