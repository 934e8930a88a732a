//! Valid and invalid requests that the test generates from the OpenRPC document. Each response is a JSON-RPC response
//! without an internal error, and each result matches the document.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use silica_protocol::{Address, Nonce};
use silica_tests::{Connection, Dice, Node, Wallet, schema::Document};

use crate::contract::HELLO;

/// Seed of the generated requests.
const SEED: u64 = 20_260_101;

/// Number of calls of each method with valid parameters.
const ROUNDS: usize = 12;

/// Returns the JSON texts of values that replace a valid parameter.
fn wrong_values() -> Vec<String> {
    let mut values: Vec<String> = [
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "1e308",
        "1e400",
        "4294967296",
        "18446744073709551616",
        "\"\"",
        "\"\\u0000\"",
        "\"0x\"",
        "\"-1\"",
        "\"99999999999999999999999999999999999999999\"",
        "[]",
        "[[]]",
        "{}",
        "{\"a\":{}}",
        "{\"version\":1}",
    ]
    .map(str::to_owned)
    .to_vec();
    values.push(format!("\"{}\"", "7".repeat(100_000)));
    values.push(format!("\"{}\"", "\u{1f980}".repeat(1_000)));
    values.push("[".repeat(100) + &"]".repeat(100));
    values.push("[".repeat(20_000) + &"]".repeat(20_000));
    values.push("{\"a\":".repeat(100) + "1" + &"}".repeat(100));
    values
}

/// Adds transactions to a chain. Returns known values by the names of schemas.
fn chain(node: &Node) -> BTreeMap<&'static str, Vec<Value>> {
    let (wallet, stranger) = (Wallet::funded(0), Wallet::stranger(3));
    let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"},
        {"vname": "owner", "type": "ByStr20", "value": prefixed(&wallet.hex())}]);
    let mut deployment = wallet.payment(1, Address::ZERO, 0);
    (deployment.gas_limit, deployment.code, deployment.data) = (20_000, HELLO.to_owned(), init.to_string());
    let payment = wallet.payment(2, stranger.address(), 5);
    let waiting = Wallet::funded(1).payment(2, stranger.address(), 5);
    for transaction in [&deployment, &payment] {
        node.result("CreateTransaction", &json!([transaction.json()]));
        node.result("IncreaseBlocknum", &json!([1]));
    }
    node.result("CreateTransaction", &json!([waiting.json()]));
    let contract = Address::of_contract(&wallet.address(), Nonce::new(0));
    let hashes = [deployment.hash(), payment.hash(), waiting.hash()];
    let bare: Vec<Value> = hashes.iter().map(|hash| json!(hash)).collect();
    let both: Vec<Value> = hashes.iter().flat_map(|hash| [json!(hash), json!(prefixed(hash))]).collect();
    let addresses = [contract, wallet.address(), stranger.address()];
    let block = node.result("GetTxBlock", &json!(["1"]));
    let requests = (1..4).map(|nonce| Wallet::funded(2).payment(nonce, stranger.address(), 1).json());
    let call = json!({"senderAddr": wallet.hex(), "toAddr": contract.to_string(), "amount": "0",
        "data": json!({"_tag": "Greet", "params": []}).to_string()});
    let numbers = ["0", "1", "2", "3", "99", "18446744073709551615"];
    BTreeMap::from([
        ("Address", addresses.iter().flat_map(|it| [json!(it.to_string()), json!(it.to_bech32())]).collect()),
        ("EthAddress", addresses.iter().map(|it| json!(prefixed(&it.to_string()))).collect()),
        ("BareTransactionHash", bare),
        ("DeploymentHash", both.clone()),
        ("TransactionHash", both),
        ("EthTransactionHash", hashes.iter().map(|hash| json!(prefixed(hash))).collect()),
        ("EthBlockHash", vec![json!(prefixed(block["body"]["BlockHash"].as_str().unwrap()))]),
        ("EthLogFilter", vec![json!({}), json!({"fromBlock": "earliest", "address": prefixed(&contract.to_string())})]),
        ("EthBlockTag", ["latest", "earliest", "pending", "0x1", "0xffff"].map(Value::from).to_vec()),
        ("DecimalNumber", numbers.map(Value::from).to_vec()),
        ("Number", numbers.map(Value::from).to_vec()),
        ("TransactionRequest", requests.collect()),
        (
            "SimulatedTransaction",
            vec![call, json!({"senderAddr": wallet.hex(), "toAddr": stranger.hex(), "amount": "1"})],
        ),
        // Only block modes without a timer, so that responses do not depend on the time.
        ("BlockMode", vec![json!("manual"), json!("instant")]),
    ])
}

