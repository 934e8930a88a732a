//! Tests of every check of `CreateTransaction` that a payment can fail, with the code and the text of the error.

use std::net::SocketAddr;

use serde_json::{Value, json};
use silica_crypto::KeyPair;
use silica_node::BlockMode;
use silica_protocol::{Address, ChainId, Gas, GasPrice, Nonce, Qa, UnsignedTransaction, Version};

use crate::harness::{PRICE, RICH, call, error, key, key_number, payment, post, result, signed, start};

fn to() -> Address {
    key_number(77).address()
}

fn valid() -> Value {
    signed(payment(&key(RICH), 1, to(), 1), &key(RICH))
}

/// Checks the error for a valid request in which one member is changed.
async fn check_member(addr: SocketAddr, member: &str, value: Value, code: i64, text: &str) {
    let mut request = valid();
    request[member] = value;
    let label = request[member].to_string();
    assert_eq!(error(addr, "CreateTransaction", json!([request])).await, (code, text.to_owned()), "{member} {label}");
}

#[tokio::test]
async fn parameters_are_one_object() {
    let node = start(BlockMode::Instant).await;
    let text = "INVALID_PARAMS: Invalid method parameters (invalid name and/or type) recognised";
    for params in [json!([]), json!([valid(), valid()]), json!(["x"]), json!([[]]), json!([null]), valid(), Value::Null]
    {
        assert_eq!(error(node.addr(), "CreateTransaction", params).await, (-32602, text.to_owned()));
    }
    node.stop().await.unwrap();
}

#[tokio::test]
async fn members_are_complete_and_known() {
    let node = start(BlockMode::Instant).await;
    let refused = (-8, "Missing components in Json Data Object".to_owned());
    for member in ["version", "nonce", "toAddr", "amount", "pubKey", "gasPrice", "gasLimit", "signature"] {
        let mut request = valid();
        request.as_object_mut().unwrap().remove(member);
        assert_eq!(error(node.addr(), "CreateTransaction", json!([request])).await, refused, "{member}");
    }
    let mut request = valid();
    request["memo"] = json!("x");
    assert_eq!(error(node.addr(), "CreateTransaction", json!([request])).await, refused);
    node.stop().await.unwrap();
}

#[tokio::test]
async fn members_have_their_form() {
    let node = start(BlockMode::Instant).await;
    let addr = node.addr();
    for nonce in [json!("1"), json!(1.5), json!(null), json!(true)] {
        check_member(addr, "nonce", nonce, -8, "Nonce is not integral").await;
    }
    let too_much = "340282366920938463463374607431768211456";
    for amount in [json!(1), json!("1.5"), json!("-1"), json!("abc"), json!(too_much)] {
        check_member(addr, "amount", amount, -8, "Amount invalid string").await;
    }
    for version in [json!("14548993"), json!(1.5)] {
        check_member(addr, "version", version, -8, "Version not integral").await;
    }
    for version in [json!(-1), json!(4_294_967_296_u64)] {
        check_member(addr, "version", version, -1, "Unable to Process").await;
    }
    for key in [json!("02"), json!(""), json!("0x".to_owned() + &"0".repeat(66))] {
        check_member(addr, "pubKey", key, -8, "Invalid PubKey Size").await;
    }
    check_member(addr, "pubKey", json!("g".repeat(66)), -8, "Invalid Hex Str for PubKey").await;
    check_member(addr, "signature", json!("ab"), -8, "Invalid Signature size").await;
    check_member(addr, "signature", json!("g".repeat(128)), -8, "Invalid Hex Str for Signature").await;
    let lower = "4baf5fada8e5db92c3d3242618c5b47133ae003c";
    for address in [lower, &lower.to_uppercase(), "zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7", "12", ""] {
        check_member(addr, "toAddr", json!(address), -8, "To Addr checksum wrong").await;
    }
    check_member(addr, "priority", json!("yes"), -8, "Priority should be boolean").await;
    check_member(addr, "gasPrice", json!("cheap"), -1, "Unable to Process").await;
    check_member(addr, "code", json!([]), -1, "Unable to Process").await;
    check_member(addr, "data", json!({}), -1, "Unable to Process").await;
    node.stop().await.unwrap();
}

#[tokio::test]
async fn every_client_spells_absence_its_own_way() {
    let node = start(BlockMode::Instant).await;
    let rich = key(RICH);
    for (nonce, absent) in [(1, None), (2, Some(json!(""))), (3, Some(Value::Null))] {
        let mut request = signed(payment(&rich, nonce, to(), 1), &rich);
        let members = request.as_object_mut().unwrap();
        for member in ["code", "data"] {
            members.remove(member);
            members.extend(absent.clone().map(|value| (member.to_owned(), value)));
        }
        members.remove("priority");
        result(node.addr(), "CreateTransaction", json!([request])).await;
    }
    node.stop().await.unwrap();
}

/// Signs a transaction, and checks the error for it.
async fn check_signed(addr: SocketAddr, sender: &KeyPair, transaction: UnsignedTransaction, code: i64, text: &str) {
    let request = signed(transaction, sender);
    assert_eq!(error(addr, "CreateTransaction", json!([request])).await, (code, text.to_owned()));
}

