//! Runs the programs of long measurements with small numbers. The programs end with an error if their data are wrong.

use std::{
    env,
    os::unix::process::ExitStatusExt,
    process::{Command, Output},
};

/// The signal that a program sends itself instead of a stop.
const SIGKILL: i32 = 9;

/// Returns a command of an example of this package. Cargo builds the examples before the tests, except with `--test`.
fn example(name: &str) -> Command {
    let test = env::current_exe().expect("this test is a file");
    let build = test.ancestors().nth(2).expect("the test is in a directory of the build");
    let mut command = Command::new(build.join("examples").join(name));
    // Settings of the environment change the measurements.
    for name in ["ACCESS", "CACHE_MB", "CHECKPOINT_MB", "DURABILITY", "INDEX", "LOAD_STEP", "OF"] {
        command.env_remove(name);
    }
    command
}

/// Returns the output of a program that has stopped in order, or with `SIGKILL`.
fn output(command: &mut Command, is_killed: bool) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the examples are built");
    let text = String::from_utf8(stdout).expect("the output is text");
    let error = String::from_utf8_lossy(&stderr);
    let is_as_expected = if is_killed { status.signal() == Some(SIGKILL) } else { status.success() };
    assert!(is_as_expected, "{command:?}: {status}\n{text}\n{error}");
    text
}

/// Returns the line that begins with these words.
fn line<'a>(text: &'a str, words: &str) -> &'a str {
    let found = text.lines().find(|line| line.starts_with(words));
    found.unwrap_or_else(|| panic!("no line begins with {words:?}:\n{text}"))
}

/// Loads a store, changes its items, kills the program, and opens the store again.
fn state_load(subject: &str) {
    let dir = tempfile::tempdir().expect("a directory for the store");
    let run = |command: &str, numbers: &[&str]| {
        let mut program = example("state_load");
        program.env("OF", subject).env("LOAD_STEP", "700").arg(command).arg(dir.path()).args(numbers);
        output(&mut program, command == "kill-more")
    };
    // Block 0 has no items, and the next three blocks have all items.
    let loaded = run("load", &["2000"]);
    line(&loaded, "2000 loaded in ");
    line(&loaded, "closed in ");
    let changed = run("more", &["2000", "60", "100"]);
    line(&changed, "opened: Ready { head: BlockNumber(3), rebuilt: None }");
    line(&changed, "sustained: ");
    line(&changed, "proof, 49 blocks back, warm: ");
    line(&changed, "block 63 has the state root ");
    let killed = run("kill-more", &["2000", "10", "100"]);
    line(&killed, "opened: Ready { head: BlockNumber(63), rebuilt: None }");
    let root = line(&killed, "block 73 has the state root ");
    assert_ne!(root.split_whitespace().last(), line(&changed, "block 63 ").split_whitespace().last());
    let opened = run("open", &["2000"]);
    assert!(line(&opened, "opened in ").contains("head: BlockNumber(73)"), "{opened}");
    assert_eq!(line(&opened, "block 73 "), root);
}

#[test]
fn killed_store_has_all_accounts() {
    state_load("accounts");
}

#[test]
fn killed_store_has_all_entries() {
    state_load("entries");
}

#[test]
fn killed_store_has_all_contracts() {
    state_load("contracts");
}

#[test]
fn killed_record_has_all_payments() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let [command, numbers @ ..] = args else { panic!("there is a command") };
        output(example("record_load").arg(command).arg(dir.path()).args(numbers), *command == "kill")
    };
    let written = run(&["write", "1000"]);
    line(&written, "0 payments, ");
    line(&written, "1000 payments in ");
    line(&written, "the history index has the last block ");
    line(&run(&["kill", "2000"]), "1000 payments in ");
    let opened = run(&["open"]);
    line(&opened, "2000 payments, ");
    line(&opened, "payment by hash, again: ");
    line(&opened, "index: ");
}

#[test]
fn requests_have_their_responses() {
    let text = output(example("rpc").env("DIVISOR", "50"), false);
    // The error names the rows in quotation marks.
    let error = error_of_an_unknown_row();
    let rows: Vec<_> = error.split('"').skip(1).step_by(2).collect();
    assert!(rows.len() >= 11, "{error}");
    for row in rows {
        line(&text, &format!("{row}: "));
    }
    let with_blocks = line(&text, "CreateTransaction, with its share of blocks ");
    assert!(with_blocks.contains("; 61 payments in "), "{with_blocks}");
}

#[test]
fn argument_chooses_rows() {
    let text = output(example("rpc").env("DIVISOR", "50").arg("first_read"), false);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(line(&text, "GetTransaction_first_read: ").contains("; 21 payments in 2 blocks"), "{text}");
    assert!(error_of_an_unknown_row().starts_with("NAME: expected a part of one of "));
}

fn error_of_an_unknown_row() -> String {
    let unknown = example("rpc").arg("GetBalances").output().expect("the examples are built");
    assert_eq!(unknown.status.code(), Some(2));
    String::from_utf8(unknown.stderr).expect("the error is text")
}
