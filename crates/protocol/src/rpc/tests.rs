//! Tests of the JSON types with documented responses, published blocks and transactions, and random values.

use std::{collections::BTreeSet, fs};

use proptest::prelude::*;
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    account::{Balance, BalanceAt, StateProof},
    address_history::AddressHistoryJson,
    block::{
        BlockListing, BlockWithTransactionsJson, DsBlockJson, RewardKind, TransactionsByShard, TransactionsPage,
        TxBlockJson,
    },
    contract::{ContractCheckJson, ContractInterfaceJson, ContractParamJson, StatePageJson},
    list::{
        AccountPageJson, BlockPageJson, ContractPageJson, EventPageJson, HolderPageJson, PoolPageJson,
        SearchResultJson, SnapshotPageJson, TokenPageJson, TransactionPageJson, TransferPageJson,
    },
    network::{BlockchainInfo, DsCommittee, MinerInfo, NodeInfo, NodeSettingsJson, NodeVersion, ShardingStructure},
    receipt::ReceiptJson,
    trace::{CallTraceJson, TransactionTraceJson},
    transaction::{
        CreateTransactionResult, PendingStatus, PendingTransactions, RecentTransactions, SubmissionInfo,
        TransactionJson, TransactionProgress, TransactionRequest, TransactionStatus,
    },
};
use crate::{
    Address, BlockHash, BlockNumber, CoSignatures, DsBlock, Qa, Receipt, ShardId, Signature, Timestamp, TxBlock,
    TxBlockHeader, TxHash,
    arbitrary::{any_ds_block, any_receipt, any_transaction, any_tx_block},
};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rpc-examples");
const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/vectors");

fn load(folder: &str, name: &str) -> Value {
    let path = format!("{folder}/{name}.json");
    serde_json::from_str(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))).unwrap()
}

fn cases(name: &str) -> Vec<Value> {
    load(VECTORS, name)["cases"].as_array().unwrap().clone()
}

/// Returns the documented results of a method.
fn results(method: &str) -> Vec<Value> {
    let examples = load(EXAMPLES, method);
    let results =
        examples["examples"].as_array().unwrap().iter().filter_map(|example| example["response"].get("result"));
    results.cloned().collect()
}

/// Returns the value with hexadecimal text in lower case, because documents mix both letter cases.
fn lower_hex(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            let is_hex = digits.len() >= 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_hex { text.to_lowercase().into() } else { value.clone() }
        }
        Value::Array(elements) => elements.iter().map(lower_hex).collect(),
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), lower_hex(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Checks that `shape` is written as `expected`, in the exact letter case, with its members in alphabetical order.
fn check_written<T: Serialize>(shape: &T, expected: &Value) {
    let text = serde_json::to_string(shape).unwrap();
    assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), expected);
    // `Value` sorts its members.
    assert_eq!(text, expected.to_string());
}

/// Checks that a documented response is read, and written again with the same members, types and values.
fn check_documented<T: Serialize + DeserializeOwned + JsonSchema>(value: &Value) {
    let shape: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    let text = serde_json::to_string(&shape).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(lower_hex(&written), lower_hex(value));
    assert_eq!(text, written.to_string());
    check_schema::<T>(&written);
}

/// Checks that the schema of `T` describes each written member, and requires no absent member.
fn check_schema<T: JsonSchema>(written: &Value) {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let Some(members) = written.as_object() else { return };
    let properties = schema.get("properties").and_then(Value::as_object).expect("the schema lists members");
    for member in members.keys() {
        let property = properties.get(member).unwrap_or_else(|| panic!("schema without {member}"));
        assert!(property.get("description").is_some(), "{member} is not described");
    }
    let required = schema.get("required").and_then(Value::as_array);
    for member in required.into_iter().flatten() {
        assert!(members.contains_key(member.as_str().unwrap()), "schema requires {member}");
    }
}

fn check_all<T: Serialize + DeserializeOwned + JsonSchema>(results: &[Value]) {
    assert!(!results.is_empty());
    results.iter().for_each(check_documented::<T>);
}

