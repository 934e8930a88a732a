//! Converts source text to tokens, one at a time.

use std::ops::Range;

use super::{
    parser::MAX_ERRORS,
    token::{Token, TokenKind},
};
use crate::source::Span;

/// An error in the bytes of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LexicalError {
    /// Offset of the byte that the report shows.
    pub(super) at: u32,
    /// Kind of the error.
    pub(super) kind: LexicalErrorKind,
}

/// Reason why bytes are not a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LexicalErrorKind {
    /// The text ends before the end of a comment.
    #[error("Lexical error: Comment unfinished")]
    CommentUnfinished,
    /// In a string literal, a backslash comes before a character that it cannot escape.
    #[error("Lexical error: Illegal string character: \\")]
    IllegalEscape,
    /// The text ends before the end of a string literal.
    #[error("Lexical error: String is not terminated")]
    StringNotTerminated,
    /// No token begins with this character, which can have several bytes.
    #[error("Lexical error: Unexpected character: {0}")]
    UnexpectedCharacter(String),
}

/// Reads the tokens of a text.
///
/// The lexer reports bytes that are not a token, and returns them as [`TokenKind::Unknown`]. So the parser can
/// continue.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    lines: Vec<u32>,
    comments: Vec<Range<u32>>,
    errors: Vec<LexicalError>,
}

impl<'a> Lexer<'a> {
    /// Returns a lexer at the beginning of a text. It reads at most the first 4 GiB of the text.
    pub(super) fn new(text: &'a [u8]) -> Self {
        let text = text.get(..u32::MAX as usize).unwrap_or(text);
        Self { text, at: 0, lines: vec![0], comments: Vec::new(), errors: Vec::new() }
    }

    /// Returns the whole text.
    pub(super) const fn source(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the start offsets of the lines that have been read. A line break inside a string literal does not
    /// begin a line.
    pub(super) fn lines(&self) -> &[u32] {
        &self.lines
    }

    /// Returns the byte ranges of the outermost comments that have been read.
    pub(super) fn comments(&self) -> &[Range<u32>] {
        &self.comments
    }

    /// Returns the errors since the last call of this function.
    pub(super) fn take_errors(&mut self) -> Vec<LexicalError> {
        std::mem::take(&mut self.errors)
    }

    /// Returns the bytes of a token.
    pub(super) fn bytes(&self, token: Token) -> &'a [u8] {
        self.text.get(token.first as usize..token.span.end as usize).unwrap_or_default()
    }

    /// Reads the next token.
    pub(super) fn next_token(&mut self) -> Token {
        self.skip_blank();
        let first = self.at;
        let kind = match self.peek(0) {
            None => TokenKind::End,
            Some(b'a'..=b'z') => self.word(TokenKind::Id),
            Some(b'A'..=b'Z') => self.word(TokenKind::Cid),
            Some(b'_') => self.underscored(),
            Some(b'0'..=b'9') => self.number(),
            Some(b'-') => self.minus(),
            Some(b'\'') => self.type_variable(),
            Some(b'"') => return self.string(),
            Some(_) => self.sign(),
        };
        self.token(kind, first, first)
    }

