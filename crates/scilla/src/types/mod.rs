//! Types: their text forms, their relations, and the legal uses of their values.

pub mod adt;
pub mod formation;
mod primitive;
mod print;
pub mod relation;
pub mod substitution;
pub mod usage;

use std::{collections::BTreeMap, sync::Arc};

pub use self::{
    primitive::{Primitive, Width},
    print::TypeText,
};
use crate::name::Ident;

/// A type of Scilla.
///
/// The name of an algebraic data type has a source position for error messages of the checker. Equality ignores this
/// position. Equality is structural. It does not rename bound variables, and does not apply assignability.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A byte string of 20 bytes, with requirements for its account.
    Address(AddressType),
    /// An algebraic data type with its arguments.
    Adt(Ident, Arc<[Self]>),
    /// `forall 'A. T`.
    Forall(TypeVariable, Arc<Self>),
    /// `A -> B`.
    Function(Arc<Self>, Arc<Self>),
    /// `Map K V`.
    Map(Arc<Self>, Arc<Self>),
    /// A type without parts.
    Primitive(Primitive),
    /// The result type of a procedure without a result. It has no written form.
    Unit,
    /// `'A`.
    Variable(TypeVariable),
}

/// The name of a type variable, the quote included: `'A`.
pub type TypeVariable = Arc<str>;

/// The requirements that an address type has for the account.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AddressType {
    /// `ByStr20 with end`: an account with a balance, a nonce or code.
    Any,
    /// `ByStr20 with _codehash end`: a contract or a library.
    Code,
    /// `ByStr20 with contract field … end`: a contract with at least these fields, by name.
    Contract(Arc<BTreeMap<Arc<str>, Type>>),
    /// `ByStr20 with library end`: a library.
    Library,
}

impl Type {
    /// Returns `Bool`.
    pub fn bool() -> Self {
        Self::built_in("Bool", [])
    }

    /// Returns `Option T`.
    pub fn option(of: Self) -> Self {
        Self::built_in("Option", [of])
    }

    /// Returns `List T`.
    pub fn list(of: Self) -> Self {
        Self::built_in("List", [of])
    }

    /// Returns `Pair A B`.
    pub fn pair(first: Self, second: Self) -> Self {
        Self::built_in("Pair", [first, second])
    }

    /// Returns `Nat`.
    pub fn nat() -> Self {
        Self::built_in("Nat", [])
    }

    /// Returns `Map K V`.
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    /// Returns `A -> B`.
    pub fn function(from: Self, to: Self) -> Self {
        Self::Function(Arc::new(from), Arc::new(to))
    }

    /// Returns `ByStrN`.
    pub const fn bystr(width: u32) -> Self {
        Self::Primitive(Primitive::ByStrX(width))
    }

    fn built_in<const N: usize>(name: &'static str, arguments: [Self; N]) -> Self {
        Self::Adt(Ident::nowhere(name), Arc::new(arguments))
    }

    /// Returns the text form with global names, as in JSON.
    pub fn global(&self) -> TypeText<'_> {
        TypeText::global(self)
    }

    /// Returns the text form with names as the source spells them.
    pub fn as_written(&self) -> TypeText<'_> {
        TypeText::as_written(self)
    }
}

impl std::fmt::Display for Type {
    /// Writes the type for people, with names as the source spells them: [`Type::as_written`]. JSON and `FromStr` have
    /// the form of [`Type::global`].
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_written().fmt(f)
    }
}

impl From<Primitive> for Type {
    fn from(primitive: Primitive) -> Self {
        Self::Primitive(primitive)
    }
}
