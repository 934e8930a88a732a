//! Output as text: each line is the name of a fact and its value.

use std::fmt::{self, Write as _};

use crate::terminal::visible;

/// Width of the name column, in characters.
const WIDTH: usize = 14;

/// Maximum length of a printed value, in characters. The JSON output has the whole value.
const LONGEST: usize = 2_000;

/// Lines of output, each with a name and a value. Values come from nodes. Therefore control characters are escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows(String);

impl Rows {
    /// Adds a line.
    pub(super) fn row(&mut self, name: &str, value: impl fmt::Display) -> &mut Self {
        self.line(&format!("{:WIDTH$} {}", visible(name), shown(&value.to_string())))
    }

    /// Adds a line if the value is `Some`.
    pub(super) fn maybe(&mut self, name: &str, value: Option<impl fmt::Display>) -> &mut Self {
        if let Some(value) = value {
            self.row(name, value);
        }
        self
    }

    /// Adds an indented line that belongs to the previous line.
    pub(super) fn detail(&mut self, name: &str, value: impl fmt::Display) -> &mut Self {
        self.line(&format!("{:WIDTH$}   {} = {}", "", visible(name), shown(&value.to_string())))
    }

    fn line(&mut self, text: &str) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(text);
        self
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn shown(value: &str) -> String {
    match value.char_indices().nth(LONGEST).and_then(|(end, _)| value.get(..end)) {
        Some(beginning) => format!("{}… ({} bytes in all)", visible(beginning), value.len()),
        None => visible(value),
    }
}

/// Returns the items as one line, separated by commas.
pub(super) fn listed(items: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let mut text = String::new();
    for item in items {
        let separator = if text.is_empty() { "" } else { ", " };
        write!(text, "{separator}{item}").expect("strings accept every write");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_at_the_same_column() {
        let mut rows = Rows::default();
        rows.row("block", 5).maybe("none", None::<u8>).row("event", "Sent\u{1b}[2J\nstatus").detail("to", "0x12");
        let expected = "block          5\nevent          Sent\\u{1b}[2J\\nstatus\n                 to = 0x12";
        assert_eq!(rows.to_string(), expected);
    }

    #[test]
    fn long_values_are_cut() {
        let row_of = |length| Rows::default().row("a", "é".repeat(length)).to_string();
        assert!(row_of(2_000).ends_with("éé"));
        assert_eq!(row_of(2_001), format!("{}… (4002 bytes in all)", row_of(2_000)));
    }
}