    fn token(&self, kind: TokenKind, first: usize, start: usize) -> Token {
        Token { kind, first: place(first), span: Span { start: place(start), end: place(self.at) } }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    /// Skips bytes as long as `such` returns true, and returns them.
    fn take_while(&mut self, such: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let count = rest.iter().position(|&byte| !such(byte)).unwrap_or(rest.len());
        self.at += count;
        rest.get(..count).unwrap_or_default()
    }

    /// Records an error, unless the lexer holds [`MAX_ERRORS`] errors already.
    fn fail(&mut self, at: usize, kind: LexicalErrorKind) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(LexicalError { at: place(at), kind });
        }
    }

    fn skip_blank(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b' ' | b'\t'), _) => self.at += 1,
                (Some(b'\n' | b'\r'), _) => self.line_break(),
                (Some(b'('), Some(b'*')) => self.comment(),
                _ => return,
            }
        }
    }

    /// Skips one line break: CR, LF, or CR LF.
    fn line_break(&mut self) {
        self.at += if (self.peek(0), self.peek(1)) == (Some(b'\r'), Some(b'\n')) { 2 } else { 1 };
        self.lines.push(place(self.at));
    }

    /// Skips a comment with its inner comments. If the text ends before the end of a comment, the lexer reports the
    /// innermost open comment. For the outermost comment, the position of the error is before `(*`. For an inner
    /// comment, it is after `(*`.
    fn comment(&mut self) {
        let first = self.at;
        let mut open = vec![first];
        self.at += 2;
        while let Some(&innermost) = open.last() {
            match (self.peek(0), self.peek(1)) {
                (None, _) => {
                    self.fail(innermost, LexicalErrorKind::CommentUnfinished);
                    return;
                }
                (Some(b'('), Some(b'*')) => {
                    self.at += 2;
                    open.push(self.at);
                }
                (Some(b'*'), Some(b')')) => {
                    self.at += 2;
                    open.pop();
                }
                (Some(b'\n' | b'\r'), _) => self.line_break(),
                _ => self.at += 1,
            }
        }
        self.comments.push(place(first)..place(self.at));
    }

    fn word(&mut self, otherwise: TokenKind) -> TokenKind {
        let word = self.take_while(is_name_byte);
        std::str::from_utf8(word).ok().and_then(TokenKind::keyword).unwrap_or(otherwise)
    }

    fn underscored(&mut self) -> TokenKind {
        match self.take_while(is_name_byte) {
            b"_" => TokenKind::Underscore,
            _ => TokenKind::Spid,
        }
    }

    /// Reads digits, or `0x` and all pairs of hexadecimal digits after it.
    fn number(&mut self) -> TokenKind {
        if (self.peek(0), self.peek(1)) != (Some(b'0'), Some(b'x')) {
            self.take_while(|byte| byte.is_ascii_digit());
            return TokenKind::Number;
        }
        self.at += 2;
        let digits = self.take_while(|byte| byte.is_ascii_hexdigit()).len();
        self.at -= digits % 2;
        TokenKind::Hex
    }

    fn minus(&mut self) -> TokenKind {
        match self.peek(1) {
            Some(b'0'..=b'9') => {
                self.at += 1;
                self.take_while(|byte| byte.is_ascii_digit());
                TokenKind::Number
            }
            _ => self.sign(),
        }
    }

    fn type_variable(&mut self) -> TokenKind {
        match self.peek(1) {
            Some(b'A'..=b'Z') => {
                self.at += 1;
                self.take_while(is_name_byte);
                TokenKind::Tid
            }
            _ => self.unexpected(),
        }
    }

    /// Reads a string literal. As in the reference, a line break in the literal does not begin a line, and the position
    /// of the literal is its closing quote. The gold file of `typecheck/bad/str-bad-char-3` shows both rules.
    fn string(&mut self) -> Token {
        let first = self.at;
        self.at += 1;
        let mut kind = TokenKind::String;
        loop {
            self.take_while(|byte| byte != b'"' && byte != b'\\');
            match (self.peek(0), self.peek(1)) {
                (None, _) => {
                    self.fail(self.at, LexicalErrorKind::StringNotTerminated);
                    return self.token(TokenKind::Unknown, first, first);
                }
                (Some(b'"'), _) => break,
                (_, Some(escaped)) if unescape(escaped).is_some() => self.at += 2,
                _ => {
                    self.at += 1;
                    self.fail(self.at, LexicalErrorKind::IllegalEscape);
                    kind = TokenKind::Unknown;
                }
            }
        }
        self.at += 1;
        self.token(kind, first, self.at - 1)
    }

    fn sign(&mut self) -> TokenKind {
        let (kind, width) = match (self.peek(0), self.peek(1)) {
            (Some(b'='), Some(b'>')) => (TokenKind::Arrow, 2),
            (Some(b'-'), Some(b'>')) => (TokenKind::TypeArrow, 2),
            (Some(b'<'), Some(b'-')) => (TokenKind::Fetch, 2),
            (Some(b':'), Some(b'=')) => (TokenKind::Assign, 2),
            (Some(b'='), _) => (TokenKind::Equals, 1),
            (Some(b':'), _) => (TokenKind::Colon, 1),
            (Some(b'&'), _) => (TokenKind::And, 1),
            (Some(b'@'), _) => (TokenKind::At, 1),
            (Some(b'|'), _) => (TokenKind::Bar, 1),
            (Some(b'{'), _) => (TokenKind::BraceOpen, 1),
            (Some(b'}'), _) => (TokenKind::BraceClose, 1),
            (Some(b'['), _) => (TokenKind::BracketOpen, 1),
            (Some(b']'), _) => (TokenKind::BracketClose, 1),
            (Some(b'('), _) => (TokenKind::ParenOpen, 1),
            (Some(b')'), _) => (TokenKind::ParenClose, 1),
            (Some(b','), _) => (TokenKind::Comma, 1),
            (Some(b'.'), _) => (TokenKind::Period, 1),
            (Some(b';'), _) => (TokenKind::Semicolon, 1),
            _ => return self.unexpected(),
        };
        self.at += width;
        kind
    }

    /// Skips the bytes of a character that begins no token. The position of the error is after the first of these
    /// bytes.
    fn unexpected(&mut self) -> TokenKind {
        /// Largest number of bytes of a character in UTF-8.
        const LONGEST: usize = 4;
        let first = self.at;
        self.at += 1;
        self.take_while(|byte| byte & 0xc0 == 0x80);
        let bytes = self.text.get(first..self.at.min(first + LONGEST)).unwrap_or_default();
        let character = String::from_utf8_lossy(bytes).into_owned();
        self.fail(first + 1, LexicalErrorKind::UnexpectedCharacter(character));
        TokenKind::Unknown
    }
}

