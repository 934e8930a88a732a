//! Opening an existing chain: the chain continues at its head, and another chain is rejected.

use silica_chain::{ChainConfig, OpenError, config::NoncePolicy, open};
use silica_protocol::{Qa, Timestamp};
use silica_state::Store;

use crate::harness::{Net, PRICE, config, genesis, key, node, payment, user};

fn refusal(store: Store, config: ChainConfig, member: silica_protocol::PublicKey) -> OpenError {
    open(store, config, &genesis(), member, Timestamp::new(1)).map(drop).unwrap_err()
}

#[test]
fn chain_continues_at_its_head() {
    let config = config(2, 5);
    let mut net = Net::new(config.clone());
    for _ in 0..8 {
        net.pay_next(1, user(9), 1);
        net.tick();
    }
    let before = net.snapshot();
    let mut net = net.reopen(config);
    let after = net.snapshot();
    assert_eq!(after.latest_tx_block(), before.latest_tx_block());
    assert_eq!(after.latest_ds_block(), before.latest_ds_block());
    assert_eq!(after.statistics(), before.statistics());
    assert_eq!(after.recent_transactions(), before.recent_transactions());
    assert_eq!(after.minimum_gas_price(), before.minimum_gas_price());
    net.tick();
    assert_eq!(net.height(), 9);
}

#[test]
fn fees_of_the_epoch_survive_a_restart() {
    let config = config(1, 5);
    let run = |restart_at: Option<u64>| {
        let mut net = Net::new(config.clone());
        for number in 1..=16 {
            if number % 5 != 4 {
                net.pay(1, user(9), 1, 0);
            }
            net.tick();
            if restart_at == Some(number) {
                net = net.reopen(config.clone());
            }
        }
        net.balance(&silica_protocol::Address::ZERO)
    };
    let expected = run(None);
    for restart_at in [1, 2, 3, 5, 6, 7, 8] {
        assert_eq!(run(Some(restart_at)), expected, "restart after block {restart_at}");
    }
}

#[test]
fn waiting_transactions_survive_as_bytes() {
    let config = config(1, 5);
    let mut net = Net::new(config.clone());
    let ahead = net.pay(1, user(9), 1, 1);
    let other = net.pay(2, user(9), 1, 0);
    net.tick();
    let bytes = net.test.chain().export_pool();
    let mut net = net.reopen(config);
    assert_eq!(net.status(&ahead), None);
    let report = net.test.chain().import_pool(&bytes, net.now()).unwrap();
    assert_eq!((report.admitted, report.refused), (1, 0));
    assert_eq!(net.status(&ahead), Some(1));
    assert_eq!(net.status(&other), Some(3), "what was executed is in the chain");
    let due = net.pay(1, user(9), 1, 0);
    net.tick();
    assert_eq!((net.status(&due), net.status(&ahead)), (Some(3), Some(3)));
}

#[test]
fn imported_transactions_keep_their_age() {
    let config = config(1, 5);
    let mut net = Net::new(config.clone());
    let ahead = net.pay(1, user(9), 1, 1);
    net.demand(10);
    let bytes = net.test.chain().export_pool();
    let mut net = net.reopen(config);
    net.test.chain().import_pool(&bytes, net.now()).unwrap();
    net.demand(5);
    assert_eq!(net.status(&ahead), Some(4));
    net.demand(1);
    assert_eq!(net.status(&ahead), Some(255));
}

