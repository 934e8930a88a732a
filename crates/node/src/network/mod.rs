//! `silica network`: the network file of several validators, and the keys of its members.
//!
//! Each command has one file, with a struct of arguments and a function from the arguments to a [`Report`]. `file`
//! reads and writes the files, and `error` has the reasons of failures. No command prints a secret key.

mod check;
mod error;
mod file;
mod join;
mod local;
mod new;
mod report;
mod show;
mod up;

use clap::Subcommand;

use self::{check::CheckArgs, join::JoinArgs, local::LocalArgs, new::NewArgs, show::ShowArgs, up::UpArgs};
pub(crate) use self::{error::NetworkError, report::Report};

/// Commands for a network of several validators.
#[derive(Debug, Subcommand)]
pub(crate) enum NetworkCommand {
    /// Write a network file without members, and an accounts file.
    New(NewArgs),
    /// Make the keys of a member, and print its table for the network file.
    ///
    /// The command writes the secret keys to the data directory, and does not print them. It reads the keys if they
    /// exist. The table has a proof that the member has its secret key.
    Join(JoinArgs),
    /// Verify a network file with all proofs, and its accounts file.
    ///
    /// The command prints each fault with the expected and the given value. A fault in the network file has its line.
    /// Exit status: 0 the file is valid; 1 it has faults.
    Check(CheckArgs),
    /// Show name, network id, members and parameters of a network file.
    Show(ShowArgs),
    /// Write keys, network file and data directories of several validators on this machine.
    Local(LocalArgs),
    /// Start the validators that `silica network local` has made, and stop them at the end of this program.
    Up(UpArgs),
}

/// Reads a network file, and the accounts file of its genesis. Returns the network, the text of its file, and the text
/// of the accounts file.
///
/// # Errors
///
/// [`NetworkError`] names the file and the fault.
#[cfg(feature = "network")]
pub(crate) fn read_files(
    path: &std::path::Path,
) -> Result<(silica_council::NetworkFile, String, String), NetworkError> {
    let (text, network) = (file::read_text(path)?, file::read(path)?);
    let accounts = file::accounts_path(path, &network.parameters().accounts);
    let bytes = file::read_accounts(&accounts)?;
    let genesis = network.parameters().accounts.genesis(&bytes);
    let invalid = |reason: String| NetworkError::Accounts { path: accounts.clone(), reason };
    genesis.map_err(|error| invalid(error.to_string()))?;
    let bytes = String::from_utf8(bytes).map_err(|error| invalid(error.to_string()))?;
    Ok((network, text, bytes))
}

/// Runs a command.
///
/// # Errors
///
/// [`NetworkError`] has the reason of the failure.
pub(crate) fn network(command: &NetworkCommand) -> Result<Report, NetworkError> {
    match command {
        NetworkCommand::New(args) => new::new(args),
        NetworkCommand::Join(args) => join::join(args),
        NetworkCommand::Check(args) => check::check(args),
        NetworkCommand::Show(args) => show::show(args),
        NetworkCommand::Local(args) => local::local(args),
        NetworkCommand::Up(args) => up::up(args),
    }
}
