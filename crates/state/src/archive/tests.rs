//! Compares the record with a model of the chain: complete, reopened, after a crash, and damaged.

use std::{collections::BTreeMap, ops::Range};

use proptest::{collection::vec, prelude::*};
use silica_protocol::{
    Account, Address, CoSignatures, CommitteeHash, DsBlockHeader, DsBlockNumber, Exception, Gas, GasPrice, MbInfo,
    MbInfoHash, MicroBlock, MicroBlockHeader, Nonce, PublicKey, Qa, Receipt, ReceiptError, ReceiptsHash, ShardId,
    Signature, StateDeltaHash, StateRoot, Timestamp, Transaction, TxBlock, TxBlockHeader, TxHash, TxRoot,
    UnsignedTransaction, Version, sha256,
};

use super::*;
use crate::{
    archive::{
        changes::{Files, Memory},
        pack::{Pack, SLOT, TABLE},
        range::StoredRange,
    },
    db::{DataFile, Disk},
    diff::StateDiff,
};

/// Returns bytes that look random, but depend only on `seed`.
fn noise<const N: usize>(seed: &[u64]) -> [u8; N] {
    let mut bytes = [0; N];
    for (position, chunk) in bytes.chunks_mut(32).enumerate() {
        let parts: Vec<_> = seed.iter().chain([&(position as u64)]).map(|number| number.to_be_bytes()).collect();
        let parts: Vec<_> = parts.iter().map(<[u8; 8]>::as_slice).collect();
        chunk.copy_from_slice(&sha256(&parts)[..chunk.len()]);
    }
    bytes
}

fn number(seed: &[u64]) -> u64 {
    u64::from_be_bytes(noise(seed))
}

fn key(seed: &[u64]) -> PublicKey {
    let mut key = noise::<33>(seed);
    key[0] = 2;
    PublicKey::new(key)
}

fn payment(seed: &[u64]) -> Transaction {
    sealed(seed, unsigned(seed))
}

fn sealed(seed: &[u64], unsigned: UnsignedTransaction) -> Transaction {
    unsigned.with_signature(Signature::new(noise(seed)))
}

fn unsigned(seed: &[u64]) -> UnsignedTransaction {
    UnsignedTransaction {
        version: Version::from_packed(222 << 16 | 1),
        nonce: Nonce::new(1 + number(seed) % 5000),
        to: Address::new(noise(seed)),
        amount: Qa::new(u128::from(number(seed) % 1_000_000) * 1_000_000_000),
        gas_price: GasPrice::new(Qa::new(2_000_000_000)),
        gas_limit: Gas::new(50),
        code: String::new(),
        data: String::new(),
        sender_key: key(seed),
    }
}

fn failure(epoch: BlockNumber) -> Receipt {
    Receipt {
        success: false,
        errors: BTreeMap::from([(0, vec![ReceiptError::CallContractFailed])]),
        exceptions: vec![Exception { line: 7, message: "no \"such\" \\ transition ".to_owned() }],
        ..Receipt::payment(Gas::new(1220), epoch)
    }
}

/// A chain without execution. Its blocks have only the links that the archive verifies.
#[derive(Default)]
struct Model {
    blocks: Vec<BlockRecord>,
    diffs: Vec<Vec<u8>>,
}

impl Model {
    fn with(counts: &[usize]) -> Self {
        let mut model = Self::default();
        for count in counts {
            model.grow(*count);
        }
        model
    }

    /// Adds a block with `count` transactions. Every seventh transaction is a failed call, and the others are payments.
    fn grow(&mut self, count: usize) {
        let block = self.blocks.len() as u64;
        let number = self.logical_number();
        let transactions = (0..count as u64).map(|position| {
            let mut transaction = unsigned(&[block, position]);
            if position % 7 != 6 {
                return (sealed(&[block, position], transaction), Receipt::payment(Gas::new(50), number));
            }
            transaction.data = r#"{"_tag":"Go","params":[]}"#.to_owned();
            transaction.sender_key = key(&[position % 3]);
            (sealed(&[block, position], transaction), failure(number))
        });
        self.push(transactions.collect(), vec![block as u8; 100 * block as usize % 7000]);
        // Some blocks without transactions have edits. The larger edits take several parts.
        if let (0, 1, Some(grown)) = (count, block % 2, self.blocks.last_mut()) {
            let accounts = (0..block * 70).map(|seed| (Address::new(noise(&[seed])), Account::default()));
            grown.edits.accounts = accounts.collect();
        }
    }

    /// Returns whether the block after `block` has the same logical number as `block`. The result is false for the
    /// first four blocks, so entries of every layout exist.
    const fn repeats_number(block: u64) -> bool {
        block >= 4 && !block.is_multiple_of(3)
    }

    /// Returns the block number that the transactions of the next block read.
    fn logical_number(&self) -> BlockNumber {
        let block = self.blocks.len() as u64;
        BlockNumber::new((0..block).filter(|before| !Self::repeats_number(*before)).count() as u64)
    }

    fn push(&mut self, transactions: Vec<(Transaction, Receipt)>, diff: Vec<u8>) {
        let number = self.blocks.len() as u64;
        let ds_number = DsBlockNumber::new(number.div_ceil(5));
        let ds_block = (number == 0 || number % 5 == 1).then(|| DsBlock {
            header: DsBlockHeader { number: ds_number, ..DsBlockHeader::genesis(key(&[9])) },
            cosignatures: CoSignatures::unsigned(1),
            timestamp: Timestamp::new(number),
        });
        let split = transactions.len() / 3;
        let micro_block = |shard: u32, range: Range<usize>| {
            let hashes: Vec<_> =
                transactions[range.clone()].iter().map(|(transaction, _)| transaction.hash()).collect();
            let texts: Vec<_> = transactions[range].iter().map(|(_, receipt)| receipt.to_styled_json()).collect();
            let header = MicroBlockHeader {
                version: 1,
                committee_hash: CommitteeHash::ZERO,
                prev_hash: BlockHash::ZERO,
                shard: ShardId::new(shard),
                gas_limit: Gas::new(1000),
                gas_used: Gas::new(hashes.len() as u64),
                rewards: Qa::ZERO,
                epoch: BlockNumber::new(number),
                tx_root: TxRoot::of(&hashes),
                tx_count: hashes.len() as u32,
                miner: key(&[9]),
                ds_block: ds_number,
                state_delta_hash: StateDeltaHash::ZERO,
                receipts_hash: ReceiptsHash::of(&texts),
            };
            let cosignatures = CoSignatures::unsigned(1);
            MicroBlock { header, tx_hashes: hashes, cosignatures, timestamp: Timestamp::new(number) }
        };
        let micro_blocks = vec![micro_block(0, 0..split), micro_block(1, split..transactions.len())];
        let info = |block: &MicroBlock| MbInfo {
            hash: block.header.hash(),
            tx_root: block.header.tx_root,
            shard: block.header.shard,
        };
        let infos: Vec<_> = micro_blocks.iter().map(info).collect();
        let header = TxBlockHeader {
            number: BlockNumber::new(number),
            prev_hash: self.blocks.last().map_or(BlockHash::ZERO, |before| before.tx_block.header.hash()),
            state_root: StateRoot::new(noise(&[number])),
            mb_info_hash: MbInfoHash::of(&infos),
            tx_count: transactions.len() as u32,
            ds_block: ds_number,
            ..TxBlockHeader::genesis(key(&[9]))
        };
        let cosignatures = CoSignatures::unsigned(1);
        let tx_block = TxBlock { header, micro_blocks: infos, cosignatures, timestamp: Timestamp::new(number) };
        self.blocks.push(BlockRecord {
            tx_block,
            micro_blocks,
            ds_block,
            transactions,
            edits: StateDiff::default(),
            repeats_number: Self::repeats_number(number),
        });
        self.diffs.push(diff);
    }

    fn hashes(&self, block: usize) -> Vec<TxHash> {
        self.blocks[block].transactions.iter().map(|(transaction, _)| transaction.hash()).collect()
    }

    /// Returns totals and DS block number up to a block, summed from block 0.
    fn totals(&self, block: usize) -> (Totals, DsBlockNumber) {
        let epoch = self.blocks[block].tx_block.header.ds_block;
        let upto = &self.blocks[..=block];
        let of_epoch = upto.iter().filter(|record| record.tx_block.header.ds_block == epoch);
        let of_epoch: Vec<_> = of_epoch.flat_map(|record| &record.transactions).collect();
        let fee = |(transaction, receipt): &&(Transaction, Receipt)| {
            u128::from(receipt.cumulative_gas.get()) * transaction.gas_price.get().get()
        };
        let totals = Totals {
            transactions: upto.iter().map(|record| record.transactions.len() as u64).sum(),
            ds_epoch_transactions: of_epoch.len() as u64,
            ds_epoch_fees: Qa::new(of_epoch.iter().map(fee).sum()),
            repeats: upto.iter().filter(|record| record.repeats_number).count() as u64,
        };
        let ds_blocks = upto.iter().filter(|record| record.ds_block.is_some()).count();
        (totals, DsBlockNumber::new(ds_blocks as u64 - 1))
    }
}

#[derive(Clone, Default)]
struct Disks {
    chain: Disk,
    changes: Memory,
    index: Disk,
}

impl Disks {
    /// Returns the disks with the record and the index of a model.
    fn indexed(model: &Model) -> Self {
        let disks = Self::default();
        let archive = disks.open().unwrap();
        append_from(&archive, model, 0);
        archive.store_index().unwrap();
        disks
    }

    fn open(&self) -> Result<Arc<Archive>, OpenArchiveError> {
        self.open_with(None)
    }

    fn open_with(&self, head_marker: Option<&Path>) -> Result<Arc<Archive>, OpenArchiveError> {
        let changes = Files::Memory(self.changes.clone());
        open(Db::on_disk(&self.chain), Db::on_disk(&self.index), changes, head_marker)
    }
}

fn open(chain: Db, index: Db, changes: Files, head_marker: Option<&Path>) -> Result<Arc<Archive>, OpenArchiveError> {
    Archive::open(chain, index, changes, head_marker, &mut |_, _| {}).map(Arc::new)
}

