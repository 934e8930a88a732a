//! The state diffs of recent blocks. Opening the store applies them to the newest checkpoint. A diff is stored until a
//! checkpoint contains its block and the state history does not need the diff.
//!
//! The diffs are not in the record, because the engine does not reuse the space of removed values between other values.
//! They are frames in files. A file of 4 MiB or more gets no further frame. The process appends whole frames to a file.
//! A file is removed when none of its frames is needed. No file is overwritten or truncated. An incomplete frame at the
//! end of a file stays, because each process begins a new file.
//!
//! ```text
//! frame   number of block (8)  hash of block (32)  length (8)  state diff  CRC-32C (4)
//! ```
//!
//! No block depends on its diff. If a diff is lost or damaged, the node executes the blocks since the checkpoint again.
//! Therefore a commit does not wait for the flush of the diff. A checkpoint waits for it.

mod files;

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "an overflow fails the test")]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
};

use parking_lot::{Mutex, MutexGuard};
use silica_protocol::{BlockHash, BlockNumber};

pub(crate) use self::files::Files;
#[cfg(test)]
pub(crate) use self::files::Memory;
use crate::codec::{SEAL_LEN, seal, unseal};

/// Prefix of the data under each checksum.
const KEY: &[u8] = b"silica change";
/// Bytes of a frame before the state diff.
const HEADER: usize = 8 + 32 + 8;
/// Length of a file in bytes. If the current file has this length or more, the next frame begins a new file.
const ROLL: u64 = 4 << 20;

/// The stored state diffs. One thread appends, and others can read.
#[derive(Debug)]
pub(super) struct Changes {
    files: Files,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Frames by the number of their block.
    frames: BTreeMap<u64, Frame>,
    /// Files with frames, by name.
    extents: BTreeMap<u64, Extent>,
    /// The file that this process appends to, or `None` if the next append begins a new file.
    current: Option<u64>,
    /// Name of the next new file.
    next: u64,
    /// Files that can have bytes that are not durable.
    unsynced: BTreeSet<u64>,
}

/// The position of a frame in its file.
#[derive(Clone, Copy, Debug)]
struct Frame {
    hash: BlockHash,
    file: u64,
    offset: u64,
    len: u64,
}

/// A file with frames.
#[derive(Clone, Copy, Debug)]
struct Extent {
    len: u64,
    /// Numbers of the oldest and the newest block with a frame in this file.
    oldest: u64,
    newest: u64,
}

impl Extent {
    const fn new(block: u64, len: u64) -> Self {
        Self { len, oldest: block, newest: block }
    }

    fn take_in(&mut self, block: u64) {
        (self.oldest, self.newest) = (self.oldest.min(block), self.newest.max(block));
    }
}

impl Changes {
    /// Opens the files, and finds the complete frames of blocks up to `head`. Removes a file without such frames.
    pub(super) fn open(files: Files, head: Option<BlockNumber>) -> io::Result<Self> {
        let mut kept = Kept::default();
        for name in files.list()? {
            kept.next = name.saturating_add(1);
            let (mut reader, len) = files.reader(name)?;
            kept.scan(&mut reader, name, len, head);
            if !kept.extents.contains_key(&name) {
                files.remove(name)?;
            }
        }
        // The bytes of the previous process may be only in the page cache. Reading these bytes does not make them
        // durable.
        kept.unsynced = kept.extents.keys().copied().collect();
        Ok(Self { files, kept: Mutex::new(kept) })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock()
    }

