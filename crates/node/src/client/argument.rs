//! Values of contract parameters: `name=value` or JSON. The type that the contract declares decides how the client
//! parses a value.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_scilla::{
    check::ParameterSummary,
    json::{ValueReader, parse},
    types::{
        Primitive, Type,
        adt::{Constructor, DataType, DataTypes},
    },
};

use super::{error::ClientError, rows::listed};

/// A parameter of the form `name=value` on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    name: String,
    value: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            return Err("expected a name of letters, digits and underscores in front of =".to_owned());
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

impl Assignment {
    /// Parses the name and the address of a library. The name can have the ending of its file, as in `NAME.scillib`.
    pub(super) fn of_library(text: &str) -> Result<Self, String> {
        let name = text.split_once('=').and_then(|(name, value)| Some((name.strip_suffix(".scillib")?, value)));
        let Some((name, value)) = name else { return text.parse() };
        let Self { name, value } = format!("{name}={value}").parse()?;
        Ok(Self { name: format!("{name}.scillib"), value })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Parses the value as an address.
    pub(super) fn address(&self) -> Result<Address, String> {
        Address::parse(&self.value).map_err(|error| error.to_string())
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// The given values by parameter name, before their types are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Given(BTreeMap<String, Value>);

impl Given {
    /// Collects the parameters of the command line. Rejects a name that occurs twice.
    pub(super) fn of_assignments(assignments: &[Assignment]) -> Result<Self, ClientError> {
        let mut given = BTreeMap::new();
        for Assignment { name, value } in assignments {
            if given.insert(name.clone(), Value::from(value.as_str())).is_some() {
                return Err(ClientError::argument(name, "one value", "two"));
            }
        }
        Ok(Self(given))
    }

    /// Collects the members of a JSON object.
    pub(super) fn of_object(object: serde_json::Map<String, Value>) -> Self {
        Self(object.into_iter().collect())
    }

    /// Parses the values, and returns the parameters in the form of a message. Rejects a value without a declared
    /// parameter, and a parameter without a value.
    pub(super) fn read(
        mut self,
        parameters: &[ParameterSummary],
        known: &DataTypes,
    ) -> Result<Vec<Value>, ClientError> {
        let declared = |parameter: &ParameterSummary| format!("{} : {}", parameter.name, parameter.ty.as_written());
        if let Some((name, value)) = self.0.iter().find(|(name, _)| parameters.iter().all(|it| *it.name != ***name)) {
            let expected = match parameters {
                [] => "no parameters".to_owned(),
                parameters => listed(parameters.iter().map(declared)),
            };
            return Err(ClientError::argument(name, expected, shown(value)));
        }
        let missing: Vec<_> = parameters.iter().filter(|it| !self.0.contains_key(&*it.name)).map(declared).collect();
        if !missing.is_empty() {
            return Err(ClientError::Missing(listed(missing)));
        }
        let read = |parameter: &ParameterSummary| {
            let given = self.0.remove(&*parameter.name).unwrap_or_default();
            let kind = without_addresses(&parameter.ty);
            let value = value(&kind, &given, known).map_err(|fault| {
                let Fault { expected, got } = fault;
                let kind = parameter.ty.as_written();
                ClientError::argument(&*parameter.name, format!("{kind} ({expected})"), got)
            })?;
            Ok(json!({ "vname": &*parameter.name, "type": kind.global().to_string(), "value": value }))
        };
        parameters.iter().map(read).collect()
    }
}

/// A given value that is not a value of the declared type: the expected and the given value.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    expected: String,
    got: String,
}

fn fault(expected: impl Into<String>, given: &Value) -> Fault {
    Fault { expected: expected.into(), got: shown(given) }
}

fn shown(given: &Value) -> String {
    given.as_str().map_or_else(|| given.to_string(), str::to_owned)
}

/// Returns the type with `ByStr20` in place of each address type, because a message has plain addresses. The node
/// checks the type of the account when it executes the message.
fn without_addresses(kind: &Type) -> Type {
    match kind {
        Type::Address(_) => Type::bystr(20),
        Type::Adt(name, arguments) => Type::Adt(name.clone(), arguments.iter().map(without_addresses).collect()),
        Type::Map(key, value) => Type::map(without_addresses(key), without_addresses(value)),
        Type::Forall(..) | Type::Function(..) | Type::Primitive(_) | Type::Unit | Type::Variable(_) => kind.clone(),
    }
}

/// Returns the JSON form of a value. The reader of the interpreter checks that the value has this type.
fn value(kind: &Type, given: &Value, known: &DataTypes) -> Result<Value, Fault> {
    let form = form(kind, given, known)?;
    let unfit = |reason: String| fault(reason, given);
    let document = parse(form.to_string().as_bytes()).map_err(|error| unfit(error.to_string()))?;
    ValueReader::exact(known).read(document.root(), kind).map_err(|error| unfit(error.to_string()))?;
    Ok(form)
}

/// Returns the JSON form of a value, without the checks of the interpreter. The JSON parser bounds the depth of the
/// recursion.
fn form(kind: &Type, given: &Value, known: &DataTypes) -> Result<Value, Fault> {
    match kind {
        Type::Primitive(primitive) => scalar(*primitive, given),
        Type::Map(key, value) => map(key, value, &opened(given)?, known),
        Type::Adt(name, arguments) => {
            let of = known.get(&name.name).ok_or_else(|| fault("a type that is known", given))?;
            data(of, arguments, given, known)
        }
        Type::Address(_) => scalar(Primitive::ByStrX(20), given),
        Type::Forall(..) | Type::Function(..) | Type::Unit | Type::Variable(_) => {
            Err(fault("a type that has values outside of contracts", given))
        }
    }
}

/// Parses a text that begins with `[` or `{` as JSON. Returns every other value unchanged.
fn opened(given: &Value) -> Result<Value, Fault> {
    match given.as_str() {
        Some(text) if text.trim_start().starts_with(['[', '{']) => {
            serde_json::from_str(text).map_err(|error| fault(format!("JSON: {error}"), given))
        }
        Some(_) | None => Ok(given.clone()),
    }
}

fn scalar(primitive: Primitive, given: &Value) -> Result<Value, Fault> {
    let text = match given {
        Value::String(text) => text.clone(),
        // The JSON parser may have rounded other numbers.
        Value::Number(number) if number.is_u64() || number.is_i64() => number.to_string(),
        Value::Number(_) => return Err(fault("a number this large in quotes", given)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return Err(fault(expected(primitive), given));
        }
    };
    match primitive {
        Primitive::ByStrX(20) => {
            let address = Address::parse(&text).map_err(|error| fault(error.to_string(), given))?;
            Ok(format!("0x{address}").into())
        }
        Primitive::ByStr | Primitive::ByStrX(_) => {
            let digits = text.strip_prefix("0x").unwrap_or(&text);
            let fits = match u32::try_from(digits.len() / 2) {
                Ok(bytes) => primitive == Primitive::ByStr || primitive == Primitive::ByStrX(bytes),
                Err(_) => false,
            };
            if fits && digits.len() % 2 == 0 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                Ok(format!("0x{}", digits.to_ascii_lowercase()).into())
            } else {
                Err(fault(expected(primitive), given))
            }
        }
        Primitive::Int(_) | Primitive::Uint(_) | Primitive::BNum => {
            let digits = text.strip_prefix('-').unwrap_or(&text);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(fault(expected(primitive), given));
            }
            Ok(text.into())
        }
        Primitive::String => Ok(text.into()),
        Primitive::Event | Primitive::Exception | Primitive::Message | Primitive::ReplicateContract => {
            Err(fault("a type that has values outside of contracts", given))
        }
    }
}

