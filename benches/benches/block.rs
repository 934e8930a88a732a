//! Benchmarks of blocks of payments: admission, production, verification and commit, with a state of 100,000 accounts.
//! One more benchmark measures the query for the transactions of an address.

use std::{
    collections::BTreeMap,
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use silica_chain::{
    Chain, ChainConfig, Genesis, HistoryOrder, HistoryPlace, HistoryRequest, Producer, Proposal, VerifiedTransaction,
    config::NoncePolicy,
    consensus::{Application, Cause, Engine, Input, Solo, range_signer},
    open,
};
use silica_crypto::{KeyPair, SecretKey};
use silica_protocol::{Account, Address, BlockNumber, Qa, Timestamp, Transaction, UnsignedTransaction, sha256};
use silica_state::{IndexKinds, Store, StoreOptions};

/// Number of accounts in addition to the senders.
const ACCOUNTS: u64 = 100_000;
/// Numbers of payments in a block. 8,000 payments use the gas limit of the micro block of a shard.
const SIZES: [usize; 2] = [1_000, 8_000];
/// Gas price, in Qa.
const PRICE: u128 = 2_000_000_000;

/// A chain with a list of senders.
struct Bench {
    chain: Chain,
    producer: Producer,
    engine: Solo,
    senders: Vec<KeyPair>,
    nonce: u64,
    now: u64,
    /// Directory of the store. It is deleted when the value is dropped.
    _dir: Option<tempfile::TempDir>,
}

impl Bench {
    fn in_memory(senders: usize) -> Self {
        Self::over(Store::ephemeral(StoreOptions::default()), None, senders)
    }

    /// Creates a chain in memory, with a payment of each sender in the pool.
    fn filled(senders: usize) -> Self {
        let mut bench = Self::in_memory(senders);
        bench.fill();
        bench
    }

    fn on_disk(senders: usize) -> Self {
        let dir = tempfile::tempdir().expect("there is a place for temporary files");
        let store = Store::open(dir.path(), StoreOptions::default()).expect("a new store opens");
        Self::over(store, Some(dir), senders)
    }

    /// Creates a chain on disk with `blocks` blocks. Each of these blocks has a payment of each sender. After each of
    /// them, the chain has `empty` empty blocks.
    fn with_history(senders: usize, blocks: u64, empty: u64) -> Self {
        let mut bench = Self::on_disk(senders);
        for _ in 0..blocks {
            bench.fill();
            let at = bench.later();
            bench.engine.step(Input::Tick(at), &mut bench.producer).expect("a block is made");
            assert_eq!(bench.chain.waiting(), 0);
            if empty > 0 {
                let at = bench.later();
                let demand = Input::Demand { at, blocks: empty };
                bench.engine.step(demand, &mut bench.producer).expect("empty blocks are made");
            }
        }
        bench
    }

    /// Creates a chain on disk with `blocks` blocks and a complete history index. Each block has a payment of each
    /// sender. `recipient` can choose the recipient by the number of the sender.
    fn with_index(senders: usize, blocks: u64, recipient: impl Fn(usize) -> Option<Address>) -> Self {
        let dir = tempfile::tempdir().expect("there is a place for temporary files");
        let options = StoreOptions { index: IndexKinds::ALL, ..StoreOptions::default() };
        let store = Store::open(dir.path(), options).expect("a new store opens");
        let mut bench = Self::over(store, Some(dir), senders);
        for _ in 0..blocks {
            let at = bench.later();
            let payments = bench.payments();
            for (number, (transaction, sender)) in payments.into_iter().zip(&bench.senders).enumerate() {
                let transaction = match recipient(number) {
                    Some(to) => {
                        let unsigned = UnsignedTransaction { to, ..transaction.into_unsigned() };
                        unsigned.sign(sender).expect("a core is not empty")
                    }
                    None => transaction,
                };
                bench.chain.submit(bench.admit(transaction), at).expect("the pool has room");
            }
            let at = bench.later();
            bench.engine.step(Input::Tick(at), &mut bench.producer).expect("a block is made");
        }
        while bench.chain.snapshot().index_progress().is_none_or(|progress| progress.blocks <= blocks) {
            std::thread::sleep(Duration::from_millis(10));
        }
        bench
    }

    fn over(store: Store, dir: Option<tempfile::TempDir>, senders: usize) -> Self {
        let mut config = ChainConfig { blocks_per_ds_epoch: 1_000_000, ..ChainConfig::isolated() };
        config.policy.nonces = NoncePolicy::Queue;
        let senders: Vec<KeyPair> = (0..senders).map(sender).collect();
        let account = Account::with_balance(Qa::new(10_u128.pow(24)));
        let others = (0..ACCOUNTS).map(address);
        let accounts = senders.iter().map(KeyPair::address).chain(others).map(|address| (address, account));
        let genesis = Genesis::new(accounts.collect::<BTreeMap<_, _>>()).expect("the balances fit 128 bits");
        let engine = Solo::new(sender(usize::MAX));
        store.set_signer(range_signer(&sender(usize::MAX)));
        let now = 1_700_000_000_000_000;
        let (chain, producer) =
            open(store, config, &genesis, engine.public_key(), Timestamp::new(now)).expect("a new chain opens");
        Self { chain, producer, engine, senders, nonce: 0, now, _dir: dir }
    }

    /// Signs a payment of each sender to an existing account.
    fn payments(&mut self) -> Vec<Transaction> {
        self.nonce += 1;
        let nonce = self.nonce;
        let payment = |(number, key): (u64, &KeyPair)| {
            let to = address(number.wrapping_mul(7_919).wrapping_add(nonce * 104_729) % ACCOUNTS);
            let payment = Transaction::payment(to, Qa::new(1_000)).chain_id(self.chain.config().chain_id).nonce(nonce);
            let payment = payment.gas_price(Qa::new(PRICE + u128::from(number % 7)));
            payment.sign(key).expect("a core is not empty")
        };
        (0..).zip(&self.senders).map(payment).collect()
    }

    fn admit(&self, transaction: Transaction) -> VerifiedTransaction {
        self.chain.admit(transaction, false).expect("the payment is in order")
    }

    fn later(&mut self) -> Timestamp {
        self.now += 1_000_000;
        Timestamp::new(self.now)
    }

    fn fill(&mut self) {
        let at = self.later();
        for transaction in self.payments() {
            let transaction = self.admit(transaction);
            self.chain.submit(transaction, at).expect("the pool has room");
        }
    }
}

/// Returns the address of an existing account.
fn address(number: u64) -> Address {
    let [head @ .., _, _, _, _, _, _, _, _, _, _, _, _] = sha256(&[&number.to_be_bytes()]);
    Address::new(head)
}

fn sender(number: usize) -> KeyPair {
    let seed = sha256(&[b"sender", &number.to_be_bytes()]);
    KeyPair::from(SecretKey::from_bytes(seed).expect("a digest is a secret key"))
}

fn admission(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("admission");
    group.throughput(Throughput::Elements(1));
    let mut prepared = None;
    group.bench_function("payment", |bencher| {
        let (bench, payments) = prepared.get_or_insert_with(|| {
            let mut bench = Bench::in_memory(1_000);
            let payments = bench.payments();
            (bench, payments)
        });
        let mut next = payments.iter().cycle();
        bencher.iter(|| black_box(bench.admit(next.next().expect("a cycle does not end").clone())));
    });
    group.finish();
}

/// Measures insertions into an empty pool.
fn pool(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pool/insert");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let mut prepared = None;
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            let (empty, verified) = prepared.get_or_insert_with(|| {
                let mut bench = Bench::in_memory(size);
                let payments = bench.payments();
                let verified: Vec<_> = payments.into_iter().map(|transaction| bench.admit(transaction)).collect();
                (Bench::in_memory(0), verified)
            });
            bencher.iter_custom(|iterations| {
                let mut spent = Duration::ZERO;
                for _ in 0..iterations {
                    let batch = verified.clone();
                    let start = Instant::now();
                    for transaction in batch {
                        empty.chain.submit(transaction, Timestamp::new(1)).expect("the pool has room");
                    }
                    spent += start.elapsed();
                    // The senders have no money on this chain, so a block drops their transactions from the pool.
                    let at = empty.later();
                    empty.engine.step(Input::Tick(at), &mut empty.producer).expect("a block is made");
                    assert_eq!(empty.chain.waiting(), 0);
                }
                spent
            });
        });
    }
    group.finish();
}

