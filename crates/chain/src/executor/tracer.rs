//! The recorder of traces: the calls of a transaction, and the statements of each call.
//!
//! The limits on statements and bytes bound the memory of a trace. The gas limit bounds the time of the execution.

use std::{cell::RefCell, collections::BTreeMap};

use serde_json::{Value as Json, json};
use silica_protocol::{Address, Qa};
use silica_scilla::{
    eval::{Argument, Observer, Step},
    json::ListForm,
    value::{Constructor, Key, Value},
};

use super::nesting::{MOST_LEVELS, is_shallow, readable_parts};

/// A call of a contract, or a message that causes no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedCall {
    /// Sender of the transaction, or the contract that sent the message.
    pub sender: Address,
    /// Recipient of the call or message.
    pub recipient: Address,
    /// Amount of the call or message, in Qa.
    pub amount: Qa,
    /// Tag of the message, even if it causes no run.
    pub tag: String,
    /// The parameters as an array, as in a message. Null if the message has no parameters, or the trace has too few
    /// bytes left for them. A value that nests too deeply for JSON readers is a string with its text.
    pub params: Json,
    /// The run that the message caused, if any.
    pub run: Option<TracedRun>,
    /// The messages that the contract sent, in order. Each message contains its chained calls.
    pub calls: Vec<Self>,
}

/// A run of a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedRun {
    /// Gas that is left before the run.
    pub gas_before: u64,
    /// Gas that is left after the run, before the chained calls.
    pub gas_after: u64,
    /// Whether the contract accepted the amount.
    pub accepted: bool,
    /// Whether the run ended without a failure.
    pub completed: bool,
    /// The executed statements, up to the limit of the trace.
    pub steps: Vec<TracedStep>,
}

/// An executed statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedStep {
    /// Name of the transition or procedure.
    pub component: String,
    /// Depth of the component: 1 for a transition, and one more for each nested procedure.
    pub depth: usize,
    /// Line in the source of the contract, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// The source of the statement, up to the end of its line.
    pub text: String,
    /// Units of the interpreter that are left before the statement. Eight units are one gas.
    pub units_before: u64,
    /// Units that are left after the statement.
    pub units_after: u64,
    /// The variables that the statement uses, with their values.
    pub used: Vec<TracedValue>,
    /// The variable that the statement binds, if any.
    pub bound: Option<TracedValue>,
    /// Whether the run failed at this statement.
    pub failed: bool,
}

/// A variable and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedValue {
    /// Name of the variable in the source.
    pub name: String,
    /// The value in the JSON form of Scilla, or `None` if it is too large. A value that nests too deeply for JSON
    /// readers is a string with its text.
    pub value: Option<Json>,
}

/// The statements that a page of a trace has. They are numbered from 0 in the order of their execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceWindow {
    /// Number of the first statement.
    pub from: u64,
    /// Maximum number of statements, at most 10,000. A limit of 0 means 1.
    pub limit: usize,
    /// Whether the statements have the values of their variables.
    pub values: bool,
}

/// Maximum number of statements in the trace of a transaction, and in a page of it.
const MOST_STEPS: usize = 10_000;
/// Approximate maximum of bytes in the names, values and sources of a trace. Clients and the node hold a trace as a
/// whole.
const MOST_BYTES: usize = 4 << 20;
/// Bytes that each statement, value and call counts in addition to its texts.
const OVERHEAD: usize = 100;
/// Approximate size in bytes of the largest value in a trace.
const LARGEST_VALUE: u64 = 16 << 10;
/// Maximum number of parts of a value in a trace.
const MOST_PARTS: u64 = 1 << 10;
/// Number of JSON levels around the value of a parameter: the array of parameters, and the object of each parameter.
const LEVELS_OF_PARAMS: usize = 2;
/// Maximum length of the source of a statement in a trace, in bytes.
const LONGEST_LINE: usize = 200;

/// The recorder of a trace. It has interior mutability, because every step of an execution gets a shared reference to
/// the recorder.
#[derive(Debug)]
pub(crate) struct Tracer(RefCell<Notes>);

