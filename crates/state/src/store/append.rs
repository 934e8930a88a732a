//! Appends blocks: prepares the states after the new blocks, and writes, flushes or replays the blocks.

use silica_protocol::{BlockNumber, StateRoot};

use super::{Store, Writer};
use crate::{
    archive::{AppendError, ArchiveView, BlockRecord, EmptyBlockRange},
    diff::StateDiff,
    error::{CommitError, StateError},
    keys::KeyChanges,
    snapshot::Snapshot,
    transition::State,
    version::Version,
};

/// Approximate memory of one transaction in the hash index, in bytes.
const BYTES_PER_TRANSACTION: usize = 32;

/// The blocks of one append.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a value lives for one call, so a box saves nothing")]
pub enum Append<'r> {
    /// One block with its transactions.
    Block(&'r BlockRecord),
    /// An empty block range.
    EmptyRange(EmptyBlockRange),
}

impl Append<'_> {
    /// Returns the state root in the last header.
    fn state_root(&self) -> StateRoot {
        match self {
            Self::Block(record) => record.tx_block.header.state_root,
            Self::EmptyRange(range) => range.state_root(),
        }
    }
}

/// The states after blocks that are not committed yet. Readers cannot read these states. Dropping the value discards
/// the states.
#[derive(Debug)]
pub struct PreparedState {
    /// The version before the blocks.
    begin: Version,
    /// The state after the last block.
    state: State,
    /// The states after the blocks that have a diff, the oldest first. `keys` and `diffs` have the same order and
    /// length.
    changed: Vec<State>,
    keys: Vec<KeyChanges>,
    diffs: Vec<(BlockNumber, Vec<u8>)>,
}

impl PreparedState {
    /// Returns the root of the account trie after the last block.
    pub fn root(&self) -> StateRoot {
        self.state.root()
    }

    /// Adds blocks that do not change the state.
    pub const fn skip(&mut self, blocks: u64) {
        self.state.version = self.state.version.saturating_add(blocks);
    }

    fn last(&self) -> BlockNumber {
        self.state.block().unwrap_or_default()
    }
}

impl Store {
    /// Returns the first and the last block to execute again, or `None` if no replay is necessary.
    pub fn replaying(&self) -> Option<(BlockNumber, BlockNumber)> {
        let writer = self.writer();
        let at = self.snapshot().window().newest().version;
        writer.replay_to.map(|head| (BlockNumber::new(at), head))
    }

    /// Returns the state after the newest appended block, which may not be flushed yet. [`Store::extend`] and
    /// [`PreparedState::skip`] add the states of later blocks.
    pub fn prepare(&self) -> PreparedState {
        let state = self.newest(&self.writer()).window().newest().clone();
        PreparedState { begin: state.version, state, changed: Vec::new(), keys: Vec::new(), diffs: Vec::new() }
    }

    /// Adds the state after the next block, computed from `diff`. The result has no effect until [`Store::append`].
    ///
    /// # Errors
    ///
    /// [`StateError::NotContract`], [`StateError::ForeignKey`] or [`StateError::TooLarge`]: the store cannot apply the
    /// diff. Other errors: the state cannot be read.
    pub fn extend(&self, mut prepared: PreparedState, diff: &StateDiff) -> Result<PreparedState, StateError> {
        let version = prepared.state.version.saturating_add(1);
        let (state, keys) = prepared.state.advance(&self.core.pages, diff, version)?;
        prepared.changed.push(state.clone());
        prepared.state = state;
        prepared.keys.push(keys);
        prepared.diffs.push((prepared.last(), diff.encode()));
        Ok(prepared)
    }

    /// Appends a block, and flushes the block before readers can read it. Returns a snapshot of the chain at this
    /// block.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::append`] and [`Store::flush`].
    pub fn commit(&self, block: &BlockRecord, state: PreparedState) -> Result<Snapshot, CommitError> {
        self.append(Append::Block(block), state)?;
        self.flush()
    }

