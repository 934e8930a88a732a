// Reads a trace from the node, and joins its pages.
import { call } from "../rpc/client.ts";
import type { Exception, SimulatedTransaction, TracedCall, TransactionTrace } from "../rpc/types.ts";

export interface Trace {
  call: TracedCall | null;
  success: boolean;
  exceptions: Exception[];
  /** Gas of the whole transaction. */
  gasUsed: string;
  /** The Tx block with the transaction; null for a simulation. */
  block: string | null;
  /** Number of statements that the transaction executed; null if the node does not say it. */
  executed: number | null;
  /** Whether values, or statements of a simulation, are missing because of a limit of the node. */
  truncated: boolean;
}

/** Steps of one request. The node executes the transaction again for each request, so small pages are slow. */
const stepsOfPage = 5_000;
/** Steps above which the page stops to read: the browser holds all steps. */
export const mostSteps = 100_000;

/** Reads the trace of a transaction, in pages. */
export async function readTrace(hash: string, signal: AbortSignal, progress: (read: number, all: number) => void): Promise<Trace> {
  let whole: TransactionTrace | undefined;
  let from: number | null = 0;
  let truncated = false;
  while (from !== null && from < mostSteps) {
    const page: TransactionTrace = await call("silica_traceTransaction", [hash, { fromStep: from, limit: stepsOfPage }], signal);
    truncated ||= page.truncated;
    if (whole?.call && page.call) joinCalls(whole.call, page.call);
    whole ??= page;
    from = page.page?.nextStep ?? null;
    progress(from ?? page.page?.steps ?? 0, page.page?.steps ?? 0);
    whole.page = page.page ?? null;
  }
  const { call: root, receipt, block, page } = whole!;
  return {
    call: root ?? null,
    success: receipt.success,
    exceptions: receipt.exceptions ?? [],
    gasUsed: receipt.cumulative_gas,
    block,
    executed: page?.steps ?? null,
    truncated,
  };
}

/** Reads the trace of a transaction that is not in a block. */
export async function traceSimulation(transaction: SimulatedTransaction, signal: AbortSignal): Promise<Trace> {
  const { call: root, simulation, truncated } = await call("silica_traceCall", [transaction], signal);
  return {
    call: root ?? null,
    success: simulation.receipt.success,
    exceptions: simulation.receipt.exceptions ?? [],
    gasUsed: simulation.gasUsed,
    block: null,
    executed: null,
    truncated,
  };
}

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

const place = "silica-studio/simulation";

/** Keeps a transaction for the debugger. The route of the simulation is `debug/simulation`. */
export function keepSimulation(transaction: SimulatedTransaction): void {
  sessionStorage.setItem(place, JSON.stringify(transaction));
}

/** Returns the transaction that was kept last; null if there is none. */
export function keptSimulation(): SimulatedTransaction | null {
  try {
    return JSON.parse(sessionStorage.getItem(place) ?? "null") as SimulatedTransaction | null;
  } catch {
    return null;
  }
}
