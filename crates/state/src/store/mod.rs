//! The store: one writer, any number of readers.

mod recovery;
mod room;

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use silica_protocol::{Address, BlockNumber, StateRoot, StorageRoot, VariableHash};

#[cfg(test)]
use crate::db::Disk;
use crate::{
    archive::{Archive, ArchiveError, ArchiveReport, ArchiveView, BlockRecord, BlockRun, Files, Head, Removed, Seal},
    checkpointer::Checkpointer,
    db::{Db, DbOptions, Durability, ENGINE_PARAMETERS},
    diff::StateDiff,
    error::{CloseError, CommitError, OpenError, RevertError, StateError},
    file::{create_anew, sync},
    forest::{key::Owner, records::Records},
    holds::{HeldState, Hold, Holds},
    keys::KeyChanges,
    layout::Layout,
    snapshot::{Core, Snapshot},
    transition::{State, storage_key},
    trie::{Builder, Nibbles},
    version::Version,
    view::StateView,
    window::{Backlog, Older, Pending, Window, catch_up, on_disk},
};

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Bound of the memory for records of the state that were read, in bytes. What changed since the newest checkpoint
    /// is held besides.
    pub cache_bytes: u64,
    /// Number of the newest blocks whose states stay readable; at least 1.
    pub history: u64,
    /// Whether a commit waits for the disk.
    pub durability: Durability,
    /// Bytes of changes after which a checkpoint is written.
    pub checkpoint_bytes: u64,
    /// Blocks after which a checkpoint is written, however little they change.
    pub checkpoint_blocks: u64,
    /// Bytes of changes since the newest checkpoint beyond which holds are given up, see [`Store::holds_too_much`].
    pub held_bytes: u64,
    /// Whether a derived database that is found damaged is made anew. Otherwise the store is not opened.
    pub repair: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            history: 50,
            durability: Durability::Flush,
            checkpoint_bytes: 6 << 20,
            checkpoint_blocks: 4096,
            held_bytes: 256 << 20,
            repair: true,
        }
    }
}

/// Is told, now and then, how much of something is done, and of how much.
type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// What opening found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenOutcome {
    /// There is no block yet: block 0 is to be committed.
    Empty,
    /// The state is that of the newest block.
    Ready {
        /// The newest block.
        head: BlockNumber,
        /// Why the derived database was made anew, if it was.
        rebuilt: Option<String>,
    },
    /// The state is lost, and the changes of the oldest blocks are no longer kept: the blocks are to be executed again,
    /// with [`Store::replay`] for each.
    NeedsReplay {
        /// The first block to execute.
        from: BlockNumber,
        /// The newest block.
        head: BlockNumber,
        /// Why the state is lost.
        reason: String,
    },
}

/// The state and the record of blocks of one chain.
///
/// There is one writer, which prepares and commits blocks; readers take [`Snapshot`]s.
///
/// # Examples
///
/// See the [crate documentation](crate).
#[derive(Debug)]
pub struct Store {
    /// Dropped first: it ends the thread.
    checkpointer: Checkpointer,
    core: Arc<Core>,
    published: Arc<RwLock<Snapshot>>,
    writer: Mutex<Writer>,
    databases: Databases,
    options: StoreOptions,
    outcome: OpenOutcome,
    /// Opening took what was in reserve.
    lacks_room: bool,
}

/// What a store is opened on.
#[derive(Clone, Debug)]
struct Databases {
    record: Db,
    changes: Files,
    state: Db,
    layout: Layout,
    holds: Arc<Holds>,
}

impl Databases {
    fn new((record, changes): (&Db, &Files), state: Db, layout: &Layout) -> Self {
        Self { record: record.clone(), changes: changes.clone(), state, layout: layout.clone(), holds: Arc::default() }
    }

    /// The same, by handles of their own.
    fn renewed(&self) -> Self {
        Self { record: self.record.renewed(), state: self.state.renewed(), ..self.clone() }
    }
}

/// What only the writer needs.
#[derive(Debug)]
struct Writer {
    backlog: Backlog,
    /// The chain with the blocks that were written and are not flushed yet, if there are such.
    written: Option<Snapshot>,
    /// The newest block of the record, while the state is behind it.
    replay_to: Option<BlockNumber>,
}

/// A source of snapshots for readers; cheap to clone.
#[derive(Clone, Debug)]
pub struct StoreReader {
    published: Arc<RwLock<Snapshot>>,
}

impl StoreReader {
    /// Returns the chain as of the newest block.
    pub fn snapshot(&self) -> Snapshot {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The state after a block that is not committed yet. Nobody sees it, and dropping it leaves no trace.
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

    /// Returns what is changed.
    pub const fn diff(&self) -> &StateDiff {
        &self.diff
    }

    fn block(&self) -> BlockNumber {
        self.state.block().unwrap_or_default()
    }
}

/// The states after the blocks of a run that is not committed yet. Nobody sees them, and dropping them leaves no trace.
#[derive(Debug)]
pub struct PreparedRun {
    /// The version before the run.
    begin: Version,
    /// The state after the last block.
    state: State,
    /// Those after the blocks that change something.
    changed: Vec<State>,
    keys: Vec<(Version, KeyChanges)>,
    diffs: Vec<(BlockNumber, Vec<u8>)>,
}

impl PreparedRun {
    /// Returns the root of the account trie after the last block so far.
    pub fn root(&self) -> StateRoot {
        self.state.root()
    }

