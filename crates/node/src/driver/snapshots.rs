//! To what a chain can be taken back (`silica_snapshot`, `silica_revert`).

use std::collections::BTreeMap;

use silica_chain::SavePoint;

use crate::{block_mode::BlockMode, clock::Moment};

/// Most snapshots at once; the oldest give way.
const MOST: usize = 1_000;

/// Most transactions that wait or were dropped, in all snapshots together.
const MOST_TRANSACTIONS: usize = 1_000_000;

/// The chain as it was, and how its blocks were made.
#[derive(Debug)]
pub(crate) struct DevSnapshot {
    pub(crate) point: SavePoint,
    pub(crate) mode: BlockMode,
    pub(crate) moment: Moment,
}

/// DevSnapshots by their numbers.
#[derive(Debug, Default)]
pub(crate) struct DevSnapshots {
    kept: BTreeMap<u32, DevSnapshot>,
    /// Number of the latest.
    latest: u32,
    /// Transactions that are kept for all of them.
    transactions: usize,
}

/// There is no snapshot of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no snapshot {number}: it was never made, reverted to, made after one that was, or forgotten")]
pub(crate) struct UnknownSnapshot {
    number: u32,
}

impl DevSnapshots {
    /// Keeps another, and returns its number. Numbers begin with 1 and are used once.
    pub(crate) fn add(&mut self, kept: DevSnapshot) -> u32 {
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

    /// Returns the one of a number.
    pub(crate) fn get(&self, number: u32) -> Result<&DevSnapshot, UnknownSnapshot> {
        self.kept.get(&number).ok_or(UnknownSnapshot { number })
    }

    /// Forgets one and those after it.
    pub(crate) fn forget_from(&mut self, number: u32) {
        for kept in self.kept.split_off(&number).values() {
            self.transactions = self.transactions.saturating_sub(kept.point.transactions());
        }
    }

    /// Forgets all, and says whether there were any.
    pub(crate) fn clear(&mut self) -> bool {
        let all = std::mem::take(&mut self.kept);
        self.transactions = 0;
        !all.is_empty()
    }
}
