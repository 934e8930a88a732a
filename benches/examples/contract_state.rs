//! How long the answer with the state of a large contract takes, and what others notice of it.
//!
//! ```sh
//! silica --data-dir DIR                            # once, and stopped again
//! cargo run --release -p silica-benches --example contract_state -- fill DIR ENTRIES
//! silica --data-dir DIR --block-mode manual
//! cargo run --release -p silica-benches --example contract_state -- ask 127.0.0.1:5555 PID
//! ```
#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::{
    env, fs,
    io::{self, Read, Write},
    net::TcpStream,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use silica_benches::{CONTRACT, Random, commit, contract, entries};
use silica_state::{Store, StoreOptions};

fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match *args {
        ["fill", dir, count] => fill(&Path::new(dir).join("store"), count.parse().unwrap_or(1_000_000)),
        ["ask", target, pid] => return ask(target, pid),
        _ => println!("see the head of this file"),
    }
    Ok(())
}

/// Adds a contract with so many entries to the chain of a node that is stopped.
fn fill(dir: &Path, count: u64) {
    let store = Store::open(dir, StoreOptions::default()).expect("the store opens");
    let mut random = Random::new(7);
    commit(&store, contract()).expect("a block is committed");
    let mut loaded = 0;
    while loaded < count {
        let next = count.min(loaded + 100_000);
        commit(&store, entries(&mut random, loaded..next)).expect("a block is committed");
        loaded = next;
    }
    store.close().expect("the store closes");
}

/// Asks for the state of the contract, three times, while another connection asks for balances.
fn ask(target: &str, pid: &str) -> io::Result<()> {
    let state = format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetSmartContractState","params":["{CONTRACT}"]}}"#);
    latencies(
        "nothing else",
        |stop| {
            thread::sleep(Duration::from_secs(2));
            stop.store(true, Ordering::Release);
            Ok(())
        },
        target,
    )?;
    for _ in 0..3 {
        latencies(
            "the state of the contract",
            |stop| {
                let start = Instant::now();
                let bytes = post(&mut TcpStream::connect(target)?, &state, true);
                stop.store(true, Ordering::Release);
                println!("{} MB in {:?}, {}", bytes? >> 20, start.elapsed(), memory(pid));
                Ok(())
            },
            target,
        )?;
    }
    Ok(())
}

/// Asks for a balance every millisecond while something is done.
fn latencies(what: &str, work: impl FnOnce(&AtomicBool) -> io::Result<()> + Send, target: &str) -> io::Result<()> {
    let balance = format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetBalance","params":["{CONTRACT}"]}}"#);
    let stop = AtomicBool::new(false);
    let mut times = thread::scope(|scope| {
        let worker = scope.spawn(|| work(&stop));
        let mut connection = TcpStream::connect(target)?;
        connection.set_nodelay(true)?;
        let mut times = Vec::new();
        while !stop.load(Ordering::Acquire) && !worker.is_finished() {
            let start = Instant::now();
            post(&mut connection, &balance, false)?;
            times.push(start.elapsed());
            thread::sleep(Duration::from_millis(1));
        }
        worker.join().expect("it does not panic")?;
        Ok::<_, io::Error>(times)
    })?;
    times.sort_unstable();
    let at = |permille: usize| times.get((times.len() * permille / 1000).min(times.len().saturating_sub(1)));
    println!("{} balances beside {what}: p50 {:?}, p99 {:?}, slowest {:?}", times.len(), at(500), at(990), at(1000));
    Ok(())
}

/// Sends a request and returns the bytes of the answer: up to where the server closes, or what one read gives.
fn post(connection: &mut TcpStream, body: &str, to_end: bool) -> io::Result<usize> {
    let close = if to_end { "connection: close\r\n" } else { "" };
    let length = body.len();
    let request = format!("POST / HTTP/1.1\r\nhost: x\r\n{close}content-length: {length}\r\n\r\n{body}");
    connection.write_all(request.as_bytes())?;
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
    loop {
        match connection.read(&mut buffer)? {
            0 => return Ok(bytes),
            read => bytes += read,
        }
        if !to_end {
            return Ok(bytes);
        }
    }
}

/// What the node has and had in memory.
fn memory(pid: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}
