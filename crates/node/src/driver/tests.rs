//! Tests of the driver: engines that fail, and the order of events and jobs.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::OnceLock,
    task::{Context as TaskContext, Waker},
};

use parking_lot::Mutex;
use silica_chain::{
    AdmissionError, ChainConfig, Edit, EngineError, Genesis, PUBLISHED_ACCOUNTS, PoolError, SubmissionError,
    VerifiedTransaction,
    consensus::{Application, Cause, Effect, Solo, range_signer, seal_alone},
    open,
};
use silica_crypto::KeyPair;
use silica_protocol::{Address, BlockNumber, GasPrice, Nonce, Qa, Transaction};
use silica_state::{Store, StoreOptions};

use tokio::sync::oneshot;

use super::{jobs::BLOCKS_AT_ONCE, *};
use crate::{blocking::QUERIES, clock, data_dir::draw_key};

/// An engine whose first `times` steps fail.
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
    store.set_signer(range_signer(&key));
    let (chain, producer) =
        open(store, ChainConfig::isolated(), &Genesis::default(), key.public_key(), clock::now()).unwrap();
    (chain, producer, Solo::new(key))
}

/// Returns the first payment of the first published account.
fn payment(chain: &Chain) -> VerifiedTransaction {
    chain.admit(signed(chain, 1), false).unwrap()
}

/// Returns a payment of the first published account with this nonce.
fn signed(chain: &Chain, nonce: u64) -> Transaction {
    let key = KeyPair::from_hex(PUBLISHED_ACCOUNTS[0].secret_key()).unwrap();
    let payment = Transaction::payment(Address::new([7; 20]), Qa::new(1)).chain_id(chain.config().chain_id);
    payment.nonce(nonce).gas_price(chain.snapshot().minimum_gas_price()).sign(&key).unwrap()
}

#[test]
fn first_head_has_the_numbering_of_the_mode() {
    let (chain, producer, engine) = chain();
    let mode = BlockMode::ManualImmediate;
    let (node, driver) = start(chain, producer, engine, mode, Clock::default(), None).unwrap();
    assert_eq!(node.context().snapshot.numbering(), mode.numbering());
    drop(driver.stop().unwrap());
}

#[tokio::test]
async fn transaction_of_a_failed_block_gets_a_block_after_a_second_request() {
    let (chain, producer, engine) = chain();
    let payment = payment(&chain);
    let engine = Fails { times: 1, engine };
    let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Instant, Clock::default(), None).unwrap();
    let failed = node.submit(payment.clone()).await.unwrap_err();
    assert!(matches!(failed, SubmitError::Driver(DriverError::Failed)), "{failed}");
    let again = node.submit(payment.clone()).await.unwrap_err();
    assert!(matches!(again, SubmitError::Submission(SubmissionError::Pool(PoolError::Known { .. }))), "{again}");
    drop(driver.stop().unwrap());
    assert!(chain.snapshot().transaction(&payment.hash()).unwrap().is_some());
}

