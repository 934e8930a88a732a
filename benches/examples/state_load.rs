//! A long run of the store: loads many accounts, changes some of them in each block, and measures the cost.
//!
//! ```sh
//! state_load() { cargo run --profile dist -p silica-benches --example state_load -- "$@"; }
//! state_load run DIR ACCOUNTS BLOCKS UPDATES        # commits blocks, makes proofs, prints sizes, stops
//! state_load load DIR ITEMS                         # loads items in the order of the trie; continues an earlier load
//! state_load more DIR ACCOUNTS BLOCKS UPDATES       # like `run`, but with the store of an earlier command
//! state_load kill DIR ACCOUNTS BLOCKS UPDATES       # like `run`, but ends with SIGKILL
//! state_load kill-more DIR ACCOUNTS BLOCKS UPDATES  # like `more`, but ends with SIGKILL
//! state_load open DIR ACCOUNTS                      # opens the store of an earlier command, makes proofs
//! state_load idle DIR ACCOUNTS BLOCKS UPDATES       # changes few accounts, and prints the disk usage
//! state_load compare DIR ACCOUNTS BLOCKS UPDATES    # in turns with eth_trie over sled
//! state_load dump DIR                               # reads the entries of the contract in key order
//! state_load prepare ACCOUNTS BLOCKS UPDATES        # computes roots in memory, for a profiler
//! ```
//!
//! Variables of the environment:
//!
//! - `CACHE_MB` and `CHECKPOINT_MB` replace the defaults of the store.
//! - `ACCESS=zipf` selects the changed accounts with the Zipf distribution of exponent 1. With `ACCESS=uniform`, the
//!   default, each account has the same probability.
//! - `OF=entries` or `OF=contracts` replaces the accounts in `load`, `more`, `kill-more` and `open`: by entries of one
//!   contract, or by contracts with two entries each. A change gives an entry a new value.
//! - `LOAD_STEP` is the number of accounts of one block during the load. Without it, block 0 has all accounts.
//!
//! A malformed argument or variable is an error.
#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fs,
    hint::black_box,
    ops::RangeInclusive,
    path::Path,
    time::{Duration, Instant},
};

use mimalloc::MiMalloc;
use silica_benches::{
    Access, CONTRACT, Random, Subject, access_setting, accounts, address, block, commit, contract, genesis,
    measure::{Stopwatch, kill, percentiles, resident, valid},
    number_setting,
    peer::Peer,
    updates,
};
use silica_protocol::{BlockNumber, StorageKey};
use silica_state::{StateDiff, Store, StoreOptions};

/// The allocator of the node.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let number = |at: usize, default: u64| {
        let given = args.get(at).map(OsStr::new);
        valid(number_setting(&format!("argument {at}"), given, 1..=u64::MAX)).unwrap_or(default)
    };
    // A malformed variable is an error before the run, also if the command does not use the variable.
    let _: (StoreOptions, Access, Subject, Option<u64>) = (options(), access(), subject(), load_step());
    let command = args.first().map(String::as_str);
    let for_accounts = ["run", "kill", "idle", "compare", "prepare"];
    if subject() != Subject::Accounts && command.is_some_and(|command| for_accounts.contains(&command)) {
        valid::<()>(Err(format!("OF: expected accounts for this command, got {:?}", subject())));
    }
    let dir = args.get(1).map_or(Path::new("state-load"), |dir| Path::new(dir));
    let load = Load { accounts: number(2, 1_000_000), blocks: number(3, 500), updates: number(4, 1000) };
    match command {
        Some("run") => close(run(dir, load)),
        Some("more") => close(run_more(dir, load)),
        Some("kill") => {
            let _store = run(dir, load);
            kill();
        }
        Some("kill-more") => {
            let _store = run_more(dir, load);
            kill();
        }
        Some("load") => close(load_in_order(dir, load.accounts)),
        Some("open") => open(dir, load.accounts),
        Some("idle") => idle(dir, load),
        Some("compare") => compare(dir, load),
        Some("dump") => dump(dir),
        Some("prepare") => {
            prepare(Load { accounts: number(1, 1_000_000), blocks: number(2, 500), updates: number(3, 1000) });
        }
        _ => println!("see the head of this file"),
    }
}

/// Number of items that [`load_in_order`] sorts at once.
const IN_MEMORY: u64 = 8_000_000;

/// The size of a load.
#[derive(Clone, Copy)]
struct Load {
    accounts: u64,
    blocks: u64,
    /// Number of changed accounts in each block.
    updates: u64,
}

/// Measurements from the start of the meter on.
struct Meter {
    watch: Stopwatch,
    updates: u64,
    times: Vec<Duration>,
}

