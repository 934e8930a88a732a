//! Queries of readers.

use silica_chain::{BlockTransactionsError, ChainConfig, DropReason, ListingError, ProofError, TxStatus};
use silica_protocol::{Address, BlockNumber, DsBlockNumber, Timestamp, VariableHash};

use crate::harness::{BEGIN, FEE, Net, PRICE, config, node, payment, user};

fn number(number: u64) -> BlockNumber {
    BlockNumber::new(number)
}

#[test]
fn a_snapshot_does_not_change_when_blocks_come() {
    let mut net = Net::new(config(1, 10));
    net.pay(1, user(9), 5, 0);
    net.tick();
    let before = net.snapshot();
    net.pay(1, user(9), 5, 0);
    net.tick();
    assert_eq!(before.latest_tx_block().header.number, number(1));
    assert_eq!(before.account(&user(9)).unwrap().unwrap().balance.get(), 5);
    assert_eq!(before.tx_block(number(2)).unwrap(), None);
    assert_eq!(before.statistics().transactions, 1);
    assert_eq!(net.snapshot().account(&user(9)).unwrap().unwrap().balance.get(), 10);
}

#[test]
fn listings_have_ten_blocks_a_page_the_latest_first() {
    let mut net = Net::new(config(1, 5));
    net.demand(23);
    let snapshot = net.snapshot();
    let page = |page| snapshot.tx_block_listing(page).unwrap();
    let numbers = |page_number| page(page_number).blocks.iter().map(|(number, _)| number.get()).collect::<Vec<_>>();
    assert_eq!(page(1).pages, 3);
    assert_eq!(numbers(1), (14..=23).rev().collect::<Vec<_>>());
    assert_eq!(numbers(3), [3, 2, 1, 0]);
    for (number, hash) in page(2).blocks {
        assert_eq!(snapshot.tx_block(number).unwrap().unwrap().header.hash(), hash);
    }
    let error = snapshot.tx_block_listing(4).unwrap_err();
    assert!(matches!(error, ListingError::Page { got: 4, last: 3 }));
    assert_eq!(error.to_string(), "Pages out of limit");
    assert!(snapshot.tx_block_listing(0).is_err());

    let ds = snapshot.ds_block_listing(1).unwrap();
    assert_eq!(ds.pages, 1);
    assert_eq!(ds.blocks.iter().map(|(number, _)| number.get()).collect::<Vec<_>>(), [5, 4, 3, 2, 1, 0]);
    assert!(snapshot.ds_block_listing(2).is_err());
}

#[test]
fn a_tenth_block_begins_a_page_of_its_own() {
    let mut net = Net::new(config(1, 50));
    net.demand(9);
    assert_eq!(net.snapshot().tx_block_listing(1).unwrap().pages, 1);
    net.demand(1);
    let snapshot = net.snapshot();
    assert_eq!(snapshot.tx_block_listing(1).unwrap().pages, 2);
    assert_eq!(snapshot.tx_block_listing(2).unwrap().blocks.len(), 1);
}

#[test]
fn transactions_of_a_block_are_listed_by_shard() {
    let mut net = Net::new(config(3, 10));
    for from in 1..=6 {
        net.pay(from, user(9), 1, 0);
    }
    let block = net.tick();
    let by_shard = net.snapshot().block_transactions(number(1)).unwrap();
    assert_eq!(by_shard.len(), 4);
    assert_eq!(by_shard.concat(), block.transactions().iter().map(|(tx, _)| tx.hash()).collect::<Vec<_>>());
    assert!(by_shard[3].is_empty(), "payments do not go to the DS committee");

    net.tick();
    let empty = net.snapshot().block_transactions(number(2)).unwrap_err();
    assert!(matches!(empty, BlockTransactionsError::Empty));
    assert_eq!(empty.to_string(), "TxBlock has no transactions");
    let unknown = net.snapshot().block_transactions(number(9)).unwrap_err();
    assert_eq!(unknown.to_string(), "Tx Block does not exist");
    assert!(matches!(net.snapshot().block_positions(number(2), None), Err(BlockTransactionsError::Empty)));
    let unknown = net.snapshot().block_positions(number(9), None);
    assert!(matches!(unknown, Err(BlockTransactionsError::UnknownBlock { .. })));
    assert!(matches!(net.snapshot().block_bodies(number(9), 0..1), Err(BlockTransactionsError::UnknownBlock { .. })));
}