    /// Adds blocks that change nothing.
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

/// What a check of a store counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The record of blocks.
    pub record: ArchiveReport,
    /// Accounts in the newest checkpoint.
    pub accounts: u64,
    /// Entries of contract storage in the newest checkpoint.
    pub entries: u64,
}

impl Store {
    /// Opens the store in a directory, which is made when there is none.
    ///
    /// The state of the newest block is computed from the newest checkpoint and the changes since. A derived database
    /// that is damaged is made anew from the record; [`Store::outcome`] tells. On a full disk the room is used that an earlier
    /// opening has reserved; [`Store::lacks_room`] says so.
    ///
    /// # Errors
    ///
    /// [`OpenError`]: the directory is in use, cannot be read or written, or the record of blocks is damaged.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        Self::open_with_progress(dir, options, &mut |_, _| {})
    }

    /// As [`Store::open`]. When the index of hashes is made again, `progress` is told up to which block it is made, and
    /// how many there are.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    pub fn open_with_progress(dir: &Path, options: StoreOptions, progress: Progress<'_>) -> Result<Self, OpenError> {
        let layout = Layout::of(dir);
        let directory = |source| OpenError::Directory { path: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(directory)?;
        match Self::open_directory(dir, &layout, options, progress) {
            Err(error) if error.is_no_room() && layout.release_reserve().map_err(directory)? => {
                let opened = Self::open_directory(dir, &layout, options, progress);
                // Blocks that are executed again need room. Otherwise the process may end before there is room again, and
                // another program take what is left.
                if !opened.as_ref().is_ok_and(|store| matches!(store.outcome(), OpenOutcome::NeedsReplay { .. })) {
                    let _: io::Result<()> = layout.take_rest();
                }
                opened.map(|store| Self { lacks_room: true, ..store })
            }
            Err(error) => Err(error),
            Ok(store) => {
                store.extend_reserve();
                Ok(store)
            }
        }
    }

    fn open_directory(
        dir: &Path,
        layout: &Layout,
        options: StoreOptions,
        progress: Progress<'_>,
    ) -> Result<Self, OpenError> {
        // Before anything is removed: this refuses a directory that is in use.
        let record = Db::open(&layout.record, DbOptions { cache_bytes: RECORD_CACHE, durability: options.durability });
        let record = record.map_err(OpenError::RecordDb)?;
        // Likewise: what becomes of a record that is of a later format, or has lost blocks, is not for this program to say,
        // and whoever says it may have use for the state.
        Archive::examine(&record, layout.witness.as_deref()).map_err(OpenError::Record)?;
        let changes = Files::Directory(layout.changes.clone(), options.durability);
        let mut reset = layout.read_marker();
        loop {
            if let Some(reason) = &reset {
                if !options.repair {
                    return Err(OpenError::Damaged { reason: reason.clone() });
                }
                layout.remove_state()?;
            }
            match Self::open_state(layout, (&record, &changes), options, reset.clone(), progress) {
                Err(Opening::Failed(error)) => return Err(error),
                Err(Opening::Damaged(reason)) if reset.is_none() => reset = Some(reason),
                Err(Opening::Damaged(reason)) => return Err(OpenError::Damaged { reason }),
                Ok(store) => {
                    if options.durability == Durability::Flush {
                        layout.sync(dir)?;
                    }
                    layout.remove_marker()?;
                    return Ok(store);
                }
            }
        }
    }

    /// Makes an empty store in memory.
    pub fn ephemeral(options: StoreOptions) -> Self {
        let record = (&Db::in_memory(), &Files::in_memory());
        let databases = Databases::new(record, Db::in_memory(), &Layout::default());
        match Self::open_databases(databases, options, None, &mut |_, _| {}) {
            Ok(store) => store,
            Err(error) => unreachable!("an empty store in memory has nothing that could be wrong: {error:?}"),
        }
    }

    /// Makes the next opening compute the state anew, by the blocks alone. The store in the directory must not be open.
    ///
    /// # Errors
    ///
    /// [`OpenError::Directory`] when the directory cannot be written.
    pub fn discard_state(dir: &Path) -> Result<(), OpenError> {
        let Layout { changes, marker, .. } = Layout::of(dir);
        remove_directory(&changes)?;
        let path = marker.unwrap_or_default();
        let written = create_anew(&path).and_then(|mut file| file.write_all(b"it was discarded on request"));
        written.map_err(|source| OpenError::Directory { path, source })
    }

    /// Opens the store on the disks of a test. A state that is damaged is made anew.
    #[cfg(test)]
    pub(crate) fn on_disks(
        record: &Disk,
        changes: &Files,
        state: &Disk,
        options: StoreOptions,
    ) -> Result<Self, OpenError> {
        let open = |reset| {
            let (record, state) = (Db::on_disk(record), Db::on_disk(state));
            let databases = Databases::new((&record, changes), state, &Layout::default());
            Self::open_databases(databases, options, reset, &mut |_, _| {})
        };
        let opened = open(None).or_else(|opening| match opening {
            Opening::Failed(_) => Err(opening),
            Opening::Damaged(reason) => {
                state.clear();
                open(Some(reason))
            }
        });
        opened.map_err(Opening::into_error)
    }

