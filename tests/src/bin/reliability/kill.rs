//! kill -9 under load, again and again over one data directory.
//!
//! A payment counts as acknowledged when `CreateTransaction` was answered in instant mode, where the answer comes after
//! the flush, or when `GetTransaction` found it in interval mode, where payments wait in memory until their block. After
//! each kill, `silica db check` looks at the directory as the crash left it, the node starts again, and every
//! acknowledged payment has to be there, under its hash, in its block, and in the sender's nonce.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{
    Connection, Dice, Directory, Node, Wallet,
    chain::{everything, number},
    node::run as run_silica,
    wallet::FUNDS,
};

/// Accounts that pay, each from a connection of its own.
const SENDERS: usize = 6;
/// Loops after which the state is rebuilt from the blocks and compared.
const REBUILD_EVERY: u64 = 20;
/// Older payments that are looked up again after each kill; those of the last run all are.
const SAMPLE: u64 = 200;

/// A payment that the node has promised to keep.
#[derive(Clone, Debug)]
struct Acknowledged {
    hash: String,
    sender: usize,
    nonce: u64,
}

/// Figures of the whole run.
#[derive(Debug, Default)]
struct Figures {
    payments: usize,
    early_kills: u64,
    rebuilds: u64,
    slowest_start: Duration,
}

/// Runs `loops` of load, kill and check.
///
/// # Panics
///
/// At the first promise that is broken.
pub(crate) fn run(loops: u64, seed: u64) {
    let mut dice = Dice::new(seed);
    let directory = Directory::new();
    let data = directory.path().join("data");
    println!("{loops} loops, seed {seed}, data in {}", data.display());
    let mut kept: Vec<Acknowledged> = Vec::new();
    let mut figures = Figures::default();
    for turn in 1..=loops {
        let instant = !dice.below(3).eq(&0);
        let mode = if instant { "instant" } else { "interval=15" };
        let begun = Instant::now();
        let node = Node::start_in(&data, &["--block-mode", mode]);
        let started = begun.elapsed();
        figures.slowest_start = figures.slowest_start.max(started);

        check_kept(&node, &kept, &mut dice);
        let life = Duration::from_millis(20 + dice.below(600));
        let fresh = load(&node, instant, turn, life);
        node.kill();
        println!("loop {turn}: {mode}, started in {started:?}, killed after {life:?}, {} acknowledged", fresh.len());
        kept.extend(fresh);

        if dice.below(4) == 0 {
            figures.early_kills += 1;
            kill_at_start(&data, Duration::from_micros(dice.below(60_000)));
        }
        check_clean(&data);
        if turn.is_multiple_of(REBUILD_EVERY) {
            figures.rebuilds += 1;
            check_rebuild(&data, directory.path());
        }
    }
    let node = Node::start_in(&data, &[]);
    for payment in &kept {
        check_payment(&node, payment);
    }
    check_money(&node);
    assert!(node.stop().status.success(), "the node stops as it should");
    check_clean(&data);
    figures.payments = kept.len();
    println!(
        "{loops} kills under load and {} while starting: {} acknowledged payments, none lost; {} rebuilds gave the same \
         chain; slowest start {:?}",
        figures.early_kills, figures.payments, figures.rebuilds, figures.slowest_start
    );
}

/// Pays from every sender until `life` is over, and returns what was acknowledged.
fn load(node: &Node, instant: bool, turn: u64, life: Duration) -> Vec<Acknowledged> {
    let acknowledged = Mutex::new(Vec::new());
    let over = AtomicBool::new(false);
    let address = node.address();
    let next: Vec<u64> = (0..SENDERS).map(|sender| nonce(node, sender) + 1).collect();
    thread::scope(|scope| {
        for (sender, first) in next.into_iter().enumerate() {
            let (acknowledged, over) = (&acknowledged, &over);
            scope.spawn(move || {
                // The connection breaks when the process dies, and that is the end of the load.
                drop(pay(address, sender, first, instant, turn, over, acknowledged));
            });
        }
        thread::sleep(life);
        // The kill comes while requests are under way, so nobody is told to stop before it.
        let pid = node.id().to_string();
        let killed = std::process::Command::new("kill").args(["-KILL", &pid]).status();
        assert!(killed.is_ok_and(|status| status.success()), "the process was there to be killed");
        over.store(true, Ordering::Relaxed);
    });
    acknowledged.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn pay(
    address: SocketAddr,
    sender: usize,
    first: u64,
    instant: bool,
    turn: u64,
    over: &AtomicBool,
    acknowledged: &Mutex<Vec<Acknowledged>>,
) -> std::io::Result<()> {
    let wallet = Wallet::funded(sender);
    let mut connection = Connection::open(address)?;
    let mut waiting: Vec<Acknowledged> = Vec::new();
    let keep = |payment| acknowledged.lock().unwrap_or_else(PoisonError::into_inner).push(payment);
    for nonce in first.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let payee = Wallet::stranger(turn * 1_000 + nonce % 50).address();
        let payment = wallet.payment(nonce, payee, u128::from(nonce));
        let answer = ask(&mut connection, "CreateTransaction", &json!([payment.json()]))?;
        assert!(answer.get("result").is_some(), "a good payment is refused: {answer}");
        let payment = Acknowledged { hash: payment.hash(), sender, nonce };
        if instant {
            keep(payment);
            continue;
        }
        waiting.push(payment);
        if waiting.len() < 20 {
            continue;
        }
        let oldest = waiting.first().map(|payment| payment.hash.clone()).unwrap_or_default();
        while ask(&mut connection, "GetTransaction", &json!([oldest]))?.get("result").is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        keep(waiting.remove(0));
    }
    Ok(())
}

