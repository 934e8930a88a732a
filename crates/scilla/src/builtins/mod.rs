//! The built-in functions: types, cost and implementation.
//!
//! [`TABLE`] has one row for each name, except for the family `to_bystr<N>`. A name may have several implementations.
//! The types of the arguments select the implementation.

mod bytes;
mod curve;
mod hash;
mod integer;
mod keccak;
mod map;
mod number;
mod serialize;
mod text;
mod typing;
mod work;

#[cfg(test)]
mod tests;

use std::fmt;

pub use self::serialize::write_serialized;
use self::typing::Typing;
pub(crate) use self::typing::without_addresses;
use crate::{
    rules::BuiltinCosts,
    types::{Type, adt::DataTypes},
    value::Value,
};

/// A built-in function of Scilla.
#[derive(Clone, Copy, Debug)]
pub enum Builtin {
    /// A function with a row in [`TABLE`].
    Row(&'static Row),
    /// `to_bystr<N>`, with this N.
    ToBystr(u32),
}

/// The description of a built-in function.
#[derive(Debug)]
pub struct Row {
    name: &'static str,
    /// The types of the arguments and results. The first typing that fits counts.
    typing: &'static [Typing],
    /// The cost of a call in units, or `None` if the function does not accept the given values.
    cost: Cost,
    /// The implementation. Callers pass only values for which `cost` returns a number.
    run: fn(&[Value]) -> Result<Value, Refusal>,
    /// The work of a call in nanoseconds, for values for which `cost` returns a number.
    work: fn(&[Value]) -> u64,
}

/// Returns the cost for some values in units, or `None` if the function does not accept them.
type Cost = fn(&[Value]) -> Option<u64>;

impl Row {
    /// Returns the cost formula of Scilla 0.11, from `src/base/Gas.ml` of that release.
    fn cost_v0_11(&self) -> Cost {
        match self.name {
            "alt_bn128_G1_mul" => curve::g1_mul_cost_v0_11,
            "isqrt" => integer::isqrt_cost_v0_11,
            "keccak256hash" => hash::keccak256_cost_v0_11,
            "pow" => integer::pow_cost_v0_11,
            "ripemd160hash" => hash::ripemd160_cost_v0_11,
            "sha256hash" => hash::sha256_cost_v0_11,
            "to_list" => map::to_list_cost_v0_11,
            _ => self.cost,
        }
    }
}

/// Reason why a built-in function has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `Cannot apply built-in <operation> to a list of arguments: …`, followed by the arguments of the call.
    Arguments {
        /// Name of the operation in the reference, and the reason.
        operation: String,
    },
    /// Any other error text.
    Text(&'static str),
}

impl Refusal {
    fn arguments(operation: impl Into<String>) -> Self {
        Self::Arguments { operation: operation.into() }
    }
}

/// Prints the text of a refusal. Callers append the arguments of the call.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments { operation } => write!(f, "Cannot apply built-in {operation} to a list of arguments"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Builtin {
    /// Returns the function with this name, or `None` if no function has this name.
    ///
    /// The number in `to_bystr<N>` is parsed as in the reference. It may have underscores, and other bases than 10.
    pub fn find(name: &str) -> Option<Self> {
        if let Some(row) = TABLE.iter().find(|row| row.name == name) {
            return Some(Self::Row(row));
        }
        name.strip_prefix("to_bystr").and_then(parse_width).map(Self::ToBystr)
    }

    /// Returns the type of the result, or `None` if the function does not accept arguments of these types.
    ///
    /// No function uses type arguments in braces. A function without type variables ignores them. Any other function
    /// rejects a call with type arguments.
    pub fn result_type(self, arguments: &[Type], has_type_arguments: bool, known: &DataTypes) -> Option<Type> {
        match self {
            Self::Row(row) => row.typing.iter().find_map(|typing| typing.result(arguments, has_type_arguments, known)),
            Self::ToBystr(width) => typing::to_bystr(width, arguments, has_type_arguments),
        }
    }

    /// Returns whether the function is a hash function. A hash function reads all parts of its argument.
    pub(crate) fn is_hash(self) -> bool {
        matches!(self, Self::Row(Row { name: "keccak256hash" | "ripemd160hash" | "sha256hash", .. }))
    }

    /// Returns the cost for these values in units by the newest formulas, or `None` if the function does not accept
    /// them.
    pub fn cost(self, arguments: &[Value]) -> Option<u64> {
        match self {
            Self::Row(row) => (row.cost)(arguments),
            Self::ToBystr(width) => bytes::to_bystr_cost(width, arguments),
        }
    }

