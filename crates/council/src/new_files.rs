//! The rule for a member whose agreement files are new.
//!
//! Such a member can have lost its files, and with them the record of its votes. If it votes again at a height, it can
//! contradict its earlier vote. So it first follows the chain until a block was built after its first start with the
//! new files. The member has not voted at a height after this block before, because a member votes at a height only
//! after the decision of the height before.
//!
//! The rule compares a timestamp with the clock of the member at its first start. A quorum accepts a timestamp up to
//! `drift` after its clocks, and a clock differs from the others by up to `drift`.
//!
//! In a new network, the files of all members are new, and no block exists. A member votes for the first block. After
//! this block, the member votes at once if the block is at most twice the `drift` older than its first start. So the
//! rule has two limits:
//!
//! - It does not protect a member whose first start with the new files is before the first block, or within twice the
//!   `drift` after it.
//! - An empty chain does not prove that the network is new. A member that has lost its chain votes again for the first
//!   block, until it has this block from another member. Members that have decided the block ignore these votes.

use std::time::Duration;

use silica_protocol::{BlockNumber, Timestamp};

/// What a member with new agreement files does at the heights of the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewFiles {
    /// The network has no block. The member votes, and the rule applies to the first block.
    Begin,
    /// The member can have voted at these heights before. It does not vote.
    Wait,
    /// The member has voted neither at these heights nor at later ones. It votes from these heights on.
    Vote,
}

impl NewFiles {
    /// Returns what a member does after a head with this number and timestamp. The member had its first start with the
    /// new files at `since`.
    pub fn after(number: BlockNumber, timestamp: Timestamp, since: Timestamp, drift: Duration) -> Self {
        let difference = u64::try_from(drift.saturating_mul(2).as_micros()).unwrap_or(u64::MAX);
        let is_later = timestamp.get() > since.get().saturating_add(difference);
        match number.get() {
            0 => Self::Begin,
            1 if timestamp.get().saturating_add(difference) >= since.get() => Self::Vote,
            _ if is_later => Self::Vote,
            _ => Self::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a member does whose first start was at 1,000 µs. The drift is 20 µs.
    fn after(number: u64, timestamp: u64) -> NewFiles {
        let drift = Duration::from_micros(20);
        NewFiles::after(BlockNumber::new(number), Timestamp::new(timestamp), Timestamp::new(1_000), drift)
    }

    #[test]
    fn member_waits_for_a_block_that_was_built_after_its_start() {
        for number in [2, 3, 1_000] {
            for (timestamp, expected) in [
                (0, NewFiles::Wait),
                (1_000, NewFiles::Wait),
                // The clock of the member can be slow, and the clock of the proposer can be fast.
                (1_040, NewFiles::Wait),
                (1_041, NewFiles::Vote),
                (u64::MAX, NewFiles::Vote),
            ] {
                assert_eq!(after(number, timestamp), expected, "{number} {timestamp}");
            }
        }
    }

    #[test]
    fn members_of_a_new_network_vote() {
        for timestamp in [0, 1_000, 2_000] {
            assert_eq!(after(0, timestamp), NewFiles::Begin);
        }
        for (timestamp, expected) in [(959, NewFiles::Wait), (960, NewFiles::Vote), (1_040, NewFiles::Vote)] {
            assert_eq!(after(1, timestamp), expected, "{timestamp}");
        }
    }
}
