//! The history index: finds the transactions of an address, the transactions with events, blocks by their hashes, and
//! balances after earlier blocks (`docs/adr/0021-history-index.md`).
//!
//! The index has a database of its own, and can be made again from the record at any time. One thread, the indexer,
//! adds blocks after they are published. Readers get the number of blocks that the index covers, and read later blocks
//! from the record.
//!
//! The index is a log-structured merge tree. Entries of recent blocks are in the memtable. Other entries are in *runs*:
//! sorted sequences of pages, which are written once. Runs of similar sizes are merged.
//!
//! Modules in reading order:
//!
//! - `entry` has the entries and the keys of queries. `page` has the stored form of a page.
//! - `run` reads and writes runs. `manifest` has the list of runs.
//! - `read` has the queries. `write` adds blocks, writes the memtable, merges runs, and removes reverted blocks.
//! - `check` compares the index with the record.
//!
//! ```text
//! manifest   00                                    format, kinds, covered blocks, newest hash, next run, runs
//! page       01  run (4)  first entry (29)         first entry of the next page, sum of earlier changes, entries
//! ```

mod check;
mod entry;
mod manifest;
mod page;
mod read;
mod run;
#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "an overflow fails the test")]
mod tests;
mod write;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::{Mutex, RwLock};
use silica_protocol::{BlockHash, BlockNumber};

pub(crate) use self::{
    check::{SumBefore, check},
    entry::IndexEntries,
};
pub use self::{
    entry::{IndexKey, IndexKinds, IndexKindsError, IndexPosition},
    read::{IndexLost, IndexOrder, IndexView},
};
use self::{
    entry::{Key, Value},
    manifest::Extent,
    run::Run,
    write::Upkeep,
};
#[cfg(test)]
use crate::db::Disk;
use crate::{
    archive::{ArchiveError, Place},
    db::{Db, DbError, DbOptions},
};

/// The history index of a store.
#[derive(Debug)]
pub(crate) struct HistoryIndex {
    kinds: IndexKinds,
    files: Files,
    state: RwLock<Arc<State>>,
    /// Locked by the operations that change the list of runs, so that only one of them is active.
    upkeep: Mutex<Upkeep>,
    failure: Mutex<Option<IndexFailure>>,
}

/// The state that readers use. A change replaces it as a whole.
#[derive(Clone, Debug, Default)]
struct State {
    /// `None` until the indexer has opened the database, and after a failure.
    db: Option<Db>,
    /// The runs, the oldest entries first.
    runs: Vec<Run>,
    /// The memtable: entries that are in no run.
    recent: Arc<RwLock<BTreeMap<Key, Value>>>,
    /// The blocks whose entries are in `runs`.
    stored: Extent,
    /// The blocks whose entries are in `runs` or `recent`.
    added: Extent,
    /// After a revert: the number of blocks that the chain kept. Until the indexer has removed the entries of later
    /// blocks, readers use only the entries of these blocks.
    kept: Option<u64>,
    /// Number of reverts that have begun. If this number changes after a thread has read blocks, the index rejects the
    /// entries of these blocks.
    reverts: u64,
    /// A counter that increases with every change of `runs`, and with every revert.
    generation: u64,
}

impl State {
    /// Returns the number of blocks whose entries readers may use.
    fn covered(&self) -> u64 {
        self.kept.map_or(self.added.blocks, |kept| kept.min(self.added.blocks))
    }
}

/// The place of the database.
#[derive(Clone, Debug)]
pub(crate) enum Files {
    /// A directory that has only the index.
    Directory(PathBuf, DbOptions),
    /// A database in memory.
    Memory,
    #[cfg(test)]
    Disk(Disk),
}

impl Files {
    fn open(&self) -> Result<Db, DbError> {
        match self {
            Self::Directory(path, options) => Db::open(path, *options),
            Self::Memory => Ok(Db::in_memory()),
            #[cfg(test)]
            Self::Disk(disk) => Ok(Db::on_disk(disk)),
        }
    }

