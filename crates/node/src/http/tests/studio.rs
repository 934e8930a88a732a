//! Tests of the studio. They read the table of its files, and depend on no name of a file except `index.html`.

use std::{collections::BTreeMap, io::Read};

use flate2::read::GzDecoder;
use silica_studio::{ASSETS, Asset};

use super::*;

async fn start_studio(access: Access) -> Running {
    let mut server = Server::new(calm(), Serves::All, access, Arc::default());
    server.serve_studio();
    run(server, [127, 0, 0, 1]).await
}

/// A response: its status, its headers with names in lower case, and its body.
struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// Sends a request without a body, and further header lines. Returns the response.
async fn send(server: &Running, verb: &str, path: &str, further: &str) -> Answer {
    let further = if further.contains("host: ") { further.to_owned() } else { format!("host: localhost\r\n{further}") };
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    let request = format!("{verb} {path} HTTP/1.1\r\n{CLOSE}{further}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    timeout(HANGS, stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
    let end = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    let body = bytes.split_off(end + 4);
    let head = String::from_utf8(bytes).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Answer { status, headers, body }
}

fn inflated(asset: &Asset) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(asset.gzip).read_to_end(&mut plain).unwrap();
    plain
}

/// Checks the headers that each response of the studio has.
#[track_caller]
fn check_secured(answer: &Answer) {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                  base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                  trusted-types 'none'";
    for (name, value) in [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let shared = answer.headers.keys().find(|name| name.starts_with("access-control-"));
    assert_eq!(shared, None, "no page of another origin reads the studio");
}

const WITH_GZIP: [&str; 4] = ["gzip", "GZIP, deflate, br", "br;q=1, gzip;q=0.5", "identity;q=0, gzip;q=0.001"];
const WITHOUT_GZIP: [&str; 7] =
    ["", "identity", "br, deflate", "*", "gzip;q=0", "gzip;q=0.000, *;q=1", "gzip;q=0.1, identity;q=0.2"];

#[tokio::test]
async fn each_file_has_its_bytes_and_its_headers_in_both_forms() {
    let server = start_studio(Access::default()).await;
    let offers = WITH_GZIP.map(|offer| (offer, true)).into_iter().chain(WITHOUT_GZIP.map(|offer| (offer, false)));
    for asset in ASSETS {
        for (offer, compressed) in offers.clone() {
            let offer = format!("accept-encoding: {offer}\r\n");
            let answer = send(&server, "GET", &format!("/studio/{}", asset.path), &offer).await;
            let case = format!("{} {offer}", asset.path);
            assert_eq!(answer.status, 200, "{case}");
            check_secured(&answer);
            let expected = if compressed { asset.gzip.to_owned() } else { inflated(asset) };
            assert!(answer.body == expected, "{case}");
            assert_eq!(inflated(asset).len(), asset.length, "{case}");
            assert_eq!(answer.header("content-length"), Some(&*expected.len().to_string()), "{case}");
            assert_eq!(answer.header("content-encoding"), compressed.then_some("gzip"), "{case}");
            assert_eq!(answer.header("content-type"), Some(asset.content_type), "{case}");
            assert_eq!(answer.header("etag"), Some(&*format!("W/{}", asset.etag)), "{case}");
            assert_eq!(answer.header("vary"), Some("accept-encoding"), "{case}");
            let lifetime = if asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
            assert_eq!(answer.header("cache-control"), Some(lifetime), "{case}");
        }
    }
}

fn index() -> &'static Asset {
    ASSETS.iter().find(|asset| asset.path == "index.html").unwrap()
}

#[tokio::test]
async fn page_is_at_the_path_with_a_slash() {
    let server = start_studio(Access::default()).await;
    for path in ["/studio/", "/studio/?from=bookmark", "/studio/index.html", "http://localhost/studio/"] {
        let answer = send(&server, "GET", path, "").await;
        assert!(answer.status == 200 && answer.body == inflated(index()), "{path}");
    }
}

