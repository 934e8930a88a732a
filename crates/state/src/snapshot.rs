//! Snapshots: all queries to chain and state at one block.

use std::{ops::Range, sync::Arc};

use silica_protocol::{
    Account, Address, BlockHash, BlockNumber, DsBlock, DsBlockHeader, DsBlockNumber, MicroBlock, Receipt, Timestamp,
    Transaction, TxBlock, TxBlockHeader, TxHash, VariableHash,
};

use crate::{
    archive::{
        Archive, ArchiveError, ArchiveView, BlockOutline, BlockRecord, BlockRewards, FoundTransaction, Head, RecordRow,
        StoredTransaction, Totals, TransactionGroup,
    },
    diff::StateDiff,
    error::{HistoryError, StateError},
    index::{HistoryIndex, IndexFailure, IndexProgress, IndexView},
    versioned_trie::{
        cache::{Cache, Class},
        pages::PageStore,
    },
    view::StateView,
    window::{RecomputedStates, Window},
};

/// The chain at one block: its state, the state history, and the record of blocks up to it.
///
/// A snapshot is cheap to clone. It does not change when later blocks are committed. So all results of one snapshot are
/// consistent, and no query waits for a block in production.
#[derive(Clone, Debug)]
pub struct Snapshot {
    core: Arc<Core>,
    archive: ArchiveView,
    state: StateView,
    window: Window,
}

/// The parts that all snapshots of a store share.
#[derive(Debug)]
pub(crate) struct Core {
    pub pages: Arc<PageStore>,
    pub archive: Arc<Archive>,
    pub older: RecomputedStates,
    /// The cached text of each transaction, with the number of its block. A revert makes a new core, so the cache has
    /// no transaction of a removed block.
    pub texts: Cache<TxHash, (BlockNumber, Arc<[u8]>)>,
    /// `None` if the store has no history index.
    pub index: Option<Arc<HistoryIndex>>,
}

impl Snapshot {
    /// Returns an error if a file of the record was deleted or replaced since the store was opened. The next opening
    /// would then not find later writes.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Db`]: a file was deleted or replaced. The error names the file.
    pub fn require_in_place(&self) -> Result<(), ArchiveError> {
        self.core.archive.require_in_place()
    }

    pub(crate) fn new(core: &Arc<Core>, archive: ArchiveView, window: Window) -> Self {
        let state = StateView::new(Arc::clone(&core.pages), window.newest().clone());
        Self { core: Arc::clone(core), archive, state, window }
    }

    #[cfg(test)]
    pub(crate) fn pages(&self) -> &PageStore {
        &self.core.pages
    }

    /// Returns the versions of the older states that were computed again after a restart.
    #[cfg(test)]
    pub(crate) fn recomputed(&self) -> Vec<u64> {
        self.core.older.versions()
    }

    /// Returns the state of a version without the checks of [`Self::at`].
    #[cfg(test)]
    pub(crate) fn recompute(&self, version: u64) -> Result<crate::transition::State, HistoryError> {
        self.core.older.get(version, 0, &self.core.pages, &self.core.archive)
    }

    /// Returns a view of the history index. Returns `None` if the store has no such index, or if a revert or a recovery
    /// of the store has retired the snapshot. The view can cover blocks after the newest block of the snapshot, and can
    /// lack its newest blocks.
    pub fn index(&self) -> Option<IndexView> {
        let view = self.core.index.as_ref().map(IndexView::new)?;
        // This check follows the creation of the view: the index of a reverted chain must not serve a snapshot of the
        // old chain.
        self.archive.require_service().is_ok().then_some(view)
    }

    /// Returns the progress of the history index, or `None` if the store has no such index.
    pub fn index_progress(&self) -> Option<IndexProgress> {
        self.core.index.as_ref().map(|index| index.progress())
    }

    /// Returns the latest failure of the history index since the store was opened, if there is one.
    pub fn index_failure(&self) -> Option<IndexFailure> {
        self.core.index.as_ref()?.failure()
    }

