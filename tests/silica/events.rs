//! Events of contracts: `silica_getEvents`, and the logs, filters and subscriptions of Ethereum (docs/explorers.md).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Node, Wallet};

use crate::{
    check_error, check_result, documented, height,
    subscription::{Client, RELAY, SHOUT},
};

/// A node that makes blocks on request, with two contracts.
struct Chain {
    node: Node,
    contracts: [Address; 2],
    nonces: [u64; 4],
}

/// Returns the topic of the events with a name.
fn topic(node: &Node, name: &str) -> Value {
    let signature = format!("{name}(string)").bytes().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"));
    node.result("web3_sha3", &json!([signature]))
}

fn prefixed(digits: impl std::fmt::Display) -> String {
    format!("0x{digits}")
}

fn quantity(number: u64) -> Value {
    json!(format!("{number:#x}"))
}

fn bytes(text: &str) -> Vec<u8> {
    let digits = &text[2..];
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Decodes the data of a log: one string in the Solidity ABI, with a JSON object.
fn decoded(log: &Value) -> Value {
    let data = bytes(log["data"].as_str().unwrap());
    let word = |at: usize| usize::try_from(u64::from_be_bytes(data[at + 24..at + 32].try_into().unwrap())).unwrap();
    let length = word(32);
    assert_eq!((word(0), data.len()), (32, 64 + length.next_multiple_of(32)));
    assert!(data[64 + length..].iter().all(|byte| *byte == 0));
    serde_json::from_slice(&data[64..64 + length]).unwrap()
}

impl Chain {
    fn new() -> Self {
        let node = Node::start(&["--block-mode", "manual"]);
        let mut chain = Self { node, contracts: [Address::ZERO; 2], nonces: [0; 4] };
        chain.contracts = [(); 2].map(|()| chain.deploy(RELAY));
        chain
    }

    /// Deploys a contract in a block of its own.
    fn deploy(&mut self, code: &str) -> Address {
        let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]);
        let deployed = self.send(0, Address::ZERO, code, &init);
        self.mine(1);
        deployed["ContractAddress"].as_str().unwrap().parse().unwrap()
    }

    fn send(&mut self, from: usize, to: Address, code: &str, data: &Value) -> Value {
        self.nonces[from] += 1;
        let mut payment = Wallet::funded(from).payment(self.nonces[from], to, 0);
        (payment.gas_limit, payment.code, payment.data) = (300_000, code.to_owned(), data.to_string());
        self.node.result("CreateTransaction", &json!([payment.json()]))
    }

    fn take(&mut self, from: usize, contract: usize) {
        drop(self.send(from, self.contracts[contract], "", &json!({"_tag": "Take", "params": []})));
    }

    /// Calls a contract, which calls another one: two events.
    fn forward(&mut self, from: usize, contract: usize, other: usize) {
        let to = prefixed(self.contracts[other]);
        let params = json!([
            {"vname": "to", "type": "ByStr20", "value": to},
            {"vname": "tag", "type": "String", "value": "Take"},
            {"vname": "amount", "type": "Uint128", "value": "0"},
        ]);
        drop(self.send(from, self.contracts[contract], "", &json!({"_tag": "Forward", "params": params})));
    }

    fn mine(&self, blocks: u64) {
        self.node.result("IncreaseBlocknum", &json!([blocks]));
    }

    /// Makes two blocks with several transactions, and empty blocks between them.
    fn fill(&mut self) {
        self.forward(0, 0, 1);
        self.take(1, 0);
        drop(self.send(2, self.contracts[0], "", &json!({"_tag": "Fail", "params": []})));
        self.forward(3, 1, 1);
        self.mine(1);
        self.mine(20);
        self.take(2, 1);
        let payment = Wallet::funded(1).payment(self.nonces[1] + 1, Wallet::stranger(1).address(), 1);
        self.nonces[1] += 1;
        self.node.result("CreateTransaction", &json!([payment.json()]));
        self.forward(3, 1, 0);
        self.mine(1);
    }

    /// Returns all events from the receipts of all blocks, as `silica_getEvents` returns them, the oldest first.
    fn all(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for block in 1..=height(&self.node) {
            let number = block.to_string();
            let Ok(bodies) = self.node.call("GetTxnBodiesForTxBlock", &json!([number])) else { continue };
            let header = &self.node.result("GetTxBlock", &json!([number]))["header"];
            for (position, body) in bodies.as_array().unwrap().iter().enumerate() {
                let events = body["receipt"]["event_logs"].as_array().cloned().unwrap_or_default();
                for (index, event) in events.iter().enumerate() {
                    all.push(json!({
                        "block": number,
                        "contract": event["address"].as_str().unwrap()[2..],
                        "hash": body["ID"],
                        "index": index,
                        "name": event["_eventname"],
                        "params": event["params"],
                        "position": position,
                        "timestamp": header["Timestamp"],
                    }));
                }
            }
        }
        all
    }

    /// Returns the events of all pages.
    fn pages(&self, mut options: Value) -> Vec<Value> {
        let mut found = Vec::new();
        loop {
            let page = self.node.result("silica_getEvents", &json!([options]));
            found.extend(page["events"].as_array().unwrap().iter().cloned());
            if page["next"].is_null() {
                return found;
            }
            options["cursor"] = page["next"].clone();
        }
    }

    fn logs(&self, filter: &Value) -> Vec<Value> {
        self.node.result("eth_getLogs", &json!([filter])).as_array().unwrap().clone()
    }

    fn changes(&self, filter: &Value) -> Vec<Value> {
        self.node.result("eth_getFilterChanges", &json!([filter])).as_array().unwrap().clone()
    }
}

