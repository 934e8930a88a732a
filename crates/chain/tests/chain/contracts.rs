//! Deployments, calls, chained calls and failures of contracts, and the resulting state.

use serde_json::json;
use silica_chain::{ChainConfig, StatePageRequest, config::NoncePolicy};
use silica_protocol::{
    Account, Address, BlockNumber, ContractParam, Gas, MapKey, Nonce, Qa, Receipt, ReceiptError, StorageKey,
    Transaction, UnsignedTransaction, VariableHash,
};
use silica_scilla::rules::Rules;
use silica_state::proof::MemoryTrie;

use crate::{
    harness::{Net, PRICE, USERS, config, payment, signed, user},
    replay::check_replay,
};

pub(crate) const HELLO: &str = include_str!("../data/contracts/hello_world/hello_world.scilla");

/// A contract that accepts money, sends it on, calls itself and other contracts, and reads their fields.
pub(crate) const RELAY: &str = r#"scilla_version 0
library Relay
let nil = Nil {Message}
let one_message = fun (m : Message) => Cons {Message} m nil
let two_messages = fun (a : Message) => fun (b : Message) => let rest = one_message b in Cons {Message} a rest
let zero = Uint128 0
let five = Uint128 5
let one = Uint32 1
contract Relay ()
field count : Uint32 = Uint32 0
field seen : Map ByStr20 (Map String Uint32) = Emp ByStr20 (Map String Uint32)
procedure Count ()
  n <- count;
  m = builtin add n one;
  count := m
end
transition Forward (to : ByStr20, payee : ByStr20)
  accept;
  Count;
  name = "forward";
  seen[to][name] := one;
  e = { _eventname : "Forwarded"; to : to };
  event e;
  a = { _tag : "Take"; _recipient : to; _amount : five };
  b = { _tag : ""; _recipient : payee; _amount : five };
  messages = two_messages a b;
  send messages
end
transition Forget (to : ByStr20)
  name = "forward";
  delete seen[to][name]
end
transition Take ()
  accept;
  e = { _eventname : "Taken"; amount : _amount };
  event e
end
transition Refuse ()
  Count
end
transition Fail ()
  accept;
  Count;
  e = { _exception : "No"; code : one };
  throw e
end
transition Ask (to : ByStr20, tag : String)
  accept;
  Count;
  m = { _tag : tag; _recipient : to; _amount : _amount };
  messages = one_message m;
  send messages
end
transition Loop ()
  m = { _tag : "Loop"; _recipient : _this_address; _amount : zero };
  messages = one_message m;
  send messages
end
transition Look (at : ByStr20 with contract field count : Uint32 end)
  n <- & at.count;
  e = { _eventname : "Seen"; n : n };
  event e
end
"#;

