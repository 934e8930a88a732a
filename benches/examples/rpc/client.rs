//! The client: kept connections with at most one request in progress each.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    rc::Rc,
};

use crate::server::Server;

/// Number of simultaneous connections.
const CONNECTIONS: usize = 32;

/// One kept connection.
pub(crate) struct Connection(TcpStream);

impl Connection {
    pub(crate) fn open(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server accepts");
        stream.set_nodelay(true).expect("a connection can be set not to wait");
        Self(stream)
    }

    /// Sends one request, and returns the body of the response.
    pub(crate) fn ask(&mut self, body: &str) -> String {
        self.write(&http_request(body));
        self.read()
    }

    fn write(&mut self, request: &[u8]) {
        self.0.write_all(request).expect("the server reads");
    }

    /// Reads one response, and returns its body. The head has the length of the body.
    fn read(&mut self) -> String {
        let mut answer = Vec::new();
        loop {
            if let Some(head) = head_length(&answer)
                && answer.len() >= head + body_length(answer.get(..head).unwrap_or_default())
            {
                return String::from_utf8(answer.split_off(head)).expect("the answer is text");
            }
            let mut piece = [0; 4096];
            let length = self.0.read(&mut piece).expect("the server answers");
            assert!(length > 0, "the server closed the connection");
            answer.extend_from_slice(piece.get(..length).unwrap_or_default());
        }
    }
}

/// Requests over HTTP, which several clients can send.
#[derive(Clone)]
pub(crate) struct Requests {
    requests: Rc<[Vec<u8>]>,
    /// A text that each response has.
    expected: &'static str,
}

impl Requests {
    /// Returns the requests with these bodies. Each response must have the text `expected`, and no error.
    pub(crate) fn new<'a>(bodies: impl IntoIterator<Item = &'a String>, expected: &'static str) -> Self {
        Self { requests: bodies.into_iter().map(|body| http_request(body)).collect(), expected }
    }

    /// Ends the program if a response is not as expected.
    fn check(&self, answer: &str) {
        assert!(answer.contains(self.expected) && !answer.contains("\"error\":"), "{answer}");
    }
}

/// Connections to one server. They send the requests of a list repeatedly.
pub(crate) struct Client {
    connections: Vec<Connection>,
    requests: Requests,
    /// Number of sent requests.
    sent: usize,
}

impl Client {
    /// Connects, and sends the first request. The server then has a thread and memory for the client.
    pub(crate) fn connect(server: &Server, requests: &Requests) -> Self {
        let connections = (0..CONNECTIONS).map(|_| Connection::open(server.port())).collect();
        let mut client = Self { connections, requests: requests.clone(), sent: 0 };
        client.ask(1);
        client
    }

    /// Returns the number of sent requests.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    /// Sends `count` requests, and reads the responses.
    pub(crate) fn ask(&mut self, count: usize) {
        let end = self.sent + count;
        while self.sent < end {
            let round = (end - self.sent).min(CONNECTIONS);
            for connection in self.connections.iter_mut().take(round) {
                let all = &self.requests.requests;
                connection.write(all.get(self.sent % all.len()).expect("it is one of them"));
                self.sent += 1;
            }
            for connection in self.connections.iter_mut().take(round) {
                self.requests.check(&connection.read());
            }
        }
    }
}

fn http_request(body: &str) -> Vec<u8> {
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length:";
    format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes()
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