    /// Waits for the checkpoint that is being written.
    #[cfg(test)]
    pub(crate) fn settle(&self) {
        self.checkpointer.wait();
    }

    /// Number of the blocks that the index of hashes has on disk.
    #[cfg(test)]
    pub(crate) fn indexed(&self) -> u64 {
        self.core.archive.indexed()
    }

    /// The version of the newest checkpoint.
    #[cfg(test)]
    pub(crate) fn durable(&self) -> u64 {
        self.core.records.durable()
    }

    fn open_state(
        layout: &Layout,
        record: (&Db, &Files),
        options: StoreOptions,
        reset: Option<String>,
        progress: Progress<'_>,
    ) -> Result<Self, Opening> {
        let state = Db::open(&layout.state, DbOptions { cache_bytes: STATE_CACHE, durability: options.durability });
        let state = state.map_err(|error| match error {
            error if error.is_damage() => Opening::Damaged(error.to_string()),
            error => Opening::Failed(OpenError::StateDb(error)),
        })?;
        Self::open_databases(Databases::new(record, state, layout), options, reset, progress)
    }

    /// Opens the store on a record, its blocks and its changes of state, and a derived database.
    fn open_databases(
        databases: Databases,
        options: StoreOptions,
        reset: Option<String>,
        progress: Progress<'_>,
    ) -> Result<Self, Opening> {
        let Databases { record, changes, state, layout, holds } = &databases;
        let records = Records::open(state.clone(), options.cache_bytes, layout.marker.clone())?;
        let archive = open_archive((record, changes), state, layout.witness.as_deref(), progress)?;
        let (records, archive) = (Arc::new(records), Arc::new(archive));
        let head = archive.head();
        let recovered = recover(&records, &archive, head.as_ref(), options.history)?;
        let at = recovered.state.version;
        records.keys().note(at, KeyChanges::default());
        let outcome = match &head {
            None => OpenOutcome::Empty,
            Some(head) if recovered.complete => OpenOutcome::Ready { head: head.number, rebuilt: reset },
            Some(head) => OpenOutcome::NeedsReplay {
                from: BlockNumber::new(at),
                head: head.number,
                reason: reset.unwrap_or_else(|| {
                    let lost = if at == 0 { "it is missing" } else { "changes since its checkpoint are missing" };
                    lost.to_owned()
                }),
            },
        };
        let older = Older::new(at);
        let core = Arc::new(Core { records, archive, older });
        let view = if recovered.complete {
            core.archive.view()
        } else {
            core.archive.view_at(recovered.state.block()).map_err(|error| Opening::Failed(open_error(error)))?
        };
        let window = Window::new(recovered.state, options.history);
        let snapshot = Snapshot::new(&core, view, window);
        let writer = Writer {
            backlog: recovered.backlog,
            written: None,
            replay_to: head.filter(|_| !recovered.complete).map(|head| head.number),
        };
        let checkpointer = Checkpointer::start(&core.records, &core.archive, holds);
        Ok(Self {
            checkpointer: checkpointer.map_err(|source| Opening::Failed(OpenError::Thread(source)))?,
            core,
            published: Arc::new(RwLock::new(snapshot)),
            writer: Mutex::new(writer),
            databases,
            options,
            outcome,
            lacks_room: false,
        })
    }

    /// Returns what opening found.
    pub const fn outcome(&self) -> &OpenOutcome {
        &self.outcome
    }

    /// Returns the label of the chain: a text that its user keeps in the record, such as the name of its rules. A record
    /// that was carried in rows has that of the original.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] when the record is damaged or cannot be read.
    pub fn label(&self) -> Result<Option<String>, ArchiveError> {
        self.core.archive.label()
    }

    /// Gives the chain a label in place of the one it has, if any, and returns when it is durable.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] when it cannot be written.
    pub fn set_label(&self, text: &str) -> Result<(), ArchiveError> {
        self.core.archive.set_label(text)
    }

