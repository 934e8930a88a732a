//! Interfaces of contracts, and the check of a source text.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use silica_chain::{
    Chain, CheckError, CheckRequest, ContractInterface, Diagnostic, InterfaceError, Position, SourceCheck,
    TokenStandard,
};
use silica_protocol::{
    Address,
    rpc::{
        contract::{
            ComponentJson, ConstructorJson, ContractCheckJson, ContractInterfaceJson, DataTypeJson, DiagnosticJson,
            EventInfoJson, FieldInfoJson, SeverityJson, SourcePositionJson, SourceSpanJson, TokenStandardJson,
            TypedNameJson,
        },
        error::RpcErrorCode,
    },
};
use silica_scilla::{
    check::{ComponentSummary, EventInfo, FieldSummary, ParameterSummary},
    eval::VERSION,
    source::Location,
    syntax::{Outline, PartKind},
    types::{Type, adt::DataType},
};

use super::written::Written;
use crate::{
    driver::NodeHandle,
    head::Context,
    rpc::{
        CallError, Command, Entry, Method,
        params::{FromParam as _, Text, options::Options},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] =
    &[Entry::command::<CheckContract>().of_weight(20), Entry::slow::<GetContractInterface>().of_weight(10)];

/// The interface of a contract or library: its parameters, fields, transitions, events and data types. An extension of
/// this node.
///
/// The result has the members of the object `contract_info` that `scilla check -contractinfo` prints for the code of
/// the contract. In addition, it has documentation, positions, and the standards of tokens that the contract seems to
/// have.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetContractInterface {
    /// Address of the contract or library.
    address: Text<Address>,
}

impl From<InterfaceError> for CallError {
    fn from(error: InterfaceError) -> Self {
        match error {
            InterfaceError::UnknownAccount | InterfaceError::NotAContract => {
                Self::with_text_of(RpcErrorCode::INVALID_ADDRESS_OR_KEY, &error)
            }
            InterfaceError::Unusable | InterfaceError::State(_) => Self::internal(error),
            _ => Self::internal(error),
        }
    }
}

impl Method for GetContractInterface {
    const NAME: &'static str = "silica_getContractInterface";
    type Output = ContractInterfaceJson;

    fn call(self, at: &Context) -> Result<ContractInterfaceJson, CallError> {
        Ok(interface(&at.snapshot.contract_interface(&self.address.named("address")?)?))
    }
}

fn interface(interface: &ContractInterface) -> ContractInterfaceJson {
    let ContractInterface { outline, is_library, .. } = interface;
    let kind = if *is_library { PartKind::Library } else { PartKind::Contract };
    let component = |kind: PartKind| move |it: &ComponentSummary| component(it, kind, outline);
    ContractInterfaceJson {
        data_types: interface.data_types.iter().map(|it| data_type(it, outline)).collect(),
        documentation: documentation(outline, kind, &interface.name),
        events: interface.events.iter().map(event).collect(),
        fields: interface.fields.iter().map(|it| field(it, outline)).collect(),
        library: *is_library,
        params: interface.parameters.iter().map(parameter).collect(),
        procedures: interface.procedures.iter().map(component(PartKind::Procedure)).collect(),
        scilla_major_version: VERSION.to_owned(),
        standards: interface.standards.iter().copied().map(standard).collect(),
        transitions: interface.transitions.iter().map(component(PartKind::Transition)).collect(),
        name: interface.name.to_string(),
    }
}

pub(super) const fn standard(standard: TokenStandard) -> TokenStandardJson {
    match standard {
        TokenStandard::Zrc1 => TokenStandardJson::Zrc1,
        TokenStandard::Zrc2 => TokenStandardJson::Zrc2,
        TokenStandard::Zrc6 => TokenStandardJson::Zrc6,
    }
}

fn documentation(outline: &Outline, kind: PartKind, name: &str) -> Option<String> {
    outline.part(kind, name)?.documentation.clone()
}

fn typed(name: &str, ty: &Type) -> TypedNameJson {
    TypedNameJson { type_name: ty.global().to_string(), name: name.to_owned() }
}

fn parameter(ParameterSummary { name, ty }: &ParameterSummary) -> TypedNameJson {
    typed(name, ty)
}

fn field(FieldSummary { name, ty, depth }: &FieldSummary, outline: &Outline) -> FieldInfoJson {
    FieldInfoJson {
        depth: *depth,
        documentation: documentation(outline, PartKind::Field, name),
        type_name: ty.global().to_string(),
        name: name.to_string(),
    }
}

