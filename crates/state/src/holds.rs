//! Blocks to which the chain can be taken back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use silica_protocol::{BlockHash, BlockNumber};

use crate::archive::Head;

/// A block to which the chain can be taken back by [`Store::revert`](crate::Store::revert), as long as this exists and
/// [`Store::holds_too_much`](crate::Store::holds_too_much) does not say that it is given up: no checkpoint of a later block is
/// begun meanwhile.
#[derive(Debug)]
pub struct Hold {
    number: BlockNumber,
    hash: BlockHash,
    holds: Arc<Holds>,
}

impl Hold {
    pub(crate) fn new(head: &Head, holds: &Arc<Holds>) -> Self {
        let mut state = holds.state();
        state.count = state.count.saturating_add(1);
        Self { number: head.number, hash: head.hash, holds: Arc::clone(holds) }
    }

    /// Number of the block.
    pub const fn number(&self) -> BlockNumber {
        self.number
    }

    /// Hash of the block.
    pub const fn hash(&self) -> BlockHash {
        self.hash
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.holds.state();
        state.count = state.count.saturating_sub(1);
        state.given_up &= state.count > 0;
    }
}

/// The holds that there are. While checkpoints heed them none is begun, and the index of hashes is not written, so that nothing on
/// disk but the record knows of later blocks. Once they are given up, they are so until there is none.
#[derive(Debug, Default)]
pub(crate) struct Holds(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    count: usize,
    given_up: bool,
}

impl Holds {
    /// Whether checkpoints have to wait.
    pub(crate) fn are_heeded(&self) -> bool {
        let state = self.state();
        state.count > 0 && !state.given_up
    }

    /// Lets checkpoints go past those that there are, if there are any.
    pub(crate) fn give_up(&self) {
        let mut state = self.state();
        state.given_up = state.count > 0;
    }

    /// Whether checkpoints go past those that there are.
    pub(crate) fn are_given_up(&self) -> bool {
        self.state().given_up
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
