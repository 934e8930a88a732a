//! The bytes of pages: leaf pages, and node pages over other pages (docs/storage.md).

use silica_proof::trie::{InlineNode, NodeRef};

use super::{
    children::Child,
    fork::{bit, digits, hanging_at},
    key::{MAX_DIGITS, Owner},
    leaf_page::{LEAF_PAGE, LeafPage},
    space::PagePlace,
    tree::{Link, Tree},
};
use crate::codec::{Malformed, Reader, Writer};

/// First byte of a leaf page.
pub(super) const LEAF_PAGE_KIND: u8 = 1;
/// First byte of a node page.
pub(super) const NODE_KIND: u8 = 2;

/// A decoded page.
pub(crate) enum Page {
    LeafPage(LeafPage),
    Node(Vec<Entry>),
}

/// The data of one child in a node page.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub digit: u8,
    pub place: PagePlace,
    pub weight: u64,
    pub summary: Summary,
}

/// The data of a child from which the Merkle-Patricia nodes above it are computed.
#[derive(Clone, Debug)]
pub(crate) enum Summary {
    /// The reference to the leaf node of the only leaf below the child.
    Leaf(NodeRef),
    /// The nibbles from the prefix to the first fork below the child, and the branch node at the fork.
    Fork { lead: Box<[u8]>, node: NodeRef },
}

impl Entry {
    /// Returns whether the page of the child is a node page.
    pub(crate) const fn is_node(&self) -> bool {
        matches!(self.summary, Summary::Fork { .. }) && self.weight > LEAF_PAGE
    }
}

/// Returns the bytes of a leaf page.
pub(crate) fn write_leaf_page(leaf_page: &LeafPage, owner: &Owner) -> Writer {
    let mut out = Writer::with_capacity(leaf_page.packed_len());
    out.byte(LEAF_PAGE_KIND);
    leaf_page.write(owner, &mut out);
    out
}

/// Flag of an entry: the page has a single leaf.
const LEAF: u8 = 2;
/// Flag of an entry: the reference is an embedded node.
const INLINE: u8 = 4;
/// Flag of an entry that has a lead.
const LEAD: u8 = 8;

/// Returns the bytes of a node page.
pub(crate) fn write_node(entries: &[Entry]) -> Writer {
    let mut out = Writer::new();
    out.byte(NODE_KIND);
    let mask = entries.iter().fold(0, |mask, entry| mask | bit(entry.digit));
    out.raw(&mask.to_be_bytes());
    for Entry { place, weight, summary, .. } in entries {
        let (leaf, lead, node) = match summary {
            Summary::Leaf(node) => (LEAF, &[][..], node),
            Summary::Fork { lead, node } => (0, &lead[..], node),
        };
        let flags = leaf | if lead.is_empty() { 0 } else { LEAD };
        match node {
            NodeRef::Hash(hash) => {
                out.byte(flags);
                out.raw(hash);
            }
            NodeRef::Inline(inline) => {
                out.byte(flags | INLINE);
                out.bytes(inline.as_slice());
            }
        }
        if !lead.is_empty() {
            out.bytes(lead);
        }
        place.write(&mut out);
        out.number(*weight);
    }
    out
}

/// Decodes the page of a prefix.
pub(crate) fn read(bytes: &[u8], owner: &Owner, prefix: &[u8]) -> Result<Page, Malformed> {
    let mut reader = Reader::new(bytes);
    let page = match reader.byte("kind")? {
        LEAF_PAGE_KIND => Page::LeafPage(LeafPage::read(&mut reader, owner, prefix)?),
        NODE_KIND => Page::Node(read_entries(&mut reader)?),
        _ => return Err(Malformed("unknown kind of page")),
    };
    reader.finish("bytes after the end of the page")?;
    Ok(page)
}

fn read_entries(reader: &mut Reader<'_>) -> Result<Vec<Entry>, Malformed> {
    let entries = read_entries_with(reader, |flags, reader| {
        if flags & LAYOUT_3_SLOT != 0 { Err(Malformed("malformed entry")) } else { PagePlace::read(reader) }
    })?;
    Ok(entries.into_iter().map(|(entry, place)| Entry { place, ..entry }).collect())
}

/// Flag of an entry in layout 3: the page is in the second slot.
pub(super) const LAYOUT_3_SLOT: u8 = 1;

/// Reads the entries of a node page after its first byte. `locate` gets the flags of an entry, and reads the place of
/// its page.
pub(super) fn read_entries_with<'a, T>(
    reader: &mut Reader<'a>,
    locate: impl Fn(u8, &mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Vec<(Entry, T)>, Malformed> {
    let mask = u16::from_be_bytes(reader.array("mask")?);
    let entries = digits(mask).map(|digit| {
        let flags = reader.byte("flags")?;
        let node = if flags & INLINE == 0 {
            NodeRef::Hash(reader.array("hash")?)
        } else {
            NodeRef::Inline(InlineNode::new(reader.bytes("node")?).ok_or(Malformed("embedded node is too long"))?)
        };
        let lead = if flags & LEAD == 0 { &[] } else { reader.bytes("lead")? };
        if flags >= LEAD << 1 || lead.len() > 2 * MAX_DIGITS || lead.iter().any(|nibble| *nibble > 15) {
            return Err(Malformed("malformed entry"));
        }
        let place = locate(flags, reader)?;
        let weight = reader.number("weight")?;
        let summary = if flags & LEAF == 0 { Summary::Fork { lead: lead.into(), node } } else { Summary::Leaf(node) };
        Ok((Entry { digit, place: PagePlace::NONE, weight, summary }, place))
    });
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    if entries.is_empty() { Err(Malformed("node page without children")) } else { Ok(entries) }
}

impl Page {
    /// Returns the tree of the page. The tree is not attached to a parent.
    pub(crate) fn into_tree(self, prefix: &[u8]) -> Link {
        match self {
            Self::LeafPage(leaf_page) => {
                let weight = leaf_page.leaves().map(|leaf| leaf.weight()).fold(0, u64::saturating_add);
                Tree::leaf_page(leaf_page, weight, 0)
            }
            Self::Node(entries) => node_tree(entries, prefix),
        }
    }
}

fn node_tree(entries: Vec<Entry>, prefix: &[u8]) -> Link {
    let mask = entries.iter().fold(0, |mask, entry| mask | bit(entry.digit));
    let children = entries.into_iter().map(|Entry { digit, place, weight, summary }| {
        Child::stored(digit, hanging_at(mask, digit, prefix.len()), place, weight, summary)
    });
    Tree::branch_of(children.collect(), 0)
}
