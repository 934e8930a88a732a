//! The client: kept connections with at most one request in progress each.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
};

/// Number of simultaneous connections.
const CONNECTIONS: usize = 32;

/// Connections to one server. They send the requests of a list repeatedly.
pub(crate) struct Client {
    connections: Vec<TcpStream>,
    requests: Vec<Vec<u8>>,
    /// Number of sent requests.
    sent: usize,
    /// The first response, including its head. The bodies of all responses must have the length of the body of this
    /// response.
    answer: Vec<u8>,
}

impl Client {
    /// Connects, and sends the first request.
    pub(crate) fn connect(port: u16, bodies: &[String]) -> Self {
        let connect = |_| {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server accepts");
            stream.set_nodelay(true).expect("a connection can be set not to wait");
            stream
        };
        let mut connections: Vec<_> = (0..CONNECTIONS).map(connect).collect();
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length:";
        let request = |body: &String| format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes();
        let requests: Vec<_> = bodies.iter().map(request).collect();
        let first = connections.first_mut().expect("there are connections");
        first.write_all(requests.first().expect("there is something to ask for")).expect("the server reads");
        let answer = read_answer(first);
        Self { connections, requests, sent: 1, answer }
    }

    /// Returns the body of the first response.
    pub(crate) fn answer(&self) -> String {
        let head = head_length(&self.answer).expect("the answer was read whole");
        String::from_utf8(self.answer.iter().skip(head).copied().collect()).expect("the answer is text")
    }

    /// Sends `requests` requests, and reads the responses.
    pub(crate) fn ask(&mut self, requests: u64) {
        let expected = self.answer().len();
        let mut left = requests;
        while left > 0 {
            let round = usize::try_from(left).unwrap_or(usize::MAX).min(CONNECTIONS);
            for connection in self.connections.iter_mut().take(round) {
                let request = self.requests.get(self.sent % self.requests.len()).expect("it is one of them");
                connection.write_all(request).expect("the server reads");
                self.sent += 1;
            }
            for connection in self.connections.iter_mut().take(round) {
                let answer = read_answer(connection);
                let head = head_length(&answer).unwrap_or_default();
                assert_eq!(answer.len() - head, expected, "{}", String::from_utf8_lossy(&answer));
            }
            left -= round as u64;
        }
    }
}

/// Reads one response. Its head has the length of the body.
fn read_answer(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    loop {
        if let Some(head) = head_length(&answer)
            && answer.len() >= head + body_length(answer.get(..head).unwrap_or_default())
        {
            return answer;
        }
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).expect("the server answers");
        assert!(length > 0, "the server closed the connection");
        answer.extend_from_slice(piece.get(..length).unwrap_or_default());
    }
}

fn head_length(answer: &[u8]) -> Option<usize> {
    answer.windows(4).position(|window| window == b"\r\n\r\n").map(|end| end + 4)
}

fn body_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    let value = head.lines().find_map(|line| line.strip_prefix("content-length:")).expect("the answer has a length");
    value.trim().parse().expect("the length is a number")
}
