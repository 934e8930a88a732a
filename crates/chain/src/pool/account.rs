//! The pending transactions of one sender in order of their nonces, and their classes.
//!
//! The documentation of the module [`pool`](super) defines the terms lane, line and parked.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, RangeBounds},
};

use silica_protocol::{Account, Nonce, Qa, ShardId, TxHash};

use super::{
    Rank,
    standing::{Class, Indexes, Standing},
};
use crate::admission::VerifiedTransaction;

/// The pending transactions of a sender, with a lane for each committee, and the account of the sender at the head.
///
/// A sender has at most two lanes: one for its shard and one for the DS committee.
///
/// The executable transactions have the nonces after [`nonce`](Self::nonce) up to [`executable`](Self::executable). The
/// sequence is as long as possible: none of these nonces is missing, and the balance covers the sum of the costs.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    lanes: Vec<Lane>,
    /// Nonce of the account.
    nonce: Nonce,
    /// Balance of the account.
    balance: Qa,
    /// Highest nonce of an executable transaction, or the nonce of the account if no transaction is executable.
    executable: Nonce,
    /// Sum of the costs of all executable transactions. The cost of a transaction is its amount plus its deposit, in
    /// Qa.
    charged: Qa,
}

/// The pending transactions of a sender for one committee.
///
/// The first transaction is in the line of the committee with the rank in `listed`. A parked or an empty lane is not in
/// the line.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    committee: ShardId,
    by_nonce: BTreeMap<Nonce, Slot>,
    parked: bool,
    listed: Option<Rank>,
}

/// The entry of a transaction in a lane: its rank, and its amount plus its deposit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    rank: Rank,
    cost: Qa,
}

impl Slot {
    pub(super) fn of(transaction: &VerifiedTransaction) -> Self {
        Self { rank: Rank::of(transaction), cost: transaction.cost() }
    }
}

impl Sender {
    /// Returns a sender without transactions.
    pub(super) fn new(account: &Account) -> Self {
        let Account { nonce, balance, .. } = *account;
        Self { lanes: Vec::new(), nonce, balance, executable: nonce, charged: Qa::ZERO }
    }

