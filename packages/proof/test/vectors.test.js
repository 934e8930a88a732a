// The vectors of the repository: published by other projects, and generated.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  committeeHash,
  decodeDsBlock,
  decodeTxBlock,
  MapKey,
  parseStateProof,
  variableHash,
  verifyAccount,
  verifyCoSignatures,
  verifyDsBlocks,
  verifyField,
  verifyTxBlock,
  verifyVariable,
} from "silica-proof";
import { parseAddress } from "../dist/address.js";
import { packBits, quorum } from "../dist/committee.js";
import { aggregateKeys, verifyCollective } from "../dist/schnorr.js";
import { verifyTrie } from "../dist/trie.js";
import { answer, bytes, hex, rejects, stateProofs, vectors } from "./support.js";

const METADATA = ["_depth", "_type"];

/** The keys of a case. Keys of metadata are names without quotes. */
function keysOf(entry) {
  return entry.indices.map((key) => (METADATA.includes(entry.vname) ? MapKey.string(key) : MapKey.fromJson(key)));
}

/** The bytes of an account in the account trie, to compare with a vector. */
function fieldsOf(account) {
  return [account.balance, account.nonce, account.contract?.codeHash ?? null, account.contract?.storageRoot ?? null];
}

test("state proofs prove their values or their absence", () => {
  const cases = stateProofs(true);
  assert.equal(cases.length, 9);
  for (const entry of cases) {
    const proof = parseStateProof(answer(entry));
    const proven = verifyVariable(entry.state_root, entry.address, entry.variable_hash, proof);
    assert.equal(proven.account.contract.storageRoot, entry.storage_root, entry.name);
    assert.equal(proven.value === null ? null : hex(proven.value.bytes), entry.value, entry.name);
    assert.deepEqual(verifyAccount(entry.state_root, entry.address, proof), proven.account);
    assert.equal(variableHash(entry.address, entry.vname, keysOf(entry)), entry.variable_hash, entry.name);
    assert.deepEqual(verifyField(entry.state_root, entry.address, entry.vname, keysOf(entry), proof), proven);
  }
});

test("state proofs with a fault are rejected", () => {
  const cases = stateProofs(false);
  assert.equal(cases.length, 4);
  for (const entry of cases) {
    const proof = parseStateProof(answer(entry));
    const step = entry.name === "invalid-node-changed" ? "stateProof" : "accountProof";
    rejects(() => verifyVariable(entry.state_root, entry.address, entry.variable_hash, proof), step);
  }
});

test("values are JSON, and values of other forms are text", () => {
  const proven = (name) => {
    const entry = stateProofs(true).find((entry) => entry.name === name);
    return verifyVariable(entry.state_root, entry.address, entry.variable_hash, parseStateProof(answer(entry))).value
      .json;
  };
  assert.equal(proven("generated-n"), "3");
  assert.equal(proven("generated-_type"), "Map (ByStr20) (Uint128)");
  assert.equal(proven("generated-_depth"), 1);
});

test("published tries have their proofs", () => {
  let proofs = 0;
  for (const entry of vectors("trie")) {
    for (const proof of entry.proofs ?? []) {
      for (const nodes of [proof.as_returned, proof.path_nodes_root_first]) {
        const value = verifyTrie("nodes", "root", bytes(entry.root), bytes(proof.key), nodes.map(bytes));
        assert.equal(value === null ? null : hex(value), proof.value, entry.name);
      }
      proofs += 1;
    }
  }
  assert.equal(proofs, 25);
});

test("accounts and storage keys have their published forms", () => {
  let accounts = 0;
  for (const entry of vectors("accounts")) {
    if (entry.kind === "storage_entry") {
      const keys = entry.indices.map((key) =>
        METADATA.includes(entry.vname) ? MapKey.string(key) : MapKey.fromJson(key),
      );
      assert.equal(variableHash(entry.contract, entry.vname, keys), entry.variable_hash, entry.name);
    }
  }
  for (const entry of stateProofs(true)) {
    const account = verifyAccount(entry.state_root, entry.address, parseStateProof(answer(entry)));
    const [, , codeHash, storageRoot] = fieldsOf(account);
    assert.ok(entry.account.endsWith(`2220${codeHash}2a20${storageRoot}`), entry.name);
    assert.ok(entry.account.startsWith(`080112120a10${account.balance.toString(16).padStart(32, "0")}18`), entry.name);
    accounts += 1;
  }
  assert.equal(accounts, 9);
});

test("addresses have both spellings", () => {
  for (const entry of vectors("addresses")) {
    if (entry.kind === "bech32") assert.equal(hex(parseAddress("address", entry.bech32)), entry.address);
    if (entry.kind === "bech32_invalid") rejects(() => parseAddress("address", entry.input), "address: expected");
    if (entry.kind === "base16_input" && entry.accepted)
      assert.equal(hex(parseAddress("address", entry.input)), entry.address);
  }
});

