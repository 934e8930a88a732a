//! The network: statistics, nodes and software versions.
//!
//! Only rates are floating-point numbers. The module `statistics` of `silica-node` computes them.

use alloc::{string::String, vec::Vec};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Dec, PrefixedUpperHex};
use crate::{
    gas::Gas,
    key::PublicKey,
    number::{BlockNumber, DsBlockNumber},
};

/// Statistics of the chain (`GetBlockchainInfo`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BlockchainInfo {
    /// Number of the latest DS block.
    #[serde(rename = "CurrentDSEpoch")]
    pub current_ds_epoch: Dec<DsBlockNumber>,
    /// Number of the next Tx block: the number of the latest Tx block plus 1.
    #[serde(rename = "CurrentMiniEpoch")]
    pub current_mini_epoch: Dec<BlockNumber>,
    /// DS blocks per second, since DS block 1.
    #[serde(rename = "DSBlockRate")]
    pub ds_block_rate: f64,
    /// Number of DS blocks, including the genesis block.
    #[serde(rename = "NumDSBlocks")]
    pub ds_blocks: Dec<u64>,
    /// Number of nodes in the shards and in the DS committee.
    #[serde(rename = "NumPeers")]
    pub peers: u64,
    /// Number of transactions in all Tx blocks except the genesis block.
    #[serde(rename = "NumTransactions")]
    pub transactions: Dec<u64>,
    /// Number of Tx blocks, including the genesis block.
    #[serde(rename = "NumTxBlocks")]
    pub tx_blocks: Dec<u64>,
    /// Number of transactions in the Tx blocks of the current DS epoch.
    #[serde(rename = "NumTxnsDSEpoch")]
    pub transactions_in_ds_epoch: Dec<u64>,
    /// Number of transactions in the latest Tx block.
    #[serde(rename = "NumTxnsTxEpoch")]
    pub transactions_in_tx_epoch: Dec<u64>,
    /// Number of nodes in each shard.
    #[serde(rename = "ShardingStructure")]
    pub sharding: ShardingStructure,
    /// Transactions per second, in the latest Tx block.
    #[serde(rename = "TransactionRate")]
    pub transaction_rate: f64,
    /// Tx blocks per second, since Tx block 1.
    #[serde(rename = "TxBlockRate")]
    pub tx_block_rate: f64,
}

/// Number of nodes in each shard (`GetShardingStructure`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ShardingStructure {
    /// One number of nodes for each shard, without the DS committee.
    #[serde(rename = "NumPeers")]
    pub peers: Vec<u64>,
}

/// The current DS committee (`GetCurrentDSComm`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DsCommittee {
    /// Number of the latest DS block.
    #[serde(rename = "CurrentDSEpoch")]
    pub current_ds_epoch: Dec<DsBlockNumber>,
    /// Number of the next Tx block.
    #[serde(rename = "CurrentTxEpoch")]
    pub current_tx_epoch: Dec<BlockNumber>,
    /// Number of DS guards: members that need no proof of work.
    #[serde(rename = "NumOfDSGuard")]
    pub guards: u64,
    /// Public keys of the members, in the order of the committee.
    #[serde(rename = "dscomm")]
    pub members: Vec<PrefixedUpperHex<PublicKey>>,
}

/// The miners of a DS epoch (`GetMinerInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct MinerInfo {
    /// Public keys of the DS committee, without guards.
    #[serde(rename = "dscommittee")]
    pub ds_committee: Vec<PrefixedUpperHex<PublicKey>>,
    /// The miners of each shard.
    pub shards: Vec<ShardMiners>,
}

/// The miners of a shard (`GetMinerInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ShardMiners {
    /// Public keys of the members, without guards.
    pub nodes: Vec<PrefixedUpperHex<PublicKey>>,
    /// Number of members, including guards.
    pub size: u64,
}

/// A node of the network (`GetShardMembers`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NodeInfo {
    /// IP address and port of the node, in angle brackets.
    #[serde(rename = "NetworkInfo")]
    pub network: String,
    /// Public key of the node.
    #[serde(rename = "PubKey")]
    pub key: PrefixedUpperHex<PublicKey>,
}

/// The software of this node (`GetVersion`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NodeVersion {
    /// Commit hash of the build; absent if unknown.
    #[serde(rename = "Commit", default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Version of the node, with the prefix `v`.
    #[serde(rename = "Version")]
    pub version: String,
}

