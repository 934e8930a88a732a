//! A whole trie in memory.

use alloc::{boxed::Box, vec::Vec};

use super::{
    nibbles::{Nibbles, common_prefix},
    proof::Proof,
    subtree::Subtree,
};

/// A Merkle-Patricia trie in memory, with keys of any length.
///
/// A direct implementation of the format (Reference: formats#trie), without caches: each call of `root` hashes all
/// nodes. Tests compare the store with this trie, and callers can use it for small tries.
///
/// # Examples
///
/// ```
/// use silica_proof::trie::{EMPTY_ROOT, MemoryTrie};
/// let mut trie = MemoryTrie::new();
/// assert_eq!(trie.root(), EMPTY_ROOT);
/// trie.insert(b"key", b"value");
/// assert_eq!(trie.get(b"key"), Some(&b"value"[..]));
/// assert_eq!(trie.remove(b"key"), Some(b"value".to_vec()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryTrie {
    root: Option<Box<Fork>>,
}

/// A position where paths fork or a key ends. It has a value, or at least two children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Fork {
    /// The nibbles from the fork above to this fork, without the nibble that selects this fork among the children.
    path: Nibbles,
    value: Option<Vec<u8>>,
    children: [Option<Box<Self>>; 16],
}

impl MemoryTrie {
    /// Makes a trie without leaves.
    pub const fn new() -> Self {
        Self { root: None }
    }

    /// Returns the value of a key, or `None` if the trie does not have the key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let key = Nibbles::of_key(key);
        let mut rest = key.as_slice();
        let mut fork = self.root.as_deref()?;
        loop {
            rest = rest.strip_prefix(fork.path.as_slice())?;
            let Some((nibble, after)) = rest.split_first() else { return fork.value.as_deref() };
            (fork, rest) = (fork.children.get(usize::from(*nibble))?.as_deref()?, after);
        }
    }

    /// Sets the value of a key, and returns the previous value, or `None` if the key is new. An empty value removes the
    /// key, because the trie has no empty values.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        if value.is_empty() { self.remove(key) } else { insert(&mut self.root, Nibbles::of_key(key).as_slice(), value) }
    }

    /// Removes a key, and returns its value, or `None` if the trie does not have the key.
    pub fn remove(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        remove(&mut self.root, Nibbles::of_key(key).as_slice())
    }

    /// Computes the root hash. The time is proportional to the number of nodes.
    pub fn root(&self) -> [u8; 32] {
        subtree(self.root.as_deref()).root()
    }

    /// Returns the proof of the value of a key, or of its absence.
    pub fn proof(&self, key: &[u8]) -> Proof {
        let mut proof = Proof::new();
        prove(self.root.as_deref(), Nibbles::of_key(key).as_slice(), &mut proof).prove_top(&mut proof);
        proof
    }
}

fn insert(slot: &mut Option<Box<Fork>>, path: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let Some(fork) = slot else {
        *slot = Some(Box::new(Fork { path: Nibbles::copied(path), value: Some(value.to_vec()), ..Fork::default() }));
        return None;
    };
    let shared = common_prefix(fork.path.as_slice(), path);
    if shared < fork.path.len() {
        split(fork, shared);
    }
    match path.split_at_checked(shared).and_then(|(_, rest)| rest.split_first()) {
        None => fork.value.replace(value.to_vec()),
        Some((nibble, rest)) => insert(fork.children.get_mut(usize::from(*nibble))?, rest, value),
    }
}

/// Inserts a new fork into the path of `fork`, after `shared` nibbles.
fn split(fork: &mut Fork, shared: usize) {
    let mut below = core::mem::take(fork);
    let path = below.path;
    let (above, rest) = path.as_slice().split_at_checked(shared).unwrap_or_default();
    let (nibble, rest) = rest.split_first().unwrap_or((&0, &[]));
    below.path = Nibbles::copied(rest);
    fork.path = Nibbles::copied(above);
    if let Some(child) = fork.children.get_mut(usize::from(*nibble)) {
        *child = Some(Box::new(below));
    }
}

fn remove(slot: &mut Option<Box<Fork>>, path: &[u8]) -> Option<Vec<u8>> {
    let fork = slot.as_deref_mut()?;
    let removed = match path.strip_prefix(fork.path.as_slice())?.split_first() {
        None => fork.value.take(),
        Some((nibble, rest)) => remove(fork.children.get_mut(usize::from(*nibble))?, rest),
    }?;
    if fork.value.is_none() {
        let mut filled = (0..).zip(&mut fork.children).filter(|(_, child)| child.is_some());
        match (filled.next(), filled.next()) {
            (None, _) => *slot = None,
            (Some((nibble, only)), None) => {
                let mut only = only.take();
                if let Some(only) = &mut only {
                    only.path.prepend(&[nibble]);
                    only.path.prepend(fork.path.as_slice());
                }
                *slot = only;
            }
            _ => {}
        }
    }
    Some(removed)
}

fn subtree(fork: Option<&Fork>) -> Subtree {
    let Some(fork) = fork else { return Subtree::Empty };
    let children = fork.children.each_ref().map(|child| subtree(child.as_deref()));
    Subtree::combine_with_value(children.each_ref(), fork.value.as_deref()).prefixed(fork.path.as_slice())
}

fn prove(fork: Option<&Fork>, path: &[u8], proof: &mut Proof) -> Subtree {
    let Some(fork) = fork else { return Subtree::Empty };
    let Some(rest) = path.strip_prefix(fork.path.as_slice()) else { return subtree(Some(fork)) };
    let next = rest.split_first();
    let children: [Subtree; 16] = core::array::from_fn(|nibble| {
        let child = fork.children.get(nibble).and_then(Option::as_deref);
        match next {
            Some((on_path, rest)) if usize::from(*on_path) == nibble => prove(child, rest, proof),
            _ => subtree(child),
        }
    });
    Subtree::combine_with_value_proving(
        children.each_ref(),
        fork.value.as_deref(),
        next.map(|(nibble, _)| *nibble),
        proof,
    )
    .prefixed(fork.path.as_slice())
}
