//! Leaf pages: the leaves below a prefix, if they are small enough for one page.
//!
//! For most leaf pages in memory, there are only reads, or only few leaves change. Therefore the leaves, and the
//! references to the nodes below each digit, are packed into one allocation that versions share. A version has its
//! changed leaves and references in addition. After [`CHANGES`] changes, all leaves are packed again.

use std::{
    cmp::Ordering,
    iter::{self, Peekable},
    sync::Arc,
};

use silica_proof::trie::{NodeRef, Proof};
use silica_protocol::{Account, VariableHash, sha256};

use super::{
    fork::{
        Fork, bit, digits, hanging_at, lead_of, prove_fork_of, prove_lead, prove_leaves, rank, reference_of, step_to,
    },
    key::{Key, Owner},
    leaf::{Change, Leaf, LeafView},
    tree::Top,
};
use crate::{
    codec::{Malformed, Reader, Writer, number_len},
    version::Version,
};

/// Maximum weight of the leaves of a leaf page, in bytes. A prefix with a larger weight and more than one leaf has a
/// node page. Only this rule determines the pages of a trie.
pub(crate) const LEAF_PAGE: u64 = 2048;
/// Maximum number of changed leaves of a version before all leaves are packed again.
const CHANGES: usize = 6;

/// A leaf page.
#[derive(Clone)]
pub(crate) struct LeafPage {
    packed: Arc<Packed>,
    /// The changes since `packed`, in the order of their keys.
    changes: Box<[Arc<Change>]>,
    /// The references to the nodes below digits that changed since `packed`, in ascending order of the digits.
    references: Box<[(u8, NodeRef)]>,
    count: usize,
    /// The fork above the leaves. `None` for a single leaf.
    fork: Option<Box<Fork>>,
}

/// The effect of changes on a leaf page.
pub(crate) struct Effect {
    /// The changes that differ from the present leaves.
    pub changes: Vec<Arc<Change>>,
    /// The weight after the changes minus the weight before the changes, in bytes.
    pub weight: i64,
    /// Number of leaves after the changes.
    pub count: usize,
}

/// Leaves in one allocation.
struct Packed {
    /// Any key of the leaf page. All keys of the page have the same first `depth` digits.
    prefix: Key,
    depth: usize,
    bytes: Box<[u8]>,
    /// Mask of the digits after the prefix. `starts` has the position in `bytes` of the first leaf of each digit.
    mask: u16,
    starts: Box<[u32]>,
    /// The references to the nodes below each digit. Empty if only one digit follows the prefix.
    references: Box<[NodeRef]>,
}

/// The default for a digit without a reference. No caller reads it, because callers pass only digits with a reference.
const NO_NODE: &NodeRef = &NodeRef::Hash([0; 32]);

impl LeafPage {
    /// Packs at least one leaf. The leaves are in the order of their keys, and share the first `depth` digits.
    pub(crate) fn new(leaves: &[LeafView<'_>], depth: usize) -> Self {
        let (mask, groups) = grouped(leaves, depth);
        let fork = match leaves {
            [] | [_] => None,
            _ if mask.is_power_of_two() => Some(Box::new(chain(leaves, depth))),
            _ => {
                let below = depth.wrapping_add(1);
                let references =
                    groups.iter().map(|(digit, group)| reference_of(group, below, hanging_at(mask, *digit, depth)));
                let references: Box<[NodeRef]> = references.collect();
                let fork = Fork::new(mask, |digit| references.get(rank(mask, digit)).unwrap_or(NO_NODE), None);
                return Self::packed(leaves, depth, references, Some(Box::new(fork)), 0);
            }
        };
        Self::packed(leaves, depth, Box::default(), fork, 0)
    }

    /// Packs leaves. A leaf whose storage trie is newer than `durable` is also stored as a change, because the trie
    /// must stay in memory.
    fn packed(
        leaves: &[LeafView<'_>],
        depth: usize,
        references: Box<[NodeRef]>,
        fork: Option<Box<Fork>>,
        durable: Version,
    ) -> Self {
        let (mask, groups) = grouped(leaves, depth);
        // With the exact capacity, the box needs no second allocation.
        let len = leaves.iter().map(|leaf| packed_len(leaf, depth)).fold(0, usize::saturating_add);
        let mut bytes = Writer::with_capacity(len);
        let mut starts = Vec::with_capacity(groups.len());
        for (_, group) in groups {
            starts.push(u32::try_from(bytes.as_slice().len()).unwrap_or(u32::MAX));
            for leaf in group {
                pack(leaf, depth, &mut bytes);
            }
        }
        let prefix = leaves.first().map_or_else(Key::zero, |leaf| leaf.key);
        let bytes = bytes.finish().into();
        let packed = Packed { prefix, depth, bytes, mask, starts: starts.into(), references };
        let in_memory = |leaf: &&LeafView<'_>| match leaf.storage {
            Some(top @ Top::Tree(_)) => top.released(durable).is_none(),
            Some(Top::Empty | Top::Root(_)) | None => false,
        };
        let kept = leaves.iter().filter(in_memory);
        Self {
            packed: Arc::new(packed),
            changes: kept.map(|leaf| Arc::new(Change::new(leaf.key, Some(leaf.to_leaf())))).collect(),
            references: Box::default(),
            count: leaves.len(),
            fork,
        }
    }

    /// Returns the number of leaves.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Returns the fork above the leaves, or `None` for a single leaf.
    pub(crate) fn fork(&self) -> Option<&Fork> {
        self.fork.as_deref()
    }

    /// Returns the leaves in the order of their keys.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = LeafView<'_>> {
        Merged { packed: self.packed.leaves(None).peekable(), changes: self.changes.iter().peekable() }
    }