#[test]
fn events_of_all_pages_are_those_of_the_receipts() {
    let mut chain = Chain::new();
    chain.fill();
    let all = chain.all();
    assert_eq!(all.len(), 8);
    let contract = chain.contracts[1];
    for limit in [1, 2, 3, 1000] {
        for order in ["oldest", "newest"] {
            let check = |mut options: Value, selects: &dyn Fn(&Value) -> bool| {
                (options["limit"], options["order"]) = (json!(limit), json!(order));
                let mut expected: Vec<_> = all.iter().filter(|event| selects(event)).cloned().collect();
                if order == "newest" {
                    expected.reverse();
                }
                assert_eq!(chain.pages(options.clone()), expected, "{options}");
            };
            check(json!({}), &|_| true);
            check(json!({"contract": contract.to_bech32()}), &|event| event["contract"] == contract.to_string());
            check(json!({"name": "Taken"}), &|event| event["name"] == "Taken");
            let both = json!({"name": "Taken", "contract": prefixed(contract)});
            check(both, &|event| event["name"] == "Taken" && event["contract"] == contract.to_string());
            check(json!({"name": "taken"}), &|_| false);
            check(json!({"fromBlock": "4"}), &|event| event["block"] != "3");
            check(json!({"fromBlock": "3", "toBlock": "3"}), &|event| event["block"] == "3");
            check(json!({"toBlock": "23"}), &|event| event["block"] == "3");
            check(json!({"fromBlock": "4", "toBlock": "23"}), &|_| false);
            check(json!({"fromBlock": "25", "toBlock": "18446744073709551615"}), &|_| false);
        }
    }
    let page = chain.node.result("silica_getEvents", &json!([{"limit": 1, "order": "oldest"}]));
    assert_eq!(page["next"], "3:0:0", "the page ends within the transaction");
    let page = chain.node.result("silica_getEvents", &json!([{"limit": 2, "order": "oldest"}]));
    assert_eq!(page["next"], "3:0", "the page has all events of the transaction");
}

#[test]
fn invalid_blocks_and_cursors_of_events_are_errors() {
    let node = Node::start(&[]);
    let refused = |options: Value, problem: &str| {
        check_error(&node, "silica_getEvents", &json!([options]), (-8, &format!("options: {problem}")));
    };
    refused(json!({"fromBlock": "5", "toBlock": "4"}), "toBlock: expected a block from 5 on, as fromBlock, got 4");
    refused(
        json!({"fromBlock": "5", "toBlock": "7", "cursor": "8:0:1"}),
        "cursor: expected a cursor of blocks 5 to 7, got \"8:0:1\"",
    );
    refused(json!({"name": 7}), "name: expected a string, got 7");
    refused(json!({"fromBlock": 7}), "fromBlock: expected number of a Tx block, in decimal digits, got 7");
    for cursor in ["0:0", "0:0:0", "7:4294967295:4294967295", "18446744073709551615:1:1"] {
        for order in ["oldest", "newest"] {
            let page = node.result("silica_getEvents", &json!([{"cursor": cursor, "order": order}]));
            assert_eq!(page, json!({"events": [], "next": null}), "{cursor}");
        }
    }
}

