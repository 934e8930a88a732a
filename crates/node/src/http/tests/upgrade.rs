//! Tests of the upgrade of a connection to a WebSocket.

use super::*;

/// The example of a handshake in RFC 6455, section 1.2.
const HANDSHAKE: &str = "GET /chat HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

/// Sends the handshake. Returns the connection, and the head of the response in lower case.
async fn shake_hands(addr: SocketAddr) -> (TcpStream, String) {
    shake_hands_at(addr, "/chat").await
}

/// Sends the handshake with a path.
pub(super) async fn shake_hands_at(addr: SocketAddr, path: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(HANDSHAKE.replacen("/chat", path, 1).as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(HANGS, stream.read_u8()).await.unwrap().unwrap());
    }
    (stream, String::from_utf8(head).unwrap().to_lowercase())
}

#[tokio::test]
async fn connection_is_upgraded_and_outlives_the_timeouts_of_http() {
    let limits = quick();
    let server = start(limits).await;
    let (mut stream, head) = shake_hands(server.addr).await;
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    for header in ["sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=", "upgrade: websocket", "connection: upgrade"] {
        assert!(head.contains(header), "{head}");
    }
    tokio::time::sleep(limits.idle_timeout * 2).await;
    stream.write_all(b"hello").await.unwrap();
    let mut echo = [0; 5];
    stream.read_exact(&mut echo).await.unwrap();
    assert_eq!(&echo, b"hello");
    server.stop.send_replace(true);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "bye");
    server.served.await.unwrap();
}

#[tokio::test]
async fn invalid_handshake_is_rejected() {
    for (correct, wrong) in [
        ("Version: 13", "Version: 8"),
        ("Connection: Upgrade", "Connection: close"),
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
    ] {
        let request = HANDSHAKE.replace(correct, wrong).replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
        let answer = exchange(start(calm()).await.addr, &request).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("expected a WebSocket handshake"), "{answer}");
    }
}

#[tokio::test]
async fn other_protocols_are_not_upgraded_to() {
    let request = "GET /health HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\nconnection: upgrade, close\r\n\r\n";
    let answer = exchange(start(calm()).await.addr, request).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn only_place_is_not_for_an_upgraded_connection() {
    let server = start(HttpLimits { connections: 1, ..calm() }).await;
    assert!(shake_hands(server.addr).await.1.starts_with("http/1.1 503 "));
}

#[tokio::test]
async fn upgraded_connections_leave_places_for_others() {
    let server = start(calm()).await;
    let mut upgraded = Vec::new();
    for _ in 0..5 {
        let (stream, head) = shake_hands(server.addr).await;
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        upgraded.push(stream);
    }
    assert!(shake_hands(server.addr).await.1.starts_with("http/1.1 503 "));
    assert!(exchange(server.addr, &post_of("hello", CLOSE)).await.ends_with("\r\n\r\n5"));
    upgraded.pop();
    while !shake_hands(server.addr).await.1.starts_with("http/1.1 101 ") {}
}
