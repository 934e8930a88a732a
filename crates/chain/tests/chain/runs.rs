//! Empty block ranges: readers get the same results as for separate empty blocks.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use proptest::{collection::vec, prelude::*};
use silica_chain::{
    BlockTransactionsError, ChainConfig, check,
    consensus::{Effect, Input, range_signer},
    open, rebuild,
};
use silica_protocol::{Address, BlockNumber, CoSignatures, DsBlockNumber, GasPrice, PublicKey, Qa, Timestamp, TxHash};
use silica_state::{ArchiveError, BlockSigner, Durability, OpenOutcome, Store, StoreOptions};

use crate::{
    harness::{BEGIN, Net, config, genesis, key, memory, node, node_key, payment, user},
    replay::check_replay,
};

fn options() -> StoreOptions {
    StoreOptions { durability: Durability::Relaxed, ..StoreOptions::default() }
}

fn on_disk(dir: &Path, config: ChainConfig) -> Net {
    Net::over(Store::open(dir, options()).unwrap(), config)
}

/// Makes empty blocks with one demand for each block. All demands have the same time.
fn one_by_one(net: &mut Net, blocks: u64) {
    let at = net.later();
    for _ in 0..blocks {
        net.step(Input::Demand { at, blocks: 1 });
    }
}

/// Returns whether the chain has an empty block range.
fn has_run(net: &Net) -> bool {
    (1..=net.height()).any(|number| net.test.producer().store().range_at(BlockNumber::new(number)).unwrap().is_some())
}

/// Compares the results of all queries to two chains.
pub(crate) fn check_same(runs: &Net, single: &Net) {
    let (ours, theirs) = (runs.snapshot(), single.snapshot());
    assert_eq!(ours.latest_tx_block(), theirs.latest_tx_block());
    assert_eq!(ours.latest_tx_block_hash(), theirs.latest_tx_block_hash());
    assert_eq!(ours.latest_ds_block(), theirs.latest_ds_block());
    assert_eq!(ours.statistics(), theirs.statistics());
    assert_eq!(ours.minimum_gas_price(), theirs.minimum_gas_price());
    assert_eq!(ours.recent_transactions(), theirs.recent_transactions());
    assert_eq!(runs.test.chain().waiting(), single.test.chain().waiting());
    assert_eq!(ours.coin_supply().unwrap(), theirs.coin_supply().unwrap());
    let (store, other) = (runs.test.producer().store().snapshot(), single.test.producer().store().snapshot());
    for number in (0..=runs.height() + 1).map(BlockNumber::new) {
        assert_eq!(store.record(number).unwrap(), other.record(number).unwrap(), "block {number}");
        assert_eq!(store.tx_block(number).unwrap(), other.tx_block(number).unwrap());
        assert_eq!(store.tx_header(number).unwrap(), other.tx_header(number).unwrap());
        assert_eq!(store.time_of(number).unwrap(), other.time_of(number).unwrap());
        assert_eq!(store.hash_of(number).unwrap(), other.hash_of(number).unwrap());
        assert_eq!(store.totals(number).unwrap(), other.totals(number).unwrap());
        let (state, expected) = (store.at(number), other.at(number));
        assert_eq!(state.is_ok(), expected.is_ok(), "state after block {number}");
        if let (Ok(state), Ok(expected)) = (state, expected) {
            assert_eq!((state.block(), state.root()), (expected.block(), expected.root()));
            for address in [Address::ZERO, node_key().address(), user(1)] {
                assert_eq!(state.account_proof(&address).unwrap(), expected.account_proof(&address).unwrap());
            }
        }
    }
    let ds_blocks = ours.latest_ds_block().header.number.get();
    for number in (0..=ds_blocks + 1).map(DsBlockNumber::new) {
        assert_eq!(store.ds_header(number).unwrap(), other.ds_header(number).unwrap(), "DS block {number}");
        assert_eq!(store.ds_block(number).unwrap(), other.ds_block(number).unwrap());
    }
    for page in 1..=runs.height() / 10 + 1 {
        assert_eq!(ours.tx_block_listing(page).unwrap(), theirs.tx_block_listing(page).unwrap());
    }
    for page in 1..=ds_blocks / 10 + 1 {
        assert_eq!(ours.ds_block_listing(page).unwrap(), theirs.ds_block_listing(page).unwrap());
    }
}

pub(crate) fn recheck(net: &Net) {
    let store = net.test.producer().store();
    store.check(&mut |_, _| {}).unwrap();
    let last = check(store, &memory(), net.test.chain().config().clone(), &genesis(), node(), &mut |_, _| {}).unwrap();
    assert_eq!(last.get(), net.height());
}

