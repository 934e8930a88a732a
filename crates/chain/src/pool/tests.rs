//! The pool by its rules, and against a literal model of the reference's selection.

use std::{cmp::Ordering, collections::BTreeMap};

use proptest::prelude::*;
use silica_protocol::{Gas, Nonce, Qa, Transaction};

use super::*;
use crate::{
    admission::Routing,
    testing::{PRICE, address, payment, signed, unchecked},
};

const SHARD: ShardId = ShardId::new(0);
const DS: ShardId = ShardId::new(1);
const LIMITS: PoolLimits = PoolLimits { transactions: 100, per_sender: 10, lifetime_ds_epochs: 3, memory_ds_epochs: 2 };

fn pool() -> Pool {
    Pool::new(LIMITS, Epochs::new(10).unwrap())
}

fn block(number: u64) -> BlockNumber {
    BlockNumber::new(number)
}

fn time(micros: u64) -> Timestamp {
    Timestamp::new(micros)
}

/// A payment with a nonce and a price above the lowest.
fn tx(from: u8, nonce: u64, extra: u128) -> VerifiedTransaction {
    let price = GasPrice::new(Qa::new(PRICE + extra));
    unchecked(Transaction { nonce: Nonce::new(nonce), gas_price: price, ..payment(from, address(99)) }, SHARD)
}

fn filled(transactions: &[VerifiedTransaction]) -> Pool {
    let mut pool = pool();
    for transaction in transactions {
        pool.insert(transaction.clone(), block(1), time(1)).unwrap();
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
    pool.settle(&Settlement { block, at, included: &included, dropped: &[], postponed: &[], edited: &[] });
}

/// Takes all transactions whose nonce is due, as a block of unlimited size would, and returns those that are not.
fn drain(pool: Pool, nonces: &mut BTreeMap<Address, u64>) -> (Vec<VerifiedTransaction>, Vec<VerifiedTransaction>) {
    let pool = Mutex::new(pool);
    let mut line = PoolLine::new(&pool, SHARD);
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
    let error = pool.insert(tx(1, 1, 0), block(1), time(1)).unwrap_err();
    assert_eq!(error, PoolError::Known { hash: tx(1, 1, 0).hash() });
    assert_eq!(error.to_string(), "Txn could not be added as database exceeded limit or the txn was already present");
}

#[test]
fn of_two_with_one_nonce_the_higher_price_stays() {
    let (low, high) = (tx(1, 1, 0), tx(1, 1, 1));
    let mut pool = filled(std::slice::from_ref(&low));
    pool.insert(high.clone(), block(2), time(2)).unwrap();
    assert_eq!((status(&pool, &low), status(&pool, &high)), (Some(24), Some(1)));
    assert_eq!(pool.len(), 1);

    let mut pool = filled(std::slice::from_ref(&high));
    let error = pool.insert(low.clone(), block(2), time(2)).unwrap_err();
    assert_eq!(error, PoolError::Outbid { by: high.hash() });
    assert_eq!(error.to_string(), "Error Code: 24");
    assert_eq!((status(&pool, &low), status(&pool, &high)), (Some(24), Some(1)));
}

#[test]
fn of_two_with_one_nonce_and_price_the_smaller_hash_stays() {
    let mut pair = [
        tx(1, 1, 0),
        unchecked(Transaction { amount: Qa::new(77), ..tx(1, 1, 0).transaction().as_ref().clone() }, SHARD),
    ];
    pair.sort_by_key(VerifiedTransaction::hash);
    let [small, large] = pair;
    let mut pool = filled(std::slice::from_ref(&large));
    pool.insert(small.clone(), block(1), time(1)).unwrap();
    assert_eq!(pool.insert(large.clone(), block(1), time(1)), Err(PoolError::Outbid { by: small.hash() }));
    assert_eq!((status(&pool, &small), status(&pool, &large)), (Some(1), Some(24)));
}

#[test]
fn one_nonce_is_one_nonce_for_both_committees() {
    let in_shard = tx(1, 1, 0);
    let mut pool = filled(std::slice::from_ref(&in_shard));
    let to_ds = unchecked(Transaction { amount: Qa::new(5), ..tx(1, 1, 9).transaction().as_ref().clone() }, DS);
    pool.insert(to_ds.clone(), block(1), time(1)).unwrap();
    assert_eq!(status(&pool, &in_shard), Some(24));
    assert!(pool.heads(SHARD, None, 9).is_empty());
    assert_eq!(pool.heads(DS, None, 9), [to_ds]);
}

#[test]
fn a_full_pool_takes_replacements_only() {
    let mut pool = pool();
    for number in 0..100 {
        let from = u8::try_from(number / 10 + 1).unwrap();
        pool.insert(tx(from, number % 10 + 1, 0), block(1), time(1)).unwrap();
    }
    assert_eq!(pool.insert(tx(50, 1, 0), block(1), time(1)), Err(PoolError::Full { limit: 100 }));
    pool.insert(tx(1, 1, 1), block(1), time(1)).unwrap();
    assert_eq!(pool.len(), 100);
}

#[test]
fn a_sender_has_a_limit_of_its_own() {
    let mut pool = pool();
    for nonce in 1..=10 {
        pool.insert(tx(1, nonce, 0), block(1), time(1)).unwrap();
    }
    let error = pool.insert(tx(1, 11, 0), block(1), time(1)).unwrap_err();
    assert_eq!(error, PoolError::SenderFull { sender: address(1), limit: 10 });
    pool.insert(tx(1, 3, 5), block(1), time(1)).unwrap();
    pool.insert(tx(2, 1, 0), block(1), time(1)).unwrap();
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
        edited: &[],
    });
    assert_eq!(status(&pool, &ahead), Some(4));
    assert!(!pool.has_candidates(), "a lane that begins with a gap is parked");
    let record = pool.record(&ahead.hash()).unwrap();
    assert_eq!((record.inserted, record.updated, record.modified), (block(1), block(2), time(9)));

    pool.insert(tx(1, 1, 0), block(2), time(9)).unwrap();
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
        edited: &[],
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
        Settlement { block, at, included: nothing.0, dropped: nothing.1, postponed: &postponed, edited: &[] };
    pool.settle(&settlement);
    assert!(!pool.has_candidates());
    pool.settle(&Settlement { postponed: &[], edited: &[ahead.sender(), Address::ZERO], ..settlement });
    assert_eq!(pool.heads(SHARD, None, 9), [ahead]);
}

