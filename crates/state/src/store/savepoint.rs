//! Holds: blocks to which the chain can revert.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::{
    Databases, Store, StoreOptions, Writer,
    open::{OpenOutcome, Opening, open_error},
};
use crate::{
    archive::{Head, Removed},
    checkpointer::Checkpointer,
    error::{OpenError, RevertError},
    savepoints::{Savepoint, SavepointState},
    snapshot::{Core, Snapshot},
    transition::State,
    window::{Pending, RecomputedStates, Window},
};

/// Number of blocks since the newest checkpoint above which the store gives holds up.
const MOST_HELD_BLOCKS: u64 = 1 << 18;
/// Fraction (one in this many) of the changes between two checkpoints that is too much to compute again at each return.
const MUCH: u64 = 16;

impl Store {
    /// Holds the newest block, so that the chain can revert to it.
    ///
    /// The call waits for a checkpoint that is being written. If there is no hold yet and much has changed since the
    /// newest checkpoint, it writes another one, because each return computes these changes again. While a hold exists,
    /// changes stay in memory.
    ///
    /// # Errors
    ///
    /// [`RevertError::Busy`] before genesis, and when there are blocks that are not flushed or whose state is not
    /// computed.
    pub fn savepoint(&self) -> Result<Savepoint, RevertError> {
        let mut writer = self.writer();
        let snapshot = self.snapshot();
        let head = snapshot.head().filter(|_| writer.written.is_none() && writer.replay_to.is_none());
        let head = head.ok_or(RevertError::Busy)?;
        self.checkpoint_for_savepoint(&mut writer, snapshot.window());
        let (pages, state) = (&self.core.pages, snapshot.window().newest().clone());
        self.core.archive.remember();
        pages.keys().remember(state.version);
        Ok(Savepoint::new(head, SavepointState { state, manifest: pages.manifest() }, &self.databases.savepoints))
    }

    /// Writes a checkpoint of the changes before a hold if there are many, and waits for the checkpoint that is being
    /// written, because the index must not contain blocks after the hold.
    fn checkpoint_for_savepoint(&self, writer: &mut Writer, window: &Window) {
        let StoreOptions { checkpoint_bytes, checkpoint_blocks, .. } = self.options;
        let mut is_much = || {
            writer.backlog.release(self.core.pages.durable());
            let Pending { blocks, bytes } = writer.backlog.pending();
            bytes > checkpoint_bytes / MUCH || blocks > checkpoint_blocks / MUCH
        };
        if self.databases.savepoints.are_heeded() {
            return;
        }
        self.checkpointer.wait();
        if is_much() {
            self.checkpointer.request(window.newest(), || self.may_checkpoint(window));
            self.checkpointer.wait();
            writer.backlog.release(self.core.pages.durable());
        }
    }

    /// Returns whether the store has given up all holds, because too much has changed since the newest checkpoint.
    /// These changes are in memory and make an opening slow. Checkpoints ignore all holds until the last one is
    /// dropped.
    pub fn holds_too_much(&self) -> bool {
        self.databases.savepoints.are_given_up()
    }

    pub(super) fn is_too_much(&self, writer: &Writer) -> bool {
        let pending = writer.backlog.pending();
        pending.bytes > self.options.held_bytes || pending.blocks > MOST_HELD_BLOCKS
    }

    /// Reverts the chain to a held block: removes the blocks after it permanently, and restores the state of the hold.
    /// If the hold lacks data, the store opens again. Returns a snapshot of the chain at this block.
    ///
    /// A crash leaves a store that opens at one of the two heads. Older snapshots return what they have in memory, and
    /// [`DbError::Retired`](crate::DbError::Retired) for all other queries. If the store opens again, it computes the
    /// changes since the newest checkpoint, and the state may need a replay. This concerns holds that are older than
    /// many others, and holds that were given up.
    ///
    /// # Errors
    ///
    /// [`RevertError`]. After [`RevertError::Append`] and [`RevertError::Open`], the store cannot be read or written
    /// until it is opened again. After all other errors, the store is unchanged.
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
        let removal = self.core.archive.blocks_after(number, &to.hash())?.ok_or(RevertError::NotThere { number })?;
        let databases = self.databases.renewed();
        // Only the checkpointer of the new store may write from here on.
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

    /// Replaces this store by another one of the same chain, also for readers.
    pub(super) fn become_as(&mut self, other: Self) -> Snapshot {
        let Self { checkpointer, core, published, writer, databases, options: _, outcome, lacks_room: _ } = other;
        if let Some(seal) = self.core.archive.seal() {
            core.archive.set_signer(seal);
        }
        let snapshot = published.read().clone();
        (self.checkpointer, self.core, self.writer) = (checkpointer, core, writer);
        (self.databases, self.outcome) = (databases, outcome);
        *self.published.write() = snapshot.clone();
        snapshot
    }

    /// Returns, from memory, what opening would find after the removal of blocks, and the state of the newest block.
    /// Returns `None` when that is not in memory, for example when a checkpoint was written after the hold.
    fn core_at(
        &self,
        to: &Savepoint,
        removed: &Removed,
        databases: &Databases,
    ) -> Result<Option<(Core, State)>, RevertError> {
        let Core { pages, archive, .. } = &*self.core;
        let held = to.state().filter(|held| held.manifest == pages.manifest());
        let Some(SavepointState { state, .. }) = held.filter(|held| held.state.root() == removed.head().state_root)
        else {
            return Ok(None);
        };
        let Some(pages) = pages.back_at(state.version, databases.state.clone()) else { return Ok(None) };
        let archive =
            archive.back_at(removed, databases.record.clone(), databases.state.clone()).map_err(open_error)?;
        let core = archive.map(|archive| {
            let older = RecomputedStates::new(state.version);
            Core { pages: Arc::new(pages), archive: Arc::new(archive), older }
        });
        Ok(core.map(|core| (core, state)))
    }

    /// Returns this store over another core, with the state of the newest block.
    fn over(&mut self, core: Core, state: State, head: &Head, databases: Databases) -> Result<Self, OpenError> {
        let writer = self.writer.get_mut();
        let mut backlog = std::mem::take(&mut writer.backlog);
        backlog.go_back(state.version);
        let core = Arc::new(core);
        let snapshot = Snapshot::new(&core, core.archive.view(), Window::new(state, self.options.history));
        let checkpointer = Checkpointer::start(&core.pages, &core.archive, &databases.savepoints);
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
}
