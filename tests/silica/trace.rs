//! `silica_traceTransaction` and `silica_traceCall`: the executed statements, and invalid requests.

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Directory, Node, Wallet};

use crate::{
    INVALID_PARAMS, check_error,
    contract::{Chain, HELLO, address_param},
    no_hash,
};

const TRACE: &str = "silica_traceTransaction";
const TRACE_CALL: &str = "silica_traceCall";

const RELAY: &str = include_str!("../data/contracts/relay.scilla");

/// Returns the hash of the newest transaction.
fn newest(node: &Node) -> Value {
    node.result("GetRecentTransactions", &json!([]))["TxnHashes"][0].clone()
}

/// Returns the trace of the newest transaction, after a check of its hash and receipt.
fn trace(node: &Node) -> Value {
    let hash = newest(node);
    let traced = node.result(TRACE, &json!([hash]));
    assert_eq!(traced["hash"], hash);
    assert_eq!(traced["receipt"], node.result("GetTransaction", &json!([hash]))["receipt"]);
    traced
}

/// Returns component, depth, line and source of each statement in a run.
fn statements(run: &Value) -> Vec<(String, u64, u64, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let steps = run["steps"].as_array().unwrap().iter();
    steps
        .map(|step| {
            let (depth, line) = (step["depth"].as_u64().unwrap(), step["line"].as_u64().unwrap());
            (text(&step["component"]), depth, line, text(&step["text"]))
        })
        .collect()
}

/// Returns the variables of a contract in a trace.
fn variables(traced: &Value, contract: &Address) -> Value {
    let address = json!(contract.to_string());
    let changes = traced["changes"].as_array().unwrap();
    changes.iter().find(|change| change["address"] == address).unwrap()["variables"].clone()
}

fn greeter(chain: &mut Chain) -> Address {
    chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]).0
}

#[test]
fn trace_has_statements_with_gas_and_values() {
    let mut chain = Chain::new();
    let contract = greeter(&mut chain);
    chain.call(1, contract, "Greet", &json!([]));
    let traced = trace(&chain.node);
    assert_eq!((&traced["block"], &traced["truncated"]), (&json!("2"), &json!(false)));
    let call = &traced["call"];
    let visitor = format!("0x{}", Wallet::funded(1).hex());
    assert_eq!(call["sender"], Wallet::funded(1).hex());
    assert_eq!(call["recipient"], contract.to_string());
    assert_eq!((&call["tag"], &call["amount"], &call["params"]), (&json!("Greet"), &json!("0"), &json!([])));
    assert_eq!(call["calls"], json!([]));
    let run = &call["run"];
    assert_eq!((&run["completed"], &run["accepted"]), (&json!(true), &json!(false)));
    let line = |component: &str, depth, line, text: &str| (component.to_owned(), depth, line, text.to_owned());
    let expected = [
        line("Greet", 1, 27, "CountVisit"),
        line("CountVisit", 2, 17, "maybe <- visits[_sender]"),
        line("CountVisit", 2, 18, "count ="),
        line("CountVisit", 2, 23, "visits[_sender] := count"),
        line("Greet", 1, 28, "text <- greeting"),
        line("Greet", 1, 29, "e = { _eventname : \"Greeting\"; to : _sender; text : text }"),
        line("Greet", 1, 30, "event e"),
    ];
    assert_eq!(statements(run), expected);
    let steps = run["steps"].as_array().unwrap();
    let named = |name: &str, value: Value| json!({"name": name, "value": value});
    let none = json!({"constructor": "None", "argtypes": ["Uint32"], "arguments": []});
    let sender = named("_sender", json!(visitor));
    let hello = named("text", json!("Hello, world"));
    let event = named("e", json!({"_eventname": "Greeting", "to": visitor, "text": "Hello, world"}));
    for (step, (used, bound)) in steps.iter().zip([
        (json!([]), Value::Null),
        (json!([sender]), named("maybe", none.clone())),
        (json!([named("maybe", none)]), named("count", json!("1"))),
        (json!([sender, named("count", json!("1"))]), Value::Null),
        (json!([]), hello.clone()),
        (json!([sender, hello]), event.clone()),
        (json!([event]), Value::Null),
    ]) {
        assert_eq!((&step["used"], &step["bound"]), (&used, &bound), "{step}");
        assert_eq!(step["failed"], false);
    }
    let units = |step: &Value, member: &str| step[member].as_u64().unwrap();
    let gas = |member: &str| run[member].as_str().unwrap().parse::<u64>().unwrap();
    for pair in steps.windows(2) {
        assert_eq!(units(&pair[0], "unitsAfter"), units(&pair[1], "unitsBefore"), "nothing is charged between them");
        assert!(units(&pair[1], "unitsAfter") < units(&pair[1], "unitsBefore"));
    }
    assert!(units(&steps[0], "unitsBefore") < gas("gasBefore") * 8);
    assert_eq!(units(&steps[6], "unitsAfter") / 8, gas("gasAfter"));
    let used = traced["receipt"]["cumulative_gas"].as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!(gas("gasAfter"), 50_000 - used);
    let change = json!([{"indices": [visitor], "new": "1", "old": null, "variable": "visits"}]);
    assert_eq!(variables(&traced, &contract), change);
}

