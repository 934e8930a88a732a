//! Compares the shape of a response with a documented response: members, JSON types and text formats. The letter case
//! and the prefix of hexadecimal text count.

use std::{fs, path::Path};

use serde_json::{Map, Value};

/// Members of documented responses that other responses of the method can lack: method and member.
const OPTIONAL: &[(&str, &str)] = &[
    // A build without a commit id lacks this member (Reference: interface#network-methods).
    ("GetVersion", "Commit"),
    // The documented transaction is a call. A payment lacks both members (Reference: interface#transaction-status).
    ("GetTransactionStatus", "code"),
    ("GetTransactionStatus", "data"),
    // The status of a confirmed transaction lacks this member (Reference: interface#transaction-status).
    ("GetPendingTxn", "pending"),
];

/// Documented results with a shape that no response can have: method, words in the notes of the result, and the reason.
pub const SUPERSEDED: &[(&str, &str, &str)] = &[
    ("GetPendingTxns", "6.2.0 and before", "the node is of generation 8.1, where the member Status is called code"),
    ("GetTransaction", "left out by the document", "a deployment without code and data, which each deployment has"),
    ("GetTransaction", "partial", "the document shows the receipt alone (Reference: interface#read-a-transaction)"),
];

/// Members that a document lacks: method, path of the object, name, a value with a valid format, and the reason.
const LEFT_OUT: &[(&str, &str, &str, &str, &str)] = &[(
    "GetDsBlockVerbose",
    "/result/header",
    "LeaderPubKey",
    "0x0285B572471A9D3BA729719ED2EEE86395D3B8F243572E9099A5E8B750F46092A7",
    "the successor's verbose form lacks what the plain form has (Reference: interface#ds-block-methods)",
)];

/// A documented request with its response.
#[derive(Clone, Debug)]
pub struct Example {
    /// The request, including its envelope.
    pub request: Value,
    /// The response, including its envelope.
    pub response: Value,
    /// The notes of the documentation.
    pub notes: String,
}

impl Example {
    /// Returns the result, or `None` if the response is an error.
    pub fn result(&self) -> Option<&Value> {
        self.response.get("result")
    }

    /// Returns the error, or `None` if the response is a result.
    pub fn error(&self) -> Option<&Value> {
        self.response.get("error")
    }

    fn is_superseded(&self, method: &str) -> bool {
        SUPERSEDED.iter().any(|(of, words, _)| *of == method && self.notes.contains(words))
    }
}

/// Returns whether a documented member of a method is optional in other responses.
pub fn is_optional(method: &str, member: &str) -> bool {
    OPTIONAL.contains(&(method, member))
}

/// Checks that a result has the shape of a documented result of the method.
///
/// # Panics
///
/// If the method has no documented result, or if no documented result has the shape. The message contains the
/// differences.
pub fn assert_documented(method: &str, result: &Value) {
    compare(method, result).unwrap_or_else(|differences| {
        panic!("{method} answers in no documented shape:\n{}\nanswer: {result}", differences.join("\n"))
    });
}

/// Compares a result with all documented results of the method, except [superseded](SUPERSEDED) results.
///
/// # Errors
///
/// The differences from each documented result, if none has the same shape.
///
/// # Panics
///
/// If the method has no documented result.
pub fn compare(method: &str, result: &Value) -> Result<(), Vec<String>> {
    let examples = examples(method);
    let documented: Vec<&Value> =
        examples.iter().filter(|example| !example.is_superseded(method)).filter_map(Example::result).collect();
    assert!(!documented.is_empty(), "{method} has no documented result");
    let differences: Vec<String> =
        documented.iter().filter_map(|documented| differs(method, documented, result, "result").err()).collect();
    if differences.len() < documented.len() { Ok(()) } else { Err(differences) }
}

