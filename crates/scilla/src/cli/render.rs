//! Output of failures and warnings: as JSON, as plain lines like in the reference's tools, or drawn for people.

use std::{borrow::Cow, collections::HashMap, fmt::Write as _, ops::Range, sync::Arc};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::files::Files;
use crate::{
    diagnosis::{Diagnosis, diagnose, word_at},
    json::FailureReport,
    report::Warning,
    source::Location,
};

/// The output form of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Messages with lines of the source.
    Drawn {
        /// Whether the output has colours.
        colours: bool,
    },
    /// JSON in the form of the reference.
    Json,
    /// One line for each message, as in the reference's tools without `-jsonerrors`.
    Plain,
}

/// The meaning of the source position in an entry of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointing {
    /// The position is the end of the wrong part, as for parse errors.
    Behind,
    /// The position is the beginning of the wrong part.
    To,
}

/// Largest number of errors, and of warnings, in the output for people. Output for programs has no such limit.
const MOST_DRAWN: usize = 20;

/// Number of bytes that the report shows of a long line on each side of a source position.
const REACH: usize = 100;

/// Largest distance in lines of two source positions that one piece of the report shows.
const FARTHEST: u32 = 5000;

/// Longest text of a drawn message, in characters.
const LONGEST_MESSAGE: usize = 1000;

/// Returns the text of a report about a rejected program or a failed run.
pub(super) fn failure(report: &FailureReport<'_>, pointing: Pointing, style: Style, files: &Files) -> String {
    match style {
        Style::Json => format!("{}\n", report.to_json().root().pretty()),
        Style::Plain => plain(report),
        Style::Drawn { colours } => {
            let mut drawing = Drawing::new(colours, files);
            let errors = diagnose(report.failure);
            for error in errors.iter().take(MOST_DRAWN) {
                let pointing = if error.is_at_end() { pointing } else { Pointing::To };
                drawing.draw(Level::ERROR, error, pointing);
            }
            drawing.count_rest(errors.len(), "errors");
            drawing.warnings(report.warnings);
            drawing.drawn
        }
    }
}

/// Returns the text of warnings for people.
pub(super) fn warnings(warnings: &[Warning], colours: bool, files: &Files) -> String {
    let mut drawing = Drawing::new(colours, files);
    drawing.warnings(warnings);
    drawing.drawn
}

/// Returns the text of warnings, one line for each.
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

/// Messages that are drawn with their source lines.
struct Drawing<'f> {
    drawn: String,
    renderer: Renderer,
    files: &'f Files,
    /// The files that have been read, by name. The value is `None` if a file is not available.
    sources: HashMap<Arc<str>, Option<Lines>>,
}

impl<'f> Drawing<'f> {
    fn new(colours: bool, files: &'f Files) -> Self {
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        Self { drawn: String::new(), renderer, files, sources: HashMap::new() }
    }

    fn warnings(&mut self, warnings: &[Warning]) {
        for warning in warnings.iter().rev().take(MOST_DRAWN) {
            self.draw(Level::WARNING, &Diagnosis::from(warning), Pointing::To);
        }
        self.count_rest(warnings.len(), "warnings");
    }

    /// Adds the number of messages that are not drawn.
    fn count_rest(&mut self, all: usize, what: &str) {
        if let Some(more) = all.checked_sub(MOST_DRAWN).filter(|more| *more > 0) {
            // A write to a `String` cannot fail.
            let _ = writeln!(self.drawn, "and {more} more {what}\n");
        }
    }

