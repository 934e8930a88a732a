//! Types of the arguments and results of the built-in functions.

use std::sync::Arc;

use crate::{
    types::{
        AddressType, Primitive, Type, Width,
        adt::DataTypes,
        relation::{assignable, equivalent},
        usage::Use,
    },
    value::IntegerType,
};

/// The types of one implementation of a built-in function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Typing {
    /// Returns the types of the arguments, and the type of the result.
    Fixed(fn() -> (Vec<Type>, Type)),
    /// Returns the type of the result for argument types, or `None` if they do not fit.
    Generic(fn(&[Type], &DataTypes) -> Option<Type>),
}

impl Typing {
    pub(super) fn result(self, arguments: &[Type], has_type_arguments: bool, known: &DataTypes) -> Option<Type> {
        match self {
            Self::Fixed(of) => {
                let (parameters, result) = of();
                let mut pairs = parameters.iter().zip(arguments);
                let fits = parameters.len() == arguments.len()
                    && pairs.all(|(parameter, argument)| assignable(parameter, argument));
                fits.then_some(result)
            }
            Self::Generic(_) if has_type_arguments => None,
            Self::Generic(of) => of(arguments, known),
        }
    }
}

const STRING: Type = Type::Primitive(Primitive::String);
const BNUM: Type = Type::Primitive(Primitive::BNum);
const BYSTR: Type = Type::Primitive(Primitive::ByStr);
const UINT32: Type = Type::Primitive(Primitive::Uint(Width::W32));

/// Returns the number of bytes of a fixed-width type, or `None` for other types. An address has 20 bytes.
const fn width(of: &Type) -> Option<u32> {
    if let Type::Primitive(Primitive::ByStrX(width)) = of {
        Some(*width)
    } else if matches!(of, Type::Address(_)) {
        Some(20)
    } else {
        None
    }
}

fn integer(of: &Type) -> Option<IntegerType> {
    if let Type::Primitive(primitive) = of { IntegerType::of(*primitive) } else { None }
}

pub(super) const STRING_PAIR: fn() -> (Vec<Type>, Type) = || (vec![STRING, STRING], Type::bool());
pub(super) const BNUM_PAIR: fn() -> (Vec<Type>, Type) = || (vec![BNUM, BNUM], Type::bool());
pub(super) const STRING_SUBSTR: fn() -> (Vec<Type>, Type) = || (vec![STRING, UINT32, UINT32], STRING);
pub(super) const BYSTR_SUBSTR: fn() -> (Vec<Type>, Type) = || (vec![BYSTR, UINT32, UINT32], BYSTR);

pub(super) fn string_concat() -> (Vec<Type>, Type) {
    (vec![STRING, STRING], STRING)
}

pub(super) fn bytes_concat(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [left, right] = arguments else { return None };
    if (left, right) == (&BYSTR, &BYSTR) {
        return Some(BYSTR);
    }
    Some(Type::bystr(width(left)?.checked_add(width(right)?)?))
}

pub(super) fn bytes_eq(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [left, right] = arguments else { return None };
    let same = (left, right) == (&BYSTR, &BYSTR) || width(left).is_some() && width(left) == width(right);
    same.then(Type::bool)
}

pub(super) fn strlen(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    matches!(arguments, [Type::Primitive(Primitive::String | Primitive::ByStr)]).then_some(UINT32)
}

/// Returns the type of the result of `strrev`, or `None` for other arguments. For an address, the reference returns
/// `String`, although the value is a `ByStr20`.
pub(super) fn strrev(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    match arguments {
        [Type::Address(_)] => Some(STRING),
        [of @ Type::Primitive(Primitive::String | Primitive::ByStr | Primitive::ByStrX(_))] => Some(of.clone()),
        _ => None,
    }
}

pub(super) fn to_string(arguments: &[Type], known: &DataTypes) -> Option<Type> {
    let [of] = arguments else { return None };
    if integer(of).is_some() { Some(STRING) } else { to_ascii(arguments, known) }
}

pub(super) fn to_ascii(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [of] = arguments else { return None };
    (*of == BYSTR || width(of).is_some()).then_some(STRING)
}

