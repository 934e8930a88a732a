// The transaction whose simulation the debugger shows. Only this tab of the browser keeps it.
import type { SimulatedTransaction } from "../rpc/types.ts";

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
