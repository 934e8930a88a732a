//! Savepoints: the blocks to which the chain can revert.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use parking_lot::{Mutex, MutexGuard};
use silica_protocol::{BlockHash, BlockNumber};

use crate::{archive::Head, transition::State, versioned_trie::pages::Manifest};

/// Maximum number of savepoints with a state in memory. Such a state keeps in memory the data that later blocks have
/// changed.
const STATES: usize = 8;

/// A block to which [`Store::revert`](crate::Store::revert) can revert the chain. While a savepoint exists, no commit
/// begins a checkpoint of a later block, unless the store has discarded all savepoints (see
/// [`Store::holds_too_much`](crate::Store::holds_too_much)). [`Store::close`](crate::Store::close) ignores savepoints.
#[derive(Debug)]
pub struct Savepoint {
    number: BlockNumber,
    hash: BlockHash,
    savepoints: Arc<Savepoints>,
    state: Arc<Place>,
}

/// The state of a savepoint. `None` after [`STATES`] later savepoints.
type Place = Mutex<Option<SavepointState>>;

/// The state after the block of a savepoint, and the checkpoints when the savepoint was created.
#[derive(Clone, Debug)]
pub(crate) struct SavepointState {
    pub state: State,
    /// The checkpoints when the savepoint was created. If the store has other checkpoints now, pages of the state may
    /// be removed.
    pub manifest: Manifest,
}

impl Savepoint {
    pub(crate) fn new(head: &Head, state: SavepointState, savepoints: &Arc<Savepoints>) -> Self {
        let place = Arc::new(Mutex::new(Some(state)));
        let mut all = savepoints.all();
        all.count = all.count.saturating_add(1);
        let oldest = all.keep(&place);
        drop(all);
        // The state is dropped after the lock is released, because it can be large.
        drop(oldest);
        Self { number: head.number, hash: head.hash, savepoints: Arc::clone(savepoints), state: place }
    }

    /// Returns the state after the block, or `None` if it is not in memory.
    pub(crate) fn state(&self) -> Option<SavepointState> {
        self.state.lock().clone()
    }

    /// Drops the state, as [`STATES`] later savepoints do.
    #[cfg(test)]
    pub(crate) fn forget_state(&self) {
        *self.state.lock() = None;
    }

    /// Returns the number of the block that a revert makes the latest block.
    pub const fn number(&self) -> BlockNumber {
        self.number
    }

    /// Returns the hash of the block that a revert makes the latest block.
    pub const fn hash(&self) -> BlockHash {
        self.hash
    }
}

impl Drop for Savepoint {
    fn drop(&mut self) {
        let mut all = self.savepoints.all();
        all.count = all.count.saturating_sub(1);
        all.given_up &= all.count > 0;
    }
}

/// The savepoints of a store. While a savepoint exists, no checkpoint begins and the hash index is not written. So on
/// disk, only the record, the files of state diffs and the history index have data of later blocks. After the store
/// discards the savepoints, checkpoints ignore these savepoints and all later savepoints, until the caller has dropped
/// all of them.
#[derive(Debug, Default)]
pub(crate) struct Savepoints(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    count: usize,
    given_up: bool,
    /// The places of the states, in the order of their savepoints.
    states: VecDeque<Weak<Place>>,
}

impl All {
    /// Adds the place of a state. If the list then has more than [`STATES`] states, removes and returns the oldest
    /// state.
    fn keep(&mut self, place: &Arc<Place>) -> Option<SavepointState> {
        self.states.retain(|place| place.strong_count() > 0);
        self.states.push_back(Arc::downgrade(place));
        let oldest = if self.states.len() > STATES { self.states.pop_front()?.upgrade()? } else { return None };
        oldest.lock().take()
    }
}

impl Savepoints {
    /// Returns whether checkpoints must not begin, because a savepoint exists and is not discarded.
    pub(crate) fn are_heeded(&self) -> bool {
        let all = self.all();
        all.count > 0 && !all.given_up
    }

    /// Lets checkpoints ignore all savepoints, until all of them are dropped.
    pub(crate) fn give_up(&self) {
        let mut all = self.all();
        all.given_up = all.count > 0;
    }

    /// Returns whether checkpoints ignore the savepoints.
    pub(crate) fn are_given_up(&self) -> bool {
        self.all().given_up
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock()
    }
}
