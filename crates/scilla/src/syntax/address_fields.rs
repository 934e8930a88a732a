//! Positions of the fields of an address type. The type itself does not store these positions.

use super::{
    lexer::Lexer,
    token::{Token, TokenKind},
};
use crate::source::{Source, Span};

/// Returns the names and positions of the fields of the first address type after the byte `from`. The text must be
/// well formed. The result excludes fields inside the types of these fields.
pub(crate) fn address_fields(source: &Source, from: u32) -> Vec<(String, Span)> {
    let text = source.text().get(from as usize..).unwrap_or_default();
    let mut lexer = Lexer::new(text);
    let mut found = Vec::new();
    let mut depth = 0;
    let mut after_field = false;
    loop {
        let Token { kind, span, .. } = lexer.next_token();
        match kind {
            TokenKind::With => depth += 1,
            TokenKind::EndWord if depth <= 1 => return found,
            TokenKind::EndWord => depth -= 1,
            TokenKind::End => return found,
            TokenKind::Id if after_field && depth == 1 => {
                let bytes = text.get(span.start as usize..span.end as usize).unwrap_or_default();
                let span = Span { start: span.start.saturating_add(from), end: span.end.saturating_add(from) };
                found.push((String::from_utf8_lossy(bytes).into_owned(), span));
            }
            _ => {}
        }
        after_field = kind == TokenKind::Field;
    }
}
