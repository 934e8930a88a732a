//! The index under random operations, compared with a list of all entries.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use silica_protocol::{Address, BlockHash, BlockNumber, sha256};

use super::{
    blocks::BlockEntries,
    entry::{Key, kind},
    page::CAPACITY,
    *,
};
use crate::db::Disk;

/// Number of different addresses.
const ADDRESSES: u64 = 5;

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

    /// Returns the entries of a block. The address of a transaction depends on the hash of its block.
    fn entries(&self, block: u64) -> BTreeMap<Key, u8> {
        let hash = self.hash(BlockNumber::new(block)).unwrap();
        let entry = |position: u32| {
            let number = u64::from(hash.as_bytes()[(position % 32) as usize]) % ADDRESSES;
            let place = IndexPosition { block: BlockNumber::new(block), position }.place();
            let kinds = if position.is_multiple_of(3) { kind::ROLE | kind::EVENT_OF } else { kind::ROLE };
            (Key { prefix: IndexKey::Address(&address(number)).prefix(), place }, kinds)
        };
        (0..self.blocks[block as usize].0).map(entry).collect()
    }

    /// Adds all blocks that the index does not have.
    fn feed(&self, index: &HistoryIndex) {
        while let Some(first) = index.next_block()
            && let Some(hash) = self.hash(first)
        {
            let entries = self.entries(first.get());
            index.add(BlockEntries { first, last: first, hash, entries });
        }
    }

    /// Returns the places of a query in the first `covered` blocks, from the entries of all blocks.
    fn expected(&self, query: IndexKey<'_>, covered: u64) -> Vec<IndexPosition> {
        let entries = (0..covered).flat_map(|block| self.entries(block));
        let wanted = entries.filter(|(key, kinds)| key.prefix == query.prefix() && kinds & query.kind() != 0);
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
                // Pages of seven, as a client reads them; each page begins after the last place of the previous one.
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
        let mut index = Arc::new(open(&disk, &chain));
        for (turn, operation) in (0..).zip(operations) {
            // One address at each turn, because a comparison takes far longer than an operation.
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
                        index.add(BlockEntries { first, last, hash, entries: BTreeMap::new() });
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
                    if let Err(error) = index.finish_revert(|number| Ok(chain.hash(number))) {
                        index.note_failure(&error);
                    }
                }
                Operation::Crash(kept) => {
                    drop(index);
                    disk.crash(kept);
                    index = Arc::new(open(&disk, &chain));
                }
                Operation::Fail(writes) => disk.fail_after(writes),
            }
            let reopened = index.open(|number| Ok(chain.hash(number)));
            if reopened.is_ok() && index.finish_revert(|number| Ok(chain.hash(number))).is_ok() {
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
        prop_assert_eq!(crate::merge_policy::to_merge(sizes), None);
    }
}

/// Returns an index with two runs and entries in the memtable.
fn sample(disk: &Disk) -> (Arc<HistoryIndex>, Chain) {
    let mut chain = Chain::default();
    let index = Arc::new(open(disk, &chain));
    for transactions in [CAPACITY as u32 * 4, 900] {
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
            for number in 0..ADDRESSES {
                let address = address(number);
                let query = IndexKey::Address(&address);
                let found = view.find(query, place(0, 0), place(u64::MAX, 0), IndexOrder::NewestFirst, usize::MAX);
                match found {
                    Ok(mut found) => {
                        found.reverse();
                        assert!(lost || found == chain.expected(query, covered), "{damaged} {remove}");
                    }
                    Err(IndexLost) => lost = true,
                }
            }
            assert!(lost, "{damaged} {remove}: no query noticed the damage");
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
    index.finish_revert(|number| Ok(chain.hash(number))).unwrap();
    while index.maintain(100).unwrap() {}
    let found = view.find(query, place(0, 0), place(u64::MAX, 0), IndexOrder::OldestFirst, usize::MAX);
    assert_eq!(found, Err(IndexLost));
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
