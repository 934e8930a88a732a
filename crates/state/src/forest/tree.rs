//! The trie in memory: immutable, shared between versions, and holding only what was loaded or changed.
//!
//! A [`Tree`] covers the leaves below a prefix of hexadecimal digits: one leaf, a branch over up to sixteen digits, or a
//! stub for a record on disk. A change makes new trees on the way from the leaf to the top and shares all others with
//! the version before, so that a version is one [`Link`], readers need no lock, and dropping a version frees what was
//! its own. A branch that is left with a single leaf becomes that leaf; so equal leaves make equal trees.
//!
//! A digit is two nibbles of the key (`3` and the digit, or `6` and the digit less 9), so one branch of digits stands for
//! up to three Merkle-Patricia branches: one for the *class* (3 or 6), and one for the digits of each class.
//! Which leaf and extension nodes hang below these depends on where they hang: [`Tree::reference`] is the reference to
//! a tree's topmost node when the path begins `at` that nibble of the key, and is computed when the tree is hung up
//! there. It is kept with the tree, so that what did not change is never hashed again.

use std::{
    fmt,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use super::key::{Key, Slot};
use crate::trie::{
    EMPTY_ROOT, NodeRef, digit_path,
    node::{Children, write_branch, write_extension},
    rlp,
};

/// A shared tree.
pub(crate) type Link = Arc<Tree>;

/// Number of a version: that of its block plus one; 0 is the empty state before genesis, and whatever came from disk.
pub(crate) type Version = u64;

/// The leaves below a prefix, at least one.
pub(crate) struct Tree {
    reference: NodeRef,
    /// The nibble of the key where the path of `reference` begins, or [`UNPLACED`].
    at: u8,
    /// Slot of the record of this tree as of the newest checkpoint, or 0 when it has no record of its own.
    stamp: AtomicU8,
    weight: u32,
    born: Version,
    body: Body,
}

const UNPLACED: u8 = u8::MAX;

/// What a tree is.
#[derive(Clone)]
pub(crate) enum Body {
    Leaf(Leaf),
    Branch(Branch),
    Stored(Stored),
}

/// A leaf.
#[derive(Clone)]
pub(crate) struct Leaf {
    pub key: Key,
    pub value: Bytes,
    pub tail: Option<Box<Tail>>,
}

/// What a leaf carries besides its value.
#[derive(Clone, Debug)]
pub(crate) enum Tail {
    /// Of an account: the storage trie of its contract, whose root is part of the value.
    Storage(Top),
    /// Of an entry of contract storage: its plain key after the contract's address. The key is the hash of both.
    Plain(Box<str>),
}

/// A whole trie.
#[derive(Clone, Debug)]
pub(crate) enum Top {
    Empty,
    /// On disk, where the pointer of the trie's owner says.
    Root([u8; 32]),
    Tree(Link),
}

/// A fork, or a link of a chain, in the digits of the keys.
#[derive(Clone)]
pub(crate) struct Branch {
    mask: u16,
    /// The children whose bits are set, ascending.
    children: Box<[Link]>,
    /// The branch nodes over the decimal digits and over the letters, where there are such and both classes occur.
    parts: [Option<Box<NodeRef>>; 2],
    /// The branch node at the first fork of the nibbles below this prefix.
    node: NodeRef,
}

/// A record on disk.
#[derive(Clone)]
pub(crate) struct Stored {
    pub slot: Slot,
    /// Whether the record holds a single leaf.
    pub leaf: bool,
    /// The branch node at the first fork; unused for a leaf.
    pub node: NodeRef,
    /// The nibbles from the prefix to that fork.
    pub lead: Box<[u8]>,
}

/// What is needed of the records on disk while trees are put together.
pub(crate) trait Load {
    type Error;

    /// Loads the record of a stub below a prefix.
    fn load(&self, stub: &Link, key: &Key, depth: usize) -> Result<Link, Self::Error>;
}

impl Tree {
    pub(crate) fn leaf(leaf: Leaf, born: Version) -> Link {
        Arc::new(Self::unplaced(leaf.weight(), born, Body::Leaf(leaf)))
    }

    /// Makes the stub of a record that holds a branch.
    pub(crate) fn stored_branch(slot: Slot, weight: u32, node: NodeRef, lead: Box<[u8]>) -> Link {
        Arc::new(Self::unplaced(weight, 0, Body::Stored(Stored { slot, leaf: false, node, lead })))
    }

    /// Makes the stub of a record that holds a leaf, whose reference is known for one position only.
    pub(crate) fn stored_leaf(slot: Slot, weight: u32, at: u8, reference: NodeRef) -> Link {
        let stored = Stored { slot, leaf: true, node: reference, lead: Box::default() };
        Arc::new(Self { reference, at, stamp: AtomicU8::new(0), weight, born: 0, body: Body::Stored(stored) })
    }

    const fn unplaced(weight: u32, born: Version, body: Body) -> Self {
        let reference = NodeRef::Hash([0; 32]);
        Self { reference, at: UNPLACED, stamp: AtomicU8::new(0), weight, born, body }
    }

    pub(crate) fn body(&self) -> &Body {
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

    /// Bytes that the leaves take on disk; exact while it decides anything, and at least that otherwise.
    pub(crate) fn weight(&self) -> u32 {
        self.weight
    }

    /// The version that made the tree, hence the newest change in it.
    pub(crate) fn born(&self) -> Version {
        self.born
    }

    /// Slot of the record that a checkpoint made of this tree.
    pub(crate) fn stamp(&self) -> Option<Slot> {
        Slot::from_byte(self.stamp.load(Ordering::Acquire))
    }

    pub(crate) fn set_stamp(&self, slot: Option<Slot>) {
        self.stamp.store(slot.map_or(0, Slot::to_byte), Ordering::Release);
    }

    /// Whether the tree is a single leaf, loaded or not.
    pub(crate) fn is_leaf(&self) -> bool {
        match &self.body {
            Body::Leaf(_) | Body::Stored(Stored { leaf: true, .. }) => true,
            Body::Branch(_) | Body::Stored(_) => false,
        }
    }

    /// Returns a stub in place of a tree whose record is in `slot`.
    pub(crate) fn to_stub(&self, slot: Slot) -> Link {
        let stored = match &self.body {
            Body::Leaf(_) => Stored { slot, leaf: true, node: self.reference, lead: Box::default() },
            Body::Branch(branch) => Stored { slot, leaf: false, node: branch.node, lead: branch.lead().into() },
            Body::Stored(stored) => Stored { slot, ..stored.clone() },
        };
        let Self { reference, at, weight, .. } = *self;
        Arc::new(Self { reference, at, stamp: AtomicU8::new(0), weight, born: 0, body: Body::Stored(stored) })
    }

    /// Returns the hash of the root, when the tree is a whole trie.
    pub(crate) fn root(&self) -> [u8; 32] {
        debug_assert_eq!(self.at, 0, "a root hangs at the beginning of the key");
        self.reference.to_hash()
    }

    /// Puts a branch together over the children of the prefix of `depth` digits that `key` begins with.
    ///
    /// `old` is the branch that the children are a change of: the part of it whose children are the same is not hashed
    /// again. Returns `None` without children, and the leaf itself when that is all.
    pub(crate) fn assemble<L: Load>(
        children: Vec<(u8, Link)>,
        at: &Place<'_>,
        old: Option<&Branch>,
        load: &L,
    ) -> Result<Option<Link>, L::Error> {
        let depth = at.key_depth;
        let mut children = children;
        if let [(digit, only)] = &mut *children {
            let digit = *digit;
            if only.is_leaf() {
                return Ok(resolve(only, &at.below(digit), load)?.moved(at.born));
            }
            hang(only, &at.below(digit), depth.wrapping_add(1).wrapping_mul(2), load)?;
            let branch = Branch {
                mask: bit(digit),
                node: *only.fork(),
                children: Box::new([Arc::clone(only)]),
                parts: [None, None],
            };
            return Ok(Some(Arc::new(Self::unplaced(only.weight, at.born, Body::Branch(branch)))));
        }
        let Some(weight) = children.iter().map(|(_, child)| child.weight).reduce(u32::saturating_add) else {
            return Ok(None);
        };
        let letters = children.partition_point(|(digit, _)| *digit < 10);
        let both = letters > 0 && letters < children.len();
        let mut tops = Vec::with_capacity(2);
        let (decimals, letters) = children.split_at_mut(letters);
        for (class, part) in [decimals, letters].into_iter().enumerate() {
            match part {
                [] => {}
                [(digit, only)] => {
                    hang(only, &at.below(*digit), depth.wrapping_mul(2).wrapping_add(1), load)?;
                    tops.push((class, only.reference, false));
                }
                many => {
                    for (digit, child) in &mut *many {
                        hang(child, &at.below(*digit), depth.wrapping_add(1).wrapping_mul(2), load)?;
                    }
                    let known = old.and_then(|old| old.part_over(class, many));
                    tops.push((class, known.unwrap_or_else(|| branch_over(many)), true));
                }
            }
        }
        let mut parts = [None, None];
        let node = match *tops {
            [(_, only, _)] => only,
            _ => {
                let mut nodes: Children = [None; 16];
                for (class, top, many) in tops {
                    if let Some(node) = nodes.get_mut(if class == 0 { 3 } else { 6 }) {
                        *node = Some(top);
                    }
                    if let Some(part) = parts.get_mut(class).filter(|_| many && both) {
                        *part = Some(Box::new(top));
                    }
                }
                with_buffer(|rlp| {
                    write_branch(&nodes, None, rlp);
                    NodeRef::of(rlp)
                })
            }
        };
        let mask = children.iter().fold(0, |mask, (digit, _)| mask | bit(*digit));
        let children = children.into_iter().map(|(_, child)| child).collect();
        Ok(Some(Arc::new(Self::unplaced(weight, at.born, Body::Branch(Branch { mask, children, parts, node })))))
    }

    /// Returns a branch with stubs in place of its children, whose records are in the slots given.
    pub(crate) fn with_stubs(&self, slots: impl Iterator<Item = Slot>) -> Link {
        let body = match &self.body {
            Body::Branch(branch) => Body::Branch(Branch {
                children: branch.children.iter().zip(slots).map(|(child, slot)| child.to_stub(slot)).collect(),
                ..branch.clone()
            }),
            other @ (Body::Leaf(_) | Body::Stored(_)) => other.clone(),
        };
        let Self { reference, at, weight, .. } = *self;
        Arc::new(Self { reference, at, stamp: AtomicU8::new(0), weight, born: 0, body })
    }

    /// Returns the same tree over a leaf that differs in nothing that is hashed.
    pub(crate) fn with_leaf(&self, leaf: Leaf) -> Link {
        let stamp = AtomicU8::new(self.stamp.load(Ordering::Acquire));
        let Self { reference, at, weight, born, .. } = *self;
        Arc::new(Self { reference, at, stamp, weight, born, body: Body::Leaf(leaf) })
    }

    /// Returns a leaf for another prefix: a tree of its own, since whatever record it had is not that of this prefix.
    pub(crate) fn moved(&self, born: Version) -> Option<Link> {
        match &self.body {
            Body::Leaf(leaf) => Some(Self::leaf(leaf.clone(), born)),
            Body::Branch(_) | Body::Stored(_) => None,
        }
    }

    /// Whether two trees are the same to their parent.
    fn hangs_as(&self, other: &Self) -> bool {
        self.at == other.at && self.reference == other.reference
    }

    /// The branch node at the first fork of a tree that has one.
    fn fork(&self) -> &NodeRef {
        match &self.body {
            Body::Branch(branch) => &branch.node,
            Body::Stored(stored) => &stored.node,
            Body::Leaf(_) => &self.reference,
        }
    }

    fn write_lead(&self, lead: &mut Vec<u8>) {
        match &self.body {
            Body::Branch(branch) => branch.write_lead(lead),
            Body::Stored(stored) => lead.extend_from_slice(&stored.lead),
            Body::Leaf(_) => {}
        }
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.body {
            Body::Leaf(leaf) => write!(f, "leaf {:?}", leaf.key),
            Body::Branch(branch) => f.debug_list().entries(branch.children()).finish(),
            Body::Stored(stored) => write!(f, "record in slot {:?}", stored.slot),
        }
    }
}

/// Where a branch is put together.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Any key below the place, or a key filled up with zeros.
    pub key: &'a Key,
    /// Digits of the key that lead to the place.
    pub key_depth: usize,
    /// The version that is being made.
    pub born: Version,
}

impl Place<'_> {
    fn below(&self, digit: u8) -> Below<'_> {
        Below { place: self, digit }
    }
}

