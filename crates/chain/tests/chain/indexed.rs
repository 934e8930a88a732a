//! The tests compare queries that use the history index with a read of all blocks. The chains are random, with reverts,
//! edits and empty block ranges. The tests also make queries while the index is behind the chain, and after the store
//! was opened again.

use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::Duration,
};

use proptest::{collection::vec, prelude::*};
use silica_chain::{
    AddressRole, BalanceAtError, HistoryOrder, HistoryPlace, HistoryRequest, Transfer, TransferRequest,
};
use silica_protocol::{Address, BlockNumber, Receipt, Transaction, TransactionKind};
use silica_state::{Durability, IndexKinds, Store, StoreOptions};

use crate::{
    harness::{Net, config, node, user},
    reverts::{Op, Step, apply, step},
};

fn options() -> StoreOptions {
    StoreOptions {
        history: 4,
        checkpoint_blocks: 6,
        durability: Durability::Relaxed,
        index: IndexKinds::ALL,
        ..StoreOptions::default()
    }
}

/// Waits until the index has all blocks.
pub(crate) fn settle(net: &Net) {
    while net.snapshot().index_progress().unwrap().blocks <= net.height() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the roles of an address in a transaction, as the documentation states them.
fn roles(address: &Address, transaction: &Transaction, receipt: &Receipt) -> Vec<AddressRole> {
    let is_deployment = transaction.kind() == Some(TransactionKind::Deployment);
    let is_named =
        |message: &silica_protocol::Transition| message.address == *address || message.message.recipient == *address;
    let all = [
        (transaction.sender() == *address, AddressRole::Sender),
        (!is_deployment && transaction.to == *address, AddressRole::Recipient),
        (transaction.contract_address() == Some(*address), AddressRole::Contract),
        (receipt.transitions.iter().any(is_named), AddressRole::Transition),
    ];
    all.into_iter().filter(|(has, _)| *has).map(|(_, role)| role).collect()
}

/// Returns the places and roles of the transactions of an address from a read of all blocks, the oldest first.
fn expected(net: &Net, address: &Address) -> Vec<(HistoryPlace, Vec<AddressRole>)> {
    let store = net.test.producer().store().snapshot();
    let mut found = Vec::new();
    for block in (0..=net.height()).map(BlockNumber::new) {
        let transactions = store.transactions(block, 0..u32::MAX).unwrap().unwrap();
        for ((transaction, receipt), position) in transactions.iter().zip(0..) {
            let roles = roles(address, transaction, receipt);
            if !roles.is_empty() {
                found.push((HistoryPlace { block, position }, roles));
            }
        }
    }
    found
}

/// Returns the places and roles of all pages of a query.
fn pages(net: &Net, address: Address, order: HistoryOrder, limit: usize) -> Vec<(HistoryPlace, Vec<AddressRole>)> {
    let mut request = HistoryRequest { address, order, after: None, limit, effort: 50 };
    let mut found = Vec::new();
    loop {
        let page = net.snapshot().transactions_of(&request).unwrap();
        assert!(page.transactions.len() <= limit);
        found.extend(page.transactions.into_iter().map(|it| (it.place, it.roles)));
        match page.next {
            Some(next) => request.after = Some(next),
            None => return found,
        }
    }
}

/// Returns a request for the transfers of all blocks.
fn transfers_of(addresses: Option<&BTreeSet<Address>>, order: HistoryOrder) -> TransferRequest<'_> {
    let (first, last) = (BlockNumber::new(0), BlockNumber::new(u64::MAX));
    TransferRequest { addresses, first, last, order, from: None, limit: 1_000, effort: 1_000_000 }
}

/// Returns the transfers of all pages of a request.
fn all_transfers(net: &Net, request: &TransferRequest<'_>) -> Vec<Transfer> {
    let (mut found, mut from) = (Vec::new(), None);
    loop {
        let page = net.snapshot().transfers(&TransferRequest { from, ..*request }).unwrap();
        assert!(page.transfers.len() <= request.limit);
        found.extend(page.transfers);
        from = page.next;
        if from.is_none() {
            return found;
        }
    }
}

