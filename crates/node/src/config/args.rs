//! The options of a node, in the form of the command line, and their conversion to a [`Config`].
//!
//! Each field of [`RunArgs`] is a flag and an environment variable. Each field except `config` is also a key of the
//! TOML file. `silica config print` prints the options, and `--help` describes them. [`Settings`](super::Settings)
//! applies the precedence of the sources.

use std::{ffi::OsStr, net::SocketAddr, num::NonZeroU32, path::PathBuf, time::Duration};

use clap::{
    Arg, Args, Command,
    builder::{BoolishValueParser, TypedValueParser},
    error::{ContextKind, ContextValue, ErrorKind},
    value_parser,
};
use silica_chain::config::MAX_SHARDS;
use silica_crypto::{Mnemonic, MnemonicError};
use silica_protocol::ChainId;
use silica_scilla::rules::Edition;
use silica_state::IndexKinds;
use zeroize::Zeroizing;

use super::{Config, Durability, Origins, Profile, When};
use crate::{
    acknowledge::Acknowledge,
    banner::BannerForm,
    block_mode::BlockMode,
    http::{Access, Host, HttpLimits, List, Network, PageOrigin},
    listen::{DEFAULT_LISTEN, WebSocketPort, socket_address},
    methods::MethodList,
    parent::Parent,
    rpc::RpcLimits,
    telemetry::LogFormat,
};

/// Headings of options in `--help`. Options without a heading come first.
const FOR_PROGRAMS: &str = "For programs that start the node";
const NEW_CHAIN: &str = "Chain";
const VALIDATOR: &str = "Network of several validators";
const STORAGE: &str = "Storage";
const LIMITS: &str = "Limits";
const LOG: &str = "Log and stop";