fn expected(primitive: Primitive) -> String {
    match primitive {
        Primitive::ByStrX(20) => "an address in hexadecimal or as bech32".to_owned(),
        Primitive::ByStrX(width) => format!("{} hexadecimal digits", u64::from(width) * 2),
        Primitive::ByStr => "an even number of hexadecimal digits".to_owned(),
        Primitive::Int(_) => "a whole number".to_owned(),
        Primitive::Uint(_) | Primitive::BNum => "a whole number that is not negative".to_owned(),
        Primitive::String => "a text".to_owned(),
        Primitive::Event | Primitive::Exception | Primitive::Message | Primitive::ReplicateContract => {
            "nothing".to_owned()
        }
    }
}

/// Returns the JSON form of a map, from an object or from a list of entries in the form of Scilla.
fn map(key: &Type, value: &Type, given: &Value, known: &DataTypes) -> Result<Value, Fault> {
    let entry = |name: &Value, given: &Value| -> Result<Value, Fault> {
        Ok(json!({ "key": form(key, name, known)?, "val": form(value, given, known)? }))
    };
    match given {
        Value::Object(members) => members.iter().map(|(name, it)| entry(&Value::from(name.as_str()), it)).collect(),
        Value::Array(entries) => {
            let pair = |it: &Value| match (it.get("key"), it.get("val")) {
                (Some(name), Some(value)) => entry(name, value),
                _ => Err(fault("entries with key and val", it)),
            };
            entries.iter().map(pair).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(fault("a map, as JSON: {\"KEY\": VALUE, …}", given))
        }
    }
}

