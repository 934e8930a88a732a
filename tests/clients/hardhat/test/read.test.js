// The requests of hardhat itself to a node, and the requests that the node rejects.
const { expect } = require("chai");
const hre = require("hardhat");

const KEY = "0xe53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89";
/** The Zilliqa address of the key. The Ethereum address of the same key differs. */
const ACCOUNT = "0x7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8";

describe("hardhat's own provider", () => {
  const ask = (method, ...params) => hre.network.provider.send(method, params);

  it("agrees on the network", async () => {
    expect(await ask("eth_chainId")).to.equal("0x80de");
    expect(await ask("net_version")).to.equal("32990");
    expect(await ask("web3_clientVersion")).to.match(/^silica\/v/);
    expect(await ask("eth_syncing")).to.equal(false);
    const sha3 = "0x1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8";
    expect(await ask("web3_sha3", "0x68656c6c6f")).to.equal(sha3);
  });

  it("shows blocks by number and by hash", async () => {
    const latest = await ask("eth_getBlockByNumber", "latest", false);
    expect(BigInt(await ask("eth_blockNumber"))).to.equal(BigInt(latest.number));
    expect(await ask("eth_getBlockByHash", latest.hash, false)).to.deep.equal(latest);
    const genesis = await ask("eth_getBlockByNumber", "earliest", true);
    expect(genesis.number).to.equal("0x0");
    expect(await ask("eth_getBlockByNumber", "0xffffffff", false)).to.equal(null);
    expect(await ask("eth_getBlockByHash", `0x${"0".repeat(64)}`, false)).to.equal(null);
  });

  it("shows accounts in wei", async () => {
    const balance = BigInt(await ask("eth_getBalance", ACCOUNT, "latest"));
    const { result } = await (await post("GetBalance", [ACCOUNT])).json();
    expect(balance).to.equal(BigInt(result.balance) * 1_000_000n);
    expect(Number(await ask("eth_getTransactionCount", ACCOUNT, "latest"))).to.equal(result.nonce);
    expect(await ask("eth_getCode", ACCOUNT, "latest")).to.equal("0x");
    expect(BigInt(await ask("eth_gasPrice"))).to.equal(2_000_000_000n * 1_000_000n);
  });

  it("gets the reason why it cannot send or call", async () => {
    // Hardhat computes the Ethereum address of the same key.
    const [from] = await ask("eth_accounts");
    expect(hre.network.config.accounts[0]).to.equal(KEY);
    for (const [method, params] of [
      ["eth_call", [{ to: ACCOUNT }, "latest"]],
      ["eth_estimateGas", [{ to: ACCOUNT }]],
      ["eth_sendRawTransaction", ["0x00"]],
      ["eth_sendTransaction", [{ from, to: ACCOUNT, value: "0x1" }]],
    ]) {
      const error = await ask(method, ...params).then(
        (answer) => expect.fail(`${method} answers ${answer}`),
        (refusal) => refusal,
      );
      expect(error.message).to.match(/the method eth_\w+ does not exist: this node executes Scilla/);
      expect(error.code).to.equal(-32601);
    }
  });

  function post(method, params) {
    const body = JSON.stringify({ id: 1, jsonrpc: "2.0", method, params });
    return fetch(hre.network.config.url, { method: "POST", body });
  }
});
