//! Tests of the results and errors of the methods that read, on a chain of a few blocks.

use std::net::SocketAddr;

use serde_json::{Value, json};
use silica_node::BlockMode;

use crate::harness::{RICH, error, key, key_number, payment, post, result, signed, start};

async fn check_error(addr: SocketAddr, method: &str, params: Value, code: i64, text: &str) {
    assert_eq!(error(addr, method, params.clone()).await, (code, text.to_owned()), "{method} {params}");
}

#[tokio::test]
async fn addresses_are_taken_in_every_form_and_refused_as_the_reference_does() {
    let node = start(BlockMode::Manual).await;
    let addr = node.addr();
    let rich = key(RICH).address();
    let balance = result(addr, "GetBalance", json!([rich.to_string()])).await;
    for form in [rich.to_bech32(), format!("0x{rich}"), format!("{rich:X}"), rich.to_checksum()] {
        assert_eq!(result(addr, "GetBalance", json!([form])).await, balance);
    }
    for method in ["GetBalance", "GetSmartContractInit"] {
        check_error(addr, method, json!(["zil1abc"]), -5, "Bech32 address is invalid").await;
        check_error(addr, method, json!(["7bb3"]), -8, "Address size not appropriate").await;
        check_error(addr, method, json!(["g".repeat(40)]), -5, "invalid address").await;
    }
    check_error(addr, "GetBalance", json!(["1".repeat(40)]), -5, "Account is not created").await;
    check_error(addr, "GetSmartContractInit", json!(["1".repeat(40)]), -5, "Address does not exist").await;
    check_error(addr, "GetSmartContractInit", json!([rich.to_string()]), -5, "Address not contract address").await;
    node.stop().await.unwrap();
}

#[tokio::test]
async fn blocks_are_found_by_number_and_missing_ones_have_their_own() {
    let node = start(BlockMode::Manual).await;
    let addr = node.addr();
    result(addr, "IncreaseBlocknum", json!([12])).await;
    for (method, latest, number, invalid) in [
        ("GetTxBlock", "GetLatestTxBlock", "12", "Invalid argument"),
        ("GetDsBlock", "GetLatestDsBlock", "1", "Invalid arugment"),
    ] {
        let block = result(addr, latest, json!([""])).await;
        assert_eq!(block["header"]["BlockNum"], number);
        assert_eq!(result(addr, method, json!([format!(" +0{number}x")])).await, block);
        let missing = result(addr, method, json!(["99"])).await;
        assert_eq!(missing["header"]["BlockNum"], "18446744073709551615");
        check_error(addr, method, json!(["latest"]), -32602, invalid).await;
        check_error(addr, method, json!(["18446744073709551616"]), -32602, "Out of range").await;
    }
    let previous = result(addr, "GetTxBlock", json!(["11"])).await["body"]["BlockHash"].clone();
    assert_eq!(result(addr, "GetTxBlock", json!(["12"])).await["header"]["PrevBlockHash"], previous);
    node.stop().await.unwrap();
}

#[tokio::test]
async fn listings_have_ten_blocks_on_a_page() {
    let node = start(BlockMode::Manual).await;
    let addr = node.addr();
    result(addr, "IncreaseBlocknum", json!([12])).await;
    let numbers = |page: &Value| -> Vec<u64> {
        page["data"].as_array().unwrap().iter().map(|entry| entry["BlockNum"].as_u64().unwrap()).collect()
    };
    let first = result(addr, "TxBlockListing", json!([1])).await;
    assert_eq!(first["maxPages"], 2);
    assert_eq!(numbers(&first), (3..=12).rev().collect::<Vec<_>>());
    assert_eq!(numbers(&result(addr, "TxBlockListing", json!([2])).await), [2, 1, 0]);
    assert_eq!(first["data"][0]["Hash"], result(addr, "GetLatestTxBlock", json!([])).await["body"]["BlockHash"]);
    assert_eq!(numbers(&result(addr, "DSBlockListing", json!([1.0])).await), [1, 0]);
    for page in [0, 3, 4_294_967_295_u32] {
        check_error(addr, "TxBlockListing", json!([page]), -8, "Pages out of limit").await;
    }
    let params = "INVALID_PARAMS: Invalid method parameters (invalid name and/or type) recognised";
    for page in [json!(-1), json!(4_294_967_296_u64), json!("1"), json!(1.5)] {
        check_error(addr, "TxBlockListing", json!([page]), -32602, params).await;
    }
    node.stop().await.unwrap();
}

