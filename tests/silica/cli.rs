//! The command-line client: each command against a node, with valid and invalid arguments.

use std::{
    env, fs,
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Output, Stdio},
    thread,
};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{
    Directory, Node, Wallet,
    node::{binary, command},
    wallet::{FEE, FUNDED_KEYS, FUNDS},
};

use crate::{balance, contract::HELLO};

/// Exit codes of the client commands.
const DONE: i32 = 0;
const FAILED: i32 = 1;
const WRONG: i32 = 2;

/// Words that an output must contain.
type Words<'a> = &'a [&'a str];

/// The result of a command.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs a command with an input, and optionally with a key in the environment.
fn run_with(args: &[&str], key: Option<&str>, input: &str) -> Ended {
    let mut command = command(args);
    if let Some(key) = key {
        command.env("SILICA_KEY", key);
    }
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The command can end before it reads the whole input, so a failed write is not a fault.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(!stderr.contains("panicked"), "{args:?}\n{stderr}");
    for key in FUNDED_KEYS {
        assert!(!stdout.contains(key) && !stderr.contains(key), "{args:?} shows a key");
    }
    Ended { code: status.code().unwrap(), stdout, stderr }
}

/// Runs a command with the URL of the node. Spaces separate its arguments.
fn ask(node: &Node, line: &str) -> Ended {
    let url = node.url();
    let args: Vec<&str> = line.split(' ').chain(["--url", &url]).collect();
    run_with(&args, None, "")
}

#[track_caller]
fn check(ended: &Ended, code: i32, words: Words<'_>) {
    let Ended { code: got, stdout, stderr } = ended;
    assert_eq!(*got, code, "{stdout}{stderr}");
    for word in words {
        assert!(stdout.contains(word) || stderr.contains(word), "{word:?} is missing in\n{stdout}{stderr}");
    }
}

/// Runs a command that must succeed, and returns its JSON output.
#[track_caller]
fn json_of(node: &Node, line: &str) -> Value {
    let ended = ask(node, &format!("{line} --json"));
    check(&ended, DONE, &[]);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}\n{}", ended.stdout))
}

