//! The rules of the pool, and comparisons with a literal model of the selection in the reference.

use std::{cmp::Ordering, collections::BTreeMap};

use proptest::prelude::*;
use silica_protocol::{Gas, Nonce, Qa, Transaction, UnsignedTransaction};

use super::*;
use crate::{
    admission::Routing,
    testing::{PRICE, address, payment, signed, unchecked},
};

const SHARD: ShardId = ShardId::new(0);
const DS: ShardId = ShardId::new(1);
const LIMITS: PoolLimits =
    PoolLimits { transactions: 100, per_sender: 10, gapped_per_sender: 10, lifetime_ds_epochs: 3, memory_ds_epochs: 2 };

/// An account whose balance covers all transactions of these tests.
const RICH: Account = Account { nonce: Nonce::new(0), balance: Qa::MAX, contract: None };

fn pool() -> Pool {
    Pool::new(LIMITS, Epochs::new(10).unwrap())
}

fn block(number: u64) -> BlockNumber {
    BlockNumber::new(number)
}

fn time(micros: u64) -> Timestamp {
    Timestamp::new(micros)
}

/// The arrival of a new transaction in the Tx epoch `epoch`.
fn arrival(epoch: u64, micros: u64) -> Arrival {
    Arrival { epoch: block(epoch), at: time(micros), restored: false }
}

/// A payment with a nonce. Its gas price is `extra` Qa above the lowest gas price.
fn tx(from: u8, nonce: u64, extra: u128) -> VerifiedTransaction {
    let price = GasPrice::new(Qa::new(PRICE + extra));
    unchecked(UnsignedTransaction { nonce: Nonce::new(nonce), gas_price: price, ..payment(from, address(99)) }, SHARD)
}

fn filled(transactions: &[VerifiedTransaction]) -> Pool {
    let mut pool = pool();
    for transaction in transactions {
        pool.insert(transaction.clone(), &RICH, arrival(1, 1)).unwrap();
    }
    pool
}

fn status(pool: &Pool, transaction: &VerifiedTransaction) -> Option<u8> {
    pool.record(&transaction.hash()).map(|record| record.status.code())
}

fn settle(pool: &mut Pool, number: u64, included: &[VerifiedTransaction]) {
    let (block, at) = (block(number), time(number * 10));
    let receipt = Receipt::payment(Gas::new(50), block);
    let included: Vec<_> = included.iter().map(|transaction| (transaction.clone(), receipt.clone())).collect();
    let accounts = accounts_after(&included);
    pool.settle(&Settlement { block, at, included: &included, dropped: &[], postponed: &[], accounts: &accounts });
}

/// Returns the accounts of the senders after a block.
fn accounts_after(included: &[(VerifiedTransaction, Receipt)]) -> Vec<(Address, Account)> {
    let mut accounts = BTreeMap::new();
    for (transaction, _) in included {
        let account = accounts.entry(transaction.sender()).or_insert(RICH);
        account.nonce = account.nonce.max(transaction.transaction().nonce);
    }
    accounts.into_iter().collect()
}

/// Executes all transactions without a nonce gap, as a block of unlimited size would. Returns the executed
/// transactions, and the transactions with a nonce gap.
fn drain(pool: Pool, nonces: &mut BTreeMap<Address, u64>) -> (Vec<VerifiedTransaction>, Vec<VerifiedTransaction>) {
    let pool = Mutex::new(pool);
    let mut line = PoolLine::new(&pool, SHARD, None);
    let (mut executed, mut left) = (Vec::new(), Vec::new());
    while let Some(transaction) = line.next() {
        let nonce = nonces.entry(transaction.sender()).or_default();
        let got = transaction.transaction().nonce.get();
        if got > *nonce + 1 {
            left.push(transaction);
            continue;
        }
        line.advance(&transaction);
        if got == *nonce + 1 {
            *nonce = got;
            executed.push(transaction);
        }
    }
    (executed, left)
}

#[test]
fn the_same_transaction_is_taken_once() {
    let mut pool = filled(&[tx(1, 1, 0)]);
    let error = pool.insert(tx(1, 1, 0), &RICH, arrival(1, 1)).unwrap_err();
    assert_eq!(error, PoolError::Known { hash: tx(1, 1, 0).hash() });
    assert_eq!(error.to_string(), "Txn could not be added as database exceeded limit or the txn was already present");
}

#[test]
fn of_two_with_one_nonce_the_higher_price_stays() {
    let (low, high) = (tx(1, 1, 0), tx(1, 1, 1));
    let mut pool = filled(std::slice::from_ref(&low));
    pool.insert(high.clone(), &RICH, arrival(2, 2)).unwrap();
    assert_eq!((status(&pool, &low), status(&pool, &high)), (Some(24), Some(1)));
    assert_eq!(pool.len(), 1);

    let mut pool = filled(std::slice::from_ref(&high));
    let error = pool.insert(low.clone(), &RICH, arrival(2, 2)).unwrap_err();
    assert_eq!(error, PoolError::Outbid { by: high.hash() });
    assert_eq!(error.to_string(), "Error Code: 24");
    assert_eq!((status(&pool, &low), status(&pool, &high)), (Some(24), Some(1)));
}

#[test]
fn of_two_with_one_nonce_and_price_the_smaller_hash_stays() {
    let mut pair = [
        tx(1, 1, 0),
        unchecked(
            UnsignedTransaction { amount: Qa::new(77), ..tx(1, 1, 0).transaction().as_ref().clone().into_unsigned() },
            SHARD,
        ),
    ];
    pair.sort_by_key(VerifiedTransaction::hash);
    let [small, large] = pair;
    let mut pool = filled(std::slice::from_ref(&large));
    pool.insert(small.clone(), &RICH, arrival(1, 1)).unwrap();
    assert_eq!(pool.insert(large.clone(), &RICH, arrival(1, 1)), Err(PoolError::Outbid { by: small.hash() }));
    assert_eq!((status(&pool, &small), status(&pool, &large)), (Some(1), Some(24)));
}