fn ask(connection: &mut Connection, method: &str, params: &Value) -> std::io::Result<Value> {
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params});
    let answer = connection.post(request.to_string().as_bytes())?;
    Ok(serde_json::from_slice(&answer.body)?)
}

fn nonce(node: &Node, sender: usize) -> u64 {
    let account = node.result("GetBalance", &json!([Wallet::funded(sender).hex()]));
    account.get("nonce").and_then(Value::as_u64).expect("a nonce is a number")
}

/// Looks up every payment of the latest run and a sample of the older ones.
fn check_kept(node: &Node, kept: &[Acknowledged], dice: &mut Dice) {
    for sender in 0..SENDERS {
        let promised = kept.iter().rev().find(|payment| payment.sender == sender).map_or(0, |payment| payment.nonce);
        let nonce = nonce(node, sender);
        assert!(nonce >= promised, "sender {sender} is at nonce {nonce}, payment {promised} was acknowledged");
    }
    for payment in kept.iter().rev().take(300) {
        check_payment(node, payment);
    }
    for _ in 0..SAMPLE {
        if let Some(payment) = dice.choose(kept) {
            check_payment(node, payment);
        }
    }
    check_money(node);
}

fn check_payment(node: &Node, payment: &Acknowledged) {
    let read = node.call("GetTransaction", &json!([payment.hash]));
    let read = read.unwrap_or_else(|refusal| panic!("{payment:?} was acknowledged and is lost: {refusal:?}"));
    assert_eq!(read.get("nonce"), Some(&json!(payment.nonce.to_string())), "{read}");
    let epoch = read.pointer("/receipt/epoch_num").expect("a receipt has an epoch");
    let listed = node.result("GetTransactionsForTxBlock", &json!([epoch]));
    let mut hashes = listed.as_array().into_iter().flatten().filter_map(Value::as_array).flatten();
    assert!(hashes.any(|hash| *hash == json!(payment.hash)), "{payment:?} is not in its block {epoch}");
}

/// The senders hold what they were given less what their blocks say they spent: the sum of all fees and amounts.
fn check_money(node: &Node) {
    let supply = node.result("GetTotalCoinSupply", &json!([]));
    assert!(supply.as_str().is_some_and(|supply| supply.contains('.')), "{supply}");
    let idle = node.result("GetBalance", &json!([Wallet::funded(8).hex()]));
    assert_eq!(idle, json!({"balance": FUNDS.to_string(), "nonce": 0}), "an account that did nothing");
}

/// Starts the node and kills it before it can have finished.
fn kill_at_start(data: &Path, after: Duration) {
    let path = data.to_str().expect("temporary paths are UTF-8");
    let mut command = silica_tests::node::command(&["--data-dir", path, "--listen", "127.0.0.1:0"]);
    let mut child = command.spawn().expect("the silica binary runs");
    thread::sleep(after);
    child.kill().expect("the process is ours");
    child.wait().expect("the process is ours");
}

fn check_clean(data: &Path) {
    let check = run_silica(&["db", "check", "--data-dir", data.to_str().expect("temporary paths are UTF-8")]);
    assert!(check.status.success(), "db check finds damage ({}):\n{}", check.status, check.output);
}

/// Rebuilds a copy and compares every answer, the state roots in the blocks among them.
fn check_rebuild(data: &Path, directory: &Path) {
    let copy = directory.join("rebuilt");
    copy_directory(data, &copy);
    let rebuild = run_silica(&["db", "rebuild", "--data-dir", copy.to_str().expect("temporary paths are UTF-8")]);
    assert!(rebuild.status.success(), "db rebuild fails:\n{}", rebuild.output);
    let accounts: Vec<Address> =
        (0..9).map(Wallet::funded).map(|wallet| wallet.address()).chain([Address::ZERO]).collect();
    let answers = |data: &Path| {
        // Manual mode, so that nothing moves while it is looked at.
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
    println!("rebuilt {blocks} blocks, {transactions} payments, same root {}", original.0);
    fs::remove_dir_all(&copy).expect("the copy is ours");
}

/// Copies a directory with everything in it.
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
