//! DS blocks, their listing, and the change of DS epochs (Reference: interface#ds-block-methods, execution#ds-blocks).

use serde_json::{Value, json};
use silica_protocol::{BlockHash, DsBlock, rpc::block::DsBlockJson};
use silica_tests::{Node, Wallet, wallet::FEE};

use crate::{balance, check_error, check_result, documented, height};

const NO_BLOCK: &str = "18446744073709551615";

fn ds_block(node: &Node, number: u64) -> Value {
    node.result("GetDsBlock", &json!([number.to_string()]))
}

#[test]
fn blocks_look_as_documented() {
    let node = Node::start(&["--block-mode", "manual"]);
    documented(&node, "GetLatestDsBlock", &json!([""]));
    node.result("IncreaseBlocknum", &json!([1]));
    let latest = documented(&node, "GetLatestDsBlock", &json!([""]));
    assert_eq!(documented(&node, "GetDsBlock", &json!(["1"])), latest);
    documented(&node, "DSBlockListing", &json!([1]));
    documented(&node, "GetMinerInfo", &json!(["1"]));
}

#[test]
fn verbose_block_has_what_its_committee_signed() {
    let node = Node::start(&["--block-mode", "manual", "--blocks-per-ds-epoch", "3"]);
    node.result("IncreaseBlocknum", &json!([7]));
    for number in 0..=3 {
        let mut verbose = documented(&node, "GetDsBlockVerbose", &json!([number.to_string()]));
        let previous = match number {
            0 | 1 => "0".repeat(64),
            _ => ds_block(&node, number)["header"]["PrevHash"].as_str().unwrap().to_owned(),
        };
        assert_eq!(verbose["PrevDSHash"], previous, "{number}");
        assert_eq!(verbose["B1"].as_array().unwrap().len(), 1, "{number}");
        assert_eq!(verbose["header"]["EpochNum"], (number * 3).saturating_sub(3).max(number.min(1)).to_string());
        // Without its additional members, the verbose form equals the plain form.
        for detail in ["B1", "B2", "CS1", "PrevDSHash"] {
            verbose.as_object_mut().unwrap().remove(detail).unwrap();
        }
        let plain = ds_block(&node, number);
        let header = verbose["header"].as_object_mut().unwrap();
        header.retain(|name, _| plain["header"].get(name).is_some());
        assert_eq!(verbose, plain);
    }
}

#[test]
fn raw_block_is_the_block() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([1]));
    let raw = node.result("GetRawDSBlock", &json!(["1"]))["data"].as_str().unwrap().to_owned();
    assert_eq!(raw, raw.to_uppercase());
    let block = DsBlock::decode(&hex::decode(raw).unwrap()).unwrap();
    let verbose = node.result("GetDsBlockVerbose", &json!(["1"]));
    let expected = serde_json::to_value(DsBlockJson::verbose(&block, BlockHash::ZERO)).unwrap();
    assert_eq!(verbose, expected);
    let missing = node.result("GetRawDSBlock", &json!(["9"]));
    assert_eq!(missing, json!({"data": hex::encode_upper(DsBlock::encode_missing())}));
}

#[test]
fn committee_is_the_leader_of_the_blocks() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([101]));
    let leader = ds_block(&node, 2)["header"]["LeaderPubKey"].clone();
    documented(&node, "GetCurrentDSComm", &json!([""]));
    let expected = json!({"CurrentDSEpoch": "2", "CurrentTxEpoch": "102", "NumOfDSGuard": 0, "dscomm": [leader]});
    check_result(&node, "GetCurrentDSComm", &json!([""]), &expected);
}

#[test]
fn genesis_block_is_the_networks() {
    let node = Node::start(&[]);
    let genesis = ds_block(&node, 0);
    let header = &genesis["header"];
    assert_eq!(header["BlockNum"], "0");
    assert_eq!((&header["Difficulty"], &header["DifficultyDS"]), (&json!(3), &json!(5)));
    assert_eq!(header["PoWWinners"], json!([]));
    let previous = "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20";
    assert_eq!(header["PrevHash"], previous);
}

