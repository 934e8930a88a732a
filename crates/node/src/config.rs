//! Options and what they become: the command line, and the one struct that a node is started with.
//!
//! An option is a field of [`RunArgs`]; with that it is a flag, a variable of the environment and a key of the TOML file,
//! is printed by `silica config print` and described by `--help`. [`Settings`](crate::Settings) decides which of them
//! is heard.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, builder::BoolishValueParser, value_parser};
use clap_complete::Shell;
use silica_chain::config::MAX_SHARDS;
use silica_protocol::{Address, ChainId, HexError, StateRoot, VariableHash};
use silica_scilla::rules::Edition;

use crate::{
    banner::BannerForm,
    block_mode::BlockMode,
    cli::{ClientCommand, GetProofArgs},
    http::{Access, Host, HttpLimits, List, Network, PageOrigin},
    methods::MethodList,
    mnemonic::{Mnemonic, WordsParser},
    parent::Parent,
    profile::Profile,
    rpc::RpcLimits,
    settings::Origins,
    telemetry::LogFormat,
};

/// Headings under which `--help` lists options; those without one come first.
const FOR_PROGRAMS: &str = "For programs that start the node";
const NEW_CHAIN: &str = "Chain";
const STORAGE: &str = "Storage";
const LIMITS: &str = "Limits";
const LOG: &str = "Log and stop";

/// The end of `--help`.
const EXAMPLES: &str = "\
Examples:
  silica                                  a network of one, kept in ./silica-data
  silica --ephemeral                      the same, in memory only
  silica --block-mode interval=1000       a block each second
  silica --listen 127.0.0.1:0 --banner json --exit-with-parent
                                          for a test suite: any free port, facts as JSON
  silica account list                     the funded accounts of the node
  silica send ADDRESS 5 --test-account 1  a payment of 5 ZIL
  silica rpc GetBlockchainInfo            any method
  silica SUBCOMMAND --help                the options of a subcommand";

/// A Zilliqa node in one process: a network of one that speaks JSON-RPC.
///
/// Without a subcommand the node runs.
#[derive(Debug, Parser)]
#[command(name = "silica", version, args_conflicts_with_subcommands = true, max_term_width = 100,
          after_long_help = EXAMPLES)]
pub struct Cli {
    /// What to do; the node runs when nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to run the node.
    #[command(flatten)]
    pub run: RunArgs,
}

/// What the binary can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the node (the default).
    Run(RunArgs),
    /// Show the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check or rebuild a data directory that no node is using.
    #[command(subcommand)]
    Db(DbCommand),
    /// Send pre-signed payments to a node and report throughput and latency.
    Load(LoadArgs),
    /// Ask a node.
    #[command(flatten)]
    Client(ClientCommand),
    /// Ask for proofs of state, and check them.
    #[command(subcommand)]
    Proof(ProofCommand),
    /// Print the OpenRPC document of the interface.
    Openrpc,
    /// Print completions for a shell.
    Completions {
        /// For which one.
        shell: Shell,
    },
    /// Print the manual page.
    Man {
        /// Write it, and one for each subcommand, into this directory instead.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// What can be asked about the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print what the node would run with, as TOML, and where each value comes from.
    ///
    /// The output is a file that --config takes. Secrets are left out.
    Print(RunArgs),
}

