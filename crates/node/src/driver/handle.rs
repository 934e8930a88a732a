//! The handle of the node. Requests use it to read the chain and to send events to the driver.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
};

#[cfg(feature = "network")]
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
#[cfg(feature = "network")]
use silica_chain::TxStatus;
use silica_chain::{Chain, Edit, GasPriceError, SubmissionError, Submitted, VerifiedTransaction};
#[cfg(feature = "network")]
use silica_council::MAX_TRANSACTION;
#[cfg(feature = "network")]
use silica_protocol::Transaction;
use silica_protocol::{BlockHash, GasPrice, SimulationRequest, Timestamp};
use silica_state::ArchiveError;
use tokio::sync::{oneshot, watch};

#[cfg(any(test, feature = "network"))]
use super::event::Work;
use super::{
    error::{DriverError, ImpersonationError, SubmitError},
    event::{Edited, Event, Reverted},
    pause::Pause,
    savepoints::SavepointFacts,
};
#[cfg(feature = "network")]
use crate::{
    acknowledge::Acknowledge,
    relay::{self, Relay},
};
use crate::{
    block_hashes::{BlockHashes, HashLookup},
    block_mode::BlockMode,
    blocking::{BlockingError, BlockingPools},
    clock::{Clock, ClockError},
    data_dir::DataDir,
    head::Context,
    log_filter::FilterStore,
    settings::PublicSettings,
};

/// Longest time for which a client waits for the block of its transaction.
#[cfg(feature = "network")]
const WAIT_FOR_BLOCK: Duration = Duration::from_secs(30);

/// The relay of a member, and when the member acknowledges a transaction.
#[cfg(feature = "network")]
#[derive(Debug)]
pub(crate) struct MemberRelay {
    pub(crate) relay: Arc<Relay>,
    pub(crate) acknowledge: Acknowledge,
    /// Maximum number of faulty members with which the network makes blocks. With `--acknowledge relayed`, this number
    /// of other members must confirm a transaction before this member acknowledges it.
    pub(crate) faults: usize,
    /// Maximum age of the head. A member with an older head is not ready.
    pub(crate) stale: Duration,
}

/// The node for requests: the chain, from which a request reads the latest head, and the queue of the driver.
#[derive(Clone)]
pub(crate) struct NodeHandle {
    shared: Arc<Shared>,
}

struct Shared {
    chain: Chain,
    clock: Clock,
    mode: RwLock<BlockMode>,
    /// Wakes the followers of the chain. The channel does not carry the head: followers read the head from the chain,
    /// as all readers do.
    new_head: watch::Sender<()>,
    events: Sender<Event>,
    blocking: BlockingPools,
    /// The lock of unsigned transactions. Each call of [`NodeHandle::impersonate`] holds the lock from the choice of
    /// the nonce until the end of the submission.
    impersonated: tokio::sync::Mutex<()>,
    pause: Pause,
    settings: OnceLock<PublicSettings>,
    /// The data directory; `None` if the chain is in memory.
    data_dir: Option<Arc<DataDir>>,
    /// The index for searches by the hash of a block.
    block_hashes: Mutex<BlockHashes>,
    /// The filters that clients poll.
    filters: FilterStore,
    stopping: AtomicBool,
    /// Whether block production has failed. The next block, or a recovery of the store, resets the flag.
    failing: AtomicBool,
    /// The relay of this member, and its rule for acknowledgements; empty in a single node.
    #[cfg(feature = "network")]
    relay: OnceLock<MemberRelay>,
    /// Whether the log has the message that the files of the chain were deleted or replaced.
    reported_gone: AtomicBool,
}

impl fmt::Debug for NodeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeHandle").field("mode", &self.mode()).finish_non_exhaustive()
    }
}

impl NodeHandle {
    /// Returns the chain at its latest head.
    pub(crate) fn context(&self) -> Context {
        Context::new(&self.shared.chain)
    }

    /// Returns a receiver that is notified after each new head and after each revert. [`context`](Self::context)
    /// returns the head.
    pub(crate) fn new_heads(&self) -> watch::Receiver<()> {
        self.shared.new_head.subscribe()
    }

    /// Returns the chain.
    pub(crate) fn chain(&self) -> &Chain {
        &self.shared.chain
    }

