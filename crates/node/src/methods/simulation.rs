//! Simulations of transactions, and gas estimates.
//!
//! A simulation can take as much processor time as a whole block. Simulations therefore run on a thread pool of their
//! own, and delay neither blocks nor queries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use silica_chain::{AccountChange, Chain, DropReason, GasEstimate, Simulation, SimulationError, VariableChange};
use silica_protocol::{
    Nonce, SimulationRequest,
    rpc::{
        error::RpcErrorCode,
        simulation::{
            AccountChangeJson, ChangeJson, GasEstimateJson, SimulatedTransactionParam, SimulationJson,
            VariableChangeJson,
        },
        text::Dec,
    },
};

use super::{transaction::info, written::Written};
use crate::{
    driver::NodeHandle,
    rpc::{CallError, Command, Entry},
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] =
    &[Entry::command::<EstimateGas>().of_weight(50), Entry::command::<SimulateTransaction>().of_weight(20)];

impl From<SimulationError> for CallError {
    fn from(error: SimulationError) -> Self {
        match error {
            SimulationError::Refused(error) => error.into(),
            SimulationError::Dropped { reason: DropReason::Internal, .. } => Self::internal(error),
            SimulationError::Dropped { .. } => Self::with_text_of(RpcErrorCode::INVALID_PARAMETER, &error),
            SimulationError::Fails { .. } => Self::with_text_of(RpcErrorCode::MISC_ERROR, &error),
            SimulationError::State(error) => error.into(),
            error => Self::internal(error),
        }
    }
}

/// Executes a transaction on the latest state, without a signature and without effect. An extension of this node.
///
/// Any account can be the sender. The node makes the checks of `CreateTransaction` except the checks of nonce and
/// signature, with the same errors. If a block would drop the transaction, the error has the reason. The node executes
/// the transaction as the first transaction of the next block. The result has the receipt, and the old and new values
/// of accounts and contract variables.
#[derive(Debug, Deserialize, JsonSchema)]
struct SimulateTransaction {
    /// The unsigned transaction.
    transaction: SimulatedTransactionParam,
}

impl Command for SimulateTransaction {
    const NAME: &'static str = "silica_simulateTransaction";
    type Output = Written<SimulationJson>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        simulate(node, self.transaction, Chain::simulate, simulation).await
    }
}

/// Finds the lowest gas limit with which a transaction succeeds on the latest state. An extension of this node.
///
/// The limit can be higher than the charged gas, because each stage of a transaction needs its gas at its start. The
/// limit in the transaction is the highest limit that the node tries. If the transaction fails with this limit, the
/// error has the reason.
#[derive(Debug, Deserialize, JsonSchema)]
struct EstimateGas {
    /// The unsigned transaction.
    transaction: SimulatedTransactionParam,
}

impl Command for EstimateGas {
    const NAME: &'static str = "silica_estimateGas";
    type Output = Written<GasEstimateJson>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let shape = |GasEstimate { limit, used }| GasEstimateJson { gas_limit: limit.into(), gas_used: used.into() };
        simulate(node, self.transaction, Chain::estimate_gas, shape).await
    }
}

pub(super) async fn simulate<T: 'static, J: Serialize + 'static>(
    node: &NodeHandle,
    transaction: SimulatedTransactionParam,
    work: fn(&Chain, &SimulationRequest) -> Result<T, SimulationError>,
    shape: fn(T) -> J,
) -> Result<Written<J>, CallError> {
    let request = transaction.0?;
    node.simulate(move |chain| Written::new(&shape(work(chain, &request)?))).await?
}

pub(super) fn simulation(simulation: Simulation) -> SimulationJson {
    let Simulation { receipt, gas_limit, fee, routing, contract, changes } = simulation;
    SimulationJson {
        changes: changes.into_iter().map(account_change).collect(),
        contract_address: contract.map(Into::into),
        fee: fee.into(),
        gas_limit: gas_limit.into(),
        gas_used: receipt.cumulative_gas.into(),
        info: info(routing),
        receipt: receipt.into(),
    }
}

pub(super) fn account_change(AccountChange { address, before, after, variables }: AccountChange) -> AccountChangeJson {
    let old_balance = before.map(|account| account.balance);
    let old_nonce = before.map(|account| account.nonce);
    let old_code = before.and_then(|account| account.contract).map(|contract| contract.code_hash);
    let code = after.contract.map(|contract| contract.code_hash);
    AccountChangeJson {
        address: address.into(),
        balance: (old_balance != Some(after.balance))
            .then(|| ChangeJson { new: after.balance.into(), old: old_balance.map(Dec) }),
        code_hash: code.filter(|code| old_code != Some(*code)).map(Into::into),
        nonce: (old_nonce.unwrap_or_default() != after.nonce)
            .then(|| ChangeJson { new: after.nonce.get(), old: old_nonce.map(Nonce::get) }),
        variables: variables.into_iter().map(variable_change).collect(),
    }
}

fn variable_change(VariableChange { name, indices, old, new }: VariableChange) -> VariableChangeJson {
    VariableChangeJson { indices, new, old, variable: name }
}
