//! The least HTTP client that the commands need: one keep-alive connection, one request at a time.

use std::io::{self, ErrorKind::InvalidData};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, ToSocketAddrs},
};

/// Longest head of an answer that is read.
const MAX_HEAD: usize = 16 * 1024;
/// Longest line between two chunks that is read.
const MAX_LINE: usize = 1024;
/// Longest body of an answer that is read.
pub(crate) const MAX_BODY: usize = 64 << 20;

/// A connection to a node.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    /// The value of the header `Host`, and the path of the request.
    host: String,
    path: String,
    request: Vec<u8>,
    answer: Vec<u8>,
    /// The body of an answer that came in chunks.
    whole: Vec<u8>,
}

impl Client {
    /// Connects to `target`, for requests to `path` of `host`.
    pub(crate) async fn connect(target: impl ToSocketAddrs, host: &str, path: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(target).await?;
        stream.set_nodelay(true)?;
        let (host, path) = (host.to_owned(), path.to_owned());
        Ok(Self { stream, host, path, request: Vec::new(), answer: Vec::new(), whole: Vec::new() })
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
        let body = match head.body {
            Body::Long(length) => {
                let end = head.length.saturating_add(length);
                self.receive_up_to(end).await?;
                self.answer.get(head.length..end).unwrap_or_default()
            }
            Body::Chunked => {
                self.receive_chunks(head.length).await?;
                &self.whole
            }
        };
        std::str::from_utf8(body).map_err(|error| io::Error::new(InvalidData, error))
    }

    /// Receives a body in chunks (RFC 9112, section 7.1), the first of which begins `at` this place of the answer.
    async fn receive_chunks(&mut self, mut at: usize) -> io::Result<()> {
        self.whole.clear();
        loop {
            let (size, begin) = self.receive_line(at, chunk_size).await?;
            if self.whole.len().saturating_add(size) > MAX_BODY {
                return Err(refuse(format!("expected an answer of at most {MAX_BODY} bytes")));
            }
            if size == 0 {
                return self.receive_trailers(begin).await;
            }
            let end = begin.saturating_add(size);
            self.receive_up_to(end.saturating_add(2)).await?;
            self.whole.extend_from_slice(self.answer.get(begin..end).unwrap_or_default());
            if self.answer.get(end..end.saturating_add(2)) != Some(b"\r\n") {
                return Err(refuse("a chunk of the answer is longer than it says".to_owned()));
            }
            at = end.saturating_add(2);
            // What was read goes when it is the larger part, so that many small chunks are not moved for each.
            if at > self.answer.len() / 2 {
                self.answer.drain(..at);
                at = 0;
            }
        }
    }

    /// Receives what may stand behind the last chunk, which means nothing here.
    async fn receive_trailers(&mut self, mut at: usize) -> io::Result<()> {
        let most = at.saturating_add(MAX_HEAD);
        loop {
            let (is_empty, next) = self.receive_line(at, |line| Ok(line.is_empty())).await?;
            if is_empty {
                return Ok(());
            }
            if next > most {
                return Err(refuse("the end of the answer is too long".to_owned()));
            }
            at = next;
        }
    }

    /// Receives a line, and returns what it says and where the next one begins.
    async fn receive_line<T>(&mut self, at: usize, read: fn(&[u8]) -> io::Result<T>) -> io::Result<(T, usize)> {
        loop {
            let rest = self.answer.get(at..).unwrap_or_default();
            let line = rest.get(..rest.len().min(MAX_LINE)).unwrap_or_default();
            if let Some(length) = line.windows(2).position(|window| window == b"\r\n") {
                let said = read(line.get(..length).unwrap_or_default())?;
                return Ok((said, at.saturating_add(length).saturating_add(2)));
            }
            if rest.len() >= MAX_LINE {
                return Err(refuse("a line between the chunks of the answer is too long".to_owned()));
            }
            self.receive().await?;
        }
    }

