//! Values and their sizes. The model does not cache sizes: each call reads all parts.

use std::rc::Rc;

use silica_scilla::{
    name::Name,
    value::{self as real, IntegerType},
};

use super::expression::Function;

#[derive(Clone)]
pub(super) enum Value<'p> {
    Block(u128),
    /// A byte string of fixed or any length.
    Bytes(Rc<[u8]>),
    Function(Rc<Function<'p>>),
    Made(Rc<(Name, Vec<Self>)>),
    Map(Rc<Vec<(Self, Self)>>),
    Message(Rc<Vec<(String, Self)>>),
    Number {
        signed: bool,
        bits: u32,
        number: i128,
    },
    Text(Rc<str>),
}

impl<'p> Value<'p> {
    /// Converts a value of the evaluator. All numbers of more than 127 bits become the same value.
    pub(super) fn of(value: &real::Value) -> Self {
        match value {
            real::Value::Adt(made) => {
                Self::made(&made.constructor().name, made.arguments().iter().map(Self::of).collect())
            }
            real::Value::BNum(number) => Self::Block(number.to_string().parse().unwrap()),
            real::Value::ByStr(bytes) | real::Value::ByStrX(bytes) => Self::bytes(bytes),
            real::Value::Integer(integer) => {
                let (signed, width) = match integer.ty() {
                    IntegerType::Int(width) => (true, width),
                    IntegerType::Uint(width) => (false, width),
                };
                Self::Number { signed, bits: width.bits(), number: integer.to_string().parse().unwrap_or(i128::MAX) }
            }
            real::Value::Map(map) => {
                Self::Map(Rc::new(map.iter().map(|(key, value)| (Self::of(key.value()), Self::of(value))).collect()))
            }
            real::Value::Message(message) => {
                let entries = message.entries().iter().map(|entry| (entry.label.to_string(), Self::of(&entry.value)));
                Self::Message(Rc::new(entries.collect()))
            }
            real::Value::String(text) => Self::text(text),
            real::Value::Closure(_) | real::Value::TypeClosure(_) => panic!("functions are not stored"),
        }
    }

    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn bytes(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.into())
    }

    pub(super) fn function(function: Function<'p>) -> Self {
        Self::Function(Rc::new(function))
    }

    pub(super) fn made(constructor: &Name, parts: Vec<Self>) -> Self {
        Self::Made(Rc::new((constructor.clone(), parts)))
    }

    /// Returns the value of a built-in constructor.
    pub(super) fn built(constructor: &'static str, parts: Vec<Self>) -> Self {
        Self::made(&Name::simple(constructor), parts)
    }

    pub(super) fn truth(truth: bool) -> Self {
        Self::built(if truth { "True" } else { "False" }, Vec::new())
    }

    pub(super) fn option(value: Option<Self>) -> Self {
        match value {
            Some(value) => Self::built("Some", vec![value]),
            None => Self::built("None", Vec::new()),
        }
    }

    pub(super) const fn uint32(number: i128) -> Self {
        Self::Number { signed: false, bits: 32, number }
    }

    pub(super) fn number(&self) -> i128 {
        let Self::Number { number, .. } = self else { panic!("this is no number") };
        *number
    }

    pub(super) fn is_made_by(&self, constructor: &str) -> bool {
        matches!(self, Self::Made(made) if made.0 == Name::simple(constructor))
    }

    pub(super) fn parts(&self) -> &[Self] {
        if let Self::Made(made) = self { &made.1 } else { &[] }
    }

    pub(super) fn entries(&self) -> &[(Self, Self)] {
        let Self::Map(entries) = self else { panic!("this is no map") };
        entries
    }

    pub(super) fn elements(&self) -> Vec<Self> {
        let (mut elements, mut rest) = (Vec::new(), self);
        while let [head, tail] = rest.parts() {
            elements.push(head.clone());
            rest = tail;
        }
        elements
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Block(_) => 64,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Function(_) => 1,
            Self::Made(made) if made.1.is_empty() => 1,
            Self::Made(_) if self.is_made_by("Cons") => self.elements().iter().map(Self::size).sum::<u64>() + 1,
            Self::Made(made) => made.1.iter().map(Self::size).sum(),
            Self::Map(entries) => entries.iter().map(|(key, value)| key.size() + value.size()).sum(),
            Self::Message(entries) => {
                entries.iter().map(|(label, value)| label.len().max(20) as u64 + value.size()).sum()
            }
            Self::Number { bits, .. } => u64::from(bits / 8),
            Self::Text(text) => text.len().max(20) as u64,
        }
    }

    /// Returns the charge for sorting the maps inside the value, in units.
    pub(super) fn sorting(&self) -> u64 {
        match self {
            Self::Made(made) => made.1.iter().map(Self::sorting).sum(),
            Self::Map(entries) => {
                let own = if entries.is_empty() { 0 } else { entries.len() as u64 * logarithm(entries.len() as u64) };
                own + entries.iter().map(|(_, value)| value.sorting()).sum::<u64>()
            }
            Self::Block(_)
            | Self::Bytes(_)
            | Self::Function(_)
            | Self::Message(_)
            | Self::Number { .. }
            | Self::Text(_) => 0,
        }
    }

    /// Returns the bytes of the value as hash input. Keys are compared and sorted by these bytes.
    pub(super) fn serialized(&self) -> Vec<u8> {
        match self {
            Self::Block(number) => number.to_string().into_bytes(),
            Self::Bytes(bytes) => bytes.to_vec(),
            Self::Function(_) => panic!("functions are not hashed"),
            Self::Made(made) => {
                let name = made.0.global().to_string().into_bytes();
                name.into_iter().chain(made.1.iter().flat_map(Self::serialized)).collect()
            }
            Self::Map(_) => {
                let sorted = self.sorted();
                sorted.iter().rev().flat_map(|(key, value)| [key.serialized(), value.serialized()].concat()).collect()
            }
            Self::Message(entries) => {
                let mut entries = entries.to_vec();
                entries.sort_by(|(one, _), (other, _)| one.cmp(other));
                let entry = |(label, value): &(String, Self)| [label.as_bytes(), b":", &value.serialized()].concat();
                entries.iter().map(entry).collect::<Vec<_>>().join(&b';')
            }
            Self::Number { bits, number, .. } => {
                let sign = if *number < 0 { 0xff } else { 0 };
                let wide = [[sign; 16], number.to_be_bytes()].concat();
                wide[32 - *bits as usize / 8..].to_vec()
            }
            Self::Text(text) => text.as_bytes().to_vec(),
        }
    }

    /// Returns the entries of a map, sorted by key.
    pub(super) fn sorted(&self) -> Vec<(Self, Self)> {
        let mut entries = self.entries().to_vec();
        entries.sort_by_key(|(key, _)| key.serialized());
        entries
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.serialized() == other.serialized()
    }

    pub(super) fn entry(&self, key: &Self) -> Option<Self> {
        self.entries().iter().find(|(known, _)| known.is_same(key)).map(|(_, value)| value.clone())
    }

    /// Returns the map without a key. If there is a new value, the result has the key with this value.
    pub(super) fn replace(&self, key: &Self, value: Option<Self>) -> Self {
        let others = self.entries().iter().filter(|(known, _)| !known.is_same(key)).cloned();
        Self::Map(Rc::new(others.chain(value.map(|value| (key.clone(), value))).collect()))
    }
}

/// Returns the natural logarithm, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "that is how the reference computes it"
)]
pub(super) fn logarithm(number: u64) -> u64 {
    (number as f64).ln() as u64
}
