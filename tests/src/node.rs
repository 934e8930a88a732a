//! A separate `silica` process with its directory, its port and its output.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Read},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    ops::Range,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    http::{Answer, Connection},
    patience::Patience,
};

/// Timeout for output that is in the pipes when a process ends.
const PIPES: Duration = Duration::from_mins(1);

/// Largest number of calls in one batch.
const CALLS_PER_REQUEST: usize = 500;

/// A temporary directory. The end of a passed test deletes the directory, and a failed test keeps it.
#[derive(Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// Creates an empty directory with a new name.
    ///
    /// # Panics
    ///
    /// If the temporary directory of the system is not writable.
    pub fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        loop {
            let name = format!("silica-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
            let path = env::temp_dir().join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Self(path),
                // An earlier process with the same process id left this directory.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("the temporary directory is writable: {error}"),
            }
        }
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Directory {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !thread::panicking() {
            drop(fs::remove_dir_all(&self.0));
        }
    }
}

/// Returns the path of the `silica` binary: the value of the variable `SILICA_BINARY`. Without this variable, the
/// function builds a binary with the profile of the tests.
///
/// # Panics
///
/// If the build fails.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| env::var_os("SILICA_BINARY").map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // The build has the features of `cargo test --workspace`, so its dependencies are compiled already. The features
    // include the consensus engine. A test among the targets enables the features of dev-dependencies.
    cargo.args(["build", "--workspace", "--bin", "silica", "--test", "structure"]);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    // Cargo passes variables with the data of this package to its tests. The build script of the crate ring runs again
    // if such a variable changes. Cargo would then compile ring, and all crates that depend on it, after each change
    // between build and test.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    let output = cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo is there: it runs this test");
    assert!(output.status.success(), "the silica binary does not build");
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        // With the test, cargo also builds the program `reliability`.
        .filter(|message| {
            let is = |pointer, expected| message.pointer(pointer).is_some_and(|value| value == expected);
            is("/target/kind/0", "bin") && is("/target/name", "silica")
        })
        .find_map(|message| message.get("executable")?.as_str().map(PathBuf::from));
    executable.expect("cargo names the executable")
}

/// Returns the first of `count` successive ports of 127.0.0.1 that are free now. The system gives these ports to no
/// outgoing connection, so a member that starts again finds its port free.
///
/// # Panics
///
/// If no ports are free.
pub fn free_ports(count: u16) -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    for _ in 0..PORTS.len() {
        // Test processes that run at the same time begin at different ports.
        let step = std::process::id().wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)).wrapping_mul(u32::from(count));
        let first = PORTS.start + u16::try_from(step % u32::from(PORTS.end - PORTS.start)).unwrap_or_default();
        if (first..first + count).all(|port| bind(port).is_ok()) {
            return first;
        }
    }
    panic!("no {count} successive ports are free");
}

/// Ports below those of outgoing connections, which are usually 32768 to 60999.
const PORTS: Range<u16> = 12_000..32_000;

/// Returns the arguments that start a node with this data directory on a free port.
fn start_line<'a>(data: &'a Path, args: &[&'a str]) -> Vec<&'a str> {
    let data = data.to_str().expect("temporary paths are UTF-8");
    [&["--data-dir", data, "--listen", "127.0.0.1:0"], args].concat()
}

/// Returns a command of the binary without a terminal, and without the `SILICA_` variables of the environment.
pub fn command(args: &[&str]) -> Command {
    with_surroundings(Command::new(binary()), args)
}

fn with_surroundings(mut command: Command, args: &[&str]) -> Command {
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("SILICA_") {
            command.env_remove(name);
        }
    }
    command
}

/// The result of an ended process.
#[derive(Debug)]
pub struct Finished {
    /// Exit status of the process.
    pub status: ExitStatus,
    /// Whole output of the process. Lines of both streams are in the order in which they were read.
    pub output: String,
}