/// A network, and the sum of all money at its start.
pub(crate) struct World {
    pub(crate) net: Net,
    total: u128,
    contracts: Vec<Address>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_rules(ChainConfig::isolated().rules.scilla)
    }

    /// Returns a chain with these Scilla rules.
    pub(crate) fn with_rules(rules: Rules) -> Self {
        let mut config = config(1, 100);
        config.rules.scilla = rules;
        Self::with_config(config)
    }

    pub(crate) fn with_config(mut config: ChainConfig) -> Self {
        config.policy.nonces = NoncePolicy::Exact;
        let net = Net::new(config);
        let total = (1..=USERS).filter_map(|number| net.balance(&user(number))).sum();
        Self { net, total, contracts: Vec::new() }
    }

    pub(crate) fn transaction(&self, from: u8) -> UnsignedTransaction {
        let nonce = self.net.nonce(&user(from)) + 1;
        UnsignedTransaction {
            gas_limit: Gas::new(20_000),
            ..payment(from, nonce, Address::ZERO, 0, PRICE).into_unsigned()
        }
    }

    /// Submits a transaction, makes its block, and returns its receipt, or its status code if it was dropped.
    pub(crate) fn run(&mut self, from: u8, transaction: UnsignedTransaction) -> Result<Receipt, u8> {
        let (nonce, balance) = (self.net.nonce(&user(from)), self.net.balance(&user(from)));
        let transaction = signed(from, transaction);
        let created = transaction.contract_address();
        let hash = self.net.submit(transaction);
        let block = self.net.tick();
        let [(transaction, receipt)] = block.transactions() else {
            assert_eq!((self.net.nonce(&user(from)), self.net.balance(&user(from))), (nonce, balance));
            return Err(self.net.status(&hash).unwrap());
        };
        assert_eq!(transaction.hash(), hash);
        assert_eq!(self.net.nonce(&user(from)), nonce + 1, "the nonce is used up");
        if receipt.success {
            self.contracts.extend(created);
        }
        self.check_money();
        Ok(receipt.clone())
    }

    /// Checks that all balances and the uncredited fees add up to the money at the start.
    fn check_money(&self) {
        let source = self.net.test.producer().store().snapshot();
        let accounts = source.state().accounts().map(Result::unwrap);
        let sum: u128 = accounts.filter(|(at, _)| !at.is_zero()).map(|(_, account)| account.balance.get()).sum();
        let fees = source.head().unwrap().totals.ds_epoch_fees.get();
        assert_eq!(sum + fees, self.total);
    }

    pub(crate) fn deploy(
        &mut self,
        from: u8,
        code: &str,
        init: &serde_json::Value,
        amount: u128,
    ) -> Result<Receipt, u8> {
        let data = init.to_string();
        let amount = Qa::new(amount);
        let transaction = UnsignedTransaction { code: code.to_owned(), data, amount, ..self.transaction(from) };
        self.run(from, transaction)
    }

    pub(crate) fn deployed(&mut self, from: u8, code: &str, init: &serde_json::Value) -> Address {
        let receipt = self.deploy(from, code, init, 0).unwrap();
        assert!(receipt.success, "{receipt:?}");
        *self.contracts.last().unwrap()
    }

    pub(crate) fn hello(&mut self) -> Address {
        self.deployed(1, HELLO, &init(&[json!({"vname": "owner", "type": "ByStr20", "value": hex(&user(1))})]))
    }

    /// Deploys a library with the value `answer`.
    pub(crate) fn library(&mut self) -> Address {
        let flag = json!({
            "vname": "_library", "type": "Bool", "value": {"constructor": "True", "argtypes": [], "arguments": []}
        });
        self.deployed(1, "scilla_version 0\nlibrary Numbers\nlet answer = Uint32 42\n", &init(&[flag]))
    }

    pub(crate) fn relay(&mut self) -> Address {
        self.deployed(1, RELAY, &init(&[]))
    }

    pub(crate) fn call(
        &mut self,
        from: u8,
        to: Address,
        tag: &str,
        params: &[serde_json::Value],
        amount: u128,
    ) -> Receipt {
        let data = json!({ "_tag": tag, "params": params }).to_string();
        let amount = Qa::new(amount);
        let transaction = UnsignedTransaction { to, data, amount, ..self.transaction(from) };
        self.run(from, transaction).unwrap()
    }

    /// Returns an entry of storage as text.
    fn entry(&self, contract: &Address, name: &str, indices: &[&str]) -> Option<String> {
        let key = StorageKey::map_entry(contract, name, indices.iter().map(|key| MapKey::from_json(*key).unwrap()))
            .variable_hash();
        self.stored(contract, &key)
    }

    /// Returns the value of a storage key as text.
    fn stored(&self, contract: &Address, key: &VariableHash) -> Option<String> {
        let value = self.net.test.producer().store().snapshot().storage_value(contract, key).unwrap();
        value.map(|value| String::from_utf8(value).unwrap())
    }

    /// Checks the storage root of each contract with an independent trie over its entries.
    pub(crate) fn check_roots(&self) {
        let state = self.net.test.producer().store().snapshot();
        for contract in &self.contracts {
            let mut trie = MemoryTrie::default();
            for entry in state.state().storage(contract).unwrap() {
                let (key, value) = entry.unwrap();
                trie.insert(key.variable_hash().to_string().as_bytes(), &value);
            }
            let account = state.account(contract).unwrap().unwrap().contract.unwrap();
            assert_eq!(account.storage_root.unwrap().to_bytes(), trie.root());
        }
    }
}

pub(crate) fn hex(address: &Address) -> String {
    format!("0x{address}")
}

