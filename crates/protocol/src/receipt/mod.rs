//! Receipts: the results of executed transactions.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::Value;

use crate::{
    address::Address,
    amount::Qa,
    contract::ContractParam,
    error::DecodeError,
    gas::Gas,
    hash::{ReceiptsHash, sha256_or_zero},
    number::BlockNumber,
    proto::{self, ProtoTransactionReceipt, expect_canonical, expect_present, expect_text, expect_value},
};

mod error_code;
mod text;

pub use self::{error_code::ReceiptError, text::ReceiptTextError};

/// The result of an executed transaction.
///
/// # Examples
///
/// ```
/// use silica_protocol::{BlockNumber, Gas, Receipt, ReceiptError};
/// let mut receipt = Receipt::payment(Gas::new(1220), BlockNumber::new(588_004));
/// receipt.success = false;
/// receipt.errors.insert(0, vec![ReceiptError::CallContractFailed]);
/// let text = receipt.to_styled_json();
/// assert!(text.ends_with("\"exceptions\" : [],\n\t\"success\" : false\n}"));
/// assert_eq!(Receipt::from_json(&text)?, receipt);
/// # Ok::<(), silica_protocol::ReceiptTextError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Gas that this transaction paid for. In spite of the name of the field, the value is not a sum over the block.
    pub cumulative_gas: Gas,
    /// The block number that the transaction read: the logical number of its Tx block.
    pub epoch: BlockNumber,
    /// Whether the transaction succeeded.
    pub success: bool,
    /// Whether the called contract accepted the money; `None` unless the transaction called a contract.
    pub accepted: Option<bool>,
    /// Error codes. The key is the number of chained calls that were attempted before the error.
    pub errors: BTreeMap<u32, Vec<ReceiptError>>,
    /// Errors of the interpreter, the innermost first.
    pub exceptions: Vec<Exception>,
    /// Events, in the order of the runs that emitted them. Within a run, the newest event is first, because the
    /// interpreter reports events in this order.
    pub event_logs: Vec<EventLog>,
    /// Messages of contracts, in the order in which they were sent.
    pub transitions: Vec<Transition>,
}

impl Receipt {
    /// Returns the receipt of a successful payment. A successful deployment has the same receipt.
    pub const fn payment(gas: Gas, epoch: BlockNumber) -> Self {
        Self {
            cumulative_gas: gas,
            epoch,
            success: true,
            accepted: None,
            errors: BTreeMap::new(),
            exceptions: Vec::new(),
            event_logs: Vec::new(),
            transitions: Vec::new(),
        }
    }

    /// Returns the serialised receipt: text and gas (`ProtoTransactionReceipt`).
    pub fn encode(&self) -> Vec<u8> {
        let message = ProtoTransactionReceipt {
            receipt: self.to_styled_json().into_bytes(),
            cumgas: Some(self.cumulative_gas.get()),
        };
        prost::Message::encode_to_vec(&message)
    }

    /// Reads a serialised receipt.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for a missing, invalid or not canonical field. Text with another layout than styled JSON is not
    /// canonical.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoTransactionReceipt";
        const TEXT: &str = "ProtoTransactionReceipt.receipt";
        const GAS: &str = "ProtoTransactionReceipt.cumgas";
        let message: ProtoTransactionReceipt = proto::decode(NAME, bytes)?;
        let text = expect_text(TEXT, message.receipt)?;
        let receipt = Self::from_json(&text)
            .map_err(|error| DecodeError::Malformed { message: TEXT, reason: error_chain(&error) })?;
        expect_value(GAS, &receipt.cumulative_gas, &Gas::new(expect_present(GAS, message.cumgas)?))?;
        expect_canonical(NAME, &receipt.encode(), bytes)?;
        Ok(receipt)
    }
}

impl Receipt {
    /// Returns the first event with this name in [`event_logs`](Self::event_logs), or `None` if there is no such event.
    pub fn event(&self, name: &str) -> Option<&EventLog> {
        self.event_logs.iter().find(|event| event.name == name)
    }
}

impl EventLog {
    /// Returns the value of a parameter in the JSON form of the interpreter, or `None` if the event has no such
    /// parameter.
    pub fn param(&self, name: &str) -> Option<&Value> {
        self.params.iter().find(|param| param.name == name).map(|param| &param.value)
    }
}

