//! Tags, which describe the use of a value.

use std::{fmt, sync::Arc};

use crate::name::Name;

/// Largest number of tags inside a tag. Tags of real contracts are far smaller. Without the limit, some tags would grow
/// in every round of the analysis.
const MAX_SIZE: usize = 256;

/// The use of a value: a lattice with [`NoInfo`](Self::NoInfo) at the bottom and [`Inconsistent`](Self::Inconsistent)
/// at the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tag {
    /// A value of a data type, with a tag for each parameter of the type.
    Data(Arc<DataTag>),
    /// The uses contradict each other, for example as money and as a number.
    Inconsistent,
    /// A map whose values have this tag, or a function whose results have this tag.
    Map(Arc<Self>),
    /// The value is money.
    Money,
    /// The uses give no information.
    #[default]
    NoInfo,
    /// The value is not money.
    NotMoney,
}

/// The use of a value of a data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataTag {
    /// Name of the data type.
    pub name: Name,
    /// A tag for each parameter of the data type.
    pub arguments: Vec<Tag>,
}

impl Tag {
    /// Returns the tag of a map whose values have this tag.
    pub(super) fn map(value: Self) -> Self {
        Self::Map(Arc::new(value)).limited()
    }

    /// Returns the tag of `depth` nested maps whose innermost values have this tag.
    pub(super) fn maps(depth: usize, value: Self) -> Self {
        (0..depth).fold(value, |value, _| Self::map(value))
    }

    /// Returns the tag of an option whose value has this tag.
    pub(super) fn option(value: Self) -> Self {
        Self::data(Name::simple("Option"), vec![value])
    }

    /// Returns the tag of a value of a data type, with a tag for each parameter.
    pub(super) fn data(name: Name, arguments: Vec<Self>) -> Self {
        Self::Data(Arc::new(DataTag { name, arguments })).limited()
    }

    fn limited(self) -> Self {
        if self.size() <= MAX_SIZE { self } else { Self::Inconsistent }
    }

    /// Returns the number of tags inside this tag, including itself.
    fn size(&self) -> usize {
        match self {
            Self::Data(data) => 1 + data.arguments.iter().map(Self::size).sum::<usize>(),
            Self::Map(value) => 1 + value.size(),
            Self::Inconsistent | Self::Money | Self::NoInfo | Self::NotMoney => 1,
        }
    }

    /// Returns the tag of the values under `depth` keys of a map, or of the result of a function. Returns `None` if
    /// this tag has fewer nested maps.
    pub(super) fn value(&self, depth: usize) -> Option<&Self> {
        (0..depth).try_fold(self, |tag, _| if let Self::Map(value) = tag { Some(&**value) } else { None })
    }

    /// Returns the tag of the value in an option, or `None` if this tag is not an option. `NoInfo` counts as an
    /// option without information.
    pub(super) fn held(&self) -> Option<Self> {
        match self {
            Self::Data(data) if data.name == Name::simple("Option") => match data.arguments.as_slice() {
                [held] => Some(held.clone()),
                _ => None,
            },
            Self::NoInfo => Some(Self::NoInfo),
            Self::Data(_) | Self::Inconsistent | Self::Map(_) | Self::Money | Self::NotMoney => None,
        }
    }

    /// Returns the least upper bound of two tags.
    #[must_use]
    pub(super) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::NoInfo, tag) | (tag, Self::NoInfo) => tag.clone(),
            (Self::Map(one), Self::Map(other)) => Self::map(one.join(other)),
            (Self::Data(one), Self::Data(other)) if one.is_of_the_type_of(other) => one.zip(other, Self::join),
            (one, other) if one == other => one.clone(),
            _ => Self::Inconsistent,
        }
    }

    /// Returns the greatest lower bound of two tags.
    #[must_use]
    pub(super) fn meet(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Inconsistent, tag) | (tag, Self::Inconsistent) => tag.clone(),
            (Self::Map(one), Self::Map(other)) => Self::map(one.meet(other)),
            (Self::Data(one), Self::Data(other)) if one.is_of_the_type_of(other) => one.zip(other, Self::meet),
            (one, other) if one == other => one.clone(),
            _ => Self::NoInfo,
        }
    }
}

impl DataTag {
    fn is_of_the_type_of(&self, other: &Self) -> bool {
        self.name == other.name && self.arguments.len() == other.arguments.len()
    }

