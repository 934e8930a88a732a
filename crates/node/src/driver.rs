//! The one loop that makes blocks: it waits for an event, feeds the consensus engine, publishes its effects.
//!
//! ```text
//! requests ──▶ NodeHandle ──events──▶ Driver ──input──▶ Engine ──▶ Producer
//!    ▲             │                    │ ▲               │
//!    │             ▼                    │ └───effects─────┘
//!    └──────── Context ◀────publish─────┘
//! ```
//!
//! The loop has a thread of its own, since making a block is work and waiting for the disk. Whatever arrived while it
//! made one goes into the next together, so that a flush is shared by all who wait for it. Many blocks that were demanded
//! are made in parts, between which everything else has its turn, but for snapshots, which wait for all blocks that were
//! demanded before.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, Guard};
use silica_chain::{
    AdmissionError, Chain, DropReason, Edit, EditError, EngineError, GasPriceError, Producer, SubmissionError,
    Submitted, TransactionStatus, TxStatus, VerifiedTransaction,
    consensus::{Effect, Engine, Input},
};
use silica_protocol::{BlockHash, BlockNumber, GasPrice, SimulationRequest, Timestamp, TxHash};
use silica_state::ArchiveError;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch},
    task::spawn_blocking,
    time::timeout,
};

use crate::{
    block_hashes::{BlockHashes, Sought},
    block_mode::BlockMode,
    clock::{Clock, ClockError, Lead, LeadChange},
    data_dir::DataDir,
    head::{Context, Reverts, Tip},
    pause::Pause,
    request_id::carried,
    snapshots::{Kept, Snapshots, UnknownSnapshot},
};

/// Blocks that are demanded of the engine at once; a larger demand is met in parts, so that neither a payment nor a stop
/// has to wait for all of it. Some 20 ms of empty blocks.
const DEMAND: u64 = 8_192;

/// Pause after no block could be made before that is tried again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Something the driver has to do.
enum Event {
    /// A transaction arrived that is to be in a block before it is acknowledged.
    Arrival { transaction: VerifiedTransaction, reply: oneshot::Sender<Result<Submitted, SubmitError>> },
    /// So many blocks are demanded.
    Mine { blocks: u64, reply: oneshot::Sender<Result<(), DriverError>> },
    /// A pause begins or ends; the answer is whether it lasts.
    TogglePause { reply: oneshot::Sender<bool> },
    /// The state is edited by hand.
    Edit { edit: Edit, reply: oneshot::Sender<Result<Edited, DriverError>> },
    /// Blocks are made in another mode from now on.
    SetBlockMode { mode: BlockMode, reply: oneshot::Sender<()> },
    /// The chain as it is is to be kept, under a number that is the answer.
    Snapshot { reply: oneshot::Sender<Result<u32, DriverError>> },
    /// The chain is taken back to how it was.
    Revert { to: u32, reply: oneshot::Sender<Result<Reverted, DriverError>> },
    /// The time of the next block is set.
    SetNextTime { time: Timestamp, reply: oneshot::Sender<Result<(), ClockError>> },
    /// Something was put into the pool while the mode changed to the one in which nothing waits.
    Waiting,
    /// The operator sets the price of gas.
    SetMinimumGasPrice { price: GasPrice, reply: oneshot::Sender<Result<(), GasPriceError>> },
    /// The time for a block has come.
    Tick,
    /// The time has come to try again what had failed.
    Retry,
    /// The node stops.
    Shutdown,
}

/// The block that has an edit, or why there is none.
type Edited = Result<BlockNumber, EditError>;

/// Whether the chain was taken back, or why not.
type Reverted = Result<(), UnknownSnapshot>;

/// Reason why a transaction did not get into a block.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubmitError {
    /// The pool did not take it.
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    /// It was dropped when the block was made.
    #[error("transaction was dropped: {0:?}")]
    Dropped(DropReason),
    /// No block could be made.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Reason why a transaction that nobody signed was not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImpersonationError {
    /// It does not pass a check.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// It did not get into a block, or into the pool.
    #[error(transparent)]
    Submission(#[from] SubmitError),
}

/// Reason why the driver did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DriverError {
    /// The engine failed; the log says why.
    #[error("no block could be made")]
    Failed,
    /// The node is paused.
    #[error("the node is paused")]
    Paused,
    /// The node is stopping.
    #[error("the node is stopping")]
    Stopping,
}

/// Reason why something was not done on a thread of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AsideError {
    /// All threads for such things were busy for too long.
    #[error("Too many simulations at once, try again later")]
    Busy,
    /// It panicked.
    #[error("it panicked")]
    Panicked,
}

/// How long something waits for a thread of its own.
const PATIENCE: Duration = Duration::from_secs(10);

/// Questions that take long which are answered at once. As their answers may be large, no more are in memory before they
/// are sent.
pub(crate) const SLOW_QUESTIONS: usize = 4;

/// What requests have of the node: the chain, what is known at its head, and a way to ask for blocks.
#[derive(Clone)]
pub(crate) struct NodeHandle {
    shared: Arc<Shared>,
}

struct Shared {
    chain: Chain,
    clock: Clock,
    mode: RwLock<BlockMode>,
    context: ArcSwap<Context>,
    /// The latest Tx block, for those who wait for the next.
    head: watch::Sender<Tip>,
    events: Sender<Event>,
    /// Threads for what may take long and that nobody else is to wait for.
    aside: Arc<Semaphore>,
    /// Turns for questions that take long.
    slow: Arc<Semaphore>,
    /// The turn to write the chain to a file, which takes longer than any question.
    dump: Arc<Semaphore>,
    /// Held by whoever draws a nonce for somebody else.
    impersonated: tokio::sync::Mutex<()>,
    pause: Pause,
    /// `None` in memory.
    data_dir: Option<Arc<DataDir>>,
    /// Which blocks have which hashes, as far as someone asked.
    block_hashes: Mutex<BlockHashes>,
    stopping: AtomicBool,
    /// An attempt to make a block failed, and none has succeeded since.
    failing: AtomicBool,
    /// The log says that the files of the chain are gone.
    reported_gone: AtomicBool,
}

impl fmt::Debug for NodeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeHandle").field("mode", &self.mode()).finish_non_exhaustive()
    }
}

impl NodeHandle {
    /// What is known at the head.
    pub(crate) fn context(&self) -> Guard<Arc<Context>> {
        self.shared.context.load()
    }

    /// The latest Tx block, as the chain grows or is taken back. What is known at that head, or at a later one, can be had
    /// when it changes.
    pub(crate) fn heads(&self) -> watch::Receiver<Tip> {
        self.shared.head.subscribe()
    }

