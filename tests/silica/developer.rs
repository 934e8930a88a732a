//! Developer methods, which no public network offers, and the conditions under which a node offers them.

use std::net::TcpListener;

use serde_json::{Value, json};
use silica_tests::{Directory, Node, Wallet, wallet::FEE};

use crate::{
    INVALID_PARAMS, balance,
    block_modes::eventually,
    check_error, check_result,
    contract::{Chain, HELLO, address_param},
    height, no_hash, pay_once,
};

fn off(method: &str) -> (i64, String) {
    (-32600, format!("{method} is for developers and switched off, start the node with --developer on"))
}

#[test]
fn developers_methods_are_off_where_others_can_ask() {
    for args in [&["--developer", "off"][..], &["--websocket", "0.0.0.0:0"], &["--websocket", "[::]:0"]] {
        if args.contains(&"[::]:0") && TcpListener::bind("[::]:0").is_err() {
            // This machine has no IPv6.
            continue;
        }
        let node = Node::start(args);
        for (method, params) in [("IncreaseBlocknum", json!([1])), ("SetMinimumGasPrice", json!(["5"]))] {
            // The node does not read the parameters, so the error does not mention them.
            for params in [params, json!([])] {
                let (code, text) = off(method);
                check_error(&node, method, &params, (code, &text));
            }
        }
        check_result(&node, "GetBlocknum", &json!([]), &json!("1"));
    }
}

#[test]
fn developer_methods_are_on_with_the_option() {
    let node = Node::start(&["--websocket", "0.0.0.0:0", "--developer", "on"]);
    check_result(&node, "IncreaseBlocknum", &json!([1]), &json!("2"));
}

#[test]
fn manual_mode_without_developer_methods_logs_a_warning() {
    let node = Node::start(&["--developer", "off", "--block-mode", "manual"]);
    node.wait_for("no client can request a block");
    let node = Node::start(&["--websocket", "0.0.0.0:0"]);
    node.wait_for("methods for developers are off, because other machines can reach this node");
}

/// Returns the timestamp of the latest Tx block, in microseconds.
fn latest_time(node: &Node) -> u64 {
    let block = node.result("GetLatestTxBlock", &json!([]));
    block["header"]["Timestamp"].as_str().unwrap().parse().unwrap()
}

/// One hour, in microseconds.
const HOUR: u64 = 3_600_000_000;

/// Checks that a time is later than another time by at least `by`, and by at most 10 minutes more. All times are in
/// microseconds.
#[track_caller]
fn check_later(time: u64, than: u64, by: u64) {
    let late = time.checked_sub(than + by).expect("it is not earlier");
    assert!(late < 10 * 60 * 1_000_000, "{late} microseconds too late");
}

#[test]
fn time_is_put_forward_for_good() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &[]);
    let begun = latest_time(&node);
    let returned: u64 = node.result("silica_increaseTime", &json!([3_600])).as_str().unwrap().parse().unwrap();
    check_later(returned, begun, HOUR);
    pay_once(&node, 0);
    check_later(latest_time(&node), begun, HOUR);
    node.result("silica_increaseTime", &json!([7_200]));
    node.result("silica_increaseTime", &json!([0]));
    node.result("silica_mine", &json!([3]));
    let last = latest_time(&node);
    check_later(last, begun, 3 * HOUR);
    node.stop();
    let node = Node::start_in(&data, &[]);
    node.result("silica_mine", &json!([]));
    check_later(latest_time(&node), last, 0);
    assert!(latest_time(&node) > last + 1, "the clock is not merely waited for");
}

#[test]
fn time_of_the_next_block_is_set() {
    let node = Node::start(&["--block-mode", "manual"]);
    let time = latest_time(&node) + 1_000 * HOUR;
    check_result(&node, "silica_setNextBlockTimestamp", &json!([time.to_string()]), &json!(time.to_string()));
    node.result("silica_mine", &json!([2]));
    assert_eq!(latest_time(&node), time + 1);
    assert_eq!(node.result("GetTxBlock", &json!(["1"]))["header"]["Timestamp"], time.to_string());
    node.result("silica_mine", &json!([1]));
    check_later(latest_time(&node), time, 0);
    // The set time and the increase of the time add up.
    let time = time + 2_000 * HOUR;
    node.result("silica_setNextBlockTimestamp", &json!([time.to_string()]));
    let later = (time + HOUR).to_string();
    check_result(&node, "silica_increaseTime", &json!([3_600]), &json!(later));
    node.result("silica_mine", &json!([1]));
    assert_eq!(latest_time(&node), time + HOUR);
}

