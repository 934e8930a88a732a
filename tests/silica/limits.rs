//! Limits of a public node: calls per client, methods, and access to pages.

use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use silica_tests::{Answer, Connection, Node};
use tungstenite::{Message, WebSocket};

fn call(method: &str, params: &Value) -> Value {
    json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params})
}

fn network_id() -> Value {
    call("GetNetworkId", &json!([]))
}

fn post_with(node: &Node, headers: &str, body: &Value) -> Answer {
    let (mut connection, body) = (node.connect(), body.to_string());
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    connection.write(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
    connection.read().unwrap()
}

/// Returns the number of calls at the start of a batch that have a result. Checks that all later calls fail, with the
/// time until the next attempt.
#[track_caller]
fn answered(answers: &Value) -> usize {
    let answers = answers.as_array().unwrap();
    let answered = answers.iter().take_while(|answer| answer.get("result").is_some()).count();
    for refused in &answers[answered..] {
        assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32000), &json!(1)), "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("too many calls, try again in ") && message.ends_with(" s"), "{message}");
    }
    answered
}

fn session(node: &Node) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(node.address()).unwrap();
    tungstenite::client(format!("ws://{}", node.address()), stream).unwrap().0
}

fn ask(session: &mut WebSocket<TcpStream>, message: &str) -> String {
    session.send(Message::text(message)).unwrap();
    session.read().unwrap().to_text().unwrap().to_owned()
}

#[test]
fn calls_of_a_batch_are_counted() {
    let node = Node::start(&["--rate-limit", "3"]);
    let post = || post_with(&node, "", &json!(vec![network_id(); 500]));
    let answer = post();
    assert_eq!(answer.status, 200);
    let taken = answered(&serde_json::from_slice(&answer.body).unwrap());
    // The batch can take a second on a slow machine, in which further calls are permitted.
    assert!((3..10).contains(&taken), "{taken} calls");
    // Further requests exceed the limit, unless the machine is so slow that each request is within the rate.
    let refused = (0..100).map(|_| post()).find(|answer| answer.status != 200).expect("not so many a second");
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    let body: Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(body["error"]["message"], "too many requests, try again later");
}

#[test]
fn calls_over_websocket_are_counted() {
    let node = Node::start(&["--rate-limit", "20"]);
    let mut session = session(&node);
    let message = network_id().to_string();
    let answers: Vec<Value> = (0..500).map(|_| serde_json::from_str(&ask(&mut session, &message)).unwrap()).collect();
    let taken = answers.iter().filter(|answer| answer.get("result").is_some()).count();
    let refused = answers.iter().find(|answer| answer.get("error").is_some()).expect("not so many a second");
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32000), &json!(1)));
    assert_eq!(refused["error"]["message"], "too many calls, try again in 1 s");
    // The node permits the burst minus the handshake, plus the calls for the elapsed time.
    assert!((19..400).contains(&taken), "{taken} calls");
    let batch = serde_json::from_str(&ask(&mut session, &json!(vec![network_id(); 500]).to_string())).unwrap();
    assert!(answered(&batch) < 200);
    // Messages of subscribed clients count as well.
    let subscribe = json!({"query": "NewBlock"}).to_string();
    let answers: Vec<_> = (0..100).map(|_| ask(&mut session, &subscribe)).collect();
    assert!(answers.iter().any(|answer| answer.starts_with("too many calls, try again in ")), "{answers:?}");
}

#[test]
fn expensive_calls_count_several_times() {
    let node = Node::start(&["--rate-limit", "50"]);
    let discover = call("rpc.discover", &json!([]));
    let answer = post_with(&node, "", &json!(vec![discover; 20]));
    let taken = answered(&serde_json::from_slice(&answer.body).unwrap());
    assert!((2..8).contains(&taken), "{taken} calls");
    // A method whose weight exceeds the burst can be called too.
    let node = Node::start(&["--rate-limit", "1"]);
    let trace = || post_with(&node, "", &call("silica_traceTransaction", &json!(["0".repeat(64)])));
    let answer = trace();
    assert_eq!(answer.status, 200);
    assert_eq!(serde_json::from_slice::<Value>(&answer.body).unwrap()["error"]["code"], -20);
}

#[test]
fn client_that_waits_as_requested_is_answered() {
    let node = Node::start(&["--rate-limit", "5"]);
    let trace = || post_with(&node, "", &call("silica_traceTransaction", &json!(["0".repeat(64)])));
    assert_eq!(trace().status, 200);
    for _ in 0..3 {
        let answer = trace();
        if answer.status == 200 {
            return;
        }
        let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert_eq!((answer.status, seconds), (429, 1));
        std::thread::sleep(std::time::Duration::from_secs(seconds));
    }
    panic!("the wait does not lead to an answer");
}