#[test]
fn calls_are_a_tree() {
    let mut chain = Chain::new();
    let (first, _) = chain.deploy(RELAY, &[]);
    let (second, _) = chain.deploy(RELAY, &[]);
    let stranger = Wallet::stranger(3).address();
    let none = json!({"vname": "amount", "type": "Uint128", "value": "0"});
    let to = |name, address: &Address| address_param(name, address);
    let params = json!([to("first", &second), to("second", &stranger), to("third", &second), none]);
    let receipt = chain.call(1, first, "Share", &params);
    assert_eq!(receipt["success"], true, "{receipt}");
    let traced = trace(&chain.node);
    let call = &traced["call"];
    assert_eq!(call["params"], params);
    let shown: Vec<_> = call["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            assert_eq!(call["sender"], first.to_string());
            let recipient: Address = call["recipient"].as_str().unwrap().parse().unwrap();
            let lines = if call["run"].is_null() { 0 } else { statements(&call["run"]).len() };
            (call["tag"].as_str().unwrap(), recipient, lines, call["run"]["accepted"].as_bool())
        })
        .collect();
    let expected = [
        ("Take", second, 7, Some(true)),
        ("", stranger, 0, None),
        ("Decline", second, 4, Some(false)),
        ("Take", second, 7, Some(true)),
    ];
    assert_eq!(shown, expected);
    // The trace has all messages of a statement, although Scilla has no JSON form for messages.
    let steps = call["run"]["steps"].as_array().unwrap();
    let sent = steps.iter().find(|step| step["text"] == "send messages").unwrap();
    assert_eq!(sent["used"][0]["value"].as_array().unwrap().len(), 3);
    assert_eq!(sent["used"][0]["value"][2]["_tag"], "Decline");
    let taken = json!([{"indices": [], "new": "3", "old": "0", "variable": "taken"}]);
    assert_eq!(variables(&traced, &second), taken);

    chain.call(1, first, "Repeat", &json!([{"vname": "times", "type": "Uint32", "value": "4"}]));
    let traced = trace(&chain.node);
    let (mut depth, mut call) = (0, &traced["call"]);
    while call.is_object() {
        assert_eq!(call["params"][0]["value"], (4 - depth).to_string());
        (depth, call) = (depth + 1, &call["calls"][0]);
    }
    assert_eq!(depth, 5);
}