/// A client that checks each response against the OpenRPC document.
struct Tester<'a> {
    document: &'a Document,
    connection: Connection,
    sent: usize,
    results: usize,
}

impl Tester<'_> {
    /// Calls a method with parameters as text. Returns whether the response has a result.
    fn ask(&mut self, method: &Value, name: &str, params: &str) -> bool {
        let request = format!("{{\"id\":7,\"jsonrpc\":\"2.0\",\"method\":\"{name}\",\"params\":{params}}}");
        let shown: String = request.chars().take(300).collect();
        let answer = self.connection.post(request.as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{shown}");
        let answer: Value = serde_json::from_slice(&answer.body).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let members = answer.as_object().unwrap();
        assert!(members.len() == 3 && answer["jsonrpc"] == "2.0", "{shown}: {answer}");
        self.sent += 1;
        if let Some(error) = members.get("error") {
            let code = error["code"].as_i64().unwrap_or_else(|| panic!("{shown}: {answer}"));
            assert!(error["message"].is_string() && code != -32603, "{shown}: {answer}");
            // The response to an unreadable request has no id.
            assert!(
                answer["id"] == 7 || answer["id"].is_null() && [-32700, -32600].contains(&code),
                "{shown}: {answer}"
            );
            return false;
        }
        assert_eq!(answer["id"], 7, "{shown}");
        let fault = self.document.fault(&method["result"]["schema"], &members["result"]);
        assert_eq!(fault, None, "{shown}");
        self.results += 1;
        true
    }
}

fn prefixed(digits: &str) -> String {
    format!("0x{digits}")
}

fn written(params: &[String]) -> String {
    format!("[{}]", params.join(","))
}

#[test]
fn requests_generated_from_the_document_get_documented_responses() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openrpc.json")).unwrap();
    let document = Document::new(serde_json::from_str(&text).unwrap());
    let node = Node::start(&["--block-mode", "manual"]);
    let known = chain(&node);
    let mut dice = Dice::new(SEED);
    let mut tester = Tester { document: &document, connection: node.connect(), sent: 0, results: 0 };
    let wrong_values = wrong_values();
    for method in document.methods() {
        let described = method["params"].as_array().unwrap();
        let required = described.iter().filter(|param| param["required"] == true).count();
        let names: Vec<&str> = std::iter::once(&method["name"])
            .chain(method["x-aliases"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        let fitting = |dice: &mut Dice| -> Vec<String> {
            let count = required + dice.index(described.len() - required + 1);
            described[..count]
                .iter()
                .map(|param| document.fitting(&param["schema"], &known, dice).to_string())
                .collect()
        };
        for _ in 0..ROUNDS {
            let name = *dice.choose(&names).unwrap();
            let params = fitting(&mut dice);
            tester.ask(method, name, &written(&params));
        }

        let name = names[0];
        let good = fitting(&mut dice);
        for (at, param) in described.iter().enumerate().take(good.len()) {
            for wrong in &wrong_values {
                let mut params = good.clone();
                params[at].clone_from(wrong);
                let has_result = tester.ask(method, name, &written(&params));
                let fault = serde_json::from_str(wrong).ok().and_then(|value| document.fault(&param["schema"], &value));
                // Null counts as an absent parameter.
                let is_left_out = wrong == "null" && param["required"] == false;
                assert!(!has_result || fault.is_none() || is_left_out, "{name} takes {wrong:.100}: {fault:?}");
            }
        }
        if required > 0 {
            assert!(!tester.ask(method, name, &written(&good[..required - 1])), "{name} misses nothing");
        }
        let surplus: Vec<String> =
            good.iter().cloned().chain(vec!["1".to_owned(); described.len() - good.len() + 1]).collect();
        assert!(!tester.ask(method, name, &written(&surplus)) || described.is_empty(), "{name} takes too much");
        for params in ["{}", "null", "7", "\"x\"", "{\"x\":1}"] {
            tester.ask(method, name, params);
        }
    }
    assert!(tester.sent > 3_000 && tester.results > 1_000, "{} of {} have results", tester.results, tester.sent);
    assert_eq!(node.result("GetNetworkId", &json!([])), "222");
    let end = node.stop();
    assert!(end.status.success() && !end.output.contains("panicked"), "{}", end.output);
}
