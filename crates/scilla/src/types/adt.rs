//! Algebraic data types and their constructors.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{Type, TypeVariable, usage::Uses};
use crate::name::Name;

/// An algebraic data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataType {
    /// Name of the type.
    pub name: Name,
    /// Type parameters. Only built-in types have parameters.
    pub parameters: Vec<TypeVariable>,
    /// Constructors in the order of the declaration.
    pub constructors: Vec<Constructor>,
}

/// A constructor of an algebraic data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constructor {
    /// Name of the constructor.
    pub name: Name,
    /// Types of the arguments. They can contain the parameters of the data type.
    pub arguments: Vec<Type>,
}

impl DataType {
    /// Returns a constructor and its index, or `None` if the type does not have the constructor.
    pub fn constructor(&self, name: &Name) -> Option<(usize, &Constructor)> {
        self.constructors.iter().enumerate().find(|(_, constructor)| constructor.name == *name)
    }
}

/// All algebraic data types that a program can use.
#[derive(Clone, Debug)]
pub struct DataTypes {
    types: Vec<Arc<DataType>>,
    /// The legal uses of each type. They are computed when the type is added, so that no later step walks the
    /// constructors of the type.
    uses: Vec<Uses>,
    by_name: HashMap<Name, usize>,
    by_constructor: HashMap<Name, (usize, usize)>,
}

/// Reason why a type cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Redefinition {
    /// A constructor of this name exists.
    #[error("Multiple declarations of type constructor: {}", .0.as_written())]
    Constructor(Name),
    /// A type of this name exists.
    #[error("Multiple declarations of type: {}", .0.as_written())]
    Type(Name),
}

impl DataTypes {
    /// Returns the built-in types: `Bool`, `Nat`, `Option`, `List`, `Pair`.
    pub fn built_in() -> Self {
        let (types, uses) = (Vec::new(), Vec::new());
        let mut known = Self { types, uses, by_name: HashMap::new(), by_constructor: HashMap::new() };
        let (a, b) = (|| Type::Variable("'A".into()), || Type::Variable("'B".into()));
        known.insert(built_in("Bool", &[], vec![("True", vec![]), ("False", vec![])]));
        known.insert(built_in("Nat", &[], vec![("Zero", vec![]), ("Succ", vec![Type::nat()])]));
        known.insert(built_in("Option", &["'A"], vec![("Some", vec![a()]), ("None", vec![])]));
        known.insert(built_in("List", &["'A"], vec![("Cons", vec![a(), Type::list(a())]), ("Nil", vec![])]));
        known.insert(built_in("Pair", &["'A", "'B"], vec![("Pair", vec![a(), b()])]));
        known
    }

    /// Adds a type.
    ///
    /// # Errors
    ///
    /// If the type or one of its constructors exists already. In this case, the function adds nothing.
    pub fn add(&mut self, added: DataType) -> Result<(), Redefinition> {
        if self.by_name.contains_key(&added.name) {
            return Err(Redefinition::Type(added.name));
        }
        let mut own = HashSet::new();
        for constructor in &added.constructors {
            if !own.insert(&constructor.name) || self.by_constructor.contains_key(&constructor.name) {
                return Err(Redefinition::Constructor(constructor.name.clone()));
            }
        }
        self.insert(added);
        Ok(())
    }

    fn insert(&mut self, added: impl Into<Arc<DataType>>) {
        let added = added.into();
        let index = self.types.len();
        self.by_name.insert(added.name.clone(), index);
        for (position, constructor) in added.constructors.iter().enumerate() {
            self.by_constructor.insert(constructor.name.clone(), (index, position));
        }
        self.uses.push(Uses::of(&added, self));
        self.types.push(added);
    }

    pub(super) fn uses(&self, name: &Name) -> Option<Uses> {
        self.by_name.get(name).and_then(|&index| self.uses.get(index)).copied()
    }

    /// Returns the type with this name, or `None` if it does not exist.
    pub fn get(&self, name: &Name) -> Option<&Arc<DataType>> {
        self.by_name.get(name).and_then(|&index| self.types.get(index))
    }

    /// Returns a constructor and its data type, or `None` if the constructor does not exist.
    pub fn constructor(&self, name: &Name) -> Option<(&Arc<DataType>, &Constructor)> {
        let &(index, position) = self.by_constructor.get(name)?;
        let of = self.types.get(index)?;
        Some((of, of.constructors.get(position)?))
    }

    /// Iterates over all types, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<DataType>> {
        self.types.iter()
    }
}

impl FromIterator<Arc<DataType>> for DataTypes {
    /// Collects the types of a checked program. The built-in types are always included.
    fn from_iter<I: IntoIterator<Item = Arc<DataType>>>(types: I) -> Self {
        let mut known = Self::built_in();
        for added in types {
            if !known.by_name.contains_key(&added.name) {
                known.insert(added);
            }
        }
        known
    }
}

impl Default for DataTypes {
    fn default() -> Self {
        Self::built_in()
    }
}

fn built_in(name: &str, parameters: &[&str], constructors: Vec<(&str, Vec<Type>)>) -> DataType {
    let constructor = |(name, arguments)| Constructor { name: Name::simple(name), arguments };
    DataType {
        name: Name::simple(name),
        parameters: parameters.iter().map(|&parameter| parameter.into()).collect(),
        constructors: constructors.into_iter().map(constructor).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(constructors: &[&str]) -> DataType {
        built_in("Colour", &[], constructors.iter().map(|&name| (name, vec![])).collect())
    }

    #[test]
    fn a_constructor_leads_to_its_type() {
        let known = DataTypes::built_in();
        let (of, constructor) = known.constructor(&Name::simple("Cons")).expect("built in");
        assert_eq!(of.name, Name::simple("List"));
        assert_eq!(constructor.arguments.len(), 2);
        assert!(known.constructor(&Name::simple("List")).is_none());
    }

    #[test]
    fn a_name_is_taken_once() {
        let mut known = DataTypes::built_in();
        assert_eq!(known.add(colour(&["Red", "None"])), Err(Redefinition::Constructor(Name::simple("None"))));
        assert_eq!(known.add(colour(&["Red", "Red"])), Err(Redefinition::Constructor(Name::simple("Red"))));
        assert_eq!(known.add(colour(&["Red", "Green"])), Ok(()));
        assert_eq!(known.add(colour(&["Blue"])), Err(Redefinition::Type(Name::simple("Colour"))));
        assert!(known.constructor(&Name::simple("Blue")).is_none());
    }

    #[test]
    fn the_same_name_of_another_module_is_another_name() {
        let mut known = DataTypes::built_in();
        let name = |base: &str| Name::simple(base).defined_in("0xab".into());
        let own = DataType {
            name: name("Bool"),
            parameters: vec![],
            constructors: vec![Constructor { name: name("True"), arguments: vec![] }],
        };
        assert_eq!(known.add(own), Ok(()));
        assert_eq!(known.iter().count(), 6);
    }
}
