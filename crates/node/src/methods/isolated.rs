//! What the isolated server adds: control over blocks and the price of gas.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::consensus::MAX_DEMAND;
use silica_protocol::{BlockNumber, GasPrice, Qa, rpc::text::Dec};

use super::developer;
use crate::{
    block_mode::BlockMode,
    driver::NodeHandle,
    head::Context,
    rpc::{
        CallError, Command, Entry, Method,
        params::{Integral, PriceText, Text},
    },
};

/// The methods of this family.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::command::<CheckPause>().of_weight(10),
    Entry::per_head::<GetBlocknum>(),
    Entry::for_developers::<IncreaseBlocknum>(),
    Entry::for_developers::<SetMinimumGasPrice>(),
    Entry::command::<TogglePause>().of_weight(10),
];

/// Block number that transactions of the next Tx block read, and that their receipts have.
///
/// It is the number of that block, except on a chain with blocks of the block mode `manual-immediate`, which do not move it.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetBlocknum {}

impl Method for GetBlocknum {
    const NAME: &'static str = "GetBlocknum";
    type Output = Dec<BlockNumber>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.snapshot.next_logical_number().into())
    }
}

/// Makes Tx blocks, and answers with the block number that transactions of the next one read.
///
/// Transactions that wait go into these blocks. Not in the block mode `interval=MS`.
#[derive(Debug, Deserialize, JsonSchema)]
struct IncreaseBlocknum {
    /// How many blocks, 10,000,000 at most.
    #[schemars(extend("maximum" = MAX_DEMAND))]
    delta: Integral,
}

impl Command for IncreaseBlocknum {
    const NAME: &'static str = "IncreaseBlocknum";
    type Output = Dec<BlockNumber>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        require_manual_trigger(node)?;
        developer::mine(node, "delta", u64::from(self.delta.0)).await
    }
}

/// Sets the lowest price of a unit of gas, at once, and answers with it.
///
/// Not in the block mode `interval=MS`.
#[derive(Debug, Deserialize, JsonSchema)]
struct SetMinimumGasPrice {
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

/// Pauses the node, or lets it go on, and answers with whether it is paused.
///
/// While it is, no block is made and `CreateTransaction` is refused; everything can be read. Only where blocks are made
/// at intervals, and only for who knows the id that the node was started with.
#[derive(Debug, Deserialize, JsonSchema)]
struct TogglePause {
    /// The id (`--pause-id`).
    id: String,
}

impl Command for TogglePause {
    const NAME: &'static str = "TogglePause";
    type Output = bool;

    async fn run(self, node: &NodeHandle) -> Result<bool, CallError> {
        require_pause_id(node, &self.id)?;
        Ok(node.toggle_pause().await?)
    }
}

/// Whether the node is paused.
///
/// Only where blocks are made at intervals, and only for who knows the id that the node was started with.
#[derive(Debug, Deserialize, JsonSchema)]
struct CheckPause {
    /// The id (`--pause-id`).
    id: String,
}

impl Command for CheckPause {
    const NAME: &'static str = "CheckPause";
    type Output = bool;

    async fn run(self, node: &NodeHandle) -> Result<bool, CallError> {
        require_pause_id(node, &self.id)?;
        Ok(node.pause().lasts())
    }
}

/// The reference has these methods on a server that makes blocks at intervals; here it may make others besides. A pause that has begun can be ended
/// on any.
fn require_pause_id(node: &NodeHandle, id: &str) -> Result<(), CallError> {
    if node.mode().interval().is_none() && !node.pause().lasts() {
        return Err(CallError::NotInThisMode);
    }
    if node.pause().knows(id) { Ok(()) } else { Err(CallError::PauseId) }
}

fn require_manual_trigger(node: &NodeHandle) -> Result<(), CallError> {
    match node.mode() {
        BlockMode::Instant | BlockMode::InstantAndInterval(_) | BlockMode::Manual | BlockMode::ManualImmediate => {
            Ok(())
        }
        BlockMode::Interval(_) => Err(CallError::ManualTriggerDisallowed),
    }
}
