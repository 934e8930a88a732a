//! Methods that do what no client of a real network can do, and when they are answered.

use serde_json::json;
use silica_tests::Node;

use crate::{check_error, check_result};

fn off(method: &str) -> (i64, String) {
    (-32600, format!("{method} is for developers and switched off, start the node with --developer on"))
}

#[test]
fn developers_methods_are_off_where_others_can_ask() {
    for args in [&["--developer", "off"][..], &["--websocket", "0.0.0.0:0"], &["--websocket", "[::]:0"]] {
        let node = Node::start(args);
        for (method, params) in [("IncreaseBlocknum", json!([1])), ("SetMinimumGasPrice", json!(["5"]))] {
            // Nothing is said about parameters that nobody reads.
            for params in [params, json!([])] {
                let (code, text) = off(method);
                check_error(&node, method, &params, (code, &text));
            }
        }
        check_result(&node, "GetBlocknum", &json!([]), &json!("1"));
    }
}

#[test]
fn developers_methods_are_on_for_who_says_so() {
    let node = Node::start(&["--websocket", "0.0.0.0:0", "--developer", "on"]);
    check_result(&node, "IncreaseBlocknum", &json!([1]), &json!("2"));
}

#[test]
fn who_can_ask_nobody_for_blocks_is_warned() {
    let node = Node::start(&["--developer", "off", "--block-mode", "manual"]);
    node.wait_for("nobody can ask for blocks");
    let node = Node::start(&["--websocket", "0.0.0.0:0"]);
    node.wait_for("methods for developers are off, for others can reach this node");
}
