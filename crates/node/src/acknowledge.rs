//! When a member of a network acknowledges a transaction.

/// When a member of a network acknowledges a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Acknowledge {
    /// When a third of the other members, rounded down, have confirmed the transaction, or after 250 ms.
    Relayed,
    /// When the pool of this member has the transaction.
    Pool,
    /// When this member has committed the block of the transaction, or after 30 s.
    Block,
}
