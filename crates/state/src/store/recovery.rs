//! Going on after a write that failed.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::PoisonError,
};

use silica_protocol::{BlockHash, BlockNumber};

use super::{Databases, Layout, Opening, Store, open_archive};
use crate::{
    error::{DbError, RecoverError, StateError},
    file::create_anew,
    snapshot::Snapshot,
};

/// Bytes that have to be free, besides room for what the engines write when they are opened: for each of both a segment or two.
const ROOM: u64 = 2 << 20;
/// Name of the file that shows whether they are.
const PROBE: &str = "room";
/// Bytes of it that are written at once.
const PIECE: usize = 8 << 10;

impl Store {
    /// Goes on after a write or a flush has failed, as on a full disk: forgets what was written after the newest block that was
    /// flushed, of which the caller says number and hash, and takes blocks again. Returns the chain as of this block.
    ///
    /// If nothing is left of what failed, that is all. Otherwise the engines are closed and opened again, since they
    /// take no writes any more; one batch removes what the record may have of later blocks; and the store is opened again, as
    /// after a crash. So its state may have to be replayed, snapshots that were taken before answer what they know, and
    /// [`DbError::Retired`](crate::DbError::Retired) to everything else, and [holds](Store::hold) are what they were.
    ///
    /// # Errors
    ///
    /// [`RecoverError`]: blocks are refused as before, and it may be tried again. After [`RecoverError::NoRoom`],
    /// [`RecoverError::Lost`] and what only another process can mend, as much can be read as before this attempt, after all
    /// others perhaps nothing.
    pub fn recover(&mut self, number: BlockNumber, hash: &BlockHash) -> Result<Snapshot, RecoverError> {
        // What would be opened again is not what was closed.
        self.databases.record.require_in_place()?;
        self.databases.layout.require_room()?;
        let newest = self.core.archive.head().ok_or(RecoverError::Lost { number })?;
        let is_newest = newest.number == number && newest.hash == *hash;
        if newest.number < number || (newest.number == number && !is_newest) {
            // The chain was taken back, and whoever did so could not go on.
            return Err(RecoverError::Lost { number });
        }
        if is_newest && !self.has_failed() {
            return Ok(self.snapshot());
        }
        self.require_no_damage()?;
        // From here on nothing but opening again helps.
        self.core.archive.shut();
        self.checkpointer.stop();
        self.databases.state.retire();
        self.databases.record.retire();
        self.databases.record.reopen()?;
        self.databases.state.reopen()?;
        self.databases.renewed().remove_after(number, hash)?;
        let databases = self.databases.renewed();
        let opened =
            Self::open_databases(databases, self.options, None, &mut |_, _| {}).map_err(Opening::into_error)?;
        Ok(self.become_as(opened))
    }

    /// Refuses what only another process can mend, so that reads go on: engines that panicked, and state that is to be made
    /// anew.
    fn require_no_damage(&self) -> Result<(), RecoverError> {
        if self.databases.record.is_broken() || self.databases.state.is_broken() {
            return Err(RecoverError::Db(DbError::Broken));
        }
        match self.checkpointer.failure() {
            Some(failure) if failure.is_damage() || matches!(*failure, StateError::CheckpointPanicked) => {
                Err(RecoverError::Damaged(failure))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether blocks are refused, or there are some that were written and not flushed.
    fn has_failed(&mut self) -> bool {
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner);
        writer.written.is_some() || self.core.archive.is_broken() || self.checkpointer.failure().is_some()
    }
}

impl Databases {
    /// Removes what the record has of the blocks after one.
    fn remove_after(&self, number: BlockNumber, hash: &BlockHash) -> Result<(), RecoverError> {
        let Self { record, changes, state, layout, holds: _ } = self;
        let archive = open_archive((record, changes), state, layout.witness.as_deref(), &mut |_, _| {});
        let archive = archive.map_err(Opening::into_error)?;
        let removal = archive.blocks_after(number, hash)?.ok_or(RecoverError::Lost { number })?;
        archive.remove(removal).map_err(RecoverError::Append)?;
        Ok(())
    }
}

impl Layout {
    /// Tries whether there is room for what opening writes, so that nothing is closed that cannot be opened again.
    fn require_room(&self) -> Result<(), RecoverError> {
        // In memory there is none of it.
        let Some(dir) = self.marker.as_deref().and_then(Path::parent) else { return Ok(()) };
        let path = dir.join(PROBE);
        let tried = self.room().and_then(|room| try_room(&path, room));
        let removed = match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        tried.and(removed).map_err(|source| RecoverError::NoRoom { path, source })
    }

    /// The engines write their tables of pages anew.
    fn room(&self) -> io::Result<u64> {
        let mut room = ROOM;
        for path in [&self.record, &self.state] {
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                if entry.file_name().to_str().is_some_and(|name| name.starts_with("snap.")) {
                    room = room.saturating_add(entry.metadata()?.len());
                }
            }
        }
        Ok(room)
    }
}

/// Writes so many bytes to a file, and returns when they are on the disk.
fn try_room(path: &Path, room: u64) -> io::Result<()> {
    let mut file = create_anew(path)?;
    // Nothing that a file system compresses.
    let mut noise = 1_u64;
    let mut written = 0_u64;
    while written < room {
        let mut piece = Vec::with_capacity(PIECE);
        while piece.len() < PIECE {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            piece.extend_from_slice(&noise.to_be_bytes());
        }
        file.write_all(&piece)?;
        written = written.saturating_add(PIECE as u64);
    }
    file.sync_all()
}
