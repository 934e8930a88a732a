import { sha256 } from "@noble/hashes/sha2.js";

import type { CoSignatures, DsBlock, TxBlock } from "./block.js";
import { concat, fixedHex, toHex } from "./bytes.js";
import { array, fail, shown } from "./error.js";
import { aggregateKeys, verifyCollective } from "./schnorr.js";

/** The largest committee that this package verifies. The main network has at most 600 members. */
const MEMBERS_MAX = 2048;

/**
 * Reads the public keys of a committee, for example `dscomm` of `GetCurrentDSComm`. The order is the order of the
 * committee.
 */
export function parseCommittee(step: string, value: unknown): string[] {
    const keys = array(step, value);
    if (keys.length === 0 || keys.length > MEMBERS_MAX)
        fail(step, `1 to ${MEMBERS_MAX} public keys`, String(keys.length));
    return keys.map((key, i) => toHex(fixedHex(`${step}[${i}]`, key, 33)));
}

/** Returns the hash of a committee: SHA-256 of a protobuf message with the keys in their order. */
export function committeeHash(keys: readonly string[]): string {
    const members = keys.map((key) => concat([Uint8Array.of(0x0a, 0x23, 0x0a, 0x21), fixedHex("key", key, 33)]));
    return toHex(sha256(concat(members)));
}

/** Returns the exact number of signers that a committee needs: 0.667 × members, rounded up. */
export function quorum(members: number): number {
    return Math.ceil((members * 667) / 1000);
}

/** Returns the packed form of a bitmap: the number of bits in two bytes, and the bits, the first as the highest. */
export function packBits(bits: readonly boolean[]): Uint8Array {
    const packed = new Uint8Array(2 + Math.ceil(bits.length / 8));
    packed[0] = bits.length >> 8;
    packed[1] = bits.length & 255;
    bits.forEach((bit, i) => {
        const at = 2 + (i >> 3);
        if (bit) packed[at] = (packed[at] ?? 0) | (0x80 >> (i & 7));
    });
    return packed;
}

function verifyRound(
    step: string,
    message: Uint8Array,
    signature: Uint8Array,
    bits: readonly boolean[],
    keys: readonly string[],
): void {
    if (bits.length !== keys.length)
        fail(`${step} bitmap`, `${keys.length} bits, one for each member`, `${bits.length} bits`);
    const signers = keys.filter((_, i) => bits[i]);
    const expected = quorum(keys.length);
    if (signers.length !== expected)
        fail(`${step} bitmap`, `${expected} signers of ${keys.length} members`, `${signers.length} signers`);
    verifyCollective(`${step} signature`, message, signature, aggregateKeys(`${step} signers`, signers));
}

/**
 * Verifies that a committee signed a block: the signature of the second round, which covers the header, the signature
 * of the first round and its bitmap. Newer nodes of Zilliqa sign a provisional header in the first round, so `cs1`
 * alone proves nothing about the header.
 *
 * @param keys The public keys of the committee in its order.
 * @throws ProofError A bitmap has the wrong length or number of signers, or the signature is wrong.
 */
export function verifyCoSignatures(
    step: string,
    block: { readonly header: Uint8Array; readonly cosignatures: CoSignatures },
    keys: readonly string[],
): void {
    const { cs1, b1, cs2, b2 } = block.cosignatures;
    if (b1.length !== keys.length)
        fail(`${step}: B1 bitmap`, `${keys.length} bits, one for each member`, `${b1.length} bits`);
    verifyRound(`${step}: CS2/B2`, concat([block.header, cs1, packBits(b1)]), cs2, b2, keys);
}

function verifyHash(step: string, block: { readonly committeeHash: string }, keys: readonly string[]): void {
    const hash = committeeHash(keys);
    if (block.committeeHash !== hash)
        fail(`${step}.header.committeehash`, `${hash}, the hash of the committee`, block.committeeHash);
}

/**
 * Verifies that a committee signed a Tx block, and that the header names this committee.
 *
 * @throws ProofError The committee is another one, or the co-signatures are wrong.
 */
export function verifyTxBlock(block: TxBlock, keys: readonly string[], step = "txBlock"): void {
    verifyHash(step, block, keys);
    verifyCoSignatures(step, block, keys);
}

/**
 * Returns the committee after a DS block. The removed members move to the end. Each winner takes the place after the
 * guards, in the order of the block. The committee keeps its size: the members at the end leave it. A guard is a member
 * that the configuration of a network names. A network without guards has 0 of them.
 */
export function nextCommittee(
    keys: readonly string[],
    block: Pick<DsBlock, "winners" | "removed">,
    guards = 0,
): string[] {
    const next = [...keys];
    for (const member of block.removed) {
        const at = next.indexOf(member);
        if (at >= 0) next.push(...next.splice(at, 1));
    }
    for (const winner of block.winners) next.splice(guards, 0, winner);
    return next.slice(0, keys.length);
}

/** The committee of a DS epoch. */
export interface Committee {
    /** Public keys in the order of the committee. */
    readonly keys: readonly string[];
    /** Number of the DS block of the epoch. */
    readonly dsBlock: bigint;
}

/**
 * Follows the chain of DS blocks from a pinned block, and returns the committee of the DS epoch of the last block.
 *
 * The pinned block has the hash of the committee that signed it, and so proves `keys`. Each later block must have the
 * next number, the hash of the block before it, the hash of the committee, and the signature of the committee. The
 * chain must not have a view change block, because no method of a node returns these blocks.
 *
 * DS block 0 has no hash of a committee. Its committee is the leader alone, as on each chain of Silica.
 *
 * @param pin The hash of the first block of `blocks`, which the caller trusts.
 * @param keys The committee that signed the pinned block. Without it, the committee is the leader of this block alone.
 * @param guards The number of guards of the network.
 * @throws ProofError The error names the block with the fault, for example `dsBlocks[2]`.
 */
export function verifyDsBlocks(
    pin: string,
    blocks: readonly DsBlock[],
    keys?: readonly string[],
    guards = 0,
): Committee {
    const hash = toHex(fixedHex("pinned DS block", pin, 32));
    const [first, ...later] = blocks;
    if (first === undefined) fail("dsBlocks", `the DS block ${hash}`, "no blocks");
    if (first.hash !== hash) fail("dsBlocks[0]", `the pinned DS block ${hash}`, first.hash);
    let committee = keys ?? [first.leader];
    if (!Number.isInteger(guards) || guards < 0 || guards > committee.length) {
        fail("guards", `a number from 0 to ${committee.length}`, shown(guards));
    }
    if (first.number > 0n) verifyHash("dsBlocks[0]", first, committee);
    else if (committee.length !== 1 || committee[0] !== first.leader) {
        fail(
            "committee",
            "the leader of DS block 0 alone, or the pin of a later DS block",
            `${committee.length} members`,
        );
    }
    let last = first;
    for (const [i, block] of later.entries()) {
        committee = nextCommittee(committee, last, guards);
        const step = `dsBlocks[${i + 1}]`;
        if (block.number !== last.number + 1n)
            fail(`${step}.header.blocknum`, String(last.number + 1n), String(block.number));
        if (block.previousHash !== last.hash)
            fail(`${step}.header.prevhash`, `${last.hash}, the hash of the block before`, block.previousHash);
        verifyHash(step, block, committee);
        verifyCoSignatures(step, block, committee);
        last = block;
    }
    return { keys: nextCommittee(committee, last, guards), dsBlock: last.number };
}
