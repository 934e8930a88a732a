//! The request for a simulation or for an impersonated transaction: a transaction without a signature.

use alloc::string::String;

use crate::{
    address::Address,
    amount::Qa,
    gas::{Gas, GasPrice},
};

/// A transaction to simulate, or to execute for an impersonated sender. The request has the address of the
/// sender, and no nonce, version, key or signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationRequest {
    /// Address of the account that would sign the transaction.
    pub sender: Address,
    /// Address of the recipient; the null address for a deployment.
    pub to: Address,
    /// Amount of money for the recipient.
    pub amount: Qa,
    /// Gas price; `None` means the minimum gas price.
    pub gas_price: Option<GasPrice>,
    /// Gas limit; `None` means the largest gas limit that the committee accepts and the sender can pay. For an
    /// impersonated payment, `None` means the gas of a payment.
    pub gas_limit: Option<Gas>,
    /// Source code of the contract to deploy; can be empty.
    pub code: String,
    /// Init data of a deployment, or message of a call; can be empty.
    pub data: String,
    /// Whether the DS committee executes the transaction.
    pub priority: bool,
}