/// How to run the node.
///
/// Of several places that give a value, the flag is heard first, then the environment, the TOML file, the profile.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Network to be, which sets chain id, port and accounts.
    #[arg(long, value_name = "NAME", default_value = "isolated", env = "SILICA_PROFILE")]
    pub profile: Profile,
    /// TOML file of further options, under the names of the flags without dashes in front.
    #[arg(long, value_name = "FILE", env = "SILICA_CONFIG")]
    pub config: Option<PathBuf>,
    /// Directory that holds the chain; made if it does not exist.
    #[arg(long, value_name = "DIR", default_value = "silica-data", env = "SILICA_DATA_DIR")]
    pub data_dir: PathBuf,
    /// Keep everything in memory and forget it at the end.
    #[arg(long, value_parser = BoolishValueParser::new(), env = "SILICA_EPHEMERAL")]
    pub ephemeral: bool,
    /// Address and port of the JSON-RPC server.
    #[arg(long, value_name = "ADDR:PORT", default_value_t = DEFAULT_LISTEN, value_parser = socket_address,
          env = "SILICA_LISTEN")]
    pub listen: SocketAddr,
    /// Another port, for subscribers, or off [default: port 4401 of the same address, if it is free]. Both ports speak
    /// JSON-RPC, over HTTP and as messages, and the subscription protocol.
    #[arg(long, value_name = "ADDR:PORT", env = "SILICA_WEBSOCKET")]
    pub websocket: Option<WebSocketPort>,
    /// Address and port of the pages `/metrics`, `/ready` and `/health` alone, which leave JSON-RPC's port then, but for
    /// `/health` [default: the port of JSON-RPC].
    #[arg(long, hide_short_help = true, value_name = "ADDR:PORT", value_parser = socket_address,
          env = "SILICA_OPERATOR_LISTEN")]
    pub operator_listen: Option<SocketAddr>,
    /// Identity of the network [default: that of the data directory, 222 for a new one].
    #[arg(long, value_name = "ID", env = "SILICA_CHAIN_ID")]
    pub chain_id: Option<ChainId>,
    /// When blocks are made: `instant` (with each transaction), `interval=MS`, `instant+interval=MS` (with each transaction
    /// and empty ones at the interval), `manual` (with `IncreaseBlocknum`), or `manual-immediate` (with each transaction,
    /// while only `IncreaseBlocknum` moves the block number that contracts read).
    #[arg(long, value_name = "MODE", default_value = "instant", env = "SILICA_BLOCK_MODE")]
    pub block_mode: BlockMode,
    /// What `TogglePause` and `CheckPause` have to be called with [default: nobody can pause the node].
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "ID", env = "SILICA_PAUSE_ID", hide_env_values = true)]
    pub pause_id: Option<String>,
    /// Accounts of a new chain, in the form of the isolated server [default: its published test accounts].
    #[arg(long, help_heading = NEW_CHAIN, value_name = "FILE", env = "SILICA_ACCOUNTS_FILE")]
    pub accounts_file: Option<PathBuf>,
    /// Words (BIP-39) of which a new chain has the accounts m/44'/313'/0'/0/0 and following. Others on this machine can
    /// read the command line: better to be in the environment or the TOML file.
    #[arg(long, help_heading = NEW_CHAIN, value_name = "WORDS", hide_env_values = true, value_parser = WordsParser, env = "SILICA_MNEMONIC")]
    pub mnemonic: Option<Mnemonic>,
    /// How many accounts the words give.
    #[arg(long, help_heading = NEW_CHAIN, hide_short_help = true, value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(1..=1_000),
          env = "SILICA_ACCOUNTS")]
    pub accounts: u32,
    /// Print the secret keys of the chain's accounts at the start, also those that are not published. The keys
    /// then stand in the terminal and in the ready file, and in a log that has the output.
    #[arg(long, help_heading = NEW_CHAIN, value_parser = BoolishValueParser::new(), env = "SILICA_SHOW_KEYS")]
    pub show_keys: bool,
    /// Virtual shards of a new chain [default: 1].
    #[arg(long, help_heading = NEW_CHAIN, hide_short_help = true, value_name = "N", value_parser = value_parser!(u32).range(1..=i64::from(MAX_SHARDS)),
          env = "SILICA_SHARDS")]
    pub shards: Option<u32>,
    /// Tx blocks for each DS block of a new chain [default: 100].
    #[arg(long, help_heading = NEW_CHAIN, hide_short_help = true, value_name = "N", value_parser = value_parser!(u64).range(2..), env = "SILICA_BLOCKS_PER_DS_EPOCH")]
    pub blocks_per_ds_epoch: Option<u64>,
    /// Release of the Scilla interpreter by whose rules a new chain runs contracts: 0.13, 0.11 or latest [default: that of
    /// the data directory, 0.13 for a new one].
    #[arg(long, help_heading = NEW_CHAIN, hide_short_help = true, value_name = "RELEASE", env = "SILICA_SCILLA_RULES")]
    pub scilla_rules: Option<Edition>,
    /// Latest Tx blocks whose state can be proved.
    #[arg(long, help_heading = STORAGE, hide_short_help = true, value_name = "N", default_value_t = 50, value_parser = value_parser!(u64).range(50..=10_000),
          env = "SILICA_PROOF_WINDOW")]
    pub proof_window: u64,
    /// Memory for recently used state, in megabytes.
    #[arg(long, help_heading = STORAGE, hide_short_help = true, value_name = "MB", default_value_t = 256, value_parser = value_parser!(u64).range(8..=1_048_576),
          env = "SILICA_CACHE_MB")]
    pub cache_mb: u64,
    /// Whether a block is flushed to disk before it is acknowledged.
    #[arg(long, help_heading = STORAGE, hide_short_help = true, value_name = "MODE", default_value = "flush", env = "SILICA_DURABILITY")]
    pub durability: Durability,
    /// Largest request body in bytes.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "BYTES", default_value_t = 5 * 1024 * 1024, env = "SILICA_MAX_BODY_BYTES")]
    pub max_body_bytes: usize,
    /// Memory for large request bodies and answers of all connections together, in megabytes; further ones wait. One answer
    /// that is made as a whole may take half of it.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "MB", default_value_t = 64, value_parser = value_parser!(u32).range(1..=1_048_576),
          env = "SILICA_MAX_BODIES_MB")]
    pub max_bodies_mb: u32,
    /// Connections open at once; further ones wait, and idle ones give way to them.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 900, value_parser = value_parser!(u32).range(1..),
          env = "SILICA_MAX_CONNECTIONS")]
    pub max_connections: u32,
    /// Transactions that may be pending at once; beyond it a better one takes the place of another.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 100_000, value_parser = value_parser!(u32).range(1..=10_000_000),
          env = "SILICA_MAX_PENDING")]
    pub max_pending: u32,
    /// Pending transactions of one sender that need a lower nonce or more balance.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 64, value_parser = value_parser!(u32).range(1..=1_000),
          env = "SILICA_MAX_GAPPED")]
    pub max_gapped: u32,
    /// Whether methods for developers are answered, which do what no client of a real network can do: `auto` (unless some
    /// port listens beyond this machine), `on`, or `off`.
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_possible_values = true, env = "SILICA_DEVELOPER")]
    pub developer: Developer,
    /// Hosts, beside loopback, under which methods for developers may be called and `/metrics` is read: names or addresses,
    /// separated by commas. `/metrics` is also read under every IP address.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "HOSTS", env = "SILICA_ALLOWED_HOSTS")]
    pub allowed_hosts: Option<List<Host>>,
    /// Origins, beside loopback, whose web pages may call methods for developers, as `https://ide.example`, separated by
    /// commas.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "ORIGINS", env = "SILICA_ALLOWED_ORIGINS")]
    pub allowed_origins: Option<List<PageOrigin>>,
    /// Methods that are answered, separated by commas: names, or beginnings of names as `Get*` [default: all].
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "METHODS", env = "SILICA_METHODS")]
    pub methods: Option<MethodList>,
    /// Calls in one batch.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 1_000, value_parser = value_parser!(u32).range(1..),
          env = "SILICA_MAX_BATCH")]
    pub max_batch: u32,
    /// Largest answer to a batch, in megabytes; calls beyond it are answered with an error.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "MB", default_value_t = 25, value_parser = value_parser!(u32).range(1..=65_536),
          env = "SILICA_MAX_BATCH_ANSWER_MB")]
    pub max_batch_answer_mb: u32,
    /// Time from the first byte of a request to its last, in seconds.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "SECONDS", default_value_t = 30, value_parser = value_parser!(u64).range(1..=86_400),
          env = "SILICA_REQUEST_TIMEOUT")]
    pub request_timeout: u64,
    /// Time that a connection may lie idle, or leave an answer unread, in seconds.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "SECONDS", default_value_t = 120, value_parser = value_parser!(u64).range(1..=86_400),
          env = "SILICA_IDLE_TIMEOUT")]
    pub idle_timeout: u64,
    /// Calls that one address may make each second, and as many at once; 0 for as many as it likes. Expensive methods count
    /// several times.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "N", default_value_t = 0,
          env = "SILICA_RATE_LIMIT")]
    pub rate_limit: u32,
    /// Proxies whose `X-Forwarded-For` or `Forwarded` says which address makes a call: addresses or networks, as
    /// 127.0.0.1,10.0.0.0/8.
    #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "PROXIES",
          env = "SILICA_TRUSTED_PROXIES")]
    pub trusted_proxies: Option<List<Network>>,
    /// In which form the node describes itself on standard output once it is ready: `text`, `json` (one line) or `none`.
    #[arg(long, help_heading = FOR_PROGRAMS, value_name = "FORM", default_value = "text", hide_possible_values = true,
          env = "SILICA_BANNER")]
    pub banner: BannerForm,
    /// File that the node writes once it is ready, with the same JSON as `--banner json`, and removes when it stops.
    #[arg(long, help_heading = FOR_PROGRAMS, value_name = "FILE", env = "SILICA_READY_FILE")]
    pub ready_file: Option<PathBuf>,
    /// Stop in good order when the process that started the node ends. With its number, a process that ended before the node
    /// looked is noticed in any case; without, it is the parent at the start.
    #[arg(long, help_heading = FOR_PROGRAMS, value_name = "PID", num_args = 0..=1, require_equals = true,
          default_missing_value = "any", env = "SILICA_EXIT_WITH_PARENT")]
    pub exit_with_parent: Option<Parent>,
    /// Time that stopping in good order may take, in seconds; then the process ends as it is.
    #[arg(long, help_heading = LOG, hide_short_help = true, value_name = "SECONDS", default_value_t = 30, value_parser = value_parser!(u64).range(1..=86_400),
          env = "SILICA_STOP_TIMEOUT")]
    pub stop_timeout: u64,
    /// What lines of the log look like.
    #[arg(long, help_heading = LOG, hide_short_help = true, value_name = "FORM", default_value = "pretty", env = "SILICA_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// What to log, as a level or as a list of module=level.
    #[arg(long, help_heading = LOG, value_name = "FILTER", default_value = "info", env = "SILICA_LOG")]
    pub log: String,
}

