//! Lists in pages: `silica_getBlockRange`, `silica_getEvents`, `silica_getTransactionSummaries`,
//! `silica_listContracts`, `silica_listAccounts`, `silica_getHolders`, `silica_getTokens`, `silica_getPool` and
//! `silica_listSnapshots`; `silica_search`; invalid options; the examples of `docs/explorers.md`.

use std::{fs, path::Path};

use serde_json::{Value, json};
use silica_tests::{Node, Wallet, shape, wallet::FEE};

use crate::{INVALID_PARAMS, check_error, contract::Chain, pay};

/// Each list with options in one object, and its valid options.
const LISTS: [(&str, &[&str]); 10] = [
    ("silica_getBlockRange", &["cursor", "from", "limit", "order"]),
    ("silica_getEvents", &["contract", "cursor", "fromBlock", "limit", "name", "order", "toBlock"]),
    ("silica_getPool", &["cursor", "limit", "sender"]),
    ("silica_getTokens", &["cursor", "limit"]),
    ("silica_getTransactionSummaries", &["block", "cursor", "limit", "order"]),
    ("silica_getTransactionsForAddress", &["cursor", "limit", "order"]),
    ("silica_getTransfers", &["addresses", "cursor", "fromBlock", "limit", "order", "toBlock"]),
    ("silica_listAccounts", &["cursor", "limit"]),
    ("silica_listContracts", &["cursor", "limit"]),
    ("silica_listSnapshots", &["cursor", "limit"]),
];

