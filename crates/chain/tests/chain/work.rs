//! The work limits: a transaction above its work limit fails as if it had no gas left. A block has a work limit too.

use serde_json::json;
use silica_chain::{
    ChainConfig,
    config::{NoncePolicy, RuleChange},
};
use silica_protocol::{
    Address, BlockNumber, Gas, GasPrice, Nonce, Qa, Receipt, Transaction, TxHash, UnsignedTransaction,
};
use silica_scilla::{
    rules::Rules,
    work::{FREE_SEARCH, LOADED, PER_BLOCK, weight},
};

use crate::{
    contracts::{World, errors, hex, init},
    harness::{USERS, config, signed, user},
    replay::check_replay,
};

/// A contract that hashes a text a given number of times.
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

fn hash(world: &World, contract: Address, bytes: usize, times: u32) -> UnsignedTransaction {
    let data = json!({ "_tag": "Hash", "params": params(bytes, times) }).to_string();
    UnsignedTransaction { to: contract, data, gas_limit: Gas::new(LIMIT), ..world.transaction(1) }
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
    // 2,000 hashes of 20,000 bytes are 120 ms of work. The gas is about 4,000 for the evaluation and 2,500 for the
    // message.
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
    let mut world = World::with_rules(rules("0.13/3"));
    let contract = world.deployed(1, HASHES, &init(&[]));
    let mut outcomes = Vec::new();
    // The first call compiles the program, and the second call uses the cache. The limit permits about 200 hashes.
    for times in [50, 100, 150, 200, 250, 400] {
        let receipts = [(); 2].map(|()| {
            let transaction = hash(&world, contract, 20_000, times);
            world.run(1, UnsignedTransaction { gas_limit: Gas::new(22_000), ..transaction }).unwrap()
        });
        assert_eq!(receipts[0].success, receipts[1].success);
        assert_eq!(receipts[0].cumulative_gas, receipts[1].cumulative_gas);
        outcomes.push(receipts[0].success);
    }
    assert!(outcomes.is_sorted_by(|earlier, later| earlier >= later), "more work does not succeed again");
    assert!(outcomes[0] && !outcomes[5]);
    check_replay(&world.net);
}

/// Returns a configuration whose gas limits permit more work than a block may have.
fn roomy() -> ChainConfig {
    let mut config = config(1, 100);
    config.shard_gas_limit = Gas::new(2_000_000);
    config.ds_gas_limit = Gas::new(2_000_000);
    config.minimum_gas_price = GasPrice::new(Qa::new(CHEAP));
    config.rules.scilla = rules("0.13/3");
    config
}

/// A gas price in Qa at which a test account can pay for the gas of a block.
const CHEAP: u128 = 1_000;

fn roomy_with(rules: &str) -> World {
    let mut config = roomy();
    config.rules.scilla = rules.parse().unwrap();
    World::with_config(config)
}

/// Returns the transaction with a low gas price and this gas limit.
fn cheap(transaction: UnsignedTransaction, gas_limit: u64) -> UnsignedTransaction {
    UnsignedTransaction { gas_limit: Gas::new(gas_limit), gas_price: GasPrice::new(Qa::new(CHEAP)), ..transaction }
}

#[test]
fn evaluation_has_a_limit_of_its_own() {
    // A concatenation takes one gas unit for each byte: 500 times 16,000 bytes are 1,000,000 gas.
    for (rules, succeeds) in [("0.13/2", true), ("0.13/3", false)] {
        let mut world = roomy_with(rules);
        let joins =
            HASHES.replace("keccak256hash text", "concat text empty").replace("zero =", "empty = \"\";\n  zero =");
        let contract = world.deployed(1, &joins, &init(&[]));
        let call = cheap(hash(&world, contract, 16_000, 500), 1_900_000);
        let receipt = world.run(1, call).unwrap();
        assert_eq!(receipt.success, succeeds, "{rules}");
        let used = receipt.cumulative_gas;
        assert!(if succeeds { used < Gas::new(1_900_000) } else { used == Gas::new(1_900_000) }, "{used}");
        check_replay(&world.net);
    }
}

