//! Checking an answer of `GetStateProof` from the command line.
//!
//! The answer comes from a file, from standard input, or from a node that is asked for it; it is checked in the same way
//! wherever it comes from, and what it proves is said in words.

mod answer;
mod fetch;
pub(super) mod get;
mod report;

use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use clap::{ArgGroup, Args, Subcommand};
use silica_protocol::{Address, StateRoot, VariableHash};
use silica_state::{ProvenState, StateProofError, verify_account_proof, verify_state_proof};

use self::answer::Reply;
pub use self::{
    answer::AnswerError,
    get::GetProofArgs,
    report::{ProofReport, Variable},
};
use super::{
    http::MAX_BODY,
    url::NodeUrl,
    values::{WhichBlock, any_address, variable_name},
};

/// What can be done with proofs.
#[derive(Debug, Subcommand)]
pub enum ProofCommand {
    /// Check an answer of `GetStateProof` against the state root of a Tx block, and say what it proves.
    ///
    /// Nothing in the answer is trusted. Of an account the proof has balance, nonce, code hash and storage root; of a
    /// variable the stored value; or it proves that there is none.
    #[command(
        after_help = "Exit status: 0 the answer proves what is printed, 1 it proves nothing, 2 there was nothing \
                            to check: wrong use, an unreadable file, or a node that does not answer."
    )]
    Verify(VerifyArgs),
    /// Ask a node for a proof of a contract's variable, and print it as JSON.
    ///
    /// Nothing is checked: that is what `silica proof verify` does with the answer.
    Get(GetProofArgs),
}

/// Which proof, of what.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("source").args(["file", "url"]))]
#[command(group = ArgGroup::new("key").args(["variable", "variable_hash"]))]
#[command(group = ArgGroup::new("trusted").args(["root", "url"]).required(true).multiple(true))]
pub struct VerifyArgs {
    /// The answer as JSON, alone or in its envelope; standard input when nothing or - is said.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Ask this node for the block and for the proof.
    #[arg(long, value_name = "http://HOST:PORT", requires = "key")]
    pub url: Option<NodeUrl>,
    /// Number of the Tx block whose state is proved, or latest.
    #[arg(long, value_name = "NUMBER", default_value = "latest", requires = "url")]
    pub block: WhichBlock,
    /// `StateRootHash` of the Tx block; with --url, the node's block must have it too.
    #[arg(long, value_name = "HEX")]
    pub root: Option<StateRoot>,
    /// The account, in hexadecimal or as bech32.
    #[arg(long, value_name = "ADDRESS", value_parser = any_address)]
    pub address: Address,
    /// Name of the contract's variable.
    #[arg(long, value_name = "NAME", value_parser = variable_name)]
    pub variable: Option<String>,
    /// Key of the variable's map, without quotes; one for each map, from the outermost.
    #[arg(long, value_name = "KEY", requires = "variable", allow_hyphen_values = true)]
    pub index: Vec<String>,
    /// Hash of the variable's storage key, instead of its name.
    #[arg(long, value_name = "HEX")]
    pub variable_hash: Option<VariableHash>,
}

/// Longest answer that is read, in bytes. A path has at most 209 nodes of 532 bytes, but the last of them holds the value,
/// which may be as large as gas pays for.
const MAX_ANSWER: u64 = MAX_BODY as u64;

/// Reason why an answer was not found to prove anything.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Standard input cannot be read.
    #[error("cannot read standard input")]
    Stdin(#[source] io::Error),
    /// The node cannot be talked to.
    #[error("cannot talk to {url}")]
    Connection {
        /// The node.
        url: String,
        /// What happened.
        source: io::Error,
    },
    /// The node answered something unexpected.
    #[error("{method}: {got}")]
    Node {
        /// The method that was called.
        method: &'static str,
        /// What came.
        got: String,
    },
    /// There is no proof, but the node's reason why it gave none.
    #[error("the node gave no proof: {reason}")]
    Refused {
        /// Its reason.
        reason: String,
    },
    /// The answer proves something of a variable, and it was not said of which.
    #[error("stateProof: it proves a variable; say which with --variable or --variable-hash")]
    WhichVariable,
    /// The answer is too long to be read.
    #[error("the answer is longer than {MAX_ANSWER} bytes")]
    TooLong,
    /// The answer is malformed.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The node's block has another state than the one that is trusted.
    #[error("the node's Tx block has the state root {got}, not {expected}")]
    OtherBlock {
        /// The trusted root.
        expected: StateRoot,
        /// The node's.
        got: StateRoot,
    },
    /// The answer proves nothing.
    #[error(transparent)]
    Proof(#[from] StateProofError),
}

impl VerifyError {
    /// Whether there was an answer, which proves nothing. Otherwise there was nothing to check.
    pub fn is_refutation(&self) -> bool {
        match self {
            Self::Answer(_) | Self::OtherBlock { .. } | Self::Proof(_) => true,
            Self::File { .. }
            | Self::Stdin(_)
            | Self::Connection { .. }
            | Self::Node { .. }
            | Self::Refused { .. }
            | Self::TooLong
            | Self::WhichVariable => false,
        }
    }
}

/// Checks an answer of `GetStateProof`, which is read or asked for, and returns what it proves.
///
/// # Errors
///
/// [`VerifyError`]: it proves nothing, or there is none.
pub async fn verify_proof(args: &VerifyArgs) -> Result<ProofReport, VerifyError> {
    let address = args.address;
    let named = args.variable.clone().map(|name| Variable::Named(name, args.index.clone()));
    let variable = named.or(args.variable_hash.map(Variable::Hashed));
    let hash = variable.as_ref().map(|variable| variable.hash(&address));
    let (block, root, text) = match (&args.url, &hash) {
        (Some(url), Some(hash)) => {
            let told = fetch::fetch(url, args.block, &address, hash).await?;
            if let Some(expected) = args.root.filter(|root| *root != told.root) {
                return Err(VerifyError::OtherBlock { expected, got: told.root });
            }
            (Some(told.block), told.root, told.answer)
        }
        (Some(_), None) => return Err(VerifyError::WhichVariable),
        (None, _) => (None, args.root.unwrap_or(StateRoot::ZERO), read(args)?),
    };
    let answer = match Reply::read(&text)? {
        Reply::Proof(answer) => answer,
        Reply::Refusal(reason) => return Err(VerifyError::Refused { reason }),
    };
    let proven = match &hash {
        Some(hash) => verify_state_proof(&root, &address, hash, &answer.account_proof, &answer.state_proof)?,
        None if answer.state_proof.is_empty() => {
            let account = verify_account_proof(&root, &address, &answer.account_proof)?;
            ProvenState { account, variable: None }
        }
        None => return Err(VerifyError::WhichVariable),
    };
    Ok(ProofReport { block, root, is_root_given: args.root.is_some(), address, variable, proven })
}

/// Reads the answer from the file or from standard input.
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
    // What is not UTF-8 is not JSON either, and is shown to be so by the reader.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use silica_protocol::{Account, Address, CodeHash, ContractAccount, StorageKey, StorageRoot};
    use silica_state::trie::MemoryTrie;

    use super::*;

    #[tokio::test]
    async fn large_values_are_proven() {
        let (address, value) = (Address::new([7; 20]), format!("\"{}\"", "x".repeat(5 << 20)));
        let variable = StorageKey::entry(&address, "text", &[""; 0]).variable_hash().to_string();
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
        assert_eq!(verify_proof(&args).await.unwrap().proven.variable, Some(value.into_bytes()));
    }
}
