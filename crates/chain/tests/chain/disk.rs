//! A chain on disk. It survives a graceful stop and a crash, and reconstructs a lost state.

use std::{fs, path::Path};

use silica_chain::{Chain, ChainConfig, Producer, ReplayError, check, consensus::Input, open, rebuild};
use silica_protocol::{BlockNumber, CoSignatures, Gas, Timestamp};
use silica_state::{BlockRecord, Durability, OpenOutcome, StateDiff, Store, StoreOptions};

use crate::harness::{BEGIN, Net, config, genesis, key, memory, node, user};

/// Returns options with a short state history and frequent checkpoints, so that a short chain has old blocks.
fn options() -> StoreOptions {
    StoreOptions { history: 3, checkpoint_blocks: 5, durability: Durability::Relaxed, ..StoreOptions::default() }
}

fn on_disk(dir: &Path, config: ChainConfig) -> Net {
    Net::over(Store::open(dir, options()).unwrap(), config)
}

fn load(net: &mut Net, blocks: u64) {
    for _ in 0..blocks {
        for from in 1..=3 {
            net.pay_next(from, user(9), 1);
        }
        net.tick();
    }
}

#[test]
fn chain_on_disk_continues_after_a_stop() {
    let dir = tempfile::tempdir().unwrap();
    let mut net = on_disk(dir.path(), config(2, 5));
    load(&mut net, 12);
    let before = net.snapshot();
    let (at, statistics) = (before.latest_tx_block_hash(), before.statistics());
    let recent = before.recent_transactions().to_vec();
    drop(before);
    close(net);
    let mut net = on_disk(dir.path(), config(2, 5));
    assert_eq!(net.snapshot().latest_tx_block_hash(), at);
    assert_eq!(net.snapshot().statistics(), statistics);
    assert_eq!(net.snapshot().recent_transactions(), recent);
    load(&mut net, 5);
    assert_eq!(net.height(), 17);
}

#[test]
fn committed_blocks_survive_a_stop_without_close() {
    let dir = tempfile::tempdir().unwrap();
    let mut net = on_disk(dir.path(), config(1, 5));
    load(&mut net, 13);
    let (hash, paid) = (net.snapshot().latest_tx_block_hash(), net.balance(&user(9)));
    drop(net);
    let net = on_disk(dir.path(), config(1, 5));
    assert_eq!(net.snapshot().latest_tx_block_hash(), hash);
    assert_eq!(net.balance(&user(9)), paid);
}

/// Closes a chain of 40 blocks and destroys its state.
fn lose_state(dir: &Path) -> silica_protocol::BlockHash {
    let mut net = on_disk(dir, config(2, 5));
    load(&mut net, 40);
    let hash = net.snapshot().latest_tx_block_hash();
    close(net);
    Store::discard_state(dir).unwrap();
    hash
}

fn close(net: Net) {
    net.test.into_store().close().unwrap();
}

#[test]
fn a_lost_state_is_rebuilt_by_executing_the_blocks_again() {
    let dir = tempfile::tempdir().unwrap();
    let hash = lose_state(dir.path());
    let store = Store::open(dir.path(), options()).unwrap();
    assert!(matches!(store.outcome(), OpenOutcome::NeedsReplay { .. }), "{:?}", store.outcome());
    let mut seen = Vec::new();
    rebuild(&store, config(2, 5), &genesis(), node(), &mut |number, last| seen.push((number.get(), last.get())))
        .unwrap();
    assert_eq!(seen, (0..=40).map(|number| (number, 40)).collect::<Vec<_>>());
    assert_eq!(store.replaying(), None);
    let mut net = Net::over(store, config(2, 5));
    assert_eq!(net.snapshot().latest_tx_block_hash(), hash);
    load(&mut net, 3);
    assert_eq!(net.height(), 43);
}

#[test]
fn opening_rebuilds_a_lost_state_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let hash = lose_state(dir.path());
    let mut net = on_disk(dir.path(), config(2, 5));
    assert_eq!(net.snapshot().latest_tx_block_hash(), hash);
    load(&mut net, 1);
}

