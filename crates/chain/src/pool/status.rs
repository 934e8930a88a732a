//! What became of a transaction that was submitted (Reference: execution#statuses).

use silica_protocol::{BlockNumber, Timestamp};

use crate::{admission::VerifiedTransaction, drop_reason::DropReason};

/// Where a submitted transaction stands. `code` gives the number that clients know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxStatus {
    /// Accepted, not looked at by a block yet.
    Dispatched,
    /// In a Tx block.
    Confirmed,
    /// Waiting for a transaction with a lower nonce.
    NonceHigh,
    /// Waiting for a block with more room for gas.
    GasExceeded,
    /// Will never be in a block; its nonce is not used up.
    Dropped(DropReason),
}

/// How far a status is from final, as clients see it (`modificationState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ModificationState {
    /// Accepted.
    Dispatched = 0,
    /// Seen by a block, which left it waiting.
    InProcess = 1,
    /// Confirmed or dropped.
    Final = 2,
}

impl TxStatus {
    /// The number of this status.
    pub const fn code(self) -> u8 {
        match self {
            Self::Dispatched => 1,
            Self::Confirmed => 3,
            Self::NonceHigh => 4,
            Self::GasExceeded => 5,
            Self::Dropped(reason) => reason.code(),
        }
    }

    /// How far this status is from final.
    pub const fn state(self) -> ModificationState {
        match self {
            Self::Dispatched => ModificationState::Dispatched,
            Self::NonceHigh | Self::GasExceeded => ModificationState::InProcess,
            Self::Confirmed | Self::Dropped(_) => ModificationState::Final,
        }
    }
}

impl ModificationState {
    /// The number that clients see.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// What the pool knows about a transaction.
#[derive(Clone, Debug)]
pub(crate) struct StatusRecord {
    /// The transaction.
    pub(crate) transaction: VerifiedTransaction,
    /// Where it stands.
    pub(crate) status: TxStatus,
    /// Tx epoch in which it was accepted.
    pub(crate) inserted: BlockNumber,
    /// Tx epoch in which its status last changed.
    pub(crate) updated: BlockNumber,
    /// When its status last changed.
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
