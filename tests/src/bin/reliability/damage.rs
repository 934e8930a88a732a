//! Damaged files of a data directory: truncated, changed, emptied, deleted or extended.
//!
//! After damage to one file of the data directory, the node has two valid outcomes. Either it starts, rebuilds derived
//! data, and returns the same results as before. Or it does not start, and its error names the damage. If
//! `silica db check` finds no damage, the node must start and return the same results as before.

use std::{
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Dice, Directory, Node, Wallet, chain::everything, node::run as run_silica};

use crate::{
    kill::{copy_directory, make_empty_blocks, wait_for_packs},
    token,
};

/// Number of accounts that receive payments.
const STRANGERS: u64 = 2_000;

/// Index of the account that deploys and transfers tokens.
const TOKEN_USER: usize = 4;
/// Nonce of this account after the preparation.
const TOKENS: u64 = 180;

/// Number of blocks in an empty block range.
const RANGE: u64 = 100;

/// One way to damage a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    CutAt(u64),
    Delete,
    Empty,
    Extend,
    FlipBit(u64),
    Overwrite(u64),
    ZeroPage(u64),
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// All responses are as before, and the log has no message about damage.
    Unharmed,
    /// All responses are as before, and the log has a message about damage.
    Rebuilt,
    /// The node does not start, and its message names the damage.
    Refused,
    /// The node starts. It returns an internal error for unreadable data, and other responses are as before.
    RefusedInPart,
}

/// Damages copies of two chains, one file in each of `cases` trials.
///
/// # Panics
///
/// If a response is wrong, or if the node hangs, crashes, or refuses to start without a reason.
pub(crate) fn run(cases: u64, seed: u64) {
    let mut dice = Dice::new(seed);
    let directory = Directory::new();
    let sources = [directory.path().join("stopped"), directory.path().join("killed")];
    let accounts: Vec<Address> = Wallet::all_funded()
        .chain((0..STRANGERS).map(Wallet::stranger))
        .map(|wallet| wallet.address())
        .chain([Address::ZERO])
        .collect();
    let references: Vec<Value> = sources.iter().map(|source| prepare(source, &accounts)).collect();
    println!("{cases} cases, seed {seed}, chains of {} blocks in {}", blocks(&references), directory.path().display());

    let mut outcomes: BTreeMap<Outcome, u64> = BTreeMap::new();
    for case in 1..=cases {
        let which = dice.index(sources.len());
        let (Some(source), Some(reference)) = (sources.get(which), references.get(which)) else { continue };
        let copy = directory.path().join("case");
        copy_directory(source, &copy);
        let file = choose_file(&copy, case);
        let damage = choose_damage(&file, &mut dice);
        damage.inflict(&file, &mut dice);

        let name = file.strip_prefix(&copy).unwrap_or(&file).display().to_string();
        let clean = run_silica(&["db", "check", "--data-dir", text(&copy)]);
        assert_orderly(&clean.output, &format!("case {case}, {damage:?} of {name}: db check"));
        let (outcome, printed) = observe(&copy, &accounts, reference, &format!("case {case}, {damage:?} of {name}"));
        assert!(
            !clean.status.success() || matches!(outcome, Outcome::Unharmed | Outcome::Rebuilt),
            "case {case}, {damage:?} of {name}: db check calls it clean, yet {outcome:?}\n{printed}"
        );
        println!("case {case}: {damage:?} of {name}: {outcome:?}. {}", printed.lines().next().unwrap_or_default());
        *outcomes.entry(outcome).or_default() += 1;
        fs::remove_dir_all(&copy).expect("the copy is ours");
    }
    println!("{cases} cases, no wrong answer: {outcomes:?}");
}

