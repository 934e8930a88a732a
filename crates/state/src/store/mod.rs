//! The store: one writer and any number of readers.

mod append;
mod conversion;
mod files;
mod initial_state;
mod open;
mod publish;
mod recovery;
mod room;
mod savepoint;
mod verify;

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use silica_protocol::BlockNumber;

pub use self::{
    append::{Append, PreparedState},
    open::OpenOutcome,
    verify::CheckReport,
};
use crate::{
    archive::{ArchiveError, BlockRecord, BlockSigner, EmptyBlockRange, Files},
    checkpointer::Checkpointer,
    db::{Db, DbOptions, Durability},
    index::{self, HistoryIndex, IndexKinds, IndexProgress},
    indexer::{BalanceRules, Indexer, SharedRules},
    layout::Layout,
    savepoints::Savepoints,
    snapshot::{Core, Snapshot},
    window::CheckpointBacklog,
};

/// Cache of the engine for the history index, in bytes.
const INDEX_CACHE: u64 = 8 << 20;

/// The options of opening a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Limit of the caches for pages of the tries and for [texts of transactions](Snapshot::cache_text), in bytes. The
    /// texts have 1/32 of the limit. The memory of the changes since the newest checkpoint lowers the limit of the
    /// pages, at most to a quarter.
    pub cache_bytes: u64,
    /// Length of the state history in blocks, at least 1.
    pub history: u64,
    /// Whether a commit waits until the block is durable.
    pub durability: Durability,
    /// Limit of the changes since the newest checkpoint, in bytes. At this limit, a checkpoint is due. The changes are
    /// the state diffs, plus 32 bytes for each transaction.
    pub checkpoint_bytes: u64,
    /// Limit of the blocks with a state diff since the newest checkpoint. At this limit, a checkpoint is due.
    pub checkpoint_blocks: u64,
    /// Maximum bytes of changes since the newest checkpoint while savepoints exist, counted as in `checkpoint_bytes`.
    /// Above this limit, the store discards all savepoints, see [`Store::holds_too_much`].
    pub held_bytes: u64,
    /// Whether opening rebuilds a damaged derived database. Otherwise opening fails.
    pub repair: bool,
    /// The kinds of entries of the history index. Without a kind, the store has no history index. An index with
    /// balances covers no blocks before [`Store::set_balance_rules`].
    pub index: IndexKinds,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            history: 50,
            durability: Durability::Flush,
            checkpoint_bytes: 2 << 20,
            checkpoint_blocks: 4096,
            held_bytes: 256 << 20,
            repair: true,
            index: IndexKinds::default(),
        }
    }
}

impl StoreOptions {
    /// Returns the limit of the cache for texts of transactions, in bytes.
    const fn text_bytes(&self) -> u64 {
        self.cache_bytes / 32
    }
}

/// Callback for progress: the number of completed blocks, and the number of all blocks.
type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// The state and the record of blocks of one chain.
///
/// One writer prepares and commits blocks. Readers take [`Snapshot`]s.
///
/// # Examples
///
/// See the [crate documentation](crate).
#[derive(Debug)]
pub struct Store {
    /// The thread of the history index; `None` without this index. This field and `checkpointer` come before
    /// `databases`, so that their drop ends the threads before the drop of the databases.
    indexer: Option<Indexer>,
    /// The rules of balances, for the entries of the history index.
    rules: SharedRules,
    checkpointer: Checkpointer,
    core: Arc<Core>,
    published: Arc<RwLock<Snapshot>>,
    writer: Mutex<Writer>,
    databases: Databases,
    options: StoreOptions,
    outcome: OpenOutcome,
    /// Whether opening used the reserve of disk space.
    lacks_room: bool,
}

/// The databases and files of a store.
#[derive(Clone, Debug)]
struct Databases {
    record: Db,
    changes: Files,
    state: Db,
    layout: Layout,
    savepoints: Arc<Savepoints>,
    index: Option<Arc<HistoryIndex>>,
}

impl Databases {
    fn new((record, changes): (&Db, &Files), state: Db, layout: &Layout, options: StoreOptions) -> Self {
        let files = layout.index.as_ref().map_or(index::Files::Memory, |path| {
            index::Files::Directory(
                path.clone(),
                DbOptions { cache_bytes: INDEX_CACHE, durability: options.durability },
            )
        });
        Self {
            index: (!options.index.is_empty()).then(|| Arc::new(HistoryIndex::new(options.index, files))),
            record: record.clone(),
            changes: changes.clone(),
            state,
            layout: layout.clone(),
            savepoints: Arc::default(),
        }
    }

    /// Returns the same databases with new handles.
    fn renewed(&self) -> Self {
        Self { record: self.record.renewed(), state: self.state.renewed(), ..self.clone() }
    }
}

