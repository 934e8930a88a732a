//! Payments: their submission, alone and with their blocks, and the first read of each.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::time::ClockId;
use serde_json::{Value, json};
use silica_benches::{Random, measure::time_of};
use silica_crypto::VerifySignature;
use silica_protocol::Address;
use silica_tests::{Payment, Wallet};

use crate::{
    LONG,
    client::{Client, Connection, Requests},
    print_ratios, request,
    run::{Run, Turn},
    server::{self, SENDERS, Server},
};

/// The row of the submission of payments.
pub(crate) const CREATE: &str = "CreateTransaction";
/// The row that reads each payment once.
pub(crate) const FIRST_READ: &str = "GetTransaction_first_read";
/// The rows of this module.
pub(crate) const ROWS: [&str; 2] = [FIRST_READ, CREATE];

/// Number of payments in each turn, which is below the number that fits into a block. Each payment is new, because a
/// node accepts it only once.
const PAYMENTS_IN_TURN: usize = 3_000;
/// Number of first reads in each turn.
const READS_IN_TURN: usize = 1_000;

/// Number of accounts that get payments of 1 Qa. A request for their balances is one batch.
const RECIPIENTS: usize = 100;

/// Number of payments in each block of the chain whose payments are read. The chain has more blocks than the caches of
/// the node.
const IN_BLOCK: usize = 10;

/// Time after which the program ends if payments are not in blocks.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Measures `CreateTransaction` without blocks on chains of different lengths, and in interval mode with the blocks of
/// the payments. Compares the times with the verification of a signature and the bare server together.
pub(crate) fn create(run: &Run) {
    let in_turn = run.share(PAYMENTS_IN_TURN);
    let payments = payments(run.turns() * in_turn + 1);
    let requests = submissions(&payments);
    let (short, long, interval) = (Server::node(1), Server::node(run.share(LONG)), Server::interval());
    let other = Wallet::funded(0).payment(1, Wallet::stranger(0).address(), 1);
    let bare = Server::bare(&short.ask(&submission(&other)));
    let turn = |server| Turn::new(server, &requests, in_turn);
    let mut connection = Connection::open(interval.port());
    let [of_bare, of_short, of_long, of_interval] = run.turn_by_turn([
        turn(&bare),
        turn(&short).and_a_block(),
        turn(&long).and_a_block(),
        turn(&interval).and_then(|sent| wait_for_blocks(&mut connection, sent)),
    ]);
    print_ratios(run, CREATE, [of_bare, of_short, of_long]);
    let verification = verification(&payments);
    let percent = |time: Duration| time.as_nanos() * 100 / (verification + of_bare).as_nanos().max(1);
    println!(
        "{CREATE}: {} % of a verification and a bare request; the verification of a signature takes {verification:?}",
        percent(of_short),
    );
    println!(
        "{CREATE}, with its share of blocks at an interval of {:?}: {of_interval:?}, of it {:?} for blocks: {} % of a \
         verification and a bare request; {}",
        server::INTERVAL,
        of_interval.saturating_sub(of_short),
        percent(of_interval),
        check_blocks(&interval, payments.len()),
    );
}

/// Measures `GetTransaction` of payments that no client has read before, in a random order.
pub(crate) fn first_reads(run: &Run) {
    let in_turn = run.share(READS_IN_TURN);
    let payments = payments(run.turns() * in_turn + 1);
    let node = Server::node(1);
    let mut client = Client::connect(&node, &submissions(&payments));
    while client.sent() < payments.len() {
        client.ask((payments.len() - client.sent()).min(IN_BLOCK));
        node.make_blocks(1);
    }
    let in_blocks = check_blocks(&node, payments.len());
    let mut bodies: Vec<_> =
        payments.iter().map(|payment| request("GetTransaction", &json!([payment.hash()]))).collect();
    let mut random = Random::new(1);
    for last in (1..bodies.len()).rev() {
        bodies.swap(last, usize::try_from(random.below(last as u64 + 1)).unwrap_or(last));
    }
    let requests = Requests::new(&bodies, "\"success\":true");
    let bare = Server::bare(&node.ask(bodies.first().expect("there are payments")));
    let turn = |server| Turn::new(server, &requests, in_turn);
    let [of_bare, of_node] = run.turn_by_turn([turn(&bare), turn(&node)]);
    println!(
        "{FIRST_READ}: {of_node:?}, bare {of_bare:?}: {} % of its requests in a second; {in_blocks}",
        of_bare.as_nanos() * 100 / of_node.as_nanos().max(1),
    );
}

