//! Clients that want to do harm, one kind after the other, while others go on with their work.
//!
//! Whatever they do, the memory of the node stays below a bound, and everybody who asks for what can be had gets the
//! right answer. How long the others have to wait is printed; only what nobody would wait for is a failure, as far as the
//! node had the time to answer: what the machine is busy with besides is not held against it.

use std::{
    collections::VecDeque,
    fs,
    io::{self, Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_protocol::{Address, Nonce};
use silica_tests::{
    Answer, Connection, Node, Wallet,
    patience::Patience,
    wallet::{FUNDS, GAS_PRICE, Payment},
};
use tungstenite::{Message, WebSocket, client, protocol::frame::coding::CloseCode};

use crate::{token, watched::Watched};

/// Emits an event of two megabytes.
const SHOUT: &str = include_str!("../../../data/contracts/shout.scilla");

/// Bytes of memory that the node may take, whoever comes.
const MEMORY: u64 = 1 << 30;

/// Connections that the node may have open: those of clients, unless the operator says otherwise, and those it listens on.
const CONNECTIONS: usize = 900 + 10;

/// Time of the node that one caller in a hundred may have to wait, over a connection that it keeps and over a new one.
const KEPT_PATIENCE: Duration = Duration::from_secs(10);
const NEW_PATIENCE: Duration = Duration::from_mins(1);

/// Time for which the node waits for a client at least that keeps memory from others. It reckons in milliseconds, and may
/// be wrong by one.
const CROWDED: Duration = Duration::from_millis(2_000 - 1);

/// Of that, the time at least for which a subscriber that is cut off was not reading; it may have read what was left for the
/// rest.
const LATE: Duration = Duration::from_secs(1);

/// Time between two questions of a caller.
const RHYTHM: Duration = Duration::from_millis(5);

/// Time after which an attacker gives up what the node does not take.
const MOMENT: Duration = Duration::from_secs(1);

/// Largest body of a request, and most calls of a batch, unless the operator says otherwise.
const BODY: usize = 5 << 20;
const BATCH: usize = 50_000;

/// Bytes of an answer that takes none of the memory that others may wait for.
const SMALL_ANSWER: usize = 64 << 10;

/// Levels of nesting in JSON that nobody means well with.
const DEPTH: usize = 100_000;

/// One kind of harm.
struct Attack {
    name: &'static str,
    /// Does harm until it is over.
    act: fn(&Target<'_>),
}

const ATTACKS: [Attack; 9] = [
    Attack { name: "slow heads", act: slow_heads },
    Attack { name: "half bodies", act: half_bodies },
    Attack { name: "idle sockets", act: idle_sockets },
    Attack { name: "bodies and batches at the limit", act: limits },
    Attack { name: "deep nesting", act: depth },
    Attack { name: "pings without reading", act: pings },
    Attack { name: "costly questions", act: costly_questions },
    Attack { name: "large answers that nobody reads", act: unread_answers },
    Attack { name: "subscribers that do not read", act: subscribers },
];

/// Does every kind of harm for so many seconds.
///
/// # Panics
///
/// At the first wrong answer, and when the node takes too much memory or too much time, or does not stop as it should.
pub(crate) fn run(seconds: u64) {
    println!("{} attacks of {seconds} s each", ATTACKS.len());
    for attack in &ATTACKS {
        println!("{}: {}", attack.name, withstand(attack, Duration::from_secs(seconds)));
    }
    println!("{} attacks, no wrong answer, never more than {} MB", ATTACKS.len(), MEMORY >> 20);
}

/// What is attacked.
struct Target<'a> {
    node: &'a Node,
    /// A contract that shouts.
    shout: Address,
    until: Instant,
}

impl Target<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn wait(&self) {
        thread::sleep(self.until.saturating_duration_since(Instant::now()));
    }

    /// A connection that waits for nothing for long.
    fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.node.address(), MOMENT)?;
        stream.set_write_timeout(Some(MOMENT))?;
        stream.set_read_timeout(Some(MOMENT))?;
        Ok(stream)
    }

    /// A connection that sends some bytes and reads nothing.
    fn connect_and_send(&self, bytes: &[u8]) -> io::Result<TcpStream> {
        let mut stream = self.connect()?;
        stream.write_all(bytes)?;
        Ok(stream)
    }

    fn subscriber(&self) -> Option<WebSocket<TcpStream>> {
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

    /// Makes a block with a shout, and returns its hash.
    fn shout(&self, block: u64) -> String {
        let mut call = Wallet::funded(0).payment(2 + block, self.shout, 0);
        (call.gas_limit, call.data) = (300_000, json!({"_tag": "Shout", "params": []}).to_string());
        self.node.result("CreateTransaction", &json!([call.json()]));
        self.node.result("IncreaseBlocknum", &json!([1]));
        let hash = call.hash();
        let shouted = self.node.result("GetTransaction", &json!([hash]));
        assert_eq!(shouted.pointer("/receipt/success"), Some(&json!(true)), "a shout fails: {shouted}");
        hash
    }
}