    /// Appends blocks without waiting for the disk. Returns a snapshot of the chain at the last block.
    /// [`Store::prepare`] then begins at this block.
    ///
    /// Until [`Store::flush`] has returned, readers cannot read the blocks, and a crash can undo them. One flush
    /// of several blocks costs little more than the flush of one block.
    ///
    /// # Errors
    ///
    /// [`CommitError`]. After an error of the database engine, every append fails until [`Store::recover`] succeeds or
    /// the store is opened again. Any other error leaves the store unchanged.
    pub fn append(&self, blocks: Append<'_>, prepared: PreparedState) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let before = self.newest(&writer);
        if let Some(head) = writer.replay_to {
            return Err(CommitError::Replaying { at: before.window().newest().block(), head });
        }
        check_follows(&before, &prepared)?;
        let first = BlockNumber::new(prepared.begin);
        let expected = match &blocks {
            Append::Block(_) => first,
            Append::EmptyRange(range) => range.last(),
        };
        if prepared.last() != expected {
            return Err(CommitError::Stale { prepared: prepared.last(), expected });
        }
        self.check_state(blocks.state_root(), &prepared)?;
        let transactions = match blocks {
            Append::Block(record) => {
                let [(_, diff)] = &*prepared.diffs else {
                    return Err(AppendError::BlockChanges { number: first, got: prepared.diffs.len() }.into());
                };
                self.core.archive.write(record, diff)?;
                record.transactions.len()
            }
            Append::EmptyRange(range) => {
                self.core.archive.write_range(range, &prepared.diffs)?;
                0
            }
        };
        let index_bytes = transactions.saturating_mul(BYTES_PER_TRANSACTION);
        let snapshot = self.include(&mut writer, &before, prepared, self.core.archive.view_of_written(), index_bytes);
        writer.written = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Flushes the appended blocks, and then makes them visible to readers. Returns a snapshot of the chain at the
    /// newest block.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: the disk cannot be written. Readers then cannot read the appended blocks.
    pub fn flush(&self) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let Some(snapshot) = writer.written.clone() else { return Ok(self.snapshot()) };
        self.core.archive.flush()?;
        writer.written = None;
        self.publish(&mut writer, &snapshot);
        Ok(snapshot)
    }

    /// Publishes the states of the next blocks of the record to readers, after
    /// [`OpenOutcome::NeedsReplay`](crate::OpenOutcome::NeedsReplay).
    ///
    /// # Errors
    ///
    /// - [`CommitError::Root`]: the last block has another state root than `prepared`.
    /// - [`CommitError::NotReplaying`]: the record does not have the last block of `prepared`, or the store needs no
    ///   replay.
    /// - The errors of [`Store::commit`].
    pub fn replay(&self, prepared: PreparedState) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let before = self.snapshot();
        let head = writer.replay_to.ok_or(CommitError::NotReplaying)?;
        check_follows(&before, &prepared)?;
        let number = prepared.last();
        let block = self.core.archive.view().head_at(number)?.ok_or(CommitError::NotReplaying)?;
        self.check_state(block.state_root, &prepared)?;
        let view = self.core.archive.view_at(Some(number))?;
        for (number, diff) in &prepared.diffs {
            self.core.archive.keep_diff(*number, diff)?;
        }
        let snapshot = self.include(&mut writer, &before, prepared, view, 0);
        self.publish(&mut writer, &snapshot);
        if number == head {
            writer.replay_to = None;
        }
        Ok(snapshot)
    }

    /// Returns a snapshot of the chain at the newest appended block. This block may not be flushed yet.
    fn newest(&self, writer: &Writer) -> Snapshot {
        writer.written.clone().unwrap_or_else(|| self.snapshot())
    }

    /// Rejects a state with another root than `expected`, and any state after a failed checkpoint.
    fn check_state(&self, expected: StateRoot, prepared: &PreparedState) -> Result<(), CommitError> {
        let got = prepared.root();
        if got != expected {
            return Err(CommitError::Root { expected, got });
        }
        // Without checkpoints, the changes in memory would grow without a limit.
        self.checkpointer.failure().map_or(Ok(()), |failure| Err(CommitError::Checkpoint(failure)))
    }

    /// Returns a snapshot of the chain after the prepared blocks. `index_bytes` is the memory in bytes that the last
    /// block takes in the hash index.
    fn include(
        &self,
        writer: &mut Writer,
        before: &Snapshot,
        prepared: PreparedState,
        view: ArchiveView,
        index_bytes: usize,
    ) -> Snapshot {
        let PreparedState { begin: _, state: last, changed, keys, diffs } = prepared;
        let window = before.window().extend(&changed, last.version);
        for ((state, keys), (_, diff)) in changed.iter().zip(keys).zip(&diffs) {
            let index = if state.version == last.version { index_bytes } else { 0 };
            let bytes = u64::try_from(diff.len().saturating_add(index)).unwrap_or(u64::MAX);
            writer.backlog.push(state.version, bytes);
            self.core.pages.keys().note(state.version, keys);
        }
        Snapshot::new(&self.core, view, window)
    }
}

/// Rejects states whose preparation did not begin at the newest block.
fn check_follows(before: &Snapshot, prepared: &PreparedState) -> Result<(), CommitError> {
    let expected = before.window().newest().version;
    if prepared.begin == expected {
        return Ok(());
    }
    Err(CommitError::Stale { prepared: BlockNumber::new(prepared.begin), expected: BlockNumber::new(expected) })
}
