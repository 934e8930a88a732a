//! The memtable: the entries of the newest blocks, which no segment contains yet.

use std::sync::{Arc, atomic::AtomicBool};

use parking_lot::{Mutex, MutexGuard, RwLock};
use silica_protocol::BlockHash;

use super::{Extent, Index, entry::Entry};
use crate::db::Db;

/// Entries that are put into memory under one lock.
const CHUNK: usize = 256;

/// What was added, whether it is written or not.
#[derive(Debug, Default)]
pub(super) struct Memtable {
    pub(super) extent: Extent,
    /// What is needed to take blocks out again, as long as someone may want to and nothing is written.
    pub(super) undo: Option<Undo>,
}

/// What was added after the first `since` blocks.
#[derive(Debug)]
pub(super) struct Undo {
    pub(super) since: u64,
    /// Those of the oldest block first.
    pub(super) entries: Vec<Entry>,
}

impl Index {
    /// Number of entries that are in memory only.
    pub(crate) fn memtable_len(&self) -> usize {
        let state = self.state();
        let sets = state.frozen.iter().chain([&state.recent]);
        sets.map(|set| set.read().len()).fold(0, usize::saturating_add)
    }

    /// Adds the entries of the next block.
    pub(crate) fn add(&self, block: BlockHash, entries: &[Entry]) {
        let mut memtable = self.memtable();
        let recent = Arc::clone(&self.state().recent);
        for chunk in entries.chunks(CHUNK) {
            recent.write().extend(chunk.iter().copied());
        }
        if let Some(undo) = &mut memtable.undo {
            undo.entries.extend(entries);
        }
        memtable.extent = Extent { blocks: memtable.extent.blocks.saturating_add(1), newest: Some(block) };
    }

    /// Passes over blocks that have no entries, the last of which has a hash.
    pub(crate) fn pass(&self, blocks: u64, last: BlockHash) {
        let mut memtable = self.memtable();
        memtable.extent = Extent { blocks: memtable.extent.blocks.saturating_add(blocks), newest: Some(last) };
    }

    /// Makes it possible to take out again what is added from now on, until what is in memory is written.
    pub(crate) fn remember(&self) {
        let mut memtable = self.memtable();
        let since = memtable.extent.blocks;
        memtable.undo.get_or_insert(Undo { since, entries: Vec::new() });
    }

    /// Reverts the index to the blocks of `extent`, and returns it over the handle `db`. Returns `None` if the undo log
    /// does not go back to `extent`, or if later blocks are on disk. Takes the entries in memory out of `self`: the
    /// caller must have retired the handle of `self`, and must not call its maintenance again.
    pub(crate) fn back_at(&self, extent: Extent, db: Db) -> Option<Self> {
        let (mut upkeep, mut memtable, state) = (self.upkeep(), self.memtable(), self.state());
        let mut undo =
            memtable.undo.take_if(|undo| undo.since <= extent.blocks && state.covered.blocks <= extent.blocks)?;
        let mut recent = state.recent.write();
        while let Some(entry) = undo.entries.pop_if(|entry| entry.position().block >= extent.blocks) {
            recent.remove(&entry);
        }
        drop(recent);
        Some(Self {
            db,
            state: RwLock::new(state),
            memtable: Mutex::new(Memtable { extent, undo: Some(undo) }),
            upkeep: Mutex::new(std::mem::take(&mut *upkeep)),
            damaged: AtomicBool::new(self.is_damaged()),
        })
    }

    pub(super) fn memtable(&self) -> MutexGuard<'_, Memtable> {
        self.memtable.lock()
    }
}
