//! The Scilla rules of a chain: chosen once, stored with the chain, and used for all executions.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{
    Directory, Node, Wallet,
    node::{Finished, run},
};

/// Returns the directory with the chains of earlier versions, as data directories and dumps, and with their contracts.
/// The README in this directory describes the origin of these files.
fn chains() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/chains")
}

/// Hash of the newest block of the chain without stored rules. The constants below belong to the same chain.
const HEAD: &str = "0db86c9ab08d7ccd0a97e78e8931845c11dc5413b2bf1ef6e042527a47759ec3";
/// State root of the newest block.
const STATE_ROOT: &str = "90b0328daeb0c412f0ae16d881031264847ea0d82922c61765c88fd0e11d2df8";
/// Address of the contract.
const CONTRACT: &str = "bbdf5c659befa747bb10ad1b98b079ef6ce7bf55";
/// Number of the block with a call that throws.
const THROWN: u64 = 4;
/// Number of the block with a message to a library.
const TO_LIBRARY: u64 = 5;
/// Number of transactions that the first account has sent.
const SENT: u64 = 6;

/// Unpacks the data directory without rules.
fn unpack(directory: &Directory) -> PathBuf {
    unpack_from(directory, "unnamed-rules.tar.gz")
}

fn unpack_from(directory: &Directory, archive: &str) -> PathBuf {
    let archive = chains().join(archive);
    let status = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(directory.path()).status().unwrap();
    assert!(status.success(), "tar unpacks the directory");
    directory.path().join("data")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn manifest(data: &Path) -> Value {
    serde_json::from_slice(&fs::read(data.join("manifest.json")).unwrap()).unwrap()
}

fn rules(data: &Path) -> Value {
    manifest(data)["manifest"]["scilla_rules"].clone()
}

pub(crate) fn db(command: &str, data: &Path, file: Option<&Path>) -> Finished {
    let mut args = vec!["db", command, "--data-dir", text(data)];
    args.extend(file.map(text));
    run(&args)
}

pub(crate) fn check_done(finished: &Finished, words: &str) {
    assert!(finished.status.success() && finished.output.contains(words), "{}", finished.output);
}

/// Returns the receipt of the only transaction in a block.
fn receipt_of(node: &Node, block: u64) -> Value {
    let hashes = node.result("GetTransactionsForTxBlock", &json!([block.to_string()]));
    let hash = hashes.as_array().unwrap().iter().flat_map(|of| of.as_array().into_iter().flatten()).next().unwrap();
    node.result("GetTransaction", &json!([hash]))["receipt"].clone()
}

/// Sends a transaction from the first account, and returns its receipt.
fn send(node: &Node, nonce: u64, to: Address, code: &str, data: &Value) -> Value {
    let mut transaction = Wallet::funded(0).payment(nonce, to, 0);
    (transaction.gas_limit, transaction.code, transaction.data) = (50_000, code.to_owned(), data.to_string());
    let sent = node.result("CreateTransaction", &json!([transaction.json()]));
    node.result("GetTransaction", &json!([sent["TranID"]]))["receipt"].clone()
}

fn call(node: &Node, nonce: u64, contract: Address, tag: &str) -> Value {
    send(node, nonce, contract, "", &json!({"_tag": tag, "params": []}))
}

fn deploy(node: &Node, nonce: u64, code: &str) -> Value {
    let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
    send(node, nonce, Address::ZERO, code, &json!([version]))
}

fn source() -> String {
    fs::read_to_string(chains().join("Releases.scilla")).unwrap()
}

/// Returns the components that the exceptions of a receipt list.
fn raised(receipt: &Value) -> Vec<&str> {
    let exceptions = receipt["exceptions"].as_array().unwrap().iter();
    exceptions.filter_map(|exception| exception["message"].as_str()?.strip_prefix("Raised from ")).collect()
}

/// Components that an exception lists with the rules `latest`: the active components, the innermost first.
const CALL_STACK: [&str; 2] = ["Refuse", "Fail"];
/// Components that an exception lists with the rules 0.13: the completed procedures, and the transition.
const COMPLETED: [&str; 2] = ["Count", "Fail"];

/// Checks that a data directory has the chain without stored Scilla rules, and that a node adds blocks to this chain.
fn check_goes_on(data: &Path, args: &[&str]) {
    let node = Node::start_in(data, args);
    let latest = node.result("GetLatestTxBlock", &json!([]));
    assert_eq!(latest["body"]["BlockHash"], HEAD);
    assert_eq!(latest["header"]["StateRootHash"], STATE_ROOT);
    assert_eq!(raised(&receipt_of(&node, THROWN)), CALL_STACK);
    assert_eq!(receipt_of(&node, TO_LIBRARY)["errors"], json!({"1": [23]}));
    let receipt = call(&node, SENT + 1, CONTRACT.parse().unwrap(), "Fail");
    assert_eq!(raised(&receipt), CALL_STACK);
    // These rules accept a constructor `True` without a constraint.
    let receipt = deploy(&node, SENT + 2, &source());
    assert_eq!(receipt["success"], true, "{receipt}");
    node.stop();
    assert_eq!((manifest(data)["format"].clone(), rules(data)), (json!(1), Value::Null));
}

#[test]
fn directory_without_rules_continues_as_it_was() {
    let directory = Directory::new();
    let data = unpack(&directory);
    let before = fs::read(data.join("manifest.json")).unwrap();
    check_done(&db("check", &data, None), STATE_ROOT);
    check_done(&db("rebuild", &data, None), STATE_ROOT);
    check_done(&db("check", &data, None), "6 transactions verified and executed again");
    assert_eq!(fs::read(data.join("manifest.json")).unwrap(), before);
    check_goes_on(&data, &[]);
    check_done(&db("check", &data, None), "8 transactions verified and executed again");
    assert_eq!(fs::read(data.join("manifest.json")).unwrap(), before);
}

#[test]
fn directory_without_rules_is_one_of_latest() {
    let directory = Directory::new();
    let data = unpack(&directory);
    for configured in ["0.13", "0.11"] {
        let refused = Node::try_start_in(&data, &["--scilla-rules", configured]).unwrap_err();
        let words = format!("holds a chain with Scilla rules latest, but --scilla-rules requires {configured}");
        assert!(refused.output.contains(&words), "{}", refused.output);
    }
    check_goes_on(&data, &["--scilla-rules", "latest"]);
}

#[test]
fn dump_without_rules_is_loaded_and_dumped_as_it_was() {
    let directory = Directory::new();
    let (data, file) = (directory.path().join("loaded"), chains().join("unnamed-rules.dump"));
    check_done(&db("load", &data, Some(&file)), STATE_ROOT);
    let again = directory.path().join("again.dump");
    check_done(&db("dump", &data, Some(&again)), STATE_ROOT);
    assert_eq!(fs::read(again).unwrap(), fs::read(file).unwrap());
    check_goes_on(&data, &[]);
}

/// Values of a chain with the rules of revision 2: the state root, the address of the contract, and the gas of a call.
/// Revision 2 has no work limits. The call exceeds the work limit of revision 3.
const REVISION_2: (&str, &str, &str) = (
    "0328cf904f18a53e08b25069240da4e798f48f01d7a0f064ec17dfbfde9d8327",
    "97ef723bc7e64cdd01e40b753c0c1f0d2a98bf6d",
    "8093",
);

/// Calls a contract that hashes a text of 20,000 bytes 2,000 times. Returns the receipt.
fn hash(node: &Node, nonce: u64, contract: Address) -> Value {
    let params = json!([
        {"vname": "text", "type": "String", "value": "x".repeat(20_000)},
        {"vname": "times", "type": "Uint32", "value": "2000"},
    ]);
    send(node, nonce, contract, "", &json!({"_tag": "Hash", "params": params}))
}

#[test]
fn chain_of_revision_2_has_no_limit_of_work() {
    let (root, contract, gas) = REVISION_2;
    let directory = Directory::new();
    let (unpacked, loaded) = (unpack_from(&directory, "revision-2.tar.gz"), directory.path().join("loaded"));
    check_done(&db("load", &loaded, Some(&chains().join("revision-2.dump"))), root);
    for data in [&unpacked, &loaded] {
        check_done(&db("check", data, None), root);
        check_done(&db("rebuild", data, None), root);
        let node = Node::start_in(data, &[]);
        let receipt = hash(&node, 3, contract.parse().unwrap());
        assert_eq!((&receipt["success"], &receipt["cumulative_gas"]), (&json!(true), &json!(gas)), "{receipt}");
        node.stop();
        assert_eq!(rules(data), "0.13/2");
        check_done(&db("check", data, None), "3 transactions verified and executed again");
    }
}

#[test]
fn new_chain_limits_work() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &[]);
    let contract = Address::of_contract(&Wallet::funded(0).address(), silica_protocol::Nonce::new(0));
    let deployed = deploy(&node, 1, &fs::read_to_string(chains().join("Hashes.scilla")).unwrap());
    assert_eq!(deployed["success"], true, "{deployed}");
    let receipt = hash(&node, 2, contract);
    assert_eq!((&receipt["success"], &receipt["cumulative_gas"]), (&json!(false), &json!("50000")), "{receipt}");
    assert_eq!(receipt["exceptions"][0]["message"], "Insufficient gas");
    node.stop();
    check_done(&db("check", &data, None), "2 transactions verified and executed again");
}

