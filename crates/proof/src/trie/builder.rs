//! Builds the subtree of leaves in the order of their keys, in one pass.

use alloc::vec::Vec;

use super::{
    nibbles::{Nibbles, common_prefix},
    node::{Children, NodeRef, write_branch, write_extension, write_leaf},
    proof::Proof,
    subtree::Subtree,
};

/// A key does not follow the previous key in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a key above the previous key, got the same key or a lower key")]
pub struct NotAscending;

/// Computes the [`Subtree`] of leaves in ascending order of their paths.
///
/// The memory is proportional to the depth of the trie. A branch node is hashed and dropped at the first key after it.
///
/// # Examples
///
/// ```
/// use silica_proof::trie::{Builder, Nibbles};
/// let mut builder = Builder::new();
/// for (key, value) in [(b"05a3", b"one"), (b"1020", b"two")] {
///     builder.push(Nibbles::of_key(key).as_slice(), value.as_slice())?;
/// }
/// let root = builder.finish().root();
/// # Ok::<(), silica_proof::trie::NotAscending>(())
/// ```
#[derive(Debug)]
pub struct Builder<'p, L> {
    /// The forks on the path to the newest leaf, in ascending order of their depth.
    forks: Vec<Fork<L>>,
    /// Path of the newest leaf.
    path: Vec<u8>,
    /// The newest leaf. The next key determines where its node begins.
    leaf: Option<L>,
    proof: Option<(Nibbles, &'p mut Proof)>,
    rlp: Vec<u8>,
}

#[derive(Debug)]
struct Fork<L> {
    depth: usize,
    children: Children,
    /// The leaf whose key ends at the fork.
    value: Option<L>,
}

/// A complete child that is not attached to a fork.
enum Part<L> {
    Leaf(L),
    /// A branch node and its depth.
    Branch(NodeRef, usize),
}

impl<L: AsRef<[u8]>> Builder<'_, L> {
    /// Returns a builder without leaves.
    pub const fn new() -> Self {
        Self { forks: Vec::new(), path: Vec::new(), leaf: None, proof: None, rlp: Vec::new() }
    }
}

impl<L: AsRef<[u8]>> Default for Builder<'_, L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'p, L: AsRef<[u8]>> Builder<'p, L> {
    /// Returns a builder without leaves that adds the nodes on the path `path` to `proof`. It does not add the topmost
    /// node. For this node, the caller must call [`Subtree::prove_top`] or [`Subtree::combine_proving`].
    pub fn proving(path: Nibbles, proof: &'p mut Proof) -> Self {
        Self { forks: Vec::new(), path: Vec::new(), leaf: None, proof: Some((path, proof)), rlp: Vec::new() }
    }

    /// Adds the next leaf. Its path begins at the position of the subtree.
    ///
    /// # Errors
    ///
    /// [`NotAscending`]: the path is not greater than the path of the previous leaf.
    pub fn push(&mut self, path: &[u8], leaf: L) -> Result<(), NotAscending> {
        debug_assert!(path.iter().all(|nibble| *nibble < 16), "nibbles are below 16");
        if let Some(before) = self.leaf.take() {
            if self.path.as_slice() >= path {
                self.leaf = Some(before);
                return Err(NotAscending);
            }
            self.close(before, common_prefix(&self.path, path));
        }
        self.path.clear();
        self.path.extend_from_slice(path);
        self.leaf = Some(leaf);
        Ok(())
    }

    /// Returns the subtree of all leaves.
    #[must_use]
    pub fn finish(mut self) -> Subtree {
        let Some(leaf) = self.leaf.take() else { return Subtree::Empty };
        let mut part = Part::Leaf(leaf);
        while let Some(mut fork) = self.forks.pop() {
            self.attach(part, &mut fork);
            part = self.hash(&fork);
        }
        match part {
            Part::Leaf(leaf) => Subtree::Leaf { path: Nibbles::copied(&self.path), value: leaf.as_ref().into() },
            Part::Branch(node, depth) => Subtree::Branch { path: Nibbles::copied(between(&self.path, 0, depth)), node },
        }
    }

    /// Attaches the newest leaf below the fork where the next key leaves the path of this leaf, `depth` nibbles from
    /// the position. Hashes the deeper forks, which are complete.
    fn close(&mut self, leaf: L, depth: usize) {
        let mut part = Part::Leaf(leaf);
        loop {
            let mut fork = match self.forks.pop_if(|fork| fork.depth >= depth) {
                Some(fork) => fork,
                None => Fork { depth, children: [None; 16], value: None },
            };
            self.attach(part, &mut fork);
            if fork.depth == depth {
                self.forks.push(fork);
                return;
            }
            part = self.hash(&fork);
        }
    }

    /// Attaches a part below a fork. Makes the leaf node or extension node that begins below the fork, if there is one.
    /// A leaf whose key ends at the fork becomes the value of the fork.
    fn attach(&mut self, part: Part<L>, fork: &mut Fork<L>) {
        let below = fork.depth.saturating_add(1);
        let Some(nibble) = self.path.get(fork.depth) else {
            if let Part::Leaf(leaf) = part {
                fork.value = Some(leaf);
            }
            return;
        };
        let reference = match part {
            Part::Leaf(leaf) => {
                let path = between(&self.path, below, self.path.len());
                if let Some(proof) = on_path(&mut self.proof, &self.path, below) {
                    write_leaf(path, leaf.as_ref(), &mut self.rlp);
                    proof.add(self.rlp.clone());
                }
                NodeRef::of_leaf(path, leaf.as_ref())
            }
            Part::Branch(node, depth) if depth == below => node,
            Part::Branch(node, depth) => {
                write_extension(between(&self.path, below, depth), &node, &mut self.rlp);
                if let Some(proof) = on_path(&mut self.proof, &self.path, below) {
                    proof.add(self.rlp.clone());
                }
                NodeRef::of(&self.rlp)
            }
        };
        if let Some(child) = fork.children.get_mut(usize::from(*nibble)) {
            *child = Some(reference);
        }
    }

    fn hash(&mut self, fork: &Fork<L>) -> Part<L> {
        write_branch(&fork.children, fork.value.as_ref().map(AsRef::as_ref), &mut self.rlp);
        if let Some(proof) = on_path(&mut self.proof, &self.path, fork.depth) {
            proof.add(self.rlp.clone());
        }
        Part::Branch(NodeRef::of(&self.rlp), fork.depth)
    }
}

/// Returns the proof if the path of the proof begins with the first `depth` nibbles of `path`, and `None` otherwise.
fn on_path<'a>(proof: &'a mut Option<(Nibbles, &mut Proof)>, path: &[u8], depth: usize) -> Option<&'a mut Proof> {
    let (target, proof) = proof.as_mut()?;
    target.as_slice().starts_with(between(path, 0, depth)).then_some(&mut **proof)
}

fn between(path: &[u8], start: usize, end: usize) -> &[u8] {
    path.get(start..end).unwrap_or_default()
}
