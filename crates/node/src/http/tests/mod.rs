//! The server over real connections, with a service that answers with the length of a body.

mod answers;
mod body;
mod limits;
mod routes;
mod stop;
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

/// Returns the length of the body; for the body `wait` only after the test lets it.
#[derive(Default)]
struct Length {
    waiting: Notify,
    go_on: Notify,
    /// An answer in pieces was let go.
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

    /// Sends back what comes, until the client or the server has enough.
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

/// Pieces of 64 KB; below none, it breaks.
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

/// One piece of so many bytes.
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

/// Bytes of a future that answers a request, which are moved for each.
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
    let mut server = Server::new(limits, Serves::All, Access::default(), Arc::default());
    let addr = server.bind((ip, 0).into()).await.unwrap();
    let (stop, stopped) = watch::channel(false);
    let answer = Arc::new(Length::default());
    Running { addr, answer: Arc::clone(&answer), stop, served: tokio::spawn(server.serve(answer, stopped)) }
}

impl Running {
    /// Posts `wait` and returns once the server is waiting.
    async fn post_wait(&self) -> JoinHandle<String> {
        let addr = self.addr;
        let answer = tokio::spawn(async move { exchange(addr, &post_of("wait", "")).await });
        self.answer.waiting.notified().await;
        answer
    }
}

/// Time after which a server that does nothing counts as hanging, on the slowest of machines.
const HANGS: Duration = Duration::from_mins(3);

/// A time that is not over before a test has ended, or been given up.
const EVER: Duration = Duration::from_hours(1);

/// Little memory, few slots, and all the time there is.
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

/// As much as [`calm`], for clients that do not take their time.
fn quick() -> HttpLimits {
    HttpLimits {
        request_timeout: Duration::from_millis(200),
        idle_timeout: Duration::from_millis(600),
        contended_timeout: Duration::from_millis(400),
        ..calm()
    }
}

/// Sends `request` and returns all that comes until the server closes.
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

/// Checks the status line, that each of `headers` is there, and the body of one exchange.
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
