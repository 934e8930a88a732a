//! The rule for a member that has lost its agreement files.
//!
//! Such a member does not know how it voted. If it votes again at a height, it can contradict its earlier vote. The
//! member follows the chain until it is past every height at which it can have voted. The rule is safe if at most as
//! many members as can lie lose their files at a time.

use silica_protocol::BlockNumber;

/// Blocks after the latest known head at which the member can have voted: the next block, and one block that only some
/// members know.
const MARGIN: u64 = 2;

/// Returns the head from which on a member without agreement files votes again.
///
/// `own` is the head of the record of the member. `named` has the heads that the other members report, one of each.
/// `faults` is the number of members that can lie. Returns `None` if too few members have reported, or at the end of
/// the range. The member then waits.
pub fn votes_from(own: BlockNumber, named: &[BlockNumber], faults: usize) -> Option<BlockNumber> {
    let mut descending = named.to_vec();
    descending.sort_by(|left, right| right.cmp(left));
    // Of `faults` + 1 members that name this head or a higher one, at least one is honest.
    let known = descending.get(faults)?;
    own.max(*known).get().checked_add(MARGIN).map(BlockNumber::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(own: u64, named: &[u64], faults: usize) -> Option<u64> {
        let named: Vec<_> = named.iter().copied().map(BlockNumber::new).collect();
        votes_from(BlockNumber::new(own), &named, faults).map(BlockNumber::get)
    }

    #[test]
    fn a_member_waits_for_two_blocks_after_every_known_head() {
        assert_eq!(from(10, &[10, 10, 10], 1), Some(12));
        assert_eq!(from(10, &[3, 4], 1), Some(12));
        assert_eq!(from(0, &[100, 101, 99], 1), Some(102));
        assert_eq!(from(5, &[5], 0), Some(7));
    }

    #[test]
    fn a_liar_has_no_influence_alone() {
        assert_eq!(from(10, &[u64::MAX, 12, 11], 1), Some(14));
        assert_eq!(from(10, &[0, 12, 11], 1), Some(13));
        assert_eq!(from(10, &[u64::MAX, u64::MAX, 12, 11, 11, 10], 2), Some(14));
    }

    #[test]
    fn too_few_reports_are_no_answer() {
        assert_eq!(from(10, &[], 0), None);
        assert_eq!(from(10, &[10], 1), None);
        assert_eq!(from(u64::MAX, &[1, 1], 1), None);
    }
}
