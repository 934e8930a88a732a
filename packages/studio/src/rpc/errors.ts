// Errors of the node that a page treats as an answer.
import { RpcError } from "./client.ts";

/** The codes of the node for a transaction, and for an account, that does not exist. */
export const absent = { transaction: -20, account: -5 };

/** Returns null instead of the error with a code. */
export async function orNull<T>(answer: Promise<T>, code: number): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RpcError && error.code === code) return null;
    throw error;
  }
}
