//! The grammar of patterns.

use super::{Parsed, Parser};
use crate::syntax::{
    ast::{Pattern, PatternKind},
    token::TokenKind,
};

impl Parser<'_> {
    /// Parses the longest pattern that begins at the next token.
    pub(super) fn parse_pattern(&mut self) -> Parsed<Pattern> {
        self.nested(|parser| {
            if !matches!(parser.peek().kind, TokenKind::Cid | TokenKind::Hex) {
                return parser.parse_plain_pattern("a pattern");
            }
            let constructor = parser.expect_upper_name("a constructor")?;
            let mut parts = Vec::new();
            while parser.at_pattern_argument() {
                parts.push(parser.parse_pattern_argument()?);
            }
            Ok(Pattern { span: constructor.span, kind: PatternKind::Constructor(constructor, parts) })
        })
    }

    fn at_pattern_argument(&mut self) -> bool {
        use TokenKind::{Cid, Hex, Id, ParenOpen, Underscore};
        matches!(self.peek().kind, Cid | Hex | Id | ParenOpen | Underscore)
    }

    fn parse_pattern_argument(&mut self) -> Parsed<Pattern> {
        match self.peek().kind {
            TokenKind::Cid | TokenKind::Hex => {
                let constructor = self.expect_upper_name("a constructor")?;
                Ok(Pattern { span: constructor.span, kind: PatternKind::Constructor(constructor, Vec::new()) })
            }
            TokenKind::ParenOpen => {
                self.bump();
                let pattern = self.parse_pattern()?;
                self.expect(TokenKind::ParenClose, "`)` behind the pattern")?;
                Ok(pattern)
            }
            _ => self.parse_plain_pattern("a pattern"),
        }
    }

    /// Parses a name or `_`.
    fn parse_plain_pattern(&mut self, what: &str) -> Parsed<Pattern> {
        let token = self.peek();
        let kind = match token.kind {
            TokenKind::Underscore => PatternKind::Wildcard,
            TokenKind::Id => PatternKind::Binder(self.simple(token)),
            _ => return Err(self.unexpected(what)),
        };
        self.bump();
        Ok(Pattern { kind, span: token.span })
    }
}