fn append_from(archive: &Archive, model: &Model, first: usize) {
    for (record, diff) in model.blocks.iter().zip(&model.diffs).skip(first) {
        archive.append(record, diff).unwrap();
    }
}

fn block(number: usize) -> BlockNumber {
    BlockNumber::new(number as u64)
}

/// Compares all queries with the first `blocks` blocks of the model, which the view must show. With `whole`, every
/// result must be right. Otherwise a result can also be the error that data are damaged.
fn check_view(view: &ArchiveView, model: &Model, blocks: usize, whole: bool) {
    #[expect(clippy::needless_pass_by_value, reason = "the answers that are expected are made for this")]
    fn same<T: PartialEq + std::fmt::Debug>(got: Result<T, ArchiveError>, expected: T, whole: bool) {
        match got {
            Ok(got) => assert_eq!(got, expected),
            Err(error) => assert!(error.is_damage() && !whole, "{error}"),
        }
    }
    assert_eq!(view.head().map(|head| head.number), blocks.checked_sub(1).map(block));
    for (at, record) in model.blocks.iter().enumerate() {
        let visible = at < blocks;
        let number = block(at);
        same(view.record(number), visible.then(|| record.clone()), whole);
        same(view.tx_block(number), visible.then(|| Arc::new(record.tx_block.clone())), whole);
        same(view.totals(number), visible.then(|| model.totals(at).0), whole);
        same(view.micro_blocks_of(number), visible.then(|| record.micro_blocks.clone()), whole);
        let hashes = model.hashes(at);
        same(view.transaction_hashes(number, 0..u32::MAX), visible.then(|| hashes.clone()), whole);
        if let Some(ds_block) = &record.ds_block {
            let expected = visible.then(|| Arc::new(ds_block.clone()));
            same(view.ds_block(ds_block.header.number), expected, whole);
        }
        for (position, (hash, (transaction, receipt))) in hashes.iter().zip(&record.transactions).enumerate() {
            let (transaction, receipt) = (transaction.clone(), receipt.clone());
            let stored = StoredTransaction { transaction, receipt, block: number, position: position as u32 };
            same(view.find_transaction(hash).map(|found| found.bytes() > 0), visible, whole);
            same(view.find_transaction(hash).and_then(|found| found.read()), visible.then_some(stored), whole);
        }
    }
    let absent = TxHash::new(noise(&[1, 2, 3]));
    same(view.find_transaction(&absent).map(|found| found.bytes()), 0, whole);
    same(view.find_transaction(&absent).and_then(|found| found.read()), None, whole);
    let newest_first: Vec<_> = (0..blocks).flat_map(|at| model.hashes(at)).rev().collect();
    for limit in [0, 1, 5, 1000] {
        same(view.recent_transactions(limit), newest_first[..limit.min(newest_first.len())].to_vec(), whole);
    }
}

#[test]
fn transaction_that_was_found_is_not_looked_for_again() {
    let mut model = Model::default();
    model.push(vec![(payment(&[1]), Receipt::payment(Gas::new(50), BlockNumber::new(0)))], Vec::new());
    let disks = Disks::indexed(&model);
    let archive = disks.open().unwrap();
    let hash = model.hashes(0)[0];
    let reads = || (disks.index.reads(), disks.chain.reads());
    let before = reads();
    let found = archive.view().find_transaction(&hash).unwrap();
    let once = reads();
    assert_eq!(once, (before.0 + 1, before.1));
    assert_eq!(found.read().unwrap().map(|stored| stored.transaction.hash()), Some(hash));
    assert_eq!(reads(), (once.0, once.1 + 1));
}

#[test]
fn a_read_goes_on_after_another_transaction_with_the_same_first_bytes() {
    let model = Model::with(&[2, 2]);
    let view = Disks::indexed(&model).open().unwrap().view();
    let [wanted, other] = [model.hashes(0)[1], model.hashes(1)[0]];
    let [whole, wrong] = [wanted, other].map(|hash| view.find_transaction(&hash).unwrap());
    // The index has only the first eight bytes of a hash, and the search found the other transaction first.
    let found = FoundTransaction { places: wrong.places, ..whole.clone() };
    assert_eq!(found.read().unwrap(), whole.read().unwrap());
    assert_eq!(found.read().unwrap().unwrap().transaction.hash(), wanted);
    let absent = view.find_transaction(&TxHash::new(noise(&[77]))).unwrap();
    assert_eq!(FoundTransaction { places: found.places, ..absent }.read().unwrap(), None);
}

#[test]
fn large_receipts_are_last_in_their_groups() {
    const LARGE: usize = 100_000;
    let (disks, mut model) = (Disks::default(), Model::default());
    let number = BlockNumber::new(0);
    let is_large = |position: u64| position % 5 == 3 || position > 90;
    let transactions = (0..100_u64).map(|position| {
        let message = "x".repeat(LARGE);
        let receipt = Receipt { exceptions: vec![Exception { line: 7, message }], ..failure(number) };
        let small = Receipt::payment(Gas::new(50), number);
        (payment(&[position]), if is_large(position) { receipt } else { small })
    });
    model.push(transactions.collect(), Vec::new());
    let archive = disks.open().unwrap();
    append_from(&archive, &model, 0);
    let (view, mut next) = (archive.view(), 0);
    while next < 100 {
        let group = view.transaction_group(number, next).unwrap().unwrap();
        assert_eq!(group.positions.start, next, "each is in one group");
        for position in group.positions.clone() {
            assert_eq!(view.transaction_group(number, position).unwrap().as_ref(), Some(&group));
            let is_last = position + 1 == group.positions.end;
            assert!(is_last || !is_large(position.into()), "{position}");
        }
        let large = LARGE * usize::from(is_large(u64::from(group.positions.end - 1)));
        assert!((large..large + 5_000).contains(&group.bytes), "{group:?}");
        next = group.positions.end;
    }
    assert_eq!(next, 100);
    assert_eq!(view.transaction_group(number, 100).unwrap(), None);
    assert_eq!(view.transaction_group(BlockNumber::new(1), 0).unwrap(), None);
}

/// Number of transactions of each block: none, few, and more than a group has. Some empty blocks are consecutive.
const COUNTS: [usize; 13] = [0, 3, 0, 0, 70, 1, 2, 0, 8, 0, 0, 0, 5];

#[test]
fn blocks_are_read_back_and_after_reopening_too() {
    let (disks, model) = (Disks::default(), Model::with(&COUNTS));
    let mut views = Vec::new();
    let archive = disks.open().unwrap();
    views.push(archive.view());
    for (record, diff) in model.blocks.iter().zip(&model.diffs) {
        archive.append(record, diff).unwrap();
        views.push(archive.view());
    }
    for (blocks, view) in views.iter().enumerate() {
        check_view(view, &model, blocks, true);
    }
    for at in 0..COUNTS.len() {
        let (totals, ds_number) = model.totals(at);
        let header = &model.blocks[at].tx_block.header;
        let (hash, state_root) = (header.hash(), header.state_root);
        let timestamp = Timestamp::new(at as u64);
        let head = Head { number: block(at), hash, ds_number, state_root, timestamp, totals };
        assert_eq!(views[at + 1].head(), Some(&head));
        assert_eq!(archive.diff(block(at)).unwrap().as_ref(), Some(&model.diffs[at]));
    }
    let report = check_in_parts(&archive);
    assert_eq!(report, ArchiveReport { tx_blocks: 13, ds_blocks: 4, transactions: 89, diffs: 13 });
    drop(archive);
    for stored in [false, true, true] {
        let archive = disks.open().unwrap();
        check_view(&archive.view(), &model, COUNTS.len(), true);
        assert_eq!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap(), report);
        if stored {
            archive.store_index().unwrap();
        }
    }
}

/// Checks the record from its start, and then from each position of that check. Returns the report, which is always the
/// same.
fn check_in_parts(archive: &Archive) -> ArchiveReport {
    let mut positions = Vec::new();
    let report = archive.check(CheckedBlocks::default(), &mut |checked, _| positions.push(*checked)).unwrap();
    for from in positions {
        assert_eq!(archive.check(from, &mut |_, _| {}).unwrap(), report, "{from:?}");
        let other = CheckedBlocks { rows: from.rows + 1, ..from };
        assert!(archive.check(other, &mut |_, _| {}).unwrap_err().is_damage());
    }
    report
}

#[test]
fn empty_record_answers_and_checks() {
    let archive = Disks::default().open().unwrap();
    assert_eq!(archive.head(), None);
    check_view(&archive.view(), &Model::with(&[2]), 0, true);
    assert_eq!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap(), ArchiveReport::default());
    archive.prune_diffs(block(5)).unwrap();
    archive.store_index().unwrap();
}

#[test]
fn ranges_of_transactions_are_cut_from_the_whole() {
    let (disks, model) = (Disks::default(), Model::with(&[0, 200]));
    let archive = disks.open().unwrap();
    append_from(&archive, &model, 0);
    let (view, all) = (archive.view(), &model.blocks[1].transactions);
    for (start, end) in [(0, 0), (0, 1), (31, 33), (32, 64), (5, 199), (199, 200), (150, 300), (200, 300), (7, 5)] {
        let expected = all.get(start..end.min(all.len())).unwrap_or_default();
        let got = view.transactions(block(1), start as u32..end as u32).unwrap().unwrap();
        assert_eq!(got, expected, "{start}..{end}");
    }
    assert_eq!(view.transactions(block(2), 0..1).unwrap(), None);
}

#[test]
fn large_bodies_span_values() {
    let mut model = Model::with(&[0]);
    let mut deployment = unsigned(&[1]);
    deployment.code = "contract ".repeat(8500);
    deployment.to = Address::ZERO;
    let receipt = Receipt::payment(Gas::new(99), block(1));
    let transactions =
        vec![(payment(&[2]), receipt.clone()), (sealed(&[1], deployment), receipt.clone()), (payment(&[3]), receipt)];
    model.push(transactions, noise::<50_000>(&[4]).to_vec());
    let ds_header = &mut model.blocks[1].ds_block.as_mut().unwrap().header;
    for winner in 0..300 {
        ds_header.pow_winners.insert(key(&[winner]), silica_protocol::Peer::default());
    }
    model.grow(2);
    let disks = Disks::default();
    append_from(&disks.open().unwrap(), &model, 0);
    let archive = disks.open().unwrap();
    check_view(&archive.view(), &model, 3, true);
    assert_eq!(archive.diff(block(1)).unwrap().as_ref(), Some(&model.diffs[1]));
    archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
}