/// Options of the node.
///
/// Precedence of values: flag, environment, TOML file, profile.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    /// Network of the node. The network determines the accounts of a new chain, and the defaults of some options, such
    /// as `--chain-id`.
    #[arg(long, value_name = "NAME", default_value = "isolated", env = "SILICA_PROFILE")]
    pub profile: Profile,
    /// TOML file of options. Its keys are the flags without `--`.
    #[arg(long, value_name = "FILE", env = "SILICA_CONFIG")]
    pub config: Option<PathBuf>,
    /// Directory of the chain. The node creates the directory if it does not exist.
    #[arg(long, value_name = "DIR", default_value = "silica-data", env = "SILICA_DATA_DIR")]
    pub data_dir: PathBuf,
    /// Keep the chain in memory only. A stop of the node deletes the chain.
    #[arg(long, value_parser = BoolishValueParser::new(), env = "SILICA_EPHEMERAL")]
    pub ephemeral: bool,
    /// Address and port of the JSON-RPC server.
    #[arg(long, value_name = "ADDR:PORT", default_value_t = DEFAULT_LISTEN, value_parser = socket_address,
          env = "SILICA_LISTEN")]
    pub listen: SocketAddr,
    /// Address and port of the second server, for subscriptions, or `off` [default: port 4401 at the address of
    /// `--listen`, if this port is free]. Both servers accept JSON-RPC over HTTP and WebSocket, and subscriptions.
    #[arg(long, value_name = "ADDR:PORT", env = "SILICA_WEBSOCKET")]
    pub websocket: Option<WebSocketPort>,
    /// Address and port of a separate server for the pages `/metrics`, `/ready` and `/health` [default: none]. With
    /// this option, the JSON-RPC server serves only `/health` of these pages.
    #[arg(long, hide_short_help = true, value_name = "ADDR:PORT", value_parser = socket_address,
          env = "SILICA_OPERATOR_LISTEN")]
    pub operator_listen: Option<SocketAddr>,
    /// Chain id [default: the chain id of the data directory; 222 for a new directory].
    #[arg(long, value_name = "ID", env = "SILICA_CHAIN_ID")]
    pub chain_id: Option<ChainId>,
    /// When the node makes blocks: `instant` (with each transaction), `interval=MS` (every MS milliseconds),
    /// `instant+interval=MS` (with each transaction, and an empty block every MS milliseconds), `manual` (with
    /// `IncreaseBlocknum` or `silica_mine`), or `manual-immediate`. In the last mode, each transaction gets a block, but
    /// only `IncreaseBlocknum` and `silica_mine` increase the block number that contracts read.
    #[arg(long, value_name = "MODE", default_value = "instant", env = "SILICA_BLOCK_MODE")]
    pub block_mode: BlockMode,
    /// Secret that `TogglePause` and `CheckPause` require [default: no secret; both methods are disabled].
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "ID", env = "SILICA_PAUSE_ID", hide_env_values = true)]
    pub pause_id: Option<String>,
    /// File of the accounts of a new chain, in the format of the isolated server [default: the accounts of the
    /// profile].
    #[arg(long, help_heading = NEW_CHAIN, value_name = "FILE", env = "SILICA_ACCOUNTS_FILE")]
    pub accounts_file: Option<PathBuf>,
    /// Mnemonic (BIP-39) of the accounts of a new chain, beginning with the path m/44'/313'/0'/0/0. Other users of
    /// this machine can read the command line: put the mnemonic into the environment or the TOML file.
    #[arg(long, help_heading = NEW_CHAIN, value_name = "WORDS", hide_env_values = true, value_parser = WordsParser, env = "SILICA_MNEMONIC")]
    pub mnemonic: Option<Mnemonic>,
    /// Number of accounts from the mnemonic.
    #[arg(long, help_heading = NEW_CHAIN, hide_short_help = true, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(1..=1_000),
          env = "SILICA_ACCOUNTS")]
    pub accounts: u32,
    /// Print the secret keys of all genesis accounts at the start, including keys that are not public. The terminal,
    /// the ready file, and any copy of the output then have the keys.
    #[arg(long, help_heading = NEW_CHAIN, value_parser = BoolishValueParser::new(), env = "SILICA_SHOW_KEYS")]
    pub show_keys: bool,
    /// Number of virtual shards of a new chain [default: 1].
    #[arg(long, help_heading = NEW_CHAIN, hide_short_help = true, value_name = "N", value_parser = value_parser!(u32).range(1..=i64::from(MAX_SHARDS)),
          env = "SILICA_SHARDS")]
    pub shards: Option<u32>,
    /// Number of Tx blocks in each DS epoch of a new chain [default: 100].
    #[arg(long, help_heading = NEW_CHAIN, hide_short_help = true, value_name = "N", value_parser = value_parser!(u64).range(2..), env = "SILICA_BLOCKS_PER_DS_EPOCH")]
    pub blocks_per_ds_epoch: Option<u64>,
    /// Edition of the Scilla rules of a new chain: 0.13, 0.11 or `latest` [default: the edition of the data directory;
    /// 0.13 for a new directory].
    #[arg(long, help_heading = NEW_CHAIN, hide_short_help = true, value_name = "RELEASE", env = "SILICA_SCILLA_RULES")]
    pub scilla_rules: Option<Edition>,
    /// Network file: the node is a member of this network. See `silica network`. Needs a program with the feature
    /// `network`.
    #[arg(long, help_heading = VALIDATOR, hide_short_help = true, value_name = "FILE", env = "SILICA_NETWORK")]
    pub network: Option<PathBuf>,
    /// Vote as a member of the network. A node with `--network` does not start without this option: two processes that
    /// vote with the key of one member contradict each other.
    #[arg(long, help_heading = VALIDATOR, hide_short_help = true, value_parser = BoolishValueParser::new(), env = "SILICA_VALIDATOR")]
    pub validator: bool,
    /// When a member acknowledges a transaction. With `relayed`: when a third of the other members have confirmed it,
    /// or after 250 ms. With `pool`: when the pool of this member has it. With `block`: when its block is committed, or
    /// after 30 s.
    #[arg(long, help_heading = VALIDATOR, hide_short_help = true, value_name = "WHEN", default_value = "relayed", hide_possible_values = true, env = "SILICA_ACKNOWLEDGE")]
    pub acknowledge: Acknowledge,
    /// Number of the latest Tx blocks for which the node serves state proofs.
    #[arg(long, help_heading = STORAGE, hide_short_help = true, value_name = "N", default_value_t = 50, value_parser = value_parser!(u64).range(50..=10_000),
          env = "SILICA_PROOF_WINDOW")]
    pub proof_window: u64,
    /// Kinds of the history index, separated by commas, or `off`. The kinds are `addresses` for the transactions of an
    /// address, `events` for Scilla events, `blocks` for blocks by hash, and `balances` for balances after earlier
    /// blocks. Without a kind, the node reads the stored blocks.
    #[arg(long, help_heading = STORAGE, hide_short_help = true, value_name = "KINDS", default_value = "addresses,events,blocks,balances",
          env = "SILICA_INDEX")]
    pub index: IndexKinds,
    /// Memory for cached trie pages of the state, and for cached results of `GetTransaction` (1/32 of it), in MiB.
    #[arg(long, help_heading = STORAGE, hide_short_help = true, value_name = "MB", default_value_t = 256, value_parser = value_parser!(u64).range(8..=1_048_576),
          env = "SILICA_CACHE_MB")]
    pub cache_mb: u64,
    /// Whether the node flushes a block to disk before it acknowledges the transactions of the block.
    #[arg(long, help_heading = STORAGE, hide_short_help = true, value_name = "MODE", default_value = "flush", env = "SILICA_DURABILITY")]
    pub durability: Durability,
    /// Maximum size of a request body, in bytes.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "BYTES", default_value_t = 5 * 1024 * 1024, env = "SILICA_MAX_BODY_BYTES")]
    pub max_body_bytes: usize,
    /// Memory for large request bodies and responses of all connections together, in MiB. If no memory is free, a
    /// request waits. A response that the node does not send in chunks has at most half of this memory.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "MB", default_value_t = 64, value_parser = value_parser!(u32).range(1..=1_048_576),
          env = "SILICA_MAX_BODIES_MB")]
    pub max_bodies_mb: u32,
    /// Maximum number of open connections. Above the limit, a new connection waits, and the node closes idle
    /// connections.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 900, value_parser = value_parser!(u32).range(1..),
          env = "SILICA_MAX_CONNECTIONS")]
    pub max_connections: u32,
    /// Maximum number of pending transactions. In a full pool, a transaction with a higher gas price can evict
    /// another transaction.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 100_000, value_parser = value_parser!(u32).range(1..=10_000_000),
          env = "SILICA_MAX_PENDING")]
    pub max_pending: u32,
    /// Maximum number of pending transactions of one sender that need a lower nonce or more balance.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 64, value_parser = value_parser!(u32).range(1..=1_000),
          env = "SILICA_MAX_GAPPED")]
    pub max_gapped: u32,
    /// Whether the node serves methods for developers, which a real network does not have: `auto` (only if all servers
    /// listen on this machine), `on`, or `off`.
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_possible_values = true, env = "SILICA_DEVELOPER")]
    pub developer: When,
    /// Whether the node serves Silica Studio, its web page for browsers, at the path `/studio/`: `auto` (only if all
    /// servers listen on this machine), `on`, or `off`.
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_possible_values = true, env = "SILICA_STUDIO")]
    pub studio: When,
    /// Values of the header `Host`, in addition to loopback, with which clients can call methods for developers, and
    /// read `/metrics` and the studio: names or addresses, separated by commas. `/metrics` and the studio also accept
    /// every IP address as `Host`.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "HOSTS", env = "SILICA_ALLOWED_HOSTS")]
    pub allowed_hosts: Option<List<Host>>,
    /// Origins, in addition to loopback, whose web pages can call methods for developers, such as
    /// `https://ide.example`, separated by commas.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "ORIGINS", env = "SILICA_ALLOWED_ORIGINS")]
    pub allowed_origins: Option<List<PageOrigin>>,
    /// Methods that the node serves, separated by commas: names, or prefixes of names, such as `Get*` [default: all
    /// methods].
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "METHODS", env = "SILICA_METHODS")]
    pub methods: Option<MethodList>,
    /// Maximum number of calls in one batch.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 1_000, value_parser = value_parser!(u32).range(1..),
          env = "SILICA_MAX_BATCH")]
    pub max_batch: u32,
    /// Maximum size of the response to a batch, in MiB. Calls above the limit get an error.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "MB", default_value_t = 25, value_parser = value_parser!(u32).range(1..=65_536),
          env = "SILICA_MAX_BATCH_ANSWER_MB")]
    pub max_batch_answer_mb: u32,
    /// Maximum time from the first byte of a request to its last, in seconds.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "SECONDS", default_value_t = 30, value_parser = value_parser!(u64).range(1..=86_400),
          env = "SILICA_REQUEST_TIMEOUT")]
    pub request_timeout: u64,
    /// Maximum time without progress on a connection, in seconds. After this time, the node closes a connection that is
    /// idle, or whose client does not read the response.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "SECONDS", default_value_t = 120, value_parser = value_parser!(u64).range(1..=86_400),
          env = "SILICA_IDLE_TIMEOUT")]
    pub idle_timeout: u64,
    /// Maximum rate of calls from one address, in calls per second. It is also the maximum burst. 0 means no limit. An
    /// expensive method counts as several calls.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 0,
          env = "SILICA_RATE_LIMIT")]
    pub rate_limit: u32,
    /// Addresses or networks of trusted proxies, separated by commas, such as 127.0.0.1,10.0.0.0/8. The header
    /// `X-Forwarded-For` or `Forwarded` of a trusted proxy has the address of the client.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "PROXIES",
          env = "SILICA_TRUSTED_PROXIES")]
    pub trusted_proxies: Option<List<Network>>,
    /// Form of the banner, which the node prints to standard output when it is ready: `text`, `json` (one line) or
    /// `none`.
    #[arg(long, help_heading = FOR_PROGRAMS, value_name = "FORM", default_value = "text", hide_possible_values = true,
          env = "SILICA_BANNER")]
    pub banner: BannerForm,
    /// File that the node writes when it is ready, and removes when it stops. The file has the JSON of `--banner json`.
    #[arg(long, help_heading = FOR_PROGRAMS, value_name = "FILE", env = "SILICA_READY_FILE")]
    pub ready_file: Option<PathBuf>,
    /// Stop when the parent process ends. With a PID, the node starts only if this process is its parent. Without a
    /// PID, the parent is the parent process at the start.
    #[arg(long, help_heading = FOR_PROGRAMS, value_name = "PID", num_args = 0..=1, require_equals = true,
          default_missing_value = "any", env = "SILICA_EXIT_WITH_PARENT")]
    pub exit_with_parent: Option<Parent>,
    /// Maximum time of an orderly stop, in seconds. After this time, the process exits.
    #[arg(long, help_heading = LOG, hide_short_help = true, value_name = "SECONDS", default_value_t = 30, value_parser = value_parser!(u64).range(1..=86_400),
          env = "SILICA_STOP_TIMEOUT")]
    pub stop_timeout: u64,
    /// Form of the log lines.
    #[arg(long, help_heading = LOG, hide_short_help = true, value_name = "FORM", default_value = "pretty", env = "SILICA_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// Log filter: LEVEL or MODULE=LEVEL, or several of them, separated by commas.
    #[arg(long, help_heading = LOG, value_name = "FILTER", default_value = "info", env = "SILICA_LOG")]
    pub log: String,
}

