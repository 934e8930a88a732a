//! The pool: pending transactions (Reference: execution#pool).
//!
//! ```text
//! insert ─▶ entries ──┬─ senders:   nonces in order, in one lane for each committee   (account.rs)
//!                     ├─ lines:     for each committee, the first of each lane by price
//!                     ├─ standings: which transaction leaves a full pool              (standing.rs)
//!                     └─ records:   the statuses that callers read                    (status.rs)
//! ```
//!
//! A *lane* has the pending transactions of one sender for one committee. The *line* of a committee has the first
//! transaction of each of its lanes, the highest gas price first.
//!
//! A block takes the best transaction whose nonce is the next of its sender, and continues with the next transaction of
//! that sender (Reference: execution#order-in-a-block). The reference takes transactions in order of price. It skips a
//! transaction with a nonce gap, and takes this transaction before all others as soon as the gap is closed. All
//! remaining transactions have a worse rank at that time. So the reference and this pool select the same transactions,
//! and the line needs only the first transaction of each lane. A lane that begins with a gap is *parked*. It is not in
//! the line until its transactions or the nonce of its sender change.
//!
//! A transaction is executable under two conditions. The pool has all transactions of the sender from the next nonce of
//! the account up to this transaction. The balance covers the costs of all of them. Otherwise the transaction is
//! gapped. Gapped transactions cost their sender nothing. Therefore each sender has a limited number of them, and a
//! full pool evicts them first ([ADR 12](../../../../docs/adr/0012-full-pool.md)). The pool keeps the nonce and the
//! balance of each sender at the published head. [`Settlement::accounts`] has their changes.
//!
//! The order of a hash map has no effect: the hash maps here are only used for look-ups by key.

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
    ops::{Bound, RangeInclusive},
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
    line::{BATCH, Line, PoolLine},
    status::StatusRecord,
};
pub(crate) use crate::drop_reason::DropReason;
use crate::{admission::VerifiedTransaction, config::PoolLimits, epoch::Epochs};

/// The order between transactions of different senders: the highest gas price first, then the smallest hash.
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

/// Pending transactions, and the statuses of dropped ones.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    limits: PoolLimits,
    epochs: Epochs,
    entries: HashMap<TxHash, Entry>,
    senders: HashMap<Address, Sender>,
    indexes: Indexes,
    /// Pending transactions by the value of `clock` at their arrival, for expiry.
    arrivals: BTreeMap<u64, TxHash>,
    /// Pending transactions by the value of `clock` at the last change of their status.
    updates: BTreeMap<u64, TxHash>,
    dropped: HashMap<TxHash, Dropped>,
    /// Dropped transactions by the value of `clock` at their drop.
    drops: BTreeMap<u64, TxHash>,
    /// Counter of arrivals, changes of status and drops. It orders these events.
    clock: u64,
    /// The transaction that comes first in the next block, because an earlier block had no room for it.
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

/// The epoch, the time and the origin of a transaction that enters the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The Tx epoch of the first arrival of the transaction. The lifetime of the transaction begins with this epoch.
    pub(crate) epoch: BlockNumber,
    /// The current time.
    pub(crate) at: Timestamp,
    /// Whether the transaction was pending when the node stopped.
    pub(crate) restored: bool,
}

/// The results of a block for the transactions of the pool.
#[derive(Debug)]
pub(crate) struct Settlement<'a> {
    /// Number of the block.
    pub(crate) block: BlockNumber,
    /// Timestamp of the block.
    pub(crate) at: Timestamp,
    /// Transactions in the block.
    pub(crate) included: &'a [(VerifiedTransaction, Receipt)],
    /// Transactions that can never be in a block.
    pub(crate) dropped: &'a [(VerifiedTransaction, DropReason)],
    /// Transactions that the block tried and left in the pool.
    pub(crate) postponed: &'a [(VerifiedTransaction, Postponed)],
    /// The changed accounts, in their state after the block.
    pub(crate) accounts: &'a [(Address, Account)],
}