#[test]
fn payments_are_stored_compactly() {
    let mut model = Model::with(&[0]);
    let payments = (0..8000).map(|at| (payment(&[1, at]), Receipt::payment(Gas::new(50), block(1)))).collect();
    model.push(payments, Vec::new());
    let disks = Disks::default();
    let archive = disks.open().unwrap();
    archive.append(&model.blocks[0], &[]).unwrap();
    let before = archive.rows.db().size_on_disk().unwrap();
    archive.append(&model.blocks[1], &[]).unwrap();
    let bytes = archive.rows.db().size_on_disk().unwrap() - before;
    println!("{bytes} bytes for 8,000 payments");
    assert!(bytes < 8000 * 134, "{bytes} bytes");
}

#[test]
fn changes_of_state_are_pruned_from_the_oldest() {
    let (disks, model) = (Disks::default(), Model::with(&[0, 1, 1, 1, 1]));
    let archive = disks.open().unwrap();
    append_from(&archive, &model, 0);
    archive.prune_diffs(block(2)).unwrap();
    archive.prune_diffs(block(1)).unwrap();
    let kept = |archive: &Archive| (0..6).map(|at| archive.diff(block(at)).unwrap()).collect::<Vec<_>>();
    let expected = [None, None, None, Some(model.diffs[3].clone()), Some(model.diffs[4].clone()), None];
    assert_eq!(kept(&archive), expected);
    assert_eq!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap().diffs, 2);
    // A file is removed as a whole. So opening can find pruned diffs again, and the next pruning removes them.
    drop(archive);
    let archive = disks.open().unwrap();
    assert_eq!(archive.diff(block(1)).unwrap(), Some(model.diffs[1].clone()));
    assert_eq!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap().diffs, 5);
    archive.prune_diffs(block(9)).unwrap();
    assert_eq!(kept(&archive), vec![None; 6]);
    assert_eq!(disks.changes.lengths(), [0; 0]);
    check_view(&archive.view(), &model, 5, true);
}

/// The files take only the space of the stored diffs, after any number of blocks.
#[test]
fn changes_of_state_do_not_pile_up() {
    let disks = Disks::default();
    let mut archive = disks.open().unwrap();
    let mut model = Model::default();
    for number in 0..60 {
        model.push(Vec::new(), vec![number as u8; 1 << 20]);
        archive.append(&model.blocks[number], &model.diffs[number]).unwrap();
        if number % 13 == 12 {
            drop(archive);
            archive = disks.open().unwrap();
        }
        if let Some(passed) = number.checked_sub(6) {
            archive.prune_diffs(block(passed)).unwrap();
        }
        for (at, diff) in model.diffs.iter().enumerate().skip(number.saturating_sub(5)) {
            assert_eq!(archive.diff(block(at)).unwrap().as_ref(), Some(diff));
            assert_eq!(archive.diff_len(block(at)).unwrap(), Some(1 << 20));
        }
        let (bytes, files) = (disks.changes.lengths().iter().sum::<usize>(), disks.changes.lengths().len());
        assert!(bytes < 11 << 20 && files <= 4, "{bytes} bytes in {files} files");
    }
    assert!(archive.rows.db().size_on_disk().unwrap() < 60 << 12);
}

/// After any loss or damage of the files, each diff is unchanged or not stored. A diff that is not stored can be stored
/// again.
#[test]
fn changes_of_state_are_whole_or_not_kept() {
    let (model, mut lost) = (Model::with(&[0, 1, 2, 3, 4, 5, 6, 7]), 0);
    let mut random = 1_usize;
    for round in 0..300 {
        let mut random = |bound: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        let disks = Disks::default();
        append_from(&disks.open().unwrap(), &Model::with(&[0, 1, 2, 3]), 0);
        let archive = disks.open().unwrap();
        append_from(&archive, &Model::with(&[0, 1, 2, 3, 4]), 4);
        archive.sync_diffs().unwrap();
        append_from(&archive, &model, 5);
        drop(archive);
        let synced = if round % 2 == 0 {
            disks.changes.crash(random(2000), random(2) == 0);
            5
        } else {
            disks.changes.damage(|_, bytes| {
                let at = random(bytes.len());
                match random(3) {
                    0 => bytes[at] ^= 1 << random(8),
                    1 => bytes.truncate(at),
                    _ => bytes[at..].fill(0),
                }
            });
            0
        };
        let archive = disks.open().unwrap();
        check_view(&archive.view(), &model, 8, true);
        for (at, diff) in model.diffs.iter().enumerate() {
            if let Some(kept) = archive.diff(block(at)).unwrap() {
                assert_eq!(&kept, diff);
            } else {
                assert!(at >= synced, "the change of block {at} was synced");
                lost += 1;
                archive.keep_diff(block(at), diff).unwrap();
            }
        }
        drop(archive);
        let archive = disks.open().unwrap();
        assert_eq!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap().diffs, 8);
    }
    assert!(lost > 300, "{lost} changes were lost");
}

/// After a crash, a diff can exist whose block was undone. The next block with this number has another diff.
#[test]
fn change_of_another_block_is_not_taken() {
    let (model, other) = (Model::with(&[0, 1, 1]), Model::with(&[0, 1, 2]));
    let disks = Disks::default();
    let archive = disks.open().unwrap();
    append_from(&archive, &Model::with(&[0, 1]), 0);
    archive.write(&other.blocks[2], b"of the other block").unwrap();
    drop(archive);
    disks.chain.crash(0);
    let archive = disks.open().unwrap();
    assert_eq!(archive.diff(block(2)).unwrap(), None);
    append_from(&archive, &model, 2);
    assert_eq!(archive.diff(block(2)).unwrap().as_ref(), Some(&model.diffs[2]));
    drop(archive);
    assert_eq!(disks.open().unwrap().diff(block(2)).unwrap().as_ref(), Some(&model.diffs[2]));
    // The newer file is lost, and the older file has the diff of another block.
    disks.changes.damage(|name, bytes| bytes.truncate(if name == 0 { bytes.len() } else { 0 }));
    let archive = disks.open().unwrap();
    assert_eq!(archive.diff(block(2)).unwrap(), None);
    assert_eq!(archive.diff(block(1)).unwrap().as_ref(), Some(&model.diffs[1]));
}

#[test]
fn block_is_not_written_without_its_change() {
    let model = Model::with(&[1, 2, 3]);
    let disks = Disks::default();
    let archive = disks.open().unwrap();
    append_from(&archive, &Model::with(&[1, 2]), 0);
    disks.changes.fail_after(0);
    let error = archive.append(&model.blocks[2], &model.diffs[2]).unwrap_err();
    assert!(matches!(error, AppendError::Changes(_)), "{error}");
    archive.flush().unwrap();
    check_view(&archive.view(), &model, 2, true);
    disks.changes.kill();
    disks.chain.crash(usize::MAX);
    let archive = disks.open().unwrap();
    check_view(&archive.view(), &model, 2, true);
    append_from(&archive, &model, 2);
    drop(archive);
    assert_eq!(disks.open().unwrap().check(CheckedBlocks::default(), &mut |_, _| {}).unwrap().diffs, 3);
}

/// The disk was full, and has space again.
#[test]
fn block_whose_change_failed_to_be_written_can_be_appended_again() {
    let model = Model::with(&[1, 2, 3, 4]);
    for failures in 1..4 {
        let disks = Disks::default();
        let archive = disks.open().unwrap();
        append_from(&archive, &Model::with(&[1, 2]), 0);
        for _ in 0..failures {
            disks.changes.fail_after(0);
            archive.append(&model.blocks[2], &model.diffs[2]).unwrap_err();
            disks.changes.kill();
        }
        append_from(&archive, &model, 2);
        check_view(&archive.view(), &model, 4, true);
        drop(archive);
        let archive = disks.open().unwrap();
        assert_eq!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap().diffs, 4);
        archive.prune_diffs(block(3)).unwrap();
        assert_eq!(disks.changes.lengths(), [0; 0]);
    }
}

#[test]
fn only_the_next_block_is_appended() {
    let (disks, model) = (Disks::default(), Model::with(&[2, 2, 2]));
    let archive = disks.open().unwrap();
    let refused = |record: &BlockRecord| archive.append(record, &[]).unwrap_err().to_string();
    assert_eq!(refused(&model.blocks[1]), "expected block 0, got 1");
    let without_ds = BlockRecord { ds_block: None, ..model.blocks[0].clone() };
    assert_eq!(refused(&without_ds), "expected DS block 0 together with Tx block 0, got no DS block");
    archive.append(&model.blocks[0], &[]).unwrap();
    assert_eq!(refused(&model.blocks[0]), "expected block 1, got 0");
    let mut other = model.blocks[1].clone();
    other.tx_block.header.prev_hash = BlockHash::ZERO;
    let expected = format!("expected previous block hash {}, got {}", archive.head().unwrap().hash, BlockHash::ZERO);
    assert_eq!(refused(&other), expected);
    let with_ds = BlockRecord { ds_block: model.blocks[0].ds_block.clone(), ..model.blocks[1].clone() };
    assert_eq!(refused(&with_ds), "expected DS block 1, got 0");
    let mut parts = model.blocks[1].clone();
    parts.transactions.swap(0, 1);
    assert_eq!(refused(&parts), "the micro blocks, the transactions and the Tx block do not match in the transactions");
    let mut parts = model.blocks[1].clone();
    parts.micro_blocks.swap(0, 1);
    assert_eq!(
        refused(&parts),
        "the micro blocks, the transactions and the Tx block do not match in the list of micro blocks"
    );
    let mut parts = model.blocks[1].clone();
    parts.transactions.pop();
    assert_eq!(refused(&parts), "the micro blocks, the transactions and the Tx block do not match in the transactions");
    let mut parts = model.blocks[1].clone();
    parts.transactions[0].1.cumulative_gas = Gas::new(u64::MAX);
    let (transaction, _) = &mut parts.transactions[0];
    let unsigned = transaction.clone().into_unsigned();
    let gas_price = GasPrice::new(Qa::new(u128::MAX));
    *transaction = UnsignedTransaction { gas_price, ..unsigned }.with_signature(transaction.signature());
    let hashes: Vec<_> = parts.transactions.iter().map(|(transaction, _)| transaction.hash()).collect();
    parts.micro_blocks[1].tx_hashes = hashes;
    assert_eq!(refused(&parts), "block has too many fees");
    archive.append(&model.blocks[1], &[]).unwrap();
    check_view(&archive.view(), &model, 2, true);
}

