// The report of a check: its steps, and what the result depends on.
import { useEffect } from "preact/hooks";
import { announce } from "../parts/live.tsx";
import { ChainText } from "../parts/text.tsx";
import { type Report, type Step, titles } from "./check.ts";

const marks: Record<Step["state"], [symbol: string, word: string, className: string]> = {
  passed: ["✓", "verified", "good"],
  failed: ["✗", "failed", "bad"],
  skipped: ["–", "not checked", "muted"],
};

export const Steps = ({ steps }: { steps: Step[] }) => (
  <ol class="proof-steps">
    {steps.map(({ id, state, text }) => {
      const [symbol, word, className] = marks[state];
      return (
        <li key={id}>
          <h3>
            {titles[id]}{" "}
            <span class={className}>
              <span aria-hidden="true">{symbol}</span> {word}
            </span>
          </h3>
          <p>
            <ChainText text={text} limit={2_000} />
          </p>
        </li>
      );
    })}
  </ol>
);

/** What a valid result depends on. */
export const Assumed = ({ of }: { of: Report }) => (
  <>
    <h3>Assumed</h3>
    <p class="muted">The result depends on these facts, which no signature and no hash can show.</p>
    <ul>
      {of.assumed.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  </>
);

/** The result of a check in one sentence, for screen readers too. */
export function Verdict({ of, valid }: { of: Report; valid: string }) {
  const failed = of.steps.find(({ state }) => state === "failed");
  const reason = failed && `The step “${titles[failed.id]}” failed: ${failed.text}`;
  useEffect(() => announce(reason ? `Not proven. ${reason}` : valid), [reason, valid]);
  if (!reason) {
    return (
      <p class="verdict valid">
        <span aria-hidden="true">✓</span> <ChainText text={valid} limit={1_000} />
      </p>
    );
  }
  return (
    <>
      <p class="verdict invalid">
        <span aria-hidden="true">✗</span> Not proven. <ChainText text={reason} limit={1_000} />
      </p>
      {failed.id === "committee" && (
        <p>If the node has a new chain, the pinned DS block does not fit. The section “Pinned DS block” of the page Proof changes the pin.</p>
      )}
    </>
  );
}