/// Returns the status of a batch that a local proxy forwards for a client.
fn status_for(node: &Node, header: &str) -> u16 {
    post_with(node, &format!("{header}\r\n"), &json!(vec![network_id(); 100])).status
}

#[test]
fn calls_count_for_the_client_of_a_trusted_proxy() {
    let node = Node::start(&["--rate-limit", "1", "--trusted-proxies", "127.0.0.1,10.0.0.0/8"]);
    for client in ["1.1.1.1", "1.1.1.2", "9.9.9.9, 1.1.1.3", "1.1.1.4, 10.0.0.1"] {
        assert_eq!(status_for(&node, &format!("X-Forwarded-For: {client}")), 200, "{client}");
    }
    assert_eq!(status_for(&node, "Forwarded: for=1.1.1.5;proto=https"), 200);
    // The rightmost address counts, because a client can add addresses on the left.
    assert_eq!(status_for(&node, "X-Forwarded-For: 2.2.2.2, 7.7.7.7"), 200);
    let again = (0..50).map(|i| status_for(&node, &format!("X-Forwarded-For: 3.3.3.{i}, 7.7.7.7")));
    assert!(again.into_iter().any(|status| status == 429));
}

#[test]
fn only_a_trusted_proxy_names_its_client() {
    for args in [&["--rate-limit", "1"][..], &["--rate-limit", "1", "--trusted-proxies", "10.0.0.1"]] {
        let node = Node::start(args);
        let statuses: Vec<_> = (0..20).map(|i| status_for(&node, &format!("X-Forwarded-For: 3.3.3.{i}"))).collect();
        assert!(statuses.contains(&429), "{statuses:?}");
    }
}

#[test]
fn operator_lists_the_methods_that_are_answered() {
    let node = Node::start(&["--methods", "Get*,CreateTransaction,silica_mine"]);
    let ask = |method: &str| node.post_json(call(method, &json!([])).to_string());
    assert_eq!(ask("GetNetworkId")["result"], "222");
    assert_eq!(ask("CreateTransaction")["error"]["code"], -32602);
    assert_eq!(ask("silica_mine")["result"], "2");
    for method in ["eth_chainId", "rpc.discover", "silica_snapshot", "IncreaseBlocknum", "NoSuchMethod"] {
        let message = "METHOD_NOT_FOUND: The method being requested is not available on this server";
        assert_eq!(ask(method)["error"], json!({"code": -32601, "message": message}), "{method}");
    }
    let mut session = session(&node);
    let answer: Value = serde_json::from_str(&ask_of(&mut session, "eth_chainId")).unwrap();
    assert_eq!(answer["error"]["code"], -32601);
}

fn ask_of(session: &mut WebSocket<TcpStream>, method: &str) -> String {
    ask(session, &call(method, &json!([])).to_string())
}

/// Starts a node with a separate address for operators. Returns both.
fn start_with_operators(args: &[&str]) -> (Node, SocketAddr) {
    let node = Node::start(&[&["--operator-listen", "127.0.0.1:0"], args].concat());
    let output = node.wait_for("serving pages for operators addr=");
    let (_, rest) = output.split_once("serving pages for operators addr=").unwrap();
    let address = rest.split_whitespace().next().unwrap().parse().unwrap();
    (node, address)
}