/// Makes a chain, and returns all its data. The chain has payments, tokens, empty blocks and several DS epochs. The
/// state of its older blocks is in a checkpoint on disk, their rows are in packs, and newer blocks follow.
fn prepare(data: &Path, accounts: &[Address]) -> Value {
    let killed = data.ends_with("killed");
    let node = Node::start_in(data, &["--block-mode", "manual"]);
    pay_strangers(&node, 0, 0..STRANGERS / 2);
    transfer_tokens(&node, 1..TOKENS / 2);
    node.result("IncreaseBlocknum", &json!([RANGE]));
    make_empty_blocks(&node);
    pay_strangers(&node, 1, STRANGERS / 2..STRANGERS);
    node.result("IncreaseBlocknum", &json!([RANGE]));
    // The rows of the blocks before the previous checkpoint move to packs.
    make_empty_blocks(&node);
    wait_for_packs(&node, data);
    transfer_tokens(&node, TOKENS / 2..TOKENS);
    let answers = everything(&node, accounts).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    if killed {
        node.kill();
    } else {
        assert!(node.stop().status.success(), "the node stops as it should");
    }
    answers
}

/// Deploys and transfers tokens from one account.
fn transfer_tokens(node: &Node, nonces: Range<u64>) {
    let transactions: Vec<_> = nonces.map(|nonce| token::transaction(TOKEN_USER, nonce)).collect();
    // Admission rejects the call of a contract that does not exist, so a deployment ends its block.
    for transactions in transactions.chunk_by(|before, _| before.code.is_empty()) {
        let calls = transactions.iter().map(|it| ("CreateTransaction", json!([it.json()])));
        send(node, &calls.collect::<Vec<_>>());
    }
}

/// Pays each stranger in the range once, with consecutive nonces from 1.
fn pay_strangers(node: &Node, payer: usize, strangers: Range<u64>) {
    let payer = Wallet::funded(payer);
    let payments: Vec<(&str, Value)> = (1..)
        .zip(strangers)
        .map(|(nonce, stranger)| payer.payment(nonce, Wallet::stranger(stranger).address(), 1_000))
        .map(|payment| ("CreateTransaction", json!([payment.json()])))
        .collect();
    send(node, &payments);
}

/// Makes calls that must succeed, with 50 calls in each block.
fn send(node: &Node, calls: &[(&str, Value)]) {
    for calls in calls.chunks(50) {
        for answer in node.call_all(calls) {
            answer.unwrap_or_else(|refusal| panic!("{refusal:?}"));
        }
        node.result("IncreaseBlocknum", &json!([1]));
    }
}

fn blocks(references: &[Value]) -> usize {
    references.first().and_then(|answers| answers.get("blocks")).and_then(Value::as_array).map_or(0, Vec::len)
}

/// Returns the file for a trial. The trials take the files in turn, so that each file is damaged about equally often.
fn choose_file(directory: &Path, case: u64) -> PathBuf {
    let mut files = Vec::new();
    list_files(directory, &mut files);
    files.sort();
    let place = case.checked_rem(files.len() as u64).and_then(|place| usize::try_from(place).ok()).unwrap_or(0);
    files.get(place).cloned().expect("a data directory has files")
}

fn list_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the copy is ours") {
        let path = entry.expect("the copy is ours").path();
        if path.is_dir() { list_files(&path, files) } else { files.push(path) }
    }
}

fn choose_damage(file: &Path, dice: &mut Dice) -> Damage {
    let length = fs::metadata(file).expect("the copy is ours").len();
    let place = dice.below(length);
    match dice.below(10) {
        0 => Damage::Delete,
        1 => Damage::Empty,
        2 => Damage::Extend,
        3 | 4 => Damage::CutAt(place),
        5 | 6 => Damage::ZeroPage(place),
        7 => Damage::Overwrite(place),
        _ => Damage::FlipBit(place),
    }
}

impl Damage {
    fn inflict(self, file: &Path, dice: &mut Dice) {
        let mut bytes = fs::read(file).expect("the copy is ours");
        match self {
            Self::Delete => return fs::remove_file(file).expect("the copy is ours"),
            Self::Empty => bytes.clear(),
            Self::Extend => bytes.extend((0..dice.below(5_000)).map(|_| noise(dice))),
            Self::CutAt(place) => bytes.truncate(index(place)),
            Self::ZeroPage(place) => bytes.iter_mut().skip(index(place)).take(4096).for_each(|byte| *byte = 0),
            Self::Overwrite(place) => {
                let length = index(dice.below(600));
                bytes.iter_mut().skip(index(place)).take(length).for_each(|byte| *byte = noise(dice));
            }
            Self::FlipBit(place) => {
                let bit = 1 << dice.below(8);
                bytes.iter_mut().skip(index(place)).take(1).for_each(|byte| *byte ^= bit);
            }
        }
        fs::write(file, bytes).expect("the copy is ours");
    }
}

