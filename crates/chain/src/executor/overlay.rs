//! The running state of a block: what its transactions wrote, over the state before it.
//!
//! Accounts, entries of contract storage and the texts of new contracts are written here, per entry, and only here.
//! While a contract runs a journal is kept, so that what it did can be taken back in one go; see the decision on the
//! journal of the running state.

use std::{
    collections::{BTreeMap, btree_map::Entry as Place},
    ops::ControlFlow,
    sync::Arc,
};

use silica_protocol::{Account, Address, BlockNumber, StorageKey, Timestamp};
use silica_state::StateError;

use crate::accounts::{Source, Visitor, World};

/// The value of an entry of contract storage; `None` when there is no such entry.
pub(crate) type Entry = Option<Arc<[u8]>>;

/// Accounts and contracts as they are while a block is being built.
///
/// The work of one micro block after the other is told apart by phases, since each has a hash of its own changes.
#[derive(Debug)]
pub(crate) struct Overlay<W> {
    base: W,
    accounts: BTreeMap<Address, Slot<Option<Account>>>,
    storage: BTreeMap<Address, Slots>,
    /// What was deployed in this block, and in which phase.
    sources: BTreeMap<Address, (Source, u32)>,
    phase: u32,
    /// What there was before each write, the latest last; `None` while nobody wants to go back.
    journal: Option<Vec<Undo>>,
}

/// Something that was read or written.
#[derive(Clone, Debug)]
struct Slot<T> {
    /// Before the block.
    initial: T,
    /// Before the latest phase that wrote it.
    before_phase: T,
    /// The latest phase that wrote it.
    phase: u32,
    /// Now.
    current: T,
}

/// The entries of one contract that were read or written.
///
/// Those that exist are kept apart from those that do not, so that it takes no search to say whether a map has any,
/// however many were removed.
#[derive(Debug, Default)]
struct Slots {
    present: BTreeMap<StorageKey, Slot<Entry>>,
    absent: BTreeMap<StorageKey, Slot<Entry>>,
    /// By the key of a map: below it, the state before the block has only absent entries up to this key.
    passed: BTreeMap<StorageKey, StorageKey>,
}

impl Slots {
    fn get(&self, key: &StorageKey) -> Option<&Slot<Entry>> {
        self.present.get(key).or_else(|| self.absent.get(key))
    }

    fn set(&mut self, key: StorageKey, slot: Slot<Entry>) {
        let (into, out) = if slot.current.is_some() {
            (&mut self.present, &mut self.absent)
        } else {
            (&mut self.absent, &mut self.present)
        };
        out.remove(&key);
        into.insert(key, slot);
    }

    /// Those that exist and begin with a key.
    fn present_below(&self, prefix: &StorageKey) -> impl Iterator<Item = (&StorageKey, &Arc<[u8]>)> {
        let slots = self.present.range(prefix..).take_while(|(key, _)| key.as_str().starts_with(prefix.as_str()));
        slots.filter_map(|(key, slot)| Some((key, slot.current.as_ref()?)))
    }

    fn iter(&self) -> impl Iterator<Item = (&StorageKey, &Slot<Entry>)> {
        self.present.iter().chain(&self.absent)
    }
}

/// What takes back one write.
#[derive(Debug)]
enum Undo {
    Account(Address, Box<Slot<Option<Account>>>),
    Entry(Address, StorageKey, Slot<Entry>),
    Passed(Address, StorageKey, Option<StorageKey>),
    Source(Address),
}

/// A moment to which the running state can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(usize);

/// An account that differs from what it was, or whose contract does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) address: Address,
    pub(crate) before: Option<Account>,
    pub(crate) after: Account,
    /// The texts, if the account became a contract or library.
    pub(crate) deployed: Option<Source>,
    /// The entries of storage that differ, as they are now.
    pub(crate) storage: BTreeMap<StorageKey, Entry>,
}

impl<T: Clone + PartialEq> Slot<T> {
    fn new(initial: T) -> Self {
        Self { before_phase: initial.clone(), current: initial.clone(), initial, phase: 0 }
    }

    fn write(&mut self, value: T, phase: u32) {
        if self.phase != phase {
            self.before_phase = self.current.clone();
            self.phase = phase;
        }
        self.current = value;
    }

