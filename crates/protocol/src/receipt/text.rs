//! The text of a receipt: styled JSON, whose bytes are hashed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    address::Address,
    amount::Qa,
    bytes::HexError,
    contract::ContractParam,
    number::{NumberError, parse_decimal},
    receipt::{ContractMessage, EventLog, Exception, Receipt, ReceiptError, Transition},
    styled_json::to_styled_json,
};

/// Reason why text is not a receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptTextError {
    /// The text is not JSON of this shape.
    #[error("malformed receipt: {reason}")]
    Json {
        /// What the parser found.
        reason: String,
    },
    /// A member does not hold a number of its range.
    #[error("receipt member {member}")]
    Number {
        /// The member.
        member: &'static str,
        /// What is wrong with it.
        source: NumberError,
    },
    /// A member does not hold an address.
    #[error("receipt member {member}")]
    Address {
        /// The member.
        member: &'static str,
        /// What is wrong with it.
        source: HexError,
    },
    /// An error code that is not in the list.
    #[error("receipt member errors: expected codes from 0 to 25, got {got}")]
    Code {
        /// The code that came.
        got: u64,
    },
}

impl Receipt {
    /// Returns the text that is stored, hashed and answered.
    ///
    /// A receipt of failure has `errors` and `exceptions` even when they are empty (decision 14 of the reference); every
    /// other member is left out when there is nothing in it.
    #[expect(clippy::missing_panics_doc, reason = "it does not panic")]
    pub fn to_styled_json(&self) -> String {
        if self.has_only_totals() {
            let (gas, epoch) = (self.cumulative_gas, self.epoch);
            return format!(
                "{{\n\t\"cumulative_gas\" : \"{gas}\",\n\t\"epoch_num\" : \"{epoch}\",\n\t\"success\" : true\n}}"
            );
        }
        let value = serde_json::to_value(ReceiptText::from(self)).expect("all names of members are text");
        to_styled_json(&value)
    }

    /// Reads the text of a receipt, in whatever layout.
    ///
    /// # Errors
    ///
    /// [`ReceiptTextError`] with the member that does not fit.
    pub fn from_json(text: &str) -> Result<Self, ReceiptTextError> {
        let text: ReceiptText =
            serde_json::from_str(text).map_err(|source| ReceiptTextError::Json { reason: source.to_string() })?;
        text.try_into()
    }

