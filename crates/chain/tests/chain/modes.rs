//! The block modes: at arrival, at intervals, on request.

use std::{
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use silica_chain::{
    ChainConfig, CommittedBlock, Edit, EditError, ExecutedBlock, InvalidBlock, Proposal, SealedBlock,
    consensus::{
        Application, Cause, CommitError, Effect, Engine, Input, MAX_DEMAND, PassError, ProposeError, Solo, seal_alone,
    },
};
use silica_protocol::{BlockNumber, GasPrice, Qa, Timestamp, Transaction, TxBlock};

use crate::{
    blocks,
    harness::{Net, PRICE, committed, config, node_key, payment, user},
};

fn instant(blocks_per_ds_epoch: u64) -> Net {
    Net::new(ChainConfig { blocks_per_ds_epoch, ..ChainConfig::isolated() })
}

#[test]
fn an_arrival_makes_one_block_with_the_transaction() {
    let mut net = instant(100);
    let hash = net.pay(1, user(9), 5, 0);
    let effects = committed(&net.arrival());
    assert_eq!(effects.len(), 1);
    assert_eq!(effects[0].transactions()[0].0.hash(), hash);
    assert_eq!(net.height(), 1);
    assert_eq!(net.status(&hash), Some(3));
    assert_eq!(net.balance(&user(9)), Some(5));
}

#[test]
fn no_empty_block_is_made_without_cause() {
    let mut net = instant(3);
    assert!(net.arrival().is_empty());
    assert_eq!(net.height(), 0);
}

#[test]
fn a_due_vacuous_block_comes_before_the_block_of_the_transaction() {
    let mut net = instant(3);
    let mut landed = Vec::new();
    for _ in 0..6 {
        let hash = net.pay(1, user(9), 1, 0);
        for block in committed(&net.arrival()) {
            blocks::check(&net, &block);
        }
        landed.push(net.snapshot().transaction(&hash).unwrap().unwrap().block.get());
    }
    assert_eq!(landed, [1, 3, 4, 6, 7, 9], "blocks 2, 5 and 8 are vacuous");
}

#[test]
fn several_arrivals_share_a_block() {
    let mut net = instant(100);
    for from in 1..=5 {
        net.pay(from, user(9), 1, 0);
    }
    let blocks = committed(&net.arrival());
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0].transactions().len(), 5);
}

