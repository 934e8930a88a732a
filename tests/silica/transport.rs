//! HTTP: methods, headers, limits, and misbehaving connections (Reference: interface#http).

use std::{io, thread, time::Duration};

use serde_json::{Value, json};
use silica_tests::{Answer, Connection, Node};

/// Default limit of a request body, in bytes.
const BODY_LIMIT: usize = 5 * 1024 * 1024;

const ASK: &[u8] = br#"{"id":"1","jsonrpc":"2.0","method":"GetNetworkId","params":[""]}"#;

#[track_caller]
fn check_served(answer: &Answer) {
    assert_eq!(answer.status, 200);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body, json!({"id": "1", "jsonrpc": "2.0", "result": "222"}));
}

#[test]
fn any_path_and_any_media_type_is_served() {
    let node = Node::start(&[]);
    for path in ["/", "/api/v1", "/?key=1", "/%20"] {
        check_served(&node.connect().request("POST", path, ASK).unwrap());
    }
    for media in ["application/json;charset=UTF-8", "text/plain", "nonsense"] {
        let mut connection = node.connect();
        let head =
            format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n", ASK.len());
        connection.write(head.as_bytes()).unwrap();
        connection.write(ASK).unwrap();
        check_served(&connection.read().unwrap());
    }
    let mut connection = node.connect();
    connection
        .write(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", ASK.len()).as_bytes())
        .unwrap();
    connection.write(ASK).unwrap();
    check_served(&connection.read().unwrap());
}

#[test]
fn answers_are_json_for_any_origin() {
    let node = Node::start(&[]);
    let answer = node.post(ASK);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
}

#[test]
fn options_are_allowed_for_any_origin() {
    let node = Node::start(&[]);
    let answer = node.connect().request("OPTIONS", "/", b"").unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    assert_eq!(answer.header("allow"), Some("POST, OPTIONS"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let headers = answer.header("access-control-allow-headers").unwrap();
    for header in ["origin", "content-type", "accept", "x-request-id"] {
        assert!(headers.split(',').any(|allowed| allowed.trim() == header), "{headers}");
    }
}

#[test]
fn other_verbs_are_not_allowed() {
    let node = Node::start(&[]);
    for verb in ["GET", "PUT", "DELETE", "PATCH"] {
        let answer = node.connect().request(verb, "/", b"").unwrap();
        assert_eq!(answer.status, 405, "{verb}");
        assert_eq!(answer.body, b"Not allowed HTTP Method", "{verb}");
    }
}

#[test]
fn head_has_the_answer_of_get_without_its_body() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    connection.write(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let answer = String::from_utf8(connection.read_to_end().unwrap()).unwrap();
    assert!(answer.starts_with("HTTP/1.1 405") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn http_1_0_connection_closes_without_keep_alive() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    let request = |further: &str| {
        let head = format!("POST / HTTP/1.0\r\n{further}Content-Length: {}\r\n\r\n", ASK.len());
        [head.as_bytes(), ASK].concat()
    };
    connection.write(&request("")).unwrap();
    check_served(&connection.read().unwrap());
    assert!(connection.read_to_end().unwrap().is_empty());

    let mut connection = node.connect();
    for _ in 0..3 {
        connection.write(&request("Connection: keep-alive\r\n")).unwrap();
        check_served(&connection.read().unwrap());
    }
}

#[test]
fn one_connection_serves_many_requests() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    for _ in 0..100 {
        check_served(&connection.post(ASK).unwrap());
    }
    // Errors and batches do not end the connection.
    connection.post(b"nonsense").unwrap();
    connection.post(b"[]").unwrap();
    check_served(&connection.post(ASK).unwrap());
}

#[test]
fn requests_may_be_sent_ahead() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", ASK.len());
    let one = [head.as_bytes(), ASK].concat();
    connection.write(&one.repeat(20)).unwrap();
    for _ in 0..20 {
        check_served(&connection.read().unwrap());
    }
}

#[test]
fn body_in_chunks_is_read() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    connection.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    for chunk in ASK.chunks(7) {
        connection.write(format!("{:x}\r\n", chunk.len()).as_bytes()).unwrap();
        connection.write(chunk).unwrap();
        connection.write(b"\r\n").unwrap();
    }
    connection.write(b"0\r\n\r\n").unwrap();
    check_served(&connection.read().unwrap());
}

#[test]
fn request_may_come_byte_by_byte() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", ASK.len());
    for byte in [head.as_bytes(), ASK].concat().chunks(1) {
        connection.write(byte).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    check_served(&connection.read().unwrap());
}

/// Returns a request body of this length, with blanks at its end.
fn padded(bytes: usize) -> Vec<u8> {
    let mut body = ASK.to_vec();
    body.resize(bytes, b' ');
    body
}

#[test]
fn body_up_to_the_limit_is_served_and_a_larger_one_is_413() {
    let node = Node::start(&[]);
    check_served(&node.post(padded(BODY_LIMIT)));
    let refused = node.post(padded(BODY_LIMIT + 1));
    assert_eq!((refused.status, refused.header("content-type")), (413, Some("application/json")));
    let error = json!({"code": -32600, "data": null, "message": "request body exceeds 5242880 bytes"});
    assert_eq!(refused.body, json!({"error": error, "id": null, "jsonrpc": "2.0"}).to_string().as_bytes());
    check_served(&node.post(ASK));
}

#[test]
fn large_bodies_come_one_after_the_other() {
    let node = Node::start(&["--max-bodies-mb", "10"]);
    let answers: Vec<Answer> = thread::scope(|scope| {
        let clients: Vec<_> = (0..12).map(|_| scope.spawn(|| node.post(padded(BODY_LIMIT)))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let (served, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert!(served.len() >= 2, "{} served", served.len());
    served.into_iter().for_each(check_served);
    // On a slow machine, some requests can wait longer than their limit.
    for answer in refused {
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((answer.status, &body["error"]["code"]), (503, &json!(-32000)));
        assert_eq!(body["error"]["message"], "too many large requests at once, try again later");
    }
    check_served(&node.post(ASK));
}

#[test]
fn announced_size_over_the_limit_is_refused_before_the_body_comes() {
    let node = Node::start(&[]);
    for (length, expected) in [("100000000", 413), ("99999999999999999999", 400)] {
        let mut connection = node.connect();
        let head = format!("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n");
        connection.write(head.as_bytes()).unwrap();
        assert_eq!(connection.read().unwrap().status, expected, "{length}");
    }
    check_served(&node.post(ASK));
}

#[test]
fn endless_chunks_are_cut_off() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    connection.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    let chunk = [format!("{:x}\r\n", 1 << 20).as_bytes(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    // The node discards a part of the body, sends its response, and closes the connection.
    let cut = (0..200).any(|_| connection.write(&chunk).is_err());
    assert!(cut, "200 MiB were taken");
    check_served(&node.post(ASK));
}

#[test]
fn connections_that_break_off_leave_no_trace() {
    let node = Node::start(&[]);
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", ASK.len());
    let request = [head.as_bytes(), ASK].concat();
    for end in (0..request.len()).step_by(11) {
        let mut connection = node.connect();
        connection.write(&request[..end]).unwrap();
        drop(connection);
    }
    // A client can close its sending half after the request. The node then sends the response.
    let mut connection = node.connect();
    connection.write(&request).unwrap();
    connection.finish_writing().unwrap();
    check_served(&connection.read().unwrap());
    check_served(&node.post(ASK));
}

#[test]
fn bytes_that_are_not_http_are_refused() {
    let node = Node::start(&[]);
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
    ] {
        let mut connection = node.connect();
        connection.write(garbage).unwrap();
        connection.finish_writing().unwrap();
        let answer = connection.read_to_end().unwrap_or_default();
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&answer));
    }
    check_served(&node.post(ASK));
}

#[test]
fn too_many_or_too_long_headers_are_refused() {
    let node = Node::start(&[]);
    let many = "x: y\r\n".repeat(10_000);
    let long = format!("x: {}\r\n", "y".repeat(1 << 20));
    for headers in [many, long] {
        let mut connection = node.connect();
        let request = format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: 0\r\n\r\n");
        // The node can close the connection before the client has sent the whole request.
        let sent = connection.write(request.as_bytes());
        match connection.read() {
            Ok(answer) => assert!((400..500).contains(&answer.status), "{}", answer.status),
            Err(error) => assert!(
                sent.is_err() || [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset].contains(&error.kind()),
                "{error}"
            ),
        }
    }
    check_served(&node.post(ASK));
}

#[test]
fn silent_connections_do_not_keep_others_waiting() {
    let node = Node::start(&[]);
    let silent: Vec<Connection> = (0..200).map(|_| node.connect()).collect();
    let mut half = Vec::new();
    for _ in 0..200 {
        let mut connection = node.connect();
        connection.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{").unwrap();
        half.push(connection);
    }
    check_served(&node.post(ASK));
    drop((silent, half));
    check_served(&node.post(ASK));
}

#[test]
fn crowd_of_idle_connections_does_not_keep_others_out() {
    let node = Node::start(&["--max-connections", "20"]);
    let crowd: Vec<Connection> = (0..40)
        .map(|i| {
            let mut connection = node.connect();
            // Some connections are silent, and some stop in the middle of a request.
            connection
                .write(["", "POST / HT", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n1"][i % 3].as_bytes())
                .unwrap();
            connection
        })
        .collect();
    // Without other clients, these connections would keep their slots for minutes, which is longer than this client
    // waits.
    check_served(&node.post(ASK));
    drop(crowd);
    check_served(&node.post(ASK));
}

#[test]
fn expectation_is_met_before_the_body_comes() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n", ASK.len());
    connection.write(head.as_bytes()).unwrap();
    assert_eq!(connection.read().unwrap().status, 100);
    connection.write(ASK).unwrap();
    check_served(&connection.read().unwrap());
}

/// Sends a request with these head lines and the body of a call. Returns the response.
fn answer_to(node: &Node, lines: &str) -> Answer {
    let mut connection = node.connect();
    let head = format!("POST / HTTP/1.1\r\n{lines}Content-Length: {}\r\n\r\n", ASK.len());
    connection.write(&[head.as_bytes(), ASK].concat()).unwrap();
    connection.read().unwrap()
}

#[track_caller]
fn check_refused(answer: &Answer, status: u16, message: &str) {
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let error = json!({"code": -32600, "data": null, "message": message});
    assert_eq!((answer.status, body), (status, json!({"error": error, "id": null, "jsonrpc": "2.0"})));
    assert_eq!(answer.header("connection"), Some("close"));
}

#[test]
fn request_has_one_host() {
    let node = Node::start(&[]);
    check_refused(&answer_to(&node, ""), 400, "expected one header Host, got 0");
    check_refused(&answer_to(&node, "Host: a\r\nHost: a\r\n"), 400, "expected one header Host, got 2");
    check_served(&answer_to(&node, "Host: \r\n"));
    let mut connection = node.connect();
    connection.write(b"GET /health HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(connection.read().unwrap().status, 400);
    check_served(&node.post(ASK));
}

#[test]
fn encoded_body_is_refused() {
    let node = Node::start(&[]);
    for encoding in ["gzip", "br", "gzip, identity"] {
        let answer = answer_to(&node, &format!("Host: x\r\nContent-Encoding: {encoding}\r\n"));
        let message = format!("expected a body without Content-Encoding, got {encoding:?}");
        check_refused(&answer, 415, &message);
    }
    check_served(&answer_to(&node, "Host: x\r\nContent-Encoding: identity\r\n"));
}

#[test]
fn body_is_transferred_as_it_is_or_in_chunks() {
    let node = Node::start(&[]);
    let post = |codings: &[&str]| {
        let mut connection = node.connect();
        let lines: String = codings.iter().flat_map(|coding| ["Transfer-Encoding: ", coding, "\r\n"]).collect();
        let head = format!("POST / HTTP/1.1\r\nHost: x\r\n{lines}\r\n{:x}\r\n", ASK.len());
        connection.write(&[head.as_bytes(), ASK, b"\r\n0\r\n\r\n"].concat()).unwrap();
        connection.read().unwrap()
    };
    check_served(&post(&["chunked"]));
    check_served(&post(&["Chunked"]));
    for codings in [&["gzip, chunked"][..], &["gzip", "chunked"], &["chunked, chunked"], &["identity, chunked"]] {
        let answer = post(codings);
        assert_eq!(answer.status, 501, "{codings:?}");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(body["error"]["message"].as_str().unwrap().starts_with("expected the Transfer-Encoding chunked, got "));
    }
    // Without the chunked coding at its end, the body has no end mark.
    let mut connection = node.connect();
    connection.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n").unwrap();
    assert_eq!(connection.read().unwrap().status, 400);
}

/// If a head has both a length and chunks, the chunks count, as RFC 9112 (section 6.3) permits. The node then closes
/// the connection, so that it does not read the bytes after the chunks as a request.
#[test]
fn request_with_a_length_and_chunks_is_the_last_of_its_connection() {
    let node = Node::start(&[]);
    let (length, coding) = (format!("Content-Length: {}\r\n", 3), "Transfer-Encoding: chunked\r\n");
    for lines in [[length.as_str(), coding], [coding, length.as_str()]] {
        let mut connection = node.connect();
        let head = format!("POST / HTTP/1.1\r\nHost: x\r\n{}\r\n{:x}\r\n", lines.concat(), ASK.len());
        let smuggled = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", ASK.len());
        connection.write(&[head.as_bytes(), ASK, b"\r\n0\r\n\r\n", smuggled.as_bytes(), ASK].concat()).unwrap();
        let answer = connection.read().unwrap();
        check_served(&answer);
        assert_eq!(answer.header("connection"), Some("close"));
        // The connection can end with an error, because the node left bytes unread.
        assert_eq!(connection.read_to_end().unwrap_or_default(), b"");
    }
}

/// RFC 9112 (section 2.2) permits head lines that end without a carriage return. Such lines have the same meaning.
#[test]
fn lines_of_a_head_may_end_in_a_line_feed() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    let head = format!("POST / HTTP/1.1\nHost: x\nContent-Length: {}\n\n", ASK.len());
    connection.write(&[head.as_bytes(), ASK].concat()).unwrap();
    check_served(&connection.read().unwrap());
    // A carriage return alone does not end a line.
    let mut connection = node.connect();
    connection.write(b"POST / HTTP/1.1\r\nHost: x\rContent-Length: 5\r\n\r\n").unwrap();
    assert_eq!(connection.read().unwrap().status, 400);
}