    fn zip(&self, other: &Self, of: fn(&Tag, &Tag) -> Tag) -> Tag {
        let arguments = self.arguments.iter().zip(&other.arguments).map(|(one, other)| of(one, other));
        Tag::data(self.name.clone(), arguments.collect())
    }
}

/// Prints a tag in the form of the reference: `Money`, `(Map NotMoney)`, `(Pair Money NoInfo)`, or `(Colour )` for a
/// type without parameters.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(data) => {
                write!(f, "({} ", data.name.as_written())?;
                for (index, argument) in data.arguments.iter().enumerate() {
                    let space = if index == 0 { "" } else { " " };
                    write!(f, "{space}{argument}")?;
                }
                f.write_str(")")
            }
            Self::Inconsistent => f.write_str("Inconsistent"),
            Self::Map(value) => write!(f, "(Map {value})"),
            Self::Money => f.write_str("Money"),
            Self::NoInfo => f.write_str("NoInfo"),
            Self::NotMoney => f.write_str("NotMoney"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(first: Tag, second: Tag) -> Tag {
        Tag::data(Name::simple("Pair"), vec![first, second])
    }

    /// Returns tags of all kinds, some of them nested.
    fn samples() -> Vec<Tag> {
        let flat = [Tag::NoInfo, Tag::Money, Tag::NotMoney, Tag::Inconsistent];
        let mut all = flat.to_vec();
        all.extend(flat.iter().cloned().map(Tag::map));
        all.extend(flat.iter().cloned().map(Tag::option));
        all.extend(flat.iter().flat_map(|first| flat.iter().map(|second| pair(first.clone(), second.clone()))));
        all.push(Tag::data(Name::simple("Option"), vec![]));
        all
    }

    #[test]
    fn tags_are_written_as_the_reference_writes_them() {
        let check = |tag: Tag, expected: &str| assert_eq!(tag.to_string(), expected);
        check(Tag::NoInfo, "NoInfo");
        check(Tag::Inconsistent, "Inconsistent");
        check(Tag::maps(2, Tag::NotMoney), "(Map (Map NotMoney))");
        check(Tag::option(pair(Tag::Money, Tag::NoInfo)), "(Option (Pair Money NoInfo))");
        check(Tag::data(Name::simple("Colour").defined_in("0xab".into()), vec![]), "(Colour )");
    }

    #[test]
    fn join_and_meet_are_those_of_a_lattice() {
        for a in &samples() {
            assert_eq!(a.join(a), *a);
            assert_eq!(a.meet(a), *a);
            assert_eq!((a.join(&Tag::NoInfo), a.meet(&Tag::NoInfo)), (a.clone(), Tag::NoInfo));
            assert_eq!((a.join(&Tag::Inconsistent), a.meet(&Tag::Inconsistent)), (Tag::Inconsistent, a.clone()));
            for b in &samples() {
                assert_eq!(a.join(b), b.join(a));
                assert_eq!(a.meet(b), b.meet(a));
                assert_eq!(a.join(&a.meet(b)), *a, "{a} {b}");
                assert_eq!(a.meet(&a.join(b)), *a, "{a} {b}");
            }
        }
    }

    #[test]
    fn different_tags_are_inconsistent_at_the_differing_part() {
        assert_eq!(Tag::Money.join(&Tag::NotMoney), Tag::Inconsistent);
        assert_eq!(Tag::map(Tag::Money).join(&Tag::map(Tag::NotMoney)), Tag::map(Tag::Inconsistent));
        assert_eq!(Tag::map(Tag::Money).join(&Tag::option(Tag::Money)), Tag::Inconsistent);
        assert_eq!(
            pair(Tag::NoInfo, Tag::NotMoney).join(&pair(Tag::Money, Tag::Money)),
            pair(Tag::Money, Tag::Inconsistent)
        );
        let elsewhere = Tag::data(Name::simple("Option").defined_in("0xab".into()), vec![Tag::Money]);
        assert_eq!(Tag::option(Tag::Money).join(&elsewhere), Tag::Inconsistent);
    }

    #[test]
    fn a_tag_grows_only_so_far() {
        assert_eq!(Tag::maps(MAX_SIZE - 1, Tag::Money).size(), MAX_SIZE);
        assert_eq!(Tag::maps(MAX_SIZE, Tag::Money), Tag::Inconsistent);
        let tree = |depth| (0..depth).fold(Tag::Money, |tag, _| pair(tag.clone(), tag));
        assert_eq!(tree(7).size(), 255);
        assert_eq!(tree(8), Tag::Inconsistent);
    }
}