/// A child of a place.
struct Below<'a> {
    place: &'a Place<'a>,
    digit: u8,
}

/// Replaces a stub by its tree.
fn resolve<L: Load>(tree: &Link, below: &Below<'_>, load: &L) -> Result<Link, L::Error> {
    match &tree.body {
        Body::Stored(_) => {
            let Place { key, key_depth, .. } = below.place;
            load.load(tree, &key.with_digit(*key_depth, below.digit), key_depth.saturating_add(1))
        }
        Body::Leaf(_) | Body::Branch(_) => Ok(Arc::clone(tree)),
    }
}

/// Makes a child's reference that of a path that begins `at` a nibble, which is the one after the child's digit or the
/// second nibble of that digit.
fn hang<L: Load>(tree: &mut Link, below: &Below<'_>, at: usize, load: &L) -> Result<(), L::Error> {
    if tree.at() == at {
        return Ok(());
    }
    if let Body::Stored(Stored { leaf: true, .. }) = &tree.body {
        *tree = resolve(tree, below, load)?;
    }
    let [_, second] = digit_path(below.digit);
    let step: &[u8] = if at & 1 == 1 { &[second] } else { &[] };
    hang_at(tree, at, step);
    Ok(())
}

/// As [`hang`], for a tree that is in memory, or the stub of a branch, when `step` leads from the nibble to its prefix.
fn hang_at(tree: &mut Link, at: usize, step: &[u8]) {
    let reference = match &tree.body {
        Body::Leaf(leaf) => leaf.reference(at),
        Body::Branch(_) | Body::Stored(_) => with_buffer(|rlp| {
            let mut path = step.to_vec();
            tree.write_lead(&mut path);
            if path.is_empty() {
                return *tree.fork();
            }
            write_extension(&path, tree.fork(), rlp);
            NodeRef::of(rlp)
        }),
    };
    let at = u8::try_from(at).unwrap_or(UNPLACED);
    if let Some(tree) = Arc::get_mut(tree) {
        (tree.reference, tree.at) = (reference, at);
    } else {
        let stamp = AtomicU8::new(tree.stamp.load(Ordering::Acquire));
        let (weight, born, body) = (tree.weight, tree.born, tree.body.clone());
        *tree = Arc::new(Tree { reference, at, stamp, weight, born, body });
    }
}

