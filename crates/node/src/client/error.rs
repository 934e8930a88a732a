//! Errors of the client commands.

use std::{io, path::PathBuf};

use silica_crypto::{KeystoreError, SecretKeyError};
use silica_protocol::{Nonce, Qa, TxHash};

use super::{hide::hide_keys, http::HttpError};
use crate::terminal::visible;

/// Reason why a command failed. Control characters in texts of nodes and files are escaped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ClientError {
    /// An argument has an invalid value.
    #[error("{argument}: expected {expected}, got {got}")]
    Argument {
        /// The argument, in the form of the command line.
        argument: String,
        /// The expected value.
        expected: String,
        /// The actual value.
        got: String,
    },
    /// Arguments are missing.
    #[error("missing: {0}")]
    Missing(String),
    /// A file cannot be read or written.
    #[error("cannot {action} {}", hide_keys(&visible(&path.display().to_string())))]
    File {
        /// The operation that failed.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file exceeds its size limit.
    #[error("{what}: expected at most {most} bytes, got more")]
    TooLong {
        /// The content of the file.
        what: String,
        /// The size limit, in bytes.
        most: u64,
    },
    /// No option and no environment variable gives a key.
    #[error(
        "no key to sign with: expected --key-file FILE, the key in the environment variable SILICA_KEY, or \
         --test-account N on a test network"
    )]
    NoKey,
    /// A value is not a secret key. The error text has no part of the value.
    #[error("{place}")]
    Key {
        /// The source of the value: an option or a variable.
        place: String,
        /// The fault of the key.
        source: SecretKeyError,
    },
    /// A keystore file gives no key.
    #[error(transparent)]
    Keystore(#[from] KeystoreError),
    /// The key file is a keystore, and no option and no environment variable gives its password.
    #[error(
        "the key file is a keystore: expected --password-file FILE, or the password in the environment variable SILICA_PASSWORD"
    )]
    NoPassword,
    /// A password file is given for a key file that is not a keystore.
    #[error("--password-file: expected a keystore in --key-file, got a key without a password")]
    UnusedPassword,
    /// A password is empty, has a line break, or is not UTF-8. The error text has no part of the password.
    #[error("{place}: expected one line of UTF-8 text with the password, got no text, several lines or other bytes")]
    PasswordText {
        /// The option or the variable.
        place: &'static str,
    },
    /// Users other than the owner have permissions for the key file or the password file.
    #[error(
        "{option}: others can read {} (mode {mode:03o}); treat its content as stolen if you do not trust them, otherwise: \
         chmod 600 {}",
        visible(&path.display().to_string()), visible(&path.display().to_string())
    )]
    KeyIsOpen {
        /// The option with the path.
        option: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// The path of a key file names a directory, or a device or pipe for which other users have permissions.
    #[error(
        "{option}: expected a file that only its owner can read, got {}, which is {what}",
        visible(&path.display().to_string())
    )]
    KeyIsNoFile {
        /// The option with the path.
        option: &'static str,
        /// The given path.
        path: PathBuf,
        /// The kind of file.
        what: &'static str,
    },
    /// The path of a key file looks like a key.
    #[error(
        "--key-file: expected the path of a file, got a text that looks like a secret key; treat this key as stolen"
    )]
    KeyAsPath,
    /// `--test-account` is used with a node on another machine, and the chain id of this node is not the id of the
    /// isolated server. Other users of the network could take the money of the account.
    #[error(
        "--test-account: the keys of test accounts are public; expected a node on this machine or chain {expected}, got \
         {url} with chain {chain}"
    )]
    TestAccount {
        /// URL of the node.
        url: String,
        /// The chain id that the node reports.
        chain: u16,
        /// The chain id of the isolated server.
        expected: u16,
    },
    /// The node reports the chain id of the main network, and the command line does not have this id.
    #[error(
        "{url} reports chain id 1, the main network; expected --chain-id 1 as a confirmation; otherwise a false node could get a \
         transaction that is valid on the main network"
    )]
    MainNetwork {
        /// URL of the node.
        url: String,
    },
    /// A request got no usable response.
    #[error("request to {url} failed (set another node with --url or SILICA_URL, or start a node here with `silica`)")]
    Connection {
        /// URL of the node.
        url: String,
        /// The error of the HTTP client.
        source: HttpError,
    },
    /// The node returned an unexpected response.
    #[error("{method}: invalid response: {reason}")]
    Answer {
        /// The method that was called.
        method: String,
        /// The fault of the response.
        reason: String,
    },
    /// The node rejected the request.
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
        /// The most similar name of a method of Silica; `None` if no name is similar.
        similar: Option<&'static str>,
    },
    /// A transaction would fail.
    #[error(
        "the transaction would fail, and was not sent: {reason} (with --gas-limit, the command sends it without this check)"
    )]
    WouldFail {
        /// The node's reason.
        reason: String,
    },
    /// A transaction was sent, and its status is unknown.
    #[error(
        "transaction {hash} was sent, but its status is unknown; query the status with `silica tx {hash}`; to send the \
         transaction again, use --nonce {nonce}: only one transaction with this nonce can execute"
    )]
    Unsure {
        /// Hash of the transaction.
        hash: TxHash,
        /// Nonce of the transaction.
        nonce: Nonce,
        /// The error that occurred after the submission.
        source: Box<Self>,
    },
    /// The minimum gas price of the node is above the limit of the client, and the command line has no gas price.
    #[error("the minimum gas price of the node is {price} Qa; expected at most {most} Qa without --gas-price")]
    Dear {
        /// The minimum gas price of the node.
        price: Qa,
        /// The maximum without `--gas-price`.
        most: Qa,
    },
    /// The node accepted a transaction, and dropped it later.
    #[error("transaction {hash} was dropped: {reason} (status {status})")]
    Dropped {
        /// Hash of the transaction.
        hash: TxHash,
        /// Reason of the drop, as text.
        reason: String,
        /// Number of the status of the transaction (Reference: execution#statuses).
        status: u8,
    },
    /// No block has the transaction at the end of the time limit.
    #[error("transaction {hash} is not in a block after {seconds} s; query its status later with `silica tx {hash}`")]
    Late {
        /// Hash of the transaction.
        hash: TxHash,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// The requested object does not exist.
    #[error("there is no {0}")]
    Absent(String),
    /// The checker rejects a contract, or the client cannot parse it.
    #[error("{0}")]
    Contract(String),
}

