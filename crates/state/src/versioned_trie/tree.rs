//! The trie in memory: immutable trees that versions share. It has only the loaded and changed parts.
//!
//! A [`Tree`] corresponds to a page on disk. It is a leaf page, a branch with up to sixteen digits, or a stub for a
//! page that is not in memory. A change makes new trees on the path from the leaf to the root, and shares all other
//! trees with the previous version. Therefore a version is one [`Link`], and readers need no lock. A dropped version
//! frees the trees that no other version has. The weight of the leaves below a prefix determines whether it has a leaf
//! page or a branch, so equal leaves make equal trees.
//!
//! The topmost Merkle-Patricia node of a tree depends on the nibble of the key where its path begins. A tree is
//! *attached* to its parent at this nibble. [`Tree::reference`] is the reference to the topmost node for this nibble.
//! It is computed when the tree is attached, and stored in the tree. Therefore unchanged parts are not hashed again.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use silica_proof::trie::{EMPTY_ROOT, NodeRef};

use super::{
    children::{Base, Child},
    fork::{Fork, bit, digits, hanging_at, step_to, top_of},
    key::Key,
    leaf::{Leaf, LeafView},
    leaf_page::{LEAF_PAGE, LeafPage},
    page::{Entry, Summary},
    space::PagePlace,
};
use crate::version::Version;

/// A tree that several versions can share.
pub(crate) type Link = Arc<Tree>;

/// The tree of all leaves below a prefix. It has at least one leaf.
#[derive(Debug)]
pub(crate) struct Tree {
    reference: NodeRef,
    /// The position of the nibble in the key where the path of `reference` begins, or [`UNPLACED`] for a tree without
    /// parent.
    at: u8,
    /// Place of the page of this tree in the newest checkpoint, or [`PagePlace::NONE`] if no checkpoint has set it.
    place: AtomicU64,
    weight: u64,
    born: Version,
    body: Body,
}

/// Value of the field `at` for a tree that is not attached to a parent.
const UNPLACED: u8 = u8::MAX;

/// The three kinds of trees.
#[derive(Clone)]
pub(crate) enum Body {
    LeafPage(LeafPage),
    Branch(Branch),
    Stored(Stored),
}

/// A whole trie: without leaves, on disk, or in memory.
#[derive(Clone, Debug)]
pub(crate) enum Top {
    Empty,
    /// The root of a trie on disk. The pointer of its owner has the place.
    Root([u8; 32]),
    Tree(Link),
}

/// The children of a prefix whose leaves are too large for a leaf page, one for each digit.
#[derive(Clone)]
pub(crate) struct Branch {
    base: Arc<Base>,
    /// The children that replace children of `base`, in ascending order of their digits.
    changes: Box<[(u8, Link)]>,
    fork: Box<Fork>,
}

/// Maximum number of changed children of a branch that shares its base with other versions. A branch with more changed
/// children gets a new base.
const CHANGES: usize = 5;

/// A page on disk.
#[derive(Clone)]
pub(crate) struct Stored {
    pub place: PagePlace,
    /// The nibbles from the prefix to the first fork, and the branch node at the fork. `None` for a single leaf.
    pub fork: Option<(Box<[u8]>, NodeRef)>,
}

/// Loads pages for the code that builds trees.
pub(crate) trait Load {
    type Error;

    /// Loads the page of a stub. The first `depth` digits of `key` are the prefix of the stub.
    fn load(&self, stub: &Link, key: &Key, depth: usize) -> Result<Link, Self::Error>;
}

/// The prefix and the version for which a tree is built.
pub(crate) struct Place<'a, L> {
    pub load: &'a L,
    /// Any key that begins with the prefix. The prefix has `depth` digits.
    pub key: Key,
    pub depth: usize,
    /// The version that the update makes.
    pub born: Version,
    /// The version of the newest finished checkpoint. A tree of this version or an older version can be replaced by a
    /// stub.
    pub durable: Version,
}

impl<L> Clone for Place<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Place<'_, L> {}

impl<L> Place<'_, L> {
    /// Returns the place of the prefix with one more digit.
    pub(crate) fn below(&self, digit: u8) -> Self {
        Self { key: self.key.with_digit(self.depth, digit), depth: self.depth.wrapping_add(1), ..*self }
    }
}

