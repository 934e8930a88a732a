//! Tests of the stop of a server.

use super::{
    body::{half_of_a_large_body, large},
    *,
};

#[tokio::test]
async fn stop_does_not_wait_for_incomplete_requests() {
    let server = start(large()).await;
    let mut halves = Vec::new();
    for half in
        ["POST / HT", "POST / HTTP/1.1\r\nhost: x\r\n", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n12"]
    {
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(half.as_bytes()).await.unwrap();
        halves.push(stream);
    }
    // Two of these requests have memory, and the third request waits for memory.
    for _ in 0..3 {
        halves.push(half_of_a_large_body(server.addr).await);
    }
    let whole = server.post_wait().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.stop.send_replace(true);
    for mut stream in halves {
        let mut answer = Vec::new();
        // Ignore an error: the server has not read all bytes, so the system can reset the connection.
        drop(timeout(HANGS, stream.read_to_end(&mut answer)).await.unwrap());
        assert_eq!(answer, b"");
    }
    assert!(!server.served.is_finished());
    server.answer.go_on.notify_one();
    assert!(whole.await.unwrap().ends_with("\r\n\r\n4"));
    timeout(HANGS, server.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn stop_finishes_what_was_begun_and_takes_nothing_new() {
    // Use an address of no other test, because another test could bind the port after the stop.
    let server = start_at([127, 0, 0, 2], calm()).await;
    let idle = TcpStream::connect(server.addr).await.unwrap();
    let begun = server.post_wait().await;
    server.stop.send_replace(true);
    server.answer.go_on.notify_one();
    assert!(begun.await.unwrap().ends_with("\r\n\r\n4"));
    timeout(HANGS, server.served).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.addr).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn stop_waits_no_longer_than_the_grace_period() {
    let server = start(HttpLimits { grace: Duration::from_millis(20), ..calm() }).await;
    let begun = server.post_wait().await;
    server.stop.send_replace(true);
    timeout(HANGS, server.served).await.unwrap().unwrap();
    assert_eq!(begun.await.unwrap(), "");
}
