//! Functions for both strings and byte strings, and conversions between byte strings.

use std::sync::Arc;

use super::{MISUSE, Refusal, integer, number};
use crate::{
    types::{Type, Width},
    value::{IntegerType, Value},
};

pub(super) fn eq_cost(arguments: &[Value]) -> Option<u64> {
    match arguments {
        [Value::String(_), Value::String(_)] => arguments.iter().map(Value::size).min(),
        [Value::ByStr(left), Value::ByStr(_)] => Some(left.len() as u64),
        [Value::ByStrX(left), Value::ByStrX(right)] if left.len() == right.len() => Some(left.len() as u64),
        [Value::BNum(_), Value::BNum(_)] => number::pair_cost(arguments),
        _ => integer::linear_cost(arguments),
    }
}

/// Returns whether two values are equal. Block numbers are compared by their texts.
pub(super) fn eq(arguments: &[Value]) -> Result<Value, Refusal> {
    let [left, right] = arguments else { return Err(MISUSE) };
    Ok(Value::bool(left == right))
}

pub(super) fn concat_cost(arguments: &[Value]) -> Option<u64> {
    match arguments {
        [left @ Value::String(_), right @ Value::String(_)]
        | [left @ Value::ByStr(_), right @ Value::ByStr(_)]
        | [left @ Value::ByStrX(_), right @ Value::ByStrX(_)] => Some(left.size() + right.size()),
        _ => None,
    }
}

pub(super) fn concat(arguments: &[Value]) -> Result<Value, Refusal> {
    match arguments {
        [Value::String(left), Value::String(right)] => Ok(Value::of_text(format!("{left}{right}"))),
        [Value::ByStr(left), Value::ByStr(right)] => Ok(Value::ByStr(joined(left, right))),
        [Value::ByStrX(left), Value::ByStrX(right)] => Ok(Value::ByStrX(joined(left, right))),
        _ => Err(MISUSE),
    }
}

fn joined(left: &[u8], right: &[u8]) -> Arc<[u8]> {
    left.iter().chain(right).copied().collect()
}

/// Returns the text or bytes, the start of the requested part, and the length of the part.
fn part(arguments: &[Value]) -> Option<(&Value, u32, u32)> {
    let [of @ (Value::String(_) | Value::ByStr(_)), Value::Integer(start), Value::Integer(length)] = arguments else {
        return None;
    };
    let uint32 = |ty| ty == IntegerType::Uint(Width::W32);
    (uint32(start.ty()) && uint32(length.ty())).then_some((of, start.to_u32()?, length.to_u32()?))
}

pub(super) fn substr_cost(arguments: &[Value]) -> Option<u64> {
    let (of, start, length) = part(arguments)?;
    Some(of.size().min(u64::from(start) + u64::from(length)))
}

pub(super) fn substr(arguments: &[Value]) -> Result<Value, Refusal> {
    let (of, start, length) = part(arguments).ok_or(MISUSE)?;
    let range = start as usize..start as usize + length as usize;
    let past =
        |family, all| Refusal::arguments(format!("{family}.substr: pos + len past end: {start} + {length} > {all}"));
    if let Value::String(text) = of {
        return text.get(range).map(Value::of_text).ok_or_else(|| past("String", text.len()));
    }
    let bytes = of.as_bytes().ok_or(MISUSE)?;
    bytes.get(range).map(|part| Value::ByStr(part.into())).ok_or_else(|| past("Crypto", bytes.len()))
}

pub(super) fn bystrx_to_bystr_cost(arguments: &[Value]) -> Option<u64> {
    match arguments {
        [Value::ByStrX(bytes)] => Some(bytes.len() as u64),
        _ => None,
    }
}

pub(super) fn bystrx_to_bystr(arguments: &[Value]) -> Result<Value, Refusal> {
    match arguments {
        [Value::ByStrX(bytes)] => Ok(Value::ByStr(Arc::clone(bytes))),
        _ => Err(MISUSE),
    }
}

/// Returns the cost of `to_bystr<N>` in units.
pub(super) fn to_bystr_cost(width: u32, arguments: &[Value]) -> Option<u64> {
    match arguments {
        [Value::ByStr(_)] => Some(u64::from(width)),
        [Value::Integer(of)] if !of.ty().is_signed() && of.ty().width().bytes() == width => Some(u64::from(width)),
        _ => None,
    }
}

/// Runs `to_bystr<N>`. The result for bytes is an option. The result for an integer is the bytes themselves, because
/// they always fit.
pub(super) fn to_bystr(width: u32, arguments: &[Value]) -> Result<Value, Refusal> {
    match arguments {
        [Value::ByStr(bytes)] => {
            let fits = bytes.len() == width as usize;
            Ok(Value::option(Type::bystr(width), fits.then(|| Value::ByStrX(Arc::clone(bytes)))))
        }
        [Value::Integer(of)] => Ok(Value::bystrx(of.to_bytes())),
        _ => Err(MISUSE),
    }
}
