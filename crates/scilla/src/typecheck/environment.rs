//! The names in scope, with their types.

use std::{collections::HashMap, sync::Arc};

use crate::{
    name::Name,
    types::{Type, TypeVariable},
};

/// The typed names and the type variables in scope.
///
/// A program has one environment. A scope marks the environment before it binds names, and restores the mark at its
/// end. As in the reference, an error skips the restoration, so the names of the failed part are visible in later
/// parts.
#[derive(Debug, Default)]
pub(super) struct Environment {
    values: HashMap<Name, Type>,
    type_variables: HashMap<TypeVariable, usize>,
    trail: Vec<Change>,
}

#[derive(Debug)]
enum Change {
    Value(Name, Option<Type>),
    TypeVariable(TypeVariable),
}

/// A position in the record of changes, to which the environment can be restored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(usize);

impl Environment {
    pub(super) fn mark(&self) -> Mark {
        Mark(self.trail.len())
    }

    pub(super) fn restore(&mut self, Mark(length): Mark) {
        while self.trail.len() > length {
            match self.trail.pop() {
                Some(Change::Value(name, Some(before))) => {
                    self.values.insert(name, before);
                }
                Some(Change::Value(name, None)) => {
                    self.values.remove(&name);
                }
                Some(Change::TypeVariable(variable)) => {
                    if let Some(times) = self.type_variables.get_mut(&variable) {
                        *times = times.saturating_sub(1);
                    }
                }
                None => break,
            }
        }
    }

    pub(super) fn bind(&mut self, name: &Name, ty: Type) {
        let before = self.values.insert(name.clone(), ty);
        self.trail.push(Change::Value(name.clone(), before));
    }

    pub(super) fn bind_type_variable(&mut self, variable: &TypeVariable) {
        *self.type_variables.entry(Arc::clone(variable)).or_default() += 1;
        self.trail.push(Change::TypeVariable(Arc::clone(variable)));
    }

    pub(super) fn get(&self, name: &Name) -> Option<&Type> {
        self.values.get(name)
    }

    /// Iterates over the names without a module, in alphabetical order.
    pub(super) fn locals(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> =
            self.values.keys().filter(|name| name.module().is_none()).map(|name| &**name.base()).collect();
        names.sort_unstable();
        names.into_iter()
    }

    pub(super) fn has_type_variable(&self, variable: &str) -> bool {
        self.type_variables.get(variable).is_some_and(|&times| times > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restoring_brings_back_what_was_hidden() {
        let mut environment = Environment::default();
        let name = Name::simple("x");
        environment.bind(&name, Type::bool());
        let mark = environment.mark();
        environment.bind(&name, Type::nat());
        environment.bind(&Name::simple("y"), Type::nat());
        environment.bind_type_variable(&"'A".into());
        assert_eq!(environment.get(&name), Some(&Type::nat()));
        assert!(environment.has_type_variable("'A"));
        environment.restore(mark);
        assert_eq!(environment.get(&name), Some(&Type::bool()));
        assert_eq!(environment.get(&Name::simple("y")), None);
        assert!(!environment.has_type_variable("'A"));
    }
}
