// Verifies a Tx block from a pinned DS block, and a proof of the state after the block. Each step has a result in words.
import {
  type Account,
  decodeDsBlock,
  decodeTxBlock,
  type DsBlock,
  MapKey,
  parseStateProof,
  type ProofBundle,
  ProofError,
  type StorageValue,
  type Trust,
  type TxBlock,
  variableHash,
  verifyAccount,
  verifyDsBlocks,
  verifyTxBlock,
  verifyVariable,
} from "silica-proof";

/** A DS block that the reader trusts: the start of each check. */
export interface Pin {
  number: string;
  hash: string;
  /** Whether the hash is as the node reported it, or compared by the reader with another source. */
  source: "node" | "reader";
}

/** The data of a check. The check trusts none of them. */
export interface Source {
  txBlock(): Promise<unknown>;
  dsBlock(number: bigint): Promise<unknown>;
  /** The public keys of the committee that signed a DS block. */
  signers(dsBlock: bigint): Promise<string[]>;
  proof(): Promise<unknown>;
}

/** What a proof is about. Without `field` and `variable`, it is about the account. */
export interface Claim {
  address: string;
  field?: string;
  /** The keys of an entry, as texts without quotes. */
  keys?: string[];
  /** The hash of a variable, in place of `field`. */
  variable?: string;
}

export const titles = {
  block: "Header of the Tx block",
  committee: "Committee from the pinned DS block",
  signature: "Co-signature of the Tx block",
  account: "Account in the state",
  variable: "Variable in the storage of the contract",
};

export type StepId = keyof typeof titles;

export interface Step {
  id: StepId;
  state: "passed" | "failed" | "skipped";
  text: string;
}

export interface Report {
  valid: boolean;
  steps: Step[];
  /** What the result depends on without verification. */
  assumed: string[];
  block: TxBlock | null;
  /** Undefined if it was not verified, and null for a proven absence. */
  account?: Account | null;
  value?: StorageValue | null;
  /** The DS block of the Tx block, if the check reached it from the pin. */
  dsBlock?: { number: string; hash: string };
  /** The data of a valid proof. The file begins at the pinned DS block. */
  file?: ProofFile;
  /** The same data without the DS blocks before the one of the Tx block. This file begins at that block. */
  shortFile?: ProofFile;
}

/** The data for a file that verifies a proof without this page. */
export interface ProofFile {
  bundle: ProofBundle;
  trust: Trust;
}

/** Maximum number of requests at the same time. */
const together = 16;
/** Maximum time in milliseconds without a pause for the browser. */
const slice = 8;

