//! A separate `silica` process: its directory, its port, its output.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Read},
    net::SocketAddr,
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

/// Time for the output of an ended process to arrive through the pipes.
const PIPES: Duration = Duration::from_mins(1);

/// Calls in one request, where there are many.
const CALLS_PER_REQUEST: usize = 500;

/// A directory that is removed when the test that owns it has passed, and kept when it has failed.
#[derive(Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// Makes an empty directory of a new name.
    ///
    /// # Panics
    ///
    /// When the system's temporary directory is not writable.
    pub fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        loop {
            let name = format!("silica-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
            let path = env::temp_dir().join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Self(path),
                // It was kept by an earlier process, which had the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("the temporary directory is writable: {error}"),
            }
        }
    }

    /// Returns its path.
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

/// Returns the path of the `silica` binary: the one that `SILICA_BINARY` names, or else one that is built first, in the
/// profile of the tests.
///
/// # Panics
///
/// When it does not build.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| env::var_os("SILICA_BINARY").map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--package", "silica-node", "--bin", "silica", "--message-format", "json-render-diagnostics"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    // Cargo describes this package to its tests in variables. The build script of ring runs again when they change, and
    // everything above ring would be compiled again after each change between a build and a test.
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
        .filter_map(|message| message.get("executable")?.as_str().map(PathBuf::from))
        .next_back();
    executable.expect("cargo names the executable")
}

/// Arguments that start a node over a data directory, on a free port.
fn start_line<'a>(data: &'a Path, args: &[&'a str]) -> Vec<&'a str> {
    let data = data.to_str().expect("temporary paths are UTF-8");
    [&["--data-dir", data, "--listen", "127.0.0.1:0"], args].concat()
}

/// A command line of the binary, without a terminal and without the caller's settings.
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

/// The result of a finished process.
#[derive(Debug)]
pub struct Finished {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its whole output, both streams in the order in which they were read.
    pub output: String,
}

/// Runs a command line of the binary to its end.
///
/// # Panics
///
/// When it does not start, or hangs.
pub fn run(args: &[&str]) -> Finished {
    let mut process = Process::spawn(command(args));
    let status = process.wait();
    Finished { status, output: process.output() }
}

/// An error response of a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Numeric code.
    pub code: i64,
    /// Text.
    pub message: String,
    /// The member `data`: null from a method, absent from the protocol layer.
    pub data: Option<Value>,
}

/// A running node.
#[derive(Debug)]
pub struct Node {
    process: Process,
    address: SocketAddr,
    // Removed after the process is gone: fields are dropped in this order.
    directory: Option<Directory>,
}

