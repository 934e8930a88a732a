//! Compares every response with the documented responses: members, JSON types and text formats
//! (`tests/data/rpc-examples`).
//!
//! Three lists have the intended differences from the documentation: [`WITHOUT_FORM`] and [`OWN_ERRORS`] in this
//! module, and [`SUPERSEDED`] in the module that compares shapes.

use std::{collections::BTreeSet, sync::LazyLock};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{
    Node, Wallet,
    shape::{self, Case, Format, SUPERSEDED, compare, examples},
    wallet::Payment,
};

/// All documented methods. Each method has a file of examples.
static METHODS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/data/rpc-examples")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    // Files with a leading underscore have examples of the protocol, not of a method.
    let methods =
        names.filter(|name| !name.starts_with('_')).map(|name| name.strip_suffix(".json").unwrap().to_owned());
    let mut methods: Vec<&'static str> = methods.map(|name| &*name.leak()).collect();
    methods.sort_unstable();
    methods
});

/// Methods whose documented results do not determine the shape of other results, each with the reason.
const WITHOUT_FORM: [(&str, &str); 13] = [
    ("GetRawDSBlock", "a serialised block has a length of its own; the tests of blocks read it"),
    ("GetRawTxBlock", "a serialised block has a length of its own; the tests of blocks read it"),
    (
        "GetSoftConfirmedTransaction",
        "the document is the successor's; the tests of transactions hold it to GetTransaction",
    ),
    ("GetStateProof", "each node of a trie has a length of its own; the tests of contracts look at proofs"),
    ("eth_getFilterChanges", "a log has data of a length of its own; the tests of events compare all members"),
    ("eth_getFilterLogs", "a log has data of a length of its own; the tests of events compare all members"),
    ("eth_getLogs", "a log has data of a length of its own; the tests of events compare all members"),
    ("silica_getAccountProof", "each node of a trie has a length of its own; the tests of proofs verify them"),
    ("silica_getEvents", "each event has parameters of its own; the tests of events compare all members"),
    (
        "silica_getTransactionSummaries",
        "each kind of transaction has other nulls; the tests of lists compare all members",
    ),
    ("silica_getTransfers", "each kind of transfer has other nulls; the tests of transfers compare all members"),
    ("silica_traceCall", "each statement uses and binds something else; the tests of traces look at them"),
    ("silica_traceTransaction", "each statement uses and binds something else; the tests of traces look at them"),
];

/// Methods of this node that the documentation lacks, each with its purpose.
const UNDOCUMENTED: [(&str, &str); 19] = [
    ("eth_subscribe", "over WebSocket alone"),
    ("eth_unsubscribe", "over WebSocket alone"),
    ("rpc.discover", "the OpenRPC document of the interface"),
    ("silica_addBalance", "for developers: a faucet"),
    ("silica_dropAllTransactions", "for developers: removes all transactions from the pool"),
    ("silica_dropTransaction", "for developers: removes a transaction from the pool"),
    ("silica_dump", "for developers: writes the chain to a file"),
    ("silica_estimateGas", "the gas that a transaction needs"),
    ("silica_increaseTime", "for developers: moves the clock forward"),
    ("silica_mine", "for developers: makes blocks"),
    ("silica_revert", "for developers: removes blocks"),
    ("silica_sendTransaction", "for developers: sends a transaction without a signature"),
    ("silica_setBalance", "for developers: edits an account"),
    ("silica_setBlockMode", "for developers: sets when the node makes blocks"),
    ("silica_setContractField", "for developers: edits a contract"),
    ("silica_setNextBlockTimestamp", "for developers: sets the clock"),
    ("silica_setNonce", "for developers: edits an account"),
    ("silica_simulateTransaction", "the result that a transaction would have"),
    ("silica_snapshot", "for developers: creates a savepoint"),
];

/// Methods whose documented result is null if the value does not exist.
const NULLABLE: [&str; 5] = [
    "GetSmartContractSubState",
    "eth_getBlockByHash",
    "eth_getBlockByNumber",
    "eth_getTransactionByHash",
    "eth_getTransactionReceipt",
];

/// Documented errors that need another request or another node than the documented one, each with the reason.
const OWN_ERRORS: [(&str, &str); 2] = [
    ("CreateTransaction", "the signature in the document is of another chain; see the tests of admission"),
    ("IncreaseBlocknum", "the document has a time-triggered server; see the tests of block modes"),
];

/// The contract in the documentation, as far as the documented results show its source.
const ADMINS: &str = include_str!("../data/contracts/admins.scilla");
/// The administrator in the documented state of this contract.
const ADMIN: &str = "0xdfa89866ae86632b36361d53b76c1373448c28fa";

