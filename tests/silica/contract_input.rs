//! Invalid contracts, init data and messages: the error of the reference or the failed receipt, and the state
//! afterwards (Reference: execution#deployments, execution#calls, execution#outcomes).

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Node, Payment, Wallet, node::Refusal, wallet::GAS_PRICE};

use crate::{
    balance,
    contract::{Chain, HELLO, address_param},
};

/// An empty contract. It is so short that its length is not the limit in these tests.
const EMPTY: &str = "scilla_version 0\ncontract E ()";
/// A contract whose check costs more gas than its length, because it imports the list library.
const LISTS: &str = "scilla_version 0\nimport ListUtils\ncontract L ()";
/// A contract that accepts money, sends a part of it to another contract, and tries to send more than it has.
const SENDER: &str = r#"scilla_version 0
library Sender
let nil = Nil {Message}
let one_message = fun (m : Message) => Cons {Message} m nil
let much = Uint128 1000000
contract Sender ()
field count : Uint32 = Uint32 0
transition Take ()
  accept;
  one = Uint32 1;
  count := one
end
transition Pass (to : ByStr20)
  accept;
  m = { _tag : "Take"; _recipient : to; _amount : _amount };
  messages = one_message m;
  send messages
end
transition Spend (to : ByStr20)
  accept;
  m = { _tag : ""; _recipient : to; _amount : much };
  messages = one_message m;
  send messages
end
"#;

fn version() -> Value {
    json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"})
}

fn init(params: &[Value]) -> String {
    std::iter::once(version()).chain(params.iter().cloned()).collect::<Value>().to_string()
}

/// A chain, and an account that sends invalid transactions.
struct Trial {
    chain: Chain,
    sender: Wallet,
    nonce: u64,
}

impl Trial {
    fn new() -> Self {
        Self::over(Chain::new())
    }

    fn over(chain: Chain) -> Self {
        Self { chain, sender: Wallet::funded(5), nonce: 0 }
    }

    fn library(&mut self) -> Address {
        let flag = json!({
            "vname": "_library", "type": "Bool", "value": {"constructor": "True", "argtypes": [], "arguments": []}
        });
        self.chain.deploy("scilla_version 0\nlibrary L\nlet a = Uint32 1\n", &[flag]).0
    }

    /// Returns balance and nonce of the sender.
    fn account(&self) -> (u128, u64) {
        balance(&self.chain.node, &self.sender.hex())
    }

    /// Sends a transaction, and returns its receipt or its error. Checks balance and nonce of the sender afterwards.
    #[track_caller]
    fn send(&mut self, change: impl FnOnce(&mut Payment)) -> Result<Value, Refusal> {
        let before = self.account();
        assert_eq!(before.1, self.nonce);
        let mut transaction = self.sender.payment(self.nonce + 1, Address::ZERO, 0);
        transaction.gas_limit = 50_000;
        change(&mut transaction);
        if let Err(refusal) = self.chain.node.call("CreateTransaction", &json!([transaction.json()])) {
            assert_eq!(self.account(), before, "what is refused costs nothing");
            return Err(refusal);
        }
        self.nonce += 1;
        let receipt = self.chain.node.result("GetTransaction", &json!([transaction.hash()]))["receipt"].clone();
        let gas: u128 = receipt["cumulative_gas"].as_str().unwrap().parse().unwrap();
        let spent = if receipt["success"] == true { transaction.amount } else { 0 };
        assert_eq!(self.account(), (before.0 - spent - gas * GAS_PRICE, self.nonce), "{receipt}");
        Ok(receipt)
    }

    /// Checks that the node rejects a transaction with this code and text.
    #[track_caller]
    fn check_refused(&mut self, code: i64, text: &str, change: impl FnOnce(&mut Payment)) {
        match self.send(change) {
            Ok(receipt) => panic!("it is recorded: {receipt}"),
            Err(refusal) => assert_eq!((refusal.code, refusal.message.as_str()), (code, text)),
        }
    }

    /// Checks that the node drops a transaction, and that the error has the number of this status.
    #[track_caller]
    fn check_dropped(&mut self, status: u8, change: impl FnOnce(&mut Payment)) {
        self.check_refused(-8, &format!("Error Code: {status}"), change);
    }

