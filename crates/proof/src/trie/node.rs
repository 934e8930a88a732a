//! The three kinds of trie nodes, their RLP, and the references to them (Reference: formats#trie).

use alloc::vec::Vec;
use core::fmt;

use super::{
    keccak::keccak256,
    nibbles::{hex_prefix_len, read_hex_prefix, write_hex_prefix},
    rlp,
};

/// Root of a trie without leaves: Keccak-256 of the empty RLP string.
pub const EMPTY_ROOT: [u8; 32] = [
    0x56, 0xe8, 0x1f, 0x17, 0x1b, 0xcc, 0x55, 0xa6, 0xff, 0x83, 0x45, 0xe6, 0x92, 0xc0, 0xf8, 0x6e, 0x5b, 0x48, 0xe0,
    0x1b, 0x99, 0x6c, 0xad, 0xc0, 0x01, 0x62, 0x2f, 0xb5, 0xe3, 0x63, 0xb4, 0x21,
];

/// The reference to a node in its parent. It is the hash of the node's RLP, or the RLP itself if it is shorter than a
/// hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeRef {
    /// Keccak-256 of a node of at least 32 bytes.
    Hash([u8; 32]),
    /// A node of fewer than 32 bytes.
    Inline(InlineNode),
}

/// RLP of a node of fewer than 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InlineNode {
    len: u8,
    bytes: [u8; 31],
}

impl InlineNode {
    /// Copies the RLP of a node. Returns `None` if it has 32 bytes or more.
    pub fn new(rlp: &[u8]) -> Option<Self> {
        let mut bytes = [0; 31];
        bytes.get_mut(..rlp.len())?.copy_from_slice(rlp);
        Some(Self { len: u8::try_from(rlp.len()).ok()?, bytes })
    }

    /// Returns the RLP.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&self.bytes)
    }
}

impl NodeRef {
    /// Returns the reference to the node with this RLP.
    pub fn of(rlp: &[u8]) -> Self {
        InlineNode::new(rlp).map_or_else(|| Self::Hash(keccak256(&[rlp])), Self::Inline)
    }

    /// Returns the reference to the leaf node that holds `value` at the end of `path`.
    pub fn of_leaf(path: &[u8], value: &[u8]) -> Self {
        let mut rlp = Vec::new();
        write_leaf(path, value, &mut rlp);
        Self::of(&rlp)
    }

    /// Returns the reference to the extension node with `path` and `child`.
    pub fn of_extension(path: &[u8], child: &Self) -> Self {
        let mut rlp = Vec::new();
        write_extension(path, child, &mut rlp);
        Self::of(&rlp)
    }

    /// Returns the hash of the node, even of a node of fewer than 32 bytes, because the reference to a root is always a
    /// hash.
    pub fn to_hash(self) -> [u8; 32] {
        match self {
            Self::Hash(hash) => hash,
            Self::Inline(node) => keccak256(&[node.as_slice()]),
        }
    }

    fn encoded_len(&self) -> usize {
        match self {
            Self::Hash(_) => 33,
            Self::Inline(node) => node.as_slice().len(),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hash(hash) => rlp::write_string(hash, out),
            Self::Inline(node) => out.extend_from_slice(node.as_slice()),
        }
    }
}

impl fmt::Debug for NodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, bytes) = match self {
            Self::Hash(hash) => ("Hash(", &hash[..]),
            Self::Inline(node) => ("Inline(", node.as_slice()),
        };
        f.write_str(name)?;
        bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

impl fmt::Debug for InlineNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NodeRef::Inline(*self).fmt(f)
    }
}

/// The sixteen children of a branch node, in the order of their nibbles.
pub type Children = [Option<NodeRef>; 16];

/// Replaces the content of `out` with the RLP of a leaf node.
pub fn write_leaf(path: &[u8], value: &[u8], out: &mut Vec<u8>) {
    write_pair_head(path, true, rlp::string_len(value), out);
    rlp::write_string(value, out);
}

/// Replaces the content of `out` with the RLP of an extension node.
pub fn write_extension(path: &[u8], child: &NodeRef, out: &mut Vec<u8>) {
    write_pair_head(path, false, child.encoded_len(), out);
    child.write(out);
}

/// Replaces the content of `out` with the RLP of a branch node.
pub fn write_branch(children: &Children, value: Option<&[u8]>, out: &mut Vec<u8>) {
    let value = value.unwrap_or_default();
    let lens = children.iter().map(|child| child.as_ref().map_or(1, NodeRef::encoded_len));
    let payload = lens.fold(rlp::string_len(value), usize::saturating_add);
    out.clear();
    out.reserve(payload.saturating_add(9));
    rlp::write_list_header(payload, out);
    for child in children {
        match child {
            Some(child) => child.write(out),
            None => rlp::write_string(&[], out),
        }
    }
    rlp::write_string(value, out);
}

