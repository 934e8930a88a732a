//! The versioned trie: the account trie, and one storage trie for each contract. Memory holds the parts in use. Pages
//! on disk hold all parts of a checkpoint.
//!
//! Modules in reading order:
//!
//! - [`key`] has the keys of leaves and the names of pages. [`leaf`] is a leaf of a trie.
//! - [`space`] has the places of pages in the page file.
//! - [`fork`] computes the nodes of the Merkle-Patricia trie from one digit of the keys to the next.
//! - A [`leaf_page`] has few leaves. A [`tree`] with [`children`] has many leaves. A version shares unchanged parts
//!   with the previous version.
//! - [`update`] makes the next version.
//! - [`page`] has the bytes of pages. [`pages`] reads pages through a [`cache`] and verifies them.
//! - [`read`] has the queries. [`checkpoint`] writes a version to disk. [`layout_3`] converts the pages of layout 3.
//!
//! ```text
//!   version 41      version 42        each version is a root; versions share unchanged parts
//!       ●───────┐ ┌────●
//!       │       ▼ ▼    │
//!       ▼        ○     ▼              ○ stub: a page of the newest checkpoint that is not in memory; a read loads it
//!       ●      ┌─○     ●                and verifies it by the reference in its parent
//!      ╱ ╲     ▼      ╱ ╲
//!     ●   ○  cache   ●   ○
//! ```
//!
//! A versioned trie has no blocks. A version is a number, and the caller stores the roots.

pub(crate) mod cache;
pub(crate) mod checkpoint;
pub(crate) mod children;
pub(crate) mod fork;
pub(crate) mod key;
pub(crate) mod layout_3;
pub(crate) mod leaf;
pub(crate) mod leaf_page;
pub(crate) mod page;
pub(crate) mod pages;
pub(crate) mod parallel;
pub(crate) mod read;
pub(crate) mod space;
#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "the numbers of the tests are small, and an overflow fails them"
)]
mod tests;
pub(crate) mod tree;
pub(crate) mod update;
