//! The subscriptions of Ethereum of one WebSocket session.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use silica_protocol::BlockNumber;
use tokio::sync::OwnedSemaphorePermit;

use super::criteria::{LogFilter, Room, following};

/// Maximum number of subscriptions of a session.
const MOST_SUBSCRIPTIONS: usize = 100;

/// The subject of the notifications of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subscribed {
    /// The headers of new blocks.
    Heads,
    /// The events in new blocks.
    Logs(LogFilter),
}

#[derive(Debug)]
struct Subscription {
    subscribed: Arc<Subscribed>,
    /// The first block for which the client gets notifications.
    first: BlockNumber,
    _room: OwnedSemaphorePermit,
}

/// No further subscription fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SubscriptionsFull {
    /// The session has the maximum number of subscriptions.
    #[error("expected at most {MOST_SUBSCRIPTIONS} subscriptions of a connection")]
    Session,
    /// The filters and subscriptions have too many addresses and topics together.
    #[error("the filters and subscriptions of all clients have too many addresses and topics; try again later")]
    Values,
}

/// The subscriptions of a session, by their ids.
#[derive(Debug)]
pub(crate) struct EthSubscriptions {
    kept: Mutex<BTreeMap<u64, Subscription>>,
    room: Room,
}

impl EthSubscriptions {
    pub(super) fn new(room: Room) -> Self {
        Self { kept: Mutex::default(), room }
    }

    /// Adds a subscription with an unused id. The client gets notifications of the blocks from `first` on.
    ///
    /// # Errors
    ///
    /// [`SubscriptionsFull`]: there are too many subscriptions.
    pub(super) fn add(&self, id: u64, subscribed: Subscribed, first: BlockNumber) -> Result<(), SubscriptionsFull> {
        let mut kept = self.kept.lock();
        if kept.len() >= MOST_SUBSCRIPTIONS {
            return Err(SubscriptionsFull::Session);
        }
        let values = if let Subscribed::Logs(filter) = &subscribed { filter.values() } else { 1 };
        let room = self.room.take(values).ok_or(SubscriptionsFull::Values)?;
        kept.insert(id, Subscription { subscribed: Arc::new(subscribed), first, _room: room });
        Ok(())
    }

    /// Removes a subscription. Returns whether it existed.
    pub(crate) fn remove(&self, id: u64) -> bool {
        self.kept.lock().remove(&id).is_some()
    }

    /// Returns whether the session has subscriptions.
    pub(crate) fn any(&self) -> bool {
        !self.kept.lock().is_empty()
    }

    /// Returns the first subscription with an id of at least `id` whose notifications include a block.
    pub(crate) fn next(&self, id: u64, block: BlockNumber) -> Option<(u64, Arc<Subscribed>)> {
        let kept = self.kept.lock();
        let mut rest = kept.range(id..).filter(|(_, kept)| kept.first <= block);
        rest.next().map(|(id, kept)| (*id, Arc::clone(&kept.subscribed)))
    }

    /// Applies a revert of the chain to a block. The client gets the blocks that replace the removed ones.
    pub(crate) fn revert(&self, lowest: BlockNumber) {
        for kept in self.kept.lock().values_mut() {
            kept.first = kept.first.min(following(lowest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::FilterStore, *};

    #[test]
    fn session_has_a_limited_number_of_subscriptions() {
        let session = FilterStore::default().session();
        let block = BlockNumber::new;
        for id in 0..u64::try_from(MOST_SUBSCRIPTIONS).unwrap() {
            session.add(id, Subscribed::Heads, block(5)).unwrap();
        }
        assert_eq!(session.add(100, Subscribed::Heads, block(5)), Err(SubscriptionsFull::Session));
        assert!(session.remove(7) && !session.remove(7));
        session.add(100, Subscribed::Logs(LogFilter::default()), block(6)).unwrap();
        assert!(session.any());
    }

    #[test]
    fn notifications_begin_at_a_block_which_a_revert_can_lower() {
        let session = FilterStore::default().session();
        let block = BlockNumber::new;
        session.add(3, Subscribed::Heads, block(5)).unwrap();
        session.add(9, Subscribed::Heads, block(7)).unwrap();
        let ids = |number| -> Vec<u64> {
            let mut ids = Vec::new();
            while let Some((id, _)) = session.next(ids.last().map_or(0, |id| id + 1), block(number)) {
                ids.push(id);
            }
            ids
        };
        assert_eq!((ids(4), ids(5), ids(7)), (vec![], vec![3], vec![3, 9]));
        session.revert(block(5));
        assert_eq!((ids(4), ids(5), ids(6)), (vec![], vec![3], vec![3, 9]));
        session.revert(block(1));
        assert_eq!(ids(2), [3, 9]);
    }
}
