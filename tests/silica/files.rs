//! Files of the data directory: their permissions, other files in their place, and damaged or deleted files.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use silica_tests::{
    Directory, Node, Wallet,
    node::{Finished, command, run},
    root::{copies_in_memory, is_root},
};

use crate::{block_modes::eventually, height, pay_once};

/// Permission bits of the group and of all other users.
const OTHERS: u32 = 0o077;

/// Returns a directory of the test, and a path in this directory for a data directory. The data directory does not
/// exist yet.
fn directories() -> (Directory, PathBuf) {
    let directory = Directory::new();
    let data = directory.path().join("data");
    (directory, data)
}

/// Returns a directory of the test, and the path of a data directory in it. The data directory has the chain of a
/// stopped node, with one payment.
fn stopped_chain() -> (Directory, PathBuf) {
    let (directory, data) = directories();
    let node = Node::start_in(&data, &[]);
    pay_once(&node, 0);
    assert!(node.stop().status.success());
    (directory, data)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

/// Returns a path with all files and directories below it.
fn all_below(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    if path.is_dir() {
        found.extend(fs::read_dir(path).unwrap().flat_map(|entry| all_below(&entry.unwrap().path())));
    }
    found
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Checks that a node does not start, and that its message has each of `words`. Returns the message.
#[track_caller]
fn check_refused(data: &Path, words: &[&str]) -> String {
    let Finished { status, output } = Node::try_start_in(data, &[]).map(drop).unwrap_err();
    assert!(!status.success(), "{output}");
    let message = output.lines().rfind(|line| line.starts_with("silica: ")).unwrap_or_default();
    for word in words {
        assert!(message.contains(word), "{word:?} is missing in\n{output}");
    }
    message.to_owned()
}

#[test]
fn files_are_for_their_owner_only_whatever_the_umask() {
    let (_directory, data) = directories();
    let node = Node::start_with_umask("000", &data, &["--block-mode", "manual"]);
    let payments = [1, 2].map(|nonce| Wallet::funded(0).payment(nonce, Wallet::stranger(1).address(), 5));
    node.result("CreateTransaction", &json!([payments[0].json()]));
    node.result("IncreaseBlocknum", &json!([3]));
    node.result("CreateTransaction", &json!([payments[1].json()]));
    node.result("silica_dump", &json!(["a.dump"]));
    assert!(node.stop().status.success());
    let files = all_below(&data);
    for name in ["lock", "node.key", "accounts.json", "manifest.json", "pool", "store/witness", "store/chain/db"] {
        assert!(files.contains(&data.join(name)), "{name} is missing in {files:?}");
    }
    assert!(files.contains(&data.join("dumps/a.dump")) && files.contains(&data.join("store/changes/00000000")));
    let loose: Vec<_> = files.iter().filter(|path| mode(path) & OTHERS != 0).collect();
    assert!(loose.is_empty(), "{loose:?}");

    let loaded = data.with_file_name("loaded");
    let load = ["db", "load", "--data-dir", loaded.to_str().unwrap()];
    let dump = data.join("dumps/a.dump");
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 000; exec \"$@\"", "-"]).arg(silica_tests::node::binary()).args(load).arg(&dump);
    assert!(shell.output().unwrap().status.success());
    let loose: Vec<_> = all_below(&loaded).into_iter().filter(|path| mode(path) & OTHERS != 0).collect();
    assert!(loose.is_empty(), "{loose:?}");
}

#[test]
fn planted_drafts_capture_nothing() {
    let (directory, data) = directories();
    let victim = directory.path().join("victim");
    fs::write(&victim, "of another user").unwrap();
    fs::create_dir(&data).unwrap();
    for name in ["node.key.new", "accounts.json.new"] {
        symlink(&victim, data.join(name)).unwrap();
    }
    // A process that opened this file earlier could read later writes.
    fs::write(data.join("manifest.json.new"), "").unwrap();
    set_mode(&data.join("manifest.json.new"), 0o666);
    let planted = fs::File::open(data.join("manifest.json.new")).unwrap();
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    symlink(&victim, data.join("pool.new")).unwrap();
    fs::create_dir(data.join("dumps")).unwrap();
    symlink(&victim, data.join(format!("dumps/.a.dump.{}-0.new", node.id()))).unwrap();
    symlink(&victim, data.join("dumps/b.dump")).unwrap();
    for name in ["a.dump", "b.dump"] {
        assert!(node.call("silica_dump", &json!([name])).is_err(), "{name}");
    }
    assert!(node.stop().status.success());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "of another user");
    assert_eq!(planted.metadata().unwrap().len(), 0);
    for name in ["node.key", "accounts.json", "manifest.json", "pool"] {
        let file = data.join(name).symlink_metadata().unwrap();
        assert!(file.is_file() && file.mode() & OTHERS == 0, "{name}: {file:?}");
    }
}

