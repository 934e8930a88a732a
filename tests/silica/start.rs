//! The start of a node: its output, the page for browsers, and the advice in error messages.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use silica_tests::{
    Connection, Directory, Node, Wallet,
    node::{binary, command, run},
    patience::Patience,
    wallet::FUNDED_KEYS,
};

use crate::{check_error, pay_once};

const WORDS: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";

/// Secret keys of the first two accounts of [`WORDS`]. zilliqa-js derives the same keys.
const KEYS: [&str; 2] = [
    "9b6e11b4378a9e836be65f60faf42f25a1008b0e1f98781eccc487fed618276f",
    "6f06cf24c49ef971d802db7508d8837f405f3ae58eb919066170498e088d89e5",
];
const ADDRESSES: [&str; 2] = ["dda52b7725798135ae5c08395554dd5794764a93", "0cb67ceba33ebd6e223f45df8122228080d994e5"];

/// Waits until the condition holds. Panics if the process exceeds a limit of [`Patience`].
#[track_caller]
fn wait(process: u32, what: &str, mut holds: impl FnMut() -> bool) {
    let mut patience = Patience::with(process);
    while !holds() {
        if let Err(hang) = patience.check() {
            panic!("{what}: {hang}");
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn keys_of_words_are_printed_only_on_request() {
    let directory = Directory::new();
    let start = |args: &[&str]| {
        let words = ["--mnemonic", WORDS, "--accounts", "2", "--log", "trace"];
        let node = Node::start_in(&directory.path().join("data"), &[&words, args].concat());
        let banner = node.wait_for("curl ");
        node.result("GetNetworkId", &json!([]));
        let end = node.stop();
        assert!(end.status.success(), "{}", end.output);
        for address in ADDRESSES {
            let address: silica_protocol::Address = address.parse().unwrap();
            assert!(banner.contains(&format!("0x{}  {}", address.to_checksum(), address.to_bech32())), "{banner}");
        }
        assert!(banner.contains("balance 900000000000.000000000000 ZIL"), "{banner}");
        end.output
    };
    for _ in 0..2 {
        let output = start(&[]);
        assert!(KEYS.iter().all(|key| !output.contains(key)), "{output}");
        assert!(output.contains("The secret keys of 2 accounts are not shown; --show-keys prints them."), "{output}");
    }
    let output = start(&["--show-keys"]);
    assert!(KEYS.iter().all(|key| output.contains(key)), "{output}");
    assert!(!output.contains("not shown") && !output.contains("published"), "{output}");
    let words = "The keys of 2 accounts are secret and shown because of --show-keys: keep this output private.";
    assert!(output.contains(words), "{output}");
}

#[test]
fn keys_of_a_file_are_printed_only_if_they_are_published() {
    let directory = Directory::new();
    let file = directory.path().join("accounts.json");
    let entry = |key: &str| json!({"privateKey": key, "amount": "1000000000000", "nonce": 0});
    let third = Wallet::from_hex(FUNDED_KEYS[2]);
    let accounts = json!({ADDRESSES[0]: entry(KEYS[0]), third.hex(): entry(FUNDED_KEYS[2])});
    fs::write(&file, accounts.to_string()).unwrap();
    let node = Node::start(&["--accounts-file", file.to_str().unwrap(), "--log", "trace"]);
    let banner = node.wait_for("curl ");
    let output = node.stop().output;
    assert!(!output.contains(KEYS[0]) && output.contains(&format!("key {}", FUNDED_KEYS[2])), "{output}");
    for words in [
        "The key of 1 account is published: never use it for value.",
        "The secret key of 1 account is not shown; --show-keys prints it.",
    ] {
        assert!(banner.contains(words), "{words} is missing in {banner}");
    }
    assert!(banner.contains(&format!("   3  0x{}", third.address().to_checksum())), "{banner}");
}

#[test]
fn banner_numbers_accounts_as_the_commands_do() {
    let node = Node::start(&[]);
    let banner = node.wait_for("curl ");
    let listed = run(&["account", "list", "--json", "--url", &node.url()]);
    let listed: Vec<Value> = serde_json::from_str(&listed.output).unwrap();
    let mut rest = banner.as_str();
    assert_eq!(listed.len(), FUNDED_KEYS.len());
    for (number, account) in (1..).zip(&listed) {
        let address = account["address"].as_str().unwrap();
        let line = format!("  {number:>2}  {address}");
        let (_, behind) =
            rest.split_once(&line).unwrap_or_else(|| panic!("{line} is missing or too early in\n{banner}"));
        rest = behind;
        let used = run(&["account", "address", "--test-account", &number.to_string(), "--json"]);
        assert_eq!(serde_json::from_str::<Value>(&used.output).unwrap()["address"], address);
    }
}

/// A node that writes its banner as JSON, with the values of the banner.
struct Announced {
    child: Child,
    facts: Value,
}

impl Announced {
    fn start(args: &[&str]) -> Self {
        let mut command = command(&[&["--banner", "json"], args].concat());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        Self { child, facts: serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}")) }
    }

    fn stop(mut self) {
        let id = self.child.id();
        assert!(Command::new("kill").arg(id.to_string()).status().unwrap().success());
        wait(id, "the node ends", || self.child.try_wait().unwrap().is_some());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Calls a method of the node with this URL.
fn call(url: &str, method: &str) -> Value {
    let address = url.strip_prefix("http://").unwrap().parse().unwrap();
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": []}).to_string();
    let answer = Connection::open(address).unwrap().post(request.as_bytes()).unwrap();
    serde_json::from_slice::<Value>(&answer.body).unwrap()["result"].clone()
}

#[test]
fn banner_as_json_has_the_real_ports_and_no_secret() {
    let directory = Directory::new();
    let data = directory.path().join("data").to_str().unwrap().to_owned();
    let node = Announced::start(&[
        "--data-dir",
        &data,
        "--listen",
        "127.0.0.1:0",
        "--websocket",
        "127.0.0.1:0",
        "--operator-listen",
        "127.0.0.1:0",
        "--chain-id",
        "333",
        "--block-mode",
        "interval=60000",
        "--mnemonic",
        WORDS,
        "--accounts",
        "2",
    ]);
    let facts = node.facts.clone();
    let (url, websocket) = (facts["url"].as_str().unwrap(), facts["websocket"].as_str().unwrap());
    assert_eq!(call(url, "GetNetworkId"), "333");
    // The WebSocket port also serves JSON-RPC over HTTP.
    assert_eq!(call(&websocket.replace("ws://", "http://"), "GetNetworkId"), "333");
    assert_ne!(url.rsplit_once(':').unwrap().1, websocket.rsplit_once(':').unwrap().1);
    let operators = facts["operator"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
    assert_eq!(Connection::open(operators).unwrap().request("GET", "/ready", b"").unwrap().status, 200);
    assert_eq!((&facts["chainId"], &facts["transactionVersion"]), (&json!(333), &json!((333 << 16) + 1)));
    assert_eq!((&facts["blockMode"], &facts["dataDir"]), (&json!("interval=60000"), &json!(data)));
    assert_eq!((&facts["pid"], &facts["version"]), (&json!(node.child.id()), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!(facts["nodeKey"].as_str().unwrap().len(), 66);
    for account in facts["accounts"].as_array().unwrap() {
        assert_eq!(account["balance"], "900000000000000000000000");
        assert_eq!(account.get("secretKey"), None, "{account}");
    }
    assert_eq!(facts["accounts"].as_array().unwrap().len(), 2);
    node.stop();
}

#[test]
fn banner_can_be_switched_off() {
    let directory = Directory::new();
    let ready = directory.path().join("ready.json");
    let args = ["--ephemeral", "--listen", "127.0.0.1:0", "--banner", "none", "--ready-file", ready.to_str().unwrap()];
    let mut child = command(&args).stderr(Stdio::null()).spawn().unwrap();
    wait(child.id(), "the ready file appears", || ready.exists());
    let mut output = child.stdout.take().unwrap();
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut output, &mut text).unwrap();
    assert_eq!((text.as_str(), child.wait().unwrap().success()), ("", true));
}

#[test]
fn ready_file_exists_while_the_node_serves() {
    let directory = Directory::new();
    let ready = directory.path().join("ready.json");
    fs::write(&ready, "of an earlier node").unwrap();
    let (ready_file, any) = (ready.to_str().unwrap(), "127.0.0.1:0");
    let args = ["--ephemeral", "--listen", any, "--operator-listen", any, "--ready-file", ready_file];
    let node = Announced::start(&args);
    wait(node.child.id(), "the ready file is written", || {
        fs::read_to_string(&ready).is_ok_and(|text| text.ends_with("}\n"))
    });
    let read: Value = serde_json::from_str(&fs::read_to_string(&ready).unwrap()).unwrap();
    assert_eq!(read, node.facts);
    assert!(read["operator"].as_str().is_some_and(|url| url.starts_with("http://127.0.0.1:")), "{read}");
    assert_eq!(fs::metadata(&ready).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(call(read["url"].as_str().unwrap(), "GetNetworkId"), "222");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    node.stop();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn start_on_a_directory_in_use_leaves_the_ready_file_of_the_running_node() {
    let directory = Directory::new();
    let (data, ready) = (directory.path().join("data"), directory.path().join("ready.json"));
    let args = ["--ready-file", ready.to_str().unwrap()];
    let node = Node::start_in(&data, &args);
    wait(node.id(), "the ready file appears", || ready.exists());
    let written = fs::read_to_string(&ready).unwrap();
    let end = Node::try_start_in(&data, &args).map(drop).unwrap_err();
    assert!(end.output.contains("is in use by another node or command"), "{}", end.output);
    assert_eq!(fs::read_to_string(&ready).unwrap(), written);
    assert!(node.stop().status.success());
    assert!(!ready.exists());
}

#[test]
fn ready_file_through_a_link_is_refused() {
    let directory = Directory::new();
    let (ready, target) = (directory.path().join("ready.json"), directory.path().join("target"));
    fs::write(&target, "kept").unwrap();
    symlink(&target, &ready).unwrap();
    let end = run(&["--ephemeral", "--listen", "127.0.0.1:0", "--ready-file", ready.to_str().unwrap()]);
    assert!(!end.status.success() && end.output.contains("which is a link"), "{}", end.output);
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
}

/// Returns whether the process with this id runs.
fn runs(process: &str) -> bool {
    // A zombie process has no command line.
    fs::read(Path::new("/proc").join(process).join("cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Starts a shell that starts a node with additional arguments. Waits for the node, and returns the shell and the ready
/// file.
fn start_through_a_shell(directory: &Directory, script: &str) -> (Child, Value) {
    let ready = directory.path().join("ready.json");
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(binary()).arg(directory.path());
    let shell = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait(shell.id(), "the node is ready", || ready.exists());
    let facts = serde_json::from_str(&fs::read_to_string(&ready).unwrap()).unwrap();
    (shell, facts)
}

#[test]
fn node_stops_in_good_order_when_the_process_that_started_it_ends() {
    for parent in ["--exit-with-parent", "--exit-with-parent=$$"] {
        let directory = Directory::new();
        // Another command follows, so that the shell does not replace itself with the node.
        let script = format!(
            "\"$0\" --data-dir \"$1/data\" --listen 127.0.0.1:0 --websocket off --ready-file \"$1/ready.json\" {parent} \
             2>\"$1/log\"; true"
        );
        let (mut shell, facts) = start_through_a_shell(&directory, &script);
        let url = facts["url"].as_str().unwrap();
        let address = url.strip_prefix("http://").unwrap().parse().unwrap();
        let payment = Wallet::funded(0).payment(1, Wallet::funded(1).address(), 5);
        let request = json!({"id": 1, "jsonrpc": "2.0", "method": "CreateTransaction", "params": [payment.json()]});
        let answer = Connection::open(address).unwrap().post(request.to_string().as_bytes()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&answer.body).unwrap()["result"]["TranID"], payment.hash());
        let node = facts["pid"].to_string();
        assert!(runs(&node));
        shell.kill().unwrap();
        shell.wait().unwrap();
        wait(std::process::id(), "the node ends with its parent", || !runs(&node));
        let log = fs::read_to_string(directory.path().join("log")).unwrap();
        assert!(log.contains("the parent process has ended") && !log.contains("ERROR"), "{log}");
        // An orderly stop removes the ready file, and keeps the chain.
        assert!(!directory.path().join("ready.json").exists(), "{log}");
        let again = Node::start_in(&directory.path().join("data"), &[]);
        assert_eq!(again.result("GetTransaction", &json!([payment.hash()]))["ID"], payment.hash());
    }
}

#[test]
fn node_does_not_start_without_the_process_that_started_it() {
    let other = format!("--exit-with-parent={}", u32::MAX);
    let end = run(&["--ephemeral", "--listen", "127.0.0.1:0", &other]);
    assert!(
        !end.status.success() && end.output.contains("expected process 4294967295 as the parent"),
        "{}",
        end.output
    );
}

/// Gets a page, optionally with a value of `Accept`. Returns head and body.
fn get(node: &Node, verb: &str, path: &str, host: &str, accept: Option<&str>) -> (String, String) {
    let mut connection = node.connect();
    let accept = accept.map(|accept| format!("Accept: {accept}\r\n")).unwrap_or_default();
    let request = format!("{verb} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{accept}\r\n");
    connection.write(request.as_bytes()).unwrap();
    let answer = String::from_utf8(connection.read_to_end().unwrap()).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

#[test]
fn browser_finds_a_page_that_names_what_a_wallet_needs() {
    let node = Node::start(&["--studio", "off", "--chain-id", "333", "--mnemonic", WORDS, "--show-keys"]);
    pay(&node);
    for host in ["127.0.0.1", "rebound.example"] {
        let (head, body) = get(&node, "GET", "/", host, Some(BROWSER));
        assert!(head.starts_with("http/1.1 200"), "{head}");
        for line in [
            "content-type: text/html; charset=utf-8",
            "content-security-policy: default-src 'none'; style-src 'unsafe-inline'",
            "x-content-type-options: nosniff",
            "vary: accept",
            "cache-control: no-store",
        ] {
            assert!(head.contains(line), "{line} is missing in\n{head}");
        }
        for words in [&node.url(), "ws://127.0.0.1:", "333", "21823489", "<code>1</code>", "rpc.discover", "curl "] {
            assert!(body.contains(words), "{words} is missing in\n{body}");
        }
        assert!(!body.contains("<script") && !body.contains("rebound"), "{body}");
        assert!(KEYS.iter().all(|key| !body.contains(key)) && !body.contains("legal"), "{body}");
    }
    let (head, body) = get(&node, "HEAD", "/", "127.0.0.1", Some("TEXT/HTML"));
    assert!(
        head.starts_with("http/1.1 200") && head.contains("content-type: text/html") && body.is_empty(),
        "{head}{body}"
    );
}

/// Makes one empty block.
fn pay(node: &Node) {
    node.result("IncreaseBlocknum", &json!([1]));
}

#[test]
fn curl_lines_of_the_page_work() {
    let node = Node::start(&["--studio", "off"]);
    let (_, body) = get(&node, "GET", "/", "x", Some("text/html"));
    let lines: Vec<String> = body
        .split("<pre>")
        .skip(1)
        .map(|part| part.split("</pre>").next().unwrap())
        .map(|line| line.replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&"))
        .collect();
    assert!(!lines.is_empty());
    for line in lines {
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(answer["result"].is_object(), "{line}\n{answer}");
    }
}

#[test]
fn others_than_browsers_get_what_the_reference_answers() {
    let node = Node::start(&[]);
    let gets = [
        ("/", None),
        ("/", Some("*/*")),
        ("/", Some("application/json")),
        ("/", Some("text/html;q=0, */*")),
        ("/index.html", Some("text/html")),
    ];
    for (path, accept) in gets {
        let (head, body) = get(&node, "GET", path, "x", accept);
        assert!(head.starts_with("http/1.1 405") && head.contains("allow: post, options"), "{accept:?} {head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert_eq!(body, "Not allowed HTTP Method", "{path} {accept:?}");
        assert_eq!(head.contains("vary: accept"), path == "/", "{head}");
    }
}

#[test]
fn misspelt_method_is_refused_with_the_nearest_name() {
    let node = Node::start(&[]);
    let check = |method: &str, data: Option<Value>| {
        let refusal = node.call(method, &json!([])).unwrap_err();
        assert_eq!(refusal.code, -32601);
        assert_eq!(refusal.message, "METHOD_NOT_FOUND: The method being requested is not available on this server");
        assert_eq!(refusal.data, data, "{method}");
    };
    check("getBalance", Some(json!({"didYouMean": "GetBalance"})));
    check("GetBlockchaininfo", Some(json!({"didYouMean": "GetBlockchainInfo"})));
    check("silica_setBallance", Some(json!({"didYouMean": "silica_setBalance"})));
    check("Nonsense", None);
    check("", None);
    check(&"GetBalance".repeat(1_000), None);
}

#[test]
fn refusals_say_what_was_expected_and_what_came() {
    let node = Node::start(&[]);
    let check = |method: &str, params: Value, (code, message): (i64, &str), expected: Value, got: Value| {
        let refusal = node.call(method, &params).unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (code, message));
        assert_eq!(refusal.data, Some(json!({"expected": expected, "got": got})), "{params}");
    };
    pay_once(&node, 0);
    let payment = |nonce| Wallet::funded(0).payment(nonce, Wallet::funded(1).address(), 1);
    let create = "CreateTransaction";
    let mut foreign = payment(2);
    foreign.version = (1 << 16) + 1;
    check(create, json!([foreign.json()]), (-26, "CHAIN_ID incorrect"), json!(222), json!(1));
    check(create, json!([payment(1).json()]), (-8, "Nonce (1) lower than current (1)"), json!(2), json!(1));
    check(create, json!([payment(9).json()]), (-8, "Expected Nonce: 2"), json!(2), json!(9));
    let mut request = payment(2).json();
    let checksummed = request["toAddr"].as_str().unwrap().to_owned();
    request["toAddr"] = json!(checksummed.to_lowercase());
    let wrong = (-8, "To Addr checksum wrong");
    check(create, json!([request]), wrong, json!(checksummed), json!(checksummed.to_lowercase()));
    request["toAddr"] = json!("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7");
    check(create, json!([request]), wrong, json!("40 hexadecimal digits"), json!("42 characters"));

    let bech32 = (-5, "Bech32 address is invalid");
    let address = |text: &str| json!([text]);
    let get = "GetBalance";
    let checksum = "a matching checksum in the last 6 characters";
    check(get, address("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz8"), bech32, json!(checksum), json!("gufkz8"));
    check(
        get,
        address("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz"),
        bech32,
        json!("42 characters"),
        json!("41 characters"),
    );
    let letter = "one of the characters qpzry9x8gf2tvdw0s3jn54khce6mua7l as character 5";
    check(get, address("zil1bwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7"), bech32, json!(letter), json!("b"));
    let size = (-8, "Address size not appropriate");
    check(
        get,
        address("bc1qwh4ltdguhde9s7nysnp33d5wye6"),
        size,
        json!("40 hexadecimal digits"),
        json!("31 characters"),
    );
    let digit = (-5, "invalid address");
    check(get, address(&"g".repeat(40)), digit, json!("a hexadecimal digit as character 1"), json!("g"));
}

#[test]
fn commands_print_what_was_expected_and_what_came() {
    let node = Node::start(&["--chain-id", "7"]);
    let end = run(&["rpc", "GetBalance", "zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz8", "--url", &node.url()]);
    let expected = "Bech32 address is invalid: expected a matching checksum in the last 6 characters, got gufkz8 (-5)";
    assert!(end.output.contains(expected), "{}", end.output);
    check_error(&node, "GetTxBlock", &json!(["x"]), (-32602, "Invalid argument"));
}

#[test]
fn help_is_short_and_ends_with_examples() {
    let short = run(&["-h"]).output;
    assert!(short.lines().count() <= 60, "{short}");
    let long = run(&["--help"]).output;
    let (_, examples) = long.split_once("Examples:\n").unwrap_or_else(|| panic!("no examples in {long}"));
    assert!(examples.contains("silica --ephemeral") && examples.lines().count() <= 15, "{examples}");
}