    /// Returns the number of transactions in all lanes.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().fold(0, |sum, lane| sum.saturating_add(lane.by_nonce.len()))
    }

    /// Returns the hashes of the transactions in all lanes.
    pub(super) fn hashes(&self) -> impl Iterator<Item = TxHash> {
        self.lanes.iter().flat_map(|lane| lane.by_nonce.values().map(|slot| slot.rank.hash))
    }

    /// Returns the number of gapped transactions in all lanes.
    pub(super) fn gapped(&self) -> usize {
        let executable = self.executable.get().saturating_sub(self.nonce.get());
        self.len().saturating_sub(usize::try_from(executable).unwrap_or(usize::MAX))
    }

    /// Returns the rank of the transaction with `nonce` in any lane, or `None` if it does not exist.
    pub(super) fn with_nonce(&self, nonce: Nonce) -> Option<Rank> {
        self.slot(nonce).map(|slot| slot.rank)
    }

    /// Returns the highest nonce of a transaction and the rank of this transaction, or `None` without transactions.
    pub(super) fn last(&self) -> Option<(Nonce, Rank)> {
        let last = self.lanes.iter().filter_map(|lane| lane.by_nonce.last_key_value());
        last.max_by_key(|(nonce, _)| **nonce).map(|(nonce, slot)| (*nonce, slot.rank))
    }

    /// Returns the rank of the first transaction for `committee` with a nonce above `nonce`, if any.
    pub(super) fn following(&self, committee: ShardId, nonce: Nonce) -> Option<Rank> {
        let lane = self.lanes.iter().find(|lane| lane.committee == committee)?;
        lane.by_nonce.range(nonce.next()?..).next().map(|(_, slot)| slot.rank)
    }

    /// Returns the nonces of all transactions.
    pub(super) fn nonces(&self) -> impl Iterator<Item = Nonce> {
        self.lanes.iter().flat_map(|lane| lane.by_nonce.keys().copied())
    }

    /// Returns the class that a new transaction would have.
    pub(super) fn class_of_new(&self, nonce: Nonce, cost: Qa) -> Class {
        let follows = Some(nonce) == self.executable.next();
        if follows && self.covers(cost) { Class::Executable } else { Class::Gapped }
    }

    /// Returns the class of the transaction with `nonce`.
    fn class(&self, nonce: Nonce) -> Class {
        if self.executables().contains(&nonce) { Class::Executable } else { Class::Gapped }
    }

    /// Returns the nonces of the executable transactions.
    fn executables(&self) -> impl RangeBounds<Nonce> + use<> {
        (Bound::Excluded(self.nonce), Bound::Included(self.executable))
    }

    /// Adds a transaction with a new nonce, and puts its lane in the line.
    pub(super) fn insert(&mut self, committee: ShardId, nonce: Nonce, slot: Slot, indexes: &mut Indexes) {
        let class = self.class_of_new(nonce, slot.cost);
        self.place(committee, nonce, slot, class, indexes);
        if class == Class::Executable {
            self.charge(nonce, slot.cost);
            self.extend(indexes);
        }
    }

    /// Replaces the transaction with the same nonce, and puts the lane in the line.
    pub(super) fn replace(&mut self, committee: ShardId, nonce: Nonce, slot: Slot, indexes: &mut Indexes) {
        let class = self.class(nonce);
        let Some(old) = self.unplace(nonce, class, indexes) else { return };
        if class == Class::Gapped {
            // The old transaction can be gapped because of its cost. The new cost can be lower, so the new transaction
            // can be executable.
            return self.insert(committee, nonce, slot, indexes);
        }
        // The later transactions stay executable if the balance covers them in addition to the new cost.
        self.charged = less(self.charged, old.cost);
        while !self.covers(slot.cost) && self.executable > nonce {
            self.demote_last(indexes);
        }
        if self.covers(slot.cost) {
            self.charged = more(self.charged, slot.cost);
            self.place(committee, nonce, slot, Class::Executable, indexes);
        } else {
            self.executable = nonce.previous().unwrap_or(self.nonce);
            self.place(committee, nonce, slot, Class::Gapped, indexes);
        }
        self.extend(indexes);
    }

    /// Removes a transaction. All transactions with higher nonces become gapped.
    pub(super) fn remove(&mut self, nonce: Nonce, indexes: &mut Indexes) {
        let class = self.class(nonce);
        if class == Class::Executable {
            while self.executable > nonce {
                self.demote_last(indexes);
            }
        }
        let removed = self.unplace(nonce, class, indexes);
        if let (Some(slot), Class::Executable) = (removed, class) {
            self.charged = less(self.charged, slot.cost);
            self.executable = nonce.previous().unwrap_or(self.nonce);
        }
    }

    /// Applies the account at a new head. Removes the transactions whose nonces are used, and returns their hashes.
    pub(super) fn update(&mut self, account: &Account, indexes: &mut Indexes) -> Vec<TxHash> {
        let used_up = self.use_up(account.nonce, indexes);
        if account.nonce != self.nonce {
            self.unpark(indexes);
        }
        if account.nonce < self.nonce {
            while self.executable > self.nonce {
                self.demote_last(indexes);
            }
            self.executable = account.nonce;
        }
        self.executable = self.executable.max(account.nonce);
        (self.nonce, self.balance) = (account.nonce, account.balance);
        while self.charged > self.balance {
            self.demote_last(indexes);
        }
        self.extend(indexes);
        used_up
    }

    /// Removes the transactions up to `nonce`, and returns their hashes. The classes of later transactions do not
    /// change, because the account has executed these nonces.
    fn use_up(&mut self, nonce: Nonce, indexes: &mut Indexes) -> Vec<TxHash> {
        let (mut used_up, executables) = (Vec::new(), self.executables());
        for lane in &mut self.lanes {
            while let Some(first) = lane.by_nonce.first_entry().filter(|first| *first.key() <= nonce) {
                let (nonce, Slot { rank, cost }) = first.remove_entry();
                let mut class = Class::Gapped;
                if executables.contains(&nonce) {
                    class = Class::Executable;
                    self.charged = less(self.charged, cost);
                }
                indexes.standings.remove(&Standing { class, rank });
                used_up.push(rank.hash);
            }
            lane.list(indexes);
        }
        used_up
    }

    /// Parks the lane for `committee` if `nonce` is its first nonce and `is_due` is false. Returns the hashes of the
    /// transactions after `nonce`.
    pub(super) fn postpone(
        &mut self,
        committee: ShardId,
        nonce: Nonce,
        is_due: bool,
        indexes: &mut Indexes,
    ) -> Vec<TxHash> {
        let lane = self.lane(committee);
        if !is_due && lane.by_nonce.first_key_value().is_some_and(|(first, _)| *first == nonce) {
            lane.parked = true;
            lane.list(indexes);
        }
        let Some(next) = nonce.next() else { return Vec::new() };
        lane.by_nonce.range(next..).map(|(_, slot)| slot.rank.hash).collect()
    }

    /// Puts all lanes in the line: their first nonces can be due.
    fn unpark(&mut self, indexes: &mut Indexes) {
        for lane in &mut self.lanes {
            lane.parked = false;
            lane.list(indexes);
        }
    }

    fn slot(&self, nonce: Nonce) -> Option<Slot> {
        self.lanes.iter().find_map(|lane| lane.by_nonce.get(&nonce).copied())
    }

    /// Returns the lane for `committee`, and creates it if it is missing.
    fn lane(&mut self, committee: ShardId) -> &mut Lane {
        let position = self.lanes.iter().position(|lane| lane.committee == committee).unwrap_or_else(|| {
            self.lanes.push(Lane { committee, by_nonce: BTreeMap::new(), parked: false, listed: None });
            self.lanes.len().saturating_sub(1)
        });
        self.lanes.get_mut(position).expect("the position was found or pushed above")
    }

    fn place(&mut self, committee: ShardId, nonce: Nonce, slot: Slot, class: Class, indexes: &mut Indexes) {
        indexes.standings.insert(Standing { class, rank: slot.rank });
        let lane = self.lane(committee);
        lane.by_nonce.insert(nonce, slot);
        lane.parked = false;
        lane.list(indexes);
    }

    fn unplace(&mut self, nonce: Nonce, class: Class, indexes: &mut Indexes) -> Option<Slot> {
        let lane = self.lanes.iter_mut().find(|lane| lane.by_nonce.contains_key(&nonce))?;
        let slot = lane.by_nonce.remove(&nonce)?;
        lane.list(indexes);
        indexes.standings.remove(&Standing { class, rank: slot.rank });
        Some(slot)
    }

    /// Returns whether the balance covers `cost` in addition to all executable transactions.
    fn covers(&self, cost: Qa) -> bool {
        self.charged.checked_add(cost).is_some_and(|sum| sum <= self.balance)
    }

    fn charge(&mut self, nonce: Nonce, cost: Qa) {
        self.charged = more(self.charged, cost);
        self.executable = nonce;
    }

    /// Extends the sequence of executable transactions as far as nonces and balance permit.
    fn extend(&mut self, indexes: &mut Indexes) {
        while let Some(nonce) = self.executable.next()
            && let Some(Slot { rank, cost }) = self.slot(nonce)
            && self.covers(cost)
        {
            indexes.standings.remove(&Standing { class: Class::Gapped, rank });
            indexes.standings.insert(Standing { class: Class::Executable, rank });
            self.charge(nonce, cost);
        }
    }

    /// Changes the executable transaction with the highest nonce to a gapped one.
    fn demote_last(&mut self, indexes: &mut Indexes) {
        let Slot { rank, cost } = self.slot(self.executable).expect("no nonce of an executable transaction is missing");
        indexes.standings.remove(&Standing { class: Class::Executable, rank });
        indexes.standings.insert(Standing { class: Class::Gapped, rank });
        self.charged = less(self.charged, cost);
        self.executable = self.executable.previous().unwrap_or(self.nonce);
    }
}

impl Lane {
    fn list(&mut self, indexes: &mut Indexes) {
        let head = self.by_nonce.first_key_value().map(|(_, slot)| slot.rank).filter(|_| !self.parked);
        if head == self.listed {
            return;
        }
        let line: &mut BTreeSet<Rank> = indexes.lines.entry(self.committee).or_default();
        if let Some(listed) = self.listed {
            line.remove(&listed);
        }
        line.extend(head);
        self.listed = head;
    }
}

fn more(charged: Qa, cost: Qa) -> Qa {
    charged.checked_add(cost).expect("what is charged is at most the balance")
}

fn less(charged: Qa, cost: Qa) -> Qa {
    charged.checked_sub(cost).expect("the cost of an executable transaction is charged")
}
