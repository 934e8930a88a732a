//! Methods of the isolated server: control of blocks and of the gas price.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{GasPriceError, consensus::MAX_DEMAND};
use silica_protocol::{
    BlockNumber, GasPrice, Qa,
    rpc::{
        error::{RpcError, RpcErrorCode},
        text::Dec,
    },
};

use super::developer;
use crate::{
    block_mode::BlockMode,
    driver::NodeHandle,
    head::Context,
    rpc::{
        CallError, Command, Entry, Method,
        params::{Integral, PriceFault, PriceText, Text},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::command::<CheckPause>().of_weight(10),
    Entry::per_head::<GetBlocknum>(),
    Entry::for_developers::<IncreaseBlocknum>(),
    Entry::for_developers::<SetMinimumGasPrice>(),
    Entry::command::<TogglePause>().of_weight(10),
];

/// Block number that transactions of the next Tx block read. Their receipts have the same number.
///
/// On most chains, this number is the number of the next Tx block. In the block mode `manual-immediate`, only requested
/// blocks increase it.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetBlocknum {}

impl Method for GetBlocknum {
    const NAME: &'static str = "GetBlocknum";
    type Output = Dec<BlockNumber>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.snapshot.next_logical_number().into())
    }
}

/// Produces Tx blocks, and returns the block number that transactions of the next block read.
///
/// Pending transactions get into these blocks. The method is not available in the block mode `interval=MS`.
#[derive(Debug, Deserialize, JsonSchema)]
struct IncreaseBlocknum {
    /// Number of blocks, at most 10,000,000.
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

/// Sets the minimum gas price immediately, and returns it.
///
/// The method is not available in the block mode `interval=MS`.
#[derive(Debug, Deserialize, JsonSchema)]
struct SetMinimumGasPrice {
    /// The gas price, in Qa.
    price: Text<PriceText>,
}

/// The error for a price that is not a decimal number below 2^128.
const PRICE_NOT_NUMERIC: RpcError =
    RpcError::from_static(RpcErrorCode::INVALID_PARAMETER, "Gas price should be numeric");

impl From<GasPriceError> for CallError {
    fn from(error: GasPriceError) -> Self {
        match error {
            GasPriceError::Zero => Self::with_text_of(RpcErrorCode::INVALID_PARAMETER, &error),
            GasPriceError::NotAllowed => NO_MANUAL_TRIGGER.into(),
            error => Self::internal(error),
        }
    }
}

impl Command for SetMinimumGasPrice {
    const NAME: &'static str = "SetMinimumGasPrice";
    type Output = Dec<GasPrice>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        require_manual_trigger(node)?;
        let PriceText(price) = self.price.get().map_err(|PriceFault| PRICE_NOT_NUMERIC)?;
        let price = GasPrice::new(Qa::new(price));
        node.set_minimum_gas_price(price).await??;
        Ok(price.into())
    }
}

/// Pauses or resumes the node, and returns whether it is paused.
///
/// A paused node produces no blocks, so it rejects transactions, requests for blocks, edits and reverts. All other
/// methods work. The method is available only in block modes with an interval, or while the node is paused. The caller
/// needs the id of the option `--pause-id`.
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
/// The method is available only in block modes with an interval, or while the node is paused. The caller needs the id
/// of the option `--pause-id`.
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

/// The error for a wrong id of `TogglePause` or `CheckPause`.
const WRONG_PAUSE_ID: RpcError = RpcError::from_static(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "Invalid UUID");

/// Rejects a wrong id. Unless the node is paused, also rejects block modes without an interval.
///
/// The reference has these methods only on a server that makes blocks at intervals. On this node, a client can end a
/// pause in every block mode, because the block mode can change during a pause.
fn require_pause_id(node: &NodeHandle, id: &str) -> Result<(), CallError> {
    if node.mode().interval().is_none() && !node.pause().lasts() {
        return Err(RpcError::METHOD_NOT_FOUND.into());
    }
    if node.pause().knows(id) { Ok(()) } else { Err(WRONG_PAUSE_ID.into()) }
}

/// The error for a manual block or gas price in the block mode `interval=MS`.
const NO_MANUAL_TRIGGER: RpcError = RpcError::from_static(RpcErrorCode::INVALID_PARAMETER, "Manual trigger disallowed");

fn require_manual_trigger(node: &NodeHandle) -> Result<(), CallError> {
    match node.mode() {
        BlockMode::Instant | BlockMode::InstantAndInterval(_) | BlockMode::Manual | BlockMode::ManualImmediate => {
            Ok(())
        }
        BlockMode::Interval(_) | BlockMode::Committee => Err(NO_MANUAL_TRIGGER.into()),
    }
}
