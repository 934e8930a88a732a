//! Silica Studio, the web page of a node: its files, as a browser loads them, and the option `--studio`.

use std::{collections::BTreeSet, fs, io::Read, net::SocketAddr};

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use silica_tests::{
    Answer, Connection, Directory, Node,
    node::{command, run},
};

/// The value of `Accept` with which a browser opens a page.
const BROWSER: &str = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n";

/// Sends a request with further header lines over a kept connection, and returns the response.
fn send(connection: &mut Connection, verb: &str, path: &str, further: &str) -> Answer {
    let host = if further.contains("Host: ") { "" } else { "Host: localhost\r\n" };
    connection.write(format!("{verb} {path} HTTP/1.1\r\n{host}{further}\r\n").as_bytes()).unwrap();
    connection.read().unwrap()
}

fn get(address: SocketAddr, path: &str, further: &str) -> Answer {
    send(&mut Connection::open(address).unwrap(), "GET", path, further)
}

/// Returns the values of the attributes `href` and `src` of a page.
fn references(page: &str) -> BTreeSet<&str> {
    let values = ["href=\"", "src=\""].into_iter().flat_map(|name| page.split(name).skip(1));
    values.map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn browser_opens_the_url_of_the_node_and_loads_the_page() {
    let node = Node::start(&[]);
    let banner = node.wait_for("curl ");
    assert!(banner.contains(&format!("\n  studio     {}/studio/\n", node.url())), "{banner}");
    assert_eq!(node.result("silica_nodeInfo", &json!([]))["studio"], true);

    let mut connection = node.connect();
    let redirect = send(&mut connection, "GET", "/", BROWSER);
    assert_eq!((redirect.status, redirect.header("location")), (302, Some("studio/")));
    let page = send(&mut connection, "GET", "/studio/", BROWSER);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let text = String::from_utf8(page.body.clone()).unwrap();
    let files = references(&text);
    let has = |wanted| files.iter().any(|name| name.rsplit_once('.').is_some_and(|(_, extension)| extension == wanted));
    assert!(has("js") && has("css"), "{text}");
    for name in files {
        // An absolute path would leave the prefix of a proxy, and another origin would get a request.
        assert!(!name.starts_with('/') && !name.contains(':') && !name.contains(".."), "{name}");
        let path = format!("/studio/{name}");
        let plain = send(&mut connection, "GET", &path, "");
        let packed = send(&mut connection, "GET", &path, "Accept-Encoding: gzip, deflate, br\r\n");
        assert_eq!((plain.status, packed.status), (200, 200), "{name}");
        assert_eq!((plain.header("content-encoding"), packed.header("content-encoding")), (None, Some("gzip")));
        let mut inflated = Vec::new();
        GzDecoder::new(&packed.body[..]).read_to_end(&mut inflated).unwrap();
        assert!(!plain.body.is_empty() && plain.body == inflated, "{name}");
        for answer in [&plain, &packed, &page] {
            let policy = answer.header("content-security-policy").unwrap();
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self'; ")
                    && policy.contains("trusted-types 'none'")
            );
            assert_eq!(answer.header("access-control-allow-origin"), None);
            assert!(answer.header("x-request-id").is_some());
        }
        let tag = format!("If-None-Match: {}\r\n", plain.header("etag").unwrap());
        assert_eq!(send(&mut connection, "GET", &path, &tag).status, 304, "{name}");
    }
    assert_eq!(send(&mut connection, "GET", "/studio/none", BROWSER).status, 404);
}

#[test]
fn page_calls_the_node_at_its_own_path() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    let call = json!({"id": 1, "jsonrpc": "2.0", "method": "silica_mine", "params": [1]}).to_string();
    for path in ["/", "/studio/", "/studio/none"] {
        assert_eq!(send(&mut connection, "GET", "/studio/", BROWSER).status, 200);
        let answer = connection.request("POST", path, call.as_bytes()).unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(answer.status == 200 && body["result"].is_string(), "{path} {body}");
    }
    assert_eq!(crate::height(&node), 3);
    let mut session = tungstenite::connect(format!("ws://{}/studio/", node.address())).unwrap().0;
    session.send(tungstenite::Message::text(call)).unwrap();
    let body: Value = serde_json::from_str(session.read().unwrap().to_text().unwrap()).unwrap();
    assert!(body["result"].is_string(), "{body}");
}

#[test]
fn studio_that_is_off_has_no_path() {
    for (args, address) in [(["--studio", "off"], "127.0.0.1"), (["--websocket", "0.0.0.0:0"], "0.0.0.0")] {
        let node = Node::start(&args);
        let banner = node.wait_for("curl ");
        assert!(!banner.contains("  studio  ") && banner.contains(address), "{banner}");
        for path in ["/studio", "/studio/", "/studio/index.html"] {
            let answer = get(node.address(), path, BROWSER);
            assert_eq!((answer.status, answer.header("allow")), (405, Some("POST, OPTIONS")), "{path}");
            assert_eq!(answer.body, b"Not allowed HTTP Method");
        }
        let home = get(node.address(), "/", BROWSER);
        assert!(home.status == 200 && home.header("location").is_none());
        assert_eq!(node.result("silica_nodeInfo", &json!([]))["studio"], false);
    }
}

