//! The grammar of expressions.
//!
//! Unfinished expressions are on an explicit stack, so the depth of an expression cannot overflow the call stack.

use std::sync::Arc;

use super::{Parsed, Parser, advice};
use crate::{
    builtins::is_builtin,
    name::Ident,
    source::Span,
    syntax::{
        ast::{Clause, ExprId, Expression, ExpressionKind, MessageEntry, Pattern, Payload},
        token::{Token, TokenKind},
    },
    types::{Type, TypeVariable},
};

/// An unfinished expression, of which the next part is missing.
enum Open {
    /// `fun (x : T) =>` without its body.
    Function { span: Span, parameter: Ident, ty: Type },
    /// `let x =` without its value.
    LetValue { span: Span, name: Ident, annotation: Option<Type> },
    /// `let x = e in` without its body.
    LetBody { span: Span, name: Ident, annotation: Option<Type>, value: ExprId },
    /// `match x with … | p =>` without the expression of this clause.
    Match { span: Span, scrutinee: Ident, clauses: Vec<Clause>, pattern: Pattern },
    /// `tfun 'A =>` without its body.
    TypeFunction { span: Span, parameter: TypeVariable, parameter_span: Span },
}

/// The unfinished expressions around the current expression.
#[derive(Default)]
struct Stack {
    open: Vec<Open>,
    /// Number of nesting levels: matches, and `let`s whose value is unfinished.
    deep: usize,
    matches: usize,
}

impl Stack {
    fn push(&mut self, open: Open) {
        self.deep += usize::from(open.is_deep());
        self.matches += usize::from(matches!(open, Open::Match { .. }));
        self.open.push(open);
    }

    fn pop(&mut self) -> Option<Open> {
        let open = self.open.pop()?;
        self.deep -= usize::from(open.is_deep());
        self.matches -= usize::from(matches!(open, Open::Match { .. }));
        Some(open)
    }
}

impl Open {
    const fn is_deep(&self) -> bool {
        matches!(self, Self::LetValue { .. } | Self::Match { .. })
    }
}

