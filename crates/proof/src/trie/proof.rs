//! Proofs that a root commits to a value of a key, or to its absence.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::fmt;

use super::{
    keccak::keccak256,
    nibbles::Nibbles,
    node::{Child, EMPTY_ROOT, Node, NodeError},
};

/// The nodes on the path from a root towards one key. They are in the order of the reference: ascending by their bytes,
/// each once (Reference: formats#state-proof).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    nodes: BTreeSet<Vec<u8>>,
}

impl Proof {
    /// Makes a proof without nodes.
    pub const fn new() -> Self {
        Self { nodes: BTreeSet::new() }
    }

    /// Adds the RLP of a node. A node that the proof already has is added once.
    pub fn add(&mut self, rlp: Vec<u8>) {
        self.nodes.insert(rlp);
    }

    /// Returns the nodes in ascending order of their bytes.
    pub fn into_nodes(self) -> Vec<Vec<u8>> {
        self.nodes.into_iter().collect()
    }
}

/// Reason why a proof proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The path leads to a node that is not in the proof.
    #[error("node {} is missing, {depth} nibbles into the key: nodes were left out, or prove another key", Hex(.hash))]
    Missing {
        /// Keccak-256 of the missing node.
        hash: [u8; 32],
        /// Number of nibbles of the key on the path to the node.
        depth: usize,
    },
    /// The bytes with the hash of the root, or with a hash from a parent node, cannot be decoded as a node.
    #[error("malformed node, {depth} nibbles into the key: {reason}")]
    Malformed {
        /// Number of nibbles of the key on the path to the bytes.
        depth: usize,
        /// Reason why the bytes are not a node.
        reason: NodeError,
    },
    /// A node is not on the path to the key, or occurs twice.
    #[error("node number {position} is not on the path to the key, or occurs twice")]
    Surplus {
        /// Position of the node in the list, counted from 0.
        position: usize,
    },
}

/// Writes a hash as hexadecimal digits.
struct Hex<'a>(&'a [u8; 32]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Follows `key` from `root` through `nodes`, which can be in any order. Returns the value of the key, or `None` if the
/// nodes prove that the key has no value. Ignores nodes that are not on the path.
///
/// The caller must trust only the root. The function hashes each node once, and decodes the nodes on the path. The path
/// has at most as many nodes as the key has nibbles, plus one.
///
/// # Errors
///
/// - [`ProofError::Missing`]: `nodes` lacks a node on the path.
/// - [`ProofError::Malformed`]: the root commits to data that are not a trie.
///
/// # Examples
///
/// ```
/// use silica_proof::trie::{MemoryTrie, verify_ignoring_extra};
/// let mut trie = MemoryTrie::new();
/// trie.insert(b"7bb3", b"one");
/// trie.insert(b"d90f", b"two");
/// let proof = trie.proof(b"7bb3").into_nodes();
/// assert_eq!(verify_ignoring_extra(&trie.root(), b"7bb3", &proof)?, Some(b"one".to_vec()));
/// let absence = trie.proof(b"7bb4").into_nodes();
/// assert_eq!(verify_ignoring_extra(&trie.root(), b"7bb4", &absence)?, None);
/// # Ok::<(), silica_proof::trie::ProofError>(())
/// ```
pub fn verify_ignoring_extra(
    root: &[u8; 32],
    key: &[u8],
    nodes: &[impl AsRef<[u8]>],
) -> Result<Option<Vec<u8>>, ProofError> {
    follow(root, key, nodes, |_| {})
}

/// Verifies a proof like [`verify_ignoring_extra`], but rejects surplus nodes: each node must be on the path to the
/// key, and must occur once. Nodes that are embedded in their parent may be present or absent.
///
/// Except for order and embedded nodes, each key has one proof under a root. So a change of any byte makes the proof
/// invalid.
///
/// # Errors
///
/// The errors of [`verify_ignoring_extra`], and [`ProofError::Surplus`] for the first surplus node.
pub fn verify(root: &[u8; 32], key: &[u8], nodes: &[impl AsRef<[u8]>]) -> Result<Option<Vec<u8>>, ProofError> {
    let mut used = BTreeSet::new();
    let value = follow(root, key, nodes, |node| {
        used.insert(node);
    })?;
    match nodes.iter().position(|node| !used.remove(node.as_ref())) {
        Some(position) => Err(ProofError::Surplus { position }),
        None => Ok(value),
    }
}

/// Follows `key`, and calls `on_the_way` with each node on the path.
fn follow<'a>(
    root: &[u8; 32],
    key: &[u8],
    nodes: &'a [impl AsRef<[u8]>],
    mut on_the_way: impl FnMut(&'a [u8]),
) -> Result<Option<Vec<u8>>, ProofError> {
    if *root == EMPTY_ROOT {
        return Ok(None);
    }
    let by_hash: BTreeMap<[u8; 32], &'a [u8]> =
        nodes.iter().map(|node| (keccak256(&[node.as_ref()]), node.as_ref())).collect();
    let key = Nibbles::of_key(key);
    let mut rest = key.as_slice();
    let mut child = Child::Hash(*root);
    // Each iteration removes a nibble from the key, or is the last iteration.
    loop {
        let depth = key.len().saturating_sub(rest.len());
        let rlp = match child {
            Child::Hash(hash) => by_hash.get(&hash).copied().ok_or(ProofError::Missing { hash, depth })?,
            Child::Inline(rlp) => rlp,
        };
        on_the_way(rlp);
        let node = Node::decode(rlp).map_err(|reason| ProofError::Malformed { depth, reason })?;
        let next = match node {
            Node::Leaf { path, value } => {
                return Ok(path.nibbles().eq(rest.iter().copied()).then(|| value.to_vec()));
            }
            Node::Extension { path, child } => strip(rest, path.nibbles()).map(|after| (after, child)),
            Node::Branch(branch) => match rest.split_first() {
                None => return Ok(branch.value().map(<[u8]>::to_vec)),
                Some((nibble, after)) => branch.child(*nibble).map(|child| (after, child)),
            },
        };
        match next {
            Some(step) => (rest, child) = step,
            None => return Ok(None),
        }
    }
}

/// Returns `path` without `prefix`, or `None` if it does not begin with `prefix`.
fn strip(path: &[u8], prefix: impl Iterator<Item = u8>) -> Option<&[u8]> {
    let mut rest = path;
    for nibble in prefix {
        let (first, after) = rest.split_first()?;
        if *first != nibble {
            return None;
        }
        rest = after;
    }
    Some(rest)
}
