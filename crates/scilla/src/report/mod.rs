//! Errors and warnings about a rejected program or a failed run.

mod cause;

use std::fmt;

pub use self::cause::{Cause, Context, NameKind, TypedArgument};
use crate::source::Location;

/// One entry of a list of errors, as in receipts and in the reference's JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Text of the error.
    pub message: String,
    /// Source position at which the error begins, or the default if it is unknown.
    pub start: Location,
    /// Source position at which the error ends. As in the reference, it is the default in nearly all entries.
    pub end: Location,
    /// Cause of the error, for people. Receipts and JSON do not contain it.
    pub cause: Option<Box<Cause>>,
}

impl Entry {
    /// Returns an entry with the source position at which the error begins.
    pub fn at(start: Location, message: impl Into<String>) -> Self {
        Self { message: message.into(), start, end: Location::default(), cause: None }
    }

    /// Returns an entry without a source position.
    pub fn nowhere(message: impl Into<String>) -> Self {
        Self::at(Location::default(), message)
    }

    /// Returns the entry with a cause.
    #[must_use]
    pub fn because(self, cause: impl Into<Option<Cause>>) -> Self {
        Self { cause: cause.into().map(Box::new), ..self }
    }
}

/// The errors of a rejected program or a failed run, in the order of the report. The list is never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    entries: Vec<Entry>,
}

impl Failure {
    /// Returns a failure with one entry.
    pub fn of(entry: Entry) -> Self {
        Self { entries: vec![entry] }
    }

    /// Returns a failure with these entries, or `None` if there are no entries.
    pub fn from_entries(entries: Vec<Entry>) -> Option<Self> {
        (!entries.is_empty()).then_some(Self { entries })
    }

    /// Adds an entry at the end.
    #[must_use]
    pub fn followed_by(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }

    /// Returns the entries in the order of the report.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entries in the order of the report, without a copy.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{}", entry.message)?;
        }
        Ok(())
    }
}

/// A warning about an accepted program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Text of the warning.
    pub message: String,
    /// Source position at which the warning begins.
    pub start: Location,
    /// Source position at which the warning ends. It is the default in nearly all warnings.
    pub end: Location,
    /// Number of the family of the warning: 1, 2 or 3 in the reference.
    pub id: u8,
}
