// Records `test/data/recorded.json`: proofs, Tx blocks and DS blocks of a running node.
//
// Usage: npm run record -- PATH_TO_SILICA

import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { decodeTxBlock, MapKey, variableHash } from "silica-proof";

const PORT = 15_555;
const url = `http://127.0.0.1:${PORT}`;
const [binary] = process.argv.slice(2);
if (binary === undefined) throw new Error("expected the path of the program silica as argument");
const file = (path) => fileURLToPath(new URL(path, import.meta.url));

async function rpc(method, ...params) {
  const body = JSON.stringify({ id: "1", jsonrpc: "2.0", method, params });
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  const { error, result } = await response.json();
  if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
  return result;
}

/** Runs a client command, and returns its JSON output. */
function silica(...args) {
  return JSON.parse(execFileSync(binary, [...args, "--url", url, "--json"], { encoding: "utf8" }));
}

const settings = ["--ephemeral", "--listen", `127.0.0.1:${PORT}`, "--websocket", "off", "--blocks-per-ds-epoch", "4"];
const node = spawn(binary, ["run", ...settings], { stdio: "ignore" });
try {
  for (let attempt = 0; ; attempt++) {
    try {
      await rpc("GetNetworkId");
      break;
    } catch (error) {
      if (attempt === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const owner = "7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8";
  const holder = "d90f2e538ce0df89c8273cad3b63ec44a3c4ed82";
  const source = file("../../../contracts/fungible_token/fungible_token.scilla");
  const parameters = [
    `contract_owner=0x${owner}`,
    "name=Gold",
    "symbol=AU",
    "decimals=2",
    "init_supply=1000000",
    "default_operators=[]",
  ];
  const deployed = silica("deploy", "--test-account", "1", source, ...parameters);
  const address = deployed.contract.toLowerCase().replace(/^0x/, "");
  const call = (transition, ...args) => silica("call", "--test-account", "1", address, transition, ...args);
  call("Transfer", `to=0x${holder}`, "amount=400");
  await rpc("silica_mine", 9);
  // The last two Tx blocks have different states, and are in the same DS epoch.
  for (const spender of [holder, owner.replace(/^7/, "8")])
    call("IncreaseAllowance", `spender=0x${spender}`, "amount=7");

  const latest = (await rpc("GetRawTxBlock", String(Number(await rpc("GetNumTxBlocks")) - 1))).data;
  const block = decodeTxBlock(latest);
  const key = (hex) => MapKey.address(hex).json;
  const variables = [
    { field: "total_supply", keys: [] },
    { field: "balances", keys: [key(holder)] },
    { field: "balances", keys: [key("00".repeat(20))] },
    { field: "balances", keys: [] },
    { field: "allowances", keys: [key(owner), key(holder)] },
    { field: "operators", keys: [] },
    { field: "_type", keys: [MapKey.string("balances").json] },
    { field: "_addr", keys: [] },
  ];
  const proofs = [];
  for (const { field, keys } of variables) {
    const hash = variableHash(address, field, keys.map(MapKey.fromJson));
    proofs.push({ field, keys, answer: await rpc("GetStateProof", address, hash, String(block.number)) });
  }
  const dsBlocks = [];
  for (let number = 0n; number <= block.dsBlock; number++) dsBlocks.push(await rpc("GetRawDSBlock", String(number)));
  const recorded = {
    version: await rpc("GetVersion"),
    address,
    holder,
    state: await rpc("GetSmartContractState", address),
    balance: await rpc("GetBalance", address),
    txBlock: { data: latest },
    txBlockVerbose: await rpc("GetTxBlockVerbose", String(block.number)),
    otherTxBlock: await rpc("GetRawTxBlock", String(block.number - 1n)),
    missingTxBlock: await rpc("GetRawTxBlock", "1000000"),
    dsBlocks,
    dsCommittee: await rpc("GetCurrentDSComm"),
    proofs,
  };
  writeFileSync(file("../test/data/recorded.json"), `${JSON.stringify(recorded, null, 1)}\n`);
} finally {
  node.kill();
}
