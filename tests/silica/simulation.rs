//! `silica_simulateTransaction` and `silica_estimateGas`: comparison with the execution, and invalid requests.

use std::{sync::Arc, thread};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Node, Wallet, wallet::FEE};

use crate::{
    INVALID_PARAMS, balance, check_error,
    contract::{Chain, HELLO, address_param},
    height,
};

const SIMULATE: &str = "silica_simulateTransaction";
const ESTIMATE: &str = "silica_estimateGas";

fn call(from: usize, contract: &Address, tag: &str, params: &Value) -> Value {
    let data = json!({"_tag": tag, "params": params}).to_string();
    json!({"senderAddr": Wallet::funded(from).address().to_bech32(), "toAddr": contract.to_checksum(), "data": data})
}

#[test]
fn payment_is_simulated() {
    let node = Node::start(&[]);
    let (payer, payee) = (Wallet::funded(0), Wallet::stranger(7));
    let request = json!([{"senderAddr": payer.hex(), "toAddr": payee.address().to_bech32(), "amount": "5"}]);
    let simulated = node.result(SIMULATE, &request);
    assert_eq!(node.result(ESTIMATE, &request), json!({"gasLimit": "50", "gasUsed": "50"}));
    let (funds, nonce) = balance(&node, &payer.hex());
    assert_eq!((height(&node), nonce), (0, 0), "nothing happened");
    assert_eq!(simulated["info"], "Non-contract txn, sent to shard");
    assert_eq!(simulated["fee"], FEE.to_string());
    assert!(simulated.get("contractAddress").is_none());
    let mut expected = [
        json!({"address": payer.hex(), "balance": {"new": (funds - 5 - FEE).to_string(), "old": funds.to_string()},
               "nonce": {"new": 1, "old": 0}}),
        json!({"address": payee.hex(), "balance": {"new": "5", "old": null}}),
    ];
    expected.sort_by_key(|change| change["address"].as_str().unwrap().to_owned());
    assert_eq!(simulated["changes"], json!(expected));
    let payment = payer.payment(1, payee.address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    let stored = node.result("GetTransaction", &json!([payment.hash()]));
    assert_eq!(stored["receipt"], simulated["receipt"]);
}

#[test]
fn deployment_and_calls_are_simulated() {
    let mut chain = Chain::new();
    let owner = address_param("owner", &Wallet::funded(0).address());
    let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
    let init = json!([version, owner]).to_string();
    let request = json!([{"senderAddr": Wallet::funded(0).hex(), "code": HELLO, "data": init}]);
    let simulated = chain.node.result(SIMULATE, &request);
    let (contract, _) = chain.deploy(HELLO, &[owner]);
    assert_eq!(simulated["contractAddress"], contract.to_string());
    assert_eq!(simulated["info"], "Contract Creation txn, sent to shard");
    let address = json!(contract.to_string());
    let created = simulated["changes"].as_array().unwrap().iter().find(|change| change["address"] == address).unwrap();
    assert_eq!(created["codeHash"].as_str().unwrap().len(), 64);
    let fields = json!([
        {"indices": [], "new": "Hello, world", "old": null, "variable": "greeting"},
        {"indices": [], "new": [], "old": null, "variable": "visits"},
    ]);
    assert_eq!(created["variables"], fields);

    let request = json!([call(1, &contract, "Greet", &json!([]))]);
    let simulated = chain.node.result(SIMULATE, &request);
    let state = chain.node.result("GetSmartContractState", &json!([address]));
    assert_eq!(state["visits"], json!({}), "nothing happened");
    assert_eq!(chain.call(1, contract, "Greet", &json!([])), simulated["receipt"]);
    let visitor = format!("0x{}", Wallet::funded(1).hex());
    let change = simulated["changes"].as_array().unwrap().iter().find(|change| change["address"] == address).unwrap();
    let expected = json!([{"indices": [visitor], "new": "1", "old": null, "variable": "visits"}]);
    assert_eq!(change["variables"], expected);

    let mine =
        json!([call(1, &contract, "SetGreeting", &json!([{"vname": "text", "type": "String", "value": "Mine"}]))]);
    let simulated = chain.node.result(SIMULATE, &mine);
    assert_eq!(
        (&simulated["receipt"]["success"], &simulated["receipt"]["errors"]),
        (&json!(false), &json!({"0": [7]}))
    );
    let (code, text) = chain.node.error(ESTIMATE, &mine);
    assert_eq!(code, -1);
    assert!(text.contains("fails with a gas limit of 400000: error 7; line 41: Exception thrown"), "{text}");
}

#[test]
fn estimate_is_enough_and_one_less_is_not() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    let request = json!([call(1, &contract, "Greet", &json!([]))]);
    let estimate = chain.node.result(ESTIMATE, &request);
    let limit: u64 = estimate["gasLimit"].as_str().unwrap().parse().unwrap();
    let data = json!({"_tag": "Greet", "params": []}).to_string();
    assert_eq!(chain.call_with(1, contract, &data, limit - 1)["success"], false);
    let receipt = chain.call_with(1, contract, &data, limit);
    assert_eq!((&receipt["success"], &receipt["cumulative_gas"]), (&json!(true), &estimate["gasUsed"]));
}