/** Gives the browser time for input and painting if a task is long. */
function pauses(signal: AbortSignal | undefined): () => Promise<void> {
  let start = performance.now();
  return async () => {
    if (performance.now() - start < slice) return;
    await new Promise((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
    start = performance.now();
  };
}

interface Chain {
  /** From the DS block that the file of the proof begins with, to the DS block of the Tx block. */
  blocks: DsBlock[];
  answers: unknown[];
  /** The committees that signed the first and the last of the blocks; undefined for DS block 0. */
  signers: [first: readonly string[] | undefined, last: readonly string[] | undefined];
  committee: readonly string[];
  text: string;
}

/** Reads DS blocks in order. */
async function readDsBlocks(source: Source, first: bigint, last: bigint, progress: (text: string) => void, pause: () => Promise<void>) {
  const blocks: DsBlock[] = [];
  const answers: unknown[] = [];
  for (let start = first; start <= last; start += BigInt(together)) {
    const numbers = Array.from({ length: together }, (_, place) => start + BigInt(place)).filter((number) => number <= last);
    progress(`DS block ${numbers.at(-1)} of ${last}`);
    for (const [place, answer] of (await Promise.all(numbers.map((number) => source.dsBlock(number)))).entries()) {
      const number = numbers[place]!;
      const block = decodeDsBlock(answer, `DS block ${number}`);
      if (block.number !== number) throw new ProofError(`DS block ${number}.header.blocknum`, String(number), String(block.number));
      blocks.push(block);
      answers.push(answer);
      await pause();
    }
  }
  return { blocks, answers };
}

/** Verifies DS blocks of which the second follows the first. An error has their numbers. */
function verifyPair(hash: string, blocks: DsBlock[], signers: readonly string[] | undefined): readonly string[] {
  try {
    return verifyDsBlocks(hash, blocks, signers).keys;
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    const step = error.step.replace(/^dsBlocks\[(\d+)\]/, (_, place: string) => `DS block ${blocks[Number(place)]?.number}`);
    throw new ProofError(step, error.expected, error.got);
  }
}

/** Follows the DS blocks from the pinned one to the DS block of an epoch, forward by signatures or back by hashes. */
async function follow(pin: Pin, epoch: bigint, source: Source, progress: (text: string) => void, pause: () => Promise<void>): Promise<Chain> {
  const pinned = BigInt(pin.number);
  const isBefore = epoch < pinned;
  const { blocks, answers } = await readDsBlocks(source, isBefore ? epoch : pinned, isBefore ? pinned : epoch, progress, pause);
  const pinnedBlock = isBefore ? blocks.at(-1)! : blocks[0]!;
  if (pinnedBlock.hash !== pin.hash) throw new ProofError(`DS block ${pin.number}`, `the pinned hash ${pin.hash}`, pinnedBlock.hash);
  const first = blocks[0]!;
  const signers = first.number === 0n ? undefined : await source.signers(first.number);
  if (isBefore) {
    for (const [place, block] of blocks.slice(1).entries()) {
      const before = blocks[place]!;
      if (block.previousHash !== before.hash) throw new ProofError(`DS block ${before.number}`, `the hash ${block.previousHash}, which DS block ${block.number} names`, before.hash);
    }
    return {
      blocks: [first],
      answers: [answers[0]],
      signers: [signers, signers],
      committee: verifyPair(first.hash, [first], signers),
      text: `The pinned DS block ${pin.number} leads back to DS block ${epoch} by the hashes of ${blocks.length === 2 ? "1 previous block" : `${blocks.length - 1} previous blocks`}. DS block ${epoch} leads to the committee of its epoch.`,
    };
  }
  let committee = verifyPair(first.hash, [first], signers);
  let signed: readonly string[] | undefined = signers;
  for (const [place, block] of blocks.slice(1).entries()) {
    if (place % 64 === 0) progress(`signature of DS block ${block.number} of ${epoch}`);
    const next = verifyPair(blocks[place]!.hash, [blocks[place]!, block], signed);
    signed = committee;
    committee = next;
    await pause();
  }
  const later = blocks.length - 1;
  return {
    blocks,
    answers,
    signers: [signers, signed],
    committee,
    text:
      later === 0
        ? `The Tx block is in the DS epoch of the pinned DS block ${pin.number}, which leads to the committee of this epoch.`
        : `The pinned DS block ${pin.number} leads to the committee of DS epoch ${epoch}. ${later === 1 ? "1 later DS block has the hash and the signature of its committee." : `${later} later DS blocks have the hashes and the signatures of their committees.`}`,
  };
}

/** Returns the hash of the variable of a claim; undefined for a claim about an account. */
export function hashOf({ address, field, keys, variable }: Claim): string | undefined {
  return field === undefined ? variable : variableHash(address, field, keys?.map((key) => MapKey.string(key)));
}

/** Returns the name of the variable of a claim. */
export function nameOf({ field, keys = [], variable }: Claim): string | undefined {
  return field === undefined ? variable : field + keys.map((key) => `[${JSON.stringify(key)}]`).join("");
}

export interface CheckOptions {
  /** The number that the Tx block must have. */
  number?: string | undefined;
  claim?: Claim | undefined;
  progress?: (text: string) => void;
  signal?: AbortSignal;
}

/**
 * Checks a Tx block, and a claim about the state after it. A step that fails is in the report. Throws other errors, for
 * example of a source that does not answer.
 */
export async function check(pin: Pin, source: Source, { number, claim, progress = () => {}, signal }: CheckOptions): Promise<Report> {
  const pause = pauses(signal);
  const steps: Step[] = [];
  const assumed = [
    `DS block ${pin.number} with the hash ${pin.hash} is a block of the network. ${pin.source === "node" ? "This hash is as this node says: it is not compared with another source." : "You pinned this hash."}`,
    "The members of the committees follow the protocol of the network, and their secret keys are secret.",
    "The time of the block is correct. No signature covers it.",
  ];
  const report: Report = { valid: false, steps, assumed, block: null };
  const ids = (Object.keys(titles) as StepId[]).filter((id) => (id === "account" ? claim : id === "variable" ? claim && nameOf(claim) !== undefined : true));

  const actions: Record<StepId, () => Promise<string>> = {
    async block() {
      const block = decodeTxBlock(await source.txBlock());
      if (number !== undefined && block.number !== BigInt(number)) throw new ProofError("txBlock.header.blocknum", number, String(block.number));
      report.block = block;
      return `The header of Tx block ${block.number} has the hash ${block.hash} and the state root ${block.stateRoot}.`;
    },
    async committee() {
      chain = await follow(pin, report.block!.dsBlock, source, progress, pause);
      const last = chain.blocks.at(-1)!;
      report.dsBlock = { number: String(last.number), hash: last.hash };
      if (chain.blocks[0]!.number === 0n) assumed.push("The leader of DS block 0 is the only member of the first committee.");
      if (chain.blocks.some(({ winners }) => winners.length > 0)) assumed.push("The committee of the network has no guards.");
      return chain.text;
    },
    async signature() {
      const block = report.block!;
      if (block.number === 0n) throw new ProofError("txBlock", "co-signatures", "Tx block 0, which has no co-signatures");
      verifyTxBlock(block, chain!.committee);
      return `${block.cosignatures.b2.filter(Boolean).length} of ${chain!.committee.length} members of the committee signed the header.`;
    },
    async account() {
      progress("proof");
      proofAnswer = await source.proof();
      const proof = parseStateProof(proofAnswer);
      if (ids.at(-1) === "account" && proof.state.length > 0) throw new ProofError("stateProof", "no nodes in the proof of an account", `${proof.state.length} nodes`);
      report.account = verifyAccount(report.block!.stateRoot, claim!.address, proof);
      return report.account
        ? `${proof.account.length} nodes lead from the state root to the account 0x${claim!.address}.`
        : `${proof.account.length} nodes show that the state has no account 0x${claim!.address}.`;
    },
    async variable() {
      const proof = parseStateProof(proofAnswer);
      const { value } = verifyVariable(report.block!.stateRoot, claim!.address, hashOf(claim!)!, proof);
      report.value = value;
      return value
        ? `${proof.state.length} nodes lead from the storage root of the contract to the variable.`
        : `${proof.state.length} nodes show that the storage of the contract has no such variable.`;
    },
  };
  let chain: Chain | undefined;
  let proofAnswer: unknown;
  let isValid = true;
  for (const id of ids) {
    if (!isValid) {
      steps.push({ id, state: "skipped", text: "Not checked, because a step before it failed." });
      continue;
    }
    try {
      steps.push({ id, state: "passed", text: await actions[id]() });
    } catch (error) {
      if (!(error instanceof ProofError)) throw error;
      isValid = false;
      steps.push({ id, state: "failed", text: error.message });
    }
    await pause();
  }
  report.valid = isValid;
  if (isValid && claim) {
    const parts = { ...claimOf(claim), proof: proofAnswer, txBlock: await source.txBlock() };
    const file = (from: number, signers: readonly string[] | undefined): ProofFile => ({
      bundle: { ...parts, dsBlocks: chain!.answers.slice(from), ...(signers && { committee: signers }) },
      trust: { kind: "dsBlock", hash: chain!.blocks.at(from)!.hash },
    });
    report.file = file(0, chain!.signers[0]);
    report.shortFile = file(-1, chain!.signers[1]);
  }
  return report;
}

/** The claim in the form of a bundle, whose keys are JSON texts. */
function claimOf({ address, field, keys = [], variable }: Claim) {
  return {
    address,
    ...(field !== undefined && { field, keys: keys.map((key) => MapKey.string(key).json) }),
    ...(variable !== undefined && { variable }),
  };
}