/// Reason why a block left a transaction in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Postponed {
    /// A lower nonce is missing.
    NonceHigh,
    /// The micro block had too little gas left.
    GasExceeded,
    /// The block had too little work or too few bytes left.
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

    /// Returns the number of pending transactions.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of transactions with a status: the pending and the dropped ones.
    pub(crate) fn remembered(&self) -> usize {
        self.entries.len().saturating_add(self.dropped.len())
    }

    /// Adds a transaction. Of two transactions with the same sender and nonce, the pool keeps the better ranked one.
    ///
    /// `account` is the account of the sender at the published head. If another transaction of the sender is pending,
    /// the pool ignores `account`.
    pub(crate) fn insert(
        &mut self,
        transaction: VerifiedTransaction,
        account: &Account,
        arrival: Arrival,
    ) -> Result<(), PoolError> {
        let Arrival { epoch, at, restored } = arrival;
        // A restored transaction was pending under the limit in force before the stop, which can have been higher. So
        // the current limit does not apply to it.
        let most_gapped = if restored { usize::MAX } else { self.limits.gapped_per_sender };
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

    /// Returns the rank of the pending transaction with the same sender and nonce, or `None` if it does not exist.
    fn rival(&self, transaction: &VerifiedTransaction) -> Option<Rank> {
        self.senders.get(&transaction.sender())?.with_nonce(transaction.transaction().nonce)
    }

    /// Returns the nonces of the pending transactions of a sender.
    pub(crate) fn nonces(&self, sender: &Address) -> BTreeSet<Nonce> {
        self.senders.get(sender).map(|sender| sender.nonces().collect()).unwrap_or_default()
    }

    /// Checks the limits of the sender, and returns the class that a new transaction would have.
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

    /// Evicts a transaction if the pool is full. The worst transaction is the last one in the order of
    /// [`standing::Standing`]. The function fails unless `new` has a better class than the worst transaction, or the
    /// same class and a higher gas price. It also fails if `new` would have the highest nonce of the sender of the
    /// worst transaction.
    ///
    /// The function evicts the transaction with the highest nonce of the sender of the worst transaction. So the
    /// eviction opens no nonce gap.
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
        // The new transaction would follow all others of the sender. So the sender could not execute it before the
        // worst one.
        let is_behind = sender == new.sender() && new.transaction().nonce > nonce;
        (!is_behind).then_some(last.hash)
    }

    fn add(&mut self, transaction: VerifiedTransaction, account: &Account, epoch: BlockNumber, at: Timestamp) {
        let sender = self.senders.entry(transaction.sender()).or_insert_with(|| Sender::new(account));
        let (nonce, slot) = (transaction.transaction().nonce, Slot::of(&transaction));
        sender.insert(transaction.committee(), nonce, slot, &mut self.indexes);
        self.record_arrival(transaction, epoch, at);
    }

    /// Replaces a transaction by a new transaction of the same sender with the same nonce.
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

    /// Returns up to `most` transactions from the line of `committee`, the best first, beginning after `after`. Some of
    /// them can have a nonce gap.
    pub(crate) fn heads(&self, committee: ShardId, after: Option<Rank>, most: usize) -> Vec<VerifiedTransaction> {
        use std::ops::Bound::{Excluded, Unbounded};
        let Some(line) = self.indexes.lines.get(&committee) else { return Vec::new() };
        line.range((after.map_or(Unbounded, Excluded), Unbounded))
            .take(most)
            .filter_map(|rank| self.entries.get(&rank.hash))
            .map(|entry| entry.record.transaction.clone())
            .collect()
    }

    /// Returns the next pending transaction of the same sender for the same committee, with or without a nonce gap
    /// between the two transactions. Returns `None` after the last transaction.
    pub(crate) fn following(&self, transaction: &VerifiedTransaction) -> Option<VerifiedTransaction> {
        let sender = self.senders.get(&transaction.sender())?;
        let rank = sender.following(transaction.committee(), transaction.transaction().nonce)?;
        self.entries.get(&rank.hash).map(|entry| entry.record.transaction.clone())
    }

    /// Returns whether the line of a committee has a transaction.
    pub(crate) fn has_candidates_of(&self, committee: ShardId) -> bool {
        self.indexes.lines.get(&committee).is_some_and(|line| !line.is_empty())
    }

    /// Returns the transaction that comes first in the next block. Returns `None` if the pool has chosen no
    /// transaction, or the chosen transaction is not in a line.
    pub(crate) fn left_out(&self) -> Option<VerifiedTransaction> {
        let transaction = &self.entries.get(&self.left_out?)?.record.transaction;
        let line = self.indexes.lines.get(&transaction.committee())?;
        line.contains(&Rank::of(transaction)).then(|| transaction.clone())
    }

    /// Chooses the transaction that comes first in the next block: the first transaction that the block of `settlement`
    /// had no room for. Without this choice, transactions with higher prices could take the room of this transaction in
    /// every block.
    ///
    /// After a block that tried the chosen transaction, the function chooses no transaction. So at least every second
    /// block is in the order of prices.
    fn choose_left_out(&mut self, settlement: &Settlement<'_>) {
        let Settlement { included, dropped, postponed, .. } = *settlement;
        let mut tried = included.iter().map(|(transaction, _)| transaction.hash());
        if let Some(first) = self.left_out().map(|transaction| transaction.hash()) {
            // A vacuous block, for example, tries no transaction. Then the choice stays.
            let is_tried = tried.any(|hash| hash == first)
                || dropped.iter().any(|(transaction, _)| transaction.hash() == first)
                || postponed.iter().any(|(transaction, _)| transaction.hash() == first);
            self.left_out = Some(first).filter(|_| !is_tried);
            return;
        }
        let mut without_room = postponed.iter().filter(|(_, why)| *why == Postponed::NoRoom);
        self.left_out = without_room.next().map(|(transaction, _)| transaction.hash());
    }

    /// Returns whether any line has a transaction, so that the next block may execute one.
    pub(crate) fn has_candidates(&self) -> bool {
        self.indexes.lines.values().any(|line| !line.is_empty())
    }

    /// Applies the results of a block to the pool.
    pub(crate) fn settle(&mut self, settlement: &Settlement<'_>) {
        let Settlement { block, at, included, dropped, postponed, accounts } = *settlement;
        // Lanes are parked before the nonces of the accounts change, because a changed nonce ends the parking. A lane
        // of a shard can need a nonce that a transaction of the DS committee uses later in the same block.
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

    /// Applies the state of an account after a block. Transactions whose nonces are used leave the pool. They get the
    /// status [`DropReason::NonceTooLow`], unless they are in the block.
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

    /// Applies a range of empty blocks. The first block has the timestamp `at`, and the timestamp of each later block
    /// is one microsecond later.
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

    /// Removes a pending transaction and records the reason.
    fn drop(&mut self, hash: &TxHash, reason: DropReason, block: BlockNumber, at: Timestamp) {
        if let Some(record) = self.remove(hash) {
            self.remember(dropped_record(record.transaction, reason, record.inserted, block, at));
        }
    }

    /// Drops a pending transaction during the Tx epoch `epoch`. Returns whether the transaction was pending.
    pub(crate) fn withdraw(&mut self, hash: &TxHash, epoch: BlockNumber, at: Timestamp) -> bool {
        let waits = self.entries.contains_key(hash);
        self.drop(hash, DropReason::Withdrawn, epoch, at);
        waits
    }

    /// Drops all pending transactions during the Tx epoch `epoch`, the oldest first. Returns their number.
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

    /// Removes the entry of a transaction. The caller also removes the transaction from its [`Sender`], before or after
    /// this call.
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

    /// Returns the status of a transaction, or `None` if the pool has no status for the hash.
    pub(crate) fn record(&self, hash: &TxHash) -> Option<&StatusRecord> {
        let waiting = self.entries.get(hash).map(|entry| &entry.record);
        waiting.or_else(|| self.dropped.get(hash).map(|dropped| &dropped.record))
    }

    /// Returns up to `most` pending transactions, the latest change of status first.
    pub(crate) fn pending(&self, most: usize) -> Vec<(TxHash, TxStatus)> {
        let latest = self.updates.values().rev();
        latest.filter_map(|hash| Some((*hash, self.entries.get(hash)?.record.status))).take(most).collect()
    }

    /// Returns up to `most` pending transactions with the numbers of their arrivals, the oldest first. The first
    /// arrival is after `after` if it is given. With `sender`, returns only transactions of this sender. The cost grows
    /// with `most`, or with the number of transactions of the sender.
    pub(crate) fn arrived_after(
        &self,
        after: Option<u64>,
        sender: Option<&Address>,
        most: usize,
    ) -> Vec<(u64, &StatusRecord)> {
        let of = |hash: &TxHash| self.entries.get(hash).map(|entry| (entry.arrival, &entry.record));
        let Some(sender) = sender else {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            return self.arrivals.range((from, Bound::Unbounded)).filter_map(|(_, hash)| of(hash)).take(most).collect();
        };
        let own = self.senders.get(sender).into_iter().flat_map(Sender::hashes).filter_map(|hash| of(&hash));
        let mut own: Vec<_> = own.filter(|(arrival, _)| after.is_none_or(|after| *arrival > after)).collect();
        own.sort_unstable_by_key(|(arrival, _)| *arrival);
        own.truncate(most);
        own
    }

    /// Returns the pending transactions with the epoch of their arrival, the oldest first.
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

/// Locks the pool. A panic does not poison this lock. Each operation leaves the pool in a valid state.
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
