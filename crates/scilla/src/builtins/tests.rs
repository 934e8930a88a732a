//! Results, errors and costs of every built-in function.

use std::sync::Arc;

use super::*;
use crate::{
    types::{AddressType, Primitive},
    value::{BNum, Constructor, Integer, IntegerType, Key, Map, Message, MessageEntry},
};

fn integer(ty: IntegerType, number: &str) -> Value {
    Value::Integer(Integer::parse(ty, number).unwrap())
}

fn int32(number: i32) -> Value {
    integer(Int(W32), &number.to_string())
}

fn uint256(number: &str) -> Value {
    integer(Uint(W256), number)
}

fn uint64(number: u64) -> Value {
    Value::Integer(Integer::from_u64(number))
}

fn text(text: &str) -> Value {
    Value::of_text(text)
}

fn bnum(number: &str) -> Value {
    Value::BNum(BNum::parse(number).unwrap())
}

fn bytes(hex: &str) -> Arc<[u8]> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Returns a `ByStrN` with these hex digits.
fn bystrx(hex: &str) -> Value {
    Value::ByStrX(bytes(hex))
}

fn bystr(hex: &str) -> Value {
    Value::ByStr(bytes(hex))
}

fn truth(truth: bool) -> Value {
    Value::bool(truth)
}

fn some(value: Value) -> Value {
    Value::some(value.ty().unwrap(), value)
}

/// Checks cost and result of a call, and that the result has the declared type.
#[expect(clippy::needless_pass_by_value, reason = "the calls read better")]
fn check(name: &str, arguments: &[Value], cost: u64, expected: Result<Value, &str>) {
    let builtin = Builtin::find(name).unwrap();
    assert_eq!(builtin.cost(arguments), Some(cost), "cost of {name} {arguments:?}");
    let found = builtin.run(arguments);
    match (&found, &expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found, expected, "{name} {arguments:?}");
            let kinds: Vec<Type> = arguments.iter().map(|argument| argument.ty().unwrap()).collect();
            let announced = builtin.result_type(&kinds, false, &DataTypes::built_in());
            assert_eq!(announced, Some(found.ty().unwrap()), "type of {name} {arguments:?}");
        }
        (Err(Refusal::Arguments { operation }), Err(expected)) => assert_eq!(operation, expected),
        (Err(Refusal::Text(found)), Err(expected)) => assert_eq!(found, expected),
        _ => panic!("{name} {arguments:?}: {found:?}, expected {expected:?}"),
    }
}

/// Checks that a call with these arguments has neither a cost nor a type.
fn refuse(name: &str, arguments: &[Value]) {
    let builtin = Builtin::find(name).unwrap();
    assert_eq!(builtin.cost(arguments), None, "{name} {arguments:?}");
    let kinds: Vec<Type> = arguments.iter().map(|argument| argument.ty().unwrap()).collect();
    assert_eq!(builtin.result_type(&kinds, false, &DataTypes::built_in()), None, "{name} {arguments:?}");
}

#[test]
fn names_are_found() {
    for row in TABLE {
        assert_eq!(Builtin::find(row.name).unwrap().to_string(), row.name);
    }
    assert!(TABLE.is_sorted_by_key(|row| row.name));
    let check = |name: &str, expected: Option<&str>| {
        assert_eq!(Builtin::find(name).map(|found| found.to_string()).as_deref(), expected, "{name}");
    };
    check("to_bystr", Some("to_bystr"));
    check("to_bystr20", Some("to_bystr20"));
    check("to_bystr007", Some("to_bystr7"));
    check("to_bystr0x10", Some("to_bystr16"));
    check("to_bystr1_0", Some("to_bystr10"));
    check("to_bystr_1", None);
    check("to_bystrx", None);
    check("schnorr_sign", None);
    check("to_int16", None);
}

