//! Tx blocks, their listing, and their transactions
//! (Reference: interface#tx-block-methods, interface#transactions-of-a-block).

use serde_json::{Value, json};
use silica_protocol::{
    TxBlock,
    rpc::block::{RewardKind, TxBlockJson},
};
use silica_tests::{Node, Wallet, wallet::FEE};

use crate::{check_error, check_result, documented, height, pay_once};

const NO_BLOCK: &str = "18446744073709551615";

/// Starts a node with blocks 1 to `count`. The first ten blocks have a payment each, and all later blocks are empty.
fn chain_of(count: u64) -> Node {
    let node = Node::start(&["--block-mode", "manual"]);
    for nonce in 1..=count.min(10) {
        let payment = Wallet::funded(0).payment(nonce, Wallet::stranger(nonce).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
        node.result("IncreaseBlocknum", &json!([1]));
    }
    if count > 10 {
        node.result("IncreaseBlocknum", &json!([count - 10]));
    }
    assert_eq!(height(&node), count);
    node
}

fn block(node: &Node, number: u64) -> Value {
    node.result("GetTxBlock", &json!([number.to_string()]))
}

#[test]
fn blocks_look_as_documented() {
    let node = chain_of(3);
    let latest = documented(&node, "GetLatestTxBlock", &json!([""]));
    assert_eq!(documented(&node, "GetTxBlock", &json!(["3"])), latest);
    documented(&node, "GetTxBlock", &json!(["0"]));
    documented(&node, "TxBlockListing", &json!([1]));
    documented(&node, "GetTransactionsForTxBlock", &json!(["1"]));
    documented(&node, "GetTransactionsForTxBlockEx", &json!(["1", "0"]));
    documented(&node, "GetTxnBodiesForTxBlock", &json!(["1"]));
    documented(&node, "GetTxnBodiesForTxBlockEx", &json!(["1", "0"]));
}

#[test]
fn verbose_block_has_what_its_committee_signed() {
    let node = chain_of(100);
    for number in [0, 1, 42, 99, 100] {
        let mut verbose = documented(&node, "GetTxBlockVerbose", &json!([number.to_string()]));
        let committee_hash = verbose["header"].as_object_mut().unwrap().remove("CommitteeHash").unwrap();
        assert_eq!(committee_hash == "0".repeat(64), number == 0, "{number}");
        let body = verbose["body"].as_object_mut().unwrap();
        let first_round = body.remove("CS1").unwrap();
        assert_eq!(first_round == "0".repeat(128), number == 0, "{number}");
        for round in ["B1", "B2"] {
            assert_eq!(body.remove(round).unwrap(), json!([number != 0]), "{number}");
        }
        assert_eq!(verbose, block(&node, number));
    }
}

#[test]
fn raw_block_is_the_block() {
    let node = chain_of(3);
    let raw = node.result("GetRawTxBlock", &json!(["3"]))["data"].as_str().unwrap().to_owned();
    assert_eq!(raw, raw.to_uppercase());
    let decoded = TxBlock::decode(&hex::decode(raw).unwrap()).unwrap();
    let expected = serde_json::to_value(TxBlockJson::verbose(&decoded, RewardKind::Fees)).unwrap();
    assert_eq!(node.result("GetTxBlockVerbose", &json!(["3"])), expected);
    let missing = node.result("GetRawTxBlock", &json!(["9"]));
    assert_eq!(missing, json!({"data": hex::encode_upper(TxBlock::encode_missing())}));
    for spelling in ["", "abc", "latest"] {
        check_error(&node, "GetRawTxBlock", &json!([spelling]), (-32602, "Invalid arugment"));
        check_error(&node, "GetTxBlockVerbose", &json!([spelling]), (-32602, "Invalid argument"));
    }
    for method in ["GetRawTxBlock", "GetTxBlockVerbose"] {
        check_error(&node, method, &json!(["18446744073709551616"]), (-32602, "Out of range"));
    }
}

#[test]
fn fresh_chain_has_the_genesis_block() {
    let node = Node::start(&[]);
    let genesis = documented(&node, "GetLatestTxBlock", &json!([""]));
    assert_eq!(genesis["header"]["BlockNum"], "0");
    assert_eq!(genesis["header"]["DSBlockNum"], "0");
    assert_eq!(genesis["header"]["NumTxns"], 0);
    let listing = json!({"data": [{"BlockNum": 0, "Hash": genesis["body"]["BlockHash"]}], "maxPages": 1});
    check_result(&node, "TxBlockListing", &json!([1]), &listing);
}

#[test]
fn blocks_are_linked_by_their_hashes() {
    let node = chain_of(12);
    for number in 1..=12 {
        let (parent, child) = (block(&node, number - 1), block(&node, number));
        assert_eq!(child["header"]["PrevBlockHash"], parent["body"]["BlockHash"], "{number}");
        let time = |block: &Value| block["header"]["Timestamp"].as_str().unwrap().parse::<u64>().unwrap();
        assert!(number == 1 || time(&parent) < time(&child), "{number}");
    }
}

#[test]
fn header_counts_what_the_block_holds() {
    let node = chain_of(0);
    for payer in 0..3 {
        let payment = Wallet::funded(payer).payment(1, Wallet::stranger(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    node.result("IncreaseBlocknum", &json!([1]));
    let block = block(&node, 1);
    let header = &block["header"];
    assert_eq!((&header["NumTxns"], &header["NumPages"]), (&json!(3), &json!(1)));
    assert_eq!((&header["GasUsed"], &header["GasLimit"]), (&json!("150"), &json!("900000")));
    assert_eq!((&header["TxnFees"], &header["Rewards"]), (&json!((3 * FEE).to_string()), &json!("0")));
    assert_eq!(header["DSBlockNum"], "1");
    // The block has a micro block of the virtual shard, and one of the DS committee.
    let micro_blocks = block["body"]["MicroBlockInfos"].as_array().unwrap();
    assert_eq!(header["NumMicroBlocks"], micro_blocks.len());
    let shards: Vec<&Value> = micro_blocks.iter().map(|info| &info["MicroBlockShardId"]).collect();
    assert_eq!(shards, [0, 1]);
    assert_ne!(micro_blocks[0]["MicroBlockTxnRootHash"], "0".repeat(64));
    assert_eq!(micro_blocks[1]["MicroBlockTxnRootHash"], "0".repeat(64));
    assert_ne!(header["StateRootHash"], "0".repeat(64));
    assert_ne!(header["StateDeltaHash"], "0".repeat(64));
}

#[test]
fn empty_block_moves_no_money() {
    let node = chain_of(12);
    let (full, empty) = (block(&node, 10), block(&node, 11));
    assert_eq!(empty["header"]["StateRootHash"], full["header"]["StateRootHash"]);
    assert_eq!((&empty["header"]["NumTxns"], &empty["header"]["NumPages"]), (&json!(0), &json!(0)));
    assert_eq!((&empty["header"]["GasUsed"], &empty["header"]["TxnFees"]), (&json!("0"), &json!("0")));
    let numbers = json!(["11"]);
    check_error(&node, "GetTransactionsForTxBlock", &numbers, (-1, "TxBlock has no transactions"));
    check_error(&node, "GetTxnBodiesForTxBlock", &numbers, (-1, "TxBlock has no transactions"));
}

#[test]
fn missing_block_is_the_dummy_block() {
    let node = Node::start(&[]);
    for number in ["1", "99999999", NO_BLOCK] {
        let dummy = documented(&node, "GetTxBlock", &json!([number]));
        assert_eq!(
            (&dummy["header"]["BlockNum"], &dummy["header"]["DSBlockNum"]),
            (&json!(NO_BLOCK), &json!(NO_BLOCK))
        );
        assert_eq!((&dummy["header"]["Timestamp"], &dummy["header"]["NumTxns"]), (&json!("0"), &json!(0)));
        assert_eq!(dummy["header"]["MinerPubKey"], format!("0x{}", "0".repeat(66)));
        assert_eq!(dummy["body"]["BlockHash"], "0".repeat(64));
        assert_eq!(dummy["body"]["HeaderSign"], "0".repeat(128));
        assert_eq!(dummy["body"]["MicroBlockInfos"], json!([]));
    }
}

#[test]
fn block_number_is_read_as_the_reference_reads_it() {
    let node = chain_of(3);
    let two = block(&node, 2);
    for spelling in [" 2", "+2", "2abc", "002", "\t2", "2.5"] {
        check_result(&node, "GetTxBlock", &json!([spelling]), &two);
    }
    assert_eq!(node.result("GetTxBlock", &json!(["-1"]))["header"]["BlockNum"], NO_BLOCK);
    for spelling in ["", "abc", "latest", "-", "+ 2", "é"] {
        check_error(&node, "GetTxBlock", &json!([spelling]), (-32602, "Invalid argument"));
    }
    for spelling in ["18446744073709551616", "99999999999999999999999"] {
        check_error(&node, "GetTxBlock", &json!([spelling]), (-32602, "Out of range"));
    }
}

#[test]
fn listing_pages_descend_to_genesis() {
    let node = chain_of(23);
    let mut expected = (0..=23).rev();
    for page in 1..=3 {
        let listing = documented(&node, "TxBlockListing", &json!([page]));
        assert_eq!(listing["maxPages"], 3);
        let entries = listing["data"].as_array().unwrap();
        assert_eq!(entries.len(), if page < 3 { 10 } else { 4 });
        for entry in entries {
            let number = expected.next().unwrap();
            assert_eq!(entry["BlockNum"], number);
            assert_eq!(entry["Hash"], block(&node, number)["body"]["BlockHash"]);
        }
    }
    for page in [0u32, 4, u32::MAX] {
        check_error(&node, "TxBlockListing", &json!([page]), (-8, "Pages out of limit"));
    }
}

#[test]
fn transactions_are_listed_by_micro_block() {
    let node = Node::start(&["--block-mode", "manual", "--shards", "3"]);
    let payments: Vec<_> = (0..9)
        .map(|payer| {
            let wallet = Wallet::funded(payer);
            let payment = wallet.payment(1, Wallet::stranger(1).address(), 1);
            node.result("CreateTransaction", &json!([payment.json()]));
            (wallet.address().shard(3).get(), payment.hash())
        })
        .collect();
    node.result("IncreaseBlocknum", &json!([1]));
    let listed = node.result("GetTransactionsForTxBlock", &json!(["1"]));
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 4, "three shards and the DS committee");
    for (shard, hash) in &payments {
        let index = usize::try_from(*shard).unwrap();
        assert!(listed[index].as_array().unwrap().contains(&json!(hash)), "{shard} {hash}");
    }
    assert_eq!(listed.iter().map(|shard| shard.as_array().unwrap().len()).sum::<usize>(), 9);
    assert_eq!(listed[3], json!([]));

    let flat: Vec<&Value> = listed.iter().flat_map(|shard| shard.as_array().unwrap()).collect();
    let bodies = node.result("GetTxnBodiesForTxBlock", &json!(["1"]));
    let ids: Vec<&Value> = bodies.as_array().unwrap().iter().map(|body| &body["ID"]).collect();
    assert_eq!(ids, flat);
    for body in bodies.as_array().unwrap() {
        check_result(&node, "GetTransaction", &json!([body["ID"]]), body);
    }
}

#[test]
fn pages_of_transactions_end() {
    let node = Node::start(&[]);
    let hash = pay_once(&node, 0);
    let page = node.result("GetTransactionsForTxBlockEx", &json!(["1", "0"]));
    assert_eq!(page, json!({"CurrPage": 0, "NumPages": 1, "Transactions": [[hash], []]}));
    for method in ["GetTransactionsForTxBlockEx", "GetTxnBodiesForTxBlockEx"] {
        check_error(&node, method, &json!(["1", "1"]), (-1, "TxBlock has no transactions"));
        check_error(&node, method, &json!(["9", "0"]), (-32602, "Tx Block does not exist"));
    }
    // An absent page means the first page. Two SDKs omit it.
    check_result(&node, "GetTransactionsForTxBlockEx", &json!(["1"]), &page);
    // An empty page means a response without pages.
    check_result(&node, "GetTransactionsForTxBlockEx", &json!(["1", ""]), &json!([[hash], []]));
}

#[test]
fn block_number_of_listings_is_read_leniently() {
    let node = Node::start(&[]);
    let hash = pay_once(&node, 0);
    for spelling in ["1", "0x1", "01", " 1", "1x"] {
        check_result(&node, "GetTransactionsForTxBlock", &json!([spelling]), &json!([[hash], []]));
    }
    // A text that is not a number counts as block 0, which is empty.
    check_error(&node, "GetTransactionsForTxBlock", &json!(["x"]), (-1, "TxBlock has no transactions"));
    for absent in ["2", "99999999999"] {
        check_error(&node, "GetTransactionsForTxBlock", &json!([absent]), (-32602, "Tx Block does not exist"));
        check_error(&node, "GetTxnBodiesForTxBlock", &json!([absent]), (-32602, "Tx Block does not exist"));
    }
}

#[test]
fn many_transactions_fill_pages() {
    let node = Node::start(&["--block-mode", "manual", "--max-batch", "2600"]);
    let count = 2_600;
    let wallets: Vec<Wallet> = (0..9).map(Wallet::funded).collect();
    let batch: Vec<Value> = (0..count)
        .map(|i| {
            let payment = wallets[i % 9].payment(1 + i as u64 / 9, Wallet::stranger(1).address(), 1).json();
            json!({"id": i, "jsonrpc": "2.0", "method": "CreateTransaction", "params": [payment]})
        })
        .collect();
    let answers = node.post_json(Value::from(batch).to_string());
    let mut sent: Vec<String> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["result"]["TranID"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned())
        .collect();
    node.result("IncreaseBlocknum", &json!([1]));
    let header = &block(&node, 1)["header"];
    assert_eq!((&header["NumTxns"], &header["NumPages"]), (&json!(count), &json!(2)));

    let mut listed: Vec<String> = Vec::new();
    for (page, length) in [("0", 2_500), ("1", 100)] {
        let hashes = node.result("GetTransactionsForTxBlockEx", &json!(["1", page]));
        assert_eq!((&hashes["CurrPage"], &hashes["NumPages"]), (&json!(page.parse::<u32>().unwrap()), &json!(2)));
        let flat: Vec<&str> = hashes["Transactions"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|shard| shard.as_array().unwrap())
            .map(|hash| hash.as_str().unwrap())
            .collect();
        assert_eq!(flat.len(), length);
        let bodies = node.result("GetTxnBodiesForTxBlockEx", &json!(["1", page]));
        let ids: Vec<&str> =
            bodies["Transactions"].as_array().unwrap().iter().map(|body| body["ID"].as_str().unwrap()).collect();
        assert_eq!(ids, flat);
        listed.extend(flat.into_iter().map(str::to_owned));
    }
    sent.sort();
    listed.sort();
    assert_eq!(sent, listed);
}
