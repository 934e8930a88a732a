//! Edits of the state by developers. Each edit gets a separate Tx block, in every block mode.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::value::RawValue;
use silica_chain::{Edit, EditError};
use silica_protocol::{
    Address, BlockNumber, Nonce, Qa,
    rpc::{error::RpcErrorCode, text::Dec},
};

use crate::{
    driver::NodeHandle,
    rpc::{CallError, Command, Entry, params::Text},
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::for_developers::<AddBalance>(),
    Entry::for_developers::<SetBalance>(),
    Entry::for_developers::<SetContractField>(),
    Entry::for_developers::<SetNonce>(),
];

/// Number of the Tx block that has an edit.
type Edited = Dec<BlockNumber>;

/// Maximum length of an error text that quotes a parameter, in characters.
const MAX_TEXT: usize = 300;

impl From<EditError> for CallError {
    fn from(error: EditError) -> Self {
        let code = match &error {
            EditError::NullAccount | EditError::UnknownAccount | EditError::NotAContract => {
                RpcErrorCode::INVALID_ADDRESS_OR_KEY
            }
            EditError::Balance { .. }
            | EditError::Amount { .. }
            | EditError::NonceTooLow { .. }
            | EditError::NonceTooHigh { .. }
            | EditError::NonceOfContract
            | EditError::UnknownField { .. }
            | EditError::FieldRemoved
            | EditError::TooManyKeys { .. }
            | EditError::Key(_)
            | EditError::NotJson(_)
            | EditError::Value(_)
            | EditError::TooLarge => RpcErrorCode::INVALID_PARAMETER,
            EditError::Unusable | EditError::State(_) | EditError::Build(_) => return Self::internal(error),
            _ => return Self::internal(error),
        };
        // The text can quote a whole value, which can have megabytes.
        Self::api(code, error.to_string().chars().take(MAX_TEXT).collect::<String>())
    }
}

async fn edit(node: &NodeHandle, edit: Edit) -> Result<Edited, CallError> {
    Ok(node.edit(edit).await??.into())
}

/// Sets the balance of an account, and returns the number of the Tx block of this edit.
///
/// Creates the account if it does not exist. `GetTotalCoinSupply` does not count this money, because it reads only the
/// mining reserve.
#[derive(Debug, Deserialize, JsonSchema)]
struct SetBalance {
    /// Address of the account.
    address: Text<Address>,
    /// The balance, in Qa.
    balance: Text<Qa>,
}

impl Command for SetBalance {
    const NAME: &'static str = "silica_setBalance";
    type Output = Edited;

    async fn run(self, node: &NodeHandle) -> Result<Edited, CallError> {
        let address = self.address.named("address")?;
        let balance = self.balance.get().map_err(|error| CallError::parameter("balance", &error))?;
        edit(node, Edit::Balance { address, balance }).await
    }
}

/// Adds money to an account, and returns the number of the Tx block of this edit.
///
/// No other account pays the amount. This method is the faucet of a development node. Creates the account if it does
/// not exist.
#[derive(Debug, Deserialize, JsonSchema)]
struct AddBalance {
    /// Address of the account.
    address: Text<Address>,
    /// The amount, in Qa.
    amount: Text<Qa>,
}

impl Command for AddBalance {
    const NAME: &'static str = "silica_addBalance";
    type Output = Edited;

    async fn run(self, node: &NodeHandle) -> Result<Edited, CallError> {
        let address = self.address.named("address")?;
        let amount = self.amount.get().map_err(|error| CallError::parameter("amount", &error))?;
        edit(node, Edit::Fund { address, amount }).await
    }
}

/// Sets the nonce of an account, and returns the number of the Tx block of this edit.
///
/// The nonce is the nonce of the last transaction of the account, as in `GetBalance`. The nonce cannot decrease. The
/// node rejects the address of a contract. Creates the account if it does not exist. A later block drops pending
/// transactions of the account with this nonce or a lower one.
#[derive(Debug, Deserialize, JsonSchema)]
struct SetNonce {
    /// Address of the account.
    address: Text<Address>,
    /// The nonce, at most 2^53.
    #[schemars(extend("maximum" = Edit::MOST_NONCE.get()))]
    nonce: u64,
}

impl Command for SetNonce {
    const NAME: &'static str = "silica_setNonce";
    type Output = Edited;

    async fn run(self, node: &NodeHandle) -> Result<Edited, CallError> {
        let address = self.address.named("address")?;
        edit(node, Edit::Nonce { address, nonce: Nonce::new(self.nonce) }).await
    }
}

/// Sets a field of a contract, or an entry of a map, and returns the number of the Tx block of this edit.
///
/// The value must have the type of the field, in the JSON form of Scilla. In this form, a map is a list of objects with
/// `key` and `val`. For an address with a type like `ByStr20 with contract ... end`, the node does not check that the
/// account has the required fields.
#[derive(Debug, Deserialize, JsonSchema)]
struct SetContractField {
    /// Address of the contract.
    address: Text<Address>,
    /// The name of the field.
    field: String,
    /// Keys of the map as text without quotes, the outermost first; empty for the whole field.
    keys: Vec<String>,
    /// The value. With keys, null removes the entry of the map.
    value: AnyJson,
}

impl Command for SetContractField {
    const NAME: &'static str = "silica_setContractField";
    type Output = Edited;

    async fn run(self, node: &NodeHandle) -> Result<Edited, CallError> {
        let Self { address, field, keys, value: AnyJson(value) } = self;
        let value = Some(value.get()).filter(|text| *text != "null").map(str::to_owned);
        edit(node, Edit::Field { contract: address.named("address")?, field, keys, value }).await
    }
}

/// JSON, byte for byte as the client sent it.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct AnyJson(Box<RawValue>);

impl JsonSchema for AnyJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnyJson".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}
