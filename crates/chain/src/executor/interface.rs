//! The interface of a contract: its parameters, fields, transitions and events.

use silica_protocol::Address;
use silica_scilla::{
    check::{self, Options},
    resolve,
    syntax::parse_contract,
};
use silica_state::StateError;

use super::{
    ContractCache, Overlay,
    module::{CONTRACT_FILE, Libraries, LoadError, origin},
};
use crate::accounts::StateReader;

/// No gas limit: the deployment has paid for the same check.
const NO_LIMIT: u64 = u64::MAX;

/// Checks a deployed contract again. Returns its interface as the text of a JSON object: the `contract_info` of the
/// checker of the reference.
pub(crate) fn contract_interface<W: StateReader>(
    contract: &Address,
    contract_cache: &ContractCache,
    overlay: &mut Overlay<W>,
) -> Result<String, InterfaceError> {
    overlay.account(contract)?.ok_or(InterfaceError::UnknownAccount)?;
    let module = contract_cache.get(contract, overlay)?.filter(|module| !module.is_library);
    let module = module.ok_or(InterfaceError::NotAContract)?;
    let libraries =
        Libraries::find(&module.facts, contract_cache, overlay, |_| Ok(())).map_err(|load_error| match load_error {
            LoadError::State(error) => InterfaceError::State(error),
            LoadError::Exhausted | LoadError::Libraries | LoadError::Unusable => InterfaceError::Unusable,
        })?;
    let origin = origin(&module.source.init, contract_cache.rules()).map_err(|_| InterfaceError::Unusable)?;
    let parsed = parse_contract(CONTRACT_FILE, module.source.code.as_bytes()).map_err(|_| InterfaceError::Unusable)?;
    let program = resolve::contract(parsed, &origin, &libraries).map_err(|_| InterfaceError::Unusable)?;
    let checked = check::contract(&program, &Options::with_limit(NO_LIMIT)).map_err(|_| InterfaceError::Unusable)?;
    Ok(checked.summary.to_json().root().pretty().to_string())
}

/// Reason why the interface of a contract is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceError {
    /// The account does not exist.
    #[error("Address does not exist")]
    UnknownAccount,
    /// The account has no code, or is a library.
    #[error("Address not contract address")]
    NotAContract,
    /// The checker rejects the contract. This does not occur for a deployed contract.
    #[error("the checker rejects the code of a deployed contract")]
    Unusable,
    /// The state or the record could not be read.
    #[error("failed to read state")]
    State(#[from] StateError),
}
