//! How failures and warnings are told: as JSON, in the lines of the reference's tools, or drawn for people.

use std::{borrow::Cow, collections::HashMap, fmt::Write as _, ops::Range, sync::Arc};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::files::Files;
use crate::{
    json::FailureReport,
    report::{Entry, Warning},
    source::Location,
};

/// How a command tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// With the line of the source, and colours if asked for.
    Drawn {
        /// Whether to use colours.
        colours: bool,
    },
    /// As the JSON of the reference.
    Json,
    /// Line by line, as the reference's tools without `-jsonerrors`.
    Plain,
}

/// What part of a text the place of an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointing {
    /// The end of what is wrong: so places of parse errors are given.
    Behind,
    /// Its beginning.
    To,
}

/// How many errors, and how many warnings, are drawn for people; tools are told all.
const MOST_DRAWN: usize = 20;

/// How many bytes of a line are drawn on each side of a place.
const REACH: usize = 100;

/// How many characters of a message are drawn.
const LONGEST_MESSAGE: usize = 1000;

/// Tells why a program was rejected or a run failed.
pub(super) fn failure(report: &FailureReport<'_>, pointing: Pointing, style: Style, files: &Files) -> String {
    match style {
        Style::Json => format!("{}\n", report.to_json().root().pretty()),
        Style::Plain => plain(report),
        Style::Drawn { colours } => {
            let mut drawing = Drawing::new(colours, files);
            let entries = report.failure.entries();
            for entry in entries.iter().take(MOST_DRAWN) {
                let behind = entry.message.contains("but found") || entry.message.starts_with("Lexical error: ");
                let pointing = if behind { pointing } else { Pointing::To };
                drawing.draw(Level::ERROR, &entry.message, &entry.start, pointing, hint(entry));
            }
            drawing.count_rest(entries.len(), "errors");
            drawing.warnings(report.warnings);
            if let Some(gas) = report.gas_remaining {
                // A `String` accepts every write.
                let _ = writeln!(drawing.drawn, "gas remaining: {gas}");
            }
            drawing.drawn
        }
    }
}

/// Tells warnings for people.
pub(super) fn warnings(warnings: &[Warning], colours: bool, files: &Files) -> String {
    let mut drawing = Drawing::new(colours, files);
    drawing.warnings(warnings);
    drawing.drawn
}

/// Tells warnings line by line.
pub(super) fn plain_warnings(warnings: &[Warning]) -> String {
    let line = |warning: &Warning| {
        let Location { file, line, column } = &warning.start;
        format!("{file}:{line}:{column}: warning: [{}] {}\n", warning.id, warning.message)
    };
    warnings.iter().map(line).collect()
}

fn plain(report: &FailureReport<'_>) -> String {
    let mut text = String::new();
    for entry in report.failure.entries() {
        let Location { file, line, column } = &entry.start;
        let message = entry.message.replace('\n', " ");
        let _ = write!(text, "\n{file}:{line}:{column}: error: {message}");
    }
    text.push_str("\n\n");
    text.push_str(&plain_warnings(report.warnings));
    if let Some(gas) = report.gas_remaining {
        let _ = writeln!(text, "Gas remaining: {gas}");
    }
    text
}

/// Messages drawn with the lines they are about.
struct Drawing<'f> {
    drawn: String,
    renderer: Renderer,
    files: &'f Files,
    /// The files that were asked for; none for those that cannot be found again.
    sources: HashMap<Arc<str>, Option<Lines>>,
}

impl<'f> Drawing<'f> {
    fn new(colours: bool, files: &'f Files) -> Self {
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        Self { drawn: String::new(), renderer, files, sources: HashMap::new() }
    }

    fn warnings(&mut self, warnings: &[Warning]) {
        for warning in warnings.iter().rev().take(MOST_DRAWN) {
            self.draw(Level::WARNING, &warning.message, &warning.start, Pointing::To, None);
        }
        self.count_rest(warnings.len(), "warnings");
    }

    /// Says how many there are beside those that were drawn.
    fn count_rest(&mut self, all: usize, what: &str) {
        if let Some(more) = all.checked_sub(MOST_DRAWN).filter(|more| *more > 0) {
            // A `String` accepts every write.
            let _ = writeln!(self.drawn, "and {more} more {what}\n");
        }
    }

