// The statuses of transactions and the errors of receipts in words. (Reference: execution#statuses, #receipt-errors)
import type { Receipt } from "../rpc/types.ts";

const statuses: Record<number, string> = {
  1: "no block has tried to execute it yet",
  3: "in a Tx block",
  4: "a transaction with a lower nonce is missing",
  5: "the last block had too little gas, work or space left for it",
  10: "the result of a calculation is out of range",
  11: "init data, message, contract or libraries are invalid",
  12: "no interpreter has the Scilla version",
  13: "the sender has no account",
  14: "the gas limit exceeds the gas limit of the micro block",
  15: "the chain does not execute this kind of transaction",
  18: "the code is too large",
  19: "signature, chain id or version is wrong",
  20: "the gas limit is below the minimum of its kind",
  21: "the balance of the sender is too low",
  22: "the gas price is too low, or the gas limit is too low to start the contract",
  24: "another transaction with this nonce replaced it",
  25: "a payment went to a contract, or a call to an account that does not exist",
  26: "another contract has the address",
  27: "the nonce is used",
  255: "it expired, was evicted or withdrawn, or the node had a fault",
};

export const statusWords = (code: number): string => statuses[code] ?? `status ${code}`;

const errors: Record<number, string> = {
  0: "the checker rejects the contract",
  1: "the run of the deployment failed",
  2: "too little money for `accept` or a message",
  5: "the checker or the interpreter stopped before it reported its gas; a parameter can have a wrong form",
  7: "a call ended with an error or exception",
  8: "the run of the deployment ended with an error",
  9: "events and messages are too large or too deep for a receipt",
  12: "an event is malformed",
  13: "a message is malformed",
  14: "a message went to the null account",
  15: "more than 20 chained calls",
  17: "the called contract cannot be prepared",
  21: "less than 300 gas was left for a run",
  22: "code or init data of the called contract cannot be read",
  23: "a message went to a library",
  25: "libraries of the called contract are missing",
};

/** Returns the errors of a failed receipt in words, in the order of the chained calls. */
export function receiptErrors(receipt: Receipt): string[] {
  const codes = Object.values(receipt.errors ?? {}).flat();
  // The last number of a deployment repeats the failure in general words.
  const specific = codes.filter((code) => code > 1);
  return [...new Set(specific.length ? specific : codes)].map((code) => errors[code] ?? `error ${code}`);
}
