//! Safe output of text from other sources. Such text must not move the cursor, change colours or hide other text.

use std::fmt;

use serde_json::value::RawValue;

/// Minimum size at which JSON is printed without indentation, in bytes. Indentation would multiply the size of nested
/// JSON.
const INDENTED: usize = 1 << 20;

/// Number of JSON levels with indentation. Deeper levels are on one line.
const DEPTH: usize = 12;

/// Returns the text with escapes for control characters, and for invisible characters that change the display of other
/// characters.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            c => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// JSON from another source, printed with indentation and escapes. Numbers are unchanged.
pub(crate) struct Indented<'a>(pub(crate) &'a RawValue);

/// JSON from another source, printed on one line with escapes. Numbers are unchanged.
pub(crate) struct InLine<'a>(pub(crate) &'a RawValue);

impl fmt::Display for Indented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.get();
        print(text, if text.len() < INDENTED { DEPTH } else { 0 }, f)
    }
}

impl fmt::Display for InLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0.get(), 0, f)
    }
}

/// Prints a JSON text. The upper `deep` levels have separate lines.
fn print(text: &str, deep: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut depth: usize = 0;
    let mut last = ' ';
    let (mut in_text, mut escaped) = (false, false);
    for c in text.chars() {
        if in_text {
            in_text = escaped || c != '"';
            escaped = !escaped && c == '\\';
            character(c, f)?;
            continue;
        }
        match c {
            ' ' | '\t' | '\n' | '\r' => continue,
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !matches!(last, '{' | '[') && depth < deep {
                    line(depth, f)?;
                }
            }
            _ if matches!(last, '{' | '[' | ',') && depth <= deep && deep > 0 => line(depth, f)?,
            _ if last == ',' => f.write_str(" ")?,
            _ => {}
        }
        if matches!(c, '{' | '[') {
            depth = depth.saturating_add(1);
        }
        in_text = c == '"';
        write!(f, "{c}")?;
        if c == ':' {
            f.write_str(" ")?;
        }
        last = c;
    }
    Ok(())
}

fn line(depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\n")?;
    (0..depth).try_for_each(|_| f.write_str("  "))
}

/// Writes a character of a string. Writes an escape for a control character or an invisible character.
fn character(c: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let is_plain = matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1;
    if is_plain {
        return write!(f, "{c}");
    }
    let mut units = [0; 2];
    c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(f, "\\u{unit:04x}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn indented(text: &str) -> String {
        Indented(&RawValue::from_string(text.to_owned()).unwrap()).to_string()
    }

    #[test]
    fn json_is_indented() {
        assert_eq!(indented(r#"{"a":[1,{}],"b" : []}"#), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
        assert_eq!(indented("5"), "5");
        assert_eq!(indented("[]"), "[]");
        assert_eq!(
            InLine(&RawValue::from_string("[1,\n{\"a\":2}]".to_owned()).unwrap()).to_string(),
            "[1, {\"a\": 2}]"
        );
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        assert_eq!(
            indented("340282366920938463463374607431768211456.10"),
            "340282366920938463463374607431768211456.10"
        );
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(indented("\"\u{9b}2J\u{202e}é😀\u{e0001}\\u001b\""), r#""\u009b2J\u202eé😀\udb40\udc01\u001b""#);
        assert_eq!(visible("it's \u{1b}[2J\u{202e}\n"), r"it's \u{1b}[2J\u{202e}\n");
    }

    #[test]
    fn deep_json_does_not_grow() {
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        assert!(indented(&deep).len() < 2 * deep.len());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), any::<i64>().prop_map(Value::from), ".*".prop_map(Value::from)];
        leaf.prop_recursive(5, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..4).prop_map(|it| it.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_printed_is_the_same_json(value in any_json()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                let raw = RawValue::from_string(text).unwrap();
                for printed in [Indented(&raw).to_string(), InLine(&raw).to_string()] {
                    prop_assert_eq!(&serde_json::from_str::<Value>(&printed).unwrap(), &value);
                    prop_assert!(printed.chars().all(|c| c == '\n' || !c.is_control()));
                }
            }
        }
    }
}
