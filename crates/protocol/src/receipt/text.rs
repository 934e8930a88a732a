//! The text of a receipt: styled JSON. Its bytes are hashed.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    address::Address,
    amount::Qa,
    bytes::HexError,
    contract::ContractParam,
    number::{NumberError, parse_decimal},
    receipt::{ContractMessage, EventLog, Exception, Receipt, ReceiptError, Transition},
    styled_json::{Layout, Members, Output, object_len, write_object},
};

/// Reason why text is not a receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptTextError {
    /// The text is not JSON with the members of a receipt.
    #[error("malformed receipt: {reason}")]
    Json {
        /// The error of the JSON parser.
        reason: String,
    },
    /// A member is not a number in its range.
    #[error("invalid receipt member {member}")]
    Number {
        /// The name of the member.
        member: &'static str,
        /// The error of the number.
        source: NumberError,
    },
    /// A member is not an address.
    #[error("invalid receipt member {member}")]
    Address {
        /// The name of the member.
        member: &'static str,
        /// The error of the address.
        source: HexError,
    },
    /// An error code is above 25.
    #[error("receipt member errors: expected codes from 0 to 25, got {got}")]
    Code {
        /// The code in the text.
        got: u64,
    },
}

impl Receipt {
    /// Returns the text of the receipt that is hashed.
    ///
    /// The receipt of a failed transaction has `errors` and `exceptions` even if they are empty
    /// (Reference: execution#receipts). Any other empty member is omitted.
    pub fn to_styled_json(&self) -> String {
        self.write(Layout::Styled)
    }

    /// Returns the JSON of [`to_styled_json`](Self::to_styled_json) without white space between the tokens.
    pub fn to_compact_json(&self) -> String {
        self.write(Layout::Compact)
    }

    fn write(&self, layout: Layout) -> String {
        let Self { cumulative_gas, epoch, success, accepted, errors, exceptions, event_logs, transitions } = self;
        write_object(layout, |receipt| {
            if let Some(accepted) = *accepted {
                receipt.boolean("accepted", accepted);
            }
            receipt.plain("cumulative_gas", cumulative_gas);
            receipt.plain("epoch_num", epoch);
            if !success || !errors.is_empty() {
                receipt.value("errors", &errors_json(errors));
            }
            if !event_logs.is_empty() {
                receipt.objects("event_logs", event_logs, write_event);
            }
            if !success || !exceptions.is_empty() {
                receipt.objects("exceptions", exceptions, write_exception);
            }
            receipt.boolean("success", *success);
            if !transitions.is_empty() {
                receipt.objects("transitions", transitions, write_transition);
            }
        })
    }

    /// Reads the text of a receipt in any layout.
    ///
    /// # Errors
    ///
    /// [`ReceiptTextError`] with the first invalid member.
    pub fn from_json(text: &str) -> Result<Self, ReceiptTextError> {
        let text: ReceiptText =
            serde_json::from_str(text).map_err(|source| ReceiptTextError::Json { reason: source.to_string() })?;
        text.try_into()
    }
}

impl ContractMessage {
    /// Returns the length in bytes of the message that the called contract receives. This message is styled JSON. It
    /// has the address of the sending contract and of the signer of the transaction, and has no recipient. The gas of a
    /// call pays for these bytes.
    pub fn call_len(&self, sender: &Address, origin: &Address) -> usize {
        object_len(|members| {
            members.plain("_amount", self.amount);
            members.plain("_origin", format_args!("0x{origin}"));
            members.plain("_sender", format_args!("0x{sender}"));
            members.string("_tag", &self.tag);
            members.objects("params", &self.params, write_param);
        })
    }
}

fn errors_json(errors: &BTreeMap<u32, Vec<ReceiptError>>) -> Value {
    let codes = |codes: &[ReceiptError]| codes.iter().map(|error| Value::from(error.code())).collect();
    errors.iter().map(|(edge, errors)| (edge.to_string(), Value::Array(codes(errors)))).collect()
}

fn write_exception(members: &mut Members<'_>, exception: &Exception) {
    members.number("line", exception.line);
    members.string("message", &exception.message);
}

fn write_event(members: &mut Members<'_>, event: &EventLog) {
    members.string("_eventname", &event.name);
    members.plain("address", format_args!("0x{}", event.address));
    members.objects("params", &event.params, write_param);
}

fn write_transition(members: &mut Members<'_>, transition: &Transition) {
    if let Some(accepted) = transition.accepted {
        members.boolean("accepted", accepted);
    }
    members.plain("addr", format_args!("0x{}", transition.address));
    members.number("depth", transition.depth);
    members.object("msg", |members| write_message(members, &transition.message));
}

fn write_message(members: &mut Members<'_>, message: &ContractMessage) {
    members.plain("_amount", message.amount);
    members.plain("_recipient", format_args!("0x{}", message.recipient));
    members.string("_tag", &message.tag);
    members.objects("params", &message.params, write_param);
}

