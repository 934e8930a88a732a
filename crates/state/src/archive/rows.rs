//! Export and import of a record as rows.
//!
//! The export returns the label and the rows of all blocks up to the newest, in the order of their keys. A row has the
//! bytes on disk: its key, its value, and the checksum over both. The import writes the row of the head last, so an
//! interrupted import leaves no valid record.

use std::path::Path;

use silica_protocol::{BlockHash, BlockNumber};

use super::{
    FORMAT_WITHOUT_PACKS, deployments,
    entry::Head,
    error::ArchiveError,
    label, ranges,
    section::{Kind, Place, Section},
    view::ArchiveView,
    write_head,
};
use crate::{
    codec::unseal,
    db::{Batch, Db, DbError, DbOptions, Durability, Value},
    layout::record_path,
};

/// First table of blocks. The table of the label follows the tables of blocks.
const FIRST_TABLE: u8 = 0x10;
/// Table of the label, the first table that has no blocks.
const AFTER_TABLES: u8 = 0x17;
/// The table after the label. An export ends before this table.
const AFTER_LABEL: u8 = 0x18;
/// Bytes of rows above which the import writes a batch.
const TOGETHER: usize = 1 << 20;
/// Cache of the engine during an import, in bytes.
const CACHE: u64 = 8 << 20;

/// A row of the record: its key, and its value with the checksum over both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRow {
    key: Value,
    value: Value,
}

impl RecordRow {
    /// Returns the key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the value, which ends with its checksum.
    pub fn value(&self) -> &[u8] {
        &self.value
    }
}

impl ArchiveView {
    /// Returns the label and the rows of all blocks up to the newest, in the order of their keys. Returns no rows
    /// before genesis.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Result<RecordRow, ArchiveError>> + use<> {
        let head = self.head().cloned();
        // The table of the packed rows is the first table.
        let (hold, packed) = self.packed_rows();
        let others = self.scan_record(self.first_key_after_packs()..vec![AFTER_LABEL]).map(|row| Ok(row?));
        let mut has_failed = false;
        // A caller that continues after an error must not get the rows after it.
        let until_error = packed.chain(others).take_while(move |row| {
            let is_after_error = has_failed;
            has_failed = row.is_err();
            !is_after_error
        });
        until_error.filter_map(move |row| {
            let _hold = &hold;
            let of_blocks = |row: RecordRow| Ok(is_of_blocks(&row, head.as_ref())?.then_some(row));
            row.map(|(key, value)| RecordRow { key, value }).and_then(of_blocks).transpose()
        })
    }
}

/// Returns whether a row belongs to the blocks up to the head. Rows of later blocks can exist already.
fn is_of_blocks(row: &RecordRow, head: Option<&Head>) -> Result<bool, ArchiveError> {
    let Some(head) = head else { return Ok(false) };
    let RecordRow { key, value } = row;
    if unseal(key, value).is_none() {
        return Err(ArchiveError::damaged(Place::KEYS, format!("checksum of key {:02x?} is wrong", &**key)));
    }
    if label::is_label(key) {
        return Ok(true);
    }
    let number = Section::number_of(key);
    Ok(match Kind::of_key(key) {
        Some(Kind::DsBlock) => number.is_some_and(|number| number <= head.ds_number.get()),
        Some(_) => number.is_some_and(|number| number <= head.number.get()),
        None => match deployments::block_of_row(key, value)? {
            Some(block) => block <= head.number.get(),
            None => ranges::read_place(key, value)? <= head.number,
        },
    })
}

/// The import of a record from rows.
///
/// After [`RecordImport::finish`], the directory is a store. It contains the blocks and the label, but no state, so the
/// opened store [needs a replay](crate::OpenOutcome::NeedsReplay). The import does not verify that the rows form a
/// chain. Open the store and [check](crate::Store::check) it.
#[derive(Debug)]
pub struct RecordImport {
    db: Db,
    batch: Batch,
    bytes: usize,
}

impl RecordImport {
    /// Creates a store in an empty directory.
    ///
    /// # Errors
    ///
    /// [`DbError`]: the database cannot be created.
    pub fn create(dir: &Path) -> Result<Self, DbError> {
        let options = DbOptions { cache_bytes: CACHE, durability: Durability::Flush };
        let db = Db::open(&record_path(dir), options)?;
        Ok(Self { db, batch: Batch::default(), bytes: 0 })
    }

    /// Adds a row. Returns `false` and does nothing if the checksum is wrong, or if the key belongs neither to a table
    /// of blocks nor to the label.
    ///
    /// # Errors
    ///
    /// [`DbError`]: the database cannot be written.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<bool, DbError> {
        let is_table = key.first().is_some_and(|table| (FIRST_TABLE..AFTER_TABLES).contains(table));
        if !(is_table || label::is_label(key)) || unseal(key, value).is_none() {
            return Ok(false);
        }
        self.batch.insert(key, value);
        self.bytes = self.bytes.saturating_add(key.len()).saturating_add(value.len());
        if self.bytes > TOGETHER {
            self.bytes = 0;
            self.db.apply(std::mem::take(&mut self.batch))?;
        }
        Ok(true)
    }

    /// Writes the row of the head, and returns when all rows are durable.
    ///
    /// # Errors
    ///
    /// [`DbError`]: the database cannot be written or flushed.
    pub fn finish(self, number: BlockNumber, hash: &BlockHash) -> Result<(), DbError> {
        let Self { db, mut batch, .. } = self;
        // Rows with repeats need this format. The next block writes the format that the record needs.
        write_head(number, hash, FORMAT_WITHOUT_PACKS, &mut batch);
        db.apply(batch)?;
        db.flush()
    }
}
