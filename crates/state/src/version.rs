//! The numbers of versions of the state.

/// Version number: the number of its block plus one. 0 is the empty state before genesis. Trees from disk also have
/// version 0.
pub(crate) type Version = u64;
