//! Tests of a payment, from its submission to the results of the methods that read it.

use serde_json::json;
use silica_node::BlockMode;

use crate::harness::{PRICE, RICH, call, error, key, key_number, payment, result, signed, start};

#[tokio::test]
async fn payment_is_in_a_block_when_it_is_acknowledged() {
    let node = start(BlockMode::Instant).await;
    let addr = node.addr();
    let (rich, poor) = (key(RICH), key_number(5).address());
    let (code, text) = error(addr, "GetBalance", json!([poor.to_string()])).await;
    assert_eq!((code, text.as_str()), (-5, "Account is not created"));

    let price: u128 = result(addr, "GetMinimumGasPrice", json!([])).await.as_str().unwrap().parse().unwrap();
    assert_eq!(price, PRICE);
    let transaction = payment(&rich, 1, poor, 1_000);
    let hash = transaction.hash().to_string();
    let created = result(addr, "CreateTransaction", json!([signed(transaction.clone(), &rich)])).await;
    assert_eq!(created, json!({"Info": "Non-contract txn, sent to shard", "TranID": hash}));

    let read = result(addr, "GetTransaction", json!([hash])).await;
    assert_eq!(read["ID"], hash);
    assert_eq!(read["amount"], "1000");
    assert_eq!(read["nonce"], "1");
    assert_eq!(read["toAddr"], poor.to_string());
    assert_eq!(read["senderPubKey"], format!("0x{:X}", rich.public_key()));
    assert_eq!(read["receipt"], json!({"cumulative_gas": "50", "epoch_num": "1", "success": true}));
    assert_eq!(result(addr, "GetTransaction", json!([format!("0x{}", hash.to_uppercase())])).await, read);

    assert_eq!(result(addr, "GetBalance", json!([poor.to_bech32()])).await, json!({"balance": "1000", "nonce": 0}));
    let balance = 9 * 10u128.pow(23) - 1_000 - 50 * PRICE;
    let expected = json!({"balance": balance.to_string(), "nonce": 1});
    assert_eq!(result(addr, "GetBalance", json!([format!("0x{}", rich.address().to_checksum())])).await, expected);

    let block = result(addr, "GetLatestTxBlock", json!([""])).await;
    assert_eq!(block["header"]["BlockNum"], "1");
    assert_eq!(block["header"]["DSBlockNum"], "1");
    assert_eq!(block["header"]["NumTxns"], 1);
    assert_eq!(block["header"]["NumPages"], 1);
    assert_eq!(block["header"]["TxnFees"], (50 * PRICE).to_string());
    assert_eq!(block["header"]["Rewards"], "0");
    assert_eq!(result(addr, "GetTxBlock", json!(["1"])).await, block);

    let by_shard = json!([[hash], []]);
    assert_eq!(result(addr, "GetTransactionsForTxBlock", json!(["1"])).await, by_shard);
    let page = json!({"CurrPage": 0, "NumPages": 1, "Transactions": by_shard});
    assert_eq!(result(addr, "GetTransactionsForTxBlockEx", json!(["1", "0"])).await, page);
    assert_eq!(result(addr, "GetTransactionsForTxBlockEx", json!(["1"])).await, page);
    assert_eq!(result(addr, "GetTransactionsForTxBlockEx", json!(["1", ""])).await, by_shard);
    assert_eq!(result(addr, "GetTxnBodiesForTxBlock", json!(["0x1"])).await, json!([read]));
    let page = json!({"CurrPage": 0, "NumPages": 1, "Transactions": [read]});
    assert_eq!(result(addr, "GetTxnBodiesForTxBlockEx", json!(["1", "0"])).await, page);

    let recent = json!({"TxnHashes": [hash], "number": 1});
    assert_eq!(result(addr, "GetRecentTransactions", json!([])).await, recent);
    let status = result(addr, "GetTransactionStatus", json!([hash])).await;
    assert_eq!(
        (&status["status"], &status["modificationState"], &status["success"]),
        (&json!(3), &json!(2), &json!(true))
    );
    assert_eq!(result(addr, "GetPendingTxn", json!([hash])).await, json!({"code": 0, "confirmed": true}));
    assert_eq!(result(addr, "GetPendingTxns", json!([])).await, json!({"Txns": []}));

    let info = result(addr, "GetBlockchainInfo", json!([""])).await;
    for (member, method) in [
        ("NumTransactions", "GetNumTransactions"),
        ("NumTxnsTxEpoch", "GetNumTxnsTxEpoch"),
        ("NumTxnsDSEpoch", "GetNumTxnsDSEpoch"),
    ] {
        assert_eq!(info[member], "1", "{member}");
        assert_eq!(result(addr, method, json!([5])).await, "1", "{method}");
    }
    node.stop().await.unwrap();
}

