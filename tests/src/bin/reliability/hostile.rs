//! Attacks of hostile clients, one kind of attack after another. During each attack, other clients continue their work.
//!
//! During each attack, the memory of the node stays below a limit, and the node returns the right result or the right
//! error for every request. Other clients over a kept connection wait at most ten times as long as before the attack.
//! The test measures a wait in time of the node's own work, because the attackers use the same processors. It also
//! prints the wall-clock time.

use std::{
    collections::VecDeque,
    fmt, fs,
    io::{self, Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_protocol::{Address, Nonce};
use silica_tests::{
    Answer, Connection, Directory, Node, Wallet,
    node::command,
    patience::Patience,
    wallet::{FUNDS, GAS_PRICE, Payment},
};
use tungstenite::{Message, WebSocket, client, protocol::frame::coding::CloseCode};

use crate::{token, unread, watched::Watched};

/// A contract that emits an event of 2 MiB.
const SHOUT: &str = include_str!("../../../data/contracts/shout.scilla");

/// Limit of the resident memory of the node during an attack, in bytes above the memory of the idle process.
const MARGIN: u64 = 200 << 20;

/// Limit of the data memory of the process, in bytes above the data of the idle process. Above the limit, the system
/// refuses memory and the process ends. Data include stacks of threads and free memory of the allocator that is not
/// resident.
const DATA_MARGIN: u64 = 3 * MARGIN;

/// Number of blocks with a large event during the attack that uses them. At least the same number of such blocks is
/// made before the attack. Such blocks fill the caches of the record even without a hostile client: 20 blocks add 37
/// MiB, and 100 blocks add 38 MiB. So the caches of the idle process are full before the attack.
pub(crate) const SHOUTS: u64 = 20;

/// Time in which other clients call the node before an attack.
const CALM: Duration = Duration::from_secs(2);

/// Limit of the 99th percentile of response times during an attack, as a multiple of the percentile before the attack.
const SLOWER: u32 = 10;
/// The percentile before an attack counts as at least this time, so that a very fast machine does not fail the test.
const LEAST_CALM: Duration = Duration::from_millis(5);

/// Largest number of open sockets of the node: 900 client connections (the default limit), and 10 sockets for other
/// purposes.
const CONNECTIONS: usize = 900 + 10;

/// Limit of the 99th percentile over new connections, in time of the node's own work. A new connection can wait for a
/// slot.
const NEW_PATIENCE: Duration = Duration::from_mins(1);

/// Shortest time before the node disconnects a slow client that holds memory while other requests wait for memory. The
/// node measures in milliseconds, so its result can be 1 ms too short.
const CROWDED: Duration = Duration::from_millis(2_000 - 1);

/// Shortest delay of a subscriber that the node disconnects, as the sum of the delays of its latest reads.
const LATE: Duration = Duration::from_secs(1);

/// Time between two requests of a client.
const RHYTHM: Duration = Duration::from_millis(5);

/// Time after which an attacker gives up a request that the node does not read.
const MOMENT: Duration = Duration::from_secs(1);

/// Default limit of a request body, in bytes.
const BODY: usize = 5 << 20;
/// Default limit of calls in a batch.
const BATCH: usize = 1_000;

/// Largest response, in bytes, that needs no part of the memory budget.
const SMALL_ANSWER: usize = 64 << 10;

/// Levels of nesting in hostile JSON.
const DEPTH: usize = 100_000;

/// One kind of attack.
struct Attack {
    name: &'static str,
    /// Attacks the node until `Target::is_over`.
    act: fn(&Target<'_>),
    /// Number of blocks with a large event that are made before the attack, in addition to one such block before each
    /// attack.
    shouts: u64,
}

const ATTACKS: [Attack; 13] = [
    Attack { name: "slow heads", act: slow_heads, shouts: 0 },
    Attack { name: "half bodies", act: half_bodies, shouts: 0 },
    Attack { name: "half messages", act: unread::half_messages, shouts: 0 },
    Attack { name: "idle sockets", act: idle_sockets, shouts: 0 },
    Attack { name: "bodies and batches at the limit", act: limits, shouts: 0 },
    Attack { name: "deep nesting", act: depth, shouts: 0 },
    Attack { name: "pings without reading", act: pings, shouts: 0 },
    Attack { name: "costly questions", act: costly_questions, shouts: 0 },
    Attack { name: "large responses that the client does not read", act: unread::answers, shouts: 0 },
    Attack { name: "batches over HTTP without reads of responses", act: unread::batches, shouts: 0 },
    Attack {
        name: "batches over WebSocket without reads of responses",
        act: unread::batches_over_websocket,
        shouts: 0,
    },
    Attack { name: "small responses that the client does not read", act: unread::small_answers, shouts: 0 },
    Attack { name: "subscribers that do not read", act: subscribers, shouts: SHOUTS },
];

/// Runs every kind of attack for `seconds` each.
///
/// # Panics
///
/// If a response is wrong, if the node exceeds a limit of memory or time, or if it does not stop without an error.
pub(crate) fn run(seconds: u64) {
    println!("{} attacks of {seconds} s each", ATTACKS.len());
    let missed: Vec<String> = ATTACKS
        .iter()
        .flat_map(|attack| withstand(attack.name, attack.act, attack.shouts, Duration::from_secs(seconds)))
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    println!("{} attacks, no wrong answer, each within its bounds", ATTACKS.len());
}

/// The target of an attack.
pub(crate) struct Target<'a> {
    pub(crate) node: &'a Node,
    /// Address of a contract that emits large events.
    shout: Address,
    /// Number of large events before the attack.
    shouts: u64,
    /// Address of a contract with a state of about 2 MB.
    pub(crate) hoard: Address,
    /// Number of a block with 1,000 transactions.
    pub(crate) crowd: String,
    /// Hash of a transaction with an event of 2 MiB.
    pub(crate) shouted: String,
    until: Instant,
}

impl Target<'_> {
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    pub(crate) fn wait(&self) {
        thread::sleep(self.until.saturating_duration_since(Instant::now()));
    }

    /// Opens a connection with a timeout of one second.
    fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.node.address(), MOMENT)?;
        stream.set_write_timeout(Some(MOMENT))?;
        stream.set_read_timeout(Some(MOMENT))?;
        Ok(stream)
    }

    /// Opens a connection, and sends some bytes. The caller does not have to read.
    pub(crate) fn connect_and_send(&self, bytes: &[u8]) -> io::Result<TcpStream> {
        let mut stream = self.connect()?;
        stream.write_all(bytes)?;
        Ok(stream)
    }

    pub(crate) fn subscriber(&self) -> Option<WebSocket<TcpStream>> {
        let stream = TcpStream::connect(self.node.address()).ok()?;
        stream.set_read_timeout(Some(NEW_PATIENCE)).ok()?;
        self.shake_hands(stream)
    }

    fn watched_subscriber(&self) -> Option<WebSocket<Watched>> {
        let stream = TcpStream::connect(self.node.address()).ok()?;
        self.shake_hands(Watched::new(stream, NEW_PATIENCE).ok()?)
    }

    fn shake_hands<S: Read + Write>(&self, stream: S) -> Option<WebSocket<S>> {
        client(format!("ws://{}/", self.node.address()), stream).ok().map(|(socket, _)| socket)
    }

    /// Makes a block with the large event of this number, and returns the hash of its transaction. The first event of
    /// an attack has the number 1.
    pub(crate) fn shout(&self, number: u64) -> String {
        let call = self.shout_call(number);
        include(self.node, &call);
        let hash = call.hash();
        let shouted = self.node.result("GetTransaction", &json!([hash]));
        assert_eq!(shouted.pointer("/receipt/success"), Some(&json!(true)), "a shout fails: {shouted:.200}");
        hash
    }

    /// Returns the call that emits the large event of this number.
    pub(crate) fn shout_call(&self, number: u64) -> Payment {
        let mut call = Wallet::funded(0).payment(1 + self.shouts + number, self.shout, 0);
        (call.gas_limit, call.data) = (300_000, json!({"_tag": "Shout", "params": []}).to_string());
        call
    }

    /// Returns the message that subscribes to the large events of the contract.
    pub(crate) fn subscription(&self) -> String {
        json!({"query": "EventLog", "addresses": [format!("0x{}", self.shout)]}).to_string()
    }
}

