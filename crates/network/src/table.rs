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
    /// Complete entries that this member could not judge yet, because it has not reached their height.
    early: Vec<Complete>,
    /// The decided body whose seal is due.
    pub(crate) decided: Option<(Height, Arc<[u8]>)>,
}

impl Table {
    /// Begins a round, and drops the entries of lower heights. Returns the verdicts on the entries of the height, and
    /// the entries that are not judged yet.
    pub(crate) fn start_round(&mut self, height: EngineHeight, round: u32) -> (Vec<ProposedValue<Ctx>>, Vec<Complete>) {
        self.at = (height, round);
        self.known.retain(|(at, _), _| *at >= height);
        let (due, early) = std::mem::take(&mut self.early).into_iter().partition(|it| it.header.height <= height.0);
        self.early = early;
        let values = self.known.iter().filter(|((at, _), _)| *at == height).map(|(_, known)| known.value.clone());
        (values.collect(), Vec::into_iter(due).filter(|it| it.header.height == height.0).collect())
    }

    /// Adds an entry, unless the height has too many.
    pub(crate) fn add(&mut self, known: Known) {
        let key = (known.value.height, known.value.value);
        let same = self.known.keys().filter(|(height, _)| *height == key.0).count();
        if same < MOST || self.known.contains_key(&key) {
            self.known.insert(key, known);
        }
    }

    /// Keeps an entry of a later height.
    pub(crate) fn add_early(&mut self, complete: Complete) {
        if self.early.len() < MOST {
            self.early.push(complete);
        }
    }

    /// Returns whether a complete entry is known or waits.
    pub(crate) fn get(&self, height: EngineHeight, id: ValueId) -> Option<&Known> {
        self.known.get(&(height, id))
    }

    /// Returns the entry with this id.
    pub(crate) fn with_id(&self, id: ValueId) -> Option<&Known> {
        self.known.iter().find(|((_, known), _)| *known == id).map(|(_, known)| known)
    }
}
