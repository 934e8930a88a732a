//! Gas of expressions.

use silica_scilla::{
    name::Name,
    source::Location,
    syntax::ast::{ExprId, ExpressionKind, Literal, MessageEntry, Pattern, PatternKind, Payload},
    value::IntegerType,
};

use super::{INSUFFICIENT, Run, Scope, Stop, Text, builtin, value::Value};

/// A function that is applied to values or types.
pub(super) enum Function<'p> {
    /// The function that continues a fold. The step of the fold receives this function.
    GoOn {
        fold: Fold<'p>,
        rest: Value<'p>,
    },
    /// A recursion principle with the arguments that it already has.
    Fold(Fold<'p>),
    OfType {
        body: ExprId,
        text: Text<'p>,
        known: Scope<'p>,
    },
    Plain {
        parameter: &'p Name,
        body: ExprId,
        text: Text<'p>,
        known: Scope<'p>,
    },
}

#[derive(Clone)]
pub(super) struct Fold<'p> {
    is_from_the_back: bool,
    is_continued: bool,
    /// Number of type arguments that are missing.
    types: u64,
    given: Vec<Value<'p>>,
}

impl Function<'_> {
    pub(super) fn principle(name: &str, types: u64, is_continued: bool) -> Self {
        Self::Fold(Fold { is_from_the_back: name == "list_foldr", is_continued, types, given: Vec::new() })
    }
}

/// Returns the source position of the recursion principles.
pub(super) fn prelude() -> Location {
    Location { file: "Prelude".into(), line: 1, column: 1 }
}

impl<'p> Run<'p> {
    pub(super) fn expression(&mut self, text: Text<'p>, id: ExprId, known: &Scope<'p>) -> Result<Value<'p>, Stop> {
        let expression = text.arena.get(id);
        match &expression.kind {
            ExpressionKind::Builtin { name, arguments, .. } => {
                let arguments: Vec<_> = arguments.iter().map(|name| known.get(&name.name)).collect();
                return self.builtin(name.name.base(), &arguments);
            }
            ExpressionKind::Match { scrutinee, clauses } => {
                self.charge(clauses.len() as u64, &text.source.start(expression.span), INSUFFICIENT);
                let value = known.get(&scrutinee.name);
                let fitting =
                    clauses.iter().find_map(|clause| Some((fit(&clause.pattern, &value, known)?, clause.body)));
                let (known, body) = fitting.expect("patterns are exhaustive");
                return self.expression(text, body, &known);
            }
            ExpressionKind::Apply { .. }
            | ExpressionKind::Construct { .. }
            | ExpressionKind::Fixpoint { .. }
            | ExpressionKind::Function { .. }
            | ExpressionKind::Instantiate { .. }
            | ExpressionKind::Let { .. }
            | ExpressionKind::Literal(_)
            | ExpressionKind::Message(_)
            | ExpressionKind::TypeFunction { .. }
            | ExpressionKind::Variable(_) => self.charge(1, &text.source.start(expression.span), INSUFFICIENT),
        }
        Ok(match &expression.kind {
            ExpressionKind::Apply { function, arguments } => {
                let arguments: Vec<_> = arguments.iter().map(|name| known.get(&name.name)).collect();
                return self.apply(known.get(&function.name), &arguments);
            }
            ExpressionKind::Construct { constructor, arguments, .. } => {
                Value::made(&constructor.name, arguments.iter().map(|name| known.get(&name.name)).collect())
            }
            ExpressionKind::Function { parameter, body, .. } => {
                Value::function(Function::Plain { parameter: &parameter.name, body: *body, text, known: known.clone() })
            }
            ExpressionKind::Instantiate { function, types } => {
                let mut function = known.get(&function.name);
                for _ in types {
                    function = self.instantiate(&function)?;
                }
                function
            }
            ExpressionKind::Let { name, value, body, .. } => {
                let value = self.expression(text, *value, known)?;
                return self.expression(text, *body, &known.with(&name.name, value));
            }
            ExpressionKind::Literal(literal) => of_literal(literal),
            ExpressionKind::Message(entries) => message(entries, known),
            ExpressionKind::TypeFunction { body, .. } => {
                Value::function(Function::OfType { body: *body, text, known: known.clone() })
            }
            ExpressionKind::Variable(name) => known.get(&name.name),
            ExpressionKind::Builtin { .. } | ExpressionKind::Fixpoint { .. } | ExpressionKind::Match { .. } => {
                unreachable!("no program has fixpoints, and the other cases are above")
            }
        })
    }

    fn builtin(&mut self, name: &str, arguments: &[Value<'p>]) -> Result<Value<'p>, Stop> {
        let (units, result) = builtin::apply(name, arguments)?;
        self.charge(units, &Location::default(), INSUFFICIENT);
        result.ok_or(Stop::Failed)
    }

    fn instantiate(&mut self, function: &Value<'p>) -> Result<Value<'p>, Stop> {
        let Value::Function(function) = function else { panic!("this is no function") };
        match &**function {
            Function::OfType { body, text, known } => self.expression(*text, *body, known),
            // The value contains another type function, or the function of the step.
            Function::Fold(fold) => {
                self.charge(1, &prelude(), INSUFFICIENT);
                Ok(Value::function(Function::Fold(Fold { types: fold.types - 1, ..fold.clone() })))
            }
            Function::GoOn { .. } | Function::Plain { .. } => panic!("this is no function of types"),
        }
    }

    fn apply(&mut self, function: Value<'p>, arguments: &[Value<'p>]) -> Result<Value<'p>, Stop> {
        arguments.iter().try_fold(function, |function, argument| self.apply_one(&function, argument.clone()))
    }

    fn apply_one(&mut self, function: &Value<'p>, argument: Value<'p>) -> Result<Value<'p>, Stop> {
        let Value::Function(function) = function else { panic!("this is no function") };
        match &**function {
            Function::Plain { parameter, body, text, known } => {
                self.expression(*text, *body, &known.with(parameter, argument))
            }
            Function::Fold(fold) => self.fold(fold, argument),
            Function::GoOn { fold, rest } => {
                self.charge(1, &prelude(), INSUFFICIENT);
                self.apply(Value::function(Function::Fold(fold.clone())), &[argument, rest.clone()])
            }
            Function::OfType { .. } => panic!("this function takes a type"),
        }
    }

    /// Adds an argument to a fold. The first argument is the step, then comes the initial value, and then the folded
    /// value.
    fn fold(&mut self, fold: &Fold<'p>, argument: Value<'p>) -> Result<Value<'p>, Stop> {
        let with = |argument| {
            let given = fold.given.iter().cloned().chain([argument]).collect();
            Value::function(Function::Fold(Fold { given, ..fold.clone() }))
        };
        match fold.given.as_slice() {
            // The function contains the fixpoint.
            [] => {
                self.charge(1, &prelude(), INSUFFICIENT);
                Ok(with(argument))
            }
            // Charge the function of the fixpoint, and the function inside it.
            [_] => {
                self.charge(1, &prelude(), INSUFFICIENT);
                self.charge(1, &prelude(), INSUFFICIENT);
                Ok(with(argument))
            }
            [step, so_far, ..] => self.round(fold, step.clone(), so_far.clone(), &argument),
        }
    }

    fn round(
        &mut self,
        fold: &Fold<'p>,
        step: Value<'p>,
        so_far: Value<'p>,
        all: &Value<'p>,
    ) -> Result<Value<'p>, Stop> {
        self.charge(2, &prelude(), INSUFFICIENT);
        let (first, rest) = match all.parts() {
            // A fold passes the predecessor of a number to its step. A continued fold passes the number itself.
            [rest] if fold.is_continued => (all.clone(), rest.clone()),
            [rest] => (rest.clone(), rest.clone()),
            [first, rest] => (first.clone(), rest.clone()),
            _ => {
                self.charge(1, &prelude(), INSUFFICIENT);
                return Ok(so_far);
            }
        };
        let again = Fold { given: vec![step.clone()], ..fold.clone() };
        self.charge(1, &prelude(), INSUFFICIENT);
        self.charge(1, &prelude(), INSUFFICIENT);
        if fold.is_continued {
            let go_on = Value::function(Function::GoOn { fold: again, rest });
            self.charge(1, &prelude(), INSUFFICIENT);
            return self.apply(step, &[so_far, first, go_on]);
        }
        let again = Value::function(Function::Fold(again));
        if fold.is_from_the_back {
            let result = self.apply(again, &[so_far, rest])?;
            self.charge(1, &prelude(), INSUFFICIENT);
            self.apply(step, &[first, result])
        } else {
            let result = self.apply(step, &[so_far, first])?;
            self.charge(1, &prelude(), INSUFFICIENT);
            self.apply(again, &[result, rest])
        }
    }
}

