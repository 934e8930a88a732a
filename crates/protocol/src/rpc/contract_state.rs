//! The state of a contract as JSON text.
//!
//! A stored entry has a path: the name of a field, then the keys of its maps. In the text, each map is an object. So
//! the state of a contract with a map `balances` is `{"balances":{"0xab…":"5"},"owner":"0xcd…"}`.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::Value;

use crate::{
    amount::Qa,
    contract::{StorageKey, index_text, stored_value},
};

/// Member with the balance of the contract. No field can have this name.
const BALANCE: &str = "_balance";

/// Writes the state of a contract, or a part of it, as a JSON object, one entry after another.
///
/// # Examples
///
/// ```
/// use silica_protocol::{Qa, rpc::contract_state::StateWriter};
/// let mut writer = StateWriter::of_fields(Some(Qa::new(7)));
/// let mut text = Vec::new();
/// writer.add(&["balances", "\"0xab\""], b"\"5\"", &mut text);
/// writer.add(&["owner"], b"\"0xcd\"", &mut text);
/// writer.finish(&mut text);
/// assert_eq!(text, br#"{"_balance":"7","balances":{"0xab":"5"},"owner":"0xcd"}"#);
/// ```
#[derive(Debug)]
pub struct StateWriter {
    /// The text before the first entry; empty after it is written.
    head: String,
    /// The text after the last entry.
    tail: String,
    /// The balance; `None` after it is written, and if the object has no balance.
    balance: Option<Qa>,
    /// The parts of the stored key whose objects are open, the outermost object first.
    open: Vec<String>,
    /// Whether the innermost open object has members.
    has_members: bool,
}

impl StateWriter {
    /// Begins an object with all fields of a contract, and with its balance if `balance` is given.
    pub fn of_fields(balance: Option<Qa>) -> Self {
        Self { balance, ..Self::below([]) }
    }

    /// Begins an object inside objects with one member each. `names` has the names of these members, outermost first.
    pub fn below<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut head, mut tail) = around(names);
        head.push('{');
        tail.push('}');
        Self { head, tail, balance: None, open: Vec::new(), has_members: false }
    }

    /// Appends an entry. Entries must come in the order of the bytes of their stored keys.
    ///
    /// `path` has the parts of the stored key below the object that this writer began. An entry without a path is
    /// ignored.
    pub fn add(&mut self, path: &[&str], value: &[u8], out: &mut Vec<u8>) {
        let Some((last, objects)) = path.split_last() else { return };
        self.begin(out);
        let shared = self.open.iter().zip(objects).take_while(|(open, name)| open == *name).count();
        self.close(shared, out);
        if shared == 0 {
            self.add_balance(path.first().copied(), out);
        }
        for name in objects.get(shared..).unwrap_or_default() {
            self.open(name, out);
        }
        // The object of an empty map stays open. The next entry has another path, and closes the object.
        if value == StorageKey::EMPTY_MAP {
            return self.open(last, out);
        }
        self.add_name(last, out);
        write_value(value, out);
    }

    /// Appends the end of the text.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.begin(out);
        self.close(0, out);
        self.add_balance(None, out);
        out.extend(self.tail.as_bytes());
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend(core::mem::take(&mut self.head).as_bytes());
    }

    fn open(&mut self, name: &str, out: &mut Vec<u8>) {
        self.add_name(name, out);
        out.push(b'{');
        self.has_members = false;
        self.open.push(name.to_owned());
    }

    /// Closes all open objects except the outermost `kept`.
    fn close(&mut self, kept: usize, out: &mut Vec<u8>) {
        let closed = self.open.len().saturating_sub(kept);
        if closed > 0 {
            out.extend(core::iter::repeat_n(b'}', closed));
            self.open.truncate(kept);
            self.has_members = true;
        }
    }

    fn add_name(&mut self, name: &str, out: &mut Vec<u8>) {
        if self.has_members {
            out.push(b',');
        }
        self.has_members = true;
        match name.as_bytes() {
            // Most keys have the same text as their member, and need no parser.
            [b'"', inner @ .., b'"'] if is_plain(inner) => out.extend(name.as_bytes()),
            _ => out.extend(Value::from(index_text(name)).to_string().as_bytes()),
        }
        out.push(b':');
    }

    /// Appends the balance before the first field whose name is greater than `_balance`. `field` is `None` at the end
    /// of the text.
    fn add_balance(&mut self, field: Option<&str>, out: &mut Vec<u8>) {
        if field.is_none_or(|name| name > BALANCE)
            && let Some(balance) = self.balance.take()
        {
            self.add_name(BALANCE, out);
            write_value(format!("\"{balance}\"").as_bytes(), out);
        }
    }
}

