//! The network file and the accounts file on disk.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use silica_chain::{ChainConfig, Genesis};
use silica_council::{AccountsFile, BlockTiming, NetworkFile, Parameters};
use silica_protocol::{ChainId, sha256};

use super::NetworkError;
use crate::{
    clock,
    config::Profile,
    data_dir::{ACCOUNTS, LONGEST_ACCOUNTS},
    files::{self, parent_of},
};

/// Maximum length of a network file, in bytes. A file with the largest committee has about 40,000 bytes.
const LONGEST: u64 = 1 << 20;
/// Maximum length of the canonical form of a body, in bytes.
const MAX_BODY: u32 = 4 << 20;

/// Reads the text of a network file.
pub(super) fn read_text(path: &Path) -> Result<String, NetworkError> {
    let bytes = files::read_named(path, LONGEST).map_err(NetworkError::io("read", path))?;
    let text = std::str::from_utf8(&bytes).map_err(io::Error::other);
    Ok(text.map_err(NetworkError::io("read", path))?.to_owned())
}

/// Reads a network file.
pub(super) fn read(path: &Path) -> Result<NetworkFile, NetworkError> {
    NetworkFile::parse(&read_text(path)?).map_err(|source| NetworkError::File { path: path.to_owned(), source })
}

/// Returns the path of the accounts file. A relative path begins at the directory of the network file.
pub(super) fn accounts_path(network: &Path, accounts: &AccountsFile) -> PathBuf {
    parent_of(network).join(&accounts.file)
}

/// Reads the bytes of an accounts file.
pub(super) fn read_accounts(path: &Path) -> Result<Vec<u8>, NetworkError> {
    files::read_named(path, LONGEST_ACCOUNTS).map(|bytes| bytes.to_vec()).map_err(NetworkError::io("read", path))
}

/// Writes a new file that other users can read. Fails if an entry with this name exists.
pub(super) fn write_new(path: &Path, text: &str) -> Result<(), NetworkError> {
    let created = OpenOptions::new().write(true).create_new(true).open(path);
    let written = created.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| files::sync_directory(parent_of(path))).map_err(NetworkError::io("write", path))
}

/// Writes the test accounts next to the network file, and returns their entry in the network file.
pub(super) fn write_test_accounts(network: &Path) -> Result<AccountsFile, NetworkError> {
    let text = Profile::Isolated.accounts();
    write_new(&parent_of(network).join(ACCOUNTS), &text)?;
    Ok(AccountsFile { file: ACCOUNTS.to_owned(), sha256: sha256(&[text.as_bytes()]) })
}

/// Returns the entry of an accounts file that exists. Its path is relative to the network file if the file is below the
/// same directory.
pub(super) fn entry_of(network: &Path, accounts: &Path) -> Result<AccountsFile, NetworkError> {
    let bytes = read_accounts(accounts)?;
    let invalid = |reason: String| NetworkError::Accounts { path: accounts.to_owned(), reason };
    let text = std::str::from_utf8(&bytes).map_err(|error| invalid(error.to_string()))?;
    Genesis::from_accounts_json(text).map_err(|error| invalid(error.to_string()))?;
    let directory = parent_of(network);
    let [directory, path] =
        [directory, accounts].map(|path| fs::canonicalize(path).map_err(NetworkError::io("resolve the path of", path)));
    let (directory, path) = (directory?, path?);
    let path = path.strip_prefix(&directory).unwrap_or(&path);
    let name = path.to_str().ok_or_else(|| invalid("its path is not UTF-8".to_owned()))?;
    Ok(AccountsFile { file: name.to_owned(), sha256: sha256(&[&bytes]) })
}

/// Returns the parameters of a new network. Parameters that a single node also has get the values of a single node.
pub(super) fn parameters(
    name: &str,
    chain_id: Option<ChainId>,
    accounts: AccountsFile,
    propose: Duration,
) -> Parameters {
    let chain = ChainConfig::isolated();
    Parameters {
        name: name.to_owned(),
        chain_id: chain_id.unwrap_or(chain.chain_id),
        genesis_time: clock::now(),
        shards: chain.shards,
        blocks_per_ds_epoch: chain.blocks_per_ds_epoch,
        shard_gas_limit: chain.shard_gas_limit,
        ds_gas_limit: chain.ds_gas_limit,
        minimum_gas_price: chain.minimum_gas_price,
        coinbase_reward: chain.coinbase_reward,
        accounts,
        blocks: BlockTiming::Interval(Duration::from_secs(1)),
        drift: Duration::from_secs(2),
        propose_timeout: propose,
        max_body: MAX_BODY,
        scilla_rules: chain.rules.scilla,
        rule_changes: Vec::new(),
    }
}

/// Returns the warning for a committee that makes no blocks while one of its members is faulty. Returns `None` for at
/// least 4 members.
pub(super) fn no_faults_warning(members: usize) -> Option<String> {
    (members < 4).then(|| {
        format!(
            "{members} members tolerate no fault: if one member stops, the network makes no blocks; with 4 members, it \
             makes blocks with 1 faulty member"
        )
    })
}

/// Checks the name of a network or of a member.
pub(super) fn parse_name(text: &str) -> Result<String, String> {
    if silica_council::is_network_name(text) {
        return Ok(text.to_owned());
    }
    Err("expected 1 to 64 lower-case letters, digits and hyphens".to_owned())
}
