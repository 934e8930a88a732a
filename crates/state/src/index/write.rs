//! Changes of the index: the indexer adds blocks, writes the memtable, merges runs, and removes the entries of reverted
//! blocks.

use std::{error::Error, iter, sync::Arc};

use parking_lot::RwLock;
use silica_protocol::{Address, BlockHash, BlockNumber};

use super::{
    BlockEntries, HistoryIndex, State,
    manifest::{self, Extent, Manifest},
    newest_of,
    page::Entry,
    run::{Cursor, Run, RunWriter, remove_some, stored_runs},
};
use crate::{archive::ArchiveError, db::Db, merge_policy::to_merge};

/// Number of entries of the memtable at which they become a run. They take about 6 MB of memory.
const FULL: usize = 1 << 16;
/// Number of blocks since the newest run at which the memtable becomes a run, even if it has few entries. After a
/// crash, the indexer reads these blocks again.
const FAR: u64 = 1 << 17;
/// Minimum number of entries or blocks at which a stop of the node writes the memtable.
const LARGE: u64 = 1 << 12;
/// Number of removed pages that count as one step of [`HistoryIndex::maintain`].
const PAGES: usize = 64;

/// State of the maintenance of runs.
#[derive(Debug, Default)]
pub(super) struct Upkeep {
    next_run: u32,
    merge: Option<Merge>,
    /// Runs that are on disk, but not in the manifest.
    garbage: Vec<u32>,
}

impl Upkeep {
    fn take_id(&mut self) -> u32 {
        let id = self.next_run;
        self.next_run = id.wrapping_add(1);
        id
    }

    /// Ends the merge. Its output becomes garbage.
    fn drop_merge(&mut self) {
        self.garbage.extend(self.merge.take().map(|merge| merge.output.id));
    }
}

/// A merge in progress.
#[derive(Debug)]
struct Merge {
    inputs: Vec<u32>,
    cursors: Vec<Cursor>,
    output: RunWriter,
}

impl HistoryIndex {
    /// Opens the database, if it is not open. `hash_of` returns the hash of a block of the record. Removes all entries
    /// if the newest block of the index is not in the record, or if the index has other kinds. Removes a damaged
    /// database.
    pub(crate) fn open(
        &self,
        hash_of: impl Fn(BlockNumber) -> Result<Option<BlockHash>, ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut upkeep = self.upkeep.lock();
        if self.state().db.is_some() {
            return Ok(());
        }
        let db = match self.files.open() {
            Err(error) if error.is_damage() => {
                self.files.remove().map_err(crate::db::DbError::Io)?;
                self.files.open()?
            }
            opened => opened?,
        };
        let manifest = manifest::read(&db, self.kinds)?;
        let known = match manifest {
            Some(manifest) => match newest_of(&manifest.stored) {
                Some((number, hash)) if hash_of(number)? != Some(hash) => None,
                _ => Some(manifest),
            },
            None => None,
        };
        let is_anew = known.is_none();
        let Manifest { stored, next_run, runs } = known.unwrap_or_default();
        *upkeep = Upkeep { next_run, ..Upkeep::default() };
        for run in stored_runs(&db)? {
            if !runs.iter().any(|known| known.id == run) {
                upkeep.garbage.push(run);
                upkeep.next_run = upkeep.next_run.max(run.saturating_add(1));
            }
        }
        if is_anew && !upkeep.garbage.is_empty() {
            // The new manifest is written before the old runs are removed. So after a crash, no manifest names removed
            // pages.
            manifest::write(&db, self.kinds, &Manifest { next_run: upkeep.next_run, ..Manifest::default() })?;
            db.flush()?;
        }
        self.change(|state| {
            let generation = state.generation.wrapping_add(1);
            let State { kept, reverts, .. } = *state;
            *state = State { db: Some(db), runs, stored, added: stored, kept, reverts, generation, ..State::default() };
        });
        Ok(())
    }

    /// Returns the number of the next block to add, or `None` if the database is not open or a revert is in progress.
    pub(crate) fn next_block(&self) -> Option<BlockNumber> {
        let state = self.state();
        (state.db.is_some() && state.kept.is_none()).then(|| BlockNumber::new(state.added.blocks))
    }

    /// Adds the entries of blocks that begin with [`HistoryIndex::next_block`]. Does nothing if more than `reverts`
    /// reverts have begun, because then the blocks were read before a revert.
    pub(crate) fn add(&self, reverts: u64, blocks: BlockEntries) {
        let BlockEntries { first, last, hash, entries } = blocks;
        self.change(|state| {
            if state.kept.is_none() && state.reverts == reverts && state.added.blocks == first.get() {
                let mut recent = state.recent.write();
                recent.extend(entries.0);
                drop(recent);
                state.added = Extent { blocks: last.get().saturating_add(1), newest: Some(hash) };
            }
        });
    }

