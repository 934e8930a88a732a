//! Methods for the network as a whole and for the software of this node.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{ChainConfig, Statistics};
use silica_protocol::{
    BlockNumber, ChainId, GasPrice, Qa, ShardId, ShardMember, Version,
    rpc::{
        error::{RpcError, RpcErrorCode},
        network::{BlockchainInfo, NodeInfo, NodeLimitsJson, NodeSettingsJson, NodeVersion, ShardingStructure},
        text::Dec,
    },
};

use crate::{
    driver::NodeHandle,
    head::Context,
    rpc::{CallError, Command, Entry, Method, params::Integral},
    settings::PublicSettings,
    statistics,
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::per_head::<GetBlockchainInfo>(),
    Entry::per_head::<GetMinimumGasPrice>(),
    Entry::per_head::<GetNetworkId>(),
    Entry::per_head::<GetNodeType>(),
    Entry::per_head::<GetNumPeers>(),
    Entry::per_head::<GetShardingStructure>(),
    Entry::of::<GetShardMembers>(),
    Entry::per_head::<GetTotalCoinSupply>(),
    Entry::per_head::<GetTotalCoinSupplyAsInt>(),
    Entry::per_head::<GetVersion>(),
    Entry::command::<NodeInfoQuery>(),
];

/// Maximum number of members of a shard in a result (`NUM_SHARD_PEER_TO_REVEAL` of the reference).
const MEMBERS_SHOWN: usize = 5;

/// Statistics of the whole chain.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetBlockchainInfo {}

impl Method for GetBlockchainInfo {
    const NAME: &'static str = "GetBlockchainInfo";
    type Output = BlockchainInfo;

    fn call(self, at: &Context) -> Result<BlockchainInfo, CallError> {
        let figures = at.snapshot.statistics();
        Ok(BlockchainInfo {
            current_ds_epoch: figures.latest_ds_block.into(),
            current_mini_epoch: at.snapshot.current_epoch().into(),
            ds_block_rate: statistics::ds_block_rate(&figures),
            ds_blocks: statistics::ds_blocks(&figures).into(),
            peers: figures.peers,
            transactions: figures.transactions.into(),
            tx_blocks: statistics::tx_blocks(&figures).into(),
            transactions_in_ds_epoch: figures.in_ds_epoch.into(),
            transactions_in_tx_epoch: u64::from(figures.in_tx_epoch).into(),
            transaction_rate: statistics::transaction_rate(&figures),
            tx_block_rate: statistics::tx_block_rate(&figures),
            sharding: sharding(&figures),
        })
    }
}

/// Role of this node in the network.
///
/// A node with this interface is a seed node. It follows the chain and processes queries.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetNodeType {}

impl Method for GetNodeType {
    const NAME: &'static str = "GetNodeType";
    type Output = String;

    fn call(self, _: &Context) -> Result<String, CallError> {
        Ok("Seed".to_owned())
    }
}

/// Number of nodes in the shards and in the DS committee.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetNumPeers {}

impl Method for GetNumPeers {
    const NAME: &'static str = "GetNumPeers";
    type Output = u64;

    fn call(self, at: &Context) -> Result<u64, CallError> {
        Ok(at.snapshot.statistics().peers)
    }
}

/// Number of nodes in each shard.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetShardingStructure {}

impl Method for GetShardingStructure {
    const NAME: &'static str = "GetShardingStructure";
    type Output = ShardingStructure;

    fn call(self, at: &Context) -> Result<ShardingStructure, CallError> {
        Ok(sharding(&at.snapshot.statistics()))
    }
}

fn sharding(figures: &Statistics) -> ShardingStructure {
    ShardingStructure { peers: figures.shard_sizes.iter().copied().map(u64::from).collect() }
}

/// Members of a shard, at most 5.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetShardMembers {
    /// Number of the shard, from 0.
    shard: Integral,
}

/// The error for a shard that does not exist.
const UNKNOWN_SHARD: RpcError = RpcError::from_static(RpcErrorCode::INVALID_PARAMETER, "Invalid shard ID");

impl Method for GetShardMembers {
    const NAME: &'static str = "GetShardMembers";
    type Output = Vec<NodeInfo>;

    fn call(self, at: &Context) -> Result<Vec<NodeInfo>, CallError> {
        let members = at.snapshot.shard_members(ShardId::new(self.shard.0)).ok_or(UNKNOWN_SHARD)?;
        // The reference chooses members at random. Here the hash of the head determines the members, so that all nodes
        // return the same members.
        let hash = at.snapshot.latest_tx_block().header.hash();
        let [.., high, low] = *hash.as_bytes();
        let first = usize::from(u16::from_be_bytes([high, low])).checked_rem(members.len()).unwrap_or_default();
        let members = members.iter().cycle().skip(first).take(members.len().min(MEMBERS_SHOWN));
        let node = |member: &ShardMember| NodeInfo { network: format!("<{}>", member.peer), key: member.key.into() };
        Ok(members.map(node).collect())
    }
}

