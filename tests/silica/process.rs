//! Start, stop and restart of the process: its output, and that it loses no data.

use std::{fs, net::TcpListener, path::Path};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{
    Connection, Directory, Node, Wallet,
    chain::everything,
    node::{Finished, run},
    root::{SmallDisk, is_root},
    wallet::FUNDED_KEYS,
};

use crate::{balance, block_modes::eventually, height, pay_once};

/// Checks that a process ended with an error and a message with each of `words`, and without a backtrace.
#[track_caller]
fn check_refused(end: &Finished, words: &[&str]) {
    assert!(!end.status.success(), "{}", end.output);
    for word in words {
        assert!(end.output.contains(word), "{word:?} is missing in\n{}", end.output);
    }
    assert!(!end.output.contains("panicked"), "{}", end.output);
}

/// Returns the accounts whose balance can change.
fn accounts() -> Vec<Address> {
    Wallet::all_funded().chain([Wallet::stranger(7)]).map(|wallet| wallet.address()).chain([Address::ZERO]).collect()
}

#[test]
fn banner_shows_what_a_newcomer_needs() {
    let node = Node::start(&[]);
    let banner = node.wait_for("curl ");
    for key in FUNDED_KEYS {
        let wallet = Wallet::from_hex(key);
        for text in [wallet.address().to_checksum(), wallet.address().to_bech32(), key.to_owned()] {
            assert!(banner.contains(&text), "{text} is missing in\n{banner}");
        }
    }
    for text in [node.url().as_str(), "curl", "222", "GetBalance"] {
        assert!(banner.contains(text), "{text} is missing in\n{banner}");
    }
}

#[test]
fn curl_line_of_the_banner_works() {
    let node = Node::start(&[]);
    let banner = node.wait_for("curl ");
    let line = banner.lines().find(|line| line.trim_start().starts_with("curl ")).expect("a curl line").trim();
    let shell = std::process::Command::new("sh").args(["-c", line]).output().unwrap();
    let answer: Value = serde_json::from_slice(&shell.stdout)
        .unwrap_or_else(|e| panic!("{e}: {line}\n{}", String::from_utf8_lossy(&shell.stderr)));
    assert!(answer["result"].is_object() || answer["result"].is_string(), "{answer}");
}

#[test]
fn second_start_continues_the_same_chain() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &["--blocks-per-ds-epoch", "4"]);
    for payer in 0..6 {
        pay_once(&node, payer);
    }
    let before = everything(&node, &accounts()).unwrap();
    let end = node.stop();
    assert!(end.status.success(), "{end:?}");

    let node = Node::start_in(&data, &[]);
    assert_eq!(everything(&node, &accounts()).unwrap(), before);
    pay_once(&node, 6);
    assert_eq!(node.result("GetTxBlock", &json!(["3"])), before["blocks"][3]);
    assert!(height(&node) > before["blocks"].as_array().unwrap().len() as u64 - 1);
}

#[test]
fn both_signals_stop_it_and_lose_nothing() {
    for signal in ["INT", "TERM"] {
        let directory = Directory::new();
        let data = directory.path().join("data");
        let node = Node::start_in(&data, &[]);
        let hash = pay_once(&node, 0);
        let end = node.interrupt(signal);
        assert!(end.status.success(), "{signal}: {end:?}");
        assert!(!end.output.contains("did not finish"), "{signal}: {}", end.output);
        let node = Node::start_in(&data, &[]);
        assert_eq!(node.result("GetTransaction", &json!([hash]))["ID"], json!(hash));
    }
}

#[test]
fn idle_connection_does_not_hold_up_the_stop() {
    let node = Node::start(&[]);
    let mut idle = node.connect();
    idle.post(b"{}").unwrap();
    let silent = node.connect();
    let end = node.stop();
    assert!(end.status.success(), "{end:?}");
    assert!(!end.output.contains("did not finish"), "{}", end.output);
    drop((idle, silent));
}