impl ClientError {
    /// Returns the error for an argument with an invalid value.
    pub(super) fn argument(argument: impl Into<String>, expected: impl Into<String>, got: impl AsRef<str>) -> Self {
        /// Maximum length of the printed part of a value, in characters.
        const SHOWN: usize = 80;
        let got: String = hide_keys(got.as_ref()).chars().take(SHOWN).collect();
        Self::Argument { argument: argument.into(), expected: expected.into(), got: format!("{got:?}") }
    }

    /// Returns the error for an unexpected response.
    pub(super) fn answer(method: &str, reason: &impl ToString) -> Self {
        Self::Answer { method: hide_keys(&visible(method)), reason: visible(&reason.to_string()) }
    }

    /// Adds hash and nonce of a sent transaction to an error. [`Dropped`](Self::Dropped) and [`Late`](Self::Late)
    /// already have the hash, and stay unchanged.
    pub(super) fn after_sending(self, hash: TxHash, nonce: Nonce) -> Self {
        if matches!(self, Self::Dropped { .. } | Self::Late { .. }) {
            return self;
        }
        Self::Unsure { hash, nonce, source: Box::new(self) }
    }

    /// Returns the exit status:
    ///
    /// - 1 if the node rejects the request or drops the transaction, or if the requested object does not exist;
    /// - 1 if the contract has a fault, or if the client rejects the network or the gas price of the node;
    /// - 2 for wrong use, a file error, an unusable response, or a transaction without a known result.
    pub(crate) fn exit_status(&self) -> u8 {
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
            | Self::Keystore(_)
            | Self::NoPassword
            | Self::UnusedPassword
            | Self::PasswordText { .. }
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