    /// Returns the cost for these values in units by the formulas of a release, or `None` if the function does not
    /// accept them.
    pub fn cost_by(self, arguments: &[Value], costs: BuiltinCosts) -> Option<u64> {
        match (self, costs) {
            (Self::Row(row), BuiltinCosts::V0_11) => (row.cost_v0_11())(arguments),
            _ => self.cost(arguments),
        }
    }

    /// Returns the work that the gas of a call does not cover, in nanoseconds. The values must have a cost.
    pub(crate) fn work(self, arguments: &[Value]) -> u64 {
        match self {
            Self::Row(row) => (row.work)(arguments),
            Self::ToBystr(_) => work::long(arguments),
        }
    }

    /// Returns the result of a call with these values.
    ///
    /// # Errors
    ///
    /// If the function has no result for these values.
    pub fn run(self, arguments: &[Value]) -> Result<Value, Refusal> {
        match self {
            Self::Row(row) => (row.run)(arguments),
            Self::ToBystr(width) => bytes::to_bystr(width, arguments),
        }
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(row) => f.write_str(row.name),
            Self::ToBystr(width) => write!(f, "to_bystr{width}"),
        }
    }
}

/// Returns the names of the built-in functions. Excludes the family `to_bystr<N>`.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.name)
}

/// Returns whether a built-in function has this name.
pub fn is_builtin(name: &str) -> bool {
    Builtin::find(name).is_some()
}

/// Returns the type of the result of a built-in function, for a call without type arguments. Returns `None` if no
/// function has this name, or the function does not accept arguments of these types.
pub fn result_type(name: &str, arguments: &[Type], known: &DataTypes) -> Option<Type> {
    Builtin::find(name)?.result_type(arguments, false, known)
}

/// Parses the number in `to_bystr<N>`. Returns `None` if `digits` is not a number below 2^32.
fn parse_width(digits: &str) -> Option<u32> {
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', b'u' | b'U', ..] => (10, digits.get(2..)?),
        _ => (10, digits),
    };
    if !digits.starts_with(|first: char| first.is_digit(radix)) {
        return None;
    }
    u32::from_str_radix(&digits.replace('_', ""), radix).ok()
}

/// The error for values without a cost. The evaluator rejects such values before the call.
const MISUSE: Refusal = Refusal::Text("a built-in function was called with values that it does not accept");

macro_rules! table {
    ($($name:literal: $typing:expr, $cost:expr, $run:expr, $work:expr;)*) => {
        /// All functions except `to_bystr<N>`.
        pub static TABLE: &[Row] = &[$(Row { name: $name, typing: $typing, cost: $cost, run: $run, work: $work }),*];
    };
}

use typing::{
    BNUM_PAIR, BYSTR_SUBSTR, STRING_PAIR, STRING_SUBSTR,
    Typing::{Fixed, Generic},
    conversion,
};

