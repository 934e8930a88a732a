//! Subscriptions and JSON-RPC over WebSocket connections (docs/reference/subscriptions.md).

use std::{
    io::Write,
    net::{SocketAddr, TcpStream},
    ops::Range,
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Node, Wallet, wallet::Payment};
use tungstenite::{Message, WebSocket, client, protocol::frame::coding::CloseCode};

use crate::{operations::peak_memory, pay_once};

/// A contract with two transitions: `Take` emits an event, and `Fail` fails.
pub(crate) const RELAY: &str = include_str!("../data/contracts/relay.scilla");

/// A contract with a transition `Shout`, which emits an event of 2 MiB.
pub(crate) const SHOUT: &str = include_str!("../data/contracts/shout.scilla");

/// A WebSocket client after its handshake.
pub(crate) struct Client(WebSocket<TcpStream>);

impl Client {
    pub(crate) fn connect(node: &Node) -> Self {
        Self::connect_to(node.address())
    }

    fn connect_to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        Self(client(format!("ws://{address}/"), stream).unwrap().0)
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap();
    }

    /// Returns the next text message.
    pub(crate) fn read(&mut self) -> String {
        loop {
            match self.0.read().unwrap() {
                Message::Text(text) => return text.to_string(),
                Message::Ping(_) | Message::Pong(_) => {}
                other @ (Message::Binary(_) | Message::Close(_) | Message::Frame(_)) => {
                    panic!("{other:?} instead of a text")
                }
            }
        }
    }

    pub(crate) fn read_json(&mut self) -> Value {
        serde_json::from_str(&self.read()).unwrap()
    }

    /// Sends a message, and returns the next text message.
    pub(crate) fn ask(&mut self, text: &str) -> String {
        self.send(text);
        self.read()
    }

    /// Subscribes or unsubscribes. The node acknowledges with the same bytes.
    pub(crate) fn subscribe(&mut self, query: &Value) {
        let text = format!("{query:#}");
        assert_eq!(self.ask(&text), text);
    }

    /// Returns the entries of the next notification.
    pub(crate) fn news(&mut self) -> Vec<Value> {
        let mut notification = self.read_json();
        assert_eq!(notification["type"], "Notification", "{notification}");
        let Value::Array(values) = notification["values"].take() else { panic!("{notification}") };
        values
    }

    /// Returns code and reason with which the server closes the connection.
    fn closed(mut self) -> (CloseCode, String) {
        loop {
            match self.0.read() {
                Ok(Message::Close(Some(frame))) => return (frame.code, frame.reason.to_string()),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("{other:?} instead of the end"),
            }
        }
    }
}

pub(crate) fn mine(node: &Node, blocks: u64) {
    node.result("IncreaseBlocknum", &json!([blocks]));
}

/// Returns a deployment or a call of a contract.
fn request(nonce: u64, to: Address, code: &str, data: &Value) -> Payment {
    let mut request = Wallet::funded(3).payment(nonce, to, 0);
    (request.gas_limit, request.code, request.data) = (300_000, code.to_owned(), data.to_string());
    request
}

/// Deploys a contract in a separate block.
pub(crate) fn deploy(node: &Node, code: &str) -> Address {
    let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]);
    let deployed = node.result("CreateTransaction", &json!([request(1, Address::ZERO, code, &init).json()]));
    mine(node, 1);
    deployed["ContractAddress"].as_str().unwrap().parse().unwrap()
}

pub(crate) fn call(node: &Node, nonce: u64, contract: Address, tag: &str) -> String {
    let call = request(nonce, contract, "", &json!({"_tag": tag, "params": []}));
    node.result("CreateTransaction", &json!([call.json()]));
    call.hash()
}

pub(crate) fn prefixed(address: impl std::fmt::Display) -> String {
    format!("0x{address}")
}