/// Returns the text of a stored value inside objects with one member each. `names` has the names of these members,
/// outermost first.
pub fn nested_value<'a>(names: impl IntoIterator<Item = &'a str>, value: &[u8]) -> String {
    let (head, tail) = around(names);
    format!("{head}{}{tail}", stored_value(value))
}

/// Returns the texts before and after a value inside objects with one member each.
fn around<'a>(names: impl IntoIterator<Item = &'a str>) -> (String, String) {
    let mut head = String::new();
    let mut tail = String::new();
    for name in names {
        head.extend(["{", &Value::from(name).to_string(), ":"]);
        tail.push('}');
    }
    (head, tail)
}

/// Returns whether the content of a JSON string has no characters that JSON escapes.
fn is_plain(inner: &[u8]) -> bool {
    inner.iter().all(|byte| *byte >= b' ' && !matches!(byte, b'"' | b'\\'))
}

/// Writes a stored value as [`stored_value`] reads it.
fn write_value(value: &[u8], out: &mut Vec<u8>) {
    match value {
        [b'"', inner @ .., b'"'] if is_plain(inner) && core::str::from_utf8(inner).is_ok() => out.extend(value),
        _ => out.extend(stored_value(value).to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(mut writer: StateWriter, entries: &[(&[&str], &[u8])]) -> String {
        let mut text = Vec::new();
        for (path, value) in entries {
            writer.add(path, value, &mut text);
        }
        writer.finish(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn entries_of_a_map_share_an_object() {
        let entries: &[(&[&str], &[u8])] = &[
            (&["a", r#""x""#, r#""1""#], b"1"),
            (&["a", r#""x""#, r#""2""#], b"[ 2 ]"),
            (&["a", r#""y\u0041""#], &StorageKey::EMPTY_MAP),
            (&["b"], &StorageKey::EMPTY_MAP),
            (&["c"], b"\"\xff\""),
        ];
        let expected = "{\"a\":{\"x\":{\"1\":1,\"2\":[2]},\"yA\":{}},\"b\":{},\"c\":\"\\\"\u{fffd}\\\"\"}";
        assert_eq!(written(StateWriter::of_fields(None), entries), expected);
        let below = written(StateWriter::below(["m", "k\""]), &entries[3..4]);
        assert_eq!(below, r#"{"m":{"k\"":{"b":{}}}}"#);
    }

    #[test]
    fn balance_is_in_the_order_of_the_names() {
        let field = |name: &'static str| written(StateWriter::of_fields(Some(Qa::new(5))), &[(&[name], b"1")]);
        assert_eq!(field("Z"), r#"{"Z":1,"_balance":"5"}"#);
        assert_eq!(field("_c"), r#"{"_balance":"5","_c":1}"#);
        assert_eq!(written(StateWriter::of_fields(Some(Qa::ZERO)), &[]), r#"{"_balance":"0"}"#);
        assert_eq!(written(StateWriter::of_fields(None), &[]), "{}");
    }

    #[test]
    fn value_is_nested_in_its_path() {
        assert_eq!(nested_value(["m", "k\""], b"\"v\""), r#"{"m":{"k\"":"v"}}"#);
        assert_eq!(nested_value(["m"], &StorageKey::EMPTY_MAP), r#"{"m":{}}"#);
    }
}
