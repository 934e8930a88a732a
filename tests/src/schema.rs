//! The part of JSON Schema that the OpenRPC document uses. The module reports faults of values, and makes valid values.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::Dice;

/// Path of the schemas to which other schemas refer.
const COMPONENTS: &str = "#/components/schemas/";

/// Maximum number of items of a generated array at the top level, if the schema has no limit. The number decreases by
/// one with each level of nesting.
const DEPTH: u64 = 3;

/// An OpenRPC document.
#[derive(Debug)]
pub struct Document {
    json: Value,
    patterns: BTreeMap<String, Regex>,
}

impl Document {
    /// Returns the document of a JSON value.
    ///
    /// # Panics
    ///
    /// If a pattern in the document is invalid.
    pub fn new(json: Value) -> Self {
        let mut patterns = BTreeMap::new();
        collect_patterns(&json, &mut patterns);
        Self { json, patterns }
    }

    /// Returns the methods of the document.
    ///
    /// # Panics
    ///
    /// If the document has no methods.
    pub fn methods(&self) -> &[Value] {
        self.json.get("methods").and_then(Value::as_array).expect("a document lists methods")
    }

    /// Returns the schema to which a reference points, or the schema itself if it is not a reference. A reference to
    /// another document gives a schema that accepts all values.
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let Some(path) = schema.get("$ref").and_then(Value::as_str) else { return schema };
        match path.strip_prefix(COMPONENTS) {
            Some(name) => {
                let schemas = self.json.pointer("/components/schemas");
                schemas.and_then(|schemas| schemas.get(name)).expect("references lead somewhere")
            }
            None => &Value::Bool(true),
        }
    }

    /// Returns the fault of a value that does not match a schema, or `None` if it matches.
    ///
    /// # Panics
    ///
    /// If the schema has a keyword that this module does not support.
    pub fn fault(&self, schema: &Value, value: &Value) -> Option<String> {
        let schema = self.resolve(schema);
        let Some(rules) = schema.as_object() else {
            return (schema == &json!(false)).then(|| format!("{value} where nothing may be"));
        };
        rules.iter().find_map(|(rule, wanted)| self.breach(rules, rule, wanted, value))
    }

    /// Returns the reason why a value breaks a rule of a schema, or `None` if it follows the rule.
    fn breach(&self, rules: &Map<String, Value>, rule: &str, wanted: &Value, value: &Value) -> Option<String> {
        let broken = |fits: bool| (!fits).then(|| format!("{} is not of {rule} {wanted}", shortened(value)));
        let of_list = |wanted: &Value| wanted.as_array().cloned().unwrap_or_default();
        match rule {
            // For the following rules, a value of another type breaks the rule.
            "type" => {
                let is = |kind: &Value| kind.as_str().is_some_and(|kind| is_of_type(value, kind));
                broken(is(wanted) || of_list(wanted).iter().any(is))
            }
            "const" => broken(value == wanted),
            "enum" => broken(of_list(wanted).contains(value)),
            "pattern" => broken(value.as_str().is_none_or(|text| self.matches(wanted, text))),
            "minimum" => broken(value.as_f64().is_none_or(|value| value >= wanted.as_f64().unwrap_or(f64::NAN))),
            "maximum" => broken(value.as_f64().is_none_or(|value| value <= wanted.as_f64().unwrap_or(f64::NAN))),
            "minItems" => {
                broken(value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap_or(0)))
            }
            "maxItems" => {
                broken(value.as_array().is_none_or(|items| items.len() as u64 <= wanted.as_u64().unwrap_or(0)))
            }
            "required" => broken(value.as_object().is_none_or(|object| {
                of_list(wanted).iter().filter_map(Value::as_str).all(|name| object.contains_key(name))
            })),
            "properties" => members(wanted).find_map(|(name, schema)| self.fault_in(name, schema, value.get(name)?)),
            "additionalProperties" => {
                let named = |name: &str| rules.get("properties").is_some_and(|named| named.get(name).is_some());
                let others = members(value).filter(|(name, _)| !named(name));
                others.into_iter().find_map(|(name, value)| self.fault_in(name, wanted, value))
            }
            "items" => value.as_array()?.iter().enumerate().find_map(|(at, item)| {
                let schema = if wanted.is_array() { wanted.get(at)? } else { wanted };
                self.fault_in(&at.to_string(), schema, item)
            }),
            "allOf" => of_list(wanted).iter().find_map(|schema| self.fault(schema, value)),
            "anyOf" => broken(of_list(wanted).iter().any(|schema| self.fault(schema, value).is_none())),
            "oneOf" => broken(of_list(wanted).iter().filter(|schema| self.fault(schema, value).is_none()).count() == 1),
            "description" | "title" | "examples" | "default" | "format" => None,
            other => panic!("schemas say {other}, which is not understood"),
        }
    }

    fn fault_in(&self, name: &str, schema: &Value, value: &Value) -> Option<String> {
        self.fault(schema, value).map(|fault| format!("{name}: {fault}"))
    }

    fn matches(&self, pattern: &Value, text: &str) -> bool {
        let pattern = pattern.as_str().and_then(|pattern| self.patterns.get(pattern));
        pattern.expect("the patterns were collected").is_match(text)
    }

    /// Returns a value that matches a schema: a `known` value of the referenced schema, an example, or a generated
    /// value.
    ///
    /// # Panics
    ///
    /// If no value is known for the schema, or if the value does not match the schema.
    pub fn fitting(&self, schema: &Value, known: &BTreeMap<&str, Vec<Value>>, dice: &mut Dice) -> Value {
        let known = |schema: &Value| known.get(schema["$ref"].as_str()?.strip_prefix(COMPONENTS)?).cloned();
        let value = self.made_up(schema, &known, DEPTH, dice);
        assert_eq!(self.fault(schema, &value), None, "what is made up fits");
        value
    }

    fn made_up(
        &self,
        schema: &Value,
        known: &dyn Fn(&Value) -> Option<Vec<Value>>,
        depth: u64,
        dice: &mut Dice,
    ) -> Value {
        let values = known(schema).unwrap_or_default();
        if let Some(value) = dice.choose(&values) {
            return value.clone();
        }
        let schema = self.resolve(schema);
        let choices = |rule| schema.get(rule).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if let Some(value) = schema.get("const").or_else(|| dice.choose(choices("enum"))) {
            return value.clone();
        }
        if dice.below(2) == 0
            && let Some(example) = dice.choose(choices("examples"))
        {
            return example.clone();
        }
        if let Some(schema) = dice.choose(choices("oneOf")).or_else(|| dice.choose(choices("anyOf"))) {
            return self.made_up(schema, known, depth, dice);
        }
        let kinds = match schema.get("type") {
            None => ["null", "boolean", "integer", "string", "array"].map(Value::from).to_vec(),
            Some(kinds) => kinds.as_array().cloned().unwrap_or_else(|| vec![kinds.clone()]),
        };
        match dice.choose(&kinds).and_then(Value::as_str) {
            Some("null") => Value::Null,
            Some("boolean") => json!(dice.below(2) == 0),
            Some("array") => {
                let most = schema["maxItems"].as_u64().unwrap_or(depth);
                let items =
                    (0..dice.below(most.saturating_add(1)).max(schema["minItems"].as_u64().unwrap_or(0))).map(|_| {
                        self.made_up(schema.get("items").unwrap_or(&Value::Null), known, depth.saturating_sub(1), dice)
                    });
                items.collect()
            }
            Some("object") => {
                let required =
                    |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
                let mut object = Map::new();
                for (name, schema) in members(&schema["properties"]) {
                    if required(name) || dice.below(2) == 0 {
                        object.insert(name.clone(), self.made_up(schema, known, depth.saturating_sub(1), dice));
                    }
                }
                object.into()
            }
            Some(_) | None => {
                let fits: Vec<Value> =
                    scalars().into_iter().filter(|value| self.fault(schema, value).is_none()).collect();
                dice.choose(&fits).unwrap_or_else(|| panic!("no value is known for {schema}")).clone()
            }
        }
    }
}

