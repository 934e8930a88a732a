//! The engine: an ordered map of bytes, on disk or in memory, with data files next to it. In this crate, only this
//! folder uses sled.
//!
//! This module works around these limits of sled 0.34:
//!
//! - `flush` of sled writes its log and starts the transfer to the device (`sync_file_range`). A power failure can
//!   still lose this data. Therefore [`Db::flush`] also calls `fdatasync` on the same file.
//! - sled writes a page that is larger than a quarter of a segment to a separate file, and never flushes this file. The
//!   module rejects keys above [`MAX_KEY`] and values above [`MAX_VALUE`], so no page becomes that large.
//! - `apply_batch` holds a lock that blocks every reader of every database in the process. [`Db::apply`] uses it for
//!   small writes that must be atomic. Bulk writes use [`Db::insert`] and [`Db::remove`], which block no reader.
//! - sled reports damage by an error or by a panic. The errors [`DbError::Damaged`] and [`DbError::Panicked`] report
//!   both. After a panic in a write, the module writes nothing more. It leaks the handle, because a drop of the handle
//!   would write again.
//! - Opening writes a snapshot of sled's page table under a temporary name. If the process ends during this write, a
//!   partial file stays under the temporary name. sled then reads it as its newest snapshot and fails. The module
//!   removes the partial file: the previous snapshot exists, and the log has all data.
//! - After a failed write or flush, as on a full disk, sled accepts no writes. [`Db::reopen`] closes and reopens sled
//!   below the existing handles. Therefore a handle holds no object of sled between two operations.
//! - The background thread that flushes at intervals is switched off, so an idle database does nothing.

use std::{
    cell::Cell,
    fs::{self, File},
    io,
    ops::{Deref, Range},
    panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use parking_lot::{Mutex, RwLock};

pub use self::error::DbError;
pub(crate) use self::{file::DataFile, scan::Scan};
use self::{
    file::{FileOnDisk, ForEachFile, require_in_place},
    memory::Memory,
};
use crate::file::free_space;

mod error;
mod file;
mod memory;
mod scan;

#[cfg(test)]
pub(crate) use self::memory::Disk;

/// Maximum length of a key in bytes.
pub(crate) const MAX_KEY: usize = 256;
/// Maximum length of a value in bytes.
///
/// A leaf page of sled has up to seventeen entries between two splits, and must stay below a quarter of a segment.
pub(crate) const MAX_VALUE: usize = 6 << 10;
/// Bytes of a segment, the unit in which sled allocates and reuses its file.
const SEGMENT: usize = 512 << 10;

/// Name of the file with sled's parameters of a database.
pub(crate) const ENGINE_PARAMETERS: &str = "conf";

/// The guarantee of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Flushed data survive the end of the process and a power failure.
    #[default]
    Flush,
    /// A flush does nothing, so a power failure can lose flushed data. Test suites with thousands of nodes can use
    /// this value.
    Relaxed,
}

/// Options of a database on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DbOptions {
    /// Size of sled's page cache in bytes.
    pub cache_bytes: u64,
    pub durability: Durability,
}

/// A database. A clone is another handle to the same database.
///
/// A handle and its clones can be retired. Reads and writes through these handles then return [`DbError::Retired`].
#[derive(Clone, Debug)]
pub(crate) struct Db {
    engine: Engine,
    retired: Arc<AtomicBool>,
}

#[derive(Clone, Debug)]
enum Engine {
    Sled(Arc<Sled>),
    Memory(Memory),
}

/// Writes that take effect together, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Batch {
    /// Adds a write that sets the value of a key.
    pub(crate) fn insert(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.writes.push((key.into(), Some(value.into())));
    }

    /// Adds a write that removes a key.
    pub(crate) fn remove(&mut self, key: impl Into<Vec<u8>>) {
        self.writes.push((key.into(), None));
    }

    /// Returns whether the batch has no writes.
    pub(crate) const fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}

