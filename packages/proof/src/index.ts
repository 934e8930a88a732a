/** Verifies Zilliqa state proofs without trust in the node that sent them. */
export { type CoSignatures, type DsBlock, decodeDsBlock, decodeTxBlock, type TxBlock } from "./block.js";
export {
    type Committee,
    committeeHash,
    nextCommittee,
    verifyCoSignatures,
    verifyDsBlocks,
    verifyTxBlock,
} from "./committee.js";
export { ProofError } from "./error.js";
export { MapKey } from "./map-key.js";
export {
    type Account,
    parseStateProof,
    type ProvenEntry,
    type StateProof,
    type StorageValue,
    variableHash,
    verifyAccount,
    verifyField,
    verifyVariable,
} from "./state.js";
export { type ProofBundle, type Statement, type Trust, type Verification, verify } from "./verify.js";
