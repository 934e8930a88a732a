//! The order of DS blocks and vacuous blocks, the rewards, and the gas price.

use silica_chain::GasPriceError;
use silica_protocol::{Address, Gas, GasPrice, Qa, StateDeltaHash};

use crate::harness::{FEE, Net, PRICE, config, node, payment, user};

const RESERVE: u128 = 8_400_000_000_000_000_000_000;
const REWARD: u128 = 176_000_000_000_000_000;

fn null(net: &Net) -> u128 {
    net.balance(&Address::ZERO).unwrap()
}

fn node_address() -> Address {
    Address::from_public_key(&node())
}

fn price(qa: u128) -> GasPrice {
    GasPrice::new(Qa::new(qa))
}

#[test]
fn ds_blocks_and_vacuous_blocks_come_on_schedule() {
    for length in [2, 3, 10] {
        let mut net = Net::new(config(1, length));
        for number in 1..=35 {
            let block = net.tick();
            let header = &block.tx_block().header;
            assert_eq!(header.number.get(), number);
            assert_eq!(block.ds_block().is_some(), number == 1 || number % length == 0, "block {number} of {length}");
            assert_eq!(header.ds_block.get(), number / length + 1);
            let vacuous = (number + 1) % length == 0;
            assert_eq!(header.rewards.get(), if vacuous { REWARD } else { 0 }, "block {number} of {length}");
        }
    }
}

#[test]
fn a_vacuous_block_has_no_transactions_and_they_go_to_the_next() {
    let mut net = Net::new(config(1, 5));
    for _ in 1..=3 {
        net.tick();
    }
    let hash = net.pay(1, user(2), 7, 0);
    let vacuous = net.tick();
    assert_eq!(vacuous.tx_block().header.number.get(), 4);
    assert!(vacuous.transactions().is_empty());
    assert_eq!(net.status(&hash), Some(1));
    let next = net.tick();
    assert_eq!(next.transactions()[0].0.hash(), hash);
    assert_eq!(next.transactions()[0].1.epoch.get(), 5);
}

#[test]
fn a_vacuous_block_returns_fees_and_pays_the_reward() {
    let mut net = Net::new(config(1, 5));
    for _ in 1..=3 {
        net.pay(1, user(2), 1, 0);
        let block = net.tick();
        assert_eq!(block.tx_block().header.rewards.get(), FEE);
        assert_eq!(null(&net), RESERVE, "fees are not credited before the epoch ends");
    }
    let vacuous = net.tick();
    assert_eq!(vacuous.tx_block().header.rewards.get(), REWARD);
    let rewards: Vec<_> = vacuous.micro_blocks().iter().map(|block| block.header.rewards.get()).collect();
    assert_eq!(rewards, [0, REWARD], "the DS committee's micro block names the reward");
    assert_eq!(null(&net), RESERVE + 3 * FEE - REWARD);
    assert_eq!(net.balance(&node_address()), Some(REWARD));
    for _ in 5..=9 {
        net.tick();
    }
    assert_eq!(null(&net), RESERVE + 3 * FEE - 2 * REWARD, "fees are credited once");
}

#[test]
fn without_reward_and_fees_a_vacuous_block_changes_nothing() {
    let mut config = config(1, 5);
    config.coinbase_reward = Qa::ZERO;
    let mut net = Net::new(config);
    let blocks: Vec<_> = (0..5).map(|_| net.tick()).collect();
    assert!(blocks.iter().all(|block| block.tx_block().header.state_delta_hash == StateDeltaHash::ZERO));
    assert!(
        blocks.windows(2).all(|pair| { pair[0].tx_block().header.state_root == pair[1].tx_block().header.state_root })
    );
    assert_eq!(net.balance(&node_address()), None);
}

#[test]
fn an_exhausted_reserve_pays_what_it_has() {
    let mut config = config(1, 2);
    config.coinbase_reward = Qa::new(RESERVE - 5);
    let mut net = Net::new(config);
    net.tick();
    assert_eq!((null(&net), net.balance(&node_address())), (5, Some(RESERVE - 5)));
    net.tick();
    net.tick();
    assert_eq!((null(&net), net.balance(&node_address())), (0, Some(RESERVE)));
}

#[test]
fn ds_block_1_names_the_floor() {
    let mut net = Net::new(config(1, 10));
    let block = net.tick();
    assert_eq!(block.ds_block().unwrap().header.gas_price, price(PRICE));
}