/// Returns the JSON form of a value of an algebraic data type. The value can have these forms:
///
/// - a list in brackets, or a pair as a list of two;
/// - `true`, `false`, or the name of another constructor without arguments;
/// - `Some VALUE`;
/// - the form of Scilla.
fn data(of: &Arc<DataType>, arguments: &[Type], given: &Value, known: &DataTypes) -> Result<Value, Fault> {
    let given = &opened(given)?;
    match (&**of.name.base(), given, arguments) {
        ("List", Value::Array(elements), [kind]) => elements.iter().map(|it| form(kind, it, known)).collect(),
        ("Pair", Value::Array(parts), [first, second]) => match parts.as_slice() {
            [one, other] => made_by(of, "Pair", arguments, &[form(first, one, known)?, form(second, other, known)?]),
            _ => Err(fault("a list of two", given)),
        },
        ("Bool", Value::Bool(true), _) => made_by(of, "True", arguments, &[]),
        ("Bool", Value::Bool(false), _) => made_by(of, "False", arguments, &[]),
        ("Bool", Value::String(text), _) if text == "true" => made_by(of, "True", arguments, &[]),
        ("Bool", Value::String(text), _) if text == "false" => made_by(of, "False", arguments, &[]),
        ("Option", Value::Null, _) => made_by(of, "None", arguments, &[]),
        ("Option", Value::String(text), [kind]) if text.starts_with("Some ") => {
            let value = text.strip_prefix("Some ").unwrap_or_default();
            made_by(of, "Some", arguments, &[form(kind, &Value::from(value), known)?])
        }
        (_, Value::String(name), _) if is_constant(of, name) => made_by(of, name, arguments, &[]),
        (_, Value::Object(_), _) if given.get("constructor").is_some() => Ok(given.clone()),
        _ => Err(fault(forms(of), given)),
    }
}

fn is_constant(of: &DataType, name: &str) -> bool {
    of.constructors.iter().any(|it| **it.name.base() == *name && it.arguments.is_empty())
}

fn made_by(of: &DataType, name: &str, types: &[Type], arguments: &[Value]) -> Result<Value, Fault> {
    let constructor = of.constructors.iter().find(|it| **it.name.base() == *name);
    let Constructor { name, .. } = constructor.ok_or_else(|| fault(forms(of), &Value::from(name)))?;
    let types: Vec<_> = types.iter().map(|kind| kind.global().to_string()).collect();
    Ok(json!({ "constructor": name.global().to_string(), "argtypes": types, "arguments": arguments }))
}