    pub(crate) fn chain(&self) -> &Chain {
        &self.shared.chain
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// When blocks are made.
    pub(crate) fn mode(&self) -> BlockMode {
        *self.shared.mode.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a transaction that nobody signed wait for its block, or gets it into one. One after the other, since each has the
    /// nonce after the one before.
    pub(crate) async fn impersonate(&self, request: &SimulationRequest) -> Result<Submitted, ImpersonationError> {
        let _turn = self.shared.impersonated.lock().await;
        let transaction = self.chain().impersonate(request)?;
        Ok(self.submit(transaction).await?)
    }

    /// Hands a transaction to the chain: into a block that is on disk in instant mode, into the pool in the others.
    pub(crate) async fn submit(&self, transaction: VerifiedTransaction) -> Result<Submitted, SubmitError> {
        self.require_no_pause()?;
        if self.mode().is_instant() {
            return self.ask(|reply| Event::Arrival { transaction, reply }).await?;
        }
        let submitted = self.shared.chain.submit(transaction, self.clock().now())?;
        if self.mode().is_instant() {
            // The driver may have looked into the pool before.
            self.shared.events.send(Event::Waiting).map_err(|_| DriverError::Stopping)?;
        }
        Ok(submitted)
    }

    /// Makes blocks in another mode from now on. Where nothing waits in that one, what does gets its block first, unless that
    /// block cannot be made.
    pub(crate) async fn set_mode(&self, mode: BlockMode) -> Result<(), DriverError> {
        self.ask(|reply| Event::SetBlockMode { mode, reply }).await
    }

    /// Edits the state, and returns the block that has the edit once it is on disk.
    pub(crate) async fn edit(&self, edit: Edit) -> Result<Edited, DriverError> {
        self.ask(|reply| Event::Edit { edit, reply }).await?
    }

    /// Keeps the chain as it is, and returns under which number.
    pub(crate) async fn snapshot(&self) -> Result<u32, DriverError> {
        self.ask(|reply| Event::Snapshot { reply }).await?
    }

    /// Takes the chain back to how it was.
    pub(crate) async fn revert(&self, to: u32) -> Result<Reverted, DriverError> {
        self.ask(|reply| Event::Revert { to, reply }).await?
    }

    /// Sets the time of the next block.
    pub(crate) async fn set_next_time(&self, time: Timestamp) -> Result<Result<(), ClockError>, DriverError> {
        self.ask(|reply| Event::SetNextTime { time, reply }).await
    }

    /// Makes so many blocks and returns once they are on disk.
    pub(crate) async fn mine(&self, blocks: u64) -> Result<(), DriverError> {
        self.ask(|reply| Event::Mine { blocks, reply }).await?
    }

    /// Where the node keeps its chain; `None` in memory.
    pub(crate) fn data_dir(&self) -> Option<&DataDir> {
        self.shared.data_dir.as_deref()
    }

    /// Whether the node is paused, and who may say so.
    pub(crate) fn pause(&self) -> &Pause {
        &self.shared.pause
    }

    /// Refuses what a paused node does not do.
    pub(crate) fn require_no_pause(&self) -> Result<(), DriverError> {
        if self.shared.pause.lasts() { Err(DriverError::Paused) } else { Ok(()) }
    }

    /// Looks for the Tx block with a hash, at `most` older blocks at most than those that were looked at before, and returns
    /// what is known of it as of which context. May take long.
    pub(crate) fn find_block(&self, hash: &BlockHash, most: u64) -> Result<(Arc<Context>, Sought), ArchiveError> {
        let mut hashes = self.shared.block_hashes.lock().unwrap_or_else(PoisonError::into_inner);
        // Only now, so that no other has seen more of the chain.
        let at = Arc::clone(&self.context());
        let sought = hashes.find(&at.snapshot, hash, most)?;
        Ok((at, sought))
    }

    /// Begins or ends a pause and returns whether it lasts. From a beginning on no block is made, and none is being made.
    pub(crate) async fn toggle_pause(&self) -> Result<bool, DriverError> {
        self.ask(|reply| Event::TogglePause { reply }).await
    }

    /// Sets the price of gas, at once.
    pub(crate) async fn set_minimum_gas_price(
        &self,
        price: GasPrice,
    ) -> Result<Result<(), GasPriceError>, DriverError> {
        self.ask(|reply| Event::SetMinimumGasPrice { price, reply }).await
    }

    /// Does something that may take long on a thread of its own, of which there are half as many as processors, so that
    /// neither blocks nor other answers have to wait for it.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Chain) -> T + Send + 'static,
    ) -> Result<T, AsideError> {
        let place = timeout(PATIENCE, Arc::clone(&self.shared.aside).acquire_owned()).await;
        let place = place.map_err(|_| AsideError::Busy)?.map_err(|_| AsideError::Busy)?;
        let chain = self.shared.chain.clone();
        let done = spawn_blocking(carried(move || {
            let result = work(&chain);
            // Only now, even if whoever asked is gone.
            drop(place);
            result
        }));
        done.await.map_err(|_| AsideError::Panicked)
    }

    /// Whether blocks are made: not from an attempt that failed on, until a block is made, or it is known that the disk takes
    /// them again.
    pub(crate) fn makes_blocks(&self) -> bool {
        !self.shared.failing.load(Ordering::Relaxed)
    }

    /// Whether requests are welcome, or why not: no block can be made, or the files of the chain were deleted or replaced.
    pub(crate) fn readiness(&self) -> Result<(), &'static str> {
        let in_place = self.shared.chain.require_in_place();
        let reported = self.shared.reported_gone.swap(in_place.is_err(), Ordering::Relaxed);
        if let Err(error) = in_place {
            if !reported {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    advice = "stop the node, bring the data directory back, and start the node again",
                    "no block can be made"
                );
            }
            return Err("the data directory was deleted or replaced");
        }
        if self.makes_blocks() { Ok(()) } else { Err("no block can be made") }
    }

    /// Waits until a question that takes long may be answered. The turn ends with what is returned.
    pub(crate) async fn slow_turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.shared.slow).acquire_owned().await.ok()
    }

    /// Does something that takes long in its turn, on a thread that may take its time; `None` when it panicked.
    pub(crate) async fn slowly<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        Self::in_turn(self.slow_turn().await, work).await
    }

    /// Writes the chain to a file, one at a time, on a thread that may take its time; `None` when that panicked.
    pub(crate) async fn dump<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        Self::in_turn(Arc::clone(&self.shared.dump).acquire_owned().await.ok(), work).await
    }

    async fn in_turn<T: Send + 'static>(
        turn: Option<OwnedSemaphorePermit>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let done = spawn_blocking(carried(move || {
            let result = work();
            // Only now, even if whoever asked is gone.
            drop(turn);
            result
        }));
        done.await.ok()
    }

    async fn ask<T>(&self, event: impl FnOnce(oneshot::Sender<T>) -> Event) -> Result<T, DriverError> {
        let (reply, answer) = oneshot::channel();
        self.shared.events.send(event(reply)).map_err(|_| DriverError::Stopping)?;
        answer.await.map_err(|_| DriverError::Stopping)
    }

    fn publish(&self) {
        let reverts = Arc::clone(&self.context().reverts);
        self.publish_after(reverts);
    }

    fn publish_after(&self, reverts: Arc<Reverts>) {
        let context = Arc::new(Context::new(&self.shared.chain, reverts));
        let tip = context.tip();
        self.shared.context.store(context);
        self.shared.head.send_if_modified(|latest| std::mem::replace(latest, tip) != tip);
    }
}

