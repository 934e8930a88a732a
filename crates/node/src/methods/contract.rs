//! Contracts: how they were created, and proofs of their state.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_protocol::{
    Address, VariableHash,
    rpc::{account::StateProof, contract::ContractParamJson},
};

use crate::rpc::{
    CallError, Context, Method,
    params::{AddressFault, BlockOrLatest, HashFault, Text},
};

/// Init parameters of a contract.
///
/// These are the parameters that its deployment gave, in their order, and two that the node adds: the block in which
/// the contract was created and its address.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct GetSmartContractInit {
    /// The contract.
    address: Text<Address>,
}

impl Method for GetSmartContractInit {
    const NAME: &'static str = "GetSmartContractInit";
    type Output = Vec<ContractParamJson>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        let account = at.snapshot.account(&self.address.get()?)?.ok_or(CallError::AddressUnknown)?;
        match account.contract {
            // Contracts are not executed yet, so that no account has come to have code.
            Some(_) | None => Err(CallError::NotAContract),
        }
    }
}

/// Proof of a contract's variable in the state of a Tx block.
///
/// Only the latest Tx blocks are served, fifty unless the node is configured for more.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct GetStateProof {
    /// The contract.
    address: Text<Address>,
    /// The variable.
    variable: Text<VariableHash>,
    /// The block.
    block: Text<BlockOrLatest>,
}

impl Method for GetStateProof {
    const NAME: &'static str = "GetStateProof";
    type Output = StateProof;

    fn call(self, at: &Context) -> Result<StateProof, CallError> {
        let block = match self.block.get().map_err(CallError::DsBlockNumber)? {
            BlockOrLatest::Number(number) => Some(number),
            BlockOrLatest::Latest => None,
        };
        let block = at.snapshot.proof_block(block)?;
        // Both lengths are checked before either content (interface specification, GetStateProof).
        let (address, variable) = match (self.address.get(), self.variable.get()) {
            (Ok(address), Ok(variable)) => (address, variable),
            (Err(AddressFault::Size), _) => return Err(CallError::Address(AddressFault::Size)),
            (_, Err(HashFault::Size)) => return Err(CallError::VariableHash(HashFault::Size)),
            (Err(fault @ (AddressFault::Bech32 | AddressFault::Digit)), _) => return Err(CallError::Address(fault)),
            (Ok(_), Err(fault @ HashFault::Digit)) => return Err(CallError::VariableHash(fault)),
        };
        let proof = at.snapshot.state_proof(&address, &variable, Some(block))?;
        Ok(StateProof::new(proof.account, proof.storage))
    }
}