impl Tree {
    /// Makes a tree the root of its trie. The stub of a leaf is loaded by the caller.
    pub(crate) fn hang_as_root(tree: &mut Link) {
        if tree.at != 0 {
            hang_at(tree, 0, &[]);
        }
    }

    /// Gives a tree that was loaded the position of the stub that it is loaded for, below the digit given.
    pub(crate) fn hang_as(tree: &mut Link, stub: &Self, digit: u8) {
        if tree.at != stub.at {
            let [_, second] = digit_path(digit);
            let step: &[u8] = if stub.at & 1 == 1 { &[second] } else { &[] };
            hang_at(tree, stub.at(), step);
        }
    }
}

/// Returns the branch node over children that differ in the second nibble of their digits.
fn branch_over(children: &[(u8, Link)]) -> NodeRef {
    let nodes = nodes_of(children.iter().map(|(digit, child)| (*digit, &**child)));
    with_buffer(|rlp| {
        write_branch(&nodes, None, rlp);
        NodeRef::of(rlp)
    })
}

fn nodes_of<'a>(children: impl Iterator<Item = (u8, &'a Tree)>) -> Children {
    let mut nodes = [None; 16];
    for (digit, child) in children {
        let [_, second] = digit_path(digit);
        if let Some(node) = nodes.get_mut(usize::from(second)) {
            *node = Some(child.reference);
        }
    }
    nodes
}

