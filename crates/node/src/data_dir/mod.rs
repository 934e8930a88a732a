//! The data directory: its lock, its chain, and the node's key.
//!
//! ```text
//! silica-data/
//!   lock            locked by the process that uses the directory
//!   node.key        secret key of the node, hexadecimal, readable by its owner only
//!   peer.key        secret key of a member's connections, hexadecimal; only in the directory of a member of a network
//!   network.toml    copy of the network file of a member
//!   agreement/      journal and log of a member's agreement, in the format of silica-network
//!   accounts.json   accounts of the genesis block, in the form of the isolated server; readable by its owner only
//!   manifest.json   version of this layout, and the fixed parameters; written after the files above
//!   store/          the chain, in the format of silica-state
//!   pool            transactions that were pending when the node stopped
//!   pool.unreadable a file `pool` that could not be read
//!   check/          progress and temporary files of `silica db check`
//!   dumps/          dumps that clients of `silica_dump` requested
//! ```

mod manifest;
#[cfg(feature = "cli")]
mod peer_key;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use silica_council::NetworkFile;
use silica_crypto::KeyPair;
use silica_protocol::GasPrice;
use silica_scilla::rules::{Rules, UnknownRules};
use silica_state::{OpenError, OpenOutcome, Store};
use zeroize::Zeroizing;

use self::manifest::{FORMAT, FORMAT_OF_MEMBER, FORMAT_WITHOUT_RULES, ManifestFile, digest};
pub(crate) use self::manifest::{Manifest, Parameters};
use crate::files::{self, FileError, UntrustedFile, Wanted};

const LOCK: &str = "lock";
pub(crate) const KEY: &str = "node.key";
const PEER_KEY: &str = "peer.key";
pub(crate) const NETWORK: &str = "network.toml";
const AGREEMENT: &str = "agreement";
pub(crate) const ACCOUNTS: &str = "accounts.json";
pub(crate) const MANIFEST: &str = "manifest.json";
const STORE: &str = "store";
pub(crate) const POOL: &str = "pool";
/// The new name of a pool file that cannot be read.
const UNREADABLE_POOL: &str = "pool.unreadable";
const SCRATCH: &str = "check";
const CHECK_PROGRESS: &str = "check/progress";
const DUMPS: &str = "dumps";

/// Maximum size of each file, in bytes. This program does not write longer files. The limits bound the memory of a
/// read.
const LONGEST_KEY: u64 = 256;
const LONGEST_MANIFEST: u64 = 64 << 10;
const LONGEST_NETWORK: u64 = 1 << 20;
pub(crate) const LONGEST_ACCOUNTS: u64 = 64 << 20;
pub(crate) const LONGEST_POOL: u64 = 4 << 30;

/// The end of an error text about lost blocks. No other file of the directory can replace these blocks.
const REMEDY_OF_LOSS: &str =
    "; restore the data directory from a copy, or load a dump into another one with `silica db load`";

/// The entries of a data directory that [`inspect`] checks, with their expected kinds.
const ENTRIES: [(&str, Wanted); 11] = [
    (NETWORK, Wanted::File),
    (AGREEMENT, Wanted::Tree),
    (LOCK, Wanted::File),
    (KEY, Wanted::Secret),
    (PEER_KEY, Wanted::Secret),
    (ACCOUNTS, Wanted::Secret),
    (MANIFEST, Wanted::File),
    (STORE, Wanted::Tree),
    (POOL, Wanted::File),
    (SCRATCH, Wanted::Tree),
    (DUMPS, Wanted::Directory),
];

