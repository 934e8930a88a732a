//! Leaves, and changes of leaves.

use std::{
    ops::Deref,
    sync::atomic::{AtomicBool, Ordering},
};

use silica_protocol::Account;

use super::{key::Key, tree::Top};
use crate::trie::{NodeRef, rlp};

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

/// A change of one leaf.
pub(crate) struct Change {
    pub key: Key,
    /// The leaf, or `None` when it is removed.
    pub leaf: Option<Leaf>,
    /// Whether the change replaces a leaf. The function that applies the change sets it.
    replaces: AtomicBool,
}

impl Change {
    pub(crate) const fn new(key: Key, leaf: Option<Leaf>) -> Self {
        Self { key, leaf, replaces: AtomicBool::new(false) }
    }

    /// Notes that there was a leaf before.
    pub(crate) fn found(&self) {
        self.replaces.store(true, Ordering::Relaxed);
    }

    /// Whether the change, which was applied, has set a leaf where there was none.
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

/// A leaf, wherever it is kept.
#[derive(Clone, Copy)]
pub(crate) struct LeafView<'a> {
    pub key: Key,
    pub value: &'a [u8],
    /// The plain key of an entry of contract storage, and nothing for an account.
    pub plain: &'a str,
    /// The storage trie of a contract, if it is known otherwise than by the value.
    pub storage: Option<&'a Top>,
}

impl LeafView<'_> {
    /// Bytes that the leaf takes in a bucket, with the whole of its key.
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

    /// Returns the reference to the leaf node whose path begins at a nibble.
    pub(crate) fn reference(&self, at: usize) -> NodeRef {
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

/// A value: short ones, which is almost all, without an allocation of their own.
#[derive(Clone, Debug)]
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
