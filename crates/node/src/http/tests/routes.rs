//! Tests of requests other than POST.

use std::io;

use super::*;

#[tokio::test]
async fn every_port_is_served() {
    let mut server = Server::new(calm(), Serves::All, Access::default(), Arc::default());
    let local: SocketAddr = ([127, 0, 0, 1], 0).into();
    let ports = [server.bind(local).await.unwrap(), server.bind(local).await.unwrap()];
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(server.serve(Arc::new(Length::default()), stopped));
    for port in ports {
        assert!(exchange(port, &post_of("hello", CLOSE)).await.ends_with("\r\n\r\n5"));
    }
}

#[tokio::test]
async fn preflight_is_answered_as_the_reference_does() {
    let request = format!("OPTIONS / HTTP/1.1\r\nhost: x\r\n{CLOSE}\r\n");
    let headers = [
        "allow: POST, OPTIONS",
        "access-control-allow-origin: *",
        "access-control-allow-headers: origin, content-type, accept, x-request-id\r\n",
        "dav: 1",
    ];
    check(request, "200 OK", &headers, "").await;
}

#[tokio::test]
async fn other_verbs_are_405() {
    for verb in ["GET", "PUT", "DELETE", "PATCH"] {
        let request = format!("{verb} / HTTP/1.1\r\nhost: x\r\n{CLOSE}\r\n");
        check(request, "405", &["allow: POST, OPTIONS"], "Not allowed HTTP Method").await;
    }
}

fn read_of(verb: &str, path: &str) -> String {
    format!("{verb} {path} HTTP/1.1\r\nhost: x\r\n{CLOSE}\r\n")
}

#[tokio::test]
async fn health_is_a_get() {
    check(read_of("GET", "/health"), "200", &["application/json"], r#"{"health":true}"#).await;
}

#[tokio::test]
async fn pages_answer_head_requests() {
    check(read_of("HEAD", "/health"), "200", &["application/json", "content-length: 15"], "").await;
    check(read_of("HEAD", PAGE), "503", &["text/x", "content-length: 100000"], "").await;
    for path in ["/health", PAGE] {
        let allowed = "allow: GET, HEAD, POST, OPTIONS";
        check(read_of("PUT", path), "405", &[allowed], "Not allowed HTTP Method").await;
        check(read_of("OPTIONS", path), "200", &[allowed], "").await;
    }
    check(read_of("HEAD", "/other"), "405", &["allow: POST, OPTIONS"], "").await;
}

#[tokio::test]
async fn pages_are_compressed_for_clients_that_accept_it() {
    let server = start(calm()).await;
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    let request = format!("GET {PAGE} HTTP/1.1\r\nhost: x\r\n{CLOSE}accept-encoding: gzip\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(HANGS, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    assert!(head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"), "{head}");
    let mut text = String::new();
    io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&answer[end..]), &mut text).unwrap();
    assert_eq!(text.len(), 100_000);
}

#[tokio::test]
async fn pages_of_other_origins_may_read_the_name_of_a_request() {
    let exposed = "access-control-expose-headers: x-request-id, retry-after\r\n";
    check(post_of("hello", CLOSE), "200", &[exposed], "5").await;
    check(read_of("GET", "/health"), "200", &[exposed], r#"{"health":true}"#).await;
}
