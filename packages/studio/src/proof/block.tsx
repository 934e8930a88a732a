// The check of one Tx block, for the page of the block.
import { Loaded } from "../parts/data.tsx";
import { useResource } from "../resource.ts";
import { link } from "../router.ts";
import { check, type Report } from "./check.ts";
import { pin } from "./pin.ts";
import { usePin } from "./pinPanel.tsx";
import { Assumed, Steps, Verdict } from "./report.tsx";
import { nodeSource } from "./source.ts";

export interface BlockCheckProps {
  number: string;
  /** The hash and the state root that the page shows. */
  hash: string;
  stateRoot: string;
}

/** Compares a block with what the page shows of it. */
function compare(report: Report, { hash, stateRoot }: BlockCheckProps): Report {
  const [first] = report.steps;
  if (!first || !report.block) return report;
  const wrong = report.block.hash !== hash ? ["hash", hash] : report.block.stateRoot !== stateRoot ? ["state root", stateRoot] : null;
  if (!wrong) return report;
  const text = `${first.text} This page shows another ${wrong[0]}: ${wrong[1]}.`;
  return { ...report, valid: false, steps: [{ ...first, state: "failed", text }, ...report.steps.slice(1)] };
}

export default function BlockCheck(props: BlockCheckProps) {
  const ready = usePin();
  return <Loaded of={ready}>{() => pin.value && <Checked {...props} key={JSON.stringify(pin.value)} />}</Loaded>;
}

function Checked(props: BlockCheckProps) {
  const { number } = props;
  const report = useResource(`check ${number}`, async (signal) =>
    compare(await check(pin.peek()!, nodeSource(number, undefined, signal), { number, signal }), props),
  );
  return (
    <Loaded of={report}>
      {(of) => (
        <>
          <Verdict of={of} valid={`The committee that follows from the pinned DS block ${pin.value!.number} signed this block.`} />
          <Steps steps={of.steps} />
          {of.valid && <Assumed of={of} />}
          <p>
            <a href={link(["proof"])}>Change the pinned DS block</a>
          </p>
        </>
      )}
    </Loaded>
  );
}
