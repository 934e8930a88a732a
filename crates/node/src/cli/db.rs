//! Commands for data directories.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands for a data directory.
#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// Verify every block, transaction and trie record.
    Check(DbArgs),
    /// Recreate the state from the blocks.
    Rebuild(DbArgs),
    /// Write the chain to one file.
    ///
    /// The file has blocks, parameters, accounts, pending transactions, and the secret key of the node.
    Dump {
        /// Path of the new file. It must not exist.
        file: PathBuf,
        /// The data directory.
        #[command(flatten)]
        args: DbArgs,
    },
    /// Make a data directory from a file of `dump` or `silica_dump`.
    ///
    /// The command executes all blocks again. It makes the directory only if their states are those of the file.
    Load {
        /// File of the dump.
        file: PathBuf,
        /// The data directory, which must be new or empty.
        #[command(flatten)]
        args: DbArgs,
    },
}

/// Options that select the data directory. [`Settings::data_dir`](crate::Settings::data_dir) reads them.
#[derive(Debug, Args)]
pub struct DbArgs {
    /// TOML file of a node's options. Its data-dir applies if no flag or variable names the directory.
    #[arg(long, value_name = "FILE", env = "SILICA_CONFIG")]
    pub config: Option<PathBuf>,
    /// Directory that holds the chain.
    #[arg(long, value_name = "DIR", default_value = "silica-data", env = "SILICA_DATA_DIR")]
    pub data_dir: PathBuf,
}