test("multisignatures verify or are rejected", () => {
  let [valid, invalid] = [0, 0];
  for (const entry of vectors("multisig")) {
    if (entry.kind === "verify") {
      const call = () => verifyCollective("signature", bytes(entry.message), bytes(entry.signature), entry.aggregate);
      if (entry.valid) call();
      else rejects(call, "signature");
      entry.valid ? (valid += 1) : (invalid += 1);
    }
    if (entry.kind === "round") {
      const keys = entry.signers.map((signer) => signer.public_key);
      assert.equal(aggregateKeys("keys", keys), entry.aggregate_public_key);
      verifyCollective("signature", bytes(entry.message), bytes(entry.signature), entry.aggregate_public_key);
    }
    if (entry.kind === "aggregate_keys") {
      if (entry.aggregate === null) rejects(() => aggregateKeys("keys", entry.public_keys), "keys");
      else assert.equal(aggregateKeys("keys", entry.public_keys), entry.aggregate, entry.name);
    }
    if (entry.kind === "bit_vector") {
      assert.equal(hex(packBits([...entry.bits].map((bit) => bit === "1"))), entry.encoded);
    }
  }
  assert.deepEqual([valid, invalid], [2, 7]);
});

test("malformed public keys and signatures are rejected", () => {
  const good = vectors("multisig").find((entry) => entry.kind === "verify" && entry.valid);
  for (const entry of vectors("schnorr").filter((entry) => entry.name.startsWith("public-key-"))) {
    rejects(
      () => verifyCollective("signature", bytes(good.message), bytes(good.signature), entry.public_key),
      "signature: expected",
    );
  }
  for (const entry of vectors("schnorr").filter((entry) => /^(r|s)-|^signature-/.test(entry.name))) {
    rejects(
      () => verifyCollective("signature", bytes(good.message), bytes(entry.signature), good.aggregate),
      "signature: expected",
    );
  }
});

test("blocks have their hashes and co-signatures", () => {
  let [blocks, signed] = [0, 0];
  for (const entry of vectors("blocks")) {
    if (entry.serialized_block === undefined || entry.kind === "micro_block") continue;
    const block =
      entry.kind === "ds_block" ? decodeDsBlock(entry.serialized_block) : decodeTxBlock(entry.serialized_block);
    assert.equal(block.hash, entry.block_hash, entry.name);
    assert.equal(hex(block.header), entry.header, entry.name);
    blocks += 1;
    if (entry.cosignature !== undefined) {
      verifyCoSignatures(entry.name, block, entry.cosignature.committee);
      signed += 1;
    }
  }
  assert.deepEqual([blocks, signed], [5, 3]);
});

test("committees have their hashes and numbers of signers", () => {
  for (const entry of vectors("blocks").filter((entry) => entry.kind === "committee_hash")) {
    assert.equal(committeeHash(entry.keys), entry.hash, entry.name);
  }
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 9, 10, 600, 999, 1000, 1001].map(quorum),
    [1, 2, 3, 3, 4, 5, 7, 7, 401, 667, 667, 668],
  );
});

test("a published DS block leads to the committee of a published Tx block", () => {
  const published = (name) => vectors("blocks").find((entry) => entry.name === name);
  const first = published("published-dsblock3");
  const txBlock = decodeTxBlock(published("published-txblock3").serialized_block);
  const [dsBlock, keys] = [decodeDsBlock(first.serialized_block), first.cosignature.committee];
  // The network has nine guards: DS block 1 lets one member join after them, and the last member leaves.
  const committee = verifyDsBlocks(first.block_hash, [dsBlock], keys, 9);
  assert.equal(committee.dsBlock, txBlock.dsBlock);
  assert.equal(committee.keys[9], dsBlock.winners[0]);
  verifyTxBlock(txBlock, committee.keys);

  rejects(() => verifyTxBlock(txBlock, keys), "txBlock.header.committeehash");
  rejects(() => verifyTxBlock(txBlock, verifyDsBlocks(first.block_hash, [dsBlock], keys, 0).keys), "committeehash");
  rejects(
    () => verifyDsBlocks(first.block_hash, [dsBlock], [...keys].reverse(), 9),
    "dsBlocks[0].header.committeehash",
  );
  rejects(() => verifyDsBlocks(first.block_hash, [dsBlock], keys, 11), "guards");
  rejects(() => verifyDsBlocks(first.block_hash, [dsBlock]), "dsBlocks[0].header.committeehash");
  const other = decodeDsBlock(published("published-dsblock2").serialized_block);
  rejects(() => verifyDsBlocks(first.block_hash, [other], keys, 9), "pinned DS block");
  rejects(() => verifyDsBlocks(first.block_hash, [dsBlock, other], keys, 9), "dsBlocks[1].header.blocknum");
  rejects(() => verifyDsBlocks(first.block_hash, [], keys, 9), "no blocks");
});
