//! Publication of blocks to readers, and the checkpoints that follow from it.

use std::{sync::Arc, time::Duration};

use super::{Store, Writer};
use crate::{
    error::{CloseError, StateError},
    snapshot::Snapshot,
    window::Window,
};

/// Number of checkpoints, in bytes of changes, that the writer may be ahead before each block waits briefly for the
/// checkpoint that is being written.
const RUN_AHEAD: u64 = 4;
/// The longest wait of a block in that case.
const BRAKE: Duration = Duration::from_millis(200);
/// The same number before a block waits until the checkpoint is written.
const FAR_AHEAD: u64 = 32;

impl Store {
    pub(super) fn publish(&self, writer: &mut Writer, snapshot: &Snapshot) {
        let window = snapshot.window();
        *self.published.write() = snapshot.clone();
        self.core.older.release(window.oldest());
        writer.backlog.release(self.core.pages.durable());
        if self.is_too_much(writer) {
            self.databases.savepoints.give_up();
        }
        if !self.is_due(writer) || self.databases.savepoints.are_heeded() {
            return;
        }
        self.checkpointer.request(window.newest(), || self.may_checkpoint(window));
        // The databases grow.
        self.extend_reserve();
        // The changes since the newest checkpoint are in memory, so the writer must not get far ahead. One block should
        // not wait for the work of all blocks before it either.
        let pending = writer.backlog.pending().bytes;
        let is_ahead = |checkpoints| pending > self.options.checkpoint_bytes.saturating_mul(checkpoints);
        if is_ahead(FAR_AHEAD) {
            self.checkpointer.wait();
        } else if is_ahead(RUN_AHEAD) {
            self.checkpointer.wait_briefly(BRAKE);
        }
        writer.backlog.release(self.core.pages.durable());
    }

    /// Returns whether enough has changed since the newest checkpoint to write another one.
    fn is_due(&self, writer: &Writer) -> bool {
        let pending = writer.backlog.pending();
        pending.bytes >= self.options.checkpoint_bytes || pending.blocks >= self.options.checkpoint_blocks
    }

    /// Returns whether another checkpoint may be written: it removes the states before the newest checkpoint from the
    /// window. No checkpoint may be in progress during the call.
    pub(super) fn may_checkpoint(&self, window: &Window) -> bool {
        let durable = self.core.pages.durable();
        durable == 0 || durable <= window.oldest()
    }

    /// Writes the changes that are not on disk yet, as far as the window allows, and closes the store. This makes the
    /// next opening fast.
    ///
    /// # Errors
    ///
    /// [`CloseError`] if the state could not be written. The blocks are complete nevertheless.
    pub fn close(self) -> Result<(), CloseError> {
        let snapshot = self.snapshot();
        self.checkpointer.wait();
        if let Some(failure) = self.checkpointer.failure() {
            return Err(CloseError(failure));
        }
        let window = snapshot.window();
        let behind = self.core.pages.durable() < window.newest().version;
        let written = if behind && self.may_checkpoint(window) {
            self.checkpointer.write_now(window.newest())
        } else {
            let stored = self.core.archive.sync_diffs().and_then(|()| self.core.archive.store_index());
            stored.map_err(StateError::from)
        };
        written.map_err(|error| CloseError(Arc::new(error)))
    }
}
