// Verifies published and generated state proofs with a trie of another project.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { proveEntry, variableHash } from './prove.js';

const vectors = new URL('../../data/vectors/stateproof.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(vectors, 'utf8'));

assert.ok(cases.some(({ name }) => name.startsWith('published')), 'the vectors hold published proofs');

for (const { name, state_root, address, variable_hash, accountProof, stateProof, ...expected } of cases) {
  const proof = { stateRoot: state_root, address, variableHash: variable_hash, accountProof, stateProof };
  test(`${name} is ${expected.valid ? 'accepted' : 'refused'}`, async () => {
    if (!expected.valid) {
      await assert.rejects(proveEntry(proof));
      return;
    }
    const { account, storageRoot, value } = await proveEntry(proof);
    assert.equal(account, expected.account);
    assert.equal(storageRoot, expected.storage_root);
    assert.equal(value, expected.value);
    assert.equal(variableHash(address, expected.vname, expected.indices), variable_hash);
  });
}
