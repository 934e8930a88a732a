//! Reverts: a reverted chain continues exactly as a chain without the reverted blocks.

use std::path::Path;

use proptest::{collection::vec, prelude::*};
use serde_json::json;
use silica_chain::{Edit, RevertError, TestSnapshot, config::Numbering, consensus::Input};
use silica_protocol::{Address, Gas, GasPrice, Qa, TxHash, UnsignedTransaction};
use silica_state::{Durability, Store, StoreOptions};

use crate::{
    contracts::HELLO,
    harness::{Net, PRICE, config, memory, payment, signed, user},
    replay::check_replay,
    runs::{check_same, recheck},
};

/// Returns options with a short state history and frequent checkpoints.
fn options() -> StoreOptions {
    StoreOptions { history: 4, checkpoint_blocks: 6, durability: Durability::Relaxed, ..StoreOptions::default() }
}

fn on_disk(dir: &Path) -> Net {
    Net::over(Store::open(dir, options()).unwrap(), config(2, 5))
}

/// An operation of the property test on a chain.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Pay(u8, u64),
    Deploy(u8),
    Greet(u8),
    Fund(u128),
    Tick,
    Demand(u64),
    Price(u128),
    Numbering(Numbering),
    Withdraw,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1..=4_u8, 0..3_u64).prop_map(|(from, ahead)| Op::Pay(from, ahead)),
        2 => (1..=2_u8).prop_map(Op::Deploy),
        2 => (1..=2_u8).prop_map(Op::Greet),
        2 => (1..1_000_u128).prop_map(Op::Fund),
        5 => Just(Op::Tick),
        2 => (1..40_u64).prop_map(Op::Demand),
        1 => (1..3_u128).prop_map(Op::Price),
        1 => prop_oneof![Just(Numbering::OnDemand), Just(Numbering::EveryBlock)].prop_map(Op::Numbering),
        1 => Just(Op::Withdraw),
    ]
}

/// A step of the property test: an operation, a savepoint or a revert.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Do(Op),
    Save,
    Revert(usize),
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => op().prop_map(Step::Do),
        2 => Just(Step::Save),
        2 => any::<usize>().prop_map(Step::Revert),
    ]
}

fn deployment(net: &Net, from: u8) -> UnsignedTransaction {
    let data = json!([
        {"vname": "_scilla_version", "type": "Uint32", "value": "0"},
        {"vname": "owner", "type": "ByStr20", "value": format!("0x{}", user(from))},
    ]);
    let transaction = payment(from, net.nonce(&user(from)) + 1, Address::ZERO, 0, PRICE);
    // The code depends on the height. So the same address can have another contract after a revert.
    let code = format!("(* {} *)\n{HELLO}", net.height());
    UnsignedTransaction { code, data: data.to_string(), gas_limit: Gas::new(20_000), ..transaction.into_unsigned() }
}

fn greeting(net: &Net, from: u8) -> UnsignedTransaction {
    let data = json!({"_tag": "setHello", "params": [
        {"vname": "msg", "type": "String", "value": format!("at {}", net.height())}
    ]});
    let contracts = net.snapshot().contracts_of(&user(from)).unwrap();
    let to = contracts.last().copied().unwrap_or(user(9));
    let transaction = payment(from, net.nonce(&user(from)) + 1, to, 0, PRICE);
    UnsignedTransaction { data: data.to_string(), gas_limit: Gas::new(20_000), ..transaction.into_unsigned() }
}

/// Executes an operation at a time that depends on the earlier operations. Returns the hash of the sent transaction.
pub(crate) fn apply(net: &mut Net, op: &Op) -> Option<TxHash> {
    let send = |net: &mut Net, from, transaction| net.try_submit(signed(from, transaction)).ok();
    match op {
        Op::Pay(from, ahead) => {
            let nonce = net.nonce(&user(*from)) + 1 + ahead;
            let transaction = payment(*from, nonce, user(9), 1, PRICE + u128::from(*ahead));
            send(net, *from, transaction.into_unsigned())
        }
        Op::Deploy(from) => {
            let transaction = deployment(net, *from);
            send(net, *from, transaction)
        }
        Op::Greet(from) => {
            let transaction = greeting(net, *from);
            send(net, *from, transaction)
        }
        Op::Fund(amount) => {
            let edit = Edit::Fund { address: user(20), amount: Qa::new(*amount) };
            let at = net.later();
            net.step(Input::Edit { at, edit });
            None
        }
        Op::Tick => {
            net.tick();
            None
        }
        Op::Demand(blocks) => {
            net.demand(*blocks);
            None
        }
        Op::Price(times) => {
            net.test.producer_mut().set_minimum_gas_price(GasPrice::new(Qa::new(times * PRICE))).unwrap();
            None
        }
        Op::Numbering(numbering) => {
            net.test.producer_mut().set_numbering(*numbering);
            None
        }
        Op::Withdraw => {
            net.test.chain().withdraw_all(net.now());
            None
        }
    }
}

/// A savepoint, with the number of operations before it, and the time of the test.
struct Saved {
    point: TestSnapshot,
    done: usize,
}

