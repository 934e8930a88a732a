//! Transactions to be simulated.

use crate::{
    address::Address,
    amount::Qa,
    gas::{Gas, GasPrice},
};

/// A transaction to simulate: all fields of a signed transaction, except nonce, version, key and signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationRequest {
    /// The account that would sign it.
    pub sender: Address,
    /// The recipient; zero for a deployment.
    pub to: Address,
    /// Money that moves to the recipient.
    pub amount: Qa,
    /// Price of a unit of gas, or `None` for the lowest in force.
    pub gas_price: Option<GasPrice>,
    /// Gas that it may use, or `None` for the most that its committee takes and the sender can pay.
    pub gas_limit: Option<Gas>,
    /// Source of the contract to deploy; may be empty.
    pub code: String,
    /// Init parameters of a deployment, message of a call; may be empty.
    pub data: String,
    /// Whether the DS committee is to execute it.
    pub priority: bool,
}
