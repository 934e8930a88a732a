// What the page knows of its node.
import { signal } from "@preact/signals";
import { call } from "./rpc/client.ts";
import type { NodeSettings } from "./rpc/types.ts";

/** Settings of the node; null until the first answer. */
export const settings = signal<NodeSettings | null>(null);

/** Reads the settings again. A failure keeps the old ones. */
export async function readSettings(): Promise<void> {
  try {
    settings.value = await call("silica_nodeInfo", []);
  } catch {
    // The header shows that the connection is lost.
  }
}
