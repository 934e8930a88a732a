//! Holds: blocks to which the chain can return.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::{
    Databases, Store, StoreOptions, Writer,
    open::{OpenOutcome, Opening, open_error},
};
use crate::{
    archive::{Head, Removed},
    checkpointer::Checkpointer,
    error::{OpenError, RevertError},
    holds::{HeldState, Hold},
    snapshot::{Core, Snapshot},
    transition::State,
    window::{Older, Pending, Window},
};

/// Blocks since the newest checkpoint beyond which holds are given up.
const MOST_HELD_BLOCKS: u64 = 1 << 18;
/// What part of the changes between two checkpoints is much to compute again each time the chain is taken back.
const MUCH: u64 = 16;

impl Store {
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

    pub(super) fn is_too_much(&self, writer: &Writer) -> bool {
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
    pub(super) fn become_as(&mut self, other: Self) -> Snapshot {
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
}
