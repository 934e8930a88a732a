//! Opens a store, and rebuilds the derived database if it is damaged.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    sync::Arc,
};

use parking_lot::{Mutex, RwLock};
use silica_protocol::BlockNumber;

use super::{
    Databases, Progress, Store, StoreOptions, Writer, files::remove_directory, initial_state::recover, room::is_no_room,
};
#[cfg(test)]
use crate::db::Disk;
use crate::{
    archive::{Archive, ArchiveError, Files, OpenArchiveError},
    checkpointer::Checkpointer,
    db::{Db, DbOptions, Durability},
    error::{OpenError, StateError},
    file::create_anew,
    indexer::{Indexer, SharedRules},
    keys::KeyChanges,
    layout::Layout,
    snapshot::{Core, Snapshot},
    versioned_trie::{cache::Cache, pages::PageStore},
    window::{RecomputedStates, Window},
};

/// Cache of the engine for the record, in bytes. A small cache is enough: new rows come after all other rows, most
/// blocks are in packs, and the archive has its own caches.
const RECORD_CACHE: u64 = 8 << 20;

/// The result of opening a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenOutcome {
    /// The store has no blocks. The caller must commit block 0.
    Empty,
    /// The state is the state of the newest block.
    Ready {
        /// Number of the newest block.
        head: BlockNumber,
        /// The reason why the derived database was rebuilt, or `None` without a rebuild.
        rebuilt: Option<String>,
    },
    /// The state of the newest block is lost, because state diffs are missing. The caller must execute the blocks from
    /// `from` on again, and pass their states to [`Store::replay`].
    NeedsReplay {
        /// Number of the first block to execute.
        from: BlockNumber,
        /// Number of the newest block.
        head: BlockNumber,
        /// The reason why the state is lost.
        reason: String,
    },
}