/// Cuts the power before each write and flush of an append, and keeps none or the first of the writes since the last
/// flush.
#[test]
fn a_cut_append_leaves_the_block_before_or_the_whole_block() {
    let model = Model::with(&[1, 9, 40, 3]);
    for operations in 0..3 {
        for kept in 0..2 {
            let disks = Disks::default();
            let archive = disks.open().unwrap();
            append_from(&archive, &Model::with(&[1, 9, 40]), 0);
            disks.chain.fail_after(operations);
            let result = archive.append(&model.blocks[3], &model.diffs[3]);
            assert_eq!(result.is_ok(), operations == 2);
            if result.is_err() {
                let error = archive.append(&model.blocks[3], &model.diffs[3]).unwrap_err();
                assert!(matches!(error, AppendError::Broken), "{error}");
                check_view(&archive.view(), &model, 3, true);
            }
            disks.chain.crash(kept);
            let archive = disks.open().unwrap();
            let blocks = if operations == 2 || (operations == 1 && kept == 1) { 4 } else { 3 };
            check_view(&archive.view(), &model, blocks, true);
            archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
            append_from(&archive, &model, blocks);
            check_view(&archive.view(), &model, 4, true);
            archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
        }
    }
}

#[test]
fn blocks_that_were_written_together_are_seen_once_they_are_flushed() {
    let model = Model::with(&[1, 9, 40, 3, 2, 7]);
    let write = |archive: &Archive, blocks: Range<usize>| {
        for (record, diff) in model.blocks.iter().zip(&model.diffs).take(blocks.end).skip(blocks.start) {
            archive.write(record, diff).unwrap();
        }
    };
    for kept in 0..=3 {
        let disks = Disks::default();
        let archive = disks.open().unwrap();
        write(&archive, 0..2);
        archive.flush().unwrap();
        write(&archive, 2..5);
        check_view(&archive.view(), &model, 2, true);
        check_view_of_record(&archive.view_of_written(), &model, 5);
        assert_eq!(archive.head().unwrap().number, block(1));
        disks.chain.crash(kept);
        let archive = disks.open().unwrap();
        check_view(&archive.view(), &model, 2 + kept, true);
        write(&archive, 2 + kept..6);
        archive.flush().unwrap();
        check_view(&archive.view(), &model, 6, true);
        archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
    }
}

/// Reads the blocks by number, as the builder of the next block does. The index has only flushed blocks.
fn check_view_of_record(view: &ArchiveView, model: &Model, blocks: usize) {
    assert_eq!(view.head().unwrap().number, block(blocks - 1));
    for (number, record) in model.blocks.iter().enumerate() {
        let expected = (number < blocks).then_some(record);
        assert_eq!(view.record(block(number)).unwrap().as_ref(), expected);
    }
}

#[test]
fn flush_that_fails_shows_nothing_and_ends_appending() {
    let model = Model::with(&[1, 9, 40, 3]);
    let disks = Disks::default();
    let archive = disks.open().unwrap();
    append_from(&archive, &Model::with(&[1, 9]), 0);
    archive.write(&model.blocks[2], &model.diffs[2]).unwrap();
    disks.chain.fail_after(0);
    archive.flush().unwrap_err();
    check_view(&archive.view(), &model, 2, true);
    assert!(matches!(archive.write(&model.blocks[3], &model.diffs[3]).unwrap_err(), AppendError::Broken));
    assert!(matches!(archive.flush().unwrap_err(), AppendError::Broken));
}

/// The engine breaks its guarantee, and keeps a part of a batch.
#[test]
fn part_of_a_block_is_discarded() {
    let model = Model::with(&[1, 9, 40, 3, 2, 150]);
    let disks = Disks::default();
    append_from(&disks.open().unwrap(), &Model::with(&[1, 9, 40, 3, 2]), 0);
    let before = disks.chain.keys();
    append_from(&disks.open().unwrap(), &model, 5);
    let added: Vec<_> = disks.chain.keys().into_iter().filter(|key| !before.contains(key)).collect();
    assert!(added.len() > 4);
    for kept in 0..=added.len() {
        let disks = Disks::default();
        append_from(&disks.open().unwrap(), &Model::with(&[1, 9, 40, 3, 2]), 0);
        let batch =
            prepare(&model.blocks[5], model.diffs[5].len(), disks.open().unwrap().newest().as_deref()).unwrap().batch;
        let whole = Db::on_disk(&disks.chain);
        whole.apply(batch).unwrap();
        let values: Vec<_> = added.iter().map(|key| (key.clone(), whole.get(key).unwrap().unwrap())).collect();
        disks.chain.crash(0);
        for (key, value) in &values[..kept] {
            disks.chain.damage(key, |_| Some(value.to_vec()));
        }
        let archive = disks.open().unwrap();
        check_view(&archive.view(), &model, 5, true);
        append_from(&archive, &model, 5);
        archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
        check_view(&archive.view(), &model, 6, true);
    }
}

#[test]
fn blocks_beyond_the_next_are_damage() {
    let (disks, model) = (Disks::default(), Model::with(&[1, 2, 3, 4]));
    let archive = disks.open().unwrap();
    append_from(&archive, &Model::with(&[1, 2]), 0);
    let head = archive.rows.db().get(&HEAD).unwrap().unwrap().to_vec();
    append_from(&archive, &model, 2);
    disks.chain.damage(&HEAD, |_| Some(head));
    let error = disks.open().unwrap_err();
    assert_eq!(error.to_string(), "damaged record: head: the record has rows of blocks after the newest");
    disks.chain.damage(&HEAD, |_| None);
    let error = disks.open().unwrap_err();
    assert_eq!(error.to_string(), "damaged record: head: the record has rows of blocks after the newest");
}

/// Changes, shortens and removes every value of the record, one at a time. No query returns a wrong result, and the
/// check finds each damage.
#[test]
fn every_damage_is_found() {
    let model = Model::with(&[1, 2, 0, 45, 1]);
    let disks = Disks::default();
    append_from(&disks.open().unwrap(), &model, 0);
    for (at, key) in disks.chain.keys().into_iter().enumerate() {
        for kind in 0..4_usize {
            let mut original = None;
            disks.chain.damage(&key, |value| {
                original = value.clone();
                let mut value = value?;
                let at = (at * 31 + kind * 7) % value.len();
                match kind {
                    0 => return None,
                    1 => value[at] ^= 1 << (at % 8),
                    2 => value.truncate(at),
                    _ => value.push(0),
                }
                Some(value)
            });
            match disks.open() {
                Ok(archive) => {
                    check_view(&archive.view(), &model, 5, false);
                    let error = archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap_err();
                    assert!(error.is_damage(), "{error}");
                }
                Err(OpenArchiveError::Archive(error)) => assert!(error.is_damage(), "{error}"),
                Err(other) => panic!("{other}"),
            }
            disks.chain.damage(&key, |_| original);
        }
    }
    disks.open().unwrap().check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
    let stray = Section::keys_from(Kind::Entry, 2).start;
    disks.chain.damage(&stray, |_| Some(vec![1]));
    let error = disks.open().unwrap().check(CheckedBlocks::default(), &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().starts_with("damaged record: keys: "), "{error}");
}

/// A check that continues after earlier blocks does not read their data again. Only a check of all blocks does.
#[test]
fn damage_of_checked_blocks_is_found_by_a_check_from_the_start() {
    let disks = Disks::indexed(&Model::with(&[3, 3, 3, 3]));
    let (start, mut positions) = (CheckedBlocks::default(), Vec::new());
    disks.open().unwrap().check(start, &mut |checked, _| positions.push(*checked)).unwrap();
    let key = Section::new(Kind::Transactions, 1).key(0);
    disks.chain.damage(&key, |value| value.map(|value| value.iter().map(|byte| byte ^ 1).collect()));
    let archive = disks.open().unwrap();
    let finds = |from| archive.check(from, &mut |_, _| {}).is_err_and(|error| error.is_damage());
    assert_eq!(positions.iter().map(|from| finds(*from)).collect::<Vec<_>>(), [true, false, false, false]);
    assert!(finds(start));
}

/// A value of one block is stored under the key of another block. Its checksum is valid only for the first key.
#[test]
fn exchanged_values_are_found() {
    let model = Model::with(&[3, 3, 3, 3]);
    for (kind, [one, other]) in [(Kind::Entry, [1, 2]), (Kind::Transactions, [0, 3]), (Kind::MicroBlocks, [1, 3])] {
        let disks = Disks::default();
        append_from(&disks.open().unwrap(), &model, 0);
        let keys = [one, other].map(|number| Section::new(kind, number).key(0));
        let values = keys.map(|key| Db::on_disk(&disks.chain).get(&key).unwrap().unwrap().to_vec());
        for (key, value) in keys.iter().zip(values.into_iter().rev()) {
            disks.chain.damage(key, |_| Some(value));
        }
        if let Ok(archive) = disks.open() {
            check_view(&archive.view(), &model, 4, false);
            assert!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap_err().is_damage());
        }
    }
}