#[test]
fn each_published_block_of_a_step_calls_the_listener() {
    let mut config = ChainConfig::isolated();
    config.shard_gas_limit = silica_protocol::Gas::new(100);
    let mut net = Net::new(config);
    for from in 1..=5 {
        net.pay(from, user(9), 1, 0);
    }
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    net.test.chain().on_publish(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(committed(&net.arrival()).len(), 3);
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

#[test]
fn transactions_above_the_gas_limit_get_the_next_block_at_once() {
    let mut config = ChainConfig::isolated();
    config.shard_gas_limit = silica_protocol::Gas::new(100);
    let mut net = Net::new(config);
    for from in 1..=5 {
        net.pay(from, user(9), 1, 0);
    }
    let counts: Vec<_> = committed(&net.arrival()).iter().map(|block| block.transactions().len()).collect();
    assert_eq!(counts, [2, 2, 1]);
    assert_eq!(net.test.chain().waiting(), 0);
}

#[test]
fn transaction_below_a_raised_gas_price_is_dropped_without_a_block() {
    let mut net = instant(100);
    let high = net.submit(payment(1, 1, user(2), 5, PRICE + 1));
    net.test.producer_mut().set_minimum_gas_price(GasPrice::new(Qa::new(PRICE + 2))).unwrap();
    let height = net.height();
    let effects = net.arrival();
    let [Effect::Dropped(dropped)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((dropped[0].0.hash(), dropped[0].1.code()), (high, 22));
    assert_eq!(net.height(), height, "no block is made for it");
    assert_eq!(net.status(&high), Some(22));
    assert_eq!(net.nonce(&user(1)), 0, "the nonce is not used up");
}

/// A producer that gets another transaction during its first proposal.
struct LateArrival<'a> {
    net: &'a mut Net,
    late: Option<Transaction>,
}

impl LateArrival<'_> {
    fn arrive(&mut self) {
        if let Some(late) = self.late.take() {
            self.net.submit(late);
        }
    }
}

impl Application for LateArrival<'_> {
    fn head(&self) -> Arc<TxBlock> {
        self.net.test.producer().head()
    }

    fn propose(&mut self, at: Timestamp, cause: Cause) -> Result<ExecutedBlock, ProposeError> {
        let block = self.net.test.producer_mut().propose(at, cause)?;
        self.arrive();
        Ok(block)
    }

    fn propose_edit(&mut self, at: Timestamp, edit: &Edit) -> Result<ExecutedBlock, EditError> {
        self.net.test.producer_mut().propose_edit(at, edit)
    }

    fn verify(&mut self, proposal: &Proposal) -> Result<ExecutedBlock, InvalidBlock> {
        self.net.test.producer_mut().verify(proposal)
    }

    fn commit(&mut self, block: SealedBlock) -> Result<Arc<CommittedBlock>, CommitError> {
        self.net.test.producer_mut().commit(block)
    }

    fn write(&mut self, block: SealedBlock) -> Result<(), CommitError> {
        self.net.test.producer_mut().write(block)
    }

    fn flush(&mut self) -> Result<Vec<Arc<CommittedBlock>>, CommitError> {
        self.net.test.producer_mut().flush()
    }

    fn pass(&mut self, at: Timestamp, blocks: u64) -> Result<Option<RangeInclusive<BlockNumber>>, PassError> {
        self.net.test.producer_mut().pass(at, blocks)
    }

    fn has_candidates(&self) -> bool {
        self.net.test.producer().has_candidates()
    }
}

#[test]
fn transactions_after_a_proposal_of_drops_get_a_block() {
    let mut net = instant(100);
    let high = net.submit(payment(1, 1, user(2), 5, PRICE + 1));
    net.test.producer_mut().set_minimum_gas_price(GasPrice::new(Qa::new(PRICE + 2))).unwrap();
    let late = payment(3, 1, user(2), 5, PRICE + 2);
    let at = net.later();
    let mut solo = Solo::new(node_key());
    let mut application = LateArrival { net: &mut net, late: Some(late.clone()) };
    let effects = solo.step(Input::Arrival(at), &mut application).unwrap();
    let [Effect::Dropped(dropped), Effect::Committed(block)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(dropped[0].0.hash(), high);
    assert_eq!(**block.transactions()[0].0.transaction(), late);
    assert_eq!(net.test.chain().waiting(), 0);
}

#[test]
fn in_instant_mode_only_the_next_nonce_is_accepted() {
    let mut net = instant(100);
    let gap = net.try_submit(payment(1, 2, user(9), 1, PRICE)).unwrap_err();
    assert_eq!(gap, "Expected Nonce: 1");
    net.pay(1, user(9), 1, 0);
    net.arrival();
    let used = net.try_submit(payment(1, 1, user(9), 1, PRICE)).unwrap_err();
    assert_eq!(used, "Nonce (1) lower than current (1)");
}

#[test]
fn blocks_that_are_written_are_seen_once_they_are_flushed() {
    let mut net = instant(3);
    let before = net.snapshot();
    for _ in 0..5 {
        let at = net.later();
        let block = net.test.producer_mut().propose(at, Cause::Event).unwrap();
        net.test.producer_mut().write(seal_alone(block, &node_key()).unwrap()).unwrap();
        assert_eq!(net.snapshot().latest_tx_block_hash(), before.latest_tx_block_hash());
        assert_eq!(net.test.producer().store().snapshot().head().unwrap().number.get(), 0);
    }
    let flushed = net.test.producer_mut().flush().unwrap();
    let numbers: Vec<_> = flushed.iter().map(|block| block.tx_block().header.number.get()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5], "vacuous blocks and those with a DS block included");
    assert_eq!(net.snapshot().latest_tx_block_hash(), flushed[4].hash());
    for block in &flushed {
        blocks::check(&net, block);
    }
    assert!(net.test.producer_mut().flush().unwrap().is_empty());
}

