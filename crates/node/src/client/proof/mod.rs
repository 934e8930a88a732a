//! `silica proof`: the verification of a response of `GetStateProof` or `silica_getAccountProof`.
//!
//! The response comes from a file, from standard input, or from a node. The verification does not depend on the source.
//! The output states what the response proves.

mod fetch;
pub(super) mod get;
mod report;
mod request;

use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use clap::{ArgGroup, Args, Subcommand};
use silica_proof::{ResponseError, StateProof, StateProofError};
use silica_protocol::{Address, StateRoot, VariableHash};

pub(crate) use self::get::GetProofArgs;
use self::report::{ProofReport, Variable};
use super::{
    http::{HttpError, MAX_BODY},
    url::NodeUrl,
    values::{WhichBlock, variable_name},
};

/// Commands for state proofs.
#[derive(Debug, Subcommand)]
pub(crate) enum ProofCommand {
    /// Verify a response of `GetStateProof` or `silica_getAccountProof` against the state root of a Tx block, and print
    /// what it proves.
    ///
    /// The command does not trust the response. The proof of an account has its balance, nonce, code hash and storage
    /// root. The proof of a variable has its value. A proof can also show that an account or a variable does not exist.
    #[command(
        after_help = "Exit status: 0 the response proves the output; 1 it proves nothing; 2 there is no response to \
                            verify: wrong use, an unreadable file, or no connection."
    )]
    Verify(VerifyArgs),
    /// Get a proof of an account or of a contract's variable from a node, and print it as JSON.
    ///
    /// The command does not verify the proof. For that, use `silica proof verify`.
    Get(GetProofArgs),
}

/// Arguments of `silica proof verify`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("source").args(["file", "url"]))]
#[command(group = ArgGroup::new("key").args(["variable", "variable_hash"]))]
#[command(group = ArgGroup::new("trusted").args(["root", "url"]).required(true).multiple(true))]
pub(crate) struct VerifyArgs {
    /// File of the response as JSON, with or without its envelope [default: -, standard input].
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Read the block and the proof from the node at this URL.
    #[arg(long, value_name = "URL")]
    pub url: Option<NodeUrl>,
    /// Number of the Tx block whose state the proof is for, or `latest`.
    #[arg(long, value_name = "NUMBER", default_value = "latest", requires = "url")]
    pub block: WhichBlock,
    /// `StateRootHash` of the Tx block. With --url, the node's block must have this root.
    #[arg(long, value_name = "HEX")]
    pub root: Option<StateRoot>,
    /// The address of the account, in hexadecimal or as bech32.
    #[arg(long, value_name = "ADDRESS", value_parser = Address::parse)]
    pub address: Address,
    /// Name of the contract's variable.
    #[arg(long, value_name = "NAME", value_parser = variable_name)]
    pub variable: Option<String>,
    /// Key of the variable's map, without quotes. Repeat the option for each map, from the outermost.
    #[arg(long, value_name = "KEY", requires = "variable", allow_hyphen_values = true)]
    pub index: Vec<String>,
    /// Hash of the variable's storage key, instead of its name.
    #[arg(long, value_name = "HEX")]
    pub variable_hash: Option<VariableHash>,
}

/// Maximum size of a response, in bytes. A path of the trie has at most 209 nodes of 532 bytes each. The last node
/// also has the value. Only the gas limit bounds the size of the value.
const MAX_ANSWER: u64 = MAX_BODY as u64;

