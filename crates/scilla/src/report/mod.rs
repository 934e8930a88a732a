//! Reports about a rejected program or a failed run.

mod cause;

use std::fmt;

pub use self::cause::{Cause, Context, NameKind, TypedArgument};
use crate::source::Location;

/// One entry of a list of errors, in receipts and in the reference's JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The text.
    pub message: String,
    /// Its beginning; the default if unknown.
    pub start: Location,
    /// Its end; nearly always the default, as in the reference.
    pub end: Location,
    /// The cause, for people. Neither receipts nor JSON contain it.
    pub cause: Option<Box<Cause>>,
}

impl Entry {
    /// Returns an entry with a beginning.
    pub fn at(start: Location, message: impl Into<String>) -> Self {
        Self { message: message.into(), start, end: Location::default(), cause: None }
    }

    /// Returns an entry without a place.
    pub fn nowhere(message: impl Into<String>) -> Self {
        Self::at(Location::default(), message)
    }

    /// Returns the same entry with its cause.
    #[must_use]
    pub fn because(self, cause: impl Into<Option<Cause>>) -> Self {
        Self { cause: cause.into().map(Box::new), ..self }
    }
}

/// The errors of a rejected program or a failed run: a list that is never empty, in the order of the report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    entries: Vec<Entry>,
}

impl Failure {
    /// Returns a failure of one entry.
    pub fn of(entry: Entry) -> Self {
        Self { entries: vec![entry] }
    }

    /// Returns a failure of several entries, or `None` if there are none.
    pub fn from_entries(entries: Vec<Entry>) -> Option<Self> {
        (!entries.is_empty()).then_some(Self { entries })
    }

    /// Adds an entry at the end.
    #[must_use]
    pub fn followed_by(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }

    /// Returns the entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entries.
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

/// A warning, which rejects nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The text.
    pub message: String,
    /// Its beginning.
    pub start: Location,
    /// Its end; nearly always the default.
    pub end: Location,
    /// The family of the warning (1, 2 or 3 in the reference).
    pub id: u8,
}
