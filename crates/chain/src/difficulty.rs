//! The difficulties of proof of work, which depend on the number of solutions (Reference: execution#difficulty).

use silica_protocol::DsBlockHeader;

/// First difficulty with large steps (`POW_BOUNDARY_N_DIVIDED_START`), and the lowest difficulty after a change of such
/// a difficulty.
const STEEP_FROM: u8 = 32;
const STEEP_FLOOR: u8 = 30;
/// Largest change of a difficulty in one adjustment: below [`STEEP_FROM`], and at or above it.
const STEP: i64 = 2;
const STEEP_STEP: i64 = 8;

/// The parameters of the adjustment of a difficulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjustment {
    /// Difficulty in the genesis block, which is also the lowest difficulty.
    pub initial: u8,
    /// Number of solutions that the network expects in a DS epoch.
    pub expected: u32,
    /// Number of solutions above or below `expected` that change the difficulty by 1.
    pub solutions_per_step: u32,
}

impl Adjustment {
    /// Adjustment of the difficulty to join a shard, with the constants of the main network.
    pub const SHARD: Self =
        Self { initial: DsBlockHeader::INITIAL_DIFFICULTY, expected: 1_800, solutions_per_step: 99 };
    /// Adjustment of the difficulty to join the DS committee, with the constants of the main network.
    pub const DS: Self = Self { initial: DsBlockHeader::INITIAL_DS_DIFFICULTY, expected: 5, solutions_per_step: 5 };

    /// Returns the difficulty after a DS epoch with difficulty `current` and this number of `solutions`.
    pub fn next(self, current: u8, solutions: u32) -> u8 {
        let steep = current >= STEEP_FROM;
        let (step, floor) = if steep { (STEEP_STEP, STEEP_FLOOR) } else { (STEP, self.initial) };
        let surplus = i64::from(solutions).saturating_sub(i64::from(self.expected));
        let change = match self.expected {
            0 => 0,
            _ => surplus
                .checked_div(i64::from(self.solutions_per_step))
                .unwrap_or(0)
                .max(step.saturating_neg())
                .min(step),
        };
        let moved = i64::from(current).saturating_add(change).clamp(0, i64::from(u8::MAX));
        u8::try_from(moved).map_or(u8::MAX, |moved| moved.max(floor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(adjustment: Adjustment, current: u8, solutions: u32, expected: u8) {
        assert_eq!(adjustment.next(current, solutions), expected, "from {current} with {solutions} solutions");
    }

    #[test]
    fn without_solutions_the_floor_stays() {
        check(Adjustment::SHARD, 3, 0, 3);
        check(Adjustment::DS, 5, 0, 5);
    }

    #[test]
    fn the_expected_number_changes_nothing() {
        check(Adjustment::SHARD, 10, 1_800, 10);
        check(Adjustment { expected: 0, ..Adjustment::SHARD }, 10, 5_000, 10);
    }

    #[test]
    fn quotients_round_toward_zero() {
        check(Adjustment::SHARD, 10, 1_800 + 98, 10);
        check(Adjustment::SHARD, 10, 1_800 + 99, 11);
        check(Adjustment::SHARD, 10, 1_800 - 98, 10);
        check(Adjustment::SHARD, 10, 1_800 - 99, 9);
    }

    #[test]
    fn one_adjustment_moves_by_two_at_most() {
        check(Adjustment::SHARD, 10, 100_000, 12);
        check(Adjustment::DS, 10, 100_000, 12);
        check(Adjustment::SHARD, 10, 0, 8);
    }

    #[test]
    fn from_32_on_steps_reach_eight_and_the_floor_is_30() {
        check(Adjustment::SHARD, 32, 100_000, 40);
        check(Adjustment::SHARD, 32, 0, 30);
        check(Adjustment::SHARD, 31, 0, 29);
    }

    #[test]
    fn the_value_stays_within_eight_bits() {
        check(Adjustment::SHARD, 250, 100_000, 255);
    }
}
