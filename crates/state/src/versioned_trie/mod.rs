//! The versioned trie: the account trie, and one storage trie for each contract. The parts in use are in memory, and all
//! parts of a checkpoint are in pages on disk.
//!
//! Modules in reading order:
//!
//! - [`key`] names leaves and pages; [`leaf`] is a leaf of a trie;
//! - [`fork`] computes the nodes of the Merkle-Patricia trie between one digit of the keys and the next;
//! - [`leaf_page`] holds few leaves, and [`tree`] many; a version shares unchanged parts with the version before;
//! - [`update`] makes the next version;
//! - [`page`] has the bytes of pages; [`pages`] reads them through a [`cache`] and verifies them;
//! - [`read`] has the queries; [`checkpoint`] writes a version to disk.
//!
//! ```text
//!   version 41      version 42        each version is a root; unchanged parts are shared
//!       ●───────┐ ┌────●
//!       │       ▼ ▼    │
//!       ▼        ○     ▼              ○ stub: the page that the newest checkpoint wrote, loaded when it is needed and
//!       ●      ┌─○     ●                verified against the reference that its parent has of it
//!      ╱ ╲     ▼      ╱ ╲
//!     ●   ○  cache   ●   ○
//! ```
//!
//! A versioned trie has no blocks: a version is a number, and the caller keeps the roots.

pub(crate) mod cache;
pub(crate) mod checkpoint;
pub(crate) mod fork;
pub(crate) mod key;
pub(crate) mod leaf;
pub(crate) mod leaf_page;
pub(crate) mod page;
pub(crate) mod pages;
pub(crate) mod parallel;
pub(crate) mod read;
#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "the numbers of the tests are small, and an overflow fails them"
)]
mod tests;
pub(crate) mod tree;
pub(crate) mod update;
