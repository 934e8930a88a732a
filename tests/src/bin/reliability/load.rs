//! Payments, deployments and calls from several senders at once, and the list of acknowledged transactions.
//!
//! In instant mode, the response of `CreateTransaction` acknowledges a transaction, because it follows the flush. In
//! interval mode, transactions wait in memory for their block. There, the first result of `GetTransaction` acknowledges
//! a transaction.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use silica_tests::{
    Connection, Dice, Node, Wallet,
    wallet::{FEE, FUNDS, Payment},
};

use crate::token;

/// Number of sending accounts. Each has a connection.
pub(crate) const SENDERS: usize = 6;
/// Number of sending accounts that pay. The other senders deploy and transfer tokens.
const PAYERS: usize = 4;
/// Number of accounts that receive payments in a turn.
pub(crate) const PAYEES: u64 = 50;
/// Number of newest transactions that each check reads.
const LATEST: usize = 300;
/// Number of older transactions in the sample of each check.
const SAMPLE: u64 = 200;

/// An acknowledged transaction, which the node must not lose.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) hash: String,
    pub(crate) sender: usize,
    pub(crate) nonce: u64,
}

/// The result of a load.
#[derive(Debug, Default)]
pub(crate) struct Load {
    acknowledged: Vec<Acknowledged>,
    /// The highest nonce of each sender that the node accepted, possibly only into the pool.
    accepted: [u64; SENDERS],
}

/// Sends transactions from every sender. After the time `life`, calls `end`. The function `end` must end the node.
pub(crate) fn load(node: &Node, instant: bool, turn: u64, life: Duration, end: impl FnOnce()) -> Load {
    let load = Mutex::new(Load::default());
    let ending = AtomicBool::new(false);
    let address = node.address();
    let next: Vec<u64> = (0..SENDERS).map(|sender| account(node, sender).1 + 1).collect();
    thread::scope(|scope| {
        for (sender, first) in next.into_iter().enumerate() {
            let payer = Payer { address, sender, instant, turn, ending: &ending, load: &load };
            // The connection breaks when the process ends. This error ends the load of a sender.
            scope.spawn(move || drop(payer.pay_from(first)));
        }
        thread::sleep(life);
        ending.store(true, Ordering::Relaxed);
        end();
    });
    load.into_inner().unwrap_or_else(PoisonError::into_inner)
}

struct Payer<'a> {
    address: SocketAddr,
    sender: usize,
    instant: bool,
    turn: u64,
    ending: &'a AtomicBool,
    load: &'a Mutex<Load>,
}

