//! The behaviour of `--profile zq2` that follows the successor. Transactions with nonce gaps are pending in every block
//! mode. Contracts import libraries by file names, and only the interpreter checks `_scilla_version`.

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Directory, Node, Wallet, wallet::Payment};

use crate::{balance, block_modes::eventually, check_error, check_result, documented, height};

/// The wallets of these tests sign for chain 222.
const ARGS: [&str; 4] = ["--profile", "zq2", "--chain-id", "222"];

/// Returns an account with money in this profile: the account of secret key 2, 3 or 4.
fn funded(key: u8) -> Wallet {
    Wallet::from_hex(&format!("{key:064x}"))
}

fn payment(nonce: u64) -> Payment {
    funded(2).payment(nonce, Wallet::stranger(1).address(), 1)
}

fn send(node: &Node, payment: &Payment) -> String {
    let sent = documented(node, "CreateTransaction", &json!([payment.json()]));
    assert_eq!(sent["TranID"], payment.hash());
    payment.hash()
}

/// Returns modification state and status of a transaction.
fn status(node: &Node, hash: &str) -> (u64, u64) {
    let status = documented(node, "GetTransactionStatus", &json!([hash]));
    (status["modificationState"].as_u64().unwrap(), status["status"].as_u64().unwrap())
}

/// Modification state and status of a transaction in a block.
const CONFIRMED: (u64, u64) = (2, 3);
/// Modification state and status of a transaction with a nonce gap.
const NONCE_HIGH: (u64, u64) = (1, 4);

fn block_of(node: &Node, hash: &str) -> Value {
    documented(node, "GetTransaction", &json!([hash]))["receipt"]["epoch_num"].clone()
}

/// Checks the nonces that clients read for the account of key 2, without and with pending transactions.
#[track_caller]
fn check_counts(node: &Node, latest: u64, pending: u64) {
    let address = format!("0x{}", funded(2).hex());
    for (tag, count) in [("latest", latest), ("pending", pending)] {
        let quantity = format!("0x{count:x}");
        check_result(node, "eth_getTransactionCount", &json!([address, tag]), &json!(quantity));
    }
    assert_eq!(balance(node, &funded(2).hex()).1, latest);
}

#[test]
fn transaction_behind_a_gap_waits_until_the_gap_closes() {
    for modes in [&[][..], &["--block-mode", "instant+interval=600000"]] {
        let node = Node::start(&[&ARGS, modes].concat());
        let third = send(&node, &payment(3));
        assert_eq!((height(&node), status(&node, &third)), (0, NONCE_HIGH));
        check_result(&node, "GetPendingTxns", &json!([]), &json!({"Txns": [{"TxnHash": third, "code": 4}]}));
        check_counts(&node, 0, 0);
        check_error(&node, "GetTransaction", &json!([third]), (-20, "Txn Hash not Present"));

        let first = send(&node, &payment(1));
        assert_eq!((height(&node), block_of(&node, &first)), (1, json!("1")));
        assert_eq!(status(&node, &third), NONCE_HIGH);
        check_counts(&node, 1, 1);

        let second = send(&node, &payment(2));
        let blocks = [&second, &third].map(|hash| block_of(&node, hash));
        assert_eq!(blocks, [json!("2"), json!("2")], "the answer to the second one shows both");
        assert_eq!((height(&node), status(&node, &third)), (2, CONFIRMED));
        check_result(&node, "GetPendingTxns", &json!([]), &json!({"Txns": []}));
        check_counts(&node, 3, 3);
        assert_eq!(balance(&node, &Wallet::stranger(1).hex()).0, 3);
    }
}

#[test]
fn other_profiles_refuse_a_gap_where_each_transaction_has_its_block() {
    let nodes = [Node::start(&[]), Node::start(&["--scilla-rules", "latest"])];
    for node in &nodes {
        let later = Wallet::funded(0).payment(3, Wallet::stranger(1).address(), 1);
        check_error(node, "CreateTransaction", &json!([later.json()]), (-8, "Expected Nonce: 1"));
        check_result(node, "GetPendingTxns", &json!([]), &json!({"Txns": []}));
    }
}

