//! The OpenRPC document of methods, from their entries.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::entry::Entry;

/// Version of the OpenRPC specification that the document follows.
const OPENRPC: &str = "1.3.2";

/// Returns the OpenRPC document of the methods with these entries.
pub(crate) fn document_of<'a>(entries: impl Iterator<Item = &'a Entry>) -> Value {
    let mut generator = SchemaSettings::draft07()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let methods: Vec<_> = entries.map(|entry| describe(entry, &mut generator)).collect();
    json!({
        "openrpc": OPENRPC,
        "info": {
            "title": "Silica JSON-RPC",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The interface of a Zilliqa node of generation 8.1, over HTTP POST to any path. \
                            Parameters are positional. Methods with x-for-developers do things that no client of a \
                            real network can do. Only callers on the machine of the node may call them, and the \
                            operator can switch them off. A call takes x-weight units of the rate limit of its \
                            client per second. The default is 1.",
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
