//! The pool: admitted transactions that wait for a block (execution.md 3.4).
//!
//! ```text
//! insert ─▶ entries ──┬─ senders: nonces in order, in one lane for each committee   (account.rs)
//!                     ├─ lines:   for each committee, the first of each lane by price
//!                     └─ records: what callers are told                               (status.rs)
//! ```
//!
//! A block takes the best transaction whose nonce is due, executes it, and goes on with the next of that sender, as
//! execution.md 3.5 has it. There, transactions with a gap before them are put aside and come back, ahead of all
//! others, as soon as the gap is closed; since they were taken out in order of price, what comes back has a better
//! price than all that remain. So the order is simply "the best among those whose nonce is due", and only the first
//! transaction of each lane needs a place in the line. A lane that begins with a gap is parked, out of the line, until
//! something about it changes.
//!
//! Nothing depends on the order of a hash map: those here are only looked up by key.

mod account;
mod export;
mod line;
mod status;
#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::RangeInclusive,
    sync::{Mutex, MutexGuard, PoisonError},
};

use silica_protocol::{Address, BlockNumber, GasPrice, Nonce, Receipt, ShardId, Timestamp, TxHash};

use self::account::Sender;
pub use self::status::{DropReason, ModificationState, TxStatus};
pub(crate) use self::{
    export::{Exported, export, import},
    line::{Line, PoolLine},
    status::StatusRecord,
};
use crate::{admission::VerifiedTransaction, config::PoolLimits, epoch::Epochs, error::PoolError};

/// Place of a transaction among those that compete: the highest price first, then the smallest hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    price: Reverse<GasPrice>,
    hash: TxHash,
}

impl Rank {
    pub(crate) fn of(transaction: &VerifiedTransaction) -> Self {
        Self { price: Reverse(transaction.transaction().gas_price), hash: transaction.hash() }
    }
}

/// Admitted transactions that wait for a block, and the fate of those that were dropped.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    limits: PoolLimits,
    epochs: Epochs,
    entries: HashMap<TxHash, Entry>,
    senders: HashMap<Address, Sender>,
    lines: BTreeMap<ShardId, BTreeSet<Rank>>,
    /// By the time of arrival, for expiry.
    arrivals: BTreeMap<u64, TxHash>,
    /// By the time of the last change of status.
    updates: BTreeMap<u64, TxHash>,
    dropped: HashMap<TxHash, Dropped>,
    /// By the time of dropping.
    drops: BTreeMap<u64, TxHash>,
    /// Counts arrivals, changes and drops.
    clock: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    record: StatusRecord,
    arrival: u64,
    update: u64,
}

#[derive(Clone, Debug)]
struct Dropped {
    record: StatusRecord,
    drop: u64,
}

/// What building a block found out about the transactions of the pool.
#[derive(Debug)]
pub(crate) struct Settlement<'a> {
    /// The block.
    pub(crate) block: BlockNumber,
    /// Its timestamp.
    pub(crate) at: Timestamp,
    /// Transactions in the block.
    pub(crate) included: &'a [(VerifiedTransaction, Receipt)],
    /// Transactions that will never be in any.
    pub(crate) dropped: &'a [(VerifiedTransaction, DropReason)],
    /// Transactions that were looked at and wait on.
    pub(crate) postponed: &'a [(VerifiedTransaction, Postponed)],
    /// Accounts that were edited by hand, so that other nonces may be due.
    pub(crate) edited: &'a [Address],
}

/// Why a transaction waits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Postponed {
    /// A lower nonce is missing.
    NonceHigh,
    /// The block had too little room.
    GasExceeded,
}

impl Pool {
    pub(crate) fn new(limits: PoolLimits, epochs: Epochs) -> Self {
        Self {
            limits,
            epochs,
            entries: HashMap::new(),
            senders: HashMap::new(),
            lines: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            updates: BTreeMap::new(),
            dropped: HashMap::new(),
            drops: BTreeMap::new(),
            clock: 0,
        }
    }

    /// Number of waiting transactions.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Number of transactions that wait, and of those that are known to have been dropped.
    pub(crate) fn remembered(&self) -> usize {
        self.entries.len().saturating_add(self.dropped.len())
    }

