//! The bytes of values as the hash functions read them.

use std::{collections::HashMap, ops::Range};

use crate::{
    name::Name,
    value::{Map, Message, Value},
};

/// Largest number of bytes that the output keeps. The output copies the bytes of a repeated value from the kept bytes.
/// The output passes older bytes to the hash and drops them, so the memory for a hash has a limit.
const KEPT: usize = 1 << 18;

/// Least number of parts of a repeated value whose bytes are copied. A value with fewer parts is serialized again,
/// because a serialization takes no longer than a search for the kept bytes of the value.
const LEAST_PARTS: u64 = 12;

/// A part that remains to be written.
enum Pending<'a> {
    /// The end of a value. The kept bytes from `start` on are the bytes of the value at `address`, unless the output
    /// has dropped bytes since the beginning of the value.
    Close {
        address: usize,
        start: usize,
        losses: u64,
    },
    Text(&'a str),
    Value(&'a Value),
}

/// Writes the bytes of a value as hash input. Returns false if the value contains a part without bytes, for example a
/// function.
///
/// Integers have full width. The entries of messages are ordered by their labels. The entries of a map have the last
/// key first, because the reference sorts them and then reverses the order.
///
/// The bytes of a repeated value are written for each occurrence. A value with at least 12 parts is read only once
/// while its bytes are kept.
pub fn write_serialized(value: &Value, write: impl FnMut(&[u8])) -> bool {
    write_counted(value, write).is_some()
}

/// Writes the bytes of a value, and returns the number of values that the function read. Returns `None` if a part has
/// no bytes.
fn write_counted(value: &Value, write: impl FnMut(&[u8])) -> Option<u64> {
    let mut output = Output { kept: Vec::new(), written: 0, losses: 0, known: HashMap::new(), write };
    let (mut pending, mut values) = (vec![Pending::Value(value)], 0);
    while let Some(next) = pending.pop() {
        let value = match next {
            Pending::Close { address, start, losses } => {
                output.close(address, start, losses);
                continue;
            }
            Pending::Text(text) => {
                output.push(text.as_bytes());
                continue;
            }
            Pending::Value(value) => value,
        };
        values += 1;
        if let Some(address) = value.shared_address().filter(|_| value.parts() >= LEAST_PARTS) {
            if output.repeat(address) {
                continue;
            }
            pending.push(Pending::Close { address, start: output.kept.len(), losses: output.losses });
        }
        match value {
            Value::Adt(adt) => {
                output.push_name(&adt.constructor().name);
                pending.extend(adt.arguments().iter().rev().map(Pending::Value));
            }
            Value::BNum(number) => output.push(number.digits().as_bytes()),
            Value::ByStr(bytes) | Value::ByStrX(bytes) => output.push(bytes),
            Value::Closure(_) | Value::TypeClosure(_) => return None,
            Value::Integer(integer) => output.push(&integer.to_bytes()),
            Value::Map(map) => queue_map(map, &mut pending),
            Value::Message(message) => queue_message(message, &mut pending),
            Value::String(text) => output.push(text.as_bytes()),
        }
    }
    output.flush();
    Some(values)
}

/// Returns the number of bytes of a value as hash input.
pub(super) fn serialized_len(value: &Value) -> u64 {
    let mut len = 0_u64;
    write_serialized(value, |bytes| len = len.saturating_add(bytes.len() as u64));
    len
}

/// Queues the entries of a map. The first key is written last.
fn queue_map<'a>(map: &'a Map, pending: &mut Vec<Pending<'a>>) {
    for (key, value) in map {
        pending.extend([Pending::Value(value), Pending::Value(key.value())]);
    }
}

/// Queues the entries of a message in the order of their labels, as `label:value` with semicolons between them.
fn queue_message<'a>(message: &'a Message, pending: &mut Vec<Pending<'a>>) {
    let mut entries: Vec<_> = message.entries().iter().collect();
    entries.sort_by(|one, other| one.label.cmp(&other.label));
    for (index, entry) in entries.into_iter().enumerate().rev() {
        pending.extend([Pending::Value(&entry.value), Pending::Text(":"), Pending::Text(&entry.label)]);
        if index > 0 {
            pending.push(Pending::Text(";"));
        }
    }
}

