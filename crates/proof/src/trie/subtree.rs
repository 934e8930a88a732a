//! Subtrees: canonical summaries of the leaves below a position, from which the nodes above it are computed.
//!
//! A Merkle-Patricia node depends on the nodes above it. The path of a leaf begins at the end of the last fork. An
//! extension covers every position at which the path does not fork. Only the first fork, or the only leaf, does not
//! depend on the nodes above. A [`Subtree`] is this part, with the nibbles from the position to it:
//!
//! ```text
//! position ──▶ 3 ▶ 1 ▶ 3 ▶ ┬ 2 ▶ ..      Branch { path: [3, 1, 3], node: reference of the branch node }
//!                          └ 7 ▶ ..
//! position ──▶ 3 ▶ 1 ▶ 3 ▶ 2 ▶ value     Leaf { path: [3, 1, 3, 2], value }
//! ```
//!
//! A move up by nibbles without a fork makes the path longer ([`Subtree::prefixed`]) and hashes nothing. Several
//! subtrees become the children of a branch node ([`Subtree::combine`]). The branch node determines the leaf and
//! extension nodes on top of the subtrees, and these nodes are then hashed. Therefore a trie can be stored in units of
//! any size, even if an extension crosses units.

use alloc::{boxed::Box, vec::Vec};

use super::{
    nibbles::Nibbles,
    node::{Children, EMPTY_ROOT, NodeRef, write_branch, write_extension, write_leaf},
    proof::Proof,
};

/// A summary of the leaves below one position. Equal sets of leaves have equal summaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Subtree {
    /// No leaves.
    #[default]
    Empty,
    /// A single leaf.
    Leaf {
        /// The nibbles from the position to the end of the key.
        path: Nibbles,
        /// The stored value.
        value: Box<[u8]>,
    },
    /// Several leaves.
    Branch {
        /// The nibbles from the position to the first fork.
        path: Nibbles,
        /// The reference to the branch node at this fork.
        node: NodeRef,
    },
}

impl Subtree {
    /// Returns whether the subtree has no leaves.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns the summary of the same leaves for a higher position. `nibbles` lead from there to the position of this
    /// subtree, and the path must not fork between them. Hashes nothing.
    #[must_use]
    pub fn prefixed(mut self, nibbles: &[u8]) -> Self {
        match &mut self {
            Self::Empty => {}
            Self::Leaf { path, .. } | Self::Branch { path, .. } => path.prepend(nibbles),
        }
        self
    }

    /// Returns the summary of the leaves below a position from the sixteen subtrees after its next nibble. No key may
    /// end at the position. Hashes nothing if fewer than two subtrees have leaves. Otherwise hashes one branch node,
    /// and the topmost node of each child that is a leaf or has a path.
    #[must_use]
    pub fn combine(children: [&Self; 16]) -> Self {
        fork(children, None, None)
    }

    /// Returns the same summary as [`Subtree::combine`], and adds nodes on the path to a key to `proof`. `nibble` is
    /// the next nibble of the key. The nodes are the branch node and the topmost node of the child at `nibble`. The
    /// caller must have added the deeper nodes of this child before.
    #[must_use]
    pub fn combine_proving(children: [&Self; 16], nibble: u8, proof: &mut Proof) -> Self {
        fork(children, None, Some((Some(nibble), proof)))
    }

    /// Returns the same summary as [`Subtree::combine`] for a position where a key may end.
    pub(crate) fn combine_with_value(children: [&Self; 16], value: Option<&[u8]>) -> Self {
        fork(children, value, None)
    }

    /// Returns the same summary and proof as [`Subtree::combine_proving`] for a position where a key may end. This key
    /// can be the proved key.
    pub(crate) fn combine_with_value_proving(
        children: [&Self; 16],
        value: Option<&[u8]>,
        nibble: Option<u8>,
        proof: &mut Proof,
    ) -> Self {
        fork(children, value, Some((nibble, proof)))
    }

    /// Returns the reference to the topmost node of the trie below the position. A branch node directly above the
    /// position stores this reference as its child. Returns `None` if the subtree has no leaves.
    pub fn reference(&self) -> Option<NodeRef> {
        match self {
            Self::Empty => None,
            Self::Leaf { path, value } => Some(NodeRef::of_leaf(path.as_slice(), value)),
            Self::Branch { path, node } if path.is_empty() => Some(*node),
            Self::Branch { path, node } => Some(NodeRef::of_extension(path.as_slice(), node)),
        }
    }

    /// Returns the root hash of the trie of these leaves. The position must be the beginning of the keys.
    pub fn root(&self) -> [u8; 32] {
        self.reference().map_or(EMPTY_ROOT, NodeRef::to_hash)
    }

    /// Adds the topmost node to a proof. Adds no node if the topmost node is the branch node at the first fork, because
    /// the proof already has this branch node.
    ///
    /// A call for the subtree at the beginning of the keys completes the proof.
    pub fn prove_top(&self, proof: &mut Proof) {
        let mut rlp = Vec::new();
        match self {
            Self::Leaf { path, value } => write_leaf(path.as_slice(), value, &mut rlp),
            Self::Branch { path, node } if !path.is_empty() => write_extension(path.as_slice(), node, &mut rlp),
            Self::Branch { .. } | Self::Empty => return,
        }
        proof.add(rlp);
    }
}

/// Makes the branch node over `children` and `value`. Returns the only child or value without a branch node.
fn fork(children: [&Subtree; 16], value: Option<&[u8]>, proof: Option<(Option<u8>, &mut Proof)>) -> Subtree {
    let mut filled = (0_u8..).zip(children).filter(|(_, child)| !child.is_empty());
    match (filled.next(), filled.next(), value) {
        (None, _, None) => return Subtree::Empty,
        (None, _, Some(value)) => return Subtree::Leaf { path: Nibbles::new(), value: value.into() },
        (Some((nibble, only)), None, None) => return only.clone().prefixed(&[nibble]),
        _ => {}
    }
    let references: Children = children.map(Subtree::reference);
    let mut rlp = Vec::new();
    write_branch(&references, value, &mut rlp);
    let node = NodeRef::of(&rlp);
    if let Some((nibble, proof)) = proof {
        if let Some((_, child)) = nibble.and_then(|nibble| (0..).zip(children).find(|(n, _)| *n == nibble)) {
            child.prove_top(proof);
        }
        proof.add(rlp);
    }
    Subtree::Branch { path: Nibbles::new(), node }
}