fn bit(digit: u8) -> u16 {
    1 << (digit & 0xf)
}

/// The decimal digits and the letters.
const CLASSES: [u16; 2] = [0x03ff, 0xfc00];

fn class_of(digit: u8) -> usize {
    usize::from(digit > 9)
}

impl Branch {
    /// The children and their digits, ascending.
    pub(crate) fn children(&self) -> impl Iterator<Item = (u8, &Link)> {
        let mask = self.mask;
        (0..16).filter(move |digit| mask & bit(*digit) != 0).zip(&*self.children)
    }

    /// The child below a digit.
    pub(crate) fn child(&self, digit: u8) -> Option<&Link> {
        let bit = bit(digit);
        let rank = (self.mask & bit.wrapping_sub(1)).count_ones();
        if self.mask & bit == 0 { None } else { self.children.get(usize::try_from(rank).ok()?) }
    }

    /// The nibbles from the prefix to the first fork.
    pub(crate) fn lead(&self) -> Vec<u8> {
        let mut lead = Vec::new();
        self.write_lead(&mut lead);
        lead
    }

    fn write_lead(&self, lead: &mut Vec<u8>) {
        match *self.children {
            [ref only] => {
                let digit = u8::try_from(self.mask.trailing_zeros()).unwrap_or(0);
                lead.extend_from_slice(&digit_path(digit));
                only.write_lead(lead);
            }
            _ if self.mask & CLASSES[1] == 0 => lead.push(3),
            _ if self.mask & CLASSES[0] == 0 => lead.push(6),
            _ => {}
        }
    }

