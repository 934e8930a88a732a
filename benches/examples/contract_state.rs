//! Measures the time of a response with the state of a large contract, and its effect on other clients.
//!
//! ```sh
//! silica --data-dir DIR
//! cargo run --profile dist -p silica-benches --example contract_state -- fill 127.0.0.1:5555 1000000
//! cargo run --profile dist -p silica-benches --example contract_state -- ask 127.0.0.1:5555 PID CONTRACT
//! ```
//!
//! Transactions fill the contract, and the example prints the address of the contract. For a response without caches,
//! restart the node before the request.
#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::{
    env, fs,
    io::{self, Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_benches::address;
use silica_protocol::Address;
use silica_tests::Wallet;

/// A contract with a map of balances.
const LEDGER: &str = "
scilla_version 0
library Ledger
let one = Uint128 1
contract Ledger ()
field balances : Map ByStr20 Uint128 = Emp ByStr20 Uint128
procedure Put (account : ByStr20)
  balances[account] := one
end
transition Fill (accounts : List ByStr20)
  forall accounts Put
end
";

/// Number of entries that one call adds.
const PER_CALL: u64 = 1_000;

/// Number of calls in one request.
const PER_BATCH: usize = 20;

fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match *args {
        ["fill", target, count] => return fill(target, count.parse().unwrap_or(1_000_000)),
        ["ask", target, pid, contract] => return ask(target, pid, contract),
        _ => println!("see the head of this file"),
    }
    Ok(())
}

/// Deploys a contract, and adds `count` entries to its map.
fn fill(target: &str, count: u64) -> io::Result<()> {
    let payer = Wallet::funded(0);
    let balance = call(target, &json!([request("GetBalance", &json!([payer.hex()]))]))?;
    let mut nonces = balance.pointer("/0/result/nonce").and_then(Value::as_u64).unwrap_or(0) + 1..;
    let mut send = |to: Address, code: &str, data: &Value| {
        let mut request = payer.payment(nonces.next().expect("numbers do not end"), to, 0);
        (request.gas_limit, request.code, request.data) = (300_000, code.to_owned(), data.to_string());
        request.json()
    };
    let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]);
    let deployed = create(target, vec![send(Address::ZERO, LEDGER, &init)])?;
    let contract: Address = deployed.as_str().and_then(|address| address.parse().ok()).expect("a contract is deployed");
    let mut filled = 0;
    while filled < count {
        let mut calls = Vec::new();
        while filled < count && calls.len() < PER_BATCH {
            let part = PER_CALL.min(count - filled);
            let accounts: Vec<String> = (filled..filled + part).map(|n| format!("0x{}", address(n))).collect();
            let params = json!([{"vname": "accounts", "type": "List (ByStr20)", "value": accounts}]);
            calls.push(send(contract, "", &json!({"_tag": "Fill", "params": params})));
            filled += part;
        }
        create(target, calls)?;
    }
    println!("{contract}");
    Ok(())
}

/// Sends transactions. Returns the address of the contract if the first transaction is a deployment, or null.
fn create(target: &str, transactions: Vec<Value>) -> io::Result<Value> {
    let requests: Vec<Value> =
        transactions.into_iter().map(|transaction| request("CreateTransaction", &json!([transaction]))).collect();
    let answers = call(target, &json!(requests))?;
    for answer in answers.as_array().into_iter().flatten() {
        assert!(answer.get("result").is_some(), "a transaction is refused: {answer}");
    }
    Ok(answers.pointer("/0/result/ContractAddress").cloned().unwrap_or_default())
}

fn request(method: &str, params: &Value) -> Value {
    json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params})
}

/// Posts JSON on a new connection, and returns the response.
fn call(target: &str, body: &Value) -> io::Result<Value> {
    let body = body.to_string();
    let mut connection = TcpStream::connect(target)?;
    let length = body.len();
    write!(connection, "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).map_err(io::Error::other)
}

/// Requests the state of the contract three times, while another connection requests balances.
fn ask(target: &str, pid: &str, contract: &str) -> io::Result<()> {
    let state = request("GetSmartContractState", &json!([contract])).to_string();
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
                println!("{} MiB in {:?}, {}", bytes? >> 20, start.elapsed(), memory(pid));
                Ok(())
            },
            target,
        )?;
    }
    Ok(())
}

/// Requests a balance each millisecond during `work`.
fn latencies(what: &str, work: impl FnOnce(&AtomicBool) -> io::Result<()> + Send, target: &str) -> io::Result<()> {
    let balance = request("GetBalance", &json!([Wallet::funded(0).hex()])).to_string();
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

/// Sends a request, and returns the number of bytes of the response. With `to_end`, reads until the server closes the
/// connection. Otherwise, reads once.
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

/// Returns the current and the largest resident memory of the node.
fn memory(pid: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}