    /// Returns the description of the failure that has ended the packing of older blocks since the store was opened, if
    /// there is one. The store works without further packs.
    pub fn pack_failure(&self) -> Option<&str> {
        self.core.archive.pack_failure()
    }

    /// Returns the hash of a block of the record, also if the block is after the newest block of the snapshot.
    pub(crate) fn stored_hash(&self, number: BlockNumber) -> Result<Option<BlockHash>, ArchiveError> {
        self.core.archive.hash_of(number)
    }

    pub(crate) const fn window(&self) -> &Window {
        &self.window
    }

    /// Returns the newest block, or `None` before genesis.
    pub fn head(&self) -> Option<&Head> {
        self.archive.head()
    }

    /// Returns the state after the newest block.
    pub const fn state(&self) -> &StateView {
        &self.state
    }

    /// Returns the state after a block of the state history. [`StoreOptions::history`](crate::StoreOptions::history) is
    /// the length of the state history.
    ///
    /// # Errors
    ///
    /// - [`HistoryError::Future`]: the snapshot does not have the block.
    /// - [`HistoryError::Expired`]: the block is before the state history, or the data to compute its state are
    ///   removed.
    /// - [`HistoryError::State`]: the state is not in memory since a restart or revert, and its computation failed.
    pub fn at(&self, number: BlockNumber) -> Result<StateView, HistoryError> {
        let newest = self.window.newest().version;
        let version = number.get().saturating_add(1);
        if version > newest {
            return Err(HistoryError::Future { head: self.state.block() });
        }
        let oldest = self.window.oldest();
        // The snapshot can be older than the state history of the store.
        let readable = self.core.pages.floor();
        if version < oldest || version < readable {
            return Err(HistoryError::expired(oldest.max(readable)));
        }
        let state = match self.window.get(version) {
            Some(state) => state.clone(),
            None => self.core.older.get(version, oldest, &self.core.pages, &self.core.archive)?,
        };
        Ok(StateView::new(Arc::clone(&self.core.pages), state))
    }

