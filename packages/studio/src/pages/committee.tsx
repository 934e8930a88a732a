// The DS committee of the current DS epoch: its members, and the latest blocks that each member proposed and signed.
import { formatNumber } from "../format/amount.ts";
import { Facts, Loaded } from "../parts/data.tsx";
import { Members } from "../parts/members.tsx";
import { Page, Section } from "../parts/page.tsx";
import { BlockLink } from "../parts/text.tsx";
import { useResource } from "../resource.ts";
import { call } from "../rpc/client.ts";
import { settings } from "../node.ts";

/** Blocks whose leaders and bit maps are counted. The node returns each block with its signatures. */
const counted = 100n;

async function read(signal: AbortSignal) {
  const committee = await call("GetCurrentDSComm", [], signal);
  const latest = (await call("silica_getBlockRange", [{ limit: 1 }], signal)).blocks[0]!.to;
  const size = BigInt(settings.peek()?.blocksPerDsEpoch ?? 100);
  // A committee signs the blocks of its DS epoch only.
  const start = (BigInt(latest) / size) * size;
  const earliest = BigInt(latest) - counted + 1n;
  const from = (start > earliest ? start : earliest).toString();
  const blocks = await call("silica_getBlocks", [from, latest], signal);
  const proposed = new Map<string, number>();
  for (const { header } of blocks) proposed.set(header.MinerPubKey, (proposed.get(header.MinerPubKey) ?? 0) + 1);
  return { committee, from, latest, proposed, count: blocks.length };
}

export default function Committee() {
  const data = useResource("committee", read, { live: true });
  return (
    <Page title="DS committee" lead="The members that propose and sign the Tx blocks of the current DS epoch.">
      <Loaded of={data}>
        {({ committee, from, latest, proposed, count }) => (
          <>
            <Section title="Epoch">
              <Facts
                rows={[
                  ["DS epoch", <BlockLink number={committee.CurrentDSEpoch} kind="ds" />],
                  ["Next Tx block", formatNumber(committee.CurrentTxEpoch)],
                  ["Members", formatNumber(committee.dscomm.length)],
                  ["Guards", formatNumber(committee.NumOfDSGuard)],
                ]}
              />
            </Section>
            <Section title="Members">
              <p class="muted">
                Proposed blocks of the latest {formatNumber(count)} blocks of this DS epoch: <BlockLink number={from} /> to{" "}
                <BlockLink number={latest} />. The page of a block shows which members signed it.
              </p>
              <Members
                caption="Members of the DS committee"
                keys={committee.dscomm}
                more={[{ title: "Proposed blocks", value: (key) => proposed.get(key) ?? 0 }]}
              />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
