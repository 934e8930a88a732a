//! The defining modules of names, by namespace.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use super::{
    Imported, Origin,
    names::{NameError, NameErrorKind},
};
use crate::{
    diagnosis::similar,
    name::Name,
    source::Span,
    syntax::ast::{Import, Library, LibraryEntry},
};

/// The kind of object that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    /// A value.
    Variable,
    /// A type.
    Type,
    /// A constructor.
    Constructor,
}

impl Sort {
    /// All sorts, in the order of the search for clashes.
    const ALL: [Self; 3] = [Self::Variable, Self::Type, Self::Constructor];
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable => "Variable",
            Self::Type => "Type",
            Self::Constructor => "Type constructor",
        })
    }
}

type Namespace = Option<Arc<str>>;

/// The defining module for each namespace, sort and name. A name without a written namespace has the namespace `None`.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    modules: BTreeMap<(Namespace, Sort, Arc<str>), Arc<str>>,
    namespaces: BTreeSet<Arc<str>>,
}

impl Dictionary {
    /// Returns the dictionary for the imports of a module.
    ///
    /// As in the reference, the names of a library are defined in the target of the import. The library itself uses its
    /// own address. This address differs from the target if the init file has another address.
    pub(super) fn of_imports(
        items: &[Import],
        libraries: &[Arc<Imported>],
        origin: &Origin,
    ) -> Result<Self, NameError> {
        let mut dictionary = Self::default();
        for (item, library) in items.iter().zip(libraries) {
            let target = origin.target(item.library.name.base());
            dictionary.import(item, &library.module.library, &target)?;
        }
        Ok(dictionary)
    }

    fn import(&mut self, item: &Import, library: &Library, target: &Arc<str>) -> Result<(), NameError> {
        let namespace = item.namespace.as_ref().map(|ident| Arc::clone(ident.name.base()));
        let defined = latest_definitions(library);
        for sort in Sort::ALL {
            for (_, name) in defined.iter().filter(|(other, _)| *other == sort) {
                if let Some(old) = self.modules.get(&(namespace.clone(), sort, Arc::clone(name))) {
                    let kind = NameErrorKind::Clash {
                        sort,
                        name: Arc::clone(name),
                        new: Arc::clone(target),
                        old: Arc::clone(old),
                    };
                    return Err(NameError { kind, span: item.library.span });
                }
            }
        }
        self.namespaces.extend(namespace.clone());
        for (sort, name) in defined {
            self.modules.insert((namespace.clone(), sort, name), Arc::clone(target));
        }
        Ok(())
    }

    /// Adds a definition of the module at this address. The definition replaces an earlier definition of the same name.
    pub(super) fn define(&mut self, sort: Sort, name: &Arc<str>, address: &Arc<str>) {
        self.modules.insert((None, sort, Arc::clone(name)), Arc::clone(address));
    }

    /// Adds a type or constructor. Fails if the name is defined already.
    pub(super) fn define_once(
        &mut self,
        sort: Sort,
        name: &Arc<str>,
        address: &Arc<str>,
        span: Span,
    ) -> Result<(), NameError> {
        if let Some(old) = self.get(None, sort, name) {
            let kind = NameErrorKind::Redefined { sort, name: Arc::clone(name), old: Arc::clone(old) };
            return Err(NameError { kind, span });
        }
        self.define(sort, name, address);
        Ok(())
    }

    fn get(&self, namespace: Namespace, sort: Sort, name: &Arc<str>) -> Option<&Arc<str>> {
        self.modules.get(&(namespace, sort, Arc::clone(name)))
    }

    /// Returns the name with its defining module. A name without namespace does not change if the dictionary does not
    /// have the name. A name with a namespace that does not exist, or that does not contain the name, is an error.
    pub(super) fn resolve(&self, sort: Sort, name: &Name) -> Result<Name, NameErrorKind> {
        let Some(namespace) = name.namespace() else {
            let module = self.get(None, sort, name.base());
            return Ok(module.map_or_else(|| name.clone(), |module| name.clone().defined_in(Arc::clone(module))));
        };
        if !self.namespaces.contains(namespace) {
            let nearest = similar(namespace, self.namespaces.iter().map(|it| &**it)).map(str::to_owned);
            return Err(NameErrorKind::UnknownNamespace { namespace: Arc::clone(namespace), nearest });
        }
        if let Some(module) = self.get(Some(Arc::clone(namespace)), sort, name.base()) {
            return Ok(name.clone().defined_in(Arc::clone(module)));
        }
        let inside = self.modules.keys().filter(|(of, other, _)| of.as_ref() == Some(namespace) && *other == sort);
        let nearest = similar(name.base(), inside.map(|(.., inside)| &**inside));
        let nearest = nearest.map(|nearest| format!("{namespace}.{nearest}"));
        let (name, namespace) = (Arc::clone(name.base()), Arc::clone(namespace));
        Err(NameErrorKind::NotInNamespace { name, namespace, nearest })
    }
}

/// Returns the definitions of a library without duplicates, the latest first. The reference searches for clashes in
/// this order.
fn latest_definitions(library: &Library) -> Vec<(Sort, Arc<str>)> {
    let mut seen = BTreeSet::new();
    let mut defined = Vec::new();
    let mut add = |sort: Sort, name: &Arc<str>| {
        if seen.insert((sort, Arc::clone(name))) {
            defined.push((sort, Arc::clone(name)));
        }
    };
    for entry in library.entries.iter().rev() {
        match entry {
            LibraryEntry::Value { name, .. } => add(Sort::Variable, name.name.base()),
            LibraryEntry::Type { name, constructors } => {
                for constructor in constructors.iter().rev() {
                    add(Sort::Constructor, constructor.name.name.base());
                }
                add(Sort::Type, name.name.base());
            }
        }
    }
    defined
}
