//! Tags of constructors: of their values, and of their arguments.

use std::collections::HashMap;

use super::{ConstructorTags, DataTypeTags, tag::Tag};
use crate::{
    name::Name,
    types::{
        Type, TypeVariable,
        adt::{Constructor, DataType, DataTypes},
    },
};

/// The tags that belong to the arguments of constructors, and not to the values of the constructors. The type of such
/// an argument is a function, a map or a primitive type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConstructorTable {
    /// The tags of the arguments, by constructor. The tag is `None` if the type of the argument is a type variable, a
    /// data type or an address type. The table has only constructors with at least one tag.
    tags: HashMap<Name, Vec<Option<Tag>>>,
}

impl ConstructorTable {
    /// Returns a table for the constructors of a program. All its tags are `NoInfo`.
    pub(super) fn new(known: &DataTypes) -> Self {
        let constructors = known.iter().flat_map(|of| &of.constructors);
        let tags = constructors.filter_map(|constructor| {
            let tags: Vec<_> =
                constructor.arguments.iter().map(|ty| has_tag_of_its_own(ty).then_some(Tag::NoInfo)).collect();
            tags.iter().any(Option::is_some).then(|| (constructor.name.clone(), tags))
        });
        Self { tags: tags.collect() }
    }

    /// Joins the tags of arguments into the table.
    pub(super) fn learn(&mut self, constructor: &Name, arguments: &[Tag]) {
        for (known, argument) in self.tags.get_mut(constructor).into_iter().flatten().zip(arguments) {
            if let Some(known) = known {
                *known = known.join(argument);
            }
        }
    }

    /// Returns the tags by data type, in the order in which the data types were added.
    pub(super) fn report(&self, known: &DataTypes) -> Vec<DataTypeTags> {
        let of_constructor = |constructor: &Constructor| {
            let arguments = self.tags.get(&constructor.name)?.clone();
            Some(ConstructorTags { name: constructor.name.clone(), arguments })
        };
        let of_type = |of: &DataType| {
            let constructors: Vec<_> = of.constructors.iter().filter_map(of_constructor).collect();
            (!constructors.is_empty()).then(|| DataTypeTags { name: of.name.clone(), constructors })
        };
        known.iter().filter_map(|of| of_type(of)).collect()
    }
}

/// Returns whether an argument of this type has a tag that belongs to the constructor.
///
/// The tag of a type variable belongs to the data type. The analysis does not follow data types and addresses inside
/// data types.
const fn has_tag_of_its_own(ty: &Type) -> bool {
    matches!(ty, Type::Function(..) | Type::Map(..) | Type::Primitive(_))
}

/// Returns the tag of a value that a constructor makes, from the tags of the arguments.
pub(super) fn made(known: &DataTypes, constructor: &Name, arguments: &[Tag]) -> Tag {
    let Some((of, constructor)) = known.constructor(constructor) else { return Tag::Inconsistent };
    if of.parameters.is_empty() && of.constructors.iter().all(|constructor| constructor.arguments.is_empty()) {
        return Tag::NotMoney;
    }
    let mut found = Parameters::new(of, |_| Tag::NoInfo);
    for (ty, tag) in constructor.arguments.iter().zip(arguments) {
        found.read(ty, tag);
    }
    Tag::data(of.name.clone(), found.tags)
}

/// Returns the tags of the arguments of a constructor whose value has this tag.
pub(super) fn parts(known: &DataTypes, constructor: &Name, whole: &Tag) -> Vec<Tag> {
    let Some((of, constructor)) = known.constructor(constructor) else { return vec![] };
    let parameters = match whole {
        Tag::Data(data) if data.name == of.name => {
            Parameters::new(of, |index| data.arguments.get(index).cloned().unwrap_or_default())
        }
        // A tag without structure is valid for the parts too.
        Tag::Money | Tag::NoInfo | Tag::NotMoney => Parameters::new(of, |_| whole.clone()),
        // The parts of a clashing value need not clash.
        Tag::Data(_) | Tag::Inconsistent | Tag::Map(_) => Parameters::new(of, |_| Tag::NoInfo),
    };
    constructor.arguments.iter().map(|ty| parameters.write(ty)).collect()
}

/// The parameters of a data type, and a tag for each.
struct Parameters<'a> {
    names: &'a [TypeVariable],
    tags: Vec<Tag>,
}

impl<'a> Parameters<'a> {
    fn new(of: &'a DataType, tag: impl Fn(usize) -> Tag) -> Self {
        Self { names: &of.parameters, tags: (0..of.parameters.len()).map(tag).collect() }
    }

    fn index(&self, name: &TypeVariable) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    /// Joins the tag of a value into the tags of the parameters in its type.
    fn read(&mut self, ty: &Type, tag: &Tag) {
        match (ty, tag) {
            (Type::Variable(name), tag) => {
                if let Some(known) = self.index(name).and_then(|index| self.tags.get_mut(index)) {
                    *known = known.join(tag);
                }
            }
            (Type::Map(_, ty) | Type::Function(_, ty), Tag::Map(tag)) => self.read(ty, tag),
            (Type::Adt(_, kinds), Tag::Data(data)) => {
                for (ty, tag) in kinds.iter().zip(&data.arguments) {
                    self.read(ty, tag);
                }
            }
            _ => {}
        }
    }

