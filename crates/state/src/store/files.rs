//! File functions of a store: flushes directories, and reads and removes the marker of a damaged state.

use std::{fs, io, path::Path};

use crate::{db::ENGINE_PARAMETERS, error::OpenError, file::sync, layout::Layout};

impl Layout {
    /// Flushes the directory entries of the record's files, and the file with the parameters of its engine. The engine
    /// does not flush them. All other files of the store are flushed where they are written.
    pub(super) fn sync(&self, dir: &Path) -> Result<(), OpenError> {
        let parent = dir.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        let entries = [Some(self.record.join(ENGINE_PARAMETERS)), Some(self.record.clone()), Some(dir.to_owned())];
        for path in entries.into_iter().chain([parent.map(Path::to_owned)]).flatten() {
            sync(&path).map_err(|source| OpenError::Directory { path, source })?;
        }
        Ok(())
    }

    pub(super) fn read_marker(&self) -> Option<String> {
        let text = fs::read(self.marker.as_deref()?).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    pub(super) fn remove_marker(&self) -> Result<(), OpenError> {
        self.marker.as_deref().map_or(Ok(()), remove_file)
    }

    pub(super) fn remove_head_marker(&self) -> Result<(), OpenError> {
        self.head_marker.as_deref().map_or(Ok(()), remove_file)
    }

    pub(super) fn remove_state(&self) -> Result<(), OpenError> {
        remove_directory(&self.state)
    }
}

fn remove_file(path: &Path) -> Result<(), OpenError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(OpenError::Directory { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

pub(super) fn remove_directory(path: &Path) -> Result<(), OpenError> {
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(OpenError::Directory { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
