//! What connections share: places and memory, and word to their holders that others wait.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use super::{HttpLimits, gzip, limit::Limiter};
use crate::metrics::Metrics;

/// Bytes in a unit of the common memory.
const UNIT: usize = 1024;

/// Time between two demands for something that is not needed by its holder.
const REMINDER: Duration = Duration::from_millis(250);

/// Places for connections and memory for bodies and answers, and word to their holders that others wait.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) metrics: Arc<Metrics>,
    /// How often each peer may ask.
    pub(super) limiter: Option<Limiter>,
    /// Turns for answers that are compressed.
    pub(super) compressions: Arc<Semaphore>,
    places: Arc<Semaphore>,
    pub(super) place_wanted: Notify,
    /// In units.
    memory: Arc<Semaphore>,
    pub(super) memory_wanted: Notify,
    /// Likewise, for answers that wait for it: they are there already.
    waiting: Semaphore,
    /// All memory there is.
    units: u32,
    /// Places for upgraded connections, which stay, so that there are some for those who come and go.
    pub(super) upgrades: Semaphore,
}

impl Room {
    pub(super) fn new(limits: HttpLimits, metrics: Arc<Metrics>) -> Self {
        let units = limits.bodies_bytes.max(limits.body_bytes).div_ceil(UNIT);
        Self {
            metrics,
            limiter: limits.each_second.map(Limiter::new),
            compressions: Arc::new(Semaphore::new(gzip::AT_ONCE)),
            places: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            place_wanted: Notify::new(),
            memory: Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS))),
            memory_wanted: Notify::new(),
            waiting: Semaphore::new(units.min(Semaphore::MAX_PERMITS)),
            units: u32::try_from(units.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX),
            upgrades: Semaphore::new(limits.connections.div_ceil(2).min(Semaphore::MAX_PERMITS)),
        }
    }

    /// Waits for a free place, and lets it be known for as long as there is none.
    pub(super) async fn enter(&self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                return place;
            }
            self.place_wanted.notify_waiters();
            if let Ok(Ok(place)) = timeout(REMINDER, Arc::clone(&self.places).acquire_owned()).await {
                return place;
            }
        }
    }

    /// Waits for memory for a body, in turn, and lets it be known for as long as there is none; `None` when `longest`
    /// is over.
    pub(super) async fn reserve(&self, bytes: usize, longest: Duration) -> Option<OwnedSemaphorePermit> {
        let mut acquired = pin!(Arc::clone(&self.memory).acquire_many_owned(self.units_of(bytes)));
        let begun = Instant::now();
        loop {
            if let Ok(memory) = timeout(REMINDER.min(longest), acquired.as_mut()).await {
                return memory.ok();
            }
            if begun.elapsed() >= longest {
                return None;
            }
            self.memory_wanted.notify_waiters();
        }
    }

    /// Waits for memory for an answer that was made; `None` when `longest` is over, or when others wait with so much that
    /// it would be too much with this one.
    pub(super) async fn keep(&self, bytes: usize, longest: Duration) -> Option<OwnedSemaphorePermit> {
        let _waiting = self.waiting.try_acquire_many(self.units_of(bytes)).ok()?;
        self.reserve(bytes, longest).await
    }

    /// What so many bytes take of the common memory, which is all of it at most.
    fn units_of(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(self.units)
    }
}
