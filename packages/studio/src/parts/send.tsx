// Sends a transaction: who signs, what the simulation says before, and the status after.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { keepSimulation } from "../debug/simulation.ts";
import { formatAmount, formatNumber } from "../format/amount.ts";
import { parseAddress, toBech32 } from "../format/address.ts";
import { receiptErrors, statusWords } from "../format/status.ts";
import { settings } from "../node.ts";
import { useResource } from "../resource.ts";
import { link } from "../router.ts";
import { call } from "../rpc/client.ts";
import type { AccountRow, Receipt, Simulation, SimulatedTransaction } from "../rpc/types.ts";
import { load, save } from "../storage.ts";
import { connectWallet, findWallet, networkValues, sendByWallet } from "../wallet.ts";
import { addressBook } from "./addresses.tsx";
import { Changes } from "./changes.tsx";
import { Facts, Failure, Loaded } from "./data.tsx";
import { Action, Field, TextField } from "./form.tsx";
import { Pending } from "./pool.tsx";
import { Section } from "./page.tsx";
import { Address, Amount, ChainText, Outcome, shorten, TransactionLink } from "./text.tsx";
import { Params } from "./values.tsx";

/** A transaction before a person chose the sender and the gas. */
export type Draft = Omit<SimulatedTransaction, "senderAddr" | "gasLimit" | "gasPrice">;

/** Milliseconds between the last change of a form and its simulation. */
const delay = 300;