/// Reason why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataDirError {
    /// Another node or command holds the lock, in this process or in another process.
    #[error("data directory {} is in use by another node or command", path.display())]
    InUse {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The directory has no manifest, but files of another program.
    #[error(
        "directory {} is not a silica data directory: it holds {found:?}, and {MANIFEST} is missing; choose an empty \
         directory",
        path.display()
    )]
    Foreign {
        /// Path of the directory.
        path: PathBuf,
        /// The first foreign file.
        found: String,
    },
    /// The directory has the keys of a member of a network with several validators, or the chain of a network.
    #[error("expected the directory of a single node, got {} with {found}", path.display())]
    Member {
        /// Path of the directory.
        path: PathBuf,
        /// The file or chain that the directory of a single node does not have.
        found: &'static str,
    },
    /// The directory has the chain of a single node.
    #[error("expected a directory without a chain, got {} with the chain of a single node", path.display())]
    SingleNode {
        /// Path of the directory.
        path: PathBuf,
    },
    /// There is no chain in the directory.
    #[error("directory {} contains no chain", path.display())]
    Empty {
        /// Path of the directory.
        path: PathBuf,
    },
    /// A newer program wrote the directory.
    #[error(
        "data directory {} has format {found}, this program supports formats up to {FORMAT_OF_MEMBER}; use a newer silica",
        path.display()
    )]
    Newer {
        /// Path of the directory.
        path: PathBuf,
        /// The version of the format of the directory.
        found: u32,
    },
    /// A newer program made the chain in the directory.
    #[error("data directory {} has Scilla rules that this program does not support", path.display())]
    Rules {
        /// Path of the directory.
        path: PathBuf,
        /// The unknown rules.
        source: UnknownRules,
    },
    /// The parameters of the chain in the directory differ from the configuration.
    #[error(
        "data directory {} holds a chain with {name} {found}, but {by} requires {wanted}; \
         choose another directory",
        path.display()
    )]
    OtherChain {
        /// Path of the directory.
        path: PathBuf,
        /// The parameter.
        name: &'static str,
        /// The option or file that requires another value.
        by: String,
        /// The value in the directory.
        found: String,
        /// The value of the configuration.
        wanted: String,
    },
    /// The content of a file is invalid.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// The fault of the file.
        reason: String,
    },
    /// The directory or one of its entries has unexpected properties, or other users can change or read it.
    #[error(transparent)]
    Untrusted(#[from] UntrustedFile),
    /// The operating system returned an error.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Returns the remedy for a store that cannot be opened, as the end of an error text. Without a known remedy, the text
/// is empty.
pub(crate) fn remedy(error: &OpenError) -> &'static str {
    match () {
        () if error.is_loss() => REMEDY_OF_LOSS,
        () if error.is_no_room() => "; free space on the disk",
        () => "",
    }
}

/// A data directory, which this process has locked.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    /// The locked files. The locks end with [`DataDir::release`], or when the files are closed.
    locks: [File; 2],
}