#[test]
fn one_nonce_is_one_nonce_for_both_committees() {
    let in_shard = tx(1, 1, 0);
    let mut pool = filled(std::slice::from_ref(&in_shard));
    let to_ds = unchecked(
        UnsignedTransaction { amount: Qa::new(5), ..tx(1, 1, 9).transaction().as_ref().clone().into_unsigned() },
        DS,
    );
    pool.insert(to_ds.clone(), &RICH, arrival(1, 1)).unwrap();
    assert_eq!(status(&pool, &in_shard), Some(24));
    assert!(pool.heads(SHARD, None, 9).is_empty());
    assert_eq!(pool.heads(DS, None, 9), [to_ds]);
}

#[test]
fn a_full_pool_takes_replacements_only() {
    let mut pool = pool();
    for number in 0..100 {
        let from = u8::try_from(number / 10 + 1).unwrap();
        pool.insert(tx(from, number % 10 + 1, 0), &RICH, arrival(1, 1)).unwrap();
    }
    assert_eq!(pool.insert(tx(50, 1, 0), &RICH, arrival(1, 1)), Err(PoolError::Full { limit: 100 }));
    pool.insert(tx(1, 1, 1), &RICH, arrival(1, 1)).unwrap();
    assert_eq!(pool.len(), 100);
}

#[test]
fn a_sender_has_a_limit_of_its_own() {
    let mut pool = pool();
    for nonce in 1..=10 {
        pool.insert(tx(1, nonce, 0), &RICH, arrival(1, 1)).unwrap();
    }
    let error = pool.insert(tx(1, 11, 0), &RICH, arrival(1, 1)).unwrap_err();
    assert_eq!(error, PoolError::SenderFull { sender: address(1), limit: 10 });
    pool.insert(tx(1, 3, 5), &RICH, arrival(1, 1)).unwrap();
    pool.insert(tx(2, 1, 0), &RICH, arrival(1, 1)).unwrap();
}

#[test]
fn the_best_price_goes_first_and_nonces_stay_in_order() {
    let all = [tx(1, 1, 0), tx(1, 2, 9), tx(2, 1, 5), tx(3, 1, 7), tx(3, 2, 8)];
    let (order, left) = drain(filled(&all), &mut BTreeMap::new());
    assert_eq!(order, [&all[3], &all[4], &all[2], &all[0], &all[1]].map(Clone::clone));
    assert_eq!(left, []);
}

#[test]
fn a_nonce_gap_waits_in_the_pool_until_it_is_closed() {
    let ahead = tx(1, 2, 0);
    let mut pool = filled(std::slice::from_ref(&ahead));
    let postponed = [(ahead.clone(), Postponed::NonceHigh)];
    pool.settle(&Settlement {
        block: block(2),
        at: time(9),
        included: &[],
        dropped: &[],
        postponed: &postponed,
        accounts: &[],
    });
    assert_eq!(status(&pool, &ahead), Some(4));
    assert!(!pool.has_candidates(), "a lane that begins with a gap is parked");
    let record = pool.record(&ahead.hash()).unwrap();
    assert_eq!((record.inserted, record.updated, record.modified), (block(1), block(2), time(9)));

    pool.insert(tx(1, 1, 0), &RICH, arrival(2, 9)).unwrap();
    assert_eq!(pool.heads(SHARD, None, 9), [tx(1, 1, 0)]);
    settle(&mut pool, 2, &[tx(1, 1, 0)]);
    assert_eq!(pool.heads(SHARD, None, 9), [ahead]);
}

#[test]
fn a_block_of_others_wakes_the_senders_lane() {
    let ahead = tx(1, 2, 0);
    let mut pool = filled(std::slice::from_ref(&ahead));
    let postponed = [(ahead.clone(), Postponed::NonceHigh)];
    pool.settle(&Settlement {
        block: block(2),
        at: time(9),
        included: &[],
        dropped: &[],
        postponed: &postponed,
        accounts: &[],
    });
    settle(&mut pool, 3, &[tx(1, 1, 3)]);
    assert_eq!(pool.heads(SHARD, None, 9), [ahead]);
}

#[test]
fn edit_of_an_account_wakes_what_waited_for_a_nonce() {
    let ahead = tx(1, 5, 0);
    let mut pool = filled(&[ahead.clone(), tx(2, 5, 0)]);
    let postponed = [(ahead.clone(), Postponed::NonceHigh), (tx(2, 5, 0), Postponed::NonceHigh)];
    let (block, at, nothing) = (block(2), time(9), (&[], &[]));
    let settlement =
        Settlement { block, at, included: nothing.0, dropped: nothing.1, postponed: &postponed, accounts: &[] };
    pool.settle(&settlement);
    assert!(!pool.has_candidates());
    let accounts = [ahead.sender(), Address::ZERO].map(|address| (address, Account { nonce: Nonce::new(4), ..RICH }));
    pool.settle(&Settlement { postponed: &[], accounts: &accounts, ..settlement });
    assert_eq!(pool.heads(SHARD, None, 9), [ahead]);
}

/// Shards execute before the DS committee. So a block tries a payment before the call that has the previous nonce.
#[test]
fn a_nonce_that_another_lane_used_up_wakes_the_lane_that_waited_for_it() {
    let after = tx(1, 2, 0);
    let call = unchecked(tx(1, 1, 0).transaction().as_ref().clone().into_unsigned(), DS);
    let mut pool = filled(&[after.clone(), call.clone()]);
    let (block, at) = (block(2), time(9));
    let postponed = [(after.clone(), Postponed::NonceHigh)];
    let included = [(call, Receipt::payment(Gas::new(50), block))];
    let accounts = accounts_after(&included);
    pool.settle(&Settlement {
        block,
        at,
        included: &included,
        dropped: &[],
        postponed: &postponed,
        accounts: &accounts,
    });
    assert_eq!(pool.heads(SHARD, None, 9), [after]);
}

#[test]
fn transaction_with_a_used_nonce_is_dropped() {
    let (stale, next) = (tx(1, 2, 0), tx(1, 3, 0));
    let mut pool = filled(&[stale.clone(), next.clone()]);
    settle(&mut pool, 3, &[tx(1, 2, 7)]);
    assert_eq!((status(&pool, &stale), status(&pool, &next)), (Some(27), Some(1)));
    assert_eq!(pool.heads(SHARD, None, 9), [next]);
}

