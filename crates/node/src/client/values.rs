//! Types of command line values that several commands share.

use std::str::FromStr;

use silica_protocol::Address;

/// A Tx block or DS block, by its number or as the latest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhichBlock {
    /// The latest block.
    Latest,
    /// The block with this number.
    Number(u64),
}

impl FromStr for WhichBlock {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "latest" => Ok(Self::Latest),
            number => number.parse().map(Self::Number).map_err(|_| "expected a block number or latest".to_owned()),
        }
    }
}

/// Parses the name of a field. Other characters, for example the separator of storage keys, would give the storage key
/// of another variable.
pub(crate) fn variable_name(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name { Ok(text.to_owned()) } else { Err("expected letters, digits and underscores".to_owned()) }
}

/// Returns an address in hexadecimal and as bech32.
pub(super) fn both_forms(address: Address) -> String {
    format!("0x{}  {}", address.to_checksum(), address.to_bech32())
}