    /// Returns the sum of the changes of the balance of an address in all added blocks, modulo 2^128.
    pub(crate) fn sum(&self, address: &Address) -> Result<u128, ArchiveError> {
        self.state().sum(address, u64::MAX)
    }

    /// Limits readers to the entries of the first `kept` blocks, because the chain is being reverted.
    pub(crate) fn begin_revert(&self, kept: u64) {
        self.change(|state| {
            state.kept = Some(state.kept.map_or(kept, |before| before.min(kept)));
            state.reverts = state.reverts.wrapping_add(1);
            state.generation = state.generation.wrapping_add(1);
        });
    }

    /// Removes the entries of reverted blocks, if the chain was reverted. `hash_of` returns the hash of a block of the
    /// record. Does nothing if more than `reverts` reverts have begun, because then `hash_of` can read a record from
    /// before a revert.
    pub(crate) fn finish_revert(
        &self,
        reverts: u64,
        hash_of: impl Fn(BlockNumber) -> Result<Option<BlockHash>, ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut upkeep = self.upkeep.lock();
        let state = self.state();
        let Some(kept) = state.kept.filter(|_| state.reverts == reverts) else { return Ok(()) };
        let extent_of = |extent: Extent| match kept.checked_sub(1).filter(|_| kept < extent.blocks) {
            Some(newest) => Ok(Extent { blocks: kept, newest: hash_of(BlockNumber::new(newest))? }),
            None => Ok::<_, ArchiveError>(if kept == 0 { Extent::default() } else { extent }),
        };
        let (stored, added) = (extent_of(state.stored)?, extent_of(state.added)?);
        if let Some(db) = state.db.as_ref().filter(|_| stored != state.stored) {
            upkeep.drop_merge();
            let mut runs = Vec::new();
            for run in &state.runs {
                if run.newest_block < kept {
                    runs.push(*run);
                    continue;
                }
                let (mut cursor, mut output) = (Cursor::new(db, *run)?, RunWriter::new(upkeep.take_id()));
                while let Some(entry) = cursor.peek(db)? {
                    cursor.skip();
                    if entry.0.block() < kept {
                        output.push(db, entry)?;
                    }
                }
                runs.extend(output.finish(db)?);
                upkeep.garbage.push(run.id);
            }
            self.publish(&upkeep, db, runs, stored, |_| {})?;
        }
        // The state gets a new map, because views of the chain before the revert read the old map.
        let recent = state.recent.read().iter().filter(|(key, _)| key.block() < kept).map(|(k, v)| (*k, *v)).collect();
        self.change(|state| {
            state.recent = Arc::new(RwLock::new(recent));
            state.added = added;
            // Another revert can have begun meanwhile.
            state.kept = state.kept.filter(|_| state.reverts != reverts);
        });
        Ok(())
    }

    /// Writes the memtable to a run if it is full. Then removes pages of old runs, or merges up to `budget` entries of
    /// runs. Returns whether work remains.
    pub(crate) fn maintain(&self, budget: usize) -> Result<bool, ArchiveError> {
        let state = self.state();
        let is_far = state.added.blocks.saturating_sub(state.stored.blocks) >= FAR;
        if is_far || state.recent.read().len() >= FULL {
            self.store()?;
        }
        let mut upkeep = self.upkeep.lock();
        let state = self.state();
        let Some(db) = state.db.as_ref().filter(|_| state.kept.is_none()) else { return Ok(false) };
        if let Some(run) = upkeep.garbage.last().copied() {
            if remove_some(db, run, PAGES)? < PAGES {
                upkeep.garbage.pop();
            }
            return Ok(true);
        }
        if upkeep.merge.is_none() {
            let Some(inputs) = to_merge(1, state.runs.iter().map(|run| run.entries)) else { return Ok(false) };
            let inputs: Vec<Run> = inputs.into_iter().filter_map(|at| state.runs.get(at).copied()).collect();
            let cursors = inputs.iter().map(|run| Cursor::new(db, *run)).collect::<Result<_, _>>()?;
            let output = RunWriter::new(upkeep.take_id());
            upkeep.merge = Some(Merge { inputs: inputs.iter().map(|run| run.id).collect(), cursors, output });
        }
        if let Some(merge) = &mut upkeep.merge
            && merge.advance(db, budget)?
        {
            self.finish_merge(&mut upkeep, &state, db)?;
        }
        Ok(true)
    }

