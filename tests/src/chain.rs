//! All data of a chain that clients can read, in one JSON value. Tests compare two chains, or one chain at two moments.

use serde_json::{Value, json};
use silica_protocol::Address;

use crate::node::{Node, Refusal};

/// Number of accounts whose transactions [`everything`] reads.
const HISTORIES: usize = 20;

/// Returns the responses for all blocks, transactions and contracts, for the statistics, and for `accounts`.
///
/// # Errors
///
/// The first unexpected error response. The function expects errors for a block without transactions, and for an
/// account that does not exist.
///
/// # Panics
///
/// If a response does not have the members of its method.
pub fn everything(node: &Node, accounts: &[Address]) -> Result<Value, Refusal> {
    let latest = number(&node.call("GetCurrentMiniEpoch", &json!([]))?) - 1;
    let latest_ds = number(&node.call("GetCurrentDSEpoch", &json!([]))?);
    let of_blocks = |method| (0..=latest).map(|number| (method, json!([number.to_string()]))).collect::<Vec<_>>();
    let blocks = all(node, &of_blocks("GetTxBlock"), "")?;
    let bodies = all(node, &of_blocks("GetTxnBodiesForTxBlock"), "TxBlock has no transactions")?;
    let bodies: Vec<Value> = bodies.iter().filter_map(Value::as_array).flatten().cloned().collect();
    let hashes: Vec<(&str, Value)> =
        bodies.iter().filter_map(|body| body.get("ID")).map(|hash| ("GetTransaction", json!([hash]))).collect();
    let transactions = all(node, &hashes, "")?;
    assert!(transactions == bodies, "a transaction is the same in its block and by its hash");
    let contracts = contracts(node, &transactions)?;
    let ds_numbers: Vec<_> = (0..=latest_ds).map(|number| ("GetDsBlock", json!([number.to_string()]))).collect();
    let addresses: Vec<_> = accounts.iter().map(|address| ("GetBalance", json!([address.to_string()]))).collect();
    Ok(json!({
        "blocks": blocks,
        "dsBlocks": all(node, &ds_numbers, "")?,
        "transactions": transactions,
        "contracts": contracts,
        "balances": all(node, &addresses, "Account is not created")?,
        "history": accounts.iter().take(HISTORIES).map(|address| history(node, address)).collect::<Result<Vec<_>, _>>()?,
        "statistics": node.call("GetBlockchainInfo", &json!([]))?,
    }))
}

/// Returns the transactions of an address from all pages.
fn history(node: &Node, address: &Address) -> Result<Vec<Value>, Refusal> {
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let options = json!({"cursor": cursor, "limit": 1000});
        let page = node.call("silica_getTransactionsForAddress", &json!([address.to_string(), options]))?;
        all.extend(page.get("transactions").and_then(Value::as_array).into_iter().flatten().cloned());
        cursor = page.get("next").cloned().unwrap_or_default();
        if cursor.is_null() {
            return Ok(all);
        }
    }
}

/// Returns the address of every deployed contract with its state, code and init data.
fn contracts(node: &Node, transactions: &[Value]) -> Result<Vec<Value>, Refusal> {
    let is_deployment = |transaction: &&Value| {
        transaction.get("code").is_some() && transaction.pointer("/receipt/success") == Some(&Value::Bool(true))
    };
    let deployments = transactions.iter().filter(is_deployment).filter_map(|transaction| transaction.get("ID"));
    let addresses: Vec<_> = deployments.map(|hash| ("GetContractAddressFromTransactionID", json!([hash]))).collect();
    let addresses = all(node, &addresses, "")?;
    let questions = ["GetSmartContractState", "GetSmartContractCode", "GetSmartContractInit"];
    let questions: Vec<_> =
        addresses.iter().flat_map(|address| questions.map(|method| (method, json!([address])))).collect();
    let answers = all(node, &questions, "")?;
    let of_one = |(address, answers): (&Value, &[Value])| json!([address, answers]);
    Ok(addresses.iter().zip(answers.chunks(3)).map(of_one).collect())
}

/// Returns the results of many calls. The result is null for an error response with the text `regular`.
fn all(node: &Node, calls: &[(&str, Value)], regular: &str) -> Result<Vec<Value>, Refusal> {
    let answers = node.call_all(calls).into_iter();
    let settle = |answer: Result<Value, Refusal>| match answer {
        Err(refusal) if refusal.message == regular => Ok(Value::Null),
        answer => answer,
    };
    answers.map(settle).collect()
}

/// Reads a number in a JSON string.
///
/// # Panics
///
/// If the text is not a number.
pub fn number(text: &Value) -> u64 {
    text.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{text} is no number in text"))
}
