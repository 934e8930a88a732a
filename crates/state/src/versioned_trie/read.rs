//! Queries to one trie: the leaf of a key, a proof, all leaves.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    vec,
};

use silica_proof::trie::Proof;

use super::{
    fork::{prove_lead, step_to},
    key::{Key, Prefix},
    leaf::{Bytes, Leaf, LeafView},
    pages::Source,
    parallel,
    tree::{Body, Branch, Link, Top, Tree},
};
use crate::error::StateError;

/// Minimum number of keys for which several threads are faster than one thread.
const WORTH_A_THREAD: usize = 1024;
/// Approximate memory of a value in addition to its bytes, in bytes.
const VALUE_OVERHEAD: usize = 40;

impl Source<'_> {
    /// Returns the leaf of a key, or `None` if the trie does not have it.
    pub(crate) fn leaf(&self, top: &Top, key: &Key) -> Result<Option<Leaf>, StateError> {
        let Some(mut tree) = self.pages.top(&self.owner, top, self.version)? else { return Ok(None) };
        for depth in 0.. {
            let below = match tree.body() {
                Body::LeafPage(leaf_page) => return Ok(leaf_page.leaf(key).map(LeafView::to_leaf)),
                Body::Branch(branch) => branch.child(key.digit(depth)),
                Body::Stored(_) => None,
            };
            let Some(below) = below else { return Ok(None) };
            tree = match below.body() {
                Body::Stored(_) => {
                    let prefix = Prefix::of(key, depth.wrapping_add(1));
                    self.pages.load(&self.owner, &prefix, &below, self.version)?
                }
                Body::LeafPage(_) | Body::Branch(_) => below,
            };
        }
        Ok(None)
    }

    /// Returns the values of several keys, in no particular order. Each value has the number that is next to its key in
    /// `keys`. The keys must be in ascending order. Keys without a leaf are left out. Returns `None` if the values take
    /// more than `most` bytes, with [`VALUE_OVERHEAD`] bytes added for each value. Reads each page at most once.
    pub(crate) fn values(
        &self,
        tree: &Link,
        keys: &[(Key, usize)],
        most: usize,
    ) -> Result<Option<Vec<(usize, Bytes)>>, StateError> {
        let left = AtomicUsize::new(most);
        let parts: Vec<&[(Key, usize)]> = if keys.len() < WORTH_A_THREAD {
            vec![keys]
        } else {
            keys.chunk_by(|(left, _), (right, _)| left.digit(0) == right.digit(0)).collect()
        };
        let found = parallel::map(&parts, |part| {
            let mut found = Vec::with_capacity(part.len());
            let all = self.add_values(tree, part, &mut Prefix::default(), &left, &mut found)?;
            Ok(all.then_some(found))
        });
        let found = found.into_iter().collect::<Result<Option<Vec<_>>, StateError>>()?;
        Ok(found.map(|found| found.into_iter().flatten().collect()))
    }

    /// Adds the values of keys below a prefix. Returns whether all of them fit into the remaining bytes.
    fn add_values(
        &self,
        tree: &Link,
        keys: &[(Key, usize)],
        prefix: &mut Prefix,
        left: &AtomicUsize,
        found: &mut Vec<(usize, Bytes)>,
    ) -> Result<bool, StateError> {
        let tree = self.resolve(tree, prefix)?;
        match tree.body() {
            Body::Stored(_) => Ok(true),
            Body::LeafPage(leaf_page) => {
                let leaves = keys.iter().filter_map(|(key, number)| Some((*number, leaf_page.leaf(key)?.value)));
                let before = found.len();
                found.extend(leaves.map(|(number, value)| (number, Bytes::new(value))));
                let taken = found.iter().skip(before).map(|(_, value)| value.len().saturating_add(VALUE_OVERHEAD));
                let taken = taken.fold(0, usize::saturating_add);
                let room = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(taken));
                Ok(room.is_ok())
            }
            Body::Branch(branch) => {
                let depth = prefix.depth();
                for part in keys.chunk_by(|(left, _), (right, _)| left.digit(depth) == right.digit(depth)) {
                    let digit = part.first().map_or(0, |(key, _)| key.digit(depth));
                    let Some(child) = branch.child(digit) else { continue };
                    prefix.push(digit);
                    let all = self.add_values(&child, part, prefix, left, found)?;
                    prefix.pop();
                    if !all {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Returns the nodes on the path from the root towards a key. The proof of an empty trie has no nodes.
    pub(crate) fn proof(&self, top: &Top, key: &Key) -> Result<Proof, StateError> {
        let mut proof = Proof::new();
        let mut prefix = Prefix::default();
        let mut next = self.pages.top(&self.owner, top, self.version)?;
        while let Some(tree) = next {
            next = self.prove(&tree, key, &mut prefix, &mut proof)?;
        }
        Ok(proof)
    }

    /// Adds the nodes of a tree, and returns the child where the path continues. The last nibble of the prefix may
    /// differ from the key.
    fn prove(
        &self,
        tree: &Tree,
        key: &Key,
        prefix: &mut Prefix,
        proof: &mut Proof,
    ) -> Result<Option<Link>, StateError> {
        let branch = match tree.body() {
            Body::Branch(branch) => branch,
            Body::LeafPage(leaf_page) => {
                leaf_page.prove(tree.at(), key, proof);
                return Ok(None);
            }
            Body::Stored(_) => return Ok(None),
        };
        let step = step_to(prefix.as_slice().last().copied().unwrap_or(0), tree.at());
        let fork = branch.fork();
        if !prove_lead(step.as_ref(), &fork.lead, &fork.node, tree.at(), key, proof) {
            return Ok(None);
        }
        self.prove_fork(branch, key, prefix, proof)
    }

    /// Adds the branch nodes at the first fork of a branch, and returns the tree where the path continues. The key
    /// leads to this fork.
    fn prove_fork(
        &self,
        branch: &Branch,
        key: &Key,
        prefix: &mut Prefix,
        proof: &mut Proof,
    ) -> Result<Option<Link>, StateError> {
        if let Some((digit, child)) = branch.only_child() {
            prefix.push(digit);
            let child = self.resolve(&child, prefix)?;
            return match child.body() {
                Body::Branch(below) => self.prove_fork(below, key, prefix, proof),
                Body::LeafPage(leaf_page) => {
                    leaf_page.prove_fork(key, proof);
                    Ok(None)
                }
                Body::Stored(_) => Ok(None),
            };
        }
        let fork = branch.fork();
        let next = fork.prove(key.digit(prefix.depth()), |digit| branch.reference(digit), proof);
        let Some((digit, child)) = next.and_then(|digit| Some((digit, branch.child(digit)?))) else { return Ok(None) };
        prefix.push(digit);
        self.resolve(&child, prefix).map(Some)
    }
}

impl<'a> Source<'a> {
    /// Iterates over the leaves in the order of their keys, from the key `from` on if it is given. Reads no page that
    /// has only earlier keys.
    pub(crate) fn leaves(self, top: &Top, from: Option<Key>) -> Leaves<'a> {
        let first = self.pages.top(&self.owner, top, self.version).transpose();
        Leaves {
            source: self,
            from,
            leaf_page: Vec::new().into_iter(),
            pending: first.map(|tree| (Prefix::default(), tree)).into_iter().collect(),
        }
    }
}

/// An iterator over the leaves of a trie in the order of their keys. It has the pages on one path from the root in
/// memory.
pub(crate) struct Leaves<'a> {
    source: Source<'a>,
    /// The first key.
    from: Option<Key>,
    /// Remaining leaves of the current leaf page.
    leaf_page: vec::IntoIter<Leaf>,
    /// The trees that the iterator has not read, in reverse order.
    pending: Vec<(Prefix, Result<Link, StateError>)>,
}

impl Iterator for Leaves<'_> {
    type Item = Result<Leaf, StateError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(leaf) = self.leaf_page.next() {
                return Some(Ok(leaf));
            }
            let (prefix, tree) = self.pending.pop()?;
            let tree = match tree.and_then(|tree| self.source.resolve(&tree, &prefix)) {
                Ok(tree) => tree,
                Err(error) => return Some(Err(error)),
            };
            match tree.body() {
                Body::LeafPage(leaf_page) => {
                    let leaves = leaf_page.leaves().filter(|leaf| self.from.is_none_or(|from| leaf.key >= from));
                    self.leaf_page = leaves.map(LeafView::to_leaf).collect::<Vec<_>>().into_iter();
                }
                Body::Stored(_) => {}
                Body::Branch(branch) => {
                    let depth = prefix.depth();
                    let from = self.from.filter(|from| from.begins_with(prefix.as_slice()));
                    let first = from.map_or(0, |from| from.digit(depth));
                    let children = branch.children().filter(|(digit, _)| *digit >= first).map(|(digit, child)| {
                        let mut below = prefix.clone();
                        below.push(digit);
                        (below, Ok(child))
                    });
                    let children: Vec<_> = children.collect();
                    self.pending.extend(children.into_iter().rev());
                }
            }
        }
    }
}