/// What can be done to a data directory.
#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// Verify every block, transaction and trie record.
    Check(DbArgs),
    /// Recreate the state from the blocks.
    Rebuild(DbArgs),
    /// Write the chain to one file.
    ///
    /// The file has blocks, parameters, accounts, waiting transactions, and the secret key of the node.
    Dump {
        /// Where to; nothing may be there.
        file: PathBuf,
        /// Which data directory.
        #[command(flatten)]
        args: DbArgs,
    },
    /// Make a data directory of a file that `dump` or `silica_dump` has written.
    ///
    /// All blocks are executed again, and the directory appears once their states are those of the file.
    Load {
        /// The file.
        file: PathBuf,
        /// Which data directory, which has to be new or empty.
        #[command(flatten)]
        args: DbArgs,
    },
}

/// Which data directory. [`Settings::data_dir`](crate::Settings::data_dir) has the answer.
#[derive(Debug, Args)]
pub struct DbArgs {
    /// TOML file of a node's options, whose data-dir is heard if nothing else names the directory.
    #[arg(long, value_name = "FILE", env = "SILICA_CONFIG")]
    pub config: Option<PathBuf>,
    /// Directory that holds the chain.
    #[arg(long, value_name = "DIR", default_value = "silica-data", env = "SILICA_DATA_DIR")]
    pub data_dir: PathBuf,
}

