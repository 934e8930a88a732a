use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

/// Returns the result of the client for a response that arrives in these parts. The server then closes the connection.
async fn receive(pieces: &[&str]) -> Result<String, HttpError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = NodeUrl::from(listener.local_addr().unwrap());
    let answer = async {
        let (mut peer, _) = listener.accept().await.unwrap();
        read_request(&mut peer).await.unwrap();
        for piece in pieces {
            // The client may have closed the connection.
            drop(peer.write_all(piece.as_bytes()).await);
            tokio::task::yield_now().await;
        }
        drop(peer);
    };
    let request = async { Client::connect(&url).await?.post(b"{}").await.map(str::to_owned) };
    tokio::join!(request, answer).0
}

/// Reads a request whose body is `{}`. Unread bytes at the close of a connection would cause a reset.
async fn read_request(peer: &mut (impl AsyncReadExt + Unpin)) -> io::Result<String> {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n{}") {
        if peer.read_buf(&mut text).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(String::from_utf8(text).unwrap())
}

#[track_caller]
fn check(outcome: Result<String, HttpError>, reason: &str) {
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains(reason), "{reason} is missing in {error}");
}

#[tokio::test]
async fn response_is_read_in_pieces() {
    let answer = ["HTTP/1.1 200 OK\r\nx: y\r\nConte", "nt-Length: 4\r\n\r\nbo", "dy"];
    assert_eq!(receive(&answer).await.unwrap(), "body");
}

/// A response without a length ends with the connection (RFC 9112, section 6.3).
#[tokio::test]
async fn response_may_end_with_the_connection() {
    assert_eq!(receive(&["HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nbody"]).await.unwrap(), "body");
}

#[tokio::test]
async fn other_responses_are_rejected() {
    for (answer, reason) in [
        ("HTTP/1.1 413 Payload Too Large\r\ncontent-length: 0\r\n\r\n", "expected status 200, got 413"),
        (
            "HTTP/1.1 308 X\r\nlocation: https://b/\r\ncontent-length: 0\r\n\r\n",
            "got 308 Permanent Redirect to \"https://b/\"",
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n", "at most 67108864 bytes"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbody", "closed the connection"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nbo", "HTTP/1.1"),
        (&format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(MAX_HEAD)), "too large"),
        (&format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(10_000)), "too large"),
        ("\u{15}\u{3}\u{3}", "HTTP/1.1"),
        ("", "closed the connection"),
    ] {
        check(receive(&[answer]).await, reason);
    }
}

