//! Edits of the state: their effects, their presence in proofs and after restarts and rebuilds, and rejected edits.

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Directory, Node, Wallet, node::run};

use crate::{
    INVALID_PARAMS, balance, check_error, check_result,
    contract::{Chain, HELLO, address_param},
    height, no_address,
};

/// One Zil, in Qa.
const ZIL: u128 = 1_000_000_000_000;

#[test]
fn balance_is_set_and_added_to() {
    let node = Node::start(&[]);
    let stranger = Wallet::stranger(1);
    check_result(&node, "silica_setBalance", &json!([stranger.hex(), "5"]), &json!("1"));
    assert_eq!(balance(&node, &stranger.hex()), (5, 0));
    check_result(
        &node,
        "silica_addBalance",
        &json!([stranger.address().to_bech32(), (10 * ZIL).to_string()]),
        &json!("2"),
    );
    assert_eq!(balance(&node, &stranger.hex()), (10 * ZIL + 5, 0));
    // The account can spend this money.
    let payment = stranger.payment(1, Wallet::funded(0).address(), ZIL);
    node.result("CreateTransaction", &json!([payment.json()]));
    assert_eq!(balance(&node, &stranger.hex()), (9 * ZIL + 5 - silica_tests::wallet::FEE, 1));
    check_result(&node, "silica_setBalance", &json!([stranger.hex(), "0"]), &json!("4"));
    assert_eq!(balance(&node, &stranger.hex()), (0, 1));
    let block = node.result("GetTxBlock", &json!(["4"]));
    assert_eq!(block["header"]["NumTxns"], 0);
    assert_eq!(height(&node), 4);
}

#[test]
fn edit_has_a_block_of_its_own_in_every_mode() {
    for mode in ["manual", "interval=3600000"] {
        let node = Node::start(&["--block-mode", mode]);
        let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
        check_result(&node, "silica_setBalance", &json!([Wallet::stranger(1).hex(), "7"]), &json!("1"));
        assert_eq!(balance(&node, &Wallet::stranger(1).hex()).0, 7, "the transaction stays pending");
        node.result("silica_mine", &json!([]));
        assert_eq!(balance(&node, &Wallet::stranger(1).hex()).0, 8);
    }
}

