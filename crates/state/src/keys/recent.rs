//! Keys that blocks since the newest checkpoint have added or removed, in memory.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use silica_protocol::Address;

use super::{KeyChanges, Limit, Span, Taken, after};
use crate::forest::tree::Version;

/// What blocks have done to keys.
#[derive(Debug, Default)]
pub(crate) struct Recent(RwLock<Contracts>);

type Contracts = BTreeMap<Address, BTreeMap<Box<str>, Fate>>;

/// What became of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    /// The first version that had it, if it is perhaps not on disk yet.
    added: Option<Version>,
    /// The version that has it no more, unless a later one has it again.
    gone: Option<Version>,
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
    fn read(&self) -> RwLockReadGuard<'_, Contracts> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Contracts> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, version: Version, changes: KeyChanges) {
        if changes.added.is_empty() && changes.gone.is_empty() {
            return;
        }
        let mut contracts = self.write();
        for (contract, key) in changes.added {
            let fate = contracts.entry(contract).or_default().entry(key).or_default();
            // A checkpoint may be of a version before it was gone.
            fate.added = fate.added.or(Some(version));
            fate.gone = None;
        }
        for (contract, key) in changes.gone {
            contracts.entry(contract).or_default().entry(key).or_default().gone = Some(version);
        }
    }

    /// Notes keys that are never written, for states that are made again.
    pub(crate) fn note_added(&self, version: Version, changes: KeyChanges) {
        self.note(version, KeyChanges { gone: Vec::new(), ..changes });
    }

    /// Returns the first keys of a span, those before `until` if that is given.
    pub(super) fn take(&self, span: Span<'_>, until: Option<&str>, limit: Limit) -> Taken {
        let contracts = self.read();
        let keys = contracts.get(span.contract);
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
        self.read().get(contract).is_some_and(|keys| keys.contains_key(key))
    }

    /// Returns what a checkpoint of a version is to do with the keys from some place on, or `None` when there are none.
    pub(super) fn due(&self, version: Version, from: Option<&(Address, String)>, limit: Limit) -> Option<Portion> {
        let contracts = self.read();
        let (first, place) = from.map_or((Address::ZERO, ""), |(contract, key)| (*contract, key.as_str()));
        let keys = contracts.range(first..).flat_map(|(contract, keys)| {
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
        let mut contracts = self.write();
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
        self.write().retain(|_, keys| {
            keys.retain(|_, fate| fate.gone.is_none_or(|gone| gone > floor));
            !keys.is_empty()
        });
    }
}
