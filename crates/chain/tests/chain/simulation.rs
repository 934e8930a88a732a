//! Simulations: a simulation has the same receipt and changes as the executed transaction, and no effect on the chain.

use serde_json::{Value, json};
use silica_chain::{Simulation, SimulationError, VariableChange};
use silica_protocol::{
    Address, BlockHash, Gas, GasPrice, Nonce, Qa, Receipt, SimulationRequest, StateRoot, UnsignedTransaction,
};

use crate::{
    contracts::{HELLO, RELAY, World, address_param, hex, init, text_param},
    harness::{FEE, FUNDS, Net, PRICE, config, payment, signed, user},
};

/// Returns a request of a user with defaults for all other members.
pub(crate) fn request(from: u8, to: Address) -> SimulationRequest {
    SimulationRequest {
        sender: user(from),
        to,
        amount: Qa::ZERO,
        gas_price: None,
        gas_limit: None,
        code: String::new(),
        data: String::new(),
        priority: false,
    }
}

fn call(from: u8, to: Address, tag: &str, params: &[Value], amount: u128) -> SimulationRequest {
    let data = json!({ "_tag": tag, "params": params }).to_string();
    SimulationRequest { data, amount: Qa::new(amount), ..request(from, to) }
}

fn deployment(from: u8, code: &str, params: &[Value]) -> SimulationRequest {
    SimulationRequest { code: code.to_owned(), data: init(params).to_string(), ..request(from, Address::ZERO) }
}

/// Returns all values that a simulation must not change.
fn everything(net: &Net) -> (BlockHash, StateRoot, usize, Vec<(u64, Option<u128>)>) {
    let snapshot = net.snapshot();
    let accounts = (1..=9).map(|number| (net.nonce(&user(number)), net.balance(&user(number)))).collect();
    let root = net.test.producer().store().snapshot().state().root();
    (snapshot.latest_tx_block_hash(), root, net.test.chain().waiting(), accounts)
}

fn simulate(net: &Net, request: &SimulationRequest) -> Result<Simulation, SimulationError> {
    let before = everything(net);
    let simulation = net.test.chain().simulate(request);
    assert_eq!(everything(net), before, "a simulation has no effect");
    simulation
}

/// Executes the simulated transaction. Returns the receipt, or `None` if the transaction was rejected or dropped.
fn execute(world: &mut World, from: u8, request: &SimulationRequest, limit: Gas) -> Option<Receipt> {
    let transaction = UnsignedTransaction {
        to: request.to,
        amount: request.amount,
        code: request.code.clone(),
        data: request.data.clone(),
        gas_limit: limit,
        ..payment(from, world.net.nonce(&user(from)) + 1, request.to, 0, PRICE).into_unsigned()
    };
    let transaction = signed(from, transaction);
    world.net.test.chain().admit(transaction.clone(), false).ok()?;
    world.run(from, transaction.into_unsigned()).ok()
}

/// Simulates and executes a transaction. Compares receipts, fees, accounts and variables.
fn check(world: &mut World, from: u8, request: &SimulationRequest) -> Simulation {
    let simulation = simulate(&world.net, request).unwrap();
    for change in &simulation.changes {
        let before = world.net.snapshot().account(&change.address).unwrap();
        assert_eq!(change.before, before);
        for VariableChange { name, indices, old, .. } in &change.variables {
            assert_eq!(&stored(world, &change.address, name, indices), old);
        }
    }
    let receipt = execute(world, from, request, simulation.gas_limit).unwrap();
    assert_eq!(receipt, simulation.receipt);
    assert_eq!(simulation.fee, Qa::new(u128::from(receipt.cumulative_gas.get()) * PRICE));
    for change in &simulation.changes {
        let mut after = world.net.snapshot().account(&change.address).unwrap().unwrap();
        // Only a block computes the storage root.
        if let (Some(now), Some(then)) = (&mut after.contract, change.after.contract) {
            now.storage_root = then.storage_root;
        }
        assert_eq!(change.after, after);
        for VariableChange { name, indices, new, .. } in &change.variables {
            assert_eq!(&stored(world, &change.address, name, indices), new);
        }
    }
    simulation
}

