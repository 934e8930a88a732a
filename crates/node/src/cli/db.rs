//! Commands for data directories.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
    /// TOML file of a node's options. Its data-dir counts if no flag or variable names the directory.
    #[arg(long, value_name = "FILE", env = "SILICA_CONFIG")]
    pub config: Option<PathBuf>,
    /// Directory that holds the chain.
    #[arg(long, value_name = "DIR", default_value = "silica-data", env = "SILICA_DATA_DIR")]
    pub data_dir: PathBuf,
}