#[test]
fn every_block_of_a_burst_is_notified_in_order() {
    let node = Node::start(&["--block-mode", "manual"]);
    let mut client = Client::connect(&node);
    mine(&node, 3);
    client.subscribe(&json!({"query": "NewBlock"}));
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 1);
    node.result("CreateTransaction", &json!([payment.json()]));
    mine(&node, 1000);
    for number in 4..1004 {
        let news = client.news();
        let [entry] = &news[..] else { panic!("{news:?}") };
        assert_eq!(entry["query"], "NewBlock");
        let members: Vec<&String> = entry["value"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["TxBlock", "TxHashes"]);
        assert_eq!(entry["value"]["TxBlock"]["header"]["BlockNum"], number.to_string());
        if number == 4 {
            let block = node.result("GetTxBlock", &json!(["4"]));
            assert_eq!(entry["value"]["TxBlock"], block);
            assert_eq!(entry["value"]["TxHashes"], node.result("GetTransactionsForTxBlock", &json!(["4"])));
            assert_eq!(entry["value"]["TxHashes"][0], json!([payment.hash()]));
        } else {
            assert_eq!(entry["value"]["TxHashes"], json!([]), "{number}");
        }
    }
}

#[test]
fn blocks_that_replace_others_are_notified() {
    let node = Node::start(&["--block-mode", "manual"]);
    mine(&node, 2);
    let mut client = Client::connect(&node);
    client.subscribe(&json!({"query": "NewBlock"}));
    let number = |client: &mut Client| client.news()[0]["value"]["TxBlock"]["header"]["BlockNum"].clone();
    node.result("silica_snapshot", &json!([]));
    mine(&node, 3);
    for expected in 3..=5 {
        assert_eq!(number(&mut client), expected.to_string());
    }
    // The subscription continues after each revert. The head after the new blocks is lower, equal or higher than
    // before.
    for (snapshot, blocks) in [(1, 1), (2, 3), (3, 7)] {
        node.result("silica_revert", &json!([snapshot]));
        node.result("silica_snapshot", &json!([]));
        let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), snapshot);
        node.result("CreateTransaction", &json!([payment.json()]));
        mine(&node, blocks);
        for expected in 3..3 + blocks {
            let news = client.news();
            let block = &news[0]["value"]["TxBlock"];
            assert_eq!(block["header"]["BlockNum"], expected.to_string());
            assert_eq!(*block, node.result("GetTxBlock", &json!([expected.to_string()])));
        }
    }
}

