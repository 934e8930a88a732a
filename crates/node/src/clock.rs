//! The system clock, which no other module reads, and the clock of a chain, which developers can set.

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};
use silica_protocol::Timestamp;

/// Returns the time of the system clock. If this clock is before 1970, returns the beginning of 1970.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time")]
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::new(u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX))
}

/// The latest time to which a clock can be set: the end of the year 9999. The bound leaves room for the times of later
/// blocks.
pub(crate) const LATEST: Timestamp = Timestamp::new(253_402_300_799_999_999);

/// Microseconds in a second.
const MICROSECONDS: u64 = 1_000_000;

/// Reason why a clock cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClockError {
    /// The time is not after the time of the latest block.
    #[error("expected a time after {latest}, the time of the latest block, got {got}")]
    Past {
        /// The time of the latest block.
        latest: Timestamp,
        /// The given time.
        got: Timestamp,
    },
    /// The time is beyond the year 9999.
    #[error("expected a time up to {LATEST}, the end of the year 9999, got {got}")]
    Future {
        /// The given time.
        got: Timestamp,
    },
    /// The time plus the seconds is beyond the year 9999.
    #[error(
        "expected seconds that move the time to at most {LATEST} microseconds, the end of the year 9999, got {got} s"
    )]
    TooMany {
        /// The given number of seconds.
        got: u32,
    },
}

/// The clock of a chain: the system clock plus an offset.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    setting: Mutex<Setting>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Setting {
    /// Offset from the system clock, in microseconds.
    ahead: i64,
    /// The time of the next block, if a developer set it. The clock continues from this time.
    next: Option<Timestamp>,
}

/// If the latest block is ahead of the clock by more than this number of microseconds, the node logs a warning.
const TOLERANCE: u64 = 10 * MICROSECONDS;

/// Detects that the latest block is ahead of the clock. This can happen after a wrong setting of the system clock. Each
/// block is then only one microsecond later than the block before.
#[derive(Debug, Default)]
pub(crate) struct Lead {
    lasts: bool,
}

/// A change of the lead of the latest block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeadChange {
    /// The latest block is ahead of the clock by more than [`TOLERANCE`].
    Begun,
    /// The clock has reached the time of the latest block.
    Ended,
}

impl Lead {
    /// Compares the time of the latest block with the clock. Returns each change once, and `None` without a change.
    pub(crate) fn observe(&mut self, latest: Timestamp, now: Timestamp) -> Option<LeadChange> {
        let change = if self.lasts { LeadChange::Ended } else { LeadChange::Begun };
        let has_changed = match change {
            LeadChange::Begun => latest.get().saturating_sub(now.get()) > TOLERANCE,
            LeadChange::Ended => latest <= now,
        };
        self.lasts ^= has_changed;
        has_changed.then_some(change)
    }
}

/// The state of a clock at a point in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    time: Timestamp,
    next: Option<Timestamp>,
}

impl Clock {
    /// Returns a clock that is not behind `time`.
    pub(crate) fn not_before(time: Timestamp) -> Self {
        let ahead = difference(time, now()).max(0);
        Self { setting: Mutex::new(Setting { ahead, next: None }) }
    }

    /// Returns the time of this clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.setting().now(now())
    }

    /// Returns the time for the next block: the time that a developer has set, or otherwise the time of this clock.
    pub(crate) fn of_next_block(&self) -> Timestamp {
        let setting = self.setting();
        setting.next.unwrap_or_else(|| setting.now(now()))
    }

    /// Records that a block was made. If a developer had set its time, the clock continues from that time.
    pub(crate) fn block_made(&self) {
        let mut setting = self.setting();
        if let Some(time) = setting.next.take() {
            setting.ahead = difference(time, now());
        }
    }

    /// Sets the time of the next block.
    ///
    /// # Errors
    ///
    /// The time is not after `latest`, or is beyond [`LATEST`].
    pub(crate) fn set_next(&self, time: Timestamp, latest: Timestamp) -> Result<(), ClockError> {
        if time <= latest {
            return Err(ClockError::Past { latest, got: time });
        }
        if time > LATEST {
            return Err(ClockError::Future { got: time });
        }
        self.setting().next = Some(time);
        Ok(())
    }

    /// Moves the clock forward, and also the time of the next block if this time is set. Returns the new time of the
    /// next block if it is set, and the new time of the clock otherwise.
    ///
    /// # Errors
    ///
    /// [`ClockError::TooMany`] if the time would be beyond [`LATEST`].
    pub(crate) fn advance(&self, seconds: u32) -> Result<Timestamp, ClockError> {
        let by = u64::from(seconds).saturating_mul(MICROSECONDS);
        let later = |time: Timestamp| {
            let time = Timestamp::new(time.get().saturating_add(by));
            if time <= LATEST { Ok(time) } else { Err(ClockError::TooMany { got: seconds }) }
        };
        let (mut setting, system) = (self.setting(), now());
        let time = later(setting.now(system))?;
        let next = setting.next.map(later).transpose()?;
        *setting = Setting { ahead: difference(time, system), next };
        Ok(next.unwrap_or(time))
    }

    /// Returns the time and the settings, for [`go_back`](Self::go_back).
    pub(crate) fn moment(&self) -> Moment {
        let setting = self.setting();
        Moment { time: setting.now(now()), next: setting.next }
    }

    /// Restores a moment. The clock continues as if no time had passed since then.
    pub(crate) fn go_back(&self, to: Moment) {
        *self.setting() = Setting { ahead: difference(to.time, now()), next: to.next };
    }

    fn setting(&self) -> MutexGuard<'_, Setting> {
        self.setting.lock()
    }
}

