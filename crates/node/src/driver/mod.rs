//! The driver: the one loop that makes blocks. It takes an event, and passes it to the consensus engine. The engine
//! commits blocks through the producer of the chain, which publishes each head to all readers.
//!
//! ```text
//! requests ──▶ NodeHandle ──events──▶ Driver ──input──▶ Engine ──▶ Producer
//!    ▲             │                     ▲                │            │
//!    │             ▼                     └────effects─────┘            │
//!    └────────── Chain ◀──────────────publishes each head──────────────┘
//! ```
//!
//! The loop has a thread of its own, since making a block takes processor time and waits for the disk. All transactions
//! that arrive while it makes one block go into the next one together, so that they share its flush.
//!
//! Blocks on demand, snapshots and reverts are jobs, which run in order of arrival. The driver makes many blocks in
//! parts, and handles other events between two parts.

mod arrivals;
mod commands;
mod error;
mod event;
mod handle;
mod jobs;
mod pause;
mod recovery;
mod savepoints;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, TryRecvError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use silica_chain::{
    Chain, EngineError, Producer,
    consensus::{Effect, Engine, Input},
};
use silica_protocol::Timestamp;
use tokio::sync::oneshot;

use self::{
    arrivals::TransactionOutcomes, event::Event, jobs::Job, recovery::PAUSE_AFTER_FAILURE, savepoints::DevSavepoints,
};
pub(crate) use self::{
    error::{DriverError, ImpersonationError, SubmitError},
    handle::NodeHandle,
};
use crate::{
    block_mode::BlockMode,
    clock::{Clock, Lead, LeadChange},
    data_dir::DataDir,
};

/// A running driver.
#[derive(Debug)]
pub(crate) struct RunningDriver {
    node: NodeHandle,
    thread: JoinHandle<Producer>,
}

impl RunningDriver {
    /// Stops the driver after the event in progress, and returns the producer of the chain.
    pub(crate) fn stop(self) -> thread::Result<Producer> {
        self.node.shut_down();
        self.thread.join()
    }
}

/// Starts the driver of a chain. In modes with a block for each transaction, the nonce policy of the chain's
/// configuration applies. In the other modes transactions with later nonces wait in the pool.
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

/// Returns the time of the first block of a mode with an interval.
fn first_tick(mode: BlockMode) -> Option<Instant> {
    mode.interval().map(|interval| Instant::now() + interval)
}

struct Driver<E> {
    node: NodeHandle,
    producer: Producer,
    engine: E,
    /// Where the minimum gas price of the operator is stored; `None` in memory.
    data_dir: Option<Arc<DataDir>>,
    queue: Receiver<Event>,
    /// An event that was taken from the queue and is handled next.
    deferred: Option<Event>,
    /// The jobs, in order of arrival.
    jobs: VecDeque<Job>,
    /// The snapshots to which the chain can be reverted.
    savepoints: DevSavepoints,
    next_tick: Option<Instant>,
    /// The time of the next attempt to make blocks after a failure; `None` while none has failed.
    retry: Option<Instant>,
    /// The count of attempts since the failure.
    attempts: u64,
    /// Whether the latest block is ahead of the clock.
    lead: Lead,
}

impl<E: Engine> Driver<E> {
    fn run(mut self) -> Producer {
        self.compare_clock();
        // If the store was opened on a full disk, this plans the next attempt.
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
                Some(Event::Tick) => self.tick(),
                Some(Event::Retry) => self.retry(),
                Some(Event::Shutdown) => return self.producer,
                None => {}
            }
            self.run_next_job();
        }
    }

    /// Returns the next event; `None` if there are only jobs.
    fn next_event(&mut self) -> Option<Event> {
        if let Some(event) = self.deferred.take() {
            return Some(event);
        }
        // The earlier one comes first.
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

    /// Makes the block that is due, and plans the next one.
    fn tick(&mut self) {
        let result = self.step(Input::Tick(self.time()));
        if let (Some(tick), Some(interval)) = (self.next_tick, self.node.mode().interval()) {
            // If a block took longer than the interval, do not make up for it with a burst.
            let failed = matches!(result, Err(DriverError::Failed));
            let pause = if failed { PAUSE_AFTER_FAILURE } else { Duration::ZERO };
            self.next_tick = Some((tick + interval).max(Instant::now() + pause));
        }
    }

    /// Returns the time of a block that is made now.
    fn time(&self) -> Timestamp {
        self.node.clock().of_next_block()
    }

    /// Runs a step of the engine, and returns the outcomes of transactions.
    ///
    /// # Errors
    ///
    /// The node is paused, or the step failed. The log has the reason.
    fn step(&mut self, input: Input) -> Result<TransactionOutcomes, DriverError> {
        self.node.require_no_pause()?;
        self.recover()?;
        match self.advance(input) {
            Ok(effects) => Ok(TransactionOutcomes::of(&effects)),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Logs a warning if the latest block is ahead of the clock, once for each time that this begins. A method for
    /// developers that sets the time sets the clock too. So the warning shows a change of the system's clock.
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

    /// Runs a step of the engine, and wakes the followers of the chain if the step made a block.
    fn advance(&mut self, input: Input) -> Result<Vec<Effect>, EngineError> {
        let before = self.node.context().head();
        let result = self.engine.step(input, &mut self.producer);
        // Check this also if the engine failed: it may have committed blocks before.
        let made = self.node.context().head() > before;
        if made {
            self.node.announce_head();
            self.node.clock().block_made();
            self.compare_clock();
        }
        match &result {
            Ok(_) if made => self.set_failing(false),
            // A step without a block does not show that blocks can be made.
            Ok(_) => {}
            Err(EngineError::Edit(refused)) if refused.is_refusal() => {}
            Err(_) => self.set_failing(true),
        }
        if self.producer.holds_too_much() && self.savepoints.clear() {
            tracing::warn!("too much has changed since the snapshots, they are forgotten");
        }
        result
    }
}

/// Logs the error of a step.
fn failed(error: &EngineError) -> DriverError {
    tracing::error!(error = error as &dyn std::error::Error, "no block could be made");
    DriverError::Failed
}

/// Sends a reply, unless the client has gone.
fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    drop(reply.send(value));
}