#[test]
fn failure_is_the_last_statement() {
    let mut chain = Chain::new();
    let (first, _) = chain.deploy(RELAY, &[]);
    let (second, _) = chain.deploy(RELAY, &[]);
    let text = |name: &str, kind: &str, value: &str| json!({"vname": name, "type": kind, "value": value});
    let params = json!([address_param("to", &second), text("tag", "String", "Fail"), text("amount", "Uint128", "0")]);
    let receipt = chain.call(1, first, "Forward", &params);
    assert_eq!(receipt["success"], false);
    let traced = trace(&chain.node);
    let inner = &traced["call"]["calls"][0];
    assert_eq!((&inner["tag"], &inner["run"]["completed"]), (&json!("Fail"), &json!(false)));
    assert_eq!(traced["call"]["run"]["completed"], true);
    let steps = inner["run"]["steps"].as_array().unwrap();
    let failed: Vec<&Value> = steps.iter().filter(|step| step["failed"] == true).collect();
    assert_eq!(failed, [steps.last().unwrap()]);
    assert_eq!((&failed[0]["text"], &failed[0]["line"]), (&json!("throw e"), &receipt["exceptions"][0]["line"]));
    let names: Vec<_> = traced["changes"].as_array().unwrap().iter().map(|change| &change["address"]).collect();
    assert_eq!(names, [&json!(Wallet::funded(1).hex())], "only the fee was paid");
}

#[test]
fn trace_has_messages_that_are_not_delivered() {
    let mut chain = Chain::new();
    let (first, _) = chain.deploy(RELAY, &[]);
    let text = |name: &str, kind: &str, value: &str| json!({"vname": name, "type": kind, "value": value});
    let params = [address_param("to", &Address::ZERO), text("tag", "String", "Take"), text("amount", "Uint128", "0")];
    let receipt = chain.call(1, first, "Forward", &json!(params));
    assert_eq!(receipt["success"], false);
    let traced = trace(&chain.node);
    let message = &traced["call"]["calls"][0];
    assert_eq!(message["recipient"], Address::ZERO.to_string(), "{receipt}");
    assert_eq!((&message["tag"], &message["run"]), (&json!("Take"), &Value::Null));
    // One chained call more than the limit permits.
    let receipt = chain.call(1, first, "Repeat", &json!([text("times", "Uint32", "21")]));
    assert_eq!(receipt["success"], false);
    let traced = trace(&chain.node);
    let (mut runs, mut call) = (0, &traced["call"]);
    while call["run"].is_object() {
        (runs, call) = (runs + 1, &call["calls"][0]);
    }
    assert_eq!((runs, &call["tag"], &call["params"][0]["value"]), (21, &json!("Repeat"), &json!("0")));
}

#[test]
fn transactions_of_a_block_are_traced_one_behind_the_other() {
    let data = Directory::new();
    let mut chain = Chain::over(Node::start_in(data.path(), &[]));
    let contract = greeter(&mut chain);
    let node = chain.node;
    node.result("silica_setBlockMode", &json!(["manual"]));
    let greet = json!({"_tag": "Greet", "params": []}).to_string();
    let mut hashes = Vec::new();
    for nonce in 1..=3 {
        let mut call = Wallet::funded(1).payment(nonce, contract, 0);
        (call.gas_limit, call.data) = (5_000, greet.clone());
        node.result("CreateTransaction", &json!([call.json()]));
        hashes.push(call.hash());
    }
    let payment = Wallet::funded(2).payment(1, Wallet::funded(1).address(), 7);
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("silica_mine", &json!([1]));
    let check = |node: &Node| {
        for (hash, count) in hashes.iter().zip(0..) {
            let traced = node.result(TRACE, &json!([hash]));
            assert_eq!(traced["block"], "2");
            let old = if count == 0 { Value::Null } else { json!(count.to_string()) };
            let change = &variables(&traced, &contract)[0];
            assert_eq!((&change["old"], &change["new"]), (&old, &json!((count + 1).to_string())));
            let changes = traced["changes"].as_array().unwrap();
            let caller = changes.iter().find(|change| change["address"] == Wallet::funded(1).hex()).unwrap();
            assert_eq!(caller["nonce"], json!({"new": count + 1, "old": count}));
        }
        let paid = node.result(TRACE, &json!([payment.hash()]));
        assert_eq!((&paid["call"], paid["changes"].as_array().unwrap().len()), (&Value::Null, 2));
    };
    check(&node);
    // After the restart, the node computes a part of the earlier states again.
    node.result("silica_mine", &json!([48]));
    node.stop();
    let node = Node::start_in(data.path(), &["--block-mode", "manual"]);
    check(&node);
    node.result("silica_mine", &json!([1]));
    let gone = "expected a transaction of Tx blocks 3 to 51, got one of Tx block 2";
    check_error(&node, TRACE, &json!([hashes[0]]), (-1, gone));
}

