//! Verifies state proofs of Zilliqa without trust in the node that sent them.
//!
//! `GetStateProof` returns trie nodes. They lead from the state root in the header of a Tx block to an account, and
//! from this account to one variable of a contract. [`StateProof::verify`] returns the proven account and value, or
//! their proven absence. It rejects a proof with a changed byte, without a necessary node, or with a node that is not
//! on the path.
//!
//! The crate has no database, no network and no C code, and compiles without the standard library. It needs an
//! allocator.
//!
//! # Examples
//!
//! The example verifies the text of a node's response against a trusted state root:
//!
//! ```
//! use silica_proof::{MemoryTrie, StateProof, protocol::{Account, Address, Qa, StateRoot}};
//! # let address = Address::new([0x2a; 20]);
//! # let mut accounts = MemoryTrie::new();
//! # accounts.insert(address.to_string().as_bytes(), &Account::with_balance(Qa::new(7)).encode());
//! # let node = accounts.proof(address.to_string().as_bytes()).into_nodes().remove(0);
//! # let hex: String = node.iter().map(|byte| format!("{byte:02X}")).collect();
//! # let response = format!(r#"{{"id":"1","jsonrpc":"2.0","result":{{"accountProof":["{hex}"]}}}}"#);
//! # let root = StateRoot::new(accounts.root());
//!
//! let proof: StateProof = response.parse()?;
//! let account = proof.verify_account(&root, &address)?;
//! assert_eq!(account.map(|account| account.balance), Some(Qa::new(7)));
//! assert!(proof.verify_account(&StateRoot::ZERO, &address).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Items by task
//!
//! | Task | Item |
//! |---|---|
//! | Read a node's response | `StateProof::from_str`, in [`StateProof`] |
//! | Prove the balance or nonce of an account, or that no account exists | [`StateProof::verify_account`] |
//! | Prove the value of a contract's variable, or that it has no value | [`StateProof::verify`] |
//! | Build small tries and proofs, for example in tests | [`MemoryTrie`] |
//! | Work with the Merkle-Patricia trie itself | [`trie`] |
//!
//! # The path from a committee to a value
//!
//! A proof is only as trustworthy as the state root. The crate `silica-crypto` verifies the co-signatures of a Tx block
//! with `verify_tx_block`, and returns the state root of the block. The caller must trust the public keys of the
//! committee.
//!
//! # Features
//!
//! - `asm`: Keccak-256 in assembly. It needs a C compiler, and takes 80 % of the time of the portable implementation.
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - `response`, [`trie`]: `response` parses responses, and `trie` computes Merkle-Patricia tries with pure functions.
//! - `verify`: the verification of both lists of nodes.
#![cfg_attr(not(test), no_std)]
#![warn(clippy::arithmetic_side_effects)]

extern crate alloc;

mod response;
pub mod trie;
mod verify;

pub use silica_protocol as protocol;

pub use crate::{
    response::{ResponseError, StateProof},
    trie::MemoryTrie,
    verify::{ProvenEntry, StateProofError, StorageValue},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
