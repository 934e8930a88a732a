//! Dumps: a loaded chain equals the dumped chain, and continues in the same way.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use serde_json::{Value, json};
use silica_tests::{
    Directory, Node, Wallet,
    node::{Finished, command, run},
};

use crate::{INVALID_PARAMS, block_modes::eventually, check_error, contract::deploy_hello, height, pay};

/// Sets the timestamp of the next block, in microseconds, so that the blocks of two nodes are equal.
fn at_time(node: &Node, time: u64) {
    node.result("silica_setNextBlockTimestamp", &json!([time.to_string()]));
}

fn latest_time(node: &Node) -> u64 {
    let block = node.result("GetLatestTxBlock", &json!([]));
    block["header"]["Timestamp"].as_str().unwrap().parse().unwrap()
}

fn greet(node: &Node, contract: &str, nonce: u64, message: &str) {
    let mut call = Wallet::funded(0).payment(nonce, contract.parse().unwrap(), 0);
    let params = json!([{"vname": "msg", "type": "String", "value": message}]);
    (call.gas_limit, call.data) = (20_000, json!({"_tag": "setHello", "params": params}).to_string());
    node.result("CreateTransaction", &json!([call.json()]));
}

/// Returns the responses of a node about its chain.
fn answers(node: &Node, contract: &str, transaction: &str) -> Vec<Value> {
    let payer = Wallet::funded(0).hex();
    [
        ("GetBlockchainInfo", json!([])),
        ("GetLatestTxBlock", json!([])),
        ("GetLatestDsBlock", json!([])),
        ("GetTxBlock", json!(["3"])),
        ("GetTxBlock", json!(["150"])),
        ("TxBlockListing", json!([1])),
        ("DSBlockListing", json!([1])),
        ("GetRecentTransactions", json!([])),
        ("GetPendingTxns", json!([])),
        ("GetMinimumGasPrice", json!([])),
        ("GetBalance", json!([payer])),
        ("GetBalance", json!([Wallet::stranger(2).hex()])),
        ("GetSmartContracts", json!([payer])),
        ("GetSmartContractState", json!([contract])),
        ("GetTransaction", json!([transaction])),
    ]
    .into_iter()
    .map(|(method, params)| node.call(method, &params).unwrap_or_else(|refusal| json!(refusal.message)))
    .collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn load(file: &Path, data: &Path) -> Finished {
    run(&["db", "load", text(file), "--data-dir", text(data)])
}

#[test]
fn loaded_chain_equals_the_dumped_chain_and_continues() {
    let directory = Directory::new();
    let (data, copy) = (directory.path().join("data"), directory.path().join("copy"));
    let node = Node::start_in(&data, &[]);
    let first = pay(&node, 1, 5);
    let contract = deploy_hello(&node, 2).1;
    node.result("silica_mine", &json!([350]));
    node.result("silica_setBalance", &json!([Wallet::stranger(2).hex(), "77"]));
    greet(&node, &contract, 3, "before");
    node.result("SetMinimumGasPrice", &json!(["2500000000"]));
    node.result("silica_setBlockMode", &json!(["manual"]));
    let mut waiting = Wallet::funded(1).payment(1, Wallet::stranger(3).address(), 1);
    waiting.gas_price = 3_000_000_000;
    node.result("CreateTransaction", &json!([waiting.json()]));
    let before = answers(&node, &contract, &first);
    // The first dump comes from the running node, and the second one from the stopped node.
    let dumped = node.result("silica_dump", &json!(["while.dump"]));
    let block = node.result("GetLatestTxBlock", &json!([]));
    assert_eq!(dumped["block"], block["header"]["BlockNum"]);
    assert_eq!(dumped["stateRoot"], block["header"]["StateRootHash"]);
    let file = data.join("dumps/while.dump");
    assert_eq!(dumped["file"], text(&file));
    assert_eq!(dumped["bytes"], fs::metadata(&file).unwrap().len());
    node.stop();
    let after = directory.path().join("after.dump");
    let written = run(&["db", "dump", text(&after), "--data-dir", text(&data)]);
    assert!(written.status.success(), "{}", written.output);
    assert!(written.output.contains(dumped["stateRoot"].as_str().unwrap()), "{}", written.output);
    assert_eq!(fs::read(&file).unwrap(), fs::read(&after).unwrap());

    let loaded = load(&after, &copy);
    assert!(loaded.status.success(), "{}", loaded.output);
    assert!(loaded.output.contains(dumped["stateRoot"].as_str().unwrap()), "{}", loaded.output);
    let nodes = [&data, &copy].map(|data| Node::start_in(data, &["--block-mode", "manual"]));
    for node in &nodes {
        assert_eq!(answers(node, &contract, &first), before);
    }
    let mut time = latest_time(&nodes[0]);
    for round in 0..3 {
        time += 1_000_000;
        let blocks = nodes.each_ref().map(|node| {
            at_time(node, time);
            let mut payment = Wallet::funded(0).payment(4 + round, Wallet::stranger(1).address(), 5);
            payment.gas_price = 3_000_000_000;
            node.result("CreateTransaction", &json!([payment.json()]));
            node.result("silica_mine", &json!([1 + 120 * round]));
            (node.result("GetLatestTxBlock", &json!([])), answers(node, &contract, &first))
        });
        assert_eq!(blocks[0], blocks[1]);
        time = latest_time(&nodes[0]);
    }
    drop(nodes);
    let checked = run(&["db", "check", "--data-dir", text(&copy)]);
    assert!(checked.status.success(), "{}", checked.output);
}

#[test]
fn blocks_that_come_while_it_is_written_are_no_part_of_it() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &[]);
    deploy_hello(&node, 1);
    node.result("silica_mine", &json!([20_000]));
    let enough = AtomicBool::new(false);
    let blocks = std::thread::scope(|scope| {
        // Another thread sends deployments during the dump. The limit of nonces ends the thread if the dump fails.
        scope.spawn(|| {
            for nonce in 2..200 {
                deploy_hello(&node, nonce);
                node.result("silica_mine", &json!([70]));
                if enough.load(Relaxed) {
                    break;
                }
            }
        });
        let blocks = [0, 1, 2].map(|number| {
            let begun = height(&node);
            eventually(&node, "blocks come", || height(&node) > begun);
            let dumped = node.result("silica_dump", &json!([format!("{number}.dump")]));
            dumped["block"].as_str().unwrap().to_owned()
        });
        enough.store(true, Relaxed);
        blocks
    });
    for (number, block) in blocks.iter().enumerate() {
        let copy = directory.path().join(format!("copy{number}"));
        let loaded = load(&data.join(format!("dumps/{number}.dump")), &copy);
        assert!(loaded.status.success(), "{}", loaded.output);
        assert!(loaded.output.contains(&format!("latest block {block},")), "{block}: {}", loaded.output);
    }
}

