//! Values of algebraic data types.

use std::sync::{Arc, LazyLock};

use smallvec::SmallVec;

use super::Value;
use crate::{
    name::{Ident, Name},
    source::Span,
    types::{Type, substitution::weight_of_name},
};

/// A constructor of an algebraic data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constructor {
    /// Name of the constructor.
    pub name: Name,
    /// The data type to which the constructor belongs.
    pub data_type: Name,
    /// Index of the constructor in its data type.
    pub index: u32,
    /// Number of arguments.
    pub arity: u32,
    /// Number of type parameters.
    pub type_arity: u32,
}

macro_rules! built_in {
    ($($method:ident, $name:literal of $data_type:literal, $index:literal, $arity:literal, $type_arity:literal;)*) => {
        impl Constructor {
            $(
                #[doc = concat!("Returns `", $name, "` of `", $data_type, "`.")]
                pub fn $method() -> &'static Arc<Self> {
                    static IT: LazyLock<Arc<Constructor>> = LazyLock::new(|| {
                        Arc::new(Constructor {
                            name: Name::simple($name),
                            data_type: Name::simple($data_type),
                            index: $index,
                            arity: $arity,
                            type_arity: $type_arity,
                        })
                    });
                    &IT
                }
            )*

            /// Returns the constructors of the built-in types.
            pub fn built_in() -> impl Iterator<Item = &'static Arc<Self>> {
                [$(Self::$method as fn() -> &'static Arc<Self>),*].into_iter().map(|constructor| constructor())
            }
        }
    };
}

built_in! {
    r#true, "True" of "Bool", 0, 0, 0;
    r#false, "False" of "Bool", 1, 0, 0;
    zero, "Zero" of "Nat", 0, 0, 0;
    succ, "Succ" of "Nat", 1, 1, 0;
    some, "Some" of "Option", 0, 1, 1;
    none, "None" of "Option", 1, 0, 1;
    cons, "Cons" of "List", 0, 2, 1;
    nil, "Nil" of "List", 1, 0, 1;
    pair, "Pair" of "Pair", 0, 2, 2;
}

/// A value of an algebraic data type: a constructor, its type arguments and its arguments.
pub struct AdtValue {
    constructor: Arc<Constructor>,
    types: Arc<[Type]>,
    pub(super) arguments: SmallVec<[Value; 2]>,
    size: u64,
    sort_cost: u64,
    parts: u64,
    depth: u32,
    type_parts: u32,
}

impl AdtValue {
    /// Returns a value of a constructor. The caller must check the number of arguments.
    pub fn new(constructor: Arc<Constructor>, types: Arc<[Type]>, arguments: SmallVec<[Value; 2]>) -> Self {
        let sum = |of: fn(&Value) -> u64| arguments.iter().map(of).fold(0, u64::saturating_add);
        let size = if arguments.is_empty() { 1 } else { sum(Value::size) };
        let sort_cost = sum(Value::sort_cost);
        // The tail of a list shares the types of the list, and stores their number of nodes.
        let mut alike = arguments.iter().rev().filter_map(Value::as_adt).filter(|it| Arc::ptr_eq(&it.types, &types));
        let known = alike.next().map(|argument| argument.type_parts());
        let type_parts = known.unwrap_or_else(|| types.iter().map(Type::weight).fold(1, u64::saturating_add));
        let name = weight_of_name(constructor.name.global_len());
        let parts = sum(Value::parts).saturating_add(type_parts).saturating_add(name);
        let type_parts = u32::try_from(type_parts).unwrap_or(u32::MAX);
        let depth = arguments.iter().map(Value::depth).max().unwrap_or(0).saturating_add(1);
        Self { constructor, types, arguments, size, sort_cost, parts, depth, type_parts }
    }

    /// Returns the constructor that made the value.
    pub fn constructor(&self) -> &Arc<Constructor> {
        &self.constructor
    }

    /// Returns the type arguments.
    pub fn types(&self) -> &Arc<[Type]> {
        &self.types
    }

    /// Returns the arguments of the constructor.
    pub fn arguments(&self) -> &[Value] {
        &self.arguments
    }

    /// Returns whether this constructor made the value.
    pub fn is(&self, constructor: &Arc<Constructor>) -> bool {
        let own = &self.constructor;
        Arc::ptr_eq(own, constructor) || own.index == constructor.index && own.name == constructor.name
    }

