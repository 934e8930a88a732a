//! The bytes of records: buckets of leaves and nodes over records (docs/storage.md).

use silica_protocol::{Account, VariableHash, sha256};

use super::{
    build::build,
    key::{Key, MAX_DIGITS, Owner, Slot},
    tree::{Body, Bytes, Leaf, Link, Load, Place, Tail, Top, Tree},
};
use crate::{
    codec::{Malformed, Reader, Writer},
    trie::{InlineNode, NodeRef},
};

/// Most bytes of leaves, by weight, that are kept in one record. The layout follows from it alone: a prefix whose
/// leaves weigh more, and are more than one, is a node record.
pub(crate) const BUCKET: u32 = 2048;

const BUCKET_KIND: u8 = 1;
const NODE_KIND: u8 = 2;

/// Whether the leaves of a tree are kept in one record.
pub(crate) fn is_bucket(tree: &Tree) -> bool {
    tree.weight() <= BUCKET || tree.is_leaf()
}

/// Appends the record of a bucket, given its leaves in order, below a prefix of `depth` digits.
pub(crate) fn write_bucket<'a>(leaves: impl ExactSizeIterator<Item = &'a Leaf>, depth: usize, out: &mut Writer) {
    out.byte(BUCKET_KIND);
    out.len(leaves.len());
    for leaf in leaves {
        match leaf.tail.as_deref() {
            Some(Tail::Plain(text)) => out.bytes(text.as_bytes()),
            Some(Tail::Storage(_)) | None => {
                out.raw(leaf.key.as_slice().get(depth / 2..).unwrap_or_default());
            }
        }
        out.bytes(&leaf.value);
    }
}

/// What a node record says of one part of its prefix.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub digit: u8,
    pub slot: Slot,
    pub weight: u32,
    pub summary: Summary,
}

/// What the Merkle-Patricia nodes above a record need to know about it.
#[derive(Clone, Debug)]
pub(crate) enum Summary {
    /// The reference to the leaf node of the only leaf, as it hangs where it is.
    Leaf(NodeRef),
    /// The nibbles that lead from the prefix to the first fork, and the reference to the branch node there.
    Fork { lead: Vec<u8>, node: NodeRef },
}

impl Entry {
    /// Describes a tree whose record is in `slot`.
    pub(crate) fn of(digit: u8, tree: &Tree, slot: Slot) -> Self {
        let summary = match tree.body() {
            Body::Leaf(_) => Summary::Leaf(*tree.reference()),
            Body::Stored(stored) if stored.leaf => Summary::Leaf(*tree.reference()),
            Body::Stored(stored) => Summary::Fork { lead: stored.lead.to_vec(), node: stored.node },
            Body::Branch(branch) => Summary::Fork { lead: branch.lead(), node: *branch.node() },
        };
        Self { digit, slot, weight: tree.weight(), summary }
    }
}

const SLOT_B: u8 = 1;
const LEAF: u8 = 2;
const INLINE: u8 = 4;
const LEAD: u8 = 8;

/// Appends a node record.
pub(crate) fn write_node(entries: &[Entry], out: &mut Writer) {
    out.byte(NODE_KIND);
    let mask = entries.iter().fold(0_u16, |mask, entry| mask | 1 << (entry.digit & 0xf));
    out.raw(&mask.to_be_bytes());
    for Entry { slot, weight, summary, .. } in entries {
        let (leaf, lead, node) = match summary {
            Summary::Leaf(node) => (LEAF, &[][..], node),
            Summary::Fork { lead, node } => (0, &lead[..], node),
        };
        let slot = if *slot == Slot::B { SLOT_B } else { 0 };
        let lead_flag = if lead.is_empty() { 0 } else { LEAD };
        match node {
            NodeRef::Hash(hash) => {
                out.byte(slot | leaf | lead_flag);
                out.raw(hash);
            }
            NodeRef::Inline(inline) => {
                out.byte(slot | leaf | lead_flag | INLINE);
                out.bytes(inline.as_slice());
            }
        }
        if !lead.is_empty() {
            out.bytes(lead);
        }
        out.number(*weight);
    }
}

/// A record, read.
pub(crate) enum Record {
    Bucket(Vec<Leaf>),
    Node(Vec<Entry>),
}

/// Reads the record of a prefix, or says what is wrong with it.
pub(crate) fn read(bytes: &[u8], owner: &Owner, prefix: &[u8]) -> Result<Record, Malformed> {
    let mut reader = Reader::new(bytes);
    let record = match reader.byte("kind")? {
        BUCKET_KIND => Record::Bucket(read_leaves(&mut reader, owner, prefix)?),
        NODE_KIND => Record::Node(read_entries(&mut reader)?),
        _ => return Err(Malformed("unknown kind of record")),
    };
    reader.finish("bytes after the end of the record")?;
    Ok(record)
}

