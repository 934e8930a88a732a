// Changed, incomplete and hostile proofs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MapKey, parseStateProof, variableHash, verifyAccount, verifyField, verifyVariable } from "silica-proof";
import { verifyTrie } from "../dist/trie.js";
import { answer, bytes, hex, keccak, message, rejects, rlpList, rlpString, stateProofs } from "./support.js";

const proofs = stateProofs(true).map((entry) => ({ ...entry, proof: parseStateProof(answer(entry)) }));
const verifyCase = (entry, proof) => verifyVariable(entry.state_root, entry.address, entry.variable_hash, proof);
const LISTS = ["account", "state"];

test("the change of any byte of a proof is rejected", () => {
  let changes = 0;
  for (const entry of proofs) {
    for (const list of LISTS) {
      for (const [position, node] of entry.proof[list].entries()) {
        for (let at = 0; at < node.length; at++) {
          const changed = Uint8Array.from(node);
          changed[at] ^= 1 << (at % 8);
          const nodes = entry.proof[list].with(position, changed);
          if (list === "account")
            rejects(
              () => verifyAccount(entry.state_root, entry.address, { ...entry.proof, account: nodes }),
              "accountProof",
            );
          else rejects(() => verifyCase(entry, { ...entry.proof, state: nodes }), "stateProof");
          changes += 1;
        }
      }
    }
  }
  assert.ok(changes > 10_000, `${changes}`);
});

test("nodes can have any order, but none may be missing or surplus", () => {
  for (const entry of proofs) {
    const expected = verifyCase(entry, entry.proof);
    for (const list of LISTS) {
      const nodes = entry.proof[list];
      const check = (changed, ...words) =>
        rejects(() => verifyCase(entry, { ...entry.proof, [list]: changed }), ...words);
      assert.deepEqual(verifyCase(entry, { ...entry.proof, [list]: [...nodes].reverse() }), expected);
      assert.deepEqual(
        verifyCase(entry, { ...entry.proof, [list]: [...nodes.slice(2), ...nodes.slice(0, 2)] }),
        expected,
      );
      nodes.forEach((node, position) => {
        check([...nodes, node], "a node on the path to the key, once");
        if (node.length >= 32)
          check(
            nodes.filter((_, i) => i !== position),
            "the proof is incomplete",
          );
        check([...nodes.slice(0, position), node.subarray(0, -1), ...nodes.slice(position + 1)], `${list}Proof`);
        check([...nodes.slice(0, position), Uint8Array.of(...node, 0), ...nodes.slice(position + 1)], `${list}Proof`);
      });
      for (const surplus of [
        Uint8Array.of(),
        Uint8Array.of(0x80),
        bytes("c22001"),
        ...proofs[0].proof[list === "account" ? "state" : "account"],
      ]) {
        if (!nodes.some((node) => hex(node) === hex(surplus))) check([...nodes, surplus], `[${nodes.length}]`);
      }
      check([], "the proof is incomplete");
    }
  }
});

test("a proof is about one root, one account and one variable", () => {
  const flip = (text, at) => text.slice(0, at) + (text[at] === "0" ? "1" : "0") + text.slice(at + 1);
  for (const entry of proofs) {
    for (let at = 0; at < 64; at += 7) {
      rejects(
        () => verifyVariable(flip(entry.state_root, at), entry.address, entry.variable_hash, entry.proof),
        "accountProof",
        "state root",
      );
    }
    // Keys that differ at their first digit have other paths. Keys that differ after the last fork share the path, and
    // the same nodes prove that they have no value.
    rejects(
      () => verifyVariable(entry.state_root, entry.address, flip(entry.variable_hash, 0), entry.proof),
      "stateProof",
    );
    assert.equal(
      verifyVariable(entry.state_root, entry.address, flip(entry.variable_hash, 63), entry.proof).value,
      null,
    );
    rejects(() => verifyAccount(entry.state_root, flip(entry.address, 0), entry.proof), "accountProof");
    assert.equal(verifyAccount(entry.state_root, flip(entry.address, 39), entry.proof), null);
    rejects(
      () => verifyVariable(entry.state_root, flip(entry.address, 39), entry.variable_hash, entry.proof),
      "stateProof",
      "no storage",
    );
    const [first, ...rest] = entry.proof.account;
    rejects(
      () =>
        verifyVariable(entry.state_root, entry.address, entry.variable_hash, {
          account: rest.concat(first),
          state: [],
        }),
      "stateProof",
    );
  }
});