/// Runs a command of the binary, and waits for the end of the process.
///
/// # Panics
///
/// If the process does not start, or does not end in time.
pub fn run(args: &[&str]) -> Finished {
    let mut process = Process::spawn(command(args));
    let status = process.wait();
    Finished { status, output: process.output() }
}

/// An error response of a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Error code.
    pub code: i64,
    /// Error text.
    pub message: String,
    /// The member `data`. It is an object or null in an error of a method, and absent in an error of the protocol
    /// layer.
    pub data: Option<Value>,
}

/// A running node.
#[derive(Debug)]
pub struct Node {
    process: Process,
    address: SocketAddr,
    // Fields are dropped in this order, so the directory is removed after the end of the process.
    directory: Option<Directory>,
}

impl Node {
    /// Starts a node with additional arguments, in a new directory and on a free port.
    ///
    /// # Panics
    ///
    /// If the node does not start.
    pub fn start(args: &[&str]) -> Self {
        let directory = Directory::new();
        let mut node = Self::start_in(&directory.path().join("data"), args);
        node.directory = Some(directory);
        node
    }

    /// Starts a node with additional arguments in a given data directory.
    ///
    /// # Panics
    ///
    /// If the node does not start. The message contains the output of the node.
    pub fn start_in(data: &Path, args: &[&str]) -> Self {
        Self::try_start_in(data, args)
            .unwrap_or_else(|end| panic!("the node does not start ({}):\n{}", end.status, end.output))
    }

    /// Starts an ephemeral node with additional arguments.
    ///
    /// # Panics
    ///
    /// If the node does not start. The message contains the output of the node.
    pub fn start_in_memory(args: &[&str]) -> Self {
        Self::start_with(command(&[&["--ephemeral", "--listen", "127.0.0.1:0"], args].concat()))
    }

    /// Starts a node with a command of the caller. The arguments of the command must select a free port.
    ///
    /// # Panics
    ///
    /// If the node does not start. The message contains the output of the node.
    pub fn start_with(command: Command) -> Self {
        let mut process = Process::spawn(command);
        match process.wait_for_endpoint() {
            Some(address) => Self { process, address, directory: None },
            None => panic!("the node does not start ({}):\n{}", process.wait(), process.output()),
        }
    }

    /// Starts a node with additional arguments in a given data directory, or returns the result of the ended process.
    ///
    /// # Errors
    ///
    /// The result of a process that ended before it accepted connections.
    ///
    /// # Panics
    ///
    /// If the process neither accepts connections nor ends in time.
    pub fn try_start_in(data: &Path, args: &[&str]) -> Result<Self, Finished> {
        let mut process = Process::spawn(command(&start_line(data, args)));
        match process.wait_for_endpoint() {
            Some(address) => Ok(Self { process, address, directory: None }),
            None => Err(Finished { status: process.wait(), output: process.output() }),
        }
    }

    /// Starts a node with a limit of the size of each file. The limit has the unit of `ulimit -f`, which is 512 or 1024
    /// bytes. For the node, the limit has the effect of a full disk.
    ///
    /// # Panics
    ///
    /// If the node does not start.
    pub fn start_with_small_files(data: &Path, blocks: u32, args: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        // The shell ignores the signal of the limit, so that a write fails instead of ending the process.
        shell.args(["-c", "trap '' XFSZ; ulimit -S -f \"$0\"; exec \"$@\"", &blocks.to_string()]).arg(binary());
        Self::start_by(shell, &start_line(data, args))
    }