#[test]
fn requests_that_come_only_in_part_do_not_hold_up_the_stop() {
    let node = Node::start(&[]);
    let halves = ["POST / HT", "POST / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n1"];
    let halves = halves.map(|half| {
        let mut connection = node.connect();
        connection.write(half.as_bytes()).unwrap();
        connection
    });
    // The node has returned a response on a later connection, so it has accepted these connections.
    pay_once(&node, 0);
    let end = node.stop();
    assert!(end.status.success(), "{end:?}");
    assert!(!end.output.contains("did not finish"), "{}", end.output);
    drop(halves);
}

/// Requests more blocks than any node can make before a stop. Returns when some blocks exist.
pub(crate) fn begin_endless_work(node: &Node) -> Connection {
    let mut connection = node.connect();
    let demand = br#"{"id":1,"jsonrpc":"2.0","method":"IncreaseBlocknum","params":[10000000]}"#;
    let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", demand.len());
    connection.write(&[head.as_bytes(), demand].concat()).unwrap();
    let begun = height(node);
    eventually(node, "the work is begun", || height(node) > begun);
    connection
}

#[test]
fn second_signal_stops_at_once_and_loses_nothing() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &[]);
    let hash = pay_once(&node, 0);
    // Endless work delays the stop for as long as requests can take.
    let long = begin_endless_work(&node);
    pay_once(&node, 1);
    node.signal("TERM");
    node.wait_for("second signal");
    let end = node.interrupt("INT");
    drop(long);
    // A second signal after the deadline has no effect.
    let was_late = end.output.contains("requests did not finish");
    assert!(was_late || (end.output.contains("stopped at once") && !end.status.success()), "{end:?}");
    assert!(!end.output.contains("panicked"), "{end:?}");
    let node = Node::start_in(&data, &[]);
    assert_eq!(node.result("GetTransaction", &json!([hash]))["ID"], json!(hash));
}

#[test]
fn killed_process_keeps_every_acknowledged_payment() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let payer = Wallet::funded(0);
    let mut nonce = 0;
    for _ in 0..5 {
        let node = Node::start_in(&data, &["--blocks-per-ds-epoch", "6"]);
        assert_eq!(balance(&node, &payer.hex()).1, nonce);
        for _ in 0..7 {
            nonce += 1;
            let payment = payer.payment(nonce, Wallet::stranger(nonce).address(), u128::from(nonce));
            node.result("CreateTransaction", &json!([payment.json()]));
        }
        node.kill();
    }
    let node = Node::start_in(&data, &[]);
    for nonce in 1..=nonce {
        let stranger = Wallet::stranger(nonce);
        let payment = payer.payment(nonce, stranger.address(), u128::from(nonce));
        assert_eq!(node.result("GetTransaction", &json!([payment.hash()]))["nonce"], nonce.to_string());
        assert_eq!(balance(&node, &stranger.hex()).0, u128::from(nonce));
    }
    node.stop();
    let check = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
    assert!(check.status.success(), "{}", check.output);
}

#[test]
fn killed_process_without_flushes_loses_only_its_newest_blocks() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let payer = Wallet::funded(0);
    let pay = |node: &Node, nonce: u64| {
        let payment = payer.payment(nonce, Wallet::stranger(nonce).address(), u128::from(nonce));
        node.result("CreateTransaction", &json!([payment.json()]));
    };
    let node = Node::start_in(&data, &[]);
    (1..=3).for_each(|nonce| pay(&node, nonce));
    node.stop();
    for _ in 0..3 {
        let node = Node::start_in(&data, &["--durability", "relaxed"]);
        let first = balance(&node, &payer.hex()).1 + 1;
        assert!(first > 3, "the blocks of the orderly stop are on disk");
        (first..first + 7).for_each(|nonce| pay(&node, nonce));
        node.kill();
    }
    // The first block can be lost too.
    let fresh = directory.path().join("fresh");
    for durability in ["relaxed", "relaxed", "flush"] {
        Node::start_in(&fresh, &["--durability", durability]).kill();
    }
    // The chain continues, and from here on no acknowledged block is lost.
    let node = Node::start_in(&data, &[]);
    let nonce = balance(&node, &payer.hex()).1;
    pay(&node, nonce + 1);
    node.kill();
    let node = Node::start_in(&data, &[]);
    assert_eq!(balance(&node, &payer.hex()).1, nonce + 1);
    node.stop();
    let check = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
    assert!(check.status.success(), "{}", check.output);
}

