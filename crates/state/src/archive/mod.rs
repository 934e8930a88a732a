//! The record: the blocks with all their data, each stored once, under consecutive numbers.
//!
//! One batch writes a block. A flush covers one block or several, and readers get a block only after its flush. After
//! the flush, the head marker names the newest block. The head marker is a file outside the database. The stored data
//! of a block never change. Only a revert or a recovery removes blocks. It removes all blocks after an earlier block.
//!
//! Therefore a missing value of a block from 0 to the head is damage. A value with a wrong checksum is damage too. The
//! state diffs are in separate files. The store removes a diff when no checkpoint needs it.
//!
//! Modules in reading order:
//!
//! - `record` has the data of an appended block. `section` splits byte strings into values. `entry` has the first value
//!   of a block, from which a reader finds the other values.
//! - `range` has the stored form of an empty block range. `ranges` finds and reads these ranges.
//! - `transactions` and `receipts` have the packed forms of transactions and receipts.
//! - `view` has the queries for the blocks up to one block. `hash_index` finds transactions by hash. `deployments`
//!   finds contracts, and the contracts of a sender.
//! - `packs` has the rows of older blocks outside the database, and `pack` their bytes.
//! - `changes` has the files of state diffs, and `head_marker` the head marker.
//! - `check` verifies the whole record. `revert` removes the newest blocks. `rows` exports and imports a record.
//!
//! ```text
//! head       00                                            format, number and hash of the newest block
//! entry      10  Tx block (8)  00  part (4)                Tx block, totals, sizes of the other values
//! micro      10  Tx block (8)  01  part (4)                micro blocks, without the hashes of their transactions
//! bodies     10  Tx block (8)  02  part (4)                transactions with receipts, in groups
//! edits      10  Tx block (8)  03  part (4)                edits, which change the state before the transactions
//! DS block   11  DS block (8)  00  part (4)
//! range      15  first Tx block (8)  00  part (4)          empty block range, the only value of its blocks
//! range DS   16  first DS block (8)                        first Tx block of the range that has this DS block
//! label      17                                            label of the chain, a text that the caller chooses
//! pack       18  first Tx block (8)                        place of older blocks in the page file
//! deployed   13  contract (20)                             Tx block and position of its deployment
//! deployer   14  sender (20)  Tx block (8)  position (4)   contract or library that this transaction deployed
//! ```
//!
//! The record stores an edit in the encoding of a state diff, and does not interpret it.

mod cache;
mod changes;
mod check;
mod deployments;
mod entry;
mod error;
mod hash_index;
mod head_marker;
mod label;
mod pack;
mod packs;
mod range;
mod ranges;
mod receipts;
mod record;
mod revert;
mod rows;
mod section;
mod transactions;
mod view;

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "an overflow fails the test")]
mod tests;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard, RwLock};
use silica_protocol::{BlockHash, BlockNumber, DsBlock, TxBlock};

use self::{
    cache::Cache,
    changes::Changes,
    entry::Entry,
    hash_index::{Extent, Index, Position},
    head_marker::HeadMarker,
    packs::Rows,
    ranges::Ranges,
    record::{Prepared, index_entries, prepare},
    section::{Kind, Section},
};
use crate::{
    codec::{Reader, Writer, seal, unseal},
    db::{Batch, Db},
};

#[cfg(test)]
pub(crate) use self::changes::Memory;
pub(crate) use self::{changes::Files, revert::Removed, view::ArchiveView};
pub use self::{
    check::{ArchiveReport, CheckedBlocks},
    entry::{Head, Totals},
    error::{AppendError, ArchiveError, OpenArchiveError},
    range::{BlockSigner, EmptyBlockRange, RangeBuilder, RangeDsBlock, RangeTemplate, RangeVacuousBlock},
    record::BlockRecord,
    rows::{RecordImport, RecordRow},
    section::Place,
    view::{BlockOutline, BlockRewards, FoundTransaction, StoredTransaction, TransactionGroup},
};

