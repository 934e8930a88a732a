//! The gas price of a DS block, which depends on the number of full Tx blocks in the previous DS epoch
//! (Reference: execution#gas-price).

use silica_protocol::{DsBlockNumber, GasPrice, Qa, TxBlockHeader};

/// Number of DS blocks in the average, in addition to the last DS block (`MEAN_GAS_PRICE_DS_NUM`).
const MEAN_WINDOW: u64 = 5;
/// A Tx block is full if it used at least this share of its gas limit (`GAS_CONGESTION_PERCENT`).
const FULL_PERCENT: u64 = 80;
/// Shares of full blocks: below the first share the price decreases, and above the second share the price increases
/// (`UNFILLED_PERCENT_LOW`, `_HIGH`).
const FALL_BELOW_PERCENT: u64 = 10;
const RISE_ABOVE_PERCENT: u64 = 70;
/// Percent of the mean price: the price after a decrease, and the highest price after an increase
/// (`GAS_PRICE_DROP_RATIO`, `GAS_PRICE_RAISE_RATIO_UPPER`).
const FALL_TO_PERCENT: u128 = 90;
const RISE_TO_PERCENT: u128 = 115;

/// The input of the gas price of a DS block.
#[derive(Clone, Copy, Debug)]
pub struct GasPriceInputs<'a> {
    /// Number of Tx blocks since the last DS block.
    pub blocks: u64,
    /// Number of full Tx blocks among them.
    pub full_blocks: u64,
    /// Prices of the DS blocks in [`mean_window`], in any order.
    pub recent: &'a [GasPrice],
    /// Price of the last DS block.
    pub last: GasPrice,
    /// The prices that miners proposed.
    pub proposals: &'a [GasPrice],
    /// The lowest permitted price.
    pub floor: GasPrice,
}

impl GasPriceInputs<'_> {
    /// Returns the price of the next DS block. A product of a price and a percentage saturates at 128 bits.
    ///
    /// The result is never below `floor`. The price of the C++ node can be below `floor`
    /// (Reference: execution#gas-price).
    pub fn price(&self) -> GasPrice {
        let mean = self.mean();
        let price = if self.full_blocks < percent(self.blocks, FALL_BELOW_PERCENT) {
            percent_of_price(mean, FALL_TO_PERCENT)
        } else if self.full_blocks > percent(self.blocks, RISE_ABOVE_PERCENT) {
            let upper = percent_of_price(mean, RISE_TO_PERCENT);
            // The lower bound of the reference, (100 + 5) // 100 times the mean, is the mean itself.
            self.median_up_to(upper).map_or(mean, |median| median.clamp(mean, upper.max(mean)))
        } else {
            self.last.get()
        };
        GasPrice::new(price.max(self.floor.get()))
    }

    fn mean(&self) -> Qa {
        let sum = self.recent.iter().fold(0_u128, |sum, price| sum.saturating_add(price.get().get()));
        let count = u128::try_from(self.recent.len()).unwrap_or(u128::MAX);
        sum.checked_div(count).map_or(self.last.get(), Qa::new)
    }

    /// Returns the median of the proposals up to `upper`, or `None` if there are none.
    fn median_up_to(&self, upper: Qa) -> Option<Qa> {
        let mut proposals: Vec<Qa> = self.proposals.iter().map(|price| price.get()).filter(|&qa| qa <= upper).collect();
        proposals.sort_unstable();
        let middle = proposals.len().checked_div(2)?;
        let high = *proposals.get(middle)?;
        if proposals.len() % 2 == 1 {
            return Some(high);
        }
        let low = *proposals.get(middle.checked_sub(1)?)?;
        Some(Qa::new(low.get().midpoint(high.get())))
    }
}

/// Returns the numbers of the DS blocks in the average for the DS block after `last`. The result is empty if `last` is
/// the genesis block.
pub fn mean_window(last: DsBlockNumber) -> impl Iterator<Item = DsBlockNumber> {
    (last.get().saturating_sub(MEAN_WINDOW).max(1)..=last.get()).map(DsBlockNumber::new)
}

