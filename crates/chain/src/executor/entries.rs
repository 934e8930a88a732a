//! The entries of one contract that a block has read or written, as a tree. The parts of a key are its path in the
//! tree, so a map is a subtree.
//!
//! The removal of a map does not read its entries. The removal moves the subtree out of the tree, and hides the entries
//! of the state before the block. So the removal and its revert each take one step, independent of the size of the map.
//! When a phase reports its changes, each entry of a removed map becomes an absent entry. If the work of a transaction
//! has a limit, this work counts for the transaction that removes the map.

use std::{collections::BTreeMap, mem, ops::ControlFlow, sync::Arc};

use silica_protocol::StorageKey;
use silica_state::StateError;

use crate::accounts::Visitor;

/// The value of an entry of contract storage, or `None` if the entry does not exist.
pub(crate) type Entry = Option<Arc<[u8]>>;

/// A value that the block has read or written.
#[derive(Clone, Debug)]
pub(super) struct Slot<T> {
    /// Value before the block.
    initial: T,
    /// Value before `phase`.
    before_phase: T,
    /// The latest phase that wrote the value.
    phase: u32,
    /// The current value.
    pub(super) current: T,
}

impl<T: Clone + PartialEq> Slot<T> {
    pub(super) fn new(initial: T) -> Self {
        Self { before_phase: initial.clone(), current: initial.clone(), initial, phase: 0 }
    }

    pub(super) const fn current(&self) -> &T {
        &self.current
    }

    pub(super) fn into_current(self) -> T {
        self.current
    }

    /// Returns the slot after a write of `current` in `phase`.
    pub(super) fn rewritten(self, current: T, phase: u32) -> Self {
        let before_phase = if self.phase == phase { self.before_phase } else { self.current };
        Self { initial: self.initial, before_phase, phase, current }
    }

    pub(super) fn write(&mut self, value: T, phase: u32) {
        if self.phase != phase {
            self.before_phase = self.current.clone();
            self.phase = phase;
        }
        self.current = value;
    }

    /// Returns the value before `phase`, or before the block for `None`.
    pub(super) fn before(&self, phase: Option<u32>) -> &T {
        match phase {
            Some(phase) if self.phase != phase => &self.current,
            Some(_) => &self.before_phase,
            None => &self.initial,
        }
    }

    pub(super) fn differs(&self, phase: Option<u32>) -> bool {
        *self.before(phase) != self.current
    }
}

/// The slot of an entry that the block has neither read nor written.
pub(super) const UNKNOWN: Slot<Entry> = Slot { initial: None, before_phase: None, phase: 0, current: None };

/// The entries at and below one path.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The entry at this path, if the block has read or written it.
    slot: Option<Slot<Entry>>,
    /// The subtrees with entries, by the next part of the key. Subtrees without entries are in `absent`. So the check
    /// whether a map is empty takes constant time, even if many entries were removed.
    present: BTreeMap<Box<str>, Self>,
    absent: BTreeMap<Box<str>, Self>,
    /// Boundary in the state before the block. The block has read or removed all entries of this state, at and below
    /// this path, whose keys are smaller than the boundary.
    passed: Option<StorageKey>,
    /// The earlier subtrees at this path: one for each removal of the whole path in this phase.
    removed: Vec<Self>,
}

/// The result of the look-up of an entry in a tree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known<'a> {
    /// The block has read or written the entry.
    Slot(&'a Slot<Entry>),
    /// The block has removed all entries whose keys begin with the first parts of this key. The value is the number of
    /// these parts.
    Removed(usize),
    Nothing,
}

