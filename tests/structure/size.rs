//! No source file of a crate has more than 500 lines of code.
//!
//! A line of code has at least one token. Blank lines, comments, documentation and code that only tests compile do not
//! count.

use std::collections::BTreeMap;

use crate::source::Crate;

/// Largest number of lines of code in a file.
const MOST: usize = 500;

/// Exceptions: larger files, each with the reason.
const LARGER: [(&str, &str); 0] = [];

/// Returns the files that are too large, and the exceptions that are not necessary.
fn faults(crates: &[Crate], exceptions: &BTreeMap<&str, &str>) -> Vec<String> {
    let mut unused = exceptions.clone();
    let mut faults = Vec::new();
    for file in crates.iter().flat_map(|krate| &krate.files).filter(|file| file.lines.len() > MOST) {
        if unused.remove(file.path.as_str()).is_none() {
            faults.push(format!("{}: {} lines of code, expected at most {MOST}", file.path, file.lines.len()));
        }
    }
    faults.extend(unused.keys().map(|path| format!("{path}: at most {MOST} lines of code, remove it from LARGER")));
    faults
}

#[test]
fn no_file_has_more_than_500_lines_of_code() {
    let faults = faults(&Crate::all(), &LARGER.into());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_file_that_is_too_large_needs_an_exception() {
    let large = "const A: u8 = 0;\n".repeat(MOST + 1);
    let tested = format!("{}\n// A comment.\n\n#[cfg(test)]\nmod tests {{\n{large}}}", "fn f() {}\n".repeat(MOST));
    let root = "//! Documentation.\nmod large;\nmod tested;";
    let crates = [Crate::in_memory("sample", &[("lib.rs", root), ("large.rs", &large), ("tested.rs", &tested)])];
    let path = "crates/sample/src/large.rs";
    assert_eq!(faults(&crates, &BTreeMap::new()), [format!("{path}: 501 lines of code, expected at most 500")]);
    assert_eq!(faults(&crates, &[(path, "a table")].into()), [""; 0]);
    let tested = "crates/sample/src/tested.rs";
    let stale = [format!("{tested}: at most 500 lines of code, remove it from LARGER")];
    assert_eq!(faults(&crates, &[(path, "a table"), (tested, "a table")].into()), stale);
}