    /// Starts a node with the umask `umask`, in octal digits.
    ///
    /// # Panics
    ///
    /// If the node does not start.
    pub fn start_with_umask(umask: &str, data: &Path, args: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", "umask \"$0\"; exec \"$@\"", umask]).arg(binary());
        Self::start_by(shell, &start_line(data, args))
    }

    /// Starts a node through another program. The arguments must select a free port.
    ///
    /// # Panics
    ///
    /// If the node does not start.
    pub fn start_by(starter: Command, args: &[&str]) -> Self {
        Self::start_with(with_surroundings(starter, args))
    }

    /// Sets the limit of the size of each file, in bytes, of a node that [`Self::start_with_small_files`] started.
    /// `None` removes the limit.
    ///
    /// # Panics
    ///
    /// If the system has no `prlimit`.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let limit = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        self.limit(&format!("--fsize={limit}:"));
    }

    /// Limits the data memory of the process, in bytes. Above the limit, the system refuses memory, and the process
    /// ends.
    ///
    /// # Panics
    ///
    /// If the system has no `prlimit`.
    pub fn limit_data(&self, bytes: u64) {
        self.limit(&format!("--data={bytes}"));
    }

    fn limit(&self, limit: &str) {
        let done = Command::new("prlimit").args(["--pid", &self.id().to_string(), limit]).status();
        assert!(done.expect("prlimit runs").success(), "{limit}");
    }

    /// Returns the address on which the node listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the node.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.process.child.id()
    }

    /// Returns the output so far.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Waits until the output contains these words, and returns the output so far.
    ///
    /// # Panics
    ///
    /// If the words do not appear in time.
    pub fn wait_for(&self, words: &str) -> String {
        self.wait_until(words, |output| output.contains(words))
    }

    /// Waits until the output meets the condition, and returns the output so far. A line can arrive with a delay, and
    /// lines of one stream can overtake lines of the other stream.
    ///
    /// # Panics
    ///
    /// If the output does not meet the condition in time.
    pub fn wait_until(&self, wanted: &str, is_as_wanted: impl Fn(&str) -> bool) -> String {
        let mut patience = Patience::with(self.id());
        loop {
            let output = self.output();
            if is_as_wanted(&output) {
                return output;
            }
            if let Err(hang) = patience.check() {
                panic!("the node does not write {wanted:?}: {hang}\n{output}");
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Opens a connection to the node.
    ///
    /// # Panics
    ///
    /// If the node does not accept the connection.
    pub fn connect(&self) -> Connection {
        Connection::open(self.address).expect("the node accepts connections")
    }

    /// Posts a body over a new connection.
    ///
    /// # Panics
    ///
    /// If the node does not send a response.
    pub fn post(&self, body: impl AsRef<[u8]>) -> Answer {
        self.connect().post(body.as_ref()).expect("the node answers")
    }

    /// Posts a body, and reads the JSON of the response.
    ///
    /// # Panics
    ///
    /// If the response is not JSON with status 200.
    pub fn post_json(&self, body: impl AsRef<[u8]>) -> Value {
        let answer = self.post(body);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        serde_json::from_slice(&answer.body)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&answer.body)))
    }

    /// Calls a method, and parses the response strictly. An unknown member fails the test.
    ///
    /// # Errors
    ///
    /// The error of an error response.
    ///
    /// # Panics
    ///
    /// If the response does not match the request.
    pub fn call(&self, method: &str, params: &Value) -> Result<Value, Refusal> {
        let request = json!({"id": "1", "jsonrpc": "2.0", "method": method, "params": params});
        let answer = self.post_json(request.to_string());
        open_envelope(&answer, &json!("1"))
    }

    /// Makes many calls in batches, and returns the responses in order.
    ///
    /// # Panics
    ///
    /// If a response is missing or out of order.
    pub fn call_all(&self, calls: &[(&str, Value)]) -> Vec<Result<Value, Refusal>> {
        let mut connection = self.connect();
        let mut outcomes = Vec::with_capacity(calls.len());
        for calls in calls.chunks(CALLS_PER_REQUEST) {
            let requests: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(id, (method, params))| json!({"id": id, "jsonrpc": "2.0", "method": method, "params": params}))
                .collect();
            let body = Value::from(requests).to_string();
            let answer = connection.post(body.as_bytes()).expect("the node answers");
            let answers: Vec<Value> = serde_json::from_slice(&answer.body).expect("a batch is answered with an array");
            assert_eq!(answers.len(), calls.len(), "every call is answered");
            outcomes.extend(answers.iter().enumerate().map(|(id, answer)| open_envelope(answer, &json!(id))));
        }
        outcomes
    }

    /// Calls a method that must succeed, and returns its result.
    ///
    /// # Panics
    ///
    /// If the response is an error.
    pub fn result(&self, method: &str, params: &Value) -> Value {
        self.call(method, params).unwrap_or_else(|refusal| panic!("{method}{params} is refused: {refusal:?}"))
    }

    /// Calls a method that must fail, and returns code and text of the error.
    ///
    /// # Panics
    ///
    /// If the method succeeds, or if the member `data` is not as documented. `data` has the expected and the given
    /// value if the text of the reference lacks them. Otherwise, `data` is null as in the reference, or absent in an
    /// error of the protocol layer.
    pub fn error(&self, method: &str, params: &Value) -> (i64, String) {
        let refusal = self.call(method, params).expect_err("the call is refused");
        match &refusal.data {
            Some(Value::Object(details)) => {
                let members: Vec<&str> = details.keys().map(String::as_str).collect();
                assert!(has_details(method, &refusal.message) && members == ["expected", "got"], "{refusal:?}");
            }
            Some(Value::Null) => {
                let is_plain = !is_protocol_text(&refusal.message) && !has_details(method, &refusal.message);
                assert!(is_plain, "{refusal:?}");
            }
            Some(_) => panic!("{refusal:?}"),
            None => assert!(is_protocol_text(&refusal.message), "{refusal:?}"),
        }
        (refusal.code, refusal.message)
    }

    /// Stops the node with SIGTERM, and returns the result of the process.
    ///
    /// # Panics
    ///
    /// If the process does not end in time.
    pub fn stop(self) -> Finished {
        self.interrupt("TERM")
    }

    /// Sends the signal with this name, waits for the end of the process, and returns the result of the process.
    ///
    /// # Panics
    ///
    /// If the process does not end in time.
    pub fn interrupt(self, signal: &str) -> Finished {
        self.signal(signal);
        self.wait()
    }

    /// Sends the signal with this name. The signal has no effect on an ended process.
    ///
    /// # Panics
    ///
    /// If `kill` fails.
    pub fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args([format!("-{signal}"), id]).status().expect("kill is a standard tool");
        assert!(sent.success(), "the process takes signals");
    }

    /// Waits for the end of the process, and returns its result. The caller must have caused the end.
    ///
    /// # Panics
    ///
    /// If the process does not end in time.
    pub fn wait(mut self) -> Finished {
        Finished { status: self.process.wait(), output: self.process.output() }
    }

    /// Waits for the end of the process within the limits of `patience`, and returns its result.
    ///
    /// # Panics
    ///
    /// If the process exceeds a limit.
    pub fn wait_with(mut self, patience: Patience) -> Finished {
        Finished { status: self.process.wait_with(patience), output: self.process.output() }
    }

    /// Kills the process with SIGKILL, which has the same effect as a crash.
    ///
    /// # Panics
    ///
    /// If the system does not permit the signal.
    pub fn kill(mut self) {
        self.process.child.kill().expect("the process is ours");
        self.process.wait();
    }
}