#[test]
fn logs_are_the_events_in_the_form_of_ethereum() {
    let mut chain = Chain::new();
    chain.fill();
    let all = chain.all();
    let logs = chain.logs(&json!({"fromBlock": "earliest"}));
    assert_eq!(logs.len(), all.len());
    let mut numbers = BTreeMap::<u64, u64>::new();
    for (log, event) in logs.iter().zip(&all) {
        let number: u64 = event["block"].as_str().unwrap().parse().unwrap();
        let block = chain.node.result("eth_getBlockByNumber", &json!([quantity(number), false]));
        let index = numbers.entry(number).or_default();
        let address = prefixed(event["contract"].as_str().unwrap());
        let expected = json!({
            "address": address,
            "blockHash": block["hash"],
            "blockNumber": quantity(number),
            "data": log["data"],
            "logIndex": quantity(*index),
            "removed": false,
            "topics": [topic(&chain.node, event["name"].as_str().unwrap())],
            "transactionHash": prefixed(event["hash"].as_str().unwrap()),
            "transactionIndex": quantity(event["position"].as_u64().unwrap()),
        });
        assert_eq!(log, &expected);
        *index += 1;
        let text = json!({"address": address, "_eventname": event["name"], "params": event["params"]});
        assert_eq!(decoded(log), text);
        let receipt = chain.node.result("eth_getTransactionReceipt", &json!([log["transactionHash"]]));
        assert!(receipt["logs"].as_array().unwrap().contains(log));
        assert_ne!(receipt["logsBloom"], prefixed("0".repeat(512)));
    }
    assert_eq!(numbers.into_values().collect::<Vec<_>>(), [5, 3]);
}

#[test]
fn filters_select_by_contract_topic_and_block() {
    let mut chain = Chain::new();
    chain.fill();
    let logs = chain.logs(&json!({"fromBlock": "0x0"}));
    let check = |filter: Value, selects: &dyn Fn(&Value) -> bool| {
        let expected: Vec<_> = logs.iter().filter(|log| selects(log)).cloned().collect();
        assert_eq!(chain.logs(&filter), expected, "{filter}");
    };
    let [one, other] = chain.contracts.map(prefixed);
    let stranger = prefixed(Wallet::stranger(1).hex());
    let [taken, forwarded, third] = ["Taken", "Forwarded", "Third"].map(|name| topic(&chain.node, name));
    check(json!({"fromBlock": "0x0", "address": one.to_uppercase().replace("0X", "0x")}), &|log| log["address"] == one);
    check(json!({"fromBlock": "0x0", "address": [one, other, stranger]}), &|_| true);
    check(json!({"fromBlock": "0x0", "address": [stranger]}), &|_| false);
    let of_topic = |topics: Value| json!({"fromBlock": "earliest", "toBlock": "latest", "topics": topics});
    check(of_topic(json!([taken])), &|log| log["topics"][0] == taken);
    check(of_topic(json!([[third, forwarded]])), &|log| log["topics"][0] == forwarded);
    check(of_topic(json!([[taken, forwarded], null, [], null])), &|_| true);
    check(of_topic(json!([null, null])), &|_| true);
    check(of_topic(json!([null, taken])), &|_| false);
    check(of_topic(json!([taken, null, [taken]])), &|_| false);
    check(json!({"address": other, "topics": [taken], "fromBlock": "0x3", "toBlock": "0x3"}), &|log| {
        log["address"] == other && log["topics"][0] == taken && log["blockNumber"] == "0x3"
    });
    check(json!({}), &|log| log["blockNumber"] == "0x18");
    check(json!({"fromBlock": "0x4"}), &|log| log["blockNumber"] == "0x18");
    check(json!({"fromBlock": "0x0", "toBlock": "0x17"}), &|log| log["blockNumber"] == "0x3");
    check(json!({"fromBlock": "0x19"}), &|_| false);
    check(json!({"fromBlock": "0x19", "toBlock": "0xffffffffffffffff"}), &|_| false);
    let hash = |number: u64| chain.node.result("eth_getBlockByNumber", &json!([quantity(number)]))["hash"].clone();
    check(json!({"blockHash": hash(3)}), &|log| log["blockNumber"] == "0x3");
    check(json!({"blockHash": hash(4), "address": one}), &|_| false);
}

