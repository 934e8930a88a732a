//! Kills the node with SIGKILL under load, repeatedly with one data directory.
//!
//! After each kill, `silica db check` checks the directory as the crash left it, and the node starts again. Every
//! acknowledged transaction must exist, under its hash and in its block, and must count in the nonce and balance of its
//! sender. The state of the deployed tokens must match the transfers.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{
    Dice, Directory, Node, Wallet,
    chain::{everything, number},
    node::run as run_silica,
};

use crate::load::{Kept, load};

/// Number of commits after which the node has written a checkpoint of the state.
const COMMITS: usize = 4_200;

/// Number of trials between two rebuilds of a copy of the data directory.
const REBUILD_EVERY: u64 = 20;

/// Measurements of all trials.
#[derive(Debug, Default)]
struct Figures {
    early_kills: u64,
    rebuilds: u64,
    slowest_start: Duration,
    slowest_check: Duration,
}

/// Runs `loops` trials: load, a kill, and a check.
///
/// # Panics
///
/// If a check fails.
pub(crate) fn run(loops: u64, seed: u64) {
    let mut dice = Dice::new(seed);
    let directory = Directory::new();
    let data = directory.path().join("data");
    println!("{loops} loops, seed {seed}, data in {}", data.display());
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    // The rows of the blocks before the previous checkpoint move to packs.
    make_empty_blocks(&node);
    make_empty_blocks(&node);
    wait_for_packs(&node, &data);
    node.kill();
    let mut kept = Kept::default();
    let mut figures = Figures::default();
    for turn in 1..=loops {
        let instant = dice.below(3) != 0;
        let mode = if instant { "instant" } else { "interval=15" };
        let begun = Instant::now();
        let node = Node::start_in(&data, &["--block-mode", mode]);
        let started = begun.elapsed();
        figures.slowest_start = figures.slowest_start.max(started);

        kept.check(&node, &mut dice);
        let life = Duration::from_millis(20 + dice.below(600));
        // The signal arrives while requests are in progress, because no sender stops before it.
        let fresh = load(&node, instant, turn, life, || node.signal("KILL"));
        node.kill();
        let acknowledged = kept.add(fresh);
        println!("loop {turn}: {mode}, started in {started:?}, killed after {life:?}, {acknowledged} acknowledged");

        if dice.below(4) == 0 {
            figures.early_kills += 1;
            kill_at_start(&data, Duration::from_micros(dice.below(60_000)));
        }
        figures.slowest_check = figures.slowest_check.max(check_clean(&data));
        if turn.is_multiple_of(REBUILD_EVERY) {
            figures.rebuilds += 1;
            check_rebuild(&data, directory.path());
        }
    }
    let node = Node::start_in(&data, &[]);
    kept.check_all(&node);
    assert!(node.stop().status.success(), "the node stops as it should");
    check_clean(&data);
    println!(
        "{loops} kills under load and {} while starting: {} acknowledged transactions, none lost; {} rebuilds gave the same \
         chain; slowest start {:?}, slowest check {:?}",
        figures.early_kills,
        kept.len(),
        figures.rebuilds,
        figures.slowest_start,
        figures.slowest_check
    );
}

/// Makes empty blocks, each with its own commit.
pub(crate) fn make_empty_blocks(node: &Node) {
    for made in node.call_all(&vec![("IncreaseBlocknum", json!([1])); COMMITS]) {
        made.unwrap_or_else(|refusal| panic!("{refusal:?}"));
    }
}

/// Waits until the rows of older blocks are in packs.
pub(crate) fn wait_for_packs(node: &Node, data: &Path) {
    let packs = data.join("store/chain/pages");
    node.wait_until("packs", |_| fs::metadata(&packs).is_ok_and(|file| file.len() > 0));
}

/// Starts the node, and kills the process after the time `after`. The start of a node usually takes longer.
fn kill_at_start(data: &Path, after: Duration) {
    let path = data.to_str().expect("temporary paths are UTF-8");
    let mut command = silica_tests::node::command(&["--data-dir", path, "--listen", "127.0.0.1:0"]);
    let mut child = command.spawn().expect("the silica binary runs");
    thread::sleep(after);
    child.kill().expect("the process is ours");
    child.wait().expect("the process is ours");
}

/// Checks that `silica db check` finds no damage. Returns the duration of the check.
pub(crate) fn check_clean(data: &Path) -> Duration {
    let begun = Instant::now();
    let check = run_silica(&["db", "check", "--data-dir", data.to_str().expect("temporary paths are UTF-8")]);
    assert!(check.status.success(), "db check finds damage ({}):\n{}", check.status, check.output);
    begun.elapsed()
}

/// Rebuilds a copy of the data directory. Compares all data of both chains, including the state root.
fn check_rebuild(data: &Path, directory: &Path) {
    let copy = directory.join("rebuilt");
    copy_directory(data, &copy);
    let rebuild = run_silica(&["db", "rebuild", "--data-dir", copy.to_str().expect("temporary paths are UTF-8")]);
    assert!(rebuild.status.success(), "db rebuild fails:\n{}", rebuild.output);
    let accounts: Vec<Address> = Wallet::all_funded().map(|wallet| wallet.address()).chain([Address::ZERO]).collect();
    let answers = |data: &Path| {
        // In manual mode, the chain does not change during the check.
        let node = Node::start_in(data, &["--block-mode", "manual"]);
        let answers = everything(&node, &accounts).unwrap_or_else(|refusal| panic!("{refusal:?}"));
        let latest = node.result("GetLatestTxBlock", &json!([]));
        let root = latest.pointer("/header/StateRootHash").cloned().expect("a header has a root");
        assert!(node.stop().status.success(), "the node stops as it should");
        (root, answers)
    };
    let (original, rebuilt) = (answers(data), answers(&copy));
    assert_eq!(original.0, rebuilt.0, "the state root after a rebuild");
    assert!(original.1 == rebuilt.1, "an answer changed with the rebuild");
    let blocks = original.1.get("blocks").and_then(Value::as_array).map_or(0, Vec::len);
    let transactions = original.1.pointer("/statistics/NumTransactions").map_or(0, number);
    println!("rebuilt {blocks} blocks, {transactions} transactions, same root {}", original.0);
    fs::remove_dir_all(&copy).expect("the copy is ours");
}

/// Copies a directory with all its files and directories.
pub(crate) fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the temporary directory is writable");
    for entry in fs::read_dir(from).expect("the directory is ours") {
        let entry = entry.expect("the directory is ours");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("the file is ours");
        }
    }
}
