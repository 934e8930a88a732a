//! The JSON-RPC envelope: ids, batches, and errors of the protocol layer
//! (Reference: interface#request, interface#batch).

use std::fs;

use serde_json::{Value, json};
use silica_tests::{Node, node::open_envelope};

const PARSE_ERROR: &str = "JSON_PARSE_ERROR: The JSON-Object is not JSON-Valid";
const INVALID_REQUEST: &str = "INVALID_JSON_REQUEST: The JSON sent is not a valid JSON-RPC Request object";
const METHOD_NOT_FOUND: &str = "METHOD_NOT_FOUND: The method being requested is not available on this server";
const PROCEDURE_IS_METHOD: &str = "PROCEDURE_IS_METHOD: The requested notification is declared as a method";

fn protocol_error(code: i64, message: &str, id: &Value) -> Value {
    json!({"error": {"code": code, "message": message}, "id": id, "jsonrpc": "2.0"})
}

/// Checks that the response to a body is this error of the protocol layer.
#[track_caller]
fn check_refused(node: &Node, body: impl AsRef<[u8]>, code: i64, message: &str, id: &Value) {
    let shown = String::from_utf8_lossy(body.as_ref()).chars().take(200).collect::<String>();
    assert_eq!(node.post_json(body), protocol_error(code, message, id), "{shown}");
}

#[track_caller]
fn check_alive(node: &Node) {
    assert_eq!(node.result("GetNetworkId", &json!([""])), "222");
}

