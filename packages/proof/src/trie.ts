import { keccak_256 } from "@noble/hashes/sha3.js";

import { equal, fixedHex, toHex } from "./bytes.js";
import { fail } from "./error.js";
import { read } from "./rlp.js";

/** Root of a trie without leaves: Keccak-256 of the empty RLP string. */
const EMPTY_ROOT = fixedHex("", "56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421", 32);

/** The reference to a child: the hash of a node, or the RLP of a node of fewer than 32 bytes. */
type Child = { readonly hash: Uint8Array } | { readonly inline: Uint8Array };

type Node =
    | { readonly type: "leaf"; readonly path: readonly number[]; readonly value: Uint8Array }
    | { readonly type: "extension"; readonly path: readonly number[]; readonly child: Child }
    | { readonly type: "branch"; readonly children: readonly (Child | null)[]; readonly value: Uint8Array | null };

function nibbles(bytes: Uint8Array): number[] {
    const path: number[] = [];
    for (const byte of bytes) path.push(byte >> 4, byte & 15);
    return path;
}

/** Decodes a hex-prefix encoding. Returns `null` if the flags are wrong. */
function hexPrefix(bytes: Uint8Array): { leaf: boolean; path: number[] } | null {
    const all = nibbles(bytes);
    const [flag, second] = all;
    if (flag === undefined || flag > 3 || ((flag & 1) === 0 && second !== 0)) return null;
    return { leaf: flag >= 2, path: all.slice((flag & 1) === 1 ? 1 : 2) };
}

/** Decodes the RLP of a node. The time is linear in its length. Embedded nodes stay encoded. */
function decode(step: string, bytes: Uint8Array): Node {
    const list = read(bytes, 0, bytes.length);
    if (list === null || !list.list || list.end !== bytes.length)
        fail(step, "a trie node", "bytes that are no canonical RLP list");
    const items: { list: boolean; at: number; start: number; end: number }[] = [];
    for (let at = list.start; at < list.end;) {
        const item = read(bytes, at, list.end);
        if (item === null) fail(step, "a trie node", "bytes that are no canonical RLP list");
        items.push({ ...item, at });
        if (items.length > 17) fail(step, "a trie node of 2 or 17 items", "more than 17 items");
        at = item.end;
    }
    const child = (item: (typeof items)[number]): Child | null => {
        if (item.list) {
            if (item.end - item.at >= 32)
                fail(step, "a child of fewer than 32 bytes, or its hash", `a child of ${item.end - item.at} bytes`);
            return { inline: bytes.subarray(item.at, item.end) };
        }
        if (item.start === item.end) return null;
        if (item.end - item.start !== 32)
            fail(step, "a hash of 32 bytes for a child", `${item.end - item.start} bytes`);
        return { hash: bytes.subarray(item.start, item.end) };
    };
    const [first, second] = items;
    const last = items.at(-1);
    if (
        first === undefined ||
        second === undefined ||
        last === undefined ||
        (items.length !== 2 && items.length !== 17)
    ) {
        fail(step, "a trie node of 2 or 17 items", `${items.length} items`);
    }
    if (items.length === 17) {
        const children = items.slice(0, 16).map(child);
        if (last.list) fail(step, "a string as the value of a branch", "a list");
        return {
            type: "branch",
            children,
            value: last.start === last.end ? null : bytes.subarray(last.start, last.end),
        };
    }
    const prefix = first.list ? null : hexPrefix(bytes.subarray(first.start, first.end));
    if (prefix === null) fail(step, "a path in the hex-prefix encoding", "other bytes");
    if (prefix.leaf) {
        if (second.list || second.start === second.end)
            fail(step, "a value of at least one byte", second.list ? "a list" : "none");
        return { type: "leaf", path: prefix.path, value: bytes.subarray(second.start, second.end) };
    }
    const next = child(second);
    if (prefix.path.length === 0 || next === null)
        fail(step, "an extension with a path and a child", "an empty path or child");
    return { type: "extension", path: prefix.path, child: next };
}

/**
 * Follows `key` from `root` through the nodes of the list `name`, which can be in any order. Returns the value of the
 * key, or `null` if the nodes prove that the key has no value.
 *
 * Each node must be on the path to the key, and must occur once. So the change of any byte makes the proof invalid.
 * Nodes that are embedded in their parent may be present or absent. The number of steps is at most the number of
 * nibbles of the key plus one.
 *
 * @param what The name of the root in errors.
 * @throws ProofError A node is missing, malformed or not on the path.
 */
export function verifyTrie(
    name: string,
    what: string,
    root: Uint8Array,
    key: Uint8Array,
    nodes: readonly Uint8Array[],
): Uint8Array | null {
    const path = nibbles(key);
    if (nodes.length > path.length + 1) fail(name, `at most ${path.length + 1} nodes`, `${nodes.length} nodes`);
    const positions = new Map(nodes.map((node, position) => [toHex(keccak_256(node)), position]));
    const used = new Set<number>();
    const value = follow();
    const surplus = nodes.findIndex((_, position) => !used.has(position));
    if (surplus >= 0)
        fail(`${name}[${surplus}]`, "a node on the path to the key, once", "another node, or a second copy");
    return value;

    function follow(): Uint8Array | null {
        if (equal(root, EMPTY_ROOT)) return null;
        let depth = 0;
        let child: Child = { hash: root };
        // Each iteration removes a nibble from the key, or is the last iteration.
        for (;;) {
            const hash = toHex("hash" in child ? child.hash : keccak_256(child.inline));
            const position = positions.get(hash);
            const bytes: Uint8Array | undefined =
                "inline" in child ? child.inline : position === undefined ? undefined : nodes[position];
            if (bytes === undefined) {
                const expected =
                    depth === 0 ? `a node with the ${what} ${hash}` : `node ${hash}, ${depth} nibbles into the key`;
                fail(name, expected, "none; the proof is incomplete, or belongs to another state or key");
            }
            if (position !== undefined) used.add(position);
            const node = decode(position === undefined ? `${name}: embedded node` : `${name}[${position}]`, bytes);
            if (node.type === "branch") {
                const nibble = path[depth];
                if (nibble === undefined) return node.value;
                const next = node.children[nibble];
                if (next === null || next === undefined) return null;
                child = next;
                depth += 1;
                continue;
            }
            const matches = node.path.every((nibble, i) => nibble === path[depth + i]);
            if (node.type === "leaf") return matches && depth + node.path.length === path.length ? node.value : null;
            if (!matches) return null;
            child = node.child;
            depth += node.path.length;
        }
    }
}
