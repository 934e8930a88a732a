//! The configuration of a node, and the options that give it.
//!
//! ```text
//! flags, environment ─▶ ┐
//! TOML file ──▶ file ─▶ ├─ settings ─▶ RunArgs ─▶ Config
//! profile ────────────▶ ┘
//! ```

mod args;
mod error;
mod file;
mod mnemonic;
mod origin;
pub(crate) mod profile;
mod settings;
#[cfg(test)]
mod tests;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use clap::ValueEnum;
use silica_protocol::ChainId;
use silica_scilla::rules::Edition;

pub use self::{
    args::RunArgs,
    error::ConfigError,
    mnemonic::{Mnemonic, MnemonicError},
    origin::{FileLocation, Origin, Origins},
    profile::Profile,
    settings::Settings,
};
use crate::{
    block_mode::BlockMode,
    http::{Access, HttpLimits},
    listen::{DEFAULT_LISTEN, WebSocketPort},
    methods::MethodList,
    rpc::RpcLimits,
};

/// Whether a block is flushed to disk before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// Yes; a crash loses nothing that was acknowledged.
    Flush,
    /// No; a crash may lose the newest blocks. For test suites.
    Relaxed,
}

/// Whether the node answers methods that do what no client of a real network can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Developer {
    /// If only this machine can reach them.
    Auto,
    /// Yes, for every client.
    On,
    /// No.
    Off,
}

impl Developer {
    /// Returns whether a node that listens at these addresses answers them.
    pub(crate) fn is_on(self, listening: &[SocketAddr]) -> bool {
        match self {
            Self::Auto => listening.iter().all(|addr| addr.ip().to_canonical().is_loopback()),
            Self::On => true,
            Self::Off => false,
        }
    }
}

/// The configuration of a node.
#[derive(Clone, Debug)]
pub struct Config {
    /// Directory that holds the chain, or `None` to keep it in memory.
    pub data_dir: Option<PathBuf>,
    /// Address and port of the JSON-RPC server; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The separate port for subscribers. `None` means port 4401 at the address of `listen` if that port is free, and
    /// no separate port if the system chooses the port of `listen`.
    pub websocket: Option<WebSocketPort>,
    /// The address of the pages for operators, or `None` for the address of JSON-RPC.
    pub operator_listen: Option<SocketAddr>,
    /// Identity of the network, or `None` for that of the data directory.
    pub chain_id: Option<ChainId>,
    /// When the node makes blocks.
    pub block_mode: BlockMode,
    /// The secret that clients need to pause the node, or `None` to disable the pause.
    pub pause_id: Option<String>,
    /// The network whose accounts a new chain has, unless others are given.
    pub profile: Profile,
    /// Accounts of a new chain, or `None` for those of the profile.
    pub accounts_file: Option<PathBuf>,
    /// Words from which the accounts of a new chain are derived, with the count of accounts.
    pub mnemonic: Option<(Mnemonic, u32)>,
    /// Whether the banner shows secret keys that are not published.
    pub show_keys: bool,
    /// File that the node writes once it is ready.
    pub ready_file: Option<PathBuf>,
    /// Virtual shards, or `None` for the number of the data directory.
    pub shards: Option<u32>,
    /// Tx blocks for each DS block, or `None` for the number of the data directory.
    pub blocks_per_ds_epoch: Option<u64>,
    /// The Scilla rules of contracts, or `None` for those of the data directory.
    pub scilla_rules: Option<Edition>,
    /// Latest Tx blocks whose state can be proved.
    pub proof_window: u64,
    /// Memory for recently used state, in bytes.
    pub cache_bytes: u64,
    /// Whether a block is flushed to disk before it is acknowledged.
    pub durability: Durability,
    /// Transactions that may be pending at once.
    pub max_pending: u32,
    /// Pending transactions of one sender that need a lower nonce or more balance.
    pub max_gapped: u32,
    /// Whether the node answers methods for developers.
    pub developer: Developer,
    /// Hosts and origins that may call these methods, and trusted proxies.
    pub access: Access,
    /// The methods that the node answers, or `None` for all.
    pub methods: Option<MethodList>,
    /// Limits of the HTTP server.
    pub http: HttpLimits,
    /// Limits of one request.
    pub rpc: RpcLimits,
    /// The sources of the options, for texts of errors.
    pub origins: Origins,
}

impl Config {
    /// A chain in memory behind a port that the system chooses, for tests.
    pub fn ephemeral() -> Self {
        Self { data_dir: None, listen: (Ipv4Addr::LOCALHOST, 0).into(), ..Self::default() }
    }

    /// A chain in `dir` behind a port that the system chooses.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self { data_dir: Some(dir.into()), ..Self::ephemeral() }
    }
}

impl Default for Config {
    /// The configuration of `silica` without arguments.
    fn default() -> Self {
        Self {
            data_dir: Some("silica-data".into()),
            listen: DEFAULT_LISTEN,
            websocket: None,
            operator_listen: None,
            chain_id: None,
            block_mode: BlockMode::Instant,
            pause_id: None,
            profile: Profile::Isolated,
            accounts_file: None,
            mnemonic: None,
            show_keys: false,
            ready_file: None,
            shards: None,
            blocks_per_ds_epoch: None,
            scilla_rules: None,
            proof_window: 50,
            cache_bytes: 256 << 20,
            durability: Durability::Flush,
            max_pending: 100_000,
            max_gapped: 64,
            developer: Developer::Auto,
            access: Access::default(),
            methods: None,
            http: HttpLimits::default(),
            rpc: RpcLimits::default(),
            origins: Origins::default(),
        }
    }
}