    /// Checks that the receipt of a transaction has these errors. Returns the first message of the interpreter.
    #[track_caller]
    fn check_failed(&mut self, errors: &Value, change: impl FnOnce(&mut Payment)) -> String {
        let receipt = self.send(change).unwrap();
        assert_eq!((&receipt["success"], &receipt["errors"]), (&json!(false), errors), "{receipt}");
        assert!(receipt.get("event_logs").is_none() && receipt.get("transitions").is_none(), "{receipt}");
        receipt["exceptions"]
            .as_array()
            .unwrap()
            .first()
            .map_or(String::new(), |first| first["message"].as_str().unwrap().to_owned())
    }

    #[track_caller]
    fn check_deployment_failed(&mut self, errors: &Value, code: &str, data: &str) -> String {
        let contract = Address::of_contract(&self.sender.address(), silica_protocol::Nonce::new(self.nonce));
        let reply_text = self.check_failed(errors, |it| (it.code, it.data) = (code.to_owned(), data.to_owned()));
        let node = &self.chain.node;
        for method in ["GetBalance", "GetSmartContractInit", "GetSmartContractState", "GetSmartContractCode"] {
            assert_eq!(node.error(method, &json!([contract.to_string()])).0, -5, "no account is left behind");
        }
        reply_text
    }

    /// Deploys with parameters that do not match, and returns the error codes. If the checker cannot read the
    /// parameters, the receipt has no report of the checker.
    fn unfit_deployment(&mut self, code: &str, data: &str) -> Value {
        let receipt = self.send(|it| (it.code, it.data) = (code.to_owned(), data.to_owned())).unwrap();
        let errors = receipt["errors"]["0"].clone();
        assert_eq!(receipt["errors"], json!({"0": errors}));
        assert_eq!(receipt["exceptions"].as_array().unwrap().is_empty(), errors == json!([5, 0]), "{receipt}");
        errors
    }

    fn hello(&mut self) -> Address {
        self.chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]).0
    }

    /// Calls with messages that the interpreter cannot read. Returns the error code of each: 7 with a report of the
    /// interpreter, or 5 if the reference ends without a report.
    fn unreadable_calls(&mut self, to: Address, messages: &[Value]) -> Vec<u64> {
        let state = |trial: &Self| trial.chain.node.result("GetSmartContractState", &json!([to.to_string()]));
        let before = state(self);
        let numbers = messages.iter().map(|data| {
            let receipt = self.send(|it| (it.to, it.data) = (to, data.to_string())).unwrap();
            let number = receipt["errors"]["0"][0].as_u64().unwrap();
            let has_report = !receipt["exceptions"].as_array().unwrap().is_empty();
            assert_eq!(receipt["errors"], json!({"0": [number]}));
            assert_eq!(has_report, number == 7, "{receipt}");
            number
        });
        let numbers = numbers.collect();
        assert_eq!(state(self), before, "nothing of it remains");
        numbers
    }

    #[track_caller]
    fn check_call_failed(&mut self, errors: &Value, to: Address, data: &Value) -> String {
        let state = |trial: &Self| trial.chain.node.result("GetSmartContractState", &json!([to.to_string()]));
        let before = state(self);
        let reply_text = self.check_failed(errors, |it| (it.to, it.data, it.amount) = (to, data.to_string(), 7));
        assert_eq!(state(self), before, "nothing of it remains");
        reply_text
    }
}

fn message(tag: &str, params: &Value) -> Value {
    json!({"_tag": tag, "params": params})
}

#[test]
fn invalid_code_is_in_the_receipt() {
    let mut trial = Trial::new();
    let init = init(&[]);
    let failed = json!({"0": [0, 0]});
    for code in [
        "x",
        "scilla_version 0",
        "scilla_version 0\ncontract",
        "scilla_version 0\ncontract E ()\nfield f : Uint32 = \"x\"",
        "scilla_version 0\ncontract E ()\nfield f : Nothing = Uint32 1",
        "scilla_version 0\ncontract E ()\ntransition T ()\n  x <- y\nend",
        "scilla_version 0\ncontract \u{e9} ()",
        "\u{0}",
    ] {
        let reply_text = trial.check_deployment_failed(&failed, code, &init);
        assert!(!reply_text.is_empty(), "{code}");
    }
    // Deep nesting of each kind that Scilla permits.
    for (before, after) in
        [("(", ")"), ("List (", ")"), ("let x = ", " in x"), ("fun (x : Uint32) => ", ""), ("(*", "*)")]
    {
        let deep = |part: &str| part.repeat(5_000);
        for code in [
            format!("scilla_version 0\nlibrary L\nlet a = {} x {}\ncontract E ()", deep(before), deep(after)),
            format!("scilla_version 0\ncontract E (a : {} x {})", deep(before), deep(after)),
            format!("scilla_version 0\ncontract E ()\nfield f : {} x {} = x", deep(before), deep(after)),
        ] {
            if code.len() <= 76_800 {
                let data = init.clone();
                let receipt =
                    trial.send(|it| (it.code, it.data, it.gas_limit) = (code.clone(), data, 200_000)).unwrap();
                assert_eq!(receipt["errors"], failed, "{before}");
            }
        }
    }
}

