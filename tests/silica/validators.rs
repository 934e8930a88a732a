//! Networks of several validators: four processes on loopback.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::TcpListener,
    ops::RangeInclusive,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{
    Directory, Node, Wallet,
    node::{binary, command, free_ports, run},
};

/// Longest time for an event that must come.
const PATIENCE: Duration = Duration::from_mins(3);

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A network of four validators on this machine.
struct Validators {
    nodes: Vec<Option<Node>>,
    path: PathBuf,
    _directory: Directory,
    /// The four processes of a network can use all processors, so one network runs at a time.
    _turn: MutexGuard<'static, ()>,
}

/// Waits until a condition holds.
#[track_caller]
fn wait(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "no {what} in {PATIENCE:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn height(node: &Node) -> u64 {
    node.result("GetNumTxBlocks", &json!([""])).as_str().unwrap().parse().unwrap()
}

/// Returns the text of `/metrics`.
fn metrics(node: &Node) -> String {
    String::from_utf8(node.connect().request("GET", "/metrics", b"").unwrap().body).unwrap()
}

/// Returns the metrics of the agreement of a member: for each name after `silica_agreement_`, the values by the label
/// `member`. The label of a metric without labels is empty.
fn agreement_metrics(node: &Node) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for line in metrics(node).lines() {
        let Some((series, value)) = line.strip_prefix("silica_agreement_").and_then(|line| line.split_once(' ')) else {
            continue;
        };
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let member = if labels.is_empty() { "" } else { labels.strip_prefix("member=\"").unwrap() };
        let member = member.trim_end_matches("\"}").to_owned();
        found.entry(name.to_owned()).or_default().insert(member, value.to_owned());
    }
    found
}

/// Returns the page for operators of a network.
fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/network.md")).unwrap()
}

impl Validators {
    /// Makes the files of a network, with changes to the text of its file.
    fn new(changes: &[(&str, &str)]) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = Directory::new();
        let path = directory.path().join("network");
        let port = free_ports(4).to_string();
        let made = run(&["network", "local", "4", path.to_str().unwrap(), "--port", &port]);
        assert!(made.status.success(), "{}", made.output);
        let file = path.join("network.toml");
        let mut text = fs::read_to_string(&file).unwrap();
        for (old, new) in changes {
            assert!(text.contains(old), "{old:?} is missing in\n{text}");
            text = text.replace(old, new);
        }
        fs::write(&file, text).unwrap();
        Self { nodes: (0..4).map(|_| None).collect(), path, _directory: directory, _turn: turn }
    }

    /// Starts all validators.
    fn start(changes: &[(&str, &str)]) -> Self {
        let mut validators = Self::new(changes);
        (0..4).for_each(|member| validators.start_member(member));
        validators
    }

    fn file(&self) -> String {
        self.path.join("network.toml").to_str().unwrap().to_owned()
    }

    fn data(&self, member: usize) -> PathBuf {
        self.path.join(NAMES[member])
    }

    fn start_member(&mut self, member: usize) {
        self.start_member_with(member, "block");
    }

    /// Starts a member with this value of the option `--acknowledge`.
    fn start_member_with(&mut self, member: usize, acknowledge: &str) {
        let file = self.file();
        let args = ["--network", &file, "--validator", "--websocket", "off", "--acknowledge", acknowledge];
        self.nodes[member] = Some(Node::start_in(&self.data(member), &args));
    }

    fn node(&self, member: usize) -> &Node {
        self.nodes[member].as_ref().unwrap()
    }

    fn running(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten()
    }

    #[track_caller]
    fn wait_for_blocks(&self, more: u64) {
        let target = self.running().map(height).max().unwrap() + more;
        wait("block", || self.running().all(|node| height(node) >= target));
    }

    /// Waits until all running members vote. A member that was late with its first start waits for a newer block.
    #[track_caller]
    fn wait_for_votes(&self) {
        wait("vote", || self.running().all(|node| metrics(node).contains("silica_agreement_votes 1")));
    }

    /// Checks that all running members return equal results for all blocks up to the lowest head.
    #[track_caller]
    fn check_equal(&self) {
        let head = self.running().map(height).min().unwrap();
        for number in 0..head {
            for (method, params) in [
                ("GetTxBlockVerbose", json!([number.to_string()])),
                ("GetTxnBodiesForTxBlock", json!([number.to_string()])),
            ] {
                let mut results = self.running().map(|node| node.call(method, &params).map_err(|error| error.message));
                let first = results.next().unwrap();
                assert!(results.all(|result| result == first), "{method}{params}");
            }
        }
    }
}