/// Database key of the row that names the newest block.
const HEAD: [u8; 1] = [0x00];
/// Format of a record with packs. The highest format that this program reads.
const FORMAT: u64 = 7;
/// Format of a record without packs, and with repeats of the logical block number.
const FORMAT_WITHOUT_PACKS: u64 = 6;
/// Format of a record without packs and repeats.
const FORMAT_WITHOUT_REPEATS: u64 = 5;
/// Highest format without the table of deployments by sender.
const FORMAT_WITHOUT_SENDERS: u64 = 2;
/// Format whose records contain the state diffs.
const FORMAT_WITH_CHANGES: u64 = 1;
/// Tables that only format 1 has: the number of the oldest state diff, and the state diffs.
const TABLES_OF_CHANGES: [u8; 2] = [0x01, 0x12];
/// Slots of the cache of decoded entries, and of the cache of signed blocks.
const ENTRIES: usize = 128;
/// Slots of the cache of decoded DS blocks.
const DS_BLOCKS: usize = 32;
/// Number of index entries in memory at which opening writes them to disk.
const UNSTORED: usize = 1 << 20;

/// The record. One thread appends. Other threads read, each through an [`ArchiveView`].
#[derive(Debug)]
pub(crate) struct Archive {
    rows: Rows,
    head_marker: Option<Arc<HeadMarker>>,
    changes: Arc<Changes>,
    newest: RwLock<Option<Arc<Entry>>>,
    /// Blocks that are written after the newest block and not flushed, in their order.
    written: Mutex<Vec<Written>>,
    /// Whether a write or flush failed, or [`Archive::shut`] was called. Then the record rejects appends.
    broken: AtomicBool,
    entries: Cache<Entry>,
    ds_blocks: Cache<DsBlock>,
    ranges: Ranges,
    /// Signed Tx blocks of empty block ranges.
    sealed: Cache<TxBlock>,
    index: Index,
}

/// A block, or an empty block range, that a crash may undo until its flush.
#[derive(Debug)]
struct Written {
    entry: Arc<Entry>,
    /// Number of blocks: 1, or the number of blocks in the empty block range.
    blocks: u64,
    index: Vec<hash_index::Entry>,
}

