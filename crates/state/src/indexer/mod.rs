//! The thread that adds published blocks to the history index.

mod blocks;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
    thread::{self, JoinHandle},
};

use parking_lot::{Condvar, Mutex, RwLock};

pub(crate) use self::blocks::EntrySource;
pub use self::blocks::{BalanceChanges, BalanceRules};
use crate::{archive::ArchiveError, index::HistoryIndex, snapshot::Snapshot};

/// Number of entries that a merge handles before the thread looks for new blocks. They take about 5 ms.
const MERGE_BUDGET: usize = 1 << 15;
/// Maximum number of published blocks that the thread waits for after a failure.
const LONGEST_PAUSE: u32 = 1 << 10;

/// The rules of balances, which the store gets after its opening.
pub(crate) type SharedRules = Arc<OnceLock<Arc<dyn BalanceRules>>>;

/// The thread of the history index.
#[derive(Debug)]
pub(crate) struct Indexer {
    index: Arc<HistoryIndex>,
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SignalState {
    /// Number of published heads that the thread has not processed.
    heads: u32,
    /// Number of reverts in progress.
    reverts: u32,
    is_stopped: bool,
}

/// A revert in progress. The thread begins no new work until the value is dropped.
#[derive(Debug)]
pub(crate) struct Paused(Arc<Signal>);

impl Drop for Paused {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.reverts = state.reverts.saturating_sub(1);
        state.heads = state.heads.saturating_add(1);
        self.0.changed.notify_all();
    }
}

impl Indexer {
    /// Starts the thread. `published` is the newest snapshot of the store. An index with balances gets no entries
    /// before `rules` are set.
    pub(crate) fn start(
        index: &Arc<HistoryIndex>,
        published: &Arc<RwLock<Snapshot>>,
        rules: &SharedRules,
    ) -> std::io::Result<Self> {
        let signal = Arc::<Signal>::default();
        let (index, published, rules) = (Arc::clone(index), Arc::clone(published), Arc::clone(rules));
        let worker = Worker { index: Arc::clone(&index), published, rules, signal: Arc::clone(&signal) };
        let thread = thread::Builder::new().name("silica-index".to_owned()).spawn(move || worker.run())?;
        Ok(Self { index, signal, thread: Some(thread) })
    }

    /// Wakes the thread after the store has published a block or a recovered chain, or has got the rules of balances.
    pub(crate) fn notify(&self) {
        let mut state = self.signal.state.lock();
        state.heads = state.heads.saturating_add(1);
        self.signal.changed.notify_all();
    }

    /// Begins a revert to the first `kept` blocks. The caller drops the result after it has published the reverted
    /// chain, or after a failure.
    pub(crate) fn begin_revert(&self, kept: u64) -> Paused {
        {
            let mut state = self.signal.state.lock();
            state.reverts = state.reverts.saturating_add(1);
        }
        self.index.begin_revert(kept);
        Paused(Arc::clone(&self.signal))
    }

    /// Ends the thread. Then writes the memtable if it has many entries, so that the next start does not read their
    /// blocks again. A failure is ignored, because the next start makes missing entries from the record.
    pub(crate) fn stop_and_store(&mut self) {
        self.stop();
        let _: Result<(), ArchiveError> = self.index.store_if_large();
        self.index.close();
    }

    fn stop(&mut self) {
        self.signal.state.lock().is_stopped = true;
        self.signal.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // An error is ignored: the thread catches its panics.
            let _: thread::Result<()> = thread.join();
        }
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.stop();
        self.index.close();
    }
}

struct Worker {
    index: Arc<HistoryIndex>,
    published: Arc<RwLock<Snapshot>>,
    rules: SharedRules,
    signal: Arc<Signal>,
}

impl Worker {
    fn run(&self) {
        let mut pause = 1;
        while !self.signal.state.lock().is_stopped {
            let step = catch_unwind(AssertUnwindSafe(|| self.step()));
            match step {
                Ok(Ok(true)) => pause = 1,
                Ok(Ok(false)) => {
                    pause = 1;
                    self.wait(1);
                }
                Ok(Err(error)) => {
                    if error.is_retired() {
                        // The handle belongs to a chain before a revert or a recovery, which ends with a signal. After
                        // a failed revert, no signal comes until the recovery.
                        self.wait(1);
                    } else {
                        self.index.note_failure(&error);
                        self.wait(pause);
                        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                    }
                }
                // The store works without the index: readers use the record.
                Err(_) => {
                    self.index.count_failure(
                        "the thread of the index has panicked; a restart of the node starts it again".to_owned(),
                    );
                    self.index.close();
                    return;
                }
            }
        }
    }

    /// Adds blocks, and merges runs. Returns whether work remains.
    fn step(&self) -> Result<bool, ArchiveError> {
        // The count of reverts is read first. So if a revert is in progress or begins later, the index rejects the
        // entries of this step.
        let reverts = self.index.reverts();
        if self.signal.state.lock().reverts > 0 {
            return Ok(false);
        }
        let snapshot = self.published.read().clone();
        let hash_of = |number| snapshot.stored_hash(number);
        self.index.open(hash_of)?;
        self.index.finish_revert(reverts, hash_of)?;
        let mut is_behind = false;
        if let Some(source) = self.source(&snapshot)
            && let Some(first) = self.index.next_block()
            && let Some(blocks) = source.read(first, u64::MAX, &|address| self.index.sum(address))?
        {
            is_behind = snapshot.head().is_some_and(|head| head.number > blocks.last);
            self.index.add(reverts, blocks);
        }
        Ok(self.index.maintain(MERGE_BUDGET)? || is_behind)
    }

    /// Returns the source of entries, or `None` if the index has balances and their rules are not set yet.
    fn source<'a>(&'a self, chain: &'a Snapshot) -> Option<EntrySource<'a>> {
        let (kinds, rules) = (self.index.progress().kinds, self.rules.get().map(|rules| &**rules));
        let rules = rules.filter(|_| kinds.balances);
        (rules.is_some() == kinds.balances).then_some(EntrySource { chain, rules, kinds })
    }

    /// Waits until the store has published `heads` blocks, or the thread has to end.
    fn wait(&self, heads: u32) {
        let mut state = self.signal.state.lock();
        self.signal
            .changed
            .wait_while(&mut state, |state| (state.heads < heads || state.reverts > 0) && !state.is_stopped);
        state.heads = 0;
    }
}