pub(crate) fn init(params: &[serde_json::Value]) -> serde_json::Value {
    let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
    std::iter::once(version).chain(params.iter().cloned()).collect()
}

pub(crate) fn address_param(name: &str, value: &Address) -> serde_json::Value {
    json!({"vname": name, "type": "ByStr20", "value": hex(value)})
}

pub(crate) fn text_param(name: &str, value: &str) -> serde_json::Value {
    json!({"vname": name, "type": "String", "value": value})
}

pub(crate) fn errors(receipt: &Receipt) -> Vec<(u32, Vec<u8>)> {
    assert!(!receipt.success);
    assert!(receipt.event_logs.is_empty() && receipt.transitions.is_empty(), "failure leaves no events");
    let codes = |errors: &Vec<ReceiptError>| errors.iter().map(|error| error.code()).collect();
    receipt.errors.iter().map(|(key, errors)| (*key, codes(errors))).collect()
}

#[test]
fn a_contract_is_deployed_with_its_fields_and_what_the_node_keeps_of_it() {
    let mut world = World::new();
    let owner = json!({"vname": "owner", "type": "ByStr20", "value": hex(&user(1))});
    let before = world.net.balance(&user(1)).unwrap();
    let receipt = world.deploy(1, HELLO, &init(&[owner]), 7).unwrap();
    assert_eq!(receipt, Receipt::payment(receipt.cumulative_gas, receipt.epoch), "a success has three members");
    let contract = Address::of_contract(&user(1), Nonce::new(0));
    let fee = u128::from(receipt.cumulative_gas.get()) * PRICE;
    assert_eq!(world.net.balance(&user(1)), Some(before - 7 - fee));
    assert_eq!(world.net.balance(&contract), Some(7));
    assert_eq!(world.net.nonce(&contract), 0);
    let entry = |name, indices: &[&str]| world.entry(&contract, name, indices);
    assert_eq!(entry("greeting", &[]).as_deref(), Some("\"Hello, world\""));
    assert_eq!(entry("visits", &[]).as_deref(), Some("\u{12}\0"));
    let stored = |key: StorageKey| world.stored(&contract, &key.variable_hash());
    assert_eq!(stored(StorageKey::version(&contract)).as_deref(), Some("0"));
    assert_eq!(stored(StorageKey::depth(&contract, "visits")).as_deref(), Some("1"));
    assert_eq!(stored(StorageKey::depth(&contract, "greeting")).as_deref(), Some("0"));
    assert_eq!(stored(StorageKey::type_of(&contract, "visits")).as_deref(), Some("Map (ByStr20) (Uint32)"));
    let key = StorageKey::address(&contract).variable_hash();
    let stored = world.net.test.producer().store().snapshot().storage_value(&contract, &key).unwrap();
    assert_eq!(stored.as_deref(), Some(contract.as_bytes().as_slice()));
    world.check_roots();
    check_replay(&world.net);
}

#[test]
fn a_call_changes_fields_and_raises_events() {
    let mut world = World::new();
    let contract = world.hello();
    let receipt = world.call(2, contract, "Greet", &[], 0);
    assert!(receipt.success, "{receipt:?}");
    assert_eq!(receipt.accepted, Some(false));
    let [event] = &receipt.event_logs[..] else { panic!("one event") };
    assert_eq!((event.name.as_str(), event.address), ("Greeting", contract));
    let text = ContractParam { name: "text".into(), type_name: "String".into(), value: json!("Hello, world") };
    assert_eq!(event.params[1], text);
    let visitor = format!("\"{}\"", hex(&user(2)));
    assert_eq!(world.entry(&contract, "visits", &[&visitor]).as_deref(), Some("\"1\""));
    assert_eq!(world.entry(&contract, "visits", &[]), None, "the marker is gone");
    assert!(world.call(1, contract, "SetGreeting", &[text_param("text", "Ciao")], 0).success);
    assert_eq!(world.entry(&contract, "greeting", &[]).as_deref(), Some("\"Ciao\""));
    world.check_roots();
    check_replay(&world.net);
}