table! {
    "add": &[Generic(typing::integers)], integer::linear_cost, integer::add, work::long;
    "alt_bn128_G1_add": &[Fixed(typing::g1_add)], curve::g1_add_cost, curve::g1_add, |_| weight::POINT;
    "alt_bn128_G1_mul": &[Fixed(typing::g1_mul)], curve::g1_mul_cost, curve::g1_mul, |_| weight::MULTIPLE;
    "alt_bn128_G1_neg": &[Fixed(typing::g1_neg)], curve::g1_neg_cost, curve::g1_neg, |_| weight::POINT;
    "alt_bn128_pairing_product": &[Fixed(typing::pairing)], curve::pairing_cost, curve::pairing_product, work::pairings;
    "badd": &[Generic(typing::badd)], number::badd_cost, number::badd, work::badd;
    "bech32_to_bystr20": &[Fixed(typing::bech32_to_bystr20)], text::from_bech32_cost, text::from_bech32, work::long;
    "blt": &[Fixed(BNUM_PAIR)], number::pair_cost, number::blt, work::long;
    "bsub": &[Generic(typing::bsub)], number::pair_cost, number::bsub, work::long;
    "bystr20_to_bech32": &[Fixed(typing::bystr20_to_bech32)], text::to_bech32_cost, text::to_bech32, work::long;
    "concat": &[Fixed(typing::string_concat), Generic(typing::bytes_concat)], bytes::concat_cost, bytes::concat, work::long;
    "contains": &[Generic(typing::contains)], map::look_up_cost, map::contains, work::long;
    "div": &[Generic(typing::integers)], integer::quadratic_cost, integer::div, work::long;
    "ecdsa_recover_pk": &[Fixed(typing::ecdsa_recover)], curve::ecdsa_recover_cost, curve::ecdsa_recover, work::signature;
    "ecdsa_verify": &[Fixed(typing::verify)], curve::verify_cost, curve::ecdsa_verify, work::signature;
    "eq": &[Fixed(STRING_PAIR), Fixed(BNUM_PAIR), Generic(typing::bytes_eq), Generic(typing::integer_comparison)],
        bytes::eq_cost, bytes::eq, work::long;
    "get": &[Generic(typing::get)], map::look_up_cost, map::get, work::long;
    "isqrt": &[Generic(typing::isqrt)], integer::isqrt_cost, integer::isqrt, work::long;
    "keccak256hash": &[Generic(typing::hash32)], hash::keccak256_cost, hash::keccak256, work::keccak256;
    "lt": &[Generic(typing::integer_comparison)], integer::linear_cost, integer::lt, work::long;
    "mul": &[Generic(typing::integers)], integer::quadratic_cost, integer::mul, work::long;
    "pow": &[Generic(typing::pow)], integer::pow_cost, integer::pow, work::long;
    "put": &[Generic(typing::put)], map::put_cost, map::put, work::long;
    "rem": &[Generic(typing::integers)], integer::quadratic_cost, integer::rem, work::long;
    "remove": &[Generic(typing::remove)], map::remove_cost, map::remove, work::long;
    "ripemd160hash": &[Generic(typing::hash20)], hash::ripemd160_cost, hash::ripemd160, work::ripemd160;
    "schnorr_get_address": &[Fixed(typing::schnorr_get_address)], curve::get_address_cost, curve::get_address, work::long;
    "schnorr_verify": &[Fixed(typing::verify)], curve::verify_cost, curve::schnorr_verify, work::signature;
    "sha256hash": &[Generic(typing::hash32)], hash::sha256_cost, hash::sha256, work::sha256;
    "size": &[Generic(typing::size)], map::size_cost, map::size, work::long;
    "strlen": &[Generic(typing::strlen)], text::strlen_cost, text::strlen, work::long;
    "strrev": &[Generic(typing::strrev)], text::strrev_cost, text::strrev, work::long;
    "sub": &[Generic(typing::integers)], integer::linear_cost, integer::sub, work::long;
    "substr": &[Fixed(STRING_SUBSTR), Fixed(BYSTR_SUBSTR)], bytes::substr_cost, bytes::substr, work::long;
    "to_ascii": &[Generic(typing::to_ascii)], text::to_ascii_cost, text::to_ascii, work::long;
    "to_bystr": &[Generic(typing::bystrx_to_bystr)], bytes::bystrx_to_bystr_cost, bytes::bystrx_to_bystr, work::long;
    "to_int128": &[conversion!(Int, W128)], |a| integer::convert_cost(Int(W128), a), |a| integer::convert(Int(W128), a), work::long;
    "to_int256": &[conversion!(Int, W256)], |a| integer::convert_cost(Int(W256), a), |a| integer::convert(Int(W256), a), work::long;
    "to_int32": &[conversion!(Int, W32)], |a| integer::convert_cost(Int(W32), a), |a| integer::convert(Int(W32), a), work::long;
    "to_int64": &[conversion!(Int, W64)], |a| integer::convert_cost(Int(W64), a), |a| integer::convert(Int(W64), a), work::long;
    "to_list": &[Generic(typing::to_list)], map::to_list_cost, map::to_list, work::long;
    "to_nat": &[Fixed(typing::to_nat)], integer::to_nat_cost, integer::to_nat, work::to_nat;
    "to_string": &[Generic(typing::to_string)], text::to_string_cost, text::to_string, work::long;
    "to_uint128": &[conversion!(Uint, W128)], |a| integer::convert_cost(Uint(W128), a), |a| integer::convert(Uint(W128), a), work::long;
    "to_uint256": &[conversion!(Uint, W256)], |a| integer::convert_cost(Uint(W256), a), |a| integer::convert(Uint(W256), a), work::long;
    "to_uint32": &[conversion!(Uint, W32)], |a| integer::convert_cost(Uint(W32), a), |a| integer::convert(Uint(W32), a), work::long;
    "to_uint64": &[conversion!(Uint, W64)], |a| integer::convert_cost(Uint(W64), a), |a| integer::convert(Uint(W64), a), work::long;
}

use crate::{
    types::Width::{W32, W64, W128, W256},
    value::IntegerType::{Int, Uint},
    work::weight,
};
