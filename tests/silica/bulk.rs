//! Readers of many blocks: `silica_getBlocks`, and subscriptions that replay earlier blocks.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_tests::{Node, Wallet};

use crate::{
    INVALID_PARAMS, check_error, height,
    operations::peak_memory,
    pay,
    subscription::{Client, RELAY, call, deploy, mine, prefixed},
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

fn replay(from: u64) -> Value {
    json!({"query": "NewBlock", "fromBlock": from.to_string()})
}

/// Returns the block of the next notification, which has only the topic `NewBlock`.
fn next_block(client: &mut Client) -> Value {
    let news = client.news();
    let [entry] = &news[..] else { panic!("{news:?}") };
    assert_eq!(entry["query"], "NewBlock");
    entry["value"]["TxBlock"].clone()
}

#[test]
fn replay_while_blocks_arrive_has_each_block_once() {
    const BEFORE: u64 = 700;
    const MEANWHILE: u64 = 150;
    let node = Node::start(&["--block-mode", "manual"]);
    mine(&node, BEFORE);
    let stop = BEFORE + MEANWHILE;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for nonce in 1..=MEANWHILE {
                pay(&node, nonce, 5);
                mine(&node, 1);
            }
        });
        for from in [0, 1, BEFORE - 1, BEFORE] {
            let node = &node;
            scope.spawn(move || {
                let mut client = Client::connect(node);
                client.subscribe(&replay(from));
                let got: Vec<Value> = (from..=stop).map(|_| next_block(&mut client)).collect();
                // The block after the last one arrives next.
                client.subscribe(&json!({"query": "Unsubscribe", "type": "NewBlock"}));
                assert_eq!(json!(got), node.result("silica_getBlocks", &json!([from.to_string(), stop.to_string()])));
            });
        }
    });
}

#[test]
fn replayed_notifications_are_the_bytes_of_the_live_ones() {
    let node = Node::start(&["--block-mode", "manual"]);
    let mut live = Client::connect(&node);
    live.subscribe(&json!({"query": "NewBlock"}));
    let contract = fill(&node);
    let expected: Vec<String> = (1..=height(&node)).map(|_| live.read()).collect();
    let mut late = Client::connect(&node);
    late.subscribe(&replay(1));
    assert_eq!((1..=height(&node)).map(|_| late.read()).collect::<Vec<_>>(), expected);

    // Other topics have a replay too.
    let topics = [
        json!({"query": "EventLog", "addresses": [prefixed(&contract)], "fromBlock": "1"}),
        json!({"query": "TxnLog", "addresses": [prefixed(Wallet::funded(0).hex())], "fromBlock": "1"}),
    ];
    for topic in topics {
        let mut client = Client::connect(&node);
        client.subscribe(&topic);
        let news: Vec<Value> = (1..=height(&node)).flat_map(|_| client.news()).collect();
        assert!(news.iter().all(|entry| entry["query"] == topic["query"]));
        let with_value: Vec<&Value> = news.iter().filter(|entry| !entry["value"].is_null()).collect();
        let (events, logs) =
            (with_value[0]["value"][0]["event_logs"].as_array(), with_value[0]["value"][0]["log"].as_array());
        match topic["query"].as_str() {
            Some("EventLog") => assert_eq!((with_value.len(), events.unwrap().len()), (1, 2)),
            _ => assert_eq!((with_value.len(), logs.unwrap().len()), (2, 400)),
        }
    }
}

#[test]
fn replay_leaves_other_topics_at_their_blocks() {
    let node = Node::start(&["--block-mode", "manual"]);
    mine(&node, 5);
    let mut client = Client::connect(&node);
    client.subscribe(&json!({"query": "TxnLog", "addresses": [prefixed(Wallet::funded(0).hex())]}));
    client.subscribe(&replay(4));
    assert_eq!(next_block(&mut client)["header"]["BlockNum"], "4");
    assert_eq!(next_block(&mut client)["header"]["BlockNum"], "5");
    mine(&node, 1);
    let news = client.news();
    let queries: Vec<_> = news.iter().map(|entry| entry["query"].clone()).collect();
    assert_eq!(queries, ["NewBlock", "TxnLog"]);
    assert_eq!(news[0]["value"]["TxBlock"]["header"]["BlockNum"], "6");
}