    fn to_views(&self) -> Vec<LeafView<'_>> {
        let mut leaves = Vec::with_capacity(self.count);
        leaves.extend(self.leaves());
        leaves
    }

    /// Returns the leaves whose keys continue with a digit after the prefix.
    fn leaves_below(&self, digit: u8) -> impl Iterator<Item = LeafView<'_>> {
        let depth = self.packed.depth;
        let start = self.changes.partition_point(|change| change.key.digit(depth) < digit);
        let end = self.changes.partition_point(|change| change.key.digit(depth) <= digit);
        let changes = self.changes.get(start..end).unwrap_or_default();
        Merged { packed: self.packed.leaves(Some(digit)).peekable(), changes: changes.iter().peekable() }
    }

    /// Returns the leaf of a key below the prefix, or `None` if the page does not have it.
    pub(crate) fn leaf(&self, key: &Key) -> Option<LeafView<'_>> {
        match self.changes.binary_search_by(|change| change.key.cmp(key)) {
            Ok(at) => self.changes.get(at)?.leaf.as_ref().map(Leaf::as_view),
            Err(_) => self.packed.leaf(key),
        }
    }

    fn reference(&self, digit: u8) -> &NodeRef {
        match self.references.binary_search_by_key(&digit, |(digit, _)| *digit) {
            Ok(at) => self.references.get(at).map_or(NO_NODE, |(_, reference)| reference),
            Err(_) => self.packed.references.get(rank(self.packed.mask, digit)).unwrap_or(NO_NODE),
        }
    }

    /// Computes the effect of changes. The changes are in the order of their keys.
    pub(crate) fn effect(&self, changes: &[Arc<Change>]) -> Effect {
        let mut effect = Effect { changes: Vec::new(), weight: 0, count: self.count };
        for change in changes {
            let (old, new) = (self.leaf(&change.key), change.leaf.as_ref().map(Leaf::as_view));
            if old.is_some() {
                change.found();
            }
            if old.map(|old| old.value) == new.map(|new| new.value) {
                continue;
            }
            let weigh =
                |leaf: Option<LeafView<'_>>| leaf.map_or(0, |leaf| i64::try_from(leaf.weight()).unwrap_or(i64::MAX));
            effect.weight = effect.weight.saturating_add(weigh(new)).saturating_sub(weigh(old));
            effect.count = match (old, new) {
                (None, Some(_)) => effect.count.saturating_add(1),
                (Some(_), None) => effect.count.saturating_sub(1),
                _ => effect.count,
            };
            effect.changes.push(Arc::clone(change));
        }
        effect
    }

    /// Returns the leaf page after changes that leave at least one leaf.
    pub(crate) fn update(&self, effect: Effect, durable: Version) -> Self {
        let Effect { changes, count, .. } = effect;
        let depth = self.packed.depth;
        let touched = changes.iter().fold(0, |mask, change| mask | bit(change.key.digit(depth)));
        let mut next = self.with_changes(changes, count);
        next.refer(self, touched);
        if next.changes.len() > CHANGES { next.repacked(&next.to_views(), durable) } else { next }
    }

    /// Returns the leaves after changes, for a tree of several pages.
    pub(crate) fn leaves_after(&self, effect: Effect) -> Vec<Leaf> {
        let Effect { changes, count, .. } = effect;
        self.with_changes(changes, count).leaves().map(LeafView::to_leaf).collect()
    }

    fn with_changes(&self, changes: Vec<Arc<Change>>, count: usize) -> Self {
        let packed = Arc::clone(&self.packed);
        Self { packed, changes: merge(&self.changes, changes), references: Box::default(), count, fork: None }
    }

    /// Computes references and fork. Copies the references of `old`, except for the digits in the mask `touched`.
    fn refer(&mut self, old: &Self, touched: u16) {
        let old_mask = old.mask();
        let still = |digit: &u8| touched & bit(*digit) == 0 || self.leaves_below(*digit).next().is_some();
        let mask = digits(old_mask | touched).filter(still).fold(0, |mask, digit| mask | bit(digit));
        let depth = self.packed.depth;
        if self.count < 2 {
            return;
        }
        if mask.is_power_of_two() {
            let leaves = self.to_views();
            self.fork = Some(Box::new(chain(&leaves, depth)));
            return;
        }
        let forked = old_mask.count_ones() > 1;
        let (mut references, mut changed) = (Vec::new(), touched);
        for digit in digits(mask) {
            let at = hanging_at(mask, digit, depth);
            let same = forked && touched & bit(digit) == 0 && hanging_at(old_mask, digit, depth) == at;
            if same {
                if let Ok(at) = old.references.binary_search_by_key(&digit, |(digit, _)| *digit) {
                    references.extend(old.references.get(at).copied());
                }
                continue;
            }
            changed |= bit(digit);
            let leaves: Vec<_> = self.leaves_below(digit).collect();
            references.push((digit, reference_of(&leaves, depth.wrapping_add(1), at)));
        }
        self.references = references.into();
        let fork = Fork::new(mask, |digit| self.reference(digit), old.fork().map(|old| (old, changed)));
        self.fork = Some(Box::new(fork));
    }

    /// Returns the mask of the digits after the prefix.
    fn mask(&self) -> u16 {
        match &self.fork {
            Some(fork) => fork.mask,
            None => self.leaves().next().map_or(0, |leaf| bit(leaf.key.digit(self.packed.depth))),
        }
    }

    /// Returns this leaf page with all leaves packed again. `leaves` are the leaves of this page. Storage tries newer
    /// than `durable` stay in memory.
    fn repacked(&self, leaves: &[LeafView<'_>], durable: Version) -> Self {
        let depth = self.packed.depth;
        let (mask, _) = grouped(leaves, depth);
        let references = match &self.fork {
            Some(_) if mask.count_ones() > 1 => digits(mask).map(|digit| *self.reference(digit)).collect(),
            _ => Box::default(),
        };
        Self::packed(leaves, depth, references, self.fork.clone(), durable)
    }

    /// Returns the storage tries of the changed leaves, with the keys of their accounts.
    pub(crate) fn storage_tries(&self) -> impl Iterator<Item = (&Key, &Top)> {
        self.changes.iter().filter_map(|change| Some((&change.key, change.leaf.as_ref()?.as_view().storage?)))
    }

    /// Returns a copy of the leaf page without the storage tries in memory. Returns `None` if no leaf has a storage
    /// trie in memory. The copy loses no state, because the value of each leaf has the root of its storage trie.
    pub(crate) fn without_storage(&self) -> Option<Self> {
        let has_trie = self.storage_tries().any(|(_, top)| matches!(top, Top::Tree(_)));
        has_trie.then(|| {
            let leaves: Vec<_> = self.leaves().map(|leaf| LeafView { storage: None, ..leaf }).collect();
            self.repacked(&leaves, Version::MAX)
        })
    }

    /// Adds the nodes on the path to a key. The path begins at nibble `at`, and the key equals the prefix up to this
    /// nibble.
    pub(crate) fn prove(&self, at: usize, key: &Key, proof: &mut Proof) {
        let depth = self.packed.depth;
        let Some(fork) = &self.fork else {
            let leaves = self.to_views();
            return prove_leaves(&leaves, depth, at, key, proof);
        };
        let step = step_to(self.packed.prefix.digit(depth.wrapping_sub(1)), at);
        if prove_lead(step.as_ref(), &fork.lead, &fork.node, at, key, proof) {
            self.prove_fork(key, proof);
        }
    }

    /// Adds the nodes on the path to a key from the first fork on. The key leads to this fork.
    pub(crate) fn prove_fork(&self, key: &Key, proof: &mut Proof) {
        let (depth, mask) = (self.packed.depth, self.mask());
        match &self.fork {
            Some(fork) if mask.count_ones() > 1 => {
                if let Some(digit) = fork.prove(key.digit(depth), |digit| self.reference(digit), proof) {
                    let leaves: Vec<_> = self.leaves_below(digit).collect();
                    prove_leaves(&leaves, depth.wrapping_add(1), hanging_at(mask, digit, depth), key, proof);
                }
            }
            _ => {
                let leaves = self.to_views();
                prove_fork_of(&leaves, depth, key, proof);
            }
        }
    }

    /// Returns the approximate memory of the leaf page in bytes.
    pub(crate) fn memory_size(&self) -> usize {
        let packed = self.packed.bytes.len().saturating_add(size_of_val(&*self.packed.references));
        let changes = self.changes.len().saturating_mul(size_of::<Change>().saturating_add(16));
        packed.saturating_add(changes).saturating_add(size_of::<Packed>()).saturating_add(160)
    }

    /// Returns the approximate size of the leaves on disk in bytes.
    pub(crate) fn packed_len(&self) -> usize {
        self.packed.bytes.len().saturating_add(16)
    }

    /// Appends the number of leaves and the leaves in their stored form.
    pub(crate) fn write(&self, owner: &Owner, out: &mut Writer) {
        out.len(self.count);
        for leaf in self.leaves() {
            match owner {
                Owner::Accounts => out.raw(leaf.key.rest_from(self.packed.depth)),
                Owner::Contract(_) => out.bytes(leaf.plain.as_bytes()),
            }
            out.bytes(leaf.value);
        }
    }

    /// Reads leaves that [`LeafPage::write`] wrote, below a prefix.
    pub(crate) fn read(reader: &mut Reader<'_>, owner: &Owner, prefix: &[u8]) -> Result<Self, Malformed> {
        let contract = match owner {
            Owner::Accounts => None,
            Owner::Contract(address) => Some(address.to_string()),
        };
        let count: usize = reader.number("number of leaves")?;
        let mut leaves: Vec<LeafView<'_>> = Vec::with_capacity(count.min(64));
        for _ in 0..count {
            let leaf = match &contract {
                None => read_account(reader, prefix)?,
                Some(contract) => read_entry(reader, contract)?,
            };
            if leaves.last().is_some_and(|last| last.key >= leaf.key) || !leaf.key.begins_with(prefix) {
                return Err(Malformed("leaves are not in order"));
            }
            leaves.push(leaf);
        }
        if leaves.is_empty() {
            Err(Malformed("leaf page without leaves"))
        } else {
            Ok(Self::new(&leaves, prefix.len()))
        }
    }
}

