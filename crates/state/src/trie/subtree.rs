//! The canonical summary of the leaves below a position, from which the nodes above it are computed.
//!
//! A Merkle-Patricia node depends on the nodes above it: the path of a leaf begins where its last fork ended, and an
//! extension covers every position at which the path does not fork. Only the first fork, or the only leaf, does not
//! depend on the nodes above. A [`Subtree`] is this part, together with the nibbles that lead to it from the position:
//!
//! ```text
//! position ──▶ 3 ▶ 1 ▶ 3 ▶ ┬ 2 ▶ ..      Branch { path: [3, 1, 3], node: reference of the branch node }
//!                          └ 7 ▶ ..
//! position ──▶ 3 ▶ 1 ▶ 3 ▶ 2 ▶ value     Leaf { path: [3, 1, 3, 2], value }
//! ```
//!
//! A move up by nibbles without a fork makes the path longer ([`Subtree::prefixed`]) and hashes nothing. Where several
//! subtrees meet, they become the children of a branch node ([`Subtree::combine`]). Only then the leaf and extension
//! nodes on top of them are fixed and hashed. So a trie may be stored in units of any size, and extensions that cross
//! units are correct.

use super::{
    nibbles::Nibbles,
    node::{Children, EMPTY_ROOT, NodeRef, write_branch, write_extension, write_leaf},
    proof::Proof,
};

/// The leaves below one position, summarised. Equal sets of leaves have equal summaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Subtree {
    /// There are none.
    #[default]
    Empty,
    /// There is one.
    Leaf {
        /// The nibbles from the position to the end of the key.
        path: Nibbles,
        /// The value, as stored.
        value: Box<[u8]>,
    },
    /// There are several.
    Branch {
        /// The nibbles from the position to the first fork.
        path: Nibbles,
        /// The reference to the branch node at that fork.
        node: NodeRef,
    },
}

impl Subtree {
    /// Whether there are no leaves.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns the summary of the same leaves as seen from higher up, when `nibbles` lead from there to this
    /// subtree's position and nothing forks off between. Hashes nothing.
    #[must_use]
    pub fn prefixed(mut self, nibbles: &[u8]) -> Self {
        match &mut self {
            Self::Empty => {}
            Self::Leaf { path, .. } | Self::Branch { path, .. } => path.prepend(nibbles),
        }
        self
    }

    /// Returns the summary of the leaves below a position from the sixteen subtrees after its next nibble, where no
    /// key ends at the position itself. If fewer than two of them have leaves, no node is
    /// hashed. Otherwise one branch node is hashed, and each child that is a leaf or has a path.
    #[must_use]
    pub fn combine(children: [&Self; 16]) -> Self {
        fork(children, None, None)
    }

    /// Returns the same summary as [`Subtree::combine`]. Adds the nodes to `proof` that this call completes on the way
    /// to a key: the branch node, and the topmost node of the child at `nibble`, the next nibble of the key. The caller
    /// must have added the deeper nodes of that child before.
    #[must_use]
    pub fn combine_proving(children: [&Self; 16], nibble: u8, proof: &mut Proof) -> Self {
        fork(children, None, Some((Some(nibble), proof)))
    }

    /// As [`Subtree::combine`], when a key ends at the position.
    pub(crate) fn combine_with_value(children: [&Self; 16], value: Option<&[u8]>) -> Self {
        fork(children, value, None)
    }

    /// As [`Subtree::combine_proving`], when a key may end at the position, which may be the one to be proved.
    pub(crate) fn combine_with_value_proving(
        children: [&Self; 16],
        value: Option<&[u8]>,
        nibble: Option<u8>,
        proof: &mut Proof,
    ) -> Self {
        fork(children, value, Some((nibble, proof)))
    }

    /// Returns the reference to the topmost node, as the child of a branch at the nibble before the position has it;
    /// `None` when there are no leaves.
    pub fn reference(&self) -> Option<NodeRef> {
        match self {
            Self::Empty => None,
            Self::Leaf { path, value } => Some(NodeRef::of_leaf(path.as_slice(), value)),
            Self::Branch { path, node } if path.is_empty() => Some(*node),
            Self::Branch { path, node } => Some(NodeRef::of_extension(path.as_slice(), node)),
        }
    }

    /// Returns the root hash of the trie of these leaves, when the position is the beginning of the keys.
    pub fn root(&self) -> [u8; 32] {
        self.reference().map_or(EMPTY_ROOT, NodeRef::to_hash)
    }

    /// Adds the topmost node to a proof, when it is not the branch node at the fork, which was added when it was made.
    ///
    /// Called with the subtree at the beginning of the keys, this completes the proof.
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

/// Makes the branch node over `children` and `value`, or passes on the only one of them that there is.
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