#[test]
fn eq_and_concat() {
    check("eq", &[text("ab"), text("ab")], 20, Ok(truth(true)));
    check("eq", &[text(&"x".repeat(30)), text(&"x".repeat(25))], 25, Ok(truth(false)));
    check("eq", &[bystrx("0a0b"), bystrx("0a0b")], 2, Ok(truth(true)));
    check("eq", &[bystr("0a0b0c"), bystr("")], 3, Ok(truth(false)));
    check("eq", &[bnum("01"), bnum("1")], 32, Ok(truth(false)));
    check("eq", &[int32(-1), int32(-1)], 4, Ok(truth(true)));
    check("eq", &[uint256("7"), uint256("8")], 16, Ok(truth(false)));
    refuse("eq", &[int32(1), Value::from(1_u32)]);
    refuse("eq", &[bystrx("0a"), bystrx("0a0b")]);
    refuse("eq", &[bystrx("0a"), bystr("0a")]);
    refuse("eq", &[text("a")]);
    refuse("eq", &[truth(true), truth(true)]);
    check("concat", &[text("ab"), text("c")], 40, Ok(text("abc")));
    check("concat", &[bystrx("0a"), bystrx("0b0c")], 3, Ok(bystrx("0a0b0c")));
    check("concat", &[bystr("0a"), bystr("0b0c")], 3, Ok(bystr("0a0b0c")));
    refuse("concat", &[bystr("0a"), bystrx("0b0c")]);
}

#[test]
fn parts_of_texts_and_bytes() {
    let uint = Value::from;
    check("substr", &[text("hello"), uint(1), uint(3)], 4, Ok(text("ell")));
    check("substr", &[text("hello"), uint(5), uint(0)], 5, Ok(text("")));
    check("substr", &[text("hello"), uint(0), uint(6)], 6, Err("String.substr: pos + len past end: 0 + 6 > 5"));
    check("substr", &[bystr("0a0b0c"), uint(1), uint(2)], 3, Ok(bystr("0b0c")));
    check("substr", &[bystr("0a0b0c"), uint(u32::MAX), uint(u32::MAX)], 3, {
        Err("Crypto.substr: pos + len past end: 4294967295 + 4294967295 > 3")
    });
    refuse("substr", &[bystrx("0a"), uint(0), uint(0)]);
    refuse("substr", &[text("a"), int32(0), uint(0)]);
}

#[test]
fn lengths_reversals_and_texts() {
    check("strlen", &[text("abc")], 20, Ok(Value::from(3_u32)));
    check("strlen", &[bystr("0a0b")], 2, Ok(Value::from(2_u32)));
    refuse("strlen", &[bystrx("0a0b")]);
    check("strrev", &[text("abc")], 20, Ok(text("cba")));
    check("strrev", &[bystr("0a0b")], 2, Ok(bystr("0b0a")));
    check("strrev", &[bystrx("0a0b")], 2, Ok(bystrx("0b0a")));
    check("to_string", &[int32(-5)], 4, Ok(text("-5")));
    check("to_string", &[bystr("0aff")], 2, Ok(text("0x0aff")));
    check("to_string", &[bystrx("")], 0, Ok(text("0x")));
    refuse("to_string", &[text("a")]);
    check("to_ascii", &[bystrx("417e200a")], 4, Ok(text("A~ \n")));
    check("to_ascii", &[bystr("41")], 1, Ok(text("A")));
    for unprintable in ["00", "7f", "0b", "80", "c3a4"] {
        check("to_ascii", &[bystr(unprintable)], unprintable.len() as u64 / 2, Err("String.to_ascii: Not printable"));
    }
}

#[test]
fn a_reversed_address_counts_as_a_text() {
    let result = |name, ty| result_type(name, &[ty], &DataTypes::built_in());
    let address = || Type::Address(AddressType::Any);
    assert_eq!(result("strrev", address()), Some(Primitive::String.into()));
    assert_eq!(result("strrev", Type::bystr(20)), Some(Type::bystr(20)));
    assert_eq!(result("to_bystr", address()), Some(Primitive::ByStr.into()));
    assert_eq!(result("to_uint256", address()), Some(Primitive::Uint(W256).into()));
    assert_eq!(result("to_uint128", address()), None);
}

#[test]
fn addresses_count_as_twenty_bytes() {
    let result = |name, kinds: &[Type]| result_type(name, kinds, &DataTypes::built_in());
    let address = || Type::Address(AddressType::Code);
    assert_eq!(result("eq", &[address(), Type::bystr(20)]), Some(Type::bool()));
    assert_eq!(result("eq", &[Type::bystr(20), Type::Address(AddressType::Any)]), Some(Type::bool()));
    assert_eq!(result("eq", &[address(), Type::bystr(21)]), None);
    assert_eq!(result("concat", &[address(), Type::bystr(3)]), Some(Type::bystr(23)));
    assert_eq!(result("concat", &[Type::bystr(3), address()]), Some(Type::bystr(23)));
    assert_eq!(result("concat", &[address(), address()]), Some(Type::bystr(40)));
    assert_eq!(result("bystr20_to_bech32", &[Primitive::String.into(), address()]), {
        Some(Type::option(Primitive::String.into()))
    });
}