/// The settings and limits of this node (`silica_nodeInfo`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "NodeSettings"))]
#[serde(rename_all = "camelCase")]
pub struct NodeSettingsJson {
    /// The block mode, in the form of `silica_setBlockMode`.
    pub block_mode: String,
    /// Number of Tx blocks in a DS epoch.
    pub blocks_per_ds_epoch: u64,
    /// Chain id of the network.
    pub chain_id: u16,
    /// Whether the node serves methods for developers. A caller on another machine or web page can be refused.
    pub developer_methods: bool,
    /// Number of the oldest Tx block that the node has.
    pub first_block: Dec<BlockNumber>,
    /// Generation of the protocol: `8.1`.
    pub generation: String,
    /// The kinds of the history index, separated by commas: `addresses`, `events`, `blocks` and `balances`; or `off`.
    pub index: String,
    /// Number of Tx blocks that the history index covers, from block 0 on. Requests read later blocks from the record.
    pub indexed_blocks: Dec<u64>,
    /// Number of the latest Tx block.
    pub latest_block: Dec<BlockNumber>,
    /// Number of the latest DS block.
    pub latest_ds_block: Dec<DsBlockNumber>,
    /// Limits of requests and transactions.
    pub limits: NodeLimitsJson,
    /// Number of the oldest Tx block whose state the node has, for proofs, traces and pages of state.
    pub oldest_state: Dec<BlockNumber>,
    /// Whether the node is paused. A paused node makes no blocks and accepts no transactions.
    pub paused: bool,
    /// The profile that the node was started with: `isolated`, `testnet`, `mainnet` or `zq2`.
    pub profile: String,
    /// The Scilla rules of the next block: the release and the revision, with a slash between them.
    pub scilla_rules: String,
    /// Number of virtual shards.
    pub shards: u32,
    /// Whether the node serves Silica Studio, its web page for browsers, at the path `/studio/`.
    pub studio: bool,
    /// The `version` of a transaction on this network.
    pub transaction_version: u32,
    /// Version of the node, with the prefix `v`.
    pub version: String,
}

/// Limits of requests and transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "NodeLimits"))]
#[serde(rename_all = "camelCase")]
pub struct NodeLimitsJson {
    /// Maximum number of calls in a batch.
    pub batch_calls: usize,
    /// Maximum size of the response to a batch, in bytes.
    pub batch_result_bytes: usize,
    /// Maximum size of the code of a contract, in bytes.
    pub code_bytes: u64,
    /// Maximum gas limit of a transaction that the DS committee executes.
    pub ds_gas: Dec<Gas>,
    /// Maximum number of pending transactions of a sender.
    pub pending_per_sender: usize,
    /// Maximum size of the body of a request, in bytes.
    pub request_bytes: usize,
    /// Maximum size of the response to one call, in bytes. A response in chunks has no limit.
    pub result_bytes: usize,
    /// Maximum gas limit of a transaction that a shard executes.
    pub shard_gas: Dec<Gas>,
    /// Units of the rate limit that a client has per second; null for no rate limit.
    pub units_per_second: Option<u32>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_rates_are_numbers_with_a_fraction() {
        let info = BlockchainInfo {
            current_ds_epoch: DsBlockNumber::new(1).into(),
            current_mini_epoch: BlockNumber::new(2).into(),
            ds_block_rate: 0.0,
            ds_blocks: 2.into(),
            peers: 0,
            transactions: 3.into(),
            tx_blocks: 2.into(),
            transactions_in_ds_epoch: 3.into(),
            transactions_in_tx_epoch: 3.into(),
            sharding: ShardingStructure { peers: vec![1] },
            transaction_rate: 1.5,
            tx_block_rate: 2.0,
        };
        assert_eq!(
            serde_json::to_string(&info).unwrap(),
            concat!(
                r#"{"CurrentDSEpoch":"1","CurrentMiniEpoch":"2","DSBlockRate":0.0,"NumDSBlocks":"2","NumPeers":0,"#,
                r#""NumTransactions":"3","NumTxBlocks":"2","NumTxnsDSEpoch":"3","NumTxnsTxEpoch":"3","#,
                r#""ShardingStructure":{"NumPeers":[1]},"TransactionRate":1.5,"TxBlockRate":2.0}"#
            )
        );
    }

    #[test]
    fn unknown_commit_is_absent() {
        let version = NodeVersion { commit: None, version: "v8.1.0".to_owned() };
        assert_eq!(serde_json::to_value(version).unwrap(), json!({"Version": "v8.1.0"}));
    }
}
