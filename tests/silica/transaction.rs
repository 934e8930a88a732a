//! Payments: their submission, their data with `GetTransaction`, their status, and recent and pending transactions
//! (Reference: interface#read-a-transaction, interface#transaction-status).

use serde_json::{Value, json};
use silica_tests::{
    Node, Wallet,
    wallet::{GAS_PRICE, PAYMENT_GAS, VERSION},
};

use crate::{check_error, check_result, documented, height, pay_once};

#[test]
fn payment_is_answered_with_its_hash_and_route() {
    let node = Node::start(&[]);
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    let result = documented(&node, "CreateTransaction", &json!([payment.json()]));
    assert_eq!(result, json!({"Info": "Non-contract txn, sent to shard", "TranID": payment.hash()}));
}

#[test]
fn payment_is_read_back_as_it_was_sent() {
    let node = Node::start(&[]);
    let payer = Wallet::funded(0);
    let payment = payer.payment(1, Wallet::stranger(1).address(), 340_282_366_920);
    node.result("CreateTransaction", &json!([payment.json()]));
    let read = documented(&node, "GetTransaction", &json!([payment.hash()]));
    let expected = json!({
        "ID": payment.hash(),
        "amount": "340282366920",
        "gasLimit": PAYMENT_GAS.to_string(),
        "gasPrice": GAS_PRICE.to_string(),
        "nonce": "1",
        "receipt": {"cumulative_gas": "50", "epoch_num": height(&node).to_string(), "success": true},
        "senderPubKey": format!("0x{}", payer.public_key().to_uppercase()),
        "signature": format!("0x{}", payment.signed().signature().to_string().to_uppercase()),
        "toAddr": Wallet::stranger(1).hex(),
        "version": VERSION.to_string(),
    });
    assert_eq!(read, expected);
}

#[test]
fn gas_beyond_the_fifty_is_given_back() {
    let node = Node::start(&[]);
    let mut payment = Wallet::funded(0).payment(1, Wallet::funded(1).address(), 0);
    payment.gas_limit = 400_000;
    node.result("CreateTransaction", &json!([payment.json()]));
    let read = node.result("GetTransaction", &json!([payment.hash()]));
    assert_eq!((&read["gasLimit"], &read["receipt"]["cumulative_gas"]), (&json!("400000"), &json!("50")));
    let (balance, _) = crate::balance(&node, &Wallet::funded(0).hex());
    assert_eq!(balance, silica_tests::wallet::FUNDS - silica_tests::wallet::FEE);
}

#[test]
fn payment_to_oneself_costs_the_fee() {
    let node = Node::start(&[]);
    let wallet = Wallet::funded(0);
    let payment = wallet.payment(1, wallet.address(), 5_000_000_000_000);
    node.result("CreateTransaction", &json!([payment.json()]));
    let expected = (silica_tests::wallet::FUNDS - silica_tests::wallet::FEE, 1);
    assert_eq!(crate::balance(&node, &wallet.hex()), expected);
}

#[test]
fn hash_may_have_any_case_and_a_prefix() {
    let node = Node::start(&[]);
    let hash = pay_once(&node, 0);
    let read = node.result("GetTransaction", &json!([hash]));
    for spelling in [format!("0x{hash}"), hash.to_uppercase(), format!("0x{}", hash.to_uppercase())] {
        check_result(&node, "GetTransaction", &json!([spelling]), &read);
    }
}

#[test]
fn soft_confirmed_transaction_is_a_final_one() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 1);
    node.result("CreateTransaction", &json!([payment.json()]));
    let method = "GetSoftConfirmedTransaction";
    let hash = payment.hash();
    check_error(&node, method, &json!([hash]), (-20, "Txn Hash not soft confirmed"));
    node.result("IncreaseBlocknum", &json!([1]));
    let read = node.result("GetTransaction", &json!([hash]));
    check_result(&node, method, &json!([hash]), &read);
    check_result(&node, method, &json!([hash.to_uppercase()]), &read);
    for spelling in [format!("0x{hash}"), hash[..63].to_owned(), String::new()] {
        check_error(&node, method, &json!([spelling]), (-32602, "Size not appropriate"));
    }
    check_error(&node, method, &json!(["g".repeat(64)]), (-1, "Unable to Process"));
    check_error(&node, method, &json!([format!("0x{}", &hash[..62])]), (-1, "Unable to Process"));
}

