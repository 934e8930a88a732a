// Verifies a GetStateProof result with @ethereumjs/trie. The code of this project only decodes one protobuf message.

import { createHash } from 'node:crypto';

import { Trie } from '@ethereumjs/trie';

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const ascii = (text) => new TextEncoder().encode(text);

/** Returns the value of `key` in the trie with this root, or null if the nodes prove its absence. */
export async function valueIn(rootHex, key, nodesHex) {
  const root = bytes(rootHex);
  const trie = new Trie({ root });
  // The nodes are in byte order, so the root can be at any position.
  await trie.updateFromProof(nodesHex.map(bytes));
  trie.root(root);
  return trie.get(key, true);
}

/** Verifies the proof of a storage entry with a state root. Throws an error if the proof is false. */
export async function proveEntry({ stateRoot, address, variableHash, accountProof, stateProof }) {
  const account = await valueIn(stateRoot, ascii(address.toLowerCase()), accountProof);
  if (account === null) throw new Error('the account is proved to be absent');
  const storageRoot = hex(field(account, 5));
  const value = await valueIn(storageRoot, ascii(variableHash.toLowerCase()), stateProof);
  return { account: hex(account), storageRoot, value: value === null ? null : hex(value) };
}

/** Returns the variable hash of a field or map entry: SHA-256 over the parts, each with the byte 0x16 at its end. */
export function variableHash(address, name, indices = []) {
  const key = [address, name, ...indices].map((part) => `${part}\x16`).join('');
  return createHash('sha256').update(key).digest('hex');
}

/** Returns the value of an account in the account trie, or null if the nodes prove its absence. */
export async function proveAccount({ stateRoot, address, accountProof }) {
  const account = await valueIn(stateRoot, ascii(address.toLowerCase()), accountProof);
  if (account === null) return null;
  const balance = BigInt(`0x${hex(field(field(account, 2), 1))}`).toString();
  return { balance, nonce: field(account, 3), codeHash: hex(field(account, 4)), storageRoot: hex(field(account, 5)) };
}

/** Returns the root of the trie with exactly these entries: variable hashes with their values as bytes. */
export async function rootOf(entries) {
  const trie = new Trie();
  for (const [name, value] of entries) await trie.put(ascii(name), value);
  return hex(trie.root());
}

const hex = (data) => Buffer.from(data).toString('hex');

/** Returns a field of a protobuf message: the bytes of a length-delimited field, or the number of another field. */
function field(message, wanted) {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= message.length || shift > 28) throw new Error('not a protobuf message');
      const byte = message[at++];
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const number = varint();
    if ((tag & 7) === 0) {
      if (tag >> 3 === wanted) return number;
      continue;
    }
    if (tag >> 3 === wanted) return message.slice(at, at + number);
    at += number;
  }
  throw new Error(`the account has no field ${wanted}`);
}
