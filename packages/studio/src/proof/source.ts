// The data of a check: from the node, or from a text of the reader.
import { decodeDsBlock, type ProofBundle } from "silica-proof";
import { parseAddress } from "../format/address.ts";
import { call } from "../rpc/client.ts";
import { type Claim, hashOf, type Pin, type Source } from "./check.ts";

/** The node as source. Each answer is read once. */
export function nodeSource(number: string, claim: Claim | undefined, signal?: AbortSignal): Source {
  const block = once(() => call("GetRawTxBlock", [number], signal));
  return {
    txBlock: block,
    dsBlock: (ds) => call("GetRawDSBlock", [String(ds)], signal),
    async signers(ds) {
      // The committee of the DS epoch before signs a DS block.
      const { dscommittee } = await call("GetMinerInfo", [String(ds - 1n)], signal);
      return dscommittee;
    },
    proof: once(async () => {
      if (!claim) throw new Error("expected an account, got none");
      const variable = hashOf(claim);
      if (variable === undefined) return call("silica_getAccountProof", [claim.address, number], signal);
      return call("GetStateProof", [claim.address, variable, number], signal);
    }),
  };
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => (answer ??= read());
}

/** Returns the number of the latest Tx block. */
export const latestBlock = async (signal?: AbortSignal): Promise<string> => (BigInt(await call("GetNumTxBlocks", [], signal)) - 1n).toString();

/** Returns a DS block of the node as a pin. */
export async function pinOfNode(number?: string): Promise<Pin> {
  const asked = number ?? (await call("GetCurrentDSEpoch", []));
  const block = decodeDsBlock(await call("GetRawDSBlock", [asked]), `DS block ${asked}`);
  return { number: block.number.toString(), hash: block.hash, source: "node" };
}

/** Data that the reader has. What they lack comes from the node. */
export interface Given {
  claim: Claim;
  proof: unknown;
  txBlock?: unknown;
  dsBlocks?: readonly unknown[];
  committee?: readonly string[];
}

/** The data of the reader as source. */
export function givenSource({ proof, txBlock, dsBlocks = [], committee }: Given, node: Source): Source {
  const blocks = once(async () => dsBlocks.map((answer, place) => decodeDsBlock(answer, `dsBlocks[${place}]`).number));
  return {
    txBlock: async () => txBlock ?? node.txBlock(),
    async dsBlock(number) {
      const place = (await blocks()).indexOf(number);
      return place < 0 ? node.dsBlock(number) : dsBlocks[place];
    },
    signers: async (number) => (committee && (await blocks())[0] === number ? [...committee] : node.signers(number)),
    proof: async () => proof,
  };
}

/** Maximum length of a text of the reader, in UTF-16 units. */
export const longestText = 8_000_000;

/** What a text of the reader contains: a bundle with its own claim, or an answer of the node alone. */
export type Pasted = { kind: "bundle"; given: Given } | { kind: "answer"; proof: unknown };

const object = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Reads a text of the reader: a state proof with or without its envelope, a bundle, or a downloaded
 * file. Throws an error that names the wrong part.
 */
export function parsePasted(text: string): Pasted {
  if (text.length > longestText) throw new Error(`expected at most ${longestText} characters, got ${text.length}`);
  const trimmed = text.trim();
  if (!trimmed) throw new Error("expected JSON or a downloaded file, got nothing");
  let json = trimmed;
  if (trimmed.startsWith("<")) {
    const data = /<script type="application\/json" id="data">([^<]*)<\/script>/.exec(trimmed);
    if (!data) throw new Error("expected a file of this page, got a document without the data of a proof");
    json = data[1]!;
  }
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Error(`expected JSON: ${(error as Error).message}`);
  }
  if (!object(value)) throw new Error("expected a JSON object");
  const bundle = object(value["bundle"]) ? value["bundle"] : value;
  return "proof" in bundle ? { kind: "bundle", given: parseBundle(bundle) } : { kind: "answer", proof: value };
}

function parseBundle(bundle: Partial<Record<keyof ProofBundle, unknown>>): Given {
  const text = (name: "address" | "field" | "variable"): string | undefined => {
    const value = bundle[name];
    if (value !== undefined && typeof value !== "string") throw new Error(`${name}: expected a text`);
    return value;
  };
  const texts = (name: "keys" | "committee"): string[] | undefined => {
    const value = bundle[name];
    if (value !== undefined && !(Array.isArray(value) && value.every((one) => typeof one === "string"))) throw new Error(`${name}: expected an array of texts`);
    return value as string[] | undefined;
  };
  const address = parseAddress(text("address") ?? "");
  if (!address) throw new Error(`address: expected zil1… or 40 hexadecimal digits, got ${JSON.stringify(text("address")?.slice(0, 80) ?? null)}`);
  const field = text("field");
  const variable = text("variable");
  if (field !== undefined && variable !== undefined) throw new Error("variable: expected a field or the hash of a variable, got both");
  const { dsBlocks } = bundle;
  if (dsBlocks !== undefined && !Array.isArray(dsBlocks)) throw new Error("dsBlocks: expected an array");
  const committee = texts("committee");
  const keys = texts("keys")?.map(parseKey);
  return {
    claim: { address, ...(field !== undefined && { field, keys: keys ?? [] }), ...(variable !== undefined && { variable }) },
    proof: bundle.proof,
    ...(bundle.txBlock !== undefined && { txBlock: bundle.txBlock }),
    ...(dsBlocks && { dsBlocks }),
    ...(committee && { committee }),
  };
}

/** Reads a key of a bundle, which is JSON text with quotes. */
function parseKey(json: string, place: number): string {
  let key: unknown;
  try {
    key = JSON.parse(json);
  } catch {
    // The error below names the key.
  }
  if (typeof key !== "string") throw new Error(`keys[${place}]: expected the JSON of a text with its quotes, got ${JSON.stringify(json.slice(0, 80))}`);
  return key;
}
