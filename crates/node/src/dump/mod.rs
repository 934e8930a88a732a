//! The dump of a chain to one file, and the load of this file. The source is a data directory or a running node. The
//! target is a new or empty directory.
//!
//! The file has the data that a node cannot compute: parameters, key, accounts, pending transactions, and the record of
//! blocks. The load executes all blocks to compute the state. The root of this state must be the state root in the
//! file. The dump of a network has the network file instead of a key, so each member can load it.

mod file;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    fs::{self, File},
    io::{self, BufReader, BufWriter, Write},
    path::{self, Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use schemars::JsonSchema;
use serde::Serialize;
use silica_state::{ArchiveError, DbError, Head, RecordImport, RecordRow};
use zeroize::Zeroizing;

use self::file::{FileHead, FileReader, FileWriter, Kind, version_of};
use crate::{
    data_dir::{ACCOUNTS, DataDir, KEY, LONGEST_POOL, MANIFEST, Manifest, NETWORK, POOL},
    driver::NodeHandle,
    files::{self, parent_of, sync_directory},
    maintenance::{self, ChainFiles, DbReport, MaintenanceError},
};

/// Reason why a chain was not written to a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The data directory cannot be used.
    #[error(transparent)]
    Source(Box<MaintenanceError>),
    /// The chain has no block.
    #[error("the chain has no block yet")]
    Empty,
    /// The node keeps its chain in memory, and has no directory for dumps.
    #[error("the node keeps its chain in memory, and has no data directory for files")]
    InMemory,
    /// The name `-` means standard output in other commands. A secret key must not be in the output.
    #[error(
        "expected the name of a file, got -; a dump can have the secret key of the node, so standard output is not permitted"
    )]
    StandardOutput,
    /// A file with this name exists.
    #[error("{} exists already", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// A read of the record failed.
    #[error("the record of blocks cannot be read")]
    Record(#[from] ArchiveError),
    /// A write to the file failed.
    #[error("cannot write {}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Reason why a dump was not loaded.
#[derive(Debug, thiserror::Error)]
#[error("cannot load {}", file.display())]
pub struct NotLoaded {
    /// Path of the file.
    file: PathBuf,
    /// The reason.
    source: DumpFault,
}

/// Reason why a dump cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpFault {
    /// The file is not a dump.
    #[error("the file is not a dump of a chain")]
    Foreign,
    /// A newer program wrote the file.
    #[error("expected a dump of at most version {known}, got version {found}; use a newer silica")]
    Version {
        /// The version of the file.
        found: u32,
        /// The newest version that this program supports.
        known: u32,
    },
    /// The file is truncated.
    #[error("the file is truncated: the section at byte {at} is incomplete")]
    Cut {
        /// Position of the first byte of the section in the file.
        at: u64,
    },
    /// The checksum, the length or the kind of a section is wrong, or data follow the last section.
    #[error("the file is damaged: expected a valid section or the end of the file at byte {at}")]
    Damaged {
        /// Position of the first byte of the section in the file.
        at: u64,
    },
    /// All sections are valid, but do not form a chain.
    #[error("the sections do not form a chain: {what}")]
    Inconsistent {
        /// The fault of the sections.
        what: &'static str,
    },
    /// A read of the file failed.
    #[error("cannot read the file")]
    Read(#[source] io::Error),
    /// The path of the data directory is not a new or empty directory.
    #[error("{} is not empty; expected a new or empty directory", path.display())]
    Occupied {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The path of the data directory is a mount point. A directory cannot be renamed to a mount point.
    #[error("{} is a mount point; expected a directory below it", path.display())]
    MountPoint {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Another load is running, or was interrupted.
    #[error(
        "{} exists: another load is running, or was interrupted; remove the directory if none is running",
        path.display()
    )]
    Unfinished {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The operating system returned an error.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The file or directory of the action.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A write to the record failed.
    #[error("the record of blocks cannot be written")]
    Record(#[from] DbError),
    /// The chain of the file cannot be verified. For example, the result of a block differs from the header of the
    /// block.
    #[error("the chain in the file cannot be verified")]
    Chain(#[source] Box<MaintenanceError>),
}

impl From<MaintenanceError> for DumpError {
    fn from(error: MaintenanceError) -> Self {
        Self::Source(Box::new(error))
    }
}

impl From<MaintenanceError> for DumpFault {
    fn from(error: MaintenanceError) -> Self {
        Self::Chain(Box::new(error))
    }
}

/// The summary of a dump.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DumpReport {
    /// Path of the file.
    pub file: String,
    /// Number of the latest Tx block.
    pub block: String,
    /// Root of the state after the latest Tx block.
    pub state_root: String,
    /// Size of the file, in bytes.
    pub bytes: u64,
}

impl fmt::Display for DumpReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, block, state_root, bytes } = self;
        write!(f, "{file}: latest block {block}, state root {state_root}, {bytes} bytes")
    }
}

