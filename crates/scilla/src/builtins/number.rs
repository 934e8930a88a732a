//! Functions for block numbers.

use std::cmp::Ordering;

use super::{MISUSE, Refusal};
use crate::value::{BNum, Integer, Value};

const COST: u64 = 32;

fn pair(arguments: &[Value]) -> Option<(&BNum, &BNum)> {
    match arguments {
        [Value::BNum(left), Value::BNum(right)] => Some((left, right)),
        _ => None,
    }
}

pub(super) fn pair_cost(arguments: &[Value]) -> Option<u64> {
    pair(arguments).map(|_| COST)
}

pub(super) fn blt(arguments: &[Value]) -> Result<Value, Refusal> {
    let (left, right) = pair(arguments).ok_or(MISUSE)?;
    Ok(Value::bool(left.compare(right) == Ordering::Less))
}

pub(super) fn bsub(arguments: &[Value]) -> Result<Value, Refusal> {
    let (left, right) = pair(arguments).ok_or(MISUSE)?;
    let wrong = Refusal::Text("Unable to express result of BNum subtraction in Int256");
    left.sub(right).map(Value::Integer).ok_or(wrong)
}

fn number_and_integer(arguments: &[Value]) -> Option<(&BNum, &Integer)> {
    match arguments {
        [Value::BNum(number), Value::Integer(integer)] if !integer.ty().is_signed() => Some((number, integer)),
        _ => None,
    }
}

pub(super) fn badd_cost(arguments: &[Value]) -> Option<u64> {
    number_and_integer(arguments).map(|_| COST)
}

pub(super) fn badd(arguments: &[Value]) -> Result<Value, Refusal> {
    let (number, integer) = number_and_integer(arguments).ok_or(MISUSE)?;
    Ok(Value::BNum(number.add(integer)))
}