test("arguments of the wrong form are named", () => {
  const [{ state_root: root, address, variable_hash: hash, proof }] = proofs;
  rejects(() => verifyAccount(root.slice(1), address, proof), "state root: expected 64 hexadecimal digits");
  rejects(() => verifyAccount(`${root.slice(1)}g`, address, proof), "state root: expected 64 hexadecimal digits");
  rejects(() => verifyAccount(root, "zil1", proof), "address: expected zil1 and 38 characters");
  rejects(() => verifyAccount(root, address.slice(2), proof), "address: expected 40 hexadecimal digits");
  rejects(() => verifyVariable(root, address, `${hash}00`, proof), "variable hash: expected 64 hexadecimal digits");
  rejects(() => verifyField(root, address, "", [], proof), "field");
  rejects(() => verifyField(root, address, "a\u0016b", [], proof), "field");
  assert.deepEqual(
    verifyAccount(`0x${root.toUpperCase()}`, `0x${address.toUpperCase()}`, proof),
    verifyAccount(root, address, proof),
  );
});

test("map keys have the text of the storage", () => {
  const json = (key) => key.json;
  assert.equal(json(MapKey.int(-5n)), '"-5"');
  assert.equal(json(MapKey.uint((1n << 256n) - 1n)), `"${(1n << 256n) - 1n}"`);
  assert.equal(json(MapKey.bystr(bytes("abcd"))), '"0xabcd"');
  assert.equal(json(MapKey.bystr(bytes(""))), '"0x"');
  assert.equal(
    json(MapKey.address("zil1r5verznnwvrzrz6uhveyrlxuhkvccwnju4aehf")),
    '"0x1d19918a737306218b5cbb3241fcdcbd998c3a72"',
  );
  assert.equal(json(MapKey.string('a "b"\\\u0001\u0016\n/é\u007f')), '"a \\"b\\"\\\\\\u0001\\u0016\\n/é\u007f"');
  assert.equal(json(MapKey.fromJson('"\\u0061\\/\\u00e9\\ud83d\\ude00"')), '"a/é😀"');
  assert.equal(json(MapKey.bnum(9n)), '"9"');
  for (const text of ["", '"', "7", "a", '"a', 'a"', '"a"b"', '"\n"', "null", '["a"]', '"\\"', ' "a"', '"\\ud83d"']) {
    rejects(() => MapKey.fromJson(text), "map key");
  }
  rejects(() => MapKey.uint(-1n), "map key");
  rejects(() => MapKey.uint(1n << 256n), "map key");
  rejects(() => MapKey.int(1n << 255n), "map key");
  rejects(() => MapKey.string("\ud800"), "map key");
  assert.notEqual(
    variableHash(proofs[0].address, "f", [MapKey.string("a"), MapKey.string("b")]),
    variableHash(proofs[0].address, "f", [MapKey.string("ab")]),
  );
});