#[test]
fn deployment_is_traced_by_what_it_changes() {
    let mut chain = Chain::new();
    let contract = greeter(&mut chain);
    let traced = trace(&chain.node);
    assert_eq!(traced["call"], Value::Null);
    let fields = json!([
        {"indices": [], "new": "Hello, world", "old": null, "variable": "greeting"},
        {"indices": [], "new": [], "old": null, "variable": "visits"},
    ]);
    assert_eq!(variables(&traced, &contract), fields);
}

/// A contract that folds over a list of numbers.
const LONG: &str = r"scilla_version 0
library Long
let numbers = fun (n : Nat) =>
  let folder = @nat_fold (List Uint32) in
  let step = fun (list : List Uint32) => fun (m : Nat) => let one = Uint32 1 in Cons {Uint32} one list in
  let start = Nil {Uint32} in
  folder step start n
contract Long ()
field last : Uint32 = Uint32 0
procedure double (x : Uint32) : Uint32
  twice = builtin add x x;
  _return := twice
end
procedure Look (x : Uint32)
  y = double x;
  z = builtin add y x
end
transition Go (count : Uint32)
  n = builtin to_nat count;
  list = numbers n;
  forall list Look
end
";

#[test]
fn long_traces_are_cut_off() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(LONG, &[]);
    let go = |count: u32| json!([{"vname": "count", "type": "Uint32", "value": count.to_string()}]);
    let receipt = chain.call(1, contract, "Go", &go(3));
    assert_eq!(receipt["success"], true, "{receipt}");
    let traced = trace(&chain.node);
    assert_eq!(traced["truncated"], false);
    let steps = traced["call"]["run"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3 + 3 * 4);
    let result = json!({"name": "y", "value": "2"});
    assert_eq!(steps.iter().filter(|step| step["text"] == "y = double x" && step["bound"] == result).count(), 3);
    chain.call(1, contract, "Go", &go(3_000));
    let traced = trace(&chain.node);
    assert_eq!(traced["truncated"], true);
    assert_eq!(traced["call"]["run"]["steps"].as_array().unwrap().len(), 10_000);
    assert_eq!(traced["call"]["run"]["completed"], true);
}

/// Adds the steps of the calls of a page to `all`, in the order of their execution.
fn add_steps(call: &Value, all: &mut Vec<Value>) {
    all.extend(call["run"]["steps"].as_array().into_iter().flatten().cloned());
    call["calls"].as_array().into_iter().flatten().for_each(|call| add_steps(call, all));
}

/// Removes the steps and the parameters of calls, and the messages without a run.
fn skeleton(call: &Value) -> Value {
    let mut bare = call.clone();
    bare["params"] = Value::Null;
    if bare["run"].is_object() {
        bare["run"]["steps"] = Value::Null;
    }
    bare["calls"] = call["calls"].as_array().unwrap().iter().filter(|it| it["run"].is_object()).map(skeleton).collect();
    bare
}

/// Returns all pages of a trace.
fn pages(node: &Node, hash: &Value, mut options: Value) -> Vec<Value> {
    let mut pages = Vec::new();
    loop {
        let page = node.result(TRACE, &json!([hash, options]));
        options["fromStep"] = page["page"]["nextStep"].clone();
        pages.push(page);
        if options["fromStep"].is_null() {
            return pages;
        }
        assert!(pages.len() < 100, "the pages have an end");
    }
}

