//! Printing of expressions.

use std::fmt::Write as _;

use super::{Op, Printer};
use crate::{
    name::Ident,
    source::Span,
    syntax::ast::{Clause, ExprId, ExpressionKind, Literal, MessageEntry, Pattern, PatternKind, Payload},
    types::Type,
};

impl Printer<'_> {
    /// Prints an expression at the present position.
    ///
    /// A loop prints the bodies of `let`, `fun` and `tfun`, because their chains can be long.
    pub(super) fn expression(&mut self, root: ExprId) {
        let arena = self.arena;
        let mut steps = 0_usize;
        let mut next = Some(root);
        while let Some(id) = next {
            let expression = arena.get(id);
            self.at(expression.span);
            if matches!(expression.kind, ExpressionKind::Literal(_)) {
                // Comments between the tokens of the literal are printed before the literal.
                self.at(Span { start: expression.span.end, ..expression.span });
            }
            next = match &expression.kind {
                ExpressionKind::Let { name, annotation, value, body } => {
                    self.text("let ");
                    self.ident(name);
                    if let Some(ty) = annotation {
                        self.text(" : ");
                        self.ty(ty);
                    }
                    self.text(" =");
                    self.let_value(*value);
                    self.op(Op::Hard);
                    Some(*body)
                }
                ExpressionKind::Fixpoint { name: parameter, ty, body }
                | ExpressionKind::Function { parameter, ty, body } => {
                    self.text("fun (");
                    self.ident(parameter);
                    self.text(" : ");
                    self.ty(ty);
                    self.text(") =>");
                    steps += self.open_body(*body);
                    Some(*body)
                }
                ExpressionKind::TypeFunction { parameter, parameter_span: _, body } => {
                    self.text(format!("tfun {parameter} =>"));
                    steps += self.open_body(*body);
                    Some(*body)
                }
                ExpressionKind::Match { scrutinee, clauses } => {
                    self.matching(scrutinee, clauses);
                    self.at_end_of(expression.span);
                    self.text("end");
                    None
                }
                closed @ (ExpressionKind::Apply { .. }
                | ExpressionKind::Builtin { .. }
                | ExpressionKind::Construct { .. }
                | ExpressionKind::Instantiate { .. }
                | ExpressionKind::Literal(_)
                | ExpressionKind::Message(_)
                | ExpressionKind::Variable(_)) => {
                    self.closed(closed);
                    None
                }
            };
        }
        for _ in 0..steps {
            self.op(Op::Dedent);
        }
    }

    /// Begins the body of a function on the next line. The body is indented unless it is a function itself. Returns
    /// the number of indentation steps.
    fn open_body(&mut self, body: ExprId) -> usize {
        let function =
            matches!(self.arena.get(body).kind, ExpressionKind::Function { .. } | ExpressionKind::TypeFunction { .. });
        if !function {
            self.op(Op::Indent);
        }
        self.op(Op::Hard);
        usize::from(!function)
    }

    /// Prints an expression after an equals sign or an arrow, on the same line if it fits.
    pub(super) fn part(&mut self, id: ExprId) {
        let closed = self.is_closed(id);
        if closed {
            self.op(Op::Open);
        }
        self.op(Op::Indent);
        self.op(if closed { Op::Line } else { Op::Hard });
        self.expression(id);
        self.op(Op::Dedent);
        if closed {
            self.op(Op::Close);
        }
    }

    /// Prints the value of a `let`, and its `in`.
    fn let_value(&mut self, id: ExprId) {
        self.part(id);
        if self.is_closed(id) {
            self.text(" in");
        } else {
            self.op(Op::Hard);
            self.text("in");
        }
    }

    /// Returns whether an expression has no inner expressions.
    pub(super) fn is_closed(&self, id: ExprId) -> bool {
        match self.arena.get(id).kind {
            ExpressionKind::Fixpoint { .. }
            | ExpressionKind::Function { .. }
            | ExpressionKind::Let { .. }
            | ExpressionKind::Match { .. }
            | ExpressionKind::TypeFunction { .. } => false,
            ExpressionKind::Apply { .. }
            | ExpressionKind::Builtin { .. }
            | ExpressionKind::Construct { .. }
            | ExpressionKind::Instantiate { .. }
            | ExpressionKind::Literal(_)
            | ExpressionKind::Message(_)
            | ExpressionKind::Variable(_) => true,
        }
    }

    fn matching(&mut self, scrutinee: &Ident, clauses: &[Clause]) {
        self.text("match ");
        self.ident(scrutinee);
        self.text(" with");
        self.op(Op::Hard);
        for clause in clauses {
            self.clause_head(&clause.pattern);
            self.part(clause.body);
            self.op(Op::Hard);
        }
    }

    /// Prints the bar, the pattern and the arrow of a clause.
    pub(super) fn clause_head(&mut self, pattern: &Pattern) {
        self.at(pattern.span);
        self.text("| ");
        self.pattern(pattern, false);
        self.text(" =>");
    }

    fn pattern(&mut self, pattern: &Pattern, within: bool) {
        match &pattern.kind {
            PatternKind::Binder(ident) => self.ident(ident),
            PatternKind::Constructor(constructor, parts) => {
                let brackets = within && !parts.is_empty();
                if brackets {
                    self.text("(");
                }
                self.ident(constructor);
                for part in parts {
                    self.text(" ");
                    self.pattern(part, true);
                }
                if brackets {
                    self.text(")");
                }
            }
            PatternKind::Wildcard => {
                self.at(pattern.span);
                self.text("_");
            }
        }
    }

    /// Prints an expression without inner expressions.
    fn closed(&mut self, kind: &ExpressionKind) {
        match kind {
            ExpressionKind::Apply { function, arguments } => {
                self.op(Op::Open);
                self.ident(function);
                self.arguments(arguments);
                self.op(Op::Close);
            }
            ExpressionKind::Builtin { name, types, arguments } => {
                self.op(Op::Open);
                self.text("builtin ");
                self.ident(name);
                self.types_in_braces(types);
                if arguments.is_empty() {
                    self.text(" ()");
                }
                self.arguments(arguments);
                self.op(Op::Close);
            }
            ExpressionKind::Construct { constructor, types, arguments } => {
                self.op(Op::Open);
                self.ident(constructor);
                self.types_in_braces(types);
                self.arguments(arguments);
                self.op(Op::Close);
            }
            ExpressionKind::Instantiate { function, types } => {
                self.text("@");
                self.ident(function);
                for ty in types {
                    self.text(" ");
                    self.type_argument(ty);
                }
            }
            ExpressionKind::Literal(literal) => self.literal(literal),
            ExpressionKind::Message(entries) => self.message(entries),
            ExpressionKind::Variable(ident) => self.ident(ident),
            ExpressionKind::Fixpoint { .. }
            | ExpressionKind::Function { .. }
            | ExpressionKind::Let { .. }
            | ExpressionKind::Match { .. }
            | ExpressionKind::TypeFunction { .. } => {}
        }
    }

    /// Prints arguments on one line if they fit, and otherwise each argument on a line of its own.
    pub(super) fn arguments(&mut self, arguments: &[Ident]) {
        self.op(Op::Indent);
        for argument in arguments {
            self.op(Op::Line);
            self.ident(argument);
        }
        self.op(Op::Dedent);
    }

    fn types_in_braces(&mut self, types: &[Type]) {
        if types.is_empty() {
            return;
        }
        self.text(" {");
        for (index, ty) in types.iter().enumerate() {
            if index > 0 {
                self.text(" ");
            }
            self.type_argument(ty);
        }
        self.text("}");
    }

    fn message(&mut self, entries: &[MessageEntry]) {
        if entries.is_empty() {
            self.text("{ }");
            return;
        }
        self.op(Op::Open);
        self.text("{");
        self.op(Op::Indent);
        self.op(Op::Line);
        self.separated(entries, ";", |printer, entry| {
            printer.at(entry.span);
            printer.text(format!("{} : ", entry.label));
            match &entry.value {
                Payload::Literal(literal) => printer.literal(literal),
                Payload::Variable(ident) => printer.ident(ident),
            }
        });
        self.op(Op::Dedent);
        self.op(Op::Line);
        self.text("}");
        self.op(Op::Close);
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::BNum(digits) => self.text(format!("BNum {digits}")),
            Literal::Bytes(bytes) => {
                let mut text = "0x".to_owned();
                for byte in bytes.iter() {
                    // A write to a `String` cannot fail.
                    let _ = write!(text, "{byte:02x}");
                }
                self.text(text);
            }
            Literal::EmptyMap { key, value } => {
                self.text("Emp ");
                self.type_argument(key);
                self.text(" ");
                self.type_argument(value);
            }
            Literal::Integer(primitive, digits) => self.text(format!("{primitive} {digits}")),
            Literal::String(text) => self.text(quoted(text)),
        }
    }
}

/// Returns the string literal for a text.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
