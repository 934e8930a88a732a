//! The README: its commands run, and have the described results.

use std::process::Command;

use serde_json::{Value, json};
use silica_tests::{Node, Wallet};

const README: &str = include_str!("../../README.md");

/// Returns the `curl` lines of the README with the URL of this node.
fn curl_lines(node: &Node) -> Vec<String> {
    let lines = README.lines().filter(|line| line.starts_with("curl "));
    lines.map(|line| line.replace("http://127.0.0.1:5555", &node.url())).collect()
}

#[test]
fn first_payment_works_as_pasted() {
    let node = Node::start(&[]);
    let results: Vec<Value> = curl_lines(&node)
        .iter()
        .map(|line| {
            let output = Command::new("sh").args(["-c", line]).output().unwrap();
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {line}"));
            answer.get("result").unwrap_or_else(|| panic!("{line}\n{answer}")).clone()
        })
        .collect();
    let payment = Wallet::funded(0).payment(1, Wallet::funded(1).address(), 1_000_000_000_000);
    let [created, read, block, balance] = &results[..] else { panic!("four lines: {results:?}") };
    assert_eq!(created["TranID"], payment.hash());
    assert_eq!((&read["ID"], &read["receipt"]["epoch_num"]), (&json!(payment.hash()), &json!("1")));
    assert_eq!(block["header"]["NumTxns"], 1);
    assert_eq!(balance["balance"], "900000000001000000000000");
}

#[test]
fn readme_has_two_commands() {
    let mut in_shell = false;
    let mut commands: Vec<&str> = Vec::new();
    for line in README.lines() {
        match line {
            "```sh" => in_shell = true,
            "```" => in_shell = false,
            line if in_shell && !line.starts_with("curl ") => commands.push(line),
            _ => {}
        }
    }
    assert_eq!(commands, ["cargo run --release", "cargo test --workspace"]);
}
