//! The ready file. The program that started the node reads this file to detect that the node is ready, and to
//! get the addresses of the node.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::files;

/// Reason why the ready file cannot be written or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadyFileError {
    /// The path names an entry that is not a regular file.
    #[error("ready-file: expected the name of a new or ordinary file, got {}, which is {kind}", path.display())]
    NotAFile {
        /// Path of the ready file.
        path: PathBuf,
        /// The kind of the existing entry.
        kind: &'static str,
    },
    /// The operating system returned an error.
    #[error("cannot {action} the ready file {}", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// Path of the ready file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The ready file, which exists only while the node is ready.
#[derive(Debug)]
pub struct ReadyFile {
    path: PathBuf,
    /// The text that the node wrote; `None` until the node is ready.
    text: Option<String>,
}

impl ReadyFile {
    /// Reserves `path` for the ready file, and removes the ready file of an earlier node. Otherwise a program could
    /// read the addresses of the earlier node.
    ///
    /// # Errors
    ///
    /// [`ReadyFileError::NotAFile`] for a link, a directory or a device. [`ReadyFileError::Io`] if the file cannot be
    /// removed.
    pub fn prepare(path: PathBuf) -> Result<Self, ReadyFileError> {
        let failed = |action, source| ReadyFileError::Io { action, path: path.clone(), source };
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => fs::remove_file(&path).map_err(|source| failed("remove", source))?,
            Ok(found) => {
                let kind = match found.file_type() {
                    kind if kind.is_symlink() => "a link",
                    kind if kind.is_dir() => "a directory",
                    _ => "no ordinary file",
                };
                return Err(ReadyFileError::NotAFile { path, kind });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(failed("inspect", source)),
        }
        Ok(Self { path, text: None })
    }

    /// Writes the file. A reader gets either no file or the complete file. Only the owner can read the file.
    ///
    /// # Errors
    ///
    /// [`ReadyFileError::Io`] if the file cannot be written.
    pub fn write(&mut self, text: String) -> Result<(), ReadyFileError> {
        let draft = draft_of(&self.path);
        let written = write_new(&draft, &text).and_then(|()| fs::rename(&draft, &self.path));
        written.map_err(|source| {
            drop(fs::remove_file(&draft));
            ReadyFileError::Io { action: "write", path: self.path.clone(), source }
        })?;
        self.text = Some(text);
        Ok(())
    }

    /// Removes the file, unless another program has replaced it.
    ///
    /// # Errors
    ///
    /// [`ReadyFileError::Io`] if the file cannot be read or removed.
    pub fn remove(&mut self) -> Result<(), ReadyFileError> {
        let Some(text) = self.text.take() else { return Ok(()) };
        let failed = |action, source| ReadyFileError::Io { action, path: self.path.clone(), source };
        match fs::read_to_string(&self.path) {
            Ok(found) if found == text => fs::remove_file(&self.path).map_err(|source| failed("remove", source)),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(failed("read", source)),
        }
    }
}

/// Returns the path of a draft of the file, in the directory of the file. No other process uses this path.
fn draft_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.draft", std::process::id()));
    path.with_file_name(name)
}

fn write_new(draft: &Path, text: &str) -> io::Result<()> {
    files::create_anew(draft)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn ready_file_exists_from_start_to_stop_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ready.json");
        fs::write(&path, "of an earlier node").unwrap();
        let mut file = ReadyFile::prepare(path.clone()).unwrap();
        assert!(!path.exists());
        file.write("{}".to_owned()).unwrap();
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), names(directory.path())),
            ("{}".into(), vec!["ready.json".into()])
        );
        file.remove().unwrap();
        assert_eq!(names(directory.path()), [""; 0]);
        file.remove().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ready.json");
        ReadyFile::prepare(path.clone()).unwrap().write("{}".to_owned()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused_and_never_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, target) = (directory.path().join("ready.json"), directory.path().join("target"));
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        let error = ReadyFile::prepare(path.clone()).unwrap_err().to_string();
        assert!(error.contains("which is a link"), "{error}");
        assert!(ReadyFile::prepare(directory.path().to_owned()).unwrap_err().to_string().contains("a directory"));
        // A link that is created later at the path, or at the path of the draft, is replaced and not followed.
        fs::remove_file(&path).unwrap();
        let mut file = ReadyFile::prepare(path.clone()).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        std::os::unix::fs::symlink(&target, draft_of(&path)).unwrap();
        file.write("{}".to_owned()).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn file_of_another_node_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ready.json");
        let mut first = ReadyFile::prepare(path.clone()).unwrap();
        first.write("first".to_owned()).unwrap();
        ReadyFile::prepare(path.clone()).unwrap().write("second".to_owned()).unwrap();
        first.remove().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
    }

    #[test]
    fn failure_names_the_file() {
        let mut file = ReadyFile::prepare("/none/ready.json".into()).unwrap();
        let error = file.write("{}".to_owned()).unwrap_err().to_string();
        assert_eq!(error, "cannot write the ready file /none/ready.json");
    }
}