impl Store {
    /// Opens the store in a directory. Creates the directory if it does not exist.
    ///
    /// Computes the state of the newest block from the newest checkpoint and the later state diffs. If
    /// [`StoreOptions::repair`] is set, the function rebuilds a damaged derived database from the record, see
    /// [`Store::outcome`]. On a full disk, opening uses disk space that the store has reserved before, see
    /// [`Store::lacks_room`].
    ///
    /// # Errors
    ///
    /// [`OpenError`]: the directory is in use, cannot be read or written, or the record of blocks is damaged. Without
    /// [`StoreOptions::repair`], a damaged derived database is an error too.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        Self::open_with_progress(dir, options, &mut |_, _| {})
    }

    /// Opens the store like [`Store::open`], and calls `progress` during long work. The second argument is always the
    /// number of all blocks. While the function adds blocks to the hash index, the first argument is the number of
    /// indexed blocks. While it converts a derived database of an earlier layout, the first argument is the number of
    /// all blocks times the converted fraction of the database.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::open`].
    pub fn open_with_progress(dir: &Path, options: StoreOptions, progress: Progress<'_>) -> Result<Self, OpenError> {
        let layout = Layout::of(dir);
        let directory = |source| OpenError::Directory { path: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(directory)?;
        match Self::open_directory(dir, &layout, options, progress) {
            Err(error) if error.is_no_room() && layout.release_reserve().map_err(directory)? => {
                let opened = Self::open_directory(dir, &layout, options, progress);
                // A replay needs the free disk space. Without a replay, the reserve takes this space again, because
                // another program could use the space before the next opening.
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
        .and_then(Self::with_indexer)
    }

    /// Starts the thread of the history index, if the store has such an index.
    fn with_indexer(mut self) -> Result<Self, OpenError> {
        let index = self.databases.index.as_ref();
        let indexer = index.map(|index| Indexer::start(index, &self.published, &self.rules)).transpose();
        self.indexer = indexer.map_err(OpenError::Thread)?;
        Ok(self)
    }

    fn open_directory(
        dir: &Path,
        layout: &Layout,
        options: StoreOptions,
        progress: Progress<'_>,
    ) -> Result<Self, OpenError> {
        // The record is opened before anything is removed, because its lock rejects a directory that is in use.
        let record = Db::open(&layout.record, DbOptions { cache_bytes: RECORD_CACHE, durability: options.durability });
        let record = record.map_err(OpenError::RecordDb)?;
        // This check is before any removal. This program must not repair a record of a later format, or a record that
        // has lost blocks. A repair of the record by other means may need the state.
        Archive::examine(&record, layout.head_marker.as_deref()).map_err(OpenError::Record)?;
        // A crash can lose blocks that a store with relaxed durability acknowledges. Such a store uses no head marker.
        let unnamed = Layout { head_marker: None, ..layout.clone() };
        let used = if options.durability == Durability::Flush { layout } else { &unnamed };
        let changes = Files::Directory(layout.changes.clone(), options.durability);
        layout.end_conversion()?;
        let mut reset = layout.read_marker();
        loop {
            if let Some(reason) = &reset {
                if !options.repair {
                    return Err(OpenError::Damaged { reason: reason.clone() });
                }
                layout.remove_state()?;
            }
            match Self::open_state(used, (&record, &changes), options, reset.clone(), progress) {
                Err(Opening::Failed(error)) => return Err(error),
                Err(Opening::Damaged(reason)) if reset.is_none() => reset = Some(reason),
                Err(Opening::Damaged(reason)) => return Err(OpenError::Damaged { reason }),
                Ok(store) => {
                    match options.durability {
                        Durability::Flush => layout.sync(dir)?,
                        Durability::Relaxed => layout.remove_head_marker()?,
                    }
                    layout.remove_marker()?;
                    return Ok(store);
                }
            }
        }
    }

    /// Makes an empty store in memory. Its data do not outlive the store.
    pub fn ephemeral(options: StoreOptions) -> Self {
        let record = (&Db::in_memory(), &Files::in_memory());
        let databases = Databases::new(record, Db::in_memory(), &Layout::default(), options);
        let opened = Self::open_databases(databases, options, None, &mut |_, _| {}).map_err(Opening::into_error);
        match opened.and_then(Self::with_indexer) {
            Ok(store) => store,
            Err(error) => unreachable!("an empty store in memory has nothing that could be wrong: {error:?}"),
        }
    }

    /// Marks the state for removal, and removes the state diffs and the history index. The next opening removes the
    /// state. The caller must then execute all blocks again ([`OpenOutcome::NeedsReplay`]). The store in the directory
    /// must not be open.
    ///
    /// # Errors
    ///
    /// [`OpenError::Directory`]: the directory cannot be written.
    pub fn discard_state(dir: &Path) -> Result<(), OpenError> {
        let Layout { changes, marker, index, .. } = Layout::of(dir);
        remove_directory(&changes)?;
        remove_directory(&index.unwrap_or_default())?;
        let path = marker.unwrap_or_default();
        let written = create_anew(&path).and_then(|mut file| file.write_all(b"it was discarded on request"));
        written.map_err(|source| OpenError::Directory { path, source })
    }

    /// Opens the store on the disks of a test. Rebuilds a damaged state.
    #[cfg(test)]
    pub(crate) fn on_disks(
        record: &Disk,
        changes: &Files,
        state: &Disk,
        options: StoreOptions,
    ) -> Result<Self, OpenError> {
        let open = |reset| {
            let (record, state) = (Db::on_disk(record), Db::on_disk(state));
            let databases = Databases::new((&record, changes), state, &Layout::default(), options);
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

    fn open_state(
        layout: &Layout,
        record: (&Db, &Files),
        options: StoreOptions,
        reset: Option<String>,
        progress: Progress<'_>,
    ) -> Result<Self, Opening> {
        let state = layout.open_state(options, progress)?;
        Self::open_databases(Databases::new(record, state, layout, options), options, reset, progress)
    }

    /// Opens the store with the databases of the record and of the derived state.
    pub(super) fn open_databases(
        databases: Databases,
        options: StoreOptions,
        reset: Option<String>,
        progress: Progress<'_>,
    ) -> Result<Self, Opening> {
        let Databases { record, changes, state, layout, savepoints, index } = &databases;
        let texts = Cache::new(options.text_bytes());
        let page_bytes = options.cache_bytes.saturating_sub(options.text_bytes());
        let pages = PageStore::open(state.clone(), page_bytes, layout.marker.clone())?;
        let archive = open_archive((record, changes), state, layout.head_marker.as_deref(), progress)?;
        let (pages, archive) = (Arc::new(pages), Arc::new(archive));
        let head = archive.head();
        let recovered = recover(&pages, &archive, head.as_ref(), options.history)?;
        let at = recovered.state.version;
        pages.keys().note(at, KeyChanges::default());
        let outcome = match &head {
            None => OpenOutcome::Empty,
            Some(head) if recovered.complete => OpenOutcome::Ready { head: head.number, rebuilt: reset },
            Some(head) => OpenOutcome::NeedsReplay {
                from: BlockNumber::new(at),
                head: head.number,
                reason: reset.unwrap_or_else(|| {
                    let lost =
                        if at == 0 { "the derived state is missing" } else { "changes since a checkpoint are missing" };
                    lost.to_owned()
                }),
            },
        };
        let older = RecomputedStates::new(at);
        let core = Arc::new(Core { pages, archive, older, texts, index: index.clone() });
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
        let checkpointer = Checkpointer::start(&core.pages, &core.archive, savepoints);
        Ok(Self {
            indexer: None,
            rules: SharedRules::default(),
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

    /// Returns the result of opening.
    pub const fn outcome(&self) -> &OpenOutcome {
        &self.outcome
    }
}

/// The reason why opening did not complete.
#[derive(Debug)]
pub(super) enum Opening {
    /// The derived database must be rebuilt.
    Damaged(String),
    Failed(OpenError),
}

impl Opening {
    pub(super) fn into_error(self) -> OpenError {
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
    /// Returns whether the disk has no space for the writes of an opening.
    pub fn is_no_room(&self) -> bool {
        is_no_room(self)
    }
}

pub(super) fn open_error(error: ArchiveError) -> OpenError {
    OpenError::Record(error.into())
}

/// Opens the record with the hash index in `index`. If opening fails, tries an empty index in memory. If the first
/// attempt found damage and the second attempt succeeds, the damage is in the index database.
pub(super) fn open_archive(
    (record, changes): (&Db, &Files),
    index: &Db,
    head_marker: Option<&Path>,
    progress: Progress<'_>,
) -> Result<Archive, Opening> {
    let mut open = |index| Archive::open(record.clone(), index, changes.clone(), head_marker, progress);
    open(index.clone()).map_err(|error| match (open(Db::in_memory()), &error) {
        (Ok(_), OpenArchiveError::Archive(damage)) if damage.is_damage() => Opening::Damaged(error.to_string()),
        (Ok(_), _) => Opening::Failed(OpenError::Record(error)),
        (Err(error), _) => Opening::Failed(OpenError::Record(error)),
    })
}