#[test]
fn type_arguments_are_ignored_by_functions_of_a_single_type() {
    let result =
        |name: &str, kinds: &[Type]| Builtin::find(name).unwrap().result_type(kinds, true, &DataTypes::built_in());
    let (string, uint) = (|| Type::from(Primitive::String), || Type::from(Primitive::Uint(W32)));
    assert_eq!(result("eq", &[string(), string()]), Some(Type::bool()));
    assert_eq!(result("eq", &[uint(), uint()]), None);
    assert_eq!(result("to_nat", &[uint()]), Some(Type::nat()));
    assert_eq!(result("add", &[uint(), uint()]), None);
    assert_eq!(result("to_bystr4", &[Primitive::ByStr.into()]), Some(Type::option(Type::bystr(4))));
    assert_eq!(result("to_bystr4", &[uint()]), None);
}

#[test]
fn conversions_between_bytes() {
    check("to_bystr", &[bystrx("0a0b")], 2, Ok(bystr("0a0b")));
    check("to_bystr2", &[bystr("0a0b")], 2, Ok(some(bystrx("0a0b"))));
    check("to_bystr3", &[bystr("0a0b")], 3, Ok(Value::none(Type::bystr(3))));
    check("to_bystr4", &[Value::from(258_u32)], 4, Ok(bystrx("00000102")));
    check("to_bystr8", &[uint64(1)], 8, Ok(bystrx("0000000000000001")));
    refuse("to_bystr4", &[int32(1)]);
    refuse("to_bystr8", &[Value::from(1_u32)]);
}

#[test]
fn arithmetic() {
    check("add", &[int32(1), int32(-3)], 4, Ok(int32(-2)));
    check("add", &[Value::from(1_u128), Value::from(2_u128)], 8, Ok(Value::from(3_u128)));
    check("add", &[int32(i32::MAX), int32(1)], 4, Err("Int.add: an overflow/underflow occurred"));
    check("add", &[uint64(u64::MAX), uint64(1)], 4, Err("Uint.add: an overflow/underflow occurred"));
    check("sub", &[uint256("1"), uint256("2")], 16, Err("Uint.sub: an overflow/underflow occurred"));
    check("sub", &[int32(i32::MIN), int32(1)], 4, Err("Int.sub: an overflow/underflow occurred"));
    check("mul", &[int32(-4), int32(5)], 20, Ok(int32(-20)));
    check("mul", &[int32(-1), int32(i32::MIN)], 20, Err("Int.mul: an overflow/underflow occurred"));
    check("mul", &[Value::from(u128::MAX), Value::from(2_u128)], 40, Err("Uint.mul: an overflow/underflow occurred"));
    check("div", &[int32(-7), int32(2)], 20, Ok(int32(-3)));
    let wrong = "Int.div: Division by zero / IntOverflow error occurred";
    check("div", &[int32(7), int32(0)], 20, Err(wrong));
    check("div", &[int32(i32::MIN), int32(-1)], 20, Err(wrong));
    check("div", &[uint256("7"), uint256("0")], 80, Err("Uint.div: Division by zero / UintOverflow error occurred"));
    check("rem", &[int32(-7), int32(2)], 20, Ok(int32(-1)));
    check("rem", &[int32(i32::MIN), int32(-1)], 20, Ok(int32(0)));
    check("rem", &[int32(7), int32(0)], 20, Err("Int.rem: Division by zero error occurred"));
    check("rem", &[uint64(7), uint64(0)], 20, Err("Uint.rem: Division by zero error occurred"));
    check("lt", &[int32(-1), int32(0)], 4, Ok(truth(true)));
    check("lt", &[uint256("9"), uint256("10")], 16, Ok(truth(true)));
    check("lt", &[int32(1), int32(1)], 4, Ok(truth(false)));
    for name in ["add", "sub", "mul", "div", "rem", "lt"] {
        refuse(name, &[int32(1), uint64(1)]);
        refuse(name, &[text("1"), text("1")]);
        refuse(name, &[int32(1)]);
    }
}

