//! The member that proposes an entry.

use crate::entry::{EntryKind, Height};

/// Returns the position of the member that proposes in a round. For a body, it is (block + round) modulo the number of
/// members. For a seal, it is the next position. The result depends on the arguments only. It is 0 if there are no
/// members.
///
/// Neighbouring rounds have different proposers. The height modulo the number of members is not suitable: with an
/// even number of members, the members at even positions would never propose a body.
///
/// # Examples
///
/// ```
/// use silica_council::{Height, proposer};
/// // Height 3 decides the body of block 2, and height 4 its seal.
/// let first = |height| proposer(4, Height::new(height).unwrap(), 0);
/// assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(first), [1, 2, 2, 3, 3, 0, 0, 1]);
/// assert_eq!(proposer(4, Height::new(3).unwrap(), 3), 1);
/// ```
pub fn proposer(members: usize, height: Height, round: u32) -> usize {
    let shift = u64::from(height.kind() == EntryKind::Seal);
    // The highest block is 2^63, so no sum exceeds the range.
    let turn = height.block().get().saturating_add(shift).saturating_add(round.into());
    let members = u64::try_from(members).unwrap_or(u64::MAX);
    turn.checked_rem(members).and_then(|position| usize::try_from(position).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_proposes_bodies_and_seals() {
        for members in 1..=10 {
            for kind in [1, 0] {
                let heights = (2..2 + 2 * u64::try_from(members).unwrap()).filter(|height| height % 2 == kind);
                let of = |height| proposer(members, Height::new(height).unwrap(), 0);
                let mut turns: Vec<_> = heights.map(of).collect();
                turns.sort_unstable();
                assert_eq!(turns, (0..members).collect::<Vec<_>>());
            }
            let height = Height::new(7).unwrap();
            for round in 0..20 {
                let next = (proposer(members, height, round) + 1) % members;
                assert_eq!(proposer(members, height, round + 1), next);
            }
        }
    }

    #[test]
    fn the_largest_arguments_have_a_proposer() {
        let last = Height::new(u64::MAX).unwrap();
        assert_eq!(proposer(4, last, u32::MAX), 3);
        assert_eq!((proposer(0, last, 0), proposer(1, last, 5)), (0, 0));
    }
}