test("responses come alone or in an envelope, and their faults are named", () => {
  const alone = { accountProof: ["ABcd"], stateProof: ["01"] };
  const expected = { account: [bytes("abcd")], state: [bytes("01")] };
  for (const response of [
    alone,
    JSON.stringify(alone),
    { id: "1", jsonrpc: "2.0", result: alone },
    { result: alone, error: null },
  ]) {
    assert.deepEqual(parseStateProof(response), expected);
  }
  assert.deepEqual(parseStateProof('{"accountProof":[]}'), { account: [], state: [] });
  rejects(
    () => parseStateProof('{"error":{"code":-5,"message":"Address does not exist"},"id":"1"}'),
    "-5",
    "Address does not exist",
  );
  rejects(() => parseStateProof('{"error":{"code":{"toString":1},"message":{"toString":1}}}'), "an object");
  const check = (text, ...words) => rejects(() => parseStateProof(text), ...words);
  check("", "response: expected JSON");
  check('{"accountProof":["AB"]', "response: expected JSON");
  check("[]", "response", "an object", "an array");
  check('{"result":null}', "result", "an object", "null");
  check('{"jsonrpc":"2.0"}', "result", "no value");
  check('{"result":{},"proof":1}', "response", '"proof"');
  check("{}", "accountProof", "no value");
  check('{"accountProof":[],"proofs":[]}', '"proofs"');
  check('{"accountProof":{}}', "accountProof", "an array", "an object");
  check('{"accountProof":["AB",7]}', "accountProof[1]", "a string", "a number");
  check('{"accountProof":["AB","ABC"]}', "accountProof[1]", "even number");
  check('{"accountProof":["AB"],"stateProof":["AX"]}', "stateProof[0]", "hexadecimal digits");
  check('{"accountProof":["0xAB"]}', "accountProof[0]", "without prefix");
  check('{"accountProof":[""]}', "accountProof[0]", "none");
  for (const value of [null, undefined, 7, true, [], () => 0]) rejects(() => parseStateProof(value), "response");
});

/** Verifies a list whose first node is the root, chosen by an attacker, for the key `77`. */
function follow(node, ...others) {
  return verifyTrie("nodes", "root", bytes(keccak(node)), bytes("77"), [node, ...others]);
}

test("encodings that are not canonical are rejected", () => {
  const leaf = rlpList([rlpString(bytes("2077")), rlpString(bytes("05"))]);
  assert.equal(hex(leaf), "c482207705");
  assert.equal(hex(follow(leaf)), "05");
  const long = rlpList([rlpString(bytes("2077")), rlpString(new Uint8Array(60).fill(7))]);
  assert.equal(hex(long.subarray(0, 6)), "f841822077b8");
  assert.equal(hex(follow(long)), "07".repeat(60));
  const check = (text, ...words) => rejects(() => follow(bytes(text)), "nodes[0]", ...words);
  check("", "canonical");
  check("80", "a node on the path"); // The root of an empty trie.
  check("c48220770500", "canonical"); // A byte after the node.
  check("c582207705", "canonical"); // The list is longer than the bytes.
  check("f80482207705", "canonical"); // A short list with a long length.
  check("f9000482207705", "canonical"); // A length with a leading zero.
  check("c5822077810500".slice(0, 12), "canonical"); // A byte below 0x80 with a header.
  check("c68220778105".replace("c6", "c5"), "canonical");
  check("c7b802207705ff".slice(0, 14), "canonical"); // A short string with a long length.
  check(`f842822077b9003c${"07".repeat(60)}`, "canonical");
  check(`f841822077b83d${"07".repeat(60)}`, "canonical"); // The string is longer than the list.
  check("ffffffffffffffffff", "canonical");
  check("bfffffffffffffffff", "canonical");
  check("c0", "0 items");
  check("c3200101", "3 items");
  check(`f3${"80".repeat(18)}${"80".repeat(33)}`, "more than 17 items");
  check("c24001", "hex-prefix");
  check("c22101", "hex-prefix"); // The second nibble of an even path is not 0.
  check("c2c001", "hex-prefix");
  check("c28001", "hex-prefix");
  check("c22080", "a value");
  check("c220c0", "a value");
  check("c200c0", "extension");
  check("c21180", "extension");
  check("c21105", "hash of 32 bytes");
  check(`e211e0${"01".repeat(32)}`, "fewer than 32 bytes");
  check(`d1${"80".repeat(16)}c0`, "a string as the value");
  check(`e281${"11"}`, "canonical");
});

