//! Queries about the chain at one head.

mod blocks;
mod proof;
mod statistics;
mod transactions;

use std::{any::Any, sync::Arc};

use silica_protocol::{
    Account, Address, BlockHash, BlockNumber, DsBlock, DsBlockHeader, DsBlockNumber, GasPrice, Nonce, Qa, StateRoot,
    TxBlock,
};
use silica_scilla::rules::Rules as ScillaRules;
use silica_state::{
    ArchiveError, IndexFailure, IndexKey, IndexOrder, IndexPosition, IndexProgress, RecordRow, StateError,
};

pub use self::{
    blocks::{BlockTransactionsError, Listing, ListingError, PositionsPage, TransactionsPage},
    proof::ProofError,
    statistics::{MinerInfo, MinerInfoError, Statistics},
    transactions::{PoolPage, TransactionStatus},
};
use crate::{
    config::Numbering,
    revert_log::ChainTip,
    shared::{Published, Shared},
};

/// The chain at one head. A clone is cheap. Later commits do not change the results.
///
/// The pool is not part of the snapshot. Queries about pending transactions and about the status of a transaction read
/// the current pool and the latest head, so later commits change their results.
#[derive(Clone, Debug)]
pub struct Snapshot {
    published: Arc<Published>,
    shared: Arc<Shared>,
}

impl Snapshot {
    pub(crate) fn new(published: Arc<Published>, shared: Arc<Shared>) -> Self {
        Self { published, shared }
    }

    /// Returns the snapshot of the store.
    pub fn state(&self) -> &silica_state::Snapshot {
        &self.published.state
    }

    /// Returns the state at this head.
    pub(crate) fn view(&self) -> &silica_state::StateView {
        self.published.state.state()
    }

    /// Returns the entry of the latest Tx block in the record, or `None` if the record is empty.
    pub fn record_head(&self) -> Option<&silica_state::Head> {
        self.state().head()
    }

    /// Returns the rows of the record for all blocks up to this head, for a copy to another store.
    pub fn record_rows(&self) -> impl Iterator<Item = Result<RecordRow, ArchiveError>> + use<> {
        self.state().record_rows()
    }

    /// Returns the latest Tx block.
    pub fn latest_tx_block(&self) -> &Arc<TxBlock> {
        &self.published.head.tx_block
    }

    /// Returns the hash of the latest Tx block.
    pub fn latest_tx_block_hash(&self) -> BlockHash {
        self.published.head.hash
    }

    /// Returns the number of the latest Tx block, and the number of reverts before this head.
    pub fn tip(&self) -> ChainTip {
        ChainTip { number: self.published.head.number(), reverts: self.published.reverts.count() }
    }

    /// Returns the number of the lowest block to which the chain was reverted after the first `seen` reverts, or `None`
    /// if there were no more reverts before this head.
    pub fn reverted_to(&self, seen: u64) -> Option<BlockNumber> {
        self.published.reverts.since(seen)
    }

    /// Returns the value that readers derive from this head. All snapshots of this head share the value. The first call
    /// creates the value with `create`. Each head has a separate value.
    ///
    /// Returns `None` if the first call created a value of another type. So a program must use one type only.
    pub fn derived<T: Any + Send + Sync>(&self, create: impl FnOnce() -> T) -> Option<&T> {
        self.published.derived.get_or_init(create)
    }

    /// Returns the latest DS block.
    pub fn latest_ds_block(&self) -> &Arc<DsBlock> {
        &self.published.head.ds_block
    }

    /// Returns the Tx epoch in progress, which is the number of the next block.
    pub fn current_epoch(&self) -> BlockNumber {
        self.published.epoch()
    }

    /// Returns the policy for the logical block number.
    pub fn numbering(&self) -> Numbering {
        self.published.numbering
    }

    /// Returns the logical block number of the next block. This is [its number](Self::current_epoch) minus the repeats
    /// of logical block numbers.
    pub fn next_logical_number(&self) -> BlockNumber {
        self.published.head.next_logical_number
    }

    /// Returns whether `block` is vacuous. The header of a vacuous block has the reward instead of fees.
    pub fn is_vacuous(&self, block: BlockNumber) -> bool {
        self.shared.network.epochs.is_vacuous(block)
    }

    /// Returns the Scilla rules of the next block.
    pub fn next_scilla_rules(&self) -> ScillaRules {
        self.shared.network.config.scilla_rules(self.current_epoch())
    }

    /// Returns the lowest gas price that admission accepts.
    pub fn minimum_gas_price(&self) -> GasPrice {
        self.published.minimum_gas_price()
    }