/// Writes the beginning of a node with two items, up to the second item, which takes `second` bytes.
fn write_pair_head(path: &[u8], leaf: bool, second: usize, out: &mut Vec<u8>) {
    let prefix = hex_prefix_len(path.len());
    // The encoding of a path of at most one nibble is one byte below 0x80, which is its own RLP.
    let first = if prefix == 1 { 1 } else { rlp::header_len(prefix).saturating_add(prefix) };
    let payload = first.saturating_add(second);
    out.clear();
    out.reserve(payload.saturating_add(9));
    rlp::write_list_header(payload, out);
    if prefix > 1 {
        rlp::write_string_header(prefix, out);
    }
    write_hex_prefix(path, leaf, out);
}

/// A decoded node that borrows from its RLP.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node<'a> {
    /// A leaf node: the end of a path.
    Leaf { path: Path<'a>, value: &'a [u8] },
    /// An extension node: a path without a fork.
    Extension { path: Path<'a>, child: Child<'a> },
    /// A branch node: a fork.
    Branch(Branch<'a>),
}

/// The verified hex-prefix encoding of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a>(&'a [u8]);

/// The encoded seventeen items of a branch node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch<'a>(&'a [u8]);

/// The reference to a child in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Child<'a> {
    /// Hash of a separate node.
    Hash([u8; 32]),
    /// RLP of an embedded node.
    Inline(&'a [u8]),
}

/// Reason why bytes are not a trie node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The bytes are not one canonical RLP list.
    #[error("expected one canonical RLP list, got other bytes")]
    Rlp,
    /// The list has neither 2 nor 17 items.
    #[error("expected a node of 2 or 17 items, got another number of items")]
    Items,
    /// The first of two items is not a hex-prefix encoding, or is the empty path of an extension.
    #[error("path: expected a hex-prefix encoding, with at least one nibble in an extension, got other bytes")]
    Path,
    /// A reference is neither a hash nor a node of fewer than 32 bytes.
    #[error("child: expected a hash, or a node of fewer than 32 bytes, got another item")]
    Child,
    /// The value is not a string, or is the empty string of a leaf.
    #[error("value: expected a string of at least one byte, got a list or no bytes")]
    Value,
}

impl<'a> Node<'a> {
    /// Decodes the RLP of one node. The time is linear in its length. Does not decode embedded nodes.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, NodeError> {
        let Some((rlp::Item::List(items), _, [])) = rlp::read(bytes) else {
            return Err(NodeError::Rlp);
        };
        let mut rest = items;
        let mut count = 0_usize;
        while !rest.is_empty() {
            (_, _, rest) = rlp::read(rest).ok_or(NodeError::Rlp)?;
            count = count.saturating_add(1);
            if count > 17 {
                return Err(NodeError::Items);
            }
        }
        match count {
            2 => Self::decode_pair(items),
            17 => Branch::decode(items).map(Self::Branch),
            _ => Err(NodeError::Items),
        }
    }

    fn decode_pair(items: &'a [u8]) -> Result<Self, NodeError> {
        let Some((rlp::Item::String(path), _, rest)) = rlp::read(items) else {
            return Err(NodeError::Path);
        };
        let leaf = read_hex_prefix(path).ok_or(NodeError::Path)?.0;
        let path = Path(path);
        if leaf {
            match rlp::read(rest) {
                Some((rlp::Item::String(value @ [_, ..]), _, _)) => Ok(Self::Leaf { path, value }),
                _ => Err(NodeError::Value),
            }
        } else if path.nibbles().next().is_none() {
            Err(NodeError::Path)
        } else {
            let (child, _) = Child::read(rest)?;
            Ok(Self::Extension { path, child: child.ok_or(NodeError::Child)? })
        }
    }
}

impl<'a> Path<'a> {
    pub(crate) fn nibbles(self) -> impl Iterator<Item = u8> + 'a {
        read_hex_prefix(self.0).into_iter().flat_map(|(_, nibbles)| nibbles)
    }
}

impl<'a> Branch<'a> {
    fn decode(items: &'a [u8]) -> Result<Self, NodeError> {
        let mut rest = items;
        for _ in 0..16 {
            (_, rest) = Child::read(rest)?;
        }
        match rlp::read(rest) {
            Some((rlp::Item::String(_), _, [])) => Ok(Self(items)),
            _ => Err(NodeError::Value),
        }
    }

    /// Returns the child under a nibble, or `None` if the branch has none.
    pub(crate) fn child(self, nibble: u8) -> Option<Child<'a>> {
        let mut rest = self.0;
        for _ in 0..nibble {
            (_, rest) = Child::read(rest).ok()?;
        }
        Child::read(rest).ok()?.0
    }

    /// Returns the value of the key that ends at the branch, or `None` if no key ends there.
    pub(crate) fn value(self) -> Option<&'a [u8]> {
        let mut rest = self.0;
        for _ in 0..16 {
            (_, rest) = Child::read(rest).ok()?;
        }
        match rlp::read(rest)? {
            (rlp::Item::String(value @ [_, ..]), _, _) => Some(value),
            _ => None,
        }
    }
}

