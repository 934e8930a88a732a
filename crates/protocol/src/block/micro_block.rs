//! Micro blocks: one shard's transactions of a Tx epoch.

use crate::{
    amount::Qa,
    block::CoSignatures,
    gas::Gas,
    hash::{BlockHash, CommitteeHash, ReceiptsHash, StateDeltaHash, TxHash, TxRoot},
    key::PublicKey,
    number::{BlockNumber, DsBlockNumber, ShardId, Timestamp},
};

/// What is hashed and signed of a micro block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicroBlockHeader {
    /// Version of the header's layout.
    pub version: u32,
    /// Hash of the keys of the shard or DS committee.
    pub committee_hash: CommitteeHash,
    /// Hash of the last Tx block.
    pub prev_hash: BlockHash,
    /// Shard that made the block.
    pub shard: ShardId,
    /// Gas that the block may use.
    pub gas_limit: Gas,
    /// Gas that its transactions used.
    pub gas_used: Gas,
    /// Coinbase reward in the DS committee's block of a vacuous epoch, transaction fees in any other.
    pub rewards: Qa,
    /// The Tx block that is being made.
    pub epoch: BlockNumber,
    /// Hash of the transaction hashes.
    pub tx_root: TxRoot,
    /// Number of transactions.
    pub tx_count: u32,
    /// Key of the leader who proposed the block.
    pub miner: PublicKey,
    /// The DS block in force.
    pub ds_block: DsBlockNumber,
    /// Hash of the block's changes of state.
    pub state_delta_hash: StateDeltaHash,
    /// Hash of the receipts.
    pub receipts_hash: ReceiptsHash,
}

/// A micro block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicroBlock {
    /// What is hashed and signed.
    pub header: MicroBlockHeader,
    /// The transactions, in the order of their execution.
    pub tx_hashes: Vec<TxHash>,
    /// Signatures of the shard.
    pub cosignatures: CoSignatures,
    /// When the block was made.
    pub timestamp: Timestamp,
}
