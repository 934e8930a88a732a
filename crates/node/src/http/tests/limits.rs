//! Tests of deadlines, and of connections above the limit.

use super::*;

/// Sends the beginning of a request. Checks that the server closes the connection without a response, and not before
/// the time `expected`.
async fn check_disconnected(half: &str, expected: Duration) {
    let server = start(quick()).await;
    let begun = Instant::now();
    assert_eq!(exchange(server.addr, half).await, "");
    let waited = begun.elapsed();
    assert!(waited >= expected, "{waited:?}");
    assert!(exchange(server.addr, &post_of("abc", CLOSE)).await.ends_with("\r\n\r\n3"));
}

#[tokio::test]
async fn half_a_head_is_not_waited_for() {
    check_disconnected("POST / HTTP/1.1\r\nhos", quick().request_timeout).await;
}

#[tokio::test]
async fn half_a_body_is_not_waited_for() {
    check_disconnected("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc", quick().request_timeout).await;
}

#[tokio::test]
async fn silent_connection_is_closed_in_the_end() {
    check_disconnected("", quick().idle_timeout).await;
}

#[tokio::test]
async fn request_that_takes_longer_than_the_timeouts_is_still_answered() {
    let timeouts = Duration::from_millis(200);
    let server = start(HttpLimits { request_timeout: timeouts, idle_timeout: timeouts, ..calm() }).await;
    let answer = server.post_wait().await;
    tokio::time::sleep(2 * timeouts).await;
    server.answer.go_on.notify_one();
    assert!(answer.await.unwrap().ends_with("\r\n\r\n4"));
}

#[tokio::test]
async fn client_that_closes_its_side_after_the_request_is_answered() {
    let server = start(calm()).await;
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    stream.write_all(post_of("wait", "").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    server.answer.waiting.notified().await;
    server.answer.go_on.notify_one();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("\r\n\r\n4"), "{answer}");
}

#[tokio::test]
async fn connections_over_the_limit_wait_for_a_place() {
    let server = start(HttpLimits { connections: 1, ..calm() }).await;
    let first = TcpStream::connect(server.addr).await.unwrap();
    let second = tokio::spawn({
        let addr = server.addr;
        async move { exchange(addr, &post_of("abc", CLOSE)).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!second.is_finished());
    drop(first);
    assert!(second.await.unwrap().ends_with("\r\n\r\n3"));
}

/// Sends `bytes` on a connection that takes the only slot. Returns the time after which a second connection has a
/// response.
async fn wait_behind(bytes: &str) -> Duration {
    let server = start(HttpLimits { connections: 1, contended_timeout: quick().contended_timeout, ..calm() }).await;
    let begun = Instant::now();
    let mut first = TcpStream::connect(server.addr).await.unwrap();
    first.write_all(bytes.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(exchange(server.addr, &post_of("abc", CLOSE)).await.ends_with("\r\n\r\n3"));
    begun.elapsed()
}

#[tokio::test]
async fn idle_clients_are_evicted() {
    for bytes in ["", "POST / HT", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n12", &post_of("abc", "")] {
        let waited = wait_behind(bytes).await;
        // The server does not evict the client earlier, because the client may continue its request.
        let rounding = Duration::from_millis(1);
        assert!(waited + rounding >= quick().contended_timeout, "{bytes:?}: {waited:?}");
    }
}

#[tokio::test]
async fn request_that_is_being_answered_keeps_its_place() {
    let server = start(HttpLimits { connections: 1, contended_timeout: quick().contended_timeout, ..calm() }).await;
    let begun = server.post_wait().await;
    let addr = server.addr;
    let second = tokio::spawn(async move { exchange(addr, &post_of("abc", CLOSE)).await });
    tokio::time::sleep(3 * quick().contended_timeout).await;
    assert!(!second.is_finished());
    server.answer.go_on.notify_one();
    assert!(begun.await.unwrap().ends_with("\r\n\r\n4"));
    assert!(second.await.unwrap().ends_with("\r\n\r\n3"));
}
