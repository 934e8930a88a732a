//! The status of submitted transactions.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{TransactionStatus as ChainStatus, TxStatus};
use silica_protocol::{
    TxHash,
    rpc::{
        error::{RpcError, RpcErrorCode},
        transaction::{PendingStatus, PendingTransaction, PendingTransactions, TransactionProgress, TransactionStatus},
    },
};
use silica_state::FoundTransaction;

use super::transaction::TRANSACTION_UNKNOWN;
use crate::{
    head::Context,
    rpc::{CallError, Entry, HashErrors, Method, TransactionQuery, params::Text},
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::about::<GetPendingTxn>(),
    Entry::of::<GetPendingTxns>().of_weight(10),
    Entry::about::<GetTransactionStatus>(),
];

/// The errors for a text that is not a hash.
const HASH: HashErrors = HashErrors {
    digit: RpcError::from_static(RpcErrorCode::MISC_ERROR, "Unable To Process: hash is not hexadecimal"),
    size: RpcError::from_static(RpcErrorCode::INVALID_PARAMETER, "Txn Hash size not appropriate"),
};

/// Status of a submitted transaction: pending, confirmed or dropped, with the reason.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTransactionStatus {
    /// Hash of the transaction.
    hash: Text<TxHash>,
}

impl TransactionQuery for GetTransactionStatus {
    const NAME: &'static str = "GetTransactionStatus";
    type Output = TransactionStatus;

    fn hash(self) -> Result<TxHash, CallError> {
        self.hash.get().map_err(|fault| HASH.of(fault))
    }

    fn answer(found: &FoundTransaction, at: &Context) -> Result<TransactionStatus, CallError> {
        let ChainStatus { transaction, status, success, inserted, updated, modified, .. } =
            at.snapshot.status_of(found)?.ok_or(TRANSACTION_UNKNOWN)?;
        let progress = TransactionProgress {
            status: status.code(),
            modification_state: status.state().code(),
            success,
            inserted,
            updated,
            modified,
        };
        Ok(TransactionStatus::new(*found.hash(), &transaction, progress))
    }
}

/// Pending transactions, at most 1000. The transaction with the latest change of status is first.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetPendingTxns {}

impl Method for GetPendingTxns {
    const NAME: &'static str = "GetPendingTxns";
    type Output = PendingTransactions;

    fn call(self, at: &Context) -> Result<PendingTransactions, CallError> {
        let pending = at.snapshot.pending().into_iter();
        let transactions = pending.map(|(hash, status)| PendingTransaction { id: hash.into(), status: status.code() });
        Ok(PendingTransactions { transactions: transactions.collect() })
    }
}

/// Whether a transaction is confirmed, pending or dropped.
///
/// This method is for older clients. `GetTransactionStatus` replaces it. An unknown transaction is neither confirmed
/// nor pending.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetPendingTxn {
    /// Hash of the transaction.
    hash: Text<TxHash>,
}

impl TransactionQuery for GetPendingTxn {
    const NAME: &'static str = "GetPendingTxn";
    type Output = PendingStatus;

    fn hash(self) -> Result<TxHash, CallError> {
        self.hash.get().map_err(|fault| HASH.of(fault))
    }

    fn answer(found: &FoundTransaction, at: &Context) -> Result<PendingStatus, CallError> {
        let Some(found) = at.snapshot.status_of(found)? else { return Ok(PendingStatus::UNKNOWN) };
        Ok(match found.status {
            TxStatus::Confirmed => PendingStatus::CONFIRMED,
            TxStatus::Dispatched | TxStatus::NonceHigh | TxStatus::GasExceeded => {
                PendingStatus::waiting(found.status.code())
            }
            TxStatus::Dropped(reason) => PendingStatus::dropped(reason.code()),
        })
    }
}
