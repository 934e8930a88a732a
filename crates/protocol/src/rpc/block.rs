//! Tx blocks and DS blocks, lists of them, and lists of their transactions.

use alloc::{string::String, vec::Vec};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Dec, Hex, PrefixedUpperHex, UpperHex};
use crate::{
    amount::Qa,
    block::{DsBlock, MbInfo, Peer, Reserved, SwInfo, SwVersion, TxBlock, Votes},
    gas::{Gas, GasPrice},
    hash::{BlockHash, CommitteeHash, MbInfoHash, ShardingHash, StateDeltaHash, StateRoot, TxHash, TxRoot},
    key::{PublicKey, Signature},
    number::{BlockNumber, DsBlockNumber, ShardId, Timestamp},
    rpc::transaction::TransactionJson,
};

/// The meaning of `rewards` in the header of a Tx block. The header has one number for two amounts, and JSON has a
/// member for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewardKind {
    /// The coinbase reward, in a vacuous block.
    Coinbase,
    /// The fees of the transactions, in any other block.
    Fees,
}

/// A Tx block (`GetTxBlock`, `GetLatestTxBlock`, `GetTxBlockVerbose`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TxBlock"))]
pub struct TxBlockJson {
    /// The parts of the block that the header does not contain.
    pub body: TxBlockBodyJson,
    /// The fields that are hashed and signed, and the timestamp.
    pub header: TxBlockHeaderJson,
}

/// A Tx block of `silica_getBlocks`, which can have its transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TxBlockWithTransactions"))]
pub struct BlockWithTransactionsJson {
    /// The parts of the block that the header does not contain.
    pub body: TxBlockBodyJson,
    /// The fields that are hashed and signed, and the timestamp.
    pub header: TxBlockHeaderJson,
    /// The transactions with their receipts, in the order of the block; absent unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<Vec<TransactionJson>>,
}

/// The body of a Tx block: hash, signatures and micro blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TxBlockBody"))]
pub struct TxBlockBodyJson {
    /// For each member of the DS committee, whether it took part in the first round of signing; in the verbose form
    /// only.
    #[serde(rename = "B1", default, skip_serializing_if = "Option::is_none")]
    pub b1: Option<Vec<bool>>,
    /// For each member of the DS committee, whether it took part in the second round of signing; in the verbose form
    /// only.
    #[serde(rename = "B2", default, skip_serializing_if = "Option::is_none")]
    pub b2: Option<Vec<bool>>,
    /// Hash of the block.
    #[serde(rename = "BlockHash")]
    pub hash: Hex<BlockHash>,
    /// Collective signature of the first round; in the verbose form only.
    #[serde(rename = "CS1", default, skip_serializing_if = "Option::is_none")]
    pub cs1: Option<UpperHex<Signature>>,
    /// Collective signature of the second round.
    #[serde(rename = "HeaderSign")]
    pub cs2: UpperHex<Signature>,
    /// The micro blocks of the block.
    #[serde(rename = "MicroBlockInfos")]
    pub micro_blocks: Vec<MbInfoJson>,
}