/// Writes a file with this name and mode to a directory, and returns its path.
fn file(directory: &Directory, name: &str, text: &str, mode: u32) -> String {
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Deploys the greeting contract from test account 1. Returns the address of the contract.
fn deploy_hello(node: &Node, directory: &Directory) -> Address {
    let source = file(directory, "hello.scilla", HELLO, 0o600);
    let owner = Wallet::funded(0).address().to_bech32();
    let deployed = json_of(node, &format!("deploy {source} owner={owner} --test-account 1"));
    assert_eq!(deployed["transaction"]["receipt"]["success"], true);
    deployed["contract"].as_str().unwrap().parse().unwrap()
}

#[test]
fn money_is_sent_with_keys_from_each_source() {
    let (node, directory) = (Node::start(&[]), Directory::new());
    let url = node.url();
    let payee = Wallet::stranger(7).address();
    let sent = ask(&node, &format!("send {} 1.5 --test-account 1", payee.to_bech32()));
    check(
        &sent,
        DONE,
        &["status         done", "amount         1.5 ZIL", "fee            0.1 ZIL (50 units of gas at 0.002 ZIL)"],
    );

    let sent = json_of(&node, &format!("send 0x{payee} 500li --test-account 1"));
    let expected = Wallet::funded(0).payment(2, payee, 500_000_000);
    assert_eq!((&sent["hash"], &sent["contract"]), (&json!(expected.hash()), &Value::Null));
    assert_eq!(sent["transaction"], node.result("GetTransaction", &json!([expected.hash()])));

    let private = file(&directory, "key", &format!("0x{}\n", FUNDED_KEYS[1]), 0o600);
    check(&ask(&node, &format!("send {payee} 7qa --key-file {private}")), DONE, &["0.000000000007 ZIL"]);
    let to = payee.to_string();
    let args = ["send", &to, "1", "--url", &url];
    check(&run_with(&args, Some(FUNDED_KEYS[2]), ""), DONE, &["amount         1 ZIL"]);
    let args = ["send", &to, "1", "--url", &url, "--key-file", "-"];
    check(&run_with(&args, Some("not heard"), FUNDED_KEYS[3]), DONE, &["amount         1 ZIL"]);
    assert_eq!(balance(&node, &to), (1_500_000_000_000 + 500_000_000 + 7 + 2_000_000_000_000, 0));
    assert_eq!(balance(&node, &Wallet::funded(1).hex()).1, 1);
}

#[test]
fn keys_that_are_not_secret_are_rejected() {
    let (node, directory) = (Node::start(&[]), Directory::new());
    let to = Wallet::stranger(7).hex();
    let open = file(&directory, "open", FUNDED_KEYS[1], 0o644);
    check(&ask(&node, &format!("send {to} 1 --key-file {open}")), WRONG, &["others can read", "644", "chmod 600"]);
    let short = file(&directory, "short", &FUNDED_KEYS[1][1..], 0o600);
    check(
        &ask(&node, &format!("send {to} 1 --key-file {short}")),
        WRONG,
        &["--key-file: secret key: expected 64", "63"],
    );
    check(&ask(&node, &format!("send {to} 1 --key-file {}", FUNDED_KEYS[1])), WRONG, &["expected the path of a file"]);
    check(&ask(&node, &format!("send {to} 1 --key-file /no/such")), WRONG, &["cannot read /no/such"]);
    check(&ask(&node, &format!("send {to} 1")), WRONG, &["--key-file FILE", "SILICA_KEY", "--test-account N"]);
    check(&ask(&node, &format!("send {to} 1 --test-account 0")), WRONG, &["--test-account", "1..=11"]);
    check(&ask(&node, &format!("send {to} 1 --test-account 1 --key-file {open}")), WRONG, &["cannot be used with"]);
    check(&ask(&node, &format!("send {to} 1 --key {}", "0".repeat(64))), WRONG, &["unexpected argument '--key'"]);
    let url = node.url();
    let ended = run_with(&["send", &to, "1", "--url", &url], Some(&FUNDED_KEYS[1][..60]), "");
    check(&ended, WRONG, &["SILICA_KEY: secret key: expected 64", "60"]);
    assert!(!ended.stderr.contains(&FUNDED_KEYS[1][..8]));
}

#[test]
fn keys_in_place_of_other_arguments_are_not_shown() {
    let digits = FUNDED_KEYS[1];
    let upper = format!("0X{}", digits.to_uppercase());
    let json = format!("\"{digits}");
    let lines: [&[&str]; 7] = [
        &["account", "address", digits],
        &["account", "balance", &upper],
        &["send", &digits[1..], "1"],
        &["block", digits],
        &["state", &upper],
        &["rpc", "GetBalance", &json],
        &["deploy", &upper, "--test-account", "1"],
    ];
    let check = |ended: &Ended, code| {
        check(ended, code, &["hidden, as it may be a key"]);
        let shown = format!("{}{}", ended.stdout, ended.stderr).to_lowercase();
        assert!(!shown.contains(&digits[4..20]), "{shown}");
    };
    for line in lines {
        check(&run_with(line, None, ""), WRONG);
    }

    let (node, directory) = (Node::start(&[]), Directory::new());
    let contract = deploy_hello(&node, &directory);
    for line in [
        format!("rpc {digits}"),
        format!("rpc silica_getTransactionsForAddress {upper}"),
        format!("state {contract} {digits}"),
        format!("state {contract} welcome_msg {upper}"),
    ] {
        check(&ask(&node, &line), FAILED);
    }
}

#[test]
fn error_of_a_command_line_names_the_argument() {
    let node = Node::start(&[]);
    let to = Wallet::stranger(7).hex();
    for (line, words) in [
        (format!("send {to} 1.5.5 --test-account 1"), &["<AMOUNT>", "1.5.5", "an amount of ZIL"][..]),
        (format!("send {to} 0.0000000000001 --test-account 1"), &["at most 12 decimals of zil, got 13"]),
        (format!("send {to} -1 --test-account 1"), &["-1"]),
        ("send zil1xyz 1 --test-account 1".to_owned(), &["<TO>", "zil1xyz", "42 characters"]),
        (
            format!("send {} 1 --test-account 1", "0".repeat(40)),
            &["TO: expected an address other than the null address"],
        ),
        (format!("send {to} 1 --test-account 1 --nonce x"), &["--nonce", "'x'"]),
        (format!("send {to} 1 --test-account 1 --gas-price 1x"), &["--gas-price", "1x"]),
        (format!("send {to} 1 --test-account 1 --gas-price 2000"), &["--gas-price <PRICE>", "a unit, as in 2000li"]),
        (format!("send {to} 1 --test-account 1 --wait 86401"), &["--wait", "86401"]),
        ("tx 12".to_owned(), &["<HASH>", "64"]),
        ("block x".to_owned(), &["NUMBER", "expected a block number or latest"]),
        ("account new".to_owned(), &["<FILE>"]),
    ] {
        check(&ask(&node, &line), WRONG, words);
    }
    check(&run_with(&["account", "address", "12"], None, ""), WRONG, &["[ADDRESS]", "40"]);
    let ended = run_with(&["block", "--url", "ftp://example.org"], None, "");
    check(&ended, WRONG, &["--url", "expected http://HOST:PORT or https://HOST:PORT"]);
}

#[test]
fn errors_of_the_node_are_shown() {
    let node = Node::start(&[]);
    let (to, stranger) = (Wallet::stranger(7).hex(), Wallet::stranger(8));
    let directory = Directory::new();
    let key = file(&directory, "key", &format!("{:064x}", 8_u128 + (1 << 100)), 0o600);
    let ended = ask(&node, &format!("send {to} 1 --key-file {key}"));
    check(&ended, FAILED, &["would fail", "no balance", "--gas-limit"]);
    let ended = ask(&node, &format!("send {to} 1 --key-file {key} --gas-limit 50"));
    check(&ended, FAILED, &["CreateTransaction is refused"]);
    assert!(node.call("GetBalance", &json!([stranger.hex()])).is_err());
    check(&ask(&node, &format!("send {to} 1 --test-account 1 --nonce 5")), FAILED, &["CreateTransaction is refused"]);
    check(
        &ask(&node, &format!("send {to} 1 --test-account 1 --chain-id 1")),
        FAILED,
        &["CreateTransaction is refused"],
    );
    check(&ask(&node, &format!("tx {}", "7".repeat(64))), FAILED, &["there is no transaction 777"]);
    check(&ask(&node, "block 99"), FAILED, &["there is no Tx block 99"]);
    check(&ask(&node, "block 99 --ds"), FAILED, &["there is no DS block 99"]);
    check(&ask(&node, &format!("state {to}")), FAILED, &["GetSmartContractState is refused"]);
    check(&ask(&node, "rpc NoSuchMethod"), FAILED, &["NoSuchMethod is refused", "(-32601)"]);
}

#[test]
fn contracts_are_deployed_called_and_read() {
    let (node, directory) = (Node::start(&[]), Directory::new());
    let contract = deploy_hello(&node, &directory);
    let (hex, bech32) = (contract.to_string(), contract.to_bech32());
    let called = ask(&node, &format!("call {bech32} Greet --test-account 2"));
    check(&called, DONE, &["transition     Greet", "event          Greeting of 0x", "text = Hello, world"]);
    let called = json_of(&node, &format!("call {hex} SetGreeting text=Hi! --test-account 1"));
    let data: Value = serde_json::from_str(called["transaction"]["data"].as_str().unwrap()).unwrap();
    assert_eq!(data, json!({"_tag": "SetGreeting", "params": [{"vname": "text", "type": "String", "value": "Hi!"}]}));

    let visitor = Wallet::funded(1).address();
    check(
        &ask(&node, &format!("state {bech32}")),
        DONE,
        &["greeting       Hi!", "visits         1 entry", &format!("0x{visitor} = 1")],
    );
    assert_eq!(json_of(&node, &format!("state {hex}")), node.result("GetSmartContractState", &json!([hex])));
    assert_eq!(json_of(&node, &format!("state {hex} visits")), json!({format!("0x{visitor}"): "1"}));
    for key in [format!("0x{visitor}"), visitor.to_bech32()] {
        assert_eq!(json_of(&node, &format!("state {hex} visits {key}")), json!("1"));
    }
    check(&ask(&node, &format!("state {hex} visits 0x12")), FAILED, &["there is no visits[\"0x12\"]"]);
    check(&ask(&node, &format!("state {hex} other")), FAILED, &["there is no other"]);

    // The client does not send a failing transaction. With a given gas limit, it sends the transaction and shows the
    // receipt.
    let mine = format!("call {hex} SetGreeting text=Mine --test-account 2");
    check(&ask(&node, &mine), FAILED, &["would fail, and was not sent", "line 41"]);
    let failed = ask(&node, &format!("{mine} --gas-limit 5000"));
    check(
        &failed,
        FAILED,
        &["status         failed", "error          7 the transition failed", "exception      line 41", "NotTheOwner"],
    );
    let failed = ask(&node, &format!("{mine} --gas-limit 5000 --json"));
    assert_eq!(failed.code, FAILED);
    let failed: Value = serde_json::from_str(&failed.stdout).unwrap();
    assert_eq!(
        (&failed["transaction"]["receipt"]["success"], &failed["transaction"]["nonce"]),
        (&json!(false), &json!("3"))
    );
    check(&ask(&node, &format!("tx {}", failed["hash"].as_str().unwrap())), FAILED, &["failed"]);
}

#[test]
fn parameters_have_the_types_of_the_contract() {
    let (node, directory) = (Node::start(&[]), Directory::new());
    let contract = deploy_hello(&node, &directory);
    for (line, words) in [
        ("greet", &["TRANSITION: expected a transition of the contract: Greet, SetGreeting, got \"greet\""][..]),
        ("SetGreeting", &["missing: text : String"]),
        ("SetGreeting text=a txet=b", &["txet: expected text : String, got \"b\""]),
        ("SetGreeting text=a text=b", &["text: expected one value"]),
        ("Greet text=a", &["text: expected no parameters"]),
        ("SetGreeting text", &["NAME=VALUE"]),
        ("SetGreeting --params {\"text\":[]}", &["text: expected String (a text), got \"[]\""]),
        ("SetGreeting --params [1]", &["--params: expected an object"]),
    ] {
        check(&ask(&node, &format!("call {contract} {line} --test-account 1")), WRONG, words);
    }
    for params in [
        "{\"text\":\"A\"}",
        "[{\"vname\":\"text\",\"type\":\"String\",\"value\":\"A\"}]",
        &file(&directory, "params.json", "{\"text\": \"B\"}", 0o600),
    ] {
        check(&ask(&node, &format!("call {contract} SetGreeting --params {params} --test-account 1")), DONE, &["done"]);
    }
    assert_eq!(json_of(&node, &format!("state {contract} greeting")), json!("B"));

    let source = directory.path().join("hello.scilla");
    let deploy = format!("deploy {} --test-account 1", source.display());
    check(&ask(&node, &deploy), WRONG, &["missing: owner : ByStr20"]);
    check(&ask(&node, &format!("{deploy} owner=0x12")), WRONG, &["owner: expected ByStr20", "got \"0x12\""]);
    let broken =
        file(&directory, "broken.scilla", "scilla_version 0\ncontract C ()\ntransition T ()\n  x = y\nend", 0o600);
    check(&ask(&node, &format!("deploy {broken} --test-account 1")), FAILED, &["rejected", "broken.scilla:4:"]);
    check(&ask(&node, "deploy /no/such --test-account 1"), WRONG, &["cannot read /no/such"]);
}

#[test]
fn parameters_can_have_types_of_libraries() {
    let (node, directory) = (Node::start(&[]), Directory::new());
    let library = "scilla_version 0\nlibrary Shades\ntype Shade = | Dark | Light of Uint32\n";
    let library = file(&directory, "Shades.scillib", library, 0o600);
    let deployed = json_of(&node, &format!("deploy {library} --test-account 1"));
    assert_eq!(deployed["transaction"]["receipt"]["success"], true);
    let shades = deployed["contract"].as_str().unwrap().to_owned();
    let contract = "scilla_version 0\nimport Shades\nlibrary Own\ntype Side = | Left | Right\nlet dark = Dark\n
        contract Painter (given : Map String Uint32)
        field last : Shade = dark
        field pairs : Map String Uint32 = given
        transition Paint (shade : Shade, side : Option Side, by : List ByStr20)
          last := shade; e = {_eventname : \"Painted\"; by : by; side : side}; event e
        end";
    let contract = file(&directory, "painter.scilla", contract, 0o600);
    let line = format!("deploy {contract} --library Shades={shades} given={{\"a\":1}} --test-account 1");
    let painter = json_of(&node, &line)["contract"].as_str().unwrap().to_owned();
    let (one, other) = (Wallet::funded(1).address(), Wallet::funded(2).address());
    let light = format!("{{\"constructor\":\"{shades}.Light\",\"argtypes\":[],\"arguments\":[\"5\"]}}");
    let url = node.url();
    let by = format!("by=[\"{}\",\"0x{other}\"]", one.to_bech32());
    let shade = format!("shade={light}");
    let args = ["call", &painter, "Paint", &shade, "side=Some Right", &by, "--test-account", "1", "--url", &url];
    let called = run_with(&args, None, "");
    check(&called, DONE, &["event          Painted of", &format!("by = [\"0x{one}\", \"0x{other}\"]")]);
    let last: Value = serde_json::from_str(&light).unwrap();
    assert_eq!(json_of(&node, &format!("state {painter} last")), last);
    check(&ask(&node, &format!("state {painter}")), DONE, &["last           {\"", "pairs          1 entry", "a = 1"]);
    let wrong = format!("call {painter} Paint shade=Grey side=None by=[] --test-account 1");
    check(&ask(&node, &wrong), WRONG, &["shade: expected Shade (Dark, or JSON", "got \"Grey\""]);
    check(&ask(&node, &format!("deploy {contract} given={{}} --test-account 1")), FAILED, &["Shades"]);
    let typed = "scilla_version 0\nimport Shades\ncontract Typed (first : Shade)\n";
    let typed = file(&directory, "typed.scilla", typed, 0o600);
    let line = format!("deploy {typed} --library Shades={shades} first=Dark --test-account 1");
    check(&ask(&node, &line), FAILED, &["the init data are rejected", "Shade"]);
}

#[test]
fn libraries_are_files_by_the_rules_of_the_successor() {
    let (node, directory) = (Node::start(&["--scilla-rules", "latest"]), Directory::new());
    let library = |name: &str, text: &str, more: &str| {
        let file = file(&directory, &format!("{name}.scillib"), text, 0o600);
        let deployed = json_of(&node, &format!("deploy {file} --test-account 1{more}"));
        deployed["contract"].as_str().unwrap().to_owned()
    };
    let shades = library("Shades", "scilla_version 0\nlibrary Shades\ntype Shade = | Dark | Light of Uint32\n", "");
    let text = "scilla_version 0\nimport Shades\nlibrary Walls\ntype Wall = | Wall of Shade\n";
    let walls = library("Walls", text, &format!(" --library Shades.scillib={shades}"));
    let contract = "scilla_version 0\nimport Walls Shades\ncontract Painter ()\n\
        transition Paint (shade : Shade, wall : Option Wall)\n  e = {_eventname : \"Painted\"; shade : shade}; event e\nend";
    let contract = file(&directory, "painter.scilla", contract, 0o600);
    let both = format!("--library Shades.scillib={shades} --library Walls.scillib={walls}");
    let painter = json_of(&node, &format!("deploy {contract} {both} --test-account 1"))["contract"].clone();
    let call = format!("call {} Paint shade=Dark wall=None --test-account 1", painter.as_str().unwrap());
    check(&ask(&node, &call), DONE, &["event          Painted of", "Shades.Dark"]);
    let wrong = format!("deploy {contract} --library Sh.ades={shades} --test-account 1");
    check(&ask(&node, &wrong), WRONG, &["expected a name of letters, digits and underscores"]);
}

#[test]
fn accounts_are_made_and_shown() {
    let (node, directory) = (Node::start(&[]), Directory::new());
    let path = directory.path().join("new.key");
    let path = path.to_str().unwrap();
    let made = run_with(&["account", "new", path, "--json"], None, "");
    check(&made, DONE, &["keep it safe"]);
    let key = fs::read_to_string(path).unwrap();
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!made.stdout.contains(key.trim()) && !made.stderr.contains(key.trim()));
    let wallet = Wallet::from_hex(key.trim());
    let forms: Value = serde_json::from_str(&made.stdout).unwrap();
    let expected = json!({
        "address": format!("0x{}", wallet.address().to_checksum()), "bech32": wallet.address().to_bech32(),
        "publicKey": wallet.public_key(),
    });
    assert_eq!(forms, expected);
    check(&run_with(&["account", "new", path], None, ""), WRONG, &["cannot make", "exists"]);
    assert_eq!(fs::read_to_string(path).unwrap(), key, "the file is left alone");

    let shown = run_with(&["account", "address", "--key-file", path, "--json"], None, "");
    assert_eq!(serde_json::from_str::<Value>(&shown.stdout).unwrap(), expected);
    let shown = run_with(&["account", "address", &wallet.address().to_bech32()], None, "");
    check(&shown, DONE, &[&wallet.address().to_checksum()]);
    check(
        &ask(&node, &format!("account balance {}", wallet.hex())),
        DONE,
        &["balance        0 ZIL", "nonce          0"],
    );
    check(&ask(&node, "account balance --test-account 1"), DONE, &["balance        900000000000 ZIL"]);

    let list = json_of(&node, "account list");
    assert_eq!(list.as_array().unwrap().len(), FUNDED_KEYS.len());
    assert_eq!((&list[0]["testAccount"], &list[0]["nonce"]), (&json!(1), &json!(0)));
    assert_eq!(list[0]["bech32"], Wallet::funded(0).address().to_bech32());
    check(&ask(&node, "account list"), DONE, &["11             0x", "900000000000 ZIL"]);
}

#[test]
fn blocks_proofs_and_methods_are_shown() {
    let (node, directory) = (Node::start(&[]), Directory::new());
    let contract = deploy_hello(&node, &directory);
    check(&ask(&node, "block"), DONE, &["Tx block       1", "transactions   1", "transaction    ", "UTC"]);
    assert_eq!(json_of(&node, "block 1"), node.result("GetTxBlock", &json!(["1"])));
    check(&ask(&node, "block latest --ds"), DONE, &["DS block       1", "gas price      0.002 ZIL"]);
    assert_eq!(json_of(&node, "block 0 --ds"), node.result("GetDsBlock", &json!(["0"])));
    for line in ["block 9", "block 18446744073709551615", "block 18446744073709551615 --ds"] {
        check(&ask(&node, line), FAILED, &["there is no", line.split(' ').nth(1).unwrap()]);
    }

    let got = ask(&node, &format!("proof get {contract} greeting"));
    check(&got, DONE, &["Tx block 1, state root", "reported by the node", "accountProof"]);
    let root = node.result("GetLatestTxBlock", &json!([]))["header"]["StateRootHash"].as_str().unwrap().to_owned();
    let address = contract.to_string();
    let args = ["proof", "verify", "--root", &root, "--address", &address, "--variable", "greeting"];
    check(&run_with(&args, None, &got.stdout), DONE, &["\"Hello, world\""]);
    check(&ask(&node, &format!("proof get {contract} greeting --block 9")), FAILED, &["there is no Tx block 9"]);

    assert_eq!(json_of(&node, "rpc GetTxBlock 1"), node.result("GetTxBlock", &json!(["1"])));
    assert_eq!(json_of(&node, "rpc IncreaseBlocknum 3"), json!("5"));
    assert_eq!(
        json_of(&node, &format!("rpc GetSmartContractSubState {address} greeting []")),
        json!({"greeting": "Hello, world"})
    );
    check(&ask(&node, "rpc IncreaseBlocknum x"), WRONG, &["PARAM: expected JSON for parameter 1", "got \"x\""]);
}

#[test]
fn commands_wait_for_the_block() {
    let node = Node::start(&["--block-mode", "manual"]);
    let to = Wallet::stranger(7).address();
    let hash = Wallet::funded(0).payment(1, to, 1_000_000_000_000).hash();
    let sent = ask(&node, &format!("send {to} 1 --test-account 1 --wait 0"));
    check(&sent, DONE, &[&format!("transaction    {hash}"), "sent; to query it: silica tx"]);
    check(&ask(&node, &format!("tx {hash}")), WRONG, &["waits for a block (1)"]);
    check(
        &ask(&node, &format!("tx {hash} --wait 1")),
        WRONG,
        &["waiting for the block of", "is not in a block after 1 s"],
    );
    thread::scope(|scope| {
        let waiting = scope.spawn(|| ask(&node, &format!("tx {hash} --wait 60")));
        node.result("IncreaseBlocknum", &json!([1]));
        check(&waiting.join().unwrap(), DONE, &["status         done"]);
    });
    assert_eq!(balance(&node, &Wallet::funded(0).hex()).0, FUNDS - 1_000_000_000_000 - FEE);

    for nonce in 2..4 {
        // The client counts pending transactions for the next nonce.
        let expected = Wallet::funded(0).payment(nonce, to, 1_000_000_000_000).hash();
        check(&ask(&node, &format!("send {to} 1 --test-account 1 --wait 0")), DONE, &[&expected, "sent"]);
    }
    let dropped = Wallet::funded(0).payment(2, to, 1_000_000_000_000).hash();
    node.result("silica_dropTransaction", &json!([dropped]));
    check(&ask(&node, &format!("tx {dropped}")), FAILED, &["was dropped", "(status 255)"]);
    for line in [format!("tx {dropped} --json"), format!("tx {dropped} --json --wait 60")] {
        let printed_text = ask(&node, &line);
        check(&printed_text, FAILED, &["was dropped"]);
        let json: Value = serde_json::from_str(&printed_text.stdout).unwrap();
        assert_eq!(json, json!({"ID": dropped, "status": 255}));
    }
    check(&ask(&node, &format!("tx {dropped} --wait 60")), FAILED, &["was dropped"]);
}

/// Standard output can be a file on a full disk.
#[test]
fn hash_is_shown_if_standard_output_fails() {
    let node = Node::start(&[]);
    let to = Wallet::stranger(7).address();
    let line = format!("send {to} 1 --test-account 1 --url {}", node.url());
    let mut command = command(&line.split(' ').collect::<Vec<_>>());
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = command.stdout(full).output().unwrap();
    let printed_text = String::from_utf8(ended.stderr).unwrap();
    let hash = Wallet::funded(0).payment(1, to, 1_000_000_000_000).hash();
    assert_eq!(ended.status.code(), Some(WRONG), "{printed_text}");
    assert!(printed_text.contains(&format!("transaction {hash} was sent")), "{printed_text}");
    assert!(printed_text.contains("cannot write to standard output: "), "{printed_text}");
    assert_eq!(node.result("GetTransaction", &json!([hash]))["ID"], hash);
}

#[test]
fn key_that_cannot_be_written_leaves_no_file() {
    let directory = Directory::new();
    let path = directory.path().join("key");
    // The shell ignores the signal of the limit, so that a write fails instead of ending the process.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" account new \"$1\"";
    let ended = std::process::Command::new("sh").args(["-c", script]).arg(binary()).arg(&path).output().unwrap();
    assert_eq!(ended.status.code(), Some(WRONG), "{ended:?}");
    assert!(!path.exists());
    let args = ["account", "new", path.to_str().unwrap()];
    check(&run_with(&args, None, ""), DONE, &["the key is in"]);
}

#[test]
fn command_without_a_node_fails() {
    // No process of a test listens on port 1.
    let url = "http://127.0.0.1:1";
    for line in [
        "block",
        "account list",
        "send 7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8 1 --test-account 1",
        "rpc GetNetworkId",
    ] {
        let args: Vec<&str> = line.split(' ').chain(["--url", url]).collect();
        check(
            &run_with(&args, None, ""),
            WRONG,
            &[&format!("request to {url}/ failed"), "cannot connect to 127.0.0.1:1"],
        );
    }
}

/// Starts a server that returns this result or error for every request. Returns its URL.
fn hostile(answer: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let body = format!("{{\"id\":1,\"jsonrpc\":\"2.0\",{answer}}}");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let mut request = [0; 4096];
            // The client sends its request first. The content does not matter.
            drop(stream.read(&mut request));
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            drop(stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()));
        }
    });
    url
}