/// Returns the parameters of a list with these options.
fn params(method: &str, options: &Value) -> Value {
    if ["silica_getTokens", "silica_getTransactionsForAddress"].contains(&method) {
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
        let most = if ["silica_getTokens", "silica_getTransactionSummaries"].contains(&method) { 200 } else { 1000 };
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
            ["", "x", "-1", "1:", ":1", "1:2:3:4", "1:99999999999", "0x01", "99999999999999999999999", "\u{1f980}"];
        for cursor in cursors {
            let problem = format!("cursor: expected the value of next in the previous page, got {cursor:?}");
            refused(json!({"cursor": cursor}), &problem);
        }
        refused(json!({"cursor": 7}), "cursor: expected the value of next in the previous page, got 7");
        let long = node.error(method, &params(method, &json!({"cursor": "7".repeat(100_000)})));
        assert!(long.0 == -8 && long.1.len() < 200, "{long:?}");
        let (last, others) = names.split_last().unwrap();
        refused(json!({"more": 1}), &format!("expected {} or {last}, got \"more\"", others.join(", ")));
        for option in ["order", "block", "contract", "from", "sender", "addresses", "fromBlock", "toBlock"]
            .iter()
            .filter(|option| names.contains(option))
        {
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

const TOKENS: &str = r"scilla_version 0
contract Tokens ()
field balances : Map ByStr20 Uint128 = Emp ByStr20 Uint128
field balances_of : Map ByStr20 Uint128 = Emp ByStr20 Uint128
transition Nothing ()
end
";

const IDS: &str = r"scilla_version 0
contract Ids ()
field balances : Map ByStr20 Uint256 = Emp ByStr20 Uint256
field token_owners : Map Uint256 ByStr20 = Emp Uint256 ByStr20
transition Nothing ()
end
";

/// Returns the holders of all pages.
fn holders(node: &Node, contract: &str, limit: u32) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = node.result("silica_getHolders", &json!([contract, {"limit": limit, "cursor": cursor}]));
        let rows = page["holders"].as_array().unwrap();
        assert!(rows.len() <= limit as usize);
        found.extend(rows.iter().cloned());
        cursor = page["next"].clone();
        if cursor.is_null() {
            return found;
        }
    }
}

#[test]
fn holders_of_all_pages_are_the_entries_of_the_field() {
    let mut chain = Chain::new();
    let [tokens, ids] = [TOKENS, IDS].map(|code| chain.deploy(code, &[]).0.to_string());
    let (node, holder) = (&chain.node, |number: u32| format!("0x{number:040x}"));
    let set = |contract: &str, field: &str, key: &str, value: &str| {
        node.result("silica_setContractField", &json!([contract, field, [key], value]));
    };
    assert_eq!(holders(node, &tokens, 5), [] as [Value; 0], "the entry of an empty map is no holder");
    for number in [3, 1, 7, 200] {
        set(&tokens, "balances", &holder(number), &number.to_string());
        set(&tokens, "balances_of", &holder(number), "9");
        set(&ids, "token_owners", &number.to_string(), &holder(number + 1));
    }
    let amounts = [1, 3, 7, 200]
        .map(|number: u32| json!({"amount": number.to_string(), "holder": holder(number), "tokenId": null}));
    let owners = [1, 200, 3, 7]
        .map(|number: u32| json!({"amount": null, "holder": holder(number + 1), "tokenId": number.to_string()}));
    for limit in [1, 2, 3, 4, 1000] {
        assert_eq!(holders(node, &tokens, limit), amounts, "{limit}");
        assert_eq!(holders(node, &ids, limit), owners, "{limit}");
    }
    // A page of another contract or field has no cursor for this list.
    let foreign =
        node.result("silica_getSmartContractStatePage", &json!([tokens, "balances_of", null, 1]))["next"].clone();
    let problem = format!(
        "options: cursor: expected a cursor of the holders of this contract, got {:?}",
        &foreign.as_str().unwrap()[..80]
    );
    check_error(node, "silica_getHolders", &json!([tokens, {"cursor": foreign}]), (-8, &problem));
    for cursor in ["zz", "6", "ff", "7"] {
        let problem = format!("options: cursor: expected the value of next in the previous page, got {cursor:?}");
        check_error(node, "silica_getHolders", &json!([tokens, {"cursor": cursor}]), (-8, &problem));
    }
    let (other, _) = chain.deploy(crate::state_page::STORE, &[]);
    let problem = "contract: expected a contract with the field balances : Map ByStr20 Uint128 or token_owners : Map Uint256 ByStr20";
    check_error(&chain.node, "silica_getHolders", &json!([other.to_string()]), (-8, problem));
    check_error(
        &chain.node,
        "silica_getHolders",
        &json!([Wallet::funded(0).hex()]),
        (-5, "Address not contract address"),
    );
    check_error(&chain.node, "silica_getHolders", &json!([Wallet::stranger(9).hex()]), (-5, "Address does not exist"));
}

/// A contract with the fields of ZRC-1, and other parameters than a token has.
const OLD_IDS: &str = r"scilla_version 0
contract OldIds (name : Uint32, decimals : String)
field owned_token_count : Map ByStr20 Uint256 = Emp ByStr20 Uint256
field token_owners : Map Uint256 ByStr20 = Emp Uint256 ByStr20
";

/// A contract with the parameters of ZRC-2.
const NAMED: &str = r"scilla_version 0
contract Named (name : String, symbol : String, decimals : Uint32)
field balances : Map ByStr20 Uint128 = Emp ByStr20 Uint128
";

/// Contracts that are no tokens: counts without owners, another type of key, a field that is no map.
const NO_TOKENS: [&str; 3] = [
    "scilla_version 0\ncontract A ()\nfield balances : Map ByStr20 Uint256 = Emp ByStr20 Uint256\n",
    "scilla_version 0\ncontract B ()\nfield balances : Map String Uint128 = Emp String Uint128\n",
    "scilla_version 0\ncontract C ()\nfield balances : Uint128 = Uint128 7\n",
];

/// Returns the tokens of all pages.
fn tokens(node: &Node, holder: &str, limit: u32) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = node.result("silica_getTokens", &json!([holder, {"limit": limit, "cursor": cursor}]));
        let rows = page["tokens"].as_array().unwrap();
        assert!(rows.len() <= limit as usize);
        found.extend(rows.iter().cloned());
        cursor = page["next"].clone();
        if cursor.is_null() {
            return found;
        }
    }
}

