// The examples of README.md and docs/proofs.md run to their end, against the recorded answers of a node.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { decodeDsBlock, decodeTxBlock, variableHash, MapKey } from "silica-proof";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const recorded = JSON.parse(read("data/recorded.json"));
const root = fileURLToPath(new URL("..", import.meta.url));

/** Returns the first block of JavaScript of a page. */
function example(page) {
  const [, code] = /```js\n(.*?)```/s.exec(page) ?? assert.fail("no example");
  return code;
}

/** Returns the recorded answer of a method. */
function answer(method, params) {
  const { number, dsBlock } = decodeTxBlock(recorded.txBlock);
  switch (method) {
    case "GetNumTxBlocks":
      return String(number + 1n);
    case "GetCurrentDSEpoch":
      return String(dsBlock);
    case "GetRawDSBlock":
      return recorded.dsBlocks[params[0]];
    case "GetRawTxBlock":
      assert.deepEqual(params, [String(number)]);
      return recorded.txBlock;
    case "GetStateProof": {
      const hashOf = (proof) => variableHash(recorded.address, proof.field, proof.keys.map(MapKey.fromJson));
      assert.deepEqual([params[0], params[2]], [recorded.address, String(number)]);
      return recorded.proofs.find((proof) => hashOf(proof) === params[1]).answer;
    }
    default:
      return assert.fail(method);
  }
}

/** Runs code with the recorded address, and returns its output. */
async function run(code, url) {
  const values = [
    [/(const url = ")[^"]*/, url],
    [/(const address = ")[^"]*/, recorded.address],
    [/(const holder = ")[^"]*/, `0x${recorded.holder}`],
    [/(hash: ")[0-9a-f]{64}/, decodeDsBlock(recorded.dsBlocks[1]).hash],
  ];
  const program = values.reduce((text, [place, value]) => {
    assert.match(text, place);
    return text.replace(place, `$1${value}`);
  }, code);
  return (await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { cwd: root }))
    .stdout;
}

test("the example of README.md verifies a proof", async () => {
  const server = createServer(async (request, response) => {
    const { method, params } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    response.end(JSON.stringify({ id: "1", jsonrpc: "2.0", result: answer(method, params) }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const output = await run(example(read("../README.md")), `http://127.0.0.1:${server.address().port}`);
    assert.ok(output.startsWith("balance: 400\n"), output);
    assert.match(output, /verified: The pinned DS block 1 leads to the committee of DS epoch \d+/);
    assert.match(output, /assumed: The time of the block is correct/);
  } finally {
    server.close();
  }
});

test("the bundled verifier is small", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["scripts/size.mjs"], { cwd: root });
  const sizes = [...stdout.matchAll(/(\d+) bytes in gzip/g)].map(([, size]) => Number(size));
  assert.equal(sizes.length, 3);
  assert.ok(sizes[0] < 15_000 && sizes[1] < 25_000, stdout);
});

test("docs/proofs.md shows a part of the example", () => {
  const page = read("../../../docs/proofs.md");
  const [readme, part] = [example(read("../README.md")), example(page)];
  const lines = new Set(readme.split("\n").map((line) => line.trim()));
  for (const line of part.split("\n").map((line) => line.trim())) assert.ok(lines.has(line), line);
});