    /// What there was before: before a phase, or before the block.
    fn before(&self, phase: Option<u32>) -> &T {
        match phase {
            Some(phase) if self.phase != phase => &self.current,
            Some(_) => &self.before_phase,
            None => &self.initial,
        }
    }

    fn differs(&self, phase: Option<u32>) -> bool {
        *self.before(phase) != self.current
    }
}

impl<W: World> Overlay<W> {
    /// The state `base`, without writes, in the first phase.
    pub(crate) fn new(base: W) -> Self {
        let (accounts, storage, sources) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { base, accounts, storage, sources, phase: 1, journal: None }
    }

    /// The account at `address`, or `None` when there is none.
    pub(crate) fn account(&mut self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.slot(address)?.current)
    }

    /// Writes the account at `address`.
    pub(crate) fn set(&mut self, address: &Address, account: Account) -> Result<(), StateError> {
        let phase = self.phase;
        let slot = self.slot(address)?;
        let before = slot.clone();
        slot.write(Some(account), phase);
        self.note(|| Undo::Account(*address, Box::new(before)));
        Ok(())
    }

    /// The value of an entry of contract storage.
    pub(crate) fn entry(&mut self, contract: &Address, key: &StorageKey) -> Result<Entry, StateError> {
        Ok(self.entry_slot(contract, key)?.current.clone())
    }

    /// Writes an entry of contract storage, or removes it.
    pub(crate) fn set_entry(
        &mut self,
        contract: &Address,
        key: &StorageKey,
        value: Option<&[u8]>,
    ) -> Result<(), StateError> {
        let phase = self.phase;
        let before = self.entry_slot(contract, key)?;
        if before.current.as_deref() == value {
            return Ok(());
        }
        let (before, mut slot) = (before.clone(), before.clone());
        slot.write(value.map(Arc::from), phase);
        self.storage.entry(*contract).or_default().set(key.clone(), slot);
        self.note(|| Undo::Entry(*contract, key.clone(), before));
        Ok(())
    }

    /// Shows the entries whose keys begin with `prefix`, those of this block first, until the visitor has seen enough.
    pub(crate) fn visit_below(
        &mut self,
        contract: &Address,
        prefix: &StorageKey,
        visit: Visitor<'_>,
    ) -> Result<(), StateError> {
        let written = self.storage.get(contract);
        for (key, value) in written.into_iter().flat_map(|slots| slots.present_below(prefix)) {
            if visit(key, value).is_break() {
                return Ok(());
            }
        }
        // What was deployed in this block has nothing below.
        if self.sources.contains_key(contract) {
            return Ok(());
        }
        self.base.visit_entries(contract, prefix, None, &mut |key, value| {
            let known = written.is_some_and(|slots| slots.get(key).is_some());
            if known { ControlFlow::Continue(()) } else { visit(key, value) }
        })
    }

    /// Whether there is an entry whose key goes on behind `prefix`, the key of a map.
    ///
    /// Entries of the state before the block that are absent by now are passed over once, and not each time.
    pub(crate) fn has_below(&mut self, contract: &Address, prefix: &StorageKey) -> Result<bool, StateError> {
        let slots = self.storage.entry(*contract).or_default();
        if slots.present_below(prefix).any(|(key, _)| key != prefix) {
            return Ok(true);
        }
        if self.sources.contains_key(contract) {
            return Ok(false);
        }
        let from = slots.passed.get(prefix);
        let mut found = None;
        self.base.visit_entries(contract, prefix, from, &mut |key, _| {
            if key == prefix || slots.get(key).is_some() {
                return ControlFlow::Continue(());
            }
            found = Some(key.clone());
            ControlFlow::Break(())
        })?;
        let has_any = found.is_some();
        let passed = found.unwrap_or_else(|| StorageKey::from_text(format!("{}{}", prefix.as_str(), char::MAX)));
        if from != Some(&passed) {
            let before = slots.passed.insert(prefix.clone(), passed);
            self.note(|| Undo::Passed(*contract, prefix.clone(), before));
        }
        Ok(has_any)
    }

    /// The texts of a contract or library, or `None` when there is none at the address.
    pub(crate) fn source(&self, contract: &Address) -> Result<Option<Source>, StateError> {
        match self.sources.get(contract) {
            Some((source, _)) => Ok(Some(source.clone())),
            None => self.base.source(contract),
        }
    }

    /// Notes the texts of a new contract or library. Its account is for the caller to write.
    pub(crate) fn set_source(&mut self, contract: &Address, source: Source) {
        self.sources.insert(*contract, (source, self.phase));
        self.note(|| Undo::Source(*contract));
    }

    /// When a block before this one was made, or `None` when there is no such block.
    pub(crate) fn block_time(&self, block: BlockNumber) -> Result<Option<Timestamp>, StateError> {
        self.base.block_time(block)
    }

    /// Begins a journal, so that writes can be taken back.
    pub(crate) fn begin(&mut self) -> Mark {
        self.journal = Some(Vec::new());
        Mark(0)
    }

    /// The present moment, to be gone back to while the journal is kept.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.journal.as_ref().map_or(0, Vec::len))
    }

    /// Takes back all writes since a moment.
    pub(crate) fn revert(&mut self, to: Mark) {
        let Some(journal) = &mut self.journal else { return };
        while journal.len() > to.0 {
            match journal.pop() {
                Some(Undo::Account(address, slot)) => drop(self.accounts.insert(address, *slot)),
                Some(Undo::Entry(contract, key, slot)) => {
                    self.storage.entry(contract).or_default().set(key, slot);
                }
                Some(Undo::Passed(contract, prefix, before)) => {
                    let passed = &mut self.storage.entry(contract).or_default().passed;
                    match before {
                        Some(before) => drop(passed.insert(prefix, before)),
                        None => drop(passed.remove(&prefix)),
                    }
                }
                Some(Undo::Source(contract)) => drop(self.sources.remove(&contract)),
                None => {}
            }
        }
    }

    /// Ends the journal: what was written stays.
    pub(crate) fn end(&mut self) {
        self.journal = None;
    }

    /// Begins the work of the next micro block.
    pub(crate) fn next_phase(&mut self) {
        self.phase = self.phase.saturating_add(1);
    }

    /// What the present phase changed, ascending by address.
    pub(crate) fn phase_changes(&self) -> Vec<Change> {
        self.changes_since(Some(self.phase))
    }

    /// What the whole block changed, ascending by address.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.changes_since(None)
    }

    fn changes_since(&self, phase: Option<u32>) -> Vec<Change> {
        let change = |(address, slot): (&Address, &Slot<Option<Account>>)| {
            let entries = self.storage.get(address).into_iter().flat_map(Slots::iter);
            let entries = entries.filter(|(_, slot)| slot.differs(phase));
            let storage: BTreeMap<_, _> = entries.map(|(key, slot)| (key.clone(), slot.current.clone())).collect();
            if !slot.differs(phase) && storage.is_empty() {
                return None;
            }
            let deployed = self.sources.get(address).filter(|(_, at)| phase.is_none_or(|phase| phase == *at));
            let deployed = deployed.map(|(source, _)| source.clone());
            let (before, after) = (*slot.before(phase), slot.current?);
            Some(Change { address: *address, before, after, deployed, storage })
        };
        self.accounts.iter().filter_map(change).collect()
    }

    fn note(&mut self, undo: impl FnOnce() -> Undo) {
        if let Some(journal) = &mut self.journal {
            journal.push(undo());
        }
    }

    fn slot(&mut self, address: &Address) -> Result<&mut Slot<Option<Account>>, StateError> {
        match self.accounts.entry(*address) {
            Place::Occupied(slot) => Ok(slot.into_mut()),
            Place::Vacant(vacant) => Ok(vacant.insert(Slot::new(self.base.account(address)?))),
        }
    }

    /// The slot of an entry. That of its account is made as well, since changes are found by account.
    fn entry_slot(&mut self, contract: &Address, key: &StorageKey) -> Result<&Slot<Entry>, StateError> {
        if !self.accounts.contains_key(contract) {
            self.slot(contract)?;
        }
        let slots = self.storage.entry(*contract).or_default();
        if slots.get(key).is_none() {
            let value = if self.sources.contains_key(contract) { None } else { self.base.entry(contract, key)? };
            slots.set(key.clone(), Slot::new(value.map(Arc::from)));
        }
        Ok(slots.get(key).unwrap_or(&UNKNOWN))
    }
}

