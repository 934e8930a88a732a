//! Recovery of the store after a failure.

use std::time::{Duration, Instant};

use super::{error::DriverError, worker::Driver};

/// Time between a failure to make a block and the next attempt. This time is short, so that block production resumes
/// soon after an operator has freed space. It is long enough that the attempts take little processor time.
pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

impl<E> Driver<E> {
    /// Recovers the store if it has failed. After a success, the node can make blocks again.
    ///
    /// # Errors
    ///
    /// [`DriverError::Failed`] if the recovery failed. The log has the reason.
    pub(super) fn recover(&mut self) -> Result<(), DriverError> {
        if !self.producer.has_failed() {
            return Ok(());
        }
        if let Err(error) = self.producer.recover() {
            self.attempts = self.attempts.saturating_add(1);
            // A disk may be full for days. Log the attempts 1, 2, 4, 8, and so on.
            if self.attempts.is_power_of_two() {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    attempts = self.attempts,
                    waiting = self.node.chain().waiting(),
                    advice = "free space on the disk; if that does not help, start the node again",
                    "failed to make a block; the node retries each second"
                );
            }
            self.set_failing(true);
            return Err(DriverError::Failed);
        }
        self.attempts = 0;
        self.set_failing(false);
        let number = self.node.context().head();
        tracing::info!(%number, waiting = self.node.chain().waiting(), "the node makes blocks again");
        Ok(())
    }

    /// Publishes whether block production has failed. After a failure, plans the next attempt.
    pub(super) fn set_failing(&mut self, failing: bool) {
        self.node.publish_failing(failing);
        if failing {
            self.retry.get_or_insert_with(|| Instant::now() + PAUSE_AFTER_FAILURE);
        } else {
            self.retry = None;
        }
    }
}