/// Returns whether a Tx block counts as full.
pub fn is_full(header: &TxBlockHeader) -> bool {
    header.gas_used.get() >= percent(header.gas_limit.get(), FULL_PERCENT)
}

fn percent(whole: u64, percent: u64) -> u64 {
    let part = u128::from(whole).saturating_mul(u128::from(percent)) / 100;
    u64::try_from(part).unwrap_or(u64::MAX)
}

fn percent_of_price(price: Qa, percent: u128) -> Qa {
    Qa::new(price.get().saturating_mul(percent) / 100)
}

/// Reason why the minimum gas price was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GasPriceError {
    /// The price is 0.
    #[error("Gas price cannot be less than 1")]
    Zero,
    /// This network does not permit operators to set the price.
    #[error("an operator cannot set the gas price of this network")]
    NotAllowed,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: GasPrice = price(2_000_000_000);

    const fn price(qa: u128) -> GasPrice {
        GasPrice::new(Qa::new(qa))
    }

    fn check(blocks: u64, full_blocks: u64, recent: &[u128], proposals: &[u128], expected: u128) {
        let recent: Vec<_> = recent.iter().copied().map(price).collect();
        let proposals: Vec<_> = proposals.iter().copied().map(price).collect();
        let last = recent.last().copied().unwrap_or(price(100));
        let inputs = GasPriceInputs { blocks, full_blocks, recent: &recent, last, proposals: &proposals, floor: FLOOR };
        assert_eq!(inputs.price(), price(expected));
    }

    #[test]
    fn first_example_of_the_reference_falls_to_the_floor() {
        check(100, 5, &[2_200_000_000], &[2_000_000_000], 2_000_000_000);
    }

    #[test]
    fn second_example_of_the_reference_rises_to_the_median_of_low_proposals() {
        check(100, 80, &[2_000_000_000], &[2_500_000_000, 2_000_000_000, 2_100_000_000], 2_050_000_000);
    }

    #[test]
    fn block_1_gets_the_floor_with_and_without_proposal() {
        check(1, 1, &[], &[2_000_000_000], 2_000_000_000);
        check(1, 1, &[], &[], 2_000_000_000);
        check(1, 1, &[], &[100], 2_000_000_000);
    }

    #[test]
    fn few_full_blocks_lower_the_mean_by_a_tenth() {
        check(100, 9, &[4_000_000_000, 6_000_000_000], &[], 4_500_000_000);
    }

    #[test]
    fn between_the_thresholds_the_last_price_stays() {
        check(100, 10, &[9_000_000_000, 3_000_000_000], &[], 3_000_000_000);
        check(100, 70, &[9_000_000_000, 3_000_000_000], &[], 3_000_000_000);
    }

    #[test]
    fn without_acceptable_proposal_the_mean_stays() {
        check(100, 71, &[4_000_000_000, 6_000_000_000], &[], 5_000_000_000);
        check(100, 71, &[4_000_000_000, 6_000_000_000], &[5_750_000_001], 5_000_000_000);
    }

    #[test]
    fn a_low_median_does_not_lower_the_mean() {
        check(100, 100, &[4_000_000_000], &[1, 2, 3], 4_000_000_000);
        check(100, 100, &[4_000_000_000], &[4_600_000_000], 4_600_000_000);
    }

    #[test]
    fn huge_prices_are_cut_off() {
        check(100, 0, &[u128::MAX, u128::MAX], &[], u128::MAX / 100);
        check(100, 100, &[u128::MAX], &[u128::MAX], u128::MAX);
    }

    #[test]
    fn windows_hold_six_blocks_and_never_genesis() {
        let window = |last| mean_window(DsBlockNumber::new(last)).map(DsBlockNumber::get).collect::<Vec<_>>();
        assert!(window(0).is_empty());
        assert_eq!(window(1), [1]);
        assert_eq!(window(6), [1, 2, 3, 4, 5, 6]);
        assert_eq!(window(10), [5, 6, 7, 8, 9, 10]);
    }
}
