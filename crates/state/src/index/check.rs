//! Compares the index with the record.

use silica_protocol::{BlockNumber, sha256};

use super::{HistoryIndex, blocks::read_blocks, damaged, manifest, newest_of, page::Entry, run::Cursor};
use crate::{
    archive::{ArchiveError, ArchiveView},
    db::Db,
};

/// The count and the sum of entries. The sum does not depend on their order.
#[derive(Debug, Default, PartialEq, Eq)]
struct EntrySum {
    entries: u64,
    hashes: u128,
}

impl EntrySum {
    fn add(&mut self, (key, kinds): Entry) {
        let hash = sha256(&[&key.to_bytes(), &[kinds]]);
        let (half, _) = hash.split_first_chunk().unwrap_or((&[0; 16], &[]));
        self.entries = self.entries.saturating_add(1);
        self.hashes = self.hashes.wrapping_add(u128::from_be_bytes(*half));
    }
}

/// Compares the stored index with the entries that the record gives. Returns the number of entries. Returns 0 if no index
/// is stored, or the newest block of the index is not in the record, because the node then makes the index again.
pub(crate) fn check(db: &Db, view: &ArchiveView) -> Result<u64, ArchiveError> {
    let Some(kinds) = manifest::kinds(db)? else { return Ok(0) };
    let Some(manifest) = manifest::read(db, kinds)? else { return Ok(0) };
    match newest_of(&manifest.stored) {
        Some((number, hash)) if view.hash_of(number)? == Some(hash) => {}
        _ => return Ok(0),
    }
    let (mut stored, mut expected) = (EntrySum::default(), EntrySum::default());
    for run in &manifest.runs {
        let mut cursor = Cursor::new(db, *run)?;
        while let Some(entry) = cursor.peek(db)? {
            cursor.skip();
            stored.add(entry);
        }
    }
    let mut next = BlockNumber::new(0);
    while next.get() < manifest.stored.blocks {
        let Some(blocks) = read_blocks(view, kinds, next, manifest.stored.blocks)? else { break };
        for entry in blocks.entries {
            expected.add(entry);
        }
        next = BlockNumber::new(blocks.last.get().saturating_add(1));
    }
    if stored == expected {
        return Ok(stored.entries);
    }
    let EntrySum { entries, .. } = expected;
    Err(damaged(format!(
        "expected the {entries} entries of the record, got {} entries, or other entries",
        stored.entries
    )))
}

impl HistoryIndex {
    /// Compares the stored index with the record. Returns the number of entries.
    pub(crate) fn check(&self, view: &ArchiveView) -> Result<u64, ArchiveError> {
        // No run may change during the check.
        let _upkeep = self.upkeep.lock();
        self.state().db.as_ref().map_or(Ok(0), |db| check(db, view))
    }
}