impl Archive {
    /// Opens the record in `db`, which may be empty, and the index in `index_db`. Adds to the index all blocks that the
    /// index does not have yet. Rebuilds the index if it is missing, damaged or from another record.
    ///
    /// `changes` are the files of state diffs. `head_marker` is the path of the head marker, or `None` for a record
    /// that does not outlive the process. The function calls `progress` after each block or empty block range that it
    /// adds to the index, with the number of indexed blocks and the number of all blocks.
    ///
    /// Removes the rest of a block whose append was interrupted. Converts a record of an earlier format. The conversion
    /// of format 1 removes all state diffs.
    pub(crate) fn open(
        db: Db,
        index_db: Db,
        changes: Files,
        head_marker: Option<&Path>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, OpenArchiveError> {
        let path = head_marker;
        let (head, head_marker) = read_acknowledged(&db, head_marker)?;
        let (head, format) = head.unzip();
        let (head_marker, names_block) = head_marker.unzip();
        if format == Some(FORMAT_WITH_CHANGES) {
            remove_changes(&db)?;
        }
        let rows = Rows::open(db)?;
        if rows.newest_packed() > head.map(|(number, _)| number.get()) {
            return Err(ArchiveError::damaged(Place::HEAD, "the record has packs of blocks after the newest").into());
        }
        let changes = Changes::open(changes, head.map(|(number, _)| number)).map_err(OpenArchiveError::Changes)?;
        let archive = Self {
            head_marker: head_marker.map(Arc::new),
            changes: Arc::new(changes),
            newest: RwLock::new(None),
            written: Mutex::default(),
            broken: AtomicBool::new(false),
            entries: Cache::new(ENTRIES),
            ds_blocks: Cache::new(DS_BLOCKS),
            ranges: Ranges::default(),
            sealed: Cache::new(ENTRIES),
            index: Index::open(index_db).map_err(ArchiveError::from)?,
            rows,
        };
        archive.discard_after(head.map(|(number, _)| number))?;
        if let Some((number, hash)) = head {
            let entry = archive.entry(number)?;
            if entry.head.hash != hash {
                return Err(ArchiveError::damaged(Place::HEAD, "hash differs from that of the newest block").into());
            }
            archive.publish(&entry);
            if let (Some(head_marker), Some(false), Some(path)) = (&archive.head_marker, names_block, path) {
                // The chain had relaxed durability, or the marker is damaged. It is possible that the blocks are not
                // flushed.
                archive.rows.db().flush().map_err(ArchiveError::from)?;
                let unwritten = |source| OpenArchiveError::HeadMarker { path: path.to_owned(), source };
                head_marker.write(number, &hash).map_err(unwritten)?;
            }
        }
        if format.is_some_and(|format| format <= FORMAT_WITHOUT_SENDERS) {
            archive.add_senders(head)?;
        }
        archive.catch_up(progress)?;
        Ok(archive)
    }

    /// Checks that the record in `db` can be opened: its format is supported, and it has all acknowledged blocks.
    /// Changes nothing.
    pub(crate) fn examine(db: &Db, head_marker: Option<&Path>) -> Result<(), OpenArchiveError> {
        read_acknowledged(db, head_marker).map(drop)
    }

    /// Returns the newest block, or `None` before genesis.
    pub(crate) fn head(&self) -> Option<Head> {
        self.newest().map(|entry| entry.head.clone())
    }

    /// Returns the label of the chain, a text that the caller has set, or `None` if the chain has no label.
    pub(crate) fn label(&self) -> Result<Option<String>, ArchiveError> {
        label::read(self.rows.db())
    }

    /// Writes the label of the chain and flushes it.
    pub(crate) fn set_label(&self, text: &str) -> Result<(), ArchiveError> {
        label::write(self.rows.db(), text)
    }

    /// Returns a view of the blocks up to the newest block.
    pub(crate) fn view(self: &Arc<Self>) -> ArchiveView {
        ArchiveView::new(Arc::clone(self), self.newest())
    }

    /// Returns a view of the blocks up to `newest`. `None` gives an empty view.
    pub(crate) fn view_at(self: &Arc<Self>, newest: Option<BlockNumber>) -> Result<ArchiveView, ArchiveError> {
        Ok(ArchiveView::new(Arc::clone(self), newest.map(|number| self.entry(number)).transpose()?))
    }

    /// Returns the size of the record and of the state diffs on disk in bytes, without the index.
    pub(crate) fn size_on_disk(&self) -> Result<u64, ArchiveError> {
        Ok(self.rows.db().size_on_disk()?.saturating_add(self.changes.size_on_disk()))
    }

    /// Writes a block with its state diff, and flushes all written blocks.
    #[cfg(test)]
    pub(crate) fn append(&self, record: &BlockRecord, diff: &[u8]) -> Result<(), AppendError> {
        self.write(record, diff)?;
        self.flush()
    }

    /// Appends a block with its state diff. Until [`Archive::flush`] returns, a crash may undo the block, and
    /// [`Archive::view`] does not contain it. The next block can be appended before the flush.
    ///
    /// Checks that the block follows the last written block. Checks that the micro blocks match the list of the Tx
    /// block, and that the transactions match the lists of the micro blocks. Makes no other checks. After an error of
    /// the engine, the record accepts no more blocks, because the engine may have stored the block or not. After an
    /// error of the files of state diffs, the caller can append the block again.
    pub(crate) fn write(&self, record: &BlockRecord, diff: &[u8]) -> Result<(), AppendError> {
        let mut written = self.begin()?;
        let last = written.last().map(|written| Arc::clone(&written.entry)).or_else(|| self.newest());
        let Prepared { entry, mut batch, index } = prepare(record, diff.len(), last.as_deref())?;
        self.write_head(&entry.head, &mut batch);
        // The state diff is written first: if its write fails, the record has nothing of the block, and the caller can
        // retry.
        self.changes.append(entry.number(), entry.head.hash, diff).map_err(AppendError::Changes)?;
        // The flag stays set if the write fails, because the engine may have stored the block or not.
        self.broken.store(true, Ordering::Release);
        self.rows.db().apply(batch).map_err(ArchiveError::from)?;
        written.push(Written { entry: Arc::new(entry), blocks: 1, index });
        self.broken.store(false, Ordering::Release);
        Ok(())
    }

    /// Flushes all written blocks, writes the head marker, and publishes the blocks. With
    /// [`Durability::Flush`](crate::Durability::Flush), the blocks are durable when the function returns.
    pub(crate) fn flush(&self) -> Result<(), AppendError> {
        let mut written = self.begin()?;
        let Some(newest) = written.last().map(|written| Arc::clone(&written.entry)) else { return Ok(()) };
        self.broken.store(true, Ordering::Release);
        self.rows.db().flush().map_err(ArchiveError::from)?;
        // The check runs again after the flush: the node must not acknowledge a block in a file that was replaced
        // before the flush.
        self.require_in_place()?;
        // The marker is written after the flush, because it must never name a block that the record can lose.
        if let Some(head_marker) = &self.head_marker {
            head_marker.write(newest.number(), &newest.head.hash).map_err(AppendError::HeadMarker)?;
        }
        for Written { entry, blocks, index } in written.drain(..) {
            if entry.in_range {
                self.index.pass(blocks, entry.head.hash);
            } else {
                self.index.add(entry.head.hash, &index);
            }
            self.publish(&entry);
        }
        self.broken.store(false, Ordering::Release);
        Ok(())
    }

    /// Adds the row that names the newest block to a batch.
    fn write_head(&self, head: &Head, batch: &mut Batch) {
        write_head(head.number, &head.hash, format_of(head, self.rows.is_packed()), batch);
    }

    /// Moves the rows of up to `count` blocks below `limit` from the database to a pack, if there are enough of them.
    /// Returns whether the function has made a pack. The caller removes no block below `limit`.
    pub(crate) fn pack(&self, limit: u64, count: u64) -> Result<bool, AppendError> {
        let Some(new) = self.rows.next_pack(limit, count)? else { return Ok(false) };
        // The pack is written first, because the database must not name a pack that a power failure can lose.
        self.rows.write(&new)?;
        let written = self.begin()?;
        let last = written.last().map(|written| Arc::clone(&written.entry)).or_else(|| self.newest());
        let mut batch = Batch::default();
        new.write_row(&mut batch);
        if let Some(last) = last {
            write_head(last.number(), &last.head.hash, FORMAT, &mut batch);
        }
        // The flag stays set if the write fails, because the engine may have stored the row of the pack or not.
        self.broken.store(true, Ordering::Release);
        self.rows.db().apply(batch).and_then(|()| self.rows.db().flush()).map_err(ArchiveError::from)?;
        // The pack is published before the next block, because the row of the head depends on the existence of packs.
        self.rows.publish(&new);
        self.broken.store(false, Ordering::Release);
        drop(written);
        self.rows.remove_packed()?;
        Ok(true)
    }

    /// Returns the description of the failure that has ended packing since the record was opened, if there is one.
    pub(crate) fn pack_failure(&self) -> Option<&str> {
        self.rows.failure()
    }

    /// Ends packing until the record is opened again.
    pub(crate) fn end_packing(&self, failure: String) {
        self.rows.end_packing(failure);
    }

    /// Returns whether a write or flush has failed, or the record was shut. Such a record rejects appends.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Returns an error if a file of the database was deleted or replaced, so that the next opening would not find it.
    pub(crate) fn require_in_place(&self) -> Result<(), ArchiveError> {
        Ok(self.rows.db().require_in_place()?)
    }

    /// Rejects all later appends.
    pub(crate) fn shut(&self) {
        self.broken.store(true, Ordering::Release);
    }

    /// Locks the list of written blocks for an append. Returns an error if the record accepts no appends.
    fn begin(&self) -> Result<MutexGuard<'_, Vec<Written>>, AppendError> {
        let written = self.written.lock();
        if self.broken.load(Ordering::Acquire) {
            return Err(AppendError::Broken);
        }
        self.require_in_place()?;
        Ok(written)
    }

