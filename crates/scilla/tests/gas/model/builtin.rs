//! Costs and results of the built-in functions that the random programs use.

use sha2::Digest as _;

use super::{
    Stop,
    value::{Value, logarithm},
};

/// The cost in units, and the result. There is no result if the function fails.
type Applied<'p> = Result<(u64, Option<Value<'p>>), Stop>;

pub(super) fn apply<'p>(name: &str, arguments: &[Value<'p>]) -> Applied<'p> {
    if let Some(digits) = name.strip_prefix("to_bystr") {
        return Ok(to_bystr(digits, arguments));
    }
    match arguments {
        [Value::Number { signed, bits, number }] => of_number(name, *signed, *bits, *number),
        [Value::Number { signed, bits, number }, Value::Number { number: other, .. }] => {
            of_numbers(name, (*signed, *bits), *number, *other)
        }
        [Value::Text(text), rest @ ..] => of_text(name, text, rest),
        [Value::Bytes(bytes), rest @ ..] => of_bytes(name, bytes, rest),
        [Value::Block(block), other] => of_block(name, *block, other),
        [map @ Value::Map(_), rest @ ..] if !name.ends_with("hash") => of_map(name, map, rest),
        [value] => hash(name, value),
        _ => unknown(name),
    }
}

fn unknown<'p>(name: &str) -> Applied<'p> {
    Err(Stop::Beyond(format!("builtin {name}")))
}

/// Returns the cost factor for a width in bits.
const fn weight(bits: u32) -> u64 {
    match bits {
        128 => 2,
        256 => 4,
        _ => 1,
    }
}

/// Returns the logarithm in the gas formulas.
fn log(number: i128) -> u64 {
    1 + logarithm(u64::try_from(number).unwrap() + 1)
}

/// Returns a number, or `None` if it does not fit its type. The model stops at numbers of more than 127 bits.
fn checked<'p>(signed: bool, bits: u32, number: Option<i128>) -> Result<Option<Value<'p>>, Stop> {
    let number = match number {
        Some(number) => number,
        None if bits < 128 || signed && bits == 128 => return Ok(None),
        None => return Err(Stop::Beyond("a number of more than 127 bits".into())),
    };
    let most = if bits < 128 { (1_i128 << (bits - u32::from(signed))) - 1 } else { i128::MAX };
    let least = if signed { -most - 1 } else { 0 };
    Ok((least..=most).contains(&number).then_some(Value::Number { signed, bits, number }))
}

fn of_number<'p>(name: &str, signed: bool, bits: u32, number: i128) -> Applied<'p> {
    match name {
        "isqrt" => {
            let root = i128::try_from(number.unsigned_abs().isqrt()).unwrap();
            Ok((4 * log(number) * weight(bits), Some(Value::Number { signed, bits, number: root })))
        }
        "to_nat" if number <= 1_000 => {
            let zero = Value::built("Zero", Vec::new());
            let nat = (0..number).fold(zero, |before, _| Value::built("Succ", vec![before]));
            Ok((u64::try_from(number).unwrap(), Some(nat)))
        }
        "to_string" => Ok((u64::from(bits / 8), Some(Value::text(&number.to_string())))),
        name if name.ends_with("hash") => hash(name, &Value::Number { signed, bits, number }),
        name => {
            let Some((signed, bits, units)) = target(name) else { return unknown(name) };
            Ok((units, Some(Value::option(checked(signed, bits, Some(number))?))))
        }
    }
}

/// Returns the integer type of a conversion, and its cost in units.
fn target(name: &str) -> Option<(bool, u32, u64)> {
    let signed = name.starts_with("to_int");
    let bits = name.strip_prefix("to_int").or_else(|| name.strip_prefix("to_uint"))?.parse().ok()?;
    Some((signed, bits, if bits <= 64 { 4 } else { u64::from(bits / 16) }))
}

fn of_numbers<'p>(name: &str, (signed, bits): (bool, u32), one: i128, other: i128) -> Applied<'p> {
    let weight = weight(bits);
    let number = |number| checked(signed, bits, number);
    Ok(match name {
        "eq" => (4 * weight, Some(Value::truth(one == other))),
        "lt" => (4 * weight, Some(Value::truth(one < other))),
        "add" => (4 * weight, number(one.checked_add(other))?),
        "sub" => (4 * weight, number(one.checked_sub(other))?),
        "mul" => (20 * weight, number(one.checked_mul(other))?),
        "div" | "rem" if other == 0 => (20 * weight, None),
        "div" => (20 * weight, number(one.checked_div(other))?),
        "rem" => (20 * weight, number(Some(one.wrapping_rem(other)))?),
        "pow" => (20 * log(other) * weight, number(one.checked_pow(u32::try_from(other).unwrap()))?),
        _ => return unknown(name),
    })
}

/// Returns the part of a text or of bytes that the start and the length in `rest` select, and the cost in units.
fn part<'t, T>(of: &'t [T], size: u64, rest: &[Value<'_>]) -> (u64, Option<&'t [T]>) {
    let [start, length] = rest else { panic!("two numbers are expected") };
    let (start, length) = (usize::try_from(start.number()).unwrap(), usize::try_from(length.number()).unwrap());
    (size.min((start + length) as u64), of.get(start..start + length))
}