impl Tree {
    const fn unplaced(weight: u64, born: Version, body: Body) -> Self {
        let reference = NodeRef::Hash([0; 32]);
        Self { reference, at: UNPLACED, place: AtomicU64::new(0), weight, born, body }
    }

    pub(crate) fn leaf_page(leaf_page: LeafPage, weight: u64, born: Version) -> Link {
        Arc::new(Self::unplaced(weight, born, Body::LeafPage(leaf_page)))
    }

    /// Makes the stub of a page, attached at nibble `at`.
    pub(super) fn stub(reference: NodeRef, at: u8, weight: u64, stored: Stored) -> Link {
        Arc::new(Self { reference, at, place: AtomicU64::new(0), weight, born: 0, body: Body::Stored(stored) })
    }

    pub(crate) const fn body(&self) -> &Body {
        &self.body
    }

    /// Returns the reference to the topmost node. The tree must be attached.
    pub(crate) fn reference(&self) -> &NodeRef {
        debug_assert_ne!(self.at, UNPLACED, "a tree must be attached before a call of `reference`");
        &self.reference
    }

    /// Returns the position of the nibble in the key where the path of [`Tree::reference`] begins.
    pub(crate) fn at(&self) -> usize {
        usize::from(self.at)
    }

    /// Returns the weight of the leaves, which is approximately the size of the leaves on disk in bytes.
    pub(crate) const fn weight(&self) -> u64 {
        self.weight
    }

    /// Returns the version that made the tree: the version of its newest change, or 0 for a tree from disk.
    pub(crate) const fn born(&self) -> Version {
        self.born
    }

    /// Returns the place of the page of this tree, or `None` if no checkpoint has set the place.
    pub(crate) fn place(&self) -> Option<PagePlace> {
        Some(PagePlace::from_bits(self.place.load(Ordering::Acquire))).filter(|place| *place != PagePlace::NONE)
    }

    pub(crate) fn set_place(&self, place: PagePlace) {
        self.place.store(place.to_bits(), Ordering::Release);
    }

    /// Returns the nibbles from the prefix to the first fork, and the branch node at the fork. Returns `None` for a
    /// single leaf.
    pub(crate) fn fork(&self) -> Option<(&[u8], &NodeRef)> {
        match &self.body {
            Body::LeafPage(leaf_page) => leaf_page.fork().map(|fork| (&*fork.lead, &fork.node)),
            Body::Branch(branch) => Some((&branch.fork.lead, &branch.fork.node)),
            Body::Stored(stored) => stored.fork.as_ref().map(|(lead, node)| (&**lead, node)),
        }
    }

    /// Returns whether the tree is a single leaf, in memory or as a stub.
    pub(crate) fn is_leaf(&self) -> bool {
        self.fork().is_none()
    }

    /// Returns a tree with the same leaves and another body, with the version of a loaded tree.
    pub(crate) fn with_body(&self, body: Body) -> Link {
        let Self { reference, at, weight, .. } = *self;
        Arc::new(Self { reference, at, place: AtomicU64::new(0), weight, born: 0, body })
    }

    /// Attaches a tree at nibble `at`. `step` has the nibbles from `at` to the prefix. Does not change the reference of
    /// a stub of one leaf, because its leaf is not in memory.
    fn hang(tree: &mut Link, at: usize, step: &[u8]) {
        if tree.at() == at {
            return;
        }
        let reference = match (tree.fork(), &tree.body) {
            (Some((lead, node)), _) => top_of(step, lead, node),
            (None, Body::LeafPage(leaf_page)) => {
                leaf_page.leaves().next().map_or(tree.reference, |leaf| leaf.reference(at))
            }
            (None, _) => tree.reference,
        };
        let at = u8::try_from(at).unwrap_or(UNPLACED);
        if let Some(tree) = Arc::get_mut(tree) {
            (tree.reference, tree.at) = (reference, at);
        } else {
            let place = AtomicU64::new(tree.place.load(Ordering::Acquire));
            let Self { weight, born, .. } = **tree;
            *tree = Arc::new(Self { reference, at, place, weight, born, body: tree.body.clone() });
        }
    }

    /// Attaches a tree in memory as the root of its trie.
    pub(crate) fn hang_as_root(tree: &mut Link) {
        Self::hang(tree, 0, &[]);
    }