/// Returns the result in a response to the request with this id.
///
/// # Errors
///
/// The error of an error response.
///
/// # Panics
///
/// If the response has an unexpected member, lacks a member, or has another id than `id`.
pub fn open_envelope(answer: &Value, id: &Value) -> Result<Value, Refusal> {
    let members: Vec<&str> = answer.as_object().expect("an answer is an object").keys().map(String::as_str).collect();
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    assert_eq!(&answer["id"], id, "{answer}");
    if let Some(error) = answer.get("error") {
        assert_eq!(members, ["error", "id", "jsonrpc"], "{answer}");
        let known = ["code", "data", "message"];
        let error = error.as_object().expect("an error is an object");
        assert!(error.keys().all(|member| known.contains(&member.as_str())), "{answer}");
        return Err(Refusal {
            code: error["code"].as_i64().expect("a code is an integer"),
            message: error["message"].as_str().expect("a message is text").to_owned(),
            data: error.get("data").cloned(),
        });
    }
    assert_eq!(members, ["id", "jsonrpc", "result"], "{answer}");
    Ok(answer["result"].clone())
}

/// Returns whether an error with this text has the expected and the given value in `data`.
fn has_details(method: &str, message: &str) -> bool {
    const TEXTS: [&str; 5] = [
        "CHAIN_ID incorrect",
        "Bech32 address is invalid",
        "invalid address",
        "To Addr checksum wrong",
        "Address size not appropriate",
    ];
    // This method has the text for a hash, and without details.
    let is_of_hash = method == "GetContractAddressFromTransactionID";
    (TEXTS.contains(&message) && !is_of_hash)
        || message.starts_with("Expected Nonce: ")
        || (message.starts_with("Nonce (") && message.contains("lower than current"))
}

