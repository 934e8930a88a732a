//! Converts the derived database of an earlier layout at opening.
//!
//! The conversion writes a new database into `state.converting`. When this database is complete and durable, the
//! directory is renamed to `state.converted`, and then replaces `state`. So a crash at any point leaves a complete
//! database, of the earlier or of the present layout.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Progress, StoreOptions, files::remove_directory, open::Opening};
use crate::{
    db::{Db, DbOptions, Durability, ENGINE_PARAMETERS},
    error::OpenError,
    file::sync,
    layout::Layout,
    versioned_trie::layout_3,
};

/// Cache of the engine for the derived database, in bytes.
const STATE_CACHE: u64 = 16 << 20;

impl Layout {
    fn converting(&self) -> PathBuf {
        self.state.with_file_name("state.converting")
    }

    fn converted(&self) -> PathBuf {
        self.state.with_file_name("state.converted")
    }

    /// Removes the result of an unfinished conversion. Puts the result of a finished conversion in place.
    pub(super) fn end_conversion(&self) -> Result<(), OpenError> {
        remove_directory(&self.converting())?;
        let converted = self.converted();
        if !converted.exists() {
            return Ok(());
        }
        remove_directory(&self.state)?;
        rename(&converted, &self.state)
    }

    /// Opens the derived database. Converts it if it has an earlier layout that the store can convert.
    pub(super) fn open_state(&self, options: StoreOptions, progress: Progress<'_>) -> Result<Db, Opening> {
        let options = DbOptions { cache_bytes: STATE_CACHE, durability: options.durability };
        let open = |path: &Path| {
            Db::open(path, options).map_err(|error| match error {
                error if error.is_damage() => Opening::Damaged(error.to_string()),
                error => Opening::Failed(OpenError::StateDb(error)),
            })
        };
        let old = open(&self.state)?;
        if !layout_3::is_due(&old)? {
            return Ok(old);
        }
        let converting = self.converting();
        remove_directory(&converting).map_err(Opening::Failed)?;
        let new = open(&converting)?;
        let converted = layout_3::convert(&old, &new, progress);
        new.close();
        if converted.is_err() {
            // On a full disk, the incomplete database would take space that other files need. An error of this removal
            // is ignored: the caller needs the error of the conversion, and the next opening removes the directory.
            drop(remove_directory(&converting));
        }
        converted?;
        old.close();
        self.replace(&converting, options.durability).map_err(Opening::Failed)?;
        open(&self.state)
    }

    fn replace(&self, converting: &Path, durability: Durability) -> Result<(), OpenError> {
        if durability == Durability::Flush {
            for path in [converting.join(ENGINE_PARAMETERS), converting.to_owned()] {
                sync(&path).map_err(|source| OpenError::Directory { path, source })?;
            }
        }
        rename(converting, &self.converted())?;
        self.end_conversion()
    }
}

/// Renames a directory, and flushes the new name.
fn rename(from: &Path, to: &Path) -> Result<(), OpenError> {
    let renamed = fs::rename(from, to).and_then(|()| to.parent().map_or(Ok::<_, io::Error>(()), sync));
    renamed.map_err(|source| OpenError::Directory { path: to.to_owned(), source })
}