    /// Attaches a loaded tree at the nibble of its stub, below `digit`.
    pub(crate) fn hang_as(tree: &mut Link, stub: &Self, digit: u8) {
        Self::hang(tree, stub.at(), step_to(digit, stub.at()).as_ref());
    }

    /// Attaches a tree at nibble `at`, below the last digit of its place. Loads a stub of one leaf if its nibble
    /// changes.
    fn hang_below<L: Load>(tree: &mut Link, at: usize, place: &Place<'_, L>) -> Result<(), L::Error> {
        if tree.at() == at {
            return Ok(());
        }
        if let Body::Stored(Stored { fork: None, .. }) = &tree.body {
            *tree = place.load.load(tree, &place.key, place.depth)?;
        }
        let digit = place.key.digit(place.depth.wrapping_sub(1));
        Self::hang(tree, at, step_to(digit, at).as_ref());
        Ok(())
    }

    /// Returns the root hash of a tree that is a whole trie.
    pub(crate) fn root(&self) -> [u8; 32] {
        debug_assert_eq!(self.at, 0, "a root must be attached at nibble 0");
        self.reference.to_hash()
    }

    /// Appends the leaves below a place to `leaves`. Loads stubs.
    pub(crate) fn gather<L: Load>(self: &Link, place: &Place<'_, L>, leaves: &mut Vec<Leaf>) -> Result<(), L::Error> {
        match &self.body {
            Body::LeafPage(leaf_page) => leaves.extend(leaf_page.leaves().map(LeafView::to_leaf)),
            Body::Branch(branch) => {
                for (digit, child) in branch.children() {
                    child.gather(&place.below(digit), leaves)?;
                }
            }
            Body::Stored(_) => place.load.load(self, &place.key, place.depth)?.gather(place, leaves)?,
        }
        Ok(())
    }

    /// Builds the tree of at least one leaf below a place. The leaves are in the order of their keys.
    pub(crate) fn build<L: Load>(leaves: &[LeafView<'_>], place: &Place<'_, L>) -> Result<Link, L::Error> {
        let weight = leaves.iter().map(LeafView::weight).fold(0, u64::saturating_add);
        if weight <= LEAF_PAGE || leaves.len() < 2 {
            return Ok(Self::leaf_page(LeafPage::new(leaves, place.depth), weight, place.born));
        }
        let groups = leaves.chunk_by(|left, right| left.key.digit(place.depth) == right.key.digit(place.depth));
        let children = groups.map(|group| {
            let digit = group.first().map_or(0, |leaf| leaf.key.digit(place.depth));
            Ok((digit, Self::build(group, &place.below(digit))?))
        });
        Self::branch(children.collect::<Result<_, _>>()?, place)
    }

    /// Builds a branch from children in the order of their digits. The children have more than one leaf together.
    pub(crate) fn branch<L: Load>(mut children: Vec<(u8, Link)>, place: &Place<'_, L>) -> Result<Link, L::Error> {
        let mask = children.iter().fold(0, |mask, (digit, _)| mask | bit(*digit));
        for (digit, child) in &mut children {
            Self::hang_below(child, hanging_at(mask, *digit, place.depth), &place.below(*digit))?;
        }
        let children = children.into_iter().map(|(digit, child)| Child::of(digit, child));
        Ok(Self::branch_of(children.collect(), place.born))
    }

    /// Builds a branch from attached children in the order of their digits.
    pub(super) fn branch_of(children: Vec<Child>, born: Version) -> Link {
        let weight = children.iter().map(Child::weight).fold(0, u64::saturating_add);
        Arc::new(Self::unplaced(weight, born, Body::Branch(Branch::of(children, None))))
    }
}

impl Branch {
    /// Makes a branch with these children. `old` is an earlier fork with the mask of the digits whose references
    /// differ.
    fn of(children: Vec<Child>, old: Option<(&Fork, u16)>) -> Self {
        let base = Base::new(children);
        let fork = match base.only() {
            Some(only) => only.chained(),
            None => Fork::new(base.mask, |digit| base.reference(digit), old),
        };
        Self { base: Arc::new(base), changes: Box::default(), fork: Box::new(fork) }
    }

    /// Returns the fork above the children.
    pub(crate) fn fork(&self) -> &Fork {
        &self.fork
    }

