//! The request for a proof.

use silica_protocol::{Address, VariableHash};

/// Returns the method and the parameters of a request for the proof of a variable, or of an account.
pub(super) fn proof_request(
    address: &Address,
    variable: Option<&VariableHash>,
    block: String,
) -> (&'static str, Vec<String>) {
    match variable {
        Some(variable) => ("GetStateProof", vec![address.to_string(), variable.to_string(), block]),
        None => ("silica_getAccountProof", vec![address.to_string(), block]),
    }
}