#[test]
fn documented_protocol_errors_are_answered_word_for_word() {
    let node = Node::start(&[]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/rpc-examples/_protocol-errors.json");
    let document: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let examples = document["examples"].as_array().unwrap();
    assert!(examples.len() >= 8);
    for example in examples {
        // The example has the request as text if the request is not JSON.
        let request = &example["request"];
        let body = request.as_str().map_or_else(|| request.to_string(), str::to_owned);
        let mut expected = example["response"].clone();
        // The results in the example come from the main network.
        for answer in expected.as_array_mut().into_iter().flatten() {
            if answer["id"] == 1 {
                answer["result"] = json!("222");
            } else if answer["id"] == 2 {
                answer["result"] = json!("1");
            }
        }
        assert_eq!(node.post_json(&body), expected, "{body}");
    }
}

#[test]
fn ids_come_back_with_their_json_type() {
    let node = Node::start(&[]);
    for id in
        [json!("1"), json!(""), json!("é\u{1F600}\""), json!(1), json!(0), json!(-7), json!(u64::MAX), json!(null)]
    {
        let request = json!({"id": id, "jsonrpc": "2.0", "method": "GetNetworkId", "params": [""]});
        let answer = node.post_json(request.to_string());
        assert_eq!(open_envelope(&answer, &id).unwrap(), "222");
    }
    let answer = node.post_json(r#"{"id":1.0,"jsonrpc":"2.0","method":"GetNetworkId"}"#);
    assert_eq!(answer["id"].as_f64(), Some(1.0), "{answer}");
    assert_eq!(answer["result"], "222");
}

#[test]
fn id_of_another_type_is_no_request() {
    let node = Node::start(&[]);
    for id in ["true", "1.5", "[1]", r#"{"a":1}"#] {
        let body = format!(r#"{{"id":{id},"jsonrpc":"2.0","method":"GetNetworkId","params":[]}}"#);
        check_refused(&node, body, -32600, INVALID_REQUEST, &Value::Null);
    }
}

#[test]
fn request_without_id_is_no_notification() {
    let node = Node::start(&[]);
    let body = r#"{"jsonrpc":"2.0","method":"GetNetworkId","params":[""]}"#;
    check_refused(&node, body, -32604, PROCEDURE_IS_METHOD, &Value::Null);
}

#[test]
fn jsonrpc_must_be_the_text_two_point_zero() {
    let node = Node::start(&[]);
    for member in ["", r#""jsonrpc":"1.0","#, r#""jsonrpc":2.0,"#, r#""jsonrpc":null,"#, r#""jsonrpc":"2","#] {
        let body = format!(r#"{{{member}"id":"a","method":"GetNetworkId","params":[]}}"#);
        check_refused(&node, body, -32600, INVALID_REQUEST, &json!("a"));
    }
}

#[test]
fn method_must_be_text() {
    let node = Node::start(&[]);
    for member in ["", r#""method":1,"#, r#""method":null,"#, r#""method":["GetNetworkId"],"#] {
        let body = format!(r#"{{{member}"id":4,"jsonrpc":"2.0","params":[]}}"#);
        check_refused(&node, body, -32600, INVALID_REQUEST, &json!(4));
    }
}

#[test]
fn unknown_method_is_not_found_and_names_are_case_sensitive() {
    let node = Node::start(&[]);
    for method in ["NoSuchMethod", "", "GetClientVersion", "eth_coinbase"] {
        let request = json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": []});
        check_refused(&node, request.to_string(), -32601, METHOD_NOT_FOUND, &json!(1));
    }
    for method in ["getbalance", "GETBALANCE", "GetBalance "] {
        let refused = node.call(method, &json!([])).unwrap_err();
        let data = Some(json!({"didYouMean": "GetBalance"}));
        assert_eq!((refused.code, refused.message.as_str(), refused.data), (-32601, METHOD_NOT_FOUND, data));
    }
}

#[test]
fn params_must_be_an_array_an_object_or_nothing() {
    let node = Node::start(&[]);
    for params in [r#""x""#, "5", "true", "1.5"] {
        let body = format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params":{params}}}"#);
        check_refused(&node, body, -32600, INVALID_REQUEST, &json!(1));
    }
}

#[test]
fn method_without_parameters_takes_anything() {
    let node = Node::start(&[]);
    for params in [
        r#","params":null"#,
        "",
        r#","params":[]"#,
        r#","params":[""]"#,
        r#","params":{}"#,
        r#","params":[5]"#,
        r#","params":["5"]"#,
        r#","params":{"a":[1,{}]}"#,
    ] {
        let body = format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetNumTxnsTxEpoch"{params}}}"#);
        assert_eq!(node.post_json(&body), json!({"id": 1, "jsonrpc": "2.0", "result": "0"}), "{body}");
    }
}

#[test]
fn method_with_parameters_takes_exactly_its_own() {
    let node = Node::start(&[]);
    let address = silica_tests::Wallet::funded(0).hex();
    for params in [
        json!(null),
        json!([]),
        json!({"addr": address}),
        json!([1]),
        json!([null]),
        json!([[address]]),
        json!([address, address]),
        json!([{"address": address}]),
    ] {
        super::check_error(&node, "GetBalance", &params, super::INVALID_PARAMS);
    }
    let absent = r#"{"id":"1","jsonrpc":"2.0","method":"GetBalance"}"#;
    let (code, message) = super::INVALID_PARAMS;
    check_refused(&node, absent, code, message, &json!("1"));

    for (method, wrong) in [
        ("GetTxBlock", json!([1])),
        ("GetDsBlock", json!([1])),
        ("GetTransaction", json!([1])),
        ("GetTransactionStatus", json!([])),
        ("GetTransactionsForTxBlock", json!([1])),
        ("GetTxnBodiesForTxBlock", json!([1])),
        ("GetMinerInfo", json!([1])),
        ("TxBlockListing", json!(["1"])),
        ("DSBlockListing", json!(["1"])),
        ("TxBlockListing", json!([1.5])),
        ("TxBlockListing", json!([-1])),
        ("TxBlockListing", json!([1u64 << 32])),
        ("GetSmartContractInit", json!([true])),
        ("GetStateProof", json!([address, "00"])),
        ("GetStateProof", json!([address, "00", 1])),
        ("IncreaseBlocknum", json!(["1"])),
        ("SetMinimumGasPrice", json!([1])),
        ("CreateTransaction", json!([])),
        ("CreateTransaction", json!(["x"])),
        ("CreateTransaction", json!([{}, {}])),
    ] {
        super::check_error(&node, method, &wrong, super::INVALID_PARAMS);
    }
}

#[test]
fn number_with_a_zero_fraction_is_integral() {
    let node = Node::start(&[]);
    let body = r#"{"id":"1","jsonrpc":"2.0","method":"TxBlockListing","params":[1.0]}"#;
    assert_eq!(node.post_json(body)["result"]["maxPages"], 1);
}

#[test]
fn unknown_members_are_ignored_and_the_last_of_equal_names_counts() {
    let node = Node::start(&[]);
    let body = r#"{"id":1,"more":{"a":[]},"jsonrpc":"2.0","method":"NoSuchMethod","method":"GetNetworkId","id":2}"#;
    assert_eq!(node.post_json(body), json!({"id": 2, "jsonrpc": "2.0", "result": "222"}));
}

#[test]
fn answer_is_one_line_with_members_in_order() {
    let node = Node::start(&[]);
    let answer = node.post(r#"{"id":"1","jsonrpc":"2.0","method":"GetNetworkId","params":[""]}"#);
    assert_eq!(String::from_utf8(answer.body).unwrap(), r#"{"id":"1","jsonrpc":"2.0","result":"222"}"#);
}

#[test]
fn body_that_is_not_json_is_a_parse_error() {
    let node = Node::start(&[]);
    let bodies: [&[u8]; 9] =
        [b"", b" ", b"{", b"{\"method\": ", b"abc", b"[1,", b"{'id':1}", b"\xff\xfe{}", b"{\"id\":\"\xc3\x28\"}"];
    for body in bodies {
        check_refused(&node, body, -32700, PARSE_ERROR, &Value::Null);
    }
}

#[test]
fn body_that_is_a_scalar_is_no_request() {
    let node = Node::start(&[]);
    for body in ["5", "\"GetNetworkId\"", "null", "true", "1.5"] {
        check_refused(&node, body, -32600, INVALID_REQUEST, &Value::Null);
    }
}

#[test]
fn deep_json_is_rejected_and_the_node_continues() {
    let node = Node::start(&[]);
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [1_000, 100_000, 400_000] {
            let inner = if open == "[" { "" } else { "1" };
            let body = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            let answer = node.post_json(body);
            let one = if answer.is_array() { &answer[0] } else { &answer };
            let code = one["error"]["code"].as_i64().unwrap();
            assert!([-32700, -32600].contains(&code), "{one}");
        }
    }
    let deep = format!(
        r#"{{"id":1,"jsonrpc":"2.0","method":"CreateTransaction","params":[{}{}]}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(node.post_json(deep)["error"]["code"].is_i64());
    check_alive(&node);
}

#[test]
fn batch_is_answered_element_by_element_in_order() {
    let node = Node::start(&[]);
    let call = |id: Value, method: &str| json!({"id": id, "jsonrpc": "2.0", "method": method, "params": []});
    let batch = json!([
        call(json!(3), "GetNetworkId"),
        call(json!("x"), "NoSuchMethod"),
        {"jsonrpc": "2.0", "method": "GetNetworkId"},
        5,
        [call(json!(1), "GetNetworkId")],
        call(json!(null), "GetNetworkId"),
        {},
    ]);
    let expected = json!([
        {"id": 3, "jsonrpc": "2.0", "result": "222"},
        protocol_error(-32601, METHOD_NOT_FOUND, &json!("x")),
        protocol_error(-32604, PROCEDURE_IS_METHOD, &Value::Null),
        protocol_error(-32600, INVALID_REQUEST, &Value::Null),
        protocol_error(-32600, INVALID_REQUEST, &Value::Null),
        {"id": null, "jsonrpc": "2.0", "result": "222"},
        protocol_error(-32600, INVALID_REQUEST, &Value::Null),
    ]);
    assert_eq!(node.post_json(batch.to_string()), expected);
}

#[test]
fn empty_batch_is_one_error() {
    let node = Node::start(&[]);
    check_refused(&node, "[]", -32600, INVALID_REQUEST, &Value::Null);
}

#[test]
fn long_batch_is_answered_whole() {
    let node = Node::start(&["--max-batch", "2000"]);
    let batch: Vec<Value> =
        (0..2_000).map(|id| json!({"id": id, "jsonrpc": "2.0", "method": "GetNetworkId", "params": []})).collect();
    let answers = node.post_json(Value::from(batch).to_string());
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 2_000);
    assert!(answers.iter().enumerate().all(|(i, answer)| answer["id"] == i && answer["result"] == "222"));
}
