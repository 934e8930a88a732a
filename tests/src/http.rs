//! HTTP/1.1 over a plain socket. It can send valid requests, and also malformed ones.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

/// Timeout of a read or write. It is long enough for a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// An HTTP response, with headers in the order of arrival.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body, which can have come in chunks.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the value of a header, by its name in lower case. Returns `None` if the response does not have the
    /// header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A connection that stays open for several requests.
#[derive(Debug)]
pub struct Connection {
    reader: BufReader<TcpStream>,
}

impl Connection {
    /// Opens a connection to the node.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let connection = Self { reader: BufReader::new(stream) };
        connection.limit(PATIENCE)?;
        Ok(connection)
    }

    /// Sets the timeout of each further read and write.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn limit(&self, patience: Duration) -> io::Result<()> {
        self.reader.get_ref().set_read_timeout(Some(patience))?;
        self.reader.get_ref().set_write_timeout(Some(patience))
    }

    /// Writes bytes without a change.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Writes a request with the usual headers, and reads its response.
    ///
    /// # Errors
    ///
    /// The error of the operating system, [`io::ErrorKind::UnexpectedEof`] if the connection ends before the response,
    /// or [`io::ErrorKind::InvalidData`] for a response that is not HTTP.
    pub fn request(&mut self, verb: &str, path: &str, body: &[u8]) -> io::Result<Answer> {
        let head = format!(
            "{verb} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
        self.write(&request)?;
        self.read()
    }

    /// Posts a body to the path `/`, and reads the response.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::request`].
    pub fn post(&mut self, body: &[u8]) -> io::Result<Answer> {
        self.request("POST", "/", body)
    }

    /// Closes the sending half of the connection. Reads are possible afterwards.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn finish_writing(&mut self) -> io::Result<()> {
        self.reader.get_ref().shutdown(Shutdown::Write)
    }

    /// Reads the next response.
    ///
    /// # Errors
    ///
    /// The error of the operating system, [`io::ErrorKind::UnexpectedEof`] if the connection ends before the response,
    /// or [`io::ErrorKind::InvalidData`] for a response that is not HTTP.
    pub fn read(&mut self) -> io::Result<Answer> {
        let status_line = self.line()?;
        let status =
            status_line.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(|| bad(&status_line))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| bad(&line))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        answer.body = match (answer.header("content-length"), answer.header("transfer-encoding")) {
            (Some(length), None) => self.exactly(length.parse().map_err(|_| bad("content-length"))?)?,
            (None, Some("chunked")) => self.chunks()?,
            (None, None) if is_bodiless(status) => Vec::new(),
            _ => return Err(bad("a body that ends somewhere")),
        };
        Ok(answer)
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the chunks of a body, including the end mark.
    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = self.line()?;
            let size = usize::from_str_radix(&size, 16).map_err(|_| bad(&size))?;
            body.append(&mut self.exactly(size)?);
            let behind = self.line()?;
            if !behind.is_empty() {
                return Err(bad(&behind));
            }
            if size == 0 {
                return Ok(body);
            }
        }
    }

    /// Reads until the node closes the connection.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.reader.read_to_end(&mut rest)?;
        Ok(rest)
    }

    /// Reads `length` bytes without parsing them.
    ///
    /// # Errors
    ///
    /// The error of the operating system, or [`io::ErrorKind::UnexpectedEof`] if the connection ends before `length`
    /// bytes.
    pub fn read_bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

/// Returns whether responses with this status never have a body.
fn is_bodiless(status: u16) -> bool {
    status < 200 || status == 204 || status == 304
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not an HTTP answer: {what}"))
}