/// The flag of the mnemonic.
const FLAG: &str = "--mnemonic";

/// A parser of `--mnemonic` whose errors do not show the value. The parsers of other options show the value.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordsParser;

impl TypedValueParser for WordsParser {
    type Value = Mnemonic;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<Mnemonic, clap::Error> {
        let text = Zeroizing::new(value.to_string_lossy().into_owned());
        text.parse().map_err(|error: MnemonicError| {
            let text = format!("{FLAG}: {error}\n");
            let mut refused = clap::Error::raw(ErrorKind::ValueValidation, text).with_cmd(command);
            refused.insert(ContextKind::InvalidArg, ContextValue::String(FLAG.to_owned()));
            refused
        })
    }
}

impl From<RunArgs> for Config {
    fn from(args: RunArgs) -> Self {
        let bodies_bytes = usize::try_from(u64::from(args.max_bodies_mb) << 20).unwrap_or(usize::MAX);
        Self {
            data_dir: (!args.ephemeral).then_some(args.data_dir),
            listen: args.listen,
            websocket: args.websocket,
            operator_listen: args.operator_listen,
            chain_id: args.chain_id,
            block_mode: args.block_mode,
            pause_id: args.pause_id,
            profile: args.profile,
            accounts_file: args.accounts_file,
            mnemonic: args.mnemonic.map(|words| (words, args.accounts)),
            genesis_accounts: Vec::new(),
            show_keys: args.show_keys,
            ready_file: args.ready_file,
            shards: args.shards,
            blocks_per_ds_epoch: args.blocks_per_ds_epoch,
            scilla_rules: args.scilla_rules,
            proof_window: args.proof_window,
            index: args.index,
            cache_bytes: args.cache_mb << 20,
            durability: args.durability,
            network: args.network,
            validator: args.validator,
            acknowledge: args.acknowledge,
            max_pending: args.max_pending,
            max_gapped: args.max_gapped,
            developer: args.developer,
            studio: args.studio,
            access: Access {
                hosts: args.allowed_hosts.unwrap_or_default(),
                origins: args.allowed_origins.unwrap_or_default(),
                proxies: args.trusted_proxies.unwrap_or_default(),
            },
            methods: args.methods,
            http: HttpLimits {
                body_bytes: args.max_body_bytes,
                bodies_bytes,
                connections: usize::try_from(args.max_connections).unwrap_or(usize::MAX),
                request_timeout: Duration::from_secs(args.request_timeout),
                idle_timeout: Duration::from_secs(args.idle_timeout),
                each_second: NonZeroU32::new(args.rate_limit),
                grace: HttpLimits::default().grace.min(Duration::from_secs(args.stop_timeout) / 2),
                ..HttpLimits::default()
            },
            rpc: RpcLimits {
                batch: usize::try_from(args.max_batch).unwrap_or(usize::MAX),
                batch_answer_bytes: usize::try_from(u64::from(args.max_batch_answer_mb) << 20).unwrap_or(usize::MAX),
                answer_bytes: bodies_bytes.max(args.max_body_bytes) / 2,
            },
            origins: Origins::default(),
        }
    }
}
