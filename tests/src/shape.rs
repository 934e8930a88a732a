//! Whether an answer has the shape of a documented one: the same members, JSON types and text formats, the letter case
//! and prefix of hexadecimal text included.

use std::{fs, path::Path};

use serde_json::{Map, Value};

/// Members that a documented answer shows and another answer of the same method may leave out, and why.
const OPTIONAL: &[(&str, &str)] = &[
    // A build without a commit id has none (rpc page, section 2.1).
    ("GetVersion", "Commit"),
    // The documented transaction is a call; a payment has neither (rpc page, section 2.6).
    ("GetTransactionStatus", "code"),
    ("GetTransactionStatus", "data"),
];

/// Compares a result with every documented result of the method.
///
/// # Panics
///
/// When it has the shape of none of them, with the differences.
pub fn assert_documented(method: &str, result: &Value) {
    let examples = examples(method);
    assert!(!examples.is_empty(), "{method} has no documented result");
    let differences: Vec<String> =
        examples.iter().filter_map(|example| differs(method, example, result, "result").err()).collect();
    assert!(
        differences.len() < examples.len(),
        "{method} answers in no documented shape:\n{}\nanswer: {result}",
        differences.join("\n")
    );
}

/// Results that the documentation shows for a method; answers that are errors are left out.
fn examples(method: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/rpc-examples/{method}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{method} is not documented: {e}"));
    let document: Value = serde_json::from_str(&text).expect("the examples are JSON");
    let examples = document.get("examples").and_then(Value::as_array).expect("the examples are an array");
    examples.iter().filter_map(|example| example["response"].get("result")).cloned().collect()
}

/// Explains the first difference in shape between a documented value and an actual one.
///
/// # Errors
///
/// The difference, with the path to it.
pub fn differs(method: &str, documented: &Value, actual: &Value, path: &str) -> Result<(), String> {
    match (documented, actual) {
        (Value::Null, Value::Null) | (Value::Bool(_), Value::Bool(_)) => Ok(()),
        (Value::Number(documented), Value::Number(actual)) if documented.is_f64() == actual.is_f64() => Ok(()),
        (Value::String(documented), Value::String(actual)) => {
            let (expected, got) = (Format::of(documented), Format::of(actual));
            if expected.admits(got) { Ok(()) } else { Err(format!("{path}: {actual:?} is {got:?}, not {expected:?}")) }
        }
        (Value::Array(documented), Value::Array(actual)) => elements_differ(method, documented, actual, path),
        (Value::Object(documented), Value::Object(actual)) => members_differ(method, documented, actual, path),
        (documented, actual) => Err(format!("{path}: {actual} has not the type of {documented}")),
    }
}

/// Each element must look like one of the documented elements.
fn elements_differ(method: &str, documented: &[Value], actual: &[Value], path: &str) -> Result<(), String> {
    for (i, element) in actual.iter().enumerate() {
        let path = format!("{path}[{i}]");
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
            None if OPTIONAL.contains(&(method, name)) => {}
            None => return Err(format!("{path}: the member {name} is missing")),
        }
    }
    Ok(())
}

/// How a text is written, as far as a client could depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An integer without sign or leading zeros.
    Decimal,
    /// An integer, a point and exactly twelve decimals.
    Money,
    /// Hexadecimal digits of a fixed length.
    Hex {
        /// Whether `0x` stands before them.
        prefix: bool,
        /// How many there are.
        digits: usize,
        /// Case of the letters, unless there are only digits.
        case: Option<Case>,
    },
    /// Anything else.
    Text,
}

/// Case of hexadecimal letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `a` to `f`.
    Lower,
    /// `A` to `F`.
    Upper,
}

impl Format {
    /// Recognises a format.
    pub fn of(text: &str) -> Self {
        let (digits, prefix) = match text.strip_prefix("0x") {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let lower = digits.bytes().any(|byte| byte.is_ascii_lowercase());
        let upper = digits.bytes().any(|byte| byte.is_ascii_uppercase());
        // Amounts have at most 39 digits, the shortest hexadecimal text is a store key of 24.
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

    /// Whether text of format `other` may stand where this one is documented.
    fn admits(self, other: Self) -> bool {
        match (self, other) {
            (
                Self::Hex { prefix, digits, case },
                Self::Hex { prefix: other_prefix, digits: other_digits, case: other_case },
            ) => {
                prefix == other_prefix
                    && digits == other_digits
                    && (case.is_none() || other_case.is_none() || case == other_case)
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
        accepts(&json!([1]), &json!([]));
        refuses(&json!([1]), &json!([1, "2"]), "it[1]");
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
}
