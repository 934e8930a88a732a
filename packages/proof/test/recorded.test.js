// Proofs, Tx blocks and DS blocks of a running node, recorded by `scripts/record.mjs`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { decodeDsBlock, decodeTxBlock, parseStateProof, verify, verifyAccount, verifyDsBlocks } from "silica-proof";
import { bytes, hex, rejects } from "./support.js";

const recorded = JSON.parse(readFileSync(new URL("data/recorded.json", import.meta.url), "utf8"));
const { address, dsBlocks, holder, txBlock } = recorded;
const committee = recorded.dsCommittee.dscomm;
const block = decodeTxBlock(txBlock);
const pins = dsBlocks.map((answer) => decodeDsBlock(answer).hash);

/** The bundle of a recorded proof, with the DS blocks from number `from`. */
function bundle(field, keys = [], from = 1) {
  const { answer } = recorded.proofs.find(
    (proof) => proof.field === field && JSON.stringify(proof.keys) === JSON.stringify(keys),
  );
  return { address, field, keys, proof: answer, txBlock, dsBlocks: dsBlocks.slice(from) };
}
const entry = () => bundle("balances", [`"0x${holder}"`]);
const trust = { kind: "dsBlock", hash: pins[1] };
const ids = (statements) => statements.map((statement) => statement.id);

test("values are those that the node reports", () => {
  const value = (field, keys) => verify(bundle(field, keys), trust).variable.value;
  const { balances, allowances, total_supply } = recorded.state;
  assert.equal(value("total_supply").json, total_supply);
  assert.equal(value("balances", [`"0x${holder}"`]).json, balances[`0x${holder}`]);
  const [[owner, spenders]] = Object.entries(allowances);
  assert.equal(value("allowances", [`"${owner}"`, `"0x${holder}"`]).json, spenders[`0x${holder}`]);
  assert.deepEqual(value("operators").json, {});
  assert.equal(value("_type", ['"balances"']).json, "Map (ByStr20) (Uint128)");
  assert.equal(hex(value("_addr").bytes), address);
  assert.equal(value("balances", [`"0x${"00".repeat(20)}"`]), null);
  assert.equal(value("balances"), null);
});

test("blocks have the fields that the node reports", () => {
  const { header, body } = recorded.txBlockVerbose;
  assert.equal(block.hash, body.BlockHash);
  assert.equal(String(block.number), header.BlockNum);
  assert.equal(String(block.dsBlock), header.DSBlockNum);
  assert.equal(block.stateRoot, header.StateRootHash);
  assert.equal(block.previousHash, header.PrevBlockHash);
  assert.equal(block.committeeHash, header.CommitteeHash);
  assert.equal(String(block.timestamp), header.Timestamp);
  assert.equal(hex(block.cosignatures.cs2).toUpperCase(), body.HeaderSign);
  assert.equal(hex(block.cosignatures.cs1).toUpperCase(), body.CS1);
  assert.deepEqual([block.cosignatures.b1, block.cosignatures.b2], [body.B1, body.B2]);
});

test("a result states what was verified and what is assumed", () => {
  const steps = ["block-hash", "co-signature", "account", "variable"];
  const result = verify(entry(), trust);
  assert.deepEqual(ids(result.verified), ["ds-chain", ...steps]);
  assert.deepEqual(ids(result.assumed), ["ds-block-pinned", "signers", "timestamp"]);
  assert.equal(result.stateRoot, block.stateRoot);
  assert.equal(result.block.number, block.number);
  assert.deepEqual(
    result.committee,
    committee.map((key) => key.slice(2).toLowerCase()),
  );
  assert.equal(result.account.balance, BigInt(recorded.balance.balance));

  const genesis = verify(bundle("total_supply", [], 0), { kind: "dsBlock", hash: pins[0] });
  assert.deepEqual(ids(genesis.assumed), ["ds-block-pinned", "genesis-leader", "signers", "timestamp"]);
  const given = verify({ ...entry(), committee }, trust);
  assert.deepEqual(given.verified, result.verified);
  const keys = verify(entry(), { kind: "committee", keys: committee });
  assert.deepEqual([ids(keys.verified), ids(keys.assumed)], [steps, ["committee-trusted", "signers", "timestamp"]]);
  const node = verify({ ...entry(), committee }, { kind: "node" });
  assert.deepEqual([ids(node.verified), ids(node.assumed)], [steps, ["committee-reported", "signers", "timestamp"]]);
  assert.equal(node.assumed[0].text, "The committee is the one that the node reports.");
  const root = verify({ ...entry(), txBlock: undefined }, { kind: "stateRoot", stateRoot: block.stateRoot });
  assert.deepEqual([ids(root.verified), ids(root.assumed)], [["account", "variable"], ["state-root"]]);
  assert.deepEqual([root.block, root.committee], [null, null]);
  const both = verify(entry(), { kind: "stateRoot", stateRoot: block.stateRoot });
  assert.deepEqual(
    [ids(both.verified), ids(both.assumed)],
    [
      ["block-hash", "account", "variable"],
      ["state-root", "timestamp"],
    ],
  );
});

test("an account is proven alone", () => {
  const { accountProof } = entry().proof;
  const result = verify({ address, proof: { accountProof }, txBlock, dsBlocks: dsBlocks.slice(1) }, trust);
  assert.equal(result.variable, null);
  assert.deepEqual(result.account, verifyAccount(block.stateRoot, address, parseStateProof({ accountProof })));
  rejects(
    () => verify({ address, proof: entry().proof, txBlock, dsBlocks: dsBlocks.slice(1) }, trust),
    "stateProof: expected no nodes",
  );
});

