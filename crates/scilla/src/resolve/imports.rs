//! Finds and parses the libraries of a program.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use super::{Origin, ResolveError, library_names};
use crate::{
    diagnosis::{Cause, Context, NameKind, similar},
    report::{Entry, Failure},
    source::Source,
    stdlib::{self, Standard},
    syntax::{
        ast::{Import, LibraryModule},
        parse_library,
    },
};

/// Largest depth of nested imports. The limit protects the stack, because the loader recurses for each level. The
/// reference has no limit.
pub const MAX_IMPORT_DEPTH: usize = 256;

/// A source of libraries, for example files or accounts.
pub trait LibrarySource {
    /// Finds the library `target`: a name, or the address that `_extlibs` has for a name. Returns `None` if the library
    /// does not exist.
    ///
    /// # Errors
    ///
    /// If the library cannot be read, or if its other data are invalid, for example the init file.
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure>;

    /// Returns the names of libraries for suggestions. The default is the standard library.
    fn names(&self) -> Vec<String> {
        stdlib::ALL.iter().map(|(name, _)| (*name).to_owned()).collect()
    }
}

impl LibrarySource for Standard {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        Ok(stdlib::text(target).map(|text| FoundLibrary {
            file: format!("stdlib/{target}.scillib").into(),
            text: text.as_bytes().into(),
            origin: Origin::default(),
        }))
    }
}

/// The text of a library, with its origin.
#[derive(Clone, Debug)]
pub struct FoundLibrary {
    /// Name of the file in reports. It is unique among the libraries of a program.
    pub file: Arc<str>,
    /// Source text of the library.
    pub text: Arc<[u8]>,
    /// Contents of the init file, or the default if there is none.
    pub origin: Origin,
}

/// An imported library, with resolved names.
///
/// Several modules of a program share a library that they all import.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The module of the library.
    pub module: LibraryModule,
    /// Address of the library. The global names of the library begin with this address.
    pub address: Arc<str>,
    /// Imported libraries: one for each import of the library, in the same order.
    pub imports: Vec<Arc<Self>>,
    /// Names of the imports of this library, including imports of imports.
    names: BTreeSet<Arc<str>>,
}

pub(super) struct Loader<'a> {
    source: &'a dyn LibrarySource,
    main: &'a Origin,
    /// Names of the libraries whose import has begun and not ended, the outermost first.
    stack: Vec<Arc<str>>,
    /// Imported libraries by file.
    done: BTreeMap<Arc<str>, Arc<Imported>>,
}

impl<'a> Loader<'a> {
    pub(super) const fn new(source: &'a dyn LibrarySource, main: &'a Origin) -> Self {
        Self { source, main, stack: Vec::new(), done: BTreeMap::new() }
    }

    /// Imports the libraries of the main module.
    pub(super) fn load(mut self, items: &[Import], importer: &Source) -> Result<Vec<Arc<Imported>>, ResolveError> {
        self.load_all(items, self.main, importer).map_err(ResolveError::Import)
    }

    fn load_all(
        &mut self,
        items: &[Import],
        origin: &Origin,
        importer: &Source,
    ) -> Result<Vec<Arc<Imported>>, Failure> {
        items.iter().map(|item| self.load_one(item, origin, importer)).collect()
    }

    fn load_one(&mut self, item: &Import, origin: &Origin, importer: &Source) -> Result<Arc<Imported>, Failure> {
        let name = item.library.name.base();
        let entry = |message: String| Entry::at(importer.start(item.library.span), message);
        if self.stack.contains(name) {
            return Err(Failure::of(entry(self.cycle(name))));
        }
        if self.stack.len() >= MAX_IMPORT_DEPTH {
            let message = format!("Libraries import each other more than {MAX_IMPORT_DEPTH} deep");
            return Err(Failure::of(entry(message)));
        }
        let target = origin.target(name);
        let Some(found) = self.source.find(&target)? else {
            let names = self.source.names();
            let nearest = similar(&target, names.iter().map(String::as_str)).map(str::to_owned);
            let missing = entry(format!("Failed to import library (not found): {target}"));
            return Err(Failure::of(missing.because(Cause::unknown(NameKind::Library, nearest))));
        };
        if let Some(done) = self.done.get(&found.file)
            && !self.stack.iter().any(|open| done.names.contains(open))
        {
            return Ok(Arc::clone(done));
        }
        let file = Arc::clone(&found.file);
        let imported = Arc::new(self.read(name, &target, found, entry)?);
        self.done.insert(file, Arc::clone(&imported));
        Ok(imported)
    }