#[test]
fn run_makes_the_blocks_that_single_demands_make() {
    for (shards, length, blocks) in [(1, 2, 100), (3, 3, 60), (1, 100, 250), (2, 1_000, 140)] {
        let config = config(shards, length);
        let (mut runs, mut single) = (Net::new(config.clone()), Net::new(config));
        runs.pay(1, user(9), 5, 0);
        single.pay(1, user(9), 5, 0);
        assert!(matches!(runs.demand(blocks)[..], [.., Effect::Committed(_), Effect::Passed(_)]));
        one_by_one(&mut single, blocks);
        assert!(has_run(&runs) && !has_run(&single));
        check_same(&runs, &single);
        recheck(&runs);
        check_replay(&runs);
    }
}

#[test]
fn reward_that_the_reserve_cannot_pay_ends_in_runs_as_elsewhere() {
    let reserve = Net::new(config(1, 3)).balance(&Address::ZERO).unwrap();
    for (reward, left) in [(0, reserve), (reserve / 5, 0), (reserve / 5 + 1, 0)] {
        let config = ChainConfig { coinbase_reward: Qa::new(reward), ..config(1, 3) };
        let (mut runs, mut single) = (Net::new(config.clone()), Net::new(config));
        runs.demand(40);
        one_by_one(&mut single, 40);
        check_same(&runs, &single);
        assert_eq!(runs.balance(&Address::ZERO), Some(left));
        recheck(&runs);
    }
}

#[test]
fn price_that_the_operator_sets_is_in_the_ds_blocks_of_runs() {
    let (mut runs, mut single) = (Net::new(config(1, 4)), Net::new(config(1, 4)));
    runs.demand(30);
    one_by_one(&mut single, 30);
    for net in [&mut runs, &mut single] {
        net.test.producer_mut().set_minimum_gas_price(GasPrice::new(Qa::new(7_000_000_000))).unwrap();
    }
    runs.demand(30);
    one_by_one(&mut single, 30);
    check_same(&runs, &single);
    recheck(&runs);
}

#[test]
fn transactions_that_wait_come_first_and_those_with_a_gap_expire() {
    let (mut runs, mut single) = (Net::new(config(1, 3)), Net::new(config(1, 3)));
    let mut hashes: Vec<TxHash> = Vec::new();
    for net in [&mut runs, &mut single] {
        hashes = (0..3).map(|ahead| net.pay(1, user(9), 1, ahead)).collect();
        hashes.push(net.pay(2, user(9), 1, 4));
    }
    runs.demand(120);
    one_by_one(&mut single, 120);
    check_same(&runs, &single);
    for hash in &hashes {
        let known = |net: &Net| net.snapshot().status(hash).unwrap().map(|status| format!("{status:?}"));
        assert_eq!(known(&runs), known(&single));
    }
}

/// An operation of the property test.
#[derive(Clone, Debug)]
enum Op {
    Pay(u8, u64),
    Arrival,
    Tick,
    Demand(u64),
    Reopen,
    /// A crash: the chain is not closed.
    Crash,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (1..=4_u8, 0..3_u64).prop_map(|(from, ahead)| Op::Pay(from, ahead)),
        2 => Just(Op::Arrival),
        2 => Just(Op::Tick),
        4 => (1..60_u64).prop_map(Op::Demand),
        1 => Just(Op::Reopen),
        1 => Just(Op::Crash),
    ]
}

/// Executes an operation on a chain on disk. A stop loses the pool, with and without ranges.
fn apply(mut net: Net, dir: &Path, op: &Op, together: bool) -> Net {
    match op {
        Op::Pay(from, ahead) => {
            let nonce = net.nonce(&user(*from)) + 1 + ahead;
            drop(net.try_submit(payment(*from, nonce, user(9), 1, 2_000_000_000)));
        }
        Op::Arrival => drop(net.arrival()),
        Op::Tick => drop(net.tick()),
        Op::Demand(blocks) if together => drop(net.demand(*blocks)),
        Op::Demand(blocks) => one_by_one(&mut net, *blocks),
        Op::Reopen | Op::Crash => {
            let (now, config) = (net.now(), net.test.chain().config().clone());
            if matches!(op, Op::Reopen) {
                net.test.into_store().close().unwrap();
            } else {
                drop(net);
            }
            net = on_disk(dir, config);
            net.set_now(now);
        }
    }
    net
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn mixes_of_payments_runs_and_restarts_make_the_same_chain(
        ops in vec(op(), 1..12),
        shards in prop::sample::select(vec![1_u32, 3]),
        length in prop::sample::select(vec![2_u64, 3, 10, 100]),
    ) {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut runs = on_disk(dir.path(), config(shards, length));
        let mut single = on_disk(other.path(), config(shards, length));
        for op in &ops {
            runs = apply(runs, dir.path(), op, true);
            single = apply(single, other.path(), op, false);
            assert_eq!(runs.snapshot().latest_tx_block_hash(), single.snapshot().latest_tx_block_hash(), "{op:?}");
        }
        check_same(&runs, &single);
        recheck(&runs);
    }
}

