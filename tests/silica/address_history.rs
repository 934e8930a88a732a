//! `silica_getTransactionsForAddress`: each transaction once, in both directions, and invalid requests.

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{Node, Wallet};

use crate::{
    INVALID_PARAMS, check_error,
    contract::{Chain, HELLO, address_param},
    no_address,
};

const LIST: &str = "silica_getTransactionsForAddress";

const RELAY: &str = include_str!("../data/contracts/relay.scilla");

/// Returns all transactions of an address, from pages of `limit` transactions.
fn all(node: &Node, address: &str, order: &str, limit: u32) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let options = json!({"cursor": cursor, "limit": limit, "order": order});
        let page = node.result(LIST, &json!([address, options]));
        let transactions = page["transactions"].as_array().unwrap();
        assert!(transactions.len() <= limit as usize);
        found.extend(transactions.iter().cloned());
        cursor = page["next"].clone();
        if cursor.is_null() {
            return found;
        }
        assert_eq!(transactions.len(), limit as usize, "so few are looked at in one go");
    }
}

/// Returns block, position and roles of each transaction.
fn shown(transactions: &[Value]) -> Vec<(String, u64, Value)> {
    let of =
        |it: &Value| (it["block"].as_str().unwrap().to_owned(), it["position"].as_u64().unwrap(), it["roles"].clone());
    transactions.iter().map(of).collect()
}

#[test]
fn payments_are_listed_in_both_directions() {
    let node = Node::start(&["--block-mode", "manual"]);
    let (payer, other, payee) = (Wallet::funded(0), Wallet::funded(1), Wallet::stranger(1));
    let pay = |from: &Wallet, nonce, to: Address| {
        let payment = from.payment(nonce, to, 3);
        node.result("CreateTransaction", &json!([payment.json()]));
        payment.hash()
    };
    let mut hashes = Vec::new();
    for nonce in 1..=300 {
        hashes.push(pay(&payer, nonce, payee.address()));
        // Some blocks have one transaction, some have many, and some are empty.
        if nonce < 4 || nonce == 299 {
            node.result("silica_mine", &json!([1 + nonce % 3 * 7]));
        }
    }
    hashes.push(pay(&payer, 301, payer.address()));
    node.result("silica_mine", &json!([1]));
    pay(&other, 1, Wallet::stranger(2).address());
    node.result("silica_mine", &json!([40]));
    let sent = all(&node, &payer.hex(), "oldest", 1000);
    let found: Vec<&str> = sent.iter().map(|it| it["hash"].as_str().unwrap()).collect();
    assert_eq!(found, hashes);
    assert_eq!(sent[300]["roles"], json!(["sender", "recipient"]));
    let first = json!({
        "amount": "3", "block": "1", "hash": hashes[0], "position": 0, "recipient": payee.hex(), "roles": ["sender"],
        "sender": payer.hex(), "success": true,
    });
    assert_eq!(sent[0], first);
    for limit in [1, 7, 256, 301, 1000] {
        assert_eq!(all(&node, &payer.hex(), "oldest", limit), sent, "{limit}");
        let mut newest = all(&node, &payer.address().to_bech32(), "newest", limit);
        newest.reverse();
        assert_eq!(newest, sent, "{limit}");
    }
    let received = all(&node, &payee.hex(), "newest", 50);
    assert_eq!(received.len(), 300);
    assert!(received.iter().all(|it| it["roles"] == json!(["recipient"])));
    let usual = node.result(LIST, &json!([payer.hex()]));
    assert_eq!(usual["transactions"].as_array().unwrap().len(), 100);
    assert_eq!(usual["transactions"][0], sent[300]);
    assert_eq!(node.result(LIST, &json!([payer.hex(), null])), usual);
    // A later transaction does not move the next page.
    pay(&payer, 302, payee.address());
    node.result("silica_mine", &json!([1]));
    let behind = node.result(LIST, &json!([payer.hex(), {"cursor": usual["next"]}]));
    assert_eq!(behind["transactions"][0], sent[200]);
    let nothing = json!({"next": null, "transactions": []});
    assert_eq!(node.result(LIST, &json!([Wallet::stranger(9).hex()])), nothing);
    assert_eq!(node.result(LIST, &json!([payer.hex(), {"cursor": "99999:0", "order": "oldest"}])), nothing);
    assert_eq!(node.result(LIST, &json!([payer.hex(), {"cursor": "0:0"}])), nothing);
}

#[test]
fn contracts_are_found_by_each_of_their_changes() {
    let mut chain = Chain::new();
    let (first, _) = chain.deploy(RELAY, &[]);
    let (second, _) = chain.deploy(RELAY, &[]);
    let (hello, _) = chain.deploy(HELLO, &[address_param("owner", &Wallet::funded(0).address())]);
    let text = |name: &str, kind: &str, value: &str| json!({"vname": name, "type": kind, "value": value});
    let forward =
        |tag: &str| json!([address_param("to", &second), text("tag", "String", tag), text("amount", "Uint128", "0")]);
    chain.call(1, first, "Forward", &forward("Take"));
    chain.call(1, first, "Forward", &forward("Fail"));
    chain.call(2, hello, "Greet", &json!([]));
    let list = |address: &Address| shown(&all(&chain.node, &address.to_string(), "oldest", 2));
    let found = |block: u64, roles: Value| (block.to_string(), 0, roles);
    let expected =
        [found(1, json!(["contract"])), found(4, json!(["recipient", "transition"])), found(5, json!(["recipient"]))];
    assert_eq!(list(&first), expected);
    // A failed call has no messages, so the second contract has no role in it.
    assert_eq!(list(&second), [found(2, json!(["contract"])), found(4, json!(["transition"]))]);
    assert_eq!(list(&hello), [found(3, json!(["contract"])), found(6, json!(["recipient"]))]);
    let failed = &all(&chain.node, &first.to_string(), "newest", 10)[0];
    assert_eq!((&failed["success"], &failed["sender"]), (&json!(false), &json!(Wallet::funded(1).hex())));
    assert_eq!(list(&Address::ZERO), [], "no payment goes to the address of deployments");
}

#[test]
fn wrong_requests_are_refused_by_name() {
    let node = Node::start(&[]);
    let address = Wallet::funded(0).hex();
    for params in [json!([]), json!([1]), json!([address, "newest"]), json!([address, []]), json!([address, {}, 1])] {
        check_error(&node, LIST, &params, INVALID_PARAMS);
    }
    for (params, error) in [
        (json!(["zil1x"]), (-8, &*no_address("zil1x"))),
        (json!(["12"]), (-8, &no_address("12"))),
        (json!([address, {"limit": 0}]), (-8, "options: limit: expected a number from 1 to 1000, got 0")),
        (json!([address, {"order": "up"}]), (-8, "options: order: expected newest or oldest, got \"up\"")),
        (
            json!([address, {"cursor": "1"}]),
            (-8, "options: cursor: expected the value of next in the previous page, got \"1\""),
        ),
        (json!([address, {"page": 1}]), (-8, "options: expected cursor, limit or order, got \"page\"")),
    ] {
        check_error(&node, LIST, &params, error);
    }
}
