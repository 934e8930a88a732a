//! Reserves disk space for the writes of an opening.
//!
//! Each engine writes when it opens. It rewrites its page table, and clears the end of its log. On a full disk these
//! writes fail, so the chain could not even be read. Therefore the store has a *reserve*: a file as large as the writes
//! of an opening. An opening that finds no space removes the reserve. The store opens without an error if the reserve
//! is missing or too small.

use std::{
    error::Error,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use crate::{
    error::RecoverError,
    file::{create_anew, free_space, sync},
    layout::Layout,
};

/// Bytes that must be free in addition to the page tables. Each engine needs one or two segments of 512 KiB.
const ROOM: u64 = 2 << 20;
/// Minimum bytes of an engine's log for one byte of its page table. Measurements gave 57 to 2,737 for values of 100 to
/// 4,000 bytes, and 1,900 for payments.
const LOG_PER_TABLE: u64 = 32;
/// Name of the file that a check for free space writes.
const PROBE: &str = "room";
/// Name of the file that reserves disk space.
pub(super) const RESERVE: &str = "reserve";
/// Number of bytes of one write to these files.
const PIECE: usize = 8 << 10;

impl Layout {
    /// Checks that the disk has space for the writes of an opening. Otherwise the caller could close engines that it
    /// cannot open again. The reserve counts as free.
    pub(super) fn require_room(&self) -> Result<(), RecoverError> {
        let Some(path) = self.beside_marker(PROBE) else { return Ok(()) };
        let check = || {
            let free = free_space(path.parent().unwrap_or(&path))?.saturating_add(len(&self.reserve())?);
            if free < self.room()?.saturating_add(ROOM) {
                return Err(ErrorKind::StorageFull.into());
            }
            // A quota or a limit of the process can be lower than the free space, so the check also writes a file.
            let written = create_anew(&path).and_then(|mut probe| fill(&mut probe, ROOM));
            written.and(remove(&path).map(drop))
        };
        check().map_err(|source| RecoverError::NoRoom { path: path.clone(), source })
    }

    /// Creates or extends the reserve if it is smaller than the writes of an opening. Does nothing if the extension
    /// takes more than half of the free space.
    pub(super) fn extend_reserve(&self) -> io::Result<()> {
        let Some(path) = self.beside_marker(RESERVE) else { return Ok(()) };
        let (room, kept) = (self.room()?, len(&path)?);
        if kept >= room {
            return Ok(());
        }
        // The reserve gets one eighth more than it needs, so that not every checkpoint extends it.
        let growth = room.saturating_add(room / 8).saturating_sub(kept);
        if free_space(path.parent().unwrap_or(&path))? / 2 < growth {
            return Ok(());
        }
        let mut reserve = open_reserve(&path)?;
        fill(&mut reserve, growth).or_else(|error| reserve.set_len(kept).and(Err(error)))
    }

    /// Extends the reserve as far as the disk has space, up to the writes of an opening.
    pub(super) fn take_rest(&self) -> io::Result<()> {
        let Some(path) = self.beside_marker(RESERVE) else { return Ok(()) };
        let growth = self.room()?.saturating_sub(len(&path)?);
        match fill(&mut open_reserve(&path)?, growth) {
            Err(error) if !is_no_room(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the reserve, and the file of an interrupted check. Returns whether one of them existed.
    pub(super) fn release_reserve(&self) -> io::Result<bool> {
        let (Some(probe), reserve) = (self.beside_marker(PROBE), self.reserve()) else { return Ok(false) };
        let released = [remove(&probe)?, remove(&reserve)?].contains(&true);
        if released {
            // File systems with a journal free the space only when the removal is durable.
            reserve.parent().map_or(Ok(()), sync)?;
        }
        Ok(released)
    }

    /// Returns the path of the reserve, or an empty path for a store in memory.
    fn reserve(&self) -> PathBuf {
        self.beside_marker(RESERVE).unwrap_or_default()
    }

    /// Returns the path of a file in the directory of the store, or `None` for a store in memory.
    fn beside_marker(&self, name: &str) -> Option<PathBuf> {
        self.marker.as_deref().and_then(Path::parent).map(|dir| dir.join(name))
    }

    /// Returns the maximum number of bytes that an opening writes: [`ROOM`] and the page tables of both engines. The
    /// size of a page table is at most the size of the stored tables, or the length of the log divided by
    /// [`LOG_PER_TABLE`], whichever is larger.
    fn room(&self) -> io::Result<u64> {
        let mut room = ROOM;
        for path in [&self.record, &self.state] {
            let (mut table, mut log) = (0_u64, 0);
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let len = entry.metadata()?.len();
                match entry.file_name().to_str() {
                    Some("db") => log = len,
                    Some(name) if name.starts_with("snap.") => table = table.saturating_add(len),
                    _ => {}
                }
            }
            room = room.saturating_add(table.max(log / LOG_PER_TABLE));
        }
        Ok(room)
    }
}

/// Removes a file. Returns whether it existed.
fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the length of a file in bytes, or 0 if it does not exist.
fn len(path: &Path) -> io::Result<u64> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn open_reserve(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Writes `room` bytes to a file and flushes it. After an error, the function flushes the bytes that it has written.
fn fill(file: &mut File, room: u64) -> io::Result<()> {
    // The bytes are random, because a file system could compress other bytes.
    let mut noise = 1_u64;
    let mut written = 0_u64;
    while written < room {
        let mut piece = Vec::with_capacity(PIECE);
        while piece.len() < PIECE {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            piece.extend_from_slice(&noise.to_be_bytes());
        }
        if let Err(error) = file.write_all(&piece) {
            file.sync_all()?;
            return Err(error);
        }
        written = written.saturating_add(PIECE as u64);
    }
    file.sync_all()
}

/// Returns whether an error means that the disk or the quota of the user is full.
pub(super) fn is_no_room(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Db, DbOptions, Durability};

    /// Returns a key for a number. Keys of ascending numbers are not in order.
    fn scattered(number: u64) -> [u8; 8] {
        number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
    }

    /// Writes entries with or without ordered keys, in batches of the size of a block. Checks that the next opening
    /// writes a page table that is not larger than expected.
    fn check_room(is_ordered: bool, value: usize, blocks: u64) {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::of(dir.path());
        let open = |path: &Path| {
            let options = DbOptions { cache_bytes: 8 << 20, durability: Durability::Relaxed };
            Db::open(path, options).unwrap()
        };
        drop(open(&layout.state));
        let db = open(&layout.record);
        for block in 0..blocks {
            let mut batch = crate::db::Batch::default();
            for entry in 0..20 {
                let number = block.saturating_mul(20).saturating_add(entry);
                let key = if is_ordered { number.to_be_bytes() } else { scattered(number) };
                batch.insert(key, vec![7; value]);
            }
            db.apply(batch).unwrap();
        }
        drop(db);
        let expected = layout.room().unwrap();
        drop(open(&layout.record));
        let (mut table, mut log) = (0, 0);
        for entry in fs::read_dir(&layout.record).unwrap().map(Result::unwrap) {
            match entry.file_name().to_str().unwrap() {
                "db" => log = entry.metadata().unwrap().len(),
                name if name.starts_with("snap.") => table = entry.metadata().unwrap().len(),
                _ => {}
            }
        }
        assert!(table > 0 && log > 0);
        assert!(expected >= ROOM.saturating_add(table), "{expected} for a table of {table} bytes beside {log} of log");
    }

    #[test]
    fn tables_of_pages_are_not_larger_than_what_is_reserved_for_them() {
        for value in [100, 300] {
            for is_ordered in [true, false] {
                check_room(is_ordered, value, 2000);
            }
        }
    }

    #[test]
    fn reserve_grows_with_the_databases_and_is_released_once() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::of(dir.path());
        for path in [&layout.record, &layout.state] {
            fs::create_dir(path).unwrap();
        }
        let len = || fs::metadata(dir.path().join(RESERVE)).unwrap().len();
        let with_eighth = |room: u64| (room + room / 8).next_multiple_of(PIECE as u64);
        assert!(!layout.release_reserve().unwrap());
        layout.extend_reserve().unwrap();
        assert_eq!(len(), with_eighth(ROOM));
        let grow = |path: PathBuf, len| File::create(path).unwrap().set_len(len).unwrap();
        grow(layout.record.join("db"), LOG_PER_TABLE << 20);
        layout.extend_reserve().unwrap();
        assert_eq!(len(), with_eighth(ROOM + (1 << 20)));
        grow(layout.state.join("snap.0000000000000001"), 3 << 20);
        layout.extend_reserve().unwrap();
        assert_eq!(len(), with_eighth(ROOM + (4 << 20)));
        layout.extend_reserve().unwrap();
        layout.take_rest().unwrap();
        assert_eq!(len(), with_eighth(ROOM + (4 << 20)), "it is large enough");
        File::create(dir.path().join(PROBE)).unwrap();
        assert!(layout.release_reserve().unwrap() && !layout.release_reserve().unwrap());
        assert!(!dir.path().join(PROBE).exists());
        layout.take_rest().unwrap();
        assert_eq!(len(), ROOM + (4 << 20));
        layout.require_room().unwrap();
        // This table is larger than any disk.
        grow(layout.record.join("snap.0000000000000001"), 8 << 40);
        layout.extend_reserve().unwrap();
        assert_eq!(len(), ROOM + (4 << 20), "it does not take what blocks need");
        assert!(matches!(layout.require_room(), Err(RecoverError::NoRoom { .. })));
        assert!(!dir.path().join(PROBE).exists());
        Layout::default().extend_reserve().unwrap();
        Layout::default().take_rest().unwrap();
        assert!(!Layout::default().release_reserve().unwrap());
    }

    #[test]
    fn full_disks_differ_from_other_failures() {
        let of = |kind: ErrorKind| crate::OpenError::RecordDb(crate::DbError::Io(kind.into()));
        assert!(of(ErrorKind::StorageFull).is_no_room() && of(ErrorKind::QuotaExceeded).is_no_room());
        assert!(!of(ErrorKind::PermissionDenied).is_no_room() && !of(ErrorKind::FileTooLarge).is_no_room());
    }
}
