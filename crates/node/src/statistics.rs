//! Rates of blocks and transactions for the network methods. No other result of a method has floating-point numbers.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "the interface has rates as JSON numbers, and nothing is decided by them"
)]

use silica_chain::Statistics;
use silica_protocol::Timestamp;

/// Returns the number of Tx blocks, including the genesis block.
pub(crate) fn tx_blocks(figures: &Statistics) -> u64 {
    figures.latest_tx_block.get().saturating_add(1)
}

/// Returns the number of DS blocks, including the genesis block.
pub(crate) fn ds_blocks(figures: &Statistics) -> u64 {
    figures.latest_ds_block.get().saturating_add(1)
}

/// Returns the number of transactions in the latest Tx block, divided by the seconds between the previous Tx block and
/// this block. Returns 0 if Tx block 2 does not exist, or if the two times are equal.
pub(crate) fn transaction_rate(figures: &Statistics) -> f64 {
    match figures.previous_tx_block_time {
        Some(previous) if figures.latest_tx_block.get() > 1 => {
            per_second(figures.in_tx_epoch.into(), previous, figures.tx_block_time)
        }
        Some(_) | None => 0.0,
    }
}

/// Returns the number of all Tx blocks, divided by the seconds from Tx block 1 to the latest Tx block. Returns 0 if Tx
/// block 1 does not exist, or if the two times are equal.
pub(crate) fn tx_block_rate(figures: &Statistics) -> f64 {
    figures.first_tx_block_time.map_or(0.0, |first| per_second(tx_blocks(figures), first, figures.tx_block_time))
}

/// Returns the number of all DS blocks, divided by the seconds from DS block 1 to the latest DS block. Returns 0 if DS
/// block 1 does not exist, or if the two times are equal.
pub(crate) fn ds_block_rate(figures: &Statistics) -> f64 {
    figures.first_ds_block_time.map_or(0.0, |first| per_second(ds_blocks(figures), first, figures.ds_block_time))
}

/// Returns the average time between two Tx blocks since Tx block 1, in whole seconds. Returns 0 without Tx block 2.
pub(crate) fn average_block_time(figures: &Statistics) -> u64 {
    let passed = figures.first_tx_block_time.and_then(|first| figures.tx_block_time.get().checked_sub(first.get()));
    let blocks = figures.latest_tx_block.get().saturating_sub(1);
    (passed.unwrap_or(0) / 1_000_000).checked_div(blocks).unwrap_or(0)
}

/// Returns the rate of `count` events between two times, per second. Returns 0 if the two times are equal
/// (Reference: interface#chain-figures).
fn per_second(count: u64, from: Timestamp, to: Timestamp) -> f64 {
    match to.get().checked_sub(from.get()) {
        None | Some(0) => 0.0,
        Some(micros) => count as f64 * 1e6 / micros as f64,
    }
}

#[cfg(test)]
mod tests {
    use silica_protocol::{BlockNumber, DsBlockNumber};

    use super::*;

    fn check(count: u64, micros: u64, expected: &str) {
        let from = Timestamp::new(1_600_000_000_000_000);
        let got = per_second(count, from, Timestamp::new(from.get() + micros));
        assert_eq!(serde_json::to_string(&got).unwrap(), expected);
    }

    #[test]
    fn rates_are_per_second() {
        check(1, 1_000_000, "1.0");
        check(3, 2_000_000, "1.5");
        check(0, 5, "0.0");
    }

    #[test]
    fn rates_are_those_that_the_main_network_published() {
        check(589_778, 41_715_932_001_134, "0.014137955733170903");
        check(5_899, 41_712_224_238_906, "0.00014142137245459714");
        check(4, 42_544_808, "0.09401852277720939");
    }

    #[test]
    fn block_time_is_in_whole_seconds_since_block_one() {
        let check = |latest, micros, expected| {
            let first = Timestamp::new(1_600_000_000_000_000);
            let figures = Statistics {
                latest_tx_block: BlockNumber::new(latest),
                latest_ds_block: DsBlockNumber::new(0),
                transactions: 0,
                in_tx_epoch: 0,
                in_ds_epoch: 0,
                tx_block_time: Timestamp::new(first.get() + micros),
                previous_tx_block_time: None,
                first_tx_block_time: (latest > 0).then_some(first),
                ds_block_time: first,
                first_ds_block_time: None,
                peers: 2,
                shard_sizes: vec![1],
            };
            assert_eq!(average_block_time(&figures), expected, "{latest}, {micros}");
        };
        check(0, 5_000_000, 0);
        check(1, 0, 0);
        check(2, 30_000_000, 30);
        check(4, 8_999_999, 2);
    }

    #[test]
    fn no_time_is_no_rate() {
        check(7, 0, "0.0");
        assert_eq!(per_second(7, Timestamp::new(2), Timestamp::new(1)).to_bits(), 0);
    }
}
