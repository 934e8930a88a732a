// The pinned DS block: what it means, and a form that changes it.
import { useSignal } from "@preact/signals";
import { Facts, Failure } from "../parts/data.tsx";
import { Action, TextField } from "../parts/form.tsx";
import { announce } from "../parts/live.tsx";
import { Section } from "../parts/page.tsx";
import { BlockLink, Hash } from "../parts/text.tsx";
import { useResource } from "../resource.ts";
import type { Report } from "./check.ts";
import { parsePin, pin, setPin } from "./pin.ts";
import { pinOfNode } from "./source.ts";

/** Pins the latest DS block of the node if this browser has no pin. */
export const usePin = () =>
  useResource("pin", async () => {
    if (!pin.peek()) setPin(await pinOfNode());
    return true;
  });

export function PinPanel({ report }: { report?: Report | undefined }) {
  const number = useSignal("");
  const hash = useSignal("");
  const error = useSignal<Error | null>(null);
  const current = pin.value;
  const submit = (event: Event) => {
    event.preventDefault();
    error.value = null;
    try {
      setPin(parsePin(number.value, hash.value, "reader"));
      number.value = hash.value = "";
      announce("The DS block is pinned");
    } catch (cause) {
      error.value = cause as Error;
    }
  };
  const reached = report?.valid ? report.dsBlock : undefined;
  return (
    <Section title="Pinned DS block">
      <p>
        Each check begins at the pinned DS block. Signatures lead from it to the committee that signed the Tx block. So a result is as sure as the
        pin: a false pin can make a false proof valid. Compare the hash with a source other than this node: its operator, or another node. This
        browser keeps the pin.
      </p>
      {current && (
        <>
          <Facts
            rows={[
              ["DS block", <BlockLink number={current.number} kind="ds" />],
              ["Hash", <Hash value={current.hash} whole />],
              [
                "Source",
                current.source === "reader" ? (
                  <span class="good">✓ pinned by you</span>
                ) : (
                  <span class="warn">⚠ as this node says: the DS block that this browser saw first, not compared</span>
                ),
              ],
            ]}
          />
          <div class="buttons">
            {current.source === "node" && (
              <button type="button" onClick={() => setPin({ ...current, source: "reader" })}>
                I compared this hash with another source
              </button>
            )}
            {reached && BigInt(reached.number) > BigInt(current.number) && (
              <button type="button" onClick={() => setPin({ ...reached, source: current.source })}>
                Move the pin to DS block {reached.number}, which is verified from it
              </button>
            )}
          </div>
        </>
      )}
      <details>
        <summary>Pin another DS block</summary>
        <form class="narrow" onSubmit={submit}>
          <TextField label="Number of the DS block" inputMode="numeric" value={number.value} onValue={(text) => (number.value = text)} />
          <TextField label="Hash of the DS block" hint="64 hexadecimal digits, from a source that you trust." value={hash.value} onValue={(text) => (hash.value = text)} />
          {error.value && <Failure error={error.value} />}
          <button type="submit">Pin this DS block</button>
        </form>
        <p>
          If the node has a new chain, for example after a restart without a data directory, the old pin cannot fit. Then trust the node again:
        </p>
        <Action run={async () => setPin(await pinOfNode())}>Pin the latest DS block as this node says</Action>
      </details>
    </Section>
  );
}