#[test]
fn pages_of_a_trace_have_each_step_once() {
    let mut chain = Chain::new();
    let (first, _) = chain.deploy(RELAY, &[]);
    let (second, _) = chain.deploy(RELAY, &[]);
    let stranger = Wallet::stranger(3).address();
    let none = json!({"vname": "amount", "type": "Uint128", "value": "0"});
    let to = |name, address: &Address| address_param(name, address);
    let share = json!([to("first", &second), to("second", &stranger), to("third", &second), none]);
    let (long, _) = chain.deploy(LONG, &[]);
    let calls = [
        (first, "Share", share),
        (first, "Repeat", json!([{"vname": "times", "type": "Uint32", "value": "4"}])),
        (long, "Go", json!([{"vname": "count", "type": "Uint32", "value": "5"}])),
    ];
    for (contract, tag, params) in calls {
        chain.call(1, contract, tag, &params);
        let (hash, whole) = (newest(&chain.node), trace(&chain.node));
        assert!(whole.get("page").is_none() && whole["truncated"] == false, "{tag}");
        let mut expected = Vec::new();
        add_steps(&whole["call"], &mut expected);
        for limit in [1, 2, 3, 7, 10_000] {
            let (mut steps, mut messages, mut parameters) = (Vec::new(), 0, 0);
            for page in pages(&chain.node, &hash, json!({"limit": limit})) {
                for member in ["block", "changes", "hash", "receipt", "truncated"] {
                    assert_eq!(page[member], whole[member], "{member}");
                }
                assert_eq!(page["page"]["steps"], expected.len());
                assert_eq!(skeleton(&page["call"]), skeleton(&whole["call"]), "{tag} {limit}");
                let before = steps.len();
                add_steps(&page["call"], &mut steps);
                assert!(steps.len() > before && steps.len() <= before + limit, "{tag} {limit}");
                let text = page["call"].to_string();
                messages += text.matches("\"run\":null").count();
                parameters += text.matches("\"params\":[").count();
            }
            assert_eq!(steps, expected, "{tag} {limit}");
            let text = whole["call"].to_string();
            assert_eq!(messages, text.matches("\"run\":null").count(), "{tag} {limit}");
            assert_eq!(parameters, text.matches("\"params\":[").count(), "{tag} {limit}");
        }
        let bare = chain.node.result(TRACE, &json!([hash, {"values": false}]));
        let mut steps = Vec::new();
        add_steps(&bare["call"], &mut steps);
        for (step, mut expected) in steps.into_iter().zip(expected.clone()) {
            (expected["used"], expected["bound"]) = (json!([]), Value::Null);
            assert_eq!(step, expected);
        }
        let behind = chain.node.result(TRACE, &json!([hash, {"fromStep": u64::MAX}]));
        assert_eq!(behind["page"], json!({"nextStep": null, "steps": expected.len()}));
        for same in [json!(null), json!({}), json!({"fromStep": null, "limit": null, "values": null})] {
            assert_eq!(chain.node.result(TRACE, &json!([hash, same])), whole);
        }
    }
}

#[test]
fn pages_reach_the_end_of_a_long_trace() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(LONG, &[]);
    chain.call(1, contract, "Go", &json!([{"vname": "count", "type": "Uint32", "value": "3000"}]));
    let (hash, whole) = (newest(&chain.node), trace(&chain.node));
    let pages = pages(&chain.node, &hash, json!({"limit": 10_000}));
    let mut steps = Vec::new();
    for page in &pages {
        add_steps(&page["call"], &mut steps);
        assert!(page["call"].to_string().len() < 16 << 20);
    }
    assert_eq!((pages.len(), steps.len()), (2, 3 + 3_000 * 4));
    let mut beginning = Vec::new();
    add_steps(&whole["call"], &mut beginning);
    // The trace without options ends before the result of the last procedure.
    assert_eq!(steps[..9_990], beginning[..9_990]);
    let result = json!({"name": "y", "value": "2"});
    assert_eq!(steps.iter().filter(|step| step["text"] == "y = double x" && step["bound"] == result).count(), 3_000);
}

#[test]
fn pages_of_large_values_end_early() {
    let mut chain = Chain::new();
    let statements: Vec<String> = (0..400).map(|number| format!("  a{number} = text")).collect();
    let code =
        format!("scilla_version 0\ncontract Wide ()\ntransition Go (text : String)\n{}\nend\n", statements.join(";\n"));
    let (contract, _) = chain.deploy(&code, &[]);
    let text = "x".repeat(14_000);
    let receipt = chain.call(1, contract, "Go", &json!([{"vname": "text", "type": "String", "value": text}]));
    assert_eq!(receipt["success"], true, "{receipt}");
    assert_eq!(trace(&chain.node)["truncated"], true);
    let hash = newest(&chain.node);
    let pages = pages(&chain.node, &hash, json!({"limit": 10_000}));
    let mut steps = Vec::new();
    for page in &pages {
        assert_eq!(page["truncated"], false);
        assert!(page["call"].to_string().len() < 6 << 20, "{}", page["call"].to_string().len());
        add_steps(&page["call"], &mut steps);
    }
    assert_eq!((pages.len(), steps.len()), (3, 400));
    for (number, step) in steps.iter().enumerate() {
        assert_eq!(step["bound"], json!({"name": format!("a{number}"), "value": text}));
        assert_eq!(step["used"], json!([{"name": "text", "value": text}]));
    }
}

