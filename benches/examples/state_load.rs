//! A long run of the store: load many accounts, change some in block after block, and look at what it costs.
//!
//! ```sh
//! cargo run --release --example state_load -- run DIR ACCOUNTS BLOCKS UPDATES
//! cargo run --release --example state_load -- open DIR ACCOUNTS
//! ```
#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::{
    env, fs,
    hint::black_box,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use silica_benches::{Random, address, block, commit, genesis, updates};
use silica_protocol::BlockNumber;
use silica_state::{Store, StoreOptions};

fn main() {
    let args: Vec<String> = env::args().collect();
    let number = |at: usize, default: u64| args.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let dir = args.get(2).map_or(Path::new("state-load"), |dir| Path::new(dir));
    match args.get(1).map(String::as_str) {
        Some("run") => run(dir, number(3, 1_000_000), number(4, 500), number(5, 1000), args.get(6).is_some()),
        Some("prepare") => prepare(number(2, 1_000_000), number(3, 1000), number(4, 1000)),
        Some("go") => go_on(dir, number(3, 1_000_000), number(4, 300), number(5, 1000)),
        Some("open") => open(dir, number(3, 1_000_000)),
        _ => println!("see the head of this file"),
    }
}

fn run(dir: &Path, accounts: u64, blocks: u64, per_block: u64, killed: bool) {
    // The directory may be there from the last run, or not.
    let _: std::io::Result<()> = fs::remove_dir_all(dir);
    let store = Store::open(dir, options()).expect("a new store opens");
    let start = Instant::now();
    commit(&store, genesis(accounts)).expect("genesis is committed");
    println!("{accounts} accounts loaded in {:?}, {} MB resident", start.elapsed(), resident());
    let mut random = Random::new(7);
    let (mut slowest, mut preparing, mut processor) = (0, Duration::ZERO, 0);
    let (mut begun, mut part) = (Instant::now(), Instant::now());
    let warm = blocks / 5;
    for number in 1..=blocks {
        let diff = updates(&mut random, accounts, per_block, number);
        let start = Instant::now();
        let state = store.prepare(diff).expect("the state can be read");
        preparing += start.elapsed();
        let head = store.snapshot().head().map(|head| (head.number, head.hash));
        store.commit(&block(head, state.root()), state).expect("a block is committed");
        slowest = slowest.max(start.elapsed().as_micros());
        if number == warm {
            (begun, slowest, preparing) = (Instant::now(), 0, Duration::ZERO);
            processor = processor_time();
        }
        if number % 100 == 0 {
            let rate = 100 * per_block * 1000 / u64::try_from(part.elapsed().as_millis()).unwrap_or(1).max(1);
            println!("block {number}: {rate} updates/s, {} MB resident", resident());
            part = Instant::now();
        }
    }
    let seconds = begun.elapsed().as_micros();
    let rate = u128::from((blocks - warm) * per_block) * 1_000_000 / seconds.max(1);
    println!("sustained: {rate} updates/s over {} blocks, slowest commit {slowest} us", blocks - warm);
    let processor = (processor_time() - processor) * 1000 / ((blocks - warm) * per_block);
    println!("processor time: {processor} us an update, checkpoints included");
    println!("of which preparing: {:?} a block", preparing / u32::try_from(blocks - warm).unwrap_or(1));
    questions(&store, accounts);
    let size = store.size_on_disk().expect("the files are there");
    println!("disk: {} MB, {} bytes per account", size >> 20, size / accounts);
    if killed {
        kill();
    }
    let start = Instant::now();
    store.close().expect("the store closes");
    println!("closed in {:?}", start.elapsed());
}

/// Goes on with what `run` left.
fn go_on(dir: &Path, accounts: u64, blocks: u64, per_block: u64) {
    let store = Store::open(dir, options()).expect("the store opens");
    println!("opened, {} MB resident", resident());
    let mut random = Random::new(99);
    for number in 1..=blocks {
        commit(&store, updates(&mut random, accounts, per_block, number)).expect("a block is committed");
        if number % 50 == 0 {
            println!("block {number}: {} MB resident", resident());
        }
    }
}

/// Prepares the same kind of block again and again, on top of the same state, which is in memory.
fn prepare(accounts: u64, blocks: u64, per_block: u64) {
    let store = Store::ephemeral(StoreOptions { checkpoint_bytes: u64::MAX, ..options() });
    commit(&store, genesis(accounts)).expect("genesis is committed");
    let mut random = Random::new(7);
    let diffs: Vec<_> = (0..100).map(|nonce| updates(&mut random, accounts, per_block, nonce)).collect();
    let (begun, processor) = (Instant::now(), processor_time());
    for diff in diffs.iter().cycle().take(usize::try_from(blocks).unwrap_or(usize::MAX)) {
        black_box(store.prepare(diff.clone()).expect("the state can be read").root());
    }
    let processor = (processor_time() - processor) * 1_000_000 / (blocks * per_block);
    println!(
        "prepared in {:?} a block, {processor} ns of processor time an update",
        begun.elapsed() / u32::try_from(blocks).unwrap_or(1)
    );
}

fn open(dir: &Path, accounts: u64) {
    let start = Instant::now();
    let store = Store::open(dir, options()).expect("the store opens");
    println!("opened in {:?}: {:?}, {} MB resident", start.elapsed(), store.outcome(), resident());
    let start = Instant::now();
    let head = store.snapshot().head().expect("there is a head").number;
    black_box(store.snapshot().at(BlockNumber::new(head.get() - 25)).expect("the window is there"));
    println!("first view of an older block in {:?}", start.elapsed());
    questions(&store, accounts);
    println!("{} MB resident", resident());
}

/// The defaults, but for what the environment says: `CACHE_MB` and `CHECKPOINT_MB`.
fn options() -> StoreOptions {
    let megabytes = |name, default: u64| {
        env::var(name).ok().and_then(|text| text.parse::<u64>().ok()).map_or(default, |megabytes| megabytes << 20)
    };
    let defaults = StoreOptions::default();
    StoreOptions {
        cache_bytes: megabytes("CACHE_MB", defaults.cache_bytes),
        checkpoint_bytes: megabytes("CHECKPOINT_MB", defaults.checkpoint_bytes),
        ..defaults
    }
}

fn questions(store: &Store, accounts: u64) {
    let snapshot = store.snapshot();
    let head = snapshot.head().expect("there is a head").number;
    for behind in [0, 49] {
        let view = snapshot.at(BlockNumber::new(head.get() - behind)).expect("the block is in the window");
        let sample: Vec<_> = (0..20_000).map(|number| address((number * 7919 + behind) % accounts)).collect();
        for round in ["cold", "warm"] {
            let start = Instant::now();
            for address in &sample {
                black_box(view.account_proof(address).expect("the state can be read"));
            }
            println!("proof, {behind} blocks back, {round}: {:?}", start.elapsed() / 20_000);
        }
        let start = Instant::now();
        for address in &sample {
            black_box(view.account(address).expect("the state can be read"));
        }
        println!("account, {behind} blocks back: {:?}", start.elapsed() / 20_000);
    }
}

fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Processor time of this process, in milliseconds.
fn processor_time() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|text| text.parse::<u64>().ok());
    ticks.sum::<u64>() * 10
}

/// Ends the process as a crash does.
fn kill() {
    let pid = std::process::id().to_string();
    let status = Command::new("kill").args(["-9", &pid]).status();
    println!("not killed: {status:?}");
}
