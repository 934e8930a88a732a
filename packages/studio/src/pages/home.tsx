// The home page: the state of the chain, pending and latest transactions, latest blocks, accounts, and block production.
import { useSignal } from "@preact/signals";
import { nullAddress } from "../format/address.ts";
import { parseAmount } from "../format/amount.ts";
import { settings, readSettings } from "../node.ts";
import { Facts, Loaded } from "../parts/data.tsx";
import { Action, Field, TextField } from "../parts/form.tsx";
import { Accounts, Blocks, Transactions } from "../parts/lists.tsx";
import { Page, Section } from "../parts/page.tsx";
import { PendingTransactions } from "../parts/pool.tsx";
import { Address, Amount, BlockLink } from "../parts/text.tsx";
import { useResource } from "../resource.ts";
import { link } from "../router.ts";
import { call, callAll } from "../rpc/client.ts";
import type { AccountRow } from "../rpc/types.ts";

const limit = 15;
const live = { live: true };

const canPay = ({ address, balance, codeHash }: AccountRow) => !codeHash && balance !== "0" && address !== nullAddress;

export default function Home() {
  const blocks = useResource("blocks", (signal) => call("silica_getBlockRange", [{ limit }], signal), live);
  const latest = useResource("transactions", (signal) => call("silica_getTransactionSummaries", [{ limit }], signal), live);
  const accounts = useResource("accounts", (signal) => call("silica_listAccounts", [{ limit: 10 }], signal), live);
  const money = useResource("money", (signal) => callAll(["GetMinimumGasPrice", "GetTotalCoinSupply"], signal), live);
  const node = settings.value;
  // The latest row of blocks is newer than the settings.
  const dsBlock = blocks.value?.blocks[0]?.dsBlock ?? node?.latestDsBlock;
  return (
    <Page title="Home">
      {latest.value?.transactions.length === 0 && <FirstSteps sender={accounts.value?.accounts.find(canPay)?.address} />}
      <Section title="Chain">
        <Facts
          rows={[
            node && ["Chain id", node.chainId],
            node && ["Block mode", node.paused ? `${node.blockMode}, paused` : node.blockMode],
            dsBlock !== undefined && ["DS block", <BlockLink number={dsBlock} kind="ds" />],
            money.value !== undefined && ["Minimum gas price", <Amount qa={money.value[0]} unit="Li" />],
            money.value !== undefined && ["Supply", <Amount qa={parseAmount(money.value[1], "ZIL")} />],
            node && ["Profile", node.profile],
          ]}
        />
        {node?.developerMethods && <Production mode={node.blockMode} />}
      </Section>
      <PendingTransactions />
      <div class="columns">
        <Section title="Latest blocks" action={<a href="#/blocks">All blocks</a>}>
          <Loaded of={blocks}>{(page) => <Blocks caption="Latest blocks" rows={page.blocks} short />}</Loaded>
        </Section>
        <Section title="Latest transactions" action={<a href="#/transactions">All transactions</a>}>
          <Loaded of={latest}>
            {(page) =>
              page.transactions.length ? (
                <Transactions caption="Latest transactions" rows={page.transactions} short />
              ) : (
                <p class="muted">The chain has no transactions yet.</p>
              )
            }
          </Loaded>
        </Section>
      </div>
      <Section title="Accounts" action={<a href="#/accounts">All accounts</a>}>
        <Loaded of={accounts}>{(page) => <Accounts caption="Accounts" rows={page.accounts} />}</Loaded>
      </Section>
    </Page>
  );
}

/** What a newcomer can do with a chain without transactions. */
function FirstSteps({ sender }: { sender: string | undefined }) {
  return (
    <Section title="First steps">
      {settings.value?.developerMethods && sender ? (
        <ol>
          <li>
            Send a payment: open <a href={link(["address", `0x${sender}`], { tab: "send" })}>Fund and send</a> of the account{" "}
            <Address hex={sender} />. Type another address as recipient, for example of the list below, and an amount. The page first shows the
            fee.
          </li>
          <li>The payment appears on this page, and its page shows its receipt and its changes of balances.</li>
          <li>
            <a href="#/deploy">Deploy a contract</a>, and call its transitions.
          </li>
        </ol>
      ) : (
        <p>
          The methods for developers are off, so this page sends no payments. A wallet, an SDK or the command <code>silica send</code> signs and
          sends the first payment. The payment then appears here.
        </p>
      )}
    </Section>
  );
}

const modes = ["instant", "interval", "instant+interval", "manual", "manual-immediate"];
const mostBlocks = 10_000_000;

/** A bar that makes blocks and changes the block mode. */
function Production({ mode }: { mode: string }) {
  const count = useSignal("1");
  const [kind, milliseconds] = mode.split("=", 2) as [string, string?];
  const selected = useSignal(kind);
  const interval = useSignal(milliseconds ?? "5000");
  const before = useSignal<string | null>(null);
  const change = async (next: string) => {
    await call("silica_setBlockMode", [next]);
    selected.value = next.split("=")[0]!;
    await readSettings();
  };
  const blocks = Number(count.value);
  const valid = /^\d+$/.test(count.value) && blocks >= 1 && blocks <= mostBlocks;
  const timed = selected.value.endsWith("interval");
  const next = timed ? `${selected.value}=${interval.value}` : selected.value;
  const validInterval = !timed || (/^\d+$/.test(interval.value) && Number(interval.value) >= 1 && Number(interval.value) <= 86_400_000);
  return (
    <div class="bar" role="group" aria-label="Block production">
      <TextField
        label="Blocks"
        inputMode="numeric"
        value={count.value}
        error={valid ? undefined : `expected a number from 1 to ${mostBlocks}`}
        onValue={(value) => (count.value = value)}
      />
      <Action disabled={!valid} run={async () => void (await call("silica_mine", [blocks]))}>
        Mine
      </Action>
      <Field label="Block mode">
        {(attributes) => (
          <select {...attributes} value={selected.value} onChange={(event) => (selected.value = event.currentTarget.value)}>
            {modes.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {timed && (
        <TextField
          label="Interval in ms"
          inputMode="numeric"
          value={interval.value}
          error={validInterval ? undefined : "expected a number from 1 to 86400000"}
          onValue={(value) => (interval.value = value)}
        />
      )}
      <Action
        disabled={next === mode || !validInterval}
        run={() => change(next)}
      >
        Change mode
      </Action>
      {mode !== "manual" ? (
        <Action
          run={async () => {
            // A manual node makes blocks on request only. `TogglePause` needs a secret, which no page has.
            await change("manual");
            before.value = mode;
          }}
        >
          Pause blocks
        </Action>
      ) : (
        before.value && <Action run={() => change(before.value!)}>Resume {before.value}</Action>
      )}
    </div>
  );
}