fn noise(dice: &mut Dice) -> u8 {
    u8::try_from(dice.below(256)).unwrap_or_default()
}

fn index(place: u64) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

/// Starts the node with a damaged directory. Returns the outcome and the messages about damage.
fn observe(data: &Path, accounts: &[Address], reference: &Value, case: &str) -> (Outcome, String) {
    // In manual mode, the chain does not change during the check.
    let started = Node::try_start_in(data, &["--block-mode", "manual"]);
    let node = match started {
        Ok(node) => node,
        Err(end) => {
            assert_orderly(&end.output, case);
            let last = end.output.lines().rfind(|line| line.starts_with("silica: ")).unwrap_or_default();
            assert!(end.status.code() == Some(1), "{case}: it ends with {}:\n{}", end.status, end.output);
            assert!(is_clear(last), "{case}: refused without saying what is damaged:\n{}", end.output);
            return (Outcome::Refused, last.to_owned());
        }
    };
    let outcome = match everything(&node, accounts) {
        Ok(answers) => {
            assert_same(&answers, reference, case);
            if is_clear(&node.output()) { Outcome::Rebuilt } else { Outcome::Unharmed }
        }
        Err(refusal) => {
            assert_eq!(refusal.code, -32603, "{case}: {refusal:?}\n{}", node.output());
            node.wait_until(&format!("what is damaged ({case}: {refusal:?})"), is_clear);
            Outcome::RefusedInPart
        }
    };
    let printed = relevant(&node.output());
    assert_orderly(&node.output(), case);
    // The node must continue to work: it makes blocks with a payment and a transfer of tokens, and stops without an
    // error.
    if outcome != Outcome::RefusedInPart {
        let payment = Wallet::funded(7).payment(1, Wallet::stranger(1).address(), 1);
        let transfer = token::transaction(TOKEN_USER, TOKENS);
        for transaction in [&payment, &transfer] {
            node.result("CreateTransaction", &json!([transaction.json()]));
        }
        node.result("IncreaseBlocknum", &json!([2]));
        for transaction in [&payment, &transfer] {
            let executed = node.result("GetTransaction", &json!([transaction.hash()]));
            assert_eq!(executed.pointer("/receipt/success"), Some(&json!(true)), "{case}: {executed}");
        }
        let miner = |block: &Value| block.pointer("/header/MinerPubKey").cloned();
        let latest = miner(&node.result("GetLatestTxBlock", &json!([])));
        let before = reference.get("blocks").and_then(Value::as_array).and_then(|blocks| blocks.last()).and_then(miner);
        assert_eq!(latest, before, "{case}: the node makes blocks with another key");
    }
    let end = node.stop();
    assert!(end.status.success(), "{case}: {}", end.output);
    assert_orderly(&end.output, case);
    (outcome, printed)
}

fn assert_same(answers: &Value, reference: &Value, case: &str) {
    for part in ["statistics", "balances", "history", "contracts", "dsBlocks", "transactions", "blocks"] {
        assert!(answers.get(part) == reference.get(part), "{case}: the {part} are not what they were");
    }
}

/// Checks that all panics come from the database engine. The engine panics over some damaged files, and the node
/// catches these panics.
fn assert_orderly(output: &str, case: &str) {
    let mut panics = output.lines().filter(|line| line.contains("panicked at"));
    assert!(panics.all(|line| line.contains("/sled-")), "{case}:\n{output}");
}

/// Returns whether a text mentions damage in words that an operator understands.
fn is_clear(output: &str) -> bool {
    let output = output.to_lowercase();
    ["damage", "corrupt", "rebuil", "lost", "missing", "not a silica", "bytes at most"]
        .iter()
        .any(|word| output.contains(word))
}

/// Returns the lines that mention damage.
fn relevant(output: &str) -> String {
    output.lines().filter(|line| is_clear(line)).collect::<Vec<_>>().join("\n")
}