/// A key or value from the database. It is cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value(sled::IVec);

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Db {
    /// Opens the database in a directory. Creates the directory if it does not exist.
    ///
    /// # Errors
    ///
    /// - [`DbError::Locked`]: another process, or another store of this process, has the database open.
    /// - [`DbError::Damaged`], [`DbError::Io`] and others: the database cannot be read or written.
    pub(crate) fn open(path: &Path, options: DbOptions) -> Result<Self, DbError> {
        Sled::open(path, options, || thread::sleep(LOCK_PAUSE)).map(|sled| Self::over(Engine::Sled(Arc::new(sled))))
    }

    /// Makes an empty database in memory.
    pub(crate) fn in_memory() -> Self {
        Self::over(Engine::Memory(Memory::default()))
    }

    fn over(engine: Engine) -> Self {
        Self { engine, retired: Arc::default() }
    }

    /// Returns a new handle to the same database. A retirement of this handle does not retire the new handle.
    pub(crate) fn renewed(&self) -> Self {
        Self::over(self.engine.clone())
    }

    /// Retires this handle and its clones. Later reads and writes return [`DbError::Retired`].
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::SeqCst);
    }

    /// Returns an error if a file of the database was deleted or replaced.
    pub(crate) fn require_in_place(&self) -> Result<(), DbError> {
        match &self.engine {
            Engine::Sled(sled) => {
                let opened = sled.opened.read();
                opened.as_ref().ok_or(DbError::Closed)?.require_in_place()
            }
            Engine::Memory(_) => Ok(()),
        }
    }

    /// Returns whether the engine rejects all writes until the process ends.
    pub(crate) fn is_broken(&self) -> bool {
        match &self.engine {
            Engine::Sled(sled) => sled.broken.load(Ordering::Acquire),
            Engine::Memory(_) => false,
        }
    }

    /// Closes and reopens the engine for all handles, if one of its operations has failed since it was opened. The
    /// result is the same as after a crash: all flushed writes exist, and the first part of the later writes may exist.
    ///
    /// # Errors
    ///
    /// [`DbError::Broken`]: the engine rejects all writes until the process ends. It stays open. After the errors of
    /// [`Db::open`], every operation returns [`DbError::Closed`] until a call succeeds.
    pub(crate) fn reopen(&self) -> Result<(), DbError> {
        match &self.engine {
            Engine::Sled(sled) => sled.reopen(|| thread::sleep(LOCK_PAUSE)),
            Engine::Memory(memory) => memory.reopen(),
        }
    }

    /// Closes the engine for all handles, and unlocks its directory. Later operations return [`DbError::Closed`]. A
    /// database in memory stays open.
    pub(crate) fn close(&self) {
        match &self.engine {
            Engine::Sled(sled) => sled.close(),
            Engine::Memory(_) => {}
        }
    }

    /// Returns an error if the handle is retired. Otherwise all earlier reads returned data from before the retirement.
    pub(crate) fn require_service(&self) -> Result<(), DbError> {
        if self.retired.load(Ordering::SeqCst) { Err(DbError::Retired) } else { Ok(()) }
    }

    /// Opens a database in memory with the contents of a test disk, which outlives the database.
    #[cfg(test)]
    pub(crate) fn on_disk(disk: &Disk) -> Self {
        Self::over(Engine::Memory(Memory::on_disk(disk)))
    }

    /// Returns the value of a key, or `None` if the key does not exist.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value>, DbError> {
        let value = match &self.engine {
            Engine::Sled(sled) => sled.read(|db| db.get(key)).map(|value| value.map(Value)),
            Engine::Memory(memory) => Ok(memory.get(key)),
        };
        self.require_service()?;
        value
    }

    /// Applies a batch atomically: after a crash, either all or none of its writes exist.
    pub(crate) fn apply(&self, batch: Batch) -> Result<(), DbError> {
        self.require_service()?;
        batch.writes.iter().try_for_each(|(key, value)| check_size(key, value.as_deref()))?;
        match &self.engine {
            Engine::Sled(sled) => {
                let mut writes = sled::Batch::default();
                for (key, value) in batch.writes {
                    match value {
                        Some(value) => writes.insert(key, value),
                        None => writes.remove(key),
                    }
                }
                sled.write(|db| db.apply_batch(writes))
            }
            Engine::Memory(memory) => memory.apply(batch.writes),
        }
    }

    /// Sets the value of one key.
    pub(crate) fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), DbError> {
        self.replace(key, value).map(drop)
    }

    /// Sets the value of one key, and returns its previous value.
    pub(crate) fn replace(&self, key: &[u8], value: &[u8]) -> Result<Option<Value>, DbError> {
        self.require_service()?;
        check_size(key, Some(value))?;
        match &self.engine {
            Engine::Sled(sled) => sled.write(|db| db.insert(key, value)).map(|old| old.map(Value)),
            Engine::Memory(memory) => {
                let old = memory.get(key);
                memory.apply(vec![(key.to_vec(), Some(value.to_vec()))]).map(|()| old)
            }
        }
    }

    /// Removes one key.
    pub(crate) fn remove(&self, key: &[u8]) -> Result<(), DbError> {
        self.require_service()?;
        match &self.engine {
            Engine::Sled(sled) => sled.write(|db| db.remove(key).map(drop)),
            Engine::Memory(memory) => memory.apply(vec![(key.to_vec(), None)]),
        }
    }

    /// Returns `len` bytes of a data file from a position on, or `None` if the file ends before them.
    pub(crate) fn read_at(&self, file: DataFile, position: u64, len: usize) -> Result<Option<Vec<u8>>, DbError> {
        let bytes = match &self.engine {
            Engine::Sled(sled) => sled.with(|opened| Ok(opened.files.of(file).read(position, len)?)),
            Engine::Memory(memory) => Ok(memory.read_at(file, position, len)),
        };
        self.require_service()?;
        bytes
    }

    /// Writes bytes into a data file at a position. A crash before the next flush can leave any part of them.
    pub(crate) fn write_at(&self, file: DataFile, position: u64, bytes: &[u8]) -> Result<(), DbError> {
        self.require_service()?;
        match &self.engine {
            Engine::Sled(sled) => sled.write_file(|files| files.of(file).write(position, bytes)),
            Engine::Memory(memory) => memory.write_at(file, position, bytes),
        }
    }

    /// Cuts a data file after `len` bytes, if it is longer. The caller does not read the rest again.
    pub(crate) fn truncate(&self, file: DataFile, len: u64) -> Result<(), DbError> {
        self.require_service()?;
        match &self.engine {
            Engine::Sled(sled) => sled.write_file(|files| files.of(file).truncate(len)),
            Engine::Memory(memory) => memory.truncate(file, len),
        }
    }

    /// Flushes, and returns when all previous writes are durable. Does nothing with [`Durability::Relaxed`].
    pub(crate) fn flush(&self) -> Result<(), DbError> {
        match &self.engine {
            Engine::Sled(sled) => sled.flush(),
            Engine::Memory(memory) => memory.flush(),
        }
    }

    /// Writes all rows to the operating system, with [`Durability::Relaxed`]. They then survive the end of the process.
    /// With [`Durability::Flush`], each flush does this.
    pub(crate) fn write_out(&self) -> Result<(), DbError> {
        match &self.engine {
            Engine::Sled(sled) if sled.options.durability == Durability::Relaxed => {
                sled.write(|db| db.flush()).map(drop)
            }
            Engine::Sled(_) | Engine::Memory(_) => Ok(()),
        }
    }

    /// Returns whether [`Db::flush`] makes writes durable.
    pub(crate) fn is_flushed(&self) -> bool {
        match &self.engine {
            Engine::Sled(sled) => sled.options.durability == Durability::Flush,
            Engine::Memory(memory) => memory.has_disk(),
        }
    }

    /// Returns the number of free bytes on the disk of the database; the maximum for a database in memory.
    pub(crate) fn free_space(&self) -> Result<u64, DbError> {
        match &self.engine {
            Engine::Sled(sled) => Ok(free_space(&sled.path)?),
            Engine::Memory(_) => Ok(u64::MAX),
        }
    }

    /// Iterates over a range of keys in order, from either end. The result may or may not contain writes during the
    /// iteration.
    pub(crate) fn scan(&self, range: Range<Vec<u8>>) -> Scan {
        Scan::new(self.engine.clone(), Arc::clone(&self.retired), range)
    }

    /// Returns the size of the database on disk in bytes, with its data files.
    pub(crate) fn size_on_disk(&self) -> Result<u64, DbError> {
        match &self.engine {
            Engine::Sled(sled) => {
                let rows = sled.read(sled::Db::size_on_disk)?;
                sled.with(|opened| {
                    opened.files.iter().try_fold(rows, |size, file| Ok(size.saturating_add(file.len()?)))
                })
            }
            Engine::Memory(memory) => Ok(memory.size()),
        }
    }
}