#[test]
fn gaps_wait_after_each_change_of_the_block_mode() {
    let node = Node::start(&ARGS);
    for (mode, before) in [("manual", "instant"), ("instant", "manual")] {
        check_result(&node, "silica_setBlockMode", &json!([mode]), &json!(before));
    }
    let second = send(&node, &payment(2));
    assert_eq!((height(&node), status(&node, &second)), (0, NONCE_HIGH));
    // Empty blocks do not execute the gapped transaction.
    node.result("silica_mine", &json!([3]));
    assert_eq!((height(&node), status(&node, &second)), (3, NONCE_HIGH));
    // An edit of the nonce closes the gap as well.
    node.result("silica_setNonce", &json!([funded(2).hex(), 1]));
    assert_eq!(status(&node, &second), CONFIRMED);
    assert_eq!((height(&node), block_of(&node, &second)), (5, json!("5")));
}

#[test]
fn waiting_transaction_is_replaced_or_taken_out() {
    let node = Node::start(&ARGS);
    let cheap = send(&node, &payment(2));
    let mut better = payment(2);
    better.gas_price += 1;
    let better = send(&node, &better);
    assert_eq!([&cheap, &better].map(|hash| status(&node, hash)), [(2, 24), NONCE_HIGH]);
    check_result(&node, "silica_dropTransaction", &json!([better]), &json!(true));
    send(&node, &payment(1));
    check_counts(&node, 1, 1);
    check_result(&node, "GetPendingTxns", &json!([]), &json!({"Txns": []}));
}

#[test]
fn revert_restores_pending_transactions() {
    let node = Node::start(&ARGS);
    let second = send(&node, &payment(2));
    check_result(&node, "silica_snapshot", &json!([]), &json!(1));
    send(&node, &payment(1));
    assert_eq!(status(&node, &second), CONFIRMED);
    node.result("silica_revert", &json!([1]));
    assert_eq!((height(&node), status(&node, &second)), (0, NONCE_HIGH));
    let fourth = send(&node, &payment(4));
    assert_eq!(status(&node, &fourth), NONCE_HIGH);
    send(&node, &payment(1));
    assert_eq!([&second, &fourth].map(|hash| status(&node, hash)), [CONFIRMED, NONCE_HIGH]);
    check_counts(&node, 2, 2);
}

#[test]
fn gapped_transactions_survive_a_restart() {
    let directory = Directory::new();
    let node = Node::start_in(directory.path(), &ARGS);
    let (second, fourth) = (send(&node, &payment(2)), send(&node, &payment(4)));
    assert!(node.stop().status.success());
    let node = Node::start_in(directory.path(), &ARGS);
    assert_eq!(height(&node), 0);
    // After a start, the node serves clients before it has tried the transactions that were pending at the stop.
    eventually(&node, "both wait", || [&second, &fourth].iter().all(|hash| status(&node, hash) == NONCE_HIGH));
    send(&node, &payment(1));
    assert_eq!([&second, &fourth].map(|hash| status(&node, hash)), [CONFIRMED, NONCE_HIGH]);
    node.stop();
    let node = Node::start_in(directory.path(), &ARGS);
    let third = send(&node, &payment(3));
    assert_eq!([&third, &fourth].map(|hash| status(&node, hash)), [CONFIRMED; 2]);
}

/// A node, with the nonce of the account of key 2.
struct Chain {
    node: Node,
    nonce: u64,
}

fn init(name: &str, kind: &str, value: &Value) -> Value {
    json!({"vname": name, "type": kind, "value": value})
}

fn version(number: &str) -> Value {
    init("_scilla_version", "Uint32", &json!(number))
}

fn is_library() -> Value {
    init("_library", "Bool", &json!({"constructor": "True", "argtypes": [], "arguments": []}))
}

fn libraries(named: &[(&str, Address)]) -> Value {
    let pair = |(name, address): &(&str, Address)| json!({"constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": [name, format!("0x{address}")]});
    init("_extlibs", "List (Pair String ByStr20)", &named.iter().map(pair).collect())
}

impl Chain {
    fn send(&mut self, to: Address, code: &str, data: &Value) -> (Value, Value) {
        self.nonce += 1;
        let mut transaction = funded(2).payment(self.nonce, to, 0);
        (transaction.gas_limit, transaction.code, transaction.data) = (50_000, code.to_owned(), data.to_string());
        let sent = self.node.result("CreateTransaction", &json!([transaction.json()]));
        let receipt = self.node.result("GetTransaction", &json!([transaction.hash()]))["receipt"].clone();
        (sent, receipt)
    }

    /// Sends a deployment, and returns its receipt.
    fn attempt(&mut self, code: &str, params: &[Value]) -> Value {
        self.send(Address::ZERO, code, &json!(params)).1
    }

