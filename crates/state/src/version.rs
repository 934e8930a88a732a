//! Version numbers of the state.

/// Version number of a state: the number of the block of the state, plus one. The empty state before genesis has
/// version 0. Trees from disk also have version 0.
pub(crate) type Version = u64;
