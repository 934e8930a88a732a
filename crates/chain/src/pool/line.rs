//! The line of transactions before a micro block, the best first.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use silica_protocol::{ShardId, TxHash};

use super::{Pool, Rank, lock};
use crate::admission::VerifiedTransaction;

/// Transactions that are taken from the pool under one lock.
const BATCH: usize = 256;

/// A source of transactions for one micro block.
pub(crate) trait Line {
    /// The best transaction that was not given out yet, of those that are the first of their sender's.
    fn next(&mut self) -> Option<VerifiedTransaction>;

    /// Lets the next transaction of the sender of `transaction` compete.
    fn advance(&mut self, transaction: &VerifiedTransaction);
}

/// The pool as such a source. It is locked for a few look-ups at a time, so that transactions can come in while a block
/// is being built.
#[derive(Debug)]
pub(crate) struct PoolLine<'a> {
    pool: &'a Mutex<Pool>,
    committee: ShardId,
    /// The transaction that goes before all others.
    first: Option<VerifiedTransaction>,
    /// Its hash, by which it is found again in its place.
    first_hash: Option<TxHash>,
    /// First transactions of their senders', the best last.
    batch: Vec<VerifiedTransaction>,
    /// Rank of the last transaction that was taken from the pool's line.
    taken: Option<Rank>,
    exhausted: bool,
    /// Transactions that follow others in this block.
    followers: BTreeMap<Rank, VerifiedTransaction>,
}

impl<'a> PoolLine<'a> {
    /// Begins the line of a committee. `first` is a transaction of this line that goes before all others.
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
