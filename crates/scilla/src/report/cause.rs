//! The causes of entries, for diagnostics.

use std::fmt;

use super::Entry;
use crate::source::Location;

/// Reason why an entry was reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A call of a procedure has the wrong number of arguments.
    Arity {
        /// The procedure.
        procedure: String,
        /// Its parameters, each with its type.
        parameters: Vec<String>,
        /// The number of arguments of the call.
        found: usize,
        /// The declaration.
        declared: Location,
    },
    /// A built-in function does not take arguments of these types.
    BuiltinArguments {
        /// The function.
        builtin: String,
        /// The arguments.
        arguments: Vec<TypedArgument>,
        /// Index of the argument that causes the error alone.
        wrong: Option<usize>,
        /// Help that depends on the types.
        help: Option<String>,
    },
    /// The entry only names the part of the program that contains another error.
    Context(Context),
    /// The entry repeats an error that another entry reports.
    Follows,
    /// The reference reports these errors as a single one without a reason.
    Instead(Vec<Entry>),
    /// No `;` separates two statements.
    MissingSemicolon {
        /// The end of the first one.
        after: Location,
    },
    /// A constructor of a type with parameters has no type arguments.
    MissingTypeArguments {
        /// The expression with its type arguments.
        written: String,
        /// The missing part.
        remark: &'static str,
    },
    /// An expression stands in place of the name that a statement or an argument needs.
    NotAName {
        /// The two statements that may be meant, if the expression is short.
        written: Option<String>,
    },
    /// The name of a type begins with a small letter.
    SmallTypeName {
        /// The type that may be meant.
        nearest: Option<String>,
    },
    /// A `match`, a transition or a procedure has no `end`.
    Unclosed {
        /// The keyword.
        what: &'static str,
        /// Where the keyword is.
        opened: Location,
        /// The `end` that closes it although its indentation is smaller.
        closed: Option<Location>,
    },
    /// A match does not cover all values.
    Uncovered {
        /// Patterns of values that no clause covers.
        missing: Vec<String>,
    },
    /// A name is not defined.
    UnknownName {
        /// The expected kind of the name.
        kind: NameKind,
        /// A similar name that is defined.
        nearest: Option<String>,
        /// Further help.
        help: Option<String>,
        /// A declaration that is related, and how.
        declared: Option<(Location, &'static str)>,
    },
}

impl Cause {
    /// Returns the cause of an undefined name, with a similar defined one.
    pub(crate) const fn unknown(kind: NameKind, nearest: Option<String>) -> Self {
        Self::UnknownName { kind, nearest, help: None, declared: None }
    }
}

/// An argument and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedArgument {
    /// The name.
    pub name: String,
    /// The type.
    pub kind: String,
    /// The place.
    pub place: Location,
}

/// A part of a program that contains an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Context {
    /// The whole module.
    Module(&'static str, String),
    /// A component, field or library value.
    Part(&'static str, String),
    /// A library that is imported here. The entry follows the error.
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