#[test]
fn invalid_first_block_is_answered_with_a_text() {
    let node = Node::start(&["--block-mode", "manual"]);
    mine(&node, 5);
    let mut client = Client::connect(&node);
    for from in [json!("7"), json!("-1"), json!(""), json!("1.5"), json!(3), json!({}), json!("18446744073709551616")] {
        let query = json!({"query": "NewBlock", "fromBlock": from}).to_string();
        let expected = format!("fromBlock: expected the decimal digits of a block number up to 6 as text, got {from}");
        assert_eq!(client.ask(&query), expected);
    }
    let long = client.ask(&json!({"query": "NewBlock", "fromBlock": "7".repeat(200_000)}).to_string());
    assert!(long.starts_with("fromBlock: expected") && long.len() < 200, "{long}");
    // An invalid message has no effect.
    mine(&node, 1);
    client.subscribe(&replay(7));
    mine(&node, 1);
    assert_eq!(next_block(&mut client)["header"]["BlockNum"], "7");
    // The last message determines the next block, however many replays a client begins without reading them.
    for _ in 0..2_000 {
        client.send(&replay(0).to_string());
    }
    let ask = replay(6).to_string();
    client.send(&ask);
    assert_eq!(node.result("GetNetworkId", &json!([])), "222");
    while client.read() != ask {}
    assert_eq!(next_block(&mut client)["header"]["BlockNum"], "6");
    assert_eq!(next_block(&mut client)["header"]["BlockNum"], "7");
}

#[test]
fn replay_after_a_revert_has_the_blocks_of_the_new_chain() {
    const KEPT: u64 = 2_000;
    let node = Node::start(&["--block-mode", "manual"]);
    mine(&node, KEPT);
    node.result("silica_snapshot", &json!([]));
    mine(&node, 3_000);
    let mut client = Client::connect(&node);
    client.subscribe(&replay(1));
    assert_eq!(next_block(&mut client)["header"]["BlockNum"], "1");
    node.result("silica_revert", &json!([1]));
    pay(&node, 1, 5);
    mine(&node, 20);
    let head = height(&node);
    assert_eq!(head, KEPT + 20);
    // Blocks up to the savepoint come once. A client that has received later blocks receives their replacements.
    let (mut got, mut expected) = (BTreeMap::new(), 2);
    loop {
        let block = next_block(&mut client);
        let number: u64 = block["header"]["BlockNum"].as_str().unwrap().parse().unwrap();
        assert!(number == expected || (number == KEPT + 1 && expected > number), "{number} {expected}");
        let is_last = number == head && block == node.result("GetTxBlock", &json!([number.to_string()]));
        got.insert(number, block);
        expected = number + 1;
        if is_last {
            break;
        }
    }
    let all = json!(got.into_values().take(usize::try_from(head).unwrap() - 1).collect::<Vec<_>>());
    assert_eq!(all, node.result("silica_getBlocks", &json!(["2", head.to_string()])));
    mine(&node, 1);
    assert_eq!(next_block(&mut client)["header"]["BlockNum"], (head + 1).to_string());
}

#[test]
fn replay_waits_for_units_of_the_rate_limit() {
    // The handshake and the message cost one unit each, and 1,000 blocks cost ten.
    let node = Node::start(&["--block-mode", "manual", "--rate-limit", "5"]);
    let mut attempts = 0;
    while height_or_nothing(&node) < 1_000 {
        drop(node.call("IncreaseBlocknum", &json!([1_000])));
        std::thread::sleep(Duration::from_millis(300));
        attempts += 1;
        assert!(attempts < 100);
    }
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    let mut client = Client::connect(&node);
    client.subscribe(&replay(1));
    for number in 1..=1_000_u64 {
        assert_eq!(next_block(&mut client)["header"]["BlockNum"], number.to_string());
    }
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
}

/// Returns the number of the latest Tx block, or 0 if the rate limit rejects the request.
fn height_or_nothing(node: &Node) -> u64 {
    let latest = node.call("GetLatestTxBlock", &json!([]));
    latest.map_or(0, |block| block["header"]["BlockNum"].as_str().unwrap().parse().unwrap())
}
