//! Clients that a node must not trust: pages of other origins, rebound host names, proxies. They can call ordinary
//! methods, and no developer methods.

use std::net::TcpStream;

use serde_json::{Value, json};
use silica_tests::{Connection, Node};
use tungstenite::{Message, WebSocket, client::IntoClientRequest};

use crate::height;

/// An ordinary method, and a developer method, which makes a block.
const ORDINARY: &str = "GetNetworkId";
const DEVELOPER: &str = "silica_mine";

/// Values of `Host`, and whether a developer method succeeds with them.
const HOSTS: [(&str, bool); 9] = [
    ("localhost:5555", true),
    ("app.localhost", true),
    ("127.0.0.1:5555", true),
    ("[::1]:5555", true),
    ("node.example:5555", true),
    ("evil.example", false),
    ("localhost.evil.example:5555", false),
    ("0.0.0.0:5555", false),
    ("", false),
];

/// Values of `Origin`, and whether a developer method succeeds with them.
const ORIGINS: [(Option<&str>, bool); 9] = [
    (None, true),
    (Some("http://localhost:3000"), true),
    (Some("http://127.0.0.1"), true),
    (Some("https://[::1]:8443"), true),
    (Some("https://ide.example"), true),
    (Some("null"), false),
    (Some("https://evil.example"), false),
    (Some("http://ide.example"), false),
    (Some("http://localhost.evil.example"), false),
];

/// Media types. A page can send all except the first without a preflight request.
const MEDIA_TYPES: [Option<&str>; 4] =
    [Some("application/json"), Some("text/plain"), Some("application/x-www-form-urlencoded"), None];

fn start() -> Node {
    Node::start(&["--allowed-hosts", "node.example", "--allowed-origins", "https://ide.example"])
}

fn call(method: &str) -> Value {
    let params = if method == DEVELOPER { json!([1]) } else { json!([]) };
    json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params})
}

/// Returns whether the response has a result. Otherwise, checks that the error has the code for developer methods, and
/// the rejected value.
#[track_caller]
fn is_answered(answer: &Value) -> bool {
    if answer.get("result").is_some() {
        return true;
    }
    let message = answer["error"]["message"].as_str().unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(message.starts_with("silica_mine is for developers on this machine: the header "), "{message}");
    assert!(message.contains("expected "), "{message}");
    false
}

