//! What became of a transaction that was submitted (execution.md 3.6).

use silica_protocol::{BlockNumber, Timestamp};

use crate::admission::VerifiedTransaction;

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

/// Why a transaction was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// A sum or product left the range of the formats (`MATH_ERROR`).
    Arithmetic = 10,
    /// Init data, message, contract or libraries cannot be used (`FAIL_SCILLA_LIB`).
    Libraries = 11,
    /// There is no interpreter for the contract's version (`FAIL_CONTRACT_INIT`).
    Preparation = 12,
    /// The sender does not exist or is the null account (`INVALID_FROM_ACCOUNT`).
    InvalidSender = 13,
    /// The gas limit is above that of the micro block (`HIGH_GAS_LIMIT`).
    HighGasLimit = 14,
    /// The transaction is of no kind that is executed (`INCORRECT_TXN_TYPE`).
    IncorrectType = 15,
    /// The code is too large (`HIGH_BYTE_SIZE_CODE`).
    CodeTooLarge = 18,
    /// Signature, chain id or version are wrong (`VERIF_ERROR`).
    Verification = 19,
    /// The gas limit is below the minimum of the transaction's kind (`INSUFFICIENT_GAS_LIMIT`).
    InsufficientGasLimit = 20,
    /// The sender cannot pay (`INSUFFICIENT_BALANCE`).
    InsufficientBalance = 21,
    /// The gas price is below the minimum (`INSUFFICIENT_GAS`).
    InsufficientGas = 22,
    /// Another transaction with this nonce pays more (`MEMPOOL_SAME_NONCE_LOWER_GAS`).
    Outbid = 24,
    /// The recipient cannot receive (`INVALID_TO_ACCOUNT`).
    InvalidRecipient = 25,
    /// Another contract has the address (`FAIL_CONTRACT_ACCOUNT_CREATION`).
    AddressTaken = 26,
    /// The nonce is used up (`NONCE_TOO_LOW`).
    NonceTooLow = 27,
    /// The pool was full, and another transaction was worth more (`ERROR`).
    Evicted = 252,
    /// Somebody took it out of the pool (`ERROR`).
    Withdrawn = 253,
    /// A fault of ours kept it from being executed (`ERROR`).
    Internal = 254,
    /// The transaction waited longer than the pool keeps any (`ERROR`).
    Expired = 255,
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

impl DropReason {
    /// The number of this status.
    pub const fn code(self) -> u8 {
        // To clients it is the same unspecified error.
        if matches!(self, Self::Evicted | Self::Internal | Self::Withdrawn) { Self::Expired as u8 } else { self as u8 }
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