    /// Returns a view that includes the written blocks that are not flushed.
    pub(crate) fn view_of_written(self: &Arc<Self>) -> ArchiveView {
        let written = self.written.lock();
        let last = written.last().map(|written| Arc::clone(&written.entry));
        ArchiveView::new(Arc::clone(self), last.or_else(|| self.newest()))
    }

    /// Returns the state diff of a block, or `None` if the record has no such block or no diff of it.
    pub(crate) fn diff(&self, number: BlockNumber) -> Result<Option<Vec<u8>>, ArchiveError> {
        match self.hash_of(number)? {
            Some(hash) => self.changes.read(number, &hash).map_err(ArchiveError::Changes),
            None => Ok(None),
        }
    }

    /// Returns the length of the state diff of a block in bytes, or `None` if the record has no such block or no diff
    /// of it.
    pub(crate) fn diff_len(&self, number: BlockNumber) -> Result<Option<u64>, ArchiveError> {
        Ok(self.hash_of(number)?.and_then(|hash| self.changes.len_of(number, &hash)))
    }

    /// Stores the state diff of a block. Does nothing if the record does not have the block, or the diff is stored
    /// already.
    pub(crate) fn keep_diff(&self, number: BlockNumber, diff: &[u8]) -> Result<(), AppendError> {
        match self.hash_of(number)? {
            Some(hash) if self.changes.len_of(number, &hash).is_none() => {
                self.changes.append(number, hash, diff).map_err(AppendError::Changes)
            }
            _ => Ok(()),
        }
    }