#[tokio::test]
async fn pending_transaction_gets_its_block_in_instant_mode() {
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

/// An engine that admits another transaction before it makes a block for the pending transaction.
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
async fn next_nonce_is_admitted_until_the_pending_transaction_has_its_block() {
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

/// The test sends no transaction again, and requests no block.
#[tokio::test]
async fn transaction_of_a_failed_block_gets_a_block_without_a_request() {
    let (chain, producer, engine) = chain();
    let payment = payment(&chain);
    let engine = Fails { times: 2, engine };
    let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Instant, Clock::default(), None).unwrap();
    node.submit(payment.clone()).await.unwrap_err();
    assert!(!node.makes_blocks());
    let mut heads = node.new_heads();
    while node.context().head().get() < 1 {
        heads.changed().await.unwrap();
    }
    node.set_mode(BlockMode::Instant).await.unwrap();
    assert!(node.makes_blocks());
    assert!(chain.snapshot().transaction(&payment.hash()).unwrap().is_some());
    drop(driver.stop().unwrap());
}

/// An engine that fails once, and then does nothing.
struct FailsAndIdles(bool);

impl Engine for FailsAndIdles {
    fn step(&mut self, _: Input, _: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
        if std::mem::replace(&mut self.0, true) { Ok(Vec::new()) } else { Err(EngineError::Demand { got: 1, most: 0 }) }
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

/// An engine that records, after its work, the head in the handle of the node and the head of the chain.
struct ComparesHeads {
    node: Arc<OnceLock<NodeHandle>>,
    heads: Arc<Mutex<Vec<[u64; 2]>>>,
    engine: Solo,
}

impl Engine for ComparesHeads {
    fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
        let effects = self.engine.step(input, application);
        let node = self.node.get().expect("the test sets it before the first event");
        let of_chain = node.chain().snapshot().latest_tx_block().header.number;
        self.heads.lock().push([node.context().head(), of_chain].map(BlockNumber::get));
        effects
    }
}

#[tokio::test]
async fn node_and_chain_have_one_head_while_blocks_are_made() {
    let (chain, producer, engine) = chain();
    let (node_of_engine, heads) = (Arc::new(OnceLock::new()), Arc::new(Mutex::new(Vec::new())));
    let engine = ComparesHeads { node: Arc::clone(&node_of_engine), heads: Arc::clone(&heads), engine };
    let (node, driver) = start(chain, producer, engine, BlockMode::Manual, Clock::default(), None).unwrap();
    node_of_engine.set(node.clone()).unwrap();
    let empty = node.snapshot().await.unwrap();
    node.mine(1).await.unwrap();
    node.mine(BLOCKS_AT_ONCE).await.unwrap();
    node.revert(empty).await.unwrap().unwrap();
    node.mine(2).await.unwrap();
    drop(driver.stop().unwrap());
    assert_eq!(*heads.lock(), [[1, 1], [BLOCKS_AT_ONCE + 1; 2], [2, 2]]);
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

/// An engine whose steps for pending transactions fail.
struct FailsArrivals(Solo);

impl Engine for FailsArrivals {
    fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
        if matches!(input, Input::Arrival(_)) {
            return Err(EngineError::Demand { got: 1, most: 0 });
        }
        self.0.step(input, application)
    }
}

/// An error for the job would be wrong, because the client would repeat a job that has succeeded.
#[tokio::test]
async fn job_succeeds_although_a_later_block_fails() {
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

/// An engine that fails after it has written the block of an edit, and before it flushes the block.
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

/// Polls a future once, and returns whether it is still pending.
fn is_pending(future: Pin<&mut impl Future>) -> bool {
    future.poll(&mut TaskContext::from_waker(Waker::noop())).is_pending()
}

/// An engine that records the number of blocks of each demand.
struct Counts {
    demands: Arc<Mutex<Vec<u64>>>,
    engine: Solo,
}

impl Engine for Counts {
    fn step(&mut self, input: Input, application: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
        if let Input::Demand { blocks, .. } = input {
            self.demands.lock().push(blocks);
        }
        self.engine.step(input, application)
    }
}

#[tokio::test]
async fn payment_does_not_wait_for_all_blocks_that_are_demanded() {
    let (chain, producer, engine) = chain();
    let payment = payment(&chain);
    let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Instant, Clock::default(), None).unwrap();
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
    let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Instant, Clock::default(), None).unwrap();
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
    let (mined, id) = tokio::join!(node.mine(BLOCKS_AT_ONCE + 1), node.snapshot());
    assert_eq!((mined, head()), (Ok(()), BLOCKS_AT_ONCE + 1));
    let (mined, reverted) = tokio::join!(node.mine(2 * BLOCKS_AT_ONCE), node.revert(id.unwrap()));
    assert_eq!((mined, reverted, head()), (Ok(()), Ok(Ok(())), BLOCKS_AT_ONCE + 1));
    drop(driver.stop().unwrap());
}

#[tokio::test]
async fn demands_are_met_whole_and_in_turn() {
    let (chain, producer, engine) = chain();
    let demands = Arc::new(Mutex::new(Vec::new()));
    let engine = Counts { demands: Arc::clone(&demands), engine };
    let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Manual, Clock::default(), None).unwrap();
    let (first, second, third) =
        tokio::join!(node.mine(2 * BLOCKS_AT_ONCE + 1), node.mine(BLOCKS_AT_ONCE), node.mine(2));
    assert_eq!((first, second, third), (Ok(()), Ok(()), Ok(())));
    drop(driver.stop().unwrap());
    assert_eq!(*demands.lock(), [BLOCKS_AT_ONCE, BLOCKS_AT_ONCE, 1, BLOCKS_AT_ONCE, 2]);
    assert_eq!(chain.snapshot().latest_tx_block().header.number.get(), 3 * BLOCKS_AT_ONCE + 3);
}

