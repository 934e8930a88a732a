//! Verifies published and generated state proofs with a trie of another project.

use serde_json::Value;
use sha2::{Digest, Sha256};
use silica_client_rs::prove;

fn text<'a>(case: &'a Value, member: &str) -> &'a str {
    case[member].as_str().unwrap_or_else(|| panic!("{member} of {case}"))
}

fn nodes(case: &Value, member: &str) -> Vec<Vec<u8>> {
    case[member].as_array().unwrap().iter().map(|node| hex::decode(node.as_str().unwrap()).unwrap()).collect()
}

fn variable_hash(case: &Value) -> String {
    let indices = case["indices"].as_array().unwrap().iter().map(|index| index.as_str().unwrap());
    let parts = [text(case, "address"), text(case, "vname")].into_iter().chain(indices);
    hex::encode(Sha256::digest(parts.map(|part| format!("{part}\x16")).collect::<String>()))
}

#[test]
fn vectors_are_proved_or_refused() {
    let vectors = include_str!("../../../data/vectors/stateproof.json");
    let vectors: Value = serde_json::from_str(vectors).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert!(cases.iter().filter(|case| text(case, "name").starts_with("published")).count() >= 2);
    assert!(cases.iter().any(|case| case["valid"] == false));

    for case in cases {
        let proved = prove(
            &hex::decode(text(case, "state_root")).unwrap(),
            text(case, "address"),
            text(case, "variable_hash"),
            nodes(case, "accountProof"),
            nodes(case, "stateProof"),
        );
        let name = text(case, "name");
        if case["valid"] == false {
            proved.expect_err(name);
            continue;
        }
        let proved = proved.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(hex::encode(&proved.account), text(case, "account"), "{name}");
        assert_eq!(hex::encode(&proved.storage_root), text(case, "storage_root"), "{name}");
        assert_eq!(proved.value.map(hex::encode).as_deref(), case["value"].as_str(), "{name}");
        assert_eq!(variable_hash(case), text(case, "variable_hash"), "{name}");
    }
}
