//! The filters that clients keep on the node, and poll.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use silica_protocol::BlockNumber;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    criteria::{LogFilter, LogRange, Progress, Room},
    session::{EthSubscriptions, Subscribed, SubscriptionsFull},
};

/// Maximum number of filters.
const MOST_FILTERS: usize = 1000;

/// Time without a request for a filter after which the node removes the filter.
const EXPIRY: Duration = Duration::from_mins(5);

/// The subject of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// The hashes of new blocks.
    Blocks,
    /// The events in new blocks of a range.
    Logs(LogFilter, LogRange),
}

/// A filter of a client.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The subject of the filter.
    pub(crate) followed: Followed,
    /// The data that the client has received. A poll holds the lock until its response is complete, so that no event is
    /// in two responses.
    pub(crate) progress: Arc<tokio::sync::Mutex<Progress>>,
    _room: OwnedSemaphorePermit,
}

/// No further filter fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreFull {
    /// The node has the maximum number of filters.
    #[error("expected at most {MOST_FILTERS} filters of all clients together; filters expire after 5 minutes")]
    Filters,
    /// The filters and subscriptions have too many addresses and topics together.
    #[error("the filters and subscriptions of all clients have too many addresses and topics; try again later")]
    Values,
}

/// The filters of all clients, by their ids.
#[derive(Debug, Default)]
pub(crate) struct FilterStore {
    filters: Mutex<BTreeMap<u64, (Instant, Arc<Kept>)>>,
    room: Room,
}

impl FilterStore {
    /// Adds a filter with an unused id. Removes the filters that have expired at the time `now`.
    ///
    /// # Errors
    ///
    /// [`StoreFull`]: there are too many filters.
    pub(crate) fn add(&self, id: u64, followed: Followed, progress: Progress, now: Instant) -> Result<(), StoreFull> {
        self.remove_expired(now);
        let mut filters = self.filters.lock();
        if filters.len() >= MOST_FILTERS {
            return Err(StoreFull::Filters);
        }
        let values = if let Followed::Logs(filter, _) = &followed { filter.values() } else { 1 };
        let room = self.room.take(values).ok_or(StoreFull::Values)?;
        let kept = Kept { followed, progress: Arc::new(tokio::sync::Mutex::new(progress)), _room: room };
        filters.insert(id, (now, Arc::new(kept)));
        Ok(())
    }

    /// Returns a filter, and sets the time of its last use to `now`. Returns `None` if the filter does not exist or has
    /// expired.
    pub(crate) fn get(&self, id: u64, now: Instant) -> Option<Arc<Kept>> {
        let mut filters = self.filters.lock();
        let (used, kept) = filters.get_mut(&id)?;
        if has_expired(*used, now) {
            filters.remove(&id);
            return None;
        }
        *used = now;
        Some(Arc::clone(kept))
    }

    /// Removes a filter. Returns whether the filter existed.
    pub(crate) fn remove(&self, id: u64, now: Instant) -> bool {
        self.filters.lock().remove(&id).is_some_and(|(used, _)| !has_expired(used, now))
    }

    /// Adds a subscription with an unused id to a session. The client gets notifications of the blocks from `first` on.
    /// Removes the filters that have expired at the time `now`, because they share a limit with subscriptions.
    ///
    /// # Errors
    ///
    /// [`SubscriptionsFull`]: there are too many subscriptions.
    pub(crate) fn subscribe(
        &self,
        session: &EthSubscriptions,
        (id, subscribed): (u64, Subscribed),
        first: BlockNumber,
        now: Instant,
    ) -> Result<(), SubscriptionsFull> {
        self.remove_expired(now);
        session.add(id, subscribed, first)
    }

    fn remove_expired(&self, now: Instant) {
        self.filters.lock().retain(|_, (used, _)| !has_expired(*used, now));
    }

    /// Returns the subscriptions of a new session. They share the limit of addresses and topics with the filters.
    pub(crate) fn session(&self) -> EthSubscriptions {
        EthSubscriptions::new(self.room.clone())
    }
}

fn has_expired(used: Instant, now: Instant) -> bool {
    now.saturating_duration_since(used) > EXPIRY
}

#[cfg(test)]
mod tests {
    use silica_protocol::Address;

    use super::{
        super::criteria::{MOST_KEPT_VALUES, MOST_VALUES},
        *,
    };

    fn progress() -> Progress {
        Progress::from(BlockNumber::new(0), 0)
    }

    #[test]
    fn filter_expires_after_five_minutes_without_a_poll() {
        let (store, start) = (FilterStore::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        store.add(7, Followed::Blocks, progress(), start).unwrap();
        assert!(store.get(7, at(300)).is_some() && store.get(7, at(599)).is_some());
        assert!(store.get(8, at(599)).is_none());
        assert!(store.get(7, at(900)).is_none(), "301 s without a poll");
        assert!(!store.remove(7, at(900)));
        store.add(7, Followed::Blocks, progress(), at(900)).unwrap();
        assert!(store.remove(7, at(901)) && !store.remove(7, at(901)));
        store.add(7, Followed::Blocks, progress(), at(900)).unwrap();
        assert!(!store.remove(7, at(1201)), "it has expired");
    }

    #[test]
    fn filters_are_limited_in_number_and_values() {
        let (store, start) = (FilterStore::default(), Instant::now());
        let most = u64::try_from(MOST_FILTERS).unwrap();
        for id in 0..most {
            store.add(id, Followed::Blocks, progress(), start).unwrap();
        }
        assert_eq!(store.add(most, Followed::Blocks, progress(), start), Err(StoreFull::Filters));
        store.remove(3, start);
        store.add(most, Followed::Blocks, progress(), start).unwrap();
        // The store removes expired filters first.
        let later = start + EXPIRY + Duration::from_secs(1);
        let addresses =
            |count: usize| (0..count).map(|i| Address::new(std::array::from_fn(|at| i.to_be_bytes()[at % 8])));
        let filter = LogFilter { contracts: addresses(MOST_VALUES - 1).collect(), ..LogFilter::default() };
        let followed = Followed::Logs(filter, LogRange::default());
        for id in 0..u64::try_from(MOST_KEPT_VALUES / MOST_VALUES).unwrap() {
            store.add(id, followed.clone(), progress(), later).unwrap();
        }
        assert_eq!(store.add(most, Followed::Blocks, progress(), later), Err(StoreFull::Values));
        store.remove(0, later);
        store.add(0, followed, progress(), later).unwrap();
        // A subscription also removes expired filters first.
        let session = store.session();
        let subscribe = |now| store.subscribe(&session, (0, Subscribed::Heads), BlockNumber::new(5), now);
        assert_eq!(subscribe(later + EXPIRY), Err(SubscriptionsFull::Values));
        subscribe(later + EXPIRY + Duration::from_secs(1)).unwrap();
    }
}
