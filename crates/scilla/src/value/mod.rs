//! Values of expressions, fields, messages and events.
//!
//! A value is immutable and cheap to clone: clones share all values larger than a number. A value stores the sizes
//! that determine gas, so they are available without reading its parts.
//!
//! # Depth
//!
//! A list of a million elements is nested a million levels deep. No function of this module recurses that deep. Above
//! a depth of a few hundred, the code that drops, prints and compares values uses an explicit stack.

mod adt;
mod bnum;
mod closure;
mod convert;
mod drop;
mod integer;
mod map;
mod message;
mod print;

use std::{
    collections::HashSet,
    fmt::{self, Write as _},
    sync::Arc,
};

pub use self::{
    adt::{AdtValue, Constructor, Elements},
    bnum::BNum,
    closure::Closure,
    convert::{TextError, UnexpectedType},
    integer::{Integer, IntegerType},
    map::{Entries, Key, Map},
    message::{Message, MessageEntry},
    print::LiteralText,
};
use crate::types::{Primitive, Type};

/// A value of Scilla.
///
/// As in the reference, two values are equal if they have the same kind and the same content, including the types in
/// constructors and maps. A closure equals only itself.
#[derive(Clone)]
pub enum Value {
    /// A value of an algebraic data type.
    Adt(Arc<AdtValue>),
    /// A block number.
    BNum(BNum),
    /// Bytes of type `ByStr`.
    ByStr(Arc<[u8]>),
    /// Bytes of type `ByStrN`, where N is their count.
    ByStrX(Arc<[u8]>),
    /// A function.
    Closure(Arc<Closure>),
    /// An integer.
    Integer(Integer),
    /// A map.
    Map(Map),
    /// A message, event or exception.
    Message(Arc<Message>),
    /// A text of printable ASCII and BS, FF, LF, CR, TAB.
    String(Arc<str>),
    /// A function whose parameter is a type.
    TypeClosure(Arc<Closure>),
}

