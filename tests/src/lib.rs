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
//! - [`http`]: one connection, which can send any bytes.
//! - [`wallet`]: keys, and the transactions that they sign.
//! - [`chain`]: all data of a chain that clients can read, for comparison.
//! - [`dice`]: pseudo-random numbers from a seed.
//! - [`patience`]: limits of the time to wait for a process.
//! - [`root`]: operations that need root, and the rule for tests without root.
//! - [`schema`]: checks a value against the OpenRPC document, and makes values that match the document.
//! - [`shape`]: compares the shape of a response with a documented response.
//!
//! The crate uses the node as a client does. It depends on the crates for wire formats and signatures, and on no code
//! that runs in the process of the node.

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