#[test]
fn tokens_of_all_pages_are_those_with_a_balance() {
    let mut chain = Chain::new();
    let param = |name: &str, ty: &str, value: &str| json!({"vname": name, "type": ty, "value": value});
    let named = [param("name", "String", "Coin"), param("symbol", "String", "C"), param("decimals", "Uint32", "12")];
    let old = [param("name", "Uint32", "7"), param("decimals", "String", "12")];
    let [coin, plain, ids, old, empty] =
        [(NAMED, &named[..]), (TOKENS, &[]), (IDS, &[]), (OLD_IDS, &old), (TOKENS, &[])]
            .map(|(code, params)| chain.deploy(code, params).0.to_string());
    let others = NO_TOKENS.map(|code| chain.deploy(code, &[]).0.to_string());
    let holder = Wallet::stranger(7).address();
    let key = format!("0x{holder}");
    let node = &chain.node;
    let set = |contract: &str, field: &str, key: &str, value: &str| {
        node.result("silica_setContractField", &json!([contract, field, [key], value]));
    };
    set(&coin, "balances", &key, "340282366920938463463374607431768211455");
    set(&plain, "balances", &key, "1");
    set(&plain, "balances_of", &key, "2");
    set(&ids, "balances", &key, "3");
    set(&old, "owned_token_count", &key, "4");
    set(&empty, "balances", &key, "0");
    set(&empty, "balances", "0x0000000000000000000000000000000000000001", "5");
    set(&others[0], "balances", &key, "6");
    set(&others[1], "balances", &key, "7");
    let row = |contract: &String, standard: &str, balance: &str| {
        json!({
            "balance": balance, "contract": contract, "decimals": null, "name": null, "standard": standard, "symbol": null,
        })
    };
    let mut first = row(&coin, "ZRC-2", "340282366920938463463374607431768211455");
    (first["decimals"], first["name"], first["symbol"]) = (json!(12), json!("Coin"), json!("C"));
    let mut expected = vec![first, row(&plain, "ZRC-2", "1"), row(&ids, "ZRC-6", "3"), row(&old, "ZRC-1", "4")];
    expected.sort_by_key(|row| row["contract"].as_str().unwrap().to_owned());
    for limit in [1, 2, 3, 4, 200] {
        assert_eq!(tokens(node, &holder.to_bech32(), limit), expected, "{limit}");
    }
    // Each token of a holder has the holder in its own list, and no other token has.
    for contract in [&coin, &plain] {
        let rows = holders(node, contract, 100);
        assert!(rows.iter().any(|row| row["holder"] == key), "{contract}");
    }
    assert_eq!(tokens(node, &Wallet::stranger(8).hex(), 5), [] as [Value; 0]);
    let one = tokens(node, "0000000000000000000000000000000000000001", 5);
    assert_eq!(one, [row(&empty, "ZRC-2", "5")]);
    check_error(node, "silica_getTokens", &json!(["12"]), (-8, &crate::no_address("12")));
    for params in [json!([]), json!([7]), json!([holder.to_string(), [], 1])] {
        let (code, _) = node.error("silica_getTokens", &params);
        assert_eq!(code, INVALID_PARAMS.0, "{params}");
    }
}

