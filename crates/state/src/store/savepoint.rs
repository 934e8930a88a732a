//! Creates savepoints, and reverts the chain to them.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::{
    Databases, Store, StoreOptions, Writer,
    open::{OpenOutcome, Opening, open_error},
};
use crate::{
    archive::{Head, Removed},
    checkpointer::Checkpointer,
    db::DbError,
    error::{OpenError, RevertError},
    indexer::SharedRules,
    savepoints::{Savepoint, SavepointState},
    snapshot::{Core, Snapshot},
    transition::State,
    versioned_trie::cache::Cache,
    window::{Pending, RecomputedStates, Window},
};

/// Maximum number of blocks with a state diff since the newest checkpoint while savepoints exist. Above this number,
/// the store discards all savepoints.
const MOST_HELD_BLOCKS: u64 = 1 << 18;
/// Divisor of the limits of a checkpoint. Changes above a limit divided by this number are worth a checkpoint. A
/// revert, or a request for an older state after a restart, may compute such changes again.
const MUCH: u64 = 16;

impl Store {
    /// Creates a savepoint at the newest block, so that the chain can revert to this block.
    ///
    /// If no savepoint exists, or the store has discarded all savepoints, the call waits for a checkpoint in progress.
    /// If much has changed since the newest checkpoint, each revert could compute these changes again. Then the call
    /// also writes another checkpoint, if the state history permits it. While a savepoint exists, changes stay in
    /// memory.
    ///
    /// # Errors
    ///
    /// [`RevertError::Busy`]: the store is before genesis, has blocks that are not flushed, or replays blocks.
    pub fn savepoint(&self) -> Result<Savepoint, RevertError> {
        let mut writer = self.writer();
        let snapshot = self.snapshot();
        let head = snapshot.head().filter(|_| writer.written.is_none() && writer.replay_to.is_none());
        let head = head.ok_or(RevertError::Busy)?;
        self.checkpoint_for_savepoint(&mut writer, snapshot.window());
        let (pages, state) = (&self.core.pages, snapshot.window().newest().clone());
        // The undo logs begin after the checkpoint, because a checkpoint removes them.
        self.core.archive.remember();
        pages.keys().remember(state.version);
        Ok(Savepoint::new(head, SavepointState { state, manifest: pages.manifest() }, &self.databases.savepoints))
    }

    /// Waits for a checkpoint in progress, because the hash index must not contain blocks after the savepoint. Then
    /// writes another checkpoint if many changes are in no checkpoint. Does nothing if a savepoint exists and is not
    /// discarded.
    fn checkpoint_for_savepoint(&self, writer: &mut Writer, window: &Window) {
        if self.databases.savepoints.are_heeded() {
            return;
        }
        self.checkpointer.wait();
        writer.backlog.release(self.core.pages.durable());
        if self.is_much(writer.backlog.pending()) {
            self.checkpointer.request(window.newest(), || self.may_checkpoint(window));
            self.checkpointer.wait();
            writer.backlog.release(self.core.pages.durable());
        }
    }

    /// Returns whether changes are worth a checkpoint, although no checkpoint is due.
    pub(super) const fn is_much(&self, pending: Pending) -> bool {
        let StoreOptions { checkpoint_bytes, checkpoint_blocks, .. } = self.options;
        pending.bytes > checkpoint_bytes / MUCH || pending.blocks > checkpoint_blocks / MUCH
    }

    /// Returns whether the store has discarded all savepoints, because too much has changed since the newest
    /// checkpoint. These changes are in memory, and make an opening slow. Checkpoints ignore the savepoints until all
    /// savepoints are dropped.
    pub fn holds_too_much(&self) -> bool {
        self.databases.savepoints.are_given_up()
    }

    pub(super) fn is_too_much(&self, writer: &Writer) -> bool {
        let pending = writer.backlog.pending();
        pending.bytes > self.options.held_bytes || pending.blocks > MOST_HELD_BLOCKS
    }

