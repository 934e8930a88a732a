//! The engine in memory: for ephemeral stores, and for tests that simulate a power failure.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use parking_lot::{RwLock, RwLockReadGuard};

use super::{
    DbError, Value,
    file::{DataFile, ForEachFile},
};

/// A database in memory. A clone is another handle to the same database.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    contents: Arc<RwLock<BTreeMap<Vec<u8>, sled::IVec>>>,
    files: Arc<ForEachFile<RwLock<Vec<u8>>>>,
    #[cfg(test)]
    disk: Option<Disk>,
}

type Writes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

impl Memory {
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Vec<u8>, sled::IVec>> {
        self.contents.read()
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<Value> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            disk.note_read();
        }
        self.read().get(key).cloned().map(Value)
    }

    #[cfg_attr(not(test), expect(clippy::unnecessary_wraps, reason = "the double of the tests fails on demand"))]
    pub(super) fn apply(&self, writes: Writes) -> Result<(), DbError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            disk.write(&writes)?;
        }
        let mut contents = self.contents.write();
        for (key, value) in writes {
            match value {
                Some(value) => contents.insert(key, value.into()),
                None => contents.remove(&key),
            };
        }
        Ok(())
    }

    /// Returns `len` bytes of a data file from a position on, or `None` if the file ends before them.
    pub(super) fn read_at(&self, file: DataFile, position: u64, len: usize) -> Option<Vec<u8>> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            disk.note_read();
        }
        let position = usize::try_from(position).ok()?;
        self.files.of(file).read().get(position..position.checked_add(len)?).map(<[u8]>::to_vec)
    }

    #[cfg_attr(not(test), expect(clippy::unnecessary_wraps, reason = "the double of the tests fails on demand"))]
    pub(super) fn write_at(&self, file: DataFile, position: u64, bytes: &[u8]) -> Result<(), DbError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            disk.write_at(file, position, bytes)?;
        }
        write_at(&mut self.files.of(file).write(), position, bytes);
        Ok(())
    }

    #[cfg_attr(not(test), expect(clippy::unnecessary_wraps, reason = "the double of the tests fails on demand"))]
    pub(super) fn truncate(&self, file: DataFile, len: u64) -> Result<(), DbError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            disk.truncate(file, len)?;
        }
        self.files.of(file).write().truncate(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "the double of the tests keeps account of flushes"))]
    #[cfg_attr(not(test), expect(clippy::unnecessary_wraps, reason = "the double of the tests fails on demand"))]
    pub(super) fn flush(&self) -> Result<(), DbError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            return disk.flush();
        }
        Ok(())
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "the double of the tests has a disk to read again"))]
    #[cfg_attr(not(test), expect(clippy::unnecessary_wraps, reason = "the double of the tests fails on demand"))]
    pub(super) fn reopen(&self) -> Result<(), DbError> {
        #[cfg(test)]
        if let Some(disk) = &self.disk {
            let (contents, files) = disk.reopen()?;
            *self.contents.write() = contents;
            for file in [DataFile::Pages, DataFile::Hashes] {
                self.files.of(file).write().clone_from(files.of(file));
            }
        }
        Ok(())
    }

    /// Returns whether the contents outlive the database.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "the double of the tests has a disk"))]
    pub(super) const fn has_disk(&self) -> bool {
        #[cfg(test)]
        return self.disk.is_some();
        #[cfg(not(test))]
        false
    }

    pub(super) fn first(&self, bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Option<(Value, Value)> {
        self.read().range::<[u8], _>(as_slices(bounds)).next().map(entry)
    }

    pub(super) fn last(&self, bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Option<(Value, Value)> {
        self.read().range::<[u8], _>(as_slices(bounds)).next_back().map(entry)
    }

    pub(super) fn size(&self) -> u64 {
        let rows = self.read().iter().map(|(key, value)| key.len().saturating_add(value.len())).sum::<usize>();
        let size = self.files.iter().map(|file| file.read().len()).fold(rows, usize::saturating_add);
        u64::try_from(size).unwrap_or(u64::MAX)
    }
}

/// Writes bytes at a position. Fills a gap after the end with zeros.
fn write_at(file: &mut Vec<u8>, position: u64, bytes: &[u8]) {
    let Ok(position) = usize::try_from(position) else { return };
    let end = position.saturating_add(bytes.len());
    if file.len() < end {
        file.resize(end, 0);
    }
    if let Some(place) = file.get_mut(position..end) {
        place.copy_from_slice(bytes);
    }
}

fn entry((key, value): (&Vec<u8>, &sled::IVec)) -> (Value, Value) {
    (Value(key.as_slice().into()), Value(value.clone()))
}

fn as_slices(bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (bounds.0.as_ref().map(Vec::as_slice), bounds.1.as_ref().map(Vec::as_slice))
}

#[cfg(test)]
pub(crate) use self::disk::Disk;

#[cfg(test)]
mod disk {
    use parking_lot::Mutex;

    use super::*;

    /// The disk of a database in memory, which outlives the database. After a crash, the disk has all flushed writes,
    /// and can have the first of the later writes. The disk can have any part of the later writes to the data files.
    ///
    /// Writes reach the disk in order. A test can make the disk fail after a number of writes. At a crash, the test
    /// decides how many writes since the last flush the disk keeps.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Disk(Arc<Mutex<State>>);

    #[derive(Debug, Default)]
    struct State {
        contents: BTreeMap<Vec<u8>, sled::IVec>,
        files: ForEachFile<Vec<u8>>,
        unflushed: Vec<Write>,
        /// Number of writes and flushes that succeed before all others fail. `None` without a limit.
        remaining: Option<u64>,
        /// Number of reads of keys and of data files.
        reads: u64,
    }

    #[derive(Debug)]
    enum Write {
        Rows(Writes),
        Bytes(DataFile, u64, Vec<u8>),
        Truncate(DataFile, u64),
    }

    /// The rows and the data files.
    type Contents = (BTreeMap<Vec<u8>, sled::IVec>, ForEachFile<Vec<u8>>);

    impl State {
        fn spend(&mut self) -> Result<(), DbError> {
            match &mut self.remaining {
                None => Ok(()),
                Some(left) => {
                    let cut_off = || DbError::Io(std::io::Error::other("the disk of the test is cut off"));
                    *left = left.checked_sub(1).ok_or_else(cut_off)?;
                    Ok(())
                }
            }
        }

        fn settle(&mut self, count: usize) {
            for (number, write) in self.unflushed.drain(..).enumerate() {
                match write {
                    Write::Rows(rows) if number < count => {
                        for (key, value) in rows {
                            match value {
                                Some(value) => self.contents.insert(key, value.into()),
                                None => self.contents.remove(&key),
                            };
                        }
                    }
                    Write::Rows(_) => {}
                    Write::Bytes(file, position, bytes) if count == usize::MAX => {
                        write_at(self.files.of_mut(file), position, &bytes);
                    }
                    // The system writes the blocks of a file in any order, and also after later writes to another file.
                    Write::Bytes(file, position, bytes) => {
                        let kept = [0, bytes.len() / 2, bytes.len()][number % 3];
                        write_at(self.files.of_mut(file), position, &bytes[..kept]);
                    }
                    Write::Truncate(file, len) => {
                        self.files.of_mut(file).truncate(usize::try_from(len).unwrap_or(usize::MAX));
                    }
                }
            }
        }
    }

    impl Disk {
        fn state(&self) -> parking_lot::MutexGuard<'_, State> {
            self.0.lock()
        }

        pub(super) fn write(&self, writes: &Writes) -> Result<(), DbError> {
            let mut state = self.state();
            state.spend()?;
            state.unflushed.push(Write::Rows(writes.clone()));
            Ok(())
        }

        pub(super) fn write_at(&self, file: DataFile, position: u64, bytes: &[u8]) -> Result<(), DbError> {
            let mut state = self.state();
            state.spend()?;
            state.unflushed.push(Write::Bytes(file, position, bytes.to_vec()));
            Ok(())
        }

        pub(super) fn truncate(&self, file: DataFile, len: u64) -> Result<(), DbError> {
            let mut state = self.state();
            state.spend()?;
            state.unflushed.push(Write::Truncate(file, len));
            Ok(())
        }

        pub(super) fn flush(&self) -> Result<(), DbError> {
            let mut state = self.state();
            state.spend()?;
            state.settle(usize::MAX);
            Ok(())
        }

        /// Sets a limit: `count` more writes and flushes succeed, and all later ones fail.
        pub(crate) fn fail_after(&self, count: u64) {
            self.state().remaining = Some(count);
        }

        /// Returns the rows and the data files that the database has after it is opened again.
        pub(super) fn reopen(&self) -> Result<Contents, DbError> {
            let mut state = self.state();
            state.spend()?;
            state.settle(usize::MAX);
            Ok((state.contents.clone(), state.files.clone()))
        }

        /// Ends every database on this disk as at a crash. Keeps the first `kept` writes since the last flush.
        pub(crate) fn crash(&self, kept: usize) {
            let mut state = self.state();
            state.settle(kept);
            state.remaining = None;
        }

        /// Removes all contents.
        pub(crate) fn clear(&self) {
            *self.state() = State::default();
        }

        pub(super) fn note_read(&self) {
            let mut state = self.state();
            state.reads = state.reads.saturating_add(1);
        }

        /// Returns the number of reads of keys and of data files.
        pub(crate) fn reads(&self) -> u64 {
            self.state().reads
        }

        /// Returns the number of writes since the last flush.
        pub(crate) fn unflushed(&self) -> usize {
            self.state().unflushed.len()
        }

        /// Changes or removes the value of a key, to damage it.
        pub(crate) fn damage(&self, key: &[u8], change: impl FnOnce(Option<Vec<u8>>) -> Option<Vec<u8>>) {
            let mut state = self.state();
            let old = state.contents.remove(key).map(|value| value.to_vec());
            if let Some(new) = change(old) {
                state.contents.insert(key.to_vec(), new.into());
            }
        }

        /// Applies `change` to a data file, to damage it.
        pub(crate) fn damage_file(&self, file: DataFile, change: impl FnOnce(&mut Vec<u8>)) {
            change(self.state().files.of_mut(file));
        }

        /// Returns all keys.
        pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
            self.state().contents.keys().cloned().collect()
        }
    }

    impl Memory {
        pub(in super::super) fn on_disk(disk: &Disk) -> Self {
            let State { contents, files, .. } = &*disk.state();
            let contents = contents.clone();
            Self {
                contents: Arc::new(RwLock::new(contents)),
                files: Arc::new(ForEachFile::new(|file| RwLock::new(files.of(file).clone()))),
                disk: Some(disk.clone()),
            }
        }
    }
}
