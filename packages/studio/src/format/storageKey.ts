// The storage key of an entry of contract storage, and its hash: the variable hash of a state proof.
import { sha256 } from "@noble/hashes/sha2.js";
import { toHex } from "./bytes.ts";

const separator = "\u0016";
/** Entries of metadata whose parts are names of fields, and not keys of maps. */
const withNames = new Set(["_depth", "_type"]);

/**
 * Returns the storage key of a variable. The address has 40 lower-case digits. The keys of a map are texts without
 * quotes, the outermost first.
 */
export function storageKey(address: string, name: string, keys: string[]): string {
  const parts = withNames.has(name) ? keys : keys.map((key) => JSON.stringify(key));
  return [address, name, ...parts].map((part) => part + separator).join("");
}

/** Returns the variable hash of a storage key. */
export const variableHash = (key: string): string => toHex(sha256(new TextEncoder().encode(key)));
