//! The entries of the current heights: their bytes, and the verdicts of this member.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arc_malachitebft_app::{consensus::ProposedValue, types::core::Validity};
use silica_council::Height;

use crate::{
    context::Ctx,
    part::{Complete, EntryHeader},
    types::{EngineHeight, ValueId},
};

/// Largest number of entries of a height.
const MOST: usize = 16;
/// Largest number of entries of one round. A correct proposer has one.
const OF_ROUND: usize = 2;
/// Largest number of early entries from one proposer.
const EARLY: usize = 2;

/// An entry on which this member has a verdict.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) value: ProposedValue<Ctx>,
    pub(crate) bytes: Arc<[u8]>,
    /// The header of its proposer; `None` if it came from value sync.
    pub(crate) header: Option<EntryHeader>,
}

/// The entries of the current heights.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The height and round of the engine.
    pub(crate) at: (EngineHeight, u32),
    /// The highest height of which an entry has arrived.
    pub(crate) seen: u64,
    known: BTreeMap<(EngineHeight, ValueId), Known>,
    /// The headers of entries with a verdict.
    judged: BTreeSet<EntryHeader>,
    /// Complete entries that this member does not judge yet, because it has not reached their height or round.
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
        self.judged.retain(|header| header.height >= height.0);
        let early = std::mem::take(&mut self.early).into_iter().filter(|it| it.header.height >= height.0);
        let (due, early) = early.partition(|it| it.header.height == height.0 && !self.is_early(&it.header));
        self.early = early;
        let values = self.known.iter().filter(|((at, _), _)| *at == height).map(|(_, known)| known.value.clone());
        (values.collect(), due)
    }

    /// Returns whether an entry belongs to a round or a height after the next one. A proposer can send entries of all
    /// its rounds at once, and their execution takes time. An entry of the first two rounds of the next height is not
    /// early: its execution can begin before the height.
    pub(crate) fn is_early(&self, header: &EntryHeader) -> bool {
        let (height, round) = self.at;
        match header.height.checked_sub(height.0) {
            None => false,
            Some(0) => header.round > round.saturating_add(1),
            Some(1) => header.round > 1,
            Some(_) => true,
        }
    }

    /// Returns whether the round of an entry has too many entries.
    pub(crate) fn is_full(&self, header: &EntryHeader) -> bool {
        let others = self.known.values().filter_map(|known| known.header.as_ref());
        let same = others.filter(|it| it.height == header.height && it.round == header.round && it.id != header.id);
        same.count() >= OF_ROUND
    }

    /// Returns the verdict on an entry, if a repetition would have the same verdict. An invalid entry is invalid in all
    /// rounds. In another round, the timestamp of a valid entry can be too old.
    pub(crate) fn verdict(&self, header: &EntryHeader) -> Option<Validity> {
        let known = self.get(EngineHeight(header.height), ValueId(header.id))?;
        let validity = known.value.validity;
        (!validity.is_valid() || self.judged.contains(header)).then_some(validity)
    }

    /// Adds an entry. If the height has too many entries, removes an invalid entry, or else the entry of the lowest
    /// round.
    pub(crate) fn add(&mut self, known: Known) {
        let key = (known.value.height, known.value.value);
        let same: Vec<_> = self.known.iter().filter(|((height, _), _)| *height == key.0).collect();
        if same.len() >= MOST && !self.known.contains_key(&key) {
            let oldest = same.into_iter().min_by_key(|(_, it)| (it.value.validity.is_valid(), it.value.round));
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                self.known.remove(&oldest);
            }
        }
        self.judged.extend(known.header.clone());
        self.known.insert(key, known);
    }

    /// Adds an early entry. If its proposer has too many of them, removes the oldest of them.
    pub(crate) fn add_early(&mut self, complete: Complete) {
        let is_same = |(at, it): (usize, &Complete)| (it.proposer == complete.proposer).then_some(at);
        let mut same = self.early.iter().enumerate().filter_map(is_same);
        let first = same.next();
        if same.count() >= EARLY.saturating_sub(1)
            && let Some(first) = first
        {
            self.early.remove(first);
        }
        self.early.push(complete);
    }

    /// Takes an early entry.
    pub(crate) fn take_early(&mut self, header: &EntryHeader) -> Option<Complete> {
        let at = self.early.iter().position(|it| it.header == *header)?;
        Some(self.early.remove(at))
    }

    /// Returns whether the journal has the decided body of a height, and its block is not committed.
    pub(crate) fn has_decided(&self, height: EngineHeight) -> bool {
        self.decided.as_ref().is_some_and(|(at, _)| EngineHeight::from(*at) == height)
    }

    /// Returns an entry; `None` if the table does not have it.
    pub(crate) fn get(&self, height: EngineHeight, id: ValueId) -> Option<&Known> {
        self.known.get(&(height, id))
    }
}

#[cfg(test)]
mod tests {
    use arc_malachitebft_app::types::core::Round;

    use super::*;
    use crate::types::MemberIndex;

    fn header(height: u64, round: u32, id: u8) -> EntryHeader {
        EntryHeader { height, round, valid_round: None, id: [id; 32], len: 0 }
    }

    fn complete(proposer: usize, height: u64, round: u32, id: u8) -> Complete {
        Complete { proposer, header: header(height, round, id), bytes: [].into() }
    }