/// Returns the documented examples of a method, or no examples if the method has no file.
///
/// # Panics
///
/// If the file of the method is not JSON, or has no array of examples.
pub fn examples(method: &str) -> Vec<Example> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/rpc-examples/{method}.json"));
    let Ok(text) = fs::read_to_string(&path) else { return Vec::new() };
    let document: Value = serde_json::from_str(&text).expect("the examples are JSON");
    let examples = document.get("examples").and_then(Value::as_array).expect("the examples are an array");
    let example = |example: &Value| Example {
        request: example["request"].clone(),
        response: completed(method, &example["response"]),
        notes: example.get("notes").map(Value::to_string).unwrap_or_default(),
    };
    examples.iter().map(example).collect()
}

/// Adds the members that the document of a method lacks.
fn completed(method: &str, response: &Value) -> Value {
    let mut response = response.clone();
    for (_, object, name, value, _) in LEFT_OUT.iter().filter(|(of, ..)| *of == method) {
        if let Some(Value::Object(members)) = response.pointer_mut(object) {
            let before = members.insert((*name).to_owned(), Value::from(*value));
            assert!(before.is_none(), "the document of {method} has {name}");
        }
    }
    response
}

/// Compares the shapes of a documented and an actual value.
///
/// # Errors
///
/// The first difference, with the path of the value.
pub fn differs(method: &str, documented: &Value, actual: &Value, path: &str) -> Result<(), String> {
    match (documented, actual) {
        (Value::Null, Value::Null) | (Value::Bool(_), Value::Bool(_)) => Ok(()),
        (Value::Number(documented), Value::Number(actual))
            if documented.is_f64() == actual.is_f64() && documented.is_u64() == actual.is_u64() =>
        {
            Ok(())
        }
        (Value::String(documented), Value::String(actual)) => {
            let (expected, got) = (Format::of(documented), Format::of(actual));
            if expected.admits(got) { Ok(()) } else { Err(format!("{path}: {actual:?} is {got:?}, not {expected:?}")) }
        }
        (Value::Array(documented), Value::Array(actual)) => elements_differ(method, documented, actual, path),
        (Value::Object(documented), Value::Object(actual)) => members_differ(method, documented, actual, path),
        (documented, actual) => Err(format!("{path}: {actual} has not the type of {documented}")),
    }
}

/// Compares elements. Each actual element must have the shape of a documented element, and an empty documented array
/// permits no elements.
fn elements_differ(method: &str, documented: &[Value], actual: &[Value], path: &str) -> Result<(), String> {
    for (i, element) in actual.iter().enumerate() {
        let path = format!("{path}[{i}]");
        if documented.is_empty() {
            return Err(format!("{path}: no element is documented"));
        }
        let differences: Vec<String> =
            documented.iter().filter_map(|known| differs(method, known, element, &path).err()).collect();
        if let Some(difference) = differences.first()
            && differences.len() == documented.len()
        {
            return Err(difference.clone());
        }
    }
    Ok(())
}

fn members_differ(
    method: &str,
    documented: &Map<String, Value>,
    actual: &Map<String, Value>,
    path: &str,
) -> Result<(), String> {
    if let Some(unknown) = actual.keys().find(|name| !documented.contains_key(*name)) {
        return Err(format!("{path}: the member {unknown} is not documented"));
    }
    for (name, expected) in documented {
        match actual.get(name) {
            Some(member) => differs(method, expected, member, &format!("{path}.{name}"))?,
            None if is_optional(method, name) => {}
            None => return Err(format!("{path}: the member {name} is missing")),
        }
    }
    Ok(())
}

/// The format of a text, as far as clients can depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An integer without sign or leading zeros.
    Decimal,
    /// An integer, a point, and exactly 12 decimals.
    Money,
    /// Hexadecimal digits of a fixed length.
    Hex {
        /// Whether the digits have the prefix `0x`.
        prefix: bool,
        /// Number of digits.
        digits: usize,
        /// Case of the letters; `None` if all digits are decimal.
        case: Option<Case>,
    },
    /// A number in the format of Ethereum: `0x` and fewer than 40 lower-case hexadecimal digits without leading zeros.
    Quantity,
    /// Any other text.
    Text,
}

