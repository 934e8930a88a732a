//! A batch of changes to a trie: the next version of it.

use std::sync::Arc;

use super::{
    build::build,
    key::Key,
    parallel,
    record::BUCKET,
    tree::{Body, Branch, Leaf, Link, Load, Place, Top, Tree, Version},
};

/// A change of one leaf.
#[derive(Clone)]
pub(crate) struct Change {
    pub key: Key,
    /// The leaf, or `None` when it is removed.
    pub leaf: Option<Leaf>,
}

/// What a batch of changes is made for.
pub(crate) struct Update<'a, L> {
    pub load: &'a L,
    /// The version that is being made.
    pub born: Version,
    /// The version of the newest finished checkpoint: what is not newer, and has a record, need not stay in memory.
    pub durable: Version,
}

/// Below this number of changes a second thread costs more than it brings.
const WORTH_A_THREAD: usize = 48;

impl<L: Load<Error: Send> + Sync> Update<'_, L> {
    /// Returns the trie after the changes, which come in the order of their keys, each key once.
    pub(crate) fn apply(&self, top: Option<&Link>, changes: &[Change]) -> Result<Top, L::Error> {
        if changes.is_empty() {
            return Ok(top.map_or(Top::Empty, |tree| Top::Tree(Arc::clone(tree))));
        }
        let Some(mut tree) = self.update(top, changes, 0, changes.len() >= WORTH_A_THREAD)? else {
            return Ok(Top::Empty);
        };
        Tree::hang_as_root(&mut tree);
        Ok(Top::Tree(tree))
    }

    fn update(
        &self,
        tree: Option<&Link>,
        changes: &[Change],
        depth: usize,
        parallel: bool,
    ) -> Result<Option<Link>, L::Error> {
        let ([first, ..], Some(tree)) = (changes, tree) else {
            let inserted = changes.iter().filter_map(|change| change.leaf.clone());
            return Ok(tree.cloned().or_else(|| build(inserted, depth, self.born)));
        };
        match tree.body() {
            Body::Stored(_) => {
                let loaded = self.load.load(tree, &first.key, depth)?;
                let updated = self.update(Some(&loaded), changes, depth, parallel)?;
                let same = updated.as_ref().is_some_and(|updated| Arc::ptr_eq(updated, &loaded));
                Ok(if same { Some(Arc::clone(tree)) } else { updated })
            }
            Body::Leaf(leaf) => Ok(self.update_leaf(tree, leaf, changes, depth)),
            Body::Branch(branch) => {
                let place = Place { key: &first.key, key_depth: depth, born: self.born };
                self.update_branch(tree, branch, changes, &place, parallel)
            }
        }
    }

    fn update_leaf(&self, tree: &Link, leaf: &Leaf, changes: &[Change], depth: usize) -> Option<Link> {
        let old = match changes.binary_search_by(|change| change.key.cmp(&leaf.key)) {
            Ok(at) => changes.get(at).and_then(|change| change.leaf.as_ref()).filter(|new| new.value == leaf.value),
            Err(_) => Some(leaf),
        };
        if old.is_some() && changes.iter().all(|change| change.key == leaf.key || change.leaf.is_none()) {
            return Some(Arc::clone(tree));
        }
        let new = changes.iter().filter_map(|change| change.leaf.as_ref());
        let (before, after): (Vec<_>, Vec<_>) =
            new.filter(|new| old.is_none() || new.key != leaf.key).partition(|new| new.key < leaf.key);
        build(before.into_iter().chain(old).chain(after).cloned(), depth, self.born)
    }

    fn update_branch(
        &self,
        tree: &Link,
        branch: &Branch,
        changes: &[Change],
        place: &Place<'_>,
        parallel: bool,
    ) -> Result<Option<Link>, L::Error> {
        let depth = place.key_depth;
        let parts: Vec<_> = changes
            .chunk_by(|left, right| left.key.digit(depth) == right.key.digit(depth))
            .filter_map(|part| Some((part.first()?.key.digit(depth), part)))
            .collect();
        let below = depth.wrapping_add(1);
        let update = |(digit, part): &(u8, &[Change])| self.update(branch.child(*digit), part, below, false);
        let updated: Vec<_> = match (&*parts, parallel) {
            // The changes do not divide here, perhaps further down.
            ([(digit, part)], true) => vec![self.update(branch.child(*digit), part, below, true)],
            (_, true) => parallel::map(&parts, update),
            (_, false) => parts.iter().map(update).collect(),
        };
        let mut children = Vec::with_capacity(16);
        let mut changed = false;
        let mut updated = parts.iter().map(|(digit, _)| *digit).zip(updated).peekable();
        for digit in 0..16 {
            let old = branch.child(digit);
            let new = match updated.next_if(|(changed, _)| *changed == digit) {
                Some((_, new)) => {
                    let new = new?;
                    changed |= match (old, &new) {
                        (Some(old), Some(new)) => !Arc::ptr_eq(old, new),
                        (None, None) => false,
                        _ => true,
                    };
                    new
                }
                None => old.map(|old| self.release(old)),
            };
            children.extend(new.map(|new| (digit, new)));
        }
        if !changed {
            return Ok(Some(Arc::clone(tree)));
        }
        self.gather_bucket(&mut children, place)?;
        Tree::assemble(children, place, Some(branch), self.load)
    }

    /// Loads the children of a branch that is no longer too heavy for a bucket: those are in memory as a whole.
    fn gather_bucket(&self, children: &mut [(u8, Link)], place: &Place<'_>) -> Result<(), L::Error> {
        let weight = children.iter().map(|(_, child)| child.weight()).fold(0, u32::saturating_add);
        if weight > BUCKET {
            return Ok(());
        }
        for (digit, child) in children {
            if let Body::Stored(_) = child.body() {
                let key = place.key.with_digit(place.key_depth, *digit);
                *child = self.load.load(child, &key, place.key_depth.wrapping_add(1))?;
            }
        }
        Ok(())
    }

    /// Returns what the next version holds of a tree that does not change: a stub, if the tree is on disk.
    fn release(&self, tree: &Link) -> Link {
        if tree.born() > self.durable {
            return Arc::clone(tree);
        }
        match (tree.body(), tree.stamp()) {
            (Body::Leaf(_) | Body::Branch(_), Some(slot)) => tree.to_stub(slot),
            (Body::Leaf(leaf), None) => match leaf.released(self.durable) {
                Some(leaf) => tree.with_leaf(leaf),
                None => Arc::clone(tree),
            },
            _ => Arc::clone(tree),
        }
    }
}