    fn deploy(&mut self, code: &str, params: &[Value]) -> Address {
        let params: Vec<_> = std::iter::once(version("0")).chain(params.iter().cloned()).collect();
        let (sent, receipt) = self.send(Address::ZERO, code, &json!(params));
        assert_eq!(receipt["success"], true, "{receipt}");
        sent["ContractAddress"].as_str().unwrap().parse().unwrap()
    }

    fn call(&mut self, contract: Address, tag: &str, params: &Value) -> Value {
        self.send(contract, "", &json!({"_tag": tag, "params": params})).1
    }
}

const ANSWERS: &str = "scilla_version 0\nimport BoolUtils\nlibrary Answers\ntype Answer = | Said of Bool\n\
    let turned = fun (answer : Answer) => match answer with | Said b => let c = negb b in Said c end\n";
/// A library that imports the library `Answers`.
const QUESTIONS: &str = "scilla_version 0\nimport Answers\nlibrary Questions\ntype Question = | Of of Answer\n\
    let opposite = fun (question : Question) => match question with | Of answer => turned answer end\n";
/// A contract that sends a question to another contract, and emits the answer.
const CLIENT: &str = "scilla_version 0\nimport Answers Questions\nlibrary Client\nlet none = Nil {Message}\n\
    contract Client ()\n\
    transition Send (to : ByStr20)\n\
      yes = True; answer = Said yes; question = Of answer;\n\
      message = {_tag : \"Ask\"; _recipient : to; _amount : Uint128 0; question : question};\n\
      messages = Cons {Message} message none;\n\
      send messages\n\
    end\n\
    transition Hear (answer : Answer)\n\
      match answer with\n\
      | Said is => e = {_eventname : \"Heard\"; is : is}; event e\n\
      end\n\
    end\n";
const SERVER: &str = "scilla_version 0\nimport Questions Answers\nlibrary Server\nlet none = Nil {Message}\n\
    contract Server ()\n\
    transition Ask (question : Question)\n\
      answer = opposite question;\n\
      message = {_tag : \"Hear\"; _recipient : _sender; _amount : Uint128 0; answer : answer};\n\
      messages = Cons {Message} message none;\n\
      send messages\n\
    end\n";

#[test]
fn libraries_are_found_by_the_names_of_their_files() {
    let directory = Directory::new();
    let mut chain = Chain { node: Node::start_in(directory.path(), &ARGS), nonce: 0 };
    let answers = chain.deploy(ANSWERS, &[is_library()]);
    let questions = chain.deploy(QUESTIONS, &[is_library(), libraries(&[("Answers.scillib", answers)])]);
    let both = [("Answers.scillib", answers), ("Questions.scillib", questions)];
    let client = chain.deploy(CLIENT, &[libraries(&both)]);
    let server = chain.deploy(SERVER, &[libraries(&both)]);
    let to = json!([{"vname": "to", "type": "ByStr20", "value": format!("0x{server}")}]);
    let receipt = chain.call(client, "Send", &to);
    assert_eq!(receipt["success"], true, "{receipt}");
    let answer = &receipt["event_logs"][0]["params"][0]["value"];
    assert_eq!(answer, &json!({"constructor": "False", "argtypes": [], "arguments": []}));
    // A library that is imported by its file has its name in types, not its address.
    let types: Vec<&str> = receipt["transitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|transition| transition["msg"]["params"][0]["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["Questions.Question", "Answers.Answer"], "{receipt}");
    let interface = chain.node.result("silica_getContractInterface", &json!([client.to_string()]));
    assert_eq!(interface["transitions"][1]["params"][0]["type"], "Answers.Answer");
    // The node finds the libraries after a start, and when it executes the chain again.
    chain.node.stop();
    chain.node = Node::start_in(directory.path(), &ARGS);
    assert_eq!(chain.call(client, "Send", &to)["success"], true);
    chain.node.stop();
    let data = directory.path().to_str().unwrap();
    let checked = silica_tests::node::run(&["db", "check", "--data-dir", data]);
    assert!(checked.output.contains("6 transactions verified and executed again"), "{}", checked.output);
}

