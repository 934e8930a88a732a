//! The client: keep-alive connections that each have one request under way.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
};

/// Connections over which requests are asked at the same time.
const CONNECTIONS: usize = 32;

/// Connections to one server, which ask it the same again and again.
pub(crate) struct Client {
    connections: Vec<TcpStream>,
    request: Vec<u8>,
    /// The answer, head included; all have its length.
    answer: Vec<u8>,
}

impl Client {
    /// Connects, and asks once.
    pub(crate) fn connect(port: u16, body: &str) -> Self {
        let connect = |_| {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server accepts");
            stream.set_nodelay(true).expect("a connection can be told not to wait");
            stream
        };
        let mut connections: Vec<_> = (0..CONNECTIONS).map(connect).collect();
        let head = "POST / HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length:";
        let request = format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes();
        let first = connections.first_mut().expect("there are connections");
        first.write_all(&request).expect("the server reads");
        let answer = read_answer(first);
        Self { connections, request, answer }
    }

    /// The body of the answer.
    pub(crate) fn answer(&self) -> String {
        let head = head_length(&self.answer).expect("the answer was read whole");
        String::from_utf8(self.answer.iter().skip(head).copied().collect()).expect("the answer is text")
    }

    /// Asks so many times and reads the answers.
    pub(crate) fn ask(&mut self, requests: u64) {
        let mut answer = vec![0; self.answer.len()];
        let mut left = requests;
        while left > 0 {
            let round = usize::try_from(left).unwrap_or(usize::MAX).min(CONNECTIONS);
            for connection in self.connections.iter_mut().take(round) {
                connection.write_all(&self.request).expect("the server reads");
            }
            for connection in self.connections.iter_mut().take(round) {
                connection.read_exact(&mut answer).expect("the server answers");
            }
            assert_eq!(answer.last(), self.answer.last(), "an answer is shorter or longer than the first");
            left -= round as u64;
        }
    }
}

/// Reads one answer, whose head gives the length of its body.
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
