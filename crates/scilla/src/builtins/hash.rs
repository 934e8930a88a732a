//! Hashes of values.

use ripemd::Ripemd160;
use sha2::{Digest, Sha256};
use sha3::Keccak256;

use super::{MISUSE, Refusal};
use crate::value::{Map, Message, Value};

/// What is still to be written.
enum Pending<'a> {
    Text(&'a str),
    Value(&'a Value),
}

/// Writes the bytes that stand for a value in hashes; false if there are none, as for functions.
///
/// Integers are written in full width. The entries of messages are ordered by their labels. The entries of a map come
/// with the last key first: the reference sorts them and then turns them round.
pub fn write_serialized(value: &Value, mut write: impl FnMut(&[u8])) -> bool {
    let mut pending = vec![Pending::Value(value)];
    while let Some(next) = pending.pop() {
        match next {
            Pending::Text(text) => write(text.as_bytes()),
            Pending::Value(Value::Adt(adt)) => {
                write(adt.constructor().name.global().to_string().as_bytes());
                pending.extend(adt.arguments().iter().rev().map(Pending::Value));
            }
            Pending::Value(Value::BNum(number)) => write(number.digits().as_bytes()),
            Pending::Value(Value::ByStr(bytes) | Value::ByStrX(bytes)) => write(bytes),
            Pending::Value(Value::Closure(_) | Value::TypeClosure(_)) => return false,
            Pending::Value(Value::Integer(integer)) => write(&integer.to_bytes()),
            Pending::Value(Value::Map(map)) => queue_map(map, &mut pending),
            Pending::Value(Value::Message(message)) => queue_message(message, &mut pending),
            Pending::Value(Value::String(text)) => write(text.as_bytes()),
        }
    }
    true
}

/// Queues the entries, the first key to be written last.
fn queue_map<'a>(map: &'a Map, pending: &mut Vec<Pending<'a>>) {
    for (key, value) in map {
        pending.extend([Pending::Value(value), Pending::Value(key.value())]);
    }
}

/// Queues the entries, ordered by their labels: `label:value`, with semicolons between.
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

/// A part of the size, and at least one unit for anything that has a size.
fn cost(arguments: &[Value], bytes_per_unit: u64) -> Option<u64> {
    let [of] = arguments else { return None };
    let hashable = of.kind().is_ok();
    hashable.then(|| of.size().saturating_add(of.sort_cost()).div_ceil(bytes_per_unit))
}

pub(super) fn sha256_cost(arguments: &[Value]) -> Option<u64> {
    cost(arguments, 960)
}

pub(super) fn keccak256_cost(arguments: &[Value]) -> Option<u64> {
    cost(arguments, 2040)
}

pub(super) fn ripemd160_cost(arguments: &[Value]) -> Option<u64> {
    cost(arguments, 640)
}

fn digest<D: Digest>(arguments: &[Value]) -> Result<Value, Refusal> {
    let [of] = arguments else { return Err(MISUSE) };
    let mut hasher = D::new();
    if write_serialized(of, |bytes| hasher.update(bytes)) {
        Ok(Value::bystrx(hasher.finalize().to_vec()))
    } else {
        Err(Refusal::Text("Cannot type runtime closure"))
    }
}

pub(super) fn sha256(arguments: &[Value]) -> Result<Value, Refusal> {
    digest::<Sha256>(arguments)
}

pub(super) fn keccak256(arguments: &[Value]) -> Result<Value, Refusal> {
    digest::<Keccak256>(arguments)
}

pub(super) fn ripemd160(arguments: &[Value]) -> Result<Value, Refusal> {
    digest::<Ripemd160>(arguments)
}
