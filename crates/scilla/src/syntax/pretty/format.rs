//! The source formatter, which keeps comments.

use std::ops::Range;

use super::{
    Op, contract_ops, expression_ops,
    layout::{Comment, Position, is_behind_empty_line, lay_out, line_breaks},
    library_ops,
};
use crate::{
    report::Failure,
    syntax::{
        lexer::Lexer,
        parser::{parse_contract, parse_expression, parse_library},
        token::TokenKind,
    },
};

/// Formats a contract, with its comments.
///
/// # Errors
///
/// If the text does not parse.
pub fn format_contract(file: &str, text: &[u8]) -> Result<String, Failure> {
    Ok(with_comments(contract_ops(&parse_contract(file, text)?), text))
}

/// Formats a library, with its comments.
///
/// # Errors
///
/// If the text does not parse.
pub fn format_library(file: &str, text: &[u8]) -> Result<String, Failure> {
    Ok(with_comments(library_ops(&parse_library(file, text)?), text))
}

/// Formats an expression, with its comments.
///
/// # Errors
///
/// If the text does not parse.
pub fn format_expression(file: &str, text: &[u8]) -> Result<String, Failure> {
    Ok(with_comments(expression_ops(&parse_expression(file, text)?), text))
}

/// Returns the comments of a text, in order. All line breaks become LF. Bytes that are not UTF-8 become U+FFFD.
pub fn comments(text: &[u8]) -> impl Iterator<Item = String> {
    let (_, ranges) = lex(text);
    ranges.into_iter().map(|range| contents(text.get(range.start as usize..range.end as usize).unwrap_or_default()))
}

fn with_comments(ops: Vec<Op>, text: &[u8]) -> String {
    let (first, comments) = placed_comments(text);
    // The tree of a module has no source position for the first token.
    let mut placed = vec![Op::At(first)];
    placed.extend(ops);
    lay_out(&placed, &comments, text)
}

/// Returns the byte offset of the first token of a text, and the byte ranges of its comments.
fn lex(text: &[u8]) -> (u32, Vec<Range<u32>>) {
    let mut lexer = Lexer::new(text);
    let first = lexer.next_token().first;
    while lexer.next_token().kind != TokenKind::End {}
    (first, lexer.comments().to_vec())
}

/// Returns the byte offset of the first token of a text, and the comments of the text. Comments on the same line are
/// joined.
fn placed_comments(text: &[u8]) -> (u32, Vec<Comment>) {
    let (first, ranges) = lex(text);
    let mut comments: Vec<Comment> = Vec::new();
    let mut end_of_last = 0;
    for range in ranges {
        let (start, end) = (range.start as usize, range.end as usize);
        let between = text.get(end_of_last..start).unwrap_or_default();
        let contents = contents(text.get(start..end).unwrap_or_default());
        let after = text.get(end..).unwrap_or_default();
        match comments.last_mut() {
            Some(last) if between.iter().all(|byte| is_blank(*byte)) => {
                last.text.push(' ');
                last.text.push_str(&contents);
                last.position = position(text.get(..last.start as usize).unwrap_or_default(), after);
                last.before_empty_line = is_before_empty_line(after);
            }
            _ => comments.push(Comment {
                start: range.start,
                text: contents,
                position: position(text.get(..start).unwrap_or_default(), after),
                behind_empty_line: is_behind_empty_line(text, range.start),
                before_empty_line: is_before_empty_line(after),
            }),
        }
        end_of_last = end;
    }
    (first, comments)
}

/// Returns a comment with LF as its line break. Bytes that are not UTF-8 become U+FFFD.
pub(in crate::syntax) fn contents(comment: &[u8]) -> String {
    String::from_utf8_lossy(comment).replace("\r\n", "\n").replace('\r', "\n")
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

const fn is_line_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns the position of a comment on its line. `before` and `after` are the whole text on each side of the comment.
fn position(before: &[u8], after: &[u8]) -> Position {
    let neighbour = |byte: Option<&u8>| byte.is_some_and(|byte| !is_line_break(*byte));
    let has_before = neighbour(before.iter().rev().find(|byte| !is_blank(**byte)));
    let has_after = neighbour(after.iter().find(|byte| !is_blank(**byte)));
    match (has_before, has_after) {
        (_, true) => Position::Inline,
        (true, false) => Position::Trailing,
        (false, false) => Position::OwnLine,
    }
}

/// Returns whether an empty line follows a comment. `after` is the whole text after the comment.
fn is_before_empty_line(after: &[u8]) -> bool {
    line_breaks(after.iter().copied()) > 1
}
