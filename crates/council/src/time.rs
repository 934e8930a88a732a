//! The rule for the timestamp of a body.
//!
//! A verdict that depends on a clock is never [`TimeVerdict::Invalid`], because the members would disagree. A member
//! withholds its vote instead, and the round passes.

use std::time::Duration;

use silica_protocol::Timestamp;

use crate::network::Parameters;

/// Increase of the time for a proposal with each round.
const ROUND_STEP: Duration = Duration::from_millis(500);

/// Longest time for a proposal.
const LONGEST: Duration = Duration::from_secs(30);

/// The limits of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRule {
    /// Maximum difference between the clocks of two members.
    pub drift: Duration,
    /// Time for a proposal in the round.
    pub propose_timeout: Duration,
}

/// Returns the time for a proposal in a round, if round 0 has the time `first`: 500 ms more in each round, and at most
/// 30 s.
pub fn propose_timeout_of(first: Duration, round: u32) -> Duration {
    first.saturating_add(ROUND_STEP.saturating_mul(round)).min(LONGEST)
}

impl TimeRule {
    /// Returns the rule in a round.
    pub fn of_round(parameters: &Parameters, round: u32) -> Self {
        Self { drift: parameters.drift, propose_timeout: propose_timeout_of(parameters.propose_timeout, round) }
    }
}

/// How a member reacts to the timestamp of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeVerdict {
    /// The timestamp is valid.
    Valid,
    /// The timestamp is in the future. It is valid from this time on, if it is not too old then.
    Later(Timestamp),
    /// The timestamp is too old for a first proposal. The member sends no verdict.
    Withheld,
    /// The timestamp is not after the head. Every member has this verdict at all times.
    Invalid,
}

/// Returns the timestamp of the next body: `now`, or one microsecond after the timestamp `head` if that is later.
/// Returns `None` at the end of the range.
pub fn next_timestamp(head: Timestamp, now: Timestamp) -> Option<Timestamp> {
    head.get().checked_add(1).map(|least| Timestamp::new(least.max(now.get())))
}

/// Returns the verdict on the timestamp of a first proposal: a proposal that does not name an earlier round.
pub fn judge_first_proposal(timestamp: Timestamp, head: Timestamp, now: Timestamp, rule: &TimeRule) -> TimeVerdict {
    let (drift, timeout) = (microseconds(rule.drift), microseconds(rule.propose_timeout));
    let oldest = now.get().saturating_sub(drift).saturating_sub(timeout);
    let verdict = judge_repeated(timestamp, head, now, rule.drift);
    if verdict == TimeVerdict::Valid && timestamp.get() < oldest { TimeVerdict::Withheld } else { verdict }
}

/// Returns the verdict on the timestamp of a proposal that names an earlier round. A proposer can also name a round in
/// which no quorum has accepted the timestamp. So the function also checks that the timestamp is not in the future. A
/// past time is valid, because rounds take time.
pub(crate) fn judge_repeated(timestamp: Timestamp, head: Timestamp, now: Timestamp, drift: Duration) -> TimeVerdict {
    let verdict = judge_decided(timestamp, head);
    let drift = microseconds(drift);
    if verdict == TimeVerdict::Valid && timestamp.get() > now.get().saturating_add(drift) {
        return TimeVerdict::Later(Timestamp::new(timestamp.get().saturating_sub(drift)));
    }
    verdict
}

