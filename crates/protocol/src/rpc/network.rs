//! The network: its figures, its nodes and its software.
//!
//! Rates are the only floating-point numbers in this module. `node::statistics` computes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Dec, PrefixedUpperHex};
use crate::{
    key::PublicKey,
    number::{BlockNumber, DsBlockNumber},
};

/// Figures of the whole chain (`GetBlockchainInfo`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockchainInfo {
    /// Number of the latest DS block.
    #[serde(rename = "CurrentDSEpoch")]
    pub current_ds_epoch: Dec<DsBlockNumber>,
    /// Number of the Tx block in progress: one more than that of the latest.
    #[serde(rename = "CurrentMiniEpoch")]
    pub current_mini_epoch: Dec<BlockNumber>,
    /// DS blocks per second.
    #[serde(rename = "DSBlockRate")]
    pub ds_block_rate: f64,
    /// Number of DS blocks, that of genesis included.
    #[serde(rename = "NumDSBlocks")]
    pub ds_blocks: Dec<u64>,
    /// Number of nodes known.
    #[serde(rename = "NumPeers")]
    pub peers: u64,
    /// Number of transactions in all Tx blocks but that of genesis.
    #[serde(rename = "NumTransactions")]
    pub transactions: Dec<u64>,
    /// Number of Tx blocks, that of genesis included.
    #[serde(rename = "NumTxBlocks")]
    pub tx_blocks: Dec<u64>,
    /// Number of transactions in the Tx blocks of the current DS epoch.
    #[serde(rename = "NumTxnsDSEpoch")]
    pub transactions_in_ds_epoch: Dec<u64>,
    /// Number of transactions in the latest Tx block.
    #[serde(rename = "NumTxnsTxEpoch")]
    pub transactions_in_tx_epoch: Dec<u64>,
    /// Nodes of each shard.
    #[serde(rename = "ShardingStructure")]
    pub sharding: ShardingStructure,
    /// Transactions per second.
    #[serde(rename = "TransactionRate")]
    pub transaction_rate: f64,
    /// Tx blocks per second.
    #[serde(rename = "TxBlockRate")]
    pub tx_block_rate: f64,
}

/// How many nodes each shard has (`GetShardingStructure`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardingStructure {
    /// Number of nodes, one figure for each shard; the DS committee is not among them.
    #[serde(rename = "NumPeers")]
    pub peers: Vec<u64>,
}

/// The DS committee of today (`GetCurrentDSComm`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DsCommittee {
    /// Number of the latest DS block.
    #[serde(rename = "CurrentDSEpoch")]
    pub current_ds_epoch: Dec<DsBlockNumber>,
    /// Number of the Tx block in progress.
    #[serde(rename = "CurrentTxEpoch")]
    pub current_tx_epoch: Dec<BlockNumber>,
    /// Number of members that hold their seat without proof of work.
    #[serde(rename = "NumOfDSGuard")]
    pub guards: u64,
    /// Keys of the members, in the order of the committee.
    #[serde(rename = "dscomm")]
    pub members: Vec<PrefixedUpperHex<PublicKey>>,
}

/// Who made blocks in a DS epoch (`GetMinerInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MinerInfo {
    /// Keys of the DS committee, without guards.
    #[serde(rename = "dscommittee")]
    pub ds_committee: Vec<PrefixedUpperHex<PublicKey>>,
    /// The shards.
    pub shards: Vec<ShardMiners>,
}

/// The nodes of one shard (`GetMinerInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShardMiners {
    /// Keys of the members, without guards.
    pub nodes: Vec<PrefixedUpperHex<PublicKey>>,
    /// Number of members, guards included.
    pub size: u64,
}

/// A node of the network (`GetShardMembers`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeInfo {
    /// Where the node listens: address and port in angle brackets.
    #[serde(rename = "NetworkInfo")]
    pub network: String,
    /// Key of the node.
    #[serde(rename = "PubKey")]
    pub key: PrefixedUpperHex<PublicKey>,
}

/// The software of this node (`GetVersion`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeVersion {
    /// The commit that the node was built from; absent when that is not known.
    #[serde(rename = "Commit", default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Version of the node, after a `v`.
    #[serde(rename = "Version")]
    pub version: String,
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
