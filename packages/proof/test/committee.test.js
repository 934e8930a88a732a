// A chain of DS blocks with several members, which the test signs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sha256 } from "@noble/hashes/sha2.js";
import { Point } from "@noble/secp256k1";

import {
  committeeHash,
  decodeDsBlock,
  decodeTxBlock,
  nextCommittee,
  verifyCoSignatures,
  verifyDsBlocks,
  verifyTxBlock,
} from "silica-proof";
import { packBits, quorum } from "../dist/committee.js";
import { bytes, hex, message, rejects } from "./support.js";

const { n: ORDER } = Point.CURVE();
const number = (data) => BigInt(`0x${hex(data)}`);
const bytes32 = (value) => bytes(value.toString(16).padStart(64, "0"));

const secrets = new Map();
/** Returns the public key of the member with a number. */
function member(index) {
  const secret = number(sha256(Buffer.from(`member ${index}`))) % ORDER;
  const key = hex(Point.BASE.multiply(secret).toBytes());
  secrets.set(key, secret);
  return key;
}

/** Signs as several members together: the sum of the keys has the sum of the secrets. */
function sign(data, keys) {
  const secret = keys.reduce((sum, key) => (sum + secrets.get(key)) % ORDER, 0n);
  const nonce = number(sha256(Buffer.concat([bytes32(secret), data]))) % ORDER;
  const parts = [
    Uint8Array.of(0x11),
    Point.BASE.multiply(nonce).toBytes(),
    Point.BASE.multiply(secret).toBytes(),
    data,
  ];
  const challenge = number(sha256(Buffer.concat(parts))) % ORDER;
  return Buffer.concat([bytes32(challenge), bytes32((((nonce - challenge * secret) % ORDER) + ORDER) % ORDER)]);
}

const wrap = (data) => message([[1, data]]);
const bits = (committee, signers) => committee.map((key) => signers.includes(key));

/** Signs a header, and returns the message of the end of a block. */
function base(
  header,
  committee,
  { first = committee.slice(0, quorum(committee.length)), second = first, ...change } = {},
) {
  const [b1, b2] = [change.b1 ?? bits(committee, first), change.b2 ?? bits(committee, second)];
  const cs1 = change.cs1 ?? sign(header, first);
  const cs2 = change.cs2 ?? sign(Buffer.concat([header, cs1, packBits(b1)]), second);
  const list = (field, bits) => (bits.length === 0 ? [] : [[field, Uint8Array.from(bits, Number)]]);
  const cosigs = message([[1, wrap(cs1)], ...list(2, b1), [3, wrap(cs2)], ...list(4, b2)]);
  return message([
    [1, change.hash ?? sha256(header)],
    [2, cosigs],
    [3, 1_700_000_000_000_000n],
  ]);
}

function headerBase(committee, previous) {
  return message([
    [1, 2n],
    [2, bytes(committeeHash(committee))],
    [3, bytes(previous)],
  ]);
}

function dsHeader(committee, previous, blocknum, { winners = [], removed = [], proposals = [] } = {}) {
  return message([
    [1, headerBase(committee, previous)],
    [2, 5n],
    [3, 3n],
    [5, wrap(bytes(committee[0]))],
    [6, blocknum],
    [7, 300n],
    [8, wrap(new Uint8Array(16))],
    [9, wrap(new Uint8Array(48))],
    ...winners.map((key) => [
      10,
      message([
        [1, wrap(bytes(key))],
        [2, wrap(new Uint8Array(20))],
      ]),
    ]),
    [
      11,
      message([
        [1, new Uint8Array(32)],
        [2, new Uint8Array(128)],
      ]),
    ],
    ...removed.map((key) => [12, wrap(bytes(key))]),
    ...proposals.map((proposal) => [13, proposal]),
  ]);
}

/** Makes a signed DS block. */
function dsBlock(committee, previous, blocknum, header, more) {
  const data = dsHeader(committee, previous, blocknum, header);
  return message([
    [1, data],
    [2, base(data, committee, more)],
  ]);
}

function txHeader(committee, dsblocknum, infos) {
  return message([
    [
      1,
      message([
        [1, 1n],
        [2, bytes(committeeHash(committee))],
        [3, new Uint8Array(32)],
      ]),
    ],
    [2, 100n],
    [3, 0n],
    [4, wrap(new Uint8Array(16))],
    [6, 300n],
    [
      7,
      message([
        [1, new Uint8Array(32).fill(7)],
        [2, new Uint8Array(32)],
        [3, sha256(Buffer.concat(infos))],
      ]),
    ],
    [8, 0n],
    [9, wrap(bytes(committee[0]))],
    [10, dsblocknum],
  ]);
}

const INFO = message([
  [1, new Uint8Array(32).fill(1)],
  [2, new Uint8Array(32).fill(2)],
  [3, 0n],
]);

/** Makes a signed Tx block. */
function txBlock(committee, dsblocknum, more, infos = [INFO]) {
  const data = txHeader(committee, dsblocknum, infos);
  return message([[1, data], ...infos.map((info) => [2, info]), [3, base(data, committee, more)]]);
}

