//! Block modes: a block for each transaction, at intervals, or on request (Reference: execution#block-modes).

use std::{fs, thread, time::Duration};

use serde_json::json;
use silica_tests::{
    Directory, Node, Wallet,
    node::run,
    patience::{Patience, processor_time},
};

use crate::{
    INVALID_PARAMS, balance, check_error, check_result, height, pay, pay_once,
    rules::{check_done, db},
};

/// Waits until the condition holds.
#[track_caller]
pub(crate) fn eventually(node: &Node, what: &str, mut holds: impl FnMut() -> bool) {
    let mut patience = Patience::with(node.id());
    while !holds() {
        patience.check().unwrap_or_else(|hang| panic!("{what}: not yet, {hang}\n{}", node.output()));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn instant_mode_seals_before_it_answers() {
    let node = Node::start(&[]);
    let payer = Wallet::funded(0);
    for nonce in 1..=5 {
        let payment = payer.payment(nonce, Wallet::stranger(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
        let read = node.result("GetTransaction", &json!([payment.hash()]));
        assert_eq!(read["receipt"]["epoch_num"], nonce.to_string());
    }
    // The node makes no further block without a request.
    thread::sleep(Duration::from_millis(300));
    assert_eq!(height(&node), 5);
}

#[test]
fn instant_mode_makes_empty_blocks_on_demand() {
    let node = Node::start(&[]);
    check_result(&node, "IncreaseBlocknum", &json!([3]), &json!("4"));
    assert_eq!(height(&node), 3);
    pay_once(&node, 0);
    assert_eq!(height(&node), 4);
}

#[test]
fn interval_mode_makes_blocks_by_itself() {
    let node = Node::start(&["--block-mode", "interval=20"]);
    eventually(&node, "empty blocks are made", || height(&node) >= 3);
    let payer = Wallet::funded(0);
    // Each nonce is above the next nonce of the account, so the transactions wait until nonce 1 arrives.
    for nonce in [3, 2, 1] {
        let payment = payer.payment(nonce, Wallet::stranger(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    eventually(&node, "the payments are executed", || balance(&node, &payer.hex()).1 == 3);
    assert_eq!(balance(&node, &Wallet::stranger(1).hex()).0, 3);
}

#[test]
fn instant_blocks_and_empty_blocks_at_an_interval() {
    let node = Node::start(&["--block-mode", "instant+interval=20", "--pause-id", "999"]);
    eventually(&node, "empty blocks are made", || height(&node) >= 3);
    let payer = Wallet::funded(0);
    let payment = |nonce| payer.payment(nonce, Wallet::stranger(1).address(), 1);
    for nonce in 1..=5 {
        node.result("CreateTransaction", &json!([payment(nonce).json()]));
        let read = node.result("GetTransaction", &json!([payment(nonce).hash()]));
        assert_eq!(read["receipt"]["success"], true, "the block is there before the answer");
    }
    let later = node.call("CreateTransaction", &json!([payment(7).json()]));
    assert!(later.is_err(), "a later nonce does not wait: {later:?}");
    node.result("IncreaseBlocknum", &json!([2]));
    let before = height(&node);
    eventually(&node, "empty blocks are made without a request", || height(&node) > before + 2);
    // A pause stops blocks at intervals and blocks on request.
    check_result(&node, "TogglePause", &json!(["999"]), &json!(true));
    let paused = height(&node);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(height(&node), paused);
    assert!(node.call("CreateTransaction", &json!([payment(6).json()])).is_err());
    check_result(&node, "TogglePause", &json!(["999"]), &json!(false));
    eventually(&node, "empty blocks are made again", || height(&node) > paused + 2);
    check_result(&node, "silica_setBlockMode", &json!(["instant"]), &json!("instant+interval=20"));
    let still = height(&node);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(height(&node), still, "without the interval an idle chain makes no blocks");
}

/// Returns the logical block number, and the number of the next Tx block.
fn numbers(node: &Node) -> (u64, u64) {
    let number = |method| node.result(method, &json!([])).as_str().unwrap().parse().unwrap();
    (number("GetBlocknum"), number("GetCurrentMiniEpoch"))
}

/// Makes a payment, and returns the block number of its receipt.
fn number_of_payment(node: &Node, nonce: u64) -> String {
    let hash = pay(node, nonce, 1);
    node.result("GetTransaction", &json!([hash]))["receipt"]["epoch_num"].as_str().unwrap().to_owned()
}

#[test]
fn manual_immediate_mode_moves_the_block_number_on_demand_only() {
    let node = Node::start(&["--block-mode", "manual-immediate", "--blocks-per-ds-epoch", "5"]);
    assert_eq!(numbers(&node), (1, 1));
    assert_eq!([1, 2, 3].map(|nonce| number_of_payment(&node, nonce)), ["1", "1", "1"]);
    assert_eq!(numbers(&node), (1, 4));
    check_result(&node, "IncreaseBlocknum", &json!([1]), &json!("2"));
    check_result(&node, "silica_mine", &json!([3]), &json!("5"));
    assert_eq!((numbers(&node), number_of_payment(&node, 4)), ((5, 8), "5".to_owned()));
    node.result("silica_addBalance", &json!([Wallet::stranger(2).hex(), "1"]));
    assert_eq!(numbers(&node).0, 5, "an edit does not move it");
    check_result(&node, "IncreaseBlocknum", &json!([0]), &json!("5"));
    check_result(&node, "IncreaseBlocknum", &json!([2000]), &json!("2005"));
    // The node finds blocks and transactions by the numbers of Tx blocks.
    let of_block = node.result("GetTransactionsForTxBlock", &json!(["8"]));
    assert_eq!(of_block[0].as_array().unwrap().len(), 1, "{of_block}");
    assert_eq!(node.result("GetTxBlock", &json!(["8"]))["header"]["BlockNum"], "8");
    assert_eq!(node.result("GetBlockchainInfo", &json!([]))["NumTxBlocks"], numbers(&node).1.to_string());
    // The node rejects a transaction with a nonce gap.
    let later = Wallet::funded(0).payment(9, Wallet::stranger(1).address(), 1);
    assert!(node.call("CreateTransaction", &json!([later.json()])).is_err());
    // These methods do not exist in this mode, as on the isolated server. Other commands of `silica` find the latest
    // block without these methods.
    let unknown = (-32601, "METHOD_NOT_FOUND: The method being requested is not available on this server");
    check_error(&node, "GetLatestTxBlock", &json!([]), unknown);
    check_error(&node, "GetNumTxBlocks", &json!([]), unknown);
    let latest = numbers(&node).1 - 1;
    let shown = run(&["block", "--url", &node.url()]);
    assert!(shown.status.success() && shown.output.contains(&latest.to_string()), "{}", shown.output);
    let account = Wallet::funded(0).hex();
    let verified = run(&["proof", "verify", "--url", &node.url(), "--address", &account, "--variable", "x"]);
    assert!(verified.output.contains("Address not contract address"), "the block is found: {}", verified.output);
    let load = run(&["load", "--target", &node.address().to_string(), "--payments", "10", "--senders", "1"]);
    assert!(load.status.success(), "{}", load.output);
    check_result(&node, "silica_setBlockMode", &json!(["instant"]), &json!("manual-immediate"));
    let (logical, real) = numbers(&node);
    assert_eq!(height(&node), real - 1);
    // Each block in this mode increases both numbers. The next block is vacuous, and increases both numbers too.
    assert_eq!(real % 5, 4);
    assert_eq!(
        [6, 7].map(|nonce| number_of_payment(&node, nonce)),
        [logical + 1, logical + 2].map(|it| it.to_string())
    );
}

#[test]
fn manual_immediate_numbers_survive_revert_restart_and_dump() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let mode = ["--block-mode", "manual-immediate"];
    let node = Node::start_in(&data, &mode);
    number_of_payment(&node, 1);
    node.result("IncreaseBlocknum", &json!([50]));
    assert_eq!(number_of_payment(&node, 2), "51");
    let kept = node.result("silica_snapshot", &json!([]));
    node.result("IncreaseBlocknum", &json!([7]));
    assert_eq!(number_of_payment(&node, 3), "58");
    node.result("silica_revert", &json!([kept]));
    assert_eq!((numbers(&node), number_of_payment(&node, 3)), ((51, 53), "51".to_owned()));
    node.result("IncreaseBlocknum", &json!([20]));
    node.kill();
    let node = Node::start_in(&data, &mode);
    assert_eq!((numbers(&node), number_of_payment(&node, 4)), ((71, 74), "71".to_owned()));
    let (latest, before) = (numbers(&node), node.result("GetTxBlock", &json!(["74"])));
    node.stop();
    check_done(&db("check", &data, None), "4 transactions verified and executed again");
    check_done(&db("rebuild", &data, None), "latest block 74");
    let (file, loaded) = (directory.path().join("chain.dump"), directory.path().join("loaded"));
    check_done(&db("dump", &data, Some(&file)), "latest block 74");
    assert_eq!(&fs::read(&file).unwrap()[..16], b"silica dump\n\0\0\0\x03", "earlier programs refuse it");
    check_done(&db("load", &loaded, Some(&file)), "latest block 74");
    check_done(&db("check", &loaded, None), "4 transactions verified and executed again");
    for data in [&data, &loaded] {
        let node = Node::start_in(data, &mode);
        assert_eq!((numbers(&node), node.result("GetTxBlock", &json!(["74"]))), (latest, before.clone()));
        assert_eq!(number_of_payment(&node, 5), "71");
    }
}

#[test]
fn interval_mode_takes_no_orders() {
    let node = Node::start(&["--block-mode", "interval=60000"]);
    let disallowed = (-8, "Manual trigger disallowed");
    check_error(&node, "IncreaseBlocknum", &json!([1]), disallowed);
    check_error(&node, "SetMinimumGasPrice", &json!(["1"]), disallowed);
}

#[test]
fn paused_node_makes_no_blocks_and_is_read() {
    let node = Node::start(&["--block-mode", "interval=20", "--pause-id", "a b"]);
    eventually(&node, "blocks are made", || height(&node) >= 2);
    let id = json!(["a b"]);
    check_result(&node, "CheckPause", &id, &json!(false));
    check_result(&node, "TogglePause", &id, &json!(true));
    let head = height(&node);
    check_result(&node, "CheckPause", &id, &json!(true));
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    let paused = (-32603, "IsoServer is paused");
    check_error(&node, "CreateTransaction", &json!([payment.json()]), paused);
    // The node checks the members before the signature (Reference: interface#create-a-transaction).
    let missing = (-8, "Missing components in Json Data Object");
    check_error(&node, "CreateTransaction", &json!([{}]), missing);
    let mut forged = payment.json();
    forged["signature"] = json!("0".repeat(128));
    check_error(&node, "CreateTransaction", &json!([forged]), paused);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(height(&node), head);
    check_result(&node, "GetNumTransactions", &json!([]), &json!("0"));
    check_result(&node, "TogglePause", &id, &json!(false));
    node.result("CreateTransaction", &json!([payment.json()]));
    eventually(&node, "the payment is executed", || balance(&node, &Wallet::funded(0).hex()).1 == 1);
}

#[test]
fn pause_needs_the_pause_id() {
    let node = Node::start(&["--block-mode", "interval=60000", "--pause-id", "999"]);
    let without_id = Node::start(&["--block-mode", "interval=60000"]);
    for method in ["TogglePause", "CheckPause"] {
        for id in ["", "99", "9990", " 999"] {
            check_error(&node, method, &json!([id]), (-5, "Invalid UUID"));
        }
        for id in ["", "999"] {
            check_error(&without_id, method, &json!([id]), (-5, "Invalid UUID"));
        }
        for params in [json!([999]), json!([]), json!(["999", "999"]), json!(null), json!({"id": "999"})] {
            check_error(&node, method, &params, INVALID_PARAMS);
        }
    }
    check_result(&node, "CheckPause", &json!(["999"]), &json!(false));
}

#[test]
fn only_blocks_at_intervals_are_paused() {
    for mode in ["instant", "manual"] {
        let node = Node::start(&["--block-mode", mode, "--pause-id", "999"]);
        for method in ["TogglePause", "CheckPause"] {
            let refused = node.call(method, &json!(["999"])).unwrap_err();
            assert_eq!((refused.code, refused.data), (-32601, None), "{method} in {mode}");
        }
    }
}

#[test]
fn paused_node_stops_in_good_order_and_keeps_what_waits() {
    let scratch = Directory::new();
    let node = Node::start_in(scratch.path(), &["--block-mode", "interval=60000", "--pause-id", "999"]);
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    check_result(&node, "TogglePause", &json!(["999"]), &json!(true));
    assert!(node.stop().status.success());
    let node = Node::start_in(scratch.path(), &["--block-mode", "interval=20", "--pause-id", "999"]);
    check_result(&node, "CheckPause", &json!(["999"]), &json!(false));
    eventually(&node, "the payment is executed", || balance(&node, &Wallet::funded(0).hex()).1 == 1);
}

#[test]
fn manual_mode_makes_blocks_on_request_only() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    assert_eq!(height(&node), 0);
    check_result(&node, "IncreaseBlocknum", &json!([2]), &json!("3"));
    let read = node.result("GetTransaction", &json!([payment.hash()]));
    assert_eq!(read["receipt"]["epoch_num"], "1");
}

#[test]
fn order_for_blocks_is_bounded() {
    let node = Node::start(&["--block-mode", "manual"]);
    for count in [json!(0), json!(-1), json!(1_000_000_000)] {
        let refused = node.call("IncreaseBlocknum", &json!([count]));
        assert!(refused.is_err() || count == 0, "{count}");
    }
    assert_eq!(height(&node), 0);
}

#[test]
fn payment_with_a_higher_price_replaces_one_that_waits() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payer = Wallet::funded(0);
    let mut payment = payer.payment(1, Wallet::stranger(1).address(), 1);
    node.result("CreateTransaction", &json!([payment.json()]));
    let replaced = payment.hash();
    payment.gas_price += 1;
    payment.amount = 2;
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(balance(&node, &Wallet::stranger(1).hex()).0, 2);
    let status = node.result("GetTransactionStatus", &json!([replaced]));
    assert_eq!((&status["modificationState"], &status["status"]), (&json!(2), &json!(24)));
    check_error(&node, "GetTransaction", &json!([replaced]), (-20, "Txn Hash not Present"));
}

#[test]
fn payment_that_lost_its_funds_is_dropped() {
    let node = Node::start(&["--block-mode", "manual"]);
    let (payer, poor) = (Wallet::funded(0), Wallet::stranger(1));
    let fee = silica_tests::wallet::FEE;
    let funding = payer.payment(1, poor.address(), 2 * fee + 10);
    node.result("CreateTransaction", &json!([funding.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    let (first, second) = (poor.payment(1, payer.address(), fee), poor.payment(2, payer.address(), fee));
    node.result("CreateTransaction", &json!([first.json()]));
    node.result("CreateTransaction", &json!([second.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(balance(&node, &poor.hex()), (10, 1));
    let status = node.result("GetTransactionStatus", &json!([second.hash()]));
    assert_eq!((&status["modificationState"], &status["status"]), (&json!(2), &json!(21)));
}

/// A chain with many blocks from one request returns the same responses as a chain with one request for each block,
/// even after a kill.
#[test]
fn blocks_that_are_demanded_by_the_hundred_thousand_are_like_all_others() {
    // A debug build takes ten times as long, so it makes fewer blocks. The checks are the same.
    let blocks: u64 = if cfg!(debug_assertions) { 60_000 } else { 1_000_000 };
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &[]);
    pay_once(&node, 0);
    let begun = processor_time(node.id());
    check_result(&node, "IncreaseBlocknum", &json!([blocks]), &json!((blocks + 2).to_string()));
    let taken = processor_time(node.id()).saturating_sub(begun);
    assert!(taken < Duration::from_mins(1), "{blocks} blocks took {taken:?} of processor time");
    let node = check_far_chain(node, blocks);
    node.kill();
    let node = check_far_chain(Node::start_in(&data, &[]), blocks);
    pay_once(&node, 1);
    assert_eq!(height(&node), blocks + 2);
    assert!(node.stop().status.success());
    let checked = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
    assert!(checked.status.success(), "{checked:?}");
}

/// Requests blocks at many positions of a chain with one payment, `blocks` empty blocks, and 100 blocks per DS epoch.
#[track_caller]
fn check_far_chain(node: Node, blocks: u64) -> Node {
    let last = blocks + 1;
    assert_eq!(height(&node), last);
    let block = |number: u64| node.result("GetTxBlock", &json!([number.to_string()]));
    for number in [2, 98, 99, 100, 101, 3_333, blocks / 2 - 1, blocks / 2, last] {
        let (before, block) = (block(number - 1), block(number));
        let header = &block["header"];
        assert_eq!(header["BlockNum"], number.to_string());
        assert_eq!(header["PrevBlockHash"], before["body"]["BlockHash"], "block {number}");
        assert_eq!(header["DSBlockNum"], (number / 100 + 1).to_string());
        let time = |block: &serde_json::Value| block["header"]["Timestamp"].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time(&block) > time(&before), "block {number}");
        let rewards = header["Rewards"].as_str().unwrap();
        assert_eq!(rewards != "0", number % 100 == 99, "block {number}: {rewards}");
        assert_ne!(block["body"]["HeaderSign"], before["body"]["HeaderSign"]);
    }
    for number in [1, 2, last / 200, last / 100 + 1] {
        let ds_block = node.result("GetDsBlock", &json!([number.to_string()]));
        assert_eq!(ds_block["header"]["BlockNum"], number.to_string());
    }
    let listing = node.result("TxBlockListing", &json!([blocks / 20]));
    for listed in listing["data"].as_array().unwrap() {
        let number = listed["BlockNum"].as_u64().unwrap();
        assert_eq!(listed["Hash"], block(number)["body"]["BlockHash"]);
    }
    let information = node.result("GetBlockchainInfo", &json!([]));
    assert_eq!(information["NumTxBlocks"], (last + 1).to_string());
    assert_eq!(information["NumDSBlocks"], (last / 100 + 2).to_string());
    assert_eq!(information["NumTransactions"], "1");
    node
}
