//! Advice for people about parse errors. Advice changes neither the texts nor the source positions of errors.

use super::{Parser, Reported};
use crate::{
    builtins,
    diagnosis::{Cause, NameKind, nearest},
    source::{Source, Span},
    syntax::token::{Token, TokenKind},
};

/// A cause of an error. Positions in a cause are byte offsets in the text.
#[derive(Debug)]
pub(super) enum Advice {
    MissingSemicolon { after: u32 },
    NotAName { written: Option<String> },
    SmallTypeName { nearest: Option<&'static str> },
    Unclosed { open: Open, closed: Option<u32> },
    UnknownBuiltin { nearest: Option<&'static str> },
}

/// A block of a program that needs an `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Keyword of the block: `match`, `transition` or `procedure`.
    pub(super) what: &'static str,
    /// Span of the keyword.
    pub(super) keyword: Span,
}

impl Advice {
    pub(super) fn into_cause(self, source: &Source) -> Cause {
        match self {
            Self::MissingSemicolon { after } => Cause::MissingSemicolon { after: source.location(after) },
            Self::NotAName { written } => Cause::NotAName { written },
            Self::SmallTypeName { nearest } => Cause::SmallTypeName { nearest: nearest.map(str::to_owned) },
            Self::Unclosed { open: Open { what, keyword }, closed } => {
                Cause::Unclosed { what, opened: source.start(keyword), closed: closed.map(|at| source.location(at)) }
            }
            Self::UnknownBuiltin { nearest } => Cause::unknown(NameKind::Builtin, nearest.map(str::to_owned)),
        }
    }
}

/// Types that exist without a definition in the program.
const TYPES: [&str; 22] = [
    "BNum", "Bool", "ByStr", "ByStr20", "ByStr32", "ByStr33", "ByStr64", "Event", "Int128", "Int256", "Int32", "Int64",
    "List", "Map", "Message", "Nat", "Option", "Pair", "String", "Uint128", "Uint256", "Uint32",
];

/// Longest expression that advice repeats, in bytes.
const LONGEST_EXPRESSION: usize = 60;

/// Largest distance, in bytes, at which the parser searches for the beginning of the line of a token.
const LONGEST_LINE: usize = 512;

impl Parser<'_> {
    /// Adds advice to the last error, if the error is at byte offset `at` and has no advice.
    pub(super) fn advise(&mut self, at: u32, advice: Advice) {
        if let Some(last) = self.errors.last_mut().filter(|last| last.at == at) {
            last.advice.get_or_insert(advice);
        }
    }

    /// Reports a missing type, with advice about the token in its place.
    pub(super) fn no_type(&mut self, what: &str) -> Reported {
        let token = self.peek();
        let reported = self.unexpected(what);
        if token.kind == TokenKind::Id {
            let text = self.text(token);
            let same = TYPES.into_iter().find(|name| name.eq_ignore_ascii_case(text));
            let nearest = same.or_else(|| nearest(NameKind::Type, text, TYPES));
            self.advise(token.span.end, Advice::SmallTypeName { nearest });
        }
        reported
    }

    /// Reports a missing name of a value, with advice about the token in its place.
    pub(super) fn no_name(&mut self, what: &str) -> Reported {
        use TokenKind::{At, BraceOpen, Builtin, Fun, Hex, Let, Match, Number, ParenOpen, String, Tfun};
        let token = self.peek();
        let reported = self.unexpected(what);
        if matches!(token.kind, At | BraceOpen | Builtin | Fun | Hex | Let | Match | Number | ParenOpen | String | Tfun)
        {
            self.advise(token.span.end, Advice::NotAName { written: None });
        }
        reported
    }

