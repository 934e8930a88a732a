//! Receipts: the results of executed transactions.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    contract::ContractParamJson,
    text::{Dec, PrefixedHex},
};
use crate::{
    address::Address,
    amount::Qa,
    gas::Gas,
    number::BlockNumber,
    receipt::{ContractMessage, EventLog, Exception, Receipt, ReceiptError, Transition},
};

/// The receipt of an executed transaction.
///
/// A successful payment or deployment has only the members `cumulative_gas`, `epoch_num` and `success`. A failed
/// transaction always has `errors` and `exceptions`. They can be empty: clients expect both, although the C++ node
/// omits empty ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Receipt"))]
pub struct ReceiptJson {
    /// Whether the called contract accepted the money; absent unless a contract ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
    /// Gas that the transaction paid for, in gas units.
    pub cumulative_gas: Dec<Gas>,
    /// The block number that the transaction read: the logical number of its Tx block.
    #[serde(rename = "epoch_num")]
    pub epoch: Dec<BlockNumber>,
    /// Error codes, by the number of chained calls that were attempted before the error; absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<BTreeMap<String, Vec<u8>>>,
    /// Events of contracts; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event_logs: Vec<EventLogJson>,
    /// Errors of the interpreter, the innermost first; absent on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceptions: Option<Vec<ExceptionJson>>,
    /// Whether the transaction took effect.
    pub success: bool,
    /// Messages of contracts; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<TransitionJson>,
}

/// An event that a contract emitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "EventLog"))]
pub struct EventLogJson {
    /// Name of the event.
    #[serde(rename = "_eventname")]
    pub name: String,
    /// Address of the contract that emitted the event.
    pub address: PrefixedHex<Address>,
    /// Parameters of the event.
    pub params: Vec<ContractParamJson>,
}

/// An error of the interpreter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Exception"))]
pub struct ExceptionJson {
    /// Line in the source of the contract, from 1; 0 if unknown.
    pub line: u32,
    /// Text of the error.
    pub message: String,
}

/// A message that a contract sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Transition"))]
pub struct TransitionJson {
    /// Whether the called contract accepted the money; absent if the message ran no contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
    /// Address of the contract that sent the message.
    #[serde(rename = "addr")]
    pub address: PrefixedHex<Address>,
    /// Depth of the contract that sent the message: 0 for the contract that the transaction calls, 1 for a contract
    /// that this contract calls, and so on.
    pub depth: u32,
    /// The message, with its recipient and parameters.
    #[serde(rename = "msg")]
    pub message: ContractMessageJson,
}

/// The content of a message of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ContractMessage"))]
pub struct ContractMessageJson {
    /// Amount of money in the message, in Qa.
    #[serde(rename = "_amount")]
    pub amount: Dec<Qa>,
    /// Address of the account or contract that receives the message.
    #[serde(rename = "_recipient")]
    pub recipient: PrefixedHex<Address>,
    /// Name of the transition to run; can be empty.
    #[serde(rename = "_tag")]
    pub tag: String,
    /// Parameters of the message.
    pub params: Vec<ContractParamJson>,
}

impl From<Receipt> for ReceiptJson {
    fn from(receipt: Receipt) -> Self {
        let Receipt { cumulative_gas, epoch, success, accepted, errors, exceptions, event_logs, transitions } = receipt;
        let errors: BTreeMap<_, _> = errors
            .into_iter()
            .map(|(calls, errors)| (calls.to_string(), errors.into_iter().map(ReceiptError::code).collect()))
            .collect();
        let exceptions: Vec<_> = exceptions.into_iter().map(ExceptionJson::from).collect();
        Self {
            accepted,
            cumulative_gas: cumulative_gas.into(),
            epoch: epoch.into(),
            errors: (!success || !errors.is_empty()).then_some(errors),
            event_logs: event_logs.into_iter().map(EventLogJson::from).collect(),
            exceptions: (!success || !exceptions.is_empty()).then_some(exceptions),
            success,
            transitions: transitions.into_iter().map(TransitionJson::from).collect(),
        }
    }
}

impl From<EventLog> for EventLogJson {
    fn from(EventLog { address, name, params }: EventLog) -> Self {
        Self { name, address: address.into(), params: params.into_iter().map(ContractParamJson::from).collect() }
    }
}

