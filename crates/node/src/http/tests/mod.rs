//! Tests of the server over real connections. The handler responds with the length of the request body.

mod answers;
mod body;
mod limits;
mod routes;
mod stop;
mod studio;
mod upgrade;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use hyper::{Request, body::Incoming};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Notify, watch},
    task::JoinHandle,
    time::{Instant, timeout},
};

use super::{
    response_body::BodyChunks,
    routes::{RequestContext, respond},
    *,
};
use crate::endpoint::Endpoint;

/// A handler that responds with the length of the body. For the body `wait`, it responds after the test notifies
/// `go_on`.
#[derive(Default)]
struct Length {
    waiting: Notify,
    go_on: Notify,
    /// Notified when the source of a response in chunks is dropped.
    dropped: Arc<Notify>,
}

/// The path of a page for operators.
const PAGE: &str = "/page";

impl Handler for Length {
    async fn answer(&self, body: Bytes, _: &Caller, memory: Memory) -> Answered {
        Answered { reply: Some(self.reply(body, memory).await), wait: None }
    }

    fn reject(&self, reason: RejectReason, text: &str) -> Vec<u8> {
        format!("<{reason:?}: {text}>").into_bytes()
    }

    fn has_page(&self, path: &str) -> bool {
        path == PAGE
    }

    async fn page(&self, path: &str) -> Option<Page> {
        let text = "x".repeat(100_000);
        self.has_page(path).then_some(Page { is_well: false, media_type: "text/x", text })
    }

    /// Sends the received bytes back, until the client closes the connection or the server stops.
    async fn handle_websocket(&self, mut stream: Upgrade, _: Caller, _: MemoryLease, mut stop: watch::Receiver<bool>) {
        let mut bytes = [0; 100];
        loop {
            tokio::select! {
                read = stream.read(&mut bytes) => match read.unwrap() {
                    0 => return,
                    length => stream.write_all(&bytes[..length]).await.unwrap(),
                },
                () = stopped(&mut stop) => return stream.write_all(b"bye").await.unwrap(),
            }
        }
    }
}

impl Length {
    async fn reply(&self, body: Bytes, memory: Memory) -> Reply {
        if body == "wait" {
            self.waiting.notify_one();
            self.go_on.notified().await;
        }
        if let Some(length) = body.strip_prefix(b"whole ") {
            let length = std::str::from_utf8(length).unwrap().parse().unwrap();
            return Reply::whole(vec![b'x'; length], memory);
        }
        if let Some(length) = body.strip_prefix(b"giant ") {
            let length = std::str::from_utf8(length).unwrap().parse().unwrap();
            return Reply { rest: Some(Box::new(Giant { length })), ..Reply::whole(b"<".to_vec(), memory) };
        }
        if let Some(chunks) = body.strip_prefix(b"pieces ") {
            let chunks = std::str::from_utf8(chunks).unwrap().parse().unwrap();
            let dropped = Arc::clone(&self.dropped);
            let rest: Option<BodyChunks> = Some(Box::new(Pieces { chunks, dropped }));
            return Reply { rest, ..Reply::whole(b"<".to_vec(), memory) };
        }
        Reply::whole(body.len().to_string().into_bytes(), memory)
    }
}

/// A number of chunks of 64 KiB each. A negative number ends the chunks with an error.
struct Pieces {
    chunks: i64,
    dropped: Arc<Notify>,
}

impl Chunks for Pieces {
    type Error = Truncated;

    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated> {
        match self.chunks {
            0 => {
                out.push(b'>');
                return Ok(false);
            }
            -1 => return Err(Truncated),
            _ => {}
        }
        self.chunks -= self.chunks.signum();
        out.resize(1 << 16, b'x');
        Ok(true)
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.dropped.notify_one();
    }
}

/// One chunk of `length` bytes.
struct Giant {
    length: usize,
}

impl Chunks for Giant {
    type Error = Truncated;

    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated> {
        out.resize(self.length, b'x');
        Ok(false)
    }
}

/// Returns the size in bytes of a future that responds to a request. The server moves these bytes for each request.
fn size<'a, 'resources, F>(_: fn(Request<Incoming>, &'a RequestContext<'a, 'resources, Endpoint>) -> F) -> usize {
    size_of::<F>()
}

#[test]
fn request_does_not_carry_about_what_it_seldom_needs() {
    let size = size(respond::<Endpoint>);
    assert!(size < 4096, "{size} bytes");
}

struct Running {
    addr: SocketAddr,
    answer: Arc<Length>,
    stop: watch::Sender<bool>,
    served: JoinHandle<()>,
}

async fn start(limits: HttpLimits) -> Running {
    start_at([127, 0, 0, 1], limits).await
}

async fn start_at(ip: [u8; 4], limits: HttpLimits) -> Running {
    run(Server::new(limits, Serves::All, Access::default(), Arc::default()), ip).await
}

/// Binds a server to a port that the system chooses, and serves.
async fn run(mut server: Server, ip: [u8; 4]) -> Running {
    let addr = server.bind((ip, 0).into()).await.unwrap();
    let (stop, stopped) = watch::channel(false);
    let answer = Arc::new(Length::default());
    Running { addr, answer: Arc::clone(&answer), stop, served: tokio::spawn(server.serve(answer, stopped)) }
}

impl Running {
    /// Sends the body `wait`, and returns when the handler has the request.
    async fn post_wait(&self) -> JoinHandle<String> {
        let addr = self.addr;
        let answer = tokio::spawn(async move { exchange(addr, &post_of("wait", "")).await });
        self.answer.waiting.notified().await;
        answer
    }
}

/// Time after which a test fails because the server does not respond. The time is long enough for slow machines.
const HANGS: Duration = Duration::from_mins(3);

/// A timeout that does not expire during a test.
const EVER: Duration = Duration::from_hours(1);

/// Returns limits with 1000 bytes of memory, ten connection slots, and timeouts that do not expire.
fn calm() -> HttpLimits {
    HttpLimits {
        body_bytes: 1000,
        bodies_bytes: 1000,
        bodies_timeout: EVER,
        request_timeout: EVER,
        idle_timeout: EVER,
        contended_timeout: EVER,
        connections: 10,
        each_second: None,
        grace: EVER,
    }
}

/// Returns the limits of [`calm`] with short timeouts for clients.
fn quick() -> HttpLimits {
    HttpLimits {
        request_timeout: Duration::from_millis(200),
        idle_timeout: Duration::from_millis(600),
        contended_timeout: Duration::from_millis(400),
        ..calm()
    }
}

/// Sends `request`, and returns all bytes until the server closes the connection.
async fn exchange(addr: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(HANGS, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

fn post_of(body: &str, further: &str) -> String {
    format!("POST /any/path HTTP/1.1\r\nhost: x\r\n{further}content-length: {}\r\n\r\n{body}", body.len())
}

/// Checks the response to one request: its status line, the presence of each of `headers`, and its body.
async fn check(request: String, status: &str, headers: &[&str], body: &str) {
    let server = start(calm()).await;
    let answer = exchange(server.addr, &request).await;
    let (head, got) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    for header in headers {
        assert!(head.to_lowercase().contains(&header.to_lowercase()), "{header} is missing in {answer}");
    }
    assert_eq!(got, body);
}

const CLOSE: &str = "connection: close\r\n";
