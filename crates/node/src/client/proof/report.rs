//! The text output of a verified proof.

use std::{fmt, str};

use silica_chain::variable_key;
use silica_proof::StorageValue;
use silica_protocol::{Account, Address, BlockNumber, StateRoot, StorageKey, VariableHash};

use crate::terminal::visible;

/// The state that a response proves.
#[derive(Clone, Debug)]
pub(crate) struct ProofReport {
    /// The block number that the node reported; `None` if the response is from a file.
    pub block: Option<BlockNumber>,
    /// The state root that the proof was verified against.
    pub root: StateRoot,
    /// Whether the command line gave the root; otherwise the node reported it for the block.
    pub is_root_given: bool,
    /// The address of the account.
    pub address: Address,
    /// The variable; `None` if the proof is only of an account.
    pub variable: Option<Variable>,
    /// The proven account, or `None` for its proven absence.
    pub account: Option<Account>,
    /// The proven value of the variable, or `None` for its proven absence.
    pub value: Option<StorageValue>,
}

/// A variable of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// The name of the variable, and the keys in its maps as text without quotes.
    Named(String, Vec<String>),
    /// The variable hash, which is the SHA-256 of the storage key.
    Hashed(VariableHash),
}

impl Variable {
    /// Returns the variable hash, which is a parameter of `GetStateProof`.
    pub(crate) fn hash(&self, contract: &Address) -> VariableHash {
        match self {
            Self::Named(name, indices) => variable_key(contract, name, indices).variable_hash(),
            Self::Hashed(hash) => *hash,
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name, indices) => {
                f.write_str(name)?;
                indices.iter().try_for_each(|index| write!(f, "[{index:?}]"))
            }
            Self::Hashed(hash) => write!(f, "with hash {hash}"),
        }
    }
}

/// The end of a line whose value the node reports without a proof.
const HEARSAY: &str = "  reported by the node";

impl fmt::Display for ProofReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, root, is_root_given, address, variable, account, value } = self;
        if let Some(block) = block {
            writeln!(f, "Tx block       {block}{HEARSAY}")?;
        }
        writeln!(f, "state root     {root}{}", if *is_root_given { "" } else { HEARSAY })?;
        write!(f, "account        0x{address}  {}", address.to_bech32())?;
        match account {
            Some(account) => write_account(account, f)?,
            None => write!(f, "\n  absent       the proof shows that the account does not exist")?,
        }
        let Some(variable) = variable else { return Ok(()) };
        write!(f, "\nvariable       {variable}")?;
        match value {
            Some(value) => write!(f, "\n  value        {}", Shown { value: value.as_bytes(), variable, address }),
            None => write!(f, "\n  absent       the proof shows that nothing is stored under {}", Place(variable)),
        }
    }
}

/// A description of the storage key that is proven to be absent. The absence of a value under the name of a map does
/// not mean that the map has no entries.
struct Place<'a>(&'a Variable);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Variable::Named(_, indices) if indices.is_empty() => {
                "the name alone; entries of a map are under their keys"
            }
            Variable::Named(..) => "the name and these keys",
            Variable::Hashed(_) => "the hash",
        })
    }
}

fn write_account(account: &Account, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "\n  balance      {} Qa\n  nonce        {}", account.balance, account.nonce)?;
    let Some(contract) = account.contract else {
        return write!(f, "\n  code hash    none: the account is not a contract");
    };
    write!(f, "\n  code hash    {}", contract.code_hash)?;
    match contract.storage_root {
        Some(root) => write!(f, "\n  storage root {root}"),
        None => write!(f, "\n  storage root none"),
    }
}

/// A stored value as text. Control characters, and invisible characters that change the display of other characters,
/// are escaped.
struct Shown<'a> {
    value: &'a [u8],
    variable: &'a Variable,
    address: &'a Address,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_address = self.variable.hash(self.address) == StorageKey::address(self.address).variable_hash();
        if self.value == StorageKey::EMPTY_MAP {
            return f.write_str("a map without entries");
        }
        match str::from_utf8(self.value) {
            Ok(text) if !is_address => f.write_str(&visible(text)),
            Ok(_) | Err(_) => write!(f, "0x{}", hex::encode(self.value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(name: &str, value: &[u8]) -> String {
        let variable = &Variable::Named(name.to_owned(), Vec::new());
        Shown { value, variable, address: &Address::ZERO }.to_string()
    }

    #[test]
    fn values_are_shown_as_their_text() {
        assert_eq!(show("n", br#""420""#), r#""420""#);
        assert_eq!(show("n", "\"é\u{1b}[31m\"".as_bytes()), "\"é\\u{1b}[31m\"");
        assert_eq!(show("n", "\"a\u{202e}b\u{200b}'\\n\"".as_bytes()), "\"a\\u{202e}b\\u{200b}'\\n\"");
        assert_eq!(show("n", &[0x12, 0x00]), "a map without entries");
        assert_eq!(show("n", &[0xff, 0x00]), "0xff00");
        assert_eq!(show("_addr", &[b'a'; 20]), format!("0x{}", "61".repeat(20)));
    }

    #[test]
    fn variables_are_shown_with_their_keys() {
        let variable = Variable::Named("m".to_owned(), vec!["a\"".to_owned(), "1".to_owned()]);
        assert_eq!(variable.to_string(), r#"m["a\""]["1"]"#);
        let named = Variable::Named("n".to_owned(), Vec::new()).hash(&Address::ZERO);
        assert_eq!(Variable::Hashed(named).hash(&Address::ZERO), named);
    }
}