#[test]
fn check_and_rebuild_keep_every_answer() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &["--block-mode", "manual", "--blocks-per-ds-epoch", "9"]);
    for payer in 0..9 {
        let payment = Wallet::funded(payer).payment(1, Wallet::stranger(7).address(), 1_000);
        node.result("CreateTransaction", &json!([payment.json()]));
        node.result("IncreaseBlocknum", &json!([13]));
    }
    let before = everything(&node, &accounts()).unwrap();
    node.stop();
    let path = data.to_str().unwrap();
    for command in ["check", "rebuild", "check"] {
        let end = run(&["db", command, "--data-dir", path]);
        assert!(end.status.success(), "{command}: {}", end.output);
    }
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    assert_eq!(everything(&node, &accounts()).unwrap(), before);
}

#[test]
fn data_goes_to_the_current_directory_by_default() {
    let directory = Directory::new();
    let mut command = silica_tests::node::command(&["--listen", "127.0.0.1:0"]);
    command.current_dir(directory.path());
    Node::start_with(command).kill();
    assert!(directory.path().join("silica-data/manifest.json").exists());
    let made: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(made, ["silica-data"]);
}

#[test]
fn ephemeral_chain_leaves_nothing_behind() {
    let directory = Directory::new();
    let mut command = silica_tests::node::command(&["--ephemeral", "--listen", "127.0.0.1:0"]);
    command.current_dir(directory.path());
    let node = Node::start_with(command);
    pay_once(&node, 0);
    node.kill();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn port_in_use_is_named() {
    let directory = Directory::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = directory.path().join("data");
    let end = run(&["--data-dir", data.to_str().unwrap(), "--listen", &address]);
    check_refused(&end, &[&address, "in use", "--listen, --websocket and --operator-listen set other addresses"]);
}

#[test]
fn data_directory_in_use_is_named() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &[]);
    let end = Node::try_start_in(&data, &[]).unwrap_err();
    check_refused(&end, &[data.to_str().unwrap(), "in use", "--data-dir sets another directory"]);
    for command in ["check", "rebuild"] {
        let end = run(&["db", command, "--data-dir", data.to_str().unwrap()]);
        check_refused(&end, &[data.to_str().unwrap(), "in use"]);
    }
    pay_once(&node, 0);
}

#[test]
fn data_of_a_newer_version_is_refused_and_left_alone() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    Node::start_in(&data, &[]).stop();
    let manifest = data.join("manifest.json");
    let mut newer: Value = serde_json::from_str(&fs::read_to_string(&manifest).unwrap()).unwrap();
    newer["format"] = json!(4);
    newer["of tomorrow"] = json!([]);
    fs::write(&manifest, newer.to_string()).unwrap();
    let end = Node::try_start_in(&data, &[]).unwrap_err();
    check_refused(&end, &[data.to_str().unwrap(), "format 4", "newer silica"]);
    assert_eq!(fs::read_to_string(&manifest).unwrap(), newer.to_string());
}

#[test]
fn data_directory_that_cannot_be_used_is_named() {
    let directory = Directory::new();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let foreign = directory.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("thesis.txt"), "").unwrap();
    // No user can create directories in the last path, not even root.
    for (path, words) in [
        (file.clone(), "cannot create directory"),
        (file.join("data"), "cannot create directory"),
        (foreign, "thesis.txt"),
        ("/proc/silica-data".into(), "cannot create directory"),
    ] {
        let end = Node::try_start_in(&path, &[]).unwrap_err();
        check_refused(&end, &[path.to_str().unwrap(), words]);
    }
}

