//! Clients that send transactions to the members while members fail.
//!
//! A client sends the same transaction again, to the next member, until one member returns the transaction from a
//! block. This result acknowledges the transaction.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_tests::Connection;

use super::{MEMBERS, validators::Addresses};
use crate::load::{Acknowledged, SENDERS, ask, transaction};

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Timeout of a response. A member responds after at most 30 s, and a machine without power never responds.
const RESPONSE: Duration = Duration::from_secs(45);
/// Longest time for one transaction while members fail.
const PATIENCE: Duration = Duration::from_mins(3);

/// The results of the senders.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) acknowledged: Vec<Acknowledged>,
    /// Error texts with their numbers.
    pub(super) refusals: BTreeMap<String, u64>,
    /// Number of requests without a response.
    pub(super) broken: u64,
    /// Longest time of one transaction.
    pub(super) longest: Duration,
}

/// Sends transactions from every sender, from the nonces in `next`, while `disturb` runs.
pub(super) fn send_during(addresses: &Addresses, next: &mut [u64; SENDERS], disturb: impl FnOnce()) -> Sent {
    let sent = Mutex::new(Sent::default());
    let ending = AtomicBool::new(false);
    thread::scope(|scope| {
        for (sender, next) in next.iter_mut().enumerate() {
            let (sent, ending) = (&sent, &ending);
            scope.spawn(move || {
                let mut client = Client { addresses, member: sender % MEMBERS, connection: None, sent };
                while !ending.load(Ordering::Relaxed) {
                    client.acknowledge(sender, *next);
                    *next += 1;
                }
            });
        }
        let end = End(&ending);
        disturb();
        drop(end);
    });
    sent.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the senders, also after a failed check.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Client<'a> {
    addresses: &'a Addresses,
    member: usize,
    connection: Option<Connection>,
    sent: &'a Mutex<Sent>,
}

impl Client<'_> {
    /// Sends a transaction until it is in a block.
    fn acknowledge(&mut self, sender: usize, nonce: u64) {
        let payment = transaction(sender, 0, nonce);
        let (request, hash) = (json!([payment.json()]), payment.hash());
        let begun = Instant::now();
        loop {
            match self.attempt(&request, &hash) {
                Ok(true) => break,
                Ok(false) => {}
                Err(_) => {
                    self.connection = None;
                    self.note(|sent| sent.broken += 1);
                    self.member = (self.member + 1) % MEMBERS;
                }
            }
            assert!(begun.elapsed() < PATIENCE, "sender {sender}, nonce {nonce}: {hash} is in no block");
            thread::sleep(PAUSE);
        }
        self.note(|sent| {
            sent.longest = sent.longest.max(begun.elapsed());
            sent.acknowledged.push(Acknowledged { hash, sender, nonce });
        });
    }

    /// Sends a transaction, and returns whether it is in a block.
    fn attempt(&mut self, request: &Value, hash: &str) -> io::Result<bool> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => {
                let address = self.addresses.get(self.member).ok_or(io::ErrorKind::NotConnected)?;
                let connection = Connection::open(address)?;
                connection.limit(RESPONSE)?;
                none.insert(connection)
            }
        };
        let answer = ask(connection, "CreateTransaction", request)?;
        // The block of an earlier attempt can have the transaction.
        let found = ask(connection, "GetTransaction", &json!([hash]))?.get("result").is_some();
        if !found && let Some(message) = answer.pointer("/error/message").and_then(Value::as_str) {
            // The member can be behind, so the next attempt is at the next member.
            let message = message.chars().map(|letter| if letter.is_ascii_digit() { '#' } else { letter }).collect();
            self.note(|sent| *sent.refusals.entry(message).or_default() += 1);
            self.connection = None;
            self.member = (self.member + 1) % MEMBERS;
        }
        Ok(found)
    }

    fn note(&self, change: impl FnOnce(&mut Sent)) {
        change(&mut self.sent.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
