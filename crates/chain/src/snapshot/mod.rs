//! Queries about the chain at one head.

mod blocks;
mod proof;
mod statistics;
mod transactions;

use std::sync::Arc;

use silica_protocol::{Account, Address, BlockHash, BlockNumber, DsBlock, DsBlockNumber, GasPrice, TxBlock};
use silica_state::{ArchiveError, RecordRow, StateError};

pub use self::{
    blocks::{BlockTransactionsError, Listing, ListingError, PositionsPage, TransactionsPage},
    proof::{ProofError, StateProof},
    statistics::{MinerInfo, MinerInfoError, Statistics},
    transactions::TransactionStatus,
};
use crate::{
    config::Numbering,
    shared::{Published, Shared},
};

/// The chain at one head. A clone is cheap; nothing that is committed later changes an answer.
///
/// Only the queries about pending transactions read the pool, which is not part of the snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    published: Arc<Published>,
    shared: Arc<Shared>,
}

impl Snapshot {
    pub(crate) fn new(published: Arc<Published>, shared: Arc<Shared>) -> Self {
        Self { published, shared }
    }

    /// The store at this head.
    pub(crate) fn state(&self) -> &silica_state::Snapshot {
        &self.published.state
    }

    /// The state at this head.
    pub(crate) fn view(&self) -> &silica_state::StateView {
        self.published.state.state()
    }

    /// The entry of the latest Tx block in the record.
    pub fn record_head(&self) -> Option<&silica_state::Head> {
        self.state().head()
    }

    /// The rows of the record of all blocks up to the latest, to be carried to another store.
    pub fn record_rows(&self) -> impl Iterator<Item = Result<RecordRow, ArchiveError>> + use<> {
        self.state().record_rows()
    }

    /// The latest Tx block.
    pub fn latest_tx_block(&self) -> &Arc<TxBlock> {
        &self.published.head.tx_block
    }

    /// The hash of the latest Tx block.
    pub fn latest_tx_block_hash(&self) -> BlockHash {
        self.published.head.hash
    }

    /// The latest DS block.
    pub fn latest_ds_block(&self) -> &Arc<DsBlock> {
        &self.published.head.ds_block
    }

    /// The Tx epoch in progress: the number that the next block will have.
    pub fn current_epoch(&self) -> BlockNumber {
        self.published.epoch()
    }

    /// Which blocks move the logical block number.
    pub fn numbering(&self) -> Numbering {
        self.published.numbering
    }

    /// The block number that the transactions of the next block read, and that their receipts have. It is the
    /// [number of that block](Self::current_epoch) less the repeats of logical block numbers.
    pub fn next_logical_number(&self) -> BlockNumber {
        self.published.head.next_logical_number
    }

    /// Returns whether `block` is the last of its DS epoch. The header of such a block has the reward instead of fees.
    pub fn is_vacuous(&self, block: BlockNumber) -> bool {
        self.shared.network.epochs.is_vacuous(block)
    }

    /// The lowest price at which transactions are admitted.
    pub fn minimum_gas_price(&self) -> GasPrice {
        self.published.minimum_gas_price()
    }

    /// The account at `address`, or `None` when there is none.
    ///
    /// # Errors
    ///
    /// The state could not be read.
    pub fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.published.state.account(address)
    }

    /// The account at `address` after Tx block `block`, or `None` when there was none.
    ///
    /// # Errors
    ///
    /// [`ProofError::NotMined`] and [`ProofError::Expired`]: the block is still to come, or its state is no longer
    /// kept; or the state could not be read.
    pub fn account_at(&self, address: &Address, block: BlockNumber) -> Result<Option<Account>, ProofError> {
        if block == self.published.head.number() {
            return Ok(self.account(address)?);
        }
        let view = self.published.state.at(self.proof_block(Some(block))?)?;
        let account = view.account(address);
        if let Err(StateError::Expired) = account {
            // The block left the window while its state was read.
            let head = self.shared.published().head.number();
            return Err(ProofError::Expired { earliest: self.shared.earliest_proof(head) });
        }
        Ok(account?)
    }

    /// Tx block `number`, or `None` when it is beyond the latest.
    ///
    /// # Errors
    ///
    /// The block could not be read.
    pub fn tx_block(&self, number: BlockNumber) -> Result<Option<Arc<TxBlock>>, ArchiveError> {
        if number == self.published.head.number() {
            return Ok(Some(Arc::clone(self.latest_tx_block())));
        }
        self.published.state.tx_block(number)
    }

    /// The hash of Tx block `number`, or `None` when it is beyond the latest.
    ///
    /// # Errors
    ///
    /// The block could not be read.
    pub fn tx_block_hash(&self, number: BlockNumber) -> Result<Option<BlockHash>, ArchiveError> {
        self.published.state.hash_of(number)
    }

    /// DS block `number`, or `None` when it is beyond the latest.
    ///
    /// # Errors
    ///
    /// The block could not be read.
    pub fn ds_block(&self, number: DsBlockNumber) -> Result<Option<Arc<DsBlock>>, ArchiveError> {
        if number == self.latest_ds_block().header.number {
            return Ok(Some(Arc::clone(self.latest_ds_block())));
        }
        self.published.state.ds_block(number)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The oldest and the latest block whose state the store keeps at this head.
    pub(crate) fn kept(&self) -> (BlockNumber, BlockNumber) {
        let latest = self.published.head.number();
        (self.shared.earliest_proof(latest), latest)
    }

    /// The same range at the newest head, which may begin later.
    pub(crate) fn kept_now(&self) -> (BlockNumber, BlockNumber) {
        let latest = self.shared.published().head.number();
        (self.shared.earliest_proof(latest), latest)
    }
}
