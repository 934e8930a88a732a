//! The head marker: a file that names the newest acknowledged block (`docs/adr/0018-head-marker.md`).
//!
//! If the log of the engine is damaged, the engine can revert to an earlier block without an error. The engine does not
//! write the head marker, so a comparison of the record with the head marker detects the lost blocks. The marker is
//! written after each flush of the record. This write is not flushed, because the record may be ahead of its marker.
//! The marker has two slots, and the writes of new blocks alternate between them. Therefore an interrupted write leaves
//! the other slot complete.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use parking_lot::{Mutex, MutexGuard};
use silica_protocol::{BlockHash, BlockNumber};

use crate::codec::{seal, unseal};

/// Bytes of a slot: number, hash, checksum.
const SLOT: usize = 8 + 32 + 4;
/// Bytes of the file: two slots.
const FILE: u64 = 2 * SLOT as u64;
/// Key of the checksum of a slot.
const KEY: &[u8] = b"silica witness";

/// The open file of the head marker.
#[derive(Debug)]
pub(super) struct HeadMarker(Mutex<Slots>);

#[derive(Debug)]
struct Slots {
    file: File,
    /// The slot of the last write: 0 or 1.
    last: u64,
}

impl HeadMarker {
    /// Opens the file, or creates it. Returns the newest block that the file names, or `None` if no slot is readable.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Option<(BlockNumber, BlockHash)>)> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut bytes = Vec::new();
        (&mut file).take(FILE).read_to_end(&mut bytes)?;
        let slots = (0..).zip(bytes.chunks(SLOT)).filter_map(|(slot, bytes)| Some((slot, read_slot(bytes)?)));
        let newest = slots.max_by_key(|(_, (number, _))| *number);
        let last = newest.map_or(1, |(slot, _)| slot);
        Ok((Self(Mutex::new(Slots { file, last })), newest.map(|(_, newest)| newest)))
    }

    /// Writes an earlier block into both slots, and flushes the file. Without the flush, the next opening could report
    /// that the removed blocks are lost.
    pub(super) fn go_back(&self, number: BlockNumber, hash: &BlockHash) -> io::Result<()> {
        let slot = encode_slot(number, hash);
        let mut slots = self.slots();
        slots.file.seek(SeekFrom::Start(0))?;
        slots.file.write_all(&slot.repeat(2))?;
        slots.file.sync_data()
    }

    /// Writes the newest acknowledged block into the older slot. Does not flush the file.
    pub(super) fn write(&self, number: BlockNumber, hash: &BlockHash) -> io::Result<()> {
        let slot = encode_slot(number, hash);
        let mut slots = self.slots();
        let next = slots.last ^ 1;
        slots.file.seek(SeekFrom::Start(next.saturating_mul(SLOT as u64)))?;
        slots.file.write_all(&slot)?;
        slots.last = next;
        Ok(())
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.0.lock()
    }
}

fn encode_slot(number: BlockNumber, hash: &BlockHash) -> Vec<u8> {
    seal(KEY, &[&number.get().to_be_bytes()[..], hash.as_bytes()].concat())
}

fn read_slot(slot: &[u8]) -> Option<(BlockNumber, BlockHash)> {
    let (number, hash) = unseal(KEY, slot)?.split_first_chunk()?;
    Some((BlockNumber::new(u64::from_be_bytes(*number)), BlockHash::try_from(hash).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reopen(path: &Path) -> Option<u64> {
        HeadMarker::open(path).unwrap().1.map(|(number, _)| number.get())
    }

    #[test]
    fn newest_block_is_remembered_and_a_torn_slot_leaves_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("witness");
        let (head_marker, newest) = HeadMarker::open(&path).unwrap();
        assert_eq!(newest, None);
        for number in 0..=6 {
            head_marker.write(BlockNumber::new(number), &BlockHash::new([7; 32])).unwrap();
            assert_eq!(reopen(&path), Some(number));
        }
        assert_eq!(HeadMarker::open(&path).unwrap().1, Some((BlockNumber::new(6), BlockHash::new([7; 32]))));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[9] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(reopen(&path), Some(5));
        std::fs::write(&path, &bytes[..50]).unwrap();
        assert_eq!(reopen(&path), None);
    }

    /// Damages the first slot, and then only the second slot. Returns the sorted numbers of the blocks that the file
    /// then names.
    fn torn(path: &Path) -> [Option<u64>; 2] {
        let whole = std::fs::read(path).unwrap();
        let mut found = [9, SLOT.saturating_add(9)].map(|place| {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            std::fs::write(path, &bytes).unwrap();
            reopen(path)
        });
        std::fs::write(path, &whole).unwrap();
        found.sort_unstable();
        found
    }

    #[test]
    fn slots_are_written_in_turn_whatever_the_numbers_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("witness");
        let hash = BlockHash::new([7; 32]);
        let mut head_marker = HeadMarker::open(&path).unwrap().0;
        head_marker.write(BlockNumber::new(9), &hash).unwrap();
        let mut last = 9;
        for (number, goes_back) in
            [(10, false), (26, false), (28, false), (12, true), (14, false), (13, true), (8, true), (9, false)]
        {
            if goes_back {
                head_marker.go_back(BlockNumber::new(number), &hash).unwrap();
                assert_eq!(torn(&path), [Some(number); 2]);
            } else {
                head_marker.write(BlockNumber::new(number), &hash).unwrap();
                assert_eq!(torn(&path), [Some(last), Some(number)]);
            }
            assert_eq!(reopen(&path), Some(number));
            last = number;
            if number == 28 {
                head_marker = HeadMarker::open(&path).unwrap().0;
            }
        }
    }
}