#[test]
fn pages_for_operators_have_an_address_of_their_own() {
    let (node, operators) = start_with_operators(&[]);
    let get = |address, path: &str| Connection::open(address).unwrap().request("GET", path, b"").unwrap();
    for path in ["/metrics", "/ready", "/health"] {
        let answer = get(operators, path);
        assert_eq!(answer.status, 200, "{path}");
        // Pages of other origins cannot read these pages.
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    for path in ["/metrics", "/ready"] {
        let answer = get(node.address(), path);
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST, OPTIONS")), "{path}");
    }
    assert_eq!(get(node.address(), "/health").status, 200);
    // This address has no JSON-RPC.
    for path in ["/", "/metrics"] {
        let answer = Connection::open(operators).unwrap().request("POST", path, network_id().to_string().as_bytes());
        assert_eq!(answer.unwrap().status, if path == "/" { 404 } else { 405 }, "{path}");
    }
    assert_eq!(get(operators, "/other").status, 404);
    let stream = TcpStream::connect(operators).unwrap();
    assert!(tungstenite::client(format!("ws://{operators}"), stream).is_err(), "there is no WebSocket");
    assert_eq!(node.post_json(network_id().to_string())["result"], "222");
}

/// Values of `Host`, and whether `/metrics` succeeds with them. `None` is an HTTP/1.0 request without the header.
const HOSTS_OF_METRICS: [(Option<&str>, bool); 14] = [
    (None, true),
    (Some(""), true),
    (Some("localhost:9100"), true),
    (Some("app.localhost"), true),
    (Some("127.0.0.1:9100"), true),
    // A probe of Kubernetes, a load balancer or Prometheus sends the address to which it connects.
    (Some("10.1.2.3:9100"), true),
    (Some("0.0.0.0"), true),
    (Some("[2001:db8::1]:9100"), true),
    (Some("Node.Example:9100"), true),
    (Some("silica"), false),
    (Some("evil.example:9100"), false),
    (Some("localhost.evil.example"), false),
    (Some("evil.node.example"), false),
    (Some("10.1.2.3.evil.example"), false),
];

/// Gets a page with this host and with the origin of another page.
fn get_under(address: SocketAddr, path: &str, host: Option<&str>) -> Answer {
    let (version, host) = host.map_or(("1.0", String::new()), |host| ("1.1", format!("Host: {host}\r\n")));
    let mut connection = Connection::open(address).unwrap();
    let request = format!("GET {path} HTTP/{version}\r\n{host}Origin: http://evil.example\r\n\r\n");
    connection.write(request.as_bytes()).unwrap();
    connection.read().unwrap()
}

#[test]
fn metrics_need_an_address_or_a_known_name_as_host() {
    let allowed = ["--allowed-hosts", "node.example"];
    let (shared, (separate, operators)) = (Node::start(&allowed), start_with_operators(&allowed));
    for (host, is_known) in HOSTS_OF_METRICS {
        for (address, path) in [
            (shared.address(), "/metrics"),
            (shared.address(), "/ready"),
            (operators, "/metrics"),
            (operators, "/ready"),
            (operators, "/health"),
        ] {
            let answer = get_under(address, path, host);
            let is_refused = path == "/metrics" && !is_known;
            assert_eq!(answer.status, if is_refused { 403 } else { 200 }, "{path} {host:?}");
            assert_eq!(answer.header("access-control-allow-origin"), None, "{path} {host:?}");
            if is_refused {
                let expected =
                    "expected an IP address, a loopback name, or one of --allowed-hosts as host, got the host";
                let text = String::from_utf8(answer.body).unwrap();
                assert_eq!(text, format!("{expected} {:?}", host.unwrap()));
            }
        }
        // Public pages do not depend on the host.
        for node in [&shared, &separate] {
            let answer = get_under(node.address(), "/health", host);
            assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("*")), "{host:?}");
        }
    }
    // A POST is JSON-RPC on each path, for each host and origin.
    let body = network_id().to_string();
    let head = format!("POST /metrics HTTP/1.1\r\nHost: evil.example\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut connection = shared.connect();
    connection.write(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
    let answer = connection.read().unwrap();
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("*")));
}

#[test]
fn caller_is_shown_only_methods_that_it_may_call() {
    let node = Node::start(&["--methods", "Get*,rpc.discover,silica_mine"]);
    let described = |headers: &str| -> Vec<String> {
        let answer = post_with(&node, headers, &call("rpc.discover", &json!([])));
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        let methods = answer["result"]["methods"].as_array().unwrap();
        methods.iter().map(|method| method["name"].as_str().unwrap().to_owned()).collect()
    };
    // The node rejects developer methods under the foreign host `x`.
    let foreign = described("");
    assert!(foreign.len() > 20 && foreign.contains(&"rpc.discover".to_owned()), "{foreign:?}");
    assert!(foreign.iter().all(|name| name.starts_with("Get") || name == "rpc.discover"), "{foreign:?}");
    let document = node.result("rpc.discover", &json!([]));
    let local = document["methods"].as_array().unwrap();
    assert_eq!(local.len(), foreign.len() + 1);
    assert!(local.iter().any(|method| method["name"] == "silica_mine"), "{local:?}");
    let suggested = |method: &str| node.call(method, &json!([])).unwrap_err().data;
    assert_eq!(suggested("getBalance"), Some(json!({"didYouMean": "GetBalance"})));
    assert_eq!(suggested("CreateTransactio"), None);
}

#[test]
fn crowd_of_clients_does_not_hide_the_pages_for_operators() {
    let (node, operators) = start_with_operators(&["--max-connections", "2"]);
    let crowd: Vec<_> = (0..10)
        .map(|_| {
            let mut connection = node.connect();
            connection.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1").unwrap();
            connection
        })
        .collect();
    assert_eq!(Connection::open(operators).unwrap().request("GET", "/ready", b"").unwrap().status, 200);
    drop(crowd);
}