/// Returns the bindings of a pattern, or `None` if the value does not match.
pub(super) fn fit<'p>(pattern: &Pattern, value: &Value<'p>, known: &Scope<'p>) -> Option<Scope<'p>> {
    match &pattern.kind {
        PatternKind::Wildcard => Some(known.clone()),
        PatternKind::Binder(name) => Some(known.with(&name.name, value.clone())),
        PatternKind::Constructor(constructor, parts) => {
            let Value::Made(made) = value else { return None };
            let mut pairs = parts.iter().zip(&made.1);
            let all = |known: Scope<'p>| pairs.try_fold(known, |known, (part, value)| fit(part, value, &known));
            (made.0 == constructor.name).then(|| known.clone()).and_then(all)
        }
    }
}

fn of_literal<'p>(literal: &Literal) -> Value<'p> {
    match literal {
        Literal::BNum(digits) => Value::Block(digits.parse().unwrap()),
        Literal::Bytes(bytes) => Value::bytes(bytes),
        Literal::EmptyMap { .. } => Value::Map(Vec::new().into()),
        Literal::Integer(ty, digits) => {
            let (signed, width) = match IntegerType::of(*ty).expect("the parser knows the types of integers") {
                IntegerType::Int(width) => (true, width),
                IntegerType::Uint(width) => (false, width),
            };
            Value::Number { signed, bits: width.bits(), number: digits.parse().unwrap() }
        }
        Literal::String(text) => Value::text(text),
    }
}

fn message<'p>(entries: &[MessageEntry], known: &Scope<'p>) -> Value<'p> {
    let entries = entries.iter().map(|entry| {
        let value = match &entry.value {
            Payload::Literal(literal) => of_literal(literal),
            Payload::Variable(name) => known.get(&name.name),
        };
        (entry.label.to_string(), value)
    });
    Value::Message(entries.collect::<Vec<_>>().into())
}