    /// Adds a transaction during the Tx epoch `epoch`. Of two with the same sender and nonce the better ranked stays.
    pub(crate) fn insert(
        &mut self,
        transaction: VerifiedTransaction,
        epoch: BlockNumber,
        at: Timestamp,
    ) -> Result<(), PoolError> {
        let hash = transaction.hash();
        if self.entries.contains_key(&hash) {
            return Err(PoolError::Known { hash });
        }
        match self.rival(&transaction) {
            Some(rival) if rival < Rank::of(&transaction) => {
                self.remember(dropped_record(transaction, DropReason::Outbid, epoch, epoch, at));
                return Err(PoolError::Outbid { by: rival.hash });
            }
            Some(rival) => self.drop(&rival.hash, DropReason::Outbid, epoch, at),
            None => self.check_room(&transaction)?,
        }
        self.forget(&hash);
        self.add(transaction, epoch, at);
        Ok(())
    }

    /// The waiting transaction of the same sender with the same nonce.
    fn rival(&self, transaction: &VerifiedTransaction) -> Option<Rank> {
        self.senders.get(&transaction.sender())?.with_nonce(transaction.transaction().nonce)
    }

    /// The nonces of a sender's waiting transactions.
    pub(crate) fn nonces(&self, sender: &Address) -> BTreeSet<Nonce> {
        self.senders.get(sender).map(|sender| sender.nonces().collect()).unwrap_or_default()
    }

    fn check_room(&self, transaction: &VerifiedTransaction) -> Result<(), PoolError> {
        if self.entries.len() >= self.limits.transactions {
            return Err(PoolError::Full { limit: self.limits.transactions });
        }
        let sender = transaction.sender();
        let held = self.senders.get(&sender).map_or(0, Sender::len);
        if held >= self.limits.per_sender {
            return Err(PoolError::SenderFull { sender, limit: self.limits.per_sender });
        }
        Ok(())
    }

    fn add(&mut self, transaction: VerifiedTransaction, epoch: BlockNumber, at: Timestamp) {
        let (hash, sender, committee) = (transaction.hash(), transaction.sender(), transaction.committee());
        let (nonce, rank) = (transaction.transaction().nonce, Rank::of(&transaction));
        let (arrival, update) = (self.tick(), self.tick());
        self.arrivals.insert(arrival, hash);
        self.updates.insert(update, hash);
        let record =
            StatusRecord { transaction, status: TxStatus::Dispatched, inserted: epoch, updated: epoch, modified: at };
        self.entries.insert(hash, Entry { record, arrival, update });
        let lane = self.senders.entry(sender).or_default().lane(committee);
        lane.insert(nonce, rank);
        lane.unpark(self.lines.entry(committee).or_default());
    }

    /// Up to `most` transactions that are the first of their sender's for `committee`, the best first, beginning after
    /// `after`. Their nonces may still not be due.
    pub(crate) fn heads(&self, committee: ShardId, after: Option<Rank>, most: usize) -> Vec<VerifiedTransaction> {
        use std::ops::Bound::{Excluded, Unbounded};
        let Some(line) = self.lines.get(&committee) else { return Vec::new() };
        line.range((after.map_or(Unbounded, Excluded), Unbounded))
            .take(most)
            .filter_map(|rank| self.entries.get(&rank.hash))
            .map(|entry| entry.record.transaction.clone())
            .collect()
    }

    /// The transaction that follows `transaction` in its lane, with or without a gap.
    pub(crate) fn following(&self, transaction: &VerifiedTransaction) -> Option<VerifiedTransaction> {
        let sender = self.senders.get(&transaction.sender())?;
        let rank = sender.following(transaction.committee(), transaction.transaction().nonce)?;
        self.entries.get(&rank.hash).map(|entry| entry.record.transaction.clone())
    }

    /// Whether some transaction is in line, so that a block may find one to execute.
    pub(crate) fn has_candidates(&self) -> bool {
        self.lines.values().any(|line| !line.is_empty())
    }