#[test]
fn links_pipes_and_devices_in_place_of_files_are_refused_at_once() {
    let (directory, data) = stopped_chain();
    let victim = directory.path().join("victim");
    fs::write(&victim, "of another user").unwrap();
    let kept = directory.path().join("kept");
    for name in [
        "node.key",
        "accounts.json",
        "manifest.json",
        "lock",
        "pool",
        "store",
        "store/witness",
        "store/chain",
        "store/chain/conf",
        "store/chain/db",
        "store/chain/snap.00000000000000ff",
        "store/state/db",
        "store/changes/00000000",
        "store/changes/00000007",
        "store/state.damaged",
        "check",
        "dumps",
    ] {
        let path = data.join(name);
        let there = path.exists();
        if there {
            fs::rename(&path, &kept).unwrap();
        }
        for target in [Some("/dev/zero"), victim.to_str(), None] {
            match target {
                Some(target) => symlink(target, &path).unwrap(),
                None => make_pipe(&path),
            }
            let found = if target.is_some() { "got a symbolic link" } else { "got a named pipe" };
            let message = check_refused(&data, &[path.to_str().unwrap(), "expected a ", found]);
            assert!(message.contains("--data-dir"), "{message}");
            fs::remove_file(&path).unwrap();
        }
        if there {
            fs::rename(&kept, &path).unwrap();
        }
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "of another user");
    Node::start_in(&data, &[]);
}

#[test]
fn files_beyond_any_use_are_refused_by_their_size() {
    let (directory, data) = stopped_chain();
    for name in ["node.key", "manifest.json"] {
        let path = data.join(name);
        let kept = fs::read(&path).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        check_refused(&data, &[path.to_str().unwrap(), "bytes at most, got 1099511627776"]);
        fs::write(&path, kept).unwrap();
    }
    let new = directory.path().join("new");
    let endless = run(&["--data-dir", new.to_str().unwrap(), "--accounts-file", "/dev/zero"]);
    assert!(endless.output.contains("/dev/zero: expected 67108864 bytes at most"), "{}", endless.output);
    let endless = run(&["config", "print", "--config", "/dev/zero"]);
    assert!(endless.output.contains("/dev/zero: expected 1048576 bytes at most"), "{}", endless.output);
}

#[test]
fn directory_that_everybody_can_write_is_refused() {
    let (_directory, data) = directories();
    fs::create_dir(&data).unwrap();
    for loose in [0o777, 0o1777, 0o702] {
        set_mode(&data, loose);
        check_refused(
            &data,
            &[data.to_str().unwrap(), "only its owner can write", &format!("{loose:o}"), "chmod go-w"],
        );
        assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
    }
    set_mode(&data, 0o755);
    Node::start_in(&data, &[]).stop();
    for name in ["store", "store/chain", "store/chain/db", "manifest.json"] {
        let path = data.join(name);
        let before = mode(&path);
        set_mode(&path, before | 0o002);
        check_refused(&data, &[path.to_str().unwrap(), "only its owner can write"]);
        let check = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
        assert!(!check.status.success() && check.output.contains(path.to_str().unwrap()), "{}", check.output);
        set_mode(&path, before);
    }
    Node::start_in(&data, &[]);
}

#[test]
fn directory_that_the_group_can_write_is_warned_of_once() {
    for name in ["", "store/chain"] {
        let (_directory, data) = stopped_chain();
        let node = Node::start_in(&data, &[]);
        assert!(!node.stop().output.contains("group"));
        let path = if name.is_empty() { data.clone() } else { data.join(name) };
        set_mode(&path, 0o770);
        let node = Node::start_in(&data, &[]);
        let output = node.wait_for("the group can write to the data directory");
        assert!(output.contains(path.to_str().unwrap()) && output.contains("chmod -R g-w"), "{output}");
        pay_once(&node, 1);
        assert_eq!(node.stop().output.matches("the group can write").count(), 1);
    }
}