    /// Returns the branch node over the children of a class, if they are the same as before.
    fn part_over(&self, class: usize, children: &[(u8, Link)]) -> Option<NodeRef> {
        let mask = self.mask & CLASSES.get(class)?;
        let same = children.iter().fold(0, |mask, (digit, _)| mask | bit(*digit)) == mask
            && children.iter().all(|(digit, new)| self.child(*digit).is_some_and(|old| old.hangs_as(new)));
        match self.parts.get(class)? {
            _ if !same => None,
            Some(part) => Some(**part),
            None => (mask == self.mask).then_some(self.node),
        }
    }

    /// The only child, where the digits do not fork.
    pub(crate) fn only_child(&self) -> Option<(u8, &Link)> {
        if self.children.len() == 1 { self.children().next() } else { None }
    }

    /// Whether there are decimal digits and letters.
    pub(crate) fn has_both_classes(&self) -> bool {
        CLASSES.iter().all(|class| self.mask & class != 0)
    }

    /// Returns the only child in the class of a digit, when both classes occur: it has no branch node over it.
    pub(crate) fn alone_in_class(&self, digit: u8) -> Option<(u8, &Link)> {
        let members = self.mask & CLASSES.get(class_of(digit))?;
        if !self.has_both_classes() || members.count_ones() != 1 {
            return None;
        }
        let digit = u8::try_from(members.trailing_zeros()).ok()?;
        self.child(digit).map(|child| (digit, child))
    }

    /// Replaces the content of `out` with the RLP of the branch node over both classes.
    pub(crate) fn write_classes(&self, out: &mut Vec<u8>) {
        let mut nodes: Children = [None; 16];
        for (class, (first, nibble)) in [(0, 3), (10, 6)].into_iter().enumerate() {
            let part = self.parts.get(class).and_then(|part| part.as_deref());
            let only = || self.alone_in_class(first).map(|(_, child)| &child.reference);
            if let Some(node) = nodes.get_mut(nibble) {
                *node = part.or_else(only).copied();
            }
        }
        write_branch(&nodes, None, out);
    }

    /// Replaces the content of `out` with the RLP of the branch node over the children in the class of a digit.
    pub(crate) fn write_class(&self, digit: u8, out: &mut Vec<u8>) {
        let class = class_of(digit);
        let members = self.children().filter(|(digit, _)| class_of(*digit) == class);
        write_branch(&nodes_of(members.map(|(digit, child)| (digit, &**child))), None, out);
    }