/// Kind and content of a file.
type DumpedFile = (Kind, Zeroizing<Vec<u8>>);

/// The contents of a dump except the blocks.
struct Source<'a> {
    data_dir: &'a DataDir,
    manifest: &'a Manifest,
    /// The pending transactions, in the format of the pool file.
    pool: Vec<u8>,
    head: &'a Head,
}

impl Source<'_> {
    /// Writes the file. A crash leaves either no file with this name or the complete file. On a file system without
    /// links, a crash can also leave an empty file. Only the owner can read the file, because the file can have
    /// secret keys.
    fn write(
        &self,
        rows: impl Iterator<Item = Result<RecordRow, ArchiveError>>,
        path: &Path,
    ) -> Result<DumpReport, DumpError> {
        let failed = |source| DumpError::Write { path: path.to_owned(), source };
        if path.symlink_metadata().is_ok() {
            return Err(DumpError::Exists { path: path.to_owned() });
        }
        let draft = draft_of(path);
        let written = self.write_draft(rows, &draft, path).and_then(|bytes| {
            match give_name(&draft, path).and_then(|()| sync_directory(parent_of(path))) {
                // Another process has created a file with this name since the check above.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(DumpError::Exists { path: path.to_owned() })
                }
                named => named.map(|()| bytes).map_err(failed),
            }
        });
        // Ignore the error: the draft may not exist.
        drop(fs::remove_file(&draft));
        let (block, state_root) = (self.head.number.to_string(), self.head.state_root.to_string());
        Ok(DumpReport { file: path.display().to_string(), block, state_root, bytes: written? })
    }

    fn write_draft(
        &self,
        rows: impl Iterator<Item = Result<RecordRow, ArchiveError>>,
        draft: &Path,
        path: &Path,
    ) -> Result<u64, DumpError> {
        let failed = |source| DumpError::Write { path: path.to_owned(), source };
        let files = self.files()?;
        let head = FileHead::new(self.manifest.chain_id, self.head);
        let version = version_of(self.manifest.scilla_rules(), self.head, self.manifest.network.is_some());
        // Create the draft as a new file with the permissions of a secret. An existing file can be open in another
        // process.
        let out = files::create(draft).map_err(failed)?;
        let mut file = FileWriter::new(BufWriter::new(out), &head, version).map_err(failed)?;
        for (kind, content) in files {
            file.file(kind, &content).map_err(failed)?;
        }
        file.file(Kind::Pool, &self.pool).map_err(failed)?;
        for row in rows {
            file.row(&row?).map_err(failed)?;
        }
        let (out, bytes) = file.end().map_err(failed)?;
        let out = out.into_inner().map_err(|error| failed(error.into_error()))?;
        out.sync_all().map_err(failed)?;
        Ok(bytes)
    }

    /// Returns the files of the data directory that the dump has. The dump of a network has no key: a copy of a member
    /// without its votes could vote a second time.
    fn files(&self) -> Result<[DumpedFile; 3], MaintenanceError> {
        let Self { data_dir, manifest, .. } = self;
        let (manifest, identity) = if manifest.network.is_some() {
            let text = data_dir.manifest_text(&Manifest::clone(manifest).without_key())?;
            (text.into_bytes().into(), NETWORK)
        } else {
            data_dir.check_single_node()?;
            (data_dir.read_file(MANIFEST)?, KEY)
        };
        let [identity, accounts] = [data_dir.read_file(identity)?, data_dir.read_file(ACCOUNTS)?];
        Ok([(Kind::Manifest, manifest), (Kind::Identity, identity), (Kind::Accounts, accounts)])
    }
}

/// Gives the draft its final name. Fails if a file with this name exists.
pub(crate) fn give_name(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => claim_name(draft, path),
        linked => linked,
    }
}

/// Renames the draft on a file system without links. A crash can leave an empty file, which blocks the name until the
/// operator removes it.
fn claim_name(draft: &Path, path: &Path) -> io::Result<()> {
    files::create(path)?;
    fs::rename(draft, path).inspect_err(|_| drop(fs::remove_file(path)))
}

/// Writes the chain of a data directory to a file. Fails if a node uses the directory.
///
/// # Errors
///
/// [`DumpError`]. The function then leaves no new file, unless the flush of the parent directory failed.
pub fn dump_db(data_dir: &Path, file: &Path) -> Result<DumpReport, DumpError> {
    if file.as_os_str() == "-" {
        return Err(DumpError::StandardOutput);
    }
    let chain = ChainFiles::open(data_dir)?;
    let store = chain.open_whole_store()?;
    let snapshot = store.snapshot();
    let head = snapshot.head().ok_or(DumpError::Empty)?;
    let pool = chain.data_dir.read_pool().map_err(MaintenanceError::from)?;
    let ChainFiles { data_dir, manifest, .. } = &chain;
    Source { data_dir, manifest, pool, head }.write(snapshot.record_rows(), file)
}

