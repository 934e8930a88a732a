//! The time of the first start with new files, in a file of the directory.
//!
//! A member with new files can have lost earlier files, and with them the record of its votes. If another process has
//! voted with the key of a member, this member has no record of these votes. The file exists until the member can vote
//! again. It has the time in microseconds since 1970, in decimal digits, and a line feed.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use silica_protocol::Timestamp;

const NAME: &str = "first-start";

/// The remedy for an operator if a file with votes is lost or damaged, as a part of error texts.
pub(crate) const REMEDY: &str = "the member has no record of its votes; once the first block is older than twice the \
                                 drift, start the member with its keys in a new data directory";

/// The first start of a member that has no record of earlier votes.
#[derive(Debug)]
pub(crate) struct FirstStart {
    /// The time of the start.
    pub(crate) at: Timestamp,
}

impl FirstStart {
    /// Reads the file. Returns `None` if the file does not exist.
    pub(crate) fn open(directory: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(directory.join(NAME)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let at = text.strip_suffix('\n').and_then(|text| text.parse().ok()).map(Timestamp::new);
        let at = at.ok_or_else(|| {
            let reason = format!("{NAME}: expected a time in microseconds and a line feed, got {text:?}; {REMEDY}");
            io::Error::new(io::ErrorKind::InvalidData, reason)
        })?;
        Ok(Some(Self { at }))
    }

    /// Writes the file durably, in place of an existing one.
    pub(crate) fn create(directory: &Path, at: Timestamp) -> io::Result<Self> {
        let draft = directory.join(format!("{NAME}.new"));
        let mut file = File::create(&draft)?;
        file.write_all(format!("{}\n", at.get()).as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, directory.join(NAME))?;
        File::open(directory)?.sync_all()?;
        Ok(Self { at })
    }

    /// Removes the file, and flushes the removal. Otherwise, a crash could restore the file, and the member could wait
    /// again: only the first block of the chain can end the wait although it is older than the first start.
    pub(crate) fn remove(directory: &Path) -> io::Result<()> {
        match fs::remove_file(directory.join(NAME)) {
            // An earlier call can have removed the file without a flush.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
        File::open(directory)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_has_the_time_until_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        assert!(FirstStart::open(directory.path()).unwrap().is_none());
        for at in [0, 1_790_000_000_000_000, u64::MAX] {
            FirstStart::create(directory.path(), Timestamp::new(at)).unwrap();
            let first = FirstStart::open(directory.path()).unwrap().unwrap();
            assert_eq!(first.at, Timestamp::new(at));
            FirstStart::remove(directory.path()).unwrap();
            // The flush of an earlier removal can have failed.
            FirstStart::remove(directory.path()).unwrap();
            assert!(FirstStart::open(directory.path()).unwrap().is_none());
        }
    }

    #[test]
    fn damaged_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        for text in ["", "\n", "12", "12\n\n", "-1\n", "x\n"] {
            fs::write(directory.path().join(NAME), text).unwrap();
            let error = FirstStart::open(directory.path()).unwrap_err().to_string();
            let expected =
                format!("first-start: expected a time in microseconds and a line feed, got {text:?}; {REMEDY}");
            assert_eq!(error, expected);
        }
    }
}