#[test]
fn invalid_filters_and_large_ranges_are_errors() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("silica_mine", &json!([100_000]));
    let refused = |filter: Value, code: i64, text: &str| {
        for method in ["eth_getLogs", "eth_newFilter"] {
            check_error(&node, method, &json!([filter]), (code, text));
        }
    };
    let invalid = |filter: Value, problem: &str| refused(filter, -32602, &format!("invalid argument 0: {problem}"));
    invalid(json!({"address": "0x12"}), "address: expected 0x and 40 hexadecimal digits, got \"0x12\"");
    invalid(json!({"topics": "0x12"}), "topics: expected an array of at most 4 elements, got \"0x12\"");
    invalid(json!({"topics": ["0x12"]}), "topics: expected 0x and 64 hexadecimal digits, got \"0x12\"");
    invalid(json!({"topics": [7]}), "topics: expected 0x and 64 hexadecimal digits, got 7");
    let hash = prefixed("1".repeat(64));
    invalid(json!({"blockHash": hash, "fromBlock": "0x0"}), "expected either blockHash or fromBlock, got both");
    let text = "toBlock: expected block 0x5 or later, as fromBlock, got 0x4";
    invalid(json!({"fromBlock": "0x5", "toBlock": "0x4"}), text);
    let many = vec![prefixed("1".repeat(40)); 1001];
    invalid(json!({"address": many}), "address: expected at most 1000 elements, got 1001");
    for method in ["eth_getLogs", "eth_newFilter"] {
        for params in [json!([]), json!([7]), json!(["0x0"]), json!([[]]), json!([{}, {}]), json!(null)] {
            assert_eq!(node.error(method, &params).0, -32602, "{method}{params}");
        }
    }
    let wide = "expected at most 100000 blocks, got 100001; request a smaller range of blocks";
    check_error(&node, "eth_getLogs", &json!([{"fromBlock": "0x0"}]), (-32005, wide));
    check_result(&node, "eth_getLogs", &json!([{"fromBlock": "0x1"}]), &json!([]));
    check_result(&node, "eth_getLogs", &json!([{"fromBlock": "0x0", "toBlock": "0x1869f"}]), &json!([]));
    check_error(
        &node,
        "eth_getLogs",
        &json!([{"blockHash": hash}]),
        (-32000, &format!("no block has the hash {hash}")),
    );
    let problem = "invalid argument 0: blockHash: expected fromBlock and toBlock, because a filter follows new blocks";
    check_error(&node, "eth_newFilter", &json!([{"blockHash": hash}]), (-32602, problem));
    for method in ["eth_getFilterChanges", "eth_getFilterLogs"] {
        check_error(&node, method, &json!(["0x7"]), (-32000, "filter not found"));
    }
    for id in ["7", "0x", "0x07", "0x10000000000000000"] {
        let expected = "0x and a number in hexadecimal digits without leading zeros";
        let text = format!("invalid argument 0: expected {expected}, got {id:?}");
        for method in ["eth_getFilterChanges", "eth_getFilterLogs", "eth_uninstallFilter"] {
            check_error(&node, method, &json!([id]), (-32602, &text));
        }
    }
    check_result(&node, "eth_uninstallFilter", &json!(["0x7"]), &json!(false));
}

