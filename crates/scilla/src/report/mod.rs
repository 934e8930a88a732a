//! Reports about a rejected program or a failed run.

mod cause;

use std::fmt;

pub use self::cause::{Cause, Context, NameKind, TypedArgument};
use crate::source::Location;

/// One entry of a list of errors, as receipts and the reference's JSON carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The text.
    pub message: String,
    /// Where it begins; the default where nothing is known.
    pub start: Location,
    /// Where it ends; nearly always the default, as in the reference.
    pub end: Location,
    /// Why it was reported, for people; neither receipts nor JSON carry it.
    pub cause: Option<Box<Cause>>,
}

impl Entry {
    /// An entry with a beginning.
    pub fn at(start: Location, message: impl Into<String>) -> Self {
        Self { message: message.into(), start, end: Location::default(), cause: None }
    }

    /// An entry without a place.
    pub fn nowhere(message: impl Into<String>) -> Self {
        Self::at(Location::default(), message)
    }

    /// The same entry with its cause.
    #[must_use]
    pub fn because(self, cause: impl Into<Option<Cause>>) -> Self {
        Self { cause: cause.into().map(Box::new), ..self }
    }
}

/// Why a program was rejected or a run failed: a list that is never empty, in the order in which it is reported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    entries: Vec<Entry>,
}

impl Failure {
    /// A failure of one entry.
    pub fn of(entry: Entry) -> Self {
        Self { entries: vec![entry] }
    }

    /// A failure of several entries; none if there are none.
    pub fn from_entries(entries: Vec<Entry>) -> Option<Self> {
        (!entries.is_empty()).then_some(Self { entries })
    }

    /// Puts an entry behind the others.
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

/// Something that deserves a look and rejects nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The text.
    pub message: String,
    /// Where it begins.
    pub start: Location,
    /// Where it ends; nearly always the default.
    pub end: Location,
    /// The family of the warning (1, 2 or 3 in the reference).
    pub id: u8,
}