#[test]
fn witness_shows_lost_and_exchanged_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("witness");
    let (disks, model) = (Disks::default(), Model::with(&[1, 2, 3]));
    let with_witness = |disks: &Disks| disks.open_with(Some(&path));
    append_from(&with_witness(&disks).unwrap(), &model, 0);
    let archive = with_witness(&disks).unwrap();
    check_view(&archive.view(), &model, 3, true);

    let shorter = Disks::default();
    append_from(&shorter.open().unwrap(), &Model::with(&[1, 2]), 0);
    let error = with_witness(&shorter).unwrap_err().to_string();
    assert_eq!(error, "acknowledged blocks are missing: the record ends at block 1, but block 2 was acknowledged");
    let error = with_witness(&Disks::default()).unwrap_err().to_string();
    assert_eq!(error, "acknowledged blocks are missing: the record ends before block 0, but block 2 was acknowledged");

    let other = Disks::default();
    append_from(&other.open().unwrap(), &Model::with(&[1, 2, 4]), 0);
    assert!(matches!(with_witness(&other).unwrap_err(), OpenArchiveError::OtherBlock { .. }));
    append_from(&other.open().unwrap(), &Model::with(&[1, 2, 4, 1]), 3);
    with_witness(&other).unwrap();

    std::fs::write(&path, b"nothing of this is a slot").unwrap();
    append_from(&with_witness(&shorter).unwrap(), &model, 2);
    assert!(matches!(with_witness(&Disks::default()).unwrap_err(), OpenArchiveError::LostBlocks { .. }));
}

#[test]
fn record_has_the_lowest_format_that_can_hold_it() {
    let disks = Disks::default();
    let format = || {
        let mut format = 0;
        disks.chain.damage(&HEAD, |value| {
            format = unseal(&HEAD, value.as_ref().unwrap()).unwrap()[0];
            value
        });
        format
    };
    let (shorter, model) = (Model::with(&[1, 2, 1, 3]), Model::with(&[1, 2, 1, 3, 2]));
    append_from(&disks.open().unwrap(), &shorter, 0);
    assert_eq!(u64::from(format()), FORMAT_WITHOUT_REPEATS);
    append_from(&disks.open().unwrap(), &model, 4);
    assert_eq!(u64::from(format()), FORMAT_WITHOUT_PACKS);
    let archive = disks.open().unwrap();
    assert!(archive.pack(4, 2).unwrap());
    assert_eq!(u64::from(format()), FORMAT);
    check_view(&archive.view(), &model, 5, true);
    let longer = Model::with(&[1, 2, 1, 3, 2, 1]);
    append_from(&archive, &longer, 5);
    assert_eq!(u64::from(format()), FORMAT);
    check_view(&disks.open().unwrap().view(), &longer, 6, true);
}

#[test]
fn sums_of_repeats_that_cannot_be_are_damage() {
    let mut model = Model::with(&[1, 2, 1, 3]);
    model.grow(2);
    let disks = Disks::indexed(&model);
    let entry = disks.open().unwrap().entry(block(4)).unwrap();
    assert_eq!((entry.head.totals.repeats, entry.repeats_number), (1, true));
    let good = entry.encode();
    assert_eq!(&good[good.len() - 2..], [1, 1]);
    for (sum, repeats) in [(0, 0), (0, 1), (5, 1), (1, 2)] {
        let mut bytes = good.clone();
        let at = bytes.len() - 2;
        bytes[at..].copy_from_slice(&[sum, repeats]);
        assert!(Entry::decode(&bytes, block(4)).unwrap_err().is_damage(), "{sum} {repeats}");
    }
}

#[test]
fn later_formats_are_refused() {
    let disks = Disks::default();
    append_from(&disks.open().unwrap(), &Model::with(&[1]), 0);
    disks.chain.damage(&HEAD, |_| {
        let mut out = Writer::new();
        out.number(FORMAT + 1);
        out.raw(b"whatever it has");
        Some(seal(&HEAD, out.as_slice()))
    });
    let error = disks.open().unwrap_err().to_string();
    assert_eq!(error, "expected a record of format 7 or lower, got format 8");
}

/// Format 1 has the state diffs in parts in the record, and the number of the oldest diff.
#[test]
fn record_with_changes_of_state_in_it_is_converted() {
    let (disks, model) = (Disks::default(), Model::with(&[1, 2, 3]));
    append_from(&disks.open().unwrap(), &Model::with(&[1, 2]), 0);
    disks.changes.clear();
    disks.chain.damage(&HEAD, |value| {
        let mut payload = unseal(&HEAD, &value.unwrap()).unwrap().to_vec();
        payload[0] = 1;
        Some(seal(&HEAD, &payload))
    });
    disks.chain.damage(&[0x01], |_| Some(seal(&[0x01], &[0])));
    for (number, part) in [(0_u64, 0_u32), (1, 0), (1, 1), (2, 0)] {
        let key = [&[0x12][..], &number.to_be_bytes(), &[0], &part.to_be_bytes()].concat();
        disks.chain.damage(&key, |_| Some(seal(&key, b"a change of state")));
    }
    let archive = disks.open().unwrap();
    check_view(&archive.view(), &model, 2, true);
    assert_eq!(archive.diff(block(1)).unwrap(), None);
    assert_eq!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap().diffs, 0);
    append_from(&archive, &model, 2);
    disks.chain.crash(0);
    drop(archive);
    let archive = disks.open().unwrap();
    check_view(&archive.view(), &model, 3, true);
    assert_eq!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap().diffs, 1);
}

fn deployment(sender: u64, nonce: u64) -> Transaction {
    let (nonce, code) = (Nonce::new(nonce), "contract".to_owned());
    sealed(&[sender], UnsignedTransaction { nonce, code, to: Address::ZERO, ..unsigned(&[sender]) })
}

#[test]
fn deployments_are_found_by_their_sender() {
    let (disks, mut model) = (Disks::default(), Model::with(&[0]));
    let done = |at: usize| Receipt::payment(Gas::new(99), block(at));
    let (first, second) = ([deployment(1, 7), deployment(1, 9), deployment(1, 8)], deployment(2, 1));
    model.push(vec![(payment(&[1]), done(1)), (first[0].clone(), done(1)), (second.clone(), done(1))], Vec::new());
    model.push(vec![(deployment(1, 6), failure(block(2)))], Vec::new());
    model.push(vec![(first[1].clone(), done(3)), (payment(&[2]), done(3)), (first[2].clone(), done(3))], Vec::new());
    let archive = disks.open().unwrap();
    let mut views = Vec::new();
    for (record, diff) in model.blocks.iter().zip(&model.diffs) {
        archive.append(record, diff).unwrap();
        views.push(archive.view());
    }
    let addresses: Vec<_> = first.iter().map(|deployment| deployment.contract_address().unwrap()).collect();
    let check = |view: &ArchiveView, blocks: usize| {
        let found = view.deployed_by(&first[0].sender()).unwrap();
        assert_eq!(found, addresses[..[0, 1, 1, 3][blocks]], "after {blocks} blocks with deployments");
        let found = view.deployed_by(&second.sender()).unwrap();
        assert_eq!(found, Vec::from_iter(second.contract_address().filter(|_| blocks > 0)));
        assert_eq!(view.deployed_by(&payment(&[3]).sender()).unwrap(), []);
    };
    for (blocks, view) in views.iter().enumerate() {
        check(view, blocks);
    }
    archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
    drop((views, archive));

    // A record of format 2 has only the rows by contract.
    let rows: Vec<_> = disks.chain.keys().into_iter().filter(|key| key[0] == 0x14).collect();
    assert_eq!(rows.len(), 4);
    for row in &rows {
        disks.chain.damage(row, |_| None);
    }
    assert!(disks.open().unwrap().check(CheckedBlocks::default(), &mut |_, _| {}).unwrap_err().is_damage());
    disks.chain.damage(&HEAD, |value| {
        let mut payload = unseal(&HEAD, &value.unwrap()).unwrap().to_vec();
        payload[0] = 2;
        Some(seal(&HEAD, &payload))
    });
    // The row of a contract gets the valid place of another contract.
    let [row, other] =
        [&first[0], &second].map(|of| [&[0x13], &of.contract_address().unwrap().as_bytes()[..]].concat());
    let (mut right, mut wrong) = (None, None);
    disks.chain.damage(&other, |value| {
        wrong = value.as_deref().and_then(|value| unseal(&other, value)).map(|place| seal(&row, place));
        value
    });
    disks.chain.damage(&row, |value| {
        right = value;
        wrong
    });
    assert!(matches!(disks.open(), Err(OpenArchiveError::Archive(error)) if error.is_damage()));
    disks.chain.damage(&row, |_| right);
    let archive = disks.open().unwrap();
    check(&archive.view(), 3);
    assert_eq!(
        archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap().diffs,
        4,
        "the changes of state are kept"
    );
    archive.rows.db().flush().unwrap();

    disks.chain.damage(&rows[0], |value| value.map(|value| value[1..].to_vec()));
    let archive = disks.open().unwrap();
    let found = archive.view().deployed_by(&first[0].sender()).and(archive.view().deployed_by(&second.sender()));
    assert!(found.unwrap_err().is_damage());
}

#[test]
fn index_is_made_again_when_it_is_lost_stale_or_foreign() {
    let model = Model::with(&[1, 300, 5, 300, 2]);
    let disks = Disks::indexed(&model);
    let whole = |disks: &Disks| {
        let archive = disks.open().unwrap();
        check_view(&archive.view(), &model, 5, true);
        archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
    };
    whole(&disks);
    // The index is lost.
    whole(&Disks { index: Disk::default(), ..disks.clone() });
    // The manifest of the index is damaged.
    disks.index.damage(&[0xf0], |value| value.map(|value| value[1..].to_vec()));
    whole(&disks);
    disks.open().unwrap().store_index().unwrap();
    whole(&disks);
    // The index belongs to a longer record, or to another record.
    for foreign in [vec![1, 300, 5, 300, 2, 6], vec![2, 300, 5, 300, 2], vec![3]] {
        whole(&Disks { index: Disks::indexed(&Model::with(&foreign)).index, ..disks.clone() });
    }
    // The index lacks the newest blocks.
    let behind = Disks::indexed(&Model::with(&[1, 300]));
    append_from(&behind.open().unwrap(), &model, 2);
    whole(&behind);
}

