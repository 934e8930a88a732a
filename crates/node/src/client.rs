//! The least HTTP client that the commands need: one keep-alive connection, one request at a time.

use std::io::{self, ErrorKind::InvalidData};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, ToSocketAddrs},
};

/// Longest head of an answer that is read.
const MAX_HEAD: usize = 16 * 1024;
/// Longest body of an answer that is read.
pub(crate) const MAX_BODY: usize = 64 << 20;

/// A connection to a node.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    /// What the node is told it is called, and the path that is asked for.
    host: String,
    path: String,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Client {
    /// Connects to `target`, for requests to `path` of `host`.
    pub(crate) async fn connect(target: impl ToSocketAddrs, host: &str, path: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(target).await?;
        stream.set_nodelay(true)?;
        let (host, path) = (host.to_owned(), path.to_owned());
        Ok(Self { stream, host, path, request: Vec::new(), answer: Vec::new() })
    }

    /// Posts `body` and returns the body of the answer.
    pub(crate) async fn post(&mut self, body: &[u8]) -> io::Result<&str> {
        self.request.clear();
        let (path, host, length) = (&self.path, &self.host, body.len());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        self.request.extend_from_slice(head.as_bytes());
        self.request.extend_from_slice(body);
        self.stream.write_all(&self.request).await?;

        self.answer.clear();
        let head = loop {
            if let Some(head) = Head::parse(&self.answer)? {
                break head;
            }
            self.receive().await?;
        };
        let end = head.length.saturating_add(head.body_length);
        while self.answer.len() < end {
            self.receive().await?;
        }
        let body = self.answer.get(head.length..end).unwrap_or_default();
        std::str::from_utf8(body).map_err(|error| io::Error::new(InvalidData, error))
    }

    async fn receive(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.answer).await? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the node closed the connection")),
            _ => Ok(()),
        }
    }
}

/// What matters of the head of an answer.
#[derive(Debug, PartialEq)]
struct Head {
    length: usize,
    body_length: usize,
}

impl Head {
    /// Reads a head, or returns `None` when it has not come to its end.
    fn parse(bytes: &[u8]) -> io::Result<Option<Self>> {
        let refuse = |reason: String| io::Error::new(InvalidData, reason);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            return if bytes.len() > MAX_HEAD {
                Err(refuse("head of the answer is too long".into()))
            } else {
                Ok(None)
            };
        };
        let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default());
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap_or_default();
        if status.split(' ').nth(1) != Some("200") {
            return Err(refuse(format!("expected status 200, got {status:?}")));
        }
        let length_of = |line: &str| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        };
        let body_length =
            lines.find_map(length_of).ok_or_else(|| refuse("the answer has no content-length".to_owned()))?;
        if body_length > MAX_BODY {
            return Err(refuse(format!("expected an answer of at most {MAX_BODY} bytes, got {body_length}")));
        }
        Ok(Some(Self { length: end.saturating_add(4), body_length }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_read_once_it_is_complete() {
        let answer = b"HTTP/1.1 200 OK\r\nx: y\r\nContent-Length: 12\r\n\r\nbody";
        assert_eq!(Head::parse(&answer[..40]).unwrap(), None);
        assert_eq!(Head::parse(answer).unwrap(), Some(Head { length: 45, body_length: 12 }));
    }

    #[test]
    fn other_answers_are_refused() {
        for (answer, reason) in [
            ("HTTP/1.1 413 Payload Too Large\r\ncontent-length: 0\r\n\r\n", "413"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n", "at most"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "content-length"),
            (&"x".repeat(MAX_HEAD + 1), "too long"),
        ] {
            assert!(Head::parse(answer.as_bytes()).unwrap_err().to_string().contains(reason));
        }
    }
}