const DEPLOYMENT: u64 = 200_000;

fn deploy(world: &mut World, code: &str, param: &serde_json::Value) -> (Receipt, Address) {
    let data = init(std::slice::from_ref(param)).to_string();
    let transaction = cheap(world.transaction(1), DEPLOYMENT);
    let transaction = UnsignedTransaction { code: code.to_owned(), data, ..transaction };
    let address = Address::of_contract(&user(1), Nonce::new(transaction.nonce.get() - 1));
    (world.run(1, transaction).unwrap(), address)
}

#[test]
fn libraries_are_bounded_before_they_are_read() {
    let padding = "(* ".to_owned() + &"x".repeat(60_000) + " *)\n";
    let count = LOADED / weight::LOADED_BYTE / 60_000 + 1;
    for (rules, succeeds) in [("0.13/2", true), ("0.13/3", false)] {
        let mut world = roomy_with(rules);
        let names: Vec<_> = (0..count).map(|number| format!("Lib{number}")).collect();
        let pairs: Vec<_> = names
            .iter()
            .map(|name| {
                let code = format!("scilla_version 0\nlibrary {name}\n{padding}");
                let flag = json!({"constructor": "True", "argtypes": [], "arguments": []});
                let library = deploy(&mut world, &code, &json!({"vname": "_library", "type": "Bool", "value": flag}));
                let library = library.1;
                json!({
                    "constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": [name, hex(&library)]
                })
            })
            .collect();
        let list = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": pairs});
        let code = format!("scilla_version 0\nimport {}\ncontract User ()\n", names.join(" "));
        let (receipt, _) = deploy(&mut world, &code, &list);
        assert_eq!(receipt.success, succeeds, "{rules}: {receipt:?}");
        assert_eq!(receipt.cumulative_gas == Gas::new(DEPLOYMENT), !succeeds, "{rules}: {receipt:?}");
        check_replay(&world.net);
    }
}

/// Deploys a library of at least `bytes` bytes.
fn library(world: &mut World, name: &str, bytes: usize) -> Address {
    let code = format!("scilla_version 0\nlibrary {name}\n(* {} *)\n", "x".repeat(bytes));
    let flag = json!({"constructor": "True", "argtypes": [], "arguments": []});
    let (receipt, address) = deploy(world, &code, &json!({"vname": "_library", "type": "Bool", "value": flag}));
    assert!(receipt.success, "{receipt:?}");
    address
}

#[test]
fn deployment_pays_for_a_long_search_that_finds_no_library() {
    // From revision 3 of the rules on, the sender pays if the work for the texts is above `FREE_SEARCH`.
    let long = usize::try_from(FREE_SEARCH / weight::SOURCE_BYTE).unwrap();
    for (rules, bytes, is_paid) in
        [("0.13/2", long, false), ("0.13/3", long / 2, false), ("0.13/3", long, true), ("latest/3", long, true)]
    {
        let mut world = roomy_with(rules);
        let found = library(&mut world, "Found", bytes);
        let pair = |name: &str, address: Address| {
            let arguments = [name, &hex(&address)];
            json!({"constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": arguments})
        };
        let pairs = json!([pair("Found.scillib", found), pair("Missing.scillib", user(99))]);
        let list = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": pairs});
        let code = "scilla_version 0\nimport Found Missing\ncontract User ()\n".to_owned();
        let transaction = cheap(world.transaction(1), DEPLOYMENT);
        let data = init(std::slice::from_ref(&list)).to_string();
        let result = world.run(1, UnsignedTransaction { code, data, ..transaction });
        match result {
            Ok(receipt) => {
                assert!(is_paid && !receipt.success, "{rules}, {bytes}: {receipt:?}");
                assert_eq!(receipt.cumulative_gas, Gas::new(DEPLOYMENT));
            }
            Err(status) => assert!(!is_paid && status == 11, "{rules}, {bytes}: {status}"),
        }
        check_replay(&world.net);
    }
}

