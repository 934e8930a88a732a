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
//! # Modules
//!
//! A module imports modules of lower layers only. Code for tests can import any module.
//!
//! Layers, lowest first:
//!
//! - `block_hashes`, `block_mode`, `clock`, `files`, `head`, `listen`: search by block hash, the block mode, time, safe
//!   files, the published head of the chain, listen addresses.
//! - `metrics`, `parent`, `progress`, `protection`, `request_id`, `statistics`, `terminal`: metrics for Prometheus, the
//!   parent process, progress in the log, protection of secrets in memory and files, request ids, rates, safe output.
//! - `banner`, `blocking`, `data_dir`, `http`, `ready_file`, `telemetry`: the facts about a running node, the pools of
//!   blocking threads, the files of a chain, the HTTP server with its limits, the ready file, the log.
//! - `driver`, `home`, `maintenance`: the driver of block production, with its handle for requests; the page for
//!   browsers; checks and rebuilds of a data directory.
//! - `dump`: a chain in one file.
//! - `rpc`: the response to a request body, single or batch. The method table is an argument.
//! - `methods`: the implementation of each method, in one file for each family; the method table, and the
//!   [OpenRPC document](openrpc).
//! - `client`, `config`, `subscription`: commands that send requests to a node; the options of a node and its
//!   [`Config`]; WebSocket sessions and their notifications.
//! - `cli`, `endpoint`: the subcommands; JSON-RPC, subscriptions and pages behind the server.
//! - `startup`: [`Node::start`] opens a chain, and starts the driver and the server; [`RunningNode::stop`] stops them.
//!
//! # Invariants
//!
//! - This is the only crate with sockets, async tasks, a clock and random numbers. It has no rules for the creation of
//!   blocks or the validity of transactions.
//! - A request reads one snapshot. Only the chain stores the published head. A query does not wait for the block that
//!   is being made. Only queries about pending transactions take the lock of the pool, for a look-up. Queries that read
//!   whole blocks or compute old states run on blocking threads.
//! - A request that panics gets an internal error, and has no effect on other requests. The log has the details of a
//!   fault of the node, and the client gets none of them.
//! - The server and the envelope do not depend on the methods. A method is one struct and one row of the table.

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
        AccountCommand, AddressArgs, Answer, AnswerError, Assignment, BalanceArgs, BlockArgs, CallArgs,
        CertificateFault, ClientCommand, ClientError, DeployArgs, GetProofArgs, HttpError, KeyArgs, LoadArgs,
        LoadError, LoadReport, NewArgs, NodeArgs, NodeUrl, NodeUrlError, OrderArgs, ParamArgs, ProofCommand,
        ProofReport, RpcArgs, SendArgs, StateArgs, TxArgs, Variable, VerifyArgs, VerifyError, WhichBlock, client,
        get_proof, hide_keys, load, verify_proof,
    },
    config::{
        Config, ConfigError, Developer, Durability, FileLocation, Mnemonic, MnemonicError, Origin, Origins, Profile,
        RunArgs, Settings,
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