test("the change of any byte of a proof or of a signed block is rejected", () => {
  const change = (text, at) => {
    const data = bytes(text);
    data[at] ^= 1 << (at % 8);
    return hex(data);
  };
  for (const list of ["accountProof", "stateProof"]) {
    entry().proof[list].forEach((node, position) => {
      for (let at = 0; at < node.length / 2; at += 3) {
        const proof = { ...entry().proof, [list]: entry().proof[list].with(position, change(node, at)) };
        rejects(
          () => verify({ ...entry(), txBlock: undefined, proof }, { kind: "stateRoot", stateRoot: block.stateRoot }),
          list,
        );
      }
    });
  }
  // The timestamp is at the end of a block, and no signature covers it.
  const tail = (text) => text.length / 2 - 8;
  for (let at = 0; at < tail(txBlock.data); at++) {
    rejects(
      () => verify({ ...entry(), txBlock: change(txBlock.data, at) }, { kind: "committee", keys: committee }),
      "txBlock",
    );
  }
  // The signatures of the pinned DS block are not used, because the caller trusts its hash.
  const [pinned, next] = dsBlocks.slice(1).map((answer) => answer.data);
  const headerEnd = decodeDsBlock(pinned).header.length + 3;
  for (let at = 0; at < headerEnd; at++) {
    rejects(() => verifyDsBlocks(pins[1], [decodeDsBlock(change(pinned, at), "dsBlocks[0]")]), "dsBlocks[0]");
  }
  for (let at = 0; at < tail(next); at++) {
    rejects(
      () => verifyDsBlocks(pins[1], [decodeDsBlock(pinned), decodeDsBlock(change(next, at), "dsBlocks[1]")]),
      "dsBlocks[1]",
    );
  }
});

test("other blocks, committees and pins are rejected", () => {
  const other = `02${"c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"}`;
  const check = (more, trusted, ...words) => rejects(() => verify({ ...entry(), ...more }, trusted), ...words);
  check({ txBlock: recorded.otherTxBlock }, trust, "accountProof");
  check({ txBlock: recorded.missingTxBlock }, trust, "txBlock", "placeholder of a missing block");
  check({ txBlock: undefined }, trust, "txBlock", "no value");
  check({ txBlock: { data: "" } }, trust, "txBlock.data");
  check({ txBlock: {} }, trust, "txBlock.data");
  check({ txBlock: dsBlocks[1] }, trust, "txBlock");
  check({}, { kind: "dsBlock", hash: pins[2] }, "dsBlocks[0]", "the pinned DS block");
  check({ dsBlocks: undefined }, trust, "dsBlocks", "no value");
  check({ dsBlocks: [] }, trust, "dsBlocks", "no blocks");
  check({ dsBlocks: dsBlocks.slice(1, -1) }, trust, "dsBlocks", "at the end");
  check({ dsBlocks: [dsBlocks[1], ...dsBlocks.slice(3)] }, trust, "dsBlocks[1].header.blocknum");
  check({ dsBlocks: [dsBlocks[1], dsBlocks[3], dsBlocks[2], dsBlocks[4]] }, trust, "dsBlocks[1].header.blocknum");
  check({ committee: [other] }, trust, "dsBlocks[0].header.committeehash");
  check({ committee: [...committee, other] }, trust, "dsBlocks[0].header.committeehash");
  check(
    { committee: [other], dsBlocks },
    { kind: "dsBlock", hash: pins[0] },
    "committee",
    "the leader of DS block 0 alone",
  );
  check({ committee: [other] }, { kind: "node" }, "txBlock.header.committeehash");
  check({ committee: undefined }, { kind: "node" }, "committee", "no value");
  check({ committee: [] }, { kind: "node" }, "committee", "public keys");
  check({ committee: Array(3000).fill(other) }, { kind: "node" }, "committee", "3000");
  check({ committee: ["0x00"] }, { kind: "node" }, "committee[0]");
  check({}, { kind: "committee", keys: [other] }, "txBlock.header.committeehash");
  check({}, { kind: "stateRoot", stateRoot: "00".repeat(32) }, "txBlock.header.stateroothash");
  check({ txBlock: undefined }, { kind: "stateRoot", stateRoot: "00".repeat(32) }, "accountProof");
  check({}, { kind: "everything" }, "trust.kind", "everything");
  check({}, { kind: { toString: 1 } }, "trust.kind", "an object");
  check({}, null, "trust", "null");
  check({}, { kind: "dsBlock" }, "pinned DS block", "no value");
  check({}, { ...trust, guards: {} }, "guards", "an object");
  check({}, { ...trust, guards: 2 }, "guards", "0 to 1");
  check({ field: 7 }, trust, "field", "a number");
  check({ address: 7 }, trust, "address", "a number");
  check({ proof: undefined }, trust, "response", "no value");
  rejects(() => verify(null, trust), "bundle", "null");
  check({ variable: "00".repeat(32) }, trust, "variable", "both");
  check({ keys: ['"0x00"'] }, trust, "stateProof");
  check({ keys: [holder] }, trust, "map key");
  check({ keys: [7] }, trust, "keys[0]");
  check({ field: "total_supply", keys: [] }, trust, "stateProof");
  check({ address: holder }, trust, "Proof");
});