fn read_account<'a>(reader: &mut Reader<'a>, prefix: &[u8]) -> Result<LeafView<'a>, Malformed> {
    let len = Owner::Accounts.key_len();
    let rest = reader.raw(len.saturating_sub(prefix.len() / 2), "key")?;
    let key = Key::join(prefix, rest, len).ok_or(Malformed("key does not fit its prefix"))?;
    let value = reader.bytes("value")?;
    Account::decode(value).map_err(|_| Malformed("value is not an account"))?;
    Ok(LeafView { key, value, plain: "", storage: None })
}

fn read_entry<'a>(reader: &mut Reader<'a>, contract: &str) -> Result<LeafView<'a>, Malformed> {
    let plain = std::str::from_utf8(reader.bytes("plain key")?).map_err(|_| Malformed("plain key is not text"))?;
    let key = Key::variable(&VariableHash::new(sha256(&[contract.as_bytes(), plain.as_bytes()])));
    Ok(LeafView { key, value: reader.bytes("value")?, plain, storage: None })
}

/// Returns the mask of the digits after the prefix, and the leaves of each digit.
fn grouped<'a, 'b>(leaves: &'a [LeafView<'b>], depth: usize) -> (u16, Vec<(u8, &'a [LeafView<'b>])>) {
    let groups = leaves.chunk_by(|left, right| left.key.digit(depth) == right.key.digit(depth));
    let groups: Vec<_> = groups.filter_map(|group| Some((group.first()?.key.digit(depth), group))).collect();
    (groups.iter().fold(0, |mask, (digit, _)| mask | bit(*digit)), groups)
}

