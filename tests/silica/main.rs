//! Tests of the `silica` binary over HTTP: one module for each family of methods, and for each kind of misbehaviour.
#![cfg(test)]

mod account;
mod address_history;
mod admission;
mod bad_input;
mod block_modes;
mod book;
mod bulk;
mod cli;
mod config;
mod contract;
mod contract_input;
mod contract_interface;
mod depth;
mod developer;
mod document;
mod ds_block;
mod dump;
mod edit;
mod envelope;
mod eth;
mod events;
mod exchanges;
mod export;
mod files;
mod foreign;
mod https;
mod limits;
mod lists;
mod money;
mod network;
mod network_file;
mod operations;
mod paging;
mod process;
mod proof;
mod readme;
mod reference;
mod revert;
mod rules;
mod shapes;
mod simulation;
mod start;
mod state_page;
mod status_server;
mod studio;
mod subscription;
mod trace;
mod transaction;
mod transfers;
mod transport;
mod tx_block;
mod validators;
mod zq2;

use serde_json::{Value, json};
use silica_tests::{Node, Wallet};

/// Error of the protocol layer for a wrong number or type of parameters.
const INVALID_PARAMS: (i64, &str) =
    (-32602, "INVALID_PARAMS: Invalid method parameters (invalid name and/or type) recognised");

/// Checks that a call fails with this code and text. Methods of Silica add the name of the invalid parameter to the
/// text.
#[track_caller]
fn check_error(node: &Node, method: &str, params: &Value, (code, message): (i64, &str)) {
    let (got, text) = node.error(method, params);
    if method.starts_with("silica_") && (code, message) == INVALID_PARAMS {
        let detail = text.strip_prefix(message).and_then(|more| more.strip_prefix(": "));
        assert!(
            got == code && detail.is_some_and(|detail| detail.contains("expected ")),
            "{method}{params}: {got} {text}"
        );
        assert!(detail.is_some_and(|detail| detail.contains(", got ")), "{method}{params}: {got} {text}");
        return;
    }
    assert_eq!((got, text.as_str()), (code, message), "{method}{params}");
}

/// Returns the text with which methods of Silica reject an invalid address.
fn no_address(got: &str) -> String {
    let expected =
        "an account, as bech32 with prefix zil or as forty hexadecimal digits in any letter case, with or without 0x";
    format!("address: expected {expected}, got {got:?}")
}

/// Returns the text with which methods of Silica reject an invalid hash.
fn no_hash(got: &str) -> String {
    let expected = "the hash of a transaction, 64 hexadecimal digits in any letter case, with or without 0x";
    format!("hash: expected {expected}, got {got:?}")
}

/// Checks that a call succeeds with exactly this result.
#[track_caller]
fn check_result(node: &Node, method: &str, params: &Value, expected: &Value) {
    assert_eq!(&node.result(method, params), expected, "{method}{params}");
}

/// Checks that the result of a call has the shape of a documented result, and returns the result.
#[track_caller]
fn documented(node: &Node, method: &str, params: &Value) -> Value {
    let result = node.result(method, params);
    silica_tests::shape::assert_documented(method, &result);
    result
}

/// Sends the first payment of a funded account to an account without money. Returns the hash of the payment.
fn pay_once(node: &Node, payer: usize) -> String {
    let payment = Wallet::funded(payer).payment(1, Wallet::stranger(7).address(), 1_000_000_000_000).json();
    let result = node.result("CreateTransaction", &json!([payment]));
    result["TranID"].as_str().unwrap().to_owned()
}

/// Returns the number of the latest Tx block.
fn height(node: &Node) -> u64 {
    node.result("GetLatestTxBlock", &json!([]))["header"]["BlockNum"].as_str().unwrap().parse().unwrap()
}

/// Sends a payment from the first funded account to an account without money. Returns the hash of the payment.
fn pay(node: &Node, nonce: u64, amount: u128) -> String {
    let payment = Wallet::funded(0).payment(nonce, Wallet::stranger(1).address(), amount);
    node.result("CreateTransaction", &json!([payment.json()]));
    payment.hash()
}

/// Returns balance, in Qa, and nonce of an existing account.
fn balance(node: &Node, address: &str) -> (u128, u64) {
    let account = node.result("GetBalance", &json!([address]));
    (account["balance"].as_str().unwrap().parse().unwrap(), account["nonce"].as_u64().unwrap())
}