#[test]
fn library_names_select_files_as_in_the_successor() {
    let mut chain = Chain { node: Node::start(&ARGS), nonce: 0 };
    let number = |value: u8| format!("scilla_version 0\nlibrary L\nlet number = Uint32 {value}\n");
    let (one, two) = (chain.deploy(&number(1), &[is_library()]), chain.deploy(&number(2), &[is_library()]));
    let importer =
        |name: &str| format!("scilla_version 0\nimport {name}\ncontract C ()\nfield got : Uint32 = number\n");
    let by_address = format!("0x{two}.scillib");
    for (name, listed, expected) in [
        ("L", &[("L.scillib", one)][..], Some("1")),
        // The file name has only the letters, digits and full stops of the library name.
        ("AB", &[("A_B.scillib", one)], Some("1")),
        ("A_B", &[("A_B.scillib", one)], None),
        // The later file replaces the earlier file.
        ("AB", &[("A_B.scillib", one), ("AB.scillib", two)], Some("2")),
        // The interpreter reads the name as an address, and looks for a file with this address.
        ("L", &[("L", one)], None),
        ("L", &[("L", two), (&by_address, two)], Some("2")),
        ("L", &[("L", one), ("L.scillib", two)], None),
        ("L", &[("l.scillib", one)], None),
        ("L", &[("L.scilla", one)], None),
    ] {
        let receipt = chain.attempt(&importer(name), &[version("0"), libraries(listed)]);
        assert_eq!(receipt["success"], expected.is_some(), "{name} {listed:?}: {receipt}");
        let Some(expected) = expected else {
            // The import fails in the checker, which then reports no gas.
            assert_eq!(receipt["errors"], json!({"0": [5, 0]}), "{name} {listed:?}: {receipt}");
            continue;
        };
        let contract = Address::of_contract(&funded(2).address(), silica_protocol::Nonce::new(chain.nonce - 1));
        check_result(
            &chain.node,
            "GetSmartContractSubState",
            &json!([contract.to_string(), "got", []]),
            &json!({ "got": expected }),
        );
    }
    // The standard library takes precedence.
    let utils = chain.deploy("scilla_version 0\nlibrary BoolUtils\nlet number = Uint32 9\n", &[is_library()]);
    let receipt = chain.attempt(&importer("BoolUtils"), &[version("0"), libraries(&[("BoolUtils.scillib", utils)])]);
    assert_eq!(receipt["success"], false, "{receipt}");
    let ours = "scilla_version 0\nimport BoolUtils\ncontract C ()\nfield not : Bool = let yes = True in negb yes\n";
    chain.deploy(ours, &[libraries(&[("BoolUtils.scillib", utils)])]);
}

#[test]
fn other_rules_name_libraries_as_they_are_imported() {
    for edition in ["0.13", "0.11"] {
        let mut chain = Chain { node: Node::start(&[&ARGS[..], &["--scilla-rules", edition]].concat()), nonce: 0 };
        let library = chain.deploy("scilla_version 0\nlibrary L\nlet number = Uint32 1\n", &[is_library()]);
        let importer = "scilla_version 0\nimport L\ncontract C ()\nfield got : Uint32 = number\n";
        chain.deploy(importer, &[libraries(&[("L", library)])]);
        let receipt = chain.attempt(importer, &[version("0"), libraries(&[("L.scillib", library)])]);
        assert_eq!((&receipt["success"], &receipt["errors"]), (&json!(false), &json!({"0": [5, 0]})), "{edition}");
    }
}

#[test]
fn version_that_does_not_fit_leads_to_a_receipt() {
    const CONTRACT: &str = "scilla_version 0\ncontract C ()\n";
    const LIBRARY: &str = "scilla_version 0\nlibrary L\nlet number = Uint32 1\n";
    let mut chain = Chain { node: Node::start(&ARGS), nonce: 0 };
    let library = chain.deploy(LIBRARY, &[is_library()]);
    let importer = "scilla_version 0\nimport L\ncontract C ()\nfield got : Uint32 = number\n";
    let listed = libraries(&[("L.scillib", library)]);
    let text = init("_scilla_version", "String", &json!("0"));
    for (code, params) in [
        (CONTRACT, vec![version("1")]),
        (CONTRACT, vec![]),
        (CONTRACT, vec![text]),
        (LIBRARY, vec![version("1"), is_library()]),
        (LIBRARY, vec![is_library()]),
        (importer, vec![version("1"), listed]),
    ] {
        let receipt = chain.attempt(code, &params);
        assert_eq!(receipt["success"], false, "{params:?}: {receipt}");
        assert_eq!(receipt["errors"], json!({"0": [8, 1]}), "{params:?}");
        let mismatch = json!([{"line": 0, "message": "Scilla version mismatch"}]);
        assert_eq!(receipt["exceptions"], mismatch, "{params:?}");
    }
    let deployed = documented(&chain.node, "GetSmartContracts", &json!([funded(2).hex()]));
    assert_eq!(deployed, json!([]));
    check_counts(&chain.node, 7, 7);
}