/// A contract with the field of a fungible token, and one holder.
const TOKEN: &str = r"scilla_version 0
(* Coins of an example. *)
contract Token (name : String, symbol : String, decimals : Uint32)
(* Amounts by holder. *)
field balances : Map ByStr20 Uint128 =
  let none = Emp ByStr20 Uint128 in
  let holder = 0xdfa89866ae86632b36361d53b76c1373448c28fa in
  let amount = Uint128 1000 in
  builtin put none holder amount
(* Has no effect. *)
transition Nothing ()
end
";

/// A chain with full and empty blocks, several DS epochs, a contract, and a pending payment.
struct Chain {
    node: Node,
    /// A node that makes blocks at intervals, and that a client can pause.
    timed: Node,
    contract: String,
    /// Hash of the deployment.
    deployment: String,
    /// Address of a contract with the field of a fungible token.
    token: String,
    /// Hashes of a call that sends money to another account, and of a call that fails.
    calls: [String; 2],
    sealed: String,
    waiting: String,
}

/// Returns a deployment or a call of the account that deploys the contract.
fn contract_request(nonce: u64, to: Address, code: &str, data: &Value) -> Payment {
    let mut request = Wallet::funded(3).payment(nonce, to, if code.is_empty() { 5 } else { 0 });
    (request.gas_limit, request.code, request.data) = (25_000, code.to_owned(), data.to_string());
    request
}

fn deployment() -> Payment {
    let data = json!([
        {"vname": "_scilla_version", "type": "Uint32", "value": "0"},
        {"vname": "owner", "type": "ByStr20", "value": ADMIN},
    ]);
    contract_request(1, Address::ZERO, ADMINS, &data)
}

impl Chain {
    fn new() -> Self {
        let node = Node::start(&["--block-mode", "manual"]);
        let send = |request: &Payment| node.result("CreateTransaction", &json!([request.json()]));
        let pay = |payer: usize, nonce| {
            let payment = Wallet::funded(payer).payment(nonce, Wallet::stranger(1).address(), 1);
            send(&payment);
            payment.hash()
        };
        for nonce in [1, 2] {
            (0..3).for_each(|payer| drop(pay(payer, nonce)));
            node.result("IncreaseBlocknum", &json!([1]));
        }
        // The documentation expects that block 5 is empty.
        node.result("IncreaseBlocknum", &json!([109]));
        let deployment = deployment();
        let deployed = send(&deployment);
        shape::assert_documented("CreateTransaction", &deployed);
        let contract = deployed["ContractAddress"].as_str().unwrap().to_owned();
        node.result("IncreaseBlocknum", &json!([1]));
        let user = format!("0x{}", Wallet::stranger(1).hex());
        let calls = [(2, "SendFunds", "to"), (3, "ConfigureUsers", "user")].map(|(nonce, tag, name)| {
            let params = json!([{"vname": name, "type": "ByStr20", "value": user}]);
            let call = contract_request(nonce, contract.parse().unwrap(), "", &json!({"_tag": tag, "params": params}));
            send(&call);
            call.hash()
        });
        let init = json!([
            {"vname": "_scilla_version", "type": "Uint32", "value": "0"},
            {"vname": "name", "type": "String", "value": "Example Coin"},
            {"vname": "symbol", "type": "String", "value": "EXC"},
            {"vname": "decimals", "type": "Uint32", "value": "12"},
        ]);
        let token = send(&contract_request(4, Address::ZERO, TOKEN, &init));
        let token = token["ContractAddress"].as_str().unwrap().to_owned();
        node.result("IncreaseBlocknum", &json!([1]));
        let sealed = pay(0, 3);
        node.result("IncreaseBlocknum", &json!([1]));
        let waiting = pay(1, 3);
        node.result("silica_snapshot", &json!([]));
        let timed = Node::start(&["--block-mode", "interval=60000", "--pause-id", "999"]);
        Self { node, timed, contract, deployment: deployment.hash(), token, calls, sealed, waiting }
    }

    /// Returns the node that has this method.
    fn node(&self, method: &str) -> &Node {
        if ["CheckPause", "TogglePause"].contains(&method) { &self.timed } else { &self.node }
    }

