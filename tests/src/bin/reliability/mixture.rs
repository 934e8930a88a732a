//! Attacks of all kinds at once, in an order that a seed determines.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::Duration,
};

use silica_tests::Dice;
use tungstenite::{Message, WebSocket};

use crate::{
    hostile::{SHOUTS, Target, at_once, include, post, request, withstand},
    token, unread,
};

/// Number of clients that act at once.
const CLIENTS: u64 = 24;
/// Number of connections that each client keeps open.
const HELD: usize = 16;

/// Length of request bodies that clients send in part, in bytes.
const BODY: usize = 5 << 20;

/// Runs a mixture of attacks for `seconds`.
///
/// # Panics
///
/// If a response is wrong, if the node exceeds a limit, or if it does not stop without an error.
pub(crate) fn run(seconds: u64, seed: u64) {
    println!("a mixture of {seconds} s, seed {seed}");
    let missed = withstand("mixture", |target| act(target, seed), SHOUTS, Duration::from_secs(seconds));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

fn act(target: &Target<'_>, seed: u64) {
    let single = unread::large(target).into_iter().map(|(method, params)| request(method, &params));
    let bodies: Vec<String> = single.chain(unread::large_batches(target)).collect();
    thread::scope(|scope| {
        scope.spawn(|| make_blocks(target));
        at_once(usize::try_from(CLIENTS).unwrap_or(0), |number| {
            let mut dice = Dice::new(seed.wrapping_mul(CLIENTS).wrapping_add(number as u64));
            let mut held: Vec<Held> = Vec::new();
            while !target.is_over() {
                held.extend(Held::draw(target, &bodies, &mut dice));
                if held.len() > HELD {
                    held.swap_remove(dice.index(HELD));
                }
                thread::sleep(Duration::from_millis(dice.below(200)));
            }
        });
    });
}

/// Makes blocks with transfers of tokens, and a few with a large event.
fn make_blocks(target: &Target<'_>) {
    let mut nonces = 1..;
    for shout in 1.. {
        for nonce in nonces.by_ref().take(10).take_while(|_| !target.is_over()) {
            include(target.node, &token::transaction(4, nonce));
            thread::sleep(Duration::from_millis(200));
        }
        if target.is_over() {
            return;
        }
        if shout <= SHOUTS {
            include(target.node, &target.shout_call(shout));
        }
    }
}

/// An open connection that the client keeps.
enum Held {
    Http { _stream: TcpStream },
    WebSocket { _subscriber: Box<WebSocket<TcpStream>> },
}

impl Held {
    /// Acts in one of ten ways over a new connection: requests with a random body, or parts of requests and messages.
    /// Returns the connection, or `None` after an error.
    fn draw(target: &Target<'_>, bodies: &[String], dice: &mut Dice) -> Option<Self> {
        let body = dice.choose(bodies)?;
        let over_http = |bytes: &[u8]| target.connect_and_send(bytes).ok();
        let over_websocket = |message: &str| {
            let mut subscriber = target.subscriber()?;
            subscriber.send(Message::text(message)).ok()?;
            Some(subscriber)
        };
        let stream = match dice.below(10) {
            0 => over_http(&post(body.len(), body))?,
            1 => {
                let head =
                    format!("POST / HTTP/1.1\r\nAccept-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", body.len());
                over_http(&[head.as_bytes(), body.as_bytes()].concat())?
            }
            2 => over_http(&post(BODY, &" ".repeat(dice.index(BODY))))?,
            3 => over_http(format!("POST / HTTP/1.1\r\nX-Slow: {}", "x".repeat(dice.index(16 << 10))).as_bytes())?,
            // The client reads a part of the response, or all of it.
            4 | 5 => {
                let mut stream = over_http(&post(body.len(), body))?;
                let mut left = dice.below(30 << 20);
                let mut piece = vec![0; 64 << 10];
                while left > 0 && !target.is_over() {
                    let Ok(read @ 1..) = stream.read(&mut piece) else { break };
                    left = left.saturating_sub(read as u64);
                }
                stream
            }
            6 => return Some(Self::WebSocket { _subscriber: Box::new(over_websocket(body)?) }),
            7 => {
                let mut subscriber = over_websocket(body)?;
                subscriber.get_mut().set_read_timeout(Some(Duration::from_secs(1))).ok()?;
                drop(subscriber.read());
                return Some(Self::WebSocket { _subscriber: Box::new(subscriber) });
            }
            8 => {
                return Some(Self::WebSocket { _subscriber: Box::new(over_websocket(&target.subscription())?) });
            }
            _ => {
                let mut subscriber = target.subscriber()?;
                let half = unread::half_message();
                subscriber.get_mut().write_all(half.get(..dice.index(half.len()))?).ok()?;
                return Some(Self::WebSocket { _subscriber: Box::new(subscriber) });
            }
        };
        Some(Self::Http { _stream: stream })
    }
}