#[derive(Debug, Default)]
struct Notes {
    /// The calls in progress, the outermost first. Each call caused the next.
    open: Vec<TracedCall>,
    root: Option<TracedCall>,
    /// The window of a page, or `None` for the beginning of the trace.
    window: Option<TraceWindow>,
    /// Number of executed statements.
    executed: u64,
    /// Number of recorded statements.
    steps: usize,
    /// Whether the execution had a statement after the last statement of the page.
    is_over: bool,
    /// Positions of the latest statements of the current run by their depth; `None` if a statement is not recorded.
    latest: BTreeMap<usize, Option<usize>>,
    bytes: usize,
    truncated: bool,
}

/// A finished trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTree {
    /// The call of the transaction; `None` for payments and deployments.
    pub root: Option<TracedCall>,
    /// Whether statements or values are missing because of a limit. Statements before and after the window of a page
    /// are not missing.
    pub truncated: bool,
    /// Number of statements that the transaction executed.
    pub executed: u64,
    /// Number of the first statement after the page, or `None` on the last page. Only pages have this number.
    pub next: Option<u64>,
}

impl Tracer {
    /// Returns a recorder. With a window, it records a page: the statements in the window, and the messages that were
    /// sent after them. The page has all calls, but only the calls that begin in the window have their parameters.
    pub(crate) fn new(window: Option<TraceWindow>) -> Self {
        let limit = |limit: usize| limit.clamp(1, MOST_STEPS);
        let window = window.map(|window| TraceWindow { limit: limit(window.limit), ..window });
        Self(RefCell::new(Notes { window, ..Notes::default() }))
    }

    pub(crate) fn finish(self) -> CallTree {
        let mut notes = self.0.into_inner();
        // An error interrupted the calls that are in progress.
        while !notes.open.is_empty() {
            notes.close();
        }
        let Notes { root, truncated, executed, .. } = notes;
        let recorded = u64::try_from(notes.steps).unwrap_or(u64::MAX);
        let end = notes.window.map(|window| window.from.saturating_add(recorded));
        CallTree { root, truncated, executed, next: end.filter(|end| *end < executed) }
    }

    /// Begins a call before the run of its contract.
    pub(super) fn begin(&self, sender: Address, recipient: Address, amount: Qa, body: &Json, gas: u64) {
        let notes = &mut *self.0.borrow_mut();
        let run = TracedRun { gas_before: gas, gas_after: gas, ..TracedRun::default() };
        notes.latest.clear();
        let call = if notes.is_in_window() {
            notes.call(sender, recipient, amount, body)
        } else {
            // The number of calls is limited, so these calls need no bytes of the page.
            TracedCall { sender, recipient, amount, tag: tag(body), params: Json::Null, run: None, calls: Vec::new() }
        };
        notes.open.push(TracedCall { run: Some(run), ..call });
    }

    /// Records the end of the run in the latest call. `accepted` is `None` if the run failed.
    pub(super) fn ran(&self, gas: u64, accepted: Option<bool>) {
        if let Some(run) = self.0.borrow_mut().run() {
            (run.gas_after, run.completed, run.accepted) = (gas, accepted.is_some(), accepted == Some(true));
        }
    }

    /// Ends the latest call, after its chained calls.
    pub(super) fn end(&self) {
        self.0.borrow_mut().close();
    }

    /// Adds a message that causes no run: its recipient is not a contract, its tag is empty, or its delivery failed.
    pub(super) fn sent(&self, sender: Address, recipient: Address, amount: Qa, body: &Json) {
        let notes = &mut *self.0.borrow_mut();
        if !notes.is_in_window() || notes.is_full() {
            return;
        }
        let call = notes.call(sender, recipient, amount, body);
        if let Some(cause) = notes.open.last_mut() {
            cause.calls.push(call);
        }
    }
}

impl Notes {
    fn run(&mut self) -> Option<&mut TracedRun> {
        self.open.last_mut()?.run.as_mut()
    }