#[test]
fn damaged_index_is_reported_then_mended() {
    let model = Model::with(&[1, 300, 5, 300, 2]);
    let disks = Disks::indexed(&model);
    let mut file = Vec::new();
    disks.index.damage_file(DataFile::Hashes, |whole| file.clone_from(whole));
    // Opening finds damage of a table, which is at the beginning of a segment.
    let first = file.len() / 4;
    for at in (first..file.len()).step_by(file.len() / 20) {
        let damaged = Disks { index: Disk::default(), ..disks.clone() };
        for key in disks.index.keys() {
            let value = Db::on_disk(&disks.index).get(&key).unwrap().unwrap().to_vec();
            damaged.index.damage(&key, |_| Some(value));
        }
        damaged.index.damage_file(DataFile::Hashes, |copy| {
            copy.clone_from(&file);
            copy[at] ^= 1;
        });
        let archive = damaged.open().unwrap();
        assert!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap_err().is_damage());
        check_view(&archive.view(), &model, 5, false);
        while archive.tidy_index(16).unwrap() {}
        check_view(&archive.view(), &model, 5, true);
        archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
        drop(archive);
        let archive = damaged.open().unwrap();
        check_view(&archive.view(), &model, 5, true);
    }
}

#[test]
fn record_lives_in_sled_too() {
    let dir = tempfile::tempdir().unwrap();
    let options = || crate::db::DbOptions { cache_bytes: 8 << 20, durability: crate::Durability::Flush };
    let db = |name: &str| Db::open(&dir.path().join(name), options()).unwrap();
    let head_marker = dir.path().join("witness");
    let model = Model::with(&COUNTS);
    for blocks in [0, 4, 5, 13] {
        let changes = Files::Directory(dir.path().join("changes"), crate::Durability::Flush);
        let archive = open(db("chain"), db("state"), changes, Some(&head_marker)).unwrap();
        check_view(&archive.view(), &model, blocks, true);
        let kept = archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap().diffs;
        assert!(kept >= 5.min(blocks as u64 / 2), "{kept} changes of {blocks} blocks");
        let next = [4, 5, 13, 13].into_iter().find(|next| *next > blocks).unwrap_or(13);
        append_from(&archive, &Model::with(&COUNTS[..next]), blocks);
        archive.store_index().unwrap();
        archive.sync_diffs().unwrap();
        archive.prune_diffs(block(next / 2)).unwrap();
        assert_eq!(archive.diff(block(next - 1)).unwrap().as_ref(), Some(&model.diffs[next - 1]));
        while archive.tidy_index(8).unwrap() {}
    }
}

/// Returns the template of an empty block range after the blocks of a model.
fn template_after(model: &Model) -> RangeTemplate {
    let last = model.blocks.last().unwrap();
    let ds_block = model.blocks.iter().rev().find_map(|record| record.ds_block.as_ref()).unwrap();
    let header = &ds_block.header;
    let number = last.tx_block.header.number.next().unwrap();
    RangeTemplate {
        tx_block: TxBlockHeader { number, prev_hash: last.tx_block.header.hash(), ..last.tx_block.header.clone() },
        micro_blocks: last.micro_blocks.iter().map(|block| block.header.clone()).collect(),
        ds_block: DsBlockHeader { number: header.number.next().unwrap(), prev_hash: header.hash(), ..header.clone() },
        timestamp: last.tx_block.timestamp.next().unwrap(),
    }
}

/// Returns an empty block range after the blocks of a model. It has the vacuous block of the first DS epoch, ten blocks
/// of the second, and three of the third.
fn range_after(model: &Model) -> EmptyBlockRange {
    let mut range = RangeBuilder::new(template_after(model));
    let ds_block = |price| RangeDsBlock { ds_difficulty: 5, difficulty: 3, gas_price: GasPrice::new(Qa::new(price)) };
    let closing = |seed| RangeVacuousBlock {
        state_root: StateRoot::new(noise(&[seed])),
        rewards: Qa::new(7),
        state_delta_hash: StateDeltaHash::new(noise(&[seed, 1])),
    };
    range.push(None, 0, Some(closing(1)));
    range.push(Some(ds_block(5)), 9, Some(closing(2)));
    range.push(Some(ds_block(6)), 3, None);
    range.finish().unwrap()
}

fn range_diffs(range: &EmptyBlockRange) -> Vec<(BlockNumber, Vec<u8>)> {
    range.closings().map(|(number, _)| (number, vec![number.get() as u8; 9])).collect()
}

/// Returns the headers of all blocks of a range.
fn headers(archive: &Arc<Archive>, range: &EmptyBlockRange) -> Vec<Result<Option<TxBlockHeader>, ArchiveError>> {
    (range.first().get()..=range.last().get())
        .map(|number| archive.view().tx_header(BlockNumber::new(number)))
        .collect()
}

#[test]
fn interrupted_range_is_whole_or_absent() {
    let model = Model::with(&COUNTS);
    let range = range_after(&model);
    assert_eq!((range.blocks(), range.last_ds_block().0.get()), (14, 5));
    let first = range.first();
    for kept in 0..3 {
        let disks = Disks::indexed(&model);
        let archive = disks.open().unwrap();
        archive.write_range(range.clone(), &range_diffs(&range)).unwrap();
        assert_eq!(archive.head().unwrap().number.next(), Some(first), "readers do not see it before the flush");
        if kept == 2 {
            archive.flush().unwrap();
            assert_eq!(archive.head().unwrap().hash, range.last_hash());
        }
        drop(archive);
        disks.chain.crash(kept);
        let archive = disks.open().unwrap();
        archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
        if archive.head().unwrap().number != range.last() {
            assert!(kept < 2 && archive.head().unwrap().number.next() == Some(first));
            archive.write_range(range.clone(), &range_diffs(&range)).unwrap();
            archive.flush().unwrap();
        }
        let report = archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
        assert_eq!((report.tx_blocks, report.ds_blocks), (13 + 14, 4 + 2));
        let mut before = model.blocks.last().unwrap().tx_block.header.hash();
        for header in headers(&archive, &range) {
            let header = header.unwrap().unwrap();
            assert_eq!(header.prev_hash, before);
            before = header.hash();
        }
        assert_eq!(before, range.last_hash());
        for (number, diff) in range_diffs(&range) {
            assert_eq!(archive.diff(number).unwrap(), Some(diff));
        }
        assert_eq!(archive.unchanged_until(first).unwrap(), None);
        assert_eq!(archive.unchanged_until(block(14)).unwrap(), Some(block(22)));
    }
}

#[test]
fn range_with_too_many_parts_is_refused() {
    let model = Model::with(&COUNTS);
    for (parts, is_fine) in [(64, true), (65, false), (1000, false)] {
        let mut range = RangeBuilder::new(template_after(&model));
        (0..parts).for_each(|_| range.push(None, 1, None));
        let range = range.finish().unwrap();
        let written = Disks::indexed(&model).open().unwrap().write_range(range.clone(), &[]);
        assert!(matches!(written, Err(AppendError::TooLarge { .. })) != is_fine, "{written:?}");
        let stored = StoredRange { range, before: Totals::default(), newest_with_transactions: None };
        let read = StoredRange::decode(&stored.encode());
        assert_eq!(read.map(|read| read.range.blocks()).map_err(drop), is_fine.then_some(parts).ok_or(()));
    }
}

#[test]
fn facts_of_a_range_need_no_computed_blocks() {
    let model = Model::with(&COUNTS);
    let range = range_after(&model);
    let disks = Disks::indexed(&model);
    let archive = disks.open().unwrap();
    archive.write_range(range.clone(), &range_diffs(&range)).unwrap();
    archive.flush().unwrap();
    drop(archive);
    // Damages the hash with which the second range part begins, so that its blocks cannot be computed.
    let (_, hash) = range.closings().next().unwrap();
    let key = disks.chain.keys().into_iter().find(|key| key[0] == 0x15).unwrap();
    disks.chain.damage(&key, |value| {
        let mut payload = unseal(&key, &value.unwrap()).unwrap().to_vec();
        let at = payload.windows(32).position(|bytes| bytes == hash.as_bytes()).unwrap();
        payload[at] ^= 1;
        Some(seal(&key, &payload))
    });
    let archive = disks.open().unwrap();
    for number in 14..23 {
        assert!(archive.view().tx_header(block(number)).unwrap_err().is_damage());
        assert_eq!(archive.view().transactions_up_to(block(number)).unwrap(), Some(89));
        assert_eq!(archive.view().newest_with_transactions(block(number)).unwrap(), Some(block(12)));
        assert_eq!(archive.view().repeats_up_to(block(number)).unwrap(), Some(6));
    }
    assert_eq!(archive.view().transactions_up_to(block(27)).unwrap(), None);
    assert_eq!(archive.view().repeats_up_to(block(27)).unwrap(), None);
    assert_eq!(archive.view().newest_with_transactions(block(27)).unwrap(), None);
}

#[test]
fn blocks_outside_of_ranges_are_read_once() {
    let model = Model::with(&COUNTS);
    let range = range_after(&model);
    let disks = Disks::indexed(&model);
    let archive = disks.open().unwrap();
    archive.write_range(range.clone(), &range_diffs(&range)).unwrap();
    archive.flush().unwrap();
    drop(archive);
    let archive = disks.open().unwrap();
    let reads = || disks.chain.reads();
    let before = reads();
    assert_eq!(archive.view().tx_header(block(4)).unwrap(), Some(model.blocks[4].tx_block.header.clone()));
    assert_eq!(reads(), before + 1);
    assert!(archive.view().ds_block(DsBlockNumber::new(1)).unwrap().is_some());
    assert_eq!(reads(), before + 2);
}

#[test]
fn damage_of_a_range_is_found() {
    let model = Model::with(&COUNTS);
    let range = range_after(&model);
    let disks = Disks::indexed(&model);
    let archive = disks.open().unwrap();
    archive.write_range(range.clone(), &range_diffs(&range)).unwrap();
    archive.flush().unwrap();
    let good: Vec<_> = headers(&archive, &range).into_iter().map(Result::unwrap).collect();
    drop(archive);
    let keys: Vec<_> = disks.chain.keys().into_iter().filter(|key| matches!(key[0], 0x15 | 0x16)).collect();
    assert_eq!(keys.len(), 2);
    for key in keys {
        let value = Db::on_disk(&disks.chain).get(&key).unwrap().unwrap().to_vec();
        let resealed = |payload: Vec<u8>| Some(seal(&key, &payload));
        let payload = unseal(&key, &value).unwrap().to_vec();
        let mut damages = vec![None];
        for at in (0..value.len()).step_by(7) {
            let mut changed = value.clone();
            changed[at] ^= 0x10;
            damages.push(Some(changed));
        }
        // A correct checksum does not make a wrong value valid.
        for at in (0..payload.len()).step_by(5) {
            let mut changed = payload.clone();
            changed[at] ^= 1;
            damages.push(resealed(changed));
        }
        for damage in damages {
            disks.chain.damage(&key, |_| damage.clone());
            if let Ok(archive) = disks.open() {
                assert!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).is_err(), "{damage:?}");
                for (header, good) in headers(&archive, &range).into_iter().zip(&good) {
                    assert!(header.map_or_else(|error| error.is_damage(), |header| header == *good));
                }
            }
            disks.chain.damage(&key, |_| Some(value.clone()));
        }
    }
    check_in_parts(&disks.open().unwrap());
}

