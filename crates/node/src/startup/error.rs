//! Errors of the start and the stop of a node.

use std::{io, net::SocketAddr, path::PathBuf};

use silica_chain::{GenesisError, OpenError};
use silica_crypto::SecretKeyError;

use crate::{
    config::When,
    data_dir::{DataDirError, remedy},
    ready_file::ReadyFileError,
};

/// Reason why a node did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A read of the accounts file failed.
    #[error("cannot read accounts file {}", path.display())]
    AccountsFile {
        /// Path of the accounts file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The accounts file has invalid content.
    #[error("accounts file {} is invalid", path.display())]
    Accounts {
        /// Path of the accounts file.
        path: PathBuf,
        /// The fault of the file.
        source: GenesisError,
    },
    /// The mnemonic gives an invalid secret key. This happens for one seed in 2^127.
    #[error("the mnemonic yields an invalid secret key")]
    Words(#[from] SecretKeyError),
    /// The store failed to open.
    #[error("cannot open the chain{}{}", at(path.as_ref()), remedy(source))]
    Store {
        /// The directory of the store; `None` for a store in memory.
        path: Option<PathBuf>,
        /// The fault of the store.
        source: silica_state::OpenError,
    },
    /// The node cannot continue the chain in the store.
    #[error("cannot continue the chain{}", at(path.as_ref()))]
    Chain {
        /// The directory of the store; `None` for a store in memory.
        path: Option<PathBuf>,
        /// Reason why the node cannot continue the chain.
        source: Box<OpenError>,
    },
    /// The server cannot listen.
    #[error("cannot listen on {addr}{}", listen_hint(source))]
    Listen {
        /// The listen address.
        addr: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The configuration requires the studio, and the program does not have its files.
    #[error("studio: expected auto or off, because this program does not have the feature `studio`, got on")]
    NoStudio,
    /// The configuration names a network file, and the program does not have the consensus engine.
    #[error(
        "network: expected no network file, because this program does not have the feature `network`, got {}; build it \
         with `cargo build --release --features network`",
        path.display()
    )]
    NoEngine {
        /// The network file.
        path: PathBuf,
    },
    /// The configuration names a network file, and does not permit votes.
    #[error(
        "validator: expected on with a network file, because a node that only follows a network does not exist, got off"
    )]
    NotValidator,
    /// The configuration has an option for members of a network, and no network file.
    #[error("{option} (by {by}): expected no value without a network file, got one")]
    NeedsNetwork {
        /// Name of the option.
        option: &'static str,
        /// The source of the option.
        by: String,
    },
    /// The configuration of a member has no data directory. The member needs it for its votes.
    #[error("ephemeral: expected off with a network file, got on")]
    MemberInMemory,
    /// The configuration of a member permits the loss of committed blocks, for which the member has voted.
    #[error("durability: expected flush with a network file, got relaxed")]
    RelaxedMember,
    /// The network file sets a parameter that an option sets too.
    #[error(
        "{option} (by {by}): expected no value with a network file, which sets the parameters of the chain, got one"
    )]
    SetByNetwork {
        /// Name of the option.
        option: &'static str,
        /// The source of the option.
        by: String,
    },
    /// The configuration of a member permits the methods for developers, but no client can change the chain of a
    /// member.
    #[error(
        "developer (by {by}): expected off or no value with a network file, because no client can change the chain of a \
         member, got {}",
        if *got == When::On { "on" } else { "auto" }
    )]
    DeveloperMember {
        /// The source of the option.
        by: String,
        /// The value of the option.
        got: When,
    },
    /// The configuration of a member has a pause id, but no client can pause a member.
    #[error("pause-id (by {by}): expected no value with a network file, because no client can pause a member, got one")]
    PausedMember {
        /// The source of the option.
        by: String,
    },
    /// The network file or its accounts file is invalid.
    #[error("cannot use the network file")]
    Network(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The agreement with the other members did not start.
    #[error("cannot start the agreement with the other members")]
    Agreement(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The operating system provides no thread or no random numbers.
    #[error("the operating system did not provide a thread or random numbers")]
    System(#[source] io::Error),
    /// A write to the ready file failed.
    #[error(transparent)]
    ReadyFile(#[from] ReadyFileError),
    /// A thread panicked when it opened the chain, or started the agreement of a member.
    #[error("the node panicked at its start; the log has the source location")]
    Panicked,
}

/// Reason why a node did not stop in order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// A thread of the node panicked. The panic hook of the process has logged the source location.
    #[error("a thread of the node panicked; the log has the source location")]
    Panicked,
    /// Some pending transactions were not stored.
    #[error("{lost} pending transactions are lost, {kept} are stored")]
    Pool {
        /// Number of stored transactions. They are the oldest transactions.
        kept: usize,
        /// Number of lost transactions.
        lost: usize,
        /// Reason of the loss.
        source: Box<DataDirError>,
    },
    /// The store failed to close.
    #[error("cannot close the chain")]
    Store(#[source] silica_state::CloseError),
}

/// Returns the path of a store as part of an error text. Returns an empty text without a path.
fn at(path: Option<&PathBuf>) -> String {
    path.map(|path| format!(" in {}", path.display())).unwrap_or_default()
}

/// Returns the remedy if the port is in use, or an empty text.
fn listen_hint(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::AddrInUse {
        ": the port is in use; stop the other program, or choose another address"
    } else {
        ""
    }
}