/// Returns the value of a variable in the JSON form of Scilla.
fn stored(world: &World, contract: &Address, name: &str, indices: &[String]) -> Option<Value> {
    let key = silica_chain::variable_key(contract, name, indices).variable_hash();
    let value = world.net.test.producer().store().snapshot().storage_value(contract, &key).unwrap()?;
    if value == [0x12, 0x00] { Some(json!([])) } else { Some(serde_json::from_slice(&value).unwrap()) }
}

fn change(name: &str, indices: &[&str], old: Value, new: Value) -> VariableChange {
    let value = |value: Value| Some(value).filter(|value| !value.is_null());
    let indices = indices.iter().map(|&index| index.to_owned()).collect();
    VariableChange { name: name.to_owned(), indices, old: value(old), new: value(new) }
}

#[test]
fn payments() {
    let mut world = World::new();
    let paid = SimulationRequest { amount: Qa::new(7), ..request(1, user(9)) };
    let simulation = check(&mut world, 1, &paid);
    assert_eq!(simulation.receipt, Receipt::payment(Gas::new(50), simulation.receipt.epoch));
    assert_eq!(simulation.contract, None);
    let balances = |simulation: &Simulation| -> Vec<_> {
        simulation
            .changes
            .iter()
            .map(|it| (it.address, it.before.map(|it| it.balance.get()), it.after.balance.get()))
            .collect()
    };
    let mut expected = [(user(1), Some(FUNDS), FUNDS - 7 - FEE), (user(9), None, 7)];
    expected.sort_by_key(|(address, ..)| *address);
    assert_eq!(balances(&simulation), expected);
}

#[test]
fn deployments_with_their_fields() {
    let mut world = World::new();
    let hello = deployment(1, HELLO, &[address_param("owner", &user(1))]);
    let simulation = check(&mut world, 1, &hello);
    let contract = Address::of_contract(&user(1), Nonce::new(0));
    assert_eq!(simulation.contract, Some(contract));
    let created = simulation.changes.iter().find(|change| change.address == contract).unwrap();
    assert!(created.before.is_none() && created.after.contract.is_some());
    let fields =
        [change("greeting", &[], json!(null), json!("Hello, world")), change("visits", &[], json!(null), json!([]))];
    assert_eq!(created.variables, fields);
    let failing = deployment(1, HELLO, &[]);
    let simulation = check(&mut world, 1, &failing);
    assert!(!simulation.receipt.success);
    assert_eq!(simulation.contract, Some(Address::of_contract(&user(1), Nonce::new(1))));
    assert_eq!(simulation.changes.len(), 1, "only the sender pays");
}

#[test]
fn calls_with_events_messages_and_changes() {
    let mut world = World::new();
    let hello = world.hello();
    let visitor = hex(&user(2));
    let simulation = check(&mut world, 2, &call(2, hello, "Greet", &[], 0));
    assert_eq!(simulation.receipt.event_logs.len(), 1);
    let of_hello = |simulation: &Simulation| {
        let change = simulation.changes.iter().find(|change| change.address == hello);
        change.map(|change| change.variables.clone())
    };
    let first = change("visits", &[&visitor], json!(null), json!("1"));
    assert_eq!(of_hello(&simulation), Some(vec![first]), "the marker of the empty map is left out");
    let simulation = check(&mut world, 2, &call(2, hello, "Greet", &[], 0));
    assert_eq!(of_hello(&simulation), Some(vec![change("visits", &[&visitor], json!("1"), json!("2"))]));
    let simulation = check(&mut world, 1, &call(1, hello, "SetGreeting", &[text_param("text", "Ciao")], 0));
    assert_eq!(of_hello(&simulation), Some(vec![change("greeting", &[], json!("Hello, world"), json!("Ciao"))]));
    let simulation = check(&mut world, 2, &call(2, hello, "SetGreeting", &[text_param("text", "Mine")], 0));
    assert!(!simulation.receipt.success && !simulation.receipt.exceptions.is_empty());
    assert_eq!(of_hello(&simulation), None);

    let (one, other) = (world.relay(), world.relay());
    let params = [address_param("to", &other), address_param("payee", &user(9))];
    let simulation = check(&mut world, 2, &call(2, one, "Forward", &params, 20));
    assert_eq!((simulation.receipt.event_logs.len(), simulation.receipt.transitions.len()), (2, 2));
    let of_one = simulation.changes.iter().find(|change| change.address == one).unwrap();
    let seen = change("seen", &[&hex(&other), "forward"], json!(null), json!("1"));
    assert_eq!(of_one.variables, [change("count", &[], json!("0"), json!("1")), seen]);
    let simulation = check(&mut world, 2, &call(2, one, "Forget", &params[..1], 0));
    let of_one = simulation.changes.iter().find(|change| change.address == one).unwrap();
    assert_eq!(of_one.variables, [change("seen", &[&hex(&other), "forward"], json!("1"), json!(null))]);
    check(&mut world, 2, &call(2, one, "Loop", &[], 0));
}