/// Shards execute before the DS committee, so that a payment is looked at before a call with the nonce before it.
#[test]
fn a_nonce_that_another_lane_used_up_wakes_the_lane_that_waited_for_it() {
    let after = tx(1, 2, 0);
    let call = unchecked(tx(1, 1, 0).transaction().as_ref().clone(), DS);
    let mut pool = filled(&[after.clone(), call.clone()]);
    let (block, at) = (block(2), time(9));
    let postponed = [(after.clone(), Postponed::NonceHigh)];
    let receipt = Receipt::payment(Gas::new(50), block);
    pool.settle(&Settlement {
        block,
        at,
        included: &[(call, receipt)],
        dropped: &[],
        postponed: &postponed,
        edited: &[],
    });
    assert_eq!(pool.heads(SHARD, None, 9), [after]);
}

#[test]
fn what_a_block_made_stale_is_dropped() {
    let (stale, next) = (tx(1, 2, 0), tx(1, 3, 0));
    let mut pool = filled(&[stale.clone(), next.clone()]);
    settle(&mut pool, 3, &[tx(1, 2, 7)]);
    assert_eq!((status(&pool, &stale), status(&pool, &next)), (Some(27), Some(1)));
    assert_eq!(pool.heads(SHARD, None, 9), [next]);
}