#[test]
fn pages_of_a_block_cover_its_micro_blocks_in_order() {
    let mut config = config(2, 10);
    config.policy.pool.per_sender = 3_000;
    let mut net = Net::new(config);
    let (first, second) = {
        let in_shard = |shard| (1..=8).find(|from| user(*from).shard(2).get() == shard).unwrap();
        (in_shard(0), in_shard(1))
    };
    for ahead in 0..2_000 {
        net.pay(first, user(9), 1, ahead);
        if ahead < 700 {
            net.pay(second, user(9), 1, ahead);
        }
    }
    assert_eq!(net.tick().transactions().len(), 2_700);
    let snapshot = net.snapshot();
    let all = snapshot.block_transactions(number(1)).unwrap().concat();
    let pages = [0, 1].map(|page| snapshot.block_transactions_page(number(1), page).unwrap());
    assert_eq!(pages[0].by_shard.iter().map(Vec::len).collect::<Vec<_>>(), [2_000, 500, 0]);
    assert_eq!(pages[1].by_shard.iter().map(Vec::len).collect::<Vec<_>>(), [0, 200, 0]);
    assert_eq!([pages[0].by_shard.concat(), pages[1].by_shard.concat()].concat(), all);
    assert_eq!((pages[0].page, pages[0].pages, pages[1].page, pages[1].pages), (0, 2, 1, 2));
    assert!(matches!(snapshot.block_transactions_page(number(1), 2), Err(BlockTransactionsError::Empty)));
    assert!(matches!(snapshot.block_transactions_page(number(1), u64::MAX), Err(BlockTransactionsError::Empty)));

    let pages = [Some(0), Some(1), None].map(|page| snapshot.block_positions(number(1), page).unwrap());
    assert_eq!(pages.each_ref().map(|page| page.positions.clone()), [0..2_500, 2_500..2_700, 0..2_700]);
    assert_eq!(pages.each_ref().map(|page| (page.page, page.pages)), [(0, 2), (1, 2), (0, 2)]);
    for past in [2, u64::from(u32::MAX), u64::MAX] {
        assert!(matches!(snapshot.block_positions(number(1), Some(past)), Err(BlockTransactionsError::Empty)));
    }
    let hashes = |positions| -> Vec<_> {
        let bodies = snapshot.block_bodies(number(1), positions).unwrap();
        bodies.iter().map(|(tx, _)| tx.hash()).collect()
    };
    assert_eq!([hashes(0..2_500), hashes(2_500..9_999)].concat(), all);
}

#[test]
fn statistics_count_from_block_1_and_by_epoch() {
    let mut net = Net::new(config(2, 5));
    let statistics = net.snapshot().statistics();
    assert_eq!((statistics.latest_tx_block, statistics.latest_ds_block), (number(0), DsBlockNumber::new(0)));
    assert_eq!((statistics.transactions, statistics.in_tx_epoch, statistics.in_ds_epoch), (0, 0, 0));
    assert_eq!((statistics.previous_tx_block_time, statistics.first_tx_block_time), (None, None));
    assert_eq!(statistics.first_ds_block_time, None);
    assert_eq!((statistics.peers, statistics.shard_sizes), (3, vec![1, 1]));

    for block in 1..=6 {
        for from in 1..=block {
            net.pay_next(from, user(9), 1);
        }
        net.tick();
    }
    // Block 4 is vacuous. So block 5 has the four payments from before block 4, and five later ones.
    let statistics = net.snapshot().statistics();
    assert_eq!(statistics.latest_tx_block, number(6));
    assert_eq!(statistics.latest_ds_block, DsBlockNumber::new(2));
    assert_eq!(statistics.transactions, 1 + 2 + 3 + 9 + 6);
    assert_eq!(statistics.in_tx_epoch, 6);
    assert_eq!(statistics.in_ds_epoch, 9 + 6);
    let second = |seconds: u64| Timestamp::new(BEGIN + seconds * 1_000_000);
    assert_eq!(statistics.tx_block_time, second(6));
    assert_eq!(statistics.previous_tx_block_time, Some(second(5)));
    assert_eq!(statistics.first_tx_block_time, Some(second(1)));
    assert_eq!(statistics.ds_block_time, second(5));
    assert_eq!(statistics.first_ds_block_time, Some(second(1)));
}

#[test]
fn recent_transactions_are_the_last_hundred_the_newest_first() {
    let mut net = Net::new(config(1, 1_000));
    assert!(net.snapshot().recent_transactions().is_empty());
    let mut hashes = Vec::new();
    for _ in 0..60 {
        for from in 1..=2 {
            hashes.push(net.pay(from, user(9), 1, 0));
            net.tick();
        }
    }
    hashes.reverse();
    assert_eq!(net.snapshot().recent_transactions(), &hashes[..100]);
}

