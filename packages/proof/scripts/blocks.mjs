// Verifies that a committee signed the blocks of a network.
//
// Usage: node scripts/blocks.mjs FILE
//
// FILE has an object with the public keys of the committee, `committee`, and with the data of all blocks from number 0
// in their order, `txBlocks` and `dsBlocks`. Block 0 has no co-signature.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { decodeDsBlock, decodeTxBlock, verifyDsBlocks, verifyTxBlock } from "silica-proof";

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("expected the path of a file with blocks as argument");
const { committee, dsBlocks, txBlocks } = JSON.parse(readFileSync(path, "utf8"));

let previous;
for (const [number, data] of txBlocks.entries()) {
  const block = decodeTxBlock(data, `txBlocks[${number}]`);
  assert.equal(block.number, BigInt(number));
  if (previous !== undefined) {
    assert.equal(block.previousHash, previous.hash, `the hash before Tx block ${number}`);
    verifyTxBlock(block, committee, `txBlocks[${number}]`);
  }
  previous = block;
}
const [genesis, ...later] = dsBlocks.map((data, number) => decodeDsBlock(data, `dsBlocks[${number}]`));
if (later.length > 0) {
  assert.equal(later[0].previousHash, genesis.hash, "the hash before DS block 1");
  assert.deepEqual(verifyDsBlocks(later[0].hash, later, committee).keys, committee);
}
console.log(`${committee.length} members signed ${txBlocks.length - 1} Tx blocks and ${later.length} DS blocks`);