    /// Returns the type.
    pub fn ty(&self) -> Type {
        Type::Adt(Ident::new(self.constructor.data_type.clone(), Span::NOWHERE), Arc::clone(&self.types))
    }

    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    pub(super) const fn sort_cost(&self) -> u64 {
        self.sort_cost
    }

    pub(super) const fn parts(&self) -> u64 {
        self.parts
    }

    pub(super) const fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) fn type_parts(&self) -> u64 {
        self.type_parts.into()
    }

    /// Returns whether two values have the same constructor, types and number of arguments.
    pub(super) fn same_shape(&self, other: &Self) -> bool {
        self.is(&other.constructor) && self.types == other.types && self.arguments.len() == other.arguments.len()
    }
}

impl std::fmt::Debug for AdtValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdtValue").field("constructor", &self.constructor.name).finish_non_exhaustive()
    }
}

impl Value {
    /// Returns a value of a constructor. The caller must check the number of types and arguments.
    pub fn adt(constructor: &Arc<Constructor>, types: Arc<[Type]>, arguments: impl IntoIterator<Item = Self>) -> Self {
        Self::Adt(Arc::new(AdtValue::new(Arc::clone(constructor), types, arguments.into_iter().collect())))
    }

    /// Returns `True` or `False`.
    pub fn bool(truth: bool) -> Self {
        static BOTH: LazyLock<[Value; 2]> = LazyLock::new(|| {
            [Constructor::r#false(), Constructor::r#true()].map(|it| Value::adt(it, Arc::from([]), []))
        });
        let [falsehood, truth_itself] = &*BOTH;
        if truth { truth_itself.clone() } else { falsehood.clone() }
    }

    /// Returns `None {T}`.
    pub fn none(of: Type) -> Self {
        Self::adt(Constructor::none(), Arc::new([of]), [])
    }

    /// Returns `Some {T} v`.
    pub fn some(of: Type, value: Self) -> Self {
        Self::adt(Constructor::some(), Arc::new([of]), [value])
    }

    /// Returns `Some {T} v` or `None {T}`.
    pub fn option(of: Type, value: Option<Self>) -> Self {
        match value {
            Some(value) => Self::some(of, value),
            None => Self::none(of),
        }
    }

    /// Returns `Pair {A B} a b`. Each argument has a type and its value.
    pub fn pair(first: (Type, Self), second: (Type, Self)) -> Self {
        Self::adt(Constructor::pair(), Arc::new([first.0, second.0]), [first.1, second.1])
    }

    /// Returns a list of elements of type `of`.
    pub fn list(of: Type, elements: impl IntoIterator<Item = Self, IntoIter: DoubleEndedIterator>) -> Self {
        let types: Arc<[Type]> = Arc::new([of]);
        let nil = Self::adt(Constructor::nil(), Arc::clone(&types), []);
        elements
            .into_iter()
            .rev()
            .fold(nil, |tail, head| Self::adt(Constructor::cons(), Arc::clone(&types), [head, tail]))
    }

    /// Returns a natural number: `Succ` applied `number` times to `Zero`.
    pub fn nat(number: u32) -> Self {
        let types: Arc<[Type]> = Arc::from([]);
        let zero = Self::adt(Constructor::zero(), Arc::clone(&types), []);
        (0..number).fold(zero, |before, _| Self::adt(Constructor::succ(), Arc::clone(&types), [before]))
    }

    /// Returns the constructor with its arguments, or `None` if the value is of another kind.
    pub const fn as_adt(&self) -> Option<&Arc<AdtValue>> {
        if let Self::Adt(value) = self { Some(value) } else { None }
    }

    /// Returns the boolean, or `None` if the value is not a `Bool`.
    pub fn as_bool(&self) -> Option<bool> {
        let value = self.as_adt()?;
        if value.is(Constructor::r#true()) { Some(true) } else { value.is(Constructor::r#false()).then_some(false) }
    }

    /// Iterates over the elements of a list. For a value that is not a list, the iterator is empty.
    pub const fn elements(&self) -> Elements<'_> {
        Elements { rest: self }
    }
}

/// Iterator over the elements of a list, from first to last.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a Value,
}

impl<'a> Elements<'a> {
    /// Returns the remaining part of the list: `Nil` at its end. For a value that is not a list, returns the value
    /// itself.
    pub const fn rest(&self) -> &'a Value {
        self.rest
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        let value = self.rest.as_adt().filter(|value| value.is(Constructor::cons()))?;
        let [head, tail] = value.arguments() else { return None };
        self.rest = tail;
        Some(head)
    }
}