const committee = Array.from({ length: 7 }, (_, i) => member(i));
const sorted = (...keys) => keys.sort();
const winners = [sorted(member(10), member(11)), sorted(member(12))];
const removed = [[], [committee[1]]];
const ZERO = "00".repeat(32);

/** Returns the bytes of three DS blocks, and the committees that sign them. */
function chain(guards = 0) {
  const first = dsBlock(committee, ZERO, 5n, { winners: winners[0] });
  const second = nextCommittee(committee, { winners: winners[0], removed: [] }, guards);
  const block2 = dsBlock(second, decodeDsBlock(first).hash, 6n, { winners: winners[1], removed: removed[1] });
  const third = nextCommittee(second, { winners: winners[1], removed: removed[1] }, guards);
  const block3 = dsBlock(third, decodeDsBlock(block2).hash, 7n, {});
  return { blocks: [first, block2, block3], committees: [committee, second, third] };
}

test("winners join after the guards, and removed and last members leave", () => {
  const next = (guards, block) =>
    nextCommittee(["a", "b", "c", "d", "e"], { winners: [], removed: [], ...block }, guards).join("");
  assert.equal(next(0, {}), "abcde");
  assert.equal(next(0, { winners: ["x", "y"] }), "yxabc");
  assert.equal(next(2, { winners: ["x", "y"] }), "abyxc");
  assert.equal(next(0, { winners: ["x"], removed: ["b"] }), "xacde");
  assert.equal(next(0, { winners: [], removed: ["b"] }), "acdeb");
  assert.equal(next(0, { winners: ["x"], removed: ["?"] }), "xabcd");
  assert.equal(next(5, { winners: ["x"] }), "abcde");
});

test("a chain of committees leads to a Tx block", () => {
  for (const guards of [0, 3]) {
    const { blocks, committees } = chain(guards);
    const decoded = blocks.map((block) => decodeDsBlock(block));
    const result = verifyDsBlocks(decoded[0].hash, decoded, committee, guards);
    assert.deepEqual(result.keys, committees[2]);
    assert.equal(result.dsBlock, 7n);
    const block = decodeTxBlock(txBlock(result.keys, 7n));
    verifyTxBlock(block, result.keys);
    rejects(() => verifyTxBlock(block, committee), "txBlock.header.committeehash");
    rejects(() => verifyDsBlocks(decoded[0].hash, decoded, committee, guards + 1), "dsBlocks[1].header.committeehash");
  }
});

test("a block of the chain with a fault is named", () => {
  const { blocks, committees } = chain();
  const [first, second, third] = blocks.map((block) => decodeDsBlock(block));
  const check = (chain, ...words) => rejects(() => verifyDsBlocks(first.hash, chain, committee), ...words);
  check([second, third], "dsBlocks[0]", first.hash);
  check([first, third], "dsBlocks[1].header.blocknum", "expected 6", "got 7");
  const other = decodeDsBlock(dsBlock(committees[1], ZERO, 6n, {}));
  check([first, other], "dsBlocks[1].header.prevhash");
  // Other members sign with their own keys.
  const foreign = Array.from({ length: 7 }, (_, i) => member(20 + i));
  check([first, decodeDsBlock(dsBlock(foreign, first.hash, 6n, {}))], "dsBlocks[1].header.committeehash");
  // The header names the committee, and other members sign it.
  const header = dsHeader(committees[1], first.hash, 6n, {});
  const signed = (keys) =>
    decodeDsBlock(
      message([
        [1, header],
        [2, base(header, keys)],
      ]),
    );
  check([first, signed(foreign)], "dsBlocks[1]: CS2/B2 signature");
  check([first, signed(committees[1].slice(0, 6))], "dsBlocks[1]: B1 bitmap", "7 bits", "6 bits");
});

test("bitmaps and signatures must fit the committee", () => {
  const signers = committee.slice(0, 5);
  const header = dsHeader(committee, ZERO, 5n, {});
  const block = (more) =>
    decodeDsBlock(
      message([
        [1, header],
        [2, base(header, committee, more)],
      ]),
    );
  const check = (more, ...words) => rejects(() => verifyCoSignatures("block", block(more), committee), ...words);
  assert.equal(quorum(7), 5);
  verifyCoSignatures("block", block(), committee);
  verifyCoSignatures(
    "block",
    block({ first: committee.slice(2), second: [committee[0], ...committee.slice(3)] }),
    committee,
  );
  check({ b2: bits(committee, committee.slice(1, 6)) }, "CS2/B2 signature");
  check({ b2: bits(committee, committee.slice(0, 4)) }, "CS2/B2 bitmap", "5 signers", "4 signers");
  check({ b2: Array(7).fill(true) }, "CS2/B2 bitmap", "7 signers");
  check({ second: committee.slice(0, 6) }, "CS2/B2 bitmap", "6 signers");
  check({ second: committee.slice(0, 4) }, "CS2/B2 bitmap", "4 signers");
  check({ b2: bits(committee, signers).slice(1) }, "CS2/B2 bitmap", "7 bits");
  check({ b2: [] }, "CS2/B2 bitmap", "0 bits");
  check({ b1: [] }, "B1 bitmap", "0 bits");
  check({ b1: [...bits(committee, signers), false] }, "B1 bitmap", "8 bits");
  for (const [r, s] of [
    [0n, 1n],
    [1n, 0n],
    [ORDER, 1n],
    [1n, ORDER],
    [0n, 0n],
  ]) {
    check({ cs2: Buffer.concat([bytes32(r), bytes32(s)]) }, "CS2/B2 signature", "two numbers");
  }
  check({ cs2: sign(header, signers) }, "CS2/B2 signature");
  // The first round can be over another header. Its signature and bitmap are part of the second message.
  verifyCoSignatures("block", block({ cs1: new Uint8Array(64).fill(3) }), committee);
  const good = block();
  const flipped = { ...good, cosignatures: { ...good.cosignatures, b1: [...good.cosignatures.b1].reverse() } };
  rejects(() => verifyCoSignatures("block", flipped, committee), "CS2/B2 signature");
  rejects(() => verifyCoSignatures("block", good, [...committee].reverse()), "CS2/B2 signature");
  rejects(
    () => verifyCoSignatures("block", good, [committee[0], `05${committee[1].slice(2)}`, ...committee.slice(2)]),
    "CS2/B2 signers[1]",
  );
});

