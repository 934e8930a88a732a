//! The causes of errors, for diagnoses.

use std::fmt;

use super::Entry;
use crate::source::Location;

/// Reason for an entry of a report, with names, types and source positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A call of a procedure has the wrong number of arguments.
    Arity {
        /// Name of the procedure.
        procedure: String,
        /// Parameters of the procedure, each with its type.
        parameters: Vec<String>,
        /// Number of arguments in the call.
        found: usize,
        /// Source position of the procedure's declaration.
        declared: Location,
    },
    /// A built-in function does not take arguments of these types.
    BuiltinArguments {
        /// Name of the function.
        builtin: String,
        /// Arguments of the call.
        arguments: Vec<TypedArgument>,
        /// Index of the argument that alone causes the error, if there is one.
        wrong: Option<usize>,
        /// Help text that depends on the types.
        help: Option<String>,
    },
    /// The entry only names the part of the program that contains another error.
    Context(Context),
    /// The entry repeats an error that another entry reports.
    Follows,
    /// In place of these errors, the reference reports one error without a reason.
    Instead(Vec<Entry>),
    /// No `;` separates two statements.
    MissingSemicolon {
        /// Source position at which the first statement ends.
        after: Location,
    },
    /// A constructor of a type with parameters has no type arguments.
    MissingTypeArguments {
        /// The expression with the type arguments filled in.
        written: String,
        /// Description of the missing part.
        remark: &'static str,
    },
    /// An expression is used where a statement or an argument needs a name.
    NotAName {
        /// The two statements that may be intended, if the expression is short.
        written: Option<String>,
    },
    /// The name of a type begins with a lower-case letter.
    SmallTypeName {
        /// The type that may be intended, if there is one.
        nearest: Option<String>,
    },
    /// A `match`, a transition or a procedure has no `end`.
    Unclosed {
        /// Keyword of the block.
        what: &'static str,
        /// Source position of the keyword.
        opened: Location,
        /// Source position of the `end` that closes the block although this `end` has a smaller indentation.
        closed: Option<Location>,
    },
    /// A match does not cover all values.
    Uncovered {
        /// Patterns of values that no clause covers.
        missing: Vec<String>,
    },
    /// A name is not defined.
    UnknownName {
        /// Expected kind of the name.
        kind: NameKind,
        /// A similar name that is defined, if there is one.
        nearest: Option<String>,
        /// Further help text.
        help: Option<String>,
        /// Source position of a related declaration, and its relation to the name.
        declared: Option<(Location, &'static str)>,
    },
}

impl Cause {
    /// Returns the cause for an undefined name, with a similar name that is defined.
    pub(crate) const fn unknown(kind: NameKind, nearest: Option<String>) -> Self {
        Self::UnknownName { kind, nearest, help: None, declared: None }
    }
}

/// An argument and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedArgument {
    /// Name of the argument.
    pub name: String,
    /// Type of the argument, as text.
    pub ty: String,
    /// Source position of the argument.
    pub place: Location,
}

/// A part of a program that contains an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Context {
    /// A whole module: its kind and its name.
    Module(&'static str, String),
    /// A component, field or library value: its kind and its name.
    Part(&'static str, String),
    /// An imported library. This entry comes after the entry of the error.
    Import(String),
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module(kind, name) | Self::Part(kind, name) => write!(f, "{kind} `{name}`"),
            Self::Import(name) => write!(f, "library `{name}` is imported"),
        }
    }
}

/// The expected kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A built-in function.
    Builtin,
    /// A constructor.
    Constructor,
    /// A field.
    Field,
    /// A library.
    Library,
    /// A procedure.
    Procedure,
    /// A type.
    Type,
    /// A value.
    Value,
}