/// Returns the verdict on the timestamp of a decided body from another member, or of a stored body. A quorum has
/// accepted its timestamp before, so only the order counts.
pub fn judge_decided(timestamp: Timestamp, head: Timestamp) -> TimeVerdict {
    if timestamp > head { TimeVerdict::Valid } else { TimeVerdict::Invalid }
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{NetworkFile, testing};

    const RULE: TimeRule = TimeRule { drift: Duration::from_micros(20), propose_timeout: Duration::from_micros(100) };

    fn judge(timestamp: u64, head: u64, now: u64) -> TimeVerdict {
        judge_first_proposal(Timestamp::new(timestamp), Timestamp::new(head), Timestamp::new(now), &RULE)
    }

    #[test]
    fn a_first_proposal_is_near_the_clock() {
        let cases = [
            (1_000, TimeVerdict::Valid),
            (1_020, TimeVerdict::Valid),
            (1_021, TimeVerdict::Later(Timestamp::new(1_001))),
            (5_000, TimeVerdict::Later(Timestamp::new(4_980))),
            (880, TimeVerdict::Valid),
            (879, TimeVerdict::Withheld),
            (501, TimeVerdict::Withheld),
            (500, TimeVerdict::Invalid),
            (0, TimeVerdict::Invalid),
        ];
        for (timestamp, expected) in cases {
            assert_eq!(judge(timestamp, 500, 1_000), expected, "{timestamp}");
        }
    }

    #[test]
    fn a_repeated_body_is_not_in_the_future() {
        let judge = |timestamp| {
            judge_repeated(Timestamp::new(timestamp), Timestamp::new(500), Timestamp::new(1_000), RULE.drift)
        };
        assert_eq!([501, 879, 1_020].map(judge), [TimeVerdict::Valid; 3]);
        assert_eq!(judge(1_021), TimeVerdict::Later(Timestamp::new(1_001)));
        assert_eq!([0, 500].map(judge), [TimeVerdict::Invalid; 2]);
    }

    #[test]
    fn other_bodies_need_no_clock() {
        assert_eq!(judge_decided(Timestamp::new(501), Timestamp::new(500)), TimeVerdict::Valid);
        assert_eq!(judge_decided(Timestamp::new(u64::MAX), Timestamp::new(500)), TimeVerdict::Valid);
        assert_eq!(judge_decided(Timestamp::new(500), Timestamp::new(500)), TimeVerdict::Invalid);
    }

    #[test]
    fn later_rounds_have_more_time() {
        let file = NetworkFile::parse(&testing::network_file(4)).unwrap();
        let time = |round| TimeRule::of_round(file.parameters(), round).propose_timeout.as_millis();
        let expected = [(0, 1_000), (1, 1_500), (57, 29_500), (58, 30_000), (59, 30_000), (u32::MAX, 30_000)];
        assert_eq!(expected.map(|(round, _)| (round, time(round))), expected);
    }

    #[test]
    fn timestamps_ascend_without_a_clock() {
        assert_eq!(next_timestamp(Timestamp::new(5), Timestamp::new(9)), Some(Timestamp::new(9)));
        assert_eq!(next_timestamp(Timestamp::new(9), Timestamp::new(5)), Some(Timestamp::new(10)));
        assert_eq!(next_timestamp(Timestamp::new(u64::MAX), Timestamp::new(5)), None);
    }

    proptest! {
        /// A member accepts a proposal that arrives in time, if its clock differs from that of the proposer by at most
        /// the drift.
        #[test]
        fn correct_proposals_are_valid(now in 200_u64..1 << 60, drift in 0_u64..=20, late in 0_u64..=100, ahead: bool) {
            let head = now - 150;
            let proposed = next_timestamp(Timestamp::new(head), Timestamp::new(now)).unwrap().get();
            let clock = if ahead { now + drift } else { now - drift } + late;
            prop_assert_eq!(judge(proposed, head, clock), TimeVerdict::Valid);
        }

        /// The verdict `Invalid` is the same at all times, and `Later` names a time at which the timestamp is valid.
        #[test]
        fn verdicts_of_a_clock_are_not_final(timestamp: u64, head: u64, now: u64) {
            match judge(timestamp, head, now) {
                TimeVerdict::Invalid => prop_assert_eq!(judge(timestamp, head, 0), TimeVerdict::Invalid),
                TimeVerdict::Later(at) => {
                    prop_assert!(at.get() > now);
                    prop_assert_eq!(judge(timestamp, head, at.get()), TimeVerdict::Valid);
                }
                TimeVerdict::Valid | TimeVerdict::Withheld => prop_assert!(timestamp > head),
            }
        }
    }
}
