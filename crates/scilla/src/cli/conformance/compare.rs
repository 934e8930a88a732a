//! Comparison of an output with the expected output.

use crate::json::{Document, Json, Kind, parse};

/// The level of agreement between two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nearness {
    /// The verdict is wrong: accepted instead of rejected, or the reverse.
    Fail,
    /// Only the verdict is right.
    Verdict,
    /// An accepted program has the same gas and the same result, but other output differs. A rejected program has the
    /// same gas and the first error at the same source position, but the text differs.
    Core,
    /// The output is equal.
    Exact,
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) nearness: Nearness,
    /// Description of the difference; empty if the outputs are equal.
    pub(super) difference: String,
}

impl Comparison {
    fn of(nearness: Nearness, difference: impl Into<String>) -> Self {
        Self { nearness, difference: difference.into() }
    }

    pub(super) fn exact() -> Self {
        Self::of(Nearness::Exact, "")
    }

    pub(super) fn fail(difference: impl Into<String>) -> Self {
        Self::of(Nearness::Fail, difference)
    }
}

/// Members of the output of an accepted program that are not part of its result.
const BESIDE: &[&str] = &["cashflow_tags", "type_info", "warnings"];

/// Compares two outputs with the same verdict.
pub(super) fn compare(expected: &str, found: &str) -> Comparison {
    match (parse(expected.as_bytes()), parse(found.as_bytes())) {
        (Ok(expected), Ok(found)) => compare_json(&expected, &found),
        (Ok(_), Err(error)) => Comparison::of(Nearness::Verdict, format!("the output is not JSON: {error}")),
        (Err(_), _) => compare_text(expected, found),
    }
}

fn compare_text(expected: &str, found: &str) -> Comparison {
    let (expected, found) = (expected.trim(), found.trim());
    if expected == found || unordered_text(expected) == unordered_text(found) {
        return Comparison::exact();
    }
    let mut lines = expected.lines().zip(found.lines());
    let different = lines.find(|(expected, found)| expected != found);
    let (expected_line, found_line) = different.unwrap_or(("more or fewer lines", ""));
    let last = |text: &str| text.lines().last().map(str::to_owned);
    let nearness = if last(expected) == last(found) { Nearness::Core } else { Nearness::Verdict };
    Comparison::of(nearness, format!("expected `{expected_line}`, found `{found_line}`"))
}

/// Returns a text in which the entries of maps, `[(k => v); (k => v)]`, are sorted.
fn unordered_text(text: &str) -> String {
    let mut open: Vec<String> = vec![String::new()];
    for char in text.chars() {
        match char {
            '[' => open.push(String::new()),
            ']' if open.len() > 1 => {
                let inner = open.pop().unwrap_or_default();
                let mut entries: Vec<&str> = inner.split("; (").collect();
                if inner.contains(" => ") {
                    if let Some(first) = entries.first_mut() {
                        *first = first.strip_prefix('(').unwrap_or(first);
                    }
                    entries.sort_unstable();
                }
                if let Some(outer) = open.last_mut() {
                    outer.push('[');
                    outer.push_str(&entries.join("; ("));
                    outer.push(']');
                }
            }
            other => {
                if let Some(inner) = open.last_mut() {
                    inner.push(other);
                }
            }
        }
    }
    open.join("[")
}

