//! Statistics and identity of the network (Reference: interface#network-methods, interface#chain-figures).

use serde_json::{Value, json};
use silica_tests::{Node, Wallet, wallet::FEE};

use crate::{check_error, check_result, documented, pay_once};

/// Members of the statistics, each with a method without parameters that returns the same value.
const MEMBERS: [(&str, &str); 10] = [
    ("CurrentDSEpoch", "GetCurrentDSEpoch"),
    ("CurrentMiniEpoch", "GetCurrentMiniEpoch"),
    ("DSBlockRate", "GetDSBlockRate"),
    ("NumDSBlocks", "GetNumDSBlocks"),
    ("NumTransactions", "GetNumTransactions"),
    ("NumTxBlocks", "GetNumTxBlocks"),
    ("NumTxnsDSEpoch", "GetNumTxnsDSEpoch"),
    ("NumTxnsTxEpoch", "GetNumTxnsTxEpoch"),
    ("TransactionRate", "GetTransactionRate"),
    ("TxBlockRate", "GetTxBlockRate"),
];

#[test]
fn every_figure_looks_as_documented() {
    let node = Node::start(&["--block-mode", "manual"]);
    for blocks in [0, 1, 2, 110] {
        if blocks > 0 {
            node.result("IncreaseBlocknum", &json!([blocks]));
        }
        let info = documented(&node, "GetBlockchainInfo", &json!([""]));
        for (member, method) in MEMBERS {
            assert_eq!(documented(&node, method, &json!([""])), info[member], "{method}");
        }
        for method in [
            "GetPrevDifficulty",
            "GetPrevDSDifficulty",
            "GetMinimumGasPrice",
            "GetNetworkId",
            "GetVersion",
            "GetTotalCoinSupply",
            "GetTotalCoinSupplyAsInt",
            "GetBlocknum",
        ] {
            documented(&node, method, &json!([""]));
        }
    }
}

