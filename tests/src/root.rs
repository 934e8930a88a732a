//! What only root can do on a machine: other users, disks that are full, and the memory of other processes.

use std::{
    collections::BTreeSet,
    env,
    fs::{self, File},
    io::Write,
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    process::Command,
};

use crate::node::Directory;

/// Whether this process runs as root. If it does not, the caller skips its test, and the reason is printed.
///
/// # Panics
///
/// When it does not, and the variable `CI` is set: a test that is skipped there shows nothing.
pub fn is_root(purpose: &str) -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        assert!(env::var_os("CI").is_none(), "only root can {purpose}, and CI has to run this test");
        eprintln!("skipped: only root can {purpose}");
    }
    is_root
}

/// Counts in the memory of a process how often it holds any of the given bytes, which all have the same length.
///
/// # Panics
///
/// When the process is gone, or may not be read.
pub fn copies_in_memory(process: u32, wanted: &[Vec<u8>]) -> usize {
    let len = wanted.first().map_or(1, Vec::len);
    let wanted: BTreeSet<&[u8]> = wanted.iter().map(Vec::as_slice).collect();
    let first: BTreeSet<u8> = wanted.iter().filter_map(|bytes| bytes.first().copied()).collect();
    let memory = File::open(format!("/proc/{process}/mem")).expect("root reads it");
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).expect("root reads it");
    let mut found = 0;
    for map in maps.lines() {
        let (range, rest) = map.split_once(' ').expect("a map has a range");
        if !rest.starts_with("rw") {
            continue;
        }
        let place = |text| u64::from_str_radix(text, 16).expect("a range is hexadecimal");
        let (start, end) = range.split_once('-').map(|(start, end)| (place(start), place(end))).expect("a range");
        let mut bytes = vec![0; usize::try_from(end - start).expect("it fits a process")];
        // Parts of it may be unreadable, or gone since.
        if memory.read_exact_at(&mut bytes, start).is_ok() {
            found += bytes.windows(len).filter(|window| first.contains(&window[0]) && wanted.contains(window)).count();
        }
    }
    found
}

/// A file system of a given size, in memory.
#[derive(Debug)]
pub struct SmallDisk(Directory);

impl SmallDisk {
    /// Mounts a file system of so many MiB.
    ///
    /// # Panics
    ///
    /// When the system refuses, which it does to others than root.
    pub fn new(mib: u32) -> Self {
        let directory = Directory::new();
        let options = format!("size={mib}m,mode=700");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(directory.path()).status();
        assert!(mounted.expect("mount runs").success(), "tmpfs is mounted");
        Self(directory)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves no room on it.
    ///
    /// # Panics
    ///
    /// When writing fails for another reason than that it is full.
    pub fn fill(&self) {
        let mut file =
            File::options().append(true).create(true).open(self.path().join("filler")).expect("it is mounted");
        loop {
            if let Err(error) = file.write_all(&[1; 4096]) {
                assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
                return;
            }
        }
    }

    /// Gives the room free again that [`SmallDisk::fill`] took.
    ///
    /// # Panics
    ///
    /// When nothing took it.
    pub fn free(&self) {
        fs::remove_file(self.path().join("filler")).expect("it was filled");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A process of the test may still have it open.
        drop(Command::new("umount").arg("--lazy").arg(self.path()).status());
    }
}
