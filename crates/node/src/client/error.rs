//! Why a command of the client did not do what it was asked.

use std::{io, path::PathBuf};

use silica_crypto::SecretKeyError;
use silica_protocol::{Nonce, Qa, TxHash};

use super::hide::hide_keys;
use crate::terminal::visible;

/// Reason why a command was not carried out. Texts of nodes and files are in it as they can be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// An argument is not what it has to be.
    #[error("{argument}: expected {expected}, got {got}")]
    Argument {
        /// The argument, as it is written on the command line.
        argument: String,
        /// What it has to be.
        expected: String,
        /// What came.
        got: String,
    },
    /// Arguments are missing.
    #[error("missing: {0}")]
    Missing(String),
    /// A file cannot be read or written.
    #[error("cannot {action} {}", hide_keys(&visible(&path.display().to_string())))]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is too long to be what it has to be.
    #[error("{what}: expected at most {most} bytes")]
    TooLong {
        /// What was read.
        what: String,
        /// So much is read of it.
        most: u64,
    },
    /// The command line names no key.
    #[error(
        "no key to sign with: expected --key-file FILE, the key in the environment as SILICA_KEY, or --test-account N on a \
         test network"
    )]
    NoKey,
    /// What should be a secret key is none. Nothing of it is shown.
    #[error("{place}")]
    Key {
        /// Where it was read.
        place: String,
        /// What is wrong with it.
        source: SecretKeyError,
    },
    /// Others than the owner can read the file of a key.
    #[error(
        "--key-file: others can read {} (mode {mode:03o}); consider the key stolen if they are no friends, or say: \
         chmod 600 {}",
        visible(&path.display().to_string()), visible(&path.display().to_string())
    )]
    KeyIsOpen {
        /// The file.
        path: PathBuf,
        /// Who may do what with it.
        mode: u32,
    },
    /// What should be the file of a key is something else, perhaps a device that others need.
    #[error(
        "--key-file: expected a file that only its owner can read, got {}, which is {what}",
        visible(&path.display().to_string())
    )]
    KeyIsNoFile {
        /// The place.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// What should name the file of a key looks like a key.
    #[error("--key-file: expected the path of a file, got what looks like a secret key; consider that key stolen")]
    KeyAsPath,
    /// A published key is about to be used on a network where others would take the money.
    #[error(
        "--test-account: everybody knows the keys of test accounts; expected a node on this machine or chain {expected}, got \
         {url} with chain {chain}"
    )]
    TestAccount {
        /// The node.
        url: String,
        /// Its chain.
        chain: u16,
        /// The chain of test networks.
        expected: u16,
    },
    /// The node reports the main network, and the command line does not.
    #[error(
        "{url} says that it is on the main network, where money is real; expected --chain-id 1 if that is meant: over plain \
         HTTP anybody could say so, and a payment that was meant for a test network would be good there"
    )]
    MainNetwork {
        /// The node.
        url: String,
    },
    /// The node cannot be talked to.
    #[error("cannot talk to {url} (--url or SILICA_URL names another node; silica starts one here)")]
    Connection {
        /// The node.
        url: String,
        /// What happened.
        source: io::Error,
    },
    /// The node answered something that is no answer to this question.
    #[error("{method}: not an answer to this: {reason}")]
    Answer {
        /// The method that was called.
        method: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The node refused.
    #[error("{method} is refused: {reason}")]
    Refused {
        /// The method that was called.
        method: String,
        /// The node's reason.
        reason: String,
    },
    /// The node has no such method.
    #[error(
        "{method} is refused: {reason}{}", similar.map(|name| format!("; a similar method is {name}")).unwrap_or_default()
    )]
    NoMethod {
        /// The method that was called.
        method: String,
        /// The node's reason.
        reason: String,
        /// The method of ours with the most similar name.
        similar: Option<&'static str>,
    },
    /// A transaction would fail.
    #[error("it would fail, and was not sent: {reason} (with --gas-limit it is sent all the same)")]
    WouldFail {
        /// The node's reason.
        reason: String,
    },
    /// A transaction was sent, and it is not known whether the node took it, or what became of it.
    #[error(
        "transaction {hash} was sent, and what became of it is not known; ask for it with: silica tx {hash}; should it be \
         sent again, then with --nonce {nonce}, so that only one of the two counts"
    )]
    Unsure {
        /// The transaction.
        hash: TxHash,
        /// Its place among those of the sender.
        nonce: Nonce,
        /// What happened.
        source: Box<Self>,
    },
    /// The node requires a price to which the user has not agreed.
    #[error(
        "the node takes no less than {asked} Qa for a unit of gas; expected at most {most} Qa where --gas-price does not agree to more"
    )]
    Dear {
        /// The node's lowest price.
        asked: Qa,
        /// What is paid unasked.
        most: Qa,
    },
    /// A transaction was taken, and then dropped.
    #[error("transaction {hash} was dropped: {reason} (status {status})")]
    Dropped {
        /// The transaction.
        hash: TxHash,
        /// Why.
        reason: String,
        /// The number of its status.
        status: u8,
    },
    /// A transaction is not in a block yet.
    #[error("transaction {hash} is not in a block after {seconds} s; it may be later: silica tx {hash}")]
    Late {
        /// The transaction.
        hash: TxHash,
        /// How long it was waited for.
        seconds: u64,
    },
    /// What was asked for is not there.
    #[error("there is no {0}")]
    Absent(String),
    /// A contract may not be deployed, or cannot be understood.
    #[error("{0}")]
    Contract(String),
}

impl ClientError {
    /// An argument that is not what it has to be.
    pub(super) fn argument(argument: impl Into<String>, expected: impl Into<String>, got: impl AsRef<str>) -> Self {
        const SHOWN: usize = 80;
        let got: String = hide_keys(got.as_ref()).chars().take(SHOWN).collect();
        Self::Argument { argument: argument.into(), expected: expected.into(), got: format!("{got:?}") }
    }

    /// An answer that is not to be used.
    pub(super) fn answer(method: &str, reason: &impl ToString) -> Self {
        Self::Answer { method: hide_keys(&visible(method)), reason: visible(&reason.to_string()) }
    }

    /// Adds the transaction to an error that came after it was sent, unless the error names it already.
    pub(super) fn after_sending(self, hash: TxHash, nonce: Nonce) -> Self {
        if matches!(self, Self::Dropped { .. } | Self::Late { .. }) {
            return self;
        }
        Self::Unsure { hash, nonce, source: Box::new(self) }
    }

    /// The exit status: 1 if it was refused or failed, 2 for wrong use and where no answer came.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Refused { .. }
            | Self::NoMethod { .. }
            | Self::WouldFail { .. }
            | Self::Dropped { .. }
            | Self::Absent(_)
            | Self::Contract(_)
            | Self::Dear { .. }
            | Self::MainNetwork { .. }
            | Self::TestAccount { .. } => 1,
            Self::Argument { .. }
            | Self::Missing(_)
            | Self::File { .. }
            | Self::TooLong { .. }
            | Self::NoKey
            | Self::Key { .. }
            | Self::KeyIsOpen { .. }
            | Self::KeyIsNoFile { .. }
            | Self::KeyAsPath
            | Self::Connection { .. }
            | Self::Answer { .. }
            | Self::Unsure { .. }
            | Self::Late { .. } => 2,
        }
    }
}