#[test]
fn hostile_nodes_reach_neither_terminal_nor_money() {
    let evil = "\\u001b[2J\\u202eevil\\nsilica: done";
    let error = hostile(&format!("\"error\":{{\"code\":-1,\"message\":\"{evil}\"}}"));
    let text = hostile(&format!("\"result\":\"{evil}\""));
    let state = hostile("\"result\":{\"\u{9b}2Jfield\":\"\u{202e}\",\"map\":{\"a\\u001b\":\"\\u001b[2J\"}}");
    let hash = hostile(&format!("\"result\":{{\"TranID\":\"{}\",\"Info\":\"x\"}}", "7".repeat(64)));
    let deep = hostile(&format!("\"result\":{}{}", "[".repeat(200_000), "]".repeat(200_000)));
    let to = Wallet::stranger(7).hex();
    let send = format!("send {to} 1 --test-account 1 --chain-id 222 --nonce 1 --gas-price 1zil --gas-limit 50");
    for url in [&error, &text, &state, &hash, &deep] {
        for line in [
            &format!("state {to}"),
            &format!("state {to} --json"),
            &format!("state {to} map"),
            "block",
            "rpc GetNetworkId",
            "account list",
            &send,
        ] {
            let args: Vec<&str> = line.split(' ').chain(["--url", url]).collect();
            let ended = run_with(&args, None, "");
            let shown = format!("{}{}", ended.stdout, ended.stderr);
            assert!(shown.chars().all(|c| c == '\n' || c == '\u{202e}' || !c.is_control()), "{line}: {shown:?}");
            assert!(!shown.contains('\u{202e}'), "{line}: {shown:?}");
            assert!(!shown.contains("\nsilica: done"), "{line}: {shown:?}");
        }
    }
    let args: Vec<&str> = send.split(' ').chain(["--url", &hash]).collect();
    check(
        &run_with(&args, None, ""),
        WRONG,
        &["CreateTransaction: invalid response: expected the hash", "got 777", "was sent", "--nonce 1"],
    );
    let dear = hostile("\"result\":\"20000000001\"");
    let line = send.replace(" --gas-price 1zil", "");
    let args: Vec<&str> = line.split(' ').chain(["--url", &dear]).collect();
    check(&run_with(&args, None, ""), FAILED, &["gas price of the node is 20000000001 Qa", "--gas-price"]);
}

