// The Tx blocks of the chain, the latest first.
import { Paged } from "../parts/data.tsx";
import { Blocks } from "../parts/lists.tsx";
import { Page } from "../parts/page.tsx";
import { usePages } from "../resource.ts";
import { call } from "../rpc/client.ts";

export default function BlocksPage() {
  const blocks = usePages(
    "blocks",
    async (cursor, signal) => {
      const { blocks, next } = await call("silica_getBlockRange", [{ limit: 50, cursor: cursor ?? null }], signal);
      return { rows: blocks, next: next ?? null };
    },
    { live: true },
  );
  return (
    <Page
      title="Blocks"
      lead={
        <>
          Tx blocks, the latest first. Consecutive empty blocks are one row. See also <a href="#/ds">DS blocks</a> and the{" "}
          <a href="#/committee">DS committee</a>.
        </>
      }
    >
      <Paged of={blocks} empty="The chain has no blocks.">
        {(rows) => <Blocks caption="Tx blocks" rows={rows} />}
      </Paged>
    </Page>
  );
}
