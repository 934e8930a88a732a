//! One sender's pending transactions in order of their nonces, and which of them its account can execute.

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

/// One sender's transactions, a lane for each committee they go to, beside the sender's account at the head.
///
/// There are two lanes at most: the sender's shard and the DS committee.
///
/// Executable are the transactions with the nonces after [`nonce`](Self::nonce) up to [`executable`](Self::executable). None of
/// these nonces is missing, the balance covers the sum of their costs, and there is no longer such sequence.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    lanes: Vec<Lane>,
    /// The account's nonce.
    nonce: Nonce,
    /// The account's balance.
    balance: Qa,
    /// The highest nonce of an executable transaction; the account's nonce if there is none.
    executable: Nonce,
    /// The most that the executable transactions cost together.
    charged: Qa,
}

/// One sender's transactions for one committee.
///
/// Unless it is parked or empty, the first of them stands in the committee's line, under the rank in `listed`.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    committee: ShardId,
    by_nonce: BTreeMap<Nonce, Slot>,
    parked: bool,
    listed: Option<Rank>,
}

/// What a sender's lane has of a transaction.
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
    /// A sender without transactions.
    pub(super) fn new(account: &Account) -> Self {
        let Account { nonce, balance, .. } = *account;
        Self { lanes: Vec::new(), nonce, balance, executable: nonce, charged: Qa::ZERO }
    }

    /// Number of transactions in all lanes.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().fold(0, |sum, lane| sum.saturating_add(lane.by_nonce.len()))
    }

    /// Number of gapped transactions in all lanes.
    pub(super) fn gapped(&self) -> usize {
        let executable = self.executable.get().saturating_sub(self.nonce.get());
        self.len().saturating_sub(usize::try_from(executable).unwrap_or(usize::MAX))
    }

    /// The transaction with `nonce`, whichever lane it is in.
    pub(super) fn with_nonce(&self, nonce: Nonce) -> Option<Rank> {
        self.slot(nonce).map(|slot| slot.rank)
    }

    /// The transaction with the highest nonce.
    pub(super) fn last(&self) -> Option<(Nonce, Rank)> {
        let last = self.lanes.iter().filter_map(|lane| lane.by_nonce.last_key_value());
        last.max_by_key(|(nonce, _)| **nonce).map(|(nonce, slot)| (*nonce, slot.rank))
    }

    /// The first transaction with a nonce above `nonce` for `committee`.
    pub(super) fn following(&self, committee: ShardId, nonce: Nonce) -> Option<Rank> {
        let lane = self.lanes.iter().find(|lane| lane.committee == committee)?;
        lane.by_nonce.range(nonce.next()?..).next().map(|(_, slot)| slot.rank)
    }

    /// The nonces of all transactions.
    pub(super) fn nonces(&self) -> impl Iterator<Item = Nonce> {
        self.lanes.iter().flat_map(|lane| lane.by_nonce.keys().copied())
    }

    /// The class that a further transaction would have.
    pub(super) fn class_of_new(&self, nonce: Nonce, cost: Qa) -> Class {
        let follows = Some(nonce) == self.executable.next();
        if follows && self.covers(cost) { Class::Executable } else { Class::Gapped }
    }

    /// The class of the transaction with `nonce`.
    fn class(&self, nonce: Nonce) -> Class {
        if self.executables().contains(&nonce) { Class::Executable } else { Class::Gapped }
    }

    /// The nonces of the executable transactions.
    fn executables(&self) -> impl RangeBounds<Nonce> + use<> {
        (Bound::Excluded(self.nonce), Bound::Included(self.executable))
    }

    /// Adds a transaction with a nonce that no other has, and puts its lane in line.
    pub(super) fn insert(&mut self, committee: ShardId, nonce: Nonce, slot: Slot, indexes: &mut Indexes) {
        let class = self.class_of_new(nonce, slot.cost);
        self.place(committee, nonce, slot, class, indexes);
        if class == Class::Executable {
            self.charge(nonce, slot.cost);
            self.extend(indexes);
        }
    }

    /// Puts a transaction in the place of the one with the same nonce, and its lane in line.
    pub(super) fn replace(&mut self, committee: ShardId, nonce: Nonce, slot: Slot, indexes: &mut Indexes) {
        let class = self.class(nonce);
        let Some(old) = self.unplace(nonce, class, indexes) else { return };
        if class == Class::Gapped {
            // The old one may have been gapped only because the balance does not cover it.
            return self.insert(committee, nonce, slot, indexes);
        }
        // The later ones keep their class unless the new cost leaves too little for them.
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

    /// Removes a transaction. Those after it are gapped from then on.
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

    /// Takes over the account at a new head. Removes the transactions whose nonces are used up, and returns them.
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

    /// Removes the transactions up to `nonce`. The account has executed these nonces, so that those after them stay what
    /// they are.
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

    /// Takes the lane for `committee` out of the line if `nonce` is its first, which is not due. Returns the transactions
    /// after it.
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

    /// Puts all lanes in line: their first nonces may be due.
    fn unpark(&mut self, indexes: &mut Indexes) {
        for lane in &mut self.lanes {
            lane.parked = false;
            lane.list(indexes);
        }
    }

    fn slot(&self, nonce: Nonce) -> Option<Slot> {
        self.lanes.iter().find_map(|lane| lane.by_nonce.get(&nonce).copied())
    }

    /// The lane for `committee`, which is created when there is none.
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

    /// Whether the balance covers `cost` beside what is charged.
    fn covers(&self, cost: Qa) -> bool {
        self.charged.checked_add(cost).is_some_and(|sum| sum <= self.balance)
    }

    fn charge(&mut self, nonce: Nonce, cost: Qa) {
        self.charged = more(self.charged, cost);
        self.executable = nonce;
    }

    /// Makes the gapped transactions executable that follow without a gap and are covered.
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

    /// Makes the executable transaction with the highest nonce a gapped one.
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