    /// Returns the child below a digit, or `None` if the branch has none.
    pub(crate) fn child(&self, digit: u8) -> Option<Link> {
        if self.fork.mask & bit(digit) == 0 {
            return None;
        }
        match self.changed(digit) {
            Some(child) => Some(Arc::clone(child)),
            None => self.base.tree(digit),
        }
    }

    /// Returns the child below a digit without making a tree of a stub.
    fn plain_child(&self, digit: u8) -> Option<Child> {
        match self.changed(digit) {
            Some(child) => Some(Child::of(digit, Arc::clone(child))),
            None => self.base.child(digit),
        }
    }

    /// Returns the place of the page below a digit, or `None` if the child is in memory or does not exist.
    pub(crate) fn stored_child(&self, digit: u8) -> Option<PagePlace> {
        match self.changed(digit).map(|child| child.body()) {
            Some(Body::Stored(stored)) => Some(stored.place),
            Some(Body::LeafPage(_) | Body::Branch(_)) => None,
            None if self.fork.mask & bit(digit) == 0 => None,
            None => self.base.place(digit),
        }
    }

    fn changed(&self, digit: u8) -> Option<&Link> {
        self.changes.iter().find(|(changed, _)| *changed == digit).map(|(_, child)| child)
    }

    /// Returns the reference to the child below a digit.
    pub(crate) fn reference(&self, digit: u8) -> &NodeRef {
        self.changed(digit).map_or_else(|| self.base.reference(digit), |child| &child.reference)
    }

    fn child_weight(&self, digit: u8) -> u64 {
        if self.fork.mask & bit(digit) == 0 {
            return 0;
        }
        self.changed(digit).map_or_else(|| self.base.weight(digit), |child| child.weight)
    }

    /// Returns the entry of a child in the node page. `place` is the place of the page of the child.
    fn entry(&self, digit: u8, place: PagePlace) -> Entry {
        let changed = self.changed(digit);
        let fork = changed.map_or_else(|| self.base.fork(digit), |child| child.fork());
        let summary = match fork {
            None => Summary::Leaf(*self.reference(digit)),
            Some((lead, node)) => Summary::Fork { lead: lead.into(), node: *node },
        };
        Entry { digit, place, weight: self.child_weight(digit), summary }
    }

    /// Returns the entries of the node page. `places` are the places of the pages of the children.
    pub(crate) fn entries(&self, places: &[PagePlace]) -> Vec<Entry> {
        digits(self.fork.mask).zip(places).map(|(digit, place)| self.entry(digit, *place)).collect()
    }

    /// Returns the children with their digits in ascending order.
    pub(crate) fn children(&self) -> impl Iterator<Item = (u8, Link)> {
        digits(self.fork.mask).filter_map(|digit| Some((digit, self.child(digit)?)))
    }

    /// Returns the only child with its digit, or `None` if the branch has several children.
    pub(crate) fn only_child(&self) -> Option<(u8, Link)> {
        if self.fork.mask.is_power_of_two() { self.children().next() } else { None }
    }

