// The data of transactions and the messages of receipts.
import type { ContractParam, Transition } from "../rpc/types.ts";

/** The data of a call or deployment. `tag` is null for the init data of a deployment. */
export interface TransactionData {
  tag: string | null;
  params: ContractParam[];
}

function isParam(value: unknown): value is ContractParam {
  const param = value as Partial<ContractParam> | null;
  return typeof param === "object" && param !== null && typeof param.vname === "string" && typeof param.type === "string";
}

/** Parses the data of a transaction. Returns null if the text is not a message and not init data. */
export function parseData(text: string | undefined): TransactionData | null {
  let data: unknown;
  try {
    data = JSON.parse(text ?? "");
  } catch {
    return null;
  }
  if (Array.isArray(data)) return data.every(isParam) ? { tag: null, params: data } : null;
  if (typeof data !== "object" || data === null) return null;
  const { _tag: tag, params } = data as { _tag?: unknown; params?: unknown };
  return typeof tag === "string" && Array.isArray(params) && params.every(isParam) ? { tag, params } : null;
}

/** A message of a receipt, with the messages that its recipient sent. */
export interface MessageTree {
  message: Transition;
  sent: MessageTree[];
}

/**
 * Builds the tree of the messages of a receipt. A receipt lists a message before the messages that it causes, and
 * `depth` of a message is the depth of its sender.
 */
export function messageTree(transitions: Transition[]): MessageTree[] {
  const roots: MessageTree[] = [];
  const path: MessageTree[] = [];
  for (const message of transitions) {
    const node = { message, sent: [] };
    path.length = Math.min(path.length, message.depth);
    (path.at(-1)?.sent ?? roots).push(node);
    path.push(node);
  }
  return roots;
}
