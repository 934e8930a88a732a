//! The layout of a store: the files of its directory, and the tables of its derived database.

use std::path::{Path, PathBuf};

/// Tables of the derived database: the first byte of a key.
pub(crate) mod space {
    /// The manifest: the layout number of the database, and its checkpoints.
    pub(crate) const MANIFEST: u8 = 0x00;
    /// First byte of the name of a page of the account trie. Layout 3: the pages of the account trie.
    pub(crate) const ACCOUNTS: u8 = 0x01;
    /// First byte of the name of a page of a storage trie. Layout 3: the pages of the storage tries.
    pub(crate) const STORAGE: u8 = 0x02;
    /// Root pointers of the storage tries.
    pub(crate) const POINTERS: u8 = 0x03;
    /// The key index: plain keys of at most 200 bytes, and the first 200 bytes of longer keys.
    pub(crate) const KEYS: u8 = 0x05;
    /// The key index: later pieces of longer keys.
    pub(crate) const LONG_KEYS: u8 = 0x06;
    /// Keys of the table [`KEYS`] that the newest checkpoint does not have.
    pub(crate) const GONE_KEYS: u8 = 0x07;
    /// Keys of the table [`LONG_KEYS`] that the newest checkpoint does not have.
    pub(crate) const LONG_GONE_KEYS: u8 = 0x08;
    /// The maps of the page file.
    pub(crate) const SPACE: u8 = 0x09;
    /// The manifest of the hash index. The hash index has this table and all tables with higher numbers.
    pub(crate) const HASH_INDEX: u8 = 0xf0;
}

/// Maximum bytes of key and value of a leaf together. Layout 3 could not store a larger leaf, and blocks must not
/// depend on the layout.
pub(crate) const LARGEST_LEAF: usize = 4096 * 0xffff - 64;

/// Returns the path of the record of a store.
pub(crate) fn record_path(dir: &Path) -> PathBuf {
    Layout::of(dir).record
}

/// The paths of the files of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) record: PathBuf,
    pub(crate) changes: PathBuf,
    pub(crate) state: PathBuf,
    /// File that marks the derived database for removal. `None` for a store in memory.
    pub(crate) marker: Option<PathBuf>,
    pub(crate) head_marker: Option<PathBuf>,
    /// Directory of the history index. `None` for a store in memory.
    pub(crate) index: Option<PathBuf>,
}

impl Layout {
    pub(crate) fn of(dir: &Path) -> Self {
        Self {
            record: dir.join("chain"),
            changes: dir.join("changes"),
            state: dir.join("state"),
            marker: Some(dir.join("state.damaged")),
            head_marker: Some(dir.join("witness")),
            index: Some(dir.join("index")),
        }
    }
}
