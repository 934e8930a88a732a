//! `silica network`: the network file of several validators, and the keys of its members.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::Value;
use silica_tests::{
    Directory, Node,
    node::{Finished, command},
    root::is_root,
};

/// The result of a command.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs `silica network` with these arguments in a directory.
fn network(directory: &Path, args: &[&str]) -> Ended {
    let args = [&["network"], args].concat();
    let Output { status, stdout, stderr } = command(&args).current_dir(directory).output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(!stderr.contains("panicked"), "{args:?}\n{stderr}");
    Ended { code: status.code().unwrap(), stdout, stderr }
}

/// Runs a command that must end with this exit status, and returns its standard output and standard error.
#[track_caller]
fn check(directory: &Path, args: &[&str], code: i32) -> (String, String) {
    let Ended { code: got, stdout, stderr } = network(directory, args);
    assert_eq!(got, code, "{args:?}\n{stdout}{stderr}");
    (stdout, stderr)
}

/// Runs a command that must fail, and checks that its error has each of `words`.
#[track_caller]
fn check_error(directory: &Path, args: &[&str], code: i32, words: &[&str]) {
    let (_, stderr) = check(directory, args, code);
    for word in words {
        assert!(stderr.contains(word), "{word:?} is missing in\n{stderr}");
    }
}

/// Appends a text to a file, after an empty line.
fn append(path: &Path, text: &str) {
    let old = fs::read_to_string(path).unwrap();
    fs::write(path, format!("{old}\n{text}")).unwrap();
}

/// Creates a network with these members by `new` and `join`, and returns the path of its file.
fn joined(directory: &Path, members: &[&str]) -> PathBuf {
    check(directory, &["new", "example"], 0);
    let path = directory.join("network.toml");
    for (member, port) in members.iter().zip(4211..) {
        let agreement = format!("10.0.0.1:{port}");
        let args = ["join", "--network", "network.toml", "--name", member, "--data-dir", member];
        let (table, _) = check(directory, &[&args[..], &["--agreement", &agreement]].concat(), 0);
        append(&path, &table);
    }
    path
}

/// Creates a network of four members on this machine, and returns the path of its file.
fn local(directory: &Path) -> PathBuf {
    check(directory, &["local", "4", "net"], 0);
    directory.join("net/network.toml")
}