    /// Appends the state diff of a block. Does not flush the file.
    pub(super) fn append(&self, number: BlockNumber, hash: BlockHash, change: &[u8]) -> io::Result<()> {
        let mut kept = self.kept();
        let file = kept.file_to_append();
        let len = u64::try_from(change.len()).unwrap_or(u64::MAX);
        let header = [&number.get().to_be_bytes()[..], hash.as_bytes(), &len.to_be_bytes()].concat();
        let frame = seal(KEY, &[&header, change].concat());
        let extent = kept.extents.entry(file).or_insert(Extent::new(number.get(), 0));
        extent.take_in(number.get());
        let offset = extent.len;
        kept.unsynced.insert(file);
        if let Err(error) = self.files.append(file, &frame) {
            // A reader stops at the incomplete frame, so later frames go into a new file.
            kept.current = None;
            return Err(error);
        }
        kept.frames.insert(number.get(), Frame { hash, file, offset, len });
        if let Some(extent) = kept.extents.get_mut(&file) {
            extent.len = offset.saturating_add(u64::try_from(frame.len()).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// Makes the next append begin a new file. A later revert can then remove the new file and keep the earlier files.
    pub(super) fn begin_file(&self) {
        self.kept().current = None;
    }

    /// Returns the length of the state diff of a block in bytes, or `None` if it is not stored.
    pub(super) fn len_of(&self, number: BlockNumber, hash: &BlockHash) -> Option<u64> {
        self.frame(number, hash).map(|frame| frame.len)
    }

    /// Returns the state diff of a block, or `None` if the state diff is missing or damaged.
    pub(super) fn read(&self, number: BlockNumber, hash: &BlockHash) -> io::Result<Option<Vec<u8>>> {
        let Some(frame) = self.frame(number, hash) else { return Ok(None) };
        let len = usize::try_from(frame.len).ok().and_then(|len| len.checked_add(HEADER)?.checked_add(SEAL_LEN));
        let bytes = match self.files.read_at(frame.file, frame.offset, len.unwrap_or(usize::MAX)) {
            Ok(bytes) => bytes,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let payload = unseal(KEY, &bytes).and_then(|payload| payload.split_at_checked(HEADER));
        let expected = (number.get(), *hash, frame.len);
        Ok(payload.filter(|(header, _)| decode_header(header) == Some(expected)).map(|(_, change)| change.to_vec()))
    }

    fn frame(&self, number: BlockNumber, hash: &BlockHash) -> Option<Frame> {
        self.kept().frames.get(&number.get()).filter(|frame| frame.hash == *hash).copied()
    }

    /// Flushes all files, and returns when the stored diffs are durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        let names: Vec<_> = self.kept().unsynced.iter().copied().collect();
        for name in names {
            // The name is removed before the flush, so that an append during the flush adds the name again.
            self.kept().unsynced.remove(&name);
            match self.files.sync(name) {
                Err(error) if !is_missing(&error) => {
                    self.kept().unsynced.insert(name);
                    return Err(error);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Drops the diffs of the blocks up to `number`, and removes files that have only such diffs.
    pub(super) fn prune(&self, number: BlockNumber) -> io::Result<()> {
        let mut kept = self.kept();
        kept.frames = kept.frames.split_off(&number.get().saturating_add(1));
        self.remove_files(&mut kept, |extent| extent.newest <= number.get())
    }

    /// Drops the diffs of the blocks after `number`, and removes files that have only such diffs. The next append
    /// begins a new file.
    pub(super) fn go_back(&self, number: BlockNumber) -> io::Result<()> {
        let mut kept = self.kept();
        drop(kept.frames.split_off(&number.get().saturating_add(1)));
        kept.current = None;
        self.remove_files(&mut kept, |extent| extent.oldest > number.get())?;
        for extent in kept.extents.values_mut() {
            extent.newest = extent.newest.min(number.get());
        }
        Ok(())
    }

    fn remove_files(&self, kept: &mut Kept, is_passed: impl Fn(&Extent) -> bool) -> io::Result<()> {
        let passed = kept.extents.iter().filter(|(_, extent)| is_passed(extent)).map(|(name, _)| *name);
        for name in passed.collect::<Vec<_>>() {
            match self.files.remove(name) {
                Err(error) if !is_missing(&error) => return Err(error),
                _ => {}
            }
            kept.extents.remove(&name);
            kept.unsynced.remove(&name);
            kept.current = kept.current.filter(|current| *current != name);
        }
        Ok(())
    }

    /// Returns the length of all files in bytes.
    pub(super) fn size_on_disk(&self) -> u64 {
        self.kept().extents.values().map(|extent| extent.len).fold(0, u64::saturating_add)
    }
}

impl Kept {
    /// Adds the frames of a file for blocks up to `head`. Stops at the first frame that is torn, damaged or unreadable.
    fn scan(&mut self, reader: &mut dyn Read, file: u64, len: u64, head: Option<BlockNumber>) {
        let (mut offset, mut frame) = (0_u64, Vec::new());
        while let Ok(Some((number, hash, change))) = read_frame(reader, len.saturating_sub(offset), &mut frame) {
            if head.is_some_and(|head| number <= head.get()) {
                self.frames.insert(number, Frame { hash, file, offset, len: change });
                self.extents.entry(file).or_insert(Extent::new(number, len)).take_in(number);
            }
            offset = offset.saturating_add(u64::try_from(frame.len()).unwrap_or(u64::MAX));
        }
    }

    /// Returns the file to append to. Begins a new file if there is no current file, or if the current file has reached
    /// [`ROLL`] bytes.
    fn file_to_append(&mut self) -> u64 {
        let is_full = |name: &u64| self.extents.get(name).is_some_and(|extent| extent.len >= ROLL);
        if let Some(current) = self.current.filter(|current| !is_full(current)) {
            return current;
        }
        let name = self.next;
        self.current = Some(name);
        self.next = name.saturating_add(1);
        name
    }
}

/// Reads the next frame into `frame`. `rest` is the number of bytes up to the end of the file. Returns number and hash
/// of the block and the length of the diff, or `None` if no complete frame follows.
fn read_frame(reader: &mut dyn Read, rest: u64, frame: &mut Vec<u8>) -> io::Result<Option<(u64, BlockHash, u64)>> {
    frame.clear();
    let mut take = |frame: &mut Vec<u8>, len: u64| {
        reader.take(len).read_to_end(frame).map(|read| u64::try_from(read).is_ok_and(|read| read == len))
    };
    if !take(frame, HEADER as u64)? {
        return Ok(None);
    }
    let Some(header) = decode_header(frame) else { return Ok(None) };
    let body = header.2.saturating_add(SEAL_LEN as u64);
    if body > rest.saturating_sub(HEADER as u64) || !take(frame, body)? {
        return Ok(None);
    }
    Ok(unseal(KEY, frame).map(|_| header))
}

fn decode_header(header: &[u8]) -> Option<(u64, BlockHash, u64)> {
    let (number, rest) = header.split_first_chunk()?;
    let (hash, rest) = rest.split_first_chunk()?;
    let (len, _) = rest.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), BlockHash::new(*hash), u64::from_be_bytes(*len)))
}

/// Returns whether a file is missing or ends too early.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof)
}
