//! Publishes blocks to readers, and starts checkpoints.

use std::{sync::Arc, time::Duration};

use super::{Store, Writer};
use crate::{
    error::{CloseError, StateError},
    snapshot::Snapshot,
    window::Window,
};

/// If the changes since the newest checkpoint exceed this multiple of
/// [`StoreOptions::checkpoint_bytes`](super::StoreOptions), each block waits for at most [`BRAKE`].
const RUN_AHEAD: u64 = 2;
/// Maximum wait of a block above [`RUN_AHEAD`].
const BRAKE: Duration = Duration::from_millis(200);
/// If the changes exceed this multiple of [`StoreOptions::checkpoint_bytes`](super::StoreOptions), a block waits until
/// the checkpoint is written.
const FAR_AHEAD: u64 = 32;

impl Store {
    pub(super) fn publish(&self, writer: &mut Writer, snapshot: &Snapshot) {
        let window = snapshot.window();
        *self.published.write() = snapshot.clone();
        if let Some(indexer) = &self.indexer {
            indexer.notify();
        }
        self.core.older.release(window.oldest());
        writer.backlog.release(self.core.pages.durable());
        self.core.pages.share_memory(writer.backlog.pending().bytes);
        if self.is_too_much(writer) {
            self.databases.savepoints.give_up();
        }
        if !self.is_due(writer) || self.databases.savepoints.are_heeded() {
            return;
        }
        self.checkpointer.request(window.newest(), || self.may_checkpoint(window));
        // A checkpoint enlarges the databases, and the reserve must be as large as the writes of an opening.
        self.extend_reserve();
        // The changes since the newest checkpoint are in memory, so their size must be limited. But one block must not
        // wait for the work of all previous blocks.
        let pending = writer.backlog.pending().bytes;
        let is_ahead = |checkpoints| pending > self.options.checkpoint_bytes.saturating_mul(checkpoints);
        if is_ahead(FAR_AHEAD) {
            self.checkpointer.wait();
        } else if is_ahead(RUN_AHEAD) {
            self.checkpointer.wait_briefly(BRAKE);
        }
        writer.backlog.release(self.core.pages.durable());
    }

    /// Returns whether the changes since the newest checkpoint have reached a limit, so another checkpoint is due.
    fn is_due(&self, writer: &Writer) -> bool {
        let pending = writer.backlog.pending();
        pending.bytes >= self.options.checkpoint_bytes || pending.blocks >= self.options.checkpoint_blocks
    }

    /// Returns whether another checkpoint keeps all states of the state history readable. A checkpoint makes versions
    /// before the newest checkpoint unreadable. No checkpoint may be in progress during the call.
    pub(super) fn may_checkpoint(&self, window: &Window) -> bool {
        let durable = self.core.pages.durable();
        durable == 0 || durable <= window.oldest()
    }

    /// Writes the changes since the newest checkpoint, if the state history permits it, and closes the store. The next
    /// opening then has less to compute.
    ///
    /// The function also closes the databases for all snapshots and readers, so that the directory can be opened again.
    /// Later reads of the snapshots and readers from disk return an error.
    ///
    /// # Errors
    ///
    /// [`CloseError`]: the state cannot be written. The record has all blocks.
    pub fn close(mut self) -> Result<(), CloseError> {
        if let Some(mut indexer) = self.indexer.take() {
            indexer.stop_and_store();
        }
        // The thread stops first, so that it packs no blocks during the last checkpoint.
        self.checkpointer.stop();
        let written = self.write_changes();
        self.databases.record.close();
        self.databases.state.close();
        written
    }

    fn write_changes(&self) -> Result<(), CloseError> {
        let snapshot = self.snapshot();
        self.checkpointer.wait();
        if let Some(failure) = self.checkpointer.failure() {
            return Err(CloseError(failure));
        }
        let window = snapshot.window();
        let behind = self.core.pages.durable() < window.newest().version;
        let written = if behind && self.may_checkpoint(window) {
            self.write_oldest(window).and_then(|()| self.checkpointer.write_now(window.newest()))
        } else {
            let stored = self.core.archive.sync_diffs().and_then(|()| self.core.archive.store_index());
            stored.map_err(StateError::from)
        };
        written.map_err(|error| CloseError(Arc::new(error)))
    }

    /// Writes a checkpoint of the oldest state of the state history, if much has changed from the newest checkpoint to
    /// this state. After the next opening, the states of the state history are computed from the checkpoint before the
    /// newest checkpoint. This computation then does not include changes from before the state history.
    fn write_oldest(&self, window: &Window) -> Result<(), StateError> {
        let mut writer = self.writer();
        let (oldest, newest) = (window.oldest_in_memory(), window.newest());
        writer.backlog.release(self.core.pages.durable());
        let is_oldest = oldest.version == window.oldest() && oldest.version < newest.version;
        if is_oldest && self.is_much(writer.backlog.pending_at(oldest.version)) {
            self.checkpointer.write_now(oldest)?;
        }
        Ok(())
    }
}
