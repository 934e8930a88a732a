//! Tests the readers of request bodies. The envelope has the same result as an independent parser of the same JSON.
//! Every response is JSON. The JSON text of a transaction gives the same transaction again.

use serde_json::{Map, Value};
use silica_protocol::{
    Transaction,
    rpc::{
        envelope::{Body, Entry, Id, Request, write_error, write_result},
        error::RpcErrorCode,
        transaction::{SubmittedTransaction, TransactionRequest},
    },
};

/// Largest number of requests in a body.
const BATCH_LIMIT: usize = 20;

/// Parses a request body and writes its response. Compares the response with that of an independent parser. Then reads
/// transactions from the body and from its parameters.
pub fn check(data: &[u8]) {
    let body = Body::parse(data, BATCH_LIMIT);
    let entries: &[Entry<'_>] = match &body {
        Body::Single(entry) => std::slice::from_ref(entry),
        Body::Batch(entries) => entries,
    };
    assert!(entries.len() <= BATCH_LIMIT);
    let answers: Vec<Value> = entries.iter().map(answer).collect();
    if let Ok(value) = serde_json::from_slice::<Value>(data) {
        let expected = expected(&value);
        let got = if matches!(body, Body::Batch(_)) { Value::Array(answers) } else { answers[0].clone() };
        assert_eq!(got, expected);
    }
    entries.iter().flatten().for_each(submit);
    if let Ok(text) = std::str::from_utf8(data) {
        check_transaction(TransactionRequest::from_json(text));
    }
}

/// Returns the response of a node whose methods return their own name.
fn answer(entry: &Entry<'_>) -> Value {
    let mut out = Vec::new();
    match entry {
        Ok(request) => match request.require_id() {
            Ok(id) => write_result(&mut out, id, &request.method).expect("text has a JSON form"),
            Err(error) => write_error(&mut out, &Id::NULL, &error),
        },
        Err(rejection) => write_error(&mut out, &rejection.id, &rejection.error),
    }
    let mut answer: Value = serde_json::from_slice(&out).expect("an answer is JSON");
    // Other tests check the error texts.
    if let Some(Value::Object(error)) = answer.get_mut("error") {
        error.remove("message").expect("an error has a text");
    }
    answer
}

/// Returns the response that an independent check of the JSON gives (Reference: execution#admission-checks).
fn expected(body: &Value) -> Value {
    match body {
        Value::Array(elements) if !elements.is_empty() && elements.len() <= BATCH_LIMIT => {
            Value::Array(elements.iter().map(expected_one).collect())
        }
        body => expected_one(body),
    }
}

fn expected_one(request: &Value) -> Value {
    let invalid = |id: Value| error(RpcErrorCode::INVALID_REQUEST, id);
    let Value::Object(members) = request else { return invalid(Value::Null) };
    let id = members.get("id").cloned();
    let usable = match &id {
        Some(Value::String(_) | Value::Null) | None => true,
        Some(Value::Number(number)) => is_integral(number),
        Some(_) => false,
    };
    if !usable {
        return invalid(Value::Null);
    }
    let echo = id.clone().unwrap_or(Value::Null);
    let well_formed = members.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
        && members.get("method").is_some_and(Value::is_string)
        && members.get("params").is_none_or(|params| params.is_array() || params.is_object() || params.is_null());
    match id {
        _ if !well_formed => invalid(echo),
        None => error(RpcErrorCode::PROCEDURE_IS_METHOD, Value::Null),
        Some(id) => {
            let mut answer = Map::new();
            answer.insert("id".to_owned(), id);
            answer.insert("jsonrpc".to_owned(), "2.0".into());
            answer.insert("result".to_owned(), members["method"].clone());
            Value::Object(answer)
        }
    }
}

fn is_integral(number: &serde_json::Number) -> bool {
    let whole = |float: f64| float.fract() == 0.0 && (-9.3e18..1.9e19).contains(&float);
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(whole)
}

fn error(code: RpcErrorCode, id: Value) -> Value {
    serde_json::json!({"error": {"code": code.get()}, "id": id, "jsonrpc": "2.0"})
}

/// Parses the parameters of a request as parameters of `CreateTransaction`.
fn submit(request: &Request<'_>) {
    let Some(params) = &request.params else { return };
    if let Ok((SubmittedTransaction(submitted),)) = serde_json::from_str(params) {
        check_transaction(submitted);
    }
}

fn check_transaction<E: std::fmt::Display>(request: Result<TransactionRequest, E>) {
    match request {
        Ok(request) => {
            let transaction = &request.transaction;
            assert_eq!(Transaction::decode(&transaction.encode()).as_ref(), Ok(transaction));
            let json = serde_json::to_string(&request).expect("it has a JSON form");
            assert_eq!(TransactionRequest::from_json(&json).as_ref(), Ok(&request));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Returns the requests of the transaction vectors and the documented examples, alone and in batches.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = [
        r#"{"id":"1","jsonrpc":"2.0","method":"GetNetworkId","params":[""]}"#,
        r#"{"id":1.0,"jsonrpc":"2.0","method":"GetBalance","params":["zil1"]}"#,
        r#"[{"id":null,"jsonrpc":"2.0","method":"x","params":null},{"jsonrpc":"2.0","method":"y"},5,[],{}]"#,
        "/* a comment */ {\"id\":-1e2,\"jsonrpc\":\"2.0\", // and another\n\"method\":\"\\u0047\"} and more",
        r#"{"id":true,"id":"\ud83d\ude00","jsonrpc":"2.0","method":"a","params":{}}"#,
        "[]",
        "5",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into();
    for case in crate::cases(include_str!("../../tests/data/vectors/transactions.json")) {
        let transaction = case["request"].clone();
        let request =
            serde_json::json!({"id": 1, "jsonrpc": "2.0", "method": "CreateTransaction", "params": [transaction]});
        seeds.push(transaction.to_string().into_bytes());
        seeds.push(request.to_string().into_bytes());
    }
    seeds.retain(|seed| seed.len() < 8192);
    seeds
}
