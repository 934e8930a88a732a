//! The pool: admitted transactions that wait for a block (Reference: execution#pool).
//!
//! ```text
//! insert ─▶ entries ──┬─ senders:   nonces in order, in one lane for each committee   (account.rs)
//!                     ├─ lines:     for each committee, the first of each lane by price
//!                     ├─ standings: which transaction leaves a full pool              (standing.rs)
//!                     └─ records:   the statuses that callers read                    (status.rs)
//! ```
//!
//! A block takes the best transaction whose nonce is due, executes it, and goes on with the next of that sender, as the
//! reference does (Reference: execution#order-in-a-block). There, transactions with a gap before them are put aside and
//! come back, ahead of all others, as soon as the gap is closed; since they were taken out in order of price, what
//! comes back has a better price than all that remain. So the order is simply "the best among those whose nonce is
//! due", and only the first transaction of each lane needs a place in the line. A lane that begins with a gap is
//! parked, out of the line, until something about it changes.
//!
//! A transaction is executable if the nonces from the account's up to its own are pending and the balance covers all of
//! them, and gapped otherwise. Gapped transactions cost their sender nothing, so their number is limited for each sender, and
//! they leave a full pool first ([ADR 12](../../../../docs/adr/0012-full-pool.md)). The pool keeps the nonce and the balance of
//! each sender with pending transactions as they are at the published head: [`Settlement::accounts`] brings the changes.
//!
//! Nothing depends on the order of a hash map: those here are only looked up by key.

mod account;
mod error;
mod export;
mod line;
mod standing;
mod status;
#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::RangeInclusive,
};

use parking_lot::{Mutex, MutexGuard};
use silica_protocol::{Account, Address, BlockNumber, GasPrice, Nonce, Receipt, ShardId, Timestamp, TxHash};

use self::{
    account::{Sender, Slot},
    standing::{Class, Indexes},
};
pub use self::{
    error::PoolError,
    export::PoolImportError,
    status::{ModificationState, TxStatus},
};
pub(crate) use self::{
    export::{Contents, Exported, export, import},
    line::{Line, PoolLine},
    status::StatusRecord,
};
pub(crate) use crate::drop_reason::DropReason;
use crate::{admission::VerifiedTransaction, config::PoolLimits, epoch::Epochs};

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
    indexes: Indexes,
    /// By the time of arrival, for expiry.
    arrivals: BTreeMap<u64, TxHash>,
    /// By the time of the last change of status.
    updates: BTreeMap<u64, TxHash>,
    dropped: HashMap<TxHash, Dropped>,
    /// By the time of dropping.
    drops: BTreeMap<u64, TxHash>,
    /// Counts arrivals, changes and drops.
    clock: u64,
    /// The transaction that goes first in the next block.
    left_out: Option<TxHash>,
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
    /// Accounts that the block changed, as they are after it.
    pub(crate) accounts: &'a [(Address, Account)],
}

/// Why a transaction waits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Postponed {
    /// A lower nonce is missing.
    NonceHigh,
    /// The micro block had too little gas left.
    GasExceeded,
    /// The block had too little room for its work.
    NoRoom,
}

