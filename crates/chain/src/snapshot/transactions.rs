//! Transactions by hash, and the status of those that were submitted.

use std::sync::Arc;

use silica_protocol::{Address, BlockNumber, Nonce, Timestamp, Transaction, TxHash};
use silica_state::{ArchiveError, FoundTransaction, StateError, StoredTransaction};

use super::Snapshot;
use crate::pool::{StatusRecord, TxStatus};

/// Longest length of a list of pending transactions (`PENDING_TXN_QUERY_MAX_RESULTS`).
const PENDING_MOST: usize = 1_000;

/// Where a transaction stands that was submitted.
#[derive(Clone, Debug)]
pub struct TransactionStatus {
    /// The transaction.
    pub transaction: Arc<Transaction>,
    /// Its hash.
    pub hash: TxHash,
    /// Address of its sender.
    pub sender: Address,
    /// Where it stands.
    pub status: TxStatus,
    /// Whether it is in a block and took effect.
    pub success: bool,
    /// Tx epoch in which it was accepted. Of a confirmed transaction only that of its block is kept.
    pub inserted: BlockNumber,
    /// Tx epoch in which the status last changed.
    pub updated: BlockNumber,
    /// When the status last changed.
    pub modified: Timestamp,
}

impl Snapshot {
    /// A transaction with its receipt, or `None` when it is in no block.
    ///
    /// # Errors
    ///
    /// The transaction could not be read.
    pub fn transaction(&self, hash: &TxHash) -> Result<Option<StoredTransaction>, ArchiveError> {
        self.published.state.transaction(hash)
    }

    /// Finds a transaction without reading it, for a caller that needs its size first.
    ///
    /// # Errors
    ///
    /// The record could not be read.
    pub fn find_transaction(&self, hash: &TxHash) -> Result<FoundTransaction, ArchiveError> {
        self.published.state.find_transaction(hash)
    }

    /// Hashes of the newest transactions, at most 100, the newest first.
    ///
    /// The reference forgets them when it stops; here they outlive a restart like everything else.
    pub fn recent_transactions(&self) -> &[TxHash] {
        &self.published.recent
    }

    /// Waiting transactions, at most 1,000, the latest change of status first.
    ///
    /// The reference returns the transactions that its nodes reported in the last three Tx epochs. They report all
    /// pending transactions at each block (Reference: execution#order-in-a-block), so a missing one is no longer
    /// pending. Here the pool itself is read.
    pub fn pending(&self) -> Vec<(TxHash, TxStatus)> {
        self.shared.lock_pool().pending(PENDING_MOST)
    }

    /// Returns the last nonce of an account that is used or pending without a gap. The next transaction has the
    /// following nonce.
    ///
    /// # Errors
    ///
    /// The account could not be read.
    pub fn last_nonce(&self, address: &Address) -> Result<Nonce, StateError> {
        self.shared.last_nonce(address)
    }

    /// Returns the status of a transaction; `None` if the node does not know the transaction.
    ///
    /// # Errors
    ///
    /// The transaction could not be read.
    pub fn status(&self, hash: &TxHash) -> Result<Option<TransactionStatus>, ArchiveError> {
        self.status_of(&self.find_transaction(hash)?)
    }

    /// The same of a transaction that was looked for at this head.
    ///
    /// # Errors
    ///
    /// The transaction could not be read.
    pub fn status_of(&self, found: &FoundTransaction) -> Result<Option<TransactionStatus>, ArchiveError> {
        let hash = found.hash();
        let record = self.shared.lock_pool().record(hash).cloned();
        // Read the chain after the pool: a transaction moves from the pool to a block. The block also decides, because
        // a client may submit a transaction again while its block is made.
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
