//! The resources that connections share: connection slots, and the memory budget for large request bodies and
//! responses.
//!
//! Each resource is a FIFO semaphore. While a connection waits for a resource, it wakes the other connections at
//! intervals. Each idle or slow connection that holds the resource then ends
//! (`docs/adr/0019-memory-of-answers-and-sessions.md`).

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use super::{
    HttpLimits, Reply, ResponseBody,
    deadline::ConnectionDeadline,
    gzip,
    response_body::{Chunked, Metered},
    text::Text,
};
use crate::metrics::Metrics;

/// Maximum size in bytes of a response that takes no memory of the budget.
pub(crate) const SMALL_RESPONSE: usize = 64 * 1024;

/// Bytes in a unit of the memory budget.
const UNIT: usize = 1024;

/// Interval at which the node wakes the other connections while a connection waits for a resource. If another
/// connection becomes slow during the wait, the node closes it after at most this time.
const REMINDER: Duration = Duration::from_millis(250);

/// Maximum time of the first attempt to reserve memory for a notification of a subscription. During an attempt, the
/// requests behind it in the queue wait.
const TURN: Duration = Duration::from_millis(500);

/// Connection slots, the memory budget, and the signals that wake the connections which hold them.
#[derive(Debug)]
pub(super) struct ResourceLimits {
    pub(super) metrics: Arc<Metrics>,
    /// Permits for simultaneous compressions.
    pub(super) compressions: Arc<Semaphore>,
    slots: Arc<Semaphore>,
    pub(super) slot_wanted: Notify,
    /// The memory budget, in units of [`UNIT`] bytes.
    memory: Arc<Semaphore>,
    pub(super) memory_wanted: Notify,
    /// The units of complete responses that wait for memory of the budget. Their sum is at most half of the budget,
    /// because these responses take memory that the budget does not count.
    waiting: Semaphore,
    /// The budget for notifications of subscriptions, in units. It is half of the total, so that slow subscribers
    /// cannot starve requests.
    pushes: Arc<Semaphore>,
    /// The whole memory budget in units.
    units: u32,
    /// Slots for WebSocket connections: half of all slots. WebSocket connections last long, and requests need free
    /// slots.
    pub(super) upgrades: Semaphore,
}

impl ResourceLimits {
    pub(super) fn new(limits: HttpLimits, metrics: Arc<Metrics>) -> Self {
        let units = limits.bodies_bytes.max(limits.body_bytes).div_ceil(UNIT);
        Self {
            metrics,
            compressions: Arc::new(Semaphore::new(gzip::AT_ONCE)),
            slots: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            slot_wanted: Notify::new(),
            memory: Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS))),
            memory_wanted: Notify::new(),
            waiting: Semaphore::new(units.min(Semaphore::MAX_PERMITS).div_ceil(2)),
            pushes: Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS).div_ceil(2))),
            units: u32::try_from(units.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX),
            upgrades: Semaphore::new((limits.connections / 2).min(Semaphore::MAX_PERMITS)),
        }
    }

    /// Waits for a free connection slot. Wakes idle connections during the wait, so that they end.
    pub(super) async fn acquire_slot(&self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(place) = Arc::clone(&self.slots).try_acquire_owned() {
                return place;
            }
            self.slot_wanted.notify_waiters();
            if let Ok(Ok(place)) = timeout(REMINDER, Arc::clone(&self.slots).acquire_owned()).await {
                return place;
            }
        }
    }

    /// Waits for memory for a body, in order of arrival. Wakes slow connections during the wait, so that they end.
    /// Returns `None` after the time `longest`.
    pub(super) async fn reserve(&self, bytes: usize, longest: Duration) -> Option<OwnedSemaphorePermit> {
        self.claim(&self.memory, units_of(bytes), longest).await
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

    /// Reserves memory for a notification, without a limit of time. Returns `None` if the notification is larger than
    /// half of the budget.
    ///
    /// The queue is in order of arrival, so requests would wait behind a large notification. Therefore each attempt has
    /// a limit of time, after which the notification joins the queue again at its end. A failed attempt returns the
    /// units that it has gathered. So the limit doubles with each attempt, up to half of `longest_wait`. A request
    /// waits for at most `longest_wait`.
    async fn reserve_push(self: &Arc<Self>, bytes: usize, longest_wait: Duration) -> Option<PushLease> {
        let units = units_of(bytes);
        if units > self.units.div_ceil(2) {
            return None;
        }
        let place = self.claim(&self.pushes, units, Duration::MAX).await?;
        let (mut turn, longest) = (TURN, TURN.max(longest_wait / 2));
        while !self.memory.is_closed() {
            if let Some(memory) = self.claim(&self.memory, units, turn).await {
                let held = |permit| Memory { held: Some(permit), ..Memory::new(Arc::clone(self), Duration::ZERO) };
                return Some(PushLease { memory: held(memory), place: held(place) });
            }
            turn = turn.saturating_mul(2).min(longest);
        }
        None
    }

    /// Returns the body of a response after the reservation of its memory, or `None` if the reservation failed.
    pub(super) async fn body(
        self: &Arc<Self>,
        reply: Reply,
        deadline: &Arc<ConnectionDeadline>,
    ) -> Option<ResponseBody> {
        if reply.is_small() {
            return Some(reply.beginning.into_bytes().into());
        }
        let Reply { beginning, rest, mut memory } = reply;
        let made = beginning.memory();
        let needed = rest.as_ref().map_or(made, |_| self.stream_memory(made));
        if !memory.reserve_response(made, needed).await {
            return None;
        }
        let deadline = Arc::clone(deadline);
        Some(match rest {
            None => ResponseBody::Metered(Metered::new(beginning, deadline, vec![memory])),
            Some(rest) => ResponseBody::Chunked(Chunked::new(beginning, rest, Arc::clone(self), deadline, memory)),
        })
    }

    /// Returns the bytes of memory that a streamed response needs if its first chunk has `beginning` bytes. If the
    /// budget is smaller, the response needs the whole budget.
    pub(super) fn stream_memory(&self, beginning: usize) -> usize {
        Chunked::memory(beginning).min(self.all().max(beginning))
    }

    /// Returns the whole memory budget in bytes.
    fn all(&self) -> usize {
        usize::try_from(self.units).unwrap_or(usize::MAX).saturating_mul(UNIT)
    }
}

