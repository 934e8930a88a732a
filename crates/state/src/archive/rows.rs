//! Export and import of a record as rows.
//!
//! The export returns the rows of all blocks up to the newest, and the label, in the order of their keys. Each row is
//! unchanged: its key, its value and the checksum over both. The import writes the row that names the newest block
//! last.

use std::path::Path;

use silica_protocol::{BlockHash, BlockNumber};

use super::{
    FORMAT, deployments,
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

/// The tables of blocks, behind which the label stands.
const FIRST_TABLE: u8 = 0x10;
const AFTER_TABLES: u8 = 0x17;
const AFTER_LABEL: u8 = 0x18;
/// Bytes of rows that are written together.
const TOGETHER: usize = 1 << 20;
/// Bound of the engine's cache where rows arrive.
const CACHE: u64 = 8 << 20;

/// A row of the record of blocks: its key, and its value with the seal over both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRow {
    key: Value,
    value: Value,
}

impl RecordRow {
    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value.
    pub fn value(&self) -> &[u8] {
        &self.value
    }
}

impl ArchiveView {
    /// Returns the rows of all blocks up to the newest, in the order of their keys. There are none before genesis.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Result<RecordRow, ArchiveError>> + use<> {
        let head = self.head().cloned();
        self.scan_record(vec![FIRST_TABLE]..vec![AFTER_LABEL]).filter_map(move |row| {
            let of_blocks = |row: RecordRow| Ok(is_of_blocks(&row, head.as_ref())?.then_some(row));
            row.map(|(key, value)| RecordRow { key, value }).map_err(ArchiveError::from).and_then(of_blocks).transpose()
        })
    }
}

/// Whether a row belongs to the blocks up to a head; those of later ones may be there already.
fn is_of_blocks(row: &RecordRow, head: Option<&Head>) -> Result<bool, ArchiveError> {
    let Some(head) = head else { return Ok(false) };
    let RecordRow { key, value } = row;
    if unseal(key, value).is_none() {
        return Err(ArchiveError::damaged(Place::KEYS, format!("checksum is wrong of {:02x?}", &**key)));
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
/// The directory is a store when [`RecordImport::finish`] has returned. It contains only blocks, so opening the store
/// computes the state. The import does not verify that the rows form a chain: open the store and
/// [check](crate::Store::check) it.
#[derive(Debug)]
pub struct RecordImport {
    db: Db,
    batch: Batch,
    bytes: usize,
}

impl RecordImport {
    /// Begins a store in an empty directory.
    ///
    /// # Errors
    ///
    /// [`DbError`] when it cannot be written.
    pub fn create(dir: &Path) -> Result<Self, DbError> {
        let options = DbOptions { cache_bytes: CACHE, durability: Durability::Flush };
        let db = Db::open(&record_path(dir), options)?;
        Ok(Self { db, batch: Batch::default(), bytes: 0 })
    }

    /// Adds a row, and returns whether it may be one of a record of blocks. Otherwise nothing is done.
    ///
    /// # Errors
    ///
    /// As [`RecordImport::create`].
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

    /// Writes the row that names the newest block, and returns when all rows are durable.
    ///
    /// # Errors
    ///
    /// As [`RecordImport::create`].
    pub fn finish(self, number: BlockNumber, hash: &BlockHash) -> Result<(), DbError> {
        let Self { db, mut batch, .. } = self;
        // The rows may need it. The next block writes the format that the record needs.
        write_head(number, hash, FORMAT, &mut batch);
        db.apply(batch)?;
        db.flush()
    }
}
