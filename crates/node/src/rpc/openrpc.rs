//! The OpenRPC document of the interface, made from the method table.

use std::{borrow::Cow, sync::LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{METHODS, method::Entry};

/// Version of the OpenRPC specification that the document follows.
const OPENRPC: &str = "1.3.2";

/// Returns the document of all methods.
pub(crate) fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document_of(|_, _| true));
    &DOCUMENT
}

/// Returns the document of the methods that satisfy a condition, which gets their positions in the table too.
pub(super) fn document_of(is_offered: impl Fn(usize, &Entry) -> bool) -> Value {
    let mut generator = SchemaSettings::draft07()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let offered = METHODS.iter().enumerate().filter(|(position, entry)| is_offered(*position, entry));
    let methods: Vec<_> = offered.map(|(_, entry)| describe(entry, &mut generator)).collect();
    json!({
        "openrpc": OPENRPC,
        "info": {
            "title": "Silica JSON-RPC",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The interface of a Zilliqa node of generation 8.1, over HTTP POST to any path. \
                            Parameters are positional. Methods with x-for-developers do what no client of a real \
                            network can do, and are answered unless that is switched off, to callers on the \
                            machine of the node. A call counts x-weight, or 1, of what its client may make each \
                            second.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "name": "local", "url": "http://127.0.0.1:5555" }],
        "methods": methods,
        "components": { "schemas": generator.take_definitions(true) },
    })
}

fn describe(entry: &Entry, generator: &mut SchemaGenerator) -> Value {
    let params = (entry.shape.params)(generator);
    let description = params.get("description").and_then(Value::as_str).unwrap_or_default();
    let none = Map::new();
    let properties = params.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = params.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let params: Vec<_> = (entry.shape.fields)()
        .iter()
        .map(|name| {
            let mut schema = properties.get(*name).cloned().unwrap_or(Value::Bool(true));
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let required = required.iter().any(|required| required == name);
            json!({ "name": name, "description": description, "required": required, "schema": schema })
        })
        .collect();
    let summary = description.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let mut method = json!({
        "name": entry.name,
        "summary": summary,
        "description": description,
        "paramStructure": "by-position",
        "params": params,
        "result": { "name": "result", "schema": (entry.shape.result)(generator) },
    });
    if let (false, Some(method)) = (entry.aliases.is_empty(), method.as_object_mut()) {
        method.insert("x-aliases".to_owned(), json!(entry.aliases));
    }
    if let (true, Some(method)) = (entry.for_developers, method.as_object_mut()) {
        method.insert("x-for-developers".to_owned(), json!(true));
    }
    if let (2.., Some(method)) = (entry.weight.get(), method.as_object_mut()) {
        method.insert("x-weight".to_owned(), json!(entry.weight));
    }
    method
}

/// The name of the method that answers with this document.
pub(super) const DISCOVER: &str = "rpc.discover";

/// This document, with the methods that the caller may call.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Discover {}

/// An OpenRPC document.
#[derive(Debug)]
pub(crate) enum Document {}

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
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openrpc.json");
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
