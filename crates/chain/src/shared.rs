//! The state that all handles of a chain share: parameters, pool, and published head.

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

/// Number of recent transaction hashes that a snapshot has.
pub(crate) const RECENT: usize = 100;

/// The state that all handles and the producer share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) network: Network,
    pub(crate) pool: Mutex<Pool>,
    /// The contract cache of simulations.
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

    /// Returns the highest nonce of a sender that is used, or pending without a gap. The next transaction has the
    /// following nonce.
    pub(crate) fn last_nonce(&self, sender: &Address) -> Result<Nonce, StateError> {
        let waiting = self.lock_pool().nonces(sender);
        // The pool is read before the state, because a transaction leaves the pool only after its block is published.
        let mut last = self.published().state.account(sender)?.unwrap_or_default().nonce;
        while let Some(next) = last.next().filter(|next| waiting.contains(next)) {
            last = next;
        }
        Ok(last)
    }

    /// Returns the oldest block of the proof window if `head` is the latest block.
    pub(crate) fn earliest_proof(&self, head: BlockNumber) -> BlockNumber {
        let window = self.network.config.policy.proof_window.get();
        BlockNumber::new(head.get().saturating_add(1).saturating_sub(window))
    }

    /// Returns the published head with its state.
    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.read())
    }

    pub(crate) fn publish(&self, published: Arc<Published>) {
        *self.published.write() = published;
    }
}

/// The published head with its state. Each commit replaces this value as a whole.
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
    /// The gas price that the operator has set, if any.
    pub(crate) operator_price: Option<GasPrice>,
    /// The lowest gas price, unless the operator sets a lower price.
    pub(crate) floor_price: GasPrice,
}

impl Published {
    /// Returns the Tx epoch in progress, which is the number of the next block.
    pub(crate) fn epoch(&self) -> BlockNumber {
        self.head.number().next().unwrap_or(BlockNumber::MISSING)
    }

    /// Returns the minimum gas price: the price of the operator, or else the price of the latest DS block.
    ///
    /// The genesis DS block has a nominal price, which is too low from DS block 1 on. Client libraries read the price
    /// once, at their start. Therefore the configured minimum applies before DS block 1 too.
    pub(crate) fn minimum_gas_price(&self) -> GasPrice {
        self.operator_price.unwrap_or_else(|| self.head.ds_block.header.gas_price.max(self.floor_price))
    }

    /// Returns the published head after the commit of a block. `state` is the state after the block.
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
        // A block that repeats the number does not increase the logical block number.
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

/// The timestamps for the rates in statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// Timestamp of Tx block 1.
    pub(crate) first_tx: Option<Timestamp>,
    /// Timestamp of the second latest Tx block.
    pub(crate) previous_tx: Option<Timestamp>,
    /// Timestamp of DS block 1.
    pub(crate) first_ds: Option<Timestamp>,
}

impl Times {
    /// Returns the timestamps after `tx_block` follows `head`. `ds_block` is the latest DS block.
    pub(crate) fn after(&self, head: &TxBlock, tx_block: &TxBlock, ds_block: &DsBlock) -> Self {
        Self {
            first_tx: self.first_tx.or(Some(tx_block.timestamp)),
            previous_tx: Some(head.timestamp),
            first_ds: self.first_ds.or(Some(ds_block.timestamp)),
        }
    }
}