/// Without the hash of the transaction, the user could send the same payment as a second transaction.
#[test]
fn hash_is_shown_if_the_node_closes_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            drop(stream.read(&mut [0; 4096]));
        }
    });
    let to = Wallet::stranger(7).address();
    let mut payment = Wallet::funded(0).payment(9, to, 1_000_000_000_000);
    payment.gas_price = 1;
    let line = format!("send {to} 1 --chain-id 222 --nonce 9 --gas-price 1qa --gas-limit 50 --url {url}");
    let args: Vec<&str> = line.split(' ').collect();
    let ended = run_with(&args, Some(FUNDED_KEYS[0]), "");
    check(&ended, WRONG, &["was sent", &format!("silica tx {}", payment.hash()), "--nonce 9", "closed the connection"]);
}

#[test]
fn failed_estimate_does_not_mean_a_failed_transaction() {
    let to = Wallet::stranger(7).hex();
    for (code, text) in [(-32603, "INTERNAL_ERROR"), (-32000, "Too many simulations at once")] {
        let url = hostile(&format!("\"error\":{{\"code\":{code},\"message\":\"{text}\"}}"));
        let line = format!("send {to} 1 --test-account 1 --chain-id 222 --nonce 9 --gas-price 1qa --url {url}");
        let ended = run_with(&line.split(' ').collect::<Vec<_>>(), None, "");
        check(&ended, FAILED, &["silica_estimateGas is refused", text]);
        assert!(!ended.stderr.contains("would fail"), "{}", ended.stderr);
    }
}

