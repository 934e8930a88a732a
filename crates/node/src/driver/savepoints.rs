//! The savepoints of developers, to which the chain can be reverted (`silica_snapshot`, `silica_revert`).

use std::collections::BTreeMap;

use silica_chain::ChainSavepoint;
use silica_protocol::BlockNumber;

use crate::{block_mode::BlockMode, clock::Moment};

/// Maximum number of savepoints. Above this number, a new savepoint removes the oldest savepoint.
const MOST: usize = 1_000;

/// Maximum number of pending and dropped transactions in all savepoints together. The number limits the memory of
/// savepoints, because each savepoint copies the pool. The latest savepoint alone can have more transactions.
const MOST_TRANSACTIONS: usize = 1_000_000;

/// A savepoint of the chain, with the block mode and the time of the clock at its creation.
#[derive(Debug)]
pub(crate) struct DevSavepoint {
    pub(crate) point: ChainSavepoint,
    pub(crate) mode: BlockMode,
    pub(crate) moment: Moment,
}

/// The properties of a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SavepointFacts {
    /// Number of the savepoint.
    pub(crate) number: u32,
    /// The latest block at the savepoint.
    pub(crate) block: BlockNumber,
    /// The block mode at the savepoint.
    pub(crate) mode: BlockMode,
    /// Number of pending and dropped transactions of the savepoint.
    pub(crate) transactions: usize,
}

/// The savepoints, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct DevSavepoints {
    kept: BTreeMap<u32, DevSavepoint>,
    /// The number of the latest savepoint, also after its removal; 0 before the first savepoint.
    latest: u32,
    /// The number of transactions in all savepoints together.
    transactions: usize,
}

/// No savepoint has this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected the number of an available savepoint, got {number}; reverts and the limits of the node remove savepoints"
)]
pub(crate) struct UnknownSavepoint {
    number: u32,
}

impl DevSavepoints {
    /// Adds a savepoint, and returns its number. The first number is 1. Each number is used once.
    pub(crate) fn add(&mut self, kept: DevSavepoint) -> u32 {
        self.latest = self.latest.wrapping_add(1);
        self.transactions = self.transactions.saturating_add(kept.point.transactions());
        self.kept.insert(self.latest, kept);
        while self.kept.len() > MOST || (self.transactions > MOST_TRANSACTIONS && self.kept.len() > 1) {
            let oldest = self.kept.pop_first();
            let gone = oldest.map_or(0, |(_, kept)| kept.point.transactions());
            self.transactions = self.transactions.saturating_sub(gone);
        }
        self.latest
    }

    /// Returns all savepoints in the order of their numbers.
    pub(crate) fn list(&self) -> Vec<SavepointFacts> {
        let facts = |(number, kept): (&u32, &DevSavepoint)| SavepointFacts {
            number: *number,
            block: kept.point.block(),
            mode: kept.mode,
            transactions: kept.point.transactions(),
        };
        self.kept.iter().map(facts).collect()
    }

    /// Returns a savepoint by its number.
    pub(crate) fn get(&self, number: u32) -> Result<&DevSavepoint, UnknownSavepoint> {
        self.kept.get(&number).ok_or(UnknownSavepoint { number })
    }

    /// Removes a savepoint and all later savepoints.
    pub(crate) fn forget_from(&mut self, number: u32) {
        for kept in self.kept.split_off(&number).values() {
            self.transactions = self.transactions.saturating_sub(kept.point.transactions());
        }
    }

    /// Removes all savepoints. Returns `true` if any savepoint existed.
    pub(crate) fn clear(&mut self) -> bool {
        let all = std::mem::take(&mut self.kept);
        self.transactions = 0;
        !all.is_empty()
    }
}
