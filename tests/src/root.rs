//! Operations that need root: other users, full disks, and the memory of other processes.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    io::Write,
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    process::Command,
};

use crate::node::Directory;

/// Returns whether this process runs as root. If not, the function prints the reason, and the caller skips its test.
///
/// # Panics
///
/// If the process does not run as root and the variable `CI` is set, because a skipped test in CI proves nothing.
#[expect(clippy::print_stderr, reason = "this is where tests say why they are skipped")]
pub fn is_root(purpose: &str) -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        assert!(env::var_os("CI").is_none(), "only root can {purpose}, and CI has to run this test");
        eprintln!("skipped: only root can {purpose}");
    }
    is_root
}

/// Searches the writable memory of a process for byte strings. `groups` has groups of byte strings. Returns, for each
/// group, how many copies of its byte strings the memory has.
///
/// # Panics
///
/// If the process has ended, if this process is not permitted to read the memory, or if a byte string has fewer than 8
/// bytes.
#[expect(
    clippy::indexing_slicing,
    reason = "all places are within what was read, and needles are longer than a beginning"
)]
pub fn copies_in_memory(process: u32, groups: &[Vec<Vec<u8>>]) -> Vec<usize> {
    let all = || groups.iter().enumerate().flat_map(|(group, wanted)| wanted.iter().map(move |bytes| (group, bytes)));
    let mut by_beginning = BTreeMap::<&[u8], Vec<(usize, &[u8])>>::new();
    let mut is_first = [false; 256];
    for (group, bytes) in all() {
        by_beginning.entry(&bytes[..BEGINNING]).or_default().push((group, bytes));
        is_first[usize::from(bytes[0])] = true;
    }
    let memory = File::open(format!("/proc/{process}/mem")).expect("root reads it");
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).expect("root reads it");
    let mut found = vec![0; groups.len()];
    for map in maps.lines() {
        let (range, rest) = map.split_once(' ').expect("a map has a range");
        let place = |text| u64::from_str_radix(text, 16).expect("a range is hexadecimal");
        let (start, end) = range.split_once('-').map(|(start, end)| (place(start), place(end))).expect("a range");
        let mut bytes = vec![0; usize::try_from(end - start).expect("it fits a process")];
        // Some parts of the memory are not readable, and the process can have released others after the read of the
        // list.
        if !rest.starts_with("rw") || memory.read_exact_at(&mut bytes, start).is_err() {
            continue;
        }
        for (page, content) in bytes.chunks(PAGE.len()).enumerate().filter(|(_, content)| **content != PAGE) {
            for (position, _) in content.iter().enumerate().filter(|(_, first)| is_first[usize::from(**first)]) {
                let here = &bytes[page * PAGE.len() + position..];
                let candidates = here.get(..BEGINNING).and_then(|beginning| by_beginning.get(beginning));
                for (group, wanted) in candidates.into_iter().flatten() {
                    found[*group] += usize::from(here.starts_with(wanted));
                }
            }
        }
    }
    found
}

/// A page of memory that was never written. The search skips such pages.
const PAGE: [u8; 4096] = [0; 4096];
/// Number of first bytes by which the search selects candidates.
const BEGINNING: usize = 8;

/// A file system of limited size in memory.
#[derive(Debug)]
pub struct SmallDisk(Directory);

impl SmallDisk {
    /// Mounts a file system of `mib` MiB.
    ///
    /// # Panics
    ///
    /// If the system refuses the mount. It refuses for all users except root.
    pub fn new(mib: u32) -> Self {
        let directory = Directory::new();
        let options = format!("size={mib}m,mode=700");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(directory.path()).status();
        assert!(mounted.expect("mount runs").success(), "tmpfs is mounted");
        Self(directory)
    }

    /// Returns the mount point.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills the file system with one file.
    ///
    /// # Panics
    ///
    /// If a write fails for any reason except a full disk.
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

    /// Frees the space that [`SmallDisk::fill`] used.
    ///
    /// # Panics
    ///
    /// If the file system was not filled.
    pub fn free(&self) {
        fs::remove_file(self.path().join("filler")).expect("it was filled");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A process of the test can have open files. A lazy unmount detaches the file system at once and frees it when
        // these files are closed.
        drop(Command::new("umount").arg("--lazy").arg(self.path()).status());
    }
}
