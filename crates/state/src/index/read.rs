//! Queries to the index.

use std::sync::Arc;

use silica_protocol::{Address, BlockNumber, Qa};

use super::{
    HistoryIndex, State,
    entry::{IndexKey, IndexPosition, Key, Subject},
    run::Wanted,
};
use crate::{archive::ArchiveError, db::Db};

/// The index at one moment. Its results do not change while blocks are added.
#[derive(Clone, Debug)]
pub struct IndexView {
    index: Arc<HistoryIndex>,
    state: Arc<State>,
}

/// The order of the results of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexOrder {
    /// From the newest to the oldest place.
    NewestFirst,
    /// From the oldest to the newest place.
    OldestFirst,
}

/// The index no longer has the entries. It is damaged, or the chain was reverted. The caller reads the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the history index is not available")]
pub struct IndexLost;

impl IndexView {
    pub(crate) fn new(index: &Arc<HistoryIndex>) -> Self {
        Self { index: Arc::clone(index), state: index.state() }
    }

    /// Returns the number of blocks whose entries the view has, from block 0 on. Returns 0 if the index does not have
    /// the entries of the query.
    pub fn covered(&self, query: IndexKey<'_>) -> u64 {
        if query.is_in(self.index.kinds) { self.state.covered() } else { 0 }
    }

    /// Returns the number of blocks whose changes of balances the view has, from block 0 on. Returns 0 if the index
    /// does not have the changes.
    pub fn covered_balances(&self) -> u64 {
        if self.index.kinds.balances { self.state.covered() } else { 0 }
    }

    /// Returns the balance of an address after a block, or `None` if the view does not have the block. Reads at most
    /// one page for each run of the index, and the entries of the address in the memtable.
    ///
    /// # Errors
    ///
    /// [`IndexLost`]: the view does not have the changes any more.
    pub fn balance(&mut self, address: &Address, block: BlockNumber) -> Result<Option<Qa>, IndexLost> {
        if block.get() >= self.covered_balances() {
            return Ok(None);
        }
        let last = IndexPosition { block, position: u32::MAX }.place();
        self.read(Self::covered_balances, |state| state.sum(address, last)).map(|sum| Some(Qa::new(sum)))
    }

    /// Returns up to `most` places of a query in the given order: the places from `from` to `to`, both included, in the
    /// covered blocks. A place can belong to another name or hash, so the caller compares it with the record.
    ///
    /// # Errors
    ///
    /// [`IndexLost`]: the caller reads the record instead.
    pub fn find(
        &mut self,
        query: IndexKey<'_>,
        from: IndexPosition,
        to: IndexPosition,
        order: IndexOrder,
        most: usize,
    ) -> Result<Vec<IndexPosition>, IndexLost> {
        let (covered, subject) = (self.covered(query), query.subject());
        let Some(last) = covered.checked_sub(1) else { return Ok(Vec::new()) };
        let end = IndexPosition { block: last.into(), position: u32::MAX };
        let wanted = Wanted {
            from: Key { subject, place: from.place() },
            to: Key { subject, place: to.min(end).place() },
            kinds: query.kind(),
            newest_first: order == IndexOrder::NewestFirst,
            most,
        };
        let found = self.read(|view| view.covered(query), |state| state.find(&wanted))?;
        Ok(found.into_iter().map(|key| IndexPosition::of_place(key.place)).collect())
    }

    /// Reads the state of the view. `covered` returns the number of blocks of a view.
    fn read<T>(
        &mut self,
        covered: impl Fn(&Self) -> u64,
        read: impl Fn(&State) -> Result<T, ArchiveError>,
    ) -> Result<T, IndexLost> {
        let before = covered(self);
        loop {
            match read(&self.state) {
                Ok(found) => return Ok(found),
                Err(error) => {
                    self.note_failure(&error);
                    // A merge may have removed a run after this view read the state. Then the newest state has its
                    // entries.
                    let now = self.index.state();
                    let is_of_other_chain = now.reverts != self.state.reverts;
                    self.state = now;
                    if is_of_other_chain || covered(self) < before {
                        return Err(IndexLost);
                    }
                }
            }
        }
    }
}

impl IndexView {
    /// Closes the index after an error of a query, unless the runs have changed since the view read the state.
    pub(super) fn note_failure(&self, error: &ArchiveError) {
        self.index.note_failure_at(self.state.generation, error);
    }
}

impl State {
    /// Returns the sum of the changes of the balance of an address up to a place, modulo 2^128.
    pub(super) fn sum(&self, address: &Address, last: u64) -> Result<u128, ArchiveError> {
        let sums = Subject::of_balance(address).map(|subject| self.sum_of(Key { subject, place: last }));
        sums.into_iter().try_fold(0_u128, |all, sum| Ok(all.wrapping_add(sum?)))
    }

    /// Returns the sum of the changes of the subject of `to` up to `to`, modulo 2^128.
    fn sum_of(&self, to: Key) -> Result<u128, ArchiveError> {
        let from = Key { subject: to.subject, place: 0 };
        let recent = self.recent.read();
        let mut sum = recent.range(from..=to).fold(0_u128, |sum, (_, value)| sum.wrapping_add(value.change));
        drop(recent);
        for run in &self.runs {
            sum = sum.wrapping_add(run.sum(self.opened()?, to)?);
        }
        Ok(sum)
    }

    fn opened(&self) -> Result<&Db, ArchiveError> {
        self.db.as_ref().ok_or_else(|| super::damaged("the database is not open"))
    }

    fn find(&self, wanted: &Wanted) -> Result<Vec<Key>, ArchiveError> {
        let mut found = Vec::new();
        if wanted.from > wanted.to {
            return Ok(found);
        }
        {
            let recent = self.recent.read();
            let within = recent.range(wanted.from..=wanted.to);
            let within = within.filter(|(key, value)| wanted.has(&(**key, **value))).map(|(key, _)| *key);
            if wanted.newest_first {
                found.extend(within.rev().take(wanted.most));
            } else {
                found.extend(within.take(wanted.most));
            }
        }
        for run in &self.runs {
            found.extend(run.find(self.opened()?, wanted)?);
        }
        found.sort_unstable();
        found.dedup();
        if wanted.newest_first {
            found.reverse();
        }
        found.truncate(wanted.most);
        Ok(found)
    }
}
