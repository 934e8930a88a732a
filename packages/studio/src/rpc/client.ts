// Requests of JSON-RPC to the node that serves the page.
import type { Methods } from "./types.ts";

/** The page is at `…/studio/`, and JSON-RPC is one level above, also behind a proxy with a path prefix. */
export const endpoint = new URL("../", location.href.split("#")[0]!.split("?")[0]);

/** An answer of the node that is not a result, or a request without an answer. */
export class RpcError extends Error {
  constructor(
    message: string,
    /** The error code of JSON-RPC; 0 if the node did not answer. */
    readonly code: number,
    readonly data: unknown = null,
  ) {
    super(message);
    this.name = "RpcError";
  }
}

let lastId = 0;

/** Calls a method. Throws an `RpcError` for an error of the node, and for a request without an answer. */
export function call<M extends keyof Methods>(
  method: M,
  params: Methods[M]["params"],
  signal?: AbortSignal,
): Promise<Methods[M]["result"]> {
  return request(method, params, signal) as Promise<Methods[M]["result"]>;
}

/** An answer of the node, before its text is read. */
export interface Exchange {
  status: number;
  text: string;
}

/** The body of a request. */
export const requestBody = (method: string, params: unknown): string => JSON.stringify({ id: ++lastId, jsonrpc: "2.0", method, params });

/** Sends a request, and returns the answer as text. Throws an `RpcError` if the node does not answer. */
export async function exchange(body: string, signal?: AbortSignal): Promise<Exchange> {
  try {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      ...(signal ? { signal } : {}),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RpcError("the node does not answer", 0);
  }
}

interface Answer {
  id?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** Sends a request or a batch, and returns what the node answers. */
async function answer(body: string, signal?: AbortSignal): Promise<Answer | Answer[]> {
  const { status, text } = await exchange(body, signal);
  if (status === 429) throw new RpcError("the node is busy; try again", 429);
  try {
    return JSON.parse(text) as Answer | Answer[];
  } catch {
    throw new RpcError(`expected an answer of JSON-RPC, got status ${status}`, status);
  }
}

function resultOf({ error, result }: Answer): unknown {
  if (error) throw new RpcError(error.message, error.code, error.data);
  return result;
}

/** Calls a method by a name that is known at run time only. */
export async function request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
  return resultOf((await answer(requestBody(method, params), signal)) as Answer);
}

/** Calls methods without parameters in one batch. Throws an `RpcError` if one of them fails. */
export async function callAll<M extends Array<keyof Methods>>(
  methods: [...M],
  signal?: AbortSignal,
): Promise<{ [I in keyof M]: Methods[M[I]]["result"] }> {
  const answers = await answer(`[${methods.map((method) => requestBody(method, [])).join()}]`, signal);
  // The node refuses a whole batch with one answer.
  const list = Array.isArray(answers) ? answers : [answers];
  return list.map(resultOf) as { [I in keyof M]: Methods[M[I]]["result"] };
}