/// Returns this number of payments. The senders take turns, so that their nonces arrive in order.
fn payments(count: usize) -> Vec<Payment> {
    let senders: Vec<_> = (0..SENDERS).map(Wallet::stranger).collect();
    let rounds = (1..).flat_map(|nonce| senders.iter().map(move |sender| (nonce, sender)));
    let recipients: Vec<_> = recipients().collect();
    let payment = |((nonce, sender), to): ((u64, &Wallet), &Address)| sender.payment(nonce, *to, 1);
    rounds.zip(recipients.iter().cycle()).map(payment).take(count).collect()
}

fn recipients() -> impl Iterator<Item = Address> {
    (SENDERS..).take(RECIPIENTS).map(|number| Wallet::stranger(number).address())
}

fn submission(payment: &Payment) -> String {
    request("CreateTransaction", &json!([payment.json()]))
}

fn submissions(payments: &[Payment]) -> Requests {
    let bodies: Vec<_> = payments.iter().map(submission).collect();
    Requests::new(&bodies, "\"TranID\":")
}

/// Waits until this number of transactions is in blocks.
fn wait_for_blocks(connection: &mut Connection, expected: usize) {
    let begun = Instant::now();
    let expected = format!("\"result\":\"{expected}\"");
    loop {
        let answer = connection.ask(&request("GetNumTransactions", &json!([])));
        if answer.contains(&expected) {
            return;
        }
        assert!(begun.elapsed() < LONGEST_WAIT, "expected {expected}, got {answer}");
        // The requests should need little processor time of the server.
        sleep(Duration::from_millis(20));
    }
}

/// Ends the program if the blocks do not have this number of successful payments. Returns the numbers of payments and
/// of blocks with payments.
fn check_blocks(node: &Server, expected: usize) -> String {
    let mut connection = Connection::open(node.port());
    let mut ask = |body: &str| -> Value { serde_json::from_str(&connection.ask(body)).expect("the response is JSON") };
    let number = |value: Option<&Value>| -> usize {
        value.and_then(Value::as_str).and_then(|text| text.parse().ok()).expect("the value is a number")
    };
    let blocks = number(ask(&request("GetNumTxBlocks", &json!([]))).pointer("/result"));
    let mut in_block = |block: usize| {
        let answer = ask(&request("GetTxBlock", &json!([block.to_string()])));
        answer.pointer("/result/header/NumTxns").and_then(Value::as_u64).expect("a block has a number of transactions")
    };
    let counts: Vec<_> = (0..blocks).map(&mut in_block).filter(|count| *count > 0).collect();
    assert_eq!(usize::try_from(counts.iter().sum::<u64>()), Ok(expected), "payments in blocks");
    let balances: Vec<_> = recipients().map(|to| request("GetBalance", &json!([to.to_string()]))).collect();
    let answers = ask(&format!("[{}]", balances.join(",")));
    let balances = answers.as_array().expect("the response to a batch is a list").iter();
    // An account without payments has no balance.
    let balances = balances.filter_map(|answer| answer.pointer("/result/balance"));
    assert_eq!(
        balances.map(|balance| number(Some(balance))).sum::<usize>(),
        expected,
        "each payment of 1 Qa succeeded"
    );
    format!("{expected} payments in {} blocks", counts.len())
}

/// Returns the processor time of the verification of a signature.
fn verification(payments: &[Payment]) -> Duration {
    let signed: Vec<_> = payments.iter().map(Payment::signed).collect();
    let begun = time_of(ClockId::ThreadCPUTime);
    for transaction in &signed {
        transaction.verify_signature().expect("the signature is right");
    }
    time_of(ClockId::ThreadCPUTime).saturating_sub(begun) / u32::try_from(signed.len()).expect("there are few payments")
}
