//! Substitution of types for type variables. In the checker, only this step costs gas.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt::Write as _,
    sync::Arc,
};

use super::{AddressType, Type, TypeVariable};
use crate::gas::{Exhausted, Meter};

/// Reason why a type cannot be applied to type arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstantiationError {
    /// Arguments remain, but the rest of the type is not a `forall`.
    NotForall {
        /// The type after the substitution of the previous arguments.
        rest: Type,
        /// Number of arguments that the type has taken.
        taken: usize,
    },
    /// The gas does not suffice.
    Exhausted,
}

impl From<Exhausted> for InstantiationError {
    fn from(Exhausted: Exhausted) -> Self {
        Self::Exhausted
    }
}

/// Applies a `forall` type to arguments, and charges the units for the substitution.
///
/// # Errors
///
/// If there are more arguments than variables, or the gas does not suffice.
pub fn instantiate(of: &Type, arguments: &[Type], meter: &mut Meter) -> Result<Type, InstantiationError> {
    let mut rest = of.clone();
    for (taken, argument) in arguments.iter().enumerate() {
        let free = argument.free_variables();
        if !is_apart(&rest, &free, &mut HashSet::new()) {
            rest = Renaming::apart_from(free).rename(&rest);
        }
        let Type::Forall(variable, body) = &rest else {
            return Err(InstantiationError::NotForall { rest, taken });
        };
        let replacement = Replacement { variable, by: argument, size: argument.size() };
        rest = match replacement.within(body, meter)? {
            Some(changed) => changed,
            None => Type::clone(body),
        };
    }
    Ok(rest)
}

/// Replaces variables by types, all at once and without gas, for example the parameters of a data type.
///
/// The new types must not contain variables that `of` binds. The argument types of constructors bind no variables.
pub(crate) fn replace(of: &Type, with: &[(&TypeVariable, &Type)]) -> Type {
    #[cfg(test)]
    count::pass();
    match of {
        Type::Variable(variable) => {
            with.iter().find(|(replaced, _)| *replaced == variable).map_or_else(|| of.clone(), |(_, by)| (*by).clone())
        }
        Type::Adt(name, arguments) => {
            Type::Adt(name.clone(), arguments.iter().map(|argument| replace(argument, with)).collect())
        }
        Type::Function(from, to) => Type::function(replace(from, with), replace(to, with)),
        Type::Map(key, value) => Type::map(replace(key, with), replace(value, with)),
        Type::Address(AddressType::Contract(fields)) => {
            let fields = fields.iter().map(|(name, ty)| (Arc::clone(name), replace(ty, with))).collect();
            Type::Address(AddressType::Contract(Arc::new(fields)))
        }
        Type::Forall(variable, body) => {
            let inner: Vec<_> = with.iter().copied().filter(|(replaced, _)| *replaced != variable).collect();
            Type::Forall(Arc::clone(variable), Arc::new(replace(body, &inner)))
        }
        Type::Address(_) | Type::Primitive(_) | Type::Unit => of.clone(),
    }
}

/// Returns whether the name of each bound variable in a type differs from the names in `free` and from the names of the
/// outer bound variables.
fn is_apart<'a>(mut of: &'a Type, free: &BTreeSet<TypeVariable>, bound: &mut HashSet<&'a TypeVariable>) -> bool {
    let mut added = Vec::new();
    let result = loop {
        match of {
            Type::Forall(variable, body) => {
                if free.contains(variable) || !bound.insert(variable) {
                    break false;
                }
                added.push(variable);
                of = body;
            }
            Type::Function(from, to) => {
                if !is_apart(from, free, bound) {
                    break false;
                }
                of = to;
            }
            Type::Address(_) | Type::Adt(..) | Type::Map(..) | Type::Primitive(_) | Type::Unit | Type::Variable(_) => {
                break of.parts().all(|part| is_apart(part, free, bound));
            }
        }
    };
    for variable in added {
        bound.remove(variable);
    }
    result
}

/// Renames the bound variables of a type. The new names are neither free in the new types nor bound by an outer
/// `forall`.
///
/// If a name is taken, the renaming appends the first number that makes the name unique.
struct Renaming {
    /// The names that cannot be used, with the number of their uses.
    taken: HashMap<TypeVariable, usize>,
    /// The new names of the variables that an outer `forall` binds, by old name, the innermost last.
    bound: HashMap<TypeVariable, Vec<TypeVariable>>,
}

impl Renaming {
    fn apart_from(free: BTreeSet<TypeVariable>) -> Self {
        Self { taken: free.into_iter().map(|variable| (variable, 1)).collect(), bound: HashMap::new() }
    }