impl Meter {
    fn start() -> Self {
        Self { watch: Stopwatch::start(), updates: 0, times: Vec::new() }
    }

    fn block(&mut self, taken: Duration, updates: u64) {
        self.times.push(taken);
        self.updates += updates;
    }

    fn rate(&self) -> u128 {
        u128::from(self.updates) * 1_000_000 / self.times.iter().sum::<Duration>().as_micros().max(1)
    }

    fn print(&self) {
        let (blocks, rate) = (self.times.len(), self.rate());
        println!("processor time: {:?} an update, checkpoints included", self.watch.processor_each(self.updates));
        println!("sustained: {rate} updates/s over {blocks} blocks in {:?}", self.watch.elapsed());
        let [median, most, slowest] = percentiles(&self.times);
        println!("blocks: median {median:?}, 99 of 100 within {most:?}, slowest {slowest:?}");
    }
}

/// Creates a store, and commits its first block with this state diff.
fn create(dir: &Path, diff: &StateDiff) -> Store {
    // The directory can exist from an earlier run.
    let _: std::io::Result<()> = fs::remove_dir_all(dir);
    let store = Store::open(dir, options()).expect("a new store opens");
    let start = Instant::now();
    commit(&store, diff).expect("genesis is committed");
    println!("loaded in {:?}, {} MiB resident", start.elapsed(), resident());
    store
}

/// Creates a store with accounts, in one block or in blocks of `LOAD_STEP` accounts.
fn create_with_accounts(dir: &Path, count: u64) -> Store {
    let step = load_step().unwrap_or(count);
    let mut random = Random::new(1);
    let store = create(dir, &accounts(&mut random, 0..count.min(step)));
    let (watch, mut loaded) = (Stopwatch::start(), count.min(step));
    while loaded < count {
        let next = count.min(loaded.saturating_add(step));
        commit(&store, &accounts(&mut random, loaded..next)).expect("a block is committed");
        loaded = next;
    }
    if step < count {
        println!("all loaded in {:?} ({:?} of processor time)", watch.elapsed(), watch.processor());
    }
    println!("{loaded} accounts, {} MiB resident", resident());
    store
}

/// Loads the items in the order of the trie, in blocks of `LOAD_STEP` items. Each block changes one part of the trie, so
/// the load needs less time than in the order of the numbers. The resulting trie is the same. If the store has a part of
/// the items, loads the rest.
fn load_in_order(dir: &Path, count: u64) -> Store {
    // Only the newest state is of interest, and each state of the state history keeps its items in memory.
    let store = Store::open(dir, StoreOptions { history: 1, ..options() }).expect("the store opens");
    let step = usize::try_from(load_step().unwrap_or(100_000)).unwrap_or(usize::MAX);
    if store.snapshot().head().is_none() {
        commit(&store, &contract()).expect("genesis is committed");
    }
    let done = store.snapshot().head().map_or(0, |head| head.number.get());
    let (mut loaded, watch) = (0, Stopwatch::start());
    for (block, numbers) in (1..).zip(subject().ordered(count, step, IN_MEMORY)) {
        if block == done || block == done + 1 {
            check_loaded(&store, &numbers, block == done);
        }
        if block > done {
            commit(&store, &subject().create(&mut Random::new(block), &numbers)).expect("a block is committed");
        }
        loaded += numbers.len() as u64;
        if block % 50 == 0 || loaded == count {
            let (time, processor) = (watch.elapsed(), watch.processor());
            println!("{loaded} loaded in {time:?}, {processor:?} of processor time, {} MiB resident", resident());
        }
    }
    print_size(&store, count);
    store
}

/// Ends the program if the store was loaded with other numbers in this block.
fn check_loaded(store: &Store, numbers: &[u64], expected: bool) {
    let snapshot = store.snapshot();
    let is_in = |number: &u64| subject().is_in(snapshot.state(), *number).expect("the state can be read");
    if numbers.first().into_iter().chain(numbers.last()).any(|number| is_in(number) != expected) {
        valid::<()>(Err("expected ITEMS, OF and LOAD_STEP of the interrupted load, got other values".to_owned()));
    }
}

fn run(dir: &Path, load: Load) -> Store {
    change(create_with_accounts(dir, load.accounts), load)
}

fn run_more(dir: &Path, load: Load) -> Store {
    let store = Store::open(dir, options()).expect("the store opens");
    println!("opened: {:?}, {} MiB resident", store.outcome(), resident());
    change(store, load)
}

