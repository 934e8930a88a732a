//! Fuzz targets for all code that reads untrusted bytes.
//!
//! Each module has two functions. `check` takes arbitrary bytes, and panics if a property does not hold. `seeds` makes
//! a first corpus from the test vectors. `cargo fuzz run TARGET` needs a nightly compiler. `cargo test` works with any
//! compiler. It runs `check` over the seeds, and over every input that failed before.

pub mod address;
pub mod council;
pub mod cursors;
pub mod proof;
pub mod request;
pub mod scilla;
pub mod transaction;

/// A target: its name, `check`, and `seeds`.
pub type Target = (&'static str, fn(&[u8]), fn() -> Vec<Vec<u8>>);

/// All targets.
pub const TARGETS: [Target; 13] = [
    ("address", address::check, address::seeds),
    ("council_batch", council::batch::check, council::batch::seeds),
    ("council_cosign", council::cosign::check, council::cosign::seeds),
    ("council_entry", council::entry::check, council::entry::seeds),
    ("council_network", council::network::check, council::network::seeds),
    ("cursors", cursors::check, cursors::seeds),
    ("proof", proof::check, proof::seeds),
    ("request", request::check, request::seeds),
    ("scilla_check", scilla::check::check, scilla::check::seeds),
    ("scilla_json", scilla::json::check, scilla::json::seeds),
    ("scilla_run", scilla::run::check, scilla::run::seeds),
    ("scilla_syntax", scilla::syntax::check, scilla::syntax::seeds),
    ("transaction", transaction::check, transaction::seeds),
];

/// Returns the cases of a vector file.
fn cases(text: &str) -> Vec<serde_json::Value> {
    let vectors: serde_json::Value = serde_json::from_str(text).expect("vectors are JSON");
    vectors["cases"].as_array().expect("vectors are cases").clone()
}

/// Adds all texts in a JSON value to `found`.
fn texts(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => found.push(text.clone()),
        serde_json::Value::Array(elements) => elements.iter().for_each(|element| texts(element, found)),
        serde_json::Value::Object(members) => members.values().for_each(|member| texts(member, found)),
        _ => {}
    }
}
