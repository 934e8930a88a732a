//! Equality and assignability of types.

use std::{collections::BTreeMap, sync::Arc};

use super::{AddressType, Primitive, Type};

/// The bound variables around a type, from the outside in.
///
/// Two bound variables are equal if their binders have the same depth. Their names do not matter.
type Bound<'a> = Vec<&'a str>;

type Fields = BTreeMap<Arc<str>, Type>;

/// Returns whether two types differ at most in the names of their bound variables.
pub fn equivalent(a: &Type, b: &Type) -> bool {
    same(a, &mut Bound::new(), b, &mut Bound::new())
}

/// Returns whether a value of type `actual` may be used where `expected` is required.
///
/// `ByStr20` accepts any address. An address type accepts an address type with the same or more requirements. The
/// parts of maps and of algebraic data types, and the results of functions, follow the same rule. Parameters of
/// functions follow the reverse rule.
pub fn assignable(expected: &Type, actual: &Type) -> bool {
    fits(expected, &mut Bound::new(), actual, &mut Bound::new())
}

fn same<'a>(mut a: &'a Type, a_bound: &mut Bound<'a>, mut b: &'a Type, b_bound: &mut Bound<'a>) -> bool {
    let (a_depth, b_depth) = (a_bound.len(), b_bound.len());
    // A loop walks the right-hand sides of functions and the bodies of type functions, because types can be deep on
    // this side.
    let result = loop {
        if a_bound.is_empty() && b_bound.is_empty() && is_shared(a, b) {
            break true;
        }
        match (a, b) {
            (Type::Function(a_from, a_to), Type::Function(b_from, b_to)) => {
                if !same(a_from, a_bound, b_from, b_bound) {
                    break false;
                }
                (a, b) = (a_to, b_to);
            }
            (Type::Forall(a_variable, a_body), Type::Forall(b_variable, b_body)) => {
                a_bound.push(a_variable);
                b_bound.push(b_variable);
                (a, b) = (a_body, b_body);
            }
            (Type::Map(a_key, a_value), Type::Map(b_key, b_value)) => {
                break same(a_key, a_bound, b_key, b_bound) && same(a_value, a_bound, b_value, b_bound);
            }
            (Type::Adt(a_name, a_arguments), Type::Adt(b_name, b_arguments)) => {
                let mut pairs = a_arguments.iter().zip(b_arguments.iter());
                break a_name == b_name
                    && a_arguments.len() == b_arguments.len()
                    && pairs.all(|(a, b)| same(a, a_bound, b, b_bound));
            }
            (Type::Address(AddressType::Contract(a_fields)), Type::Address(AddressType::Contract(b_fields))) => {
                break same_fields(a_fields, a_bound, b_fields, b_bound);
            }
            (Type::Variable(a_variable), Type::Variable(b_variable)) => {
                break same_variable(a_variable, a_bound, b_variable, b_bound);
            }
            _ => break a == b,
        }
    };
    a_bound.truncate(a_depth);
    b_bound.truncate(b_depth);
    result
}

/// Returns whether two types share their parts in memory.
fn is_shared(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Adt(a_name, a), Type::Adt(b_name, b)) => Arc::ptr_eq(a, b) && a_name == b_name,
        (Type::Function(a_from, a_to), Type::Function(b_from, b_to)) => {
            Arc::ptr_eq(a_from, b_from) && Arc::ptr_eq(a_to, b_to)
        }
        (Type::Map(a_key, a_value), Type::Map(b_key, b_value)) => {
            Arc::ptr_eq(a_key, b_key) && Arc::ptr_eq(a_value, b_value)
        }
        (Type::Forall(a_variable, a), Type::Forall(b_variable, b)) => Arc::ptr_eq(a, b) && a_variable == b_variable,
        _ => false,
    }
}

fn same_fields<'a>(a: &'a Fields, a_bound: &mut Bound<'a>, b: &'a Fields, b_bound: &mut Bound<'a>) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|((a_name, a), (b_name, b))| a_name == b_name && same(a, a_bound, b, b_bound))
}

fn same_variable(a: &str, a_bound: &Bound<'_>, b: &str, b_bound: &Bound<'_>) -> bool {
    let depth = |variable: &str, bound: &Bound<'_>| bound.iter().rposition(|&other| other == variable);
    match (depth(a, a_bound), depth(b, b_bound)) {
        (None, None) => a == b,
        (a, b) => a == b,
    }
}

fn fits<'a>(
    mut expected: &'a Type,
    expected_bound: &mut Bound<'a>,
    mut actual: &'a Type,
    actual_bound: &mut Bound<'a>,
) -> bool {
    let (expected_depth, actual_depth) = (expected_bound.len(), actual_bound.len());
    let result = loop {
        if expected_bound.is_empty() && actual_bound.is_empty() && is_shared(expected, actual) {
            break true;
        }
        match (expected, actual) {
            (Type::Function(expected_from, expected_to), Type::Function(actual_from, actual_to)) => {
                if !fits(actual_from, actual_bound, expected_from, expected_bound) {
                    break false;
                }
                (expected, actual) = (expected_to, actual_to);
            }
            (Type::Forall(expected_variable, expected_body), Type::Forall(actual_variable, actual_body)) => {
                expected_bound.push(expected_variable);
                actual_bound.push(actual_variable);
                (expected, actual) = (expected_body, actual_body);
            }
            (Type::Map(expected_key, expected_value), Type::Map(actual_key, actual_value)) => {
                break fits(expected_key, expected_bound, actual_key, actual_bound)
                    && fits(expected_value, expected_bound, actual_value, actual_bound);
            }
            (Type::Adt(expected_name, expected_arguments), Type::Adt(actual_name, actual_arguments)) => {
                let mut pairs = expected_arguments.iter().zip(actual_arguments.iter());
                break expected_name == actual_name
                    && expected_arguments.len() == actual_arguments.len()
                    && pairs.all(|(expected, actual)| fits(expected, expected_bound, actual, actual_bound));
            }
            (Type::Primitive(Primitive::ByStrX(20)), Type::Address(_)) => break true,
            (Type::Address(expected), Type::Address(actual)) => {
                break address_fits(expected, expected_bound, actual, actual_bound);
            }
            _ => break same(expected, expected_bound, actual, actual_bound),
        }
    };
    expected_bound.truncate(expected_depth);
    actual_bound.truncate(actual_depth);
    result
}

fn address_fits<'a>(
    expected: &'a AddressType,
    expected_bound: &mut Bound<'a>,
    actual: &'a AddressType,
    actual_bound: &mut Bound<'a>,
) -> bool {
    match (expected, actual) {
        (AddressType::Any, _)
        | (AddressType::Code, AddressType::Code | AddressType::Library | AddressType::Contract(_))
        | (AddressType::Library, AddressType::Library) => true,
        (AddressType::Contract(expected), AddressType::Contract(actual)) => expected.iter().all(|(name, expected)| {
            actual.get(name).is_some_and(|actual| fits(expected, expected_bound, actual, actual_bound))
        }),
        (AddressType::Code | AddressType::Library | AddressType::Contract(_), _) => false,
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod written;