/// A driver at work.
#[derive(Debug)]
pub(crate) struct RunningDriver {
    node: NodeHandle,
    thread: JoinHandle<Producer>,
}

impl RunningDriver {
    /// Makes no further block and returns the writing end of the chain. What was begun is finished first.
    pub(crate) fn stop(self) -> thread::Result<Producer> {
        self.node.shared.stopping.store(true, Ordering::Relaxed);
        // A driver that has ended does not need to be told.
        drop(self.node.shared.events.send(Event::Shutdown));
        self.thread.join()
    }
}

/// Starts the loop for a chain that was just opened. In modes with a block for each transaction, the nonce policy of the
/// chain's configuration holds. In the others later nonces wait.
pub(crate) fn start(
    chain: Chain,
    mut producer: Producer,
    engine: impl Engine + Send + 'static,
    mode: BlockMode,
    clock: Clock,
    data_dir: Option<Arc<DataDir>>,
) -> std::io::Result<(NodeHandle, RunningDriver)> {
    let (events, queue) = mpsc::channel();
    let context = Context::new(&chain, Arc::default());
    let (head, context) = (watch::Sender::new(context.tip()), ArcSwap::from_pointee(context));
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let aside = Arc::new(Semaphore::new(processors.div_ceil(2)));
    let (slow, dump) = (Arc::new(Semaphore::new(SLOW_QUESTIONS)), Arc::new(Semaphore::new(1)));
    let [stopping, reported_gone] = [const { AtomicBool::new(false) }; 2];
    let failing = AtomicBool::new(producer.has_failed());
    let next_tick = first_tick(mode);
    producer.set_nonce_policy(mode.nonces(chain.config().policy.nonces));
    producer.set_numbering(mode.numbering());
    let mode = RwLock::new(mode);
    let (pause, block_hashes) = (Pause::default(), Mutex::default());
    let shared = Shared {
        chain,
        clock,
        mode,
        context,
        head,
        events,
        aside,
        slow,
        dump,
        impersonated: tokio::sync::Mutex::default(),
        pause,
        data_dir: data_dir.clone(),
        block_hashes,
        stopping,
        failing,
        reported_gone,
    };
    let node = NodeHandle { shared: Arc::new(shared) };
    let (held, demands, snapshots) = (None, VecDeque::new(), Snapshots::default());
    let (retry, attempts, lead) = (None, 0, Lead::default());
    let driver = Driver {
        node: node.clone(),
        producer,
        engine,
        data_dir,
        queue,
        held,
        demands,
        snapshots,
        next_tick,
        retry,
        attempts,
        lead,
    };
    let thread = thread::Builder::new().name("driver".to_owned()).spawn(move || driver.run())?;
    Ok((node.clone(), RunningDriver { node, thread }))
}

fn first_tick(mode: BlockMode) -> Option<Instant> {
    mode.interval().map(|interval| Instant::now() + interval)
}

struct Driver<E> {
    node: NodeHandle,
    producer: Producer,
    engine: E,
    /// Where the price of gas is kept that the operator sets.
    data_dir: Option<Arc<DataDir>>,
    queue: Receiver<Event>,
    /// An event that was taken from the queue and has to wait for those before it.
    held: Option<Event>,
    /// What is still to be done, in the order of those who asked.
    demands: VecDeque<Demand>,
    /// To what the chain can be taken back.
    snapshots: Snapshots,
    next_tick: Option<Instant>,
    /// When it is tried again to make blocks; `None` while they are made.
    retry: Option<Instant>,
    /// How often it was tried in vain to go on after a failure.
    attempts: u64,
    /// Whether the latest block is ahead of the clock.
    lead: Lead,
}

/// What someone waits for who is to have it behind all that was demanded before.
enum Demand {
    /// So many blocks.
    Blocks { blocks: u64, reply: oneshot::Sender<Result<(), DriverError>> },
    /// The chain is to be kept.
    Snapshot { reply: oneshot::Sender<Result<u32, DriverError>> },
    /// The chain is to be taken back.
    Revert { to: u32, reply: oneshot::Sender<Result<Reverted, DriverError>> },
}

impl Demand {
    fn refuse(self, error: DriverError) {
        match self {
            Self::Blocks { reply, .. } => answer(reply, Err(error)),
            Self::Snapshot { reply } => answer(reply, Err(error)),
            Self::Revert { reply, .. } => answer(reply, Err(error)),
        }
    }
}

/// A transaction in the pool whose sender waits for its block.
struct Waiting {
    submitted: Submitted,
    reply: oneshot::Sender<Result<Submitted, SubmitError>>,
}

impl<E: Engine> Driver<E> {
    fn run(mut self) -> Producer {
        self.compare_clock();
        // If opening found no room, this plans the next attempt.
        let _: Result<(), DriverError> = self.recover();
        // They waited when the node stopped.
        self.drain();
        loop {
            match self.next_event() {
                Some(Event::Arrival { transaction, reply }) => self.arrivals(transaction, reply),
                Some(Event::Mine { blocks, reply }) => self.demands.push_back(Demand::Blocks { blocks, reply }),
                Some(Event::TogglePause { reply }) => {
                    let paused = self.node.pause().toggle();
                    // What waits may be there since the mode changed, and then nobody asks for its block.
                    self.drain();
                    answer(reply, paused);
                }
                Some(Event::Edit { edit, reply }) => {
                    let result = self.edit(edit);
                    answer(reply, result);
                }
                Some(Event::SetBlockMode { mode, reply }) => {
                    self.set_mode(mode);
                    answer(reply, ());
                }
                Some(Event::Snapshot { reply }) => self.demands.push_back(Demand::Snapshot { reply }),
                Some(Event::Revert { to, reply }) => match self.snapshots.get(to) {
                    Ok(_) => self.demands.push_back(Demand::Revert { to, reply }),
                    Err(unknown) => answer(reply, Ok(Err(unknown))),
                },
                Some(Event::SetNextTime { time, reply }) => {
                    let latest = self.node.context().snapshot.latest_tx_block().timestamp;
                    answer(reply, self.node.clock().set_next(time, latest));
                }
                Some(Event::Waiting) => self.drain(),
                Some(Event::SetMinimumGasPrice { price, reply }) => {
                    let result = self.set_minimum_gas_price(price);
                    answer(reply, result);
                }
                Some(Event::Tick) => self.tick(),
                Some(Event::Retry) => self.retry(),
                Some(Event::Shutdown) => return self.producer,
                None => {}
            }
            self.meet_demand();
        }
    }

