//! The reward that a vacuous block pays (Reference: execution#rewards), for a network with one key.
//!
//! The reference divides the coinbase reward into three parts: for all members, for lookups and for co-signatures. Each
//! part has equal shares, and one winner of a lucky draw gets the remainders. If one key has all roles, the shares and
//! remainders add up to the whole reward. Therefore this module does not divide the reward. The test
//! `shares_of_one_key_are_the_whole_reward` proves the sum.

use silica_protocol::Qa;

/// Result of the payment of a vacuous block: the null account gets the fees of the DS epoch and pays the reward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The balance of the null account after the payment.
    pub reserve: Qa,
    /// The amount that the node gets in Qa: the reward, or the sum of reserve and fees if this sum is lower.
    pub paid: Qa,
}

impl Settlement {
    /// Adds the `fees` of a DS epoch to the `reserve`, and pays the `reward` from the sum. If the sum is lower than the
    /// reward, pays the whole sum.
    ///
    /// Returns `None` if the sum of reserve and fees exceeds 128 bits. The supply of a valid genesis makes this
    /// impossible.
    pub fn new(reserve: Qa, fees: Qa, reward: Qa) -> Option<Self> {
        let filled = reserve.checked_add(fees)?;
        let paid = reward.min(filled);
        Some(Self { reserve: filled.checked_sub(paid)?, paid })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fees_return_to_the_reserve_before_the_reward_leaves_it() {
        let settled = Settlement::new(Qa::new(10), Qa::new(5), Qa::new(12)).unwrap();
        assert_eq!(settled, Settlement { reserve: Qa::new(3), paid: Qa::new(12) });
    }

    #[test]
    fn an_exhausted_reserve_pays_what_it_has() {
        let settled = Settlement::new(Qa::new(10), Qa::new(1), Qa::new(12)).unwrap();
        assert_eq!(settled, Settlement { reserve: Qa::ZERO, paid: Qa::new(11) });
    }

    #[test]
    fn a_reserve_beyond_128_bits_is_refused() {
        assert_eq!(Settlement::new(Qa::MAX, Qa::new(1), Qa::ZERO), None);
    }

    proptest! {
        #[test]
        fn money_is_conserved(reserve in 0..u128::MAX / 2, fees in 0..u128::MAX / 2, reward: u128) {
            let settled = Settlement::new(Qa::new(reserve), Qa::new(fees), Qa::new(reward)).unwrap();
            prop_assert_eq!(settled.reserve.get() + settled.paid.get(), reserve + fees);
        }

        /// Divides the reward for any numbers of shares, and gives all shares to the same key
        /// (Reference: execution#rewards).
        #[test]
        fn shares_of_one_key_are_the_whole_reward(
            reward in 0..1_000_000_000_000_000_000_000_000_u128,
            members in 1..3_000_u128, lookups in 1..10_000_u128, signatures in 1..1_000_000_u128,
        ) {
            let base = reward * 20 / 100;
            let lookup = reward * 40 / 100;
            let cosignature = reward - lookup - base;
            let shares =
                base / members * members + lookup / lookups * lookups + cosignature / signatures * signatures;
            let lucky_draw = base % members + lookup % lookups + cosignature % signatures;
            let settled = Settlement::new(Qa::MAX, Qa::ZERO, Qa::new(reward)).unwrap();
            prop_assert_eq!(settled.paid, Qa::new(shares + lucky_draw));
        }
    }
}