    /// The branch node at the first fork below the prefix.
    pub(crate) fn node(&self) -> &NodeRef {
        &self.node
    }
}

impl Leaf {
    /// Bytes that the leaf takes in a bucket, with the whole of its key.
    fn weight(&self) -> u32 {
        let plain = match self.tail.as_deref() {
            Some(Tail::Plain(text)) => text.len(),
            Some(Tail::Storage(_)) | None => 0,
        };
        let bytes = self.key.as_slice().len().saturating_add(self.value.len()).saturating_add(plain).saturating_add(4);
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Returns the reference to the leaf node whose path begins at a nibble.
    fn reference(&self, at: usize) -> NodeRef {
        with_buffer(|rlp| {
            self.write_node(at, rlp);
            NodeRef::of(rlp)
        })
    }

    /// Replaces the content of `out` with the RLP of the leaf node whose path begins at a nibble.
    ///
    /// From an even nibble on, the path in hex-prefix encoding is the text of the remaining digits.
    pub(crate) fn write_node(&self, at: usize, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let character = |digit: u8| DIGITS.get(usize::from(digit)).copied().unwrap_or(b'0');
        let first = at.div_ceil(2);
        let path = self.key.digits().saturating_sub(first).saturating_add(1);
        let path_item = if path == 1 { 1 } else { path.saturating_add(rlp::header_len(path)) };
        out.clear();
        rlp::write_list_header(path_item.saturating_add(rlp::string_len(&self.value)), out);
        if path > 1 {
            rlp::write_string_header(path, out);
        }
        out.push(match at & 1 {
            0 => 0x20,
            _ => 0x30 | character(self.key.digit(at >> 1)) & 0xf,
        });
        out.extend((first..self.key.digits()).map(|depth| character(self.key.digit(depth))));
        rlp::write_string(&self.value, out);
    }
}

impl Leaf {
    /// Returns the leaf with its storage trie released from memory, if that is there and on disk.
    pub(crate) fn released(&self, durable: Version) -> Option<Self> {
        match self.tail.as_deref() {
            Some(Tail::Storage(top)) => {
                let tail = Some(Box::new(Tail::Storage(top.released(durable)?)));
                Some(Self { key: self.key, value: self.value.clone(), tail })
            }
            Some(Tail::Plain(_)) | None => None,
        }
    }
}

impl Top {
    /// Returns the trie without its trees in memory, if there are such and all of them are on disk.
    pub(crate) fn released(&self, durable: Version) -> Option<Self> {
        match self {
            Self::Tree(tree) if tree.born <= durable && tree.stamp().is_some() => Some(Self::Root(tree.root())),
            Self::Tree(_) | Self::Empty | Self::Root(_) => None,
        }
    }

    /// Returns the hash of the root.
    pub(crate) fn root(&self) -> [u8; 32] {
        match self {
            Self::Empty => EMPTY_ROOT,
            Self::Root(root) => *root,
            Self::Tree(tree) => tree.root(),
        }
    }
}

/// A value: short ones, which is almost all, without an allocation of their own.
#[derive(Clone)]
pub(crate) enum Bytes {
    Short(u8, [u8; SHORT]),
    Long(Box<[u8]>),
}

const SHORT: usize = 30;

impl Bytes {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut short = [0; SHORT];
        match (short.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(start), Ok(len)) => {
                start.copy_from_slice(bytes);
                Self::Short(len, short)
            }
            _ => Self::Long(bytes.into()),
        }
    }

    /// Bytes of an allocation of its own.
    pub(crate) fn allocated(&self) -> usize {
        match self {
            Self::Short(..) => 0,
            Self::Long(bytes) => bytes.len(),
        }
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Short(len, bytes) => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            Self::Long(bytes) => bytes,
        }
    }
}

/// Runs a function with a buffer for RLP that the thread reuses.
pub(crate) fn with_buffer<T>(run: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    thread_local! {
        static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    BUFFER.with(|buffer| match buffer.try_borrow_mut() {
        Ok(mut buffer) => run(&mut buffer),
        Err(_) => run(&mut Vec::new()),
    })
}