impl From<Exception> for ExceptionJson {
    fn from(Exception { line, message }: Exception) -> Self {
        Self { line, message }
    }
}

impl From<Transition> for TransitionJson {
    fn from(Transition { address, depth, message, accepted }: Transition) -> Self {
        Self { accepted, address: address.into(), depth, message: message.into() }
    }
}

impl From<ContractMessage> for ContractMessageJson {
    fn from(ContractMessage { amount, recipient, tag, params }: ContractMessage) -> Self {
        Self {
            amount: amount.into(),
            recipient: recipient.into(),
            tag,
            params: params.into_iter().map(ContractParamJson::from).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::contract::ContractParam;

    fn check(receipt: Receipt, expected: &Value) {
        // The receipt text that is hashed has the same content.
        assert_eq!(&serde_json::from_str::<Value>(&receipt.to_styled_json()).unwrap(), expected);
        let shape = ReceiptJson::from(receipt);
        assert_eq!(&serde_json::to_value(&shape).unwrap(), expected);
        assert_eq!(serde_json::from_value::<ReceiptJson>(expected.clone()).unwrap(), shape);
    }

    fn payment() -> Receipt {
        Receipt::payment(Gas::new(50), BlockNumber::new(12345))
    }

    #[test]
    fn payment_has_three_members() {
        check(payment(), &json!({"cumulative_gas": "50", "epoch_num": "12345", "success": true}));
    }

    #[test]
    fn failure_has_errors_and_exceptions_even_when_empty() {
        check(
            Receipt { success: false, ..payment() },
            &json!({"cumulative_gas": "50", "epoch_num": "12345", "errors": {}, "exceptions": [], "success": false}),
        );
        check(
            Receipt {
                success: false,
                accepted: Some(true),
                errors: BTreeMap::from([
                    (0, vec![ReceiptError::CheckerFailed, ReceiptError::CheckerFailed]),
                    (10, vec![ReceiptError::LibraryExtractionFailed]),
                ]),
                exceptions: vec![Exception { line: 87, message: "Raised from \"IsAdmin\"".to_owned() }],
                ..payment()
            },
            &json!({
                "accepted": true, "cumulative_gas": "50", "epoch_num": "12345", "errors": {"0": [0, 0], "10": [25]},
                "exceptions": [{"line": 87, "message": "Raised from \"IsAdmin\""}], "success": false,
            }),
        );
    }

    #[test]
    fn call_has_events_and_transitions() {
        let param = |value: Value| ContractParam { name: "n".to_owned(), type_name: "T".to_owned(), value };
        let address = Address::new([0xab; 20]);
        let message = ContractMessage {
            amount: Qa::new(5),
            recipient: Address::new([0xcd; 20]),
            tag: String::new(),
            params: vec![param(json!({"constructor": "True", "argtypes": [], "arguments": []}))],
        };
        check(
            Receipt {
                accepted: Some(false),
                event_logs: vec![EventLog { address, name: "Sent".to_owned(), params: vec![param(json!("5"))] }],
                transitions: vec![
                    Transition { address, depth: 0, message: message.clone(), accepted: Some(true) },
                    Transition { address, depth: 1, message, accepted: None },
                ],
                ..payment()
            },
            &json!({
                "accepted": false, "cumulative_gas": "50", "epoch_num": "12345",
                "event_logs": [{
                    "_eventname": "Sent", "address": "0xabababababababababababababababababababab",
                    "params": [{"type": "T", "value": "5", "vname": "n"}],
                }],
                "success": true,
                "transitions": [
                    {
                        "accepted": true, "addr": "0xabababababababababababababababababababab", "depth": 0,
                        "msg": {
                            "_amount": "5", "_recipient": "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd", "_tag": "",
                            "params": [{
                                "type": "T", "vname": "n",
                                "value": {"argtypes": [], "arguments": [], "constructor": "True"},
                            }],
                        },
                    },
                    {
                        "addr": "0xabababababababababababababababababababab", "depth": 1,
                        "msg": {
                            "_amount": "5", "_recipient": "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd", "_tag": "",
                            "params": [{
                                "type": "T", "vname": "n",
                                "value": {"argtypes": [], "arguments": [], "constructor": "True"},
                            }],
                        },
                    },
                ],
            }),
        );
    }
}
