//! Tests of request bodies and their memory.

use tokio::task::JoinSet;

use super::{
    answers::{MOMENT, serve_in_the_end},
    *,
};

#[tokio::test]
async fn body_up_to_the_limit_is_taken_and_a_larger_one_is_413() {
    check(post_of(&"x".repeat(1000), CLOSE), "200", &[], "1000").await;
    let refused = "<TooLarge: request body exceeds 1000 bytes>";
    let headers = ["connection: close", "content-type: application/json"];
    check(post_of(&"x".repeat(1001), ""), "413", &headers, refused).await;
    check(post_of(&"x".repeat(7000), ""), "413", &["access-control-allow-origin: *"], refused).await;
}

#[tokio::test]
async fn chunked_body_is_counted_as_it_comes() {
    let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{CLOSE}transfer-encoding: chunked\r\n\r\n");
    check(format!("{head}5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n"), "200", &[], "8").await;
    let chunk = format!("258\r\n{}\r\n", "x".repeat(600));
    check(format!("{head}{chunk}{chunk}0\r\n\r\n"), "413", &[], "<TooLarge: request body exceeds 1000 bytes>").await;
}

#[tokio::test]
async fn announced_size_is_refused_before_the_body_comes() {
    for expect in ["", "expect: 100-continue\r\n"] {
        let server = start(calm()).await;
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{expect}content-length: 2000\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        timeout(HANGS, stream.read_exact(&mut status)).await.unwrap().unwrap();
        assert_eq!(&status, b"HTTP/1.1 413");
    }
}

#[tokio::test]
async fn endless_body_is_cut_off() {
    let server = start(calm()).await;
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
    let chunk = format!("258\r\n{}\r\n", "x".repeat(600));
    let mut taken = 0;
    while timeout(HANGS, stream.write_all(chunk.as_bytes())).await.unwrap().is_ok() {
        taken += 600;
        assert!(taken < 100_000_000);
    }
    assert!(exchange(server.addr, &post_of("abc", CLOSE)).await.ends_with("\r\n\r\n3"));
}

#[tokio::test]
async fn broken_request_line_is_400_and_the_server_continues() {
    let server = start(calm()).await;
    let answer = exchange(server.addr, "what is this\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(exchange(server.addr, &post_of("abc", CLOSE)).await.ends_with("\r\n\r\n3"));
}

#[tokio::test]
async fn connection_is_kept_for_further_and_pipelined_requests() {
    let server = start(calm()).await;
    let requests = [post_of("a", ""), post_of("bb", ""), post_of("ccc", CLOSE)].concat();
    let answer = exchange(server.addr, &requests).await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3, "{answer}");
    assert!(answer.ends_with("\r\n\r\n3"), "{answer}");
}

/// Returns limits with memory for two bodies of the maximum size.
pub(super) fn large() -> HttpLimits {
    HttpLimits { body_bytes: 1 << 20, bodies_bytes: 2 << 20, connections: 100, ..calm() }
}

/// Sends the head of a request, and half of its body of 1 MiB.
pub(super) async fn half_of_a_large_body(addr: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{CLOSE}content-length: {}\r\n\r\n", 1 << 20);
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'x'; 1 << 19]).await.unwrap();
    stream
}

async fn rest_of_a_large_body(mut stream: TcpStream) -> String {
    // The server also reads the rest of a body that it has rejected, so this write succeeds.
    stream.write_all(&vec![b'x'; 1 << 19]).await.unwrap();
    let mut answer = String::new();
    timeout(HANGS, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

#[tokio::test]
async fn large_bodies_wait_for_memory_in_turn() {
    let server = start(large()).await;
    let mut clients = JoinSet::new();
    for _ in 0..20 {
        let addr = server.addr;
        clients.spawn(async move { rest_of_a_large_body(half_of_a_large_body(addr).await).await });
    }
    while let Some(answer) = clients.join_next().await {
        assert!(answer.unwrap().ends_with("\r\n\r\n1048576"));
    }
}

#[tokio::test]
async fn large_body_without_memory_is_503_and_small_ones_are_served() {
    let server = start(HttpLimits { bodies_timeout: MOMENT, ..large() }).await;
    let begun = Instant::now();
    let first = [half_of_a_large_body(server.addr).await, half_of_a_large_body(server.addr).await];
    tokio::time::sleep(Duration::from_millis(100)).await;
    let further = rest_of_a_large_body(half_of_a_large_body(server.addr).await).await;
    assert!(begun.elapsed() >= MOMENT);
    assert!(further.starts_with("HTTP/1.1 503"), "{further}");
    assert!(further.ends_with("<NoMemory: too many large requests at once, try again later>"), "{further}");
    assert!(exchange(server.addr, &post_of(&"x".repeat(5000), CLOSE)).await.ends_with("\r\n\r\n5000"));
    for stream in first {
        assert!(rest_of_a_large_body(stream).await.ends_with("\r\n\r\n1048576"));
    }
    // The memory of the first two bodies is free again.
    let ask = async || rest_of_a_large_body(half_of_a_large_body(server.addr).await).await;
    let further = serve_in_the_end(ask).await;
    assert!(further.ends_with("\r\n\r\n1048576"), "{further}");
}

#[tokio::test]
async fn clients_that_are_slow_with_a_large_body_are_evicted() {
    let server = start(HttpLimits { contended_timeout: MOMENT, ..large() }).await;
    let slow = [half_of_a_large_body(server.addr).await, half_of_a_large_body(server.addr).await];
    tokio::time::sleep(Duration::from_millis(50)).await;
    let answer = rest_of_a_large_body(half_of_a_large_body(server.addr).await).await;
    assert!(answer.ends_with("\r\n\r\n1048576"), "{answer}");
    drop(slow);
}

#[tokio::test]
async fn body_of_unknown_length_has_memory_for_the_largest() {
    let server = start(HttpLimits { bodies_bytes: 0, ..large() }).await;
    let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{CLOSE}transfer-encoding: chunked\r\n\r\n");
    let chunks = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(3);
    for _ in 0..3 {
        let answer = exchange(server.addr, &format!("{head}{chunks}0\r\n\r\n")).await;
        assert!(answer.ends_with(&format!("\r\n\r\n{}", 3 * 0x10000)), "{answer}");
    }
}