#[tokio::test]
async fn interval_blocks_continue_during_blocks_on_demand() {
    let (chain, producer, engine) = chain();
    let demands = Arc::new(Mutex::new(Vec::new()));
    let engine = Counts { demands: Arc::clone(&demands), engine };
    let mode = BlockMode::Interval(Duration::from_millis(1));
    let (node, driver) = start(chain.clone(), producer, engine, mode, Clock::default(), None).unwrap();
    assert_eq!(node.mine(5 * BLOCKS_AT_ONCE).await, Ok(()));
    drop(driver.stop().unwrap());
    assert_eq!(*demands.lock(), [BLOCKS_AT_ONCE; 5]);
    // Each part takes longer than the interval.
    assert!(chain.snapshot().latest_tx_block().header.number.get() >= 5 * BLOCKS_AT_ONCE + 4);
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
    for _ in 0..QUERIES {
        turns.push(node.blocking().query_permit().await);
    }
    let (go_on, waits) = mpsc::channel::<()>();
    let mut first = pin!(node.blocking().dump(move || waits.recv()));
    assert!(is_pending(first.as_mut()));
    let mut second = pin!(node.blocking().dump(|| 2));
    assert!(is_pending(second.as_mut()));
    assert_eq!(node.blocking().free_dumps(), 0);
    go_on.send(()).unwrap();
    assert_eq!((first.await, second.await), (Some(Ok(())), Some(2)));
    drop((turns, driver.stop().unwrap()));
}

#[tokio::test]
async fn failed_request_for_blocks_returns_an_error() {
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

#[tokio::test]
async fn work_runs_after_earlier_events_and_its_blocks_wake_the_followers() {
    let key = draw_key().unwrap();
    let (chain, producer, engine) = chain_of(key.clone());
    let (node, driver) = start(chain.clone(), producer, engine, BlockMode::Manual, Clock::default(), None).unwrap();
    let mut heads = node.new_heads();
    assert_eq!(node.mine(1).await, Ok(()));
    heads.borrow_and_update();
    let (reply, answer) = oneshot::channel();
    node.run(Box::new(move |producer| {
        let block = producer.propose(clock::now(), Cause::Event).unwrap();
        let committed = producer.commit(seal_alone(block, &key).unwrap()).unwrap();
        reply.send(committed.tx_block().header.number).unwrap();
    }));
    assert_eq!(answer.await.unwrap().get(), 2);
    assert!(heads.has_changed().unwrap());
    assert_eq!(chain.snapshot().latest_tx_block().header.number.get(), 2);
    drop(driver.stop().unwrap());
    // A driver that has ended drops the work, so the caller gets an error.
    let (reply, answer) = oneshot::channel::<()>();
    node.run(Box::new(move |_| reply.send(()).unwrap()));
    assert!(answer.await.is_err());
}