    fn rename(&mut self, of: &Type) -> Type {
        match of {
            Type::Variable(variable) => {
                let new = self.bound.get(variable).and_then(|names| names.last());
                Type::Variable(Arc::clone(new.unwrap_or(variable)))
            }
            Type::Forall(variable, body) => {
                let name = self.bind(variable);
                let body = self.rename(body);
                self.unbind(variable, &name);
                Type::Forall(name, Arc::new(body))
            }
            Type::Function(from, to) => Type::function(self.rename(from), self.rename(to)),
            Type::Map(key, value) => Type::map(self.rename(key), self.rename(value)),
            Type::Adt(name, arguments) => {
                Type::Adt(name.clone(), arguments.iter().map(|argument| self.rename(argument)).collect())
            }
            Type::Address(AddressType::Contract(fields)) => {
                let fields = fields.iter().map(|(name, ty)| (Arc::clone(name), self.rename(ty))).collect();
                Type::Address(AddressType::Contract(Arc::new(fields)))
            }
            Type::Address(_) | Type::Primitive(_) | Type::Unit => of.clone(),
        }
    }

    fn bind(&mut self, variable: &TypeVariable) -> TypeVariable {
        let names = self.bound.entry(Arc::clone(variable)).or_default();
        let mut name = Arc::clone(variable);
        if self.taken.contains_key(variable) {
            let mut text = String::with_capacity(variable.len() + 4);
            // Each outer binding of this variable has used a number, so the search starts after these numbers.
            for number in (names.len().max(1)..).take(self.taken.len() + 1) {
                text.clear();
                // A write to a `String` cannot fail.
                let _ = write!(text, "{variable}{number}");
                if !self.taken.contains_key(text.as_str()) {
                    name = text.into();
                    break;
                }
            }
        }
        names.push(Arc::clone(&name));
        *self.taken.entry(Arc::clone(&name)).or_default() += 1;
        name
    }

    fn unbind(&mut self, variable: &TypeVariable, name: &TypeVariable) {
        if let Some(names) = self.bound.get_mut(variable) {
            names.pop();
        }
        if let Some(times) = self.taken.get_mut(name) {
            *times = times.saturating_sub(1);
            if *times == 0 {
                self.taken.remove(name);
            }
        }
    }
}

/// A type that replaces a variable.
///
/// Source of the charges: `Zilliqa/scilla: src/base/TypeUtil.ml` (substitution with gas).
struct Replacement<'a> {
    variable: &'a TypeVariable,
    by: &'a Type,
    /// Number of nodes of the new type.
    size: u64,
}

impl Replacement<'_> {
    /// Returns the type after the replacement, or `None` if the type does not change. Each visited node costs one unit.
    /// Each occurrence of the variable costs the number of nodes of the new type.
    fn within(&self, of: &Type, meter: &mut Meter) -> Result<Option<Type>, Exhausted> {
        meter.charge(charge(of, self.variable, self.size))?;
        Ok(match of {
            Type::Variable(other) => (other == self.variable).then(|| self.by.clone()),
            Type::Function(from, to) => self.within_two(from, to, meter)?.map(|[from, to]| Type::Function(from, to)),
            Type::Map(key, value) => self.within_two(key, value, meter)?.map(|[key, value]| Type::Map(key, value)),
            Type::Adt(name, arguments) => self.within_all(arguments, meter)?.map(|new| Type::Adt(name.clone(), new)),
            // The bound names are distinct, so this node does not bind the variable again.
            Type::Forall(other, body) => {
                self.within(body, meter)?.map(|body| Type::Forall(Arc::clone(other), Arc::new(body)))
            }
            Type::Address(AddressType::Contract(fields)) => {
                let fields = fields
                    .iter()
                    .map(|(name, ty)| Ok((Arc::clone(name), self.within(ty, meter)?.unwrap_or_else(|| ty.clone()))));
                Some(Type::Address(AddressType::Contract(Arc::new(fields.collect::<Result<_, _>>()?))))
            }
            Type::Address(_) | Type::Primitive(_) | Type::Unit => None,
        })
    }

    /// Replaces the variable in two parts. Shares a part that does not change.
    fn within_two(
        &self,
        one: &Arc<Type>,
        two: &Arc<Type>,
        meter: &mut Meter,
    ) -> Result<Option<[Arc<Type>; 2]>, Exhausted> {
        let (new_one, new_two) = (self.within(one, meter)?, self.within(two, meter)?);
        let either = |new: Option<Type>, old: &Arc<Type>| new.map_or_else(|| Arc::clone(old), Arc::new);
        Ok((new_one.is_some() || new_two.is_some()).then(|| [either(new_one, one), either(new_two, two)]))
    }

    fn within_all(&self, types: &[Type], meter: &mut Meter) -> Result<Option<Arc<[Type]>>, Exhausted> {
        let mut new: Option<Vec<Type>> = None;
        for (index, of) in types.iter().enumerate() {
            if let Some(changed) = self.within(of, meter)? {
                let all = new.get_or_insert_with(|| types.to_vec());
                if let Some(place) = all.get_mut(index) {
                    *place = changed;
                }
            }
        }
        Ok(new.map(Into::into))
    }
}