#[test]
fn powers_and_roots() {
    check("pow", &[Value::from(3_u128), Value::from(10_u32)], 120, Ok(Value::from(59049_u128)));
    check("pow", &[int32(0), Value::from(0_u32)], 20, Ok(int32(1)));
    check("pow", &[int32(-2), Value::from(31_u32)], 80, Ok(int32(i32::MIN)));
    check("pow", &[Value::from(2_u32), Value::from(32_u32)], 80, Err("Int.pow: an overflow/underflow occurred"));
    check("pow", &[int32(1), Value::from(u32::MAX)], 20 * 23, Ok(int32(1)));
    refuse("pow", &[int32(2), int32(3)]);
    refuse("pow", &[Value::from(2_u32), uint64(3)]);
    check("isqrt", &[Value::from(100_u32)], 20, Ok(Value::from(10_u32)));
    check("isqrt", &[Value::from(99_u32)], 20, Ok(Value::from(9_u32)));
    check("isqrt", &[uint256("0")], 16, Ok(uint256("0")));
    refuse("isqrt", &[int32(4)]);
}

#[test]
fn conversions_of_integers() {
    check("to_int32", &[uint64(5)], 4, Ok(some(int32(5))));
    check("to_int32", &[uint64(1 << 31)], 4, Ok(Value::none(Primitive::Int(W32).into())));
    check("to_uint128", &[int32(-1)], 8, Ok(Value::none(Primitive::Uint(W128).into())));
    check("to_uint256", &[text("0012")], 16, Ok(some(uint256("12"))));
    check("to_int256", &[text("12 ")], 16, Ok(Value::none(Primitive::Int(W256).into())));
    check("to_int64", &[text("+12")], 4, Ok(some(integer(Int(W64), "12"))));
    check("to_int128", &[int32(-9)], 8, Ok(some(integer(Int(W128), "-9"))));
    check("to_uint32", &[bystrx("0102")], 4, Ok(Value::from(258_u32)));
    check("to_uint64", &[bystrx("")], 8, Ok(uint64(0)));
    check("to_uint256", &[bystrx(&"ff".repeat(20))], 32, {
        Ok(uint256("1461501637330902918203684832716283019655932542975"))
    });
    refuse("to_uint32", &[bystrx("0102030405")]);
    refuse("to_uint32", &[bystr("0102")]);
    refuse("to_int32", &[bystrx("01")]);
    check("to_nat", &[Value::from(3_u32)], 3, Ok(Value::nat(3)));
    refuse("to_nat", &[uint64(3)]);
}

#[test]
fn block_numbers() {
    check("blt", &[bnum("009"), bnum("10")], 32, Ok(truth(true)));
    check("badd", &[bnum("9"), Value::from(1_u32)], 32, Ok(bnum("10")));
    check("badd", &[bnum("9"), uint256("1")], 32, Ok(bnum("10")));
    refuse("badd", &[bnum("9"), int32(1)]);
    check("bsub", &[bnum("3"), bnum("5")], 32, Ok(integer(Int(W256), "-2")));
    let far = bnum(&"9".repeat(80));
    check("bsub", &[far, bnum("0")], 32, Err("Unable to express result of BNum subtraction in Int256"));
}

#[test]
fn hashes() {
    let sha = bystrx("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("sha256hash", &[text("abc")], 1, Ok(sha));
    let keccak = bystrx("4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45");
    check("keccak256hash", &[text("abc")], 1, Ok(keccak));
    check("ripemd160hash", &[text("abc")], 1, Ok(bystrx("8eb208f7e05d987a9b044a8e98c6b087f15a0bfc")));
    let long = bystr(&"00".repeat(961));
    for (name, cost) in [("sha256hash", 2), ("keccak256hash", 1), ("ripemd160hash", 2)] {
        assert_eq!(Builtin::find(name).unwrap().cost(std::slice::from_ref(&long)), Some(cost));
    }
}

fn serialized(value: &Value) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    write_serialized(value, |more| bytes.extend_from_slice(more)).then_some(bytes)
}

