//! File functions that the standard library lacks.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    path::Path,
};

/// Creates a file. Removes an existing file or link of this name first, and does not follow the link.
pub(crate) fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => OpenOptions::new().write(true).create_new(true).open(path),
    }
}

/// Flushes a file or the entries of a directory. Returns when the file or the entries survive a power failure.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    let synced = File::open(path)?.sync_all();
    #[cfg(test)]
    SYNCED.with_borrow_mut(|all| all.push((path.to_owned(), names_in(path))));
    synced
}

/// Returns the number of free bytes in the file system of a directory.
#[cfg(unix)]
pub(crate) fn free_space(dir: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(dir)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
pub(crate) fn free_space(_: &Path) -> io::Result<u64> {
    Ok(u64::MAX)
}

/// Fills `bytes` from a position of a file on. Concurrent calls for the same file do not disturb each other.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, position)
}

/// Writes all bytes from a position of a file on.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, position)
}

/// The lock of the cursors of all files, on systems that always move the cursor of a file.
#[cfg(not(unix))]
static CURSOR: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

#[cfg(not(unix))]
pub(crate) fn read_exact_at(mut file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    let _cursor = CURSOR.lock();
    io::Seek::seek(&mut file, io::SeekFrom::Start(position))?;
    io::Read::read_exact(&mut file, bytes)
}

#[cfg(not(unix))]
pub(crate) fn write_all_at(mut file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    let _cursor = CURSOR.lock();
    io::Seek::seek(&mut file, io::SeekFrom::Start(position))?;
    io::Write::write_all(&mut file, bytes)
}

/// Returns the sorted names in a directory. Returns no names for a file.
#[cfg(test)]
pub(crate) fn names_in(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[cfg(test)]
thread_local! {
    /// The paths that this thread has flushed, with the names in each directory at that time.
    pub(crate) static SYNCED: std::cell::RefCell<Vec<(std::path::PathBuf, Vec<String>)>> =
        const { std::cell::RefCell::new(Vec::new()) };
}

/// Returns whether the metadata `one` and `other` belong to the same file.
#[cfg(unix)]
pub(crate) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
pub(crate) fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn link_is_replaced_and_what_it_names_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("room"), dir.path().join("victim"));
        fs::write(&victim, "of others").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        for _ in 0..2 {
            create_anew(&path).unwrap();
            assert!(path.symlink_metadata().unwrap().is_file());
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "of others");
    }
}