/// Does something from so many threads at once.
fn at_once(threads: usize, act: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for number in 0..threads {
            let act = &act;
            scope.spawn(move || act(number));
        }
    });
}

/// Says that it is over when it is dropped, in whichever way.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts a node and lets it be attacked, while others ask it. Returns how it took it.
fn withstand(attack: &Attack, time: Duration) -> String {
    // The last block of a DS epoch takes no transactions; there is none in this one.
    let node = Node::start(&["--block-mode", "manual", "--blocks-per-ds-epoch", "1000000"]);
    let shout = deploy(&node);
    let before = memory(&node, "VmRSS");
    let target = Target { node: &node, shout, until: Instant::now() + time };
    let is_over = AtomicBool::new(false);
    let spent = Spent::default();
    let (waits, connections) = thread::scope(|scope| {
        let watch = scope.spawn(|| most_connections(&node, &spent, &is_over));
        let callers = [true, false].map(|keeps| {
            let (node, spent, is_over) = (&node, &spent, &is_over);
            scope.spawn(move || call(node, keeps, spent, is_over))
        });
        let over = Over(&is_over);
        (attack.act)(&target);
        drop(over);
        let waits = callers.map(|caller| caller.join().expect("the callers are answered"));
        (waits, watch.join().expect("the node runs"))
    });
    let peak = memory(&node, "VmHWM");
    let kinds =
        ["over a connection that is kept", "over new ones"].into_iter().zip(waits).zip([KEPT_PATIENCE, NEW_PATIENCE]);
    let words: Vec<String> = kinds.map(|((kind, waits), patience)| waits.judge(kind, patience)).collect();
    assert!(peak < MEMORY, "{}: the node took {} MB", attack.name, peak >> 20);
    assert!(connections <= CONNECTIONS, "{}: the node had {connections} connections", attack.name);
    let end = node.stop();
    assert!(end.status.success() && !end.output.contains("panicked"), "{}:\n{}", attack.name, end.output);
    let (before, peak, words) = (before >> 20, peak >> 20, words.join("; "));
    format!("{before} MB before, {peak} MB at most; {connections} connections at most; {words}")
}

