//! Tests of requests to a chain in memory, without a socket.

use std::pin::pin;

use serde_json::{Value, json};
use silica_chain::{Chain, ChainConfig, Genesis, Producer, consensus::Solo};
use silica_protocol::Timestamp;
use silica_state::{Store, StoreOptions};
use tokio::time::{Instant, timeout};

use super::{growth::LARGE_ANSWER, *};
use crate::{
    block_mode::BlockMode,
    blocking,
    clock::Clock,
    data_dir::draw_key,
    driver::{self, RunningDriver},
    head::Context,
    http::{HttpLimits, MemoryLease},
    methods,
};

/// A service over a new chain, and the driver behind it.
pub(crate) struct Fixture {
    service: Service,
    driver: RunningDriver,
}

/// Returns the methods that an operator offers with these options.
fn offer(developer: bool, list: Option<&str>) -> Offer {
    let listed = list.map(|list| list.parse::<methods::MethodList>().unwrap().select());
    Offer { table: methods::table(), developer, is_member: false, listed }
}

pub(crate) fn fixture(mode: BlockMode) -> Fixture {
    let key = draw_key().unwrap();
    let now = Timestamp::new(1_600_000_000_000_000);
    let (chain, producer): (Chain, Producer) = silica_chain::open(
        Store::ephemeral(StoreOptions::default()),
        ChainConfig::isolated(),
        &Genesis::default(),
        key.public_key(),
        now,
    )
    .unwrap();
    let (handle, driver) = driver::start(chain, producer, Solo::new(key), mode, Clock::default(), None).unwrap();
    Fixture { service: Service::new(handle, offer(true, None), RpcLimits::default(), Arc::default()), driver }
}

impl Fixture {
    /// Replaces the method table of the service.
    pub(crate) fn serving(mut self, table: &'static MethodTable) -> Self {
        self.service.offer.table = table;
        self
    }

    pub(crate) fn context(&self) -> Context {
        self.service.node.context()
    }

    pub(crate) fn node(&self) -> NodeHandle {
        self.service.node.clone()
    }

    pub(crate) async fn ask(&self, body: &str) -> String {
        self.ask_as(&Caller::local(), body).await
    }

    async fn ask_as(&self, caller: &Caller, body: &str) -> String {
        let memory = MemoryLease::alone(HttpLimits::default(), Arc::default()).memory();
        self.reply(caller, body, memory).await.expect("there is memory")
    }

    /// Returns the response to a body. The lease of the response is `memory`.
    async fn ask_with(&self, body: &str, memory: Memory) -> Option<String> {
        self.reply(&Caller::local(), body, memory).await
    }

    async fn reply(&self, caller: &Caller, body: &str, memory: Memory) -> Option<String> {
        let body = Bytes::copy_from_slice(body.as_bytes());
        let reply = self.service.answer(body, caller, 0, memory).await.reply?;
        assert!(reply.rest.is_none(), "the answer is larger than those of these tests");
        Some(String::from_utf8(reply.beginning.into_bytes().into()).unwrap())
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        let request = json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params});
        serde_json::from_str(&self.ask(&request.to_string()).await).unwrap()
    }
}

#[tokio::test]
async fn methods_for_developers_are_rejected_when_they_are_off() {
    let mut fixture = fixture(BlockMode::Manual);
    fixture.service.offer.developer = false;
    for entry in methods::table().entries() {
        let answer = fixture.call(entry.name, json!([])).await;
        assert_eq!(answer["error"]["code"] == -32600, entry.for_developers, "{}: {answer}", entry.name);
    }
    let answer = fixture.call("IncreaseBlocknum", json!([1])).await;
    let message = "IncreaseBlocknum is for developers and switched off, start the node with --developer on";
    assert_eq!(answer["error"], json!({"code": -32600, "data": null, "message": message}));
    assert_eq!(fixture.call("GetBlocknum", json!([])).await["result"], "1");
}