#[test]
fn a_call_that_throws_pays_and_leaves_nothing() {
    let mut world = World::new();
    let contract = world.hello();
    let before = world.net.balance(&user(2)).unwrap();
    let receipt = world.call(2, contract, "SetGreeting", &[text_param("text", "Mine")], 5);
    assert_eq!(errors(&receipt), [(0, vec![7])]);
    assert_eq!(receipt.accepted, None);
    let lines: Vec<_> = receipt.exceptions.iter().map(|it| (it.line, it.message.as_str())).collect();
    let thrown = format!(
        "Exception thrown: (Message [(_exception : (String \"NotTheOwner\")) ; (caller : (ByStr20 {}))])",
        hex(&user(2))
    );
    assert_eq!(lines, [(41, thrown.as_str()), (33, "Raised from SetGreeting")]);
    let fee = u128::from(receipt.cumulative_gas.get()) * PRICE;
    assert_eq!(world.net.balance(&user(2)), Some(before - fee));
    assert_eq!(world.entry(&contract, "greeting", &[]).as_deref(), Some("\"Hello, world\""));
    check_replay(&world.net);
}

#[test]
fn messages_run_depth_first_and_move_money() {
    let mut world = World::new();
    let (first, second) = (world.relay(), world.relay());
    let params = [address_param("to", &second), address_param("payee", &user(9))];
    let receipt = world.call(2, first, "Forward", &params, 20);
    assert!(receipt.success, "{receipt:?}");
    assert_eq!(receipt.accepted, Some(true));
    let transitions: Vec<_> =
        receipt.transitions.iter().map(|it| (it.address, it.depth, it.message.recipient, it.accepted)).collect();
    assert_eq!(transitions, [(first, 0, second, Some(true)), (first, 0, user(9), None)]);
    let events: Vec<_> = receipt.event_logs.iter().map(|it| (it.address, it.name.as_str())).collect();
    assert_eq!(events, [(first, "Forwarded"), (second, "Taken")]);
    assert_eq!(world.net.balance(&first), Some(10));
    assert_eq!(world.net.balance(&second), Some(5));
    assert_eq!(world.net.balance(&user(9)), Some(5));
    let seen = [format!("\"{}\"", hex(&second)), "\"forward\"".to_owned()];
    assert_eq!(world.entry(&first, "seen", &[&seen[0], &seen[1]]).as_deref(), Some("\"1\""));
    assert!(world.call(2, first, "Forget", &params[..1], 0).success);
    assert_eq!(world.entry(&first, "seen", &[&seen[0], &seen[1]]), None);
    assert_eq!(world.entry(&first, "seen", &[&seen[0]]).as_deref(), Some("\u{12}\0"), "an empty map remains");
    world.check_roots();
    check_replay(&world.net);
}

#[test]
fn a_failure_below_fails_everything_above() {
    let mut world = World::new();
    let (first, second) = (world.relay(), world.relay());
    let ask = |tag: &str| [address_param("to", &second), text_param("tag", tag)];
    let receipt = world.call(2, first, "Ask", &ask("Fail"), 3);
    assert_eq!(errors(&receipt), [(1, vec![7])]);
    assert_eq!(receipt.accepted, Some(true), "the first contract ran");
    assert_eq!(receipt.exceptions.last().map(|it| it.message.as_str()), Some("Raised from Fail"));
    assert_eq!(world.entry(&first, "count", &[]).as_deref(), Some("\"0\""));
    assert_eq!((world.net.balance(&first), world.net.balance(&second)), (Some(0), Some(0)));
    // A contract that does not accept the money does not fail.
    let receipt = world.call(2, first, "Ask", &ask("Refuse"), 3);
    assert_eq!(receipt.transitions[0].accepted, Some(false));
    assert_eq!((world.net.balance(&first), world.net.balance(&second)), (Some(3), Some(0)));
    // A message without a tag causes no run and transfers nothing. The receipt lists it.
    let receipt = world.call(2, first, "Ask", &ask(""), 3);
    assert_eq!(receipt.transitions[0].accepted, None);
    assert_eq!((world.net.balance(&first), world.net.balance(&second)), (Some(6), Some(0)));
    // A message to the null account is an error.
    let to_null = [address_param("to", &Address::ZERO), text_param("tag", "")];
    assert_eq!(errors(&world.call(2, first, "Ask", &to_null, 3)), [(0, vec![14])]);
    check_replay(&world.net);
}

