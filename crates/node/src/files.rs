//! Files of a data directory. The node creates them with permissions for their owner only, and opens only files with
//! the expected properties.
//!
//! Another user who can write to the directory before the node starts can create entries with the names of its files.
//! Examples are a link that sends the secret key elsewhere, a file that other users can read, and a pipe or a device
//! without an end. [`inspect`] rejects such entries once, before the node opens a file. The node checks the directory
//! too. After that, only the owner of the directory can add entries. Its group can add entries if the mode permits
//! this. [`open`] checks the opened file again, by its descriptor.

use std::{
    fs::{self, DirBuilder, DirEntry, File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, io::Errno, process::geteuid};
use zeroize::Zeroizing;

/// Permission bits of all users except the owner.
const OTHERS: u32 = 0o077;
const GROUP_WRITE: u32 = 0o020;
const WORLD_WRITE: u32 = 0o002;

/// The remedy in the error text for a file system without permission bits, such as vfat and some network file systems.
const WITHOUT_MODES: &str =
    "the file system stores no modes: mount it with umask=077, or choose a directory on another file system";

/// Name of the directory in which a check of a file system stores the files that it finds.
const LOST_AND_FOUND: &str = "lost+found";

/// An entry of the file system has unexpected properties, or other users can change or read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be trusted: expected {expected}, got {got}; {remedy}", path.display())]
pub struct UntrustedFile {
    /// Path of the entry.
    pub path: PathBuf,
    /// The expected property.
    pub expected: String,
    /// The actual property.
    pub got: String,
    /// The remedy for the operator.
    pub remedy: String,
}

/// Reason why a file was not opened or read.
#[derive(Debug)]
pub(crate) enum FileError {
    Untrusted(UntrustedFile),
    Io(io::Error),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The expected kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Directory,
    /// A directory that has only directories and files of this program.
    Tree,
    /// A file that other users may read.
    File,
    /// A file that only its owner may read.
    Secret,
}

/// The properties of an entry.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: &'static str,
    owner: u32,
    /// Permission bits.
    mode: u32,
    /// Number of hard links.
    names: u64,
}

impl Entry {
    fn of(metadata: &Metadata) -> Self {
        let kind = metadata.file_type();
        let kind = match () {
            () if kind.is_file() => "a file",
            () if kind.is_dir() => "a directory",
            () if kind.is_symlink() => "a symbolic link",
            () if kind.is_fifo() => "a named pipe",
            () if kind.is_socket() => "a socket",
            () => "a device",
        };
        Self { kind, owner: metadata.uid(), mode: metadata.mode() & 0o7777, names: metadata.nlink() }
    }

    /// Checks that a process of the user with the id `user` can trust the entry.
    fn check(self, path: &Path, wanted: Wanted, user: u32) -> Result<(), UntrustedFile> {
        let shown = path.display();
        let refuse = |expected: &str, got: String, remedy: String| {
            Err(UntrustedFile { path: path.to_owned(), expected: expected.to_owned(), got, remedy })
        };
        let Self { kind, owner, mode, names } = self;
        let expected = match wanted {
            Wanted::Directory | Wanted::Tree => "a directory",
            Wanted::File | Wanted::Secret => "a file",
        };
        if kind != expected {
            let remedy = match wanted {
                Wanted::Directory | Wanted::Tree => {
                    "replace it by a directory, for example by the target of a link, or choose another directory"
                }
                Wanted::File | Wanted::Secret => "remove it, or choose another directory",
            };
            return refuse(expected, kind.to_owned(), remedy.to_owned());
        }
        if owner != user {
            let remedy = format!(
                "run silica as user {owner}, or run `chown -R {user} {shown}` if no other user put files there, or choose \
                 another directory"
            );
            return refuse(&format!("owner {user}, the user of this process"), format!("owner {owner}"), remedy);
        }
        if wanted == Wanted::Secret && mode & OTHERS != 0 {
            let remedy = format!(
                "run `chmod 600 {shown}`, and replace the keys in it if others may have read them; if the mode stays, {WITHOUT_MODES}"
            );
            return refuse("mode 600", format!("mode {mode:03o}"), remedy);
        }
        if wanted == Wanted::Secret && names > 1 {
            let remedy = format!(
                "run `find \"$(stat -c %m {shown})\" -xdev -samefile {shown}`, and remove the other names, or replace {shown} by \
                 a copy of it"
            );
            return refuse("a file with one name", format!("{names} names, which are hard links"), remedy);
        }
        if mode & WORLD_WRITE != 0 {
            let remedy = format!(
                "run `chmod go-w {shown}` if no other user put files there, or choose another directory; if the mode stays, {WITHOUT_MODES}"
            );
            return refuse("that only its owner can write", format!("mode {mode:03o}"), remedy);
        }
        Ok(())
    }
}

