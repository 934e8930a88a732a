//! Checks that a type is well formed: its data types exist, they have the right number of arguments, and its variables
//! are bound.

use std::{fmt, sync::Arc};

use super::{Type, TypeVariable, adt::DataTypes};
use crate::name::Ident;

/// Largest depth of a type. It equals the largest depth of a written type. Deeper types, for example of a function
/// with hundreds of parameters, are rejected, so that recursion over types is safe. The reference has no such limit.
pub const MAX_DEPTH: usize = 256;

/// Reason why a type is not well formed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The data type does not exist.
    #[error("ADT not found: {}", .0.name.as_written())]
    UnknownDataType(Ident),
    /// A data type got a wrong number of arguments.
    #[error(
        "ADT type constructor arity mismatch: ADT type {} expects {expected} arguments but got {got}",
        .of.name.as_written()
    )]
    Arity {
        /// Name of the data type.
        of: Ident,
        /// Number of parameters of the data type.
        expected: usize,
        /// Number of arguments in the type.
        got: usize,
    },
    /// A variable is not bound.
    #[error("Unbound type variable in type {within}: {variable}")]
    Unbound {
        /// Name of the variable.
        variable: TypeVariable,
        /// The whole type as text.
        within: String,
    },
    /// The type nests deeper than [`MAX_DEPTH`].
    #[error("Type is nested too deeply")]
    TooDeep,
}

impl Malformed {
    /// Returns the wrong name with its source position, or `None` for errors without such a name.
    pub const fn ident(&self) -> Option<&Ident> {
        match self {
            Self::UnknownDataType(of) | Self::Arity { of, .. } => Some(of),
            Self::Unbound { .. } | Self::TooDeep => None,
        }
    }
}

impl Type {
    /// Checks that the type is well formed, and returns the number of its nodes. `is_bound` returns whether a type
    /// variable is bound.
    ///
    /// # Errors
    ///
    /// The first error, from left to right.
    pub fn check_formation(&self, known: &DataTypes, is_bound: impl Fn(&str) -> bool) -> Result<u64, Malformed> {
        enum Step<'a> {
            Enter(&'a Type, usize),
            Unbind,
        }
        let mut bound: Vec<&TypeVariable> = Vec::new();
        let mut pending = vec![Step::Enter(self, 1)];
        let mut size = 0;
        while let Some(step) = pending.pop() {
            let Step::Enter(node, depth) = step else {
                bound.pop();
                continue;
            };
            if depth > MAX_DEPTH {
                return Err(Malformed::TooDeep);
            }
            size += 1;
            match node {
                Self::Adt(of, arguments) => check_arity(of, arguments.len(), known)?,
                Self::Variable(variable) if !bound.contains(&variable) && !is_bound(variable) => {
                    let within = self.as_written().to_string();
                    return Err(Malformed::Unbound { variable: Arc::clone(variable), within });
                }
                Self::Forall(variable, _) => {
                    bound.push(variable);
                    pending.push(Step::Unbind);
                }
                Self::Address(_)
                | Self::Function(..)
                | Self::Map(..)
                | Self::Primitive(_)
                | Self::Unit
                | Self::Variable(_) => {}
            }
            let first = pending.len();
            pending.extend(node.parts().map(|part| Step::Enter(part, depth + 1)));
            if let Some(added) = pending.get_mut(first..) {
                added.reverse();
            }
        }
        Ok(size)
    }

    /// Returns the first unknown data type in the type, or `None` if all data types are known.
    pub fn unknown_data_type(&self, known: &DataTypes) -> Option<Ident> {
        let mut unknown = None;
        self.visit(|node| {
            if let Self::Adt(of, _) = node
                && unknown.is_none()
                && known.get(&of.name).is_none()
            {
                unknown = Some(of.clone());
            }
        });
        unknown
    }

    /// Returns the depth of the type on its right-hand side: results of functions, and bodies of type functions.
    /// Expressions can build a type that is deeper on this side than every type in the source.
    pub(crate) fn right_depth(&self) -> usize {
        let mut depth = 1;
        let mut node = self;
        while let Self::Function(_, rest) | Self::Forall(_, rest) = node {
            depth += 1;
            node = rest;
        }
        depth
    }
}

fn check_arity(of: &Ident, got: usize, known: &DataTypes) -> Result<(), Malformed> {
    let Some(found) = known.get(&of.name) else {
        return Err(Malformed::UnknownDataType(of.clone()));
    };
    let expected = found.parameters.len();
    if expected == got { Ok(()) } else { Err(Malformed::Arity { of: of.clone(), expected, got }) }
}

/// Types in brackets, as error messages list them: `[A; B]`.
#[derive(Debug)]
pub(crate) struct TypeList<'a>(pub(crate) &'a [Type]);

impl fmt::Display for TypeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, of) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{}", of.as_written())?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(of: &Type, expected: Result<(), &str>) {
        let found = of.check_formation(&DataTypes::built_in(), |variable| variable == "'K");
        assert_eq!(found.map(|_| ()).map_err(|error| error.to_string()), expected.map_err(str::to_owned));
    }

    fn variable(name: &str) -> Type {
        Type::Variable(name.into())
    }

    fn adt(name: &str, arguments: &[Type]) -> Type {
        Type::Adt(Ident::nowhere(name), arguments.into())
    }

    #[test]
    fn data_types_take_their_arguments() {
        check(&Type::list(Type::bool()), Ok(()));
        check(&adt("Colour", &[]), Err("ADT not found: Colour"));
        check(
            &Type::list(adt("Pair", &[Type::bool()])),
            Err("ADT type constructor arity mismatch: ADT type Pair expects 2 arguments but got 1"),
        );
    }

    #[test]
    fn variables_are_bound_within_or_known_outside() {
        let identity = Type::Forall("'A".into(), Arc::new(Type::function(variable("'A"), variable("'A"))));
        check(&identity, Ok(()));
        check(&variable("'K"), Ok(()));
        check(
            &Type::function(identity, variable("'A")),
            Err("Unbound type variable in type (forall 'A. 'A -> 'A) -> 'A: 'A"),
        );
    }

    #[test]
    fn depth_is_limited() {
        let deep = |levels: usize| (1..levels).fold(Type::bool(), |of, _| Type::function(Type::bool(), of));
        check(&deep(MAX_DEPTH), Ok(()));
        check(&deep(MAX_DEPTH + 1), Err("Type is nested too deeply"));
        assert_eq!(deep(MAX_DEPTH).right_depth(), MAX_DEPTH);
    }
}
