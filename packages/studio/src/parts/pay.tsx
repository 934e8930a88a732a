// Actions of a developer for an account: money from the faucet, and payments that the node sends without a signature.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { parseAddress } from "../format/address.ts";
import { parseAmount, formatNumber } from "../format/amount.ts";
import { receiptErrors } from "../format/status.ts";
import { call } from "../rpc/client.ts";
import type { Simulation } from "../rpc/types.ts";
import { Failure, Facts } from "./data.tsx";
import { Action, TextField } from "./form.tsx";
import { announce } from "./live.tsx";
import { Section } from "./page.tsx";
import { Amount, BlockLink, TransactionLink } from "./text.tsx";

/** Returns the amount in Qa, or the error of the text. */
function amountOf(text: string): { qa?: string; error?: string } {
  try {
    return { qa: parseAmount(text, "ZIL").toString() };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** A field for an amount in ZIL. An error appears after the reader leaves the field. */
export function AmountField({ label, hint, value, onValue }: { label: string; hint?: string; value: string; onValue: (value: string) => void }) {
  const left = useSignal(false);
  return (
    <div onFocusOut={() => (left.value = true)}>
      <TextField
        label={label}
        hint={hint}
        value={value}
        inputMode="decimal"
        error={left.value && value !== "" ? amountOf(value).error : undefined}
        onValue={onValue}
      />
    </div>
  );
}

export function Fund({ hex, done }: { hex: string; done: () => void }) {
  const amount = useSignal("1000");
  const block = useSignal<string | null>(null);
  const { qa } = amountOf(amount.value);
  return (
    <Section title="Fund">
      <form class="narrow" onSubmit={(event) => event.preventDefault()}>
        <AmountField
          label="Amount in ZIL"
          hint="The node adds the amount to the balance with a block of its own. No other account pays."
          value={amount.value}
          onValue={(value) => (amount.value = value)}
        />
        <Action
          disabled={qa === undefined || qa === "0"}
          run={async () => {
            block.value = null;
            block.value = await call("silica_addBalance", [hex, qa!]);
            announce("The balance was increased");
            done();
          }}
        >
          Add to the balance
        </Action>
        {block.value !== null && (
          <p class="good">
            ✓ added in block <BlockLink number={block.value} />
          </p>
        )}
      </form>
    </Section>
  );
}

const simulationDelay = 300;

type Result = { key: string; simulation?: Simulation; error?: Error };

export function Pay({ hex, done }: { hex: string; done: () => void }) {
  const to = useSignal("");
  const toLeft = useSignal(false);
  const amount = useSignal("");
  const result = useSignal<Result | null>(null);
  const sent = useSignal<string | null>(null);
  const recipient = parseAddress(to.value);
  const { qa } = amountOf(amount.value);
  const ready = recipient !== null && qa !== undefined;
  const key = ready ? `${recipient} ${qa}` : "";
  const payment = () => ({ senderAddr: hex, toAddr: recipient, amount: qa ?? null });

  useEffect(() => {
    if (!ready) return;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      call("silica_simulateTransaction", [payment()], controller.signal).then(
        (simulation) => (result.value = { key, simulation }),
        (error: Error) => {
          if (!controller.signal.aborted) result.value = { key, error };
        },
      );
    }, simulationDelay);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key]);

  const current = result.value?.key === key ? result.value : null;
  const succeeds = current?.simulation?.receipt.success === true;
  return (
    <Section title="Send a payment as this account">
      <form class="narrow" onSubmit={(event) => event.preventDefault()}>
        <p class="hint">The node sends the payment without a signature, so that no key is in the page.</p>
        <div onFocusOut={() => (toLeft.value = true)}>
          <TextField
            label="Recipient"
            placeholder="zil1… or 0x…"
            value={to.value}
            error={toLeft.value && to.value && !recipient ? "expected bech32 (zil1…) or 40 hexadecimal digits" : undefined}
            onValue={(value) => (to.value = value)}
          />
        </div>
        <AmountField label="Amount in ZIL" value={amount.value} onValue={(value) => (amount.value = value)} />
        {ready && (
          <div role="status">
            <Simulated result={current} />
          </div>
        )}
        <Action
          primary
          disabled={!succeeds}
          run={async () => {
            sent.value = null;
            sent.value = (await call("silica_sendTransaction", [payment()])).TranID;
            announce("The payment was sent");
            result.value = null;
            amount.value = "";
            done();
          }}
        >
          Send
        </Action>
        {sent.value && (
          <p class="good">
            ✓ sent: <TransactionLink hash={sent.value} />
          </p>
        )}
      </form>
    </Section>
  );
}

function Simulated({ result }: { result: Result | null }): ComponentChildren {
  if (!result) return <p class="muted">Simulation…</p>;
  if (result.error) return <Failure error={result.error} />;
  const { receipt, fee, gasUsed } = result.simulation!;
  return (
    <Facts
      rows={[
        [
          "Simulation",
          receipt.success ? <span class="good">✓ succeeds</span> : <span class="bad">✗ fails: {receiptErrors(receipt).join("; ")}</span>,
        ],
        ["Fee", <Amount qa={fee} />],
        ["Gas", formatNumber(gasUsed)],
      ]}
    />
  );
}
