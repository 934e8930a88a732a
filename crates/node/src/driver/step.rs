//! One step of the engine, and the outcomes of the transactions in its blocks.

use std::collections::HashMap;

use silica_chain::{
    DropReason, EngineError,
    consensus::{Effect, Engine, Input},
};
use silica_protocol::{BlockNumber, TxHash};

#[cfg(any(test, feature = "network"))]
use super::event::Work;
use super::{error::DriverError, worker::Driver};
use crate::clock::LeadChange;

/// The outcome of each transaction of a step: the block that includes it, or the reason for which the pool dropped it.
pub(super) struct TransactionOutcomes(pub(super) HashMap<TxHash, Result<BlockNumber, DropReason>>);

impl TransactionOutcomes {
    /// Collects the outcomes from the effects of a step.
    fn of(effects: &[Effect]) -> Self {
        let mut outcomes = HashMap::new();
        for effect in effects {
            let dropped = match effect {
                Effect::Committed(block) => {
                    let number = block.tx_block().header.number;
                    tracing::debug!(%number, transactions = block.transactions().len(), "block committed");
                    outcomes.extend(block.transactions().iter().map(|(tx, _)| (tx.hash(), Ok(number))));
                    block.dropped()
                }
                Effect::Passed(numbers) => {
                    tracing::debug!(first = %numbers.start(), last = %numbers.end(), "empty blocks committed");
                    continue;
                }
                Effect::Dropped(dropped) => dropped,
            };
            outcomes.extend(dropped.iter().map(|(tx, reason)| (tx.hash(), Err(*reason))));
        }
        Self(outcomes)
    }
}

impl<E: Engine> Driver<E> {
    /// Runs a step of the engine, and returns the outcomes of transactions.
    ///
    /// # Errors
    ///
    /// [`DriverError::Paused`] during a pause. [`DriverError::Failed`] if the store or the engine failed; the log has
    /// the reason.
    pub(super) fn step(&mut self, input: Input) -> Result<TransactionOutcomes, DriverError> {
        self.node.require_no_pause()?;
        self.recover()?;
        match self.advance(input) {
            Ok(effects) => Ok(TransactionOutcomes::of(&effects)),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Runs a step of the engine, even during a pause. Each block that the step publishes wakes the followers of the
    /// chain.
    pub(super) fn advance(&mut self, input: Input) -> Result<Vec<Effect>, EngineError> {
        let before = self.node.context().head();
        let result = self.engine.step(input, &mut self.producer);
        // Check this even after a failure of the engine: before the failure, the engine may have committed blocks.
        let made = self.observe_head(before);
        match &result {
            Ok(_) if made => self.set_failing(false),
            // A step without a block does not show that the node can make blocks again.
            Ok(_) => {}
            Err(EngineError::Edit(refused)) if refused.is_refusal() => {}
            Err(_) => self.set_failing(true),
        }
        if self.producer.holds_too_much() && self.savepoints.clear() {
            tracing::warn!("too much state has changed since the savepoints; deleted all savepoints");
        }
        result
    }

    #[cfg(any(test, feature = "network"))]
    /// Runs work of the agreement of a committee. If the store has failed and does not recover, the work gets the
    /// errors of the producer.
    pub(super) fn run_work(&mut self, work: Work) {
        let _: Result<(), DriverError> = self.recover();
        let before = self.node.context().head();
        work(&mut self.producer);
        if self.observe_head(before) {
            self.set_failing(false);
        }
        if self.producer.has_failed() {
            self.set_failing(true);
        }
    }

    /// Returns whether the head is after the block `before`. After such a head, updates the clock, and compares the
    /// clock with the time of the head.
    fn observe_head(&mut self, before: BlockNumber) -> bool {
        let made = self.node.context().head() > before;
        if made {
            self.node.clock().block_made();
            self.compare_clock();
        }
        made
    }

    /// Logs a warning when the latest block gets ahead of the clock by more than 10 s, and a message when the clock has
    /// passed the block. A developer who sets the time sets the clock of the node too, so the cause is a change of the
    /// system's clock.
    pub(super) fn compare_clock(&mut self) {
        let (latest, clock) = (self.node.context().snapshot.latest_tx_block().timestamp, self.node.clock().now());
        match self.lead.observe(latest, clock) {
            Some(LeadChange::Begun) => tracing::warn!(
                block_time = %latest,
                %clock,
                seconds_ahead = latest.get().saturating_sub(clock.get()) / 1_000_000,
                advice = "check the clock of the system; see \"The clock\" in docs/operations.md",
                "the latest block is ahead of the clock; block times increase by 1 microsecond per block until the clock reaches it"
            ),
            Some(LeadChange::Ended) => {
                tracing::info!(block_time = %latest, %clock, "block times follow the clock again");
            }
            None => {}
        }
    }
}

/// Logs the error of a step, and returns the error for the client.
pub(super) fn failed(error: &EngineError) -> DriverError {
    tracing::error!(error = error as &dyn std::error::Error, "failed to make a block; the node retries each second");
    DriverError::Failed
}