    fn finish_merge(&self, upkeep: &mut Upkeep, state: &State, db: &Db) -> Result<(), ArchiveError> {
        let Some(Merge { inputs, output, .. }) = upkeep.merge.take() else { return Ok(()) };
        let mut runs = state.runs.clone();
        let first = runs.iter().position(|run| inputs.contains(&run.id)).unwrap_or(0);
        runs.retain(|run| !inputs.contains(&run.id));
        if let Some(output) = output.finish(db)? {
            runs.insert(first.min(runs.len()), output);
        }
        self.publish(upkeep, db, runs, state.stored, |_| {})?;
        upkeep.garbage.extend(inputs);
        Ok(())
    }

    /// Writes the memtable to a run if it has at least [`LARGE`] entries or blocks. A new read of so many blocks takes
    /// longer than the two flushes of a run.
    pub(crate) fn store_if_large(&self) -> Result<(), ArchiveError> {
        let state = self.state();
        let blocks = state.added.blocks.saturating_sub(state.stored.blocks);
        if blocks >= LARGE || u64::try_from(state.recent.read().len()).is_ok_and(|entries| entries >= LARGE) {
            self.store()
        } else {
            Ok(())
        }
    }

    /// Writes the memtable to a run. Does nothing if the database is not open or a revert is in progress.
    pub(crate) fn store(&self) -> Result<(), ArchiveError> {
        let mut upkeep = self.upkeep.lock();
        let state = self.state();
        let Some(db) = state.db.as_ref().filter(|_| state.kept.is_none() && state.stored != state.added) else {
            return Ok(());
        };
        let mut writer = RunWriter::new(upkeep.take_id());
        // The entries are copied, because readers need the lock.
        let entries: Vec<Entry> = state.recent.read().iter().map(|(key, value)| (*key, *value)).collect();
        for entry in entries {
            writer.push(db, entry)?;
        }
        let mut runs = state.runs.clone();
        runs.extend(writer.finish(db)?);
        self.publish(&upkeep, db, runs, state.added, |state| state.recent = Arc::default())
    }

    /// Writes the manifest, and then gives the runs to readers.
    fn publish(
        &self,
        upkeep: &Upkeep,
        db: &Db,
        runs: Vec<Run>,
        stored: Extent,
        change: impl FnOnce(&mut State),
    ) -> Result<(), ArchiveError> {
        // The pages are flushed first, because the manifest must not become durable before them.
        db.flush()?;
        let manifest = Manifest { stored, next_run: upkeep.next_run, runs };
        manifest::write(db, self.kinds, &manifest)?;
        db.flush()?;
        self.change(|state| {
            (state.runs, state.stored) = (manifest.runs, stored);
            state.generation = state.generation.wrapping_add(1);
            change(state);
        });
        Ok(())
    }

    /// Closes the database after an error, so that the next [`HistoryIndex::open`] opens it again. Removes a damaged
    /// database.
    pub(crate) fn note_failure(&self, error: &ArchiveError) {
        self.give_up(&mut self.upkeep.lock(), error);
    }

    /// Does the same as [`HistoryIndex::note_failure`], but only if the runs have not changed since the state with this
    /// generation. After a change, the error may come from removed pages, or from a database that is already closed.
    pub(super) fn note_failure_at(&self, generation: u64, error: &ArchiveError) {
        let mut upkeep = self.upkeep.lock();
        if self.state().generation == generation {
            self.give_up(&mut upkeep, error);
        }
    }

    /// Counts the failure, closes the database, and removes a damaged database. The caller holds the lock until the
    /// function returns. Otherwise the indexer could open the files before their removal.
    fn give_up(&self, upkeep: &mut Upkeep, error: &ArchiveError) {
        let causes = iter::successors(error.source(), |&cause| cause.source());
        self.count_failure(causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")));
        self.close_with(upkeep);
        if error.is_damage() {
            // If the removal fails, the next opening finds the damage again.
            let _: std::io::Result<()> = self.files.remove();
        }
    }
}

impl Merge {
    /// Merges up to `budget` entries. Returns whether all entries are merged.
    fn advance(&mut self, db: &Db, budget: usize) -> Result<bool, ArchiveError> {
        for _ in 0..budget {
            let mut least: Option<(Entry, usize)> = None;
            for (at, cursor) in self.cursors.iter_mut().enumerate() {
                if let Some(entry) = cursor.peek(db)?
                    && least.is_none_or(|(least, _)| entry.0 < least.0)
                {
                    least = Some((entry, at));
                }
            }
            let Some((least, at)) = least else { return Ok(true) };
            // No two runs have the same entry, because each block is in one run.
            if let Some(cursor) = self.cursors.get_mut(at) {
                cursor.skip();
            }
            self.output.push(db, least)?;
        }
        Ok(false)
    }
}
