//! Values as JSON text with a limit on its length.

use std::fmt::{self, Write};

use silica_scilla::{
    json::{self, ListForm},
    value::Value,
};

/// Maximum number of parts of a value that is converted to text. The conversion takes time for each part before the
/// length of the text is known. The limit is more than twice the parts that the largest gas limit pays for in lists of
/// small numbers. Such lists have the shortest text for each part.
const MAX_PARTS: u64 = 1 << 21;

/// Returns the compact JSON text of a value, as in the state, in keys and in receipts. Returns `None` if the text has
/// more than `most` bytes, or the value more than [`MAX_PARTS`] parts.
pub(super) fn text_of(value: &Value, most: usize) -> Option<String> {
    if value.parts() > MAX_PARTS {
        return None;
    }
    let mut bounded = Bounded { text: String::new(), most };
    let written = match value.json_string() {
        Some(string) => json::quoted(&string, &mut bounded),
        None => write!(bounded, "{}", value.to_json(ListForm::Array).root().compact()),
    };
    written.is_ok().then_some(bounded.text)
}

/// A text with a limit of bytes. A write above the limit fails.
struct Bounded {
    text: String,
    most: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if part.len() > self.most.saturating_sub(self.text.len()) {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use silica_scilla::types::Type;

    use super::*;

    #[track_caller]
    fn check(value: &Value, expected: &str) {
        for most in 0..expected.len() + 2 {
            let text = text_of(value, most);
            assert_eq!(text.as_deref(), (most >= expected.len()).then_some(expected), "{most}");
        }
    }

    #[test]
    fn text_is_written_up_to_a_limit() {
        check(&Value::string("a\"b").unwrap(), r#""a\"b""#);
        check(&Value::from(7_u32), r#""7""#);
        check(
            &Value::nat(1),
            concat!(
                r#"{"constructor":"Succ","argtypes":[],"arguments":["#,
                r#"{"constructor":"Zero","argtypes":[],"arguments":[]}]}"#,
            ),
        );
    }

    #[test]
    fn value_that_shares_without_end_has_no_text() {
        let mut value = Value::from(7_u32);
        for _ in 0..64 {
            value = Value::pair((Type::Unit, value.clone()), (Type::Unit, value));
        }
        assert_eq!(text_of(&value, usize::MAX), None);
    }
}