/// Returns whether a text comes from the protocol layer.
fn is_protocol_text(message: &str) -> bool {
    const HEADS: [&str; 6] = [
        "JSON_PARSE_ERROR",
        "INVALID_JSON_REQUEST",
        "METHOD_NOT_FOUND",
        "INVALID_PARAMS",
        "INTERNAL_ERROR",
        "PROCEDURE_IS_METHOD",
    ];
    HEADS.iter().any(|head| message.starts_with(head))
}

/// A child process. Threads collect its output while it runs.
#[derive(Debug)]
struct Process {
    child: Child,
    output: Arc<Mutex<String>>,
    // Only the owner locks this mutex. The mutex makes a node shareable among threads.
    lines: Mutex<Receiver<String>>,
}

impl Process {
    fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the silica binary runs");
        let output = Arc::new(Mutex::new(String::new()));
        let (sender, lines) = channel();
        collect(child.stdout.take(), &output, sender.clone());
        collect(child.stderr.take(), &output, sender);
        Self { child, output, lines: Mutex::new(lines) }
    }

    /// Returns the address in the banner, or `None` if the process ends without a banner.
    fn wait_for_endpoint(&mut self) -> Option<SocketAddr> {
        let mut patience = Patience::with(self.child.id());
        loop {
            match self.next_line(Duration::from_millis(100)) {
                Ok(line) => {
                    if let Some(address) = endpoint_in(&line) {
                        return Some(address);
                    }
                }
                // The channel is disconnected when both streams are closed. The process ends at about this time.
                Err(RecvTimeoutError::Disconnected) if self.has_ended() => return None,
                Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(5)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(hang) = patience.check() {
                panic!("the node neither serves nor ends: {hang}\n{}", self.output());
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("the process is ours").is_some()
    }

    fn wait(&mut self) -> ExitStatus {
        self.wait_with(Patience::with(self.child.id()))
    }

    fn wait_with(&mut self, mut patience: Patience) -> ExitStatus {
        loop {
            if let Some(status) = self.child.try_wait().expect("the process is ours") {
                // The pipes can contain output from before the end.
                while self.next_line(PIPES).is_ok() {}
                return status;
            }
            if let Err(hang) = patience.check() {
                panic!("the process does not end: {hang}\n{}", self.output());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn next_line(&mut self, patience: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(patience)
    }

    fn output(&self) -> String {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Reads a stream to its end in a thread. Appends each line to the common text, and sends it to the channel.
fn collect(stream: Option<impl Read + Send + 'static>, output: &Arc<Mutex<String>>, lines: Sender<String>) {
    let Some(stream) = stream else { return };
    let output = Arc::clone(output);
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.push_str(&line);
            output.push('\n');
            drop(output);
            drop(lines.send(line));
        }
    });
}

/// Returns the address after `http://` in a line of the banner, or `None` in any other line.
fn endpoint_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && !".:[]".contains(c)).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}