/// The header of a Tx block, with its timestamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TxBlockHeader"))]
pub struct TxBlockHeaderJson {
    /// Number of the block; 18446744073709551615 if the requested block does not exist.
    #[serde(rename = "BlockNum")]
    pub number: Dec<BlockNumber>,
    /// Hash of the keys of the DS committee; in the verbose form only.
    #[serde(rename = "CommitteeHash", default, skip_serializing_if = "Option::is_none")]
    pub committee_hash: Option<Hex<CommitteeHash>>,
    /// Number of the DS block of the DS epoch.
    #[serde(rename = "DSBlockNum")]
    pub ds_block: Dec<DsBlockNumber>,
    /// Gas limit of the block, in gas units.
    #[serde(rename = "GasLimit")]
    pub gas_limit: Dec<Gas>,
    /// Gas that the transactions of the block used, in gas units.
    #[serde(rename = "GasUsed")]
    pub gas_used: Dec<Gas>,
    /// Hash of the list of micro blocks.
    #[serde(rename = "MbInfoHash")]
    pub mb_info_hash: Hex<MbInfoHash>,
    /// Public key of the leader that proposed the block.
    #[serde(rename = "MinerPubKey")]
    pub miner: PrefixedUpperHex<PublicKey>,
    /// Number of micro blocks in the Tx block.
    #[serde(rename = "NumMicroBlocks")]
    pub micro_block_count: u64,
    /// Number of pages, each with at most 2500 transactions.
    #[serde(rename = "NumPages")]
    pub page_count: u32,
    /// Number of transactions in the Tx block.
    #[serde(rename = "NumTxns")]
    pub tx_count: u32,
    /// Hash of the previous Tx block.
    #[serde(rename = "PrevBlockHash")]
    pub prev_hash: Hex<BlockHash>,
    /// Coinbase reward in Qa; 0 unless the block is the last of its DS epoch.
    #[serde(rename = "Rewards")]
    pub rewards: Dec<Qa>,
    /// Hash of the state delta of the block.
    #[serde(rename = "StateDeltaHash")]
    pub state_delta_hash: Hex<StateDeltaHash>,
    /// Root of the account trie after the block.
    #[serde(rename = "StateRootHash")]
    pub state_root: Hex<StateRoot>,
    /// Creation time of the block, in microseconds since 1970-01-01 UTC.
    #[serde(rename = "Timestamp")]
    pub timestamp: Dec<Timestamp>,
    /// Fees of the transactions in Qa; 0 if the block is the last of its DS epoch.
    #[serde(rename = "TxnFees")]
    pub fees: Dec<Qa>,
    /// Version of the format of the header.
    #[serde(rename = "Version")]
    pub version: u32,
}

/// A micro block in the list of its Tx block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "MicroBlockInfo"))]
pub struct MbInfoJson {
    /// Hash of the micro block.
    #[serde(rename = "MicroBlockHash")]
    pub hash: Hex<BlockHash>,
    /// Shard of the micro block. The DS committee has the number after the last shard.
    #[serde(rename = "MicroBlockShardId")]
    pub shard: u32,
    /// Hash of the transaction hashes of the micro block; zero without transactions.
    #[serde(rename = "MicroBlockTxnRootHash")]
    pub tx_root: Hex<TxRoot>,
}

impl TxBlockJson {
    /// Returns the plain form of a Tx block.
    pub fn new(block: &TxBlock, rewards: RewardKind) -> Self {
        Self::with_hash(block, block.header.hash(), rewards)
    }

    /// Returns the verbose form of a Tx block.
    pub fn verbose(block: &TxBlock, rewards: RewardKind) -> Self {
        Self::new(block, rewards).with_details(block)
    }

    /// Returns the plain form of the placeholder for a Tx block that does not exist
    /// (Reference: interface#missing-block).
    pub fn missing() -> Self {
        Self::with_hash(&TxBlock::missing(), BlockHash::ZERO, RewardKind::Fees)
    }

    /// Returns the verbose form of the placeholder for a Tx block that does not exist
    /// (Reference: interface#missing-block).
    pub fn missing_verbose() -> Self {
        Self::missing().with_details(&TxBlock::missing())
    }

    fn with_hash(block: &TxBlock, hash: BlockHash, rewards: RewardKind) -> Self {
        let TxBlock { header, micro_blocks, cosignatures, timestamp } = block;
        let (coinbase, fees) = match rewards {
            RewardKind::Coinbase => (header.rewards, Qa::ZERO),
            RewardKind::Fees => (Qa::ZERO, header.rewards),
        };
        let micro_blocks: Vec<_> = micro_blocks.iter().map(MbInfoJson::from).collect();
        Self {
            header: TxBlockHeaderJson {
                number: header.number.into(),
                committee_hash: None,
                ds_block: header.ds_block.into(),
                gas_limit: header.gas_limit.into(),
                gas_used: header.gas_used.into(),
                mb_info_hash: header.mb_info_hash.into(),
                miner: header.miner.into(),
                micro_block_count: micro_blocks.len() as u64,
                page_count: header.page_count(),
                tx_count: header.tx_count,
                prev_hash: header.prev_hash.into(),
                rewards: coinbase.into(),
                state_delta_hash: header.state_delta_hash.into(),
                state_root: header.state_root.into(),
                timestamp: (*timestamp).into(),
                fees: fees.into(),
                version: header.version,
            },
            body: TxBlockBodyJson {
                b1: None,
                b2: None,
                hash: hash.into(),
                cs1: None,
                cs2: cosignatures.cs2.into(),
                micro_blocks,
            },
        }
    }