#[test]
fn time_does_not_go_back_or_beyond_its_end() {
    let node = Node::start(&[]);
    let latest = latest_time(&node);
    let past = format!("timestamp: expected a time after {latest}, the time of the latest block, got {latest}");
    check_error(&node, "silica_setNextBlockTimestamp", &json!([latest.to_string()]), (-8, &past));
    let (code, text) = node.error("silica_setNextBlockTimestamp", &json!(["0"]));
    assert!(code == -8 && text.ends_with("got 0"), "{text}");
    let timestamp =
        "timestamp: expected a time up to 253402300799999999, the end of the year 9999, got 253402300800000000";
    check_error(&node, "silica_setNextBlockTimestamp", &json!(["253402300800000000"]), (-8, timestamp));
    for (text, words) in [("", "digits"), ("-1", "digits"), ("1e9", "digits"), ("18446744073709551616", "up to")] {
        let (code, message) = node.error("silica_setNextBlockTimestamp", &json!([text]));
        assert!(code == -8 && message.contains(words), "{text}: {message}");
    }
    for params in [json!([]), json!([5]), json!([null]), json!(["5", "6"]), json!({"timestamp": "5"})] {
        check_error(&node, "silica_setNextBlockTimestamp", &params, INVALID_PARAMS);
    }
    for params in [json!([]), json!(["5"]), json!([-5]), json!([1.5]), json!([4_294_967_296_u64]), json!([1, 1])] {
        check_error(&node, "silica_increaseTime", &params, INVALID_PARAMS);
    }
    node.result("silica_setNextBlockTimestamp", &json!(["253402300799999999"]));
    let seconds = |got: u32| {
        format!(
            "seconds: expected seconds that move the time to at most 253402300799999999 microseconds, the end of the \
             year 9999, got {got} s"
        )
    };
    check_error(&node, "silica_increaseTime", &json!([1]), (-8, &seconds(1)));
    // Block production continues after the latest possible time.
    node.result("silica_mine", &json!([2]));
    assert_eq!(latest_time(&node), 253_402_300_800_000_000);
    check_error(&node, "silica_increaseTime", &json!([0]), (-8, &seconds(0)));
}

#[test]
fn blocks_are_mined_in_every_mode() {
    for mode in ["instant", "manual", "interval=3600000", "instant+interval=3600000"] {
        let node = Node::start(&["--block-mode", mode]);
        check_result(&node, "silica_mine", &json!([]), &json!("2"));
        check_result(&node, "silica_mine", &json!([5]), &json!("7"));
        check_result(&node, "silica_mine", &json!([0]), &json!("7"));
        for params in [json!([-1]), json!(["1"]), json!([null]), json!([1, 2])] {
            check_error(&node, "silica_mine", &params, INVALID_PARAMS);
        }
        let many = (-8, "blocks: expected at most 10000000 blocks, got 4294967295");
        check_error(&node, "silica_mine", &json!([u32::MAX]), many);
        assert_eq!(height(&node), 6);
    }
}

