//! Lists in pages: `silica_getBlockRange`, `silica_getTransactionSummaries`, `silica_listContracts` and
//! `silica_listAccounts`; invalid options; the examples of `docs/explorers.md`.

use std::{fs, path::Path};

use serde_json::{Value, json};
use silica_tests::{Node, Wallet, shape, wallet::FEE};

use crate::{INVALID_PARAMS, check_error, contract::Chain, pay};

/// Each list with options in one object, and its valid options.
const LISTS: [(&str, &[&str]); 5] = [
    ("silica_getBlockRange", &["cursor", "from", "limit", "order"]),
    ("silica_getTransactionSummaries", &["block", "cursor", "limit", "order"]),
    ("silica_getTransactionsForAddress", &["cursor", "limit", "order"]),
    ("silica_listAccounts", &["cursor", "limit"]),
    ("silica_listContracts", &["cursor", "limit"]),
];

/// Returns the parameters of a list with these options.
fn params(method: &str, options: &Value) -> Value {
    if method == "silica_getTransactionsForAddress" {
        json!([Wallet::funded(0).hex(), options])
    } else {
        json!([options])
    }
}

/// Returns the elements of all pages.
fn all(node: &Node, method: &str, member: &str, mut options: Value) -> Vec<Value> {
    let mut found = Vec::new();
    loop {
        let page = node.result(method, &json!([options]));
        found.extend(page[member].as_array().unwrap().iter().cloned());
        if page["next"].is_null() {
            return found;
        }
        options["cursor"] = page["next"].clone();
    }
}

#[test]
fn invalid_options_are_errors_that_name_the_option() {
    let node = Node::start(&[]);
    for (method, names) in LISTS {
        let refused = |options: Value, problem: &str| {
            check_error(&node, method, &params(method, &options), (-8, &format!("options: {problem}")));
        };
        let most = if method == "silica_getTransactionSummaries" { 200 } else { 1000 };
        for (limit, got) in [
            (json!(0), "0"),
            (json!(most + 1), &*(most + 1).to_string()),
            (json!(-1), "-1"),
            (json!(1.5), "1.5"),
            (json!("5"), "\"5\""),
            (json!(1e300), "1e+300"),
            (json!([5]), "[5]"),
        ] {
            refused(json!({"limit": limit}), &format!("limit: expected a number from 1 to {most}, got {got}"));
        }
        let cursors =
            ["", "x", "-1", "1:", ":1", "1:2:3", "1:99999999999", "0x01", "99999999999999999999999", "\u{1f980}"];
        for cursor in cursors {
            let problem = format!("cursor: expected the value of next in the previous page, got {cursor:?}");
            refused(json!({"cursor": cursor}), &problem);
        }
        refused(json!({"cursor": 7}), "cursor: expected the value of next in the previous page, got 7");
        let long = node.error(method, &params(method, &json!({"cursor": "7".repeat(100_000)})));
        assert!(long.0 == -8 && long.1.len() < 200, "{long:?}");
        let (last, others) = names.split_last().unwrap();
        refused(json!({"more": 1}), &format!("expected {} or {last}, got \"more\"", others.join(", ")));
        for option in ["order", "block", "from"].iter().filter(|option| names.contains(option)) {
            let (code, text) = node.error(method, &params(method, &json!({*option: "sideways"})));
            assert!(code == -8 && text.starts_with(&format!("options: {option}: expected ")), "{method}: {text}");
        }
        for wrong in [json!(7), json!("newest"), json!([])] {
            check_error(&node, method, &params(method, &wrong), INVALID_PARAMS);
        }
        let none = names.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
        assert_eq!(
            node.result(method, &params(method, &Value::Object(none))),
            node.result(method, &params(method, &json!(null)))
        );
    }
    let summaries = "silica_getTransactionSummaries";
    check_error(
        &node,
        summaries,
        &json!([{"block": "5"}]),
        (-8, "options: block: expected a Tx block of the chain, up to 0, got 5"),
    );
}

