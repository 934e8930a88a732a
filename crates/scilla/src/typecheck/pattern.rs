//! Type check of patterns.

use super::{Checker, Outcome, expression::parameters_as};
use crate::{
    syntax::ast::{Pattern, PatternKind},
    types::{Type, substitution::replace},
};

impl Checker<'_> {
    /// Checks a pattern for values of a type, and binds its variables. If several variables have the same name, the
    /// last one counts.
    pub(super) fn pattern(&mut self, pattern: &Pattern, of: &Type) -> Outcome<()> {
        let mut bound = Vec::new();
        self.assign(pattern, of, &mut bound)?;
        for (ident, ty) in bound.into_iter().rev() {
            self.bind(ident, ty);
        }
        Ok(())
    }

    /// Collects the variables with their types, from right to left as in the reference.
    fn assign<'p>(
        &self,
        pattern: &'p Pattern,
        of: &Type,
        bound: &mut Vec<(&'p crate::name::Ident, Type)>,
    ) -> Outcome<()> {
        match &pattern.kind {
            PatternKind::Wildcard => {}
            PatternKind::Binder(ident) => bound.push((ident, of.clone())),
            PatternKind::Constructor(constructor, parts) => {
                let Some((made, found)) = self.known.constructor(&constructor.name) else {
                    return self.unknown_constructor(constructor);
                };
                let Type::Adt(name, arguments) = of else {
                    return self.error(constructor.span, format!("Not an algebraic data type: {}", of.as_written()));
                };
                if name.name != made.name {
                    let (expected, given) = (name.name.global(), made.name.global());
                    let text = format!(
                        "Wrong constructor in pattern matching: Expected a constructor of type {expected}, but a \
                         constructor of type {given} is given"
                    );
                    return self.error(constructor.span, text);
                }
                self.expect_type_arguments(constructor, made.parameters.len(), arguments.len())?;
                self.expect_type_arguments(constructor, found.arguments.len(), parts.len())?;
                let replaced = parameters_as(made, arguments);
                for (part, argument) in parts.iter().zip(&found.arguments).rev() {
                    self.assign(part, &replace(argument, &replaced), bound)?;
                }
            }
        }
        Ok(())
    }
}
