//! The thread that writes checkpoints. Between checkpoints it packs blocks, and merges segments of the hash index.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use silica_protocol::BlockNumber;

use crate::{
    archive::Archive,
    error::StateError,
    savepoints::Savepoints,
    transition::State,
    versioned_trie::{checkpoint, pages::PageStore, tree::Top},
};

/// Number of reads and writes of the hash index between two checks whether a checkpoint is due.
const TIDY_BUDGET: u32 = 256;

/// Number of blocks of a pack.
const PACK: u64 = if cfg!(test) { 2 } else { 1024 };

/// The thread and the result of its last checkpoint.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    status: Arc<(Mutex<Status>, Condvar)>,
    pages: Arc<PageStore>,
    archive: Arc<Archive>,
}

#[derive(Debug)]
struct Job {
    block: BlockNumber,
    top: Top,
}

#[derive(Debug, Default)]
struct Status {
    running: bool,
    /// Whether the thread has finished the work after its last checkpoint, or has ended.
    #[cfg(test)]
    is_idle: bool,
    failed: Option<Arc<StateError>>,
}

impl Checkpointer {
    pub(crate) fn start(
        pages: &Arc<PageStore>,
        archive: &Arc<Archive>,
        savepoints: &Arc<Savepoints>,
    ) -> std::io::Result<Self> {
        let (jobs, received) = sync_channel(1);
        let status = Arc::new((Mutex::default(), Condvar::new()));
        let worker = Worker {
            pages: Arc::clone(pages),
            archive: Arc::clone(archive),
            status: Arc::clone(&status),
            savepoints: Arc::clone(savepoints),
            opened_at: archive.head().map(|head| head.number),
            is_packing: false,
        };
        let thread =
            thread::Builder::new().name("silica-checkpoint".to_owned()).spawn(move || worker.run(&received))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            status,
            pages: Arc::clone(pages),
            archive: Arc::clone(archive),
        })
    }

    /// Ends the thread after the present checkpoint. A later [`request`](Self::request) does nothing.
    pub(crate) fn stop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // An error is ignored: a panic in a checkpoint is already its failure.
            let _: thread::Result<()> = thread.join();
        }
    }

    /// Begins a checkpoint of a state. Does nothing before genesis and after [`stop`](Self::stop). Also does nothing if
    /// a checkpoint is in progress, a checkpoint has failed, or `is_allowed` returns false. No checkpoint can begin
    /// during the call of `is_allowed`, because its result depends on the newest checkpoint.
    pub(crate) fn request(&self, state: &State, is_allowed: impl FnOnce() -> bool) {
        let Some(block) = state.block() else { return };
        let mut status = lock(&self.status.0);
        // After a failure the thread has ended, but the channel may still accept a job.
        if status.running || status.failed.is_some() || !is_allowed() {
            return;
        }
        if let Some(jobs) = &self.jobs
            && jobs.send(Job { block, top: state.top.clone() }).is_ok()
        {
            status.running = true;
        }
    }

    /// Waits until the thread has nothing to do.
    #[cfg(test)]
    pub(crate) fn wait_until_idle(&self) {
        let (status, changed) = &*self.status;
        changed.wait_while(&mut lock(status), |status| status.running || !status.is_idle);
    }

    /// Returns the error of a failed checkpoint, or `None` if no checkpoint has failed. After a failed checkpoint, the
    /// thread writes no checkpoints.
    pub(crate) fn failure(&self) -> Option<Arc<StateError>> {
        lock(&self.status.0).failed.clone()
    }

    /// Waits until no checkpoint is in progress.
    pub(crate) fn wait(&self) {
        let (status, changed) = &*self.status;
        changed.wait_while(&mut lock(status), |status| status.running);
    }

    /// Waits until no checkpoint is in progress, at most `longest`.
    pub(crate) fn wait_briefly(&self, longest: Duration) {
        let (status, changed) = &*self.status;
        changed.wait_while_for(&mut lock(status), |status| status.running, longest);
    }

    /// Writes a checkpoint on the thread of the caller, after the present checkpoint.
    pub(crate) fn write_now(&self, state: &State) -> Result<(), StateError> {
        self.wait();
        match state.block() {
            Some(block) => write(&self.pages, &self.archive, &Job { block, top: state.top.clone() }, || false),
            None => Ok(()),
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock(status: &Mutex<Status>) -> MutexGuard<'_, Status> {
    status.lock()
}

struct Worker {
    pages: Arc<PageStore>,
    archive: Arc<Archive>,
    status: Arc<(Mutex<Status>, Condvar)>,
    savepoints: Arc<Savepoints>,
    /// The newest block when the thread started.
    opened_at: Option<BlockNumber>,
    /// Whether the thread packs blocks. The value is true after a checkpoint of a block after `opened_at`. Therefore a
    /// check, a dump and a replay of blocks change no rows of the record.
    is_packing: bool,
}

impl Worker {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Some(job) = self.next(jobs) {
            let is_held = || self.savepoints.are_heeded();
            let result = catch_unwind(AssertUnwindSafe(|| write(&self.pages, &self.archive, &job, is_held)));
            let result = result.unwrap_or(Err(StateError::CheckpointPanicked));
            self.is_packing |= result.is_ok() && Some(job.block) > self.opened_at;
            drop(job);
            let (status, changed) = &*self.status;
            let mut status = lock(status);
            status.running = false;
            #[cfg(test)]
            {
                status.is_idle = false;
            }
            let failed = result.is_err();
            status.failed = result.err().map(Arc::new);
            drop(status);
            changed.notify_all();
            if failed {
                break;
            }
        }
        self.note_idle();
    }

    /// Returns the next job, or `None` if no more jobs can arrive. Merges segments of the hash index and packs blocks
    /// until a job arrives, no work remains, or the work fails. Then waits for the job.
    fn next(&self, jobs: &Receiver<Job>) -> Option<Job> {
        loop {
            match jobs.try_recv() {
                Ok(job) => return Some(job),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {}
            }
            // An error is ignored: each query that reads the damaged index returns the error, and this thread rebuilds
            // the index.
            let tidy = catch_unwind(AssertUnwindSafe(|| self.archive.tidy_index(TIDY_BUDGET)));
            let has_packed = self.pack();
            if !has_packed && !matches!(tidy, Ok(Ok(true))) {
                self.note_idle();
                return jobs.recv().ok();
            }
        }
    }

    /// Makes a pack if there are enough blocks for it. Returns whether the function has made a pack. After a failure,
    /// the rows stay where they are, and packing ends until the next opening.
    fn pack(&self) -> bool {
        if !self.is_packing {
            return false;
        }
        // A revert to a block before the newest checkpoint fails, and a recovery can remove blocks of this checkpoint
        // that were not acknowledged. So only the blocks up to the previous checkpoint are never removed.
        let limit = self.pages.manifest().previous.map_or(0, |previous| previous.version());
        let packed = catch_unwind(AssertUnwindSafe(|| self.archive.pack(limit, PACK)));
        let failure = match packed {
            Ok(Ok(has_packed)) => return has_packed,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the thread has panicked".to_owned(),
        };
        self.archive.end_packing(failure);
        false
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "only tests wait for the thread"))]
    fn note_idle(&self) {
        #[cfg(test)]
        {
            let (status, changed) = &*self.status;
            lock(status).is_idle = true;
            changed.notify_all();
        }
    }
}