impl ReceiptsHash {
    /// Returns the hash of the receipt texts of a micro block, in the order of its transactions.
    pub fn of(texts: &[impl AsRef<str>]) -> Self {
        let texts: Vec<_> = texts.iter().map(|text| text.as_ref().as_bytes()).collect();
        Self::new(sha256_or_zero(&texts))
    }
}

/// Returns the texts of an error and its sources, because a [`DecodeError`] contains text only.
fn error_chain(error: &ReceiptTextError) -> String {
    let sources = core::iter::successors(core::error::Error::source(error), |error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}

/// An error of the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Line in the source of the contract, counted from 1; 0 if unknown.
    pub line: u32,
    /// Text of the error.
    pub message: String,
}

/// An event that a contract emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLog {
    /// Address of the contract that emitted the event.
    pub address: Address,
    /// Name of the event.
    pub name: String,
    /// Parameters, in the JSON form of the interpreter.
    pub params: Vec<ContractParam>,
}

/// A message that a contract sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Address of the contract that sent the message.
    pub address: Address,
    /// Depth of the run that sent the message. The contract that the transaction calls runs at depth 0.
    pub depth: u32,
    /// The message, with its recipient and parameters.
    pub message: ContractMessage,
    /// Whether the called contract accepted the money; `None` if the message ran no contract.
    pub accepted: Option<bool>,
}

/// The content of a message of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractMessage {
    /// Amount of money in the message.
    pub amount: Qa,
    /// Address of the account or contract that receives the message.
    pub recipient: Address,
    /// Name of the transition to run; can be empty.
    pub tag: String,
    /// Parameters, in the JSON form of the interpreter.
    pub params: Vec<ContractParam>,
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::arbitrary::{any_receipt, check_refused, codec_properties};

    codec_properties!(codec, Receipt, any_receipt());

    fn encode(text: &str, gas: Option<u64>) -> Vec<u8> {
        ProtoTransactionReceipt { receipt: text.as_bytes().to_vec(), cumgas: gas }.encode_to_vec()
    }

    #[test]
    fn gas_beside_the_text_must_be_that_of_the_text() {
        let text = Receipt::payment(Gas::new(50), BlockNumber::new(1)).to_styled_json();
        let field = "ProtoTransactionReceipt.cumgas";
        let expected = DecodeError::Value { field, expected: "50".to_owned(), got: "51".to_owned() };
        check_refused(&Receipt::decode(&encode(&text, Some(51))), &expected);
        check_refused(&Receipt::decode(&encode(&text, None)), &DecodeError::Missing { field });
    }

    #[test]
    fn text_in_another_layout_is_not_canonical() {
        let text = r#"{"cumulative_gas":"50","epoch_num":"1","success":true}"#;
        let expected = DecodeError::NotCanonical { message: "ProtoTransactionReceipt", position: 1 };
        check_refused(&Receipt::decode(&encode(text, Some(50))), &expected);
    }

    #[test]
    fn errors_of_the_text_are_complete() {
        let text = r#"{"cumulative_gas":"-1","epoch_num":"1","success":true}"#;
        let expected = DecodeError::Malformed {
            message: "ProtoTransactionReceipt.receipt",
            reason: "invalid receipt member cumulative_gas: expected decimal digits, got \"-1\"".to_owned(),
        };
        check_refused(&Receipt::decode(&encode(text, Some(1))), &expected);
    }

    #[test]
    fn events_and_parameters_are_found_by_name() {
        let event = |name: &str, value: &str| EventLog {
            address: Address::ZERO,
            name: name.to_owned(),
            params: vec![ContractParam::new("text", "String", value)],
        };
        let events = vec![event("Set", "a"), event("Greeting", "b"), event("Greeting", "c")];
        let receipt = Receipt { event_logs: events, ..Receipt::payment(Gas::new(1), BlockNumber::new(1)) };
        assert_eq!(receipt.event("Greeting").and_then(|event| event.param("text")), Some(&"b".into()));
        assert_eq!(receipt.event("Greeting").and_then(|event| event.param("Text")), None);
        assert_eq!(receipt.event("greeting"), None);
    }

    #[test]
    fn no_receipts_hash_to_zero_and_an_empty_one_does_not() {
        assert_eq!(ReceiptsHash::of(&[] as &[&str]), ReceiptsHash::ZERO);
        assert_ne!(ReceiptsHash::of(&[""]), ReceiptsHash::ZERO);
        assert_eq!(ReceiptsHash::of(&["ab", "c"]), ReceiptsHash::of(&["abc"]));
    }
}
