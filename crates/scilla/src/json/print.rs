//! Text forms of documents.

use std::fmt::{self, Write as _};

use super::document::{Document, Elements, Json, Kind, Members};

impl<'a> Json<'a> {
    /// Returns the value as text without white space.
    pub const fn compact(self) -> Compact<'a> {
        Compact(self)
    }

    /// Returns the value as text, on several lines if one line of 80 columns is too short.
    pub const fn pretty(self) -> Pretty<'a> {
        Pretty(self)
    }
}

impl fmt::Display for Document {
    /// Writes the outermost value as text without white space.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.root().compact(), f)
    }
}

/// The parts of a container that remain to be printed.
enum Rest<'a> {
    Array(Elements<'a>),
    Object(Members<'a>),
}

impl<'a> Rest<'a> {
    fn of(value: Json<'a>) -> Option<Self> {
        value.elements().map(Self::Array).or_else(|| value.members().map(Self::Object))
    }

    fn next(&mut self) -> Option<(Option<&'a str>, Json<'a>)> {
        match self {
            Self::Array(elements) => elements.next().map(|value| (None, value)),
            Self::Object(members) => members.next().map(|(key, value)| (Some(key), value)),
        }
    }

    const fn opening(&self) -> char {
        match self {
            Self::Array(_) => '[',
            Self::Object(_) => '{',
        }
    }

    const fn closing(&self) -> char {
        match self {
            Self::Array(_) => ']',
            Self::Object(_) => '}',
        }
    }
}

/// A value without white space.
#[derive(Clone, Copy, Debug)]
pub struct Compact<'a>(Json<'a>);

impl fmt::Display for Compact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        walk(self.0, f, Style::COMPACT)
    }
}

/// A value on several lines if one line of 80 columns is too short.
#[derive(Clone, Copy, Debug)]
pub struct Pretty<'a>(Json<'a>);

impl fmt::Display for Pretty<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut open: Vec<Rest<'_>> = Vec::new();
        let mut next = Some((None, self.0));
        let mut first = true;
        loop {
            let indent = indentation(open.len());
            if let Some((key, value)) = next {
                if !open.is_empty() {
                    f.write_str(if first { "\n" } else { ",\n" })?;
                    write!(f, "{:indent$}", "")?;
                }
                first = pretty_value(key, value, indent, f, &mut open)?;
            } else if let Some(rest) = open.pop() {
                write!(f, "\n{:width$}{}", "", rest.closing(), width = indentation(open.len()))?;
                first = false;
            }
            match open.last_mut() {
                Some(rest) => next = rest.next(),
                None => return Ok(()),
            }
        }
    }
}

/// Prints a value on the current line if it fits. Otherwise, prints the opening bracket of the value. Returns whether
/// the value remains open.
fn pretty_value<'a>(
    key: Option<&str>,
    value: Json<'a>,
    indent: usize,
    f: &mut fmt::Formatter<'_>,
    open: &mut Vec<Rest<'a>>,
) -> Result<bool, fmt::Error> {
    let mut used = indent;
    if let Some(key) = key {
        let mut counter = Counter::up_to(LINE);
        let _ = quoted(key, &mut counter);
        used += counter.count + 2;
        quoted(key, f)?;
        f.write_str(":")?;
    }
    let mut counter = Counter::up_to(LINE.saturating_sub(used));
    let fits = walk(value, &mut counter, Style::LINE).is_ok();
    let rest = Rest::of(value).filter(|_| !fits);
    if key.is_some() {
        if !fits && rest.is_none() {
            write!(f, "\n{:width$}", "", width = indent + 2)?;
        } else {
            f.write_str(" ")?;
        }
    }
    match rest {
        Some(rest) => {
            f.write_char(rest.opening())?;
            open.push(rest);
            Ok(true)
        }
        None => walk(value, f, Style::LINE).map(|()| false),
    }
}

/// Maximum width of a line, in columns.
const LINE: usize = 80;

/// Returns the number of spaces in front of a line: two for each level, at most 160. Without this limit, the text of a
/// deep value would grow with the square of its depth.
fn indentation(depth: usize) -> usize {
    depth.min(LINE) * 2
}

/// Counts the bytes of a text as columns, and fails above a limit. So the check whether a value fits reads at most one
/// line of its text.
struct Counter {
    count: usize,
    limit: usize,
}

