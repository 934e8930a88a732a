//! Keys in memory that blocks since the newest checkpoint have added or removed.

use std::{collections::BTreeMap, ops::Bound};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use silica_protocol::Address;

use super::{KeyChanges, Limit, Span, Taken, after};
use crate::version::Version;

/// Changes of keys since the newest checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Recent(RwLock<Noted>);

#[derive(Debug, Default)]
struct Noted {
    contracts: Contracts,
    /// The undo log. It exists from the first [`Recent::remember`] until the next checkpoint.
    undo: Option<Undo>,
}

type Contracts = BTreeMap<Address, BTreeMap<Box<str>, Fate>>;

/// The undo log: earlier changes of keys.
#[derive(Debug)]
struct Undo {
    /// The log has the changes of all versions after `since`.
    since: Version,
    /// The changes in order, the oldest first. An item has the version that changed a key, the key, and the earlier
    /// change of the key.
    before: Vec<(Version, Address, Box<str>, Option<Fate>)>,
}

/// The changes of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    /// The first version that had the key, if no checkpoint has written the key yet.
    added: Option<Version>,
    /// The version that removed the key, unless a later version added it again.
    gone: Option<Version>,
}

impl Noted {
    /// Changes a key, and records the earlier change in the undo log.
    fn change(&mut self, version: Version, contract: Address, key: Box<str>, change: impl FnOnce(&mut Fate)) {
        let keys = self.contracts.entry(contract).or_default();
        if let Some(undo) = &mut self.undo {
            undo.before.push((version, contract, key.clone(), keys.get(&key).copied()));
        }
        change(keys.entry(key).or_default());
    }
}

/// The keys of one step of a checkpoint.
#[derive(Debug)]
pub(super) struct Portion {
    /// Keys to write.
    pub added: Vec<(Address, Box<str>)>,
    /// Keys to list for removal.
    pub gone: Vec<(Address, Box<str>)>,
    /// The beginning of the next portion.
    pub next: (Address, String),
}

impl Recent {
    fn read(&self) -> RwLockReadGuard<'_, Noted> {
        self.0.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Noted> {
        self.0.write()
    }

    pub(super) fn note(&self, version: Version, changes: KeyChanges) {
        if changes.added.is_empty() && changes.gone.is_empty() {
            return;
        }
        let mut noted = self.write();
        for (contract, key) in changes.added {
            noted.change(version, contract, key, |fate| {
                // `added` stays: a checkpoint may be of a version before the removal.
                fate.added = fate.added.or(Some(version));
                fate.gone = None;
            });
        }
        for (contract, key) in changes.gone {
            noted.change(version, contract, key, |fate| fate.gone = Some(version));
        }
    }

    /// Starts the undo log of versions after `version`. Does nothing if the undo log exists. `version` must be the
    /// newest version. The next checkpoint removes the log.
    pub(super) fn remember(&self, version: Version) {
        self.write().undo.get_or_insert(Undo { since: version, before: Vec::new() });
    }

    /// Undoes the changes of versions after `version`. Returns `false` if the undo log does not reach back to
    /// `version`.
    pub(super) fn undo_after(&self, version: Version) -> bool {
        let Noted { contracts, undo } = &mut *self.write();
        let Some(undo) = undo.as_mut().filter(|undo| undo.since <= version) else { return false };
        while let Some((_, contract, key, before)) = undo.before.pop_if(|(at, ..)| *at > version) {
            let keys = contracts.entry(contract).or_default();
            match before {
                Some(fate) => keys.insert(key, fate),
                None => keys.remove(&key),
            };
            if keys.is_empty() {
                contracts.remove(&contract);
            }
        }
        true
    }

    /// Adds keys of states that were computed again after a restart. No checkpoint writes them.
    pub(crate) fn note_added(&self, version: Version, changes: KeyChanges) {
        self.note(version, KeyChanges { gone: Vec::new(), ..changes });
    }

    /// Returns the first keys of a span, up to the key before `until` if it is given.
    pub(super) fn take(&self, span: Span<'_>, until: Option<&str>, limit: Limit) -> Taken {
        let noted = self.read();
        let keys = noted.contracts.get(span.contract);
        let range = (Bound::Included(span.from), until.map_or(Bound::Unbounded, Bound::Excluded));
        let keys = keys.into_iter().flat_map(|keys| keys.range::<str, _>(range));
        let mut taken = Taken::new(limit);
        for (key, _) in keys.take_while(|(key, _)| key.starts_with(span.prefix)) {
            if !taken.has_room() {
                break;
            }
            taken.push(key);
        }
        taken
    }

    pub(super) fn has(&self, contract: &Address, key: &str) -> bool {
        self.read().contracts.get(contract).is_some_and(|keys| keys.contains_key(key))
    }

    /// Returns the keys that a checkpoint of `version` writes or lists, from `from` on. Returns `None` if no key is
    /// left.
    pub(super) fn due(&self, version: Version, from: Option<&(Address, String)>, limit: Limit) -> Option<Portion> {
        let noted = self.read();
        let (first, place) = from.map_or((Address::ZERO, ""), |(contract, key)| (*contract, key.as_str()));
        let keys = noted.contracts.range(first..).flat_map(|(contract, keys)| {
            let place = if *contract == first { place } else { "" };
            let range = (Bound::Included(place), Bound::Unbounded);
            keys.range::<str, _>(range).map(move |(key, fate)| (contract, key, fate))
        });
        let mut portion: Option<Portion> = None;
        let mut bytes = 0_usize;
        for (contract, key, fate) in keys.take(limit.keys) {
            let (added, gone) = (fate.added.is_some_and(|at| at <= version), fate.gone.is_some_and(|at| at <= version));
            let next = (*contract, after(key.to_string()));
            let portion = portion.get_or_insert(Portion {
                added: Vec::new(),
                gone: Vec::new(),
                next: (*contract, String::new()),
            });
            portion.next = next;
            match (added, gone) {
                (_, true) => portion.gone.push((*contract, key.clone())),
                (true, false) => portion.added.push((*contract, key.clone())),
                (false, false) => {}
            }
            bytes = bytes.saturating_add(key.len());
            if bytes >= limit.bytes {
                break;
            }
        }
        portion
    }

    /// Removes written keys from memory, except keys that a version has removed. Also removes the undo log.
    pub(super) fn written(&self, keys: &[(Address, Box<str>)]) {
        let Noted { contracts, undo } = &mut *self.write();
        *undo = None;
        for (contract, key) in keys {
            let Some(fates) = contracts.get_mut(contract) else { continue };
            if let Some(fate) = fates.get_mut(key) {
                fate.added = None;
                if fate.gone.is_none() {
                    fates.remove(key);
                }
            }
            if fates.is_empty() {
                contracts.remove(contract);
            }
        }
    }

    /// Removes from memory the keys that no version from `floor` on has. Also removes the undo log.
    pub(super) fn release(&self, floor: Version) {
        let Noted { contracts, undo } = &mut *self.write();
        *undo = None;
        contracts.retain(|_, keys| {
            keys.retain(|_, fate| fate.gone.is_none_or(|gone| gone > floor));
            !keys.is_empty()
        });
    }
}
