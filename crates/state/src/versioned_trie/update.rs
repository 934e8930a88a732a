//! Applies a batch of changes to a trie. The result is the next version of the trie.

use std::sync::Arc;

use super::{
    key::Key,
    leaf::{Change, Leaf},
    leaf_page::{LEAF_PAGE, LeafPage},
    parallel,
    tree::{Body, Branch, Link, Load, Place, Top, Tree},
};
use crate::version::Version;

/// The context of a batch of changes.
pub(crate) struct Update<'a, L> {
    pub load: &'a L,
    /// The version that the batch makes.
    pub born: Version,
    /// The version of the newest finished checkpoint.
    pub durable: Version,
}

/// Minimum number of changes for which several threads are faster than one thread.
const WORTH_A_THREAD: usize = 48;

impl<L: Load<Error: Send> + Sync> Update<'_, L> {
    /// Returns the trie after the changes. The changes are in the order of their keys, and each key occurs once.
    pub(crate) fn apply(&self, top: Option<&Link>, changes: &[Arc<Change>]) -> Result<Top, L::Error> {
        let place = Place { load: self.load, key: Key::zero(), depth: 0, born: self.born, durable: self.durable };
        let parallel = changes.len() >= WORTH_A_THREAD;
        let tree = match (top, changes) {
            (_, []) => top.cloned(),
            (Some(tree), _) => update(tree, changes, &place, parallel)?,
            (None, _) => insert(changes, &place)?,
        };
        let Some(mut tree) = tree else { return Ok(Top::Empty) };
        Tree::hang_as_root(&mut tree);
        Ok(Top::Tree(tree))
    }
}

/// Makes the tree of the leaves that `changes` set. Returns `None` if they set no leaf.
fn insert<L: Load>(changes: &[Arc<Change>], place: &Place<'_, L>) -> Result<Option<Link>, L::Error> {
    let leaves: Vec<_> = changes.iter().filter_map(|change| change.leaf.as_ref()).map(Leaf::as_view).collect();
    if leaves.is_empty() { Ok(None) } else { Tree::build(&leaves, place).map(Some) }
}

/// Returns the tree after at least one change of keys below its prefix. Returns the same tree if nothing changes, and
/// `None` if no leaf is left.
fn update<L: Load<Error: Send> + Sync>(
    tree: &Link,
    changes: &[Arc<Change>],
    place: &Place<'_, L>,
    parallel: bool,
) -> Result<Option<Link>, L::Error> {
    match tree.body() {
        Body::Stored(_) => {
            let key = changes.first().map_or(place.key, |change| change.key);
            let loaded = place.load.load(tree, &key, place.depth)?;
            let updated = update(&loaded, changes, place, parallel)?;
            let same = updated.as_ref().is_some_and(|updated| Arc::ptr_eq(updated, &loaded));
            Ok(if same { Some(Arc::clone(tree)) } else { updated })
        }
        Body::LeafPage(leaf_page) => update_leaf_page(tree, leaf_page, changes, place),
        Body::Branch(branch) => update_branch(tree, branch, changes, place, parallel),
    }
}

fn update_leaf_page<L: Load>(
    tree: &Link,
    leaf_page: &LeafPage,
    changes: &[Arc<Change>],
    place: &Place<'_, L>,
) -> Result<Option<Link>, L::Error> {
    let effect = leaf_page.effect(changes);
    if effect.changes.is_empty() {
        return Ok(Some(Arc::clone(tree)));
    }
    if effect.count == 0 {
        return Ok(None);
    }
    let weight = tree.weight().saturating_add_signed(effect.weight);
    if weight > LEAF_PAGE && effect.count > 1 {
        let leaves = leaf_page.leaves_after(effect);
        let leaves: Vec<_> = leaves.iter().map(Leaf::as_view).collect();
        return Tree::build(&leaves, place).map(Some);
    }
    Ok(Some(Tree::leaf_page(leaf_page.update(effect, place.durable), weight, place.born)))
}

fn update_branch<L: Load<Error: Send> + Sync>(
    tree: &Link,
    branch: &Branch,
    changes: &[Arc<Change>],
    place: &Place<'_, L>,
    parallel: bool,
) -> Result<Option<Link>, L::Error> {
    let digit_of = |change: &Change| change.key.digit(place.depth);
    let parts: Vec<_> = changes.chunk_by(|left, right| digit_of(left) == digit_of(right)).collect();
    let update_part = |part: &&[Arc<Change>], parallel| {
        let digit = part.first().map_or(0, |change| digit_of(change));
        let place = place.below(digit);
        let old = branch.child(digit);
        let new = match &old {
            Some(child) => update(child, part, &place, parallel)?,
            None => insert(part, &place)?,
        };
        let same = match (&old, &new) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            (None, None) => true,
            _ => false,
        };
        Ok(if same { None } else { Some((digit, new)) })
    };
    let updated: Vec<_> = match (&*parts, parallel) {
        // All changes are below one digit. Their keys can fork at a later digit.
        ([part], true) => vec![update_part(part, true)],
        (_, true) => parallel::map(&parts, |part| update_part(part, false)),
        (_, false) => parts.iter().map(|part| update_part(part, false)).collect(),
    };
    let updates: Vec<_> = updated.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
    if updates.is_empty() { Ok(Some(Arc::clone(tree))) } else { branch.update(tree.weight(), &updates, place) }
}