impl Setting {
    fn now(self, system: Timestamp) -> Timestamp {
        Timestamp::new(system.get().saturating_add_signed(self.ahead))
    }
}

/// Returns the microseconds from `from` to `to`.
fn difference(to: Timestamp, from: Timestamp) -> i64 {
    let difference = i128::from(to.get()).saturating_sub(i128::from(from.get()));
    i64::try_from(difference).unwrap_or(if difference > 0 { i64::MAX } else { i64::MIN })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_in_microseconds_of_this_century() {
        let year_2020 = 1_577_836_800_000_000;
        let year_2100 = 4_102_444_800_000_000;
        assert!((year_2020..year_2100).contains(&now().get()));
    }

    /// Checks that the clock shows this time, or at most 60 s more.
    #[track_caller]
    fn check(clock: &Clock, expected: Timestamp) {
        let late = clock.now().get().checked_sub(expected.get()).expect("the clock is behind");
        assert!(late < 60 * MICROSECONDS, "{late}");
    }

    fn plus(time: Timestamp, seconds: u64) -> Timestamp {
        Timestamp::new(time.get() + seconds * MICROSECONDS)
    }

    #[test]
    fn clock_is_put_forward_for_good() {
        let (clock, start) = (Clock::default(), now());
        check(&clock, start);
        clock.advance(3_600).unwrap();
        clock.block_made();
        clock.advance(7_200).unwrap();
        check(&clock, plus(start, 10_800));
        assert!(clock.of_next_block() >= plus(start, 10_800));
    }

    #[test]
    fn clock_continues_from_the_block_with_a_set_time() {
        let (clock, start) = (Clock::default(), now());
        let time = plus(start, 1_000_000);
        clock.set_next(time, start).unwrap();
        check(&clock, start);
        assert_eq!((clock.of_next_block(), clock.of_next_block()), (time, time));
        clock.block_made();
        check(&clock, time);
        // The clock can go back if the next block is later than the latest block.
        let earlier = plus(start, 5_000);
        clock.set_next(earlier, start).unwrap();
        clock.block_made();
        check(&clock, earlier);
    }

    #[test]
    fn time_of_the_next_block_is_put_forward_with_the_clock() {
        let (clock, start) = (Clock::default(), now());
        clock.set_next(plus(start, 500), start).unwrap();
        assert_eq!(clock.advance(100), Ok(plus(start, 600)));
        assert_eq!(clock.of_next_block(), plus(start, 600));
        check(&clock, plus(start, 100));
    }

    #[test]
    fn clock_that_is_set_wrongly_stays_as_it_is() {
        let (clock, start) = (Clock::default(), now());
        assert_eq!(clock.set_next(start, start), Err(ClockError::Past { latest: start, got: start }));
        let got = LATEST.next().unwrap();
        assert_eq!(clock.set_next(got, start), Err(ClockError::Future { got }));
        clock.set_next(LATEST, start).unwrap();
        assert_eq!(clock.advance(1), Err(ClockError::TooMany { got: 1 }));
        check(&clock, start);
        assert_eq!(clock.of_next_block(), LATEST);
    }

    #[test]
    fn clock_continues_from_an_earlier_time() {
        let (clock, start) = (Clock::default(), now());
        clock.advance(100).unwrap();
        clock.set_next(plus(start, 500), start).unwrap();
        let moment = clock.moment();
        clock.block_made();
        clock.advance(3_600).unwrap();
        clock.go_back(moment);
        check(&clock, plus(start, 100));
        assert_eq!(clock.of_next_block(), plus(start, 500));
        clock.go_back(Moment { time: plus(start, 7), next: None });
        check(&clock, plus(start, 7));
    }

    #[test]
    fn lead_of_the_latest_block_is_noticed_once_and_so_is_its_end() {
        let (mut lead, start) = (Lead::default(), Timestamp::new(1_700_000_000_000_000));
        let year = 365 * 24 * 3_600;
        // The system clock is a year ahead for two blocks, and then correct again.
        for (latest, now, expected) in [
            (start, start, None),
            (plus(start, year), plus(start, year), None),
            (plus(start, year + 1), plus(start, year + 1), None),
            (plus(start, year + 1), plus(start, 2), Some(LeadChange::Begun)),
            (plus(start, year + 1).next().unwrap(), plus(start, 3), None),
            (plus(start, year + 1).next().unwrap(), plus(start, year), None),
            (plus(start, year + 5), plus(start, year + 5), Some(LeadChange::Ended)),
            (plus(start, year + 16), plus(start, year + 6), None),
            (plus(start, year + 16).next().unwrap(), plus(start, year + 6), Some(LeadChange::Begun)),
        ] {
            assert_eq!(lead.observe(latest, now), expected, "{latest} {now}");
        }
    }

    #[test]
    fn clock_begins_at_the_latest_block_if_that_is_ahead() {
        let start = now();
        check(&Clock::not_before(plus(start, 900)), plus(start, 900));
        check(&Clock::not_before(Timestamp::new(5)), start);
    }
}