#[test]
fn figures_follow_the_chain() {
    let node = Node::start(&["--block-mode", "manual"]);
    let expect = |expected: Value| {
        let info = node.result("GetBlockchainInfo", &json!([""]));
        for (member, value) in expected.as_object().unwrap() {
            assert_eq!(&info[member], value, "{member}");
        }
    };
    expect(json!({"CurrentDSEpoch": "0", "CurrentMiniEpoch": "1", "NumDSBlocks": "1", "NumTxBlocks": "1",
        "NumTransactions": "0", "NumTxnsDSEpoch": "0", "NumTxnsTxEpoch": "0", "NumPeers": 2,
        "ShardingStructure": {"NumPeers": [1]}, "TransactionRate": 0.0}));
    for payer in 0..3 {
        let payment = Wallet::funded(payer).payment(1, Wallet::stranger(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    node.result("IncreaseBlocknum", &json!([1]));
    expect(json!({"CurrentDSEpoch": "1", "CurrentMiniEpoch": "2", "NumDSBlocks": "2", "NumTxBlocks": "2",
        "NumTransactions": "3", "NumTxnsDSEpoch": "3", "NumTxnsTxEpoch": "3"}));
    node.result("IncreaseBlocknum", &json!([98]));
    expect(json!({"CurrentDSEpoch": "1", "CurrentMiniEpoch": "100", "NumTransactions": "3", "NumTxnsDSEpoch": "3",
        "NumTxnsTxEpoch": "0"}));
    let payment = Wallet::funded(0).payment(2, Wallet::stranger(1).address(), 1);
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    expect(json!({"CurrentDSEpoch": "2", "CurrentMiniEpoch": "101", "NumDSBlocks": "3", "NumTransactions": "4",
        "NumTxnsDSEpoch": "1", "NumTxnsTxEpoch": "1"}));
}

#[test]
fn rates_are_those_of_the_timestamps() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([4]));
    for payer in 0..2 {
        let payment = Wallet::funded(payer).payment(1, Wallet::stranger(1).address(), 1);
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    node.result("IncreaseBlocknum", &json!([1]));
    let time = |number: u32| -> f64 {
        let block = node.result("GetTxBlock", &json!([number.to_string()]));
        block["header"]["Timestamp"].as_str().unwrap().parse().unwrap()
    };
    let near = |method: &str, expected: f64| {
        let rate = node.result(method, &json!([])).as_f64().unwrap();
        assert!((rate - expected).abs() <= expected * 1e-9, "{method}: {rate}, not {expected}");
    };
    near("GetTransactionRate", 2e6 / (time(5) - time(4)));
    near("GetTxBlockRate", 6e6 / (time(5) - time(1)));
    near("GetDSBlockRate", 0.0);
}

#[test]
fn each_virtual_shard_counts_one_peer() {
    let node = Node::start(&["--shards", "3"]);
    let info = node.result("GetBlockchainInfo", &json!([]));
    assert_eq!(info["ShardingStructure"], json!({"NumPeers": [1, 1, 1]}));
    assert_eq!(info["NumPeers"], 4);
}

#[test]
fn members_of_a_shard_are_shown() {
    let node = Node::start(&["--shards", "2"]);
    check_result(&node, "GetShardingStructure", &json!([""]), &json!({"NumPeers": [1, 1]}));
    check_result(&node, "GetNumPeers", &json!([""]), &json!(3));
    check_result(&node, "GetNodeType", &json!([""]), &json!("Seed"));
    let member = node.result("GetCurrentDSComm", &json!([""]))["dscomm"][0].clone();
    for shard in [0, 1] {
        let members = documented(&node, "GetShardMembers", &json!([shard]));
        assert_eq!(members, json!([{"NetworkInfo": "<0.0.0.0:0>", "PubKey": member}]));
    }
    for shard in [2, u32::MAX] {
        check_error(&node, "GetShardMembers", &json!([shard]), (-8, "Invalid shard ID"));
    }
    for shard in [json!("0"), json!(-1), json!(0.5), json!(null)] {
        let refused = node.call("GetShardMembers", &json!([shard])).unwrap_err();
        assert_eq!(refused.code, -32602, "{shard}");
    }
}

#[test]
fn supply_is_what_the_null_account_does_not_hold() {
    let node = Node::start(&["--block-mode", "manual", "--blocks-per-ds-epoch", "3"]);
    check_result(&node, "GetTotalCoinSupply", &json!([""]), &json!("12600000000.000000000000"));
    check_result(&node, "GetTotalCoinSupplyAsInt", &json!([""]), &json!(12_600_000_000u64));
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 1);
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("IncreaseBlocknum", &json!([2]));
    let reserve = crate::balance(&node, &"0".repeat(40)).0;
    let reward: u128 = node.result("GetTxBlock", &json!(["2"]))["header"]["Rewards"].as_str().unwrap().parse().unwrap();
    assert_eq!(reserve, 8_400_000_000_000_000_000_000 + FEE - reward);
    let supply = 21_000_000_000_000_000_000_000 - reserve;
    let text = format!("{}.{:012}", supply / 1_000_000_000_000, supply % 1_000_000_000_000);
    check_result(&node, "GetTotalCoinSupply", &json!([""]), &json!(text));
    let rounded = (supply + 500_000_000_000) / 1_000_000_000_000;
    assert_eq!(node.result("GetTotalCoinSupplyAsInt", &json!([""])), json!(u64::try_from(rounded).unwrap()));
}

#[test]
fn network_id_is_the_chain_id() {
    check_result(&Node::start(&[]), "GetNetworkId", &json!([""]), &json!("222"));
    check_result(&Node::start(&["--chain-id", "333"]), "GetNetworkId", &json!([""]), &json!("333"));
}

#[test]
fn minimum_gas_price_can_be_set() {
    let node = Node::start(&[]);
    check_result(&node, "GetMinimumGasPrice", &json!([""]), &json!("2000000000"));
    check_result(&node, "SetMinimumGasPrice", &json!(["1000000000"]), &json!("1000000000"));
    check_result(&node, "GetMinimumGasPrice", &json!([""]), &json!("1000000000"));
    let payer = Wallet::funded(0);
    let mut payment = payer.payment(1, Wallet::stranger(1).address(), 1);
    payment.gas_price = 999_999_999;
    let message = "GasPrice 999999999 lower than minimum allowable 1000000000";
    check_error(&node, "CreateTransaction", &json!([payment.json()]), (-26, message));
    payment.gas_price = 1_000_000_000;
    node.result("CreateTransaction", &json!([payment.json()]));

    for text in ["abc", "", "-5", "1.5"] {
        check_error(&node, "SetMinimumGasPrice", &json!([text]), (-8, "Gas price should be numeric"));
    }
    check_error(&node, "SetMinimumGasPrice", &json!(["0"]), (-8, "Gas price cannot be less than 1"));
}

#[test]
fn block_number_is_that_of_the_next_transaction() {
    let node = Node::start(&[]);
    check_result(&node, "GetBlocknum", &json!([""]), &json!("1"));
    let hash = pay_once(&node, 0);
    assert_eq!(node.result("GetTransaction", &json!([hash]))["receipt"]["epoch_num"], "1");
    check_result(&node, "GetBlocknum", &json!([""]), &json!("2"));
    check_result(&node, "IncreaseBlocknum", &json!([5]), &json!("7"));
    check_result(&node, "GetBlocknum", &json!([""]), &json!("7"));
    assert_eq!(crate::height(&node), 6);
}

#[test]
fn node_info_has_the_settings_of_the_node() {
    let options = ["--block-mode", "interval=60000", "--pause-id", "9", "--profile", "zq2", "--shards", "3"];
    let limits = ["--developer", "off", "--max-batch", "7", "--rate-limit", "40"];
    let node = Node::start(&[&options[..], &limits[..]].concat());
    let info = node.result("silica_nodeInfo", &json!([]));
    let expected = json!({
        "blockMode": "interval=60000", "blocksPerDsEpoch": 100, "chainId": 1, "developerMethods": false,
        "firstBlock": "0", "generation": "8.1", "index": "addresses,events,blocks,balances",
        "indexedBlocks": info["indexedBlocks"], "latestBlock": "0", "latestDsBlock": "0", "limits": info["limits"],
        "oldestState": "0", "paused": false, "profile": "zq2", "scillaRules": info["scillaRules"], "shards": 3, "studio": true,
        "transactionVersion": 65_537, "version": node.result("GetVersion", &json!([]))["Version"],
    });
    assert_eq!(info, expected);
    assert!(info["scillaRules"].as_str().unwrap().starts_with("latest/"), "{info}");
    assert_eq!((&info["limits"]["batchCalls"], &info["limits"]["unitsPerSecond"]), (&json!(7), &json!(40)));
    node.result("TogglePause", &json!(["9"]));
    assert_eq!(node.result("silica_nodeInfo", &json!([]))["paused"], true);
}

#[test]
fn node_info_follows_the_chain_and_the_block_mode() {
    let node = Node::start(&["--proof-window", "60"]);
    node.result("silica_mine", &json!([120]));
    node.result("silica_setBlockMode", &json!(["manual"]));
    let info = documented(&node, "silica_nodeInfo", &json!([]));
    let got = ["latestBlock", "latestDsBlock", "oldestState", "blockMode", "developerMethods"].map(|name| &info[name]);
    assert_eq!(got, [&json!("120"), &json!("2"), &json!("61"), &json!("manual"), &json!(true)]);
}
