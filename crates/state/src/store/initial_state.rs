//! The state at opening: the newest checkpoint plus the later state diffs.

use std::sync::Arc;

use silica_protocol::BlockNumber;

use super::open::{Opening, open_error};
use crate::{
    archive::{Archive, Head},
    error::StateError,
    transition::State,
    versioned_trie::{key::Owner, pages::PageStore},
    window::{CheckpointBacklog, catch_up, on_disk},
};

/// The state at opening.
pub(super) struct Recovered {
    pub(super) state: State,
    /// Whether the state is the state of the newest block.
    pub(super) complete: bool,
    pub(super) backlog: CheckpointBacklog,
}

impl Recovered {
    /// Returns `base` as the state. The caller must execute the blocks after it.
    fn without_changes(base: State) -> Self {
        Self { state: base, complete: false, backlog: CheckpointBacklog::default() }
    }
}

/// Computes the state of the newest block from the newest checkpoint and the later state diffs. If a diff is missing
/// that a state of the state history needs, returns an earlier state. The caller must then execute the blocks after
/// this state.
pub(super) fn recover(
    pages: &Arc<PageStore>,
    archive: &Arc<Archive>,
    head: Option<&Head>,
    history: u64,
) -> Result<Recovered, Opening> {
    let manifest = pages.manifest();
    let current = manifest.current.as_ref().map_or(State::EMPTY, State::of);
    let newest = head.map_or(0, |head| head.number.get().saturating_add(1));
    if let Some(block) = current.block() {
        let recorded = archive.view().head_at(block).map_err(|error| Opening::Failed(open_error(error)))?;
        if recorded.map(|block| block.state_root) != Some(current.root()) {
            return Err(Opening::Damaged(format!("the state after block {block} differs from the record")));
        }
        pages.top(&Owner::Accounts, &current.top, current.version)?;
    }
    let oldest = newest.saturating_sub(history.max(1).saturating_sub(1));
    let base = on_disk(&manifest).find(|state| state.version <= oldest);
    let base = base.or_else(|| on_disk(&manifest).last()).unwrap_or(State::EMPTY);
    let mut backlog = CheckpointBacklog::default();
    let mut next = base.version.saturating_add(1);
    while next <= newest {
        let (version, number) = (next, BlockNumber::new(next.saturating_sub(1)));
        if let Some(unchanged) = archive.unchanged_until(number).map_err(StateError::from)? {
            next = unchanged.get().saturating_add(2);
            continue;
        }
        next = version.saturating_add(1);
        let len = archive.diff_len(number).map_err(StateError::from)?;
        let Some(len) = len else { return Ok(Recovered::without_changes(base)) };
        if version > current.version {
            backlog.push(version, len);
        }
    }
    match catch_up(&current, newest, pages, archive, |version, keys| pages.keys().note(version, keys))? {
        Some(state) => Ok(Recovered { state, complete: true, backlog }),
        None => Ok(Recovered::without_changes(base)),
    }
}