    fn with_details(mut self, block: &TxBlock) -> Self {
        self.header.committee_hash = Some(block.header.committee_hash.into());
        self.body.b1 = Some(block.cosignatures.b1.clone());
        self.body.b2 = Some(block.cosignatures.b2.clone());
        self.body.cs1 = Some(block.cosignatures.cs1.into());
        self
    }
}

impl BlockWithTransactionsJson {
    /// Adds transactions to the plain form of a Tx block; `None` leaves them out.
    pub fn new(block: TxBlockJson, transactions: Option<Vec<TransactionJson>>) -> Self {
        let TxBlockJson { body, header } = block;
        Self { body, header, transactions }
    }
}

impl From<&MbInfo> for MbInfoJson {
    fn from(info: &MbInfo) -> Self {
        Self { hash: info.hash.into(), shard: info.shard.get(), tx_root: info.tx_root.into() }
    }
}

/// A DS block (`GetDsBlock`, `GetLatestDsBlock`, `GetDsBlockVerbose`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DsBlock"))]
pub struct DsBlockJson {
    /// For each member of the DS committee, whether it took part in the first round of signing; in the verbose form
    /// only.
    #[serde(rename = "B1", default, skip_serializing_if = "Option::is_none")]
    pub b1: Option<Vec<bool>>,
    /// For each member of the DS committee, whether it took part in the second round of signing; in the verbose form
    /// only.
    #[serde(rename = "B2", default, skip_serializing_if = "Option::is_none")]
    pub b2: Option<Vec<bool>>,
    /// Collective signature of the first round; in the verbose form only.
    #[serde(rename = "CS1", default, skip_serializing_if = "Option::is_none")]
    pub cs1: Option<UpperHex<Signature>>,
    /// Hash of the previous DS block; zero for DS blocks 0 and 1; in the verbose form only.
    #[serde(rename = "PrevDSHash", default, skip_serializing_if = "Option::is_none")]
    pub prev_ds_hash: Option<Hex<BlockHash>>,
    /// The fields that are hashed and signed, and the timestamp.
    pub header: DsBlockHeaderJson,
    /// Collective signature of the second round.
    #[serde(rename = "signature")]
    pub cs2: UpperHex<Signature>,
}