#[test]
fn what_found_no_room_keeps_its_place_and_those_behind_it_wait() {
    let all = [tx(1, 1, 0), tx(1, 2, 0)];
    let mut pool = filled(&all);
    let postponed = [(all[0].clone(), Postponed::GasExceeded)];
    pool.settle(&Settlement {
        block: block(2),
        at: time(9),
        included: &[],
        dropped: &[],
        postponed: &postponed,
        edited: &[],
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
fn memory_of_dropped_transactions_is_bounded() {
    let mut pool = pool();
    for nonce in 1..=150 {
        let transaction = tx(1, nonce, 0);
        pool.insert(transaction.clone(), block(1), time(1)).unwrap();
        let dropped = [(transaction, DropReason::InsufficientBalance)];
        pool.settle(&Settlement {
            block: block(1),
            at: time(1),
            included: &[],
            dropped: &dropped,
            postponed: &[],
            edited: &[],
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
        edited: &[],
    });
    assert_eq!(status(&pool, &transaction), Some(21));
    pool.insert(transaction.clone(), block(3), time(3)).unwrap();
    assert_eq!(status(&pool, &transaction), Some(1));
    assert_eq!((pool.drops.len(), pool.dropped.len()), (0, 0));
}

#[test]
fn pending_lists_the_latest_changes_first() {
    let all = [tx(1, 1, 0), tx(2, 2, 0), tx(3, 1, 0)];
    let mut pool = filled(&all[..2]);
    pool.insert(all[2].clone(), block(4), time(4)).unwrap();
    let postponed = [(all[1].clone(), Postponed::NonceHigh)];
    pool.settle(&Settlement {
        block: block(5),
        at: time(5),
        included: &[],
        dropped: &[],
        postponed: &postponed,
        edited: &[],
    });
    let expected = [
        (all[1].hash(), TxStatus::NonceHigh),
        (all[2].hash(), TxStatus::Dispatched),
        (all[0].hash(), TxStatus::Dispatched),
    ];
    assert_eq!(pool.pending(9), expected);
    assert_eq!(pool.pending(1), expected[..1]);
}

#[test]
fn what_was_exported_is_imported() {
    let key = 1;
    let first = signed(key, tx(key, 1, 0).transaction().as_ref().clone());
    let second = signed(key, tx(key, 2, 9).transaction().as_ref().clone());
    let pool = {
        let mut pool = pool();
        pool.insert(unchecked(first.clone(), SHARD), block(7), time(1)).unwrap();
        pool.insert(unchecked(second.clone(), DS), block(8), time(1)).unwrap();
        pool
    };
    let bytes = export(&pool, usize::MAX);
    let imported: Vec<_> =
        import(&bytes).unwrap().into_iter().map(|entry| (entry.transaction, entry.inserted, entry.priority)).collect();
    assert_eq!(imported, [(first, block(7), false), (second, block(8), true)]);

    for position in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[position] ^= 1;
        assert!(import(&damaged).is_err(), "byte {position}");
        assert!(import(&bytes[..position]).is_err(), "length {position}");
    }
}

#[test]
fn faults_in_exported_bytes_are_named() {
    let check = |body: &[u8], expected: &str| {
        let mut bytes = b"silica-pool-1\n".to_vec();
        bytes.extend_from_slice(body);
        let checksum = silica_protocol::sha256(&[&bytes]);
        bytes.extend_from_slice(&checksum);
        assert_eq!(import(&bytes).unwrap_err().to_string(), expected);
    };
    check(&[0; 7], "pool contents: epoch of entry 0");
    check(&[0; 8], "pool contents: committee of entry 0");
    check(&[0; 12], "pool contents: length of entry 0");
    check(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1], "pool contents: length of entry 0");
    check(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff], "pool contents: transaction of entry 0");
    let error = import(b"something else").unwrap_err();
    assert_eq!(error.to_string(), "pool contents: expected the mark \"silica-pool-1\\n\" at the start");
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
            let mut transaction = tx(1, nonce, u128::from(from) * 7 % 13).transaction().as_ref().clone();
            // Senders that nobody has the key of, for more than one batch of them.
            transaction.sender_key = silica_protocol::PublicKey::new([from; 33]);
            pool.insert(unchecked(transaction, SHARD), block(1), time(1)).unwrap();
        }
    }
    let mut nonces = BTreeMap::new();
    let (executed, left) = drain(pool, &mut nonces);
    assert_eq!((executed.len(), left.len()), (256 * 5, 0));
    assert!(nonces.values().all(|nonce| *nonce == 5));
}

/// The selection of execution.md 3.5 as it is written there: transactions by price, and a map of those put aside.
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
            // What is used up was dropped when its block was committed.
            let nonce = nonce + starts[usize::from(from) - 1];
            let _ = pool.insert(tx(from, nonce, extra), block(1), time(1));
        }
        let waiting: Vec<_> = pool.by_arrival().map(|(tx, _)| tx.clone()).collect();
        let mut nonces: BTreeMap<Address, u64> =
            starts.iter().zip(1..).map(|(start, from)| (address(from), *start)).collect();
        let expected = reference_order(&waiting, nonces.clone());
        let (executed, _) = drain(pool, &mut nonces);
        prop_assert_eq!(executed.iter().map(VerifiedTransaction::hash).collect::<Vec<_>>(), expected);
    }

    /// Random insertions and blocks, with what the pool holds compared with a plain list after each.
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
                let taken = pool.insert(new.clone(), block(number), time(number)).is_ok();
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
    let large = unchecked(Transaction { gas_limit: Gas::new(400_000), ..transaction }, SHARD);
    assert_eq!(large.routing(), Routing::Payment);
    assert_eq!(filled(std::slice::from_ref(&large)).heads(SHARD, None, 1), [large]);
}