/// Opens a directory. Rejects a directory of another user, and a directory to which every user can write. Accepts a
/// directory to which the group can write. Follows symbolic links, because the operator names the path.
pub(crate) fn open_directory(path: &Path) -> Result<File, FileError> {
    let directory = File::open(path)?;
    Entry::of(&directory.metadata()?).check(path, Wanted::Directory, user()).map_err(FileError::Untrusted)?;
    Ok(directory)
}

/// Checks an entry. For [`Wanted::Tree`], checks the whole tree below it. Collects in `group_writable` the entries to
/// which their group can write. Accepts an absent entry.
pub(crate) fn inspect(path: &Path, wanted: Wanted, group_writable: &mut Vec<PathBuf>) -> Result<(), FileError> {
    let metadata = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    Entry::of(&metadata).check(path, wanted, user()).map_err(FileError::Untrusted)?;
    if is_group_writable(&metadata) {
        group_writable.push(path.to_owned());
    }
    if wanted == Wanted::Tree {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if is_lost_and_found(&entry) {
                continue;
            }
            let wanted = if entry.file_type()?.is_dir() { Wanted::Tree } else { Wanted::File };
            inspect(&entry.path(), wanted, group_writable)?;
        }
    }
    Ok(())
}

/// Returns whether an entry is a directory `lost+found` that belongs to the user root. A data directory has this entry
/// if a file system is mounted there. The node does not use the entry.
pub(crate) fn is_lost_and_found(entry: &DirEntry) -> bool {
    entry.file_name() == LOST_AND_FOUND
        && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == 0)
}

/// Returns whether the group of an entry can write to the entry.
pub(crate) fn is_group_writable(metadata: &Metadata) -> bool {
    metadata.mode() & GROUP_WRITE != 0
}

/// Opens a file for reading. Does not follow links, and does not wait for the writer of a pipe.
pub(crate) fn open(path: &Path, wanted: Wanted) -> Result<File, FileError> {
    open_with(OpenOptions::new().read(true), path, wanted)
}

/// Opens a file for appending. Creates the file if it does not exist.
pub(crate) fn open_or_create(path: &Path) -> Result<File, FileError> {
    open_with(OpenOptions::new().append(true).create(true).mode(0o600), path, Wanted::File)
}

fn open_with(options: &mut OpenOptions, path: &Path, wanted: Wanted) -> Result<File, FileError> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let file = match options.custom_flags(flags).open(path) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            // The entry is a link, which cannot be opened. Check the properties of the link for a precise error.
            Entry::of(&path.symlink_metadata()?).check(path, wanted, user()).map_err(FileError::Untrusted)?;
            return Err(error.into());
        }
        opened => opened?,
    };
    Entry::of(&file.metadata()?).check(path, wanted, user()).map_err(FileError::Untrusted)?;
    Ok(file)
}

