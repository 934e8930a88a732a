//! Search for the parameters of a contract in its source. The source is a file or comes from a node, together with the
//! libraries that the source imports.

use std::collections::BTreeMap;

use serde::Deserialize;
use silica_protocol::Address;
use silica_scilla::{
    check::{self, ComponentSummary, Options, ParameterSummary},
    diagnosis::{Diagnosis, diagnose},
    json::{InputError, read_document, read_origin},
    report::Failure,
    resolve::{self, FoundLibrary, LibrarySource, Origin, ResolveError},
    rules::Rules,
    source::Location,
    stdlib::Standard,
    syntax::{parse_contract, parse_library},
    types::adt::DataTypes,
};

use super::{error::ClientError, node::Rpc, rows::listed};
use crate::terminal::visible;

/// Maximum size of a source, in bytes. No network accepts a deployment of this size. The limit bounds the time of a
/// check.
const LONGEST: usize = 1 << 20;

/// Maximum number of libraries that the client fetches for one contract. The limit bounds the requests to a false node.
const MOST_LIBRARIES: usize = 64;

/// Gas limit of the checker. It is far above the gas limit of a block.
const GAS: u64 = 1_000_000;

fn options() -> Options {
    Options { advice: true, ..Options::with_limit(GAS) }
}

/// The file name of init data in reports of the checker.
const INIT: &str = "init data";

/// The parameters of a contract or a library.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    /// The parameters of the deployment.
    pub(super) parameters: Vec<ParameterSummary>,
    pub(super) transitions: Vec<ComponentSummary>,
    pub(super) data_types: DataTypes,
}

/// Libraries from a node, by import target. The target is an address, or a name if the program imports the library by
/// its file name.
#[derive(Clone, Debug, Default)]
pub(super) struct Libraries(BTreeMap<String, FoundLibrary>);

impl LibrarySource for Libraries {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        let standard = Standard.find(target)?;
        Ok(standard.or_else(|| self.0.get(target).cloned()))
    }

    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().chain(Standard.names()).collect()
    }
}

impl Libraries {
    /// Fetches the libraries that a program imports, directly or through other libraries.
    pub(super) async fn fetch(rpc: &Rpc<'_>, origin: &Origin) -> Result<Self, ClientError> {
        let mut libraries = Self::default();
        let listed = |origin: &Origin| origin.libraries.clone().into_iter().collect::<Vec<_>>();
        let mut pending = listed(origin);
        while let Some((name, address)) = pending.pop() {
            // An import of `Name.scillib` refers to a file. An import of any other name refers to the address.
            let stem = name.strip_suffix(".scillib");
            let target = stem.unwrap_or(&address).to_owned();
            let Ok(address) = address.parse::<Address>() else { continue };
            if libraries.0.contains_key(&target) {
                continue;
            }
            if libraries.0.len() >= MOST_LIBRARIES {
                let reason = format!("the contract imports more than {MOST_LIBRARIES} libraries");
                return Err(ClientError::Contract(reason));
            }
            let (text, mut origin) = program_at(rpc, &address).await?;
            if stem.is_some() {
                // A library that is imported by file has no init data. Its imports refer to files too.
                origin = Origin::default();
            }
            pending.extend(listed(&origin));
            let file = format!("{target}.scillib").into();
            libraries.0.insert(target, FoundLibrary { file, text: text.into_bytes().into(), origin });
        }
        Ok(libraries)
    }
}

impl Interface {
    /// Fetches a contract with its libraries, and returns its parameters.
    pub(super) async fn of_address(rpc: &Rpc<'_>, address: &Address) -> Result<Self, ClientError> {
        let (text, origin) = program_at(rpc, address).await?;
        let libraries = Libraries::fetch(rpc, &origin).await?;
        Self::of_contract("contract.scilla", text.as_bytes(), &origin, &libraries)
    }

    /// Checks a contract, and returns its parameters.
    pub(super) fn of_contract(
        file: &str,
        text: &[u8],
        origin: &Origin,
        libraries: &Libraries,
    ) -> Result<Self, ClientError> {
        let parsed = parse_contract(file, text).map_err(|failure| rejected(&failure))?;
        let program = resolve::contract(parsed, origin, libraries).map_err(|error| unresolved(&error))?;
        let checked = check::contract(&program, &options()).map_err(|error| rejected(&error.failure))?;
        let (summary, data_types) = (checked.summary, checked.data_types);
        Ok(Self { parameters: summary.parameters, transitions: summary.transitions, data_types })
    }

    /// Checks a library. Its deployment has no parameters.
    pub(super) fn of_library(
        file: &str,
        text: &[u8],
        origin: &Origin,
        libraries: &Libraries,
    ) -> Result<Self, ClientError> {
        let parsed = parse_library(file, text).map_err(|failure| rejected(&failure))?;
        let program = resolve::library(parsed, origin, libraries).map_err(|error| unresolved(&error))?;
        let checked = check::library(&program, &options()).map_err(|error| rejected(&error.failure))?;
        Ok(Self { parameters: Vec::new(), transitions: Vec::new(), data_types: checked.data_types })
    }

    /// Returns the parameters of a transition. Rejects a name that is not a transition of the contract.
    pub(super) fn transition(&self, name: &str) -> Result<&[ParameterSummary], ClientError> {
        let found = self.transitions.iter().find(|it| *it.name == *name);
        found.map(|it| it.parameters.as_slice()).ok_or_else(|| {
            let names = listed(self.transitions.iter().map(|it| &it.name));
            ClientError::argument("TRANSITION", format!("a transition of the contract: {names}"), name)
        })
    }
}