    fn draw(
        &mut self,
        level: Level<'static>,
        message: &str,
        place: &Location,
        pointing: Pointing,
        hint: Option<&'static str>,
    ) {
        let message = shortened(message.trim());
        let (title, rest) = message.split_once('\n').map_or((&*message, ""), |(title, rest)| (title, rest.trim()));
        let read = |file: &Arc<str>| self.files.text_of(file).map(Lines::of);
        let source = self.sources.entry(Arc::clone(&place.file)).or_insert_with_key(read);
        let line = source.as_ref().and_then(|source| source.line(place.line));
        let whole = line.is_some_and(|line| line.len() <= 2 * REACH);
        let line = line.map(|line| excerpt(line, place.column));
        let mut group = Group::with_title(level.primary_title(title));
        if let Some((line, column)) = &line {
            let range = marked(line, *column, pointing);
            let annotation = AnnotationKind::Primary.span(range);
            let number = usize::try_from(place.line).unwrap_or(1);
            // With a part of a line, the column would be told as if that were the whole.
            let path = whole.then_some(&*place.file);
            group = group.element(Snippet::source(&**line).path(path).line_start(number).annotation(annotation));
        }
        if !whole && !place.file.is_empty() {
            group = group.element(Level::NOTE.message(format!("in {}:{}:{}", place.file, place.line, place.column)));
        }
        if !rest.is_empty() {
            group = group.element(Level::NOTE.message(rest));
        }
        if let Some(hint) = hint {
            group = group.element(Level::HELP.message(hint));
        }
        self.drawn.push_str(&self.renderer.render(&[group]));
        self.drawn.push_str("\n\n");
    }
}

/// A text and where its lines are.
struct Lines {
    text: Cow<'static, [u8]>,
    lines: Vec<Range<usize>>,
}

impl Lines {
    fn of(text: Cow<'static, [u8]>) -> Self {
        let (mut lines, mut start, mut bytes) = (Vec::new(), 0, text.iter().copied().enumerate().peekable());
        while let Some((at, byte)) = bytes.next() {
            if matches!(byte, b'\n' | b'\r') {
                lines.push(start..at);
                start = at + 1;
                if byte == b'\r' && bytes.next_if(|(_, next)| *next == b'\n').is_some() {
                    start += 1;
                }
            }
        }
        lines.push(start..text.len());
        Self { text, lines }
    }

    /// Returns a line, counted from 1, without what ends it.
    fn line(&self, number: u32) -> Option<&[u8]> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.text.get(self.lines.get(index)?.clone())
    }
}

/// Returns what is drawn of a line around a column, and the column there.
fn excerpt(line: &[u8], column: u32) -> (Cow<'_, str>, u32) {
    if line.len() <= 2 * REACH {
        return (String::from_utf8_lossy(line), column);
    }
    let at = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1).min(line.len());
    let start = at.saturating_sub(REACH);
    let before = String::from_utf8_lossy(line.get(start..at).unwrap_or_default());
    let after = String::from_utf8_lossy(line.get(at..line.len().min(at + REACH)).unwrap_or_default());
    let column = u32::try_from(before.len() + 1).unwrap_or(u32::MAX);
    (format!("{before}{after}").into(), column)
}

/// Returns a message of which the end is left out if it is very long.
fn shortened(message: &str) -> Cow<'_, str> {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()).into(),
        None => message.into(),
    }
}

/// Returns the bytes of a line that a place means: the word that begins or ends there, or one byte.
fn marked(line: &str, column: u32, pointing: Pointing) -> Range<usize> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'\'');
    let at = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1).min(line.len());
    let (before, after) = line.as_bytes().split_at(at);
    let (start, end) = match pointing {
        Pointing::To => (at, at + after.iter().take_while(|byte| is_word(byte)).count().max(1)),
        Pointing::Behind => (at - before.iter().rev().take_while(|byte| is_word(byte)).count().max(1).min(at), at),
    };
    let start = (0..=start.min(line.len())).rev().find(|place| line.is_char_boundary(*place)).unwrap_or(0);
    let end = (end.min(line.len())..=line.len()).find(|place| line.is_char_boundary(*place)).unwrap_or(line.len());
    start..end
}

