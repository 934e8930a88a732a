//! The state history: the readable states after the newest blocks.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use silica_protocol::BlockNumber;

use crate::{
    archive::Archive,
    diff::StateDiff,
    error::{HistoryError, StateError},
    keys::{KeyChanges, Recent},
    transition::State,
    version::Version,
    versioned_trie::pages::{Manifest, PageStore},
};

/// The part of the state history since the start of this process or the latest revert, the oldest state first.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    states: Arc<[State]>,
    /// Length of the state history in blocks.
    length: u64,
}

impl Window {
    pub(crate) fn new(newest: State, length: u64) -> Self {
        Self { states: [newest].into(), length: length.max(1) }
    }

    /// Returns the state history after more blocks. `end` is the version of the last of these blocks. `changed` has the
    /// states after the blocks that change the state, the oldest first.
    pub(crate) fn extend(&self, changed: &[State], end: Version) -> Self {
        let (before, oldest) = (self.newest(), end.saturating_sub(self.length.saturating_sub(1)));
        let next = before.version.saturating_add(1);
        let state = |version| {
            let after = changed.partition_point(|state| state.version <= version);
            let state = after.checked_sub(1).and_then(|at| changed.get(at)).unwrap_or(before);
            State { version, ..state.clone() }
        };
        let kept = self.states.iter().filter(|state| state.version >= oldest).cloned();
        let states = kept.chain((next.max(oldest)..=end).map(state)).collect();
        Self { states, length: self.length }
    }

    /// Returns the state after the newest block.
    pub(crate) fn newest(&self) -> &State {
        self.states.last().unwrap_or(&State::EMPTY)
    }

    /// Returns the version of the oldest state in the state history.
    pub(crate) fn oldest(&self) -> Version {
        self.newest().version.saturating_sub(self.length.saturating_sub(1)).max(1)
    }

    /// Returns the oldest state of the state history that is in memory.
    pub(crate) fn oldest_in_memory(&self) -> &State {
        self.states.first().unwrap_or(&State::EMPTY)
    }

    /// Returns the state of a version, or `None` if this part of the state history does not contain it.
    pub(crate) fn get(&self, version: Version) -> Option<&State> {
        let behind = usize::try_from(self.newest().version.checked_sub(version)?).ok()?;
        let at = self.states.len().checked_sub(1)?.checked_sub(behind)?;
        self.states.get(at)
    }
}

/// Returns the states that can be read from disk alone, the newest first. All other states are computed from them.
pub(crate) fn on_disk(manifest: &Manifest) -> impl Iterator<Item = State> {
    let checkpoints = [&manifest.current, &manifest.previous].into_iter().flatten();
    let checkpoints: Vec<_> = checkpoints.map(State::of).collect();
    let begin = (checkpoints.is_empty() || manifest.is_first()).then_some(State::EMPTY);
    checkpoints.into_iter().chain(begin)
}

/// The states of the state history from before the start of this process, or before the latest revert. They are
/// computed at the first request, from a checkpoint and the later state diffs.
#[derive(Debug)]
pub(crate) struct RecomputedStates {
    /// The version at the start of this process, or after the latest revert. The states from this version on are not in
    /// this cache.
    end: Version,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    states: BTreeMap<Version, State>,
    /// Keys of contract storage that blocks between the checkpoint and these states have added.
    keys: Arc<Recent>,
}

impl RecomputedStates {
    /// Returns an empty cache of states below version `end`.
    pub(crate) fn new(end: Version) -> Self {
        Self { end, made: Mutex::default() }
    }

    /// Returns the state of a version. If necessary, computes the state from the nearest known state of an earlier
    /// version. `oldest` is the version of the oldest state in the state history.
    pub(crate) fn get(
        &self,
        version: Version,
        oldest: Version,
        pages: &PageStore,
        archive: &Arc<Archive>,
    ) -> Result<State, HistoryError> {
        let expired = || HistoryError::expired(oldest.max(pages.floor()));
        let mut made = self.made.lock();
        made.release(oldest);
        if let Some(state) = made.states.get(&version) {
            return Ok(state.clone());
        }
        // A checkpoint can raise the floor at any time, also after the check of the caller.
        let floor = pages.floor();
        if version < floor {
            return Err(expired());
        }
        // The manifest is read at each request, because later checkpoints replace the checkpoint from opening, and its
        // state diffs are removed.
        let base = on_disk(&pages.manifest()).find(|state| state.version <= version);
        let readable = made.states.range(floor..=version).next_back().map(|(_, state)| state.clone());
        let nearest = [base, readable].into_iter().flatten().max_by_key(|state| state.version);
        let mut state = nearest.filter(|_| version < self.end).ok_or_else(expired)?;
        state.older = Some(Arc::clone(&made.keys));
        for end in [between(state.version.max(oldest), version), version] {
            if state.version < end {
                let note = |version, changes| made.keys.note_added(version, changes);
                state = catch_up(&state, end, pages, archive, note)?.ok_or_else(expired)?;
                made.states.insert(end, state.clone());
            }
        }
        Ok(state)
    }