#[test]
fn members_answer_alike_and_each_takes_transactions() {
    let begun = Instant::now();
    let mut validators = Validators::start(&[
        ("interval = \"1s\"", "interval = \"100ms\""),
        ("ds-epoch = 100", "ds-epoch = 10"),
        ("agreement = \"127.0.0.1:", "agreement = \"localhost:"),
    ]);
    for member in 0..4 {
        // The member acknowledges the transaction when its block is committed.
        let payment = Wallet::funded(member).payment(1, Wallet::stranger(7).address(), 1_000_000_000_000);
        validators.node(member).result("CreateTransaction", &json!([payment.json()]));
        let found = validators.node(member).result("GetTransaction", &json!([payment.hash()]));
        assert_eq!(found["receipt"]["success"], json!(true));
    }
    validators.wait_for_blocks(12);
    validators.check_equal();
    let node = validators.node(2);
    let committee = node.result("GetCurrentDSComm", &json!([""]));
    let keys: Vec<Value> = committee["dscomm"].as_array().unwrap().clone();
    assert_eq!((keys.len(), committee["NumOfDSGuard"].as_u64()), (4, Some(0)));
    assert_eq!(node.result("GetNumPeers", &json!([""])), json!(8));
    assert_eq!(node.result("GetShardingStructure", &json!([""]))["NumPeers"], json!([4]));
    assert_eq!(node.result("GetMinerInfo", &json!(["1"]))["shards"][0]["size"], json!(4));
    let block = node.result("GetTxBlockVerbose", &json!(["5"]));
    let bits = block["body"]["B2"].as_array().unwrap();
    assert_eq!((bits.len(), bits.iter().filter(|bit| **bit == json!(true)).count()), (4, 3), "{block}");
    for method in ["IncreaseBlocknum", "silica_setBalance"] {
        assert!(node.call(method, &json!([1])).is_err(), "{method}");
    }
    validators.wait_for_votes();
    check_agreement_metrics(&validators, begun.elapsed());
    exclude_last_member(&mut validators);
}

/// Removes the address of the last member from the file of the others, as after a theft of its keys. Checks that the
/// others continue without it.
#[track_caller]
fn exclude_last_member(validators: &mut Validators) {
    let peers = |node: &Node| agreement_metrics(node)["peers"][""].parse::<u64>().unwrap();
    let text = fs::read_to_string(validators.file()).unwrap();
    let (others, last) = text.rsplit_once("[[address]]").unwrap();
    assert!(last.contains("name = \"d\""), "{last}");
    fs::write(validators.file(), others).unwrap();
    for member in 0..3 {
        assert!(validators.nodes[member].take().unwrap().stop().status.success());
        validators.start_member(member);
        validators.wait_for_votes();
    }
    // The last member still runs, and connects to the others again and again.
    wait("exclusion", || validators.running().map(peers).eq([2, 2, 2, 0]));
    let last = validators.nodes[3].take().unwrap();
    let before = height(&last);
    validators.wait_for_blocks(20);
    let after = height(&last);
    assert!(after < before + 10, "the excluded member got blocks {before} to {after}");
    assert!(validators.running().map(peers).eq([2; 3]));
    validators.check_equal();
}