#[test]
fn documented_answers_are_reproduced() {
    let mut methods: BTreeSet<String> = fs::read_dir(EXAMPLES)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut documented = |method: &str| {
        assert!(methods.remove(method), "{method}");
        results(method)
    };

    check_all::<BlockListing>(&documented("DSBlockListing"));
    check_all::<Balance>(&documented("GetBalance"));
    check_all::<BlockchainInfo>(&documented("GetBlockchainInfo"));
    check_all::<DsCommittee>(&documented("GetCurrentDSComm"));
    check_all::<Vec<NodeInfo>>(&documented("GetDSCommittee"));
    check_all::<DsBlockJson>(&documented("GetDsBlock"));
    // The documented verbose form lacks the leader. The documented plain form shows the same block with its leader.
    let mut verbose = documented("GetDsBlockVerbose");
    assert!(verbose[0]["header"]["LeaderPubKey"].is_null());
    verbose[0]["header"]["LeaderPubKey"] = results("GetDsBlock")[0]["header"]["LeaderPubKey"].clone();
    check_all::<DsBlockJson>(&verbose);
    check_all::<DsBlockJson>(&documented("GetLatestDsBlock"));
    check_all::<TxBlockJson>(&documented("GetLatestTxBlock"));
    check_all::<MinerInfo>(&documented("GetMinerInfo"));
    check_all::<PendingStatus>(&documented("GetPendingTxn"));
    // The second example comes from version 6.2.0, and has another member name.
    check_all::<PendingTransactions>(&documented("GetPendingTxns")[..1]);
    check_all::<RecentTransactions>(&documented("GetRecentTransactions"));
    check_all::<Vec<NodeInfo>>(&documented("GetShardMembers"));
    check_all::<ShardingStructure>(&documented("GetShardingStructure"));
    check_all::<Vec<ContractParamJson>>(&documented("GetSmartContractInit"));
    check_all::<StateProof>(&documented("GetStateProof"));
    check_all::<TransactionStatus>(&documented("GetTransactionStatus"));
    check_all::<TransactionsByShard>(&documented("GetTransactionsForTxBlock"));
    check_all::<TransactionsPage<TransactionsByShard>>(&documented("GetTransactionsForTxBlockEx"));
    check_all::<TxBlockJson>(&documented("GetTxBlock"));
    check_all::<TxBlockJson>(&documented("GetTxBlockVerbose"));
    check_all::<Vec<TransactionJson>>(&documented("GetTxnBodiesForTxBlock"));
    check_all::<TransactionsPage<Vec<TransactionJson>>>(&documented("GetTxnBodiesForTxBlockEx"));
    check_all::<NodeVersion>(&documented("GetVersion"));
    check_all::<BlockListing>(&documented("TxBlockListing"));
    check_all::<ContractInterfaceJson>(&documented("silica_getContractInterface"));
    check_all::<ContractCheckJson>(&documented("silica_checkContract"));
    check_all::<BlockPageJson>(&documented("silica_getBlockRange"));
    check_all::<Vec<BlockWithTransactionsJson>>(&documented("silica_getBlocks"));
    check_all::<EventPageJson>(&documented("silica_getEvents"));
    check_all::<HolderPageJson>(&documented("silica_getHolders"));
    check_all::<PoolPageJson>(&documented("silica_getPool"));
    check_all::<StatePageJson>(&documented("silica_getSmartContractStatePage"));
    check_all::<TokenPageJson>(&documented("silica_getTokens"));
    check_all::<TransactionPageJson>(&documented("silica_getTransactionSummaries"));
    check_all::<StateProof>(&documented("silica_getAccountProof"));
    check_all::<BalanceAt>(&documented("silica_getBalanceAt"));
    check_all::<TransferPageJson>(&documented("silica_getTransfers"));
    check_all::<AddressHistoryJson>(&documented("silica_getTransactionsForAddress"));
    check_all::<AccountPageJson>(&documented("silica_listAccounts"));
    check_all::<ContractPageJson>(&documented("silica_listContracts"));
    check_all::<SnapshotPageJson>(&documented("silica_listSnapshots"));
    check_all::<NodeSettingsJson>(&documented("silica_nodeInfo"));
    check_all::<SearchResultJson>(&documented("silica_search"));
    check_all::<CallTraceJson>(&documented("silica_traceCall"));
    check_all::<TransactionTraceJson>(&documented("silica_traceTransaction"));

    // The sixth example has a receipt without its transaction.
    let transactions = documented("GetTransaction");
    assert_eq!(transactions.len(), 6);
    check_all::<TransactionJson>(&transactions[..5]);
    check_documented::<ReceiptJson>(&transactions[5]["receipt"]);

    // The second example comes from an isolated server. It has placeholders, and another text.
    let created = documented("CreateTransaction");
    assert_eq!(created.len(), 2);
    check_all::<CreateTransactionResult>(&created[..1]);
    assert_eq!(created[1].as_object().unwrap().keys().collect::<Vec<_>>(), ["ContractAddress", "Info", "TranID"]);

    // The other methods return text, numbers or booleans, or belong to contracts, other servers, zq2 or Ethereum.
    for method in methods {
        let elsewhere = method.starts_with('_')
            || method.starts_with("eth_")
            || ["GetRawDSBlock", "GetRawTxBlock", "GetSoftConfirmedTransaction", "IsTxnInMemPool"].contains(&&*method)
            || method.starts_with("GetSmartContract");
        assert!(
            elsewhere || results(&method).iter().all(|result| !result.is_object() && !result.is_array()),
            "{method}"
        );
    }
}