    /// Removes the database. No handle may be open.
    fn remove(&self) -> io::Result<()> {
        match self {
            Self::Directory(path, _) => remove(path),
            Self::Memory => Ok(()),
            #[cfg(test)]
            Self::Disk(disk) => {
                disk.clear();
                Ok(())
            }
        }
    }
}

/// Removes the database of the history index in a directory, if it exists.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The progress of the history index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexProgress {
    /// The kinds of entries that the index has.
    pub kinds: IndexKinds,
    /// Number of blocks that the index covers, from block 0 on.
    pub blocks: u64,
}

/// The latest failure of the history index. The node works without the index, and repairs the index. After a panic of
/// the thread, only a restart of the node repairs the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFailure {
    /// Number of failures since the store was opened.
    pub count: u64,
    /// Description of the latest failure.
    pub message: String,
}

impl HistoryIndex {
    /// Makes an index that covers no blocks, until [`HistoryIndex::open`] reads the database.
    pub(crate) fn new(kinds: IndexKinds, files: Files) -> Self {
        Self { kinds, files, state: RwLock::default(), upkeep: Mutex::default(), failure: Mutex::default() }
    }

    /// Returns the kinds of entries, and the number of blocks that the index covers.
    pub(crate) fn progress(&self) -> IndexProgress {
        IndexProgress { kinds: self.kinds, blocks: self.state().covered() }
    }

    /// Returns the latest failure since the store was opened, if there is one.
    pub(crate) fn failure(&self) -> Option<IndexFailure> {
        self.failure.lock().clone()
    }

    /// Counts a failure.
    pub(crate) fn count_failure(&self, message: String) {
        let mut failure = self.failure.lock();
        let count = failure.as_ref().map_or(0, |earlier| earlier.count).saturating_add(1);
        *failure = Some(IndexFailure { count, message });
    }

    /// Returns the size of the database on disk in bytes, or 0 if it is not open.
    pub(crate) fn size_on_disk(&self) -> Result<u64, DbError> {
        self.state().db.as_ref().map_or(Ok(0), Db::size_on_disk)
    }

    /// Returns the number of reverts that have begun.
    pub(crate) fn reverts(&self) -> u64 {
        self.state().reverts
    }

    /// Closes the database. The index then covers no blocks.
    pub(crate) fn close(&self) {
        self.close_with(&mut self.upkeep.lock());
    }

    fn close_with(&self, upkeep: &mut Upkeep) {
        *upkeep = Upkeep::default();
        let db = self.change(|state| {
            let State { kept, reverts, generation, .. } = *state;
            // A revert in progress stays in progress: the next opening can read the record before the revert removes
            // blocks.
            let closed = State { kept, reverts, generation: generation.wrapping_add(1), ..State::default() };
            std::mem::replace(state, closed).db
        });
        if let Some(db) = db {
            db.close();
        }
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.write();
        let mut changed = State::clone(&state);
        let result = change(&mut changed);
        *state = Arc::new(changed);
        result
    }
}

/// The entries of consecutive blocks.
#[derive(Debug)]
pub(crate) struct BlockEntries {
    pub(crate) first: BlockNumber,
    /// The last block, and its hash.
    pub(crate) last: BlockNumber,
    pub(crate) hash: BlockHash,
    pub(crate) entries: IndexEntries,
}

/// Returns an error of a damaged index.
pub(crate) fn damaged(reason: impl Into<String>) -> ArchiveError {
    ArchiveError::damaged(Place::HISTORY_INDEX, reason)
}

/// Returns the number and the hash of the newest block of an extent, or `None` if the extent has no blocks.
fn newest_of(extent: &Extent) -> Option<(BlockNumber, BlockHash)> {
    extent.blocks.checked_sub(1).map(BlockNumber::new).zip(extent.newest)
}
