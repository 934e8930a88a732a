//! Finding and reading libraries.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
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

/// How deep libraries may import each other. The reference sets no limit.
pub const MAX_IMPORT_DEPTH: usize = 256;

/// Where the libraries of a program are found.
pub trait LibrarySource {
    /// Finds the library `target`: a name, or the address that `_extlibs` maps a name to.
    ///
    /// # Errors
    ///
    /// What is wrong with what is known of the library besides its text.
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure>;

    /// Returns the names of libraries that may be meant by one that is not found: those of the standard library, unless
    /// more are known.
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

/// The text of a library, and what is known of it.
#[derive(Clone, Debug)]
pub struct FoundLibrary {
    /// How its file is called in reports; no two libraries of a program share it.
    pub file: Arc<str>,
    /// Its text.
    pub text: Arc<[u8]>,
    /// What the file beside it says; nothing if there is none.
    pub origin: Origin,
}

/// A library that has been read, its names resolved.
///
/// A library that is imported in several places of a program is shared between them.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The library.
    pub module: LibraryModule,
    /// The address of the library, by which the names it defines are known.
    pub address: Arc<str>,
    /// The libraries it imports, one for each of its imports, in the same order.
    pub imports: Vec<Arc<Self>>,
    /// The names under which libraries are imported here and below.
    names: BTreeSet<Arc<str>>,
}

pub(super) struct Loader<'a> {
    source: &'a dyn LibrarySource,
    main: &'a Origin,
    /// The names of the libraries that are being imported, the outermost first.
    stack: Vec<Arc<str>>,
    /// What has been read, by file.
    done: BTreeMap<Arc<str>, Arc<Imported>>,
}

impl<'a> Loader<'a> {
    pub(super) const fn new(source: &'a dyn LibrarySource, main: &'a Origin) -> Self {
        Self { source, main, stack: Vec::new(), done: BTreeMap::new() }
    }

    /// Reads what the main module imports.
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

    /// Reads a library and what it imports.
    fn read(
        &mut self,
        name: &Arc<str>,
        target: &Arc<str>,
        found: FoundLibrary,
        entry: impl Fn(String) -> Entry,
    ) -> Result<Imported, Failure> {
        let imported = || Cause::Context(Context::Import(name.to_string()));
        let FoundLibrary { file, text, origin } = found;
        let mut module = parse_library(&file, &text).map_err(|failure| {
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
