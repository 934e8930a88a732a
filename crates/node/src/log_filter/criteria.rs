//! The criteria of filters for events, the progress of a filter on the chain, and the limit of the values of all
//! filters.

use std::{collections::BTreeSet, sync::Arc};

use sha3::{Digest, Keccak256};
use silica_chain::{BlockSpan, EventCursor};
use silica_protocol::{Address, BlockNumber};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A topic of a log.
pub(crate) type Topic = [u8; 32];

/// Maximum number of addresses, and of topics, of one filter.
pub(crate) const MOST_VALUES: usize = 1000;

/// Maximum number of addresses and topics of all filters and subscriptions that the node keeps. Each filter and each
/// subscription counts as one more. The number bounds memory.
pub(super) const MOST_KEPT_VALUES: usize = 200_000;

/// Returns the topic of the events with a name.
pub(crate) fn topic_of(name: &str) -> Topic {
    Keccak256::new().chain_update(name).chain_update("(string)").finalize().into()
}

/// A filter for events: by contracts and by topics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogFilter {
    /// The contracts whose events match; all contracts if empty.
    pub(crate) contracts: BTreeSet<Address>,
    /// The topics of events that match; all topics if empty.
    pub(crate) topics: BTreeSet<Topic>,
    /// Whether the filter requires a second topic. No event has one, so no event matches.
    pub(crate) needs_more: bool,
}

impl LogFilter {
    /// Returns whether an event of a contract matches.
    pub(crate) fn matches(&self, contract: &Address, name: &str) -> bool {
        !self.needs_more
            && (self.contracts.is_empty() || self.contracts.contains(contract))
            && (self.topics.is_empty() || self.topics.contains(&topic_of(name)))
    }

    /// Returns the contract, if the filter has exactly one.
    pub(crate) fn only_contract(&self) -> Option<Address> {
        let mut contracts = self.contracts.iter();
        contracts.next().filter(|_| contracts.next().is_none()).copied()
    }

    /// Returns the number of addresses and topics, and one more for the filter.
    pub(super) fn values(&self) -> usize {
        self.contracts.len().saturating_add(self.topics.len()).saturating_add(1)
    }
}

/// The first and the last block of a request for logs. `None` stands for the latest block. In a filter that a client
/// polls, `None` sets no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogRange {
    /// The first block.
    pub(crate) first: Option<BlockNumber>,
    /// The last block.
    pub(crate) last: Option<BlockNumber>,
}

/// The number of addresses and topics that the node can still keep.
#[derive(Clone, Debug)]
pub(super) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST_KEPT_VALUES)))
    }
}

impl Room {
    /// Takes the room for some addresses and topics, or returns `None` if too little is left.
    pub(super) fn take(&self, values: usize) -> Option<OwnedSemaphorePermit> {
        let values = u32::try_from(values).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(values).ok()
    }
}

/// The progress of a filter on the chain: the blocks and events that a client has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The first block of which the client has not received all events.
    pub(crate) next: BlockNumber,
    /// The place up to which the client has received the events in the blocks from `next` on; `None` if the client has
    /// received none of these events.
    pub(crate) after: Option<EventCursor>,
    /// Number of reverts of the chain that the progress includes.
    pub(crate) reverts: u64,
}

impl Progress {
    /// Returns the progress of a client that gets all events after block `head`.
    pub(crate) fn from(head: BlockNumber, reverts: u64) -> Self {
        Self { next: following(head), after: None, reverts }
    }

    /// Applies reverts of the chain: `lowest` is the lowest block to which the chain was reverted. The client gets the
    /// blocks that replace the removed ones.
    pub(crate) fn revert(&mut self, lowest: BlockNumber, reverts: u64) {
        self.reverts = reverts;
        self.next = self.next.min(following(lowest));
        self.after = self.after.filter(|after| after.place.block <= lowest);
    }

    /// Returns the blocks of a range that a client has not received, up to block `head`.
    pub(crate) fn blocks(&self, range: LogRange, head: BlockNumber) -> BlockSpan {
        BlockSpan {
            first: range.first.map_or(self.next, |first| first.max(self.next)),
            last: range.last.map_or(head, |last| last.min(head)),
        }
    }
}

/// Returns the number of the next block.
pub(crate) fn following(block: BlockNumber) -> BlockNumber {
    BlockNumber::new(block.get().saturating_add(1))
}

#[cfg(test)]
mod tests {
    use silica_chain::HistoryPlace;

    use super::*;

    #[test]
    fn topic_is_the_hash_of_a_signature_with_one_string() {
        // As `ethers.id('Transfer(string)')` and `viem.toEventSelector('Transfer(string)')` return it.
        let topic = hex::encode(topic_of("Transfer"));
        assert_eq!(topic, "7cebee4ee226a36ff8751d9d69bb8265f5138c825f8c25d7ebdd60d972ffe5be");
    }

    #[test]
    fn filter_selects_by_contract_and_name() {
        let [one, other] = [1, 2].map(|byte| Address::new([byte; 20]));
        let (contracts, topics) = (BTreeSet::from([one]), BTreeSet::from([topic_of("Sent")]));
        let all = LogFilter::default();
        let of_contract = LogFilter { contracts: contracts.clone(), ..all.clone() };
        let named = LogFilter { topics: topics.clone(), ..all.clone() };
        let both = LogFilter { contracts, topics, ..all };
        for (filter, expected) in [
            (all.clone(), [true, true, true, true]),
            (of_contract.clone(), [true, true, false, false]),
            (named, [true, false, true, false]),
            (both, [true, false, false, false]),
            (LogFilter { needs_more: true, ..all.clone() }, [false; 4]),
        ] {
            let events = [(one, "Sent"), (one, "sent"), (other, "Sent"), (other, "Sent(string)")];
            assert_eq!(events.map(|(contract, name)| filter.matches(&contract, name)), expected, "{filter:?}");
        }
        assert_eq!((of_contract.only_contract(), all.only_contract()), (Some(one), None));
        assert_eq!(LogFilter { contracts: BTreeSet::from([one, other]), ..all }.only_contract(), None);
    }

    #[test]
    fn revert_returns_to_the_first_replaced_block() {
        let number = BlockNumber::new;
        let after =
            |block| Some(EventCursor { place: HistoryPlace { block: number(block), position: 2 }, index: Some(1) });
        let before = Progress { next: number(5), after: after(8), reverts: 0 };
        let reverted = |lowest| {
            let mut progress = before;
            progress.revert(number(lowest), 3);
            assert_eq!(progress.reverts, 3);
            (progress.next.get(), progress.after)
        };
        assert_eq!(reverted(9), (5, after(8)));
        assert_eq!(reverted(8), (5, after(8)));
        assert_eq!(reverted(7), (5, None), "the partly received block was removed");
        assert_eq!(reverted(2), (3, None));
        let blocks = |first: Option<u64>, last: Option<u64>| {
            let range = LogRange { first: first.map(number), last: last.map(number) };
            let BlockSpan { first, last } = Progress::from(number(4), 7).blocks(range, number(9));
            (first.get(), last.get())
        };
        assert_eq!(blocks(None, None), (5, 9));
        assert_eq!(blocks(Some(7), Some(8)), (7, 8));
        assert_eq!(blocks(Some(0), Some(20)), (5, 9));
    }
}
