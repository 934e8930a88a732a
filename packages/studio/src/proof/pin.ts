// The DS block that the reader pins, in the local storage of the browser.
import { signal } from "@preact/signals";
import { load, save } from "../storage.ts";
import type { Pin } from "./check.ts";

/** Reads a pin. Throws an error that names the wrong part. */
export function parsePin(number: string, hash: string, source: Pin["source"]): Pin {
  if (!/^\d{1,19}$/.test(number.trim())) throw new Error(`number: expected the number of a DS block, got ${JSON.stringify(number.slice(0, 40))}`);
  const digits = hash.trim().replace(/^0x/i, "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(digits)) throw new Error(`hash: expected 64 hexadecimal digits, got ${JSON.stringify(hash.slice(0, 80))}`);
  return { number: BigInt(number.trim()).toString(), hash: digits, source };
}

function stored(): Pin | null {
  try {
    const { number, hash, source } = JSON.parse(load("pin") ?? "null") as Pin;
    return parsePin(number, hash, source === "reader" ? "reader" : "node");
  } catch {
    // No pin, or another program changed the storage.
    return null;
  }
}

export const pin = signal<Pin | null>(stored());

export function setPin(next: Pin): void {
  pin.value = next;
  save("pin", JSON.stringify(next));
}