    /// Returns the clock of the node.
    pub(crate) fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Returns the block mode.
    pub(crate) fn mode(&self) -> BlockMode {
        *self.shared.mode.read()
    }

    /// Submits a transaction without a signature, as [`submit`](Self::submit) does. Runs one such call at a time,
    /// because the nonce of a transaction follows the nonce of the previous transaction.
    pub(crate) async fn impersonate(&self, request: &SimulationRequest) -> Result<Submitted, ImpersonationError> {
        let _turn = self.shared.impersonated.lock().await;
        let transaction = self.chain().impersonate(request)?;
        Ok(self.submit(transaction).await?)
    }

    /// Submits a transaction. In an instant mode, returns after the blocks of the executable pending transactions are
    /// committed. A transaction with a nonce gap stays pending. In the other modes, returns when the transaction is in
    /// the pool. A member of a network then waits as its setting `acknowledge` states.
    pub(crate) async fn submit(&self, transaction: VerifiedTransaction) -> Result<Submitted, SubmitError> {
        self.require_no_pause()?;
        if self.mode().is_instant() {
            return self.ask(|reply| Event::Arrival { transaction, reply }).await?;
        }
        #[cfg(feature = "network")]
        if let Some(member) = self.shared.relay.get() {
            return self.submit_as_member(member, transaction).await;
        }
        let submitted = self.add_to_pool(transaction)?;
        // Read the mode after the pool has the transaction. The driver publishes an instant mode before it empties the
        // pool, so either the driver finds the transaction, or this thread finds the mode.
        if self.mode().is_instant() {
            self.shared.events.send(Event::FlushPool).map_err(|_| DriverError::Stopping)?;
        }
        Ok(submitted)
    }

    /// Submits a transaction as a member of a network: adds it to the pool, and sends it to the other members.
    #[cfg(feature = "network")]
    async fn submit_as_member(
        &self,
        member: &MemberRelay,
        transaction: VerifiedTransaction,
    ) -> Result<Submitted, SubmitError> {
        let sent = Transaction::clone(transaction.transaction());
        let got = sent.encode().len();
        if got > MAX_TRANSACTION {
            return Err(SubmitError::TooLarge { most: MAX_TRANSACTION, got });
        }
        let submitted = self.add_to_pool(transaction)?;
        let hash = submitted.hash;
        let others = if member.acknowledge == Acknowledge::Relayed { member.faults } else { 0 };
        member.relay.send(hash, sent, others).await;
        if member.acknowledge == Acknowledge::Block {
            let mut heads = self.new_heads();
            let outcome = async {
                loop {
                    match relay::outcome(self.chain(), &hash) {
                        Some(TxStatus::Dropped(reason)) => return Err(SubmitError::Dropped(reason)),
                        Some(_) => return Ok(()),
                        None => heads.changed().await.map_err(|_| DriverError::Stopping)?,
                    }
                }
            };
            // After this time, the client can query the status of the transaction.
            tokio::time::timeout(WAIT_FOR_BLOCK, outcome).await.unwrap_or(Ok(()))?;
        }
        Ok(submitted)
    }

    /// Makes this node a member of a network.
    #[cfg(feature = "network")]
    pub(crate) fn join(&self, member: MemberRelay) {
        self.shared.relay.get_or_init(|| member);
    }

    /// Returns the state of the agreement; `None` in a single node, and before the start of the agreement.
    #[cfg(feature = "network")]
    pub(crate) fn agreement_status(&self) -> Option<silica_network::Status> {
        Some(self.shared.relay.get()?.relay.agreement()?.status())
    }