#[test]
fn new_chain_has_the_rules_of_0_13_and_keeps_them() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &[]);
    let contract = Address::of_contract(&Wallet::funded(0).address(), silica_protocol::Nonce::new(1));
    let rejected = deploy(&node, 1, &source());
    assert_eq!(rejected["success"], false, "{rejected}");
    let text_of_exception = rejected["exceptions"][0]["message"].as_str().unwrap();
    assert!(text_of_exception.starts_with("Type unassignable: Bool expected"), "{rejected}");
    let accepted = deploy(&node, 2, &source().replace("| True", "| Yes").replace("| False", "| No"));
    assert_eq!(accepted["success"], true, "{accepted}");
    assert_eq!(raised(&call(&node, 3, contract, "Fail")), COMPLETED);
    node.stop();
    assert_eq!((manifest(&data)["format"].clone(), rules(&data)), (json!(2), json!("0.13/3")));

    for configured in ["latest", "0.11"] {
        let refused = Node::try_start_in(&data, &["--scilla-rules", configured]).unwrap_err();
        let words = format!("holds a chain with Scilla rules 0.13, but --scilla-rules requires {configured}");
        assert!(refused.output.contains(&words), "{}", refused.output);
    }
    check_done(&db("check", &data, None), "3 transactions verified and executed again");
    check_done(&db("rebuild", &data, None), "latest block 3");
    let (file, loaded) = (directory.path().join("chain.dump"), directory.path().join("loaded"));
    check_done(&db("dump", &data, Some(&file)), "latest block 3");
    check_done(&db("load", &loaded, Some(&file)), "latest block 3");
    for data in [&data, &loaded] {
        let node = Node::start_in(data, &["--scilla-rules", "0.13"]);
        assert_eq!(raised(&receipt_of(&node, 3)), COMPLETED);
        assert_eq!(raised(&call(&node, 4, contract, "Fail")), COMPLETED);
        node.stop();
        assert_eq!(rules(data), "0.13/3");
    }
}

