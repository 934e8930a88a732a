//! Pieces of expressions.

use super::{Group, Piece, Writer};
use crate::{
    name::{Ident, Name},
    source::Span,
    syntax::ast::{ExprId, ExpressionKind, Literal, MessageEntry, Pattern, PatternKind, Payload},
    types::{Primitive, Type},
};

/// A remaining step of the writer.
enum Step<'a> {
    /// Write a clause of a match.
    Clause(&'a Pattern, ExprId),
    /// Write an expression.
    Enter(ExprId),
    /// Write the end of a list.
    End,
    /// Write the end of an expression, and its source position.
    Leave(Span),
}

impl Writer<'_> {
    /// Writes an expression, with an explicit stack of the remaining steps.
    pub(super) fn expression(&mut self, root: ExprId) {
        let arena = self.arena;
        let mut steps = vec![Step::Enter(root)];
        while let Some(step) = steps.pop() {
            match step {
                Step::End => self.end(),
                Step::Clause(pattern, body) => {
                    self.begin(Group::List);
                    self.pattern(pattern);
                    steps.push(Step::End);
                    steps.push(Step::Enter(body));
                }
                Step::Enter(id) => {
                    let expression = arena.get(id);
                    self.begin(Group::List);
                    steps.push(Step::Leave(expression.span));
                    self.node(&expression.kind, &mut steps);
                }
                Step::Leave(span) => {
                    self.end();
                    self.place(span);
                    self.end();
                }
            }
        }
    }

    /// Writes the parts of a node that are not expressions. Pushes a step for each inner expression, the first one on
    /// top.
    fn node<'t>(&mut self, kind: &'t ExpressionKind, steps: &mut Vec<Step<'t>>) {
        match kind {
            ExpressionKind::Apply { function, arguments } => {
                self.begin(Group::Variant("App"));
                self.ident(function);
                self.idents(arguments);
            }
            ExpressionKind::Builtin { name, types, arguments } => self.builtin(name, types, arguments),
            ExpressionKind::Construct { constructor, .. } if constructor.span.is_nowhere() => {
                // Only the default constraint of a contract has no source position.
                self.begin(Group::Variant("Literal"));
                self.parts("ADTValue", |writer| {
                    writer.group(Group::Part("name"), |writer| writer.name(&constructor.name));
                    writer.group(Group::Part("types"), |writer| writer.kinds(&[]));
                    writer.group(Group::Part("lits"), |writer| writer.idents(&[]));
                });
            }
            ExpressionKind::Construct { constructor, types, arguments } => {
                self.begin(Group::Variant("Constr"));
                self.ident(constructor);
                self.kinds(types);
                self.idents(arguments);
            }
            ExpressionKind::Fixpoint { name, ty, body } => {
                self.begin(Group::Variant("Fixpoint"));
                self.ident(name);
                self.ty(ty);
                steps.push(Step::Enter(*body));
            }
            ExpressionKind::Function { parameter, ty, body } => {
                self.begin(Group::Variant("Fun"));
                self.ident(parameter);
                self.ty(ty);
                steps.push(Step::Enter(*body));
            }
            ExpressionKind::Instantiate { function, types } => {
                self.begin(Group::Variant("TApp"));
                self.ident(function);
                self.kinds(types);
            }
            ExpressionKind::Let { name, annotation, value, body } => {
                self.begin(Group::Variant("Let"));
                self.ident(name);
                self.maybe_kind(annotation.as_ref());
                steps.push(Step::Enter(*body));
                steps.push(Step::Enter(*value));
            }
            ExpressionKind::Literal(literal) => {
                self.begin(Group::Variant("Literal"));
                self.literal(literal);
            }
            ExpressionKind::Match { scrutinee, clauses } => {
                self.begin(Group::Variant("MatchExpr"));
                self.ident(scrutinee);
                self.begin(Group::List);
                steps.push(Step::End);
                steps.extend(clauses.iter().rev().map(|clause| Step::Clause(&clause.pattern, clause.body)));
            }
            ExpressionKind::Message(entries) => {
                self.begin(Group::Variant("Message"));
                self.list(entries, Self::message_entry);
            }
            ExpressionKind::TypeFunction { parameter, parameter_span, body } => {
                self.begin(Group::Variant("TFun"));
                self.ident_at(&Name::simple(parameter.as_ref()), *parameter_span);
                steps.push(Step::Enter(*body));
            }
            ExpressionKind::Variable(ident) => {
                self.begin(Group::Variant("Var"));
                self.ident(ident);
            }
        }
    }

    fn builtin(&mut self, name: &Ident, types: &[Type], arguments: &[Ident]) {
        self.begin(Group::Variant("Builtin"));
        self.begin(Group::List);
        let base = name.name.base();
        match base.strip_prefix("to_bystr") {
            Some(width) if !width.is_empty() => self.variant("Builtin_to_bystrx", |writer| writer.number(width)),
            _ => self.word(format!("Builtin_{base}")),
        }
        self.place(name.span);
        self.end();
        self.kinds(types);
        self.idents(arguments);
    }

    fn message_entry(&mut self, entry: &MessageEntry) {
        self.begin(Group::List);
        self.text(entry.label.as_bytes());
        match &entry.value {
            Payload::Literal(literal) => self.variant("MLit", |writer| writer.literal(literal)),
            Payload::Variable(ident) => self.variant("MVar", |writer| writer.ident(ident)),
        }
        self.end();
    }

    pub(super) fn pattern(&mut self, pattern: &Pattern) {
        match &pattern.kind {
            PatternKind::Binder(ident) => self.variant("Binder", |writer| writer.ident(ident)),
            PatternKind::Constructor(constructor, parts) => self.variant("Constructor", |writer| {
                writer.ident(constructor);
                writer.list(parts, Self::pattern);
            }),
            PatternKind::Wildcard => self.word("Wildcard"),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::BNum(digits) => self.group(Group::Literal("BNum"), |writer| writer.text(digits.as_bytes())),
            Literal::Bytes(bytes) => self.group(Group::Literal("ByStrX"), |writer| writer.text(bytes)),
            Literal::EmptyMap { key, value } => self.parts("Map", |writer| {
                writer.group(Group::Part("mtype"), |writer| writer.list([key, value], Self::ty));
                writer.group(Group::Part("data"), |writer| writer.kinds(&[]));
            }),
            Literal::Integer(primitive, digits) => {
                let sort = if matches!(primitive, Primitive::Int(_)) { "IntLit" } else { "UintLit" };
                let integer = Piece::Integer(*primitive, digits.to_string());
                self.group(Group::Literal(sort), |writer| writer.pieces.push(integer));
            }
            Literal::String(text) => self.group(Group::Literal("StringLit"), |writer| writer.text(text.as_bytes())),
        }
    }

    /// Writes a literal with several parts.
    fn parts(&mut self, sort: &'static str, write: impl FnOnce(&mut Self)) {
        self.group(Group::Literal(sort), |writer| writer.group(Group::Parts, write));
    }
}
