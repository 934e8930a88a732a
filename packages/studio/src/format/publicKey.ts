// Public keys of the curve secp256k1, and the addresses of their accounts.
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { fromHex, toHex } from "./bytes.ts";

const prime = 2n ** 256n - 2n ** 32n - 977n;
const integer = (bytes: Uint8Array): bigint => BigInt(`0x${toHex(bytes)}`);
const digits = (value: bigint): string => value.toString(16).padStart(64, "0");

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, base % prime];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % prime;
    square = (square * square) % prime;
  }
  return result;
}

export interface PublicKey {
  /** 33 bytes, as transactions have it. */
  compressed: string;
  /** 65 bytes. */
  uncompressed: string;
}

/** Parses a public key of 33 or 65 bytes. Throws an error if the bytes are not a point of the curve. */
export function parsePublicKey(text: string): PublicKey {
  const bytes = fromHex(text);
  const isCompressed = bytes?.length === 33 && (bytes[0] === 2 || bytes[0] === 3);
  if (!bytes || !(isCompressed || (bytes.length === 65 && bytes[0] === 4))) {
    throw new Error("expected a public key: 66 hexadecimal digits that begin with 02 or 03, or 130 digits that begin with 04");
  }
  const x = integer(bytes.slice(1, 33));
  const square = (power(x, 3n) + 7n) % prime;
  const root = power(square, (prime + 1n) / 4n);
  const isOdd = isCompressed ? bytes[0] === 3 : (bytes[64]! & 1) === 1;
  const y = (root & 1n) === (isOdd ? 1n : 0n) ? root : prime - root;
  const isOnCurve = x < prime && (root * root) % prime === square;
  if (!isOnCurve || (!isCompressed && integer(bytes.slice(33)) !== y)) throw new Error("the bytes are not a point of the curve secp256k1");
  return { compressed: `${isOdd ? "03" : "02"}${digits(x)}`, uncompressed: `04${digits(x)}${digits(y)}` };
}

/** Returns the address of a transaction of Zilliqa: the last 20 bytes of the SHA-256 of the compressed key. */
export const zilliqaAddress = ({ compressed }: PublicKey): string => toHex(sha256(fromHex(compressed)!).slice(12));

/** Returns the address of Ethereum: the last 20 bytes of the Keccak-256 of the two coordinates. */
export const ethereumAddress = ({ uncompressed }: PublicKey): string => toHex(keccak_256(fromHex(uncompressed)!.slice(1)).slice(12));
