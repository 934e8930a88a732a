import { sha256 } from "@noble/hashes/sha2.js";

import { concat, equal, fromHex, toHex } from "./bytes.js";
import { fail, object } from "./error.js";
import { Reader } from "./proto.js";

/** The two rounds of co-signatures of a block. */
export interface CoSignatures {
    /** Signature of the first round, over the header. */
    readonly cs1: Uint8Array;
    /** For each member of the committee, whether it signed in the first round. */
    readonly b1: readonly boolean[];
    /** Signature of the second round, over the header, `cs1` and `b1`. */
    readonly cs2: Uint8Array;
    /** For each member of the committee, whether it signed in the second round. */
    readonly b2: readonly boolean[];
}

interface Block {
    /** SHA-256 of the header. */
    readonly hash: string;
    /** The bytes that the committee signed. */
    readonly header: Uint8Array;
    readonly number: bigint;
    /** Hash of the previous block of its kind. */
    readonly previousHash: string;
    /** Hash of the keys of the committee. */
    readonly committeeHash: string;
    readonly cosignatures: CoSignatures;
    /** Creation time in microseconds since 1970. Neither the hash nor the signatures cover it. */
    readonly timestamp: bigint;
}

/** A Tx block. */
export interface TxBlock extends Block {
    /** Root of the account trie after the block. */
    readonly stateRoot: string;
    /** Number of the DS block of the DS epoch. */
    readonly dsBlock: bigint;
    /** Number of transactions. */
    readonly transactions: number;
}

/** A DS block. */
export interface DsBlock extends Block {
    /** Public key of the leader. */
    readonly leader: string;
    /** Public keys of the members that join the committee, in ascending order. */
    readonly winners: readonly string[];
    /** Public keys of the members that lose their place, in the order of removal. */
    readonly removed: readonly string[];
}

/** The number of the block that a node returns in place of a missing block. */
const MISSING = (1n << 64n) - 1n;

/** Reads the answer of `GetRawTxBlock` or `GetRawDSBlock`: its result, its hexadecimal digits, or the bytes. */
function raw(step: string, answer: unknown): Uint8Array {
    if (answer instanceof Uint8Array) return answer;
    if (typeof answer === "string") return fromHex(step, answer);
    return fromHex(`${step}.data`, object(step, answer)["data"]);
}

/** Reads the fields that all headers begin with. */
function headerBase(header: Reader): { previousHash: string; committeeHash: string } {
    const base = header.message(1, "blockheaderbase");
    base.implicit32(1, "version");
    const committeeHash = toHex(base.fixed(2, 32, "committeehash"));
    const previousHash = toHex(base.fixed(3, 32, "prevhash"));
    base.end();
    return { previousHash, committeeHash };
}

/** Reads the fields after the header, up to the end of the block, and compares the block hash with the header. */
function blockBase(
    block: Reader,
    field: number,
    header: Uint8Array,
    number: bigint,
): Pick<Block, "hash" | "cosignatures" | "timestamp"> {
    if (number === MISSING) fail(block.name, "a block", "the placeholder of a missing block");
    const base = block.message(field, "blockbase");
    const hash = base.fixed(1, 32, "blockhash");
    const message = base.message(2, "cosigs");
    const cosignatures = {
        cs1: message.wrapped(1, 64, "cs1"),
        b1: message.bits(2, "b1"),
        cs2: message.wrapped(3, 64, "cs2"),
        b2: message.bits(4, "b2"),
    };
    message.end();
    const timestamp = base.implicit(3, "timestamp");
    base.end();
    block.end();
    const expected = sha256(header);
    if (!equal(hash, expected))
        fail(`${block.name}.blockbase.blockhash`, `${toHex(expected)}, the hash of the header`, toHex(hash));
    return { hash: toHex(hash), cosignatures, timestamp };
}

/**
 * Decodes a Tx block, the answer of `GetRawTxBlock`. Compares the block hash with the header, and the list of micro
 * blocks with its hash in the header. Does not verify the co-signatures.
 *
 * @throws ProofError The error names the wrong field.
 */
