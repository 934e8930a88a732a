//! The reward that a vacuous block pays (Reference: execution#rewards).
//!
//! Each member of the committee gets the same share of the reward, rounded down. The rest stays in the reserve.
//!
//! The reference divides the coinbase reward into three parts: for all members, for lookups and for co-signatures. Each
//! part has equal shares, and one winner of a lucky draw gets the remainders. If one key has all roles, the shares and
//! remainders add up to the whole reward, as here with one member. The test `shares_of_one_key_are_the_whole_reward`
//! proves the sum.

use std::cmp::Ordering;

use silica_protocol::Qa;

/// Result of the payment of a vacuous block: the null account gets the fees of the DS epoch and pays the reward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The balance of the null account after the payment.
    pub reserve: Qa,
    /// The share of a member in Qa.
    pub share: Qa,
    /// Number of members that get a whole share. They are the first members of the committee.
    pub whole: usize,
    /// The amount in Qa that the member after those in `whole` gets: the rest of a reserve that is lower than the
    /// reward.
    pub last: Qa,
    /// Number of members.
    members: usize,
}

impl Settlement {
    /// Adds the `fees` of a DS epoch to the `reserve`, and pays equal shares of the `reward` from the sum to this
    /// number of members. If the sum is lower than all shares, the first members get full shares, one member can get
    /// the rest, and the other members get nothing.
    ///
    /// Returns `None` if there are no members, or if the sum of reserve and fees exceeds 128 bits. With a valid
    /// genesis, the sum of all money fits into 128 bits.
    pub fn new(reserve: Qa, fees: Qa, reward: Qa, members: usize) -> Option<Self> {
        let filled = reserve.checked_add(fees)?;
        let share = reward.get().checked_div(u128::try_from(members).ok()?)?;
        // A share of 0 needs no money, so the reserve suffices for all members.
        let payable = filled.get().checked_div(share).map_or(members, |most| usize::try_from(most).unwrap_or(members));
        let whole = payable.min(members);
        let left = filled.checked_sub(Qa::new(share.checked_mul(u128::try_from(whole).ok()?)?))?;
        let (reserve, last) = if whole < members { (Qa::ZERO, left) } else { (left, Qa::ZERO) };
        Some(Self { reserve, share: Qa::new(share), whole, last, members })
    }

    /// Returns the amount that each member gets, in the order of the committee.
    pub fn payments(&self) -> impl Iterator<Item = Qa> + use<> {
        let Self { share, whole, last, members, .. } = *self;
        (0..members).map(move |place| match place.cmp(&whole) {
            Ordering::Less => share,
            Ordering::Equal => last,
            Ordering::Greater => Qa::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the reserve after the payment, and the payments.
    fn settle(reserve: u128, fees: u128, reward: u128, members: usize) -> (u128, Vec<u128>) {
        let settled = Settlement::new(Qa::new(reserve), Qa::new(fees), Qa::new(reward), members).unwrap();
        (settled.reserve.get(), settled.payments().map(Qa::get).collect())
    }

    #[test]
    fn fees_return_to_the_reserve_before_the_reward_leaves_it() {
        assert_eq!(settle(10, 5, 12, 1), (3, vec![12]));
        assert_eq!(settle(0, 15, 12, 4), (3, vec![3; 4]));
    }

    #[test]
    fn an_exhausted_reserve_pays_what_it_has() {
        assert_eq!(settle(10, 1, 12, 1), (0, vec![11]));
        assert_eq!(settle(10, 1, 16, 4), (0, vec![4, 4, 3, 0]));
        assert_eq!(settle(4, 4, 16, 4), (0, vec![4, 4, 0, 0]));
        assert_eq!(settle(0, 0, 16, 4), (0, vec![0; 4]));
    }

    #[test]
    fn the_rest_of_a_division_stays_in_the_reserve() {
        assert_eq!(settle(100, 0, 15, 4), (88, vec![3; 4]));
        assert_eq!(settle(100, 0, 3, 4), (100, vec![0; 4]));
        assert_eq!(settle(14, 0, 15, 4), (2, vec![3; 4]));
    }

    #[test]
    fn a_reserve_beyond_128_bits_is_refused() {
        assert_eq!(Settlement::new(Qa::MAX, Qa::new(1), Qa::ZERO, 1), None);
        assert_eq!(Settlement::new(Qa::ZERO, Qa::ZERO, Qa::ZERO, 0), None);
    }

    proptest! {
        #[test]
        fn money_is_conserved(
            reserve in 0..u128::MAX / 2, fees in 0..u128::MAX / 2, reward: u128, members in 1_usize..100,
        ) {
            let (left, paid) = settle(reserve, fees, reward, members);
            prop_assert_eq!(left + paid.iter().sum::<u128>(), reserve + fees);
            prop_assert_eq!(paid.len(), members);
            prop_assert!(paid.is_sorted_by(|one, next| one >= next));
            prop_assert!(paid[0] <= reward / u128::try_from(members).unwrap());
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
            prop_assert_eq!(settle(u128::MAX, 0, reward, 1).1, [shares + lucky_draw]);
        }
    }
}