#[test]
fn chained_calls_have_a_limit_in_number_and_in_gas() {
    let mut world = World::new();
    let contract = world.relay();
    let receipt = world.call(2, contract, "Loop", &[], 0);
    assert_eq!(errors(&receipt), [(21, vec![15])]);
    let mut with_gas = |gas| {
        let data = json!({ "_tag": "Loop", "params": [] }).to_string();
        let transaction = UnsignedTransaction { to: contract, data, gas_limit: Gas::new(gas), ..world.transaction(2) };
        errors(&world.run(2, transaction).unwrap())
    };
    assert_eq!(with_gas(310), [(0, vec![7])], "the first run is not paid for");
    let too_little = (350..700).step_by(50).map(&mut with_gas).find(|errors| *errors == [(1, vec![21])]);
    assert!(too_little.is_some(), "the first run is paid for, and no second one");
}

#[test]
fn fields_of_other_contracts_are_read_as_they_are_now() {
    let mut world = World::new();
    let (first, second) = (world.relay(), world.relay());
    world.call(2, second, "Refuse", &[], 0);
    let receipt = world.call(2, first, "Look", &[address_param("at", &second)], 0);
    assert!(receipt.success, "{receipt:?}");
    assert_eq!(receipt.event_logs[0].params[0].value, json!("1"));
    let receipt = world.call(2, first, "Look", &[address_param("at", &user(3))], 0);
    assert_eq!(errors(&receipt), [(0, vec![7])]);
    let text = format!("No contract found at address: {}", hex(&user(3)));
    assert_eq!(receipt.exceptions[0].message, text);
}

#[test]
fn failures_of_a_contract_are_in_the_receipt() {
    let mut world = World::new();
    let contract = world.hello();
    let mut check = |tag: &str, params: &[serde_json::Value], expected: &str| {
        let receipt = world.call(2, contract, tag, params, 0);
        assert_eq!(errors(&receipt), [(0, vec![7])]);
        assert_eq!(receipt.exceptions[0].message, expected);
    };
    check("Nothing", &[], "No contract transition for tag found: Nothing");
    check("SetGreeting", &[], "No message entry found matching parameter: text");
    let (text, other) = (text_param("text", "a"), text_param("other", "b"));
    check("SetGreeting", &[text.clone(), other], "No parameter found matching message entry: other");
    check("SetGreeting", &[text.clone(), text], "Duplicate message entries found");
    let number = json!({"vname": "text", "type": "Uint32", "value": "1"});
    check("SetGreeting", &[number], "Type unassignable: String expected, but Uint32 provided");
}

#[test]
fn deployments_that_fail_are_recorded_and_leave_no_account() {
    let mut world = World::new();
    let mut check = |code: &str, params: &[serde_json::Value], expected: &[u8]| {
        let nonce = world.net.nonce(&user(1));
        let receipt = world.deploy(1, code, &init(params), 5).unwrap();
        assert_eq!(errors(&receipt), [(0, expected.to_vec())]);
        assert_eq!(receipt.accepted, None);
        let contract = Address::of_contract(&user(1), Nonce::new(nonce));
        assert_eq!(world.net.balance(&contract), None);
        let bytes = code.len() + init(params).to_string().len();
        assert!(receipt.cumulative_gas.get() >= 50.max(bytes as u64));
        receipt
    };
    let receipt = check("scilla_version 0 contract", &[], &[0, 0]);
    assert!(!receipt.exceptions.is_empty());
    check("scilla_version 0\ncontract Wrong ()\nfield f : Uint32 = \"x\"\n", &[], &[0, 0]);
    let missing = check(HELLO, &[], &[8, 1]);
    assert_eq!(missing.exceptions[0].message, "No init entry found matching contract parameter: owner");
    let transaction = UnsignedTransaction {
        code: "scilla_version 0\ncontract Empty ()\n".to_owned(),
        data: init(&[]).to_string(),
        gas_limit: Gas::new(399),
        ..world.transaction(1)
    };
    let receipt = world.run(1, transaction).unwrap();
    assert_eq!(errors(&receipt), [(0, vec![21, 1])]);
    check_replay(&world.net);
}

