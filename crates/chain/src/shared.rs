//! The state that all handles of a chain share: parameters, pool, and published head.

use std::{
    any::Any,
    fmt, mem,
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, MutexGuard, RwLock};
use silica_protocol::{Address, BlockNumber, DsBlock, GasPrice, Nonce, Qa, Receipt, Timestamp, TxBlock, TxHash};
use silica_state::StateError;

use crate::{
    admission::VerifiedTransaction,
    config::{NoncePolicy, Numbering},
    executor::ContractCache,
    genesis::Genesis,
    network::{Head, Network},
    pool::{self, Pool},
    reserve_log::ReserveLog,
    revert_log::RevertLog,
};

/// Maximum number of hashes of recent transactions in a published head. `GetRecentTransactions` returns at most this
/// number of hashes.
pub(crate) const RECENT: usize = 100;

/// The state that the producer and all handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) network: Network,
    /// The state at genesis.
    pub(crate) genesis: Arc<Genesis>,
    /// Balances of the null account, for the rewards in the list of transfers.
    pub(crate) reserves: ReserveLog,
    pub(crate) pool: Mutex<Pool>,
    /// The contract cache of simulations.
    pub(crate) simulated: ContractCache,
    /// The published head. Each new snapshot of a reader is a view of the head in this member.
    ///
    /// The store has its own newest snapshot, on which the producer prepares the next block. After a flush, the
    /// producer takes this snapshot, and publishes it here together with the head and the settings.
    published: RwLock<Arc<Published>>,
    listener: OnceLock<Listener>,
}

/// A function that the chain calls after it publishes a head.
struct Listener(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

impl Shared {
    pub(crate) fn new(network: Network, genesis: Arc<Genesis>, published: Published) -> Self {
        let pool = Pool::new(network.config.policy.pool, network.epochs);
        let simulated = ContractCache::of_simulations(network.config.rules.scilla);
        let published = RwLock::new(Arc::new(published));
        let reserves = ReserveLog::new(genesis.accounts().get(&Address::ZERO).map_or(Qa::ZERO, |null| null.balance));
        Self { network, genesis, reserves, pool: Mutex::new(pool), simulated, published, listener: OnceLock::new() }
    }

    /// Returns the contract cache of simulations, for the rules of a Tx block.
    pub(crate) fn simulated_for(&self, block: BlockNumber) -> ContractCache {
        self.simulated.with_rules(self.network.config.scilla_rules(block))
    }

    pub(crate) fn lock_pool(&self) -> MutexGuard<'_, Pool> {
        pool::lock(&self.pool)
    }

    /// Returns the last nonce of a sender without a gap. Without pending transactions, it is the nonce of the account.
    /// Pending nonces that follow this nonce without a gap increase the result.
    pub(crate) fn last_nonce(&self, sender: &Address) -> Result<Nonce, StateError> {
        let waiting = self.lock_pool().nonces(sender);
        // Read the pool before the head: a transaction leaves the pool only after its block is published. In the other
        // order, both reads could miss a transaction.
        let mut last = self.published().state.account(sender)?.unwrap_or_default().nonce;
        while let Some(next) = last.next().filter(|next| waiting.contains(next)) {
            last = next;
        }
        Ok(last)
    }

    /// Returns the number of the oldest block of the proof window if `head` is the latest block.
    pub(crate) fn earliest_proof(&self, head: BlockNumber) -> BlockNumber {
        let window = self.network.config.policy.proof_window.get();
        BlockNumber::new(head.get().saturating_add(1).saturating_sub(window))
    }

    /// Returns the published head.
    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.read())
    }

    /// Replaces the published head, and calls the listener. The store has flushed the blocks of `published` before.
    /// Returns the previous head, which the caller drops without a lock: its state and cached responses can be large.
    pub(crate) fn publish(&self, published: Arc<Published>) -> Arc<Published> {
        let previous = mem::replace(&mut *self.published.write(), published);
        if let Some(listener) = self.listener.get() {
            (listener.0)();
        }
        previous
    }

    /// Sets the function that each publication of a head calls. Only the first call has an effect.
    pub(crate) fn listen(&self, listener: Box<dyn Fn() + Send + Sync>) {
        drop(self.listener.set(Listener(listener)));
    }
}