#[test]
fn lost_state_is_made_again_from_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mut net = on_disk(dir.path(), config(1, 10));
    net.pay(1, user(9), 5, 0);
    net.demand(200);
    net.pay(1, user(9), 5, 0);
    net.demand(3);
    let (hash, height) = (net.snapshot().latest_tx_block_hash(), net.height());
    net.test.into_store().close().unwrap();
    Store::discard_state(dir.path()).unwrap();
    let store = Store::open(dir.path(), options()).unwrap();
    assert!(matches!(store.outcome(), OpenOutcome::NeedsReplay { .. }));
    store.set_signer(range_signer(&node_key()));
    let mut reported = Vec::new();
    rebuild(&store, config(1, 10), &genesis(), node(), &mut |number, _| reported.push(number.get())).unwrap();
    assert_eq!(reported.last(), Some(&height));
    let mut net = Net::over(store, config(1, 10));
    assert_eq!(net.snapshot().latest_tx_block_hash(), hash);
    assert_eq!(net.balance(&user(9)), Some(10));
    net.demand(40);
    recheck(&net);
    check_replay(&net);
}

#[test]
fn run_is_not_read_without_the_key_that_signs_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut net = on_disk(dir.path(), config(1, 10));
    net.demand(50);
    drop(net);
    for seal in [None, Some(range_signer(&key(1)))] {
        let store = Store::open(dir.path(), options()).unwrap();
        if let Some(seal) = seal {
            store.set_signer(seal);
        }
        let snapshot = store.snapshot();
        let number = BlockNumber::new(30);
        assert!(matches!(snapshot.tx_block(number), Err(ArchiveError::NoSeal { .. })));
        assert!(matches!(snapshot.micro_blocks_of(number), Err(ArchiveError::NoSeal { .. })));
        assert!(matches!(snapshot.ds_block(DsBlockNumber::new(3)), Err(ArchiveError::NoSeal { .. })));
        assert!(snapshot.tx_header(number).unwrap().is_some());
        assert!(snapshot.ds_header(DsBlockNumber::new(3)).unwrap().is_some());
        drop(snapshot);
        store.check(&mut |_, _| {}).unwrap();
        let opened = open(store, config(1, 10), &genesis(), node(), Timestamp::new(BEGIN));
        assert!(opened.is_err());
    }
    let net = on_disk(dir.path(), config(1, 10));
    check_replay(&net);
}

/// A signer that counts its signatures.
#[derive(Debug)]
struct Counting {
    seal: Arc<dyn BlockSigner>,
    signed: Arc<AtomicU64>,
}

impl BlockSigner for Counting {
    fn public_key(&self) -> PublicKey {
        self.seal.public_key()
    }

    fn seal(&self, header: &[u8]) -> Option<CoSignatures> {
        self.signed.fetch_add(1, Ordering::Relaxed);
        self.seal.seal(header)
    }
}

#[test]
fn empty_block_is_not_signed_to_say_that_it_is_empty() {
    let signed = Arc::new(AtomicU64::new(0));
    let store = Store::ephemeral(StoreOptions::default());
    store.set_signer(Arc::new(Counting { seal: range_signer(&node_key()), signed: Arc::clone(&signed) }));
    let mut net = Net::over(store, config(1, 10));
    net.demand(50);
    let (snapshot, before) = (net.snapshot(), signed.load(Ordering::Relaxed));
    let positions = snapshot.block_positions(BlockNumber::new(30), None);
    assert!(matches!(positions, Err(BlockTransactionsError::Empty)));
    assert_eq!(signed.load(Ordering::Relaxed), before);
    assert!(snapshot.tx_block(BlockNumber::new(30)).unwrap().is_some());
    assert!(signed.load(Ordering::Relaxed) > before);
}

#[test]
fn chain_of_other_parameters_does_not_pass_a_check() {
    let mut net = Net::new(config(1, 10));
    net.demand(100);
    for (config, member) in [(config(2, 10), node()), (config(1, 9), node()), (config(1, 10), key(1).public_key())] {
        let error = check(net.test.producer().store(), &memory(), config, &genesis(), member, &mut |_, _| {});
        assert!(error.is_err());
    }
}
