//! Compares the account trie of the store with `eth_trie` over sled: the root after a batch of 1,000 changes, its durable
//! commit, proofs and their verification. The trie pages of the store are in the page file.
//!
//! The setup of a million accounts takes up to a minute, so the benchmark makes only the setups that the filter
//! selects: `cargo bench -p silica-benches --bench trie -- commit_1000/100k`.

use std::{
    cell::{LazyCell, RefCell},
    env,
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{Bencher, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use silica_benches::{Access, Random, address, block, genesis, peer::Peer, updates};
use silica_protocol::Address;
use silica_state::{PreparedState, Store, StoreOptions, proof::trie::verify};
use tempfile::TempDir;

/// A number of accounts, with its name in benchmark ids.
#[derive(Clone, Copy)]
struct Size {
    name: &'static str,
    accounts: u64,
}

const SIZES: [Size; 2] = [Size { name: "100k", accounts: 100_000 }, Size { name: "1M", accounts: 1_000_000 }];
/// Number of changes in a batch.
const BATCH: u64 = 1_000;
/// Number of accounts that are proved in turn.
const SAMPLE: u64 = 10_000;

/// State diffs, the same in every run.
struct Batches {
    random: Random,
    accounts: u64,
    count: u64,
}

impl Batches {
    const fn new(accounts: u64) -> Self {
        Self { random: Random::new(7), accounts, count: 0 }
    }

    fn next(&mut self) -> silica_state::StateDiff {
        self.count += 1;
        updates(&mut self.random, self.accounts, BATCH, self.count, Access::Uniform)
    }

    fn sample(&self) -> impl Iterator<Item = Address> + use<> {
        let accounts = self.accounts;
        (0..SAMPLE).map(move |number| address(number * 7_919 % accounts)).cycle()
    }
}

/// The store with the options of a node.
struct Ours {
    store: Store,
    batches: Batches,
    _dir: TempDir,
}

impl Ours {
    fn new(accounts: u64) -> Self {
        let dir = tempfile::tempdir().expect("there is a place for temporary files");
        let store = Store::open(dir.path(), StoreOptions::default()).expect("a new store opens");
        silica_benches::commit(&store, &genesis(accounts)).expect("genesis is committed");
        let mut ours = Self { store, batches: Batches::new(accounts), _dir: dir };
        // After the first checkpoints, the cost of a block is stable.
        for _ in 0..120 {
            ours.commit();
        }
        ours
    }

    fn prepare(&mut self) -> Duration {
        let diff = self.batches.next();
        let start = Instant::now();
        let state: PreparedState = self.store.extend(self.store.prepare(), &diff).expect("the state can be read");
        black_box(state.root());
        start.elapsed()
    }

    fn commit(&mut self) -> Duration {
        let diff = self.batches.next();
        let head = self.store.snapshot().head().map(|head| (head.number, head.hash));
        let start = Instant::now();
        let state = self.store.extend(self.store.prepare(), &diff).expect("the state can be read");
        self.store.commit(&block(head, state.root()), state).expect("a block is committed");
        start.elapsed()
    }

    fn prove(&self, bencher: &mut Bencher<'_>) {
        let view = self.store.snapshot().state().clone();
        let mut sample = self.batches.sample();
        bencher.iter(|| view.account_proof(&sample.next().expect("it repeats")).expect("the state can be read"));
    }

    fn verify(&self, bencher: &mut Bencher<'_>) {
        let view = self.store.snapshot().state().clone();
        let root = view.root().to_bytes();
        let proof =
            |address: Address| (address.to_string(), view.account_proof(&address).expect("it can be read").account);
        let proofs: Vec<_> = self.batches.sample().take(100).map(proof).collect();
        let mut proofs = proofs.iter().cycle();
        bencher.iter(|| {
            let (address, proof) = proofs.next().expect("it repeats");
            verify(&root, address.as_bytes(), proof).expect("the proof is whole").expect("the account is there")
        });
    }
}

/// The accounts of [`Ours`] in `eth_trie`.
struct Theirs {
    peer: Peer,
    batches: Batches,
    root: [u8; 32],
    _dir: TempDir,
}

impl Theirs {
    fn new(accounts: u64) -> Self {
        let dir = tempfile::tempdir().expect("there is a place for temporary files");
        let peer = Peer::new(dir.path(), &genesis(accounts));
        let mut theirs = Self { peer, batches: Batches::new(accounts), root: [0; 32], _dir: dir };
        theirs.commit();
        theirs
    }

    fn prepare(&mut self) -> Duration {
        let diff = self.batches.next();
        let start = Instant::now();
        black_box(self.peer.apply(&diff));
        let taken = start.elapsed();
        self.peer.discard();
        taken
    }

    fn commit(&mut self) -> Duration {
        let diff = self.batches.next();
        let start = Instant::now();
        self.root = self.peer.apply(&diff);
        self.peer.flush();
        start.elapsed()
    }

    fn prove(&mut self, bencher: &mut Bencher<'_>) {
        let mut sample = self.batches.sample();
        bencher.iter(|| self.peer.proof(&sample.next().expect("it repeats")));
    }

    fn verify(&mut self, bencher: &mut Bencher<'_>) {
        let addresses: Vec<_> = self.batches.sample().take(100).collect();
        let proofs: Vec<_> = addresses.iter().map(|address| (*address, self.peer.proof(address))).collect();
        let mut proofs = proofs.iter().cycle();
        bencher.iter(|| {
            let (address, proof) = proofs.next().expect("it repeats");
            self.peer.verify(self.root, address, proof.clone()).expect("the account is there")
        });
    }
}

/// Makes a setup before the measurement if the command line selects one of its benchmarks.
///
/// If the filter has an unknown form, the setup happens during the warm-up. Then only the estimated number of rounds is
/// wrong.
fn lazily<T>(make: impl FnOnce() -> T, of: &str, size: Size) -> LazyCell<RefCell<T>, impl FnOnce() -> RefCell<T>> {
    let lazy = LazyCell::new(|| RefCell::new(make()));
    if ["root_1000", "commit_1000", "proof", "verify"]
        .iter()
        .any(|name| is_requested(&format!("{of}/{name}/{}", size.name)))
    {
        LazyCell::force(&lazy);
    }
    lazy
}

fn is_requested(name: &str) -> bool {
    let mut filters = env::args().skip(1).filter(|arg| !arg.starts_with('-')).peekable();
    filters.peek().is_none() || filters.any(|filter| name.contains(&filter))
}

fn ours(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("trie");
    for size in SIZES {
        let ours = lazily(|| Ours::new(size.accounts), "trie", size);
        group.sample_size(20).throughput(Throughput::Elements(BATCH));
        group.bench_function(BenchmarkId::new("root_1000", size.name), |bencher| {
            bencher.iter_custom(|rounds| (0..rounds).map(|_| ours.borrow_mut().prepare()).sum());
        });
        group.bench_function(BenchmarkId::new("commit_1000", size.name), |bencher| {
            bencher.iter_custom(|rounds| (0..rounds).map(|_| ours.borrow_mut().commit()).sum());
        });
        group.sample_size(100).throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("proof", size.name), |bencher| ours.borrow().prove(bencher));
        group.bench_function(BenchmarkId::new("verify", size.name), |bencher| ours.borrow().verify(bencher));
    }
    group.finish();
}

fn theirs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("eth_trie");
    for size in SIZES {
        let theirs = lazily(|| Theirs::new(size.accounts), "eth_trie", size);
        group.sample_size(10).throughput(Throughput::Elements(BATCH));
        group.bench_function(BenchmarkId::new("root_1000", size.name), |bencher| {
            bencher.iter_custom(|rounds| (0..rounds).map(|_| theirs.borrow_mut().prepare()).sum());
        });
        group.bench_function(BenchmarkId::new("commit_1000", size.name), |bencher| {
            bencher.iter_custom(|rounds| (0..rounds).map(|_| theirs.borrow_mut().commit()).sum());
        });
        group.sample_size(100).throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("proof", size.name), |bencher| theirs.borrow_mut().prove(bencher));
        group.bench_function(BenchmarkId::new("verify", size.name), |bencher| theirs.borrow_mut().verify(bencher));
    }
    group.finish();
}

criterion_group!(benches, ours, theirs);
criterion_main!(benches);