    async fn receive_up_to(&mut self, end: usize) -> io::Result<()> {
        while self.answer.len() < end {
            self.receive().await?;
        }
        Ok(())
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
    body: Body,
}

/// How the body of an answer comes.
#[derive(Debug, PartialEq)]
enum Body {
    Chunked,
    /// As a whole, of so many bytes.
    Long(usize),
}

fn refuse(reason: String) -> io::Error {
    io::Error::new(InvalidData, reason)
}

/// Reads the size in front of a chunk; what may follow behind a semicolon means nothing here.
fn chunk_size(line: &[u8]) -> io::Result<usize> {
    let text = String::from_utf8_lossy(line);
    let digits = text.split(';').next().unwrap_or_default().trim();
    // `from_str_radix` would take a sign.
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let size = if is_hex { usize::from_str_radix(digits, 16).ok() } else { None };
    size.ok_or_else(|| refuse(format!("expected the size of a chunk, got {digits:?}")))
}

impl Head {
    /// Reads a head, or returns `None` when it has not come to its end.
    fn parse(bytes: &[u8]) -> io::Result<Option<Self>> {
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
        let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
        let field =
            |name: &str| fields.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim());
        let length = end.saturating_add(4);
        if let Some(encoding) = field("transfer-encoding") {
            return if encoding.eq_ignore_ascii_case("chunked") {
                Ok(Some(Self { length, body: Body::Chunked }))
            } else {
                Err(refuse(format!("expected the transfer-encoding chunked, got {encoding:?}")))
            };
        }
        let body_length = field("content-length")
            .and_then(|value| value.parse().ok())
            .ok_or_else(|| refuse("the answer has no content-length".to_owned()))?;
        if body_length > MAX_BODY {
            return Err(refuse(format!("expected an answer of at most {MAX_BODY} bytes, got {body_length}")));
        }
        Ok(Some(Self { length, body: Body::Long(body_length) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_read_once_it_is_complete() {
        let answer = b"HTTP/1.1 200 OK\r\nx: y\r\nContent-Length: 12\r\n\r\nbody";
        assert_eq!(Head::parse(&answer[..40]).unwrap(), None);
        assert_eq!(Head::parse(answer).unwrap(), Some(Head { length: 45, body: Body::Long(12) }));
    }

    #[test]
    fn other_answers_are_refused() {
        for (answer, reason) in [
            ("HTTP/1.1 413 Payload Too Large\r\ncontent-length: 0\r\n\r\n", "413"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n", "at most"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n", "gzip"),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", "content-length"),
            (&"x".repeat(MAX_HEAD + 1), "too long"),
        ] {
            assert!(Head::parse(answer.as_bytes()).unwrap_err().to_string().contains(reason));
        }
    }

    /// What the client makes of an answer that comes in these pieces.
    async fn receive(pieces: &[&str]) -> io::Result<String> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = Client::connect(listener.local_addr().unwrap(), "x", "/").await.unwrap();
        let (mut peer, _) = listener.accept().await.unwrap();
        let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        let answer = async {
            // A connection that is closed with something unread is reset.
            assert_ne!(peer.read(&mut [0; 1024]).await.unwrap(), 0);
            for piece in &pieces {
                // The client may have heard enough.
                drop(peer.write_all(piece.as_bytes()).await);
                tokio::task::yield_now().await;
            }
            drop(peer);
        };
        tokio::join!(client.post(b"{}"), answer).0.map(str::to_owned)
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
    async fn wrong_chunks_are_refused() {
        for (chunks, reason) in [
            ("5\r\nabcdeXX", "longer than it says"),
            ("+5\r\nabcde\r\n", "size of a chunk"),
            ("\r\n", "size of a chunk"),
            ("FFFFFFFF\r\n", "at most"),
            ("5\r\nab", "closed the connection"),
            (&"1".repeat(2_000), "too long"),
            (&format!("0\r\n{}", "x: y\r\n".repeat(4_000)), "too long"),
        ] {
            let error = receive(&[CHUNKED, chunks]).await.unwrap_err().to_string();
            assert!(error.contains(reason), "{reason} is missing in {error}");
        }
    }
}
