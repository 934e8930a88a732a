//! Figures of the network: statistics, miners and supply.

use silica_protocol::{Address, BlockNumber, DsBlockNumber, PublicKey, Qa, ShardId, ShardMember, Timestamp};
use silica_state::StateError;

use super::Snapshot;
use crate::{
    builder::shard_member,
    committee::Committee,
    genesis::{GENESIS_TOKENS, MINING_RESERVE},
    shared::Published,
};

/// The figures of the network. The caller computes rates, because this crate has no floating point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Number of the latest Tx block.
    pub latest_tx_block: BlockNumber,
    /// Number of the latest DS block.
    pub latest_ds_block: DsBlockNumber,
    /// Number of transactions in all Tx blocks.
    pub transactions: u64,
    /// Number of transactions in the latest Tx block.
    pub in_tx_epoch: u32,
    /// Number of transactions in the Tx blocks of the latest DS epoch.
    pub in_ds_epoch: u64,
    /// Timestamp of the latest Tx block.
    pub tx_block_time: Timestamp,
    /// Timestamp of the second latest Tx block, if it exists.
    pub previous_tx_block_time: Option<Timestamp>,
    /// Timestamp of Tx block 1, if it exists.
    pub first_tx_block_time: Option<Timestamp>,
    /// Timestamp of the latest DS block.
    pub ds_block_time: Timestamp,
    /// Timestamp of DS block 1, if it exists.
    pub first_ds_block_time: Option<Timestamp>,
    /// Number of members in all shards and in the DS committee.
    pub peers: u64,
    /// Number of members of each shard.
    pub shard_sizes: Vec<u32>,
}

/// The miners of a DS epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinerInfo {
    /// Keys of the DS committee, in its order.
    pub ds_committee: Vec<PublicKey>,
    /// Keys of the members of each shard.
    pub shards: Vec<Vec<PublicKey>>,
}

impl Snapshot {
    /// Returns the figures of the network.
    pub fn statistics(&self) -> Statistics {
        let Published { head, times, state, .. } = &*self.published;
        let totals = state.head().map(|head| head.totals).unwrap_or_default();
        let shards = self.shared.network.config.shards;
        let members = u32::try_from(self.committee().len()).unwrap_or(u32::MAX);
        Statistics {
            latest_tx_block: head.number(),
            latest_ds_block: head.ds_block.header.number,
            transactions: totals.transactions,
            in_tx_epoch: head.tx_block.header.tx_count,
            in_ds_epoch: totals.ds_epoch_transactions,
            tx_block_time: head.tx_block.timestamp,
            previous_tx_block_time: times.previous_tx,
            first_tx_block_time: times.first_tx,
            ds_block_time: head.ds_block.timestamp,
            first_ds_block_time: times.first_ds,
            peers: u64::from(shards).saturating_add(1).saturating_mul(members.into()),
            shard_sizes: (0..shards).map(|_| members).collect(),
        }
    }

    /// Returns the keys of the DS committee in its order.
    pub fn ds_committee(&self) -> Vec<PublicKey> {
        self.committee().keys().to_vec()
    }

    /// Returns the committee of the latest DS epoch.
    fn committee(&self) -> &Committee {
        self.shared.network.committees.of(self.latest_ds_block().header.number)
    }

    /// Returns the members of a shard, or `None` if the shard does not exist.
    pub fn shard_members(&self, shard: ShardId) -> Option<Vec<ShardMember>> {
        let members = || self.committee().keys().iter().copied().map(shard_member).collect();
        (shard.get() < self.shared.network.config.shards).then(members)
    }

    /// Returns the miners of the DS epoch of DS block `number`. The miners are the members of its committee.
    ///
    /// # Errors
    ///
    /// [`MinerInfoError`]: the DS block does not exist yet.
    pub fn miner_info(&self, number: DsBlockNumber) -> Result<MinerInfo, MinerInfoError> {
        let latest = self.latest_ds_block().header.number;
        if number > latest {
            return Err(MinerInfoError { got: number, latest });
        }
        let members = self.shared.network.committees.of(number).keys();
        let shards = (0..self.shared.network.config.shards).map(|_| members.to_vec()).collect();
        Ok(MinerInfo { ds_committee: members.to_vec(), shards })
    }

    /// Returns the money in circulation in Qa: the total supply of the main network minus the balance of the null
    /// account (Reference: execution#supply).
    ///
    /// # Errors
    ///
    /// [`StateError`]: the state could not be read.
    pub fn coin_supply(&self) -> Result<Qa, StateError> {
        let reserve = self.account(&Address::ZERO)?.unwrap_or_default().balance;
        let all = MINING_RESERVE.checked_add(GENESIS_TOKENS).unwrap_or(Qa::MAX);
        Ok(all.checked_sub(reserve).unwrap_or(Qa::ZERO))
    }
}

/// The error for a DS block that does not exist yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Requested data not found")]
pub struct MinerInfoError {
    /// Number of the requested DS block.
    pub got: DsBlockNumber,
    /// Number of the latest DS block.
    pub latest: DsBlockNumber,
}