#[test]
fn contracts_are_listed_and_found_by_their_names() {
    let mut chain = Chain::new();
    let param = |name: &str, ty: &str, value: &str| json!({"vname": name, "type": ty, "value": value});
    let named = [param("name", "String", "Coin"), param("symbol", "String", "XYZ"), param("decimals", "Uint32", "12")];
    let old = [param("name", "Uint32", "7"), param("decimals", "String", "12")];
    let [coin, old, counts, single] = [(NAMED, &named[..]), (OLD_IDS, &old), (NO_TOKENS[0], &[]), (NO_TOKENS[2], &[])]
        .map(|(code, params)| chain.deploy(code, params).0.to_string());
    let rows = all(&chain.node, "silica_listContracts", "contracts", json!({"limit": 3}));
    assert_eq!(rows.len(), 4);
    for (contract, name, token) in [
        (&coin, "Named", json!({"decimals": 12, "name": "Coin", "standard": "ZRC-2", "symbol": "XYZ"})),
        (&old, "OldIds", json!({"decimals": null, "name": null, "standard": "ZRC-1", "symbol": null})),
        (&counts, "A", Value::Null),
        (&single, "C", Value::Null),
    ] {
        let row = rows.iter().find(|row| row["address"] == **contract).unwrap();
        assert_eq!((&row["name"], &row["token"]), (&json!(name), &token));
    }
    let search = |text: &str| {
        let result = chain.node.result("silica_search", &json!([text]));
        assert_eq!(result["complete"], true);
        let matches = result["matches"].as_array().unwrap();
        assert!(matches.iter().all(|found| found["kind"] == "contract"), "{result}");
        let mut found: Vec<_> = matches.iter().map(|found| (found["id"].clone(), found["label"].clone())).collect();
        found.sort_unstable_by_key(|found| found.1.to_string());
        found
    };
    let coin = (json!(coin), json!("Named (Coin, XYZ)"));
    for text in ["named", "Nam", "coin", "xy", "XYZ"] {
        assert_eq!(search(text), std::slice::from_ref(&coin), "{text}");
    }
    assert_eq!(search("c"), [(json!(single), json!("C")), coin]);
    assert_eq!(search("oldids"), [(json!(old), json!("OldIds"))]);
    for text in ["amed", "Named (", "12", "oin"] {
        assert_eq!(search(text), [], "{text}");
    }
}

#[test]
fn search_finds_blocks_transactions_and_accounts() {
    let node = Node::start(&["--block-mode", "manual"]);
    let hashes: Vec<String> = (1..=40).map(|nonce| pay(&node, nonce, 5)).collect();
    node.result("silica_mine", &json!([120]));
    let search = |text: &str| node.result("silica_search", &json!([text]));
    let found = |matches: Value| json!({"complete": true, "matches": matches});
    let hash_of = |method: &str, number: &str, member: &str| {
        let block = node.result(method, &json!([number]));
        block["body"][member].as_str().unwrap().to_lowercase()
    };
    let block = hash_of("GetTxBlock", "7", "BlockHash");
    let by_number = json!({"id": "7", "kind": "block", "label": block});
    assert_eq!(search("7"), found(json!([by_number])));
    assert_eq!(search(&block), found(json!([by_number])));
    assert_eq!(search(&format!(" 0x{} ", block.to_uppercase())), found(json!([by_number])));
    let both = search("1");
    assert_eq!((&both["matches"][0]["kind"], &both["matches"][1]["kind"]), (&json!("block"), &json!("dsBlock")));
    let ds_hash = both["matches"][1]["label"].as_str().unwrap();
    assert_eq!(search(ds_hash), found(json!([both["matches"][1]])));
    let (wallet, bech32) = (Wallet::funded(0).hex(), Wallet::funded(0).address().to_bech32());
    let account = found(json!([{"id": wallet, "kind": "account", "label": bech32}]));
    for text in [&wallet, &bech32, &format!("0x{wallet}"), &wallet.to_uppercase()] {
        assert_eq!(search(text), account, "{text}");
    }
    for (at, hash) in hashes.iter().enumerate() {
        let transaction = json!({"id": hash, "kind": "transaction", "label": format!("1:{at}")});
        for length in [64, 63, 17, 16, 15, 10] {
            let position = node.result("silica_search", &json!([hash[..length]]))["matches"][0].clone();
            assert_eq!(position["id"], transaction["id"], "{hash} {length}");
        }
    }
    assert_eq!(search(&hashes[3][..6])["matches"][0]["id"], hashes[3]);
    let nothing = found(json!([]));
    for text in [
        "121",
        "99999999999999999999999",
        "-1",
        "0x",
        "zil1",
        &hashes[0][..5],
        &format!("{}0", hashes[0]),
        "\u{1f980}",
        "f\u{0}",
        &"\u{1f980}".repeat(100),
    ] {
        assert_eq!(search(text), nothing, "{text:?}");
    }
    assert_eq!(search(&"0".repeat(64)), nothing);
    for (text, got) in [("", 0), ("  ", 0), (&"7".repeat(101), 101), (&"\u{1f980}".repeat(101), 101)] {
        let (code, message) = node.error("silica_search", &json!([text]));
        let expected = format!("text: expected a text from 1 to 100 characters, got {got} characters: ");
        assert!(code == -8 && message.starts_with(&expected), "{message}");
        assert!(message.len() < 250, "{message}");
    }
    check_error(&node, "silica_search", &json!([7]), INVALID_PARAMS);
}