/// The chain makes blocks until the disk is full. A limit of file sizes has the same effect.
#[test]
fn full_disk_stops_the_chain_and_loses_no_acknowledged_block() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_with_small_files(&data, 2048, &["--block-mode", "manual"]);
    let mut acknowledged = 0;
    let refusal = loop {
        match node.call("IncreaseBlocknum", &json!([20])) {
            Ok(_) => acknowledged += 20,
            Err(refusal) => break refusal,
        }
        assert!(acknowledged < 20_000, "the disk is never full");
    };
    assert_eq!((refusal.code, refusal.message.as_str()), (-32603, "INTERNAL_ERROR: "));
    node.wait_for("too large");
    // After the failure, reads succeed.
    let seen = height(&node);
    assert!(seen >= acknowledged);
    assert!(node.call("IncreaseBlocknum", &json!([1])).is_err());
    let end = node.stop();
    assert!(!end.output.contains("panicked"), "{}", end.output);

    let check = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
    assert!(check.status.success(), "{}", check.output);
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    assert!(height(&node) >= seen, "{} of {seen} blocks", height(&node));
    node.result("IncreaseBlocknum", &json!([1]));
}

/// Returns whether `/ready` returns 200.
fn is_ready(node: &Node) -> bool {
    node.connect().request("GET", "/ready", b"").unwrap().status == 200
}

/// Starts a node whose disk becomes full when the test sets a limit.
fn start_with_limits(data: &Path, mode: &str) -> Node {
    Node::start_with_small_files(data, 1 << 30, &["--block-mode", mode])
}

/// Limits files to the size of the record, so that the flush of a block fails. With a smaller limit, a block would fail
/// before its flush.
fn limit_to_record(node: &Node, data: &Path) {
    node.limit_files(Some(fs::metadata(data.join("store/chain/db")).unwrap().len()));
}

/// Stops a node, and checks its chain by executing all blocks again.
#[track_caller]
fn stop_and_check(node: Node, data: &Path) {
    let end = node.stop();
    assert!(end.status.success(), "{}", end.output);
    assert!(!end.output.contains("panicked"), "{}", end.output);
    let check = run(&["db", "check", "--data-dir", data.to_str().unwrap()]);
    assert!(check.status.success(), "{}", check.output);
}

#[test]
fn pending_transactions_get_their_block_when_a_full_disk_has_room() {
    for mode in ["interval=100", "manual"] {
        let directory = Directory::new();
        let data = directory.path().join("data");
        let node = start_with_limits(&data, mode);
        let to = Wallet::stranger(1).address();
        node.result("silica_mine", &json!([3]));
        if mode == "manual" {
            node.limit_files(Some(1 << 10));
        } else {
            limit_to_record(&node, &data);
        }
        let payments = [(0, 1), (0, 2), (0, 3), (1, 1)].map(|(from, nonce)| Wallet::funded(from).payment(nonce, to, 5));
        for payment in &payments {
            node.result("CreateTransaction", &json!([payment.json()]));
        }
        for _ in 0..3 {
            node.call("silica_mine", &json!([1])).unwrap_err();
            assert!(!is_ready(&node), "{mode}");
        }
        let seen = height(&node);
        // The node pauses for one second after a failure.
        node.wait_for("attempts=2");
        for payment in &payments {
            let status = node.result("GetTransactionStatus", &json!([payment.hash()]));
            assert_eq!((&status["modificationState"], &status["status"]), (&json!(0), &json!(1)), "{mode}: {status}");
        }
        assert_eq!(height(&node), seen, "{mode}");

        node.limit_files(None);
        eventually(&node, "ready again", || is_ready(&node));
        if mode == "manual" {
            assert_eq!(height(&node), seen);
            node.result("IncreaseBlocknum", &json!([1]));
        }
        for payment in &payments {
            let executed = || node.call("GetTransaction", &json!([payment.hash()])).is_ok();
            eventually(&node, "payments get their block", executed);
        }
        assert!(height(&node) > seen);
        assert_eq!(balance(&node, &Wallet::stranger(1).hex()).0, 20);
        stop_and_check(node, &data);
    }
}