/// Letter case of hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `a` to `f`.
    Lower,
    /// `A` to `F`.
    Upper,
}

impl Format {
    /// Returns the format of a text.
    pub fn of(text: &str) -> Self {
        if let Some(described) = Self::described(text) {
            return described;
        }
        let (digits, prefix) = match text.strip_prefix("0x") {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let lower = digits.bytes().any(|byte| byte.is_ascii_lowercase());
        let upper = digits.bytes().any(|byte| byte.is_ascii_uppercase());
        let canonical = digits == "0" || !(digits.is_empty() || digits.starts_with('0'));
        // An amount in wei has at most 38 digits, and an address has 40 digits.
        if is_hex && prefix && !upper && canonical && digits.len() < 40 {
            return Self::Quantity;
        }
        // An amount has at most 39 digits. The shortest hexadecimal text is a key of the document store with 24 digits.
        if is_hex && !(lower && upper) && (prefix || digits.len() >= 40 || (digits.len() >= 24 && (lower || upper))) {
            let case = if lower {
                Some(Case::Lower)
            } else if upper {
                Some(Case::Upper)
            } else {
                None
            };
            return Self::Hex { prefix, digits: digits.len(), case };
        }
        if is_decimal(text) {
            return Self::Decimal;
        }
        match text.split_once('.') {
            Some((whole, part)) if is_decimal(whole) && part.len() == 12 && all_digits(part) => Self::Money,
            _ => Self::Text,
        }
    }

    /// Returns the format that a description such as `<40 lowercase hex digits>` states, or `None` for any other text.
    fn described(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('<')?.strip_suffix(" lowercase hex digits>")?.parse().ok()?;
        Some(Self::Hex { prefix: false, digits, case: Some(Case::Lower) })
    }

    /// Returns whether a text of format `other` is valid where this format is documented.
    fn admits(self, other: Self) -> bool {
        match (self, other) {
            (
                Self::Hex { prefix, digits, case },
                Self::Hex { prefix: other_prefix, digits: other_digits, case: other_case },
            ) => {
                // A documented value without letters is a hash or an address, or a public key if it has the prefix.
                let case = case.unwrap_or(if prefix { Case::Upper } else { Case::Lower });
                prefix == other_prefix && digits == other_digits && other_case.is_none_or(|other| other == case)
            }
            (expected, got) => expected == got,
        }
    }
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_decimal(text: &str) -> bool {
    all_digits(text) && (text == "0" || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn accepts(documented: &Value, actual: &Value) {
        differs("", documented, actual, "it").unwrap();
    }

    fn refuses(documented: &Value, actual: &Value, reason: &str) {
        let difference = differs("", documented, actual, "it").unwrap_err();
        assert!(difference.contains(reason), "{difference}");
    }

    #[test]
    fn members_must_be_the_same() {
        accepts(&json!({"a": 1, "b": ""}), &json!({"b": "x", "a": 2}));
        refuses(&json!({"a": 1}), &json!({"a": 1, "b": 2}), "member b is not documented");
        refuses(&json!({"a": 1, "b": 2}), &json!({"a": 1}), "member b is missing");
        refuses(&json!({"a": {"b": 1}}), &json!({"a": {"b": "1"}}), "it.a.b");
    }

    #[test]
    fn types_must_be_the_same() {
        refuses(&json!(1), &json!("1"), "has not the type");
        refuses(&json!(1.5), &json!(1), "has not the type");
        refuses(&json!(1), &json!(null), "has not the type");
        accepts(&json!(0.5), &json!(0.0));
        refuses(&json!(1), &json!(-1), "has not the type");
        refuses(&json!(1), &json!(true), "has not the type");
        refuses(&json!("1"), &json!(1), "has not the type");
        refuses(&json!({}), &json!([]), "has not the type");
        refuses(&json!(null), &json!("null"), "has not the type");
    }

    #[test]
    fn elements_must_be_of_a_documented_kind() {
        accepts(&json!([1]), &json!([]));
        accepts(&json!([1]), &json!([2, 3]));
        accepts(&json!([1, "2"]), &json!(["3", 4]));
        refuses(&json!([1]), &json!([1, "2"]), "it[1]");
        // An empty array in a documented array does not restrict the other elements.
        accepts(&json!([["1"], []]), &json!([[], ["2"]]));
        refuses(&json!([["1"], []]), &json!([["2"], [3]]), "it[1][0]");
        refuses(&json!([]), &json!([1]), "no element is documented");
    }

    #[test]
    fn hexadecimal_case_prefix_and_length_must_be_the_same() {
        let (lower, upper) = ("ab".repeat(32), "AB".repeat(32));
        accepts(&json!(lower), &json!("cd".repeat(32)));
        accepts(&json!(lower), &json!("00".repeat(32)));
        refuses(&json!(lower), &json!(upper), "Upper");
        refuses(&json!(upper), &json!(lower), "Lower");
        refuses(&json!(lower), &json!(format!("0x{lower}")), "prefix: true");
        refuses(&json!(lower), &json!("ab".repeat(20)), "digits: 40");
        refuses(&json!(lower), &json!("aB".repeat(32)), "Text");
        accepts(&json!("0".repeat(64)), &json!(lower));
        refuses(&json!("0".repeat(64)), &json!(upper), "Upper");
        refuses(&json!(format!("0x{}", "0".repeat(64))), &json!(format!("0x{lower}")), "Lower");
        accepts(&json!("<64 lowercase hex digits>"), &json!(lower));
        refuses(&json!("<64 lowercase hex digits>"), &json!(upper), "Upper");
        refuses(&json!("<40 lowercase hex digits>"), &json!(lower), "digits: 64");
        refuses(&json!("<64 lowercase hex digits>"), &json!("anything"), "Text");
    }

    #[test]
    fn numbers_in_text_keep_their_form() {
        accepts(&json!("12"), &json!("0"));
        refuses(&json!("12"), &json!("012"), "Text");
        refuses(&json!("12"), &json!(""), "Text");
        refuses(&json!("12"), &json!("-1"), "Text");
        accepts(&json!("1.277490607172"), &json!("13.000000000000"));
        refuses(&json!("1.277490607172"), &json!("13.0"), "Text");
    }

    #[test]
    fn quantities_have_no_leading_noughts() {
        for quantity in ["0x0", "0x1", "0x80de", "0xde0b6b3a7640000"] {
            accepts(&json!("0x1b4"), &json!(quantity));
        }
        for other in ["0x", "0x00", "0x01b4", "0x1B4", "1b4", "436", "-0x1", "0x1g", ""] {
            assert!(differs("", &json!("0x1b4"), &json!(other), "it").is_err(), "{other}");
        }
        refuses(&json!("0x0000000000000000"), &json!("0x1"), "Quantity");
        refuses(&json!(format!("0x1{}", "0".repeat(39))), &json!("0x1"), "Quantity");
    }

    #[test]
    fn superseded_results_are_those_of_the_documentation() {
        for (method, words, _) in SUPERSEDED {
            let found = examples(method).iter().filter(|example| example.notes.contains(words)).count();
            assert_eq!(found, 1, "{method}: {words}");
        }
        let former = json!({"Txns": [{"Status": 1, "TxnHash": "ab".repeat(32)}]});
        assert!(compare("GetPendingTxns", &former).is_err());
        let present = json!({"Txns": [{"code": 1, "TxnHash": "ab".repeat(32)}]});
        assert_eq!(compare("GetPendingTxns", &present), Ok(()));
    }
}
