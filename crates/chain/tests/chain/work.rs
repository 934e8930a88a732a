//! The limits of work: what takes long for its gas fails as if out of gas, and a block has room for so much.

use serde_json::json;
use silica_protocol::{Address, Gas, GasPrice, Qa, Receipt, Transaction};
use silica_scilla::{
    rules::Rules,
    work::{EVALUATION_PER_GAS, PER_BLOCK},
};

use crate::{
    contracts::{World, errors, init},
    harness::{Net, config, payment, signed, user},
    replay::check_replay,
};

/// Hashes a text of a number of bytes as often as it is asked.
const HASHES: &str = "scilla_version 0
library Hashes
contract Hashes ()
transition Hash (text : String, times : Uint32)
  count = builtin to_nat times;
  zero = Uint32 0;
  step = fun (sum : Uint32) => fun (left : Nat) => let hash = builtin keccak256hash text in sum;
  fold = @nat_fold Uint32;
  last = fold step zero count
end
";

const LIMIT: u64 = 50_000;

fn params(bytes: usize, times: u32) -> serde_json::Value {
    json!([
        {"vname": "text", "type": "String", "value": "x".repeat(bytes)},
        {"vname": "times", "type": "Uint32", "value": times.to_string()},
    ])
}

fn hash(world: &World, contract: Address, bytes: usize, times: u32) -> Transaction {
    let data = json!({ "_tag": "Hash", "params": params(bytes, times) }).to_string();
    Transaction { to: contract, data, gas_limit: Gas::new(LIMIT), ..world.transaction(1) }
}

fn receipt(rules: Rules, bytes: usize, times: u32) -> Receipt {
    let mut world = World::with_rules(rules);
    let contract = world.deployed(1, HASHES, &init(&[]));
    let transaction = hash(&world, contract, bytes, times);
    let receipt = world.run(1, transaction).unwrap();
    check_replay(&world.net);
    receipt
}

fn rules(text: &str) -> Rules {
    text.parse().unwrap()
}

#[test]
fn too_much_work_takes_all_gas() {
    // 20,000 bytes two thousand times are 120 ms of hashing, for some 4,000 gas of evaluation and 2,500 of the message.
    for edition in ["0.11", "0.13", "latest"] {
        let before = receipt(rules(&format!("{edition}/2")), 20_000, 2_000);
        assert!(before.success, "{before:?}");
        assert!(before.cumulative_gas < Gas::new(LIMIT / 2));
        let failed = receipt(rules(&format!("{edition}/3")), 20_000, 2_000);
        assert!(!failed.success);
        assert_eq!(failed.cumulative_gas, Gas::new(LIMIT));
        assert_eq!(errors(&failed), [(0, vec![7])]);
        assert_eq!(failed.exceptions[0].message, "Insufficient gas");
    }
}

#[test]
fn work_below_the_limit_changes_nothing() {
    for (bytes, times) in [(10, 10), (20_000, 20)] {
        let [before, after] = ["0.13/2", "0.13/3"].map(|text| receipt(rules(text), bytes, times));
        assert_eq!(before, after);
        assert!(after.success);
    }
}

#[test]
fn caches_do_not_change_work() {
    let mut world = World::new();
    let contract = world.deployed(1, HASHES, &init(&[]));
    let mut outcomes = Vec::new();
    // The first call finds no program that is ready, the second does. About 200 hashes are allowed.
    for times in [50, 100, 150, 200, 250, 400] {
        let receipts = [(); 2].map(|()| {
            let transaction = hash(&world, contract, 20_000, times);
            world.run(1, Transaction { gas_limit: Gas::new(22_000), ..transaction }).unwrap()
        });
        assert_eq!(receipts[0].success, receipts[1].success);
        assert_eq!(receipts[0].cumulative_gas, receipts[1].cumulative_gas);
        outcomes.push(receipts[0].success);
    }
    assert!(outcomes.is_sorted_by(|earlier, later| earlier >= later), "more work does not succeed again");
    assert!(outcomes[0] && !outcomes[5]);
    check_replay(&world.net);
}

#[test]
fn block_leaves_what_it_has_no_room_for() {
    let mut config = config(1, 100);
    config.shard_gas_limit = Gas::new(2_000_000);
    config.minimum_gas_price = GasPrice::new(Qa::new(1_000));
    let mut net = Net::new(config);
    // A transaction may use as much gas as it has for a limit, which for these is all that a block has room for.
    let most = PER_BLOCK / (50 * EVALUATION_PER_GAS);
    let large = |from, extra: u128| {
        let transaction = payment(from, 1, user(9), 1, 1_000 + extra);
        signed(from, Transaction { gas_limit: Gas::new(50 * most), ..transaction })
    };
    let first = net.submit(large(1, 9));
    let second = net.submit(large(2, 8));
    let block = net.tick();
    let included: Vec<_> = block.transactions().iter().map(|(tx, _)| tx.hash()).collect();
    assert_eq!(included, [first]);
    assert_eq!(net.status(&second), Some(5));
    let block = net.tick();
    assert_eq!(block.transactions()[0].0.hash(), second);
    check_replay(&net);
}