    fn draw(&mut self, level: Level<'static>, shown: &Diagnosis, pointing: Pointing) {
        let message = shortened(shown.title.trim());
        let (title, rest) = message.split_once('\n').map_or((&*message, ""), |(title, rest)| (title, rest.trim()));
        let place = &shown.place;
        let read = |file: &Arc<str>| self.files.text_of(file).map(Lines::of);
        let source = self.sources.entry(Arc::clone(&place.file)).or_insert_with_key(read).as_ref();
        let line = source.and_then(|source| source.line(place.line));
        let whole = line.is_some_and(|line| line.len() <= 2 * REACH);
        let mut group = Group::with_title(level.primary_title(title));
        // A label that cannot be drawn at its place becomes a note.
        let mut apart: Vec<String> = Vec::new();
        let label = shown.label.as_deref();
        if let Some(source) = source.filter(|_| whole) {
            let (near, far): (Vec<_>, Vec<_>) = shown.others.iter().partition(|(at, _)| source.is_near(place, at));
            let lines = near.iter().map(|(at, _)| at.line).chain([place.line]);
            let (first, last) = (lines.clone().min().unwrap_or(place.line), lines.max().unwrap_or(place.line));
            let excerpt = source.excerpt(first, last);
            let range = excerpt.range(place, pointing);
            let mut annotations = vec![AnnotationKind::Primary.span(range).label(label)];
            for (at, label) in near {
                annotations.push(AnnotationKind::Context.span(excerpt.range(at, Pointing::To)).label(label.as_str()));
            }
            apart.extend(far.into_iter().map(|(at, label)| placed(at, label)));
            let number = usize::try_from(first).unwrap_or(1);
            let snippet = Snippet::source(excerpt.text).path(&*place.file).line_start(number);
            group = group.element(snippet.annotations(annotations));
        } else {
            if let Some(line) = line {
                let (line, column) = excerpt(line, place.column);
                let annotation = AnnotationKind::Primary.span(marked(&line, column, pointing)).label(label);
                // The snippet has only a part of the line, so its column would be wrong. A note has the full place.
                let number = usize::try_from(place.line).unwrap_or(1);
                group = group.element(Snippet::source(line).line_start(number).annotation(annotation));
            } else {
                apart.extend(label.map(str::to_owned));
            }
            if !place.file.is_empty() {
                apart.insert(0, format!("in {}:{}:{}", place.file, place.line, place.column));
            }
            apart.extend(shown.others.iter().map(|(at, label)| placed(at, label)));
        }
        if !rest.is_empty() {
            apart.push(rest.to_owned());
        }
        for note in apart.iter().chain(&shown.notes) {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        if let Some(help) = shown.help.as_deref().or_else(|| hint(&shown.title)) {
            group = group.element(Level::HELP.message(help));
        }
        self.drawn.push_str(&self.renderer.render(&[group]));
        self.drawn.push_str("\n\n");
    }
}

/// Returns a text with its source position in front.
fn placed(at: &Location, label: &str) -> String {
    format!("{}:{}:{}: {label}", at.file, at.line, at.column)
}

/// A text with the byte ranges of its lines.
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

    /// Returns a line without its line break, or `None` if it does not exist. The first line has number 1.
    fn line(&self, number: u32) -> Option<&[u8]> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.text.get(self.lines.get(index)?.clone())
    }

    /// Returns whether two source positions can be drawn together. The positions must be in the same file and at most
    /// [`FARTHEST`] lines apart, and the line of `other` must be short.
    fn is_near(&self, place: &Location, other: &Location) -> bool {
        let short = |line: &[u8]| line.len() <= 2 * REACH;
        other.file == place.file
            && other.line.abs_diff(place.line) <= FARTHEST
            && self.line(other.line).is_some_and(short)
    }

    /// Returns the lines from `first` to `last` as one text.
    fn excerpt(&self, first: u32, last: u32) -> Excerpt<'_> {
        let (mut text, mut starts) = (String::new(), Vec::new());
        for number in first..=last {
            starts.push(text.len());
            text.push_str(&String::from_utf8_lossy(self.line(number).unwrap_or_default()));
            text.push('\n');
        }
        Excerpt { source: self, first, text, starts }
    }
}

/// Consecutive lines of a text.
struct Excerpt<'l> {
    source: &'l Lines,
    first: u32,
    text: String,
    starts: Vec<usize>,
}

impl Excerpt<'_> {
    /// Returns the byte range in the excerpt to underline for a source position.
    fn range(&self, place: &Location, pointing: Pointing) -> Range<usize> {
        let index = usize::try_from(place.line.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let start = self.starts.get(index).copied().unwrap_or(0);
        let line = String::from_utf8_lossy(self.source.line(place.line).unwrap_or_default());
        let range = marked(&line, place.column, pointing);
        start + range.start..start + range.end
    }
}

/// Returns the part of a line around a column, and the column in this part.
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

/// Returns a message. A message of more than [`LONGEST_MESSAGE`] characters is truncated, and ends with `…`.
fn shortened(message: &str) -> Cow<'_, str> {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()).into(),
        None => message.into(),
    }
}

/// Returns the byte range of a line to underline at a column.
fn marked(line: &str, column: u32, pointing: Pointing) -> Range<usize> {
    word_at(line, column, pointing == Pointing::Behind)
}

/// Returns a help text for errors of the evaluator and of files. Only the error text identifies these errors.
fn hint(title: &str) -> Option<&'static str> {
    const BYTE_ORDER_MARK: &str =
        "some editors put this byte order mark at the beginning of a file; save the file without it";
    const HINTS: &[(&str, &str)] = &[
        ("Failed to import library (not found)", "the flag -libdir names the directories with libraries"),
        ("Insufficient gas", "set a higher limit with -gaslimit"),
        ("Ran out of gas", "set a higher limit with -gaslimit"),
        ("Unexpected character: \u{feff}", BYTE_ORDER_MARK),
        ("found '\\u{feff}'", BYTE_ORDER_MARK),
        ("Unknown file extension", "contracts are in .scilla files, libraries in .scillib, expressions in .scilexp"),
        ("Contract constraint violation", "the parameters in the init file do not meet the condition after `with`"),
    ];
    HINTS.iter().find(|(text, _)| title.contains(text)).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Entry, Failure};

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
    fn long_message_is_cut_at_its_end() {
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