#[test]
fn submission_has_one_of_four_texts() {
    let result = |contract, info| CreateTransactionResult { contract, info, id: TxHash::new([1; 32]).into() };
    let id = "01".repeat(32);
    let check = |info, text: &str| check_written(&result(None, info), &json!({"Info": text, "TranID": id}));
    check(SubmissionInfo::Payment, "Non-contract txn, sent to shard");
    check(SubmissionInfo::CallInShard, "Contract Txn, Shards Match of the sender and reciever");
    check(SubmissionInfo::CallToDs, "Contract Txn, Sent To Ds");
    check_written(
        &result(Some(Address::new([0xab; 20]).into()), SubmissionInfo::Deployment),
        &json!({"ContractAddress": "ab".repeat(20), "Info": "Contract Creation txn, sent to shard", "TranID": id}),
    );
}

#[test]
fn published_transactions_are_shown_as_documented() {
    let documents: Vec<Value> = results("GetTransaction")
        .into_iter()
        .chain(results("GetTxnBodiesForTxBlock").into_iter().flat_map(|result| result.as_array().unwrap().clone()))
        .chain(
            results("GetTxnBodiesForTxBlockEx")
                .into_iter()
                .flat_map(|page| page["Transactions"].as_array().unwrap().clone()),
        )
        .collect();
    let mut found = BTreeSet::new();
    for case in cases("transactions") {
        let request = TransactionRequest::from_json(&case["request"].to_string()).unwrap();
        let Some(id) = case["published_hash"].as_str() else { continue };
        let Some(document) = documents
            .iter()
            .find(|document| document["ID"] == id && document["gasLimit"] == case["request"]["gasLimit"])
        else {
            continue;
        };
        // One document shows data that differ from the signed data.
        if document.get("data").is_some_and(|data| data != &case["request"]["data"]) {
            assert_eq!(case["name"], "published-mainnet-failed-call-9b00b3b7-redacted");
            continue;
        }
        let receipt = Receipt::from_json(&document["receipt"].to_string()).unwrap();
        check_written(&TransactionJson::new(id.parse().unwrap(), request.transaction, receipt), document);
        found.insert(id.to_owned());
    }
    assert!(found.len() >= 6, "{found:?}");
}

#[test]
fn deployment_shows_code_and_data() {
    let document = &results("GetTransaction")[1];
    let shape: TransactionJson = serde_json::from_value(document.clone()).unwrap();
    assert!(shape.code.starts_with("scilla_version 0") && shape.data.starts_with("[{"));
    assert!(shape.to.0.is_zero());
}

