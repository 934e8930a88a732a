// Checks a GetStateProof answer with @ethereumjs/trie: nothing here was written by the project but the reading of
// one protobuf message.

import { createHash } from 'node:crypto';

import { Trie } from '@ethereumjs/trie';

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const ascii = (text) => new TextEncoder().encode(text);

/** The value of `key` in the trie with this root, or null when the nodes prove that there is none. */
export async function valueIn(rootHex, key, nodesHex) {
  const root = bytes(rootHex);
  const trie = new Trie({ root });
  // The node lists proof nodes in byte order, so the root may be anywhere among them.
  await trie.updateFromProof(nodesHex.map(bytes));
  trie.root(root);
  return trie.get(key, true);
}

/** Proves one storage entry of a contract against a state root; throws when the proof does not hold. */
export async function proveEntry({ stateRoot, address, variableHash, accountProof, stateProof }) {
  const account = await valueIn(stateRoot, ascii(address.toLowerCase()), accountProof);
  if (account === null) throw new Error('the account is proved to be absent');
  const storageRoot = hex(field(account, 5));
  const value = await valueIn(storageRoot, ascii(variableHash.toLowerCase()), stateProof);
  return { account: hex(account), storageRoot, value: value === null ? null : hex(value) };
}

/** Name under which a contract keeps a field or map entry: SHA-256 over the parts, each closed by byte 0x16. */
export function variableHash(address, name, indices = []) {
  const key = [address, name, ...indices].map((part) => `${part}\x16`).join('');
  return createHash('sha256').update(key).digest('hex');
}

/** The value of an account in the state trie, or null when it is proved that there is none. */
export async function proveAccount({ stateRoot, address, accountProof }) {
  const account = await valueIn(stateRoot, ascii(address.toLowerCase()), accountProof);
  if (account === null) return null;
  const balance = BigInt(`0x${hex(field(field(account, 2), 1))}`).toString();
  return { balance, nonce: field(account, 3), codeHash: hex(field(account, 4)), storageRoot: hex(field(account, 5)) };
}

/** Root of the trie that holds exactly these entries: names of `variableHash`, and their values as bytes. */
export async function rootOf(entries) {
  const trie = new Trie();
  for (const [name, value] of entries) await trie.put(ascii(name), value);
  return hex(trie.root());
}

const hex = (data) => Buffer.from(data).toString('hex');

/** A field of a protobuf message: the bytes of a length-delimited one, the number of another. */
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