    /// Reverts the chain to a savepoint: removes the later blocks, and restores the state of the savepoint.
    /// Returns a snapshot of the chain at the savepoint.
    ///
    /// If the state is not in memory, the store opens again over the same databases. This happens, for example, for a
    /// savepoint that is older than eight other savepoints. The store then computes the changes since the newest
    /// checkpoint, and the state may need a replay. After a discard, a checkpoint of a later block makes the revert
    /// fail with [`RevertError::Passed`].
    ///
    /// After a crash, the store opens at the savepoint or at the head before the revert. Older snapshots return data
    /// from memory. For all other queries they return [`DbError::Retired`](crate::DbError::Retired).
    ///
    /// # Errors
    ///
    /// [`RevertError`]. After [`RevertError::Append`] and [`RevertError::Open`], the store can be neither read nor
    /// written until it is opened again. After all other errors, the store is unchanged.
    pub fn revert(&mut self, to: &Savepoint) -> Result<Snapshot, RevertError> {
        let number = to.number();
        let writer = self.writer.get_mut();
        if writer.written.is_some() || writer.replay_to.is_some() {
            return Err(RevertError::Busy);
        }
        if self.core.archive.head().is_some_and(|head| head.hash == to.hash()) {
            return Ok(self.snapshot());
        }
        self.checkpointer.wait();
        if self.checkpointer.failure().is_some() || self.core.pages.durable() > number.get().saturating_add(1) {
            return Err(RevertError::Passed { number });
        }
        // A failed pack can have broken the record. Then only a recovery helps.
        if self.core.archive.is_broken() {
            return Err(RevertError::Archive(DbError::Broken.into()));
        }
        let removal = self.core.archive.blocks_after(number, &to.hash())?.ok_or(RevertError::NotThere { number })?;
        let databases = self.databases.renewed();
        // The value is dropped after the new chain is published, or after an error.
        let _paused = self.indexer.as_ref().map(|indexer| indexer.begin_revert(number.get().saturating_add(1)));
        // From here on, only the checkpointer of the new store may write.
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

    /// Replaces this store by another store of the same chain, for the writer and for readers.
    pub(super) fn become_as(&mut self, other: Self) -> Snapshot {
        let Self {
            indexer: _,
            rules: _,
            checkpointer,
            core,
            published,
            writer,
            databases,
            options: _,
            outcome,
            lacks_room: _,
        } = other;
        if let Some(seal) = self.core.archive.seal() {
            core.archive.set_signer(seal);
        }
        let snapshot = published.read().clone();
        (self.checkpointer, self.core, self.writer) = (checkpointer, core, writer);
        (self.databases, self.outcome) = (databases, outcome);
        *self.published.write() = snapshot.clone();
        if let Some(indexer) = &self.indexer {
            indexer.notify();
        }
        snapshot
    }

    /// Returns the core and the state after a removal of blocks, equal to the result of opening, but from memory.
    /// Returns `None` if the data are not in memory, for example after a checkpoint since the savepoint.
    fn core_at(
        &self,
        to: &Savepoint,
        removed: &Removed,
        databases: &Databases,
    ) -> Result<Option<(Core, State)>, RevertError> {
        let Core { pages, archive, index, .. } = &*self.core;
        let held = to.state().filter(|held| held.manifest == pages.manifest());
        let Some(SavepointState { state, .. }) = held.filter(|held| held.state.root() == removed.head().state_root)
        else {
            return Ok(None);
        };
        let Some(pages) = pages.back_at(state.version, databases.state.clone()) else { return Ok(None) };
        let archive =
            archive.back_at(removed, databases.record.clone(), databases.state.clone()).map_err(open_error)?;
        let core = archive.map(|archive| {
            let (older, texts) = (RecomputedStates::new(state.version), Cache::new(self.options.text_bytes()));
            Core { pages: Arc::new(pages), archive: Arc::new(archive), older, texts, index: index.clone() }
        });
        Ok(core.map(|core| (core, state)))
    }

    /// Returns a store with another core and the state of the newest block. Moves the backlog of this store to the
    /// returned store.
    fn over(&mut self, core: Core, state: State, head: &Head, databases: Databases) -> Result<Self, OpenError> {
        let writer = self.writer.get_mut();
        let mut backlog = std::mem::take(&mut writer.backlog);
        backlog.go_back(state.version);
        let core = Arc::new(core);
        let snapshot = Snapshot::new(&core, core.archive.view(), Window::new(state, self.options.history));
        let checkpointer = Checkpointer::start(&core.pages, &core.archive, &databases.savepoints);
        Ok(Self {
            indexer: None,
            rules: SharedRules::default(),
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
}
