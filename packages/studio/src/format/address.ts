// The spellings of an address: 40 hexadecimal digits, with a checksum in the letter case, and bech32 with `zil`.
// The checksum in the letter case needs SHA-256, so it is in format/checksum.ts and not on the first page.

const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const prefix = "zil";

function polymod(values: number[]): number {
  let sum = 1;
  for (const value of values) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    generators.forEach((generator, bit) => {
      if ((top >>> bit) & 1) sum ^= generator;
    });
  }
  return sum >>> 0;
}

const expanded = [...[...prefix].map((c) => c.charCodeAt(0) >> 5), 0, ...[...prefix].map((c) => c.charCodeAt(0) & 31)];

/** Regroups bits. Returns null if padding bits are wrong. */
function regroup(values: number[], from: number, to: number, pad: boolean): number[] | null {
  let buffer = 0;
  let bits = 0;
  const result: number[] = [];
  for (const value of values) {
    buffer = (buffer << from) | value;
    bits += from;
    while (bits >= to) {
      bits -= to;
      result.push((buffer >>> bits) & ((1 << to) - 1));
    }
    buffer &= (1 << bits) - 1;
  }
  if (pad) return bits ? [...result, buffer << (to - bits)] : result;
  return bits < from && buffer === 0 ? result : null;
}

/** Returns the bech32 form of 40 hexadecimal digits. */
export function toBech32(hex: string): string {
  const bytes = hex.match(/../g)!.map((pair) => parseInt(pair, 16));
  const data = regroup(bytes, 8, 5, true)!;
  const sum = polymod([...expanded, ...data, 0, 0, 0, 0, 0, 0]) ^ 1;
  const check = [25, 20, 15, 10, 5, 0].map((shift) => (sum >>> shift) & 31);
  return `${prefix}1${[...data, ...check].map((value) => alphabet[value]).join("")}`;
}

function fromBech32(text: string): string | null {
  const lower = text.toLowerCase();
  if (text !== lower && text !== text.toUpperCase()) return null;
  const values = [...lower.slice(prefix.length + 1)].map((c) => alphabet.indexOf(c));
  if (!lower.startsWith(`${prefix}1`) || values.length !== 38 || values.includes(-1)) return null;
  if (polymod([...expanded, ...values]) !== 1) return null;
  const bytes = regroup(values.slice(0, -6), 5, 8, false);
  return bytes && bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Parses an address in any spelling. Returns 40 lower-case digits, or null if the text is not an address. */
export function parseAddress(text: string): string | null {
  const trimmed = text.trim();
  const hex = /^(?:0x)?([0-9a-fA-F]{40})$/.exec(trimmed);
  return hex ? hex[1]!.toLowerCase() : fromBech32(trimmed);
}

/** The account that the reference uses as recipient of a deployment. */
export const nullAddress = "0".repeat(40);
