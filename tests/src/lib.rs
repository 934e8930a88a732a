//! Helpers of the end-to-end tests: a real `silica` process in a new directory, HTTP clients that can send malformed
//! requests, accounts that sign, and the shapes of the documented responses.
//!
//! ```no_run
//! use serde_json::json;
//! use silica_tests::{Node, Wallet};
//!
//! let node = Node::start(&[]);
//! let payer = Wallet::funded(0);
//! node.result("CreateTransaction", &json!([payer.payment(1, Wallet::funded(1).address(), 1).json()]));
//! ```
//!
//! - [`node`]: starts, stops and kills the process, and sends requests to it.
//! - [`http`]: one connection, byte by byte if necessary.
//! - [`wallet`]: keys, and the transactions that they sign.
//! - [`chain`]: all data of a chain that clients can read, for comparison.
//! - [`dice`]: pseudo-random numbers that a seed repeats.
//! - [`patience`]: limits of waiting for a process.
//! - [`root`]: operations that need root, and the behaviour of tests without root.
//! - [`schema`]: checks a value against the description of the interface, and makes values that match it.
//! - [`shape`]: compares the shape of a response with a documented one.
//!
//! The crate drives the node from outside only. It depends on the wire formats and on signatures, and on no code that
//! runs in the process.

pub mod chain;
pub mod dice;
pub mod http;
pub mod node;
pub mod patience;
pub mod root;
pub mod schema;
pub mod shape;
pub mod wallet;

pub use crate::{
    dice::Dice,
    http::{Answer, Connection},
    node::{Directory, Node, Refusal},
    wallet::{Payment, Wallet},
};