/// Measures selection, execution, state root and headers of a block, without signatures and disk.
fn execute(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("block/execute");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let mut prepared = None;
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            let bench = prepared.get_or_insert_with(|| Bench::filled(size));
            let at = bench.later();
            bencher.iter(|| {
                let block = bench.producer.propose(at, Cause::Event).expect("a block is built");
                assert_eq!(block.transactions().len(), size);
                black_box(block)
            });
        });
    }
    group.finish();
}

/// Measures the verification of a block of another node. In `block/verify`, the node verifies the signatures of all
/// transactions. In `block/verify-admitted`, it has admitted all transactions before.
fn verify(criterion: &mut Criterion) {
    for (name, admitted) in [("block/verify", false), ("block/verify-admitted", true)] {
        let mut group = criterion.benchmark_group(name);
        for size in SIZES {
            group.throughput(Throughput::Elements(size as u64));
            let mut prepared = None;
            group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
                let (bench, proposal) = prepared.get_or_insert_with(|| {
                    let mut bench = Bench::filled(size);
                    let at = bench.later();
                    let proposal: Proposal =
                        bench.producer.propose(at, Cause::Event).expect("a block is built").to_proposal();
                    (if admitted { bench } else { Bench::in_memory(size) }, proposal)
                });
                bencher.iter(|| black_box(bench.producer.verify(proposal).expect("the block is good")));
            });
        }
        group.finish();
    }
}

