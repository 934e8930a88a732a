//! `silica proof verify`: results from files, from standard input and from a node, valid and invalid.

use std::{
    fs,
    io::Write as _,
    process::{Output, Stdio},
};

use serde_json::{Value, json};
use silica_protocol::{Address, StorageKey};
use silica_tests::{Directory, Node, Wallet, node::command};

use crate::contract::{Chain, HELLO, address_param};

/// Exit codes of `silica proof verify`.
const PROVEN: i32 = 0;
const REFUTED: i32 = 1;
const NOTHING_TO_CHECK: i32 = 2;

/// Runs `silica proof verify` with this standard input. Returns exit code and output.
fn verify(args: &[&str], input: &str) -> (i32, String) {
    let mut command = command(&[&["proof", "verify"], args].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The command can end before it reads the whole input, so a failed write is not a fault.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let output = String::from_utf8([stdout, stderr].concat()).unwrap();
    assert!(!output.contains("panicked"), "{output}");
    (status.code().unwrap(), output)
}

#[track_caller]
fn check(args: &[&str], input: &str, code: i32, words: &[&str]) {
    let (got, output) = verify(args, input);
    assert_eq!(got, code, "{args:?}\n{output}");
    for word in words {
        assert!(output.contains(word), "{word:?} is missing in\n{output}");
    }
}

/// Returns the cases of the vectors. Published cases come first.
fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../data/vectors/stateproof.json")).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn text<'a>(case: &'a Value, member: &str) -> &'a str {
    case[member].as_str().unwrap()
}

/// Returns the response of a node for a case.
fn answer(case: &Value) -> Value {
    json!({"id": "1", "jsonrpc": "2.0", "result": {
        "accountProof": case["accountProof"], "stateProof": case["stateProof"],
    }})
}

#[test]
fn vectors_prove_what_they_say_or_nothing() {
    for case in vectors() {
        let (root, address) = (text(&case, "state_root"), text(&case, "address"));
        let args = ["--root", root, "--address", address, "--variable-hash", text(&case, "variable_hash")];
        if case["valid"] == true {
            let storage = text(&case, "storage_root");
            check(
                &args,
                &answer(&case).to_string(),
                PROVEN,
                &[root, address, "balance", "nonce", "code hash", storage],
            );
        } else {
            check(&args, &answer(&case).to_string(), REFUTED, &["silica: ", "Proof: no"]);
        }
    }
}

#[test]
fn published_example_is_read_by_people() {
    let case = &vectors()[0];
    let (root, address) = (text(case, "state_root"), text(case, "address"));
    let directory = Directory::new();
    let file = directory.path().join("proof.json");
    // A result without its envelope is valid too.
    fs::write(&file, answer(case)["result"].to_string()).unwrap();
    let file = file.to_str().unwrap();
    let args = ["--root", root, "--address", address, "--variable", "zilToPolyTxHashMap", "--index", "0", file];
    let value = "\"0x702fb32dc0560a5bde19512c85ef175bf743758ed87c9f0504024254cdf0f07d\"";
    let line = format!("value        {value}");
    check(&args, "", PROVEN, &["zilToPolyTxHashMap[\"0\"]", &line, "zil1", "0 Qa", text(case, "storage_root")]);
    let absent = [&args[..6], &["--index", "1", "-"]].concat();
    check(&absent, &answer(case).to_string(), REFUTED, &["stateProof: node"]);
    check(&args[..4], &answer(case).to_string(), NOTHING_TO_CHECK, &["stateProof", "--variable"]);
    let account = json!({"accountProof": case["accountProof"]}).to_string();
    check(&args[..4], &account, PROVEN, &["storage root", text(case, "storage_root")]);
}