#[tokio::test]
async fn only_methods_for_developers_are_rejected_for_foreign_callers() {
    let fixture = fixture(BlockMode::Manual);
    let caller = Caller::of_foreign_page();
    for entry in methods::table().entries() {
        let request = json!({"id": 1, "jsonrpc": "2.0", "method": entry.name, "params": []});
        let answer: Value = serde_json::from_str(&fixture.ask_as(&caller, &request.to_string()).await).unwrap();
        assert_eq!(answer["error"]["code"] == -32600, entry.for_developers, "{}: {answer}", entry.name);
    }
    let mine = r#"{"id":1,"jsonrpc":"2.0","method":"silica_mine","params":[1]}"#;
    let message = "silica_mine is for developers on this machine: the header Origin has \"https://evil.example\", expected \
                   none, a loopback origin such as http://localhost:3000, or one of --allowed-origins";
    let answer: Value = serde_json::from_str(&fixture.ask_as(&caller, mine).await).unwrap();
    assert_eq!(answer["error"], json!({"code": -32600, "data": null, "message": message}));
    assert_eq!(fixture.call("GetBlocknum", json!([])).await["result"], "1");
}

#[tokio::test]
async fn first_call_beyond_the_limit_differs_from_later_ones() {
    let fixture = fixture(BlockMode::Manual);
    let caller = Caller::limited(NonZeroU32::new(3).unwrap());
    let one = r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params":[]}"#;
    let body = Bytes::from(format!("[{one},7,{one},{one},{one}]"));
    let memory = || MemoryLease::alone(HttpLimits::default(), Arc::default()).memory();
    let Answered { reply, wait } = fixture.service.answer(body.clone(), &caller, 0, memory()).await;
    assert_eq!(wait, None, "some were answered");
    let answers: Vec<Value> = serde_json::from_slice(&reply.unwrap().beginning.into_bytes()).unwrap();
    let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [None, Some(-32600), None, Some(-32000), Some(-32000)]);
    let Answered { wait, .. } = fixture.service.answer(body, &caller, 0, memory()).await;
    assert!(wait.is_some_and(|wait| wait <= Duration::from_secs(1)), "{wait:?}");
}

/// Checks the exact response to a body.
async fn check(body: &str, expected: &str) {
    let fixture = fixture(BlockMode::Instant);
    assert_eq!(fixture.ask(body).await, expected, "{body}");
    drop(fixture.driver.stop());
}

const PARSE: &str = r#"{"error":{"code":-32700,"message":"JSON_PARSE_ERROR: The JSON-Object is not JSON-Valid"},"id":null,"jsonrpc":"2.0"}"#;
const INVALID: &str = r#"{"error":{"code":-32600,"message":"INVALID_JSON_REQUEST: The JSON sent is not a valid JSON-RPC Request object"},"id":null,"jsonrpc":"2.0"}"#;