fn read_leaves(reader: &mut Reader<'_>, owner: &Owner, prefix: &[u8]) -> Result<Vec<Leaf>, Malformed> {
    let contract = match owner {
        Owner::Accounts => None,
        Owner::Contract(address) => Some(address.to_string()),
    };
    let count: usize = reader.number("number of leaves")?;
    let mut leaves: Vec<Leaf> = Vec::with_capacity(count.min(64));
    for _ in 0..count {
        let leaf = match &contract {
            None => read_account(reader, prefix)?,
            Some(contract) => read_entry(reader, contract)?,
        };
        if leaves.last().is_some_and(|last| last.key >= leaf.key) || prefix_differs(&leaf.key, prefix) {
            return Err(Malformed("leaves are not in order"));
        }
        leaves.push(leaf);
    }
    if leaves.is_empty() { Err(Malformed("bucket without leaves")) } else { Ok(leaves) }
}

fn prefix_differs(key: &Key, prefix: &[u8]) -> bool {
    prefix.len() > key.digits() || prefix.iter().enumerate().any(|(depth, digit)| key.digit(depth) != *digit)
}

fn read_account(reader: &mut Reader<'_>, prefix: &[u8]) -> Result<Leaf, Malformed> {
    let len = Owner::Accounts.key_len();
    let rest = reader.raw(len.saturating_sub(prefix.len() / 2), "key")?;
    let key = Key::join(prefix, rest, len).ok_or(Malformed("key does not fit its prefix"))?;
    let value = reader.bytes("value")?;
    let account = Account::decode(value).map_err(|_| Malformed("value is not an account"))?;
    let storage = account.contract.and_then(|contract| contract.storage_root);
    let tail = storage.map(|root| Box::new(Tail::Storage(Top::Root(root.to_bytes()))));
    Ok(Leaf { key, value: Bytes::new(value), tail })
}

fn read_entry(reader: &mut Reader<'_>, contract: &str) -> Result<Leaf, Malformed> {
    let text = std::str::from_utf8(reader.bytes("plain key")?).map_err(|_| Malformed("plain key is not text"))?;
    let key = Key::variable(&VariableHash::new(sha256(&[contract.as_bytes(), text.as_bytes()])));
    let value = Bytes::new(reader.bytes("value")?);
    Ok(Leaf { key, value, tail: Some(Box::new(Tail::Plain(text.into()))) })
}

fn read_entries(reader: &mut Reader<'_>) -> Result<Vec<Entry>, Malformed> {
    let mask = u16::from_be_bytes(reader.array("mask")?);
    let digits = (0..16).filter(|digit| mask & 1_u16 << digit != 0);
    let entries = digits.map(|digit| {
        let flags = reader.byte("flags")?;
        let node = if flags & INLINE == 0 {
            NodeRef::Hash(reader.array("hash")?)
        } else {
            NodeRef::Inline(InlineNode::new(reader.bytes("node")?).ok_or(Malformed("inline node is too long"))?)
        };
        let lead = if flags & LEAD == 0 { &[] } else { reader.bytes("lead")? };
        if flags >= LEAD << 1 || lead.len() > 2 * MAX_DIGITS || lead.iter().any(|nibble| *nibble > 15) {
            return Err(Malformed("malformed entry"));
        }
        let slot = if flags & SLOT_B == 0 { Slot::A } else { Slot::B };
        let weight = reader.number("weight")?;
        let summary = if flags & LEAF == 0 { Summary::Fork { lead: lead.to_vec(), node } } else { Summary::Leaf(node) };
        Ok(Entry { digit, slot, weight, summary })
    });
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    if entries.is_empty() { Err(Malformed("node without parts")) } else { Ok(entries) }
}

impl Record {
    /// Returns the tree that the record is of. It is not hung up yet.
    pub(crate) fn into_tree(self, prefix: &[u8]) -> Option<Link> {
        match self {
            Self::Bucket(leaves) => build(leaves, prefix.len(), 0),
            Self::Node(entries) => node_tree(entries, prefix),
        }
    }
}

fn node_tree(entries: Vec<Entry>, prefix: &[u8]) -> Option<Link> {
    // A part that is alone in its class hangs below the first nibble of its digit.
    let letters = entries.partition_point(|entry| entry.digit < 10);
    let count = entries.len();
    let after = prefix.len().saturating_mul(2);
    let children = entries.into_iter().map(|entry| {
        let alone = if entry.digit < 10 { letters == 1 } else { count.saturating_sub(letters) == 1 };
        let at = after.saturating_add(if alone { 1 } else { 2 });
        let tree = match entry.summary {
            Summary::Leaf(reference) => {
                Tree::stored_leaf(entry.slot, entry.weight, u8::try_from(at).unwrap_or(u8::MAX), reference)
            }
            Summary::Fork { lead, node } => Tree::stored_branch(entry.slot, entry.weight, node, lead.into()),
        };
        (entry.digit, tree)
    });
    let key = Key::join(prefix, &[0; 32].split_at_checked(32_usize.checked_sub(prefix.len() / 2)?)?.0, 32)?;
    let place = Place { key: &key, key_depth: prefix.len(), born: 0 };
    Tree::assemble(children.collect(), &place, None, &Stubs).ok()?
}

/// The parts of a node record are assembled as they are.
struct Stubs;

/// A leaf is the only part of a node record, which is never written.
struct LonelyLeaf;

impl Load for Stubs {
    type Error = LonelyLeaf;

    fn load(&self, _: &Link, _: &Key, _: usize) -> Result<Link, LonelyLeaf> {
        Err(LonelyLeaf)
    }
}
