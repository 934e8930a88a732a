//! A node on a free port, and functions for its clients.

use std::net::SocketAddr;

use serde_json::{Value, json};
use silica_crypto::{KeyPair, SecretKey};
use silica_node::{BlockMode, Config, Node, RunningNode};
use silica_protocol::{Address, ChainId, Qa, Transaction, UnsignedTransaction, rpc::transaction::TransactionRequest};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Secret key of the first published account.
pub(crate) const RICH: &str = "db11cfa086b92497c8ed5a4cc6edb3a5bfe3a640c43ffb9fc6aa0873c56f2ee3";

/// Minimum gas price of the node, in Qa.
pub(crate) const PRICE: u128 = 2_000_000_000;

/// Starts a node with a chain in memory.
pub(crate) async fn start(mode: BlockMode) -> RunningNode {
    Node::start(Config { block_mode: mode, ..Config::ephemeral() }).await.unwrap()
}

/// Posts a body, and returns the body of the response.
pub(crate) async fn post(addr: SocketAddr, body: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let head =
        format!("POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{answer}");
    body.to_owned()
}

/// Calls a method, and returns the whole response.
pub(crate) async fn call(addr: SocketAddr, method: &str, params: Value) -> Value {
    let request = json!({"id": "1", "jsonrpc": "2.0", "method": method, "params": params});
    serde_json::from_str(&post(addr, &request.to_string()).await).unwrap()
}

/// Calls a method, and returns its result.
pub(crate) async fn result(addr: SocketAddr, method: &str, params: Value) -> Value {
    let answer = call(addr, method, params).await;
    assert!(answer.get("error").is_none(), "{method}: {answer}");
    answer["result"].clone()
}

/// Calls a method, and returns the code and the message of its error.
pub(crate) async fn error(addr: SocketAddr, method: &str, params: Value) -> (i64, String) {
    let answer = call(addr, method, params).await;
    let error = &answer["error"];
    assert!(error.is_object(), "{method}: {answer}");
    (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

/// Returns the key pair of a secret key in hexadecimal.
pub(crate) fn key(hex: &str) -> KeyPair {
    KeyPair::from_hex(hex).unwrap()
}

/// Returns the key pair whose secret key has `number` in each of its 32 bytes.
pub(crate) fn key_number(number: u8) -> KeyPair {
    KeyPair::from(SecretKey::from_bytes([number; 32]).unwrap())
}

/// Returns an unsigned payment of `amount` Qa.
pub(crate) fn payment(from: &KeyPair, nonce: u64, to: Address, amount: u128) -> UnsignedTransaction {
    let payment = Transaction::payment(to, Qa::new(amount)).chain_id(ChainId::new(222)).nonce(nonce);
    payment.gas_price(Qa::new(PRICE)).build(from.public_key()).unwrap()
}

/// Signs a transaction with `key`, and returns the parameter of `CreateTransaction`. The public key of the sender
/// remains.
pub(crate) fn signed(transaction: UnsignedTransaction, key: &KeyPair) -> Value {
    let signature = key.sign(&transaction.signing_payload()).unwrap();
    let transaction = transaction.with_signature(signature);
    serde_json::to_value(TransactionRequest { transaction, priority: false }).unwrap()
}
