// The report of a check: its steps, and what the result depends on.
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
  return (
    <div class={of.valid ? "verdict valid" : "verdict invalid"} role="status">
      {of.valid ? (
        <>
          <span aria-hidden="true">✓</span> <ChainText text={valid} limit={1_000} />
        </>
      ) : (
        <>
          <span aria-hidden="true">✗</span> Not proven. The step “{failed && titles[failed.id]}” failed:{" "}
          <ChainText text={failed?.text ?? ""} limit={1_000} />
        </>
      )}
    </div>
  );
}
