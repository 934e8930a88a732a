//! Files of a command, and directories of libraries.

use std::{
    borrow::Cow,
    ffi::OsStr,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::{
    json::{InputError, read_document, read_origin},
    report::{Entry, Failure},
    resolve::{FoundLibrary, LibrarySource, Origin},
    rules::Rules,
    stdlib,
};

/// Resolves file names: relative to the base directory, or to the embedded libraries.
#[derive(Clone, Debug)]
pub(super) struct Files {
    root: PathBuf,
    /// The directory that reports show for the embedded libraries.
    embedded: String,
}

/// The directories in which a command searches for libraries, in order. The embedded libraries come last.
#[derive(Clone, Debug)]
pub(super) struct Libraries<'a> {
    pub(super) files: &'a Files,
    pub(super) directories: Vec<String>,
}

impl Files {
    /// Returns the files relative to the directory `root`.
    pub(super) const fn new(root: PathBuf, embedded: String) -> Self {
        Self { root, embedded }
    }

    /// Returns the path of a file below the base directory.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read. The failure names the file.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        fs::read(self.path(name)).map_err(|error| Failure::of(Entry::nowhere(format!("{name}: {error}"))))
    }

    /// Reads a file. Returns `None` if the file does not exist.
    fn maybe_read(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        match fs::read(self.path(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(Failure::of(Entry::nowhere(format!("{name}: {error}")))),
        }
    }

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written. The failure names the file.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        fs::write(self.path(name), text).map_err(|error| Failure::of(Entry::nowhere(format!("{name}: {error}"))))
    }

    /// Returns the text of a file that a report names, or `None` if the file is not available.
    pub(super) fn text_of(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        if let Ok(Some(text)) = self.maybe_read(name) {
            return Some(text.into());
        }
        let library = name.strip_prefix(&self.embedded)?.strip_prefix('/')?.strip_suffix(".scillib")?;
        stdlib::text(library).map(|text| text.as_bytes().into())
    }
}

impl LibrarySource for Libraries<'_> {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        for directory in &self.directories {
            let file = join(directory, &format!("{target}.scillib"));
            let Some(text) = self.files.maybe_read(&file)? else { continue };
            let companion = join(directory, &format!("{target}.json"));
            let origin = match self.files.maybe_read(&companion)? {
                Some(text) => origin(&companion, &text, Rules::default())?,
                None => Origin::default(),
            };
            return Ok(Some(FoundLibrary { file: file.into(), text: text.into(), origin }));
        }
        Ok(stdlib::text(target).map(|text| FoundLibrary {
            file: format!("{}/{target}.scillib", self.files.embedded).into(),
            text: text.as_bytes().into(),
            origin: Origin::default(),
        }))
    }

    fn names(&self) -> Vec<String> {
        self.all().unwrap_or_else(|_| stdlib::ALL.iter().map(|(name, _)| (*name).to_owned()).collect())
    }
}

impl Libraries<'_> {
    /// Returns the names of all libraries in alphabetical order, without duplicates.
    ///
    /// # Errors
    ///
    /// If a directory cannot be read.
    pub(super) fn all(&self) -> Result<Vec<String>, Failure> {
        let mut names: Vec<String> = stdlib::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
        for directory in &self.directories {
            let failed = |error| Failure::of(Entry::nowhere(format!("{directory}: {error}")));
            for entry in fs::read_dir(self.files.path(directory)).map_err(failed)? {
                let name = entry.map_err(failed)?.file_name();
                let name = name.to_str().and_then(|name| name.strip_suffix(".scillib"));
                names.extend(name.map(str::to_owned));
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

/// Reads the origin of a module from an init file.
///
/// # Errors
///
/// If the file is invalid.
pub(super) fn origin(file: &str, text: &[u8], rules: Rules) -> Result<Origin, Failure> {
    let read = read_document(file, text).and_then(|document| read_origin(file, document.root(), rules));
    read.map_err(|error| match error {
        InputError::Rejected(failure) => failure,
        internal @ InputError::Internal(_) => Failure::of(Entry::nowhere(internal.to_string())),
    })
}

/// Returns the part of a file name after its last dot, or `None` if it has no such part.
pub(super) fn extension(file: &str) -> Option<&str> {
    Path::new(file).extension().and_then(OsStr::to_str)
}

/// Returns the directory of a file, or `.` if the name has no directory.
pub(super) fn directory_of(file: &str) -> String {
    let parent = Path::new(file).parent().and_then(Path::to_str).filter(|parent| !parent.is_empty());
    parent.unwrap_or(".").to_owned()
}

fn join(directory: &str, file: &str) -> String {
    format!("{}/{file}", directory.trim_end_matches('/'))
}