/// Reads a file of the data directory. Returns `None` if the file does not exist. Rejects a file of more than `limit`
/// bytes. The bytes are erased on drop.
pub(crate) fn read(path: &Path, wanted: Wanted, limit: u64) -> Result<Option<Zeroizing<Vec<u8>>>, FileError> {
    match open(path, wanted) {
        Err(FileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => Ok(Some(read_to_end(&opened?, limit)?)),
    }
}

/// Reads a file that the operator has named, which may be a link or a pipe. Rejects more than `limit` bytes.
pub(crate) fn read_named(path: &Path, limit: u64) -> io::Result<Zeroizing<Vec<u8>>> {
    read_to_end(&File::open(path)?, limit)
}

fn read_to_end(file: &File, limit: u64) -> io::Result<Zeroizing<Vec<u8>>> {
    /// Spare bytes of the buffer. Without them, the read at the end of the file would reallocate the buffer, and leave
    /// a copy of a secret.
    const ROOM: u64 = 64;
    let len = file.metadata()?.len();
    let too_long = |got: String| {
        Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("expected {limit} bytes at most, got {got}")))
    };
    if len > limit {
        return too_long(len.to_string());
    }
    let room = usize::try_from(len.saturating_add(ROOM)).unwrap_or_default();
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return too_long("more".to_owned());
    }
    Ok(bytes)
}

/// Creates a file that only its owner can read. Does not follow links. Fails if an entry with this name exists, or if
/// the file system ignores the permissions.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    require_private(path, file.metadata()?.mode() & 0o777).inspect_err(|_| {
        let _: io::Result<()> = fs::remove_file(path);
    })?;
    Ok(file)
}

/// Rejects a mode that gives permissions to users other than the owner. The file was created with mode 600.
fn require_private(path: &Path, mode: u32) -> io::Result<()> {
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let directory = parent_of(path).display();
    let text = format!("a new file in {directory} has mode {mode:03o}, expected mode 600; {WITHOUT_MODES}");
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Creates a file that only its owner can read. Removes an existing entry first, for example of an interrupted write.
/// If the entry is a link, removes the link, not its target.
pub(crate) fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => create(path),
    }
}

/// Creates a directory that only its owner can enter, and its missing parent directories. Returns after their names are
/// durable.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<_> = path.ancestors().take_while(is_missing).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    missing.into_iter().try_for_each(|created| sync_directory(parent_of(created)))
}

