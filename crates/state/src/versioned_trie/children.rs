//! The children of a branch. A child is a tree in memory, or a stub: the data of a page that is not in memory.
//!
//! Most children are stubs. Therefore a stub has no allocation of its own. Its reference is in the list of references,
//! which the computation of hashes reads.

use std::sync::Arc;

use silica_proof::trie::NodeRef;

use super::{
    fork::{Fork, bit, rank, step_to, top_of},
    page::Summary,
    space::PagePlace,
    tree::{Body, Link, Stored, Tree},
};
use crate::version::Version;

/// A child with its digit, and the reference to its topmost node.
pub(super) struct Child {
    pub digit: u8,
    pub reference: NodeRef,
    pub kind: Kind,
}

#[derive(Clone)]
pub(super) enum Kind {
    Tree(Link),
    Stub(Stub),
}

/// A page on disk.
#[derive(Clone)]
pub(super) struct Stub {
    place: PagePlace,
    weight: u64,
    /// Position of the nibble where the path of the reference begins.
    at: u8,
    form: Form,
}

/// The place of the first fork below a stub.
#[derive(Clone)]
enum Form {
    /// A single leaf has no fork.
    Leaf,
    /// The node of the reference.
    Reference,
    /// The nibbles from the prefix to the fork, and the branch node at the fork.
    Below(Box<(Box<[u8]>, NodeRef)>),
}

impl Stub {
    /// Makes the stub of a tree whose page is at `place`.
    pub(super) fn of(tree: &Tree, place: PagePlace) -> Self {
        let form = match tree.fork() {
            None => Form::Leaf,
            Some((lead, node)) => Form::of(lead, node, tree.reference()),
        };
        Self { place, weight: tree.weight(), at: u8::try_from(tree.at()).unwrap_or(u8::MAX), form }
    }

    fn fork<'a>(&'a self, reference: &'a NodeRef) -> Option<(&'a [u8], &'a NodeRef)> {
        match &self.form {
            Form::Leaf => None,
            Form::Reference => Some((&[], reference)),
            Form::Below(below) => Some((&below.0, &below.1)),
        }
    }

    /// Returns the stub as a tree.
    fn to_tree(&self, reference: &NodeRef) -> Link {
        let fork = self.fork(reference).map(|(lead, node)| (lead.into(), *node));
        Tree::stub(*reference, self.at, self.weight, Stored { place: self.place, fork })
    }
}

impl Form {
    fn of(lead: &[u8], node: &NodeRef, reference: &NodeRef) -> Self {
        if lead.is_empty() && node == reference { Self::Reference } else { Self::Below(Box::new((lead.into(), *node))) }
    }
}

impl Child {
    /// Makes a child of an attached tree. A stub takes no allocation.
    pub(super) fn of(digit: u8, tree: Link) -> Self {
        let reference = *tree.reference();
        let kind = match tree.body() {
            Body::Stored(stored) => Kind::Stub(Stub::of(&tree, stored.place)),
            Body::LeafPage(_) | Body::Branch(_) => Kind::Tree(tree),
        };
        Self { digit, reference, kind }
    }

    /// Makes the stub of a page that is attached at nibble `at`.
    pub(super) fn stored(digit: u8, at: usize, place: PagePlace, weight: u64, summary: Summary) -> Self {
        let (reference, form) = match summary {
            Summary::Leaf(reference) => (reference, Form::Leaf),
            Summary::Fork { lead, node } => {
                let reference = top_of(step_to(digit, at).as_ref(), &lead, &node);
                (reference, Form::of(&lead, &node, &reference))
            }
        };
        let stub = Stub { place, weight, at: u8::try_from(at).unwrap_or(u8::MAX), form };
        Self { digit, reference, kind: Kind::Stub(stub) }
    }

    pub(super) fn at(&self) -> usize {
        match &self.kind {
            Kind::Tree(tree) => tree.at(),
            Kind::Stub(stub) => usize::from(stub.at),
        }
    }

    pub(super) fn weight(&self) -> u64 {
        match &self.kind {
            Kind::Tree(tree) => tree.weight(),
            Kind::Stub(stub) => stub.weight,
        }
    }

    pub(super) fn is_leaf(&self) -> bool {
        match &self.kind {
            Kind::Tree(tree) => tree.is_leaf(),
            Kind::Stub(stub) => matches!(stub.form, Form::Leaf),
        }
    }

    /// Returns the child as a tree.
    pub(super) fn to_tree(&self) -> Link {
        match &self.kind {
            Kind::Tree(tree) => Arc::clone(tree),
            Kind::Stub(stub) => stub.to_tree(&self.reference),
        }
    }