pub(super) fn bystrx_to_bystr(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [of] = arguments else { return None };
    width(of).map(|_| BYSTR)
}

/// Returns the type of the result of `to_bystr<N>`, or `None` for other arguments. The argument is a byte string of any
/// length, or an unsigned integer of exactly N bytes.
pub(super) fn to_bystr(wanted: u32, arguments: &[Type], has_type_arguments: bool) -> Option<Type> {
    match arguments {
        [Type::Primitive(Primitive::ByStr)] => Some(Type::option(Type::bystr(wanted))),
        [Type::Primitive(Primitive::Uint(width))] if !has_type_arguments && width.bytes() == wanted => {
            Some(Type::bystr(wanted))
        }
        _ => None,
    }
}

pub(super) fn integers(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [left, right] = arguments else { return None };
    (integer(left)? == integer(right)?).then(|| left.clone())
}

pub(super) fn integer_comparison(arguments: &[Type], known: &DataTypes) -> Option<Type> {
    integers(arguments, known).map(|_| Type::bool())
}

pub(super) fn pow(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [base, exponent] = arguments else { return None };
    integer(base)?;
    (*exponent == UINT32).then(|| base.clone())
}

pub(super) fn isqrt(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    match arguments {
        [of @ Type::Primitive(Primitive::Uint(_))] => Some(of.clone()),
        _ => None,
    }
}

/// Returns the type of the result of a conversion to an integer type, or `None` for other arguments. The argument is an
/// integer or a text. Unsigned types also accept a byte string of fixed width, with at most the bytes of the result.
pub(super) fn to_integer(ty: IntegerType, arguments: &[Type]) -> Option<Type> {
    let [of] = arguments else { return None };
    let result = || Type::from(Primitive::from(ty));
    if integer(of).is_some() || *of == STRING {
        return Some(Type::option(result()));
    }
    (!ty.is_signed() && width(of)? <= ty.width().bytes()).then(result)
}

macro_rules! conversion {
    ($sign:ident, $width:ident) => {
        Generic(|arguments, _| typing::to_integer($sign($width), arguments))
    };
}
pub(super) use conversion;

pub(super) fn to_nat() -> (Vec<Type>, Type) {
    (vec![UINT32], Type::nat())
}

pub(super) fn badd(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    matches!(arguments, [Type::Primitive(Primitive::BNum), Type::Primitive(Primitive::Uint(_))]).then_some(BNUM)
}

pub(super) fn bsub(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let both = matches!(arguments, [Type::Primitive(Primitive::BNum), Type::Primitive(Primitive::BNum)]);
    both.then_some(Type::Primitive(Primitive::Int(Width::W256)))
}

fn is_hashable(arguments: &[Type], known: &DataTypes) -> bool {
    matches!(arguments, [of] if of.is_legal(Use::HashArgument, known))
}

pub(super) fn hash32(arguments: &[Type], known: &DataTypes) -> Option<Type> {
    is_hashable(arguments, known).then(|| Type::bystr(32))
}

pub(super) fn hash20(arguments: &[Type], known: &DataTypes) -> Option<Type> {
    is_hashable(arguments, known).then(|| Type::bystr(20))
}

/// Returns the types of `schnorr_verify` and `ecdsa_verify`.
pub(super) fn verify() -> (Vec<Type>, Type) {
    (vec![Type::bystr(33), BYSTR, Type::bystr(64)], Type::bool())
}

pub(super) fn schnorr_get_address() -> (Vec<Type>, Type) {
    (vec![Type::bystr(33)], Type::bystr(20))
}

pub(super) fn ecdsa_recover() -> (Vec<Type>, Type) {
    (vec![BYSTR, Type::bystr(64), UINT32], Type::bystr(65))
}

pub(super) fn bech32_to_bystr20() -> (Vec<Type>, Type) {
    (vec![STRING, STRING], Type::option(Type::bystr(20)))
}

pub(super) fn bystr20_to_bech32() -> (Vec<Type>, Type) {
    (vec![STRING, Type::bystr(20)], Type::option(STRING))
}