impl Pool {
    pub(crate) fn new(limits: PoolLimits, epochs: Epochs) -> Self {
        Self {
            limits,
            epochs,
            entries: HashMap::new(),
            senders: HashMap::new(),
            indexes: Indexes::default(),
            arrivals: BTreeMap::new(),
            updates: BTreeMap::new(),
            dropped: HashMap::new(),
            drops: BTreeMap::new(),
            clock: 0,
            left_out: None,
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
    ///
    /// `account` is the sender's at the published head. It is read only if no other transaction of the sender is pending.
    pub(crate) fn insert(
        &mut self,
        transaction: VerifiedTransaction,
        account: &Account,
        epoch: BlockNumber,
        at: Timestamp,
    ) -> Result<(), PoolError> {
        self.admit(transaction, account, self.limits.gapped_per_sender, epoch, at)
    }

    /// Adds a transaction that was pending before, as [`insert`](Self::insert) does, but whatever the number of the sender's
    /// gapped transactions: the sender had as many when the node stopped.
    pub(crate) fn restore(
        &mut self,
        transaction: VerifiedTransaction,
        account: &Account,
        epoch: BlockNumber,
        at: Timestamp,
    ) -> Result<(), PoolError> {
        self.admit(transaction, account, usize::MAX, epoch, at)
    }

    fn admit(
        &mut self,
        transaction: VerifiedTransaction,
        account: &Account,
        most_gapped: usize,
        epoch: BlockNumber,
        at: Timestamp,
    ) -> Result<(), PoolError> {
        let (hash, rank) = (transaction.hash(), Rank::of(&transaction));
        if self.entries.contains_key(&hash) {
            return Err(PoolError::Known { hash });
        }
        match self.rival(&transaction) {
            Some(rival) if rival < rank => {
                self.remember(dropped_record(transaction, DropReason::Outbid, epoch, epoch, at));
                return Err(PoolError::Outbid { by: rival.hash });
            }
            Some(rival) => self.replace(&rival.hash, transaction, epoch, at),
            None => {
                let class = self.check_sender(&transaction, account, most_gapped)?;
                self.make_room(&transaction, class, epoch, at)?;
                self.add(transaction, account, epoch, at);
            }
        }
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

    /// Checks the limits for each sender, and returns the class that a new transaction would have.
    fn check_sender(
        &self,
        transaction: &VerifiedTransaction,
        account: &Account,
        most_gapped: usize,
    ) -> Result<Class, PoolError> {
        let (address, nonce) = (transaction.sender(), transaction.transaction().nonce);
        let new = Sender::new(account);
        let sender = self.senders.get(&address).unwrap_or(&new);
        if sender.len() >= self.limits.per_sender {
            return Err(PoolError::SenderFull { sender: address, limit: self.limits.per_sender });
        }
        let class = sender.class_of_new(nonce, transaction.cost());
        if class == Class::Gapped && sender.gapped() >= most_gapped {
            return Err(PoolError::SenderGapped { sender: address, limit: most_gapped });
        }
        Ok(class)
    }

    /// Evicts a transaction if the pool is full and `new` is worth more than it.
    ///
    /// The sender of the transaction with the greatest standing loses the transaction with the highest nonce: this opens no gap,
    /// and none of the sender's transactions can be executed before a worse one that precedes it.
    fn make_room(
        &mut self,
        new: &VerifiedTransaction,
        class: Class,
        epoch: BlockNumber,
        at: Timestamp,
    ) -> Result<(), PoolError> {
        let limit = self.limits.transactions;
        if self.entries.len() < limit {
            return Ok(());
        }
        let evicted = self.evictable_for(new, class).ok_or(PoolError::Full { limit })?;
        self.drop(&evicted, DropReason::Evicted, epoch, at);
        Ok(())
    }

    fn evictable_for(&self, new: &VerifiedTransaction, class: Class) -> Option<TxHash> {
        let worst = self.indexes.standings.last()?;
        let pays_more = new.transaction().gas_price > worst.rank.price.0;
        if class > worst.class || (class == worst.class && !pays_more) {
            return None;
        }
        let sender = self.entries.get(&worst.rank.hash)?.record.transaction.sender();
        let (nonce, last) = self.senders.get(&sender)?.last()?;
        // Behind its own sender's worst transaction the new one is worth no more than that.
        let is_behind = sender == new.sender() && new.transaction().nonce > nonce;
        (!is_behind).then_some(last.hash)
    }

    fn add(&mut self, transaction: VerifiedTransaction, account: &Account, epoch: BlockNumber, at: Timestamp) {
        let sender = self.senders.entry(transaction.sender()).or_insert_with(|| Sender::new(account));
        let (nonce, slot) = (transaction.transaction().nonce, Slot::of(&transaction));
        sender.insert(transaction.committee(), nonce, slot, &mut self.indexes);
        self.record_arrival(transaction, epoch, at);
    }

    /// Puts a transaction in the place of another of the same sender with the same nonce.
    fn replace(&mut self, old: &TxHash, transaction: VerifiedTransaction, epoch: BlockNumber, at: Timestamp) {
        if let Some(record) = self.take(old) {
            self.remember(dropped_record(record.transaction, DropReason::Outbid, record.inserted, epoch, at));
        }
        if let Some(sender) = self.senders.get_mut(&transaction.sender()) {
            let (nonce, slot) = (transaction.transaction().nonce, Slot::of(&transaction));
            sender.replace(transaction.committee(), nonce, slot, &mut self.indexes);
        }
        self.record_arrival(transaction, epoch, at);
    }

    fn record_arrival(&mut self, transaction: VerifiedTransaction, epoch: BlockNumber, at: Timestamp) {
        let hash = transaction.hash();
        self.forget(&hash);
        let (arrival, update) = (self.tick(), self.tick());
        self.arrivals.insert(arrival, hash);
        self.updates.insert(update, hash);
        let record =
            StatusRecord { transaction, status: TxStatus::Dispatched, inserted: epoch, updated: epoch, modified: at };
        self.entries.insert(hash, Entry { record, arrival, update });
    }

    /// Up to `most` transactions that are the first of their sender's for `committee`, the best first, beginning after
    /// `after`. Their nonces may still not be due.
    pub(crate) fn heads(&self, committee: ShardId, after: Option<Rank>, most: usize) -> Vec<VerifiedTransaction> {
        use std::ops::Bound::{Excluded, Unbounded};
        let Some(line) = self.indexes.lines.get(&committee) else { return Vec::new() };
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

    /// Whether some transaction is in the line of a committee.
    pub(crate) fn has_candidates_of(&self, committee: ShardId) -> bool {
        self.indexes.lines.get(&committee).is_some_and(|line| !line.is_empty())
    }

    /// Returns the transaction that goes first in the next block, if there is one.
    pub(crate) fn left_out(&self) -> Option<VerifiedTransaction> {
        let transaction = &self.entries.get(&self.left_out?)?.record.transaction;
        let line = self.indexes.lines.get(&transaction.committee())?;
        line.contains(&Rank::of(transaction)).then(|| transaction.clone())
    }

    /// Chooses the transaction that goes first in the next block: one that found no room. Otherwise others with a higher
    /// price could leave it too little room in each block.
    ///
    /// The block after a block with such a transaction has none. So at least every second block follows the prices
    /// alone.
    fn choose_left_out(&mut self, settlement: &Settlement<'_>) {
        let Settlement { included, dropped, postponed, .. } = *settlement;
        let mut tried = included.iter().map(|(transaction, _)| transaction.hash());
        if let Some(first) = self.left_out().map(|transaction| transaction.hash()) {
            // A block of another kind, such as a vacuous one, tries nothing.
            let is_tried = tried.any(|hash| hash == first)
                || dropped.iter().any(|(transaction, _)| transaction.hash() == first)
                || postponed.iter().any(|(transaction, _)| transaction.hash() == first);
            self.left_out = Some(first).filter(|_| !is_tried);
            return;
        }
        let mut without_room = postponed.iter().filter(|(_, why)| *why == Postponed::NoRoom);
        self.left_out = without_room.next().map(|(transaction, _)| transaction.hash());
    }

    /// Whether some transaction is in line, so that a block may find one to execute.
    pub(crate) fn has_candidates(&self) -> bool {
        self.indexes.lines.values().any(|line| !line.is_empty())
    }

    /// Takes over what building a block found out.
    pub(crate) fn settle(&mut self, settlement: &Settlement<'_>) {
        let Settlement { block, at, included, dropped, postponed, accounts } = *settlement;
        // What waited for a nonce in one lane may have got it from another lane later in the same block, so lanes are
        // parked before the nonces that the block used up wake them.
        for (transaction, why) in postponed {
            self.postpone(transaction, *why, block, at);
        }
        self.choose_left_out(settlement);
        for (transaction, _) in included {
            if let Some(entry) = self.entries.get_mut(&transaction.hash()) {
                entry.record.status = TxStatus::Confirmed;
            }
        }
        for (address, account) in accounts {
            self.update(address, account, block, at);
        }
        for (transaction, reason) in dropped {
            self.drop(&transaction.hash(), *reason, block, at);
        }
        self.expire(block, at);
        self.forget_old(block);
    }

    /// Takes over an account as it is after a block. The transactions whose nonces are used up leave the pool; all but those in
    /// the block are dropped.
    pub(crate) fn update(&mut self, address: &Address, account: &Account, block: BlockNumber, at: Timestamp) {
        let Some(sender) = self.senders.get_mut(address) else { return };
        let used_up = sender.update(account, &mut self.indexes);
        if sender.len() == 0 {
            self.senders.remove(address);
        }
        for record in used_up.iter().filter_map(|hash| self.take(hash)).collect::<Vec<_>>() {
            if record.status != TxStatus::Confirmed {
                self.remember(dropped_record(record.transaction, DropReason::NonceTooLow, record.inserted, block, at));
            }
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
            Postponed::GasExceeded | Postponed::NoRoom => TxStatus::GasExceeded,
        };
        self.set_status(&transaction.hash(), status, block, at);
        let (committee, nonce) = (transaction.committee(), transaction.transaction().nonce);
        let Some(sender) = self.senders.get_mut(&transaction.sender()) else { return };
        let is_due = why != Postponed::NonceHigh;
        for hash in sender.postpone(committee, nonce, is_due, &mut self.indexes) {
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
        let record = self.take(hash)?;
        let address = record.transaction.sender();
        if let Some(sender) = self.senders.get_mut(&address) {
            sender.remove(record.transaction.transaction().nonce, &mut self.indexes);
            if sender.len() == 0 {
                self.senders.remove(&address);
            }
        }
        Some(record)
    }

    /// Takes out the entry of a transaction whose sender has no slot for it any more, or soon will not have.
    fn take(&mut self, hash: &TxHash) -> Option<StatusRecord> {
        let Entry { record, arrival, update } = self.entries.remove(hash)?;
        self.arrivals.remove(&arrival);
        self.updates.remove(&update);
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
    pool.lock()
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