/// Checks that a load fails with these words, and creates no file.
fn check_refused(file: &Path, data: &Path, words: &str) {
    let parent = data.parent().unwrap();
    let names = || {
        let mut names: Vec<_> = fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let refused = load(file, data);
    assert!(!refused.status.success() && refused.output.contains(words), "{words}: {}", refused.output);
    assert_eq!(names(), before);
}

/// A client does not have the working directory of the node.
#[test]
fn response_has_the_full_path_of_a_dump() {
    let directory = Directory::new();
    let mut line = command(&["--data-dir", "data", "--listen", "127.0.0.1:0"]);
    line.current_dir(directory.path());
    let dumped = Node::start_with(line).result("silica_dump", &json!(["a"]));
    let file = Path::new(dumped["file"].as_str().unwrap());
    assert!(file.is_absolute() && file.ends_with("data/dumps/a"), "{dumped}");
    assert_eq!(dumped["bytes"], fs::metadata(file).unwrap().len());
}

#[test]
fn invalid_dump_and_used_directory_are_refused() {
    let directory = Directory::new();
    let (data, copy) = (directory.path().join("data"), directory.path().join("copy"));
    let node = Node::start_in(&data, &[]);
    pay(&node, 1, 5);
    node.stop();
    let file = directory.path().join("chain.dump");
    let dump = |file: &Path| run(&["db", "dump", text(file), "--data-dir", text(&data)]);
    assert!(dump(&file).status.success());
    // The command does not overwrite an existing file.
    let again = dump(&file);
    assert!(!again.status.success() && again.output.contains("exists already"), "{}", again.output);
    let mut line = command(&["db", "dump", "-", "--data-dir", text(&data)]);
    let output = line.current_dir(directory.path()).output().unwrap();
    let output_text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && output_text.contains("expected the name of a file, got -"), "{output_text}");
    assert!(!directory.path().join("-").exists());
    let nowhere = dump(&directory.path().join("no/such/place"));
    assert!(!nowhere.status.success() && nowhere.output.contains("cannot write"), "{}", nowhere.output);
    let bytes = fs::read(&file).unwrap();
    let other = directory.path().join("other");
    for (content, words) in [
        (&b""[..], "not a dump"),
        (b"GIF89a is something else altogether", "not a dump"),
        (&bytes[..10], "truncated"),
        (&bytes[..bytes.len() / 2], "truncated"),
        (&bytes[..bytes.len() - 1], "truncated"),
        (&[&bytes[..], b"\n"].concat(), "damaged"),
        (&[&bytes[..15], &[9], &bytes[16..]].concat(), "version 9"),
        (&[&bytes[..bytes.len() / 2], &bytes[bytes.len() / 2 + 1..]].concat(), "damaged"),
    ] {
        fs::write(&other, content).unwrap();
        check_refused(&other, &copy, words);
    }
    check_refused(&directory.path().join("missing"), &copy, "cannot open");
    check_refused(&file, &data, "is not empty");
    check_refused(&file, &file, "is not empty");
    fs::create_dir(directory.path().join("copy.loading")).unwrap();
    check_refused(&file, &copy, "copy.loading exists: another load is running");
    fs::remove_dir(directory.path().join("copy.loading")).unwrap();
    // An empty directory is a valid target.
    fs::create_dir(&copy).unwrap();
    assert!(load(&file, &copy).status.success());
    let node = Node::start_in(&copy, &[]);
    assert_eq!(height(&node), 1);
}

#[test]
fn names_of_files_stay_in_the_data_directory() {
    let directory = Directory::new();
    let node = Node::start_in(&directory.path().join("data"), &[]);
    let long = "a".repeat(65);
    for name in ["", ".", "..", "../x", "/tmp/x", "a/b", "a\\b", ".hidden", "a b", "ä", "a\u{0}b", &long] {
        let (code, text) = node.error("silica_dump", &json!([name]));
        assert!(code == -8 && text.starts_with("name: expected 1 to 64 letters"), "{name}: {code} {text}");
    }
    for params in [json!([]), json!([1]), json!([null]), json!(["a", "b"]), json!([["a"]])] {
        check_error(&node, "silica_dump", &params, INVALID_PARAMS);
    }
    node.result("silica_dump", &json!([&long[1..]]));
    let (code, text) = node.error("silica_dump", &json!([&long[1..]]));
    assert!(code == -1 && text.ends_with("exists already"), "{code} {text}");
    let node = Node::start_in_memory(&[]);
    let (code, text) = node.error("silica_dump", &json!(["a"]));
    assert!(code == -1 && text.contains("in memory"), "{code} {text}");
}