/// Returns the number of units for a number of bytes, rounded up.
fn units_of(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

/// The memory of one response. The drop of this value returns the memory to the budget.
///
/// Two responses that hold memory and need more may wait for each other. Therefore the sum of all waits of a response
/// is limited. After a response has waited for this time, a reservation fails unless the memory is free at once.
#[derive(Debug)]
pub(crate) struct Memory {
    resources: Arc<ResourceLimits>,
    held: Option<OwnedSemaphorePermit>,
    /// The time that remains for waits of this response.
    longest_wait: Duration,
}

impl Memory {
    /// Returns a lease of 0 bytes for a response whose waits may take `longest_wait` together.
    pub(super) fn new(resources: Arc<ResourceLimits>, longest_wait: Duration) -> Self {
        Self { resources, held: None, longest_wait }
    }

    /// Returns the reserved bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits).saturating_mul(UNIT)
    }

    /// Waits until the lease has `bytes` in all, for a response that does not exist yet. Returns whether the lease has
    /// these bytes.
    pub(crate) async fn reserve(&mut self, bytes: usize) -> bool {
        self.grow(bytes, 0).await
    }

    /// Raises the lease to `bytes` in all if the budget has enough free memory. Returns whether the lease has these
    /// bytes.
    pub(crate) fn try_reserve(&mut self, bytes: usize) -> bool {
        let units = units_of(bytes.saturating_sub(self.bytes()));
        if units == 0 {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.resources.memory).try_acquire_many_owned(units) else { return false };
        self.add(permit);
        true
    }

    /// Returns the whole memory budget in bytes.
    pub(crate) fn all(&self) -> usize {
        self.resources.all()
    }

    /// Returns the bytes of memory that a streamed response needs if its first chunk has `beginning` bytes.
    pub(crate) fn stream(&self, beginning: usize) -> usize {
        self.resources.stream_memory(beginning)
    }

    /// Waits until the lease has `needed` bytes in all, for a response of which `made` bytes exist. Returns whether the
    /// lease has these bytes. Returns `false` at once if too many such responses wait, because they take memory during
    /// the wait.
    pub(crate) async fn reserve_response(&mut self, made: usize, needed: usize) -> bool {
        self.grow(needed, made.saturating_sub(self.bytes())).await
    }

    /// Returns the memory beyond `bytes` to the budget.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let units = self.bytes().saturating_sub(bytes) / UNIT;
        drop(self.held.as_mut().and_then(|held| held.split(units)));
    }

    async fn grow(&mut self, bytes: usize, unreserved: usize) -> bool {
        if self.try_reserve(bytes) {
            return true;
        }
        if units_of(bytes) > self.resources.units {
            return false;
        }
        let permit = self.wait(units_of(bytes.saturating_sub(self.bytes())), unreserved).await;
        permit.map(|permit| self.add(permit)).is_some()
    }

    fn add(&mut self, permit: OwnedSemaphorePermit) {
        match &mut self.held {
            Some(held) => held.merge(permit),
            None => self.held = Some(permit),
        }
    }

    async fn wait(&mut self, units: u32, unreserved: usize) -> Option<OwnedSemaphorePermit> {
        let _waiting = self.resources.waiting.try_acquire_many(units_of(unreserved)).ok()?;
        let begun = Instant::now();
        let permit = self.resources.claim(&self.resources.memory, units, self.longest_wait).await;
        self.longest_wait = self.longest_wait.saturating_sub(begun.elapsed());
        permit
    }
}

