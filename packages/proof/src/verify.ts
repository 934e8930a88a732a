import { parseAddress } from "./address.js";
import { type DsBlock, decodeDsBlock, decodeTxBlock, type TxBlock } from "./block.js";
import { fixedHex, toHex } from "./bytes.js";
import { parseCommittee, verifyDsBlocks, verifyTxBlock } from "./committee.js";
import { array, fail, object, shown, string } from "./error.js";
import {
    type Account,
    parseKeys,
    parseStateProof,
    type StorageValue,
    variableHash,
    verifyAccount,
    verifyVariable,
} from "./state.js";

/** A proof with all that its verification needs: answers of a node, as JSON. */
export interface ProofBundle {
    /** The account, as hexadecimal digits or bech32. */
    readonly address: string;
    /** The name of a field. Without `field` and `variable`, the proof is of the account. */
    readonly field?: string;
    /** The keys of an entry of the map `field`, each as JSON text with quotes: `MapKey.json`. */
    readonly keys?: readonly string[];
    /** The hash of a variable, in place of `field`. */
    readonly variable?: string;
    /** The answer of `GetStateProof`. */
    readonly proof: unknown;
    /** The answer of `GetRawTxBlock` for the block of the proof. */
    readonly txBlock?: unknown;
    /** The answers of `GetRawDSBlock`, from the pinned DS block to the DS block of the Tx block. */
    readonly dsBlocks?: readonly unknown[];
    /** Public keys of a committee, for example `dscomm` of `GetCurrentDSComm`. {@link Trust} states which committee. */
    readonly committee?: readonly string[];
}

/** What the caller trusts. The value must come from another source than the proof. */
export type Trust =
    /** The `StateRootHash` of a Tx block. */
    | { readonly kind: "stateRoot"; readonly stateRoot: string }
    /**
     * The hash of a DS block. `committee` of the bundle is the committee that signed this block; without it, the leader
     * of the block is the only member. `guards` is the number of guards of the network, 0 by default.
     */
    | { readonly kind: "dsBlock"; readonly hash: string; readonly guards?: number }
    /** The public keys of the committee of the Tx block, in its order. */
    | { readonly kind: "committee"; readonly keys: readonly string[] }
    /** Nothing: `committee` of the bundle is the committee of the Tx block, as the node reports it. */
    | { readonly kind: "node" };

/** One fact that was verified, or that the result assumes. */
export interface Statement {
    /** A name for programs. */
    readonly id: string;
    /** A sentence for readers. */
    readonly text: string;
}

/** The result of {@link verify}. */
export interface Verification {
    /** The address as 40 hexadecimal digits. */
    readonly address: string;
    /** The account, or `null` for its proven absence. */
    readonly account: Account | null;
    /** The variable, or `null` for the proof of an account. */
    readonly variable: {
        /** The hash of the variable. */
        readonly hash: string;
        /** The value, or `null` for its proven absence. */
        readonly value: StorageValue | null;
    } | null;
    /** The state root that the proof leads to. */
    readonly stateRoot: string;
    /** The Tx block, or `null` without a block in the bundle. */
    readonly block: TxBlock | null;
    /** The public keys of the committee that signed the block, or `null` if no signature was verified. */
    readonly committee: readonly string[] | null;
    /** What the function verified, in the order of its steps. */
    readonly verified: readonly Statement[];
    /** What the result depends on without verification. */
    readonly assumed: readonly Statement[];
}

/** The committee of a Tx block, from what the caller trusts. */
function committeeOf(
    bundle: ProofBundle,
    trust: Exclude<Trust, { kind: "stateRoot" }>,
    block: TxBlock,
    verified: Statement[],
    assumed: Statement[],
): readonly string[] {
    const given = bundle.committee === undefined ? undefined : parseCommittee("committee", bundle.committee);
    if (trust.kind === "committee") {
        const keys = parseCommittee("trusted committee", trust.keys);
        assumed.push({
            id: "committee-trusted",
            text: `The ${keys.length} given public keys are the committee of DS epoch ${block.dsBlock}.`,
        });
        return keys;
    }
    if (trust.kind === "node") {
        if (given === undefined) fail("committee", "the public keys of the committee", "no value");
        assumed.push({ id: "committee-reported", text: "The committee is the one that the node reports." });
        return given;
    }
    const blocks: DsBlock[] = array("dsBlocks", bundle.dsBlocks).map((answer, i) =>
        decodeDsBlock(answer, `dsBlocks[${i}]`),
    );
    const guards = trust.guards ?? 0;
    const committee = verifyDsBlocks(trust.hash, blocks, given, guards);
    if (committee.dsBlock !== block.dsBlock) {
        fail(
            "dsBlocks",
            `DS block ${block.dsBlock}, the DS block of the Tx block, at the end`,
            `DS block ${committee.dsBlock}`,
        );
    }
    const first = blocks[0]?.number ?? 0n;
    verified.push({
        id: "ds-chain",
        text:
            `The pinned DS block ${first} leads to the committee of DS epoch ${committee.dsBlock}. ` +
            `${blocks.length - 1} later DS blocks have the hashes and the signatures of their committees.`,
    });
    assumed.push({
        id: "ds-block-pinned",
        text: `DS block ${first} with the hash ${blocks[0]?.hash ?? ""} is a block of the network.`,
    });
    if (first === 0n)
        assumed.push({
            id: "genesis-leader",
            text: "The leader of DS block 0 is the only member of the first committee.",
        });
    if (blocks.some((block) => block.winners.length > 0)) {
        assumed.push({ id: "guards", text: `The committee of the network has ${guards} guards.` });
    }
    return committee.keys;
}

