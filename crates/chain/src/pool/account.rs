//! One sender's waiting transactions, in order of their nonces.

use std::collections::{BTreeMap, BTreeSet};

use silica_protocol::{Nonce, ShardId, TxHash};

use super::Rank;

/// One sender's transactions, a lane for each committee they go to.
///
/// There are two lanes at most: the sender's shard and the DS committee.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
    lanes: Vec<Lane>,
}

/// One sender's transactions for one committee.
///
/// Unless it is parked or empty, the first of them stands in the committee's line, under the rank in `listed`.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    committee: ShardId,
    by_nonce: BTreeMap<Nonce, Rank>,
    parked: bool,
    listed: Option<Rank>,
}

impl Sender {
    /// Number of transactions in all lanes.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().fold(0, |sum, lane| sum.saturating_add(lane.by_nonce.len()))
    }

    /// The transaction with `nonce`, whichever lane it is in.
    pub(super) fn with_nonce(&self, nonce: Nonce) -> Option<Rank> {
        self.lanes.iter().find_map(|lane| lane.by_nonce.get(&nonce).copied())
    }

    /// The transactions with `nonce` or a lower one.
    pub(super) fn up_to(&self, nonce: Nonce) -> Vec<TxHash> {
        let of_lane = |lane: &Lane| lane.by_nonce.range(..=nonce).map(|(_, rank)| rank.hash).collect::<Vec<_>>();
        self.lanes.iter().flat_map(of_lane).collect()
    }

    /// The first transaction with a nonce above `nonce` for `committee`.
    pub(super) fn following(&self, committee: ShardId, nonce: Nonce) -> Option<Rank> {
        let lane = self.lanes.iter().find(|lane| lane.committee == committee)?;
        lane.by_nonce.range(nonce.next()?..).next().map(|(_, rank)| *rank)
    }

    /// The nonces of all transactions.
    pub(super) fn nonces(&self) -> impl Iterator<Item = Nonce> {
        self.lanes.iter().flat_map(|lane| lane.by_nonce.keys().copied())
    }

    /// All lanes.
    pub(super) fn lanes(&mut self) -> impl Iterator<Item = &mut Lane> {
        self.lanes.iter_mut()
    }

    /// The lane for `committee`, which is created when there is none.
    pub(super) fn lane(&mut self, committee: ShardId) -> &mut Lane {
        let position = self.lanes.iter().position(|lane| lane.committee == committee).unwrap_or_else(|| {
            self.lanes.push(Lane { committee, by_nonce: BTreeMap::new(), parked: false, listed: None });
            self.lanes.len().saturating_sub(1)
        });
        self.lanes.get_mut(position).expect("the position was found or pushed above")
    }
}

impl Lane {
    pub(super) fn committee(&self) -> ShardId {
        self.committee
    }

    /// The lowest nonce.
    pub(super) fn head_nonce(&self) -> Option<Nonce> {
        self.by_nonce.first_key_value().map(|(nonce, _)| *nonce)
    }

    /// The transactions with nonces above `nonce`.
    pub(super) fn after(&self, nonce: Nonce) -> Vec<TxHash> {
        let Some(next) = nonce.next() else { return Vec::new() };
        self.by_nonce.range(next..).map(|(_, rank)| rank.hash).collect()
    }

    /// Adds a transaction; `unpark` puts the lane in line afterwards.
    pub(super) fn insert(&mut self, nonce: Nonce, rank: Rank) {
        self.by_nonce.insert(nonce, rank);
    }

    /// Removes a transaction and lets the next one take its place in the line.
    pub(super) fn remove(&mut self, nonce: Nonce, line: &mut BTreeSet<Rank>) {
        self.by_nonce.remove(&nonce);
        self.list(line);
    }

    /// Takes the lane out of the line: its first nonce is not due.
    pub(super) fn park(&mut self, line: &mut BTreeSet<Rank>) {
        self.parked = true;
        self.list(line);
    }

    /// Puts the lane in line: its first nonce may be due.
    pub(super) fn unpark(&mut self, line: &mut BTreeSet<Rank>) {
        self.parked = false;
        self.list(line);
    }

    fn list(&mut self, line: &mut BTreeSet<Rank>) {
        let head = self.by_nonce.first_key_value().map(|(_, rank)| *rank).filter(|_| !self.parked);
        if head == self.listed {
            return;
        }
        if let Some(listed) = self.listed {
            line.remove(&listed);
        }
        line.extend(head);
        self.listed = head;
    }
}
