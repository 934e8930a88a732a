//! The memtable: the entries that are in no segment. They belong to the newest blocks.

use std::sync::{Arc, atomic::AtomicBool};

use parking_lot::{Mutex, MutexGuard, RwLock};
use silica_protocol::BlockHash;

use super::{Extent, Index, entry::Entry};
use crate::db::Db;

/// Number of entries that are inserted under one lock. Readers can lock the memtable between two such insertions.
const CHUNK: usize = 256;

/// The extent of all blocks in the index, in memory or on disk, and the undo log.
#[derive(Debug, Default)]
pub(super) struct Memtable {
    pub(super) extent: Extent,
    /// The undo log. It exists from the first [`Index::remember`] until the next [`Index::store`].
    pub(super) undo: Option<Undo>,
}

/// The entries of all blocks after the first `since` blocks.
#[derive(Debug)]
pub(super) struct Undo {
    pub(super) since: u64,
    /// The entries in the order of their blocks.
    pub(super) entries: Vec<Entry>,
}

impl Index {
    /// Returns the number of entries that are in no segment.
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

    /// Adds the next `blocks` blocks, which have no entries. `last` is the hash of the last block.
    pub(crate) fn pass(&self, blocks: u64, last: BlockHash) {
        let mut memtable = self.memtable();
        memtable.extent = Extent { blocks: memtable.extent.blocks.saturating_add(blocks), newest: Some(last) };
    }

    /// Starts the undo log, unless it exists. [`Index::back_at`] can then remove entries of later blocks until the next
    /// [`Index::store`].
    pub(crate) fn remember(&self) {
        let mut memtable = self.memtable();
        let since = memtable.extent.blocks;
        memtable.undo.get_or_insert(Undo { since, entries: Vec::new() });
    }

    /// Reverts the index to the blocks of `extent`, and returns the index with the handle `db`. Returns `None` if the
    /// undo log does not reach back to `extent`, or if entries of later blocks are on disk. Both indexes share the
    /// entries in memory. Therefore the caller must have retired the handle of `self`, and must not call maintenance of
    /// `self` again.
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
