//! Benchmarks of a fungible token on a chain: blocks of transfers, deployments, and proofs of token balances.

use std::{
    collections::BTreeMap,
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use silica_chain::{
    Chain, ChainConfig, Genesis, Producer,
    config::NoncePolicy,
    consensus::{Application, Cause, Engine, Input, Solo},
    open,
};
use silica_crypto::{KeyPair, SecretKey};
use silica_protocol::{
    Account, Address, Gas, GasPrice, MapKey, Nonce, Qa, StorageKey, Timestamp, UnsignedTransaction, Version, sha256,
};
use silica_state::{Store, StoreOptions};

const TOKEN: &str = include_str!("../../contracts/fungible_token/fungible_token.scilla");

/// Number of transfers in a block. The micro block of a shard has space for 899 transfers.
const SIZE: usize = 800;
/// Number of holders of the token in the benchmark of proofs.
const HOLDERS: usize = 10_000;
/// Gas price, in Qa.
const PRICE: u128 = 2_000_000_000;
/// Timestamp of the genesis block, in microseconds since 1970-01-01 UTC.
const BEGIN: u64 = 1_700_000_000_000_000;

/// A chain with a token that all senders hold.
struct Bench {
    chain: Chain,
    producer: Producer,
    engine: Solo,
    senders: Vec<Sender>,
    token: Address,
    now: u64,
    /// Directory of the store. It is deleted when the value is dropped.
    _dir: Option<tempfile::TempDir>,
}

/// An account that deploys, holds and transfers tokens.
struct Sender {
    key: KeyPair,
    address: Address,
    /// Nonce of the latest transaction.
    nonce: u64,
}

impl Bench {
    fn in_memory(senders: usize) -> Self {
        Self::over(Store::ephemeral(StoreOptions::default()), None, senders)
    }

    fn on_disk(senders: usize) -> Self {
        let dir = tempfile::tempdir().expect("there is a place for temporary files");
        let store = Store::open(dir.path(), StoreOptions::default()).expect("a new store opens");
        Self::over(store, Some(dir), senders)
    }

    fn over(store: Store, dir: Option<tempfile::TempDir>, senders: usize) -> Self {
        let mut config = ChainConfig { blocks_per_ds_epoch: 1_000_000, ..ChainConfig::isolated() };
        config.policy.nonces = NoncePolicy::Queue;
        config.policy.pool.per_sender = 1_000_000;
        // With this gas limit, all pending transactions go into one block.
        config.shard_gas_limit = Gas::new(u64::from(u32::MAX));
        let of_key = |key: KeyPair| Sender { address: key.address(), key, nonce: 0 };
        let senders: Vec<Sender> = (0..senders).map(key).map(of_key).collect();
        let account = Account::with_balance(Qa::new(10_u128.pow(24)));
        let accounts = senders.iter().map(|sender| (sender.address, account));
        let genesis = Genesis::new(accounts.collect::<BTreeMap<_, _>>()).expect("the balances fit 128 bits");
        let engine = Solo::new(key(usize::MAX));
        let (chain, producer) =
            open(store, config, &genesis, engine.public_key(), Timestamp::new(BEGIN)).expect("a new chain opens");
        let mut bench = Self { chain, producer, engine, senders, token: Address::ZERO, now: BEGIN, _dir: dir };
        bench.token = bench.deployed();
        bench.hand_out();
        bench
    }

    fn sender(&self, number: usize) -> &Sender {
        self.senders.get(number).expect("there are so many senders")
    }

    /// Deploys the token from the first sender, and makes a block.
    fn deployed(&mut self) -> Address {
        let token = self.deploy();
        self.tick();
        assert!(self.account(&token).contract.is_some(), "the token is deployed");
        token
    }

    /// Adds a deployment to the pool.
    fn deploy(&mut self) -> Address {
        let (owner, nonce) = (self.sender(0).address, Nonce::new(self.sender(0).nonce));
        self.submit(0, 40_000, Address::ZERO, TOKEN, &init(&owner));
        Address::of_contract(&owner, nonce)
    }

    /// Transfers tokens from the first sender to each other sender.
    fn hand_out(&mut self) {
        for number in 1..self.senders.len() {
            self.transfer(0, number, 1_000_000);
            if number.is_multiple_of(SIZE) {
                self.tick();
            }
        }
        self.tick();
        self.check(self.senders.len() - 1, 1_000_000);
    }

    /// Adds one transfer of each sender to the pool.
    fn fill(&mut self) {
        let count = self.senders.len();
        for number in 0..count {
            self.transfer(number, (number * 7 + 3) % count, 1);
        }
    }

    fn transfer(&mut self, from: usize, to: usize, amount: u64) {
        let to = self.sender(to).address;
        let params =
            [param("to", "ByStr20", &format!("0x{to}")), param("amount", "Uint128", &amount.to_string())].join(",");
        let data = format!(r#"{{"_tag":"Transfer","params":[{params}]}}"#);
        self.submit(from, 1_000, self.token, "", &data);
    }

    fn submit(&mut self, from: usize, gas: u64, to: Address, code: &str, data: &str) {
        let sender = self.senders.get_mut(from).expect("there are so many senders");
        sender.nonce += 1;
        let transaction = UnsignedTransaction {
            version: Version::of_chain(self.chain.config().chain_id),
            nonce: Nonce::new(sender.nonce),
            to,
            amount: Qa::ZERO,
            gas_price: GasPrice::new(Qa::new(PRICE)),
            gas_limit: Gas::new(gas),
            code: code.to_owned(),
            data: data.to_owned(),
            sender_key: sender.key.public_key(),
        };
        let transaction = transaction.sign(&sender.key).expect("a core is not empty");
        let transaction = self.chain.admit(transaction, false).expect("the transaction is in order");
        self.chain.submit(transaction, Timestamp::new(self.now)).expect("the pool has room");
    }

    fn later(&mut self) -> Timestamp {
        self.now += 1_000_000;
        Timestamp::new(self.now)
    }

    fn tick(&mut self) {
        let at = self.later();
        let effects = self.engine.step(Input::Tick(at), &mut self.producer).expect("a block is made");
        assert_eq!((effects.len(), self.chain.waiting()), (1, 0));
    }

    fn account(&self, address: &Address) -> Account {
        self.chain.snapshot().account(address).expect("the state is readable").unwrap_or_default()
    }

    fn balance_key(&self, holder: usize) -> StorageKey {
        StorageKey::map_entry(&self.token, "balances", [MapKey::address(self.sender(holder).address)])
    }

    /// Checks that a sender has this number of tokens.
    fn check(&self, holder: usize, tokens: u64) {
        let key = self.balance_key(holder).variable_hash();
        let state = self.producer.store().snapshot();
        let value = state.storage_value(&self.token, &key).expect("the state is readable");
        assert_eq!(value, Some(format!("\"{tokens}\"").into_bytes()));
    }
}

fn key(number: usize) -> KeyPair {
    let seed = sha256(&[b"sender", &number.to_be_bytes()]);
    KeyPair::from(SecretKey::from_bytes(seed).expect("a digest is a secret key"))
}

fn param(name: &str, ty: &str, value: &str) -> String {
    format!(r#"{{"vname":"{name}","type":"{ty}","value":"{value}"}}"#)
}

fn init(owner: &Address) -> String {
    let operators = r#"{"vname":"default_operators","type":"List ByStr20","value":[]}"#.to_owned();
    let params = [
        param("_scilla_version", "Uint32", "0"),
        param("contract_owner", "ByStr20", &format!("0x{owner}")),
        param("name", "String", "Token"),
        param("symbol", "String", "TOK"),
        param("decimals", "Uint32", "12"),
        param("init_supply", "Uint128", "1000000000000000000000000"),
        operators,
    ];
    format!("[{}]", params.join(","))
}

/// Measures selection, execution, state root and headers of a block of transfers, without signatures and disk.
fn execute(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("token/execute");
    group.throughput(Throughput::Elements(SIZE as u64));
    group.bench_function(BenchmarkId::from_parameter(SIZE), |bencher| {
        let mut bench = Bench::in_memory(SIZE);
        bench.fill();
        let at = bench.later();
        bencher.iter(|| {
            let block = bench.producer.propose(at, Cause::Event).expect("a block is built");
            assert_eq!(block.transactions().len(), SIZE);
            assert!(block.transactions().iter().all(|(_, receipt)| receipt.success));
            black_box(block)
        });
    });
    group.finish();
}

/// Measures a block of transfers from the pool to the disk.
fn whole(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("token/whole");
    group.throughput(Throughput::Elements(SIZE as u64));
    group.bench_function(BenchmarkId::from_parameter(SIZE), |bencher| {
        let mut bench = Bench::on_disk(SIZE);
        bencher.iter_custom(|iterations| timed(iterations, &mut bench, Bench::fill));
    });
    group.finish();
}

/// Measures a block with one deployment from the pool to the disk.
fn deploy(criterion: &mut Criterion) {
    criterion.bench_function("token/deploy", |bencher| {
        let mut bench = Bench::on_disk(2);
        let deploy = |bench: &mut Bench| {
            bench.deploy();
        };
        bencher.iter_custom(|iterations| timed(iterations, &mut bench, deploy));
    });
}

/// Returns the time of `iterations` blocks. `fill` adds the transactions of each block to the pool.
fn timed(iterations: u64, bench: &mut Bench, fill: impl Fn(&mut Bench)) -> Duration {
    let mut spent = Duration::ZERO;
    for _ in 0..iterations {
        fill(bench);
        let start = Instant::now();
        bench.tick();
        spent += start.elapsed();
    }
    spent
}

/// Measures the proof of a map entry, from the entry to the state root of the block.
fn proof(criterion: &mut Criterion) {
    let mut prepared = None;
    criterion.bench_function("token/proof", |bencher| {
        let bench = prepared.get_or_insert_with(|| Bench::on_disk(HOLDERS));
        let snapshot = bench.chain.snapshot();
        let mut holders = (0..HOLDERS).cycle().step_by(7);
        bencher.iter(|| {
            let key = bench.balance_key(holders.next().expect("a cycle does not end")).variable_hash();
            let proof = snapshot.state_proof(&bench.token, &key, None).expect("the state can be proved");
            assert!(proof.state.len() > 3);
            black_box(proof)
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(5));
    targets = execute, whole, deploy, proof
}
criterion_main!(benches);