#[tokio::test]
async fn transactions_of_one_batch_build_on_each_other() {
    let node = start(BlockMode::Instant).await;
    let (rich, poor) = (key(RICH), key_number(6));
    let funding = 10 * 50 * PRICE;
    let requests = [
        signed(payment(&rich, 1, poor.address(), funding), &rich),
        signed(payment(&poor, 1, rich.address(), 1), &poor),
        signed(payment(&rich, 2, poor.address(), 1), &rich),
    ];
    let request =
        |(id, transaction)| json!({"id": id, "jsonrpc": "2.0", "method": "CreateTransaction", "params": [transaction]});
    let batch: Vec<_> = requests.into_iter().enumerate().map(request).collect();
    let answer = crate::harness::post(node.addr(), &json!(batch).to_string()).await;
    let answers: Vec<serde_json::Value> = serde_json::from_str(&answer).unwrap();
    for (id, answer) in answers.iter().enumerate() {
        assert_eq!(answer["id"], id);
        assert!(answer["result"]["TranID"].is_string(), "{answer}");
    }
    assert_eq!(result(node.addr(), "GetNumTransactions", json!([])).await, "3");
    node.stop().await.unwrap();
}

#[tokio::test]
async fn senders_at_the_same_time_each_get_their_block() {
    let node = start(BlockMode::Instant).await;
    let addr = node.addr();
    let rich = key(RICH);
    for number in 10..30 {
        let transaction = payment(&rich, u64::from(number - 9), key_number(number).address(), 60 * PRICE);
        result(addr, "CreateTransaction", json!([signed(transaction, &rich)])).await;
    }
    let mut senders = tokio::task::JoinSet::new();
    for number in 10..30 {
        senders.spawn(async move {
            let sender = key_number(number);
            let transaction = payment(&sender, 1, key(RICH).address(), 1);
            let hash = transaction.hash().to_string();
            result(addr, "CreateTransaction", json!([signed(transaction, &sender)])).await;
            assert_eq!(result(addr, "GetTransaction", json!([hash])).await["ID"], hash);
        });
    }
    while let Some(sender) = senders.join_next().await {
        sender.unwrap();
    }
    assert_eq!(result(addr, "GetNumTransactions", json!([])).await, "40");
    node.stop().await.unwrap();
}

#[tokio::test]
async fn higher_nonces_wait_where_blocks_are_made_by_hand() {
    let node = start(BlockMode::Manual).await;
    let addr = node.addr();
    let (rich, poor) = (key(RICH), key_number(7).address());
    let second = payment(&rich, 2, poor, 2);
    let hash = second.hash().to_string();
    result(addr, "CreateTransaction", json!([signed(second, &rich)])).await;
    assert_eq!(error(addr, "GetTransaction", json!([hash])).await, (-20, "Txn Hash not Present".to_owned()));
    assert_eq!(result(addr, "IncreaseBlocknum", json!([1])).await, "2");
    let waiting = json!({"code": 4, "confirmed": false, "pending": true});
    assert_eq!(result(addr, "GetPendingTxn", json!([hash])).await, waiting);
    assert_eq!(result(addr, "GetPendingTxns", json!([])).await, json!({"Txns": [{"TxnHash": hash, "code": 4}]}));
    result(addr, "CreateTransaction", json!([signed(payment(&rich, 1, poor, 1), &rich)])).await;
    assert_eq!(result(addr, "GetBlocknum", json!([""])).await, "2");
    assert_eq!(result(addr, "IncreaseBlocknum", json!([1.0])).await, "3");
    assert_eq!(result(addr, "GetTransaction", json!([hash])).await["receipt"]["epoch_num"], "2");
    node.stop().await.unwrap();
}

#[tokio::test]
async fn blocks_come_at_intervals_and_not_by_hand() {
    let node = start(BlockMode::Interval(std::time::Duration::from_millis(20))).await;
    let addr = node.addr();
    let rich = key(RICH);
    let transaction = payment(&rich, 1, key_number(8).address(), 1);
    let hash = transaction.hash().to_string();
    result(addr, "CreateTransaction", json!([signed(transaction, &rich)])).await;
    let refused = (-8, "Manual trigger disallowed".to_owned());
    assert_eq!(error(addr, "IncreaseBlocknum", json!([1])).await, refused);
    assert_eq!(error(addr, "SetMinimumGasPrice", json!(["5000000000"])).await, refused);
    while call(addr, "GetTransaction", json!([hash])).await.get("error").is_some() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    node.stop().await.unwrap();
}

#[tokio::test]
async fn price_of_gas_is_set_by_hand() {
    let node = start(BlockMode::Instant).await;
    let addr = node.addr();
    let rich = key(RICH);
    assert_eq!(result(addr, "SetMinimumGasPrice", json!(["3000000000"])).await, "3000000000");
    assert_eq!(result(addr, "GetMinimumGasPrice", json!([])).await, "3000000000");
    let cheap = signed(payment(&rich, 1, key_number(9).address(), 1), &rich);
    let expected = "GasPrice 2000000000 lower than minimum allowable 3000000000";
    assert_eq!(error(addr, "CreateTransaction", json!([cheap])).await, (-26, expected.to_owned()));
    assert_eq!(result(addr, "SetMinimumGasPrice", json!(["1"])).await, "1");
    result(addr, "CreateTransaction", json!([cheap])).await;
    for (price, text) in [("0", "Gas price cannot be less than 1"), ("abc", "Gas price should be numeric")] {
        assert_eq!(error(addr, "SetMinimumGasPrice", json!([price])).await, (-8, text.to_owned()));
    }
    node.stop().await.unwrap();
}
