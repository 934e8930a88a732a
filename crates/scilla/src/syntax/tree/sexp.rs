//! S-expressions as text.

use std::{borrow::Cow, fmt::Write as _};

use super::{Group, Piece};

/// A token of an S-expression.
enum Token<'p> {
    Atom(Cow<'p, str>),
    Close,
    Open,
}

/// Converts pieces into atoms and parentheses.
fn tokens(pieces: &[Piece]) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    // For each open group, whether it has parentheses.
    let mut groups = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Begin(group) => {
                let name = match group {
                    Group::Address => Some("Address"),
                    Group::Literal(name) | Group::Member(name) | Group::Variant(name) => Some(*name),
                    Group::List | Group::Part(_) | Group::Parts | Group::Record | Group::Some => None,
                };
                let is_list = !matches!(group, Group::Part(_) | Group::Parts);
                tokens.extend(is_list.then_some(Token::Open));
                tokens.extend(name.map(|name| Token::Atom(name.into())));
                groups.push(is_list);
            }
            Piece::End => tokens.extend(groups.pop().filter(|is_list| *is_list).map(|_| Token::Close)),
            Piece::Integer(ty, digits) => tokens.push(Token::Atom(format!("\"{ty} {digits}\"").into())),
            Piece::Name(name) => tokens.push(Token::Atom(name.into())),
            Piece::Nothing => tokens.extend([Token::Open, Token::Close]),
            Piece::Number(digits) => tokens.push(Token::Atom(digits.into())),
            Piece::Primitive(ty) => tokens.push(Token::Atom(ty.to_string().into())),
            Piece::Text(text) => tokens.push(Token::Atom(atom(text).into())),
            Piece::Truth(value) => tokens.push(Token::Atom(value.to_string().into())),
        }
    }
    tokens
}

/// Returns the atom for bytes. Bytes that are not valid without quotes get quotes and decimal escapes.
fn atom(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'(' | b')' | b'"' | b';' | b'\\' | b'|' | b'#');
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b'\r' => text.push_str("\\r"),
            8 => text.push_str("\\b"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => {
                // A write to a `String` cannot fail.
                let _ = write!(text, "\\{byte:03}");
            }
        }
    }
    text.push('"');
    text
}

/// Maximum width of a line, in columns.
const WIDTH: usize = 100;

/// Largest indentation, in columns.
const MAX_INDENT: usize = 60;

/// Returns the text of the pieces on one line. With `human_readable`, each element after the first of a list that would
/// end after column 100 is on a separate line.
pub(super) fn lay_out(pieces: &[Piece], human_readable: bool) -> String {
    let tokens = tokens(pieces);
    let widths = if human_readable { widths(&tokens) } else { Vec::new() };
    let mut out = String::new();
    let mut column = 0_usize;
    // For each open list, the indentation of its elements in columns, or `None` if the list is on one line.
    let mut lists: Vec<Option<usize>> = Vec::new();
    let mut first = true;
    for (index, token) in tokens.iter().enumerate() {
        if !first && !matches!(token, Token::Close) {
            if let Some(indent) = lists.last().copied().flatten() {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else {
                out.push(' ');
                column += 1;
            }
        }
        first = matches!(token, Token::Open);
        match token {
            Token::Atom(text) => {
                out.push_str(text);
                column += text.len();
            }
            Token::Close => {
                out.push(')');
                column += 1;
                lists.pop();
            }
            Token::Open => {
                out.push('(');
                column += 1;
                let width = widths.get(index).copied().unwrap_or(0);
                lists.push((human_readable && column + width > WIDTH).then_some(column.min(MAX_INDENT)));
            }
        }
    }
    out.push('\n');
    out
}

/// Returns, for each opening parenthesis, the width of its list on one line, in columns.
fn widths(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut widths = vec![0; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut total = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::Atom(text) => total += text.len() + 1,
            Token::Close => {
                total += 1;
                if let Some(width) = open.pop().and_then(|start| widths.get_mut(start)) {
                    *width = total.saturating_sub(*width);
                }
            }
            Token::Open => {
                open.push(index);
                if let Some(width) = widths.get_mut(index) {
                    *width = total;
                }
                total += 2;
            }
        }
    }
    widths
}