#[test]
fn block_mode_is_switched_at_run_time() {
    let node = Node::start(&[]);
    let payer = Wallet::funded(0);
    let pay = |nonce| {
        let payment = payer.payment(nonce, Wallet::stranger(1).address(), 1);
        node.call("CreateTransaction", &json!([payment.json()]))
    };
    assert!(pay(2).is_err(), "nothing waits in instant mode");
    check_result(&node, "silica_setBlockMode", &json!(["manual"]), &json!("instant"));
    for nonce in [2, 1] {
        pay(nonce).unwrap();
    }
    assert_eq!((height(&node), balance(&node, &payer.hex()).1), (0, 0));
    check_result(&node, "silica_setBlockMode", &json!(["instant"]), &json!("manual"));
    assert_eq!(balance(&node, &payer.hex()).1, 2, "what waited is in a block before the answer");
    pay(3).unwrap();
    assert!(pay(5).is_err(), "nothing waits again");
    assert_eq!(balance(&node, &payer.hex()).1, 3);
    let before = height(&node);
    check_result(&node, "silica_setBlockMode", &json!(["interval=10"]), &json!("instant"));
    pay(4).unwrap();
    eventually(&node, "blocks are made by themselves", || height(&node) > before + 2);
    eventually(&node, "the payment gets its block", || balance(&node, &payer.hex()).1 == 4);
    check_result(&node, "silica_setBlockMode", &json!(["manual"]), &json!("interval=10"));
    let after = height(&node);
    pay(5).unwrap();
    assert_eq!((height(&node), balance(&node, &payer.hex()).1), (after, 4));
    for (mode, shown) in
        [("", "\"\""), ("fast", "\"fast\""), ("interval=0", "\"interval=0\""), ("Instant", "\"Instant\"")]
    {
        let text = format!(
            "mode: expected instant, interval=MS or instant+interval=MS with 1 to 86400000 milliseconds, manual, or manual-immediate, got {shown}"
        );
        check_error(&node, "silica_setBlockMode", &json!([mode]), (-8, &text));
    }
    let (code, text) = node.error("silica_setBlockMode", &json!(["x".repeat(1_000_000)]));
    assert!(code == -8 && text.len() < 200, "{text}");
    for params in [json!([]), json!([1]), json!([null]), json!(["manual", "manual"])] {
        check_error(&node, "silica_setBlockMode", &params, INVALID_PARAMS);
    }
}

#[test]
fn pending_transactions_are_dropped() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payments: Vec<_> =
        (1..=3).map(|nonce| Wallet::funded(0).payment(nonce, Wallet::stranger(1).address(), 1)).collect();
    for payment in &payments {
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    check_result(&node, "silica_dropTransaction", &json!([payments[1].hash()]), &json!(true));
    check_result(&node, "silica_dropTransaction", &json!([payments[1].hash()]), &json!(false));
    let status = node.result("GetTransactionStatus", &json!([payments[1].hash()]));
    assert_eq!((&status["modificationState"], &status["status"]), (&json!(2), &json!(255)));
    node.result("silica_mine", &json!([1]));
    assert_eq!(balance(&node, &Wallet::funded(0).hex()).1, 1, "the third waits for another second");
    // The node accepts the dropped transaction again. The next call drops all pending transactions.
    node.result("CreateTransaction", &json!([payments[1].json()]));
    check_result(&node, "silica_dropAllTransactions", &json!([]), &json!(2));
    check_result(&node, "silica_dropAllTransactions", &json!([]), &json!(0));
    assert_eq!(node.result("GetPendingTxns", &json!([]))["Txns"], json!([]));
    node.result("silica_mine", &json!([1]));
    assert_eq!(balance(&node, &Wallet::funded(0).hex()).1, 1);
    check_error(&node, "silica_dropTransaction", &json!(["12"]), (-8, &no_hash("12")));
    let digits = "g".repeat(64);
    check_error(&node, "silica_dropTransaction", &json!([digits]), (-8, &no_hash(&digits)));
    for params in [json!([]), json!([1]), json!([null]), json!(["12", "12"])] {
        check_error(&node, "silica_dropTransaction", &params, INVALID_PARAMS);
    }
}

const SEND: &str = "silica_sendTransaction";