/// Returns the charge of a node in units. A contract address costs as much as its fields, which are visited and
/// charged again.
fn charge(of: &Type, variable: &TypeVariable, size: u64) -> u64 {
    match of {
        Type::Variable(other) if other == variable => size,
        Type::Address(AddressType::Contract(fields)) => {
            fields.values().map(|ty| charge(ty, variable, size)).fold(0, u64::saturating_add).max(1)
        }
        Type::Address(_)
        | Type::Adt(..)
        | Type::Forall(..)
        | Type::Function(..)
        | Type::Map(..)
        | Type::Primitive(_)
        | Type::Unit
        | Type::Variable(_) => 1,
    }
}

/// Counts the visited nodes, for tests.
#[cfg(test)]
pub(crate) mod count {
    use std::cell::Cell;

    thread_local! {
        static NODES: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn pass() {
        NODES.set(NODES.get() + 1);
    }

    /// Returns the number of nodes of types that this thread has visited for weights and replacements.
    pub(crate) fn nodes() -> u64 {
        NODES.get()
    }
}

/// Length of a name that counts as one further node, in bytes. Typical names of types are shorter.
const NAME_WITHIN_A_NODE: usize = 64;

/// Returns the number of further nodes for a name, from its length in bytes.
pub(crate) const fn weight_of_name(bytes: usize) -> u64 {
    (bytes / NAME_WITHIN_A_NODE) as u64
}

impl Type {
    /// Returns the number of nodes of the type.
    pub fn size(&self) -> u64 {
        self.parts().map(Self::size).fold(1, u64::saturating_add)
    }

    /// Returns the number of nodes of the type, plus the [`weight_of_name`] of its names.
    pub(crate) fn weight(&self) -> u64 {
        #[cfg(test)]
        count::pass();
        let names = match self {
            Self::Address(AddressType::Contract(fields)) => {
                fields.keys().map(|name| weight_of_name(name.len())).fold(0, u64::saturating_add)
            }
            Self::Adt(name, _) => weight_of_name(name.name.global_len()),
            Self::Forall(variable, _) | Self::Variable(variable) => weight_of_name(variable.len()),
            Self::Address(_) | Self::Function(..) | Self::Map(..) | Self::Primitive(_) | Self::Unit => 0,
        };
        self.parts().map(Self::weight).fold(1 + names, u64::saturating_add)
    }

    /// Returns whether the type has no type variables, neither free nor bound.
    pub fn is_ground(&self) -> bool {
        let mut ground = true;
        self.visit(|node| ground &= !matches!(node, Self::Variable(_) | Self::Forall(..)));
        ground
    }

    /// Returns the variables that the type does not bind.
    pub fn free_variables(&self) -> BTreeSet<TypeVariable> {
        fn collect(of: &Type, bound: &mut Vec<TypeVariable>, free: &mut BTreeSet<TypeVariable>) {
            match of {
                Type::Variable(variable) => {
                    if !bound.contains(variable) {
                        free.insert(Arc::clone(variable));
                    }
                }
                Type::Forall(variable, body) => {
                    bound.push(Arc::clone(variable));
                    collect(body, bound, free);
                    bound.pop();
                }
                Type::Address(_)
                | Type::Adt(..)
                | Type::Function(..)
                | Type::Map(..)
                | Type::Primitive(_)
                | Type::Unit => of.parts().for_each(|part| collect(part, bound, free)),
            }
        }
        let mut free = BTreeSet::new();
        collect(self, &mut Vec::new(), &mut free);
        free
    }

    /// Visits all nodes of the type. A node comes before its parts.
    pub(crate) fn visit(&self, mut visitor: impl FnMut(&Self)) {
        let mut pending = vec![self];
        while let Some(node) = pending.pop() {
            visitor(node);
            let from = pending.len();
            pending.extend(node.parts());
            if let Some(added) = pending.get_mut(from..) {
                added.reverse();
            }
        }
    }

