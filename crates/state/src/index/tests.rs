//! The index under random operations, compared with a list of all entries.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use silica_protocol::{Address, BlockHash, BlockNumber, Qa, sha256};

use super::{
    entry::{Key, Subject, Value, kind},
    *,
};
use crate::db::Disk;

/// Number of different addresses.
const ADDRESSES: u64 = 5;
/// Minimum number of entries of a page.
const MANY: u32 = 200;

#[derive(Clone, Debug)]
enum Operation {
    /// Adds a block with this number of transactions.
    Add(u32),
    /// Adds blocks without transactions.
    Pass(u64),
    Store,
    Maintain(usize),
    /// Removes this number of newest blocks.
    Revert(u64),
    /// Opens the index again. The disk keeps this number of writes since the last flush.
    Crash(usize),
    /// Lets the disk fail after this number of writes, until the next crash.
    Fail(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => prop_oneof![0..40_u32, 900..1200_u32].prop_map(Operation::Add),
        1 => (1..500_u64).prop_map(Operation::Pass),
        3 => Just(Operation::Store),
        4 => prop_oneof![1..50_usize, Just(100_000)].prop_map(Operation::Maintain),
        1 => (1..4_u64).prop_map(Operation::Revert),
        1 => (0..20_usize).prop_map(Operation::Crash),
        1 => (0..30_u64).prop_map(Operation::Fail),
    ]
}

fn address(number: u64) -> Address {
    let hash = sha256(&[&number.to_be_bytes()]);
    Address::new(*hash.first_chunk().unwrap())
}

/// The chain of a test: the number of transactions of each block, and a number that each revert changes.
#[derive(Clone, Debug, Default)]
struct Chain {
    blocks: Vec<(u32, u32)>,
    reverts: u32,
}

impl Chain {
    fn hash(&self, number: BlockNumber) -> Option<BlockHash> {
        let (transactions, revert) = self.blocks.get(number.get() as usize)?;
        Some(BlockHash::new(sha256(&[&number.get().to_be_bytes(), &transactions.to_be_bytes(), &revert.to_be_bytes()])))
    }

    /// Returns the entries of a block. The address of a transaction, and the change of its balance, depend on the hash
    /// of its block. A change can be negative.
    fn entries(&self, block: u64) -> BTreeMap<Key, Value> {
        let hash = self.hash(BlockNumber::new(block)).unwrap();
        let entries = |position: u32| {
            let byte = hash.as_bytes()[(position % 32) as usize];
            let (address, sign) = (address(u64::from(byte) % ADDRESSES), byte / 128);
            let place = IndexPosition { block: BlockNumber::new(block), position };
            let change = match position % 5 {
                0 => 0,
                amount => u128::from(byte) << (amount * 20),
            };
            let mut entries = IndexEntries::default();
            // A change without a role has another subject.
            if !position.is_multiple_of(7) {
                entries.add_kind(IndexKey::Address(&address).subject(), place, kind::ROLE);
            }
            if position.is_multiple_of(3) {
                entries.add_kind(IndexKey::EventsOf(&address).subject(), place, kind::EVENT_OF);
            }
            entries.add_change(&address, place, if sign == 0 { change } else { change.wrapping_neg() });
            entries.0
        };
        (0..self.blocks[block as usize].0).flat_map(entries).collect()
    }

    /// Returns the balance of an address after a block, from the entries of all blocks.
    fn balance(&self, address: &Address, block: u64) -> u128 {
        let entries = (0..=block).flat_map(|block| self.entries(block));
        let of_address = entries.filter(|(key, _)| Subject::of_balance(address).contains(&key.subject));
        of_address.fold(0, |sum, (_, value)| sum.wrapping_add(value.change))
    }

    /// Adds all blocks that the index does not have.
    fn feed(&self, index: &HistoryIndex) {
        while let Some(first) = index.next_block()
            && self.hash(first).is_some()
        {
            index.add(index.reverts(), self.block_entries(first));
        }
    }

    /// Returns the entries of a block, with its hash.
    fn block_entries(&self, block: BlockNumber) -> BlockEntries {
        let entries = IndexEntries(self.entries(block.get()));
        BlockEntries { first: block, last: block, hash: self.hash(block).unwrap(), entries }
    }

