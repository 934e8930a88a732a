//! Transactions of an instant mode, from their arrival to the reply with their outcome.

use silica_chain::{
    Submitted, TransactionStatus, TxStatus, VerifiedTransaction,
    consensus::{Engine, Input},
};
use silica_protocol::TxHash;
use tokio::sync::oneshot;

use super::{
    error::{DriverError, SubmitError},
    event::{Event, answer},
    step::TransactionOutcomes,
    worker::Driver,
};

/// A transaction in the pool whose client waits for a reply.
struct PendingReply {
    submitted: Submitted,
    reply: oneshot::Sender<Result<Submitted, SubmitError>>,
}

impl<E: Engine> Driver<E> {
    /// Makes blocks for the pending transactions if the mode is instant and the node is not paused. After a failure,
    /// the log has the reason, and the transactions stay in the pool.
    pub(super) fn flush_pool(&mut self) {
        if self.node.mode().is_instant() && self.node.chain().waiting() > 0 && !self.node.pause().lasts() {
            let _: Result<TransactionOutcomes, DriverError> = self.step(Input::Arrival(self.time()));
        }
    }

    /// Adds a transaction, and the transactions directly behind it in the queue of events, to the pool. Then makes
    /// blocks, and replies to each client.
    ///
    /// The driver adds the transactions, not the threads of the requests. So a step has a fixed set of transactions.
    /// The replies of a step do not wait for blocks with transactions that arrive during the step.
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
        // Even if the pool rejected all arrivals, it may have transactions of a block that failed.
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

    /// Adds a transaction to the pool, or replies with the reason why the pool rejects it.
    fn submit(
        &self,
        transaction: VerifiedTransaction,
        reply: oneshot::Sender<Result<Submitted, SubmitError>>,
        waiting: &mut Vec<PendingReply>,
    ) {
        match self.node.add_to_pool(transaction) {
            Ok(submitted) => waiting.push(PendingReply { submitted, reply }),
            Err(error) => answer(reply, Err(error.into())),
        }
    }

    /// Checks the outcome of a transaction after a step without an error. A transaction that is still pending counts as
    /// accepted. For example, the blocks had no room for the transaction, or a lower nonce is missing.
    ///
    /// # Errors
    ///
    /// [`SubmitError::Dropped`] with the reason, or [`DriverError::Failed`] if the chain has no status of the
    /// transaction or the store cannot read the status. The log has the reason.
    fn outcome(&self, hash: &TxHash, outcomes: &TransactionOutcomes) -> Result<(), SubmitError> {
        match outcomes.0.get(hash) {
            Some(Ok(_)) => Ok(()),
            Some(Err(reason)) => Err(SubmitError::Dropped(*reason)),
            // The step did not try the transaction. For example, another transaction with its nonce has replaced it.
            None => match self.node.chain().snapshot().status(hash) {
                Ok(Some(TransactionStatus { status: TxStatus::Dropped(reason), .. })) => {
                    Err(SubmitError::Dropped(reason))
                }
                Ok(Some(_)) => Ok(()),
                // Do not acknowledge a transaction that is neither in a block nor in the pool.
                Ok(None) => {
                    tracing::error!(%hash, "the chain has no status of a submitted transaction");
                    Err(SubmitError::Driver(DriverError::Failed))
                }
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(error, %hash, "failed to read the status of a submitted transaction");
                    Err(SubmitError::Driver(DriverError::Failed))
                }
            },
        }
    }
}