/// An output that keeps its latest bytes.
struct Output<W> {
    kept: Vec<u8>,
    /// Number of kept bytes that have been passed to `write`.
    written: usize,
    /// Number of times that the output has dropped bytes.
    losses: u64,
    /// Ranges of the kept bytes that belong to shared values, by the memory address of the value. The values outlive
    /// this map, so an address identifies one value.
    known: HashMap<usize, Range<usize>>,
    write: W,
}

impl<W: FnMut(&[u8])> Output<W> {
    fn push(&mut self, bytes: &[u8]) {
        if self.kept.len() + bytes.len() <= KEPT {
            self.kept.extend_from_slice(bytes);
            return;
        }
        self.flush();
        self.losses += 1;
        if bytes.len() > KEPT / 2 {
            (self.write)(bytes);
            return;
        }
        self.known.clear();
        self.kept.clear();
        self.kept.extend_from_slice(bytes);
        self.written = 0;
    }

    /// Writes a name in its global form.
    fn push_name(&mut self, name: &Name) {
        if let Some(module) = name.module() {
            self.push(module.as_bytes());
            self.push(b".");
        }
        self.push(name.base().as_bytes());
    }

    /// Writes the bytes of the value at an address again. Returns false if the output does not keep these bytes.
    fn repeat(&mut self, address: usize) -> bool {
        let Some(range) = self.known.get(&address).cloned() else { return false };
        if self.kept.len() + range.len() <= KEPT {
            self.kept.extend_from_within(range);
        } else {
            self.flush();
            self.losses += 1;
            (self.write)(self.kept.get(range).unwrap_or_default());
        }
        true
    }

    fn close(&mut self, address: usize, start: usize, losses: u64) {
        if losses == self.losses {
            self.known.insert(address, start..self.kept.len());
        }
    }

    fn flush(&mut self) {
        (self.write)(self.kept.get(self.written..).unwrap_or_default());
        self.written = self.kept.len();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        types::{Primitive, Type},
        value::{BNum, Constructor, Key, MessageEntry},
    };