    /// Returns the tag of a value of this type, from the tags of the parameters.
    fn write(&self, ty: &Type) -> Tag {
        match ty {
            Type::Adt(name, kinds) => Tag::data(name.name.clone(), kinds.iter().map(|ty| self.write(ty)).collect()),
            Type::Function(_, ty) | Type::Map(_, ty) => Tag::map(self.write(ty)),
            Type::Primitive(_) => Tag::NoInfo,
            Type::Variable(name) => {
                self.index(name).and_then(|index| self.tags.get(index)).cloned().unwrap_or(Tag::Inconsistent)
            }
            Type::Address(_) | Type::Forall(..) | Type::Unit => Tag::Inconsistent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the built-in types, and `Purse`, `Colour` and `Bag`.
    fn known() -> DataTypes {
        let uint = || Type::Primitive(crate::types::Primitive::Uint(crate::types::Width::W128));
        let address = Type::Address(crate::types::AddressType::Any);
        let type_of = |name: &str, constructors: Vec<(&str, Vec<Type>)>| DataType {
            name: Name::simple(name),
            parameters: vec![],
            constructors: constructors
                .into_iter()
                .map(|(name, arguments)| Constructor { name: Name::simple(name), arguments })
                .collect(),
        };
        let mut known = DataTypes::built_in();
        let purse = vec![uint(), Type::option(uint()), Type::map(Type::bystr(20), uint()), address];
        for added in [
            type_of("Purse", vec![("Empty", vec![]), ("Purse", purse)]),
            type_of("Colour", vec![("Red", vec![]), ("Green", vec![])]),
            type_of("Bag", vec![("Bag", vec![Type::bool()])]),
        ] {
            known.add(added).expect("the names differ");
        }
        known
    }

    fn check_made(constructor: &str, arguments: &[Tag], expected: &str) {
        let made = made(&known(), &Name::simple(constructor), arguments);
        assert_eq!(made.to_string(), expected, "{constructor} {arguments:?}");
    }

    fn check_parts(constructor: &str, whole: &Tag, expected: &[&str]) {
        let parts = parts(&known(), &Name::simple(constructor), whole);
        assert_eq!(parts.iter().map(Tag::to_string).collect::<Vec<_>>(), expected, "{constructor} {whole}");
    }

    #[test]
    fn what_is_made_has_the_tags_of_its_parameters() {
        check_made("Some", &[Tag::Money], "(Option Money)");
        check_made("None", &[], "(Option NoInfo)");
        check_made("Pair", &[Tag::Money, Tag::NotMoney], "(Pair Money NotMoney)");
        let list = Tag::data(Name::simple("List"), vec![Tag::NotMoney]);
        check_made("Cons", &[Tag::NoInfo, list.clone()], "(List NotMoney)");
        check_made("Cons", &[Tag::Money, list], "(List Inconsistent)");
        check_made("Cons", &[Tag::Money, Tag::Inconsistent], "(List Money)");
    }

    #[test]
    fn what_is_one_of_a_few_words_is_no_money() {
        check_made("True", &[], "NotMoney");
        check_made("Green", &[], "NotMoney");
        check_made("Empty", &[], "(Purse )");
        check_made("Succ", &[Tag::Money], "(Nat )");
    }

    #[test]
    fn parts_have_the_tags_of_the_whole() {
        check_parts("Some", &Tag::option(Tag::Money), &["Money"]);
        check_parts("None", &Tag::option(Tag::Money), &[]);
        check_parts("Some", &Tag::NotMoney, &["NotMoney"]);
        check_parts("Some", &Tag::Inconsistent, &["NoInfo"]);
        check_parts("Some", &Tag::map(Tag::Money), &["NoInfo"]);
        check_parts("Cons", &Tag::data(Name::simple("List"), vec![Tag::Money]), &["Money", "(List Money)"]);
        check_parts("Purse", &Tag::NoInfo, &["NoInfo", "(Option NoInfo)", "(Map NoInfo)", "Inconsistent"]);
        check_parts("Bag", &Tag::NoInfo, &["(Bool )"]);
    }

    #[test]
    fn only_some_arguments_have_tags_of_their_own() {
        let known = known();
        let mut table = ConstructorTable::new(&known);
        table.learn(&Name::simple("Purse"), &[Tag::Money, Tag::Money, Tag::map(Tag::NotMoney), Tag::Money]);
        table.learn(&Name::simple("Bag"), &[Tag::Money]);
        table.learn(&Name::simple("Some"), &[Tag::Money]);
        let report = table.report(&known);
        let [purse] = report.as_slice() else { panic!("{report:?}") };
        let [constructor] = purse.constructors.as_slice() else { panic!("{purse:?}") };
        let shown: Vec<_> = constructor.arguments.iter().map(|tag| tag.as_ref().map(Tag::to_string)).collect();
        assert_eq!(shown, [Some("Money".into()), None, Some("(Map NotMoney)".into()), None]);
        table.learn(&Name::simple("Purse"), &[Tag::NotMoney, Tag::NoInfo, Tag::NoInfo, Tag::NoInfo]);
        assert_eq!(
            table.report(&known)[0].constructors[0].arguments[0],
            Some(Tag::Inconsistent),
            "what is learnt adds up"
        );
    }
}