/// Posts a body with these header lines over a kept connection, and returns the JSON of the response.
fn post(connection: &mut Connection, headers: &[(&str, &str)], body: &Value) -> Value {
    let mut head = "POST / HTTP/1.1\r\n".to_owned();
    let body = body.to_string();
    for (name, value) in headers {
        head.extend([*name, ": ", value, "\r\n"]);
    }
    connection.write(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let answer = connection.read().unwrap();
    assert_eq!(answer.status, 200, "{headers:?}");
    serde_json::from_slice(&answer.body).unwrap()
}

/// Opens a WebSocket session with these headers.
fn shake_hands(node: &Node, headers: &[(&'static str, &str)]) -> WebSocket<TcpStream> {
    let mut request = format!("ws://{}", node.address()).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    tungstenite::client(request, TcpStream::connect(node.address()).unwrap()).unwrap().0
}

fn ask(session: &mut WebSocket<TcpStream>, message: &Value) -> Value {
    session.send(Message::text(message.to_string())).unwrap();
    serde_json::from_str(session.read().unwrap().to_text().unwrap()).unwrap()
}

/// Returns a batch with ordinary calls and a call of a developer method.
fn mixed() -> Value {
    json!([call(ORDINARY), call(DEVELOPER), call(ORDINARY)])
}

/// Checks that all calls of a batch succeed, except the call of the developer method if `allowed` is false.
#[track_caller]
fn check_mixed(answers: &Value, allowed: bool) {
    let answered: Vec<_> = answers.as_array().unwrap().iter().map(is_answered).collect();
    assert_eq!(answered, [true, allowed, true], "{answers}");
}

#[test]
fn methods_for_developers_need_an_own_host_and_an_own_origin_over_http() {
    let node = start();
    let (mut connection, mut made) = (node.connect(), 0);
    for (host, is_own_host) in HOSTS {
        for (origin, is_own_origin) in ORIGINS {
            for media_type in MEDIA_TYPES {
                let mut headers = vec![("Host", host)];
                headers.extend(origin.map(|origin| ("Origin", origin)));
                headers.extend(media_type.map(|media_type| ("Content-Type", media_type)));
                let allowed = is_own_host && is_own_origin;
                assert!(is_answered(&post(&mut connection, &headers, &call(ORDINARY))), "{headers:?}");
                let answer = post(&mut connection, &headers, &call(DEVELOPER));
                assert_eq!(is_answered(&answer), allowed, "{headers:?}: {answer}");
                check_mixed(&post(&mut connection, &headers, &mixed()), allowed);
                made += 2 * u64::from(allowed);
                assert_eq!(height(&node), made, "{headers:?}");
            }
        }
    }
    assert_eq!(made, 5 * 5 * 4 * 2);
}

#[test]
fn methods_for_developers_need_an_own_host_and_an_own_origin_over_websocket() {
    let node = start();
    let mut made = 0;
    for (host, is_own_host) in HOSTS {
        for (origin, is_own_origin) in ORIGINS {
            let mut headers = vec![("Host", host)];
            headers.extend(origin.map(|origin| ("Origin", origin)));
            let mut session = shake_hands(&node, &headers);
            let allowed = is_own_host && is_own_origin;
            // The handshake decides for all messages of the session.
            for _ in 0..2 {
                assert!(is_answered(&ask(&mut session, &call(ORDINARY))), "{headers:?}");
                let answer = ask(&mut session, &call(DEVELOPER));
                assert_eq!(is_answered(&answer), allowed, "{headers:?}: {answer}");
                check_mixed(&ask(&mut session, &mixed()), allowed);
                made += 2 * u64::from(allowed);
            }
            assert_eq!(height(&node), made, "{headers:?}");
        }
    }
    assert_eq!(made, 5 * 5 * 2 * 2);
}

#[test]
fn only_loopback_and_listed_origins_are_own() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    for (headers, words) in [
        (vec![("Host", "node.example")], ["header Host has \"node.example\"", "loopback", "--allowed-hosts"]),
        (
            vec![("Host", "localhost"), ("Origin", "https://ide.example")],
            ["header Origin has \"https://ide.example\"", "loopback", "--allowed-origins"],
        ),
    ] {
        let answer = post(&mut connection, &headers, &call(DEVELOPER));
        assert!(!is_answered(&answer));
        for word in words {
            assert!(answer["error"]["message"].as_str().unwrap().contains(word), "{word}: {answer}");
        }
    }
    assert_eq!(height(&node), 0);
    node.wait_for("rejected a call of a method for developers");
}

#[test]
fn request_that_came_through_a_proxy_calls_no_method_for_developers() {
    let node = start();
    let mut connection = node.connect();
    for name in [
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Forwarded-Other",
        "Via",
        "X-Real-IP",
        "CF-Connecting-IP",
        "True-Client-IP",
    ] {
        let headers = [("Host", "localhost"), (name, "127.0.0.1")];
        check_mixed(&post(&mut connection, &headers, &mixed()), false);
        check_mixed(&ask(&mut shake_hands(&node, &headers), &mixed()), false);
    }
    assert_eq!(height(&node), 0);
    let trusting = Node::start(&["--trusted-proxies", "127.0.0.0/8"]);
    let answer = post(&mut trusting.connect(), &[("Host", "localhost")], &call(DEVELOPER));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("the peer 127.0.0.1 is one of --trusted-proxies"), "{message}");
}

#[test]
fn host_before_the_path_counts_as_well() {
    let node = start();
    let mut connection = node.connect();
    let mut ask = |target: &str, version: &str, host: &str| {
        let body = call(DEVELOPER).to_string();
        let head = format!("POST {target} HTTP/{version}\r\n{host}Connection: keep-alive\r\n");
        connection.write(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
        let answer = connection.read().unwrap();
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        answer["error"]["message"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(ask("http://localhost:5555/", "1.1", "Host: localhost\r\n"), "");
    assert!(ask("http://evil.example/", "1.1", "Host: localhost\r\n").contains("target has the host \"evil.example\""));
    assert!(ask("http://localhost/", "1.1", "Host: evil.example\r\n").contains("Host has \"evil.example\""));
    assert!(ask("/", "1.0", "").contains("Host is missing"));
    assert_eq!(height(&node), 1);
}

#[test]
fn other_callers_of_ordinary_methods_see_no_change() {
    let node = Node::start(&["--developer", "off"]);
    let mut connection = node.connect();
    let foreign = [
        ("Host", "rpc.example"),
        ("Origin", "https://ide.example"),
        ("X-Forwarded-For", "8.8.8.8"),
        ("Via", "1.1 proxy"),
    ];
    assert_eq!(post(&mut connection, &foreign, &call(ORDINARY))["result"], "222");
    let off = post(&mut connection, &foreign, &call(DEVELOPER));
    assert!(off["error"]["message"].as_str().unwrap().contains("switched off"), "{off}");
}

#[test]
fn start_prints_whether_methods_for_developers_are_on() {
    let node = Node::start(&[]);
    node.wait_for("developers ON");
    node.wait_for("methods for developers are ON");
    for args in [&["--developer", "off"][..], &["--profile", "mainnet"]] {
        let node = Node::start(args);
        node.wait_for("developers off");
        let answer = post(&mut node.connect(), &[("Host", "localhost")], &call(DEVELOPER));
        assert!(answer["error"]["message"].as_str().unwrap().contains("switched off"), "{answer}");
    }
    let node = Node::start(&["--profile", "mainnet", "--developer", "on"]);
    assert!(is_answered(&post(&mut node.connect(), &[("Host", "localhost")], &call(DEVELOPER))));
}