#[test]
fn payment_that_failed_on_a_full_disk_gets_its_block_by_itself() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = start_with_limits(&data, "instant");
    pay_once(&node, 0);
    let (payer, to) = (Wallet::funded(1), Wallet::stranger(1).address());
    let snapshot = node.result("silica_snapshot", &json!([]));
    let seen = height(&node);
    limit_to_record(&node, &data);
    let payment = payer.payment(1, to, 5);
    let failed = node.call("CreateTransaction", &json!([payment.json()])).unwrap_err();
    assert_eq!(failed.code, -32603);
    for _ in 0..2 {
        node.call("silica_mine", &json!([])).unwrap_err();
        let again = node.call("CreateTransaction", &json!([payer.payment(2, to, 5).json()]));
        assert!(again.is_err() && !is_ready(&node));
        let status = node.result("GetTransactionStatus", &json!([payment.hash()]));
        assert_eq!((&status["modificationState"], &status["status"]), (&json!(0), &json!(1)), "{status}");
    }
    assert_eq!(height(&node), seen);
    node.limit_files(None);
    // The node makes the block without a request.
    eventually(&node, "its block", || node.call("GetTransaction", &json!([payment.hash()])).is_ok());
    eventually(&node, "ready again", || is_ready(&node));
    node.result("CreateTransaction", &json!([payer.payment(2, to, 5).json()]));
    assert_eq!((height(&node), balance(&node, &payer.hex()).1), (seen + 2, 2));
    // The failure does not remove earlier savepoints.
    node.result("silica_revert", &json!([snapshot]));
    assert_eq!((height(&node), balance(&node, &payer.hex()).1), (seen, 0));
    node.result("CreateTransaction", &json!([payer.payment(1, to, 6).json()]));
    stop_and_check(node, &data);
}

#[test]
fn stop_on_a_full_disk_stores_what_fits_and_reports_the_lost_rest() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = start_with_limits(&data, "manual");
    for nonce in 1..=40 {
        let payment = Wallet::funded(0).payment(nonce, Wallet::stranger(1).address(), 5);
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    node.limit_files(Some(2 << 10));
    let end = node.stop();
    assert!(!end.status.success() && !end.output.contains("panicked"), "{}", end.output);
    let (before, after) = end.output.split_once(" pending transactions are lost, ").expect("the error has the number");
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok()).unwrap();
    let lost = number(before.rsplit(|letter: char| !letter.is_ascii_digit()).next());
    let kept = number(after.split(' ').next());
    assert!(lost + kept == 40 && kept >= 4, "{lost} lost, {kept} kept");
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(balance(&node, &Wallet::funded(0).hex()).1, kept);
}

#[test]
fn node_on_a_full_disk_serves_reads_and_recovers_with_space() {
    if !is_root("mount a small disk") {
        return;
    }
    let disk = SmallDisk::new(32);
    let data = disk.path().join("data");
    let reserve = data.join("store/reserve");
    let node = Node::start_in(&data, &[]);
    let hash = pay_once(&node, 0);
    let seen = height(&node);
    let kept = fs::metadata(&reserve).expect("room is reserved").len();
    node.kill();
    let payer = Wallet::funded(1);
    let payment = payer.payment(1, Wallet::stranger(1).address(), 5);
    let start_on_full_disk = || {
        let node = Node::start_in(&data, &[]);
        assert_eq!((height(&node), balance(&node, &payer.hex()).1), (seen, 0));
        assert_eq!(node.result("GetTransaction", &json!([hash]))["ID"], json!(hash));
        disk.fill();
        assert_eq!(node.call("CreateTransaction", &json!([payment.json()])).unwrap_err().code, -32603);
        eventually(&node, "503", || !is_ready(&node));
        node
    };
    disk.fill();
    let node = start_on_full_disk();
    assert!(node.output().contains("failed to make a block"), "{}", node.output());
    node.kill();
    start_on_full_disk().kill();
    // This state exists after a kill before the node has restored its reserve.
    fs::remove_file(&reserve).unwrap();
    let node = start_on_full_disk();
    disk.free();
    eventually(&node, "ready again", || is_ready(&node));
    eventually(&node, "the payment's block", || node.call("GetTransaction", &json!([payment.hash()])).is_ok());
    assert!(height(&node) > seen);
    assert!(fs::metadata(&reserve).unwrap().len() >= kept);
    stop_and_check(node, &data);
}