#[test]
fn pool_and_snapshots_are_listed_for_developers() {
    let node = Node::start(&["--block-mode", "manual"]);
    let mut hashes = Vec::new();
    for nonce in 1..=5 {
        for payer in [0, 1] {
            let payment = Wallet::funded(payer).payment(nonce, Wallet::stranger(1).address(), 1);
            node.result("CreateTransaction", &json!([payment.json()]));
            hashes.push((payer, payment.hash()));
        }
    }
    let listed = |options: Value| -> Vec<String> {
        all(&node, "silica_getPool", "transactions", options)
            .iter()
            .map(|row| row["hash"].as_str().unwrap().to_owned())
            .collect()
    };
    let of = |payer| hashes.iter().filter(|(by, _)| *by == payer).map(|(_, hash)| hash.clone()).collect::<Vec<_>>();
    for limit in [1, 3, 10, 1000] {
        assert_eq!(listed(json!({"limit": limit})), hashes.iter().map(|(_, hash)| hash.clone()).collect::<Vec<_>>());
        assert_eq!(listed(json!({"limit": limit, "sender": Wallet::funded(1).address().to_bech32()})), of(1));
    }
    assert!(listed(json!({"sender": Wallet::stranger(3).hex()})).is_empty());
    // A page continues although its last transaction has left the pool.
    let page = node.result("silica_getPool", &json!([{"limit": 4}]));
    node.result("silica_dropTransaction", &json!([hashes[3].1]));
    assert_eq!(
        listed(json!({"cursor": page["next"]})),
        hashes[4..].iter().map(|(_, hash)| hash.clone()).collect::<Vec<_>>()
    );

    let snapshots = |options: Value| all(&node, "silica_listSnapshots", "snapshots", options);
    assert!(snapshots(json!({})).is_empty());
    for _ in 0..3 {
        node.result("silica_snapshot", &json!([]));
        node.result("silica_mine", &json!([2]));
    }
    let ids = |rows: &[Value]| {
        rows.iter()
            .map(|row| (row["id"].as_u64().unwrap(), row["block"].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    let rows = snapshots(json!({"limit": 1}));
    assert_eq!(ids(&rows), [(1, "0".to_owned()), (2, "2".to_owned()), (3, "4".to_owned())]);
    assert_eq!((&rows[0]["blockMode"], &rows[0]["transactions"]), (&json!("manual"), &json!(10)));
    node.result("silica_revert", &json!([2]));
    assert_eq!(ids(&snapshots(json!({}))), [(1, "0".to_owned())]);
    let closed = Node::start(&["--developer", "off"]);
    for method in ["silica_getPool", "silica_listSnapshots"] {
        assert_eq!(closed.error(method, &json!([])).0, closed.error("silica_mine", &json!([])).0, "{method}");
    }
}
