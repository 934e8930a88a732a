//! The entries of the current heights: their bytes, and the verdicts of this member.

use std::{collections::BTreeMap, sync::Arc};

use arc_malachitebft_app::consensus::ProposedValue;
use silica_council::Height;

use crate::{
    context::Ctx,
    part::{Complete, EntryHeader},
    types::{EngineHeight, EngineSignature, ValueId},
};

/// Largest number of entries of a height.
const MOST: usize = 16;
/// Largest number of entries of one round. An honest proposer has one.
const OF_ROUND: usize = 2;
/// Largest number of entries of one proposer that are early.
const EARLY: usize = 2;

/// An entry on which this member has a verdict.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) value: ProposedValue<Ctx>,
    pub(crate) bytes: Arc<[u8]>,
    /// The header of its proposer, with which the entry is sent again; `None` if it came from value sync.
    pub(crate) header: Option<(EntryHeader, EngineSignature)>,
}

/// The entries of the current heights.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The height and round of the engine.
    pub(crate) at: (EngineHeight, u32),
    /// The highest height of which an entry has arrived.
    pub(crate) seen: u64,
    known: BTreeMap<(EngineHeight, ValueId), Known>,
    /// Complete entries that this member does not judge yet, because it has not reached their height or round, with their
    /// proposers.
    early: Vec<(usize, Complete)>,
    /// The decided body whose seal is due.
    pub(crate) decided: Option<(Height, Arc<[u8]>)>,
}

impl Table {
    /// Begins a round, and drops the entries of lower heights. Returns the verdicts on the entries of the height, and
    /// the entries that are not judged yet.
    pub(crate) fn start_round(&mut self, height: EngineHeight, round: u32) -> (Vec<ProposedValue<Ctx>>, Vec<Complete>) {
        self.at = (height, round);
        self.known.retain(|(at, _), _| *at >= height);
        let early = std::mem::take(&mut self.early).into_iter().filter(|(_, it)| it.header.height >= height.0);
        let (due, early) = early.partition(|(_, it)| !self.is_early(&it.header));
        self.early = early;
        let values = self.known.iter().filter(|((at, _), _)| *at == height).map(|(_, known)| known.value.clone());
        (values.collect(), Vec::into_iter(due).map(|(_, it)| it).collect())
    }

    /// Returns whether an entry belongs to a later height, or to a round after the next one. A proposer can send entries
    /// of all its rounds at once, and their execution takes time.
    pub(crate) fn is_early(&self, header: &EntryHeader) -> bool {
        let (height, round) = self.at;
        header.height > height.0 || header.height == height.0 && header.round > round.saturating_add(1)
    }

    /// Returns whether the round of an entry has too many entries.
    pub(crate) fn is_full(&self, header: &EntryHeader) -> bool {
        let others = self.known.values().filter_map(|known| known.header.as_ref());
        let same =
            others.filter(|(it, _)| it.height == header.height && it.round == header.round && it.id != header.id);
        same.count() >= OF_ROUND
    }

    /// Adds an entry. If the height has too many, an invalid one or the one of the lowest round makes room.
    pub(crate) fn add(&mut self, known: Known) {
        let key = (known.value.height, known.value.value);
        let same: Vec<_> = self.known.iter().filter(|((height, _), _)| *height == key.0).collect();
        if same.len() >= MOST && !self.known.contains_key(&key) {
            let oldest = same.into_iter().min_by_key(|(_, it)| (it.value.validity.is_valid(), it.value.round));
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                self.known.remove(&oldest);
            }
        }
        self.known.insert(key, known);
    }

    /// Keeps an early entry. If its proposer has too many of them, the first one makes room.
    pub(crate) fn add_early(&mut self, proposer: usize, complete: Complete) {
        let mut same = self.early.iter().enumerate().filter(|(_, (other, _))| *other == proposer).map(|(at, _)| at);
        let first = same.next();
        if same.count() >= EARLY.saturating_sub(1)
            && let Some(first) = first
        {
            self.early.remove(first);
        }
        self.early.push((proposer, complete));
    }

    /// Returns an entry, if it is known.
    pub(crate) fn get(&self, height: EngineHeight, id: ValueId) -> Option<&Known> {
        self.known.get(&(height, id))
    }

    /// Returns the entry with this id.
    pub(crate) fn with_id(&self, id: ValueId) -> Option<&Known> {
        self.known.iter().find(|((_, known), _)| *known == id).map(|(_, known)| known)
    }
}