    /// Takes over what building a block found out.
    pub(crate) fn settle(&mut self, settlement: &Settlement<'_>) {
        let Settlement { block, at, included, dropped, postponed, edited } = *settlement;
        // What waited for a nonce in one lane may have got it from another lane later in the same block, so lanes are
        // parked before the nonces that the block used up wake them.
        for (transaction, why) in postponed {
            self.postpone(transaction, *why, block, at);
        }
        for (transaction, _) in included {
            self.remove(&transaction.hash());
            self.pass(transaction, block, at);
        }
        for (transaction, reason) in dropped {
            self.drop(&transaction.hash(), *reason, block, at);
        }
        for address in edited {
            self.unpark(address);
        }
        self.expire(block, at);
        self.forget_old(block);
    }

    /// Puts all that waits of a sender in line again.
    fn unpark(&mut self, sender: &Address) {
        let Some(sender) = self.senders.get_mut(sender) else { return };
        for lane in sender.lanes() {
            lane.unpark(self.lines.entry(lane.committee()).or_default());
        }
    }

    /// Takes note of empty blocks, the first of which was made at the time `at`, each of the others a microsecond later.
    pub(crate) fn note_empty(&mut self, blocks: RangeInclusive<BlockNumber>, at: Timestamp) {
        let first = blocks.start().get();
        for number in first..=blocks.end().get() {
            if self.arrivals.is_empty() && self.drops.is_empty() {
                return;
            }
            let (block, at) = (BlockNumber::new(number), at.get().saturating_add(number.saturating_sub(first)));
            self.expire(block, Timestamp::new(at));
            self.forget_old(block);
        }
    }

    fn postpone(&mut self, transaction: &VerifiedTransaction, why: Postponed, block: BlockNumber, at: Timestamp) {
        let status = match why {
            Postponed::NonceHigh => TxStatus::NonceHigh,
            Postponed::GasExceeded => TxStatus::GasExceeded,
        };
        self.set_status(&transaction.hash(), status, block, at);
        let (committee, nonce) = (transaction.committee(), transaction.transaction().nonce);
        let Some(sender) = self.senders.get_mut(&transaction.sender()) else { return };
        let lane = sender.lane(committee);
        if why == Postponed::NonceHigh && lane.head_nonce() == Some(nonce) {
            lane.park(self.lines.entry(committee).or_default());
        }
        for hash in lane.after(nonce) {
            self.set_status(&hash, TxStatus::NonceHigh, block, at);
        }
    }

    fn set_status(&mut self, hash: &TxHash, status: TxStatus, block: BlockNumber, at: Timestamp) {
        let update = self.tick();
        let Some(entry) = self.entries.get_mut(hash).filter(|entry| entry.record.status != status) else { return };
        self.updates.remove(&entry.update);
        self.updates.insert(update, *hash);
        entry.update = update;
        entry.record.status = status;
        entry.record.updated = block;
        entry.record.modified = at;
    }

    /// Takes note that the nonce of `transaction` is used up: what has this one or a lower will never be executed, and
    /// what has the next may be.
    fn pass(&mut self, transaction: &VerifiedTransaction, block: BlockNumber, at: Timestamp) {
        let Some(sender) = self.senders.get(&transaction.sender()) else { return };
        let used_up = sender.up_to(transaction.transaction().nonce);
        self.unpark(&transaction.sender());
        for hash in used_up {
            self.drop(&hash, DropReason::NonceTooLow, block, at);
        }
    }

    fn expire(&mut self, block: BlockNumber, at: Timestamp) {
        while let Some(hash) = self.arrivals.first_key_value().map(|(_, hash)| *hash) {
            let expired = self
                .entries
                .get(&hash)
                .is_some_and(|entry| self.epochs.after(entry.record.inserted, self.limits.lifetime_ds_epochs) <= block);
            if !expired {
                return;
            }
            self.drop(&hash, DropReason::Expired, block, at);
        }
    }

    /// Removes a waiting transaction and remembers why.
    fn drop(&mut self, hash: &TxHash, reason: DropReason, block: BlockNumber, at: Timestamp) {
        if let Some(record) = self.remove(hash) {
            self.remember(dropped_record(record.transaction, reason, record.inserted, block, at));
        }
    }

