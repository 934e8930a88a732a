//! Text form of values in exceptions and error texts.

use std::fmt;

use super::{AdtValue, Constructor, Hex, Value};

/// A value in its text form, for example `(Uint32 5)`.
#[derive(Clone, Copy)]
pub struct LiteralText<'a> {
    of: &'a Value,
}

impl fmt::Debug for LiteralText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A part that remains to be printed.
enum Pending<'a> {
    Label(&'a str),
    Text(&'static str),
    Value(&'a Value),
}

impl<'a> LiteralText<'a> {
    pub(super) const fn new(of: &'a Value) -> Self {
        Self { of }
    }
}

impl fmt::Display for LiteralText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pending = vec![Pending::Value(self.of)];
        while let Some(next) = pending.pop() {
            match next {
                Pending::Label(text) => f.write_str(text)?,
                Pending::Text(text) => f.write_str(text)?,
                Pending::Value(value) => {
                    let start = pending.len();
                    print(value, f, &mut pending)?;
                    // The new parts are in the order of the text. The stack returns the last part first.
                    if let Some(added) = pending.get_mut(start..) {
                        added.reverse();
                    }
                }
            }
        }
        Ok(())
    }
}

/// Prints the beginning of a value, and queues its remaining parts.
fn print<'a>(value: &'a Value, f: &mut fmt::Formatter<'_>, rest: &mut Vec<Pending<'a>>) -> fmt::Result {
    match value {
        Value::Adt(adt) => print_adt(value, adt, f, rest),
        Value::BNum(number) => write!(f, "(BNum {number})"),
        Value::ByStr(bytes) => print_bytes("ByStr", None, bytes, f),
        Value::ByStrX(bytes) => print_bytes("ByStr", Some(bytes.len()), bytes, f),
        Value::Closure(_) => f.write_str("<closure>"),
        Value::Integer(integer) => {
            write!(f, "({} {integer})", crate::types::Primitive::from(integer.ty()))
        }
        Value::Map(map) => {
            write!(f, "(Map {} {} [", map.key_type().global(), map.value_type().global())?;
            for (index, (key, value)) in map.iter().enumerate() {
                rest.push(Pending::Text(if index == 0 { "(" } else { "; (" }));
                rest.push(Pending::Value(key.value()));
                rest.push(Pending::Text(" => "));
                rest.push(Pending::Value(value));
                rest.push(Pending::Text(")"));
            }
            rest.push(Pending::Text("])"));
            Ok(())
        }
        Value::Message(message) => {
            f.write_str("(Message [")?;
            for (index, entry) in message.entries().iter().enumerate() {
                rest.push(Pending::Text(if index == 0 { "(" } else { " ; (" }));
                rest.push(Pending::Label(&entry.label));
                rest.push(Pending::Text(" : "));
                rest.push(Pending::Value(&entry.value));
                rest.push(Pending::Text(")"));
            }
            rest.push(Pending::Text("])"));
            Ok(())
        }
        Value::String(text) => write!(f, "(String \"{text}\")"),
        Value::TypeClosure(_) => f.write_str("<type_closure>"),
    }
}

fn print_adt<'a>(
    value: &'a Value,
    adt: &'a AdtValue,
    f: &mut fmt::Formatter<'_>,
    rest: &mut Vec<Pending<'a>>,
) -> fmt::Result {
    if adt.is(Constructor::cons()) {
        f.write_str("(List ")?;
        let mut elements = value.elements();
        for element in elements.by_ref() {
            rest.extend([Pending::Value(element), Pending::Text(", ")]);
        }
        rest.extend([Pending::Value(elements.rest()), Pending::Text(")")]);
        return Ok(());
    }
    if let Some(number) = nat(value) {
        return write!(f, "(Nat {number})");
    }
    write!(f, "({}", adt.constructor().name.global())?;
    for argument in adt.arguments() {
        rest.extend([Pending::Text(" "), Pending::Value(argument)]);
    }
    rest.push(Pending::Text(")"));
    Ok(())
}

/// Returns the number, or `None` if the value is not a `Nat`.
fn nat(value: &Value) -> Option<u64> {
    let mut number = 0;
    let mut adt = value.as_adt()?;
    while adt.is(Constructor::succ()) {
        number += 1;
        adt = adt.arguments().first()?.as_adt()?;
    }
    adt.is(Constructor::zero()).then_some(number)
}

fn print_bytes(name: &str, width: Option<usize>, bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "({name}")?;
    if let Some(width) = width {
        write!(f, "{width}")?;
    }
    write!(f, " {})", Hex(bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        types::{Primitive, Type},
        value::{BNum, Integer, IntegerType, Key, Map, Message, MessageEntry},
    };

    fn check(value: &Value, expected: &str) {
        assert_eq!(value.literal().to_string(), expected);
    }

    #[test]
    fn values_print_as_in_the_reference() {
        let int = Integer::parse(IntegerType::Int(crate::types::Width::W256), "-5").unwrap();
        check(&Value::Integer(int), "(Int256 -5)");
        check(&Value::of_text("a \"b\""), "(String \"a \"b\"\")");
        check(&Value::BNum(BNum::parse("007").unwrap()), "(BNum 007)");
        check(&Value::ByStr(Arc::from([0xab])), "(ByStr 0xab)");
        check(&Value::bystrx([0xab, 1]), "(ByStr2 0xab01)");
        check(&Value::bool(true), "(True)");
        check(&Value::nat(0), "(Nat 0)");
        check(&Value::nat(3), "(Nat 3)");
        check(&Value::some(Type::nat(), Value::nat(3)), "(Some (Nat 3))");
        check(&Value::list(Type::bool(), []), "(Nil)");
        check(&Value::list(Type::bool(), [true, false].map(Value::bool)), "(List (True), (False), (Nil))");
    }

    #[test]
    fn maps_and_messages_print_their_entries() {
        let mut map = Map::new(Type::bystr(20), Type::list(Type::bool()));
        check(&Value::Map(map.clone()), "(Map ByStr20 List (Bool) [])");
        for byte in [2, 1] {
            map.insert(Key::new(Value::bystrx([byte])).unwrap(), Value::bool(true));
        }
        check(&Value::Map(map), "(Map ByStr20 List (Bool) [((ByStr1 0x01) => (True)); ((ByStr1 0x02) => (True))])");
        let entry = |label: &str, text: &str| MessageEntry {
            label: label.into(),
            ty: Primitive::String.into(),
            value: Value::of_text(text),
        };
        let message = Message::new(vec![entry("_exception", "E"), entry("b", "x")]);
        check(&Value::Message(Arc::new(message)), "(Message [(_exception : (String \"E\")) ; (b : (String \"x\"))])");
    }
}