/// What can be done with proofs.
#[derive(Debug, Subcommand)]
pub enum ProofCommand {
    /// Check an answer of `GetStateProof` against the state root of a Tx block, and say what it proves.
    ///
    /// Nothing in the answer is trusted. Of an account the proof has balance, nonce, code hash and storage root; of a
    /// variable the stored value; or it proves that there is none.
    #[command(
        after_help = "Exit status: 0 the answer proves what is printed, 1 it proves nothing, 2 there was nothing \
                            to check: wrong use, an unreadable file, or a node that does not answer."
    )]
    Verify(VerifyArgs),
    /// Ask a node for a proof of a contract's variable, and print it as JSON.
    ///
    /// Nothing is checked: that is what `silica proof verify` does with the answer.
    Get(GetProofArgs),
}

/// Which proof, of what.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("source").args(["file", "url"]))]
#[command(group = ArgGroup::new("key").args(["variable", "variable_hash"]))]
#[command(group = ArgGroup::new("trusted").args(["root", "url"]).required(true).multiple(true))]
pub struct VerifyArgs {
    /// The answer as JSON, alone or in its envelope; standard input when nothing or - is said.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Ask this node for the block and for the proof.
    #[arg(long, value_name = "http://HOST:PORT", requires = "key")]
    pub url: Option<NodeUrl>,
    /// Number of the Tx block whose state is proved, or latest.
    #[arg(long, value_name = "NUMBER", default_value = "latest", requires = "url")]
    pub block: WhichBlock,
    /// `StateRootHash` of the Tx block; with --url, the node's block must have it too.
    #[arg(long, value_name = "HEX")]
    pub root: Option<StateRoot>,
    /// The account, in hexadecimal or as bech32.
    #[arg(long, value_name = "ADDRESS", value_parser = any_address)]
    pub address: Address,
    /// Name of the contract's variable.
    #[arg(long, value_name = "NAME", value_parser = variable_name)]
    pub variable: Option<String>,
    /// Key of the variable's map, without quotes; one for each map, from the outermost.
    #[arg(long, value_name = "KEY", requires = "variable", allow_hyphen_values = true)]
    pub index: Vec<String>,
    /// Hash of the variable's storage key, instead of its name.
    #[arg(long, value_name = "HEX")]
    pub variable_hash: Option<VariableHash>,
}

/// A node that speaks plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeUrl {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
}

/// Reason why text is not the address of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeUrlError {
    /// It has another form.
    #[error("expected http://HOST or http://HOST:PORT, with or without a path, got {got:?}")]
    Form {
        /// What came.
        got: String,
    },
    /// It asks for TLS.
    #[error(
        "expected http://HOST or http://HOST:PORT: TLS is not spoken here, so that {got:?} takes a proxy or a tunnel on this \
         machine"
    )]
    Tls {
        /// What came.
        got: String,
    },
}

