import { sha256 } from "@noble/hashes/sha2.js";

import { parseAddress } from "./address.js";
import { fixedHex, fromHex, toHex, utf8 } from "./bytes.js";
import { array, fail, kind, object, quote, shown, string } from "./error.js";
import { MapKey } from "./map-key.js";
import { Reader } from "./proto.js";
import { verifyTrie } from "./trie.js";

/** A result of `GetStateProof`: the RLP of trie nodes, in any order. It proves nothing before its verification. */
export interface StateProof {
    /** Nodes of the account trie, from the state root to the account (`accountProof`). */
    readonly account: readonly Uint8Array[];
    /** Nodes of the storage trie of the contract, from its root to the variable (`stateProof`). */
    readonly state: readonly Uint8Array[];
}

/** The state of an account. */
export interface Account {
    /** The balance in Qa. */
    readonly balance: bigint;
    /** The nonce of the last executed transaction, or 0. */
    readonly nonce: bigint;
    /** The contract or library of the account; `null` for other accounts. */
    readonly contract: {
        /** The hash of the code and the init data, as hexadecimal digits. */
        readonly codeHash: string;
        /** The root of the storage trie; `null` before the contract has storage. */
        readonly storageRoot: string | null;
    } | null;
}

/** The stored bytes of a variable. */
export interface StorageValue {
    readonly bytes: Uint8Array;
    /**
     * The value in the JSON form of Scilla. An empty map is an object without members. A value that is not JSON, or has
     * more than 127 levels, is a string.
     */
    readonly json: unknown;
}

/** What a proof proves about one variable of a contract. */
export interface ProvenEntry {
    /** The account of the contract, or `null` for its proven absence. */
    readonly account: Account | null;
    /** The value of the variable, or `null` for its proven absence. */
    readonly value: StorageValue | null;
}

/** The largest JSON text of a response, in UTF-16 units. */
const TEXT_MAX = 64 << 20;

function only(step: string, value: Record<string, unknown>, known: readonly string[]): void {
    const unknown = Object.keys(value).find((member) => !known.includes(member));
    if (unknown !== undefined) fail(step, `only the members ${known.join(", ")}`, quote(unknown));
}

/**
 * Reads a response of `GetStateProof`: its JSON text or its parsed JSON, with or without the JSON-RPC envelope.
 *
 * @throws ProofError The error names the wrong member, for example `accountProof[3]`.
 */
export function parseStateProof(response: unknown): StateProof {
    const step = "response";
    let json = response;
    if (typeof json === "string") {
        if (json.length > TEXT_MAX) fail(step, `at most ${TEXT_MAX} characters`, String(json.length));
        try {
            json = JSON.parse(json);
        } catch (error) {
            fail(step, "JSON", String(error));
        }
    }
    let result = object(step, json);
    if ("error" in result || "jsonrpc" in result || "result" in result) {
        only(step, result, ["error", "id", "jsonrpc", "result"]);
        if (result["error"] !== undefined && result["error"] !== null) {
            const error = object("error", result["error"]);
            fail(step, "a proof", `the error ${shown(error["code"])} ${shown(error["message"])}`);
        }
        result = object("result", result["result"]);
    }
    only("result", result, ["accountProof", "stateProof"]);
    const nodes = (name: string): Uint8Array[] =>
        array(name, result[name]).map((node, position) => fromHex(`${name}[${position}]`, node));
    return { account: nodes("accountProof"), state: result["stateProof"] === undefined ? [] : nodes("stateProof") };
}

function decodeAccount(bytes: Uint8Array): Account {
    const message = new Reader("accountProof: account", bytes);
    const version = message.implicit32(1, "version");
    if (version !== 1) fail("accountProof: account.version", "1", String(version));
    const balance = BigInt(`0x${toHex(message.wrapped(2, 16, "balance"))}`);
    const nonce = message.explicit(3, "nonce");
    let contract: Account["contract"] = null;
    if (message.has(4, 2)) {
        const codeHash = toHex(message.fixed(4, 32, "codehash"));
        const storageRoot = message.has(5, 2) ? toHex(message.fixed(5, 32, "storageroot")) : null;
        if (storageRoot !== null && /^0*$/.test(storageRoot))
            fail("accountProof: account.storageroot", "a hash, or no field", "zero");
        contract = { codeHash, storageRoot };
    }
    message.end();
    return { balance, nonce, contract };
}

