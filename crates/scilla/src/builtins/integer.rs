//! Arithmetic, comparison and conversions of integers.

use std::cmp::Ordering;

use super::{MISUSE, Refusal};
use crate::{
    gas::log,
    types::{Primitive, Type, Width},
    value::{Integer, IntegerType, Value},
};

/// Returns the cost factor for the width of an integer.
const fn weight(of: &Integer) -> u64 {
    match of.ty().width() {
        Width::W32 | Width::W64 => 1,
        Width::W128 => 2,
        Width::W256 => 4,
    }
}

/// Returns two integers of the same type, or `None` for other arguments.
fn same(arguments: &[Value]) -> Option<(&Integer, &Integer)> {
    let [Value::Integer(left), Value::Integer(right)] = arguments else { return None };
    (left.ty() == right.ty()).then_some((left, right))
}

pub(super) fn linear_cost(arguments: &[Value]) -> Option<u64> {
    same(arguments).map(|(left, _)| 4 * weight(left))
}

pub(super) fn quadratic_cost(arguments: &[Value]) -> Option<u64> {
    same(arguments).map(|(left, _)| 20 * weight(left))
}

/// Applies an operation to two integers. If there is no result, the error names the family of the integers and the
/// reason.
fn binary(
    arguments: &[Value],
    of: fn(&Integer, &Integer) -> Option<Integer>,
    wrong: fn(&str) -> String,
) -> Result<Value, Refusal> {
    let (left, right) = same(arguments).ok_or(MISUSE)?;
    of(left, right).map(Value::Integer).ok_or_else(|| Refusal::arguments(wrong(family(left))))
}

const fn family(of: &Integer) -> &'static str {
    if of.ty().is_signed() { "Int" } else { "Uint" }
}

pub(super) fn add(arguments: &[Value]) -> Result<Value, Refusal> {
    binary(arguments, Integer::add, |family| format!("{family}.add: an overflow/underflow occurred"))
}

pub(super) fn sub(arguments: &[Value]) -> Result<Value, Refusal> {
    binary(arguments, Integer::sub, |family| format!("{family}.sub: an overflow/underflow occurred"))
}

pub(super) fn mul(arguments: &[Value]) -> Result<Value, Refusal> {
    binary(arguments, Integer::mul, |family| format!("{family}.mul: an overflow/underflow occurred"))
}

pub(super) fn div(arguments: &[Value]) -> Result<Value, Refusal> {
    binary(arguments, Integer::div, |family| {
        format!("{family}.div: Division by zero / {family}Overflow error occurred")
    })
}

pub(super) fn rem(arguments: &[Value]) -> Result<Value, Refusal> {
    binary(arguments, Integer::rem, |family| format!("{family}.rem: Division by zero error occurred"))
}

pub(super) fn lt(arguments: &[Value]) -> Result<Value, Refusal> {
    let (left, right) = same(arguments).ok_or(MISUSE)?;
    Ok(Value::bool(left.compare(right) == Ordering::Less))
}

/// Returns the base and the exponent, or `None` for other arguments. The exponent must be a `Uint32`.
fn power(arguments: &[Value]) -> Option<(&Integer, u32)> {
    let [Value::Integer(base), Value::Integer(exponent)] = arguments else { return None };
    let exponent = (exponent.ty() == IntegerType::Uint(Width::W32)).then(|| exponent.to_u32())??;
    Some((base, exponent))
}

pub(super) fn pow_cost(arguments: &[Value]) -> Option<u64> {
    let (base, exponent) = power(arguments)?;
    Some(20 * log(Integer::from_u32(exponent).magnitude()) * weight(base))
}

/// Returns the cost in Scilla 0.11, in units. The cost is proportional to the exponent.
pub(super) fn pow_cost_v0_11(arguments: &[Value]) -> Option<u64> {
    let (base, exponent) = power(arguments)?;
    Some(20 * u64::from(exponent) * weight(base))
}

/// Raises a number to a power. As in the reference, errors name the signed operation for unsigned numbers too.
pub(super) fn pow(arguments: &[Value]) -> Result<Value, Refusal> {
    let (base, exponent) = power(arguments).ok_or(MISUSE)?;
    let wrong = || Refusal::arguments("Int.pow: an overflow/underflow occurred");
    base.pow(exponent).map(Value::Integer).ok_or_else(wrong)
}

fn unsigned(arguments: &[Value]) -> Option<&Integer> {
    match arguments {
        [Value::Integer(integer)] if !integer.ty().is_signed() => Some(integer),
        _ => None,
    }
}

pub(super) fn isqrt_cost(arguments: &[Value]) -> Option<u64> {
    unsigned(arguments).map(|of| 4 * log(of.magnitude()) * weight(of))
}

/// Returns the cost in Scilla 0.11, in units. The logarithm of the number is one less than in later releases.
pub(super) fn isqrt_cost_v0_11(arguments: &[Value]) -> Option<u64> {
    unsigned(arguments).map(|of| 4 * (log(of.magnitude()) - 1) * weight(of))
}

pub(super) fn isqrt(arguments: &[Value]) -> Result<Value, Refusal> {
    Ok(Value::Integer(unsigned(arguments).ok_or(MISUSE)?.isqrt()))
}

pub(super) fn convert_cost(ty: IntegerType, arguments: &[Value]) -> Option<u64> {
    let width = ty.width();
    match arguments {
        [Value::Integer(_) | Value::String(_)] => Some(match width {
            Width::W32 | Width::W64 => 4,
            Width::W128 => 8,
            Width::W256 => 16,
        }),
        [Value::ByStrX(bytes)] if !ty.is_signed() && bytes.len() <= width.bytes() as usize => {
            Some(u64::from(width.bytes()))
        }
        _ => None,
    }
}

pub(super) fn convert(ty: IntegerType, arguments: &[Value]) -> Result<Value, Refusal> {
    let option =
        |converted: Option<Integer>| Value::option(Type::from(Primitive::from(ty)), converted.map(Value::Integer));
    match arguments {
        [Value::Integer(integer)] => Ok(option(integer.convert(ty))),
        [Value::String(text)] => Ok(option(Integer::parse(ty, text))),
        [Value::ByStrX(bytes)] => Integer::from_unsigned_bytes(ty, bytes).map(Value::Integer).ok_or(MISUSE),
        _ => Err(MISUSE),
    }
}

fn uint32(arguments: &[Value]) -> Option<u32> {
    let of = unsigned(arguments)?;
    (of.ty().width() == Width::W32).then(|| of.to_u32())?
}

pub(super) fn to_nat_cost(arguments: &[Value]) -> Option<u64> {
    uint32(arguments).map(u64::from)
}

pub(super) fn to_nat(arguments: &[Value]) -> Result<Value, Refusal> {
    uint32(arguments).map(Value::nat).ok_or(MISUSE)
}