#[test]
fn ds_epoch_is_a_hundred_tx_blocks() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([205]));
    for (number, epoch) in [(0, "0"), (1, "1"), (99, "1"), (100, "2"), (199, "2"), (200, "3"), (205, "3")] {
        let block = node.result("GetTxBlock", &json!([number.to_string()]));
        assert_eq!(block["header"]["DSBlockNum"], epoch, "{number}");
    }
    assert_eq!(ds_block(&node, 3), node.result("GetLatestDsBlock", &json!([])));
    let time = |block: &Value| block["header"]["Timestamp"].as_str().unwrap().parse::<u64>().unwrap();
    for number in 1..=3 {
        let block = ds_block(&node, number);
        assert_eq!(block["header"]["GasPrice"], "2000000000");
        assert_eq!((&block["header"]["Difficulty"], &block["header"]["DifficultyDS"]), (&json!(3), &json!(5)));
        assert!(number == 1 || time(&ds_block(&node, number - 1)) < time(&block));
    }
    // A listed hash equals the previous hash in the next block.
    let listing = node.result("DSBlockListing", &json!([1]));
    assert_eq!(listing["maxPages"], 1);
    let entries = listing["data"].as_array().unwrap();
    let numbers: Vec<&Value> = entries.iter().map(|entry| &entry["BlockNum"]).collect();
    assert_eq!(numbers, [3, 2, 1, 0]);
    for pair in entries.windows(2) {
        let child = ds_block(&node, pair[0]["BlockNum"].as_u64().unwrap());
        assert_eq!(child["header"]["PrevHash"], pair[1]["Hash"]);
    }
}

#[test]
fn last_block_of_an_epoch_pays_the_reward_and_nothing_else() {
    let node = Node::start(&["--block-mode", "manual", "--blocks-per-ds-epoch", "5"]);
    let null = "0".repeat(40);
    let (reserve, _) = balance(&node, &null);
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("IncreaseBlocknum", &json!([3]));
    assert_eq!(balance(&node, &null).0, reserve, "fees wait for the end of the epoch");

    let late = Wallet::funded(0).payment(2, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([late.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    let vacuous = node.result("GetTxBlock", &json!(["4"]));
    assert_eq!((&vacuous["header"]["NumTxns"], &vacuous["header"]["TxnFees"]), (&json!(0), &json!("0")));
    let nominal: u128 = vacuous["header"]["Rewards"].as_str().unwrap().parse().unwrap();
    assert!(nominal > 0);
    assert_eq!(balance(&node, &null).0, reserve + FEE - nominal);

    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(node.result("GetTxBlock", &json!(["5"]))["header"]["NumTxns"], 1);
    assert_eq!(balance(&node, &Wallet::stranger(1).hex()).0, 10);
}

#[test]
fn instant_mode_passes_the_last_block_of_an_epoch() {
    let node = Node::start(&["--blocks-per-ds-epoch", "3"]);
    let payer = Wallet::funded(0);
    for nonce in 1..=7 {
        let payment = payer.payment(nonce, Wallet::stranger(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
        let read = node.result("GetTransaction", &json!([payment.hash()]));
        let epoch: u64 = read["receipt"]["epoch_num"].as_str().unwrap().parse().unwrap();
        assert_ne!((epoch + 1) % 3, 0, "payment {nonce} is in a vacuous block");
    }
    assert_eq!(balance(&node, &payer.hex()).1, 7);
    assert!(height(&node) >= 9);
    for number in 0..=height(&node) {
        let block = node.result("GetTxBlock", &json!([number.to_string()]));
        let vacuous = (number + 1) % 3 == 0;
        assert_eq!(block["header"]["NumTxns"] == 0, vacuous || number == 0, "{number}");
    }
}

#[test]
fn missing_block_is_the_dummy_block() {
    let node = Node::start(&[]);
    for number in ["7", NO_BLOCK, "-1"] {
        let dummy = documented(&node, "GetDsBlock", &json!([number]));
        assert_eq!(dummy["header"]["BlockNum"], NO_BLOCK);
        assert_eq!(dummy["header"]["LeaderPubKey"], format!("0x{}", "0".repeat(66)));
        assert_eq!((&dummy["header"]["Timestamp"], &dummy["signature"]), (&json!("0"), &json!("0".repeat(128))));
    }
}

#[test]
fn invalid_block_number_is_rejected() {
    let node = Node::start(&[]);
    for method in ["GetDsBlock", "GetDsBlockVerbose", "GetRawDSBlock", "GetMinerInfo"] {
        for spelling in ["", "abc", "latest"] {
            check_error(&node, method, &json!([spelling]), (-32602, "Invalid arugment"));
        }
        check_error(&node, method, &json!(["18446744073709551616"]), (-32602, "Out of range"));
    }
    check_error(&node, "GetMinerInfo", &json!(["9"]), (-1, "Requested data not found"));
    for page in [0, 2] {
        check_error(&node, "DSBlockListing", &json!([page]), (-8, "Pages out of limit"));
    }
}

#[test]
fn miner_info_names_the_one_member() {
    let node = Node::start(&["--block-mode", "manual", "--shards", "2"]);
    node.result("IncreaseBlocknum", &json!([1]));
    let key = node.result("GetLatestTxBlock", &json!([]))["header"]["MinerPubKey"].clone();
    let shard = json!({"nodes": [key], "size": 1});
    let expected = json!({"dscommittee": [key], "shards": [shard, shard]});
    check_result(&node, "GetMinerInfo", &json!(["1"]), &expected);
    assert_eq!(ds_block(&node, 1)["header"]["LeaderPubKey"], key);
}
