//! Inputs of a run as JSON, from tools and from the chain: parameters, messages, state and facts of the chain.
//!
//! Receipts contain error texts and file names. Therefore an error has the text of the reference, and then an entry
//! with the file name.

mod chain;
mod init;
mod message;
#[cfg(test)]
mod sent_tests;
mod state;

use std::sync::Arc;

pub use self::{
    chain::ChainInput,
    init::{missing_this_address, read_init, read_origin},
    message::MessageInput,
    state::{Account, StateInput},
};
use super::{
    document::{Document, Elements, Json},
    parse,
    types::parse_type,
    value::{ValueError, ValueReader, member, text_member},
};
use crate::{
    host::StateField,
    report::{Entry, Failure},
    types::{AddressType, Type},
};

/// A key and a value, both as texts.
pub type Pair = (Arc<str>, Arc<str>);

/// Reason why an input is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// An input for which the reference ends without a report, for example hex digits without `0x`.
    #[error("{0}")]
    Internal(String),
    /// An error that the reference reports.
    #[error(transparent)]
    Rejected(#[from] Failure),
}

/// The text of the last entry of an error, which names the invalid file.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// The text for a blockchain file.
    Chain,
    /// The text for any other file.
    Plain,
    /// The text for an init file, if the interpreter reads only the address and the libraries of its module.
    Unable,
}

impl Ending {
    fn entry(self, file: &str) -> Entry {
        Entry::nowhere(match self {
            Self::Chain => format!("Failed to parse json {file}:\n"),
            Self::Plain => format!("Failed to parse json: {file}"),
            Self::Unable => format!("Unable to parse JSON file: {file}"),
        })
    }

    /// Returns an error about a file.
    fn report(self, file: &str, message: impl Into<String>) -> InputError {
        InputError::Rejected(Failure::of(Entry::nowhere(message)).followed_by(self.entry(file)))
    }

    fn wrong(self, file: &str, error: ValueError) -> InputError {
        if let ValueError::Internal(what) = error {
            return InputError::Internal(format!("{file}: {what}"));
        }
        self.report(file, error.to_string())
    }
}

/// Returns an error without a file name.
fn rejected(message: impl Into<String>) -> InputError {
    InputError::Rejected(Failure::of(Entry::nowhere(message)))
}

/// Parses the text of a JSON file.
///
/// # Errors
///
/// If the text is not JSON.
pub fn read_document(file: &str, text: &[u8]) -> Result<Document, InputError> {
    parse(text).map_err(|error| Ending::Plain.report(file, error.to_string()))
}

/// Reads a named value.
fn read_named(json: Json<'_>, reader: &mut ValueReader<'_>) -> Result<StateField, ValueError> {
    let name = text_member(json, "vname")?;
    let ty = parse_type(text_member(json, "type")?)?;
    let value = reader.read(member(json, "value")?, &ty)?;
    Ok(StateField { name: check_name(name)?.into(), ty, value })
}

fn check_name(name: &str) -> Result<&str, ValueError> {
    if name.contains('.') { Err(ValueError::DottedName(name.into())) } else { Ok(name) }
}

/// Returns the entries of a file, which must be an array.
fn entries(json: Json<'_>) -> Result<Elements<'_>, ValueError> {
    json.elements().ok_or_else(|| ValueError::Internal(format!("expected array, got {}", json.kind().word())))
}

/// Checks that a type is permitted in an init file or a message.
fn check_kind(ty: &Type) -> Result<(), InputError> {
    let mut address = false;
    let mut function = false;
    ty.visit(|part| match part {
        Type::Address(AddressType::Any | AddressType::Code | AddressType::Contract(_) | AddressType::Library) => {
            address = true;
        }
        Type::Forall(..) | Type::Function(..) | Type::Unit | Type::Variable(_) => function = true,
        Type::Adt(..) | Type::Map(..) | Type::Primitive(_) => {}
    });
    if address {
        Err(rejected("Address type not allowed in json file"))
    } else if function {
        Err(rejected(format!("Illegal type in json file: {}", ty.global())))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::adt::DataTypes;

    /// Returns the messages of an error's entries, joined by bars. Returns "internal" for an error without a report,
    /// and "accepted" for no error.
    pub(super) fn error_of<T>(result: Result<T, InputError>) -> String {
        match result {
            Ok(_) => "accepted".into(),
            Err(InputError::Internal(_)) => "internal".into(),
            Err(InputError::Rejected(failure)) => {
                let messages: Vec<_> = failure.entries().iter().map(|entry| entry.message.as_str()).collect();
                messages.join("|")
            }
        }
    }

    /// Parses a JSON text, and calls `read` with the root of the document and the built-in types.
    pub(super) fn with<T>(json: &str, read: impl FnOnce(Json<'_>, &DataTypes) -> T) -> T {
        let document = read_document("f.json", json.as_bytes()).unwrap();
        read(document.root(), &DataTypes::built_in())
    }

    #[test]
    fn error_of_a_text_that_is_no_json_has_the_position() {
        assert_eq!(
            error_of(read_document("f.json", b"[1,")),
            "line 1, column 4: expected a value, found the end of the text|Failed to parse json: f.json"
        );
    }
}
