//! Transactions by hash, and the status of submitted transactions.

use std::sync::Arc;

use silica_protocol::{Address, BlockNumber, Nonce, Timestamp, Transaction, TxHash};
use silica_state::{ArchiveError, FoundTransaction, StateError, StoredTransaction};

use super::Snapshot;
use crate::pool::{StatusRecord, TxStatus};

/// Maximum number of transactions in a list of pending transactions (`PENDING_TXN_QUERY_MAX_RESULTS`).
const PENDING_MOST: usize = 1_000;

/// The status of a submitted transaction.
#[derive(Clone, Debug)]
pub struct TransactionStatus {
    /// The transaction.
    pub transaction: Arc<Transaction>,
    /// Hash of the transaction.
    pub hash: TxHash,
    /// Address of the sender.
    pub sender: Address,
    /// The status of the transaction.
    pub status: TxStatus,
    /// Whether the transaction is in a block and succeeded.
    pub success: bool,
    /// Tx epoch in which the pool accepted the transaction. For a confirmed transaction, this is the number of its
    /// block.
    pub inserted: BlockNumber,
    /// Tx epoch of the last change of the status.
    pub updated: BlockNumber,
    /// Time of the last change of the status.
    pub modified: Timestamp,
}

impl Snapshot {
    /// Returns a transaction with its receipt, or `None` if no block has it.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the transaction could not be read.
    pub fn transaction(&self, hash: &TxHash) -> Result<Option<StoredTransaction>, ArchiveError> {
        self.published.state.transaction(hash)
    }

    /// Finds a transaction without reading it. So a caller can check its size first.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn find_transaction(&self, hash: &TxHash) -> Result<FoundTransaction, ArchiveError> {
        self.published.state.find_transaction(hash)
    }

    /// Returns the hashes of the newest transactions in blocks, at most 100, the newest first.
    ///
    /// At its start, the node reads the list from the record. The list of the reference is empty after a restart.
    pub fn recent_transactions(&self) -> &[TxHash] {
        &self.published.recent
    }

    /// Returns the pending transactions, at most 1,000, the latest change of status first.
    ///
    /// The reference returns the transactions that its nodes reported in the last three Tx epochs. Its nodes report all
    /// pending transactions at each block (Reference: execution#order-in-a-block), so both lists have the same
    /// transactions. This function reads the pool.
    pub fn pending(&self) -> Vec<(TxHash, TxStatus)> {
        self.shared.lock_pool().pending(PENDING_MOST)
    }

    /// Returns a page of at most `limit` pending transactions in the order of their arrival, after the arrival number
    /// `after`. With `sender`, the page has only transactions of this sender. A `limit` of 0 means 1.
    pub fn pool_page(&self, after: Option<u64>, sender: Option<&Address>, limit: usize) -> PoolPage {
        let limit = limit.max(1);
        let pool = self.shared.lock_pool();
        let mut found = pool.arrived_after(after, sender, limit.saturating_add(1));
        let is_last = found.len() <= limit;
        found.truncate(limit);
        let next = found.last().map(|(arrival, _)| *arrival).filter(|_| !is_last);
        let transactions = found.into_iter().map(|(_, record)| record.clone().into()).collect();
        PoolPage { transactions, next }
    }

    /// Returns the nonce before the nonce of the next transaction of an account. It is the highest used nonce, or the
    /// highest pending nonce that follows the used nonces without a gap.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the account could not be read.
    pub fn last_nonce(&self, address: &Address) -> Result<Nonce, StateError> {
        self.shared.last_nonce(address)
    }

    /// Returns the status of a transaction, or `None` if neither the pool nor a block has it.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the transaction could not be read.
    pub fn status(&self, hash: &TxHash) -> Result<Option<TransactionStatus>, ArchiveError> {
        self.status_of(&self.find_transaction(hash)?)
    }

    /// Returns the status of a transaction that [`find_transaction`](Self::find_transaction) searched at this head.
    /// Returns `None` if neither the pool nor a block has the transaction.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the transaction could not be read.
    pub fn status_of(&self, found: &FoundTransaction) -> Result<Option<TransactionStatus>, ArchiveError> {
        let hash = found.hash();
        let record = self.shared.lock_pool().record(hash).cloned();
        // Read the pool before the chain, because a transaction moves from the pool to a block. A block takes
        // precedence: a client can submit a transaction again while its block is made.
        let newest = self.shared.published();
        let same = Arc::ptr_eq(&newest, &self.published);
        let stored = if same { found.read()? } else { newest.state.transaction(hash)? };
        let Some(stored) = stored else { return Ok(record.map(Into::into)) };
        let made = newest.state.time_of(stored.block)?;
        Ok(Some(TransactionStatus {
            hash: *hash,
            sender: stored.transaction.sender(),
            status: TxStatus::Confirmed,
            success: stored.receipt.success,
            inserted: stored.block,
            updated: stored.block,
            modified: made.unwrap_or_default(),
            transaction: Arc::new(stored.transaction),
        }))
    }
}

/// A page of the pending transactions.
#[derive(Clone, Debug)]
pub struct PoolPage {
    /// The transactions in the order of their arrival.
    pub transactions: Vec<TransactionStatus>,
    /// The arrival number of the last transaction, or `None` on the last page.
    pub next: Option<u64>,
}

impl From<StatusRecord> for TransactionStatus {
    fn from(record: StatusRecord) -> Self {
        let StatusRecord { transaction, status, inserted, updated, modified } = record;
        Self {
            hash: transaction.hash(),
            sender: transaction.sender(),
            transaction: Arc::clone(transaction.transaction()),
            status,
            success: false,
            inserted,
            updated,
            modified,
        }
    }
}