#[test]
fn postponed_transaction_keeps_its_place_and_later_nonces_wait() {
    let all = [tx(1, 1, 0), tx(1, 2, 0)];
    let mut pool = filled(&all);
    let postponed = [(all[0].clone(), Postponed::GasExceeded)];
    pool.settle(&Settlement {
        block: block(2),
        at: time(9),
        included: &[],
        dropped: &[],
        postponed: &postponed,
        accounts: &[],
    });
    assert_eq!((status(&pool, &all[0]), status(&pool, &all[1])), (Some(5), Some(4)));
    assert_eq!(pool.heads(SHARD, None, 9), [all[0].clone()]);
}

#[test]
fn transactions_expire_in_blocks_and_are_remembered_for_a_while() {
    let waiting = tx(1, 5, 0);
    let mut pool = filled(std::slice::from_ref(&waiting));
    settle(&mut pool, 30, &[]);
    assert_eq!(status(&pool, &waiting), Some(1));
    settle(&mut pool, 31, &[]);
    assert_eq!(status(&pool, &waiting), Some(255), "three DS epochs of ten blocks after block 1");
    assert_eq!(pool.len(), 0);
    settle(&mut pool, 50, &[]);
    assert_eq!(status(&pool, &waiting), Some(255));
    settle(&mut pool, 51, &[]);
    assert_eq!(status(&pool, &waiting), None, "two DS epochs after it was dropped");
}

#[test]
fn payment_with_the_greatest_hash_expires_behind_later_payments() {
    let mut payments: Vec<_> = (1..=32).map(|from| tx(from, 1, 0)).collect();
    payments.sort_by_key(Rank::of);
    let greatest = payments.pop().unwrap();
    let mut pool = filled(std::slice::from_ref(&greatest));
    // Each block has room for one payment, and another payment arrives before each block.
    for (number, later) in (1..).zip(payments) {
        assert_eq!(status(&pool, &greatest), Some(1), "before block {number}");
        pool.insert(later.clone(), &RICH, arrival(number, 1)).unwrap();
        let first = pool.heads(SHARD, None, 1);
        assert_eq!(first[0].hash(), later.hash());
        settle(&mut pool, number, &first);
    }
    assert_eq!(status(&pool, &greatest), Some(255), "after block 31, three DS epochs after the first");
}

#[test]
fn memory_of_dropped_transactions_is_bounded() {
    let mut pool = pool();
    for nonce in 1..=150 {
        let transaction = tx(1, nonce, 0);
        pool.insert(transaction.clone(), &RICH, arrival(1, 1)).unwrap();
        let dropped = [(transaction, DropReason::InsufficientBalance)];
        pool.settle(&Settlement {
            block: block(1),
            at: time(1),
            included: &[],
            dropped: &dropped,
            postponed: &[],
            accounts: &[],
        });
    }
    assert_eq!(status(&pool, &tx(1, 50, 0)), None);
    assert_eq!(status(&pool, &tx(1, 51, 0)), Some(21));
    assert_eq!((pool.drops.len(), pool.dropped.len()), (100, 100));
}

#[test]
fn a_dropped_transaction_may_come_again() {
    let transaction = tx(1, 1, 0);
    let mut pool = filled(std::slice::from_ref(&transaction));
    let dropped = [(transaction.clone(), DropReason::InsufficientBalance)];
    pool.settle(&Settlement {
        block: block(2),
        at: time(2),
        included: &[],
        dropped: &dropped,
        postponed: &[],
        accounts: &[],
    });
    assert_eq!(status(&pool, &transaction), Some(21));
    pool.insert(transaction.clone(), &RICH, arrival(3, 3)).unwrap();
    assert_eq!(status(&pool, &transaction), Some(1));
    assert_eq!((pool.drops.len(), pool.dropped.len()), (0, 0));
}

#[test]
fn pending_lists_the_latest_changes_first() {
    let all = [tx(1, 1, 0), tx(2, 2, 0), tx(3, 1, 0)];
    let mut pool = filled(&all[..2]);
    pool.insert(all[2].clone(), &RICH, arrival(4, 4)).unwrap();
    let postponed = [(all[1].clone(), Postponed::NonceHigh)];
    pool.settle(&Settlement {
        block: block(5),
        at: time(5),
        included: &[],
        dropped: &[],
        postponed: &postponed,
        accounts: &[],
    });
    let expected = [
        (all[1].hash(), TxStatus::NonceHigh),
        (all[2].hash(), TxStatus::Dispatched),
        (all[0].hash(), TxStatus::Dispatched),
    ];
    assert_eq!(pool.pending(9), expected);
    assert_eq!(pool.pending(1), expected[..1]);
}

/// Returns two transactions, and the bytes of a pool with both.
fn exported() -> ([(Transaction, BlockNumber, bool); 2], Vec<u8>) {
    let of_nonce = |nonce, extra| signed(1, tx(1, nonce, extra).transaction().as_ref().clone().into_unsigned());
    let (first, second) = (of_nonce(1, 0), of_nonce(2, 9));
    let mut pool = pool();
    pool.insert(VerifiedTransaction::unchecked(first.clone(), SHARD), &RICH, arrival(7, 1)).unwrap();
    pool.insert(VerifiedTransaction::unchecked(second.clone(), DS), &RICH, arrival(8, 1)).unwrap();
    ([(first, block(7), false), (second, block(8), true)], export(&pool, usize::MAX, u64::MAX).0)
}

fn members(contents: Contents) -> Vec<(Transaction, BlockNumber, bool)> {
    contents.entries.into_iter().map(|entry| (entry.transaction, entry.inserted, entry.priority)).collect()
}

#[test]
fn exported_transactions_are_imported() {
    let (expected, bytes) = exported();
    let contents = import(&bytes).unwrap();
    assert_eq!(contents.damaged, 0);
    assert_eq!(members(contents), expected);
    let contents = import(&export(&pool(), usize::MAX, u64::MAX).0).unwrap();
    assert_eq!((contents.entries.len(), contents.damaged), (0, 0));
    let all = [tx(1, 1, 0), tx(1, 2, 0), tx(1, 3, 0)];
    let contents = import(&export(&filled(&all), 2, u64::MAX).0).unwrap();
    assert_eq!((contents.entries.len(), contents.damaged), (2, 0));
}