fn component(
    ComponentSummary { name, parameters }: &ComponentSummary,
    kind: PartKind,
    outline: &Outline,
) -> ComponentJson {
    let part = outline.part(kind, name).cloned().unwrap_or_default();
    let end = part.end.as_ref().unwrap_or(&part.start);
    ComponentJson {
        params: parameters.iter().map(parameter).collect(),
        span: SourceSpanJson { end: place(end), start: place(&part.start) },
        documentation: part.documentation,
        name: name.to_string(),
    }
}

fn place(Location { line, column, .. }: &Location) -> SourcePositionJson {
    SourcePositionJson { column: *column, line: *line }
}

fn event(EventInfo { name, parameters }: &EventInfo) -> EventInfoJson {
    let params = parameters.iter().map(|(name, ty)| typed(name, ty)).collect();
    EventInfoJson { params, name: name.to_string() }
}

fn data_type(data_type: &Arc<DataType>, outline: &Outline) -> DataTypeJson {
    let name = data_type.name.global().to_string();
    let constructors = data_type.constructors.iter().map(|constructor| ConstructorJson {
        arguments: constructor.arguments.iter().map(|ty| ty.global().to_string()).collect(),
        name: constructor.name.global().to_string(),
    });
    DataTypeJson {
        constructors: constructors.collect(),
        documentation: documentation(outline, PartKind::Type, &name),
        name,
        parameters: data_type.parameters.iter().map(ToString::to_string).collect(),
    }
}

/// Checks the source text of a contract or library, without a deployment. An extension of this node.
///
/// The result has the errors and warnings of the checker, and the interface if there is no error. The check has the
/// limits of a deployment: the bytes of code, the gas and the work.
#[derive(Debug, Deserialize, JsonSchema)]
struct CheckContract {
    /// The source text.
    source: String,
    /// Libraries that the text imports; optional.
    #[serde(default)]
    options: Options<CheckOptions>,
}

/// Options of a check.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct CheckOptions {
    /// Addresses of imported libraries by their names, as in the parameter `_extlibs` of a deployment; at most 100.
    libraries: LibraryAddresses,
}

/// Addresses by the names of libraries.
#[derive(Clone, Debug, Default)]
struct LibraryAddresses(BTreeMap<String, Address>);

/// Maximum number of libraries.
const MOST_LIBRARIES: usize = 100;

impl<'de> Deserialize<'de> for LibraryAddresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fault =
            || de::Error::custom(format_args!("expected an object with at most {MOST_LIBRARIES} names and addresses"));
        let Value::Object(members) = Value::deserialize(deserializer)? else { return Err(fault()) };
        if members.len() > MOST_LIBRARIES {
            return Err(fault());
        }
        let read = |(name, address): (String, Value)| {
            let address = address.as_str().and_then(|address| Address::from_param(address).ok());
            address.map(|address| (name, address)).ok_or_else(fault)
        };
        members.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }
}

impl JsonSchema for LibraryAddresses {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "LibraryAddresses".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["object", "null"],
            "additionalProperties": generator.subschema_for::<Text<Address>>(),
        })
    }
}

impl From<CheckError> for CallError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::TooLong { .. } => Self::parameter("source", &error),
            CheckError::NoLibrary { .. } | CheckError::TooManyLibraries { .. } | CheckError::Unusable => {
                Self::parameter("options", &format!("libraries: {error}"))
            }
            CheckError::State(error) => error.into(),
            _ => Self::internal(error),
        }
    }
}

impl Command for CheckContract {
    const NAME: &'static str = "silica_checkContract";
    type Output = Written<ContractCheckJson>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let CheckOptions { libraries: LibraryAddresses(libraries) } = self.options.get()?;
        let request = CheckRequest { source: self.source, libraries };
        let check = move |chain: &Chain| {
            let SourceCheck { diagnostics, truncated, interface } = chain.snapshot().check_source(&request)?;
            Written::new(&ContractCheckJson {
                diagnostics: diagnostics.into_iter().map(diagnostic).collect(),
                interface: interface.as_ref().map(self::interface),
                truncated,
            })
        };
        node.simulate(check).await?
    }
}

fn diagnostic(diagnostic: Diagnostic) -> DiagnosticJson {
    let Diagnostic { is_error, message, file, start, end, notes, help } = diagnostic;
    let position = |Position { line, column }| SourcePositionJson { column, line };
    DiagnosticJson {
        end: end.map(position),
        file,
        help,
        message,
        notes,
        severity: if is_error { SeverityJson::Error } else { SeverityJson::Warning },
        start: start.map(position),
    }
}
