//! Functions for operators: health, readiness, metrics, request ids in the log, limits, compression.

use std::{fs, io::Read};

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use silica_tests::{Answer, Connection, Directory, Node};

use crate::{pay_once, process::begin_endless_work};

fn get(node: &Node, path: &str) -> Answer {
    node.connect().request("GET", path, b"").unwrap()
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// Posts a body with additional header lines.
fn post_with(connection: &mut Connection, headers: &str, body: &[u8]) -> Answer {
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    connection.write(&[head.as_bytes(), body].concat()).unwrap();
    connection.read().unwrap()
}

fn call(method: &str, params: &Value) -> Vec<u8> {
    json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params}).to_string().into_bytes()
}

#[test]
fn node_that_answers_is_healthy_and_ready() {
    let node = Node::start(&[]);
    for (path, expected) in [("/health", r#"{"health":true}"#), ("/ready", r#"{"ready":true}"#)] {
        let answer = get(&node, path);
        assert_eq!((answer.status, text(&answer).as_str()), (200, expected));
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
    assert_eq!(get(&node, "/other").status, 405);
}

#[test]
fn pages_of_a_node_answer_head_requests() {
    let node = Node::start(&[]);
    for path in ["/health", "/ready", "/metrics"] {
        let refused = node.connect().request("PUT", path, b"").unwrap();
        assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD, POST, OPTIONS")), "{path}");
        let mut connection = node.connect();
        connection
            .write(format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
            .unwrap();
        let answer = String::from_utf8(connection.read_to_end().unwrap()).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n"), "{answer}");
    }
}

#[test]
fn node_that_makes_no_block_is_healthy_but_not_ready() {
    let directory = Directory::new();
    let node = Node::start_with_small_files(&directory.path().join("data"), 2048, &["--block-mode", "manual"]);
    let mut made = 0;
    while node.call("IncreaseBlocknum", &json!([20])).is_ok() {
        made += 20;
        assert!(made < 20_000, "the disk is never full");
    }
    let answer = get(&node, "/ready");
    assert_eq!((answer.status, text(&answer).as_str()), (503, r#"{"ready":false,"reason":"no block can be made"}"#));
    assert_eq!(get(&node, "/health").status, 200);
    assert_eq!(figure(&text(&get(&node, "/metrics")), "silica_ready"), 0);
}

/// Returns the value of a metric.
#[track_caller]
fn figure(counts: &str, name: &str) -> u64 {
    let line = counts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is missing in\n{counts}")).parse().unwrap()
}

#[test]
fn counts_say_what_has_happened() {
    let node = Node::start(&[]);
    pay_once(&node, 0);
    pay_once(&node, 1);
    for _ in 0..3 {
        node.result("GetNetworkId", &json!([]));
    }
    for name in ["GetNothing", "a{b=\"c\"}\n", "silica_x 1"] {
        node.call(name, &json!([])).unwrap_err();
    }
    node.post("{");
    let (mut session, _) = tungstenite::connect(format!("ws://{}", node.address())).unwrap();
    // A session counts after its handshake. After this response, the node has counted the session.
    session.send(tungstenite::Message::text("x")).unwrap();
    assert_eq!(session.read().unwrap(), tungstenite::Message::text("invalid query field"));
    let answer = get(&node, "/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0"));
    let counts = text(&answer);
    let ds_block = node.result("GetLatestDsBlock", &json!([]))["header"]["BlockNum"].as_str().unwrap().parse().unwrap();
    for (name, expected) in [
        ("silica_block_height", 2),
        ("silica_ds_block_height", ds_block),
        ("silica_transactions_total", 2),
        ("silica_pool_transactions", 0),
        ("silica_ready", 1),
        ("silica_websocket_sessions", 1),
        ("silica_rpc_request_duration_seconds_count{method=\"CreateTransaction\"}", 2),
        ("silica_rpc_request_duration_seconds_count{method=\"GetNetworkId\"}", 3),
        ("silica_rpc_request_duration_seconds_bucket{le=\"+Inf\",method=\"GetNetworkId\"}", 3),
        ("silica_rpc_errors_total{code=\"-32601\"}", 3),
        ("silica_rpc_errors_total{code=\"-32700\"}", 1),
        ("silica_http_requests_total{status=\"101\"}", 1),
    ] {
        assert_eq!(figure(&counts, name), expected, "{name}\n{counts}");
    }
    assert!(figure(&counts, "silica_http_requests_total{status=\"200\"}") >= 9);
    assert!(figure(&counts, "silica_http_connections") >= 2);
    assert!(figure(&counts, "silica_store_bytes") > 10_000);
    // A request cannot add labels or lines.
    for word in ["GetNothing", "b=", "silica_x"] {
        assert!(!counts.contains(word), "{word}\n{counts}");
    }
    assert!(counts.ends_with("# EOF\n"));
    for line in counts.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.starts_with("silica_") && line.rsplit_once(' ').unwrap().1.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn request_has_one_name_in_answer_and_log() {
    let node = Node::start(&["--log-format", "json", "--log", "silica_node=debug"]);
    let mut connection = node.connect();
    let ask = |connection: &mut Connection, name: &str| {
        let answer = post_with(connection, &format!("X-Request-Id: {name}\r\n"), &call("GetNetworkId", &json!([])));
        answer.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(ask(&mut connection, "trace-7.a_B"), "trace-7.a_B");
    let made = ask(&mut connection, "two words");
    assert!(made.len() >= 10 && !made.contains(' '), "{made}");
    assert_ne!(ask(&mut connection, &"x".repeat(65)), "x".repeat(65));
    let output = node.wait_for(&made);
    let line = |name: &str| {
        let named = |line: &&str| line.contains(&format!("\"request_id\":\"{name}\""));
        serde_json::from_str::<Value>(output.lines().find(named).unwrap_or_else(|| panic!("{name}: {output}"))).unwrap()
    };
    for name in ["trace-7.a_B", &made] {
        let line = line(name);
        assert_eq!(
            (&line["message"], &line["status"], &line["level"]),
            (&json!("sent a response"), &json!(200), &json!("DEBUG"))
        );
    }
}

#[test]
fn peer_above_the_rate_limit_is_rejected() {
    let node = Node::start(&["--rate-limit", "3"]);
    let body = call("GetNetworkId", &json!([]));
    // The burst passes at once. Further requests pass at the rate of the limit.
    let mut answers = (0..10_000).map(|_| node.post(&body));
    assert!(answers.by_ref().take(3).all(|answer| answer.status == 200));
    let refused = answers.find(|answer| answer.status != 200).expect("not so many a second");
    assert_eq!(refused.status, 429);
    assert_eq!((refused.header("retry-after"), refused.header("connection")), (Some("1"), Some("close")));
    // Some clients read the body before the status.
    assert_eq!(refused.header("content-type"), Some("application/json"));
    let message = "too many requests, try again later";
    let error = json!({"code": -32000, "data": null, "message": message});
    assert_eq!(text(&refused), json!({"error": error, "id": null, "jsonrpc": "2.0"}).to_string());
    // The rate limit does not apply to the pages for operators.
    assert_eq!(get(&node, "/ready").status, 200);
    assert!(figure(&text(&get(&node, "/metrics")), "silica_http_requests_total{status=\"429\"}") >= 1);
}

#[test]
fn batch_beyond_the_limit_is_refused() {
    let node = Node::start(&["--max-batch", "3"]);
    let batch =
        |size| Value::from(vec![json!({"id": 1, "jsonrpc": "2.0", "method": "GetNetworkId", "params": []}); size]);
    assert_eq!(node.post_json(batch(3).to_string()).as_array().unwrap().len(), 3);
    assert_eq!(node.post_json(batch(4).to_string())["error"]["code"], -32600);
}

/// Returns the largest resident memory of the process, in MiB.
pub(crate) fn peak_memory(node: &Node) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", node.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() >> 10
}

#[test]
fn batch_of_large_documents_is_answered_with_little_memory() {
    let node = Node::start(&["--max-batch", "3000", "--max-batch-answer-mb", "1024"]);
    let document = node.result("rpc.discover", &json!([]));
    let before = peak_memory(&node);
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": "rpc.discover", "params": []});
    let answer = node.post(Value::from(vec![request; 3_000]).to_string());
    let peak = peak_memory(&node);
    assert!(answer.body.len() > 3_000 * document.to_string().len(), "{} bytes", answer.body.len());
    assert!(peak < before + 50, "{before} MiB before the batch, {peak} MiB with it");
}

#[test]
fn responses_are_compressed_on_request() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    let batch = |size: usize| {
        let one = json!({"id": 1, "jsonrpc": "2.0", "method": "GetLatestTxBlock", "params": []});
        Value::from(vec![one; size]).to_string().into_bytes()
    };
    // Batches that are large enough for compression, for chunks, and for the count of large responses.
    for size in [4, 60, 900] {
        let plain = post_with(&mut connection, "", &batch(size));
        assert_eq!(plain.header("content-encoding"), None);
        let packed = post_with(&mut connection, "Accept-Encoding: deflate, gzip\r\n", &batch(size));
        assert_eq!((packed.header("content-encoding"), packed.header("vary")), (Some("gzip"), Some("accept-encoding")));
        let mut unpacked = Vec::new();
        GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain.body, "{size}");
        assert!(packed.body.len() * 2 < plain.body.len(), "{} of {}", packed.body.len(), plain.body.len());
    }
    for (headers, size) in [("Accept-Encoding: gzip\r\n", 0), ("Accept-Encoding: gzip;q=0\r\n", 60)] {
        assert_eq!(post_with(&mut connection, headers, &batch(size)).header("content-encoding"), None);
    }
}

#[test]
fn stop_keeps_its_deadline_and_what_was_acknowledged() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let node = Node::start_in(&data, &["--stop-timeout", "1"]);
    let hash = pay_once(&node, 0);
    // Endless work, which can take half of the stop timeout.
    let long = begin_endless_work(&node);
    pay_once(&node, 1);
    let end = node.stop();
    drop(long);
    assert!(end.output.contains("requests did not finish"), "{end:?}");
    // On a busy machine, a checkpoint can take the other half and more.
    assert!(end.status.success() || end.output.contains("did not stop within 1s"), "{end:?}");
    assert!(!end.output.contains("panicked"), "{}", end.output);
    let node = Node::start_in(&data, &[]);
    assert_eq!(node.result("GetTransaction", &json!([hash]))["ID"], json!(hash));
}
