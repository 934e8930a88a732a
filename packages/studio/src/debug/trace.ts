// Reads a trace from the node.
import { call } from "../rpc/client.ts";
import type { Exception, SimulatedTransaction, TracedCall, TransactionTrace } from "../rpc/types.ts";
import { joinCalls } from "./join.ts";

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

/** Reads the trace of a simulated transaction. */
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