/// Makes a block with one transaction.
pub(crate) fn include(node: &Node, payment: &Payment) {
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
}

/// Runs `act` on several threads at once, each with its number.
pub(crate) fn at_once(threads: usize, act: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for number in 0..threads {
            let act = &act;
            scope.spawn(move || act(number));
        }
    });
}

/// Sets the flag when this value is dropped, also after a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts a node, makes `shouts` + 1 blocks with a large event, and runs the attack `act` while other clients call the
/// node. Prints measurements, and returns the limits that the node exceeded.
///
/// # Panics
///
/// If a response is wrong, if the node ends early, or if it does not stop without an error.
pub(crate) fn withstand(name: &str, act: impl Fn(&Target<'_>), shouts: u64, time: Duration) -> Vec<String> {
    // A vacuous block has no transactions. The DS epoch is so long that the test makes no vacuous block.
    let directory = Directory::new();
    let data = directory.path().join("data");
    let data = data.to_str().expect("temporary paths are UTF-8");
    let mut command = command(&["--data-dir", data, "--listen", "127.0.0.1:0", "--block-mode", "manual"]);
    // Without this setting, memory that the allocator reserves and does not use counts as data of the process.
    command.args(["--blocks-per-ds-epoch", "1000000"]).env("MIMALLOC_ARENA_EAGER_COMMIT", "0");
    let node = Node::start_with(command);
    let mut target = prepare(&node, shouts);
    let Observed { waits: [calm, _], .. } = observe(&node, || thread::sleep(CALM));
    // Reset the peak memory, which includes the preparation.
    fs::write(format!("/proc/{}/clear_refs", node.id()), "5").expect("the process is our own");
    let idle = memory(&node, "VmRSS");
    node.limit_data(memory(&node, "VmData") + DATA_MARGIN);
    target.until = Instant::now() + time;
    let Observed { waits: [kept, new], connections } = observe(&node, || act(&target));
    let (peak, data) = (memory(&node, "VmHWM"), memory(&node, "VmData"));
    let end = node.stop();
    assert!(end.status.success() && !end.output.contains("panicked"), "{name}:\n{}", end.output);
    println!(
        "{name}: {} MiB idle, {} MiB at most ({} MiB of data); {connections} connections at most\n  before {calm}\n  kept connection {kept}\n  new \
         connections {new}",
        idle >> 20,
        peak >> 20,
        data >> 20,
    );
    let bound = calm.spent(99).max(LEAST_CALM) * SLOWER;
    let bounds = [
        (peak < idle + MARGIN, format!("the node took {} MiB, and {} MiB before", peak >> 20, idle >> 20)),
        (connections <= CONNECTIONS, format!("the node had {connections} connections")),
        (kept.spent(99) <= bound, format!("callers waited for {:?}, not {bound:?}", kept.spent(99))),
        (new.spent(99) <= NEW_PATIENCE, format!("callers over new connections waited for {:?}", new.spent(99))),
    ];
    bounds.into_iter().filter(|(is_kept, _)| !is_kept).map(|(_, missed)| format!("{name}: {missed}")).collect()
}

/// Measurements during an attack.
struct Observed {
    /// Response times over a kept connection, and over new connections.
    waits: [Waits; 2],
    connections: usize,
}

/// Sends requests of normal clients during `act`, and measures them.
fn observe(node: &Node, act: impl FnOnce()) -> Observed {
    let is_over = AtomicBool::new(false);
    let spent = Spent::default();
    thread::scope(|scope| {
        let watch = scope.spawn(|| most_connections(node, &spent, &is_over));
        let callers = [true, false].map(|keeps| {
            let (spent, is_over) = (&spent, &is_over);
            scope.spawn(move || call(node, keeps, spent, is_over))
        });
        let over = Over(&is_over);
        act();
        drop(over);
        let waits = callers.map(|caller| caller.join().expect("the callers are answered"));
        Observed { waits, connections: watch.join().expect("the node runs") }
    })
}

/// Number of map entries in the state of the large contract.
const HOARD: usize = 40_000;

/// Number of transactions in the large block.
const CROWD: u64 = 1_000;

/// Makes blocks and contracts with large responses, and `shouts` + 1 blocks with a large event. A subscriber reads the
/// events.
fn prepare(node: &Node, shouts: u64) -> Target<'_> {
    let wallet = Wallet::funded(0);
    let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]);
    let mut deployment = wallet.payment(1, Address::ZERO, 0);
    (deployment.gas_limit, deployment.code, deployment.data) = (25_000, SHOUT.to_owned(), init.to_string());
    include(node, &deployment);
    include(node, &token::transaction(2, 1));
    let [shout, hoard] = [0, 2].map(|sender| Address::of_contract(&Wallet::funded(sender).address(), Nonce::new(0)));
    let entries: Vec<_> = (0..HOARD).map(|number| json!({"key": format!("0x{number:040x}"), "val": "1"})).collect();
    let edited = node.call("silica_setContractField", &json!([hoard.to_string(), "balances", [], entries]));
    edited.expect("the field is a map");
    let (sender, calls) = (Wallet::funded(3), 1..=CROWD);
    let calls: Vec<_> = calls
        .map(|nonce| ("CreateTransaction", json!([sender.payment(nonce, Wallet::stranger(1).address(), 1).json()])))
        .collect();
    for answer in node.call_all(&calls) {
        answer.expect("it is admitted");
    }
    node.result("IncreaseBlocknum", &json!([1]));
    let blocks = node.result("GetNumTxBlocks", &json!([]));
    let blocks: u64 = blocks.as_str().and_then(|number| number.parse().ok()).expect("it is a number");
    let crowd = blocks.saturating_sub(1).to_string();
    let crowded = node.result("GetTxBlock", &json!([crowd]));
    assert_eq!(crowded.pointer("/header/NumTxns"), Some(&json!(CROWD)), "{crowded}");
    let mut target = Target { node, shout, shouts: 0, hoard, crowd, shouted: String::new(), until: Instant::now() };
    let mut reader = target.subscriber().expect("there are few subscribers");
    reader.send(Message::text(target.subscription())).expect("the node accepts it");
    assert!(reader.read().is_ok_and(|acknowledged| acknowledged.is_text()), "it is acknowledged");
    // The attacks need at least one block with a large event.
    for _ in 0..=shouts {
        target.shouted = target.shout(1);
        target.shouts += 1;
        let event = loop {
            let message = reader.read().expect("the node sends the event");
            if message.is_text() {
                break message;
            }
        };
        assert!(event.len() > 2 << 20, "the event is whole");
    }
    target
}

