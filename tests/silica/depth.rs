//! Deep nesting on the threads of a node: long chains of calls, and values with 10,000 levels.

use serde_json::{Value, json};
use silica_protocol::Address;

use crate::contract::Chain;

const DEEP: &str = r#"scilla_version 0
library Deep
let nil = Nil {Message}
let one_message = fun (m : Message) => Cons {Message} m nil
let nothing = Uint128 0
let none_left = Uint32 0
let one = Uint32 1
contract Deep ()
field depth : Nat = Zero
field runs : Uint32 = Uint32 0
transition Make (levels : Uint32)
  deep = builtin to_nat levels;
  depth := deep
end
transition Keep (gas : Uint32)
  used = builtin to_nat gas;
  deep <- depth;
  depth := deep
end
transition Emit (gas : Uint32)
  used = builtin to_nat gas;
  deep <- depth;
  e = { _eventname : "Deep"; depth : deep };
  event e
end
transition Down (left : Uint32)
  n <- runs;
  more = builtin add n one;
  runs := more;
  is_bottom = builtin eq left none_left;
  match is_bottom with
  | True =>
  | False =>
    less = builtin sub left one;
    m = { _tag : "Down"; _recipient : _this_address; _amount : nothing; left : less };
    messages = one_message m;
    send messages
  end
end
"#;

fn number(name: &str, value: u32) -> Value {
    json!([{"vname": name, "type": "Uint32", "value": value.to_string()}])
}

/// Simulates a call, executes it, and compares the receipts. Returns the receipt.
#[track_caller]
fn call(chain: &mut Chain, contract: Address, tag: &str, params: &Value) -> Value {
    let data = json!({"_tag": tag, "params": params}).to_string();
    let request = json!([{
        "senderAddr": silica_tests::Wallet::funded(1).hex(), "toAddr": contract.to_string(), "data": data, "gasLimit": "400000",
    }]);
    let simulated = chain.node.result("silica_simulateTransaction", &request);
    let receipt = chain.call_with(1, contract, &data, 400_000);
    assert_eq!(simulated["receipt"], receipt);
    receipt
}

#[test]
fn chains_of_calls_reach_their_limit() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(DEEP, &[]);
    let receipt = call(&mut chain, contract, "Down", &number("left", 20));
    assert_eq!(receipt["success"], true, "{receipt}");
    assert_eq!(receipt["transitions"].as_array().unwrap().len(), 20);
    assert_eq!(receipt["transitions"][19]["depth"], 19);
    let receipt = call(&mut chain, contract, "Down", &number("left", 21));
    assert_eq!(receipt["errors"], json!({"21": [15]}));
    let runs = chain.node.result("GetSmartContractSubState", &json!([contract.to_string(), "runs", []]));
    assert_eq!(runs, json!({"runs": "21"}));
}

#[test]
fn deep_values_are_kept_and_refused_where_they_do_not_fit() {
    const LEVELS: u32 = 10_000;
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(DEEP, &[]);
    let receipt = call(&mut chain, contract, "Make", &number("levels", LEVELS));
    assert_eq!(receipt["success"], true, "{receipt}");
    // The gas for reading a value depends on its size, which is 1 here. So the gas of other statements has to pay for
    // the work of the read.
    let receipt = call(&mut chain, contract, "Keep", &number("gas", 1));
    assert_eq!((&receipt["errors"], &receipt["cumulative_gas"]), (&json!({"0": [7]}), &json!("400000")), "{receipt}");
    let receipt = call(&mut chain, contract, "Keep", &number("gas", 100_000));
    assert_eq!(receipt["success"], true, "{receipt}");
    // The JSON of an event cannot nest this deep, so the call fails with code 9.
    let receipt = call(&mut chain, contract, "Emit", &number("gas", 100_000));
    assert_eq!(receipt["errors"], json!({"0": [9]}), "{receipt}");
    // The response has deeply nested state as text.
    let address = contract.to_string();
    let state = chain.node.result("GetSmartContractState", &json!([address]));
    let text = state["depth"].as_str().expect("text of a document");
    assert_eq!(text.matches("\"Succ\"").count(), LEVELS as usize);
    let sub = chain.node.result("GetSmartContractSubState", &json!([address, "depth", []]));
    assert_eq!(sub["depth"].as_str(), Some(text));
    let receipt = call(&mut chain, contract, "Make", &number("levels", 1));
    assert_eq!(receipt["success"], true, "{receipt}");
}
