//! Savepoints: blocks to which a chain can revert.

use std::sync::Arc;

use silica_protocol::{BlockNumber, GasPrice, TxHash};
use silica_state::Savepoint;

use crate::{
    config::{NoncePolicy, Numbering},
    epoch_accounting::FullBlockCounter,
    load::OpenError,
    network::Head,
    pool::Pool,
    producer::Producer,
    replay,
    shared::{Published, Times},
};

/// A savepoint of the chain: its blocks, the pending transactions, and the settings of the operator.
///
/// The creation copies the pending transactions, and sometimes writes a checkpoint: see
/// [`silica_state::Store::savepoint`]. While a savepoint exists, the changes since the newest checkpoint stay in
/// memory: see [`Producer::holds_too_much`].
#[derive(Debug)]
pub struct ChainSavepoint {
    savepoint: Savepoint,
    pool: Pool,
    head: Head,
    times: Times,
    recent: Arc<[TxHash]>,
    nonces: NoncePolicy,
    numbering: Numbering,
    operator_price: Option<GasPrice>,
}

impl ChainSavepoint {
    /// Returns the number of the newest block at this savepoint.
    pub const fn block(&self) -> BlockNumber {
        self.savepoint.number()
    }

    /// Returns the gas price that the operator had set, if any.
    pub const fn operator_price(&self) -> Option<GasPrice> {
        self.operator_price
    }

    /// Returns the number of pending and dropped transactions that the savepoint keeps in memory.
    pub fn transactions(&self) -> usize {
        self.pool.remembered()
    }
}

impl Producer {
    /// Creates a savepoint at the head.
    ///
    /// # Errors
    ///
    /// [`RevertError::Store`]: there are written blocks without a flush, or the last write [failed](Self::has_failed).
    pub fn save(&self) -> Result<ChainSavepoint, RevertError> {
        self.require_no_failure()?;
        let savepoint = self.store.savepoint()?;
        let pool = self.shared.lock_pool().clone();
        let Published { head, times, recent, nonces, numbering, operator_price, .. } =
            Published::clone(&self.shared.published());
        Ok(ChainSavepoint { savepoint, pool, head, times, recent, nonces, numbering, operator_price })
    }

    const fn require_no_failure(&self) -> Result<(), RevertError> {
        if self.has_failed() { Err(RevertError::Store(silica_state::RevertError::Busy)) } else { Ok(()) }
    }

    /// Returns the gas price that the operator has set, if any.
    pub fn operator_price(&self) -> Option<GasPrice> {
        self.shared.published().operator_price
    }

    /// Returns whether the savepoints keep too many changes in memory: see [`silica_state::Store::holds_too_much`]. The
    /// caller should then drop its savepoints.
    pub fn holds_too_much(&self) -> bool {
        self.store.holds_too_much()
    }

    /// Reverts the chain to a savepoint. Removes all later blocks and transactions. Later savepoints become invalid.
    ///
    /// Snapshots from before the revert return data that they have in memory. Other queries to them can return an
    /// error.
    ///
    /// # Errors
    ///
    /// [`RevertError`]: there are written blocks without a flush, the last write failed, or the store or the chain
    /// could not revert. If the error does not [leave the chain unchanged](RevertError::leaves_chain), the producer
    /// makes no block until it has [recovered](Self::recover). If the recovery fails too, the caller has to open the
    /// chain again.
    pub fn revert(&mut self, to: &ChainSavepoint) -> Result<(), RevertError> {
        self.require_no_failure()?;
        let ChainSavepoint { savepoint, pool, head, times, recent, nonces, numbering, operator_price } = to;
        let shared = Arc::clone(&self.shared);
        let reverted = self.store.revert(savepoint).map_err(RevertError::from).and_then(|_| {
            replay::catch_up(&self.store, &shared.network, &shared.genesis, &mut |_, _| {})
                .map_err(|error| RevertError::Open(error.into()))
        });
        self.failed = reverted.as_ref().is_err_and(|error| !error.leaves_chain());
        reverted?;
        self.full_blocks = FullBlockCounter::uncounted(head);
        let before = shared.published();
        let published = Published {
            head: head.clone(),
            state: self.store.snapshot(),
            reverts: Arc::new(before.reverts.after(savepoint.number())),
            times: *times,
            recent: Arc::clone(recent),
            nonces: *nonces,
            numbering: *numbering,
            operator_price: *operator_price,
            ..Published::clone(&before)
        };
        let pool = pool.clone();
        // The head and the pool change under one lock, so that a reader finds each transaction in the pool or in a
        // block.
        let mut waiting = shared.lock_pool();
        shared.publish(Arc::new(published));
        *waiting = pool;
        Ok(())
    }
}

/// Reason why a chain was not reverted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevertError {
    /// The store failed to revert.
    #[error("failed to revert the store")]
    Store(#[from] silica_state::RevertError),
    /// The store reverted, but the chain failed to open.
    #[error("failed to open the chain after a revert")]
    Open(#[from] OpenError),
}

impl RevertError {
    /// Returns whether the chain is unchanged, and continues.
    pub const fn leaves_chain(&self) -> bool {
        match self {
            Self::Store(error) => error.leaves_store(),
            Self::Open(_) => false,
        }
    }
}