impl Value {
    /// Returns a value of type `String`. The caller ensures that the text has only bytes of [`is_text_byte`].
    pub(crate) fn of_text(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// Returns bytes of type `ByStrN`.
    pub fn bystrx(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::ByStrX(bytes.into())
    }

    /// Returns the type, as far as the value determines it.
    ///
    /// # Errors
    ///
    /// [`Untyped`] for functions, and for messages without a label that determines their kind.
    pub fn ty(&self) -> Result<Type, Untyped> {
        Ok(match self {
            Self::Adt(value) => value.ty(),
            Self::BNum(_) => Primitive::BNum.into(),
            Self::ByStr(_) => Primitive::ByStr.into(),
            Self::ByStrX(bytes) => Primitive::ByStrX(u32::try_from(bytes.len()).unwrap_or(u32::MAX)).into(),
            Self::Closure(_) => return Err(Untyped::Closure),
            Self::Integer(integer) => Type::from(Primitive::from(integer.ty())),
            Self::Map(map) => map.ty(),
            Self::Message(message) => message.ty().ok_or(Untyped::Message)?.into(),
            Self::String(_) => Primitive::String.into(),
            Self::TypeClosure(_) => return Err(Untyped::TypeClosure),
        })
    }

    /// Returns the size for gas charges, in units.
    ///
    /// The sum saturates at the largest `u64`. No gas limit pays for that size.
    pub fn size(&self) -> u64 {
        match self {
            Self::Adt(value) => value.size(),
            Self::BNum(_) => 64,
            Self::ByStr(bytes) | Self::ByStrX(bytes) => bytes.len() as u64,
            Self::Closure(_) | Self::TypeClosure(_) => 1,
            Self::Integer(integer) => u64::from(integer.ty().width().bytes()),
            Self::Map(map) => map.size(),
            Self::Message(message) => message.size(),
            Self::String(text) => string_size(text),
        }
    }

    /// Returns the charge for sorting the maps inside the value, in units.
    pub fn sort_cost(&self) -> u64 {
        match self {
            Self::Adt(value) => value.sort_cost(),
            Self::Map(map) => map.sort_cost(),
            Self::BNum(_)
            | Self::ByStr(_)
            | Self::ByStrX(_)
            | Self::Closure(_)
            | Self::Integer(_)
            | Self::Message(_)
            | Self::String(_)
            | Self::TypeClosure(_) => 0,
        }
    }

    /// Returns the number of values inside this value, including this value, plus the number of nodes of their types. A
    /// long name of a constructor or a type counts as further nodes.
    ///
    /// A shared value counts once for each occurrence, because JSON and hash input repeat it. Therefore the number
    /// can be huge for a value that takes little memory. For example, a pair that contains the same pair twice, 40
    /// levels deep, has 2⁴⁰ parts. The number saturates at the largest `u64`.
    pub fn parts(&self) -> u64 {
        match self {
            Self::Adt(value) => value.parts(),
            Self::Map(map) => map.parts(),
            Self::Message(message) => message.parts(),
            Self::BNum(_)
            | Self::ByStr(_)
            | Self::ByStrX(_)
            | Self::Closure(_)
            | Self::Integer(_)
            | Self::String(_)
            | Self::TypeClosure(_) => 1,
        }
    }

    /// Returns the number of nodes of the value's type. A long name counts as several nodes.
    pub(crate) fn type_parts(&self) -> u64 {
        match self {
            Self::Adt(value) => value.type_parts(),
            Self::Map(map) => map.type_parts(),
            Self::BNum(_)
            | Self::ByStr(_)
            | Self::ByStrX(_)
            | Self::Closure(_)
            | Self::Integer(_)
            | Self::Message(_)
            | Self::String(_)
            | Self::TypeClosure(_) => 1,
        }
    }

    /// Returns the depth of the value, including itself. For a value with maps, the result is an upper bound.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Self::Adt(value) => value.depth(),
            Self::Closure(closure) | Self::TypeClosure(closure) => closure.depth(),
            Self::Map(map) => map.depth(),
            Self::Message(message) => message.depth(),
            Self::BNum(_) | Self::ByStr(_) | Self::ByStrX(_) | Self::Integer(_) | Self::String(_) => 1,
        }
    }

    /// Returns the memory address of the parts, or `None` if the value has no parts that it can share.
    fn address(&self) -> Option<usize> {
        self.place().map(|(address, _)| address)
    }

    /// Returns the memory address of the parts, or `None` if no other value shares them. While this value is
    /// borrowed, no value with other parts has the same address.
    pub(crate) fn shared_address(&self) -> Option<usize> {
        self.place().filter(|(_, owners)| *owners > 1).map(|(address, _)| address)
    }

    /// Returns the memory address of the parts, and the number of values that share them. Returns `None` if the value
    /// has no parts that it can share.
    fn place(&self) -> Option<(usize, usize)> {
        match self {
            Self::Adt(value) => Some((Arc::as_ptr(value).addr(), Arc::strong_count(value))),
            Self::Map(map) => map.place(),
            Self::Message(message) => Some((Arc::as_ptr(message).addr(), Arc::strong_count(message))),
            Self::BNum(_)
            | Self::ByStr(_)
            | Self::ByStrX(_)
            | Self::Closure(_)
            | Self::Integer(_)
            | Self::String(_)
            | Self::TypeClosure(_) => None,
        }
    }

    /// Returns the value in the text form of exceptions and error texts.
    pub fn literal(&self) -> LiteralText<'_> {
        LiteralText::new(self)
    }

    /// Returns the integer, or `None` if the value is not an integer.
    pub const fn as_integer(&self) -> Option<&Integer> {
        if let Self::Integer(integer) = self { Some(integer) } else { None }
    }

    /// Returns the text, or `None` if the value is not a string.
    pub const fn as_string(&self) -> Option<&Arc<str>> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the bytes, or `None` if the value is not a byte string of either type.
    pub const fn as_bytes(&self) -> Option<&Arc<[u8]>> {
        if let Self::ByStr(bytes) | Self::ByStrX(bytes) = self { Some(bytes) } else { None }
    }

    /// Returns the map, or `None` if the value is not a map.
    pub const fn as_map(&self) -> Option<&Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    /// Returns the message, event or exception, or `None` if the value is of another kind.
    pub const fn as_message(&self) -> Option<&Arc<Message>> {
        if let Self::Message(message) = self { Some(message) } else { None }
    }
}