#[test]
fn status_shows_the_transaction_and_its_progress() {
    let document = &results("GetTransactionStatus")[0];
    let request = json!({
        "version": 21_823_489, "nonce": 131, "toAddr": "0xdb4955BA4b1A957200ee0a36cF5f84eb4D7447e5", "amount": "0",
        "pubKey": "0205273e54f262f8717a687250591dcfb5755b8ce4e3bd340c7abefd0de1276574", "gasPrice": "2000000000",
        "gasLimit": "30000", "code": "", "data": document["data"], "signature": document["signature"].as_str().unwrap()[2..],
    });
    let mut request = request;
    let to: Address = document["toAddr"].as_str().unwrap().parse().unwrap();
    request["toAddr"] = to.to_checksum().into();
    let transaction = TransactionRequest::from_json(&request.to_string()).unwrap().transaction;
    let progress = TransactionProgress {
        status: 3,
        modification_state: 2,
        success: true,
        inserted: BlockNumber::new(2_152_402),
        updated: BlockNumber::new(2_152_405),
        modified: Timestamp::new(1_607_488_477_842_011),
    };
    let shape = TransactionStatus::new(document["ID"].as_str().unwrap().parse().unwrap(), &transaction, progress);
    let mut expected = document.clone();
    // This node chooses its own value of these two members.
    expected["senderAddr"] = transaction.sender().to_string().into();
    expected["_id"]["$oid"] = "1bb178b023f816e950d862f6".into();
    check_written(&shape, &expected);
}

#[test]
fn pending_is_absent_once_confirmed() {
    check_written(&PendingStatus::CONFIRMED, &json!({"code": 0, "confirmed": true}));
    check_written(&PendingStatus::UNKNOWN, &json!({"code": 0, "confirmed": false, "pending": false}));
    check_written(&PendingStatus::waiting(4), &json!({"code": 4, "confirmed": false, "pending": true}));
    check_written(&PendingStatus::dropped(24), &json!({"code": 24, "confirmed": false, "pending": false}));
}

#[test]
fn recent_transactions_are_counted() {
    let recent: RecentTransactions = [TxHash::new([1; 32]), TxHash::ZERO].into_iter().collect();
    check_written(&recent, &json!({"TxnHashes": ["01".repeat(32), "00".repeat(32)], "number": 2}));
    check_written(&RecentTransactions::default(), &json!({"TxnHashes": [], "number": 0}));
}

#[test]
fn published_tx_blocks_are_shown_as_published() {
    let mut found = 0;
    for case in cases("blocks") {
        let bytes = |member: &str| case[member].as_str().map(|text| hex::decode(text).unwrap());
        let mut expected = case["json"].clone();
        let block = match case["kind"].as_str().unwrap() {
            "tx_block" => TxBlock::decode(&bytes("serialized_block").unwrap()).unwrap(),
            "tx_block_header" => {
                // The published block has no signatures.
                let document = &results("GetTxBlockVerbose")[0];
                expected["body"] = document["body"].clone();
                let listed: TxBlockJson = serde_json::from_value(document.clone()).unwrap();
                TxBlock {
                    header: TxBlockHeader::decode(&bytes("header").unwrap()).unwrap(),
                    micro_blocks: listed
                        .body
                        .micro_blocks
                        .iter()
                        .map(|info| crate::MbInfo {
                            hash: info.hash.0,
                            tx_root: info.tx_root.0,
                            shard: ShardId::new(info.shard),
                        })
                        .collect(),
                    cosignatures: CoSignatures {
                        cs1: listed.body.cs1.unwrap().0,
                        b1: listed.body.b1.unwrap(),
                        cs2: listed.body.cs2.0,
                        b2: listed.body.b2.unwrap(),
                    },
                    timestamp: listed.header.timestamp.0,
                }
            }
            _ => continue,
        };
        // Some blocks were published before headers had this member.
        expected["header"]["NumPages"] = 0.into();
        check_written(&TxBlockJson::verbose(&block, RewardKind::Fees), &expected);

        for member in ["B1", "B2", "CS1"] {
            expected["body"].as_object_mut().unwrap().remove(member).unwrap();
        }
        expected["header"].as_object_mut().unwrap().remove("CommitteeHash").unwrap();
        check_written(&TxBlockJson::new(&block, RewardKind::Fees), &expected);
        found += 1;
    }
    assert_eq!(found, 3);
}