#[test]
fn malformed_answers_are_refused_by_name() {
    let case = &vectors()[0];
    let (root, address) = (text(case, "state_root"), text(case, "address"));
    let args = ["--root", root, "--address", address, "--variable", "zilToPolyTxHashMap", "--index", "0"];
    let whole = answer(case);
    let check = |input: &str, code: i32, words: &[&str]| check(&args, input, code, words);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut answer = whole.clone();
        change(&mut answer["result"]);
        answer.to_string()
    };
    check(&whole.to_string(), PROVEN, &[]);
    check("", REFUTED, &["expected JSON"]);
    check(&whole.to_string()[..500], REFUTED, &["expected JSON"]);
    check(&"[".repeat((64 << 20) + 1), NOTHING_TO_CHECK, &["at most 67108864 bytes"]);
    check("7", REFUTED, &["an object", "a number"]);
    check(&changed(&|it| it["accountProof"] = Value::Null), REFUTED, &["accountProof", "an array", "null"]);
    check(&changed(&|it| it["accountProof"][2] = json!("F8zz")), REFUTED, &["accountProof[2]", "'z'"]);
    check(&changed(&|it| it["accountProof"][2] = json!(2)), REFUTED, &["accountProof[2]", "a string"]);
    check(&changed(&|it| it["stateProof"][0] = json!("F85")), REFUTED, &["stateProof[0]", "even number"]);
    check(&changed(&|it| it["extra"] = json!(1)), REFUTED, &["\"extra\""]);
    check(&changed(&|it| drop(it.as_object_mut().unwrap().remove("stateProof"))), REFUTED, &["stateProof"]);
    check(&changed(&|it| drop(it["stateProof"].as_array_mut().unwrap().pop())), REFUTED, &["stateProof", "missing"]);
    let surplus = |it: &mut Value| {
        let node = it["stateProof"][0].clone();
        it["accountProof"].as_array_mut().unwrap().push(node);
    };
    check(&changed(&surplus), REFUTED, &["accountProof", "node number 5", "not on the path"]);
    let refusal = json!({"error": {"code": -5, "data": null, "message": "Address does not exist"}, "id": "1"});
    check(&refusal.to_string(), NOTHING_TO_CHECK, &["returned no proof", "Address does not exist"]);
}

#[test]
fn wrong_use_has_a_status_of_its_own() {
    let (root, address) = ("00".repeat(32), "00".repeat(20));
    check(&[], "", NOTHING_TO_CHECK, &["--address"]);
    check(&["--root", "x", "--address", &address], "", NOTHING_TO_CHECK, &["--root"]);
    check(&["--root", &root, "--address", &address, "/no/such/file"], "", NOTHING_TO_CHECK, &["/no/such/file"]);
    let closed = ["--url", "http://127.0.0.1:1", "--address", &address, "--variable", "x"];
    check(&closed, "", NOTHING_TO_CHECK, &["http://127.0.0.1:1"]);
    check(&["--help"], "", PROVEN, &["Exit status", "--url", "--variable-hash"]);
}

/// Checks that the command proves the value of a variable at a block, with a request to the node.
#[track_caller]
fn check_at(node: &Node, contract: &Address, variable: &[&str], block: &str, words: &[&str]) {
    let (url, address) = (node.url(), contract.to_bech32());
    let args = [&["--url", &url, "--block", block, "--address", &address], variable].concat();
    check(&args, "", PROVEN, words);
}

#[test]
fn own_node_proves_values_and_absence_at_blocks_of_the_window() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    chain.call(1, contract, "Greet", &json!([]));
    let node = &chain.node;
    let visitor = format!("0x{}", Wallet::funded(1).hex());
    let visits = ["--variable", "visits", "--index", &visitor];
    check_at(
        node,
        &contract,
        &["--variable", "greeting"],
        "latest",
        &["Tx block       2  reported by the node", "reported by the node\naccount", "value        \"Hello, world\""],
    );
    check_at(node, &contract, &visits, "2", &["value        \"1\""]);
    check_at(node, &contract, &visits, "1", &["absent", "and these keys"]);
    check_at(node, &contract, &["--variable", "visits"], "1", &["a map without entries"]);
    check_at(node, &contract, &["--variable", "visits"], "2", &["absent", "under the name alone"]);
    check_at(node, &contract, &["--variable", "_addr"], "latest", &[&format!("value        0x{contract}")]);
    check_at(node, &contract, &["--variable", "_depth", "--index", "visits"], "1", &["value        1"]);
    check_at(node, &contract, &["--variable", "_type", "--index", "visits"], "1", &["Map (ByStr20) (Uint32)"]);

    let (url, address) = (node.url(), contract.to_string());
    let args =
        |more: &[&'static str]| [&["--url", &url, "--address", &address, "--variable", "greeting"], more].concat();
    check(&args(&["--block", "77"]), "", NOTHING_TO_CHECK, &["there is no Tx block 77"]);
    let root = node.result("GetTxBlock", &json!(["2"]))["header"]["StateRootHash"].as_str().unwrap().to_owned();
    // With a given root, the command does not trust the node.
    check(
        &[&args(&[])[..], &["--root", &root]].concat(),
        "",
        PROVEN,
        &["reported by the node\nstate root", &format!("{root}\n")],
    );
    let root = "11".repeat(32);
    check(&[&args(&[])[..], &["--root", &root]].concat(), "", REFUTED, &["state root", &root]);
    let stranger = Wallet::stranger(5).hex();
    check(&["--url", &url, "--address", &stranger], "", PROVEN, &["absent       the proof shows that the account"]);
    let args = ["--url", &url, "--address", &stranger, "--variable", "x"];
    check(&args, "", NOTHING_TO_CHECK, &["Address does not exist in requested epoch"]);
}

