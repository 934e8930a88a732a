//! Tests of the parameter types with texts of clients.

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use silica_protocol::Bech32Error;

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
struct Nothing {}

#[derive(Debug, Deserialize, PartialEq)]
struct Three {
    text: String,
    page: Integral,
    #[serde(default)]
    flag: bool,
}

fn try_read<P: DeserializeOwned>(json: &str) -> Result<P, RpcError> {
    serde_json::from_str::<IgnoredAny>(json).unwrap();
    read(Some(json), fields::<P>())
}

#[test]
fn fields_are_named_in_order() {
    assert_eq!(fields::<Nothing>(), [""; 0]);
    assert_eq!(fields::<Three>(), ["text", "page", "flag"]);
}

#[test]
fn method_without_parameters_accepts_every_value() {
    for json in ["[]", r#"[""]"#, "{}", r#"[1,{"a":[]}]"#, r#"{"page":1}"#] {
        assert_eq!(try_read(json), Ok(Nothing {}), "{json}");
    }
    assert_eq!(read(None, fields::<Nothing>()), Ok(Nothing {}));
}

#[test]
fn positional_parameters_are_counted_and_typed() {
    let three = |page, flag| Ok(Three { text: "a".into(), page: Integral(page), flag });
    assert_eq!(try_read(r#"["a",1,true]"#), three(1, true));
    assert_eq!(try_read(r#"["a",1.0]"#), three(1, false));
    assert_eq!(try_read(r#"["a",4294967295,false]"#), three(u32::MAX, false));
    for json in [
        "[]",
        "{}",
        r#"["a"]"#,
        r#"{"text":"a","page":1,"flag":true}"#,
        r#"["a",1,true,0]"#,
        r#"["a","1",true]"#,
        "[1,1,true]",
        "[null,1,true]",
        r#"["a",1.5]"#,
        r#"["a",-1]"#,
        r#"["a",-1.0]"#,
        r#"["a",4294967296]"#,
        r#"["a",1e300]"#,
        r#"["a",null]"#,
        r#"["a",[1]]"#,
    ] {
        assert_eq!(try_read::<Three>(json), Err(RpcError::INVALID_PARAMS), "{json}");
    }
    assert_eq!(read::<Three>(None, fields::<Three>()), Err(RpcError::INVALID_PARAMS));
}

#[test]
fn silica_methods_name_the_wrong_parameter() {
    let check = |json: Option<&str>, expected: &str| {
        let read = |method| read_for::<Three>(method, json, fields::<Three>()).unwrap_err();
        assert_eq!(read("GetBalance"), RpcError::INVALID_PARAMS);
        let error = read("silica_three");
        assert_eq!(error.message.strip_prefix(&*RpcError::INVALID_PARAMS.message), Some(expected));
        assert_eq!((error.code, error.data), (RpcError::INVALID_PARAMS.code, None));
    };
    check(None, ": expected an array with text, page, flag, got nothing");
    check(Some(r#"{"text":1}"#), r#": expected an array with text, page, flag, got {"text":1}"#);
    check(Some("[]"), ": expected text as well, got 0 parameters");
    check(Some(r#"["a"]"#), ": expected page as well, got 1 parameters");
    check(Some(r#"["a",1,true,0]"#), ": expected text, page, flag, got 4 parameters");
    check(Some("[ 5 , 1 ]"), ": text: expected a string, got 5");
    check(Some(r#"["a",[1],true]"#), ": page: expected an integral number from 0 to 4294967295, got [1]");
    check(Some(r#"["a","1"]"#), r#": page: expected an integral number from 0 to 4294967295, got "1""#);
    check(Some(r#"["a",1,{"x":"expected "}]"#), r#": flag: expected a boolean, got {"x":"expected "}"#);
    let long = format!(r#"[["{}"],1]"#, "é".repeat(1_000));
    check(Some(&long), &format!(r#": text: expected a string, got ["{}"#, "é".repeat(39)));
}

#[test]
fn error_has_the_name_and_the_text_of_a_parameter() {
    let text: Text<Address> = serde_json::from_str(r#""x\n""#).unwrap();
    let Err(CallError::Api(error)) = text.named("address") else { panic!("it is no address") };
    let expected = "address: expected an account, as bech32 with prefix zil or as forty hexadecimal digits in any letter \
                    case, with or without 0x, got \"x\\n\"";
    assert_eq!(error.message, expected);
}

#[test]
fn type_of_a_parameter_is_checked_before_its_text() {
    #[derive(Debug, Deserialize)]
    struct Two(Text<Address>, Text<TxHash>);
    let Two(address, hash) = serde_json::from_str(r#"["x", "y"]"#).unwrap();
    let size = AddressError::Hex(HexError::Length { expected: 40, got: 1 });
    assert_eq!((address.get(), hash.get()), (Err(size), Err(HashFault::Digit)));
    assert!(serde_json::from_str::<Text<Address>>("1").is_err());
}

#[test]
fn addresses_follow_rule_addr() {
    let address: Address = "4baf5fada8e5db92c3d3242618c5b47133ae003c".parse().unwrap();
    let check = |text: &str, expected| assert_eq!(Address::from_param(text), expected, "{text}");
    let bech32 = |error| Err(AddressError::Bech32(error));
    let size = |got| Err(AddressError::Hex(HexError::Length { expected: 40, got }));
    let digit = |position, got| Err(AddressError::Hex(HexError::Digit { position, got }));
    check("4baf5fada8e5db92c3d3242618c5b47133ae003c", Ok(address));
    check("0x4BAF5FADA8E5DB92C3D3242618C5B47133AE003C", Ok(address));
    check("4BAF5faDA8e5Db92C3d3242618c5B47133AE003C", Ok(address));
    check("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7", Ok(address));
    check("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz8", bech32(Bech32Error::Checksum { got: "gufkz8".into() }));
    check("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkb7", bech32(Bech32Error::Character { position: 40, got: 'b' }));
    check("zil1", bech32(Bech32Error::Length { got: 4 }));
    check("ZIL1FWH4LTDGUHDE9S7NYSNP33D5WYE6UQPUGUFKZ7", size(42));
    check("0X4baf5fada8e5db92c3d3242618c5b47133ae003c", size(42));
    check("4baf5fada8e5db92c3d3242618c5b47133ae003", size(39));
    check("4baf5fada8e5db92c3d3242618c5b47133ae003cc", size(41));
    check("", size(0));
    check("0x", size(0));
    check("4baf5fada8e5db92c3d3242618c5b47133ae003g", digit(39, 'g'));
    check("0x0x5fada8e5db92c3d3242618c5b47133ae003cab", digit(1, 'x'));
}

#[test]
fn hashes_follow_rule_hash() {
    let digits = "cd8727674bc05e0ede405597a218164e1c13c7103b9d0ba43586785f3d8cede5";
    let hash: TxHash = digits.parse().unwrap();
    let check = |text: &str, expected| assert_eq!(TxHash::from_param(text), expected, "{text}");
    check(digits, Ok(hash));
    check(&format!("0x{}", digits.to_uppercase()), Ok(hash));
    check("", Err(HashFault::Size));
    check("cd87", Err(HashFault::Size));
    check(&format!("{digits}00"), Err(HashFault::Size));
    check(&digits.replace('c', "g"), Err(HashFault::Digit));
    check("not a hash", Err(HashFault::Digit));
    assert_eq!(VariableHash::from_param("not a hash"), Err(HashFault::Size));
    assert_eq!(VariableHash::from_param(&"g".repeat(64)), Err(HashFault::Digit));
    assert!(VariableHash::from_param(&digits.to_uppercase()).is_ok());
}

#[test]
fn decimal_numbers_follow_rule_num_s() {
    let check = |text: &str, expected: Result<u64, NumberFault>| {
        assert_eq!(Decimal::from_param(text), expected.map(Decimal), "{text}");
    };
    check("0", Ok(0));
    check("0012", Ok(12));
    check("12abc", Ok(12));
    check("1.9", Ok(1));
    check("0x10", Ok(0));
    check(" \t\n\u{b}\u{c}\r+7", Ok(7));
    check("-1", Ok(u64::MAX));
    check("18446744073709551615", Ok(u64::MAX));
    check("18446744073709551616", Err(NumberFault::OutOfRange));
    check("-18446744073709551616", Err(NumberFault::OutOfRange));
    for text in ["", " ", "-", "+-1", "- 1", "abc", "x1", "latest", "\u{a0}1", "٣"] {
        check(text, Err(NumberFault::Invalid));
    }
}

#[test]
fn numbers_of_any_base_follow_rule_num_t() {
    assert_eq!(AnyBase::from_param("0x10"), Ok(AnyBase(16)));
    assert_eq!(AnyBase::from_param("abc"), Ok(AnyBase(0)));
}

#[test]
fn absent_page_is_the_first_and_empty_text_is_no_page() {
    assert_eq!(Text::<PageText>::default().value(), PageText(Some(0)));
    assert_eq!(PageText::from_param(""), Ok(PageText(None)));
    assert_eq!(PageText::from_param("2"), Ok(PageText(Some(2))));
}

#[test]
fn block_is_a_number_or_the_word_latest() {
    let check = |text: &str, expected| assert_eq!(BlockOrLatest::from_param(text), expected, "{text}");
    check("latest", Ok(BlockOrLatest::Latest));
    check("39", Ok(BlockOrLatest::Number(BlockNumber::new(39))));
    check("Latest", Err(NumberFault::Invalid));
    check("99999999999999999999", Err(NumberFault::OutOfRange));
}

#[test]
fn price_is_decimal_digits_only() {
    let check = |text: &str, expected| assert_eq!(PriceText::from_param(text), expected, "{text}");
    check("1000000000", Ok(PriceText(1_000_000_000)));
    check("0", Ok(PriceText(0)));
    check("340282366920938463463374607431768211456", Err(PriceFault));
    for text in ["", "abc", "-1", "+1", " 1", "1.5", "0x10"] {
        check(text, Err(PriceFault));
    }
}

/// Up to four texts, the second half of them optional.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the test compares the texts of `Debug`")]
struct Texts {
    first: String,
    second: Text<PriceText>,
    #[serde(default)]
    third: Option<String>,
    #[serde(default)]
    fourth: String,
}

/// A parameter: often a text, often without escapes.
fn element() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => "[0-9a-f]{40}".prop_map(Value::from),
        2 => "[ -~é]{0,6}".prop_map(Value::from),
        1 => r#"["\\\n,\[\]x]{0,4}"#.prop_map(Value::from),
        1 => prop_oneof![Just(json!(null)), Just(json!(7)), Just(json!(true)), Just(json!(["a"])), Just(json!({"a": ""}))],
    ]
}

proptest! {
    /// The fast parser of text lists returns the results of the general parser.
    #[test]
    fn texts_are_read_as_by_the_general_parser(elements in vec((element(), "[ \n]{0,2}", "[ \n]{0,2}"), 0..6)) {
        let elements: Vec<String> = elements.iter().map(|(value, before, after)| format!("{before}{value}{after}")).collect();
        let json = format!("[{}]", elements.join(","));
        let expected = serde_json::from_str::<Texts>(&json).map_err(|_| RpcError::INVALID_PARAMS);
        prop_assert_eq!(format!("{:?}", try_read::<Texts>(&json)), format!("{expected:?}"));
        prop_assert_eq!(try_read::<Three>(&json), serde_json::from_str(&json).map_err(|_| RpcError::INVALID_PARAMS));
    }
}