    /// Whether the receipt is that of a payment or successful deployment, as nearly all are.
    fn has_only_totals(&self) -> bool {
        let Self { cumulative_gas: _, epoch: _, success, accepted, errors, exceptions, event_logs, transitions } = self;
        *success
            && accepted.is_none()
            && errors.is_empty()
            && exceptions.is_empty()
            && event_logs.is_empty()
            && transitions.is_empty()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReceiptText {
    cumulative_gas: String,
    epoch_num: String,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<BTreeMap<String, Vec<u64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exceptions: Option<Vec<ExceptionText>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    event_logs: Vec<EventText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    transitions: Vec<TransitionText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExceptionText {
    line: u32,
    message: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventText {
    #[serde(rename = "_eventname")]
    name: String,
    address: String,
    params: Vec<ParamText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransitionText {
    addr: String,
    depth: u32,
    msg: MessageText,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageText {
    #[serde(rename = "_amount")]
    amount: String,
    #[serde(rename = "_recipient")]
    recipient: String,
    #[serde(rename = "_tag")]
    tag: String,
    params: Vec<ParamText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamText {
    vname: String,
    #[serde(rename = "type")]
    type_name: String,
    value: Value,
}

impl From<&Receipt> for ReceiptText {
    fn from(receipt: &Receipt) -> Self {
        let errors = || receipt.errors.iter().map(|(edge, codes)| (edge.to_string(), codes_text(codes))).collect();
        let exceptions = || receipt.exceptions.iter().map(ExceptionText::from).collect();
        Self {
            cumulative_gas: receipt.cumulative_gas.to_string(),
            epoch_num: receipt.epoch.to_string(),
            success: receipt.success,
            accepted: receipt.accepted,
            errors: (!receipt.success || !receipt.errors.is_empty()).then(errors),
            exceptions: (!receipt.success || !receipt.exceptions.is_empty()).then(exceptions),
            event_logs: receipt.event_logs.iter().map(EventText::from).collect(),
            transitions: receipt.transitions.iter().map(TransitionText::from).collect(),
        }
    }
}

impl TryFrom<ReceiptText> for Receipt {
    type Error = ReceiptTextError;

    fn try_from(text: ReceiptText) -> Result<Self, Self::Error> {
        Ok(Self {
            cumulative_gas: text.cumulative_gas.parse().map_err(in_number("cumulative_gas"))?,
            epoch: text.epoch_num.parse().map_err(in_number("epoch_num"))?,
            success: text.success,
            accepted: text.accepted,
            errors: text.errors.unwrap_or_default().into_iter().map(parse_errors).collect::<Result<_, _>>()?,
            exceptions: text.exceptions.unwrap_or_default().into_iter().map(Exception::from).collect(),
            event_logs: text.event_logs.into_iter().map(EventLog::try_from).collect::<Result<_, _>>()?,
            transitions: text.transitions.into_iter().map(Transition::try_from).collect::<Result<_, _>>()?,
        })
    }
}

impl From<&Exception> for ExceptionText {
    fn from(exception: &Exception) -> Self {
        Self { line: exception.line, message: exception.message.clone() }
    }
}

impl From<ExceptionText> for Exception {
    fn from(text: ExceptionText) -> Self {
        Self { line: text.line, message: text.message }
    }
}

impl From<&EventLog> for EventText {
    fn from(event: &EventLog) -> Self {
        Self {
            name: event.name.clone(),
            address: address_text(&event.address),
            params: event.params.iter().map(ParamText::from).collect(),
        }
    }
}

impl TryFrom<EventText> for EventLog {
    type Error = ReceiptTextError;

    fn try_from(text: EventText) -> Result<Self, Self::Error> {
        Ok(Self {
            address: text.address.parse().map_err(in_address("event_logs address"))?,
            name: text.name,
            params: text.params.into_iter().map(ContractParam::from).collect(),
        })
    }
}

impl From<&Transition> for TransitionText {
    fn from(transition: &Transition) -> Self {
        Self {
            addr: address_text(&transition.address),
            depth: transition.depth,
            msg: MessageText::from(&transition.message),
            accepted: transition.accepted,
        }
    }
}

impl TryFrom<TransitionText> for Transition {
    type Error = ReceiptTextError;

    fn try_from(text: TransitionText) -> Result<Self, Self::Error> {
        Ok(Self {
            address: text.addr.parse().map_err(in_address("transitions addr"))?,
            depth: text.depth,
            message: text.msg.try_into()?,
            accepted: text.accepted,
        })
    }
}

impl From<&ContractMessage> for MessageText {
    fn from(message: &ContractMessage) -> Self {
        Self {
            amount: message.amount.to_string(),
            recipient: address_text(&message.recipient),
            tag: message.tag.clone(),
            params: message.params.iter().map(ParamText::from).collect(),
        }
    }
}

impl TryFrom<MessageText> for ContractMessage {
    type Error = ReceiptTextError;

    fn try_from(text: MessageText) -> Result<Self, Self::Error> {
        Ok(Self {
            amount: text.amount.parse::<Qa>().map_err(in_number("transitions msg _amount"))?,
            recipient: text.recipient.parse().map_err(in_address("transitions msg _recipient"))?,
            tag: text.tag,
            params: text.params.into_iter().map(ContractParam::from).collect(),
        })
    }
}

impl From<&ContractParam> for ParamText {
    fn from(param: &ContractParam) -> Self {
        Self { vname: param.name.clone(), type_name: param.type_name.clone(), value: param.value.clone() }
    }
}

impl From<ParamText> for ContractParam {
    fn from(text: ParamText) -> Self {
        Self { name: text.vname, type_name: text.type_name, value: text.value }
    }
}

fn address_text(address: &Address) -> String {
    format!("0x{address}")
}

fn codes_text(codes: &[ReceiptError]) -> Vec<u64> {
    codes.iter().map(|error| error.code().into()).collect()
}

fn parse_errors((edge, codes): (String, Vec<u64>)) -> Result<(u32, Vec<ReceiptError>), ReceiptTextError> {
    let edge = parse_decimal(&edge, u32::MAX).map_err(in_number("errors"))?;
    let code = |got| {
        let error = u8::try_from(got).ok().and_then(ReceiptError::from_code);
        error.ok_or(ReceiptTextError::Code { got })
    };
    Ok((edge, codes.into_iter().map(code).collect::<Result<_, _>>()?))
}

fn in_number(member: &'static str) -> impl FnOnce(NumberError) -> ReceiptTextError {
    move |source| ReceiptTextError::Number { member, source }
}

fn in_address(member: &'static str) -> impl FnOnce(HexError) -> ReceiptTextError {
    move |source| ReceiptTextError::Address { member, source }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{arbitrary::any_receipt, gas::Gas, number::BlockNumber};

    /// The text of a receipt by the long way.
    fn generic_text(receipt: &Receipt) -> String {
        to_styled_json(&serde_json::to_value(ReceiptText::from(receipt)).unwrap())
    }

    #[track_caller]
    fn check(receipt: &Receipt, expected: &Value) {
        assert_eq!(serde_json::from_str::<Value>(&receipt.to_styled_json()).unwrap(), *expected);
    }

    #[track_caller]
    fn check_refused(text: &Value, expected: &str) {
        let error = Receipt::from_json(&text.to_string()).unwrap_err();
        let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        let message = format!("{error}{source}");
        assert!(message.starts_with(expected), "{message}");
    }

    fn failed() -> Receipt {
        Receipt { success: false, ..Receipt::payment(Gas::new(7), BlockNumber::new(8)) }
    }

    proptest! {
        #[test]
        fn text_is_read_back(receipt in any_receipt()) {
            prop_assert_eq!(Receipt::from_json(&receipt.to_styled_json()), Ok(receipt));
        }

        #[test]
        fn short_way_writes_what_the_long_way_does(gas: u64, epoch: u64, accepted: Option<bool>, success: bool) {
            let receipt = Receipt { success, accepted, ..Receipt::payment(Gas::new(gas), BlockNumber::new(epoch)) };
            prop_assert_eq!(receipt.to_styled_json(), generic_text(&receipt));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text: String) {
            drop(Receipt::from_json(&text));
        }
    }

    #[test]
    fn failure_always_has_errors_and_exceptions() {
        check(
            &failed(),
            &json!({ "cumulative_gas": "7", "epoch_num": "8", "success": false, "errors": {}, "exceptions": [] }),
        );
    }

    #[test]
    fn payment_has_three_members() {
        let receipt = Receipt::payment(Gas::new(50), BlockNumber::new(0));
        check(&receipt, &json!({ "cumulative_gas": "50", "epoch_num": "0", "success": true }));
    }

    #[test]
    fn edges_are_sorted_as_text() {
        let errors = [(2, vec![ReceiptError::CallContractFailed]), (10, vec![ReceiptError::NoOutput])];
        let text = Receipt { errors: errors.into(), ..failed() }.to_styled_json();
        assert!(text.find("\"10\"").unwrap() < text.find("\"2\"").unwrap(), "{text}");
    }

    #[test]
    fn errors_name_the_member() {
        let good = json!({ "cumulative_gas": "7", "epoch_num": "8", "success": false });
        let with = |member: &str, value: Value| {
            let mut text = good.clone();
            text[member] = value;
            text
        };
        let message = json!({ "_amount": "1", "_recipient": format!("0x{}", Address::ZERO), "_tag": "", "params": [] });
        let transition = |addr: &str, member: &str, value: &str| {
            let mut message = message.clone();
            message[member] = value.into();
            with("transitions", json!([{ "addr": addr, "depth": 0, "msg": message }]))
        };
        let zero = Address::ZERO.to_string();
        check_refused(&json!([]), "malformed receipt: ");
        check_refused(&json!({ "cumulative_gas": "7" }), "malformed receipt: missing field `epoch_num`");
        check_refused(&with("gas_used", json!(1)), "malformed receipt: unknown field `gas_used`");
        check_refused(&with("epoch_num", json!("x")), "receipt member epoch_num: expected decimal digits");
        check_refused(
            &with("errors", json!({ "0": [26] })),
            "receipt member errors: expected codes from 0 to 25, got 26",
        );
        check_refused(&with("errors", json!({ "-1": [7] })), "receipt member errors: expected decimal digits");
        check_refused(&transition("0x12", "_tag", ""), "receipt member transitions addr: expected 40");
        check_refused(&transition(&zero, "_recipient", "?"), "receipt member transitions msg _recipient: expected 40");
        check_refused(&transition(&zero, "_amount", ""), "receipt member transitions msg _amount: expected decimal");
        let event = json!([{ "_eventname": "E", "address": "", "params": [] }]);
        check_refused(&with("event_logs", event), "receipt member event_logs address: expected 40");
    }
}