impl FromStr for NodeUrl {
    type Err = NodeUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let uri: hyper::Uri = text.parse().ok()?;
            // What is asked for behind the path is no part of what is kept.
            let is_plain = uri.scheme_str() == Some("http") && uri.query().is_none();
            let host = uri.host().filter(|_| is_plain)?.to_owned();
            let port = match uri.authority()?.as_str().strip_prefix(&host)? {
                "" => 80,
                _ => uri.port_u16()?,
            };
            Some(Self { host, port, path: uri.path().to_owned() })
        };
        read().ok_or_else(|| {
            let got = text.to_owned();
            if text.starts_with("https:") { NodeUrlError::Tls { got } } else { NodeUrlError::Form { got } }
        })
    }
}

impl fmt::Display for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, path } = self;
        write!(f, "http://{host}:{port}{path}")
    }
}

/// A Tx block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichBlock {
    /// The latest one.
    Latest,
    /// The one with this number.
    Number(u64),
}

impl FromStr for WhichBlock {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "latest" => Ok(Self::Latest),
            number => number.parse().map(Self::Number).map_err(|_| "expected a block number or latest".to_owned()),
        }
    }
}

pub(crate) fn any_address(text: &str) -> Result<Address, String> {
    if text.starts_with("zil1") {
        return Address::from_bech32(text).map_err(|error| error.to_string());
    }
    text.parse().map_err(|error: HexError| error.to_string())
}

/// Takes what the name of a field can look like: anything else would be the key of something with another name.
pub(crate) fn variable_name(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name { Ok(text.to_owned()) } else { Err("expected letters, digits and underscores".to_owned()) }
}

/// What load to send.
#[derive(Clone, Debug, Args)]
pub struct LoadArgs {
    /// Node to send to.
    #[arg(long, value_name = "ADDR:PORT", default_value_t = DEFAULT_LISTEN, value_parser = socket_address)]
    pub target: SocketAddr,
    /// Payments to send, all senders together.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub payments: u32,
    /// Transfer tokens of a contract, which is deployed first, instead of money.
    #[arg(long)]
    pub tokens: bool,
    /// Accounts that send; they are funded first.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u32).range(1..=100_000))]
    pub senders: u32,
    /// Keep-alive connections.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = value_parser!(u32).range(1..=10_000))]
    pub connections: u32,
    /// Payments or transfers in one request.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=1_000))]
    pub batch: u32,
    /// Give up after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = value_parser!(u64).range(1..=86_400))]
    pub time_limit: u64,
    /// Allow a target that is not on this machine.
    #[arg(long)]
    pub allow_remote: bool,
}

/// Port of the subscription server, as the reference has it (`WEBSOCKET_PORT`).
pub(crate) const DEFAULT_WEBSOCKET_PORT: u16 = 4401;

/// Where subscribers have a port of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSocketPort {
    /// Nowhere.
    Off,
    /// Here; port 0 lets the system choose.
    At(SocketAddr),
}

impl FromStr for WebSocketPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            address => socket_address(address).map(Self::At).map_err(|error| format!("{error}; or off")),
        }
    }
}

/// Reads an address and a port. Names are not looked up: one may stand for several addresses, or for another one tomorrow.
fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected a numeric address and a port, as 127.0.0.1:5555 or [::1]:5555".to_owned())
}

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5555);

/// Whether a block is flushed to disk before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// Yes; a crash loses nothing that was acknowledged.
    Flush,
    /// No; a crash may lose the newest blocks. For test suites.
    Relaxed,
}

/// Whether methods are answered that do what no client of a real network can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Developer {
    /// If nobody but this machine can ask for them.
    Auto,
    /// Yes, whoever asks.
    On,
    /// No.
    Off,
}

impl Developer {
    /// Returns whether they are answered by a node that listens at these addresses.
    pub(crate) fn is_on(self, listening: &[SocketAddr]) -> bool {
        match self {
            Self::Auto => listening.iter().all(|addr| addr.ip().to_canonical().is_loopback()),
            Self::On => true,
            Self::Off => false,
        }
    }
}

