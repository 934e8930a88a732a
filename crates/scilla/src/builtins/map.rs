//! Functions for maps.

use super::{MISUSE, Refusal, typing::same_without_addresses};
use crate::{
    gas::log,
    types::{Primitive, Type},
    value::{Integer, Key, Map, Value},
};

/// Returns whether a value has the expected type. In a running program, addresses are plain bytes. A map from the state
/// has its declared type, which may contain address types.
pub(crate) fn accepts(expected: &Type, value: &Value) -> bool {
    match (expected, value) {
        (Type::Primitive(expected), Value::Integer(integer)) => *expected == Primitive::from(integer.ty()),
        (Type::Primitive(Primitive::ByStrX(width)), Value::ByStrX(bytes)) => *width as usize == bytes.len(),
        _ => value.ty().is_ok_and(|ty| same_without_addresses(expected, &ty)),
    }
}

/// Returns a map and a key of its key type, or `None` for other arguments.
fn map_and_key(arguments: &[Value]) -> Option<(&Map, Key)> {
    let [Value::Map(map), key] = arguments else { return None };
    accepts(map.key_type(), key).then(|| Key::new(key.clone()).ok())?.map(|key| (map, key))
}

pub(super) fn look_up_cost(arguments: &[Value]) -> Option<u64> {
    map_and_key(arguments).map(|_| 1)
}

pub(super) fn contains(arguments: &[Value]) -> Result<Value, Refusal> {
    let (map, key) = map_and_key(arguments).ok_or(MISUSE)?;
    Ok(Value::bool(map.get(&key).is_some()))
}

pub(super) fn get(arguments: &[Value]) -> Result<Value, Refusal> {
    let (map, key) = map_and_key(arguments).ok_or(MISUSE)?;
    Ok(Value::option(map.value_type().clone(), map.get(&key).cloned()))
}

fn one_more_than_entries(map: &Map) -> u64 {
    1 + map.len() as u64
}

pub(super) fn put_cost(arguments: &[Value]) -> Option<u64> {
    let (key, value) = (arguments.get(..2)?, arguments.get(2)?);
    let (map, _) = map_and_key(key)?;
    (arguments.len() == 3 && accepts(map.value_type(), value)).then(|| one_more_than_entries(map))
}

pub(super) fn put(arguments: &[Value]) -> Result<Value, Refusal> {
    let [Value::Map(map), key, value] = arguments else { return Err(MISUSE) };
    let key = Key::new(key.clone()).map_err(|_| MISUSE)?;
    let mut map = map.clone();
    map.insert(key, value.clone());
    Ok(Value::Map(map))
}

pub(super) fn remove_cost(arguments: &[Value]) -> Option<u64> {
    map_and_key(arguments).map(|(map, _)| one_more_than_entries(map))
}

pub(super) fn remove(arguments: &[Value]) -> Result<Value, Refusal> {
    let (map, key) = map_and_key(arguments).ok_or(MISUSE)?;
    let mut map = map.clone();
    map.remove(&key);
    Ok(Value::Map(map))
}

pub(super) fn to_list_cost(arguments: &[Value]) -> Option<u64> {
    let [Value::Map(map)] = arguments else { return None };
    let entries = map.len() as u64;
    Some(entries * log(Integer::from_u64(entries).magnitude()))
}

pub(super) fn to_list_cost_v0_11(arguments: &[Value]) -> Option<u64> {
    let [Value::Map(map)] = arguments else { return None };
    Some(one_more_than_entries(map))
}

/// Returns the entries of a map as a list of pairs, in the order of the bytes of their keys.
pub(super) fn to_list(arguments: &[Value]) -> Result<Value, Refusal> {
    let [Value::Map(map)] = arguments else { return Err(MISUSE) };
    let pair = Type::pair(map.key_type().clone(), map.value_type().clone());
    let Type::Adt(_, types) = &pair else { return Err(MISUSE) };
    let entries: Vec<Value> = (map.iter())
        .map(|(key, value)| {
            let arguments = [key.value().clone(), value.clone()];
            Value::adt(crate::value::Constructor::pair(), std::sync::Arc::clone(types), arguments)
        })
        .collect();
    Ok(Value::list(pair, entries))
}

pub(super) fn size_cost(arguments: &[Value]) -> Option<u64> {
    matches!(arguments, [Value::Map(_)]).then_some(1)
}

pub(super) fn size(arguments: &[Value]) -> Result<Value, Refusal> {
    let [Value::Map(map)] = arguments else { return Err(MISUSE) };
    Ok(Value::from(u32::try_from(map.len()).unwrap_or(u32::MAX)))
}