/// The published head: the latest block with its state, and the settings in force. Each flush of blocks and each change
/// of a setting replaces the published head as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    pub(crate) head: Head,
    pub(crate) state: silica_state::Snapshot,
    /// The reverts before this head.
    pub(crate) reverts: Arc<RevertLog>,
    pub(crate) times: Times,
    /// Hashes of the newest [`RECENT`] transactions, the newest first.
    pub(crate) recent: Arc<[TxHash]>,
    /// The nonces that admission accepts.
    pub(crate) nonces: NoncePolicy,
    /// The blocks that increase the logical block number.
    pub(crate) numbering: Numbering,
    /// The minimum gas price that the operator has set, if any.
    pub(crate) operator_price: Option<GasPrice>,
    /// The lowest minimum gas price without a setting of the operator.
    pub(crate) floor_price: GasPrice,
    /// Data that readers derive from this head.
    pub(crate) derived: Derived,
}

impl Published {
    /// Returns the Tx epoch in progress, which is the number of the next block.
    pub(crate) fn epoch(&self) -> BlockNumber {
        self.head.number().next().unwrap_or(BlockNumber::MISSING)
    }

    /// Returns the minimum gas price in force: the setting of the operator. Without a setting, this is the maximum of
    /// the price of the latest DS block and `floor_price`.
    ///
    /// The price of the genesis DS block is nominal. An SDK that read that price once would send transactions that the
    /// chain rejects from DS block 1 on. Therefore the floor price applies before DS block 1 too.
    pub(crate) fn minimum_gas_price(&self) -> GasPrice {
        self.operator_price.unwrap_or_else(|| self.head.ds_block.header.gas_price.max(self.floor_price))
    }

    /// Returns the head to publish after a block. `state` is a snapshot of the store with that block.
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
        // A block that repeats a logical block number increases its own number, but not the logical one.
        let before = self.head.next_logical_number;
        let next_logical_number = if repeats_number { before } else { before.next().unwrap_or(BlockNumber::MISSING) };
        Self {
            head: Head::new(Arc::clone(tx_block), Arc::clone(ds_block), next_logical_number),
            state,
            reverts: Arc::clone(&self.reverts),
            times: self.times.after(&self.head.tx_block, tx_block, ds_block),
            recent: newest.chain(self.recent.iter().copied()).take(RECENT).collect(),
            nonces: self.nonces,
            numbering: self.numbering,
            operator_price: self.operator_price,
            floor_price: self.floor_price,
            derived: Derived::default(),
        }
    }
}

/// A value that readers derive from a published head, such as cached responses. The first reader creates the value. The
/// drop of the head drops the value.
///
/// A clone is empty, because a clone of a [`Published`] becomes another head.
#[derive(Default)]
pub(crate) struct Derived(OnceLock<Box<dyn Any + Send + Sync>>);

impl Derived {
    /// Returns the value, which the first call creates; `None` if the first call created a value of another type.
    pub(crate) fn get_or_init<T: Any + Send + Sync>(&self, create: impl FnOnce() -> T) -> Option<&T> {
        self.0.get_or_init(|| Box::new(create())).downcast_ref()
    }
}

impl Clone for Derived {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Derived").field(&self.0.get().is_some()).finish()
    }
}

/// Timestamps from which the statistics compute rates of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// The timestamp of Tx block 1; `None` before that block.
    pub(crate) first_tx: Option<Timestamp>,
    /// The timestamp of the Tx block before the latest; `None` at genesis.
    pub(crate) previous_tx: Option<Timestamp>,
    /// The timestamp of DS block 1; `None` before that block.
    pub(crate) first_ds: Option<Timestamp>,
}

impl Times {
    /// Returns the timestamps after `tx_block`, which follows `head`. `ds_block` is the DS block in force.
    pub(crate) fn after(&self, head: &TxBlock, tx_block: &TxBlock, ds_block: &DsBlock) -> Self {
        Self {
            first_tx: self.first_tx.or(Some(tx_block.timestamp)),
            previous_tx: Some(head.timestamp),
            first_ds: self.first_ds.or(Some(ds_block.timestamp)),
        }
    }
}
