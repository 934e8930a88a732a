//! Gas that blocks used.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_protocol::{BlockNumber, Gas, rpc::text::Dec};

use crate::{
    head::Context,
    rpc::{CallError, Entry, Method, params::Text},
};

/// The methods of this family.
pub(super) const ENTRIES: &[Entry] = &[Entry::of::<GetBlockGas>().of_weight(2)];

/// Gas that the transactions of a Tx block used. An extension of this node.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetBlockGas {
    /// Number of the block.
    block: Text<BlockNumber>,
}

impl Method for GetBlockGas {
    const NAME: &'static str = "silica_getBlockGas";
    type Output = Dec<Gas>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        let number = self.block.named("block")?;
        let block = at.snapshot.tx_block(number)?.ok_or_else(|| unknown_block(number))?;
        Ok(block.header.gas_used.into())
    }
}

/// Returns the error for a block that does not exist.
fn unknown_block(number: BlockNumber) -> CallError {
    CallError::parameter("block", &format!("expected a Tx block of the chain, got {number}"))
}
