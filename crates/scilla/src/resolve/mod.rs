//! Imports, and the defining module of each name.
//!
//! The parser leaves names as written. The resolver finds and reads the libraries of a program. It adds the defining
//! module to each name of a library value, of a user's type and of a user's constructor. Locals, parameters, fields,
//! components, built-in types and the recursion principles belong to no module, and their names do not change.
//!
//! ```text
//! module ─▶ imports: find, read, resolve each library ─▶ dictionary ─▶ names ─▶ Program
//!                    │                                                           ▲
//!                    └── LibrarySource: the host's files or accounts             │
//!                                     local library, entry by entry ─────────────┘
//! ```

mod dictionary;
mod imports;
mod names;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

pub use self::imports::{FoundLibrary, Imported, LibrarySource, MAX_IMPORT_DEPTH};
use self::{dictionary::Dictionary, imports::Loader, names::Resolver};
use crate::{
    name::{Ident, Name},
    report::{Entry, Failure},
    rules::Rules,
    source::Span,
    syntax::ast::{ContractModule, ExpressionModule, Import, LibraryModule},
};

/// A module with resolved names, and all its imports.
#[derive(Clone, Debug)]
pub struct Program<M> {
    /// The module itself.
    pub main: M,
    /// Address of the module. The global names of the module begin with this address. It is `0x` and lower-case
    /// hexadecimal digits. If the address is unknown, it is the name of the file without directory and extension.
    pub address: Arc<str>,
    /// Imported libraries: one for each import of the module, in the same order.
    pub imports: Vec<Arc<Imported>>,
}

impl<M> Program<M> {
    /// Returns the number of bytes in the texts of all imported libraries, including imports of imports. A library
    /// counts once.
    pub fn imported_bytes(&self) -> u64 {
        let (mut seen, mut bytes) = (HashSet::new(), 0_u64);
        let mut pending: Vec<&Arc<Imported>> = self.imports.iter().collect();
        while let Some(import) = pending.pop() {
            if seen.insert(import.module.source.file()) {
                bytes = bytes.saturating_add(import.module.source.text().len() as u64);
                pending.extend(&import.imports);
            }
        }
        bytes
    }
}

/// The origin of a module: its address and its libraries, from init parameters or from the init file of a library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Value of `_this_address`: `0x` and lower-case hexadecimal digits.
    pub address: Option<Arc<str>>,
    /// Value of `_extlibs`: the target of each library name. The [`LibrarySource`] finds a library by its target.
    pub libraries: BTreeMap<Arc<str>, Arc<str>>,
    /// Rules for the resolution of names.
    pub rules: Rules,
}

impl Origin {
    /// Returns the target of a library from `_extlibs`, or the name of the library if `_extlibs` does not have it.
    fn target(&self, library: &Arc<str>) -> Arc<str> {
        Arc::clone(self.libraries.get(library).unwrap_or(library))
    }
}

/// Reason why the names of a program could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A library could not be imported. The reference reports no remaining gas for this error.
    #[error(transparent)]
    Import(Failure),
    /// A name of the module is undefined or ambiguous.
    #[error(transparent)]
    Names(Failure),
}

/// Resolves the names of a contract.
///
/// # Errors
///
/// [`ResolveError::Import`] if a library is missing or invalid, imports itself, or nests too deeply in other imports.
/// [`ResolveError::Names`] for the first name that cannot be resolved.
pub fn contract(
    mut main: ContractModule,
    origin: &Origin,
    source: &dyn LibrarySource,
) -> Result<Program<ContractModule>, ResolveError> {
    let imports = Loader::new(source, origin).load(&main.imports, &main.source)?;
    let address = address(origin, main.source.stem());
    let dictionary = Dictionary::of_imports(&main.imports, &imports, origin);
    let located = |error: names::NameError| ResolveError::Names(error.at(&main.source));
    let mut resolver = Resolver::new(dictionary.map_err(located)?, &mut main.arena, Arc::clone(&address));
    if let Some(library) = &mut main.library {
        resolver.library(library).map_err(located)?;
    }
    resolver.contract(&mut main.contract, origin.rules.unstated_constraint()).map_err(located)?;
    Ok(Program { main, address, imports })
}

/// Resolves the names of a library.
///
/// # Errors
///
/// The errors of [`contract`].
pub fn library(
    mut main: LibraryModule,
    origin: &Origin,
    source: &dyn LibrarySource,
) -> Result<Program<LibraryModule>, ResolveError> {
    let imports = Loader::new(source, origin).load(&main.imports, &main.source)?;
    let address = address(origin, main.source.stem());
    library_names(&mut main, &imports, origin, &address).map_err(ResolveError::Names)?;
    Ok(Program { main, address, imports })
}

/// Resolves the names of a single expression. The expression can use all values, types and constructors of these
/// libraries.
///
/// # Errors
///
/// [`ResolveError::Import`] if a library is missing or invalid, imports itself, or nests too deeply in other imports.
/// [`ResolveError::Names`] if a name cannot be resolved. The reference has one text for all such names.
pub fn expression(
    mut main: ExpressionModule,
    libraries: &[&str],
    source: &dyn LibrarySource,
) -> Result<Program<ExpressionModule>, ResolveError> {
    let ident = |name: &&str| Ident::new(Name::simple(*name), Span::NOWHERE);
    let items: Vec<Import> = libraries.iter().map(|name| Import { library: ident(name), namespace: None }).collect();
    let origin = Origin::default();
    let imports = Loader::new(source, &origin).load(&items, &main.source)?;
    let address = address(&origin, main.source.stem());
    let failed = |_| ResolveError::Names(Failure::of(Entry::nowhere("Failed to disambiguate")));
    let dictionary = Dictionary::of_imports(&items, &imports, &origin).map_err(failed)?;
    Resolver::new(dictionary, &mut main.arena, Arc::clone(&address)).expression(main.root).map_err(failed)?;
    Ok(Program { main, address, imports })
}

fn address(origin: &Origin, otherwise: &str) -> Arc<str> {
    origin.address.clone().unwrap_or_else(|| otherwise.into())
}

/// Resolves the names of a library whose imports have been read.
fn library_names(
    module: &mut LibraryModule,
    imports: &[Arc<Imported>],
    origin: &Origin,
    address: &Arc<str>,
) -> Result<(), Failure> {
    let located = |error: names::NameError| error.at(&module.source);
    let dictionary = Dictionary::of_imports(&module.imports, imports, origin).map_err(located)?;
    Resolver::new(dictionary, &mut module.arena, Arc::clone(address)).library(&mut module.library).map_err(located)
}

#[cfg(test)]
mod tests;
