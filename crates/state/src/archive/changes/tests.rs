//! Tests of the files of state diffs, in a directory and in memory. They cut off writes at every byte, and read during
//! writes.

use std::{
    fs,
    io::Cursor,
    path::Path,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};

use proptest::{collection::vec, prelude::*};
use silica_protocol::sha256;

use super::*;
use crate::db::Durability;

fn hash(number: u64) -> BlockHash {
    BlockHash::new(sha256(&[&number.to_be_bytes()]))
}

/// Returns the state diff of a block. The number of the block determines its length.
fn change(number: u64) -> Vec<u8> {
    vec![number as u8; (number as usize).wrapping_mul(37) % 300]
}

fn append(changes: &Changes, number: u64) -> io::Result<()> {
    changes.append(BlockNumber::new(number), hash(number), &change(number))
}

fn read(changes: &Changes, number: u64) -> Option<Vec<u8>> {
    let (block, hash) = (BlockNumber::new(number), hash(number));
    let read = changes.read(block, &hash).unwrap();
    assert!(read.is_none() || changes.len_of(block, &hash) == read.as_ref().map(|change| change.len() as u64));
    read
}

/// Opens the files with the block before `blocks` as the head.
fn open(files: &Files, blocks: u64) -> Changes {
    Changes::open(files.clone(), blocks.checked_sub(1).map(BlockNumber::new)).unwrap()
}

fn directory(path: &Path) -> Files {
    Files::Directory(path.join("changes"), Durability::Flush)
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Append,
    Sync,
    Prune(u64),
    Reopen,
    /// Reverts the newest blocks. The value is their number.
    GoBack(u64),
    /// Opens the files with a head that is lower by this number of blocks, as after a crash that lost unflushed blocks.
    LoseBlocks(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => Just(Op::Append),
        1 => Just(Op::Sync),
        2 => (0..12_u64).prop_map(Op::Prune),
        1 => Just(Op::Reopen),
        2 => (0..9_u64).prop_map(Op::GoBack),
        1 => (0..3_u64).prop_map(Op::LoseBlocks),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn directory_and_memory_hold_the_same(ops in vec(op(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        let files = [directory(dir.path()), Files::in_memory()];
        let mut changes = files.each_ref().map(|files| open(files, 0));
        let (mut blocks, mut pruned) = (0, 0);
        for op in ops {
            match op {
                Op::Append => {
                    for changes in &changes {
                        append(changes, blocks).unwrap();
                    }
                    blocks += 1;
                }
                Op::Sync => changes.iter().for_each(|changes| changes.sync().unwrap()),
                Op::Prune(back) => {
                    let Some(number) = blocks.checked_sub(back + 1) else { continue };
                    for changes in &changes {
                        changes.prune(BlockNumber::new(number)).unwrap();
                    }
                    pruned = pruned.max(number + 1);
                }
                Op::Reopen => changes = files.each_ref().map(|files| open(files, blocks)),
                Op::GoBack(back) => {
                    let Some(number) = blocks.checked_sub(back + 1) else { continue };
                    for changes in &changes {
                        changes.go_back(BlockNumber::new(number)).unwrap();
                    }
                    (number + 1..blocks).for_each(|undone| assert_eq!(read(&changes[0], undone), None));
                    blocks = number + 1;
                    pruned = pruned.min(blocks);
                }
                Op::LoseBlocks(lost) => {
                    blocks = blocks.saturating_sub(lost);
                    pruned = pruned.min(blocks);
                    changes = files.each_ref().map(|files| open(files, blocks));
                }
            }
            prop_assert_eq!(files[0].list().unwrap(), files[1].list().unwrap());
            prop_assert_eq!(changes[0].size_on_disk(), changes[1].size_on_disk());
            for number in 0..blocks {
                let kept = changes.each_ref().map(|changes| read(changes, number));
                prop_assert_eq!(&kept[0], &kept[1]);
                prop_assert!(kept[0].as_ref().map_or(number < pruned, |kept| *kept == change(number)), "block {}", number);
            }
        }
    }
}

/// Lets every write, flush and removal fail once. Then the process ends, or the power fails.
#[test]
fn any_write_may_be_the_last() {
    let mut cuts = 0;
    for (end, cut_after) in (0..4).flat_map(|end| (0..40).map(move |cut_after| (end, cut_after))) {
        let memory = Memory::default();
        let files = Files::Memory(memory.clone());
        let mut changes = open(&files, 0);
        (0..3).for_each(|number| append(&changes, number).unwrap());
        memory.fail_after(cut_after);
        // The diffs of the blocks after the last pruned block, up to the last flushed block, must exist.
        let (mut blocks, mut synced, mut pruned) = (3, 0, 0);
        let mut run = || {
            for round in 0..8 {
                if round % 2 == 1 {
                    changes = open(&files, blocks);
                }
                for _ in 0..2 {
                    append(&changes, blocks)?;
                    blocks += 1;
                }
                changes.sync()?;
                synced = blocks;
                pruned = (blocks - 3).max(pruned);
                changes.prune(BlockNumber::new(pruned - 1))?;
            }
            io::Result::Ok(())
        };
        cuts += u32::from(run().is_err());
        drop(changes);
        match end {
            0 => {
                memory.kill();
                synced = blocks;
            }
            1 => memory.crash(0, true),
            2 => memory.crash(cut_after as usize * 13, false),
            _ => memory.crash(usize::MAX, true),
        }
        let changes = open(&files, blocks);
        for number in 0..blocks {
            match read(&changes, number) {
                Some(kept) => assert_eq!(kept, change(number)),
                None => assert!(!(pruned..synced).contains(&number), "{end}, {cut_after}: block {number} is lost"),
            }
        }
        (blocks..blocks + 3).for_each(|number| append(&changes, number).unwrap());
        changes.sync().unwrap();
        let changes = open(&files, blocks + 3);
        (blocks..blocks + 3).for_each(|number| assert_eq!(read(&changes, number), Some(change(number))));
        changes.prune(BlockNumber::new(blocks + 2)).unwrap();
        assert_eq!(files.list().unwrap(), [0; 0], "{end}, {cut_after}");
    }
    assert!(cuts > 100, "{cuts} cuts");
}

#[test]
fn file_is_read_up_to_any_place_where_it_ends() {
    let memory = Memory::default();
    let files = Files::Memory(memory.clone());
    let changes = open(&files, 0);
    let mut ends = Vec::new();
    for number in 0..4 {
        append(&changes, number).unwrap();
        ends.push(changes.size_on_disk() as usize);
    }
    let (mut reader, len) = files.reader(0).unwrap();
    let mut whole = Vec::new();
    reader.read_to_end(&mut whole).unwrap();
    assert_eq!((len as usize, ends.last()), (whole.len(), Some(&whole.len())));
    for end in (0..=whole.len()).rev() {
        memory.damage(|_, bytes| bytes.truncate(end));
        let changes = open(&files, 4);
        for (number, frame_end) in (0..).zip(&ends) {
            assert_eq!(read(&changes, number), (*frame_end <= end).then(|| change(number)), "{end}");
        }
    }
    assert_eq!(files.list().unwrap(), [0; 0]);
    // The disk cannot read the rest of the file.
    for end in 0..whole.len() {
        struct Bad;
        impl Read for Bad {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("bad place"))
            }
        }
        let mut kept = Kept::default();
        let mut reader = Cursor::new(&whole[..end]).chain(Bad);
        kept.scan(&mut reader, 0, len, Some(BlockNumber::new(3)));
        assert_eq!(kept.frames.len(), ends.iter().filter(|frame_end| **frame_end <= end).count());
    }
}

#[test]
fn files_that_could_not_be_synced_are_synced_later() {
    for failing in 0..3 {
        let memory = Memory::default();
        let files = Files::Memory(memory.clone());
        for number in 0..3 {
            append(&open(&files, number), number).unwrap();
        }
        let changes = open(&files, 3);
        memory.fail_after(failing);
        changes.sync().unwrap_err();
        memory.fail_after(u64::MAX);
        changes.sync().unwrap();
        memory.crash(0, true);
        let changes = open(&files, 3);
        (0..3).for_each(|number| assert_eq!(read(&changes, number), Some(change(number)), "{failing}"));
    }
}

#[test]
fn file_that_could_not_be_removed_is_removed_later() {
    let memory = Memory::default();
    let files = Files::Memory(memory.clone());
    let changes = open(&files, 0);
    append(&changes, 0).unwrap();
    memory.fail_after(0);
    changes.prune(BlockNumber::new(0)).unwrap_err();
    assert_eq!(read(&changes, 0), None);
    memory.fail_after(u64::MAX);
    changes.prune(BlockNumber::new(0)).unwrap();
    assert_eq!(files.list().unwrap(), [0; 0]);
}

#[test]
fn foreign_files_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let files = directory(dir.path());
    append(&open(&files, 0), 0).unwrap();
    let foreign = ["1", "+0000001", "00000001.new", "000000001", "notes"];
    for name in foreign {
        fs::write(dir.path().join("changes").join(name), b"not ours").unwrap();
    }
    let changes = open(&files, 1);
    assert_eq!(files.list().unwrap(), [0]);
    assert_eq!(read(&changes, 0), Some(change(0)));
    append(&changes, 1).unwrap();
    changes.prune(BlockNumber::new(1)).unwrap();
    assert_eq!(fs::read_dir(dir.path().join("changes")).unwrap().count(), foreign.len());
}