#[test]
fn manifest_that_names_other_rules_than_the_record_is_refused() {
    let directory = Directory::new();
    let [data, other] = ["data", "other"].map(|name| directory.path().join(name));
    // Both chains have the same key and accounts, so their genesis blocks differ only in the time.
    for (data, rules) in [(&data, "0.13"), (&other, "latest")] {
        fs::create_dir(data).unwrap();
        let key = data.join("node.key");
        fs::write(&key, format!("{:064x}\n", 7)).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        Node::start_in(data, &["--scilla-rules", rules]).stop();
    }
    let manifest = fs::read(data.join("manifest.json")).unwrap();
    fs::copy(other.join("manifest.json"), data.join("manifest.json")).unwrap();
    let words = "Scilla rules of the data directory: expected latest/3, got 0.13/3";
    for finished in [Node::try_start_in(&data, &[]).unwrap_err(), db("check", &data, None), db("rebuild", &data, None)]
    {
        assert!(!finished.status.success() && finished.output.contains(words), "{}", finished.output);
    }
    fs::write(data.join("manifest.json"), manifest).unwrap();
    let ended = Node::start_in(&data, &[]).stop();
    assert!(!ended.output.contains("executed again"), "the state is still there: {}", ended.output);
}

#[test]
fn profile_of_the_successor_has_the_latest_rules() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let printed = run(&["config", "print", "--profile", "zq2"]).output;
    assert!(printed.contains("scilla-rules = \"latest\" # profile zq2"), "{printed}");
    assert!(run(&["config", "print"]).output.contains("# scilla-rules is not set"));
    Node::start_in(&data, &["--profile", "zq2"]).stop();
    assert_eq!(rules(&data), "latest/3");
    let other = directory.path().join("other");
    Node::start_in(&other, &["--profile", "zq2", "--scilla-rules", "0.11"]).stop();
    assert_eq!(rules(&other), "0.11/3");
}
