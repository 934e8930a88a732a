//! Styled JSON text: the form in which receipts and init data are hashed.
//!
//! Styled text is the output of jsoncpp 1.7 and 1.8 with default settings, byte for byte
//! (Reference: formats#styled-json). The layout of these releases is part of the protocol.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt::{self, Display, Write};

use serde_json::{Map, Number, Value};

/// An array is on one line if the text between its brackets and blanks has less than this number of bytes. jsoncpp has
/// a right margin of 74 bytes, and the brackets and blanks take 4 bytes. jsoncpp also requires fewer than 25 elements.
/// Every array below this number of bytes has fewer than 25 elements.
const LINE: usize = 70;
/// Initial capacity of a text, in bytes. A receipt with an event and two messages has 1,700 bytes, so few texts grow.
const ROOM: usize = 2048;
/// Significant digits of a number with a fraction.
const DIGITS: i32 = 17;

/// Returns `value` as styled text.
///
/// Members are sorted by the bytes of their names. There is no line feed at the end.
///
/// # Examples
///
/// ```
/// let value = serde_json::json!({ "success": true, "errors": { "0": [8, 1] }, "exceptions": [] });
/// let text = silica_protocol::to_styled_json(&value);
/// assert_eq!(text, "{\n\t\"errors\" : \n\t{\n\t\t\"0\" : [ 8, 1 ]\n\t},\n\t\"exceptions\" : [],\n\t\"success\" : true\n}");
/// ```
pub fn to_styled_json(value: &Value) -> String {
    written(value, String::with_capacity(ROOM))
}

fn written<O: Output>(value: &Value, out: O) -> O {
    let mut writer = Writer::new(Layout::Styled, out);
    writer.write(value, Place::LineStart);
    writer.out
}

/// A destination for text.
pub(crate) trait Output: Write + Default {
    /// Adds text.
    fn push_str(&mut self, text: &str) {
        // No destination returns an error.
        let _ = self.write_str(text);
    }

    /// Adds the content of another destination.
    fn append(&mut self, other: &Self);

    /// Returns the number of added bytes.
    fn bytes(&self) -> usize;
}

impl Output for String {
    fn append(&mut self, other: &Self) {
        self.push_str(other);
    }

    fn bytes(&self) -> usize {
        self.len()
    }
}

/// Counts the bytes of a text, and does not store the text.
#[derive(Default)]
pub(crate) struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.saturating_add(text.len());
        Ok(())
    }
}

impl Output for Length {
    fn append(&mut self, other: &Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    fn bytes(&self) -> usize {
        self.0
    }
}

/// The layout of JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Without white space between the tokens.
    Compact,
    /// With the white space of jsoncpp.
    Styled,
}

/// The position of the next value. The position determines whether an opening bracket starts a new line.
#[derive(Clone, Copy)]
enum Place {
    AfterKey,
    LineStart,
}

/// Writes JSON text to a destination.
struct Writer<O> {
    out: O,
    layout: Layout,
    /// A line feed and the indentation of the current depth.
    line_start: String,
}