/// Makes the names of the files of a directory durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Returns the parent directory of a path; `.` for a path with one component.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the effective user id of this process.
fn user() -> u32 {
    geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const USER: u32 = 1000;

    /// Returns the fault of an entry: the expected and the actual property.
    fn fault(kind: &'static str, owner: u32, mode: u32, wanted: Wanted) -> Option<(String, String)> {
        let fault = Entry { kind, owner, mode, names: 1 }.check(Path::new("/d/x"), wanted, USER).err()?;
        assert!(fault.to_string().starts_with("/d/x cannot be trusted: expected "), "{fault}");
        Some((fault.expected, fault.got))
    }

    #[test]
    fn owner_decides_before_the_mode() {
        for wanted in [Wanted::File, Wanted::Secret] {
            assert_eq!(fault("a file", USER, 0o600, wanted), None);
            // The check rejects files of root too, because another user of the directory can have created hard links to
            // them.
            for owner in [0, 1001] {
                let (expected, got) = fault("a file", owner, 0o666, wanted).unwrap();
                assert_eq!(
                    (expected.as_str(), got),
                    ("owner 1000, the user of this process", format!("owner {owner}"))
                );
            }
        }
        assert_eq!(fault("a directory", 0, 0o700, Wanted::Directory).unwrap().1, "owner 0");
    }

    #[test]
    fn secrets_are_for_their_owner_and_other_files_may_be_read() {
        for mode in [0o604, 0o640, 0o660, 0o601, 0o777] {
            let got = fault("a file", USER, mode, Wanted::Secret);
            assert_eq!(got, Some(("mode 600".to_owned(), format!("mode {mode:o}"))));
        }
        assert_eq!(fault("a file", USER, 0o400, Wanted::Secret), None);
        for mode in [0o644, 0o664] {
            assert_eq!(fault("a file", USER, mode, Wanted::File), None);
        }
        for (kind, wanted) in [("a file", Wanted::File), ("a directory", Wanted::Directory)] {
            for mode in [0o606, 0o777, 0o1777] {
                assert!(fault(kind, USER, mode, wanted).unwrap().1.ends_with(&format!("{mode:o}")));
            }
        }
        assert_eq!(fault("a directory", USER, 0o2775, Wanted::Directory), None);
    }

    #[test]
    fn file_systems_without_modes_are_refused_with_mode_and_remedy() {
        require_private(Path::new("/d/node.key.new"), 0o600).unwrap();
        let error = require_private(Path::new("/d/node.key.new"), 0o755).unwrap_err().to_string();
        assert!(error.starts_with("a new file in /d has mode 755, expected mode 600; "), "{error}");
        assert!(error.contains("umask=077"), "{error}");
    }

    #[test]
    fn anything_but_files_and_directories_is_refused() {
        for kind in ["a directory", "a symbolic link", "a named pipe", "a socket", "a device"] {
            assert_eq!(fault(kind, USER, 0o600, Wanted::Secret), Some(("a file".to_owned(), kind.to_owned())));
        }
        assert!(fault("a file", USER, 0o700, Wanted::Directory).is_some());
    }

    /// Returns the error of a rejected read.
    fn refusal(path: &Path) -> String {
        match read(path, Wanted::Secret, 10).unwrap_err() {
            FileError::Untrusted(untrusted) => untrusted.to_string(),
            FileError::Io(error) => error.to_string(),
        }
    }

    #[test]
    fn files_are_read_up_to_a_limit_and_never_through_links() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert!(read(&path, Wanted::Secret, 10).unwrap().is_none());
        fs::write(&path, "0123456789").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(**read(&path, Wanted::Secret, 10).unwrap().unwrap(), *b"0123456789");
        fs::write(&path, "01234567890").unwrap();
        assert_eq!(refusal(&path), "expected 10 bytes at most, got 11");
        let link = directory.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(refusal(&link).contains("expected a file, got a symbolic link"), "{}", refusal(&link));
        assert_eq!(read_named(&link, 11).unwrap().len(), 11);
        let endless = read_named(Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string();
        assert_eq!(endless, "expected 1048576 bytes at most, got more");
    }

    #[test]
    fn links_are_replaced_and_what_they_name_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (path, victim) = (directory.path().join("draft"), directory.path().join("victim"));
        fs::write(&victim, "of others").unwrap();
        symlink(&victim, &path).unwrap();
        assert_eq!(create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        create_anew(&path).unwrap();
        let metadata = path.symlink_metadata().unwrap();
        assert!(metadata.is_file() && metadata.mode() & 0o777 == 0o600, "{metadata:?}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "of others");
    }

    #[test]
    fn inspection_goes_down_and_lists_what_the_group_can_write() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        let inspect_store = || {
            let mut found = Vec::new();
            inspect(&store, Wanted::Tree, &mut found).map(|()| found)
        };
        assert!(inspect_store().unwrap().is_empty());
        create_directory(&store.join("chain/blobs")).unwrap();
        assert_eq!(store.metadata().unwrap().mode() & 0o777, 0o700);
        fs::write(store.join("chain/db"), "").unwrap();
        fs::set_permissions(store.join("chain/db"), fs::Permissions::from_mode(0o664)).unwrap();
        assert_eq!(inspect_store().unwrap(), [store.join("chain/db")]);
        symlink("/dev/zero", store.join("chain/snap.1")).unwrap();
        assert!(matches!(inspect_store(), Err(FileError::Untrusted(fault)) if fault.path.ends_with("chain/snap.1")));
    }
}