fn compare_json(expected: &Document, found: &Document) -> Comparison {
    let (expected, found) = (expected.root(), found.root());
    let names = |json: Json<'_>| -> Vec<String> {
        json.members().map(|members| members.map(|(name, _)| name.to_owned()).collect()).unwrap_or_default()
    };
    let mut all = names(expected);
    all.extend(
        names(found)
            .into_iter()
            .filter(|name| expected.members().is_some_and(|mut all| all.all(|(known, _)| known != name))),
    );
    let differs = |name: &String| {
        let text = |json: Json<'_>| {
            let mut members = json.members()?;
            members.find(|(known, _)| known == name).map(|(_, value)| unordered(value, name == "ADTs"))
        };
        let (expected, found) = (text(expected), text(found));
        (expected != found).then(|| (name.clone(), expected, found))
    };
    let different: Vec<_> = all.iter().filter_map(differs).collect();
    let Some((name, wanted, got)) = different.first() else { return Comparison::exact() };
    let rest = if different.len() > 1 {
        let names: Vec<_> = different.iter().skip(1).map(|(name, ..)| name.as_str()).collect();
        format!("; also {}", names.join(", "))
    } else {
        String::new()
    };
    let shown = match name.as_str() {
        "errors" => format!("expected {}, found {}", first_error(expected), first_error(found)),
        _ => first_difference(wanted.as_deref(), got.as_deref()),
    };
    let difference = format!("{name}: {shown}{rest}");
    let only = |allowed: &[&str]| different.iter().all(|(name, ..)| allowed.contains(&name.as_str()));
    let same_place = first_place(expected).is_some() && first_place(expected) == first_place(found);
    let core =
        if expected.member("errors").is_some() { same_place && only(&["errors", "warnings"]) } else { only(BESIDE) };
    Comparison::of(if core { Nearness::Core } else { Nearness::Verdict }, difference)
}

/// Returns a description of the first difference of two texts.
fn first_difference(expected: Option<&str>, found: Option<&str>) -> String {
    let (Some(expected), Some(found)) = (expected, found) else {
        return if expected.is_some() { "missing".into() } else { "not expected".into() };
    };
    let common = expected.bytes().zip(found.bytes()).take_while(|(one, other)| one == other).count();
    let from = common.saturating_sub(40);
    let part = |text: &str| -> String { text.bytes().skip(from).take(200).map(char::from).collect() };
    format!("expected `{}`, found `{}`", part(expected), part(found))
}

/// Returns a text with the first error of a report, and with the number of its other errors.
fn first_error(json: Json<'_>) -> String {
    let all: Vec<_> = json.member("errors").and_then(Json::elements).into_iter().flatten().collect();
    let Some(first) = all.first() else { return "none".into() };
    let text = first.member("error_message").and_then(Json::as_str).unwrap_or_default();
    let number = |name: &str| -> &str {
        let place = first.member("start_location").and_then(|place| place.member(name));
        place.and_then(Json::as_number).unwrap_or_default()
    };
    let more = if all.len() > 1 { format!(" and {} more", all.len() - 1) } else { String::new() };
    format!("`{text}` at {}:{}{more}", number("line"), number("column"))
}

/// Returns the source position of the first error of a report, or `None` if the report has no error.
fn first_place(json: Json<'_>) -> Option<String> {
    let first = json.member("errors")?.elements()?.next()?;
    first.member("start_location").map(|place| place.compact().to_string())
}

/// A container of which a part has been written.
struct Half<'a> {
    is_object: bool,
    is_set: bool,
    parts: Vec<String>,
    keys: Vec<&'a str>,
    rest: Vec<(&'a str, Json<'a>)>,
}

/// Returns a value as text with sorted entries of maps, because the order of entries has no meaning.
fn unordered(value: Json<'_>, sort: bool) -> String {
    let mut open: Vec<Half<'_>> =
        vec![Half { is_object: false, is_set: false, parts: vec![], keys: vec![], rest: vec![("", value)] }];
    loop {
        let Some(half) = open.last_mut() else { return String::new() };
        if let Some((key, next)) = half.rest.pop() {
            half.keys.push(key);
            match next.kind() {
                Kind::Array | Kind::Object => {
                    let is_set = sort && open.len() == 1 || ["ADTs", "ADT constructors"].contains(&key) || is_map(next);
                    open.push(begin(next, is_set));
                }
                Kind::Boolean | Kind::Float | Kind::Integer | Kind::Null | Kind::String => {
                    half.parts.push(next.compact().to_string());
                }
            }
            continue;
        }
        let Some(done) = open.pop() else { return String::new() };
        let text = done.text();
        match open.last_mut() {
            Some(outer) => outer.parts.push(text),
            None => return text,
        }
    }
}