test("keys that cancel out do not sign", () => {
  const key = member(1);
  const opposite = (key.startsWith("02") ? "03" : "02") + key.slice(2);
  const header = dsHeader([key, opposite], ZERO, 5n, {});
  const block = decodeDsBlock(
    message([
      [1, header],
      [2, base(header, [key, opposite], { cs1: new Uint8Array(64).fill(1), cs2: new Uint8Array(64).fill(1) })],
    ]),
  );
  rejects(() => verifyCoSignatures("block", block, [key, opposite]), "the point at infinity");
});

test("blocks have one canonical form", () => {
  const valid = dsHeader(committee, ZERO, 5n, {
    winners: winners[0],
    removed: [committee[1]],
    proposals: [
      message([
        [1, 8n],
        [
          2,
          message([
            [1, 1n],
            [2, 2n],
          ]),
        ],
      ]),
    ],
  });
  const block = (header) =>
    message([
      [1, header],
      [2, base(header, committee)],
    ]);
  decodeDsBlock(block(valid));
  decodeDsBlock(
    block(
      dsHeader(committee, ZERO, 5n, {
        proposals: [
          message([]),
          message([
            [1, 2n],
            [3, message([])],
            [3, message([[1, 1n]])],
          ]),
        ],
      }),
    ),
  );
  const check = (header, ...words) => rejects(() => decodeDsBlock(block(header)), "dsBlock", ...words);
  check(dsHeader(committee, ZERO, 5n, { winners: [...winners[0]].reverse() }), "dswinners[1]");
  check(dsHeader(committee, ZERO, 5n, { winners: [winners[0][0], winners[0][0]] }), "dswinners[1]");
  check(dsHeader(committee, ZERO, 5n, { proposals: [message([[1, 2n]]), message([[1, 2n]])] }), "proposals[1]");
  check(
    dsHeader(committee, ZERO, 5n, {
      proposals: [
        message([
          [2, message([[1, 3n]])],
          [2, message([[1, 1n]])],
        ]),
      ],
    }),
    "dsvotes[1]",
  );
  check(dsHeader(committee, ZERO, 5n, { proposals: [message([[1, 0n]])] }), "proposalid");
  check(dsHeader(committee, ZERO, 5n, { proposals: [message([[1, 1n << 32n]])] }), "below 2^32");
  check(Uint8Array.of(...valid, 0x70, 1), "end of the message");
  check(valid.subarray(0, -1), "dsBlock");
  check(dsHeader(committee, ZERO, (1n << 64n) - 1n), "placeholder");
  rejects(
    () =>
      decodeDsBlock(
        message([
          [1, valid],
          [2, base(valid, committee, { hash: new Uint8Array(32) })],
        ]),
      ),
    "blockhash",
  );
  rejects(() => decodeDsBlock(Uint8Array.of(...block(valid), 0)), "end of the message");
  rejects(
    () =>
      decodeDsBlock(
        message([
          [1, valid],
          [2, base(valid, committee, { b1: [2] })],
        ]),
      ),
    "bits as bytes",
  );
  rejects(() => decodeDsBlock(new Uint8Array()), "field 1");
  rejects(() => decodeDsBlock(Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f)), "at most");
  rejects(() => decodeDsBlock(null), "dsBlock", "an object", "null");
  rejects(() => decodeTxBlock("zz"), "txBlock", "hexadecimal");
  // Many micro blocks do not exhaust the stack.
  const info = message([
    [1, new Uint8Array(32)],
    [2, new Uint8Array(32)],
    [3, 0n],
  ]);
  decodeTxBlock(txBlock(committee, 5n, {}, Array(150_000).fill(info)));
  const tx = txBlock(committee, 5n);
  decodeTxBlock(tx);
  const text = hex(tx);
  rejects(() => decodeTxBlock(text.replace("01".repeat(32), "03".repeat(32))), "txBlock.mbinfos");
});