    /// Iterates over the immediate parts, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Self> {
        type Parts<'a> = ([Option<&'a Type>; 2], &'a [Type], Option<&'a BTreeMap<Arc<str>, Type>>);
        let (two, list, fields): Parts<'_> = match self {
            Self::Function(first, second) | Self::Map(first, second) => ([Some(first), Some(second)], &[], None),
            Self::Forall(_, body) => ([Some(body.as_ref()), None], &[], None),
            Self::Adt(_, arguments) => ([None, None], arguments, None),
            Self::Address(AddressType::Contract(fields)) => ([None, None], &[], Some(fields)),
            Self::Address(_) | Self::Primitive(_) | Self::Unit | Self::Variable(_) => ([None, None], &[], None),
        };
        two.into_iter().flatten().chain(list).chain(fields.into_iter().flat_map(|fields| fields.values()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Primitive, Width};

    fn variable(name: &str) -> Type {
        Type::Variable(name.into())
    }

    fn forall(name: &str, body: Type) -> Type {
        Type::Forall(name.into(), Arc::new(body))
    }

    /// Returns `forall 'A. forall 'B. ('A -> 'B) -> List 'A -> List 'B`.
    fn list_map() -> Type {
        let (a, b) = (|| variable("'A"), || variable("'B"));
        let lists = Type::function(Type::list(a()), Type::list(b()));
        forall("'A", forall("'B", Type::function(Type::function(a(), b()), lists)))
    }

    #[test]
    fn every_node_costs_a_unit() {
        let mut meter = Meter::with_units(100);
        let arguments = [Type::from(Primitive::Uint(Width::W32)), Type::from(Primitive::String)];
        let made = instantiate(&list_map(), &arguments, &mut meter).expect("the gas suffices");
        assert_eq!(made.global().to_string(), "(Uint32 -> String) -> List (Uint32) -> List (String)");
        assert_eq!(100 - meter.units(), 19);
    }

    #[test]
    fn the_last_unit_is_enough_and_one_less_is_not() {
        let arguments = [Type::bool(), Type::bool()];
        let with = |units| instantiate(&list_map(), &arguments, &mut Meter::with_units(units));
        assert!(with(19).is_ok());
        assert_eq!(with(18), Err(InstantiationError::Exhausted));
    }

    #[test]
    fn error_of_an_excess_argument_has_the_remaining_type() {
        let identity = forall("'A", Type::function(variable("'A"), variable("'A")));
        let error =
            instantiate(&identity, &[Type::bool(), Type::nat()], &mut Meter::with_units(100)).expect_err("arity");
        let rest = Type::function(Type::bool(), Type::bool());
        assert_eq!(error, InstantiationError::NotForall { rest, taken: 1 });
    }

    #[test]
    fn no_variable_is_captured() {
        let of = forall("'A", forall("'B", Type::function(variable("'A"), variable("'B"))));
        let made = instantiate(&of, &[variable("'B")], &mut Meter::with_units(100)).expect("the gas suffices");
        assert_eq!(made.global().to_string(), "forall 'B1. 'B -> 'B1");
    }

    #[test]
    fn variables_get_the_first_name_that_is_free() {
        let of = forall("'A", forall("'A1", forall("'A", Type::function(variable("'A"), variable("'A1")))));
        let made = instantiate(&of, &[variable("'A")], &mut Meter::with_units(100)).expect("the gas suffices");
        assert_eq!(made.global().to_string(), "forall 'A11. forall 'A2. 'A2 -> 'A11");
    }

    #[test]
    fn renaming_takes_time_for_each_node_once() {
        let depth = 250;
        let of = (0..depth).fold(variable("'A"), |body, _| forall("'A", body));
        let mut meter = Meter::with_units(u64::MAX);
        for _ in 0..100 {
            instantiate(&of, &[variable("'A")], &mut meter).expect("the gas suffices");
        }
        assert_eq!(u64::MAX - meter.units(), 100 * depth);
    }

    #[test]
    fn a_variable_bound_again_is_renamed() {
        let of = forall("'A", Type::function(variable("'A"), forall("'A", variable("'A"))));
        let mut meter = Meter::with_units(100);
        let made = instantiate(&of, &[Type::list(Type::bool())], &mut meter).expect("the gas suffices");
        assert_eq!(made.global().to_string(), "List (Bool) -> forall 'A1. 'A1");
        assert_eq!(100 - meter.units(), 1 + 2 + 2);
    }

    #[test]
    fn fields_of_a_contract_are_charged_twice() {
        let contract = |fields: &[(&str, Type)]| {
            let fields = fields.iter().map(|(name, ty)| ((*name).into(), ty.clone())).collect();
            Type::Address(AddressType::Contract(Arc::new(fields)))
        };
        let cost = |body: Type| {
            let mut meter = Meter::with_units(100);
            instantiate(&forall("'A", body), &[Type::list(Type::bool())], &mut meter).expect("the gas suffices");
            100 - meter.units()
        };
        assert_eq!(cost(contract(&[])), 1);
        assert_eq!(cost(contract(&[("a", variable("'A")), ("b", Type::bool())])), (2 + 1) + (2 + 1));
        let inner = contract(&[("a", variable("'A")), ("b", Type::bool())]);
        assert_eq!(cost(contract(&[("c", inner)])), 3 + (3 + 3));
    }
}