/// Commits blocks that change accounts, and makes proofs.
fn change(store: Store, load: Load) -> Store {
    let head = store.snapshot().head().map_or(0, |head| head.number.get());
    // Another seed for each number of blocks, so that later commands draw other accounts.
    let (mut random, access, subject) = (Random::new(7 + head), access(), subject());
    commit_blocks(&store, load, |number| subject.change(&mut random, load.accounts, load.updates, number, access));
    questions(&store, load.accounts);
    print_size(&store, load.accounts);
    store
}

/// Commits blocks, and prints measurements after every 100 blocks. At the end, prints measurements of all blocks except
/// the first fifth.
fn commit_blocks(store: &Store, load: Load, mut diff: impl FnMut(u64) -> StateDiff) {
    let (mut meter, mut part) = (Meter::start(), Meter::start());
    for number in 1..=load.blocks {
        let diff = diff(number);
        let taken = commit_one(store, &diff);
        // A number that was drawn twice is one update.
        let changed = diff.accounts.len() + diff.storage.values().map(BTreeMap::len).sum::<usize>();
        meter.block(taken, changed as u64);
        part.block(taken, changed as u64);
        if number == load.blocks / 5 {
            meter = Meter::start();
        }
        if number % 100 == 0 {
            let size = store.size_on_disk().expect("the files are there") >> 20;
            let (rate, processor) = (part.rate(), part.watch.processor_each(part.updates));
            println!(
                "block {number}: {rate} updates/s, {processor:?} an update, {} MiB resident, {size} MiB on disk",
                resident()
            );
            part = Meter::start();
        }
    }
    meter.print();
}

fn commit_one(store: &Store, diff: &StateDiff) -> Duration {
    let head = store.snapshot().head().map(|head| (head.number, head.hash));
    let start = Instant::now();
    let state = store.extend(store.prepare(), diff).expect("the state can be read");
    store.commit(&block(head, state.root()), state).expect("a block is committed");
    start.elapsed()
}

/// Adds blocks that change random accounts among at most 1,000 accounts.
fn idle(dir: &Path, load: Load) {
    let store = create(dir, &genesis(load.accounts));
    print_size(&store, load.accounts);
    let mut random = Random::new(7);
    let accounts = load.accounts.min(1000);
    commit_blocks(&store, load, |number| updates(&mut random, accounts, load.updates, number, Access::Uniform));
    print_size(&store, load.accounts);
    close(store);
}

/// Commits each state diff to the peer, and then to the store, so that other load slows both equally.
fn compare(dir: &Path, load: Load) {
    let store = create(&dir.join("silica"), &genesis(load.accounts));
    let start = Instant::now();
    // The directory can exist from an earlier run.
    let _: std::io::Result<()> = fs::remove_dir_all(dir.join("eth_trie"));
    let mut peer = Peer::new(&dir.join("eth_trie"), &genesis(load.accounts));
    println!("eth_trie: loaded in {:?}, {} MiB resident", start.elapsed(), resident());
    let (mut ours, mut theirs, mut random) = (Meter::start(), Meter::start(), Random::new(7));
    for number in 1..=load.blocks {
        let diff = updates(&mut random, load.accounts, load.updates, number, access());
        let start = Instant::now();
        let root = peer.apply(&diff);
        peer.flush();
        theirs.block(start.elapsed(), load.updates);
        ours.block(commit_one(&store, &diff), load.updates);
        assert_eq!(root, store.snapshot().state().root().to_bytes(), "block {number}");
    }
    let (rate, peer_rate) = (ours.rate(), theirs.rate());
    let times = rate * 10 / peer_rate.max(1);
    println!("turn by turn: {rate} updates/s, eth_trie {peer_rate} updates/s: {}.{} times", times / 10, times % 10);
    print_size(&store, load.accounts);
    let size = peer.size_on_disk();
    println!("eth_trie: disk: {} MiB, {} bytes per account", size >> 20, size / load.accounts);
    close(store);
}

/// Computes the state roots of many blocks, each on the same state in memory.
fn prepare(load: Load) {
    let store = Store::ephemeral(StoreOptions { checkpoint_bytes: u64::MAX, ..options() });
    commit(&store, &genesis(load.accounts)).expect("genesis is committed");
    let mut random = Random::new(7);
    let diff = |nonce| updates(&mut random, load.accounts, load.updates, nonce, access());
    let diffs: Vec<_> = (0..100).map(diff).collect();
    let mut meter = Meter::start();
    for diff in diffs.iter().cycle().take(usize::try_from(load.blocks).unwrap_or(usize::MAX)) {
        let diff = diff.clone();
        let start = Instant::now();
        black_box(store.extend(store.prepare(), &diff).expect("the state can be read").root());
        meter.block(start.elapsed(), load.updates);
    }
    meter.print();
}

