//! Blockchain files: the facts of the chain that a run may read.

use std::sync::Arc;

use super::{Ending, InputError, Pair, entries};
use crate::json::{
    document::{Json, Kind},
    value::{ValueError, member, text, text_member},
};

/// The facts of the chain that a run may read, as a file states them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainInput {
    /// The block number in decimal, if the file has it.
    pub block_number: Option<Arc<str>>,
    /// The chain id in decimal, if the file has it.
    pub chain_id: Option<Arc<str>>,
    /// The timestamps by block number, or `None` if the file has no such entry.
    pub timestamps: Option<Vec<Pair>>,
}

impl ChainInput {
    /// Reads the facts of the chain.
    ///
    /// # Errors
    ///
    /// If the file is invalid.
    pub fn read(file: &str, json: Json<'_>) -> Result<Self, InputError> {
        let wrong = |error| Ending::Chain.wrong(file, error);
        let mut chain = Self::default();
        for entry in entries(json).map_err(wrong)? {
            let name = text_member(entry, "vname").map_err(wrong)?;
            let value = member(entry, "value").map_err(wrong)?;
            match name {
                "BLOCKNUMBER" => chain.block_number = Some(text(value).map_err(wrong)?.into()),
                "CHAINID" => chain.chain_id = Some(text(value).map_err(wrong)?.into()),
                "TIMESTAMP" => chain.timestamps = Some(pairs(value).map_err(wrong)?),
                // No statement of the language can read this entry.
                "REPLICATE_CONTRACT" => drop(pairs(value).map_err(wrong)?),
                _ => return Err(Ending::Chain.report(file, format!("Unknown field {name} in blockchain JSON"))),
            }
        }
        Ok(chain)
    }
}

/// Reads an object of texts.
fn pairs(json: Json<'_>) -> Result<Vec<Pair>, ValueError> {
    let found = |kind: Kind| ValueError::Internal(format!("expected object, got {}", kind.word()));
    let members = json.members().ok_or_else(|| found(json.kind()))?;
    members.map(|(name, value)| Ok((name.into(), text(value)?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{error_of, with},
        *,
    };

    fn read(json: &str) -> Result<ChainInput, InputError> {
        with(json, |json, _| ChainInput::read("b.json", json))
    }

    #[test]
    fn facts_are_read() {
        let chain = read(
            r#"[{"vname":"BLOCKNUMBER","type":"BNum","value":"100"},{"vname":"CHAINID","type":"Uint32","value":"1"},
                {"vname":"TIMESTAMP","type":"Uint64","value":{"100":"12218"}}]"#,
        );
        let expected = ChainInput {
            block_number: Some("100".into()),
            chain_id: Some("1".into()),
            timestamps: Some(vec![("100".into(), "12218".into())]),
        };
        assert_eq!(chain, Ok(expected));
        assert_eq!(read("[]"), Ok(ChainInput::default()));
    }

    #[test]
    fn invalid_chain_data_is_an_error() {
        assert_eq!(
            error_of(read(r#"[{"vname":"MOON","type":"BNum","value":"1"}]"#)),
            "Unknown field MOON in blockchain JSON|Failed to parse json b.json:\n"
        );
        assert_eq!(
            error_of(read(r#"[{"vname":"CHAINID","type":"Uint32","value":1}]"#)),
            "Expected string, got int|Failed to parse json b.json:\n"
        );
        assert_eq!(error_of(read(r#"[{"vname":"TIMESTAMP","type":"Uint64","value":"1"}]"#)), "internal");
    }
}
