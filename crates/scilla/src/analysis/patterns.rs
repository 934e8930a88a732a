//! Checks that matches cover all values, and that each of their clauses can be reached.
//!
//! For each part of the value, the check stores a fact: the constructor that made the part, or the excluded
//! constructors. The check tries the clauses in order. If a pattern depends on an unknown fact, the check follows both
//! cases. The error texts are those of `Zilliqa/scilla: src/base/PatternChecker.ml`, except for the limit of steps.

use std::collections::{HashMap, HashSet};

use super::{headed, shown};
use crate::{
    diagnosis::{Cause, Context},
    gas::Meter,
    name::{Ident, Name},
    report::Entry,
    source::Span,
    syntax::ast::{
        Clause, Component, Contract, ExprId, ExpressionKind, Library, LibraryEntry, Pattern, PatternKind, Statement,
        StatementKind,
    },
    typecheck::{Fault, Text, Typing},
    types::adt::DataTypes,
    work::weight,
};

/// Largest number of steps for all matches of a module together. The reference has no limit, and takes seconds for a
/// match that needs more steps.
const MAX_STEPS: u64 = 1 << 20;

/// Largest number of steps of a search for uncovered values.
const MAX_ADVICE_STEPS: u64 = 1 << 14;

/// Largest number of patterns of uncovered values that an error shows.
const MOST_UNCOVERED: usize = 4;

/// Checks the matches of one module.
#[derive(Debug)]
pub(crate) struct Patterns<'a> {
    known: &'a DataTypes,
    text: Text<'a>,
    typing: &'a Typing,
    steps: u64,
    /// The meter that counts the steps as work.
    meter: &'a mut Meter,
    /// Whether errors show values that a match does not cover.
    advice: bool,
}

/// The first errors in a part of the module. In an `Err`, the list is never empty.
type Errors = Vec<Entry>;

impl<'a> Patterns<'a> {
    /// Returns the check for a module. With `advice`, the errors show values that a match does not cover.
    pub(crate) const fn new(
        known: &'a DataTypes,
        text: Text<'a>,
        typing: &'a Typing,
        meter: &'a mut Meter,
        advice: bool,
    ) -> Self {
        Self { known, text, typing, steps: MAX_STEPS, meter, advice }
    }

    /// Returns the first error in a library, with its header.
    pub(crate) fn library(&mut self, library: &Library) -> Result<(), Errors> {
        for entry in &library.entries {
            if let LibraryEntry::Value { name, body, .. } = entry {
                self.expression(*body).map_err(|errors| {
                    let header = format!("Error during pattern-match checking of library: {}", shown(name));
                    headed(self.part(name, "library value", header), errors)
                })?;
            }
        }
        Ok(())
    }

    /// Returns the errors of a contract, after the errors of its own library.
    pub(crate) fn contract(&mut self, contract: &Contract, mut errors: Errors) -> Errors {
        errors.extend(self.expression(contract.constraint).err().into_iter().flatten());
        errors.extend(self.fields(contract).err().into_iter().flatten());
        for component in &contract.components {
            errors.extend(self.component(component).err().into_iter().flatten());
        }
        errors
    }

    fn fields(&mut self, contract: &Contract) -> Result<(), Errors> {
        for field in &contract.fields {
            self.expression(field.initial).map_err(|errors| {
                let header = format!("Error during pattern-match checking of field: {}\n", shown(&field.name));
                headed(self.part(&field.name, "field", header), errors)
            })?;
        }
        Ok(())
    }

    fn component(&mut self, component: &Component) -> Result<(), Errors> {
        self.statements(&component.body).map_err(|errors| {
            let (kind, name) = (component.kind_text(), shown(&component.name));
            let header = format!("Error during pattern-match checking of component: {kind} {name}:\n");
            headed(self.part(&component.name, kind, header), errors)
        })
    }

