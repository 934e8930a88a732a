//! The set of blocks to which the chain can revert.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use parking_lot::{Mutex, MutexGuard};
use silica_protocol::{BlockHash, BlockNumber};

use crate::{archive::Head, transition::State, versioned_trie::pages::Manifest};

/// Holds whose states are kept: each may have in memory what all others have changed since.
const STATES: usize = 8;

/// A block to which [`Store::revert`](crate::Store::revert) can revert the chain. While a hold exists, the store begins
/// no checkpoint of a later block, unless [`Store::holds_too_much`](crate::Store::holds_too_much) returns that it has
/// given up all holds.
#[derive(Debug)]
pub struct Savepoint {
    number: BlockNumber,
    hash: BlockHash,
    savepoints: Arc<Savepoints>,
    state: Arc<Place>,
}

/// Where the state of a hold is kept, until those of later ones take its place.
type Place = Mutex<Option<SavepointState>>;

/// The state after a block that is held.
#[derive(Clone, Debug)]
pub(crate) struct SavepointState {
    pub state: State,
    /// The checkpoints at that time. When there are others the state may refer to records that are no more.
    pub manifest: Manifest,
}

impl Savepoint {
    pub(crate) fn new(head: &Head, state: SavepointState, savepoints: &Arc<Savepoints>) -> Self {
        let place = Arc::new(Mutex::new(Some(state)));
        let mut all = savepoints.all();
        all.count = all.count.saturating_add(1);
        let oldest = all.keep(&place);
        drop(all);
        // It may be large.
        drop(oldest);
        Self { number: head.number, hash: head.hash, savepoints: Arc::clone(savepoints), state: place }
    }

    /// The state after the block, if it is still kept.
    pub(crate) fn state(&self) -> Option<SavepointState> {
        self.state.lock().clone()
    }

    /// Keeps the state no more, as when many later holds were made.
    #[cfg(test)]
    pub(crate) fn forget_state(&self) {
        *self.state.lock() = None;
    }

    /// Returns the number of the block.
    pub const fn number(&self) -> BlockNumber {
        self.number
    }

    /// Returns the hash of the block.
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

/// The holds that there are. While checkpoints heed them none is begun, and the index of hashes is not written, so that
/// nothing on disk but the record knows of later blocks. Once they are given up, they are so until there is none.
#[derive(Debug, Default)]
pub(crate) struct Savepoints(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    count: usize,
    given_up: bool,
    /// Where states are kept, the newest hold's last.
    states: VecDeque<Weak<Place>>,
}

impl All {
    /// Keeps the state of a hold, and returns the one that makes way for it.
    fn keep(&mut self, place: &Arc<Place>) -> Option<SavepointState> {
        self.states.retain(|place| place.strong_count() > 0);
        self.states.push_back(Arc::downgrade(place));
        let oldest = if self.states.len() > STATES { self.states.pop_front()?.upgrade()? } else { return None };
        oldest.lock().take()
    }
}

impl Savepoints {
    /// Whether checkpoints have to wait.
    pub(crate) fn are_heeded(&self) -> bool {
        let all = self.all();
        all.count > 0 && !all.given_up
    }

    /// Lets checkpoints go past those that there are, if there are any.
    pub(crate) fn give_up(&self) {
        let mut all = self.all();
        all.given_up = all.count > 0;
    }

    /// Whether checkpoints go past those that there are.
    pub(crate) fn are_given_up(&self) -> bool {
        self.all().given_up
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock()
    }
}