export function decodeTxBlock(answer: unknown, step = "txBlock"): TxBlock {
    const block = new Reader(step, raw(step, answer));
    const header = block.message(1, "header");
    const base = headerBase(header);
    header.implicit(2, "gaslimit");
    header.explicit(3, "gasused");
    header.wrapped(4, 16, "rewards");
    const number = header.explicit(6, "blocknum");
    const hashes = header.message(7, "hash");
    const stateRoot = toHex(hashes.fixed(1, 32, "stateroothash"));
    hashes.fixed(2, 32, "statedeltahash");
    const microBlocksHash = hashes.fixed(3, 32, "mbinfohash");
    hashes.end();
    const transactions = header.explicit32(8, "numtxs");
    header.wrapped(9, 33, "minerpubkey");
    const dsBlock = header.explicit(10, "dsblocknum");
    header.end();
    const infos: Uint8Array[] = [];
    for (const info of block.messages(2, "mbinfos")) {
        info.fixed(1, 32, "mbhash");
        info.fixed(2, 32, "txroot");
        info.explicit32(3, "shardid");
        info.end();
        infos.push(info.bytes);
    }
    const tail = blockBase(block, 3, header.bytes, number);
    const expected = infos.length === 0 ? new Uint8Array(32) : sha256(concat(infos));
    if (!equal(microBlocksHash, expected))
        fail(`${step}.mbinfos`, `micro blocks with the hash ${toHex(microBlocksHash)}`, toHex(expected));
    return { ...base, ...tail, header: header.bytes, number, stateRoot, dsBlock, transactions };
}

/** Reads numbers and counts of votes in ascending order of the numbers. */
function readVotes(proposal: Reader, field: number, name: string): void {
    let last = -1;
    for (const vote of proposal.messages(field, name)) {
        const value = vote.implicit32(1, "value");
        vote.implicit32(2, "count");
        vote.end();
        if (value <= last) fail(`${vote.name}.value`, `a value above ${last}`, String(value));
        last = value;
    }
}

/**
 * Decodes a DS block, the answer of `GetRawDSBlock`. Compares the block hash with the header. Does not verify the
 * co-signatures.
 *
 * @throws ProofError The error names the wrong field.
 */
export function decodeDsBlock(answer: unknown, step = "dsBlock"): DsBlock {
    const block = new Reader(step, raw(step, answer));
    const header = block.message(1, "header");
    const base = headerBase(header);
    for (const [field, name] of [
        [2, "dsdifficulty"],
        [3, "difficulty"],
    ] as const) {
        const difficulty = header.implicit32(field, name);
        if (difficulty > 255) fail(`${header.name}.${name}`, "at most 255", String(difficulty));
    }
    const leader = toHex(header.wrapped(5, 33, "leaderpubkey"));
    const number = header.explicit(6, "blocknum");
    header.explicit(7, "epochnum");
    header.wrapped(8, 16, "gasprice");
    header.wrapped(9, 48, "swinfo");
    const winners: string[] = [];
    for (const winner of header.messages(10, "dswinners")) {
        const key = toHex(winner.wrapped(1, 33, "key"));
        winner.wrapped(2, 20, "val");
        winner.end();
        const last = winners.at(-1);
        if (last !== undefined && key <= last) fail(`${winner.name}.key`, `a key above ${last}`, key);
        winners.push(key);
    }
    const hashes = header.message(11, "hash");
    hashes.fixed(1, 32, "shardinghash");
    hashes.fixed(2, 128, "reservedfield");
    hashes.end();
    const removed: string[] = [];
    for (const member of header.messages(12, "dsremoved")) {
        removed.push(toHex(member.fixed(1, 33, "data")));
        member.end();
    }
    let last = -1;
    for (const proposal of header.messages(13, "proposals")) {
        const id = proposal.implicit32(1, "proposalid");
        readVotes(proposal, 2, "dsvotes");
        readVotes(proposal, 3, "minervotes");
        proposal.end();
        if (id <= last) fail(`${proposal.name}.proposalid`, `a number above ${last}`, String(id));
        last = id;
    }
    header.end();
    const tail = blockBase(block, 2, header.bytes, number);
    return { ...base, ...tail, header: header.bytes, number, leader, winners, removed };
}