/// A request makes the same blocks with separate flushes and with a common flush.
#[test]
fn demanded_blocks_are_those_that_ticks_make() {
    let (mut together, mut alone) = (Net::unsealed(crate::harness::memory(), config(1, 3)), Net::new(config(1, 3)));
    for net in [&mut together, &mut alone] {
        for ahead in 0..3 {
            net.pay(1, user(9), 1, ahead);
        }
    }
    let demanded = committed(&together.demand(150));
    let at = alone.later();
    let ticked: Vec<_> = (0..150).flat_map(|_| committed(&alone.step(Input::Tick(at)))).collect();
    assert_eq!(demanded.len(), 150);
    for (demanded, ticked) in demanded.iter().zip(&ticked) {
        assert_eq!(demanded.tx_block(), ticked.tx_block());
        assert_eq!(demanded.transactions(), ticked.transactions());
        blocks::check(&together, demanded);
    }
    assert_eq!(demanded[0].transactions().len(), 3);
    assert_eq!(together.test.chain().waiting(), 0);
}

#[test]
fn consecutive_nonces_of_one_sender_fit_in_one_block() {
    let mut net = Net::new(config(1, 100));
    for ahead in [2, 0, 3, 1] {
        net.pay(1, user(9), 1, ahead);
    }
    let block = net.tick();
    let nonces: Vec<_> = block.transactions().iter().map(|(tx, _)| tx.transaction().nonce.get()).collect();
    assert_eq!(nonces, [1, 2, 3, 4]);
}

#[test]
fn money_received_in_a_block_can_be_spent_in_it() {
    let mut net = Net::new(config(1, 100));
    let poor = 9;
    net.pay(1, user(poor), 2 * 50 * PRICE, 0);
    net.tick();
    // Admission reads the state before the block, and execution the running state.
    net.submit(payment(1, 2, user(poor), 1_000_000, PRICE + 5));
    net.submit(payment(poor, 1, user(2), 50 * PRICE, PRICE));
    let block = net.tick();
    assert_eq!(block.transactions().len(), 2);
    assert_eq!(net.balance(&user(poor)), Some(1_000_000));
}

#[test]
fn a_tick_makes_a_block_also_when_there_is_nothing() {
    let mut net = Net::new(config(1, 100));
    let block = net.tick();
    assert!(block.transactions().is_empty());
    assert_eq!(net.height(), 1);
}

#[test]
fn timestamps_never_stand_still() {
    let mut net = Net::new(config(1, 100));
    let at = net.later();
    for _ in 0..3 {
        net.step(Input::Tick(at));
    }
    net.step(Input::Tick(Timestamp::new(5)));
    let times: Vec<_> = (1..=4)
        .map(|number| net.snapshot().tx_block(BlockNumber::new(number)).unwrap().unwrap().timestamp)
        .map(|time| time.get() - at.get())
        .collect();
    assert_eq!(times, [0, 1, 2, 3]);
}

#[test]
fn blocks_on_demand_are_real_and_take_what_waits() {
    let mut net = Net::new(config(2, 5));
    net.pay(1, user(9), 1, 0);
    let blocks = committed(&net.demand(13));
    assert_eq!(blocks.len(), 13);
    assert_eq!(net.height(), 13);
    assert_eq!(blocks.iter().map(|block| block.transactions().len()).sum::<usize>(), 1);
    assert_eq!(net.snapshot().latest_ds_block().header.number.get(), 3);
    assert!(net.demand(0).is_empty());
}