#[test]
fn simulation_rejects_what_admission_rejects() {
    let mut world = World::new();
    let hello = world.hello();
    let greet = call(2, hello, "Greet", &[], 0);
    let check = |request: SimulationRequest, text: &str| {
        for error in [
            simulate(&world.net, &request).unwrap_err().to_string(),
            world.net.test.chain().estimate_gas(&request).unwrap_err().to_string(),
        ] {
            assert!(error.contains(text), "{text} is missing in {error}");
        }
    };
    check(SimulationRequest { sender: user(20), ..greet.clone() }, "The sender of the txn has no balance");
    check(SimulationRequest { sender: Address::ZERO, ..greet.clone() }, "Invalid address for issuing transactions");
    check(
        SimulationRequest { gas_limit: Some(Gas::new(5)), ..greet.clone() },
        "lower than minimum for invoking contract",
    );
    check(SimulationRequest { gas_limit: Some(Gas::new(500_000)), ..greet.clone() }, "txn gas limit exceeding");
    check(SimulationRequest { amount: Qa::new(FUNDS), ..greet.clone() }, "Insufficient funds");
    check(SimulationRequest { amount: Qa::MAX, ..greet.clone() }, "overflow");
    let cheap = Some(GasPrice::new(Qa::new(PRICE - 1)));
    check(SimulationRequest { gas_price: cheap, ..greet.clone() }, "lower than minimum allowable");
    let dear = Some(GasPrice::new(Qa::new(FUNDS)));
    check(SimulationRequest { gas_price: dear, ..greet.clone() }, "Insufficient funds");
    check(SimulationRequest { to: user(3), ..greet.clone() }, "Non - contract address called");
    check(SimulationRequest { to: user(20), ..greet.clone() }, "To addr is null");
    check(request(1, hello), "Contract account won't accept normal txn");
    check(request(1, Address::ZERO), "Code is empty and To addr is null");
    check(SimulationRequest { data: "[".repeat(1_000), ..greet.clone() }, "Error Code: 11, data: not JSON: recursion");
    check(SimulationRequest { data: "[]".to_owned(), ..greet.clone() }, "Error Code: 11, data: expected an object");
    let init = |data: &str| SimulationRequest { data: data.to_owned(), ..deployment(1, HELLO, &[]) };
    check(init("{}"), "Error Code: 11, data: init data: expected an array, got an object");
    check(init("[]"), "Error Code: 11, data: expected one _scilla_version");
    let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "7"});
    check(init(&json!([version]).to_string()), "Error Code: 12, data: expected a supported _scilla_version");
    let library = json!({
        "constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": ["Numbers", hex(&user(1))]
    });
    let list = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": [library]});
    check(deployment(1, HELLO, &[list]), "Error Code: 11, data: expected only addresses of libraries in _extlibs");
    let small = SimulationRequest { gas_limit: Some(Gas::new(99)), code: "x".to_owned(), ..init("[]") };
    check(small, "Error Code: 22, gas limit: expected at least 100, got 99");
    check(SimulationRequest { code: "x".repeat(76_801), ..request(1, Address::ZERO) }, "Code size is too large");
    check(
        SimulationRequest { gas_limit: Some(Gas::new(299)), ..greet },
        "Error Code: 22, gas limit: expected at least 300",
    );
}

/// Checks that a transaction succeeds with the estimated gas limit, and fails with one gas less, both simulated and in
/// a block.
fn check_estimate(world: &mut World, from: u8, request: &SimulationRequest) {
    let before = everything(&world.net);
    let estimate = world.net.test.chain().estimate_gas(request).unwrap();
    assert_eq!(everything(&world.net), before, "an estimate has no effect");
    let less = Gas::new(estimate.limit.get() - 1);
    let with_less = world.net.test.chain().simulate(&SimulationRequest { gas_limit: Some(less), ..request.clone() });
    assert!(with_less.is_err() || with_less.is_ok_and(|simulation| !simulation.receipt.success));
    let failed = execute(world, from, request, less);
    assert!(failed.is_none_or(|receipt| !receipt.success), "{less} is enough");
    let receipt = execute(world, from, request, estimate.limit).unwrap();
    assert!(receipt.success, "{estimate:?} {receipt:?}");
    assert_eq!(receipt.cumulative_gas, estimate.used);
    assert!(estimate.used <= estimate.limit);
}

