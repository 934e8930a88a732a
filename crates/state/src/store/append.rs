//! Appends blocks: prepares the state after a block, and writes, flushes or replays the block.

use silica_protocol::{BlockNumber, StateRoot};

use super::{Store, Writer};
use crate::{
    archive::{ArchiveView, BlockRecord, EmptyBlockRange},
    diff::StateDiff,
    error::{CommitError, StateError},
    keys::KeyChanges,
    snapshot::Snapshot,
    transition::State,
    version::Version,
};

/// Approximate memory that the index of hashes takes for a transaction, in bytes.
const BYTES_PER_TRANSACTION: usize = 32;

/// The state after a block that is not committed yet. Readers do not see it, and dropping it discards it.
#[derive(Debug)]
pub struct PreparedState {
    state: State,
    keys: KeyChanges,
    diff: StateDiff,
    encoded: Vec<u8>,
}

impl PreparedState {
    /// Returns the root of the account trie.
    pub fn root(&self) -> StateRoot {
        self.state.root()
    }

    /// Returns the changes.
    pub const fn diff(&self) -> &StateDiff {
        &self.diff
    }

    fn block(&self) -> BlockNumber {
        self.state.block().unwrap_or_default()
    }
}

/// The states after the blocks of an empty block range that is not committed yet. Readers do not see them. Dropping the
/// value discards them.
#[derive(Debug)]
pub struct PreparedRange {
    /// The version before the run.
    begin: Version,
    /// The state after the last block.
    state: State,
    /// Those after the blocks that change something.
    changed: Vec<State>,
    keys: Vec<(Version, KeyChanges)>,
    diffs: Vec<(BlockNumber, Vec<u8>)>,
}

impl PreparedRange {
    /// Returns the root of the account trie after the last block so far.
    pub fn root(&self) -> StateRoot {
        self.state.root()
    }

    /// Adds blocks without a change of state.
    pub fn pass(&mut self, blocks: u64) {
        self.state.version = self.state.version.saturating_add(blocks);
    }

    fn bytes(&self) -> impl Iterator<Item = (Version, u64)> + '_ {
        self.changed.iter().zip(&self.diffs).map(|(state, (_, diff))| {
            let bytes = u64::try_from(diff.len()).unwrap_or(u64::MAX);
            (state.version, bytes)
        })
    }
}

impl Store {
    /// Returns the first and the last block to execute again, or `None` if no replay is necessary.
    pub fn replaying(&self) -> Option<(BlockNumber, BlockNumber)> {
        let writer = self.writer();
        let at = self.snapshot().window().newest().version;
        writer.replay_to.map(|head| (BlockNumber::new(at), head))
    }

    /// Computes the state after the next block. The state has no effect until it is committed.
    ///
    /// # Errors
    ///
    /// [`StateError::NotContract`] and [`StateError::ForeignKey`] if the diff is inconsistent; other errors if the
    /// state cannot be read.
    pub fn prepare(&self, diff: StateDiff) -> Result<PreparedState, StateError> {
        let before = self.writer().written.clone();
        let before = before.unwrap_or_else(|| self.snapshot());
        let newest = before.window().newest();
        let (state, keys) = newest.advance(&self.core.pages, &diff, newest.version.saturating_add(1))?;
        let encoded = diff.encode();
        Ok(PreparedState { state, keys, diff, encoded })
    }

    /// Appends a block with its state. The block is durable before readers see it. Returns a snapshot of the chain at
    /// this block.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: nothing was changed, unless it is one of the engine.
    pub fn commit(&self, block: &BlockRecord, state: PreparedState) -> Result<Snapshot, CommitError> {
        self.write(block, state)?;
        self.flush()
    }

    /// Appends a block without waiting for the disk. Returns a snapshot of the chain at this block, on which the caller
    /// can prepare the next one.
    ///
    /// Until [`Store::flush`] has returned, readers do not see the block, and a crash may undo it. A flush of several
    /// blocks costs little more than a flush of one.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: nothing was changed, unless it is one of the engine.
    pub fn write(&self, block: &BlockRecord, state: PreparedState) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let before = writer.written.clone().unwrap_or_else(|| self.snapshot());
        if let Some(head) = writer.replay_to {
            return Err(CommitError::Replaying { at: before.window().newest().block(), head });
        }
        check_follows(&before, &state)?;
        check_root(block.tx_block.header.state_root, &state)?;
        if let Some(failure) = self.checkpointer.failure() {
            return Err(CommitError::Checkpoint(failure));
        }
        self.core.archive.write(block, &state.encoded)?;
        let bytes = state.encoded.len().saturating_add(block.transactions.len().saturating_mul(BYTES_PER_TRANSACTION));
        self.core.pages.keys().note(state.state.version, state.keys);
        let window = before.window().push(state.state);
        writer.backlog.push(window.newest().version, u64::try_from(bytes).unwrap_or(u64::MAX));
        let snapshot = Snapshot::new(&self.core, self.core.archive.view_of_written(), window);
        writer.written = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Begins the states of an empty block range after the newest block.
    ///
    /// # Errors
    ///
    /// As [`Store::prepare`].
    pub fn prepare_range(&self) -> Result<PreparedRange, StateError> {
        let before = self.writer().written.clone();
        let before = before.unwrap_or_else(|| self.snapshot());
        let newest = before.window().newest();
        let begin = newest.version;
        let (state, _) = newest.advance(&self.core.pages, &StateDiff::default(), begin)?;
        Ok(PreparedRange { begin, state, changed: Vec::new(), keys: Vec::new(), diffs: Vec::new() })
    }