/// The header of a DS block, with its timestamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DsBlockHeader"))]
pub struct DsBlockHeaderJson {
    /// Number of the block; 18446744073709551615 if the requested block does not exist.
    #[serde(rename = "BlockNum")]
    pub number: Dec<DsBlockNumber>,
    /// Hash of the keys of the DS committee; in the verbose form only.
    #[serde(rename = "CommitteeHash", default, skip_serializing_if = "Option::is_none")]
    pub committee_hash: Option<Hex<CommitteeHash>>,
    /// Difficulty of the proof of work that admits a node to a shard, in leading zero bits.
    #[serde(rename = "Difficulty")]
    pub difficulty: u8,
    /// Difficulty of the proof of work that admits a node to the DS committee, in leading zero bits.
    #[serde(rename = "DifficultyDS")]
    pub ds_difficulty: u8,
    /// Tx epoch of the creation of the block; in the verbose form only.
    #[serde(rename = "EpochNum", default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Dec<BlockNumber>>,
    /// Minimum gas price during the DS epoch, in Qa.
    #[serde(rename = "GasPrice")]
    pub gas_price: Dec<GasPrice>,
    /// Votes on governance proposals; absent if there are none.
    #[serde(rename = "Governance", default, skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<ProposalJson>,
    /// Public key of the leader that proposed the block.
    #[serde(rename = "LeaderPubKey")]
    pub leader: PrefixedUpperHex<PublicKey>,
    /// Keys of the members that left the DS committee, in the order of removal; in the verbose form only.
    #[serde(rename = "MembersEjected", default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<Vec<PrefixedUpperHex<PublicKey>>>,
    /// Keys of the new members of the DS committee, in ascending order.
    #[serde(rename = "PoWWinners")]
    pub pow_winners: Vec<PrefixedUpperHex<PublicKey>>,
    /// IP addresses and ports of the new members, in the order of `PoWWinners`; in the verbose form only.
    #[serde(rename = "PoWWinnersIP", default, skip_serializing_if = "Option::is_none")]
    pub pow_winner_peers: Option<Vec<PeerJson>>,
    /// Hash of the previous block of the DS committee.
    #[serde(rename = "PrevHash")]
    pub prev_hash: Hex<BlockHash>,
    /// Reserved bytes, all zero; in the verbose form only.
    #[serde(rename = "ReservedField", default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Hex<Reserved>>,
    /// Software versions of the network; in the verbose form only.
    #[serde(rename = "SWInfo", default, skip_serializing_if = "Option::is_none")]
    pub software: Option<SwInfoJson>,
    /// Hash of the sharding structure; in the verbose form only.
    #[serde(rename = "ShardingHash", default, skip_serializing_if = "Option::is_none")]
    pub sharding_hash: Option<Hex<ShardingHash>>,
    /// Creation time of the block, in microseconds since 1970-01-01 UTC.
    #[serde(rename = "Timestamp")]
    pub timestamp: Dec<Timestamp>,
    /// Version of the format of the header; in the verbose form only.
    #[serde(rename = "Version", default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// Address on which a node listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Peer"))]
pub struct PeerJson {
    /// IPv4 address in dotted decimal form.
    #[serde(rename = "IP")]
    pub ip: core::net::Ipv4Addr,
    /// Port number of the peer-to-peer network.
    pub port: u32,
}

/// Versions of the interpreter and of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SwInfo"))]
pub struct SwInfoJson {
    /// Version of the Scilla interpreter.
    #[serde(rename = "Scilla")]
    pub interpreter: SwVersionJson,
    /// Version of the Zilliqa node.
    #[serde(rename = "Zilliqa")]
    pub node: SwVersionJson,
}

/// Version of a program: major, minor, fix, the first DS block with this version, and four bytes of the commit hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SwVersion"))]
pub struct SwVersionJson(pub u32, pub u32, pub u32, pub Dec<DsBlockNumber>, pub u32);

/// Votes on a governance proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Proposal"))]
pub struct ProposalJson {
    /// Votes of the DS committee; absent if there are none.
    #[serde(rename = "DSVotes", default, skip_serializing_if = "Vec::is_empty")]
    pub ds_votes: Vec<VoteJson>,
    /// Number of the governance proposal.
    #[serde(rename = "ProposalId")]
    pub id: u32,
    /// Votes of the shards; absent if there are none.
    #[serde(rename = "ShardVotes", default, skip_serializing_if = "Vec::is_empty")]
    pub shard_votes: Vec<VoteJson>,
}

/// Number of votes for one value of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Vote"))]
pub struct VoteJson {
    /// Number of votes for the value.
    #[serde(rename = "VoteCount")]
    pub count: u32,
    /// The value that the votes chose.
    #[serde(rename = "VoteValue")]
    pub value: u32,
}

impl DsBlockJson {
    /// Returns the verbose form of a DS block. `previous` is the hash of the previous DS block.
    pub fn verbose(block: &DsBlock, previous: BlockHash) -> Self {
        let DsBlock { header, cosignatures, timestamp: _ } = block;
        let plain = Self::from(block);
        Self {
            b1: Some(cosignatures.b1.clone()),
            b2: Some(cosignatures.b2.clone()),
            cs1: Some(cosignatures.cs1.into()),
            prev_ds_hash: Some(Hex(if header.number.get() <= 1 { BlockHash::ZERO } else { previous })),
            header: DsBlockHeaderJson {
                committee_hash: Some(header.committee_hash.into()),
                epoch: Some(header.epoch.into()),
                removed: Some(header.removed.iter().copied().map(PrefixedUpperHex).collect()),
                pow_winner_peers: Some(header.pow_winners.values().map(PeerJson::from).collect()),
                reserved: Some(header.reserved.into()),
                software: Some(SwInfoJson::from(&header.software)),
                sharding_hash: Some(header.sharding_hash.into()),
                version: Some(header.version),
                ..plain.header
            },
            cs2: plain.cs2,
        }
    }

    /// Returns the plain form of the placeholder for a DS block that does not exist
    /// (Reference: interface#missing-block).
    pub fn missing() -> Self {
        Self::from(&DsBlock::missing())
    }

