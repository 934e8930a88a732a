//! Leaves of a trie, and changes of leaves.

use std::{
    ops::Deref,
    sync::atomic::{AtomicBool, Ordering},
};

use silica_proof::trie::{NodeRef, rlp};
use silica_protocol::Account;

use super::{key::Key, tree::Top};

/// A leaf of a trie.
#[derive(Clone)]
pub(crate) struct Leaf {
    pub key: Key,
    pub value: Bytes,
    pub tail: Option<Box<Tail>>,
}

/// Data of a leaf in addition to its value.
#[derive(Clone, Debug)]
pub(crate) enum Tail {
    /// For an account: the storage trie of its contract. The value has the root of this trie.
    Storage(Top),
    /// For an entry of contract storage: its plain key. The SHA-256 of the address and this text is the key of the
    /// leaf.
    Plain(Box<str>),
}

/// A change of one leaf.
pub(crate) struct Change {
    pub key: Key,
    /// The new leaf, or `None` to remove the leaf.
    pub leaf: Option<Leaf>,
    /// Whether the change replaces or removes a leaf. The function that applies the change sets this flag.
    replaces: AtomicBool,
}

impl Change {
    pub(crate) const fn new(key: Key, leaf: Option<Leaf>) -> Self {
        Self { key, leaf, replaces: AtomicBool::new(false) }
    }

    /// Records that the change replaces or removes a leaf.
    pub(crate) fn found(&self) {
        self.replaces.store(true, Ordering::Relaxed);
    }

    /// Returns whether the applied change has added a leaf to the trie.
    pub(crate) fn adds(&self) -> bool {
        self.leaf.is_some() && !self.replaces.load(Ordering::Relaxed)
    }
}

impl Leaf {
    pub(crate) fn as_view(&self) -> LeafView<'_> {
        let (plain, storage) = match self.tail.as_deref() {
            Some(Tail::Plain(plain)) => (&**plain, None),
            Some(Tail::Storage(top)) => ("", Some(top)),
            None => ("", None),
        };
        LeafView { key: self.key, value: &self.value, plain, storage }
    }
}

/// A leaf by reference, from a packed leaf page or from a change.
#[derive(Clone, Copy)]
pub(crate) struct LeafView<'a> {
    pub key: Key,
    pub value: &'a [u8],
    /// The plain key of an entry of contract storage. Empty for an account.
    pub plain: &'a str,
    /// The storage trie of a contract, if the leaf is from a change. Otherwise the value has only the root of the trie.
    pub storage: Option<&'a Top>,
}

impl LeafView<'_> {
    /// Returns the weight: bytes of the key and of the value, plus 4 for lengths. For an entry of contract storage, the
    /// key is the plain key.
    pub(crate) fn weight(&self) -> u64 {
        let key = if self.plain.is_empty() { self.key.as_slice().len() } else { self.plain.len() };
        u64::try_from(key.saturating_add(self.value.len()).saturating_add(4)).unwrap_or(u64::MAX)
    }

    pub(crate) fn to_leaf(self) -> Leaf {
        let tail = if let Some(top) = self.storage {
            Some(Tail::Storage(top.clone()))
        } else if !self.plain.is_empty() {
            Some(Tail::Plain(self.plain.into()))
        } else {
            let account = Account::decode(self.value).ok();
            let storage = account.and_then(|account| account.contract?.storage_root);
            storage.map(|root| Tail::Storage(Top::Root(root.to_bytes())))
        };
        Leaf { key: self.key, value: Bytes::new(self.value), tail: tail.map(Box::new) }
    }

    /// Returns the reference to the leaf node whose path begins at nibble `at`.
    pub(crate) fn reference(&self, at: usize) -> NodeRef {
        with_buffer(|rlp| {
            self.write_node(at, rlp);
            NodeRef::of(rlp)
        })
    }

    /// Replaces the content of `out` with the RLP of the leaf node whose path begins at nibble `at`.
    ///
    /// From an even nibble on, the hex-prefix encoding of the path is the byte `0x20` and the text of the remaining
    /// digits.
    pub(crate) fn write_node(&self, at: usize, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let character = |digit: u8| DIGITS.get(usize::from(digit)).copied().unwrap_or(b'0');
        let first = at.div_ceil(2);
        let path = self.key.digits().saturating_sub(first).saturating_add(1);
        let path_item = if path == 1 { 1 } else { path.saturating_add(rlp::header_len(path)) };
        out.clear();
        rlp::write_list_header(path_item.saturating_add(rlp::string_len(self.value)), out);
        if path > 1 {
            rlp::write_string_header(path, out);
        }
        out.push(match at & 1 {
            0 => 0x20,
            _ => 0x30 | character(self.key.digit(at >> 1)) & 0xf,
        });
        out.extend((first..self.key.digits()).map(|depth| character(self.key.digit(depth))));
        rlp::write_string(self.value, out);
    }
}

/// The bytes of a value. Values of up to 30 bytes need no separate allocation.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    Short(u8, [u8; SHORT]),
    Long(Box<[u8]>),
}

/// Maximum bytes of a value that [`Bytes`] stores without an allocation.
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

/// Calls `run` with an RLP buffer that the thread reuses.
pub(crate) fn with_buffer<T>(run: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    thread_local! {
        static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    BUFFER.with(|buffer| match buffer.try_borrow_mut() {
        Ok(mut buffer) => run(&mut buffer),
        Err(_) => run(&mut Vec::new()),
    })
}