    /// Flushes the files of state diffs, before the state contains their blocks. Returns when all stored diffs are
    /// durable. With relaxed durability, the blocks then survive the end of the process, but not a power failure.
    pub(crate) fn sync_diffs(&self) -> Result<(), ArchiveError> {
        self.rows.db().write_out()?;
        self.changes.sync().map_err(ArchiveError::Changes)
    }

    /// Makes a later revert to the newest block cheap: starts a new file for the state diffs of later blocks, and an
    /// undo log of the index.
    pub(crate) fn remember(&self) {
        self.changes.begin_file();
        self.index.remember();
    }

    /// Removes the state diffs of the blocks up to `number`.
    pub(crate) fn prune_diffs(&self, number: BlockNumber) -> Result<(), ArchiveError> {
        self.changes.prune(number).map_err(ArchiveError::Changes)
    }

    /// Returns the last of the consecutive blocks, from `number` on, that do not change the state and are in the range
    /// part of block `number`. Returns `None` if block `number` is in no empty block range, or changes the state.
    pub(crate) fn unchanged_until(&self, number: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
        Ok(self.range_at(number)?.and_then(|range| range.range.unchanged_until(number)))
    }

    /// Returns the hash of a block, or `None` if the record has no such block.
    pub(crate) fn hash_of(&self, number: BlockNumber) -> Result<Option<BlockHash>, ArchiveError> {
        if self.newest().is_none_or(|newest| newest.number() < number) {
            return Ok(None);
        }
        self.hash_at(number).map(Some)
    }

    /// Returns the number of blocks that the index covers on disk.
    #[cfg(test)]
    pub(crate) fn indexed(&self) -> u64 {
        self.index.covered().blocks
    }

    /// Writes the index entries in memory to the database of the index. A checkpoint and a clean stop call this.
    pub(crate) fn store_index(&self) -> Result<(), ArchiveError> {
        self.index.store()
    }

    /// Merges and removes segments of the index with about `budget` reads and writes. First rebuilds an index in which
    /// a read found damage. Returns whether work remains.
    pub(crate) fn tidy_index(&self, budget: u32) -> Result<bool, ArchiveError> {
        if self.index.is_damaged() {
            self.index.rebuild(self.index.covered(), |block| self.index_entries(block))?;
        }
        self.index.tidy(budget)
    }

