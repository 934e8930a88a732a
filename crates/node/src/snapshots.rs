//! To what a chain can be taken back (`silica_snapshot`, `silica_revert`).

use std::collections::BTreeMap;

use silica_chain::SavePoint;

use crate::{clock::Moment, config::BlockMode};

/// Most snapshots at once; the oldest give way.
const MOST: usize = 1_000;

/// Most transactions that wait or were dropped, in all snapshots together.
const MOST_TRANSACTIONS: usize = 1_000_000;

/// The chain as it was, and how its blocks were made.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) point: SavePoint,
    pub(crate) mode: BlockMode,
    pub(crate) moment: Moment,
}

/// Snapshots by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    kept: BTreeMap<u32, Kept>,
    /// Number of the latest.
    latest: u32,
    /// Transactions that are kept for all of them.
    transactions: usize,
}

/// Snapshots that were made after one that was taken out.
#[derive(Debug)]
pub(crate) struct Later(BTreeMap<u32, Kept>);

/// There is no snapshot of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no snapshot {number}: it was never made, reverted to, made after one that was, or forgotten")]
pub(crate) struct UnknownSnapshot {
    number: u32,
}

impl Snapshots {
    /// Keeps another, and returns its number. Numbers begin with 1 and are used once.
    pub(crate) fn add(&mut self, kept: Kept) -> u32 {
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

    /// Refuses a number that no snapshot has.
    pub(crate) fn require(&self, number: u32) -> Result<(), UnknownSnapshot> {
        if self.kept.contains_key(&number) { Ok(()) } else { Err(UnknownSnapshot { number }) }
    }

    /// Takes one out, and those after it, which may be [put back](Self::put_back).
    pub(crate) fn take(&mut self, number: u32) -> Result<(Kept, Later), UnknownSnapshot> {
        let taken = self.kept.remove(&number).ok_or(UnknownSnapshot { number })?;
        let later = self.kept.split_off(&number);
        for kept in later.values().chain([&taken]) {
            self.transactions = self.transactions.saturating_sub(kept.point.transactions());
        }
        Ok((taken, Later(later)))
    }

    /// Keeps what was just taken out after another one.
    pub(crate) fn put_back(&mut self, Later(later): Later) {
        for kept in later.values() {
            self.transactions = self.transactions.saturating_add(kept.point.transactions());
        }
        self.kept.extend(later);
    }

    /// Forgets all, and says whether there were any.
    pub(crate) fn clear(&mut self) -> bool {
        let all = std::mem::take(&mut self.kept);
        self.transactions = 0;
        !all.is_empty()
    }
}