impl DataDir {
    /// Locks a directory, and creates it if it does not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, DataDirError> {
        files::create_directory(path).map_err(|source| io_error("create directory", path, source))?;
        Self::take(path)
    }

    /// Locks a directory that contains a chain.
    pub(crate) fn open(path: &Path) -> Result<Self, DataDirError> {
        if !path.join(MANIFEST).exists() {
            return Err(DataDirError::Empty { path: path.to_owned() });
        }
        Self::take(path)
    }

    fn take(path: &Path) -> Result<Self, DataDirError> {
        // Resolve symbolic links once. Otherwise the path could name another directory after the check and the lock.
        let path = &path.canonicalize().map_err(|source| io_error("open directory", path, source))?;
        let directory = files::open_directory(path).map_err(|error| file_error("open directory", path, error))?;
        // Lock the directory too. Its lock stays valid if another process removes or replaces the lock file. Some file
        // systems cannot lock directories.
        if matches!(directory.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(DataDirError::InUse { path: path.to_owned() });
        }
        if !path.join(MANIFEST).exists() {
            check_nothing_foreign(path)?;
        }
        inspect(path, &directory)?;
        let file = path.join(LOCK);
        let lock = files::open_or_create(&file).map_err(|error| file_error("open", &file, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), locks: [directory, lock] }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(io_error("lock", &file, source)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Unlocks the directory, although other owners of this value can exist. The caller has closed the store.
    pub(crate) fn release(&self) {
        for lock in &self.locks {
            if let Err(error) = lock.unlock() {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    path = %self.path.display(),
                    "failed to unlock the data directory; the lock ends with the process"
                );
            }
        }
    }

    /// Rejects the directory of a member of a network. A single node with the key of a member would sign other blocks
    /// with this key.
    pub(crate) fn check_single_node(&self) -> Result<(), DataDirError> {
        let path = self.path.join(PEER_KEY);
        let found = match path.symlink_metadata() {
            Ok(_) => "peer.key, the key of a member of a network",
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error("inspect", &path, error)),
            Err(_) if self.manifest()?.is_some_and(|manifest| manifest.network.is_some()) => "the chain of a network",
            Err(_) => return Ok(()),
        };
        Err(DataDirError::Member { path: self.path.clone(), found })
    }

    /// Returns the directory of a member's agreement.
    #[cfg(feature = "network")]
    pub(crate) fn agreement(&self) -> PathBuf {
        self.path.join(AGREEMENT)
    }

    /// Writes a copy of the network file.
    #[cfg(feature = "network")]
    pub(crate) fn write_network(&self, text: &str) -> Result<(), DataDirError> {
        self.write(NETWORK, text.as_bytes())
    }

    /// Returns the network of a member, from the copy of its network file; `None` for a single node.
    pub(crate) fn network(&self, manifest: &Manifest) -> Result<Option<NetworkFile>, DataDirError> {
        let Some(expected) = &manifest.network else { return Ok(None) };
        let text = self.read(NETWORK)?.ok_or_else(|| self.damaged(NETWORK, "it is missing"))?;
        let network = NetworkFile::parse(&text).map_err(|error| self.damaged(NETWORK, &error))?;
        let got = network.id().to_string();
        if got != *expected {
            return Err(self.damaged(NETWORK, &format!("expected network id {expected}, got {got}")));
        }
        Ok(Some(network))
    }

    /// Returns the path of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }

    /// Rejects a store without blocks if the manifest has a genesis block. Otherwise the node would begin a new chain
    /// in place of the lost one.
    pub(crate) fn check_not_lost(&self, manifest: &Manifest, store: &Store) -> Result<(), DataDirError> {
        match (store.outcome(), &manifest.genesis) {
            (OpenOutcome::Empty, Some(_)) => {
                Err(self.damaged(STORE, &format!("its blocks are missing{REMEDY_OF_LOSS}")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the directory for temporary files of `silica db check`.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.path.join(SCRATCH)
    }

    /// Writes the file with the progress of `silica db check`. The directory [`scratch`](Self::scratch) exists.
    pub(crate) fn write_check_progress(&self, text: &str) -> Result<(), DataDirError> {
        self.write(CHECK_PROGRESS, text.as_bytes())
    }

    /// Reads the file with the progress of `silica db check`. Returns `None` if the file does not exist.
    pub(crate) fn read_check_progress(&self) -> Result<Option<Zeroizing<String>>, DataDirError> {
        self.read(CHECK_PROGRESS)
    }

    /// Returns the directory of dumps.
    pub(crate) fn dumps(&self) -> PathBuf {
        self.path.join(DUMPS)
    }

    /// Reads a file of a directory with a chain. A missing file is an error.
    pub(crate) fn read_file(&self, name: &str) -> Result<Zeroizing<Vec<u8>>, DataDirError> {
        self.read_bytes(name)?.ok_or_else(|| self.damaged(name, "it is missing"))
    }

    /// Reads the pool file, and does not remove it. Returns no bytes if the file does not exist.
    pub(crate) fn read_pool(&self) -> Result<Vec<u8>, DataDirError> {
        Ok(self.read_bytes(POOL)?.map(|mut bytes| std::mem::take(&mut *bytes)).unwrap_or_default())
    }

    /// Reads and checks the manifest. Returns `None` if the file does not exist.
    pub(crate) fn manifest(&self) -> Result<Option<Manifest>, DataDirError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }

        #[derive(Deserialize)]
        struct Outline {
            manifest: Named,
        }

        #[derive(Deserialize)]
        struct Named {
            scilla_rules: Option<String>,
        }

        let Some(text) = self.read(MANIFEST)? else { return Ok(None) };
        let Format { format } = serde_json::from_str(&text).map_err(|error| self.damaged(MANIFEST, &error))?;
        match format {
            0 => return Err(self.damaged(MANIFEST, "expected a format from 1, got 0")),
            FORMAT_WITHOUT_RULES | FORMAT | FORMAT_OF_MEMBER => {}
            found => return Err(DataDirError::Newer { path: self.path.clone(), found }),
        }
        if let Ok(Outline { manifest: Named { scilla_rules: Some(rules) } }) = serde_json::from_str(&text)
            && let Err(source @ UnknownRules::Newer { .. }) = rules.parse::<Rules>()
        {
            return Err(DataDirError::Rules { path: self.path.clone(), source });
        }
        let file: ManifestFile = serde_json::from_str(&text).map_err(|error| self.damaged(MANIFEST, &error))?;
        let checksum = ManifestFile::new(file.manifest.clone()).checksum;
        if checksum != file.checksum {
            return Err(self.damaged(MANIFEST, "its checksum does not match"));
        }
        if file.manifest.format() != format {
            return Err(self.damaged(MANIFEST, &format!("expected format {}, got {format}", file.manifest.format())));
        }
        Ok(Some(file.manifest))
    }

    /// Reads and checks the manifest of a directory with a chain. A missing file is an error.
    pub(crate) fn manifest_of_chain(&self) -> Result<Manifest, DataDirError> {
        self.manifest()?.ok_or_else(|| DataDirError::Empty { path: self.path.clone() })
    }

    pub(crate) fn write_manifest(&self, manifest: &Manifest) -> Result<(), DataDirError> {
        self.write(MANIFEST, self.manifest_text(manifest)?.as_bytes())
    }

    /// Returns the text of a manifest file.
    pub(crate) fn manifest_text(&self, manifest: &Manifest) -> Result<String, DataDirError> {
        ManifestFile::new(manifest.clone()).text().map_err(|error| self.damaged(MANIFEST, &error))
    }

    /// Stores the minimum gas price in the manifest, or removes the stored price if `price` is `None`. Has no effect
    /// without a manifest.
    pub(crate) fn keep_gas_price(&self, price: Option<GasPrice>) -> Result<(), DataDirError> {
        let Some(mut manifest) = self.manifest()? else { return Ok(()) };
        manifest.gas_price = price.as_ref().map(ToString::to_string);
        self.write_manifest(&manifest)
    }

    fn damaged(&self, name: &str, reason: &(impl ToString + ?Sized)) -> DataDirError {
        DataDirError::Damaged { path: self.path.join(name), reason: reason.to_string() }
    }

    /// Returns the error for a chain whose parameter `name` differs from the value that `by` requires.
    pub(crate) fn other_chain(
        &self,
        name: &'static str,
        found: &impl ToString,
        by: &str,
        wanted: &impl ToString,
    ) -> DataDirError {
        let (found, wanted) = (found.to_string(), wanted.to_string());
        DataDirError::OtherChain { path: self.path.clone(), name, by: by.to_owned(), found, wanted }
    }

    /// Reads the node key of a directory with a chain, and compares it with the manifest.
    pub(crate) fn key(&self, manifest: &Manifest) -> Result<KeyPair, DataDirError> {
        let expected = manifest.node_key.as_ref().ok_or_else(|| self.damaged(MANIFEST, "it has no node key"))?;
        let key = self.read_key()?.ok_or_else(|| self.damaged(KEY, "it is missing"))?;
        if key.public_key().to_string() != *expected {
            return Err(self.damaged(KEY, &format!("expected the secret key of {expected}")));
        }
        Ok(key)
    }

    /// Returns the key that an interrupted first start has left. Without such a key, creates a key.
    pub(crate) fn new_key(&self) -> Result<KeyPair, DataDirError> {
        if let Some(key) = self.read_key()? {
            return Ok(key);
        }
        let path = self.path.join(KEY);
        let key = draw_key().map_err(|source| io_error("draw a key for", &path, source))?;
        let text = Zeroizing::new([key.secret().to_hex().as_bytes(), b"\n"].concat());
        self.write(KEY, &text)?;
        Ok(key)
    }

    fn read_key(&self) -> Result<Option<KeyPair>, DataDirError> {
        let Some(text) = self.read(KEY)? else { return Ok(None) };
        KeyPair::from_hex(text.trim_end()).map(Some).map_err(|error| self.damaged(KEY, &error))
    }

    /// Reads the accounts file of a directory with a chain, and compares it with the manifest.
    pub(crate) fn accounts(&self, manifest: &Manifest) -> Result<Zeroizing<String>, DataDirError> {
        let accounts = self.read(ACCOUNTS)?.ok_or_else(|| self.damaged(ACCOUNTS, "it is missing"))?;
        if digest(&accounts) != manifest.accounts {
            return Err(self.damaged(ACCOUNTS, "its checksum does not match"));
        }
        Ok(accounts)
    }

    pub(crate) fn write_accounts(&self, text: &str) -> Result<(), DataDirError> {
        self.write(ACCOUNTS, text.as_bytes())
    }

    /// Reads the pool file. Returns `None` if the file does not exist. If the file cannot be read or is too large,
    /// renames the file, logs a warning, and returns `None`.
    pub(crate) fn load_pool(&self) -> Result<Option<Vec<u8>>, DataDirError> {
        match self.read_bytes(POOL) {
            Ok(bytes) => Ok(bytes.map(|mut bytes| std::mem::take(&mut *bytes))),
            Err(error @ DataDirError::Io { .. }) => {
                let path = self.path.join(POOL);
                // Keep renamed files of earlier starts: choose a name that does not exist.
                let numbered = (2_u32..).map(|number| format!("{UNREADABLE_POOL}.{number}"));
                let mut names =
                    std::iter::once(UNREADABLE_POOL.to_owned()).chain(numbered).map(|name| self.path.join(name));
                let aside = names.find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_default();
                fs::rename(&path, &aside).map_err(|source| io_error("rename", &path, source))?;
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    kept = %aside.display(),
                    "failed to read the pool file; renamed it, and the pool starts empty"
                );
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the pool file, if it exists.
    pub(crate) fn remove_pool(&self) -> Result<(), DataDirError> {
        let path = self.path.join(POOL);
        // A read-only file system rejects a removal, even if the file does not exist.
        if matches!(path.try_exists(), Ok(false)) {
            return Ok(());
        }
        fs::remove_file(&path).map_err(|source| io_error("remove", &path, source))
    }

    pub(crate) fn write_pool(&self, bytes: &[u8]) -> Result<(), DataDirError> {
        self.write(POOL, bytes)
    }

    fn read(&self, name: &str) -> Result<Option<Zeroizing<String>>, DataDirError> {
        let Some(mut bytes) = self.read_bytes(name)? else { return Ok(None) };
        let text = String::from_utf8(std::mem::take(&mut *bytes)).map_err(|error| {
            drop(Zeroizing::new(error.into_bytes()));
            self.damaged(name, "it is not text")
        })?;
        Ok(Some(Zeroizing::new(text)))
    }

    fn read_bytes(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, DataDirError> {
        let path = self.path.join(name);
        let (wanted, limit) = match name {
            KEY | PEER_KEY => (Wanted::Secret, LONGEST_KEY),
            ACCOUNTS => (Wanted::Secret, LONGEST_ACCOUNTS),
            POOL => (Wanted::File, LONGEST_POOL),
            NETWORK => (Wanted::File, LONGEST_NETWORK),
            _ => (Wanted::File, LONGEST_MANIFEST),
        };
        files::read(&path, wanted, limit).map_err(|error| file_error("read", &path, error))
    }

    /// Writes a file. A crash leaves either the old or the complete new file. Only the owner can read the file.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), DataDirError> {
        let path = self.path.join(name);
        let draft = self.path.join(format!("{name}.new"));
        // Flush the content before the rename, and the directory after the rename. Otherwise a crash could leave the
        // final name without its content.
        let written = files::create_anew(&draft).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written
            .and_then(|()| fs::rename(&draft, &path))
            .inspect_err(|_| {
                // On a full disk, the incomplete draft would take space that other files need.
                let _: io::Result<()> = fs::remove_file(&draft);
            })
            .and_then(|()| files::sync_directory(path.parent().unwrap_or(&self.path)))
            .map_err(|source| io_error("write", &path, source))
    }
}

/// Creates a key from random numbers of the operating system.
pub(crate) fn draw_key() -> io::Result<KeyPair> {
    KeyPair::random().map_err(io::Error::other)
}

/// Rejects a directory without a manifest if it has files that an interrupted first start does not leave.
fn check_nothing_foreign(path: &Path) -> Result<(), DataDirError> {
    let entries = fs::read_dir(path).map_err(|source| io_error("read directory", path, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| io_error("read directory", path, source))?;
        let name = entry.file_name();
        let known = files::is_lost_and_found(&entry)
            || name.to_str().is_some_and(|name| {
                [LOCK, KEY, PEER_KEY, NETWORK, ACCOUNTS, MANIFEST].contains(&name.strip_suffix(".new").unwrap_or(name))
            });
        if !known {
            return Err(DataDirError::Foreign { path: path.to_owned(), found: name.to_string_lossy().into_owned() });
        }
    }
    Ok(())
}

/// Rejects files of the data directory that other users may have created or can change. Logs a warning for files that
/// their group can change.
fn inspect(path: &Path, directory: &File) -> Result<(), DataDirError> {
    let mut group_writable = Vec::new();
    let metadata = directory.metadata().map_err(|source| io_error("open directory", path, source))?;
    if files::is_group_writable(&metadata) {
        group_writable.push(path.to_owned());
    }
    for (name, wanted) in ENTRIES {
        let path = path.join(name);
        files::inspect(&path, wanted, &mut group_writable).map_err(|error| file_error("inspect", &path, error))?;
    }
    if let Some(first) = group_writable.first() {
        tracing::warn!(
            path = %first.display(),
            entries = group_writable.len(),
            "the group can write to the data directory, or to an entry in the directory; run `chmod -R g-w {}`",
            path.display()
        );
    }
    Ok(())
}

fn file_error(action: &'static str, path: &Path, error: FileError) -> DataDirError {
    match error {
        FileError::Untrusted(untrusted) => untrusted.into(),
        FileError::Io(source) => io_error(action, path, source),
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> DataDirError {
    DataDirError::Io { action, path: path.to_owned(), source }
}