#[test]
fn balance_of_any_account_is_proven() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    chain.call(1, contract, "Greet", &json!([]));
    let sender = Wallet::funded(1).address();
    for block in ["1", "2"] {
        let balance = chain.node.result("silica_getBalanceAt", &json!([sender.to_string(), block]));
        let line = format!("  balance      {} Qa", balance["balance"].as_str().unwrap());
        check_at(&chain.node, &sender, &[], block, &[&line]);
    }
    let key = StorageKey::field(&contract, "greeting").variable_hash().to_string();
    let of_variable = chain.node.result("GetStateProof", &json!([contract.to_string(), key, "2"]));
    let of_account = chain.node.result("silica_getAccountProof", &json!([contract.to_string(), "latest"]));
    assert_eq!(of_account, json!({"accountProof": of_variable["accountProof"]}));
    for (params, problem) in [
        (json!([sender.to_string(), "3"]), (-1, "Requested txBlock not mined yet")),
        (json!(["12", "1"]), (-8, "address: expected an account, as bech32")),
        (json!([sender.to_string(), "x"]), (-8, "block: expected ")),
    ] {
        let error = chain.node.error("silica_getAccountProof", &params);
        assert!(error.0 == problem.0 && error.1.starts_with(problem.1), "{params}: {error:?}");
    }
    let root = chain.node.result("GetTxBlock", &json!(["2"]))["header"]["StateRootHash"].as_str().unwrap().to_owned();
    let proof = chain.node.result("silica_getAccountProof", &json!([sender.to_string(), "2"])).to_string();
    let args = ["--root", &root, "--address", &sender.to_string()];
    check(&args, &proof, PROVEN, &["nonce        1"]);
    let digits: Vec<usize> =
        proof.char_indices().filter(|(_, it)| it.is_ascii_hexdigit() && !it.is_lowercase()).map(|(at, _)| at).collect();
    for at in digits.iter().step_by(digits.len() / 7) {
        let mut changed = proof.clone();
        let other = if &changed[*at..=*at] == "0" { "1" } else { "0" };
        changed.replace_range(*at..=*at, other);
        check(&args, &changed, REFUTED, &["accountProof"]);
    }
}

#[test]
fn proof_of_one_block_does_not_hold_for_another() {
    let mut chain = Chain::new();
    let (contract, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    chain.call(1, contract, "Greet", &json!([]));
    let key = StorageKey::field(&contract, "greeting").variable_hash().to_string();
    let address = contract.to_string();
    let answer = chain.node.result("GetStateProof", &json!([address, key, "2"])).to_string();
    let root = |block: &str| {
        let block = chain.node.result("GetTxBlock", &json!([block]));
        block["header"]["StateRootHash"].as_str().unwrap().to_owned()
    };
    let check_against =
        |root: &str| verify(&["--address", &address, "--variable", "greeting", "--root", root], &answer);
    assert_eq!(check_against(&root("2")).0, PROVEN);
    let (code, output) = check_against(&root("1"));
    assert_eq!(code, REFUTED);
    assert!(output.contains("accountProof") && output.contains("another block"), "{output}");
}