#[test]
fn call_of_a_contract_that_later_rules_make_unusable_pays_for_a_long_load() {
    let long = usize::try_from(FREE_SEARCH / weight::SOURCE_BYTE).unwrap();
    for (bytes, is_paid) in [(0, false), (long, true)] {
        let change = RuleChange { block: BlockNumber::new(4), scilla: "0.13/3".parse().unwrap() };
        let mut config = ChainConfig { rule_changes: vec![change], ..roomy() };
        config.rules.scilla = "latest/3".parse().unwrap();
        let mut world = World::with_config(config);
        let library = library(&mut world, "Found", bytes);
        let arguments = ["Found.scillib", &hex(&library)];
        let pair = json!({"constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": arguments});
        let list = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": [pair]});
        let code = "scilla_version 0\nimport Found\ncontract User ()\ntransition T ()\nend\n";
        let (receipt, contract) = deploy(&mut world, code, &list);
        assert!(receipt.success, "{receipt:?}");
        let call = |world: &World| UnsignedTransaction {
            to: contract,
            data: r#"{"_tag":"T","params":[]}"#.into(),
            ..world.transaction(2)
        };
        let before = call(&world);
        assert!(world.run(2, before).unwrap().success);
        // From block 4 on, `import Found` does not find the library that the contract lists as `Found.scillib`.
        let after = call(&world);
        match world.run(2, after) {
            Ok(receipt) => {
                assert!(is_paid && !receipt.success, "{bytes}: {receipt:?}");
                assert_eq!(receipt.cumulative_gas, Gas::new(20_000));
                assert_eq!(errors(&receipt), [(0, vec![21])]);
            }
            Err(status) => assert!(!is_paid && status == 11, "{bytes}: {status}"),
        }
        check_replay(&world.net);
    }
}

/// Calls of any users. A call of `tenths` takes a little more than this many tenths of the work of a block.
struct Calls {
    world: World,
    contract: Address,
}

impl Calls {
    /// The bytes that a call hashes in 3 µs of work. An iteration takes about 2 gas and 5.5 µs of work.
    const BYTES: usize = 750;

    /// Deploys a contract in a shard whose committee executes the calls of at least `inner` users.
    fn new(shards: u32, inner: usize) -> Self {
        let mut config = roomy();
        config.shards = shards;
        let mut world = World::with_config(config);
        loop {
            let contract = world.deployed(1, HASHES, &init(&[]));
            let calls = Self { world, contract };
            if calls.by_committee(shards).0.len() >= inner {
                return calls;
            }
            world = calls.world;
        }
    }

    fn transaction(&self, from: u8, tenths: u64, price: u128) -> Transaction {
        let times = PER_BLOCK * tenths / 10 / 5_000;
        let UnsignedTransaction { to, data, .. } =
            hash(&self.world, self.contract, Self::BYTES, u32::try_from(times).unwrap());
        let gas_price = GasPrice::new(Qa::new(CHEAP + price));
        let gas_limit = times * 5 / 2 + 3_000;
        signed(from, UnsignedTransaction { to, data, gas_price, ..cheap(self.world.transaction(from), gas_limit) })
    }

    fn submit(&mut self, from: u8, tenths: u64, price: u128) -> TxHash {
        let transaction = self.transaction(from, tenths, price);
        self.world.net.submit(transaction)
    }

    fn submit_all(&mut self, users: &[u8], tenths: u64, price: u128) -> Vec<TxHash> {
        users.iter().zip((0..price).rev()).map(|(from, price)| self.submit(*from, tenths, price)).collect()
    }

    /// Makes a block, and returns the hashes of its transactions in order.
    fn block(&mut self) -> Vec<TxHash> {
        let block = self.world.net.tick();
        for (_, receipt) in block.transactions() {
            assert!(receipt.success, "{receipt:?}");
        }
        block.transactions().iter().map(|(tx, _)| tx.hash()).collect()
    }

    /// Returns the users whose calls a shard executes, and the users whose calls the DS committee executes.
    fn by_committee(&self, shards: u32) -> (Vec<u8>, Vec<u8>) {
        (1..=USERS).partition(|from| {
            let admitted = self.world.net.test.chain().admit(self.transaction(*from, 1, 0), false).unwrap();
            admitted.committee().get() < shards
        })
    }
}