#[tokio::test]
async fn transactions_are_verified() {
    let node = start(BlockMode::Instant).await;
    let addr = node.addr();
    let rich = key(RICH);
    let valid = || payment(&rich, 1, to(), 1);
    let version = |packed| UnsignedTransaction { version: Version::from_packed(packed), ..valid() };
    check_signed(addr, &rich, version(Version::of_chain(ChainId::new(1)).packed()), -26, "CHAIN_ID incorrect").await;
    let text = "Transaction version incorrect, Expected:1 Actual:2";
    check_signed(addr, &rich, version(222 << 16 | 2), -26, text).await;
    let large = UnsignedTransaction { to: Address::ZERO, code: "x".repeat(76_801), ..valid() };
    check_signed(addr, &rich, large, -26, "Code size is too large").await;
    let cheap = UnsignedTransaction { gas_price: GasPrice::new(Qa::new(PRICE - 1)), ..valid() };
    let text = "GasPrice 1999999999 lower than minimum allowable 2000000000";
    check_signed(addr, &rich, cheap, -26, text).await;

    let refused = "Unable to verify transaction";
    check_signed(addr, &key_number(3), valid(), -26, refused).await;
    let not_a_point = silica_protocol::PublicKey::new([5; 33]);
    check_signed(addr, &rich, UnsignedTransaction { sender_key: not_a_point, ..valid() }, -26, refused).await;
    let mut zero = super::create_transaction::valid();
    zero["signature"] = json!("0".repeat(128));
    assert_eq!(error(addr, "CreateTransaction", json!([zero])).await, (-26, refused.to_owned()));
    let mut changed = super::create_transaction::valid();
    changed["amount"] = json!("2");
    assert_eq!(error(addr, "CreateTransaction", json!([changed])).await, (-26, refused.to_owned()));
    node.stop().await.unwrap();
}

#[tokio::test]
async fn transactions_are_compared_with_the_state() {
    let node = start(BlockMode::Instant).await;
    let addr = node.addr();
    let rich = key(RICH);
    let valid = || payment(&rich, 1, to(), 1);
    let poor = key_number(4);
    check_signed(addr, &poor, payment(&poor, 1, to(), 1), -5, "The sender of the txn has no balance").await;
    let little = UnsignedTransaction { gas_limit: Gas::new(49), ..valid() };
    let text = "Gas limit (49) lower than minimum for payment transaction (50)";
    check_signed(addr, &rich, little, -8, text).await;
    let call = UnsignedTransaction { data: "{}".to_owned(), gas_limit: Gas::new(9), ..valid() };
    check_signed(addr, &rich, call, -8, "Gas limit (9) lower than minimum for invoking contract (10)").await;
    let deployment =
        || UnsignedTransaction { to: Address::ZERO, code: "x".repeat(60), data: "[]".to_owned(), ..valid() };
    let text = "Gas limit (50) lower than minimum for creating contract (62)";
    check_signed(addr, &rich, deployment(), -8, text).await;

    let nonce = |nonce| UnsignedTransaction { nonce: Nonce::new(nonce), ..valid() };
    check_signed(addr, &rich, nonce(0), -8, "Nonce (0) lower than current (0)").await;
    check_signed(addr, &rich, nonce(2), -8, "Expected Nonce: 1").await;
    let price = |price| UnsignedTransaction { gas_price: GasPrice::new(Qa::new(price)), ..valid() };
    check_signed(addr, &rich, price(u128::MAX), -8, "tx.GetGasLimit() * tx.GetGasPrice() overflow!").await;
    let amount = |amount| UnsignedTransaction { amount: Qa::new(amount), ..valid() };
    let text = "tx.GetGasLimit() * tx.GetGasPrice() + tx.GetAmount() overflow!";
    check_signed(addr, &rich, amount(u128::MAX), -8, text).await;
    check_signed(addr, &rich, amount(9 * 10u128.pow(23)), -8, "Insufficient funds in source account!").await;
    let large = UnsignedTransaction { gas_limit: Gas::new(400_001), ..valid() };
    check_signed(addr, &rich, large, -8, "Txn gas limit 400001 greater than microblock gas limit400000").await;

    let large = UnsignedTransaction { gas_limit: Gas::new(400_001), ..deployment() };
    let text = "Txn gas limit 400001 greater than microblock gas limit400000";
    check_signed(addr, &rich, large, -8, text).await;
    // Only the execution of the deployment detects init data without a version.
    check_signed(addr, &rich, UnsignedTransaction { gas_limit: Gas::new(100), ..deployment() }, -8, "Error Code: 11")
        .await;
    check_signed(addr, &rich, UnsignedTransaction { data: "{}".to_owned(), ..valid() }, -5, "To addr is null").await;
    let nothing = UnsignedTransaction { to: Address::ZERO, ..valid() };
    check_signed(addr, &rich, nothing, -5, "Code is empty and To addr is null").await;

    assert_eq!(result(addr, "GetNumTxBlocks", json!([])).await, "1");
    result(addr, "CreateTransaction", json!([super::create_transaction::valid()])).await;
    check_signed(addr, &rich, valid(), -8, "Nonce (1) lower than current (1)").await;
    node.stop().await.unwrap();
}

#[tokio::test]
async fn what_waits_already_is_refused() {
    let node = start(BlockMode::Manual).await;
    result(node.addr(), "CreateTransaction", json!([valid()])).await;
    let text = "Txn could not be added as database exceeded limit or the txn was already present";
    assert_eq!(error(node.addr(), "CreateTransaction", json!([valid()])).await, (-20, text.to_owned()));
    node.stop().await.unwrap();
}

#[tokio::test]
async fn errors_of_methods_carry_null_data() {
    let node = start(BlockMode::Instant).await;
    let mut request = valid();
    request["nonce"] = json!("1");
    let body = json!({"id": 7, "jsonrpc": "2.0", "method": "CreateTransaction", "params": [request]});
    let expected = r#"{"error":{"code":-8,"data":null,"message":"Nonce is not integral"},"id":7,"jsonrpc":"2.0"}"#;
    assert_eq!(post(node.addr(), &body.to_string()).await, expected);
    assert!(call(node.addr(), "Nope", json!([])).await["error"].get("data").is_none());
    node.stop().await.unwrap();
}