#[test]
fn poll_returns_each_new_log_once() {
    let mut chain = Chain::new();
    chain.take(0, 0);
    chain.mine(1);
    let node = &chain.node;
    let [all, some, bounded] = [
        json!({}),
        json!({"address": prefixed(chain.contracts[1]), "fromBlock": "earliest"}),
        json!({"fromBlock": "0x3", "toBlock": "0x4"}),
    ]
    .map(|filter| documented(node, "eth_newFilter", &json!([filter])));
    let blocks = documented(node, "eth_newBlockFilter", &json!([]));
    for filter in [&all, &some, &bounded, &blocks] {
        assert_eq!(chain.changes(filter), [] as [Value; 0], "a filter begins after the latest block");
    }
    chain.fill();
    let logs = chain.logs(&json!({"fromBlock": "0x4"}));
    assert_eq!(logs.len(), 8);
    let second = prefixed(chain.contracts[1]);
    let of_second: Vec<Value> = logs.iter().filter(|log| log["address"] == second).cloned().collect();
    assert_eq!(chain.changes(&all), logs);
    assert_eq!(chain.changes(&some), of_second);
    assert_eq!(chain.changes(&bounded), logs[..5]);
    let hash = |number: u64| chain.node.result("eth_getBlockByNumber", &json!([quantity(number)]))["hash"].clone();
    assert_eq!(chain.changes(&blocks), (4..=25).map(hash).collect::<Vec<_>>());
    for filter in [&all, &some, &bounded, &blocks] {
        assert_eq!(chain.changes(filter), [] as [Value; 0]);
    }
    let earlier = chain.logs(&json!({"fromBlock": "0x0"}));
    let expected: Vec<Value> = earlier.iter().filter(|log| log["address"] == second).cloned().collect();
    check_result(&chain.node, "eth_getFilterLogs", &json!([some]), &json!(expected));
    check_result(&chain.node, "eth_getFilterLogs", &json!([bounded]), &json!(earlier[..6]));
    check_error(&chain.node, "eth_getFilterLogs", &json!([blocks]), (-32000, "filter not found"));
    check_result(&chain.node, "eth_uninstallFilter", &json!([all]), &json!(true));
    check_error(&chain.node, "eth_getFilterChanges", &json!([all]), (-32000, "filter not found"));
    chain.mine(2500);
    let hashes: Vec<usize> = (0..4).map(|_| chain.changes(&blocks).len()).collect();
    assert_eq!(hashes, [1000, 1000, 500, 0]);
}

#[test]
fn large_logs_are_in_several_polls() {
    let mut chain = Chain::new();
    let shout = chain.deploy(SHOUT);
    let filter = chain.node.result("eth_newFilter", &json!([{}]));
    for from in [0, 1, 2, 3] {
        chain.send(from, shout, "", &json!({"_tag": "Shout", "params": []}));
    }
    // A block does not have room for all calls.
    chain.mine(6);
    let logs = chain.logs(&json!({"fromBlock": "0x0"}));
    assert_eq!(logs.len(), 4);
    let polls: Vec<Vec<Value>> = (0..5).map(|_| chain.changes(&filter)).collect();
    assert_eq!(polls.concat(), logs);
    assert!(polls.iter().filter(|poll| !poll.is_empty()).count() >= 4, "a log has more than 4 MB");
    assert!(polls[4].is_empty());
}

#[test]
fn filters_of_all_clients_are_limited() {
    let node = Node::start(&[]);
    let calls: Vec<(&str, Value)> = (0..1000).map(|_| ("eth_newBlockFilter", json!([]))).collect();
    let ids: Vec<Value> = node.call_all(&calls).into_iter().map(Result::unwrap).collect();
    assert_eq!(ids.iter().map(Value::to_string).collect::<BTreeSet<_>>().len(), 1000);
    let full = "expected at most 1000 filters of all clients together; filters expire after 5 minutes";
    check_error(&node, "eth_newFilter", &json!([{}]), (-32005, full));
    check_result(&node, "eth_uninstallFilter", &json!([ids[7]]), &json!(true));
    node.result("eth_newFilter", &json!([{}]));
}