    /// Returns lists of parameters with which a method succeeds: one list for each shape of the result.
    fn parameters(&self, method: &str) -> Vec<Value> {
        let latest = crate::height(&self.node).to_string();
        match method {
            "CreateTransaction" => {
                let payment = Wallet::funded(2).payment(3, Wallet::stranger(1).address(), 1);
                vec![json!([payment.json()])]
            }
            "CheckPause" | "TogglePause" => vec![json!(["999"])],
            "DSBlockListing" | "TxBlockListing" => vec![json!([1])],
            "GetBalance" => vec![json!([Wallet::funded(0).hex()]), json!(["0".repeat(40)])],
            // The genesis block, a block of an epoch, and a block that does not exist.
            "GetDsBlock" | "GetDsBlockVerbose" => vec![json!(["0"]), json!(["1"]), json!(["9000"])],
            "IsTxnInMemPool" => vec![json!([self.sealed]), json!([self.waiting])],
            "GetMinerInfo" => vec![json!(["1"])],
            "GetPendingTxn" => vec![json!([self.sealed]), json!([self.waiting]), json!(["0".repeat(64)])],
            "GetContractAddressFromTransactionID" => vec![json!([self.deployment])],
            "GetSmartContractCode" | "GetSmartContractInit" | "GetSmartContractState" => vec![json!([self.contract])],
            "GetSmartContractSubState" => [
                json!(["admins", []]),
                json!(["admins", [ADMIN]]),
                json!(["admins", ["0x0000000000000000000000000000000000000001"]]),
                json!(["_balance", []]),
            ]
            .map(|what| json!([self.contract, what[0], what[1]]))
            .to_vec(),
            "GetSmartContracts" => vec![json!([Wallet::funded(3).hex()])],
            "GetShardMembers" => vec![json!([0])],
            "GetTransaction" => {
                let [sent, failed] = &self.calls;
                vec![json!([self.sealed]), json!([self.deployment]), json!([sent]), json!([failed])]
            }
            "GetTransactionStatus" => vec![json!([self.sealed]), json!([self.calls[0]]), json!([self.waiting])],
            "GetTransactionsForTxBlock" | "GetTxnBodiesForTxBlock" => vec![json!(["2"]), json!([latest])],
            "GetTransactionsForTxBlockEx" | "GetTxnBodiesForTxBlockEx" => vec![json!(["2", "0"])],
            "GetTxBlock" | "GetTxBlockVerbose" => {
                vec![json!(["0"]), json!(["2"]), json!(["5"]), json!(["99"]), json!(["1002353"])]
            }
            "IncreaseBlocknum" => vec![json!([5])],
            "eth_getBalance" | "eth_getCode" | "eth_getTransactionCount" => {
                vec![json!([format!("0x{}", Wallet::funded(0).hex()), "latest"])]
            }
            "eth_getBlockByHash" => {
                let block = self.node.result("GetTxBlock", &json!(["2"]))["body"]["BlockHash"].clone();
                let hash = format!("0x{}", block.as_str().unwrap());
                vec![json!([hash, false]), json!([hash, true])]
            }
            "eth_getBlockByNumber" => vec![json!(["0x0", false]), json!(["0x2", false]), json!(["0x2", true])],
            "eth_getTransactionByHash" => vec![json!([format!("0x{}", self.sealed)])],
            "eth_getTransactionReceipt" => {
                let hashes = [&self.sealed, &self.deployment, &self.calls[0], &self.calls[1]];
                hashes.map(|hash| json!([format!("0x{hash}")])).to_vec()
            }
            "silica_getContractInterface" => vec![json!([self.contract]), json!([self.token])],
            "silica_getHolders" => vec![json!([self.token])],
            "silica_getTokens" => vec![json!([ADMIN])],
            "silica_search" => ["112", &self.sealed, &self.sealed[..10], &self.contract, "no such name"]
                .map(|text| json!([text]))
                .to_vec(),
            "silica_getSmartContractStatePage" => vec![json!([self.contract, "admins"])],
            "silica_getTransactionsForAddress" => vec![json!([Wallet::funded(3).hex(), {"limit": 1}])],
            "web3_sha3" => vec![json!(["0x68656c6c6f"])],
            "SetMinimumGasPrice" => vec![json!(["1000000000"])],
            // No parameters, or documented parameters that are valid on every chain.
            _ => {
                let answered = examples(method).into_iter().filter(|example| example.result().is_some());
                answered.map(|example| example.request["params"].clone()).collect()
            }
        }
    }

    /// Returns the actual results of every method with a determined shape.
    fn answers(&self) -> Vec<(&'static str, Value)> {
        let without: Vec<&str> = WITHOUT_FORM.iter().map(|(method, _)| *method).collect();
        METHODS
            .iter()
            .copied()
            .filter(|method| !without.contains(method))
            .flat_map(|method| self.parameters(method).into_iter().map(move |params| (method, params)))
            .map(|(method, params)| (method, self.node(method).result(method, &params)))
            .collect()
    }
}

