//! Tx blocks: the chain of final blocks, one for each Tx epoch.

use crate::{
    amount::Qa,
    block::CoSignatures,
    gas::Gas,
    hash::{BlockHash, CommitteeHash, MbInfoHash, StateDeltaHash, StateRoot, TxRoot},
    key::PublicKey,
    number::{BlockNumber, DsBlockNumber, ShardId, Timestamp},
};

/// What is hashed and signed of a Tx block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxBlockHeader {
    /// Version of the header's layout.
    pub version: u32,
    /// Hash of the DS committee's keys.
    pub committee_hash: CommitteeHash,
    /// Hash of the previous Tx block.
    pub prev_hash: BlockHash,
    /// Gas limit, summed over the micro blocks.
    pub gas_limit: Gas,
    /// Gas used, summed over the micro blocks.
    pub gas_used: Gas,
    /// Coinbase reward of a vacuous block, transaction fees of any other.
    pub rewards: Qa,
    /// Number of the block.
    pub number: BlockNumber,
    /// Root of the account trie after the block.
    pub state_root: StateRoot,
    /// Hash of the block's changes of state.
    pub state_delta_hash: StateDeltaHash,
    /// Hash of the list of micro blocks.
    pub mb_info_hash: MbInfoHash,
    /// Number of transactions, summed over the micro blocks.
    pub tx_count: u32,
    /// Key of the leader who proposed the block.
    pub miner: PublicKey,
    /// The DS block in force.
    pub ds_block: DsBlockNumber,
}

/// A micro block as its Tx block lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbInfo {
    /// Hash of the micro block.
    pub hash: BlockHash,
    /// Hash of its transaction hashes.
    pub tx_root: TxRoot,
    /// Shard that made it.
    pub shard: ShardId,
}

/// A Tx block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxBlock {
    /// What is hashed and signed.
    pub header: TxBlockHeader,
    /// The micro blocks, ascending by shard, the DS committee's own last.
    pub micro_blocks: Vec<MbInfo>,
    /// Signatures of the DS committee.
    pub cosignatures: CoSignatures,
    /// When the block was made.
    pub timestamp: Timestamp,
}