#[tokio::test]
async fn transactions_of_blocks_without_any_are_errors() {
    let node = start(BlockMode::Manual).await;
    let addr = node.addr();
    result(addr, "IncreaseBlocknum", json!([1])).await;
    for method in [
        "GetTransactionsForTxBlock",
        "GetTransactionsForTxBlockEx",
        "GetTxnBodiesForTxBlock",
        "GetTxnBodiesForTxBlockEx",
    ] {
        check_error(addr, method, json!(["1"]), -1, "TxBlock has no transactions").await;
        check_error(addr, method, json!(["abc"]), -1, "TxBlock has no transactions").await;
        check_error(addr, method, json!(["2"]), -32602, "Tx Block does not exist").await;
    }
    node.stop().await.unwrap();
}

#[tokio::test]
async fn hashes_are_taken_in_every_form_and_refused_as_the_reference_does() {
    let node = start(BlockMode::Manual).await;
    let addr = node.addr();
    let unknown = "ab".repeat(32);
    for method in ["GetTransaction", "GetTransactionStatus"] {
        check_error(addr, method, json!([unknown]), -20, "Txn Hash not Present").await;
        check_error(addr, method, json!([format!("0x{unknown}")]), -20, "Txn Hash not Present").await;
    }
    check_error(addr, "GetTransaction", json!(["abcd"]), -20, "Txn Hash not Present").await;
    check_error(addr, "GetTransaction", json!(["xyz"]), -1, "Unable to Process").await;
    check_error(addr, "GetTransactionStatus", json!(["abcd"]), -8, "Txn Hash size not appropriate").await;
    check_error(addr, "GetTransactionStatus", json!(["xyz"]), -1, "Unable To Process: hash is not hexadecimal").await;
    let nothing = json!({"code": 0, "confirmed": false, "pending": false});
    assert_eq!(result(addr, "GetPendingTxn", json!([unknown])).await, nothing);
    node.stop().await.unwrap();
}

#[tokio::test]
async fn proofs_are_refused_in_the_order_of_the_reference() {
    let node = start(BlockMode::Manual).await;
    let addr = node.addr();
    result(addr, "IncreaseBlocknum", json!([60])).await;
    let rich = key(RICH).address().to_string();
    let variable = "A0BD91DE66D97E6930118179BA4F1836C366C4CB3309A6B354D26F52ABB2AAC6";
    let check = async |address: &str, variable: &str, block: &str, code, text: &str| {
        check_error(addr, "GetStateProof", json!([address, variable, block]), code, text).await;
    };
    check("x", "x", "abc", -32602, "Invalid arugment").await;
    check("x", "x", "18446744073709551616", -32602, "Out of range").await;
    check("x", "x", "61", -1, "Requested txBlock not mined yet").await;
    check("x", "x", "10", -1, "Proof from requested txBlock is expired, earliest: 11").await;
    check("x", "x", "11", -8, "Address size not appropriate").await;
    check(&"g".repeat(40), "x", "latest", -8, "Key size not appropriate").await;
    check(&"g".repeat(40), &"g".repeat(64), "latest", -5, "invalid address").await;
    check(&rich, &"g".repeat(64), "latest", -5, "invalid key").await;
    check(&"1".repeat(40), variable, "60", -5, "Address does not exist in requested epoch").await;
    check(&rich, variable, "latest", -5, "Address not contract address").await;
    check(&format!("0x{rich}"), variable, "11", -5, "Address not contract address").await;
    node.stop().await.unwrap();
}

