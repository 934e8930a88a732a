//! Tests that run the commands and examples of the documentation, and compare their output.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn scilla(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scilla"));
    command.current_dir(root().join("contracts")).args(arguments).output().expect("the command starts")
}

/// A fenced block: the text after the opening fence, and the lines inside.
struct Block {
    info: String,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<_> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        let text = body.join("\n") + "\n";
        blocks.push(Block { info: info.to_owned(), text });
    }
    blocks
}

/// Splits a part of a console block into the command and its output. A backslash at the end of a line continues the
/// command on the next line.
fn command_and_output(session: &str) -> (&str, &str) {
    let ends = session.match_indices('\n').find(|(at, _)| !session[..*at].ends_with('\\'));
    ends.map_or((session, ""), |(at, _)| (&session[..at], &session[at + 1..]))
}

/// Runs a command line in a directory, and returns its output.
fn run(line: &str, directory: &Path) -> String {
    let command = Path::new(env!("CARGO_BIN_EXE_scilla")).parent().expect("it lies in a directory");
    let path = format!("{}:{}", command.display(), env::var("PATH").unwrap_or_default());
    let shell = Command::new("sh")
        .arg("-c")
        .arg(format!("{{ {line}\n}} 2>&1"))
        .current_dir(directory)
        .env("PATH", path)
        .output();
    String::from_utf8(shell.expect("the shell starts").stdout).expect("it prints text")
}

/// Copies the directory of the example contracts.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it can be made");
    for entry in fs::read_dir(from).expect("it can be read") {
        let entry = entry.expect("it can be read");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(source, target).expect("it can be copied");
        }
    }
}

/// A block with a file name is written to that file. In a console block, each `$` begins a command line, and its
/// output follows.
#[test]
fn the_guide_can_be_followed() {
    let guide = fs::read_to_string(root().join("docs/scilla.md")).expect("the guide is there");
    let directory = tempfile::tempdir().expect("there is room");
    copy(&root().join("contracts"), &directory.path().join("contracts"));
    let (mut files, mut commands) = (0, 0);
    for block in blocks(&guide) {
        if let Some((_, file)) = block.info.split_once(' ') {
            fs::write(directory.path().join(file), &block.text).expect("it can be written");
            files += 1;
        } else if block.info == "console" {
            for session in block.text.strip_prefix("$ ").expect("a console begins with a command").split("\n$ ") {
                let (line, expected) = command_and_output(session);
                assert_eq!(run(line, directory.path()).trim_end(), expected.trim_end(), "$ {line}");
                commands += 1;
            }
        }
    }
    assert!(files >= 6 && commands >= 12, "{files} files and {commands} commands were found");
}

#[test]
fn the_guide_begins_with_the_first_example() {
    let guide = fs::read_to_string(root().join("docs/scilla.md")).expect("the guide is there");
    let example = fs::read_to_string(root().join("contracts/hello_world/hello_world.scilla")).expect("it is there");
    let block = blocks(&guide).into_iter().find(|block| block.info == "ocaml hello_world.scilla");
    assert_eq!(block.expect("the guide has the contract").text, example);
}

/// The expected warnings of the examples.
///
/// ZRC-2 and ZRC-6 determine the names of public fields, and the messages that contracts must accept. So the examples
/// cannot avoid these warnings.
const WARNINGS: &[(&str, &[&str])] = &[
    (
        "auction/auction.scilla",
        &[
            "Unused transition parameter: from",
            "Unused transition parameter: to",
            "Unused transition parameter: token_id",
        ],
    ),
    ("crowdfunding/crowdfunding.scilla", &[]),
    ("escrow/Escrow.scillib", &[]),
    ("fungible_token/fungible_token.scilla", &[]),
    ("hello_world/hello_world.scilla", &["No transition in contract HelloWorld contains an accept statement"]),
    ("multisig_wallet/multisig_wallet.scilla", &[]),
    (
        "non_fungible_token/non_fungible_token.scilla",
        &[
            "Write only field: base_uri",
            "Write only field: royalty_fee_bps",
            "Write only field: royalty_recipient",
            "Write only field: token_uris",
            "Unused field: token_name",
            "Unused field: token_symbol",
        ],
    ),
    (
        "token_exchange/token_exchange.scilla",
        &[
            "No transition in contract TokenExchange contains an accept statement",
            "Unused transition parameter: initiator",
            "Unused transition parameter: sender",
            "Unused transition parameter: recipient",
            "Unused transition parameter: amount",
        ],
    ),
];

#[test]
fn the_examples_are_checked_and_formatted() {
    for (file, expected) in WARNINGS {
        let check = scilla(&["check", "-cf", "-libdir", "escrow", file]);
        let printed = String::from_utf8(check.stderr).expect("it prints text");
        assert!(check.status.success(), "{printed}");
        let warnings: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("warning: ")).collect();
        assert_eq!(warnings, *expected, "{file}");
        assert!(scilla(&["fmt", "-check", file]).status.success(), "{file} is not formatted");
    }
}

#[test]
fn no_example_is_forgotten() {
    let mut found = Vec::new();
    for directory in fs::read_dir(root().join("contracts")).expect("it is there") {
        let directory = directory.expect("it can be read").path();
        if !directory.is_dir() {
            continue;
        }
        for file in fs::read_dir(&directory).expect("it can be read") {
            let file = file.expect("it can be read").path();
            if file.extension().is_some_and(|extension| extension == "scilla" || extension == "scillib") {
                let name = file.strip_prefix(root().join("contracts")).expect("it lies there");
                found.push(name.to_str().expect("its name is text").to_owned());
            }
        }
    }
    found.sort();
    assert_eq!(found, WARNINGS.iter().map(|(file, _)| *file).collect::<Vec<_>>());
    let readme = fs::read_to_string(root().join("contracts/README.md")).expect("it is there");
    for file in found {
        let (directory, _) = file.split_once('/').expect("it lies in a directory");
        assert!(readme.contains(&format!("\n## {directory}\n")), "{directory} is not described");
    }
}