/// Returns the text of an object. `write` adds the members of the object.
pub(crate) fn write_object(layout: Layout, write: impl FnOnce(&mut Members<'_>)) -> String {
    object_to(String::with_capacity(ROOM), layout, write)
}

/// Returns the length in bytes of the styled text of an object. `write` adds the members of the object.
pub(crate) fn object_len(write: impl FnOnce(&mut Members<'_, Length>)) -> usize {
    object_to(Length::default(), Layout::Styled, write).bytes()
}

fn object_to<O: Output>(out: O, layout: Layout, write: impl FnOnce(&mut Members<'_, O>)) -> O {
    let mut writer = Writer::new(layout, out);
    writer.write_object(Place::LineStart, write);
    writer.out
}

/// Adds members to an object. There must be at least one member. Members must be in the byte order of their names.
pub(crate) struct Members<'w, O = String> {
    writer: &'w mut Writer<O>,
    is_empty: bool,
}

impl<O: Output> Members<'_, O> {
    fn name(&mut self, name: &str) -> &mut Writer<O> {
        self.writer.begin_item(core::mem::take(&mut self.is_empty));
        self.writer.write_name(name);
        self.writer
    }

    pub(crate) fn boolean(&mut self, name: &str, value: bool) {
        self.name(name).out.push_str(if value { "true" } else { "false" });
    }

    pub(crate) fn number(&mut self, name: &str, value: u32) {
        self.name(name).push(format_args!("{value}"));
    }

    pub(crate) fn string(&mut self, name: &str, value: &str) {
        push_string(&mut self.name(name).out, value);
    }

    /// Adds a string without characters that need an escape.
    pub(crate) fn plain(&mut self, name: &str, value: impl Display) {
        self.name(name).push(format_args!("\"{value}\""));
    }

    pub(crate) fn value(&mut self, name: &str, value: &Value) {
        self.name(name).write(value, Place::AfterKey);
    }

    pub(crate) fn object(&mut self, name: &str, write: impl FnOnce(&mut Members<'_, O>)) {
        self.name(name).write_object(Place::AfterKey, write);
    }

    /// Adds an array of objects.
    pub(crate) fn objects<T>(&mut self, name: &str, items: &[T], mut write: impl FnMut(&mut Members<'_, O>, &T)) {
        let writer = self.name(name);
        if items.is_empty() {
            return writer.out.push_str("[]");
        }
        writer.write_lines("[", "]", Place::AfterKey, items, |writer, item| {
            writer.write_object(Place::LineStart, |members| write(members, item));
        });
    }
}

impl<O: Output> Writer<O> {
    fn new(layout: Layout, out: O) -> Self {
        Self { out, layout, line_start: String::from('\n') }
    }

    fn write(&mut self, value: &Value, place: Place) {
        match value {
            Value::Array(elements) if elements.is_empty() => self.out.push_str("[]"),
            Value::Array(elements) => match self.one_line(elements) {
                Some(line) => {
                    self.out.push_str("[ ");
                    self.out.append(&line);
                    self.out.push_str(" ]");
                }
                None => self.write_lines("[", "]", place, elements, |writer, element| {
                    writer.write(element, Place::LineStart);
                }),
            },
            Value::Object(members) if members.is_empty() => self.out.push_str("{}"),
            Value::Object(members) => self.write_lines("{", "}", place, sorted(members), |writer, (name, member)| {
                writer.write_name(name);
                writer.write(member, Place::AfterKey);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => push_scalar(&mut self.out, value),
        }
    }

    fn write_object(&mut self, place: Place, write: impl FnOnce(&mut Members<'_, O>)) {
        self.begin("{", place);
        write(&mut Members { writer: self, is_empty: true });
        self.end("}");
    }

    /// Writes a container with each item on a separate line.
    fn write_lines<T>(
        &mut self,
        open: &str,
        close: &str,
        place: Place,
        items: impl IntoIterator<Item = T>,
        mut write_item: impl FnMut(&mut Self, T),
    ) {
        self.begin(open, place);
        for (position, item) in items.into_iter().enumerate() {
            self.begin_item(position == 0);
            write_item(self, item);
        }
        self.end(close);
    }

    fn begin(&mut self, open: &str, place: Place) {
        match place {
            Place::AfterKey => self.break_line(),
            Place::LineStart => {}
        }
        self.out.push_str(open);
        self.line_start.push('\t');
    }

    fn begin_item(&mut self, is_first: bool) {
        if !is_first {
            self.out.push_str(",");
        }
        self.break_line();
    }

    fn end(&mut self, close: &str) {
        self.line_start.pop();
        self.break_line();
        self.out.push_str(close);
    }

    fn break_line(&mut self) {
        match self.layout {
            Layout::Styled => self.out.push_str(&self.line_start),
            Layout::Compact => {}
        }
    }

    fn write_name(&mut self, name: &str) {
        push_string(&mut self.out, name);
        self.out.push_str(match self.layout {
            Layout::Styled => " : ",
            Layout::Compact => ":",
        });
    }

    fn push(&mut self, text: fmt::Arguments<'_>) {
        // No destination returns an error.
        let _ = self.out.write_fmt(text);
    }

    fn one_line(&self, elements: &[Value]) -> Option<O> {
        match self.layout {
            Layout::Styled => one_line(elements),
            Layout::Compact => None,
        }
    }
}

/// Returns the text between the brackets of an array that fits on one line, or `None` if it does not fit.
fn one_line<O: Output>(elements: &[Value]) -> Option<O> {
    let mut line = O::default();
    for (position, element) in elements.iter().enumerate() {
        if position > 0 {
            line.push_str(", ");
        }
        match element {
            Value::Array(inner) if inner.is_empty() => line.push_str("[]"),
            Value::Object(inner) if inner.is_empty() => line.push_str("{}"),
            Value::Array(_) | Value::Object(_) => return None,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => push_scalar(&mut line, element),
        }
        if line.bytes() >= LINE {
            return None;
        }
    }
    Some(line)
}

/// Sorts members by the bytes of their names. Any crate can enable a feature of `serde_json` that keeps the members in
/// another order.
fn sorted(members: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    members
}

fn push_scalar(out: &mut impl Output, value: &Value) {
    match value {
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(text) => push_string(out, text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => out.push_str(&value.to_string()),
    }
}

/// Writes a string with the escapes of jsoncpp, which does not escape `/`, DEL and characters beyond ASCII.
fn push_string(out: &mut impl Output, text: &str) {
    out.push_str("\"");
    let mut rest = text;
    while let Some(place) = rest.bytes().position(is_quoted)
        && let Some((before, after)) = rest.split_at_checked(place)
    {
        out.push_str(before);
        let mut after = after.chars();
        after.next().into_iter().for_each(|char| push_quoted(out, char));
        rest = after.as_str();
    }
    out.push_str(rest);
    out.push_str("\"");
}

const fn is_quoted(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

fn push_quoted(out: &mut impl Output, char: char) {
    match char {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        other => out.push_str(&format!("\\u{:04X}", u32::from(other))),
    }
}

fn number_text(number: &Number) -> String {
    match (number.is_f64(), number.as_f64()) {
        (true, Some(float)) => float_text(float),
        (true, None) | (false, _) => number.to_string(),
    }
}

/// Writes a number with a fraction like `%.17g` of C. Adds `.0` to a result without point and exponent.
fn float_text(float: f64) -> String {
    let scientific = format!("{float:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("this format always has an exponent");
    let exponent: i32 = exponent.parse().expect("this format's exponent is an integer");
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS.saturating_sub(exponent).saturating_sub(1));
        let fixed = format!("{float:.0$}", decimals.expect("the exponent is below the number of digits"));
        let text = trim_zeros(&fixed);
        return if text.contains('.') { text.to_owned() } else { format!("{text}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.unsigned_abs())
}

fn trim_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::arbitrary::any_json;

    fn check(value: &Value, expected: &str) {
        assert_eq!(to_styled_json(value), expected);
    }

    /// Returns the styled text of an array with one string of `len` characters.
    fn array_of_one(len: usize) -> String {
        to_styled_json(&json!(["x".repeat(len)]))
    }

    #[test]
    fn scalars_stand_alone() {
        check(&json!(null), "null");
        check(&json!(true), "true");
        check(&json!(-7), "-7");
        check(&json!(u64::MAX), "18446744073709551615");
        check(&json!("a"), "\"a\"");
    }

    #[test]
    fn empty_containers_have_no_space() {
        check(&json!([]), "[]");
        check(&json!({}), "{}");
        check(&json!({"a": [], "b": {}}), "{\n\t\"a\" : [],\n\t\"b\" : {}\n}");
        check(&json!([[], {}]), "[ [], {} ]");
    }

    #[test]
    fn line_of_73_columns_is_the_longest() {
        // Brackets and blanks take four columns, and quotes two.
        assert_eq!(array_of_one(67), format!("[ \"{}\" ]", "x".repeat(67)));
        assert_eq!(array_of_one(68), format!("[\n\t\"{}\"\n]", "x".repeat(68)));
    }

    #[test]
    fn separators_count_toward_the_width() {
        let two = |len| to_styled_json(&json!(["x".repeat(len), 1]));
        assert!(two(64).starts_with("[ "));
        assert!(two(65).starts_with("[\n"));
    }

    #[test]
    fn width_counts_bytes_and_escapes() {
        assert!(to_styled_json(&json!(["é".repeat(33)])).starts_with("[ "));
        assert!(to_styled_json(&json!(["é".repeat(34)])).starts_with("[\n"));
        assert!(to_styled_json(&json!(["\n".repeat(33)])).starts_with("[ "));
        assert!(to_styled_json(&json!(["\n".repeat(34)])).starts_with("[\n"));
    }

    #[test]
    fn twenty_three_elements_are_the_most_on_a_line() {
        check(&json!(vec![1; 23]), &format!("[ {}1 ]", "1, ".repeat(22)));
        // 24 digits make 4 + 46 + 24 = 74 columns. jsoncpp also breaks the line of any array with 25 elements.
        check(&json!(vec![1; 24]), &format!("[\n\t{}1\n]", "1,\n\t".repeat(23)));
        check(&json!(vec![1; 25]), &format!("[\n\t{}1\n]", "1,\n\t".repeat(24)));
    }

    #[test]
    fn array_with_a_filled_container_has_a_line_for_each_element() {
        check(&json!([1, [2]]), "[\n\t1,\n\t[ 2 ]\n]");
        check(&json!([{"a": 1}, 2]), "[\n\t{\n\t\t\"a\" : 1\n\t},\n\t2\n]");
    }

    #[test]
    fn container_after_a_key_begins_a_line_and_leaves_a_space() {
        check(&json!({"a": {"b": [[1]]}}), "{\n\t\"a\" : \n\t{\n\t\t\"b\" : \n\t\t[\n\t\t\t[ 1 ]\n\t\t]\n\t}\n}");
        check(&json!({"a": [1]}), "{\n\t\"a\" : [ 1 ]\n}");
    }

    #[test]
    fn members_are_sorted_by_bytes() {
        let value: Value = serde_json::from_str(r#"{"b":1,"a":2,"_":3,"A":4,"10":5,"2":6,"é":7,"aa":8}"#).unwrap();
        let text = to_styled_json(&value);
        let names: Vec<_> = text.lines().filter_map(|line| line.split('"').nth(1)).collect();
        assert_eq!(names, ["10", "2", "A", "_", "a", "aa", "b", "é"]);
    }

    #[test]
    fn control_characters_are_escaped_in_upper_case() {
        check(&json!("\"\\\u{8}\u{c}\n\r\t"), r#""\"\\\b\f\n\r\t""#);
        check(&json!("\0\u{1}\u{b}\u{1f}"), r#""\u0000\u0001\u000B\u001F""#);
        check(&json!({"\u{1e}": 0}), "{\n\t\"\\u001E\" : 0\n}");
    }

    #[test]
    fn other_characters_stay_as_they_are() {
        check(&json!("/\u{7f}é€😀\u{80}"), "\"/\u{7f}é€😀\u{80}\"");
    }

    #[test]
    fn fractions_have_seventeen_digits() {
        check(&json!(1.5), "1.5");
        check(&json!(0.1), "0.10000000000000001");
        check(&json!(-2.0), "-2.0");
        check(&json!(0.0), "0.0");
        check(&json!(0.0001), "0.0001");
        check(&json!(0.00001), "1.0000000000000001e-05");
        check(&json!(1e16), "10000000000000000.0");
        check(&json!(1e17), "1e+17");
        check(&json!(1e20), "1e+20");
        check(&json!(1.25e-300), "1.25e-300");
        check(&json!(123_456_789.123_456_79), "123456789.12345679");
    }

    proptest::proptest! {
        #[test]
        fn length_is_that_of_the_text(value in any_json()) {
            proptest::prop_assert_eq!(written(&value, Length::default()).bytes(), to_styled_json(&value).len());
        }

        #[test]
        fn styled_text_is_the_same_value(value in any_json()) {
            let text = to_styled_json(&value);
            proptest::prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}