#[tokio::test]
async fn figures_agree_with_each_other() {
    let node = start(BlockMode::Manual).await;
    let addr = node.addr();
    result(addr, "IncreaseBlocknum", json!([100])).await;
    let info = result(addr, "GetBlockchainInfo", json!([""])).await;
    for (member, method) in [
        ("CurrentDSEpoch", "GetCurrentDSEpoch"),
        ("CurrentMiniEpoch", "GetCurrentMiniEpoch"),
        ("DSBlockRate", "GetDSBlockRate"),
        ("NumDSBlocks", "GetNumDSBlocks"),
        ("NumTransactions", "GetNumTransactions"),
        ("NumTxBlocks", "GetNumTxBlocks"),
        ("NumTxnsDSEpoch", "GetNumTxnsDSEpoch"),
        ("NumTxnsTxEpoch", "GetNumTxnsTxEpoch"),
        ("TransactionRate", "GetTransactionRate"),
        ("TxBlockRate", "GetTxBlockRate"),
    ] {
        assert_eq!(info[member], result(addr, method, json!([])).await, "{member}");
    }
    assert_eq!(info["CurrentDSEpoch"], "2");
    assert_eq!(info["NumTxBlocks"], "101");
    assert_eq!(info["NumPeers"], 2);
    assert_eq!(info["ShardingStructure"], json!({"NumPeers": [1]}));
    assert_eq!(result(addr, "GetPrevDifficulty", json!([])).await, 3);
    assert_eq!(result(addr, "GetPrevDSDifficulty", json!([])).await, 5);
    assert_eq!(result(addr, "GetNetworkId", json!([])).await, "222");
    // The vacuous block 99 has paid a reward of 176000 Zil from the mining reserve.
    assert_eq!(result(addr, "GetTotalCoinSupply", json!([])).await, "12600176000.000000000000");
    assert_eq!(result(addr, "GetTotalCoinSupplyAsInt", json!([])).await, 12_600_176_000_u64);
    let vacuous = result(addr, "GetTxBlock", json!(["99"])).await;
    assert_eq!(vacuous["header"]["Rewards"], "176000000000000000");
    assert_eq!(vacuous["header"]["TxnFees"], "0");
    check_error(addr, "GetMinerInfo", json!(["3"]), -1, "Requested data not found").await;
    let miners = result(addr, "GetMinerInfo", json!(["2"])).await;
    assert_eq!(miners["shards"][0]["size"], 1);
    node.stop().await.unwrap();
}

#[tokio::test]
async fn interface_describes_itself() {
    let node = start(BlockMode::Manual).await;
    let document = result(node.addr(), "rpc.discover", json!([])).await;
    assert_eq!(document.to_string(), serde_json::from_str::<Value>(&silica_node::openrpc()).unwrap().to_string());
    node.stop().await.unwrap();
}

/// The node caches the text of a result. A second read has the same bytes, and a revert removes the transaction.
#[tokio::test]
async fn transaction_that_was_read_is_gone_after_a_revert() {
    let node = start(BlockMode::Instant).await;
    let addr = node.addr();
    let rich = key(RICH);
    let saved = result(addr, "silica_snapshot", json!([])).await;
    let [payment, other] = [5, 6].map(|to| payment(&rich, 1, key_number(to).address(), 1));
    let hash = json!([payment.hash().to_string()]);
    result(addr, "CreateTransaction", json!([signed(payment, &rich)])).await;
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": "GetTransaction", "params": hash}).to_string();
    let first = post(addr, &request).await;
    assert!(first.contains(r#""success":true"#), "{first}");
    assert_eq!(post(addr, &request).await, first);
    let soft = result(addr, "GetSoftConfirmedTransaction", hash.clone()).await;
    assert_eq!(soft, result(addr, "GetTransaction", hash.clone()).await);
    result(addr, "silica_revert", json!([saved])).await;
    // This block has the number of the removed block.
    let other = signed(other, &rich);
    result(addr, "CreateTransaction", json!([other])).await;
    assert_eq!(error(addr, "GetTransaction", hash).await, (-20, "Txn Hash not Present".to_owned()));
    node.stop().await.unwrap();
}
