//! The guide for exchanges: its programs are the tested ones, and a withdrawal that is sent again is paid once.

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Directory, Node, Payment, Refusal, Wallet, wallet::GAS_PRICE};

use crate::balance;

const PAGE: &str = include_str!("../../docs/exchanges.md");

/// Amount of the withdrawals, in Qa.
const AMOUNT: u128 = 5;

/// Returns the only code block in this language on the page.
fn code_block(language: &str) -> String {
    let fence = format!("\n```{language}\n");
    let (_, block) = PAGE.split_once(&fence).unwrap();
    let (block, rest) = block.split_once("\n```\n").unwrap();
    assert!(!rest.contains(&fence), "the page has two blocks of {language}");
    format!("{block}\n")
}

#[test]
fn scanners_on_the_page_are_the_tested_programs() {
    let check = |language, program| assert_eq!(code_block(language), program, "left: docs/exchanges.md, {language}");
    check("js", include_str!("../clients/deposits/deposits.mjs"));
    check("python", include_str!("../clients/deposits/deposits.py"));
    check("rust", include_str!("../clients/deposits/deposits.rs"));
    let dependencies = include_str!("../clients/deposits/Cargo.toml").split_once("[dependencies]\n").unwrap().1;
    assert_eq!(code_block("toml"), format!("[dependencies]\n{dependencies}"));
}

/// Returns a withdrawal of the first funded account to a new account, with the next nonce.
fn withdrawal() -> Payment {
    Wallet::funded(0).payment(1, Wallet::stranger(1).address(), AMOUNT)
}

/// Sends a withdrawal. Each call signs again.
fn send(node: &Node, withdrawal: &Payment) -> Result<Value, Refusal> {
    node.call("CreateTransaction", &json!([withdrawal.json()]))
}

/// Checks that the node rejects a withdrawal.
#[track_caller]
fn check_refused(node: &Node, withdrawal: &Payment, code: i64, message: &str) {
    let refusal = send(node, withdrawal).unwrap_err();
    assert_eq!((refusal.code, &*refusal.message), (code, message));
}

/// Returns the status of a withdrawal, or the code of the error.
fn status(node: &Node, withdrawal: &Payment) -> Result<Value, i64> {
    let status = node.call("GetTransactionStatus", &json!([withdrawal.hash()]));
    status.map(|status| status["status"].clone()).map_err(|refusal| refusal.code)
}

/// Checks that the recipient of the withdrawals has the amount of one withdrawal.
#[track_caller]
fn check_paid_once(node: &Node) {
    assert_eq!(balance(node, &Wallet::stranger(1).hex()), (AMOUNT, 0));
}

#[test]
fn withdrawal_that_is_sent_again_is_paid_once() {
    let node = Node::start(&["--block-mode", "manual"]);
    let withdrawal = withdrawal();
    let count = |tag| {
        let sender = format!("0x{}", Wallet::funded(0).hex());
        node.result("eth_getTransactionCount", &json!([sender, tag]))
    };
    assert_eq!(status(&node, &withdrawal), Err(-20));
    assert_eq!(send(&node, &withdrawal).unwrap()["TranID"], withdrawal.hash());
    assert_eq!((count("latest"), count("pending")), (json!("0x0"), json!("0x1")));
    assert_eq!(status(&node, &withdrawal), Ok(json!(1)));
    let pending = "Txn could not be added as database exceeded limit or the txn was already present";
    check_refused(&node, &withdrawal, -20, pending);
    node.result("silica_mine", &json!([1]));
    assert_eq!(status(&node, &withdrawal), Ok(json!(3)));
    check_refused(&node, &withdrawal, -8, "Nonce (1) lower than current (1)");
    let read = node.result("GetTransaction", &json!([withdrawal.hash()]));
    assert_eq!(read["receipt"]["success"], true);
    check_paid_once(&node);
}

#[test]
fn pending_withdrawal_that_a_crash_lost_is_sent_again() {
    let directory = Directory::new();
    let start = || Node::start_in(directory.path(), &["--block-mode", "manual"]);
    let (node, withdrawal) = (start(), withdrawal());
    send(&node, &withdrawal).unwrap();
    node.kill();
    let node = start();
    assert_eq!(status(&node, &withdrawal), Err(-20));
    assert_eq!(send(&node, &withdrawal).unwrap()["TranID"], withdrawal.hash());
    node.result("silica_mine", &json!([1]));
    check_paid_once(&node);
}

#[test]
fn withdrawal_with_a_higher_price_replaces_the_pending_one() {
    let node = Node::start(&["--block-mode", "manual"]);
    let (old, mut new) = (withdrawal(), withdrawal());
    new.gas_price = GAS_PRICE + 1;
    send(&node, &old).unwrap();
    send(&node, &new).unwrap();
    assert_eq!((status(&node, &old), status(&node, &new)), (Ok(json!(24)), Ok(json!(1))));
    check_refused(&node, &old, -8, "Error Code: 24");
    node.result("silica_mine", &json!([1]));
    assert_eq!(status(&node, &new), Ok(json!(3)));
    check_paid_once(&node);
}

#[test]
fn payment_to_a_contract_is_rejected() {
    let node = Node::start(&[]);
    let deployer = Wallet::funded(1);
    let mut deployment = deployer.payment(1, Address::ZERO, 0);
    deployment.code = "scilla_version 0\ncontract Empty ()".to_owned();
    deployment.data = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]).to_string();
    deployment.gas_limit = 5_000;
    send(&node, &deployment).unwrap();
    let mut withdrawal = withdrawal();
    withdrawal.to = deployment.signed().contract_address().unwrap();
    check_refused(&node, &withdrawal, -8, "Contract account won't accept normal txn");
}