/// A reader gets the whole diff or none, during appends, flushes and removals.
#[test]
fn changes_are_read_while_others_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let changes = open(&directory(dir.path()), 0);
    let (written, rounds) = (AtomicU64::new(0), AtomicU64::new(0));
    let of = |number: u64| vec![number as u8; 200_000 + number as usize];
    thread::scope(|scope| {
        scope.spawn(|| {
            while written.load(Relaxed) < 150 {
                changes.sync().unwrap();
                if let Some(passed) = written.load(Relaxed).checked_sub(40) {
                    changes.prune(BlockNumber::new(passed)).unwrap();
                }
            }
        });
        let reader = scope.spawn(|| {
            let mut found = 0;
            while written.load(Relaxed) < 150 {
                let newest = written.load(Relaxed);
                for number in newest.saturating_sub(60)..newest {
                    if let Some(change) = read_any(&changes, number) {
                        assert!(change == of(number), "block {number}");
                        found += 1;
                    }
                }
                rounds.fetch_add(1, Relaxed);
            }
            found
        });
        for number in 0..150 {
            // Before the last append, the reader must begin and complete a round, on a machine of any speed.
            let enough = rounds.load(Relaxed) + 2;
            while number == 149 && rounds.load(Relaxed) < enough && !reader.is_finished() {
                thread::yield_now();
            }
            changes.append(BlockNumber::new(number), hash(number), &of(number)).unwrap();
            written.store(number + 1, Relaxed);
        }
        assert!(reader.join().unwrap() > 0);
    });
    assert!(read_any(&changes, 149).is_some());
}

fn read_any(changes: &Changes, number: u64) -> Option<Vec<u8>> {
    changes.read(BlockNumber::new(number), &hash(number)).unwrap()
}