#[test]
fn poll_after_a_revert_returns_the_replacing_logs() {
    let mut chain = Chain::new();
    let [seen, unseen] = [(); 2].map(|()| chain.node.result("eth_newFilter", &json!([{}])));
    let blocks = chain.node.result("eth_newBlockFilter", &json!([]));
    chain.take(0, 0);
    chain.mine(1);
    let kept = chain.logs(&json!({"fromBlock": "0x3"}));
    let savepoint = chain.node.result("silica_snapshot", &json!([]));
    let nonces = chain.nonces;
    chain.take(1, 0);
    chain.take(2, 1);
    chain.mine(5);
    let removed = chain.logs(&json!({"fromBlock": "0x4"}));
    assert_eq!((kept.len(), removed.len()), (1, 2));
    assert_eq!(chain.changes(&seen), [kept.clone(), removed.clone()].concat());
    assert_eq!(chain.changes(&blocks).len(), 6);
    chain.node.result("silica_revert", &json!([savepoint]));
    chain.nonces = nonces;
    for filter in [&seen, &blocks] {
        assert_eq!(chain.changes(filter), [] as [Value; 0], "the removed logs are not repeated or withdrawn");
    }
    // The same transactions in other blocks, and later ones.
    chain.take(1, 0);
    chain.mine(1);
    chain.take(3, 1);
    chain.mine(7);
    let replacing = chain.logs(&json!({"fromBlock": "0x4"}));
    assert_eq!(replacing.len(), 2);
    let again = removed.iter().find(|log| log["transactionHash"] == replacing[0]["transactionHash"]).unwrap();
    assert_eq!(again["blockNumber"], replacing[0]["blockNumber"]);
    assert_ne!(again["blockHash"], replacing[0]["blockHash"]);
    assert_eq!(chain.changes(&seen), replacing, "each log of the chain is returned");
    assert_eq!(chain.changes(&unseen), [kept, replacing].concat(), "no log of a removed block");
    let hash = |number: u64| chain.node.result("eth_getBlockByNumber", &json!([quantity(number)]))["hash"].clone();
    assert_eq!(chain.changes(&blocks), (4..=11).map(hash).collect::<Vec<_>>());
    for filter in [&seen, &unseen, &blocks] {
        assert_eq!(chain.changes(filter), [] as [Value; 0]);
    }
}

/// Calls a method over a WebSocket connection. Returns the response.
fn ask(client: &mut Client, method: &str, params: &Value) -> Value {
    let request = json!({"id": 5, "jsonrpc": "2.0", "method": method, "params": params});
    serde_json::from_str(&client.ask(&request.to_string())).unwrap()
}

/// Returns the result of the next notification of a subscription.
fn notified(client: &mut Client, subscription: &Value) -> Value {
    let mut message = client.read_json();
    assert_eq!((&message["jsonrpc"], &message["method"]), (&json!("2.0"), &json!("eth_subscription")), "{message}");
    assert_eq!(message["params"]["subscription"], *subscription);
    message["params"]["result"].take()
}

#[test]
fn subscription_sends_each_log_and_header() {
    let mut chain = Chain::new();
    let mut client = Client::connect(&chain.node);
    let second = prefixed(chain.contracts[1]);
    let [all, some] = [json!(["logs"]), json!(["logs", {"address": second, "topics": [topic(&chain.node, "Taken")]}])]
        .map(|params| ask(&mut client, "eth_subscribe", &params)["result"].clone());
    assert_ne!(all, some);
    chain.fill();
    let logs = chain.logs(&json!({"fromBlock": "0x3"}));
    // The subscriptions of a block are in the order of their ids.
    let id = |id: &Value| u64::from_str_radix(&id.as_str().unwrap()[2..], 16).unwrap();
    let taken = topic(&chain.node, "Taken");
    for block in ["0x3", "0x18"] {
        let mut messages: Vec<(&Value, &Value)> = Vec::new();
        for log in logs.iter().filter(|log| log["blockNumber"] == block) {
            messages.push((&all, log));
            if log["address"] == second && log["topics"][0] == taken {
                messages.push((&some, log));
            }
        }
        messages.sort_by_key(|(subscription, _)| id(subscription));
        for (subscription, log) in messages {
            assert_eq!(&notified(&mut client, subscription), log);
        }
    }
    for subscription in [&all, &some] {
        assert_eq!(ask(&mut client, "eth_unsubscribe", &json!([subscription]))["result"], true);
        assert_eq!(ask(&mut client, "eth_unsubscribe", &json!([subscription]))["result"], false);
    }
    let heads = ask(&mut client, "eth_subscribe", &json!(["newHeads"]))["result"].clone();
    chain.take(0, 0);
    chain.mine(3);
    for number in 25..28 {
        let header = notified(&mut client, &heads);
        let block = chain.node.result("eth_getBlockByNumber", &json!([quantity(number), false]));
        assert!(header.as_object().unwrap().len() > 12);
        for (name, value) in header.as_object().unwrap() {
            assert_eq!(value, &block[name], "{name}");
        }
    }
}

