//! Tests of complete, chunked and compressed responses, and of their memory.

use std::io;

use super::*;

#[tokio::test]
async fn post_to_any_path_is_answered_as_json_for_any_origin() {
    let headers = ["content-type: application/json", "access-control-allow-origin: *", "content-length: 1"];
    check(post_of("hello", CLOSE), "200 OK", &headers, "5").await;
    check(post_of("", CLOSE), "200 OK", &headers, "0").await;
}

#[tokio::test]
async fn answer_in_pieces_comes_whole() {
    let server = start(calm()).await;
    let answer = exchange(server.addr, &post_of("pieces 40", CLOSE)).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.to_lowercase().contains("transfer-encoding: chunked"), "{head}");
    let text: String = body.lines().skip(1).step_by(2).collect();
    assert_eq!(text, format!("<{}>", "x".repeat(40 << 16)));
    assert!(body.ends_with("\r\n0\r\n\r\n"));
    // After a response in chunks, the same connection serves the next request.
    let both = [post_of("pieces 2", ""), post_of("hello", CLOSE)].concat();
    assert!(exchange(server.addr, &both).await.ends_with("\r\n\r\n5"));
}

/// Decodes a body in the chunked transfer encoding.
fn whole(mut chunks: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let line = chunks.windows(2).position(|bytes| bytes == b"\r\n").expect("a chunk has a size");
        let size = usize::from_str_radix(std::str::from_utf8(&chunks[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return all;
        }
        all.extend_from_slice(&chunks[line + 2..line + 2 + size]);
        chunks = &chunks[line + 2 + size + 2..];
    }
}

#[tokio::test]
async fn answer_in_pieces_is_compressed_as_it_is_made() {
    let server = start(calm()).await;
    let request = post_of("pieces 40", &format!("{CLOSE}accept-encoding: gzip\r\n"));
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(HANGS, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    assert!(String::from_utf8_lossy(&answer[..head]).to_lowercase().contains("content-encoding: gzip"));
    let mut text = String::new();
    let packed = whole(&answer[head..]);
    io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&packed[..]), &mut text).unwrap();
    assert!(text == format!("<{}>", "x".repeat(40 << 16)));
}

#[tokio::test]
async fn so_many_answers_are_compressed_at_once_and_others_go_as_they_are() {
    let server = start(HttpLimits { bodies_bytes: 100 << 20, ..calm() }).await;
    let request = post_of("pieces 1000000", "accept-encoding: gzip\r\n");
    let mut heads = Vec::new();
    for _ in 0..=gzip::AT_ONCE {
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = vec![0; 300];
        stream.read_exact(&mut head).await.unwrap();
        heads.push((String::from_utf8_lossy(&head).to_lowercase(), stream));
    }
    let packed = heads.iter().filter(|(head, _)| head.contains("content-encoding: gzip")).count();
    assert_eq!(packed, gzip::AT_ONCE);
}

#[tokio::test]
async fn failed_response_has_no_last_chunk() {
    let server = start(calm()).await;
    let answer = exchange(server.addr, &post_of("pieces -5", "")).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("xxx"), "{}", &answer[..200]);
    assert!(!answer.ends_with("0\r\n\r\n"), "what breaks has no end");
}

#[tokio::test]
async fn unread_response_is_dropped() {
    let server = start(quick()).await;
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    stream.write_all(post_of("pieces 1000000", "").as_bytes()).await.unwrap();
    timeout(HANGS, server.answer.dropped.notified()).await.unwrap();
    drop(stream);
    let server = start(calm()).await;
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    stream.write_all(post_of("pieces 1000000", "").as_bytes()).await.unwrap();
    let mut some = [0; 1000];
    stream.read_exact(&mut some).await.unwrap();
    drop(stream);
    timeout(HANGS, server.answer.dropped.notified()).await.unwrap();
}

#[tokio::test]
async fn answers_in_pieces_share_the_memory() {
    let begin = async |server: &Running| {
        let mut unread = TcpStream::connect(server.addr).await.unwrap();
        unread.write_all(post_of("pieces 1000000", "").as_bytes()).await.unwrap();
        unread.read_exact(&mut [0; 1000]).await.unwrap();
        unread
    };
    let server = start(HttpLimits { bodies_timeout: MOMENT, ..calm() }).await;
    let unread = begin(&server).await;
    let refused = exchange(server.addr, &post_of("pieces 1", CLOSE)).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    drop(unread);
    // The server evicts a client that does not read while another client waits for memory.
    let server = start(HttpLimits { contended_timeout: MOMENT, ..calm() }).await;
    let unread = begin(&server).await;
    let answer = exchange(server.addr, &post_of("pieces 1", CLOSE)).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(unread);
}