/// Chain id of the network.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetNetworkId {}

impl Method for GetNetworkId {
    const NAME: &'static str = "GetNetworkId";
    type Output = Dec<ChainId>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.chain_id.into())
    }
}

/// Minimum gas price of a transaction, in Qa.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetMinimumGasPrice {}

impl Method for GetMinimumGasPrice {
    const NAME: &'static str = "GetMinimumGasPrice";
    type Output = Dec<GasPrice>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.snapshot.minimum_gas_price().into())
    }
}

/// Money in circulation, in Zil with 12 decimals.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTotalCoinSupply {}

impl Method for GetTotalCoinSupply {
    const NAME: &'static str = "GetTotalCoinSupply";
    type Output = String;

    fn call(self, at: &Context) -> Result<String, CallError> {
        Ok(at.snapshot.coin_supply()?.to_zil_string())
    }
}

/// Money in circulation, in Zil rounded to the nearest integer.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTotalCoinSupplyAsInt {}

impl Method for GetTotalCoinSupplyAsInt {
    const NAME: &'static str = "GetTotalCoinSupplyAsInt";
    type Output = u64;

    fn call(self, at: &Context) -> Result<u64, CallError> {
        Ok(rounded_zil(at.snapshot.coin_supply()?))
    }
}

fn rounded_zil(amount: Qa) -> u64 {
    let (zil, rest) = (amount.get() / Qa::PER_ZIL, amount.get() % Qa::PER_ZIL);
    let rounded = if rest >= Qa::PER_ZIL / 2 { zil.saturating_add(1) } else { zil };
    u64::try_from(rounded).unwrap_or(u64::MAX)
}

/// Version of this node.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetVersion {}

impl Method for GetVersion {
    const NAME: &'static str = "GetVersion";
    type Output = NodeVersion;

    fn call(self, _: &Context) -> Result<NodeVersion, CallError> {
        let commit = option_env!("SILICA_COMMIT").map(ToOwned::to_owned);
        Ok(NodeVersion { commit, version: VERSION.to_owned() })
    }
}

/// Version of this node.
const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Settings, limits and blocks of this node. An extension of this node.
#[derive(Debug, Deserialize, JsonSchema)]
struct NodeInfoQuery {}

impl Command for NodeInfoQuery {
    const NAME: &'static str = "silica_nodeInfo";
    type Output = NodeSettingsJson;

    async fn run(self, node: &NodeHandle) -> Result<NodeSettingsJson, CallError> {
        let (at, config) = (node.context(), node.chain().config());
        let PublicSettings { developer, studio, profile, .. } = node.settings();
        let (oldest_state, latest) = at.snapshot.kept();
        let index = at.snapshot.index_progress().unwrap_or_default();
        Ok(NodeSettingsJson {
            block_mode: node.mode().to_string(),
            blocks_per_ds_epoch: config.blocks_per_ds_epoch,
            chain_id: config.chain_id.get(),
            developer_methods: developer,
            first_block: BlockNumber::new(0).into(),
            generation: "8.1".to_owned(),
            index: index.kinds.to_string(),
            indexed_blocks: index.blocks.into(),
            latest_block: latest.into(),
            latest_ds_block: at.snapshot.latest_ds_block().header.number.into(),
            limits: limits(config, &node.settings()),
            oldest_state: oldest_state.into(),
            paused: node.pause().lasts(),
            profile: profile.to_owned(),
            scilla_rules: at.snapshot.next_scilla_rules().to_string(),
            shards: config.shards,
            studio,
            transaction_version: Version::of_chain(config.chain_id).packed(),
            version: VERSION.to_owned(),
        })
    }
}

fn limits(config: &ChainConfig, settings: &PublicSettings) -> NodeLimitsJson {
    NodeLimitsJson {
        batch_calls: settings.batch_calls,
        batch_result_bytes: settings.batch_result_bytes,
        code_bytes: config.rules.max_code_bytes,
        ds_gas: config.ds_gas_limit.into(),
        pending_per_sender: config.policy.pool.per_sender,
        request_bytes: settings.request_bytes,
        result_bytes: settings.result_bytes,
        shard_gas: config.shard_gas_limit.into(),
        units_per_second: settings.units_per_second,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supply_is_rounded_to_the_nearest_zil() {
        let check = |qa, zil| assert_eq!(rounded_zil(Qa::new(qa)), zil, "{qa}");
        check(0, 0);
        check(499_999_999_999, 0);
        check(500_000_000_000, 1);
        check(13_452_081_092_277_490_607_172, 13_452_081_092);
        check(u128::MAX, u64::MAX);
    }
}