#[test]
fn export_is_not_longer_than_its_reader_takes() {
    let pool = filled(&[tx(1, 1, 0), tx(1, 2, 0), tx(1, 3, 0)]);
    let whole = export(&pool, usize::MAX, u64::MAX);
    assert_eq!(whole.1, 3);
    // All entries have the same length.
    let (header, entry) = (14, (whole.0.len() - 14) / 3);
    for longest in 0..whole.0.len() + 2 {
        let (bytes, count) = export(&pool, usize::MAX, longest as u64);
        assert_eq!(count, (longest.saturating_sub(header) / entry).min(3), "{longest}");
        assert!(bytes.len() <= longest.max(header), "{longest}");
        let contents = import(&bytes).unwrap();
        assert_eq!((contents.entries.len(), contents.damaged), (count, 0), "{longest}");
    }
}

#[test]
fn a_damaged_byte_loses_one_transaction() {
    let (expected, bytes) = exported();
    // All entries have the same length.
    let (header, entry) = (14, (bytes.len() - 14) / 2);
    for position in 0..bytes.len() {
        for change in (1..=255).step_by(if position < header { 1 } else { 127 }) {
            let mut damaged = bytes.clone();
            damaged[position] ^= change;
            let contents = import(&damaged).unwrap();
            let lost = position.checked_sub(header).map(|position| position / entry);
            assert_eq!(contents.damaged, usize::from(lost.is_some()), "byte {position}");
            let left = expected.iter().enumerate().filter(|(number, _)| Some(*number) != lost);
            assert_eq!(members(contents), left.map(|(_, entry)| entry.clone()).collect::<Vec<_>>(), "byte {position}");
        }
    }
}

#[test]
fn cut_off_or_added_bytes_lose_only_what_they_touch() {
    let (expected, bytes) = exported();
    let entry = (bytes.len() - 14) / 2;
    for length in 14 + entry..bytes.len() {
        let contents = import(&bytes[..length]).unwrap();
        assert_eq!(contents.damaged, 1, "length {length}");
        assert_eq!(members(contents), expected[..1], "length {length}");
    }
    for length in 15..14 + entry {
        assert_eq!(import(&bytes[..length]).unwrap_err(), PoolImportError::Checksum, "length {length}");
    }
    for position in 0..=bytes.len() {
        let mut longer = bytes.clone();
        longer.splice(position..position, *b"\xfftx\xff, and more");
        assert!(!import(&longer).unwrap().entries.is_empty(), "position {position}");
    }
}

#[test]
fn bytes_of_another_kind_are_no_pool() {
    for bytes in [&b""[..], b"something else", b"silica-pool-3\n", b"silica-pool-"] {
        let error = import(bytes).unwrap_err();
        assert_eq!(
            error.to_string(),
            "pool contents: expected the mark \"silica-pool-2\\n\" at the start, got other bytes"
        );
    }
}

/// A file of version 1 with five transactions: four payments with a nonce gap before the last, and a transaction with
/// an invalid signature.
const VERSION_1: &[u8] = include_bytes!("../../tests/data/pool/version-1");

#[test]
fn bytes_of_version_1_are_imported() {
    let contents = import(VERSION_1).unwrap();
    assert_eq!(contents.damaged, 0);
    let hashes: Vec<_> = contents.entries.iter().map(|entry| entry.transaction.hash().to_string()).collect();
    let expected = [
        "93ade5b49538f632f60dc1d6ff217d1522da018e632bd9ecbde25ea9158dee35",
        "8c8b0477c9d0412ed59e5b2ace6387726a869cc9109817fb7eede814f476fbf0",
        "d03360cdbd81cf2b8d8ed212bf9beada764d4049670ad8b44be0e923a0f8c05a",
        "f15b3d32f1fdf131d06a4d4de69a6474afea14313ee6ecc9f7cdbcdccfc59724",
        "aca76ecf90ab846d9748ccb5bad07027f3a360cee2c06b9bbdf59ebacef8152b",
    ];
    assert_eq!(hashes, expected);
    for position in 0..VERSION_1.len() {
        let mut damaged = VERSION_1.to_vec();
        damaged[position] ^= 1;
        assert!(import(&damaged).is_err(), "byte {position}");
        assert!(import(&VERSION_1[..position]).is_err(), "length {position}");
    }
}

#[test]
fn faults_in_bytes_of_version_1_are_named() {
    let check = |body: &[u8], expected: &str| {
        let mut bytes = b"silica-pool-1\n".to_vec();
        bytes.extend_from_slice(body);
        let checksum = silica_protocol::sha256(&[&bytes]);
        bytes.extend_from_slice(&checksum);
        assert_eq!(import(&bytes).unwrap_err().to_string(), expected);
    };
    check(&[0; 7], "pool contents: entry 0: invalid or incomplete epoch");
    check(&[0; 8], "pool contents: entry 0: invalid or incomplete committee");
    check(&[0; 12], "pool contents: entry 0: invalid or incomplete length");
    check(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1], "pool contents: entry 0: invalid or incomplete length");
    check(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff], "pool contents: entry 0: invalid or incomplete transaction");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_read_or_refused(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..20),
        cut in any::<proptest::sample::Index>(),
    ) {
        let (_, mut bytes) = exported();
        for (position, byte) in changes {
            let length = bytes.len();
            bytes[position.index(length)] = byte;
        }
        bytes.truncate(cut.index(bytes.len() * 2));
        if let Ok(contents) = import(&bytes) {
            prop_assert!(contents.entries.len() + contents.damaged <= 2);
        }
    }
}

#[test]
fn a_pool_of_a_committee_is_not_seen_by_another() {
    let pool = filled(&[tx(1, 1, 0)]);
    assert!(pool.heads(DS, None, 9).is_empty());
    assert_eq!(pool.heads(SHARD, None, 9).len(), 1);
}

#[test]
fn long_lines_are_taken_in_batches_without_loss() {
    let mut pool = Pool::new(PoolLimits { transactions: 10_000, per_sender: 10, ..LIMITS }, Epochs::new(10).unwrap());
    for from in 0..=255 {
        for nonce in 1..=5 {
            let mut transaction =
                tx(1, nonce, u128::from(from) * 7 % 13).transaction().as_ref().clone().into_unsigned();
            // Senders without a secret key, because the test has 256 senders.
            transaction.sender_key = silica_protocol::PublicKey::new([from; 33]);
            pool.insert(unchecked(transaction, SHARD), &RICH, arrival(1, 1)).unwrap();
        }
    }
    let mut nonces = BTreeMap::new();
    let (executed, left) = drain(pool, &mut nonces);
    assert_eq!((executed.len(), left.len()), (256 * 5, 0));
    assert!(nonces.values().all(|nonce| *nonce == 5));
}

