//! Readers of many blocks: `silica_getBlocks`.

use std::time::Instant;

use serde_json::{Value, json};
use silica_tests::Node;

use crate::{
    INVALID_PARAMS, check_error, height,
    operations::peak_memory,
    pay,
    subscription::{Client, RELAY, call, deploy, mine},
};

/// Makes a chain with payments, a contract with events, a failed call, DS blocks and empty blocks. Returns the address
/// of the contract.
fn fill(node: &Node) -> String {
    mine(node, 3);
    for nonce in 1..=400 {
        pay(node, nonce, 5);
    }
    let contract = deploy(node, RELAY);
    for (nonce, tag) in [(2, "Take"), (3, "Fail"), (4, "Take")] {
        call(node, nonce, contract, tag);
    }
    mine(node, 250);
    pay(node, 401, 5);
    mine(node, 1);
    contract.to_string()
}

/// Returns the blocks `from` to `to` from the single-block methods.
fn blocks(node: &Node, from: u64, to: u64, bodies: bool) -> Vec<Value> {
    let calls = |method| (from..=to).map(|number| (method, json!([number.to_string()]))).collect::<Vec<_>>();
    let mut blocks: Vec<Value> = node.call_all(&calls("GetTxBlock")).into_iter().map(Result::unwrap).collect();
    if bodies {
        for (block, found) in blocks.iter_mut().zip(node.call_all(&calls("GetTxnBodiesForTxBlock"))) {
            let empty = |text: &str| assert_eq!(text, "TxBlock has no transactions");
            block["transactions"] = found.unwrap_or_else(|refusal| {
                empty(&refusal.message);
                json!([])
            });
        }
    }
    blocks
}

#[test]
fn blocks_are_those_of_the_methods_for_one_block() {
    let node = Node::start(&["--block-mode", "manual"]);
    fill(&node);
    let head = height(&node);
    let all = |bodies| blocks(&node, 0, head, bodies);
    let (plain, full) = (all(false), all(true));
    assert!(
        full.iter().any(|block| block["transactions"].as_array().unwrap().len() > 400),
        "a block of several chunks"
    );
    let ask = |from: u64, to: u64, options: Value| {
        node.result("silica_getBlocks", &json!([from.to_string(), to.to_string(), options]))
    };
    for (from, to) in [(0, head), (0, 0), (head, head), (3, 6), (4, 4), (5, 200), (head - 2, head)] {
        let range = usize::try_from(from).unwrap()..=usize::try_from(to).unwrap();
        for options in [json!({}), json!(null), json!({"bodies": false}), json!({"bodies": null})] {
            assert_eq!(ask(from, to, options), json!(plain[range.clone()]), "{from} {to}");
        }
        assert_eq!(ask(from, to, json!({"bodies": true})), json!(full[range]), "{from} {to}");
    }
    assert_eq!(node.result("silica_getBlocks", &json!(["3", "6"])), json!(plain[3..=6]));
    // The text of a block is the same too, with the order of its members.
    let text = |method: &str, params: Value| {
        let request = json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params});
        String::from_utf8(node.post(request.to_string()).body).unwrap()
    };
    let one = text("GetTxBlock", json!(["7"])).replace("\"result\":{", "\"result\":[{").replace("}}}", "}}]}");
    assert_eq!(text("silica_getBlocks", json!(["7", "7"])), one);
    // Batches and WebSocket connections have the same result.
    let request =
        json!({"id": 1, "jsonrpc": "2.0", "method": "silica_getBlocks", "params": ["3", "5", {"bodies": true}]});
    let answer = json!({"id": 1, "jsonrpc": "2.0", "result": full[3..=5]});
    assert_eq!(node.post_json(json!([request, request]).to_string()), json!([answer, answer]));
    let mut client = Client::connect(&node);
    assert_eq!(serde_json::from_str::<Value>(&client.ask(&request.to_string())).unwrap(), answer);
}

