//! The OpenRPC document of the interface, and the method that returns it.

use std::{borrow::Cow, sync::LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::table;
use crate::rpc::{Action, Entry, Shape, document_of};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] =
    &[Entry::new("rpc.discover", Action::Discover, Shape::of::<Discover, Document>()).of_weight(20)];

/// Returns the OpenRPC document of all methods as indented JSON text.
pub fn openrpc() -> String {
    format!("{:#}", document())
}

/// Returns the OpenRPC document of all methods.
pub(crate) fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document_of(table().entries().iter()));
    &DOCUMENT
}

/// This OpenRPC document, with the methods that the client may call.
#[derive(Debug, Deserialize, JsonSchema)]
struct Discover {}

/// An OpenRPC document.
#[derive(Debug)]
enum Document {}

impl JsonSchema for Document {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OpenRpcDocument".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "$ref": "https://meta.open-rpc.org/" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_document_is_the_one_of_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/openrpc.json");
        let committed: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(&committed == document(), "run `silica openrpc > docs/openrpc.json` and review what changed");
    }

    #[test]
    fn every_method_and_parameter_is_described() {
        for method in document()["methods"].as_array().unwrap() {
            let name = &method["name"];
            assert!(!method["summary"].as_str().unwrap().is_empty(), "{name} has no summary");
            for param in method["params"].as_array().unwrap() {
                assert!(param["description"].is_string(), "{param} of {name} has no description");
                assert!(param["schema"].is_object(), "{param} of {name} has no type");
            }
        }
    }

    #[test]
    fn references_lead_somewhere() {
        fn check(value: &Value) {
            match value {
                Value::Object(members) => {
                    if let Some(path) = members.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#')) {
                        assert!(document().pointer(path).is_some(), "{path}");
                    }
                    members.values().for_each(check);
                }
                Value::Array(elements) => elements.iter().for_each(check),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        check(document());
    }
}