/// Everything that starting a node needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// Directory that holds the chain, or `None` to keep it in memory.
    pub data_dir: Option<PathBuf>,
    /// Address and port of the JSON-RPC server; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Where subscribers have a port of their own, or `None` for port 4401 beside `listen` if it is free; nowhere if the
    /// system chooses the port of `listen`.
    pub websocket: Option<WebSocketPort>,
    /// Where operators have pages of their own, or `None` for the address of JSON-RPC.
    pub operator_listen: Option<SocketAddr>,
    /// Identity of the network, or `None` for that of the data directory.
    pub chain_id: Option<ChainId>,
    /// When blocks are made.
    pub block_mode: BlockMode,
    /// What has to be known to pause the node, or `None` if nobody can.
    pub pause_id: Option<String>,
    /// The network whose accounts a new chain has, unless others are given.
    pub profile: Profile,
    /// Accounts of a new chain, or `None` for those of the profile.
    pub accounts_file: Option<PathBuf>,
    /// Words from which the accounts of a new chain are derived, likewise, and how many.
    pub mnemonic: Option<(Mnemonic, u32)>,
    /// Whether the banner has secret keys that are not published.
    pub show_keys: bool,
    /// File that says that the node is ready, if one is wanted.
    pub ready_file: Option<PathBuf>,
    /// Virtual shards, or `None` for as many as the data directory was made with.
    pub shards: Option<u32>,
    /// Tx blocks for each DS block, or `None` for as many as the data directory was made with.
    pub blocks_per_ds_epoch: Option<u64>,
    /// The rules by which contracts run, or `None` for those that the data directory was made with.
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
    /// Whether methods for developers are answered.
    pub developer: Developer,
    /// Hosts and origins of callers of these methods, and proxies.
    pub access: Access,
    /// The methods that are answered, or `None` for all.
    pub methods: Option<MethodList>,
    /// Bounds on what clients may ask of the server.
    pub http: HttpLimits,
    /// Bounds on what they may ask in one request.
    pub rpc: RpcLimits,
    /// Who gave the options, for messages.
    pub origins: Origins,
}

impl Config {
    /// A chain in memory behind a port that the system chooses: what a test wants.
    pub fn ephemeral() -> Self {
        Self { data_dir: None, listen: (Ipv4Addr::LOCALHOST, 0).into(), ..Self::default() }
    }

    /// A chain in `dir` behind a port that the system chooses.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self { data_dir: Some(dir.into()), ..Self::ephemeral() }
    }
}

impl Default for Config {
    /// What `silica` without arguments runs with.
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
            show_keys: args.show_keys,
            ready_file: args.ready_file,
            shards: args.shards,
            blocks_per_ds_epoch: args.blocks_per_ds_epoch,
            scilla_rules: args.scilla_rules,
            proof_window: args.proof_window,
            cache_bytes: args.cache_mb << 20,
            durability: args.durability,
            max_pending: args.max_pending,
            max_gapped: args.max_gapped,
            developer: args.developer,
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(arguments: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(std::iter::once("silica").chain(arguments.split_whitespace()))
    }

    #[test]
    fn definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_arguments_run_the_defaults() {
        let cli = parse("").unwrap();
        assert!(cli.command.is_none());
        assert_eq!(format!("{:?}", Config::from(cli.run)), format!("{:?}", Config::default()));
    }

    #[test]
    fn every_flag_reaches_the_configuration() {
        let cli = parse(
            "--data-dir d --listen 127.0.0.1:80 --websocket 127.0.0.1:81 --chain-id 333 --block-mode interval=250 \
             --pause-id 999 --accounts-file f --shards 3 --blocks-per-ds-epoch 5 --scilla-rules 0.11 --proof-window 60 --cache-mb 16 --durability relaxed --max-body-bytes 7 --developer off \
             --max-bodies-mb 9 --max-connections 8 --max-batch 4 --max-batch-answer-mb 2 --request-timeout 3 --idle-timeout 6 \
             --rate-limit 11 --stop-timeout 4 --allowed-hosts node,10.0.0.7 --allowed-origins https://a.b \
             --trusted-proxies 10.0.0.0/8 --methods Get* --operator-listen 127.0.0.1:82 --show-keys \
             --max-pending 12 --max-gapped 5",
        )
        .unwrap();
        let config = Config::from(cli.run);
        assert_eq!(config.data_dir, Some("d".into()));
        assert_eq!(config.listen, ([127, 0, 0, 1], 80).into());
        assert_eq!(config.websocket, Some(WebSocketPort::At(([127, 0, 0, 1], 81).into())));
        assert_eq!(config.chain_id, Some(ChainId::new(333)));
        assert_eq!(config.block_mode, BlockMode::Interval(Duration::from_millis(250)));
        assert_eq!((config.pause_id.as_deref(), config.accounts_file), (Some("999"), Some("f".into())));
        assert_eq!((config.shards, config.blocks_per_ds_epoch, config.show_keys), (Some(3), Some(5), true));
        assert_eq!(config.scilla_rules, Some(Edition::V0_11));
        assert_eq!((config.proof_window, config.cache_bytes), (60, 16 << 20));
        assert_eq!((config.durability, config.developer), (Durability::Relaxed, Developer::Off));
        assert_eq!((config.max_pending, config.max_gapped), (12, 5));
        assert_eq!((config.http.body_bytes, config.http.connections), (7, 8));
        assert_eq!(config.http.bodies_bytes, 9 << 20);
        assert_eq!(config.rpc, RpcLimits { batch: 4, batch_answer_bytes: 2 << 20, answer_bytes: 9 << 19 });
        let seconds = Duration::from_secs;
        assert_eq!((config.http.request_timeout, config.http.idle_timeout), (seconds(3), seconds(6)));
        assert_eq!((config.http.each_second, config.http.grace), (NonZeroU32::new(11), seconds(2)));
        assert_eq!(config.access.hosts, "node,10.0.0.7".parse().unwrap());
        assert_eq!(config.access.origins, "https://a.b".parse().unwrap());
        assert_eq!(config.access.proxies, "10.0.0.0/8".parse().unwrap());
        assert_eq!(config.operator_listen, Some(([127, 0, 0, 1], 82).into()));
        assert_eq!(config.methods, Some("Get*".parse().unwrap()));
        assert_eq!(Config::from(parse("--ephemeral").unwrap().run).data_dir, None);
    }