#[tokio::test]
async fn client_that_has_a_file_gets_no_second_copy() {
    let server = start_studio(Access::default()).await;
    for asset in ASSETS {
        let (path, tag) = (format!("/studio/{}", asset.path), asset.etag);
        let known = [tag.to_owned(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()];
        for verb in ["GET", "HEAD"] {
            for tags in &known {
                let answer = send(&server, verb, &path, &format!("if-none-match: {tags}\r\n")).await;
                assert_eq!((answer.status, answer.body.len()), (304, 0), "{path} {tags}");
                check_secured(&answer);
                assert_eq!(answer.header("etag"), Some(&*format!("W/{tag}")));
                assert!(answer.header("cache-control").is_some() && answer.header("content-length").is_none());
                assert_eq!(answer.header("vary"), Some("accept-encoding"));
            }
            for tags in ["", "\"other\"", "W/", tag.trim_matches('"'), "\"\u{e9}\""] {
                let answer = send(&server, verb, &path, &format!("if-none-match: {tags}\r\n")).await;
                assert_eq!(answer.status, 200, "{path} {tags}");
            }
        }
    }
}

#[tokio::test]
async fn head_has_the_headers_of_get_without_a_body() {
    let server = start_studio(Access::default()).await;
    for asset in ASSETS {
        for offer in ["", "accept-encoding: gzip\r\n"] {
            let path = format!("/studio/{}", asset.path);
            let (mut get, mut head) =
                (send(&server, "GET", &path, offer).await, send(&server, "HEAD", &path, offer).await);
            for answer in [&mut get, &mut head] {
                assert!(answer.headers.remove("x-request-id").is_some() && answer.headers.remove("date").is_some());
            }
            assert!(head.status == 200 && head.body.is_empty() && head.headers == get.headers, "{path}");
        }
    }
}

#[tokio::test]
async fn other_paths_below_the_page_are_404() {
    let server = start_studio(Access::default()).await;
    let first = ASSETS[0].path;
    let long = "x".repeat(8_000);
    for path in [
        "/studio//",
        "/studio/.",
        "/studio/..",
        "/studio/../studio/",
        "/studio/../../etc/passwd",
        "/studio/./index.html",
        "/studio/%2e%2e/%2e%2e/etc/passwd",
        "/studio/..%2f..%2fetc%2fpasswd",
        "/studio/..\\..\\etc\\passwd",
        "/studio/%00",
        "/studio/index.html%00",
        "/studio/%69ndex.html",
        "/studio/index.html.gz",
        "/studio/INDEX.HTML",
        "/studio/manifest.rs",
        "/studio/tx/1",
        &format!("/studio//{first}"),
        &format!("/studio/{first}/"),
        &format!("/studio/{}", &first[1..]),
        &format!("/studio/{long}"),
        &format!("/studio/{}", "../".repeat(2_000)),
    ] {
        for verb in ["GET", "HEAD"] {
            let answer = send(&server, verb, path, "accept: text/html\r\naccept-encoding: gzip\r\n").await;
            assert_eq!(answer.status, 404, "{path}");
            check_secured(&answer);
            let body: &[u8] = if verb == "GET" { b"the studio has no such file" } else { b"" };
            assert_eq!(answer.body, body, "{path}");
            assert_eq!(answer.header("content-type"), Some("text/plain"));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
    }
    // These paths are outside of the studio.
    for path in ["/studios", "//studio/", "/Studio/", "/x/studio/", "/studio%2findex.html"] {
        assert_eq!(send(&server, "GET", path, "").await.status, 405, "{path}");
    }
}

#[tokio::test]
async fn redirects_are_relative() {
    let server = start_studio(Access::default()).await;
    let browser = "accept: text/html,*/*;q=0.8\r\n";
    for (path, accept, vary) in [
        ("/", browser, Some("accept")),
        ("/?x", browser, Some("accept")),
        ("/studio", "", None),
        ("/studio?x", "", None),
    ] {
        for verb in ["GET", "HEAD"] {
            let answer = send(&server, verb, path, accept).await;
            assert_eq!((answer.status, answer.header("location")), (302, Some("studio/")), "{path}");
            check_secured(&answer);
            assert_eq!((answer.header("vary"), answer.header("cache-control")), (vary, Some("no-store")));
        }
    }
    for accept in ["", "accept: */*\r\n", "accept: application/json\r\n", "accept: text/html;q=0\r\n"] {
        let answer = send(&server, "GET", "/", accept).await;
        assert_eq!((answer.status, answer.header("vary")), (405, Some("accept")), "{accept}");
        assert_eq!(answer.body, b"Not allowed HTTP Method");
    }
}

/// Checks the status for values of `Host` and `Origin`, for the page, a file and the redirects.
async fn check_guard(server: &Running, further: &str, words: Option<&str>) {
    for path in ["/studio/", &format!("/studio/{}", ASSETS[0].path), "/studio/none", "/studio", "/"] {
        let answer = send(server, "GET", path, &format!("accept: text/html\r\n{further}")).await;
        check_secured(&answer);
        assert_eq!(answer.status == 403, words.is_some(), "{path} {further}");
        let text = String::from_utf8_lossy(&answer.body);
        assert!(words.is_none_or(|words| text.contains(words)), "{path} {further} {text}");
    }
}

#[tokio::test]
async fn foreign_hosts_and_origins_get_nothing() {
    let access = Access {
        hosts: "node.example".parse().unwrap(),
        origins: "https://ide.example".parse().unwrap(),
        ..Access::default()
    };
    let server = start_studio(access).await;
    for host in
        ["localhost", "app.localhost:5555", "127.0.0.1:5555", "[::1]:5555", "192.168.0.7", "NODE.example:80", ""]
    {
        check_guard(&server, &format!("host: {host}\r\n"), None).await;
    }
    for host in ["evil.example", "localhost.evil.example", "node.example.evil.example:5555", "evil.example:127"] {
        let words = format!("got the host \"{host}\"");
        check_guard(&server, &format!("host: {host}\r\n"), Some(&words)).await;
        let target = send(&server, "GET", &format!("http://{host}/studio/"), "").await;
        assert_eq!(target.status, 403, "{host}");
    }
    for origin in ["http://localhost:3000", "http://127.0.0.1", "https://ide.example"] {
        check_guard(&server, &format!("origin: {origin}\r\n"), None).await;
    }
    // A browser can send the origin with the files that a page of this origin loads. A proxy can end TLS.
    for (host, origin) in
        [("node.example", "https://node.example:8443"), ("192.168.0.7:5555", "http://192.168.0.7:5555")]
    {
        check_guard(&server, &format!("host: {host}\r\norigin: {origin}\r\n"), None).await;
    }
    let foreign = [
        "https://evil.example",
        "null",
        "",
        "http://ide.example",
        "http://node.example",
        "https://localhost.evil.example",
    ];
    for origin in foreign {
        let words = format!("the header Origin has \"{origin}\"");
        check_guard(&server, &format!("origin: {origin}\r\n"), Some(&words)).await;
    }
    check_guard(&server, "host: node.example\r\norigin: http://evil.example\r\n", Some("evil.example")).await;
    check_guard(&server, "host: evil.example\r\norigin: http://evil.example\r\n", Some("evil.example")).await;
    let two = "origin: http://localhost\r\norigin: http://evil.example\r\n";
    check_guard(&server, two, Some("the header Origin has")).await;
}

#[tokio::test]
async fn other_methods_are_as_without_the_studio() {
    let server = start_studio(Access::default()).await;
    for path in ["/studio", "/studio/", "/studio/none"] {
        let post = format!("POST {path} HTTP/1.1\r\nhost: evil.example\r\n{CLOSE}content-length: 5\r\n\r\nhello");
        let answer = exchange(server.addr, &post).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n5"), "{answer}");
        assert!(answer.contains("access-control-allow-origin: *"), "{answer}");
        let allowed = Some("GET, HEAD, POST, OPTIONS");
        for verb in ["PUT", "DELETE", "PATCH", "BREW"] {
            let answer = send(&server, verb, path, "").await;
            assert_eq!((answer.status, answer.header("allow")), (405, allowed), "{verb}");
            assert_eq!(answer.body, b"Not allowed HTTP Method");
        }
        let answer = send(&server, "OPTIONS", path, "").await;
        assert_eq!((answer.status, answer.header("allow")), (200, allowed));
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    }
}

#[tokio::test]
async fn websocket_opens_at_the_path_of_the_page() {
    let server = start_studio(Access::default()).await;
    let (mut stream, head) = upgrade::shake_hands_at(server.addr, "/studio/").await;
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    stream.write_all(b"hello").await.unwrap();
    let mut echo = [0; 5];
    stream.read_exact(&mut echo).await.unwrap();
    assert_eq!(&echo, b"hello");
}

#[tokio::test]
async fn one_connection_serves_files_and_calls_in_order() {
    let server = start_studio(Access::default()).await;
    let get = |path: &str, further: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{further}\r\n");
    let known = format!("if-none-match: {}\r\n", index().etag);
    let requests = [
        get("/studio/", ""),
        post_of("hello", ""),
        get("/studio/none", ""),
        get("/studio/", "").replacen("GET", "HEAD", 1),
        get("/studio/", &known),
        get("/studio", ""),
        post_of("hello!", CLOSE),
    ];
    let answer = exchange(server.addr, &requests.concat()).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), requests.len(), "{answer}");
    let order = ["200 OK", "\r\n\r\n5HTTP", "404", "200 OK", "304", "302", "\r\n\r\n6"];
    let mut rest = &answer[..];
    for words in order {
        rest = rest.split_once(words).unwrap_or_else(|| panic!("{words} is missing in\n{rest}")).1;
    }
    assert_eq!(rest, "");
}

#[tokio::test]
async fn server_without_the_studio_has_none_of_its_paths() {
    let server = start(calm()).await;
    for path in ["/", "/studio", "/studio/", "/studio/index.html"] {
        let answer = send(&server, "GET", path, "accept: text/html\r\n").await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST, OPTIONS")), "{path}");
        assert_eq!(answer.body, b"Not allowed HTTP Method");
    }
}
