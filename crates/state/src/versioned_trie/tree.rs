//! The trie in memory: immutable, shared between versions, with only its loaded and changed parts.
//!
//! A [`Tree`] corresponds to a record on disk. It is a bucket of leaves, a branch over up to sixteen digits, or a stub
//! for a record that is not in memory. A change makes new trees on the path from the leaf to the top, and shares all
//! others with the version before. So a version is one [`Link`], readers need no lock, and dropping a version frees its
//! own parts. The weight of its leaves determines whether a prefix is a bucket or a branch, so equal leaves make equal
//! trees.
//!
//! The leaf and extension nodes below a fork depend on their position. [`Tree::reference`] is the reference to the
//! topmost node of a tree whose path begins `at` that nibble of the key. It is computed when the tree is attached
//! there. It is stored with the tree, so unchanged parts are never hashed again.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use super::{
    fork::{Fork, bit, digits, hanging_at, rank, step_to, top_of},
    key::{Key, Slot},
    leaf::{Leaf, LeafView},
    leaf_page::{LEAF_PAGE, LeafPage},
};
use crate::{
    trie::{EMPTY_ROOT, NodeRef},
    version::Version,
};

/// A shared tree.
pub(crate) type Link = Arc<Tree>;

/// The leaves below a prefix, at least one.
#[derive(Debug)]
pub(crate) struct Tree {
    reference: NodeRef,
    /// The nibble of the key where the path of `reference` begins, or [`UNPLACED`].
    at: u8,
    /// Slot of the record of this tree as of the newest checkpoint, or 0 when it has none.
    slot_tag: AtomicU8,
    weight: u64,
    born: Version,
    body: Body,
}

const UNPLACED: u8 = u8::MAX;

/// What a tree is.
#[derive(Clone)]
pub(crate) enum Body {
    LeafPage(LeafPage),
    Branch(Branch),
    Stored(Stored),
}

/// A whole trie.
#[derive(Clone, Debug)]
pub(crate) enum Top {
    Empty,
    /// On disk, where the pointer of the trie's owner says.
    Root([u8; 32]),
    Tree(Link),
}

/// What is below each digit after a prefix with more leaves than fit into a bucket.
#[derive(Clone)]
pub(crate) struct Branch {
    base: Arc<Base>,
    /// The children that are not those of `base`, ascending.
    changes: Box<[(u8, Link)]>,
    fork: Box<Fork>,
}

/// Children in one piece, with their references beside them: hashing reads these, and touches none of the children.
struct Base {
    mask: u16,
    children: Box<[Link]>,
    references: Box<[NodeRef]>,
    /// The version of the newest child that is in memory, or 0.
    newest: Version,
}

/// Changed children of a version before a new base is made.
const CHANGES: usize = 5;

/// A record on disk.
#[derive(Clone)]
pub(crate) struct Stored {
    pub slot: Slot,
    /// The nibbles from the prefix to the first fork, and the branch node there; nothing for a single leaf.
    pub fork: Option<(Box<[u8]>, NodeRef)>,
}

/// What is needed of the records on disk while trees are put together.
pub(crate) trait Load {
    type Error;

    /// Loads the record of a stub at the first `depth` digits of a key.
    fn load(&self, stub: &Link, key: &Key, depth: usize) -> Result<Link, Self::Error>;
}

/// Where, and for which version, a tree is put together.
pub(crate) struct Place<'a, L> {
    pub load: &'a L,
    /// Any key whose first `depth` digits are the prefix.
    pub key: Key,
    pub depth: usize,
    /// The version that is being made.
    pub born: Version,
    /// The version of the newest finished checkpoint: what is not newer, and has a record, need not stay in memory.
    pub durable: Version,
}

impl<L> Clone for Place<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Place<'_, L> {}

impl<L> Place<'_, L> {
    /// Returns the place after another digit.
    pub(crate) fn below(&self, digit: u8) -> Self {
        Self { key: self.key.with_digit(self.depth, digit), depth: self.depth.wrapping_add(1), ..*self }
    }
}

impl Tree {
    const fn unplaced(weight: u64, born: Version, body: Body) -> Self {
        let reference = NodeRef::Hash([0; 32]);
        Self { reference, at: UNPLACED, slot_tag: AtomicU8::new(0), weight, born, body }
    }

