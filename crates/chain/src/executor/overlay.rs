//! The running state of a block: the writes of its transactions, over the state before the block.
//!
//! All writes to accounts, to entries of contract storage and to the texts of new contracts go through this module.
//! While a contract runs, a journal records its writes, so that all of them can be reverted ([ADR
//! 6](../../../../docs/adr/0006-journal-of-the-running-state.md)).

use std::{
    collections::{BTreeMap, btree_map::Entry as Place},
    mem,
    ops::ControlFlow,
    sync::Arc,
};

use silica_protocol::{Account, Address, BlockNumber, StorageKey, Timestamp};
use silica_state::{StateDiff, StateError};

use super::entries::{Entry, Known, Slot, Tree, UNKNOWN, end_of, parts};
use crate::accounts::{Source, StateReader, Visitor};

/// The accounts and contracts of a block in progress.
///
/// Each micro block is a phase, because the header of a micro block has the hash of the changes of this micro block.
#[derive(Debug)]
pub(crate) struct Overlay<W> {
    base: W,
    accounts: BTreeMap<Address, Slot<Option<Account>>>,
    storage: BTreeMap<Address, Tree>,
    /// Whether the current phase has removed whole maps.
    unsettled: bool,
    /// Contracts and libraries that this block deployed, with their phases.
    sources: BTreeMap<Address, (Source, u32)>,
    phase: u32,
    /// Values before each write, the latest last. `None` if no revert is possible.
    journal: Option<Vec<Undo>>,
}

/// The inverse of one write.
#[derive(Debug)]
enum Undo {
    Account(Address, Box<Slot<Option<Account>>>),
    Entry(Address, StorageKey, Slot<Entry>),
    /// The removal of all entries at and below a key. The list has the earlier boundaries of the tree nodes above the
    /// key.
    Removed(Address, StorageKey, Vec<Option<StorageKey>>),
    Source(Address),
}

/// A position in the journal to which the running state can revert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(usize);

/// The changes of one account: of the account itself, of its contract and of its storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) address: Address,
    pub(crate) before: Option<Account>,
    pub(crate) after: Account,
    /// Code and init data, if a contract or library was deployed to the account.
    pub(crate) deployed: Option<Source>,
    /// The changed entries of storage with their new values.
    pub(crate) storage: BTreeMap<StorageKey, Entry>,
}

impl<W: StateReader> Overlay<W> {
    /// Returns the state `base` without writes, in the first phase.
    pub(crate) fn new(base: W) -> Self {
        let (accounts, storage, sources) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { base, accounts, storage, unsettled: false, sources, phase: 1, journal: None }
    }

    /// Returns the account at `address`, or `None` if it does not exist.
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

