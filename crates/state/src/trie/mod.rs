//! The Merkle-Patricia trie (Reference: formats#trie) as pure functions: no trie is stored here, and no disk is named.
//!
//! In reading order: [`Nibbles`] are paths, [`NodeRef`] is how a node is referred to, [`Subtree`] summarises the
//! leaves below a position, so that a trie can be put together from parts, [`Builder`] makes one from sorted leaves,
//! [`MemoryTrie`] is the whole trie in its plainest form, and [`verify_proof`] checks a [`Proof`].
//!
//! The trie knows neither accounts nor addresses; keys and values are bytes. The path of a hexadecimal key is made by
//! [`Nibbles::of_hex_digits`].

mod builder;
mod keccak;
mod memory;
pub(crate) mod nibbles;
pub(crate) mod node;
mod proof;
pub(crate) mod rlp;
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
    proof::{Proof, ProofError, verify_proof, verify_whole_proof},
    subtree::Subtree,
};
