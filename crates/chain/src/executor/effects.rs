//! What a run gave out, as receipts show it.

use serde_json::Value as Json;
use silica_protocol::{Address, ContractMessage, ContractParam, Qa, ReceiptError};
use silica_scilla::{
    eval::Outcome,
    value::{Message, Value},
};

use super::{nesting::is_shallow, outcome::Halt, text::text_of};

/// How deep values in messages and events may nest. Receipts are read back by a reader that has a limit.
const MAX_VALUE_DEPTH: usize = 100;

/// Bytes that a transaction may tell, in the values of its events and messages as JSON, their types and their labels.
///
/// No node of generation 8.1 took a message of as many bytes from another, such as a micro block with its receipts
/// (`MAX_READ_WATERMARK_IN_BYTES` of constants.xml): no transaction that told more was ever in a block.
const MAX_BYTES: usize = 10_000_000;

/// The bytes that it may tell for each gas that it has used.
///
/// Whatever is told was paid for twice, when it was made or loaded and when it is told, with at least one unit of gas for
/// each constructor without values. A constructor is some fifty bytes, and its name and type, which have the address of a
/// library in front, as many again: lists of options of such a thing come to some hundred bytes for a unit, all else to
/// far less, and events of a common kind to less than one.
const BYTES_PER_GAS: u64 = 1_000;

/// The bytes that a transaction that has used so much gas may tell in all.
pub(super) fn allowance(gas_used: u64) -> usize {
    usize::try_from(gas_used.saturating_mul(BYTES_PER_GAS)).unwrap_or(MAX_BYTES).min(MAX_BYTES)
}

/// What a run gave out, in the form of receipts; `None` stands for what lacks a part.
pub(super) struct Effects {
    pub(super) events: Vec<Option<(String, Vec<ContractParam>)>>,
    pub(super) messages: Vec<Option<ContractMessage>>,
}

impl Effects {
    /// Takes what all of it has in bytes from those that may still be told.
    ///
    /// # Errors
    ///
    /// There are more, or a value nests too deep for the documents of the chain.
    pub(super) fn of(outcome: &Outcome, left: &mut usize) -> Result<Self, Halt> {
        let mut effects = Self { events: Vec::new(), messages: Vec::new() };
        for event in &outcome.events {
            let params = params(event, &["_eventname"], left)?;
            effects.events.push(text(event, "_eventname").map(|name| (name, params)));
        }
        for message in &outcome.messages {
            let params = params(message, &["_tag", "_amount", "_recipient"], left)?;
            effects.messages.push(read_message(message, params));
        }
        Ok(effects)
    }
}

fn read_message(message: &Message, params: Vec<ContractParam>) -> Option<ContractMessage> {
    let amount = message.get("_amount")?.as_integer()?.to_u128()?;
    let recipient = message.get("_recipient")?.as_bytes().and_then(|bytes| <[u8; 20]>::try_from(&**bytes).ok())?;
    let tag = text(message, "_tag")?;
    Some(ContractMessage { amount: Qa::new(amount), recipient: Address::new(recipient), tag, params })
}

fn text(message: &Message, label: &str) -> Option<String> {
    if let Value::String(text) = message.get(label)? { Some(text.to_string()) } else { None }
}

/// The entries of a message besides its labels. What the reference's node cannot read, for its size or its depth, is to it
/// no output of an interpreter.
fn params(message: &Message, labels: &[&str], left: &mut usize) -> Result<Vec<ContractParam>, Halt> {
    let entries = message.entries().iter().filter(|entry| !labels.contains(&&*entry.label));
    let param = |entry: &silica_scilla::value::MessageEntry| {
        let value = json(&entry.value, left)?;
        let (name, type_name) = (entry.label.to_string(), entry.kind.global().to_string());
        *left = left.checked_sub(name.len())?.checked_sub(type_name.len())?;
        Some(ContractParam { name, type_name, value })
    };
    let params: Option<_> = entries.map(param).collect();
    params.ok_or(Halt::with(ReceiptError::JsonOutputCorrupted))
}

/// A value as it stands in receipts, or `None` when it nests too deep or has more bytes than there may be.
fn json(value: &Value, left: &mut usize) -> Option<Json> {
    // Nearly all are strings, which need no document.
    if let Some(text) = value.json_string() {
        *left = left.checked_sub(text.len())?;
        return Some(Json::String(text));
    }
    let text = text_of(value, *left)?;
    *left = left.checked_sub(text.len())?;
    serde_json::from_str(&text).ok().filter(|value| is_shallow(value, MAX_VALUE_DEPTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gas_allows_bytes_up_to_a_limit() {
        for (gas, bytes) in [(0, 0), (310, 310_000), (10_000, MAX_BYTES), (400_000, MAX_BYTES), (u64::MAX, MAX_BYTES)] {
            assert_eq!(allowance(gas), bytes);
        }
    }
}