    fn cycle(&self, name: &Arc<str>) -> String {
        match self.main.libraries.get(name) {
            Some(target) => format!("Cyclic dependence found when importing {name} (mapped to {target})."),
            None => format!("Cyclic dependence found when importing {name}."),
        }
    }

    /// Parses a library, and imports its libraries.
    fn read(
        &mut self,
        name: &Arc<str>,
        target: &Arc<str>,
        found: FoundLibrary,
        entry: impl Fn(String) -> Entry,
    ) -> Result<Imported, Failure> {
        let imported = || Cause::Context(Context::Import(name.to_string()));
        let FoundLibrary { file, text, origin } = found;
        let mut module = parse(&file, &text).map_err(|failure| {
            let first = failure.into_entries().into_iter().take(1);
            let parse = entry("Failed to parse".to_owned()).because(imported());
            Failure::from_entries(first.chain([parse.clone()]).collect()).unwrap_or_else(|| Failure::of(parse))
        })?;
        self.stack.push(Arc::clone(name));
        let imports = self.load_all(&module.imports, &origin, &module.source);
        self.stack.pop();
        let imports = imports?;
        let address = origin.address.clone().unwrap_or_else(|| Arc::clone(target));
        library_names(&mut module, &imports, &origin, &address).map_err(|failure| {
            let entry = entry(format!("Failed to disambiguate imported library: {name}"));
            failure.followed_by(entry.because(imported()))
        })?;
        let mut names: BTreeSet<_> = module.imports.iter().map(|item| Arc::clone(item.library.name.base())).collect();
        names.extend(imports.iter().flat_map(|import| import.names.iter().cloned()));
        Ok(Imported { module, address, imports, names })
    }
}

/// The parsed texts of the standard library. Without this table, parsing would take 28 % of the time of a check if the
/// program imports all these libraries.
static PARSED: LazyLock<Vec<(FoundLibrary, LibraryModule)>> = LazyLock::new(|| {
    let found = stdlib::ALL.iter().filter_map(|(name, _)| Standard.find(name).ok().flatten());
    found.filter_map(|found| Some((found.clone(), parse_library(&found.file, &found.text).ok()?))).collect()
});

/// Parses the text of a library. A text of the standard library is parsed once in a process.
fn parse(file: &str, text: &[u8]) -> Result<LibraryModule, Failure> {
    let parsed = PARSED.iter().find(|(found, _)| *found.file == *file && *found.text == *text);
    parsed.map_or_else(|| parse_library(file, text), |(_, module)| Ok(module.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_standard_library_are_parsed_in_advance() {
        assert_eq!(PARSED.len(), stdlib::ALL.len());
        for (found, parsed) in PARSED.iter() {
            let fresh = parse_library(&found.file, &found.text).unwrap();
            assert_eq!(format!("{parsed:?}"), format!("{fresh:?}"));
            assert_eq!(format!("{:?}", parse(&found.file, &found.text).unwrap()), format!("{fresh:?}"));
        }
    }

    #[test]
    fn file_of_the_standard_library_with_another_text_is_parsed() {
        let file = &PARSED[0].0.file;
        let module = parse(file, b"scilla_version 0 library Other").unwrap();
        assert_eq!(&**module.library.name.name.base(), "Other");
        assert!(parse(file, b"scilla_version").is_err());
    }
}