    /// Attaches a stub at another nibble. Returns `false` for a tree, and for a stub of one leaf, whose leaf is not in
    /// memory.
    pub(super) fn hang_stub(&mut self, at: usize) -> bool {
        let Kind::Stub(stub) = &mut self.kind else { return false };
        let Some((lead, node)) = stub.fork(&self.reference).map(|(lead, node)| (Box::from(lead), *node)) else {
            return false;
        };
        self.reference = top_of(step_to(self.digit, at).as_ref(), &lead, &node);
        stub.form = Form::of(&lead, &node, &self.reference);
        stub.at = u8::try_from(at).unwrap_or(u8::MAX);
        true
    }
}

/// Children with their references, in the order of their digits.
pub(super) struct Base {
    pub mask: u16,
    kinds: Box<[Kind]>,
    references: Box<[NodeRef]>,
    /// The newest version of the children in memory, or 0 if all are stubs.
    pub newest: Version,
}

impl Base {
    pub(super) fn new(children: Vec<Child>) -> Self {
        let mask = children.iter().fold(0, |mask, child| mask | bit(child.digit));
        let references = children.iter().map(|child| child.reference).collect();
        let in_memory = |child: &Child| match &child.kind {
            Kind::Stub(_) => 0,
            // Trees from disk have version 0, which here means that no child is in memory.
            Kind::Tree(tree) => tree.born().max(1),
        };
        let newest = children.iter().map(in_memory).max().unwrap_or(0);
        Self { mask, references, newest, kinds: children.into_iter().map(|child| child.kind).collect() }
    }

    pub(super) fn reference(&self, digit: u8) -> &NodeRef {
        const NO_NODE: &NodeRef = &NodeRef::Hash([0; 32]);
        self.references.get(rank(self.mask, digit)).unwrap_or(NO_NODE)
    }

    fn kind(&self, digit: u8) -> Option<&Kind> {
        if self.mask & bit(digit) == 0 { None } else { self.kinds.get(rank(self.mask, digit)) }
    }

    /// Returns the child below a digit, or `None` if there is none.
    pub(super) fn child(&self, digit: u8) -> Option<Child> {
        Some(Child { digit, reference: *self.reference(digit), kind: self.kind(digit)?.clone() })
    }

    /// Returns the child below a digit as a tree.
    pub(super) fn tree(&self, digit: u8) -> Option<Link> {
        Some(match self.kind(digit)? {
            Kind::Tree(tree) => Arc::clone(tree),
            Kind::Stub(stub) => stub.to_tree(self.reference(digit)),
        })
    }

    /// Returns the place of the page of a stub, or `None` for a tree in memory.
    pub(super) fn place(&self, digit: u8) -> Option<PagePlace> {
        match self.kind(digit)? {
            Kind::Tree(_) => None,
            Kind::Stub(stub) => Some(stub.place),
        }
    }

    pub(super) fn weight(&self, digit: u8) -> u64 {
        match self.kind(digit) {
            Some(Kind::Tree(tree)) => tree.weight(),
            Some(Kind::Stub(stub)) => stub.weight,
            None => 0,
        }
    }

    pub(super) fn fork(&self, digit: u8) -> Option<(&[u8], &NodeRef)> {
        match self.kind(digit)? {
            Kind::Tree(tree) => tree.fork(),
            Kind::Stub(stub) => stub.fork(self.reference(digit)),
        }
    }

    /// Returns the only child, or `None` if the branch has several children.
    pub(super) fn only(&self) -> Option<Child> {
        if self.mask.is_power_of_two() { self.child(u8::try_from(self.mask.trailing_zeros()).ok()?) } else { None }
    }

    /// Returns the memory of the children in bytes, without the trees of children in memory.
    pub(super) fn memory_size(&self) -> usize {
        size_of_val(&*self.kinds).saturating_add(size_of_val(&*self.references))
    }
}

impl Child {
    /// Returns a stub if a checkpoint up to version `durable` contains the child, and otherwise the child itself.
    pub(super) fn released(self, durable: Version) -> Self {
        let Kind::Tree(tree) = &self.kind else { return self };
        match tree.place() {
            Some(place) if tree.born() <= durable => Self { kind: Kind::Stub(Stub::of(tree, place)), ..self },
            _ => self,
        }
    }

    /// Returns the nibbles from the prefix to the first fork, and the branch node at the fork.
    pub(super) fn fork(&self) -> Option<(&[u8], &NodeRef)> {
        match &self.kind {
            Kind::Tree(tree) => tree.fork(),
            Kind::Stub(stub) => stub.fork(&self.reference),
        }
    }

    /// Returns the fork of a branch whose only child is `self`.
    pub(super) fn chained(&self) -> Fork {
        let (lead, node) = self.fork().unwrap_or((&[], &self.reference));
        Fork::chain(self.digit, lead, *node)
    }

    /// Returns the stub of a child whose page is at `place`.
    pub(super) fn stub_at(self, place: PagePlace) -> Self {
        let stub = match &self.kind {
            Kind::Tree(tree) => Stub::of(tree, place),
            Kind::Stub(stub) => Stub { place, ..stub.clone() },
        };
        Self { kind: Kind::Stub(stub), ..self }
    }
}
