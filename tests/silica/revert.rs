//! Savepoints and reverts: the removed data, the notifications, and the state after a kill during a revert.

use std::{thread, time::Duration};

use serde_json::{Value, json};
use silica_protocol::{Address, StorageKey};
use silica_tests::{Directory, Node, Wallet, node::run};

use crate::{INVALID_PARAMS, balance, check_error, check_result, contract::deploy_hello, height, pay};

/// Returns the responses of a node about its chain.
fn answers(node: &Node) -> Vec<Value> {
    let payer = Wallet::funded(0).hex();
    [
        ("GetBlockchainInfo", json!([])),
        ("GetLatestTxBlock", json!([])),
        ("GetLatestDsBlock", json!([])),
        ("TxBlockListing", json!([1])),
        ("DSBlockListing", json!([1])),
        ("GetRecentTransactions", json!([])),
        ("GetPendingTxns", json!([])),
        ("GetMinimumGasPrice", json!([])),
        ("GetBalance", json!([payer])),
        ("GetSmartContracts", json!([payer])),
        ("eth_blockNumber", json!([])),
    ]
    .into_iter()
    .map(|(method, params)| node.call(method, &params).unwrap_or_else(|refusal| json!(refusal.message)))
    .collect()
}

/// Returns the hash of the latest Tx block.
fn block_hash(node: &Node) -> String {
    node.result("GetLatestTxBlock", &json!([]))["body"]["BlockHash"].as_str().unwrap().to_owned()
}

/// Returns the timestamp of the latest Tx block, in microseconds.
fn latest_time(node: &Node) -> u64 {
    let block = node.result("GetLatestTxBlock", &json!([]));
    block["header"]["Timestamp"].as_str().unwrap().parse().unwrap()
}

#[test]
fn revert_restores_chain_and_responses() {
    for node in [Node::start(&[]), Node::start_in_memory(&[])] {
        let first = pay(&node, 1, 5);
        node.result("silica_mine", &json!([150]));
        node.result("silica_setBalance", &json!([Wallet::stranger(2).hex(), "7"]));
        let before = answers(&node);
        check_result(&node, "silica_snapshot", &json!([]), &json!(1));
        let contract = deploy_hello(&node, 2).1;
        let second = pay(&node, 3, 6);
        let by_hash = |hash: &str| node.result("eth_getBlockByHash", &json!([hash, false]));
        let gone = format!("0x{}", block_hash(&node));
        assert!(by_hash(&gone).is_object());
        check_result(&node, "silica_snapshot", &json!([]), &json!(2));
        node.result("silica_mine", &json!([300]));
        node.result("SetMinimumGasPrice", &json!(["3000000000"]));
        node.result("silica_increaseTime", &json!([1_000_000]));
        node.result("silica_setBlockMode", &json!(["manual"]));
        node.result("silica_setBalance", &json!([Wallet::stranger(2).hex(), "8"]));
        check_result(&node, "silica_revert", &json!([1]), &json!(true));
        assert_eq!(answers(&node), before);
        assert_eq!(balance(&node, &Wallet::stranger(2).hex()), (7, 0));
        assert_eq!(node.result("GetTransaction", &json!([first]))["ID"], first);
        let (code, text) = node.error("GetTransaction", &json!([second]));
        assert_eq!((code, text.as_str()), (-20, "Txn Hash not Present"));
        assert_eq!(by_hash(&gone), Value::Null);
        assert_eq!(node.call("GetSmartContractInit", &json!([contract])).unwrap_err().code, -5);
        // The revert restores block mode, gas price and time, and the nonce is valid again.
        let time = latest_time(&node);
        pay(&node, 2, 9);
        assert!(latest_time(&node) - time < 600_000_000);
        assert_eq!(balance(&node, &Wallet::stranger(1).hex()).0, 14);
        assert_eq!(node.result("silica_setBlockMode", &json!(["instant"])), "instant");
    }
}

#[test]
fn pending_transactions_of_a_savepoint_are_pending_again() {
    let node = Node::start(&["--block-mode", "manual"]);
    let waiting = pay(&node, 1, 5);
    let time = (latest_time(&node) + 5_000_000_000).to_string();
    node.result("silica_setNextBlockTimestamp", &json!([time]));
    let id = node.result("silica_snapshot", &json!([]));
    for round in 0..3 {
        let later = pay(&node, 2, 6 + round);
        node.result("silica_mine", &json!([20]));
        node.result("GetTransaction", &json!([later]));
        check_result(
            &node,
            "silica_revert",
            &json!([id.as_u64().unwrap() + u64::try_from(round).unwrap()]),
            &json!(true),
        );
        assert_eq!(height(&node), 0);
        let pending = node.result("GetPendingTxns", &json!([]));
        assert_eq!(pending["Txns"].as_array().unwrap().len(), 1, "{pending}");
        assert_eq!(pending["Txns"][0]["TxnHash"], waiting);
        node.error("GetTransactionStatus", &json!([later]));
        node.result("silica_snapshot", &json!([]));
    }
    node.result("silica_mine", &json!([1]));
    assert_eq!(node.result("GetTransaction", &json!([waiting]))["receipt"]["epoch_num"], "1");
    assert_eq!(latest_time(&node).to_string(), time);
}

