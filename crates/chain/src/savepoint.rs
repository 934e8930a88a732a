//! Points of a chain to which it can be taken back, blocks and all.

use std::sync::Arc;

use silica_protocol::{BlockNumber, GasPrice, TxHash};
use silica_state::Hold;

use crate::{
    config::{NoncePolicy, Numbering},
    load::OpenError,
    network::Head,
    pool::Pool,
    producer::Producer,
    replay,
    shared::{Published, Times},
    terms::FullBlocks,
};

/// A point of the chain: its blocks, what waits for the next one, and what the operator has set.
///
/// Making one costs a copy of what waits, and now and then a checkpoint, see [`silica_state::Store::hold`]. While there
/// is one, what has changed since the newest checkpoint stays in memory, see [`Producer::holds_too_much`].
#[derive(Debug)]
pub struct SavePoint {
    hold: Hold,
    pool: Pool,
    head: Head,
    times: Times,
    recent: Arc<[TxHash]>,
    nonces: NoncePolicy,
    numbering: Numbering,
    operator_price: Option<GasPrice>,
}

impl SavePoint {
    /// The newest block at this point.
    pub const fn block(&self) -> BlockNumber {
        self.hold.number()
    }

    /// The price of gas that the operator had set.
    pub const fn operator_price(&self) -> Option<GasPrice> {
        self.operator_price
    }

    /// Number of the transactions that are kept for it: those that waited, and those that were dropped before.
    pub fn transactions(&self) -> usize {
        self.pool.remembered()
    }
}

impl Producer {
    /// Makes it possible to come back to this point.
    ///
    /// # Errors
    ///
    /// [`RevertError::Store`] while there are blocks that are not flushed, or [could not be written](Self::has_failed).
    pub fn save(&self) -> Result<SavePoint, RevertError> {
        self.require_no_failure()?;
        let hold = self.store.hold()?;
        let pool = self.shared.lock_pool().clone();
        let Published { head, times, recent, nonces, numbering, operator_price, .. } =
            Published::clone(&self.shared.published());
        Ok(SavePoint { hold, pool, head, times, recent, nonces, numbering, operator_price })
    }

    const fn require_no_failure(&self) -> Result<(), RevertError> {
        if self.has_failed() { Err(RevertError::Store(silica_state::RevertError::Busy)) } else { Ok(()) }
    }

    /// The price of gas that the operator has set.
    pub fn operator_price(&self) -> Option<GasPrice> {
        self.shared.published().operator_price
    }

    /// Whether so much has changed that points should be given up, as it is in memory on their account.
    pub fn holds_too_much(&self) -> bool {
        self.store.holds_too_much()
    }

    /// Takes the chain back to a point: the blocks after it are removed for good, and so are the transactions
    /// that came after it. Points after it are invalid.
    ///
    /// Snapshots that readers have taken before answer what they know, and errors to everything else.
    ///
    /// # Errors
    ///
    /// [`RevertError`], of the store also while there are blocks that are not flushed or could not be written. If the
    /// store was changed no block can be made until the producer has [recovered](Self::recover), which it cannot if the
    /// blocks are gone: then the chain is to be opened again.
    pub fn revert(&mut self, to: &SavePoint) -> Result<(), RevertError> {
        self.require_no_failure()?;
        let SavePoint { hold, pool, head, times, recent, nonces, numbering, operator_price } = to;
        let shared = Arc::clone(&self.shared);
        let reverted = self.store.revert(hold).map_err(RevertError::from).and_then(|_| {
            replay::catch_up(&self.store, &shared.network, &self.genesis, &mut |_, _| {})
                .map_err(|error| RevertError::Open(error.into()))
        });
        self.failed = reverted.as_ref().is_err_and(|error| !error.leaves_chain());
        reverted?;
        self.full_blocks = FullBlocks::uncounted(head);
        let published = Published {
            head: head.clone(),
            state: self.store.snapshot(),
            times: *times,
            recent: Arc::clone(recent),
            nonces: *nonces,
            numbering: *numbering,
            operator_price: *operator_price,
            ..Published::clone(&shared.published())
        };
        let pool = pool.clone();
        // Both under the lock, so that a reader finds each transaction in the pool or in a block.
        let mut waiting = shared.lock_pool();
        shared.publish(Arc::new(published));
        *waiting = pool;
        Ok(())
    }
}

/// Reason why a chain was not taken back to an earlier point.
#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    /// The store could not be taken back.
    #[error("taking the store back")]
    Store(#[from] silica_state::RevertError),
    /// The store is back, and the chain could not be opened in it.
    #[error("opening the chain again")]
    Open(#[from] OpenError),
}

impl RevertError {
    /// Whether the chain is as it was, and goes on.
    pub const fn leaves_chain(&self) -> bool {
        match self {
            Self::Store(error) => error.leaves_store(),
            Self::Open(_) => false,
        }
    }
}
