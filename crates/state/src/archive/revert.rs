//! Reverts the record to an earlier block.
//!
//! One batch removes the later blocks and writes the new head, so a crash leaves either the old head or the new one.
//! The head marker is written before the batch, because a record can be ahead of its marker, but not behind.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::{Mutex, RwLock};
use silica_protocol::{BlockHash, BlockNumber};

use super::{
    Archive, DS_BLOCKS, ENTRIES,
    cache::Cache,
    deployments,
    entry::{Entry, Head},
    error::{AppendError, ArchiveError},
    hash_index::Extent,
    ranges::Ranges,
    section::{Kind, Section},
};
use crate::db::{Batch, Db};

/// The removal of all blocks after an earlier block.
#[derive(Debug)]
pub(crate) struct Removal {
    /// The earlier block.
    entry: Arc<Entry>,
    batch: Batch,
}

/// The block that is the newest block after a revert.
#[derive(Debug)]
pub(crate) struct Removed(Arc<Entry>);

impl Removed {
    /// Returns the newest block.
    pub(crate) fn head(&self) -> &Head {
        &self.0.head
    }
}

impl Archive {
    /// Prepares the batch that makes a block the newest block again. Returns `None` if the record has no block with
    /// this number and hash. Also returns `None` if an empty block range continues after the block, or if a later block
    /// is in a pack.
    pub(crate) fn blocks_after(&self, number: BlockNumber, hash: &BlockHash) -> Result<Option<Removal>, ArchiveError> {
        if self.newest().is_none_or(|newest| newest.number() < number) {
            return Ok(None);
        }
        let entry = self.entry(number)?;
        let range = self.range_at(number)?;
        // The blocks of packs stay: the newest checkpoint has their states, and it is before each savepoint.
        let is_packed = self.rows.newest_packed().is_some_and(|newest| number.get() < newest);
        if is_packed || entry.head.hash != *hash || range.is_some_and(|range| range.range.last() != number) {
            return Ok(None);
        }
        let mut batch = Batch::default();
        let (next, next_ds) = (number.get().saturating_add(1), entry.head.ds_number.get().saturating_add(1));
        for (kind, next) in [(Kind::Entry, next), (Kind::DsBlock, next_ds), (Kind::Run, next)] {
            for value in self.rows.db().scan(Section::keys_from(kind, next)) {
                batch.remove(&*value?.0);
            }
        }
        self.list_ds_blocks_after(next, &mut batch)?;
        self.list_deployments_after(number, &mut batch)?;
        Ok(Some(Removal { entry, batch }))
    }

    /// Adds the removal of all deployments after a block to `batch`. Reads only blocks with transactions after this
    /// block.
    fn list_deployments_after(&self, number: BlockNumber, batch: &mut Batch) -> Result<(), ArchiveError> {
        let mut last = self.newest().and_then(|newest| newest.newest_with_transactions);
        while let Some(block) = last.filter(|block| *block > number) {
            let entry = self.entry(block)?;
            deployments::discard(block, &self.transactions(&entry, 0..u32::MAX)?, batch);
            last = match block.previous() {
                Some(before) => self.newest_with_transactions_at(before)?,
                None => None,
            };
        }
        Ok(())
    }

    /// Removes the later blocks, and returns when the removal is durable. After the call, `self` rejects writes. After
    /// the handle is retired, reads fail too, even if the removal fails. [`Archive::back_at`] continues with the
    /// record, or the caller opens it again.
    pub(crate) fn remove(&self, removal: Removal) -> Result<Removed, AppendError> {
        let Removal { entry, mut batch } = removal;
        let written = self.begin()?;
        self.write_head(&entry.head, &mut batch);
        self.broken.store(true, Ordering::Release);
        if let Some(head_marker) = &self.head_marker {
            head_marker.go_back(entry.number(), &entry.head.hash).map_err(AppendError::HeadMarker)?;
        }
        let db = self.rows.db().renewed();
        // The old handle is retired before the removal, because its readers must get an error, and not the absence of a
        // removed block.
        self.rows.db().retire();
        db.apply(batch).and_then(|()| db.flush()).map_err(ArchiveError::from)?;
        drop(written);
        Ok(Removed(entry))
    }

    /// Returns the record after a removal of blocks, equal to the result of opening, with the handles `db` and
    /// `index_db`. Returns `None` if the undo log of the index does not reach back to the block. Then the caller must
    /// open the record.
    pub(crate) fn back_at(&self, removed: &Removed, db: Db, index_db: Db) -> Result<Option<Self>, ArchiveError> {
        let (number, hash) = (removed.0.number(), removed.0.head.hash);
        let extent = Extent { blocks: number.get().saturating_add(1), newest: Some(hash) };
        let Some(index) = self.index.back_at(extent, index_db) else { return Ok(None) };
        self.changes.go_back(number).map_err(ArchiveError::Changes)?;
        let archive = Self {
            rows: self.rows.with(db),
            head_marker: self.head_marker.clone(),
            changes: Arc::clone(&self.changes),
            newest: RwLock::new(None),
            written: Mutex::default(),
            broken: AtomicBool::new(false),
            entries: Cache::new(ENTRIES),
            ds_blocks: Cache::new(DS_BLOCKS),
            ranges: Ranges::like(&self.ranges),
            sealed: Cache::new(ENTRIES),
            index,
        };
        archive.publish(&removed.0);
        Ok(Some(archive))
    }
}
