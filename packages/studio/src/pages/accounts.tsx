// All accounts, in the order of their addresses.
import { Accounts } from "../parts/lists.tsx";
import { Paged } from "../parts/data.tsx";
import { Page } from "../parts/page.tsx";
import { usePages } from "../resource.ts";
import { call } from "../rpc/client.ts";

export default function AccountsPage() {
  const accounts = usePages(
    "accounts",
    async (cursor, signal) => {
      const page = await call("silica_listAccounts", [{ limit: 100, cursor: cursor ?? null }], signal);
      return { rows: page.accounts, next: page.next ?? null };
    },
    { live: true },
  );
  return (
    <Page
      title="Accounts"
      lead={
        <>
          Accounts and contracts in the order of their addresses. <a href="#/labels">Names of addresses</a> in this browser.
        </>
      }
    >
      <Paged of={accounts} empty="The chain has no accounts.">
        {(rows) => <Accounts caption="Accounts" rows={rows} />}
      </Paged>
    </Page>
  );
}
