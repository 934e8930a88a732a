//! The data files of a database: bytes next to the log of the engine, at positions that the caller chooses.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use super::DbError;
use crate::file::{is_same, read_exact_at, sync, write_all_at};

/// A file next to the log of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataFile {
    /// The pages of the tries, or the packs of the record.
    Pages,
    /// The segments of the hash index.
    Hashes,
}

impl DataFile {
    /// Returns the name of the file in the directory of a database.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Hashes => "hashes",
        }
    }
}

/// One value for each data file.
#[derive(Clone, Debug, Default)]
pub(super) struct ForEachFile<T> {
    pages: T,
    hashes: T,
}

impl<T> ForEachFile<T> {
    /// Returns the values that `make` returns for the files.
    pub(super) fn new(make: impl Fn(DataFile) -> T) -> Self {
        Self { pages: make(DataFile::Pages), hashes: make(DataFile::Hashes) }
    }

    pub(super) const fn of(&self, file: DataFile) -> &T {
        match file {
            DataFile::Pages => &self.pages,
            DataFile::Hashes => &self.hashes,
        }
    }

    #[cfg(test)]
    pub(super) const fn of_mut(&mut self, file: DataFile) -> &mut T {
        match file {
            DataFile::Pages => &mut self.pages,
            DataFile::Hashes => &mut self.hashes,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.pages, &self.hashes].into_iter()
    }
}

/// A data file on disk, which the first write creates.
#[derive(Debug)]
pub(super) struct FileOnDisk {
    path: PathBuf,
    file: OnceLock<File>,
    /// Whether the file can have finished writes that are not flushed. These can be writes of an earlier process.
    is_dirty: AtomicBool,
    /// Whether the entry of the file in its directory is durable.
    is_named: AtomicBool,
}

impl FileOnDisk {
    /// Returns a file in the directory of a database.
    pub(super) fn new(dir: &Path, file: DataFile) -> Self {
        Self {
            path: dir.join(file.name()),
            file: OnceLock::new(),
            is_dirty: AtomicBool::new(true),
            is_named: AtomicBool::new(false),
        }
    }

    fn file(&self, create: bool) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = OpenOptions::new().read(true).write(true).create(create).truncate(false).open(&self.path)?;
        Ok(self.file.get_or_init(|| file))
    }

    /// Returns `len` bytes from a position on, or `None` if the file ends before them.
    pub(super) fn read(&self, position: u64, len: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; len];
        match self.file(false).and_then(|file| read_exact_at(file, &mut bytes, position)) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes bytes at a position. Extends the file if the bytes reach past its end.
    pub(super) fn write(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        let written = write_all_at(self.file(true)?, bytes, position);
        // The flag is set after the write, because a flush by another thread during the write can miss the bytes. It is
        // set after a failed write too, because such a write can leave bytes in the file.
        self.is_dirty.store(true, Ordering::Release);
        written
    }

    /// Cuts the file after `len` bytes, if it is longer.
    pub(super) fn truncate(&self, len: u64) -> io::Result<()> {
        if self.len()? > len { self.file(false)?.set_len(len) } else { Ok(()) }
    }

    /// Returns an error if the file was deleted or replaced since its first use.
    pub(super) fn require_in_place(&self) -> Result<(), DbError> {
        self.file.get().map_or(Ok(()), |file| require_in_place(&self.path, file))
    }

    /// Flushes the file, and returns when all previous writes are durable. A flush of a file without writes would cost
    /// a flush of the device. Only one flush may run at a time. After an error, the file must not be used again.
    pub(super) fn flush(&self) -> io::Result<()> {
        if !self.is_dirty.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        match self.file(false) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            file => file?.sync_data()?,
        }
        if !self.is_named.load(Ordering::Acquire) {
            self.path.parent().map_or(Ok(()), sync)?;
            self.is_named.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Returns the length of the file in bytes, or 0 if it does not exist.
    pub(super) fn len(&self) -> io::Result<u64> {
        match self.file(false) {
            Ok(file) => Ok(file.metadata()?.len()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Returns an error if a path does not name an open file.
pub(super) fn require_in_place(path: &Path, file: &File) -> Result<(), DbError> {
    let named = match fs::metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        named => Some(named?),
    };
    let open = file.metadata()?;
    let is_in_place = named.is_some_and(|named| is_same(&named, &open));
    if is_in_place { Ok(()) } else { Err(DbError::Displaced { path: path.to_owned() }) }
}