/// Compares the transfers of some addresses, and the balances after all blocks, with a walk over all transfers.
fn check_transfers(net: &Net, addresses: &[Address]) {
    let all = all_transfers(net, &transfers_of(None, HistoryOrder::OldestFirst));
    for addresses in addresses.chunks(1).chain(addresses.chunks(3)) {
        let set: BTreeSet<Address> = addresses.iter().copied().collect();
        let has_one = |it: &&Transfer| [it.from, it.to].iter().flatten().any(|address| set.contains(address));
        let mut expected: Vec<Transfer> = all.iter().filter(has_one).cloned().collect();
        let oldest = transfers_of(Some(&set), HistoryOrder::OldestFirst);
        let newest = TransferRequest { order: HistoryOrder::NewestFirst, ..oldest };
        for limit in [1, 3, 1_000] {
            assert_eq!(all_transfers(net, &TransferRequest { limit, ..oldest }), expected, "{set:?}");
        }
        expected.reverse();
        for limit in [1, 4, 1_000] {
            assert_eq!(all_transfers(net, &TransferRequest { limit, ..newest }), expected, "{set:?}");
        }
        let (first, last) = (BlockNumber::new(net.height() / 3), BlockNumber::new(net.height() / 3 * 2));
        let part = TransferRequest { first, last, limit: 2, ..newest };
        expected.retain(|it| (first..=last).contains(&it.place.block));
        assert_eq!(all_transfers(net, &part), expected, "{set:?}");
    }
    let mut balances = BTreeMap::new();
    let mut rest = all.iter().peekable();
    for block in (0..=net.height()).map(BlockNumber::new) {
        while let Some(transfer) = rest.next_if(|it| it.place.block == block) {
            transfer.apply(&mut balances).unwrap();
        }
        // Some of many blocks, because a comparison of all takes minutes.
        let is_sampled = net.height() < 100 || block.get() % 41 == 0 || block.get() + 20 > net.height();
        for address in addresses.iter().filter(|_| is_sampled) {
            match net.snapshot().balance_at(address, block) {
                Ok(balance) => {
                    assert_eq!(balance, balances.get(address).copied().unwrap_or_default(), "{address} {block}");
                }
                Err(BalanceAtError::NotIndexed { .. }) => {}
                Err(BalanceAtError::NoIndex { .. }) => assert!(net.snapshot().index_progress().is_none()),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn check(net: &Net) {
    let reserve_and_node = [Address::ZERO, Address::from_public_key(&node())];
    let contracts = (1..=2).filter_map(|from| net.snapshot().contracts_of(&user(from)).unwrap().pop());
    let addresses: Vec<Address> =
        [1, 3, 9, 20].map(user).into_iter().chain(reserve_and_node).chain(contracts).collect();
    check_transfers(net, &addresses);
    let contracts = (1..=2).filter_map(|from| net.snapshot().contracts_of(&user(from)).unwrap().pop());
    for address in [1, 3, 9, 20].map(user).into_iter().chain(contracts) {
        let mut expected = expected(net, &address);
        for limit in [2, 1000] {
            assert_eq!(pages(net, address, HistoryOrder::OldestFirst, limit), expected, "{address}");
        }
        expected.reverse();
        for limit in [3, 1000] {
            assert_eq!(pages(net, address, HistoryOrder::NewestFirst, limit), expected, "{address}");
        }
    }
    let at = net.snapshot();
    for number in (0..=net.height()).rev().step_by(3) {
        let hash = at.tx_block_hash(BlockNumber::new(number)).unwrap().unwrap();
        let (found, missing) = at.find_indexed_block(&hash).unwrap();
        let covered = net.height() + 1 - missing;
        assert_eq!(found, (number < covered).then_some(BlockNumber::new(number)), "{number} of {covered}");
    }
}

fn run(net: &mut Net, steps: &[Step]) {
    let mut saved = Vec::new();
    for (turn, step) in steps.iter().enumerate() {
        match step {
            Step::Do(op) => drop(apply(net, op)),
            Step::Save => saved.push(net.test.snapshot().unwrap()),
            Step::Revert(which) => {
                let Some(which) = which.checked_rem(saved.len()) else { continue };
                let to = saved.drain(which..).next().unwrap();
                net.test.revert(&to).unwrap();
                check(net);
            }
        }
        // Sometimes the index has all blocks, and sometimes it is behind.
        if turn % 3 == 0 {
            settle(net);
        }
        if turn % 5 == 0 {
            check(net);
        }
    }
    settle(net);
    check(net);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn index_agrees_with_a_read_of_all_blocks(steps in vec(step(), 1..50)) {
        run(&mut Net::over(Store::ephemeral(options()), config(2, 5)), &steps);
    }

    #[test]
    fn index_on_disk_agrees_with_a_read_of_all_blocks(steps in vec(step(), 1..30), more in vec(step(), 1..10)) {
        let dir = tempfile::tempdir().unwrap();
        let open = |options| Net::over(Store::open(dir.path(), options).unwrap(), config(2, 5));
        let mut net = open(options());
        run(&mut net, &steps);
        // A drop without a close does not write the memtable.
        drop(net);
        // The chain continues without the index.
        let mut net = open(StoreOptions { index: IndexKinds::default(), ..options() });
        for op in [Op::Pay(1, 0), Op::Tick, Op::Demand(9), Op::Deploy(1), Op::Tick] {
            apply(&mut net, &op);
        }
        prop_assert!(net.snapshot().index_progress().is_none());
        net.test.into_store().close().unwrap();
        let mut net = open(options());
        check(&net);
        run(&mut net, &more);
        // With fewer than 4,096 new blocks, the close of the store would not persist the entries of the index.
        apply(&mut net, &Op::Demand(5_000));
        settle(&net);
        net.test.into_store().close().unwrap();
        let net = open(options());
        settle(&net);
        check(&net);
        let report = net.test.into_store().check(&mut |_, _| {}).unwrap();
        prop_assert!(report.index_entries > 5_000);
    }
}
