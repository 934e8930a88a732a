//! The names that a module can use, for suggestions about unknown names.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    diagnosis::{Cause, NameKind, listed, nearest},
    name::Ident,
    resolve::{Imported, Program},
    source::{Location, Source},
    syntax::ast::{
        ComponentKind, Contract, ContractModule, ExpressionModule, Import, Library, LibraryEntry, LibraryModule,
    },
    types::adt::{DataType, DataTypes},
};

/// Names of the primitive types that a source can name. No library defines them.
const PRIMITIVE_TYPES: [&str; 17] = [
    "BNum", "ByStr", "ByStr20", "ByStr32", "ByStr33", "ByStr64", "Event", "Int128", "Int256", "Int32", "Int64",
    "Message", "String", "Uint128", "Uint256", "Uint32", "Uint64",
];

/// A help text lists the constructors of a data type if there are at most this many.
const LISTED_CONSTRUCTORS: usize = 8;

/// The names that are visible in one module, in the spelling that the module needs.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    file: Arc<str>,
    values: BTreeSet<String>,
    types: BTreeSet<String>,
    constructors: BTreeSet<String>,
    fields: BTreeSet<String>,
    components: BTreeMap<String, Declared>,
}

#[derive(Debug)]
struct Declared {
    kind: ComponentKind,
    has_result: bool,
    place: Location,
}

impl Vocabulary {
    pub(crate) fn of_contract(program: &Program<ContractModule>) -> Self {
        let module = &program.main;
        let mut known = Self::of(&module.source, module.library.as_ref(), &module.imports, &program.imports);
        known.add_contract(&module.source, &module.contract);
        known
    }

    pub(crate) fn of_library(program: &Program<LibraryModule>) -> Self {
        let module = &program.main;
        Self::of(&module.source, Some(&module.library), &module.imports, &program.imports)
    }

    pub(crate) fn of_expression(program: &Program<ExpressionModule>) -> Self {
        Self::of(&program.main.source, None, &[], &program.imports)
    }

    fn of(source: &Source, own: Option<&Library>, items: &[Import], imports: &[Arc<Imported>]) -> Self {
        let mut known = Self {
            file: Arc::clone(source.file()),
            values: BTreeSet::new(),
            types: PRIMITIVE_TYPES.into_iter().map(str::to_owned).collect(),
            constructors: BTreeSet::new(),
            fields: BTreeSet::from(["_balance".to_owned()]),
            components: BTreeMap::new(),
        };
        for of in DataTypes::built_in().iter() {
            known.types.insert(of.name.base().to_string());
            known.constructors.extend(of.constructors.iter().map(|it| it.name.base().to_string()));
        }
        for (index, import) in imports.iter().enumerate() {
            let namespace = items.get(index).and_then(|item| item.namespace.as_ref());
            known.add_library(&import.module.library, namespace);
        }
        if let Some(own) = own {
            known.add_library(own, None);
        }
        known
    }

    fn add_library(&mut self, library: &Library, namespace: Option<&Ident>) {
        let written = |ident: &Ident| match namespace {
            Some(namespace) => format!("{}.{}", namespace.name.base(), ident.name.base()),
            None => ident.name.base().to_string(),
        };
        for entry in &library.entries {
            match entry {
                LibraryEntry::Value { name, .. } => {
                    self.values.insert(written(name));
                }
                LibraryEntry::Type { name, constructors } => {
                    self.types.insert(written(name));
                    self.constructors.extend(constructors.iter().map(|it| written(&it.name)));
                }
            }
        }
    }

    fn add_contract(&mut self, source: &Source, contract: &Contract) {
        self.values.extend(contract.parameters.iter().map(|parameter| parameter.name.name.base().to_string()));
        self.fields.extend(contract.fields.iter().map(|field| field.name.name.base().to_string()));
        for component in &contract.components {
            let declared = Declared {
                kind: component.kind,
                has_result: component.result.is_some(),
                place: source.start(component.name.span),
            };
            self.components.insert(component.name.name.base().to_string(), declared);
        }
    }

    /// Returns whether a source is the source of this module.
    pub(crate) fn is_of(&self, source: &Source) -> bool {
        *source.file() == self.file
    }