fn check_size(key: &[u8], value: Option<&[u8]>) -> Result<(), DbError> {
    let value = value.map_or(0, <[u8]>::len);
    if key.len() > MAX_KEY || value > MAX_VALUE {
        return Err(DbError::TooLarge { key: key.len(), value });
    }
    Ok(())
}

/// Name of sled's log file.
const LOG: &str = "db";

/// A database of sled on disk, with the state of its failures.
#[derive(Debug)]
struct Sled {
    path: PathBuf,
    options: DbOptions,
    /// `None` during a reopening, after a failed reopening, and after the close.
    opened: RwLock<Option<Opened>>,
    /// Whether an operation has failed since the database was opened. sled may then reject all later writes.
    failed: AtomicBool,
    /// Whether a write has panicked, so that the memory of sled is unreliable, or the system has failed to flush
    /// writes. The database is then never written again.
    broken: AtomicBool,
    /// Locked during a flush.
    flushing: Mutex<()>,
}

#[derive(Debug)]
struct Opened {
    db: sled::Db,
    /// Directory of the database.
    path: PathBuf,
    /// Another descriptor of sled's log file, for `fdatasync`.
    file: File,
    files: ForEachFile<FileOnDisk>,
}

impl Opened {
    /// Opens the database. Calls `pause` before each retry for a locked directory.
    fn new(path: &Path, options: DbOptions, pause: impl Fn()) -> Result<Self, DbError> {
        let config = sled::Config::new()
            .path(path)
            .cache_capacity(options.cache_bytes.max(1 << 20))
            .segment_size(SEGMENT)
            .flush_every_ms(None);
        let open = || when_unlocked(|| guarded(path, || config.open()), &pause);
        let db = open().or_else(|error| {
            // If sled reports damage, it has locked the directory. So no other process writes the snapshot at this
            // time.
            let can_help = matches!(error, DbError::Damaged { .. }) && remove_unfinished_snapshots(path)?;
            if can_help { open() } else { Err(error) }
        });
        let db = db.map_err(|error| if is_lock(&error) { DbError::Locked { path: path.to_owned() } } else { error })?;
        let file = File::open(path.join(LOG))?;
        let files = ForEachFile::new(|file| FileOnDisk::new(path, file));
        Ok(Self { db, path: path.to_owned(), file, files })
    }

