//! Contracts: deployments, calls and their data, and contract methods for accounts without a contract
//! (Reference: interface#contract-methods, interface#contract-state).

use serde_json::{Value, json};
use silica_protocol::{Account, Address, StorageKey};
use silica_state::proof::trie::verify;
use silica_tests::{Node, Wallet};

use crate::{check_error, check_result, documented};

pub(crate) const HELLO: &str = include_str!("../../contracts/hello_world/hello_world.scilla");
const TOKEN: &str = include_str!("../../contracts/fungible_token/fungible_token.scilla");

/// A node, with the nonces of its funded accounts.
pub(crate) struct Chain {
    pub(crate) node: Node,
    nonces: Vec<u64>,
}

impl Chain {
    pub(crate) fn new() -> Self {
        Self::over(Node::start(&[]))
    }

    /// Uses a node whose chain has no transactions.
    pub(crate) fn over(node: Node) -> Self {
        Self { node, nonces: vec![0; 4] }
    }

    /// Sends a transaction with code and data. Returns the response and the receipt.
    fn send(&mut self, from: usize, to: Address, code: &str, data: &Value, priority: bool) -> (Value, Value) {
        self.send_with(from, to, code, &data.to_string(), priority, 50_000)
    }

    fn send_with(
        &mut self,
        from: usize,
        to: Address,
        code: &str,
        data: &str,
        priority: bool,
        gas_limit: u64,
    ) -> (Value, Value) {
        self.nonces[from] += 1;
        let mut payment = Wallet::funded(from).payment(self.nonces[from], to, 0);
        (payment.gas_limit, payment.code, payment.data) = (gas_limit, code.to_owned(), data.to_owned());
        let mut request = payment.json();
        request["priority"] = json!(priority);
        let result = self.node.result("CreateTransaction", &json!([request]));
        let receipt = self.node.result("GetTransaction", &json!([payment.hash()]))["receipt"].clone();
        (result, receipt)
    }

    pub(crate) fn deploy(&mut self, code: &str, params: &[Value]) -> (Address, String) {
        let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
        let init: Value = std::iter::once(version).chain(params.iter().cloned()).collect();
        let (result, receipt) = self.send(0, Address::ZERO, code, &init, false);
        assert_eq!(receipt["success"], true, "{receipt}");
        assert_eq!(result["Info"], "Contract Creation txn, sent to shard");
        let contract = result["ContractAddress"].as_str().unwrap();
        (contract.parse().unwrap(), result["TranID"].as_str().unwrap().to_owned())
    }

    /// Calls a contract with the text of a message and with a gas limit. Returns the receipt.
    pub(crate) fn call_with(&mut self, from: usize, contract: Address, data: &str, gas_limit: u64) -> Value {
        self.send_with(from, contract, "", data, false, gas_limit).1
    }

    pub(crate) fn call(&mut self, from: usize, contract: Address, tag: &str, params: &Value) -> Value {
        let data = json!({"_tag": tag, "params": params});
        let (result, receipt) = self.send(from, contract, "", &data, false);
        assert_eq!(result["Info"], "Contract Txn, Shards Match of the sender and reciever");
        receipt
    }
}

/// Deploys the greeting contract from the first funded account. Returns the hash of the deployment and the address of
/// the contract.
pub(crate) fn deploy_hello(node: &Node, nonce: u64) -> (String, String) {
    let owner = Wallet::funded(0);
    let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
    let init = json!([version, address_param("owner", &owner.address())]);
    let mut payment = owner.payment(nonce, Address::ZERO, 0);
    (payment.gas_limit, payment.code, payment.data) = (25_000, HELLO.to_owned(), init.to_string());
    let deployed = node.result("CreateTransaction", &json!([payment.json()]));
    (payment.hash(), deployed["ContractAddress"].as_str().unwrap().to_owned())
}

pub(crate) fn address_param(name: &str, address: &Address) -> Value {
    json!({"vname": name, "type": "ByStr20", "value": format!("0x{address}")})
}

