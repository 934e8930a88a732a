//! Everything that a client can learn of a chain, as one value, so that two chains or two moments can be compared.

use serde_json::{Value, json};
use silica_protocol::Address;

use crate::node::{Node, Refusal};

/// Returns the answers about every block, every transaction, the statistics and these accounts.
///
/// # Errors
///
/// The first refusal that is not the regular answer to the question.
///
/// # Panics
///
/// When an answer has another shape than its question asks for.
pub fn everything(node: &Node, accounts: &[Address]) -> Result<Value, Refusal> {
    let latest = number(&node.call("GetCurrentMiniEpoch", &json!([]))?) - 1;
    let latest_ds = number(&node.call("GetCurrentDSEpoch", &json!([]))?);
    let mut blocks = Vec::new();
    let mut transactions = Vec::new();
    for number in 0..=latest {
        let number = json!([number.to_string()]);
        blocks.push(node.call("GetTxBlock", &number)?);
        match node.call("GetTxnBodiesForTxBlock", &number) {
            Ok(bodies) => {
                for body in bodies.as_array().expect("bodies are an array") {
                    let hash = body.get("ID").expect("a transaction has a hash");
                    let alone = node.call("GetTransaction", &json!([hash]))?;
                    assert_eq!(&alone, body, "a transaction is the same in its block and by its hash");
                    transactions.push(alone);
                }
            }
            Err(refusal) if refusal.message == "TxBlock has no transactions" => {}
            Err(refusal) => return Err(refusal),
        }
    }
    let ds_blocks: Result<Vec<Value>, Refusal> =
        (0..=latest_ds).map(|number| node.call("GetDsBlock", &json!([number.to_string()]))).collect();
    let mut balances = Vec::new();
    for address in accounts {
        match node.call("GetBalance", &json!([address.to_string()])) {
            Ok(balance) => balances.push(balance),
            Err(refusal) if refusal.message == "Account is not created" => balances.push(Value::Null),
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(json!({
        "blocks": blocks,
        "dsBlocks": ds_blocks?,
        "transactions": transactions,
        "balances": balances,
        "statistics": node.call("GetBlockchainInfo", &json!([]))?,
    }))
}

/// Reads a number that is written as text.
///
/// # Panics
///
/// When it is none.
pub fn number(text: &Value) -> u64 {
    text.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{text} is no number in text"))
}
