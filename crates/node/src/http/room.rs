//! What connections share: places and memory, and word to their holders that others wait.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use super::{
    AnswerBody, HttpLimits, Patience, Reply, gzip,
    stream::{Large, Stream},
};
use crate::metrics::Metrics;

/// Bytes of an answer that does not draw on the common memory.
pub(crate) const SMALL_ANSWER: usize = 64 * 1024;

/// Bytes in a unit of the common memory.
const UNIT: usize = 1024;

/// Time between two demands for something that is not needed by its holder.
const REMINDER: Duration = Duration::from_millis(250);

/// Time for which what nobody has asked for just now waits for memory before it lets others go first, at first.
const TURN: Duration = Duration::from_millis(500);

/// Places for connections and memory for bodies and answers, and word to their holders that others wait.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) metrics: Arc<Metrics>,
    /// Turns for answers that are compressed.
    pub(super) compressions: Arc<Semaphore>,
    places: Arc<Semaphore>,
    pub(super) place_wanted: Notify,
    /// In units.
    memory: Arc<Semaphore>,
    pub(super) memory_wanted: Notify,
    /// Likewise, for answers that wait for it: they are there already.
    waiting: Semaphore,
    /// Likewise, for what is sent without having been asked for: half of it, so that those who ask never wait until all who
    /// are told have read.
    unasked: Arc<Semaphore>,
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
            compressions: Arc::new(Semaphore::new(gzip::AT_ONCE)),
            places: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            place_wanted: Notify::new(),
            memory: Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS))),
            memory_wanted: Notify::new(),
            waiting: Semaphore::new(units.min(Semaphore::MAX_PERMITS)),
            unasked: Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS).div_ceil(2))),
            units: u32::try_from(units.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX),
            upgrades: Semaphore::new((limits.connections / 2).min(Semaphore::MAX_PERMITS)),
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
        self.claim(&self.memory, self.units_of(bytes), longest).await
    }

    async fn claim(&self, of: &Arc<Semaphore>, units: u32, longest: Duration) -> Option<OwnedSemaphorePermit> {
        let mut acquired = pin!(Arc::clone(of).acquire_many_owned(units));
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

    /// Waits, however long, for memory for something that nobody has asked for just now. As memory is given in the order of
    /// those who wait, it goes to their end now and then: those who ask are not to wait behind it for as long as it does. As it
    /// gives back then what it has gathered, it waits twice as long each time, so that much is gathered too, but for no more
    /// than half of the time `patience` that those who ask have. What is larger than half of the memory counts as that half.
    async fn reserve_unasked(&self, bytes: usize, patience: Duration) -> Option<Unasked> {
        let units = self.units_of(bytes).min(self.units.div_ceil(2));
        let place = self.claim(&self.unasked, units, Duration::MAX).await?;
        let (mut turn, longest) = (TURN, TURN.max(patience / 2));
        while !self.memory.is_closed() {
            if let Some(memory) = self.claim(&self.memory, units, turn).await {
                return Some(Unasked { memory, place });
            }
            turn = turn.saturating_mul(2).min(longest);
        }
        None
    }

    /// Waits for memory for an answer, or a part of one, of which so many bytes were made already; `None` when `longest` is
    /// over, or when others wait with so much that it would be too much with this one.
    pub(super) async fn keep(&self, made: usize, bytes: usize, longest: Duration) -> Option<OwnedSemaphorePermit> {
        let _waiting = self.waiting.try_acquire_many(self.units_of(made)).ok()?;
        self.reserve(bytes, longest).await
    }

    /// The body of an answer, once there is memory for it; `None` when there is none.
    pub(super) async fn body(self: &Arc<Self>, reply: Reply, patience: &Arc<Patience>) -> Option<AnswerBody> {
        let Reply { beginning, rest } = match reply.small() {
            Ok(body) => return Some(body.into()),
            Err(reply) => reply,
        };
        let (made, longest) = (beginning.len(), patience.limits.bodies_timeout);
        match rest {
            None => {
                let memory = self.keep(made, made, longest).await?;
                Some(AnswerBody::Large(Large::new(beginning, Arc::clone(patience), vec![memory])))
            }
            Some(rest) => {
                let memory = self.keep(made, Stream::memory(made), longest).await?;
                let (room, patience) = (Arc::clone(self), Arc::clone(patience));
                Some(AnswerBody::Stream(Stream::new(beginning, rest, room, patience, memory)))
            }
        }
    }

    /// What so many bytes take of the common memory, which is all of it at most.
    fn units_of(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(self.units)
    }
}