/** Returns a value after it has not changed for a time. */
export function useSettled<T>(value: T, milliseconds = delay): T {
  const settled = useSignal(value);
  useEffect(() => {
    const timer = setTimeout(() => (settled.value = value), milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return settled.value;
}

interface SendProps {
  /** What the transaction does, for the button: `Transfer`, `deployment`. */
  what: string;
  /** The transaction, or why there is none yet. */
  draft: Draft | { problem: string };
  accounts: AccountRow[] | undefined;
  /** The source of the contract that runs first, for the lines of a failure. */
  source?: string | undefined;
  /** Moves to a line of the source. */
  showLine?: (line: number) => ComponentChildren;
}

export function Send({ what, draft, accounts, source, showLine }: SendProps) {
  const developer = settings.value?.developerMethods ?? false;
  const wallet = useSignal<string | null>(null);
  const typed = useSignal(load("sender") ?? "");
  const changed = useSignal(false);
  const left = useSignal(false);
  const gasLimit = useSignal("");
  const gasPrice = useSignal("");
  const sent = useSignal<{ hash: string; contract: string | null } | null>(null);

  // The first account with money is a start; a person chooses another one.
  const first = accounts?.find(({ codeHash, balance }) => !codeHash && balance !== "0")?.address;
  useEffect(() => {
    if (first && !changed.value && !typed.value) typed.value = toBech32(first);
  }, [first]);
  const sender = wallet.value ?? parseAddress(typed.value);
  const numbers = { gasLimit: gasLimit.value.trim(), gasPrice: gasPrice.value.trim() };
  const wrongNumber = (text: string) => (/^\d*$/.test(text) ? null : `expected decimal digits, got ${JSON.stringify(text)}`);
  const wrong = wrongNumber(numbers.gasLimit) ?? wrongNumber(numbers.gasPrice);
  const problem = "problem" in draft ? draft.problem : !sender ? "sender: expected an address" : wrong && `gas: ${wrong}`;
  const transaction: SimulatedTransaction | null =
    problem === null && !("problem" in draft) && sender
      ? {
          ...draft,
          senderAddr: `0x${sender}`,
          ...(numbers.gasLimit ? { gasLimit: numbers.gasLimit } : {}),
          ...(numbers.gasPrice ? { gasPrice: numbers.gasPrice } : {}),
        }
      : null;
  const key = transaction ? JSON.stringify(transaction) : "";
  const settled = useSettled(key);
  const simulation = useResource(
    settled,
    async (signal) => (settled ? await call("silica_simulateTransaction", [JSON.parse(settled) as SimulatedTransaction], signal) : null),
    { live: true },
  );
  // A result of an earlier form must not be taken for the result of this form.
  const current = settled === key ? simulation : { ...simulation, value: undefined, error: undefined, loading: true };
  const result = current.value;

  const send = async () => {
    if (!transaction || !sender) return;
    save("sender", typed.value);
    // No limit lets a transaction succeed that fails, so it gets the limit of its simulation.
    const limit = result?.receipt.success ? (await call("silica_estimateGas", [transaction])).gasLimit : result?.gasLimit;
    const whole = { ...transaction, gasLimit: transaction.gasLimit ?? limit ?? null };
    if (wallet.value) {
      const price = transaction.gasPrice ?? (await call("GetMinimumGasPrice", []));
      sent.value = { hash: await sendByWallet(wallet.value, whole, price), contract: result?.contractAddress ?? null };
      return;
    }
    const answer = await call("silica_sendTransaction", [whole]);
    sent.value = { hash: answer.TranID, contract: answer.ContractAddress ?? null };
  };

  const mayAsk = developer || wallet.value !== null;
  return (
    <>
      <Section title="Sender">
        {wallet.value ? (
          <p>
            Wallet account <Address hex={wallet.value} />{" "}
            <button type="button" onClick={() => (wallet.value = null)}>
              Use no wallet
            </button>
          </p>
        ) : (
          <Field
            label="Address of the sender"
            hint={developer ? "The node sends for any address, without a key." : "The node simulates for any address. To send, connect a wallet."}
            error={left.value && !sender ? `expected an address as zil1… or 40 hexadecimal digits, got ${JSON.stringify(typed.value.slice(0, 100))}` : null}
          >
            {(attributes) => (
              <input
                {...attributes}
                type="text"
                list={addressBook}
                autocomplete="off"
                spellcheck={false}
                value={typed.value}
                placeholder="zil1… or 0x…"
                onInput={(event) => {
                  changed.value = true;
                  typed.value = event.currentTarget.value;
                }}
                onBlur={() => (left.value = true)}
              />
            )}
          </Field>
        )}
        <WalletChoice account={wallet.value} onAccount={(account) => (wallet.value = account)} />
        <details>
          <summary>Gas</summary>
          <TextField label="Gas limit" hint="Empty: the limit that the node estimates" inputMode="numeric" value={gasLimit.value} error={wrongNumber(numbers.gasLimit)} onValue={(text) => (gasLimit.value = text)} />
          <TextField label="Gas price in Qa" hint="Empty: the minimum gas price" inputMode="numeric" value={gasPrice.value} error={wrongNumber(numbers.gasPrice)} onValue={(text) => (gasPrice.value = text)} />
        </details>
      </Section>
      <Section title="Simulation">
        {problem !== null ? (
          <p class="muted">
            <ChainText text={problem} limit={400} />
          </p>
        ) : current.error ? (
          <Failure error={current.error} retry={simulation.reload} />
        ) : result ? (
          <>
            <SimulationView simulation={result} amount={transaction?.amount ?? "0"} source={source} showLine={showLine} />
            {transaction && !transaction.code && (
              <a href={link(["debug", "simulation"])} onClick={() => keepSimulation(transaction)}>
                Step through the simulation
              </a>
            )}
          </>
        ) : (
          <p class="muted" aria-busy="true">
            Simulating…
          </p>
        )}
      </Section>
      {mayAsk ? (
        <Action run={send} primary disabled={!transaction || !result}>
          Send {what.length > 40 ? shorten(what, 30, 8) : what}
          {sender && ` from ${shorten(toBech32(sender), 9, 6)}`}
          {transaction && `, amount ${formatAmount(transaction.amount ?? "0")}`}
          {result && `, fee ${formatAmount(result.fee)}`}
          {result && !result.receipt.success && " – it will fail"}
        </Action>
      ) : (
        <p>
          This node does not sign for the page. Connect a wallet, or use <code>silica send</code>.
        </p>
      )}
      {sent.value && <Sent key={sent.value.hash} {...sent.value} />}
    </>
  );
}

/** The connection to a wallet, and the values of its private network. */
function WalletChoice({ account, onAccount }: { account: string | null; onAccount: (account: string) => void }) {
  if (account !== null) return null;
  const found = findWallet() !== undefined;
  return (
    <details>
      <summary>Sign with a wallet in the browser</summary>
      {found ? (
        <Action run={async () => onAccount(await connectWallet())}>Connect the wallet</Action>
      ) : (
        <p class="muted">The browser has no wallet with the interface of ZilPay.</p>
      )}
      <p class="muted">The wallet signs and sends through its own network. Set its private network to these values:</p>
      <Facts rows={networkValues().map(([name, value]) => [name, <code>{value}</code>])} />
    </details>
  );
}

/** The result that a transaction would have. */
export function SimulationView({ simulation, amount, source, showLine }: {
  simulation: Simulation;
  /** The amount of the transaction in Qa. */
  amount: string;
  source?: string | undefined;
  showLine?: ((line: number) => ComponentChildren) | undefined;
}) {
  const { receipt, changes } = simulation;
  return (
    <div aria-live="polite">
      <Facts
        rows={[
          ["Result", <Outcome success={receipt.success} />],
          ["Gas", formatNumber(simulation.gasUsed)],
          ["Fee", <Amount qa={simulation.fee} />],
          amount !== "0" && typeof receipt.accepted === "boolean" && ["Amount", receipt.accepted ? "accepted by the contract" : "not accepted by the contract"],
          simulation.contractAddress ? ["New contract", <Address hex={simulation.contractAddress} />] : null,
        ]}
      />
      {!receipt.success && <FailureReasons receipt={receipt} source={source} showLine={showLine} />}
      <Events receipt={receipt} />
      <Messages receipt={receipt} />
      {changes.length > 0 && (
        <details open>
          <summary>Changes of accounts: {changes.length}</summary>
          <Changes changes={changes} />
        </details>
      )}
    </div>
  );
}

/** Why a transaction fails: the text of each exception, with the line of the source. */
function FailureReasons({ receipt, source, showLine }: {
  receipt: Receipt;
  source: string | undefined;
  showLine: ((line: number) => ComponentChildren) | undefined;
}) {
  // The key counts the chained calls before the error. With 0, the lines are lines of the called contract.
  const own = Object.keys(receipt.errors ?? {}).every((calls) => calls === "0");
  const lines = own && source !== undefined ? source.split("\n") : [];
  const exceptions = receipt.exceptions ?? [];
  return (
    <ol class="failure-reasons">
      {exceptions.map(({ line, message }, place) => (
        <li key={place}>
          <ChainText text={message} limit={1_000} />
          {line > 0 && (
            <div>
              {own && showLine ? showLine(line) : `line ${line}${own ? "" : " of a contract in the chain of calls"}`}
              {lines[line - 1] !== undefined && (
                <pre>
                  <ChainText text={lines[line - 1]!.trim()} limit={400} />
                </pre>
              )}
            </div>
          )}
        </li>
      ))}
      {exceptions.length === 0 && receiptErrors(receipt).map((words) => <li key={words}>{words}</li>)}
    </ol>
  );
}

const Events = ({ receipt }: { receipt: Receipt }) =>
  receipt.event_logs?.length ? (
    <details open>
      <summary>Events: {receipt.event_logs.length}</summary>
      {receipt.event_logs.map((event, place) => (
        <div key={place} class="event">
          <strong>
            <ChainText text={event._eventname} limit={100} />
          </strong>{" "}
          of <Address hex={event.address} />
          <Params caption="Parameters of the event" params={event.params} />
        </div>
      ))}
    </details>
  ) : null;

const Messages = ({ receipt }: { receipt: Receipt }) =>
  receipt.transitions?.length ? (
    <details>
      <summary>Messages: {receipt.transitions.length}</summary>
      {receipt.transitions.map(({ addr, msg }, place) => (
        <div key={place} class="event">
          <strong>
            <ChainText text={msg._tag || "payment"} limit={100} />
          </strong>{" "}
          from <Address hex={addr} /> to <Address hex={msg._recipient} />, <Amount qa={msg._amount} />
          <Params caption="Parameters of the message" params={msg.params} />
        </div>
      ))}
    </details>
  ) : null;

/** A sent transaction: its status until it is final, with links. */
function Sent({ hash, contract }: { hash: string; contract: string | null }) {
  const status = useResource(`status ${hash}`, (signal) => call("GetTransactionStatus", [hash], signal), { live: (value) => value?.modificationState !== 2 });
  const final = status.value?.modificationState === 2;
  // A status can change without a block, for example when the pool drops the transaction.
  useEffect(() => {
    if (final) return;
    const timer = setInterval(() => status.reload(), 2_000);
    return () => clearInterval(timer);
  }, [final, hash]);
  return (
    <Section title="Sent">
      <div role="status">
        <Facts
          rows={[
            ["Transaction", <TransactionLink hash={hash} />],
            [
              "Status",
              <Loaded of={status}>
                {({ modificationState, success, status: code }) =>
                  modificationState !== 2 ? <Pending code={code} /> : code === 3 ? <Outcome success={success} /> : (
                    <>
                      <span class="bad">✗ dropped</span>: {statusWords(code)}
                    </>
                  )
                }
              </Loaded>,
            ],
            contract !== null && [
              "Contract",
              <>
                <Address hex={contract} /> <a href={link(["contract", `0x${contract}`])}>Open the contract</a>
              </>,
            ],
          ]}
        />
      </div>
    </Section>
  );
}
