//! The configuration of a node, and its derivation from the options.
//!
//! ```text
//! flags, environment ─▶ ┐
//! TOML file ──▶ file ─▶ ├─ settings ─▶ RunArgs ─▶ Config
//! profile ────────────▶ ┘
//! ```

#[cfg(feature = "cli")]
mod args;
#[cfg(feature = "cli")]
mod error;
#[cfg(feature = "cli")]
mod file;
mod origin;
pub(crate) mod profile;
#[cfg(feature = "cli")]
mod settings;
#[cfg(feature = "cli")]
#[cfg(test)]
mod tests;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use silica_crypto::Mnemonic;
use silica_protocol::{Address, ChainId, Qa};
use silica_scilla::rules::Edition;
use silica_state::IndexKinds;

#[cfg(feature = "cli")]
pub(crate) use self::{args::RunArgs, error::ConfigError, settings::Settings};
pub use self::{
    origin::{FileLocation, Origin, Origins},
    profile::Profile,
};
use crate::{
    acknowledge::Acknowledge,
    block_mode::BlockMode,
    http::{Access, HttpLimits},
    listen::{DEFAULT_LISTEN, WebSocketPort},
    methods::MethodList,
    rpc::RpcLimits,
};

/// Whether the node flushes a block to disk before it acknowledges the transactions of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Durability {
    /// The node flushes first. A crash loses no acknowledged block.
    Flush,
    /// The node does not flush. A crash can lose the newest blocks. Test suites can use this value.
    Relaxed,
}

/// When a node serves the methods for developers, or the studio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum When {
    /// Only if all servers listen on loopback addresses.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl When {
    /// Returns whether a node that listens at these addresses serves the methods for developers, or the studio.
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
    /// Data directory, or `None` for a chain in memory.
    pub data_dir: Option<PathBuf>,
    /// Address and port of the JSON-RPC server. With port 0, the system chooses the port.
    pub listen: SocketAddr,
    /// The separate port for subscribers. With `None`, the port is 4401 at the address of `listen` if this port is
    /// free. If the system chooses the port of `listen`, `None` means no separate port.
    pub websocket: Option<WebSocketPort>,
    /// The address of the pages for operators, or `None` for the address of `listen`.
    pub operator_listen: Option<SocketAddr>,
    /// The chain id, or `None` for the chain id of the data directory (222 for a new chain).
    pub chain_id: Option<ChainId>,
    /// The block mode.
    pub block_mode: BlockMode,
    /// The secret that clients need to pause the node, or `None` to disable the pause.
    pub pause_id: Option<String>,
    /// The network whose accounts a new chain has, if neither `accounts_file` nor `mnemonic` is set.
    pub profile: Profile,
    /// File of the accounts of a new chain, or `None` for the accounts of `mnemonic` or of the profile.
    pub accounts_file: Option<PathBuf>,
    /// The mnemonic of the accounts of a new chain, and the number of accounts.
    pub mnemonic: Option<(Mnemonic, u32)>,
    /// Addresses and balances of a new chain, in addition to the accounts of the profile, of the file or of the
    /// mnemonic. An address that these accounts also have gets this balance. The accounts of an existing chain do not
    /// change. If an accounts file or a mnemonic gives other genesis accounts, the start of an existing chain fails.
    pub genesis_accounts: Vec<(Address, Qa)>,
    /// Whether the banner has secret keys that are not public.
    pub show_keys: bool,
    /// File that the node writes when it is ready.
    pub ready_file: Option<PathBuf>,
    /// Number of virtual shards, or `None` for the number of the data directory (1 for a new chain).
    pub shards: Option<u32>,
    /// Number of Tx blocks in a DS epoch, or `None` for the number of the data directory (100 for a new chain).
    pub blocks_per_ds_epoch: Option<u64>,
    /// The release of the Scilla rules, or `None` for the release of the data directory (0.13 for a new chain).
    pub scilla_rules: Option<Edition>,
    /// Number of the latest Tx blocks for which the node serves state proofs.
    pub proof_window: u64,
    /// The kinds of entries of the history index.
    pub index: IndexKinds,
    /// Memory for cached trie pages of the state, and for cached results of `GetTransaction`, in bytes.
    pub cache_bytes: u64,
    /// Whether the node flushes a block to disk before it acknowledges the transactions of the block.
    pub durability: Durability,
    /// Network file of a network of several validators, or `None` for a single node. The option needs the feature
    /// `network`.
    pub network: Option<PathBuf>,
    /// Whether the node votes as a member of the network.
    pub validator: bool,
    /// When a member acknowledges a transaction.
    pub acknowledge: Acknowledge,
    /// Maximum number of pending transactions.
    pub max_pending: u32,
    /// Maximum number of pending transactions of one sender that need a lower nonce or more balance.
    pub max_gapped: u32,
    /// When the node serves methods for developers, which a real network does not have.
    pub developer: When,
    /// When the node serves the studio, its web page for browsers. [`When::On`] needs the feature `studio`.
    pub studio: When,
    /// Hosts, origins and proxies that the operator has listed.
    pub access: Access,
    /// The methods that the node serves, or `None` for all.
    pub methods: Option<MethodList>,
    /// Limits of the HTTP server.
    pub http: HttpLimits,
    /// Limits of one request.
    pub rpc: RpcLimits,
    /// The sources of the options, for error texts.
    pub origins: Origins,
}

impl Config {
    /// Returns the configuration of a chain in memory, at a port that the system chooses. For tests.
    pub fn ephemeral() -> Self {
        Self { data_dir: None, listen: (Ipv4Addr::LOCALHOST, 0).into(), ..Self::default() }
    }

    /// Returns the configuration of a chain in `dir`, at a port that the system chooses.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self { data_dir: Some(dir.into()), ..Self::ephemeral() }
    }
}

impl Default for Config {
    /// Returns the configuration of `silica` without arguments.
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
            genesis_accounts: Vec::new(),
            show_keys: false,
            ready_file: None,
            shards: None,
            blocks_per_ds_epoch: None,
            scilla_rules: None,
            proof_window: 50,
            index: IndexKinds::ALL,
            cache_bytes: 256 << 20,
            durability: Durability::Flush,
            network: None,
            validator: false,
            acknowledge: Acknowledge::Relayed,
            max_pending: 100_000,
            max_gapped: 64,
            developer: When::Auto,
            studio: When::Auto,
            access: Access::default(),
            methods: None,
            http: HttpLimits::default(),
            rpc: RpcLimits::default(),
            origins: Origins::default(),
        }
    }
}