fn of_text<'p>(name: &str, text: &str, rest: &[Value<'p>]) -> Applied<'p> {
    let own = Value::text(text);
    let size = own.size();
    Ok(match (name, rest) {
        ("eq", [other]) => (size.min(other.size()), Some(Value::truth(own.is_same(other)))),
        ("concat", [Value::Text(other)]) => {
            (size + Value::text(other).size(), Some(Value::text(&format!("{text}{other}"))))
        }
        ("substr", rest) => {
            let (units, found) = part(text.as_bytes(), size, rest);
            (units, found.map(|found| Value::text(std::str::from_utf8(found).unwrap())))
        }
        ("strlen", []) => (size, Some(Value::uint32(i128::try_from(text.len()).unwrap()))),
        ("strrev", []) => (size, Some(Value::text(&text.chars().rev().collect::<String>()))),
        (name, []) if name.ends_with("hash") => return hash(name, &own),
        (name, []) => {
            let Some((signed, bits, units)) = target(name) else { return unknown(name) };
            let number = text.parse::<i128>().ok();
            let found = number.map(|number| checked(signed, bits, Some(number))).transpose()?.flatten();
            (units, Some(Value::option(found)))
        }
        _ => return unknown(name),
    })
}

fn of_bytes<'p>(name: &str, bytes: &[u8], rest: &[Value<'p>]) -> Applied<'p> {
    let own = Value::bytes(bytes);
    let size = own.size();
    Ok(match (name, rest) {
        ("eq", [other]) => (size, Some(Value::truth(own.is_same(other)))),
        ("concat", [Value::Bytes(other)]) => (size + other.len() as u64, Some(Value::bytes(&[bytes, other].concat()))),
        ("substr", rest) => {
            let (units, found) = part(bytes, size, rest);
            (units, found.map(Value::bytes))
        }
        ("strlen", []) => (size, Some(Value::uint32(i128::try_from(bytes.len()).unwrap()))),
        ("strrev", []) => (size, Some(Value::bytes(&bytes.iter().rev().copied().collect::<Vec<_>>()))),
        ("to_string", []) => {
            let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            (size, Some(Value::text(&format!("0x{}", digits.concat()))))
        }
        (name, []) if name.ends_with("hash") => return hash(name, &own),
        (name, []) => {
            let Some((false, bits, _)) = target(name) else { return unknown(name) };
            let number = bytes.iter().fold(0, |number, byte| number << 8 | i128::from(*byte));
            (u64::from(bits / 8), Some(Value::Number { signed: false, bits, number }))
        }
        _ => return unknown(name),
    })
}

fn to_bystr<'p>(digits: &str, arguments: &[Value<'p>]) -> (u64, Option<Value<'p>>) {
    let [argument] = arguments else { panic!("one argument is expected") };
    let bytes = argument.serialized();
    match (argument, digits.parse::<usize>()) {
        (Value::Bytes(_), Err(_)) => (bytes.len() as u64, Some(argument.clone())),
        (Value::Bytes(_), Ok(width)) => {
            (width as u64, Some(Value::option((bytes.len() == width).then(|| argument.clone()))))
        }
        _ => (bytes.len() as u64, Some(Value::bytes(&bytes))),
    }
}

fn of_block<'p>(name: &str, block: u128, other: &Value<'p>) -> Applied<'p> {
    let result = match (name, other) {
        ("eq", Value::Block(other)) => Value::truth(block == *other),
        ("blt", Value::Block(other)) => Value::truth(block < *other),
        ("badd", Value::Number { number, .. }) => Value::Block(block + u128::try_from(*number).unwrap()),
        ("bsub", Value::Block(other)) => {
            let number = i128::try_from(block).unwrap() - i128::try_from(*other).unwrap();
            Value::Number { signed: true, bits: 256, number }
        }
        _ => return unknown(name),
    };
    Ok((32, Some(result)))
}

fn of_map<'p>(name: &str, map: &Value<'p>, rest: &[Value<'p>]) -> Applied<'p> {
    let count = map.entries().len() as u64;
    let (units, result) = match (name, rest) {
        ("contains", [key]) => (1, Value::truth(map.entry(key).is_some())),
        ("get", [key]) => (1, Value::option(map.entry(key))),
        ("put", [key, value]) => (1 + count, map.replace(key, Some(value.clone()))),
        ("remove", [key]) => (1 + count, map.replace(key, None)),
        ("size", []) => (1, Value::uint32(i128::from(count))),
        ("to_list", []) => {
            let nil = Value::built("Nil", Vec::new());
            let list = map.sorted().into_iter().rev().fold(nil, |tail, (key, value)| {
                Value::built("Cons", vec![Value::built("Pair", vec![key, value]), tail])
            });
            (count * log(i128::from(count)), list)
        }
        _ => return unknown(name),
    };
    Ok((units, Some(result)))
}

fn hash<'p>(name: &str, value: &Value<'p>) -> Applied<'p> {
    let bytes = value.serialized();
    let (in_one, result) = match name {
        "sha256hash" => (960, sha2::Sha256::digest(bytes).to_vec()),
        "keccak256hash" => (2040, sha3::Keccak256::digest(bytes).to_vec()),
        "ripemd160hash" => (640, ripemd::Ripemd160::digest(bytes).to_vec()),
        _ => return unknown(name),
    };
    Ok(((value.size() + value.sorting()).div_ceil(in_one), Some(Value::bytes(&result))))
}