#[test]
fn empty_blocks_are_one_row_of_any_length() {
    let node = Node::start(&["--block-mode", "manual"]);
    let blocks = |options: Value| all(&node, "silica_getBlockRange", "blocks", options);
    node.result("silica_mine", &json!([100_000]));
    let hash = pay(&node, 1, 5);
    node.result("silica_mine", &json!([100_000]));
    let spans = |rows: &[Value]| -> Vec<(String, String, u64)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        rows.iter().map(|row| (text(&row["from"]), text(&row["to"]), row["transactions"].as_u64().unwrap())).collect()
    };
    let span = |from: u64, to: u64, transactions| (from.to_string(), to.to_string(), transactions);
    let newest = blocks(json!({"limit": 1}));
    assert_eq!(spans(&newest), [span(100_002, 200_000, 0), span(100_001, 100_001, 1), span(0, 100_000, 0)]);
    assert_eq!((&newest[0]["count"], &newest[1]["count"]), (&json!("99999"), &json!("1")));
    let block = node.result("GetTxBlock", &json!(["100001"]));
    assert_eq!(newest[1]["hash"].as_str().unwrap(), block["body"]["BlockHash"].as_str().unwrap().to_lowercase());
    assert_eq!(
        (&newest[1]["timestamp"], &newest[1]["gasUsed"]),
        (&block["header"]["Timestamp"], &block["header"]["GasUsed"])
    );
    assert_eq!(newest[1]["fees"], block["header"]["TxnFees"]);
    let mut oldest = blocks(json!({"order": "oldest"}));
    oldest.reverse();
    assert_eq!(oldest, newest);
    let inside = blocks(json!({"order": "oldest", "from": "99990", "limit": 2}));
    assert_eq!(spans(&inside), [span(99_990, 100_000, 0), span(100_001, 100_001, 1), span(100_002, 200_000, 0)]);
    let expected = json!({
        "amount": "5", "block": "100001", "contract": null, "fee": FEE.to_string(), "hash": hash, "kind": "payment",
        "position": 0, "recipient": Wallet::stranger(1).hex(), "sender": Wallet::funded(0).hex(), "success": true,
        "tag": null, "timestamp": newest[1]["timestamp"],
    });
    assert_eq!(all(&node, "silica_getTransactionSummaries", "transactions", json!({"block": "100001"})), [expected]);
}

#[test]
fn contracts_and_accounts_are_listed_by_address() {
    let mut chain = Chain::new();
    for _ in 0..5 {
        chain.deploy(crate::state_page::STORE, &[]);
    }
    let contracts = all(&chain.node, "silica_listContracts", "contracts", json!({"limit": 2}));
    let accounts = all(&chain.node, "silica_listAccounts", "accounts", json!({"limit": 3}));
    assert_eq!(contracts.len(), 5);
    for rows in [&contracts, &accounts] {
        assert!(rows.is_sorted_by(|left, right| left["address"].as_str() < right["address"].as_str()), "{rows:?}");
    }
    let with_code: Vec<&Value> =
        accounts.iter().filter(|row| !row["codeHash"].is_null()).map(|row| &row["address"]).collect();
    assert_eq!(with_code, contracts.iter().map(|row| &row["address"]).collect::<Vec<_>>());
    for row in accounts.iter().filter(|row| row["codeHash"].is_null()) {
        let balance = chain.node.result("GetBalance", &json!([row["address"]]));
        assert_eq!((&row["balance"], &row["nonce"]), (&balance["balance"], &balance["nonce"]));
    }
    let creator = contracts[0]["creator"].as_str().unwrap();
    let made = chain.node.result("GetSmartContracts", &json!([creator]));
    assert_eq!(made.as_array().unwrap().len(), 5);
    let deployments = all(&chain.node, "silica_getTransactionSummaries", "transactions", json!({"limit": 2}));
    for row in &contracts {
        let deployment = deployments.iter().find(|deployment| deployment["contract"] == row["address"]).unwrap();
        assert_eq!((&deployment["kind"], &deployment["tag"]), (&json!("deployment"), &Value::Null));
        for member in ["hash", "block", "position"] {
            assert_eq!(deployment[member], row[member]);
        }
    }
    chain.call(1, contracts[0]["address"].as_str().unwrap().parse().unwrap(), "Nothing", &json!([]));
    let call = &chain.node.result("silica_getTransactionSummaries", &json!([{"limit": 1}]))["transactions"][0];
    assert_eq!((&call["kind"], &call["tag"], &call["contract"]), (&json!("call"), &json!("Nothing"), &Value::Null));
}

/// Returns the JSON blocks of a page.
fn json_blocks(page: &str) -> Vec<Value> {
    let parts = page.split("```json\n").skip(1).map(|rest| rest.split_once("\n```").unwrap().0);
    parts.map(|text| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in\n{text}"))).collect()
}

#[test]
fn page_for_explorers_has_a_correct_example_of_each_method() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/explorers.md");
    let page = fs::read_to_string(path).unwrap();
    let examples = json_blocks(&page);
    let mut shown = Vec::new();
    for example in &examples {
        let method = example["method"].as_str().unwrap();
        shape::assert_documented(method, &example["result"]);
        shown.push(method.to_owned());
    }
    let headings: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("### `")?.split_once(['(', '`'])).collect();
    assert_eq!(
        shown,
        headings.iter().map(|(method, _)| (*method).to_owned()).collect::<Vec<_>>(),
        "one example each, in order"
    );
}
