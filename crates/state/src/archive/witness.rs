//! The file that remembers the newest acknowledged block.
//!
//! The engine may find its log damaged and silently go back to an earlier block. This file, which is not the engine's,
//! shows that: it is written after each flush, and not flushed itself, since a record that is ahead of it is fine. It
//! has two slots, written in turn, so that one is whole whenever the other is being written.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::{Mutex, PoisonError},
};

use silica_protocol::{BlockHash, BlockNumber};

use crate::codec::{seal, unseal};

const SLOT: usize = 8 + 32 + 4;
const FILE: u64 = 2 * SLOT as u64;
const KEY: &[u8] = b"silica witness";

/// The open file.
#[derive(Debug)]
pub(super) struct Witness(Mutex<File>);

impl Witness {
    /// Opens the file, which is made when there is none, and returns the newest block that it names. A file of which
    /// nothing can be read names none.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Option<(BlockNumber, BlockHash)>)> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut bytes = Vec::new();
        (&mut file).take(FILE).read_to_end(&mut bytes)?;
        let newest = bytes.chunks(SLOT).filter_map(read_slot).max_by_key(|(number, _)| *number);
        Ok((Self(Mutex::new(file)), newest))
    }

    /// Names an earlier block as the newest, and returns when that is durable: whoever removes the blocks after it must
    /// not be taken for one who lost them.
    pub(super) fn go_back(&self, number: BlockNumber, hash: &BlockHash) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).set_len(0)?;
        self.write(number, hash)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sync_all()
    }

    /// Names the newest acknowledged block.
    pub(super) fn write(&self, number: BlockNumber, hash: &BlockHash) -> io::Result<()> {
        let slot = seal(KEY, &[&number.get().to_be_bytes()[..], hash.as_bytes()].concat());
        let offset = if number.get().is_multiple_of(2) { 0 } else { SLOT as u64 };
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(&slot)
    }
}

fn read_slot(slot: &[u8]) -> Option<(BlockNumber, BlockHash)> {
    let (number, hash) = unseal(KEY, slot)?.split_first_chunk()?;
    Some((BlockNumber::new(u64::from_be_bytes(*number)), BlockHash::from_slice(hash)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reopen(path: &Path) -> Option<u64> {
        Witness::open(path).unwrap().1.map(|(number, _)| number.get())
    }

    #[test]
    fn newest_block_is_remembered_and_a_torn_slot_leaves_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("witness");
        let (witness, newest) = Witness::open(&path).unwrap();
        assert_eq!(newest, None);
        for number in 0..=6 {
            witness.write(BlockNumber::new(number), &BlockHash::new([7; 32])).unwrap();
            assert_eq!(reopen(&path), Some(number));
        }
        assert_eq!(Witness::open(&path).unwrap().1, Some((BlockNumber::new(6), BlockHash::new([7; 32]))));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[9] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(reopen(&path), Some(5));
        std::fs::write(&path, &bytes[..50]).unwrap();
        assert_eq!(reopen(&path), None);
        for number in [7, 8, 5, 6, 3] {
            witness.go_back(BlockNumber::new(number), &BlockHash::new([7; 32])).unwrap();
            assert_eq!(reopen(&path), Some(number));
        }
    }
}
