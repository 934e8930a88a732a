//! A Zilliqa node in one process: HTTP, JSON-RPC, configuration and time around a [chain](silica_chain).
//!
//! ```
//! use silica_node::{Config, Node};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let node = Node::start(Config::ephemeral()).await?;
//! println!("listening on {}", node.addr());
//! node.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Modules, in reading order
//!
//! - `config`: the command line, and the [`Config`] that a node is started with; `settings`: which value each option has,
//!   of flag, environment, TOML file and `profile`; `mnemonic`: accounts from words.
//! - `startup`: [`Node::start`] opens a `data_dir` and a chain, starts the `driver` and the server, and has a
//!   [`Banner`] to show; [`RunningNode::stop`] undoes it.
//! - `files`: how files of a data directory are created, checked and read; `protection`: what other processes of the host
//!   can see of this one.
//! - `ready_file` and `parent`: what a program that starts the node needs to find it, and not to leave it behind.
//! - `driver`: the loop that makes blocks, on a thread of its own, and the handle that requests have of the node;
//!   `pause` is what keeps it from making any.
//! - `http`: connections, bodies and their bounds; it knows no JSON.
//! - `rpc`: from the bytes of a body to the bytes of its answer; the `method` table, what callers may write as
//!   `params`, which `error` gets which code, and the [OpenRPC document](openrpc) of it all.
//! - `subscription`: WebSocket connections and what they are told of each block; `endpoint` puts it beside `rpc`, and
//!   `home`, the page for browsers.
//! - `methods`: what each method does, one file per family; `statistics` has their rates.
//! - `clock`, `telemetry` and `progress`: the time, the log, and how far something is that takes long. `request_id`: the
//!   name of a request in answer and log; `metrics`: what is counted, for Prometheus.
//! - `maintenance`: checking and rebuilding a data directory; `load`: a load for measuring a node; `proof`: checking
//!   proofs of state; `cli`: commands that ask a node; `client`: the HTTP client of them all; `terminal`: what others wrote,
//!   as it can be shown; `manual`: completions and manual pages.
//!
//! # Invariants
//!
//! - This is the only crate with sockets, tasks, threads that wait for them, a clock and randomness. It does not know
//!   how a block is made, or when a transaction is valid.
//! - A request is answered from one snapshot, which the driver replaces as a whole. Reading the chain waits for no block
//!   being made; only questions about waiting transactions take the pool's lock, for a look-up. What reads whole
//!   blocks or computes old states again does so on a thread of its own.
//! - A request that panics is answered as an internal error and harms no other. What is our own fault is logged in full
//!   and told to nobody.
//! - The transport and the envelope know no method; a method is one struct and one row.

mod banner;
mod block_hashes;
mod block_mode;
mod blocking;
mod cli;
mod client;
mod clock;
mod config;
mod data_dir;
mod driver;
mod dump;
mod endpoint;
mod files;
mod head;
mod home;
mod http;
mod listen;
mod maintenance;
mod methods;
mod metrics;
mod parent;
mod progress;
mod protection;
mod ready_file;
mod request_id;
mod rpc;
mod startup;
mod statistics;
mod subscription;
mod telemetry;
mod terminal;

pub use crate::{
    banner::{Banner, BannerForm, FundedAccount},
    block_mode::{BlockMode, BlockModeError},
    cli::{Cli, Command, ConfigCommand, DbArgs, DbCommand, completions, man_page, usage_error, write_man_pages},
    client::{
        AccountCommand, AddressArgs, AmountError, Answer, AnswerError, Assignment, BalanceArgs, BlockArgs, CallArgs,
        ClientCommand, ClientError, DeployArgs, GetProofArgs, KeyArgs, LoadArgs, LoadError, LoadReport, NewArgs,
        NodeArgs, NodeUrl, NodeUrlError, OrderArgs, ParamArgs, ProofCommand, ProofReport, RpcArgs, SendArgs, StateArgs,
        TxArgs, Variable, VerifyArgs, VerifyError, WhichBlock, client, get_proof, hide_keys, load, verify_proof,
    },
    config::{
        Config, ConfigError, Developer, Durability, Mnemonic, MnemonicError, Origin, Origins, Place, Profile, RunArgs,
        Settings,
    },
    data_dir::DataDirError,
    dump::{DumpError, DumpFault, DumpReport, NotLoaded, dump_db, load_db},
    files::UntrustedFile,
    http::{Access, Host, HttpLimits, List, ListError, Network, PageOrigin},
    listen::WebSocketPort,
    maintenance::{DbReport, MaintenanceError, check_db, rebuild_db},
    methods::{MethodList, MethodListError, openrpc},
    parent::{LivingParent, Parent, ParentError},
    protection::{protect_files, protect_memory},
    ready_file::{ReadyFile, ReadyFileError},
    rpc::RpcLimits,
    startup::{Node, RunningNode, StartError, StopError},
    telemetry::{FilterError, LogFormat, init as init_telemetry},
};