impl Payer<'_> {
    fn pay_from(&self, first: u64) -> std::io::Result<()> {
        let mut connection = Connection::open(self.address)?;
        let mut waiting: Vec<Acknowledged> = Vec::new();
        for nonce in first.. {
            let payment = transaction(self.sender, self.turn, nonce);
            let answer = ask(&mut connection, "CreateTransaction", &json!([payment.json()]))?;
            if answer.get("result").is_none() {
                // A node that stops can reject transactions.
                assert!(self.ending.load(Ordering::Relaxed), "a good transaction is refused: {answer}");
                break;
            }
            let is_deployment = !payment.code.is_empty();
            let payment = Acknowledged { hash: payment.hash(), sender: self.sender, nonce };
            self.note(|load| load.accepted.iter_mut().skip(self.sender).take(1).for_each(|highest| *highest = nonce));
            if self.instant {
                self.note(|load| load.acknowledged.push(payment));
                continue;
            }
            if is_deployment {
                // Admission rejects the call of a contract that does not exist.
                wait_for_block(&mut connection, &payment.hash)?;
            }
            waiting.push(payment);
            if waiting.len() < 20 {
                continue;
            }
            let oldest = waiting.first().map(|payment| payment.hash.clone()).unwrap_or_default();
            wait_for_block(&mut connection, &oldest)?;
            let oldest = waiting.remove(0);
            self.note(|load| load.acknowledged.push(oldest));
        }
        Ok(())
    }

    fn note(&self, change: impl FnOnce(&mut Load)) {
        change(&mut self.load.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Returns the transaction of a sender with this nonce.
pub(crate) fn transaction(sender: usize, turn: u64, nonce: u64) -> Payment {
    if sender >= PAYERS {
        return token::transaction(sender, nonce);
    }
    Wallet::funded(sender).payment(nonce, payee(turn, nonce).address(), u128::from(nonce))
}

/// Returns the account that a payment with this nonce pays.
pub(crate) fn payee(turn: u64, nonce: u64) -> Wallet {
    Wallet::stranger(turn * 1_000 + nonce % PAYEES)
}

/// Waits until a transaction is in a block.
fn wait_for_block(connection: &mut Connection, hash: &str) -> std::io::Result<()> {
    while ask(connection, "GetTransaction", &json!([hash]))?.get("result").is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Calls a method, and returns the whole response.
pub(crate) fn ask(connection: &mut Connection, method: &str, params: &Value) -> std::io::Result<Value> {
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params});
    let answer = connection.post(request.to_string().as_bytes())?;
    Ok(serde_json::from_slice(&answer.body)?)
}

/// Returns balance and nonce of a sender.
pub(crate) fn account(node: &Node, sender: usize) -> (u128, u64) {
    let account = node.result("GetBalance", &json!([Wallet::funded(sender).hex()]));
    let balance = account.get("balance").and_then(Value::as_str).and_then(|balance| balance.parse().ok());
    let nonce = account.get("nonce").and_then(Value::as_u64);
    (balance.expect("a balance is a number in text"), nonce.expect("a nonce is a number"))
}

/// All acknowledged transactions.
#[derive(Debug, Default)]
pub(crate) struct Kept(Vec<Acknowledged>);

impl Kept {
    /// Adds the acknowledged transactions of a load, and returns their number.
    pub(crate) fn add(&mut self, load: Load) -> usize {
        self.extend(load.acknowledged)
    }

    /// Adds acknowledged transactions, and returns their number.
    pub(crate) fn extend(&mut self, acknowledged: Vec<Acknowledged>) -> usize {
        let added = acknowledged.len();
        self.0.extend(acknowledged);
        added
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Checks the newest transactions, a sample of the older ones, and all balances.
    pub(crate) fn check(&self, node: &Node, dice: &mut Dice) {
        for sender in 0..SENDERS {
            let of_sender = self.0.iter().rev().find(|payment| payment.sender == sender);
            let promised = of_sender.map_or(0, |payment| payment.nonce);
            let (_, nonce) = account(node, sender);
            assert!(nonce >= promised, "sender {sender} is at nonce {nonce}, payment {promised} was acknowledged");
        }
        let sample = (0..SAMPLE).filter_map(|_| dice.choose(&self.0));
        for payment in self.0.iter().rev().take(LATEST).chain(sample) {
            check_payment(node, payment);
        }
        check_money(node);
        (PAYERS..SENDERS).for_each(|sender| token::check(node, sender, dice));
    }

    /// Checks all transactions and all balances.
    pub(crate) fn check_all(&self, node: &Node) {
        for payment in &self.0 {
            check_payment(node, payment);
        }
        check_money(node);
        (PAYERS..SENDERS).for_each(|sender| token::check_all(node, sender));
    }
}

impl Load {
    /// Returns whether all accepted transactions are executed.
    pub(crate) fn is_executed(&self, node: &Node) -> bool {
        self.accepted.iter().enumerate().all(|(sender, accepted)| account(node, sender).1 >= *accepted)
    }
}

fn check_payment(node: &Node, payment: &Acknowledged) {
    let read = node.call("GetTransaction", &json!([payment.hash]));
    let read = read.unwrap_or_else(|refusal| panic!("{payment:?} was acknowledged and is lost: {refusal:?}"));
    assert_eq!(read.get("nonce"), Some(&json!(payment.nonce.to_string())), "{read}");
    assert_eq!(read.pointer("/receipt/success"), Some(&json!(true)), "{read}");
    let epoch = read.pointer("/receipt/epoch_num").expect("a receipt has an epoch");
    let listed = node.result("GetTransactionsForTxBlock", &json!([epoch]));
    let mut hashes = listed.as_array().into_iter().flatten().filter_map(Value::as_array).flatten();
    assert!(hashes.any(|hash| *hash == json!(payment.hash)), "{payment:?} is not in its block {epoch}");
}

/// Checks the balance of each payer. The payment with nonce n sends n Qa, so the nonce determines the balance.
fn check_money(node: &Node) {
    for sender in 0..PAYERS {
        let (balance, nonce) = loop {
            // A block can come between the two requests. If both responses are equal, balance and nonce belong
            // together.
            let (before, after) = (account(node, sender), account(node, sender));
            if before == after {
                break after;
            }
        };
        let nonce = u128::from(nonce);
        assert_eq!(balance, FUNDS - nonce * (nonce + 1) / 2 - nonce * FEE, "sender {sender} at nonce {nonce}");
    }
    let idle = node.result("GetBalance", &json!([Wallet::funded(8).hex()]));
    assert_eq!(idle, json!({"balance": FUNDS.to_string(), "nonce": 0}), "an account that did nothing");
}