#[test]
fn values_are_hashed_as_these_bytes() {
    let check = |value: &Value, expected: &[u8]| assert_eq!(serialized(value).unwrap(), expected, "{value:?}");
    check(&int32(-2), &[255, 255, 255, 254]);
    check(&bnum("007"), b"007");
    check(&truth(true), b"True");
    check(&Value::list(Primitive::String.into(), [text("a"), text("b")]), b"ConsaConsbNil");
    let entry = |label: &str, value| MessageEntry { label: label.into(), ty: Primitive::String.into(), value };
    let message = Message::new(vec![entry("b", text("x")), entry("_tag", text("T"))]);
    check(&Value::Message(Arc::new(message)), b"_tag:T;b:x");
    check(&Value::Map(map(&["1", "3", "2"])), b"3v32v21v1");
}

/// Returns a map with these keys. The value of a key is its text with `v` in front.
fn map(keys: &[&str]) -> Map {
    let mut map = Map::new(Primitive::String.into(), Primitive::String.into());
    for key in keys {
        map.insert(Key::new(text(key)).unwrap(), text(&format!("v{key}")));
    }
    map
}

#[test]
fn maps() {
    let (two, three) = (|| Value::Map(map(&["1", "2"])), || Value::Map(map(&["1", "2", "3"])));
    check("size", &[two()], 1, Ok(Value::from(2_u32)));
    check("contains", &[two(), text("1")], 1, Ok(truth(true)));
    check("contains", &[two(), text("3")], 1, Ok(truth(false)));
    check("get", &[two(), text("1")], 1, Ok(some(text("v1"))));
    check("get", &[two(), text("3")], 1, Ok(Value::none(Primitive::String.into())));
    check("put", &[two(), text("3"), text("v3")], 3, Ok(three()));
    check("remove", &[three(), text("3")], 4, Ok(two()));
    check("remove", &[two(), text("3")], 3, Ok(two()));
    let pair = |key: &str| {
        Value::pair((Primitive::String.into(), text(key)), (Primitive::String.into(), text(&format!("v{key}"))))
    };
    let pairs = Value::list(pair("").ty().unwrap(), ["1", "2", "3"].map(pair));
    check("to_list", &[three()], 6, Ok(pairs));
    check("to_list", &[Value::Map(map(&[]))], 0, Ok(Value::list(pair("").ty().unwrap(), [])));
    for name in ["contains", "get", "remove"] {
        refuse(name, &[two(), Value::from(1_u32)]);
        refuse(name, &[text("1"), text("1")]);
    }
    assert_eq!(Builtin::find("put").unwrap().cost(&[two(), text("1"), Value::from(1_u32)]), None);
    assert_eq!(Builtin::find("put").unwrap().cost(&[two(), Value::from(1_u32), text("1")]), None);
}

#[test]
fn addresses_in_bech32() {
    let address = || bystrx("4baf5fada8e5db92c3d3242618c5b47133ae003c");
    let spelled = "zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7";
    check("bystr20_to_bech32", &[text("zil"), address()], 160, Ok(some(text(spelled))));
    check("bystr20_to_bech32", &[text("bc"), address()], 160, Ok(Value::none(Primitive::String.into())));
    let none = || Value::none(Type::bystr(20));
    let decode = |spelled: &str, expected| {
        let cost = 4 * (20 + text(spelled).size());
        check("bech32_to_bystr20", &[text("zil"), text(spelled)], cost, Ok(expected));
    };
    decode(spelled, some(address()));
    // The prefix must be in lower case. The letters after it may be in mixed case.
    decode("zil1FWH4ltdguhde9s7nysnp33d5wye6uqpugufkz7", some(address()));
    decode("ZIL1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7", none());
    decode("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz8", none());
    decode("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz", none());
    decode("", none());
    check("bech32_to_bystr20", &[text("bc"), text(spelled)], 248, Ok(none()));
    refuse("bystr20_to_bech32", &[text("zil"), bystrx("00")]);
}