#[test]
fn before_the_first_ds_block_the_floor_holds_not_the_nominal_price_of_genesis() {
    let mut net = Net::new(config(1, 10));
    assert_eq!(net.snapshot().latest_ds_block().header.gas_price, price(100));
    assert_eq!(net.snapshot().minimum_gas_price(), price(PRICE));
    let error = net.try_submit(payment(1, 1, user(9), 1, 100)).unwrap_err();
    assert_eq!(error, "GasPrice 100 lower than minimum allowable 2000000000");
}

/// Returns the price in DS block 3. DS block 1 has the lowest price, and DS block 2 has three times this price.
/// `full_blocks` of the ten blocks of the DS epoch are full. The node restarts after block `restart_after`.
fn price_after(full_blocks: u64, restart_after: Option<u64>) -> GasPrice {
    let mut config = config(1, 10);
    config.shard_gas_limit = Gas::new(400);
    config.ds_gas_limit = Gas::new(50);
    let mut net = Net::new(config.clone());
    net.demand(9);
    net.test.producer_mut().set_minimum_gas_price(price(3 * PRICE)).unwrap();
    net.tick();
    assert_eq!(net.snapshot().latest_ds_block().header.gas_price, price(3 * PRICE));
    // A restart resets the price of the operator. The next DS block follows the rules.
    net = net.reopen(config.clone());
    for number in 11..20 {
        // A block is full with eight payments.
        for from in 1..=if number <= 10 + full_blocks { 8 } else { 7 } {
            let nonce = net.nonce(&user(from)) + 1;
            if number < 19 {
                net.submit(payment(from, nonce, user(9), 1, 3 * PRICE));
            }
        }
        net.tick();
        if restart_after == Some(number) {
            net = net.reopen(config.clone());
        }
    }
    net.tick().ds_block().unwrap().header.gas_price
}

#[test]
fn the_price_follows_how_many_blocks_were_full_also_across_a_restart() {
    // The mean is twice the floor. The price falls to 90 % of the mean, stays at the last price, or rises to the mean.
    for (full_blocks, expected) in [(0, 18), (1, 30), (7, 30), (8, 20)] {
        for restart_after in [None, Some(11), Some(14), Some(19)] {
            let got = price_after(full_blocks, restart_after);
            assert_eq!(got, price(PRICE * expected / 10), "{full_blocks} full, restart after {restart_after:?}");
        }
    }
}

#[test]
fn the_operators_price_holds_at_once_and_stays_in_ds_blocks() {
    let mut net = Net::new(config(1, 5));
    net.tick();
    let cheap = net.submit(payment(1, 1, user(9), 1, PRICE));
    net.test.producer_mut().set_minimum_gas_price(price(3 * PRICE)).unwrap();
    assert_eq!(net.snapshot().minimum_gas_price(), price(3 * PRICE));
    let refused = net.try_submit(payment(2, 1, user(9), 1, PRICE)).unwrap_err();
    assert_eq!(refused, "GasPrice 2000000000 lower than minimum allowable 6000000000");
    net.submit(payment(2, 1, user(9), 1, 3 * PRICE));
    let block = net.tick();
    assert_eq!(block.transactions().len(), 1);
    assert_eq!(net.status(&cheap), Some(22), "what was admitted at a lower price is dropped");
    for _ in 3..=5 {
        net.tick();
    }
    assert_eq!(net.snapshot().latest_ds_block().header.gas_price, price(3 * PRICE));
    for _ in 6..=10 {
        net.tick();
    }
    assert_eq!(net.snapshot().latest_ds_block().header.gas_price, price(3 * PRICE));

    net.test.producer_mut().set_minimum_gas_price(price(1)).unwrap();
    net.submit(payment(3, 1, user(9), 1, 1));
    assert_eq!(net.tick().transactions().len(), 1);
}

#[test]
fn the_operators_price_is_above_zero_and_only_where_allowed() {
    let mut net = Net::new(config(1, 5));
    let error = net.test.producer_mut().set_minimum_gas_price(price(0)).unwrap_err();
    assert_eq!(error.to_string(), "Gas price cannot be less than 1");
    let mut config = config(1, 5);
    config.operator_price = false;
    let mut net = Net::new(config);
    let refused = net.test.producer_mut().set_minimum_gas_price(price(9));
    assert!(matches!(refused, Err(GasPriceError::NotAllowed)));
}