#[test]
fn start_on_a_full_disk_keeps_the_pending_transactions_in_their_file() {
    if !is_root("mount a small disk") {
        return;
    }
    let disk = SmallDisk::new(32);
    let data = disk.path().join("data");
    let args = ["--block-mode", "manual"];
    let pending = |node: &Node| node.result("GetPendingTxns", &json!([]))["Txns"].as_array().map(Vec::len);
    let node = Node::start_in(&data, &args);
    for index in 0..3 {
        let payment = Wallet::funded(index).payment(1, Wallet::stranger(1).address(), 5);
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    stop_and_check(node, &data);
    let pool = fs::read(data.join("pool")).unwrap();
    disk.fill();
    for end in [Node::kill, |node: Node| drop(node.stop())] {
        let node = Node::start_in(&data, &args);
        assert_eq!((pending(&node), is_ready(&node)), (Some(3), false), "{}", node.output());
        disk.fill();
        end(node);
        assert_eq!(fs::read(data.join("pool")).unwrap(), pool);
    }
    disk.free();
    let node = Node::start_in(&data, &args);
    assert_eq!(pending(&node), Some(3));
    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(pending(&node), Some(0));
    stop_and_check(node, &data);
}

/// Starts a node with these bytes in the file `pool`. Returns the node, and the sorted hashes of its pending
/// transactions.
fn start_with_pool(data: &Path, pool: &[u8]) -> (Node, Vec<String>) {
    fs::write(data.join("pool"), pool).unwrap();
    let node = Node::start_in(data, &["--block-mode", "manual"]);
    let pending = node.result("GetPendingTxns", &json!([]));
    let hashes = pending["Txns"].as_array().unwrap().iter().map(|entry| entry["TxnHash"].as_str().unwrap().to_owned());
    let mut hashes: Vec<_> = hashes.collect();
    hashes.sort();
    (node, hashes)
}

#[test]
fn damaged_byte_in_the_pool_loses_one_pending_transaction() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &["--block-mode", "manual"]);
    let payments: Vec<_> =
        (0..4).map(|index| Wallet::funded(index).payment(1, Wallet::stranger(1).address(), 5)).collect();
    for payment in &payments {
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    node.stop();
    let pool = fs::read(data.join("pool")).unwrap();
    let entry = (pool.len() - 14) / 4;
    for (damaged, position) in [(0, 14), (1, 14 + entry + 17), (2, 14 + 2 * entry + 99), (3, pool.len() - 1)] {
        let mut bytes = pool.clone();
        bytes[position] ^= 0x40;
        let (node, pending) = start_with_pool(&data, &bytes);
        let left = payments.iter().enumerate().filter(|(number, _)| *number != damaged);
        let mut expected: Vec<_> = left.map(|(_, payment)| payment.hash()).collect();
        expected.sort();
        assert_eq!(pending, expected);
        node.wait_until("how many are damaged", |output| {
            let line = output.lines().find(|line| line.contains("the pool file is damaged"));
            line.is_some_and(|line| ["admitted=3", "refused=0", "damaged=1"].iter().all(|word| line.contains(word)))
        });
        node.kill();
    }
}

#[test]
fn pool_of_version_1_is_read() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    Node::start_in(&data, &["--block-mode", "manual"]).stop();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/pool/version-1");
    let (node, pending) = start_with_pool(&data, &fs::read(file).unwrap());
    assert_eq!(pending.len(), 5);
    node.result("IncreaseBlocknum", &json!([1]));
    let pending = node.result("GetPendingTxns", &json!([]));
    let gapped = "f15b3d32f1fdf131d06a4d4de69a6474afea14313ee6ecc9f7cdbcdccfc59724";
    assert_eq!(pending, json!({"Txns": [{"TxnHash": gapped, "code": 4}]}), "nonce 3 is missing");
    let sender = "381f4008505e940ad7681ec3468a719060caf796";
    assert_eq!(balance(&node, sender).1, 1, "this transaction has no signature");
}