/// Returns a description of the texts that are values of a data type, for error texts.
fn forms(of: &DataType) -> String {
    match &**of.name.base() {
        "List" => "a list, as JSON: [VALUE, …]".to_owned(),
        "Pair" => "a list of two, as JSON: [VALUE, VALUE]".to_owned(),
        "Option" => "None or Some VALUE".to_owned(),
        "Bool" => "true or false".to_owned(),
        _ => {
            let constants = of.constructors.iter().filter(|it| it.arguments.is_empty()).map(|it| it.name.base());
            let constants = listed(constants);
            let json = "JSON: {\"constructor\": …, \"argtypes\": […], \"arguments\": […]}";
            if constants.is_empty() { json.to_owned() } else { format!("{constants}, or {json}") }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use silica_scilla::json::parse_type;

    use super::*;

    const ADDRESS: &str = "0x381f4008505e940ad7681ec3468a719060caf796";

    /// Parses `text` as a value of a type.
    fn read(kind: &str, text: &str) -> Result<Value, String> {
        let known = DataTypes::built_in();
        let parameters = [ParameterSummary { name: "it".into(), ty: parse_type(kind).unwrap() }];
        let given = Given::of_assignments(&[format!("it={text}").parse().unwrap()]).unwrap();
        let mut read = given.read(&parameters, &known).map_err(|error| error.to_string())?;
        let parameter = read.pop().unwrap();
        assert_eq!(parameter["vname"], "it");
        Ok(parameter["value"].clone())
    }

    #[track_caller]
    fn check(kind: &str, text: &str, expected: Value) {
        assert_eq!(read(kind, text), Ok(expected), "{kind}: {text}");
    }

    fn made(constructor: &str, types: &[&str], arguments: &[Value]) -> Value {
        json!({ "constructor": constructor, "argtypes": types, "arguments": arguments })
    }

    #[test]
    fn values_are_read_by_their_types() {
        check("Uint128", "5", json!("5"));
        check("Int32", "-5", json!("-5"));
        check("Uint256", &"9".repeat(77), json!("9".repeat(77)));
        check("BNum", "100", json!("100"));
        check("String", "", json!(""));
        check("String", "a=b {", json!("a=b {"));
        check("ByStr20", ADDRESS, json!(ADDRESS));
        check("ByStr20", &ADDRESS[2..].to_uppercase(), json!(ADDRESS));
        check("ByStr20", &ADDRESS.parse::<Address>().unwrap().to_bech32(), json!(ADDRESS));
        check("ByStr20 with end", ADDRESS, json!(ADDRESS));
        check("ByStr2", "ABcd", json!("0xabcd"));
        check("ByStr", "0x", json!("0x"));
        check("Bool", "true", made("True", &[], &[]));
        check("Bool", "False", made("False", &[], &[]));
        check("Option (Uint32)", "None", made("None", &["Uint32"], &[]));
        check("Option (Uint32)", "Some 7", made("Some", &["Uint32"], &[json!("7")]));
        check("Option (String)", "Some Some people", made("Some", &["String"], &[json!("Some people")]));
        check("List (ByStr20 with end)", &format!("[\"{ADDRESS}\"]"), json!([ADDRESS]));
        check("List (Uint32)", "[1, \"2\"]", json!(["1", "2"]));
        check("Pair (Uint32) (String)", "[1, \"a\"]", made("Pair", &["Uint32", "String"], &[json!("1"), json!("a")]));
        check("Map (String) (Uint32)", "{\"a\": 1}", json!([{"key": "a", "val": "1"}]));
        check("Map (String) (Uint32)", "[{\"key\": \"a\", \"val\": \"1\"}]", json!([{"key": "a", "val": "1"}]));
        let zero = made("Zero", &[], &[]);
        let one = made("Succ", &[], std::slice::from_ref(&zero));
        check("Nat", &one.to_string(), one);
        check("Nat", "Zero", zero);
    }

    #[test]
    fn types_are_those_that_messages_may_have() {
        let kind = parse_type("List (Pair (ByStr20 with end) (Map (ByStr20 with library end) (Bool)))").unwrap();
        let plain = without_addresses(&kind).global().to_string();
        assert_eq!(plain, "List (Pair (ByStr20) (Map (ByStr20) (Bool)))");
    }

    #[test]
    fn errors_name_the_expected_and_the_actual_value() {
        for (kind, text, words) in [
            ("Uint128", "-5", "Uint128"),
            ("Uint128", "1.5", "a whole number that is not negative"),
            ("Uint32", "4294967296", "Uint32"),
            ("Int32", "+1", "a whole number"),
            ("Uint32", "", "got \"\""),
            ("ByStr20", "0x12", "expected ByStr20"),
            ("ByStr20", "zil1xx", "bech32"),
            ("ByStr2", "abc", "4 hexadecimal digits"),
            ("ByStr", "abc", "an even number"),
            ("Bool", "yes", "true or false"),
            ("Option (Uint32)", "7", "None or Some VALUE"),
            ("Option (Uint32)", "Some x", "a whole number"),
            ("List (Uint32)", "1,2", "[VALUE, …]"),
            ("List (Uint32)", "[1,", "JSON: EOF"),
            ("List (Uint32)", "[100000000000000000000]", "in quotes"),
            ("List (Uint32)", "[[1]]", "a whole number"),
            ("Pair (Uint32) (Uint32)", "[1]", "a list of two"),
            ("Map (String) (Uint32)", "[1]", "entries with key and val"),
            ("Map (String) (Uint32)", "a", "{\\\"KEY\\\": VALUE, …}"),
            ("Nat", "One", "Zero, or JSON"),
            ("Nat", "{\"constructor\":\"One\",\"argtypes\":[],\"arguments\":[]}", "One"),
            ("Message", "x", "outside of contracts"),
        ] {
            let error = read(kind, text).unwrap_err();
            assert!(error.starts_with("it: expected ") && error.contains("got "), "{error}");
            assert!(error.replace('\\', "").contains(&words.replace('\\', "")), "{words} is missing in {error}");
        }
    }

    #[test]
    fn all_parameters_are_given_and_no_others() {
        let known = DataTypes::built_in();
        let parameter = |name: &str| ParameterSummary { name: name.into(), ty: parse_type("Uint32").unwrap() };
        let read = |texts: &[&str]| {
            let assignments: Vec<_> = texts.iter().map(|text| text.parse().unwrap()).collect();
            let given = Given::of_assignments(&assignments).map_err(|error| error.to_string())?;
            given.read(&[parameter("a"), parameter("b")], &known).map_err(|error| error.to_string())
        };
        assert_eq!(read(&["b=1", "a=2"]).unwrap()[0]["value"], "2");
        assert_eq!(read(&["a=1"]).unwrap_err(), "missing: b : Uint32");
        assert_eq!(read(&["a=1", "b=2", "c=3"]).unwrap_err(), "c: expected a : Uint32, b : Uint32, got \"3\"");
        assert_eq!(read(&["a=1", "a=2"]).unwrap_err(), "a: expected one value, got \"two\"");
        assert!(Given::default().read(&[], &known).unwrap().is_empty());
        for text in ["", "a", "=1", "a b=1", "é=1"] {
            text.parse::<Assignment>().unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn values_have_the_type_that_was_declared(
            kind in prop::sample::select(vec![
                "Uint32", "Int256", "BNum", "String", "ByStr", "ByStr3", "ByStr20", "Bool", "Option (Int32)",
                "List (String)", "Pair (Bool) (ByStr2)", "Map (Uint32) (List (Bool))", "Nat",
            ]),
            text in "[-0-9a-fx\\[\\]{}\":, ]{0,40}|(true|None|Some [0-9]{0,12}|\\[\"[a-z]{0,3}\"\\])|.*",
        ) {
            if let Ok(value) = read(kind, &text) {
                let document = parse(value.to_string().as_bytes()).unwrap();
                ValueReader::exact(&DataTypes::built_in()).read(document.root(), &parse_type(kind).unwrap()).unwrap();
            }
        }

        #[test]
        fn every_number_is_taken_as_it_is(number: u128) {
            prop_assert_eq!(read("Uint128", &number.to_string()), Ok(json!(number.to_string())));
        }
    }
}
