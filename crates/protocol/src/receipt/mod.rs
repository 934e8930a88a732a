//! Receipts: what became of an executed transaction.

use std::collections::BTreeMap;

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

/// What became of an executed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Gas charged for this transaction (not summed over the block, in spite of the name).
    pub cumulative_gas: Gas,
    /// Tx block in which the transaction was executed.
    pub epoch: BlockNumber,
    /// Whether the transaction took effect.
    pub success: bool,
    /// Whether the called contract accepted the money; `None` unless the transaction was a call that was evaluated.
    pub accepted: Option<bool>,
    /// Why the transaction failed, by the number of chained calls attempted before.
    pub errors: BTreeMap<u32, Vec<ReceiptError>>,
    /// What the interpreter reported, from the throw outward.
    pub exceptions: Vec<Exception>,
    /// Events, in the order in which they were emitted.
    pub event_logs: Vec<EventLog>,
    /// Messages, in the order in which they were emitted.
    pub transitions: Vec<Transition>,
}

impl Receipt {
    /// Returns the receipt of a payment, which is also that of a successful deployment.
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

    /// Returns the stored and relayed form: text and gas (`ProtoTransactionReceipt`).
    pub fn encode(&self) -> Vec<u8> {
        let message = ProtoTransactionReceipt {
            receipt: self.to_styled_json().into_bytes(),
            cumgas: Some(self.cumulative_gas.get()),
        };
        prost::Message::encode_to_vec(&message)
    }

    /// Reads the stored and relayed form.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with the field that does not fit, among them a text that is not laid out as it is hashed.
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

impl ReceiptsHash {
    /// Returns the hash of the texts of a micro block's receipts, in the order of its transactions.
    pub fn of(texts: &[impl AsRef<str>]) -> Self {
        let texts: Vec<_> = texts.iter().map(|text| text.as_ref().as_bytes()).collect();
        Self::new(sha256_or_zero(&texts))
    }
}

/// Returns what an error and its sources say, since a [`DecodeError`] keeps text only.
fn error_chain(error: &ReceiptTextError) -> String {
    let sources = std::iter::successors(std::error::Error::source(error), |error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}

/// An error that the interpreter reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Line of the source, counted from 1; 0 when unknown.
    pub line: u32,
    /// Text of the report.
    pub message: String,
}

/// An event that a contract emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLog {
    /// The emitting contract.
    pub address: Address,
    /// Name of the event.
    pub name: String,
    /// Parameters, as the interpreter printed them.
    pub params: Vec<ContractParam>,
}

/// A message that a contract emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The emitting contract.
    pub address: Address,
    /// Depth of the emitting run; the contract that the transaction calls runs at depth 0.
    pub depth: u32,
    /// The message.
    pub message: ContractMessage,
    /// Whether the called contract accepted the money; `None` when the message ran no contract.
    pub accepted: Option<bool>,
}

/// The body of a message from a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractMessage {
    /// Money sent along.
    pub amount: Qa,
    /// Account or contract that the message is for.
    pub recipient: Address,
    /// Transition to run; may be empty.
    pub tag: String,
    /// Parameters, as the interpreter printed them.
    pub params: Vec<ContractParam>,
}
