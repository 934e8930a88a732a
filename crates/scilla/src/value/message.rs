//! Messages, events and exceptions.

use std::sync::Arc;

use super::{Value, string_size};
use crate::types::{Primitive, Type};

/// A message, event or exception: labelled values in the order in which they were written.
pub struct Message {
    pub(super) entries: Vec<MessageEntry>,
    size: u64,
    parts: u64,
    depth: u32,
}

/// A label of a [`Message`] with its value.
#[derive(Clone, Debug)]
pub struct MessageEntry {
    /// Label of the entry.
    pub label: Arc<str>,
    /// Type of the value, as determined when the message was made.
    pub ty: Type,
    /// Value of the entry.
    pub value: Value,
}

impl Message {
    /// Returns a message of these entries.
    pub fn new(entries: Vec<MessageEntry>) -> Self {
        let sizes = entries.iter().map(|entry| string_size(&entry.label).saturating_add(entry.value.size()));
        let size = sizes.fold(0, u64::saturating_add);
        let parts = entries.iter().map(|entry| entry.value.parts().saturating_add(entry.value.type_parts()));
        let parts = parts.fold(1, u64::saturating_add);
        let depth = entries.iter().map(|entry| entry.value.depth()).max().unwrap_or(0).saturating_add(1);
        Self { entries, size, parts, depth }
    }

    /// Returns the entries, in the order in which they were written.
    pub fn entries(&self) -> &[MessageEntry] {
        &self.entries
    }

    /// Returns the first value with this label, or `None` if there is no such label.
    pub fn get(&self, label: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| &*entry.label == label).map(|entry| &entry.value)
    }

    /// Returns the type that the labels determine: `Message`, `Event`, `Exception` or `ReplicateContract`. Returns
    /// `None` if no label determines the type.
    pub fn ty(&self) -> Option<Primitive> {
        let has = |label: &str| self.get(label).is_some();
        if has("_tag") {
            Some(Primitive::Message)
        } else if has("_eventname") {
            Some(Primitive::Event)
        } else if has("_exception") {
            Some(Primitive::Exception)
        } else {
            has("_replicate_contract").then_some(Primitive::ReplicateContract)
        }
    }

    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    pub(super) const fn parts(&self) -> u64 {
        self.parts
    }

    pub(super) const fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) fn same_labels(&self, other: &Self) -> bool {
        let mut pairs = self.entries.iter().zip(&other.entries);
        self.entries.len() == other.entries.len() && pairs.all(|(one, two)| one.label == two.label)
    }
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Message").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}