#[test]
fn secrets_that_others_can_read_are_refused() {
    let (_directory, data) = stopped_chain();
    for name in ["node.key", "accounts.json"] {
        let path = data.join(name);
        for loose in [0o640, 0o604, 0o660, 0o666] {
            set_mode(&path, loose);
            let shown = path.to_str().unwrap();
            check_refused(
                &data,
                &[shown, "expected mode 600", &format!("got mode {loose:o}"), &format!("chmod 600 {shown}")],
            );
        }
        set_mode(&path, 0o400);
    }
    Node::start_in(&data, &[]);
}

#[test]
fn key_and_directory_of_other_users_are_refused() {
    if !is_root("give files to other users") {
        return;
    }
    let other = |path: &Path| std::os::unix::fs::chown(path, Some(65_534), None).unwrap();
    let (_directory, data) = directories();
    fs::create_dir(&data).unwrap();
    let key = data.join("node.key");
    fs::write(&key, format!("{:064x}\n", 7)).unwrap();
    set_mode(&key, 0o600);
    other(&key);
    check_refused(&data, &[key.to_str().unwrap(), "expected owner 0", "got owner 65534", "chown"]);
    fs::remove_file(&key).unwrap();
    other(&data);
    let words =
        [data.to_str().unwrap(), "expected owner 0", "got owner 65534", "run silica as user 65534", "--data-dir"];
    check_refused(&data, &words);
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
    // The node creates a subdirectory, so the subdirectory belongs to the user of the node.
    Node::start_in(&data.join("silica"), &[]);
}

#[test]
fn secret_with_a_second_name_is_refused() {
    let (directory, data) = stopped_chain();
    for name in ["node.key", "accounts.json"] {
        let (path, other) = (data.join(name), directory.path().join("other"));
        fs::hard_link(&path, &other).unwrap();
        let shown = path.to_str().unwrap();
        check_refused(&data, &[shown, "expected a file with one name", "got 2 names", &format!("-samefile {shown}")]);
        fs::remove_file(&other).unwrap();
    }
    Node::start_in(&data, &[]);
}

#[test]
fn file_system_mounted_on_the_data_directory_or_the_store_is_accepted() {
    if !is_root("own lost+found") {
        return;
    }
    let (_directory, data) = directories();
    let lost = |path: &Path| {
        fs::create_dir_all(path.join("lost+found")).unwrap();
        set_mode(&path.join("lost+found"), 0o700);
    };
    lost(&data);
    set_mode(&data, 0o700);
    Node::start_in(&data, &[]).stop();
    lost(&data.join("store"));
    let node = Node::start_in(&data, &[]);
    pay_once(&node, 0);
    node.stop();
    // The node accepts `lost+found` only if it is a directory of root.
    let planted = data.join("store/lost+found");
    fs::remove_dir(&planted).unwrap();
    symlink("/dev/zero", &planted).unwrap();
    check_refused(&data, &[planted.to_str().unwrap(), "got a symbolic link"]);
}

#[test]
fn link_to_the_data_directory_that_is_changed_later_misleads_nothing() {
    let (directory, data) = directories();
    let (link, other) = (directory.path().join("link"), directory.path().join("other"));
    fs::create_dir(&data).unwrap();
    fs::create_dir(&other).unwrap();
    symlink(&data, &link).unwrap();
    let node = Node::start_in(&link, &["--block-mode", "manual"]);
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(ready(&node).0, 200);
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    assert!(node.stop().status.success());
    assert!(data.join("pool").exists());
    assert_eq!(all_below(&other), [other]);
}

