//! The interface of a contract or library: its parameters, fields, transitions, events and data types.

use std::sync::Arc;

use silica_protocol::Address;
use silica_scilla::{
    check::{self, ComponentSummary, ContractSummary, EventInfo, FieldSummary, Options, ParameterSummary},
    resolve::{self, Program},
    syntax::{
        Outline,
        ast::{ContractModule, LibraryModule},
        parse_contract, parse_library,
    },
    types::adt::{DataType, DataTypes},
};
use silica_state::StateError;

use super::{
    ContractCache, Overlay,
    module::{CONTRACT_FILE, LIBRARY_FILE, Libraries, LoadError, origin},
    standard::TokenStandard,
};
use crate::accounts::StateReader;

/// No gas limit: the deployment has paid for the same check.
const NO_LIMIT: u64 = u64::MAX;

/// The interface of a contract or library.
#[derive(Clone, Debug)]
pub struct ContractInterface {
    /// Name of the contract or library.
    pub name: Arc<str>,
    /// Whether this is the interface of a library, which has only data types.
    pub is_library: bool,
    /// Parameters of a deployment.
    pub parameters: Vec<ParameterSummary>,
    /// Fields, in the order of the source.
    pub fields: Vec<FieldSummary>,
    /// Transitions, in the order of the source.
    pub transitions: Vec<ComponentSummary>,
    /// Procedures, in the order of the source.
    pub procedures: Vec<ComponentSummary>,
    /// Events that the contract can emit.
    pub events: Vec<EventInfo>,
    /// Data types: the built-in types, those of imported libraries, and those of the module.
    pub data_types: Vec<Arc<DataType>>,
    /// The documentation and the positions of the parts.
    pub outline: Outline,
    /// The standards of tokens whose required parts the contract has.
    pub standards: Vec<TokenStandard>,
}

impl ContractInterface {
    /// Returns the interface of a checked contract.
    pub(super) fn of_contract(program: &Program<ContractModule>, summary: ContractSummary) -> Self {
        let ContractSummary { name, parameters, fields, transitions, procedures, events, data_types, .. } = summary;
        let standards = TokenStandard::ALL.into_iter().filter(|standard| standard.fits(&fields, &transitions));
        Self {
            standards: standards.collect(),
            name,
            is_library: false,
            parameters,
            fields,
            transitions,
            procedures,
            events,
            data_types,
            outline: Outline::of_contract(&program.main),
        }
    }

    /// Returns the interface of a checked library.
    pub(super) fn of_library(program: &Program<LibraryModule>, data_types: &DataTypes) -> Self {
        Self {
            name: Arc::clone(program.main.library.name.name.base()),
            is_library: true,
            parameters: Vec::new(),
            fields: Vec::new(),
            transitions: Vec::new(),
            procedures: Vec::new(),
            events: Vec::new(),
            data_types: data_types.iter().cloned().collect(),
            outline: Outline::of_library(&program.main),
            standards: Vec::new(),
        }
    }
}

/// Checks a deployed contract or library again, under the rules of the contract cache. Returns its interface.
pub(crate) fn contract_interface<W: StateReader>(
    contract: &Address,
    contract_cache: &ContractCache,
    overlay: &mut Overlay<W>,
) -> Result<ContractInterface, InterfaceError> {
    overlay.account(contract)?.ok_or(InterfaceError::UnknownAccount)?;
    let module = contract_cache.get(contract, overlay)?.ok_or(InterfaceError::NotAContract)?;
    let facts = module.facts.as_ref().ok_or(InterfaceError::Unusable)?;
    let libraries =
        Libraries::find(facts, contract_cache, overlay, |_| Ok(())).map_err(|load_error| match load_error {
            LoadError::State(error) => InterfaceError::State(error),
            LoadError::Exhausted | LoadError::Libraries | LoadError::Unusable => InterfaceError::Unusable,
        })?;
    let origin = origin(&module.source.init, contract_cache.rules()).map_err(|_| InterfaceError::Unusable)?;
    let (code, options) = (module.source.code.as_bytes(), Options::with_limit(NO_LIMIT));
    if module.is_library {
        let parsed = parse_library(LIBRARY_FILE, code).map_err(|_| InterfaceError::Unusable)?;
        let program = resolve::library(parsed, &origin, &libraries).map_err(|_| InterfaceError::Unusable)?;
        let checked = check::library(&program, &options).map_err(|_| InterfaceError::Unusable)?;
        return Ok(ContractInterface::of_library(&program, &checked.data_types));
    }
    let parsed = parse_contract(CONTRACT_FILE, code).map_err(|_| InterfaceError::Unusable)?;
    let program = resolve::contract(parsed, &origin, &libraries).map_err(|_| InterfaceError::Unusable)?;
    let checked = check::contract(&program, &options).map_err(|_| InterfaceError::Unusable)?;
    Ok(ContractInterface::of_contract(&program, checked.summary))
}

/// Reason why the interface of a contract is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceError {
    /// The account does not exist.
    #[error("Address does not exist")]
    UnknownAccount,
    /// The account has no code.
    #[error("Address not contract address")]
    NotAContract,
    /// The contract, or a library that it imports, is invalid under the rules of the contract cache. After a rule
    /// change, these can differ from the rules of its deployment.
    #[error("the contract, or a library that it imports, is invalid under the present Scilla rules")]
    Unusable,
    /// A read of the state or of the record failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}
