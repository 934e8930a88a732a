//! The data directory: whose it is, which chain it holds, and the node's key.
//!
//! ```text
//! silica-data/
//!   lock            held by the process that uses the directory
//!   node.key        secret key of the node, hexadecimal, readable by its owner only
//!   accounts.json   accounts of the genesis block, in the form of the isolated server; likewise
//!   manifest.json   version of this layout, and what may not change; written once the files above are in place
//!   store/          the chain, which is the business of silica-state
//!   pool            transactions that were waiting when the node stopped
//!   pool.unreadable a file `pool` that could not be read
//!   check/          what `silica db check` needs for a while
//!   dumps/          files with the chain that callers of `silica_dump` asked for
//! ```

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use silica_chain::ChainConfig;
use silica_crypto::{KeyPair, SecretKey, SecretKeyError};
use silica_protocol::{ChainId, GasPrice, sha256};
use silica_scilla::rules::{Rules, UnknownRules};
use silica_state::{OpenError, OpenOutcome, Store};
use zeroize::Zeroizing;

use crate::files::{self, FileError, UntrustedFile, Wanted};

/// Newest version of the layout. The manifest of a chain whose Scilla rules have no name is written in the one before,
/// which earlier programs read.
const FORMAT: u32 = 2;
const FORMAT_WITHOUT_RULES: u32 = 1;

const LOCK: &str = "lock";
pub(crate) const KEY: &str = "node.key";
pub(crate) const ACCOUNTS: &str = "accounts.json";
pub(crate) const MANIFEST: &str = "manifest.json";
const STORE: &str = "store";
pub(crate) const POOL: &str = "pool";
/// Where a file of the pool is kept that cannot be read.
const UNREADABLE_POOL: &str = "pool.unreadable";
const SCRATCH: &str = "check";
const DUMPS: &str = "dumps";

/// Bytes of the longest files that are read. A file that is longer was not written by this program.
const LONGEST_KEY: u64 = 256;
const LONGEST_MANIFEST: u64 = 64 << 10;
pub(crate) const LONGEST_ACCOUNTS: u64 = 64 << 20;
pub(crate) const LONGEST_POOL: u64 = 4 << 30;

/// What the operator can do when blocks are lost, which nothing else in the directory replaces.
const REMEDY_OF_LOSS: &str =
    "; restore the data directory from a copy, or load a dump into another one with `silica db load`";

/// What this program creates in a data directory.
const ENTRIES: [(&str, Wanted); 8] = [
    (LOCK, Wanted::File),
    (KEY, Wanted::Secret),
    (ACCOUNTS, Wanted::Secret),
    (MANIFEST, Wanted::File),
    (STORE, Wanted::Tree),
    (POOL, Wanted::File),
    (SCRATCH, Wanted::Tree),
    (DUMPS, Wanted::Directory),
];

/// Reason why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process holds the lock.
    #[error("data directory {} is in use by another process; stop it, or choose another with --data-dir", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds files of something else.
    #[error(
        "directory {} is not a silica data directory: it holds {found:?}, and {MANIFEST} is missing; choose an empty \
         one with --data-dir",
        path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// A file that does not belong into an empty one.
        found: String,
    },
    /// There is no chain in the directory.
    #[error("directory {} holds no chain", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// A newer program wrote the directory.
    #[error(
        "data directory {} has format {found}, this program knows formats up to {FORMAT}; use a newer silica",
        path.display()
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// A newer program made the chain in the directory.
    #[error("data directory {}", path.display())]
    Rules {
        /// The directory.
        path: PathBuf,
        /// What is not known of its rules.
        source: UnknownRules,
    },
    /// The directory holds a chain with other parameters than those asked for.
    #[error(
        "data directory {} holds a chain with {name} {found}, but {by} asks for {wanted}; \
         choose another directory with --data-dir",
        path.display()
    )]
    OtherChain {
        /// The directory.
        path: PathBuf,
        /// The parameter.
        name: &'static str,
        /// Who asks for another.
        by: String,
        /// Its value in the directory.
        found: String,
        /// The value asked for.
        wanted: String,
    },
    /// A file does not hold what it should.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The directory, or an entry of it, may have been planted or can be changed by other users.
    #[error(transparent)]
    Untrusted(#[from] UntrustedFile),
    /// The system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a directory holds: parameters that may not change, and by what the other files are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) chain_id: u16,
    pub(crate) shards: u32,
    pub(crate) blocks_per_ds_epoch: u64,
    /// SHA-256 of the file of accounts.
    accounts: String,
    /// The node's public key.
    node_key: String,
    /// Hash of the genesis block, once it was made.
    pub(crate) genesis: Option<String>,
    /// The price of gas that the operator set last, in Qa.
    pub(crate) gas_price: Option<String>,
    /// The rules by which contracts run; none in a chain that was made before rules had a name.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "rules_text")]
    scilla_rules: Option<Rules>,
}