    fn known(height: u64, round: u32, id: u8, validity: Validity) -> Known {
        let value = ProposedValue {
            height: EngineHeight(height),
            round: Round::new(round),
            valid_round: Round::Nil,
            proposer: MemberIndex(0),
            value: ValueId([id; 32]),
            validity,
        };
        Known { value, bytes: [].into(), header: Some(header(height, round, id)) }
    }

    fn has(table: &Table, id: u8) -> bool {
        table.get(EngineHeight(5), ValueId([id; 32])).is_some()
    }

    #[test]
    fn body_is_decided_from_its_record_to_its_block() {
        let mut table = Table::default();
        assert!(!table.has_decided(EngineHeight(5)));
        table.decided = Some((Height::new(5).unwrap(), [].into()));
        assert!(table.has_decided(EngineHeight(5)) && !table.has_decided(EngineHeight(3)));
    }

    #[test]
    fn entries_of_later_rounds_wait_for_their_round() {
        let mut table = Table::default();
        table.start_round(EngineHeight(5), 0);
        let early = [(5, 0), (5, 1), (5, 2), (6, 1), (6, 2), (7, 0), (4, 9)]
            .map(|(height, round)| table.is_early(&header(height, round, 1)));
        assert_eq!(early, [false, false, true, false, true, true, false]);
        table.add_early(complete(3, 5, 2, 4));
        assert_eq!(table.take_early(&header(5, 2, 4)), Some(complete(3, 5, 2, 4)));
        assert_eq!(table.take_early(&header(5, 2, 4)), None, "it is taken once");
        table.add_early(complete(0, 5, 2, 1));
        table.add_early(complete(1, 5, 3, 2));
        table.add_early(complete(2, 7, 0, 3));
        let due = |table: &mut Table, height, round| {
            let (_, due) = table.start_round(EngineHeight(height), round);
            due.into_iter().map(|it| it.header.id[0]).collect::<Vec<_>>()
        };
        assert_eq!(due(&mut table, 5, 1), [1]);
        assert_eq!(due(&mut table, 6, 0), [0_u8; 0]);
        // The entry of round 3 belonged to an earlier height.
        assert_eq!(due(&mut table, 7, 0), [3]);
    }

    #[test]
    fn proposer_has_two_early_entries() {
        let mut table = Table::default();
        table.start_round(EngineHeight(5), 0);
        table.add_early(complete(1, 5, 2, 100));
        for id in 1..=5 {
            table.add_early(complete(0, 5, 2, id));
        }
        let (_, due) = table.start_round(EngineHeight(5), 1);
        assert_eq!(due.iter().map(|it| it.header.id[0]).collect::<Vec<_>>(), [100, 4, 5]);
    }

    #[test]
    fn repeated_entry_has_the_verdict_of_the_first() {
        let mut table = Table::default();
        table.start_round(EngineHeight(5), 0);
        table.add(known(5, 0, 1, Validity::Valid));
        table.add(known(5, 0, 2, Validity::Invalid));
        assert_eq!(table.verdict(&header(5, 0, 1)), Some(Validity::Valid));
        assert_eq!(table.verdict(&header(5, 4, 2)), Some(Validity::Invalid));
        // The rule of time of a later round, or of another kind of proposal, can lead to another verdict.
        let repeated = EntryHeader { valid_round: Some(0), ..header(5, 1, 1) };
        for other in [header(5, 1, 1), repeated.clone(), header(5, 0, 3), header(6, 0, 1)] {
            assert_eq!(table.verdict(&other), None, "{other:?}");
        }
        // The table has the verdicts on both headers of one entry.
        table.add(Known { header: Some(repeated.clone()), ..known(5, 1, 1, Validity::Valid) });
        assert_eq!([&header(5, 0, 1), &repeated].map(|it| table.verdict(it)), [Some(Validity::Valid); 2]);
        // An entry that the table has removed has no verdict.
        for round in 2..18 {
            table.add(known(5, round, u8::try_from(round + 1).unwrap(), Validity::Valid));
        }
        assert_eq!(table.verdict(&header(5, 0, 1)), None);
        table.start_round(EngineHeight(6), 0);
        assert!(table.judged.is_empty());
    }

    #[test]
    fn round_has_two_entries() {
        let mut table = Table::default();
        for (round, id) in [(0, 1), (1, 2), (1, 3)] {
            assert!(!table.is_full(&header(5, round, id)));
            table.add(known(5, round, id, Validity::Valid));
        }
        assert!(table.is_full(&header(5, 1, 4)));
        // The same entry again, another round, and another height.
        for other in [header(5, 1, 3), header(5, 2, 4), header(7, 1, 4)] {
            assert!(!table.is_full(&other), "{other:?}");
        }
    }

    #[test]
    fn full_height_keeps_the_latest_valid_entries() {
        let mut table = Table::default();
        for round in 0..16 {
            let validity = if round == 9 { Validity::Invalid } else { Validity::Valid };
            table.add(known(5, round, u8::try_from(round).unwrap(), validity));
        }
        table.add(known(5, 16, 16, Validity::Valid));
        assert!(!has(&table, 9) && has(&table, 0) && has(&table, 16));
        table.add(known(5, 17, 17, Validity::Valid));
        assert!(!has(&table, 0) && has(&table, 1) && has(&table, 17));
        // An entry that the table has needs no further room.
        table.add(known(5, 18, 17, Validity::Valid));
        assert!(has(&table, 1));
    }
}