#[test]
fn published_ds_blocks_are_shown_as_published() {
    let mut found = 0;
    for case in cases("blocks").iter().filter(|case| case["kind"] == "ds_block") {
        let block = DsBlock::decode(&hex::decode(case["serialized_block"].as_str().unwrap()).unwrap()).unwrap();
        let upper = |member: &str| Value::from(case[member].as_str().unwrap().to_uppercase());
        let first = block.header.number.get() == 1;
        let previous = if first { "00".repeat(32) } else { "ab".repeat(32) };
        let mut expected = json!({
            "B1": case["b1"], "B2": case["b2"], "CS1": upper("cs1"), "PrevDSHash": previous, "header": case["json"],
            "signature": upper("cs2"),
        });
        check_written(&DsBlockJson::verbose(&block, BlockHash::new([0xab; 32])), &expected);

        expected.as_object_mut().unwrap().retain(|member, _| ["header", "signature"].contains(&&**member));
        expected["header"].as_object_mut().unwrap().retain(|member, _| {
            let verbose = [
                "CommitteeHash",
                "EpochNum",
                "MembersEjected",
                "PoWWinnersIP",
                "ReservedField",
                "SWInfo",
                "ShardingHash",
                "Version",
            ];
            !verbose.contains(&&**member)
        });
        check_written(&DsBlockJson::from(&block), &expected);
        found += 1;
    }
    assert_eq!(found, 3);
}

#[test]
fn rewards_are_shown_as_what_they_are() {
    let case = cases("blocks").into_iter().find(|case| case["kind"] == "tx_block").unwrap();
    let mut block = TxBlock::decode(&hex::decode(case["serialized_block"].as_str().unwrap()).unwrap()).unwrap();
    block.header.rewards = Qa::new(7);
    let figures = |kind| {
        let header = TxBlockJson::new(&block, kind).header;
        (header.rewards.0.get(), header.fees.0.get())
    };
    assert_eq!(figures(RewardKind::Coinbase), (7, 0));
    assert_eq!(figures(RewardKind::Fees), (0, 7));
}

#[test]
fn pages_are_counted_up() {
    let case = cases("blocks").into_iter().find(|case| case["kind"] == "tx_block").unwrap();
    let mut block = TxBlock::decode(&hex::decode(case["serialized_block"].as_str().unwrap()).unwrap()).unwrap();
    let mut pages = |count| {
        block.header.tx_count = count;
        TxBlockJson::new(&block, RewardKind::Fees).header.page_count
    };
    assert_eq!([pages(0), pages(1), pages(2500), pages(2501), pages(10_022)], [0, 1, 1, 2, 5]);
}

#[test]
fn missing_tx_block_is_recognised_by_its_number() {
    let hash = "0".repeat(64);
    let mut expected = json!({
        "body": {"BlockHash": hash, "HeaderSign": "0".repeat(128), "MicroBlockInfos": []},
        "header": {
            "BlockNum": "18446744073709551615", "DSBlockNum": "18446744073709551615", "GasLimit": "0", "GasUsed": "0",
            "MbInfoHash": hash, "MinerPubKey": format!("0x{}", "0".repeat(66)), "NumMicroBlocks": 0, "NumPages": 0,
            "NumTxns": 0, "PrevBlockHash": hash, "Rewards": "0", "StateDeltaHash": hash, "StateRootHash": hash,
            "Timestamp": "0", "TxnFees": "0", "Version": 0,
        },
    });
    check_written(&TxBlockJson::missing(), &expected);
    expected["body"]["B1"] = json!([]);
    expected["body"]["B2"] = json!([]);
    expected["body"]["CS1"] = "0".repeat(128).into();
    expected["header"]["CommitteeHash"] = hash.into();
    check_written(&TxBlockJson::missing_verbose(), &expected);
}