/// Rules as their text.
mod rules_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
    use silica_scilla::rules::Rules;

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference to the field"
    )]
    pub(super) fn serialize<S: Serializer>(rules: &Option<Rules>, serializer: S) -> Result<S::Ok, S::Error> {
        match rules {
            Some(rules) => serializer.collect_str(rules),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rules>, D::Error> {
        String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
    }
}

/// What a chain is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters {
    pub(crate) chain_id: u16,
    pub(crate) shards: u32,
    pub(crate) blocks_per_ds_epoch: u64,
    pub(crate) scilla_rules: Rules,
}

impl Manifest {
    pub(crate) fn new(parameters: Parameters, accounts: &str, key: &KeyPair) -> Self {
        let Parameters { chain_id, shards, blocks_per_ds_epoch, scilla_rules } = parameters;
        Self {
            chain_id,
            shards,
            blocks_per_ds_epoch,
            accounts: digest(accounts),
            node_key: key.public().to_string(),
            genesis: None,
            gas_price: None,
            scilla_rules: Some(scilla_rules),
        }
    }

    /// The rules by which contracts run.
    pub(crate) fn scilla_rules(&self) -> Rules {
        self.scilla_rules.unwrap_or(Rules::UNNAMED)
    }

    /// Returns the parameters of the chain, with the default policy.
    pub(crate) fn chain_config(&self) -> ChainConfig {
        let default = ChainConfig::isolated();
        let mut policy = default.policy;
        policy.operator_price = self.gas_price.as_ref().and_then(|price| price.parse().ok());
        ChainConfig {
            chain_id: ChainId::new(self.chain_id),
            shards: self.shards,
            blocks_per_ds_epoch: self.blocks_per_ds_epoch,
            rules: silica_chain::config::Rules { scilla: self.scilla_rules(), ..default.rules },
            policy,
            ..default
        }
    }

    /// The version of the layout that can hold it.
    const fn format(&self) -> u32 {
        if self.scilla_rules.is_some() { FORMAT } else { FORMAT_WITHOUT_RULES }
    }
}

/// The manifest as a file: the number of the layout first, which every version of this program can read, and a checksum,
/// since a changed digit would make it another chain.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ManifestFile {
    format: u32,
    manifest: Manifest,
    checksum: String,
}

impl ManifestFile {
    fn new(manifest: Manifest) -> Self {
        let text = serde_json::to_string(&manifest).expect("text and numbers have a JSON form");
        Self { format: manifest.format(), manifest, checksum: digest(&text) }
    }
}

fn digest(text: &str) -> String {
    hex::encode(sha256(&[text.as_bytes()]))
}

/// Returns what an operator can do about a store that cannot be opened, as the end of an error text.
pub(crate) fn remedy(error: &OpenError) -> &'static str {
    match () {
        () if error.is_loss() => REMEDY_OF_LOSS,
        () if error.is_no_room() => "; free space on the disk",
        () => "",
    }
}

/// A data directory that this process alone uses.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    /// The locks end when the files are closed.
    _locks: [File; 2],
}