fn chain(leaves: &[LeafView<'_>], depth: usize) -> Fork {
    let (lead, node) = lead_of(leaves, depth.wrapping_add(1));
    Fork::chain(leaves.first().map_or(0, |leaf| leaf.key.digit(depth)), &lead, node)
}

/// Appends a leaf in its form in memory: the bytes of the key after the prefix, the plain key, the value.
fn pack(leaf: &LeafView<'_>, depth: usize, out: &mut Writer) {
    out.raw(leaf.key.rest_from(depth));
    out.bytes(leaf.plain.as_bytes());
    out.bytes(leaf.value);
}

/// Returns the number of bytes that [`pack`] appends.
fn packed_len(leaf: &LeafView<'_>, depth: usize) -> usize {
    let with_len = |bytes: usize| number_len(bytes).saturating_add(bytes);
    let texts = with_len(leaf.plain.len()).saturating_add(with_len(leaf.value.len()));
    leaf.key.rest_from(depth).len().saturating_add(texts)
}

impl Packed {
    /// Returns all leaves, or the leaves below a digit, in the order of their keys.
    fn leaves(&self, digit: Option<u8>) -> impl Iterator<Item = LeafView<'_>> {
        let mut reader = Reader::new(digit.map_or(&*self.bytes, |digit| self.bytes_below(digit)));
        iter::from_fn(move || if reader.is_empty() { None } else { self.unpack(&mut reader).ok() })
    }

    /// Returns the packed bytes of the leaves below a digit.
    fn bytes_below(&self, digit: u8) -> &[u8] {
        if self.mask & bit(digit) == 0 {
            return &[];
        }
        let at = rank(self.mask, digit);
        let bound = |at: usize| self.starts.get(at).and_then(|start| usize::try_from(*start).ok());
        let end = bound(at.wrapping_add(1)).unwrap_or(self.bytes.len());
        bound(at).and_then(|start| self.bytes.get(start..end)).unwrap_or_default()
    }

    /// Returns the leaf of a key below the prefix, or `None` if it is not packed.
    fn leaf(&self, key: &Key) -> Option<LeafView<'_>> {
        let rest = key.rest_from(self.depth);
        let mut reader = Reader::new(self.bytes_below(key.digit(self.depth)));
        while !reader.is_empty() {
            let found = reader.raw(rest.len(), "key").ok()?;
            let (plain, value) = (reader.bytes("plain key").ok()?, reader.bytes("value").ok()?);
            if found == rest {
                return Some(LeafView { key: *key, value, plain: std::str::from_utf8(plain).ok()?, storage: None });
            }
        }
        None
    }

    fn unpack<'a>(&self, reader: &mut Reader<'a>) -> Result<LeafView<'a>, Malformed> {
        let rest = reader.raw(self.prefix.rest_from(self.depth).len(), "key")?;
        let key = self.prefix.with_rest(self.depth, rest);
        let plain = std::str::from_utf8(reader.bytes("plain key")?).map_err(|_| Malformed("plain key"))?;
        Ok(LeafView { key, value: reader.bytes("value")?, plain, storage: None })
    }
}