/// Returns the byte that a backslash and this byte stand for, or `None` if this byte cannot be escaped.
pub(super) fn unescape(escaped: u8) -> Option<u8> {
    match escaped {
        b'"' | b'/' | b'\\' => Some(escaped),
        b'b' => Some(8),
        b'f' => Some(12),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        _ => None,
    }
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Converts an offset in a text to 32 bits. Texts are shorter than 4 GiB.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::{TokenKind::*, *};

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut lexer = Lexer::new(text.as_bytes());
        std::iter::repeat_with(|| lexer.next_token().kind).take_while(|kind| *kind != End).collect()
    }

    fn errors(text: &[u8]) -> Vec<(u32, String)> {
        let mut lexer = Lexer::new(text);
        while lexer.next_token().kind != End {}
        lexer.take_errors().into_iter().map(|error| (error.at, error.kind.to_string())).collect()
    }

    #[test]
    fn every_kind_of_token_is_read() {
        assert_eq!(
            kinds("x xY_0 _ _x __ Foo 'A 0x 0xaB 12 -5"),
            [Id, Id, Underscore, Spid, Spid, Cid, Tid, Hex, Hex, Number, Number]
        );
        assert_eq!(
            kinds("; : . | [ ] ( ) { } , => -> = & <- := @"),
            [
                Semicolon,
                Colon,
                Period,
                Bar,
                BracketOpen,
                BracketClose,
                ParenOpen,
                ParenClose,
                BraceOpen,
                BraceClose,
                Comma,
                Arrow,
                TypeArrow,
                Equals,
                And,
                Fetch,
                Assign,
                At
            ]
        );
        assert_eq!(
            kinds("end ends Emp Map Maps forall \"\" \"a\\\"b\""),
            [EndWord, Id, Emp, Map, Cid, Forall, String, String]
        );
    }

    #[test]
    fn the_longest_match_wins() {
        assert_eq!(kinds("a-5"), [Id, Number]);
        assert_eq!(kinds("0x123"), [Hex, Number]);
        assert_eq!(kinds("0xg"), [Hex, Id]);
        assert_eq!(kinds("<-&x"), [Fetch, And, Id]);
        assert_eq!(kinds("12ab"), [Number, Id]);
        assert_eq!(kinds("==>"), [Equals, Arrow]);
    }

    #[test]
    fn comments_nest_and_are_kept() {
        let mut lexer = Lexer::new(b"a (* x (* y *) \"*) b");
        assert_eq!([lexer.next_token().kind, lexer.next_token().kind, lexer.next_token().kind], [Id, Id, End]);
        assert_eq!(lexer.comments.len(), 1);
        assert_eq!(lexer.comments[0], 2..18);
    }

    #[test]
    fn lines_end_in_three_ways() {
        let mut lexer = Lexer::new(b"a\rb\nc\r\nd (*\n*) \"\n\" e");
        while lexer.next_token().kind != End {}
        assert_eq!(lexer.lines(), [0, 2, 4, 7, 12]);
    }

    #[test]
    fn a_string_stands_at_its_closing_quote() {
        let mut lexer = Lexer::new(b" \"ab\"");
        let token = lexer.next_token();
        assert_eq!((token.first, token.span), (1, Span { start: 4, end: 5 }));
        assert_eq!(lexer.bytes(token), b"\"ab\"");
    }

    #[test]
    fn bytes_that_are_no_token_are_reported_behind_them() {
        assert_eq!(errors(b"a # b"), [(3, "Lexical error: Unexpected character: #".to_owned())]);
        assert_eq!(errors(b"'a"), [(1, "Lexical error: Unexpected character: '".to_owned())]);
        assert_eq!(errors(b"-"), [(1, "Lexical error: Unexpected character: -".to_owned())]);
        assert_eq!(errors(b"<x"), [(1, "Lexical error: Unexpected character: <".to_owned())]);
        assert_eq!(errors("é".as_bytes()), [(1, "Lexical error: Unexpected character: é".to_owned())]);
        assert_eq!(errors(b"\0"), [(1, "Lexical error: Unexpected character: \0".to_owned())]);
        assert_eq!(errors(b"\xff"), [(1, "Lexical error: Unexpected character: \u{fffd}".to_owned())]);
    }

    #[test]
    fn broken_strings_are_reported() {
        assert_eq!(errors(b"\"a\\q\" b"), [(3, "Lexical error: Illegal string character: \\".to_owned())]);
        assert_eq!(errors(b"\"ab"), [(3, "Lexical error: String is not terminated".to_owned())]);
        assert_eq!(
            errors(b"\"ab\\"),
            [
                (4, "Lexical error: Illegal string character: \\".to_owned()),
                (4, "Lexical error: String is not terminated".to_owned())
            ]
        );
    }

    #[test]
    fn an_open_comment_is_reported_where_it_begins() {
        let message = || "Lexical error: Comment unfinished".to_owned();
        assert_eq!(errors(b"a (* b"), [(2, message())]);
        assert_eq!(errors(b"a (* b (* c"), [(9, message())]);
        assert_eq!(errors(b"a (* b (* c *) (* d"), [(17, message())]);
        assert_eq!(errors(b"(*)"), [(0, message())]);
    }
}