#[test]
fn estimates_are_enough_and_no_more() {
    let mut world = World::new();
    check_estimate(&mut world, 1, &SimulationRequest { amount: Qa::new(7), ..request(1, user(9)) });
    check_estimate(&mut world, 1, &deployment(1, HELLO, &[address_param("owner", &user(1))]));
    check_estimate(&mut world, 1, &deployment(1, RELAY, &[]));
    check_estimate(&mut world, 1, &deployment(1, "scilla_version 0\ncontract Empty ()\n", &[]));
    let flag = json!({
        "vname": "_library", "type": "Bool", "value": {"constructor": "True", "argtypes": [], "arguments": []}
    });
    check_estimate(
        &mut world,
        1,
        &deployment(1, "scilla_version 0\nlibrary Numbers\nlet answer = Uint32 42\n", &[flag]),
    );
    let hello = world.hello();
    check_estimate(&mut world, 2, &call(2, hello, "Greet", &[], 0));
    check_estimate(&mut world, 1, &call(1, hello, "SetGreeting", &[text_param("text", &"long ".repeat(400))], 0));
    let (one, other) = (world.relay(), world.relay());
    let to = address_param("to", &other);
    check_estimate(&mut world, 2, &call(2, one, "Forward", &[to.clone(), address_param("payee", &user(9))], 20));
    check_estimate(&mut world, 2, &call(2, one, "Ask", &[to, text_param("tag", "Take")], 3));
    check_estimate(&mut world, 2, &call(2, one, "Look", &[address_param("at", &other)], 0));
}

#[test]
fn call_that_always_fails_has_no_estimate() {
    let mut world = World::new();
    let hello = world.hello();
    let mine = call(2, hello, "SetGreeting", &[text_param("text", "Mine")], 0);
    let error = world.net.test.chain().estimate_gas(&mine).unwrap_err();
    assert!(matches!(error, SimulationError::Fails { .. }), "{error}");
    for words in ["fails with a gas limit of 400000", "error 7", "line 41: Exception thrown", "NotTheOwner"] {
        assert!(error.to_string().contains(words), "{words} is missing in {error}");
    }
    let low = SimulationRequest { gas_limit: Some(Gas::new(310)), ..call(2, hello, "Greet", &[], 0) };
    assert!(
        matches!(world.net.test.chain().estimate_gas(&low), Err(SimulationError::Fails { limit, .. }) if limit == Gas::new(310))
    );
}

#[test]
fn senders_spend_no_more_gas_than_they_can_pay() {
    let mut world = World::new();
    let hello = world.hello();
    let greet = SimulationRequest { amount: Qa::new(FUNDS - 5_000 * PRICE), ..call(2, hello, "Greet", &[], 0) };
    assert_eq!(simulate(&world.net, &greet).unwrap().gas_limit, Gas::new(5_000));
    assert!(world.net.test.chain().estimate_gas(&greet).unwrap().limit < Gas::new(5_000));
    assert_eq!(simulate(&world.net, &call(2, hello, "Greet", &[], 0)).unwrap().gas_limit, Gas::new(400_000));
    let in_ds = SimulationRequest { priority: true, ..call(2, hello, "Greet", &[], 0) };
    assert_eq!(simulate(&world.net, &in_ds).unwrap().gas_limit, Gas::new(500_000));
}

#[test]
fn the_block_is_the_next_that_executes_something() {
    let mut net = Net::new(config(1, 3));
    for _ in 0..7 {
        let simulation = simulate(&net, &request(1, user(2))).unwrap();
        let hash = net.pay(1, user(2), 0, 0);
        while net.status(&hash) != Some(3) {
            net.tick();
        }
        let stored = net.snapshot().transaction(&hash).unwrap().unwrap();
        assert_eq!(stored.receipt, simulation.receipt);
    }
}
