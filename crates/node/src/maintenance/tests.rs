//! Tests of interrupted and continued checks.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::*;
use crate::{Config, Node};

/// Runs a node over a directory, and sends it requests.
fn with_node(dir: &Path, requests: &[(&str, Value)]) {
    Runtime::new().unwrap().block_on(async {
        let node = Node::start(Config::in_dir(dir)).await.unwrap();
        for (method, params) in requests {
            node.request::<Value>(method, params).await.unwrap();
        }
        node.stop().await.unwrap();
    });
}

/// Requests for a block with an edit, a block with a payment, empty blocks, and another payment. Chains with different
/// payers differ from block 1 on.
fn blocks(payer: u8) -> [(&'static str, Value); 4] {
    let address = format!("0x{}", format!("{payer:02x}").repeat(20));
    let payment =
        json!([{"senderAddr": address, "toAddr": "0x00000000000000000000000000000000000000ff", "amount": "1000"}]);
    let payment = ("silica_sendTransaction", payment);
    let edit = ("silica_addBalance", json!([address, "5000000000000"]));
    [edit, payment.clone(), ("IncreaseBlocknum", json!([105])), payment]
}

fn check(dir: &Path, is_continued: bool, step: &mut dyn FnMut()) -> Result<DbReport, MaintenanceError> {
    Check { is_continued, each: Duration::ZERO, step }.run(dir)
}

/// Runs a check that ends in its step `number`, counted from 1. Returns `false` if the check has fewer steps.
fn interrupt(dir: &Path, is_continued: bool, number: usize) -> bool {
    let mut steps = 0;
    let mut step = || {
        steps += 1;
        if steps == number {
            resume_unwind(Box::new("interrupted"));
        }
    };
    catch_unwind(AssertUnwindSafe(|| check(dir, is_continued, &mut step))).is_err()
}

/// Returns the report without the work of an earlier check.
fn results(report: DbReport) -> DbReport {
    DbReport { continued: None, ..report }
}

/// Returns the report without the number of state diffs. The node removes state diffs between two checks.
fn without_diffs(mut report: DbReport) -> DbReport {
    report.check.as_mut().unwrap().record.diffs = 0;
    report
}

#[test]
fn check_continues_after_an_interruption_at_any_step() {
    let dir = tempfile::tempdir().unwrap();
    with_node(dir.path(), &blocks(1));
    let expected = check_db(dir.path()).unwrap();
    assert_eq!(expected.continued, None);
    let mut number = 1;
    while interrupt(dir.path(), false, number) {
        let continued = check(dir.path(), true, &mut || {}).unwrap();
        assert_eq!(results(continued), expected, "step {number}");
        let Continued { verified, .. } = continued.continued.unwrap();
        assert!(verified.is_some(), "step {number}");
        number += 1;
    }
    assert!(number > 6, "the check has only {number} steps");
    assert!(!dir.path().join("check").exists(), "a whole check leaves no files");
}

#[test]
fn check_continues_with_the_new_blocks_only() {
    let dir = tempfile::tempdir().unwrap();
    with_node(dir.path(), &blocks(1));
    let first = continue_db_check(dir.path()).unwrap();
    assert_eq!(first.continued, None);
    let steps = |is_continued| {
        let mut steps = 0;
        let report = check(dir.path(), is_continued, &mut || steps += 1).unwrap();
        (steps, report)
    };
    let again = steps(true);
    assert_eq!((again.0, results(again.1)), (0, first));
    let up_to_first = Some(Continued { verified: first.latest, executed: first.latest });
    assert_eq!(again.1.continued, up_to_first);
    with_node(dir.path(), &blocks(2));
    // An interruption leaves the scratch store between two checks without a fault.
    assert!(interrupt(dir.path(), true, 7));
    with_node(dir.path(), &blocks(3)[..1]);
    let (_, continued) = steps(true);
    with_node(dir.path(), &blocks(4)[..1]);
    let (few, last) = steps(true);
    assert_eq!(last.continued, Some(Continued { verified: continued.latest, executed: continued.latest }));
    let (all, whole) = steps(false);
    assert_eq!(without_diffs(results(last)), without_diffs(whole));
    assert!(few < all, "{few} of {all} steps");
}

#[test]
fn check_begins_again_without_valid_progress() {
    let dir = tempfile::tempdir().unwrap();
    with_node(dir.path(), &blocks(1));
    let expected = check_db(dir.path()).unwrap();
    let progress = dir.path().join("check/progress");
    let store = dir.path().join("check/store");
    let damages: [&dyn Fn(); 5] = [
        &|| fs::remove_file(&progress).unwrap(),
        &|| fs::write(&progress, "").unwrap(),
        &|| fs::write(&progress, fs::read_to_string(&progress).unwrap().replace("\"rows\":", "\"rows\":1")).unwrap(),
        &|| fs::write(&progress, [0xff; 100]).unwrap(),
        // The scratch store of another chain.
        &|| {
            let other = tempfile::tempdir().unwrap();
            with_node(other.path(), &blocks(9));
            continue_db_check(other.path()).unwrap();
            fs::remove_dir_all(&store).unwrap();
            fs::rename(other.path().join("check/store"), &store).unwrap();
        },
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        assert_eq!(results(continue_db_check(dir.path()).unwrap()), expected);
        damage();
        assert_eq!(continue_db_check(dir.path()).unwrap(), expected, "damage {number}");
    }
}

/// Another process uses the store in `check/`, so the check cannot open it.
#[test]
fn check_that_cannot_open_its_store_keeps_the_progress() {
    let dir = tempfile::tempdir().unwrap();
    with_node(dir.path(), &blocks(1));
    let expected = continue_db_check(dir.path()).unwrap();
    let used = Store::open(&dir.path().join("check/store"), StoreOptions::default()).unwrap();
    let error = continue_db_check(dir.path()).unwrap_err();
    assert!(matches!(error, MaintenanceError::Open { .. }), "{error:?}");
    used.close().unwrap();
    let continued = continue_db_check(dir.path()).unwrap();
    assert_eq!(continued.continued, Some(Continued { verified: expected.latest, executed: expected.latest }));
}

#[test]
fn check_without_room_for_its_progress_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    with_node(dir.path(), &blocks(1));
    let expected = check_db(dir.path()).unwrap();
    // A directory in place of the draft lets each write of the progress fail.
    let draft = dir.path().join("check/progress.new");
    let mut made = false;
    let mut step = || {
        if !made {
            fs::create_dir(&draft).unwrap();
            made = true;
        }
    };
    assert_eq!(check(dir.path(), false, &mut step).unwrap(), expected);
}

#[test]
fn check_begins_again_after_a_revert() {
    let dir = tempfile::tempdir().unwrap();
    with_node(dir.path(), &blocks(1));
    continue_db_check(dir.path()).unwrap();
    // The progress of a chain with other blocks.
    let other = tempfile::tempdir().unwrap();
    with_node(other.path(), &blocks(2));
    let expected = check_db(other.path()).unwrap();
    fs::rename(dir.path().join("check"), other.path().join("check")).unwrap();
    assert_eq!(continue_db_check(other.path()).unwrap(), expected);
}
