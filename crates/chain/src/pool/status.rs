//! The status of a submitted transaction (Reference: execution#statuses).

use silica_protocol::{BlockNumber, Timestamp};

use crate::{admission::VerifiedTransaction, drop_reason::DropReason};

/// The status of a submitted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxStatus {
    /// The transaction is in the pool, and no block has tried it.
    Dispatched,
    /// The transaction is in a Tx block.
    Confirmed,
    /// The transaction is pending: a lower nonce is missing.
    NonceHigh,
    /// The transaction is pending: the last block that tried it had too little gas or work left.
    GasExceeded,
    /// The transaction was dropped, and did not use its nonce.
    Dropped(DropReason),
}

/// The group of a status in responses (`modificationState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ModificationState {
    /// The transaction is in the pool, and no block has tried it.
    Dispatched = 0,
    /// A block has tried and postponed the transaction.
    InProcess = 1,
    /// The transaction is confirmed or dropped.
    Final = 2,
}

impl TxStatus {
    /// Returns the status code that clients get.
    pub const fn code(self) -> u8 {
        match self {
            Self::Dispatched => 1,
            Self::Confirmed => 3,
            Self::NonceHigh => 4,
            Self::GasExceeded => 5,
            Self::Dropped(reason) => reason.code(),
        }
    }

    /// Returns the group of this status.
    pub const fn state(self) -> ModificationState {
        match self {
            Self::Dispatched => ModificationState::Dispatched,
            Self::NonceHigh | Self::GasExceeded => ModificationState::InProcess,
            Self::Confirmed | Self::Dropped(_) => ModificationState::Final,
        }
    }
}

impl ModificationState {
    /// Returns the number that clients get.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// A transaction and its status in the pool.
#[derive(Clone, Debug)]
pub(crate) struct StatusRecord {
    /// The transaction.
    pub(crate) transaction: VerifiedTransaction,
    /// The status of the transaction.
    pub(crate) status: TxStatus,
    /// Tx epoch in which the pool accepted the transaction.
    pub(crate) inserted: BlockNumber,
    /// Tx epoch of the last change of the status.
    pub(crate) updated: BlockNumber,
    /// Time of the last change of the status.
    pub(crate) modified: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_states_are_those_of_the_table() {
        let check = |status: TxStatus, code, state| {
            assert_eq!((status.code(), status.state().code()), (code, state), "{status:?}");
        };
        check(TxStatus::Dispatched, 1, 0);
        check(TxStatus::Confirmed, 3, 2);
        check(TxStatus::NonceHigh, 4, 1);
        check(TxStatus::GasExceeded, 5, 1);
        check(TxStatus::Dropped(DropReason::Arithmetic), 10, 2);
        check(TxStatus::Dropped(DropReason::Outbid), 24, 2);
        check(TxStatus::Dropped(DropReason::NonceTooLow), 27, 2);
        check(TxStatus::Dropped(DropReason::Expired), 255, 2);
        check(TxStatus::Dropped(DropReason::Internal), 255, 2);
        check(TxStatus::Dropped(DropReason::Withdrawn), 255, 2);
        check(TxStatus::Dropped(DropReason::Evicted), 255, 2);
    }
}
