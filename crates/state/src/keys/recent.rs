//! Keys in memory that blocks since the newest checkpoint have added or removed.

use std::{collections::BTreeMap, ops::Bound};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use silica_protocol::Address;

use super::{KeyChanges, Limit, Span, Taken, after};
use crate::version::Version;

/// What blocks have done to keys.
#[derive(Debug, Default)]
pub(crate) struct Recent(RwLock<Noted>);

#[derive(Debug, Default)]
struct Noted {
    contracts: Contracts,
    /// What is needed to undo blocks, as long as someone may want to and no checkpoint comes between.
    undo: Option<Undo>,
}

type Contracts = BTreeMap<Address, BTreeMap<Box<str>, Fate>>;

/// What was known of keys before blocks changed that.
#[derive(Debug)]
struct Undo {
    /// The changes of all versions after this one can be undone.
    since: Version,
    /// The oldest first: the version that changed something, and what there was before.
    before: Vec<(Version, Address, Box<str>, Option<Fate>)>,
}

/// What became of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    /// The first version that had it, if it is perhaps not on disk yet.
    added: Option<Version>,
    /// The version that has it no more, unless a later one has it again.
    gone: Option<Version>,
}

impl Noted {
    /// Changes what is known of a key.
    fn change(&mut self, version: Version, contract: Address, key: Box<str>, change: impl FnOnce(&mut Fate)) {
        let keys = self.contracts.entry(contract).or_default();
        if let Some(undo) = &mut self.undo {
            undo.before.push((version, contract, key.clone(), keys.get(&key).copied()));
        }
        change(keys.entry(key).or_default());
    }
}

/// What a checkpoint is to do with some keys.
#[derive(Debug)]
pub(super) struct Portion {
    /// To be written.
    pub added: Vec<(Address, Box<str>)>,
    /// To be listed for removal.
    pub gone: Vec<(Address, Box<str>)>,
    /// Where the next portion begins.
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
                // A checkpoint may be of a version before it was gone.
                fate.added = fate.added.or(Some(version));
                fate.gone = None;
            });
        }
        for (contract, key) in changes.gone {
            noted.change(version, contract, key, |fate| fate.gone = Some(version));
        }
    }

    /// Makes it possible to undo what versions after `version`, the newest, will do, until a checkpoint is written.
    pub(super) fn remember(&self, version: Version) {
        self.write().undo.get_or_insert(Undo { since: version, before: Vec::new() });
    }

    /// Forgets what versions after one have done, and says whether that was possible.
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

    /// Notes keys that are never written, for states that are made again.
    pub(crate) fn note_added(&self, version: Version, changes: KeyChanges) {
        self.note(version, KeyChanges { gone: Vec::new(), ..changes });
    }

    /// Returns the first keys of a span, those before `until` if that is given.
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

    /// Returns what a checkpoint of a version is to do with the keys from some place on, or `None` when there are none.
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

    /// Forgets keys that are on disk now, but for those that are gone again.
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

    /// Forgets keys that no version from `floor` on has.
    pub(super) fn release(&self, floor: Version) {
        let Noted { contracts, undo } = &mut *self.write();
        *undo = None;
        contracts.retain(|_, keys| {
            keys.retain(|_, fate| fate.gone.is_none_or(|gone| gone > floor));
            !keys.is_empty()
        });
    }
}