/// Memory for something that nobody has asked for just now.
#[derive(Debug)]
pub(crate) struct Unasked {
    memory: OwnedSemaphorePermit,
    /// Among all such memory.
    place: OwnedSemaphorePermit,
}

/// What a connection that is no longer HTTP has in common with the others.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    room: Arc<Room>,
    patience: Arc<Patience>,
}

impl Share {
    pub(super) fn new(room: Arc<Room>, limits: HttpLimits) -> Self {
        Self { room, patience: Arc::new(Patience::new(limits)) }
    }

    /// The share of the only connection there is.
    #[cfg(test)]
    pub(crate) fn alone(limits: HttpLimits) -> Self {
        Self::new(Arc::new(Room::new(limits, Arc::default())), limits)
    }

    /// The body of an answer, once there is memory for it; `None` when there is none.
    pub(crate) async fn body(&self, reply: Reply) -> Option<AnswerBody> {
        self.room.body(reply, &self.patience).await
    }

    /// Waits, however long, for memory for something that nobody has asked for just now and that is still to be made.
    pub(crate) async fn reserve(&self, bytes: usize) -> Option<Unasked> {
        self.room.reserve_unasked(bytes, self.patience.limits.bodies_timeout).await
    }

    /// The body of something for which memory was reserved.
    pub(crate) fn reserved(&self, text: Vec<u8>, Unasked { memory, place }: Unasked) -> AnswerBody {
        AnswerBody::Large(Large::new(text, Arc::clone(&self.patience), vec![memory, place]))
    }

    /// Waits until the client holds memory that others want, and has been slow to take what is there for it.
    pub(crate) async fn crowded(&self) {
        loop {
            self.room.memory_wanted.notified().await;
            if self.patience.holds_memory() && self.patience.gives_way() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// One client reads slowly, another is to be told of something for which there is no memory until it has read.
    #[tokio::test(start_paused = true)]
    async fn who_asks_does_not_wait_behind_who_is_told() {
        let limits = HttpLimits { body_bytes: 0, bodies_bytes: 10 * UNIT, ..HttpLimits::default() };
        let room = Room::new(limits, Arc::default());
        let slow = room.reserve(6 * UNIT, Duration::ZERO).await.unwrap();
        let asks = async {
            // Behind the other.
            tokio::task::yield_now().await;
            let asked = room.reserve(4 * UNIT, PATIENCE).await;
            drop(slow);
            asked.is_some()
        };
        let (told, asked) = tokio::join!(room.reserve_unasked(5 * UNIT, PATIENCE), asks);
        assert!(told.is_some() && asked);
    }

    /// Twice as many small bodies as there is memory for come again and again: there is never enough for a large notification,
    /// unless it gathers what some of them leave.
    #[tokio::test(start_paused = true)]
    async fn who_is_told_much_does_not_wait_until_nobody_asks() {
        let limits = HttpLimits { body_bytes: 0, bodies_bytes: 10 * UNIT, ..HttpLimits::default() };
        let room = Arc::new(Room::new(limits, Arc::default()));
        for asker in 0..20 {
            let room = Arc::clone(&room);
            tokio::spawn(async move {
                sleep(Duration::from_millis(200) * asker).await;
                while let Some(memory) = room.reserve(UNIT, PATIENCE).await {
                    sleep(Duration::from_secs(2)).await;
                    drop(memory);
                }
            });
        }
        sleep(Duration::from_secs(5)).await;
        assert!(timeout(PATIENCE, room.reserve_unasked(5 * UNIT, PATIENCE)).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn what_is_told_takes_half_of_the_memory_at_most() {
        let limits = HttpLimits { body_bytes: 0, bodies_bytes: 10 * UNIT, ..HttpLimits::default() };
        let room = Room::new(limits, Arc::default());
        let _told = room.reserve_unasked(100 * UNIT, PATIENCE).await.unwrap();
        assert!(room.reserve(5 * UNIT, Duration::ZERO).await.is_some());
    }
}