#[test]
fn greeting_is_deployed_called_and_read_back() {
    let mut chain = Chain::new();
    let owner = Wallet::funded(0).address();
    let (contract, transaction) = chain.deploy(HELLO, &[address_param("owner", &owner)]);
    let address = contract.to_string();
    let receipt = chain.call(1, contract, "Greet", &json!([]));
    assert_eq!(receipt["event_logs"][0]["_eventname"], "Greeting");
    assert_eq!(receipt["event_logs"][0]["address"], format!("0x{address}"));

    let node = &chain.node;
    let visitor = format!("0x{}", Wallet::funded(1).hex());
    let visits = json!({visitor.as_str(): "1"});
    let state = json!({"_balance": "0", "greeting": "Hello, world", "visits": visits});
    check_result(node, "GetSmartContractState", &json!([address]), &state);
    let sub = |field: &str, indices: Value| node.result("GetSmartContractSubState", &json!([address, field, indices]));
    assert_eq!(sub("", json!([])), state);
    assert_eq!(sub("", json!(["x"])), json!({"greeting": "Hello, world", "visits": visits}));
    assert_eq!(sub("_balance", json!([])), json!({"_balance": "0"}));
    assert_eq!(sub("visits", json!([])), json!({"visits": visits}));
    assert_eq!(sub("visits", json!([visitor])), json!({"visits": visits}));
    for nothing in [sub("visits", json!(["0x00"])), sub("nothing", json!([])), sub("greeting", json!(["x"]))] {
        assert_eq!(nothing, Value::Null);
    }
    let no_text = (-8, "Every array value should be a string");
    check_error(node, "GetSmartContractSubState", &json!([address, "visits", [1]]), no_text);

    for spelling in [address.clone(), format!("0x{address}"), contract.to_checksum(), contract.to_bech32()] {
        let code = documented(node, "GetSmartContractCode", &json!([spelling]));
        assert_eq!(code, json!({"code": HELLO}));
        let init = documented(node, "GetSmartContractInit", &json!([spelling]));
        let names: Vec<_> = init.as_array().unwrap().iter().map(|param| &param["vname"]).collect();
        assert_eq!(names, ["_scilla_version", "owner", "_creation_block", "_this_address"]);
    }
    let contracts = documented(node, "GetSmartContracts", &json!([owner.to_string()]));
    assert_eq!(contracts, json!([{"address": address}]));
    check_error(node, "GetSmartContracts", &json!([address]), (-5, "A contract account queried"));
    check_result(node, "GetSmartContracts", &json!([Wallet::funded(1).hex()]), &json!([]));
    let found = documented(node, "GetContractAddressFromTransactionID", &json!([transaction]));
    assert_eq!(found, json!(address));
}

#[test]
fn proof_of_a_field_holds_against_the_root_of_its_block() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    let key = StorageKey::field(&contract, "greeting").variable_hash();
    let proof = chain.node.result("GetStateProof", &json!([contract.to_string(), key.to_string(), "latest"]));
    let nodes = |name: &str| -> Vec<Vec<u8>> {
        let texts = proof[name].as_array().unwrap().iter().map(|node| node.as_str().unwrap().as_bytes());
        let byte = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
        texts.map(|text| text.chunks(2).map(byte).collect()).collect()
    };
    for name in ["accountProof", "stateProof"] {
        let texts: Vec<_> = proof[name].as_array().unwrap().iter().map(|node| node.as_str().unwrap()).collect();
        assert!(texts.iter().all(|text| text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'A'..=b'F'))), "{texts:?}");
        // The nodes are in the order of their bytes, not in the order of their depth.
        assert!(texts.is_sorted(), "{texts:?}");
    }
    let root = chain.node.result("GetLatestTxBlock", &json!([]))["header"]["StateRootHash"].clone();
    let root: silica_protocol::StateRoot = root.as_str().unwrap().parse().unwrap();
    let account = verify(root.as_bytes(), contract.to_string().as_bytes(), &nodes("accountProof")).unwrap();
    let storage = Account::decode(&account.unwrap()).unwrap().contract.unwrap().storage_root.unwrap();
    let value = verify(storage.as_bytes(), key.to_string().as_bytes(), &nodes("stateProof")).unwrap();
    assert_eq!(value.as_deref(), Some("\"Hello, world\"".as_bytes()));
}

#[test]
fn failing_call_is_recorded_with_its_exceptions() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    let text = json!([{"vname": "text", "type": "String", "value": "Mine"}]);
    let receipt = chain.call(1, contract, "SetGreeting", &text);
    assert_eq!(receipt["success"], false);
    assert_eq!(receipt["errors"], json!({"0": [7]}));
    assert_eq!(receipt["exceptions"][1]["message"], "Raised from SetGreeting");
    let data = json!({"_tag": "Greet", "params": []});
    let (result, _) = chain.send(1, contract, "", &data, true);
    assert_eq!(result["Info"], "Contract Txn, Sent To Ds");
}