impl Parser<'_> {
    /// Parses the longest expression that begins at the next token.
    pub(super) fn parse_expression(&mut self) -> Parsed<ExprId> {
        let mut stack = Stack::default();
        let result = self.parse_onto(&mut stack);
        if result.is_err() {
            self.open_ends += stack.matches;
        }
        result
    }

    fn parse_onto(&mut self, stack: &mut Stack) -> Parsed<ExprId> {
        loop {
            let begun = match self.peek().kind {
                TokenKind::Fun => self.open_function(stack)?,
                TokenKind::Let => self.open_let(stack)?,
                TokenKind::Match => self.open_match(stack)?,
                TokenKind::Tfun => self.open_type_function(stack)?,
                _ => Some(self.parse_closed_expression()?),
            };
            self.check_nesting(stack.deep)?;
            if let Some(whole) = begun
                && let Some(whole) = self.close(stack, whole)?
            {
                return Ok(whole);
            }
        }
    }

    /// Adds a part to the innermost unfinished expression. If the part completes this expression, adds the expression
    /// to the unfinished expression around it, and so on. Returns the whole expression if all unfinished expressions
    /// are complete, or `None` if another part must be read.
    fn close(&mut self, stack: &mut Stack, mut part: ExprId) -> Parsed<Option<ExprId>> {
        loop {
            part = match stack.pop() {
                None => return Ok(Some(part)),
                Some(Open::Function { span, parameter, ty }) => {
                    self.add(span, ExpressionKind::Function { parameter, ty, body: part })
                }
                Some(Open::TypeFunction { span, parameter, parameter_span }) => {
                    self.add(span, ExpressionKind::TypeFunction { parameter, parameter_span, body: part })
                }
                Some(Open::LetBody { span, name, annotation, value }) => {
                    self.add(span, ExpressionKind::Let { name, annotation, value, body: part })
                }
                Some(Open::LetValue { span, name, annotation }) => {
                    self.expect_in()?;
                    stack.push(Open::LetBody { span, name, annotation, value: part });
                    return Ok(None);
                }
                Some(Open::Match { span, scrutinee, mut clauses, pattern }) => {
                    clauses.push(Clause { pattern, body: part });
                    match self.parse_clause(stack, span, scrutinee, clauses)? {
                        Some(whole) => whole,
                        None => return Ok(None),
                    }
                }
            }
        }
    }

    fn add(&mut self, span: Span, kind: ExpressionKind) -> ExprId {
        self.arena.add(Expression { kind, span: span.to(self.last) })
    }

    /// Reports an unexpected token after an expression, where `what` is expected.
    pub(super) fn unexpected_after_expression(&mut self, what: &str) -> super::Reported {
        use TokenKind::{Hex, Number, ParenOpen, String};
        let hint = match self.peek().kind {
            Hex | Number | ParenOpen | String => Some("arguments are names: bind the value to a name first"),
            _ => None,
        };
        self.unexpected_because(what, hint)
    }

    fn expect_in(&mut self) -> Parsed<()> {
        match self.maybe(TokenKind::In) {
            Some(_) => Ok(()),
            None => Err(self.unexpected_after_expression("`in` behind the value of the `let`")),
        }
    }

    fn open_function(&mut self, stack: &mut Stack) -> Parsed<Option<ExprId>> {
        let span = self.bump().span;
        self.expect(TokenKind::ParenOpen, "`(` and the parameter of the function")?;
        let parameter = self.expect_simple(TokenKind::Id, "the name of the parameter")?;
        self.expect(TokenKind::Colon, "`:` and the type of the parameter")?;
        let ty = self.parse_type()?;
        self.expect(TokenKind::ParenClose, "`)` behind the type of the parameter")?;
        self.expect(TokenKind::Arrow, "`=>` and the body of the function")?;
        stack.push(Open::Function { span, parameter, ty });
        Ok(None)
    }

    fn open_type_function(&mut self, stack: &mut Stack) -> Parsed<Option<ExprId>> {
        let span = self.bump().span;
        let token = self.expect(TokenKind::Tid, "a type variable such as 'A")?;
        let parameter = self.shared_text(token);
        self.expect(TokenKind::Arrow, "`=>` and the body of the type function")?;
        stack.push(Open::TypeFunction { span, parameter, parameter_span: token.span });
        Ok(None)
    }

    fn open_let(&mut self, stack: &mut Stack) -> Parsed<Option<ExprId>> {
        let span = self.bump().span;
        let name = self.expect_simple(TokenKind::Id, "the name to bind")?;
        let annotation = self.maybe_annotation()?;
        let what = if annotation.is_some() { "`=` and the value" } else { "`:` or `=`" };
        self.expect(TokenKind::Equals, what)?;
        stack.push(Open::LetValue { span, name, annotation });
        Ok(None)
    }

    /// Parses `:` and a type, or returns `None` if the next token is not `:`.
    pub(super) fn maybe_annotation(&mut self) -> Parsed<Option<Type>> {
        match self.maybe(TokenKind::Colon) {
            Some(_) => self.parse_type().map(Some),
            None => Ok(None),
        }
    }

    fn open_match(&mut self, stack: &mut Stack) -> Parsed<Option<ExprId>> {
        let span = self.bump().span;
        let scrutinee = self.parse_scrutinee()?;
        self.parse_clause(stack, span, scrutinee, Vec::new())
    }

    /// Parses the name between `match` and the clauses.
    pub(super) fn parse_scrutinee(&mut self) -> Parsed<Ident> {
        self.until_end(|parser| {
            let scrutinee = parser.expect_name("the name to match on")?;
            parser.expect_fixed(TokenKind::With)?;
            Ok(scrutinee)
        })
    }

    /// Parses a part of a block before its `end`. If the part fails, counts the missing `end`.
    pub(super) fn until_end<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let result = read(self);
        self.open_ends += usize::from(result.is_err());
        result
    }

    /// Parses the head of the next clause of a match, or the final `end`.
    fn parse_clause(
        &mut self,
        stack: &mut Stack,
        span: Span,
        scrutinee: Ident,
        clauses: Vec<Clause>,
    ) -> Parsed<Option<ExprId>> {
        let open = advice::Open { what: "match", keyword: span };
        if self.maybe(TokenKind::EndWord).is_some() {
            self.closed.push((open, self.last.start));
            return Ok(Some(self.add(span, ExpressionKind::Match { scrutinee, clauses })));
        }
        let pattern = self.until_end(|parser| {
            if parser.maybe(TokenKind::Bar).is_none() {
                let reported = parser.unexpected_after_expression("`|` or `end`");
                parser.advise_end(Some(open));
                return Err(reported);
            }
            parser.parse_clause_head()
        })?;
        stack.push(Open::Match { span, scrutinee, clauses, pattern });
        Ok(None)
    }

    /// Parses the pattern of a clause, and its arrow.
    pub(super) fn parse_clause_head(&mut self) -> Parsed<Pattern> {
        let pattern = self.parse_pattern()?;
        self.expect(TokenKind::Arrow, "`=>` behind the pattern")?;
        Ok(pattern)
    }

    /// Parses an expression without inner expressions.
    fn parse_closed_expression(&mut self) -> Parsed<ExprId> {
        let token = self.peek();
        let kind = match token.kind {
            TokenKind::Id | TokenKind::Spid => {
                self.bump();
                let function = self.simple(token);
                self.parse_application(function)?
            }
            TokenKind::Cid => self.parse_upper_expression()?,
            TokenKind::Hex => self.parse_hex_expression()?,
            TokenKind::Builtin => self.parse_builtin()?,
            TokenKind::BraceOpen => self.parse_message()?,
            TokenKind::At => self.parse_instantiation()?,
            _ => match self.maybe_literal()? {
                Some(literal) => ExpressionKind::Literal(literal),
                None => return Err(self.unexpected("an expression")),
            },
        };
        Ok(self.add(token.span, kind))
    }

    /// Parses the arguments of a function. A name without arguments is a variable.
    fn parse_application(&mut self, function: Ident) -> Parsed<ExpressionKind> {
        let arguments = self.parse_names()?;
        if arguments.is_empty() {
            return Ok(ExpressionKind::Variable(function));
        }
        Ok(ExpressionKind::Apply { function, arguments })
    }

    /// Parses an expression that begins with an upper-case name: a number literal with its type, a value of a
    /// namespace, or a constructor.
    fn parse_upper_expression(&mut self) -> Parsed<ExpressionKind> {
        let token = self.bump();
        match self.peek().kind {
            TokenKind::Number => {
                let number = self.bump();
                Ok(ExpressionKind::Literal(self.number_literal(token, number)))
            }
            TokenKind::Period => {
                self.bump();
                let base = self.peek();
                match base.kind {
                    TokenKind::Id => {
                        self.bump();
                        let function = self.qualified(token, base);
                        self.parse_application(function)
                    }
                    TokenKind::Cid => {
                        self.bump();
                        let constructor = self.qualified(token, base);
                        self.parse_construction(constructor)
                    }
                    _ => Err(self.unexpected("a name in the namespace")),
                }
            }
            _ => {
                let constructor = self.simple(token);
                self.parse_construction(constructor)
            }
        }
    }

    /// Parses a byte string literal, or a constructor of the module at an address.
    fn parse_hex_expression(&mut self) -> Parsed<ExpressionKind> {
        let token = self.bump();
        if self.maybe(TokenKind::Period).is_none() {
            return Ok(ExpressionKind::Literal(self.hex_literal(token)));
        }
        let constructor = self.parse_upper_base(token)?;
        self.parse_construction(constructor)
    }

    fn parse_construction(&mut self, constructor: Ident) -> Parsed<ExpressionKind> {
        let types = self.maybe_types_in_braces()?;
        let arguments = self.parse_names()?;
        Ok(ExpressionKind::Construct { constructor, types, arguments })
    }

    fn maybe_types_in_braces(&mut self) -> Parsed<Vec<Type>> {
        if self.maybe(TokenKind::BraceOpen).is_none() {
            return Ok(Vec::new());
        }
        let types = self.parse_type_arguments()?;
        self.expect(TokenKind::BraceClose, "a type or `}`")?;
        Ok(types)
    }

    fn parse_builtin(&mut self) -> Parsed<ExpressionKind> {
        self.bump();
        let token = self.expect(TokenKind::Id, "the name of a builtin")?;
        let types = self.maybe_types_in_braces()?;
        let arguments = self.parse_builtin_arguments()?;
        if !is_builtin(self.text(token)) {
            // The reference looks up the name at the end of the expression, so an error in the rest of the expression
            // comes first.
            if !arguments.is_empty() && !self.at_end_of_expression() {
                return Err(self.unexpected_after_expression("the end of the expression"));
            }
            let message = format!("Syntax error: \"{}\" is not a builtin", self.text(token));
            self.report(token.span.start, message);
            self.advise_builtin(token);
        }
        Ok(ExpressionKind::Builtin { name: self.simple(token), types, arguments })
    }

    fn parse_builtin_arguments(&mut self) -> Parsed<Vec<Ident>> {
        if self.maybe(TokenKind::ParenOpen).is_some() {
            self.expect(TokenKind::ParenClose, "`)`, since arguments stand without brackets")?;
            return Ok(Vec::new());
        }
        let arguments = self.parse_names()?;
        if arguments.is_empty() {
            return Err(self.unexpected_after_expression("an argument, or `()`"));
        }
        Ok(arguments)
    }

    fn at_end_of_expression(&mut self) -> bool {
        use TokenKind::{Arrow, Bar, Contract, End, EndWord, Field, In, Let, Procedure, Semicolon, Transition, Type};
        matches!(
            self.peek().kind,
            Arrow | Bar | Contract | End | EndWord | Field | In | Let | Procedure | Semicolon | Transition | Type
        )
    }

    fn parse_message(&mut self) -> Parsed<ExpressionKind> {
        self.bump();
        let mut entries = Vec::new();
        if self.maybe(TokenKind::BraceClose).is_some() {
            return Ok(ExpressionKind::Message(entries));
        }
        loop {
            entries.push(self.parse_message_entry(entries.is_empty())?);
            if self.maybe(TokenKind::Semicolon).is_none() {
                self.expect(TokenKind::BraceClose, "`;` or `}`")?;
                return Ok(ExpressionKind::Message(entries));
            }
        }
    }

    fn parse_message_entry(&mut self, first: bool) -> Parsed<MessageEntry> {
        let label = self.expect_name(if first { "a label or `}`" } else { "a label" })?;
        let text: Arc<str> = match label.name.namespace() {
            Some(_) => label.name.as_written().to_string().into(),
            None => Arc::clone(label.name.base()),
        };
        self.expect(TokenKind::Colon, "`:` and the value of the label")?;
        let value = self.parse_payload()?;
        Ok(MessageEntry { label: text, span: label.span, value })
    }

    fn parse_payload(&mut self) -> Parsed<Payload> {
        let token = self.peek();
        match token.kind {
            TokenKind::Cid => {
                self.bump();
                self.parse_upper_payload(token)
            }
            TokenKind::Id | TokenKind::Spid => {
                self.bump();
                Ok(Payload::Variable(self.simple(token)))
            }
            _ => match self.maybe_literal()? {
                Some(literal) => Ok(Payload::Literal(literal)),
                None => Err(self.unexpected("a literal or a name")),
            },
        }
    }

    /// Parses a number of a type, or a value of a namespace.
    fn parse_upper_payload(&mut self, token: Token) -> Parsed<Payload> {
        match self.peek().kind {
            TokenKind::Number => {
                let number = self.bump();
                Ok(Payload::Literal(self.number_literal(token, number)))
            }
            TokenKind::Period => {
                self.bump();
                let base = self.expect(TokenKind::Id, "a name in the namespace")?;
                Ok(Payload::Variable(self.qualified(token, base)))
            }
            _ => Err(self.unexpected("a number of this type, or `.` and a name")),
        }
    }

    fn parse_instantiation(&mut self) -> Parsed<ExpressionKind> {
        self.bump();
        let function = self.expect_name("the name of a type function")?;
        let mut types = vec![self.parse_type_argument("a type")?];
        types.append(&mut self.parse_type_arguments()?);
        Ok(ExpressionKind::Instantiate { function, types })
    }
}