    /// Returns the cause for an unknown value. `locals` are the local names in scope.
    pub(crate) fn unknown_value<'n>(&self, ident: &Ident, locals: impl IntoIterator<Item = &'n str>) -> Cause {
        let name = ident.name.base();
        if self.fields.contains(&**name) {
            let help = Some(format!("`{name}` is a field: read it first, as in `x <- {name}`"));
            return Cause::UnknownName { kind: NameKind::Value, nearest: None, help, declared: None };
        }
        let locals: Vec<_> = locals.into_iter().collect();
        let candidates = self.values.iter().map(String::as_str).chain(locals);
        unknown(NameKind::Value, nearest(NameKind::Value, name, candidates))
    }

    pub(crate) fn unknown_field(&self, ident: &Ident) -> Cause {
        let candidates = self.fields.iter().map(String::as_str);
        unknown(NameKind::Field, nearest(NameKind::Field, ident.name.base(), candidates))
    }

    pub(crate) fn unknown_type(&self, ident: &Ident) -> Cause {
        let candidates = self.types.iter().map(String::as_str);
        unknown(NameKind::Type, nearest(NameKind::Type, ident.name.base(), candidates))
    }

    /// Returns the cause for an unknown constructor. `matched` is the data type of the match, if the constructor is
    /// in a pattern.
    pub(crate) fn unknown_constructor(&self, ident: &Ident, matched: Option<&DataType>) -> Cause {
        let name = ident.name.base();
        let own = matched.map_or(&[][..], |of| &of.constructors);
        let near = nearest(NameKind::Constructor, name, own.iter().map(|it| &**it.name.base()))
            .filter(|near| own.is_empty() || own.iter().any(|it| **it.name.base() == **near))
            .or_else(|| nearest(NameKind::Constructor, name, self.constructors.iter().map(String::as_str)));
        let constructors: Vec<_> = own.iter().map(|it| format!("`{}`", it.name.base())).collect();
        let mut help = matched.filter(|_| own.len() <= LISTED_CONSTRUCTORS).map(|of| {
            let noun = if own.len() == 1 { "constructor" } else { "constructors" };
            format!("type `{}` has the {noun} {}", of.name.base(), listed(&constructors))
        });
        let mut declared = None;
        if let Some(procedure) = self.components.get(&**name).filter(|component| component.has_result) {
            help = Some("a procedure whose result is bound begins with a small letter".to_owned());
            declared = Some((procedure.place.clone(), "this procedure is declared here"));
        }
        let nearest = near.filter(|_| declared.is_none()).map(str::to_owned);
        Cause::UnknownName { kind: NameKind::Constructor, nearest, help, declared }
    }

    /// Returns the cause for a procedure that cannot be called at source position `at`.
    ///
    /// `is_checked` is true if all procedures before `at` have been checked. A procedure before `at` is then unknown
    /// only because of an error in the procedure. This error has a separate entry.
    pub(crate) fn unknown_procedure(&self, ident: &Ident, at: &Location, is_checked: bool) -> Cause {
        let name = ident.name.base();
        let Some(declared) = self.components.get(&**name) else {
            let procedures = self.components.iter().filter(|(_, it)| it.kind == ComponentKind::Procedure);
            let candidates = procedures.map(|(name, _)| name.as_str());
            return unknown(NameKind::Procedure, nearest(NameKind::Procedure, name, candidates));
        };
        let place = |it: &Location| (it.line, it.column);
        let (help, label) = match declared.kind {
            ComponentKind::Transition => ("only procedures can be called", "this is a transition"),
            ComponentKind::Procedure if place(&declared.place) > place(at) => {
                ("a procedure can be called only below its declaration", "the procedure is declared here")
            }
            ComponentKind::Procedure if is_checked => return Cause::Follows,
            ComponentKind::Procedure => ("procedures cannot call themselves", "the procedure is declared here"),
        };
        Cause::UnknownName {
            kind: NameKind::Procedure,
            nearest: None,
            help: Some(help.to_owned()),
            declared: Some((declared.place.clone(), label)),
        }
    }
}

fn unknown(kind: NameKind, nearest: Option<&str>) -> Cause {
    Cause::unknown(kind, nearest.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Primitive;

    #[test]
    fn suggested_primitive_types_can_be_written() {
        for name in PRIMITIVE_TYPES {
            assert!(Primitive::from_name(name).is_some(), "{name}");
        }
    }
}
