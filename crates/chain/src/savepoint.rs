//! Points of a chain to which it can be taken back, blocks and all.

use std::sync::Arc;

use silica_protocol::{BlockNumber, GasPrice};
use silica_state::Hold;

use crate::{
    config::NoncePolicy,
    error::RevertError,
    handle::Published,
    open,
    pool::Pool,
    producer::{Producer, Written},
    replay,
    terms::FullBlocks,
};

/// A point of the chain: its blocks, what waits for the next one, and what the operator has set.
///
/// Making one costs a copy of what waits, and now and then a checkpoint, see [`silica_state::Store::hold`]. While there is one,
/// what has changed since the newest checkpoint stays in memory, see [`Producer::holds_too_much`].
#[derive(Debug)]
pub struct SavePoint {
    hold: Hold,
    pool: Pool,
    nonces: NoncePolicy,
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
    /// [`RevertError::Store`] while there are blocks that are not flushed.
    pub fn save(&self) -> Result<SavePoint, RevertError> {
        let hold = self.store.hold()?;
        let published = self.shared.published();
        let pool = self.shared.lock_pool().clone();
        Ok(SavePoint { hold, pool, nonces: published.nonces, operator_price: published.operator_price })
    }

    /// The price of gas that the operator has set.
    pub fn operator_price(&self) -> Option<GasPrice> {
        self.shared.published().operator_price
    }

    /// Whether so much has changed that points should be given up, as it is in memory on their account.
    pub fn holds_too_much(&self) -> bool {
        self.store.holds_too_much()
    }

    /// Takes the chain back to a point: the blocks after it are removed for good, and nobody knows of transactions that came
    /// after it. Points after it are of no use any more.
    ///
    /// Snapshots that readers have taken before answer what they know, and errors to everything else.
    ///
    /// # Errors
    ///
    /// [`RevertError`]. If the store was changed no block can be made any more, and the chain is to be opened again.
    pub fn revert(&mut self, to: SavePoint) -> Result<(), RevertError> {
        let SavePoint { hold, pool, nonces, operator_price } = to;
        self.written = Written::default();
        let shared = Arc::clone(&self.shared);
        let state = if shared.published().head.hash == hold.hash() {
            self.store.snapshot()
        } else {
            self.store.revert(&hold)?;
            replay::catch_up(&self.store, &shared.network, &self.genesis, &mut |_, _| {})
                .map_err(|error| RevertError::Open(error.into()))?;
            self.store.snapshot()
        };
        let published = open::read_published(state, &shared.network)?;
        self.full_blocks = FullBlocks::uncounted(&published.head);
        // Together, so that nobody finds a transaction neither in the pool nor in a block.
        let mut waiting = shared.lock_pool();
        shared.publish(Arc::new(Published { nonces, operator_price, ..published }));
        *waiting = pool;
        Ok(())
    }
}