/// A chain continues in instant mode after interval mode. Transactions with a nonce gap were accepted before. In
/// instant mode, admission rejects new ones.
#[test]
fn imported_transactions_may_wait_for_others_where_new_ones_may_not() {
    let mut config = config(1, 5);
    let mut net = Net::new(config.clone());
    let waiting = [1, 2, 4].map(|nonce| net.submit(payment(1, nonce, user(9), 1, PRICE)));
    let bytes = net.test.chain().export_pool();
    config.policy.nonces = NoncePolicy::Exact;
    let mut net = net.reopen(config);
    let report = net.test.chain().import_pool(&bytes, net.now()).unwrap();
    assert_eq!((report.admitted, report.refused), (3, 0));
    let refused = net.test.chain().admit(payment(1, 3, user(9), 1, PRICE), false).unwrap_err();
    assert_eq!(refused.to_string(), "Expected Nonce: 1");
    net.tick();
    assert_eq!(waiting.each_ref().map(|hash| net.status(hash)), [Some(3), Some(3), Some(4)]);
    net.submit(payment(1, 3, user(9), 1, PRICE));
    net.tick();
    assert_eq!(net.status(&waiting[2]), Some(3));
}

#[test]
fn import_rejects_transactions_that_are_no_longer_admissible() {
    let config = config(1, 5);
    let mut net = Net::new(config.clone());
    let transaction = payment(1, 1, user(9), 1, PRICE);
    net.submit(transaction);
    let bytes = net.test.chain().export_pool();
    net.tick();
    let net = net.reopen(config);
    let report = net.test.chain().import_pool(&bytes, net.now()).unwrap();
    assert_eq!((report.admitted, report.refused), (0, 1));
    assert!(net.test.chain().import_pool(b"nonsense", net.now()).is_err());
}

#[test]
fn another_key_is_refused() {
    let mut net = Net::new(config(1, 5));
    net.tick();
    let error = refusal(net.test.into_store(), config(1, 5), key(1).public_key());
    assert!(matches!(error, OpenError::Key { stored, .. } if stored == node()), "{error}");
    assert!(error.to_string().contains(&node().to_string()));
}

#[test]
fn other_parameters_are_refused() {
    let check = |change: fn(&mut ChainConfig), expected: &str| {
        let mut net = Net::new(config(2, 5));
        net.demand(7);
        let mut config = config(2, 5);
        change(&mut config);
        let error = refusal(net.test.into_store(), config, node());
        assert_eq!(error.to_string(), format!("the chain in the data directory has {expected}"));
    };
    check(|config| config.shards = 3, "a number of shards of 2, but the configuration requires 3");
    check(|config| config.blocks_per_ds_epoch = 9, "a DS block number of 2, but the configuration requires 1");
    check(
        |config| config.ds_gas_limit = silica_protocol::Gas::new(1_000),
        "a gas limit of 1300000, but the configuration requires 801000",
    );
}

#[test]
fn parameters_that_no_chain_can_have_are_refused() {
    let check = |change: fn(&mut ChainConfig), expected: &str| {
        let mut config = config(1, 5);
        change(&mut config);
        assert_eq!(refusal(crate::harness::memory(), config, node()).to_string(), expected);
    };
    check(|config| config.shards = 0, "shards: expected 1 to 1000, got 0");
    check(|config| config.shards = 1_001, "shards: expected 1 to 1000, got 1001");
    check(|config| config.blocks_per_ds_epoch = 1, "blocks per DS epoch: expected at least 2, got 1");
    check(
        |config| config.shard_gas_limit = silica_protocol::Gas::new(49),
        "shard gas limit: expected at least 50, got 49",
    );
    check(
        |config| config.ds_gas_limit = silica_protocol::Gas::new(u64::MAX),
        "gas limits: expected a sum over all committees below 2^64, got a larger sum",
    );
    check(|config| config.rules.strict_shards = true, "rules: expected the rules of generation 8.1, got other rules");
}

#[test]
fn the_first_accounts_are_those_of_the_genesis() {
    let net = Net::new(config(1, 5));
    assert_eq!(net.balance(&user(1)), Some(1_000 * Qa::PER_ZIL));
    assert_eq!(net.balance(&silica_protocol::Address::ZERO), Some(8_400_000_000 * Qa::PER_ZIL));
    assert_eq!(net.snapshot().latest_tx_block().timestamp, Timestamp::new(crate::harness::BEGIN));
}