/// The server at the URL must not be able to turn a payment for a test network into a payment on the main network.
#[test]
fn main_network_needs_an_explicit_chain_id() {
    let url = hostile("\"result\":\"1\"");
    let line = format!("send {} 1 --nonce 1 --gas-price 1qa --gas-limit 50 --url {url}", Wallet::stranger(7).hex());
    let args: Vec<&str> = line.split(' ').collect();
    check(&run_with(&args, Some(FUNDED_KEYS[0]), ""), FAILED, &["the main network", "expected --chain-id 1", &url]);
    let args = [&args[..], &["--chain-id", "1"]].concat();
    check(&run_with(&args, Some(FUNDED_KEYS[0]), ""), WRONG, &["was sent"]);
}

#[test]
fn error_about_a_method_names_a_similar_one() {
    let node = Node::start(&[]);
    let ended = ask(&node, "rpc getBalance x");
    check(&ended, FAILED, &["getBalance is refused", "(-32601)", "a similar method is GetBalance"]);
    for other in ["NoSuchThing", "eth_call"] {
        let ended = ask(&node, &format!("rpc {other}"));
        check(&ended, FAILED, &[other, "(-32601)"]);
        assert!(!ended.stderr.contains("similar"), "{}", ended.stderr);
    }
}

#[test]
fn error_about_a_low_balance_has_the_amounts() {
    let node = Node::start(&[]);
    let to = Wallet::stranger(7).hex();
    node.result("silica_setBalance", &json!([Wallet::funded(0).hex(), "5500000000000"]));
    let figures = "the account has 5.5 ZIL, and must pay 6 ZIL, and 0.002 ZIL for each gas unit";
    for more in ["", " --gas-limit 50"] {
        let ended = ask(&node, &format!("send {to} 6 --test-account 1{more}"));
        check(&ended, FAILED, &["Insufficient funds", figures]);
    }
}