/// Bytes that are shown as `0x` and lower-case hex.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |place: u8| char::from(DIGITS.get(usize::from(place)).copied().unwrap_or_default());
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| {
            f.write_char(digit(byte >> 4))?;
            f.write_char(digit(byte & 15))
        })
    }
}

/// Returns whether a byte may be part of a text: printable ASCII and BS, FF, LF, CR, TAB.
pub(crate) const fn is_text_byte(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | 8 | 12 | b'\n' | b'\r' | b'\t')
}

/// Returns the size of a text for gas charges, in units. A text of less than 20 bytes counts as 20.
pub(crate) fn string_size(text: &str) -> u64 {
    (text.len() as u64).max(20)
}

/// Reason why a value has no type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Untyped {
    /// The value is a function.
    #[error("Cannot type runtime closure")]
    Closure,
    /// The value is a message without a label that determines its kind.
    #[error("Invalid message construct.")]
    Message,
    /// The value is a function whose parameter is a type.
    #[error("Cannot type runtime type function")]
    TypeClosure,
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.literal())
    }
}

impl fmt::Display for Value {
    /// Writes the text of exceptions and error texts, for example `(Uint32 5)`. The text shows the types of integers,
    /// bytes, texts and maps. [`Value::to_json`] returns the form of messages and state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.literal())
    }
}

/// Number of steps after which a comparison records the compared pairs, so that it compares shared parts only once.
const MANY_STEPS: usize = 1000;

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let mut pairs = vec![(self, other)];
        let mut steps = 0;
        let mut compared = HashSet::new();
        while let Some((left, right)) = pairs.pop() {
            steps += 1;
            if steps > MANY_STEPS
                && let Some(pair) = left.address().zip(right.address())
                && !compared.insert(pair)
            {
                // The comparison has handled this pair, or its parts are in the queue.
                continue;
            }
            let same = match (left, right) {
                (Self::Adt(left), Self::Adt(right)) => {
                    Arc::ptr_eq(left, right)
                        || left.same_shape(right) && {
                            pairs.extend(left.arguments().iter().zip(right.arguments()));
                            true
                        }
                }
                (Self::Map(left), Self::Map(right)) => {
                    left.same_keys(right) && {
                        pairs.extend(left.iter().zip(right.iter()).map(|((_, left), (_, right))| (left, right)));
                        true
                    }
                }
                (Self::Message(left), Self::Message(right)) => {
                    left.same_labels(right) && {
                        let values = left.entries().iter().zip(right.entries());
                        pairs.extend(values.map(|(left, right)| (&left.value, &right.value)));
                        true
                    }
                }
                (Self::Closure(left), Self::Closure(right)) | (Self::TypeClosure(left), Self::TypeClosure(right)) => {
                    Arc::ptr_eq(left, right)
                }
                (Self::BNum(left), Self::BNum(right)) => left == right,
                (Self::ByStr(left), Self::ByStr(right)) | (Self::ByStrX(left), Self::ByStrX(right)) => left == right,
                (Self::Integer(left), Self::Integer(right)) => left == right,
                (Self::String(left), Self::String(right)) => left == right,
                _ => false,
            };
            if !same {
                return false;
            }
        }
        true
    }
}

impl Eq for Value {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    #[test]
    fn short_texts_are_charged_as_twenty() {
        assert_eq!(Value::of_text("abc").size(), 20);
        assert_eq!(Value::of_text("x".repeat(21)).size(), 21);
    }

