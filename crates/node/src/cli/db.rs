//! The subcommands of `silica db`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use silica_protocol::BlockNumber;

/// Commands for a data directory.
#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Verify every block, transaction and trie page.
    ///
    /// An interrupted check leaves its progress in the directory `check` of the data directory.
    Check {
        /// Verify only the blocks that an earlier check has not verified. The earlier check was interrupted, or had
        /// this option. The command keeps a second copy of the chain in the directory `check`. Damage of the earlier
        /// blocks can remain unnoticed.
        #[arg(long = "continue")]
        continues: bool,
        /// The data directory.
        #[command(flatten)]
        args: DbArgs,
    },
    /// Recreate the state from the blocks.
    Rebuild(DbArgs),
    /// Write the chain to one file.
    ///
    /// The file has blocks, parameters, accounts and pending transactions. It also has the secret key of a single node,
    /// or the network file of a member.
    Dump {
        /// Path of the new file. It must not exist.
        file: PathBuf,
        /// The data directory.
        #[command(flatten)]
        args: DbArgs,
    },
    /// Create a data directory from a file of `silica db dump` or `silica_dump`.
    ///
    /// The command executes all blocks again, and compares the results with the file. It creates the directory only if
    /// they are equal.
    Load {
        /// File of the dump.
        file: PathBuf,
        /// The data directory, which must be new or empty.
        #[command(flatten)]
        args: DbArgs,
    },
    /// Write blocks, transactions and events as JSON lines.
    ///
    /// The output has no secret keys. The page docs/export.md describes the lines.
    Export {
        /// First block.
        #[arg(long, value_name = "BLOCK", default_value_t = BlockNumber::new(0))]
        from: BlockNumber,
        /// Last block. By default, the latest block.
        #[arg(long, value_name = "BLOCK")]
        to: Option<BlockNumber>,
        /// New file. It must not exist. The default is standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The data directory.
        #[command(flatten)]
        args: DbArgs,
    },
}

/// Options that select the data directory. [`Settings::data_dir`](crate::cli::Settings::data_dir) evaluates them.
#[derive(Debug, Args)]
pub(crate) struct DbArgs {
    /// TOML file of a node's options. Its key `data-dir` applies if neither `--data-dir` nor `SILICA_DATA_DIR` is set.
    #[arg(long, value_name = "FILE", env = "SILICA_CONFIG")]
    pub config: Option<PathBuf>,
    /// Directory of the chain.
    #[arg(long, value_name = "DIR", default_value = "silica-data", env = "SILICA_DATA_DIR")]
    pub data_dir: PathBuf,
}
