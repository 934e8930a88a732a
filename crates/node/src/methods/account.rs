//! Methods for accounts.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_protocol::{
    Address,
    rpc::{
        account::Balance,
        error::{RpcError, RpcErrorCode},
    },
};

use crate::{
    head::Context,
    rpc::{CallError, Entry, Method, params::Text},
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[Entry::of::<GetBalance>()];

/// Balance and nonce of an account.
///
/// A payment creates the account of its recipient, unless the amount is 0. For an address without an account, the method
/// returns error -5.
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