/// Measures a block from the pool to the disk, including signature, flush and publication.
fn whole(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("block/whole");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let mut prepared = None;
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            let bench = prepared.get_or_insert_with(|| Bench::on_disk(size));
            bencher.iter_custom(|iterations| {
                let mut spent = Duration::ZERO;
                for _ in 0..iterations {
                    bench.fill();
                    let at = bench.later();
                    let start = Instant::now();
                    let effects = bench.engine.step(Input::Tick(at), &mut bench.producer).expect("a block is made");
                    spent += start.elapsed();
                    assert_eq!((effects.len(), bench.chain.waiting()), (1, 0));
                }
                spent
            });
        });
    }
    group.finish();
}

/// Reads a page of the transactions of an address without transactions, in two records. One record has full blocks. The
/// other record has blocks of one payment, with 1,000 empty blocks between two of them. The benchmark reads as much as
/// one request reads. In the order from the newest block, the query skips the empty blocks, so it reads only a tenth of
/// the second record.
fn history(criterion: &mut Criterion) {
    const EFFORT: usize = 20_000;
    let mut group = criterion.benchmark_group("history/page");
    for (name, size, blocks, empty) in [("full", 1_000, 25, 0), ("sparse", 1, 1_000, 1_000)] {
        let mut prepared = None;
        for (order_name, order) in [("newest", HistoryOrder::NewestFirst), ("oldest", HistoryOrder::OldestFirst)] {
            let id = BenchmarkId::new(name, order_name);
            group.bench_function(id, |bencher| {
                let bench = prepared.get_or_insert_with(|| Bench::with_history(size, blocks, empty));
                let address = Address::new([0x77; 20]);
                let request = HistoryRequest { address, order, after: None, limit: 100, effort: EFFORT };
                bencher.iter(|| {
                    let page = bench.chain.snapshot().transactions_of(&request).expect("the record can be read");
                    assert!(page.transactions.is_empty());
                    black_box(page)
                });
            });
        }
    }
    group.finish();
}

/// Reads a page of 100 transactions with the history index, in a record of 1,000,000 payments. One address has 1,000 of
/// them, and another one has 100,000. The pages are in the middle of the record.
fn history_index(criterion: &mut Criterion) {
    const SENDERS: usize = 1_000;
    const BLOCKS: u64 = 1_000;
    let (rare, frequent) = (Address::new([0x71; 20]), Address::new([0x72; 20]));
    let mut group = criterion.benchmark_group("history/indexed_page_100_of_1M");
    let mut prepared = None;
    for (name, address) in [("1k", rare), ("100k", frequent)] {
        for (order_name, order) in [("newest", HistoryOrder::NewestFirst), ("oldest", HistoryOrder::OldestFirst)] {
            group.bench_function(BenchmarkId::new(name, order_name), |bencher| {
                let bench = prepared.get_or_insert_with(|| {
                    Bench::with_index(SENDERS, BLOCKS, |number| match number % 1_000 {
                        0 => Some(rare),
                        other if other % 10 == 1 => Some(frequent),
                        _ => None,
                    })
                });
                let after = HistoryPlace { block: BlockNumber::new(BLOCKS / 2), position: 0 };
                let request = HistoryRequest { address, order, after: Some(after), limit: 100, effort: 20_000 };
                bencher.iter(|| {
                    let page = bench.chain.snapshot().transactions_of(&request).expect("the record can be read");
                    assert_eq!(page.transactions.len(), 100);
                    black_box(page)
                });
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(5));
    targets = admission, pool, execute, verify, whole, history, history_index
}
criterion_main!(benches);
