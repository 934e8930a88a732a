//! Publication of blocks to readers, and the checkpoints that follow from it.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use super::{Store, Writer};
use crate::{
    error::{CloseError, StateError},
    snapshot::Snapshot,
    window::Window,
};

/// Checkpoints that the writer may be ahead by, in bytes of changes, before each block waits a little for the one that is
/// being written.
const RUN_AHEAD: u64 = 4;
/// How long a block waits then, at most.
const BRAKE: Duration = Duration::from_millis(200);
/// Checkpoints, likewise, before a block waits for the end of the one that is being written.
const FAR_AHEAD: u64 = 32;

impl Store {
    pub(super) fn publish(&self, writer: &mut Writer, snapshot: &Snapshot) {
        let window = snapshot.window();
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = snapshot.clone();
        self.core.older.release(window.oldest());
        writer.backlog.release(self.core.records.durable());
        if self.is_too_much(writer) {
            self.databases.holds.give_up();
        }
        if !self.is_due(writer) || self.databases.holds.are_heeded() {
            return;
        }
        self.checkpointer.request(window.newest(), || self.may_checkpoint(window));
        // The databases grow.
        self.extend_reserve();
        // The changes since the newest checkpoint are held in memory: the writer must not run away. Nor should one block
        // wait for all the work that others have made.
        let pending = writer.backlog.pending().bytes;
        let is_ahead = |checkpoints| pending > self.options.checkpoint_bytes.saturating_mul(checkpoints);
        if is_ahead(FAR_AHEAD) {
            self.checkpointer.wait();
        } else if is_ahead(RUN_AHEAD) {
            self.checkpointer.wait_briefly(BRAKE);
        }
        writer.backlog.release(self.core.records.durable());
    }

    /// Whether enough has changed since the newest checkpoint for another.
    fn is_due(&self, writer: &Writer) -> bool {
        let pending = writer.backlog.pending();
        pending.bytes >= self.options.checkpoint_bytes || pending.blocks >= self.options.checkpoint_blocks
    }

    /// Whether another checkpoint may be written: it takes from the window what is older than the newest one. To be asked
    /// while none is being written.
    pub(super) fn may_checkpoint(&self, window: &Window) -> bool {
        let durable = self.core.records.durable();
        durable == 0 || durable <= window.oldest()
    }

    /// Writes what is not on disk yet, as far as the window allows, so that the next opening is quick, and closes.
    ///
    /// # Errors
    ///
    /// [`CloseError`] when the state could not be written; the blocks are whole nevertheless.
    pub fn close(self) -> Result<(), CloseError> {
        let snapshot = self.snapshot();
        self.checkpointer.wait();
        if let Some(failure) = self.checkpointer.failure() {
            return Err(CloseError(failure));
        }
        let window = snapshot.window();
        let behind = self.core.records.durable() < window.newest().version;
        let written = if behind && self.may_checkpoint(window) {
            self.checkpointer.write_now(window.newest())
        } else {
            let stored = self.core.archive.sync_diffs().and_then(|()| self.core.archive.store_index());
            stored.map_err(StateError::from)
        };
        written.map_err(|error| CloseError(Arc::new(error)))
    }
}