#[test]
fn unknown_and_misspelt_hashes_are_refused() {
    let node = Node::start(&[]);
    let hash = pay_once(&node, 0);
    for absent in ["0".repeat(64), hash[..62].to_owned(), hash[..63].to_owned(), format!("{hash}00"), String::new()] {
        check_error(&node, "GetTransaction", &json!([absent]), (-20, "Txn Hash not Present"));
    }
    check_error(&node, "GetTransaction", &json!(["z".repeat(64)]), (-1, "Unable to Process"));
    check_error(&node, "GetTransactionStatus", &json!(["0".repeat(64)]), (-20, "Txn Hash not Present"));
    check_error(&node, "GetTransactionStatus", &json!([hash[..62]]), (-8, "Txn Hash size not appropriate"));
}

#[test]
fn status_of_a_sealed_payment_is_confirmed() {
    let node = Node::start(&[]);
    let hash = pay_once(&node, 0);
    let status = documented(&node, "GetTransactionStatus", &json!([hash]));
    assert_eq!((&status["modificationState"], &status["status"]), (&json!(2), &json!(3)));
    assert_eq!((&status["success"], &status["ID"]), (&json!(true), &json!(hash)));
    assert_eq!(status["senderAddr"], Wallet::funded(0).hex());
    assert_eq!(status["epochUpdated"], height(&node).to_string());
}

