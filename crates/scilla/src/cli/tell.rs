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

/// Tells why a program was rejected or a run failed.
pub(super) fn failure(report: &FailureReport<'_>, pointing: Pointing, style: Style, files: &Files) -> String {
    match style {
        Style::Json => format!("{}\n", report.to_json().root().pretty()),
        Style::Plain => plain(report),
        Style::Drawn { colours } => {
            let mut drawing = Drawing::new(colours, files);
            for entry in report.failure.entries() {
                let behind = entry.message.contains("but found") || entry.message.starts_with("Lexical error: ");
                let pointing = if behind { pointing } else { Pointing::To };
                drawing.draw(Level::ERROR, &entry.message, &entry.start, pointing, hint(entry));
            }
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
        for warning in warnings.iter().rev() {
            self.draw(Level::WARNING, &warning.message, &warning.start, Pointing::To, None);
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
        let message = message.trim();
        let (title, rest) = message.split_once('\n').map_or((message, ""), |(title, rest)| (title, rest.trim()));
        let read = |file: &Arc<str>| self.files.text_of(file).map(Lines::of);
        let source = self.sources.entry(Arc::clone(&place.file)).or_insert_with_key(read);
        let line = source.as_ref().and_then(|source| source.line(place.line)).map(String::from_utf8_lossy);
        let mut group = Group::with_title(level.primary_title(title));
        if let Some(line) = line.as_deref() {
            let range = marked(line, place.column, pointing);
            let annotation = AnnotationKind::Primary.span(range);
            let number = usize::try_from(place.line).unwrap_or(1);
            group = group.element(Snippet::source(line).path(&*place.file).line_start(number).annotation(annotation));
        } else if !place.file.is_empty() {
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
    const HINTS: &[(&str, &str)] = &[
        ("Failed to import library (not found)", "libraries are looked for in the directories given with -libdir"),
        ("Insufficient gas", "give more with -gaslimit"),
        ("Ran out of gas", "give more with -gaslimit"),
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
    fn a_place_means_a_word() {
        assert_eq!(marked("let x_1 = y", 5, Pointing::To), 4..7);
        assert_eq!(marked("let x_1 = y", 8, Pointing::Behind), 4..7);
        assert_eq!(marked("a => b", 3, Pointing::To), 2..3);
        assert_eq!(marked("", 1, Pointing::To), 0..0);
        assert_eq!(marked("", 9, Pointing::Behind), 0..0);
        assert_eq!(marked("é", 2, Pointing::To), 0..2);
    }
}