#[test]
fn studio_that_is_on_is_at_every_address_of_json_rpc() {
    let args = ["--websocket", "0.0.0.0:0", "--studio", "on", "--operator-listen", "127.0.0.1:0", "--banner", "json"];
    let node = Node::start(&args);
    let facts = node.wait_until("the banner", |output| output.contains("\"nodeKey\""));
    let facts = facts.lines().find(|line| line.contains("\"nodeKey\"")).unwrap();
    let facts: Value = serde_json::from_str(facts).unwrap();
    // The log names the address for operators first, so the test reads the address of JSON-RPC from the banner.
    let at = |name: &str, scheme: &str| facts[name].as_str().unwrap().strip_prefix(scheme).unwrap().parse().unwrap();
    let address: SocketAddr = at("url", "http://");
    assert_eq!(facts["studio"], json!(format!("http://{address}/studio/")));
    for address in [address, at("websocket", "ws://")] {
        assert_eq!(get(address, "/studio/", BROWSER).status, 200);
    }
    assert_eq!(get(at("operator", "http://"), "/studio/", BROWSER).status, 404);
    // The option `--developer` does not depend on the option `--studio`.
    let call = json!({"id": 1, "jsonrpc": "2.0", "method": "silica_nodeInfo", "params": []}).to_string();
    let answer = Connection::open(address).unwrap().post(call.as_bytes()).unwrap();
    let info = serde_json::from_slice::<Value>(&answer.body).unwrap()["result"].clone();
    assert_eq!((&info["studio"], &info["developerMethods"]), (&json!(true), &json!(false)));
}

#[test]
fn foreign_pages_get_nothing_of_the_studio() {
    let node = Node::start(&["--allowed-hosts", "node.example", "--allowed-origins", "https://ide.example"]);
    for path in ["/studio/", "/studio", "/studio/none", "/"] {
        let check = |headers: &str, words: Option<&str>| {
            let answer = get(node.address(), path, &format!("{BROWSER}{headers}"));
            assert_eq!(answer.status == 403, words.is_some(), "{path} {headers}");
            let text = String::from_utf8_lossy(&answer.body);
            assert!(words.is_none_or(|words| text.contains(words)), "{path} {headers} {text}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
            assert!(answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
        };
        for host in ["node.example", "127.0.0.1:5555", "[::1]", "app.localhost"] {
            check(&format!("Host: {host}\r\n"), None);
        }
        for host in ["evil.example", "localhost.evil.example:5555"] {
            check(&format!("Host: {host}\r\n"), Some(&format!("got the host \"{host}\"")));
        }
        for origin in ["http://localhost:3000", "https://ide.example"] {
            check(&format!("Origin: {origin}\r\n"), None);
        }
        for origin in ["https://evil.example", "null", "http://node.example"] {
            check(&format!("Origin: {origin}\r\n"), Some(&format!("the header Origin has \"{origin}\"")));
        }
        check("Host: node.example\r\nOrigin: https://node.example\r\n", None);
    }
}

#[test]
fn overlong_paths_get_an_error_and_the_node_continues() {
    let node = Node::start(&[]);
    for path in ["/studio/../../etc/passwd", "/studio/%2e%2e/%2e%2e/etc/passwd", "/studio//index.html", "/studio/%00"] {
        assert_eq!(get(node.address(), path, "").status, 404, "{path}");
    }
    for length in [1_000, 10_000] {
        assert_eq!(get(node.address(), &format!("/studio/{}", "x".repeat(length)), "").status, 404, "{length} bytes");
    }
    for length in [100_000, 1_000_000] {
        let mut connection = node.connect();
        let request = format!("GET /studio/{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "../".repeat(length / 3));
        // The node can close the connection while the client writes. The system then discards the response.
        if let Ok(answer) = connection.write(request.as_bytes()).and_then(|()| connection.read()) {
            assert!([414, 431].contains(&answer.status), "{} for {length} bytes", answer.status);
        }
    }
    let answer = get(node.address(), "/studio/", "");
    assert_eq!(answer.status, 200);
}

#[test]
fn wrong_value_of_the_option_is_an_error_with_the_place() {
    let end = run(&["--studio", "127.0.0.1:80"]);
    assert!(!end.status.success(), "{}", end.output);
    let directory = Directory::new();
    let file = directory.path().join("silica.toml");
    fs::write(&file, "studio = \"yes\"\n").unwrap();
    let in_file = run(&["--config", file.to_str().unwrap()]);
    let mut variable = command(&[]);
    let variable = variable.env("SILICA_STUDIO", "1").output().unwrap();
    for (output, words) in [
        (end.output, ["127.0.0.1:80", "--studio"]),
        (in_file.output, ["silica.toml:1: studio: ", "\"yes\""]),
        (String::from_utf8(variable.stderr).unwrap(), ["'1'", "SILICA_STUDIO"]),
    ] {
        for word in words.into_iter().chain(["auto", "on", "off"]) {
            assert!(output.contains(word), "{word} is missing in\n{output}");
        }
    }
}