    /// Returns the account at `address`, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the state could not be read.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.published.state.account(address)
    }

    /// Returns the balance of the account at `address`; 0 if the account does not exist.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the state could not be read.
    pub fn balance(&self, address: &Address) -> Result<Qa, StateError> {
        Ok(self.account(address)?.unwrap_or_default().balance)
    }

    /// Returns the nonce of the account at `address`; 0 if the account does not exist.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the state could not be read.
    pub fn nonce(&self, address: &Address) -> Result<Nonce, StateError> {
        Ok(self.account(address)?.unwrap_or_default().nonce)
    }

    /// Returns the root of the state at this head.
    pub fn state_root(&self) -> StateRoot {
        self.latest_tx_block().header.state_root
    }

    /// Returns the account at `address` after Tx block `block`, or `None` if it did not exist.
    ///
    /// # Errors
    ///
    /// [`ProofError::NotMined`]: the block does not exist yet. [`ProofError::Expired`]: its state is not in the state
    /// history. [`ProofError::History`], [`ProofError::State`]: the state could not be read.
    pub fn account_at(&self, address: &Address, block: BlockNumber) -> Result<Option<Account>, ProofError> {
        if block == self.published.head.number() {
            return Ok(self.account(address)?);
        }
        let view = self.published.state.at(self.proof_block(Some(block))?)?;
        let account = view.account(address);
        if let Err(StateError::Expired) = account {
            // The block left the proof window while its state was read.
            let head = self.shared.published().head.number();
            return Err(ProofError::Expired { earliest: self.shared.earliest_proof(head) });
        }
        Ok(account?)
    }

    /// Returns Tx block `number`, or `None` if the latest Tx block has a lower number.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the block could not be read.
    pub fn tx_block(&self, number: BlockNumber) -> Result<Option<Arc<TxBlock>>, ArchiveError> {
        if number == self.published.head.number() {
            return Ok(Some(Arc::clone(self.latest_tx_block())));
        }
        self.published.state.tx_block(number)
    }

    /// Returns the hash of Tx block `number`, or `None` if the latest Tx block has a lower number.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the block could not be read.
    pub fn tx_block_hash(&self, number: BlockNumber) -> Result<Option<BlockHash>, ArchiveError> {
        self.published.state.hash_of(number)
    }

    /// Returns the progress of the history index, or `None` if the store has no such index.
    pub fn index_progress(&self) -> Option<IndexProgress> {
        self.state().index_progress()
    }

    /// Returns the latest failure of the history index since the chain was opened, if there is one.
    pub fn index_failure(&self) -> Option<IndexFailure> {
        self.state().index_failure()
    }

    /// Returns the description of the failure that has ended the packing of older blocks since the chain was opened, if
    /// there is one.
    pub fn pack_failure(&self) -> Option<&str> {
        self.state().pack_failure()
    }

    /// Finds a Tx block by its hash in the history index. Returns the number of the block, if the index has the block.
    /// Also returns how many of the latest blocks the index does not have.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: a block could not be read.
    pub fn find_indexed_block(&self, hash: &BlockHash) -> Result<(Option<BlockNumber>, u64), ArchiveError> {
        let head = self.latest_tx_block().header.number;
        let blocks = head.get().saturating_add(1);
        let Some(mut view) = self.state().index() else { return Ok((None, blocks)) };
        let query = IndexKey::Block(hash);
        let [from, to] = [BlockNumber::new(0), head].map(|block| IndexPosition { block, position: 0 });
        let missing = blocks.saturating_sub(view.covered(query));
        let Ok(places) = view.find(query, from, to, IndexOrder::OldestFirst, usize::MAX) else {
            return Ok((None, blocks));
        };
        for IndexPosition { block, .. } in places {
            if self.tx_block_hash(block)? == Some(*hash) {
                return Ok((Some(block), missing));
            }
        }
        Ok((None, missing))
    }

    /// Returns the header of DS block `number`, or `None` if the latest DS block has a lower number. In contrast to
    /// [`ds_block`](Self::ds_block), this function does not sign a block of an empty block range.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the block could not be read.
    pub fn ds_block_header(&self, number: DsBlockNumber) -> Result<Option<DsBlockHeader>, ArchiveError> {
        self.published.state.ds_header(number)
    }

    /// Returns DS block `number`, or `None` if the latest DS block has a lower number.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the block could not be read.
    pub fn ds_block(&self, number: DsBlockNumber) -> Result<Option<Arc<DsBlock>>, ArchiveError> {
        if number == self.latest_ds_block().header.number {
            return Ok(Some(Arc::clone(self.latest_ds_block())));
        }
        self.published.state.ds_block(number)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns the numbers of the oldest and the latest block in the proof window of this head.
    pub fn kept(&self) -> (BlockNumber, BlockNumber) {
        let latest = self.published.head.number();
        (self.shared.earliest_proof(latest), latest)
    }

    /// Returns the numbers of the oldest and the latest block in the proof window of the published head.
    pub(crate) fn kept_now(&self) -> (BlockNumber, BlockNumber) {
        let latest = self.shared.published().head.number();
        (self.shared.earliest_proof(latest), latest)
    }
}