#[test]
fn invalid_deployment_is_dropped() {
    let mut world = World::new();
    let contract = world.hello();
    let mut deploy = |data: &str, gas: u64| {
        let code = "scilla_version 0\ncontract Empty ()\n".to_owned();
        let transaction =
            UnsignedTransaction { code, data: data.to_owned(), gas_limit: Gas::new(gas), ..world.transaction(1) };
        world.run(1, transaction)
    };
    let good = init(&[]).to_string();
    assert_eq!(deploy("not json", 9_000), Err(11));
    assert_eq!(deploy("[]", 9_000), Err(11));
    assert_eq!(deploy(r#"[{"vname":"_scilla_version","type":"Uint32","value":"1"}]"#, 9_000), Err(12));
    assert_eq!(deploy(&good, 99), Err(22));
    let stranger = address_param("x", &user(9));
    let pair = json!({"constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": ["L", stranger["value"]]});
    let list = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": [pair]});
    assert_eq!(deploy(&init(&[list]).to_string(), 9_000), Err(11));
    assert!(deploy(&good, 9_000).unwrap().success);
    let mut call = |data: &str, gas: u64| {
        let transaction = UnsignedTransaction {
            to: contract,
            data: data.to_owned(),
            gas_limit: Gas::new(gas),
            ..world.transaction(2)
        };
        world.run(2, transaction)
    };
    assert_eq!(call("not json", 9_000), Err(11));
    assert_eq!(call("[]", 9_000), Err(11));
    assert_eq!(call(&"[".repeat(5_000), 9_000), Err(11));
    assert_eq!(call(r#"{"_tag":"Greet","params":[]}"#, 299), Err(22));
}

#[test]
fn libraries_are_imported() {
    let mut world = World::new();
    let library = world.library();
    let pair = json!({
        "constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": ["Numbers", hex(&library)]
    });
    let list = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": [pair]});
    let code = "scilla_version 0\nimport Numbers\ncontract C ()\nfield f : Uint32 = answer\n\
                transition Ask ()\n  e = { _eventname : \"Answer\"; is : answer };\n  event e\nend\n";
    let contract = world.deployed(1, code, &init(&[list]));
    assert_eq!(world.entry(&contract, "f", &[]).as_deref(), Some("\"42\""));
    let receipt = world.call(2, contract, "Ask", &[], 0);
    assert_eq!(receipt.event_logs[0].params[0].value, json!("42"));
    world.check_roots();
    check_replay(&world.net);
}

#[test]
pub(crate) fn init_data_are_read_by_name_and_type() {
    let mut world = World::new();
    let code = "scilla_version 0\ncontract Empty ()\n";
    let version = |value| json!([{"vname": "_scilla_version", "type": "Uint32", "value": value}]);
    // The node stores the version in its own form, whatever form the init data have.
    let contract = world.deployed(1, code, &version("00"));
    assert_eq!(world.entry(&contract, "_version", &[]).as_deref(), Some("0"));
    // The node ignores an entry of another type. For the interpreter it is an unexpected parameter.
    for (name, kind) in [("_library", "String"), ("_scilla_version", "String")] {
        let odd = json!({"vname": name, "type": kind, "value": "x"});
        let receipt = world.deploy(1, code, &init(&[odd]), 0).unwrap();
        assert_eq!(errors(&receipt), [(0, vec![8, 1])], "{name}: {receipt:?}");
    }
    let again = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
    assert_eq!(world.deploy(1, code, &init(&[again]), 0), Err(11));
}

#[test]
fn money_that_came_before_the_contract_is_its_own() {
    let mut world = World::new();
    let contract = Address::of_contract(&user(1), Nonce::new(0));
    world.net.pay(2, contract, 11, 0);
    world.net.tick();
    assert_eq!(world.hello(), contract);
    assert_eq!(world.net.balance(&contract), Some(11));
}

/// Returns the balances, the account of the contract and the receipts, without block numbers.
fn result(net: &Net, contract: &Address, receipts: &[Receipt]) -> (Vec<Option<u128>>, Account, Vec<Receipt>) {
    let balances = (1..=USERS).map(|number| net.balance(&user(number))).collect();
    let account = net.snapshot().account(contract).unwrap().unwrap();
    let receipts = receipts.iter().map(|receipt| Receipt { epoch: BlockNumber::new(0), ..receipt.clone() });
    (balances, account, receipts.collect())
}

#[test]
fn one_block_does_what_many_do() {
    let deployment = {
        let transaction = payment(1, 1, Address::ZERO, 0, PRICE);
        let gas_limit = Gas::new(9_000);
        signed(
            1,
            UnsignedTransaction {
                code: RELAY.into(),
                data: init(&[]).to_string(),
                gas_limit,
                ..transaction.into_unsigned()
            },
        )
    };
    let contract = Address::of_contract(&user(1), Nonce::new(0));
    let mut together = Net::new(config(2, 100));
    together.submit(deployment.clone());
    together.tick();
    for round in 0..4_u8 {
        for from in [2, 3, 4] {
            let to = address_param("to", &contract);
            let payee = address_param("payee", &Address::new([round; 20]));
            let (tag, params) = match (from + round) % 3 {
                0 => ("Forward", vec![to, payee]),
                1 => ("Forget", vec![to]),
                _ => ("Fail", vec![]),
            };
            let data = json!({ "_tag": tag, "params": params }).to_string();
            let transaction = payment(from, u64::from(round) + 1, contract, 50, PRICE);
            together.submit(signed(
                from,
                UnsignedTransaction { data, gas_limit: Gas::new(9_000), ..transaction.into_unsigned() },
            ));
        }
        together.submit(payment(5, u64::from(round) + 1, user(9), 7, PRICE));
    }
    let block = together.tick();
    check_replay(&together);
    let (transactions, receipts): (Vec<_>, Vec<_>) = block.transactions().iter().cloned().unzip();
    assert_eq!(receipts.len(), 16);
    assert!(receipts.iter().any(|receipt| receipt.success) && receipts.iter().any(|receipt| !receipt.success));

    let mut apart = Net::new(config(2, 100));
    apart.submit(deployment);
    apart.tick();
    let mut again = Vec::new();
    for transaction in transactions {
        apart.submit(Transaction::clone(transaction.transaction()));
        again.extend(apart.tick().transactions().iter().map(|(_, receipt)| receipt.clone()));
    }
    assert_eq!(result(&apart, &contract, &again), result(&together, &contract, &receipts));
    check_replay(&apart);
}

#[test]
fn proofs_of_variables_hold_against_the_headers() {
    let mut world = World::new();
    let contract = world.hello();
    world.call(2, contract, "Greet", &[], 0);
    let key: VariableHash = StorageKey::map_entry(&contract, "visits", [MapKey::address(user(2))]).variable_hash();
    let verify = |block, expected: Option<&str>| {
        let snapshot = world.net.snapshot();
        let number = BlockNumber::new(block);
        let proof = snapshot.state_proof(&contract, &key, Some(number)).unwrap();
        let root = snapshot.tx_block(number).unwrap().unwrap().header.state_root;
        let verify = silica_state::proof::trie::verify;
        let account = verify(root.as_bytes(), contract.to_string().as_bytes(), &proof.account).unwrap().unwrap();
        let account = Account::decode(&account).unwrap();
        let storage = account.contract.unwrap().storage_root.unwrap();
        let value = verify(storage.as_bytes(), key.to_string().as_bytes(), &proof.state).unwrap();
        assert_eq!(value.as_deref(), expected.map(str::as_bytes));
    };
    verify(1, None);
    verify(2, Some("\"1\""));
}

#[test]
fn a_page_of_state_has_one_entry_at_least() {
    let mut world = World::new();
    let contract = world.hello();
    let page = |limit, after| {
        let request = StatePageRequest { contract, field: None, after, limit, block: None };
        world.net.snapshot().state_page(&request).unwrap()
    };
    let first = page(0, None);
    assert_eq!(first, page(1, None));
    assert_eq!((first.entries.len(), first.next.is_some()), (1, true));
    let second = page(0, first.next);
    assert_eq!((second.entries.len(), second.next), (1, None));
}
