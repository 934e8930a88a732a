//! Senders that deploy tokens and transfer them. The nonce of a sender determines the expected state of each token.
//!
//! In each group of [`PERIOD`] transactions of a sender, the first deploys a token. Each other transaction is a
//! transfer. The number of transferred tokens equals the nonce of the transaction.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use silica_protocol::{Address, Nonce};
use silica_tests::{
    Dice, Node, Wallet,
    wallet::{FUNDS, GAS_PRICE, Payment},
};

use crate::load::account;

const CODE: &str = include_str!("../../../../contracts/fungible_token/fungible_token.scilla");

/// Number of transactions of a sender from one deployment to the next.
const PERIOD: u64 = 50;
/// Number of accounts that receive tokens.
const HOLDERS: u64 = 20;
/// Number of tokens in a contract.
const SUPPLY: u64 = 1_000_000_000;
/// Number of older contracts in each check.
const SAMPLE: u64 = 3;

/// Returns the transaction of a sender with this nonce.
pub(crate) fn transaction(sender: usize, nonce: u64) -> Payment {
    let wallet = Wallet::funded(sender);
    let deployment = deployment_before(nonce);
    if deployment == nonce {
        let mut payment = wallet.payment(nonce, Address::ZERO, 0);
        (payment.gas_limit, payment.code, payment.data) = (40_000, CODE.to_owned(), init(&wallet.address()));
        return payment;
    }
    let mut payment = wallet.payment(nonce, token(sender, deployment), 0);
    let (to, amount) = (holder(nonce), nonce.to_string());
    let params = json!([param("to", "ByStr20", &to), param("amount", "Uint128", &amount)]);
    (payment.gas_limit, payment.data) = (2_000, json!({"_tag": "Transfer", "params": params}).to_string());
    payment
}

fn init(owner: &Address) -> String {
    let operators = json!({"vname": "default_operators", "type": "List ByStr20", "value": []});
    json!([
        param("_scilla_version", "Uint32", "0"),
        param("contract_owner", "ByStr20", &format!("0x{owner}")),
        param("name", "String", "Token"),
        param("symbol", "String", "TOK"),
        param("decimals", "Uint32", "12"),
        param("init_supply", "Uint128", &SUPPLY.to_string()),
        operators,
    ])
    .to_string()
}

fn param(name: &str, kind: &str, value: &str) -> Value {
    json!({"vname": name, "type": kind, "value": value})
}

/// Returns the nonce of the deployment of the token that the transaction with this nonce calls.
fn deployment_before(nonce: u64) -> u64 {
    nonce - nonce.saturating_sub(1) % PERIOD
}

/// Returns the address of the token that a sender deployed with the nonce `deployment`.
fn token(sender: usize, deployment: u64) -> Address {
    Address::of_contract(&Wallet::funded(sender).address(), Nonce::new(deployment.saturating_sub(1)))
}

fn holder(nonce: u64) -> String {
    format!("0x{}", Wallet::stranger(nonce % HOLDERS).address())
}

/// Returns the expected state of the token with this deployment, after the sender's transactions up to `nonce`.
fn expected(sender: usize, deployment: u64, nonce: u64) -> Value {
    let owner = format!("0x{}", Wallet::funded(sender).address());
    let mut balances = BTreeMap::from([(owner.clone(), SUPPLY)]);
    for transfer in deployment + 1..(deployment + PERIOD).min(nonce + 1) {
        *balances.entry(owner.clone()).or_default() -= transfer;
        *balances.entry(holder(transfer)).or_default() += transfer;
    }
    let balances: Map<String, Value> =
        balances.into_iter().map(|(holder, tokens)| (holder, json!(tokens.to_string()))).collect();
    json!({
        "_balance": "0",
        "allowances": {},
        "balances": balances,
        "operators": {},
        "revoked_default_operators": {},
        "total_supply": SUPPLY.to_string(),
    })
}

/// Checks the latest token of a sender, and a sample of the older tokens.
pub(crate) fn check(node: &Node, sender: usize, dice: &mut Dice) {
    check_latest(node, sender);
    let deployments = account(node, sender).1.div_ceil(PERIOD);
    for _ in 0..SAMPLE.min(deployments.saturating_sub(1)) {
        // No further transaction changes these tokens.
        let deployment = dice.below(deployments - 1) * PERIOD + 1;
        let state = node.result("GetSmartContractState", &json!([token(sender, deployment).to_string()]));
        assert_eq!(state, expected(sender, deployment, u64::MAX - 1), "sender {sender}, deployment {deployment}");
    }
}

fn check_latest(node: &Node, sender: usize) {
    let (nonce, state) = loop {
        // A block can come between the requests. If the nonce is unchanged after them, nonce and state belong together.
        let nonce = account(node, sender).1;
        if nonce == 0 {
            return;
        }
        let state = node.result("GetSmartContractState", &json!([token(sender, deployment_before(nonce)).to_string()]));
        if account(node, sender).1 == nonce {
            break (nonce, state);
        }
    };
    assert_eq!(state, expected(sender, deployment_before(nonce), nonce), "sender {sender} at nonce {nonce}");
}

/// Checks all transactions and tokens of a sender, and that the sender paid only fees.
pub(crate) fn check_all(node: &Node, sender: usize) {
    let (balance, nonce) = account(node, sender);
    let calls: Vec<(&str, Value)> =
        (1..=nonce).map(|nonce| ("GetTransaction", json!([transaction(sender, nonce).hash()]))).collect();
    let mut gas = 0;
    for (answer, nonce) in node.call_all(&calls).into_iter().zip(1..) {
        let answer = answer.unwrap_or_else(|refusal| panic!("sender {sender}, nonce {nonce} is lost: {refusal:?}"));
        assert_eq!(answer.pointer("/receipt/success"), Some(&json!(true)), "{answer}");
        let used = answer.pointer("/receipt/cumulative_gas").and_then(Value::as_str);
        gas += used.and_then(|gas| gas.parse::<u128>().ok()).expect("gas is a number in text");
    }
    assert_eq!(balance, FUNDS - gas * GAS_PRICE, "sender {sender} at nonce {nonce}");
    for deployment in (1..=nonce).step_by(usize::try_from(PERIOD).unwrap_or(usize::MAX)) {
        let state = node.result("GetSmartContractState", &json!([token(sender, deployment).to_string()]));
        assert_eq!(state, expected(sender, deployment, nonce), "sender {sender}, deployment {deployment}");
    }
}