/// Selects as the reference does: transactions by price, and a map of the transactions that were put aside
/// (Reference: execution#order-in-a-block).
fn reference_order(transactions: &[VerifiedTransaction], mut nonces: BTreeMap<Address, u64>) -> Vec<TxHash> {
    let mut by_price: BTreeMap<Rank, VerifiedTransaction> =
        transactions.iter().map(|tx| (Rank::of(tx), tx.clone())).collect();
    let mut gaps: BTreeMap<Address, BTreeMap<u64, VerifiedTransaction>> = BTreeMap::new();
    let mut order = Vec::new();
    loop {
        let ready = gaps.iter().find_map(|(sender, waiting)| {
            let (nonce, _) = waiting.first_key_value()?;
            (*nonce == nonces[sender] + 1).then_some((*sender, *nonce))
        });
        let chosen = if let Some((sender, nonce)) = ready {
            gaps.get_mut(&sender).unwrap().remove(&nonce).unwrap()
        } else {
            let Some((_, transaction)) = by_price.pop_first() else { return order };
            let (nonce, due) = (transaction.transaction().nonce.get(), nonces[&transaction.sender()] + 1);
            match nonce.cmp(&due) {
                Ordering::Less => continue,
                Ordering::Equal => transaction,
                Ordering::Greater => {
                    gaps.entry(transaction.sender()).or_default().insert(nonce, transaction);
                    continue;
                }
            }
        };
        nonces.insert(chosen.sender(), chosen.transaction().nonce.get());
        order.push(chosen.hash());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn selection_is_that_of_the_reference(
        entries in proptest::collection::vec((1..6_u8, 1..9_u64, 0..4_u128), 0..60),
        starts in proptest::collection::vec(0..3_u64, 5),
    ) {
        let mut pool = pool();
        for (from, nonce, extra) in entries {
            // All nonces are above the nonces of the accounts: a commit drops transactions with used nonces.
            let nonce = nonce + starts[usize::from(from) - 1];
            let _ = pool.insert(tx(from, nonce, extra), &RICH, arrival(1, 1));
        }
        let waiting: Vec<_> = pool.by_arrival().map(|(tx, _)| tx.clone()).collect();
        let mut nonces: BTreeMap<Address, u64> =
            starts.iter().zip(1..).map(|(start, from)| (address(from), *start)).collect();
        let expected = reference_order(&waiting, nonces.clone());
        let (executed, _) = drain(pool, &mut nonces);
        prop_assert_eq!(executed.iter().map(VerifiedTransaction::hash).collect::<Vec<_>>(), expected);
    }

    /// Inserts transactions and makes blocks at random. Compares the pool with a list after each step.
    #[test]
    fn contents_are_those_of_a_plain_list(
        steps in proptest::collection::vec((0..8_u8, 1..5_u8, 1..7_u64, 0..3_u128), 1..80),
    ) {
        let mut pool = pool();
        let mut model: BTreeMap<(Address, u64), VerifiedTransaction> = BTreeMap::new();
        let mut number = 1;
        for (step, from, nonce, extra) in steps {
            if step > 0 {
                let new = tx(from, nonce, extra);
                let key = (new.sender(), nonce);
                let old = model.get(&key).cloned();
                let taken = pool.insert(new.clone(), &RICH, arrival(number, number)).is_ok();
                let better = old.is_none_or(|old| Rank::of(&new) < Rank::of(&old));
                prop_assert_eq!(taken, better);
                if better {
                    model.insert(key, new);
                }
            } else {
                number += 1;
                let included: Vec<_> = model.values().filter(|tx| tx.transaction().nonce.get() == nonce).cloned().collect();
                model.retain(|(of, its), _| *its > nonce || included.iter().all(|tx| tx.sender() != *of));
                settle(&mut pool, number, &included);
            }
            let mut held: Vec<_> = pool.by_arrival().map(|(tx, _)| tx.hash()).collect();
            let mut expected: Vec<_> = model.values().map(VerifiedTransaction::hash).collect();
            held.sort();
            expected.sort();
            prop_assert_eq!(held, expected);
            let first = |sender| model.iter().find(|((of, _), _)| *of == sender).map(|(_, tx)| tx.hash());
            let mut heads: Vec<_> = pool.heads(SHARD, None, 99).iter().map(VerifiedTransaction::hash).collect();
            let mut firsts: Vec<_> = (1..5).filter_map(|from| first(address(from))).collect();
            heads.sort();
            firsts.sort();
            prop_assert_eq!(heads, firsts);
        }
    }
}

#[test]
fn gas_limits_do_not_matter_to_the_pool() {
    let transaction = tx(1, 1, 0).transaction().as_ref().clone();
    let large = unchecked(UnsignedTransaction { gas_limit: Gas::new(400_000), ..transaction.into_unsigned() }, SHARD);
    assert_eq!(large.routing(), Routing::Payment);
    assert_eq!(filled(std::slice::from_ref(&large)).heads(SHARD, None, 1), [large]);
}

#[test]
fn gapped_transactions_of_a_sender_are_limited() {
    let mut pool = Pool::new(PoolLimits { gapped_per_sender: 2, ..LIMITS }, Epochs::new(10).unwrap());
    for nonce in [1, 3, 5] {
        pool.insert(tx(1, nonce, 0), &RICH, arrival(1, 1)).unwrap();
    }
    let error = pool.insert(tx(1, 7, 0), &RICH, arrival(1, 1)).unwrap_err();
    assert_eq!(error, PoolError::SenderGapped { sender: address(1), limit: 2 });
    assert_eq!(
        error.to_string(),
        "Txn could not be added as the sender has 2 pending transactions that need a lower nonce or more balance"
    );
    // A replacement does not increase the number of gapped transactions. The transaction with the missing nonce 2 makes
    // the transaction with nonce 3 executable.
    pool.insert(tx(1, 3, 1), &RICH, arrival(1, 1)).unwrap();
    pool.insert(tx(1, 2, 0), &RICH, arrival(1, 1)).unwrap();
    pool.insert(tx(1, 7, 0), &RICH, arrival(1, 1)).unwrap();
    pool.insert(tx(2, 9, 0), &RICH, arrival(1, 1)).unwrap();
}

#[test]
fn transactions_beyond_the_balance_are_limited_as_gapped_ones_are() {
    let mut pool = Pool::new(PoolLimits { gapped_per_sender: 2, ..LIMITS }, Epochs::new(10).unwrap());
    let poor = Account { balance: Qa::new(tx(1, 1, 0).cost().get() * 3), ..RICH };
    for nonce in 1..=5 {
        pool.insert(tx(1, nonce, 0), &poor, arrival(1, 1)).unwrap();
    }
    let error = pool.insert(tx(1, 6, 0), &poor, arrival(1, 1)).unwrap_err();
    assert_eq!(error, PoolError::SenderGapped { sender: address(1), limit: 2 });
    // An incoming payment covers one more transaction.
    let richer = Account { balance: Qa::new(tx(1, 1, 0).cost().get() * 4), ..RICH };
    pool.update(&address(1), &richer, block(2), time(2));
    pool.insert(tx(1, 6, 0), &poor, arrival(1, 1)).unwrap();
}

#[test]
fn a_replacement_is_accepted_though_it_makes_more_transactions_gapped_than_the_limit() {
    let limits = PoolLimits { transactions: 5, gapped_per_sender: 2, ..LIMITS };
    let mut pool = Pool::new(limits, Epochs::new(10).unwrap());
    let poor = Account { balance: Qa::new(tx(1, 1, 0).cost().get() * 5), ..RICH };
    for nonce in 1..=5 {
        pool.insert(tx(1, nonce, 0), &poor, arrival(1, 1)).unwrap();
    }
    let dear = tx(1, 1, 1).transaction().as_ref().clone();
    let amount = Qa::new(poor.balance.get() - (tx(1, 1, 1).cost().get() - dear.amount.get()));
    let dear = unchecked(UnsignedTransaction { amount, ..dear.into_unsigned() }, SHARD);
    assert_eq!(dear.cost(), poor.balance);
    pool.insert(dear, &poor, arrival(1, 1)).unwrap();
    // Four transactions are gapped now. The pool rejects a further gapped transaction, and evicts each of the four for
    // an executable transaction.
    assert_eq!(pool.len(), 5);
    let error = pool.insert(tx(1, 6, 0), &poor, arrival(1, 1)).unwrap_err();
    assert_eq!(error, PoolError::SenderGapped { sender: address(1), limit: 2 });
    for nonce in 1..=4 {
        pool.insert(tx(2, nonce, 0), &RICH, arrival(1, 1)).unwrap();
        assert_eq!(status(&pool, &tx(1, 6 - nonce, 0)), Some(255));
    }
    assert_eq!(pool.insert(tx(2, 5, 0), &RICH, arrival(1, 1)), Err(PoolError::Full { limit: 5 }));
}

#[test]
fn imported_transactions_are_not_limited_as_gapped_ones() {
    let mut pool = Pool::new(PoolLimits { gapped_per_sender: 1, ..LIMITS }, Epochs::new(10).unwrap());
    for nonce in [3, 5, 7] {
        pool.insert(tx(1, nonce, 0), &RICH, Arrival { restored: true, ..arrival(1, 1) }).unwrap();
    }
    assert!(pool.insert(tx(1, 9, 0), &RICH, arrival(1, 1)).is_err());
}

/// Returns a pool for five transactions.
fn small() -> Pool {
    Pool::new(PoolLimits { transactions: 5, ..LIMITS }, Epochs::new(10).unwrap())
}

#[test]
fn a_gapped_transaction_leaves_a_full_pool_for_an_executable_one() {
    let gapped = [tx(1, 3, 7), tx(1, 5, 8), tx(2, 4, 9)];
    let mut pool = small();
    for transaction in gapped.iter().chain(&[tx(3, 1, 0), tx(3, 2, 0)]) {
        pool.insert(transaction.clone(), &RICH, arrival(1, 1)).unwrap();
    }
    // Among the senders of gapped transactions, sender 1 has the lowest gas price. It loses its last transaction.
    pool.insert(tx(4, 1, 0), &RICH, arrival(2, 2)).unwrap();
    assert_eq!(gapped.each_ref().map(|gapped| status(&pool, gapped)), [Some(1), Some(255), Some(1)]);
    let record = pool.record(&gapped[1].hash()).unwrap();
    assert_eq!(record.status, TxStatus::Dropped(DropReason::Evicted));
    assert_eq!((record.inserted, record.updated, record.modified), (block(1), block(2), time(2)));
    assert_eq!(pool.len(), 5);
    pool.insert(tx(4, 2, 0), &RICH, arrival(2, 2)).unwrap();
    pool.insert(tx(4, 3, 0), &RICH, arrival(2, 2)).unwrap();
    assert_eq!(gapped.each_ref().map(|gapped| status(&pool, gapped)), [Some(255); 3]);
    assert_eq!(pool.insert(tx(4, 4, 0), &RICH, arrival(2, 2)), Err(PoolError::Full { limit: 5 }));
}

#[test]
fn the_cheapest_executable_transaction_leaves_a_full_pool_for_a_better_one() {
    let mut pool = small();
    let cheap = [tx(1, 1, 1), tx(1, 2, 9)];
    for transaction in cheap.iter().chain(&[tx(2, 1, 3), tx(3, 1, 4), tx(4, 1, 5)]) {
        pool.insert(transaction.clone(), &RICH, arrival(1, 1)).unwrap();
    }
    let refused = Err(PoolError::Full { limit: 5 });
    assert_eq!(pool.insert(tx(5, 1, 1), &RICH, arrival(1, 1)), refused, "it pays the same");
    assert_eq!(pool.insert(tx(5, 2, 99), &RICH, arrival(1, 1)), refused, "it is gapped");
    assert_eq!(pool.insert(tx(1, 3, 99), &RICH, arrival(1, 1)), refused, "it is behind the cheapest");
    // The second transaction of sender 1 cannot be executed before the first one, which has the lowest price. The
    // eviction of the second transaction leaves no nonce gap.
    pool.insert(tx(5, 1, 2), &RICH, arrival(1, 1)).unwrap();
    assert_eq!(cheap.each_ref().map(|cheap| status(&pool, cheap)), [Some(1), Some(255)]);
    pool.insert(tx(6, 1, 2), &RICH, arrival(1, 1)).unwrap();
    assert_eq!(cheap.each_ref().map(|cheap| status(&pool, cheap)), [Some(255), Some(255)]);
    assert_eq!(pool.insert(tx(7, 1, 2), &RICH, arrival(1, 1)), refused);
}

#[test]
fn a_missing_nonce_is_taken_into_a_full_pool() {
    let mut pool = small();
    for nonce in 2..=6 {
        pool.insert(tx(1, nonce, 0), &RICH, arrival(1, 1)).unwrap();
    }
    pool.insert(tx(1, 1, 0), &RICH, arrival(1, 1)).unwrap();
    assert_eq!(status(&pool, &tx(1, 6, 0)), Some(255));
    let (executed, left) = drain(pool, &mut BTreeMap::new());
    assert_eq!((executed.len(), left.len()), (5, 0));
}

/// The expected contents of the pool: a list, from which each step computes the classes again.
#[derive(Clone, Debug, Default)]
struct Model {
    accounts: BTreeMap<Address, Account>,
    pending: Vec<(VerifiedTransaction, u64)>,
}

/// The limits of the pool in comparisons with the model.
const TIGHT: PoolLimits =
    PoolLimits { transactions: 9, per_sender: 6, gapped_per_sender: 3, lifetime_ds_epochs: 3, memory_ds_epochs: 2 };

impl Model {
    fn account(&self, sender: &Address) -> Account {
        self.accounts.get(sender).copied().unwrap_or_default()
    }

    fn of(&self, sender: &Address) -> Vec<&VerifiedTransaction> {
        let own = self.pending.iter().map(|(tx, _)| tx).filter(|tx| tx.sender() == *sender);
        let mut own: Vec<_> = own.collect();
        own.sort_by_key(|tx| tx.transaction().nonce);
        own
    }

    /// Returns the executable transactions of a sender, ascending by nonce.
    fn executable(&self, sender: &Address) -> Vec<VerifiedTransaction> {
        let account = self.account(sender);
        let (mut nonce, mut left, mut executable) = (account.nonce.get(), account.balance.get(), Vec::new());
        for tx in self.of(sender) {
            let cost = tx.transaction().amount.get() + 50 * tx.transaction().gas_price.get().get();
            if tx.transaction().nonce.get() == nonce + 1 && cost <= left {
                (nonce, left) = (nonce + 1, left - cost);
                executable.push(tx.clone());
            }
        }
        executable
    }

    fn is_gapped(&self, tx: &VerifiedTransaction) -> bool {
        !self.executable(&tx.sender()).contains(tx)
    }

    /// Adds a transaction if the rules permit it. Returns the name of the expected error otherwise.
    fn insert(&mut self, new: &VerifiedTransaction, number: u64) -> Result<(), &'static str> {
        let sender = new.sender();
        if self.pending.iter().any(|(tx, _)| tx.hash() == new.hash()) {
            return Err("known");
        }
        let nonce = |tx: &VerifiedTransaction| tx.transaction().nonce;
        if let Some(place) = self.pending.iter().position(|(tx, _)| tx.sender() == sender && nonce(tx) == nonce(new)) {
            if Rank::of(&self.pending[place].0) < Rank::of(new) {
                return Err("outbid");
            }
            self.pending[place] = (new.clone(), number);
            return Ok(());
        }
        let own = self.of(&sender);
        if own.len() >= TIGHT.per_sender {
            return Err("sender full");
        }
        let gapped = own.iter().filter(|tx| self.is_gapped(tx)).count();
        let mut with = self.clone();
        with.pending.push((new.clone(), number));
        let is_gapped = with.is_gapped(new);
        if is_gapped && gapped >= TIGHT.gapped_per_sender {
            return Err("sender gapped");
        }
        if self.pending.len() >= TIGHT.transactions {
            let standing = |tx: &VerifiedTransaction| (self.is_gapped(tx), Rank::of(tx));
            let (worst, _) = self.pending.iter().max_by_key(|(tx, _)| standing(tx)).unwrap();
            let is_better = match (is_gapped, self.is_gapped(worst)) {
                (false, true) => true,
                (true, false) => false,
                _ => new.transaction().gas_price > worst.transaction().gas_price,
            };
            let victim = (*self.of(&worst.sender()).last().unwrap()).clone();
            if !is_better || (victim.sender() == sender && nonce(&victim) < nonce(new)) {
                return Err("full");
            }
            with.pending.retain(|(tx, _)| tx.hash() != victim.hash());
        }
        *self = with;
        Ok(())
    }

    /// Checks that the pool and the model have the same transactions in the same classes.
    fn check(&self, pool: &Pool) {
        let expected: BTreeSet<_> = self.pending.iter().map(|(tx, _)| (self.is_gapped(tx), Rank::of(tx))).collect();
        let standings = pool.indexes.standings.iter();
        let got: BTreeSet<_> = standings.map(|standing| (standing.class == Class::Gapped, standing.rank)).collect();
        assert_eq!(got, expected);
        assert_eq!(pool.len(), self.pending.len());
        for sender in (1..=4).map(address) {
            let gapped = self.of(&sender).iter().filter(|tx| self.is_gapped(tx)).count();
            assert_eq!(pool.senders.get(&sender).map_or(0, Sender::gapped), gapped);
            let firsts = self.of(&sender).first().map(|tx| tx.hash());
            let line = pool.heads(SHARD, None, 99);
            let line = line.iter().find(|tx| tx.sender() == sender).map(VerifiedTransaction::hash);
            assert_eq!(line, firsts);
        }
    }
}

