//! The jobs: blocks on demand, savepoints and reverts.
//!
//! The driver makes many blocks in parts. Between two parts it handles other events, so that a payment or the stop of
//! the node waits for one part only.

use std::time::Instant;

use silica_chain::consensus::{Engine, Input};
use tokio::sync::oneshot;

use super::{
    error::DriverError,
    event::{Job, Reverted, answer},
    recovery::PAUSE_AFTER_FAILURE,
    savepoints::DevSavepoint,
    worker::{Driver, first_tick},
};

/// Maximum number of blocks in one part. A part of empty blocks takes about 20 ms, and delays other events for this
/// time.
pub(super) const BLOCKS_AT_ONCE: u64 = 8_192;

impl<E: Engine> Driver<E> {
    /// Runs the first job, or a part of it.
    pub(super) fn run_next_job(&mut self) {
        let Some(job) = self.jobs.pop_front() else { return };
        if self.node.is_stopping() {
            return job.refuse(DriverError::Stopping);
        }
        match job {
            Job::Blocks { blocks, reply } => self.make_blocks(blocks, reply),
            Job::Snapshot { reply } => {
                let result = self.recover().and_then(|()| self.snapshot());
                answer(reply, result);
            }
            Job::Revert { to, reply } => {
                let result = self.recover().and_then(|()| self.revert(to));
                answer(reply, result);
            }
        }
    }

    /// Makes the first part of `blocks` blocks. The rest becomes the first job of the queue.
    fn make_blocks(&mut self, blocks: u64, reply: oneshot::Sender<Result<(), DriverError>>) {
        let part = blocks.min(BLOCKS_AT_ONCE);
        match (self.step(Input::Demand { at: self.time(), blocks: part }), blocks.saturating_sub(part)) {
            (Err(error), _) => answer(reply, Err(error)),
            (Ok(_), 0) => answer(reply, Ok(())),
            (Ok(_), blocks) => self.jobs.push_front(Job::Blocks { blocks, reply }),
        }
    }

    /// Creates a savepoint, and returns its number.
    fn snapshot(&mut self) -> Result<u32, DriverError> {
        let point = self.producer.save().map_err(|error| {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "failed to create a savepoint; the chain is unchanged"
            );
            DriverError::Failed
        })?;
        Ok(self.savepoints.add(DevSavepoint { point, mode: self.node.mode(), moment: self.node.clock().moment() }))
    }

    /// Reverts the chain to a savepoint.
    fn revert(&mut self, to: u32) -> Result<Reverted, DriverError> {
        self.node.require_no_pause()?;
        let DevSavepoint { point, mode, moment } = match self.savepoints.get(to) {
            Ok(kept) => kept,
            Err(unknown) => return Ok(Err(unknown)),
        };
        let (mode, moment) = (*mode, *moment);
        let (block, price, price_before) = (point.block(), point.operator_price(), self.producer.operator_price());
        if let Err(error) = self.producer.revert(point) {
            let advice = if error.leaves_chain() {
                "the chain is unchanged"
            } else {
                self.savepoints.clear();
                self.retry.get_or_insert_with(|| Instant::now() + PAUSE_AFTER_FAILURE);
                self.node.publish_failing(true);
                "the savepoints are deleted; start the node again if block production does not recover"
            };
            tracing::error!(
                error = &error as &dyn std::error::Error,
                advice,
                "failed to revert the chain to a savepoint"
            );
            return Err(DriverError::Failed);
        }
        tracing::debug!(number = %block, "reverted the chain to a savepoint");
        self.savepoints.forget_from(to);
        self.node.publish_mode(mode);
        self.next_tick = first_tick(mode);
        self.node.clock().go_back(moment);
        if price != price_before {
            self.keep_gas_price(price);
        }
        self.node.announce_head();
        // The revert is complete, so its reply does not depend on the block for the pending transactions.
        self.flush_pool();
        Ok(Ok(()))
    }
}