/// Memory for a notification.
#[derive(Debug)]
pub(crate) struct PushLease {
    memory: Memory,
    /// The part of the budget for notifications.
    place: Memory,
}

/// Access of a WebSocket connection to the shared resources.
#[derive(Clone, Debug)]
pub(crate) struct MemoryLease {
    resources: Arc<ResourceLimits>,
    deadline: Arc<ConnectionDeadline>,
}

impl MemoryLease {
    pub(super) fn new(resources: Arc<ResourceLimits>, limits: HttpLimits) -> Self {
        Self { resources, deadline: Arc::new(ConnectionDeadline::new(limits)) }
    }

    /// Returns a lease of a new budget, which no other connection uses.
    pub(crate) fn alone(limits: HttpLimits, metrics: Arc<Metrics>) -> Self {
        Self::new(Arc::new(ResourceLimits::new(limits, metrics)), limits)
    }

    /// Returns the memory of a new response, with 0 reserved bytes.
    pub(crate) fn memory(&self) -> Memory {
        Memory::new(Arc::clone(&self.resources), self.deadline.limits.bodies_timeout)
    }

    /// Records that a long message of the client has memory, and that the server waits for the rest of the message.
    pub(crate) fn message_begins(&self) {
        self.deadline.memory_decided(true);
    }

    /// Records that the long message of the client is complete.
    pub(crate) fn message_ends(&self) {
        self.deadline.parts_end();
    }

    /// Returns the body of a response after the reservation of its memory, or `None` if the reservation failed.
    pub(crate) async fn body(&self, reply: Reply) -> Option<ResponseBody> {
        self.resources.body(reply, &self.deadline).await
    }

    /// Reserves memory for a notification before its creation, without a limit of time. Returns `None` if the
    /// notification is larger than half of the budget.
    pub(crate) async fn reserve(&self, bytes: usize) -> Option<PushLease> {
        self.resources.reserve_push(bytes, self.deadline.limits.bodies_timeout).await
    }

    /// Returns the body of a notification that has memory.
    pub(crate) fn reserved(&self, text: Vec<u8>, PushLease { memory, place }: PushLease) -> ResponseBody {
        ResponseBody::Metered(Metered::new(Text::from(text), Arc::clone(&self.deadline), vec![memory, place]))
    }