impl Counter {
    const fn up_to(limit: usize) -> Self {
        Self { count: 0, limit }
    }
}

impl fmt::Write for Counter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.count += text.len();
        if self.count > self.limit { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The use of spaces in a value on one line.
#[derive(Clone, Copy)]
struct Style {
    inside: &'static str,
    comma: &'static str,
    colon: &'static str,
}

impl Style {
    const COMPACT: Self = Self { inside: "", comma: ",", colon: ":" };
    const LINE: Self = Self { inside: " ", comma: ", ", colon: ": " };
}

/// Prints a value on one line.
fn walk(value: Json<'_>, out: &mut impl fmt::Write, style: Style) -> fmt::Result {
    let mut open: Vec<Rest<'_>> = Vec::new();
    let mut next = value;
    loop {
        match Rest::of(next) {
            None => scalar(next, out)?,
            Some(mut rest) => {
                out.write_char(rest.opening())?;
                if let Some((key, value)) = rest.next() {
                    out.write_str(style.inside)?;
                    begin(key, out, style)?;
                    open.push(rest);
                    next = value;
                    continue;
                }
                out.write_char(rest.closing())?;
            }
        }
        loop {
            let Some(rest) = open.last_mut() else { return Ok(()) };
            if let Some((key, value)) = rest.next() {
                out.write_str(style.comma)?;
                begin(key, out, style)?;
                next = value;
                break;
            }
            out.write_str(style.inside)?;
            out.write_char(rest.closing())?;
            open.pop();
        }
    }
}

fn begin(key: Option<&str>, out: &mut impl fmt::Write, style: Style) -> fmt::Result {
    key.map_or(Ok(()), |key| {
        quoted(key, out)?;
        out.write_str(style.colon)
    })
}

fn scalar(value: Json<'_>, out: &mut impl fmt::Write) -> fmt::Result {
    match value.kind() {
        Kind::String => quoted(value.as_str().unwrap_or_default(), out),
        Kind::Integer | Kind::Float => out.write_str(value.as_number().unwrap_or_default()),
        Kind::Boolean => out.write_str(if value.as_bool() == Some(true) { "true" } else { "false" }),
        Kind::Null | Kind::Array | Kind::Object => out.write_str("null"),
    }
}

/// Writes a string in quotes.
///
/// # Errors
///
/// If the writer fails.
pub fn quoted(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = text;
    while let Some(place) = rest.find(|char: char| char == '"' || char == '\\' || char < ' ') {
        let (plain, special) = rest.split_at(place);
        out.write_str(plain)?;
        let mut chars = special.chars();
        match chars.next() {
            Some('\u{8}') => out.write_str("\\b")?,
            Some('\u{c}') => out.write_str("\\f")?,
            Some('\n') => out.write_str("\\n")?,
            Some('\r') => out.write_str("\\r")?,
            Some('\t') => out.write_str("\\t")?,
            Some(char @ ('"' | '\\')) => write!(out, "\\{char}")?,
            Some(char) => write!(out, "\\u{:04x}", u32::from(char))?,
            None => {}
        }
        rest = chars.as_str();
    }
    out.write_str(rest)?;
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use crate::json::parse;

    fn check(text: &str) {
        let document = parse(text.as_bytes()).expect("the test gives JSON");
        assert_eq!(document.root().pretty().to_string(), text);
    }

    #[test]
    fn short_values_take_one_line() {
        check("[]");
        check("{}");
        check(r#"{ "a": [ 1, "b" ], "c": {} }"#);
    }

    #[test]
    fn long_values_take_several() {
        check(
            r#"[
  { "vname": "backers", "type": "Map (ByStr20) (Uint128)", "value": [] },
  {
    "vname": "funded",
    "type": "Bool",
    "value": { "constructor": "False", "argtypes": [], "arguments": [] }
  }
]"#,
        );
        check(
            r#"{
  "error_message":
    "a text so long that it would stand out beyond the eightieth column of the line"
}"#,
        );
    }

    #[test]
    fn control_characters_are_escaped() {
        let document = parse(br#"["\u0001\b"]"#).expect("the test gives JSON");
        assert_eq!(document.root().compact().to_string(), r#"["\u0001\b"]"#);
    }
}
