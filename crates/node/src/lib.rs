//! A Zilliqa node in one process: HTTP, JSON-RPC, configuration and time around a [`chain`].
//!
//! ```
//! use silica_node::Node;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let node = Node::builder().start().await?;
//! let block: String = node.request("GetNumTxBlocks", [""]).await?;
//! println!("block {block} at {}", node.url());
//! node.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Items by task
//!
//! | Task | Item |
//! |---|---|
//! | Start a node in a test or a program | [`Node::builder`] |
//! | Set further options | [`Config`], [`HttpLimits`], [`RpcLimits`], [`Access`] |
//! | Call a method without a socket | [`RunningNode::request`] |
//! | Find the URL and the funded accounts | [`RunningNode::url`], [`RunningNode::accounts`] |
//! | Read blocks, accounts and transactions without JSON | [`RunningNode::chain`] |
//! | Stop a node | [`RunningNode::stop`], or its drop |
//! | Check, rebuild, dump and load a data directory | [`check_db`], [`continue_db_check`], [`rebuild_db`], [`dump_db`], [`load_db`] |
//! | Export a data directory as JSON lines | [`export_db`] |
//! | Generate a client | [`openrpc`] |
//!
//! # Features
//!
//! - `cli` (on by default): the binary `silica` with its command line, in the module `cli`. A program that embeds a
//!   node does not need it.
//! - `network`: the agreement of a validator, with the consensus engine. It includes `cli`.
//! - `studio` (on by default): the files of the studio, the web page for browsers. Without it, the node serves no
//!   studio.
//!
//! # Modules
//!
//! A module imports modules of lower layers only. Code for tests can import any module.
//!
//! Layers, lowest first:
//!
//! - `acknowledge`, `batch_queue`, `block_hashes`, `block_mode`, `clock`, `files`, `head`, `listen`, `log_filter`,
//!   `settings`:
//!   - `acknowledge` has the events after which a member of a network acknowledges a transaction.
//!   - `batch_queue` has the batches of transactions of other members.
//!   - `block_hashes` finds a block by its hash.
//!   - `block_mode` has the block modes, and `clock` has the time of the node.
//!   - `files` opens and creates files that other users cannot replace.
//!   - `head` has the chain at the head that a request reads.
//!   - `log_filter` has the filters for logs of Ethereum.
//!   - `listen` has the listen addresses, and `settings` has the settings that clients can read.
//! - `metrics`, `parent`, `progress`, `protection`, `relay`, `request_id`, `statistics`, `terminal`:
//!   - `metrics` has the metrics for Prometheus, and `statistics` computes rates.
//!   - `parent` detects the end of the parent process.
//!   - `progress` and `request_id` write progress and request ids to the log.
//!   - `protection` protects secrets in memory and files.
//!   - `relay` sends transactions to the other members of a network.
//!   - `terminal` escapes control characters in output.
//! - `banner`, `blocking`, `data_dir`, `http`, `ready_file`, `telemetry`:
//!   - `banner` has the facts about a running node, and `ready_file` writes them to a file.
//!   - `blocking` has the pools of blocking threads.
//!   - `data_dir` has the files of a chain.
//!   - `http` has the HTTP server with its limits.
//!   - `telemetry` starts the log.
//! - `driver`, `home`, `maintenance`:
//!   - `driver` runs block production, and has the handle for requests.
//!   - `home` has the page for browsers.
//!   - `maintenance` checks and rebuilds data directories.
//! - `dump`: a chain in one file.
//! - `export`: the blocks, transactions and events of a chain as JSON lines.
//! - `rpc`: the response to a request body, single or batch. The method table is an argument.
//! - `methods`: the implementation of each method, in one file for each family; the method table, and the
//!   [OpenRPC document](openrpc).
//! - `client`, `config`, `subscription`:
//!   - `client` has the commands that send requests to a node.
//!   - `config` has the options of a node and its [`Config`].
//!   - `subscription` has WebSocket sessions and their notifications.
//! - `endpoint`, `network`:
//!   - `endpoint` has JSON-RPC, subscriptions and pages behind the server.
//!   - `network` has the commands for the file of a network of several validators.
//! - `startup`: [`Node::start`] opens a chain, and starts the driver and the server; [`RunningNode::stop`] stops them.
//! - `builder`, `cli`: `builder` has the builder of a node, and `cli` has the subcommands.
//!
//! # Invariants
//!
//! - This crate has the sockets for clients and the clock of the chain. It has no rules for the creation of blocks or
//!   the validity of transactions.
//! - A request reads one snapshot. Only the chain stores the published head. A query does not wait for the block that
//!   is being made. Only queries about pending transactions take the lock of the pool, for a look-up. Queries that read
//!   whole blocks or compute old states run on blocking threads.
//! - A request that panics gets an internal error, and has no effect on other requests. The log has the details of a
//!   fault of the node, and the client gets none of them.
//! - The server and the envelope do not depend on the methods. A method is one struct and one row of the table.

mod acknowledge;
mod banner;
#[cfg(feature = "network")]
mod batch_queue;
mod block_hashes;
mod block_mode;
mod blocking;
mod builder;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
mod client;
mod clock;
mod config;
mod data_dir;
mod driver;
mod dump;
mod endpoint;
mod export;
mod files;
mod head;
mod home;
mod http;
mod listen;
mod log_filter;
mod maintenance;
mod methods;
mod metrics;
#[cfg(feature = "cli")]
mod network;
#[cfg(feature = "cli")]
mod parent;
mod progress;
#[cfg(feature = "cli")]
mod protection;
mod ready_file;
#[cfg(feature = "network")]
mod relay;
mod request_id;
mod rpc;
mod settings;
mod startup;
mod statistics;
mod subscription;
#[cfg(feature = "cli")]
mod telemetry;
#[cfg(feature = "cli")]
mod terminal;

pub use silica_chain as chain;
pub use silica_crypto as crypto;
pub use silica_protocol as protocol;

pub use crate::{
    acknowledge::Acknowledge,
    banner::{Banner, BannerForm, FundedAccount},
    block_mode::{BlockMode, BlockModeError},
    builder::NodeBuilder,
    config::{Config, Durability, FileLocation, Origin, Origins, Profile, When},
    data_dir::DataDirError,
    dump::{DumpError, DumpFault, DumpReport, NotLoaded, dump_db, load_db},
    export::{ExportError, ExportRange, ExportReport, export_db},
    files::UntrustedFile,
    http::{Access, Host, HttpLimits, List, ListError, Network, PageOrigin},
    listen::WebSocketPort,
    maintenance::{Continued, DbReport, MaintenanceError, check_db, continue_db_check, rebuild_db},
    methods::{MethodList, MethodListError, openrpc},
    ready_file::{ReadyFile, ReadyFileError},
    rpc::RpcLimits,
    startup::{Node, RequestError, RunningNode, StartError, StopError},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