    /// Returns the verbose form of the placeholder for a DS block that does not exist
    /// (Reference: interface#missing-block).
    pub fn missing_verbose() -> Self {
        Self::verbose(&DsBlock::missing(), BlockHash::ZERO)
    }
}

impl From<&DsBlock> for DsBlockJson {
    /// Returns the plain form of the DS block.
    fn from(block: &DsBlock) -> Self {
        let DsBlock { header, cosignatures, timestamp } = block;
        Self {
            b1: None,
            b2: None,
            cs1: None,
            prev_ds_hash: None,
            header: DsBlockHeaderJson {
                number: header.number.into(),
                committee_hash: None,
                difficulty: header.difficulty,
                ds_difficulty: header.ds_difficulty,
                epoch: None,
                gas_price: header.gas_price.into(),
                proposals: header.proposals.iter().map(ProposalJson::from).collect(),
                leader: header.leader.into(),
                removed: None,
                pow_winners: header.pow_winners.keys().copied().map(PrefixedUpperHex).collect(),
                pow_winner_peers: None,
                prev_hash: header.prev_hash.into(),
                reserved: None,
                software: None,
                sharding_hash: None,
                timestamp: (*timestamp).into(),
                version: None,
            },
            cs2: cosignatures.cs2.into(),
        }
    }
}

impl From<&Peer> for PeerJson {
    fn from(peer: &Peer) -> Self {
        Self { ip: peer.ip(), port: peer.port() }
    }
}

impl From<&SwInfo> for SwInfoJson {
    fn from(software: &SwInfo) -> Self {
        Self { interpreter: SwVersionJson::from(&software.interpreter), node: SwVersionJson::from(&software.node) }
    }
}

impl From<&SwVersion> for SwVersionJson {
    fn from(version: &SwVersion) -> Self {
        let SwVersion { major, minor, fix, upgrade_at, commit } = *version;
        Self(major, minor, fix, upgrade_at.into(), commit)
    }
}

impl From<(&u32, &Votes)> for ProposalJson {
    fn from((id, votes): (&u32, &Votes)) -> Self {
        let list = |votes: &alloc::collections::BTreeMap<u32, u32>| {
            votes.iter().map(|(&value, &count)| VoteJson { count, value }).collect()
        };
        Self { ds_votes: list(&votes.ds), id: *id, shard_votes: list(&votes.miners) }
    }
}

/// The serialised bytes of a block (`GetRawDSBlock`, `GetRawTxBlock`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RawBlock {
    /// The bytes as upper-case hexadecimal digits.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^([0-9A-F]{2})+$")))]
    pub data: String,
}

impl RawBlock {
    /// Returns the JSON form of the serialised bytes of a block.
    pub fn new(serialised: &[u8]) -> Self {
        Self { data: crate::hex::encode_upper(serialised) }
    }
}

/// One page of a list of blocks, newest first (`TxBlockListing`, `DSBlockListing`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BlockListing {
    /// The blocks of the page, at most ten.
    #[serde(rename = "data")]
    pub blocks: Vec<BlockListingEntry>,
    /// Number of the last page, counted from 1.
    #[serde(rename = "maxPages")]
    pub last_page: u64,
}

/// Number and hash of a block in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BlockListingEntry {
    /// Number of the block.
    #[serde(rename = "BlockNum")]
    pub number: u64,
    /// Hash of the block.
    #[serde(rename = "Hash")]
    pub hash: Hex<BlockHash>,
}

/// Hashes of the transactions of a block, by shard (`GetTransactionsForTxBlock`). The array at the position of a shard
/// number has the hashes of the micro block of this shard. A shard without a micro block is null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(transparent)]
pub struct TransactionsByShard(pub Vec<Option<Vec<Hex<TxHash>>>>);

impl FromIterator<(ShardId, Vec<TxHash>)> for TransactionsByShard {
    fn from_iter<I: IntoIterator<Item = (ShardId, Vec<TxHash>)>>(micro_blocks: I) -> Self {
        let mut shards = Vec::new();
        for (shard, hashes) in micro_blocks {
            let position = shard.get() as usize;
            if shards.len() <= position {
                shards.resize(position.saturating_add(1), None);
            }
            if let Some(slot) = shards.get_mut(position) {
                *slot = Some(hashes.into_iter().map(Hex).collect());
            }
        }
        Self(shards)
    }
}

/// One page of a block's transactions (`GetTransactionsForTxBlockEx`, `GetTxnBodiesForTxBlockEx`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TransactionsPage<T> {
    /// Number of the page, counted from 0.
    #[serde(rename = "CurrPage")]
    pub page: u64,
    /// Number of pages for all transactions of the block.
    #[serde(rename = "NumPages")]
    pub page_count: u32,
    /// The transactions of this page.
    #[serde(rename = "Transactions")]
    pub transactions: T,
}