#[test]
fn method_table_has_exactly_the_documented_methods() {
    let node = Node::start(&[]);
    let document = node.result("rpc.discover", &json!([]));
    let described: BTreeSet<&str> =
        document["methods"].as_array().unwrap().iter().map(|method| method["name"].as_str().unwrap()).collect();
    let expected: BTreeSet<&str> = METHODS.iter().copied().chain(UNDOCUMENTED.map(|(method, _)| method)).collect();
    assert_eq!(described, expected);
    for (method, _) in UNDOCUMENTED {
        assert!(examples(method).is_empty(), "{method}");
    }
}

#[test]
fn every_answer_looks_as_documented() {
    let answers = Chain::new().answers();
    let answered: BTreeSet<&str> = answers.iter().map(|(method, _)| *method).collect();
    assert_eq!(answered.len() + WITHOUT_FORM.len(), METHODS.len());
    for (method, answer) in answers {
        shape::assert_documented(method, &answer);
    }
}

#[test]
fn documented_requests_earn_no_protocol_error() {
    let chain = Chain::new();
    let mut requests = 0;
    for &method in METHODS.iter() {
        for example in examples(method) {
            let params = &example.request["params"];
            match chain.node(method).call(method, params) {
                // Only errors of the protocol layer have no `data`.
                Err(refusal) => {
                    let data = refusal.data.as_ref().unwrap_or_else(|| panic!("{method}{params}: {refusal:?}"));
                    let has_both = data.get("expected").is_some() && data.get("got").is_some();
                    assert!(data.is_null() || has_both, "{method}{params}: {refusal:?}");
                }
                Ok(result) => {
                    let fails = example.error().is_some() && OWN_ERRORS.iter().all(|(own, _)| *own != method);
                    assert!(!fails, "{method}{params} is documented to fail, and answers {result}");
                    if WITHOUT_FORM.iter().all(|(without, _)| *without != method) {
                        shape::assert_documented(method, &result);
                    }
                }
            }
            requests += 1;
        }
    }
    assert!(requests > METHODS.len(), "{requests} requests are documented");
}

#[test]
fn documented_errors_are_answered_word_for_word() {
    let chain = Chain::new();
    let mut compared = 0;
    for &method in METHODS.iter() {
        for example in examples(method) {
            let Some(error) = example.error() else { continue };
            if OWN_ERRORS.iter().any(|(own, _)| *own == method) {
                continue;
            }
            let request = &example.request;
            let expected = json!({"error": error, "id": request["id"], "jsonrpc": "2.0"});
            assert_eq!(chain.node(method).post_json(request.to_string()), expected, "{request}");
            compared += 1;
        }
    }
    assert!(compared >= 6, "{compared} errors are documented");
}