#[test]
fn signatures() {
    use silica_crypto::{KeyPair, SecretKey};
    let pair = KeyPair::from(SecretKey::from_bytes([7; 32]).unwrap());
    let key = || Value::bystrx(*pair.public_key().as_bytes());
    let message = |message: &[u8]| Value::ByStr(message.into());
    let signature = Value::bystrx(*pair.sign(b"pay 1 ZIL").unwrap().as_bytes());
    let cost = 250 + 15 * 2;
    check("schnorr_verify", &[key(), message(b"pay 1 ZIL"), signature.clone()], cost, Ok(truth(true)));
    check("schnorr_verify", &[key(), message(b"pay 9 ZIL"), signature.clone()], cost, Ok(truth(false)));
    check("schnorr_verify", &[key(), message(b""), signature.clone()], cost, Ok(truth(false)));
    let zero_key = || bystrx(&"00".repeat(33));
    check("schnorr_verify", &[zero_key(), message(b"x"), signature.clone()], cost, Ok(truth(false)));
    check("schnorr_verify", &[key(), message(b"x"), bystrx(&"ff".repeat(64))], cost, Ok(truth(false)));
    check("ecdsa_verify", &[key(), message(b"x"), signature], cost, Ok(truth(false)));
    check("ecdsa_verify", &[zero_key(), message(b"x"), bystrx(&"01".repeat(64))], cost, {
        Err("Key.read_pk_exn: public key is invalid")
    });
    check("ecdsa_verify", &[key(), message(b"x"), bystrx(&"ff".repeat(64))], cost, {
        Err("Sign.read_exn: signature could not be parsed")
    });
    let recover = |signature: &str, id: u32, expected| {
        check("ecdsa_recover_pk", &[message(b"x"), bystrx(signature), Value::from(id)], 1, Err(expected));
    };
    recover(&"01".repeat(64), 4, "Sign.read_recoverable_exn: recid must be 0, 1, 2 or 3");
    recover(&"ff".repeat(64), 0, "Sign.read_recoverable_exn: signature could not be parsed");
    recover(&"00".repeat(64), 0, "Sign.recover: pk could not be recovered");
    let address = silica_protocol::Address::from_public_key(&pair.public_key());
    check("schnorr_get_address", &[key()], 1, Ok(Value::bystrx(*address.as_bytes())));
}

#[test]
fn ecdsa_signatures() {
    // The signature of "pay 1 ZIL" with the secret key 7, as 32 bytes.
    let r = "4ab48fe13b1722e49931cda4380dc6ce589927603260e28c80e13807b6d88f64";
    let low = || bystrx(&format!("{r}44d45c3c65167507e0f475d4af62908841dbefbf8d80d2400bb7155e96638f99"));
    let high = || bystrx(&format!("{r}bb2ba3c39ae98af81f0b8a2b509d6f7678d2ed2721c7cdfbb41b492e39d2b1a8"));
    let x = "989c0b76cb563971fdc9bef31ec06c3560f3249d6ee9e5d83c57625596e05f6f";
    let key = || bystrx(&format!("02{x}"));
    let whole = || bystrx(&format!("04{x}631f4d05b3ae518776ee08755a7703e64b2ebc32547504de0b55a142d4ecdf80"));
    let message = |message: &[u8]| Value::ByStr(message.into());
    check("ecdsa_verify", &[key(), message(b"pay 1 ZIL"), low()], 280, Ok(truth(true)));
    check("ecdsa_verify", &[key(), message(b"pay 9 ZIL"), low()], 280, Ok(truth(false)));
    // There are two valid signatures. Only the signature with the smaller s passes the verification, but the key can
    // be recovered from both.
    check("ecdsa_verify", &[key(), message(b"pay 1 ZIL"), high()], 280, Ok(truth(false)));
    check("ecdsa_recover_pk", &[message(b"pay 1 ZIL"), low(), Value::from(1_u32)], 1, Ok(whole()));
    check("ecdsa_recover_pk", &[message(b"pay 1 ZIL"), high(), Value::from(0_u32)], 1, Ok(whole()));
}

fn point(x: &str, y: &str) -> Value {
    let side = |number: &str| {
        let Value::Integer(number) = uint256(number) else { unreachable!("a number was asked for") };
        Value::bystrx(number.to_bytes())
    };
    Value::pair((Type::bystr(32), side(x)), (Type::bystr(32), side(y)))
}