    #[test]
    fn parent_is_named_or_not() {
        let parent = |arguments: &str| parse(arguments).unwrap().run.exit_with_parent;
        assert_eq!(parent(""), None);
        assert_eq!(parent("--exit-with-parent --ephemeral"), Some(Parent::Any));
        assert_eq!(parent("--exit-with-parent=77"), Some(Parent::Process(77)));
        check_refused("--exit-with-parent=yes", &["--exit-with-parent", "expected any, or the number of a process"]);
    }

    #[test]
    fn short_help_is_short_and_long_help_ends_with_examples() {
        let short = Cli::command().render_help().to_string();
        assert!(short.lines().count() <= 60, "{} lines\n{short}", short.lines().count());
        assert!(short.contains("--listen") && short.contains("--ephemeral") && !short.contains("--max-batch"));
        let long = Cli::command().render_long_help().to_string();
        assert!(long.trim_end().ends_with(EXAMPLES.lines().last().unwrap()), "{long}");
        let place = |words: &str| long.find(words).unwrap_or_else(|| panic!("{words} is missing in {long}"));
        assert!(place("--listen") < place("--exit-with-parent") && place("--block-mode") < place("--max-batch"));
    }

    #[test]
    fn methods_for_developers_are_off_where_others_can_ask() {
        let check = |listening: &[&str], expected| {
            let listening: Vec<_> = listening.iter().map(|addr| addr.parse().unwrap()).collect();
            assert_eq!(Developer::Auto.is_on(&listening), expected, "{listening:?}");
            assert!(Developer::On.is_on(&listening) && !Developer::Off.is_on(&listening));
        };
        check(&["127.0.0.1:5555"], true);
        check(&["127.8.0.1:5555", "[::1]:4401", "[::ffff:127.0.0.1]:1"], true);
        check(&["0.0.0.0:5555"], false);
        check(&["[::]:5555"], false);
        check(&["127.0.0.1:5555", "192.168.0.7:4401"], false);
        check(&["[::ffff:10.0.0.1]:1"], false);
    }

    #[test]
    fn subcommands_are_recognised() {
        assert!(matches!(
            parse("run --shards 2").unwrap().command,
            Some(Command::Run(RunArgs { shards: Some(2), .. }))
        ));
        assert!(matches!(parse("db check --data-dir d").unwrap().command, Some(Command::Db(DbCommand::Check(_)))));
        assert!(matches!(parse("db rebuild").unwrap().command, Some(Command::Db(DbCommand::Rebuild(_)))));
        assert!(matches!(
            parse("load --payments 5").unwrap().command,
            Some(Command::Load(LoadArgs { payments: 5, .. }))
        ));
        assert!(matches!(parse("openrpc").unwrap().command, Some(Command::Openrpc)));
        assert!(matches!(
            parse(&format!("proof verify --root {ROOT} --address {ADDRESS} proof.json")).unwrap().command,
            Some(Command::Proof(ProofCommand::Verify(VerifyArgs { file: Some(_), url: None, .. })))
        ));
    }

    /// Checks that the arguments are refused with a message that holds each of `words`.
    fn check_refused(arguments: &str, words: &[&str]) {
        let message = parse(arguments).unwrap_err().to_string();
        for word in words {
            assert!(message.contains(word), "{word} is missing in {message}");
        }
    }

    const ADDRESS: &str = "6d84363526a2d764835f8cf52dfeefe80a360fac";
    const ROOT: &str = "6142ce35237ba92eb734a5442f4d22dbc4f00c7acf88d0ab07333b60e83dd93e";