/// Returns a value of `/proc/PID/status`, in bytes.
fn memory(node: &Node, figure: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", node.id())).expect("the node runs");
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.expect("the system tells the memory of a process") << 10
}

/// The time of the node's own work, in milliseconds.
#[derive(Default)]
struct Spent(AtomicU64);

impl Spent {
    fn set(&self, time: Duration) {
        self.0.store(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Counts the open sockets of the node, and updates the time of its work, until `is_over` is set. Returns the largest
/// count.
fn most_connections(node: &Node, spent: &Spent, is_over: &AtomicBool) -> usize {
    let mut patience = Patience::limited(node.id(), Duration::MAX, Duration::MAX);
    let directory = format!("/proc/{}/fd", node.id());
    let is_socket =
        |file: &fs::DirEntry| fs::read_link(file.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"));
    let mut most = 0;
    while !is_over.load(Ordering::Relaxed) {
        let open = fs::read_dir(&directory).expect("the node runs");
        most = most.max(open.filter(|file| file.as_ref().is_ok_and(is_socket)).count());
        patience.check().expect("there is no limit");
        spent.set(patience.spent());
        thread::sleep(RHYTHM * 20);
    }
    most
}

/// The response times of a client.
#[derive(Default)]
struct Waits {
    /// Response times in wall-clock time.
    passed: Vec<Duration>,
    /// Response times in time of the node's own work.
    spent: Vec<Duration>,
}

impl Waits {
    fn add(&mut self, passed: Duration, spent: Duration) {
        self.passed.push(passed);
        self.spent.push(spent.min(passed));
    }

    fn spent(&self, percent: usize) -> Duration {
        percentile(&self.spent, percent)
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, slowest] = [50, 99, 100].map(|percent| percentile(&self.passed, percent));
        write!(f, "{} answers, p50 {p50:.1?}, p99 {p99:.1?}, slowest {slowest:.1?}", self.passed.len())
    }
}

fn percentile(waits: &[Duration], percent: usize) -> Duration {
    let mut waits = waits.to_vec();
    waits.sort_unstable();
    waits.get(waits.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
}

/// Sends valid requests repeatedly until the attack is over, and returns the response times.
fn call(node: &Node, keeps: bool, spent: &Spent, is_over: &AtomicBool) -> Waits {
    let questions = [
        ("GetNetworkId", json!([]), json!("222")),
        ("GetBalance", json!([Wallet::funded(8).hex()]), json!({"balance": FUNDS.to_string(), "nonce": 0})),
        ("GetMinimumGasPrice", json!([]), json!(GAS_PRICE.to_string())),
    ];
    let mut kept = None;
    let mut waits = Waits::default();
    for (method, params, result) in questions.iter().cycle() {
        let (begun, spent_before) = (Instant::now(), spent.get());
        let mut connection =
            kept.take().unwrap_or_else(|| Connection::open(node.address()).expect("it can be reached"));
        let request = json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params}).to_string();
        let answer = connection.post(request.as_bytes()).expect("callers are answered");
        waits.add(begun.elapsed(), spent.get().saturating_sub(spent_before));
        let answer: Value = serde_json::from_slice(&answer.body).expect("answers are JSON");
        assert_eq!(answer, json!({"id": 1, "jsonrpc": "2.0", "result": result}));
        kept = keeps.then_some(connection);
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep(RHYTHM);
    }
    waits
}

/// Returns the first 200 characters of a response, for an error text.
fn beginning(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).chars().take(200).collect()
}

pub(crate) fn post(length: usize, body: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

pub(crate) fn request(method: &str, params: &Value) -> String {
    json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// Sends heads of requests, one byte at a time.
fn slow_heads(target: &Target<'_>) {
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ";
    let mut connections = Vec::new();
    while !target.is_over() {
        connections.retain_mut(|stream: &mut TcpStream| stream.write_all(b"x").is_ok());
        let missing = 500_usize.saturating_sub(connections.len());
        connections.extend((0..missing).map_while(|_| target.connect_and_send(head).ok()));
        thread::sleep(Duration::from_millis(100));
    }
}

/// Sends the first half of large bodies.
fn half_bodies(target: &Target<'_>) {
    at_once(200, |_| {
        let bytes = post(BODY, &" ".repeat(BODY / 2));
        while !target.is_over() {
            let stream = target.connect_and_send(&bytes);
            thread::sleep(MOMENT);
            if stream.is_ok() {
                target.wait();
            }
        }
    });
}

/// Opens thousands of connections, and sends nothing.
fn idle_sockets(target: &Target<'_>) {
    let mut connections = VecDeque::new();
    while !target.is_over() {
        for _ in 0..100 {
            connections.extend(target.connect().ok());
        }
        let too_many = connections.len().saturating_sub(3_000);
        connections.drain(..too_many);
        thread::sleep(Duration::from_millis(50));
    }
}

/// Returns whether status and body of a response are correct.
type Judge<'a> = Box<dyn Fn(u16, &Value) -> bool + Sync + 'a>;

/// A request with its expected response.
struct Demand<'a> {
    body: String,
    /// Whether the request or its response needs a part of the memory budget.
    takes_memory: bool,
    is_right: Judge<'a>,
}

/// The numbers of served, refused and disconnected requests.
#[derive(Default)]
struct Tally {
    right: AtomicU64,
    refused: AtomicU64,
    cut: AtomicU64,
}

impl Tally {
    /// Sends a request over a new connection, and returns whether it was served. If the memory budget is too small for
    /// all requests, the node disconnects slow clients and serves all other clients.
    fn ask(&self, target: &Target<'_>, demand: &Demand<'_>) -> bool {
        let begun = Instant::now();
        let mut connection = Connection::open(target.node.address()).expect("it can be reached");
        let (count, is_served) = match connection.post(demand.body.as_bytes()) {
            Err(error) => {
                let (passed, body) = (begun.elapsed(), &demand.body);
                let may_be = demand.takes_memory && passed >= CROWDED;
                assert!(may_be && is_end(&error), "not answered after {passed:?}: {error}\n{body:.200}");
                (&self.cut, false)
            }
            Ok(answer) if answer.status == 503 => (&self.refused, false),
            Ok(answer) => {
                let json = serde_json::from_slice(&answer.body).unwrap_or_default();
                assert!((demand.is_right)(answer.status, &json), "{}: {}", answer.status, beginning(&answer));
                (&self.right, true)
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
        is_served
    }

    /// Repeats a request after an attack until the node returns the expected response.
    fn serve(&self, target: &Target<'_>, demand: &Demand<'_>) {
        let mut patience = Patience::with(target.node.id());
        while !self.ask(target, demand) {
            if let Err(hang) = patience.check() {
                panic!("the node still refuses the request: {hang}\n{:.200}", demand.body);
            }
            thread::sleep(RHYTHM);
        }
    }

    fn print(&self) {
        let [right, refused, cut] = [&self.right, &self.refused, &self.cut].map(|count| count.load(Ordering::Relaxed));
        println!("  {right} served, {refused} refused for lack of memory, {cut} cut off");
    }
}

/// Returns whether the node closed the connection.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// Sends bodies and batches at the limits, and slightly above them.
fn limits(target: &Target<'_>) {
    let call = request("GetNetworkId", &json!([]));
    let full = |bytes: usize| format!("{call}{}", " ".repeat(bytes - call.len()));
    let batch = |calls: usize| format!("[{}]", vec![call.as_str(); calls].join(","));
    let noise = format!("[{}]", vec!["1"; BATCH].join(","));
    let large = format!("[{}]", vec![request("GetLatestTxBlock", &json!([])); BATCH].join(","));
    let large = post(large.len(), &large);
    let demand = |body: String, takes_memory, is_right: fn(u16, &Value) -> bool| {
        let is_right: Judge<'_> = Box::new(is_right);
        Demand { body, takes_memory, is_right }
    };
    let demands = [
        demand(full(BODY), true, |status, answer| status == 200 && is_result(answer)),
        // The node keeps no part of this body.
        demand(full(BODY + 1), false, |status, _| status == 413),
        demand(batch(BATCH), true, |status, answer| status == 200 && is_full(answer, is_result)),
        demand(batch(BATCH + 1), true, |status, answer| status == 200 && is_refused(answer)),
        demand(noise, true, |status, answer| status == 200 && is_full(answer, is_refused)),
    ];
    let tally = Tally::default();
    at_once(12, |number| {
        if number >= 8 {
            // The client requests responses of 1 MB, and closes the connection without reading.
            while !target.is_over() {
                let stream = target.connect_and_send(&large);
                thread::sleep(MOMENT);
                drop(stream);
            }
            return;
        }
        for demand in demands.iter().cycle().skip(number).take_while(|_| !target.is_over()) {
            tally.ask(target, demand);
        }
    });
    for demand in &demands {
        tally.serve(target, demand);
    }
    tally.print();
}

/// Sends requests with costly responses: traces, the history of an account, the state of a contract. Some clients close
/// their connection without reading.
fn costly_questions(target: &Target<'_>) {
    let tokens: Vec<_> = (1..=50).map(|nonce| token::transaction(1, nonce)).collect();
    for payment in &tokens {
        target.node.result("CreateTransaction", &json!([payment.json()]));
        target.node.result("IncreaseBlocknum", &json!([1]));
    }
    // The trace needs the state before its block, and only the states of the newest blocks exist.
    let hash = target.shout(1);
    let deployer = Wallet::funded(1).address();
    let contract = Address::of_contract(&deployer, Nonce::new(0)).to_string();
    let questions = [
        ("silica_traceTransaction", json!([hash])),
        ("silica_traceTransaction", json!([tokens.last().map(Payment::hash)])),
        ("silica_getTransactionsForAddress", json!([deployer.to_string()])),
        ("silica_getSmartContractStatePage", json!([contract, "balances"])),
        ("GetSmartContractState", json!([contract])),
    ];
    // The chain does not change after this line.
    let answers = questions.each_ref().map(|(method, params)| target.node.result(method, params));
    let is_history = |answer: &Value| answer.pointer("/transactions/49").is_some();
    assert!(answers.iter().any(is_history), "fifty transactions make a history");
    let demands = questions.iter().zip(&answers).map(|((method, params), expected)| Demand {
        body: request(method, params),
        takes_memory: expected.to_string().len() > SMALL_ANSWER,
        is_right: Box::new(move |status, answer| status == 200 && answer.get("result") == Some(expected)),
    });
    let demands: Vec<_> = demands.collect();
    let tally = Tally::default();
    at_once(12, |number| {
        for demand in demands.iter().cycle().skip(number).take_while(|_| !target.is_over()) {
            if number >= 8 {
                let stream = target.connect_and_send(&post(demand.body.len(), &demand.body));
                thread::sleep(MOMENT / 10);
                drop(stream);
            } else {
                tally.ask(target, demand);
            }
        }
    });
    for demand in &demands {
        tally.serve(target, demand);
    }
    tally.print();
}

fn is_result(answer: &Value) -> bool {
    answer.get("result") == Some(&json!("222"))
}

fn is_refused(answer: &Value) -> bool {
    answer.pointer("/error/code") == Some(&json!(-32600))
}

/// Returns whether each call of a full batch has a correct response.
fn is_full(answer: &Value, is_right: fn(&Value) -> bool) -> bool {
    answer.as_array().is_some_and(|answers| answers.len() == BATCH && answers.iter().all(is_right))
}

/// Sends JSON with deep nesting. A recursive parser would overflow its stack.
fn depth(target: &Target<'_>) {
    let open = "[".repeat(DEPTH);
    let nested = format!("{open}{}", "]".repeat(DEPTH));
    let objects = r#"{"a":"#.repeat(DEPTH);
    let bodies = [open, objects, request("GetBalance", &json!(["@"])).replace("\"@\"", &nested), nested];
    at_once(4, |_| {
        let mut connection = Connection::open(target.node.address()).expect("it can be reached");
        let mut subscriber = target.subscriber().expect("there are few subscribers");
        for body in bodies.iter().cycle().take_while(|_| !target.is_over()) {
            let answer = connection.post(body.as_bytes()).expect("it answers");
            let text = String::from_utf8_lossy(&answer.body);
            assert!(answer.status == 200 && text.contains("\"error\":"), "{}: {}", answer.status, beginning(&answer));
            if body.len() < 256 << 10 {
                subscriber.send(Message::text(body.as_str())).expect("it listens");
                assert!(subscriber.read().is_ok_and(|answer| answer.is_text()), "it answers");
            }
        }
    });
}

/// Connects subscribers that send pings and do not read the replies.
fn pings(target: &Target<'_>) {
    // A ping with a mask of zeros. Clients have to mask their messages.
    let ping = [[0x89, 0xfd].as_slice(), &[0; 4 + 125]].concat().repeat(500);
    at_once(100, |_| {
        while !target.is_over() {
            let Some(subscriber) = target.subscriber() else { continue };
            let mut stream = subscriber.get_ref();
            drop(stream.set_write_timeout(Some(MOMENT)));
            let is_open = |sent: io::Result<()>| match sent {
                Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
                Ok(()) => true,
            };
            while !target.is_over() && is_open(stream.write_all(&ping)) {}
        }
    });
}

/// Connects subscribers that do not read, while the node makes blocks with an event of 2 MiB. One more subscriber
/// reads. This subscriber gets all events, unless it reads so late that the node disconnects it.
fn subscribers(target: &Target<'_>) {
    let query = target.subscription();
    let subscribe = || {
        let mut subscriber = target.subscriber()?;
        subscriber.send(Message::text(query.as_str())).ok()?;
        Some(subscriber)
    };
    let silent: Vec<_> = (0..100).map_while(|_| subscribe()).collect();
    assert_eq!(silent.len(), 100, "there are places for them");
    let mut reader = target.watched_subscriber().expect("there is a place for it");
    reader.send(Message::text(query.as_str())).expect("the node reads it");
    let acknowledged = reader.read().expect("it is acknowledged");
    assert_eq!(acknowledged, Message::text(query.as_str()));
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut received = 0;
            loop {
                match reader.read().expect("a reading client gets a notification") {
                    Message::Text(text) if text.contains("\"Shout\"") => {
                        assert!(text.len() > 2 << 20, "it gets all notifications");
                        received += 1;
                    }
                    // The last block has no large event.
                    Message::Text(_) => return (received, None),
                    Message::Close(Some(frame)) if frame.code == CloseCode::Again => {
                        return (received, Some(reader.get_ref().late()));
                    }
                    Message::Ping(_) | Message::Pong(_) => {}
                    other @ (Message::Binary(_) | Message::Close(_) | Message::Frame(_)) => {
                        panic!("{other:?} instead of a text")
                    }
                }
            }
        });
        let mut blocks = 0;
        // At least five blocks, however long the preparation took.
        while blocks < 5 || (blocks < SHOUTS && !target.is_over()) {
            blocks += 1;
            target.shout(blocks);
        }
        target.wait();
        target.node.result("IncreaseBlocknum", &json!([1]));
        let (received, cut) = reader.join().expect("the reader gets a notification");
        match cut {
            None => {
                println!("  {blocks} blocks, none missed");
                assert_eq!(received, blocks, "it gets a notification for each block");
            }
            Some(late) => {
                println!("  {blocks} blocks, {received} notified, then disconnected for a delay of {late:.1?}");
                assert!(late >= LATE, "a reading client gets a notification");
                assert!(0 < received && received < blocks, "it gets notifications while it reads");
            }
        }
    });
    drop(silent);
}