fn deploy(node: &Node) -> Address {
    let wallet = Wallet::funded(0);
    let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]);
    let mut deployment = wallet.payment(1, Address::ZERO, 0);
    (deployment.gas_limit, deployment.code, deployment.data) = (25_000, SHOUT.to_owned(), init.to_string());
    node.result("CreateTransaction", &json!([deployment.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    Address::of_contract(&wallet.address(), Nonce::new(0))
}

/// A figure of the process, in bytes.
fn memory(node: &Node, figure: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", node.id())).expect("the node runs");
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.expect("the system tells the memory of a process") << 10
}

/// The time that the node has had, in milliseconds.
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

/// Watches until it is over how many sockets the node has open, and what time it has.
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

/// How long a caller waited for each answer.
#[derive(Default)]
struct Waits {
    /// By the clock on the wall.
    passed: Vec<Duration>,
    /// As far as the node had the time to answer.
    spent: Vec<Duration>,
}

impl Waits {
    fn add(&mut self, passed: Duration, spent: Duration) {
        self.passed.push(passed);
        self.spent.push(spent.min(passed));
    }

    fn judge(mut self, kind: &str, patience: Duration) -> String {
        let late = percentile(&mut self.spent, 99);
        assert!(late < patience, "callers {kind} waited for {late:?}");
        let [p50, p99, slowest] = [50, 99, 100].map(|percent| percentile(&mut self.passed, percent));
        format!("{} answers {kind}, p50 {p50:.1?}, p99 {p99:.1?}, slowest {slowest:.1?}", self.passed.len())
    }
}

fn percentile(waits: &mut [Duration], percent: usize) -> Duration {
    waits.sort_unstable();
    waits.get(waits.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
}

/// Asks again and again, as somebody does who means well, until it is over.
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

/// So much of an answer that one sees what it is.
fn beginning(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).chars().take(200).collect()
}

fn post(length: usize, body: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

fn request(method: &str, params: &Value) -> String {
    json!({"id": 1, "jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// Heads of requests that come a byte at a time.
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

/// Large bodies of which the rest does not come.
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

/// Thousands of connections over which nothing comes.
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

/// Whether an answer has the right status and is the right one.
type Judge<'a> = Box<dyn Fn(u16, &Value) -> bool + Sync + 'a>;

/// A request that asks for much.
struct Demand<'a> {
    body: String,
    /// Whether it, or its answer, takes memory that others may wait for.
    takes_memory: bool,
    is_right: Judge<'a>,
}

/// What came of demands.
#[derive(Default)]
struct Tally {
    right: AtomicU64,
    refused: AtomicU64,
    cut: AtomicU64,
}

impl Tally {
    /// Makes a demand over a connection of its own. There may be too little memory for all that are made at once, and who
    /// takes long over what others wait for is cut off; all others are answered. Returns whether it was served.
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

    /// Checks, when the harm is done, that this is served in the end.
    fn serve(&self, target: &Target<'_>, demand: &Demand<'_>) {
        let mut patience = Patience::with(target.node.id());
        while !self.ask(target, demand) {
            if let Err(hang) = patience.check() {
                panic!("it goes on being refused: {hang}\n{:.200}", demand.body);
            }
            thread::sleep(RHYTHM);
        }
    }

    fn print(&self) {
        let [right, refused, cut] = [&self.right, &self.refused, &self.cut].map(|count| count.load(Ordering::Relaxed));
        println!("  {right} served, {refused} refused for lack of memory, {cut} cut off");
    }
}

/// Whether the node has ended the connection.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// As much as is allowed, and a little more.
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
        // Nothing of it is kept.
        demand(full(BODY + 1), false, |status, _| status == 413),
        demand(batch(BATCH), true, |status, answer| status == 200 && is_full(answer, is_result)),
        demand(batch(BATCH + 1), true, |status, answer| status == 200 && is_refused(answer)),
        demand(noise, true, |status, answer| status == 200 && is_full(answer, is_refused)),
    ];
    let tally = Tally::default();
    at_once(12, |number| {
        if number >= 8 {
            // Answers of some sixty megabytes, for nobody.
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

/// Questions whose answers take work: traces, the history of an account, the state of a contract; some of them for nobody.
fn costly_questions(target: &Target<'_>) {
    let tokens: Vec<_> = (1..=50).map(|nonce| token::transaction(1, nonce)).collect();
    for payment in &tokens {
        target.node.result("CreateTransaction", &json!([payment.json()]));
        target.node.result("IncreaseBlocknum", &json!([1]));
    }
    // Behind the others: only the newest blocks are traced.
    let hash = target.shout(0);
    let deployer = Wallet::funded(1).address();
    let contract = Address::of_contract(&deployer, Nonce::new(0)).to_string();
    let questions = [
        ("silica_traceTransaction", json!([hash])),
        ("silica_traceTransaction", json!([tokens.last().map(Payment::hash)])),
        ("silica_getTransactionsForAddress", json!([deployer.to_string()])),
        ("silica_getSmartContractStatePage", json!([contract, "balances"])),
        ("GetSmartContractState", json!([contract])),
    ];
    // No block is made meanwhile.
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

/// Whether a batch is answered whole.
fn is_full(answer: &Value, is_right: fn(&Value) -> bool) -> bool {
    answer.as_array().is_some_and(|answers| answers.len() == BATCH && answers.iter().all(is_right))
}

/// JSON that goes deeper than any stack.
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

/// Subscribers that ask whether the node is there, and do not care.
fn pings(target: &Target<'_>) {
    // Masked, as clients have to, with noughts.
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

/// Clients that ask for an answer of two megabytes and do not read it.
fn unread_answers(target: &Target<'_>) {
    let hash = target.shout(0);
    let call = request("GetTransaction", &json!([hash]));
    let body = post(call.len(), &call);
    at_once(200, |number| {
        while !target.is_over() {
            if number % 2 == 0 {
                let stream = target.connect_and_send(&body);
                thread::sleep(MOMENT);
                drop(stream);
            } else if let Some(mut subscriber) = target.subscriber() {
                drop(subscriber.send(Message::text(call.as_str())));
                target.wait();
            }
        }
    });
}

/// Subscribers that do not read, while an event of two megabytes follows the other; but for one, that misses nothing
/// unless it comes too late itself.
fn subscribers(target: &Target<'_>) {
    let query = json!({"query": "EventLog", "addresses": [format!("0x{}", target.shout)]}).to_string();
    let subscribe = || {
        let mut subscriber = target.subscriber()?;
        subscriber.send(Message::text(query.as_str())).ok()?;
        Some(subscriber)
    };
    let deaf: Vec<_> = (0..100).map_while(|_| subscribe()).collect();
    assert_eq!(deaf.len(), 100, "there are places for them");
    let mut reader = target.watched_subscriber().expect("there is a place for it");
    reader.send(Message::text(query.as_str())).expect("it is heard");
    let acknowledged = reader.read().expect("it is acknowledged");
    assert_eq!(acknowledged, Message::text(query.as_str()));
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut told = 0;
            loop {
                match reader.read().expect("who reads is told") {
                    Message::Text(text) if text.contains("\"Shout\"") => {
                        assert!(text.len() > 2 << 20, "it is told all");
                        told += 1;
                    }
                    // The last block has no shout.
                    Message::Text(_) => return (told, None),
                    Message::Close(Some(frame)) if frame.code == CloseCode::Again => {
                        return (told, Some(reader.get_ref().late()));
                    }
                    Message::Ping(_) | Message::Pong(_) => {}
                    other @ (Message::Binary(_) | Message::Close(_) | Message::Frame(_)) => {
                        panic!("{other:?} instead of a text")
                    }
                }
            }
        });
        let mut blocks = 0;
        // However long it took to get here.
        while blocks < 5 || !target.is_over() {
            target.shout(blocks);
            blocks += 1;
        }
        target.node.result("IncreaseBlocknum", &json!([1]));
        let (told, cut) = reader.join().expect("the reader is told");
        match cut {
            None => {
                println!("  {blocks} blocks, none missed");
                assert_eq!(told, blocks, "it is told of every block");
            }
            Some(late) => {
                println!("  {blocks} blocks, {told} told, then cut off for coming {late:.1?} late");
                assert!(late >= LATE, "who reads is told");
                assert!(0 < told && told < blocks, "it is told as long as it reads");
            }
        }
    });
    drop(deaf);
}
