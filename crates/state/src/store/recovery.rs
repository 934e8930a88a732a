//! Recovers a store after a failed write.

use std::io;

use silica_protocol::{BlockHash, BlockNumber};

use super::{
    Databases, Store,
    open::{Opening, open_archive},
};
use crate::{
    db::{DbError, Durability},
    error::{RecoverError, StateError},
    snapshot::Snapshot,
};

impl Store {
    /// Recovers the store after a failed write or flush, for example on a full disk. `number` and `hash` name the
    /// newest flushed block. The store discards all later writes, and accepts blocks again. Returns a snapshot of the
    /// chain at this block.
    ///
    /// The engines stay open if this block is the newest block, all blocks are flushed, and the store accepts blocks.
    /// Otherwise the function closes and reopens the engines, because they accept no writes after a failure. One batch
    /// removes later blocks from the record. Then the store opens as after a crash, so its state may need a replay.
    /// Older snapshots return data from memory. For all other queries they return
    /// [`DbError::Retired`](crate::DbError::Retired). [Savepoints](Store::savepoint) stay valid.
    ///
    /// # Errors
    ///
    /// [`RecoverError`]: the store has not recovered, and the caller may retry. After [`RecoverError::NoRoom`] and
    /// errors that only another process can repair, reads work as before this attempt. After other errors, reads may
    /// fail.
    pub fn recover(&mut self, number: BlockNumber, hash: &BlockHash) -> Result<Snapshot, RecoverError> {
        // If the files were replaced, reopening would open other data.
        self.databases.record.require_in_place()?;
        self.databases.layout.require_room()?;
        let newest = self.core.archive.head().ok_or(RecoverError::Lost { number })?;
        let is_newest = newest.number == number && newest.hash == *hash;
        if newest.number < number || (newest.number == number && !is_newest) {
            // A revert removed the block, and a later step of the caller failed.
            return Err(RecoverError::Lost { number });
        }
        if is_newest && !self.has_failed() {
            self.lacks_room = false;
            self.extend_reserve();
            return Ok(self.snapshot());
        }
        self.require_no_damage()?;
        // From here on, only reopening makes the store usable again.
        self.checkpointer.stop();
        self.core.archive.shut();
        self.databases.state.retire();
        self.databases.record.retire();
        // The engines write when they open, and the reserve can be the only free disk space.
        let Databases { record, state, layout, .. } = &self.databases;
        let _: io::Result<bool> = layout.release_reserve();
        let reopened = record.reopen().and_then(|()| state.reopen());
        reopened.inspect_err(|_| drop(layout.take_rest()))?;
        self.databases.renewed().remove_after(number, hash)?;
        let databases = self.databases.renewed();
        let opened =
            Self::open_databases(databases, self.options, None, &mut |_, _| {}).map_err(Opening::into_error)?;
        self.lacks_room = false;
        let snapshot = self.become_as(opened);
        self.extend_reserve();
        Ok(snapshot)
    }

    /// Returns whether opening found no disk space and used the reserve. The caller must not make blocks before a
    /// successful [`Store::recover`], which checks the disk space again.
    pub const fn lacks_room(&self) -> bool {
        self.lacks_room
    }

    /// Reserves disk space for the next opening, if the durability is [`Durability::Flush`]. A failure is ignored,
    /// because only an opening on a full disk needs the reserve.
    pub(super) fn extend_reserve(&self) {
        if self.options.durability == Durability::Flush {
            let _: io::Result<()> = self.databases.layout.extend_reserve();
        }
    }

    /// Returns an error for failures that only another process can repair: a panic of an engine, or a damaged state.
    /// Reads continue to work.
    fn require_no_damage(&self) -> Result<(), RecoverError> {
        if self.databases.record.is_broken() || self.databases.state.is_broken() {
            return Err(RecoverError::Db(DbError::Broken));
        }
        match self.checkpointer.failure() {
            Some(failure) if failure.is_damage() || matches!(*failure, StateError::CheckpointPanicked) => {
                Err(RecoverError::Damaged(failure))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns whether the store rejects blocks, or has blocks that are written but not flushed.
    fn has_failed(&mut self) -> bool {
        let writer = self.writer.get_mut();
        writer.written.is_some() || self.core.archive.is_broken() || self.checkpointer.failure().is_some()
    }
}

impl Databases {
    /// Removes the blocks after a block from the record.
    fn remove_after(&self, number: BlockNumber, hash: &BlockHash) -> Result<(), RecoverError> {
        let Self { record, changes, state, layout, savepoints: _, index: _ } = self;
        let archive = open_archive((record, changes), state, layout.head_marker.as_deref(), &mut |_, _| {});
        let archive = archive.map_err(Opening::into_error)?;
        let removal = archive.blocks_after(number, hash)?.ok_or(RecoverError::Lost { number })?;
        archive.remove(removal).map_err(RecoverError::Append)?;
        Ok(())
    }
}