    /// Returns the chain as of the newest block; while blocks are replayed, of the newest that was.
    pub fn snapshot(&self) -> Snapshot {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a source of snapshots for readers.
    pub fn reader(&self) -> StoreReader {
        StoreReader { published: Arc::clone(&self.published) }
    }

    /// Returns everything that was committed as one block, also while the state is behind it.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] when the record is damaged or cannot be read.
    pub fn record(&self, number: BlockNumber) -> Result<Option<BlockRecord>, ArchiveError> {
        self.core.archive.view().record(number)
    }

    /// Returns the blocks that are to be executed again, the first and the last, while there are such.
    pub fn replaying(&self) -> Option<(BlockNumber, BlockNumber)> {
        let writer = self.writer();
        let at = self.snapshot().window().newest().version;
        writer.replay_to.map(|head| (BlockNumber::new(at), head))
    }

    /// Computes the state after the next block. Nothing changes for anybody until it is committed.
    ///
    /// # Errors
    ///
    /// [`StateError::NotContract`] and [`StateError::ForeignKey`] when the diff makes no sense, otherwise when the state
    /// cannot be read.
    pub fn prepare(&self, diff: StateDiff) -> Result<PreparedState, StateError> {
        let before = self.writer().written.clone();
        let before = before.unwrap_or_else(|| self.snapshot());
        let newest = before.window().newest();
        let (state, keys) = newest.advance(&self.core.records, &diff, newest.version.saturating_add(1))?;
        let encoded = diff.encode();
        Ok(PreparedState { state, keys, diff, encoded })
    }

    /// Appends a block and makes its state that of the newest block: durably first, then for readers. Returns the
    /// chain as of this block.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: nothing was changed, unless it is one of the engine.
    pub fn commit(&self, block: &BlockRecord, state: PreparedState) -> Result<Snapshot, CommitError> {
        self.write(block, state)?;
        self.flush()
    }

    /// Appends a block without waiting for the disk. Returns the chain as of this block, on which the next one can be
    /// prepared.
    ///
    /// Readers do not see it, and a crash may undo it, until [`Store::flush`] returned. Several blocks that are
    /// flushed together cost little more than one.
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
        self.core.records.keys().note(state.state.version, state.keys);
        let window = before.window().push(state.state);
        writer.backlog.push(window.newest().version, u64::try_from(bytes).unwrap_or(u64::MAX));
        let snapshot = Snapshot::new(&self.core, self.core.archive.view_of_written(), window);
        writer.written = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Says who signs the blocks of runs, whose signatures are not stored. Only the first to say so counts.
    pub fn seal_with(&self, seal: Arc<dyn Seal>) {
        self.core.archive.seal_with(seal);
    }

    /// Who signs the blocks of runs. Only if there is someone should runs be written.
    pub fn seal(&self) -> Option<Arc<dyn Seal>> {
        self.core.archive.seal()
    }

    /// Returns the run of empty blocks that has a block, or `None` when the block is stored by itself, or not there.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] when the record is damaged or cannot be read.
    pub fn run_at(&self, number: BlockNumber) -> Result<Option<BlockRun>, ArchiveError> {
        self.core.archive.block_run(number)
    }

    /// Begins the states of a run after the newest block.
    ///
    /// # Errors
    ///
    /// As [`Store::prepare`].
    pub fn prepare_run(&self) -> Result<PreparedRun, StateError> {
        let before = self.writer().written.clone();
        let before = before.unwrap_or_else(|| self.snapshot());
        let newest = before.window().newest();
        let begin = newest.version;
        let (state, _) = newest.advance(&self.core.records, &StateDiff::default(), begin)?;
        Ok(PreparedRun { begin, state, changed: Vec::new(), keys: Vec::new(), diffs: Vec::new() })
    }

    /// Adds a block that changes the state to those of a run. Returns the root after it.
    ///
    /// # Errors
    ///
    /// As [`Store::prepare`].
    pub fn extend_run(&self, run: &mut PreparedRun, diff: &StateDiff) -> Result<StateRoot, StateError> {
        let version = run.state.version.saturating_add(1);
        let (state, keys) = run.state.advance(&self.core.records, diff, version)?;
        let root = state.root();
        run.keys.push((version, keys));
        run.diffs.push((BlockNumber::new(run.state.version), diff.encode()));
        run.changed.push(state.clone());
        run.state = state;
        Ok(root)
    }

    /// Appends a run of empty blocks, as [`Store::write`] does a block.
    ///
    /// # Errors
    ///
    /// [`CommitError`]: nothing was changed, unless it is one of the engine.
    pub fn write_run(&self, run: BlockRun, state: PreparedRun) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let before = writer.written.clone().unwrap_or_else(|| self.snapshot());
        if let Some(head) = writer.replay_to {
            return Err(CommitError::Replaying { at: before.window().newest().block(), head });
        }
        check_run_follows(&before, &state)?;
        let (last, root) = (run.last(), run.state_root());
        if state.state.block() != Some(last) {
            return Err(CommitError::Stale { prepared: state.state.block().unwrap_or_default(), expected: last });
        }
        if root != state.root() {
            return Err(CommitError::Root { expected: root, got: state.root() });
        }
        if let Some(failure) = self.checkpointer.failure() {
            return Err(CommitError::Checkpoint(failure));
        }
        self.core.archive.write_run(run, &state.diffs)?;
        let view = self.core.archive.view_of_written();
        let snapshot = self.take_in(&mut writer, &before, state, view);
        writer.written = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Returns the chain after a run.
    fn take_in(&self, writer: &mut Writer, before: &Snapshot, state: PreparedRun, view: ArchiveView) -> Snapshot {
        let window = before.window().extend(&state.changed, state.state.version);
        for (version, bytes) in state.bytes() {
            writer.backlog.push(version, bytes);
        }
        for (version, keys) in state.keys {
            self.core.records.keys().note(version, keys);
        }
        Snapshot::new(&self.core, view, window)
    }

    /// Makes the blocks durable that were written, and then visible to readers. Returns the chain as of the newest.
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

    /// Makes the state of the next block of the record that of the newest block for readers, after
    /// [`OpenOutcome::NeedsReplay`].
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
        self.core.records.keys().note(state.state.version, state.keys);
        let snapshot = Snapshot::new(&self.core, view, before.window().push(state.state));
        let bytes = u64::try_from(state.encoded.len()).unwrap_or(u64::MAX);
        writer.backlog.push(snapshot.window().newest().version, bytes);
        self.publish(&mut writer, &snapshot);
        if number == head {
            writer.replay_to = None;
        }
        Ok(snapshot)
    }