/// Fetches the source of a contract or a library, and parses its init data.
async fn program_at(rpc: &Rpc<'_>, address: &Address) -> Result<(String, Origin), ClientError> {
    #[derive(Deserialize)]
    struct Code {
        code: String,
    }

    const CODE: &str = "GetSmartContractCode";
    const INIT_DATA: &str = "GetSmartContractInit";
    let code: Code = rpc.get(CODE, &[address.to_string()]).await?;
    if code.code.len() > LONGEST {
        return Err(ClientError::answer(CODE, &format!("expected at most {LONGEST} bytes, got {}", code.code.len())));
    }
    let init = rpc.ask(INIT_DATA, &[address.to_string()]).await?;
    let origin = read_init_data(init.get()).map_err(|reason| ClientError::answer(INIT_DATA, &reason))?;
    Ok((code.code, origin))
}

/// Parses init data with the rules of a node. Returns the names in the init data, for example of libraries.
pub(super) fn read_init_data(text: &str) -> Result<Origin, String> {
    let origin =
        read_document(INIT, text.as_bytes()).and_then(|document| read_origin(INIT, document.root(), Rules::default()));
    origin.map_err(|error| match error {
        InputError::Rejected(failure) => failure.to_string(),
        InputError::Internal(reason) => reason,
    })
}

fn unresolved(error: &ResolveError) -> ClientError {
    match error {
        ResolveError::Import(failure) | ResolveError::Names(failure) => rejected(failure),
    }
}

/// Maximum number of errors of one program in the output.
const SHOWN: usize = 20;

/// Returns the errors of a rejected program. The first line of an error has its source position and its title. The next
/// lines have further positions, notes and help.
fn rejected(failure: &Failure) -> ClientError {
    let errors = diagnose(failure);
    let lines = errors.iter().take(SHOWN).map(lines);
    let reports: Vec<String> = lines.collect();
    ClientError::Contract(format!("the contract is rejected:\n{}", reports.join("\n")))
}

fn lines(error: &Diagnosis) -> String {
    let at = |place: &Location, text: &str| match place.line {
        0 => visible(text),
        line => format!("{}:{line}:{}: {}", visible(&place.file), place.column, visible(text)),
    };
    let title = match &error.label {
        Some(label) => format!("{}: {label}", error.title),
        None => error.title.clone(),
    };
    let mut lines = vec![at(&error.place, &title)];
    lines.extend(error.others.iter().map(|(place, label)| format!("  {}", at(place, label))));
    lines.extend(error.notes.iter().map(|note| format!("  note: {}", visible(note))));
    lines.extend(error.help.iter().map(|help| format!("  help: {}", visible(help))));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(text: &str) -> Result<Interface, String> {
        let interface = Interface::of_contract("a.scilla", text.as_bytes(), &Origin::default(), &Libraries::default());
        interface.map_err(|error| error.to_string())
    }

    #[test]
    fn contracts_declare_their_parameters() {
        let text = "scilla_version 0
            contract C (owner : ByStr20)
            transition A (n : Uint32, who : ByStr20 with end)
            end
            transition B () end";
        let interface = interface(text).unwrap();
        assert_eq!(interface.parameters.len(), 1);
        assert_eq!(interface.transition("A").unwrap().len(), 2);
        assert!(interface.transition("B").unwrap().is_empty());
        let error = interface.transition("a").unwrap_err().to_string();
        assert_eq!(error, "TRANSITION: expected a transition of the contract: A, B, got \"a\"");
    }

    #[test]
    fn rejected_contracts_are_explained() {
        let text = "scilla_version 0
contract C ()
field n : Uint32 = Uint32 0
procedure Put (v : Uint32)
  n := v
end
transition T (o : Option Uint32)
  match o with
  | Some v => Put v
  end
end
transition U ()
  Put
end";
        let error = interface(&text.replace("  Put\n", "  Put _amount\n")).unwrap_err();
        assert!(error.contains("Uint32 expected, but Uint128 provided"), "{error}");
        let error = interface(text).unwrap_err();
        let expected = "the contract is rejected:
a.scilla:13:3: Incorrect number of arguments to procedure: Put: expected 1 argument, found 0
  a.scilla:4:11: declared here as `Put (v : Uint32)`";
        assert!(error.ends_with(expected), "{error}");
        let error = interface(&text.replace("  Put\n", "  accept\n")).unwrap_err();
        let expected = "the contract is rejected:
a.scilla:8:3: Non-exhaustive pattern match: `None` is not covered
  note: in transition `T` of contract `C`
  help: add a clause for the missing values; `_` matches every value";
        assert!(error.ends_with(expected), "{error}");
    }

    #[test]
    fn errors_of_a_contract_have_their_lines() {
        let error = interface("scilla_version 0\ncontract C ()\ntransition T () x = y \nend").unwrap_err();
        assert!(error.contains("rejected:\na.scilla:3:"), "{error}");
        let error = interface("scilla_version 0\ncontract \u{1b}[2J").unwrap_err();
        assert!(error.contains("a.scilla:2:") && !error.contains('\u{1b}'), "{error}");
    }
}