impl DataDir {
    /// Takes a directory, which is made if it does not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, DataDirError> {
        files::create_directory(path).map_err(|source| io_error("create directory", path, source))?;
        Self::take(path)
    }

    /// Takes a directory that holds a chain.
    pub(crate) fn open(path: &Path) -> Result<Self, DataDirError> {
        if !path.join(MANIFEST).exists() {
            return Err(DataDirError::Empty { path: path.to_owned() });
        }
        Self::take(path)
    }

    fn take(path: &Path) -> Result<Self, DataDirError> {
        // What a link to it names later is another directory than the one that is checked and locked here.
        let path = &path.canonicalize().map_err(|source| io_error("open directory", path, source))?;
        let directory = files::open_directory(path).map_err(|error| file_error("open directory", path, error))?;
        // The file can be removed while it is locked, the directory of a running node cannot be replaced unnoticed. A file
        // system that does not lock directories locks the file.
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
            Ok(()) => Ok(Self { path: path.to_owned(), _locks: [directory, lock] }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(io_error("lock", &file, source)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the chain is stored.
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }

    /// Refuses a store without a block where there was a chain, which would otherwise begin anew under the same name.
    pub(crate) fn check_not_lost(&self, manifest: &Manifest, store: &Store) -> Result<(), DataDirError> {
        match (store.outcome(), &manifest.genesis) {
            (OpenOutcome::Empty, Some(_)) => {
                Err(self.damaged(STORE, &format!("its blocks are missing{REMEDY_OF_LOSS}")))
            }
            _ => Ok(()),
        }
    }

    /// Where a check may put what it needs for a while.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.path.join(SCRATCH)
    }

    /// Where callers have the chain written to.
    pub(crate) fn dumps(&self) -> PathBuf {
        self.path.join(DUMPS)
    }

    /// Reads a file of a directory that holds a chain.
    pub(crate) fn read_file(&self, name: &str) -> Result<Zeroizing<Vec<u8>>, DataDirError> {
        self.read_bytes(name)?.ok_or_else(|| self.damaged(name, "it is missing"))
    }

    /// Reads the transactions that were waiting when the node stopped, and leaves them there.
    pub(crate) fn read_pool(&self) -> Result<Vec<u8>, DataDirError> {
        Ok(self.read_bytes(POOL)?.map(|mut bytes| std::mem::take(&mut *bytes)).unwrap_or_default())
    }

    /// Reads the manifest; `None` in a new directory.
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
            FORMAT_WITHOUT_RULES | FORMAT => {}
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

    pub(crate) fn write_manifest(&self, manifest: &Manifest) -> Result<(), DataDirError> {
        let file = ManifestFile::new(manifest.clone());
        let mut text = serde_json::to_string_pretty(&file).map_err(|error| self.damaged(MANIFEST, &error))?;
        text.push('\n');
        self.write(MANIFEST, text.as_bytes())
    }

    /// Keeps the price of gas that the operator set.
    pub(crate) fn keep_gas_price(&self, price: Option<GasPrice>) -> Result<(), DataDirError> {
        let Some(mut manifest) = self.manifest()? else { return Ok(()) };
        manifest.gas_price = price.as_ref().map(ToString::to_string);
        self.write_manifest(&manifest)
    }

    fn damaged(&self, name: &str, reason: &(impl ToString + ?Sized)) -> DataDirError {
        DataDirError::Damaged { path: self.path.join(name), reason: reason.to_string() }
    }

    /// Complains that the chain in the directory is not the one that `by` asks for.
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

    /// Reads the key of the node of a directory that holds a chain.
    pub(crate) fn key(&self, manifest: &Manifest) -> Result<KeyPair, DataDirError> {
        let key = self.read_key()?.ok_or_else(|| self.damaged(KEY, "it is missing"))?;
        if key.public().to_string() != manifest.node_key {
            return Err(self.damaged(KEY, &format!("expected the secret key of {}", manifest.node_key)));
        }
        Ok(key)
    }

    /// Reads the key that an interrupted first start may have left, or draws one.
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
        let key: SecretKey = text.trim_end().parse().map_err(|error: SecretKeyError| self.damaged(KEY, &error))?;
        Ok(Some(KeyPair::from_secret(key)))
    }

    /// Reads the accounts of the genesis block of a directory that holds a chain.
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

    /// Reads the transactions that were waiting when the node stopped; `None` if there is no file. A file that cannot be read
    /// is renamed with a warning.
    pub(crate) fn load_pool(&self) -> Result<Option<Vec<u8>>, DataDirError> {
        match self.read_bytes(POOL) {
            Ok(bytes) => Ok(bytes.map(|mut bytes| std::mem::take(&mut *bytes))),
            Err(error @ DataDirError::Io { .. }) => {
                let path = self.path.join(POOL);
                // An earlier such file stays.
                let numbered = (2_u32..).map(|number| format!("{UNREADABLE_POOL}.{number}"));
                let mut names =
                    std::iter::once(UNREADABLE_POOL.to_owned()).chain(numbered).map(|name| self.path.join(name));
                let aside = names.find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_default();
                fs::rename(&path, &aside).map_err(|source| io_error("rename", &path, source))?;
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    kept = %aside.display(),
                    "the transactions that were waiting cannot be read; their file is renamed"
                );
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the file of the transactions that were waiting.
    pub(crate) fn remove_pool(&self) -> Result<(), DataDirError> {
        let path = self.path.join(POOL);
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
            KEY => (Wanted::Secret, LONGEST_KEY),
            ACCOUNTS => (Wanted::Secret, LONGEST_ACCOUNTS),
            POOL => (Wanted::File, LONGEST_POOL),
            _ => (Wanted::File, LONGEST_MANIFEST),
        };
        files::read(&path, wanted, limit).map_err(|error| file_error("read", &path, error))
    }

    /// Writes a file so that a crash leaves either nothing or all of it. Only the owner may read it.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), DataDirError> {
        let path = self.path.join(name);
        let draft = self.path.join(format!("{name}.new"));
        let written = files::create_anew(&draft).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written
            .and_then(|()| fs::rename(&draft, &path))
            .inspect_err(|_| {
                // On a disk that is full what is left of it is in the way of others.
                let _: io::Result<()> = fs::remove_file(&draft);
            })
            .and_then(|()| files::sync_directory(&self.path))
            .map_err(|source| io_error("write", &path, source))
    }
}