fn begin(value: Json<'_>, is_set: bool) -> Half<'_> {
    let is_object = value.kind() == Kind::Object;
    let mut rest: Vec<_> = match value.members() {
        Some(members) => members.collect(),
        None => value.elements().map(|all| all.map(|element| ("", element)).collect()).unwrap_or_default(),
    };
    rest.reverse();
    Half { is_object, is_set, parts: vec![], keys: vec![], rest }
}

impl Half<'_> {
    fn text(mut self) -> String {
        if self.is_object {
            let pairs = self.keys.iter().zip(&self.parts).map(|(key, part)| format!("\"{key}\":{part}"));
            let mut pairs: Vec<_> = pairs.collect();
            pairs.sort_unstable();
            return format!("{{{}}}", pairs.join(","));
        }
        if self.is_set {
            self.parts.sort_unstable();
        }
        format!("[{}]", self.parts.join(","))
    }
}

/// Returns whether a value is a map: an array that is not empty, and whose elements all have a key and a value.
fn is_map(value: Json<'_>) -> bool {
    let has = |element: &Json<'_>| element.member("key").is_some() && element.member("val").is_some();
    value.elements().is_some_and(|all| all.clone().count() > 0 && all.clone().all(|element| has(&element)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: &str, found: &str, nearness: Nearness) {
        let comparison = compare(expected, found);
        assert_eq!(comparison.nearness, nearness, "{expected} {found}: {}", comparison.difference);
    }

    #[test]
    fn the_order_of_entries_of_maps_means_nothing() {
        check(
            r#"{"states":[{"value":[{"key":"1","val":"a"},{"key":"2","val":"b"}]}]}"#,
            r#"{ "states": [ { "value": [ {"key":"2","val":"b"}, {"val":"a","key":"1"} ] } ] }"#,
            Nearness::Exact,
        );
        check(r#"{"events":[1,2]}"#, r#"{"events":[2,1]}"#, Nearness::Verdict);
        check(
            r#"{"contract_info":{"ADTs":[{"a":1},{"b":2}]}}"#,
            r#"{"contract_info":{"ADTs":[{"b":2},{"a":1}]}}"#,
            Nearness::Exact,
        );
        check(
            r#"{"cashflow_tags":{"ADT constructors":[{"a":[1]},{"b":[2]}]}}"#,
            r#"{"cashflow_tags":{"ADT constructors":[{"b":[2]},{"a":[1]}]}}"#,
            Nearness::Exact,
        );
        check(
            r#"{"cashflow_tags":{"State variables":[1,2]}}"#,
            r#"{"cashflow_tags":{"State variables":[2,1]}}"#,
            Nearness::Core,
        );
        check(
            "x [(a => 1); (b => [(c => 2); (d => 3)])]",
            "x [(b => [(d => 3); (c => 2)]); (a => 1)]",
            Nearness::Exact,
        );
    }

    #[test]
    fn output_next_to_the_result_counts_less() {
        check(r#"{"gas_remaining":"1","warnings":[1]}"#, r#"{"gas_remaining":"1","warnings":[]}"#, Nearness::Core);
        check(r#"{"gas_remaining":"1","warnings":[]}"#, r#"{"gas_remaining":"2","warnings":[]}"#, Nearness::Verdict);
        check(r#"{"gas_remaining":"1","cashflow_tags":{}}"#, r#"{"gas_remaining":"1"}"#, Nearness::Core);
        let error = |text: &str, line: u32| {
            format!(
                r#"{{"gas_remaining":"1","errors":[{{"error_message":"{text}","start_location":{{"line":{line}}}}}]}}"#
            )
        };
        check(&error("a", 1), &error("a", 1), Nearness::Exact);
        check(&error("a", 1), &error("b", 1), Nearness::Core);
        check(&error("a", 1), &error("a", 2), Nearness::Verdict);
        check("a\nGas remaining: 1", "b\nGas remaining: 1", Nearness::Core);
        check("a\nGas remaining: 1", "a\nGas remaining: 2", Nearness::Verdict);
    }
}