#[test]
fn revert_is_notified_at_once_and_before_the_next_blocks() {
    let node = Node::start(&["--block-mode", "manual"]);
    mine(&node, 2);
    node.result("silica_snapshot", &json!([]));
    let (mut reverts, mut both) = (Client::connect(&node), Client::connect(&node));
    reverts.subscribe(&json!({"query": "Reverts"}));
    both.subscribe(&json!({"query": "Reverts"}));
    both.subscribe(&json!({"query": "NewBlock"}));
    mine(&node, 3);
    for _ in 0..3 {
        assert_eq!(both.news()[0]["query"], "NewBlock");
    }
    let expected = json!([{"query": "Reverts", "value": {"block": "2"}}]);
    node.result("silica_revert", &json!([1]));
    // No block follows, so only the revert can cause the notification.
    assert_eq!(json!(reverts.news()), expected);
    assert_eq!(json!(both.news()), expected);
    node.result("silica_snapshot", &json!([]));
    mine(&node, 1);
    assert_eq!(both.news()[0]["value"]["TxBlock"]["header"]["BlockNum"], "3");
    reverts.subscribe(&json!({"query": "Unsubscribe", "type": "Reverts"}));
    node.result("silica_revert", &json!([2]));
    assert_eq!(json!(both.news()), expected);
    // The next text for this client is a reply, so the revert had no notification.
    let text = "fromBlock: expected no value for the topic Reverts, got \"2\"";
    assert_eq!(reverts.ask(r#"{"query":"Reverts","fromBlock":"2"}"#), text);
}

#[test]
fn blocks_are_notified_in_every_mode() {
    for mode in ["instant", "interval=20", "manual"] {
        let node = Node::start(&["--block-mode", mode]);
        let mut client = Client::connect(&node);
        client.subscribe(&json!({"query": "NewBlock"}));
        match mode {
            "instant" => drop(pay_once(&node, 0)),
            "manual" => mine(&node, 1),
            _ => {}
        }
        assert_eq!(client.news()[0]["query"], "NewBlock", "{mode}");
    }
}

#[test]
fn events_of_successful_calls_are_notified() {
    let node = Node::start(&["--block-mode", "manual"]);
    let contract = deploy(&node, RELAY);
    let mut client = Client::connect(&node);
    client.subscribe(&json!({"query": "EventLog", "addresses": [prefixed(contract), prefixed("0".repeat(40))]}));
    mine(&node, 1);
    assert_eq!(client.news(), [json!({"query": "EventLog"})]);
    for (nonce, tag) in [(2, "Take"), (3, "Fail"), (4, "Take")] {
        call(&node, nonce, contract, tag);
    }
    mine(&node, 1);
    let event = json!({"_eventname": "Taken", "params": [
        {"type": "ByStr20", "value": prefixed(Wallet::funded(3).hex()), "vname": "from"},
        {"type": "Uint128", "value": "0", "vname": "amount"},
    ]});
    let mut news = client.news();
    // The interpreter has its own order of parameters.
    for event in news[0]["value"][0]["event_logs"].as_array_mut().unwrap() {
        event["params"].as_array_mut().unwrap().sort_by_key(|param| param["type"].to_string());
    }
    let value = json!([{"address": contract.to_string(), "event_logs": [event, event]}]);
    assert_eq!(news, [json!({"query": "EventLog", "value": value})]);
}

#[test]
fn transactions_of_either_side_are_notified() {
    let node = Node::start(&["--block-mode", "manual"]);
    let contract = deploy(&node, RELAY);
    let (payer, payee, other) = (Wallet::funded(0), Wallet::stranger(1), Wallet::funded(1));
    let mut client = Client::connect(&node);
    let followed = [payer.hex(), payee.hex(), contract.to_string()].map(prefixed);
    client.subscribe(&json!({"query": "TxnLog", "addresses": followed}));
    let payment = payer.payment(1, payee.address(), 7);
    let to_oneself = payer.payment(2, payer.address(), 8);
    let unseen = other.payment(1, Wallet::stranger(2).address(), 9);
    for payment in [&payment, &to_oneself, &unseen] {
        node.result("CreateTransaction", &json!([payment.json()]));
    }
    let failed = call(&node, 2, contract, "Fail");
    mine(&node, 1);
    let entry = |id: &str, amount: &str, from: &str, success: bool, to: &str| json!({"ID": id, "amount": amount, "fromAddr": from, "success": success, "toAddr": to});
    let (payer, payee, contract) = (payer.hex(), payee.hex(), contract.to_string());
    let paid = entry(&payment.hash(), "7", &payer, true, &payee);
    let kept = entry(&to_oneself.hash(), "8", &payer, true, &payer);
    let call = entry(&failed, "0", &Wallet::funded(3).hex(), false, &contract);
    let mut expected = [
        json!({"address": payer, "log": [paid, kept]}),
        json!({"address": payee, "log": [paid]}),
        json!({"address": contract, "log": [call]}),
    ];
    expected.sort_by_key(|account| account["address"].to_string());
    assert_eq!(client.news(), [json!({"query": "TxnLog", "value": expected})]);
    mine(&node, 1);
    assert_eq!(client.news(), [json!({"query": "TxnLog"})]);
}

#[test]
fn topics_travel_together_and_end_with_a_last_message() {
    let node = Node::start(&["--block-mode", "manual"]);
    let contract = deploy(&node, RELAY);
    let mut client = Client::connect(&node);
    client.subscribe(&json!({"query": "TxnLog", "addresses": [prefixed(Wallet::funded(0).hex())]}));
    client.subscribe(&json!({"query": "EventLog", "addresses": [prefixed(contract)]}));
    client.subscribe(&json!({"query": "NewBlock"}));
    client.subscribe(&json!({"query": "Unsubscribe", "type": "EventLog"}));
    let queries = |news: &[Value]| -> Vec<String> {
        news.iter().map(|entry| entry["query"].as_str().unwrap().to_owned()).collect()
    };
    mine(&node, 2);
    let news = client.news();
    assert_eq!(queries(&news), ["NewBlock", "EventLog", "TxnLog", "Unsubscribe"]);
    assert_eq!(news[3]["value"], json!(["EventLog"]));
    assert_eq!(queries(&client.news()), ["NewBlock", "TxnLog"]);
    for topic in ["TxnLog", "NewBlock", "EventLog"] {
        client.subscribe(&json!({"query": "Unsubscribe", "type": topic}));
    }
    mine(&node, 1);
    let news = client.news();
    assert_eq!(news.last().unwrap()["value"], json!(["NewBlock", "TxnLog"]));
    // The session gets no further notifications, and stays open.
    mine(&node, 3);
    client.subscribe(&json!({"query": "NewBlock"}));
    mine(&node, 1);
    let number = client.news()[0]["value"]["TxBlock"]["header"]["BlockNum"].clone();
    assert_eq!(number, crate::height(&node).to_string());
}

#[test]
fn malformed_messages_get_a_plain_text_reply() {
    let node = Node::start(&[]);
    let mut client = Client::connect(&node);
    let deep = "[".repeat(100_000);
    for (message, text) in [
        ("x", "invalid query field"),
        ("{}", "invalid query field"),
        (r#"{"query":"Blocks"}"#, "invalid query field"),
        (r#"{"query":"EventLog"}"#, "invalid addresses field"),
        (r#"{"query":"EventLog","addresses":["0x1234"]}"#, "no contract found in list"),
        (r#"{"query":"TxnLog","addresses":["0x1234"]}"#, "no valid address found"),
        (r#"{"query":"Unsubscribe","type":"All"}"#, "invalid type field"),
        (&format!(r#"{{"query":{deep}"#), "invalid query field"),
    ] {
        assert_eq!(client.ask(message), text, "{message:.60}");
    }
    // The node ignores an empty message.
    client.send("");
    client.subscribe(&json!({"query": "NewBlock"}));
}

#[test]
fn json_rpc_is_answered_between_notifications() {
    let node = Node::start(&["--block-mode", "manual"]);
    let mut client = Client::connect(&node);
    client.subscribe(&json!({"query": "NewBlock"}));
    let request = json!({"id": 7, "jsonrpc": "2.0", "method": "GetNetworkId", "params": []});
    let answer = json!({"id": 7, "jsonrpc": "2.0", "result": "222"});
    assert_eq!(serde_json::from_str::<Value>(&client.ask(&request.to_string())).unwrap(), answer);
    let batch = client.ask(&json!([request, request]).to_string());
    assert_eq!(serde_json::from_str::<Value>(&batch).unwrap(), json!([answer, answer]));
    let increase = json!({"id": 8, "jsonrpc": "2.0", "method": "IncreaseBlocknum", "params": [2]});
    assert_eq!(client.ask(&increase.to_string()), r#"{"id":8,"jsonrpc":"2.0","result":"3"}"#);
    assert_eq!(client.news()[0]["value"]["TxBlock"]["header"]["BlockNum"], "1");
    assert_eq!(client.news()[0]["value"]["TxBlock"]["header"]["BlockNum"], "2");
    let unknown = client.ask(r#"{"method":"GetNothing","id":1,"jsonrpc":"2.0","params":[]}"#);
    assert_eq!(serde_json::from_str::<Value>(&unknown).unwrap()["error"]["code"], -32601);
}

#[test]
fn large_response_has_several_frames_of_one_message() {
    const PAYMENTS: usize = 400;
    let node = Node::start(&["--block-mode", "manual"]);
    let payer = Wallet::funded(0);
    for nonce in 1..=PAYMENTS as u64 {
        node.result("CreateTransaction", &json!([payer.payment(nonce, Wallet::stranger(1).address(), 1).json()]));
    }
    mine(&node, 1);
    let mut client = Client::connect(&node);
    let request = json!({"id": 1, "jsonrpc": "2.0", "method": "GetTxnBodiesForTxBlock", "params": ["1"]});
    let text = client.ask(&request.to_string());
    assert!(text.len() > 200_000, "{} bytes are fewer than those of a piece", text.len());
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["result"], node.result("GetTxnBodiesForTxBlock", &json!(["1"])));
    let bodies = answer["result"].as_array().unwrap();
    assert_eq!(bodies.len(), PAYMENTS);
    for body in [&bodies[0], &bodies[PAYMENTS - 1]] {
        assert_eq!(*body, node.result("GetTransaction", &json!([body["ID"]])));
    }
    let page = node.result("GetTxnBodiesForTxBlockEx", &json!(["1", "0"]));
    assert_eq!(page, json!({"CurrPage": 0, "NumPages": 1, "Transactions": bodies}));
    let batch = client.ask(&json!([request]).to_string());
    assert_eq!(serde_json::from_str::<Value>(&batch).unwrap(), json!([answer]));
}

#[test]
fn requests_differ_from_subscriptions_as_over_http() {
    let node = Node::start(&[]);
    let mut client = Client::connect(&node);
    let request = r#"{"id": 7, "jsonrpc": "2.0", "method": "GetNetworkId", "params": []}"#;
    let twice = request.replace("params", r#"method": "GetNetworkId", "params"#);
    for text in [request, &twice, &format!("/* one */ {request}"), &format!("{request} and more")] {
        assert_eq!(client.ask(text), r#"{"id":7,"jsonrpc":"2.0","result":"222"}"#, "{text}");
    }
}

#[test]
fn close_of_the_client_is_answered() {
    let node = Node::start(&[]);
    let mut client = Client::connect(&node);
    client.0.close(None).unwrap();
    assert!(matches!(client.0.read(), Ok(Message::Close(_))), "the server says that it ends as well");
}

#[test]
fn large_or_binary_message_ends_the_connection() {
    let node = Node::start(&[]);
    let mut client = Client::connect(&node);
    // The server can close the connection before the client has sent the whole message.
    drop(client.0.send(Message::text("x".repeat(300 << 10))));
    let end = client.closed();
    assert_eq!(end, (CloseCode::Size, "the message is too large".to_owned()));
    let mut client = Client::connect(&node);
    client.0.send(Message::binary(vec![0; 3])).unwrap();
    assert_eq!(client.closed(), (CloseCode::Unsupported, "expected a text message, got a binary one".to_owned()));
}

/// Returns a frame of a client with a mask of zeros.
fn frame(opcode: u8, is_last: bool, payload: &[u8]) -> Vec<u8> {
    let head = [opcode | if is_last { 0x80 } else { 0 }, 0x80 | u8::try_from(payload.len()).unwrap(), 0, 0, 0, 0];
    [&head, payload].concat()
}

#[test]
fn flood_of_small_frames_is_read_to_its_end_and_delays_no_client() {
    const FRAMES: usize = 20_000;
    const CONTINUATION: u8 = 0;
    const TEXT: u8 = 1;
    const PING: u8 = 9;
    const PONG: u8 = 10;
    let node = Node::start(&[]);
    let calm = peak_memory(&node);
    let request = br#"{"id": 7, "jsonrpc": "2.0", "method": "GetNetworkId"}"#;
    let (whole, begin, end) = (frame(TEXT, true, request), frame(TEXT, false, b""), frame(CONTINUATION, true, request));
    for (what, first, flooding, last) in [
        ("pings", &[][..], frame(PING, true, &[b'x'; 125]), &whole),
        ("pongs", &[], frame(PONG, true, &[b'x'; 125]), &whole),
        ("empty parts of a message", &begin, frame(CONTINUATION, false, b""), &end),
    ] {
        let mut client = Client::connect(&node);
        let mut stream = client.0.get_ref().try_clone().unwrap();
        let flood = [first, &flooding.repeat(FRAMES), last].concat();
        std::thread::scope(|scope| {
            // The client reads nothing until other clients have responses. The node can stop reading, but must not
            // store the responses.
            let sent = scope.spawn(move || stream.write_all(&flood));
            for _ in 0..20 {
                let begun = Instant::now();
                assert_eq!(node.result("GetNetworkId", &json!([])), "222", "{what}");
                assert!(begun.elapsed() < Duration::from_secs(10), "{what}: {:?}", begun.elapsed());
            }
            assert_eq!(client.read(), r#"{"id":7,"jsonrpc":"2.0","result":"222"}"#, "{what}");
            sent.join().unwrap().unwrap();
        });
        let taken = peak_memory(&node).saturating_sub(calm);
        assert!(taken < 16, "{what}: {taken} MB");
    }
}

#[test]
fn subscribers_get_a_close_frame_when_the_node_stops() {
    let node = Node::start(&[]);
    let mut client = Client::connect(&node);
    client.subscribe(&json!({"query": "NewBlock"}));
    node.signal("TERM");
    assert_eq!(client.closed(), (CloseCode::Away, "the node is stopping".to_owned()));
    assert!(node.wait().status.success());
}

#[test]
fn subscribers_have_a_port_of_their_own() {
    let node = Node::start(&["--websocket", "127.0.0.1:0"]);
    let banner = node.wait_for("curl ");
    let port = banner.lines().find_map(|line| line.trim().strip_prefix("WebSocket  ws://")).unwrap();
    let address: SocketAddr = port.parse().unwrap();
    assert_ne!(address, node.address());
    let mut client = Client::connect_to(address);
    client.subscribe(&json!({"query": "NewBlock"}));
    pay_once(&node, 0);
    assert_eq!(client.news()[0]["query"], "NewBlock");
    // A port on the command line must be free.
    let refused = silica_tests::node::run(&["--ephemeral", "--listen", "127.0.0.1:0", "--websocket", port]);
    assert!(!refused.status.success());
    assert!(refused.output.contains(&format!("cannot listen on {port}")), "{}", refused.output);
}

/// Reads the notifications of blocks with one large event each.
fn receive_shouts(mut client: Client, numbers: Range<u64>) {
    let mut bytes = 0;
    for number in numbers {
        let text = client.read();
        assert!(text.contains(&format!("\"BlockNum\":\"{number}\"")), "{number}: {text:.1000}");
        assert!(text.contains("\"Shout\""), "{number}: {text:.1000}");
        bytes += text.len();
    }
    assert!(bytes > 10 << 20, "{bytes} bytes may be kept by the system");
}

#[test]
fn client_that_reads_late_misses_nothing() {
    // Six notifications of 2 MiB exceed the buffers of the operating system for a client that does not read.
    const NUMBERS: Range<u64> = 2..8;
    // The node disconnects a client that reads nothing for 30 seconds, so this pause is half as long.
    const SILENCE: Duration = Duration::from_secs(15);
    let node = Node::start(&["--block-mode", "manual"]);
    let shout = deploy(&node, SHOUT);
    let [prompt, late] = [(); 2].map(|()| {
        let mut client = Client::connect(&node);
        client.subscribe(&json!({"query": "NewBlock"}));
        client.subscribe(&json!({"query": "EventLog", "addresses": [prefixed(shout)]}));
        client
    });
    let (received, all_received) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            receive_shouts(prompt, NUMBERS);
            // The receiver of this message can end first, after its own notifications.
            let _ = received.send(());
        });
        scope.spawn(move || {
            // Start after the other client has received all notifications, or after a timeout.
            assert_ne!(all_received.recv_timeout(SILENCE), Err(RecvTimeoutError::Disconnected), "the other hears all");
            receive_shouts(late, NUMBERS);
        });
        for nonce in NUMBERS {
            call(&node, nonce, shout, "Shout");
            mine(&node, 1);
        }
    });
}

/// RFC 6455 (section 5.2) requires the shortest form of a length from the sender. A longer form has the same value, and
/// the next frame begins at the right position.
#[test]
fn length_of_a_frame_may_take_more_bytes_than_it_needs() {
    let node = Node::start(&[]);
    let mut connection = node.connect();
    let shake = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    connection.write(shake.as_bytes()).unwrap();
    assert_eq!(connection.read().unwrap().status, 101);
    // Two messages with a mask of zeros, with lengths in two and eight bytes, and then a close frame.
    let text = b"x";
    connection.write(&[&[0x81, 0xfe, 0, 1, 0, 0, 0, 0][..], text].concat()).unwrap();
    connection.write(&[&[0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0][..], text].concat()).unwrap();
    let refused = [&[0x81, 19][..], b"invalid query field"].concat();
    assert_eq!(connection.read_bytes(2 * refused.len()).unwrap(), refused.repeat(2));
    // A close frame ends the connection at once, even during a response.
    connection.write(&[0x88, 0x80, 0, 0, 0, 0]).unwrap();
    assert_eq!(connection.read_to_end().unwrap().first(), Some(&0x88), "it is closed in order");
}
