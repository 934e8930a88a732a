//! Reverts the record to an earlier block.
//!
//! One batch removes the later blocks and names the new head, so a crash leaves either the old head or the new one. The
//! head marker is written before that, because a record that is ahead of it is valid.

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
    format_of,
    hash_index::Extent,
    ranges::Ranges,
    section::{Kind, Section},
    write_head,
};
use crate::db::{Batch, Db};

/// What makes an earlier block the newest again.
#[derive(Debug)]
pub(crate) struct Removal {
    /// That block.
    entry: Arc<Entry>,
    batch: Batch,
}

/// An earlier block that is the newest again.
#[derive(Debug)]
pub(crate) struct Removed(Arc<Entry>);

impl Removed {
    /// The newest block.
    pub(crate) fn head(&self) -> &Head {
        &self.0.head
    }
}

impl Archive {
    /// Lists what is to be removed for a block to be the newest again; `None` when the record has no such block, or has
    /// it in the middle of a run.
    pub(crate) fn blocks_after(&self, number: BlockNumber, hash: &BlockHash) -> Result<Option<Removal>, ArchiveError> {
        if self.newest().is_none_or(|newest| newest.number() < number) {
            return Ok(None);
        }
        let entry = self.entry(number)?;
        let range = self.range_at(number)?;
        if entry.head.hash != *hash || range.is_some_and(|range| range.range.last() != number) {
            return Ok(None);
        }
        let mut batch = Batch::default();
        let (next, next_ds) = (number.get().saturating_add(1), entry.head.ds_number.get().saturating_add(1));
        for (kind, next) in [(Kind::Entry, next), (Kind::DsBlock, next_ds), (Kind::Run, next)] {
            for value in self.db.scan(Section::keys_from(kind, next)) {
                batch.remove(&*value?.0);
            }
        }
        self.list_ds_blocks_after(next, &mut batch)?;
        self.list_deployments_after(number, &mut batch)?;
        write_head(number, hash, format_of(&entry.head), &mut batch);
        Ok(Some(Removal { entry, batch }))
    }

    /// Lists for removal where contracts were deployed after a block. No other contracts are looked at.
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

    /// Removes blocks, and returns when that is durable. Nothing can be read here any more, or written, whether it
    /// succeeds or not: it [goes on](Self::back_at), or the record is opened again, by another handle.
    pub(crate) fn remove(&self, removal: Removal) -> Result<Removed, AppendError> {
        let Removal { entry, batch } = removal;
        let written = self.begin()?;
        self.broken.store(true, Ordering::Release);
        if let Some(head_marker) = &self.head_marker {
            head_marker.go_back(entry.number(), &entry.head.hash).map_err(AppendError::HeadMarker)?;
        }
        let db = self.db.renewed();
        self.db.retire();
        db.apply(batch).and_then(|()| db.flush()).map_err(ArchiveError::from)?;
        drop(written);
        Ok(Removed(entry))
    }

    /// Returns the record after a removal of blocks, over handles of its own, as opening would find it. Returns `None`
    /// if the undo log of the index does not go back that far; then the caller must open the record.
    pub(crate) fn back_at(&self, removed: &Removed, db: Db, index_db: Db) -> Result<Option<Self>, ArchiveError> {
        let (number, hash) = (removed.0.number(), removed.0.head.hash);
        let extent = Extent { blocks: number.get().saturating_add(1), newest: Some(hash) };
        let Some(index) = self.index.back_at(extent, index_db) else { return Ok(None) };
        self.changes.go_back(number).map_err(ArchiveError::Changes)?;
        let archive = Self {
            db,
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