#[test]
fn documented_states_are_answered_word_for_word() {
    let chain = Chain::new();
    let mut compared = 0;
    for method in ["GetSmartContractState", "GetSmartContractSubState"] {
        for example in examples(method) {
            let Some(expected) = example.result() else { continue };
            let mut params = example.request["params"].clone();
            params[0] = json!(chain.contract);
            assert_eq!(&chain.node.result(method, &params), expected, "{method}{params}");
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared} states are documented");
}

#[test]
fn event_and_its_receipt_look_as_documented() {
    let chain = Chain::new();
    let examples = examples("GetTransaction");
    let documented = examples.iter().find(|example| example.notes.contains("partial")).unwrap();
    let data = json!({"_tag": "Touch", "params": []});
    let call = contract_request(5, chain.contract.parse().unwrap(), "", &data);
    chain.node.result("CreateTransaction", &json!([call.json()]));
    chain.node.result("IncreaseBlocknum", &json!([1]));
    let receipt = &chain.node.result("GetTransaction", &json!([call.hash()]))["receipt"];
    shape::differs("GetTransaction", &documented.result().unwrap()["receipt"], receipt, "receipt").unwrap();
}

#[test]
fn every_change_of_an_answer_is_noticed() {
    let mut changes = 0;
    for (method, answer) in Chain::new().answers() {
        for (change, changed) in Changes::of(method).all(&answer) {
            // The documented result is null if the value does not exist.
            if NULLABLE.contains(&method) && changed.is_null() {
                continue;
            }
            assert!(compare(method, &changed).is_err(), "{method}: the comparison misses {change}\nin {changed}");
            changes += 1;
        }
    }
    assert!(changes > 2_000, "only {changes} changes");
}

#[test]
fn exceptions_are_of_methods_that_exist() {
    let excepted = WITHOUT_FORM.iter().chain(&OWN_ERRORS).map(|(method, reason)| (method, reason));
    for (method, reason) in excepted.chain(SUPERSEDED.iter().map(|(method, _, reason)| (method, reason))) {
        assert!(METHODS.contains(method) && !reason.is_empty(), "{method}");
    }
}

/// Changes of a result that the comparison must detect.
struct Changes {
    method: &'static str,
    /// Whether hexadecimal text can have either case. The case in listings varies
    /// (Reference: interface#block-listings).
    any_case: bool,
}

impl Changes {
    fn of(method: &'static str) -> Self {
        Self { method, any_case: ["DSBlockListing", "TxBlockListing"].contains(&method) }
    }

    /// Returns the result with each single change: a removed or added member, a value of another type, another text
    /// format.
    fn all(&self, value: &Value) -> Vec<(String, Value)> {
        let mut changes = other_types(value);
        match value {
            Value::Object(members) => {
                changes.push(("a surplus member".to_owned(), with_member(value, "Surplus", json!(1))));
                for (name, member) in members {
                    if !shape::is_optional(self.method, name) {
                        let mut without = members.clone();
                        without.remove(name);
                        changes.push((format!("the absence of {name}"), without.into()));
                    }
                    let inside = self.all(member).into_iter();
                    changes.extend(
                        inside.map(|(what, changed)| (format!("{name}: {what}"), with_member(value, name, changed))),
                    );
                }
            }
            Value::Array(elements) => {
                changes.push(("a surplus element".to_owned(), [elements.clone(), vec![Value::Null]].concat().into()));
                for (i, element) in elements.iter().enumerate().take(3) {
                    let inside = self.all(element).into_iter();
                    changes.extend(inside.map(|(what, changed)| {
                        let mut elements = elements.clone();
                        elements[i] = changed;
                        (format!("[{i}]: {what}"), elements.into())
                    }));
                }
            }
            Value::String(text) => {
                changes.extend(self.other_spellings(text).into_iter().map(|text| (format!("{text:?}"), text.into())));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        changes
    }

    fn other_spellings(&self, text: &str) -> Vec<String> {
        match Format::of(text) {
            Format::Decimal => {
                vec![String::new(), format!("-{text}"), format!("0{text}"), format!("0x{text}"), format!("{text}.5")]
            }
            Format::Money => vec!["1".to_owned(), "1.5".to_owned(), format!("{text}0"), text.replace('.', ",")],
            Format::Hex { prefix, digits: _, case } => {
                let bare = text.trim_start_matches("0x");
                let other_prefix = if prefix { bare.to_owned() } else { format!("0x{text}") };
                let mut spellings = vec![other_prefix, text[..text.len() - 2].to_owned(), format!("{text}00")];
                spellings.push(format!("{}g", &text[..text.len() - 1]));
                let other_case = match case {
                    Some(Case::Lower) => Some(bare.to_uppercase()),
                    Some(Case::Upper) => Some(bare.to_lowercase()),
                    None => None,
                };
                if let Some(bare) = other_case.filter(|_| !self.any_case) {
                    spellings.push(if prefix { format!("0x{bare}") } else { bare });
                }
                spellings
            }
            Format::Quantity => {
                let digits = text.trim_start_matches("0x");
                let mut spellings =
                    vec![digits.to_owned(), format!("0x0{digits}"), format!("-{text}"), "0x".to_owned()];
                spellings.extend(Some(format!("0x{}", digits.to_uppercase())).filter(|other| other != text));
                spellings
            }
            Format::Text => Vec::new(),
        }
    }
}

fn with_member(object: &Value, name: &str, value: Value) -> Value {
    let mut changed = object.clone();
    changed[name] = value;
    changed
}

/// Returns a value of each JSON type except the type of `value`. Fractions and negative numbers count as types.
fn other_types(value: &Value) -> Vec<(String, Value)> {
    let kind = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(number) if number.is_f64() => 2,
        Value::Number(number) if number.is_u64() => 3,
        Value::Number(_) => 4,
        Value::String(_) => 5,
        Value::Array(_) => 6,
        Value::Object(_) => 7,
    };
    let values =
        [json!(null), json!(true), json!(0.5), json!(7), json!(-7), json!("text"), json!([1.5]), json!({"a": 1})];
    values.into_iter().filter(|other| kind(other) != kind(value)).map(|other| (other.to_string(), other)).collect()
}