    fn close(&mut self) {
        let Some(call) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(cause) => cause.calls.push(call),
            None => self.root = Some(call),
        }
    }

    /// Returns the call of a message. If the trace has too few bytes left, the parameters are missing.
    fn call(&mut self, sender: Address, recipient: Address, amount: Qa, body: &Json) -> TracedCall {
        let tag = tag(body);
        let params = body.get("params").map(|params| readable_parts(params, LEVELS_OF_PARAMS));
        let bytes = params.as_ref().map_or(0, |params| params.to_string().len());
        let has_room = bytes <= self.most_bytes().saturating_sub(self.bytes);
        self.truncated |= !has_room;
        self.spend(if has_room { tag.len().saturating_add(bytes) } else { tag.len() });
        let params = params.filter(|_| has_room).unwrap_or_default();
        TracedCall { sender, recipient, amount, tag, params, run: None, calls: Vec::new() }
    }

    /// Returns whether the latest statement is in the window of the page. A call before the first statement counts as a
    /// part of the first statement.
    fn is_in_window(&self) -> bool {
        self.window.is_none_or(|window| self.executed.saturating_sub(1) >= window.from && !self.is_over)
    }

    /// Returns whether the trace is full. If so, marks it as truncated.
    fn is_full(&mut self) -> bool {
        // The number of statements does not truncate a page, because another page has the further statements.
        let is_full = (self.window.is_none() && self.steps >= MOST_STEPS) || self.bytes >= self.most_bytes();
        self.truncated |= is_full;
        is_full
    }

    /// Returns the number of bytes above which values and messages are missing. A page ends before the next statement
    /// when it has [`MOST_BYTES`], so the values of its last statement, and the messages after it, can need more.
    const fn most_bytes(&self) -> usize {
        if self.window.is_some() { 2 * MOST_BYTES } else { MOST_BYTES }
    }

    /// Counts an executed statement. Returns whether the trace records the statement.
    fn records_next(&mut self) -> bool {
        let number = self.executed;
        self.executed = number.saturating_add(1);
        let Some(TraceWindow { from, limit, .. }) = self.window else { return !self.is_full() };
        // A page has at least one statement, so that the next page begins later.
        self.is_over |= self.steps >= limit || (self.steps > 0 && self.bytes >= MOST_BYTES);
        number >= from && !self.is_over
    }

    /// Returns whether the statements have values.
    fn has_values(&self) -> bool {
        self.window.is_none_or(|window| window.values)
    }

    fn spend(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes).saturating_add(OVERHEAD);
    }

    fn value(&mut self, Argument { name, value }: Argument) -> TracedValue {
        let is_small = about(&value) <= LARGEST_VALUE && value.parts() <= MOST_PARTS;
        let shown = (is_small && self.bytes < self.most_bytes()).then(|| as_json(&value, MOST_LEVELS));
        self.truncated |= shown.is_none();
        self.spend(shown.as_ref().map_or(0, |shown| shown.to_string().len()).saturating_add(name.len()));
        TracedValue { name: name.to_string(), value: shown }
    }
}

impl Observer for &Tracer {
    fn statement(&mut self, step: Step<'_>) {
        let notes = &mut *self.0.borrow_mut();
        let Step { component, depth, location, text, units_before, units_after, used, bound, failed } = step;
        if !notes.records_next() {
            notes.latest.insert(depth, None);
            return;
        }
        let text = String::from_utf8_lossy(text.get(..LONGEST_LINE).unwrap_or(text)).into_owned();
        notes.steps = notes.steps.saturating_add(1);
        notes.spend(component.len().saturating_add(text.len()));
        let has_values = notes.has_values();
        let step = TracedStep {
            component: component.to_owned(),
            depth,
            line: location.line,
            column: location.column,
            text,
            units_before,
            units_after,
            used: used.into_iter().filter(|_| has_values).map(|used| notes.value(used)).collect(),
            bound: bound.filter(|_| has_values).map(|bound| notes.value(bound)),
            failed,
        };
        if let Some(run) = notes.run() {
            let position = run.steps.len();
            run.steps.push(step);
            notes.latest.insert(depth, Some(position));
        }
    }