    /// Returns the versions whose states are in memory.
    #[cfg(test)]
    pub(crate) fn versions(&self) -> Vec<Version> {
        self.made.lock().states.keys().copied().collect()
    }

    /// Removes the states if the state history contains none of them.
    pub(crate) fn release(&self, oldest: Version) {
        if self.end <= oldest {
            *self.made.lock() = Made::default();
        }
    }
}

impl Made {
    /// Removes the states before version `oldest`, except the newest of them. Later states are computed from this
    /// state.
    fn release(&mut self, oldest: Version) {
        if let Some(before) = self.states.range(..=oldest).next_back().map(|(version, _)| *version) {
            self.states = self.states.split_off(&before);
        }
    }
}

/// Returns the version in the middle between two versions. The computation of a later state also stores the state of
/// this version, so a request for a state between the two begins there.
const fn between(first: Version, last: Version) -> Version {
    first.saturating_add(last.saturating_sub(first) / 2)
}

/// Number of changed leaves after which a step ends. The constant limits the memory of a step.
const STEP: usize = 200_000;

/// Computes the state of a later version from the state diffs on disk, and compares its root with the root in the
/// block. Returns `None` if a diff is missing. Calls `note` with the changed keys of contract storage after each step.
pub(crate) fn catch_up(
    from: &State,
    version: Version,
    pages: &PageStore,
    archive: &Arc<Archive>,
    note: impl Fn(Version, KeyChanges),
) -> Result<Option<State>, StateError> {
    let advance = |state: &State, diff: &StateDiff, version| {
        let (state, keys) = advance(state, diff, version, pages, archive)?;
        note(version, keys);
        Ok::<_, StateError>(state)
    };
    let mut state = from.clone();
    let mut diff = StateDiff::default();
    let mut version_of_next = from.version.saturating_add(1);
    while version_of_next <= version {
        let next = version_of_next;
        let number = BlockNumber::new(next.saturating_sub(1));
        if let Some(unchanged) = archive.unchanged_until(number)? {
            version_of_next = unchanged.get().saturating_add(2);
            continue;
        }
        version_of_next = next.saturating_add(1);
        let Some(bytes) = archive.diff(number)? else { return Ok(None) };
        let later = StateDiff::decode(&bytes).map_err(|_| StateError::MalformedDiff { number })?;
        if diff.len() >= STEP || diff.is_undone_by(&later) {
            let before = next.saturating_sub(1);
            state = advance(&state, &std::mem::take(&mut diff), before)?;
        }
        diff.extend(later);
    }
    if state.version < version {
        state = advance(&state, &diff, version)?;
    }
    Ok(Some(state))
}

/// Applies a state diff, and compares the resulting root with the root in the block.
fn advance(
    from: &State,
    diff: &StateDiff,
    version: Version,
    pages: &PageStore,
    archive: &Arc<Archive>,
) -> Result<(State, KeyChanges), StateError> {
    let (state, keys) = from.advance(pages, diff, version)?;
    let number = BlockNumber::new(version.saturating_sub(1));
    let expected = archive.view().head_at(number)?.map(|head| head.state_root);
    if expected != Some(state.root()) {
        return Err(pages.damaged(format!("the state after block {number}"), "root differs from the root in the block"));
    }
    Ok((state, keys))
}

/// Number of blocks with a state diff since the newest checkpoint, and bytes of their changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pending {
    pub blocks: u64,
    pub bytes: u64,
}

/// The blocks with a state diff since the newest checkpoint, with the bytes of their changes.
#[derive(Debug, Default)]
pub(crate) struct CheckpointBacklog {
    blocks: VecDeque<(Version, u64)>,
    bytes: u64,
}

impl CheckpointBacklog {
    pub(crate) fn push(&mut self, version: Version, bytes: u64) {
        self.blocks.push_back((version, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Removes the blocks that a finished checkpoint contains.
    pub(crate) fn release(&mut self, durable: Version) {
        while let Some((_, bytes)) = self.blocks.pop_front_if(|(version, _)| *version <= durable) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    /// Removes the blocks after a version.
    pub(crate) fn go_back(&mut self, version: Version) {
        while let Some((_, bytes)) = self.blocks.pop_back_if(|(later, _)| *later > version) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    /// Returns the number and the bytes of all blocks.
    pub(crate) fn pending(&self) -> Pending {
        Pending { blocks: u64::try_from(self.blocks.len()).unwrap_or(u64::MAX), bytes: self.bytes }
    }

    /// Returns the number and the bytes of the blocks up to a version.
    pub(crate) fn pending_at(&self, version: Version) -> Pending {
        let blocks = self.blocks.iter().take_while(|(block, _)| *block <= version);
        blocks.fold(Pending::default(), |sum, (_, bytes)| Pending {
            blocks: sum.blocks.saturating_add(1),
            bytes: sum.bytes.saturating_add(*bytes),
        })
    }
}