fn show(directory: &Path, file: &str) -> Value {
    serde_json::from_str(&check(directory, &["show", file, "--json"], 0).0).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

#[test]
fn members_join_one_after_the_other() {
    let directory = Directory::new();
    let file = joined(directory.path(), &["a", "b", "c", "d"]);
    let (stdout, stderr) = check(directory.path(), &["check", "network.toml"], 0);
    assert!(stdout.contains("network example, 4 members, 3 sign a block, at most 1 faulty"), "{stdout}");
    assert_eq!(stderr, "");
    let facts = show(directory.path(), "network.toml");
    assert!(stdout.ends_with(&format!("network id {}\n", facts["id"].as_str().unwrap())), "{stdout}");
    assert_eq!(
        (&facts["quorum"], &facts["faults"], &facts["parameters"]["chainId"]),
        (&3.into(), &1.into(), &222.into())
    );
    let members = facts["members"].as_array().unwrap();
    assert_eq!(members.iter().map(|member| member["name"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert_eq!(members[3]["agreement"], "10.0.0.1:4214");
    let (text, _) = check(directory.path(), &["show", "network.toml"], 0);
    for fact in ["id", "key", "peer"] {
        let value = facts[fact].as_str().or_else(|| members[0][fact].as_str()).unwrap();
        assert!(text.contains(value), "{value} is missing in\n{text}");
    }
    assert_eq!(mode(&file) & 0o444, 0o444);
    for key in ["node.key", "peer.key"] {
        let path = directory.path().join("a").join(key);
        assert_eq!(mode(&path), 0o600);
        let secret = fs::read_to_string(&path).unwrap();
        assert_eq!(secret.trim_end().len(), 64);
        assert!(!fs::read_to_string(&file).unwrap().contains(secret.trim_end()));
    }
}

#[test]
fn join_reads_keys_that_exist() {
    let directory = Directory::new();
    let file = joined(directory.path(), &["a", "b"]);
    let before = fs::read_to_string(&file).unwrap();
    let join = |name: &str, data: &str| -> Vec<String> {
        ["join", "--network", "network.toml", "--name", name, "--data-dir", data].map(str::to_owned).to_vec()
    };
    let run = |args: &[String], code| {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        check(directory.path(), &args, code)
    };
    let (table, note) = run(&join("a", "a"), 0);
    assert!(before.contains(table.trim_end()), "{table}");
    assert!(note.contains("network.toml has this member already"), "{note}");
    // The keys of a member belong to one name, and the name of a member to one pair of keys.
    let (_, error) = run(&join("z", "a"), 1);
    assert!(error.contains("member \"a\": expected name z, got a"), "{error}");
    let (_, error) = run(&join("a", "z"), 1);
    assert!(error.contains("member \"a\": expected key "), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn local_networks_are_valid() {
    for members in ["2", "3", "4", "7"] {
        let directory = Directory::new();
        let (_, warnings) = check(directory.path(), &["local", members, "net", "--port", "5000"], 0);
        let (stdout, check_warnings) = check(directory.path(), &["check", "net/network.toml"], 0);
        assert!(stdout.contains(&format!("network local, {members} members")), "{stdout}");
        let is_small = members < "4";
        assert_eq!(warnings.contains("members tolerate no fault"), is_small, "{warnings}");
        assert_eq!(check_warnings.contains(&format!("{members} members tolerate no fault")), is_small);
        let facts = show(directory.path(), "net/network.toml");
        let ports = (5000..).take(members.parse().unwrap()).map(|port| format!("127.0.0.1:{port}"));
        for (member, agreement) in facts["members"].as_array().unwrap().iter().zip(ports) {
            assert_eq!(member["agreement"], agreement);
            let name = member["name"].as_str().unwrap();
            assert_eq!(mode(&directory.path().join("net").join(name).join("peer.key")), 0o600);
        }
    }
}

#[test]
fn wrong_arguments_are_named() {
    let directory = Directory::new();
    let path = directory.path();
    check_error(path, &["local", "1", "net"], 2, &["'1'", "2..=64"]);
    check_error(path, &["local", "65", "net"], 2, &["'65'", "2..=64"]);
    check_error(path, &["local", "4", "net", "--port", "0"], 2, &["--port", "1.."]);
    check_error(path, &["local", "4", "net", "--port", "65533"], 1, &["--port: expected at most 65532", "got 65533"]);
    check_error(path, &["new", "Example"], 2, &["Example", "expected 1 to 64 lower-case letters, digits and hyphens"]);
    check_error(path, &["new", "a", "--chain-id", "0"], 2, &["--chain-id", "expected a number from 1 to 65535"]);
    check_error(path, &["new", "a", "--chain-id", "65536"], 2, &["--chain-id", "expected a number from 1 to 65535"]);
    check_error(path, &["new", "a", "--accounts-file", "none.json"], 1, &["cannot read none.json"]);
    assert_eq!(fs::read_dir(path).unwrap().count(), 0);
    check(path, &["new", "a"], 0);
    let join = ["join", "--network", "network.toml", "--data-dir", "d", "--name"];
    check_error(path, &[&join[..], &["A"]].concat(), 2, &["--name", "lower-case letters"]);
    check_error(
        path,
        &[&join[..], &["a", "--agreement", "10.0.0.1"]].concat(),
        2,
        &["--agreement", "a host and a port"],
    );
    check_error(path, &["join", "--network", "none.toml", "--name", "a"], 1, &["cannot read none.toml"]);
    check_error(path, &["check", "none.toml"], 1, &["cannot read none.toml"]);
    check_error(path, &["show", "network.toml"], 1, &["network.toml: line 1: member: expected tables", "got no value"]);
    assert!(!path.join("d").exists());
}

#[test]
fn files_are_never_replaced() {
    let directory = Directory::new();
    let path = directory.path();
    check(path, &["new", "a"], 0);
    let before = fs::read(path.join("network.toml")).unwrap();
    check_error(path, &["new", "b"], 1, &["cannot write network.toml"]);
    check_error(path, &["new", "b", "--file", "b.toml"], 1, &["cannot write ./accounts.json"]);
    assert_eq!(fs::read(path.join("network.toml")).unwrap(), before);
    assert!(!path.join("b.toml").exists());
    check_error(path, &["local", "4", "."], 1, &[".: expected a new or empty directory, got a directory with "]);
    local(path);
    check_error(path, &["local", "4", "net"], 1, &["net: expected a new or empty directory, got a directory with "]);
}

#[test]
fn check_prints_every_fault_with_its_line() {
    let directory = Directory::new();
    let file = local(directory.path());
    let valid = fs::read_to_string(&file).unwrap();
    let members = &show(directory.path(), "net/network.toml")["members"];
    let [first, second] = [0, 1].map(|at| members[at].clone());
    let value = |member: &Value, field: &str| member[field].as_str().unwrap().to_owned();
    let of_second = |field: &str| format!("{field} = \"{}\"", value(&second, field));
    let of_first = |field: &str| format!("{field} = \"{}\"", value(&first, field));
    let interval = || "blocks = \"interval\"\ninterval = \"1s\"".to_owned();
    // The field is in the first of the changed lines.
    let on_demand = |field: &str| format!("{field}\nblocks = \"on-demand\"");
    let address = "[[address]]\nname = \"a\"\nagreement = \"127.0.0.1:4211\"\n";
    let cases = [
        ("name = \"local\"".to_owned(), "name = \"Local\"".to_owned(), "network.name: expected 1 to 64 lower-case"),
        (
            "chain-id = 222".to_owned(),
            "chain-id = 0".to_owned(),
            "network.chain-id: expected a number from 1 to 65535, got 0",
        ),
        ("shards = 1".to_owned(), "shards = 0".to_owned(), "network.shards: expected a number from 1 to "),
        (
            "ds-epoch = 100".to_owned(),
            "ds-epoch = 1".to_owned(),
            "network.blocks-per-ds-epoch: expected a number from 2 to ",
        ),
        (
            "shard-gas-limit = 4".to_owned(),
            "shard-gas-limit = -4".to_owned(),
            "network.shard-gas-limit: expected a number from 50",
        ),
        (
            "ds-gas-limit = 5".to_owned(),
            "ds-gas-limit = -5".to_owned(),
            "network.ds-gas-limit: expected a number from 50",
        ),
        (
            "price = \"2".to_owned(),
            "price = \"x2".to_owned(),
            "network.minimum-gas-price: expected an amount of at least 1 Qa",
        ),
        ("reward = \"1".to_owned(), "reward = \"-1".to_owned(), "network.coinbase-reward: expected an amount in Qa"),
        (
            "blocks = \"interval\"".to_owned(),
            "blocks = \"x\"".to_owned(),
            "network.blocks: expected \"interval\" or \"on-demand\", got \"x\"",
        ),
        ("interval = \"1s\"".to_owned(), "interval = \"1\"".to_owned(), "network.interval: expected a duration"),
        (
            "drift = \"2s\"".to_owned(),
            "drift = \"20s\"".to_owned(),
            "network.drift: expected a duration from 1ms to 10000ms",
        ),
        ("timeout = \"1s\"".to_owned(), "timeout = \"1h\"".to_owned(), "network.propose-timeout: expected a duration"),
        (
            "max-body = \"4096KiB\"".to_owned(),
            "max-body = 4".to_owned(),
            "network.max-body: expected a size from 256KiB to 16MiB",
        ),
        ("max-body".to_owned(), "max-boby".to_owned(), "network.max-boby: expected one of name, "),
        (interval(), on_demand("max-idle = \"0ms\""), "network.max-idle: expected a duration from 1ms to 3600000ms"),
        (interval(), on_demand("max-idle = \"2h\""), "network.max-idle: expected a duration from 1ms to 3600000ms"),
        (interval(), on_demand("min-gap = \"2h\""), "network.min-gap: expected a duration from 0ms to 3600000ms"),
        (
            of_second("name"),
            of_first("name"),
            "member.name: expected a value of this member only, got the value of member \"a\"",
        ),
        (of_second("key"), of_first("key"), "member.key: expected a value of this member only"),
        (of_second("peer"), of_first("peer"), "member.peer: expected a value of this member only"),
        (of_second("possession"), of_first("possession"), "member.possession: expected a proof of this key and peer"),
        (
            "127.0.0.1:4212".to_owned(),
            "127.0.0.1".to_owned(),
            "address.agreement: expected host:port, got \"127.0.0.1\"",
        ),
        (
            address.to_owned(),
            address.replace("name = \"a\"\n", ""),
            "address.name: expected the name of a member, got no value",
        ),
        (
            address.to_owned(),
            "[[address]]\nname = \"a\"\n".to_owned(),
            "address.agreement: expected host:port, got no value",
        ),
        (
            "[[address]]".to_owned(),
            "[[addresses]]".to_owned(),
            "addresses: expected one of network, rules-from, member",
        ),
        ("[network]".to_owned(), "[network".to_owned(), ""),
    ];
    for (old, new, expected) in cases {
        let at = valid.find(&old).unwrap_or_else(|| panic!("{old} is missing"));
        let line = valid[..at].lines().count() + usize::from(at == 0 || valid[..at].ends_with('\n'));
        fs::write(&file, valid.replacen(&old, &new, 1)).unwrap();
        let (stdout, _) = check(directory.path(), &["check", "net/network.toml"], 1);
        let expected = format!("net/network.toml: line {line}: {expected}");
        assert!(stdout.starts_with(&expected), "{new}\nexpected {expected}\ngot      {stdout}");
    }
    let faulty = valid.replacen("chain-id = 222", "chain-id = 0", 1).replacen("drift = \"2s\"", "drift = 2", 1);
    fs::write(&file, faulty).unwrap();
    let (stdout, _) = check(directory.path(), &["check", "net/network.toml"], 1);
    let fields: Vec<_> = stdout.lines().map(|line| line.split(": ").nth(2).unwrap()).collect();
    assert_eq!(fields, ["network.chain-id", "network.drift"]);
}

#[test]
fn check_compares_the_accounts_file_with_its_hash() {
    let directory = Directory::new();
    local(directory.path());
    let accounts = directory.path().join("net/accounts.json");
    let valid = fs::read_to_string(&accounts).unwrap();
    let expected = show(directory.path(), "net/network.toml")["parameters"]["accounts"]["sha256"].clone();
    let expected = format!("network.accounts.sha256: expected {}, got ", expected.as_str().unwrap());
    fs::write(&accounts, format!("{valid} ")).unwrap();
    let (stdout, _) = check(directory.path(), &["check", "net/network.toml"], 1);
    assert!(stdout.contains(&expected), "{stdout}");
    fs::remove_file(&accounts).unwrap();
    let (stdout, _) = check(directory.path(), &["check", "net/network.toml"], 1);
    assert!(stdout.contains("network.accounts.file: expected a readable file, got: cannot read "), "{stdout}");
}

#[test]
fn own_accounts_are_named_and_not_copied() {
    let directory = Directory::new();
    let path = directory.path();
    fs::create_dir(path.join("sub")).unwrap();
    let text = format!("{{\"{}\": {{\"amount\": \"5\", \"nonce\": 0}}}}", "11".repeat(20));
    fs::write(path.join("sub/own.json"), &text).unwrap();
    check(path, &["new", "a", "--accounts-file", "sub/own.json"], 0);
    let file = fs::read_to_string(path.join("network.toml")).unwrap();
    assert!(file.contains("accounts = { file = \"sub/own.json\", sha256 = "), "{file}");
    assert!(!path.join("accounts.json").exists());
    fs::write(path.join("sub/own.json"), "[]").unwrap();
    let args = ["new", "a", "--file", "b.toml", "--accounts-file", "sub/own.json"];
    check_error(path, &args, 1, &["sub/own.json: expected accounts, got an invalid file"]);
}

#[test]
fn id_is_the_same_with_other_spaces_and_addresses() {
    let directory = Directory::new();
    let file = local(directory.path());
    let valid = fs::read_to_string(&file).unwrap();
    let id = show(directory.path(), "net/network.toml")["id"].clone();
    let shared = valid.split("[[address]]").next().unwrap();
    let others = [
        valid.replace(" = ", "   =   ").replace("[[member]]", "\n# A member.\n[[member]]"),
        valid.replace("127.0.0.1", "validator.example"),
        shared.to_owned(),
        valid.replace("drift = \"2s\"", "drift = \"2000ms\""),
        valid.replace("\"accounts.json\"", "\"../net/accounts.json\""),
    ];
    for other in others {
        assert_ne!(other, valid);
        fs::write(directory.path().join("other.toml"), &other).unwrap();
        assert_eq!(show(directory.path(), "other.toml")["id"], id, "{other}");
    }
    let (_, warnings) = check(directory.path(), &["check", "net/network.toml"], 0);
    assert_eq!(warnings, "");
    fs::write(&file, shared).unwrap();
    let (_, warnings) = check(directory.path(), &["check", "net/network.toml"], 0);
    assert_eq!(warnings.matches("has no table [[address]]").count(), 4, "{warnings}");
    fs::write(&file, valid.replace("drift = \"2s\"", "drift = \"3s\"")).unwrap();
    assert_ne!(show(directory.path(), "net/network.toml")["id"], id);
}

#[test]
fn keys_that_others_can_read_are_refused() {
    let directory = Directory::new();
    local(directory.path());
    let join = ["join", "--network", "net/network.toml", "--name", "a", "--data-dir", "net/a"];
    for name in ["node.key", "peer.key"] {
        let path = directory.path().join("net/a").join(name);
        for loose in [0o640, 0o604, 0o644] {
            fs::set_permissions(&path, Permissions::from_mode(loose)).unwrap();
            let got = format!("expected mode 600, got mode {loose:o}");
            check_error(directory.path(), &join, 1, &[name, &got]);
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        if is_root("give a key to another user") {
            chown(&path, Some(1234), None).unwrap();
            check_error(
                directory.path(),
                &join,
                1,
                &[name, "expected owner 0, the user of this process, got owner 1234"],
            );
            chown(&path, Some(0), None).unwrap();
        }
        let valid = fs::read_to_string(&path).unwrap();
        fs::write(&path, "12\n").unwrap();
        check_error(directory.path(), &join, 1, &[name, "is damaged", "expected 64 hexadecimal digits"]);
        fs::write(&path, valid).unwrap();
    }
    check(directory.path(), &join, 0);
}

#[test]
fn directories_of_members_and_of_single_nodes_are_not_mixed() {
    let directory = Directory::new();
    local(directory.path());
    let member = directory.path().join("net/a");
    let keys = fs::read(member.join("node.key")).unwrap();
    let Finished { output, .. } = Node::try_start_in(&member, &[]).expect_err("a member is not a single node");
    assert!(
        output.contains("expected the directory of a single node, got ") && output.contains("peer.key"),
        "{output}"
    );
    assert_eq!(fs::read(member.join("node.key")).unwrap(), keys);
    assert!(!member.join("manifest.json").exists());
    let single = directory.path().join("single");
    Node::start_in(&single, &[]).stop();
    let join = ["join", "--network", "net/network.toml", "--name", "e", "--data-dir", "single"];
    check_error(directory.path(), &join, 1, &["expected a directory without a chain, got ", "of a single node"]);
    assert!(!single.join("peer.key").exists());
    Node::start_in(&single, &[]).stop();
}