    #[test]
    fn proofs_are_verified_with_a_root_of_something() {
        let check = |arguments: &str, words: &[&str]| {
            check_refused(&format!("proof verify {arguments}"), words);
        };
        check("", &["--root", "--url", "--address"]);
        check(&format!("--address {ADDRESS} f"), &["--root", "--url"]);
        check(&format!("--root {ROOT}"), &["--address"]);
        check(&format!("--root {ROOT} --address 12"), &["--address", "expected 40", "12"]);
        check(&format!("--root {ROOT} --address zil1qqqq"), &["--address", "bech32"]);
        check(&format!("--root 12 --address {ADDRESS}"), &["--root", "64"]);
        let good = format!("--root {ROOT} --address {ADDRESS}");
        check(&format!("{good} --index 1"), &["--variable"]);
        check(&format!("{good} --variable a --variable-hash {ROOT}"), &["--variable", "--variable-hash"]);
        check(&format!("{good} --variable a.b"), &["--variable", "letters, digits and underscores"]);
        check(&format!("{good} --variable-hash 12"), &["--variable-hash", "64"]);
        check(&format!("{good} --block 1"), &["--url"]);
        let url = format!("{good} --variable a --url");
        check(&format!("{url} https://a"), &["--url", "http://HOST"]);
        check(&format!("{url} http://a:b"), &["--url", "http://HOST"]);
        check(&format!("{url} http://a:99999"), &["--url", "http://HOST"]);
        check(&format!("{url} a:1"), &["--url", "http://HOST"]);
        check(&format!("{url} http://a --block first"), &["--block", "number or latest"]);
        check(&format!("{url} http://a file.json"), &["--url", "FILE"]);
        check(&format!("{good} --url http://a"), &["--variable"]);
    }

    #[test]
    fn nodes_are_named_with_or_without_port_and_path() {
        let check = |text: &str, expected: &str| assert_eq!(text.parse::<NodeUrl>().unwrap().to_string(), expected);
        check("http://127.0.0.1:5555", "http://127.0.0.1:5555/");
        check("http://node", "http://node:80/");
        check("http://[::1]:5555/api", "http://[::1]:5555/api");
        for text in ["", "http://", "http://a?key=b", "ftp://a", "http://a:", "http://u@a", "//a"] {
            assert!(text.parse::<NodeUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn refusals_name_the_flag_and_what_was_expected() {
        check_refused("--block-mode fast", &["--block-mode", "instant, interval=MS", "fast"]);
        for mode in ["instant+interval=0", "instant+interval", "instant+", "instant+interval=5=5", "manual=5"] {
            check_refused(&format!("--block-mode {mode}"), &["instant+interval=MS", mode]);
        }
        check_refused("--block-mode interval=0", &["1 to 86400000", "interval=0"]);
        check_refused("--shards 0", &["--shards", "1..=1000"]);
        check_refused("--scilla-rules 0.12", &["--scilla-rules", "expected 0.13, 0.11 or latest, got \"0.12\""]);
        check_refused("--shards 1001", &["--shards", "1..=1000"]);
        check_refused("--blocks-per-ds-epoch 1", &["--blocks-per-ds-epoch", "2.."]);
        check_refused("--proof-window 49", &["--proof-window", "50..=10000"]);
        check_refused("--max-pending 0", &["--max-pending", "1..=10000000"]);
        check_refused("--max-gapped 1001", &["--max-gapped", "1..=1000"]);
        check_refused("--chain-id 70000", &["--chain-id", "70000"]);
        for address in ["here", "localhost:5555", "5555", ":5555", "127.0.0.1"] {
            check_refused(&format!("--listen {address}"), &["--listen", address, "numeric address and a port, as 127"]);
        }
        check_refused("--websocket localhost:1", &["--websocket", "numeric address and a port", "or off"]);
        check_refused("load --target localhost:1", &["--target", "numeric address and a port"]);
        check_refused("--durability never", &["--durability", "flush", "relaxed"]);
        check_refused("--allowed-hosts a:80", &["--allowed-hosts", "host names or addresses without ports", "a:80"]);
        check_refused("--allowed-origins null", &["--allowed-origins", "https://ide.example", "\"null\""]);
        check_refused("--trusted-proxies 10.0.0.0/64", &["--trusted-proxies", "10.0.0.0/8", "10.0.0.0/64"]);
        check_refused("--methods Gte*", &["--methods", "Get*", "Gte*"]);
        check_refused("--developer yes", &["--developer", "auto", "on", "off", "yes"]);
        check_refused("--listen 127.0.0.1:1 db check", &["db"]);
        check_refused("db", &["check", "rebuild"]);
    }
}