/// The name of a dump of a running node. It has no path separator, so that a client can only create files in the
/// directory of dumps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DumpName(String);

/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 64;

impl DumpName {
    /// A description of the valid names, for the descriptions of methods.
    pub(crate) const DESCRIPTION: &str =
        "A name of 1 to 64 letters, digits, dots, hyphens and underscores that does not begin with a dot.";

    /// Checks a name of a dump.
    ///
    /// # Errors
    ///
    /// The error text has the expected form and the given name.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let fits = (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_known) && !text.starts_with('.');
        if fits {
            return Ok(Self(text.to_owned()));
        }
        let got: String = text.chars().take(LONGEST_NAME).collect();
        Err(format!("expected 1 to 64 letters, digits, dots, hyphens and underscores, and no dot first, got {got:?}"))
    }
}

/// Writes the chain of a running node to a file in its data directory. The dump ends at the head at the time of the
/// call.
pub(crate) fn dump_running(node: &NodeHandle, name: &DumpName) -> Result<DumpReport, DumpError> {
    let data_dir = node.data_dir().ok_or(DumpError::InMemory)?;
    // Read the pool before the head. If a block includes a transaction between the two reads, the dump has the
    // transaction twice. In the other order, the dump would not have the transaction.
    let pool =
        if node.chain().waiting() > 0 { node.chain().export_oldest(usize::MAX, LONGEST_POOL).0 } else { Vec::new() };
    let at = node.context();
    // Report an absolute path, because a remote caller does not have the working directory of the node.
    let directory = data_dir.dumps();
    let directory = path::absolute(&directory).unwrap_or(directory);
    let unusable = |source| DumpError::Write { path: directory.clone(), source };
    files::create_directory(&directory).map_err(unusable)?;
    let head = at.snapshot.record_head().ok_or(DumpError::Empty)?;
    let manifest = &data_dir.manifest_of_chain().map_err(MaintenanceError::from)?;
    Source { data_dir, manifest, pool, head }.write(at.snapshot.record_rows(), &directory.join(&name.0))
}

/// Creates a data directory from a dump. The function executes all blocks, and compares the results with the headers of
/// the blocks. The directory appears only after these checks.
///
/// # Errors
///
/// [`NotLoaded`]. The path `data_dir` is then unchanged, unless the flush of the parent directory failed.
pub fn load_db(file: &Path, data_dir: &Path) -> Result<DbReport, NotLoaded> {
    load(file, data_dir).map_err(|source| NotLoaded { file: file.to_owned(), source })
}

fn load(file: &Path, data_dir: &Path) -> Result<DbReport, DumpFault> {
    let unreadable = |source| DumpFault::Io { action: "open", path: file.to_owned(), source };
    let input = BufReader::new(File::open(file).map_err(unreadable)?);
    // If the path is a symbolic link, load into its target, and keep the link.
    let path = fs::canonicalize(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    require_empty(&path)?;
    let (input, head) = FileReader::new(input)?;
    let draft = with_ending(&path, "loading");
    match fs::create_dir(&draft) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(DumpFault::Unfinished { path: draft });
        }
        made => made.map_err(|source| io_error("make", &draft, source))?,
    }
    let loaded = fill(input, &head, &draft).and_then(|report| {
        // Flush the draft before the rename, and its parent after the rename, so that a crash leaves no partial
        // directory.
        let moved = sync_directory(&draft)
            .and_then(|()| fs::rename(&draft, &path))
            .and_then(|()| sync_directory(parent_of(&path)));
        moved.map_err(|source| io_error("make", &path, source))?;
        Ok(report)
    });
    if loaded.is_err() {
        drop(fs::remove_dir_all(&draft));
    }
    loaded
}