#[test]
fn token_is_transferred() {
    let mut chain = Chain::new();
    let owner = Wallet::funded(0).address();
    let text = |name: &str, value: &str| json!({"vname": name, "type": "String", "value": value});
    let params = [
        address_param("contract_owner", &owner),
        text("name", "Token"),
        text("symbol", "TOK"),
        json!({"vname": "decimals", "type": "Uint32", "value": "12"}),
        json!({"vname": "init_supply", "type": "Uint128", "value": "1000"}),
        json!({"vname": "default_operators", "type": "List ByStr20", "value": []}),
    ];
    let (contract, _) = chain.deploy(TOKEN, &params);
    let to = Wallet::funded(1).address();
    let amount = json!({"vname": "amount", "type": "Uint128", "value": "40"});
    let receipt = chain.call(0, contract, "Transfer", &json!([address_param("to", &to), amount]));
    assert_eq!(receipt["success"], true, "{receipt}");
    let holder = format!("0x{to}");
    let balance = chain.node.result("GetSmartContractSubState", &json!([contract.to_string(), "balances", [holder]]));
    assert_eq!(balance, json!({"balances": {holder.as_str(): "40"}}));
}

const NO_CONTRACT: (i64, &str) = (-5, "Address not contract address");

#[test]
fn account_without_code_has_no_init_parameters() {
    let node = Node::start(&[]);
    let address = Wallet::funded(0).address();
    for spelling in [address.to_string(), format!("0x{address}"), address.to_checksum(), address.to_bech32()] {
        check_error(&node, "GetSmartContractInit", &json!([spelling]), NO_CONTRACT);
    }
    let stranger = Wallet::stranger(1).hex();
    check_error(&node, "GetSmartContractInit", &json!([stranger]), (-5, "Address does not exist"));
}

#[test]
fn misspelt_address_has_no_init_parameters() {
    let node = Node::start(&[]);
    for (spelling, refusal) in [
        (String::new(), (-8, "Address size not appropriate")),
        ("00".to_owned(), (-8, "Address size not appropriate")),
        ("g".repeat(40), (-5, "invalid address")),
        ("zil1abc".to_owned(), (-5, "Bech32 address is invalid")),
    ] {
        check_error(&node, "GetSmartContractInit", &json!([spelling]), refusal);
    }
}

#[test]
fn state_proof_is_refused_in_the_order_of_the_reference() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([80]));
    let address = Wallet::funded(0).hex();
    let key = "A0BD91DE66D97E6930118179BA4F1836C366C4CB3309A6B354D26F52ABB2AAC6";
    let stranger = Wallet::stranger(1).hex();
    for (params, refusal) in [
        // The block is checked first.
        (json!(["", "", "x"]), (-32602, "Invalid arugment")),
        (json!(["", "", ""]), (-32602, "Invalid arugment")),
        (json!(["", "", "18446744073709551616"]), (-32602, "Out of range")),
        (json!(["", "", "81"]), (-1, "Requested txBlock not mined yet")),
        (json!(["", "", "0"]), (-1, "Proof from requested txBlock is expired, earliest: 31")),
        (json!(["", "", "30"]), (-1, "Proof from requested txBlock is expired, earliest: 31")),
        // The sizes are checked next, and then the digits.
        (json!(["", "", "31"]), (-8, "Address size not appropriate")),
        (json!([&address[1..], "", "latest"]), (-8, "Address size not appropriate")),
        (json!([address, "", "latest"]), (-8, "Key size not appropriate")),
        (json!([address, &key[1..], "latest"]), (-8, "Key size not appropriate")),
        (json!(["g".repeat(40), key, "latest"]), (-5, "invalid address")),
        (json!([address, "g".repeat(64), "latest"]), (-5, "invalid key")),
        // The node checks the account last.
        (json!([stranger, key, "latest"]), (-5, "Address does not exist in requested epoch")),
        (json!([address, key, "latest"]), NO_CONTRACT),
        (json!([address.to_uppercase(), key.to_lowercase(), "80"]), NO_CONTRACT),
        (json!([address, key, "31"]), NO_CONTRACT),
    ] {
        check_error(&node, "GetStateProof", &params, refusal);
    }
}

#[test]
fn state_proof_takes_what_clients_send() {
    let node = Node::start(&[]);
    let address = Wallet::funded(0).address();
    let key = "0".repeat(64);
    // zilliqa-rs sends a prefix. Addresses in bech32 are valid too.
    for spelling in [format!("0x{address}"), address.to_bech32()] {
        check_error(&node, "GetStateProof", &json!([spelling, key, "latest"]), NO_CONTRACT);
    }
}

#[test]
fn account_of_the_future_is_not_in_an_older_state() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([1]));
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    let (address, key) = (Wallet::stranger(1).hex(), "0".repeat(64));
    let not_yet = (-5, "Address does not exist in requested epoch");
    check_error(&node, "GetStateProof", &json!([address, key, "1"]), not_yet);
    check_error(&node, "GetStateProof", &json!([address, key, "2"]), NO_CONTRACT);
}
