//! Type check of expressions.

use super::{Checker, Fault, Outcome, environment::Mark};
use crate::{
    builtins::Builtin,
    diagnosis::Cause,
    name::Ident,
    source::Span,
    syntax::ast::{Clause, ExprId, Expression, ExpressionKind, Literal},
    types::{
        Type, TypeVariable,
        adt::DataType,
        formation::{MAX_DEPTH, Malformed, TypeList},
        relation::equivalent,
        substitution::{InstantiationError, instantiate, replace},
    },
};

/// A node whose last part is its body, with the data for the step after the body.
struct Link {
    id: ExprId,
    before: Mark,
    wrap: Wrap,
}

enum Wrap {
    Fixpoint { ty: Type, at: Span },
    Function(Type),
    Let,
    TypeFunction(TypeVariable, Span),
}

impl Wrap {
    const fn adds_depth(&self) -> bool {
        matches!(self, Self::Function(_) | Self::TypeFunction(..))
    }
}

impl Checker<'_> {
    /// Returns the type of an expression. A loop follows chains of `let`, `fun` and `tfun`, which have no limit of
    /// length.
    pub(super) fn expression(&mut self, root: ExprId) -> Outcome<Type> {
        let mut chain = Vec::new();
        let mut at = root;
        let arena = self.text.arena;
        let mut ty = loop {
            let expression = arena.get(at);
            // The recursive calls are here, because this function has a small stack frame.
            if let ExpressionKind::Match { scrutinee, clauses } = &expression.kind {
                break self.match_expression(scrutinee, clauses, expression.span)?;
            }
            let mut value = None;
            if let ExpressionKind::Let { value: id, .. } = &expression.kind {
                value = Some(self.expression(*id)?);
            }
            match self.enter(at, expression, value)? {
                Some((link, body)) => {
                    chain.push(link);
                    at = body;
                }
                None => break self.leaf(expression)?,
            }
        };
        self.typing.expressions.insert(at, ty.clone());
        if ty.right_depth() + chain.iter().filter(|link| link.wrap.adds_depth()).count() > MAX_DEPTH {
            return self.error(arena.get(root).span, Malformed::TooDeep.to_string());
        }
        while let Some(link) = chain.pop() {
            self.environment.restore(link.before);
            ty = self.leave(link.wrap, ty)?;
            self.typing.expressions.insert(link.id, ty.clone());
        }
        Ok(ty)
    }

    /// Returns the type of a whole expression.
    pub(crate) fn root(&mut self, root: ExprId) -> Outcome<Type> {
        self.expression(root)
    }

    /// Enters a node that has a body, or returns `None` if the node has no body. `found` is the type of the value of a
    /// `let`.
    fn enter(&mut self, id: ExprId, expression: &Expression, found: Option<Type>) -> Outcome<Option<(Link, ExprId)>> {
        let (wrap, before, body) = match &expression.kind {
            ExpressionKind::Function { parameter, ty, body } => {
                self.expect_formed(ty)?;
                let before = self.environment.mark();
                self.bind(parameter, ty.clone());
                (Wrap::Function(ty.clone()), before, body)
            }
            ExpressionKind::Let { name, annotation, value, body } => {
                let found = found.unwrap_or(Type::Unit);
                if let Some(annotation) = annotation {
                    self.expect_assignable(annotation, &found, self.text.arena.get(*value).span)?;
                }
                let before = self.environment.mark();
                // The variable has the inferred type, but reports show the annotated type.
                self.record(name.span, annotation.as_ref().unwrap_or(&found));
                self.environment.bind(&name.name, found);
                (Wrap::Let, before, body)
            }
            ExpressionKind::TypeFunction { parameter, parameter_span, body } => {
                if self.environment.has_type_variable(parameter) {
                    return self.error(*parameter_span, format!("Type variable is already in use: {parameter}"));
                }
                let before = self.environment.mark();
                self.environment.bind_type_variable(parameter);
                (Wrap::TypeFunction(parameter.clone(), *parameter_span), before, body)
            }
            ExpressionKind::Fixpoint { name, ty, body } => {
                let before = self.environment.mark();
                self.bind(name, ty.clone());
                (Wrap::Fixpoint { ty: ty.clone(), at: expression.span }, before, body)
            }
            ExpressionKind::Apply { .. }
            | ExpressionKind::Builtin { .. }
            | ExpressionKind::Construct { .. }
            | ExpressionKind::Instantiate { .. }
            | ExpressionKind::Literal(_)
            | ExpressionKind::Match { .. }
            | ExpressionKind::Message(_)
            | ExpressionKind::Variable(_) => return Ok(None),
        };
        Ok(Some((Link { id, before, wrap }, *body)))
    }

    fn leave(&mut self, wrap: Wrap, body: Type) -> Outcome<Type> {
        Ok(match wrap {
            Wrap::Fixpoint { ty, at } => {
                self.expect_assignable(&ty, &body, at)?;
                ty
            }
            Wrap::Function(parameter) => Type::function(parameter, body),
            Wrap::Let => body,
            Wrap::TypeFunction(variable, span) => {
                self.record(span, &body);
                Type::Forall(variable, body.into())
            }
        })
    }

    fn leaf(&mut self, expression: &Expression) -> Outcome<Type> {
        let at = expression.span;
        match &expression.kind {
            ExpressionKind::Apply { function, arguments } => {
                let of = self.resolve(function)?;
                self.apply(&of, arguments, function.span)
            }
            ExpressionKind::Builtin { name, types, arguments } => self.builtin(name, types, arguments),
            ExpressionKind::Construct { constructor, types, arguments } => {
                self.construct(constructor, types, arguments)
            }
            ExpressionKind::Instantiate { function, types } => self.instantiate(function, types, at),
            ExpressionKind::Literal(literal) => Ok(literal.ty()),
            ExpressionKind::Message(entries) => self.message(entries, at),
            ExpressionKind::Variable(variable) => self.resolve(variable),
            ExpressionKind::Fixpoint { .. }
            | ExpressionKind::Function { .. }
            | ExpressionKind::Let { .. }
            | ExpressionKind::Match { .. }
            | ExpressionKind::TypeFunction { .. } => Ok(Type::Unit),
        }
    }

    /// Returns the type of a function or constructor applied to arguments.
    fn apply(&mut self, of: &Type, arguments: &[Ident], at: Span) -> Outcome<Type> {
        self.expect_formed(of)?;
        let given = self.resolve_all(arguments)?;
        let mut rest = of;
        for (taken, actual) in given.iter().enumerate() {
            let Type::Function(expected, result) = rest else {
                let arguments = given.get(taken..).unwrap_or_default();
                return self.error(at, ill_applied(rest, arguments));
            };
            self.expect_assignable(expected, actual, at)?;
            rest = result;
        }
        self.expect_formed(rest)?;
        Ok(rest.clone())
    }

    fn builtin(&mut self, name: &Ident, types: &[Type], arguments: &[Ident]) -> Outcome<Type> {
        types.iter().try_for_each(|ty| self.expect_formed(ty))?;
        let given = self.resolve_all(arguments)?;
        let of = Builtin::find(name.name.base());
        let Some(result) = of.and_then(|of| of.result_type(&given, !types.is_empty(), self.known)) else {
            let found = given.clone();
            let types = if types.is_empty() { String::new() } else { format!("{{{}}} ", TypeList(types)) };
            let (name_text, given) = (name.name.as_written(), TypeList(&given));
            let text =
                format!("Type error: cannot apply \"{name_text}\" built-in to argument(s) of type(s): {types}{given}");
            let cause = || self.ill_typed_builtin(name, !types.is_empty(), arguments, &found);
            return self.error_because(name.span, text, |_| cause());
        };
        self.expect_formed(&result)?;
        Ok(result)
    }

    fn construct(&mut self, constructor: &Ident, types: &[Type], arguments: &[Ident]) -> Outcome<Type> {
        types.iter().try_for_each(|ty| self.expect_formed(ty))?;
        let Some((of, found)) = self.known.constructor(&constructor.name) else {
            return self.unknown_constructor(constructor);
        };
        let at = constructor.span;
        let (expected, got) = (found.arguments.len(), arguments.len());
        if expected != got {
            let name = constructor.name.global();
            let text = format!("Constructor arity mismatch: {name} expects {expected} arguments, but got {got}.");
            return self.error(at, text);
        }
        self.expect_type_arguments_because(constructor, of.parameters.len(), types.len(), || {
            types.is_empty().then(|| self.with_type_arguments(constructor, of, &found.arguments, arguments))
        })?;
        let replaced = parameters_as(of, types);
        let result = Type::Adt(Ident::new(of.name.clone(), Span::NOWHERE), types.into());
        let function = found
            .arguments
            .iter()
            .rev()
            .fold(result, |result, argument| Type::function(replace(argument, &replaced), result));
        self.apply(&function, arguments, at)
    }

    pub(super) fn unknown_constructor<T>(&self, constructor: &Ident) -> Outcome<T> {
        let name = constructor.name.as_written();
        let text = format!("No data type with this constructor found: {name}");
        self.error_because(constructor.span, text, |known| Some(known.unknown_constructor(constructor, None)))
    }

    /// Checks the number of type arguments of a constructor. The check of patterns also calls this function for the
    /// number of parts, because the reference has one error text for both checks.
    pub(super) fn expect_type_arguments(&self, constructor: &Ident, expected: usize, got: usize) -> Outcome<()> {
        self.expect_type_arguments_because(constructor, expected, got, || None)
    }

    fn expect_type_arguments_because(
        &self,
        constructor: &Ident,
        expected: usize,
        got: usize,
        cause: impl FnOnce() -> Option<Cause>,
    ) -> Outcome<()> {
        if expected == got {
            return Ok(());
        }
        let name = constructor.name.as_written();
        let text = format!(
            "Constructor type arguments arity mismatch: {name} expects {expected} type arguments, but got {got}."
        );
        self.error_because(constructor.span, text, |_| cause())
    }

    fn instantiate(&mut self, function: &Ident, types: &[Type], at: Span) -> Outcome<Type> {
        types.iter().try_for_each(|ty| self.expect_formed(ty))?;
        let of = self.resolve(function)?;
        let made = instantiate(&of, types, &mut self.meter).or_else(|error| match error {
            InstantiationError::Exhausted => Err(Fault::Exhausted),
            InstantiationError::NotForall { rest, taken } => {
                let (rest, types) = (rest.as_written(), TypeList(types.get(taken..).unwrap_or_default()));
                self.error(
                    at,
                    format!(
                        "Cannot elaborate type application: Expression of type\n{rest}\napplied, as a type function, to \
                         type arguments\n{types}."
                    ),
                )
            }
        })?;
        self.expect_formed(&made)?;
        Ok(made)
    }

    fn match_expression(&mut self, scrutinee: &Ident, clauses: &[Clause], at: Span) -> Outcome<Type> {
        let of = self.match_scrutinee(scrutinee, clauses, at)?;
        let mut found = Vec::with_capacity(clauses.len());
        for clause in clauses {
            let before = self.environment.mark();
            self.pattern(&clause.pattern, &of)?;
            found.push(self.expression(clause.body)?);
            self.environment.restore(before);
        }
        self.common(&found, at)
    }

    fn match_scrutinee(&mut self, scrutinee: &Ident, clauses: &[Clause], at: Span) -> Outcome<Type> {
        if clauses.is_empty() {
            // The reference appends a dump of its tree to this text.
            let name = scrutinee.name.as_written();
            return self.error(at, format!("List of pattern matching clauses is empty: match {name} with end"));
        }
        self.resolve(scrutinee)
    }

    /// Returns the common type of all branches. Returns an error if two types are not equivalent, or if there are no
    /// branches.
    fn common(&self, found: &[Type], at: Span) -> Outcome<Type> {
        if let [first, others @ ..] = found
            && !others.is_empty()
        {
            self.go_through(first.size().saturating_mul(others.len() as u64))?;
        }
        match found.split_first() {
            Some((first, others)) if others.iter().all(|other| equivalent(first, other)) => Ok(first.clone()),
            _ => {
                let found = TypeList(found);
                self.error(at, format!("Not all types of pattern matching branches are equivalent: {found}"))
            }
        }
    }

    /// Returns the type of an expression, which must be assignable to the expected type.
    pub(super) fn expression_of(&mut self, id: ExprId, expected: &Type, at: Span) -> Outcome<Type> {
        let found = self.expression(id)?;
        self.expect_assignable(expected, &found, at)?;
        Ok(found)
    }
}

/// Returns each parameter of a data type with its argument.
pub(super) fn parameters_as<'a>(of: &'a DataType, arguments: &'a [Type]) -> Vec<(&'a TypeVariable, &'a Type)> {
    of.parameters.iter().zip(arguments).collect()
}

fn ill_applied(of: &Type, arguments: &[Type]) -> String {
    let (of, arguments) = (of.as_written(), TypeList(arguments));
    format!(
        "Ill-typed function application: The type\n{of}\ndoesn't apply, as a function, to the arguments of \
         types\n{arguments}."
    )
}

impl Literal {
    /// Returns the type of the literal.
    pub fn ty(&self) -> Type {
        match self {
            Self::BNum(_) => crate::types::Primitive::BNum.into(),
            Self::Bytes(bytes) => Type::bystr(u32::try_from(bytes.len()).unwrap_or(u32::MAX)),
            Self::EmptyMap { key, value } => Type::map(key.clone(), value.clone()),
            Self::Integer(primitive, _) => Type::Primitive(*primitive),
            Self::String(_) => crate::types::Primitive::String.into(),
        }
    }
}