#[test]
fn subscriptions_of_both_kinds_share_a_connection() {
    let mut chain = Chain::new();
    let mut client = Client::connect(&chain.node);
    client.subscribe(&json!({"query": "NewBlock"}));
    chain.mine(1);
    let logs = ask_between(&mut client);
    chain.take(0, 0);
    chain.mine(1);
    let [entry] = &client.news()[..] else { panic!("one topic") };
    assert_eq!(entry["value"]["TxBlock"]["header"]["BlockNum"], "4");
    let log = notified(&mut client, &logs);
    assert_eq!(log["blockNumber"], "0x4", "the subscription begins after the latest block");
}

/// Subscribes to logs on a connection with a pending notification of a topic. Returns the id of the subscription.
fn ask_between(client: &mut Client) -> Value {
    client.send(&json!({"id": 5, "jsonrpc": "2.0", "method": "eth_subscribe", "params": ["logs"]}).to_string());
    let (mut id, mut news) = (Value::Null, 0);
    while id.is_null() || news == 0 {
        let message = client.read_json();
        if message["type"] == "Notification" { news += 1 } else { id = message["result"].clone() }
    }
    id
}

#[test]
fn large_logs_are_sent_to_subscribers() {
    let mut chain = Chain::new();
    let shout = chain.deploy(SHOUT);
    let mut client = Client::connect(&chain.node);
    let subscription = ask(&mut client, "eth_subscribe", &json!(["logs", {}]))["result"].clone();
    chain.take(0, 0);
    chain.send(1, shout, "", &json!({"_tag": "Shout", "params": []}));
    chain.take(2, 0);
    chain.mine(3);
    let logs = chain.logs(&json!({"fromBlock": "0x4"}));
    assert_eq!(logs.len(), 3);
    for log in logs {
        assert_eq!(notified(&mut client, &subscription), log);
    }
}

#[test]
fn subscription_after_a_revert_sends_the_replacing_logs() {
    let mut chain = Chain::new();
    let mut client = Client::connect(&chain.node);
    let savepoint = chain.node.result("silica_snapshot", &json!([]));
    let nonces = chain.nonces;
    chain.mine(3);
    let subscription = ask(&mut client, "eth_subscribe", &json!(["logs"]))["result"].clone();
    chain.node.result("silica_revert", &json!([savepoint]));
    chain.nonces = nonces;
    chain.take(0, 0);
    chain.mine(1);
    let log = notified(&mut client, &subscription);
    assert_eq!(log, chain.logs(&json!({}))[0]);
    assert_eq!(log["blockNumber"], "0x3", "a block that replaces an earlier one");
}

#[test]
fn invalid_subscriptions_are_errors() {
    let node = Node::start(&[]);
    for method in ["eth_subscribe", "eth_unsubscribe"] {
        let text = format!("the method {method} does not exist over HTTP: open a WebSocket connection");
        check_error(&node, method, &json!(["logs"]), (-32601, &text));
    }
    let mut client = Client::connect(&node);
    let mut refused = |method: &str, params: Value, code: i64, text: &str| {
        let error = ask(&mut client, method, &params)["error"].clone();
        assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!(text)), "{params}");
    };
    let kind = "invalid argument 0: expected logs or newHeads, got \"syncing\"";
    refused("eth_subscribe", json!(["syncing"]), -32602, kind);
    let address = "invalid argument 1: address: expected 0x and 40 hexadecimal digits, got 5";
    refused("eth_subscribe", json!(["logs", {"address": 5}]), -32602, address);
    let id = "invalid argument 0: expected 0x and a number in hexadecimal digits without leading zeros, got \"5\"";
    refused("eth_unsubscribe", json!(["5"]), -32602, id);
    for _ in 0..100 {
        assert!(ask(&mut client, "eth_subscribe", &json!(["newHeads"]))["result"].is_string());
    }
    let error = ask(&mut client, "eth_subscribe", &json!(["newHeads"]))["error"].clone();
    assert_eq!(error["message"], "expected at most 100 subscriptions of a connection");
    assert_eq!(error["code"], -32005);
}