/**
 * Verifies a proof from what the caller trusts to an account or a variable. The result states what was verified, and
 * what it assumes.
 *
 * @throws ProofError The proof does not prove anything. The error names the failed step.
 */
export function verify(bundle: ProofBundle, trust: Trust): Verification {
    object("bundle", bundle);
    object("trust", trust);
    const address = toHex(parseAddress("address", bundle.address));
    const proof = parseStateProof(bundle.proof);
    const verified: Statement[] = [];
    const assumed: Statement[] = [];
    const block = bundle.txBlock === undefined ? null : decodeTxBlock(bundle.txBlock);
    let committee: readonly string[] | null = null;
    let stateRoot: string;
    if (trust.kind === "stateRoot") {
        stateRoot = toHex(fixedHex("trusted state root", trust.stateRoot, 32));
        assumed.push({
            id: "state-root",
            text: `The state root ${stateRoot} is the root of a Tx block of the network.`,
        });
        if (block !== null && block.stateRoot !== stateRoot)
            fail("txBlock.header.stateroothash", `${stateRoot}, the trusted state root`, block.stateRoot);
    } else if (trust.kind === "dsBlock" || trust.kind === "committee" || trust.kind === "node") {
        if (block === null) fail("txBlock", "the answer of GetRawTxBlock", "no value");
        committee = committeeOf(bundle, trust, block, verified, assumed);
        verifyTxBlock(block, committee);
        stateRoot = block.stateRoot;
    } else {
        return fail("trust.kind", "stateRoot, dsBlock, committee or node", shown((trust as { kind: unknown }).kind));
    }
    if (block !== null) {
        verified.push({
            id: "block-hash",
            text: `The header of Tx block ${block.number} has the hash ${block.hash} and the state root ${stateRoot}.`,
        });
        if (committee !== null) {
            const signers = block.cosignatures.b2.filter(Boolean).length;
            verified.push({
                id: "co-signature",
                text: `${signers} of ${committee.length} members of the committee signed the header.`,
            });
        }
        if (committee !== null) {
            assumed.push({
                id: "signers",
                text: "The signers follow the protocol of the network, and their secret keys are secret.",
            });
        }
        assumed.push({ id: "timestamp", text: "The time of the block is correct. No signature covers it." });
    }
    if (bundle.field !== undefined && bundle.variable !== undefined)
        fail("variable", "a field or the hash of a variable", "both");
    let variable: Verification["variable"] = null;
    let account: Account | null;
    if (bundle.field !== undefined || bundle.variable !== undefined) {
        const hash =
            bundle.field === undefined
                ? toHex(fixedHex("variable", bundle.variable, 32))
                : variableHash(address, string("field", bundle.field), parseKeys("keys", bundle.keys ?? []));
        const entry = verifyVariable(stateRoot, address, hash, proof);
        account = entry.account;
        variable = { hash, value: entry.value };
    } else {
        if (proof.state.length > 0)
            fail("stateProof", "no nodes in the proof of an account", `${proof.state.length} nodes`);
        account = verifyAccount(stateRoot, address, proof);
    }
    verified.push({
        id: "account",
        text:
            account === null
                ? `The state has no account ${address}.`
                : `The account ${address} has these values in the state.`,
    });
    if (variable !== null) {
        verified.push({
            id: "variable",
            text:
                variable.value === null
                    ? "The variable has no value in the storage of the contract."
                    : "The variable has this value in the storage of the contract.",
        });
    }
    return { address, account, variable, stateRoot, block, committee, verified, assumed };
}
