//! The page file of a database: bytes beside the log of the engine, at positions that the caller chooses.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::file::{read_exact_at, sync, write_all_at};

/// Name of the page file in the directory of a database.
pub(crate) const PAGE_FILE: &str = "pages";

/// A page file, which the first write creates.
#[derive(Debug)]
pub(super) struct PageFile {
    path: PathBuf,
    file: OnceLock<File>,
    /// Whether the entry of the file in its directory is durable.
    is_named: AtomicBool,
}

impl PageFile {
    /// Returns the page file in the directory of a database.
    pub(super) fn new(dir: &Path) -> Self {
        Self { path: dir.join(PAGE_FILE), file: OnceLock::new(), is_named: AtomicBool::new(false) }
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

    /// Writes bytes at a position. Extends the file if they end after its end.
    pub(super) fn write(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        write_all_at(self.file(true)?, bytes, position)
    }

    /// Flushes the file, and returns when all previous writes are durable. Only one flush may run at a time. After an
    /// error, the file must not be used again.
    pub(super) fn flush(&self) -> io::Result<()> {
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