fn write(pages: &PageStore, archive: &Archive, job: &Job, is_held: impl FnOnce() -> bool) -> Result<(), StateError> {
    // The state diffs are flushed before the checkpoint, because a power failure must not lose the diffs of blocks that
    // the checkpoint contains.
    archive.sync_diffs()?;
    checkpoint::write(pages, job.block, &job.top)?;
    // This check is after the checkpoint, because a savepoint may have been created during the checkpoint. The index
    // must not contain blocks after a savepoint.
    if !is_held() {
        archive.store_index()?;
    }
    // After a restart, the older states of the state history are computed from the previous checkpoint and the later
    // state diffs.
    match pages.manifest().previous {
        Some(previous) => Ok(archive.prune_diffs(previous.block)?),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use silica_protocol::StateRoot;

    use super::*;
    use crate::{archive::Files, db::Db};

    #[test]
    fn checkpoint_permission_is_checked_atomically() {
        let db = Db::in_memory();
        let archive = Archive::open(Db::in_memory(), db.clone(), Files::in_memory(), None, &mut |_, _| {}).unwrap();
        let pages = PageStore::open(db, 1 << 20, None).unwrap();
        let checkpointer = Checkpointer::start(&Arc::new(pages), &Arc::new(archive), &Arc::default()).unwrap();
        let state = State { version: 1, ..State::EMPTY };
        let mut requests = 0;
        checkpointer.request(&State::EMPTY, || unreachable!("there is no block"));
        checkpointer.request(&state, || {
            requests += 1;
            assert!(checkpointer.status.0.try_lock().is_none(), "another request could be in between");
            false
        });
        assert!(!lock(&checkpointer.status.0).running);
        lock(&checkpointer.status.0).running = true;
        checkpointer.request(&state, || unreachable!("a checkpoint is being written"));
        lock(&checkpointer.status.0).running = false;
        checkpointer.request(&state, || {
            requests += 1;
            true
        });
        checkpointer.wait();
        assert_eq!((requests, checkpointer.pages.durable()), (2, 1));
        assert!(checkpointer.failure().is_none());
        lock(&checkpointer.status.0).failed = Some(Arc::new(StateError::CheckpointPanicked));
        checkpointer.request(&state, || unreachable!("none is written any more"));
        checkpointer.wait();
        assert_eq!(state.root(), StateRoot::new(silica_proof::trie::EMPTY_ROOT));
    }
}