#[tokio::test]
async fn body_without_a_request_gets_a_protocol_error() {
    check("", PARSE).await;
    check("{\"method\": ", PARSE).await;
    check("[]", INVALID).await;
    check("7", INVALID).await;
    check(r#"{"id":1,"method":"GetNetworkId","params":[]}"#, &INVALID.replace("null", "1")).await;
    check(r#"{"id":"a","jsonrpc":"1.0","method":"GetNetworkId"}"#, &INVALID.replace("null", "\"a\"")).await;
    check(r#"{"id":true,"jsonrpc":"2.0","method":"GetNetworkId"}"#, INVALID).await;
}

#[tokio::test]
async fn method_is_checked_before_the_id_and_the_id_before_parameters() {
    let unknown = r#"{"error":{"code":-32601,"message":"METHOD_NOT_FOUND: The method being requested is not available on this server"},"id":null,"jsonrpc":"2.0"}"#;
    check(r#"{"jsonrpc":"2.0","method":"NoSuchMethod"}"#, unknown).await;
    let near = unknown.replace("-32601,", r#"-32601,"data":{"didYouMean":"GetBalance"},"#);
    check(r#"{"id":3,"jsonrpc":"2.0","method":"getbalance"}"#, &near.replace("null", "3")).await;
    let no_id = r#"{"error":{"code":-32604,"message":"PROCEDURE_IS_METHOD: The requested notification is declared as a method"},"id":null,"jsonrpc":"2.0"}"#;
    check(r#"{"jsonrpc":"2.0","method":"GetBalance","params":[]}"#, no_id).await;
    let params = r#"{"error":{"code":-32602,"message":"INVALID_PARAMS: Invalid method parameters (invalid name and/or type) recognised"},"id":"x","jsonrpc":"2.0"}"#;
    check(r#"{"id":"x","jsonrpc":"2.0","method":"GetBalance","params":[]}"#, params).await;
}

#[tokio::test]
async fn ids_keep_their_type_and_spelling() {
    for id in ["1", "0", "-5", "1.0", "\"1\"", "\"\\u00e9\"", "null"] {
        let body = format!(r#"{{"id":{id},"jsonrpc":"2.0","method":"GetNetworkId","params":[""]}}"#);
        check(&body, &format!(r#"{{"id":{id},"jsonrpc":"2.0","result":"222"}}"#)).await;
    }
}

#[tokio::test]
async fn batch_is_answered_element_by_element_in_order() {
    let body = r#"[{"id":2,"jsonrpc":"2.0","method":"GetNetworkId"}, 1, {"id":"b","jsonrpc":"2.0","method":"Nope"},
        {"jsonrpc":"2.0","method":"GetNetworkId"}, {"id":1,"jsonrpc":"2.0","method":"GetNumTxBlocks","params":[]}]"#;
    let expected = format!(
        r#"[{{"id":2,"jsonrpc":"2.0","result":"222"}},{INVALID},{{"error":{{"code":-32601,"message":"METHOD_NOT_FOUND: The method being requested is not available on this server"}},"id":"b","jsonrpc":"2.0"}},{{"error":{{"code":-32604,"message":"PROCEDURE_IS_METHOD: The requested notification is declared as a method"}},"id":null,"jsonrpc":"2.0"}},{{"id":1,"jsonrpc":"2.0","result":"1"}}]"#
    );
    check(body, &expected).await;
}

#[tokio::test]
async fn batch_that_is_too_long_is_one_error() {
    check(&format!("[{}1]", "1,".repeat(RpcLimits::default().batch)), INVALID).await;
}

#[tokio::test]
async fn deep_json_is_refused_without_harm() {
    check(&"[".repeat(1_000_000), PARSE).await;
    let params = format!("{}{}", "[".repeat(200), "]".repeat(200));
    check(&format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params":{params}}}"#), PARSE).await;
}

#[tokio::test]
async fn response_to_a_batch_has_a_size_limit() {
    let mut fixture = fixture(BlockMode::Instant);
    fixture.service.limits.batch_answer_bytes = 2_000;
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": "GetLatestTxBlock"});
    let answer: Value = serde_json::from_str(&fixture.ask(&json!(vec![request; 30]).to_string()).await).unwrap();
    let answers = answer.as_array().unwrap();
    assert_eq!(answers.len(), 30);
    assert!(answers[0]["result"].is_object());
    let message = "The answer to the batch is too large, ask for less at once";
    assert_eq!(answers[29]["error"], json!({"code": -32603, "data": null, "message": message}));
}

/// Returns a batch whose response has more than [`LARGE_ANSWER`] bytes.
fn large_batch() -> String {
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": "GetLatestTxBlock"});
    json!(vec![request; 1_000]).to_string()
}

#[tokio::test]
async fn large_responses_to_batches_wait_for_a_permit() {
    let fixture = fixture(BlockMode::Instant);
    let batch = large_batch();
    assert!(fixture.ask(&batch).await.len() > LARGE_ANSWER);
    let turns = fixture.service.large.acquire_many(2).await.unwrap();
    let mut answer = pin!(fixture.ask(&batch));
    assert!(timeout(Duration::from_millis(500), &mut answer).await.is_err());
    assert!(fixture.ask("[]").await.len() < LARGE_ANSWER, "small ones do not wait");
    drop(turns);
    assert!(!answer.await.contains("error"));
}

#[tokio::test]
async fn batch_without_a_permit_is_answered_in_part() {
    let mut fixture = fixture(BlockMode::Instant);
    fixture.service.patience = Duration::from_millis(1);
    let _turns = fixture.service.large.acquire_many(2).await.unwrap();
    let answer: Value = serde_json::from_str(&fixture.ask(&large_batch()).await).unwrap();
    assert!(answer[0]["result"].is_object());
    assert_eq!(answer[999]["error"]["code"], -32603);
    assert_eq!(answer.as_array().unwrap().len(), 1_000);
}

/// Returns a lease of a memory budget of `bytes` bytes.
fn share_of(bytes: usize) -> MemoryLease {
    MemoryLease::alone(HttpLimits { body_bytes: 0, bodies_bytes: bytes, ..HttpLimits::default() }, Arc::default())
}

#[tokio::test]
async fn answer_to_a_batch_holds_memory_for_all_of_it() {
    let fixture = fixture(BlockMode::Instant);
    let (share, batch) = (share_of(64 << 20), Bytes::from(large_batch()));
    let caller = Caller::local();
    let reply = fixture.service.answer(batch.clone(), &caller, 0, share.memory()).await.reply.unwrap();
    assert!(reply.beginning.memory() > LARGE_ANSWER && reply.memory.bytes() >= reply.beginning.memory());
    assert!(reply.memory.bytes() < reply.beginning.memory() + 2048, "what it did not need is free again");
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": "rpc.discover"});
    let batch = Bytes::from(json!(vec![request; 200]).to_string());
    let reply = fixture.service.answer(batch, &caller, 0, share.memory()).await.reply.unwrap();
    assert!(reply.beginning.len() > 20_000_000 && reply.memory.bytes() < 100_000, "{}", reply.memory.bytes());
}

#[tokio::test]
async fn interface_document_is_generated_once_for_each_kind_of_caller() {
    let fixture = fixture(BlockMode::Manual);
    let document = |developer| fixture.service.document(developer).as_ptr();
    let first = [true, false].map(document);
    fixture.call("IncreaseBlocknum", json!([1])).await;
    assert_eq!([true, false].map(document), first);
    assert_eq!(fixture.service.document(true), methods::document().to_string().as_bytes());
}

/// Returns the names of the methods that `rpc.discover` describes to a caller.
async fn described(fixture: &Fixture, caller: &Caller) -> Vec<String> {
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": "rpc.discover"});
    let answer: Value = serde_json::from_str(&fixture.ask_as(caller, &request.to_string()).await).unwrap();
    let methods = answer["result"]["methods"].as_array().unwrap();
    methods.iter().map(|method| method["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the method that the error suggests to a caller in place of an unknown name.
async fn suggested(fixture: &Fixture, caller: &Caller, name: &str) -> Value {
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": name});
    let answer: Value = serde_json::from_str(&fixture.ask_as(caller, &request.to_string()).await).unwrap();
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    answer["error"]["data"]["didYouMean"].clone()
}

#[tokio::test]
async fn caller_sees_the_methods_that_it_may_call_and_no_other() {
    let mut fixture = fixture(BlockMode::Manual);
    let (local, page) = (Caller::local(), Caller::of_foreign_page());
    let names = |fits: fn(&Entry) -> bool| -> Vec<&str> {
        methods::table().entries().iter().filter(|entry| fits(entry)).map(|entry| entry.name).collect()
    };
    let (all, ordinary) = (names(|_| true), names(|entry| !entry.for_developers));
    assert!(ordinary.len() < all.len());
    assert_eq!(described(&fixture, &local).await, all);
    assert_eq!(described(&fixture, &page).await, ordinary);
    assert_eq!(suggested(&fixture, &local, "silica_setBallance").await, "silica_setBalance");
    assert_ne!(suggested(&fixture, &page, "silica_setBallance").await, "silica_setBalance");

    fixture.service = Service::new(fixture.node(), offer(false, None), RpcLimits::default(), Arc::default());
    assert_eq!(described(&fixture, &local).await, ordinary);
    assert_ne!(suggested(&fixture, &local, "silica_setBallance").await, "silica_setBalance");

    let listed = offer(true, Some("Get*,rpc.discover,silica_setBalance"));
    fixture.service = Service::new(fixture.node(), listed, RpcLimits::default(), Arc::default());
    let get = |entry: &Entry| entry.name.starts_with("Get") || entry.name == "rpc.discover";
    assert_eq!(described(&fixture, &page).await, names(get));
    let with_one: Vec<_> =
        all.into_iter().filter(|name| *name == "silica_setBalance" || names(get).contains(name)).collect();
    assert_eq!(described(&fixture, &local).await, with_one);
    assert_eq!(suggested(&fixture, &local, "getBalance").await, "GetBalance");
    assert_eq!(suggested(&fixture, &local, "CreateTransactio").await, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn batches_that_block_each_other_are_answered_in_part() {
    let fixture = fixture(BlockMode::Instant);
    let (share, batch) = (share_of(2 << 20), large_batch());
    let whole = fixture.ask(&batch).await;
    assert!((600 << 10..1 << 20).contains(&whole.len()), "there is memory for one of them: {}", whole.len());
    let begun = Instant::now();
    let caller = Caller::local();
    let ask = || fixture.service.answer(Bytes::from(batch.clone()), &caller, 0, share.memory());
    let (one, other) = tokio::join!(ask(), ask());
    assert!(begun.elapsed() <= HttpLimits::default().bodies_timeout * 2, "{:?}", begun.elapsed());
    for reply in [one.reply.unwrap(), other.reply.unwrap()] {
        assert!(reply.beginning.memory() <= reply.memory.bytes());
        let answer: Value = serde_json::from_slice(&reply.beginning.into_bytes()).unwrap();
        let answers = answer.as_array().unwrap();
        let served = answers.iter().take_while(|answer| answer["result"].is_object()).count();
        assert!(answers.len() == 1_000 && served > 100 && served < 1_000, "{served} served");
        let message = "There is no memory for the rest of the answer to the batch, try again later";
        let error = json!({"code": -32603, "data": null, "message": message});
        assert!(answers[served..].iter().all(|answer| answer["error"] == error && answer["id"] == 1));
    }
    assert_eq!(fixture.ask_with(&batch, share.memory()).await.unwrap(), whole, "what they held is free again");
}

#[tokio::test(start_paused = true)]
async fn batch_without_memory_to_reject_its_calls_is_declined() {
    let fixture = fixture(BlockMode::Instant);
    let share = share_of(100_000);
    assert!(fixture.ask_with(&large_batch(), share.memory()).await.is_none());
    assert!(fixture.ask_with("[]", share.memory()).await.is_some());
}

#[tokio::test]
async fn response_without_a_stream_has_a_size_limit() {
    let mut fixture = fixture(BlockMode::Instant);
    fixture.service.limits.answer_bytes = 300;
    let answer = fixture.call("GetLatestTxBlock", json!([])).await;
    let message = "The answer has more than 300 bytes, ask for less at once";
    assert_eq!(answer["error"], json!({"code": -1, "data": null, "message": message}));
    assert_eq!(fixture.call("GetNetworkId", json!([])).await["result"], "222");
}

#[tokio::test]
async fn streamed_responses_start_in_turn() {
    let fixture = fixture(BlockMode::Instant);
    let node = fixture.node();
    let mut turns = Vec::new();
    while turns.len() < blocking::QUERIES {
        turns.push(node.blocking().query_permit().await);
    }
    let mut answer = pin!(fixture.call("GetTxnBodiesForTxBlock", json!(["0"])));
    assert!(timeout(Duration::from_millis(20), &mut answer).await.is_err());
    drop(turns);
    assert_eq!(answer.await["error"]["message"], "TxBlock has no transactions");
}

/// Returns a chain, and a call whose streamed response has more than one chunk on this chain.
async fn streamed_call() -> (Fixture, String) {
    let fixture = fixture(BlockMode::Manual);
    let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]).to_string();
    for sender in ["1", "2", "3", "4", "5"].map(|digit| format!("0x{}", digit.repeat(40))) {
        fixture.call("silica_setBalance", json!([sender, "1000000000000000000"])).await;
        // One block has room for all five deployments.
        let transaction = json!({"senderAddr": sender, "code": "x".repeat(60_000), "data": init, "gasLimit": "100000"});
        let sent = fixture.call("silica_sendTransaction", json!([transaction])).await;
        assert!(sent["result"]["TranID"].is_string(), "{sent}");
    }
    fixture.call("IncreaseBlocknum", json!([1])).await;
    let number = fixture.context().head().to_string();
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": "GetTxnBodiesForTxBlock", "params": [number]});
    (fixture, request.to_string())
}

#[tokio::test(start_paused = true)]
async fn streamed_response_reserves_memory_first() {
    let (fixture, request) = streamed_call().await;
    let (share, caller) = (share_of(64 << 20), Caller::local());
    let ask = || fixture.service.answer(Bytes::from(request.clone()), &caller, 0, share.memory());
    let reply = ask().await.reply.unwrap();
    assert!(reply.rest.is_some() && reply.memory.bytes() >= 16 << 20, "{}", reply.memory.bytes());
    drop(reply);

    let mut others = share.memory();
    assert!(others.reserve(60 << 20).await);
    assert!(ask().await.reply.is_none(), "no memory was returned in time");
    let mut answer = pin!(ask());
    assert!(timeout(HttpLimits::default().bodies_timeout / 2, &mut answer).await.is_err());
    let (node, mut turns) = (fixture.node(), Vec::new());
    while turns.len() < blocking::QUERIES {
        turns.push(node.blocking().query_permit().await);
    }
    drop(others);
    assert!(timeout(Duration::from_millis(10), &mut answer).await.is_err(), "it kept what had begun while it waited");
    drop(turns);
    assert!(answer.await.reply.unwrap().rest.is_some());
}

#[tokio::test]
async fn streamed_responses_in_a_batch_use_the_free_memory() {
    let (fixture, request) = streamed_call().await;
    let (share, caller) = (share_of(1 << 20), Caller::local());
    let batch = Bytes::from(format!("[{request}]"));
    let reply = fixture.service.answer(batch, &caller, 0, share.memory()).await.reply.unwrap();
    let answer: Value = serde_json::from_slice(&reply.beginning.into_bytes()).unwrap();
    assert_eq!(answer[0]["result"].as_array().map(Vec::len), Some(5), "{}", answer[0]["error"]);
}

#[tokio::test]
async fn small_stream_ends_the_permit_of_a_batch() {
    let (turns, text) = (Semaphore::new(1), Text::default());
    let memory = share_of(64 << 20).memory();
    let mut growth = Growth::batch(memory, (2, 0), 1 << 20, (&turns, Duration::ZERO)).await.unwrap();
    assert!(growth.try_begin_stream(&text) && turns.available_permits() == 0);
    growth.begin(&text).await.unwrap();
    assert_eq!(turns.available_permits(), 1);
}

#[tokio::test]
async fn streamed_responses_in_a_batch_wait_for_a_permit() {
    let (mut fixture, request) = streamed_call().await;
    let batch = format!("[{request},{}]", request.replace("GetTxnBodiesForTxBlock", "GetTxBlock"));
    let whole: Value = serde_json::from_str(&fixture.ask(&batch).await).unwrap();
    assert_eq!(whole[0]["result"].as_array().unwrap().len(), 5);
    assert!(whole[1]["result"].is_object());
    fixture.service.patience = Duration::from_millis(1);
    let _turns = fixture.service.large.acquire_many(2).await.unwrap();
    let answer: Value = serde_json::from_str(&fixture.ask(&batch).await).unwrap();
    assert_eq!((&answer[0]["error"]["code"], &answer[1]["error"]["code"]), (&json!(-32603), &json!(-32603)));
}

#[tokio::test]
async fn large_transactions_wait_for_a_permit_and_small_ones_do_not() {
    let fixture = fixture(BlockMode::Instant);
    let sender = "0x1111111111111111111111111111111111111111";
    fixture.call("silica_setBalance", json!([sender, "1000000000000000000"])).await;
    let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]).to_string();
    let (mut small, mut large) = (String::new(), String::new());
    for (hash, code) in [(&mut small, "x".to_owned()), (&mut large, "x".repeat(70_000))] {
        let transaction = json!({"senderAddr": sender, "code": code, "data": init});
        let sent = fixture.call("silica_sendTransaction", json!([transaction])).await;
        sent["result"]["TranID"].as_str().unwrap_or_else(|| panic!("{sent}")).clone_into(hash);
    }
    let node = fixture.node();
    let mut turns = Vec::new();
    while turns.len() < blocking::QUERIES {
        turns.push(node.blocking().query_permit().await);
    }
    let methods = ["GetTransaction", "GetSoftConfirmedTransaction", "GetTransactionStatus", "GetPendingTxn"];
    let mut waiting: Vec<_> = methods.iter().map(|method| Box::pin(fixture.call(method, json!([large])))).collect();
    for (method, waits) in methods.iter().zip(&mut waiting) {
        assert!(timeout(Duration::from_millis(5), waits).await.is_err(), "{method} does not wait");
        assert!(fixture.call(method, json!([small])).await.get("result").is_some(), "{method}");
    }
    drop(turns);
    for (method, answer) in methods.iter().zip(waiting) {
        assert!(answer.await.get("result").is_some(), "{method}");
    }
}

#[tokio::test]
async fn error_has_the_id_of_its_request() {
    let fixture = fixture(BlockMode::Manual);
    let refuse = |body: &str| String::from_utf8(fixture.service.decline(body.as_bytes(), "not now")).unwrap();
    let request = r#"{"id":"a","jsonrpc":"2.0","method":"GetNetworkId"}"#;
    let refused = r#"{"error":{"code":-1,"data":null,"message":"not now"},"id":"a","jsonrpc":"2.0"}"#;
    assert_eq!(refuse(request), refused);
    assert_eq!(refuse(&format!("[{request}]")), refused.replace("\"a\"", "null"));
}

#[tokio::test]
async fn every_method_counts_its_parameters() {
    let fixture = fixture(BlockMode::Manual);
    for entry in methods::table().entries() {
        let fields = (entry.shape.fields)();
        let methods = methods::document()["methods"].as_array().unwrap();
        let described = methods.iter().find(|method| method["name"] == entry.name).unwrap();
        let required = described["params"].as_array().unwrap().iter().any(|param| param["required"] == true);
        let refused = [json!([]), json!({}), Value::Null, json!(vec![Value::Null; fields.len() + 1])];
        for params in refused.into_iter().skip(usize::from(!required && !fields.is_empty())) {
            let answer = fixture.call(entry.name, params.clone()).await;
            let code = answer["error"]["code"].as_i64();
            match fields {
                [] => assert_eq!(code, None, "{} {params}: {answer}", entry.name),
                [..] => assert_eq!(code, Some(-32602), "{} {params}: {answer}", entry.name),
            }
        }
    }
}

#[tokio::test]
async fn aliases_of_methods_are_accepted() {
    let fixture = fixture(BlockMode::Instant);
    for (name, alias, params) in [
        ("GetDsBlock", "GetDSBlock", json!(["0"])),
        ("GetDsBlockVerbose", "GetDSBlockVerbose", json!(["0"])),
        ("GetLatestDsBlock", "GetLatestDSBlock", json!([])),
        ("GetNumTxnsTxEpoch", "GetNumTxnsTXEpoch", json!(["5"])),
    ] {
        let answer = fixture.call(name, params.clone()).await;
        assert!(answer.get("result").is_some(), "{answer}");
        assert_eq!(fixture.call(alias, params).await, answer);
    }
}

#[tokio::test]
async fn results_are_cached_until_the_next_head() {
    let fixture = fixture(BlockMode::Manual);
    let context = fixture.context();
    let row = methods::table().find("GetLatestTxBlock").unwrap();
    let Action::CachedPerHead(render) = row.action else { panic!("the answer stays until the next block") };
    let first = std::ptr::from_ref(context.per_head((row.position, methods::table().entries().len()), render).unwrap());
    assert!(std::ptr::eq(first, context.per_head((row.position, methods::table().entries().len()), render).unwrap()));
    let number = async || fixture.call("GetLatestTxBlock", json!([])).await["result"]["header"]["BlockNum"].clone();
    assert_eq!(number().await, "0");
    assert_eq!(fixture.call("IncreaseBlocknum", json!([2])).await["result"], "3");
    assert_eq!(number().await, "2");
}

#[tokio::test]
async fn driver_that_has_stopped_is_an_internal_error() {
    let fixture = fixture(BlockMode::Manual);
    let Fixture { service, driver } = fixture;
    drop(driver.stop().unwrap());
    let body = r#"{"id":1,"jsonrpc":"2.0","method":"IncreaseBlocknum","params":[1]}"#;
    let memory = MemoryLease::alone(HttpLimits::default(), Arc::default()).memory();
    let answered = service.answer(Bytes::from_static(body.as_bytes()), &Caller::local(), 0, memory).await;
    let answer = answered.reply.unwrap().beginning.into_bytes();
    assert_eq!(answer, r#"{"error":{"code":-32603,"message":"INTERNAL_ERROR: "},"id":1,"jsonrpc":"2.0"}"#);
}

/// The task never yields, so only the change of the chain ends the common snapshot of the queries.
#[tokio::test]
async fn queries_of_a_batch_see_the_blocks_of_earlier_calls() {
    let mut fixture = fixture(BlockMode::Manual);
    fixture.service.turn = Duration::MAX;
    let call = |method: &str, params: Value| json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params});
    let block = call("GetTxBlock", json!(["2"]));
    let batch = json!([block, block, call("IncreaseBlocknum", json!([3])), block]);
    let answers: Value = serde_json::from_str(&fixture.ask(&batch.to_string()).await).unwrap();
    let numbers = [0, 1, 3].map(|call| answers[call]["result"]["header"]["BlockNum"].clone());
    assert_eq!(numbers, ["18446744073709551615", "18446744073709551615", "2"]);
}

/// The metrics do not count a call of an unknown method, but its time counts towards the turn of the batch.
#[tokio::test]
async fn unknown_methods_of_a_batch_do_not_keep_the_thread() {
    let mut fixture = fixture(BlockMode::Manual);
    fixture.service.turn = Duration::ZERO;
    let unknown = json!({"id": 1, "jsonrpc": "2.0", "method": "GetBalanse", "params": []});
    let batch = json!([unknown, unknown, unknown]).to_string();
    let mut answer = pin!(fixture.ask(&batch));
    let mut polls = 0;
    std::future::poll_fn(|context| {
        polls += 1;
        answer.as_mut().poll(context).map(drop)
    })
    .await;
    assert_eq!(polls, 4, "the task yields after each call");
}
