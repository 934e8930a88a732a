//! Messages to a contract.

use std::sync::Arc;

use silica_protocol::Address;

use super::{Ending, InputError, check_kind, check_name, entries, read_named};
use crate::{
    argument::{Argument, IncomingMessage},
    host::StateField,
    json::{
        document::Json,
        types::parse_type,
        value::{ValueError, ValueReader, member, text_member},
    },
    types::{Primitive, Type, Width, adt::DataTypes},
    value::{Message as Sent, MessageEntry, Value},
};

/// A message to a contract, as the input of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageInput {
    /// Name of the called transition.
    pub tag: Arc<str>,
    /// Offered amount, in Qa.
    pub amount: u128,
    /// Address of the sender: 20 bytes if the message is valid.
    pub sender: Value,
    /// Address of the signer of the transaction: 20 bytes if the message is valid.
    pub origin: Value,
    /// Parameters, in the order of the file.
    pub parameters: Vec<StateField>,
}

/// Puts the implicit entries of a message before its parameters.
impl From<MessageInput> for IncomingMessage {
    fn from(input: MessageInput) -> Self {
        let entry = |(name, value): (&str, Value)| Argument { name: name.into(), value };
        let amount = Value::from(input.amount);
        let error_of = [("_amount", amount), ("_origin", input.origin), ("_sender", input.sender)].map(entry);
        let given = input.parameters.into_iter().map(Argument::from);
        Self { tag: input.tag, entries: error_of.into_iter().chain(given).collect() }
    }
}

impl MessageInput {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// If the file is invalid.
    pub fn read(file: &str, json: Json<'_>, known: &DataTypes) -> Result<Self, InputError> {
        Self::checked(file, Self::read_unchecked(json, known))
    }

    /// Converts a message that a contract sent. The result equals the result of [`Self::read`] for the JSON of the
    /// message.
    ///
    /// # Errors
    ///
    /// If the message is invalid, for example because the type of a value does not exist in the called program.
    pub fn of_sent(
        file: &str,
        sent: &Sent,
        sender_and_origin: [Address; 2],
        known: &DataTypes,
    ) -> Result<Self, InputError> {
        Self::checked(file, Self::of_sent_unchecked(sent, sender_and_origin, known))
    }

    fn checked(file: &str, message: Result<Self, ValueError>) -> Result<Self, InputError> {
        let message = message.map_err(|error| Ending::Plain.wrong(file, error))?;
        // The chain itself sets these three entries, so they may have address types. The check of the parameters
        // rejects a wrong type.
        let given = ["_sender", "_origin", "_recipient"];
        let mut checked = message.parameters.iter().filter(|parameter| !given.contains(&&*parameter.name));
        checked.try_for_each(|parameter| check_kind(&parameter.ty))?;
        Ok(message)
    }

    fn of_sent_unchecked(sent: &Sent, sender_and_origin: [Address; 2], known: &DataTypes) -> Result<Self, ValueError> {
        const LABELS: [&str; 3] = ["_tag", "_amount", "_recipient"];
        let mut reader = ValueReader::new(known);
        let tag = sent.get("_tag").and_then(Value::as_string).ok_or(ValueError::Missing("_tag"))?;
        let amount = sent.get("_amount").and_then(Value::as_integer).and_then(crate::value::Integer::to_u128);
        let amount = amount.ok_or(ValueError::Missing("_amount"))?;
        let [sender, origin] = sender_and_origin.map(Value::from);
        let parameter = |entry: &MessageEntry| -> Result<_, ValueError> {
            // The text of the type is parsed again, so that a type beyond the limits of the parser fails as it does
            // in JSON.
            let ty = parse_type(&entry.ty.global().to_string())?;
            let value = reader.read_sent(&entry.value, &ty)?;
            check_name(&entry.label)?;
            Ok(StateField { name: Arc::clone(&entry.label), ty, value })
        };
        let parameters = sent.entries().iter().filter(|entry| !LABELS.contains(&&*entry.label));
        let parameters = parameters.map(parameter).collect::<Result<_, _>>()?;
        Ok(Self { tag: Arc::clone(tag), amount, sender, origin, parameters })
    }

    fn read_unchecked(json: Json<'_>, known: &DataTypes) -> Result<Self, ValueError> {
        let mut reader = ValueReader::new(known);
        let tag = text_member(json, "_tag")?;
        let amount = reader.read(member(json, "_amount")?, &Primitive::Uint(Width::W128).into())?;
        let amount = amount.as_integer().and_then(crate::value::Integer::to_u128);
        let address = Type::bystr(20);
        let sender = reader.read(member(json, "_sender")?, &address)?;
        let origin = reader.read(member(json, "_origin")?, &address)?;
        let parameters = entries(member(json, "params")?)?;
        let parameters = parameters.map(|entry| read_named(entry, &mut reader)).collect::<Result<_, _>>()?;
        // Every `Uint128` fits into a `u128`, so the default cannot occur.
        Ok(Self { tag: tag.into(), amount: amount.unwrap_or(0), sender, origin, parameters })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{error_of, with},
        *,
    };

    fn read(amount: &str, parameters: &str) -> Result<MessageInput, InputError> {
        let json = format!(
            r#"{{"_tag":"Pay","_amount":{amount},"_sender":"0x12","_origin":"0x34","params":[{parameters}],"more":1}}"#
        );
        with(&json, |json, known| MessageInput::read("m.json", json, known))
    }

    #[test]
    fn a_message_is_read() {
        let message = read(r#""7""#, r#"{"vname":"a","type":"Uint32","value":"1"}"#).unwrap();
        assert_eq!((&*message.tag, message.amount), ("Pay", 7));
        assert_eq!(message.sender, Value::bystrx([0x12]));
        assert_eq!(message.origin, Value::bystrx([0x34]));
        assert_eq!(message.parameters.len(), 1);
    }

    #[test]
    fn errors_name_the_fault() {
        let ending = "|Failed to parse json: m.json";
        assert_eq!(error_of(read("7", "")), format!("Expected string, got int{ending}"));
        assert_eq!(error_of(read(r#""-7""#, "")), format!("Invalid value in JSON: -7 of type Uint128{ending}"));
        assert_eq!(error_of(read("null", "")), format!("Member not found in json: _amount{ending}"));
        let address = |name: &str| format!(r#"{{"vname":"{name}","type":"ByStr20 with end","value":"0x12"}}"#);
        assert_eq!(error_of(read(r#""7""#, &address("a"))), "Address type not allowed in json file");
        assert_eq!(error_of(read(r#""7""#, &address("_sender"))), "accepted");
    }
}