/// Executes the steps. Returns the operations that no revert removed, and the hashes of all sent transactions.
fn go(net: &mut Net, steps: &[Step]) -> (Vec<Op>, Vec<TxHash>) {
    let (mut done, mut sent, mut saved) = (Vec::<Op>::new(), Vec::new(), Vec::<Saved>::new());
    for step in steps {
        match step {
            Step::Do(op) => {
                sent.extend(apply(net, op));
                done.push(op.clone());
            }
            Step::Save => {
                saved.push(Saved { point: net.test.snapshot().unwrap(), done: done.len() });
            }
            Step::Revert(which) => {
                let Some(which) = which.checked_rem(saved.len()) else { continue };
                let to = saved.drain(which..).next().unwrap();
                net.test.revert(&to.point).unwrap();
                done.truncate(to.done);
            }
        }
    }
    (done, sent)
}

/// Compares two chains: the given transactions and their statuses, the contracts, and the pools.
fn check_known(net: &Net, fresh: &Net, sent: &[TxHash]) {
    let (ours, theirs) = (net.snapshot(), fresh.snapshot());
    for hash in sent {
        let status = |net: &Net| net.snapshot().status(hash).unwrap().map(|status| format!("{status:?}"));
        assert_eq!(status(net), status(fresh), "{hash}");
        let found = ours.transaction(hash).unwrap().map(|found| (found.block, found.transaction, found.receipt));
        let expected = theirs.transaction(hash).unwrap().map(|found| (found.block, found.transaction, found.receipt));
        assert_eq!(found, expected);
    }
    for from in 1..=2 {
        let contracts = ours.contracts_of(&user(from)).unwrap();
        assert_eq!(contracts, theirs.contracts_of(&user(from)).unwrap());
    }
    assert_eq!(net.test.chain().export_pool(), fresh.test.chain().export_pool());
}

/// Executes all steps on one chain. On a second chain, executes only the operations that no revert removed. Compares
/// the two chains, and compares them again after more blocks.
fn check_steps(mut net: Net, steps: &[Step]) -> Net {
    let (done, sent) = go(&mut net, steps);
    let mut fresh = Net::over(Store::ephemeral(options()), config(2, 5));
    for op in &done {
        apply(&mut fresh, op);
    }
    for _ in 0..3 {
        check_same(&net, &fresh);
        check_known(&net, &fresh, &sent);
        for op in [Op::Pay(1, 0), Op::Deploy(2), Op::Tick, Op::Greet(2), Op::Tick, Op::Demand(3)] {
            assert_eq!(apply(&mut net, &op), apply(&mut fresh, &op));
        }
    }
    check_same(&net, &fresh);
    recheck(&net);
    net
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn chain_that_was_taken_back_is_one_that_never_went_there(steps in vec(step(), 1..40)) {
        check_steps(Net::over(Store::ephemeral(options()), config(2, 5)), &steps);
    }

    #[test]
    fn so_it_is_on_disk(steps in vec(step(), 1..25)) {
        let dir = tempfile::tempdir().unwrap();
        let net = check_steps(on_disk(dir.path()), &steps);
        let (hash, height) = (net.snapshot().latest_tx_block_hash(), net.height());
        drop(net);
        let net = on_disk(dir.path());
        assert_eq!((net.snapshot().latest_tx_block_hash(), net.height()), (hash, height));
        recheck(&net);
    }
}

#[test]
fn point_of_another_line_is_refused_and_changes_nothing() {
    let mut net = Net::over(memory(), config(1, 5));
    net.tick();
    let first = net.test.producer().save().unwrap();
    net.pay(1, user(9), 5, 0);
    net.tick();
    let second = net.test.producer().save().unwrap();
    net.test.producer_mut().revert(&first).unwrap();
    net.pay(1, user(9), 6, 0);
    net.tick();
    let hash = net.snapshot().latest_tx_block_hash();
    let refused = net.test.producer_mut().revert(&second).unwrap_err();
    assert!(matches!(refused, RevertError::Store(silica_state::RevertError::NotThere { .. })), "{refused:?}");
    assert_eq!(net.snapshot().latest_tx_block_hash(), hash);
    assert_eq!(net.balance(&user(9)), Some(6));
    net.tick();
    check_replay(&net);
}

#[test]
fn snapshot_of_a_reader_does_not_mix_two_lines() {
    let mut net = Net::over(memory(), config(1, 50));
    let begin = net.test.producer().save().unwrap();
    let hashes: Vec<TxHash> = (0..30)
        .map(|_| {
            let hash = net.pay(1, user(9), 5, 0);
            net.tick();
            hash
        })
        .collect();
    let before = net.snapshot();
    net.test.producer_mut().revert(&begin).unwrap();
    for _ in 0..30 {
        net.pay(2, user(9), 7, 0);
        net.tick();
    }
    for hash in &hashes {
        match before.transaction(hash) {
            Ok(found) => assert_eq!(found.map(|found| found.transaction.hash()), Some(*hash)),
            Err(error) => assert!(!error.is_damage(), "{error}"),
        }
        assert!(net.snapshot().transaction(hash).unwrap().is_none());
    }
    assert_eq!(before.account(&user(9)).unwrap().map(|account| account.balance.get()), Some(150));
    recheck(&net);
}