/// Packed leaves merged with changes, in the order of their keys. A change replaces or removes the packed leaf.
struct Merged<'a, P: Iterator<Item = LeafView<'a>>> {
    packed: Peekable<P>,
    changes: Peekable<std::slice::Iter<'a, Arc<Change>>>,
}

impl<'a, P: Iterator<Item = LeafView<'a>>> Iterator for Merged<'a, P> {
    type Item = LeafView<'a>;

    fn next(&mut self) -> Option<LeafView<'a>> {
        loop {
            let order = match (self.packed.peek(), self.changes.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(leaf), Some(change)) => leaf.key.cmp(&change.key),
            };
            if order.is_lt() {
                return self.packed.next();
            }
            if order.is_eq() {
                self.packed.next();
            }
            let changed = self.changes.next().and_then(|change| change.leaf.as_ref());
            if changed.is_some() {
                return changed.map(Leaf::as_view);
            }
        }
    }
}

/// Merges changes in the order of their keys. A new change replaces an old change of the same key.
fn merge(old: &[Arc<Change>], new: Vec<Arc<Change>>) -> Box<[Arc<Change>]> {
    let mut merged = Vec::with_capacity(old.len().saturating_add(new.len()));
    let mut old = old.iter().peekable();
    for change in new {
        merged.extend(iter::from_fn(|| old.next_if(|old| old.key < change.key)).cloned());
        old.next_if(|old| old.key == change.key);
        merged.push(change);
    }
    merged.extend(old.cloned());
    merged.into()
}