/// Returns what may help.
fn hint(entry: &Entry) -> Option<&'static str> {
    const BYTE_ORDER_MARK: &str = "this is the mark with which some editors begin a file; save it without one";
    const HINTS: &[(&str, &str)] = &[
        ("Failed to import library (not found)", "libraries are looked for in the directories given with -libdir"),
        ("Insufficient gas", "give more with -gaslimit"),
        ("Ran out of gas", "give more with -gaslimit"),
        ("No data type with this constructor", "a procedure whose result is bound begins with a small letter"),
        ("Unexpected character: \u{feff}", BYTE_ORDER_MARK),
        ("found '\\u{feff}'", BYTE_ORDER_MARK),
        ("Unknown file extension", "contracts are in .scilla files, libraries in .scillib, expressions in .scilexp"),
        ("Non-exhaustive pattern match", "add a clause for what is left over; `_` fits everything"),
        ("Contract constraint violation", "the parameters in the init file do not meet what stands after `with`"),
    ];
    HINTS.iter().find(|(text, _)| entry.message.contains(text)).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Failure;

    fn place(line: u32, column: u32) -> Location {
        Location { file: "a.scilla".into(), line, column }
    }

    #[test]
    fn plain_lines_are_those_of_the_reference() {
        let failure = Failure::of(Entry::at(place(9, 3), "no\ngood")).followed_by(Entry::nowhere("more"));
        let warning = Warning { message: "odd".into(), start: place(1, 2), end: Location::default(), id: 3 };
        let report = FailureReport { gas_remaining: Some(8000), failure: &failure, warnings: &[warning] };
        assert_eq!(
            plain(&report),
            "\na.scilla:9:3: error: no good\n:0:0: error: more\n\na.scilla:1:2: warning: [3] odd\nGas remaining: 8000\n"
        );
    }

    #[test]
    fn lines_are_found_past_all_line_breaks() {
        let lines = |text: &'static [u8]| Lines::of(text.into());
        let four = lines(b"one\ntwo\r\nthree\rfour");
        let found: Vec<_> = (0..6).map(|number| four.line(number)).collect();
        let expected: [Option<&[u8]>; 6] = [None, Some(b"one"), Some(b"two"), Some(b"three"), Some(b"four"), None];
        assert_eq!(found, expected);
        let none: &[u8] = b"";
        let found: Vec<_> = (1..5).map(|number| lines(b"\n\r").line(number).map(<[u8]>::to_vec)).collect();
        assert_eq!(found, [Some(none.to_vec()), Some(none.to_vec()), Some(none.to_vec()), None]);
    }

    #[test]
    fn a_long_line_is_drawn_in_part() {
        let line = format!("{}x{}", "a".repeat(5000), "b".repeat(5000));
        let (part, column) = excerpt(line.as_bytes(), 5001);
        assert_eq!((part.len(), column), (2 * REACH, 101));
        assert_eq!(part.as_bytes()[REACH], b'x');
        assert_eq!(excerpt(&[0xbf; 5000], 9000).1, 301, "a byte that is no character becomes three");
        assert_eq!(excerpt("é = x".as_bytes(), 4), ("é = x".into(), 4));
    }

    #[test]
    fn a_long_message_has_its_end_left_out() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"é".repeat(2000)), "é".repeat(LONGEST_MESSAGE) + "…");
    }

    #[test]
    fn of_many_errors_some_are_drawn() {
        let entries = (1..=50).map(|line| Entry::at(place(line, 1), "no")).collect();
        let failure = Failure::from_entries(entries).unwrap();
        let report = FailureReport { gas_remaining: None, failure: &failure, warnings: &[] };
        let files = Files::new("nowhere".into(), "stdlib".into());
        let drawn = super::failure(&report, Pointing::To, Style::Drawn { colours: false }, &files);
        assert_eq!(drawn.matches("error: no").count(), MOST_DRAWN);
        assert!(drawn.ends_with("and 30 more errors\n\n"), "{drawn}");
        assert_eq!(super::failure(&report, Pointing::To, Style::Plain, &files).matches("error: no").count(), 50);
    }

    #[test]
    fn a_place_means_a_word() {
        assert_eq!(marked("let x_1 = y", 5, Pointing::To), 4..7);
        assert_eq!(marked("let x_1 = y", 8, Pointing::Behind), 4..7);
        assert_eq!(marked("a => b", 3, Pointing::To), 2..3);
        assert_eq!(marked("", 1, Pointing::To), 0..0);
        assert_eq!(marked("", 9, Pointing::Behind), 0..0);
        assert_eq!(marked("é", 2, Pointing::To), 0..2);
    }
}