    /// Adds advice to the error at an expression in place of a name. The advice shows how to bind the expression to a
    /// name first.
    pub(super) fn advise_to_bind(&mut self, statement: Token, value: Token) {
        let read =
            |from: u32, to: usize| self.bytes_between(from as usize, to).and_then(|it| std::str::from_utf8(it).ok());
        let end = self.end_of_line(value.first as usize);
        let written =
            read(statement.first, value.first as usize).zip(read(value.first, end)).and_then(|(target, expression)| {
                let expression = expression.split(';').next().unwrap_or_default().trim();
                let short = expression.len() <= LONGEST_EXPRESSION && !target.contains('\n');
                short.then(|| format!("value = {expression}; {target}value"))
            });
        if let Some(last) = self.errors.last_mut()
            && matches!(last.advice, Some(Advice::NotAName { written: None }))
        {
            last.advice = Some(Advice::NotAName { written });
        }
    }

    /// Adds advice to the error at the next token, if the previous statement lacks its `;`.
    pub(super) fn advise_semicolon(&mut self, starts_statement: bool) {
        use TokenKind::{Assign, BracketOpen, Equals, Fetch};
        let found = self.peek();
        let after = if starts_statement {
            Some(self.last.end)
        } else {
            // The parser has read the first name of the next statement as an argument of the previous statement.
            let next = matches!(found.kind, Assign | BracketOpen | Equals | Fetch);
            (next && self.breaks_line(self.before_last.end, self.last.start)).then_some(self.before_last.end)
        };
        if let Some(after) = after {
            self.advise(found.span.end, Advice::MissingSemicolon { after });
        }
    }

    /// Adds advice to the error at the next token, if the token can come only after an `end`. The advice shows the
    /// block that lacks its `end`.
    ///
    /// An `end` with less indentation than the line of its `match` probably belongs to an outer block.
    pub(super) fn advise_end(&mut self, innermost: Option<Open>) {
        use TokenKind::{Contract, End, Field, In, Let, Procedure, Semicolon, Transition, Type};
        let found = self.peek();
        let of_statement = innermost.is_none();
        let closes = match found.kind {
            Contract | End | Field | Let | Procedure | Transition | Type => true,
            In | Semicolon => !of_statement,
            _ => false,
        };
        if !closes {
            return;
        }
        let early = of_statement.then(|| {
            let column = |at: u32| self.indentation(at);
            self.closed.iter().find(|(open, end)| self.begins_line(*end) && column(*end) < column(open.keyword.start))
        });
        let advice = match early.flatten() {
            Some((open, end)) => Advice::Unclosed { open: *open, closed: Some(*end) },
            None => match innermost.or_else(|| self.open.last().copied()) {
                Some(open) => Advice::Unclosed { open, closed: None },
                None => return,
            },
        };
        self.advise(found.span.end, advice);
    }

    /// Adds advice to the error at the name of a built-in function. The advice shows the most similar name.
    pub(super) fn advise_builtin(&mut self, name: Token) {
        let nearest = nearest(NameKind::Builtin, self.text(name), builtins::names());
        self.advise(name.span.start, Advice::UnknownBuiltin { nearest });
    }

    fn bytes_between(&self, from: usize, to: usize) -> Option<&[u8]> {
        self.lexer.source().get(from..to)
    }

    fn breaks_line(&self, from: u32, to: u32) -> bool {
        self.bytes_between(from as usize, to as usize).is_some_and(|between| between.contains(&b'\n'))
    }

    fn start_of_line(&self, at: u32) -> usize {
        // A line can have thousands of blocks. The bound keeps the search for the start of the line short for each of
        // them.
        let from = (at as usize).saturating_sub(LONGEST_LINE);
        let before = self.bytes_between(from, at as usize).unwrap_or_default();
        from + before.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |place| place + 1)
    }

    fn end_of_line(&self, at: usize) -> usize {
        let rest = self.lexer.source().get(at..).unwrap_or_default();
        at + rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len())
    }

    /// Returns the number of blanks at the beginning of the line that contains byte offset `at`.
    fn indentation(&self, at: u32) -> usize {
        let line = self.bytes_between(self.start_of_line(at), at as usize).unwrap_or_default();
        line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    }

    fn begins_line(&self, at: u32) -> bool {
        let line = self.bytes_between(self.start_of_line(at), at as usize).unwrap_or_default();
        line.iter().all(|byte| matches!(byte, b' ' | b'\t'))
    }
}