/// Visits the entries below a key in the state before the block.
pub(super) type Base<'a> = &'a dyn Fn(&StorageKey, Visitor<'_>) -> Result<(), StateError>;

/// A visitor of the entries of a tree. It returns `Break` to end the visit.
pub(super) type Show<'a> = dyn FnMut(&str, &[u8]) -> ControlFlow<()> + 'a;

/// Returns the parts of a key, without the address of the contract.
pub(super) fn parts(key: &StorageKey) -> Vec<&str> {
    key.as_str().split_terminator(StorageKey::SEPARATOR).skip(1).collect()
}

/// Returns an upper bound of the keys with the same first `depth` parts as `key`.
pub(super) fn end_of(key: &StorageKey, depth: usize) -> StorageKey {
    let parts = key.as_str().split_inclusive(StorageKey::SEPARATOR).take(depth.saturating_add(1));
    StorageKey::from_text(parts.chain([char::MAX.encode_utf8(&mut [0; 4]) as &str]).collect())
}

impl Tree {
    /// Looks up the entry at a path.
    pub(super) fn look(&self, path: &[&str]) -> Known<'_> {
        let (mut tree, mut removed) = (self, None);
        for depth in 0..=path.len() {
            removed = removed.or((!tree.removed.is_empty()).then_some(depth));
            let Some(part) = path.get(depth) else { break };
            let Some(below) = tree.present.get(*part).or_else(|| tree.absent.get(*part)) else {
                return removed.map_or(Known::Nothing, Known::Removed);
            };
            tree = below;
        }
        let known = tree.slot.as_ref().map(Known::Slot);
        known.unwrap_or_else(|| removed.map_or(Known::Nothing, Known::Removed))
    }

    /// Returns whether a removal covers all entries at and below a path.
    pub(super) fn is_removed(&self, path: &[&str]) -> bool {
        (0..=path.len()).any(|len| {
            let tree = path.get(..len).and_then(|outer| self.at(outer));
            tree.is_some_and(|tree| !tree.removed.is_empty())
        })
    }

    /// Returns the subtree at a path, or `None` if the tree has no entry there.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        let mut tree = self;
        for part in path {
            tree = if let Some(below) = tree.present.get(*part) { below } else { tree.absent.get(*part)? };
        }
        Some(tree)
    }

    /// Returns whether the tree has existing entries below this path.
    pub(super) fn has_below(&self) -> bool {
        !self.present.is_empty()
    }

    /// Returns the boundary at this path, if any.
    pub(super) const fn passed(&self) -> Option<&StorageKey> {
        self.passed.as_ref()
    }

    pub(super) fn set_passed(&mut self, key: StorageKey) {
        self.passed = Some(key);
    }

    /// Replaces the slot of the entry at this path.
    pub(super) fn set(&mut self, slot: Slot<Entry>) {
        self.slot = Some(slot);
    }

    /// Calls `change` with the subtree at a path, and then moves the subtrees on the path between `present` and
    /// `absent`.
    pub(super) fn update<T>(&mut self, path: &[&str], change: impl FnOnce(&mut Self) -> T) -> T {
        let Some((part, rest)) = path.split_first() else { return change(self) };
        let (result, was, is) = if let Some(below) = self.present.get_mut(*part) {
            (below.update(rest, change), true, below.is_present())
        } else if let Some(below) = self.absent.get_mut(*part) {
            (below.update(rest, change), false, below.is_present())
        } else {
            let below = self.absent.entry((*part).into()).or_default();
            (below.update(rest, change), false, below.is_present())
        };
        let (from, to) = if is { (&mut self.absent, &mut self.present) } else { (&mut self.present, &mut self.absent) };
        if was != is
            && let Some((part, below)) = from.remove_entry(*part)
        {
            to.insert(part, below);
        }
        result
    }

    fn is_present(&self) -> bool {
        self.has_below() || self.slot.as_ref().is_some_and(|slot| slot.current().is_some())
    }

    /// Removes all entries at and below this path.
    pub(super) fn remove(&mut self) {
        let mut before = mem::take(self);
        self.removed = mem::take(&mut before.removed);
        self.removed.push(before);
    }

    /// Reverts the last removal at this path, and all later writes at and below it.
    pub(super) fn restore(&mut self) {
        if let Some(mut before) = self.removed.pop() {
            before.removed = mem::take(&mut self.removed);
            *self = before;
        }
    }

    /// Returns the boundaries of all tree nodes above a path.
    pub(super) fn passed_around(&self, path: &[&str]) -> Vec<Option<StorageKey>> {
        (0..path.len()).map(|len| self.at(path.get(..len)?)?.passed.clone()).collect()
    }

    /// Moves the boundaries of the tree nodes above a path back after a revert of a removal. The revert makes the
    /// entries below `key` unknown again. `known` has the boundaries from before the removal. Entries before these
    /// boundaries stay known.
    pub(super) fn reopen(&mut self, path: &[&str], key: &StorageKey, known: &[Option<StorageKey>]) {
        let (Some((part, path)), Some((known, rest))) = (path.split_first(), known.split_first()) else { return };
        let end = end_of(key, parts(key).len());
        let known = known.as_ref().unwrap_or(key).max(key);
        if *known < end && self.passed.as_ref().is_some_and(|passed| passed > known) {
            self.passed = Some(known.clone());
        }
        if let Some(below) = self.present.get_mut(*part) {
            below.reopen(path, key, rest);
        } else if let Some(below) = self.absent.get_mut(*part) {
            below.reopen(path, key, rest);
        }
    }

    /// Visits all existing entries at and below this path. `key` is the key of this path.
    pub(super) fn visit_present(&self, key: &mut String, visit: &mut Show<'_>) -> ControlFlow<()> {
        if let Some(value) = self.slot.as_ref().and_then(|slot| slot.current().as_ref()) {
            visit(key, value)?;
        }
        self.present.iter().try_for_each(|(part, below)| with_part(key, part, |key| below.visit_present(key, visit)))
    }

    /// Visits all known entries at and below this path. `key` is the key of this path.
    pub(super) fn visit_slots(&self, key: &mut String, visit: &mut dyn FnMut(&str, &Slot<Entry>)) {
        if let Some(slot) = &self.slot {
            visit(key, slot);
        }
        for (part, below) in self.present.iter().chain(&self.absent) {
            with_part(key, part, |key| below.visit_slots(key, visit));
        }
    }

    /// Changes entries at and below this path that a removal covers into absent entries. `key` is the key of this path.
    pub(super) fn settle(&mut self, key: &mut String, phase: u32, base: Base<'_>) -> Result<(), StateError> {
        let Some(mut before) = mem::take(&mut self.removed).into_iter().next() else {
            let mut below = self.present.iter_mut().chain(&mut self.absent);
            return below.try_for_each(|(part, below)| with_part(key, part, |key| below.settle(key, phase, base)));
        };
        before.settle(key, phase, base)?;
        let prefix = StorageKey::from_text(key.clone());
        let depth = parts(&prefix).len();
        base(&prefix, &mut |entry, value| {
            let path = parts(entry);
            let path = path.get(depth..).unwrap_or_default();
            if !matches!(before.look(path), Known::Slot(_)) {
                before.update(path, |tree| tree.set(Slot::new(Some(value.into()))));
            }
            ControlFlow::Continue(())
        })?;
        // A phase starts without removals. Entries of the later subtrees were written and removed within the phase, so
        // they did not exist before it.
        self.forget_removals();
        self.absorb(before, phase);
        self.passed = Some(end_of(&prefix, depth));
        Ok(())
    }

    fn forget_removals(&mut self) {
        self.removed.clear();
        self.present.values_mut().chain(self.absent.values_mut()).for_each(Self::forget_removals);
    }

    /// Merges the subtree that existed before a removal into this subtree.
    fn absorb(&mut self, before: Self, phase: u32) {
        if let Some(before) = before.slot {
            let current = self.slot.take().map(Slot::into_current).unwrap_or_default();
            self.slot = Some(before.rewritten(current, phase));
        }
        for (part, before) in before.present.into_iter().chain(before.absent) {
            match self.present.get_mut(&part) {
                Some(below) => below.absorb(before, phase),
                None => self.absent.entry(part).or_default().absorb(before, phase),
            }
        }
    }
}

/// Calls `run` with `key` extended by `part`, and restores `key`.
fn with_part<T>(key: &mut String, part: &str, run: impl FnOnce(&mut String) -> T) -> T {
    let len = key.len();
    key.push_str(part);
    key.push(StorageKey::SEPARATOR);
    let result = run(key);
    key.truncate(len);
    result
}
