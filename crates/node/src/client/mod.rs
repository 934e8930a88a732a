//! The client: commands that send requests to a node, for users without an SDK.
//!
//! Each command has one file, with a struct of arguments and a function from the arguments to an [`Answer`]. The files
//! that commands share are:
//!
//! - `http`, `node` and `url` send requests.
//! - `key` signs, and `amount` parses money.
//! - `order` sends a transaction and waits for its block.
//! - `argument`, `params` and `program` parse values of contracts.
//! - `receipt` and `rows` print.
//!
//! `load` measures a node under load, and `proof` fetches and verifies state proofs.
//!
//! The client does not trust the responses of a node. It bounds the time and the memory of each response, and escapes
//! control characters before it prints. Secret keys come from files, from the environment or from the test accounts.
//! The client never sends them.

mod account;
mod amount;
mod argument;
mod block;
mod call;
mod deploy;
mod error;
mod hide;
mod http;
mod key;
mod load;
mod node;
mod order;
mod params;
mod program;
mod proof;
mod receipt;
mod rows;
mod rpc;
mod send;
mod state;
mod tx;
mod url;
mod values;

use std::fmt;

use clap::Subcommand;
use serde::Serialize;
use serde_json::value::to_raw_value;
use silica_protocol::TxHash;

use self::{
    account::AccountCommand, block::BlockArgs, call::CallArgs, deploy::DeployArgs, rpc::RpcArgs, send::SendArgs,
    state::StateArgs, tx::TxArgs,
};
pub(crate) use self::{
    error::ClientError,
    hide::hide_keys,
    load::{LoadArgs, load},
    proof::{GetProofArgs, ProofCommand, VerifyArgs, verify_proof},
};
use crate::terminal::Indented;

/// The part of `--help` about the exit status of most commands.
const EXIT_STATUS: &str =
    "Exit status: 0 done; 1 the node returned an error, or the transaction failed; 2 wrong use, or no response.";

/// Commands that send requests to a node.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Make keys, and show accounts.
    #[command(subcommand)]
    Account(AccountCommand),
    /// Send money.
    #[command(after_help = EXIT_STATUS)]
    Send(SendArgs),
    /// Deploy a contract or a library.
    #[command(after_help = EXIT_STATUS)]
    Deploy(DeployArgs),
    /// Call a transition of a contract.
    #[command(after_help = EXIT_STATUS)]
    Call(CallArgs),
    /// Show the state of a contract.
    #[command(after_help = EXIT_STATUS)]
    State(StateArgs),
    /// Show a transaction and its status.
    #[command(
        after_help = "Exit status: 0 the transaction succeeded; 1 it failed, was dropped, or does not exist; 2 it is \
                      pending, or there is no response."
    )]
    Tx(TxArgs),
    /// Show a Tx block or a DS block.
    #[command(after_help = EXIT_STATUS)]
    Block(BlockArgs),
    /// Call any method, and print its result as JSON.
    #[command(after_help = EXIT_STATUS)]
    Rpc(RpcArgs),
}

/// The output of a command, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    text: String,
    note: Option<String>,
    status: u8,
    sent: Option<TxHash>,
}

impl Answer {
    fn done(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), note: None, status: 0, sent: None }
    }

    fn json(value: &impl Serialize) -> Self {
        let json = to_raw_value(value).expect("answers are made of text and of JSON, and have no maps");
        Self::done(Indented(&json))
    }

    fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    fn with_note(self, note: String) -> Self {
        Self { note: Some(note), ..self }
    }

    fn with_sent(self, hash: TxHash) -> Self {
        Self { sent: Some(hash), ..self }
    }

    /// Returns the hash of the sent transaction, if the command sent one. The program prints this hash even if it
    /// cannot print the output.
    pub(crate) const fn sent(&self) -> Option<TxHash> {
        self.sent
    }

    /// Returns the note for standard error, if there is one.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Returns the exit status with which the program ends.
    pub(crate) const fn exit_status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Runs a command of the client.
///
/// # Errors
///
/// [`ClientError`] has the reason of the failure.
pub(crate) async fn client(command: &ClientCommand) -> Result<Answer, ClientError> {
    match command {
        ClientCommand::Account(AccountCommand::New(args)) => account::new(args),
        ClientCommand::Account(AccountCommand::List(args)) => account::list(args).await,
        ClientCommand::Account(AccountCommand::Address(args)) => account::address(args),
        ClientCommand::Account(AccountCommand::Balance(args)) => account::balance(args).await,
        ClientCommand::Send(args) => send::send(args).await,
        ClientCommand::Deploy(args) => deploy::deploy(args).await,
        ClientCommand::Call(args) => call::call(args).await,
        ClientCommand::State(args) => state::state(args).await,
        ClientCommand::Tx(args) => tx::tx(args).await,
        ClientCommand::Block(args) => block::block(args).await,
        ClientCommand::Rpc(args) => rpc::rpc(args).await,
    }
}

/// Gets a proof of state from a node.
///
/// # Errors
///
/// [`ClientError`] has the reason of the failure.
pub(crate) async fn get_proof(args: &GetProofArgs) -> Result<Answer, ClientError> {
    proof::get::get(args).await
}
