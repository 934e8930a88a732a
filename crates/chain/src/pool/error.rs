//! The errors of the pool.

use silica_protocol::{Address, TxHash};

use crate::drop_reason::DropReason;

/// Reason why an admitted transaction does not enter the pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The pool already has the transaction (Reference: execution#admission-37).
    #[error("Txn could not be added as database exceeded limit or the txn was already present")]
    Known {
        /// Hash of the transaction.
        hash: TxHash,
    },
    /// The pool is full, and the transaction cannot evict a pending transaction (Reference: execution#admission-37).
    #[error("Txn could not be added as database exceeded limit or the txn was already present")]
    Full {
        /// Maximum number of transactions in the pool.
        limit: usize,
    },
    /// The sender has the maximum number of pending transactions (Reference: execution#admission-37).
    #[error("Txn could not be added as database exceeded limit or the txn was already present")]
    SenderFull {
        /// The sender with too many pending transactions.
        sender: Address,
        /// Maximum number of pending transactions of a sender.
        limit: usize,
    },
    /// The sender has the maximum number of gapped transactions (Reference: execution#pool).
    #[error(
        "Txn could not be added as the sender has {limit} pending transactions that need a lower nonce or more balance"
    )]
    SenderGapped {
        /// The sender with too many gapped transactions.
        sender: Address,
        /// Maximum number of gapped transactions of a sender.
        limit: usize,
    },
    /// A pending transaction with the same sender and nonce has a better rank: a higher gas price, or the same price
    /// and a smaller hash. The text is the text of the isolated server for a transaction that it rejects with a status.
    #[error("Error Code: {}", DropReason::Outbid.code())]
    Outbid {
        /// Hash of the pending transaction.
        by: TxHash,
    },
}