#[test]
fn full_block_leaves_transactions_for_the_next() {
    let mut calls = Calls::new(1, 8);
    // Four calls take most of the work of the block. The fifth call does not fit, and a payment does.
    let hashes = calls.submit_all(&[1, 2, 3, 4, 5], 2, 20);
    let payment = signed(6, UnsignedTransaction { to: user(9), ..cheap(calls.world.transaction(6), 50) });
    let payment = calls.world.net.submit(payment);
    assert_eq!(calls.block(), [&hashes[..4], &[payment]].concat());
    assert_eq!(calls.world.net.status(&hashes[4]), Some(5));
    assert_eq!(calls.block(), hashes[4..]);
    check_replay(&calls.world.net);
}

#[test]
fn attempts_without_room_are_limited() {
    let mut calls = Calls::new(1, 8);
    // Each large call could take all work of the block. So the first attempt has a limit, and there is no second
    // attempt.
    let first = calls.submit(1, 2, 20);
    let large = calls.submit_all(&[2, 3], 8, 19);
    let small = calls.submit_all(&[4, 5, 6], 1, 10);
    assert_eq!(calls.block(), [&[first], &small[..]].concat());
    assert_eq!(large.iter().map(|hash| calls.world.net.status(hash)).collect::<Vec<_>>(), [Some(5); 2]);
    assert_eq!(calls.block(), large[..1]);
    assert_eq!(calls.block(), large[1..]);
    check_replay(&calls.world.net);
}

#[test]
fn transaction_that_finds_no_room_goes_first_in_the_next_block() {
    let mut calls = Calls::new(1, 8);
    let early = calls.submit_all(&[1, 2, 3, 4], 2, 40);
    let large = calls.submit(5, 5, 1);
    assert_eq!(calls.block(), early);
    let late = calls.submit_all(&[6, 7, 8], 2, 20);
    assert_eq!(calls.block(), [large, late[0], late[1]], "its price is lower, but it was left out");
    // Only the price decides in the next block, so that large transactions do not delay all others.
    let last = calls.submit_all(&[1, 2, 3, 4], 2, 50);
    assert_eq!(calls.block(), last);
    let others = calls.submit_all(&[1, 2], 2, 60);
    assert_eq!(calls.block(), [late[2], others[0], others[1]]);
    check_replay(&calls.world.net);
}

#[test]
fn replaced_transaction_loses_the_privilege_of_a_skipped_one() {
    let mut calls = Calls::new(1, 8);
    calls.submit_all(&[1, 2, 3, 4], 2, 40);
    let large = calls.submit(5, 5, 1);
    calls.block();
    let nonce = calls.world.transaction(5).nonce;
    let price = GasPrice::new(Qa::new(CHEAP + 2));
    let payment = UnsignedTransaction { nonce, to: user(9), gas_price: price, ..cheap(calls.world.transaction(5), 50) };
    let payment = calls.world.net.submit(signed(5, payment));
    assert_eq!(calls.world.net.status(&large), Some(24), "another transaction with its nonce pays more");
    let others = calls.submit_all(&[1, 2], 2, 60);
    assert_eq!(calls.block(), [others[0], others[1], payment]);
    check_replay(&calls.world.net);
}

#[test]
fn committees_share_the_room_of_a_block() {
    let mut calls = Calls::new(2, 4);
    let (inner, outer) = calls.by_committee(2);
    let shard = calls.submit_all(&inner[..4], 2, 20);
    let ds = calls.submit(outer[0], 1, 1);
    assert_eq!(calls.block(), [&shard[..3], &[ds]].concat(), "the shard leaves room to the DS committee");
    assert_eq!(calls.block(), shard[3..]);
    check_replay(&calls.world.net);
}

#[test]
fn attempt_without_room_leaves_room_to_other_committees() {
    let mut calls = Calls::new(2, 4);
    let (inner, outer) = calls.by_committee(2);
    let first = calls.submit(inner[0], 1, 20);
    let large = calls.submit(inner[1], 8, 19);
    let ds = calls.submit(outer[0], 1, 1);
    assert_eq!(calls.block(), [first, ds]);
    assert_eq!(calls.block(), [large]);
    check_replay(&calls.world.net);
}