    fn newest(&self) -> Option<Arc<Entry>> {
        self.newest.read().clone()
    }

    fn publish(&self, entry: &Arc<Entry>) {
        self.entries.put(entry.number().get(), entry);
        *self.newest.write() = Some(Arc::clone(entry));
    }

    /// Reads an entry from the database and not from the cache, so that a check finds damage on disk.
    fn read_entry(&self, number: BlockNumber) -> Result<Entry, ArchiveError> {
        Entry::decode(&Section::new(Kind::Entry, number.get()).read_framed(&self.rows)?, number)
    }

    /// Removes the rows of the block after the head. This block was never acknowledged. Returns an error if rows of
    /// later blocks exist, or if rows of blocks exist without a head.
    fn discard_after(&self, head: Option<BlockNumber>) -> Result<(), ArchiveError> {
        let mut batch = Batch::default();
        self.list_ranges_after(head, &mut batch)?;
        let newest_ds = head.map(|number| self.entry(number)).transpose()?.map(|entry| entry.head.ds_number.get());
        let newest = head.map(BlockNumber::get);
        for (kind, newest) in [(Kind::Entry, newest), (Kind::DsBlock, newest_ds)] {
            let next = newest.map_or(0, |newest| newest.saturating_add(1));
            for value in self.rows.db().scan(Section::keys_from(kind, next)) {
                let (key, _) = value?;
                if head.is_none() || Section::number_of(&key) != Some(next) {
                    return Err(ArchiveError::damaged(Place::HEAD, "the record has rows of blocks after the newest"));
                }
                batch.remove(&*key);
            }
        }
        if !batch.is_empty() {
            deployments::discard_after(self.rows.db(), head, &mut batch)?;
        }
        Ok(self.rows.db().apply(batch)?)
    }

    /// Adds the table of deployments by sender to a record of a format up to 2.
    fn add_senders(&self, head: Option<Newest>) -> Result<(), ArchiveError> {
        let mut batch = Batch::default();
        deployments::write_senders(self.rows.db(), &mut batch, |Position { block, position }| {
            let entry = self.entry(BlockNumber::new(block))?;
            let found = self.transactions(&entry, position..position.saturating_add(1))?;
            Ok(found.into_iter().next().map(|(transaction, _)| transaction))
        })?;
        if let Some((number, hash)) = head {
            write_head(number, &hash, FORMAT_WITHOUT_REPEATS, &mut batch);
        }
        Ok(self.rows.db().apply(batch)?)
    }