/// Reason why the command did not verify a response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum VerifyError {
    /// A read of the file failed.
    #[error("cannot read {}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A read of standard input failed.
    #[error("cannot read standard input")]
    Stdin(#[source] io::Error),
    /// A request got no usable response.
    #[error("request to {url} failed")]
    Connection {
        /// URL of the node.
        url: String,
        /// The error of the HTTP client.
        source: HttpError,
    },
    /// The node returned an unexpected response.
    #[error("{method}: {got}")]
    Node {
        /// The method that was called.
        method: &'static str,
        /// The response.
        got: String,
    },
    /// The response has a proof of a variable, but the command line does not name the variable.
    #[error("stateProof: expected --variable or --variable-hash, because the response is about a variable")]
    WhichVariable,
    /// The response has more than 64 MiB.
    #[error("expected a response of at most {MAX_ANSWER} bytes, got a larger one")]
    TooLong,
    /// The response is an error of the node, or does not have the form of a state proof.
    #[error(transparent)]
    Answer(#[from] ResponseError),
    /// The state root of the node's block differs from the trusted root.
    #[error("expected a Tx block with the state root {expected}, got one with {got}")]
    OtherBlock {
        /// The trusted root.
        expected: StateRoot,
        /// The root in the node's block.
        got: StateRoot,
    },
    /// The verification of the proof failed.
    #[error(transparent)]
    Proof(#[from] StateProofError),
}

impl VerifyError {
    /// Returns whether the response is invalid, or does not prove the state. All other errors mean that there is no
    /// response to verify, or that the command line does not fit the response.
    pub(crate) fn is_refutation(&self) -> bool {
        match self {
            Self::Answer(ResponseError::Refused { .. }) => false,
            Self::Answer(_) | Self::OtherBlock { .. } | Self::Proof(_) => true,
            Self::File { .. }
            | Self::Stdin(_)
            | Self::Connection { .. }
            | Self::Node { .. }
            | Self::TooLong
            | Self::WhichVariable => false,
        }
    }
}

/// Verifies a state proof from a file or a node, and returns the proven state.
///
/// # Errors
///
/// [`VerifyError`]: the response is invalid, there is no response, or the arguments do not name the variable of the
/// proof.
pub(crate) async fn verify_proof(args: &VerifyArgs) -> Result<ProofReport, VerifyError> {
    let address = args.address;
    let named = args.variable.clone().map(|name| Variable::Named(name, args.index.clone()));
    let variable = named.or(args.variable_hash.map(Variable::Hashed));
    let hash = variable.as_ref().map(|variable| variable.hash(&address));
    let (block, root, text) = match &args.url {
        Some(url) => {
            let fetched = fetch::fetch(url, args.block, &address, hash.as_ref()).await?;
            if let Some(expected) = args.root.filter(|root| *root != fetched.root) {
                return Err(VerifyError::OtherBlock { expected, got: fetched.root });
            }
            (Some(fetched.block), fetched.root, fetched.answer)
        }
        None => (None, args.root.unwrap_or(StateRoot::ZERO), read(args)?),
    };
    let proof: StateProof = text.parse()?;
    let (account, value) = match &hash {
        Some(hash) => {
            let proven = proof.verify_hash(&root, &address, hash)?;
            (proven.account, proven.value)
        }
        None if proof.state.is_empty() => (proof.verify_account(&root, &address)?, None),
        None => return Err(VerifyError::WhichVariable),
    };
    Ok(ProofReport { block, root, is_root_given: args.root.is_some(), address, variable, account, value })
}

/// Reads the response from the file or from standard input. Rejects more than [`MAX_ANSWER`] bytes.
fn read(args: &VerifyArgs) -> Result<String, VerifyError> {
    let mut bytes = Vec::new();
    let most = MAX_ANSWER.saturating_add(1);
    match args.file.as_ref().filter(|path| path.as_os_str() != "-") {
        Some(path) => File::open(path)
            .and_then(|file| file.take(most).read_to_end(&mut bytes))
            .map_err(|source| VerifyError::File { path: path.clone(), source })?,
        None => io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(VerifyError::Stdin)?,
    };
    if bytes.len() > usize::try_from(MAX_ANSWER).unwrap_or(usize::MAX) {
        return Err(VerifyError::TooLong);
    }
    // Invalid UTF-8 becomes replacement characters. The JSON parser rejects these characters outside of strings, and
    // the hex decoder rejects them in strings.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use silica_proof::MemoryTrie;
    use silica_protocol::{Account, Address, CodeHash, ContractAccount, StorageKey, StorageRoot};

    use super::*;

    #[tokio::test]
    async fn large_values_are_proven() {
        let (address, value) = (Address::new([7; 20]), format!("\"{}\"", "x".repeat(5 << 20)));
        let variable = StorageKey::field(&address, "text").variable_hash().to_string();
        let mut storage = MemoryTrie::new();
        storage.insert(variable.as_bytes(), value.as_bytes());
        let storage_root = Some(StorageRoot::new(storage.root()));
        let contract = Some(ContractAccount { code_hash: CodeHash::new([1; 32]), storage_root });
        let mut accounts = MemoryTrie::new();
        accounts.insert(address.to_string().as_bytes(), &Account { contract, ..Account::default() }.encode());
        let nodes = |nodes: Vec<Vec<u8>>| nodes.iter().map(hex::encode).collect::<Vec<_>>();
        let answer = serde_json::json!({
            "accountProof": nodes(accounts.proof(address.to_string().as_bytes()).into_nodes()),
            "stateProof": nodes(storage.proof(variable.as_bytes()).into_nodes()),
        });
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), answer.to_string()).unwrap();
        let args = VerifyArgs {
            file: Some(file.path().to_owned()),
            url: None,
            block: WhichBlock::Latest,
            root: Some(StateRoot::new(accounts.root())),
            address,
            variable: Some("text".to_owned()),
            index: Vec::new(),
            variable_hash: None,
        };
        assert_eq!(verify_proof(&args).await.unwrap().value.unwrap().into_bytes(), value.into_bytes());
    }
}
