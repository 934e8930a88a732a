//! The program `silica` with its command line: subcommands, help, completions and manual pages.

mod db;
mod manual;
mod program;
#[cfg(test)]
mod tests;
mod usage;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

pub use self::program::run;
use self::{
    db::DbCommand,
    manual::{completions, man_page, write_man_pages},
    usage::{hint, usage_error},
};
use crate::{
    client::{ClientCommand, LoadArgs, ProofCommand},
    config::RunArgs,
    network::NetworkCommand,
};

/// Examples at the end of `--help`.
const EXAMPLES: &str = "\
Examples:
  silica                                  a network of one node, stored in ./silica-data
  silica --ephemeral                      the same, only in memory
  silica --block-mode interval=1000       one block each second
  silica --listen 127.0.0.1:0 --banner json --exit-with-parent
                                          for a test suite: any free port, and facts as JSON
  silica account list                     the funded accounts of the node
  silica send ADDRESS 5 --test-account 1  a payment of 5 ZIL
  silica rpc GetBlockchainInfo            any method
  silica SUBCOMMAND --help                the options of a subcommand";

/// A Zilliqa node in one process: a network of one node, with JSON-RPC.
///
/// Without a subcommand, the node runs.
#[derive(Debug, Parser)]
#[command(name = "silica", version, args_conflicts_with_subcommands = true, max_term_width = 100,
          after_long_help = EXAMPLES)]
struct Cli {
    /// The subcommand. Without one, the node runs.
    #[command(subcommand)]
    command: Option<Command>,
    /// Options of the node.
    #[command(flatten)]
    run: RunArgs,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Run the node (the default).
    Run(RunArgs),
    /// Show the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check, rebuild, dump, load or export a data directory that no node uses.
    #[command(subcommand)]
    Db(DbCommand),
    /// Make and check the file of a network of several validators, and the keys of its members.
    #[command(subcommand)]
    Network(NetworkCommand),
    /// Send signed payments to a node, and report throughput and latency.
    Load(LoadArgs),
    /// Send a request to a node.
    #[command(flatten)]
    Client(ClientCommand),
    /// Get and verify proofs of state.
    #[command(subcommand)]
    Proof(ProofCommand),
    /// Print the OpenRPC document of the interface.
    Openrpc,
    /// Print completions for a shell.
    Completions {
        /// Shell for which the completions are.
        shell: Shell,
    },
    /// Print the manual page.
    Man {
        /// Write the page of `silica` and of each subcommand to a directory.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Commands for the configuration.
#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the options of the node as TOML, with the source of each value.
    ///
    /// The output is valid as the file of --config. It has no secrets.
    Print(RunArgs),
}