    fn require_in_place(&self) -> Result<(), DbError> {
        require_in_place(&self.path.join(LOG), &self.file)?;
        self.files.iter().try_for_each(FileOnDisk::require_in_place)
    }

    fn close(self) {
        // An error is ignored: writes that a panic loses here were not flushed, so no caller relies on them.
        let path = self.path.clone();
        let _: Result<(), DbError> = guarded(&path, || {
            drop(self);
            Ok(())
        });
    }
}

impl Sled {
    fn open(path: &Path, options: DbOptions, pause: impl Fn()) -> Result<Self, DbError> {
        let opened = RwLock::new(Some(Opened::new(path, options, pause)?));
        let (failed, broken) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self { path: path.to_owned(), options, opened, failed, broken, flushing: Mutex::new(()) })
    }

    fn reopen(&self, pause: impl Fn()) -> Result<(), DbError> {
        if self.broken.load(Ordering::Acquire) {
            return Err(DbError::Broken);
        }
        let take = || self.opened.write().take();
        if self.failed.load(Ordering::Acquire)
            && let Some(opened) = take()
        {
            opened.close();
        }
        if self.opened.read().is_some() {
            return Ok(());
        }
        // The engine is opened without the lock, so that other threads continue, and get the error that the database is
        // closed.
        let opened = Opened::new(&self.path, self.options, pause)?;
        self.failed.store(false, Ordering::Release);
        *self.opened.write() = Some(opened);
        Ok(())
    }

    fn close(&self) {
        let Some(opened) = self.opened.write().take() else { return };
        // Closing sled writes files, and would create missing directories for these files.
        if self.broken.load(Ordering::Acquire) || opened.require_in_place().is_err() {
            std::mem::forget(opened);
        } else {
            opened.close();
        }
    }

    fn with<T>(&self, operation: impl FnOnce(&Opened) -> Result<T, DbError>) -> Result<T, DbError> {
        let opened = self.opened.read();
        let result = operation(opened.as_ref().ok_or(DbError::Closed)?);
        if result.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        result
    }

    fn read<T>(&self, operation: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T, DbError> {
        self.with(|opened| guarded(&opened.path, || operation(&opened.db)))
    }

    fn write<T>(&self, operation: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T, DbError> {
        if self.broken.load(Ordering::Acquire) {
            return Err(DbError::Broken);
        }
        let result = self.with(|opened| guarded(&opened.path, || operation(&opened.db)));
        if let Err(DbError::Panicked { .. }) = result {
            self.broken.store(true, Ordering::Release);
        }
        result
    }

    fn write_file(&self, write: impl FnOnce(&ForEachFile<FileOnDisk>) -> io::Result<()>) -> Result<(), DbError> {
        if self.broken.load(Ordering::Acquire) {
            return Err(DbError::Broken);
        }
        self.with(|opened| Ok(write(&opened.files)?))
    }

    fn flush(&self) -> Result<(), DbError> {
        match self.options.durability {
            Durability::Relaxed => Ok(()),
            Durability::Flush => {
                // Only one thread flushes at a time. The system reports a failed flush to one caller only, and a caller
                // must not return while another caller still flushes the writes of the first caller.
                let _flushing = self.flushing.lock();
                self.write(|db| db.flush())?;
                let synced = self.with(|opened| {
                    opened.files.iter().try_for_each(FileOnDisk::flush)?;
                    Ok(opened.file.sync_data()?)
                });
                if synced.is_err() {
                    // After this error, the system may regard the lost data as written. The next flush would then
                    // succeed without them.
                    self.broken.store(true, Ordering::Release);
                }
                synced
            }
        }
    }
}

impl Drop for Sled {
    fn drop(&mut self) {
        self.close();
    }
}

/// Removes unfinished snapshots of sled from an interrupted opening. Returns whether such snapshots existed.
fn remove_unfinished_snapshots(path: &Path) -> io::Result<bool> {
    let mut any = false;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with("snap.") && name.ends_with(".generating")) {
            fs::remove_file(entry.path())?;
            any = true;
        }
    }
    Ok(any)
}