    /// Waits until the client reads slowly and holds memory for which other connections wait.
    pub(crate) async fn crowded(&self) {
        loop {
            self.resources.memory_wanted.notified().await;
            if self.deadline.holds_memory() && self.deadline.should_evict() {
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

    /// One client reads slowly. A notification for another client has no memory until the first client has read.
    #[tokio::test(start_paused = true)]
    async fn request_does_not_wait_behind_notifications() {
        let limits = HttpLimits { body_bytes: 0, bodies_bytes: 10 * UNIT, ..HttpLimits::default() };
        let resources = Arc::new(ResourceLimits::new(limits, Arc::default()));
        let slow = resources.reserve(6 * UNIT, Duration::ZERO).await.unwrap();
        let asks = async {
            // Let the notification enter the queue first.
            tokio::task::yield_now().await;
            let request = resources.reserve(4 * UNIT, PATIENCE).await;
            drop(slow);
            request.is_some()
        };
        let (push, request) = tokio::join!(resources.reserve_push(5 * UNIT, PATIENCE), asks);
        assert!(push.is_some() && request);
    }

    /// Each of twenty tasks reserves one of ten units again and again. Five units are never free at once, so the
    /// attempt must gather units over some time.
    #[tokio::test(start_paused = true)]
    async fn large_notification_gets_memory_between_requests() {
        let limits = HttpLimits { body_bytes: 0, bodies_bytes: 10 * UNIT, ..HttpLimits::default() };
        let resources = Arc::new(ResourceLimits::new(limits, Arc::default()));
        for asker in 0..20 {
            let resources = Arc::clone(&resources);
            tokio::spawn(async move {
                sleep(Duration::from_millis(200) * asker).await;
                while let Some(memory) = resources.reserve(UNIT, PATIENCE).await {
                    sleep(Duration::from_secs(2)).await;
                    drop(memory);
                }
            });
        }
        sleep(Duration::from_secs(5)).await;
        assert!(timeout(PATIENCE, resources.reserve_push(5 * UNIT, PATIENCE)).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn notifications_take_at_most_half_of_the_memory() {
        let limits = HttpLimits { body_bytes: 0, bodies_bytes: 10 * UNIT, ..HttpLimits::default() };
        let resources = Arc::new(ResourceLimits::new(limits, Arc::default()));
        assert!(resources.reserve_push(5 * UNIT + 1, PATIENCE).await.is_none());
        let _push = resources.reserve_push(5 * UNIT, PATIENCE).await.unwrap();
        assert!(resources.reserve(5 * UNIT, Duration::ZERO).await.is_some());
    }

    fn resources(units: usize) -> Arc<ResourceLimits> {
        let limits = HttpLimits { body_bytes: 0, bodies_bytes: units * UNIT, ..HttpLimits::default() };
        Arc::new(ResourceLimits::new(limits, Arc::default()))
    }

    #[tokio::test]
    async fn answer_holds_memory_for_each_of_its_bytes() {
        let resources = resources(10);
        let mut memory = Memory::new(Arc::clone(&resources), PATIENCE);
        assert!(memory.reserve(3 * UNIT).await && memory.reserve_response(5 * UNIT, 6 * UNIT).await);
        assert_eq!((memory.bytes(), resources.memory.available_permits()), (6 * UNIT, 4));
        assert!(!memory.reserve_response(11 * UNIT, 11 * UNIT).await, "that is more than there is");
        memory.shrink(2 * UNIT + 1);
        assert_eq!((memory.bytes(), resources.memory.available_permits()), (3 * UNIT, 7));
        drop(memory);
        assert_eq!(resources.memory.available_permits(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_wait_for_each_other_do_so_for_a_bounded_time() {
        let resources = resources(10);
        let mut answers = [(); 2].map(|()| Memory::new(Arc::clone(&resources), PATIENCE));
        let begun = Instant::now();
        let [one, other] = &mut answers;
        assert!(one.reserve(5 * UNIT).await && other.reserve(5 * UNIT).await);
        let grown = tokio::join!(one.reserve(6 * UNIT), other.reserve(6 * UNIT));
        assert_eq!((grown, begun.elapsed() < 2 * PATIENCE), ((false, false), true));
        // Both have used their time for waits, so a further reservation fails at once.
        assert!(!one.reserve(6 * UNIT).await && begun.elapsed() < 2 * PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_an_answer_waits_is_bounded_over_all_its_steps() {
        let resources = resources(10);
        let mut others: Vec<_> = (0..9).map(|_| Arc::clone(&resources.memory).try_acquire_owned().unwrap()).collect();
        let release = async {
            while others.pop().is_some() {
                sleep(PATIENCE / 3).await;
            }
        };
        let mut memory = Memory::new(Arc::clone(&resources), PATIENCE);
        let grow = async {
            let mut units = 1;
            while memory.reserve(units * UNIT).await {
                units += 1;
            }
            units
        };
        let begun = Instant::now();
        let (units, ()) = tokio::join!(grow, release);
        assert!((4..7).contains(&units), "{units} units after {:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_were_made_and_wait_take_half_as_much_as_there_is() {
        let resources = resources(10);
        let memory = || Memory::new(Arc::clone(&resources), PATIENCE);
        let (mut sent, mut first, mut second, mut third) = (memory(), memory(), memory(), memory());
        assert!(sent.reserve_response(10 * UNIT, 10 * UNIT).await);
        let waits = async {
            tokio::join!(first.reserve_response(3 * UNIT, 3 * UNIT), second.reserve_response(2 * UNIT, 2 * UNIT))
        };
        let refused = async {
            let begun = Instant::now();
            assert!(!third.reserve_response(UNIT, UNIT).await && begun.elapsed().is_zero(), "it would wait");
            drop(sent);
        };
        assert_eq!(tokio::join!(waits, refused).0, (true, true));
        assert!(third.reserve_response(UNIT, UNIT).await);
    }
}
