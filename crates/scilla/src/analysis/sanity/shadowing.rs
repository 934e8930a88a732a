//! Names that hide other names.

use std::collections::HashSet;

use super::{NAMES, Subject, Warnings, shown};
use crate::{
    name::{Ident, Name},
    syntax::ast::{Component, ExprId, ExpressionKind, Library, LibraryEntry, Pattern, Statement, StatementKind},
    typecheck::Text,
};

/// The names that other names should not hide, by kind.
#[derive(Clone, Debug, Default)]
struct Visible<'a> {
    contract_parameters: HashSet<&'a Name>,
    fields: HashSet<&'a Name>,
    parameters: HashSet<&'a Name>,
}

struct Pass<'a, 'w> {
    text: Text<'a>,
    visible: Visible<'a>,
    warnings: &'w mut Warnings,
}

/// Checks the patterns of a library.
pub(super) fn library(text: Text<'_>, library: &Library, warnings: &mut Warnings) {
    let mut pass = Pass { text, visible: Visible::default(), warnings };
    for entry in &library.entries {
        if let LibraryEntry::Value { body, .. } = entry {
            pass.expression(*body);
        }
    }
}

/// Checks a contract and its own library.
pub(super) fn contract(subject: Subject<'_>, warnings: &mut Warnings) {
    if let Some(own) = subject.library {
        library(subject.text, own, warnings);
    }
    let contract = subject.contract;
    let contract_parameters = contract.parameters.iter().map(|parameter| &parameter.name.name).collect();
    let visible = Visible { contract_parameters, ..Visible::default() };
    let mut pass = Pass { text: subject.text, visible, warnings };
    pass.expression(contract.constraint);
    for field in &contract.fields {
        pass.judge(&field.name, &[]);
        pass.expression(field.initial);
    }
    pass.visible.fields = contract.fields.iter().map(|field| &field.name.name).collect();
    for component in &contract.components {
        pass.component(component);
    }
}

impl<'a> Pass<'a, '_> {
    fn component(&mut self, component: &'a Component) {
        self.visible.parameters.clear();
        for parameter in &component.parameters {
            self.judge(&parameter.name, &[]);
        }
        self.visible.parameters = component.parameters.iter().map(|parameter| &parameter.name.name).collect();
        self.statements(&component.body, &mut Vec::new());
        self.visible.parameters.clear();
    }

    /// Checks statements. `bound` has the names that the enclosing statements bind. A second binding of a name in the
    /// same block gets no warning.
    fn statements(&mut self, statements: &'a [Statement], bound: &mut Vec<&'a Name>) {
        let before = bound.len();
        for statement in statements {
            match &statement.kind {
                // The result variable of a call is not checked.
                StatementKind::Call { .. } => {}
                StatementKind::Match { clauses, .. } => {
                    for clause in clauses {
                        self.pattern(&clause.pattern);
                        self.statements(&clause.body, bound);
                    }
                }
                _ => {
                    let Some(ident) = statement.bound() else { continue };
                    self.judge(ident, bound.get(..before).unwrap_or_default());
                    if let StatementKind::Bind { value, .. } = &statement.kind {
                        self.expression(*value);
                    }
                    bound.push(&ident.name);
                }
            }
        }
        bound.truncate(before);
    }

    fn expression(&mut self, root: ExprId) {
        enum Step<'a> {
            Expression(ExprId),
            Pattern(&'a Pattern),
        }
        let mut pending = vec![Step::Expression(root)];
        while let Some(step) = pending.pop() {
            let id = match step {
                Step::Expression(id) => id,
                Step::Pattern(pattern) => {
                    self.pattern(pattern);
                    continue;
                }
            };
            let arena = self.text.arena;
            let expression = arena.get(id);
            match &expression.kind {
                ExpressionKind::Let { name, .. }
                | ExpressionKind::Function { parameter: name, .. }
                | ExpressionKind::Fixpoint { name, .. } => self.judge(name, &[]),
                ExpressionKind::Match { clauses, .. } => {
                    for clause in clauses.iter().rev() {
                        pending.push(Step::Expression(clause.body));
                        pending.push(Step::Pattern(&clause.pattern));
                    }
                    continue;
                }
                _ => {}
            }
            pending.extend(expression.parts().into_iter().rev().map(Step::Expression));
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        let mut binders = pattern.binders();
        for binder in &binders {
            self.judge(binder, &[]);
        }
        binders.reverse();
        binders.sort_by(|a, b| a.name.cmp(&b.name));
        let repeated = binders.windows(2).find_map(|pair| match pair {
            [first, second] if first.name == second.name => Some(*first),
            _ => None,
        });
        if let Some(ident) = repeated {
            let text = format!("Deprecated: variable {} shadows a previous binding in the same pattern.", shown(ident));
            self.warnings.add(NAMES, self.text.source.start(ident.span), text);
        }
    }

    fn judge(&mut self, ident: &Ident, bound: &[&Name]) {
        let name = shown(ident);
        let text = if self.visible.contract_parameters.contains(&ident.name) {
            format!("Name {name} shadows a contract parameter.")
        } else if self.visible.fields.contains(&ident.name) {
            format!("Name {name} shadows a field declaration.")
        } else if self.visible.parameters.contains(&ident.name) {
            format!("Name {name} shadows a transition parameter.")
        } else if bound.contains(&&ident.name) {
            format!("{name} is a new variable. It does not reassign the previously defined variable.")
        } else {
            return;
        };
        self.warnings.add(NAMES, self.text.source.start(ident.span), text);
    }
}
