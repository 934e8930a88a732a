//! Many invalid requests together with valid ones: the node returns the result of each valid request, loses no data,
//! and continues to run.

use std::thread;

use serde_json::{Value, json};
use silica_tests::{Connection, Node, Wallet};

use crate::{balance, height};

/// Returns bodies with one fault each.
fn bad_bodies() -> Vec<Vec<u8>> {
    let good = Wallet::funded(8).payment(1, Wallet::stranger(1).address(), 1).json();
    let request = |params: &Value| {
        json!({"id": 1, "jsonrpc": "2.0", "method": "CreateTransaction", "params": params}).to_string().into_bytes()
    };
    let mut bodies = vec![
        Vec::new(),
        b"{".to_vec(),
        b"\xff".repeat(1000),
        "[".repeat(50_000).into_bytes(),
        b"[[],[],{},1,null]".to_vec(),
        request(&json!({})),
        request(&json!([null])),
    ];
    let values = [json!(null), json!(-1), json!(1e300), json!("x".repeat(10_000)), json!([[[[]]]]), json!("\u{0}")];
    for member in good.as_object().unwrap().keys() {
        for value in &values {
            let mut changed = good.clone();
            changed[member] = value.clone();
            if member != "code" && member != "data" || !value.is_null() {
                bodies.push(request(&json!([changed])));
            }
        }
    }
    // Truncated bodies, and bodies with one changed byte.
    let whole = request(&json!([good]));
    bodies.extend((1..whole.len()).step_by(37).map(|end| whole[..end].to_vec()));
    bodies.extend((1..whole.len()).step_by(41).map(|at| {
        let mut body = whole.clone();
        body[at] ^= 0x10;
        body
    }));
    bodies
}

#[test]
fn good_requests_are_served_amid_bad_ones() {
    let node = Node::start(&[]);
    let address = node.address();
    let bodies = bad_bodies();
    assert!(bodies.len() > 80);
    thread::scope(|scope| {
        for shift in 0..3 {
            let bodies = &bodies;
            scope.spawn(move || {
                let mut connection = Connection::open(address).unwrap();
                for i in 0..bodies.len() {
                    let body = &bodies[(i + shift * 31) % bodies.len()];
                    let answer = connection.post(body).unwrap();
                    assert_eq!(answer.status, 200);
                    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
                    let shown = String::from_utf8_lossy(body).chars().take(300).collect::<String>();
                    let first = if answer.is_array() { &answer[0] } else { &answer };
                    assert!(first["error"]["code"].is_i64(), "{shown}\n{answer}");
                }
            });
        }
        scope.spawn(|| {
            let payer = Wallet::funded(0);
            for nonce in 1..=50 {
                let payment = payer.payment(nonce, Wallet::stranger(2).address(), 1);
                node.result("CreateTransaction", &json!([payment.json()]));
            }
        });
    });
    assert_eq!(balance(&node, &Wallet::funded(0).hex()).1, 50);
    assert_eq!(balance(&node, &Wallet::stranger(2).hex()).0, 50);
    assert_eq!(balance(&node, &Wallet::funded(8).hex()), (silica_tests::wallet::FUNDS, 0));
    assert_eq!(height(&node), 50);
    let end = node.stop();
    assert!(end.status.success() && !end.output.contains("panic"), "{}", end.output);
}