/// Checks names and values of the metrics of four members without a fault, which started at most this time before.
#[track_caller]
fn check_agreement_metrics(validators: &Validators, elapsed: Duration) {
    let page = page();
    let (_, table) = page.split_once("| Metric, after `silica_agreement_` |").expect("the page has a table of metrics");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap().split(", with the label").next().unwrap());
    let documented: BTreeSet<String> =
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(documented.len() >= 10, "{documented:?}");
    let (mut blocks, mut sealed, mut failed) = (u64::MAX, 0, 0);
    for node in validators.running() {
        let before = height(node);
        let found = agreement_metrics(node);
        let after = height(node);
        assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), documented);
        let value = |name: &str| -> u64 { found[name][""].parse().unwrap() };
        let check = |name: &str, expected: RangeInclusive<u64>| {
            assert!(expected.contains(&value(name)), "{name}: expected {expected:?} in {found:#?}");
        };
        // Two heights decide each block.
        check("height", 2 * before - 2..=2 * after + 2);
        check("round", 0..=9);
        check("peers", 3..=3);
        check("votes", 1..=1);
        check("dropped_messages_total", 0..=value("height"));
        check("journal_flushes_total", before..=100 * after);
        let flushes = Duration::from_secs_f64(found["journal_flush_seconds_total"][""].parse().unwrap());
        assert!(flushes > Duration::ZERO && flushes < elapsed, "{flushes:?}");
        let absent = &found["absent_votes_total"];
        assert!(absent.keys().map(String::as_str).eq(NAMES), "{absent:?}");
        // A certificate has the votes of three members at least.
        let absent: u64 = absent.values().map(|count| count.parse::<u64>().unwrap()).sum();
        assert!(absent <= value("height"), "{absent} absent votes");
        blocks = blocks.min(before);
        sealed += value("sealed_sessions_total");
        failed += value("failed_sessions_total");
    }
    // The genesis block has no session.
    assert!(sealed + 1 >= blocks && failed <= sealed, "{sealed} and {failed} sessions of {blocks} blocks");
}

#[test]
fn killed_members_take_part_again() {
    let mut validators = Validators::start(&[("interval = \"1s\"", "interval = \"50ms\"")]);
    validators.wait_for_blocks(3);
    validators.wait_for_votes();
    for member in 0..4 {
        validators.nodes[member].take().unwrap().kill();
        // Three members still make blocks.
        validators.wait_for_blocks(4);
        let payer = (member + 1) % 4;
        let payment = Wallet::funded(member).payment(1, Wallet::stranger(7).address(), 1_000_000_000_000);
        validators.node(payer).result("CreateTransaction", &json!([payment.json()]));
        validators.start_member(member);
        validators.wait_for_blocks(4);
    }
    validators.check_equal();
    for member in 0..4 {
        let hash = Wallet::funded(member).payment(1, Wallet::stranger(7).address(), 1_000_000_000_000).hash();
        assert!(validators.running().all(|node| node.call("GetTransaction", &json!([hash])).is_ok()), "{member}");
    }
    // All members at once.
    validators.nodes.iter_mut().for_each(|node| node.take().unwrap().kill());
    (0..4).for_each(|member| validators.start_member(member));
    validators.wait_for_blocks(4);
    validators.check_equal();
    // The stored chain is whole.
    let data = validators.data(1);
    let stopped = validators.nodes[1].take().unwrap().stop();
    assert!(stopped.status.success(), "{}", stopped.output);
    let checked = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
    assert!(checked.status.success(), "{}", checked.output);
}