#[test]
fn missing_ds_block_is_recognised_by_its_number() {
    let (hash, signature) = ("0".repeat(64), "0".repeat(128));
    let mut expected = json!({
        "header": {
            "BlockNum": "18446744073709551615", "Difficulty": 0, "DifficultyDS": 0, "GasPrice": "0",
            "LeaderPubKey": format!("0x{}", "0".repeat(66)), "PoWWinners": [], "PrevHash": hash, "Timestamp": "0",
        },
        "signature": signature,
    });
    check_written(&DsBlockJson::missing(), &expected);
    let details = json!({"B1": [], "B2": [], "CS1": signature, "PrevDSHash": hash});
    let header = json!({
        "CommitteeHash": hash, "EpochNum": "0", "MembersEjected": [], "PoWWinnersIP": [],
        "ReservedField": "0".repeat(256), "SWInfo": {"Scilla": [0, 0, 0, "0", 0], "Zilliqa": [0, 0, 0, "0", 0]},
        "ShardingHash": hash, "Version": 0,
    });
    expected.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
    expected["header"].as_object_mut().unwrap().extend(header.as_object().unwrap().clone());
    check_written(&DsBlockJson::missing_verbose(), &expected);
}

#[test]
fn shards_without_micro_block_are_null() {
    let hash = TxHash::new([0xab; 32]);
    let shards: TransactionsByShard =
        [(ShardId::new(3), vec![hash, TxHash::ZERO]), (ShardId::new(1), vec![])].into_iter().collect();
    check_written(&shards, &json!([null, [], null, ["ab".repeat(32), "00".repeat(32)]]));
    check_written(&TransactionsByShard::default(), &json!([]));
}

/// Checks that `shape` is written with sorted members, and that reading returns the same value.
fn check_round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug + JsonSchema>(shape: &T) {
    let text = serde_json::to_string(shape).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text, value.to_string());
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), shape);
    check_schema::<T>(&value);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn receipts_equal_their_stored_text(receipt in any_receipt()) {
        let stored: Value = serde_json::from_str(&receipt.to_styled_json()).unwrap();
        let shape = ReceiptJson::from(receipt);
        check_round_trip(&shape);
        prop_assert_eq!(serde_json::to_value(&shape).unwrap(), stored);
    }

    #[test]
    fn transactions_are_read_back(transaction in any_transaction(), receipt in any_receipt()) {
        let shape = TransactionJson::new(transaction.hash(), transaction.clone(), receipt);
        check_round_trip(&shape);
        prop_assert_eq!(shape.code.is_empty(), serde_json::to_value(&shape).unwrap().get("code").is_none());
        let progress = TransactionProgress {
            status: 4, modification_state: 1, success: false, inserted: BlockNumber::new(1), updated: BlockNumber::MISSING,
            modified: Timestamp::new(3),
        };
        check_round_trip(&TransactionStatus::new(TxHash::ZERO, &transaction, progress));
    }

    #[test]
    fn tx_blocks_are_read_back(block in any_tx_block()) {
        check_round_trip(&TxBlockJson::new(&block, RewardKind::Fees));
        check_round_trip(&TxBlockJson::verbose(&block, RewardKind::Coinbase));
    }

    #[test]
    fn ds_blocks_are_read_back(block in any_ds_block()) {
        check_round_trip(&DsBlockJson::from(&block));
        check_round_trip(&DsBlockJson::verbose(&block, BlockHash::ZERO));
    }
}

#[test]
fn signatures_have_a_prefix_in_transactions_and_none_in_blocks() {
    let signature = Signature::new([0xab; 64]);
    assert_eq!(super::text::UpperHex(signature).to_string(), "AB".repeat(64));
    assert_eq!(super::text::PrefixedUpperHex(signature).to_string(), format!("0x{}", "AB".repeat(64)));
}