impl<'a> Child<'a> {
    /// Reads one item of a node as a reference. Returns the reference, or `None` for an empty item, and the remaining
    /// bytes.
    fn read(bytes: &'a [u8]) -> Result<(Option<Self>, &'a [u8]), NodeError> {
        let (item, encoding, after) = rlp::read(bytes).ok_or(NodeError::Rlp)?;
        let child = match item {
            rlp::Item::String([]) => None,
            rlp::Item::String(hash) => Some(Self::Hash(hash.try_into().map_err(|_| NodeError::Child)?)),
            rlp::Item::List(_) if encoding.len() < 32 => Some(Self::Inline(encoding)),
            rlp::Item::List(_) => return Err(NodeError::Child),
        };
        Ok((child, after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(children: &Children, value: Option<&[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        write_branch(children, value, &mut out);
        out
    }

    #[test]
    fn empty_root_is_the_hash_of_the_empty_string() {
        assert_eq!(keccak256(&[&[0x80]]), EMPTY_ROOT);
    }

    #[test]
    fn thirty_one_bytes_are_inline_and_thirty_two_are_not() {
        assert!(matches!(NodeRef::of(&[7; 31]), NodeRef::Inline(_)));
        assert!(matches!(NodeRef::of(&[7; 32]), NodeRef::Hash(_)));
        assert_eq!(InlineNode::new(&[7; 31]).unwrap().as_slice(), [7; 31]);
        assert_eq!(InlineNode::new(&[7; 32]), None);
        assert_eq!(NodeRef::of(&[7; 31]).to_hash(), keccak256(&[&[7; 31]]));
    }

    #[test]
    fn nodes_decode_to_what_was_encoded() {
        let mut out = Vec::new();
        for path in [&[][..], &[5], &[5, 6], &[1; 127]] {
            for value in [&[1][..], &[0x80], &[9; 300]] {
                write_leaf(path, value, &mut out);
                let Node::Leaf { path: read, value: read_value } = Node::decode(&out).unwrap() else { panic!() };
                assert_eq!((read.nibbles().collect::<Vec<_>>(), read_value), (path.to_vec(), value));
            }
        }
        let inline = NodeRef::of_leaf(&[1, 2], b"x");
        for child in [inline, NodeRef::Hash([3; 32])] {
            write_extension(&[1, 2, 3], &child, &mut out);
            let Node::Extension { path, child: read } = Node::decode(&out).unwrap() else { panic!() };
            assert_eq!(path.nibbles().collect::<Vec<_>>(), [1, 2, 3]);
            match (child, read) {
                (NodeRef::Hash(hash), Child::Hash(read)) => assert_eq!(hash, read),
                (NodeRef::Inline(node), Child::Inline(read)) => assert_eq!(node.as_slice(), read),
                other => panic!("{other:?}"),
            }
        }
        let mut children = [None; 16];
        children[3] = Some(inline);
        children[15] = Some(NodeRef::Hash([4; 32]));
        let rlp = branch(&children, Some(b"value"));
        let Node::Branch(read) = Node::decode(&rlp).unwrap() else { panic!() };
        assert_eq!(read.value(), Some(&b"value"[..]));
        assert_eq!(read.child(15), Some(Child::Hash([4; 32])));
        assert!(matches!(read.child(3), Some(Child::Inline(_))));
        assert_eq!(read.child(4), None);
    }

    #[test]
    fn malformed_nodes_are_refused() {
        let check = |bytes: &[u8], expected: NodeError| assert_eq!(Node::decode(bytes).err(), Some(expected));
        check(&[], NodeError::Rlp);
        check(&[0x80], NodeError::Rlp);
        check(&[0xc0], NodeError::Items);
        check(&[0xc3, 0x20, 0x01, 0x01], NodeError::Items);
        check(&[0xc2, 0x20, 0x01, 0x01], NodeError::Rlp);
        check(&[0xc2, 0x40, 0x01], NodeError::Path);
        check(&[0xc2, 0xc0, 0x01], NodeError::Path);
        check(&[0xc2, 0x20, 0x80], NodeError::Value);
        check(&[0xc2, 0x20, 0xc0], NodeError::Value);
        check(&[0xc2, 0x00, 0xc0], NodeError::Path);
        check(&[0xc2, 0x11, 0x80], NodeError::Child);
        check(&[0xc2, 0x11, 0x05], NodeError::Child);
        let long_child = [&[0xe2, 0x11, 0xe0][..], &[1; 32]].concat();
        check(&long_child, NodeError::Child);
        let mut list_value = branch(&[None; 16], None);
        *list_value.last_mut().unwrap() = 0xc0;
        check(&list_value, NodeError::Value);
        let many = [&[0xf9, 0x80, 0x00][..], &vec![0x80; 0x8000]].concat();
        check(&many, NodeError::Items);
    }
}