    /// Adds a block that changes the state to an empty block range. Returns the root after it.
    ///
    /// # Errors
    ///
    /// As [`Store::prepare`].
    pub fn extend_range(&self, range: &mut PreparedRange, diff: &StateDiff) -> Result<StateRoot, StateError> {
        let version = range.state.version.saturating_add(1);
        let (state, keys) = range.state.advance(&self.core.pages, diff, version)?;
        let root = state.root();
        range.keys.push((version, keys));
        range.diffs.push((BlockNumber::new(range.state.version), diff.encode()));
        range.changed.push(state.clone());
        range.state = state;
        Ok(root)
    }

    /// Appends an empty block range, as [`Store::write`] appends a block.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: nothing was changed, unless it is one of the engine.
    pub fn write_range(&self, range: EmptyBlockRange, state: PreparedRange) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let before = writer.written.clone().unwrap_or_else(|| self.snapshot());
        if let Some(head) = writer.replay_to {
            return Err(CommitError::Replaying { at: before.window().newest().block(), head });
        }
        check_range_follows(&before, &state)?;
        let (last, root) = (range.last(), range.state_root());
        if state.state.block() != Some(last) {
            return Err(CommitError::Stale { prepared: state.state.block().unwrap_or_default(), expected: last });
        }
        if root != state.root() {
            return Err(CommitError::Root { expected: root, got: state.root() });
        }
        if let Some(failure) = self.checkpointer.failure() {
            return Err(CommitError::Checkpoint(failure));
        }
        self.core.archive.write_range(range, &state.diffs)?;
        let view = self.core.archive.view_of_written();
        let snapshot = self.take_in(&mut writer, &before, state, view);
        writer.written = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Returns the chain after a run.
    fn take_in(&self, writer: &mut Writer, before: &Snapshot, state: PreparedRange, view: ArchiveView) -> Snapshot {
        let window = before.window().extend(&state.changed, state.state.version);
        for (version, bytes) in state.bytes() {
            writer.backlog.push(version, bytes);
        }
        for (version, keys) in state.keys {
            self.core.pages.keys().note(version, keys);
        }
        Snapshot::new(&self.core, view, window)
    }

    /// Makes the written blocks durable, and then visible to readers. Returns a snapshot of the chain at the newest
    /// block.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: the disk could not be written. Readers see none of the blocks.
    pub fn flush(&self) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let Some(snapshot) = writer.written.clone() else { return Ok(self.snapshot()) };
        self.core.archive.flush()?;
        writer.written = None;
        self.publish(&mut writer, &snapshot);
        Ok(snapshot)
    }

    /// Publishes the state of the next block of the record to readers, after
    /// [`OpenOutcome::NeedsReplay`](crate::OpenOutcome::NeedsReplay).
    ///
    /// # Errors
    ///
    /// [`CommitError::Root`] when the block has another state root, [`CommitError::NotReplaying`] when there is no next
    /// block, and as [`Store::commit`].
    pub fn replay(&self, state: PreparedState) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let before = self.snapshot();
        let head = writer.replay_to.ok_or(CommitError::NotReplaying)?;
        check_follows(&before, &state)?;
        let number = state.block();
        let block = self.core.archive.view().head_at(number)?.ok_or(CommitError::NotReplaying)?;
        check_root(block.state_root, &state)?;
        if let Some(failure) = self.checkpointer.failure() {
            return Err(CommitError::Checkpoint(failure));
        }
        let view = self.core.archive.view_at(Some(number))?;
        self.core.archive.keep_diff(number, &state.encoded)?;
        self.core.pages.keys().note(state.state.version, state.keys);
        let snapshot = Snapshot::new(&self.core, view, before.window().push(state.state));
        let bytes = u64::try_from(state.encoded.len()).unwrap_or(u64::MAX);
        writer.backlog.push(snapshot.window().newest().version, bytes);
        self.publish(&mut writer, &snapshot);
        if number == head {
            writer.replay_to = None;
        }
        Ok(snapshot)
    }

    /// Publishes the state after blocks of an empty block range of the record to readers, as [`Store::replay`] does for
    /// a block.
    ///
    /// # Errors
    ///
    /// As [`Store::replay`].
    pub fn replay_range(&self, state: PreparedRange) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let before = self.snapshot();
        let head = writer.replay_to.ok_or(CommitError::NotReplaying)?;
        check_range_follows(&before, &state)?;
        let number = state.state.block().unwrap_or_default();
        let last = self.core.archive.view().head_at(number)?.ok_or(CommitError::NotReplaying)?;
        if last.state_root != state.root() {
            return Err(CommitError::Root { expected: last.state_root, got: state.root() });
        }
        if let Some(failure) = self.checkpointer.failure() {
            return Err(CommitError::Checkpoint(failure));
        }
        let view = self.core.archive.view_at(Some(number))?;
        for (number, diff) in &state.diffs {
            self.core.archive.keep_diff(*number, diff)?;
        }
        let snapshot = self.take_in(&mut writer, &before, state, view);
        self.publish(&mut writer, &snapshot);
        if number == head {
            writer.replay_to = None;
        }
        Ok(snapshot)
    }
}

fn check_follows(before: &Snapshot, state: &PreparedState) -> Result<(), CommitError> {
    let expected = BlockNumber::new(before.window().newest().version);
    if state.block() == expected { Ok(()) } else { Err(CommitError::Stale { prepared: state.block(), expected }) }
}

fn check_range_follows(before: &Snapshot, state: &PreparedRange) -> Result<(), CommitError> {
    let expected = before.window().newest().version;
    if state.begin == expected {
        return Ok(());
    }
    Err(CommitError::Stale { prepared: BlockNumber::new(state.begin), expected: BlockNumber::new(expected) })
}

fn check_root(expected: StateRoot, state: &PreparedState) -> Result<(), CommitError> {
    let got = state.root();
    if got == expected { Ok(()) } else { Err(CommitError::Root { expected, got }) }
}