impl Node {
    /// Starts a node with further arguments, in a new directory and on a free port.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn start(args: &[&str]) -> Self {
        let directory = Directory::new();
        let mut node = Self::start_in(&directory.path().join("data"), args);
        node.directory = Some(directory);
        node
    }

    /// Starts a node with further arguments over a given data directory.
    ///
    /// # Panics
    ///
    /// The node does not start; the message has its output.
    pub fn start_in(data: &Path, args: &[&str]) -> Self {
        Self::try_start_in(data, args)
            .unwrap_or_else(|end| panic!("the node does not start ({}):\n{}", end.status, end.output))
    }

    /// Starts an ephemeral node with further arguments.
    ///
    /// # Panics
    ///
    /// The node does not start; the message has its output.
    pub fn start_in_memory(args: &[&str]) -> Self {
        Self::start_with(command(&[&["--ephemeral", "--listen", "127.0.0.1:0"], args].concat()))
    }

    /// Starts a node with a command of the caller, which must make it listen on a free port.
    ///
    /// # Panics
    ///
    /// The node does not start; the message has its output.
    pub fn start_with(command: Command) -> Self {
        let mut process = Process::spawn(command);
        match process.wait_for_endpoint() {
            Some(address) => Self { process, address, directory: None },
            None => panic!("the node does not start ({}):\n{}", process.wait(), process.output()),
        }
    }

    /// Starts a node with further arguments over a given data directory, or returns the result of the ended process.
    ///
    /// # Errors
    ///
    /// The end of a process that stopped before it served.
    ///
    /// # Panics
    ///
    /// When it hangs before it serves.
    pub fn try_start_in(data: &Path, args: &[&str]) -> Result<Self, Finished> {
        let mut process = Process::spawn(command(&start_line(data, args)));
        match process.wait_for_endpoint() {
            Some(address) => Ok(Self { process, address, directory: None }),
            None => Err(Finished { status: process.wait(), output: process.output() }),
        }
    }

    /// Starts a node with a limit for the size of its files, in blocks of a half or a whole kilobyte, as the shell
    /// counts them. For the node, the limit has the effect of a full disk.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn start_with_small_files(data: &Path, blocks: u32, args: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        // The signal of the limit is ignored, so that writing fails instead.
        shell.args(["-c", "trap '' XFSZ; ulimit -S -f \"$0\"; exec \"$@\"", &blocks.to_string()]).arg(binary());
        Self::start_by(shell, &start_line(data, args))
    }

    /// Starts a node under another umask than the caller's.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn start_with_umask(umask: &str, data: &Path, args: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", "umask \"$0\"; exec \"$@\"", umask]).arg(binary());
        Self::start_by(shell, &start_line(data, args))
    }

    /// Starts a node through another program, with arguments that have it listen on a free port.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn start_by(starter: Command, args: &[&str]) -> Self {
        Self::start_with(with_surroundings(starter, args))
    }

    /// Sets or removes the limit, in bytes, for the files of a node that was [started](Self::start_with_small_files)
    /// with one.
    ///
    /// # Panics
    ///
    /// When the system has no `prlimit`.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let limit = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        self.limit(&format!("--fsize={limit}:"));
    }

    /// Limits the data memory of the process, in bytes. Above the limit, the system refuses memory, and the process
    /// ends.
    ///
    /// # Panics
    ///
    /// When the system has no `prlimit`.
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

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of the process.
    pub fn id(&self) -> u32 {
        self.process.child.id()
    }

    /// Returns its output.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Waits until the output contains these words, and returns the output.
    ///
    /// # Panics
    ///
    /// When it hangs before it writes them.
    pub fn wait_for(&self, words: &str) -> String {
        self.wait_until(words, |output| output.contains(words))
    }

    /// Waits until the output meets the condition, and returns the whole output. A line may arrive with a delay, and
    /// lines of one stream may overtake lines of the other.
    ///
    /// # Panics
    ///
    /// When it hangs before it has.
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

    /// Opens a connection.
    ///
    /// # Panics
    ///
    /// When it is refused.
    pub fn connect(&self) -> Connection {
        Connection::open(self.address).expect("the node accepts connections")
    }

    /// Posts a body over a new connection.
    ///
    /// # Panics
    ///
    /// When no answer comes.
    pub fn post(&self, body: impl AsRef<[u8]>) -> Answer {
        self.connect().post(body.as_ref()).expect("the node answers")
    }

    /// Posts a body and reads the JSON of the answer.
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

    /// Calls a method and parses the response strictly; an unknown member is a failure.
    ///
    /// # Errors
    ///
    /// The error in the response.
    ///
    /// # Panics
    ///
    /// If the response does not belong to this request.
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

    /// Calls a method that succeeds.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn result(&self, method: &str, params: &Value) -> Value {
        self.call(method, params).unwrap_or_else(|refusal| panic!("{method}{params} is refused: {refusal:?}"))
    }

    /// Calls a method that fails, and returns code and text of the error.
    ///
    /// # Panics
    ///
    /// If the method succeeds, or if the member `data` is not as documented. If the text of the reference does not name
    /// the expected and the received value, `data` has both. Otherwise `data` is as the reference writes it, null, or
    /// absent in an error of the protocol layer.
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

    /// Stops the node as an operator does, and returns its result.
    ///
    /// # Panics
    ///
    /// When it hangs.
    pub fn stop(self) -> Finished {
        self.interrupt("TERM")
    }

    /// Sends the named signal, waits for the end of the process, and returns its result.
    ///
    /// # Panics
    ///
    /// When it hangs.
    pub fn interrupt(self, signal: &str) -> Finished {
        self.signal(signal);
        self.wait()
    }

    /// Sends the named signal. The signal has no effect on a process that has ended.
    ///
    /// # Panics
    ///
    /// When the system refuses.
    pub fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args([format!("-{signal}"), id]).status().expect("kill is a standard tool");
        assert!(sent.success(), "the process takes signals");
    }

    /// Waits for the end of the process; the caller must have caused it.
    ///
    /// # Panics
    ///
    /// When it hangs.
    pub fn wait(mut self) -> Finished {
        Finished { status: self.process.wait(), output: self.process.output() }
    }

    /// Waits for the end of the process, within the limits of `patience`.
    ///
    /// # Panics
    ///
    /// When that is not long enough.
    pub fn wait_with(mut self, patience: Patience) -> Finished {
        Finished { status: self.process.wait_with(patience), output: self.process.output() }
    }

    /// Ends the process at once, as a crash would.
    ///
    /// # Panics
    ///
    /// When the system refuses.
    pub fn kill(mut self) {
        self.process.child.kill().expect("the process is ours");
        self.process.wait();
    }
}

/// Returns the result in a response to the request with this id.
///
/// # Errors
///
/// The error in the response.
///
/// # Panics
///
/// If the response has other members or another id.
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
    // There the text is about a hash.
    let is_of_hash = method == "GetContractAddressFromTransactionID";
    (TEXTS.contains(&message) && !is_of_hash)
        || message.starts_with("Expected Nonce: ")
        || (message.starts_with("Nonce (") && message.contains("lower than current"))
}

/// Whether a text is one of the protocol layer's.
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

/// A child whose output is collected while it runs.
#[derive(Debug)]
struct Process {
    child: Child,
    output: Arc<Mutex<String>>,
    // Only ever locked by its owner: the lock makes the node shareable among threads.
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

    /// Returns the address that the banner shows, or `None` when the process ends without one.
    fn wait_for_endpoint(&mut self) -> Option<SocketAddr> {
        let mut patience = Patience::with(self.child.id());
        loop {
            match self.next_line(Duration::from_millis(100)) {
                Ok(line) => {
                    if let Some(address) = endpoint_in(&line) {
                        return Some(address);
                    }
                }
                // Both ends of the channel are dropped when both streams are closed, that is when the process is gone.
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
                // Output from before the end may still be in the pipes.
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

/// Finds `http://ADDRESS` in a line of the banner.
fn endpoint_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && !".:[]".contains(c)).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}
