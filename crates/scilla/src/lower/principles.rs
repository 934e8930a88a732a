//! The recursion principles, which are the only recursion of the language.
//!
//! The principles have no source text. The reference parses each of its principles from a single line, and reports
//! columns in this line. The principles of this module have the same columns. The shapes of the principles determine
//! the gas of a fold.

use std::sync::Arc;

use crate::{
    name::{Ident, Name},
    source::{Source, Span},
    syntax::ast::{Arena, Clause, ExprId, Expression, ExpressionKind, Pattern, PatternKind},
    types::Type,
};

/// Returns three values: the source to which the positions in the principles refer, the tree of the principles, and the
/// name of each principle with its expression.
pub(super) fn principles() -> (Source, Arena, Vec<(Name, ExprId)>) {
    let source = Source::new("Prelude".into(), Arc::from([]), vec![0]);
    let mut tree = Tree { arena: Arena::default() };
    let entries = vec![
        ("nat_fold", tree.front_fold(&NAT, [61, 71, 86, 106])),
        ("nat_foldk", tree.continued_fold(&NAT, [61, 75, 91, 102, 129])),
        ("list_foldl", tree.front_fold(&LIST, [64, 74, 83, 100])),
        ("list_foldr", tree.back_fold([64, 74, 83, 100])),
        ("list_foldk", tree.continued_fold(&LIST, [64, 78, 94, 106, 129])),
    ];
    let entries = entries.into_iter().map(|(name, body)| (Name::simple(name), body)).collect();
    (source, tree.arena, entries)
}

/// A type that can be folded.
struct Folded {
    type_variables: &'static [&'static str],
    /// Constructor of a non-empty value, with the names of its parts.
    full: (&'static str, &'static [&'static str]),
    empty: &'static str,
    /// Columns of the second parameter and of the match.
    columns: [u32; 2],
    /// Arguments of the step in addition to the accumulator.
    step: &'static str,
    /// For a continued fold, the arguments of the step in addition to the accumulator.
    continued_step: &'static str,
    rest: &'static str,
}

const NAT: Folded = Folded {
    type_variables: &["'T"],
    full: ("Succ", &["rest"]),
    empty: "Zero",
    columns: [18, 34],
    step: "rest",
    continued_step: "all",
    rest: "rest",
};

const LIST: Folded = Folded {
    type_variables: &["'A", "'B"],
    full: ("Cons", &["head", "rest"]),
    empty: "Nil",
    columns: [17, 37],
    step: "head",
    continued_step: "head",
    rest: "rest",
};

struct Tree {
    arena: Arena,
}

impl Tree {
    /// Returns a fold from the front: the step comes first, and then the fold of the rest with the result of the step.
    fn front_fold(&mut self, of: &Folded, [bind, step, again, empty]: [u32; 4]) -> ExprId {
        let first = self.apply(step, "step", &["accumulator", of.step]);
        let second = self.apply(again, "fold", &["result", of.rest]);
        let full = self.bind(bind, "result", first, second);
        self.fold(of, full, empty)
    }

    /// Returns a fold from the back: the fold of the rest comes first, and then the step with the result of this fold.
    fn back_fold(&mut self, [bind, again, step, empty]: [u32; 4]) -> ExprId {
        let first = self.apply(again, "fold", &["accumulator", "rest"]);
        let second = self.apply(step, "step", &["head", "result"]);
        let full = self.bind(bind, "result", first, second);
        self.fold(&LIST, full, empty)
    }

    /// Returns a fold from the front in which the step decides whether to continue.
    fn continued_fold(&mut self, of: &Folded, [bind, function, again, step, empty]: [u32; 5]) -> ExprId {
        let again = self.apply(again, "fold", &["next", of.rest]);
        let go_on = self.function(function, "next", again);
        let step = self.apply(step, "step", &["accumulator", of.continued_step, "go_on"]);
        let full = self.bind(bind, "go_on", go_on, step);
        self.fold(of, full, empty)
    }

    /// Returns the functions around the match, with the clause `full` for a non-empty value.
    fn fold(&mut self, of: &Folded, full: ExprId, empty: u32) -> ExprId {
        let [inner, matching] = of.columns;
        let accumulator = self.add(empty, ExpressionKind::Variable(Ident::nowhere("accumulator")));
        let (constructor, parts) = of.full;
        let clauses = vec![clause(constructor, parts, full), clause(of.empty, &[], accumulator)];
        let body = self.add(matching, ExpressionKind::Match { scrutinee: Ident::nowhere("all"), clauses });
        let body = self.function(inner, "all", body);
        let body = self.function(1, "accumulator", body);
        let fixpoint = ExpressionKind::Fixpoint { name: Ident::nowhere("fold"), ty: Type::Unit, body };
        let body = self.add(1, fixpoint);
        let mut body = self.function(1, "step", body);
        for variable in of.type_variables.iter().rev() {
            let (parameter, parameter_span) = ((*variable).into(), Span::NOWHERE);
            body = self.add(1, ExpressionKind::TypeFunction { parameter, parameter_span, body });
        }
        body
    }

    fn add(&mut self, column: u32, kind: ExpressionKind) -> ExprId {
        let start = column - 1;
        self.arena.add(Expression { kind, span: Span { start, end: start } })
    }

    fn apply(&mut self, column: u32, function: &str, arguments: &[&str]) -> ExprId {
        let arguments = arguments.iter().map(|name| Ident::nowhere(*name)).collect();
        self.add(column, ExpressionKind::Apply { function: Ident::nowhere(function), arguments })
    }

    fn bind(&mut self, column: u32, name: &str, value: ExprId, body: ExprId) -> ExprId {
        self.add(column, ExpressionKind::Let { name: Ident::nowhere(name), annotation: None, value, body })
    }

    /// Returns a function without a parameter type, because a run does not read this type.
    fn function(&mut self, column: u32, parameter: &str, body: ExprId) -> ExprId {
        self.add(column, ExpressionKind::Function { parameter: Ident::nowhere(parameter), ty: Type::Unit, body })
    }
}

fn clause(constructor: &str, parts: &[&str], body: ExprId) -> Clause {
    let pattern = |kind| Pattern { kind, span: Span::NOWHERE };
    let parts = parts.iter().map(|name| pattern(PatternKind::Binder(Ident::nowhere(*name)))).collect();
    Clause { pattern: pattern(PatternKind::Constructor(Ident::nowhere(constructor), parts)), body }
}
