//! The six example programs are short: a program of a user has few lines.
//!
//! All lines of `main` count, from its first line to its closing brace, in the form of `cargo fmt`. Blank lines and
//! comments do not count. The example has no other function, except a test. Imports, attributes and constants, such as
//! the source of a contract, do not count.

use std::fs;

use crate::source::workspace;

/// The programs of [docs/library.md](../../docs/library.md) with a limit, and the largest number of lines of each.
const LIMITS: [(&str, usize); 6] = [
    ("crypto/examples/wallet.rs", 15),
    ("proof/examples/verifier.rs", 10),
    ("scilla/examples/contract.rs", 15),
    ("chain/examples/test_chain.rs", 20),
    ("state/examples/state.rs", 12),
    ("node/examples/node.rs", 8),
];

/// Returns the number of lines of the only function of a program.
fn user_lines(program: &str) -> Result<usize, String> {
    let (program, _) = program.split_once("\n#[test]\n").unwrap_or((program, ""));
    let is_function = |line: &&str| line.trim_start().starts_with("fn ") || line.contains(" fn ");
    let functions = program.lines().filter(is_function).count();
    if functions != 1 {
        return Err(format!("expected only the function main, got {functions} functions"));
    }
    let main = program.lines().skip_while(|line| !line.contains("fn main("));
    let mut count = 0;
    for line in main {
        count += usize::from(!line.trim().is_empty() && !line.trim_start().starts_with("//"));
        if line == "}" {
            return Ok(count);
        }
    }
    Err("main has no closing brace in the first column".to_owned())
}

#[test]
fn programs_of_users_are_short() {
    for (path, most) in LIMITS {
        let program = fs::read_to_string(workspace().join("crates").join(path)).unwrap();
        let lines = user_lines(&program).unwrap_or_else(|fault| panic!("{path}: {fault}"));
        assert!(lines <= most, "{path}: {lines} lines, expected at most {most}");
    }
}

#[test]
fn lines_of_main_are_counted() {
    let program = "use a;\nconst B: &str = \"\n\";\n\nfn main() {\n    // A comment.\n    a();\n\n    b(\n    );\n}\n";
    assert_eq!(user_lines(program), Ok(5));
    assert_eq!(user_lines(&format!("{program}\n#[test]\nfn example_runs() {{\n}}\n")), Ok(5));
    assert!(user_lines(&format!("{program}\nfn help() {{\n}}\n")).is_err());
    assert!(user_lines("fn main() {\n").is_err());
    assert!(user_lines("").is_err());
}