/// Packs the blocks below `limit`, with `blocks` blocks in a pack. Returns the number of packs.
fn pack_below(archive: &Archive, limit: u64, blocks: u64) -> usize {
    let packs = std::iter::repeat_with(|| archive.pack(limit, blocks).unwrap()).take_while(|packed| *packed).count();
    // The removal of the rows reaches the disk with the next flush.
    archive.rows.db().flush().unwrap();
    packs
}

fn exported(archive: &Arc<Archive>) -> Vec<RecordRow> {
    archive.view().rows().collect::<Result<_, _>>().unwrap()
}

#[test]
fn packed_blocks_are_read_like_others() {
    let model = Model::with(&COUNTS);
    for (limit, blocks, packs) in [(13, 1, 13), (13, 3, 4), (11, 4, 2), (13, 13, 1), (13, 14, 0)] {
        let disks = Disks::indexed(&model);
        let archive = disks.open().unwrap();
        let (rows, keys, report) = (exported(&archive), disks.chain.keys().len(), check_in_parts(&archive));
        assert_eq!(pack_below(&archive, limit, blocks), packs);
        assert!(packs == 0 || disks.chain.keys().len() < keys, "the database has no packed rows");
        let archives = [archive, disks.open().unwrap()];
        for archive in &archives {
            check_view(&archive.view(), &model, 13, true);
            assert_eq!((check_in_parts(archive), exported(archive)), (report, rows.clone()));
        }
    }
}

#[test]
fn only_enough_durable_blocks_are_packed() {
    let (disks, model) = (Disks::default(), Model::with(&COUNTS));
    let archive = disks.open().unwrap();
    append_from(&archive, &model, 0);
    assert_eq!(pack_below(&archive, 3, 4), 0);
    let hold = archive.rows.hold();
    assert_eq!(pack_below(&archive, 13, 4), 0);
    drop(hold);
    assert_eq!(pack_below(&archive, 13, 4), 3);
    let volatile = open(Db::in_memory(), Db::in_memory(), Files::in_memory(), None).unwrap();
    append_from(&volatile, &model, 0);
    assert_eq!(pack_below(&volatile, 13, 4), 0);
}

/// Appends an empty block range and an empty block after it. Returns the range and the block.
fn append_range_and_block(archive: &Archive, model: &mut Model) -> (EmptyBlockRange, BlockRecord) {
    let range = range_after(model);
    archive.write_range(range.clone(), &range_diffs(&range)).unwrap();
    archive.flush().unwrap();
    model.grow(0);
    let mut record = model.blocks.pop().unwrap();
    (record.ds_block, record.edits, record.repeats_number) = (None, StateDiff::default(), false);
    let header = &mut record.tx_block.header;
    (header.number, header.prev_hash) = (range.last().next().unwrap(), range.last_hash());
    archive.append(&record, &[]).unwrap();
    (range, record)
}

#[test]
fn packs_leave_out_empty_block_ranges() {
    let (mut model, disks) = (Model::with(&COUNTS), Disks::default());
    let archive = disks.open().unwrap();
    append_from(&archive, &model, 0);
    let (range, record) = append_range_and_block(&archive, &mut model);
    let after = record.tx_block.header.number;
    let (good, rows) =
        (headers(&archive, &range).into_iter().map(Result::unwrap).collect::<Vec<_>>(), exported(&archive));
    assert_eq!(pack_below(&archive, after.get() + 1, 14), 1);
    let archives = [archive, disks.open().unwrap()];
    for archive in &archives {
        check_view(&ArchiveView::new(Arc::clone(archive), Some(archive.entry(block(12)).unwrap())), &model, 13, true);
        assert_eq!(headers(archive, &range).into_iter().map(Result::unwrap).collect::<Vec<_>>(), good);
        assert_eq!(archive.view().record(after).unwrap().as_ref(), Some(&record));
        assert_eq!(exported(archive), rows);
    }
}

#[test]
fn pack_ends_with_the_block_that_fills_it() {
    let (disks, mut model) = (Disks::default(), Model::with(&[1, 2]));
    let (number, message) = (model.logical_number(), "x".repeat(90_000));
    let large = |seed| {
        let receipt = Receipt { exceptions: vec![Exception { line: 7, message: message.clone() }], ..failure(number) };
        (payment(&[seed]), receipt)
    };
    model.push(vec![large(1), large(2)], Vec::new());
    model.grow(1);
    model.grow(1);
    let archive = disks.open().unwrap();
    append_from(&archive, &model, 0);
    assert!(archive.pack(5, 5).unwrap());
    assert_eq!(archive.rows.newest_packed(), Some(2));
    assert!(!archive.pack(5, 5).unwrap());
    for archive in [archive, disks.open().unwrap()] {
        check_view(&archive.view(), &model, 5, true);
        // A reader decodes the lengths of the block once for all values of the transactions.
        let (entry, before) = (archive.entry(block(2)).unwrap(), disks.chain.reads());
        archive.transactions(&entry, 0..u32::MAX).unwrap();
        let values = u64::from(section::parts(entry.transactions_len()));
        assert!(values > 20 && disks.chain.reads() <= before + values + 2);
    }
}

/// After a crash at any point of a pack, the record has all flushed blocks, and another pack succeeds. The second pack
/// begins while a block is not flushed.
#[test]
fn interrupted_pack_loses_nothing() {
    let model = Model::with(&COUNTS);
    let cases = (0..40).flat_map(|operations| [0, 1, 2, 3, usize::MAX].map(|kept| (operations, kept)));
    for ((operations, kept), packs) in cases.flat_map(|case| [(case, 0), (case, 1)]) {
        let disks = Disks::default();
        let archive = disks.open().unwrap();
        append_from(&archive, &Model::with(&COUNTS[..12]), 0);
        let rows = exported(&archive);
        for _ in 0..packs {
            assert!(archive.pack(10, 4).unwrap());
            archive.rows.db().flush().unwrap();
        }
        archive.write(&model.blocks[12], &model.diffs[12]).unwrap();
        disks.chain.fail_after(operations);
        let packed = archive.pack(10, 4);
        check_view(&archive.view(), &model, 12, true);
        drop(archive);
        disks.chain.crash(kept);
        let archive = disks.open().unwrap();
        let blocks = archive.head().unwrap().number.get() as usize + 1;
        assert!(blocks == 12 || blocks == 13);
        check_view(&archive.view(), &model, blocks, true);
        let exported = exported(&archive);
        let of_earlier = exported.iter().filter(|row| rows.contains(row)).count();
        assert_eq!(of_earlier, rows.len(), "{operations} operations, {kept} kept, {packs} packs, {packed:?}");
        assert!(blocks == 13 || exported == rows);
        if operations % 2 == 0 {
            let unflushed = disks.chain.unflushed();
            archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
            assert_eq!(disks.chain.unflushed(), unflushed, "a check writes nothing");
        }
        append_from(&archive, &model, blocks);
        assert!(pack_below(&archive, 13, 4) + packs >= 2);
        let (keys, after) = (disks.chain.keys(), archive.rows.first_key_after_packs());
        assert!(keys.iter().all(|key| key[0] != 0x10 || *key >= after), "the database has rows of packed blocks");
        check_view(&archive.view(), &model, 13, true);
        archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
    }
}

/// After a failed write of a pack, the record either accepts blocks, or rejects blocks until it is opened again.
#[test]
fn failed_pack_leaves_nothing_undecided() {
    let (shorter, model) = (Model::with(&COUNTS[..12]), Model::with(&COUNTS));
    let mut broken = 0;
    for operations in 0..30 {
        let disks = Disks::default();
        let mut archive = disks.open().unwrap();
        append_from(&archive, &shorter, 0);
        disks.chain.fail_after(operations);
        let packed = archive.pack(10, 4);
        // The disk accepts writes again, in the same process.
        disks.chain.crash(usize::MAX);
        check_view(&archive.view(), &shorter, 12, true);
        if archive.is_broken() {
            assert!(packed.is_err());
            broken += 1;
            archive = disks.open().unwrap();
        }
        append_from(&archive, &model, 12);
        assert!(pack_below(&archive, 13, 4) >= 2);
        check_view(&archive.view(), &model, 13, true);
        archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
        check_view(&disks.open().unwrap().view(), &model, 13, true);
    }
    assert_eq!(broken, 2, "the batch and its flush");
}

#[test]
fn readers_read_while_blocks_are_packed() {
    let model = Model::with(&COUNTS);
    for count in [1, 3, 13].repeat(4) {
        let disks = Disks::default();
        let archive = disks.open().unwrap();
        append_from(&archive, &model, 0);
        let (rows, is_packed) = (exported(&archive), AtomicBool::new(false));
        let read = || {
            let mut ends = false;
            while !ends {
                ends = is_packed.load(Ordering::Acquire);
                for row in &rows {
                    assert_eq!(archive.rows.reader().get(row.key()).unwrap().as_deref(), Some(row.value()));
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pack_below(&archive, 13, count);
                is_packed.store(true, Ordering::Release);
            });
            scope.spawn(read);
            assert_eq!(exported(&archive), rows);
            read();
        });
        assert_eq!(exported(&archive), rows);
    }
}