    /// Returns the places of a query in the first `covered` blocks, from the entries of all blocks.
    fn expected(&self, query: IndexKey<'_>, covered: u64) -> Vec<IndexPosition> {
        let entries = (0..covered).flat_map(|block| self.entries(block));
        let wanted = entries.filter(|(key, value)| key.subject == query.subject() && value.kinds & query.kind() != 0);
        wanted.map(|(key, _)| IndexPosition::of_place(key.place)).collect()
    }
}

fn open(disk: &Disk, chain: &Chain) -> HistoryIndex {
    let index = HistoryIndex::new(IndexKinds::ALL, Files::Disk(disk.clone()));
    index.open(|number| Ok(chain.hash(number))).unwrap();
    index
}

fn place(block: u64, position: u32) -> IndexPosition {
    IndexPosition { block: BlockNumber::new(block), position }
}

/// Compares the queries of all addresses with the model.
fn check(index: &Arc<HistoryIndex>, chain: &Chain) {
    check_addresses(index, chain, 0..ADDRESSES);
}

fn check_addresses(index: &Arc<HistoryIndex>, chain: &Chain, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let address = address(number);
        let mut view = IndexView::new(index);
        let covered = view.covered_balances();
        for block in [0, covered / 2, covered.saturating_sub(2), covered.saturating_sub(1)] {
            let expected = (block < covered).then(|| Qa::new(chain.balance(&address, block)));
            assert_eq!(view.balance(&address, BlockNumber::new(block)), Ok(expected), "{address} {block} {covered}");
        }
        assert_eq!(view.balance(&address, BlockNumber::new(covered)), Ok(None));
        for query in [IndexKey::Address(&address), IndexKey::EventsOf(&address)] {
            let mut view = IndexView::new(index);
            let covered = view.covered(query);
            let expected = chain.expected(query, covered);
            let mut all = (place(0, 0), place(u64::MAX, u32::MAX));
            let found = view.find(query, all.0, all.1, IndexOrder::OldestFirst, usize::MAX).unwrap();
            assert_eq!(found, expected);
            for (order, mut expected) in
                [(IndexOrder::OldestFirst, expected.clone()), (IndexOrder::NewestFirst, expected)]
            {
                if order == IndexOrder::NewestFirst {
                    expected.reverse();
                }
                // A client reads pages of at most seven places. Each page begins after the last place of the previous
                // page.
                let mut pages = Vec::new();
                loop {
                    let page = view.find(query, all.0, all.1, order, 7).unwrap();
                    let Some(last) = page.last().copied() else { break };
                    pages.extend(page);
                    match order {
                        IndexOrder::OldestFirst => all.0 = IndexPosition::of_place(last.place() + 1),
                        IndexOrder::NewestFirst if last.place() == 0 => break,
                        IndexOrder::NewestFirst => all.1 = IndexPosition::of_place(last.place() - 1),
                    }
                    if pages.len() > 70 {
                        expected.truncate(pages.len());
                        break;
                    }
                }
                assert_eq!(pages, expected);
                all = (place(0, 0), place(u64::MAX, u32::MAX));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The index has exactly the entries of the blocks that it covers, whatever happens between the operations.
    #[test]
    fn index_agrees_with_the_model(operations in vec(operation(), 1..40)) {
        let (disk, mut chain) = (Disk::default(), Chain::default());
        let (mut index, mut is_failing) = (Arc::new(open(&disk, &chain)), false);
        for (turn, operation) in (0..).zip(operations) {
            // The test compares only one address at each operation, because a comparison takes far longer than an
            // operation.
            let address = turn % ADDRESSES..turn % ADDRESSES + 1;
            match operation {
                Operation::Add(transactions) => chain.blocks.push((transactions, chain.reverts)),
                Operation::Pass(blocks) => {
                    let first = BlockNumber::new(chain.blocks.len() as u64);
                    let empty = (0, chain.reverts);
                    chain.blocks.extend(std::iter::repeat_n(empty, blocks as usize));
                    let last = BlockNumber::new(chain.blocks.len() as u64 - 1);
                    if index.next_block() == Some(first) {
                        let hash = chain.hash(last).unwrap();
                        index.add(index.reverts(), BlockEntries { first, last, hash, entries: IndexEntries::default() });
                    }
                }
                Operation::Store => {
                    if let Err(error) = index.store() {
                        index.note_failure(&error);
                    }
                }
                Operation::Maintain(budget) => {
                    if let Err(error) = index.maintain(budget) {
                        index.note_failure(&error);
                    }
                }
                Operation::Revert(blocks) => {
                    let kept = (chain.blocks.len() as u64).saturating_sub(blocks);
                    index.begin_revert(kept);
                    prop_assert!(IndexView::new(&index).covered(IndexKey::Events) <= kept);
                    chain.reverts += 1;
                    chain.blocks.truncate(kept as usize);
                    check_addresses(&index, &chain, address.clone());
                    if let Err(error) = index.finish_revert(index.reverts(), |number| Ok(chain.hash(number))) {
                        index.note_failure(&error);
                    }
                }
                Operation::Crash(kept) => {
                    drop(index);
                    disk.crash(kept);
                    is_failing = false;
                    index = Arc::new(open(&disk, &chain));
                }
                // A disk that works again without a crash would keep writes that the index does not know.
                Operation::Fail(writes) if !is_failing => {
                    disk.fail_after(writes);
                    is_failing = true;
                }
                Operation::Fail(_) => {}
            }
            let reopened = index.open(|number| Ok(chain.hash(number)));
            if reopened.is_ok() && index.finish_revert(index.reverts(), |number| Ok(chain.hash(number))).is_ok() {
                chain.feed(&index);
            }
            check_addresses(&index, &chain, address.clone());
        }
        disk.crash(usize::MAX);
        let index = Arc::new(open(&disk, &chain));
        chain.feed(&index);
        prop_assert_eq!(index.progress().blocks, chain.blocks.len() as u64);
        index.store().unwrap();
        while index.maintain(1000).unwrap() {}
        check(&index, &chain);
        let state = index.state();
        prop_assert!(state.recent.read().is_empty());
        let sizes = state.runs.iter().map(|run| run.entries);
        prop_assert_eq!(crate::merge_policy::to_merge(1, sizes), None);
    }
}

/// Returns an index with two runs and entries in the memtable.
fn sample(disk: &Disk) -> (Arc<HistoryIndex>, Chain) {
    let mut chain = Chain::default();
    let index = Arc::new(open(disk, &chain));
    for transactions in [MANY * 20, 900] {
        chain.blocks.push((transactions, 0));
        chain.feed(&index);
        index.store().unwrap();
    }
    chain.blocks.push((50, 0));
    chain.feed(&index);
    (index, chain)
}

#[test]
fn damage_of_any_page_is_noticed() {
    let count = {
        let disk = Disk::default();
        sample(&disk);
        disk.crash(usize::MAX);
        disk.keys().len()
    };
    assert!(count > 7);
    for damaged in 0..count {
        for remove in [false, true] {
            let disk = Disk::default();
            let (index, chain) = sample(&disk);
            drop(index);
            disk.crash(usize::MAX);
            let key = disk.keys()[damaged].clone();
            disk.damage(&key, |value| {
                let mut value = value?;
                let middle = value.len() / 2;
                value[middle] ^= 1;
                (!remove).then_some(value)
            });
            let index = Arc::new(open(&disk, &chain));
            let mut view = IndexView::new(&index);
            let covered = view.covered(IndexKey::Events);
            let mut lost = covered == 0;
            let addresses: Vec<Address> = (0..ADDRESSES).map(address).collect();
            for query in addresses.iter().flat_map(|address| [IndexKey::Address(address), IndexKey::EventsOf(address)])
            {
                let found = view.find(query, place(0, 0), place(u64::MAX, 0), IndexOrder::NewestFirst, usize::MAX);
                match found {
                    Ok(mut found) => {
                        found.reverse();
                        assert!(lost || found == chain.expected(query, covered), "{damaged} {remove}");
                    }
                    Err(IndexLost) => lost = true,
                }
            }
            if !lost {
                // A query for a balance reads two pages at most, so the check notices the pages between them.
                let hash_of = |number| Ok(chain.hash(number));
                let checked = index
                    .check(BlockNumber::new(0), hash_of, &mut |_, first, _, _| Ok(Some(chain.block_entries(first))));
                assert!(checked.is_err(), "{damaged} {remove}: no query and no check noticed the damage");
                continue;
            }
            // The damage removed the index. It is made again.
            index.open(|number| Ok(chain.hash(number))).unwrap();
            chain.feed(&index);
            check(&index, &chain);
            assert_eq!(index.progress().blocks, 3);
        }
    }
}

#[test]
fn view_survives_merges_and_notices_reverts() {
    let disk = Disk::default();
    let (index, mut chain) = sample(&disk);
    let address = address(1);
    let query = IndexKey::Address(&address);
    let mut view = IndexView::new(&index);
    let expected = chain.expected(query, 3);
    for _ in 0..3 {
        chain.blocks.push((3000, 0));
        chain.feed(&index);
        index.store().unwrap();
        while index.maintain(100).unwrap() {}
        let found = view.find(query, place(0, 0), place(u64::MAX, 0), IndexOrder::OldestFirst, usize::MAX).unwrap();
        assert_eq!(found[..expected.len()], expected);
    }
    index.begin_revert(2);
    chain.blocks.truncate(2);
    index.finish_revert(index.reverts(), |number| Ok(chain.hash(number))).unwrap();
    while index.maintain(100).unwrap() {}
    let found = view.find(query, place(0, 0), place(u64::MAX, 0), IndexOrder::OldestFirst, usize::MAX);
    assert_eq!(found, Err(IndexLost));
    check(&index, &chain);
}

/// Returns the mean bytes of pages for one block, after 40,000 blocks with one payment each. The payments have 64
/// senders. `recipient` returns the number of the recipient of a payment.
#[expect(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "the test measures a size")]
fn bytes_of_a_payment(recipient: impl Fn(u64) -> u64) -> f64 {
    const PAYMENTS: u64 = 40_000;
    let disk = Disk::default();
    let index = open(&disk, &Chain::default());
    for block in 0..PAYMENTS {
        let (first, mut entries) = (BlockNumber::new(block), IndexEntries::default());
        let place = IndexPosition { block: first, position: 0 };
        for (account, change) in
            [(block % 64, 1_100_000_000_000_u128.wrapping_neg()), (recipient(block), 10_u128.pow(12))]
        {
            entries.add_kind(IndexKey::Address(&address(account)).subject(), place, kind::ROLE);
            entries.add_change(&address(account), place, change);
        }
        let hash = BlockHash::new(sha256(&[b"block", &block.to_be_bytes()]));
        entries.add_block(first, &hash);
        index.add(index.reverts(), BlockEntries { first, last: first, hash, entries });
        index.maintain(1_000).unwrap();
    }
    index.store().unwrap();
    while index.maintain(1_000).unwrap() {}
    let db = index.state().db.clone().unwrap();
    let bytes = db.scan(vec![1]..vec![2]).map(|page| page.map(|(key, value)| key.len() + value.len()).unwrap());
    bytes.sum::<usize>() as f64 / PAYMENTS as f64
}

#[test]
fn payment_with_its_block_takes_few_bytes() {
    let (known, new) = (bytes_of_a_payment(|block| block % 100), bytes_of_a_payment(|block| 1_000 + block));
    println!("{known:.1} bytes to a known account, {new:.1} bytes to a new account");
    assert!((30.0..48.0).contains(&known), "{known}");
    assert!((40.0..66.0).contains(&new), "{new}");
}

#[test]
fn check_notices_other_entries_and_other_sums() {
    let disk = Disk::default();
    let (index, chain) = sample(&disk);
    let entries = |kinds: IndexKinds, first: BlockNumber, _, _: &SumBefore<'_>| {
        assert_eq!(kinds, IndexKinds::ALL);
        Ok(Some(chain.block_entries(first)))
    };
    let hash_of = |number| Ok(chain.hash(number));
    let stored: usize = (0..2).map(|block| chain.entries(block).len()).sum();
    assert_eq!(index.check(BlockNumber::new(0), hash_of, &mut { entries }).unwrap(), stored as u64);
    let mut other = chain.clone();
    other.blocks[1].0 -= 1;
    let error = index.check(BlockNumber::new(0), hash_of, &mut |_, first, _, _| {
        let entries = IndexEntries(other.entries(first.get()));
        Ok(Some(BlockEntries { first, last: first, hash: chain.hash(first).unwrap(), entries }))
    });
    assert!(error.unwrap_err().to_string().contains("that differ from them"));
    // A check from a later block does not compare the entries of earlier blocks.
    for (changed, first, agrees) in [(0, 0, false), (0, 1, true), (1, 0, false), (1, 1, false)] {
        let mut other = chain.clone();
        other.blocks[changed].0 -= 1;
        let checked = index.check(BlockNumber::new(first), hash_of, &mut |_, first, _, _| {
            let entries = IndexEntries(other.entries(first.get()));
            Ok(Some(BlockEntries { first, last: first, hash: chain.hash(first).unwrap(), entries }))
        });
        assert_eq!(
            checked.is_ok_and(|entries| entries == stored as u64),
            agrees,
            "block {changed}, from block {first}"
        );
    }
    // The test writes a page with a right checksum and a wrong carry.
    let run = index.state().runs[0];
    let db = index.state().db.clone().unwrap();
    let second = run.page_at(&db, run.first).unwrap().next.unwrap();
    let key = page::page_key(run.id, second);
    let payload = crate::codec::unseal(&key, &db.get(&key).unwrap().unwrap()).unwrap().to_vec();
    let (header, rest) = payload.split_at(1 + entry::KEY);
    let mut changed = crate::codec::Writer::new();
    changed.raw(header);
    changed.number(page::read(&key, &db.get(&key).unwrap().unwrap()).unwrap().carry.wrapping_add(1));
    let mut reader = crate::codec::Reader::new(rest);
    reader.number::<u128>("carry").unwrap();
    changed.raw(&rest[rest.len() - reader.len()..]);
    db.insert(&key, &crate::codec::seal(&key, changed.as_slice())).unwrap();
    let error = index.check(BlockNumber::new(0), hash_of, &mut { entries }).unwrap_err();
    assert!(error.to_string().contains("sum of the changes"), "{error}");
}

#[test]
fn index_of_an_earlier_format_starts_anew() {
    let disk = Disk::default();
    let (index, chain) = sample(&disk);
    drop(index);
    disk.crash(usize::MAX);
    assert_eq!(open(&disk, &chain).progress().blocks, 2);
    disk.damage(&[0], |value| {
        let value = value?;
        let mut payload = crate::codec::unseal(&[0], &value).unwrap().to_vec();
        payload[0] = 1;
        Some(crate::codec::seal(&[0], &payload))
    });
    let index = Arc::new(open(&disk, &chain));
    assert_eq!(index.progress().blocks, 0, "the manifest has the format 1");
    chain.feed(&index);
    index.store().unwrap();
    while index.maintain(100).unwrap() {}
    check(&index, &chain);
    drop(index);
    disk.crash(usize::MAX);
    let index = Arc::new(open(&disk, &chain));
    assert_eq!(index.progress().blocks, 3);
    check(&index, &chain);
}

#[test]
fn index_of_other_kinds_or_of_another_chain_starts_anew() {
    let disk = Disk::default();
    let (index, mut chain) = sample(&disk);
    drop(index);
    assert_eq!(open(&disk, &chain).progress().blocks, 2, "the memtable was not written");
    let events = IndexKinds { events: true, ..IndexKinds::default() };
    let other = HistoryIndex::new(events, Files::Disk(disk.clone()));
    other.open(|number| Ok(chain.hash(number))).unwrap();
    assert_eq!(other.progress(), IndexProgress { kinds: events, blocks: 0 });
    drop(other);
    chain.blocks[1].1 = 1;
    let index = open(&disk, &chain);
    assert_eq!(index.progress().blocks, 0);
    while index.maintain(100).unwrap() {}
    index.state().db.as_ref().unwrap().flush().unwrap();
    assert_eq!(disk.keys().len(), 1, "only the manifest remains of the old index");
}

#[test]
fn blocks_that_were_read_before_a_revert_are_not_added_after_it() {
    let disk = Disk::default();
    let (index, mut chain) = sample(&disk);
    chain.blocks.push((40, 0));
    let first = index.next_block().unwrap();
    let entries = IndexEntries(chain.entries(first.get()));
    let reverts = index.reverts();
    let read = BlockEntries { first, last: first, hash: chain.hash(first).unwrap(), entries };
    // The chain replaces the newest block, and is as long as before.
    chain.reverts = 1;
    chain.blocks[3] = (50, 1);
    index.begin_revert(3);
    index.finish_revert(reverts, |_| unreachable!("the record can be from before the revert")).unwrap();
    index.finish_revert(index.reverts(), |number| Ok(chain.hash(number))).unwrap();
    index.add(reverts, read);
    assert_eq!(index.progress().blocks, 3, "the entries are of a removed block");
    chain.feed(&index);
    check(&index, &chain);
}

#[test]
fn closing_keeps_the_limit_of_a_revert_in_progress() {
    let disk = Disk::default();
    let (index, mut chain) = sample(&disk);
    index.begin_revert(1);
    index.close();
    // The record still has the removed blocks.
    index.open(|number| Ok(chain.hash(number))).unwrap();
    assert_eq!(index.progress().blocks, 1);
    chain.blocks.truncate(1);
    index.finish_revert(index.reverts(), |number| Ok(chain.hash(number))).unwrap();
    check(&index, &chain);
}

#[test]
fn view_of_a_reverted_chain_does_not_take_entries_of_the_next_chain() {
    let disk = Disk::default();
    let (index, mut chain) = sample(&disk);
    let mut view = IndexView::new(&index);
    index.begin_revert(1);
    chain.blocks.truncate(1);
    index.finish_revert(index.reverts(), |number| Ok(chain.hash(number))).unwrap();
    chain.blocks.extend([(900, 1), (50, 1), (50, 1)]);
    chain.feed(&index);
    while index.maintain(1 << 20).unwrap() {}
    let address = address(1);
    let found = view.find(IndexKey::Address(&address), place(0, 0), place(9, 0), IndexOrder::NewestFirst, 7);
    assert_eq!(found, Err(IndexLost));
}

/// Opens an index again after damage to its pages: the pages whose numbers `is_damaged` selects are lost.
fn reopen_damaged(
    disk: &Disk,
    index: Arc<HistoryIndex>,
    chain: &Chain,
    is_damaged: impl Fn(usize) -> bool,
) -> Arc<HistoryIndex> {
    drop(index);
    disk.crash(usize::MAX);
    // The first key is the manifest.
    for (_, key) in disk.keys().iter().skip(1).enumerate().filter(|(number, _)| is_damaged(*number)) {
        disk.damage(key, |_| None);
    }
    Arc::new(open(disk, chain))
}

#[test]
fn failure_that_a_view_notices_late_does_not_close_the_next_database() {
    let disk = Disk::default();
    let (index, chain) = sample(&disk);
    let index = reopen_damaged(&disk, index, &chain, |_| true);
    let address = address(1);
    let (mut one, late) = (IndexView::new(&index), IndexView::new(&index));
    let found = one.find(IndexKey::Address(&address), place(0, 0), place(9, 0), IndexOrder::NewestFirst, 7);
    assert_eq!(found, Err(IndexLost));
    index.open(|number| Ok(chain.hash(number))).unwrap();
    chain.feed(&index);
    late.note_failure(&damaged("found before the index was made again"));
    assert_eq!(index.progress().blocks, 3);
    assert_eq!(index.failure().map(|failure| failure.count), Some(1));
}

#[test]
fn query_for_events_reads_no_page_of_other_transactions_of_the_address() {
    let disk = Disk::default();
    let chain = Chain { blocks: vec![(100 * MANY, 0)], reverts: 0 };
    let index = Arc::new(open(&disk, &chain));
    let address = address(1);
    let mut entries = IndexEntries::default();
    for position in 0..chain.blocks[0].0 {
        entries.add_kind(IndexKey::Address(&address).subject(), place(0, position), kind::ROLE);
    }
    entries.add_kind(IndexKey::EventsOf(&address).subject(), place(0, 0), kind::EVENT_OF);
    let first = BlockNumber::new(0);
    index.add(index.reverts(), BlockEntries { first, last: first, hash: chain.hash(first).unwrap(), entries });
    index.store().unwrap();
    // The pages in the middle have only other transactions.
    let index = reopen_damaged(&disk, index, &chain, |number| (1..4).contains(&number));
    let mut view = IndexView::new(&index);
    for order in [IndexOrder::NewestFirst, IndexOrder::OldestFirst] {
        let found = view.find(IndexKey::EventsOf(&address), place(0, 0), place(0, u32::MAX), order, 7);
        assert_eq!(found, Ok(vec![place(0, 0)]));
    }
}