#[test]
fn committee_reserves_room_for_a_skipped_transaction() {
    let mut calls = Calls::new(2, 4);
    let (inner, outer) = calls.by_committee(2);
    let early = calls.submit_all(&inner[..3], 2, 20);
    let large = calls.submit(outer[0], 5, 1);
    assert_eq!(calls.block(), early);
    assert_eq!(calls.world.net.status(&large), Some(5), "it finds no room behind the shard");
    let late = calls.submit_all(&inner[..1], 2, 20);
    assert_eq!(calls.block(), [large], "the shard leaves the reserve");
    assert_eq!(calls.block(), late);
    check_replay(&calls.world.net);
}

#[test]
fn deployment_does_the_work_that_its_reported_gas_allows() {
    let work = |times: u32| {
        let text = "x".repeat(2_000);
        format!(
            "scilla_version 0
contract C ()
field f : Uint32 = let x = \"{text}\" in let n = Uint32 {times} in let count = builtin to_nat n in
  let zero = Uint32 0 in let fold = @nat_fold Uint32 in
  let step = fun (sum : Uint32) => fun (left : Nat) => let hash = builtin keccak256hash x in sum in
  fold step zero count
transition Go ()
end
"
        )
    };
    for (rules, times, succeeds) in
        [("0.13/2", 150, true), ("0.13/3", 150, true), ("0.13/2", 300, true), ("0.13/3", 300, false)]
    {
        let mut world = roomy_with(rules);
        let transaction = cheap(world.transaction(1), DEPLOYMENT);
        let data = init(&[]).to_string();
        let receipt = world.run(1, UnsignedTransaction { code: work(times), data, ..transaction }).unwrap();
        assert_eq!(receipt.success, succeeds, "{rules}, {times}: {receipt:?}");
        assert_eq!(receipt.cumulative_gas == Gas::new(DEPLOYMENT), !succeeds, "{rules}, {times}");
        check_replay(&world.net);
    }
}