/// Fills a data directory at `draft` from the sections of a file after the head. Then verifies the chain.
fn fill(mut input: FileReader<impl io::Read>, head: &FileHead, draft: &Path) -> Result<DbReport, DumpFault> {
    let data_dir = DataDir::create(draft).map_err(MaintenanceError::from)?;
    files::create_directory(&data_dir.store()).map_err(|source| io_error("make", &data_dir.store(), source))?;
    let mut record = RecordImport::create(&data_dir.store())?;
    let mut rows = 0_u64;
    let mut writing: Option<(Kind, File)> = None;
    let end = loop {
        let section = input.next()?;
        let name = match section.kind {
            Kind::End => break section.content,
            Kind::Rows => {
                for row in file::rows(&section.content) {
                    let unfit = DumpFault::Inconsistent { what: "a row does not belong to a record of blocks" };
                    let Some((key, value)) = row else { return Err(unfit) };
                    if !record.add(key, value)? {
                        return Err(unfit);
                    }
                    rows = rows.saturating_add(1);
                }
                continue;
            }
            Kind::Manifest => MANIFEST,
            Kind::Identity if input.is_network() => NETWORK,
            Kind::Identity => KEY,
            Kind::Accounts => ACCOUNTS,
            Kind::Pool => POOL,
            // The head is the first section, which is already read. The reader rejects a second one.
            Kind::Head => continue,
        };
        let path = draft.join(name);
        let failed = |source| io_error("write", &path, source);
        let file = match &mut writing {
            Some((kind, file)) if *kind == section.kind => file,
            other => {
                sync(other, &path)?;
                let file = files::create(&path).map_err(failed)?;
                &mut other.insert((section.kind, file)).1
            }
        };
        file.write_all(&section.content).map_err(failed)?;
    };
    sync(&mut writing, draft)?;
    if end != [&rows.to_be_bytes()[..], head.state_root.as_bytes()].concat() {
        return Err(DumpFault::Inconsistent {
            what: "the number of rows or the state root differs from that at the end of the file",
        });
    }
    record.finish(head.block, &head.block_hash)?;
    if let Some(manifest) = data_dir.manifest().map_err(MaintenanceError::from)?
        && [manifest.network.is_some(), !manifest.has_key()] != [input.is_network(); 2]
    {
        let what = if input.is_network() {
            "expected a manifest with a network and without a key in version 4, got one with a key or without a network"
        } else {
            "expected a manifest with a key and without a network before version 4, got one with a network or without a key"
        };
        return Err(DumpFault::Inconsistent { what });
    }
    drop(data_dir);
    verify(head, draft)
}

fn sync(writing: &mut Option<(Kind, File)>, path: &Path) -> Result<(), DumpFault> {
    match writing.take() {
        Some((_, file)) => file.sync_all().map_err(|source| io_error("write", path, source)),
        None => Ok(()),
    }
}

/// Executes all blocks of a data directory without state, and checks the record. Compares the last block and the state
/// root with the head of the file.
fn verify(head: &FileHead, path: &Path) -> Result<DbReport, DumpFault> {
    let chain = ChainFiles::open(path)?;
    if chain.manifest.chain_id != head.chain_id {
        return Err(DumpFault::Inconsistent { what: "the parameters are those of another chain" });
    }
    let store = chain.build_state()?;
    let snapshot = store.snapshot();
    let got = snapshot.head().map(|got| (got.number, got.hash, snapshot.state().root()));
    if got != Some((head.block, head.block_hash, head.state_root)) {
        return Err(DumpFault::Inconsistent { what: "the last block differs from that at the beginning of the file" });
    }
    drop(snapshot);
    store.close().map_err(MaintenanceError::from)?;
    // Open the store again, to check the files that the next start will read.
    Ok(maintenance::check_store(&chain.open_whole_store()?)?)
}

/// The ending of the name of a draft.
const DRAFT: &str = ".new";

/// Returns the name of the draft of a file. The process id and a counter make the name unique. The name begins with a
/// dot, so that it differs from each [`DumpName`].
pub(crate) fn draft_of(path: &Path) -> PathBuf {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().display();
    path.with_file_name(format!(".{name}.{}-{number}{DRAFT}", std::process::id()))
}

/// Removes drafts that a crash has left in a data directory, because they have the secret key of the node.
///
/// # Errors
///
/// The error of the operating system.
pub(crate) fn remove_drafts(data_dir: &DataDir) -> io::Result<()> {
    let entries = match fs::read_dir(data_dir.dumps()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(b".") && name.ends_with(DRAFT.as_bytes()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

/// Rejects a mount point, and a path that is not a new or empty directory.
fn require_empty(path: &Path) -> Result<(), DumpFault> {
    let occupied = || DumpFault::Occupied { path: path.to_owned() };
    if path.file_name().is_none() {
        return Err(occupied());
    }
    match fs::read_dir(path) {
        // A directory cannot be renamed to a mount point.
        Ok(_) if is_mount_point(path) => Err(DumpFault::MountPoint { path: path.to_owned() }),
        Ok(mut entries) => entries.next().map_or(Ok(()), |_| Err(occupied())),
        // A symbolic link without a target makes the path occupied.
        Err(error) if error.kind() == io::ErrorKind::NotFound => match path.symlink_metadata() {
            Ok(_) => Err(occupied()),
            Err(_) => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(occupied()),
        Err(source) => Err(io_error("read", path, source)),
    }
}

#[cfg(unix)]
fn is_mount_point(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    device(path) != device(parent_of(path))
}

#[cfg(not(unix))]
fn is_mount_point(_: &Path) -> bool {
    false
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> DumpFault {
    DumpFault::Io { action, path: path.to_owned(), source }
}
