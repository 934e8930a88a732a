//! A long record: writes blocks of ten payments through the store, and measures the writes, openings and queries.
//!
//! ```sh
//! record_load() { cargo run --profile dist -p silica-benches --example record_load -- "$@"; }
//! record_load write DIR PAYMENTS    # adds blocks until the record has this number of payments, and stops in order
//! record_load kill DIR PAYMENTS     # like `write`, but ends with SIGKILL
//! record_load open DIR              # opens the record of an earlier command, and reads payments by their hashes
//! ```
//!
//! DIR is a new directory, or the data directory of a node that has made one block, for example:
//!
//! ```sh
//! silica --data-dir DIR --blocks-per-ds-epoch 1000000000000 --index off
//! silica load --payments 1
//! ```
//!
//! 64 blocks share a flush, as the empty blocks of a request do. Each of the last 1,000 blocks has its own flush: they
//! give the latency of a commit. The variable `INDEX` has the kinds of the history index, as the option `--index` of
//! the node; without it, the store has no history index. `DURABILITY=relaxed` leaves out all flushes.
#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::{
    env,
    ffi::OsStr,
    hint::black_box,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use mimalloc::MiMalloc;
use silica_benches::{
    Random,
    measure::{Stopwatch, kill, percentiles, resident, size_of, valid},
    number_setting,
    record::{PER_BLOCK, Recorder, payment_hash},
};
use silica_state::{Durability, IndexKinds, StoreOptions};

/// The allocator of the node.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Number of blocks that share a flush.
const SHARED: u64 = 64;
/// Number of blocks at the end of a run that have their own flush.
const SINGLE: u64 = 1_000;
/// Number of payments after which a run prints figures.
const STEP: u64 = 1_000_000;
/// Number of payments that an opening reads.
const SAMPLE: u64 = 2_000;

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let number =
        |text: &str| valid(number_setting("PAYMENTS", Some(OsStr::new(text)), 1..=u64::MAX)).unwrap_or_default();
    match *args {
        ["write", dir, payments] => {
            let watch = Stopwatch::start();
            write(Path::new(dir), number(payments)).close();
            println!("all in {:?}", watch.elapsed());
            print_size(Path::new(dir), number(payments));
        }
        ["kill", dir, payments] => {
            let _recorder = write(Path::new(dir), number(payments));
            kill();
        }
        ["open", dir] => open(Path::new(dir)),
        _ => println!("see the head of this file"),
    }
}

fn write(dir: &Path, payments: u64) -> Recorder {
    let mut recorder = open_recorder(dir);
    let (watch, before) = (Stopwatch::start(), recorder.payments());
    let (mut part, mut of_part) = (Stopwatch::start(), before);
    let mut times = Vec::new();
    while recorder.payments() < payments {
        let left = payments.saturating_sub(recorder.payments()).div_ceil(PER_BLOCK);
        let begun = Instant::now();
        recorder.append(left == 1);
        if left <= SINGLE {
            recorder.flush();
            times.push(begun.elapsed());
        } else if left.is_multiple_of(SHARED) || left == SINGLE + 1 {
            recorder.flush();
        }
        if recorder.payments() / STEP > of_part / STEP {
            let each = part.processor_each(recorder.payments() - of_part);
            println!("{} payments: {each:?} of processor time a payment, {} MiB", recorder.payments(), resident());
            (part, of_part) = (Stopwatch::start(), recorder.payments());
        }
    }
    let written = recorder.payments() - before;
    let each = watch.processor_each(written);
    println!("{written} payments in {:?}: {each:?} of processor time a payment", watch.elapsed());
    println!("commit of a block with its flush: median, 99 of 100, slowest: {:?}", percentiles(&times));
    println!("{} MiB resident", resident());
    let lag = Instant::now();
    let head = recorder.store().snapshot().head().map_or(0, |head| head.number.get());
    while recorder.store().snapshot().index_progress().is_some_and(|progress| progress.blocks <= head) {
        thread::sleep(Duration::from_millis(1));
    }
    println!("the history index has the last block after {:?}", lag.elapsed());
    recorder
}

fn open(dir: &Path) {
    let recorder = open_recorder(dir);
    let payments = recorder.payments();
    let snapshot = recorder.store().snapshot();
    let mut random = Random::new(payments);
    for _ in 0..2 {
        let sample: Vec<_> = (0..SAMPLE).map(|_| payment_hash(random.below(payments))).collect();
        for round in ["first", "again"] {
            let (watch, mut found, mut times) = (Stopwatch::start(), Vec::new(), Vec::new());
            for hash in &sample {
                let begun = Instant::now();
                found.push(snapshot.find_transaction(hash).expect("the record can be read"));
                times.push(begun.elapsed());
            }
            let search = watch.processor_each(SAMPLE);
            for (found, time) in found.iter().zip(&mut times) {
                let begun = Instant::now();
                let payment = found.read().expect("the record can be read");
                black_box(payment.expect("the record has the payment"));
                *time += begun.elapsed();
            }
            let each = watch.processor_each(SAMPLE);
            println!(
                "payment by hash, {round}: {each:?} of processor time, {search:?} of it for the search of its place"
            );
            println!("payment by hash, {round}: median, 99 of 100, slowest: {:?}", percentiles(&times));
        }
    }
    println!("{} MiB resident", resident());
    print_size(dir, payments);
}

fn open_recorder(dir: &Path) -> Recorder {
    let watch = Stopwatch::start();
    let recorder = Recorder::open(dir, options());
    let outcome = recorder.store().outcome();
    println!("opened in {:?}, {:?} of processor time: {outcome:?}", watch.elapsed(), watch.processor());
    println!("{} payments, {} MiB resident", recorder.payments(), resident());
    recorder
}

/// Prints the bytes of the files for each payment.
fn print_size(dir: &Path, payments: u64) {
    for part in ["chain", "state", "changes", "index"] {
        let size = size_of(&dir.join("store").join(part));
        println!("{part}: {} MiB, {} bytes a payment", size >> 20, size / payments.max(1));
    }
}

/// Returns the default options, with the values of the environment variables.
fn options() -> StoreOptions {
    let text = |name: &str| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let index = text("INDEX").map_or(Ok(IndexKinds::default()), |kinds| kinds.parse());
    let durability = match text("DURABILITY").as_deref() {
        None | Some("flush") => Ok(Durability::Flush),
        Some("relaxed") => Ok(Durability::Relaxed),
        Some(other) => Err(format!("DURABILITY: expected flush or relaxed, got {other}")),
    };
    StoreOptions {
        index: valid(index.map_err(|error| format!("INDEX: {error}"))),
        durability: valid(durability),
        ..StoreOptions::default()
    }
}