#[tokio::test]
async fn response_that_is_not_text_is_rejected() {
    let (client, mut server) = tokio::io::duplex(1024);
    let url = "http://node".parse().unwrap();
    let answer = async {
        let request = read_request(&mut server).await.unwrap();
        server.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xFF\xFF").await.unwrap();
        request
    };
    let request = async {
        let mut client = Client::over(Box::new(client), &url, None).await.unwrap();
        client.post(b"{}").await.map(str::to_owned)
    };
    let (outcome, request) = tokio::join!(request, answer);
    check(outcome, "UTF-8");
    assert!(request.starts_with("POST / HTTP/1.1\r\nhost: node\r\n"), "{request}");
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

#[tokio::test]
async fn chunks_are_put_together() {
    for pieces in [
        &[CHUNKED, "5\r\n{\"a\":\r\nA;x=y\r\n\"123456789\r\n2\r\n\"}\r\n0\r\n\r\n"][..],
        &[CHUNKED, "5\r", "\n{\"a\"", ":\r", "\nA\r\n\"1234", "56789\r\n2\r\n\"}\r\n0", "\r\nx: y\r\n", "\r\n"],
    ] {
        assert_eq!(receive(pieces).await.unwrap(), "{\"a\":\"123456789\"}");
    }
}

#[tokio::test]
async fn wrong_chunks_are_rejected() {
    for (chunks, reason) in [
        ("5\r\nabcdeXX", "HTTP/1.1"),
        ("+5\r\nabcde\r\n", "HTTP/1.1"),
        ("\r\n", "HTTP/1.1"),
        ("FFFFFFFFFFFFFFFFF\r\n", "HTTP/1.1"),
        ("5\r\nab", "closed the connection"),
        (&format!("1;{}", "1".repeat(20_000)), "HTTP/1.1"),
        (&format!("0\r\n{}", "x: y\r\n".repeat(4_000)), "HTTP/1.1"),
    ] {
        check(receive(&[CHUNKED, chunks]).await, reason);
    }
}

#[tokio::test]
async fn endless_chunks_end_at_the_limit() {
    let chunk = format!("1000000\r\n{}\r\n", "x".repeat(0x100_0000));
    check(receive(&[CHUNKED, &chunk, &chunk, &chunk, &chunk, "1\r\nx\r\n"]).await, "at most 67108864 bytes");
}

/// Answers one request on each of two connections, and closes the first one after its answer. Returns the results of
/// two requests. Waits for `between` after the first request.
async fn receive_over_two_connections(between: impl Future<Output = ()>) -> [Result<String, HttpError>; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = NodeUrl::from(listener.local_addr().unwrap());
    let answers = async {
        for body in ["1", "2"] {
            let (mut peer, _) = listener.accept().await.unwrap();
            read_request(&mut peer).await.unwrap();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{body}");
            peer.write_all(answer.as_bytes()).await.unwrap();
        }
        std::future::pending().await
    };
    let requests = async {
        let mut client = Client::connect(&url).await.unwrap();
        let first = client.post(b"{}").await.map(str::to_owned);
        between.await;
        [first, client.post(b"{}").await.map(str::to_owned)]
    };
    // A client that opens no second connection gets an error. The server would wait for that connection.
    tokio::select! {
        results = requests => results,
        results = answers => results,
    }
}

#[tokio::test]
async fn connection_is_used_again() {
    let (client, mut server) = tokio::io::duplex(1024);
    let url = "http://node".parse().unwrap();
    let answers = async {
        for body in ["1", "2"] {
            read_request(&mut server).await.unwrap();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{body}");
            server.write_all(answer.as_bytes()).await.unwrap();
        }
        // The client has sent the third request. It must not send this request again.
        read_request(&mut server).await.unwrap();
        drop(server);
    };
    let requests = async {
        let mut client = Client::over(Box::new(client), &url, None).await.unwrap();
        assert_eq!(client.post(b"{}").await.unwrap(), "1");
        assert_eq!(client.post(b"{}").await.unwrap(), "2");
        client.post(b"{}").await.map(str::to_owned)
    };
    check(tokio::join!(requests, answers).0, "closed the connection");
}

/// A node closes a connection without requests.
#[tokio::test]
async fn connection_that_ended_while_idle_is_replaced() {
    let idle = tokio::time::sleep(std::time::Duration::from_millis(20));
    assert_eq!(receive_over_two_connections(idle).await.map(Result::unwrap), ["1", "2"]);
}

/// A node that has stopped accepts no new connection.
#[tokio::test]
async fn replacement_fails_if_the_node_has_stopped() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = NodeUrl::from(listener.local_addr().unwrap());
    let (client, ()) = tokio::join!(Client::connect(&url), async {
        drop(listener.accept().await.unwrap());
        drop(listener);
    });
    check(client.unwrap().post(b"{}").await.map(str::to_owned), "cannot connect to 127.0.0.1:");
}

#[tokio::test]
async fn proxy_gets_the_whole_url() {
    let (client, mut server) = tokio::io::duplex(1024);
    let url = "http://node.test:5555/api".parse().unwrap();
    let proxy = Proxy { host: "proxy".to_owned(), port: 1, credentials: Some(HeaderValue::from_static("Basic x")) };
    let answer = async {
        let request = read_request(&mut server).await.unwrap();
        server.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
        request
    };
    let request = async {
        let mut client = Client::over(Box::new(client), &url, Some(proxy)).await.unwrap();
        client.post(b"{}").await.map(str::to_owned)
    };
    let (outcome, request) = tokio::join!(request, answer);
    assert_eq!(outcome.unwrap(), "{}");
    assert!(request.starts_with("POST http://node.test:5555/api HTTP/1.1\r\nhost: node.test:5555\r\n"), "{request}");
    assert!(request.contains("proxy-authorization: Basic x\r\n"), "{request}");
}
