//! Trees from leaves that come in order.

use std::{convert::Infallible, iter::Peekable, sync::Arc};

use super::{
    key::Key,
    tree::{Leaf, Link, Load, Place, Tree, Version},
};

/// Leaves in memory stand for themselves: nothing is to be loaded.
struct InMemory;

impl Load for InMemory {
    type Error = Infallible;

    fn load(&self, stub: &Link, _: &Key, _: usize) -> Result<Link, Infallible> {
        Ok(Arc::clone(stub))
    }
}

/// Builds the tree of the leaves below a prefix of `depth` digits, which come in the order of their keys, each once.
pub(crate) fn build(leaves: impl IntoIterator<Item = Leaf>, depth: usize, born: Version) -> Option<Link> {
    let mut leaves = leaves.into_iter().peekable();
    let first = leaves.next()?;
    Some(build_from(first, &mut leaves, depth, born))
}

/// Takes the leaves that share the first `depth` digits of `first`, which was taken before.
fn build_from(first: Leaf, leaves: &mut Peekable<impl Iterator<Item = Leaf>>, depth: usize, born: Version) -> Link {
    let key = first.key;
    if !leaves.peek().is_some_and(|next| next.key.shares(&key, depth)) {
        return Tree::leaf(first, born);
    }
    let mut children = Vec::with_capacity(16);
    let mut current = Some(first);
    while let Some(leaf) = current {
        let digit = leaf.key.digit(depth);
        children.push((digit, build_from(leaf, leaves, depth.wrapping_add(1), born)));
        current = leaves.next_if(|next| next.key.shares(&key, depth));
    }
    let place = Place { key: &key, key_depth: depth, born };
    let Ok(tree) = Tree::assemble(children, &place, None, &InMemory);
    tree.expect("a branch over two leaves is not empty")
}