/// Damages the pages of a record with `change`. Returns whether a check from block 0 finds the damage, and whether a
/// check after the last block finds the damage. Every query and the export return correct data or an error.
fn finds_damage(
    disks: &Disks,
    check_view: impl Fn(&Arc<Archive>),
    all: CheckedBlocks,
    rows: &[RecordRow],
) -> (bool, bool) {
    let archive = match disks.open() {
        Ok(archive) => archive,
        // Opening reads the newest block.
        Err(OpenArchiveError::Archive(error)) if error.is_damage() => return (true, true),
        Err(other) => panic!("{other}"),
    };
    check_view(&archive);
    let exported: Result<Vec<_>, _> = archive.view().rows().collect();
    assert!(exported.map_or_else(|error| error.is_damage(), |exported| exported == rows));
    let found = |from| archive.check(from, &mut |_, _| {}).map_or_else(|error| error.is_damage(), |_| false);
    (found(CheckedBlocks::default()), found(all))
}

#[test]
fn damage_of_a_pack_is_found() {
    for has_range in [false, true] {
        let (disks, mut model) = (Disks::default(), Model::with(&[1, 1, 0, 2, 1]));
        let archive = disks.open().unwrap();
        append_from(&archive, &model, 0);
        let mut packs = [(2, 2), (4, 2)].as_slice();
        if has_range {
            append_range_and_block(&archive, &mut model);
            packs = &[(2, 2), (u64::MAX, 4)];
        }
        let (mut all, rows) = (CheckedBlocks::default(), exported(&archive));
        for (limit, count) in packs {
            assert!(archive.pack(*limit, *count).unwrap());
        }
        archive.rows.db().flush().unwrap();
        archive.check(CheckedBlocks::default(), &mut |checked, _| all = *checked).unwrap();
        archive.store_index().unwrap();
        let packed = archive.rows.count_packed().unwrap().1;
        drop(archive);
        let check = |archive: &Arc<Archive>| {
            let newest = archive.entry(block(4)).ok();
            if newest.is_some() {
                check_view(&ArchiveView::new(Arc::clone(archive), newest), &model, 5, false);
            }
        };
        let find = || finds_damage(&disks, check, all, &rows);
        assert_eq!(find(), (false, false));
        let mut pages = Vec::new();
        disks.chain.damage_file(DataFile::Pages, |bytes| pages.clone_from(bytes));
        let blocks = if has_range { 6 } else { 4 };
        let key = disks.chain.keys().into_iter().rfind(|key| key[0] == TABLE).unwrap();
        let pack = Pack::decode(&key, &Db::on_disk(&disks.chain).get(&key).unwrap().unwrap()).unwrap();
        let mut found_later = 0;
        for at in 0..pages.len() {
            // The test changes all bits of the slots of the first pack, because a wrong slot can name another block.
            for bit in if at < 16 { 0..8 } else { at % 8..at % 8 + 1 } {
                disks.chain.damage_file(DataFile::Pages, |bytes| bytes[at] ^= 1 << bit);
                let (found, later) = find();
                assert!(found, "byte {at}, bit {bit}");
                found_later += u64::from(later && bit == at % 8);
                disks.chain.damage_file(DataFile::Pages, |bytes| bytes[at] ^= 1 << bit);
            }
        }
        // A check of later blocks reads slots, counts, checksums and lengths, but not the values. Opening reads the
        // entry of the newest block, which is in a pack of the second record.
        let expected = blocks * 16 + packed * 7;
        assert!(found_later == expected || has_range && found_later > expected, "{found_later} of {expected} bytes");
        // In a pack that lacks blocks, a wrong slot of another block can misdirect the search.
        let (number, at) = if has_range { (pack.first, pack.position as usize + SLOT) } else { (0, 0) };
        disks.chain.damage_file(DataFile::Pages, |bytes| bytes[at + 1] ^= 1);
        let key = Section::new(Kind::Entry, number).key(0);
        let error = Rows::open(Db::on_disk(&disks.chain)).unwrap().reader().get(&key).unwrap_err().to_string();
        assert_eq!(error, format!("damaged record: pack from block {number}: a slot is wrong"));
        disks.chain.damage_file(DataFile::Pages, |bytes| bytes[at + 1] ^= 1);
        for len in [0, 5, pages.len() - 1] {
            disks.chain.damage_file(DataFile::Pages, |bytes| bytes.truncate(len));
            assert_eq!(find(), (true, true));
            let rows = Rows::open(Db::on_disk(&disks.chain)).unwrap();
            assert!(rows.require_all_packs().unwrap_err().to_string().contains("the page file is too short"));
            disks.chain.damage_file(DataFile::Pages, |bytes| bytes.clone_from(&pages));
        }
        // An export with a block twice would have valid checksums.
        disks.chain.damage_file(DataFile::Pages, |bytes| bytes.copy_within(..8, 8));
        assert_eq!(find(), (true, true));
        assert!(disks.open().unwrap().view().rows().collect::<Result<Vec<_>, _>>().unwrap_err().is_damage());
    }
}

#[test]
fn damage_of_the_row_of_a_pack_concerns_its_blocks_only() {
    let (disks, model) = (Disks::default(), Model::with(&COUNTS));
    let archive = disks.open().unwrap();
    append_from(&archive, &model, 0);
    let rows = exported(&archive);
    assert_eq!(pack_below(&archive, 9, 3), 3);
    archive.store_index().unwrap();
    drop(archive);
    let pack_keys: Vec<_> = disks.chain.keys().into_iter().filter(|key| key[0] == 0x18).collect();
    for (number, key) in pack_keys.iter().enumerate() {
        let mut original = None;
        disks.chain.damage(key, |value| {
            original = value;
            None
        });
        // Without the last row, nothing shows that the pack exists.
        let removed = (number < 2).then_some(None);
        let changed = original.clone().map(|value| value.iter().map(|byte| byte ^ 4).collect::<Vec<_>>());
        for damage in removed.into_iter().chain([changed]) {
            disks.chain.damage(key, |_| damage);
            let archive = disks.open().unwrap();
            check_view(&archive.view(), &model, 13, false);
            for (at, record) in model.blocks.iter().enumerate() {
                let read = archive.view().record(block(at));
                if at / 3 == number {
                    assert!(read.unwrap_err().is_damage(), "block {at}");
                } else {
                    assert_eq!(read.unwrap().as_ref(), Some(record));
                }
            }
            assert!(archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap_err().is_damage());
            let export = || archive.view().rows();
            assert!(export().any(|row| row.is_err()));
            assert_eq!(export().skip_while(Result::is_ok).count(), 1, "an export ends with an error");
            let keys = disks.chain.keys();
            assert!(archive.pack(13, 1).is_err());
            assert_eq!(disks.chain.keys(), keys);
        }
        disks.chain.damage(key, |_| original);
    }
    let archive = disks.open().unwrap();
    archive.check(CheckedBlocks::default(), &mut |_, _| {}).unwrap();
    assert_eq!(exported(&archive), rows);
}

#[test]
fn packed_blocks_are_not_removed() {
    let (disks, model) = (Disks::default(), Model::with(&COUNTS));
    let archive = disks.open().unwrap();
    append_from(&archive, &model, 0);
    let hash = |number: usize| model.blocks[number].tx_block.header.hash();
    assert_eq!(pack_below(&archive, 8, 8), 1);
    assert!(archive.blocks_after(block(6), &hash(6)).unwrap().is_none());
    let removal = archive.blocks_after(block(7), &hash(7)).unwrap().unwrap();
    archive.remove(removal).unwrap();
    let archive = disks.open().unwrap();
    check_view(&archive.view(), &Model::with(&COUNTS[..8]), 8, true);
    append_from(&archive, &model, 8);
    check_view(&archive.view(), &model, 13, true);
}

fn transaction() -> impl Strategy<Value = (Transaction, Receipt)> {
    let text = || prop_oneof![3 => Just(String::new()), 1 => ".{1,40}", 1 => "[a-z]{200,5000}"];
    let pool = |seed: u64| key(&[seed % 4]);
    let numbers = (any::<u32>(), any::<u64>(), any::<u128>(), any::<u128>(), any::<u64>(), any::<u64>());
    (numbers, any::<[u8; 20]>(), any::<[u8; 64]>(), text(), text(), any::<(u64, bool, bool, u8)>()).prop_map(
        move |((version, nonce, amount, price, limit, gas), to, signature, code, data, (seed, fails, same, epoch))| {
            let unsigned = UnsignedTransaction {
                version: Version::from_packed(if same { 65537 } else { version }),
                nonce: Nonce::new(nonce),
                to: Address::new(if same { [seed as u8 % 3; 20] } else { to }),
                amount: Qa::new(amount >> (seed % 128)),
                gas_price: GasPrice::new(Qa::new(if same { 2 } else { price })),
                gas_limit: Gas::new(if same { 50 } else { limit }),
                code,
                data,
                sender_key: pool(seed),
            };
            let gas = Gas::new(if same { 50 } else { gas });
            let epoch = BlockNumber::new(epoch.into());
            let receipt = if fails { failure(epoch) } else { Receipt::payment(gas, epoch) };
            (unsigned.with_signature(Signature::new(signature)), receipt)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn groups_round_trip(content in vec(transaction(), 0..70), number in 0u64..256) {
        let number = BlockNumber::new(number);
        let (bytes, groups) = transactions::pack(&content, number).unwrap();
        let (mut rest, mut read) = (&bytes[..], Vec::new());
        for group in groups {
            let (group_bytes, after) = rest.split_at(group.len as usize);
            read.extend(transactions::unpack(group_bytes, group.count, u32::MAX, number, Place::HEAD).unwrap());
            rest = after;
        }
        prop_assert!(rest.is_empty());
        prop_assert_eq!(read, content);
    }

    #[test]
    fn unpacking_survives_anything(bytes in vec(any::<u8>(), 0..300), count in 0u32..5) {
        let _ = transactions::unpack(&bytes, count, 3, BlockNumber::new(1), Place::HEAD);
        let _ = Entry::decode(&bytes, BlockNumber::new(1));
    }

    #[test]
    fn entries_survive_any_change(at: prop::sample::Index, byte: u8) {
        let model = Model::with(&[40]);
        let entry = prepare(&model.blocks[0], 10, None).unwrap().entry;
        let mut bytes = entry.encode();
        prop_assert_eq!(&Entry::decode(&bytes, block(0)).unwrap(), &entry);
        prop_assert!(Entry::decode(&bytes, block(1)).is_err());
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = Entry::decode(&bytes, block(0)).map(|entry| entry.transactions_len());
    }
}
