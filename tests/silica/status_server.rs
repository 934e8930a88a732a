//! The methods of the status server (Reference: interface#status-server).

use serde_json::json;
use silica_tests::{Node, Wallet};

use crate::{check_error, check_result, documented};

#[test]
fn figures_are_those_of_the_head() {
    let node = Node::start(&["--block-mode", "manual"]);
    for blocks in [0, 1, 6] {
        if blocks > 0 {
            let latest = node.result("GetLatestTxBlock", &json!([]))["header"]["Timestamp"].clone();
            let next = latest.as_str().unwrap().parse::<u64>().unwrap() + 1;
            node.result("silica_setNextBlockTimestamp", &json!([next.to_string()]));
            node.result("IncreaseBlocknum", &json!([blocks]));
        }
        let head = json!(crate::height(&node).to_string());
        assert_eq!(documented(&node, "GetEpochFin", &json!([""])), head);
        assert_eq!(documented(&node, "GetLatestEpochStatesUpdated", &json!([""])), head);
        // The timestamps of all blocks are in the same second.
        assert_eq!(documented(&node, "GetAverageBlockTime", &json!([""])), "0");
    }
    check_result(&node, "healthcheck", &json!([""]), &json!("ok"));
}

#[test]
fn committee_is_that_of_the_other_methods() {
    let node = Node::start(&[]);
    let keys = node.result("GetCurrentDSComm", &json!([]))["dscomm"].clone();
    let committee = documented(&node, "GetDSCommittee", &json!([""]));
    assert_eq!(committee, json!([{"NetworkInfo": "<0.0.0.0:0>", "PubKey": keys[0]}]));
}

#[test]
fn pool_lists_pending_and_dropped_transactions() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payer = Wallet::funded(0);
    let waits = |nonce| {
        let payment = payer.payment(nonce, Wallet::stranger(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
        payment.hash()
    };
    let check = |hash: &str, code: u8, pending: bool, present: bool| {
        let place = documented(&node, "IsTxnInMemPool", &json!([hash]));
        assert_eq!(place, json!({"code": code, "pending": pending, "present": present}), "{hash}");
    };
    let (first, gap) = (waits(1), waits(3));
    check(&first, 1, true, true);
    node.result("IncreaseBlocknum", &json!([1]));
    check(&first, 0, false, false);
    check(&gap, 4, true, true);
    let mut dearer = payer.payment(3, Wallet::stranger(1).address(), 2);
    dearer.gas_price += 1;
    node.result("CreateTransaction", &json!([dearer.json()]));
    check(&gap, 24, false, true);
    check(&"0".repeat(64), 0, false, false);
    let size = (-8, "Txn Hash size not appropriate");
    for hash in [String::new(), "0".repeat(63), format!("0x{first}"), format!("{first}0")] {
        check_error(&node, "IsTxnInMemPool", &json!([hash]), size);
    }
    check_error(&node, "IsTxnInMemPool", &json!(["g".repeat(64)]), (-1, "Unable to process"));
    for params in [json!([]), json!([1]), json!([first, first]), json!(null)] {
        check_error(&node, "IsTxnInMemPool", &params, crate::INVALID_PARAMS);
    }
}

#[test]
fn methods_of_other_nodes_are_rejected_as_on_a_lookup() {
    let node = Node::start(&[]);
    for method in ["GetNodeState", "DisablePoW", "SetVoteInPow"] {
        check_error(&node, method, &json!([""]), (-32600, "Not to be queried on lookup"));
    }
}