    /// Makes the state after blocks of a run of the record that of the newest block for readers, as [`Store::replay`] does for
    /// a block.
    ///
    /// # Errors
    ///
    /// As [`Store::replay`].
    pub fn replay_run(&self, state: PreparedRun) -> Result<Snapshot, CommitError> {
        let mut writer = self.writer();
        let before = self.snapshot();
        let head = writer.replay_to.ok_or(CommitError::NotReplaying)?;
        check_run_follows(&before, &state)?;
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

    fn publish(&self, writer: &mut Writer, snapshot: &Snapshot) {
        let window = snapshot.window();
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = snapshot.clone();
        self.core.older.release(window.oldest());
        writer.backlog.release(self.core.records.durable());
        if self.is_too_much(writer) {
            self.databases.holds.give_up();
        }
        if !self.is_due(writer) || self.databases.holds.are_heeded() {
            return;
        }
        self.checkpointer.request(window.newest(), || self.may_checkpoint(window));
        // The databases grow.
        self.extend_reserve();
        // The changes since the newest checkpoint are held in memory: the writer must not run away. Nor should one block
        // wait for all the work that others have made.
        let pending = writer.backlog.pending().bytes;
        let is_ahead = |checkpoints| pending > self.options.checkpoint_bytes.saturating_mul(checkpoints);
        if is_ahead(FAR_AHEAD) {
            self.checkpointer.wait();
        } else if is_ahead(RUN_AHEAD) {
            self.checkpointer.wait_briefly(BRAKE);
        }
        writer.backlog.release(self.core.records.durable());
    }

    /// Makes it possible to come back to the newest block. Costs nothing but what has to be kept in memory meanwhile, the
    /// rest of a checkpoint that is being written, and one of its own, if nothing is held, much has changed since the newest
    /// one, and another may be written already: whoever comes back would compute all of it each time.
    ///
    /// # Errors
    ///
    /// [`RevertError::Busy`] before genesis, and when there are blocks that are not flushed or whose state is not computed.
    pub fn hold(&self) -> Result<Hold, RevertError> {
        let mut writer = self.writer();
        let snapshot = self.snapshot();
        let head = snapshot.head().filter(|_| writer.written.is_none() && writer.replay_to.is_none());
        let head = head.ok_or(RevertError::Busy)?;
        self.checkpoint_to_hold(&mut writer, snapshot.window());
        let (records, state) = (&self.core.records, snapshot.window().newest().clone());
        self.core.archive.remember();
        records.keys().remember(state.version);
        Ok(Hold::new(head, HeldState { state, manifest: records.manifest() }, &self.databases.holds))
    }

    /// Lets a checkpoint have what comes before a hold, if that is much, and waits for whichever is being written: what comes
    /// after the hold must not be in the index.
    fn checkpoint_to_hold(&self, writer: &mut Writer, window: &Window) {
        let StoreOptions { checkpoint_bytes, checkpoint_blocks, .. } = self.options;
        let mut is_much = || {
            writer.backlog.release(self.core.records.durable());
            let Pending { blocks, bytes } = writer.backlog.pending();
            bytes > checkpoint_bytes / MUCH || blocks > checkpoint_blocks / MUCH
        };
        if self.databases.holds.are_heeded() {
            return;
        }
        self.checkpointer.wait();
        if is_much() {
            self.checkpointer.request(window.newest(), || self.may_checkpoint(window));
            self.checkpointer.wait();
            writer.backlog.release(self.core.records.durable());
        }
    }

    /// Whether holds are given up, since so much had changed since the newest checkpoint: what has changed is in memory, and
    /// opening would take long. Checkpoints do not heed them from then on, nor any others, until all of them are dropped.
    pub fn holds_too_much(&self) -> bool {
        self.databases.holds.are_given_up()
    }

    fn is_too_much(&self, writer: &Writer) -> bool {
        let pending = writer.backlog.pending();
        pending.bytes > self.options.held_bytes || pending.blocks > MOST_HELD_BLOCKS
    }

    /// Takes the chain back to a block that was held: removes the blocks after it for good, and goes on from it with what the
    /// hold has kept, or, where that is not enough, opens the store again. Returns the chain as of this block; at once if it is
    /// the newest.
    ///
    /// A crash leaves a store that opens at one of the two heads. Snapshots that were taken before answer what they know,
    /// and [`DbError::Retired`](crate::DbError::Retired) to everything else. Opening computes again what the state needs of
    /// the changes since the newest checkpoint, and the state may have to be replayed after it. That happens to holds of which
    /// many later ones were made, and to those that were given up.
    ///
    /// # Errors
    ///
    /// [`RevertError`]. After [`RevertError::Append`] and [`RevertError::Open`] nothing can be read or written until the store
    /// is opened anew, after all others nothing is changed.
    pub fn revert(&mut self, to: &Hold) -> Result<Snapshot, RevertError> {
        let number = to.number();
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        if writer.written.is_some() || writer.replay_to.is_some() {
            return Err(RevertError::Busy);
        }
        if self.core.archive.head().is_some_and(|head| head.hash == to.hash()) {
            return Ok(self.snapshot());
        }
        self.checkpointer.wait();
        if self.checkpointer.failure().is_some() || self.core.records.durable() > number.get().saturating_add(1) {
            return Err(RevertError::Passed { number });
        }
        let removal = self.core.archive.blocks_after(number, &to.hash())?.ok_or(RevertError::NotThere { number })?;
        let databases = self.databases.renewed();
        // It must not write beside the one that comes.
        self.checkpointer.stop();
        self.databases.state.retire();
        let removed = self.core.archive.remove(removal).map_err(RevertError::Append)?;
        let remembered = self.core_at(to, &removed, &databases)?;
        let opened = match remembered {
            Some((core, state)) => self.over(core, state, removed.head(), databases)?,
            None => Self::open_databases(databases, self.options, None, &mut |_, _| {}).map_err(Opening::into_error)?,
        };
        Ok(self.become_as(opened))
    }

    /// Takes the place of another store of the same chain, for readers too.
    fn become_as(&mut self, other: Self) -> Snapshot {
        let Self { checkpointer, core, published, writer, databases, options: _, outcome, lacks_room: _ } = other;
        if let Some(seal) = self.core.archive.seal() {
            core.archive.seal_with(seal);
        }
        let snapshot = published.read().unwrap_or_else(PoisonError::into_inner).clone();
        (self.checkpointer, self.core, self.writer) = (checkpointer, core, writer);
        (self.databases, self.outcome) = (databases, outcome);
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = snapshot.clone();
        snapshot
    }

    /// Returns what opening would find after blocks were removed, from what is in memory, and the state of the newest block;
    /// `None` when that is not known, as when a checkpoint was written since the block was held.
    fn core_at(
        &self,
        to: &Hold,
        removed: &Removed,
        databases: &Databases,
    ) -> Result<Option<(Core, State)>, RevertError> {
        let Core { records, archive, .. } = &*self.core;
        let held = to.state().filter(|held| held.manifest == records.manifest());
        let Some(HeldState { state, .. }) = held.filter(|held| held.state.root() == removed.head().state_root) else {
            return Ok(None);
        };
        let Some(records) = records.back_at(state.version, databases.state.clone()) else { return Ok(None) };
        let archive =
            archive.back_at(removed, databases.record.clone(), databases.state.clone()).map_err(open_error)?;
        let core = archive.map(|archive| {
            let older = Older::new(state.version);
            Core { records: Arc::new(records), archive: Arc::new(archive), older }
        });
        Ok(core.map(|core| (core, state)))
    }

    /// Makes this store again over another core, with a state that is that of the newest block.
    fn over(&mut self, core: Core, state: State, head: &Head, databases: Databases) -> Result<Self, OpenError> {
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut backlog = std::mem::take(&mut writer.backlog);
        backlog.go_back(state.version);
        let core = Arc::new(core);
        let snapshot = Snapshot::new(&core, core.archive.view(), Window::new(state, self.options.history));
        let checkpointer = Checkpointer::start(&core.records, &core.archive, &databases.holds);
        Ok(Self {
            checkpointer: checkpointer.map_err(OpenError::Thread)?,
            core,
            published: Arc::new(RwLock::new(snapshot)),
            writer: Mutex::new(Writer { backlog, written: None, replay_to: None }),
            databases,
            options: self.options,
            outcome: OpenOutcome::Ready { head: head.number, rebuilt: None },
            lacks_room: self.lacks_room,
        })
    }

    /// Whether enough has changed since the newest checkpoint for another.
    fn is_due(&self, writer: &Writer) -> bool {
        let pending = writer.backlog.pending();
        pending.bytes >= self.options.checkpoint_bytes || pending.blocks >= self.options.checkpoint_blocks
    }

    /// Whether another checkpoint may be written: it takes from the window what is older than the newest one. To be asked
    /// while none is being written.
    fn may_checkpoint(&self, window: &Window) -> bool {
        let durable = self.core.records.durable();
        durable == 0 || durable <= window.oldest()
    }

    /// Writes what is not on disk yet, as far as the window allows, so that the next opening is quick, and closes.
    ///
    /// # Errors
    ///
    /// [`CloseError`] when the state could not be written; the blocks are whole nevertheless.
    pub fn close(self) -> Result<(), CloseError> {
        let snapshot = self.snapshot();
        self.checkpointer.wait();
        if let Some(failure) = self.checkpointer.failure() {
            return Err(CloseError(failure));
        }
        let window = snapshot.window();
        let behind = self.core.records.durable() < window.newest().version;
        let written = if behind && self.may_checkpoint(window) {
            self.checkpointer.write_now(window.newest())
        } else {
            let stored = self.core.archive.sync_diffs().and_then(|()| self.core.archive.store_index());
            stored.map_err(StateError::from)
        };
        written.map_err(|error| CloseError(Arc::new(error)))
    }

    /// Reads everything that is stored and holds it against every hash, number and sum; the roots of the tries are
    /// computed from the leaves alone as well. `progress` is told what is done and of how much, in blocks.
    ///
    /// # Errors
    ///
    /// [`StateError`] for the first damage that is found.
    pub fn check(&self, progress: Progress<'_>) -> Result<CheckReport, StateError> {
        let mut report = CheckReport { record: self.core.archive.check(progress)?, ..CheckReport::default() };
        let Some(checkpoint) = self.core.records.manifest().current else { return Ok(report) };
        let view = StateView::new(Arc::clone(&self.core.records), State::of(&checkpoint));
        let mut trie = Builder::new();
        for account in view.accounts() {
            let (address, account) = account?;
            report.accounts = report.accounts.saturating_add(1);
            self.add_leaf(&mut trie, &address.to_string(), account.encode())?;
            if let Some(root) = account.contract.and_then(|contract| contract.storage_root) {
                report.entries = report.entries.saturating_add(self.check_storage(&view, &address, root)?);
            }
        }
        self.check_root(trie, &Owner::Accounts, view.root().to_bytes())?;
        Ok(report)
    }

    /// Checks the storage of a contract and returns the number of its entries.
    fn check_storage(&self, view: &StateView, contract: &Address, root: StorageRoot) -> Result<u64, StateError> {
        let (mut trie, mut entries, mut sum) = (Builder::new(), 0_u64, KeySum::default());
        for entry in view.storage(contract)? {
            let (key, value) = entry?;
            entries = entries.saturating_add(1);
            let hash = key.variable_hash();
            sum.add(&hash);
            self.add_leaf(&mut trie, &hash.to_string(), value)?;
        }
        self.check_root(trie, &Owner::Contract(*contract), root.to_bytes())?;
        self.check_keys(view, contract, &sum)?;
        Ok(entries)
    }

    /// Holds the keys of a contract in the ordered index against those of its storage trie, by their sum.
    fn check_keys(&self, view: &StateView, contract: &Address, expected: &KeySum) -> Result<(), StateError> {
        let (mut sum, mut doubtful) = (KeySum::default(), Vec::new());
        let visited = self.core.records.keys().visit(contract, |plain, is_doubtful| {
            if is_doubtful {
                doubtful.push(plain.to_owned());
            } else {
                sum.add(&storage_key(contract, plain).variable_hash());
            }
        });
        self.core.records.note_damage(visited)?;
        for plain in doubtful {
            let hash = storage_key(contract, &plain).variable_hash();
            if view.storage_value(contract, &hash)?.is_some() {
                sum.add(&hash);
            }
        }
        if sum == *expected {
            return Ok(());
        }
        let what = format!("index of the keys of {contract}");
        Err(self.core.records.damaged(what, "they are not the keys of its storage trie"))
    }

    fn add_leaf(&self, trie: &mut Builder<'_, Vec<u8>>, key: &str, value: Vec<u8>) -> Result<(), StateError> {
        let pushed = trie.push(Nibbles::of_key(key.as_bytes()).as_slice(), value);
        pushed.map_err(|_| self.core.records.damaged(format!("leaf {key}"), "leaves are not in order"))
    }

    /// Compares a root with that which the leaves have by the plain rules of the trie, whatever the records say of it.
    fn check_root(&self, trie: Builder<'_, Vec<u8>>, owner: &Owner, root: [u8; 32]) -> Result<(), StateError> {
        if trie.finish().root() == root {
            return Ok(());
        }
        Err(self.core.records.damaged(owner.to_string(), "its leaves have another root"))
    }

    /// Returns the bytes that the store takes on disk.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] when the files cannot be looked at.
    pub fn size_on_disk(&self) -> Result<u64, ArchiveError> {
        let record = self.core.archive.size_on_disk()?;
        Ok(record.saturating_add(self.core.records.db().size_on_disk()?))
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sum over keys, which is the same in any order, and hardly that of other keys.
#[derive(Debug, Default, PartialEq, Eq)]
struct KeySum {
    keys: u64,
    hashes: u128,
}

impl KeySum {
    fn add(&mut self, hash: &VariableHash) {
        let (half, _) = hash.as_bytes().split_first_chunk().unwrap_or((&[0; 16], &[]));
        self.keys = self.keys.wrapping_add(1);
        self.hashes = self.hashes.wrapping_add(u128::from_be_bytes(*half));
    }
}

/// Bound of the engine's own cache for the record, which is written at its end and read through caches of ours.
const RECORD_CACHE: u64 = 8 << 20;
/// Bound of the engine's own cache for the derived database.
const STATE_CACHE: u64 = 16 << 20;
/// Blocks since the newest checkpoint beyond which holds are given up.
const MOST_HELD_BLOCKS: u64 = 1 << 18;
/// What part of the changes between two checkpoints is much to compute again each time the chain is taken back.
const MUCH: u64 = 16;
/// Memory that the index takes for a transaction, about.
const BYTES_PER_TRANSACTION: usize = 32;
/// Checkpoints that the writer may be ahead by, in bytes of changes, before each block waits a little for the one that is
/// being written.
const RUN_AHEAD: u64 = 4;
/// How long a block waits then, at most.
const BRAKE: Duration = Duration::from_millis(200);
/// Checkpoints, likewise, before a block waits for the end of the one that is being written.
const FAR_AHEAD: u64 = 32;

fn check_follows(before: &Snapshot, state: &PreparedState) -> Result<(), CommitError> {
    let expected = BlockNumber::new(before.window().newest().version);
    if state.block() == expected { Ok(()) } else { Err(CommitError::Stale { prepared: state.block(), expected }) }
}

fn check_run_follows(before: &Snapshot, state: &PreparedRun) -> Result<(), CommitError> {
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

impl Layout {
    /// Returns when a loss of power does not take away the names of the files of the record, nor the parameters of its engine,
    /// which does not sync either. What files hold is synced by whoever writes it.
    fn sync(&self, dir: &Path) -> Result<(), OpenError> {
        let parent = dir.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        let entries = [Some(self.record.join(ENGINE_PARAMETERS)), Some(self.record.clone()), Some(dir.to_owned())];
        for path in entries.into_iter().chain([parent.map(Path::to_owned)]).flatten() {
            sync(&path).map_err(|source| OpenError::Directory { path, source })?;
        }
        Ok(())
    }

    fn read_marker(&self) -> Option<String> {
        let text = fs::read(self.marker.as_deref()?).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn remove_marker(&self) -> Result<(), OpenError> {
        let Some(path) = &self.marker else { return Ok(()) };
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(OpenError::Directory { path: path.clone(), source })
            }
            _ => Ok(()),
        }
    }

    fn remove_state(&self) -> Result<(), OpenError> {
        remove_directory(&self.state)
    }
}

fn remove_directory(path: &Path) -> Result<(), OpenError> {
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(OpenError::Directory { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Reason why opening did not come to an end.
#[derive(Debug)]
enum Opening {
    /// The derived database is to be made anew.
    Damaged(String),
    Failed(OpenError),
}

impl Opening {
    fn into_error(self) -> OpenError {
        match self {
            Self::Failed(error) => error,
            Self::Damaged(reason) => OpenError::Damaged { reason },
        }
    }
}

impl From<StateError> for Opening {
    fn from(error: StateError) -> Self {
        if error.is_damage() { Self::Damaged(error.to_string()) } else { Self::Failed(OpenError::State(error)) }
    }
}

impl OpenError {
    /// Whether there is no room on the disk for what opening writes.
    pub fn is_no_room(&self) -> bool {
        room::is_no_room(self)
    }
}

fn open_error(error: ArchiveError) -> OpenError {
    OpenError::Record(error.into())
}

/// Opens the record with its index. Damage may be in either of two databases: when the record opens beside an empty
/// index, it was in the index.
fn open_archive(
    (record, changes): (&Db, &Files),
    index: &Db,
    witness: Option<&Path>,
    progress: Progress<'_>,
) -> Result<Archive, Opening> {
    let mut open = |index| Archive::open(record.clone(), index, changes.clone(), witness, progress);
    open(index.clone()).map_err(|error| match open(Db::in_memory()) {
        Ok(_) if !room::is_no_room(&error) => Opening::Damaged(error.to_string()),
        Ok(_) => Opening::Failed(OpenError::Record(error)),
        Err(error) => Opening::Failed(OpenError::Record(error)),
    })
}

/// The state that a store begins with.
struct Recovered {
    state: State,
    /// Whether that is the state of the newest block.
    complete: bool,
    backlog: Backlog,
}

impl Recovered {
    /// The blocks after `base` are to be executed.
    fn without_changes(base: State) -> Self {
        Self { state: base, complete: false, backlog: Backlog::default() }
    }
}

/// Computes the state of the newest block from the newest checkpoint and the changes since. When changes are missing that
/// a state of the window needs, the blocks are to be executed from the base on.
fn recover(
    records: &Arc<Records>,
    archive: &Arc<Archive>,
    head: Option<&Head>,
    history: u64,
) -> Result<Recovered, Opening> {
    let manifest = records.manifest();
    let current = manifest.current.as_ref().map_or(State::EMPTY, State::of);
    let newest = head.map_or(0, |head| head.number.get().saturating_add(1));
    if let Some(block) = current.block() {
        let recorded = archive.view().head_at(block).map_err(|error| Opening::Failed(open_error(error)))?;
        if recorded.map(|block| block.state_root) != Some(current.root()) {
            return Err(Opening::Damaged(format!("the state after block {block} is not that of the record")));
        }
        records.top(&Owner::Accounts, &current.top, current.version)?;
    }
    let oldest = newest.saturating_sub(history.max(1).saturating_sub(1));
    let base = on_disk(&manifest).find(|state| state.version <= oldest);
    let base = base.or_else(|| on_disk(&manifest).last()).unwrap_or(State::EMPTY);
    let mut backlog = Backlog::default();
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
    match catch_up(&current, newest, records, archive, |version, keys| records.keys().note(version, keys))? {
        Some(state) => Ok(Recovered { state, complete: true, backlog }),
        None => Ok(Recovered::without_changes(base)),
    }
}
