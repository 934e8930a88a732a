//! What the isolated server adds: control over blocks and the price of gas.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_protocol::{BlockNumber, GasPrice, Qa, rpc::text::Dec};

use super::developer;
use crate::{
    config::BlockMode,
    driver::NodeHandle,
    rpc::{
        CallError, Command, Context, Method,
        params::{Integral, PriceText, Text},
    },
};

/// Number that the next Tx block will have.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct GetBlocknum {}

impl Method for GetBlocknum {
    const NAME: &'static str = "GetBlocknum";
    type Output = Dec<BlockNumber>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.snapshot.current_epoch().into())
    }
}

/// Makes Tx blocks, and answers with the number that the next one will have.
///
/// Transactions that wait go into these blocks. Not where blocks are made at intervals.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct IncreaseBlocknum {
    /// How many blocks.
    delta: Integral,
}

impl Command for IncreaseBlocknum {
    const NAME: &'static str = "IncreaseBlocknum";
    type Output = Dec<BlockNumber>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        require_manual_trigger(node)?;
        developer::mine(node, u64::from(self.delta.0)).await
    }
}

/// Sets the lowest price of a unit of gas, at once, and answers with it.
///
/// Not where blocks are made at intervals.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SetMinimumGasPrice {
    /// The price.
    price: Text<PriceText>,
}

impl Command for SetMinimumGasPrice {
    const NAME: &'static str = "SetMinimumGasPrice";
    type Output = Dec<GasPrice>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        require_manual_trigger(node)?;
        let PriceText(price) = self.price.get()?;
        let price = GasPrice::new(Qa::new(price));
        node.set_minimum_gas_price(price).await??;
        Ok(price.into())
    }
}

fn require_manual_trigger(node: &NodeHandle) -> Result<(), CallError> {
    match node.mode() {
        BlockMode::Instant | BlockMode::Manual => Ok(()),
        BlockMode::Interval(_) => Err(CallError::ManualTriggerDisallowed),
    }
}
