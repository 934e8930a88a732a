//! Queries to the index.

use std::sync::Arc;

use super::{
    HistoryIndex, State,
    entry::{IndexKey, IndexPosition, Key},
    run::Wanted,
};
use crate::archive::ArchiveError;

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

/// The index does not have the entries any more: it is damaged, or the chain was reverted. The caller reads the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the history index is not available")]
pub struct IndexLost;

impl IndexView {
    pub(crate) fn new(index: &Arc<HistoryIndex>) -> Self {
        Self { index: Arc::clone(index), state: index.state() }
    }

    /// Returns the number of blocks whose entries the view has, from block 0 on. Returns 0 if the index does not have the
    /// entries of the query.
    pub fn covered(&self, query: IndexKey<'_>) -> u64 {
        if query.is_in(self.index.kinds) { self.state.covered() } else { 0 }
    }

    /// Returns up to `most` places of a query in the given order: the places from `from` to `to`, both included, in the
    /// covered blocks. A place can belong to another address, name or hash, so the caller compares it with the record.
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
        let (covered, prefix) = (self.covered(query), query.prefix());
        let Some(last) = covered.checked_sub(1) else { return Ok(Vec::new()) };
        let end = IndexPosition { block: last.into(), position: u32::MAX };
        let wanted = Wanted {
            from: Key { prefix, place: from.place() },
            to: Key { prefix, place: to.min(end).place() },
            kinds: query.kind(),
            newest_first: order == IndexOrder::NewestFirst,
            most,
        };
        loop {
            match self.state.find(&wanted) {
                Ok(found) => return Ok(found.into_iter().map(|key| IndexPosition::of_place(key.place)).collect()),
                Err(error) => {
                    self.note_failure(&error);
                    // A merge may have removed a run after this view read the state. Then the newest state has its entries.
                    let now = self.index.state();
                    let is_of_other_chain = now.reverts != self.state.reverts;
                    self.state = now;
                    if is_of_other_chain || self.covered(query) < covered {
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
    fn find(&self, wanted: &Wanted) -> Result<Vec<Key>, ArchiveError> {
        let mut found = Vec::new();
        if wanted.from > wanted.to {
            return Ok(found);
        }
        {
            let recent = self.recent.read();
            let within = recent.range(wanted.from..=wanted.to);
            let within = within.filter(|(key, kinds)| wanted.has(&(**key, **kinds))).map(|(key, _)| *key);
            if wanted.newest_first {
                found.extend(within.rev().take(wanted.most));
            } else {
                found.extend(within.take(wanted.most));
            }
        }
        for run in &self.runs {
            let db = self.db.as_ref().ok_or_else(|| super::damaged("the database is not open"))?;
            found.extend(run.find(db, wanted)?);
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