#[test]
fn invalid_options_of_a_trace_are_named() {
    let node = Node::start(&[]);
    let hash = "0".repeat(64);
    let refused = |options: Value, problem: &str| {
        check_error(&node, TRACE, &json!([hash, options]), (-8, &format!("options: {problem}")));
    };
    refused(json!({"limit": 0}), "limit: expected a number from 1 to 10000, got 0");
    refused(json!({"limit": 10_001}), "limit: expected a number from 1 to 10000, got 10001");
    for (wrong, got) in
        [(json!(-1), "-1"), (json!("5"), "\"5\""), (json!(1.5), "1.5"), (json!([]), "[]"), (json!(1e300), "1e+300")]
    {
        refused(json!({"fromStep": wrong}), &format!("fromStep: expected a number from 0, got {got}"));
    }
    for (wrong, got) in [(json!(0), "0"), (json!("true"), "\"true\"")] {
        refused(json!({"values": wrong}), &format!("values: expected true or false, got {got}"));
    }
    refused(json!({"from": 1}), "expected fromStep, limit or values, got \"from\"");
    for wrong in [json!(7), json!("x"), json!([])] {
        let (code, _) = node.error(TRACE, &json!([hash, wrong]));
        assert_eq!(code, INVALID_PARAMS.0, "{wrong}");
    }
}

/// A contract that reads the number and time of its block.
const CLOCK: &str = r#"scilla_version 0
contract Clock ()
transition Look ()
  now <- & BLOCKNUMBER;
  time <- & TIMESTAMP(now);
  e = { _eventname : "Looked"; time : time };
  event e
end
"#;

#[test]
fn trace_has_no_time_of_the_block_itself() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(CLOCK, &[]);
    chain.call(1, contract, "Look", &json!([]));
    chain.node.result("silica_mine", &json!([3]));
    let traced = trace(&chain.node);
    let steps = traced["call"]["run"]["steps"].as_array().unwrap();
    let none = json!({"constructor": "None", "argtypes": ["Uint64"], "arguments": []});
    assert_eq!(steps[1]["bound"], json!({"name": "time", "value": none}));
}

#[test]
fn trace_omits_large_values() {
    let mut chain = Chain::new();
    let contract = greeter(&mut chain);
    let text = "x".repeat(20_000);
    let params = json!([{"vname": "text", "type": "String", "value": text}]);
    let receipt = chain.call(0, contract, "SetGreeting", &params);
    assert_eq!(receipt["success"], true, "{receipt}");
    let traced = trace(&chain.node);
    assert_eq!(traced["truncated"], true);
    let steps = traced["call"]["run"]["steps"].as_array().unwrap();
    let store = steps.iter().find(|step| step["text"] == "greeting := text").unwrap();
    assert_eq!(store["used"], json!([{"name": "text", "value": null}]));
}

/// A contract that calls itself repeatedly, with a deeply nested number in each run and message.
const DEEP: &str = r#"scilla_version 0
library Deep
let zero = Uint32 0
let one = Uint32 1
let nothing = Uint128 0
let sixty = Uint32 60
let one_message = fun (m : Message) => let nil = Nil {Message} in Cons {Message} m nil
contract Deep ()
field kept : Nat = Zero
transition Go (times : Uint32, number : Nat)
  deep = builtin to_nat sixty;
  kept := deep;
  is_over = builtin eq times zero;
  match is_over with
  | True =>
  | False =>
    left = builtin sub times one;
    message = { _tag : "Go"; _recipient : _this_address; _amount : nothing; times : left; number : number };
    messages = one_message message;
    send messages
  end
