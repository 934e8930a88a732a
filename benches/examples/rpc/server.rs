//! The servers, which are processes of this binary. Each prints its port, and serves until its standard input ends.

use std::{
    convert::Infallible,
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::Duration,
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    header::{self, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use silica_node::{BlockMode, Config, Durability, Node};
use silica_protocol::Qa;
use silica_tests::{Wallet, wallet::FUNDS};
use tokio::{net::TcpListener, runtime::Runtime, task::spawn_blocking};

use crate::client::Connection;

/// Environment variable that makes this binary a server.
pub(crate) const ROLE: &str = "SILICA_BENCH_SERVER";
/// Environment variable with the response of the bare server.
const ANSWER: &str = "SILICA_BENCH_ANSWER";

/// Time between the blocks of a node in interval mode.
pub(crate) const INTERVAL: Duration = Duration::from_millis(200);
/// Number of [strangers](Wallet::stranger) with money on each new chain.
pub(crate) const SENDERS: u64 = 1_000;

/// A server in a separate process. The process ends when the value is dropped.
pub(crate) struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// Starts a node on disk that makes requested blocks without flushes. Makes blocks up to the number `blocks`.
    pub(crate) fn node(blocks: usize) -> Self {
        let server = Self::start("node", "");
        let answer = server.make_blocks(blocks);
        assert!(answer.contains(&format!(r#""result":"{}""#, blocks + 1)), "{answer}");
        server
    }

    /// Starts a node on disk in interval mode, which flushes its blocks.
    pub(crate) fn interval() -> Self {
        Self::start("interval", "")
    }

    /// Requests blocks from a node, and returns its response. The first block has the pending transactions.
    pub(crate) fn make_blocks(&self, blocks: usize) -> String {
        self.ask(&format!(r#"{{"id":"1","jsonrpc":"2.0","method":"IncreaseBlocknum","params":[{blocks}]}}"#))
    }

    /// Sends one request, and returns the body of the response.
    pub(crate) fn ask(&self, body: &str) -> String {
        Connection::open(self.port).ask(body)
    }

    /// Starts a server that reads each request and returns a constant.
    pub(crate) fn bare(answer: &str) -> Self {
        Self::start("bare", answer)
    }

    fn start(role: &str, answer: &str) -> Self {
        let program = env::current_exe().expect("this program is a file");
        let mut command = Command::new(program);
        command.env(ROLE, role).env(ANSWER, answer).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("this program starts again");
        let mut line = String::new();
        let output = process.stdout.take().expect("the output is a pipe");
        BufReader::new(output).read_line(&mut line).expect("the output is text");
        Self { process, port: line.trim().parse().expect("the server prints its port") }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the processor time of the process, including the time in the kernel.
    pub(crate) fn processor_time(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).expect("the server is running");
        let nanoseconds = |task: std::io::Result<fs::DirEntry>| -> u64 {
            let path = task.expect("the directory can be read").path().join("schedstat");
            // A thread can end after the directory was listed.
            let text = fs::read_to_string(path).unwrap_or_default();
            text.split_whitespace().next().map_or(0, |first| first.parse().expect("the system counts in nanoseconds"))
        };
        Duration::from_nanos(tasks.map(nanoseconds).sum())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // A failed wait means that the process has ended.
        let _: std::io::Result<std::process::ExitStatus> = self.process.wait();
    }
}

/// Serves until the standard input ends.
pub(crate) fn serve(role: &str) {
    let runtime = Runtime::new().expect("the runtime starts");
    let served = match role {
        "node" => runtime.block_on(serve_node(BlockMode::Manual, Durability::Relaxed)),
        "interval" => runtime.block_on(serve_node(BlockMode::Interval(INTERVAL), Durability::Flush)),
        _ => runtime.block_on(serve_bare()),
    };
    served.expect("the server serves");
    runtime.shutdown_background();
}

async fn serve_node(block_mode: BlockMode, durability: Durability) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let genesis_accounts = (0..SENDERS).map(|number| (Wallet::stranger(number).address(), Qa::new(FUNDS))).collect();
    let config = Config { block_mode, durability, genesis_accounts, ..Config::in_dir(dir.path().join("data")) };
    let node = Node::start(config).await?;
    print_port(node.addr().port())?;
    end_of_input().await?;
    Ok(node.stop().await?)
}

async fn serve_bare() -> Result<(), Box<dyn Error>> {
    let answer = Bytes::from(env::var(ANSWER)?);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    print_port(listener.local_addr()?.port())?;
    tokio::select! {
        result = accept(listener, answer) => result,
        result = end_of_input() => result,
    }
}

async fn accept(listener: TcpListener, answer: Bytes) -> Result<(), Box<dyn Error>> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| respond(request, answer.clone()));
            // A client that disconnects ends only its own connection.
            let _: hyper::Result<()> = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// The members of a request that the bare server reads.
#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    jsonrpc: &'a str,
    method: &'a str,
    #[serde(borrow)]
    params: &'a RawValue,
}

async fn respond(request: Request<Incoming>, answer: Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.expect("the client sends all of the body").to_bytes();
    let calls: serde_json::Result<Vec<Call<'_>>> = match body.first() {
        Some(b'[') => serde_json::from_slice(&body),
        _ => serde_json::from_slice(&body).map(|call| vec![call]),
    };
    for Call { id, jsonrpc, method, params } in calls.expect("the client sends requests") {
        assert!(jsonrpc == "2.0" && !method.is_empty() && !id.get().is_empty() && !params.get().is_empty());
    }
    let mut response = Response::new(Full::new(answer));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    Ok(response)
}

fn print_port(port: u16) -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{port}")?;
    output.flush()
}

async fn end_of_input() -> Result<(), Box<dyn Error>> {
    spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    Ok(())
}
