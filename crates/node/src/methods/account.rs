//! Methods for accounts.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::BalanceAtError;
use silica_protocol::{
    Address, BlockNumber,
    rpc::{
        account::{Balance, BalanceAt, StateProof},
        error::{RpcError, RpcErrorCode},
    },
};

use crate::{
    head::Context,
    rpc::{
        CallError, Entry, Method,
        params::{BlockOrLatest, Text},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::of::<GetBalance>(),
    Entry::slow::<GetBalanceAt>().of_weight(5),
    Entry::slow::<GetAccountProof>().of_weight(5),
];

/// Balance and nonce of an account.
///
/// A payment creates the account of its recipient, unless the amount is 0. For an address without an account, the
/// method returns error -5.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetBalance {
    /// Address of the account.
    address: Text<Address>,
}

/// The error for an address that has no account.
const NOT_CREATED: RpcError = RpcError::from_static(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "Account is not created");

impl Method for GetBalance {
    const NAME: &'static str = "GetBalance";
    type Output = Balance;

    fn call(self, at: &Context) -> Result<Balance, CallError> {
        let account = at.snapshot.account(&self.address.get()?)?;
        Ok(account.as_ref().map(Balance::from).ok_or(NOT_CREATED)?)
    }
}

/// Balance of an account after a Tx block. An extension of this node.
///
/// With the kind `balances` of the history index, the method returns the balance after any block. The cost does not
/// depend on the length of the chain. Without this kind, the method accepts only the blocks of the proof window.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetBalanceAt {
    /// Address of the account.
    address: Text<Address>,
    /// Number of the Tx block.
    block: Text<BlockNumber>,
}

impl Method for GetBalanceAt {
    const NAME: &'static str = "silica_getBalanceAt";
    type Output = BalanceAt;

    fn call(self, at: &Context) -> Result<BalanceAt, CallError> {
        let (address, block) = (self.address.named("address")?, self.block.named("block")?);
        let balance = at.snapshot.balance_at(&address, block)?;
        Ok(BalanceAt { balance: balance.into(), block: block.into() })
    }
}

impl From<BalanceAtError> for CallError {
    fn from(error: BalanceAtError) -> Self {
        match error {
            BalanceAtError::NotMined { .. } | BalanceAtError::NoIndex { .. } | BalanceAtError::NotIndexed { .. } => {
                Self::parameter("block", &error.to_string())
            }
            BalanceAtError::State(error) => error.into(),
            error => Self::internal(error),
        }
    }
}

/// Proof of an account, or of its absence, in the state after a Tx block. An extension of this node.
///
/// The proof has the nodes of the account trie, as `accountProof` of `GetStateProof`. The account does not need a
/// contract. The node serves proofs for the latest 50 Tx blocks, or for as many as `--proof-window` sets.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetAccountProof {
    /// Address of the account.
    address: Text<Address>,
    /// Number of the Tx block, or `latest`.
    block: Text<BlockOrLatest>,
}

impl Method for GetAccountProof {
    const NAME: &'static str = "silica_getAccountProof";
    type Output = StateProof;

    fn call(self, at: &Context) -> Result<StateProof, CallError> {
        let address = self.address.named("address")?;
        let block = match self.block.named("block")? {
            BlockOrLatest::Number(number) => Some(number),
            BlockOrLatest::Latest => None,
        };
        let proof = at.snapshot.account_proof(&address, block)?;
        Ok(StateProof::new(proof.account, proof.state))
    }
}
