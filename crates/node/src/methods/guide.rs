//! Tests of the worked example in `CONTRIBUTING.md`: its code compiles, and its golden example holds.

use std::sync::LazyLock;

use serde_json::Value;

use super::{FAMILIES, example, refusal};
use crate::{
    block_mode::BlockMode,
    rpc::{MethodTable, document_of, tests::fixture},
};

/// Returns the only code block in this language in the section `Add a method`.
fn code_block(language: &str) -> String {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/CONTRIBUTING.md")).unwrap();
    let (_, section) = page.split_once("\n## Add a method\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let fence = format!("\n```{language}\n");
    let (_, block) = section.split_once(&fence).unwrap();
    let (block, rest) = block.split_once("\n```\n").unwrap();
    assert!(!rest.contains(&fence), "the section has two blocks of {language}");
    format!("{block}\n")
}

/// Returns a method table with the methods of the node and the method of the example.
fn table() -> &'static MethodTable {
    static TABLE: LazyLock<MethodTable> =
        LazyLock::new(|| MethodTable::new([FAMILIES, &[example::ENTRIES]].concat().concat(), refusal));
    &TABLE
}

#[test]
fn code_on_the_page_is_the_compiled_code() {
    assert_eq!(code_block("rust"), include_str!("example.rs"), "CONTRIBUTING.md and methods/example.rs differ");
}

#[tokio::test]
async fn golden_example_on_the_page_holds() {
    let fixture = fixture(BlockMode::Manual).serving(table());
    let file: Value = serde_json::from_str(&code_block("json")).unwrap();
    let [entry] = example::ENTRIES else { panic!("the page has one method") };
    assert_eq!(file["method"], entry.name);
    let examples = file["examples"].as_array().unwrap();
    for example in examples {
        let request = &example["request"];
        assert_eq!(request["method"], entry.name);
        let response: Value = serde_json::from_str(&fixture.ask(&request.to_string()).await).unwrap();
        assert_eq!(response, example["response"], "{request}");
    }
    let results = examples.iter().filter(|example| example["response"].get("result").is_some()).count();
    assert!(results > 0 && results < examples.len(), "the page has a result and an error");
}

#[test]
fn doc_comments_on_the_page_are_the_descriptions_of_the_interface() {
    let document = document_of(example::ENTRIES.iter());
    let method = &document["methods"][0];
    let code = code_block("rust");
    for description in [&method["summary"], &method["params"][0]["description"]] {
        assert!(code.contains(&format!("/// {}\n", description.as_str().unwrap())), "{description}");
    }
    assert_eq!(method["x-weight"], 2);
}