    fn part(&self, name: &Ident, kind: &'static str, header: String) -> Entry {
        self.text.error(name.span, header).because(Cause::Context(Context::Part(kind, shown(name))))
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<(), Errors> {
        for statement in statements {
            match &statement.kind {
                StatementKind::Bind { to, value } => {
                    let wrapper = || format!("Type error in the binding to into `{}`:\n", shown(to));
                    self.expression(*value).map_err(|errors| self.wrapped(statement.span, &wrapper(), errors))?;
                }
                StatementKind::Match { scrutinee, clauses } => {
                    let patterns: Vec<_> = clauses.iter().map(|clause| &clause.pattern).collect();
                    let outcome = self
                        .clauses(&patterns)
                        .and_then(|()| clauses.iter().try_for_each(|clause| self.statements(&clause.body)));
                    outcome.map_err(|errors| {
                        let name = shown(scrutinee);
                        let wrapper = format!("Type error in pattern matching on `{name}` (or one of its branches):\n");
                        self.wrapped(statement.span, &wrapper, errors)
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks the matches of an expression. A loop follows chains of `let`, `fun` and `tfun`, which have no limit of
    /// length.
    pub(crate) fn expression(&mut self, root: ExprId) -> Result<(), Errors> {
        let arena = self.text.arena;
        let mut next = Some(root);
        while let Some(id) = next.take() {
            let expression = arena.get(id);
            match &expression.kind {
                ExpressionKind::Let { name, value, body, .. } => {
                    let wrapper = || format!("Type error in the initialiser of `{}`:\n", shown(name));
                    self.expression(*value).map_err(|errors| self.wrapped(expression.span, &wrapper(), errors))?;
                    next = Some(*body);
                }
                ExpressionKind::Function { body, .. } | ExpressionKind::TypeFunction { body, .. } => next = Some(*body),
                ExpressionKind::Fixpoint { name, body, .. } => {
                    let wrapper = || {
                        let name = shown(name);
                        format!("Type error in fixpoint application with an argument `{name}`:\n")
                    };
                    self.expression(*body).map_err(|errors| self.wrapped(expression.span, &wrapper(), errors))?;
                }
                ExpressionKind::Match { scrutinee, clauses } => {
                    self.match_expression(clauses).map_err(|errors| {
                        let wrapper = self.match_wrapper(scrutinee);
                        self.wrapped(expression.span, &wrapper, errors)
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn match_expression(&mut self, clauses: &[Clause]) -> Result<(), Errors> {
        let patterns: Vec<_> = clauses.iter().map(|clause| &clause.pattern).collect();
        self.clauses(&patterns)?;
        clauses.iter().try_for_each(|clause| self.expression(clause.body))
    }

    fn match_wrapper(&self, scrutinee: &Ident) -> String {
        let name = shown(scrutinee);
        let ty = self.typing.ident(scrutinee).map(|ty| ty.global().to_string()).unwrap_or_default();
        format!("Type error in pattern matching on `{name}` of type {ty} (or one of its branches):\n")
    }

    /// Adds the source position `at` to errors. A single error gets `wrapper` in front of its text. If the single error
    /// has no position, it gets this position. Several errors get a header with this position.
    fn wrapped(&self, at: Span, wrapper: &str, mut errors: Errors) -> Errors {
        let [single] = errors.as_mut_slice() else {
            return headed(self.text.error(at, wrapper), errors);
        };
        single.message.insert_str(0, wrapper);
        if single.start.line == 0 {
            single.start = self.text.source.start(at);
        }
        errors
    }

    /// Checks the patterns of one match.
    fn clauses(&mut self, patterns: &[&Pattern]) -> Result<(), Errors> {
        let payable = self.steps.min(self.meter.work().left() / weight::PATTERN_STEP);
        let mut left = payable;
        let checked = Walk::new(self.known).check(patterns, &mut left);
        let work = payable.saturating_sub(left).saturating_mul(weight::PATTERN_STEP);
        let is_unpaid = left == 0 && payable < self.steps;
        self.steps = self.steps.saturating_sub(payable.saturating_sub(left));
        if self.meter.spend(work).is_err() || is_unpaid {
            self.meter.exceed();
            return Err(vec![Fault::exhausted()]);
        }
        checked.map_err(|message| {
            let missing = if self.advice { Walk::new(self.known).uncovered(patterns) } else { Vec::new() };
            let cause = (!missing.is_empty()).then_some(Cause::Uncovered { missing });
            vec![Entry::nowhere(message).because(cause)]
        })
    }
}

/// A part of the matched value, by number. The whole value has number 0.
type Place = usize;

/// A fact about a part of the value.
#[derive(Debug)]
enum Fact<'a> {
    /// The constructor that made the value.
    Is(&'a Name),
    /// Constructors that did not make the value.
    IsNot(HashSet<&'a Name>),
}

/// A change of the facts, with the data to undo it.
#[derive(Debug)]
enum Change<'a> {
    /// A further constructor was excluded for a part of the value.
    Excluded(Place, &'a Name),
    /// A fact was replaced. The previous fact is stored, if there was one.
    Replaced(Place, Option<Fact<'a>>),
}

/// An argument of a constructor: the part that the constructor made, the constructor, and the index of the argument.
type Part<'a> = (Place, &'a Name, usize);

#[derive(Debug)]
struct Walk<'a, 'k> {
    known: &'k DataTypes,
    places: HashMap<Part<'a>, Place>,
    facts: HashMap<Place, Fact<'a>>,
    /// The changes of the facts, the newest last.
    trail: Vec<Change<'a>>,
}

/// A case that remains to be checked: the length of the trail, a further excluded constructor, and the next clause to
/// try.
struct Case<'a> {
    trail: usize,
    excluded: Option<(Place, &'a Name)>,
    clause: usize,
}

enum Answer {
    Fits,
    FitsNot,
    /// The pattern may match or not.
    Open,
}

impl<'a, 'k> Walk<'a, 'k> {
    fn new(known: &'k DataTypes) -> Self {
        Self { known, places: HashMap::new(), facts: HashMap::new(), trail: Vec::new() }
    }

    fn check(&mut self, patterns: &[&'a Pattern], steps: &mut u64) -> Result<(), String> {
        let mut reached = vec![false; patterns.len()];
        let mut cases = vec![Case { trail: 0, excluded: None, clause: 0 }];
        while let Some(case) = cases.pop() {
            match self.fitting(&case, patterns, &mut cases, steps)?.and_then(|clause| reached.get_mut(clause)) {
                Some(reached) => *reached = true,
                None => return Err("Non-exhaustive pattern match.".to_owned()),
            }
        }
        match reached.iter().position(|reached| !reached) {
            Some(index) => Err(format!("Pattern is unreachable: {}", index + 1)),
            None => Ok(()),
        }
    }

    /// Returns patterns of values that no clause covers, at most [`MOST_UNCOVERED`].
    fn uncovered(&mut self, patterns: &[&'a Pattern]) -> Vec<String> {
        let mut steps = MAX_ADVICE_STEPS;
        let mut missing = Vec::new();
        let mut cases = vec![Case { trail: 0, excluded: None, clause: 0 }];
        while let Some(case) = cases.pop() {
            match self.fitting(&case, patterns, &mut cases, &mut steps) {
                Ok(Some(_)) => {}
                Ok(None) => missing.extend(self.shown(0, false)),
                Err(_) => break,
            }
            if missing.len() >= MOST_UNCOVERED {
                break;
            }
        }
        missing.truncate(MOST_UNCOVERED);
        missing
    }

    /// Returns the patterns that the facts permit for a part of the value, or `_` if there is no fact about this part.
    fn shown(&self, place: Place, nested: bool) -> Vec<String> {
        match self.facts.get(&place) {
            None => vec!["_".to_owned()],
            Some(Fact::Is(constructor)) => self.shown_made(place, constructor, nested),
            Some(Fact::IsNot(excluded)) => {
                let of = excluded.iter().next().and_then(|constructor| self.known.constructor(constructor));
                let all = of.map_or(&[][..], |(of, _)| &of.constructors);
                let others = all.iter().filter(|constructor| !excluded.contains(&constructor.name));
                others.take(MOST_UNCOVERED).flat_map(|other| self.shown_made(place, &other.name, nested)).collect()
            }
        }
    }

    /// Returns the patterns of a value of this constructor.
    fn shown_made(&self, place: Place, constructor: &Name, nested: bool) -> Vec<String> {
        let arguments = self.known.constructor(constructor).map_or(0, |(_, found)| found.arguments.len());
        let mut texts = vec![constructor.as_written().to_string()];
        for index in 0..arguments {
            let part = self.places.get(&(place, constructor, index));
            let parts = part.map_or_else(|| vec!["_".to_owned()], |part| self.shown(*part, true));
            let pairs = texts.iter().flat_map(|text| parts.iter().map(move |part| format!("{text} {part}")));
            texts = pairs.take(MOST_UNCOVERED).collect();
        }
        if nested && arguments > 0 {
            texts = texts.into_iter().map(|text| format!("({text})")).collect();
        }
        texts
    }

    /// Returns the index of the first clause that matches in a case, or `None` if no clause matches. Adds the other
    /// cases to `cases`. Returns an error if no steps are left.
    fn fitting(
        &mut self,
        case: &Case<'a>,
        patterns: &[&'a Pattern],
        cases: &mut Vec<Case<'a>>,
        steps: &mut u64,
    ) -> Result<Option<usize>, String> {
        self.undo(case.trail);
        if let Some((place, constructor)) = case.excluded {
            self.exclude(place, constructor);
        }
        let mut clause = case.clause;
        while let Some(pattern) = patterns.get(clause) {
            if self.follow(pattern, clause + 1, cases, steps)? {
                return Ok(Some(clause));
            }
            clause += 1;
        }
        Ok(None)
    }

    /// Follows the case in which a pattern matches, and returns whether this case is possible. Adds the cases in which
    /// the pattern does not match to `cases`. Returns an error if no steps are left.
    fn follow(
        &mut self,
        pattern: &'a Pattern,
        next: usize,
        cases: &mut Vec<Case<'a>>,
        steps: &mut u64,
    ) -> Result<bool, String> {
        let mut pending = vec![(0, pattern)];
        while let Some((place, pattern)) = pending.pop() {
            *steps = steps.checked_sub(1).ok_or("Pattern match has too many cases.")?;
            let PatternKind::Constructor(constructor, parts) = &pattern.kind else { continue };
            match self.ask(place, &constructor.name) {
                Answer::FitsNot => return Ok(false),
                Answer::Fits => {}
                Answer::Open => {
                    let excluded = Some((place, &constructor.name));
                    cases.push(Case { trail: self.trail.len(), excluded, clause: next });
                }
            }
            self.replace(place, Fact::Is(&constructor.name));
            for (index, part) in parts.iter().enumerate().rev() {
                let count = self.places.len() + 1;
                let part_place = *self.places.entry((place, &constructor.name, index)).or_insert(count);
                pending.push((part_place, part));
            }
        }
        Ok(true)
    }

    /// Returns whether this constructor made a part of the value.
    fn ask(&self, place: Place, constructor: &Name) -> Answer {
        let excluded = match self.facts.get(&place) {
            Some(Fact::Is(name)) if *name == constructor => return Answer::Fits,
            Some(Fact::Is(_)) => return Answer::FitsNot,
            Some(Fact::IsNot(excluded)) if excluded.contains(constructor) => return Answer::FitsNot,
            Some(Fact::IsNot(excluded)) => excluded.len(),
            None => 0,
        };
        let all = self.known.constructor(constructor).map_or(0, |(of, _)| of.constructors.len());
        if excluded + 1 == all { Answer::Fits } else { Answer::Open }
    }

    fn replace(&mut self, place: Place, fact: Fact<'a>) {
        let before = self.facts.insert(place, fact);
        self.trail.push(Change::Replaced(place, before));
    }

    fn exclude(&mut self, place: Place, constructor: &'a Name) {
        if let Some(Fact::IsNot(excluded)) = self.facts.get_mut(&place) {
            excluded.insert(constructor);
            self.trail.push(Change::Excluded(place, constructor));
        } else {
            self.replace(place, Fact::IsNot(HashSet::from([constructor])));
        }
    }

    fn undo(&mut self, length: usize) {
        while self.trail.len() > length
            && let Some(change) = self.trail.pop()
        {
            match change {
                Change::Excluded(place, constructor) => {
                    if let Some(Fact::IsNot(excluded)) = self.facts.get_mut(&place) {
                        excluded.remove(constructor);
                    }
                }
                Change::Replaced(place, Some(before)) => {
                    self.facts.insert(place, before);
                }
                Change::Replaced(place, None) => {
                    self.facts.remove(&place);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        syntax,
        types::adt::{Constructor, DataType},
    };

    /// Checks a match on a `List Bool` with these patterns. Returns the result and the number of steps.
    fn check(patterns: &[String], limit: u64) -> (Result<(), String>, u64) {
        check_with(&DataTypes::built_in(), patterns, limit)
    }

    fn check_with(known: &DataTypes, patterns: &[String], limit: u64) -> (Result<(), String>, u64) {
        let clauses: Vec<_> = patterns.iter().map(|pattern| format!("| {pattern} => l ")).collect();
        let text = format!("match l with {} end", clauses.concat());
        let module = syntax::parse_expression("test.scilexp", text.as_bytes()).expect("the text parses");
        let ExpressionKind::Match { clauses, .. } = &module.arena.get(module.root).kind else { panic!("no match") };
        let patterns: Vec<_> = clauses.iter().map(|clause| &clause.pattern).collect();
        let mut steps = limit;
        (Walk::new(known).check(&patterns, &mut steps), limit - steps)
    }

    /// Returns the pattern of a list of `of` elements in which the elements `at` and `at + 1` are `True`.
    fn two_true(of: usize, at: usize) -> String {
        let element = |index: usize| if index == at || index == at + 1 { "True" } else { "_" };
        (0..of).rev().fold("Nil".to_owned(), |rest, index| {
            format!("Cons {} {}", element(index), if rest == "Nil" { rest } else { format!("({rest})") })
        })
    }

    #[test]
    fn cases_are_followed_up_to_a_limit() {
        let patterns: Vec<_> = (0..19).map(|at| two_true(20, at)).chain(["_".to_owned()]).collect();
        assert_eq!(check(&patterns, 10_000).0, Err("Pattern match has too many cases.".to_owned()));
        let few: Vec<_> = (0..3).map(|at| two_true(4, at)).chain(["_".to_owned()]).collect();
        assert_eq!(check(&few, 10_000).0, Ok(()));
    }

    #[test]
    fn long_matches_on_one_value_take_few_steps() {
        let deep = |depth: usize| (0..depth).fold("Nil".to_owned(), |rest, _| format!("Cons x ({rest})"));
        let patterns: Vec<_> = (0..100).map(deep).chain(["_".to_owned()]).collect();
        let (outcome, steps) = check(&patterns, 1 << 20);
        assert_eq!(outcome, Ok(()));
        assert!(steps < 40_000, "{steps}");
    }

    #[test]
    fn a_match_may_have_a_clause_for_each_of_many_constructors() {
        let name = |index: usize| format!("C{index}");
        let constructor = |index| Constructor { name: Name::simple(name(index)), arguments: vec![] };
        let constructors: Vec<_> = (0..20_000).map(constructor).collect();
        let mut known = DataTypes::built_in();
        known.add(DataType { name: Name::simple("T"), parameters: vec![], constructors }).expect("the names are new");
        let mut patterns: Vec<_> = (0..20_000).map(name).collect();
        assert_eq!(check_with(&known, &patterns, 1 << 20).0, Ok(()));
        patterns.truncate(19_999);
        assert_eq!(check_with(&known, &patterns, 1 << 20).0, Err("Non-exhaustive pattern match.".to_owned()));
        patterns.extend([name(7), "_".to_owned()]);
        assert_eq!(check_with(&known, &patterns, 1 << 20).0, Err("Pattern is unreachable: 20000".to_owned()));
    }
}