    /// Returns an account after the newest block, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// The errors of [`StateView::account`].
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.state.account(address)
    }

    /// Returns the value of an entry of contract storage after the newest block, or `None` if the entry does not exist.
    ///
    /// # Errors
    ///
    /// The errors of [`StateView::account`].
    pub fn storage_value(&self, contract: &Address, entry: &VariableHash) -> Result<Option<Vec<u8>>, StateError> {
        self.state.storage_value(contract, entry)
    }

    /// Returns the rows of the record for all blocks up to the newest, as input of a
    /// [`RecordImport`](crate::RecordImport). Rows of blocks that are committed during the iteration are not included.
    pub fn record_rows(&self) -> impl Iterator<Item = Result<RecordRow, ArchiveError>> + use<> {
        self.archive.rows()
    }

    /// Returns a signed Tx block, or `None` if no block has this number yet.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record is damaged or cannot be read.
    pub fn tx_block(&self, number: BlockNumber) -> Result<Option<Arc<TxBlock>>, ArchiveError> {
        self.archive.tx_block(number)
    }

    /// Returns the header of a Tx block, or `None` if no block has this number yet. For a block of an empty block
    /// range, this function is cheaper than [`Snapshot::tx_block`], because it does not sign the block.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn tx_header(&self, number: BlockNumber) -> Result<Option<TxBlockHeader>, ArchiveError> {
        self.archive.tx_header(number)
    }

    /// Returns the hash of a Tx block, or `None` if no block has this number yet. Signs no block.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn hash_of(&self, number: BlockNumber) -> Result<Option<BlockHash>, ArchiveError> {
        self.archive.hash_of(number)
    }

    /// Returns the fields of a Tx block that most queries need, or `None` if no block has this number yet. Signs no
    /// block.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn head_at(&self, number: BlockNumber) -> Result<Option<Head>, ArchiveError> {
        self.archive.head_at(number)
    }

    /// Returns the timestamp of a Tx block, or `None` if no block has this number yet. Signs no block.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn time_of(&self, number: BlockNumber) -> Result<Option<Timestamp>, ArchiveError> {
        self.archive.time_of(number)
    }

    /// Returns the totals up to a Tx block, or `None` if no block has this number yet.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn totals(&self, number: BlockNumber) -> Result<Option<Totals>, ArchiveError> {
        self.archive.totals(number)
    }

    /// Returns the number of transactions up to a Tx block, or `None` if no block has this number yet. Does not compute
    /// a block of an empty block range.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn transactions_up_to(&self, number: BlockNumber) -> Result<Option<u64>, ArchiveError> {
        self.archive.transactions_up_to(number)
    }

    /// Returns the number of blocks up to a Tx block [whose next block has the same logical block
    /// number](crate::BlockRecord::repeats_number), or `None` if no block has this number yet. Does not compute a block
    /// of an empty block range.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn repeats_up_to(&self, number: BlockNumber) -> Result<Option<u64>, ArchiveError> {
        self.archive.repeats_up_to(number)
    }

    /// Returns the number of the newest block with transactions, among the blocks up to a Tx block. Returns `None` if
    /// no such block has transactions, or if no block has this number yet. Does not compute a block of an empty block
    /// range.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn newest_with_transactions(&self, number: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
        self.archive.newest_with_transactions(number)
    }

    /// Returns the parts of a Tx block that can change balances, or `None` if no block has this number yet. Does not
    /// compute a block of an empty block range.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn outline(&self, number: BlockNumber) -> Result<Option<BlockOutline>, ArchiveError> {
        self.archive.outline(number)
    }

    /// Returns the rewards of a Tx block, or `None` if no block has this number yet. Does not compute a block of an
    /// empty block range.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn rewards_of(&self, number: BlockNumber) -> Result<Option<BlockRewards>, ArchiveError> {
        self.archive.rewards_of(number)
    }

    /// Returns the edits of a Tx block, which change the state before its transactions. Returns `None` if no block has
    /// this number yet.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn edits_of(&self, number: BlockNumber) -> Result<Option<StateDiff>, ArchiveError> {
        self.archive.edits_of(number)
    }

    /// Returns a signed DS block, or `None` if no DS block has this number yet.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn ds_block(&self, number: DsBlockNumber) -> Result<Option<Arc<DsBlock>>, ArchiveError> {
        self.archive.ds_block(number)
    }

    /// Returns the header of a DS block, or `None` if no DS block has this number yet. For a DS block of an empty block
    /// range, this function is cheaper than [`Snapshot::ds_block`], because it does not sign the block.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn ds_header(&self, number: DsBlockNumber) -> Result<Option<DsBlockHeader>, ArchiveError> {
        self.archive.ds_header(number)
    }

    /// Returns the micro blocks of a Tx block in the order of the list in the Tx block, or `None` if no block has this
    /// number yet.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn micro_blocks_of(&self, number: BlockNumber) -> Result<Option<Vec<MicroBlock>>, ArchiveError> {
        self.archive.micro_blocks_of(number)
    }

    /// Returns the transaction with a hash, or `None` if no block of the snapshot contains it.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn transaction(&self, hash: &TxHash) -> Result<Option<StoredTransaction>, ArchiveError> {
        self.find_transaction(hash)?.read()
    }

    /// Finds the positions in the record at which the transaction with a hash may be. Does not read the transaction.
    /// The caller can first check [how many bytes](FoundTransaction::bytes) a read takes.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn find_transaction(&self, hash: &TxHash) -> Result<FoundTransaction, ArchiveError> {
        self.archive.find_transaction(hash)
    }

    /// Returns the text that a caller has [cached](Snapshot::cache_text) for the transaction with a hash. Returns
    /// `None` if no such text is in memory, or the transaction is in a block after the snapshot.
    pub fn cached_text(&self, hash: &TxHash) -> Option<Arc<[u8]>> {
        let (block, text) = self.core.texts.get(hash)?;
        self.head().is_some_and(|head| block <= head.number).then_some(text)
    }

    /// Caches a text that depends only on the transaction `found`. All callers must cache the same text for a
    /// transaction. Does nothing if no transaction matches. The texts take a part of
    /// [`StoreOptions::cache_bytes`](crate::StoreOptions::cache_bytes).
    pub fn cache_text(&self, found: &FoundTransaction, text: &[u8]) {
        if let Some(block) = found.newest_block() {
            // `Arc<[u8]>` has two counters before its bytes.
            let bytes = text.len().saturating_add(size_of::<[usize; 2]>());
            self.core.texts.insert(*found.hash(), (block, text.into()), (bytes, Class::Leaf));
        }
    }

    /// Returns the successful transaction that deployed a contract or library, or `None` if no such transaction exists.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn deployment(&self, contract: &Address) -> Result<Option<StoredTransaction>, ArchiveError> {
        self.archive.deployment(contract)
    }

    /// Returns block and position of the successful transaction that deployed a contract or library, or `None` if no
    /// such transaction exists. Does not read the transaction.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn deployment_place(&self, contract: &Address) -> Result<Option<(BlockNumber, u32)>, ArchiveError> {
        self.archive.deployment_place(contract)
    }

    /// Returns up to `most` transactions whose hashes begin with these lower-case hexadecimal digits, with block and
    /// position, in the order of the first eight bytes of the hashes. Returns none for other texts. The number of reads
    /// grows with `most`, and not with the number of transactions.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn transactions_with_prefix(
        &self,
        digits: &str,
        most: usize,
    ) -> Result<Vec<(TxHash, BlockNumber, u32)>, ArchiveError> {
        self.archive.transactions_with_prefix(digits, most)
    }

    /// Returns up to `limit` contracts and libraries with the block and the position of their deployment, in the order
    /// of their addresses. The first address is after `after` if it is given. Reads only the rows of these addresses.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn deployments(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, BlockNumber, u32)>, ArchiveError> {
        self.archive.deployments(after, limit)
    }

    /// Returns the contracts and libraries that an account deployed, in the order of the transactions. The time is
    /// proportional to their number, and independent of other transactions of the account.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn deployed_by(&self, sender: &Address) -> Result<Vec<Address>, ArchiveError> {
        self.archive.deployed_by(sender)
    }

    /// Returns the transactions of a Tx block in a range of positions. Ignores positions after the last transaction.
    /// Returns `None` if no block has this number yet.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn transactions(
        &self,
        number: BlockNumber,
        range: Range<u32>,
    ) -> Result<Option<Vec<(Transaction, Receipt)>>, ArchiveError> {
        self.archive.transactions(number, range)
    }

    /// Returns the group of transactions at a position of a Tx block, or `None` if the block or the position does not
    /// exist. A read of one transaction reads its whole group. The result has the size of the group in bytes, and no
    /// transactions.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn transaction_group(
        &self,
        number: BlockNumber,
        position: u32,
    ) -> Result<Option<TransactionGroup>, ArchiveError> {
        self.archive.transaction_group(number, position)
    }

    /// Returns the hashes of the transactions at a range of positions in a Tx block. Ignores positions after the last
    /// transaction. Returns `None` if no block has this number yet.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn transaction_hashes(
        &self,
        number: BlockNumber,
        range: Range<u32>,
    ) -> Result<Option<Vec<TxHash>>, ArchiveError> {
        self.archive.transaction_hashes(number, range)
    }

    /// Returns the hashes of the newest transactions, the newest first. Returns at most `limit` hashes.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn recent_transactions(&self, limit: usize) -> Result<Vec<TxHash>, ArchiveError> {
        self.archive.recent_transactions(limit)
    }

    /// Returns all data of a committed block, or `None` if no block has this number yet.
    ///
    /// # Errors
    ///
    /// See [`Snapshot::tx_block`].
    pub fn record(&self, number: BlockNumber) -> Result<Option<BlockRecord>, ArchiveError> {
        self.archive.record(number)
    }
}
