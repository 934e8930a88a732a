//! Questions to one trie: a leaf, a proof, all leaves.

use std::{ops::Deref, sync::Arc};

use super::{
    key::{Key, Prefix},
    records::Source,
    tree::{Body, Branch, Leaf, Link, Top},
};
use crate::{
    error::StateError,
    trie::{Proof, digit_path, node::write_extension},
};

impl Source<'_> {
    /// Returns the leaf of a key, as a tree.
    pub(crate) fn leaf(&self, top: &Top, key: &Key) -> Result<Option<LeafLink>, StateError> {
        let Some(mut tree) = self.records.top(&self.owner, top, self.version)? else { return Ok(None) };
        for depth in 0.. {
            let below = match tree.body() {
                Body::Leaf(leaf) => return Ok((leaf.key == *key).then_some(LeafLink(tree))),
                Body::Branch(branch) => branch.child(key.digit(depth)),
                Body::Stored(_) => None,
            };
            let Some(below) = below else { return Ok(None) };
            tree = match below.body() {
                Body::Stored(_) => {
                    let prefix = Prefix::of(key, depth.wrapping_add(1));
                    self.records.load(&self.owner, &prefix, below, self.version)?
                }
                Body::Leaf(_) | Body::Branch(_) => Arc::clone(below),
            };
        }
        Ok(None)
    }

    /// Returns the nodes on the way from the root towards a key; none when the trie is empty.
    pub(crate) fn proof(&self, top: &Top, key: &Key) -> Result<Proof, StateError> {
        let mut proof = Proof::new();
        let mut prefix = Prefix::default();
        let mut next = self.records.top(&self.owner, top, self.version)?;
        while let Some(tree) = next {
            next = self.prove(&tree, key, &mut prefix, &mut proof)?;
        }
        Ok(proof)
    }

    /// Adds the nodes of a tree, whose prefix may part from the key in the last nibble, and returns the tree below it
    /// where the way goes on.
    fn prove(
        &self,
        tree: &Link,
        key: &Key,
        prefix: &mut Prefix,
        proof: &mut Proof,
    ) -> Result<Option<Link>, StateError> {
        let branch = match tree.body() {
            Body::Branch(branch) => branch,
            Body::Leaf(leaf) => {
                add_node(proof, |rlp| leaf.write_node(tree.at(), rlp));
                return Ok(None);
            }
            Body::Stored(_) => return Ok(None),
        };
        let mut path = Vec::new();
        if tree.at() & 1 == 1 {
            path.extend(prefix.as_slice().last().map(|digit| digit_path(*digit)[1]));
        }
        path.extend(branch.lead());
        if !path.is_empty() {
            add_node(proof, |rlp| write_extension(&path, branch.node(), rlp));
        }
        if (tree.at()..).zip(&path).any(|(at, step)| key.nibble(at) != *step) {
            return Ok(None);
        }
        let mut tree = Arc::clone(tree);
        loop {
            let Body::Branch(branch) = tree.body() else { return Ok(None) };
            match branch.only_child() {
                Some((digit, child)) => {
                    prefix.push(digit);
                    tree = self.resolve(child, prefix)?;
                }
                None => return self.prove_fork(branch, key, prefix, proof),
            }
        }
    }

    /// Adds the branch nodes over the digits after a prefix of the key, and returns the tree where the way goes on.
    fn prove_fork(
        &self,
        branch: &Branch,
        key: &Key,
        prefix: &mut Prefix,
        proof: &mut Proof,
    ) -> Result<Option<Link>, StateError> {
        let digit = key.digit(prefix.depth());
        if branch.has_both_classes() {
            add_node(proof, |rlp| branch.write_classes(rlp));
        }
        let (digit, child) = match branch.alone_in_class(digit) {
            Some((other, child)) => (other, child),
            None => {
                add_node(proof, |rlp| branch.write_class(digit, rlp));
                let Some(child) = branch.child(digit) else { return Ok(None) };
                (digit, child)
            }
        };
        prefix.push(digit);
        self.resolve(child, prefix).map(Some)
    }
}

impl<'a> Source<'a> {
    /// Iterates over the leaves in the order of their keys.
    pub(crate) fn leaves(self, top: &Top) -> Leaves<'a> {
        let first = self.records.top(&self.owner, top, self.version).transpose();
        Leaves { source: self, pending: first.map(|tree| (Prefix::default(), tree)).into_iter().collect() }
    }
}

fn add_node(proof: &mut Proof, write: impl FnOnce(&mut Vec<u8>)) {
    let mut rlp = Vec::new();
    write(&mut rlp);
    proof.add(rlp);
}

/// The leaves of a trie in order. Memory is that of the records on one way from the root.
pub(crate) struct Leaves<'a> {
    source: Source<'a>,
    /// What is to come, the next last.
    pending: Vec<(Prefix, Result<Link, StateError>)>,
}

impl Iterator for Leaves<'_> {
    type Item = Result<LeafLink, StateError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (prefix, tree) = self.pending.pop()?;
            let tree = match tree.and_then(|tree| self.source.resolve(&tree, &prefix)) {
                Ok(tree) => tree,
                Err(error) => return Some(Err(error)),
            };
            match tree.body() {
                Body::Leaf(_) => return Some(Ok(LeafLink(tree))),
                Body::Stored(_) => {}
                Body::Branch(branch) => {
                    let children = branch.children().map(|(digit, child)| {
                        let mut below = prefix.clone();
                        below.push(digit);
                        (below, Ok(Arc::clone(child)))
                    });
                    let children: Vec<_> = children.collect();
                    self.pending.extend(children.into_iter().rev());
                }
            }
        }
    }
}

/// A tree that is a leaf.
#[derive(Clone)]
pub(crate) struct LeafLink(Link);

impl Deref for LeafLink {
    type Target = Leaf;

    fn deref(&self) -> &Leaf {
        match self.0.body() {
            Body::Leaf(leaf) => leaf,
            Body::Branch(_) | Body::Stored(_) => unreachable!("a leaf link is made over a leaf"),
        }
    }
}