#[test]
fn stop_with_an_empty_pool_removes_the_pool_file_of_an_earlier_stop() {
    let (_directory, data) = stopped_chain();
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    let payment = Wallet::funded(1).payment(1, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    assert!(node.stop().status.success());
    let pool = fs::read(data.join("pool")).unwrap();
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    node.result("silica_dropAllTransactions", &json!([]));
    fs::write(data.join("pool"), pool).unwrap();
    assert!(node.stop().status.success());
    assert!(!data.join("pool").exists());
}

#[test]
fn pool_that_cannot_be_read_is_put_aside() {
    let (_directory, data) = stopped_chain();
    let pool = fs::File::create(data.join("pool")).unwrap();
    pool.set_len(5 << 30).unwrap();
    let node = Node::start_in(&data, &[]);
    let output = node.wait_for("failed to read the pool file");
    for words in ["pool.unreadable", "expected 4294967296 bytes at most, got 5368709120"] {
        assert!(output.contains(words), "{words} is missing in {output}");
    }
    pay_once(&node, 1);
    assert!(node.stop().status.success());
    assert!(!data.join("pool").exists());
    assert_eq!(fs::metadata(data.join("pool.unreadable")).unwrap().len(), 5 << 30);
}

#[test]
fn second_start_is_refused_at_once_though_the_lock_file_was_removed() {
    let (_directory, data) = directories();
    let node = Node::start_in(&data, &[]);
    fs::remove_file(data.join("lock")).unwrap();
    for _ in 0..2 {
        let end = Node::try_start_in(&data, &[]).map(drop).unwrap_err();
        assert!(end.output.contains("is in use by another node or command"), "{}", end.output);
        // A start that waits for a lock logs this line.
        assert!(!end.output.contains("opening the chain"), "{}", end.output);
    }
    pay_once(&node, 0);
}

/// Returns status and body of `/ready`.
fn ready(node: &Node) -> (u16, String) {
    let answer = node.connect().request("GET", "/ready", b"").unwrap();
    (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
}

#[test]
fn node_without_its_directory_acknowledges_nothing_and_logs_it() {
    let (_directory, data) = directories();
    let node = Node::start_in(&data, &["--log", "info"]);
    pay_once(&node, 0);
    let seen = height(&node);
    assert_eq!(ready(&node).0, 200);
    fs::remove_dir_all(&data).unwrap();
    for _ in 0..3 {
        let (status, reason) = ready(&node);
        assert!(status == 503 && reason.contains("deleted or replaced"), "{status} {reason}");
    }
    let output = node.wait_for("was deleted or replaced while it was in use");
    assert_eq!(output.matches(" ERROR ").count(), 1, "{output}");
    assert!(output.contains("store/chain/db"), "{output}");
    for payer in 1..4 {
        let payment = Wallet::funded(payer).payment(1, Wallet::stranger(1).address(), 5);
        node.call("CreateTransaction", &json!([payment.json()])).unwrap_err();
    }
    node.call("IncreaseBlocknum", &json!([1])).unwrap_err();
    // After the failure, reads succeed.
    assert_eq!(height(&node), seen);
    let end = node.stop();
    assert!(!end.output.contains("panicked"), "{}", end.output);
    assert!(!data.exists(), "{:?}", all_below(&data));
}

#[test]
fn node_whose_directory_was_replaced_by_a_copy_acknowledges_nothing() {
    let (directory, data) = directories();
    let node = Node::start_in(&data, &[]);
    pay_once(&node, 0);
    let away = directory.path().join("away");
    fs::rename(&data, &away).unwrap();
    assert!(Command::new("cp").arg("-a").args([&away, &data]).status().unwrap().success());
    assert_eq!(ready(&node).0, 503);
    let payment = Wallet::funded(1).payment(1, Wallet::stranger(1).address(), 5);
    node.call("CreateTransaction", &json!([payment.json()])).unwrap_err();
    // The restored directory has the same chain.
    fs::remove_dir_all(&data).unwrap();
    fs::rename(&away, &data).unwrap();
    eventually(&node, "ready again", || ready(&node).0 == 200);
    pay_once(&node, 2);
    assert!(node.stop().status.success());
    let check = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
    assert!(check.status.success(), "{}", check.output);
}

/// Each case has damage that makes the storage engine panic, or a valid database of another node.
#[test]
fn damaged_record_is_refused_in_one_message_with_file_and_remedy() {
    let (directory, data) = stopped_chain();
    let copy = directory.path().join("copy");
    let [chain, state] = ["store/chain/db", "store/state/db"].map(|name| copy.join(name));
    let halve = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    };
    let swap = || {
        let [one, other] = [&chain, &state].map(|path| fs::read(path).unwrap());
        fs::write(&chain, other).unwrap();
        fs::write(&state, one).unwrap();
    };
    let remove = || fs::remove_file(&chain).unwrap();
    let conf = || fs::write(copy.join("store/chain/conf"), [7; 62]).unwrap();
    let snapshot = || fs::write(copy.join("store/chain/snap.7000000000000000"), [7; 99]).unwrap();
    let cases: [(&str, &dyn Fn()); 5] = [
        ("halved", &|| halve(&chain)),
        ("swapped", &swap),
        ("missing", &remove),
        ("parameters", &conf),
        ("snapshot", &snapshot),
    ];
    for (case, damage) in cases {
        assert!(Command::new("cp").arg("-a").args([&data, &copy]).status().unwrap().success());
        damage();
        for line in [vec!["--listen", "127.0.0.1:0"], vec!["db", "check"], vec!["db", "rebuild"]] {
            let mut start = command(&[&line[..], &["--data-dir", copy.to_str().unwrap()]].concat());
            let end = start.env("RUST_BACKTRACE", "1").output().unwrap();
            let output = String::from_utf8_lossy(&end.stderr);
            assert_eq!(end.status.code(), Some(1), "{case} {line:?}: {output}");
            let message = output.lines().last().unwrap_or_default();
            for word in ["silica: ", copy.to_str().unwrap(), "silica db load"] {
                assert!(message.contains(word), "{case} {line:?}: {word:?} is missing in\n{output}");
            }
            assert!(!output.contains("panicked at") && !output.contains("stack backtrace"), "{case}: {output}");
            assert!(output.lines().count() <= 3, "{case} {line:?}: {output}");
        }
        fs::remove_dir_all(&copy).unwrap();
    }
}

#[test]
fn memory_of_the_process_goes_to_no_core_dump() {
    let node = Node::start(&[]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", node.id())).unwrap();
    let core: Vec<_> =
        limits.lines().find(|line| line.contains("core file size")).unwrap().split_whitespace().collect();
    assert_eq!(core[core.len() - 3..], ["0", "0", "bytes"]);
}

/// The node needs the keys at its start. It does not need the keys of accounts later.
#[test]
fn memory_of_a_running_node_has_few_copies_of_keys() {
    const WORDS: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    if !is_root("read the memory of other processes") {
        return;
    }
    let (directory, data) = directories();
    let config = directory.path().join("silica.toml");
    fs::write(&config, format!("mnemonic = \"{WORDS}\"\naccounts = 200\n")).unwrap();
    for args in [&["--config", config.to_str().unwrap()][..], &[]] {
        let node = Node::start_in(&data, args);
        node.result("IncreaseBlocknum", &json!([3]));
        let accounts: Value = serde_json::from_slice(&fs::read(data.join("accounts.json")).unwrap()).unwrap();
        let keys = accounts.as_object().unwrap().values().map(|account| account["privateKey"].as_str().unwrap());
        let texts: Vec<_> = keys.map(|key| key.as_bytes().to_vec()).collect();
        assert_eq!(texts.len(), 200);
        let raw: Vec<_> = texts.iter().map(|text| hex::decode(text).unwrap()).collect();
        let own = fs::read_to_string(data.join("node.key")).unwrap();
        let [own_text, own_raw] = [own.trim().as_bytes().to_vec(), hex::decode(own.trim()).unwrap()];
        let wanted = [vec![WORDS.as_bytes().to_vec()], texts, raw, vec![own_text], vec![own_raw]];
        let copies = copies_in_memory(node.id(), &wanted);
        let most = [1, 2, 2, 0, 2];
        assert!(copies.iter().zip(most).all(|(copies, most)| *copies <= most), "{copies:?}");
        assert!(copies[4] > 0, "the search finds the key that signs blocks: {copies:?}");
    }
}

/// Files in `/proc` of a process with protected memory belong to root. One of them has the environment, which can
/// contain secrets.
#[test]
fn environment_of_the_process_is_for_root_only() {
    if !is_root("start a process of another user") {
        return;
    }
    let directory = Directory::new();
    std::os::unix::fs::chown(directory.path(), Some(65_534), None).unwrap();
    let mut start = Command::new("setpriv");
    start.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(silica_tests::node::binary());
    let data = directory.path().join("data");
    let node = Node::start_by(start, &["--data-dir", data.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    assert_eq!(data.metadata().unwrap().uid(), 65_534);
    for name in ["environ", "mem", "maps"] {
        assert_eq!(fs::metadata(format!("/proc/{}/{name}", node.id())).unwrap().uid(), 0, "{name}");
    }
}
