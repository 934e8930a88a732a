//! How often a peer may ask.

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

/// Checks after which peers that have been silent for long enough are forgotten.
const TIDY: u32 = 10_000;

/// So many requests each second for each peer, and as many at once.
#[derive(Debug)]
pub(super) struct Limiter<C: Clock = MonotonicClock> {
    shares: RateLimiter<IpAddr, HashMapStateStore<IpAddr>, C, NoOpMiddleware<C::Instant>>,
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
        Self { shares, clock, checks: AtomicU32::new(0) }
    }

    /// Counts a request of `peer`.
    ///
    /// # Errors
    ///
    /// The time after which it may ask again.
    pub(super) fn check(&self, peer: IpAddr) -> Result<(), Duration> {
        if self.checks.fetch_add(1, Relaxed) % TIDY == TIDY - 1 {
            self.shares.retain_recent();
        }
        self.shares.check_key(&one_of(peer)).map_err(|wait| wait.wait_time_from(self.clock.now()))
    }
}

/// What counts as one peer: an address, of IPv6 the network of a subscriber, who has 2⁶⁴ addresses.
fn one_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    #[test]
    fn peers_have_their_shares_each() {
        let clock = FakeRelativeClock::default();
        let limiter = Limiter::with_clock(NonZeroU32::new(3).unwrap(), clock.clone());
        let (one, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        for _ in 0..3 {
            assert_eq!(limiter.check(one), Ok(()));
        }
        let wait = limiter.check(one).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(1), "{wait:?}");
        assert_eq!(limiter.check(other), Ok(()));
        clock.advance(wait);
        assert_eq!(limiter.check(one), Ok(()));
        assert!(limiter.check(one).is_err(), "one share is free again");
    }

    #[test]
    fn network_of_a_subscriber_is_one_peer() {
        let of = |text: &str| one_of(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