    fn returned(&mut self, depth: usize, bound: Argument) {
        let notes = &mut *self.0.borrow_mut();
        // Without a window, a full trace ends before the result of a procedure. A page has the result, even if the
        // procedure ends after the page.
        if !notes.has_values() || (notes.window.is_none() && notes.is_full()) {
            return;
        }
        let Some(position) = notes.latest.get(&depth).copied().flatten() else { return };
        let bound = notes.value(bound);
        if let Some(caller) = notes.run().and_then(|run| run.steps.get_mut(position)) {
            caller.bound = Some(bound);
        }
    }
}

fn tag(body: &Json) -> String {
    body.get("_tag").and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// Returns the approximate size of a value in bytes, without reading its parts.
fn about(value: &Value) -> u64 {
    match value {
        Value::String(text) => u64::try_from(text.len()).unwrap_or(u64::MAX),
        Value::Adt(_)
        | Value::BNum(_)
        | Value::ByStr(_)
        | Value::ByStrX(_)
        | Value::Closure(_)
        | Value::Integer(_)
        | Value::Map(_)
        | Value::Message(_)
        | Value::TypeClosure(_) => value.size(),
    }
}

/// Returns a value as JSON with at most `levels` levels. Deeper parts are text. A message, which has no JSON form in
/// Scilla, is an object with its entries. A function is the word `<function>`.
fn as_json(value: &Value, levels: usize) -> Json {
    if !holds_unwritten(value) {
        return written(value, levels);
    }
    // The arguments of a constructor are two levels below the value, and so are the entries of a map.
    let (Some(below), Some(far_below)) = (levels.checked_sub(1), levels.checked_sub(2)) else {
        return Json::String(value.literal().to_string());
    };
    match value {
        Value::Message(message) => {
            let entries = message.entries().iter();
            entries.map(|entry| (entry.label.to_string(), as_json(&entry.value, below))).collect()
        }
        Value::Adt(adt) if adt.is(Constructor::cons()) => {
            value.elements().map(|element| as_json(element, below)).collect()
        }
        Value::Adt(adt) => json!({
            "constructor": adt.constructor().name.global().to_string(),
            "argtypes": adt.types().iter().map(|ty| ty.global().to_string()).collect::<Json>(),
            "arguments": adt.arguments().iter().map(|argument| as_json(argument, far_below)).collect::<Json>(),
        }),
        Value::Map(map) => {
            let entry = |(key, value): (&Key, &Value)| json!({"key": as_json(key.value(), far_below), "val": as_json(value, far_below)});
            map.iter().map(entry).collect()
        }
        Value::Closure(_) | Value::TypeClosure(_) => Json::from("<function>"),
        Value::BNum(_) | Value::ByStr(_) | Value::ByStrX(_) | Value::Integer(_) | Value::String(_) => {
            written(value, levels)
        }
    }
}

/// Returns the JSON form of a value, or its JSON text if the value has more than `levels` levels.
fn written(value: &Value, levels: usize) -> Json {
    let text = value.to_json(ListForm::Array).root().compact().to_string();
    let read = serde_json::from_str(&text).ok().filter(|json| is_shallow(json, levels));
    read.unwrap_or(Json::String(text))
}

/// Returns whether a value contains a part without a JSON form in Scilla.
fn holds_unwritten(value: &Value) -> bool {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Closure(_) | Value::Message(_) | Value::TypeClosure(_) => return true,
            Value::Adt(adt) => rest.extend(adt.arguments()),
            Value::Map(map) => rest.extend(map.iter().map(|(_, value)| value)),
            Value::BNum(_) | Value::ByStr(_) | Value::ByStrX(_) | Value::Integer(_) | Value::String(_) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use silica_scilla::{
        types::{Primitive, Type, Width},
        value::{Map, Message, MessageEntry},
    };

    use super::*;

    /// Returns a natural number as JSON: two levels for each `Succ`, and one for `Zero`, whose arrays are empty.
    fn nat(number: usize) -> Json {
        let zero = json!({"constructor": "Zero", "argtypes": [], "arguments": []});
        (0..number).fold(zero, |before, _| json!({"constructor": "Succ", "argtypes": [], "arguments": [before]}))
    }

    fn message(number: u32) -> Value {
        let entry = |label: &str, ty, value| MessageEntry { label: label.into(), ty, value };
        Value::Message(Arc::new(Message::new(vec![
            entry("_tag", Primitive::String.into(), Value::string("Go").unwrap()),
            entry("n", Type::nat(), Value::nat(number)),
        ])))
    }

    /// Reads a text at the depth limit of the JSON reader, and compares it.
    #[track_caller]
    fn check_text(shown: &Json, expected: &Json) {
        let text = shown.as_str().expect("it is text");
        assert_eq!(&serde_json::from_str::<Json>(text).unwrap(), expected);
    }

    #[test]
    fn values_are_shown_as_deep_as_clients_read() {
        assert_eq!(as_json(&Value::nat(29), MOST_LEVELS), nat(29));
        check_text(&as_json(&Value::nat(30), MOST_LEVELS), &nat(30));
        check_text(&as_json(&Value::nat(60), MOST_LEVELS), &nat(60));
        let deepest = as_json(&Value::nat(500), MOST_LEVELS);
        assert_eq!(deepest.as_str().unwrap().matches("Succ").count(), 500);
    }

    #[test]
    fn messages_are_shown_at_each_depth() {
        let ty = || Type::from(Primitive::Message);
        let shown = json!({"_tag": "Go", "n": nat(1)});
        let object = |constructor: &str, types: Json, arguments: Json| json!({"constructor": constructor, "argtypes": types, "arguments": arguments});
        let some = Value::some(ty(), message(1));
        assert_eq!(as_json(&some, MOST_LEVELS), object("Some", json!(["Message"]), json!([shown])));
        let pair = Value::pair((ty(), message(1)), (Primitive::Uint(Width::W32).into(), Value::from(7_u32)));
        assert_eq!(as_json(&pair, MOST_LEVELS), object("Pair", json!(["Message", "Uint32"]), json!([shown, "7"])));
        let lists = Value::list(Type::list(ty()), [Value::list(ty(), []), Value::list(ty(), [message(1)])]);
        assert_eq!(as_json(&lists, MOST_LEVELS), json!([[], [shown]]));
        let mut map = Map::new(Primitive::String.into(), ty());
        map.insert(Key::new(Value::string("k").unwrap()).unwrap(), message(1));
        assert_eq!(as_json(&Value::Map(map), MOST_LEVELS), json!([{"key": "k", "val": shown}]));
    }

    #[test]
    fn deep_values_around_messages_end_in_text() {
        let option = |inner, _| Value::some(Primitive::Message.into(), inner);
        let shown = as_json(&(0..40).fold(message(1), option), MOST_LEVELS);
        assert!(is_shallow(&shown, MOST_LEVELS));
        let text = (0..30).fold(&shown, |shown, _| &shown["arguments"][0]).as_str().unwrap();
        assert!(text.starts_with("(Some") && text.contains("\"Go\""), "{text}");
    }

    #[test]
    fn messages_count_as_levels_of_what_they_hold() {
        assert_eq!(as_json(&message(29), MOST_LEVELS), json!({"_tag": "Go", "n": nat(29)}));
        let shown = as_json(&message(30), MOST_LEVELS);
        assert_eq!(shown["_tag"], "Go");
        check_text(&shown["n"], &nat(30));
        let list = Value::list(Primitive::Message.into(), [message(28), message(29)]);
        let shown = as_json(&list, MOST_LEVELS);
        assert!(is_shallow(&shown, MOST_LEVELS));
        assert_eq!(shown[0]["n"], nat(28));
        check_text(&shown[1]["n"], &nat(29));
    }
}
