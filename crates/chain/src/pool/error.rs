//! The errors of the pool.

use silica_protocol::{Address, TxHash};

use crate::drop_reason::DropReason;

/// Reason why an admitted transaction does not enter the pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// It is in the pool already (Reference: execution#admission-37).
    #[error("Txn could not be added as database exceeded limit or the txn was already present")]
    Known {
        /// The transaction.
        hash: TxHash,
    },
    /// The pool is full, and the transaction is better than none in it (Reference: execution#admission-37).
    #[error("Txn could not be added as database exceeded limit or the txn was already present")]
    Full {
        /// Transactions that the pool holds at most.
        limit: usize,
    },
    /// The pool holds as many transactions of this sender as it takes from one (Reference: execution#admission-37).
    #[error("Txn could not be added as database exceeded limit or the txn was already present")]
    SenderFull {
        /// The sender.
        sender: Address,
        /// Transactions that the pool holds of one sender at most.
        limit: usize,
    },
    /// The pool holds as many gapped transactions of this sender as it takes from one (Reference: execution#pool).
    #[error(
        "Txn could not be added as the sender has {limit} pending transactions that need a lower nonce or more balance"
    )]
    SenderGapped {
        /// The sender.
        sender: Address,
        /// Gapped transactions that the pool holds of one sender at most.
        limit: usize,
    },
    /// A transaction with the same sender and nonce pays at least as much. The text is the isolated server's for a
    /// transaction that is rejected with a status.
    #[error("Error Code: {}", DropReason::Outbid.code())]
    Outbid {
        /// The transaction that stays.
        by: TxHash,
    },
}