fn open(dir: &Path, accounts: u64) {
    let watch = Stopwatch::start();
    let store = Store::open(dir, options()).expect("the store opens");
    println!("opened in {:?} ({:?} of processor time): {:?}", watch.elapsed(), watch.processor(), store.outcome());
    println!("{} MiB resident", resident());
    let head = store.snapshot().head().expect("there is a head").number;
    let watch = Stopwatch::start();
    black_box(store.snapshot().at(BlockNumber::new(head.get().saturating_sub(25))).expect("the window is there"));
    println!("first view of an older block in {:?} ({:?} of processor time)", watch.elapsed(), watch.processor());
    questions(&store, accounts);
    println!("{} MiB resident", resident());
}

/// Reads all entries of the contract in the order of their keys, three times. Later reads can use caches.
fn dump(dir: &Path) {
    let store = Store::open(dir, options()).expect("the store opens");
    println!("{} MiB resident", resident());
    let snapshot = store.snapshot();
    let all = StorageKey::from_text(CONTRACT.to_string());
    for _ in 0..3 {
        let watch = Stopwatch::start();
        let entries = snapshot.state().entries(&CONTRACT, &all, None).expect("the state can be read");
        let (mut number, mut bytes) = (0_u64, 0);
        for entry in entries {
            let (key, value) = entry.expect("the state can be read");
            number += 1;
            bytes += key.as_str().len() + value.len();
        }
        println!(
            "{number} entries, {} MiB, in {:?}, {:?} of processor time, {} MiB resident",
            bytes >> 20,
            watch.elapsed(),
            watch.processor(),
            resident()
        );
    }
}

/// Returns the default options, with the values of the environment variables.
fn options() -> StoreOptions {
    let megabytes = |name, default| environment(name, 0..=1 << 40).map_or(default, |megabytes| megabytes << 20);
    let defaults = StoreOptions::default();
    StoreOptions {
        cache_bytes: megabytes("CACHE_MB", defaults.cache_bytes),
        checkpoint_bytes: megabytes("CHECKPOINT_MB", defaults.checkpoint_bytes),
        ..defaults
    }
}

fn load_step() -> Option<u64> {
    environment("LOAD_STEP", 1..=u64::MAX)
}

/// Returns the number in a variable of the environment.
fn environment(name: &str, range: RangeInclusive<u64>) -> Option<u64> {
    valid(number_setting(name, env::var_os(name).as_deref(), range))
}

fn subject() -> Subject {
    valid(Subject::setting(env::var_os("OF").as_deref()))
}

fn access() -> Access {
    valid(access_setting(env::var_os("ACCESS").as_deref()))
}

/// Number of items whose proofs and accounts a command reads.
const SAMPLE: u64 = 20_000;

fn questions(store: &Store, accounts: u64) {
    let (snapshot, count) = (store.snapshot(), accounts.min(SAMPLE));
    let head = snapshot.head().expect("there is a head").number;
    let each = |time: Duration| time / u32::try_from(count).unwrap_or(u32::MAX).max(1);
    for behind in [0, head.get().min(49)] {
        let view = snapshot.at(BlockNumber::new(head.get() - behind)).expect("the block is in the window");
        let sample: Vec<_> = (0..count)
            .map(|number| (number * 7919 + behind) % accounts)
            .map(|number| (address(number), subject().entry(number).map(|(of, key)| (of, key.variable_hash()))))
            .collect();
        for round in ["cold", "warm"] {
            let watch = Stopwatch::start();
            for (address, entry) in &sample {
                let proof = match entry {
                    Some((contract, entry)) => view.storage_proof(contract, entry),
                    None => view.account_proof(address),
                };
                black_box(proof.expect("the state can be read"));
            }
            println!(
                "proof, {behind} blocks back, {round}: {:?}, {:?} of processor time",
                each(watch.elapsed()),
                watch.processor_each(count)
            );
        }
        let start = Instant::now();
        for (address, _) in &sample {
            black_box(view.account(address).expect("the state can be read"));
        }
        println!("account, {behind} blocks back: {:?}", each(start.elapsed()));
    }
    let state = snapshot.state();
    for number in 0..count {
        assert!(subject().is_in(state, number).expect("the state can be read"), "item {number} is missing");
    }
    println!("block {head} has the state root {}", state.root());
}

fn print_size(store: &Store, accounts: u64) {
    let size = store.size_on_disk().expect("the files are there");
    println!("disk: {} MiB, {} bytes per account", size >> 20, size / accounts);
}

fn close(store: Store) {
    let start = Instant::now();
    store.close().expect("the store closes");
    println!("closed in {:?}", start.elapsed());
}