    /// Returns the value of an entry of contract storage, or `None` if the entry does not exist.
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
        self.storage.entry(*contract).or_default().update(&parts(key), |tree| tree.set(slot));
        self.note(|| Undo::Entry(*contract, key.clone(), before));
        Ok(())
    }

    /// Removes all entries at and below `prefix`. The time does not depend on their number.
    pub(crate) fn remove_all(&mut self, contract: &Address, prefix: &StorageKey) -> Result<(), StateError> {
        if !self.accounts.contains_key(contract) {
            self.slot(contract)?;
        }
        let (tree, path) = (self.storage.entry(*contract).or_default(), parts(prefix));
        let passed = tree.passed_around(&path);
        tree.update(&path, Tree::remove);
        self.unsettled = true;
        self.note(|| Undo::Removed(*contract, prefix.clone(), passed));
        Ok(())
    }

    /// Visits the entries at and below `prefix` until the visitor ends the visit. Entries that this block has read or
    /// written come first.
    pub(crate) fn visit_below(
        &mut self,
        contract: &Address,
        prefix: &StorageKey,
        visit: Visitor<'_>,
    ) -> Result<(), StateError> {
        let tree = self.storage.entry(*contract).or_default();
        if let Some(below) = tree.at(&parts(prefix)) {
            let mut show = |key: &str, value: &[u8]| visit(&StorageKey::from_text(key.to_owned()), value);
            if below.visit_present(&mut prefix.as_str().to_owned(), &mut show).is_break() {
                return Ok(());
            }
        }
        self.visit_unknown(contract, prefix, visit)
    }

    /// Returns whether a map has entries. `prefix` is the key of the map.
    pub(crate) fn has_below(&mut self, contract: &Address, prefix: &StorageKey) -> Result<bool, StateError> {
        let tree = self.storage.entry(*contract).or_default();
        if tree.at(&parts(prefix)).is_some_and(Tree::has_below) {
            return Ok(true);
        }
        let mut has_any = false;
        self.visit_unknown(contract, prefix, &mut |key, _| {
            has_any = key != prefix;
            if has_any { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(has_any)
    }

    /// Visits the entries at and below `prefix` in the state before the block that this block has not read, written or
    /// removed. Marks them as read, so that each entry is visited in the state only once.
    fn visit_unknown(&mut self, contract: &Address, prefix: &StorageKey, visit: Visitor<'_>) -> Result<(), StateError> {
        let path = parts(prefix);
        let tree = self.storage.entry(*contract).or_default();
        // A contract that this block deployed has no entries in the state before it.
        if self.sources.contains_key(contract) || tree.is_removed(&path) {
            return Ok(());
        }
        let end = end_of(prefix, path.len());
        let mut from = tree.at(&path).and_then(Tree::passed).cloned();
        let mut enough = false;
        while from.as_ref() != Some(&end) && !enough {
            let mut next = end.clone();
            self.base.visit_entries(contract, prefix, from.as_ref(), &mut |key, value| {
                let path = parts(key);
                match tree.look(&path) {
                    Known::Slot(_) => return ControlFlow::Continue(()),
                    // A removed subtree is skipped in one step.
                    Known::Removed(depth) => {
                        next = end_of(key, depth);
                        return ControlFlow::Break(());
                    }
                    Known::Nothing => {}
                }
                tree.update(&path, |tree| tree.set(Slot::new(Some(value.into()))));
                let shown = visit(key, value);
                if shown.is_break() {
                    (next, enough) = (key.clone(), true);
                }
                shown
            })?;
            from = Some(next);
        }
        if let Some(passed) = from {
            tree.update(&path, |tree| tree.set_passed(passed));
        }
        Ok(())
    }

    /// Returns code and init data of a contract or library, or `None` if the address has none.
    pub(crate) fn source(&self, contract: &Address) -> Result<Option<Source>, StateError> {
        match self.sources.get(contract) {
            Some((source, _)) => Ok(Some(source.clone())),
            None => self.base.source(contract),
        }
    }

    /// Adds code and init data of a new contract or library. The caller writes the account.
    pub(crate) fn set_source(&mut self, contract: &Address, source: Source) {
        self.sources.insert(*contract, (source, self.phase));
        self.note(|| Undo::Source(*contract));
    }

    /// Returns the timestamp of an earlier block, or `None` if the block does not exist.
    pub(crate) fn block_time(&self, block: BlockNumber) -> Result<Option<Timestamp>, StateError> {
        self.base.block_time(block)
    }

    /// Begins the journal. Until [`end`](Self::end), writes can be reverted.
    pub(crate) fn begin(&mut self) -> Mark {
        self.journal = Some(Vec::new());
        Mark(0)
    }

    /// Returns the current position in the journal.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.journal.as_ref().map_or(0, Vec::len))
    }

    /// Reverts all writes after a position in the journal.
    pub(crate) fn revert(&mut self, to: Mark) {
        let Some(journal) = &mut self.journal else { return };
        while journal.len() > to.0 {
            match journal.pop() {
                Some(Undo::Account(address, slot)) => drop(self.accounts.insert(address, *slot)),
                Some(Undo::Entry(contract, key, slot)) => {
                    self.storage.entry(contract).or_default().update(&parts(&key), |tree| tree.set(slot));
                }
                Some(Undo::Removed(contract, prefix, passed)) => {
                    let (tree, path) = (self.storage.entry(contract).or_default(), parts(&prefix));
                    tree.update(&path, Tree::restore);
                    tree.reopen(&path, &prefix, &passed);
                }
                Some(Undo::Source(contract)) => drop(self.sources.remove(&contract)),
                None => {}
            }
        }
    }

    /// Ends the journal. The writes stay.
    pub(crate) fn end(&mut self) {
        self.journal = None;
    }

    /// Writes an edit as a separate phase.
    pub(crate) fn edit(&mut self, edits: &StateDiff) -> Result<(), StateError> {
        for (address, account) in &edits.accounts {
            self.set(address, *account)?;
        }
        for (contract, entries) in &edits.storage {
            for (key, value) in entries {
                self.set_entry(contract, key, value.as_deref())?;
            }
        }
        self.next_phase();
        Ok(())
    }

    /// Begins the phase of the next micro block.
    pub(crate) fn next_phase(&mut self) {
        self.phase = self.phase.saturating_add(1);
    }

    /// Returns the changes of the current phase, ascending by address. The caller must have ended the journal.
    pub(crate) fn phase_changes(&mut self) -> Result<Vec<Change>, StateError> {
        self.settle()?;
        Ok(self.changes_since(Some(self.phase)))
    }

    /// Returns the changes of the whole block, ascending by address. The caller must have ended the journal.
    pub(crate) fn changes(&mut self) -> Result<Vec<Change>, StateError> {
        self.settle()?;
        Ok(self.changes_since(None))
    }

    /// Finds the entries of removed maps.
    fn settle(&mut self) -> Result<(), StateError> {
        if !mem::take(&mut self.unsettled) {
            return Ok(());
        }
        for (contract, tree) in &mut self.storage {
            let is_new = self.sources.contains_key(contract);
            let base = |prefix: &StorageKey, visit: Visitor<'_>| {
                if is_new { Ok(()) } else { self.base.visit_entries(contract, prefix, None, visit) }
            };
            tree.settle(&mut whole(contract), self.phase, &base)?;
        }
        Ok(())
    }

    fn changes_since(&self, phase: Option<u32>) -> Vec<Change> {
        let change = |(address, slot): (&Address, &Slot<Option<Account>>)| {
            let mut storage = BTreeMap::new();
            if let Some(entries) = self.storage.get(address) {
                entries.visit_slots(&mut whole(address), &mut |key, slot| {
                    if slot.differs(phase) {
                        storage.insert(StorageKey::from_text(key.to_owned()), slot.current.clone());
                    }
                });
            }
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

    /// Returns the slot of an entry. Creates the slot of its account too, because [`changes`](Self::changes) iterates
    /// over accounts.
    fn entry_slot(&mut self, contract: &Address, key: &StorageKey) -> Result<&Slot<Entry>, StateError> {
        if !self.accounts.contains_key(contract) {
            self.slot(contract)?;
        }
        let (tree, path) = (self.storage.entry(*contract).or_default(), parts(key));
        let value = match tree.look(&path) {
            Known::Slot(_) => None,
            Known::Removed(_) => Some(None),
            Known::Nothing if self.sources.contains_key(contract) => Some(None),
            Known::Nothing => Some(self.base.entry(contract, key)?),
        };
        if let Some(value) = value {
            tree.update(&path, |tree| tree.set(Slot::new(value.map(Arc::from))));
        }
        Ok(match tree.look(&path) {
            Known::Slot(slot) => slot,
            Known::Removed(_) | Known::Nothing => &UNKNOWN,
        })
    }
}

/// Returns the prefix of all keys of a contract.
fn whole(contract: &Address) -> String {
    format!("{contract}{}", StorageKey::SEPARATOR)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use silica_protocol::{MapKey, Qa};

    use super::*;
    use crate::accounts::Accounts;

    fn account(balance: u128) -> Account {
        Account::with_balance(Qa::new(balance))
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
    fn account_that_keeps_its_value_is_no_change() {
        let mut overlay = overlay();
        overlay.account(&address(1)).unwrap();
        overlay.set(&address(2), account(21)).unwrap();
        overlay.set(&address(2), account(20)).unwrap();
        assert_eq!(overlay.changes().unwrap(), []);
    }

    #[test]
    fn phases_count_from_what_the_phase_before_left() {
        let mut overlay = overlay();
        overlay.set(&address(1), account(11)).unwrap();
        overlay.set(&address(2), account(21)).unwrap();
        overlay.next_phase();
        assert_eq!(overlay.phase_changes().unwrap(), []);
        overlay.set(&address(2), account(20)).unwrap();
        overlay.set(&address(3), account(1)).unwrap();
        let second = |byte, before, after| Change {
            address: address(byte),
            before,
            after,
            deployed: None,
            storage: BTreeMap::new(),
        };
        assert_eq!(
            overlay.phase_changes().unwrap(),
            [second(2, Some(account(21)), account(20)), second(3, None, account(1))]
        );
        assert_eq!(
            overlay.changes().unwrap(),
            [second(1, Some(account(10)), account(11)), second(3, None, account(1))],
            "the second account is again what it was"
        );
    }

    fn key(name: &str) -> StorageKey {
        StorageKey::metadata(&address(1), "map", [name])
    }

    fn below(overlay: &mut Overlay<BTreeMap<Address, Account>>) -> Vec<String> {
        let prefix = StorageKey::field(&address(1), "map");
        let mut seen = Vec::new();
        let mut visit = |key: &StorageKey, _: &[u8]| {
            seen.push(key.to_string());
            ControlFlow::Continue(())
        };
        overlay.visit_below(&address(1), &prefix, &mut visit).unwrap();
        seen
    }

    #[test]
    fn revert_to_a_mark_removes_later_writes() {
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
        let changes = overlay.changes().unwrap();
        assert_eq!(changes.len(), 1, "only the storage of the first account differs");
        assert_eq!(changes[0].storage.keys().collect::<Vec<_>>(), [&key("a"), &key("b")]);
    }

    #[test]
    fn entries_that_are_again_what_they_were_are_no_change() {
        let mut overlay = overlay();
        overlay.set_entry(&address(1), &key("a"), Some(b"1")).unwrap();
        overlay.set_entry(&address(1), &key("a"), None).unwrap();
        assert_eq!(overlay.changes().unwrap(), []);
        assert_eq!(overlay.phase_changes().unwrap(), []);
    }

    const CONTRACT: Address = Address::new([9; 20]);

    /// A state with one contract that counts the reads of entries.
    #[derive(Default)]
    struct Stored {
        entries: BTreeMap<StorageKey, Vec<u8>>,
        reads: Cell<usize>,
    }

    impl Stored {
        fn ask(&self) {
            self.reads.set(self.reads.get().saturating_add(1));
        }
    }

    impl Accounts for Stored {
        fn account(&self, _: &Address) -> Result<Option<Account>, StateError> {
            Ok(Some(Account::default()))
        }
    }

    impl StateReader for Stored {
        fn entry(&self, _: &Address, key: &StorageKey) -> Result<Option<Vec<u8>>, StateError> {
            self.ask();
            Ok(self.entries.get(key).cloned())
        }

        fn visit_entries(
            &self,
            _: &Address,
            prefix: &StorageKey,
            from: Option<&StorageKey>,
            visit: Visitor<'_>,
        ) -> Result<(), StateError> {
            let entries = self.entries.range(from.unwrap_or(prefix).max(prefix)..);
            for (key, value) in entries.take_while(|(key, _)| key.as_str().starts_with(prefix.as_str())) {
                self.ask();
                if visit(key, value).is_break() {
                    break;
                }
            }
            Ok(())
        }

        fn source(&self, _: &Address) -> Result<Option<Source>, StateError> {
            Ok(None)
        }

        fn block_time(&self, _: BlockNumber) -> Result<Option<Timestamp>, StateError> {
            Ok(None)
        }
    }

    fn at(path: &[&str]) -> StorageKey {
        let (field, keys) = path.split_first().unwrap();
        StorageKey::map_entry(&CONTRACT, field, keys.iter().map(|key| MapKey::string(key)))
    }

    fn found(overlay: &mut Overlay<Stored>, prefix: &StorageKey, most: usize) -> BTreeMap<StorageKey, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut visit = |key: &StorageKey, value: &[u8]| {
            assert!(found.insert(key.clone(), value.to_vec()).is_none(), "{key} is shown twice");
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        overlay.visit_below(&CONTRACT, prefix, &mut visit).unwrap();
        found
    }

    #[derive(Clone, Debug)]
    enum Step {
        Set(StorageKey, Option<u8>),
        Remove(StorageKey),
        Look(StorageKey, usize),
        Mark,
        Revert,
        End,
        Phase,
    }

    fn path() -> impl Strategy<Value = StorageKey> {
        let part = || prop::sample::select(vec!["a", "b", "c"]);
        let field = prop::sample::select(vec!["m", "m", "ma"]);
        (field, prop::collection::vec(part(), 0..4)).prop_map(|(field, mut path)| {
            path.insert(0, field);
            at(&path)
        })
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (path(), any::<Option<u8>>()).prop_map(|(key, value)| Step::Set(key, value)),
            3 => path().prop_map(Step::Remove),
            4 => (path(), 1..5_usize).prop_map(|(key, most)| Step::Look(key, most)),
            2 => Just(Step::Mark),
            2 => Just(Step::Revert),
            1 => Just(Step::End),
            1 => Just(Step::Phase),
        ]
    }

    type Model = BTreeMap<StorageKey, Vec<u8>>;

    fn check_changes(changes: &[Change], before: &Model, now: &Model) {
        let differ = before.keys().chain(now.keys()).filter(|key| before.get(key) != now.get(key));
        let expected: BTreeMap<_, _> =
            differ.map(|key| (key.clone(), now.get(key).map(|value| Arc::from(value.as_slice())))).collect();
        let got: Vec<_> = changes.iter().map(|change| &change.storage).collect();
        assert_eq!(got, Vec::from_iter((!expected.is_empty()).then_some(&expected)));
    }

    proptest! {
        #[test]
        fn entries_are_those_of_a_plain_map(
            base in prop::collection::btree_map(path(), any::<u8>().prop_map(|byte| vec![byte]), 0..20),
            steps in prop::collection::vec(step(), 0..60),
        ) {
            let mut overlay = Overlay::new(Stored { entries: base.clone(), reads: Cell::new(0) });
            let (mut now, mut phase, mut marks) = (base.clone(), base.clone(), Vec::new());
            for step in steps {
                match step {
                    Step::Set(key, value) => {
                        overlay.set_entry(&CONTRACT, &key, value.as_ref().map(std::slice::from_ref)).unwrap();
                        drop(match value {
                            Some(value) => now.insert(key, vec![value]),
                            None => now.remove(&key),
                        });
                    }
                    Step::Remove(prefix) => {
                        overlay.remove_all(&CONTRACT, &prefix).unwrap();
                        now.retain(|key, _| !key.as_str().starts_with(prefix.as_str()));
                    }
                    Step::Look(prefix, most) => {
                        let expected: Model =
                            now.clone().into_iter().filter(|(key, _)| key.as_str().starts_with(prefix.as_str())).collect();
                        let some = found(&mut overlay, &prefix, most);
                        prop_assert!(some.len() == most.min(expected.len()) && some.iter().all(|it| expected.get(it.0) == Some(it.1)));
                        let has_below = expected.keys().any(|key| *key != prefix);
                        prop_assert_eq!(overlay.has_below(&CONTRACT, &prefix).unwrap(), has_below);
                        let entry = overlay.entry(&CONTRACT, &prefix).unwrap();
                        prop_assert_eq!(entry.as_deref(), now.get(&prefix).map(Vec::as_slice));
                        prop_assert_eq!(found(&mut overlay, &prefix, usize::MAX), expected);
                    }
                    Step::Mark => {
                        let mark = if marks.is_empty() { overlay.begin() } else { overlay.mark() };
                        marks.push((mark, now.clone()));
                    }
                    Step::Revert => if let Some((mark, then)) = marks.pop() {
                        overlay.revert(mark);
                        now = then;
                    },
                    Step::End => {
                        overlay.end();
                        marks.clear();
                    }
                    Step::Phase => {
                        overlay.end();
                        marks.clear();
                        check_changes(&overlay.phase_changes().unwrap(), &phase, &now);
                        overlay.next_phase();
                        phase.clone_from(&now);
                    }
                }
            }
            overlay.end();
            check_changes(&overlay.phase_changes().unwrap(), &phase, &now);
            check_changes(&overlay.changes().unwrap(), &base, &now);
        }
    }

    /// A failed transaction pays for its reads. Its gas does not depend on the size of a removed map.
    #[test]
    fn revert_of_the_removal_of_a_large_map_reads_no_entry() {
        let entries: Model = (0..5000).map(|at_| (at(&["m", "x", &format!("{at_:05}")]), vec![1])).collect();
        let mut overlay = Overlay::new(Stored { entries: entries.clone(), reads: Cell::new(0) });
        let (map, outer) = (at(&["m", "x"]), at(&["m"]));
        for prefix in [&map, &outer] {
            for _ in 0..100 {
                let before = overlay.begin();
                overlay.remove_all(&CONTRACT, prefix).unwrap();
                assert!(!overlay.has_below(&CONTRACT, &map).unwrap());
                assert!(!overlay.has_below(&CONTRACT, &outer).unwrap());
                overlay.set_entry(&CONTRACT, &at(&["m", "x", "00007"]), Some(b"2")).unwrap();
                assert_eq!(found(&mut overlay, &outer, 9).len(), 1);
                overlay.revert(before);
                overlay.end();
            }
        }
        assert!(overlay.base.reads.get() <= 400, "{} questions", overlay.base.reads.get());
        assert_eq!(found(&mut overlay, &outer, usize::MAX), entries);
        assert_eq!(overlay.changes().unwrap(), []);
    }

    /// One transaction removes many entries and pays for them. Later transactions pay only for their own reads.
    #[test]
    fn removed_entries_are_skipped_once() {
        let entries: Model = (0..1000).map(|at_| (at(&["m", &format!("{at_:04}")]), vec![1])).collect();
        let mut overlay = Overlay::new(Stored { entries: entries.clone(), reads: Cell::new(0) });
        for key in entries.keys().skip(1).take(900) {
            overlay.set_entry(&CONTRACT, key, None).unwrap();
        }
        overlay.base.reads.set(0);
        for _ in 0..100 {
            let before = overlay.begin();
            assert_eq!(found(&mut overlay, &at(&["m"]), 3).len(), 3);
            overlay.remove_all(&CONTRACT, &at(&["m", "0000"])).unwrap();
            assert!(overlay.has_below(&CONTRACT, &at(&["m"])).unwrap());
            overlay.revert(before);
            overlay.end();
        }
        assert!(overlay.base.reads.get() <= 1200, "{} questions", overlay.base.reads.get());
    }
}