#[test]
fn code_has_a_largest_size() {
    let mut trial = Trial::new();
    let padded = |length: usize| format!("{EMPTY}\n(*{}*)", "x".repeat(length - EMPTY.len() - 5));
    let (largest, larger) = (padded(76_800), padded(76_801));
    assert_eq!((largest.len(), larger.len()), (76_800, 76_801));
    trial.check_refused(-26, "Code size is too large", |it| {
        (it.code, it.data, it.gas_limit) = (larger, init(&[]), 300_000);
    });
    let receipt = trial.send(|it| (it.code, it.data, it.gas_limit) = (largest.clone(), init(&[]), 300_000)).unwrap();
    assert_eq!(receipt["success"], true, "{receipt}");
    let contract = Address::of_contract(&trial.sender.address(), silica_protocol::Nonce::new(0));
    let stored = trial.chain.node.result("GetSmartContractCode", &json!([contract.to_string()]));
    assert_eq!(stored["code"], largest);
}

#[test]
fn invalid_init_data_are_dropped() {
    let mut trial = Trial::new();
    let twice = json!([version(), version()]).to_string();
    let unknown = json!({"constructor": "Pair", "argtypes": ["String", "ByStr20"],
                         "arguments": ["L", format!("0x{}", Wallet::stranger(1).hex())]});
    let libraries =
        |value: Value| init(&[json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": value})]);
    let short = json!({"constructor": "Pair", "argtypes": [], "arguments": ["L", "0x12"]});
    for (status, data) in [
        (11, "not json".to_owned()),
        (11, "{}".to_owned()),
        (11, "[]".to_owned()),
        (11, "[1]".to_owned()),
        (11, r#"[{"vname":"_scilla_version"}]"#.to_owned()),
        (11, r#"[{"vname":"_scilla_version","type":"Uint32","value":0}]"#.to_owned()),
        (11, r#"[{"vname":"_scilla_version","type":"String","value":"0"}]"#.to_owned()),
        (11, r#"[{"vname":"_scilla_version","type":"Uint32","value":"zero"}]"#.to_owned()),
        (12, r#"[{"vname":"_scilla_version","type":"Uint32","value":"1"}]"#.to_owned()),
        (11, twice),
        (11, libraries(json!([unknown]))),
        (11, libraries(json!([short]))),
        // The parser of the reference accepts comments, and text after the end. No known client sends such data.
        (11, format!("{} x", init(&[]))),
        (11, format!("/* */ {}", init(&[]))),
        (11, "[".repeat(10_000)),
        (11, format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))),
        (11, init(&[json!({"vname": "a", "type": "B"})])),
    ] {
        trial.check_dropped(status, |it| (it.code, it.data) = (EMPTY.to_owned(), data));
    }
    // A parameter with the name of another parameter and another type counts as unknown.
    trial.check_deployment_failed(
        &json!({"0": [8, 1]}),
        EMPTY,
        &init(&[json!({"vname": "x", "type": "Uint32", "value": "1"})]),
    );
}

#[test]
fn init_parameters_that_do_not_fit_are_recorded() {
    let mut trial = Trial::new();
    let owner = |kind: &str, value: Value| json!({"vname": "owner", "type": kind, "value": value});
    let good = owner("ByStr20", json!(format!("0x{}", Wallet::funded(0).hex())));
    let wrong = [
        vec![],
        vec![good.clone(), good.clone()],
        vec![good.clone(), json!({"vname": "other", "type": "Uint32", "value": "1"})],
        vec![owner("String", json!("x"))],
        vec![owner("ByStr20", json!("0x12"))],
        vec![owner("ByStr20", json!(12))],
        vec![owner("ByStr20", json!({"constructor": "x"}))],
        vec![owner(&format!("{}Uint32{}", "List (".repeat(3_000), ")".repeat(3_000)), json!([]))],
    ];
    let errors: Value = wrong.iter().map(|params| trial.unfit_deployment(HELLO, &init(params))).collect();
    assert_eq!(errors, json!([[8, 1], [8, 1], [8, 1], [8, 1], [8, 1], [5, 0], [5, 0], [5, 0]]));
    assert_eq!(trial.send(|it| (it.code, it.data) = (HELLO.to_owned(), init(&[good]))).unwrap()["success"], true);
}

#[test]
fn each_stage_of_a_deployment_wants_its_gas() {
    let mut trial = Trial::new();
    let data = init(&[]);
    let least = EMPTY.len() + data.len();
    assert!((50..99).contains(&least));
    let with = |gas: u64| {
        let data = data.clone();
        move |it: &mut Payment| (it.code, it.data, it.gas_limit) = (EMPTY.to_owned(), data, gas)
    };
    let text = format!("Gas limit ({}) lower than minimum for creating contract ({least})", least - 1);
    trial.check_refused(-8, &text, with(least as u64 - 1));
    trial.check_dropped(22, with(99));
    // With this limit, no gas is left for the checker.
    trial.check_failed(&json!({"0": [21, 1]}), with(100));
    trial.check_failed(&json!({"0": [21, 1]}), with(399));
    let enough = json!({"senderAddr": trial.sender.hex(), "code": EMPTY, "data": data});
    let enough = trial.chain.node.result("silica_estimateGas", &json!([enough]))["gasLimit"].clone();
    let enough: u64 = enough.as_str().unwrap().parse().unwrap();
    trial.check_failed(&json!({"0": [8, 1]}), with(enough - 1));
    assert_eq!(trial.send(with(enough)).unwrap()["success"], true);
    let text = "Txn gas limit 400001 greater than microblock gas limit400000";
    trial.check_refused(-8, text, with(400_001));
}

#[test]
fn checker_runs_out_of_gas() {
    let mut trial = Trial::new();
    let data = init(&[]);
    let least = (LISTS.len() + data.len()) as u64;
    // The checker needs 650 units, and 8 units are one gas (Reference: scilla#gas-of-the-checker).
    let enough = 100 + 650_u64.div_ceil(8);
    for gas in [least, enough - 1] {
        let reply_text = trial.check_failed(&json!({"0": [0, 0]}), |it| {
            (it.code, it.data, it.gas_limit) = (LISTS.to_owned(), data.clone(), gas);
        });
        assert_eq!(reply_text, "Insufficient gas");
    }
    let reply_text = trial.check_failed(&json!({"0": [21, 1]}), |it| {
        (it.code, it.data, it.gas_limit) = (LISTS.to_owned(), data.clone(), enough);
    });
    assert_eq!(reply_text, "", "the node itself finds that the runner cannot be paid");
}

#[test]
fn malformed_messages_are_dropped() {
    let mut trial = Trial::new();
    let hello = trial.hello();
    let greet = message("Greet", &json!([])).to_string();
    for behind in [" x", "{}", " // greets", ","] {
        trial.check_dropped(11, |it| (it.to, it.data) = (hello, format!("{greet}{behind}")));
    }
    for data in ["not json", "[]", "7", "\"x\"", "null", "{", "{}x", &"[".repeat(10_000), &"{\"a\":".repeat(10_000)] {
        trial.check_dropped(11, |it| (it.to, it.data) = (hello, data.to_owned()));
    }
    let bomb = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let bomb = format!(r#"{{"_tag":"SetGreeting","params":[{{"vname":"text","type":"String","value":{bomb}}}]}}"#);
    trial.check_dropped(11, |it| (it.to, it.data) = (hello, bomb));
}

#[test]
fn parameters_that_do_not_fit_are_recorded() {
    let mut trial = Trial::new();
    let hello = trial.hello();
    let text = |kind: &str, value: Value| json!({"vname": "text", "type": kind, "value": value});
    let good = text("String", json!("a"));
    let other = json!({"vname": "other", "type": "String", "value": "b"});
    let mut check = |data: Value, expected: &str| {
        let reply_text = trial.check_call_failed(&json!({"0": [7]}), hello, &data);
        assert!(reply_text.contains(expected), "{expected} is missing in {reply_text}: {data}");
    };
    check(message("Nothing", &json!([])), "No contract transition for tag found: Nothing");
    check(message("", &json!([])), "No contract transition for tag found");
    check(message("CountVisit", &json!([])), "No contract transition for tag found: CountVisit");
    check(message("SetGreeting", &json!([])), "No message entry found matching parameter: text");
    check(message("SetGreeting", &json!([good, other])), "No parameter found matching message entry: other");
    check(message("SetGreeting", &json!([good, good])), "Duplicate message entries found");
    check(message("SetGreeting", &json!([text("Uint32", json!("1"))])), "Type unassignable: String expected");
    let unreadable = [
        json!({}),
        json!({"_tag": "SetGreeting"}),
        json!({"params": []}),
        json!({"_tag": 7, "params": []}),
        json!({"_tag": "SetGreeting", "params": {}}),
        json!({"_tag": "SetGreeting", "params": [7]}),
        message("SetGreeting", &json!([{"vname": "text", "type": "String"}])),
        message("SetGreeting", &json!([text("String", json!(7))])),
        message("SetGreeting", &json!([text("Nothing", json!("a"))])),
        message("SetGreeting", &json!([text("Uint32", json!("x"))])),
        message("SetGreeting", &json!([text(&format!("{}x{}", "(".repeat(3_000), ")".repeat(3_000)), json!("x"))])),
        message("SetGreeting", &json!([text("String", (0..100).fold(json!(0), |inner, _| json!([inner])))])),
    ];
    assert_eq!(trial.unreadable_calls(hello, &unreadable), [7, 7, 7, 7, 5, 7, 7, 7, 7, 7, 7, 7]);
    let sender = trial.chain.deploy(SENDER, &[]).0;
    let to = |value: &str| message("Pass", &json!([{"vname": "to", "type": "ByStr20", "value": value}]));
    let bech32 = Wallet::funded(1).address().to_bech32();
    let long = format!("0x{}", "a".repeat(41));
    let wrong = ["0x12", "", "0x", &"g".repeat(42), &long, &bech32].map(to);
    assert_eq!(trial.unreadable_calls(sender, &wrong), [7, 5, 7, 5, 5, 5]);
}

#[test]
fn calls_need_a_contract() {
    let mut trial = Trial::new();
    let data = message("Greet", &json!([])).to_string();
    let (null_recipient, user) = (Wallet::stranger(1).address(), Wallet::funded(1).address());
    let to = |to: Address| {
        let data = data.clone();
        move |it: &mut Payment| (it.to, it.data) = (to, data)
    };
    trial.check_refused(-5, "To addr is null", to(null_recipient));
    trial.check_refused(-5, "Non - contract address called", to(user));
    trial.check_refused(-5, "Code is empty and To addr is null", to(Address::ZERO));
    let library = trial.library();
    trial.check_refused(-8, "Contract account won't accept normal txn", |it| it.to = library);
    let hello = trial.hello();
    trial.check_refused(-8, "Contract account won't accept normal txn", |it| it.to = hello);
}

#[test]
fn calls_of_a_library_do_nothing() {
    let mut trial = Trial::new();
    let library = trial.library();
    let data = message("Greet", &json!([]));
    let receipt = trial.send(|it| (it.to, it.data) = (library, data.to_string())).unwrap();
    assert_eq!((&receipt["success"], &receipt["accepted"]), (&json!(true), &json!(false)), "{receipt}");
    let sender = trial.chain.deploy(SENDER, &[]).0;
    let pass = message("Pass", &json!([address_param("to", &library)]));
    let receipt = trial.send(|it| (it.to, it.data) = (sender, pass.to_string())).unwrap();
    let delivered = (&receipt["success"], &receipt["transitions"][0]["accepted"]);
    assert_eq!(delivered, (&json!(true), &json!(false)), "{receipt}");
}

#[test]
fn calls_of_a_library_are_refused_by_the_rules_of_0_11() {
    let mut trial = Trial::over(Chain::over(Node::start(&["--scilla-rules", "0.11"])));
    let library = trial.library();
    let data = message("Greet", &json!([]));
    trial.check_dropped(11, |it| (it.to, it.data) = (library, data.to_string()));
    let sender = trial.chain.deploy(SENDER, &[]).0;
    let pass = message("Pass", &json!([address_param("to", &library)]));
    trial.check_call_failed(&json!({"1": [23]}), sender, &pass);
}

#[test]
fn recipients_are_checked_for_length_and_checksum() {
    let mut trial = Trial::new();
    let hello = trial.hello();
    let data = message("Greet", &json!([])).to_string();
    let mut transaction = trial.sender.payment(1, hello, 0);
    (transaction.gas_limit, transaction.data) = (5_000, data);
    let before = trial.account();
    let checksummed = hello.to_checksum();
    let wrong = ["", "0x", "0x12", &checksummed[1..], &format!("{checksummed}0"), &hello.to_bech32(), &"g".repeat(40)];
    let flipped = checksummed
        .chars()
        .map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
    for to in wrong.into_iter().map(str::to_owned).chain([format!("0x{}", flipped.skip(2).collect::<String>())]) {
        let mut request = transaction.json();
        request["toAddr"] = json!(to);
        let refusal = trial.chain.node.error("CreateTransaction", &json!([request]));
        assert_eq!(refusal, (-8, "To Addr checksum wrong".to_owned()), "{to}");
        assert_eq!(trial.account(), before);
    }
    trial.chain.node.result("CreateTransaction", &json!([transaction.json()]));
}

#[test]
fn money_that_is_not_there_is_not_spent() {
    let mut trial = Trial::new();
    let (funds, _) = trial.account();
    let sender = trial.chain.deploy(SENDER, &[]).0;
    let take = message("Take", &json!([])).to_string();
    let no_funds = "Insufficient funds in source account!";
    trial.check_refused(-8, no_funds, |it| (it.to, it.data, it.amount) = (sender, take.clone(), funds));
    trial.check_refused(-8, no_funds, |it| (it.code, it.data, it.amount) = (EMPTY.to_owned(), init(&[]), funds));
    let overflow = "tx.GetGasLimit() * tx.GetGasPrice() + tx.GetAmount() overflow!";
    trial.check_refused(-8, overflow, |it| (it.to, it.data, it.amount) = (sender, take.clone(), u128::MAX));
    let spend = message("Spend", &json!([address_param("to", &Wallet::funded(1).address())]));
    let before = balance(&trial.chain.node, &Wallet::funded(1).hex());
    // The interpreter finds this fault before the node does.
    let reply_text = trial.check_call_failed(&json!({"0": [7]}), sender, &spend);
    assert!(reply_text.starts_with("The balance is too low to transfer all the funds in the messages"), "{reply_text}");
    assert_eq!(balance(&trial.chain.node, &Wallet::funded(1).hex()), before);
    let receipt = trial.send(|it| (it.to, it.data, it.amount) = (sender, take, 5)).unwrap();
    assert_eq!((&receipt["success"], &receipt["accepted"]), (&json!(true), &json!(true)));
    assert_eq!(balance(&trial.chain.node, &sender.to_string()).0, 5);
}

#[test]
fn each_stage_of_a_call_wants_its_gas() {
    let mut trial = Trial::new();
    let (sender, other) = (trial.chain.deploy(SENDER, &[]).0, trial.chain.deploy(SENDER, &[]).0);
    let data = message("Pass", &json!([address_param("to", &other)])).to_string();
    let with = |gas: u64| {
        let data = data.clone();
        move |it: &mut Payment| (it.to, it.data, it.gas_limit) = (sender, data, gas)
    };
    let least = data.len() as u64;
    assert!(least < 299);
    let text = format!("Gas limit ({}) lower than minimum for invoking contract (10)", least - 1);
    trial.check_refused(-8, &text, with(least - 1));
    trial.check_dropped(22, with(299));
    trial.check_failed(&json!({"0": [7]}), with(301));
    let request = json!([{"senderAddr": trial.sender.hex(), "toAddr": sender.to_string(), "data": data}]);
    let enough = trial.chain.node.result("silica_estimateGas", &request)["gasLimit"].clone();
    let enough: u64 = enough.as_str().unwrap().parse().unwrap();
    trial.check_failed(&json!({"1": [7]}), with(enough - 1));
    trial.check_failed(&json!({"1": [21]}), with(enough - 300));
    assert_eq!(trial.send(with(enough)).unwrap()["success"], true);
    trial.check_refused(-8, "txn gas limit exceeding shard maximum limit", with(400_001));
}
