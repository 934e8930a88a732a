//! The command-line client over TLS and through proxies. Servers of the test terminate TLS in front of a node.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};
use silica_tests::{Connection, Directory, Node, Wallet, node::command};

use crate::contract::HELLO;

/// Exit codes of the client commands.
const DONE: i32 = 0;
const NO_ANSWER: i32 = 2;

/// The issuer of the certificates of the servers.
const CA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/tls/ca.pem");
/// An issuer that signed no certificate of a server.
const OTHER_CA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/tls/other-ca.pem");
/// A valid certificate for `localhost` and other names.
const SERVER: &[u8] = include_bytes!("../data/tls/server.pem");
/// A certificate for another name.
const OTHER_NAME: &[u8] = include_bytes!("../data/tls/other-name.pem");
/// An expired certificate for `localhost`.
const EXPIRED: &[u8] = include_bytes!("../data/tls/expired.pem");
/// The secret key of all these certificates of servers.
const KEY: &[u8] = include_bytes!("../data/tls/server.key");

/// Variables of the machine that could change the result.
const VARIABLES: [&str; 10] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Runs a command with these variables. Spaces separate its arguments. Returns exit code, standard output and standard
/// error.
fn run(line: &str, variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = command(&line.split(' ').collect::<Vec<_>>());
    for name in VARIABLES {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(!stderr.contains("panicked"), "{line}\n{stderr}");
    (output.status.code().unwrap(), stdout, stderr)
}

/// Runs a command that must fail without a response, and checks its error.
#[track_caller]
fn check_error(line: &str, variables: &[(&str, &str)], words: &[&str]) {
    let (code, stdout, stderr) = run(line, variables);
    assert_eq!(code, NO_ANSWER, "{line}: {stdout}{stderr}");
    for word in words {
        assert!(stderr.contains(word), "{word:?} is missing in {stderr}");
    }
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
fn check_done(line: &str, variables: &[(&str, &str)]) -> String {
    let (code, stdout, stderr) = run(line, variables);
    assert_eq!(code, DONE, "{line}: {stdout}{stderr}");
    stdout
}

/// Listens on a free local port, and serves each connection in a separate thread.
fn listen(serve: impl Fn(TcpStream) -> io::Result<()> + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            // An error ends the connection. The client reports the error.
            thread::spawn(move || drop(serve(stream)));
        }
    });
    address
}

/// Reads the head of a request or response, including its end. Returns `None` at the end of the connection.
fn read_head(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// Reads the body of a request with this head.
fn read_body(stream: &mut impl Read, head: &str) -> io::Result<Vec<u8>> {
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// Passes the bodies of requests to the node, and returns the responses of the node to the client.
fn forward(stream: impl Read + Write, node: SocketAddr) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(head) = read_head(&mut stream)? {
        let body = read_body(&mut stream, &head)?;
        let answer = Connection::open(node)?.post(&body)?;
        let head = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n\r\n", answer.status, answer.body.len());
        stream.get_mut().write_all(&[head.as_bytes(), &answer.body].concat())?;
        stream.get_mut().flush()?;
    }
    Ok(())
}

/// Starts a server with this certificate, and returns its address. The server passes requests to the node.
fn terminate_tls(certificate: &[u8], node: &Node) -> SocketAddr {
    let certificates = CertificateDer::pem_slice_iter(certificate).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let (config, node) = (Arc::new(config), node.address());
    listen(move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
        forward(StreamOwned::new(connection, stream), node)
    })
}

/// Starts a proxy that connects every request to one server. Returns the URL of the proxy, and a channel with the first
/// line of each request.
fn proxy(server: SocketAddr) -> (String, Receiver<String>) {
    let (sender, requests) = channel();
    let address = listen(move |stream| {
        let mut client = BufReader::new(stream);
        let Some(head) = read_head(&mut client)? else { return Ok(()) };
        drop(sender.send(head.lines().next().unwrap().to_owned()));
        if head.starts_with("CONNECT") {
            let upstream = TcpStream::connect(server)?;
            client.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            let (mut from, mut to) = (client.get_ref().try_clone()?, upstream.try_clone()?);
            thread::spawn(move || {
                drop(io::copy(&mut from, &mut to));
                to.shutdown(Shutdown::Both)
            });
            let (mut from, mut to) = (upstream, client.into_inner());
            drop(io::copy(&mut from, &mut to));
            return to.shutdown(Shutdown::Both);
        }
        let body = read_body(&mut client, &head)?;
        let answer = Connection::open(server)?.post(&body)?;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", answer.body.len());
        client.get_mut().write_all(&[head.as_bytes(), &answer.body].concat())
    });
    (format!("http://{address}"), requests)
}