/// Returns the type of a point in the first group of `alt_bn128`.
pub(super) fn g1_type() -> Type {
    Type::pair(Type::bystr(32), Type::bystr(32))
}

/// Returns the type of a point in the second group of `alt_bn128`.
pub(super) fn g2_type() -> Type {
    Type::pair(Type::bystr(64), Type::bystr(64))
}

/// Returns the argument type of the product of pairings.
pub(super) fn pairs_type() -> Type {
    Type::list(Type::pair(g1_type(), g2_type()))
}

pub(super) fn g1_add() -> (Vec<Type>, Type) {
    (vec![g1_type(), g1_type()], Type::option(g1_type()))
}

pub(super) fn g1_mul() -> (Vec<Type>, Type) {
    (vec![g1_type(), Type::bystr(32)], Type::option(g1_type()))
}

pub(super) fn g1_neg() -> (Vec<Type>, Type) {
    (vec![g1_type()], Type::option(g1_type()))
}

pub(super) fn pairing() -> (Vec<Type>, Type) {
    (vec![pairs_type()], Type::option(Type::bool()))
}

/// Returns the value type of a map, or `None` if `map` is not a map with keys of the type `key`.
fn values_under<'a>(map: &'a Type, key: &Type) -> Option<&'a Type> {
    let Type::Map(keys, values) = map else { return None };
    assignable(keys, key).then_some(values)
}

pub(super) fn contains(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [map, key] = arguments else { return None };
    values_under(map, key).map(|_| Type::bool())
}

pub(super) fn get(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [map, key] = arguments else { return None };
    values_under(map, key).cloned().map(Type::option)
}

pub(super) fn put(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [map, key, value] = arguments else { return None };
    assignable(values_under(map, key)?, value).then(|| map.clone())
}

pub(super) fn remove(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [map, key] = arguments else { return None };
    values_under(map, key).map(|_| map.clone())
}

pub(super) fn to_list(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    let [Type::Map(key, value)] = arguments else { return None };
    Some(Type::list(Type::pair(Type::clone(key), Type::clone(value))))
}

pub(super) fn size(arguments: &[Type], _: &DataTypes) -> Option<Type> {
    matches!(arguments, [Type::Map(..)]).then_some(UINT32)
}

/// Returns whether two types are equal after their address types are replaced by `ByStr20`.
pub(crate) fn same_without_addresses(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Adt(one_name, ones), Type::Adt(other_name, others)) => {
            let all = || ones.iter().zip(others.iter()).all(|(one, other)| same_without_addresses(one, other));
            one_name == other_name && (Arc::ptr_eq(ones, others) || ones.len() == others.len() && all())
        }
        (Type::Function(one_from, one_to), Type::Function(other_from, other_to))
        | (Type::Map(one_from, one_to), Type::Map(other_from, other_to)) => {
            let same = |one, other| Arc::ptr_eq(one, other) || same_without_addresses(one, other);
            same(one_from, other_from) && same(one_to, other_to)
        }
        (Type::Address(_), Type::Address(_) | Type::Primitive(Primitive::ByStrX(20)))
        | (Type::Primitive(Primitive::ByStrX(20)), Type::Address(_)) => true,
        _ => equivalent(one, other),
    }
}

/// Returns the type with `ByStr20` in place of address types. Constructors and maps that the evaluator makes have types
/// in this form.
pub(crate) fn without_addresses(of: &Type) -> Type {
    match of {
        Type::Address(AddressType::Any | AddressType::Code | AddressType::Contract(_) | AddressType::Library) => {
            Type::bystr(20)
        }
        Type::Adt(name, arguments) => Type::Adt(name.clone(), arguments.iter().map(without_addresses).collect()),
        Type::Function(from, to) => Type::function(without_addresses(from), without_addresses(to)),
        Type::Map(key, value) => Type::map(without_addresses(key), without_addresses(value)),
        Type::Forall(..) | Type::Primitive(_) | Type::Unit | Type::Variable(_) => of.clone(),
    }
}
