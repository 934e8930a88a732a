//! Transactions on their way into a block, and their outcomes.

use std::collections::HashMap;

use silica_chain::{
    DropReason, Submitted, TransactionStatus, TxStatus, VerifiedTransaction,
    consensus::{Effect, Engine, Input},
};
use silica_protocol::{BlockNumber, TxHash};
use tokio::sync::oneshot;

use super::{Driver, DriverError, SubmitError, answer, event::Event};

/// A transaction in the pool, and the channel to its sender.
struct PendingReply {
    submitted: Submitted,
    reply: oneshot::Sender<Result<Submitted, SubmitError>>,
}

/// The outcome of each transaction: the block that holds it, or why it was dropped.
pub(super) struct TransactionOutcomes(HashMap<TxHash, Result<BlockNumber, DropReason>>);

impl TransactionOutcomes {
    /// Collects the outcomes from the effects of a step.
    pub(super) fn of(effects: &[Effect]) -> Self {
        let mut outcomes = HashMap::new();
        for effect in effects {
            let dropped = match effect {
                Effect::Committed(block) => {
                    let number = block.tx_block().header.number;
                    tracing::debug!(%number, transactions = block.transactions().len(), "block");
                    outcomes.extend(block.transactions().iter().map(|(tx, _)| (tx.hash(), Ok(number))));
                    block.dropped()
                }
                Effect::Passed(numbers) => {
                    tracing::debug!(first = %numbers.start(), last = %numbers.end(), "empty blocks");
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
    /// Makes blocks for pending transactions if the mode is instant. A failure is logged. The transactions stay in the pool,
    /// and the next block includes them.
    pub(super) fn flush_pool(&mut self) {
        if self.node.mode().is_instant() && self.node.chain().waiting() > 0 && !self.node.pause().lasts() {
            let _: Result<TransactionOutcomes, DriverError> = self.step(Input::Arrival(self.time()));
        }
    }

    /// Puts a transaction, and all that have arrived since, into the pool and into blocks, and replies to each sender.
    pub(super) fn arrivals(
        &mut self,
        first: VerifiedTransaction,
        reply: oneshot::Sender<Result<Submitted, SubmitError>>,
    ) {
        let mut waiting = Vec::new();
        self.submit(first, reply, &mut waiting);
        loop {
            match self.queue.try_recv() {
                Ok(Event::Arrival { transaction, reply }) => self.submit(transaction, reply, &mut waiting),
                Ok(other) => {
                    self.deferred = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        // The pool may have transactions of a block that failed, even if it rejected those that arrived now.
        if waiting.is_empty() && self.node.chain().waiting() == 0 {
            return;
        }
        let outcomes = self.step(Input::Arrival(self.time()));
        for PendingReply { submitted, reply } in waiting {
            answer(
                reply,
                outcomes
                    .as_ref()
                    .map_err(|error| SubmitError::Driver(*error))
                    .and_then(|outcomes| self.outcome(&submitted.hash, outcomes).map(|()| submitted)),
            );
        }
    }

    /// Puts a transaction into the pool, or replies why not.
    fn submit(
        &self,
        transaction: VerifiedTransaction,
        reply: oneshot::Sender<Result<Submitted, SubmitError>>,
        waiting: &mut Vec<PendingReply>,
    ) {
        match self.node.chain().submit(transaction, self.node.clock().now()) {
            Ok(submitted) => waiting.push(PendingReply { submitted, reply }),
            Err(error) => answer(reply, Err(error.into())),
        }
    }

    /// Returns why a transaction was not accepted, if so. A transaction that is still in the pool is accepted: the blocks had no
    /// room for it, or it was there before.
    fn outcome(&self, hash: &TxHash, outcomes: &TransactionOutcomes) -> Result<(), SubmitError> {
        match outcomes.0.get(hash) {
            Some(Ok(_)) => Ok(()),
            Some(Err(reason)) => Err(SubmitError::Dropped(*reason)),
            // Another transaction that arrived at the same time may have used its nonce.
            None => match self.node.chain().snapshot().status(hash) {
                Ok(Some(TransactionStatus { status: TxStatus::Dropped(reason), .. })) => {
                    Err(SubmitError::Dropped(reason))
                }
                Ok(Some(_)) => Ok(()),
                // Do not acknowledge a transaction that the chain does not know.
                Ok(None) | Err(_) => Err(SubmitError::Driver(DriverError::Failed)),
            },
        }
    }
}