#[test]
fn snapshot_is_used_once_and_ends_with_the_process() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &[]);
    let unknown = |node: &Node, id: u64| {
        let (code, text) = node.error("silica_revert", &json!([id]));
        assert!(
            code == -8 && text.starts_with(&format!("id: expected the number of an available savepoint, got {id}; ")),
            "{text}"
        );
    };
    unknown(&node, 0);
    unknown(&node, 1);
    for id in 1..=3 {
        check_result(&node, "silica_snapshot", &json!([]), &json!(id));
        pay(&node, id, 1);
    }
    check_result(&node, "silica_revert", &json!([2]), &json!(true));
    assert_eq!(height(&node), 1);
    unknown(&node, 2);
    unknown(&node, 3);
    node.result("SetMinimumGasPrice", &json!(["3000000000"]));
    check_result(&node, "silica_snapshot", &json!([]), &json!(4));
    check_result(&node, "silica_revert", &json!([1]), &json!(true));
    assert_eq!(height(&node), 0);
    pay(&node, 1, 3);
    pay(&node, 2, 3);
    for params in [json!([]), json!(["1"]), json!([-1]), json!([1.5]), json!([null]), json!([1, 1]), json!({"ID": 1})] {
        check_error(&node, "silica_revert", &params, INVALID_PARAMS);
    }
    let before = answers(&node);
    let id = node.result("silica_snapshot", &json!([])).as_u64().unwrap();
    node.kill();
    let checked = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
    assert!(checked.status.success(), "{}", checked.output);
    let node = Node::start_in(&data, &[]);
    assert_eq!(answers(&node), before);
    unknown(&node, id);
    pay(&node, 3, 3);
}

#[test]
fn kill_during_a_revert_leaves_the_old_or_the_new_head() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let mut node = Node::start_in(&data, &["--block-mode", "manual"]);
    let mut nonce = 0;
    for round in 0..8_u64 {
        let low = height(&node);
        node.result("silica_snapshot", &json!([]));
        for _ in 0..10 {
            nonce += 1;
            pay(&node, nonce, 1);
            node.result("silica_mine", &json!([1]));
        }
        node.result("silica_mine", &json!([100]));
        let high = height(&node);
        thread::scope(|scope| {
            scope.spawn(|| {
                let request = json!({"id": 1, "jsonrpc": "2.0", "method": "silica_revert", "params": [1]}).to_string();
                // The response can be lost, because another thread kills the node.
                let _ = std::panic::catch_unwind(|| node.connect().post(request.as_bytes()));
            });
            thread::sleep(Duration::from_micros(200 * round * round));
            node.signal("KILL");
        });
        node.kill();
        node = Node::start_in(&data, &["--block-mode", "manual"]);
        let head = height(&node);
        assert!(head == low || head == high, "{head} of {low} and {high}");
        nonce = balance(&node, &Wallet::funded(0).hex()).1;
        assert_eq!(nonce, 10 * (nonce / 10));
    }
    node.stop();
    let checked = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
    assert!(checked.status.success(), "{}", checked.output);
}

#[test]
fn requests_during_a_revert_read_one_chain() {
    let node = Node::start(&["--block-mode", "manual"]);
    let contract = deploy_hello(&node, 1).1;
    node.result("silica_mine", &json!([5]));
    let key = StorageKey::field(&contract.parse().unwrap(), "greeting").variable_hash().to_string();
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..150 {
                        let proof = json!([contract, key, "latest"]);
                        for (method, params) in [("GetTxBlock", json!(["5"])), ("GetStateProof", proof)] {
                            match node.call(method, &params) {
                                Ok(answer) if method == "GetTxBlock" => {
                                    assert_eq!(answer["header"]["BlockNum"], "5");
                                }
                                Ok(_) => {}
                                Err(error) => {
                                    assert_eq!(error.message, "The chain was reverted meanwhile, try again");
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        for round in 0..20 {
            node.result("silica_snapshot", &json!([]));
            let payment = Wallet::funded(1).payment(1, Address::new([round + 1; 20]), 1);
            node.result("CreateTransaction", &json!([payment.json()]));
            node.result("silica_mine", &json!([3]));
            node.result("silica_revert", &json!([round + 1]));
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
    assert_eq!(height(&node), 5);
}
