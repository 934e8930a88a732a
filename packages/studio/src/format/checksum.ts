// The checksum of an address in the letter case of its hexadecimal digits. The first page does not need it.
import { sha256 } from "@noble/hashes/sha2.js";

/** Returns `0x` and the digits of an address, with the checksum in the letter case. */
export function toChecksum(hex: string): string {
  const bytes = Uint8Array.from(hex.match(/../g)!, (pair) => parseInt(pair, 16));
  const hash = sha256(bytes);
  // Bit 6i of the hash, from the highest bit on, is the letter case of digit i.
  const upper = (digit: number) => (hash[(6 * digit) >>> 3]! >>> (7 - ((6 * digit) & 7))) & 1;
  return `0x${[...hex].map((letter, digit) => (upper(digit) ? letter.toUpperCase() : letter)).join("")}`;
}
