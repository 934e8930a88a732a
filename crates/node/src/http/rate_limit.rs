//! The rate limit: how many calls a client may make each second.

use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, MonotonicClock},
    middleware::NoOpMiddleware,
    state::keyed::HashMapStateStore,
};

/// Number of checks after which the limiter removes the entries of idle clients.
const TIDY: u32 = 10_000;

/// A limit of units per second for each client. The burst has the same number of units. A call costs its weight in
/// units.
#[derive(Debug)]
pub(crate) struct Limiter<C: Clock = MonotonicClock> {
    shares: RateLimiter<IpAddr, HashMapStateStore<IpAddr>, C, NoOpMiddleware<C::Instant>>,
    quota: Quota,
    clock: C,
    checks: AtomicU32,
}

impl Limiter {
    pub(super) fn new(each_second: NonZeroU32) -> Self {
        Self::with_clock(each_second, MonotonicClock)
    }
}

impl<C: Clock + Clone> Limiter<C> {
    fn with_clock(each_second: NonZeroU32, clock: C) -> Self {
        let quota = Quota::per_second(each_second);
        let shares = RateLimiter::hashmap_with_clock(quota, clock.clone());
        Self { shares, quota, clock, checks: AtomicU32::new(0) }
    }

    /// Takes units from the quota of `client`: all of them, or none. More units than the burst size count as the burst
    /// size.
    ///
    /// # Errors
    ///
    /// The time after which the client has enough units.
    pub(super) fn check(&self, client: IpAddr, units: NonZeroU32) -> Result<(), Duration> {
        if self.checks.fetch_add(1, Relaxed) % TIDY == TIDY - 1 {
            self.shares.retain_recent();
        }
        match self.shares.check_key_n(&one_of(client), units.min(self.quota.burst_size())) {
            Ok(checked) => checked.map_err(|wait| wait.wait_time_from(self.clock.now())),
            // The limiter returns this error for more units than the burst size, and `min` prevents such a number.
            Err(_) => Ok(()),
        }
    }
}

/// Returns the address to which the limit applies. For IPv6 it is the /64 network, because one client can have all 2⁶⁴
/// addresses of this network.
fn one_of(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// The units of the rate limit for the calls of one HTTP request or WebSocket message.
#[derive(Debug)]
pub(crate) struct Allowance<'a, C: Clock = MonotonicClock> {
    /// The limiter and the address of the client; `None` without a limit.
    limit: Option<(&'a Limiter<C>, IpAddr)>,
    /// Units that the client has paid at the arrival of the request.
    paid: u32,
    /// The time after which the client may repeat the first rejected call; `None` if no call was rejected.
    wait: Option<Duration>,
    /// Whether the limiter has accepted a call.
    any_taken: bool,
}

impl<'a, C: Clock + Clone> Allowance<'a, C> {
    pub(super) const fn new(limit: Option<(&'a Limiter<C>, IpAddr)>, paid: u32) -> Self {
        Self { limit, paid, wait: None, any_taken: false }
    }

    /// Returns the time after which the client may repeat the first rejected call. Returns `None` if the limiter has
    /// accepted a call, or has rejected none.
    pub(crate) fn wait_for_first(&self) -> Option<Duration> {
        self.wait.filter(|_| !self.any_taken)
    }

    /// Takes the units of a call of this weight. After one rejected call, the allowance rejects all further calls of
    /// the request, because they may depend on the rejected call. A weight above the burst size counts as the burst
    /// size, so that a client can call every method.
    ///
    /// # Errors
    ///
    /// The time after which the client may repeat the call.
    pub(crate) fn charge(&mut self, weight: NonZeroU32) -> Result<(), Duration> {
        let Some((limiter, client)) = self.limit else { return Ok(()) };
        if let Some(wait) = self.wait {
            return Err(wait);
        }
        let weight = weight.min(limiter.quota.burst_size());
        let paid = std::mem::take(&mut self.paid).min(weight.get());
        let due = NonZeroU32::new(weight.get().saturating_sub(paid));
        match due.map_or(Ok(()), |due| limiter.check(client, due)) {
            Ok(()) => self.any_taken = true,
            Err(wait) => {
                // The next request pays for its arrival again.
                let again = limiter.quota.replenish_interval().saturating_mul(paid);
                return Err(*self.wait.insert(wait.saturating_add(again)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn limiter(each_second: u32) -> (Limiter<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (Limiter::with_clock(units(each_second), clock.clone()), clock)
    }

    fn units(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn clients_have_their_shares_each() {
        let (limiter, clock) = limiter(3);
        for _ in 0..3 {
            assert_eq!(limiter.check(ONE, units(1)), Ok(()));
        }
        let wait = limiter.check(ONE, units(1)).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(1), "{wait:?}");
        assert_eq!(limiter.check(OTHER, units(3)), Ok(()));
        clock.advance(wait);
        assert_eq!(limiter.check(ONE, units(1)), Ok(()));
        assert!(limiter.check(ONE, units(1)).is_err(), "one share is free again");
    }

    #[test]
    fn call_costs_its_weight_and_the_first_refusal_refuses_the_rest() {
        let (limiter, _) = limiter(10);
        let mut allowance = Allowance::new(Some((&limiter, ONE)), 0);
        assert_eq!(allowance.charge(units(4)), Ok(()));
        let wait = allowance.charge(units(7)).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        assert_eq!(allowance.charge(units(1)), Err(wait), "it may build on the one before");
        assert_eq!(limiter.check(ONE, units(6)), Ok(()), "what was refused costs nothing");
        let mut unlimited = Allowance::<MonotonicClock>::new(None, 0);
        assert_eq!(unlimited.charge(units(u32::MAX)), Ok(()));
    }

    #[test]
    fn arrival_pays_for_a_unit_of_the_first_call() {
        let (limiter, _) = limiter(5);
        limiter.check(ONE, units(1)).unwrap();
        let mut allowance = Allowance::new(Some((&limiter, ONE)), 1);
        assert_eq!(allowance.charge(units(1)), Ok(()));
        assert_eq!(allowance.charge(units(4)), Ok(()));
        assert!(allowance.charge(units(1)).is_err());
    }

    #[test]
    fn call_that_weighs_more_than_there_is_at_once_can_be_made() {
        let (limiter, clock) = limiter(5);
        let call = |paid: u32| {
            limiter.check(ONE, units(paid))?;
            Allowance::new(Some((&limiter, ONE)), paid).charge(units(100))
        };
        assert_eq!(call(1), Ok(()));
        // A client that waits for the returned time succeeds within four attempts.
        let mut attempts = 0;
        while let Err(wait) = call(1) {
            clock.advance(wait);
            attempts += 1;
            assert!(attempts < 4, "the wait does not lead to an answer");
        }
    }

    #[test]
    fn network_of_a_subscriber_is_one_client() {
        let of = |text: &str| one_of(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
