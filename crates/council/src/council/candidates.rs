//! Executed bodies that are not decided.

use std::collections::VecDeque;

use silica_chain::ExecutedBlock;

use super::verdict::Entry;
use crate::entry::EntryId;

/// Largest number of executed bodies that a member keeps. A body with 8,000 payments has about 1.6 MB, and its
/// executed block several times as much.
pub(super) const MAX_CANDIDATES: usize = 4;

/// A valid body that is not decided.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) entry: Entry,
    pub(super) executed: ExecutedBlock,
}

/// The latest valid bodies of a height. An older body is executed again if it is decided.
#[derive(Debug, Default)]
pub(super) struct Candidates(VecDeque<Candidate>);

impl Candidates {
    pub(super) fn has(&self, id: EntryId) -> bool {
        self.0.iter().any(|candidate| candidate.entry.id == id)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a candidate. If there are too many, the oldest one is dropped.
    pub(super) fn add(&mut self, candidate: Candidate) {
        if self.0.len() >= MAX_CANDIDATES {
            self.0.pop_front();
        }
        self.0.push_back(candidate);
    }

    /// Takes a candidate, and drops all others.
    pub(super) fn decide(&mut self, id: EntryId) -> Option<Candidate> {
        std::mem::take(&mut self.0).into_iter().find(|candidate| candidate.entry.id == id)
    }
}
