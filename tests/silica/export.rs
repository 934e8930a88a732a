//! `silica db export`: the lines agree with the methods, and with the members in `docs/export.md`.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Map, Value, json};
use silica_tests::{
    Directory, Node, Wallet,
    chain::number,
    node::{Finished, command, run},
};

use crate::{
    height, pay,
    subscription::{RELAY, call, deploy, mine},
};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn export(data: &Path, args: &[&str]) -> Finished {
    run(&[&["db", "export", "--data-dir", text(data)], args].concat())
}

/// Returns the lines of an export with their JSON values.
fn lines(export: &str) -> Vec<Map<String, Value>> {
    assert!(export.is_empty() || export.ends_with('\n'), "the last line has an end");
    export.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the responses of the node for all blocks and transactions, and the expected numbers of lines.
fn answers(node: &Node) -> (Vec<Value>, Vec<Value>) {
    let blocks = node.result("silica_getBlocks", &json!(["0", height(node).to_string(), {"bodies": true}]));
    let blocks = blocks.as_array().unwrap().clone();
    let transactions = blocks.iter().flat_map(|block| block["transactions"].as_array().unwrap().clone()).collect();
    (blocks, transactions)
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/export.md")).unwrap()
}

/// Returns the members of each line type, in the order of the tables in `docs/export.md`.
fn documented() -> BTreeMap<String, Vec<String>> {
    let page = page();
    let sections = page.split("\n### `").skip(1);
    sections
        .map(|section| {
            let (name, section) = section.split_once('`').unwrap();
            let section = section.split("\n#").next().unwrap();
            let members = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
            (name.to_owned(), members.map(|(member, _)| member.to_owned()).collect())
        })
        .collect()
}

/// Returns the text of a member without its prefix `0x`, in lower case.
fn digits(value: &Value) -> String {
    value.as_str().unwrap().trim_start_matches("0x").to_lowercase()
}

#[test]
fn lines_agree_with_the_methods_and_with_their_description() {
    let directory = Directory::new();
    let (data, file) = (directory.path().join("data"), directory.path().join("chain.jsonl"));
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    pay(&node, 1, 5);
    let contract = deploy(&node, RELAY).to_string();
    for (nonce, tag) in [(2, "Take"), (3, "Fail"), (4, "Take")] {
        call(&node, nonce, contract.parse().unwrap(), tag);
    }
    for nonce in 2..=9 {
        pay(&node, nonce, 7);
    }
    mine(&node, 1);
    mine(&node, 250);
    pay(&node, 10, 5);
    mine(&node, 1);
    let (blocks, transactions) = answers(&node);
    node.stop();

    let written = export(&data, &["--output", text(&file)]);
    let (head, bytes) = (blocks.len() - 1, fs::metadata(&file).unwrap().len());
    let report = format!(
        "{}: blocks 0 to {head}, {} blocks, {} transactions, 2 events, {bytes} bytes",
        text(&file),
        blocks.len(),
        transactions.len()
    );
    assert!(written.status.success() && written.output.contains(&report), "{}", written.output);
    let content = fs::read_to_string(&file).unwrap();
    let all = lines(&content);
    let described = documented();
    assert_eq!(described.keys().collect::<Vec<_>>(), ["block", "event", "transaction"]);
    let page = page();
    for kind in ["block", "transaction", "event"] {
        let columns = page.split_once(&format!("    \"{kind}\": {{")).unwrap().1.split_once("},").unwrap().0;
        let named: Vec<_> = columns.split('"').skip(1).step_by(4).collect();
        assert_eq!(named, described[kind], "the program in the page reads all members");
    }
    for (line, text) in all.iter().zip(content.lines()) {
        let mut at = 0;
        for member in std::iter::once("type").chain(described[line["type"].as_str().unwrap()].iter().map(|it| &**it)) {
            let found = text[at..].find(&format!("\"{member}\":")).unwrap_or_else(|| panic!("{member} in {text}"));
            at += found;
        }
        assert_eq!(line.len(), described[line["type"].as_str().unwrap()].len() + 1, "{text}");
    }

    let of = |kind: &str| all.iter().filter(|line| line["type"] == *kind).collect::<Vec<_>>();
    assert_eq!((of("block").len(), of("transaction").len()), (blocks.len(), transactions.len()));
    for (line, block) in of("block").into_iter().zip(&blocks) {
        let header = &block["header"];
        for (member, expected) in [
            ("number", "BlockNum"),
            ("timestamp", "Timestamp"),
            ("dsBlock", "DSBlockNum"),
            ("gasLimit", "GasLimit"),
            ("gasUsed", "GasUsed"),
        ] {
            assert_eq!(line[member], number(&header[expected]), "{member}");
        }
        assert_eq!((&line["fees"], &line["reward"]), (&header["TxnFees"], &header["Rewards"]));
        assert_eq!(line["transactions"], header["NumTxns"]);
        assert_eq!(line["hash"], digits(&block["body"]["BlockHash"]));
        assert_eq!(line["previousHash"], digits(&header["PrevBlockHash"]));
        assert_eq!(line["stateRoot"], digits(&header["StateRootHash"]));
        assert_eq!(line["leader"], digits(&header["MinerPubKey"]));
    }
    assert!(blocks.iter().any(|block| block["header"]["Rewards"] != "0"), "a vacuous block has a reward");
    let mut events = of("event").into_iter();
    for (line, transaction) in of("transaction").into_iter().zip(&transactions) {
        let (receipt, sent) = (&transaction["receipt"], digits(&transaction["senderPubKey"]));
        assert_eq!(serde_json::from_str::<Value>(line["receipt"].as_str().unwrap()).unwrap(), *receipt);
        assert_eq!((&line["hash"], &line["recipient"]), (&transaction["ID"], &transaction["toAddr"]));
        assert_eq!((&line["amount"], &line["gasPrice"]), (&transaction["amount"], &transaction["gasPrice"]));
        for (member, expected) in
            [("nonce", "nonce"), ("gasLimit", "gasLimit"), ("version", "version")].map(|it| (it.0, &transaction[it.1]))
        {
            assert_eq!(line[member], number(expected), "{member}");
        }
        for member in ["code", "data"] {
            assert_eq!(line[member], transaction.get(member).cloned().unwrap_or_default());
        }
        assert_eq!((&line["senderKey"], &line["signature"]), (&json!(sent), &json!(digits(&transaction["signature"]))));
        assert_eq!(
            (line["gasUsed"].as_u64().unwrap(), &line["success"]),
            (number(&receipt["cumulative_gas"]), &receipt["success"])
        );
        let fee = number(&receipt["cumulative_gas"]) * number(&transaction["gasPrice"]);
        assert_eq!(line["fee"], fee.to_string());
        let (block, position) = (line["block"].as_u64().unwrap(), line["position"].as_u64().unwrap());
        let here = &blocks[usize::try_from(block).unwrap()];
        assert_eq!(here["transactions"][usize::try_from(position).unwrap()], *transaction);
        assert_eq!(line["timestamp"], number(&here["header"]["Timestamp"]));
        let wallet = Wallet::funded(if line["code"].is_null() && line["data"].is_null() { 0 } else { 3 });
        assert_eq!(line["sender"], wallet.hex());
        let kind = match (line["code"].is_null(), line["data"].is_null()) {
            (false, _) => ("deployment", json!(contract)),
            (true, false) => ("call", Value::Null),
            (true, true) => ("payment", Value::Null),
        };
        assert_eq!((line["kind"].as_str().unwrap(), &line["contract"]), (kind.0, &kind.1));
        for (log, index) in receipt["event_logs"].as_array().into_iter().flatten().zip(0..) {
            let event = events.next().unwrap();
            let place = [&event["block"], &event["position"], &event["index"], &event["timestamp"]];
            assert_eq!(place, [&line["block"], &line["position"], &json!(index), &line["timestamp"]]);
            assert_eq!((&event["transaction"], &event["contract"]), (&line["hash"], &json!(contract)));
            assert_eq!(event["name"], log["_eventname"]);
            assert_eq!(serde_json::from_str::<Value>(event["params"].as_str().unwrap()).unwrap(), log["params"]);
        }
    }
    assert!(events.next().is_none());

    // Standard output has the same bytes, and a range has the lines of its blocks.
    for args in [&[][..], &["--output", "-"]] {
        let output = command(&[&["db", "export", "--data-dir", text(&data)], args].concat()).output().unwrap();
        assert!(output.status.success() && output.stdout == content.as_bytes());
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(log.contains(&format!("standard output: blocks 0 to {head}")), "{log}");
    }
    for (from, to) in [(0, 0), (1, 1), (2, 100), (head, head)] {
        let part = directory.path().join(format!("{from}-{to}.jsonl"));
        let args = ["--from", &from.to_string(), "--to", &to.to_string(), "--output", text(&part)];
        assert!(export(&data, &args).status.success());
        let expected: String = content
            .split_inclusive('\n')
            .zip(&all)
            .filter(|(_, line)| {
                let block = line.get("block").or(line.get("number")).unwrap().as_u64().unwrap();
                (from..=to).contains(&usize::try_from(block).unwrap())
            })
            .map(|(text, _)| text)
            .collect();
        assert_eq!(fs::read_to_string(part).unwrap(), expected);
    }
}

#[test]
fn refused_export_leaves_no_file() {
    let directory = Directory::new();
    let (data, file) = (directory.path().join("data"), directory.path().join("new.jsonl"));
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    mine(&node, 5);
    let refused = |args: &[&str], words: &str| {
        let ended = export(&data, args);
        assert!(!ended.status.success() && ended.output.contains(words), "{words}: {}", ended.output);
        assert!(!file.exists());
    };
    let output = ["--output", text(&file)];
    refused(&output, "--data-dir sets another directory");
    node.stop();
    refused(&[&output[..], &["--from", "6"]].concat(), "from: expected a block up to 5, got 6");
    refused(&[&output[..], &["--from", "3", "--to", "2"]].concat(), "to: expected a block from 3 to 5, got 2");
    refused(&[&output[..], &["--to", "6"]].concat(), "to: expected a block from 0 to 5, got 6");
    for wrong in ["x", "", "1.5", "99999999999999999999"] {
        refused(&[&output[..], &["--from", wrong]].concat(), "--from");
    }
    refused(&["--output", text(&directory.path().join("no/such.jsonl"))], "cannot write");
    fs::write(&file, "kept").unwrap();
    let ended = export(&data, &output);
    assert!(!ended.status.success() && ended.output.contains("exists already"), "{}", ended.output);
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let nothing = export(&directory.path().join("none"), &[]);
    assert!(!nothing.status.success(), "{}", nothing.output);
}

#[test]
fn export_to_a_reader_that_stops_is_no_error() {
    use std::io::Read;

    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    mine(&node, 20_000);
    node.stop();
    let mut process = command(&["db", "export", "--data-dir", text(&data)]).spawn().unwrap();
    let mut beginning = [0; 100];
    process.stdout.take().unwrap().read_exact(&mut beginning).unwrap();
    assert!(beginning.starts_with(b"{\"type\":\"block\",\"number\":0,"));
    assert!(process.wait().unwrap().success());
}
