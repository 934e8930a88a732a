//! Compares the index with the record.

use silica_protocol::{Address, BlockHash, BlockNumber, sha256};

use super::{
    BlockEntries, HistoryIndex, State, damaged,
    entry::{IndexKinds, IndexPosition, Value},
    manifest::{self, Manifest},
    newest_of,
    page::Entry,
    run::Cursor,
};
use crate::{archive::ArchiveError, db::Db};

/// The count and the sum of entries. The sum does not depend on their order.
#[derive(Debug, Default, PartialEq, Eq)]
struct EntrySum {
    entries: u64,
    hashes: u128,
}

impl EntrySum {
    fn add(&mut self, (key, Value { kinds, change }): Entry) {
        let hash = sha256(&[&key.to_bytes(), &[kinds], &change.to_be_bytes()]);
        let (half, _) = hash.split_first_chunk().unwrap_or((&[0; 16], &[]));
        self.entries = self.entries.saturating_add(1);
        self.hashes = self.hashes.wrapping_add(u128::from_be_bytes(*half));
    }
}

/// A function that reads the entries of the blocks from a number on, and below another number. The last argument
/// returns the sum of the changes of the balance of an address before these blocks.
pub(crate) type ReadEntries<'a> =
    &'a mut dyn FnMut(IndexKinds, BlockNumber, u64, &SumBefore<'_>) -> Result<Option<BlockEntries>, ArchiveError>;

/// A function that returns the sum of the changes of the balance of an address before some block, modulo 2^128.
pub(crate) type SumBefore<'a> = dyn Fn(&Address) -> Result<u128, ArchiveError> + 'a;

/// Compares the stored entries of the blocks from `first` on with the entries of the record, which `read` returns.
/// Returns the number of all stored entries. Returns 0 if no index is stored, or the newest block of the index is not
/// in the record, because the node then makes the index again.
pub(crate) fn check(
    db: &Db,
    first: BlockNumber,
    hash_of: impl Fn(BlockNumber) -> Result<Option<BlockHash>, ArchiveError>,
    read: ReadEntries<'_>,
) -> Result<u64, ArchiveError> {
    let Some(kinds) = manifest::kinds(db)? else { return Ok(0) };
    let Some(Manifest { stored: extent, runs, .. }) = manifest::read(db, kinds)? else { return Ok(0) };
    match newest_of(&extent) {
        Some((number, hash)) if hash_of(number)? == Some(hash) => {}
        _ => return Ok(0),
    }
    let (mut all, mut stored, mut expected) = (0_u64, EntrySum::default(), EntrySum::default());
    for run in &runs {
        let mut cursor = Cursor::new(db, *run)?;
        while let Some(entry) = cursor.peek(db)? {
            cursor.skip();
            all = all.saturating_add(1);
            if entry.0.block() >= first.get() {
                stored.add(entry);
            }
        }
    }
    let state = State { db: Some(db.clone()), runs, ..State::default() };
    let mut next = first;
    while next.get() < extent.blocks {
        // If the entries of all blocks before `next` are correct, the sums of these entries are correct too.
        let before = next.previous().map(|block| IndexPosition { block, position: u32::MAX }.place());
        let sum_before = |address: &Address| before.map_or(Ok(0), |place| state.sum(address, place));
        let Some(blocks) = read(kinds, next, extent.blocks, &sum_before)? else { break };
        for entry in blocks.entries.0 {
            expected.add(entry);
        }
        next = BlockNumber::new(blocks.last.get().saturating_add(1));
    }
    if stored == expected {
        return Ok(all);
    }
    let EntrySum { entries, .. } = expected;
    Err(damaged(format!(
        "expected the {entries} entries of the record, got {} entries that differ from them",
        stored.entries
    )))
}

impl HistoryIndex {
    /// Compares the stored entries of the blocks from `first` on with the record. Returns the number of all entries.
    pub(crate) fn check(
        &self,
        first: BlockNumber,
        hash_of: impl Fn(BlockNumber) -> Result<Option<BlockHash>, ArchiveError>,
        read: ReadEntries<'_>,
    ) -> Result<u64, ArchiveError> {
        // No run may change during the check.
        let _upkeep = self.upkeep.lock();
        self.state().db.as_ref().map_or(Ok(0), |db| check(db, first, hash_of, read))
    }
}