/// Draws a key from the system's randomness.
pub(crate) fn draw_key() -> io::Result<KeyPair> {
    loop {
        let mut bytes = [0; SecretKey::LEN];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        // About once in 2^128 the number is out of range.
        if let Ok(key) = SecretKey::from_bytes(bytes) {
            return Ok(KeyPair::from_secret(key));
        }
    }
}

/// Refuses a directory without manifest that holds more than an interrupted first start can have left.
fn check_nothing_foreign(path: &Path) -> Result<(), DataDirError> {
    let entries = fs::read_dir(path).map_err(|source| io_error("read directory", path, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| io_error("read directory", path, source))?;
        let name = entry.file_name();
        let known = files::is_lost_and_found(&entry)
            || name.to_str().is_some_and(|name| {
                [LOCK, KEY, ACCOUNTS, MANIFEST].contains(&name.strip_suffix(".new").unwrap_or(name))
            });
        if !known {
            return Err(DataDirError::Foreign { path: path.to_owned(), found: name.to_string_lossy().into_owned() });
        }
    }
    Ok(())
}

/// Refuses files of ours that other users may have planted or can change, and warns of those that their group can change.
fn inspect(path: &Path, directory: &File) -> Result<(), DataDirError> {
    let mut group_writable = Vec::new();
    let metadata = directory.metadata().map_err(|source| io_error("open directory", path, source))?;
    if files::is_group_writable(&metadata) {
        group_writable.push(path.to_owned());
    }
    for (name, wanted) in ENTRIES {
        let path = path.join(name);
        files::inspect(&path, wanted, &mut group_writable).map_err(|error| file_error("look at", &path, error))?;
    }
    if let Some(first) = group_writable.first() {
        tracing::warn!(
            path = %first.display(),
            entries = group_writable.len(),
            "the group can write to the data directory, and replace the chain and its key; run `chmod -R g-w {}`",
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

#[cfg(test)]
mod tests {
    use silica_protocol::Qa;
    use silica_scilla::rules::Edition;

    use super::*;

    const ACCOUNTS_TEXT: &str = "{}";
    const PARAMETERS: Parameters =
        Parameters { chain_id: 222, shards: 1, blocks_per_ds_epoch: 100, scilla_rules: Rules::newest(Edition::V0_13) };

    /// Makes a directory that holds a chain, as far as this module knows.
    fn made(path: &Path) -> (DataDir, Manifest) {
        let dir = DataDir::create(path).unwrap();
        assert_eq!(dir.manifest().unwrap(), None);
        let manifest = Manifest::new(PARAMETERS, ACCOUNTS_TEXT, &dir.new_key().unwrap());
        dir.write_accounts(ACCOUNTS_TEXT).unwrap();
        dir.write_manifest(&manifest).unwrap();
        (dir, manifest)
    }

    #[test]
    fn new_directory_becomes_a_chains() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let (dir, manifest) = made(&path);
        let key = dir.key(&manifest).unwrap();
        dir.keep_gas_price(Some(GasPrice::new(Qa::new(7)))).unwrap();
        drop(dir);

        let dir = DataDir::open(&path).unwrap();
        let read = dir.manifest().unwrap().unwrap();
        assert_eq!(read, Manifest { gas_price: Some("7".to_owned()), ..manifest });
        assert_eq!(*dir.accounts(&read).unwrap(), ACCOUNTS_TEXT);
        assert_eq!(dir.key(&read).unwrap(), key);
    }

    #[cfg(unix)]
    #[test]
    fn secrets_are_readable_by_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        made(parent.path());
        for name in [KEY, ACCOUNTS] {
            let mode = fs::metadata(parent.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn directory_is_used_by_one_process() {
        let parent = tempfile::tempdir().unwrap();
        let dir = DataDir::create(parent.path()).unwrap();
        let error = DataDir::create(parent.path()).unwrap_err();
        assert!(error.to_string().contains("is in use by another process"), "{error}");
        drop(dir);
        DataDir::create(parent.path()).unwrap();
    }

    #[test]
    fn files_of_something_else_are_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("thesis.tex"), "x").unwrap();
        let error = DataDir::create(parent.path()).unwrap_err();
        assert!(error.to_string().contains("thesis.tex"), "{error}");
        assert!(!parent.path().join(LOCK).exists());
    }

    #[test]
    fn interrupted_first_start_is_taken_up_again() {
        let parent = tempfile::tempdir().unwrap();
        let dir = DataDir::create(parent.path()).unwrap();
        let key = dir.new_key().unwrap();
        fs::write(parent.path().join("accounts.json.new"), "{").unwrap();
        drop(dir);
        assert_eq!(DataDir::create(parent.path()).unwrap().new_key().unwrap(), key);
    }

    #[test]
    fn store_without_manifest_is_not_taken_for_a_new_chain() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join(STORE)).unwrap();
        let error = DataDir::create(parent.path()).unwrap_err();
        assert!(matches!(error, DataDirError::Foreign { .. }), "{error}");
    }

    #[test]
    fn only_a_chain_is_opened() {
        let parent = tempfile::tempdir().unwrap();
        assert!(matches!(DataDir::open(parent.path()), Err(DataDirError::Empty { .. })));
        assert!(matches!(DataDir::open(&parent.path().join("none")), Err(DataDirError::Empty { .. })));
    }

    /// Checks that a manifest is refused with a message that holds `words`.
    fn check_manifest(text: &str, words: &str) {
        let parent = tempfile::tempdir().unwrap();
        let dir = DataDir::create(parent.path()).unwrap();
        fs::write(parent.path().join(MANIFEST), text).unwrap();
        let error = dir.manifest().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn manifest_of_a_newer_program_is_refused_by_its_number() {
        check_manifest(r#"{"format":3,"engine":"other"}"#, "has format 3, this program knows formats up to 2");
        check_manifest(r#"{"format":0}"#, "damaged");
        check_manifest(r#"{"format":1}"#, "damaged");
        check_manifest(r#"{"format":2}"#, "damaged");
        check_manifest(r#"{"form"#, "damaged");
        check_manifest("", "damaged");
    }

    #[test]
    fn rules_are_kept_and_a_chain_without_them_stays_without() {
        let parent = tempfile::tempdir().unwrap();
        let (dir, manifest) = made(parent.path());
        assert_eq!(manifest.scilla_rules(), Rules::newest(Edition::V0_13));
        let text = || fs::read_to_string(parent.path().join(MANIFEST)).unwrap();
        assert!(text().contains("\"format\": 2,") && text().contains("\"scilla_rules\": \"0.13/3\""), "{}", text());
        // As an earlier version of this program wrote it.
        let unnamed = Manifest { scilla_rules: None, ..manifest };
        dir.write_manifest(&unnamed).unwrap();
        assert!(text().contains("\"format\": 1,") && !text().contains("rules"), "{}", text());
        dir.keep_gas_price(Some(GasPrice::new(Qa::new(7)))).unwrap();
        let read = dir.manifest().unwrap().unwrap();
        assert_eq!((read.scilla_rules, read.scilla_rules()), (None, Rules::UNNAMED));
        assert!(text().contains("\"format\": 1,"), "{}", text());
    }

    #[test]
    fn rules_that_are_not_known_are_named() {
        let rules =
            |rules: &str| format!(r#"{{"format":2,"manifest":{{"scilla_rules":"{rules}","more":1}},"checksum":""}}"#);
        let parent = tempfile::tempdir().unwrap();
        let dir = DataDir::create(parent.path()).unwrap();
        fs::write(parent.path().join(MANIFEST), rules("0.13/9")).unwrap();
        let error = dir.manifest().unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(source.contains("0.13/9 are newer than this program"), "{error}: {source}");
        check_manifest(&rules("0.12/1"), "damaged");
    }

    #[test]
    fn a_format_that_does_not_go_with_the_rules_is_noticed() {
        let parent = tempfile::tempdir().unwrap();
        let (dir, manifest) = made(parent.path());
        for manifest in [manifest.clone(), Manifest { scilla_rules: None, ..manifest }] {
            dir.write_manifest(&manifest).unwrap();
            let path = parent.path().join(MANIFEST);
            let text = fs::read_to_string(&path).unwrap();
            let (format, other) = (manifest.format(), 3 - manifest.format());
            fs::write(&path, text.replace(&format!("\"format\": {format}"), &format!("\"format\": {other}"))).unwrap();
            let error = dir.manifest().unwrap_err().to_string();
            assert!(error.contains(&format!("expected format {format}, got {other}")), "{error}");
        }
    }

    #[test]
    fn changed_bytes_are_noticed() {
        let parent = tempfile::tempdir().unwrap();
        let (dir, manifest) = made(parent.path());
        let open = || -> Result<(), DataDirError> {
            let manifest = dir.manifest()?.unwrap();
            dir.key(&manifest)?;
            dir.accounts(&manifest).map(drop)
        };
        open().unwrap();
        for name in [MANIFEST, KEY, ACCOUNTS] {
            let path = parent.path().join(name);
            let original = fs::read(&path).unwrap();
            let first_digit = original.iter().position(u8::is_ascii_digit).unwrap_or(0);
            for position in [0, first_digit, original.len() / 2] {
                let mut changed = original.clone();
                changed[position] ^= 1;
                fs::write(&path, &changed).unwrap();
                let error = open().unwrap_err();
                let newer = matches!(error, DataDirError::Newer { .. });
                assert!(newer || error.to_string().contains("is damaged"), "{name} {position}: {error}");
            }
            fs::write(&path, [0xff]).unwrap();
            assert!(open().unwrap_err().to_string().contains("is damaged"), "{name}");
            if name != MANIFEST {
                fs::remove_file(&path).unwrap();
                assert!(open().unwrap_err().to_string().contains("it is missing"), "{name}");
            }
            dir.write(name, &original).unwrap();
        }
        assert_eq!(dir.manifest().unwrap(), Some(manifest));
    }

    #[test]
    fn key_of_another_node_is_noticed() {
        let parent = tempfile::tempdir().unwrap();
        let (dir, manifest) = made(parent.path());
        fs::write(parent.path().join(KEY), draw_key().unwrap().secret().to_hex().as_str()).unwrap();
        assert!(dir.key(&manifest).unwrap_err().to_string().contains("expected the secret key of"));
    }

    #[test]
    fn pool_is_read_until_it_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let dir = DataDir::create(parent.path()).unwrap();
        assert_eq!(dir.load_pool().unwrap(), None);
        dir.write_pool(b"waiting").unwrap();
        for _ in 0..2 {
            assert_eq!(dir.load_pool().unwrap().as_deref(), Some(&b"waiting"[..]));
        }
        dir.remove_pool().unwrap();
        assert_eq!(dir.load_pool().unwrap(), None);
    }

    #[test]
    fn pool_that_cannot_be_read_does_not_replace_an_earlier_one() {
        let parent = tempfile::tempdir().unwrap();
        let dir = DataDir::create(parent.path()).unwrap();
        for name in [UNREADABLE_POOL, "pool.unreadable.2"] {
            File::create(parent.path().join(POOL)).unwrap().set_len(LONGEST_POOL + 1).unwrap();
            assert_eq!(dir.load_pool().unwrap(), None);
            assert!(parent.path().join(name).exists() && !parent.path().join(POOL).exists());
        }
    }
}