test("a path ends at a leaf, a branch or a fork", () => {
  const hash = (node) => rlpString(bytes(keccak(node)));
  const leaf = rlpList([rlpString(bytes("37")), rlpString(new Uint8Array(40).fill(9))]);
  const branch = rlpList([
    ...Array(7).fill(rlpString([])),
    hash(leaf),
    ...Array(8).fill(rlpString([])),
    rlpString(bytes("0102")),
  ]);
  assert.equal(hex(follow(branch, leaf)), "09".repeat(40));
  const only = rlpList([...Array(16).fill(rlpString([])), rlpString(bytes("0102"))]);
  assert.equal(follow(only), null);
  // The path of a leaf is the whole rest of the key, and not a part of it or more.
  assert.equal(follow(rlpList([rlpString(bytes("20")), bytes("05")])), null);
  assert.equal(follow(rlpList([rlpString(bytes("37")), bytes("05")])), null);
  assert.equal(follow(rlpList([rlpString(bytes("3777")), bytes("05")])), null);
  assert.equal(follow(rlpList([rlpString(bytes("207777")), bytes("05")])), null);
  const extension = rlpList([rlpString(bytes("0077")), hash(branch)]);
  assert.equal(hex(follow(extension, branch)), "0102");
  const beyond = rlpList([rlpString(bytes("1777")), hash(branch)]);
  assert.equal(follow(beyond), null);
  rejects(() => follow(beyond, branch), "nodes[1]");
  const embedded = rlpList([bytes("17"), rlpList([bytes("37"), bytes("05")])]);
  assert.equal(hex(follow(embedded)), "05");
  assert.equal(hex(follow(embedded, rlpList([bytes("37"), bytes("05")]))), "05");
  assert.equal(
    verifyTrie(
      "nodes",
      "root",
      bytes("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"),
      bytes("77"),
      [],
    ),
    null,
  );
  rejects(
    () =>
      verifyTrie(
        "nodes",
        "root",
        bytes("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"),
        bytes("77"),
        [leaf],
      ),
    "nodes[0]",
  );
});

test("accounts have one canonical form", () => {
  const address = "aa".repeat(20);
  const path = Uint8Array.of(0x20, ...Buffer.from(address));
  const read = (account, state = []) => {
    const node = rlpList([rlpString(path), rlpString(account)]);
    return verifyVariable(keccak(node), address, "00".repeat(32), { account: [node], state });
  };
  const balance = [2, message([[1, new Uint8Array(16).fill(1)]])];
  const [code, root, zero] = [new Uint8Array(32).fill(2), new Uint8Array(32).fill(3), new Uint8Array(32)];
  const base = [[1, 1n], balance, [3, (1n << 64n) - 1n]];
  assert.deepEqual(read(message(base)), {
    account: { balance: BigInt(`0x${"01".repeat(16)}`), nonce: (1n << 64n) - 1n, contract: null },
    value: null,
  });
  assert.deepEqual(read(message([...base, [4, code]])).account.contract, {
    codeHash: "02".repeat(32),
    storageRoot: null,
  });
  rejects(() => read(message([...base, [4, code]]), [bytes("c22001")]), "stateProof", "no storage");
  const check = (fields, ...words) => rejects(() => read(message(fields)), "accountProof: account", ...words);
  check([[2, Uint8Array.of()]], "version");
  check([[1, 2n], balance, [3, 0n]], "version");
  check(
    [
      [1, 1n],
      [3, 0n],
    ],
    "balance",
  );
  check(
    [
      [1, 1n],
      [2, message([[1, new Uint8Array(15)]])],
      [3, 0n],
    ],
    "16 bytes",
  );
  check([[1, 1n], balance], "nonce");
  check([...base, [3, 1n]], "the end of the message");
  check([...base, [5, root]], "the end of the message");
  check([...base, [4, code], [5, zero]], "storageroot");
  check([...base, [4, code], [5, root.subarray(1)]], "32 bytes");
  check([...base, [4, code], [5, root], [6, 1n]], "the end of the message");
  check([balance, [1, 1n], [3, 0n]], "version");
  const longNonce = (varint) => Uint8Array.of(...message([[1, 1n], balance]), 0x18, ...bytes(varint));
  rejects(() => read(longNonce("8000")), "shortest form");
  rejects(() => read(longNonce("ffffffffffffffffff02")), "below 2^64");
  rejects(() => read(longNonce("ffffffffffffffffffff01")), "at most 10 bytes");
  rejects(() => read(longNonce("ff")), "the end of the bytes");
});

