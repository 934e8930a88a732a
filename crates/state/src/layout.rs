//! The layout of a store: the files of its directory, and the tables of its derived database.

use std::path::{Path, PathBuf};

/// First byte of the keys of the derived database, one for each table.
pub(crate) mod space {
    /// What the database is, and which checkpoints it holds.
    pub(crate) const MANIFEST: u8 = 0x00;
    /// Records of the account trie.
    pub(crate) const ACCOUNTS: u8 = 0x01;
    /// Records of the storage tries.
    pub(crate) const STORAGE: u8 = 0x02;
    /// Where the storage trie of a contract begins.
    pub(crate) const POINTERS: u8 = 0x03;
    /// Records that the newest checkpoint no longer uses.
    pub(crate) const ORPHANS: u8 = 0x04;
    /// Plain keys of contract storage in their order, or the first slices of long ones.
    pub(crate) const KEYS: u8 = 0x05;
    /// Further slices of long keys.
    pub(crate) const LONG_KEYS: u8 = 0x06;
    /// Plain keys that the newest checkpoint no longer has, or their first slices.
    pub(crate) const GONE_KEYS: u8 = 0x07;
    /// Further slices of these.
    pub(crate) const LONG_GONE_KEYS: u8 = 0x08;
}

/// Returns the path of the record of a store.
pub(crate) fn record_path(dir: &Path) -> PathBuf {
    Layout::of(dir).record
}

/// The paths of a store's files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) record: PathBuf,
    pub(crate) changes: PathBuf,
    pub(crate) state: PathBuf,
    /// Exists when the derived database is to be made anew.
    pub(crate) marker: Option<PathBuf>,
    pub(crate) head_marker: Option<PathBuf>,
}

impl Layout {
    pub(crate) fn of(dir: &Path) -> Self {
        Self {
            record: dir.join("chain"),
            changes: dir.join("changes"),
            state: dir.join("state"),
            marker: Some(dir.join("state.damaged")),
            head_marker: Some(dir.join("witness")),
        }
    }
}