#[test]
fn invalid_ranges_of_blocks_are_errors_that_name_the_parameter() {
    let node = Node::start(&["--block-mode", "manual"]);
    mine(&node, 10_010);
    let refused = |params: Value, problem: &str| check_error(&node, "silica_getBlocks", &params, (-8, problem));
    refused(json!(["10011", "10012"]), "from: expected a Tx block of the chain, up to 10010, got 10011");
    refused(
        json!(["18446744073709551615", "18446744073709551615"]),
        "from: expected a Tx block of the chain, up to 10010, got 18446744073709551615",
    );
    refused(json!(["5", "10011"]), "to: expected a Tx block from 5 to 10010, got 10011");
    refused(json!(["5", "4"]), "to: expected a Tx block from 5 to 10010, got 4");
    refused(json!(["5", "10005"]), "to: expected at most 10000 blocks, which end at block 10004, got 10005");
    refused(json!(["5", "6", {"bodies": "yes"}]), "options: bodies: expected a boolean, got \"yes\"");
    refused(json!(["5", "6", {"bodies": 1}]), "options: bodies: expected a boolean, got 1");
    refused(json!(["5", "6", {"body": true}]), "options: expected bodies, got \"body\"");
    for wrong in ["", "-1", "+1", "1.0", "0x1", " 1", "1e3", "99999999999999999999999", "\u{1f980}", "\u{0}"] {
        let problem = |name: &str| format!("{name}: expected number of a Tx block, in decimal digits, got {wrong:?}");
        refused(json!([wrong, "1"]), &problem("from"));
        refused(json!(["1", wrong]), &problem("to"));
    }
    let long = node.error("silica_getBlocks", &json!(["7".repeat(100_000), "1"]));
    assert!(long.0 == -8 && long.1.len() < 200, "{long:?}");
    for params in
        [json!([]), json!(["1"]), json!([1, "2"]), json!(["1", 2]), json!(["1", "2", 3]), json!(["1", "2", {}, 4])]
    {
        check_error(&node, "silica_getBlocks", &params, INVALID_PARAMS);
    }
}

#[test]
fn longest_range_of_empty_blocks_takes_little_memory() {
    let node = Node::start(&["--block-mode", "manual"]);
    mine(&node, 10_010);
    let calm = peak_memory(&node);
    let begun = Instant::now();
    let found = node.result("silica_getBlocks", &json!(["5", "10004", {"bodies": true}]));
    println!("10,000 empty blocks: {:?}", begun.elapsed());
    let taken = peak_memory(&node).saturating_sub(calm);
    assert!(taken < 32, "{taken} MB");
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), 10_000);
    for (block, number) in found.iter().zip(5_u64..) {
        assert_eq!(block["header"]["BlockNum"], number.to_string());
        assert_eq!(block["transactions"], json!([]));
    }
    for pair in found.windows(2) {
        assert_eq!(pair[1]["header"]["PrevBlockHash"], pair[0]["body"]["BlockHash"]);
    }
    let sample = node.result("GetTxBlock", &json!(["10004"]));
    assert_eq!((&found[9_999]["header"], &found[9_999]["body"]), (&sample["header"], &sample["body"]));
}

#[test]
fn revert_during_a_response_ends_it_or_leaves_it_whole() {
    let node = Node::start(&["--block-mode", "manual"]);
    mine(&node, 5);
    node.result("silica_snapshot", &json!([]));
    mine(&node, 9_000);
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": "silica_getBlocks", "params": ["0", "9005"]}).to_string();
    let mut connection = node.connect();
    let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{request}", request.len());
    connection.write(head.as_bytes()).unwrap();
    node.result("silica_revert", &json!([1]));
    if let Ok(answer) = connection.read() {
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        let is_whole = answer["result"].as_array().is_some_and(|blocks| blocks.len() == 9_006);
        assert!(is_whole || answer["error"]["code"].is_i64(), "{:.300}", answer.to_string());
    }
    assert_eq!(height(&node), 5);
    let end = node.stop();
    assert!(
        end.status.success() && !end.output.contains("panicked") && !end.output.contains("ERROR"),
        "{}",
        end.output
    );
}