#[test]
fn too_many_blocks_on_demand_are_refused() {
    let mut net = Net::new(config(1, 5));
    let at = net.later();
    let input = Input::Demand { at, blocks: MAX_DEMAND + 1 };
    let error = net.test.step(input).unwrap_err();
    assert_eq!(error.to_string(), "requested blocks: expected at most 10000000, got 10000001");
    assert_eq!(net.height(), 0);
}

#[test]
fn solo_engine_ignores_messages() {
    let mut net = Net::new(config(1, 5));
    assert!(net.step(Input::Message(vec![1, 2, 3])).is_empty());
    assert_eq!(net.height(), 0);
}

#[test]
fn statuses_follow_a_transaction() {
    let mut net = Net::new(config(1, 100));
    let ahead = net.pay(1, user(9), 1, 1);
    assert_eq!(net.status(&ahead), Some(1));
    net.tick();
    assert_eq!(net.status(&ahead), Some(4));
    let due = net.pay(1, user(9), 1, 0);
    let block = net.tick();
    assert_eq!(block.transactions().len(), 2);
    assert_eq!((net.status(&due), net.status(&ahead)), (Some(3), Some(3)));
    let status = net.snapshot().status(&ahead).unwrap().unwrap();
    assert!(status.success);
    assert_eq!((status.inserted.get(), status.updated.get()), (2, 2));
    assert_eq!(status.modified, block.tx_block().timestamp);
    assert_eq!(status.sender, user(1));
    assert_eq!(net.status(&silica_protocol::TxHash::ZERO), None);
}

#[test]
fn a_replaced_transaction_is_dropped_and_its_rival_executed() {
    let mut net = Net::new(config(1, 100));
    let low = net.submit(payment(1, 1, user(9), 1, PRICE));
    let high = net.submit(payment(1, 1, user(9), 2, PRICE + 1));
    assert_eq!(net.try_submit(payment(1, 1, user(9), 3, PRICE)).unwrap_err(), "Error Code: 24");
    net.tick();
    assert_eq!((net.status(&low), net.status(&high)), (Some(24), Some(3)));
    assert_eq!(net.balance(&user(9)), Some(2));
}

#[test]
fn a_transaction_may_outlive_a_ds_epoch_and_expires_after_three() {
    let mut net = Net::new(config(1, 5));
    let ahead = net.pay(1, user(9), 1, 1);
    for _ in 1..=15 {
        net.tick();
    }
    assert_eq!(net.status(&ahead), Some(4));
    net.tick();
    assert_eq!(net.status(&ahead), Some(255), "accepted in epoch 1, three times five blocks ago");
}

#[test]
fn duplicates_are_refused_while_they_wait_and_after() {
    let mut net = Net::new(config(1, 100));
    let transaction: Transaction = payment(1, 1, user(9), 1, PRICE);
    net.submit(transaction.clone());
    let text = "Txn could not be added as database exceeded limit or the txn was already present";
    assert_eq!(net.try_submit(transaction.clone()).unwrap_err(), text);
    net.tick();
    assert_eq!(net.try_submit(transaction).unwrap_err(), "Nonce (1) lower than current (1)");
}

#[test]
fn confirmed_transaction_stays_confirmed_after_a_second_request() {
    let mut net = Net::new(config(1, 100));
    let verified = net.test.chain().admit(payment(1, 1, user(9), 1, PRICE), false).unwrap();
    let at = net.later();
    net.test.chain().submit(verified.clone(), at).unwrap();
    net.tick();
    // A second request passes admission before the block, and reaches the pool after it.
    net.test.chain().submit(verified.clone(), at).unwrap();
    assert_eq!(net.status(&verified.hash()), Some(3));
    assert!(net.tick().transactions().is_empty());
    assert_eq!(net.status(&verified.hash()), Some(3));
}