test("hostile input ends with an error in bounded time", () => {
  const limit = (call, ...words) => {
    const start = process.cpuUsage();
    rejects(call, ...words);
    // The time of the processor does not depend on other programs.
    const time = process.cpuUsage(start).user / 1000;
    assert.ok(time < 5_000, `${time} ms`);
  };
  const [{ state_root: root, address }] = proofs;
  // 1 MB of nested lists, each with the exact length of its content.
  const nested = [];
  let length = 0;
  while (length < 1 << 20) {
    const head =
      length <= 55
        ? [0xc0 + length]
        : length < 256
          ? [0xf8, length]
          : length < 65536
            ? [0xf9, length >> 8, length & 255]
            : [0xfa, length >> 16, (length >> 8) & 255, length & 255];
    nested.push(head);
    length += head.length;
  }
  const deep = Uint8Array.from(nested.reverse().flat());
  limit(() => follow(deep), "nodes[0]", "1 items");
  limit(() => follow(new Uint8Array(1 << 20).fill(0xc1)), "nodes[0]", "canonical");
  const wide = rlpList([new Uint8Array(1 << 20).fill(0x80)]);
  limit(() => follow(wide), "more than 17 items");
  const many = Array.from({ length: 100_000 }, (_, i) => bytes(i.toString(16).padStart(64, "0")));
  limit(() => verifyAccount(root, address, { account: many, state: [] }), "at most 81 nodes", "100000 nodes");
  limit(() => parseStateProof(JSON.stringify({ accountProof: Array(100_000).fill("0") })), "accountProof[0]");
  limit(() => parseStateProof("[".repeat(1 << 20)), "response: expected JSON");
  limit(() => parseStateProof(`${"[".repeat(1 << 20)}${"]".repeat(1 << 20)}`), "an object");
  limit(() => parseStateProof(`{"accountProof":[${"[".repeat(1 << 20)}${"]".repeat(1 << 20)}]}`), "accountProof[0]");
  limit(() => parseStateProof(`{"accountProof":["${"0".repeat(1 << 24)}x"]}`), "accountProof[0]");
  limit(() => parseStateProof(" ".repeat((64 << 20) + 1)), "at most");
  limit(() => MapKey.fromJson(`"${"\\".repeat(1 << 20)}`), "map key");
});

test("a value with many levels is text", () => {
  const [address, variable] = ["aa".repeat(20), "bb".repeat(32)];
  const value = (text) => {
    const state = rlpList([rlpString(Uint8Array.of(0x20, ...Buffer.from(variable))), rlpString(Buffer.from(text))]);
    const account = message([
      [1, 1n],
      [2, message([[1, new Uint8Array(16)]])],
      [3, 0n],
      [4, new Uint8Array(32).fill(2)],
      [5, bytes(keccak(state))],
    ]);
    const node = rlpList([rlpString(Uint8Array.of(0x20, ...Buffer.from(address))), rlpString(account)]);
    return verifyVariable(keccak(node), address, variable, { account: [node], state: [state] }).value.json;
  };
  const levels = (count) => "[".repeat(count) + "]".repeat(count);
  assert.equal(JSON.stringify(value(levels(127))), levels(127));
  assert.equal(value(levels(128)), levels(128));
  assert.equal(value(levels(500_000)), levels(500_000));
  assert.equal(JSON.stringify(value(`["${"[".repeat(500)}\\"["]`)), `["${"[".repeat(500)}\\"["]`);
  assert.deepEqual(value("\u0012\u0000"), {});
  assert.equal(value(Buffer.from([0xff, 0x22])), '\ufffd"');
  assert.deepEqual(value('{"constructor":"True","argtypes":[],"arguments":[]}'), {
    constructor: "True",
    argtypes: [],
    arguments: [],
  });
});