/** Returns whether JSON text has more than 127 levels. Then a recursive reader could exhaust its stack. */
function isDeep(text: string): boolean {
    let depth = 0;
    let quoted = false;
    for (let i = 0; i < text.length; i++) {
        const character = text[i];
        if (quoted) {
            if (character === "\\") i += 1;
            else if (character === '"') quoted = false;
        } else if (character === '"') quoted = true;
        else if (character === "[" || character === "{") {
            depth += 1;
            if (depth > 127) return true;
        } else if (character === "]" || character === "}") depth -= 1;
    }
    return false;
}

function storageValue(bytes: Uint8Array): StorageValue {
    const text = new TextDecoder().decode(bytes);
    let json: unknown = text;
    if (bytes.length === 2 && bytes[0] === 0x12 && bytes[1] === 0) json = {};
    else if (!isDeep(text)) {
        try {
            json = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
        } catch {
            // The entries `_addr` and `_type` are not JSON.
        }
    }
    return { bytes, json };
}

/**
 * Verifies the list `account` against the state root of a Tx block. Returns the account, or `null` for its proven
 * absence. Does not read the list `state`.
 *
 * @param root The trusted `StateRootHash`, as hexadecimal digits.
 * @param address The account, as hexadecimal digits or bech32.
 * @throws ProofError The list proves nothing.
 */
export function verifyAccount(root: string, address: string, proof: StateProof): Account | null {
    const key = utf8(toHex(parseAddress("address", address)));
    const value = verifyTrie("accountProof", "state root", fixedHex("state root", root, 32), key, proof.account);
    return value === null ? null : decodeAccount(value);
}

/**
 * Verifies both lists for the variable with a hash, the second parameter of `GetStateProof`.
 *
 * @throws ProofError The lists prove nothing.
 */
export function verifyVariable(root: string, address: string, variableHash: string, proof: StateProof): ProvenEntry {
    const variable = toHex(fixedHex("variable hash", variableHash, 32));
    const account = verifyAccount(root, address, proof);
    const storageRoot = account?.contract?.storageRoot ?? null;
    if (storageRoot === null) {
        if (proof.state.length > 0)
            fail("stateProof", "no nodes, since the account has no storage", `${proof.state.length} nodes`);
        return { account, value: null };
    }
    const root32 = fixedHex("storage root", storageRoot, 32);
    const value = verifyTrie("stateProof", "storage root", root32, utf8(variable), proof.state);
    return { account, value: value === null ? null : storageValue(value) };
}

/**
 * Verifies both lists for a field, or for an entry of a map. The proof is about exactly this name and these keys.
 *
 * @param field The field, or one of the metadata `_addr`, `_version`, `_depth` and `_type`.
 * @param keys The keys of an entry, the key of the outermost map first. `_depth` and `_type` have the name of a field
 *   as a string key.
 * @throws ProofError The lists prove nothing.
 */
export function verifyField(
    root: string,
    address: string,
    field: string,
    keys: readonly MapKey[],
    proof: StateProof,
): ProvenEntry {
    return verifyVariable(root, address, variableHash(address, field, keys), proof);
}

/** Returns the hash of a variable: the second parameter of `GetStateProof`. The parameters are as in `verifyField`. */
export function variableHash(address: string, field: string, keys: readonly MapKey[] = []): string {
    if (field === "" || /[\x00-\x1f]/.test(field)) fail("field", "the name of a field", quote(field));
    // The metadata have names of fields in place of keys, without quotes.
    const isMetadata = field === "_depth" || field === "_type";
    const parts = keys.map((key) => (isMetadata ? string("key", JSON.parse(key.json)) : key.json));
    const text = [toHex(parseAddress("address", address)), field, ...parts].map((part) => `${part}\x16`).join("");
    return toHex(sha256(utf8(text)));
}

/** Reads map keys from their JSON texts. */
export function parseKeys(step: string, value: unknown): MapKey[] {
    return array(step, value).map((key, i) =>
        typeof key === "string" ? MapKey.fromJson(key) : fail(`${step}[${i}]`, "JSON text of a map key", kind(key)),
    );
}
