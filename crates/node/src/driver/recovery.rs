//! Recovery of the store after a failure.

use std::time::{Duration, Instant};

use silica_chain::consensus::Engine;

use super::{Driver, DriverError};

/// Time between a failure to make a block and the next attempt.
pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

impl<E: Engine> Driver<E> {
    /// Recovers the store, and makes blocks for pending transactions if the mode is instant. In other modes they wait for their
    /// block.
    pub(super) fn retry(&mut self) {
        self.retry = Some(Instant::now() + PAUSE_AFTER_FAILURE);
        if self.recover().is_ok() {
            self.flush_pool();
        }
    }

    /// Recovers the store if it has failed. Success shows that the disk accepts blocks again.
    ///
    /// # Errors
    ///
    /// [`DriverError::Failed`] if the store is not usable yet. The log has the reason.
    pub(super) fn recover(&mut self) -> Result<(), DriverError> {
        if !self.producer.has_failed() {
            return Ok(());
        }
        if let Err(error) = self.producer.recover() {
            self.attempts = self.attempts.saturating_add(1);
            // The condition may last for days: log it ever more rarely.
            if self.attempts.is_power_of_two() {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    attempts = self.attempts,
                    waiting = self.node.chain().waiting(),
                    advice = "free space on the disk; if that does not help, start the node again",
                    "no block can be made"
                );
            }
            self.set_failing(true);
            return Err(DriverError::Failed);
        }
        self.attempts = 0;
        self.set_failing(false);
        // The recovery counts as a revert, since readers cannot use snapshots of the store that failed.
        self.node.announce_head();
        let number = self.node.context().head();
        tracing::info!(%number, waiting = self.node.chain().waiting(), "blocks can be made again");
        Ok(())
    }

    /// Publishes whether block production has failed, and plans the next attempt.
    pub(super) fn set_failing(&mut self, failing: bool) {
        self.node.publish_failing(failing);
        if failing {
            self.retry.get_or_insert_with(|| Instant::now() + PAUSE_AFTER_FAILURE);
        } else {
            self.retry = None;
        }
    }
}