#[test]
fn edit_of_a_nonce_makes_pending_transactions_executable() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payer = Wallet::funded(0);
    let pay = |nonce| {
        let payment = payer.payment(nonce, Wallet::stranger(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
        payment.hash()
    };
    let (early, due) = (pay(3), pay(8));
    node.result("silica_mine", &json!([]));
    assert_eq!(balance(&node, &payer.hex()).1, 0, "both wait");
    check_result(&node, "silica_setNonce", &json!([payer.hex(), 7]), &json!("2"));
    assert_eq!(balance(&node, &payer.hex()).1, 7);
    node.result("silica_mine", &json!([]));
    assert_eq!(balance(&node, &payer.hex()).1, 8);
    assert_eq!(node.result("GetTransaction", &json!([due]))["receipt"]["success"], true);
    let status = node.result("GetTransactionStatus", &json!([early]));
    assert_eq!((&status["modificationState"], &status["status"]), (&json!(2), &json!(27)));
    check_result(&node, "silica_setNonce", &json!([Wallet::stranger(9).hex(), 3]), &json!("4"));
    assert_eq!(balance(&node, &Wallet::stranger(9).hex()), (0, 3));
}

#[test]
fn vacuous_block_comes_before_an_edit() {
    let node = Node::start(&["--block-mode", "manual", "--blocks-per-ds-epoch", "3"]);
    node.result("silica_mine", &json!([1]));
    // The third block of the epoch is vacuous, and pays its reward to the node.
    for expected in [2, 4, 5, 7] {
        let made = node.result("silica_addBalance", &json!([Wallet::stranger(1).hex(), "1"]));
        let made: u64 = made.as_str().unwrap().parse().unwrap();
        assert!(made >= expected, "{made}");
    }
    assert_eq!(balance(&node, &Wallet::stranger(1).hex()).0, 4);
    // The circulating supply is the money that has left the mining reserve. An edit does not change the supply.
    node.result("silica_mine", &json!([1]));
    let before = height(&node);
    let supply = node.result("GetTotalCoinSupply", &json!([]));
    node.result("silica_addBalance", &json!([Wallet::stranger(2).hex(), ZIL.to_string()]));
    assert_eq!(height(&node), before + 1, "no reward was paid");
    check_result(&node, "GetTotalCoinSupply", &json!([]), &supply);
}

/// A contract with fields of several types.
const FIELDS: &str = r"scilla_version 0
library Fields
type Side = | Left | Right of Uint32 ByStr20
contract Fields ()
field count : Uint128 = Uint128 0
field who : ByStr20 = 0x0000000000000000000000000000000000000000
field side : Side = Left
field list : List (Option String) = Nil {(Option String)}
field nested : Map ByStr20 (Map Uint32 String) = Emp ByStr20 (Map Uint32 String)
transition Count ()
  n <- count; one = Uint128 1; m = builtin add n one; count := m
end
";

fn deployed() -> (Chain, String) {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(FIELDS, &[]);
    (chain, contract.to_string())
}

fn state(node: &Node, contract: &str) -> Value {
    node.result("GetSmartContractState", &json!([contract]))
}

const KEY: &str = "0x4baf5fada8e5db92c3d3242618c5b47133ae003c";

#[test]
fn fields_of_contracts_are_set() {
    let (mut chain, contract) = deployed();
    let set = |node: &Node, field: &str, keys: Value, value: Value| {
        node.result("silica_setContractField", &json!([contract, field, keys, value]));
        state(node, &contract)[field].clone()
    };
    let node = &chain.node;
    assert_eq!(set(node, "count", json!([]), json!("41")), "41");
    assert_eq!(set(node, "who", json!([]), json!(KEY.to_uppercase().replace("0X", "0x"))), KEY);
    let list = json!([{"constructor": "None", "argtypes": ["String"], "arguments": []},
                      {"constructor": "Some", "argtypes": ["String"], "arguments": ["a \"b\""]}]);
    assert_eq!(set(node, "list", json!([]), list.clone()), list);
    let of_own_type = format!("0x{contract}.Side");
    let side = json!({"constructor": format!("0x{contract}.Right"), "argtypes": [], "arguments": ["7", KEY]});
    assert_eq!(set(node, "side", json!([]), side.clone()), side, "{of_own_type}");
    // An entry, the map with this entry, and the whole field.
    assert_eq!(set(node, "nested", json!([KEY, "5"]), json!("five")), json!({KEY: {"5": "five"}}));
    assert_eq!(set(node, "nested", json!([KEY, "6"]), json!("six")), json!({KEY: {"5": "five", "6": "six"}}));
    assert_eq!(set(node, "nested", json!([KEY, "5"]), json!(null)), json!({KEY: {"6": "six"}}));
    let inner = json!([{"key": "1", "val": "one"}, {"key": "2", "val": "two"}]);
    assert_eq!(set(node, "nested", json!([KEY]), inner), json!({KEY: {"1": "one", "2": "two"}}));
    assert_eq!(set(node, "nested", json!([KEY]), json!(null)), json!({}));
    let other = "0x0000000000000000000000000000000000000001";
    let whole = json!([{"key": KEY, "val": []}, {"key": other, "val": [{"key": "9", "val": ""}]}]);
    assert_eq!(set(node, "nested", json!([]), whole), json!({KEY: {}, other: {"9": ""}}));
    assert_eq!(set(node, "nested", json!([]), json!([])), json!({}));
    // The contract uses the edited state.
    let address: Address = contract.parse().unwrap();
    assert_eq!(chain.call(0, address, "Count", &json!([]))["success"], true);
    assert_eq!(state(&chain.node, &contract)["count"], "42");
}

#[test]
fn edits_are_proved_and_outlive_restart_and_rebuilding() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let mut chain = Chain::over(Node::start_in(&data, &[]));
    let (contract, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    let contract = contract.to_string();
    let node = chain.node;
    node.result("silica_setBalance", &json!([Wallet::stranger(1).hex(), (3 * ZIL).to_string()]));
    node.result("silica_setNonce", &json!([Wallet::stranger(2).hex(), 5]));
    let visitors: Vec<_> = (0..400).map(|n| json!({"key": format!("0x{n:040x}"), "val": n.to_string()})).collect();
    node.result("silica_setContractField", &json!([contract, "visits", [], visitors]));
    node.result("silica_setContractField", &json!([contract, "greeting", [], "Edited"]));
    node.result("silica_setContractField", &json!([contract, "visits", [format!("0x{:040x}", 7)], null]));
    node.result("silica_mine", &json!([2]));
    let expected = (state(&node, &contract), node.result("GetLatestTxBlock", &json!([])));
    assert_eq!(expected.0["visits"].as_object().unwrap().len(), 399);
    let proof = ["proof", "verify", "--url", &node.url(), "--address", &contract, "--variable", "greeting"];
    let proved = run(&proof);
    assert!(proved.status.success() && proved.output.contains("Edited"), "{}", proved.output);
    node.stop();
    let data_arg = data.to_str().unwrap();
    for command in ["check", "rebuild", "check"] {
        let done = run(&["db", command, "--data-dir", data_arg]);
        assert!(done.status.success(), "{command}: {}", done.output);
    }
    let node = Node::start_in(&data, &[]);
    assert_eq!((state(&node, &contract), node.result("GetLatestTxBlock", &json!([]))), expected);
    assert_eq!(balance(&node, &Wallet::stranger(1).hex()), (3 * ZIL, 0));
    assert_eq!(balance(&node, &Wallet::stranger(2).hex()), (0, 5));
}

#[test]
fn wrong_edits_of_accounts_are_refused() {
    let (chain, contract) = deployed();
    let node = &chain.node;
    let (someone, reserve_address) = (Wallet::funded(0).hex(), "0".repeat(40));
    let most = 10_u128.pow(30);
    for method in ["silica_setBalance", "silica_addBalance"] {
        let name = if method == "silica_setBalance" { "balance" } else { "amount" };
        let text = |problem: &str| format!("{name}: {problem}");
        for (amount, problem) in [
            ("", "expected decimal digits, got \"\""),
            ("-1", "expected decimal digits, got \"-1\""),
            ("1.5", "expected decimal digits, got \"1.5\""),
            ("0x10", "expected decimal digits, got \"0x10\""),
        ] {
            check_error(node, method, &json!([someone, amount]), (-8, &text(problem)));
        }
        let huge = format!("{}0", u128::MAX);
        assert!(node.error(method, &json!([someone, huge])).1.starts_with(&text("expected a number up to")));
        for amount in [most + 1, u128::MAX] {
            let (most, whose) = match name {
                "amount" => (most - balance(node, &someone).0, " for this account"),
                _ => (most, ""),
            };
            let refused = text(&format!("expected at most {most} Qa{whose}, got {amount}"));
            check_error(node, method, &json!([someone, amount.to_string()]), (-8, &refused));
        }
        let reserve = (-5, "the null account cannot be edited: it holds the reserve");
        check_error(node, method, &json!([reserve_address, "1"]), reserve);
        check_error(node, method, &json!(["12", "1"]), (-8, &no_address("12")));
        check_error(node, method, &json!(["zil1x", "1"]), (-8, &no_address("zil1x")));
        for params in
            [json!([]), json!([someone]), json!([someone, 5]), json!([someone, null]), json!([someone, "1", 1])]
        {
            check_error(node, method, &params, INVALID_PARAMS);
        }
    }
    let nonce = "silica_setNonce";
    node.result(nonce, &json!([someone, 20]));
    check_error(
        node,
        nonce,
        &json!([someone, 19]),
        (-8, "nonce: expected at least 20, the nonce of the account, got 19"),
    );
    let high = (-8, "nonce: expected at most 9007199254740992, got 18446744073709551615");
    check_error(node, nonce, &json!([someone, u64::MAX]), high);
    check_error(node, nonce, &json!([contract, 5]), (-8, "a contract has no nonce"));
    check_error(
        node,
        nonce,
        &json!([reserve_address, 5]),
        (-5, "the null account cannot be edited: it holds the reserve"),
    );
    for params in [json!([]), json!([someone]), json!([someone, "5"]), json!([someone, -1]), json!([someone, 1.5])] {
        check_error(node, nonce, &params, INVALID_PARAMS);
    }
    assert_eq!(height(node), 2);
}

#[test]
fn wrong_values_of_fields_are_refused() {
    let (mut chain, contract) = deployed();
    let method = "silica_setContractField";
    let node = &chain.node;
    let check = |field: &str, keys: Value, value: Value, expected: &str| {
        let (code, text) = node.error(method, &json!([contract, field, keys, value]));
        assert_eq!((code, text.as_str()), (-8, expected), "{field}{keys} {value}");
    };
    let fields = "field: expected one of count, who, side, list, nested";
    let long = "x".repeat(1000);
    for (name, got) in [("nothing", "nothing"), ("_balance", "_balance"), (&long, &long[..64])] {
        check(name, json!([]), json!("1"), &format!("{fields}, got \"{got}\""));
    }
    check("count", json!([]), json!(1), "value: Expected string, got int");
    check("count", json!([]), json!("-1"), "value: Invalid value in JSON: -1 of type Uint128");
    check("count", json!([]), json!("one"), "value: Invalid value in JSON: one of type Uint128");
    check("count", json!(["1"]), json!("1"), "keys: expected at most 0, got 1");
    check("count", json!([]), json!(null), "value: expected a value, because only entries of maps can be removed");
    check("nested", json!([]), json!(null), "value: expected a value, because only entries of maps can be removed");
    check("who", json!([]), json!("0x1234"), "value: Invalid value in JSON: 0x1234 of type ByStr20");
    check("who", json!([]), json!("1234"), "value: no byte string: 1234");
    check("list", json!([]), json!({}), "value: Member not found in json: constructor");
    check("nested", json!([]), json!({}), "value: JSON parsing: error parsing Map");
    check("nested", json!([KEY, "1", "2"]), json!("x"), "keys: expected at most 2, got 3");
    check("nested", json!(["0x12", "1"]), json!("x"), "keys: Invalid value in JSON: 0x12 of type ByStr20");
    check("nested", json!([KEY, "x"]), json!("x"), "keys: Invalid value in JSON: x of type Uint32");
    check("nested", json!([KEY, "1"]), json!(["x"]), "value: Expected string, got array");
    let wide = json!([{"key": "0x12", "val": []}]);
    check("nested", json!([]), wide, "value: Invalid value in JSON: 0x12 of type ByStr20");
    let side = json!({"constructor": format!("0x{contract}.Right"), "argtypes": [], "arguments": ["7", "0x12"]});
    check("side", json!([]), side, "value: Invalid value in JSON: 0x12 of type ByStr20");
    let (code, text) = node.error(method, &json!([contract, "count", [], "9".repeat(1_000_000)]));
    assert!(code == -8 && text.len() < 400, "{text}");
    let (someone, stranger) = (Wallet::funded(0).hex(), Wallet::stranger(1).hex());
    check_error(node, method, &json!([someone, "count", [], "1"]), (-5, "Address not contract address"));
    check_error(node, method, &json!([stranger, "count", [], "1"]), (-5, "Address does not exist"));
    check_error(node, method, &json!(["", "count", [], "1"]), (-8, &no_address("")));
    for params in [
        json!([]),
        json!([contract, "count", []]),
        json!([contract, "count", "", "1"]),
        json!([contract, "count", [1], "1"]),
        json!([contract, 5, [], "1"]),
        json!([contract, "count", [], "1", 1]),
    ] {
        check_error(node, method, &params, INVALID_PARAMS);
    }
    assert_eq!(height(node), 1);
    let address: Address = contract.parse().unwrap();
    assert_eq!(chain.call(0, address, "Count", &json!([]))["success"], true);
}
