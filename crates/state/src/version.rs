//! The numbers of versions of the state.

/// Number of a version: the number of its block plus one. 0 is the empty state before genesis, and the version of all
/// that was read from disk.
pub(crate) type Version = u64;
