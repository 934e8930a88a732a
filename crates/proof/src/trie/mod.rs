//! The Merkle-Patricia trie (Reference: formats#trie) as pure functions, without storage.
//!
//! In reading order: [`Nibbles`] are paths, and [`NodeRef`] is the reference to a node. A [`Subtree`] is a summary of
//! the leaves below a position. Several subtrees form a trie. A [`Builder`] makes a subtree from sorted leaves.
//! [`MemoryTrie`] is a whole trie in memory. [`verify`] verifies a [`Proof`].
//!
//! Keys and values are bytes: the trie has no accounts and no addresses. [`Nibbles::of_hex_digits`] makes the path of a
//! hexadecimal key.

mod builder;
mod keccak;
mod memory;
mod nibbles;
pub mod node;
mod proof;
pub mod rlp;
mod subtree;
#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test")]
mod tests;

pub use self::{
    builder::{Builder, NotAscending},
    keccak::keccak256,
    memory::MemoryTrie,
    nibbles::{Nibbles, digit_path},
    node::{EMPTY_ROOT, InlineNode, NodeError, NodeRef},
    proof::{Proof, ProofError, verify, verify_ignoring_extra},
    subtree::Subtree,
};
