// Bytes in hexadecimal digits.

/** Returns the digits of bytes, in lower case. */
export const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Parses hexadecimal digits, with or without `0x`. Returns null for an odd number of digits and for other characters. */
export function fromHex(text: string): Uint8Array | null {
  const digits = text.trim().replace(/^0x/i, "");
  if (digits.length % 2 || !/^[0-9a-fA-F]*$/.test(digits)) return null;
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