/// Number of retries for a locked directory, and the pause between two retries. All pauses together take 5 s. This is
/// enough for the threads of a closed database to end on a busy machine. The lock of the data directory excludes other
/// processes.
const LOCK_TRIES: u32 = 200;
const LOCK_PAUSE: Duration = Duration::from_millis(25);

/// Opens a database, and retries while its directory is locked. Threads of sled can hold the lock for a short time
/// after a database of this process was dropped or failed to open.
fn when_unlocked<T>(mut open: impl FnMut() -> Result<T, DbError>, pause: impl Fn()) -> Result<T, DbError> {
    let mut opened = open();
    for _ in 0..LOCK_TRIES {
        if !opened.as_ref().is_err_and(is_lock) {
            break;
        }
        pause();
        opened = open();
    }
    opened
}

fn is_lock(error: &DbError) -> bool {
    matches!(error, DbError::Io(source) if source.to_string().contains("could not acquire lock"))
}

thread_local! {
    /// Whether this thread is in an operation of sled whose panics become errors.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread comes from the storage engine. The store catches such a panic and returns it
/// as [`DbError::Panicked`]. Therefore the panic hook of a program need not report it.
pub fn is_engine_panic(_: &PanicHookInfo<'_>) -> bool {
    GUARDED.get()
}

/// Runs an operation of sled. Converts its errors and panics to [`DbError`].
fn guarded<T>(path: &Path, operation: impl FnOnce() -> sled::Result<T>) -> Result<T, DbError> {
    let path = || path.to_owned();
    let before = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(operation));
    GUARDED.set(before);
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(match error {
            sled::Error::Io(source) => DbError::Io(source),
            sled::Error::Unsupported(reason) => DbError::Unsupported { path: path(), reason },
            sled::Error::Corruption { at: Some(at), .. } => {
                DbError::Damaged { path: path(), reason: format!("data at {at} differ from the written data") }
            }
            sled::Error::Corruption { at: None, .. } => {
                DbError::Damaged { path: path(), reason: "data differ from the written data".to_owned() }
            }
            other @ (sled::Error::ReportableBug(_) | sled::Error::CollectionNotFound(_)) => {
                DbError::Damaged { path: path(), reason: other.to_string() }
            }
        }),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let reason = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(DbError::Panicked { path: path(), reason: reason.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_that_was_being_written_when_the_process_ended_is_no_damage() {
        let dir = tempfile::tempdir().unwrap();
        let options = DbOptions { cache_bytes: 1 << 20, durability: Durability::Flush };
        let open = || Db::open(dir.path(), options);
        let snapshots = || {
            let names =
                fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.starts_with("snap.")).collect::<Vec<_>>()
        };
        for round in 0..6_u8 {
            let db = open().unwrap();
            for key in 0..200 {
                db.insert(&[round, key], &[key; 100]).unwrap();
            }
            db.flush().unwrap();
            drop(db);
            drop(open().unwrap());
            let whole = fs::read(dir.path().join(&snapshots()[0])).unwrap();
            let left = [0, 1, 12, 13, whole.len() / 2, whole.len() - 1][usize::from(round)];
            fs::write(dir.path().join("snap.7000000000000000.generating"), &whole[..left]).unwrap();
            let db = open().unwrap();
            for key in 0..200 {
                assert_eq!(db.get(&[round, key]).unwrap().as_deref(), Some(&[key; 100][..]), "{left} bytes");
            }
            drop(db);
            assert!(snapshots().iter().all(|name| !name.ends_with(".generating")), "{:?}", snapshots());
        }
    }

    #[test]
    fn engine_that_failed_is_opened_again_below_its_handles() {
        let dir = tempfile::tempdir().unwrap();
        let options = DbOptions { cache_bytes: 1 << 20, durability: Durability::Flush };
        let db = Db::open(dir.path(), options).unwrap();
        for key in 0..200_u8 {
            db.insert(&[key], &[key; 9]).unwrap();
        }
        db.flush().unwrap();
        let (other, mut scan) = (db.renewed(), db.scan(vec![0]..vec![255]));
        assert_eq!(&*scan.next().unwrap().unwrap().0, [0]);
        let Engine::Sled(sled) = &db.engine else { unreachable!() };
        db.reopen().unwrap();
        sled.with(|_| Err::<(), _>(DbError::Io(io::Error::other("no space left")))).unwrap_err();
        db.reopen().unwrap();
        assert!(!sled.failed.load(Ordering::Acquire));
        // No remaining handle keeps the directory locked.
        assert_eq!(scan.map(|entry| entry.unwrap().1.len()).sum::<usize>(), 199 * 9);
        assert_eq!(other.get(&[7]).unwrap().as_deref(), Some(&[7; 9][..]));

        // Until sled can be opened again, every operation fails.
        let held = sled.opened.write().take().unwrap();
        assert!(matches!(sled.reopen(|| {}), Err(DbError::Locked { .. })));
        assert!(matches!(db.get(&[7]), Err(DbError::Closed)));
        assert!(matches!(db.insert(&[7], &[]), Err(DbError::Closed)));
        assert!(matches!(db.flush(), Err(DbError::Closed)));
        drop(held);
        db.reopen().unwrap();
        db.insert(&[7], &[1]).unwrap();
        assert_eq!(other.get(&[7]).unwrap().as_deref(), Some(&[1][..]));
    }

    #[test]
    fn scan_from_both_ends_meets_in_the_middle() {
        let dir = tempfile::tempdir().unwrap();
        let options = DbOptions { cache_bytes: 1 << 20, durability: Durability::Relaxed };
        for db in [Db::open(dir.path(), options).unwrap(), Db::in_memory()] {
            for key in 0..200_u8 {
                db.insert(&[key], &[]).unwrap();
            }
            for (from, to, every) in [(3, 180, 2), (0, 200, 3), (7, 8, 1), (9, 9, 1), (9, 7, 1), (20, 120, 50)] {
                let mut scan = db.scan(vec![from]..vec![to]);
                let (mut front, mut back) = (Vec::new(), Vec::new());
                for turn in 1_u32.. {
                    let (entry, found) =
                        if turn % every == 0 { (scan.next_back(), &mut back) } else { (scan.next(), &mut front) };
                    match entry {
                        Some(entry) => found.push(entry.unwrap().0[0]),
                        None => break,
                    }
                }
                front.extend(back.into_iter().rev());
                assert_eq!(front, (from..to).collect::<Vec<_>>());
                assert!(scan.next().is_none() && scan.next_back().is_none());
            }
        }
    }

    #[test]
    fn open_waits_for_a_lock_that_is_released_soon() {
        let locked = || DbError::Io(io::Error::other("could not acquire lock on \"db\""));
        let (mut tries, free_at) = (0, 4);
        let open = || {
            tries += 1;
            if tries < free_at { Err(locked()) } else { Ok(tries) }
        };
        let opened = when_unlocked(open, || {});
        assert_eq!(opened.unwrap(), free_at);

        tries = 0;
        let open = || {
            tries += 1;
            Err::<(), _>(locked())
        };
        let refused = when_unlocked(open, || {});
        assert!(is_lock(&refused.unwrap_err()));
        assert_eq!(tries, LOCK_TRIES + 1);

        tries = 0;
        let open = || {
            tries += 1;
            Err::<(), _>(DbError::Io(io::Error::other("no space left")))
        };
        let damaged = when_unlocked(open, || {});
        assert!(!is_lock(&damaged.unwrap_err()));
        assert_eq!(tries, 1, "only a lock is waited for");
    }

    #[test]
    fn directory_in_use_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let options = DbOptions { cache_bytes: 1 << 20, durability: Durability::Flush };
        let db = Db::open(dir.path(), options).unwrap();
        let refused = Sled::open(dir.path(), options, || {}).map(drop).unwrap_err();
        assert!(matches!(refused, DbError::Locked { .. }), "{refused}");
        drop(db);
        Db::open(dir.path(), options).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn file_that_was_deleted_or_replaced_is_noticed_and_closing_creates_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (path, away) = (dir.path().join("chain"), dir.path().join("away"));
        let options = DbOptions { cache_bytes: 1 << 20, durability: Durability::Flush };
        let db = Db::open(&path, options).unwrap();
        db.insert(&[1], &[1]).unwrap();
        db.require_in_place().unwrap();
        fs::rename(&path, &away).unwrap();
        let gone =
            || matches!(db.require_in_place(), Err(DbError::Displaced { path: named }) if named == path.join(LOG));
        assert!(gone());
        fs::create_dir(&path).unwrap();
        fs::copy(away.join(LOG), path.join(LOG)).unwrap();
        assert!(gone());
        fs::remove_dir_all(&path).unwrap();
        fs::rename(&away, &path).unwrap();
        db.require_in_place().unwrap();
        db.insert(&[2], &[2]).unwrap();
        db.write_at(DataFile::Pages, 0, &[1]).unwrap();
        let pages = path.join(DataFile::Pages.name());
        fs::rename(&pages, dir.path().join("pages")).unwrap();
        assert!(matches!(db.require_in_place(), Err(DbError::Displaced { path }) if path == pages));
        fs::rename(dir.path().join("pages"), &pages).unwrap();
        db.require_in_place().unwrap();
        fs::remove_dir_all(&path).unwrap();
        assert!(gone());
        drop(db);
        assert!(!path.exists());
    }

    #[test]
    fn panics_of_the_engine_are_errors_that_name_the_database() {
        let noted = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&noted);
        let before = std::panic::take_hook();
        let name = thread::current().name().map(str::to_owned);
        std::panic::set_hook(Box::new(move |panic| {
            if thread::current().name().map(str::to_owned) == name {
                notes.lock().push(is_engine_panic(panic));
            }
        }));
        let error = guarded::<()>(Path::new("store/chain"), || panic!("segment {}", 7)).unwrap_err();
        drop(catch_unwind(|| panic!("of another owner")));
        std::panic::set_hook(before);
        assert_eq!(error.to_string(), "database store/chain is damaged: its engine panicked: segment 7");
        assert_eq!(*noted.lock(), [true, false]);
    }

    #[test]
    fn other_damage_of_a_snapshot_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let options = DbOptions { cache_bytes: 1 << 20, durability: Durability::Flush };
        drop(Db::open(dir.path(), options).unwrap());
        fs::write(dir.path().join("snap.7000000000000000"), b"this is not a snapshot of sled").unwrap();
        let error = Db::open(dir.path(), options).map(drop).unwrap_err();
        assert!(error.is_damage(), "{error}");
    }
}
