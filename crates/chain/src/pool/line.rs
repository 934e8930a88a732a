//! The line of a micro block: the pending transactions of its committee in the order of execution.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use silica_protocol::{ShardId, TxHash};

use super::{Pool, Rank, lock};
use crate::admission::VerifiedTransaction;

/// Maximum number of transactions that are copied from the pool under one lock. Between two batches, other threads can
/// use the pool.
pub(crate) const BATCH: usize = 256;

/// A source of transactions for one micro block.
pub(crate) trait Line {
    /// Returns the transaction with the best rank among the first transactions of all senders in the line, without the
    /// transactions that earlier calls returned. Returns `None` if no transaction is left.
    fn next(&mut self) -> Option<VerifiedTransaction>;

    /// Adds the next transaction of the sender of `transaction` to the line.
    fn advance(&mut self, transaction: &VerifiedTransaction);
}

/// The line of one committee in the pool. A call locks the pool for one look-up or for one batch of at most [`BATCH`]
/// transactions, so that transactions can arrive while a block is built.
#[derive(Debug)]
pub(crate) struct PoolLine<'a> {
    pool: &'a Mutex<Pool>,
    committee: ShardId,
    /// The transaction that comes first, whatever its price.
    first: Option<VerifiedTransaction>,
    /// Hash of the first transaction. A batch contains this transaction again, and the line skips it there.
    first_hash: Option<TxHash>,
    /// The first transactions of lanes, the best rank last.
    batch: Vec<VerifiedTransaction>,
    /// Rank of the last transaction that a batch copied. The next batch begins after this rank.
    taken: Option<Rank>,
    exhausted: bool,
    /// The next transactions of senders whose earlier transaction this block has executed, by rank.
    followers: BTreeMap<Rank, VerifiedTransaction>,
}

impl<'a> PoolLine<'a> {
    /// Returns the line of a committee. `first` is a transaction of this line that comes before all others.
    pub(crate) fn new(pool: &'a Mutex<Pool>, committee: ShardId, first: Option<VerifiedTransaction>) -> Self {
        Self {
            pool,
            committee,
            first_hash: first.as_ref().map(VerifiedTransaction::hash),
            first,
            batch: Vec::new(),
            taken: None,
            exhausted: false,
            followers: BTreeMap::new(),
        }
    }

    fn refill(&mut self) {
        if !self.batch.is_empty() || self.exhausted {
            return;
        }
        self.batch = lock(self.pool).heads(self.committee, self.taken, BATCH);
        self.exhausted = self.batch.len() < BATCH;
        self.taken = self.batch.last().map(Rank::of).or(self.taken);
        self.batch.retain(|transaction| Some(transaction.hash()) != self.first_hash);
        self.batch.reverse();
    }
}

impl Line for PoolLine<'_> {
    fn next(&mut self) -> Option<VerifiedTransaction> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        self.refill();
        let follower = self.followers.first_key_value().map(|(rank, _)| *rank);
        match (self.batch.last().map(Rank::of), follower) {
            (Some(head), Some(follower)) if follower < head => self.followers.remove(&follower),
            (Some(_), _) => self.batch.pop(),
            (None, Some(follower)) => self.followers.remove(&follower),
            (None, None) => None,
        }
    }

    fn advance(&mut self, transaction: &VerifiedTransaction) {
        if let Some(next) = lock(self.pool).following(transaction) {
            self.followers.insert(Rank::of(&next), next);
        }
    }
}
