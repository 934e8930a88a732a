//! Measures how long a node takes to create a savepoint, and to revert to it after many payments.
//!
//! ```sh
//! silica --data-dir DIR
//! cargo run --profile dist -p silica-benches --example revert -- 127.0.0.1:5555 1000 5
//! ```
//!
//! Each round creates a savepoint, makes the given number of blocks with one payment each, and reverts.
#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::{
    env,
    io::{self, ErrorKind},
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_tests::{Connection, Wallet};

fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let number = |place: usize, default: u64| args.get(place).and_then(|text| text.parse().ok()).unwrap_or(default);
    let target: SocketAddr = args.first().map_or("127.0.0.1:5555", String::as_str).parse().map_err(io::Error::other)?;
    let (blocks, rounds) = (number(1, 1_000), number(2, 5));
    let mut node = Connection::open(target)?;
    let payer = Wallet::funded(0);
    let balance = call(&mut node, "GetBalance", &json!([payer.hex()]))?;
    let nonce = balance.get("nonce").and_then(Value::as_u64).unwrap_or(0);
    let (mut snapshots, mut reverts) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let begun = Instant::now();
        let snapshot = call(&mut node, "silica_snapshot", &json!([]))?;
        snapshots.push(begun.elapsed());
        let begun = Instant::now();
        for place in 1..=blocks {
            let payment = payer.payment(nonce + place, Wallet::stranger(place).address(), 1);
            call(&mut node, "CreateTransaction", &json!([payment.json()]))?;
        }
        println!("{blocks} blocks in {:?}", begun.elapsed());
        let begun = Instant::now();
        call(&mut node, "silica_revert", &json!([snapshot]))?;
        reverts.push(begun.elapsed());
    }
    print_times("silica_snapshot", snapshots);
    print_times("silica_revert", reverts);
    Ok(())
}

fn print_times(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    println!("{what}: {:?} to {:?}, median {:?}", times.first(), times.last(), times.get(times.len() / 2));
}

/// Calls a method that must succeed.
fn call(node: &mut Connection, method: &str, params: &Value) -> io::Result<Value> {
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params});
    let answer = node.post(request.to_string().as_bytes())?;
    let mut answer: Value = serde_json::from_slice(&answer.body)?;
    match answer.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(io::Error::new(ErrorKind::InvalidData, format!("{method}: {answer}"))),
    }
}