    pub(crate) fn leaf_page(leaf_page: LeafPage, weight: u64, born: Version) -> Link {
        Arc::new(Self::unplaced(weight, born, Body::LeafPage(leaf_page)))
    }

    /// Makes the stub of a record that holds more than one leaf.
    pub(crate) fn stored(slot: Slot, weight: u64, lead: Box<[u8]>, node: NodeRef) -> Link {
        Arc::new(Self::unplaced(weight, 0, Body::Stored(Stored { slot, fork: Some((lead, node)) })))
    }

    /// Makes the stub of a record that holds one leaf, whose reference is known for one position only.
    pub(crate) fn stored_leaf(slot: Slot, weight: u64, at: usize, reference: NodeRef) -> Link {
        let at = u8::try_from(at).unwrap_or(UNPLACED);
        let body = Body::Stored(Stored { slot, fork: None });
        Arc::new(Self { reference, at, slot_tag: AtomicU8::new(0), weight, born: 0, body })
    }

    pub(crate) const fn body(&self) -> &Body {
        &self.body
    }

    /// The reference to the topmost node, when the tree hangs where its parent has it.
    pub(crate) fn reference(&self) -> &NodeRef {
        debug_assert_ne!(self.at, UNPLACED, "a tree is hung up before its reference is asked for");
        &self.reference
    }

    /// The nibble of the key where the path of [`Tree::reference`] begins.
    pub(crate) fn at(&self) -> usize {
        usize::from(self.at)
    }

    /// Bytes that the leaves take on disk, about.
    pub(crate) const fn weight(&self) -> u64 {
        self.weight
    }

    /// The version that made the tree, hence the newest change in it.
    pub(crate) const fn born(&self) -> Version {
        self.born
    }

    /// Slot of the record that a checkpoint made of this tree.
    pub(crate) fn slot_tag(&self) -> Option<Slot> {
        Slot::from_byte(self.slot_tag.load(Ordering::Acquire))
    }

    pub(crate) fn set_slot_tag(&self, slot: Slot) {
        self.slot_tag.store(slot.to_byte(), Ordering::Release);
    }

    /// The nibbles from the prefix to the first fork, and the branch node there; nothing for a single leaf.
    pub(crate) fn fork(&self) -> Option<(&[u8], &NodeRef)> {
        match &self.body {
            Body::LeafPage(leaf_page) => leaf_page.fork().map(|fork| (&*fork.lead, &fork.node)),
            Body::Branch(branch) => Some((&branch.fork.lead, &branch.fork.node)),
            Body::Stored(stored) => stored.fork.as_ref().map(|(lead, node)| (&**lead, node)),
        }
    }

    /// Whether the tree is a single leaf, loaded or not.
    pub(crate) fn is_leaf(&self) -> bool {
        self.fork().is_none()
    }

    /// Returns a stub in place of a tree whose record is in `slot`.
    pub(crate) fn to_stub(&self, slot: Slot) -> Link {
        let fork = self.fork().map(|(lead, node)| (lead.into(), *node));
        self.with_body(Body::Stored(Stored { slot, fork }))
    }

    /// Returns what a version need hold of a tree that does not change: a stub, if the tree is on disk.
    pub(crate) fn released(tree: &Link, durable: Version) -> Link {
        match (tree.body(), tree.slot_tag()) {
            (Body::LeafPage(_) | Body::Branch(_), Some(slot)) if tree.born <= durable => tree.to_stub(slot),
            _ => Arc::clone(tree),
        }
    }

    /// Returns a tree of the same leaves, as it would be loaded.
    pub(crate) fn with_body(&self, body: Body) -> Link {
        let Self { reference, at, weight, .. } = *self;
        Arc::new(Self { reference, at, slot_tag: AtomicU8::new(0), weight, born: 0, body })
    }