/// An entry of which nothing is known.
const UNKNOWN: Slot<Entry> = Slot { initial: None, before_phase: None, phase: 0, current: None };

#[cfg(test)]
mod tests {
    use silica_protocol::Qa;

    use super::*;

    fn account(balance: u128) -> Account {
        Account { balance: Qa::new(balance), ..Account::default() }
    }

    fn address(byte: u8) -> Address {
        Address::new([byte; 20])
    }

    fn overlay() -> Overlay<BTreeMap<Address, Account>> {
        Overlay::new(BTreeMap::from([(address(1), account(10)), (address(2), account(20))]))
    }

    #[test]
    fn reads_see_writes_and_then_the_state_below() {
        let mut overlay = overlay();
        overlay.set(&address(1), account(11)).unwrap();
        assert_eq!(overlay.account(&address(1)).unwrap(), Some(account(11)));
        assert_eq!(overlay.account(&address(2)).unwrap(), Some(account(20)));
        assert_eq!(overlay.account(&address(3)).unwrap(), None);
    }

    #[test]
    fn what_was_only_read_or_written_back_is_no_change() {
        let mut overlay = overlay();
        overlay.account(&address(1)).unwrap();
        overlay.set(&address(2), account(21)).unwrap();
        overlay.set(&address(2), account(20)).unwrap();
        assert_eq!(overlay.changes(), []);
    }