#[test]
fn an_interrupted_rebuild_is_taken_up_again() {
    let dir = tempfile::tempdir().unwrap();
    let hash = lose_state(dir.path());
    let store = Store::open(dir.path(), options()).unwrap();
    let interrupted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rebuild(&store, config(2, 5), &genesis(), node(), &mut |number, _| assert!(number.get() < 25))
    }));
    assert!(interrupted.is_err());
    drop(store);
    let net = on_disk(dir.path(), config(2, 5));
    assert_eq!(net.snapshot().latest_tx_block_hash(), hash);
}

#[test]
fn a_state_of_other_accounts_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    lose_state(dir.path());
    let store = Store::open(dir.path(), options()).unwrap();
    let other = silica_chain::Genesis::default();
    let error = rebuild(&store, config(2, 5), &other, node(), &mut |_, _| {}).unwrap_err();
    assert_eq!(error.to_string(), "block 0: the Tx block does not match the given accounts and key");
    let error = open(store, config(2, 5), &other, node(), Timestamp::new(BEGIN)).map(drop).unwrap_err();
    assert!(matches!(error, silica_chain::OpenError::Replay(ReplayError::Genesis { .. })), "{error}");
}

fn recheck(net: &Net) -> Result<BlockNumber, ReplayError> {
    check(net.test.producer().store(), &memory(), net.test.chain().config().clone(), &genesis(), node(), &mut |_, _| {})
}

#[test]
fn a_good_chain_passes_a_check() {
    let mut net = Net::new(config(2, 5));
    assert_eq!(recheck(&net).unwrap(), BlockNumber::new(0));
    load(&mut net, 12);
    assert_eq!(recheck(&net).unwrap(), BlockNumber::new(12));
}

#[test]
fn a_check_with_another_key_or_other_parameters_fails() {
    let mut net = Net::new(config(2, 5));
    load(&mut net, 12);
    let check = |config: ChainConfig, member, expected: &str| {
        let error =
            check(net.test.producer().store(), &memory(), config, &genesis(), member, &mut |_, _| {}).unwrap_err();
        let sources = std::iter::successors(std::error::Error::source(&error), |error| error.source());
        let text = sources.fold(error.to_string(), |text, source| format!("{text}: {source}"));
        assert!(text.starts_with(expected), "{text}");
    };
    check(config(2, 5), key(1).public_key(), "block 0: the Tx block does not match the given accounts and key");
    check(config(3, 5), node(), "failed to verify block 1: micro blocks: expected 4, got 3");
    check(config(2, 6), node(), "failed to verify block 4: micro block: rewards: expected");
    let mut less_gas = config(2, 5);
    less_gas.shard_gas_limit = Gas::new(399_999);
    check(less_gas, node(), "failed to verify block 1: micro block: gas_limit: expected");
}

/// Copies a chain of eight blocks into another store. `change` modifies the record of block `number` in a way that the
/// store itself cannot detect. Returns the result of the check of the copy.
fn copy_with(number: u64, change: fn(&mut BlockRecord)) -> Result<BlockNumber, ReplayError> {
    let mut net = Net::new(config(1, 5));
    load(&mut net, 8);
    let (source, copy) = (net.test.producer().store().snapshot(), memory());
    copy.set_label(&net.test.producer().store().label().unwrap().unwrap()).unwrap();
    for block in (0..=8).map(BlockNumber::new) {
        let accounts = source.at(block).unwrap().accounts().map(Result::unwrap).collect();
        let diff = StateDiff { accounts, ..StateDiff::default() };
        let state = copy.extend(copy.prepare(), &diff).unwrap();
        let mut record = source.record(block).unwrap().unwrap();
        if block.get() == number {
            change(&mut record);
        }
        copy.commit(&record, state).unwrap();
    }
    check(&copy, &memory(), config(1, 5), &genesis(), node(), &mut |_, _| {})
}

