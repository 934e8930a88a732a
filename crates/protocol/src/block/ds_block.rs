//! DS blocks: committees, difficulty and gas price of a DS epoch.

use std::collections::BTreeMap;

use crate::{
    block::{CoSignatures, Peer},
    bytes::fixed_bytes,
    gas::GasPrice,
    hash::{BlockHash, CommitteeHash, ShardingHash},
    key::PublicKey,
    number::{BlockNumber, DsBlockNumber, Timestamp},
};

fixed_bytes! {
    /// Bytes of a DS block header kept for later use, all zero so far.
    Reserved, 128
}

/// What is hashed and signed of a DS block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsBlockHeader {
    /// Version of the header's layout.
    pub version: u32,
    /// Hash of the keys of the DS committee that made the block.
    pub committee_hash: CommitteeHash,
    /// Hash of the previous block of the DS committee.
    pub prev_hash: BlockHash,
    /// Proof-of-work difficulty for joining the DS committee, in leading zero bits.
    pub ds_difficulty: u8,
    /// Proof-of-work difficulty for joining a shard, in leading zero bits.
    pub difficulty: u8,
    /// Key of the leader who proposed the block.
    pub leader: PublicKey,
    /// Number of the block.
    pub number: DsBlockNumber,
    /// Tx epoch in which the block was made.
    pub epoch: BlockNumber,
    /// Lowest price of gas during the DS epoch.
    pub gas_price: GasPrice,
    /// Software that the network runs.
    pub software: SwInfo,
    /// New members of the DS committee.
    pub pow_winners: BTreeMap<PublicKey, Peer>,
    /// Hash of the sharding structure.
    pub sharding_hash: ShardingHash,
    /// Kept for later use.
    pub reserved: Reserved,
    /// Members removed from the DS committee, in the order of removal.
    pub removed: Vec<PublicKey>,
    /// Votes on governance proposals, by proposal.
    pub proposals: BTreeMap<u32, Votes>,
}

/// Votes on one governance proposal: how many chose each value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// Votes of the DS committee, by value.
    pub ds: BTreeMap<u32, u32>,
    /// Votes of the miners, by value.
    pub miners: BTreeMap<u32, u32>,
}

/// Versions of the node and of the interpreter that the network runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwInfo {
    /// Version of the node.
    pub node: SwVersion,
    /// Version of the interpreter.
    pub interpreter: SwVersion,
}

/// Version of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwVersion {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
    /// Number of the fix.
    pub fix: u32,
    /// DS block from which the version is in force.
    pub upgrade_at: DsBlockNumber,
    /// First four bytes of the commit.
    pub commit: u32,
}

/// A DS block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsBlock {
    /// What is hashed and signed.
    pub header: DsBlockHeader,
    /// Signatures of the DS committee.
    pub cosignatures: CoSignatures,
    /// When the block was made.
    pub timestamp: Timestamp,
}
