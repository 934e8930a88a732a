//! The indexes in which the transactions of all senders compete.

use std::collections::{BTreeMap, BTreeSet};

use silica_protocol::ShardId;

use super::Rank;

/// The indexes over the transactions of all senders.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    /// For each committee, the first transaction of each lane by rank.
    pub(super) lines: BTreeMap<ShardId, BTreeSet<Rank>>,
    /// All transactions by standing.
    pub(super) standings: BTreeSet<Standing>,
}

/// What decides which transaction leaves a full pool: the greatest standing leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Standing {
    pub(super) class: Class,
    pub(super) rank: Rank,
}

/// Whether a transaction can be executed from the state at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Its nonce follows the account's, or that of an executable transaction of the same sender, and the balance covers it
    /// together with all executable transactions before it.
    Executable,
    /// A lower nonce is missing, or the balance does not cover it.
    Gapped,
}