    /// Writes the bytes of a value without regard to shared parts.
    fn plain(value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Adt(adt) => {
                out.extend_from_slice(adt.constructor().name.global().to_string().as_bytes());
                adt.arguments().iter().for_each(|argument| plain(argument, out));
            }
            Value::BNum(number) => out.extend_from_slice(number.digits().as_bytes()),
            Value::ByStr(bytes) | Value::ByStrX(bytes) => out.extend_from_slice(bytes),
            Value::Closure(_) | Value::TypeClosure(_) => panic!("functions have no bytes"),
            Value::Integer(integer) => out.extend_from_slice(&integer.to_bytes()),
            Value::Map(map) => {
                for (key, value) in map.iter().collect::<Vec<_>>().into_iter().rev() {
                    plain(key.value(), out);
                    plain(value, out);
                }
            }
            Value::Message(message) => {
                let mut entries: Vec<_> = message.entries().iter().collect();
                entries.sort_by(|one, other| one.label.cmp(&other.label));
                for (index, entry) in entries.into_iter().enumerate() {
                    out.extend_from_slice(if index == 0 { b"" } else { b";" });
                    out.extend_from_slice(entry.label.as_bytes());
                    out.push(b':');
                    plain(&entry.value, out);
                }
            }
            Value::String(text) => out.extend_from_slice(text.as_bytes()),
        }
    }

    /// Returns the bytes of a value, and the number of values that were read.
    fn shared(value: &Value) -> (Vec<u8>, u64) {
        let mut bytes = Vec::new();
        let values = write_counted(value, |more| bytes.extend_from_slice(more)).unwrap();
        (bytes, values)
    }

    fn check(value: &Value) {
        let mut expected = Vec::new();
        plain(value, &mut expected);
        assert!(shared(value).0 == expected, "{} bytes", expected.len());
    }

    fn pair(one: &Value, two: &Value) -> Value {
        Value::adt(Constructor::pair(), Arc::new([Type::bool(), Type::bool()]), [one.clone(), two.clone()])
    }

    fn map(entries: &[(&str, &Value)]) -> Value {
        let mut map = Map::new(Primitive::String.into(), Type::bool());
        for (key, value) in entries {
            map.insert(Key::new(Value::of_text(*key)).unwrap(), (*value).clone());
        }
        Value::Map(map)
    }

    fn message(entries: &[(&str, &Value)]) -> Value {
        let entry = |&(label, value): &(&str, &Value)| MessageEntry {
            label: label.into(),
            ty: Type::bool(),
            value: value.clone(),
        };
        Value::Message(Arc::new(Message::new(entries.iter().map(entry).collect())))
    }

    /// A step that makes a value, from constants or from values of earlier steps.
    #[derive(Clone, Debug)]
    enum Made {
        Text(String),
        Long(u8, usize),
        Number(u64),
        Pair(prop::sample::Index, prop::sample::Index),
        Map(prop::sample::Index, prop::sample::Index),
        Message(prop::sample::Index, prop::sample::Index),
        List(prop::sample::Index, usize),
    }

    fn made() -> impl Strategy<Value = Made> {
        let index = any::<prop::sample::Index>;
        prop_oneof![
            "[a-z]{0,30}".prop_map(Made::Text),
            (any::<u8>(), 0..3 * KEPT / 2).prop_map(|(byte, length)| Made::Long(byte, length)),
            any::<u64>().prop_map(Made::Number),
            (index(), index()).prop_map(|(one, two)| Made::Pair(one, two)),
            (index(), index()).prop_map(|(one, two)| Made::Pair(one, two)),
            (index(), index()).prop_map(|(one, two)| Made::Map(one, two)),
            (index(), index()).prop_map(|(one, two)| Made::Message(one, two)),
            (index(), 0_usize..40).prop_map(|(one, times)| Made::List(one, times)),
        ]
    }

    /// Largest number of bytes of a tested value. Larger values would slow down the test.
    const LARGEST: u64 = 1 << 22;

    fn make(steps: &[Made]) -> Value {
        let mut values = vec![Value::bool(true), Value::nat(20)];
        for step in steps {
            let of = |index: &prop::sample::Index| index.get(&values);
            let value = match step {
                Made::Text(text) => Value::of_text(text.as_str()),
                Made::Long(byte, length) => Value::ByStr(vec![*byte; *length].into()),
                Made::Number(number) => Value::BNum(BNum::from_u64(*number)),
                Made::Pair(one, two) => pair(of(one), of(two)),
                Made::Map(one, two) => map(&[("a", of(one)), ("b", of(two))]),
                Made::Message(one, two) => message(&[("b", of(one)), ("_tag", of(two))]),
                Made::List(one, times) => Value::list(Type::bool(), vec![of(one).clone(); *times]),
            };
            if value.size().saturating_add(value.parts().saturating_mul(8)) < LARGEST {
                values.push(value);
            }
        }
        values.pop().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn shared_values_have_the_bytes_of_those_that_are_not(steps in prop::collection::vec(made(), 1..40)) {
            check(&make(&steps));
        }
    }

    #[test]
    fn shared_value_above_the_cache_limit_is_copied() {
        let long = Value::ByStr(vec![7; KEPT / 3].into());
        let mut value = pair(&Value::nat(100), &long);
        for _ in 0..6 {
            value = pair(&value, &value);
            check(&value);
        }
        check(&pair(&value, &Value::ByStr(vec![8; 2 * KEPT].into())));
    }

    #[test]
    fn parts_of_a_shared_tree_are_visited_once() {
        let tree = (0..16).fold(Value::nat(0), |half, _| pair(&half, &half));
        let (bytes, values) = shared(&tree);
        assert_eq!(bytes.len(), 4 * ((1 << 16) - 1) + 4 * (1 << 16));
        // The function reads both halves once on each level, and serializes the lowest levels again. Without sharing,
        // 131,071 values would be read.
        assert!(values < 50, "{values}");
    }
}