/// Starts a server that returns these bytes for each request. Returns the URL of the server.
fn answering(answer: impl Into<Vec<u8>>) -> String {
    let answer: Arc<[u8]> = answer.into().into();
    let address = listen(move |stream| {
        let mut stream = BufReader::new(stream);
        while let Some(head) = read_head(&mut stream)? {
            read_body(&mut stream, &head)?;
            stream.get_mut().write_all(&answer)?;
        }
        Ok(())
    });
    format!("http://{address}")
}

#[test]
fn every_command_uses_tls() {
    let (node, directory) = (Node::start(&[]), Directory::new());
    let port = terminate_tls(SERVER, &node).port();
    let by_name = format!("--url https://localhost:{port}");
    let by_address = format!("--url https://127.0.0.1:{port}/");
    let roots = [("SSL_CERT_FILE", CA)];
    let payee = Wallet::stranger(7).hex();
    let sent = check_done(&format!("send {payee} 1.5 --test-account 1 --json {by_name}"), &roots);
    let sent: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent["hash"], Wallet::funded(0).payment(1, Wallet::stranger(7).address(), 1_500_000_000_000).hash());

    let source = directory.path().join("hello.scilla");
    std::fs::write(&source, HELLO).unwrap();
    let owner = Wallet::funded(0).address().to_bech32();
    let deploy = format!("deploy {} owner={owner} --test-account 1 --json {by_address}", source.display());
    let deployed: Value = serde_json::from_str(&check_done(&deploy, &roots)).unwrap();
    let contract = deployed["contract"].as_str().unwrap();
    let root = node.result("GetLatestTxBlock", &json!([]))["header"]["StateRootHash"].as_str().unwrap().to_owned();
    let hash = sent["hash"].as_str().unwrap();
    for (line, word) in [
        (format!("account balance {payee} {by_name}"), "1.5 ZIL"),
        (format!("account list {by_address}"), "11 "),
        (format!("block {by_name}"), "Tx block"),
        (format!("tx {hash} {by_name}"), "status         done"),
        (format!("rpc GetNetworkId {by_name}"), "222"),
        (format!("state {contract} greeting {by_name}"), "Hello, world"),
        (format!("proof get {contract} greeting {by_name}"), "accountProof"),
        (format!("proof verify --root {root} --address {contract} --variable greeting {by_name}"), "Hello, world"),
        (format!("call {contract} Greet --test-account 2 {by_name}"), "transition     Greet"),
    ] {
        let shown = check_done(&line, &roots);
        assert!(shown.contains(word), "{line}: {shown}");
    }
}

#[test]
fn server_without_a_valid_certificate_is_rejected() {
    let node = Node::start(&[]);
    let trusted = [("SSL_CERT_FILE", CA)];
    let url = format!("https://localhost:{}", terminate_tls(SERVER, &node).port());
    let line = format!("rpc GetNetworkId --url {url}");
    check_error(
        &line,
        &[("SSL_CERT_FILE", OTHER_CA)],
        &[&url, "certificate of localhost: expected an issuer", "SSL_CERT_FILE"],
    );
    check_error(&line, &[("SSL_CERT_FILE", "/no/such")], &[&url, "no root certificates: expected", "/no/such"]);

    let url = format!("https://localhost:{}", terminate_tls(OTHER_NAME, &node).port());
    check_error(
        &format!("block --url {url}"),
        &trusted,
        &[&url, "certificate for this host, got one for", "other.test"],
    );
    let url = format!("https://localhost:{}", terminate_tls(EXPIRED, &node).port());
    check_error(
        &format!("block --url {url}"),
        &trusted,
        &[&url, "expected a valid certificate, got one that has expired"],
    );
    assert_eq!(node.result("GetNumTransactions", &json!([])), "0");
}

#[test]
fn scheme_of_the_url_must_be_that_of_the_server() {
    let node = Node::start(&[]);
    let line = format!("block --url https://{}", node.address());
    check_error(&line, &[("SSL_CERT_FILE", CA)], &["https://127.0.0.1", "expected TLS, got other data"]);
    let line = format!("block --url http://{}", terminate_tls(SERVER, &node));
    check_error(&line, &[], &["http://127.0.0.1", "failed"]);
    check_error(
        "block --url https://127.0.0.1:1",
        &[],
        &["https://127.0.0.1:1/", "cannot connect to 127.0.0.1:1", "refused"],
    );
}

