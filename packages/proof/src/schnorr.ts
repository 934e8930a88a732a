import { sha256 } from "@noble/hashes/sha2.js";
import { Point } from "@noble/secp256k1";

import { concat, fixedHex, toHex } from "./bytes.js";
import { fail, quote } from "./error.js";

const ORDER = Point.CURVE().n;
const NEGATIVE_BASE = Point.BASE.negate();

/** Points of public keys. A chain of DS blocks has the same keys again and again, and each costs a square root. */
const points = new Map<string, Point>();
const POINTS_MAX = 4096;

/**
 * Reads a public key: 33 bytes in the compressed form, as hexadecimal digits.
 *
 * @throws ProofError The bytes are not a point of secp256k1.
 */
function point(step: string, key: string): Point {
    const known = points.get(key);
    if (known !== undefined) return known;
    const bytes = fixedHex(step, key, 33);
    let read: Point;
    try {
        read = Point.fromBytes(bytes);
    } catch {
        return fail(step, "a compressed point of secp256k1", quote(key));
    }
    if (points.size >= POINTS_MAX) points.clear();
    points.set(key, read);
    return read;
}

/**
 * Returns the sum of public keys.
 *
 * @throws ProofError A key is invalid, the list is empty, or the sum is the point at infinity.
 */
export function aggregateKeys(step: string, keys: readonly string[]): string {
    const sum = keys.reduce((sum, key, i) => sum.add(point(`${step}[${i}]`, key)), Point.ZERO);
    if (sum.is0())
        fail(step, "public keys whose sum is a point", keys.length === 0 ? "no keys" : "the point at infinity");
    return toHex(sum.toBytes());
}

/**
 * Verifies a collective EC-Schnorr signature under an aggregate key. The first byte of the hash is 0x11
 * (docs/reference/formats.md, multisignature).
 *
 * @throws ProofError The signature is not of this message and key.
 */
export function verifyCollective(step: string, message: Uint8Array, signature: Uint8Array, key: string): void {
    if (message.length === 0) fail(step, "a message", "no bytes");
    if (signature.length !== 64) fail(step, "a signature of 64 bytes", `${signature.length} bytes`);
    const [r, s] = [signature.subarray(0, 32), signature.subarray(32)].map((half) => BigInt(`0x${toHex(half)}`)) as [
        bigint,
        bigint,
    ];
    if (r === 0n || r >= ORDER || s === 0n || s >= ORDER)
        fail(step, "two numbers from 1 to the order of the curve", toHex(signature));
    const aggregate = point(step, key);
    // `s × BASE`, written as `(order − s) × −BASE`: for BASE itself, the curve makes a table first, in one long task.
    const commitment = NEGATIVE_BASE.multiplyUnsafe(ORDER - s).add(aggregate.multiplyUnsafe(r));
    if (commitment.is0()) fail(step, "a signature with a commitment", "the point at infinity");
    const hash = sha256(concat([Uint8Array.of(0x11), commitment.toBytes(), aggregate.toBytes(), message]));
    const challenge = BigInt(`0x${toHex(hash)}`) % ORDER;
    if (challenge !== r)
        fail(step, `a signature of the key ${key} for this block`, "a signature of another key or block");
}