    #[test]
    fn the_size_of_a_value_is_that_of_its_parts() {
        assert_eq!(Value::from(1_u128).size(), 16);
        assert_eq!(Value::bystrx(vec![0; 7]).size(), 7);
        assert_eq!(Value::BNum(BNum::parse("5").unwrap()).size(), 64);
        let uint = || Type::from(Primitive::Uint(crate::types::Width::W32));
        assert_eq!(Value::some(uint(), Value::from(1_u32)).size(), 4);
        assert_eq!(Value::none(uint()).size(), 1);
        assert_eq!(Value::list(uint(), [1_u32, 2, 3].map(Value::from)).size(), 13);
        assert_eq!(Value::nat(9).size(), 1);
    }

    #[test]
    fn equality_compares_kinds_and_types() {
        let bytes: Arc<[u8]> = Arc::from([1, 2]);
        assert_ne!(Value::ByStr(Arc::clone(&bytes)), Value::ByStrX(bytes));
        assert_ne!(Value::none(Type::bool()), Value::none(Type::nat()));
        assert_eq!(Value::pair((Type::bool(), Value::bool(true)), (Type::nat(), Value::nat(2))), {
            Value::pair((Type::bool(), Value::bool(true)), (Type::nat(), Value::nat(2)))
        });
    }

    /// Returns a value with two shared halves at each of `times` levels.
    fn shared(first: Value, times: usize) -> Value {
        (0..times)
            .fold(first, |half, _| Value::adt(Constructor::pair(), Arc::new([Type::bool()]), [half.clone(), half]))
    }

    #[test]
    fn parts_are_counted_as_often_as_they_occur() {
        let uint = || Type::from(Primitive::Uint(crate::types::Width::W32));
        assert_eq!(Value::from(1_u32).parts(), 1);
        assert_eq!(Value::nat(9).parts(), 10);
        assert_eq!(Value::some(uint(), Value::from(1_u32)).parts(), 3);
        assert_eq!(Value::list(uint(), [1_u32, 2, 3].map(Value::from)).parts(), 2 + 3 * 3);
        let mut map = Map::new(uint(), uint());
        assert_eq!(Value::Map(map.clone()).parts(), 3);
        map.insert(Key::new(Value::from(1_u32)).unwrap(), Value::from(2_u32));
        assert_eq!(Value::Map(map).parts(), 3 + 2);
        assert_eq!(shared(Value::from(1_u32), 40).parts(), (1 << 40) + 2 * ((1 << 40) - 1));
        assert_eq!(shared(Value::from(1_u32), 80).parts(), u64::MAX);
    }

    #[test]
    fn long_names_count_as_parts() {
        let long = |length: usize| Name::simple("n".repeat(length));
        let constructor = Constructor { name: long(640), data_type: long(6_400), index: 0, arity: 0, type_arity: 0 };
        let value = Value::adt(&Arc::new(constructor), Arc::new([]), []);
        assert_eq!(value.parts(), 1 + 10);
        let ty = value.ty().unwrap();
        assert_eq!(Map::new(ty.clone(), ty).type_parts(), 1 + 2 * (1 + 100));
    }

    #[test]
    fn shared_values_are_compared_and_dropped_once() {
        let (one, other) = (shared(Value::nat(0), 60), shared(Value::nat(0), 60));
        assert!(one == other);
        assert!(one != shared(Value::nat(1), 60));
        assert!(one != shared(Value::nat(0), 61));
        drop(one);
        let inner = |first| {
            let mut map = Map::new(Primitive::String.into(), Type::nat());
            map.insert(Key::new(Value::of_text("k")).unwrap(), first);
            Value::Map(map)
        };
        assert!(inner(shared(inner(shared(Value::nat(0), 60)), 60)) == inner(shared(inner(other), 60)));
    }

    #[test]
    fn a_deep_value_can_be_dropped_compared_and_printed() {
        let elements = || std::iter::repeat_n(Value::bool(true), 300_000);
        let (one, other) = (Value::list(Type::bool(), elements()), Value::list(Type::bool(), elements()));
        assert!(one == other);
        assert_eq!(one.literal().to_string().len(), "(List , (Nil))".len() + 300_000 * "(True), ".len() - 2);
        assert_eq!(Value::nat(300_000).literal().to_string(), "(Nat 300000)");
    }
}