    #[test]
    fn phases_count_from_what_the_phase_before_left() {
        let mut overlay = overlay();
        overlay.set(&address(1), account(11)).unwrap();
        overlay.set(&address(2), account(21)).unwrap();
        overlay.next_phase();
        assert_eq!(overlay.phase_changes(), []);
        overlay.set(&address(2), account(20)).unwrap();
        overlay.set(&address(3), account(1)).unwrap();
        let second = |byte, before, after| Change {
            address: address(byte),
            before,
            after,
            deployed: None,
            storage: BTreeMap::new(),
        };
        assert_eq!(overlay.phase_changes(), [second(2, Some(account(21)), account(20)), second(3, None, account(1))]);
        assert_eq!(
            overlay.changes(),
            [second(1, Some(account(10)), account(11)), second(3, None, account(1))],
            "the second account is again what it was"
        );
    }

    fn key(name: &str) -> StorageKey {
        StorageKey::entry(&address(1), "map", &[name])
    }

    fn below(overlay: &mut Overlay<BTreeMap<Address, Account>>) -> Vec<String> {
        let prefix = StorageKey::entry(&address(1), "map", &[] as &[&str]);
        let mut seen = Vec::new();
        let mut visit = |key: &StorageKey, _: &[u8]| {
            seen.push(key.to_string());
            ControlFlow::Continue(())
        };
        overlay.visit_below(&address(1), &prefix, &mut visit).unwrap();
        seen
    }

    #[test]
    fn what_was_written_since_a_mark_can_be_taken_back() {
        let mut overlay = overlay();
        overlay.set_entry(&address(1), &key("a"), Some(b"1")).unwrap();
        overlay.begin();
        overlay.set_entry(&address(1), &key("b"), Some(b"2")).unwrap();
        let mark = overlay.mark();
        overlay.set_entry(&address(1), &key("a"), None).unwrap();
        overlay.set_entry(&address(1), &key("c"), Some(b"3")).unwrap();
        overlay.set(&address(2), account(7)).unwrap();
        overlay.set_source(&address(3), Source { code: "c".into(), init: "[]".into() });
        assert_eq!(below(&mut overlay).len(), 2);
        overlay.revert(mark);
        overlay.end();
        assert_eq!(overlay.entry(&address(1), &key("a")).unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(overlay.account(&address(2)).unwrap(), Some(account(20)));
        assert_eq!(overlay.source(&address(3)).unwrap(), None);
        assert_eq!(below(&mut overlay), [key("a").to_string(), key("b").to_string()]);
        let changes = overlay.changes();
        assert_eq!(changes.len(), 1, "only the storage of the first account differs");
        assert_eq!(changes[0].storage.keys().collect::<Vec<_>>(), [&key("a"), &key("b")]);
    }

    #[test]
    fn entries_that_are_again_what_they_were_are_no_change() {
        let mut overlay = overlay();
        overlay.set_entry(&address(1), &key("a"), Some(b"1")).unwrap();
        overlay.set_entry(&address(1), &key("a"), None).unwrap();
        assert_eq!(overlay.changes(), []);
        assert_eq!(overlay.phase_changes(), []);
    }
}
