//! What the end-to-end tests share: a real `silica` process in a directory of its own, HTTP written by hand so that
//! it can also be written badly, accounts that sign, and the shapes of the documented answers.
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
//! - [`node`]: starting, stopping and killing the process, and asking it.
//! - [`http`]: one connection, byte by byte if need be.
//! - [`wallet`]: keys, and the transactions they sign.
//! - [`chain`]: everything a client can learn of a chain, to be compared.
//! - [`dice`]: chance that can be repeated.
//! - [`patience`]: how long a process is waited for.
//! - [`root`]: what only root can do, and what is done about it elsewhere.
//! - [`schema`]: whether a value is what the description of the interface says, and values that are.
//! - [`shape`]: whether an answer looks like a documented one.
//!
//! It drives the node from outside only: it depends on the wire formats and on signatures, and on nothing that runs
//! in the process.

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