    /// Drops a waiting transaction during the Tx epoch `epoch`, and says whether there was one.
    pub(crate) fn withdraw(&mut self, hash: &TxHash, epoch: BlockNumber, at: Timestamp) -> bool {
        let waits = self.entries.contains_key(hash);
        self.drop(hash, DropReason::Withdrawn, epoch, at);
        waits
    }

    /// Drops all waiting transactions during the Tx epoch `epoch`, the oldest first, and returns how many there were.
    pub(crate) fn withdraw_all(&mut self, epoch: BlockNumber, at: Timestamp) -> usize {
        let waiting: Vec<TxHash> = self.arrivals.values().copied().collect();
        for hash in &waiting {
            self.drop(hash, DropReason::Withdrawn, epoch, at);
        }
        waiting.len()
    }

    fn remove(&mut self, hash: &TxHash) -> Option<StatusRecord> {
        let Entry { record, arrival, update } = self.entries.remove(hash)?;
        self.arrivals.remove(&arrival);
        self.updates.remove(&update);
        let (address, committee) = (record.transaction.sender(), record.transaction.committee());
        if let Some(sender) = self.senders.get_mut(&address) {
            let line = self.lines.entry(committee).or_default();
            sender.lane(committee).remove(record.transaction.transaction().nonce, line);
            if sender.len() == 0 {
                self.senders.remove(&address);
            }
        }
        Some(record)
    }

    fn remember(&mut self, record: StatusRecord) {
        let (drop, hash) = (self.tick(), record.transaction.hash());
        self.forget(&hash);
        self.drops.insert(drop, hash);
        self.dropped.insert(hash, Dropped { record, drop });
        if self.drops.len() > self.limits.transactions {
            self.forget_oldest();
        }
    }

    fn forget(&mut self, hash: &TxHash) {
        if let Some(dropped) = self.dropped.remove(hash) {
            self.drops.remove(&dropped.drop);
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, hash)) = self.drops.pop_first() {
            self.dropped.remove(&hash);
        }
    }

    fn forget_old(&mut self, block: BlockNumber) {
        while let Some(hash) = self.drops.first_key_value().map(|(_, hash)| *hash) {
            let old = self
                .dropped
                .get(&hash)
                .is_none_or(|dropped| self.epochs.after(dropped.record.updated, self.limits.memory_ds_epochs) <= block);
            if !old {
                return;
            }
            self.forget_oldest();
        }
    }

    /// What is known about a transaction that waits or was dropped.
    pub(crate) fn record(&self, hash: &TxHash) -> Option<&StatusRecord> {
        let waiting = self.entries.get(hash).map(|entry| &entry.record);
        waiting.or_else(|| self.dropped.get(hash).map(|dropped| &dropped.record))
    }

    /// Up to `most` waiting transactions, the latest change of status first.
    pub(crate) fn pending(&self, most: usize) -> Vec<(TxHash, TxStatus)> {
        let latest = self.updates.values().rev();
        latest.filter_map(|hash| Some((*hash, self.entries.get(hash)?.record.status))).take(most).collect()
    }

    /// The waiting transactions with the epoch of their arrival, the oldest first.
    fn by_arrival(&self) -> impl Iterator<Item = (&VerifiedTransaction, BlockNumber)> {
        self.arrivals
            .values()
            .filter_map(|hash| self.entries.get(hash))
            .map(|entry| (&entry.record.transaction, entry.record.inserted))
    }

    fn tick(&mut self) -> u64 {
        self.clock = self.clock.saturating_add(1);
        self.clock
    }
}

/// Locks the pool. No operation on it panics half-way, so that a panic of a holder leaves nothing to repair.
pub(crate) fn lock(pool: &Mutex<Pool>) -> MutexGuard<'_, Pool> {
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

fn dropped_record(
    transaction: VerifiedTransaction,
    reason: DropReason,
    inserted: BlockNumber,
    updated: BlockNumber,
    modified: Timestamp,
) -> StatusRecord {
    StatusRecord { transaction, status: TxStatus::Dropped(reason), inserted, updated, modified }
}
