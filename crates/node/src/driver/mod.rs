//! The driver: the loop that makes all blocks. The loop takes an event, and passes it to the consensus engine. The
//! engine commits blocks through the producer of the chain, which publishes each head to all readers.
//!
//! ```text
//! requests ──▶ NodeHandle ──events──▶ Driver ──input──▶ Engine ──▶ Producer
//!    ▲             │                     ▲                │            │
//!    │             ▼                     └────effects─────┘            │
//!    └────────── Chain ◀──────────────publishes each head──────────────┘
//! ```
//!
//! The loop has a separate thread, because block production takes processor time and waits for the disk. In an instant
//! mode, all transactions that arrive while the driver makes a block go into the next block together, and share one
//! flush.
//!
//! Blocks on demand, savepoints and reverts are jobs, which run in order of arrival. The driver divides a demand for
//! many blocks into parts, and handles other events between two parts.
//!
//! The files are in an order: a file imports only files that are before it in this order.
//!
//! 1. `error`, `pause`, `savepoints`
//! 2. `event`, `handle`
//! 3. `worker`: the state of the driver
//! 4. `recovery`, and `step`: one step of the engine
//! 5. `arrivals`, `commands`, `jobs`
//! 6. `mod.rs`: the loop

mod arrivals;
mod commands;
mod error;
mod event;
mod handle;
mod jobs;
mod pause;
mod recovery;
mod savepoints;
mod step;
#[cfg(test)]
mod tests;
mod worker;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError, TryRecvError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use silica_chain::{
    Chain, Producer,
    consensus::{Engine, Input},
};

#[cfg(feature = "network")]
pub(crate) use self::handle::MemberRelay;
pub(crate) use self::{
    error::{DriverError, ImpersonationError, SubmitError},
    handle::NodeHandle,
    savepoints::SavepointFacts,
};
use self::{
    event::{Event, Job, answer},
    recovery::PAUSE_AFTER_FAILURE,
    savepoints::DevSavepoints,
    worker::{Driver, first_tick},
};
use crate::{
    block_mode::BlockMode,
    clock::{Clock, Lead},
    data_dir::DataDir,
};

/// A running driver.
#[derive(Debug)]
pub(crate) struct RunningDriver {
    node: NodeHandle,
    thread: JoinHandle<Producer>,
}

impl RunningDriver {
    /// Stops the driver after the event in progress, and returns the producer of the chain. If the driver panicked,
    /// returns the panic as an error.
    pub(crate) fn stop(self) -> thread::Result<Producer> {
        self.node.shut_down();
        self.thread.join()
    }
}

/// Starts the driver of a chain. In an instant mode, the nonce policy of the chain's configuration applies. In the
/// other modes, the pool accepts transactions with a nonce gap.
///
/// # Errors
///
/// The error of the operating system if the thread cannot be started.
pub(crate) fn start(
    chain: Chain,
    mut producer: Producer,
    engine: impl Engine + Send + 'static,
    mode: BlockMode,
    clock: Clock,
    data_dir: Option<Arc<DataDir>>,
) -> std::io::Result<(NodeHandle, RunningDriver)> {
    let (events, queue) = mpsc::channel();
    // Set the policies before the first request reads the head.
    producer.set_nonce_policy(mode.nonces(chain.config().policy.nonces));
    producer.set_numbering(mode.numbering());
    let node = NodeHandle::new(chain, clock, mode, data_dir.clone(), events);
    node.publish_failing(producer.has_failed());
    let driver = Driver {
        node: node.clone(),
        producer,
        engine,
        data_dir,
        queue,
        deferred: None,
        jobs: VecDeque::new(),
        savepoints: DevSavepoints::default(),
        next_tick: first_tick(mode),
        retry: None,
        attempts: 0,
        lead: Lead::default(),
    };
    let thread = thread::Builder::new().name("driver".to_owned()).spawn(move || driver.run())?;
    Ok((node.clone(), RunningDriver { node, thread }))
}

impl<E: Engine> Driver<E> {
    /// Handles events until the shutdown, and returns the producer of the chain.
    fn run(mut self) -> Producer {
        self.compare_clock();
        // A store that was opened on a full disk has failed. If the recovery fails too, `recover` plans the next
        // attempt.
        let _: Result<(), DriverError> = self.recover();
        // The pool has the transactions that were pending when the node stopped.
        self.flush_pool();
        loop {
            match self.next_event() {
                Some(Event::Arrival { transaction, reply }) => self.arrivals(transaction, reply),
                Some(Event::ProduceBlocks { blocks, reply }) => self.jobs.push_back(Job::Blocks { blocks, reply }),
                Some(Event::TogglePause { reply }) => {
                    let paused = self.node.pause().toggle();
                    // Transactions may be pending since a change of the mode, and no other event makes their block.
                    self.flush_pool();
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
                Some(Event::Snapshot { reply }) => self.jobs.push_back(Job::Snapshot { reply }),
                Some(Event::ListSnapshots { reply }) => answer(reply, self.savepoints.list()),
                Some(Event::Revert { to, reply }) => match self.savepoints.get(to) {
                    Ok(_) => self.jobs.push_back(Job::Revert { to, reply }),
                    Err(unknown) => answer(reply, Ok(Err(unknown))),
                },
                Some(Event::SetNextTime { time, reply }) => {
                    let latest = self.node.context().snapshot.latest_tx_block().timestamp;
                    answer(reply, self.node.clock().set_next(time, latest));
                }
                Some(Event::FlushPool) => self.flush_pool(),
                Some(Event::SetMinimumGasPrice { price, reply }) => {
                    let result = self.set_minimum_gas_price(price);
                    answer(reply, result);
                }
                #[cfg(any(test, feature = "network"))]
                Some(Event::Run(work)) => self.run_work(work),
                Some(Event::Tick) => self.tick(),
                Some(Event::Retry) => self.retry(),
                Some(Event::Shutdown) => return self.producer,
                None => {}
            }
            self.run_next_job();
        }
    }

    /// Returns the next event. Returns `None` if there are jobs and no event is due.
    fn next_event(&mut self) -> Option<Event> {
        if let Some(event) = self.deferred.take() {
            return Some(event);
        }
        // If a tick and a retry are due, the earlier of them comes first.
        let timed = [self.next_tick.map(|at| (at, Event::Tick)), self.retry.map(|at| (at, Event::Retry))];
        let timed = timed.into_iter().flatten().min_by_key(|(at, _)| *at);
        if !self.jobs.is_empty() {
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

    /// Makes the block that is due at the interval, and sets the time of the next tick.
    fn tick(&mut self) {
        let result = self.step(Input::Tick(self.time()));
        if let (Some(tick), Some(interval)) = (self.next_tick, self.node.mode().interval()) {
            // After a block that took longer than the interval, skip the missed times instead of making a burst.
            let failed = matches!(result, Err(DriverError::Failed));
            let pause = if failed { PAUSE_AFTER_FAILURE } else { Duration::ZERO };
            self.next_tick = Some((tick + interval).max(Instant::now() + pause));
        }
    }

    /// Recovers the store, and makes blocks for pending transactions if the mode is instant.
    fn retry(&mut self) {
        self.retry = Some(Instant::now() + PAUSE_AFTER_FAILURE);
        if self.recover().is_ok() {
            self.flush_pool();
        }
    }
}
