//! Tags that follow from expressions.

use super::{Analysis, builtin, constructor, tag::Tag};
use crate::{
    name::Ident,
    syntax::ast::{Clause, ExprId, ExpressionKind, MessageEntry},
};

/// A node whose last part is its body, with the data for the step after the body.
enum Link<'a> {
    Function { parameter: &'a Ident, expected: Tag },
    Let(&'a Ident),
}

impl<'a> Analysis<'a> {
    /// Analyses an expression whose value must have the expected tag. Returns the tag of the value. This tag is at
    /// least `expected` in the lattice.
    pub(super) fn expression(&mut self, root: ExprId, mut expected: Tag) -> Tag {
        let arena = self.arena;
        let mut chain = Vec::new();
        let mut at = root;
        let mut tag = loop {
            self.steps += 1;
            match &arena.get(at).kind {
                ExpressionKind::Let { name, value, body, .. } => {
                    let tag = self.expression(*value, self.environment.state.note(name));
                    self.environment.push(&name.name, tag);
                    chain.push(Link::Let(name));
                    at = *body;
                }
                ExpressionKind::Function { parameter, body, .. } => {
                    self.environment.open(parameter);
                    let result = result(&expected);
                    chain.push(Link::Function { parameter, expected: std::mem::replace(&mut expected, result) });
                    at = *body;
                }
                ExpressionKind::TypeFunction { body, .. } => at = *body,
                kind => break self.leaf(at, kind, &expected).join(&expected),
            }
        };
        while let Some(link) = chain.pop() {
            match link {
                Link::Function { parameter, expected } => {
                    self.environment.close(parameter);
                    tag = Tag::map(tag).join(&expected);
                }
                Link::Let(name) => {
                    self.environment.close(name);
                }
            }
        }
        tag
    }

    fn leaf(&mut self, id: ExprId, kind: &'a ExpressionKind, expected: &Tag) -> Tag {
        match kind {
            ExpressionKind::Apply { function, .. } => {
                // A function with several arguments counts as a function with one argument.
                let function = self.environment.learn(function, &Tag::map(expected.clone()));
                result(&function)
            }
            ExpressionKind::Builtin { name, arguments, .. } => self.builtin(name, arguments, expected),
            ExpressionKind::Construct { constructor, arguments, .. } => {
                let tags: Vec<_> = arguments.iter().map(|argument| self.environment.get(argument)).collect();
                self.environment.state.constructors.learn(&constructor.name, &tags);
                constructor::made(self.known, &constructor.name, &tags)
            }
            ExpressionKind::Instantiate { function, .. } => self.environment.get(function),
            ExpressionKind::Literal(_) => self.environment.state.expect_literal(id, expected),
            ExpressionKind::Match { scrutinee, clauses } => self.match_expression(scrutinee, clauses, expected),
            ExpressionKind::Message(entries) => self.message(entries),
            ExpressionKind::Variable(variable) => self.environment.learn(variable, expected),
            ExpressionKind::Fixpoint { .. }
            | ExpressionKind::Function { .. }
            | ExpressionKind::Let { .. }
            | ExpressionKind::TypeFunction { .. } => Tag::Inconsistent,
        }
    }

    fn builtin(&mut self, name: &Ident, arguments: &[Ident], expected: &Tag) -> Tag {
        let tags = arguments.iter().map(|argument| self.environment.get(argument)).collect();
        let (result, tags) = builtin::call(name.name.base(), expected.clone(), tags);
        for (argument, tag) in arguments.iter().zip(tags).rev() {
            self.environment.set(argument, tag);
        }
        result
    }

    fn match_expression(&mut self, scrutinee: &'a Ident, clauses: &'a [Clause], expected: &Tag) -> Tag {
        let before = self.environment.local(&scrutinee.name).cloned();
        let mut tag = expected.clone();
        for clause in clauses.iter().rev() {
            self.open_pattern(&clause.pattern);
            let found = self.expression(clause.body, expected.clone());
            self.close_pattern(&clause.pattern);
            tag = tag.join(&found);
        }
        // As in the reference, a match expression drops the tags that its clauses give to the matched variable. A match
        // statement keeps these tags.
        if let Some(before) = before {
            self.environment.set(scrutinee, before);
        }
        let known = self.environment.state.note(scrutinee);
        for clause in clauses {
            self.inform(&clause.pattern, &known);
        }
        self.learn_from_patterns(scrutinee, clauses.iter().map(|clause| &clause.pattern));
        tag
    }

    /// Joins the tags of special entries, for example `Money` for `_amount`, into the tags of their variables. A
    /// message itself is not money.
    fn message(&mut self, entries: &[MessageEntry]) -> Tag {
        for entry in entries.iter().rev() {
            let tag = match &*entry.label {
                "_amount" => Tag::Money,
                "_eventname" | "_exception" | "_recipient" | "_tag" => Tag::NotMoney,
                _ => continue,
            };
            if let Some(variable) = entry.variable() {
                self.environment.learn(variable, &tag);
            }
        }
        Tag::NotMoney
    }
}

/// Returns the tag of the result of a call, from the tag of the called function.
fn result(function: &Tag) -> Tag {
    match function {
        Tag::Map(result) => (**result).clone(),
        Tag::NoInfo => Tag::NoInfo,
        Tag::Data(_) | Tag::Inconsistent | Tag::Money | Tag::NotMoney => Tag::Inconsistent,
    }
}
