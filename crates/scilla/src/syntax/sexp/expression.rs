//! Expressions.

use super::Writer;
use crate::{
    name::{Ident, Name},
    source::Span,
    syntax::ast::{ExprId, ExpressionKind, Literal, MessageEntry, Pattern, PatternKind, Payload},
    types::{Primitive, Type},
};

/// What remains to be written.
enum Step<'a> {
    /// The end of a list.
    Close,
    /// A clause of a match.
    Clause(&'a Pattern, ExprId),
    /// An expression.
    Enter(ExprId),
    /// The end of an expression, and its place.
    Leave(Span),
}

impl Writer<'_> {
    /// Writes an expression. What remains to be written stands on a stack of our own.
    pub(super) fn expression(&mut self, root: ExprId) {
        let arena = self.arena;
        let mut steps = vec![Step::Enter(root)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Close => self.close(),
                Step::Clause(pattern, body) => {
                    self.open();
                    self.pattern(pattern);
                    steps.push(Step::Close);
                    steps.push(Step::Enter(body));
                }
                Step::Enter(id) => {
                    let expression = arena.get(id);
                    self.open();
                    self.open();
                    steps.push(Step::Leave(expression.span));
                    self.node(&expression.kind, &mut steps);
                }
                Step::Leave(span) => {
                    self.close();
                    self.place(span);
                    self.close();
                }
            }
        }
    }

    /// Writes the parts of a node that are no expressions, and puts the others on the stack, the first one on top.
    fn node<'t>(&mut self, kind: &'t ExpressionKind, steps: &mut Vec<Step<'t>>) {
        match kind {
            ExpressionKind::Apply { function, arguments } => {
                self.atom("App");
                self.ident(function);
                self.idents(arguments);
            }
            ExpressionKind::Builtin { name, types, arguments } => self.builtin(name, types, arguments),
            ExpressionKind::Construct { constructor, .. } if constructor.span.is_nowhere() => {
                // The constraint of a contract that has none.
                self.atom("Literal");
                self.variant("ADTValue", |writer| {
                    writer.name(&constructor.name);
                    writer.kinds(&[]);
                    writer.idents(&[]);
                });
            }
            ExpressionKind::Construct { constructor, types, arguments } => {
                self.atom("Constr");
                self.ident(constructor);
                self.kinds(types);
                self.idents(arguments);
            }
            ExpressionKind::Fixpoint { name, kind, body } => {
                self.atom("Fixpoint");
                self.ident(name);
                self.kind(kind);
                steps.push(Step::Enter(*body));
            }
            ExpressionKind::Function { parameter, kind, body } => {
                self.atom("Fun");
                self.ident(parameter);
                self.kind(kind);
                steps.push(Step::Enter(*body));
            }
            ExpressionKind::Instantiate { function, types } => {
                self.atom("TApp");
                self.ident(function);
                self.kinds(types);
            }
            ExpressionKind::Let { name, annotation, value, body } => {
                self.atom("Let");
                self.ident(name);
                self.maybe_kind(annotation.as_ref());
                steps.push(Step::Enter(*body));
                steps.push(Step::Enter(*value));
            }
            ExpressionKind::Literal(literal) => {
                self.atom("Literal");
                self.literal(literal);
            }
            ExpressionKind::Match { scrutinee, clauses } => {
                self.atom("MatchExpr");
                self.ident(scrutinee);
                self.open();
                steps.push(Step::Close);
                steps.extend(clauses.iter().rev().map(|clause| Step::Clause(&clause.pattern, clause.body)));
            }
            ExpressionKind::Message(entries) => {
                self.atom("Message");
                self.list(entries, Self::message_entry);
            }
            ExpressionKind::TypeFunction { parameter, parameter_span, body } => {
                self.atom("TFun");
                self.ident_at(&Name::simple(parameter.as_ref()), *parameter_span);
                steps.push(Step::Enter(*body));
            }
            ExpressionKind::Variable(ident) => {
                self.atom("Var");
                self.ident(ident);
            }
        }
    }

    fn builtin(&mut self, name: &Ident, types: &[Type], arguments: &[Ident]) {
        self.atom("Builtin");
        self.open();
        let base = name.name.base();
        match base.strip_prefix("to_bystr") {
            Some(width) if !width.is_empty() => self.variant("Builtin_to_bystrx", |writer| writer.atom(width)),
            _ => self.atom(format!("Builtin_{base}")),
        }
        self.place(name.span);
        self.close();
        self.kinds(types);
        self.idents(arguments);
    }

    fn message_entry(&mut self, entry: &MessageEntry) {
        self.open();
        self.atom(entry.label.as_bytes());
        match &entry.value {
            Payload::Literal(literal) => self.variant("MLit", |writer| writer.literal(literal)),
            Payload::Variable(ident) => self.variant("MVar", |writer| writer.ident(ident)),
        }
        self.close();
    }

    pub(super) fn pattern(&mut self, pattern: &Pattern) {
        match &pattern.kind {
            PatternKind::Binder(ident) => self.variant("Binder", |writer| writer.ident(ident)),
            PatternKind::Constructor(constructor, parts) => self.variant("Constructor", |writer| {
                writer.ident(constructor);
                writer.list(parts, Self::pattern);
            }),
            PatternKind::Wildcard => self.atom("Wildcard"),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::BNum(digits) => self.variant("BNum", |writer| writer.atom(digits.as_bytes())),
            Literal::Bytes(bytes) => self.variant("ByStrX", |writer| writer.atom(bytes)),
            Literal::EmptyMap { key, value } => self.variant("Map", |writer| {
                writer.open();
                writer.kind(key);
                writer.kind(value);
                writer.close();
                writer.open();
                writer.close();
            }),
            Literal::Integer(primitive, digits) => {
                let sort = if matches!(primitive, Primitive::Int(_)) { "IntLit" } else { "UintLit" };
                self.variant(sort, |writer| writer.atom(format!("{primitive} {digits}")));
            }
            Literal::String(text) => self.variant("StringLit", |writer| writer.atom(text.as_bytes())),
        }
    }
}