#[test]
fn points_of_the_pairing_curve() {
    let (generator, opposite) = (
        || point("1", "2"),
        || point("1", "21888242871839275222246405745257275088696311157297823662689037894645226208581"),
    );
    let scalar = |number: &str| point(number, "0").as_adt().unwrap().arguments()[0].clone();
    let none = || Value::none(typing::g1_type());
    check("alt_bn128_G1_neg", &[generator()], 20, Ok(some(opposite())));
    check("alt_bn128_G1_add", &[generator(), opposite()], 20, Ok(some(point("0", "0"))));
    check("alt_bn128_G1_add", &[generator(), point("1", "3")], 20, Ok(none()));
    // The function reduces coordinates modulo the order of the field. The two points are the generator and the point at
    // infinity.
    let modulus = "21888242871839275222246405745257275088696311157297823662689037894645226208583";
    let (again, nothing) = (
        point("21888242871839275222246405745257275088696311157297823662689037894645226208584", "2"),
        point(modulus, modulus),
    );
    check("alt_bn128_G1_add", &[again, nothing], 20, Ok(some(generator())));
    check("alt_bn128_G1_mul", &[generator(), scalar("1")], 20, Ok(some(generator())));
    check("alt_bn128_G1_mul", &[generator(), scalar("2")], 40, {
        Ok(Builtin::find("alt_bn128_G1_add").unwrap().run(&[generator(), generator()]).unwrap())
    });
    check("alt_bn128_pairing_product", &[Value::list(Type::pair(typing::g1_type(), typing::g2_type()), [])], 0, {
        Ok(some(truth(true)))
    });
    let infinity =
        Value::pair((Type::bystr(64), Value::bystrx(vec![0; 64])), (Type::bystr(64), Value::bystrx(vec![0; 64])));
    let element = Value::pair((typing::g1_type(), generator()), (typing::g2_type(), infinity));
    check("alt_bn128_pairing_product", &[Value::list(element.ty().unwrap(), [element])], 40, Ok(some(truth(true))));
    refuse("alt_bn128_G1_mul", &[generator(), generator()]);
    refuse("alt_bn128_G1_neg", &[scalar("1")]);
    refuse("alt_bn128_pairing_product", &[Value::list(Type::bool(), [])]);
}

#[test]
fn functions_have_no_hash() {
    let closure =
        Value::Closure(Arc::new(crate::value::Closure::new(0, [].into(), Arc::from([]), smallvec::SmallVec::new())));
    assert_eq!(serialized(&Value::some(Type::bool(), closure.clone())), None);
    assert_eq!(Builtin::find("sha256hash").unwrap().cost(&[closure]), None);
    assert!(Value::bool(true).as_adt().unwrap().is(Constructor::r#true()));
}

#[test]
fn maps_of_the_state_take_addresses_as_bytes() {
    let address = || Type::Address(AddressType::Any);
    let map = || Value::Map(Map::new(address(), Type::option(address())));
    let (key, value) = (|| Value::bystrx([1; 20]), || Value::none(Type::bystr(20)));
    let builtin = |name| Builtin::find(name).unwrap();
    assert_eq!(builtin("put").cost(&[map(), key(), value()]), Some(1));
    assert_eq!(builtin("get").cost(&[map(), key()]), Some(1));
    assert_eq!(builtin("get").cost(&[map(), Value::bystrx([1; 19])]), None);
}

proptest::proptest! {
    #[test]
    fn the_order_of_insertion_is_forgotten(entries in proptest::collection::vec(("[a-c]{0,3}", "[x-z]{0,30}"), 0..30)) {
        // If a key occurs several times in `entries`, both maps have its first value. `forth` gets this value last, and
        // `back` gets only this value.
        let put = |map: &mut Map, key: &str, value: &str| map.insert(Key::new(text(key)).unwrap(), text(value));
        let (mut forth, mut back) = (map(&[]), map(&[]));
        for (key, value) in &entries {
            if back.get(&Key::new(text(key)).unwrap()).is_none() {
                put(&mut back, key, value);
            }
        }
        for (key, value) in entries.iter().rev() {
            put(&mut forth, key, value);
        }
        let (forth, back) = (Value::Map(forth), Value::Map(back));
        proptest::prop_assert_eq!(serialized(&forth), serialized(&back));
        proptest::prop_assert_eq!((forth.size(), forth.sort_cost()), (back.size(), back.sort_cost()));
        proptest::prop_assert_eq!(forth.literal().to_string(), back.literal().to_string());
        for builtin in ["sha256hash", "to_list", "size"].map(|name| Builtin::find(name).unwrap()) {
            let (forth, back) = (std::slice::from_ref(&forth), std::slice::from_ref(&back));
            proptest::prop_assert_eq!(builtin.cost(forth), builtin.cost(back));
            proptest::prop_assert_eq!(builtin.run(forth), builtin.run(back));
        }
        proptest::prop_assert_eq!(forth, back);
    }
}
