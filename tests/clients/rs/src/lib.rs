//! Verifies a `GetStateProof` result with `eth_trie`. The code of this project only decodes one protobuf message.

use std::sync::Arc;

use eth_trie::{EthTrie, MemoryDB, Trie, TrieError};

/// The account of a contract and one entry of its storage, from a state proof.
#[derive(Debug, PartialEq, Eq)]
pub struct Proved {
    /// Bytes of the account in the account trie.
    pub account: Vec<u8>,
    /// Balance of the account, in Qa.
    pub balance: u128,
    /// Root of the storage trie of the contract, from the bytes of the account.
    pub storage_root: Vec<u8>,
    /// Bytes of the entry, or `None` if the proof shows that the entry does not exist.
    pub value: Option<Vec<u8>>,
}

/// Verifies the proof of the account with the state root, and the proof of the entry with the storage root of the
/// account.
///
/// # Errors
///
/// The error of the first failed step.
pub fn prove(
    state_root: &[u8],
    address: &str,
    variable_hash: &str,
    account_proof: Vec<Vec<u8>>,
    state_proof: Vec<Vec<u8>>,
) -> Result<Proved, String> {
    let account = value_in(state_root, address, account_proof)
        .map_err(|e| format!("account proof: {e}"))?
        .ok_or("the account is proved to be absent")?;
    let balance = bytes_field(&account, 2).and_then(|message| bytes_field(message, 1)).ok_or("no balance")?;
    let balance = u128::from_be_bytes(balance.try_into().map_err(|_| "a balance of another width")?);
    let storage_root = bytes_field(&account, 5).ok_or("the account has no storage root")?.to_vec();
    let value = value_in(&storage_root, variable_hash, state_proof).map_err(|e| format!("state proof: {e}"))?;
    Ok(Proved { account, balance, storage_root, value })
}

/// Returns the root of the trie with exactly these entries.
///
/// # Panics
///
/// If the trie in memory is not readable.
pub fn root_of<'a>(entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut trie = EthTrie::new(Arc::new(MemoryDB::new(true)));
    for (key, value) in entries {
        trie.insert(key.as_bytes(), value).expect("in memory");
    }
    trie.root_hash().expect("in memory").to_vec()
}

/// Returns the value of a key, or `None` if the proof shows that the trie does not have the key. The keys of both tries
/// are lower-case hexadecimal digits as ASCII, and are not hashed.
fn value_in(root: &[u8], key: &str, nodes: Vec<Vec<u8>>) -> Result<Option<Vec<u8>>, TrieError> {
    let root: [u8; 32] = root.try_into().map_err(|_| TrieError::InvalidProof)?;
    let trie = EthTrie::new(Arc::new(MemoryDB::new(true)));
    trie.verify_proof(root.into(), key.to_ascii_lowercase().as_bytes(), nodes)
}

/// Returns a length-delimited field of a protobuf message, or `None` if the message does not have the field or is
/// malformed.
fn bytes_field(mut message: &[u8], wanted: u64) -> Option<&[u8]> {
    fn varint(message: &mut &[u8]) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = message.split_first()?;
            *message = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        match tag & 7 {
            0 => drop(varint(&mut message)?),
            2 => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                let (field, rest) = message.split_at_checked(length)?;
                if tag >> 3 == wanted {
                    return Some(field);
                }
                message = rest;
            }
            _ => return None,
        }
    }
    None
}
