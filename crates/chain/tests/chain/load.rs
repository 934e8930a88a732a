//! Random transactions and block modes. Every block is valid, agrees with an independent ledger, and gives the same
//! result when it is executed again.

use proptest::prelude::*;
use silica_chain::consensus::{Application, Cause, Input};
use silica_protocol::{Address, Gas, Timestamp};

use crate::{
    blocks,
    harness::{FUNDS, Net, PRICE, committed, config, payment, user},
    ledger::Ledger,
    replay::check_replay,
};

#[derive(Clone, Debug)]
enum Step {
    /// Users 9 to 12 have no money at genesis.
    Pay {
        from: u8,
        to: u8,
        amount: u128,
        price: u128,
        ahead: u64,
    },
    Tick,
    Arrival,
    Demand(u64),
    Price(u128),
}

fn step() -> impl Strategy<Value = Step> {
    let amount = prop_oneof![Just(0), 1..1_000_000_u128, 0..FUNDS * 2];
    let ahead = prop_oneof![4 => Just(0_u64), 2 => 1..4_u64];
    let pay = (1..13_u8, 1..14_u8, amount, 0..5_u128, ahead).prop_map(|(from, to, amount, price, ahead)| Step::Pay {
        from,
        to,
        amount,
        price,
        ahead,
    });
    prop_oneof![
        12 => pay,
        2 => Just(Step::Tick),
        1 => Just(Step::Arrival),
        1 => (1..4_u64).prop_map(Step::Demand),
        1 => (0..3_u128).prop_map(Step::Price),
    ]
}

fn run(shards: u32, length: u64, gas_limit: u64, steps: &[Step]) {
    let mut config = config(shards, length);
    config.shard_gas_limit = Gas::new(gas_limit);
    let epochs = config.epochs().unwrap();
    let mut ledger = Ledger::new(config.coinbase_reward.get());
    let mut net = Net::new(config);
    for step in steps {
        let at = net.later();
        let input = match *step {
            Step::Pay { from, to, amount, price, ahead } => {
                let nonce = net.nonce(&user(from)) + 1 + ahead;
                let to = if to == 13 { Address::new([7; 20]) } else { user(to) };
                // The test covers rejected transactions too.
                let _ = net.try_submit(payment(from, nonce, to, amount, PRICE + price));
                continue;
            }
            Step::Price(extra) => {
                let price = silica_protocol::GasPrice::new(silica_protocol::Qa::new(PRICE + extra));
                net.test.producer_mut().set_minimum_gas_price(price).unwrap();
                continue;
            }
            Step::Tick => Input::Tick(at),
            Step::Arrival => Input::Arrival(at),
            Step::Demand(blocks) => Input::Demand { at, blocks },
        };
        check_twice(&mut net, at);
        let blocks = committed(&net.step(input));
        for block in &blocks {
            ledger.apply(block, epochs.is_vacuous(block.tx_block().header.number));
        }
        if let Some(last) = blocks.last() {
            blocks::check(&net, last);
        }
        ledger.check(&net);
    }
    check_replay(&net);
}

/// Builds a block twice from the same head and pool. Both results, with state root and receipts, must be equal.
pub(crate) fn check_twice(net: &mut Net, at: Timestamp) {
    let first = net.test.producer_mut().propose(at, Cause::Event).unwrap();
    let second = net.test.producer_mut().propose(at, Cause::Event).unwrap();
    if first.dropped().is_empty() {
        assert_eq!(first.tx_block(), second.tx_block());
        assert_eq!(first.micro_blocks(), second.micro_blocks());
        assert_eq!(first.transactions(), second.transactions());
        let verified = net.test.producer_mut().verify(&first.to_proposal()).unwrap();
        assert_eq!(verified.tx_block(), first.tx_block());
        assert_eq!(verified.transactions().len(), first.transactions().len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn money_is_conserved_and_blocks_are_reproducible(
        shards in 1..4_u32,
        length in 2..8_u64,
        gas_limit in prop_oneof![Just(100_u64), Just(400_000)],
        steps in proptest::collection::vec(step(), 10..80),
    ) {
        run(shards, length, gas_limit, &steps);
    }
}