    /// Adds, replaces or removes children. `updates` are in the order of their digits, and `None` removes a child.
    /// Returns `None` if no child is left.
    pub(crate) fn update<L: Load>(
        &self,
        weight: u64,
        updates: &[(u8, Option<Link>)],
        place: &Place<'_, L>,
    ) -> Result<Option<Link>, L::Error> {
        let mut mask = self.fork.mask;
        let mut touched = 0;
        let mut weight = weight;
        for (digit, new) in updates {
            let old = self.child_weight(*digit);
            weight = weight.saturating_sub(old).saturating_add(new.as_ref().map_or(0, |new| new.weight));
            touched |= bit(*digit);
            mask = if new.is_some() { mask | bit(*digit) } else { mask & !bit(*digit) };
        }
        if mask == 0 {
            return Ok(None);
        }
        let updated = |digit: u8| updates.iter().find(|(updated, _)| *updated == digit).map(|(_, new)| new);
        let is_leaf = |digit: u8| match updated(digit) {
            Some(new) => new.as_ref().is_none_or(|new| new.is_leaf()),
            None => self.plain_child(digit).is_none_or(|child| child.is_leaf()),
        };
        if weight <= LEAF_PAGE || mask.is_power_of_two() && digits(mask).all(is_leaf) {
            let mut leaves = Vec::new();
            for digit in digits(mask) {
                let child = updated(digit).map_or_else(|| self.child(digit), Clone::clone);
                child.map_or(Ok(()), |child| child.gather(&place.below(digit), &mut leaves))?;
            }
            let leaves: Vec<_> = leaves.iter().map(Leaf::as_view).collect();
            return Tree::build(&leaves, place).map(Some);
        }
        let attached = |digit: u8| -> Result<Option<Child>, L::Error> {
            let (at, below) = (hanging_at(mask, digit, place.depth), place.below(digit));
            let child = match updated(digit) {
                Some(new) => {
                    let Some(mut new) = new.clone() else { return Ok(None) };
                    Tree::hang_below(&mut new, at, &below)?;
                    Some(Child::of(digit, new))
                }
                None => self.plain_child(digit).map(|child| child.released(place.durable)),
            };
            let Some(mut child) = child else { return Ok(None) };
            if child.at() != at && !child.hang_stub(at) {
                let mut tree = child.to_tree();
                Tree::hang_below(&mut tree, at, &below)?;
                child = Child::of(digit, tree);
            }
            Ok(Some(child))
        };
        let is_moved =
            |digit: u8| hanging_at(self.fork.mask, digit, place.depth) != hanging_at(mask, digit, place.depth);
        let moved = digits(mask).filter(|digit| is_moved(*digit)).fold(0, |moved, digit| moved | bit(digit));
        let touched = touched | moved;
        let is_changed = |digit: u8| touched & bit(digit) != 0 || self.changed(digit).is_some();
        let releasable = self.base.newest > 0 && self.base.newest <= place.durable;
        let many = digits(mask).filter(|digit| is_changed(*digit)).count() > CHANGES;
        if many || releasable || mask.is_power_of_two() {
            let children = digits(mask).map(attached).filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
            let branch = Self::of(children, Some((&self.fork, touched)));
            return Ok(Some(Arc::new(Tree::unplaced(weight, place.born, Body::Branch(branch)))));
        }
        let changes = digits(mask)
            .filter(|digit| is_changed(*digit))
            .map(|digit| Ok(attached(digit)?.map(|child| (digit, child.to_tree()))));
        let changes = changes.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let mut next = Self { base: Arc::clone(&self.base), changes, fork: self.fork.clone() };
        next.fork.mask = mask;
        next.fork = Box::new(Fork::new(mask, |digit| next.reference(digit), Some((&self.fork, touched))));
        Ok(Some(Arc::new(Tree::unplaced(weight, place.born, Body::Branch(next)))))
    }

    /// Returns the branch with a stub for each child. `places` are the places of their pages.
    pub(crate) fn with_stubs(&self, places: &[PagePlace]) -> Self {
        let children = digits(self.fork.mask).filter_map(|digit| self.plain_child(digit));
        let children = children.zip(places).map(|(child, place)| child.stub_at(*place));
        Self { base: Arc::new(Base::new(children.collect())), changes: Box::default(), fork: self.fork.clone() }
    }

    /// Returns the approximate memory of the branch in bytes, without its children.
    pub(crate) fn memory_size(&self) -> usize {
        self.base.memory_size().saturating_add(size_of_val(&*self.changes)).saturating_add(240)
    }
}

impl Top {
    /// Returns the hash of the root.
    pub(crate) fn root(&self) -> [u8; 32] {
        match self {
            Self::Empty => EMPTY_ROOT,
            Self::Root(root) => *root,
            Self::Tree(tree) => tree.root(),
        }
    }

    /// Returns the trie as a root on disk, or `None` if it must stay in memory.
    pub(crate) fn released(&self, durable: Version) -> Option<Self> {
        match self {
            Self::Tree(tree) if tree.born <= durable && tree.place().is_some() => Some(Self::Root(tree.root())),
            Self::Tree(_) | Self::Empty | Self::Root(_) => None,
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeafPage(leaf_page) => write!(f, "leaf page of {} leaves", leaf_page.count()),
            Self::Branch(branch) => f.debug_map().entries(branch.children()).finish(),
            Self::Stored(stored) => write!(f, "page at {:?}", stored.place),
        }
    }
}
