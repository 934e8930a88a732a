//! The state of the driver.

use std::{
    collections::VecDeque,
    sync::{Arc, mpsc::Receiver},
    time::Instant,
};

use silica_chain::Producer;
use silica_protocol::Timestamp;

use super::{
    event::{Event, Job},
    handle::NodeHandle,
    savepoints::DevSavepoints,
};
use crate::{block_mode::BlockMode, clock::Lead, data_dir::DataDir};

/// The state of the driver, which only its thread has.
pub(super) struct Driver<E> {
    pub(super) node: NodeHandle,
    pub(super) producer: Producer,
    pub(super) engine: E,
    /// The directory that stores the minimum gas price of the operator; `None` if the chain is in memory.
    pub(super) data_dir: Option<Arc<DataDir>>,
    pub(super) queue: Receiver<Event>,
    /// An event that the driver has taken from the queue and handles next.
    pub(super) deferred: Option<Event>,
    /// The queued jobs, in order of arrival.
    pub(super) jobs: VecDeque<Job>,
    /// The savepoints of developers, to which the chain can be reverted.
    pub(super) savepoints: DevSavepoints,
    /// The time of the next block of a mode with an interval; `None` in the other modes.
    pub(super) next_tick: Option<Instant>,
    /// The time of the next attempt to make blocks after a failure; `None` without a failure.
    pub(super) retry: Option<Instant>,
    /// The number of failed recoveries since the failure of the store.
    pub(super) attempts: u64,
    /// Whether the latest block is ahead of the clock.
    pub(super) lead: Lead,
}

impl<E> Driver<E> {
    /// Returns the current time for the timestamp of the next block.
    pub(super) fn time(&self) -> Timestamp {
        self.node.clock().of_next_block()
    }
}

/// Returns the time of the first block after a change to `mode`; `None` if the mode has no interval.
pub(super) fn first_tick(mode: BlockMode) -> Option<Instant> {
    mode.interval().map(|interval| Instant::now() + interval)
}