#[test]
fn pending_transactions_are_all_that_wait() {
    let mut net = Net::new(config(1, 100));
    let waiting = net.pay(1, user(9), 1, 3);
    assert_eq!(net.snapshot().pending(), [(waiting, TxStatus::Dispatched)]);
    net.tick();
    assert_eq!(net.snapshot().pending(), [(waiting, TxStatus::NonceHigh)]);
    for _ in 0..9 {
        net.tick();
    }
    assert_eq!(
        net.snapshot().pending(),
        [(waiting, TxStatus::NonceHigh)],
        "its status has not changed for nine epochs"
    );
    assert_eq!(net.snapshot().current_epoch(), number(11));
}

#[test]
fn a_dropped_transaction_is_remembered_with_its_reason() {
    let mut net = Net::new(config(1, 100));
    let half = net.balance(&user(1)).unwrap() / 2;
    let kept = net.submit(payment(1, 1, user(9), half, PRICE));
    let too_much = net.submit(payment(1, 2, user(9), half, PRICE));
    net.tick();
    assert_eq!(net.status(&kept), Some(3));
    let status = net.snapshot().status(&too_much).unwrap().unwrap();
    assert_eq!(status.status, TxStatus::Dropped(DropReason::InsufficientBalance));
    assert!(!status.success);
    assert_eq!((status.inserted, status.updated), (number(1), number(1)));
    assert_eq!(net.balance(&user(1)), Some(half - FEE));
}

#[test]
fn variables_have_no_proof_outside_the_window_or_without_a_contract() {
    let mut config = ChainConfig::isolated();
    config.policy.proof_window = std::num::NonZeroU64::new(10).unwrap();
    let mut net = Net::new(config);
    net.demand(20);
    let proof = |address: &Address, block: Option<u64>| {
        let error = net.snapshot().state_proof(address, &VariableHash::ZERO, block.map(number)).unwrap_err();
        error.to_string()
    };
    assert_eq!(proof(&user(1), None), "Address not contract address");
    assert_eq!(proof(&user(1), Some(11)), "Address not contract address");
    assert_eq!(proof(&user(9), Some(20)), "Address does not exist in requested epoch");
    assert_eq!(proof(&user(1), Some(10)), "Proof from requested txBlock is expired, earliest: 11");
    assert_eq!(proof(&user(1), Some(21)), "Requested txBlock not mined yet");
    assert_eq!(net.snapshot().proof_block(None).unwrap(), number(20));
    assert_eq!(net.snapshot().proof_block(Some(number(11))).unwrap(), number(11));
    assert!(net.snapshot().proof_block(Some(number(10))).is_err());
    let error = net.snapshot().state_proof(&user(1), &VariableHash::ZERO, Some(number(3))).unwrap_err();
    assert!(matches!(error, ProofError::Expired { earliest } if earliest == number(11)));
    for block in [10, 21] {
        assert!(net.snapshot().account_proof(&user(1), Some(number(block))).is_err(), "{block}");
    }
}

#[test]
fn block_outside_the_window_is_expired_and_no_fault() {
    let options = silica_state::StoreOptions { history: 10, ..Default::default() };
    let mut net = Net::over(silica_state::Store::ephemeral(options), ChainConfig::isolated());
    net.demand(20);
    let error = net.snapshot().state_proof(&user(1), &VariableHash::ZERO, Some(number(5))).unwrap_err();
    assert_eq!(error.to_string(), "Proof from requested txBlock is expired, earliest: 11");
}

#[test]
fn the_committee_and_the_miners_are_this_node() {
    let mut net = Net::new(config(3, 5));
    net.demand(6);
    let snapshot = net.snapshot();
    assert_eq!(snapshot.ds_committee(), [node()]);
    let info = snapshot.miner_info(DsBlockNumber::new(2)).unwrap();
    assert_eq!((info.ds_committee, info.shards), (vec![node()], vec![vec![node()]; 3]));
    let error = snapshot.miner_info(DsBlockNumber::new(3)).unwrap_err();
    assert_eq!(error.to_string(), "Requested data not found");
}

#[test]
fn the_coin_supply_is_what_the_null_account_does_not_hold() {
    let mut net = Net::new(config(1, 5));
    assert_eq!(net.snapshot().coin_supply().unwrap().to_zil_string(), "12600000000.000000000000");
    net.demand(4);
    assert_eq!(net.snapshot().coin_supply().unwrap().to_zil_string(), "12600176000.000000000000");
}

#[test]
fn missing_blocks_are_none() {
    let net = Net::new(config(1, 5));
    assert_eq!(net.snapshot().tx_block(number(1)).unwrap(), None);
    assert_eq!(net.snapshot().tx_block(BlockNumber::MISSING).unwrap(), None);
    assert_eq!(net.snapshot().ds_block(DsBlockNumber::new(1)).unwrap(), None);
    assert!(net.snapshot().transaction(&silica_protocol::TxHash::ZERO).unwrap().is_none());
}