    /// Makes the reference that of a path that begins at a nibble, from which `step` leads to the prefix. The stub of
    /// a leaf has but one.
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
            let slot_tag = AtomicU8::new(tree.slot_tag.load(Ordering::Acquire));
            let Self { weight, born, .. } = **tree;
            *tree = Arc::new(Self { reference, at, slot_tag, weight, born, body: tree.body.clone() });
        }
    }

    /// Makes a tree in memory the root of its trie.
    pub(crate) fn hang_as_root(tree: &mut Link) {
        Self::hang(tree, 0, &[]);
    }

    /// Gives a tree that was loaded the position of the stub that it is loaded for, below the digit given.
    pub(crate) fn hang_as(tree: &mut Link, stub: &Self, digit: u8) {
        Self::hang(tree, stub.at(), step_to(digit, stub.at()).as_ref());
    }

    /// Hangs a tree below the digit that its place ends with.
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

    /// Returns the hash of the root, when the tree is a whole trie.
    pub(crate) fn root(&self) -> [u8; 32] {
        debug_assert_eq!(self.at, 0, "a root hangs at the beginning of the key");
        self.reference.to_hash()
    }

    /// Adds the leaves below a place to others, loading what is not in memory.
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

    /// Builds the tree of leaves that come in the order of their keys, at least one, below a place.
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

    /// Puts a branch together over children that come in the order of their digits, and are more than one leaf.
    pub(crate) fn branch<L: Load>(mut children: Vec<(u8, Link)>, place: &Place<'_, L>) -> Result<Link, L::Error> {
        let weight = children.iter().map(|(_, child)| child.weight).fold(0, u64::saturating_add);
        let mask = children.iter().fold(0, |mask, (digit, _)| mask | bit(*digit));
        for (digit, child) in &mut children {
            Self::hang_below(child, hanging_at(mask, *digit, place.depth), &place.below(*digit))?;
        }
        let base = Base::new(children);
        let fork = match *base.children {
            [ref only] => only.chained(mask),
            _ => Fork::new(mask, |digit| base.reference(digit), None),
        };
        let branch = Branch { base: Arc::new(base), changes: Box::default(), fork: Box::new(fork) };
        Ok(Arc::new(Self::unplaced(weight, place.born, Body::Branch(branch))))
    }

    /// The fork above an only child.
    fn chained(&self, mask: u16) -> Fork {
        let digit = digits(mask).next().unwrap_or(0);
        let (lead, node) = self.fork().unwrap_or((&[], &self.reference));
        Fork::chain(digit, lead, *node)
    }
}

impl Base {
    fn new(children: Vec<(u8, Link)>) -> Self {
        let mask = children.iter().fold(0, |mask, (digit, _)| mask | bit(*digit));
        let references = children.iter().map(|(_, child)| child.reference).collect();
        let in_memory = |child: &Link| match child.body() {
            Body::Stored(_) => 0,
            // Version 0 is that of what came from disk.
            Body::LeafPage(_) | Body::Branch(_) => child.born.max(1),
        };
        let newest = children.iter().map(|(_, child)| in_memory(child)).max().unwrap_or(0);
        Self { mask, references, newest, children: children.into_iter().map(|(_, child)| child).collect() }
    }

    fn reference(&self, digit: u8) -> &NodeRef {
        const NO_NODE: &NodeRef = &NodeRef::Hash([0; 32]);
        self.references.get(rank(self.mask, digit)).unwrap_or(NO_NODE)
    }
}

impl Branch {
    /// The fork above the children.
    pub(crate) fn fork(&self) -> &Fork {
        &self.fork
    }

    /// The child below a digit.
    pub(crate) fn child(&self, digit: u8) -> Option<&Link> {
        if self.fork.mask & bit(digit) == 0 {
            return None;
        }
        match self.changed(digit) {
            Some(child) => Some(child),
            None => self.base.children.get(rank(self.base.mask, digit)),
        }
    }

    fn changed(&self, digit: u8) -> Option<&Link> {
        self.changes.iter().find(|(changed, _)| *changed == digit).map(|(_, child)| child)
    }

    /// The reference to what is below a digit.
    pub(crate) fn reference(&self, digit: u8) -> &NodeRef {
        self.changed(digit).map_or_else(|| self.base.reference(digit), |child| &child.reference)
    }

    /// The children and their digits, ascending.
    pub(crate) fn children(&self) -> impl Iterator<Item = (u8, &Link)> {
        digits(self.fork.mask).filter_map(|digit| Some((digit, self.child(digit)?)))
    }

    /// The only child, where the digits do not fork.
    pub(crate) fn only_child(&self) -> Option<(u8, &Link)> {
        if self.fork.mask.is_power_of_two() { self.children().next() } else { None }
    }