const UNIT: u128 = 50 * PRICE;

/// An operation on the pool or on the accounts of its senders.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert {
        from: u8,
        ahead: u64,
        extra: u128,
        units: u128,
    },
    /// A block with some executable transactions of a sender. They pay part of their cost to another account.
    Block {
        from: u8,
        most: usize,
        to: u8,
    },
    /// A block with a transaction that is not in this pool.
    Foreign {
        from: u8,
    },
    /// A drop during execution.
    Fail {
        from: u8,
    },
    /// An edit of nonce and balance.
    Edit {
        from: u8,
        ahead: u64,
        units: u128,
    },
    Withdraw {
        which: usize,
    },
    /// Blocks without transactions.
    Pass {
        blocks: u64,
    },
    Save,
    Revert,
}

fn step() -> impl Strategy<Value = Step> {
    let from = || 1..=4_u8;
    prop_oneof![
        12 => (from(), 0..7_u64, 0..4_u128, 0..3_u128)
            .prop_map(|(from, ahead, extra, units)| Step::Insert { from, ahead, extra, units }),
        2 => (from(), 1..4_usize, from()).prop_map(|(from, most, to)| Step::Block { from, most, to }),
        1 => from().prop_map(|from| Step::Foreign { from }),
        1 => from().prop_map(|from| Step::Fail { from }),
        2 => (from(), 0..3_u64, 0..12_u128).prop_map(|(from, ahead, units)| Step::Edit { from, ahead, units }),
        1 => (0..9_usize).prop_map(|which| Step::Withdraw { which }),
        1 => (1..20_u64).prop_map(|blocks| Step::Pass { blocks }),
        1 => Just(Step::Save),
        1 => Just(Step::Revert),
    ]
}