/// The state that only the writer uses.
#[derive(Debug)]
struct Writer {
    backlog: CheckpointBacklog,
    /// The chain with the blocks that are written but not flushed. `None` if all blocks are flushed.
    written: Option<Snapshot>,
    /// The newest block of the record, as long as the state is of an earlier block.
    replay_to: Option<BlockNumber>,
}

/// A source of snapshots for readers. It is cheap to clone.
#[derive(Clone, Debug)]
pub struct StoreReader {
    published: Arc<RwLock<Snapshot>>,
}

impl StoreReader {
    /// Returns a snapshot of the chain at the newest block.
    pub fn snapshot(&self) -> Snapshot {
        self.published.read().clone()
    }

    /// Returns the progress of the history index, or `None` if the store has no such index.
    pub fn index_progress(&self) -> Option<IndexProgress> {
        self.published.read().index_progress()
    }
}

impl Store {
    /// Waits until no checkpoint is in progress.
    #[cfg(test)]
    pub(crate) fn settle(&self) {
        self.checkpointer.wait();
    }

    /// Waits until no checkpoint is in progress, and the thread of the checkpoints has no other work.
    #[cfg(test)]
    pub(crate) fn settle_packs(&self) {
        self.checkpointer.wait_until_idle();
    }

    /// Returns the number of blocks that the hash index covers on disk.
    #[cfg(test)]
    pub(crate) fn indexed(&self) -> u64 {
        self.core.archive.indexed()
    }

    /// Returns the version of the newest checkpoint, or 0 without a checkpoint.
    #[cfg(test)]
    pub(crate) fn durable(&self) -> u64 {
        self.core.pages.durable()
    }

    /// Returns the bytes of the page file that the newest checkpoint uses.
    #[cfg(test)]
    pub(crate) fn space_used(&self) -> u64 {
        self.core.pages.space_used()
    }

    /// Returns the label of the chain: a text that the caller has set, such as the identifier of the Scilla rules of
    /// the chain. Returns `None` if no label is set. An imported record has the label of the original.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record is damaged or cannot be read.
    pub fn label(&self) -> Result<Option<String>, ArchiveError> {
        self.core.archive.label()
    }

    /// Sets or replaces the label of the chain, and returns when it is durable.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the label cannot be written.
    pub fn set_label(&self, text: &str) -> Result<(), ArchiveError> {
        self.core.archive.set_label(text)
    }

    /// Returns a snapshot of the chain at the newest block. During a replay, this is the newest replayed block.
    pub fn snapshot(&self) -> Snapshot {
        self.published.read().clone()
    }

    /// Returns a source of snapshots for readers.
    pub fn reader(&self) -> StoreReader {
        StoreReader { published: Arc::clone(&self.published) }
    }

    /// Returns all data of a committed block, even if the state is of an earlier block. Returns `None` if no block has
    /// this number yet.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record is damaged or cannot be read.
    pub fn record(&self, number: BlockNumber) -> Result<Option<BlockRecord>, ArchiveError> {
        self.core.archive.view().record(number)
    }

    /// Sets the signer for blocks of empty block ranges, whose signatures are not stored. Only the first call has an
    /// effect.
    pub fn set_signer(&self, seal: Arc<dyn BlockSigner>) {
        self.core.archive.set_signer(seal);
    }

    /// Sets the rules by which the blocks change balances, for a history index with balances. Only the first call has
    /// an effect.
    pub fn set_balance_rules(&self, rules: Arc<dyn BalanceRules>) {
        // A second value is ignored, as the documentation states.
        let _: Result<(), Arc<dyn BalanceRules>> = self.rules.set(rules);
        if let Some(indexer) = &self.indexer {
            indexer.notify();
        }
    }

    /// Returns the signer for blocks of empty block ranges, or `None` if no signer is set. Without a signer, callers
    /// must not write empty block ranges.
    pub fn seal(&self) -> Option<Arc<dyn BlockSigner>> {
        self.core.archive.seal()
    }

    /// Returns the empty block range that contains a block. Returns `None` if the block is stored separately or does
    /// not exist.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record is damaged or cannot be read.
    pub fn range_at(&self, number: BlockNumber) -> Result<Option<EmptyBlockRange>, ArchiveError> {
        self.core.archive.block_range(number)
    }

    /// Returns the size of the store on disk in bytes.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the sizes of the files cannot be read.
    pub fn size_on_disk(&self) -> Result<u64, ArchiveError> {
        let record = self.core.archive.size_on_disk()?;
        let index = self.core.index.as_ref().map_or(Ok(0), |index| index.size_on_disk())?;
        Ok(record.saturating_add(self.core.pages.db().size_on_disk()?).saturating_add(index))
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock()
    }
}