    /// Returns whether a member of a network is ready, or the reason why not.
    #[cfg(feature = "network")]
    fn member_readiness(&self) -> Result<(), &'static str> {
        let Some(member) = self.shared.relay.get() else { return Ok(()) };
        if self.agreement_status().is_none_or(|status| !status.votes()) {
            return Err("this member does not vote");
        }
        let latest = self.shared.chain.snapshot().latest_tx_block().timestamp;
        let oldest =
            self.clock().now().get().saturating_sub(u64::try_from(member.stale.as_micros()).unwrap_or(u64::MAX));
        if latest.get() < oldest { Err("the network makes no blocks") } else { Ok(()) }
    }

    /// Adds a transaction to the pool. Every submission of a client calls this function: in an instant mode on
    /// the thread of the driver, in the other modes on the thread of the request.
    pub(super) fn add_to_pool(&self, transaction: VerifiedTransaction) -> Result<Submitted, SubmissionError> {
        self.shared.chain.submit(transaction, self.clock().now())
    }

    /// Changes the block mode. A change to an instant mode makes blocks for the pending transactions. The mode changes
    /// even if block production fails.
    pub(crate) async fn set_mode(&self, mode: BlockMode) -> Result<(), DriverError> {
        self.ask(|reply| Event::SetBlockMode { mode, reply }).await
    }

    /// Edits the state. Returns the number of the block of the edit after this block is committed.
    pub(crate) async fn edit(&self, edit: Edit) -> Result<Edited, DriverError> {
        self.ask(|reply| Event::Edit { edit, reply }).await?
    }

    /// Creates a savepoint, to which the chain can be reverted. Returns the number of the savepoint.
    pub(crate) async fn snapshot(&self) -> Result<u32, DriverError> {
        self.ask(|reply| Event::Snapshot { reply }).await?
    }

    /// Returns all savepoints in the order of their numbers.
    pub(crate) async fn savepoints(&self) -> Result<Vec<SavepointFacts>, DriverError> {
        self.ask(|reply| Event::ListSnapshots { reply }).await
    }

    /// Reverts the chain to a savepoint.
    pub(crate) async fn revert(&self, to: u32) -> Result<Reverted, DriverError> {
        self.ask(|reply| Event::Revert { to, reply }).await?
    }

    /// Sets the time of the next block.
    pub(crate) async fn set_next_time(&self, time: Timestamp) -> Result<Result<(), ClockError>, DriverError> {
        self.ask(|reply| Event::SetNextTime { time, reply }).await
    }

    /// Makes `blocks` blocks. Returns when they are committed.
    pub(crate) async fn mine(&self, blocks: u64) -> Result<(), DriverError> {
        self.ask(|reply| Event::ProduceBlocks { blocks, reply }).await?
    }

    /// Runs work with the producer on the thread of the driver, after all earlier events. A driver that has ended drops
    /// the work, and the agreement of a committee then stops.
    #[cfg(any(test, feature = "network"))]
    pub(crate) fn run(&self, work: Work) {
        drop(self.shared.events.send(Event::Run(work)));
    }

    /// Returns the pools of blocking threads.
    pub(crate) fn blocking(&self) -> &BlockingPools {
        &self.shared.blocking
    }

    /// Runs `work` with the chain in the pool for simulations.
    ///
    /// # Errors
    ///
    /// The pool is busy, or `work` panicked.
    pub(crate) async fn simulate<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Chain) -> T + Send + 'static,
    ) -> Result<T, BlockingError> {
        let chain = self.shared.chain.clone();
        self.shared.blocking.simulate(move || work(&chain)).await
    }

    /// Returns the data directory; `None` if the chain is in memory.
    pub(crate) fn data_dir(&self) -> Option<&DataDir> {
        self.shared.data_dir.as_deref()
    }

    /// Returns the state of the pause.
    pub(crate) fn pause(&self) -> &Pause {
        &self.shared.pause
    }

    /// Returns the settings of the start that clients can read. They have defaults until
    /// [`set_settings`](Self::set_settings).
    pub(crate) fn settings(&self) -> PublicSettings {
        self.shared.settings.get().copied().unwrap_or_default()
    }

    /// Sets the settings that clients can read. Only the first call has an effect.
    pub(crate) fn set_settings(&self, settings: PublicSettings) {
        self.shared.settings.get_or_init(|| settings);
    }

    /// Returns an error while the node is paused.
    pub(crate) fn require_no_pause(&self) -> Result<(), DriverError> {
        if self.shared.pause.lasts() { Err(DriverError::Paused) } else { Ok(()) }
    }

    /// Searches for the Tx block with a hash, and returns the result with the head for which the result is valid.
    /// Earlier searches have read a range of blocks. This search reads at most `most` blocks before the range, and at
    /// most `most` blocks after the range. For 100,000 blocks, the search blocks the thread for a few tenths of a
    /// second.
    pub(crate) fn find_block(&self, hash: &BlockHash, most: u64) -> Result<(Context, HashLookup), ArchiveError> {
        let mut hashes = self.shared.block_hashes.lock();
        // Take the head under the lock, so that no earlier search has read a later head.
        let at = self.context();
        let lookup = hashes.find(&at.snapshot, hash, most)?;
        Ok((at, lookup))
    }

    /// Returns the filters that clients poll.
    pub(crate) fn filters(&self) -> &FilterStore {
        &self.shared.filters
    }

    /// Begins or ends the pause, and returns whether the node is paused now. The driver changes the pause between two
    /// blocks, so no block production is in progress when a pause begins.
    pub(crate) async fn toggle_pause(&self) -> Result<bool, DriverError> {
        self.ask(|reply| Event::TogglePause { reply }).await
    }

    /// Sets the minimum gas price. The price applies when this function returns.
    pub(crate) async fn set_minimum_gas_price(
        &self,
        price: GasPrice,
    ) -> Result<Result<(), GasPriceError>, DriverError> {
        self.ask(|reply| Event::SetMinimumGasPrice { price, reply }).await
    }

    /// Returns `false` after block production has failed, until a block succeeds or the store has recovered.
    pub(crate) fn makes_blocks(&self) -> bool {
        !self.shared.failing.load(Ordering::Relaxed)
    }

    /// Returns whether the node is ready, or the reason why not: block production has failed, or the files of the chain
    /// were deleted or replaced. A member of a network is also not ready if it does not vote, or if its head is too
    /// old.
    pub(crate) fn readiness(&self) -> Result<(), &'static str> {
        let in_place = self.shared.chain.require_in_place();
        let reported = self.shared.reported_gone.swap(in_place.is_err(), Ordering::Relaxed);
        if let Err(error) = in_place {
            if !reported {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    advice = "stop the node, bring the data directory back, and start the node again",
                    "the data directory was deleted or replaced; the node makes no blocks until the directory is in its place again"
                );
            }
            return Err("the data directory was deleted or replaced");
        }
        #[cfg(feature = "network")]
        self.member_readiness()?;
        if self.makes_blocks() { Ok(()) } else { Err("no block can be made") }
    }

    /// Sends an event to the driver, and waits for the reply.
    ///
    /// # Errors
    ///
    /// [`DriverError::Stopping`]: the driver has ended.
    async fn ask<T>(&self, event: impl FnOnce(oneshot::Sender<T>) -> Event) -> Result<T, DriverError> {
        let (reply, answer) = oneshot::channel();
        self.shared.events.send(event(reply)).map_err(|_| DriverError::Stopping)?;
        answer.await.map_err(|_| DriverError::Stopping)
    }

    /// Returns the handle of a driver that receives `events`.
    pub(super) fn new(
        chain: Chain,
        clock: Clock,
        mode: BlockMode,
        data_dir: Option<Arc<DataDir>>,
        events: Sender<Event>,
    ) -> Self {
        let new_head = watch::Sender::new(());
        let heads = new_head.clone();
        chain.on_publish(move || heads.send_replace(()));
        let shared = Shared {
            chain,
            clock,
            mode: RwLock::new(mode),
            new_head,
            events,
            blocking: BlockingPools::default(),
            impersonated: tokio::sync::Mutex::default(),
            pause: Pause::default(),
            settings: OnceLock::new(),
            data_dir,
            block_hashes: Mutex::default(),
            filters: FilterStore::default(),
            stopping: AtomicBool::new(false),
            failing: AtomicBool::new(false),
            #[cfg(feature = "network")]
            relay: OnceLock::new(),
            reported_gone: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Changes the published block mode.
    pub(super) fn publish_mode(&self, mode: BlockMode) {
        *self.shared.mode.write() = mode;
    }

    /// Publishes whether block production has failed.
    pub(super) fn publish_failing(&self, failing: bool) {
        self.shared.failing.store(failing, Ordering::Relaxed);
    }

    /// Returns whether the node is stopping.
    pub(super) fn is_stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::Relaxed)
    }

    /// Stops the driver after the current event.
    pub(super) fn shut_down(&self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // The queue of a driver that has ended is closed. Then there is nothing to stop.
        drop(self.shared.events.send(Event::Shutdown));
    }

    /// Wakes the followers of the chain again. The driver calls this function after a revert, when the settings of the
    /// node are restored.
    pub(super) fn announce_head(&self) {
        self.shared.new_head.send_replace(());
    }
}