    /// Adds the blocks that are missing in the index. First clears the index if its newest block is not in the record.
    fn catch_up(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<(), ArchiveError> {
        let Extent { blocks: covered, newest: indexed } = self.index.covered();
        let newest = self.newest();
        let blocks = newest.as_ref().map_or(0, |entry| entry.number().get().saturating_add(1));
        let last = covered.checked_sub(1).filter(|_| covered <= blocks).map(BlockNumber::new);
        let expected = last.map(|last| self.entry(last)).transpose()?.map(|entry| entry.head.hash);
        let covered = if covered > 0 && (expected.is_none() || expected != indexed) {
            self.index.reset()?;
            0
        } else {
            covered
        };
        let mut next = covered;
        while next < blocks {
            let number = next;
            if let Some(range) = self.range_at(BlockNumber::new(number))? {
                next = range.range.last().get().saturating_add(1);
                self.index.pass(next.saturating_sub(number), range.range.last_hash());
                progress(next, blocks);
                continue;
            }
            next = next.saturating_add(1);
            let hash = self.entry(BlockNumber::new(number))?.head.hash;
            self.index.add(hash, &self.index_entries(number)?);
            if self.index.memtable_len() >= UNSTORED {
                self.index.store()?;
                while self.index.merge(u32::MAX)? {}
            }
            progress(number.saturating_add(1), blocks);
        }
        Ok(())
    }

    /// Returns the index entries of a block, computed from the record.
    fn index_entries(&self, number: u64) -> Result<Vec<hash_index::Entry>, ArchiveError> {
        if self.range_at(BlockNumber::new(number))?.is_some() {
            return Ok(Vec::new());
        }
        let entry = self.entry(BlockNumber::new(number))?;
        let transactions = self.transactions(&entry, 0..u32::MAX)?;
        let hashes = transactions.iter().map(|(transaction, _)| transaction.hash());
        index_entries(entry.number(), hashes)
            .ok_or_else(|| ArchiveError::damaged(entry.place(), "the hash index cannot store its transactions"))
    }
}

/// Number and hash of the newest block.
type Newest = (BlockNumber, BlockHash);

/// Returns the newest block and the format of the record, or `None` for an empty record.
fn read_head(db: &Db) -> Result<Option<(Newest, u64)>, OpenArchiveError> {
    let Some(value) = db.get(&HEAD).map_err(ArchiveError::from)? else { return Ok(None) };
    let payload = unseal(&HEAD, &value).ok_or_else(|| ArchiveError::damaged(Place::HEAD, "checksum is wrong"))?;
    let mut reader = Reader::new(payload);
    let format = reader.number("format").map_err(ArchiveError::malformed(Place::HEAD))?;
    if format > FORMAT {
        return Err(OpenArchiveError::Newer { got: format, supported: FORMAT });
    }
    let mut rest = || {
        let number = reader.number("number of block")?;
        let hash = reader.array("hash of block")?;
        reader.finish("head").map(|()| (BlockNumber::new(number), BlockHash::new(hash)))
    };
    Ok(Some((rest().map_err(ArchiveError::malformed(Place::HEAD))?, format)))
}

/// The newest block of a record with the format of the record, and the open head marker, with a flag. The flag is true
/// if the head marker names a block.
type Acknowledged = (Option<(Newest, u64)>, Option<(HeadMarker, bool)>);

/// Reads the newest block, and compares it with the head marker if `head_marker` is a path.
fn read_acknowledged(db: &Db, head_marker: Option<&Path>) -> Result<Acknowledged, OpenArchiveError> {
    let newest = read_head(db)?;
    let head = newest.map(|(head, _)| head);
    let opened = head_marker.map(|path| {
        HeadMarker::open(path).map_err(|source| OpenArchiveError::HeadMarker { path: path.to_owned(), source })
    });
    let opened = opened.transpose()?;
    if let Some((_, Some((number, expected)))) = opened {
        match head {
            Some((at, got)) if at == number && got != expected => {
                return Err(OpenArchiveError::OtherBlock { number, expected, got });
            }
            Some((at, _)) if at >= number => {}
            _ => return Err(OpenArchiveError::LostBlocks { witnessed: number, head: head.map(|(at, _)| at) }),
        }
    }
    Ok((newest, opened.map(|(head_marker, witnessed)| (head_marker, witnessed.is_some()))))
}

/// Removes the state diffs from a record of format 1. The caller executes the blocks again.
fn remove_changes(db: &Db) -> Result<(), ArchiveError> {
    let mut batch = Batch::default();
    for table in TABLES_OF_CHANGES {
        for value in db.scan(vec![table]..vec![table.saturating_add(1)]) {
            batch.remove(&*value?.0);
        }
    }
    Ok(db.apply(batch)?)
}

/// Returns the lowest format that can hold the blocks up to `head`, with or without packs.
const fn format_of(head: &Head, is_packed: bool) -> u64 {
    match head.totals.repeats {
        _ if is_packed => FORMAT,
        0 => FORMAT_WITHOUT_REPEATS,
        _ => FORMAT_WITHOUT_PACKS,
    }
}

fn write_head(number: BlockNumber, hash: &BlockHash, format: u64, batch: &mut Batch) {
    let mut out = Writer::new();
    out.number(format);
    out.number(number.get());
    out.raw(hash.as_bytes());
    batch.insert(HEAD, seal(&HEAD, out.as_slice()));
}