    /// Returns what is to be done next; `None` when nothing is but what is demanded.
    fn next_event(&mut self) -> Option<Event> {
        if let Some(event) = self.held.take() {
            return Some(event);
        }
        // What is first in time comes first.
        let timed = [self.next_tick.map(|at| (at, Event::Tick)), self.retry.map(|at| (at, Event::Retry))];
        let timed = timed.into_iter().flatten().min_by_key(|(at, _)| *at);
        if !self.demands.is_empty() {
            return match self.queue.try_recv() {
                Ok(event) => Some(event),
                Err(TryRecvError::Empty) => timed.filter(|(at, _)| *at <= Instant::now()).map(|(_, event)| event),
                Err(TryRecvError::Disconnected) => Some(Event::Shutdown),
            };
        }
        let Some((at, event)) = timed else { return Some(self.queue.recv().unwrap_or(Event::Shutdown)) };
        Some(match self.queue.recv_timeout(at.saturating_duration_since(Instant::now())) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => event,
            Err(RecvTimeoutError::Disconnected) => Event::Shutdown,
        })
    }

    fn tick(&mut self) {
        let result = self.step(Input::Tick(self.time()));
        if let (Some(tick), Some(interval)) = (self.next_tick, self.node.mode().interval()) {
            // Time that a long block took from the following ones is not made up for by a burst.
            let failed = matches!(result, Err(DriverError::Failed));
            let pause = if failed { PAUSE_AFTER_FAILURE } else { Duration::ZERO };
            self.next_tick = Some((tick + interval).max(Instant::now() + pause));
        }
    }

    /// Tries again what had failed. Where blocks come at intervals or on demand, what waits has its turn then.
    fn retry(&mut self) {
        self.retry = Some(Instant::now() + PAUSE_AFTER_FAILURE);
        if self.recover().is_ok() {
            self.drain();
        }
    }

    /// Goes on if the store had failed, which shows that the disk takes blocks again.
    fn recover(&mut self) -> Result<(), DriverError> {
        if !self.producer.has_failed() {
            return Ok(());
        }
        if let Err(error) = self.producer.recover() {
            self.attempts = self.attempts.saturating_add(1);
            // It may last for days.
            if self.attempts.is_power_of_two() {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    attempts = self.attempts,
                    waiting = self.node.chain().waiting(),
                    advice = "free space on the disk; if that does not help, start the node again",
                    "no block can be made"
                );
            }
            self.set_failing(true);
            return Err(DriverError::Failed);
        }
        self.attempts = 0;
        self.set_failing(false);
        // Who was reading by what was there before reads again.
        let context = self.node.context();
        let (number, reverts) = (context.head(), context.reverts.after(context.head()));
        drop(context);
        self.node.publish_after(Arc::new(reverts));
        tracing::info!(%number, waiting = self.node.chain().waiting(), "blocks can be made again");
        Ok(())
    }

    fn set_failing(&mut self, failing: bool) {
        self.node.shared.failing.store(failing, Ordering::Relaxed);
        if failing {
            self.retry.get_or_insert_with(|| Instant::now() + PAUSE_AFTER_FAILURE);
        } else {
            self.retry = None;
        }
    }

    /// Does the first of what is demanded, or a part of it.
    fn meet_demand(&mut self) {
        let Some(demand) = self.demands.pop_front() else { return };
        if self.node.shared.stopping.load(Ordering::Relaxed) {
            return demand.refuse(DriverError::Stopping);
        }
        match demand {
            Demand::Blocks { blocks, reply } => self.make_blocks(blocks, reply),
            Demand::Snapshot { reply } => {
                let result = self.recover().and_then(|()| self.snapshot());
                answer(reply, result);
            }
            Demand::Revert { to, reply } => {
                let result = self.recover().and_then(|()| self.revert(to));
                answer(reply, result);
            }
        }
    }

    /// Makes the first part of so many blocks.
    fn make_blocks(&mut self, blocks: u64, reply: oneshot::Sender<Result<(), DriverError>>) {
        let part = blocks.min(DEMAND);
        match (self.step(Input::Demand { at: self.time(), blocks: part }), blocks.saturating_sub(part)) {
            (Err(error), _) => answer(reply, Err(error)),
            (Ok(_), 0) => answer(reply, Ok(())),
            (Ok(_), blocks) => self.demands.push_front(Demand::Blocks { blocks, reply }),
        }
    }

    /// The time of a block that is made now.
    fn time(&self) -> Timestamp {
        self.node.clock().of_next_block()
    }

    fn edit(&mut self, edit: Edit) -> Result<Edited, DriverError> {
        self.node.require_no_pause()?;
        self.recover()?;
        match self.advance(Input::Edit { at: self.time(), edit }) {
            Ok(_) => {
                let block = self.node.context().head();
                // Another nonce may be due. The edit is made, whatever becomes of that one.
                self.drain();
                Ok(Ok(block))
            }
            Err(EngineError::Edit(refused)) => Ok(Err(refused)),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Keeps the chain as it is.
    fn snapshot(&mut self) -> Result<u32, DriverError> {
        let point = self.producer.save().map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "the chain cannot be kept as it is");
            DriverError::Failed
        })?;
        Ok(self.snapshots.add(Kept { point, mode: self.node.mode(), moment: self.node.clock().moment() }))
    }

    /// Takes the chain back to how it was.
    fn revert(&mut self, to: u32) -> Result<Reverted, DriverError> {
        self.node.require_no_pause()?;
        let Kept { point, mode, moment } = match self.snapshots.get(to) {
            Ok(kept) => kept,
            Err(unknown) => return Ok(Err(unknown)),
        };
        let (mode, moment) = (*mode, *moment);
        let (block, price, price_before) = (point.block(), point.operator_price(), self.producer.operator_price());
        if let Err(error) = self.producer.revert(point) {
            let advice = if error.leaves_chain() {
                "nothing was changed"
            } else {
                self.snapshots.clear();
                self.retry.get_or_insert_with(|| Instant::now() + PAUSE_AFTER_FAILURE);
                self.node.shared.failing.store(true, Ordering::Relaxed);
                "the snapshots are forgotten; start the node again unless it goes on by itself"
            };
            tracing::error!(error = &error as &dyn std::error::Error, advice, "the chain could not be taken back");
            return Err(DriverError::Failed);
        }
        tracing::debug!(number = %block, "taken back");
        self.snapshots.forget_from(to);
        *self.node.shared.mode.write().unwrap_or_else(PoisonError::into_inner) = mode;
        self.next_tick = first_tick(mode);
        self.node.clock().go_back(moment);
        if price != price_before {
            self.keep_gas_price(price);
        }
        let reverts = self.node.context().reverts.after(block);
        self.node.publish_after(Arc::new(reverts));
        // The chain is back, whatever becomes of the block that is due.
        self.drain();
        Ok(Ok(()))
    }

    fn set_mode(&mut self, mode: BlockMode) {
        *self.node.shared.mode.write().unwrap_or_else(PoisonError::into_inner) = mode;
        self.next_tick = first_tick(mode);
        // Who comes after something that waits is told that the nonce is wrong only when that has its block.
        self.drain();
        self.producer.set_nonce_policy(mode.nonces(self.node.chain().config().policy.nonces));
        self.producer.set_numbering(mode.numbering());
        self.node.publish();
        // What came meanwhile.
        self.drain();
    }

    /// Lets what waits have its block where nobody would ask for one. A failure is in the log, and what waits is tried again
    /// with the next block.
    fn drain(&mut self) {
        if self.node.mode().is_instant() && self.node.chain().waiting() > 0 && !self.node.pause().lasts() {
            let _: Result<Fates, DriverError> = self.step(Input::Arrival(self.time()));
        }
    }

    fn set_minimum_gas_price(&mut self, price: GasPrice) -> Result<(), GasPriceError> {
        self.producer.set_minimum_gas_price(price)?;
        self.node.publish();
        self.keep_gas_price(Some(price));
        Ok(())
    }

    fn keep_gas_price(&self, price: Option<GasPrice>) {
        if let Some(Err(error)) = self.data_dir.as_ref().map(|data_dir| data_dir.keep_gas_price(price)) {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the price of gas is forgotten with the next stop"
            );
        }
    }

    /// Puts a transaction, and all that arrived since, into the pool and into blocks, and tells their senders.
    fn arrivals(&mut self, first: VerifiedTransaction, reply: oneshot::Sender<Result<Submitted, SubmitError>>) {
        let mut waiting = Vec::new();
        self.submit(first, reply, &mut waiting);
        loop {
            match self.queue.try_recv() {
                Ok(Event::Arrival { transaction, reply }) => self.submit(transaction, reply, &mut waiting),
                Ok(other) => {
                    self.held = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        // A block that could not be made leaves transactions behind, and whoever sends one again is told that it waits.
        if waiting.is_empty() && self.node.chain().waiting() == 0 {
            return;
        }
        let fates = self.step(Input::Arrival(self.time()));
        for Waiting { submitted, reply } in waiting {
            answer(
                reply,
                fates
                    .as_ref()
                    .map_err(|error| SubmitError::Driver(*error))
                    .and_then(|fates| self.fate(&submitted.hash, fates).map(|()| submitted)),
            );
        }
    }

    fn submit(
        &self,
        transaction: VerifiedTransaction,
        reply: oneshot::Sender<Result<Submitted, SubmitError>>,
        waiting: &mut Vec<Waiting>,
    ) {
        match self.node.chain().submit(transaction, self.node.clock().now()) {
            Ok(submitted) => waiting.push(Waiting { submitted, reply }),
            Err(error) => answer(reply, Err(error.into())),
        }
    }

    /// Whether a transaction got into a block. One that still waits in the pool, because the blocks that were just made
    /// had no room for it or because it was there already, counts as accepted.
    fn fate(&self, hash: &TxHash, fates: &Fates) -> Result<(), SubmitError> {
        match fates.0.get(hash) {
            Some(Ok(_)) => Ok(()),
            Some(Err(reason)) => Err(SubmitError::Dropped(*reason)),
            // Another transaction of the same group may have taken its nonce.
            None => match self.node.chain().snapshot().status(hash) {
                Ok(Some(TransactionStatus { status: TxStatus::Dropped(reason), .. })) => {
                    Err(SubmitError::Dropped(reason))
                }
                Ok(Some(_)) => Ok(()),
                // What nobody knows anything about must not be acknowledged.
                Ok(None) | Err(_) => Err(SubmitError::Driver(DriverError::Failed)),
            },
        }
    }

    /// Lets the engine take a step, and reports what became of transactions.
    fn step(&mut self, input: Input) -> Result<Fates, DriverError> {
        self.node.require_no_pause()?;
        self.recover()?;
        match self.advance(input) {
            Ok(effects) => Ok(Fates::of(&effects)),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Warns once if the latest block is ahead of the clock. A developer who sets the time sets the clock, so that this shows a
    /// change of the system's clock.
    fn compare_clock(&mut self) {
        let (latest, clock) = (self.node.context().snapshot.latest_tx_block().timestamp, self.node.clock().now());
        match self.lead.observe(latest, clock) {
            Some(LeadChange::Begun) => tracing::warn!(
                block_time = %latest,
                %clock,
                seconds_ahead = latest.get().saturating_sub(clock.get()) / 1_000_000,
                advice = "check the clock of the system; see \"The clock\" in docs/operations.md",
                "the latest block is ahead of the clock, block times stand still until the clock has passed it"
            ),
            Some(LeadChange::Ended) => {
                tracing::info!(block_time = %latest, %clock, "block times follow the clock again");
            }
            None => {}
        }
    }

    /// Lets the engine take a step and publishes what came of it.
    fn advance(&mut self, input: Input) -> Result<Vec<Effect>, EngineError> {
        let before = self.node.context().head();
        let result = self.engine.step(input, &mut self.producer);
        // Blocks that were committed before the engine failed are visible too.
        self.node.publish();
        let made = self.node.context().head() > before;
        if made {
            self.node.clock().block_made();
            self.compare_clock();
        }
        match &result {
            Ok(_) if made => self.set_failing(false),
            // What is dropped without a block shows nothing.
            Ok(_) => {}
            Err(EngineError::Edit(refused)) if refused.is_refusal() => {}
            Err(_) => self.set_failing(true),
        }
        if self.producer.holds_too_much() && self.snapshots.clear() {
            tracing::warn!("too much has changed since the snapshots, they are forgotten");
        }
        result
    }
}

fn failed(error: &EngineError) -> DriverError {
    tracing::error!(error = error as &dyn std::error::Error, "no block could be made");
    DriverError::Failed
}

/// What became of transactions: the block that holds them, or why they were dropped.
struct Fates(HashMap<TxHash, Result<BlockNumber, DropReason>>);

impl Fates {
    fn of(effects: &[Effect]) -> Self {
        let mut fates = HashMap::new();
        for effect in effects {
            let dropped = match effect {
                Effect::Committed(block) => {
                    let number = block.tx_block().header.number;
                    tracing::debug!(%number, transactions = block.transactions().len(), "block");
                    fates.extend(block.transactions().iter().map(|(tx, _)| (tx.hash(), Ok(number))));
                    block.dropped()
                }
                Effect::Passed(numbers) => {
                    tracing::debug!(first = %numbers.start(), last = %numbers.end(), "empty blocks");
                    continue;
                }
                Effect::Dropped(dropped) => dropped,
            };
            fates.extend(dropped.iter().map(|(tx, reason)| (tx.hash(), Err(*reason))));
        }
        Self(fates)
    }
}

/// Answers whoever asked, unless the client has gone.
fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    drop(reply.send(value));
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::{Pin, pin},
        sync::Mutex,
        task::{Context as TaskContext, Waker},
    };

    use silica_chain::{
        ChainConfig, Genesis, PUBLISHED_ACCOUNTS, PoolError,
        consensus::{Application, Solo, run_seal, seal_alone},
        open,
    };
    use silica_crypto::{KeyPair, SecretKey, sign};
    use silica_protocol::{Address, Gas, Nonce, Qa, Signature, Transaction, Version};
    use silica_state::{Store, StoreOptions};

    use super::*;
    use crate::{clock, data_dir::draw_key};

    /// An engine that fails so many times before it does its work.
    struct Fails {
        times: usize,
        engine: Solo,
    }

    impl Engine for Fails {
        fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
            match self.times.checked_sub(1) {
                Some(rest) => {
                    self.times = rest;
                    Err(EngineError::Demand { got: 1, most: 0 })
                }
                None => self.engine.step(input, application),
            }
        }
    }

    fn chain() -> (Chain, Producer, Solo) {
        chain_of(draw_key().unwrap())
    }

    fn chain_of(key: KeyPair) -> (Chain, Producer, Solo) {
        let store = Store::ephemeral(StoreOptions::default());
        store.seal_with(run_seal(&key));
        let (chain, producer) =
            open(store, ChainConfig::isolated(), &Genesis::default(), key.public(), clock::now()).unwrap();
        (chain, producer, Solo::new(key))
    }

    /// The first payment of the first published account.
    fn payment(chain: &Chain) -> VerifiedTransaction {
        chain.admit(signed(chain, 1), false).unwrap()
    }

    /// A payment of the first published account.
    fn signed(chain: &Chain, nonce: u64) -> Transaction {
        let key = KeyPair::from_secret(PUBLISHED_ACCOUNTS[0].secret_key().parse::<SecretKey>().unwrap());
        let mut transaction = Transaction {
            version: Version::of_chain(chain.config().chain_id),
            nonce: Nonce::new(nonce),
            to: Address::new([7; 20]),
            amount: Qa::new(1),
            gas_price: chain.snapshot().minimum_gas_price(),
            gas_limit: Gas::new(50),
            code: String::new(),
            data: String::new(),
            sender_key: key.public(),
            signature: Signature::ZERO,
        };
        transaction.signature = sign(&transaction.core_bytes(), &key).unwrap();
        transaction
    }

    #[tokio::test]
    async fn what_a_failure_left_behind_gets_its_block_when_it_is_sent_again() {
        let (chain, producer, engine) = chain();
        let payment = payment(&chain);
        let engine = Fails { times: 1, engine };
        let (node, driver) =
            start(chain.clone(), producer, engine, BlockMode::Instant, Clock::default(), None).unwrap();
        let failed = node.submit(payment.clone()).await.unwrap_err();
        assert!(matches!(failed, SubmitError::Driver(DriverError::Failed)), "{failed}");
        let again = node.submit(payment.clone()).await.unwrap_err();
        assert!(matches!(again, SubmitError::Submission(SubmissionError::Pool(PoolError::Known { .. }))), "{again}");
        drop(driver.stop().unwrap());
        assert!(chain.snapshot().transaction(&payment.hash()).unwrap().is_some());
    }

    #[tokio::test]
    async fn what_waits_gets_its_block_when_nothing_is_to_wait() {
        let (chain, producer, engine) = chain();
        let payment = payment(&chain);
        let clock = Clock::default();
        let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Manual, clock, None).unwrap();
        node.submit(payment.clone()).await.unwrap();
        node.set_mode(BlockMode::Interval(Duration::from_hours(1))).await.unwrap();
        assert_eq!((node.context().head().get(), chain.waiting()), (0, 1));
        node.set_mode(BlockMode::Instant).await.unwrap();
        assert_eq!((node.context().head().get(), chain.waiting()), (1, 0));
        drop(driver.stop().unwrap());
        assert!(chain.snapshot().transaction(&payment.hash()).unwrap().is_some());
    }

    /// An engine that has another transaction admitted before it makes a block for what waits.
    struct Admits {
        chain: Chain,
        engine: Solo,
    }

    impl Engine for Admits {
        fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
            self.chain.admit(signed(&self.chain, 2), false).expect("it comes after one that waits");
            self.engine.step(input, application)
        }
    }

    #[tokio::test]
    async fn what_comes_after_a_waiting_one_is_admitted_until_that_has_its_block() {
        let (chain, producer, engine) = chain();
        let (engine, clock) = (Admits { chain: chain.clone(), engine }, Clock::default());
        let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Manual, clock, None).unwrap();
        node.submit(payment(&chain)).await.unwrap();
        node.set_mode(BlockMode::Instant).await.unwrap();
        assert_eq!((node.context().head().get(), chain.waiting()), (1, 0));
        let early = chain.admit(signed(&chain, 3), false).unwrap_err();
        assert!(matches!(early, AdmissionError::NonceGap { .. }), "{early}");
        drop(driver.stop().unwrap());
    }

    /// Nobody sends anything again, and no other block is asked for.
    #[tokio::test]
    async fn what_a_failure_left_behind_gets_its_block_by_itself() {
        let (chain, producer, engine) = chain();
        let payment = payment(&chain);
        let engine = Fails { times: 2, engine };
        let (node, driver) =
            start(chain.clone(), producer, engine, BlockMode::Instant, Clock::default(), None).unwrap();
        node.submit(payment.clone()).await.unwrap_err();
        assert!(!node.makes_blocks());
        let mut heads = node.heads();
        heads.wait_for(|tip| tip.number.get() == 1).await.unwrap();
        node.set_mode(BlockMode::Instant).await.unwrap();
        assert!(node.makes_blocks());
        assert!(chain.snapshot().transaction(&payment.hash()).unwrap().is_some());
        drop(driver.stop().unwrap());
    }

    /// An engine that fails once, and then does nothing.
    struct FailsAndIdles(bool);

    impl Engine for FailsAndIdles {
        fn step(&mut self, _: Input, _: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
            if std::mem::replace(&mut self.0, true) {
                Ok(Vec::new())
            } else {
                Err(EngineError::Demand { got: 1, most: 0 })
            }
        }
    }

    #[tokio::test]
    async fn step_without_a_block_is_no_proof_that_blocks_are_made() {
        let (chain, producer, _) = chain();
        let (mode, payment) = (BlockMode::Instant, payment(&chain));
        let (node, driver) = start(chain, producer, FailsAndIdles(false), mode, Clock::default(), None).unwrap();
        node.submit(payment).await.unwrap_err();
        assert!(!node.makes_blocks());
        node.mine(1).await.unwrap();
        assert!(!node.makes_blocks());
        drop(driver.stop().unwrap());
    }

    #[tokio::test]
    async fn edit_that_is_refused_is_no_failure() {
        let (chain, producer, engine) = chain();
        let (node, driver) = start(chain, producer, engine, BlockMode::Manual, Clock::default(), None).unwrap();
        let edit = Edit::Nonce { address: Address::new([7; 20]), nonce: Nonce::new(u64::MAX) };
        assert!(node.edit(edit).await.unwrap().is_err());
        assert!(node.makes_blocks());
        drop(driver.stop().unwrap());
    }

    /// An engine that makes no block for what waits.
    struct FailsArrivals(Solo);

    impl Engine for FailsArrivals {
        fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
            if matches!(input, Input::Arrival(_)) {
                return Err(EngineError::Demand { got: 1, most: 0 });
            }
            self.0.step(input, application)
        }
    }

    /// Whoever is told that it failed does it again.
    #[tokio::test]
    async fn what_was_done_is_not_told_as_failed_since_a_block_for_others_fails() {
        let (chain, producer, engine) = chain();
        let (mode, engine) = (BlockMode::Manual, FailsArrivals(engine));
        let (node, driver) = start(chain.clone(), producer, engine, mode, Clock::default(), None).unwrap();
        node.submit(payment(&chain)).await.unwrap();
        assert_eq!(node.set_mode(BlockMode::Instant).await, Ok(()));
        assert_eq!(node.mode(), BlockMode::Instant);
        let edit = Edit::Fund { address: Address::new([7; 20]), amount: Qa::new(5) };
        assert_eq!(node.edit(edit).await.unwrap().unwrap(), BlockNumber::new(1));
        assert_eq!(chain.waiting(), 1);
        drop(driver.stop().unwrap());
    }

    /// An engine that fails when the block of an edit is written and not yet flushed.
    struct Leaves {
        key: KeyPair,
        engine: Solo,
    }

    impl Engine for Leaves {
        fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
            let Input::Edit { at, edit } = &input else { return self.engine.step(input, application) };
            let block = application.propose_edit(*at, edit)?;
            application.write(seal_alone(block, &self.key)?)?;
            Err(EngineError::Demand { got: 1, most: 0 })
        }
    }

    #[tokio::test]
    async fn snapshots_outlive_an_attempt_that_changed_nothing() {
        let key = draw_key().unwrap();
        let (chain, producer, engine) = chain_of(key.clone());
        let (mode, engine) = (BlockMode::Manual, Leaves { key, engine });
        let (node, driver) = start(chain.clone(), producer, engine, mode, Clock::default(), None).unwrap();
        let [first, second] = [node.snapshot().await.unwrap(), node.snapshot().await.unwrap()];
        let edit = Edit::Fund { address: Address::new([7; 20]), amount: Qa::new(5) };
        assert_eq!(node.edit(edit).await.unwrap_err(), DriverError::Failed);
        assert!(!node.makes_blocks());
        for id in [first, second, first] {
            assert_eq!(node.revert(id).await, Err(DriverError::Failed));
            assert!(!node.makes_blocks());
        }
        node.mine(1).await.unwrap();
        for id in [second, first] {
            assert_eq!(node.revert(id).await, Ok(Ok(())));
            assert_eq!(chain.snapshot().latest_tx_block().header.number.get(), 0);
        }
        drop(driver.stop().unwrap());
    }

    /// Polls a future once.
    fn is_pending(future: Pin<&mut impl Future>) -> bool {
        future.poll(&mut TaskContext::from_waker(Waker::noop())).is_pending()
    }

    /// Counts the blocks of each demand.
    struct Counts {
        demands: Arc<Mutex<Vec<u64>>>,
        engine: Solo,
    }

    impl Engine for Counts {
        fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
            if let Input::Demand { blocks, .. } = input {
                self.demands.lock().unwrap().push(blocks);
            }
            self.engine.step(input, application)
        }
    }

    #[tokio::test]
    async fn payment_does_not_wait_for_all_blocks_that_are_demanded() {
        let (chain, producer, engine) = chain();
        let payment = payment(&chain);
        let (node, driver) =
            start(chain.clone(), producer, engine, BlockMode::Instant, Clock::default(), None).unwrap();
        let mut many = pin!(node.mine(10_000_000));
        assert!(is_pending(many.as_mut()));
        let mut few = pin!(node.mine(3));
        assert!(is_pending(few.as_mut()));
        node.submit(payment.clone()).await.unwrap();
        assert!(is_pending(many.as_mut()) && is_pending(few.as_mut()));
        let price = GasPrice::new(Qa::new(3_000_000_000));
        node.set_minimum_gas_price(price).await.unwrap().unwrap();
        assert!(is_pending(many.as_mut()));
        drop(driver.stop().unwrap());
        assert_eq!((many.await, few.await), (Err(DriverError::Stopping), Err(DriverError::Stopping)));
        let snapshot = chain.snapshot();
        assert!(snapshot.transaction(&payment.hash()).unwrap().is_some());
        assert_eq!(snapshot.minimum_gas_price(), price);
        assert!(snapshot.latest_tx_block().header.number < BlockNumber::new(10_000_000));
    }

    #[tokio::test]
    async fn payment_does_not_wait_for_a_snapshot_behind_many_blocks() {
        let (chain, producer, engine) = chain();
        let payment = payment(&chain);
        let (node, driver) =
            start(chain.clone(), producer, engine, BlockMode::Instant, Clock::default(), None).unwrap();
        let first = node.snapshot().await.unwrap();
        let mut many = pin!(node.mine(10_000_000));
        let mut snapshot = pin!(node.snapshot());
        let mut revert = pin!(node.revert(first));
        assert!(is_pending(many.as_mut()) && is_pending(snapshot.as_mut()) && is_pending(revert.as_mut()));
        assert!(node.revert(first + 1).await.unwrap().is_err());
        node.submit(payment.clone()).await.unwrap();
        assert!(is_pending(many.as_mut()) && is_pending(snapshot.as_mut()) && is_pending(revert.as_mut()));
        drop(driver.stop().unwrap());
        assert_eq!(many.await, Err(DriverError::Stopping));
        assert_eq!(snapshot.await, Err(DriverError::Stopping));
        assert_eq!(revert.await, Err(DriverError::Stopping));
        assert!(chain.snapshot().transaction(&payment.hash()).unwrap().is_some());
    }

    #[tokio::test]
    async fn snapshots_wait_for_blocks_that_were_demanded_before() {
        let (chain, producer, engine) = chain();
        let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Manual, Clock::default(), None).unwrap();
        let head = || chain.snapshot().latest_tx_block().header.number.get();
        let (mined, id) = tokio::join!(node.mine(DEMAND + 1), node.snapshot());
        assert_eq!((mined, head()), (Ok(()), DEMAND + 1));
        let (mined, reverted) = tokio::join!(node.mine(2 * DEMAND), node.revert(id.unwrap()));
        assert_eq!((mined, reverted, head()), (Ok(()), Ok(Ok(())), DEMAND + 1));
        drop(driver.stop().unwrap());
    }

    #[tokio::test]
    async fn demands_are_met_whole_and_in_turn() {
        let (chain, producer, engine) = chain();
        let demands = Arc::new(Mutex::new(Vec::new()));
        let engine = Counts { demands: Arc::clone(&demands), engine };
        let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Manual, Clock::default(), None).unwrap();
        let (first, second, third) = tokio::join!(node.mine(2 * DEMAND + 1), node.mine(DEMAND), node.mine(2));
        assert_eq!((first, second, third), (Ok(()), Ok(()), Ok(())));
        drop(driver.stop().unwrap());
        assert_eq!(*demands.lock().unwrap(), [DEMAND, DEMAND, 1, DEMAND, 2]);
        assert_eq!(chain.snapshot().latest_tx_block().header.number.get(), 3 * DEMAND + 3);
    }

    #[tokio::test]
    async fn blocks_at_intervals_go_on_while_others_are_demanded() {
        let (chain, producer, engine) = chain();
        let demands = Arc::new(Mutex::new(Vec::new()));
        let engine = Counts { demands: Arc::clone(&demands), engine };
        let mode = BlockMode::Interval(Duration::from_millis(1));
        let (node, driver) = start(chain.clone(), producer, engine, mode, Clock::default(), None).unwrap();
        assert_eq!(node.mine(5 * DEMAND).await, Ok(()));
        drop(driver.stop().unwrap());
        assert_eq!(*demands.lock().unwrap(), [DEMAND; 5]);
        // Each part takes longer than the interval.
        assert!(chain.snapshot().latest_tx_block().header.number.get() >= 5 * DEMAND + 4);
    }

    #[tokio::test]
    async fn pause_outlasts_a_change_of_the_mode_and_what_waits_gets_its_block_after_it() {
        let (chain, producer, engine) = chain();
        let payment = payment(&chain);
        let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Manual, Clock::default(), None).unwrap();
        node.submit(payment.clone()).await.unwrap();
        assert_eq!(node.toggle_pause().await, Ok(true));
        assert_eq!(node.set_mode(BlockMode::Instant).await, Ok(()));
        assert_eq!(node.mine(100_000).await, Err(DriverError::Paused));
        let refused = node.submit(payment.clone()).await.unwrap_err();
        assert!(matches!(refused, SubmitError::Driver(DriverError::Paused)), "{refused}");
        assert_eq!(chain.snapshot().latest_tx_block().header.number.get(), 0);
        assert_eq!(node.toggle_pause().await, Ok(false));
        assert!(chain.snapshot().transaction(&payment.hash()).unwrap().is_some());
        drop(driver.stop().unwrap());
    }

    #[tokio::test]
    async fn files_of_the_chain_are_written_one_at_a_time_and_beside_questions() {
        let (chain, producer, engine) = chain();
        let (node, driver) = start(chain, producer, engine, BlockMode::Manual, Clock::default(), None).unwrap();
        let mut turns = Vec::new();
        for _ in 0..SLOW_QUESTIONS {
            turns.push(node.slow_turn().await);
        }
        let (go_on, waits) = mpsc::channel::<()>();
        let mut first = pin!(node.dump(move || waits.recv()));
        assert!(is_pending(first.as_mut()));
        let mut second = pin!(node.dump(|| 2));
        assert!(is_pending(second.as_mut()));
        assert_eq!(node.shared.dump.available_permits(), 0);
        go_on.send(()).unwrap();
        assert_eq!((first.await, second.await), (Some(Ok(())), Some(2)));
        drop((turns, driver.stop().unwrap()));
    }

    #[tokio::test]
    async fn demand_that_fails_is_told_and_ends_there() {
        let (chain, producer, engine) = chain();
        let (node, driver) =
            start(chain, producer, Fails { times: 1, engine }, BlockMode::Manual, Clock::default(), None).unwrap();
        assert_eq!(node.mine(100_000).await, Err(DriverError::Failed));
        assert_eq!(node.mine(2).await, Ok(()));
        drop(driver.stop().unwrap());
    }

    #[tokio::test]
    async fn what_waited_before_the_start_gets_its_block_in_instant_mode() {
        for (mode, executed) in [(BlockMode::Instant, true), (BlockMode::Manual, false)] {
            let (chain, producer, engine) = chain();
            let payment = payment(&chain);
            chain.submit(payment.clone(), clock::now()).unwrap();
            let (_, driver) = start(chain.clone(), producer, engine, mode, Clock::default(), None).unwrap();
            drop(driver.stop().unwrap());
            assert_eq!(chain.snapshot().transaction(&payment.hash()).unwrap().is_some(), executed, "{mode:?}");
        }
    }
}