#[test]
fn transactions_are_sent_for_any_address() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let mut chain = Chain::over(Node::start_in(&data, &[]));
    let (contract, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    let node = chain.node;
    let (unsigned, payee) = ("1234567890123456789012345678901234567890", Wallet::stranger(1).hex());
    node.result("silica_setBalance", &json!([unsigned, "1000000000000000"]));
    let sent = node.result(SEND, &json!([{"senderAddr": unsigned, "toAddr": payee, "amount": "5"}]));
    assert_eq!(sent["Info"], "Non-contract txn, sent to shard");
    assert_eq!((balance(&node, &payee).0, balance(&node, unsigned)), (5, (1_000_000_000_000_000 - 5 - FEE, 1)));
    let read = node.result("GetTransaction", &json!([sent["TranID"]]));
    assert_eq!(read["senderPubKey"], format!("0x{}{unsigned}", "0".repeat(26)));
    assert_eq!((&read["signature"], &read["nonce"]), (&json!(format!("0x{}", "0".repeat(128))), &json!("1")));
    // The sender of the call is `senderAddr`, which can be a contract.
    let message = json!({"_tag": "Greet", "params": []}).to_string();
    let greet = json!([{"senderAddr": unsigned, "toAddr": contract.to_string(), "data": message}]);
    node.result(SEND, &greet);
    let visits = node.result("GetSmartContractState", &json!([contract.to_string()]))["visits"].clone();
    assert_eq!(visits, json!({format!("0x{unsigned}"): "1"}));
    node.result("silica_addBalance", &json!([contract.to_string(), "1000000000000000"]));
    node.result(SEND, &json!([{"senderAddr": contract.to_string(), "toAddr": payee, "amount": "7"}]));
    assert_eq!(balance(&node, &payee).0, 12);
    let version = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"},
                         address_param("owner", &Wallet::funded(0).address())]);
    let deployed = node.result(SEND, &json!([{"senderAddr": unsigned, "code": HELLO, "data": version.to_string()}]));
    let contracts = node.result("GetSmartContracts", &json!([unsigned]));
    assert_eq!(contracts, json!([{"address": deployed["ContractAddress"]}]));
    // In manual mode, unsigned transactions are pending until the next block. They survive a stop.
    node.result("silica_setBlockMode", &json!(["manual"]));
    let last = [1, 2].map(|_| node.result(SEND, &json!([{"senderAddr": unsigned, "toAddr": payee, "amount": "1"}])));
    assert_eq!(balance(&node, unsigned).1, 3);
    node.stop();
    let data_arg = data.to_str().unwrap();
    for command in ["check", "rebuild"] {
        let done = silica_tests::node::run(&["db", command, "--data-dir", data_arg]);
        assert!(done.status.success(), "{command}: {}", done.output);
    }
    let node = Node::start_in(&data, &[]);
    eventually(&node, "what waited gets its block", || balance(&node, unsigned).1 == 5);
    assert_eq!(node.result("GetTransaction", &json!([last[1]["TranID"]]))["nonce"], "5");
    assert_eq!(balance(&node, &payee).0, 14);
}

#[test]
fn many_transactions_for_one_address_are_sent_at_once() {
    let node = Node::start(&[]);
    let (sender, payee) = (Wallet::funded(0).hex(), Wallet::stranger(1).hex());
    let send = || node.result(SEND, &json!([{"senderAddr": sender, "toAddr": payee, "amount": "1"}]));
    let send_all = || {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5).for_each(|_| drop(send())));
            }
        });
    };
    send_all();
    assert_eq!((balance(&node, &sender).1, balance(&node, &payee).0), (20, 20));
    node.result("silica_setBlockMode", &json!(["manual"]));
    send_all();
    let block = height(&node);
    node.result("silica_mine", &json!([1]));
    assert_eq!((height(&node), balance(&node, &sender).1), (block + 1, 40), "one block has room for them");
}

#[test]
fn unsigned_transactions_have_their_own_entrance() {
    let node = Node::start(&[]);
    let payee = Wallet::stranger(1).hex();
    // The placeholder of the sender is not a public key.
    let mut forged = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5).json();
    forged["pubKey"] = json!(format!("{}{}", "0".repeat(26), Wallet::funded(0).hex()));
    forged["signature"] = json!("0".repeat(128));
    let (code, text) = node.error("CreateTransaction", &json!([forged]));
    assert!(code == -8 || code == -26, "{code} {text}");
    let refused = |params: Value, expected: (i64, &str)| check_error(&node, SEND, &params, expected);
    refused(json!([{"senderAddr": payee, "toAddr": payee}]), (-5, "The sender of the txn has no balance"));
    refused(json!([{"senderAddr": "0".repeat(40), "toAddr": payee}]), (-5, "Invalid address for issuing transactions"));
    let sender = Wallet::funded(0).hex();
    let low = (-26, "GasPrice 1 lower than minimum allowable 2000000000");
    refused(json!([{"senderAddr": sender, "toAddr": payee, "gasPrice": "1"}]), low);
    let nonce = (-8, "expected a member of a simulated transaction, got \"nonce\"");
    refused(json!([{"senderAddr": sender, "toAddr": payee, "nonce": 5}]), nonce);
    let (code, text) = node.error(SEND, &json!([{"senderAddr": "x", "toAddr": payee}]));
    assert!(code == -8 && text.starts_with("senderAddr: expected an address"), "{text}");
    for params in [json!([]), json!(["x"]), json!([null]), json!([{}, {}])] {
        refused(params, INVALID_PARAMS);
    }
    assert_eq!((height(&node), balance(&node, &sender).1), (0, 0));
}