#[test]
fn negative_numbers_are_no_options() {
    let node = Node::start(&[]);
    check(&ask(&node, "rpc silica_mine -5"), FAILED, &["blocks: expected", "got -5"]);
    let contract = Wallet::stranger(7).hex();
    check(&ask(&node, &format!("proof get {contract} counts -5 -7")), FAILED, &["GetStateProof is refused"]);
}

/// The node can fail after it added the transaction to the pool.
#[test]
fn hash_is_shown_after_an_internal_error() {
    let url = hostile("\"error\":{\"code\":-32603,\"message\":\"INTERNAL_ERROR\"}");
    let to = Wallet::stranger(7).hex();
    let line =
        format!("send {to} 1 --test-account 1 --chain-id 222 --nonce 9 --gas-price 1qa --gas-limit 50 --url {url}");
    let ended = run_with(&line.split(' ').collect::<Vec<_>>(), None, "");
    check(&ended, WRONG, &["was sent", "silica tx ", "--nonce 9", "INTERNAL_ERROR (-32603)"]);
}

#[test]
fn commands_in_cli_page_have_the_shown_output() {
    const PAGE: &str = include_str!("../../docs/cli.md");
    let (node, directory) = (Node::start(&[]), Directory::new());
    std::os::unix::fs::symlink(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../contracts"),
        directory.path().join("contracts"),
    )
    .unwrap();
    let path = format!("{}:{}", binary().parent().unwrap().display(), env::var("PATH").unwrap());
    let (mut block, mut printed, mut compared) = (None, String::new(), 0);
    let mut text = String::new();
    for line in PAGE.lines() {
        match (block, line) {
            (None, "```sh") => (block, printed) = (Some("sh"), String::new()),
            (None, "```text") => (block, text) = (Some("text"), String::new()),
            (Some("text"), "```") => {
                assert_eq!(text, printed, "docs/cli.md prints something else");
                (block, compared) = (None, compared + 1);
            }
            (Some(_), "```") => block = None,
            (Some("sh"), line) => {
                let output = std::process::Command::new("sh")
                    .args(["-c", line])
                    .current_dir(directory.path())
                    .env("PATH", &path)
                    .env("SILICA_URL", node.url())
                    .env_remove("SILICA_KEY")
                    .output()
                    .unwrap();
                assert!(!output.stdout.is_empty() || line.contains('>'), "{line}: {output:?}");
                printed.push_str(&String::from_utf8(output.stdout).unwrap());
            }
            (Some("text"), line) => {
                text.push_str(line);
                text.push('\n');
            }
            (Some(_) | None, _) => {}
        }
    }
    assert!(compared >= 6, "only {compared} outputs were compared");
}
