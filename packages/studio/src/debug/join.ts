// Joins the pages of a trace.
import type { TracedCall } from "../rpc/types.ts";

/**
 * Adds the next page of a call to its earlier pages. Each page has all calls with a run, but a message without a run is
 * on one page only.
 */
export function joinCalls(call: TracedCall, next: TracedCall): void {
  call.params ??= next.params;
  if (call.run && next.run) for (const step of next.run.steps) call.run.steps.push(step);
  const [before, after] = [groups(call.calls), groups(next.calls)];
  call.calls = after.flatMap(({ sent, run }, index) => {
    const earlier = before[index];
    if (earlier?.run && run) joinCalls(earlier.run, run);
    return [...(earlier?.sent ?? []), ...sent, ...(earlier?.run ?? run ? [earlier?.run ?? run!] : [])];
  });
}

/** Splits messages into groups that end with a message with a run. */
function groups(calls: TracedCall[]): Array<{ sent: TracedCall[]; run?: TracedCall }> {
  let group: { sent: TracedCall[]; run?: TracedCall } = { sent: [] };
  const all = [group];
  for (const call of calls) {
    if (!call.run) group.sent.push(call);
    else {
      group.run = call;
      all.push((group = { sent: [] }));
    }
  }
  return all;
}