    /// Returns the tree with other children in the places of some, which come in the order of their digits; `None` when
    /// none is left.
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
            let old = self.child(*digit).map_or(0, |old| old.weight);
            weight = weight.saturating_sub(old).saturating_add(new.as_ref().map_or(0, |new| new.weight));
            touched |= bit(*digit);
            mask = if new.is_some() { mask | bit(*digit) } else { mask & !bit(*digit) };
        }
        let updated = |digit: u8| updates.iter().find(|(updated, _)| *updated == digit);
        let new_child = |digit: u8| match updated(digit) {
            Some((_, new)) => new.clone(),
            None => self.child(digit).map(|child| Tree::released(child, place.durable)),
        };
        let all = || digits(mask).filter_map(|digit| Some((digit, new_child(digit)?))).collect::<Vec<_>>();
        let only_leaf = || mask.is_power_of_two() && all().iter().all(|(_, child)| child.is_leaf());
        if mask == 0 {
            return Ok(None);
        }
        if weight <= LEAF_PAGE || only_leaf() {
            let mut leaves = Vec::new();
            for (digit, child) in all() {
                child.gather(&place.below(digit), &mut leaves)?;
            }
            let leaves: Vec<_> = leaves.iter().map(Leaf::as_view).collect();
            return Tree::build(&leaves, place).map(Some);
        }
        let mut changes = Vec::with_capacity(CHANGES.saturating_add(2));
        for digit in digits(mask) {
            let at = hanging_at(mask, digit, place.depth);
            let moved = hanging_at(self.fork.mask, digit, place.depth) != at;
            if touched & bit(digit) != 0 || moved || self.changed(digit).is_some() {
                if moved {
                    touched |= bit(digit);
                }
                let Some(mut child) = new_child(digit) else { continue };
                Tree::hang_below(&mut child, at, &place.below(digit))?;
                changes.push((digit, child));
            }
        }
        let releasable = self.base.newest > 0 && self.base.newest <= place.durable;
        if changes.len() > CHANGES || releasable || mask.is_power_of_two() {
            let mut children = all();
            for (digit, child) in &mut children {
                Tree::hang_below(child, hanging_at(mask, *digit, place.depth), &place.below(*digit))?;
            }
            return Ok(Some(self.rebased(mask, touched, weight, children, place)));
        }
        let mut next = Self { base: Arc::clone(&self.base), changes: changes.into(), fork: self.fork.clone() };
        next.fork.mask = mask;
        next.fork = Box::new(Fork::new(mask, |digit| next.reference(digit), Some((&self.fork, touched))));
        Ok(Some(Arc::new(Tree::unplaced(weight, place.born, Body::Branch(next)))))
    }

    fn rebased<L: Load>(
        &self,
        mask: u16,
        touched: u16,
        weight: u64,
        children: Vec<(u8, Link)>,
        place: &Place<'_, L>,
    ) -> Link {
        let base = Base::new(children);
        let fork = match *base.children {
            [ref only] => only.chained(mask),
            _ => Fork::new(mask, |digit| base.reference(digit), Some((&self.fork, touched))),
        };
        let branch = Self { base: Arc::new(base), changes: Box::default(), fork: Box::new(fork) };
        Arc::new(Tree::unplaced(weight, place.born, Body::Branch(branch)))
    }

    /// Returns the branch with stubs in place of its children, whose records are in the slots given.
    pub(crate) fn with_stubs(&self, slots: impl Iterator<Item = Slot>) -> Self {
        let children = self.children().zip(slots).map(|((digit, child), slot)| (digit, child.to_stub(slot)));
        let base = Arc::new(Base::new(children.collect()));
        Self { base, changes: Box::default(), fork: self.fork.clone() }
    }

    /// Returns the bytes that the branch takes in memory besides its own, without its children, about.
    pub(crate) fn memory_size(&self) -> usize {
        let each = size_of::<NodeRef>().saturating_add(size_of::<Link>());
        let children = self.base.children.len().saturating_mul(each);
        children.saturating_add(size_of_val(&*self.changes)).saturating_add(160)
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

    /// Returns the trie without its trees in memory, if there are such and all of them are on disk.
    pub(crate) fn released(&self, durable: Version) -> Option<Self> {
        match self {
            Self::Tree(tree) if tree.born <= durable && tree.slot_tag().is_some() => Some(Self::Root(tree.root())),
            Self::Tree(_) | Self::Empty | Self::Root(_) => None,
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeafPage(leaf_page) => write!(f, "bucket of {}", leaf_page.count()),
            Self::Branch(branch) => f.debug_map().entries(branch.children()).finish(),
            Self::Stored(stored) => write!(f, "record in slot {:?}", stored.slot),
        }
    }
}