/// The dump of a network has no key. A member that has lost its directory begins with it.
#[test]
fn member_begins_with_the_dump_of_another() {
    let mut validators = Validators::start(&[("interval = \"1s\"", "interval = \"50ms\"")]);
    validators.wait_for_blocks(5);
    validators.wait_for_votes();
    let [lost, other] = [1, 2].map(|member| validators.data(member));
    for member in [1, 2] {
        assert!(validators.nodes[member].take().unwrap().stop().status.success());
    }
    let command = |command: &str, data: &Path, file: &[&str]| {
        let done = run(&[&["db", command, "--data-dir", data.to_str().unwrap()], file].concat());
        assert!(done.status.success(), "{command}: {}", done.output);
    };
    let file = validators.path.join("dump");
    command("dump", &other, &[file.to_str().unwrap()]);
    validators.start_member(2);
    let keys = ["node.key", "peer.key"].map(|name| (name, fs::read(lost.join(name)).unwrap()));
    let dump = fs::read(&file).unwrap();
    for (data, (name, _)) in [&lost, &other].into_iter().flat_map(|data| keys.iter().map(move |key| (data, key))) {
        let digits = fs::read_to_string(data.join(name)).unwrap();
        let bytes = hex::decode(digits.trim()).unwrap();
        assert!(!dump.windows(64).any(|window| window == digits.trim().as_bytes()), "{name}");
        assert!(!dump.windows(32).any(|window| window == bytes), "{name}");
    }
    fs::remove_dir_all(&lost).unwrap();
    command("load", &lost, &[file.to_str().unwrap()]);
    command("check", &lost, &[]);
    let output = refused(&lost, &[]);
    assert!(output.contains("expected the directory of a single node"), "{output}");
    for (name, key) in keys {
        fs::write(lost.join(name), key).unwrap();
        fs::set_permissions(lost.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    validators.start_member(1);
    validators.wait_for_votes();
    // Without member 0, a quorum needs this member.
    validators.nodes[0].take().unwrap().kill();
    validators.wait_for_blocks(4);
    validators.check_equal();
    // From now on, the directory is that of member 1.
    assert!(validators.nodes[1].take().unwrap().stop().status.success());
    fs::copy(other.join("node.key"), lost.join("node.key")).unwrap();
    fs::copy(other.join("peer.key"), lost.join("peer.key")).unwrap();
    let output = refused(&lost, &["--network", &validators.file(), "--validator"]);
    assert!(output.contains("expected the secret key of"), "{output}");
}

/// Checks that all running members have these transactions in blocks, after some time.
#[track_caller]
fn wait_for_transactions(validators: &Validators, hashes: &[String]) {
    for node in validators.running() {
        wait("transaction in a block", || {
            hashes.iter().all(|hash| node.call("GetTransaction", &json!([hash])).is_ok())
        });
    }
}

/// Submits payments of one account to a member, one by one. Returns their hashes.
fn submit_payments(node: &Node, account: usize, count: u64) -> Vec<String> {
    let wallet = Wallet::funded(account);
    let payments = (1..=count).map(|nonce| wallet.payment(nonce, Wallet::stranger(7).address(), 1_000_000_000_000));
    payments
        .map(|payment| {
            node.result("CreateTransaction", &json!([payment.json()]));
            payment.hash()
        })
        .collect()
}

#[test]
fn members_send_transactions_to_each_other() {
    let mut validators = Validators::new(&[("interval = \"1s\"", "interval = \"200ms\"")]);
    (0..4).for_each(|member| validators.start_member_with(member, "pool"));
    validators.wait_for_blocks(1);
    // Two of four members make no block. So the other member gets a transaction only in a batch, and not in a block.
    validators.nodes.drain(2..).flatten().for_each(Node::kill);
    let hashes = [submit_payments(validators.node(0), 0, 5), submit_payments(validators.node(1), 1, 5)];
    for (member, hashes) in hashes.iter().enumerate() {
        let other = validators.node(1 - member);
        wait("transaction at the other member", || {
            hashes.iter().all(|hash| other.call("GetTransactionStatus", &json!([hash])).is_ok())
        });
    }
    validators.nodes.extend([None, None]);
    (2..4).for_each(|member| validators.start_member_with(member, "pool"));
    wait_for_transactions(&validators, &hashes.concat());
    validators.check_equal();
}

#[test]
fn acknowledged_transactions_survive_their_member() {
    // The interval leaves the transactions in the pools when the member ends.
    let mut validators = Validators::new(&[("interval = \"1s\"", "interval = \"3s\"")]);
    (0..4).for_each(|member| validators.start_member_with(member, "relayed"));
    validators.wait_for_blocks(1);
    validators.wait_for_votes();
    let hashes = submit_payments(validators.node(0), 0, 10);
    validators.nodes[0].take().unwrap().kill();
    wait_for_transactions(&validators, &hashes);
    validators.check_equal();
}

/// Starts a member that must not start, and returns its output.
#[track_caller]
fn refused(data: &Path, args: &[&str]) -> String {
    let ended = Node::try_start_in(data, args).expect_err("the member must not start");
    assert!(!ended.status.success() && !ended.output.contains("panicked"), "{}", ended.output);
    ended.output
}

#[test]
fn members_restart_one_after_another_for_a_change_of_the_rules() {
    let mut validators = Validators::start(&[("interval = \"1s\"", "interval = \"200ms\"")]);
    validators.wait_for_blocks(3);
    let valid = fs::read_to_string(validators.file()).unwrap();
    let with_change = |block: u64| format!("{valid}\n[[rules-from]]\nblock = {block}\nscilla-rules = \"latest/3\"\n");
    let rules = |node: &Node| node.result("silica_nodeInfo", &json!([]))["scillaRules"].clone();
    let copy = |member: &Path| fs::read_to_string(member.join("network.toml")).unwrap();
    // The block of the change exists.
    let (file, data) = (validators.file(), validators.data(0));
    assert!(validators.nodes[0].take().unwrap().stop().status.success());
    fs::write(&file, with_change(2)).unwrap();
    let output = refused(&data, &["--network", &file, "--validator"]);
    let expected = "Scilla rules of block 2: expected 0.13/3, because the data directory has this block, got latest/3";
    assert!(output.contains(expected), "{output}");
    assert_eq!(copy(&data), valid, "a refused file does not replace the file of the last start");
    let change = validators.running().map(height).max().unwrap() + 300;
    fs::write(&file, with_change(change)).unwrap();
    validators.start_member(0);
    assert_eq!(copy(&data), with_change(change));
    for member in 1..4 {
        validators.wait_for_votes();
        assert!(validators.nodes[member].take().unwrap().stop().status.success());
        validators.start_member(member);
    }
    validators.wait_for_votes();
    assert!(validators.running().all(|node| height(node) + 5 < change), "the restarts took too long for this test");
    assert!(validators.running().all(|node| rules(node) == "0.13/3"));
    wait("change", || validators.running().all(|node| height(node) > change + 2));
    assert!(validators.running().all(|node| rules(node) == "latest/3"));
    validators.check_equal();
    // The commands for a data directory and the dump use the changed rules. The blocks have no contracts, so other
    // tests compare the results of the rules.
    assert!(validators.nodes[3].take().unwrap().stop().status.success());
    let (dump, new) = (validators.path.join("dump"), validators.path.join("new"));
    let command = |command: &[&str], data: &Path| {
        let done = run(&[&["db"], command, &["--data-dir", data.to_str().unwrap()]].concat());
        assert!(done.status.success(), "{command:?}: {}", done.output);
    };
    command(&["check"], &validators.data(3));
    command(&["rebuild"], &validators.data(3));
    command(&["dump", dump.to_str().unwrap()], &validators.data(3));
    command(&["load", dump.to_str().unwrap()], &new);
    command(&["check"], &new);
    assert_eq!(copy(&new), with_change(change));
    // Without the change, the file does not fit the blocks.
    fs::write(&file, &valid).unwrap();
    let output = refused(&validators.data(3), &["--network", &file, "--validator"]);
    assert!(output.contains(&format!("Scilla rules of block {change}: expected latest/3")), "{output}");
}

/// Options that contradict a network file, each with a valid value.
const CONTRADICTIONS: [[&str; 2]; 10] = [
    ["--profile", "isolated"],
    ["--chain-id", "222"],
    ["--shards", "2"],
    ["--blocks-per-ds-epoch", "100"],
    ["--scilla-rules", "0.13"],
    ["--accounts-file", "accounts.json"],
    ["--mnemonic", "legal winner thank year wave sausage worth useful legal winner thank yellow"],
    ["--block-mode", "manual"],
    ["--developer", "on"],
    ["--pause-id", "9"],
];

/// Checks that no client can control the chain or the clock of a member, or pause it.
#[track_caller]
fn check_no_control(node: &Node) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openrpc.json");
    let document: Value = serde_json::from_str(&fs::read_to_string(document).unwrap()).unwrap();
    let methods = document["methods"].as_array().unwrap().iter();
    let for_developers: Vec<_> = methods
        .filter(|method| method["x-for-developers"] == json!(true))
        .map(|method| method["name"].as_str().unwrap())
        .collect();
    assert!(for_developers.len() >= 18, "{for_developers:?}");
    for method in for_developers {
        let expected = format!("{method} is for developers and switched off, a network has no such methods");
        assert_eq!(node.error(method, &json!([])), (-32600, expected), "{method}");
    }
    for method in ["CheckPause", "TogglePause"] {
        let (code, message) = node.error(method, &json!(["9"]));
        assert!(code == -32601 && message.starts_with("METHOD_NOT_FOUND"), "{method}: {code} {message}");
    }
}

/// Checks that a member rejects a transaction that does not fit a message between the members.
#[track_caller]
fn check_large_transaction(node: &Node) {
    let mut deployment = Wallet::funded(0).payment(1, Address::ZERO, 0);
    deployment.code = "scilla_version 0".to_owned();
    deployment.data = format!("[{}]", " ".repeat(128 << 10));
    deployment.gas_limit = 200_000;
    let (code, message) = node.error("CreateTransaction", &json!([deployment.json()]));
    let expected = "transaction: expected at most 131064 bytes on a network of several validators, got 13";
    assert!(code == -8 && message.starts_with(expected), "{code} {message}");
    assert!(metrics(node).contains("\nsilica_pool_transactions 0\n"));
}

#[test]
fn faults_of_a_member_are_named() {
    let validators = Validators::new(&[]);
    let (file, data) = (validators.file(), validators.data(0));
    let network = ["--network", &file];
    let with = |args: &[&'static str]| [&network[..], args].concat();
    let check = |data: &Path, args: &[&str], expected: &str| {
        let output = refused(data, args);
        assert!(output.contains(expected), "{expected:?} is missing in\n{output}");
    };
    check(&data, &with(&[]), "validator: expected on with a network file");
    check(&data, &with(&["--validator", "--durability", "relaxed"]), "durability: expected flush with a network file");
    let page = page();
    for [option, value] in CONTRADICTIONS {
        let name = &option[2..];
        let accepted = if name == "developer" { "off or no value" } else { "no value" };
        let expected = format!("{name} (by {option}): expected {accepted} with a network file");
        check(&data, &with(&["--validator", option, value]), &expected);
        let shown = if *option == *"--developer" { "`--developer on`".to_owned() } else { format!("`{option}`") };
        assert!(page.contains(&shown), "{option}");
    }
    let ended = run(&["--ephemeral", "--listen", "127.0.0.1:0", "--network", &file, "--validator"]);
    assert!(ended.output.contains("ephemeral: expected off with a network file, got on"), "{}", ended.output);
    // An option of the environment contradicts the file too.
    let data_text = data.to_str().unwrap();
    let mut start = command(&["--network", &file, "--validator", "--data-dir", data_text, "--listen", "127.0.0.1:0"]);
    let output = start.env("SILICA_CHAIN_ID", "222").output().unwrap();
    let output = String::from_utf8(output.stderr).unwrap();
    assert!(output.contains("chain-id (by SILICA_CHAIN_ID): expected no value with a network file"), "{output}");
    for name in ["node.key", "peer.key"] {
        let path = data.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let output = refused(&data, &with(&["--validator"]));
        assert!(output.contains(name) && output.contains("expected mode 600, got mode 640"), "{output}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    assert!(!data.join("manifest.json").exists());
    check(&data, &[], "expected the directory of a single node");
    let alone = validators.path.join("alone");
    for option in [&["--validator"][..], &["--acknowledge", "pool"]] {
        let name = option[0].trim_start_matches("--");
        check(&alone, option, &format!("{name} (by {}): expected no value without a network file", option[0]));
        assert!(!alone.exists());
    }
    let other = validators.path.join("single");
    Node::start_in(&other, &[]).stop();
    check(&other, &with(&["--validator"]), "peer.key is damaged: it is missing");
    // Keys of another member, of no member, or another program at the address: the directory stays as it is.
    let files = |data: &Path| {
        let names = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<_>>()
    };
    let before = files(&data);
    let stranger = validators.path.join("stranger");
    let joined = run(&["network", "join", "--network", &file, "--name", "x", "--data-dir", stranger.to_str().unwrap()]);
    assert!(joined.status.success(), "{}", joined.output);
    let expected = files(&stranger);
    check(&stranger, &with(&["--validator"]), "expected the key of a member");
    assert_eq!(files(&stranger), expected);
    let peer = fs::read(data.join("peer.key")).unwrap();
    fs::write(data.join("peer.key"), fs::read(validators.data(1).join("peer.key")).unwrap()).unwrap();
    check(&data, &with(&["--validator"]), "peer key: expected the key of");
    fs::write(data.join("peer.key"), peer).unwrap();
    assert_eq!(files(&data), before);
    // Another program has the port of the member.
    let text = fs::read_to_string(&file).unwrap();
    let address = text.split("agreement = \"").nth(1).unwrap().split('"').next().unwrap();
    let listener = TcpListener::bind(address).unwrap();
    let expected = format!("agreement address: expected an address at which this member can listen, got {address}");
    check(&data, &with(&["--validator", "--websocket", "off"]), &expected);
    drop(listener);
    // A member starts with its printed configuration alone.
    let print = with(&["--validator", "--websocket", "off"]);
    let config = validators.path.join("member.toml");
    fs::write(&config, run(&[&["config", "print"], &print[..]].concat()).output).unwrap();
    let node = Node::start_in(&data, &["--config", config.to_str().unwrap()]);
    assert_eq!(height(&node), 1);
    check_no_control(&node);
    check_large_transaction(&node);
    assert!(node.stop().status.success());
    // Another network has another id.
    fs::write(&file, text.replace("ds-epoch = 100", "ds-epoch = 99")).unwrap();
    check(&data, &with(&["--validator"]), "network id");
    fs::write(&file, text.replace("chain-id", "chain-ID")).unwrap();
    check(&data, &with(&["--validator"]), "network.chain-id: expected a number from 1 to 65535, got no value");
}

#[test]
fn one_command_runs_all_members() {
    let validators = Validators::new(&[("interval = \"1s\"", "interval = \"100ms\"")]);
    let port = free_ports(4);
    let mut up = Command::new(binary());
    up.args(["network", "up", validators.path.to_str().unwrap(), "--rpc-port", &port.to_string()]);
    let log_file = validators.path.join("log");
    let log = fs::File::create(&log_file).unwrap();
    // A terminal sends Ctrl-C to the group of this process.
    up.process_group(0);
    let mut up = up.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let blocks = |port: u16| {
        let mut connection = silica_tests::Connection::open(([127, 0, 0, 1], port).into()).ok()?;
        let body = br#"{"id":1,"jsonrpc":"2.0","method":"GetNumTxBlocks","params":[""]}"#;
        let answer: Value = serde_json::from_slice(&connection.post(body).ok()?.body).ok()?;
        answer["result"].as_str()?.parse::<u64>().ok()
    };
    wait("block of all members", || (port..port + 4).all(|port| blocks(port).is_some_and(|blocks| blocks > 3)));
    let group = format!("-{}", up.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    let status = up.wait().unwrap();
    assert!(status.success(), "{}", fs::read_to_string(log_file).unwrap());
    assert!((port..port + 4).all(|port| blocks(port).is_none()));
}