#[test]
fn proxy_of_the_environment_is_used() {
    let node = Node::start(&[]);
    let (tunnel, tunnels) = proxy(terminate_tls(SERVER, &node));
    let line = "rpc GetNetworkId --url https://node.test";
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        assert_eq!(check_done(line, &[(name, &tunnel), ("SSL_CERT_FILE", CA)]), "\"222\"\n", "{name}");
        assert_eq!(tunnels.recv().unwrap(), "CONNECT node.test:443 HTTP/1.1");
    }
    // The certificate must match the host, also through a tunnel.
    let other = "rpc GetNetworkId --url https://else.test";
    check_error(other, &[("HTTPS_PROXY", &tunnel), ("SSL_CERT_FILE", CA)], &["certificate of else.test", "node.test"]);

    let (plain, requests) = proxy(node.address());
    let line = "rpc GetNetworkId --url http://node.test:5555/api";
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        assert_eq!(check_done(line, &[(name, &plain)]), "\"222\"\n", "{name}");
        assert_eq!(requests.recv().unwrap(), "POST http://node.test:5555/api HTTP/1.1");
    }
    let refusing = answering_proxy("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    let words = ["https://node.test:443/", "to open a tunnel, got status 403"];
    check_error("block --url https://node.test", &[("HTTPS_PROXY", &refusing), ("SSL_CERT_FILE", CA)], &words);
    let words = ["expected a proxy http://HOST:PORT", "socks5"];
    check_error("block --url http://node.test", &[("ALL_PROXY", "socks5://127.0.0.1:1")], &words);
}

#[test]
fn no_proxy_names_hosts_without_a_proxy() {
    let node = Node::start(&[]);
    let (url, requests) = proxy(node.address());
    // Linux connects 0.0.0.0 to this machine, but 0.0.0.0 is not a loopback address.
    let line = format!("rpc GetNetworkId --url http://0.0.0.0:{}", node.address().port());
    for name in ["NO_PROXY", "no_proxy"] {
        assert_eq!(check_done(&line, &[("HTTP_PROXY", &url), (name, "else.test, 0.0.0.0")]), "\"222\"\n");
    }
    // A node on a loopback address needs no entry.
    let line = format!("rpc GetNetworkId --url {}", node.url());
    assert_eq!(check_done(&line, &[("ALL_PROXY", &url)]), "\"222\"\n");
    assert!(requests.try_recv().is_err());
    let line = "rpc GetNetworkId --url http://node.test";
    assert_eq!(check_done(line, &[("HTTP_PROXY", &url), ("NO_PROXY", "else.test")]), "\"222\"\n");
    assert!(requests.try_recv().is_ok());
}

/// Starts a proxy that returns these bytes for each `CONNECT`. Returns the URL of the proxy.
fn answering_proxy(answer: &'static str) -> String {
    let address = listen(move |stream| {
        let mut stream = BufReader::new(stream);
        read_head(&mut stream)?;
        stream.get_mut().write_all(answer.as_bytes())
    });
    format!("http://{address}")
}

#[test]
fn silent_server_is_left_after_the_timeout() {
    let silent = listen(|stream| {
        let mut stream = stream;
        io::copy(&mut stream, &mut io::sink()).map(drop)
    });
    let words = ["no response within 1s"];
    for scheme in ["http", "https"] {
        let begun = Instant::now();
        let line = format!("block --timeout 1 --url {scheme}://{silent}");
        check_error(&line, &[("SSL_CERT_FILE", CA)], &[&words[..], &[&silent.to_string()]].concat());
        assert!(begun.elapsed() >= Duration::from_secs(1));
    }
    check_error("block --timeout 0", &[], &["--timeout", "1..=86400"]);
}

#[test]
fn response_beyond_the_limits_is_rejected() {
    let large = "expected a response of at most 67108864 bytes";
    let chunk = ["1000000\r\n", &"x".repeat(0x100_0000), "\r\n"].concat();
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (answer, words) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 67108865\r\n\r\n".to_owned(), large),
        ([chunked, &chunk.repeat(5)].concat(), large),
        (["HTTP/1.1 200 OK\r\n", &"x: y\r\n".repeat(100_000)].concat(), "expected a response of HTTP/1.1"),
        ([chunked, "5\r\nabcdefgh"].concat(), "expected a response of HTTP/1.1"),
        (
            "HTTP/1.1 301 X\r\nlocation: https://b.test/\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "to \"https://b.test/\"; the client does not follow redirects",
        ),
        ("HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n".to_owned(), "expected status 200, got 503"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>".to_owned(), "got \"<html>\""),
    ] {
        let url = answering(answer);
        check_error(&format!("block --url {url}"), &[], &[words, &url]);
    }
}
