//! The command line: its subcommands, help, completions and manual pages.

mod db;
mod manual;
#[cfg(test)]
mod tests;
mod usage;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

pub use self::{
    db::{DbArgs, DbCommand},
    manual::{completions, man_page, write_man_pages},
    usage::usage_error,
};
use crate::{
    client::{ClientCommand, LoadArgs, ProofCommand},
    config::RunArgs,
};

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
