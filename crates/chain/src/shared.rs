//! The state that all handles of a chain share: parameters, pool, and the head that readers see.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use silica_protocol::{Address, BlockNumber, DsBlock, GasPrice, Nonce, Receipt, Timestamp, TxBlock, TxHash};
use silica_state::StateError;

use crate::{
    admission::VerifiedTransaction,
    config::{NoncePolicy, Numbering},
    executor::ContractCache,
    network::{Head, Network},
    pool::{self, Pool},
};

/// Hashes of recent transactions that are kept for readers.
pub(crate) const RECENT: usize = 100;

/// The state that all handles and the producer share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) network: Network,
    pub(crate) pool: Mutex<Pool>,
    /// The contracts that simulations used recently.
    pub(crate) simulated: ContractCache,
    published: RwLock<Arc<Published>>,
}

impl Shared {
    pub(crate) fn new(network: Network, published: Published) -> Self {
        let pool = Pool::new(network.config.policy.pool, network.epochs);
        let simulated = ContractCache::of_simulations(network.config.rules.scilla);
        Self { network, pool: Mutex::new(pool), simulated, published: RwLock::new(Arc::new(published)) }
    }

    pub(crate) fn lock_pool(&self) -> MutexGuard<'_, Pool> {
        pool::lock(&self.pool)
    }

    /// Returns the nonce before that of a sender's next transaction: the last one that is used, or that is pending
    /// without a gap.
    pub(crate) fn last_nonce(&self, sender: &Address) -> Result<Nonce, StateError> {
        let waiting = self.lock_pool().nonces(sender);
        // The pool is read first: a transaction leaves the pool only after its block is published.
        let mut last = self.published().state.account(sender)?.unwrap_or_default().nonce;
        while let Some(next) = last.next().filter(|next| waiting.contains(next)) {
            last = next;
        }
        Ok(last)
    }

    /// Returns the oldest block for which proofs are served when `head` is the latest block.
    pub(crate) fn earliest_proof(&self, head: BlockNumber) -> BlockNumber {
        let window = self.network.config.policy.proof_window.get();
        BlockNumber::new(head.get().saturating_add(1).saturating_sub(window))
    }

    /// Returns the current view of readers.
    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.read())
    }

    pub(crate) fn publish(&self, published: Arc<Published>) {
        *self.published.write() = published;
    }
}

/// The view of readers: one head with its state. Each block replaces it as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    pub(crate) head: Head,
    pub(crate) state: silica_state::Snapshot,
    pub(crate) times: Times,
    /// Hashes of the newest transactions, the newest first.
    pub(crate) recent: Arc<[TxHash]>,
    /// The nonces that are accepted.
    pub(crate) nonces: NoncePolicy,
    /// The blocks that increase the logical block number.
    pub(crate) numbering: Numbering,
    /// The price of gas that the operator has set.
    pub(crate) operator_price: Option<GasPrice>,
    /// The lowest price of gas, unless the operator sets a lower one.
    pub(crate) floor_price: GasPrice,
}

impl Published {
    /// The Tx epoch in progress: the number of the block that comes next.
    pub(crate) fn epoch(&self) -> BlockNumber {
        self.head.number().next().unwrap_or(BlockNumber::MISSING)
    }

    /// The price of gas in force: the operator's, or else that of the latest DS block.
    ///
    /// The genesis DS block has a nominal price. SDKs read the price once. With the price of genesis, the chain would
    /// reject their transactions from DS block 1 on, so the minimum applies before DS block 1 too.
    pub(crate) fn minimum_gas_price(&self) -> GasPrice {
        self.operator_price.unwrap_or_else(|| self.head.ds_block.header.gas_price.max(self.floor_price))
    }

    /// Returns the view of readers after a block is committed, with the state `state`.
    pub(crate) fn after(
        &self,
        tx_block: &Arc<TxBlock>,
        ds_block: Option<&Arc<DsBlock>>,
        included: &[(VerifiedTransaction, Receipt)],
        repeats_number: bool,
        state: silica_state::Snapshot,
    ) -> Self {
        let ds_block = ds_block.unwrap_or(&self.head.ds_block);
        let newest = included.iter().rev().map(|(transaction, _)| transaction.hash());
        // A repeat moves the number of blocks, but not the logical one.
        let before = self.head.next_logical_number;
        let next_logical_number = if repeats_number { before } else { before.next().unwrap_or(BlockNumber::MISSING) };
        Self {
            head: Head::new(Arc::clone(tx_block), Arc::clone(ds_block), next_logical_number),
            state,
            times: self.times.after(&self.head.tx_block, tx_block, ds_block),
            recent: newest.chain(self.recent.iter().copied()).take(RECENT).collect(),
            nonces: self.nonces,
            numbering: self.numbering,
            operator_price: self.operator_price,
            floor_price: self.floor_price,
        }
    }
}

/// Timestamps from which rates are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// Of Tx block 1.
    pub(crate) first_tx: Option<Timestamp>,
    /// Of the Tx block before the latest.
    pub(crate) previous_tx: Option<Timestamp>,
    /// Of DS block 1.
    pub(crate) first_ds: Option<Timestamp>,
}

impl Times {
    /// The timestamps once `tx_block` follows `head`, under the DS block `ds_block`.
    pub(crate) fn after(&self, head: &TxBlock, tx_block: &TxBlock, ds_block: &DsBlock) -> Self {
        Self {
            first_tx: self.first_tx.or(Some(tx_block.timestamp)),
            previous_tx: Some(head.timestamp),
            first_ds: self.first_ds.or(Some(ds_block.timestamp)),
        }
    }
}