/// A pool and the model, at the same block.
#[derive(Clone, Debug)]
struct StateReader {
    pool: Pool,
    model: Model,
    number: u64,
}

impl StateReader {
    fn take(&mut self, step: Step) {
        match step {
            Step::Insert { from, ahead, extra, units } => {
                let account = self.model.account(&address(from));
                let nonce = Nonce::new(account.nonce.get() + ahead);
                let transaction = tx(from, nonce.get(), extra).transaction().as_ref().clone();
                let new = unchecked(
                    UnsignedTransaction { amount: Qa::new(units * UNIT), ..transaction.into_unsigned() },
                    SHARD,
                );
                let got = self.pool.insert(new.clone(), &account, arrival(self.number, 1));
                let got = got.map_err(|error| match error {
                    PoolError::Known { .. } => "known",
                    PoolError::Outbid { .. } => "outbid",
                    PoolError::SenderFull { .. } => "sender full",
                    PoolError::SenderGapped { .. } => "sender gapped",
                    PoolError::Full { .. } => "full",
                });
                assert_eq!(got, self.model.insert(&new, self.number));
            }
            Step::Block { from, most, to } => {
                let mut included = self.model.executable(&address(from));
                included.truncate(most);
                let mut account = self.model.account(&address(from));
                let mut other = self.model.account(&address(to));
                for tx in &included {
                    account.nonce = tx.transaction().nonce;
                    account.balance = account.balance.checked_sub(tx.cost()).unwrap();
                    other.balance = other.balance.checked_add(tx.transaction().amount).unwrap();
                }
                let mut accounts = vec![(address(from), account)];
                if from != to {
                    accounts.push((address(to), other));
                }
                self.settle(&included, &[], &accounts);
            }
            Step::Foreign { from } => {
                let account = self.model.account(&address(from));
                let transaction = tx(from, account.nonce.get() + 1, 77);
                let accounts = [(address(from), Account { nonce: transaction.transaction().nonce, ..account })];
                self.settle(&[transaction], &[], &accounts);
            }
            Step::Fail { from } => {
                let Some(first) = self.model.executable(&address(from)).first().cloned() else { return };
                self.settle(&[], &[first], &[]);
            }
            Step::Edit { from, ahead, units } => {
                let account = self.model.account(&address(from));
                let nonce = Nonce::new(account.nonce.get() + ahead);
                let account = Account { nonce, balance: Qa::new(units * UNIT), ..account };
                self.settle(&[], &[], &[(address(from), account)]);
            }
            Step::Withdraw { which } => {
                let Some((tx, _)) = self.model.pending.get(which).cloned() else { return };
                assert!(self.pool.withdraw(&tx.hash(), block(self.number), time(1)));
                self.model.pending.remove(which);
            }
            Step::Pass { blocks } => {
                let numbers = block(self.number + 1)..=block(self.number + blocks);
                self.pool.note_empty(numbers, time(1));
                self.number += blocks;
                self.expire();
            }
            Step::Save | Step::Revert => unreachable!("a save point is of the whole world"),
        }
        self.model.check(&self.pool);
    }

