//! The method table: the methods that a [`Service`](super::Service) calls, by their names.

use std::{collections::HashMap, num::NonZeroU32};

use silica_protocol::rpc::error::RpcError;

use super::entry::{Action, Entry};

/// Minimum similarity of an unknown name and the name of a method for a suggestion, from 0 to 1.
const SIMILAR: f64 = 0.9;

/// Maximum length of an unknown name for a suggestion, in bytes. The time of a comparison grows with the product of
/// the lengths of the two names.
const LONGEST: usize = 64;

/// The methods of a service, in the alphabetical order of their names.
#[derive(Debug)]
pub(crate) struct MethodTable {
    entries: Vec<Entry>,
    rows: HashMap<&'static str, Row>,
    /// The names in lower case, in the order of the entries.
    lower: Vec<String>,
    /// Returns the error for a method of the reference or of Ethereum that this node does not have.
    refusal: fn(&str) -> Option<RpcError>,
}

/// The parts of an entry that a call needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Name on the wire.
    pub(crate) name: &'static str,
    /// Position in the table.
    pub(crate) position: usize,
    /// How the service calls the method.
    pub(crate) action: Action,
    /// The names of the parameters.
    pub(crate) fields: &'static [&'static str],
    /// Whether the method is for developers.
    pub(crate) for_developers: bool,
    /// Units of the rate limit that one call takes.
    pub(crate) weight: NonZeroU32,
}

impl MethodTable {
    /// Sorts `entries` by their names, and indexes them. `refusal` returns the error for a method of the reference or
    /// of Ethereum that this node does not have.
    pub(crate) fn new(mut entries: Vec<Entry>, refusal: fn(&str) -> Option<RpcError>) -> Self {
        entries.sort_by_cached_key(|entry| entry.name.to_lowercase());
        let rows = entries.iter().enumerate().flat_map(|(position, entry)| {
            let Entry { name, action, shape, for_developers, weight, .. } = *entry;
            let row = Row { name, position, action, fields: (shape.fields)(), for_developers, weight };
            entry.names().map(move |name| (name, row))
        });
        let rows = rows.collect();
        let lower = entries.iter().map(|entry| entry.name.to_lowercase()).collect();
        Self { entries, rows, lower, refusal }
    }

    /// Returns all entries, in the order of their names.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the row of the method with this name or alias.
    pub(crate) fn find(&self, name: &str) -> Option<&Row> {
        self.rows.get(name)
    }

    /// Returns the error for a name that no method has. The error suggests only a method whose position `is_offered`
    /// accepts.
    pub(crate) fn absent(&self, name: &str, is_offered: impl Fn(usize) -> bool) -> RpcError {
        (self.refusal)(name).unwrap_or_else(|| match self.similar(name, is_offered) {
            Some(similar) => RpcError::METHOD_NOT_FOUND.with_suggestion(similar),
            None => RpcError::METHOD_NOT_FOUND,
        })
    }

    /// Returns the most similar name of the methods whose position `is_offered` accepts. Returns `None` if no name is
    /// similar, or `name` is longer than [`LONGEST`]. Also returns `None` if `name` is a name or an alias of a method
    /// of this table.
    pub(crate) fn similar(&self, name: &str, is_offered: impl Fn(usize) -> bool) -> Option<&'static str> {
        if name.len() > LONGEST || self.find(name).is_some() {
            return None;
        }
        let name = name.to_lowercase();
        let offered = self.lower.iter().zip(&self.entries).enumerate().filter(|(position, _)| is_offered(*position));
        let known = offered.map(|(_, (lower, entry))| (strsim::jaro_winkler(lower, &name), entry.name));
        known.filter(|(likeness, _)| *likeness >= SIMILAR).max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
    }
}
