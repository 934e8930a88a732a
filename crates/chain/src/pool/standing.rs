//! The indexes over the transactions of all senders.

use std::collections::{BTreeMap, BTreeSet};

use silica_protocol::ShardId;

use super::Rank;

/// The indexes over the transactions of all senders.
#[derive(Clone, Debug, Default)]
pub(super) struct Indexes {
    /// For each committee, the first transaction of each lane that is not parked, the best rank first.
    pub(super) lines: BTreeMap<ShardId, BTreeSet<Rank>>,
    /// All transactions. If the pool is full, the last of them determines the sender that loses a transaction.
    pub(super) standings: BTreeSet<Standing>,
}

/// The place of a transaction in the order of eviction. A greater standing is evicted earlier: gapped before
/// executable, then the lower gas price, then the greater hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Standing {
    pub(super) class: Class,
    pub(super) rank: Rank,
}

/// The class of a transaction: whether the account at the head permits its execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// The nonce follows the nonce of the account or of another executable transaction of the sender. The balance
    /// covers the cost of this transaction and of all executable transactions before it.
    Executable,
    /// A lower nonce is missing, or the balance does not cover the cost.
    Gapped,
}
