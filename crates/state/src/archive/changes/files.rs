//! The files of state diffs: in a directory or in memory, with ascending numbers as names.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write},
    path::PathBuf,
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use crate::db::Durability;

/// The directory or the memory with the files of state diffs. A clone is another handle to the same files.
#[derive(Clone, Debug)]
pub(crate) enum Files {
    /// A directory, which the first append creates.
    Directory(PathBuf, Durability),
    Memory(Memory),
}

impl Files {
    /// Returns an empty set of files in memory.
    pub(crate) fn in_memory() -> Self {
        Self::Memory(Memory::default())
    }

    /// Returns the names of the files in ascending order. Ignores files whose names do not have the form of a number.
    pub(super) fn list(&self) -> io::Result<Vec<u64>> {
        let path = match self {
            Self::Memory(memory) => return Ok(memory.state().files.keys().copied().collect()),
            Self::Directory(path, _) => path,
        };
        let mut names = Vec::new();
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
            entries => entries?,
        };
        for entry in entries {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            names.extend(number.filter(|number| *name == *file_name(*number)));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns a reader at the beginning of a file, and the length of the file in bytes.
    pub(super) fn reader(&self, name: u64) -> io::Result<(Box<dyn Read>, u64)> {
        match self {
            Self::Directory(path, _) => {
                let file = File::open(path.join(file_name(name)))?;
                let len = file.metadata()?.len();
                Ok((Box::new(BufReader::new(file)), len))
            }
            Self::Memory(memory) => {
                let bytes = memory.state().files.get(&name).cloned().unwrap_or_default();
                let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                Ok((Box::new(Cursor::new(bytes)), len))
            }
        }
    }

    /// Returns `len` bytes of a file from `offset` on.
    pub(super) fn read_at(&self, name: u64, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        match self {
            Self::Directory(path, _) => {
                let mut file = File::open(path.join(file_name(name)))?;
                file.seek(SeekFrom::Start(offset))?;
                let mut bytes = vec![0; len];
                file.read_exact(&mut bytes)?;
                Ok(bytes)
            }
            Self::Memory(memory) => {
                let state = memory.state();
                let rest = usize::try_from(offset).ok().and_then(|offset| state.files.get(&name)?.get(offset..));
                let bytes = rest.and_then(|rest| rest.get(..len));
                Ok(bytes.ok_or(io::ErrorKind::UnexpectedEof)?.to_vec())
            }
        }
    }

    /// Appends to a file. Creates the file if it does not exist.
    pub(super) fn append(&self, name: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Directory(path, _) => {
                let open = || OpenOptions::new().append(true).create(true).open(path.join(file_name(name)));
                let mut file = match open() {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        // Creates only this directory. If its parent is missing, the record is missing too, and the
                        // append must fail.
                        fs::create_dir(path)?;
                        open()?
                    }
                    file => file?,
                };
                file.write_all(bytes)
            }
            Self::Memory(memory) => {
                let mut state = memory.state();
                #[cfg(test)]
                state.spend(name, bytes)?;
                state.files.entry(name).or_default().extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Flushes a file, and returns when its bytes are durable. Does nothing with [`Durability::Relaxed`].
    pub(super) fn sync(&self, name: u64) -> io::Result<()> {
        match self {
            Self::Directory(_, Durability::Relaxed) => Ok(()),
            Self::Directory(path, Durability::Flush) => {
                File::open(path.join(file_name(name)))?.sync_all()?;
                File::open(path)?.sync_all()?;
                // The directory of the files can be new. Then its own entry in the parent directory must be flushed
                // too.
                path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
            }
            #[cfg(not(test))]
            Self::Memory(_) => Ok(()),
            #[cfg(test)]
            Self::Memory(memory) => memory.state().sync(name),
        }
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: u64) -> io::Result<()> {
        match self {
            Self::Directory(path, _) => fs::remove_file(path.join(file_name(name))),
            Self::Memory(memory) => {
                let mut state = memory.state();
                #[cfg(test)]
                state.spend(name, &[])?;
                state.files.remove(&name);
                Ok(())
            }
        }
    }
}

fn file_name(name: u64) -> String {
    format!("{name:08}")
}

/// Files in memory. Tests use them as a disk that fails and loses power.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<u64, Vec<u8>>,
    /// The bytes of each file at its last flush.
    #[cfg(test)]
    synced: BTreeMap<u64, Vec<u8>>,
    /// Number of writes and flushes that succeed before all others fail; `None` without a limit.
    #[cfg(test)]
    remaining: Option<u64>,
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

#[cfg(test)]
mod disk {
    use super::{Memory, State, io};

    impl State {
        /// Counts a write against the limit of [`Memory::fail_after`]. At the limit, appends half of the bytes and
        /// fails.
        pub(super) fn spend(&mut self, name: u64, bytes: &[u8]) -> io::Result<()> {
            let Some(left) = &mut self.remaining else { return Ok(()) };
            if let Some(less) = left.checked_sub(1) {
                *left = less;
                return Ok(());
            }
            if !bytes.is_empty() {
                self.files.entry(name).or_default().extend_from_slice(&bytes[..bytes.len() / 2]);
            }
            Err(io::Error::other("the disk of the test is cut off"))
        }

        pub(super) fn sync(&mut self, name: u64) -> io::Result<()> {
            self.spend(name, &[])?;
            let bytes = self.files.get(&name).cloned().ok_or(io::ErrorKind::NotFound)?;
            self.synced.insert(name, bytes);
            Ok(())
        }
    }

    impl Memory {
        /// Sets a limit: `count` more writes and flushes succeed, and all later ones fail.
        pub(crate) fn fail_after(&self, count: u64) {
            self.state().remaining = Some(count);
        }

        /// Simulates the end of the process. All written bytes stay.
        pub(crate) fn kill(&self) {
            self.state().remaining = None;
        }

        /// Simulates a power failure. Undoes removals. Of the bytes of each file since its last flush, keeps the first
        /// `kept`. Replaces the other bytes by zeros, or removes them if `cut` is true.
        pub(crate) fn crash(&self, kept: usize, cut: bool) {
            let mut state = self.state();
            state.remaining = None;
            let State { files, synced, .. } = &mut *state;
            for (name, bytes) in &mut *files {
                let durable = synced.get(name).map_or(0, Vec::len);
                let whole = durable.saturating_add(kept).min(bytes.len());
                if cut {
                    bytes.truncate(whole);
                } else {
                    bytes[whole..].fill(0);
                }
            }
            for (name, bytes) in &*synced {
                files.entry(*name).or_insert_with(|| bytes.clone());
            }
            *synced = files.clone();
        }

        /// Removes all files.
        pub(crate) fn clear(&self) {
            *self.state() = State::default();
        }

        /// Applies `change` to each file, to damage it.
        pub(crate) fn damage(&self, mut change: impl FnMut(u64, &mut Vec<u8>)) {
            self.state().files.iter_mut().for_each(|(name, bytes)| change(*name, bytes));
        }

        /// Returns the lengths of the files.
        pub(crate) fn lengths(&self) -> Vec<usize> {
            self.state().files.values().map(Vec::len).collect()
        }
    }
}
