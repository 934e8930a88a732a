// The latest change of a value of the state, found in the traces of the latest transactions of its contract.
import { useSignal } from "@preact/signals";
import { formatNumber } from "../format/amount.ts";
import { Action } from "../parts/form.tsx";
import { BlockLink, TransactionLink } from "../parts/text.tsx";
import { call, RpcError } from "../rpc/client.ts";
import type { AddressTransaction, VariableChange } from "../rpc/types.ts";

/** Transactions that one search reads. For each of them, the node executes the transaction again. */
const longestSearch = 25;

interface Value {
  address: string;
  field: string;
  keys: string[];
  /** The value is in the state after this block. */
  block: string;
}

const startsWith = (whole: string[], part: string[]): boolean => part.every((key, place) => whole[place] === key);

/** Whether a change is of the value, of a map with the value, or of an entry of the value. */
export const touches = ({ variable, indices }: VariableChange, { field, keys }: Pick<Value, "field" | "keys">): boolean =>
  variable === field && (startsWith(indices, keys) || startsWith(keys, indices));

/** Returns the latest transaction that changed the value, or a text about the search without a result. */
async function lastChange(value: Value): Promise<AddressTransaction | string> {
  const page = await call("silica_getTransactionsForAddress", [value.address, { limit: longestSearch }]);
  // Failed transactions change no state.
  const rows = page.transactions.filter(({ success, block }) => success && BigInt(block) <= BigInt(value.block));
  for (const row of rows) {
    try {
      const { changes } = await call("silica_traceTransaction", [row.hash, { limit: 1, values: false }]);
      const own = changes.find(({ address }) => address === value.address);
      if (own?.variables?.some((change) => touches(change, value))) return row;
    } catch (error) {
      if (!(error instanceof RpcError) || error.code === 0 || error.code === 429) throw error;
      return `The node cannot trace the transactions up to block ${formatNumber(row.block)}: ${error.message}.`;
    }
  }
  return page.next == null
    ? "No transaction of the contract changed the value."
    : `None of the latest ${longestSearch} transactions of the contract changed the value.`;
}

/** A button that searches the transaction that changed the value. */
export function LastChange(value: Value) {
  const found = useSignal<AddressTransaction | string | null>(null);
  return (
    <div>
      <Action run={async () => void (found.value = await lastChange(value))}>Find the latest change</Action>{" "}
      <span role="status">
        {typeof found.value === "string"
          ? found.value
          : found.value && (
              <>
                Changed in block <BlockLink number={found.value.block} /> by <TransactionLink hash={found.value.hash} />
              </>
            )}
      </span>
    </div>
  );
}