fn write_param<O: Output>(members: &mut Members<'_, O>, param: &ContractParam) {
    members.string("type", &param.type_name);
    members.value("value", &param.value);
    members.string("vname", &param.name);
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
struct ReceiptText {
    cumulative_gas: String,
    epoch_num: String,
    success: bool,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    accepted: Option<bool>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    errors: Option<BTreeMap<String, Vec<u64>>>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    exceptions: Option<Vec<ExceptionText>>,
    #[serde(default)]
    #[cfg_attr(test, serde(skip_serializing_if = "Vec::is_empty"))]
    event_logs: Vec<EventText>,
    #[serde(default)]
    #[cfg_attr(test, serde(skip_serializing_if = "Vec::is_empty"))]
    transitions: Vec<TransitionText>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
struct ExceptionText {
    line: u32,
    message: String,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
struct EventText {
    #[serde(rename = "_eventname")]
    name: String,
    address: String,
    params: Vec<ParamText>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
struct TransitionText {
    addr: String,
    depth: u32,
    msg: MessageText,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    accepted: Option<bool>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
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

#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
struct ParamText {
    vname: String,
    #[serde(rename = "type")]
    type_name: String,
    value: Value,
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

impl From<ExceptionText> for Exception {
    fn from(text: ExceptionText) -> Self {
        Self { line: text.line, message: text.message }
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

impl From<ParamText> for ContractParam {
    fn from(text: ParamText) -> Self {
        Self { name: text.vname, type_name: text.type_name, value: text.value }
    }
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
    use crate::{
        arbitrary::{any_address, any_receipt},
        gas::Gas,
        number::BlockNumber,
        styled_json::to_styled_json,
    };

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

    impl From<&Exception> for ExceptionText {
        fn from(exception: &Exception) -> Self {
            Self { line: exception.line, message: exception.message.clone() }
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

    impl From<&ContractParam> for ParamText {
        fn from(param: &ContractParam) -> Self {
            Self { vname: param.name.clone(), type_name: param.type_name.clone(), value: param.value.clone() }
        }
    }

    fn address_text(address: &Address) -> String {
        format!("0x{address}")
    }

    fn codes_text(codes: &[ReceiptError]) -> Vec<u64> {
        codes.iter().map(|error| error.code().into()).collect()
    }

    /// Returns the text of a receipt from its `serde` form.
    fn generic_text(receipt: &Receipt) -> String {
        to_styled_json(&serde_json::to_value(ReceiptText::from(receipt)).unwrap())
    }

    /// Returns JSON text without the white space between its tokens.
    fn without_layout(text: &str) -> String {
        let (mut in_string, mut escaped) = (false, false);
        let keep = |character: &char| {
            let space = !in_string && character.is_ascii_whitespace();
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = !in_string,
                _ => {}
            }
            !space
        };
        text.chars().filter(keep).collect()
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
        fn text_is_the_same_as_from_serde(receipt in any_receipt()) {
            prop_assert_eq!(receipt.to_styled_json(), generic_text(&receipt));
        }

        #[test]
        fn length_of_a_call_is_that_of_its_text(receipt in any_receipt(), origin in any_address()) {
            for Transition { address: sender, message, .. } in &receipt.transitions {
                let param = |param: &ContractParam| {
                    json!({ "vname": param.name, "type": param.type_name, "value": param.value })
                };
                let text = to_styled_json(&json!({
                    "_amount": message.amount.to_string(),
                    "_origin": format!("0x{origin}"),
                    "_sender": format!("0x{sender}"),
                    "_tag": message.tag,
                    "params": message.params.iter().map(param).collect::<Vec<_>>(),
                }));
                prop_assert_eq!(message.call_len(sender, &origin), text.len());
            }
        }

        #[test]
        fn compact_text_has_no_layout_and_is_read_back(receipt in any_receipt()) {
            let (compact, styled) = (receipt.to_compact_json(), receipt.to_styled_json());
            prop_assert_eq!(&compact, &without_layout(&styled));
            prop_assert_eq!(Receipt::from_json(&compact), Ok(receipt));
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
        check_refused(&with("epoch_num", json!("x")), "invalid receipt member epoch_num: expected decimal digits");
        check_refused(
            &with("errors", json!({ "0": [26] })),
            "receipt member errors: expected codes from 0 to 25, got 26",
        );
        check_refused(&with("errors", json!({ "-1": [7] })), "invalid receipt member errors: expected decimal digits");
        check_refused(&transition("0x12", "_tag", ""), "invalid receipt member transitions addr: expected 40");
        check_refused(
            &transition(&zero, "_recipient", "?"),
            "invalid receipt member transitions msg _recipient: expected 40",
        );
        check_refused(
            &transition(&zero, "_amount", ""),
            "invalid receipt member transitions msg _amount: expected decimal",
        );
        let event = json!([{ "_eventname": "E", "address": "", "params": [] }]);
        check_refused(&with("event_logs", event), "invalid receipt member event_logs address: expected 40");
    }
}