#[tokio::test]
async fn large_pieces_count() {
    let server = start(HttpLimits { bodies_timeout: MOMENT, ..large_answers() }).await;
    let length = 30 << 20;
    let giant = post_of(&format!("giant {length}"), CLOSE);
    let mut unread = TcpStream::connect(server.addr).await.unwrap();
    unread.write_all(giant.as_bytes()).await.unwrap();
    unread.read_exact(&mut vec![0; 1 << 20]).await.unwrap();
    let refused = exchange(server.addr, &giant).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused:.100}");
    drop(unread);
    let answer = serve_in_the_end(async || exchange(server.addr, &giant).await).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.len() > length && answer.ends_with("\r\n0\r\n\r\n"));
}

#[tokio::test]
async fn large_answer_comes_whole() {
    let server = start(large_answers()).await;
    for length in [SMALL_RESPONSE, SMALL_RESPONSE + 1, 3 * SMALL_RESPONSE, 10_000_001] {
        let answer = exchange(server.addr, &post_of(&format!("whole {length}"), CLOSE)).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.to_lowercase().contains(&format!("content-length: {length}")), "{head}");
        assert!(body.len() == length && body.bytes().all(|byte| byte == b'x'));
    }
    let both = [post_of("whole 1000000", ""), post_of("hello", CLOSE)].concat();
    assert!(exchange(server.addr, &both).await.ends_with("\r\n\r\n5"));
}

/// Half of the memory budget of [`large_answers`], in bytes.
const HALF: usize = 20 << 20;

fn large_answers() -> HttpLimits {
    HttpLimits { bodies_bytes: 2 * HALF, ..calm() }
}

/// A short timeout that expires during a test.
pub(super) const MOMENT: Duration = Duration::from_millis(300);

/// Repeats a request until its status is not 503. The server can return memory to the budget some time after the end of
/// a connection.
pub(super) async fn serve_in_the_end(ask: impl AsyncFn() -> String) -> String {
    let served = async {
        loop {
            let answer = ask().await;
            if !answer.starts_with("HTTP/1.1 503") {
                return answer;
            }
        }
    };
    timeout(HANGS, served).await.unwrap()
}

/// Requests two large responses, and reads the first 1000 bytes of each response.
async fn unread_answers(addr: SocketAddr) -> [TcpStream; 2] {
    let unread = async || {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(post_of(&format!("whole {HALF}"), "").as_bytes()).await.unwrap();
        stream.read_exact(&mut [0; 1000]).await.unwrap();
        stream
    };
    [unread().await, unread().await]
}

#[tokio::test]
async fn large_response_without_memory_is_503_and_small_ones_are_served() {
    let server = start(HttpLimits { bodies_timeout: MOMENT, ..large_answers() }).await;
    let unread = unread_answers(server.addr).await;
    let refused = exchange(server.addr, &post_of(&format!("whole {HALF}"), CLOSE)).await;
    let expected = format!("<NoMemory: {TOO_MANY_ANSWERS}>");
    assert!(refused.starts_with("HTTP/1.1 503") && refused.ends_with(&expected), "{refused}");
    let expected = "content-type: application/json";
    assert!(refused.to_lowercase().contains(expected), "{refused}");
    assert!(exchange(server.addr, &post_of("hello", CLOSE)).await.ends_with("\r\n\r\n5"));
    drop(unread);
    let whole = post_of(&format!("whole {HALF}"), CLOSE);
    let answer = serve_in_the_end(async || exchange(server.addr, &whole).await).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.len() > HALF);
}

#[tokio::test]
async fn clients_that_do_not_read_a_large_response_are_evicted() {
    let server = start(HttpLimits { contended_timeout: MOMENT, ..large_answers() }).await;
    let unread = unread_answers(server.addr).await;
    let answer = exchange(server.addr, &post_of(&format!("whole {HALF}"), CLOSE)).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.len() > HALF);
    drop(unread);
}