    fn settle(
        &mut self,
        included: &[VerifiedTransaction],
        dropped: &[VerifiedTransaction],
        accounts: &[(Address, Account)],
    ) {
        self.number += 1;
        let (block, at) = (block(self.number), time(self.number));
        let receipt = Receipt::payment(Gas::new(50), block);
        let with_receipts: Vec<_> = included.iter().map(|tx| (tx.clone(), receipt.clone())).collect();
        let failed: Vec<_> = dropped.iter().map(|tx| (tx.clone(), DropReason::InsufficientBalance)).collect();
        let settlement = Settlement { block, at, included: &with_receipts, dropped: &failed, postponed: &[], accounts };
        self.pool.settle(&settlement);
        let before = self.model.pending.clone();
        for (address, account) in accounts {
            self.model.accounts.insert(*address, *account);
            self.model.pending.retain(|(tx, _)| tx.sender() != *address || tx.transaction().nonce > account.nonce);
        }
        for (tx, _) in before.iter().filter(|(tx, _)| self.model.pending.iter().all(|(held, _)| held != tx)) {
            let expected = if included.contains(tx) { None } else { Some(27) };
            assert_eq!(status(&self.pool, tx), expected);
        }
        self.model.pending.retain(|(tx, _)| !dropped.contains(tx));
        self.expire();
    }

    fn expire(&mut self) {
        let Self { pool, model, number } = self;
        model.pending.retain(|(_, inserted)| pool.epochs.after(block(*inserted), 3) > block(*number));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Runs random insertions, replacements, blocks, failures, edits, withdrawals and reverts. After each step the pool
    /// and the model have the same transactions in the same classes.
    #[test]
    fn classes_and_evictions_are_those_of_a_plain_model(steps in proptest::collection::vec(step(), 1..120)) {
        let mut model = Model::default();
        for (from, units) in (1..=4).zip([2, 5, 9, 40]) {
            model.accounts.insert(address(from), Account { nonce: Nonce::new(3), balance: Qa::new(units * UNIT + 9), ..RICH });
        }
        let mut world = StateReader { pool: Pool::new(TIGHT, Epochs::new(10).unwrap()), model, number: 1 };
        let mut saved = world.clone();
        for step in steps {
            if let Step::Save = step {
                saved = world.clone();
            } else if let Step::Revert = step {
                world = saved.clone();
            } else {
                world.take(step);
            }
        }
    }
}