end
"#;

/// Returns a number in the JSON form of Scilla.
fn nat(number: usize) -> Value {
    let zero = json!({"constructor": "Zero", "argtypes": [], "arguments": []});
    (0..number).fold(zero, |before, _| json!({"constructor": "Succ", "argtypes": [], "arguments": [before]}))
}

/// Parses a value that the trace has as text.
fn in_text(value: &Value) -> Value {
    serde_json::from_str(value.as_str().expect("it is text")).unwrap()
}

#[test]
fn deep_values_in_deep_calls_can_be_read() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(DEEP, &[]);
    let param = |name: &str, kind: &str, value: Value| json!({"vname": name, "type": kind, "value": value});
    let params = json!([param("times", "Uint32", json!("20")), param("number", "Nat", nat(31))]);
    let receipt = chain.call(1, contract, "Go", &params);
    assert_eq!(receipt["success"], true, "{receipt}");
    // The JSON parser of this test reads at most 127 levels.
    let traced = trace(&chain.node);
    assert_eq!(traced["truncated"], false);
    let (mut runs, mut call) = (0, &traced["call"]);
    while call.is_object() {
        let number = call["params"].as_array().unwrap().iter().find(|param| param["vname"] == "number").unwrap();
        assert_eq!(in_text(&number["value"]), nat(31));
        let steps = call["run"]["steps"].as_array().unwrap();
        assert_eq!(in_text(&steps[0]["bound"]["value"]), nat(60));
        if let Some(step) = steps.iter().find(|step| step["text"] == "send messages") {
            assert_eq!(in_text(&step["used"][0]["value"][0]["number"]), nat(31));
        }
        (runs, call) = (runs + 1, &call["calls"][0]);
    }
    assert_eq!(runs, 21);
    let kept = &variables(&traced, &contract)[0];
    assert_eq!((&kept["variable"], &kept["old"], in_text(&kept["new"])), (&json!("kept"), &nat(0), nat(60)));
}

#[test]
fn simulated_transactions_are_traced() {
    let mut chain = Chain::new();
    let contract = greeter(&mut chain);
    let data = json!({"_tag": "Greet", "params": []}).to_string();
    let request = json!([{"senderAddr": Wallet::funded(1).hex(), "toAddr": contract.to_string(),
        "gasLimit": "50000", "data": data}]);
    let traced = chain.node.result(TRACE_CALL, &request);
    assert_eq!(traced["simulation"], chain.node.result("silica_simulateTransaction", &request));
    chain.call(1, contract, "Greet", &json!([]));
    assert_eq!(traced["call"], trace(&chain.node)["call"]);
    let payment = json!([{"senderAddr": Wallet::funded(1).hex(), "toAddr": Wallet::stranger(1).hex()}]);
    assert_eq!(chain.node.result(TRACE_CALL, &payment)["call"], Value::Null);
}

#[test]
fn wrong_requests_are_refused() {
    let node = Node::start(&[]);
    for params in [json!([]), json!([1]), json!([null]), json!([["x"]]), json!(["ab", "cd"]), json!({"hash": "ab"})] {
        check_error(&node, TRACE, &params, INVALID_PARAMS);
    }
    for (hash, error) in [
        ("0".repeat(64), (-20, "Txn Hash not Present")),
        (String::new(), (-8, &*no_hash(""))),
        ("g".repeat(64), (-8, &no_hash(&"g".repeat(64)))),
    ] {
        check_error(&node, TRACE, &json!([hash]), error);
    }
    check_error(&node, TRACE_CALL, &json!([]), INVALID_PARAMS);
    let unknown = json!([{"senderAddr": Wallet::stranger(1).hex(), "toAddr": Wallet::stranger(2).hex()}]);
    check_error(&node, TRACE_CALL, &unknown, (-5, "The sender of the txn has no balance"));
    let (code, text) = node.error(TRACE_CALL, &json!([{"senderAddr": "x"}]));
    assert!(code == -8 && text.starts_with("senderAddr: expected"), "{text}");
}
