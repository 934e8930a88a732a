//! Messages and events of a run in the form of receipts.

use serde_json::Value as Json;
use silica_protocol::{Address, ContractMessage, ContractParam, Qa, ReceiptError};
use silica_scilla::{
    eval::Outcome,
    value::{Message, Value},
};

use super::{nesting::is_shallow, outcome::CallFailure, text::text_of};

/// Maximum number of levels of a value in messages and events. The JSON readers of receipts have a depth limit.
const MAX_VALUE_DEPTH: usize = 100;

/// Maximum bytes in all events and messages of a transaction: the names, types and JSON values of their entries.
///
/// Nodes of the generation 8.1 reject network messages of this size, for example a micro block with its receipts
/// (`MAX_READ_WATERMARK_IN_BYTES` of constants.xml). So no block of the network has a transaction with more bytes.
const MAX_BYTES: usize = 10_000_000;

/// Bytes of events and messages for each gas that the transaction has used.
///
/// A transaction pays for each value twice: when it creates or loads the value, and when it sends the value. Each time,
/// a constructor without arguments costs at least one unit of the interpreter. A constructor has about 50 bytes. Its
/// name and type contain the address of a library, and have about 50 bytes more. So lists of options of such values
/// have about 100 bytes for each unit. All other values have far fewer bytes. Common events have less than one byte for
/// each unit.
const BYTES_PER_GAS: u64 = 1_000;

/// Returns the limit of bytes in events and messages for a transaction that has used `gas_used`.
pub(super) fn allowance(gas_used: u64) -> usize {
    usize::try_from(gas_used.saturating_mul(BYTES_PER_GAS)).unwrap_or(MAX_BYTES).min(MAX_BYTES)
}

/// Messages and events of a run in the form of receipts. `None` stands for a message or event without a required part.
pub(super) struct Effects {
    pub(super) events: Vec<Option<(String, Vec<ContractParam>)>>,
    pub(super) messages: Vec<Option<ContractMessage>>,
}

impl Effects {
    /// Converts the messages and events of a run. Subtracts their bytes from `left`.
    ///
    /// # Errors
    ///
    /// [`ReceiptError::JsonOutputCorrupted`]: they have more than `left` bytes, or a value has more than
    /// [`MAX_VALUE_DEPTH`] levels. If the bytes are too many, `left` becomes 0.
    pub(super) fn of(outcome: &Outcome, left: &mut usize) -> Result<Self, CallFailure> {
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

/// Returns the entries of a message, except the entries in `labels`. The node of the reference treats entries that are
/// too large or too deep as invalid output of the interpreter.
fn params(message: &Message, labels: &[&str], left: &mut usize) -> Result<Vec<ContractParam>, CallFailure> {
    let entries = message.entries().iter().filter(|entry| !labels.contains(&&*entry.label));
    let param = |entry: &silica_scilla::value::MessageEntry| {
        let value = json(&entry.value, left)?;
        let (name, type_name) = (entry.label.to_string(), entry.ty.global().to_string());
        take(left, name.len())?;
        take(left, type_name.len())?;
        Some(ContractParam { name, type_name, value })
    };
    let params: Option<_> = entries.map(param).collect();
    params.ok_or(CallFailure::with(ReceiptError::JsonOutputCorrupted))
}

/// Returns a value in the form of receipts, or `None` if it nests too deeply or has more than `left` bytes.
fn json(value: &Value, left: &mut usize) -> Option<Json> {
    // Most values are strings. They need no JSON document.
    if let Some(text) = value.json_string() {
        take(left, text.len())?;
        return Some(Json::String(text));
    }
    let Some(text) = text_of(value, *left) else {
        *left = 0;
        return None;
    };
    take(left, text.len())?;
    serde_json::from_str(&text).ok().filter(|value| is_shallow(value, MAX_VALUE_DEPTH))
}

/// Subtracts bytes from `left`. If they are too many, sets `left` to 0 and returns `None`.
fn take(left: &mut usize, bytes: usize) -> Option<()> {
    let rest = left.checked_sub(bytes);
    *left = rest.unwrap_or(0);
    rest.map(|_| ())
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