#[test]
fn gas_of_a_value_pays_for_its_reading() {
    let code = "scilla_version 0
contract Numbers ()
field numbers : Map Uint32 Bool = Emp Uint32 Bool
transition Put (count : Uint32)
  all = builtin to_nat count;
  none = Emp Uint32 Bool;
  yes = True;
  step = fun (map : Map Uint32 Bool) => fun (left : Nat) =>
    let size = builtin size map in
    builtin put map size yes;
  fold = @nat_fold (Map Uint32 Bool);
  made = fold step none all;
  numbers := made
end
transition Get ()
  all <- numbers;
  event_of = { _eventname : \"Read\" };
  event event_of
end
";
    let receipts = ["0.13/2", "0.13/3"].map(|text| {
        let mut world = roomy_with(text);
        let contract = world.deployed(1, code, &init(&[]));
        let mut call = |tag: &str, params: &[serde_json::Value]| {
            let data = json!({ "_tag": tag, "params": params }).to_string();
            let transaction = cheap(world.transaction(1), 200_000);
            let receipt = world.run(1, UnsignedTransaction { to: contract, data, ..transaction }).unwrap();
            assert!(receipt.success, "{text}: {receipt:?}");
            receipt
        };
        call("Put", &[json!({"vname": "count", "type": "Uint32", "value": "1000"})]);
        let read = call("Get", &[]);
        check_replay(&world.net);
        read
    });
    assert_eq!(receipts[0], receipts[1]);
}

/// A contract that reads one entry of a map, or the whole map.
const TEXTS: &str = "scilla_version 0
contract Texts ()
field texts : Map String String = Emp String String
transition Put (count : Uint32, long : String)
  all = builtin to_nat count;
  none = Emp String String;
  short = \"\";
  step = fun (map : Map String String) => fun (left : Nat) =>
    let size = builtin size map in
    let key = builtin to_string size in
    builtin put map key short;
  fold = @nat_fold (Map String String);
  made = fold step none all;
  last = \"z\";
  full = builtin put made last long;
  texts := full
end
transition One ()
  last = \"z\";
  text <- texts[last]
end
transition All ()
  map <- texts
end
";

#[test]
fn work_of_a_read_does_not_depend_on_earlier_reads_of_the_block() {
    // The gas is too little for the number of entries, or for the bytes of the last entry.
    for gas in [330, 400, 500, 2_000] {
        let receipts = [false, true].map(|is_cached| {
            let mut config = roomy();
            config.policy.nonces = NoncePolicy::Queue;
            let mut world = World::with_config(config);
            let contract = world.deployed(1, TEXTS, &init(&[]));
            let call = |world: &World, from: u8, tag: &str, params: &serde_json::Value, gas_limit: u64| {
                let data = json!({ "_tag": tag, "params": params }).to_string();
                UnsignedTransaction { to: contract, data, ..cheap(world.transaction(from), gas_limit) }
            };
            let put = json!([
                {"vname": "count", "type": "Uint32", "value": "1000"},
                {"vname": "long", "type": "String", "value": "x".repeat(150_000)},
            ]);
            let put = call(&world, 1, "Put", &put, 300_000);
            assert!(world.run(1, put).unwrap().success);
            if is_cached {
                let one = UnsignedTransaction {
                    gas_price: GasPrice::new(Qa::new(CHEAP + 1)),
                    ..call(&world, 1, "One", &json!([]), 30_000)
                };
                world.net.submit(signed(1, one));
            }
            let all = call(&world, 2, "All", &json!([]), gas);
            let hash = world.net.submit(signed(2, all));
            let block = world.net.tick();
            let receipts = block.transactions();
            assert_eq!(receipts.len(), 1 + usize::from(is_cached));
            check_replay(&world.net);
            let (transaction, receipt) = receipts.last().unwrap();
            assert_eq!(transaction.hash(), hash);
            assert!(!receipt.success);
            receipt.clone()
        });
        assert_eq!(receipts[0], receipts[1], "{gas} gas");
    }
}

#[test]
fn failure_that_reports_less_gas_than_it_used_pays_for_its_work() {
    let text = "x".repeat(750);
    let fields: Vec<_> = (0..10).map(|number| format!("field f{number} : Uint32")).collect();
    let code = format!(
        "scilla_version 0
library Work
let work =
  let x = \"{text}\" in let n = Uint32 370 in let count = builtin to_nat n in
  let zero = Uint32 0 in let fold = @nat_fold Uint32 in
  let step = fun (sum : Uint32) => fun (left : Nat) => let hash = builtin keccak256hash x in sum in
  fold step zero count
contract C ()
transition T (a : ByStr20 with contract {} end)
end
",
        fields.join(", ")
    );
    // If the gas is too little for the check of the address, the reference reports more gas than there was.
    for (text, pays_all) in [("0.13/2", false), ("0.13/3", true)] {
        // The DS epoch is so long that no vacuous block is due.
        let mut config = ChainConfig { blocks_per_ds_epoch: 10_000, ..roomy() };
        config.rules.scilla = rules(text);
        let mut world = World::with_config(config);
        let contract = world.deployed(1, &code, &init(&[]));
        let params = json!([{"vname": "a", "type": "ByStr20", "value": hex(&user(99))}]);
        let data = json!({ "_tag": "T", "params": params }).to_string();
        let mut reached = 0;
        for gas in 400..2_000 {
            let transaction = cheap(world.transaction(1), gas);
            let receipt =
                world.run(1, UnsignedTransaction { to: contract, data: data.clone(), ..transaction }).unwrap();
            assert!(!receipt.success);
            if !receipt.exceptions[0].message.contains("ddress") {
                continue;
            }
            reached += 1;
            assert_eq!(receipt.cumulative_gas == Gas::new(gas), pays_all, "{text}, {gas}: {receipt:?}");
            break;
        }
        assert_eq!(reached, 1, "{text}");
        check_replay(&world.net);
    }
}
