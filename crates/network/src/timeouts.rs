//! How long the engine waits in each round of a height.

use std::time::Duration;

use arc_malachitebft_app::types::core::{Context, Timeout, TimeoutKind, Timeouts};
use silica_council::{Height, Parameters, Timer, TimerKind, propose_timeout_of, proposer};

/// Time for each step of a round whose proposer is absent.
const ABSENT: Duration = Duration::from_millis(20);

/// Time after which the engine sends its votes of round 0 again. A later round has more time, like a proposal.
const REBROADCAST: Duration = Duration::from_secs(1);

/// Number of missing decisions from which on a member is behind.
const LATE: u64 = 4;

/// Time for members that are later than a quorum with the first message of a co-signature session.
const STRAGGLERS: Duration = Duration::from_millis(50);

/// Time for a step of a co-signature session in round 0.
const STEP: Duration = Duration::from_millis(500);

/// Returns the time of a timer of a co-signature session. A step has 100 ms more in each round. Otherwise a network
/// whose messages take longer than 250 ms would never seal a block. A proposal has 500 ms more in each round. With a
/// `propose-timeout` of 1 s, round 0 has time for two steps in which a signer is silent, and a late round for four. A
/// leader excludes silent signers also in its later rounds.
pub(crate) fn session_time_of(timer: Timer) -> Duration {
    match timer.kind {
        TimerKind::Stragglers => STRAGGLERS,
        TimerKind::Step => STEP.saturating_add(propose_timeout_of(Duration::ZERO, timer.round()) / 5),
    }
}

/// Returns whether a member with this last announced decision is too far behind to propose at a height.
pub(crate) fn is_behind(tip: u64, height: Height) -> bool {
    tip.saturating_add(LATE) < height.get()
}

/// The timeouts of a height. Each member determines its own. The timeouts have no effect on the validity of an entry.
///
/// A proposal has the time of [`propose_timeout_of`]. Late prevotes and precommits have a quarter of it. A proposer is
/// absent if it has no connection to this member, or is behind. In its rounds, each step takes [`ABSENT`], so a dead
/// member delays the others only briefly. A network of *n* members has no short rounds after the first *n* rounds of a
/// height. So a member without a connection to a live proposer does not prevent a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeightTimeouts {
    propose: Duration,
    /// The rounds with an absent proposer, round 0 in the lowest bit. A network file has at most 64 members.
    absent: u64,
}

impl HeightTimeouts {
    /// Returns the timeouts of a height. `is_absent` returns whether the member at a position is absent.
    pub(crate) fn new(
        parameters: &Parameters,
        members: usize,
        height: Height,
        is_absent: impl Fn(usize) -> bool,
    ) -> Self {
        let rounds = u32::try_from(members).unwrap_or(u64::BITS).min(u64::BITS);
        let absent = (0..rounds).filter(|round| is_absent(proposer(members, height, *round)));
        let absent = absent.fold(0_u64, |bits, round| bits | 1_u64.unbounded_shl(round));
        Self { propose: parameters.propose_timeout, absent }
    }

    fn has_absent_proposer(&self, round: u32) -> bool {
        self.absent.unbounded_shr(round) & 1 == 1
    }
}

impl<Ctx: Context> Timeouts<Ctx> for HeightTimeouts {
    fn duration_for(&self, timeout: Timeout) -> Duration {
        let round = timeout.round.as_u32().unwrap_or_default();
        let propose = propose_timeout_of(self.propose, round);
        match timeout.kind {
            TimeoutKind::FinalizeHeight(duration) => duration,
            TimeoutKind::Rebroadcast => propose_timeout_of(REBROADCAST, round),
            TimeoutKind::Propose | TimeoutKind::Prevote | TimeoutKind::Precommit if self.has_absent_proposer(round) => {
                ABSENT.min(propose)
            }
            TimeoutKind::Propose => propose,
            TimeoutKind::Prevote | TimeoutKind::Precommit => propose / 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use arc_malachitebft_app::types::core::Round;

    use super::*;
    use crate::{context::Ctx, simulation::network};

    /// Returns the milliseconds of a step, for rounds 0 to 5.
    fn milliseconds(timeouts: HeightTimeouts, step: fn(Round) -> Timeout) -> [u128; 6] {
        [0, 1, 2, 3, 4, 5].map(|round| Timeouts::<Ctx>::duration_for(&timeouts, step(Round::new(round))).as_millis())
    }

    #[test]
    fn rounds_of_absent_proposers_are_short_at_first() {
        let network = network::network(4);
        let parameters = network.parameters();
        // At height 3, members 2, 3, 0 and 1 propose in rounds 0 to 3.
        let height = Height::new(3).unwrap();
        let timeouts = |absent: &[usize]| HeightTimeouts::new(parameters, 4, height, |member| absent.contains(&member));
        assert_eq!(milliseconds(timeouts(&[]), Timeout::propose), [1_000, 1_500, 2_000, 2_500, 3_000, 3_500]);
        assert_eq!(milliseconds(timeouts(&[]), Timeout::precommit), [250, 375, 500, 625, 750, 875]);
        assert_eq!(milliseconds(timeouts(&[2]), Timeout::propose), [20, 1_500, 2_000, 2_500, 3_000, 3_500]);
        assert_eq!(milliseconds(timeouts(&[2]), Timeout::prevote), [20, 375, 500, 625, 750, 875]);
        assert_eq!(milliseconds(timeouts(&[1]), Timeout::propose), [1_000, 1_500, 2_000, 20, 3_000, 3_500]);
        let all = timeouts(&[0, 1, 2, 3]);
        assert_eq!(milliseconds(all, Timeout::precommit), [20, 20, 20, 20, 750, 875]);
        assert_eq!(milliseconds(all, Timeout::rebroadcast), [1_000, 1_500, 2_000, 2_500, 3_000, 3_500]);
    }

    #[test]
    fn member_is_behind_from_the_fourth_missing_decision_on() {
        let is_behind = |tip| is_behind(tip, Height::new(10).unwrap());
        assert_eq!([0, 5, 6, 9, 10, u64::MAX].map(is_behind), [true, true, false, false, false, false]);
    }

    #[test]
    fn largest_network_has_a_bit_for_each_round() {
        let network = network::network(4);
        let height = Height::new(1).unwrap();
        let timeouts = HeightTimeouts::new(network.parameters(), 64, height, |_| true);
        assert_eq!(timeouts.absent, u64::MAX);
        assert!(!timeouts.has_absent_proposer(64));
    }
}
