//! Fuzz targets over everything that reads bytes from strangers.
//!
//! Each module has a `check` that takes arbitrary bytes and panics when a property does not hold, and `seeds` that
//! make a first corpus out of the test vectors. `cargo fuzz run TARGET` needs a nightly compiler; `cargo test` runs
//! `check` over the seeds, and over every input that once failed, with any.

pub mod address;
pub mod proof;
pub mod request;
pub mod scilla;
pub mod transaction;

/// A target: its name, what it checks, and where to start.
pub type Target = (&'static str, fn(&[u8]), fn() -> Vec<Vec<u8>>);

/// All targets.
pub const TARGETS: [Target; 8] = [
    ("address", address::check, address::seeds),
    ("proof", proof::check, proof::seeds),
    ("request", request::check, request::seeds),
    ("scilla_check", scilla::check::check, scilla::check::seeds),
    ("scilla_json", scilla::json::check, scilla::json::seeds),
    ("scilla_run", scilla::run::check, scilla::run::seeds),
    ("scilla_syntax", scilla::syntax::check, scilla::syntax::seeds),
    ("transaction", transaction::check, transaction::seeds),
];

/// Cases of a vector file.
fn cases(text: &str) -> Vec<serde_json::Value> {
    let vectors: serde_json::Value = serde_json::from_str(text).expect("vectors are JSON");
    vectors["cases"].as_array().expect("vectors are cases").clone()
}

/// Every text inside a JSON value.
fn texts(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => found.push(text.clone()),
        serde_json::Value::Array(elements) => elements.iter().for_each(|element| texts(element, found)),
        serde_json::Value::Object(members) => members.values().for_each(|member| texts(member, found)),
        _ => {}
    }
}
