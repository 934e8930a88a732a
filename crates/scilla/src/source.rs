//! Source texts, and positions in them.

use std::sync::Arc;

/// A range of bytes of a source text.
///
/// The start of the range is the position that error messages show. A string literal begins at its closing quote,
/// because the reference reports the closing quote. The gold file of `typecheck/bad/str-bad-char-3` shows this
/// position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span of a node without a source position. Error messages show this span as file "", line 0, column 0.
    pub const NOWHERE: Self = Self { start: u32::MAX, end: u32::MAX };

    /// Returns the span from the start of `self` to the end of `last`.
    #[must_use]
    pub const fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end }
    }

    /// Returns whether the span is [`Span::NOWHERE`].
    pub const fn is_nowhere(self) -> bool {
        self.start == u32::MAX
    }
}

/// A position in error messages: file, line and column.
///
/// The default is an unknown position: file "", line 0, column 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// Name of the file as the caller gave it. It is "" if unknown, and `Prelude` for recursion principles and for
    /// types in JSON.
    pub file: Arc<str>,
    /// Line number from 1, or 0 if unknown.
    pub line: u32,
    /// Column from 1 in bytes, or 0 if unknown.
    pub column: u32,
}

/// A source text, with its file name and the beginnings of its lines.
#[derive(Debug, Clone)]
pub struct Source {
    file: Arc<str>,
    text: Arc<[u8]>,
    /// Offset of the beginning of each line. As in the reference, a line break inside a string literal does not begin
    /// a line.
    lines: Arc<[u32]>,
}

impl Source {
    /// Returns the source of a text. `lines` are the beginnings of its lines, which the lexer finds.
    pub(crate) fn new(file: Arc<str>, text: Arc<[u8]>, lines: Vec<u32>) -> Self {
        Self { file, text, lines: lines.into() }
    }

    /// Returns the name of the file.
    pub fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// Returns the text.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the file name without directory and extension. It is the default name of a module.
    pub fn stem(&self) -> &str {
        let base = self.file.rsplit('/').next().unwrap_or_default();
        base.rsplit_once('.').map_or(base, |(stem, _)| stem)
    }

    /// Returns the position of a byte. The first byte has the offset 0.
    pub fn location(&self, offset: u32) -> Location {
        if offset == u32::MAX {
            return Location::default();
        }
        let line = self.lines.partition_point(|&start| start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.lines.get(index)).copied().unwrap_or(0);
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        Location { file: Arc::clone(&self.file), line, column: offset - start + 1 }
    }

    /// Returns the position where a span starts.
    pub fn start(&self, span: Span) -> Location {
        self.location(span.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source::new("dir/name.more.scilla".into(), b"a\nbc\n".as_slice().into(), vec![0, 2, 5])
    }

    #[test]
    fn places_count_from_one() {
        let place = |offset| {
            let found = source().location(offset);
            (found.line, found.column)
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(1), (1, 2));
        assert_eq!(place(2), (2, 1));
        assert_eq!(place(3), (2, 2));
        assert_eq!(place(5), (3, 1));
    }

    #[test]
    fn nowhere_has_no_file() {
        assert_eq!(source().start(Span::NOWHERE), Location::default());
    }

    #[test]
    fn stem_ends_at_the_last_dot() {
        assert_eq!(source().stem(), "name.more");
    }
}
