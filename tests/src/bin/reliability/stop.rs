//! Stops the node with SIGINT and SIGTERM under load, with misbehaving connections, repeatedly with one data directory.
//!
//! After the signal, the node must end soon and without errors, independent of its clients. After the next start, every
//! accepted transaction must be executed or pending.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use silica_tests::{Connection, Dice, Directory, Node, node::Finished, patience::Patience};

use crate::{
    kill::check_clean,
    load::{Kept, load},
};

/// Longest time in which all threads of a stopping node sleep, for open requests and the disk.
const SLEEP: Duration = Duration::from_secs(20);
/// Longest processor time of a stopping node.
const WORK: Duration = Duration::from_mins(1);

/// Runs `loops` trials: load, one or two signals, and a restart.
///
/// # Panics
///
/// If the node ends with an error or too late, or if a transaction is lost.
pub(crate) fn run(loops: u64, seed: u64) {
    let mut dice = Dice::new(seed);
    let directory = Directory::new();
    let data = directory.path().join("data");
    println!("{loops} loops, seed {seed}, data in {}", data.display());
    let mut kept = Kept::default();
    let mut slowest = Duration::ZERO;
    for turn in 1..=loops {
        let instant = dice.below(2) == 0;
        let mode = if instant { "instant" } else { "interval=15" };
        let node = Node::start_in(&data, &["--block-mode", mode]);
        kept.check(&node, &mut dice);

        let nuisances = nuisances(&node, &mut dice).expect("the node accepts connections");
        let signals = choose_signals(&mut dice);
        let life = Duration::from_millis(dice.below(300));
        let mut begun = Instant::now();
        let load = load(&node, instant, turn, life, || {
            begun = Instant::now();
            for (pause, signal) in &signals {
                thread::sleep(*pause);
                node.signal(signal);
            }
        });
        let patience = Patience::limited(node.id(), SLEEP, WORK);
        let end = node.wait_with(patience);
        let took = begun.elapsed();
        slowest = slowest.max(took);
        drop(nuisances);
        check_end(&end, signals.len());
        println!("loop {turn}: {mode}, {signals:?} after {life:?}, {} in {took:?}", end.status);

        if dice.below(3) == 0 {
            stop_at_start(&data, Duration::from_micros(dice.below(60_000)));
        }
        check_clean(&data);
        // After a second signal, the node can leave requests without a response.
        if signals.len() == 1 {
            check_executed(&data, &load);
        }
        kept.add(load);
    }
    let node = Node::start_in(&data, &[]);
    kept.check_all(&node);
    assert!(node.stop().status.success(), "the node stops as it should");
    println!("{loops} stops: {} acknowledged transactions, none lost; slowest stop {slowest:?}", kept.len());
}

/// Returns one signal, or two signals and the time between them.
fn choose_signals(dice: &mut Dice) -> Vec<(Duration, &'static str)> {
    let mut choose = |pause| (pause, dice.choose(&["INT", "TERM"]).copied().unwrap_or("TERM"));
    let first = choose(Duration::ZERO);
    match dice.below(3) {
        0 => vec![first, (Duration::from_millis(dice.below(200)), "TERM")],
        _ => vec![first],
    }
}

/// Opens connections that misbehave: silent connections, incomplete heads and bodies, unread responses, and more work
/// than the node can finish.
fn nuisances(node: &Node, dice: &mut Dice) -> io::Result<Vec<Connection>> {
    let body = json!({"id": 1, "jsonrpc": "2.0", "method": "GetLatestTxBlock", "params": []}).to_string();
    let request = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let batch = format!("[{}]", vec![body.as_str(); 20_000].join(","));
    let batch = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{batch}", batch.len());
    let kinds = [
        String::new(),
        "POST / HT".to_owned(),
        "POST / HTTP/1.1\r\nHost: x\r\n".to_owned(),
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{".to_owned(),
        request.clone(),
        request.repeat(500),
        batch,
    ];
    let mut connections = Vec::new();
    for kind in &kinds {
        for _ in 0..dice.below(4) {
            let mut connection = Connection::open(node.address())?;
            connection.write(kind.as_bytes())?;
            connections.push(connection);
        }
    }
    Ok(connections)
}

fn check_end(end: &Finished, signals: usize) {
    let at_once = signals > 1 && end.output.contains("stopped at once");
    assert!(end.status.success() || at_once, "{}:\n{}", end.status, end.output);
    assert!(!end.output.contains("panicked"), "{}", end.output);
}

/// Starts the node, and sends SIGTERM after the time `after`. The start of a node usually takes longer.
fn stop_at_start(data: &Path, after: Duration) {
    let path = data.to_str().expect("temporary paths are UTF-8");
    let line = ["--data-dir", path, "--listen", "127.0.0.1:0", "--block-mode", "interval=15"];
    let mut command = silica_tests::node::command(&line);
    let mut child = command.spawn().expect("the silica binary runs");
    thread::sleep(after);
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "the process takes signals");
    let mut patience = Patience::with(child.id());
    let status = loop {
        if let Some(status) = child.try_wait().expect("the process is ours") {
            break status;
        }
        if let Err(hang) = patience.check() {
            drop(child.kill());
            panic!("the process does not end: {hang}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    // The process ends by the signal if the node has no handler for it at that moment.
    assert!(status.success() || status.signal() == Some(15), "{status}");
}

/// Starts the node, and waits until all accepted transactions are executed.
fn check_executed(data: &Path, load: &crate::load::Load) {
    let node = Node::start_in(data, &["--block-mode", "interval=15"]);
    let mut patience = Patience::with(node.id());
    while !load.is_executed(&node) {
        if let Err(hang) = patience.check() {
            panic!("transactions that were accepted are lost: {load:?}: {hang}\n{}", node.output());
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(node.stop().status.success(), "the node stops as it should");
}