#[test]
fn wrong_requests_are_refused_by_name() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    let good = call(1, &contract, "Greet", &json!([]));
    let node = &chain.node;
    let changed = |member: &str, value: Value| {
        let mut changed = good.clone();
        changed[member] = value;
        json!([changed])
    };
    for method in [SIMULATE, ESTIMATE] {
        for params in
            [json!([]), json!([good, good]), json!([[]]), json!(["x"]), json!([null]), good.clone(), json!(null)]
        {
            check_error(node, method, &params, INVALID_PARAMS);
        }
        for (member, value, words) in [
            ("senderAddr", json!(null), "expected an address as bech32 or as forty hexadecimal digits, got nothing"),
            ("senderAddr", json!("0x12"), "got \"0x12\""),
            ("toAddr", json!("zil1x"), "got \"zil1x\""),
            ("toAddr", json!(7), "got 7"),
            ("amount", json!("1.5"), "got \"1.5\""),
            ("amount", json!(-1), "got -1"),
            ("gasPrice", json!([]), "got []"),
            ("gasLimit", json!("many"), "a number of units below 2^64"),
            ("code", json!(1), "expected text, got 1"),
            ("data", json!({"_tag": "Greet"}), "expected text, got {\"_tag\":\"Greet\"}"),
            ("priority", json!(1), "expected true or false, got 1"),
        ] {
            let (code, text) = node.error(method, &changed(member, value));
            assert_eq!(code, -8, "{text}");
            assert!(text.starts_with(&format!("{member}: expected")) && text.contains(words), "{text}");
        }
        let surplus = (-8, "expected a member of a simulated transaction, got \"nonce\"");
        check_error(node, method, &changed("nonce", json!(1)), surplus);
        for (member, value, error) in [
            ("senderAddr", json!(Wallet::stranger(1).hex()), (-5, "The sender of the txn has no balance")),
            ("senderAddr", json!("00".repeat(20)), (-5, "Invalid address for issuing transactions")),
            ("toAddr", json!(Wallet::stranger(1).hex()), (-5, "To addr is null")),
            ("toAddr", json!(Wallet::funded(2).hex()), (-5, "Non - contract address called")),
            ("gasPrice", json!("1"), (-26, "GasPrice 1 lower than minimum allowable 2000000000")),
            ("gasLimit", json!(9), (-8, "Gas limit (9) lower than minimum for invoking contract (10)")),
            ("gasLimit", json!("299"), (-8, "Error Code: 22, gas limit: expected at least 300, got 299")),
            ("gasLimit", json!("400001"), (-8, "txn gas limit exceeding shard maximum limit")),
            (
                "amount",
                json!(u128::MAX.to_string()),
                (-8, "tx.GetGasLimit() * tx.GetGasPrice() + tx.GetAmount() overflow!"),
            ),
            ("data", json!("not json"), (-8, "Error Code: 11, data: not JSON: expected ident at line 1 column 2")),
        ] {
            check_error(node, method, &changed(member, value), error);
        }
    }
    assert_eq!(balance(node, &Wallet::funded(1).hex()).1, 0);
    assert_eq!(height(node), 1);
}

/// A contract that counts down a number, for as long as the gas lasts.
const BUSY: &str = r"scilla_version 0
library Busy
let spin = fun (n : Nat) =>
  let folder = @nat_fold Uint32 in
  let step = fun (sum : Uint32) => fun (m : Nat) => let one = Uint32 1 in builtin add sum one in
  let start = Uint32 0 in
  folder step start n
contract Busy ()
field sum : Uint32 = Uint32 0
transition Spin (rounds : Uint32)
  n = builtin to_nat rounds;
  total = spin n;
  sum := total
end
";

#[test]
fn payments_are_served_amid_simulations() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(BUSY, &[]);
    // Each simulation has little work, because the simulations wait for each other.
    let rounds = json!([{"vname": "rounds", "type": "Uint32", "value": "1000"}]);
    let request = json!([call(1, &contract, "Spin", &rounds)]);
    let node = &chain.node;
    thread::scope(|scope| {
        let payer = Arc::new(scope.spawn(|| {
            for nonce in 1..=20 {
                let payment = Wallet::funded(3).payment(nonce, Wallet::stranger(2).address(), 1);
                node.result("CreateTransaction", &json!([payment.json()]));
            }
        }));
        for _ in 0..4 {
            let (payer, request) = (Arc::clone(&payer), &request);
            scope.spawn(move || {
                while !payer.is_finished() {
                    let simulated = node.result(SIMULATE, request);
                    assert_eq!(simulated["receipt"]["success"], true, "{simulated}");
                }
            });
        }
    });
    assert_eq!(balance(node, &Wallet::stranger(2).hex()).0, 20);
    assert_eq!(height(node), 21);
}