#[test]
fn waiting_payment_is_pending_until_its_block() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    let second = Wallet::funded(0).payment(3, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("CreateTransaction", &json!([second.json()]));

    check_error(&node, "GetTransaction", &json!([payment.hash()]), (-20, "Txn Hash not Present"));
    let pending = documented(&node, "GetPendingTxns", &json!([]));
    let codes: Vec<(&str, u64)> = pending["Txns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["TxnHash"].as_str().unwrap(), entry["code"].as_u64().unwrap()))
        .collect();
    let (first_hash, second_hash) = (payment.hash(), second.hash());
    assert_eq!(codes.len(), 2);
    assert!(codes.contains(&(first_hash.as_str(), 1)), "{codes:?}");
    // The node finds the nonce gap when it makes a block, so both have the same status here.
    assert!(codes.contains(&(second_hash.as_str(), 1)), "{codes:?}");
    let status = |hash: &str| {
        let status = documented(&node, "GetTransactionStatus", &json!([hash]));
        (status["modificationState"].as_u64().unwrap(), status["status"].as_u64().unwrap())
    };
    assert_eq!(status(&first_hash), (0, 1));

    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(status(&first_hash), (2, 3));
    assert_eq!(status(&second_hash), (1, 4));
    let pending = node.result("GetPendingTxns", &json!([]));
    assert_eq!(pending, json!({"Txns": [{"TxnHash": second_hash, "code": 4}]}));
    // The transaction stays pending for any number of blocks.
    node.result("IncreaseBlocknum", &json!([10]));
    assert_eq!(status(&second_hash), (1, 4));
    assert_eq!(node.result("GetPendingTxns", &json!([])), pending);

    let gap = Wallet::funded(0).payment(2, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([gap.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(status(&second_hash), (2, 3));
    check_result(&node, "GetPendingTxns", &json!([]), &json!({"Txns": []}));
    assert_eq!(crate::balance(&node, &Wallet::stranger(1).hex()), (15, 0));
}

#[test]
fn former_pending_method_still_answers() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    let unknown = json!({"code": 0, "confirmed": false, "pending": false});
    check_result(&node, "GetPendingTxn", &json!([payment.hash()]), &unknown);
    node.result("CreateTransaction", &json!([payment.json()]));
    let waiting = node.result("GetPendingTxn", &json!([payment.hash()]));
    assert_eq!((&waiting["pending"], &waiting["confirmed"]), (&json!(true), &json!(false)));
    node.result("IncreaseBlocknum", &json!([1]));
    check_result(&node, "GetPendingTxn", &json!([payment.hash()]), &json!({"code": 0, "confirmed": true}));
    check_error(&node, "GetPendingTxn", &json!(["00"]), (-8, "Txn Hash size not appropriate"));
}

#[test]
fn recent_transactions_are_newest_first() {
    let node = Node::start(&[]);
    check_result(&node, "GetRecentTransactions", &json!([""]), &json!({"TxnHashes": [], "number": 0}));
    let payer = Wallet::funded(0);
    let hashes: Vec<String> = (1..=3)
        .map(|nonce| {
            let payment = payer.payment(nonce, Wallet::stranger(1).address(), 1);
            node.result("CreateTransaction", &json!([payment.json()]));
            payment.hash()
        })
        .collect();
    let recent = documented(&node, "GetRecentTransactions", &json!([""]));
    let newest_first: Vec<&String> = hashes.iter().rev().collect();
    assert_eq!(recent, json!({"TxnHashes": newest_first, "number": 3}));
}

#[test]
fn recent_transactions_are_a_hundred_at_most() {
    let node = Node::start(&["--block-mode", "manual"]);
    let payer = Wallet::funded(0);
    let batch: Vec<Value> = (1..=120)
        .map(|nonce| {
            let payment = payer.payment(nonce, Wallet::stranger(1).address(), 1).json();
            json!({"id": nonce, "jsonrpc": "2.0", "method": "CreateTransaction", "params": [payment]})
        })
        .collect();
    let answers = node.post_json(Value::from(batch).to_string());
    assert!(answers.as_array().unwrap().iter().all(|answer| answer["result"]["TranID"].is_string()), "{answers}");
    node.result("IncreaseBlocknum", &json!([1]));
    let recent = node.result("GetRecentTransactions", &json!([""]));
    assert_eq!((&recent["number"], recent["TxnHashes"].as_array().unwrap().len()), (&json!(100), 100));
    assert_eq!(recent["TxnHashes"][0], payer.payment(120, Wallet::stranger(1).address(), 1).hash());
}

#[test]
fn absent_null_and_empty_code_and_data_are_the_same_payment() {
    let node = Node::start(&[]);
    let payer = Wallet::funded(0);
    for (nonce, change) in (1..).zip([Some(json!("")), Some(Value::Null), None]) {
        let payment = payer.payment(nonce, Wallet::stranger(1).address(), 1);
        let mut request = payment.json();
        let members = request.as_object_mut().unwrap();
        for member in ["code", "data"] {
            members.remove(member);
            members.extend(change.clone().map(|value| (member.to_owned(), value)));
        }
        members.remove("priority");
        let result = node.result("CreateTransaction", &json!([request]));
        assert_eq!(result["TranID"], payment.hash());
    }
}

#[test]
fn batch_of_payments_is_executed_in_order() {
    let node = Node::start(&[]);
    let payer = Wallet::funded(0);
    let batch: Vec<Value> = (1..=20)
        .map(|nonce| {
            let payment = payer.payment(nonce, Wallet::stranger(nonce).address(), 1).json();
            json!({"id": nonce, "jsonrpc": "2.0", "method": "CreateTransaction", "params": [payment]})
        })
        .collect();
    let answers = node.post_json(Value::from(batch).to_string());
    for (nonce, answer) in (1..).zip(answers.as_array().unwrap()) {
        assert_eq!(answer["id"], nonce);
        assert_eq!(answer["result"]["TranID"], payer.payment(nonce, Wallet::stranger(nonce).address(), 1).hash());
    }
    assert_eq!(crate::balance(&node, &payer.hex()).1, 20);
}
