//! S-expressions as text.

use std::fmt::Write as _;

/// One piece of an S-expression.
#[derive(Debug)]
pub(super) enum Piece {
    /// A text, quoted if it must be.
    Atom(String),
    /// A list ends.
    Close,
    /// A list begins.
    Open,
}

impl Piece {
    /// Makes an atom of bytes: in quotes, with decimal escapes, unless they can stand alone.
    pub(super) fn atom(bytes: &[u8]) -> Self {
        let plain =
            |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'(' | b')' | b'"' | b';' | b'\\' | b'|' | b'#');
        if !bytes.is_empty() && bytes.iter().all(plain) {
            return Self::Atom(String::from_utf8_lossy(bytes).into_owned());
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
                    // Writing to a string does not fail.
                    let _ = write!(text, "\\{byte:03}");
                }
            }
        }
        text.push('"');
        Self::Atom(text)
    }
}

/// How wide lines are.
const WIDTH: usize = 100;

/// How far lines are indented at most.
const MAX_INDENT: usize = 60;

/// Writes pieces down, on one line, or with the parts of long lists on lines of their own.
pub(super) fn lay_out(pieces: &[Piece], human_readable: bool) -> String {
    let widths = if human_readable { widths(pieces) } else { Vec::new() };
    let mut out = String::new();
    let mut column = 0_usize;
    // For each open list, the indentation of its parts, or none if it stands on one line.
    let mut lists: Vec<Option<usize>> = Vec::new();
    let mut first = true;
    for (index, piece) in pieces.iter().enumerate() {
        if !first && !matches!(piece, Piece::Close) {
            if let Some(indent) = lists.last().copied().flatten() {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else {
                out.push(' ');
                column += 1;
            }
        }
        first = matches!(piece, Piece::Open);
        match piece {
            Piece::Atom(text) => {
                out.push_str(text);
                column += text.len();
            }
            Piece::Close => {
                out.push(')');
                column += 1;
                lists.pop();
            }
            Piece::Open => {
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

/// Returns for each opening how wide its list is on one line.
fn widths(pieces: &[Piece]) -> Vec<usize> {
    let mut widths = vec![0; pieces.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut total = 0_usize;
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Atom(text) => total += text.len() + 1,
            Piece::Close => {
                total += 1;
                if let Some(width) = open.pop().and_then(|start| widths.get_mut(start)) {
                    *width = total.saturating_sub(*width);
                }
            }
            Piece::Open => {
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