#[test]
fn a_check_finds_what_was_forged() {
    assert!(copy_with(9, |_| {}).is_ok());
    let receipt = copy_with(2, |record| record.transactions[1].1.success = false).unwrap_err();
    assert!(matches!(receipt, ReplayError::Receipt { number, .. } if number.get() == 2), "{receipt}");
    let unsigned = copy_with(3, |record| record.tx_block.cosignatures = CoSignatures::unsigned(1)).unwrap_err();
    assert!(matches!(unsigned, ReplayError::BlockSigner { number, .. } if number.get() == 3), "{unsigned}");
    let micro = copy_with(3, |record| record.micro_blocks[1].cosignatures = CoSignatures::unsigned(1)).unwrap_err();
    assert!(matches!(micro, ReplayError::BlockSigner { .. }), "{micro}");
    let timestamp = copy_with(6, |record| record.micro_blocks[0].timestamp = Timestamp::new(1)).unwrap_err();
    assert!(matches!(timestamp, ReplayError::Block { .. }), "{timestamp}");
    let genesis = copy_with(0, |record| record.ds_block.as_mut().unwrap().header.difficulty = 9).unwrap_err();
    assert_eq!(genesis.to_string(), "block 0: the DS block does not match the given accounts and key");
}

/// On a full disk, the write of a file of state diffs fails first.
#[test]
fn pending_transactions_survive_a_failed_write_of_a_block() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions { durability: Durability::Flush, ..options() };
    let (changes, away) = (dir.path().join("changes"), dir.path().join("away"));
    let mut net = Net::over(Store::open(dir.path(), options).unwrap(), config(2, 5));
    let mut unfailing = Net::new(config(2, 5));
    for round in 0..4_u8 {
        load(&mut net, 2);
        load(&mut unfailing, 2);
        for net in [&mut net, &mut unfailing] {
            net.pay_next(1, user(9), 5);
            net.pay_next(1, user(9), 6);
            net.set_now(Timestamp::new(net.now().get() + 7_000_000));
        }
        let waiting = net.test.chain().waiting();
        assert!(waiting >= 2, "{waiting} wait");
        fs::rename(&changes, &away).unwrap();
        fs::write(&changes, "").unwrap();
        let at = Timestamp::new(net.now().get() - 1_000_000);
        for _ in 0..2 {
            let input = if round % 2 == 0 { Input::Tick(at) } else { Input::Demand { at, blocks: 3 } };
            net.test.step(input).unwrap_err();
            assert!(net.test.producer().has_failed());
            assert!(net.test.step(Input::Tick(at)).is_err());
            // The recovery succeeds, unless a checkpoint needs these files too.
            drop(net.test.producer_mut().recover());
            assert_eq!((net.test.chain().waiting(), net.height()), (waiting, unfailing.height()));
        }
        fs::remove_file(&changes).unwrap();
        fs::rename(&away, &changes).unwrap();
        net.test.producer_mut().recover().unwrap();
        let made = [net.tick(), unfailing.tick()].map(|block| (block.hash(), block.transactions().len()));
        assert_eq!(made[0], made[1]);
        assert_eq!(net.test.chain().waiting(), unfailing.test.chain().waiting());
    }
    assert_eq!(net.balance(&user(9)), unfailing.balance(&user(9)));
    let at = net.snapshot().latest_tx_block_hash();
    close(net);
    let net = on_disk(dir.path(), config(2, 5));
    assert_eq!(net.snapshot().latest_tx_block_hash(), at);
    assert_eq!(recheck(&net).unwrap().get(), net.height());
}

#[test]
fn both_ends_can_go_to_other_threads() {
    fn assert_send<T: Send>() {}
    fn assert_sync<T: Sync>() {}
    assert_send::<Producer>();
    assert_send::<Chain>();
    assert_sync::<Chain>();
    assert_sync::<silica_chain::Snapshot>();
}
