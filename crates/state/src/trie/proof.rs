//! Proofs that a key has a value under a root, or that it has none.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    keccak::keccak256,
    nibbles::Nibbles,
    node::{Child, EMPTY_ROOT, Node, NodeError},
};

/// The nodes on the way from a root towards one key, in the order of the reference: ascending by their bytes, each once
/// (Reference: formats#state-proof).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    nodes: BTreeSet<Vec<u8>>,
}

impl Proof {
    /// Starts a proof without nodes.
    pub const fn new() -> Self {
        Self { nodes: BTreeSet::new() }
    }

    pub(crate) fn add(&mut self, rlp: Vec<u8>) {
        self.nodes.insert(rlp);
    }

    /// Returns the nodes.
    pub fn into_nodes(self) -> Vec<Vec<u8>> {
        self.nodes.into_iter().collect()
    }
}

/// Reason why a proof proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// The path leads to a node that is not in the proof.
    #[error("node {} is missing, {depth} nibbles into the key: nodes were left out, or prove another key", hex(.hash))]
    Missing {
        /// Keccak-256 of the missing node.
        hash: [u8; 32],
        /// Nibbles of the key that lead to it.
        depth: usize,
    },
    /// The root, or a hash in a node, is that of bytes which are not a node.
    #[error("malformed node, {depth} nibbles into the key: {reason}")]
    Malformed {
        /// Nibbles of the key that lead to it.
        depth: usize,
        /// What is wrong with it.
        reason: NodeError,
    },
    /// A node proves nothing about the key.
    #[error("node number {position} is not on the way to the key, or is given twice")]
    Surplus {
        /// Position of the node among those that were given, counted from 0.
        position: usize,
    },
}

fn hex(bytes: &[u8; 32]) -> Cow<'static, str> {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Follows `key` from `root` through `nodes`, given in any order, and returns the value that it leads to, or `None`
/// when the nodes prove that the key has no value. Nodes off the path are ignored.
///
/// Nothing but the root is trusted. The cost is that of hashing each node once and of decoding those on the path, of
/// which there are at most as many as the key has nibbles, plus one.
///
/// # Errors
///
/// [`ProofError::Missing`] when a node on the path was not given, [`ProofError::Malformed`] when the root commits to
/// something that is not a trie.
///
/// # Examples
///
/// ```
/// use silica_state::trie::{MemoryTrie, verify_proof};
/// let mut trie = MemoryTrie::new();
/// trie.insert(b"7bb3", b"one");
/// trie.insert(b"d90f", b"two");
/// let proof = trie.proof(b"7bb3").into_nodes();
/// assert_eq!(verify_proof(&trie.root(), b"7bb3", &proof)?, Some(b"one".to_vec()));
/// let absence = trie.proof(b"7bb4").into_nodes();
/// assert_eq!(verify_proof(&trie.root(), b"7bb4", &absence)?, None);
/// # Ok::<(), silica_state::trie::ProofError>(())
/// ```
pub fn verify_proof(root: &[u8; 32], key: &[u8], nodes: &[impl AsRef<[u8]>]) -> Result<Option<Vec<u8>>, ProofError> {
    follow(root, key, nodes, |_| {})
}

/// As [`verify_proof`], for nodes that are a whole proof and nothing else: each has to be on the way to the key, and is
/// given once. Nodes that are embedded in their parent may be given or left out.
///
/// So there is one proof of a key under a root, up to order and embedded nodes, and a change of any byte is refused.
///
/// # Errors
///
/// As [`verify_proof`], and [`ProofError::Surplus`] for the first node that is not needed.
pub fn verify_whole_proof(
    root: &[u8; 32],
    key: &[u8],
    nodes: &[impl AsRef<[u8]>],
) -> Result<Option<Vec<u8>>, ProofError> {
    let mut used = BTreeSet::new();
    let value = follow(root, key, nodes, |node| {
        used.insert(node);
    })?;
    match nodes.iter().position(|node| !used.remove(node.as_ref())) {
        Some(position) => Err(ProofError::Surplus { position }),
        None => Ok(value),
    }
}

/// Follows `key` and shows the nodes on the way.
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
    // Every turn of the loop takes a nibble off the key, or is the last.
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

/// Takes `prefix` off the beginning of `path`, or returns `None` when it does not begin so.
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