/// Returns numbers and texts of many kinds. Each scalar schema accepts at least one of them.
fn scalars() -> Vec<Value> {
    let mut values = vec![json!(0), json!(1), json!(7), json!(u32::MAX), json!(u64::MAX), json!(-1), json!(0.5)];
    let texts = [
        "",
        "0",
        "7",
        "18446744073709551615",
        "340282366920938463463374607431768211455",
        "a",
        "\u{0}",
        "é",
        "greeting",
    ];
    values.extend(texts.map(Value::from));
    for digits in [40, 64, 66, 128] {
        for digit in ["0", "2", "f", "F"] {
            let text = digit.repeat(digits);
            values.extend([json!(format!("0x{text}")), json!(text)]);
        }
    }
    values
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("schemas say type {other}, which is not understood"),
    }
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(100).collect()
}

fn collect_patterns(json: &Value, patterns: &mut BTreeMap<String, Regex>) {
    match json {
        Value::Object(object) => {
            if let Some(pattern) = object.get("pattern").and_then(Value::as_str) {
                patterns.insert(pattern.to_owned(), Regex::new(pattern).expect("patterns are regular expressions"));
            }
            object.values().for_each(|value| collect_patterns(value, patterns));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_patterns(value, patterns)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &Value, fits: &[Value], breaks: &[Value]) {
        let document =
            Document::new(json!({ "methods": [schema], "components": { "schemas": { "Small": { "maximum": 5 } } } }));
        for value in fits {
            assert_eq!(document.fault(schema, value), None);
        }
        for value in breaks {
            assert!(document.fault(schema, value).is_some(), "{value} fits {schema}");
        }
    }

    #[test]
    fn every_rule_can_be_broken() {
        check(&json!({"type": "string", "pattern": "^[0-9]+$"}), &[json!("5")], &[json!(5), json!(""), json!("5x")]);
        check(&json!({"type": ["integer", "null"], "minimum": 1}), &[json!(1), json!(null)], &[json!(0), json!(1.5)]);
        check(&json!({"$ref": "#/components/schemas/Small"}), &[json!(5)], &[json!(6)]);
        check(&json!({"const": "a"}), &[json!("a")], &[json!("b")]);
        check(&json!({"enum": ["a", 1]}), &[json!("a"), json!(1)], &[json!("b")]);
        let object = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
            "additionalProperties": {"type": "string"}});
        check(
            &object,
            &[json!({"a": 1}), json!({"a": 1, "b": ""})],
            &[json!({}), json!({"a": ""}), json!({"a": 1, "b": 1})],
        );
        let list = json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2});
        check(&list, &[json!([1]), json!([1, 2])], &[json!([]), json!([1, 2, 3]), json!([""])]);
        check(&json!({"items": [{"type": "integer"}, {"type": "string"}]}), &[json!([1, ""])], &[json!([1, 1])]);
        check(&json!({"anyOf": [{"type": "null"}, {"maximum": 5}]}), &[json!(null), json!(5)], &[json!(6)]);
        check(&json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}), &[json!(0), json!(6)], &[json!(3)]);
        check(&json!({"allOf": [{"minimum": 1}, {"maximum": 5}]}), &[json!(3)], &[json!(0), json!(6)]);
        check(&json!(true), &[json!(1)], &[]);
        check(&json!(false), &[], &[json!(1)]);
    }

    #[test]
    fn generated_value_matches_its_schema() {
        let document = Document::new(json!({ "methods": [], "x": [{"pattern": "^[0-9]+$"}] }));
        let mut dice = Dice::new(1);
        for schema in [
            json!({"const": "newest", "type": "string"}),
            json!({"enum": ["a", 5]}),
            json!({"type": "string", "pattern": "^[0-9]+$"}),
            json!({"type": ["integer", "null"], "minimum": 5}),
            json!({"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}, "minItems": 2}]}),
            json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}),
        ] {
            for _ in 0..20 {
                let value = document.fitting(&schema, &BTreeMap::new(), &mut dice);
                assert_eq!(document.fault(&schema, &value), None);
            }
        }
    }

    #[test]
    #[should_panic(expected = "multipleOf, which is not understood")]
    fn unknown_keyword_is_an_error() {
        check(&json!({"multipleOf": 2}), &[json!(2)], &[]);
    }
}