#[test]
fn blocks_ahead_of_the_clock_are_reported_once_unless_a_developer_set_the_time() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let words = "the latest block is ahead of the clock";
    let node = Node::start_in(&data, &[]);
    node.result("silica_increaseTime", &json!([400 * 24 * 3_600]));
    pay_once(&node, 1);
    let end = node.stop();
    assert!(!end.output.contains(words), "{}", end.output);

    // A node without developer methods uses the clock of the system. The timestamp of the latest block is 400 days
    // ahead of this clock.
    let node = Node::start_in(&data, &["--developer", "off"]);
    let warning = node.wait_for(words);
    assert!(warning.contains("block_time=") && warning.contains(" clock="), "{warning}");
    pay_once(&node, 2);
    pay_once(&node, 3);
    let end = node.stop();
    assert_eq!(end.output.matches(words).count(), 1, "{}", end.output);

    let node = Node::start_in(&data, &[]);
    pay_once(&node, 4);
    let end = node.stop();
    assert!(!end.output.contains(words), "{}", end.output);
}

#[test]
fn data_of_another_chain_is_refused() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    Node::start_in(&data, &["--chain-id", "333"]).stop();
    let end = Node::try_start_in(&data, &["--chain-id", "222"]).unwrap_err();
    check_refused(&end, &["333", "222"]);
    // Without the option, the node uses the stored chain id.
    let node = Node::start_in(&data, &[]);
    assert_eq!(node.result("GetNetworkId", &json!([])), "333");
}

#[test]
fn accounts_file_funds_a_new_chain() {
    let directory = Directory::new();
    let file = directory.path().join("accounts.json");
    let wallet = Wallet::stranger(1);
    // The published file repeats some accounts. The last entry of an account counts.
    let accounts = format!(
        r#"{{"{0}":{{"privateKey":"{1:064x}","amount":"5","nonce":0}},
            "{0}":{{"privateKey":"{1:064x}","amount":"1234000000000","nonce":3}}}}"#,
        wallet.hex(),
        1u128 + (1 << 100)
    );
    fs::write(&file, accounts).unwrap();
    let file = file.to_str().unwrap();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &["--accounts-file", file]);
    assert_eq!(balance(&node, &wallet.hex()), (1_234_000_000_000, 3));
    assert!(node.call("GetBalance", &json!([Wallet::funded(0).hex()])).is_err());
    let payment = wallet.payment(4, Wallet::stranger(2).address(), 7);
    node.result("CreateTransaction", &json!([payment.json()]));
}

#[test]
fn bad_accounts_file_is_explained() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let file = directory.path().join("accounts.json");
    let path = file.to_str().unwrap();
    check_refused(&Node::try_start_in(&data, &["--accounts-file", path]).unwrap_err(), &[path]);
    let address = "7bb3b0e8a59f3f61d9bff038f4aeb42cae2ecce8";
    fs::create_dir(&file).unwrap();
    check_refused(&Node::try_start_in(&data, &["--accounts-file", path]).unwrap_err(), &[path]);
    fs::remove_dir(&file).unwrap();
    fs::write(&file, b"{\"\xff\":1}").unwrap();
    check_refused(&Node::try_start_in(&data, &["--accounts-file", path]).unwrap_err(), &[path]);
    for (text, words) in [
        ("{".to_owned(), vec![path]),
        (r#"{"00":{"amount":"1","nonce":0}}"#.to_owned(), vec![path, "00"]),
        (format!(r#"{{"{address}":{{"amount":"x","nonce":0}}}}"#), vec![path, address, "amount"]),
        (format!(r#"{{"{address}":{{"amount":"{}","nonce":0}}}}"#, "9".repeat(40)), vec![path, address, "amount"]),
    ] {
        fs::write(&file, text).unwrap();
        check_refused(&Node::try_start_in(&data, &["--accounts-file", path]).unwrap_err(), &words);
    }
    // A failed start leaves no incomplete chain.
    Node::start_in(&data, &[]);
}

#[test]
fn secret_key_of_the_node_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &[]);
    pay_once(&node, 0);
    let loose: Vec<_> = fs::read_dir(&data)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.file_name().to_string_lossy().contains("key"))
        .filter(|entry| entry.metadata().unwrap().permissions().mode() & 0o077 != 0)
        .collect();
    assert!(loose.is_empty(), "{loose:?}");
}
