//! The Scilla language: texts of programs, and the files that belong to them.
//!
//! An input begins with the text of a module. A line with the prefix `%% ` starts another part, and names it. The part
//! `lib NAME` is a library that the module can import. [`run`] defines further parts.

pub mod check;
pub mod json;
pub mod run;
mod samples;
pub mod syntax;

use silica_scilla::{
    report::Failure,
    resolve::{FoundLibrary, LibrarySource, Origin},
    stdlib,
};

/// Programs that together have all statements, expressions and types.
const PROGRAMS: [&str; 8] = [
    include_str!("programs/auction.scilla"),
    include_str!("programs/builtins.scilla"),
    include_str!("programs/library.scilla"),
    include_str!("programs/remote.scilla"),
    include_str!("programs/statements.scilla"),
    include_str!("programs/types.scilla"),
    include_str!("../../../contracts/hello_world/hello_world.scilla"),
    include_str!("../../../contracts/fungible_token/fungible_token.scilla"),
];

/// Init data of the first example.
const INIT: &str = r#"[
  { "vname": "_scilla_version", "type": "Uint32", "value": "0" },
  { "vname": "_this_address", "type": "ByStr20", "value": "0xabfeccdc9012345678901234567890f777567890" },
  { "vname": "_creation_block", "type": "BNum", "value": "1" },
  { "vname": "owner", "type": "ByStr20", "value": "0x1234567890123456789012345678901234567890" } ]"#;

/// A message to the first example.
const MESSAGE: &str = r#"{
  "_tag": "SetGreeting", "_amount": "0",
  "_sender": "0x1234567890123456789012345678901234567890",
  "_origin": "0x1234567890123456789012345678901234567890",
  "params": [ { "vname": "text", "type": "String", "value": "Good day" } ] }"#;

/// The parts of an input.
struct Parts<'a> {
    /// The text before the first line that starts another part.
    main: &'a str,
    /// Names and texts of the parts after the first part.
    others: Vec<(&'a str, &'a str)>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Self {
        let mut pieces = text.split("\n%% ");
        let main = pieces.next().unwrap_or_default();
        Self { main, others: pieces.map(|piece| piece.split_once('\n').unwrap_or((piece, ""))).collect() }
    }

    /// Returns the parts with this name, in order.
    fn named(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.others.iter().filter(move |(found, _)| *found == name).map(|(_, text)| *text)
    }
}

impl LibrarySource for Parts<'_> {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        let own = self.others.iter().find(|(name, _)| name.strip_prefix("lib ") == Some(target)).map(|(_, text)| *text);
        Ok(own.or_else(|| stdlib::text(target)).map(|text| FoundLibrary {
            file: format!("{target}.scillib").into(),
            text: text.as_bytes().into(),
            origin: Origin::default(),
        }))
    }
}

/// Checks that each entry of a report has a text, and that its locations are within the files that it names.
fn check_report(failure: &Failure, text_of: impl Fn(&str) -> Option<usize>) {
    assert!(!failure.entries().is_empty());
    for entry in failure.entries() {
        assert!(!entry.message.is_empty(), "{failure:?}");
        for place in [&entry.start, &entry.end] {
            if place.line == 0 {
                assert_eq!((&*place.file, place.column), ("", 0), "{failure:?}");
            } else if &*place.file != "Prelude" {
                let length = text_of(&place.file).unwrap_or_else(|| panic!("an unknown file: {failure:?}"));
                assert!(place.column >= 1, "{failure:?}");
                assert!(place.line as usize + place.column as usize <= length + 3, "{length}: {failure:?}");
            }
        }
    }
}

fn bytes(texts: impl IntoIterator<Item: AsRef<str>>) -> Vec<Vec<u8>> {
    texts.into_iter().map(|text| text.as_ref().as_bytes().to_vec()).collect()
}
